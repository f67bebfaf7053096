"""A laboratory with hypervisors: nodes, guests, the events of their libvirt, and judgements the scenarios of guests share."""
import collections
import threading
import time

import libvirt
import libvirt_qemu

from . import guests
from . import hypervisor as hypervisors
from .lab import NoVerdict, check, equal, within

SHUTDOWN_TIMEOUT = 5
PATIENCE = 60  # of who only looks: a busy machine ends no connection
Event = collections.namedtuple('Event', 'time uuid event detail')
STARTED, STOPPED = libvirt.VIR_DOMAIN_EVENT_STARTED, libvirt.VIR_DOMAIN_EVENT_STOPPED


class Events:
    """Every lifecycle event of one libvirtd from now on; it must be there to be asked. The times are those of their arrival here:
    when something happened, `Hypervisor.lives` tells."""

    def __init__(self, uri):
        self.seen = []
        self._is_broken = False
        self._connection = hypervisors.connect(uri, PATIENCE)
        self._connection.registerCloseCallback(self._closed, None)
        self._connection.domainEventRegisterAny(None, libvirt.VIR_DOMAIN_EVENT_ID_LIFECYCLE, self._take, None)

    def _take(self, _connection, domain, event, detail, _context):
        self.seen.append(Event(time.time(), domain.UUIDString(), event, detail))

    def _closed(self, _connection, _reason, _context):
        self._is_broken = True

    def of(self, uuid, event=None):
        if self._is_broken:
            raise NoVerdict('the connection that brings libvirt\'s events has ended')
        return [one for one in list(self.seen) if one.uuid == uuid and event in (None, one.event)]


