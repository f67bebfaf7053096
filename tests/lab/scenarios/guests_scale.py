"""Ten thousand definitions and a real server: what a reconnect re-sends, and that no change is missed."""
import os
import threading
import time

from .. import guests
from .. import zookeeper as servers
from ..lab import check, equal, scenario, within

ALL, KEPT, INTERVAL = 10000, 500, 5
PACKET = 512 * 1024
IN_PROCESS = {'PVCD_LIBVIRT_URI': 'test:///default', 'PVCD_LIBVIRT_REMOTE_URI': 'test:///default'}


def uuid_of(number):
    return f'{number * 429496:08x}-0000-4000-8000-{number:012x}'


def record(number, node='pvchv9', state='stop'):
    uuid = uuid_of(number)
    text = guests.test_xml(uuid, f'vm{number}')
    return guests.record(uuid, f'vm{number}', text, node, state)


def define(lab, first, last):
    # Every tenth is said to run elsewhere, so that a change of `node` alone means something.
    pairs = [pair for number in range(first, last) for pair in record(number, state='start' if number % 10 == 0 else 'stop')]
    lab.put(pairs, batch=2000)


def remove(lab, first, last):
    paths = [path for number in range(first, last) for path, _ in reversed(record(number))]
    for at in range(0, len(paths), 2000):
        write = lab.client.transaction()
        for path in paths[at:at + 2000]:
            write.delete(path)
        for result, path in zip(write.commit(), paths[at:at + 2000]):
            if isinstance(result, Exception):
                raise RuntimeError(f'cannot remove {path}: {result!r}')


class Watched:
    """The daemon of one node behind a stage that counts."""

    def __init__(self, lab):
        self.lab = lab
        self.stage = lab.proxy()
        self.node = lab.node('pvchv1', interval=INTERVAL, settings={'functions.enable_hypervisor': True})
        os.makedirs(os.path.join(self.node.folder, 'log', 'libvirt'), exist_ok=True)
        self.node.up(environment=IN_PROCESS)
        lab.await_state(self.node, 'run', 120)

    def running(self):
        return set(self.lab.key(self.node, 'runningdomains', '').split())

    def see(self, numbers, limit=2 * INTERVAL + 3):
        """Each of them comes to run here, by its `node` alone or with its `state`; all are seen within two intervals."""
        begun = time.monotonic()
        for number in numbers:
            root = f'/domains/{uuid_of(number)}'
            write = self.lab.client.transaction()
            write.set_data(f'{root}/node', self.node.short.encode())
            if number % 10:
                write.set_data(f'{root}/state', b'start')
            write.commit()
        wanted = {uuid_of(number) for number in numbers}
        self.lab.wait(lambda: wanted <= self.running(), limit,
                      lambda: f'{len(wanted - self.running())} of {len(wanted)} run here')
        return time.monotonic() - begun

    def end(self, numbers):
        """Commands to machines that are ours."""
        for number in numbers:
            self.lab.set(f'/domains/{uuid_of(number)}/state', 'stop')
        gone = {uuid_of(number) for number in numbers}
        self.lab.wait(lambda: not gone & self.running(), 3, 'a command to our own machines is obeyed at once')

    def restart_server(self):
        """Bytes of the packet with all watches."""
        session, mark, since = self.lab.session_of(self.node), time.monotonic(), time.time()
        self.lab.drop_client()
        self.lab.ensemble.restart()
        packet = lambda: [r for r in list(self.stage.requests) if r.time > mark and r.name.startswith('setWatches')]
        self.lab.wait(packet, 20, 'the watches are sent again')
        self.lab.await_beats(self.node, 1, 20)
        back, until = time.time(), time.monotonic() + 3 * INTERVAL
        self.lab.await_beats(self.node, 2, 20)
        time.sleep(max(0.0, until - time.monotonic()))
        equal(self.lab.session_of(self.node), session, 'session after the server was started again')
        gap = self.lab.longest_gap(self.node, since=back - 0.5)
        within(gap, INTERVAL + 1, f'{gap:.1f} s between two heartbeats after the server was back (away: {back - since:.1f} s)')
        equal(len(packet()), 1, 'packets with watches')
        return packet()[0].bytes

    def reads(self, seconds):
        """Reads a second while nothing happens."""
        self.lab.drop_client()
        begun = time.monotonic()
        time.sleep(seconds)
        counted = self.stage.count(begun)
        return sum(number for name, number in counted.items() if name not in ('multi', 'setData')) / seconds


