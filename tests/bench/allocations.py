#!/usr/bin/python3
"""Reads the board of count_allocations.so: tests/bench/allocations.py BOARD PROGRAM [TICKS] lists the sites it noted.

A site is the innermost call stack of the program itself, libraries and templates of others left out.
"""
import collections
import mmap
import struct
import subprocess
import sys

DEPTH = 30
STACK = struct.Struct(f'<QII{DEPTH}Q')
HEAD = struct.Struct('<10Q')
ORIGINS = ('own code', 'libzookeeper', 'other libraries')
Counts = collections.namedtuple('Counts', 'main other main_bytes other_bytes')
Noted = collections.namedtuple('Noted', 'size origin on_main frames')


class Board:
    def __init__(self, path):
        with open(path, 'r+b') as file:
            self.map = mmap.mmap(file.fileno(), 0)

    def counts(self):
        values = HEAD.unpack_from(self.map, 0)
        return Counts(values[0:3], values[3:6], values[6], values[7])

    def record(self, on):
        struct.pack_into('<Q', self.map, 64, 1 if on else 0)

    def clear_stacks(self):
        struct.pack_into('<Q', self.map, 72, 0)

    def stacks(self):
        limit = (len(self.map) - HEAD.size) // STACK.size
        number = min(struct.unpack_from('<Q', self.map, 72)[0], limit)
        for index in range(number):
            values = STACK.unpack_from(self.map, HEAD.size + index * STACK.size)
            yield Noted(values[0], ORIGINS[values[1]], bool(values[2]), tuple(values[3:]))


def symbols(program, offsets):
    """Offset -> list of (function, place), inlined ones first."""
    offsets = sorted(offsets)
    # The return address is behind the call.
    asked = '\n'.join(hex(offset - 1) for offset in offsets)
    tool = next((t for t in ('llvm-symbolizer-19', 'llvm-symbolizer') if subprocess.run(
        ['which', t], stdout=subprocess.DEVNULL).returncode == 0), None)
    if tool is None:
        return {offset: [(hex(offset), '?')] for offset in offsets}
    text = subprocess.run([tool, '-e', program, '-f', '-C', '-i'], input=asked, stdout=subprocess.PIPE, text=True).stdout
    found = {}
    for offset, block in zip(offsets, text.split('\n\n')):
        lines = block.strip().splitlines()
        found[offset] = list(zip(lines[0::2], lines[1::2]))
    return found


def is_ours(place):
    place = '/' + place
    return ('/src/' in place or '/include/pvcnoded/' in place or '/tests/' in place) and '/usr/' not in place


def short(place):
    place = '/' + place
    for mark in ('/include/pvcnoded/', '/src/', '/tests/'):
        if mark in place:
            return ':'.join((mark.strip('/') + '/' + place.rsplit(mark, 1)[1]).split(':')[:2]).replace('include/pvcnoded/', '')
    return place


def sites(board, program, on_main=True):
    """(site, origin) -> [count, bytes]; a site is up to four places of our code, innermost first."""
    noted = [one for one in board.stacks() if one.on_main == on_main]
    names = symbols(program, {frame for one in noted for frame in one.frames if frame > 1})
    found = collections.defaultdict(lambda: [0, 0])
    for one in noted:
        places = []
        for frame in one.frames:
            for _, place in names.get(frame, ()):
                if is_ours(place) and (not places or places[-1] != short(place)):
                    places.append(short(place))
        entry = found[(' < '.join(places[:4]) or 'no frame of ours', one.origin)]
        entry[0] += 1
        entry[1] += one.size
    return found


def is_double(site):
    """Whether the code of the simulated world allocates, not the daemon's."""
    return site.startswith('tests/')


def main():
    board = Board(sys.argv[1])
    ticks = float(sys.argv[3]) if len(sys.argv) > 3 else 1.0
    total = collections.Counter()
    for on_main in (True, False):
        found = sites(board, sys.argv[2], on_main)
        for (site, origin), (count, size) in sorted(found.items(), key=lambda item: -item[1][0]):
            print(f'{count / ticks:7.1f} {size / count:7.0f} B  {origin:15} {site}')
            total['pool' if not on_main else 'simulated world' if is_double(site) else origin] += count
    for what, count in total.items():
        print(f'{what}: {count / ticks:.1f}')


if __name__ == '__main__':
    main()
