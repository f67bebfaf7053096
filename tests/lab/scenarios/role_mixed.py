"""The primary role between nodes of ours and one that behaves as the reference of version 0.9.82 (README rulings 22, 87).

Ours has no addresses here, so its own takeover takes no time; the other one walks through all phases.
"""
from ..foreign import launch
from ..lab import between, equal, scenario, within
from .role import KEY, never_two, one_primary, primaries

SETTLED = 20.0  # how long nothing may have changed before ours calls it a refusal
SYNC = KEY + '/sync_lock'

READ = [('create', 'sync read'), ('delete', 'sync read')]
WRITE = [('create', 'sync write'), ('set', 'sync', ''), ('delete', 'sync write')]
# What the recorded traces primary-reference-to-ours-nobody and primary-pvchv1-to-pvchv2-1 have of either side.
RELINQUISHED = [('set', 'primary_node', 'pvchv2'), ('set', 'role', 'relinquish'), *READ, *WRITE, *READ * 5,
                ('set', 'role', 'secondary')]
TAKEN_OVER = [('set', 'role', 'takeover'), ('create', 'candidate'), ('set', 'sync', ''), *WRITE, *READ, *WRITE * 5,
              ('delete', 'candidate'), ('set', 'role', 'primary')]


def role_of(node):
    return f'/nodes/{node.short}/routerstate'


def machines(lab, foreign_name='pvchv2'):
    """Three coordinators with power and without a daemon: those of ours, and the other."""
    nodes = [lab.node(name, coordinators=lab.names(3)) for name in lab.names(3)]
    for node in nodes:
        node.power_on()
    return [node for node in nodes if node.short != foreign_name], next(node for node in nodes if node.short == foreign_name)


def start_ours(lab, ours):
    for node in ours:
        node.start()
    for node in ours:
        lab.await_state(node, 'run')
        lab.await_beats(node, 2)


def mark(lab):
    lab.get('/schema/version')
    return lab.client.last_zxid


def steps(lab, session, since):
    """What one session did about the role, each step with its time."""
    found = []
    for change in lab.history():
        if change.session != session or change.zxid <= since:
            continue
        if change.path in (KEY, SYNC) or change.path.endswith('/routerstate'):
            name = {KEY: 'primary_node', SYNC: 'sync'}.get(change.path, 'role')
            found.append((change.time, (change.operation, name, (change.value or b'').decode())))
        elif change.path.startswith(KEY + '/'):
            kind = 'read' if '__rlock__' in change.path else 'write'
            found.append((change.time, (change.operation, f'sync {kind}' if change.path.startswith(SYNC) else 'candidate')))
    return found


def written(lab, since):
    """Every write of the key since then: session, value, time."""
    return [(change.session, change.value.decode(), change.time) for change in lab.history(KEY, ('set',)) if change.zxid > since]


def taken_at_once(lab, wanted, foreign, since):
    """`wanted` was named, the other wrote its own name back and gave the role up all the same: `wanted` claims the key again, at once."""
    lab.await_value(role_of(foreign), 'relinquish', 5)
    lab.await_value(role_of(wanted), 'primary', 5)
    writes = written(lab, since)
    equal([value for _, value, _ in writes], [wanted.short, foreign.short, wanted.short], 'values of primary_node')
    equal([session for session, _, _ in writes[1:]], [lab.session_of(foreign), lab.session_of(wanted)], 'sessions that wrote the last two')
    times = [next(change.time for change in lab.history(role_of(node), ('set',)) if change.zxid > since and change.value == value)
             for node, value in ((foreign, b'relinquish'), (wanted, b'primary'))]
    print(f'primary {times[1] - times[0]:.3f} s after `relinquish`')
    within(times[1] - times[0], 2.0, f'{wanted.label} was primary {times[1] - times[0]:.2f} s after `relinquish`')


