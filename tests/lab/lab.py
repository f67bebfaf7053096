"""What a scenario works with: servers, nodes, a client of the tree, waiting and judging."""
import collections
import logging
import os
import signal
import socket
import struct
import threading
import time

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from . import lateness
from . import node as nodes
from . import space
from . import zookeeper as servers
from .ceph import Cluster
from .proxy import Proxy

logging.getLogger('kazoo').setLevel(logging.CRITICAL + 1)

SCENARIOS = {}
Scenario = collections.namedtuple('Scenario', 'name run cases limit long')


CRASHES = (signal.SIGILL, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGSEGV, signal.SIGSYS)


class Failed(AssertionError):
    """The daemon did not do what the specification promises."""


class NoVerdict(Exception):
    """Whether it did cannot be said: a recorder may have lost something, or had no turn. The scenario is begun anew (run)."""


def scenario(cases='', limit=60, long=False):
    """Registers a function as a scenario; its name is the function's. cases: the acceptance cases it shows. limit in
    seconds. A long one runs only when it is named or --long is given."""
    def register(function):
        name = function.__name__
        if name in SCENARIOS:
            raise RuntimeError(f'two scenarios are called {name}')
        SCENARIOS[name] = Scenario(name, function, cases, limit, long)
        return function
    return register


def check(condition, text):
    if not condition:
        raise Failed(text)


def within(spent, limit, text):
    """A limit on real time, in seconds; what this machine was late in all this scenario is granted, and what those who serve have
    waited for a processor in a stretch of that length."""
    late = lateness.granted(max(spent, limit))
    check(spent < limit + late, f'{text} (limit {limit:g} s; this machine was {late:.1f} s late)')


def between(least, spent, limit, text):
    """Like within(), for what may not come too early either: there nothing is granted."""
    check(spent >= least, f'{text} (expected {least:g} s at the least)')
    within(spent, limit, text)


def equal(found, expected, what):
    check(found == expected, f'{what}: expected {expected!r}, found {found!r}')


