"""SIGTERM in every phase: an orderly end within two seconds, and a record that tells the truth."""
import time

from ..lab import check, equal, scenario, within


def end_now(lab, node, limit=2.0, status=0):
    begun = time.monotonic()
    node.daemon.stop()
    lab.expect_end(node, status, 8)
    spent = time.monotonic() - begun
    within(spent, limit, f'SIGTERM to exit took {spent:.2f} s')


def truthful(lab, node, registered=None):
    """The record is absent, or says `stop`."""
    state = lab.key(node, 'daemonstate')
    check(state in (None, 'stop'), f'the record says {state}')
    if registered is not None:
        equal(state is not None, registered, 'whether there is a record')


@scenario('issue: SIGTERM while services start (S5)', limit=40)
def term_while_services_start(lab):
    lab.zookeeper()
    node = lab.node()
    node.power_on()
    node.unit('zookeeper', state='inactive')
    node.start()
    lab.wait(lambda: len(node.systemctl_calls()) >= 3, 5, 'questions to the service manager')
    end_now(lab, node)
    truthful(lab, node, registered=False)


@scenario('issue: SIGTERM while a service command hangs (S5)', limit=40)
def term_while_a_command_hangs(lab):
    lab.zookeeper()
    node = lab.node()
    node.power_on()
    node.slow_commands(60)
    node.start()
    lab.wait(lambda: node.systemctl_calls(), 5, 'a call of the service manager')
    end_now(lab, node)
    truthful(lab, node, registered=False)
    left = [line for line in node.inside('ps', '-eo', 'pid,args').splitlines() if 'systemctl' in line]
    equal(left, [], 'children left behind')


@scenario('issue: SIGTERM while nobody listens, while nobody answers, between two attempts (S6)', limit=60)
def term_while_connecting(lab):
    lab.zookeeper()
    stage = lab.proxy()
    node = lab.node()
    node.power_on()
    for mode in ('refuse', 'swallow'):
        stage.set(mode)
        node.start()
        time.sleep(1.0)
        end_now(lab, node)
    stage.set('refuse')
    node.start()
    time.sleep(15.8)
    end_now(lab, node)
    stage.set('pass')
    truthful(lab, node, registered=False)


@scenario('issue: SIGTERM while the tree is not there (S6)', limit=40)
def term_while_not_initialised(lab):
    lab.zookeeper(version=None)
    node = lab.node()
    node.up()
    time.sleep(1.5)
    end_now(lab, node)
    equal(lab.tree(), [], 'keys in the tree')


@scenario('issue: SIGTERM while a peer holds the schema lock (S6)', limit=40)
def term_while_waiting_for_a_lock(lab):
    lab.zookeeper()
    lab.client.delete('/ceph/health')
    peer = lab.client.Lock('/schema/version')
    check(peer.acquire(timeout=2), 'the peer got no lock')
    node = lab.node()
    node.up()
    time.sleep(1.5)
    end_now(lab, node)
    truthful(lab, node)
    left = [name for name in lab.client.get_children('/schema/version') if '__lock__' in name]
    equal(len(left), 1, 'children of /schema/version, the peer\'s own among them')


@scenario('issue: SIGTERM in every phase, by time', limit=150)
def term_at_any_moment(lab):
    """Answers take 80 ms here, so that the moments below are spread over S5 to S13 and the first ticks."""
    lab.zookeeper()
    stage = lab.proxy()
    stage.answer_delay = 0.08
    node = lab.node()
    node.power_on()
    for moment in (0.0, 0.002, 0.005, 0.01, 0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.15,
                   1.3, 1.5, 1.7, 2.0, 2.4):
        seen = len(node.output())
        node.start()
        pid = node.daemon.pid
        check(pid is not None, 'the daemon did not start')
        time.sleep(moment)
        begun = time.monotonic()
        node.daemon.stop()
        status = node.daemon.wait(10)
        spent = time.monotonic() - begun
        said = len(node.output()) > seen
        check(status == 0 or (status == -15 and not said), f'TERM after {moment * 1000:.0f} ms: exit status {status}')
        within(spent, 3.0, f'TERM after {moment * 1000:.0f} ms: exit took {spent:.2f} s')
        truthful(lab, node)
        # The only node: a claim stays its own, as nobody else could take the role.
        equal(lab.get('/config/primary_node') in ('', 'none', node.name), True, f'TERM after {moment * 1000:.0f} ms: '
              f'the key says {lab.get("/config/primary_node")!r}')
    equal(lab.open_sessions(), set(), 'open sessions')


@scenario('issue: SIGTERM while ZooKeeper is away', limit=60)
def term_during_an_outage(lab):
    lab.zookeeper()
    stage = lab.proxy()
    for mode in ('refuse', 'swallow'):
        node = lab.nodes.get('pvchv1') or lab.node()
        stage.set('pass')
        node.up()
        lab.await_state(node, 'run', 20)
        stage.set(mode)
        time.sleep(2.5)
        begun = time.monotonic()
        node.daemon.stop()
        lab.expect_end(node, 0, 30)
        spent = time.monotonic() - begun
        within(spent, 12, f'{mode}: SIGTERM to exit took {spent:.1f} s')


@scenario('issue: SIGTERM during a hot update', limit=60)
def term_during_a_hot_update(lab):
    lab.zookeeper()
    node = lab.running_node()
    lab.await_beats(node, 2)
    peer = lab.client.Lock('/schema/version')
    check(peer.acquire(timeout=2), 'the peer got no lock')
    lab.set('/schema/version', '11')
    time.sleep(1.2)
    end_now(lab, node)
    truthful(lab, node, registered=True)
    left = [name for name in lab.client.get_children('/schema/version') if '__lock__' in name]
    equal(len(left), 1, 'children of /schema/version, the peer\'s own among them')


@scenario('issue: a stop beside a server that has just fallen silent, or is slow', limit=60)
def term_beside_a_silent_server(lab):
    lab.zookeeper()
    stage = lab.proxy()
    node = lab.running_node()
    lab.await_beats(node, 2)
    # Slow: not left without a good-bye.
    stage.answer_delay = 0.7
    node.daemon.stop()
    lab.expect_end(node, 0, 15)
    stage.answer_delay = 0.0
    equal(lab.key(node, 'daemonstate'), 'stop', 'what a slow server was told')
    node.start()
    lab.await_state(node, 'run', 10)
    lab.await_beats(node, 2)
    stage.set('swallow')
    time.sleep(0.5)
    end_now(lab, node, 5.6)
    check(any('[stop-without-zookeeper]' in line for line in node.log().splitlines()), 'the log does not say why')
