"""The primary role without addresses (README ruling 11): claim, contention, hand-over, stop; the locks seen by a peer."""
import re
import threading
import time
import uuid

from ..lab import between, check, equal, scenario, within

KEY = '/config/primary_node'
CHILD = re.compile(r'[0-9a-f]{32}__lock__[0-9]{10}')


def primaries(lab, nodes):
    return [node for node in nodes if lab.key(node, 'routerstate') == 'primary']


def one_primary(lab, nodes, timeout=15):
    """Waits until the role is settled: one node is primary and the key names it."""
    def settled():
        found = primaries(lab, nodes)
        rest = [lab.key(n, 'routerstate') for n in nodes if n not in found]
        return len(found) == 1 and lab.get(KEY) == found[0].short and set(rest) <= {'secondary'} and found[0]
    return lab.wait(settled, timeout, lambda: 'one primary; ' + ', '.join(
        f'{n.short} {lab.key(n, "routerstate")}' for n in nodes) + f'; {KEY} = {lab.get(KEY)}')


def never_two(lab, nodes, overlap=1.0):
    """At no time of the past were two nodes `primary`, but for the moment of a hand-over (without networking nothing is
    walked through in lockstep)."""
    role, since = {}, None
    names = {f'/nodes/{node.short}/routerstate': node.short for node in nodes}
    for change in lab.history():
        if change.path in names and change.value is not None:
            role[names[change.path]] = change.value
        both = sorted(name for name, value in role.items() if value == b'primary')
        if len(both) <= 1:
            since = None
        elif since is None:
            since = change.time
        else:
            within(change.time - since, overlap, f'{both} were primary together for more than {overlap} s')


@scenario('B.1 AC11 AC13, ZK-19', limit=60)
def one_of_three_claims_the_role(lab):
    lab.zookeeper()
    nodes = [lab.node(name, coordinators=lab.names(3)) for name in lab.names(3)]
    for node in nodes:
        node.power_on()
    for node in nodes:
        node.start()
    winner = one_primary(lab, nodes)
    claims = [c for c in lab.history(KEY, ('set',)) if c.value != b'']
    equal([c.value.decode() for c in claims], [winner.short], 'values written to the key')
    # Becoming primary comes only after the first `run` (AC11).
    order = [(c.path, c.value) for c in lab.history() if c.path.startswith(f'/nodes/{winner.short}/')]
    run = order.index((f'/nodes/{winner.short}/daemonstate', b'run'))
    primary = order.index((f'/nodes/{winner.short}/routerstate', b'primary'))
    check(run < primary, '`primary` was written before `run`')
    equal(lab.values(f'/nodes/{winner.short}/routerstate'), ['secondary', 'primary'], 'routerstate over time')
    for node in nodes:
        lab.await_beats(node, 2)
        if node is not winner:
            equal(lab.values(f'/nodes/{node.short}/routerstate'), ['secondary'], f'routerstate of {node.short}')


@scenario('B.2 AC19, ZK-32', limit=60)
def term_on_primary_hands_over(lab):
    lab.zookeeper()
    nodes = lab.cluster(3)
    old = one_primary(lab, nodes)
    rest = [node for node in nodes if node is not old]
    begun = time.monotonic()
    old.daemon.stop()
    lab.expect_end(old, 0, 10)
    spent = time.monotonic() - begun
    new = one_primary(lab, rest)
    equal(lab.values(f'/nodes/{old.short}/daemonstate'), ['init', 'run', 'shutdown', 'stop'], 'daemonstate over time')
    equal(lab.values(f'/nodes/{old.short}/routerstate'), ['secondary', 'primary', 'secondary'], 'routerstate over time')
    equal([v for v in lab.values(KEY) if v], [old.short, 'none', new.short], 'primary_node over time')
    never_two(lab, nodes)
    shutdown = [c.zxid for c in lab.history(f'/nodes/{old.short}/daemonstate') if c.value == b'shutdown'][0]
    none = [c.zxid for c in lab.history(KEY) if c.value == b'none'][0]
    back = [c.zxid for c in lab.history(f'/nodes/{old.short}/routerstate') if c.value == b'secondary'][-1]
    stop = [c.zxid for c in lab.history(f'/nodes/{old.short}/daemonstate') if c.value == b'stop'][0]
    check(shutdown < none < back < stop, 'order: shutdown, none, secondary, stop')
    within(spent, 5, f'the hand-over and the stop took {spent:.1f} s')


@scenario('B.2 AC20: all coordinators stop together', limit=60)
def everybody_stops_together(lab):
    """The primary does not wait for a successor that is leaving too."""
    lab.zookeeper()
    nodes = lab.cluster(3)
    for _ in range(3):
        one_primary(lab, nodes)
        for node in nodes:
            lab.await_beats(node, 1)
        begun = time.monotonic()
        for node in nodes:
            node.daemon.stop()
        for node in nodes:
            lab.expect_end(node, 0, 8)
        within(time.monotonic() - begun, 5, f'the stop of all took {time.monotonic() - begun:.1f} s')
        for node in nodes:
            equal(lab.key(node, 'daemonstate'), 'stop', f'daemonstate of {node.short}')
            equal(lab.key(node, 'routerstate'), 'secondary', f'routerstate of {node.short}')
            node.start()
        for node in nodes:
            lab.await_state(node, 'run', 20)


