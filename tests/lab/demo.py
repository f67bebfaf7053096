"""The demonstration behind tests/demo: three nodes, one table, a power switch for each."""
import os
import select
import sys
import termios
import time
import tty

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

from lab import lab as labs, node as nodes, space  # noqa: E402

INTERVAL = 2
NOTE_CUT = 'no fencing yet: the record stays'


class Cluster:
    def __init__(self, lab):
        self.lab = lab
        self.nodes = []
        self.seen = {}
        self.note = {}

    def start(self):
        self.lab.zookeeper()
        names = self.lab.names(3)
        for name in names:
            self.nodes.append(self.lab.node(name, coordinators=names, interval=INTERVAL))
        for node in self.nodes:
            node.up()

    def toggle(self, index):
        node = self.nodes[index]
        if node.powered:
            node.cut_power()
            return f'{node.short}: power cut'
        node.up()
        return f'{node.short}: power on'

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
        memory = node.daemon.memory() if node.powered and node.daemon is not None and node.daemon.alive() else {}
        note = ''
        if not node.powered:
            note = NOTE_CUT
        elif node.daemon is not None and not node.daemon.alive():
            note = f'the daemon ended with {node.daemon.carrier.poll()}'
        return {'node': node.short, 'power': 'on' if node.powered else 'CUT', 'state': record['daemonstate'],
                'role': record['routerstate'], 'age': age, 'pss': memory.get('Pss'),
                'private': memory.get('Private_Dirty'), 'load': record['cpuload'], 'note': note}

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
    return [row['node'], row['power'], row['state'], row['role'], age, memory, row['load'], row['note']]


HEAD = ['node', 'power', 'state', 'role', 'keepalive age', 'memory PSS/private', 'load', '']
WIDTHS = [8, 7, 9, 11, 15, 20, 7, 0]


def line_of(cells):
    return ''.join(cell.ljust(width) for cell, width in zip(cells, WIDTHS)).rstrip()


def live(cluster):
    """The table, until q or an interrupt."""
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    tty.setcbreak(terminal)
    sys.stdout.write('\033[?25l\033[2J')
    message = ''
    try:
        while True:
            columns = os.get_terminal_size().columns
            lines = ['pvcnoded: three nodes and one ZooKeeper on this machine', '', line_of(HEAD)[:columns]]
            for row in cluster.rows():
                line = line_of(text_of(row))[:columns]
                colour = '31' if row['power'] == 'CUT' else '32' if row['state'] == 'run' else '33'
                lines.append(f'\033[{colour}m{line}\033[0m')
            lines += ['', '1, 2, 3: cut a node\'s power, bring it back    q: leave', message]
            sys.stdout.write('\033[H' + ''.join(line + '\033[K\n' for line in lines) + '\033[J')
            sys.stdout.flush()
            if select.select([terminal], [], [], 0.5)[0]:
                for key in os.read(terminal, 64).decode(errors='replace'):
                    if key == 'q':
                        return
                    if key in '123':
                        message = cluster.toggle(int(key) - 1)
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
        sys.stdout.write('\033[?25h\n')
        sys.stdout.flush()


def plain(cluster):
    """A line for every change and one each ten seconds, until interrupted."""
    last = {}
    print('time      ' + line_of(HEAD), flush=True)
    while True:
        for row in cluster.rows():
            key = (row['power'], row['state'], row['role'])
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


def once(cluster):
    verdict = Verdicts()

    def show():
        print(line_of(HEAD))
        for row in cluster.rows():
            print(line_of(text_of(row)), flush=True)

    def states():
        return [cluster.lab.key(node, 'daemonstate') for node in cluster.nodes]

    def ages():
        return {row['node']: row['age'] for row in cluster.rows()}

    def primaries():
        return [node for node in cluster.nodes if cluster.lab.key(node, 'routerstate') == 'primary']

    verdict.wait(lambda: states() == ['run'] * 3, 30, 'three nodes are seen `run`')
    verdict.wait(lambda: len(primaries()) == 1, 20, 'one of them is `primary`')
    show()
    victim = next((node for node in cluster.nodes if node not in primaries()), cluster.nodes[-1])
    others = [node for node in cluster.nodes if node is not victim]
    cluster.toggle(cluster.nodes.index(victim))
    print(f'{victim.short}: power cut', flush=True)
    verdict.wait(lambda: (ages()[victim.short] or 0) > 3 * INTERVAL, 10 * INTERVAL,
                 f'the keepalive of {victim.short} grows old, its record stays')
    verdict(all((cluster.row(node)['age'] or 99) < 2 * INTERVAL for node in others), 'the other two keep their heartbeat')
    show()
    beat = cluster.lab.stat(f'/nodes/{victim.short}/keepalive')
    cluster.toggle(cluster.nodes.index(victim))
    print(f'{victim.short}: power on', flush=True)
    verdict.wait(lambda: cluster.lab.key(victim, 'daemonstate') == 'run' and beat is not None and
                 cluster.lab.stat(f'/nodes/{victim.short}/keepalive').mzxid > beat.mzxid and
                 cluster.row(victim)['age'] < 2 * INTERVAL, 40, f'{victim.short} is back and `run`')
    verdict(len(primaries()) == 1, 'still exactly one `primary`')
    show()
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
        print('starting ZooKeeper and three nodes ...', flush=True)
        cluster.start()
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
