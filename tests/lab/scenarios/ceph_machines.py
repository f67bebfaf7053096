"""Machines with RBD disks on a real Ceph: their locks at a start, and a Ceph or a helper that hangs."""
import datetime
import os
import re
import signal
import subprocess
import threading
import time

from .. import recorder
from ..herd import Herd, Sampler
from ..lab import check, equal, scenario, within
from .ceph_figures import HELPER

BREAK_LIMIT = 2.0
FAIL_LIMIT = 30.0


def storage_herd(lab, count=1, **settings):
    cluster = lab.ceph(manager=False, **settings)
    herd = Herd(lab, count)
    return cluster, herd


def await_lock(lab, cluster, volume, node, other_than=()):
    """Until the image is locked by a client of that node, and not by one of those: the address of that client."""
    def held():
        addresses = [address for _client, _id, address in cluster.locks(volume)]
        is_there = len(addresses) == 1 and addresses[0].startswith(node.address + ':') and addresses[0] not in other_than
        return addresses if is_there else None
    return lab.wait(held, 15, lambda: f'{node.label} has the lock of {volume}, it is {cluster.locks(volume)}')[0]


def await_fail(lab, herd, uuid, limit=FAIL_LIMIT):
    """Seconds until it is `fail`, and why."""
    begun = time.monotonic()
    herd.await_key(uuid, 'state', 'fail', limit + 5)
    spent = time.monotonic() - begun
    within(spent, limit, f'`fail` after {spent:.1f} s')
    return spent, herd.key(uuid, 'failedreason')


def await_held_up(lab, herd, uuid):
    """Until it says why it is not started; it stays in `start` (README ruling 77)."""
    begun = time.monotonic()
    reason = lab.wait(lambda: herd.key(uuid, 'failedreason'), FAIL_LIMIT + 5, 'the reason why it waits')
    spent = time.monotonic() - begun
    within(spent, FAIL_LIMIT, f'a reason after {spent:.1f} s')
    equal(herd.key(uuid, 'state'), 'start', f'its state, with {reason!r}')
    return spent, reason


def told_at(node, *parts):
    """When the log said what contains all of that."""
    line = next((one for one in node.log().splitlines() if all(part in one for part in parts)), None)
    check(line is not None, f'{node.label} logs {parts}')
    stamp = re.search(r'\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d+', line).group()
    return datetime.datetime.strptime(stamp, '%Y/%m/%d %H:%M:%S.%f').timestamp()