class Lab:
    """One run: its folder is a tmpfs inside namespaces that end with this process."""

    def __init__(self, folder):
        self.folder = folder
        self.ensemble = None
        self.storage = None
        self.nodes = {}
        self.hosts = {}
        self.coordinators = []
        self._client = None
        self.begun = time.monotonic()

    # --- servers ---

    def zookeeper(self, servers_count=1, version=10, start=True, **settings):
        """Starts the servers and, unless version is None, creates the tree of that schema version."""
        self.ensemble = servers.Ensemble(self.folder, servers_count, start=start, **settings)
        if start and version is not None:
            self.initialise(version)
        return self.ensemble

    def initialise(self, version):
        self.put(servers.base_tree(version))

    def proxy(self, server=None):
        """A stage in front of a server; the nodes made from now on connect to it."""
        stage = Proxy(server or self.ensemble.one)
        self.through = stage
        return stage

    through = None

    def ceph(self, **settings):
        """Starts a cluster of Ceph at an address that all nodes reach; those that are made from now on use it."""
        self.storage = Cluster(os.path.join(self.folder, 'ceph'), address=f'{space.NETWORK}.250', **settings).start()
        return self.storage

    def _storage_settings(self):
        """The storage network is the lab's only one: Ceph sees the clients of a node at the node's storage address."""
        return {'functions.enable_storage': True,
                'cluster.networks.storage.network': f'{space.NETWORK}.0/24',
                'cluster.networks.storage.floating_ip': f'{space.NETWORK}.254/24',
                'system.configuration.storage.ceph_config_file': self.storage.config,
                'system.configuration.storage.ceph_admin_keyring': self.storage.keyring}

    # --- nodes ---

    def names(self, count):
        return [f'pvchv{number}' for number in range(1, count + 1)]

    def node(self, name='pvchv1', coordinators=None, settings=None, remove=(), instance='', interval=1, hypervisor=False, network=None):
        """A node that is not powered yet. coordinators: node names; each resolves to a server's address. network: its shape
        (network.py), for a node that brings up its own networks."""
        coordinators = coordinators or self.coordinators or [name.split('.')[0]]
        self.coordinators = coordinators
        if self.through is not None:
            places = [(self.through.address, self.through.port)]
        else:
            places = [(server.address, server.port) for server in self.ensemble.servers]
        items = []
        for index, coordinator in enumerate(coordinators):
            address, port = places[index % len(places)]
            self.hosts[coordinator] = address
            items.append(f'{coordinator}:{port}')
        values = {'system.intervals.keepalive_interval': interval, 'system.intervals.fence_intervals': 30,
                  'system.intervals.suicide_intervals': 0}
        if self.storage is not None:
            values.update(self._storage_settings())
        more = {}
        if network is not None:
            network.prepare_lab()
            values.update(network.settings())
            more = {'devices': network.present, 'bare': True}
        values.update(settings or {})
        made = nodes.Node(self.folder, name, items, self.hosts, values, remove, instance, hypervisor, **more)
        self.nodes[made.label] = made
        return made

    def bare_node(self, name, **options):
        """A node for a test without servers and without the daemon."""
        made = nodes.Node(self.folder, name, [name], {}, **options)
        self.nodes[made.label] = made
        return made

    def running_node(self, name='pvchv1', **options):
        """A node whose daemon reached `run`."""
        up = {key: options.pop(key) for key in ('environment', 'notify', 'stdout', 'wrap') if key in options}
        made = self.node(name, **options)
        made.up(**up)
        self.await_state(made, 'run')
        return made

    def cluster(self, count=3, **options):
        coordinators = options.pop('coordinators', None) or self.names(count)
        made = [self.node(name, coordinators=coordinators, **options) for name in self.names(count)]
        for one in made:
            one.up()
        for one in made:
            self.await_state(one, 'run')
        return made

    # --- the tree, seen by a client of the kind the peers are ---

    @property
    def client(self):
        if self._client is None:
            self._client = self.new_client()
        return self._client

    def new_client(self, timeout=10.0, hosts=None, **options):
        client = KazooClient(hosts or self.ensemble.connect_string, timeout=timeout,
                             connection_retry={'max_tries': -1, 'max_delay': 0.5, 'delay': 0.1},
                             command_retry={'max_tries': -1, 'max_delay': 0.5, 'delay': 0.1, 'deadline': 45}, **options)
        client.start(timeout=20)
        return client

    def drop_client(self):
        if self._client is not None:
            self._client.stop()
            self._client.close()
            self._client = None

    def get(self, path, missing=None):
        try:
            return self.client.retry(self.client.get, path)[0].decode(errors='replace')
        except NoNodeError:
            return missing

    def stat(self, path):
        return self.client.retry(self.client.exists, path)

    def set(self, path, value):
        self.client.retry(self.client.set, path, value if isinstance(value, bytes) else value.encode())

    def put(self, pairs, batch=400):
        """Creates keys, parents first, in transactions of a bearable size."""
        pairs = list(pairs)
        for at in range(0, len(pairs), batch):
            transaction = self.client.transaction()
            for path, value in pairs[at:at + batch]:
                transaction.create(path, value.encode())
            for result, (path, _) in zip(transaction.commit(), pairs[at:at + batch]):
                if isinstance(result, Exception):
                    raise RuntimeError(f'cannot create {path}: {result!r}')

    def put_node(self, name, version=10, mode='coordinator', **values):
        """The record of a node that is not there."""
        self.put((f'/nodes/{name}{suffix}', value)
                 for suffix, value in servers.node_record(version, mode, **values).items())

    def put_domains(self, count, version=10, node='pvchv1'):
        pairs = []
        for number in range(count):
            uuid = f'00000000-0000-4000-8000-{number:012d}'
            pairs += [(f'/domains/{uuid}{suffix}', value)
                      for suffix, value in servers.domain_record(version, uuid, f'vm{number}', node).items()]
        self.put(pairs, batch=1000)

    def tree(self, path='/'):
        """Every path below, the server's own excepted."""
        found = []
        for child in sorted(self.client.get_children(path)):
            below = path.rstrip('/') + '/' + child
            if below == '/zookeeper':
                continue
            found.append(below)
            found += self.tree(below)
        return found

    def key(self, node, suffix, missing=None):
        name = node if isinstance(node, str) else node.short
        return self.get(f'/nodes/{name}/{suffix}', missing)

    def history(self, path=None, operations=('create', 'set', 'delete')):
        """Committed changes, oldest first, of one path or of all."""
        return [change for change in self.ensemble.history()
                if change.operation in operations and (path is None or change.path == path)]

    def values(self, path):
        """Every value a key ever had."""
        return [(change.value or b'').decode(errors='replace') for change in self.history(path, ('create', 'set'))]

    # --- waiting and judging ---

    def wait(self, condition, timeout, text):
        """Waits until condition() is true (its value is the result) and says what was missing otherwise."""
        deadline, late = time.monotonic() + timeout, lateness.until_now()
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > deadline + lateness.until_now() - late:
                raise Failed(f'not within {timeout:g} s: {text() if callable(text) else text}')
            time.sleep(0.02)

    def await_state(self, node, state, timeout=15.0):
        def seen():
            if node.daemon is not None and state == 'run' and not node.daemon.alive():
                raise Failed(f'{node.label}: the daemon ended with {node.daemon.wait(0)} before `{state}`')
            return self.key(node, 'daemonstate') == state
        self.wait(seen, timeout, lambda: f'{node.label} in state {state}, it is in {self.key(node, "daemonstate")}')

    def await_value(self, path, value, timeout=10.0):
        self.wait(lambda: self.get(path) == value, timeout, lambda: f'{path} = {value}, it is {self.get(path)!r}')

    def await_log(self, node, text, timeout=10.0):
        self.wait(lambda: text in node.log() + node.output(), timeout, f'{node.label} logs "{text}"')

    def await_beats(self, node, count=2, timeout=10.0):
        """Waits for so many further heartbeats."""
        path = f'/nodes/{node.short}/keepalive'
        first = self.stat(path).version
        self.wait(lambda: self.stat(path).version >= first + count, timeout,
                  f'{count} heartbeats of {node.label}')

    def beats(self, node):
        """Server times of all heartbeats so far."""
        return [change.time for change in self.history(f'/nodes/{node.short}/keepalive', ('create', 'set'))]

    def longest_gap(self, node, since=None, until=None):
        times = [t for t in self.beats(node) if (since is None or t >= since) and (until is None or t <= until)]
        return max((b - a for a, b in zip(times, times[1:])), default=float('inf'))

    def session_of(self, node):
        """The session that wrote the last heartbeat."""
        return self.history(f'/nodes/{node.short}/keepalive', ('create', 'set'))[-1].session

    def open_sessions(self):
        """Ids of the sessions the servers hold, our own client's excepted."""
        opened = set()
        for change in self.ensemble.history():
            if change.operation == 'session':
                opened.add(change.session)
            elif change.operation == 'close':
                opened.discard(change.session)
        own = self._client.client_id[0] if self._client is not None and self._client.client_id else None
        return {session for session in opened if session != own and session & (2 ** 64 - 1) != own}

    def expire_session(self, session):
        """Ends a session at once: connects with its id and password, and closes it. Its owner takes the session back as
        soon as it notices, so this may need several goes."""
        server = next(s for s in self.ensemble.servers if s.process is not None)
        hello = struct.pack('>iqiq', 0, 0, 10000, session) + struct.pack('>i', 16) + servers.session_password(session) + b'\0'
        farewell = struct.pack('>ii', 1, -11)
        for _ in range(20):
            with socket.create_connection((server.address, server.port), 5) as stream:
                stream.sendall(struct.pack('>i', len(hello)) + hello + struct.pack('>i', len(farewell)) + farewell)
                while stream.recv(4096):
                    pass
            if session not in self.open_sessions():
                return
        raise RuntimeError(f'session {session:#x} cannot be ended')

    def expect_end(self, node, status, timeout):
        """The daemon ends by itself within the time, with this status."""
        try:
            found = node.daemon.wait(timeout)
        except Exception as error:
            raise Failed(f'{node.label}: the daemon still runs after {timeout:g} s') from error
        equal(found, status, f'{node.label}: exit status')

    @staticmethod
    def process_exists(pid):
        return space.start_time(pid) is not None

    def expect_alive(self, node):
        check(node.daemon.alive(), f'{node.label}: the daemon ended with {node.daemon.carrier.poll()}')

    def crashes(self):
        """Daemons that were ended by a signal which no scenario sends."""
        ended = [(one.label, -(daemon.carrier.poll() or 0)) for one in self.nodes.values() for daemon in one.daemons]
        return [f'{label} was ended by signal {number}' for label, number in ended if number in CRASHES]

    def check_rules(self):
        """What must hold in every scenario."""
        equal(self.crashes(), [], 'crashes')
        for one in self.nodes.values():
            for mark in ('AddressSanitizer', 'runtime error:', 'ThreadSanitizer', 'terminate called', 'Assertion', 'broken invariant', 'of a failed result at', 'of a failed call at'):
                check(mark not in one.output(), f'{one.label} printed "{mark}"')
        if self.ensemble is not None:
            # ZK-35
            for change in self.history(operations=('create',)):
                equal(change.acl, [(31, 'world', 'anyone')], f'access list of {change.path}')

    def end(self):
        """Leaves nothing running; the kernel would do it too."""
        for one in self.nodes.values():
            try:
                one.cut_power()
            except Exception:
                pass
        if self._client is not None:
            threading.Thread(target=self._client.stop, daemon=True).start()
        if self.ensemble is not None:
            for server in self.ensemble.servers:
                if server.process is not None and server.process.poll() is None:
                    server.process.kill()
        if self.storage is not None:
            for process in self.storage.processes.values():
                process.kill()

    def evidence(self):
        """Name and text of every log worth reading after a failure."""
        found = []
        for one in self.nodes.values():
            found.append((f'{one.label} output', one.output()))
            shown = set(one.output().splitlines())
            if any(line not in shown for line in one.log().splitlines()):
                found.append((f'{one.label} pvc.log', one.log()))
            if one.hypervisor is not None:
                found.append((f'{one.label} libvirtd', one.hypervisor.log()))
            boot = nodes.read_file(os.path.join(one.folder, 'boot.log'))
            found.append((f'{one.label} boot', boot.replace('unshare: sigprocmask unblock failed: Invalid argument\n', '')))
        if self.ensemble is not None:
            for server in self.ensemble.servers:
                text = nodes.read_file(os.path.join(server.folder, 'server.log'))
                lines = [line for line in text.splitlines() if not line.startswith('SLF4J')]
                found.append((f'server {server.number}', '\n'.join(lines[-40:])))
        return [(name, text) for name, text in found if text.strip()]


def enter():
    """A lab in namespaces of its own; the calling process goes on inside them."""
    folder = space.enter()
    lateness.until_now()
    return Lab(folder)
