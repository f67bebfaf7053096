"""A node that behaves as the reference of version 0.9.82 is restarted while it sends guests to ours: it does not know any more
that it is the sender (README ruling 30). In the end each guest is where it ran all the time, and everybody agrees.
"""
import os
import time

from ..foreign import launch
from ..lab import between, check, equal, scenario
from ..mixed import Mixed

PATIENCE = 120.0   # how long nothing may have changed before the receiver takes the migration back
LOOKS = 10.0       # it asks the other nodes so often
BUSY_CLIENT = 15.0


def step_aside(pid):
    """A guest that computes takes only what the others leave."""
    for thread in os.listdir(f'/proc/{pid}/task'):
        os.setpriority(os.PRIO_PROCESS, int(thread), 19)


def taken_back(herd, uuid, since):
    """The receiver's one transaction, under the lock of the state, `PATIENCE` after the last thing that spoke against it."""
    lab, ours, foreign = herd.lab, herd.ours, herd.foreign
    session = lab.session_of(ours)
    root = f'/domains/{uuid}/'
    changes = [change for change in lab.history() if change.path.startswith(root)]
    last = [change for change in changes if change.path == root + 'node'][-1]
    equal((last.session, last.value.decode()), (session, foreign.short), 'who wrote `node` last, and what')
    together = {change.path[len(root):]: change.value.decode() for change in changes
                if change.zxid == last.zxid and change.operation == 'set'}
    equal(together, {'state': 'start', 'node': foreign.short, 'lastnode': ''}, 'what was written at once')
    waited = last.time - since
    print(f'{uuid[:8]}: taken back after {waited:.1f} s')
    between(PATIENCE - 0.1, waited, PATIENCE + 2 * LOOKS + 5,
            f'it was taken back {waited:.1f} s after the last contender had gone')
    own = [change for change in changes if change.path.startswith(root + 'state/') and change.session == session]
    held = [change.path for change in own if change.operation == 'create' and change.zxid < last.zxid]
    check(held, 'it was taken back without the lock of the state')
    freed = [change.zxid for change in own if change.operation == 'delete' and change.path == held[-1]]
    check(freed and freed[0] > last.zxid, 'the lock of the state was gone when it was taken back')
    equal(herd.values(uuid, 'state'), ['stop', 'start', 'migrate', 'start'], 'values of state')
    equal(herd.values(uuid, 'node'), [foreign.short, ours.short, foreign.short], 'values of node')


@scenario('README ruling 30 (8.4 R6): the other is restarted while it copies one guest and is about to send another', limit=420, long=True)
def mixed_sender_forgets(lab):
    herd = Mixed(lab, dawdle=6)
    ours, foreign, client = herd.ours, herd.foreign, herd.client
    quiet = herd.run_on(foreign, 2, 'quiet')
    web, sampler = herd.begin_endless(ours)
    pids = {uuid: foreign.hypervisor.pid_of(uuid) for uuid in (web, quiet)}
    step_aside(pids[web])
    samplers = [sampler, herd.watch(quiet)]
    client.migrate(quiet, ours.short)
    session = lab.session_of(foreign)

    def has_begun():
        owners = {key: lab.stat(f'/domains/{quiet}/{key}/{child}') for key, child, _ in herd.locks(quiet)}
        return {'node', 'state'} <= {key for key, stat in owners.items() if stat is not None and stat.ephemeralOwner == session}
    lab.wait(has_begun, 5, lambda: f'it has the locks of the second migration: {herd.locks(quiet)}')
    equal(herd.look(ours, quiet), 'N', 'class of the second guest on ours')
    foreign.daemon.kill()
    lab.expect_end(foreign, -9, 5)
    herd.await_class(ours, web, 'N', 5)
    launch(lab, foreign)
    lab.await_beats(foreign, 1, 12)
    for one in samplers:
        one.judge(1.0)

    # The locks of the one that died are there until its session ends, and a client keeps one of them for longer.
    samplers = [herd.watch(uuid, 0.2) for uuid in (web, quiet)]
    with lab.client.Lock(f'/domains/{quiet}/node', 'a busy client'):
        time.sleep(BUSY_CLIENT)
    closed = [change.time for change in lab.history(operations=('close',)) if change.session == session]
    let_go = [change.time for change in lab.history(operations=('delete',)) if change.path.startswith(f'/domains/{quiet}/node/')]
    check(closed and let_go, 'the old session and the client are gone')
    freed = {web: closed[0], quiet: let_go[-1]}
    for uuid in (web, quiet):
        equal((herd.key(uuid, 'state'), herd.key(uuid, 'node')), ('migrate', ours.short), 'state and node while ours waits')
    for uuid in (web, quiet):
        lab.wait(lambda: herd.key(uuid, 'state') == 'start', 180, f'{uuid} is given back')
        taken_back(herd, uuid, freed[uuid])
        herd.no_locks_left(uuid)
        herd.await_key(uuid, 'migrate_sync_lock', '', 5)
        herd.settled(uuid, foreign, '')
        equal(foreign.hypervisor.pid_of(uuid), pids[uuid], 'QEMU of a guest that was not moved')
    for one in samplers:
        one.judge(1.0)
    equal(ours.log().count('has not begun to send it for 120 s'), 2, 'lines about it')

    # And the next one goes through.
    herd.move(quiet, ours, lambda: client.migrate(quiet, ours.short), last=foreign.short, gap=5.0, timeout=60)
