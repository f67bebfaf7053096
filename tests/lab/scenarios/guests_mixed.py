"""Guests that move between a node of ours and one that behaves as the reference of version 0.9.82, both ways.

In all of them both hypervisors are looked at every 20 ms: never two copies that execute.
"""
import os
import random
import threading
import time

import libvirt

from .. import guests
from ..foreign import launch
from ..herd import Herd, Sampler
from ..lab import check, equal, scenario
from .guests_migrate import FAST, SLOW

OFFLINE_GAP = 20.0


class Mixed(Herd):
    """pvchv1 is ours, pvchv2 the other."""

    def __init__(self, lab, settings=None, **options):
        super().__init__(lab, 2, settings=settings)
        self.ours, self.foreign = self.nodes
        launch(lab, self.foreign, **options)
        self.start(self.ours)
        lab.set(f'/nodes/{self.ours.short}/domainstate', 'ready')

    def peer(self, node):
        return self.foreign if node is self.ours else self.ours

    def run_on(self, node, number=1, name='web', kind='hang', **values):
        uuid = self.define(number, name, kind, node, **values)
        self.run(uuid, node)
        return uuid

    def watch(self, uuid):
        return Sampler(self.nodes, uuid)

    def locks(self, uuid):
        """Children of its keys that are contenders: key, name, and what they say of themselves."""
        found = []
        for key in ('state', 'node', 'migrate_sync_lock'):
            for child in self.lab.client.get_children(f'/domains/{uuid}/{key}'):
                found.append((key, child, self.lab.get(f'/domains/{uuid}/{key}/{child}', '')))
        return found

    def own_locks(self, uuid):
        return [lock for lock in self.locks(uuid) if lock[2].startswith(self.ours.short + ':')]

    def await_moved(self, uuid, target, last='', timeout=20.0):
        """start, on the target, in its list and in no other; no lock is left."""
        source = self.peer(target)
        self.lab.wait(lambda: (self.key(uuid, 'state'), self.key(uuid, 'node')) == ('start', target.short), timeout,
                      lambda: f'`start` on {target.label}, it is {self.key(uuid, "state")} on {self.key(uuid, "node")}')
        self.await_running(target, uuid, timeout)
        self.lab.wait(lambda: uuid not in self.listed(source), 5, f'it leaves the list of {source.label}')
        self.await_class(source, uuid, 'N', 5)
        self.await_key(uuid, 'migrate_sync_lock', '', 5)
        self.no_locks_left(uuid)
        self.settled(uuid, target, last)

    def move(self, uuid, target, act, last='', through=('migrate', 'start'), gap=1.5):
        """One migration from the command to its end, and what was to be seen of it."""
        source, sampler, mark, begun = self.peer(target), self.watch(uuid), self.mark(), time.monotonic()
        act()
        self.await_moved(uuid, target, last)
        samples, worst = sampler.judge(gap)
        print(f"{source.label} to {target.label}: {time.monotonic() - begun:.1f} s, no copy executed for {worst:.2f} s "
              f"in {samples} samples")
        equal(self.values(uuid, 'state', mark), list(through), 'values of state')
        equal(self.values(uuid, 'migrate_sync_lock', mark), [uuid, ''], 'values of the lock between the nodes')
        equal([text for text in self.values(uuid, 'failedreason', mark) if text], [], 'failedreason')


@scenario('B.9 D107 (D50 D71): migrate, unmigrate, move, each way', limit=90)
def mixed_moves(lab):
    herd = Mixed(lab)
    ours, foreign, client = herd.ours, herd.foreign, herd.client
    web = herd.run_on(ours)
    herd.move(web, foreign, lambda: client.migrate(web, foreign.short), last=ours.short)
    herd.move(web, ours, lambda: client.unmigrate(web))
    herd.move(web, foreign, lambda: client.move(web, foreign.short))
    herd.move(web, ours, lambda: client.migrate(web, ours.short), last=foreign.short)
    herd.move(web, foreign, lambda: client.unmigrate(web))
    herd.move(web, ours, lambda: client.move(web, ours.short, live=True), through=('migrate-live', 'start'))
    herd.move(web, foreign, lambda: client.move(web, foreign.short, live=True), through=('migrate-live', 'start'))


