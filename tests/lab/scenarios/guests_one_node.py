"""Guests of one node with real drivers: starting, ending, restarting, and a libvirt that comes and goes."""
import json
import time

from ..herd import SHUTDOWN_TIMEOUT, STARTED, STOPPED, Herd
from ..lab import between, check, equal, scenario, within


@scenario('B.9 D101 (D01 D03 D05 D28 D32 D41 D45 D49)', limit=60)
def guests_of_the_test_driver(lab):
    herd = Herd(lab, driver='test')
    node = herd.nodes[0]
    libvirt = node.hypervisor.connection(node.hypervisor.test_uri)
    events = herd.events(node)
    foreign = herd.look(node, libvirt.lookupByName('test').UUIDString())
    rd = f'/nodes/{node.short}/runningdomains'

    # D01
    web = herd.define(1, 'web', state='start')
    herd.start()
    herd.await_running(node, web)
    herd.await_key(web, 'vnc', '127.0.0.1:-1')
    lab.wait(lambda: events.of(web, STARTED), 15, 'the event of its creation')
    equal(len(events.of(web, STARTED)), 1, 'creations')
    equal((herd.version_of(web, 'state'), herd.version_of(web, 'failedreason')), (0, 0), 'versions of state and failedreason')
    equal([key for key, _ in herd.own_writes(web) if key not in ('stats', 'consolelog')], ['vnc'], 'keys written')

    # D28
    mark = herd.mark()
    herd.client.stop(web)
    herd.await_class(node, web, 'N', 2)
    herd.await_key(web, 'vnc', '')
    herd.order(mark, (f'/domains/{web}/state', 'stop'), (rd, ''), (f'/domains/{web}/vnc', ''))
    lab.await_beats(node, 2)
    equal((herd.version_of(web, 'state'), herd.key(web, 'state')), (1, 'stop'), 'state and its version')

    # D03
    mark = herd.mark()
    herd.run(web, node)
    lab.wait(lambda: len(events.of(web, STARTED)) >= 2, 15, 'the event of its creation')
    created = events.of(web, STARTED)[-1].time - herd.changes(f'/domains/{web}/state', mark)[0].time
    within(created, 0.5, f'created {created:.2f} s after `start` was written')
    herd.await_key(web, 'vnc', '127.0.0.1:-1')
    herd.order(mark, (rd, web), (f'/domains/{web}/vnc', '127.0.0.1:-1'))

    # D05
    mark = herd.mark()
    failed = herd.define(2, 'failed', state='fail', failedreason='x')
    herd.run(failed, node)
    herd.await_key(failed, 'failedreason', '')
    herd.order(mark, (rd, f'{web} {failed}'), (f'/domains/{failed}/failedreason', ''))

    # D32
    mark = herd.mark()
    herd.client.modify(web, 'web', herd.xml(web, 'web', comment='second edition'), restart=True)
    herd.await_key(web, 'state', 'start')
    herd.await_running(node, web)
    check('second edition' in node.hypervisor.domain(web, node.hypervisor.test_uri).XMLDesc(0), 'it runs with the old definition')
    equal(herd.values(web, 'state', mark), ['restart', 'start'], 'values of state over a restart')

    # D41
    mark, version, count = herd.mark(), herd.version_of(web, 'state'), len(events.of(web, STARTED))
    status, output = node.hypervisor.virsh('destroy', web, uri='test+unix:///default?socket=/run/libvirt/libvirt-sock')
    equal((status, output), (0, ''), 'virsh destroy')
    lab.wait(lambda: len(events.of(web, STARTED)) > count, 5, 'it is created again')
    again = events.of(web, STARTED)[-1].time - events.of(web, STOPPED)[-1].time
    within(again, 1, f'created again after {again:.2f} s')
    herd.await_running(node, web)
    equal(herd.version_of(web, 'state'), version, 'version of state')
    for change in herd.changes(rd, mark):
        check(web in (change.value or b'').decode(), f'missing in the list for a moment: {herd.history_of(node)}')

    # D45
    off = herd.define(3, 'off')
    libvirt.createXML(herd.xml(off, 'off'), 0)
    lab.wait(lambda: events.of(off, STOPPED), 5, 'a guest that must be off is destroyed')
    equal(herd.look(node, off), 'N', 'class of a guest that must be off')
    equal(herd.version_of(off, 'state'), 0, 'version of its state')

    # D49
    equal(herd.look(node, libvirt.lookupByName('test').UUIDString()), foreign, 'class of a foreign domain')
    equal(sorted(herd.listed(node)), sorted([web, failed]), 'running list')