@scenario('the scripted node against the recorded traces of the primary role', limit=60)
def foreign_role_is_faithful(lab):
    """pvchv1 is a record and nothing else."""
    lab.zookeeper()
    lab.put_node('pvchv1', daemonstate='run')
    foreign = lab.node('pvchv2', coordinators=lab.names(2))
    foreign.power_on()
    launch(lab, foreign, role=1, beat_in_hand_over=0.05)
    lab.await_value(role_of(foreign), 'primary', 15)
    session = lab.session_of(foreign)

    def seen(since, expected, what):
        found = [step for _, step in steps(lab, session, since)]
        equal(found[-len(expected):], expected, what)
        return [at for at, _ in steps(lab, session, since)][-len(expected):]

    times = seen(0, TAKEN_OVER, 'taking over')
    between(4.0, times[-1] - times[0], 9.0, f'a takeover of {times[-1] - times[0]:.1f} s')
    since = mark(lab)
    lab.set(KEY, 'pvchv1')
    lab.await_value(role_of(foreign), 'relinquish', 5)
    lab.await_value(role_of(foreign), 'secondary', 10)
    times = seen(since, RELINQUISHED, 'giving it up')
    named = written(lab, since)[0][2]
    within(times[0] - named, 0.45, f'it named itself {times[0] - named:.2f} s after the client')
    between(0.45, times[1] - named, 1.2, f'`relinquish` came {times[1] - named:.2f} s after the client')
    between(2.6, times[-1] - times[1], 5.0, f'`secondary` came {times[-1] - times[1]:.1f} s after `relinquish`')
    lab.await_beats(foreign, 1)
    equal((lab.get(KEY), lab.get(role_of(foreign))), ('pvchv2', 'secondary'), 'the key and the role, and so it stays')


@scenario('README ruling 87: the other names itself within the half second and gives the role up all the same', limit=120)
def hand_over_that_would_end_with_nobody(lab):
    lab.zookeeper()
    ours, foreign = machines(lab)
    nodes = [*ours, foreign]
    launch(lab, foreign, role=1, beat_in_hand_over=0.05)
    lab.await_value(role_of(foreign), 'primary', 15)
    start_ours(lab, ours)
    since = mark(lab)
    lab.set(KEY, ours[0].short)
    taken_at_once(lab, ours[0], foreign, since)
    lab.await_value(role_of(foreign), 'secondary', 10)
    # And it is no dead end: it goes to the other and from there to ours, when no heartbeat comes between.
    for target in (foreign, ours[0]):
        lab.await_beats(foreign, 1, 12)
        lab.set(KEY, target.short)
        lab.wait(lambda: primaries(lab, nodes) == [target], 15, f'{target.label} takes over')
    never_two(lab, nodes)
    equal([value for _, value, _ in written(lab, since)].count('none'), 0, 'times the key was cleared')


@scenario('README ruling 87: likewise where the other takes long to give it up', limit=150)
def slow_hand_over_that_would_end_with_nobody(lab):
    lab.zookeeper()
    ours, foreign = machines(lab)
    nodes = [*ours, foreign]
    launch(lab, foreign, role=1, beat_in_hand_over=0.05, relinquish=SETTLED + 5)
    lab.await_value(role_of(foreign), 'primary', 15)
    start_ours(lab, ours)
    since = mark(lab)
    lab.set(KEY, ours[1].short)
    taken_at_once(lab, ours[1], foreign, since)
    lab.await_value(role_of(foreign), 'secondary', 45)
    equal(one_primary(lab, nodes).short, ours[1].short, 'primary')
    never_two(lab, nodes)


@scenario('README ruling 22: who is slow, but takes the role, is left alone', limit=120)
def slow_candidate_is_left_alone(lab):
    """It is busy for 14 s before it begins and takes over for longer than the 20 s."""
    lab.zookeeper()
    ours, foreign = machines(lab)
    nodes = [*ours, foreign]
    start_ours(lab, ours)
    one_primary(lab, ours)
    launch(lab, foreign, role=1, reaction=SETTLED - 6, takeover=SETTLED + 4)
    lab.await_beats(foreign, 1)
    since = mark(lab)
    lab.set(KEY, foreign.short)
    lab.await_value(role_of(foreign), 'takeover', 25)
    lab.await_value(role_of(foreign), 'primary', 45)
    equal(one_primary(lab, nodes).short, foreign.short, 'primary')
    for node in ours:
        lab.await_beats(node, 3)
    equal([value for _, value, _ in written(lab, since)], [foreign.short], 'values of the key')
    never_two(lab, nodes)
