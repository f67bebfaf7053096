"""Guests that move between two nodes, both ours, and what may go wrong meanwhile."""
import json
import time

import libvirt

from ..herd import Herd, Sampler
from ..lab import check, equal, scenario, within
from .control import ask

SLOW, FAST = 2, 10000


@scenario('B.9 D106 (D50 D71): there and back', limit=60)
def guest_moves(lab):
    herd = Herd(lab, 2)
    first, second = herd.nodes
    herd.start()
    web = herd.define(1, 'web', 'hang')
    herd.run(web)
    for source, target, last, act in ((first, second, first.short, lambda: herd.client.migrate(web, second.short)),
                                      (second, first, '', lambda: herd.client.unmigrate(web))):
        sampler, mark, begun = Sampler((source, target), web), herd.mark(), time.monotonic()
        act()
        herd.await_key(web, 'state', 'start')
        spent = time.monotonic() - begun
        lab.wait(lambda: web in herd.listed(target) and web not in herd.listed(source), 5, 'the lists follow')
        herd.no_locks_left(web)
        samples, gap = sampler.judge(1.0)
        print(f'{source.label} to {target.label}: {spent:.2f} s, nobody executed for {gap:.2f} s in {samples} samples')
        within(spent, 5, f'the migration took {spent:.1f} s')
        herd.settled(web, target, last)
        herd.await_key(web, 'migrate_sync_lock', '', 5)
        equal(herd.values(web, 'state', mark), ['migrate', 'start'], 'values of state')
        equal(herd.values(web, 'migrate_sync_lock', mark), [web, ''], 'values of the lock between the nodes')
        herd.order(mark, (f'/nodes/{target.short}/runningdomains', web), (f'/domains/{web}/state', 'start'))


@scenario('D53 S8: no live way, by a shutdown; a guest that obeys', limit=60)
def guest_moves_offline(lab):
    herd = Herd(lab, 2)
    first, second = herd.nodes
    herd.start()
    web = herd.define(1, 'web', 'acpi', migration_method='shutdown')
    herd.run(web)
    mark = herd.mark()
    herd.client.move(web, second.short)
    herd.await_running(second, web)
    herd.await_key(web, 'state', 'start')
    herd.no_locks_left(web)
    lab.wait(lambda: web not in herd.listed(first), 5, 'it leaves the list')
    herd.settled(web, second)
    equal(herd.values(web, 'state', mark), ['migrate', 'stop', 'start'], 'values of state')


def is_left_behind(node, uuid):
    """As the daemon tells a half that nothing arrives into: libvirt says that it has no job. Of what arrives it says nothing."""
    try:
        return node.hypervisor.domain(uuid).jobStats()['type'] == libvirt.VIR_DOMAIN_JOB_NONE
    except libvirt.libvirtError as error:
        equal(error.get_error_code(), libvirt.VIR_ERR_OPERATION_UNSUPPORTED, 'why libvirt tells nothing of what arrives')
        return False


def on_the_way(lab, herd, web):
    """A migration that cannot end: the guest changes its memory faster than it may be sent."""
    first, second = herd.nodes
    herd.run(web)
    first.hypervisor.domain(web).migrateSetMaxSpeed(SLOW)
    herd.client.migrate(web, second.short)
    herd.await_class(second, web, 'I', 10)
    check(not is_left_behind(second, web), 'what arrives is taken for something that was left behind')

    def sent():
        try:
            return first.hypervisor.domain(web).jobInfo()[4] > 0
        except libvirt.libvirtError:
            return False
    lab.wait(sent, 10, 'some of its memory is sent')
    equal((herd.key(web, 'state'), herd.key(web, 'node'), herd.look(first, web)), ('migrate', second.short, 'A'),
          'state, node, class on the source')


@scenario('B.9 D108', limit=90)
def sender_is_killed(lab):
    herd = Herd(lab, 2)
    first, second = herd.nodes
    herd.start()
    web = herd.define(1, 'web', 'dirty')
    on_the_way(lab, herd, web)
    first.daemon.kill()
    lab.expect_end(first, -9, 5)
    herd.await_class(second, web, 'N', 1.5)
    equal(herd.look(first, web), 'A', 'class on the source')
    equal(herd.key(web, 'state'), 'migrate', 'state')
    first.hypervisor.domain(web).migrateSetMaxSpeed(FAST)
    first.start(environment=herd.environment)
    lab.wait(lambda: herd.key(web, 'state') == 'start', 40, lambda: f'it is sent again; state {herd.key(web, "state")}')
    lab.wait(lambda: herd.listed(second) == [web] and herd.listed(first) == [], 5, 'the lists follow')
    herd.no_locks_left(web)
    herd.settled(web, second, first.short)


