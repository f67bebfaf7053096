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

from .lab import NoVerdict

HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE = 30.0  # a recorder that has not had its turn by then gets none
Step = collections.namedtuple('Step', 'order time what device address')  # that of a removal may be late, the order is true
Frame = collections.namedtuple('Frame', 'time device kind address sender target')


def _read(path):
    try:
        with open(path, errors='replace') as file:
            return file.read()
    except OSError:
        return ''


class _Recorder:
    """A process that writes lines to a file until it is stopped. What it may have missed is no verdict."""

    def __init__(self, node, name, *words):
        self.name = name
        self.path = os.path.join(node.folder, f'{name}.{time.monotonic_ns()}')
        self.marks = 0
        with open(self.path, 'w') as file, open(self.path + '.errors', 'w') as errors:
            self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=file, stderr=errors)
        self._await('listening\n', 'begin')

    def _await(self, line, what):
        deadline = time.monotonic() + PATIENCE
        while line not in _read(self.path):
            if self.process.poll() is not None or time.monotonic() > deadline:
                if line in _read(self.path):
                    return
                raise NoVerdict(f'the recorder of {self.name} did not {what}: {_read(self.path + ".errors").strip() or "it had no turn"}')
            time.sleep(0.002)

    def all_lines(self):
        """With all that happened before this call: a busy machine may have kept the process from writing it."""
        self.marks += 1
        mark = f'mark {self.marks}\n'
        try:
            self.process.stdin.write(mark.encode())
            self.process.stdin.flush()
        except OSError:
            pass  # it ended, which is told below
        self._await(mark, 'answer')
        lines = _read(self.path).splitlines()
        if 'lost' in lines:
            raise NoVerdict(f'the recorder of {self.name} has lost something')
        return lines

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(10)
        self.process.stdin.close()


def _record(nodes):
    """What the kernel tells of the networks of these nodes."""
    return _Recorder(nodes[0], 'networks', sys.executable, '-B', os.path.join(HERE, 'network_events.py'),
                     *[f'{node.label}=/proc/{node.first}/ns/net' for node in nodes])


class AddressMonitor:
    """Every address that a node gets or loses from now on, with the time."""

    def __init__(self, node, recorder=None):
        self.node = node
        self._recorder = recorder or _record([node])

    @classmethod
    def of_all(cls, *nodes):
        """One for each of them, whose order and times can be compared (was_on_none)."""
        recorder = _record(nodes)
        return [cls(node, recorder) for node in nodes]

    def mark(self):
        """The order of what happens from now on is higher."""
        return len(self._recorder.all_lines())

    def steps(self, what=None, since=0):
        """Those with an order from that mark on."""
        found, held = [], set()
        for order, line in enumerate(self._recorder.all_lines()):
            words = line.split()
            if len(words) == 5 and words[1] == self.node.label and words[2] in ('add', 'remove'):
                step = Step(order, float(words[0]), *words[2:])
                # The kernel tells of one again when what it says of it changes.
                is_news = step.what == 'remove' or step[3:] not in held
                (held.add if step.what == 'add' else held.discard)(step[3:])
                if is_news and step.order >= since and what in (None, step.what):
                    found.append(step)
        return found

    def first_step(self, what, address, since=0):
        """What happened to this address (with or without its length) for the first time; None: it never did."""
        return next((step for step in self.steps(what, since) if address in (step.address, step.address.split('/')[0])), None)

    def first(self, what, address, since=0):
        """The time of that: when it was read."""
        step = self.first_step(what, address, since)
        return step and step.time


def was_on_none(comes, goes, address, allowed=0.0):
    """Why an address that moves between the nodes of these monitors (of_all) was on neither for a while; None: it was not, or for
    so many seconds at the most. That it came has the kernel's stamp: who reads late makes nothing longer."""
    added, removed = comes.first_step('add', address), goes.first_step('remove', address)
    if added is None or removed is None:
        return f'{address} was {"not added" if added is None else "not removed"}'
    if removed.order < added.order and (allowed == 0.0 or added.time - removed.time > allowed):
        return f'{address} was removed, and {added.time - removed.time:.3f} s later added: nobody had it in between'
    return None


class LinkMonitor:
    """Every word of the kernel about the links of a node from now on."""

    def __init__(self, node):
        self.node = node
        self._recorder = _record([node])

    def about(self, *names):
        """The lines about these links."""
        lines = [line.split(' ', 4) for line in self._recorder.all_lines()]
        return [' '.join(words[2:]) for words in lines if len(words) == 5 and words[2] in ('link', 'deleted') and words[3] in names]

    def stop(self):
        self._recorder.stop()


class FrameMonitor(_Recorder):
    """Every announcement of an address that a node sends from now on, on whatever device: kind `arp` (a reply to everybody),
    `request` (an ARP request of an owner for itself) or `na` (an unsolicited neighbour advertisement). The time is the kernel's."""

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
        """The first two announcements of an address on a device, replies or advertisements: the second comes 0.2 s after the first, of
        the other kind of node 20 ms."""
        deadline = time.monotonic() + 15
        while True:
            is_last = time.monotonic() > deadline
            found = [frame for frame in self.frames(address) if frame.device == device and frame.kind != 'request']
            if len(found) >= 2 or is_last:
                return found[:2]
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
