"""Prints a line for every address that network namespaces get or lose: address_events.py NAME=PATH_OF_NAMESPACE ...

All of them are watched by one process, so that what is seen of one can be compared with what is seen of another although the
process has to wait for its turn: a line has the time before which the event cannot have been (nothing had come from that namespace
until then) and the time at which it was read. It was between the two. A line on standard input is printed after all that had
happened before it."""
import ctypes
import os
import select
import socket
import struct
import sys
import time

CLONE_NEWNET = 0x40000000
ROUTE, GROUPS = 0, 0x10 | 0x100  # addresses of IPv4 and of IPv6
NEW, DELETED = 20, 21
OWN, ADDRESS = 2, 1  # IFA_LOCAL, IFA_ADDRESS
libc = ctypes.CDLL(None, use_errno=True)


def enter(namespace):
    if libc.setns(namespace, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), 'setns')


class Namespace:
    def __init__(self, name, path):
        self.name = name
        self.descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        enter(self.descriptor)
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, ROUTE)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self.socket.bind((0, GROUPS))
        self.socket.setblocking(False)
        self.devices = {}
        self.empty = time.time()

    def device(self, index):
        if index not in self.devices:
            enter(self.descriptor)
            try:
                self.devices[index] = socket.if_indextoname(index)
            except OSError:
                return f'#{index}'
        return self.devices[index]

    def read(self):
        """All that has come."""
        since, got = self.empty, []
        while True:
            begun = time.time()
            try:
                got.append((self.socket.recv(65536), time.time()))
            except BlockingIOError:
                self.empty = begun
                break
        for data, until in got:
            self.say(data, since, until)

    def say(self, data, since, until):
        at = 0
        while at + 24 <= len(data):
            length, kind = struct.unpack_from('=IH', data, at)
            if kind in (NEW, DELETED):
                _family, prefix, _flags, _scope, index = struct.unpack_from('=BBBBI', data, at + 16)
                found, where = {}, at + 24
                while where + 4 <= at + length:
                    size, what = struct.unpack_from('=HH', data, where)
                    found[what] = data[where + 4:where + size]
                    where += max(4, (size + 3) & ~3)
                raw = found.get(OWN, found.get(ADDRESS, b''))
                text = socket.inet_ntop(socket.AF_INET if len(raw) == 4 else socket.AF_INET6, raw)
                print(f'{since:.6f} {until:.6f} {self.name} {"add" if kind == NEW else "remove"} {self.device(index)} {text}/{prefix}', flush=True)
            at += max(16, (length + 3) & ~3)


def main():
    all_of_them = [Namespace(*one.split('=', 1)) for one in sys.argv[1:]]
    print('listening', flush=True)
    poll = select.poll()
    for one in all_of_them:
        poll.register(one.socket, select.POLLIN)
    poll.register(0, select.POLLIN)
    while True:
        asked = any(number == 0 for number, _ in poll.poll()) and os.read(0, 4096)
        for one in all_of_them:
            one.read()
        if asked:
            sys.stdout.write(asked.decode())
            sys.stdout.flush()
        elif asked == b'':
            return


main()
