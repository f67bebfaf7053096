"""Echo requests to one address at a fixed pace, whether answered or not: prober.py ADDRESS SECONDS FILE.

The file gets a line `s NUMBER TIME` for each that was sent and `r NUMBER TIME` for each answer, with the kernel's time of its coming;
`m WORD` for a line on standard input, after all that had come before it; `lost` if there was no room for an answer. Ends a second
after SIGTERM, so that what is under way can come back, with a line `end`.
"""
import os
import select
import signal
import socket
import struct
import sys
import time

import recorder

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
        recorder.stamped(self.socket)
        self.lost = 0
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
                data, more, _flags, _from = self.socket.recvmsg(2048, 256)
            except OSError:
                return
            when, lost = recorder.said(more)
            if lost > self.lost:
                self.lost = lost
                self.file.write('lost\n')
            if not self.is_six:
                data = data[(data[0] & 15) * 4:]
            if len(data) < 12 or data[0] != (REPLY6 if self.is_six else REPLY):
                continue
            mark, = struct.unpack('>H', data[4:6])
            number, = struct.unpack('>I', data[8:12])
            if mark == self.mark:
                self.file.write(f'r {number} {when or time.time():.6f}\n')

    def run(self, every, is_over):
        due, ends, asking = time.monotonic(), None, [0]
        while True:
            now = time.monotonic()
            if is_over() and ends is None:
                ends = now + 1
            if ends is not None and now >= ends:
                self.take()
                self.file.write('end\n')
                return
            if ends is None and now >= due:
                self.send()
                # What could not be sent in time is not sent in a burst later.
                due = max(due + every, now)
            ready = select.select([self.socket, *asking], [], [], max(0.0, min(due if ends is None else ends, now + 0.5) - now))[0]
            asked = os.read(0, 4096).decode() if 0 in ready else None
            self.take()
            if asked == '':
                asking = []
            self.file.writelines(f'm {word}\n' for word in (asked or '').split())
            self.file.flush()


def main():
    over = []
    signal.signal(signal.SIGTERM, lambda _number, _frame: over.append(True))
    recorder.go_first()
    with open(sys.argv[3], 'w') as file:
        Prober(sys.argv[1], file).run(float(sys.argv[2]), lambda: bool(over))


if __name__ == '__main__':
    main()
