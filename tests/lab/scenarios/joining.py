"""A node joins, stays, loses its power, comes back and leaves."""
import os
import re
import signal
import time

from ..lab import check, equal, scenario, within
from ..zookeeper import node_record


@scenario('B.1 AC01 AC04 AC14 AC15, ZK-3', limit=60)
def three_nodes_run(lab):
    lab.zookeeper()
    nodes = lab.cluster(3)
    for node in nodes:
        lab.await_beats(node, 2)
        base = f'/nodes/{node.short}'
        created = [c for c in lab.history(operations=('create',)) if c.path == base or c.path.startswith(base + '/')]
        first = {c.path[len(base):]: c.value.decode() for c in created if c.zxid == created[0].zxid}
        expected = node_record(10)
        missing = sorted(set(expected) - set(first))
        check(not missing, f'{node.short}: keys not in the first transaction: {missing}')
        for key, value in (('', 'coordinator'), ('/daemonmode', 'coordinator'), ('/daemonstate', 'init'),
                           ('/routerstate', 'secondary'), ('/domainstate', 'flushed'), ('/runningdomains', ''),
                           ('/cpuload', '0.0'), ('/activeschema', '10'), ('/latestschema', '10'), ('/networkscount', '0'),
                           ('/memtotal', '0'), ('/monitoring_health', '')):
            equal(first[key], value, f'first value of {base}{key}')
        release = os.uname().release
        check(re.fullmatch(rf'\d+ {re.escape(release)} GNU/Linux \S+', first['/staticdata']),
              f'staticdata is {first["/staticdata"]!r}')
        check(re.fullmatch(r'\d+\.\d+(\.\d+)?', first['/pvcversion']), f'pvcversion is {first["/pvcversion"]!r}')
        run = [c for c in lab.history(base + '/daemonstate', ('set',)) if c.value == b'run']
        equal(len(run), 1, 'number of times `run` was written')
        check(any(c.zxid == run[0].zxid for c in lab.history(base + '/keepalive', ('set',))),
              '`run` and a heartbeat are one transaction')


@scenario('B.1 AC03 AC12, AC88', limit=40)
def hypervisor_stays_out_of_the_role(lab):
    lab.zookeeper()
    node = lab.running_node('pvchv4', coordinators=['pvchv1'])
    lab.await_beats(node, 3)
    equal(lab.get('/nodes/pvchv4'), 'hypervisor', 'mode')
    equal(lab.key(node, 'daemonmode'), 'hypervisor', 'daemonmode')
    equal(lab.key(node, 'routerstate'), 'client', 'routerstate')
    lab.set('/config/primary_node', 'none')
    lab.await_beats(node, 2)
    equal(lab.get('/config/primary_node'), 'none', 'primary_node')
    equal(lab.key(node, 'routerstate'), 'client', 'routerstate')
    equal([words for _, words in node.systemctl_calls()], [], 'service manager calls of a hypervisor without functions')


@scenario('B.1 AC02, ZK-4', limit=40)
def known_node_keeps_its_state(lab):
    lab.zookeeper()
    uuid = '11111111-2222-4333-8444-555555555555'
    lab.put_node('pvchv1', domainstate='ready', runningdomains=f'{uuid} 0', staticdata='1 2.6.32 GNU/Linux i686',
                 ipmiusername='old', memtotal='12345', keepalive='1000000000', daemonstate='fenced')
    node = lab.running_node()
    lab.await_beats(node, 2)
    equal(lab.key(node, 'domainstate'), 'ready', 'domainstate')
    check(os.uname().release in lab.key(node, 'staticdata'), 'staticdata was not renewed')
    check(lab.key(node, 'ipmiusername') != 'old', 'ipmiusername was not renewed')
    check(int(lab.key(node, 'keepalive')) >= 1000000000, 'keepalive went backwards')
    states = lab.values('/nodes/pvchv1/daemonstate')
    equal(states, ['fenced', 'init', 'run'], 'daemonstate over time')
    entry = [c for c in lab.history('/nodes/pvchv1/daemonstate') if c.value == b'init'][0]
    together = {c.path for c in lab.history() if c.zxid == entry.zxid}
    for key in ('', '/daemonmode', '/routerstate', '/staticdata', '/pvcversion', '/ipmihostname', '/ipmiusername',
                '/ipmipassword'):
        check('/nodes/pvchv1' + key in together, f'{key or "the node key"} is not in the transaction of `init`')
    for key in ('/domainstate', '/memtotal', '/keepalive'):
        check('/nodes/pvchv1' + key not in together, f'{key} is in the transaction of `init`')


@scenario('B.2 AC18 (without fences), README ruling 9', limit=60)
def power_cut_and_return(lab):
    lab.zookeeper(maxSessionTimeout=2000)
    nodes = lab.cluster(3)
    victim = nodes[2]
    lab.wait(lambda: lab.get('/config/primary_node') in lab.names(3), 10, 'a primary')
    session = lab.session_of(victim)
    created = lab.stat('/nodes/pvchv3').czxid
    victim.cut_power()
    lab.wait(lambda: session not in lab.open_sessions(), 6, 'the server ends the dead session')
    equal(lab.key(victim, 'daemonstate'), 'run', 'record of the cut node')
    for other in nodes[:2]:
        lab.await_beats(other, 2)
    victim.up()
    path = '/nodes/pvchv3/daemonstate'
    lab.wait(lambda: lab.values(path) == ['init', 'run', 'init', 'run'], 25,
             lambda: f'`init` and `run` again; daemonstate over time: {lab.values(path)}')
    lab.await_beats(victim, 3)
    equal(lab.stat('/nodes/pvchv3').czxid, created, 'the record is the same one')
    check(lab.session_of(victim) != session, 'the returned node uses a session of its own')
    for other in nodes[:2]:
        equal(lab.values(f'/nodes/{other.short}/daemonstate'), ['init', 'run'], f'daemonstate of {other.short}')


