#!/usr/bin/python3
"""Another client of the same ZooKeeper server, using the library of the reference (kazoo).

usage: kazoo_peer.py HOST:PORT

Reads one command a line from standard input, answers one line each, in the order in which they end:

    TAG COMMAND ARGUMENT...        ->  TAG ok VALUE...   |   TAG fail KIND TEXT

Fields are percent-encoded; "%" alone is the empty field. KIND is the name of kazoo's exception. Ends at end of input.
"""
import concurrent.futures
import logging
import sys
import threading
import time
import urllib.parse

from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout, NoNodeError, NodeExistsError, NotEmptyError
from kazoo.retry import KazooRetry
from kazoo.security import OPEN_ACL_UNSAFE

logging.basicConfig(stream=sys.stderr, level=logging.CRITICAL)


def encode(value):
    return urllib.parse.quote(value, safe='') or '%'


def decode(field):
    return '' if field == '%' else urllib.parse.unquote(field)


def session_password(session):
    """The password that a server of the default configuration gives to a session: 16 bytes of Java's Random, seeded with
    the id and a constant of the server."""
    mask = (1 << 48) - 1
    seed = (((session & 0xffffffffffffffff) ^ 0xB3415C00) ^ 0x5DEECE66D) & mask
    password = bytearray()
    while len(password) < 16:
        seed = (seed * 0x5DEECE66D + 0xB) & mask
        word = (seed >> 16) & 0xffffffff
        password += word.to_bytes(4, 'little')
    return bytes(password)


class Peer:
    def __init__(self, hosts):
        self.hosts = hosts
        self.client = KazooClient(hosts, timeout=10.0, connection_retry=KazooRetry(max_tries=-1, delay=0.05, max_delay=0.3),
                                  command_retry=KazooRetry(max_tries=-1, delay=0.05, max_delay=0.3, deadline=15.0))
        self.client.start(timeout=30)
        self.locks = {}

    def try_(self, call, *arguments, **named):
        return self.client.retry(call, *arguments, **named)

    # --- nodes ---

    def put(self, path, data):
        try:
            self.try_(self.client.set, path, data.encode())
        except NoNodeError:
            try:
                self.try_(self.client.create, path, data.encode(), makepath=True)
            except NodeExistsError:
                self.try_(self.client.set, path, data.encode())

    def put_many(self, path, count, data):
        """PATH/0 to PATH/COUNT-1, pipelined."""
        self.try_(self.client.ensure_path, path)
        for start in range(0, int(count), 500):
            calls = [self.client.create_async(f'{path}/{i}', data.encode())
                     for i in range(start, min(start + 500, int(count)))]
            for one in calls:
                one.get()

    def create(self, path, data):
        return self.try_(self.client.create, path, data.encode())

    def set(self, path, data, version):
        return str(self.try_(self.client.set, path, data.encode(), int(version)).version)

    def remove(self, path):
        self.try_(self.client.delete, path)

    def remove_tree(self, path):
        while True:
            try:
                children = self.try_(self.client.get_children, path)
            except NoNodeError:
                return
            for name in children:
                self.remove_tree((path if path != '/' else '') + '/' + name)
            try:
                self.try_(self.client.delete, path)
                return
            except NoNodeError:
                return
            except NotEmptyError:
                continue

    def wipe(self):
        for name in self.try_(self.client.get_children, '/'):
            if name == 'zookeeper':
                continue
            pending = []
            self._collect('/' + name, pending)
            for start in range(0, len(pending), 500):
                for one in [self.client.delete_async(path) for path in pending[start:start + 500]]:
                    try:
                        one.get()
                    except NoNodeError:
                        pass

    def _collect(self, path, out):
        try:
            children = self.try_(self.client.get_children, path)
        except NoNodeError:
            return
        if len(children) > 1000:
            out += [f'{path}/{name}' for name in children]  # the big ones of these tests are flat
        else:
            for name in children:
                self._collect(f'{path}/{name}', out)
        out.append(path)

    def get(self, path):
        return self.try_(self.client.get, path)[0].decode()

    def stat(self, path):
        stat = self.try_(self.client.exists, path)
        if stat is None:
            raise NoNodeError()
        return [str(stat.czxid), str(stat.mzxid), str(stat.version), str(stat.ephemeralOwner)]

    def children(self, path):
        return sorted(self.try_(self.client.get_children, path))

    def closed_nodes(self, path):
        """Every node from PATH down whose access list is not world:anyone, all permissions."""
        found = []
        pending = [path]
        while pending:
            here = pending.pop()
            acls, _stat = self.try_(self.client.get_acls, here)
            if acls != OPEN_ACL_UNSAFE:
                found.append(f'{here} {acls}')
            pending += [(here if here != '/' else '') + '/' + name for name in self.try_(self.client.get_children, here)
                        if here != '/' or name != 'zookeeper']
        return found

    # --- locks ---

    def acquire(self, name, kind, path, timeout):
        make = {'exclusive': self.client.Lock, 'write': self.client.WriteLock, 'read': self.client.ReadLock}[kind]
        lock = make(path, 'kazoo peer')
        self.locks[name] = lock
        try:
            if not lock.acquire(timeout=float(timeout)):
                return []
        except LockTimeout:
            return []
        return [f'{path}/{lock.node}']

    def release(self, name):
        self.locks.pop(name).release()

    def read_phases(self, path, count):
        """COUNT times: take the read lock, give it back. The longest wait in seconds."""
        longest = 0.0
        for _ in range(int(count)):
            lock = self.client.ReadLock(path, 'kazoo peer')
            start = time.monotonic()
            try:
                lock.acquire(timeout=10.0)
            except LockTimeout:
                pass
            longest = max(longest, time.monotonic() - start)
            lock.release()
        return f'{longest:.6f}'

    # --- sessions ---

    def expire(self, session):
        """Ends somebody's session: connects with its id and password, and closes."""
        number = int(session)
        other = KazooClient(self.hosts, timeout=10.0, client_id=(number, session_password(number)))
        other.start(timeout=10)
        other.stop()
        other.close()


COMMANDS = ('put', 'put_many', 'create', 'set', 'remove', 'remove_tree', 'wipe', 'get', 'stat', 'children', 'closed_nodes',
            'acquire', 'release', 'read_phases', 'expire')


def main():
    peer = Peer(sys.argv[1])
    lock = threading.Lock()

    def answer(*fields):
        with lock:
            sys.stdout.write(' '.join(fields) + '\n')
            sys.stdout.flush()

    def execute(tag, command, arguments):
        try:
            value = getattr(peer, command)(*arguments)
            values = [] if value is None else value if isinstance(value, list) else [value]
            answer(tag, 'ok', *(encode(one) for one in values))
        except Exception as error:  # pylint: disable=broad-except
            answer(tag, 'fail', type(error).__name__, encode(str(error)))

    answer('0', 'ok')
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        for line in sys.stdin:
            tag, command, *arguments = line.split()
            if command in COMMANDS:
                pool.submit(execute, tag, command, [decode(one) for one in arguments])
            else:
                answer(tag, 'fail', 'UnknownCommand', encode(command))


if __name__ == '__main__':
    main()
