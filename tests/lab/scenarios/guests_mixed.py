"""Guests that move between a node of ours and one that behaves as the reference of version 0.9.82, both ways.

In all of them both hypervisors are looked at every 20 ms: never two copies that execute.
"""
import time

from .. import guests
from ..foreign import launch
from ..lab import check, equal, scenario
from ..mixed import Mixed

OFFLINE_GAP = 20.0


@scenario('B.9 D107 (D50 D71): migrate, unmigrate, move, each way', limit=120)
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


@scenario('B.9 D107: the other node is flushed and unflushed; it writes without a lock', limit=90)
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


@scenario('B.9 D107 (AC89 AC98): ours is flushed to the other node and unflushed', limit=90)
def mixed_flush_of_ours(lab):
    herd = Mixed(lab)
    ours, foreign = herd.ours, herd.foreign
    lab.set(f'/nodes/{foreign.short}/domainstate', 'ready')
    lab.wait(lambda: lab.get(f'/nodes/{foreign.short}/memfree') not in (None, '', '0'), 15, 'figures of the other node')
    both = [herd.run_on(ours, number, f'vm{number}') for number in (1, 2)]
    for order, answer, target, last in (('flush', 'flushed', foreign, ours.short), ('unflush', 'ready', ours, '')):
        samplers, mark, begun = [herd.watch(uuid) for uuid in both], herd.mark(), time.monotonic()
        lab.set(f'/nodes/{ours.short}/domainstate', order)
        lab.await_value(f'/nodes/{ours.short}/domainstate', answer, 40)
        print(f'{answer} after {time.monotonic() - begun:.1f} s')
        if answer == 'flushed':
            equal(herd.listed(ours), [], 'list of ours with its last write')
        for uuid, sampler in zip(both, samplers):
            herd.await_moved(uuid, target, last)
            sampler.judge(1.5)
            equal(herd.values(uuid, 'state', mark), ['migrate', 'start'], 'values of state')


@scenario('B.9 D107 (AC90 D15): ours is flushed with nowhere to go, and made ready again', limit=90)
def flush_with_nowhere_to_go(lab):
    herd = Mixed(lab)
    ours, foreign = herd.ours, herd.foreign
    lab.set(f'/nodes/{foreign.short}/domainstate', 'flushed')
    web = herd.run_on(ours, kind='acpi')
    mark = herd.mark()
    lab.set(f'/nodes/{ours.short}/domainstate', 'flush')
    lab.await_value(f'/nodes/{ours.short}/domainstate', 'flushed', 40)
    equal((herd.key(web, 'state'), herd.key(web, 'node_autostart')), ('stop', 'True'), 'state and node_autostart')
    equal(herd.listed(ours), [], 'list of ours')
    herd.await_class(ours, web, 'N', 5)
    lab.set(f'/nodes/{ours.short}/domainstate', 'unflush')
    lab.await_value(f'/nodes/{ours.short}/domainstate', 'ready', 20)
    herd.await_running(ours, web, 20)
    equal(herd.key(web, 'node_autostart'), 'False', 'node_autostart')
    equal(herd.values(web, 'state', mark), ['shutdown', 'stop', 'start'], 'values of state')
    herd.settled(web, ours, '')


@scenario('AC21: an orderly stop waits for the flush', limit=120)
def stop_during_flush(lab):
    herd = Mixed(lab)
    ours, foreign = herd.ours, herd.foreign
    lab.set(f'/nodes/{foreign.short}/domainstate', 'ready')
    both = [herd.run_on(ours, number, f'vm{number}') for number in (1, 2)]
    lab.set(f'/nodes/{ours.short}/domainstate', 'flush')
    lab.wait(lambda: 'migrate' in (herd.key(uuid, 'state') for uuid in both), 10, 'the flush has begun')
    ours.daemon.stop()
    lab.await_value(f'/nodes/{ours.short}/daemonstate', 'shutdown', 5)
    lab.await_value(f'/nodes/{ours.short}/domainstate', 'flushed', 30)
    # It still waits for somebody to take the primary role, which the script never does.
    equal(lab.key(ours, 'daemonstate'), 'shutdown', 'daemonstate')
    for uuid in both:
        herd.await_moved(uuid, foreign, ours.short)


@scenario('B.9 D107 D53 D73: through a shutdown that the guest obeys, each way', limit=90)
def mixed_offline(lab):
    herd = Mixed(lab)
    ours, foreign, client = herd.ours, herd.foreign, herd.client
    web = herd.run_on(ours, kind='acpi', migration_method='shutdown')
    through = ('migrate', 'stop', 'start')
    herd.move(web, foreign, lambda: client.migrate(web, foreign.short), ours.short, through, OFFLINE_GAP)
    herd.move(web, ours, lambda: client.unmigrate(web), '', through, OFFLINE_GAP)


@scenario('D57 D122: through a shutdown that the guest ignores, each way', limit=90)
def mixed_offline_late(lab):
    # The other one stays in each hand-over for half a second and drops what it is told meanwhile (H02).
    herd = Mixed(lab, {'system.intervals.vm_shutdown_timeout': 2}, shutdown=2, destroy_after=3, linger=0.5)
    ours, foreign, client = herd.ours, herd.foreign, herd.client
    web = herd.run_on(foreign, kind='hang', migration_method='shutdown')
    through = ('migrate', 'stop', 'start')
    mark = herd.mark()
    herd.move(web, ours, lambda: client.migrate(web, ours.short), foreign.short, through, OFFLINE_GAP)
    # The other one had it until seconds after it gave it away; it was created only then.
    herd.order(mark, (f'/domains/{web}/state', 'stop'), (f'/domains/{web}/state', 'start'),
               (f'/nodes/{foreign.short}/runningdomains', '0'), (f'/nodes/{ours.short}/runningdomains', web))
    # It drops its own `start` too: ours asks once more.
    herd.move(web, foreign, lambda: client.unmigrate(web), '', through, OFFLINE_GAP + 12)


def place_and_hold(herd, uuid, node, seconds):
    """A client that keeps the lock of the state longer than others do."""
    lock = herd.lab.client.Lock(f'/domains/{uuid}/state', 'a slow client')
    with lock:
        transaction = herd.lab.client.transaction()
        for key, value in (('state', 'migrate'), ('node', node.short), ('lastnode', '')):
            transaction.set_data(f'/domains/{uuid}/{key}', value.encode())
        transaction.commit()
        time.sleep(seconds)


@scenario('D59: the phases of the other receiver pass while a client keeps the lock of the state; one begins late', limit=90)
def mixed_timing(lab):
    herd = Mixed(lab)
    ours, foreign = herd.ours, herd.foreign
    web = herd.run_on(ours)
    herd.move(web, foreign, lambda: place_and_hold(herd, web, foreign, 3))
    herd.move(web, ours, lambda: place_and_hold(herd, web, ours, 3))
    foreign.daemon.kill()
    launch(lab, foreign, late=2)
    herd.move(web, foreign, lambda: herd.client.move(web, foreign.short))


@scenario('D68 D74: the other sender rolls back and leaves its contender', limit=120)
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