@scenario('B.2 AC20', limit=40)
def term_on_the_only_primary(lab):
    lab.zookeeper()
    lab.put_node('pvchv2')
    node = lab.running_node(coordinators=lab.names(2))
    one_primary(lab, [node])
    begun = time.monotonic()
    node.daemon.stop()
    lab.expect_end(node, 0, 6)
    spent = time.monotonic() - begun
    within(spent, 2, f'SIGTERM to exit took {spent:.2f} s')
    equal(lab.get(KEY), 'none', 'primary_node')
    equal(lab.values('/nodes/pvchv1/routerstate')[-1], 'secondary', 'routerstate')
    equal(lab.values('/nodes/pvchv1/daemonstate')[-2:], ['shutdown', 'stop'], 'daemonstate')


@scenario('B.5 AC73 as roles', limit=60)
def a_client_moves_the_role(lab):
    lab.zookeeper()
    nodes = lab.cluster(3)
    old = one_primary(lab, nodes)
    new = next(node for node in nodes if node is not old)
    lab.set(KEY, new.short)
    lab.wait(lambda: primaries(lab, nodes) == [new], 10, f'{new.short} takes over')
    equal(one_primary(lab, nodes).short, new.short, 'primary')
    equal(lab.values(f'/nodes/{old.short}/routerstate'), ['secondary', 'primary', 'secondary'], 'old primary')
    equal(lab.values(f'/nodes/{new.short}/routerstate'), ['secondary', 'primary'], 'new primary')
    never_two(lab, nodes)
    # and away from it, by `none`: somebody else takes it
    lab.set(KEY, 'none')
    last = lab.wait(lambda: lab.get(KEY) not in ('none', '') and one_primary(lab, nodes), 20, 'a primary after `none`')
    for node in nodes:
        lab.await_beats(node, 2)
        lab.expect_alive(node)
    check(last.short in lab.names(3), f'primary is {last.short}')


@scenario('B.5 AC81', limit=60)
def back_and_forth_changes_nothing(lab):
    lab.zookeeper()
    nodes = lab.cluster(2)
    old = one_primary(lab, nodes)
    other = next(node for node in nodes if node is not old)
    lab.set(KEY, other.short)
    time.sleep(0.15)
    lab.set(KEY, old.short)
    for node in nodes:
        lab.await_beats(node, 3)
    equal(lab.values(f'/nodes/{old.short}/routerstate'), ['secondary', 'primary'], 'routerstate of the primary')
    equal(lab.values(f'/nodes/{other.short}/routerstate'), ['secondary'], 'routerstate of the other')
    equal(one_primary(lab, nodes).short, old.short, 'primary')


@scenario('B.5 AC82', limit=60)
def unknown_primary_is_corrected(lab):
    lab.zookeeper()
    node = lab.running_node()
    one_primary(lab, [node])
    begun = time.monotonic()
    lab.set(KEY, 'pvchv9')
    lab.await_value(KEY, 'pvchv1', 10)
    spent = time.monotonic() - begun
    between(1.5, spent, 4.5, f'corrected after {spent:.1f} s, expected 2 intervals of 1 s')
    equal(lab.values('/nodes/pvchv1/routerstate'), ['secondary', 'primary'], 'routerstate over time')


@scenario('B.5 AC83, rule C5', limit=60)
def stopped_primary_is_replaced(lab):
    lab.zookeeper()
    lab.put_node('pvchv2', daemonstate='stop')
    lab.set(KEY, 'pvchv2')
    node = lab.running_node(coordinators=lab.names(2))
    one_primary(lab, [node], 15)
    equal([v for v in lab.values(KEY) if v], ['pvchv2', 'none', 'pvchv1'], 'primary_node over time')


@scenario('B.5 AC78, rule C4', limit=60)
def nobody_takes_it(lab):
    lab.zookeeper()
    node = lab.running_node()
    one_primary(lab, [node])
    lab.set(KEY, 'none')
    lab.await_value(KEY, 'pvchv1', 8)
    equal(lab.values('/nodes/pvchv1/routerstate'), ['secondary', 'primary'], 'routerstate over time')