@scenario('pvcnodectl: tasks cancel, explain flush; a migration that does not end', limit=90)
def sender_is_cancelled(lab):
    herd = Herd(lab, 2)
    first, second = herd.nodes
    herd.start()
    web = herd.define(1, 'web', 'dirty')
    herd.run(web)
    def plan():
        return [(one['name'], one['would'], one['target']) for one in json.loads(ask(first, 'explain', 'flush', '--json')[1])['machines']]
    equal(plan(), [('web', 'shuts down', None)], 'explain flush, while no other node takes machines')
    lab.set(f'/nodes/{second.short}/domainstate', 'ready')
    lab.wait(lambda: plan() == [('web', 'moves', second.short)], 10, lambda: f'it would move; {plan()}')
    equal(herd.key(web, 'state'), 'start', 'state, after a question')
    on_the_way(lab, herd, web)
    tasks = json.loads(ask(first, 'tasks', '--json')[1])['tasks']
    sending = [task for task in tasks if task['can_be_cancelled']]
    equal(len(sending), 1, f'what may be cancelled of {tasks}')
    begun = time.monotonic()
    status, text = ask(first, '--timeout', '20', 'tasks', 'cancel', str(sending[0]['id']), '--yes')
    equal(status, 0, text)
    print(f'cancelled in {time.monotonic() - begun:.2f} s')
    equal(herd.look(first, web), 'A', 'class on the source')

    def is_there():
        there = first.hypervisor.domain(web)
        if there is not None:
            try:  # libvirt may still wind up the job that was cancelled, and forget it with that
                there.migrateSetMaxSpeed(FAST)
            except libvirt.libvirtError:
                pass
        return herd.key(web, 'state') == 'start'
    lab.wait(is_there, 60, lambda: f'the order stands; state {herd.key(web, "state")}')
    lab.wait(lambda: herd.listed(second) == [web] and herd.listed(first) == [], 5, 'the lists follow')
    herd.no_locks_left(web)
    herd.settled(web, second, first.short)


@scenario('B.9 D109', limit=120)
def target_loses_power(lab):
    herd = Herd(lab, 2)
    first, second = herd.nodes
    herd.start()
    web = herd.define(1, 'web', 'dirty')
    on_the_way(lab, herd, web)
    begun, mark = time.monotonic(), herd.mark()
    pid = first.hypervisor.pid_of(web)
    second.cut_power()
    lab.wait(lambda: herd.key(web, 'state') == 'start', 45, lambda: f'it is rolled back; state {herd.key(web, "state")}')
    print(f'rolled back after {time.monotonic() - begun:.1f} s')
    herd.no_locks_left(web)
    equal((herd.key(web, 'node'), herd.key(web, 'lastnode')), (first.short, ''), 'node and lastnode')
    equal((herd.look(first, web), first.hypervisor.pid_of(web)), ('A', pid), 'class and process on the source')
    equal(herd.listed(first), [web], f'running list {herd.history_of(first)}')
    equal(herd.values(web, 'state', mark), ['start'], 'values of state')
    herd.client.stop(web)
    herd.await_class(first, web, 'N', 10)


@scenario('D08 D82 with QEMU: a definition of another guest; a guest that is removed', limit=60)
def guest_is_removed(lab):
    herd = Herd(lab)
    node = herd.nodes[0]
    herd.start()
    web, other = herd.define(1, 'web', 'hang'), herd.define(2, 'other', 'hang')
    herd.client.modify(other, 'other', herd.xml(web, 'other', 'hang'))
    herd.client.start(other)
    herd.await_key(other, 'state', 'fail')
    check(other in herd.key(other, 'failedreason') and web in herd.key(other, 'failedreason'),
          f'failedreason is {herd.key(other, "failedreason")!r}')
    herd.run(web)
    herd.client.undefine(web)
    herd.await_class(node, web, 'N', 5)
    lab.wait(lambda: herd.listed(node) == [], 5, 'it leaves the list')
    lab.await_beats(node, 5)
    equal(lab.stat(f'/domains/{web}'), None, 'the removed guest')
