"""Prints a line for every frame that this network namespace sends to everybody to announce an address: time, device, kind,
address, hardware address of the sender, and that of the target (of an ARP reply) or the flags (of an advertisement). A line on
standard input is printed after all that was sent before it."""
import os
import select
import socket
import time

OUTGOING = 4
SO_RCVBUFFORCE = 33  # everything is heard here, and what comes while others have the processor must find room


def mac(raw):
    return raw.hex(':')


def say(frame, device):
    protocol = int.from_bytes(frame[12:14], 'big')
    if protocol == 0x0806 and frame[20:22] == b'\0\2' and frame[28:32] == frame[38:42]:
        print(f'{time.time():.6f} {device} arp {socket.inet_ntoa(frame[28:32])} {mac(frame[22:28])} {mac(frame[32:38])}')
    elif protocol == 0x86DD and frame[20] == 58 and frame[54] == 136:
        print(f'{time.time():.6f} {device} na {socket.inet_ntop(socket.AF_INET6, frame[62:78])} {mac(frame[6:12])} {frame[58] >> 5}')


def main():
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as wire:
        wire.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
        wire.setblocking(False)
        print('listening')
        while True:
            ready = select.select([wire, 0], [], [])[0]
            asked = os.read(0, 4096) if 0 in ready else None
            while True:
                try:
                    frame, (device, _protocol, kind, *_) = wire.recvfrom(2048)
                except BlockingIOError:
                    break
                if kind == OUTGOING:
                    say(frame, device)
            if asked == b'':
                return
            if asked:
                print(asked.decode(), end='')


main()
