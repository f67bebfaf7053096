"""The demonstration behind tests/demo: three nodes, a guest in a client network that moves between two of them, somebody outside
who pings it through the primary, a board with the power switch of each node; whose power is cut is fenced, and the guest comes back
elsewhere. With --ceph instead of the network a disk, an image on a real Ceph."""
import json
import os
import select
import sys
import termios
import threading
import time
import tty

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

from lab import fences, guests, hypervisor, lab as labs, network, node as nodes, power, space  # noqa: E402
from lab.network_watch import Fabric  # noqa: E402

INTERVAL, DEAD_AFTER = 2, 10
HYPERVISORS = 2
GUEST, GUEST_NAME = guests.uuid_of(1), 'web'
REST = 8
IMAGE = 'web'
VNI, GUEST_ADDRESS = 1001, '10.1.1.10'
FLOATING = f'{network.UPSTREAM}.{network.FLOATING}'
PACE = 0.1
PACE_OF_BOARDS = 0.5


class Cluster:
    def __init__(self, lab):
        self.lab = lab
        self.nodes = []
        self.seen = {}
        self.said = {}  # by the boards, as a thread asks them
        self.volumes = []
        self.ping = None
        self.started = 0.0

    def start(self, with_ceph=False):
        if with_ceph:
            self.lab.ceph(auth=True)
            self.volumes = [self.lab.storage.make_image(IMAGE)]
        self.lab.zookeeper()
        names = self.lab.names(3)
        shape = None if with_ceph else network.Shape()
        for number, name in enumerate(names):
            node = self.lab.node(name, coordinators=names, interval=INTERVAL, hypervisor=number < HYPERVISORS, network=shape,
                                 settings={'system.intervals.fence_intervals': DEAD_AFTER, **power.settings(number + 1)})
            power.PowerBoard(node)
            self.nodes.append(node)
        for node in self.nodes:
            node.up()
        self.started = time.monotonic()
        threading.Thread(target=self._ask_boards, daemon=True).start()
        if shape is not None:
            network.create(self.lab.client, VNI, 'demo', **network.managed(1))
            Fabric(self.nodes)
            outside = network.Station(self.lab, 'outside').in_lab(f'{network.UPSTREAM}.200/24', gateway=FLOATING)
            self.ping = outside.ping(GUEST_ADDRESS, PACE)

    def _ask_boards(self):
        while True:
            for node in self.nodes:
                self.said[node.short] = node.board.say()
            time.sleep(PACE_OF_BOARDS)

    def make_ready(self):
        """What an operator says of a node that is well again: only such a one gets machines."""
        for node in self.hypervisors:
            if (self.lab.key(node, 'daemonstate'), self.lab.key(node, 'domainstate')) == ('run', 'flushed'):
                self.lab.set(f'/nodes/{node.short}/domainstate', 'ready')

    def are_ready(self):
        return all(self.lab.key(node, 'domainstate') == 'ready' for node in self.hypervisors)

    @property
    def hypervisors(self):
        return [node for node in self.nodes if node.hypervisor is not None]

    def define(self):
        if self.volumes:
            text = guests.xml(self.lab.folder, GUEST, GUEST_NAME, 'writes', volumes=self.volumes, config=self.lab.storage.config)
        else:
            text = guests.answering_xml(self.lab.folder, GUEST, GUEST_NAME, VNI, GUEST_ADDRESS)
        guests.define(self.lab.client, GUEST, GUEST_NAME, text, self.hypervisors[0].short, rbdlist=','.join(self.volumes))

    def guest(self, key):
        return self.lab.get(f'/domains/{GUEST}/{key}', '-')

    def places(self):
        """Name -> class of the guest, for the nodes whose libvirt has it."""
        seen = {node.short: node.hypervisor.look(GUEST) for node in self.hypervisors if node.powered}
        return {name: found for name, found in seen.items() if found != hypervisor.NONE}

    def runs_on(self, node):
        """It executes there and nowhere else, and the cluster knows."""
        return (self.places() == {node.short: hypervisor.ALIVE} and self.guest('state') == 'start' and
                all((GUEST in self.lab.key(one, 'runningdomains', '')) == (one is node) for one in self.hypervisors))

    def guest_line(self):
        words = {hypervisor.ALIVE: 'runs', hypervisor.INCOMING: 'arrives', hypervisor.PAUSED: 'paused',
                 hypervisor.DYING: 'ends', hypervisor.UNKNOWN: 'libvirt is silent'}
        places = ', '.join(f'{name} ({words[found]})' for name, found in self.places().items())
        return line_of([GUEST_NAME, self.guest('state'), self.guest('node'), self.guest('lastnode') or '-', places or 'nowhere'],
                       GUEST_WIDTHS)

    def lock_holders(self):
        """Addresses of the clients that have a lock of the image."""
        return [address for _client, _id, address in self.lab.storage.locks(self.volumes[0])]

    def is_locked_by(self, node):
        holders = self.lock_holders()
        return len(holders) == 1 and holders[0].startswith(node.address + ':')

    def storage_lines(self):
        """Whose the image is, and how Ceph fares by what the primary says: nothing without Ceph."""
        if not self.volumes:
            return []
        try:
            names = {node.address: node.short for node in self.nodes}
            held = ', '.join(f'{names.get(one.split(":")[0], "?")} ({one})' for one in self.lock_holders()) or 'nobody'
        except Exception as error:
            held = f'? ({error})'
        try:
            health = json.loads(self.lab.get('/ceph/health') or '{}').get('status', '-')
        except ValueError:
            health = '?'
        return [line_of(STORAGE_HEAD, STORAGE_WIDTHS), line_of([self.volumes[0], health, held], STORAGE_WIDTHS)]

    def gateway_holders(self):
        """Names of the nodes that have the gateway of the client network."""
        def has_it(node):
            try:
                return node.powered and '10.1.1.1/24' in network.View(node).on(f'vmbr{VNI}')
            except RuntimeError:
                return False  # its board switches it on or off this very moment
        return [node.short for node in self.nodes if has_it(node)]

    def network_lines(self):
        """How the guest fares by who pings it from outside: nothing with Ceph."""
        if self.ping is None:
            return []
        sent, answered = self.ping.read()
        now, last = time.time(), max(answered.values(), default=None)
        recent = [number for number, at in sent.items() if now - 11 < at < now - 1]
        words = 'never yet' if last is None else f'{max(0.0, now - last):.1f} s ago'
        lost = f'{sum(1 for number in recent if number not in answered)} of {len(recent)}'
        holders = ', '.join(self.gateway_holders()) or 'nobody'
        return [line_of(NETWORK_HEAD, NETWORK_WIDTHS), line_of([f'{VNI}', GUEST_ADDRESS, words, lost, holders], NETWORK_WIDTHS)]

    def toggle(self, index):
        node = self.nodes[index]
        with node.switching:  # its board does so too
            if node.powered:
                node.cut_power()
                return f'{node.short}: power cut'
            node.up()
            return f'{node.short}: power on'

    def fence_lines(self):
        """The last fence, as its record has it: nothing before there is one."""
        records = fences.records_of(self.nodes)
        if not records:
            return []
        record = max((one for one, _ in records), key=lambda one: one['begun']['wall_us'])
        proof = record['proof']['kind'] if record['proof'] else 'none'
        moved = ', '.join(f'{one["name"]}: {one["outcome"] or "under way"}' + (f' on {one["target"]}' if one['target'] else '')
                          for one in record['machines']) or '-'
        return [line_of(FENCE_HEAD, FENCE_WIDTHS),
                line_of([record['node'], record['coordinator'], record['way'], proof, record['outcome'], moved], FENCE_WIDTHS)]

    def row(self, node):
        """What the record says, and what the machine says of the daemon."""
        record = {key: self.lab.key(node, key, '-') for key in ('daemonstate', 'routerstate', 'cpuload')}
        stat = self.lab.stat(f'/nodes/{node.short}/keepalive')
        now = time.monotonic()
        if stat is not None:
            last = self.seen.get(node.short)
            if last is None or last[0] != stat.mzxid:
                self.seen[node.short] = (stat.mzxid, now)
        age = now - self.seen[node.short][1] if node.short in self.seen else None
        daemon = node.daemon
        memory = daemon.memory() if node.powered and daemon is not None and daemon.alive() else {}
        note = ''
        if daemon is not None and not daemon.alive():
            note = f'the daemon ended with {daemon.carrier.poll()}'
        return {'node': node.short, 'power': 'on' if node.powered else 'CUT', 'board': self.said.get(node.short, '-'), 'state': record['daemonstate'],
                'role': record['routerstate'], 'age': age, 'pss': memory.get('Pss'),
                'private': memory.get('Private_Dirty'), 'load': record['cpuload'],
                'guests': '-' if node.hypervisor is None else str(len((self.lab.key(node, 'runningdomains') or '').split())),
                'note': note}

    def rows(self):
        return [self.row(node) for node in self.nodes]

    def stop(self, say=lambda text: None):
        """Orderly: TERM to every daemon, and each leaves `stop` behind. True if all did."""
        good = True
        running = [n for n in self.nodes if n.powered and n.daemon is not None and n.daemon.alive()]
        for node in running:
            node.daemon.stop()
        for node in running:
            try:
                status = node.daemon.wait(20)
            except Exception:
                status = 'no end'
            state = self.lab.key(node, 'daemonstate')
            say(f'{node.short}: exit status {status}, state {state}')
            good = good and status == 0 and state == 'stop'
        return good