@scenario('ZK-11 ZK-17 ZK-40', limit=60)
def lock_children_as_a_peer_sees_them(lab):
    lab.zookeeper()
    lab.put_node('pvchv2', daemonstate='run', routerstate='secondary')
    lab.set(KEY, 'pvchv2')
    lab.put([(KEY + '/foo', ''), (KEY + '/x__lock__12', '')])
    node = lab.running_node(coordinators=lab.names(2))
    lab.await_beats(node, 1)
    lab.set(KEY, 'none')
    lab.await_value(KEY, 'pvchv1', 5)
    children = [c for c in lab.history(operations=('create',)) if c.path.startswith(KEY + '/') and c.ephemeral]
    check(children, 'the role was taken without a lock')
    for child in children:
        check(CHILD.fullmatch(child.path.rsplit('/', 1)[1]), f'name of the lock child: {child.path}')
        data = child.value.decode('ascii')
        check(len(data) <= 200 and re.match(r'pvchv1:\d+:[^:]+:', data), f'data of the lock child: {data!r}')
        lab.wait(lambda: lab.history(child.path, ('delete',)), 3, f'{child.path} is removed')
    equal(sorted(lab.client.get_children(KEY)), ['foo', 'sync_lock', 'x__lock__12'], 'children left')


@scenario('ZK-10, AC77', limit=60)
def contention_gives_up_in_time(lab):
    lab.zookeeper()
    lab.put_node('pvchv2', daemonstate='run', routerstate='secondary')
    lab.set(KEY, 'pvchv2')
    node = lab.running_node(coordinators=lab.names(2))
    lab.await_beats(node, 2)
    equal(lab.key(node, 'routerstate'), 'secondary', 'routerstate')
    peer = lab.client.Lock(KEY)
    check(peer.acquire(timeout=2), 'the peer got no lock')
    mark = len(lab.history())
    lab.set(KEY, 'none')
    time.sleep(3.5)
    equal(lab.get(KEY), 'none', 'primary_node while the peer holds the lock')
    created = {c.path: c for c in lab.history()[mark:] if c.operation == 'create' and c.path.startswith(KEY + '/')}
    check(len(created) >= 2, f'{len(created)} attempts in 3.5 s: it tries again at the following ticks')
    deleted = {c.path: c for c in lab.history()[mark:] if c.operation == 'delete'}
    spans = [deleted[path].time - c.time for path, c in created.items() if path in deleted]
    check(spans, 'no lock child was removed')
    # The child lives a little shorter than the attempt, which is limited to 0.4 s; the later it comes the shorter.
    check(max(spans) > 0.1, f'lock children lived {[round(span, 2) for span in spans]} s')
    for span in spans:
        within(span, 0.65, f'a lock child lived {span:.2f} s')
    check(len(created) - len(spans) <= 1, 'lock children are left behind')
    peer.release()
    lab.wait(lambda: lab.get(KEY) == 'pvchv1', 5, 'the role after the release')
    one_primary(lab, [node])


@scenario('ZK-12', limit=60)
def readers_do_not_hold_a_claim_back(lab):
    lab.zookeeper()
    lab.put_node('pvchv2', daemonstate='run', routerstate='secondary')
    lab.set(KEY, 'pvchv2')
    node = lab.running_node(coordinators=lab.names(2))
    lab.await_beats(node, 1)
    # A reader of another implementation: kazoo's name and tag.
    lab.client.create(f'{KEY}/{uuid.uuid4().hex}__rlock__', b'x', ephemeral=True, sequence=True)
    begun = time.monotonic()
    lab.set(KEY, 'none')
    lab.await_value(KEY, 'pvchv1', 5)
    within(time.monotonic() - begun, 2.5, 'the claim waited for a reader')


@scenario('ZK-11: a peer competes', limit=60)
def a_peer_competes(lab):
    """A client of the reference's kind asks for the same lock again and again, and always gets it in time."""
    lab.zookeeper()
    nodes = lab.cluster(2)
    one_primary(lab, nodes)
    waits, stop = [], threading.Event()

    def compete():
        other = lab.new_client()
        while not stop.is_set():
            lock = other.Lock(KEY)
            begun = time.monotonic()
            if lock.acquire(timeout=5):
                waits.append(time.monotonic() - begun)
                time.sleep(0.02)
                lock.release()
            else:
                waits.append(99.0)
        other.stop()
    thread = threading.Thread(target=compete, daemon=True)
    thread.start()
    for _ in range(4):
        lab.set(KEY, 'none')
        lab.wait(lambda: lab.get(KEY) not in ('none', ''), 15, 'a new primary')
        one_primary(lab, nodes, 15)
    stop.set()
    thread.join(10)
    check(waits, 'the peer never had the lock')
    within(max(waits), 2, f'the peer waited {max(waits):.1f} s for the lock')
    left = [name for name in lab.client.get_children(KEY) if '__lock__' in name]
    equal(left, [], 'lock children left')
    never_two(lab, nodes)


@scenario('rule C5 and hand-over: the primary is killed and comes back', limit=60)
def killed_primary_returns(lab):
    lab.zookeeper(maxSessionTimeout=3000)
    nodes = lab.cluster(2)
    old = one_primary(lab, nodes)
    old.daemon.kill()
    old.daemon.wait(5)
    old.start()
    lab.await_state(old, 'run', 20)
    one_primary(lab, nodes, 20)
    for node in nodes:
        lab.await_beats(node, 2)
    never_two(lab, [node for node in nodes if node is not old])
