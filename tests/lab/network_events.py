"""Prints a line for every address that network namespaces get or lose, and for every word of the kernel about their links:
network_events.py NAME=PATH_OF_NAMESPACE ...

All of them are heard through one socket, and the kernel has one lock for all such changes: the order of the lines is the order in
which it happened, also between namespaces, however late this process reads. The time of a line is that of the reading, but of an
address that came it is the kernel's own stamp (to 10 ms). A line on standard input is printed after all that had happened before
it. `lost` is printed when the kernel had no room for an event."""
import ctypes
import errno
import os
import select
import socket
import struct
import sys
import time

import recorder

CLONE_NEWNET = 0x40000000
ROUTE, GROUPS = 0, 0x1 | 0x10 | 0x100  # links, addresses of IPv4 and of IPv6
NEW_LINK, DELETED_LINK, NEW_ADDRESS, DELETED_ADDRESS = 16, 17, 20, 21
OWN, ADDRESS, STAMPS = 2, 1, 6  # IFA_LOCAL, IFA_ADDRESS, IFA_CACHEINFO
LINK_NAME, LINK_MTU, LINK_MASTER = 3, 4, 10
SOL_NETLINK, LISTEN_ALL = 270, 8
NEW_NUMBER, GET_NUMBER, NUMBER, BY_DESCRIPTOR = 88, 90, 1, 3
libc = ctypes.CDLL(None, use_errno=True)


def attributes(data, at, end):
    found = {}
    while at + 4 <= end:
        size, what = struct.unpack_from('=HH', data, at)
        found[what & 0x3FFF] = data[at + 4:at + size]
        at += max(4, (size + 3) & ~3)
    return found


def number_of(descriptor):
    """By which number the kernel tells of that namespace here; it gets one if it has none."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, ROUTE) as asking:
        asking.bind((0, 0))
        for kind, more, flags in ((NEW_NUMBER, struct.pack('=HHi', 8, NUMBER, -1), 0x5), (GET_NUMBER, b'', 0x1)):
            body = b'\0' * 4 + more + struct.pack('=HHI', 8, BY_DESCRIPTOR, descriptor)
            asking.send(struct.pack('=IHHII', 16 + len(body), kind, flags, 1, 0) + body)
            answer = asking.recv(4096)
    number = attributes(answer, 20, len(answer)).get(NUMBER)
    if number is None or struct.unpack('=i', number)[0] < 0:
        raise OSError(f'the kernel gives no number to a namespace: {answer!r}')
    return struct.unpack('=i', number)[0]


def came(stamps, head):
    """The head of a line with the time at which the kernel made the address; it counts hundredths of a second since its start."""
    if stamps is None:
        return head
    read, name = head.split(' ', 1)
    made = time.time() - time.monotonic() + struct.unpack('=IIII', stamps)[2] / 100
    return f'{min(float(read), made):.6f} {name}'


class Listener:
    def __init__(self, names):
        """names: number of a namespace -> its name and descriptor."""
        self.names = names
        self.devices = {}
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, ROUTE)
        self.socket.setsockopt(socket.SOL_SOCKET, recorder.SO_RCVBUFFORCE, 64 << 20)
        self.socket.setsockopt(SOL_NETLINK, LISTEN_ALL, 1)
        self.socket.bind((0, GROUPS))
        self.socket.setblocking(False)

    def device(self, number, index):
        key = number, index
        if key not in self.devices:
            if libc.setns(self.names[number][1], CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), 'setns')
            try:
                self.devices[key] = socket.if_indextoname(index)
            except OSError:
                return f'#{index}'
        return self.devices[key]

    def read(self):
        """All that has come."""
        got = []
        while True:
            try:
                data, more, _flags, _from = self.socket.recvmsg(1 << 17, 1024)
            except BlockingIOError:
                break
            except OSError as error:
                if error.errno != errno.ENOBUFS:
                    raise
                print('lost')
                continue
            number = next((struct.unpack('=i', value[:4])[0] for level, kind, value in more if (level, kind) == (SOL_NETLINK, LISTEN_ALL)), None)
            if number in self.names:
                got.append((number, data, time.time()))
        for number, data, when in got:
            self.say(number, data, f'{when:.6f} {self.names[number][0]}')

    def say(self, number, data, head):
        at = 0
        while at + 20 <= len(data):
            length, kind = struct.unpack_from('=IH', data, at)
            if kind in (NEW_ADDRESS, DELETED_ADDRESS):
                _family, prefix, _flags, _scope, index = struct.unpack_from('=BBBBI', data, at + 16)
                found = attributes(data, at + 24, at + length)
                raw = found.get(OWN, found.get(ADDRESS, b''))
                if kind == NEW_ADDRESS:
                    head = came(found.get(STAMPS), head)
                text = socket.inet_ntop(socket.AF_INET if len(raw) == 4 else socket.AF_INET6, raw)
                print(f'{head} {"add" if kind == NEW_ADDRESS else "remove"} {self.device(number, index)} {text}/{prefix}')
            # Of the other families is what a bridge says of its ports.
            elif kind in (NEW_LINK, DELETED_LINK) and data[at + 16] == socket.AF_UNSPEC:
                index, flags, change = struct.unpack_from('=iII', data, at + 20)
                found = attributes(data, at + 32, at + length)
                name = found.get(LINK_NAME, b'?\0')[:-1].decode()
                self.devices[number, index] = name
                mtu, master = (struct.unpack('=I', found.get(what, b'\0' * 4))[0] for what in (LINK_MTU, LINK_MASTER))
                print(f'{head} {"link" if kind == NEW_LINK else "deleted"} {name} index {index} flags {flags:#x} changed {change:#x} mtu {mtu} master {master}')
            at += max(16, (length + 3) & ~3)


def main():
    names = {}
    for one in sys.argv[1:]:
        name, path = one.split('=', 1)
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        names[number_of(descriptor)] = name, descriptor
    listener = Listener(names)
    recorder.go_first()
    print('listening', flush=True)
    poll = select.poll()
    poll.register(listener.socket, select.POLLIN)
    poll.register(0, select.POLLIN)
    while True:
        asked = any(number == 0 for number, _ in poll.poll()) and os.read(0, 4096)
        listener.read()
        if asked:
            sys.stdout.write(asked.decode())
        sys.stdout.flush()
        if asked == b'':
            return


main()