class Bench:
    """A client in a node that writes on an image until it is stopped."""

    def __init__(self, node, cluster, volume):
        self.process = subprocess.Popen(
            node.command(cluster.program('rbd', 'bench', '--io-type', 'write', '--io-size', '4096', '--io-threads', '1',
                                         '--io-total', '1G', volume)),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        self.node = node

    def signal(self, number):
        for pid in self.node.processes('rbd'):
            os.kill(pid, number)
        # What carried it into the node stops with it, and goes on by itself only.
        if number == signal.SIGCONT:
            self.process.send_signal(number)

    def end(self):
        """What it said until it ended by itself."""
        return self.process.communicate(timeout=30)[0].decode(errors='replace')


@scenario('storage.md cases 19 20', limit=120)
def ceph_locks_at_a_start(lab):
    cluster, herd = storage_herd(lab, auth=True)
    node = herd.nodes[0]
    herd.start()
    volume = cluster.make_image('web')
    web = herd.define(1, 'web', 'writes', volumes=[volume])
    herd.run(web)
    first = await_lock(lab, cluster, volume, node)

    # Case 19: the guest dies with its lock.
    events = herd.events(node)
    node.hypervisor.kill_guest(web)
    second = await_lock(lab, cluster, volume, node, (first,))
    check(first in cluster.blocklist(), f'{first} is refused by Ceph: {cluster.blocklist()}')
    *_, before, now = node.hypervisor.lives('web')
    ended, created = before.ended, now.begun
    broken = told_at(node, 'broke the RBD lock "auto ', f'of {first} on {volume}') - ended
    print(f'{broken:.2f} s after its end its lock was broken, and after {created - ended:.2f} s it was created again')
    within(broken, BREAK_LIMIT, f'the lock was broken {broken:.2f} s after its end')
    within(created - ended, 2 * BREAK_LIMIT, f'created again {created - ended:.2f} s after its end')
    herd.settled(web, node)

    # Case 19: a client of this node that only stands still.
    herd.client.stop(web)
    herd.await_class(node, web, 'N')
    bench = Bench(node, cluster, volume)
    still = await_lock(lab, cluster, volume, node, (first, second))
    bench.signal(signal.SIGSTOP)
    herd.run(web)
    await_lock(lab, cluster, volume, node, (first, second, still))
    check(still in cluster.blocklist(), f'{still} is refused by Ceph: {cluster.blocklist()}')
    bench.signal(signal.SIGCONT)
    said = bench.end()
    check('108' in said or 'shutdown' in said, f'the old client, when it goes on, says: {said[-500:]}')
    herd.settled(web, node)

    # Case 20.
    herd.client.stop(web)
    herd.await_class(node, web, 'N')
    volumes = [cluster.make_image('a'), cluster.make_image('b')]
    node.inside(*cluster.program('rbd', 'lock', 'add', volumes[0], 'own'))
    cluster.rbd('lock', 'add', volumes[1], 'foreign')
    held = [cluster.locks(one) for one in volumes]
    equal([cluster.holders(one) for one in volumes], [[node.address], [cluster.address]], 'holders')
    two = herd.define(2, 'two', 'writes', volumes=volumes)
    herd.client.start(two)
    _spent, reason = await_fail(lab, herd, two, 10)
    check(volumes[1] in reason and cluster.address in reason, reason)
    equal([cluster.locks(one) for one in volumes], held, 'the locks')
    equal(events.of(two), [], 'what libvirt was asked to do')
    client, ident, _address = held[1][0]
    cluster.rbd('lock', 'remove', volumes[1], ident, client)
    herd.run(two)
    for one in volumes[:1]:
        await_lock(lab, cluster, one, node, (held[0][0][2],))
    herd.settled(two, node)


@scenario('storage.md case 25', limit=120)
def ceph_osds_stand_still(lab):
    cluster, herd = storage_herd(lab, osds=2)
    node = herd.nodes[0]
    herd.start()
    volume = cluster.make_image('web')
    web, plain = herd.define(1, 'web', 'writes', volumes=[volume]), herd.define(2, 'plain', 'hang')
    # They are to go on where they stood: none says of another meanwhile that it is down.
    cluster.ceph('osd', 'set', 'nodown')
    cluster.pause('osd.0', 'osd.1')
    begun = time.time()
    herd.client.start(web)
    wanted = time.time()
    herd.run(plain)
    created = node.hypervisor.creations(plain)[0] - wanted
    print(f'a machine without RBD disks is created after {created:.1f} s')
    equal(herd.key(web, 'state'), 'start', 'state of the one with an RBD disk meanwhile')
    within(created, 3, 'the machine without RBD disks is created')
    spent, reason = await_held_up(lab, herd, web)
    print(f'it waits after {spent:.1f} s more: {reason}')
    check(volume in reason, reason)
    gap = lab.longest_gap(node, since=begun)
    within(gap, 1.5, f'{gap:.2f} s between two heartbeats')
    cluster.resume('osd.0', 'osd.1')
    # By itself: it is tried again at least once a minute.
    herd.await_class(node, web, 'A', 75)
    lab.wait(lambda: herd.key(web, 'failedreason') == '', 10, 'the reason is taken back')
    await_lock(lab, cluster, volume, node)
    herd.settled(web, node)


def helper_of(lab, node, other_than=()):
    """The node's only helper, once it is another than that one."""
    def found():
        pids = node.processes(HELPER)
        return pids if len(pids) == 1 and pids[0] not in other_than else None
    return lab.wait(found, 35, lambda: f'{node.label} has one new helper, it has {node.processes(HELPER)}')[0]


class Freezer:
    """Stops every helper of a node as soon as it is there."""

    def __init__(self, node):
        self.node = node
        self.frozen = set()
        self.most = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        recorder.go_first()
        while not self._stop.wait(0.01):
            there = self.node.processes(HELPER)
            self.most = max(self.most, len(there))
            for pid in set(there) - self.frozen:
                self.frozen.add(pid)
                try:
                    os.kill(pid, signal.SIGSTOP)
                except ProcessLookupError:
                    pass

    def end(self):
        """Those that were stopped; they stay so."""
        self._stop.set()
        self._thread.join(5)
        return self.frozen


@scenario('storage.md case 41; a helper that is killed, a daemon that is killed', limit=180)
def ceph_helper_hangs(lab):
    cluster, herd = storage_herd(lab)
    node = herd.nodes[0]
    herd.start()
    volume = cluster.make_image('web')
    web = herd.define(1, 'web', 'writes', volumes=[volume])
    herd.run(web)
    await_lock(lab, cluster, volume, node)
    herd.client.stop(web)
    herd.await_class(node, web, 'N')

    # One that hangs is replaced, and a machine that waits for it starts with the next one.
    first, begun = helper_of(lab, node), time.time()
    os.kill(first, signal.SIGSTOP)
    asked = time.monotonic()
    herd.run(web, timeout=FAIL_LIMIT)
    print(f'with a new helper it runs {time.monotonic() - asked:.1f} s later')
    lab.await_log(node, 'it did not answer in time')
    herd.client.stop(web)
    herd.await_class(node, web, 'N')

    # Each one hangs.
    freezer = Freezer(node)
    lab.wait(lambda: freezer.frozen, 5, 'the helper of now stands still')
    time.sleep(0.05)
    herd.client.start(web)
    spent, reason = await_held_up(lab, herd, web)
    frozen = freezer.end()
    print(f'it waits after {spent:.1f} s, {len(frozen)} helpers hung: {reason}')
    check(volume in reason or 'Ceph' in reason, reason)
    check(freezer.most == 1, f'{freezer.most} helpers at a time')
    herd.await_class(node, web, 'A', 75)
    held = await_lock(lab, cluster, volume, node)
    second = helper_of(lab, node, (first, *frozen))
    os.kill(second, signal.SIGKILL)
    third = helper_of(lab, node, (second,))
    gap = lab.longest_gap(node, since=begun)
    within(gap, 1.5, f'{gap:.2f} s between two heartbeats')

    # The daemon is killed: a helper goes with it, also one that stands still.
    guest = node.hypervisor.pid_of(web)
    os.kill(third, signal.SIGSTOP)
    node.daemon.kill()
    lab.expect_end(node, -9, 5)
    lab.wait(lambda: node.processes(HELPER) == [], 2, 'the helper of a killed daemon is gone')
    herd.start(node)
    lab.await_beats(node, 2)
    equal(node.hypervisor.pid_of(web), guest, 'its QEMU')
    equal(await_lock(lab, cluster, volume, node), held, 'who has the lock')
    herd.settled(web, node)


@scenario('storage.md 6.4: its lock moves along', limit=90)
def ceph_guest_migrates(lab):
    cluster, herd = storage_herd(lab, 2, auth=True)
    first, second = herd.nodes
    herd.start()
    volume = cluster.make_image('web')
    web = herd.define(1, 'web', 'writes', volumes=[volume])
    herd.run(web)
    await_lock(lab, cluster, volume, first)
    for source, target, last, act in ((first, second, first.short, lambda: herd.client.migrate(web, second.short)),
                                      (second, first, '', lambda: herd.client.unmigrate(web))):
        sampler = Sampler((source, target), web)
        act()
        herd.await_key(web, 'state', 'start')
        lab.wait(lambda: herd.listed(target) == [web] and herd.listed(source) == [], 5, 'the lists follow')
        await_lock(lab, cluster, volume, target)
        samples, gap = sampler.judge(1.5)
        print(f'{source.label} to {target.label}: nobody executed for {gap:.2f} s in {samples} samples')
        herd.no_locks_left(web)
        herd.settled(web, target, last)
    equal(cluster.blocklist(), [], 'whom Ceph refuses')


@scenario('storage.md case 38', limit=60)
def ceph_is_not_for_this_node(lab):
    cluster = lab.ceph(manager=False)
    herd = Herd(lab, settings={'functions.enable_storage': False})
    node = herd.nodes[0]
    herd.start()
    events = herd.events(node)
    volume = cluster.make_image('web')
    web = herd.define(1, 'web', 'writes', volumes=[volume])
    herd.client.start(web)
    spent, reason = await_fail(lab, herd, web, 5)
    check(volume in reason and 'Ceph cannot be asked on this node' in reason, reason)
    equal((events.of(web), node.processes(HELPER)), ([], []), 'what libvirt was asked to do, and helpers')
    lab.await_beats(node, 2)
    equal(node.processes(HELPER), [], 'helpers')