def text_of(row):
    age = '-' if row['age'] is None else f'{row["age"]:.1f} s'
    memory = '-' if row['pss'] is None else f'{row["pss"] / 1024:.1f}/{row["private"] / 1024:.2f} MiB'
    return [row['node'], row['power'], row['board'], row['state'], row['role'], age, memory, row['load'], row['guests'], row['note']]


HEAD = ['node', 'power', 'BMC', 'state', 'role', 'keepalive age', 'memory PSS/private', 'load', 'guests', '']
WIDTHS = [8, 7, 8, 9, 11, 15, 20, 7, 8, 0]
GUEST_HEAD = ['guest', 'state', 'node', 'home', 'really']
GUEST_WIDTHS = [8, 10, 10, 10, 0]
NETWORK_HEAD = ['network', 'pinged', 'answered', 'lost in 10 s', 'gateway']
NETWORK_WIDTHS = [10, 14, 14, 14, 0]
STORAGE_HEAD = ['image', 'Ceph', 'locked by']
STORAGE_WIDTHS = [10, 14, 0]
FENCE_HEAD = ['fenced', 'by', 'way', 'proof', 'outcome', 'its machines']
FENCE_WIDTHS = [8, 8, 20, 10, 14, 0]


def line_of(cells, widths=WIDTHS):
    return ''.join(cell.ljust(width) for cell, width in zip(cells, widths)).rstrip()