@scenario('B.9 D107: the other node is flushed and unflushed; it writes without a lock', limit=60)
def mixed_flush(lab):
    herd = Mixed(lab)
    ours, foreign = herd.ours, herd.foreign
    both = [herd.run_on(foreign, number, f'vm{number}') for number in (1, 2)]
    for order, answer, target, last in (('flush', 'flushed', ours, foreign.short), ('unflush', 'ready', foreign, '')):
        samplers, mark = [herd.watch(uuid) for uuid in both], herd.mark()
        lab.set(f'/nodes/{foreign.short}/domainstate', order)
        lab.await_value(f'/nodes/{foreign.short}/domainstate', answer, 30)
        for uuid, sampler in zip(both, samplers):
            herd.await_moved(uuid, target, last)
            sampler.judge(1.5)
            equal(herd.values(uuid, 'state', mark), ['migrate', 'start'], 'values of state')
    check(not set(both) & set(herd.listed(ours)), 'they left the list of ours')


@scenario('B.9 D107 D53 D73: through a shutdown that the guest obeys, each way', limit=60)
def mixed_offline(lab):
    herd = Mixed(lab)
    ours, foreign, client = herd.ours, herd.foreign, herd.client
    web = herd.run_on(ours, kind='acpi', migration_method='shutdown')
    through = ('migrate', 'stop', 'start')
    herd.move(web, foreign, lambda: client.migrate(web, foreign.short), ours.short, through, OFFLINE_GAP)
    herd.move(web, ours, lambda: client.unmigrate(web), '', through, OFFLINE_GAP)


@scenario('D57 D122: through a shutdown that the guest ignores, each way', limit=60)
def mixed_offline_late(lab):
    herd = Mixed(lab, {'system.intervals.vm_shutdown_timeout': 2}, shutdown=2, destroy_after=3)
    ours, foreign, client = herd.ours, herd.foreign, herd.client
    web = herd.run_on(foreign, kind='hang', migration_method='shutdown')
    through = ('migrate', 'stop', 'start')
    mark = herd.mark()
    herd.move(web, ours, lambda: client.migrate(web, ours.short), foreign.short, through, OFFLINE_GAP)
    # The other one had it until seconds after it gave it away; it was created only then.
    herd.order(mark, (f'/domains/{web}/state', 'stop'), (f'/domains/{web}/state', 'start'),
               (f'/nodes/{foreign.short}/runningdomains', '0'), (f'/nodes/{ours.short}/runningdomains', web))
    herd.move(web, foreign, lambda: client.unmigrate(web), '', through, OFFLINE_GAP)


def place_and_hold(herd, uuid, node, seconds):
    """A client that keeps the lock of the state longer than others do."""
    lock = herd.lab.client.Lock(f'/domains/{uuid}/state', 'a slow client')
    with lock:
        transaction = herd.lab.client.transaction()
        for key, value in (('state', 'migrate'), ('node', node.short), ('lastnode', '')):
            transaction.set_data(f'/domains/{uuid}/{key}', value.encode())
        transaction.commit()
        time.sleep(seconds)


@scenario('D59: the phases of the other receiver pass while a client keeps the lock of the state; one that begins late', limit=60)
def mixed_timing(lab):
    herd = Mixed(lab)
    ours, foreign = herd.ours, herd.foreign
    web = herd.run_on(ours)
    herd.move(web, foreign, lambda: place_and_hold(herd, web, foreign, 3))
    herd.move(web, ours, lambda: place_and_hold(herd, web, ours, 3))
    foreign.daemon.kill()
    launch(lab, foreign, late=2)
    herd.move(web, foreign, lambda: herd.client.move(web, foreign.short))


@scenario('D68 D74: the other sender rolls back and leaves its contender', limit=90)
def mixed_leak(lab):
    herd = Mixed(lab)
    ours, foreign, client = herd.ours, herd.foreign, herd.client
    web = herd.run_on(foreign, migration_method='live')

    def fail_to_migrate():
        """A guest of the same name stands in its way."""
        sampler = herd.watch(web)
        text = guests.xml(lab.folder, guests.uuid_of(9), 'web', 'hang')
        blocker = ours.hypervisor.connection().createXML(text, 0)
        client.migrate(web, ours.short)
        lab.wait(lambda: herd.key(web, 'state') == 'start', 15, 'the other node rolls back')
        lab.wait(lambda: not herd.own_locks(web), 1.0, lambda: f'ours leaves; there are {herd.locks(web)}')
        equal((herd.key(web, 'node'), herd.key(web, 'lastnode')), (foreign.short, ''), 'node and lastnode')
        herd.await_key(web, 'migrate_sync_lock', '', 1)
        blocker.destroy()
        sampler.judge(1.0)
        leaked = herd.locks(web)
        equal([key for key, _, _ in leaked], ['migrate_sync_lock'], f'locks left, {leaked}')

    fail_to_migrate()
    herd.move(web, ours, lambda: client.migrate(web, ours.short), foreign.short)
    herd.move(web, foreign, lambda: client.unmigrate(web))
    # The same contender stands in the way of ours as sender, when the guest comes to it without a migration.
    fail_to_migrate()
    version = herd.version_of(web, 'state')
    client.stop(web)
    # It writes `stop` once more when it is done, over whatever is there by then.
    lab.wait(lambda: herd.version_of(web, 'state') == version + 2, 5, 'the other node has stopped it')
    client.move(web, ours.short)
    herd.run(web, ours)
    herd.move(web, foreign, lambda: client.move(web, foreign.short))


