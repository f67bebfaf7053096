"""Echo requests to one address at a fixed pace, whether answered or not: prober.py ADDRESS SECONDS FILE.

The file gets a line `s NUMBER TIME` for each that was sent and `r NUMBER TIME` for each answer. Ends a second after SIGTERM, so
that what is under way can come back.
"""
import os
import select
import signal
import socket
import struct
import sys
import time

REQUEST, REPLY, REQUEST6, REPLY6 = 8, 0, 128, 129


def checksum(data):
    total = sum(struct.unpack(f'>{len(data) // 2}H', data))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF


class Prober:
    def __init__(self, address, file):
        self.is_six = ':' in address
        self.address = (address, 0)
        self.file = file
        family, protocol = (socket.AF_INET6, socket.IPPROTO_ICMPV6) if self.is_six else (socket.AF_INET, socket.IPPROTO_ICMP)
        self.socket = socket.socket(family, socket.SOCK_RAW, protocol)
        self.socket.setblocking(False)
        self.mark = os.getpid() & 0xFFFF
        self.number = 0

    def send(self):
        """The number has 32 bits: 16 are where a sequence belongs, all of them are in the data."""
        self.number += 1
        body = struct.pack('>I', self.number) + b'pvcnoded'
        kind = REQUEST6 if self.is_six else REQUEST
        head = struct.pack('>BBHHH', kind, 0, 0, self.mark, self.number & 0xFFFF)
        if not self.is_six:
            head = struct.pack('>BBHHH', kind, 0, checksum(head + body), self.mark, self.number & 0xFFFF)
        self.file.write(f's {self.number} {time.time():.6f}\n')
        try:
            self.socket.sendto(head + body, self.address)
        except OSError:
            pass  # nobody there: a packet that was lost

    def take(self):
        while True:
            try:
                data = self.socket.recv(2048)
            except OSError:
                return
            if not self.is_six:
                data = data[(data[0] & 15) * 4:]
            if len(data) < 12 or data[0] != (REPLY6 if self.is_six else REPLY):
                continue
            mark, = struct.unpack('>H', data[4:6])
            number, = struct.unpack('>I', data[8:12])
            if mark == self.mark:
                self.file.write(f'r {number} {time.time():.6f}\n')

    def run(self, every, is_over):
        due, ends = time.monotonic(), None
        while True:
            now = time.monotonic()
            if is_over() and ends is None:
                ends = now + 1
            if ends is not None and now >= ends:
                return
            if ends is None and now >= due:
                self.send()
                # What could not be sent in time is not sent in a burst later.
                due = max(due + every, now)
            select.select([self.socket], [], [], max(0.0, min(due if ends is None else ends, now + 0.5) - now))
            self.take()
            self.file.flush()


def main():
    over = []
    signal.signal(signal.SIGTERM, lambda _number, _frame: over.append(True))
    with open(sys.argv[3], 'w') as file:
        Prober(sys.argv[1], file).run(float(sys.argv[2]), lambda: bool(over))


if __name__ == '__main__':
    main()