@scenario('11: ten thousand definitions, the server restarted; watches of removed ones do not stay', limit=400, long=True)
def guests_by_the_thousand(lab):
    os.environ['_JAVA_OPTIONS'] = '-Xmx1500m'
    lab.zookeeper()
    begun = time.monotonic()
    define(lab, 0, ALL)
    print(f'defined after {time.monotonic() - begun:.0f} s')
    watched = Watched(lab)
    lab.await_beats(watched.node, 3, 60)

    # Over the whole range: those that are watched, and those beyond the budget.
    spread = range(3, ALL, ALL // 20)
    print(f'seen after {watched.see(spread):.1f} s, 0 to {ALL}')
    print(f'by `node` alone after {watched.see(range(10, ALL, ALL // 20)):.1f} s')
    size = watched.restart_server()
    check(100000 < size < PACKET, f'the packet with all watches has {size} bytes')
    rate = watched.reads(2 * INTERVAL)
    check(rate <= 100, f'{rate:.0f} reads a second while nothing happens')
    print(f'watches {size} bytes; {rate:.0f} reads a second')
    watched.end(spread)
    print(f'seen after {watched.see([number + 1 for number in spread]):.1f} s')
    watched.end([number + 1 for number in spread])

    before = time.time()
    kept = set(spread) | {number + 1 for number in spread} | set(range(10, ALL, ALL // 20))
    remove(lab, KEPT, ALL)
    lab.await_beats(watched.node, 3, 60)
    smaller = watched.restart_server()
    check(smaller < 2 * KEPT * 110 + 20000, f'{smaller} bytes of watches for {KEPT} definitions: those of removed ones stay')
    define(lab, KEPT, ALL)
    lab.await_beats(watched.node, 4, 60)
    again = watched.restart_server()
    check(again < PACKET and abs(again - size) < size / 10, f'watches take {again} bytes, before {size}')
    print(f'watches {smaller} bytes with {KEPT}, {again} with all again; {len(kept)} were touched')
    # Watches on `state` that were set when there was room for them cannot be taken back: more are beyond the budget now.
    print(f'seen after {watched.see([number + 2 for number in spread], 90):.1f} s')
    rate = watched.reads(2 * INTERVAL)
    check(rate <= 100, f'{rate:.0f} reads a second while nothing happens')
    gap = lab.longest_gap(watched.node)
    print(f'longest gap between heartbeats {gap:.1f} s, in {time.time() - before:.0f} s')
    lab.expect_alive(watched.node)


class Flood:
    """Writers of console logs, as fast as they may: together MEGABYTES a second."""

    MEGABYTES = 5

    def __init__(self, node, names):
        self._files = [open(os.path.join(node.folder, 'log', 'libvirt', f'{name}.log'), 'ab', buffering=0) for name in names]
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        pause = 0.1
        text = b'all work and no play makes a guest dull\n' * (int(self.MEGABYTES * 1e6 * pause / len(self._files)) // 40)
        while not self._ended.wait(pause):
            for file in self._files:
                file.write(text)

    def end(self):
        self._ended.set()
        self._thread.join(10)
        return sum(file.tell() for file in self._files)


@scenario('fifty guests that flood their consoles delay no heartbeat, and load ZooKeeper with little', limit=120)
def consoles_flood(lab):
    lab.zookeeper()
    numbers = range(1, 51)
    lab.put([pair for number in numbers for pair in record(number, node='pvchv1', state='start')], batch=2000)
    watched = Watched(lab)
    node = watched.node
    lab.wait(lambda: len(watched.running()) == len(numbers), 60, 'all of them run')
    lab.await_beats(node, 1, 10)
    begun, seconds = time.time(), 4 * INTERVAL
    flood = Flood(node, [f'vm{number}' for number in numbers])
    time.sleep(seconds)
    amount = flood.end()
    gap = lab.longest_gap(node, since=begun - 0.1)
    written = [change for change in lab.history(operations=('set',))
               if change.path.endswith('/consolelog') and begun < change.time < begun + seconds]
    size = sum(len(change.value) for change in written)
    print(f'{amount / seconds / 1e6:.1f} MB/s of output; {len(written)} publications, {size / seconds / 1000:.0f} kB/s; '
          f'longest pause between heartbeats {gap:.2f} s')
    check(len(written) >= 10, f'{len(written)} publications in {seconds} s')
    check(size / seconds < 160 * 1024, f'{size / seconds:.0f} bytes a second go to ZooKeeper')
    within(gap, INTERVAL + 0.1, 'a heartbeat was late')
    lab.expect_alive(node)
