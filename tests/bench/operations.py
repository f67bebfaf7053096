#!/usr/bin/python3
"""Counts what one operation on a virtual machine costs a simulated node: tests/bench/operations.py [FOLDER] [KIND]

FOLDER holds operation_bench and count_allocations.so (build/measured/tests); with a KIND the allocations of that one are
listed by site. Everything printed is a count, and the same in every run; the simulated world around the node, and of a
migration the other side, are in the instructions and not in the allocations that are the daemon's.
"""
import os
import re
import subprocess
import sys
import tempfile

import allocations

ROUNDS = 5
KINDS = {
    'start': 'a start',
    'again': 'the guest ends by itself and is started again',
    'shutdown': 'a shutdown',
    'stop': 'a stop',
    'send': 'a live migration, as its sender',
    'receive': 'a live migration, as its receiver',
    'nothing': 'nothing, for as long (10 s)',
}
COLLECTED = re.compile(r'^totals: (\d+)', re.MULTILINE)


def noted(folder, kind, rounds=ROUNDS):
    """What the bench says of this kind, and site -> [count, bytes] of all rounds."""
    program = os.path.join(folder, 'operation_bench')
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, 'board')
        done = subprocess.run([program, kind, str(rounds)], stdout=subprocess.PIPE, text=True, env=dict(
            os.environ, LD_PRELOAD=os.path.join(folder, 'count_allocations.so'), BENCH_ALLOCATIONS=path))
        if done.returncode != 0:
            raise RuntimeError(done.stdout[-2000:])
        found = allocations.sites(allocations.Board(path), program)
    said = dict(line.split(': ') for line in done.stdout.splitlines())
    return said, found


def instructions(folder, kind, rounds=ROUNDS):
    """Of one operation, by callgrind; empty without valgrind."""
    with tempfile.TemporaryDirectory() as place:
        program, out = os.path.join(place, 'operation_bench'), os.path.join(place, 'out')
        # Valgrind of the day cannot read clang's debug information.
        subprocess.run(['strip', '--strip-debug', '-o', program, os.path.join(folder, 'operation_bench')], check=True)
        try:
            subprocess.run(['valgrind', '--tool=callgrind', '--collect-atstart=no',
                            '--toggle-collect=operation_bench_counted', f'--callgrind-out-file={out}', program, kind,
                            str(rounds)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        except OSError:
            return None
        with open(out, encoding='utf-8') as file:
            return int(COLLECTED.search(file.read()).group(1)) / rounds


def rows(folder):
    """(kind, title, simulated ms, requests, calls of libvirt, allocations, bytes, those of the world, instructions)"""
    for kind, title in KINDS.items():
        said, found = noted(folder, kind)
        counts = {True: [0, 0], False: [0, 0]}
        for (site, _), (count, size) in found.items():
            part = counts[allocations.is_double(site)]
            part[0] += count
            part[1] += size
        own, world = counts[False], counts[True]
        yield (kind, title, int(said['milliseconds']), int(said['requests']), int(said['calls']), own[0] / ROUNDS,
               own[1] / ROUNDS, world[0] / ROUNDS, instructions(folder, kind))


def table(folder):
    lines = ['| Of one operation, simulated | ms | requests | calls of libvirt | allocations | bytes | instructions |',
             '| --- | --- | --- | --- | --- | --- | --- |']
    for _, title, took, requests, calls, own, size, _, executed in rows(folder):
        shown = 'valgrind is not installed' if executed is None else f'{executed:,.0f}'
        lines.append(f'| {title} | {took} | {requests} | {calls} | {own:,.0f} | {size:,.0f} | {shown} |')
    return '\n'.join(lines)


def main():
    words = sys.argv[1:]
    here = os.path.dirname(os.path.abspath(__file__))
    folder = words[0] if words else os.path.join(os.path.dirname(os.path.dirname(here)), 'build', 'measured', 'tests')
    if len(words) < 2:
        print(table(folder))
        return
    _, found = noted(folder, words[1])
    for (site, origin), (count, size) in sorted(found.items(), key=lambda item: -item[1][0]):
        if not allocations.is_double(site):
            print(f'{count / ROUNDS:7.1f} {size / count:7.0f} B  {origin:15} {site}')


if __name__ == '__main__':
    main()