@scenario('B.2 AC18, ZK-32', limit=60)
def term_leaves_orderly(lab):
    lab.zookeeper()
    first, second = lab.cluster(2)
    lab.wait(lambda: lab.get('/config/primary_node') in lab.names(2), 10, 'a primary')
    idle = second if lab.get('/config/primary_node') == first.short else first
    lab.await_beats(idle, 2)
    session = lab.session_of(idle)
    begun = time.monotonic()
    idle.daemon.stop()
    lab.expect_end(idle, 0, 4)
    spent = time.monotonic() - begun
    within(spent, 2.0, f'SIGTERM to exit took {spent:.2f} s')
    states = lab.values(f'/nodes/{idle.short}/daemonstate')
    equal(states, ['init', 'run', 'shutdown', 'stop'], 'daemonstate over time')
    check(session not in lab.open_sessions(), 'the session is still open')
    equal(lab.key(idle, 'monitoring_health'), 'None', 'monitoring_health')
    shutdown, stop = [c.zxid for c in lab.history(f'/nodes/{idle.short}/daemonstate') if c.value in (b'shutdown', b'stop')]
    final = [c for c in lab.history(f'/nodes/{idle.short}/keepalive') if shutdown < c.zxid <= stop]
    check(final, 'no final heartbeat between shutdown and stop')
    closed = [c for c in lab.ensemble.history() if c.operation == 'close' and c.session == session]
    check(closed, 'the session was not closed by the daemon')
    within(closed[0].time - lab.history(f'/nodes/{idle.short}/daemonstate')[-1].time, 1.0, 'the session was not closed by the daemon')


@scenario('5.1: INT and QUIT as TERM, a second signal is ignored', limit=40)
def other_ending_signals(lab):
    lab.zookeeper()
    node = lab.node()
    node.power_on()
    for number in (signal.SIGINT, signal.SIGQUIT):
        node.start()
        lab.await_state(node, 'run')
        node.daemon.signal(number)
        node.daemon.signal(number)
        node.daemon.signal(signal.SIGTERM)
        lab.expect_end(node, 0, 4)
        equal(lab.key(node, 'daemonstate'), 'stop', f'daemonstate after {number.name}')


@scenario('issue: one daemon per node', limit=40)
def killed_daemon_starts_again(lab):
    lab.zookeeper()
    node = lab.running_node()
    lab.await_beats(node, 1)
    for _ in range(2):
        node.daemon.kill()
        node.daemon.wait(5)
        node.start()
        beat = lab.stat('/nodes/pvchv1/keepalive').version
        lab.wait(lambda: lab.key(node, 'daemonstate') == 'run' and lab.stat('/nodes/pvchv1/keepalive').version > beat + 1,
                 20, 'the restarted daemon runs')
        lab.expect_alive(node)


@scenario('issue: one daemon per node, exit 1 naming the pid', limit=40)
def second_daemon_is_refused(lab):
    lab.zookeeper()
    node = lab.running_node()
    pid = node.daemon.inner_pid
    begun = len(lab.history('/nodes/pvchv1/daemonstate'))
    status, text = node.execute()
    equal(status, 1, 'exit status of the second daemon')
    check(re.search(rf'\b{pid}\b', text), f'the message does not name process {pid}: {text!r}')
    lab.await_beats(node, 2)
    equal(len(lab.history('/nodes/pvchv1/daemonstate')), begun, 'writes to daemonstate')
    lab.expect_alive(node)


@scenario('issue: the same name alive on another host', limit=60)
def same_name_elsewhere_is_refused(lab):
    lab.zookeeper()
    node = lab.running_node()
    lab.await_beats(node, 2)
    session = lab.session_of(node)
    other = lab.node('pvchv1', instance='b')
    other.up()
    lab.wait(lambda: not other.daemon.alive() or 'pvchv1' in other.output() and
             time.monotonic() - other.daemon.started > 8, 15, 'the second pvchv1 refuses')
    lab.await_beats(node, 3)
    foreign = [c for c in lab.history() if c.path.startswith('/nodes/pvchv1') and c.session != session and
               c.time > lab.history('/nodes/pvchv1/daemonstate')[1].time]
    check(not foreign, f'the second host wrote {sorted({c.path for c in foreign})}')
    equal(lab.values('/nodes/pvchv1/daemonstate'), ['init', 'run'], 'daemonstate over time')
    if other.daemon.alive():
        other.daemon.stop()
        lab.expect_end(other, 0, 4)
    else:
        equal(other.daemon.wait(0), 1, 'exit status of the second host')
    lab.await_beats(node, 1)
    lab.expect_alive(node)


@scenario('5.1, issue: SIGUSR1 prints the task tree', limit=30)
def task_tree_on_request(lab):
    lab.zookeeper()
    node = lab.running_node()
    before = len(node.log().splitlines())
    node.daemon.signal(signal.SIGUSR1)
    lab.wait(lambda: [line for line in node.log().splitlines()[before:] if 'keepalive' in line or 'heartbeat' in line], 5,
             'the task tree with a keepalive task')
    lab.await_beats(node, 1)
    lab.expect_alive(node)