class Traveller(threading.Thread):
    """A client that starts the guest and sends it to and fro for as long as the demonstration lasts."""

    def __init__(self, cluster):
        super().__init__(daemon=True)
        self.cluster = cluster
        self.hurry = threading.Event()
        self.message = ''

    def run(self):
        cluster = self.cluster
        client = guests.Client(cluster.lab.new_client())
        cluster.define()
        client.start(GUEST)
        while True:
            self.hurry.wait(REST)
            self.hurry.clear()
            cluster.make_ready()
            first, second = cluster.hypervisors
            states = [cluster.lab.key(node, 'daemonstate') for node in (first, second)]
            if not first.powered or not second.powered or states != ['run', 'run'] or client.get(GUEST, 'state') != 'start':
                continue
            try:
                if client.get(GUEST, 'lastnode'):
                    client.unmigrate(GUEST)
                else:
                    client.migrate(GUEST, second.short if client.get(GUEST, 'node') == first.short else first.short)
            except Exception as error:
                self.message = f'the client: {error!r}'


def live(cluster):
    """The table, until q or an interrupt."""
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    tty.setcbreak(terminal)
    sys.stdout.write('\033[?25l\033[2J')
    message = ''
    traveller = Traveller(cluster)
    traveller.start()
    try:
        while True:
            columns = os.get_terminal_size().columns
            lines = ['pvcnoded: three nodes, one ZooKeeper and a guest on this machine', '', line_of(HEAD)[:columns]]
            for row in cluster.rows():
                line = line_of(text_of(row))[:columns]
                colour = '31' if row['power'] == 'CUT' else '32' if row['state'] == 'run' else '33'
                lines.append(f'\033[{colour}m{line}\033[0m')
            lines += ['', line_of(GUEST_HEAD, GUEST_WIDTHS)[:columns], cluster.guest_line()[:columns]]
            lines += [line[:columns] for line in [*cluster.network_lines(), *cluster.storage_lines()]]
            lines += ['', *[line[:columns] for line in cluster.fence_lines()]]
            lines += ['', '1, 2, 3: cut a node\'s power, bring it back    m: move the guest now    q: leave',
                      message or traveller.message]
            sys.stdout.write('\033[H' + ''.join(line + '\033[K\n' for line in lines) + '\033[J')
            sys.stdout.flush()
            if select.select([terminal], [], [], 0.5)[0]:
                for key in os.read(terminal, 64).decode(errors='replace'):
                    if key == 'q':
                        return
                    if key == 'm':
                        traveller.hurry.set()
                    if key in '123':
                        message = cluster.toggle(int(key) - 1)
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
        sys.stdout.write('\033[?25h\n')
        sys.stdout.flush()


