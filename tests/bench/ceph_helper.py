#!/usr/bin/python3
"""Measures pvcnoded-ceph: tests/bench/ceph_helper.py [BUILD]

A round is what the primary asks in a tick: seven commands, the counters of all pools, and what the helper takes. Twice:
on stand-ins of Ceph's libraries for a cluster of 100 OSDs, 20 pools and 5,000 images (their time, for they write the
answers, is in the helper's), and on a real cluster of 3 OSDs and 20 pools, if Ceph is installed. Prints processor time,
bytes and private memory, and fails above the limits. BUILD is build/release.
"""
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lab'))
import ceph  # noqa: E402

ROUNDS = 100
PROCESSOR_MS_MAX = 50.0
PRIVATE_MIB_MAX = 24.0
COMMANDS = [('health', 'json'), ('status', 'plain'), ('df', 'plain'), ('df', 'json'), ('osd dump', 'json'),
            ('osd df', 'json'), ('osd status', 'json')]


class Helper:
    """One process, spoken to in frames."""

    def __init__(self, build, config, keyring, environment):
        here, there = socket.socketpair()
        self.process = subprocess.Popen([os.path.join(build, 'bin', 'pvcnoded-ceph'), '--config', config, '--keyring', keyring],
                                        env=environment, close_fds=False,
                                        preexec_fn=lambda: os.dup2(there.fileno(), 3, inheritable=True))
        there.close()
        self.stream = here
        self.last = 0
        self.received = 0
        self.answer()

    def exactly(self, size):
        data = b''
        while len(data) < size:
            piece = self.stream.recv(size - len(data))
            if not piece:
                raise RuntimeError('the helper is gone')
            data += piece
        self.received += size
        return data

    def answer(self):
        head, body = struct.unpack('>II', self.exactly(8))
        return json.loads(self.exactly(head)), self.exactly(body)

    def ask(self, what, **more):
        self.last += 1
        text = json.dumps({'id': self.last, 'limit_ms': 5000, 'ask': what, **more}).encode()
        self.stream.sendall(struct.pack('>II', len(text), 0) + text)
        head, body = self.answer()
        if head['id'] != self.last or head['say'] == 'failed':
            raise RuntimeError(f'{what}: {head}')
        return head, body

    def processor_ms(self):
        spent = 0
        folder = f'/proc/{self.process.pid}/task'
        for thread in os.listdir(folder):
            with open(f'{folder}/{thread}/schedstat') as file:
                spent += int(file.read().split()[0])
        return spent / 1e6

    def end(self):
        self.stream.close()
        self.process.wait(5)


def one_round(helper, pools):
    for prefix, form in COMMANDS:
        helper.ask('monitor_command', text=json.dumps({'prefix': prefix, 'format': form}))
    head, _ = helper.ask('pool_counters', pools=pools)
    if len(head['pools']) != len(pools):
        raise RuntimeError('counters of pools are missing')
    return helper.ask('usage')[0]


def measure(helper, pools, where):
    """Whether it is within the limits."""
    one_round(helper, pools)
    if helper.process.poll() is not None:
        raise RuntimeError('the helper is gone')
    begun, spent, received = time.monotonic(), helper.processor_ms(), helper.received
    for _ in range(ROUNDS):
        used = one_round(helper, pools)
    elapsed = (time.monotonic() - begun) * 1000 / ROUNDS
    spent = (helper.processor_ms() - spent) / ROUNDS
    private = used['private_bytes'] / 1024 / 1024
    print(f'a round of the helper for Ceph {where}: {spent:.1f} ms of processor time (limit {PROCESSOR_MS_MAX:g}), '
          f'{elapsed:.1f} ms in all, {(helper.received - received) / ROUNDS / 1024:.0f} KiB of answers')
    print(f'  its private memory: {private:.1f} MiB (limit {PRIVATE_MIB_MAX:g}), {used["threads"]} threads', flush=True)
    helper.end()
    return spent <= PROCESSOR_MS_MAX and private <= PRIVATE_MIB_MAX


def main():
    build = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else 'build/release')
    pools = [f'pool{number}' for number in range(20)]
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, 'control'), 'w') as file:
            file.write('osds 100\npools 20\nimages 5000\n')
        environment = {'LD_LIBRARY_PATH': os.path.join(build, 'tests', 'ceph_stub'),
                       'CEPH_STUB': os.path.join(folder, 'control')}
        is_good = measure(Helper(build, 'none', 'none', environment), pools, 'on stand-ins')
    if not os.path.exists('/usr/bin/ceph-mon'):
        return 0 if is_good else 1
    with tempfile.TemporaryDirectory() as folder:
        cluster = ceph.Cluster(os.path.join(folder, 'cluster'), osds=3, pools=pools)
        try:
            cluster.start()
            is_good &= measure(Helper(build, cluster.config, cluster.keyring, {}), pools, 'on a real cluster')
        finally:
            cluster.stop()
    return 0 if is_good else 1


if __name__ == '__main__':
    sys.exit(main())
