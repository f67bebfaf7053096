"""What happens to the networks of nodes over time: addresses that come and go, frames that announce them, and the stand-in for
EVPN that keeps VXLANs connected while they do."""
import collections
import os
import re
import signal
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
Step = collections.namedtuple('Step', 'time not_before what device address')  # it happened between not_before and time
Frame = collections.namedtuple('Frame', 'time device kind address sender target')


def _read(path):
    try:
        with open(path, errors='replace') as file:
            return file.read()
    except OSError:
        return ''


class _Recorder:
    """A process that writes lines to a file until it is stopped."""

    def __init__(self, node, name, *words, first_word='listening'):
        self.path = os.path.join(node.folder, f'{name}.{time.monotonic_ns()}')
        self.marks = 0
        with open(self.path, 'w') as file:
            self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=file, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 5
        while first_word not in _read(self.path) and time.monotonic() < deadline:
            time.sleep(0.01)

    def all_lines(self):
        """With all that happened before this call: a busy machine may have kept the process from writing it."""
        self.marks += 1
        mark = f'mark {self.marks}\n'
        if self.process.poll() is None:
            self.process.stdin.write(mark.encode())
            self.process.stdin.flush()
            deadline = time.monotonic() + 5
            while mark not in _read(self.path) and self.process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.002)
        return _read(self.path).splitlines()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(10)
        self.process.stdin.close()


class AddressMonitor:
    """Every address that a node gets or loses from now on, with the time."""

    def __init__(self, node, recorder=None):
        self.node = node
        self._recorder = recorder or self._record([node])

    @staticmethod
    def _record(nodes):
        return _Recorder(nodes[0], 'addresses', sys.executable, '-B', os.path.join(HERE, 'address_events.py'),
                         *[f'{node.label}=/proc/{node.first}/ns/net' for node in nodes])

    @classmethod
    def of_all(cls, *nodes):
        """One for each of them, whose times can be compared (was_on_none)."""
        recorder = cls._record(nodes)
        return [cls(node, recorder) for node in nodes]

    def steps(self, what=None, since=0.0):
        found, held = [], set()
        for line in self._recorder.all_lines():
            words = line.split()
            if len(words) == 6 and words[2] == self.node.label:
                step = Step(float(words[1]), float(words[0]), *words[3:])
                # The kernel tells of one again when what it says of it changes.
                is_news = step.what == 'remove' or step[3:] not in held
                (held.add if step.what == 'add' else held.discard)(step[3:])
                if is_news and step.time >= since and what in (None, step.what):
                    found.append(step)
        return found

    def first_step(self, what, address, since=0.0):
        """What happened to this address (with or without its length) for the first time; None: it never did."""
        return next((step for step in self.steps(what, since) if address in (step.address, step.address.split('/')[0])), None)

    def first(self, what, address, since=0.0):
        """The time of that."""
        step = self.first_step(what, address, since)
        return step and step.time


def was_on_none(comes, goes, address, allowed=0.0):
    """Why an address that moves between the nodes of these monitors (of_all) was on neither for a while; None: it was not, or for
    so many seconds at the most."""
    added, removed = comes.first_step('add', address), goes.first_step('remove', address)
    if added is None or removed is None:
        return f'{address} was {"not added" if added is None else "not removed"}'
    if removed.time + allowed < added.not_before:
        return f'{address} was removed by {removed.time:.6f} and added after {added.not_before:.6f}: nobody had it in between'
    return None


class LinkMonitor(_Recorder):
    """Every word of the kernel about the links of a node from now on."""

    def __init__(self, node):
        super().__init__(node, 'links', 'nsenter', '-t', str(node.first), '-n', 'ip', '-o', 'monitor', 'link', first_word='')
        time.sleep(0.2)

    def about(self, *names):
        """The lines about these links. Without a queue they are a bridge's own about a port: one comes 15 s after a port was taken
        in, when its forward delay is over, although nothing changes."""
        return [line for line in _read(self.path).splitlines() if (' qdisc ' in line or line.startswith('Deleted')) and re.match(r'(Deleted )?\d+: (\S+?)[@:]', line)
                and re.match(r'(Deleted )?\d+: (\S+?)[@:]', line)[2] in names]


class FrameMonitor(_Recorder):
    """Every announcement of an address that a node sends from now on, on whatever device: kind `arp` (a reply to everybody) or
    `na` (an unsolicited neighbour advertisement)."""

    def __init__(self, node):
        super().__init__(node, 'frames', 'nsenter', '-t', str(node.first), '-n', sys.executable, '-B', '-u',
                         os.path.join(HERE, 'announcements.py'))

    def frames(self, address=None):
        found = []
        for line in self.all_lines():
            words = line.split()
            if len(words) == 6 and address in (None, words[3]):
                found.append(Frame(float(words[0]), *words[1:]))
        return found

    def pair(self, address, device):
        """The two announcements of an address on a device: the second comes 20 ms after the first."""
        deadline = time.monotonic() + 2
        while True:
            is_last = time.monotonic() > deadline  # an answer may be long in coming
            found = [frame for frame in self.frames(address) if frame.device == device]
            if len(found) >= 2 or is_last:
                return found
            time.sleep(0.01)


class Fabric(threading.Thread):
    """EVPN's part: what is sent to all of a VXLAN goes to every node that has it, a moment after it has it."""

    def __init__(self, nodes, every=0.3):
        super().__init__(daemon=True)
        self.nodes = nodes
        self.every = every
        self._over = threading.Event()
        self.start()

    def run(self):
        while not self._over.wait(self.every):
            try:
                self.connect()
            except (RuntimeError, OSError, TypeError):
                pass  # a node lost its power this moment

    def connect(self):
        powered = [node for node in self.nodes if node.powered]
        tables = {node: node.enter('bridge', 'fdb', 'show', check=False) for node in powered}
        for node, table in tables.items():
            for device in re.findall(r' dev (vxlan\d+) master ', table):
                for other, theirs in tables.items():
                    entry = f'00:00:00:00:00:00 dev {device} dst {other.address} '
                    if other is not node and f' dev {device} master ' in theirs and entry not in table:
                        node.enter('bridge', 'fdb', 'append', '00:00:00:00:00:00', 'dev', device, 'dst', other.address, check=False)

    def stop(self):
        self._over.set()
        self.join(10)
