"""Prints a line for every frame that this network namespace sends to everybody to announce an address: time, device, kind,
address, hardware address of the sender, and that of the target (of an ARP frame) or the flags (of an advertisement). The time is
the kernel's, of the sending. A line on standard input is printed after all that was sent before it. `lost` is printed when the kernel
had no room for a frame."""
import os
import select
import socket
import struct

import recorder

OUTGOING = 4
SOL_PACKET, STATISTICS = 263, 6


def mac(raw):
    return raw.hex(':')


def say(frame, device, when):
    protocol = int.from_bytes(frame[12:14], 'big')
    if protocol == 0x0806 and frame[28:32] == frame[38:42]:
        kind = 'arp' if frame[20:22] == b'\0\2' else 'request'
        print(f'{when:.6f} {device} {kind} {socket.inet_ntoa(frame[28:32])} {mac(frame[22:28])} {mac(frame[32:38])}')
    elif protocol == 0x86DD and frame[20] == 58 and frame[54] == 136:
        print(f'{when:.6f} {device} na {socket.inet_ntop(socket.AF_INET6, frame[62:78])} {mac(frame[6:12])} {frame[58] >> 5}')


def main():
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as wire:
        recorder.stamped(wire, 64 << 20)
        wire.setblocking(False)
        recorder.go_first()
        print('listening', flush=True)
        while True:
            ready = select.select([wire, 0], [], [])[0]
            asked = os.read(0, 4096) if 0 in ready else None
            while True:
                try:
                    frame, more, _flags, (device, _protocol, kind, *_) = wire.recvmsg(2048, 256)
                except BlockingIOError:
                    break
                if kind == OUTGOING:
                    say(frame, device, recorder.said(more)[0])
            if asked == b'':
                return
            if asked:
                if struct.unpack('=II', wire.getsockopt(SOL_PACKET, STATISTICS, 8))[1]:
                    print('lost')
                print(asked.decode(), end='', flush=True)


main()
