"""A TCP stage between nodes and a ZooKeeper server, for the days on which the network or the server misbehaves."""
import collections
import os
import select
import socket
import struct
import threading
import time

from . import space

REQUESTS = {1: 'create', 2: 'delete', 3: 'exists', 4: 'getData', 5: 'setData', 6: 'getACL', 7: 'setACL', 8: 'getChildren',
            9: 'sync', 11: 'ping', 12: 'getChildren2', 13: 'check', 14: 'multi', 15: 'create2', 22: 'multiRead',
            100: 'auth', 101: 'setWatches', 105: 'setWatches2', -11: 'close'}

Request = collections.namedtuple('Request', 'time name bytes')


class Proxy:
    """mode: 'pass'; 'refuse' (nobody listens); 'swallow' (accepts, never answers); answer_delay in seconds."""

    def __init__(self, server):
        self.server = server
        self.address = f'{space.NETWORK}.{220 + server.number}'
        space.sh('ip', 'address', 'add', self.address + '/24', 'dev', 'lab0', check=False)
        with socket.socket() as probe:
            probe.bind((self.address, 0))
            self.port = probe.getsockname()[1]
        self.mode = 'pass'
        self.answer_delay = 0.0
        self.requests = []
        self.answered_bytes = 0
        self.accepted = 0
        self._listener = None
        self._pairs = []
        self._lock = threading.RLock()
        self._wake_read, self._wake_write = os.pipe()
        self._listen()
        threading.Thread(target=self._run, daemon=True).start()

    @property
    def connect_string(self):
        return f'{self.address}:{self.port}'

    def set(self, mode):
        with self._lock:
            self.mode = mode
            if mode == 'refuse':
                if self._listener is not None:
                    self._listener.close()
                    self._listener = None
                self.drop()
            elif self._listener is None:
                self._listen()
        os.write(self._wake_write, b'x')

    def drop(self):
        """Closes every connection there is."""
        with self._lock:
            for pair in self._pairs:
                pair.close()
            self._pairs = []

    def count(self, since=0.0, without=('ping',)):
        return collections.Counter(r.name for r in list(self.requests) if r.time >= since and r.name not in without)

    def bytes(self, since=0.0, without=('ping',)):
        return sum(r.bytes for r in list(self.requests) if r.time >= since and r.name not in without)

    def _listen(self):
        self._listener = socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind((self.address, self.port))
        self._listener.listen(64)

    def _run(self):
        while True:
            with self._lock:
                pairs = list(self._pairs)
                listener = self._listener
            sources = {self._wake_read: None}
            if listener is not None and listener.fileno() >= 0:
                sources[listener.fileno()] = None
            now = time.monotonic()
            wait = 0.2
            for pair in pairs:
                wait = min(wait, pair.flush(now))
                for side in (pair.client, pair.server):
                    if side is not None and side.fileno() >= 0:
                        sources[side.fileno()] = (pair, side)
            try:
                ready = select.select(list(sources), [], [], max(wait, 0.0))[0]
            except (OSError, ValueError):
                continue
            for number in ready:
                if number == self._wake_read:
                    os.read(self._wake_read, 4096)
                elif sources[number] is None:
                    self._accept(listener)
                else:
                    pair, side = sources[number]
                    if not pair.receive(side, time.monotonic()):
                        pair.close()
                        with self._lock:
                            if pair in self._pairs:
                                self._pairs.remove(pair)

    def _accept(self, listener):
        try:
            client = listener.accept()[0]
        except OSError:
            return
        self.accepted += 1
        with self._lock:
            if self.mode == 'swallow':
                self._pairs.append(_Pair(self, client, None))
                return
            try:
                server = socket.create_connection((self.server.address, self.server.port), 2.0)
            except OSError:
                client.close()
                return
            for side in (client, server):
                side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._pairs.append(_Pair(self, client, server))


class _Pair:
    def __init__(self, proxy, client, server):
        self.proxy = proxy
        self.client = client
        self.server = server
        self.late = collections.deque()
        self.rest = b''
        self.greeted = False

    def receive(self, side, now):
        try:
            data = side.recv(262144)
        except OSError:
            return False
        if not data:
            return False
        try:
            if side is self.client:
                if self.server is not None:
                    self._note(data, now)
                    self.server.sendall(data)
            else:
                self.proxy.answered_bytes += len(data)
                if self.proxy.mode == 'swallow':
                    return True
                if self.proxy.answer_delay > 0 or self.late:
                    self.late.append((now + self.proxy.answer_delay, data))
                else:
                    self.client.sendall(data)
        except OSError:
            return False
        return True

    def flush(self, now):
        try:
            while self.late and self.late[0][0] <= now:
                self.client.sendall(self.late.popleft()[1])
        except OSError:
            self.close()
        return self.late[0][0] - now if self.late else 0.2

    def _note(self, data, now):
        self.rest += data
        while len(self.rest) >= 4:
            length = struct.unpack('>i', self.rest[:4])[0]
            if length < 0 or len(self.rest) < 4 + length:
                return
            body, self.rest = self.rest[4:4 + length], self.rest[4 + length:]
            if not self.greeted:
                self.greeted = True
                name = 'connect'
            else:
                kind = struct.unpack('>i', body[4:8])[0]
                name = REQUESTS.get(kind, str(kind))
            self.proxy.requests.append(Request(now, name, 4 + length))

    def close(self):
        for side in (self.client, self.server):
            if side is not None:
                side.close()