class Herd:
    """Nodes with a hypervisor each, one ZooKeeper, and a client. each: what is to be done to a node before it gets power."""

    def __init__(self, lab, count=1, driver='qemu', settings=None, version=10, network=None, servers=1, each=lambda node: None):
        self.lab = lab
        self.driver = driver
        self.version = version
        lab.zookeeper(servers, version=version)
        values = {'system.intervals.vm_shutdown_timeout': SHUTDOWN_TIMEOUT}
        values.update(settings or {})
        self.nodes = [lab.node(name, coordinators=lab.names(3), settings=values, hypervisor=True, network=network)
                      for name in lab.names(count)]
        self.client = guests.Client(lab.client)
        self.kinds = {}
        for node in self.nodes:
            each(node)
            node.power_on()

    # --- daemons ---

    @property
    def environment(self):
        if self.driver == 'qemu':
            return {}
        return {'PVCD_LIBVIRT_URI': 'test+unix:///default?socket=/run/libvirt/libvirt-sock',
                'PVCD_LIBVIRT_REMOTE_URI': 'test+tcp://{}/default'}

    def start(self, node=None):
        """The daemon of one node, or of all; up when they are `run`."""
        chosen = [node] if node is not None else self.nodes
        for one in chosen:
            one.up(environment=self.environment)
        for one in chosen:
            self.lab.await_state(one, 'run')

    def uri(self, node):
        return node.hypervisor.uri if self.driver == 'qemu' else node.hypervisor.test_uri

    def events(self, node):
        return Events(self.uri(node))

    # --- guests ---

    def xml(self, uuid, name, kind='', comment='', volumes=()):
        if self.driver == 'qemu':
            config = self.lab.storage.config if volumes else ''
            return guests.xml(self.lab.folder, uuid, name, kind, comment=comment, volumes=volumes, config=config)
        return guests.test_xml(uuid, name, comment)

    def define(self, number, name, kind='', node=None, state='stop', volumes=(), **values):
        uuid = guests.uuid_of(number)
        self.kinds[uuid] = kind
        if volumes:
            values['rbdlist'] = ','.join(volumes)
        guests.define(self.lab.client, uuid, name, self.xml(uuid, name, kind, volumes=volumes), (node or self.nodes[0]).short, state, self.version,
                      **values)
        return uuid

    def run_answering(self, node, number, vni, address):
        """One that runs there, answers pings to that address in a client network, and migrates live."""
        uuid, name = guests.uuid_of(number), f'vm{number}'
        self.kinds[uuid] = 'answers'
        guests.define(self.lab.client, uuid, name, guests.answering_xml(self.lab.folder, uuid, name, vni, address), node.short, 'stop',
                      self.version, migration_method='live')
        self.run(uuid, node, 40)
        return uuid

    def look(self, node, uuid):
        return node.hypervisor.look(uuid, self.uri(node))

    def await_class(self, node, uuid, wanted, timeout=15.0):
        self.lab.wait(lambda: self.look(node, uuid) in wanted, timeout,
                      lambda: f'{uuid} in class {wanted} on {node.label}, it is in {self.look(node, uuid)}')

    def await_booted(self, node, uuid, timeout=15.0):
        """Until the processor executes the boot sector: only then does a guest know its power button."""
        def there():
            try:
                text = libvirt_qemu.qemuMonitorCommand(node.hypervisor.domain(uuid), 'info registers',
                                                       libvirt_qemu.VIR_DOMAIN_QEMU_MONITOR_COMMAND_HMP)
                at = int(text.split('EIP=')[1].split()[0], 16)
                return 0x7C00 <= at < 0x7E00
            except (libvirt.libvirtError, AttributeError, IndexError):
                return False
        self.lab.wait(there, timeout, f'{uuid} boots on {node.label}')

    def run(self, uuid, node=None, timeout=15.0):
        """set(start), and until the guest runs."""
        node = node or self.nodes[0]
        self.client.start(uuid)
        self.await_running(node, uuid, timeout)

    def await_running(self, node, uuid, timeout=15.0):
        self.await_class(node, uuid, 'A', timeout)
        self.lab.wait(lambda: uuid in self.listed(node), timeout, f'{node.label} lists {uuid}')
        if self.kinds.get(uuid) not in (None, '', 'off', 'reset'):
            self.await_booted(node, uuid, timeout)

    def listed(self, node):
        return self.lab.key(node, 'runningdomains', '').split()

    def key(self, uuid, key):
        return self.lab.get(f'/domains/{uuid}/{key}')

    def version_of(self, uuid, key):
        return self.lab.stat(f'/domains/{uuid}/{key}').version

    def await_key(self, uuid, key, value, timeout=15.0):
        self.lab.await_value(f'/domains/{uuid}/{key}', value, timeout)

    # --- judging ---

    def mark(self):
        """A transaction id: everything later has a larger one."""
        self.lab.get('/schema/version')
        return self.lab.client.last_zxid

    def changes(self, path, since=0):
        return [change for change in self.lab.history(path) if change.zxid > since and change.operation != 'delete']

    def values(self, uuid, key, since=0):
        """Values a key took, in order, repetitions left out."""
        found = []
        for change in self.changes(f'/domains/{uuid}/{key}', since):
            text = (change.value or b'').decode(errors='replace')
            if not found or found[-1] != text:
                found.append(text)
        return found

    def history_of(self, node):
        """Time and text of every running list, for a message."""
        return [(time.strftime('%H:%M:%S', time.gmtime(change.time)) + f'{change.time % 1:.2f}'[1:], (change.value or b'').decode())
                for change in self.changes(f'/nodes/{node.short}/runningdomains')]

    def own_writes(self, uuid, since=0):
        """Keys of the guest that somebody other than the client wrote, in order; contenders of locks left out."""
        mine = self.lab.client.client_id[0] & (2 ** 64 - 1)
        root = f'/domains/{uuid}'
        found = []
        for change in self.lab.history():
            inside = change.path == root or (change.path.startswith(root + '/') and change.path.count('/') == 3)
            if inside and change.zxid > since and change.session & (2 ** 64 - 1) != mine:
                found.append((change.path[len(root) + 1:], (change.value or b'').decode(errors='replace')))
        return found

    def order(self, since, *steps):
        """Each step is a path and a value: these were written after `since`, in this order."""
        last = since
        for path, value in steps:
            found = [change.zxid for change in self.changes(path, since) if (change.value or b'').decode() == value]
            check(found, f'{path} never became {value!r}')
            check(any(zxid >= last for zxid in found), f'{path} became {value!r} too early; expected order {steps}')
            last = min(zxid for zxid in found if zxid >= last)

    def no_locks_left(self, uuid, timeout=12.0):
        def left():
            return [f'{key}/{child}' for key in ('state', 'node', 'migrate_sync_lock')
                    for child in self.lab.client.get_children(f'/domains/{uuid}/{key}')]
        self.lab.wait(lambda: not left(), timeout, lambda: f'locks are free, these are there: {left()}')

    def settled(self, uuid, node, last=''):
        """Runs there, is known to run there, and nowhere else."""
        equal((self.key(uuid, 'state'), self.key(uuid, 'node'), self.key(uuid, 'lastnode')), ('start', node.short, last),
              'state, node, lastnode')
        for one in self.nodes:
            if one.powered:
                equal(self.look(one, uuid), 'A' if one is node else 'N', f'class on {one.label}')
                equal(uuid in self.listed(one), one is node, f'{one.label} lists the guest')
        equal(self.key(uuid, 'failedreason'), '', 'failedreason')