def plain(cluster):
    """A line for every change and one each ten seconds, until interrupted."""
    last = {}
    Traveller(cluster).start()
    print('time      ' + line_of(HEAD), flush=True)
    while True:
        guest = cluster.guest_line()
        if last.get(GUEST) != guest:
            last[GUEST] = guest
            print(time.strftime('%H:%M:%S  ') + guest, flush=True)
        for line in cluster.storage_lines()[1:]:
            if last.get(IMAGE) != line:
                last[IMAGE] = line
                print(time.strftime('%H:%M:%S  ') + line, flush=True)
        for line in cluster.fence_lines()[1:]:
            if last.get('fence') != line:
                last['fence'] = line
                print(time.strftime('%H:%M:%S  ') + line, flush=True)
        for row in cluster.rows():
            key = (row['power'], row['board'], row['state'], row['role'])
            known = last.get(row['node'])
            if known is None or known[0] != key or time.monotonic() - known[1] >= 10:
                last[row['node']] = (key, time.monotonic())
                print(time.strftime('%H:%M:%S  ') + line_of(text_of(row)), flush=True)
        time.sleep(0.5)


class Verdicts:
    def __init__(self):
        self.passed = self.failed = 0

    def __call__(self, good, text):
        self.passed, self.failed = self.passed + bool(good), self.failed + (not good)
        print(('ok    ' if good else 'FAIL  ') + text, flush=True)
        return good

    def wait(self, condition, timeout, text):
        begun = time.monotonic()
        while not condition():
            if time.monotonic() - begun > timeout:
                return self(False, f'{text}: not within {timeout} s')
            time.sleep(0.05)
        return self(True, f'{text} ({time.monotonic() - begun:.1f} s)')


def speaks(cluster, verdict, text, timeout=15):
    if cluster.ping is not None:
        now = time.time()
        verdict.wait(lambda: cluster.ping.is_answered(now), timeout, text)


def travel(cluster, verdict, show):
    """The guest is defined, started, sent away and brought home."""
    first, second = cluster.hypervisors
    client = guests.Client(cluster.lab.client)
    cluster.define()
    client.start(GUEST)
    if not verdict.wait(lambda: cluster.runs_on(first), 20, f'a guest is defined, started and runs on {first.short}'):
        return
    speaks(cluster, verdict, 'it answers pings from outside, through the gateway on the primary')
    client.migrate(GUEST, second.short)
    verdict.wait(lambda: cluster.runs_on(second), 20, f'it is migrated alive to {second.short}')
    speaks(cluster, verdict, f'it answers from {second.short}')
    if cluster.volumes:
        verdict.wait(lambda: cluster.is_locked_by(second), 10, 'the lock of its image moves along')
    show()
    client.unmigrate(GUEST)
    verdict.wait(lambda: cluster.runs_on(first), 20, f'and back to {first.short}')
    speaks(cluster, verdict, f'it answers from {first.short}')


def choose_with_guest(cluster, verdict, primaries):
    """A hypervisor that is not primary, the guest brought there: with the holders of its image's lock."""
    first, second = cluster.hypervisors
    chosen = second if first in primaries else first
    if chosen is second:
        guests.Client(cluster.lab.client).move(GUEST, second.short)
        verdict.wait(lambda: cluster.runs_on(second), 20, f'it is moved alive to {second.short}, which is not `primary`')
    if not cluster.volumes:
        return chosen, []
    verdict.wait(lambda: cluster.is_locked_by(chosen), 10, f'the lock of its image is with {chosen.short}')
    return chosen, cluster.lock_holders()