@scenario('B.9 D102 (D23 D32), a guest that obeys', limit=60)
def guest_obeys_its_button(lab):
    herd = Herd(lab)
    node = herd.nodes[0]
    herd.start()
    web = herd.define(1, 'web', 'acpi')
    herd.run(web)
    events = herd.events(node)

    # How long the guest takes to end, and QEMU to start, is theirs; that it was not destroyed is seen at the end.
    mark = herd.mark()
    herd.client.restart(web)
    herd.await_key(web, 'state', 'start', 30)
    first, second = node.hypervisor.lives('web')
    within(second.begun - first.ended, 1.5, f'it was created anew {second.begun - first.ended:.1f} s after its end')
    equal(herd.values(web, 'state', mark), ['restart', 'start'], 'values of state over a restart')
    lab.wait(lambda: (len(events.of(web, STOPPED)), len(events.of(web, STARTED))) >= (1, 1), 15, 'the events of an end and a creation')
    equal((len(events.of(web, STOPPED)), len(events.of(web, STARTED))), (1, 1), 'ends and creations')
    herd.await_running(node, web)

    mark = herd.mark()
    herd.client.shutdown(web)
    herd.await_key(web, 'state', 'stop', 30)
    written = next(change.time for change in herd.changes(f'/domains/{web}/state', mark) if change.value == b'stop')
    lab.wait(lambda: len(events.of(web, STOPPED)) == 2, 15, 'the event of its end')
    spent = written - node.hypervisor.lives('web')[1].ended
    within(spent, 1.5, f'`stop` was written {spent:.1f} s after its end')
    equal(node.hypervisor.pid_of(web), None, 'QEMU of a guest in `stop`')
    herd.await_key(web, 'vnc', '')
    herd.order(mark, (f'/nodes/{node.short}/runningdomains', ''), (f'/domains/{web}/state', 'stop'), (f'/domains/{web}/vnc', ''))
    ended = [event.detail for event in events.of(web, STOPPED)]
    equal(ended, [0, 0], 'how it ended (0: by itself)')


@scenario('B.9 D103 (D24 D33), a guest that ignores', limit=60)
def guest_ignores_its_button(lab):
    herd = Herd(lab)
    node = herd.nodes[0]
    herd.start()
    first, second = herd.define(1, 'first', 'hang'), herd.define(2, 'second', 'hang')
    herd.run(first)
    herd.run(second)
    events = herd.events(node)
    mark = herd.mark()
    herd.client.modify(second, 'second', herd.xml(second, 'second', 'hang', 'second edition'), restart=True)
    herd.client.shutdown(first)
    herd.await_key(first, 'state', 'stop')
    herd.await_key(second, 'state', 'start')
    for uuid, name, word in ((first, 'first', 'shutdown'), (second, 'second', 'restart')):
        asked = next(c.time for c in herd.changes(f'/domains/{uuid}/state', mark) if c.value == word.encode())
        lab.wait(lambda: events.of(uuid, STOPPED), 15, 'the event of its end')
        equal([event.detail for event in events.of(uuid, STOPPED)], [1], f'ends of a guest in `{word}` (1: destroyed)')
        patience = node.hypervisor.lives(name)[0].ended - asked
        between(SHUTDOWN_TIMEOUT - 0.1, patience, SHUTDOWN_TIMEOUT + 3, f'destroyed {patience:.1f} s after `{word}`')
    equal(herd.values(first, 'state', mark), ['shutdown', 'stop'], 'values of state over a shutdown')
    equal(herd.values(second, 'state', mark), ['restart', 'start'], 'values of state over a restart')
    equal(herd.look(node, first), 'N', 'class of the guest in `stop`')
    herd.await_running(node, second)
    check('second edition' in node.hypervisor.domain(second).XMLDesc(0), 'it runs with the old definition')


@scenario('B.9 D104 (D43)', limit=60)
def guest_that_ends_at_once(lab):
    herd = Herd(lab)
    node = herd.nodes[0]
    herd.start()
    events = herd.events(node)
    web = herd.define(1, 'web', 'off')
    herd.client.start(web)
    lab.wait(lambda: len(events.of(web, STARTED)) >= 4, 30, lambda: f'four creations, seen: {events.of(web)}')
    # What is ours is the time until libvirt is asked; QEMU takes its own after that, long on a busy machine.
    lives = node.hypervisor.lives('web')
    check(len(lives) >= 4, f'libvirt tells of {len(lives)} creations')
    within(lives[1].begun - lives[0].ended, 1.5, f'the first restart is asked for {lives[1].begun - lives[0].ended:.1f} s after the end')
    for index, least in ((2, 2), (3, 4)):
        gap = lives[index].begun - lives[index - 1].begun
        check(gap > least - 0.1, f'creations {index} and {index + 1} are {gap:.1f} s apart')
    equal((herd.key(web, 'state'), herd.version_of(web, 'state'), herd.key(web, 'failedreason')), ('start', 1, ''),
          'state, its version, failedreason')
    equal(herd.listed(node), [web], 'running list')
    herd.client.stop(web)
    herd.await_class(node, web, 'N', 5)
    herd.await_key(web, 'vnc', '')
    equal((herd.key(web, 'state'), herd.listed(node)), ('stop', []), 'state and running list')