def on_the_way(lab, herd, target, kind='dirty'):
    """A migration that cannot end by itself."""
    source = herd.peer(target)
    web = herd.run_on(source, kind=kind)
    source.hypervisor.domain(web).migrateSetMaxSpeed(SLOW)
    sampler = herd.watch(web)
    herd.client.migrate(web, target.short)
    herd.await_class(target, web, 'I', 10)

    def sent():
        try:
            return source.hypervisor.domain(web).jobInfo()[4] > 0
        except libvirt.libvirtError:
            return False
    lab.wait(sent, 10, 'some of its memory is sent')
    return web, sampler


@scenario('B.9 D107 D70: ours is killed while it sends to the other, and started again', limit=90)
def mixed_sender_is_killed(lab):
    herd = Mixed(lab)
    ours, foreign = herd.ours, herd.foreign
    web, sampler = on_the_way(lab, herd, foreign)
    session = lab.session_of(ours)
    ours.daemon.kill()
    lab.expect_end(ours, -9, 5)
    herd.await_class(foreign, web, 'N', 1.5)
    ours.hypervisor.domain(web).migrateSetMaxSpeed(FAST)
    ours.start(environment=herd.environment)
    # The locks of the dead one are still there. The other waits behind them, and so does the new one.
    lab.wait(lambda: [key for key, _, _ in herd.own_locks(web)].count('migrate_sync_lock') == 2, 8,
             lambda: f'it queues again: {herd.locks(web)}')
    lab.expire_session(session)
    herd.await_moved(web, foreign, ours.short, 40)
    sampler.judge(5.0)


@scenario('B.9 D107: ours is killed while it receives from the other, and started again', limit=90)
def mixed_receiver_is_killed(lab):
    herd = Mixed(lab)
    ours, foreign = herd.ours, herd.foreign
    web, sampler = on_the_way(lab, herd, ours)
    ours.daemon.kill()
    lab.expect_end(ours, -9, 5)
    equal((herd.look(foreign, web), herd.look(ours, web)), ('A', 'I'), 'classes')
    ours.start(environment=herd.environment)
    lab.await_state(ours, 'run')
    foreign.hypervisor.domain(web).migrateSetMaxSpeed(FAST)
    herd.await_moved(web, ours, foreign.short, 40)
    sampler.judge(5.0)


@scenario('B.9 D107 8.6: ours is killed at any moment of a live migration, either way', limit=900, long=True)
def mixed_kills(lab):
    seed = int(os.environ.get('LAB_SEED', '0')) or random.SystemRandom().randrange(1, 2 ** 31)
    print(f'LAB_SEED={seed}')
    chance = random.Random(seed)
    herd = Mixed(lab)
    web = herd.run_on(herd.ours)
    for _ in range(int(os.environ.get('LAB_ROUNDS', '8'))):
        source = herd.ours if herd.key(web, 'node') == herd.ours.short else herd.foreign
        target = herd.peer(source)
        before, after = chance.uniform(0, 2.2), chance.choice((0.0, chance.uniform(0, 5), 12.0))
        print(f'{source.label} to {target.label}, killed after {before:.2f} s, back after {after:.2f} s', flush=True)
        sampler = herd.watch(web)
        moving = threading.Thread(target=herd.client.migrate, args=(web, target.short), daemon=True)
        moving.start()
        time.sleep(before)
        herd.ours.daemon.kill()
        lab.expect_end(herd.ours, -9, 5)
        time.sleep(after)
        herd.start(herd.ours)
        moving.join(60)
        begun = time.monotonic()
        lab.wait(lambda: herd.key(web, 'state') == 'start', 100, lambda: f'it is `start`, it is {herd.key(web, "state")}')
        place = herd.ours if herd.key(web, 'node') == herd.ours.short else herd.foreign
        herd.await_moved(web, place, herd.key(web, 'lastnode'))
        sampler.judge(10.0)
        print(f'`start` on {place.label}, {time.monotonic() - begun:.1f} s after it was back', flush=True)
        herd.client.place(web, 'start', place.short, '')
