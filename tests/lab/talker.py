"""Talk over TCP and UDP between namespaces, for what a packet filter lets pass:
    talker.py answer KIND/PORT ...                     echoes on these ports, over both families, until it is ended
    talker.py ask KIND ADDRESS PORT SECONDS [FROM]     exit 0: answered; 1: silence; 3: refused or told that it is unreachable
    talker.py ask-all SECONDS KIND,ADDRESS,PORT ...    all at once; a line with the exit status for each
    talker.py flow KIND ADDRESS PORT SECONDS FILE      one packet or piece each so many seconds, over one socket; FILE gets a line
                                                       `s NUMBER TIME` for each, `r NUMBER TIME` for each answer, until SIGTERM,
                                                       and `m WORD`, `lost` and `end` as of prober.py
"""
import os
import select
import signal
import socket
import struct
import sys
import threading
import time

import recorder

KINDS = {'tcp': socket.SOCK_STREAM, 'udp': socket.SOCK_DGRAM}
ANSWERED, SILENT, REFUSED = 0, 1, 3


def answer(ports):
    talks, listening = {}, {}
    for word in ports:
        kind, _, port = word.partition('/')
        one = socket.socket(socket.AF_INET6, KINDS[kind])
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        one.bind(('::', int(port)))
        if kind == 'tcp':
            one.listen(64)
        listening[one] = kind
    recorder.go_first()
    print('ready', flush=True)
    while True:
        for one in select.select([*listening, *talks], [], [])[0]:
            try:
                if listening.get(one) == 'tcp':
                    talks[one.accept()[0]] = True
                elif one in listening:
                    data, who = one.recvfrom(2048)
                    one.sendto(data, who)
                else:
                    data = one.recv(65536)
                    if data:
                        one.sendall(data)
                    else:
                        del talks[one]
                        one.close()
            except OSError:
                if talks.pop(one, None):
                    one.close()


def opened(kind, address, port, source=None):
    family = socket.AF_INET6 if ':' in address else socket.AF_INET
    one = socket.socket(family, KINDS[kind])
    if source:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind(('', int(source)))
    return one, (address, int(port))


def ask(kind, address, port, seconds, source=None):
    one, where = opened(kind, address, port, source)
    one.settimeout(float(seconds))
    try:
        one.connect(where)
        one.sendall(b'?')
        return ANSWERED if one.recv(16) == b'?' else SILENT
    except (TimeoutError, socket.timeout):
        return SILENT
    except OSError:
        return REFUSED


def ask_all(seconds, *whom):
    found = [SILENT] * len(whom)

    def one(at):
        found[at] = ask(*whom[at].split(','), seconds)
    threads = [threading.Thread(target=one, args=(at,)) for at in range(len(whom))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(*found, sep='\n')
    return 0


def flow(kind, address, port, seconds, path):
    over = []
    signal.signal(signal.SIGTERM, lambda _number, _frame: over.append(True))
    one, where = opened(kind, address, port)
    one.connect(where)
    one.setblocking(False)
    recorder.stamped(one)
    recorder.go_first()
    number, rest, due, lost, asking = 0, b'', time.monotonic(), 0, [0]
    with open(path, 'w') as file:
        while not over:
            if time.monotonic() >= due:
                due = max(due + float(seconds), time.monotonic())
                number += 1
                file.write(f's {number} {time.time():.6f}\n')
                try:
                    one.send(struct.pack('>I', number))
                except OSError:
                    pass
            ready = select.select([one, *asking], [], [], max(0.0, due - time.monotonic()))[0]
            asked = os.read(0, 4096).decode() if 0 in ready else None
            try:
                while True:
                    data, more, _flags, _from = one.recvmsg(65536, 256)
                    if not data:
                        return SILENT
                    when, count = recorder.said(more)
                    if count > lost:
                        lost = count
                        file.write('lost\n')
                    rest += data
                    while len(rest) >= 4:
                        file.write(f'r {struct.unpack(">I", rest[:4])[0]} {when or time.time():.6f}\n')
                        rest = rest[4:]
            except OSError:
                pass
            if asked == '':
                asking = []
            file.writelines(f'm {word}\n' for word in (asked or '').split())
            file.flush()
        file.write('end\n')
    return ANSWERED


if __name__ == '__main__':
    what, words = sys.argv[1], sys.argv[2:]
    if what == 'answer':
        answer(words)
    sys.exit({'ask': ask, 'ask-all': ask_all, 'flow': flow}[what](*words))