def once(cluster):
    verdict = Verdicts()

    def show():
        print(line_of(HEAD))
        for row in cluster.rows():
            print(line_of(text_of(row)), flush=True)
        if cluster.guest('state') != '-':
            print('\n'.join([line_of(GUEST_HEAD, GUEST_WIDTHS), cluster.guest_line(), *cluster.network_lines(),
                             *cluster.storage_lines(), *cluster.fence_lines()]), flush=True)

    def states():
        return [cluster.lab.key(node, 'daemonstate') for node in cluster.nodes]

    def ages():
        return {row['node']: row['age'] for row in cluster.rows()}

    def primaries():
        return [node for node in cluster.nodes if cluster.lab.key(node, 'routerstate') == 'primary']

    verdict.wait(lambda: states() == ['run'] * 3, 30, 'three nodes are seen `run`')
    verdict.wait(lambda: len(primaries()) == 1, 20, 'one of them is `primary`')
    show()
    travel(cluster, verdict, show)
    victim, held = choose_with_guest(cluster, verdict, primaries())
    other = next(node for node in cluster.hypervisors if node is not victim)
    cluster.make_ready()
    verdict.wait(lambda: cluster.are_ready() and all(fences.could_fence(node, 2) for node in cluster.nodes), 60,
                 'each of them could fence the others')
    others = [node for node in cluster.nodes if node is not victim]
    begun = len(cluster.lab.values(f'/nodes/{victim.short}/daemonstate'))

    def states_since():
        return cluster.lab.values(f'/nodes/{victim.short}/daemonstate')[begun:]

    time.sleep(max(0.0, cluster.started + DEAD_AFTER * INTERVAL + 2 * INTERVAL - time.monotonic()))  # until they may find it dead
    cluster.toggle(cluster.nodes.index(victim))
    cut = victim.cuts[-1]
    print(f'{victim.short}: power cut', flush=True)
    verdict.wait(lambda: cluster.said[victim.short] == 'off', 10, 'its board says that it is off')
    verdict.wait(lambda: 'dead' in states_since(), 40, f'{victim.short} is found `dead`')
    show()
    verdict.wait(lambda: 'fenced' in states_since(), 40, 'and is `fenced`, as its board was switched off, and says so')
    moved = verdict.wait(lambda: cluster.runs_on(other), 60, f'the guest runs on {other.short}')
    if moved:
        lives = other.hypervisor.lives(GUEST_NAME)
        verdict(lives[-1].begun > cut, f'it was begun there {lives[-1].begun - cut:.1f} s after the power cut')
    verdict(all((age := cluster.row(node)['age']) is not None and age < 2 * INTERVAL for node in others), 'the other two keep their heartbeat')
    # A guest that is begun anew says nothing of itself: what bridges have learned of it has to grow old.
    speaks(cluster, verdict, f'it answers from {other.short}', 60)
    if held:
        verdict.wait(lambda: cluster.is_locked_by(other) and cluster.lock_holders() != held, 10, f'the lock of its image is with {other.short}')
    verdict.wait(lambda: [one['outcome'] for one, _ in fences.records_of(others, victim)][-1:] == ['done'], 20, 'the record says how it went')
    show()
    verdict.wait(lambda: victim.powered and cluster.lab.key(victim, 'daemonstate') == 'run' and (cluster.row(victim)['age'] or 99) < 2 * INTERVAL,
                 60, f'{victim.short} was switched on again, and is `run`')
    verdict(len(primaries()) == 1, 'still exactly one `primary`')
    if cluster.ping is not None:
        speaks(cluster, verdict, 'the guest answers from outside')
        verdict(cluster.gateway_holders() == [node.short for node in primaries()], 'the gateway is where the primary is')
    verdict(cluster.runs_on(other), f'the guest stays on {other.short}, and runs once')
    show()
    client = guests.Client(cluster.lab.client)
    client.shutdown(GUEST)
    verdict.wait(lambda: cluster.guest('state') == 'stop' and not cluster.places(), 15, 'the guest obeys its power button')
    verdict(cluster.stop(lambda text: print(text, flush=True)), 'all of them leave orderly: exit status 0, state `stop`')
    if verdict.failed:
        for name, text in cluster.lab.evidence():
            print(f'--- {name} ---\n' + '\n'.join(text.splitlines()[-25:]))
    print(f'{verdict.passed} passed, {verdict.failed} failed', flush=True)
    return 1 if verdict.failed else 0


def main():
    if not os.access(nodes.DAEMON, os.X_OK):
        sys.exit(f'{nodes.DAEMON} is missing')
    lab = labs.enter()
    cluster = Cluster(lab)
    status = 1
    try:
        with_ceph = '--ceph' in sys.argv[1:]
        print(f'starting {"Ceph, " if with_ceph else ""}ZooKeeper and three nodes ...', flush=True)
        cluster.start(with_ceph)
        if '--once' in sys.argv[1:]:
            status = once(cluster)
        else:
            status = 0
            live(cluster) if sys.stdin.isatty() and sys.stdout.isatty() else plain(cluster)
    except space.Stopped:
        status = 130 if '--once' in sys.argv[1:] else 0
    finally:
        space.ignore_signals()
        if '--once' not in sys.argv[1:]:
            print('stopping ...', flush=True)
            try:
                cluster.stop()
            except Exception:
                pass
        lab.end()
    sys.stdout.flush()
    os._exit(status)


if __name__ == '__main__':
    main()