@scenario('B.9 D105 (D42)', limit=60)
def guest_is_killed(lab):
    herd = Herd(lab)
    node = herd.nodes[0]
    herd.start()
    web = herd.define(1, 'web', 'hang')
    herd.run(web)
    mark, version, before = herd.mark(), herd.version_of(web, 'state'), node.hypervisor.pid_of(web)
    begun = time.monotonic()
    node.hypervisor.kill_guest(web)
    lab.wait(lambda: node.hypervisor.pid_of(web) not in (None, before) and herd.look(node, web) == 'A', 10, 'it runs again')
    print(f'running again after {time.monotonic() - begun:.1f} s')
    herd.await_running(node, web)
    equal((herd.key(web, 'state'), herd.version_of(web, 'state')), ('start', version), 'state and its version')
    for change in herd.changes(f'/nodes/{node.short}/runningdomains', mark):
        check(web in (change.value or b'').decode(), f'missing in the list for a moment: {herd.history_of(node)}')


@scenario('B.9 D110, and its commands work afterwards', limit=60)
def libvirt_restarts(lab):
    herd = Herd(lab)
    node = herd.nodes[0]
    herd.start()
    three = [herd.define(number, f'vm{number}', 'hang') for number in (1, 2, 3)]
    for uuid in three:
        herd.run(uuid)
    pids, mark = node.hypervisor.guests(), herd.mark()
    node.hypervisor.restart()
    lab.await_beats(node, 4)
    equal(sorted(node.hypervisor.guests()), sorted(pids), 'QEMU processes')
    for uuid in three:
        written = [key for key, _ in herd.own_writes(uuid, mark) if key not in ('stats', 'consolelog')]
        equal(written, [], 'keys written over a restart of libvirtd')
    for change in herd.changes(f'/nodes/{node.short}/runningdomains', mark):
        equal(sorted((change.value or b'').decode().split()), sorted(three), 'running list over a restart of libvirtd')
    herd.client.stop(three[1])
    herd.await_class(node, three[1], 'N', 10)
    lab.wait(lambda: sorted(herd.listed(node)) == sorted([three[0], three[2]]), 5, 'the stopped one leaves the list')


@scenario('9.1: a libvirtd that stands still; heartbeats go on', limit=90)
def libvirt_stands_still(lab):
    herd = Herd(lab)
    node = herd.nodes[0]
    herd.start()
    one, two, three = (herd.define(number, f'vm{number}', 'hang') for number in (1, 2, 3))
    herd.run(one)
    herd.run(two)
    pids = {guest.uuid: guest.pid for guest in node.hypervisor.guests()}
    lab.await_beats(node, 2)
    node.hypervisor.freeze()
    begun = time.time()
    herd.client.stop(one)
    herd.client.start(three)
    while time.time() - begun < 18:
        lab.expect_alive(node)
        time.sleep(0.5)
    gap = lab.longest_gap(node, since=begun)
    within(gap, 2.5, f'{gap:.1f} s between two heartbeats while libvirtd stood still')
    equal((herd.key(one, 'state'), herd.key(three, 'state')), ('stop', 'start'), 'states meanwhile')
    node.hypervisor.thaw()
    herd.await_class(node, one, 'N', 15)
    herd.await_class(node, three, 'A', 15)
    lab.wait(lambda: sorted(herd.listed(node)) == sorted([two, three]), 15,
             lambda: f'two and three are listed: {herd.listed(node)}')
    equal(node.hypervisor.pid_of(two), pids[two], 'QEMU of the guest that nobody touched')
    equal((herd.key(one, 'state'), herd.key(three, 'state'), herd.key(three, 'failedreason')), ('stop', 'start', ''), 'states')


@scenario('11.1-11.3 D98: list and figures, and that they stay', limit=40)
def figures_of_guests(lab):
    herd = Herd(lab)
    node = herd.nodes[0]
    herd.start()
    one, two = herd.define(1, 'one', 'hang'), herd.define(2, 'two', 'hang')
    herd.run(one)
    herd.run(two)
    expected = {'runningdomains': f'{one} {two}', 'memalloc': '128', 'memprov': '128', 'vcpualloc': '2', 'domainscount': '2'}
    lab.wait(lambda: all(lab.key(node, key) == value for key, value in expected.items()), 5,
             lambda: f'{expected}, there is {[lab.key(node, key) for key in expected]}')
    mark = herd.mark()
    lab.await_beats(node, 5)
    for key, value in expected.items():
        for change in herd.changes(f'/nodes/{node.short}/{key}', mark):
            equal((change.value or b'').decode(), value, f'{key} of a node where nothing changed')
    lists = [text for _, text in herd.history_of(node)]
    equal([text for index, text in enumerate(lists) if index == 0 or text != lists[index - 1]], ['', one, f'{one} {two}'],
          'running lists')
    stats = json.loads(herd.key(one, 'stats'))
    equal(list(stats), ['state', 'maxmem', 'livemem', 'cpus', 'cputime', 'mem_stats', 'cpu_stats', 'disk_stats', 'net_stats'],
          'keys of stats')
    equal((stats['state'], stats['maxmem'], stats['cpus'], len(stats['disk_stats']), stats['net_stats']),
          ('RUNNING', 65536, 1, 1, []), 'stats')
    first, second = herd.key(one, 'vnc'), herd.key(two, 'vnc')
    check(first.startswith('127.0.0.1:59') and second.startswith('127.0.0.1:59') and first != second, f'vnc: {first}, {second}')