class Sampler:
    """Looks at one guest on several nodes, every 20 ms unless told otherwise. A pass reads the first node again at its
    end, so that a change between two reads does not look like two guests. Every look has the times before and after it."""

    def __init__(self, nodes, uuid, every=0.02):
        self.passes = []
        self._every = every
        self.uuid = uuid
        self._uris = [node.hypervisor.uri for node in nodes]
        self._connections = [None] * len(nodes)
        self._stop = False
        self._look_at_all()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _look(self, at):
        before = time.monotonic()
        try:
            if self._connections[at] is None:
                self._connections[at] = hypervisors.connect(self._uris[at], PATIENCE)
            found = hypervisors.class_of(*self._connections[at].lookupByUUIDString(self.uuid).state()[:2])
        except libvirt.libvirtError as error:
            found = hypervisors.NONE if error.get_error_code() == libvirt.VIR_ERR_NO_DOMAIN else hypervisors.UNKNOWN
            if found == hypervisors.UNKNOWN:
                self._connections[at] = None
        return found, before, time.monotonic()

    def _look_at_all(self):
        self.passes.append([self._look(at) for at in (*range(len(self._uris)), 0)])

    def _run(self):
        while not self._stop:
            begun = time.monotonic()
            self._look_at_all()
            time.sleep(max(0.0, self._every - (time.monotonic() - begun)))

    def end(self):
        self._stop = True
        self._thread.join(60)
        if self._thread.is_alive():
            raise NoVerdict('libvirt does not answer who looks at a guest')
        for _ in range(5):
            self._look_at_all()
            if hypervisors.UNKNOWN not in [found for found, _, _ in self.passes[-1]]:
                return self.passes
        raise NoVerdict(f'libvirt does not tell of a guest: {self.passes[-1]}')

    def judge(self, longest_gap):
        """Never two that execute, and without one only for a moment. How many samples a migration gives is the machine's
        affair: a quick one leaves few. What they have to show is the guest, and that the last of them saw it somewhere. A gap is as
        long as the looks tell, from the end of the first that found nobody to the beginning of the last; one that got no answer
        tells nothing."""
        passes = self.end()
        check(hypervisors.ALIVE in [found for found, _, _ in passes[-1]], f'{len(passes)} samples, the last without the guest: {passes[-1]}')
        since = None
        worst = 0.0
        for looks in passes:
            *seen, again = [found for found, _, _ in looks]
            both = seen[0] == again and seen.count(hypervisors.ALIVE) > 1
            check(not both, f'two of it executed: {seen}')
            if hypervisors.ALIVE in seen or again == hypervisors.ALIVE:
                since = None
            elif hypervisors.UNKNOWN not in (*seen, again):
                since = max(after for _, _, after in looks[:-1]) if since is None else since
                worst = max(worst, min(before for _, before, _ in looks[1:]) - since)
        within(worst, longest_gap, f'nobody executed for {worst:.2f} s')
        return len(passes), worst
