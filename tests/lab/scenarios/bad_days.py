"""ZooKeeper and the network on their bad days. No exit, no busy loop, no heartbeat lost beyond the outage."""
import random
import time

from ..lab import check, equal, scenario, within


def quiet(lab, node, seconds, share=0.15):
    """The daemon uses little of a processor meanwhile."""
    lab.expect_alive(node)
    before, begun = node.daemon.cpu_seconds(), time.monotonic()
    time.sleep(seconds)
    lab.expect_alive(node)
    used = (node.daemon.cpu_seconds() - before) / (time.monotonic() - begun)
    check(used < share, f'the daemon used {used:.0%} of a processor while it had nothing to do')


@scenario('B.1 AC07 AC08, README ruling 10', limit=90)
def server_down_at_start(lab):
    lab.zookeeper(start=False)
    node = lab.node()
    node.up()
    quiet(lab, node, 20)
    text = node.output() + node.log()
    check(str(lab.ensemble.one.port) in text, 'no message names the server')
    lab.ensemble.start()
    lab.initialise(10)
    lab.await_state(node, 'run', 30)
    lab.await_beats(node, 2)
    lab.expect_alive(node)


@scenario('B.1 AC07 with an even number of refusing servers', limit=60)
def two_servers_refuse(lab):
    lab.zookeeper()
    stage = lab.proxy()
    stage.set('refuse')
    node = lab.node(coordinators=['pvchv1', 'pvchv2'])
    node.up()
    quiet(lab, node, 6)
    stage.set('pass')
    lab.await_state(node, 'run', 25)


@scenario('README ruling 10 with an even number of servers, one of them gone for good', limit=90)
def one_of_two_servers_refuses(lab):
    lab.zookeeper()
    names = lab.names(3)
    nodes = [lab.node(name, coordinators=names) for name in names]
    for node in nodes:
        node.write_hosts(dict(lab.hosts) | {names[1]: '10.255.0.250'})
        node.up()
    for node in nodes:
        lab.await_state(node, 'run', 40)
    for _ in range(2):
        lab.ensemble.one.kill()
        time.sleep(13)  # every session is lost
        lab.ensemble.start()
        for node in nodes:
            lab.await_beats(node, 1, 20)


@scenario('issue: a server that accepts and never answers', limit=90)
def server_swallows(lab):
    lab.zookeeper(maxSessionTimeout=4000)
    stage = lab.proxy()
    stage.set('swallow')
    node = lab.node()
    node.up()
    quiet(lab, node, 8)
    stage.set('pass')
    lab.await_state(node, 'run', 30)
    lab.await_beats(node, 2)
    stage.set('swallow')
    quiet(lab, node, 10)
    stage.set('pass')
    stage.drop()
    lab.await_beats(node, 3, 20)


@scenario('ZK-1', limit=40)
def tree_not_initialised(lab):
    lab.zookeeper(version=None)
    node = lab.node()
    node.up()
    lab.await_log(node, 'initiali', 10)
    quiet(lab, node, 3)
    equal(lab.tree(), [], 'keys created in an empty tree')
    lab.initialise(10)
    lab.await_state(node, 'run', 10)


@scenario('B.2 AC24', limit=60)
def server_restarts(lab):
    lab.zookeeper()
    node = lab.running_node()
    lab.await_beats(node, 2)
    pid = node.daemon.pid
    lab.ensemble.stop()
    time.sleep(2)
    lab.ensemble.start()
    lab.await_beats(node, 3, 15)
    equal(node.daemon.pid, pid, 'process')
    lab.expect_alive(node)
    equal(lab.values('/nodes/pvchv1/daemonstate'), ['init', 'run'], 'daemonstate over time')
    gap = lab.longest_gap(node)
    within(gap, 12, f'{gap:.1f} s without a heartbeat around an outage of about 3 s')


@scenario('B.2 AC25', limit=90)
def server_frozen_twenty_seconds(lab):
    lab.zookeeper()
    node = lab.running_node()
    lab.await_beats(node, 2)
    lab.ensemble.freeze()
    quiet(lab, node, 20)
    thawed = time.time()
    lab.ensemble.thaw()
    lab.await_beats(node, 3, 20)
    lab.await_value('/nodes/pvchv1/daemonstate', 'run', 10)
    first = min(beat for beat in lab.beats(node) if beat > thawed)
    within(first - thawed, 8, f'the first heartbeat came {first - thawed:.1f} s after the server went on')
    lab.expect_alive(node)


@scenario('3.1 rule 7', limit=90)
def daemon_frozen(lab):
    lab.zookeeper(maxSessionTimeout=4000)
    first, second = lab.cluster(2)
    lab.await_beats(first, 2)
    session = lab.session_of(first)
    first.daemon.freeze()
    lab.wait(lambda: session not in lab.open_sessions(), 12, 'the server ends the session')
    time.sleep(3)
    thawed = time.time()
    first.daemon.thaw()
    lab.await_beats(first, 2, 15)
    again = min(beat for beat in lab.beats(first) if beat > thawed)
    within(again - thawed, 5, f'the first heartbeat came {again - thawed:.1f} s after the daemon went on')
    check(lab.session_of(first) != session, 'the heartbeat came over the dead session')
    lab.expect_alive(first)
    lab.await_value('/nodes/pvchv1/daemonstate', 'run')


@scenario('issue: ZooKeeper flapping every second', limit=90)
def server_flaps(lab):
    lab.zookeeper()
    stage = lab.proxy()
    node = lab.running_node()
    before, begun = node.daemon.cpu_seconds(), time.monotonic()
    for _ in range(8):
        stage.set('refuse')
        time.sleep(1)
        stage.set('pass')
        time.sleep(1)
    used = (node.daemon.cpu_seconds() - before) / (time.monotonic() - begun)
    check(used < 0.2, f'the daemon used {used:.0%} of a processor')
    lab.await_beats(node, 3, 15)
    lab.expect_alive(node)
    gap = lab.longest_gap(node)
    within(gap, 15, f'{gap:.1f} s without a heartbeat')


@scenario('B.2 AC25, ZK-16', limit=80)
def session_ended_by_force(lab):
    lab.zookeeper()
    stage = lab.proxy()
    node = lab.running_node()
    for _ in range(3):
        lab.await_beats(node, 2)
        session = lab.session_of(node)
        ended = time.time()
        lab.expire_session(session)
        # A server that expires a session closes its connection; one whose session was taken over and closed may stay.
        stage.drop()
        lab.wait(lambda: lab.session_of(node) != session, 8, 'a heartbeat over a new session')
        first = min(beat for beat in lab.beats(node) if beat > ended)
        # A server that has given the session to somebody else may leave our connection open without a word: then two
        # thirds of the session time-out pass before the client asks again.
        within(first - ended, 10 * 2 / 3 + 2, f'the first heartbeat came {first - ended:.1f} s after the session ended')
    lab.expect_alive(node)
    # The cut may have struck a handshake: that session is nobody's, and ends with its time-out.
    lab.wait(lambda: len(lab.open_sessions()) <= 2, 20, 'at most two open sessions')
    # The watches are back: a change of the role is noticed.
    lab.await_value('/nodes/pvchv1/routerstate', 'primary', 15)
    lab.set('/nodes/pvchv1/daemonstate', 'dead')
    lab.await_value('/nodes/pvchv1/daemonstate', 'run', 3)


@scenario('B.2 AC117, issue: the own record deleted by hand', limit=60)
def own_record_deleted(lab):
    lab.zookeeper()
    node = lab.running_node()
    lab.await_beats(node, 2)
    lines = len(node.log().splitlines())
    # At once, since keys that are deleted one by one are restored meanwhile.
    transaction = lab.client.transaction()
    for path in sorted(lab.tree('/nodes/pvchv1'), reverse=True) + ['/nodes/pvchv1']:
        transaction.delete(path)
    check(not [r for r in transaction.commit() if isinstance(r, Exception)], 'the record cannot be deleted')
    quiet(lab, node, 6)
    later = node.log().splitlines()[lines:]
    complaints = [line for line in later if '/nodes/pvchv1' in line or 'record' in line or 'entry' in line]
    check(len(complaints) >= 3, f'{len(complaints)} lines in six ticks tell of the missing record')
    node.daemon.stop()
    lab.expect_end(node, 0, 8)
    node.start()
    lab.await_state(node, 'run')


@scenario('issue: random bytes in any own key', limit=90)
def random_bytes_in_own_keys(lab):
    lab.zookeeper()
    lab.put_node('pvchv2', memfree='abc', monitoring_health='None', latestschema='', keepalive='\u00ff\u00ff')
    node = lab.running_node()
    lab.await_beats(node, 2)
    chance = random.Random(20240607)
    keys = [path for path in lab.tree('/nodes/pvchv1')]
    for path in keys:
        lab.set(path, chance.randbytes(chance.choice((1, 7, 40, 3000))))
        lab.expect_alive(node)
    for path in ('/config/primary_node', '/config/maintenance', '/config/upstream_ip', '/config/migration_target_selector',
                 '/nodes/pvchv2/daemonstate', '/nodes/pvchv2/routerstate', '/nodes/pvchv2/keepalive', '/nodes/pvchv2'):
        lab.set(path, chance.randbytes(33))
    lab.await_value('/nodes/pvchv1/daemonstate', 'run', 5)
    lab.await_beats(node, 4)
    for key in ('memtotal', 'memused', 'memfree', 'memalloc', 'memprov', 'vcpualloc', 'domainscount'):
        lab.wait(lambda: (lab.key(node, key) or 'x').isdigit(), 8, lambda: f'{key} healed, it is {lab.key(node, key)!r}')
    for key, test in (('cpuload', lambda v: float(v) >= 0), ('staticdata', lambda v: len(v.split()) == 4),
                      ('daemonmode', lambda v: v == 'coordinator'), ('pvcversion', lambda v: '.' in v)):
        def healed():
            try:
                return test(lab.key(node, key))
            except ValueError:
                return False
        lab.wait(healed, 8, lambda: f'{key} healed, it is {lab.key(node, key)!r}')
    lab.wait(lambda: lab.get('/nodes/pvchv1') == 'coordinator', 8, 'the node key healed')
    lab.expect_alive(node)
    node.daemon.stop()
    lab.expect_end(node, 0, 5)


@scenario('ZK-44', limit=60)
def own_keys_heal(lab):
    lab.zookeeper()
    node = lab.running_node(interval=2)
    lab.await_beats(node, 2)
    total = lab.key(node, 'memtotal')
    version = lab.key(node, 'pvcversion')
    lab.set('/nodes/pvchv1/memtotal', '7')
    lab.client.delete('/nodes/pvchv1/pvcversion')
    hurt = lab.client.last_zxid
    lab.wait(lambda: lab.key(node, 'memtotal') == total and lab.key(node, 'pvcversion') == version, 12, 'both restored')
    whole = max(lab.stat(f'/nodes/pvchv1/{key}').mzxid for key in ('memtotal', 'pvcversion'))
    beats = len([change for change in lab.history('/nodes/pvchv1/keepalive') if hurt < change.zxid <= whole])
    check(beats <= 3, f'restored after {beats} heartbeats, expected at the next tick but one')
    text = node.log()
    for key in ('memtotal', 'pvcversion'):
        lines = [line for line in text.splitlines() if f'/nodes/pvchv1/{key}' in line or f'{key}' in line]
        check(lines, f'no warning names {key}')
        check(len(lines) <= 2, f'{len(lines)} lines about {key}')
    gap = lab.longest_gap(node)
    within(gap, 3.0, f'a heartbeat was {gap:.1f} s late')


@scenario('B.2 AC138, shortened', limit=90)
def slow_answers(lab):
    lab.zookeeper()
    stage = lab.proxy()
    node = lab.running_node(interval=5, settings={'system.intervals.fence_intervals': 6})
    lab.await_value('/nodes/pvchv1/routerstate', 'primary', 15)
    session = lab.session_of(node)
    stage.answer_delay = 3.0
    begun = time.time()
    time.sleep(32)
    stage.answer_delay = 0.0
    lab.expect_alive(node)
    equal(lab.values('/nodes/pvchv1/routerstate'), ['secondary', 'primary'], 'routerstate over time')
    equal(lab.session_of(node), session, 'session')
    beats = [beat for beat in lab.beats(node) if beat > begun]
    check(len(beats) >= 5, f'{len(beats)} heartbeats in 32 s at 5 s each')


@scenario('4: partition', limit=90)
def cut_off_and_back(lab):
    lab.zookeeper(maxSessionTimeout=3000)
    first, second = lab.cluster(2)
    lab.wait(lambda: lab.get('/config/primary_node') in lab.names(2), 10, 'a primary')
    session = lab.session_of(second)
    second.unlink()
    lab.wait(lambda: session not in lab.open_sessions(), 10, 'the server ends the session')
    quiet(lab, second, 4)
    lab.await_beats(first, 1)
    second.relink()
    beat = lab.stat('/nodes/pvchv2/keepalive').version
    lab.wait(lambda: lab.stat('/nodes/pvchv2/keepalive').version > beat + 1, 20, 'heartbeats of the returned node')
    lab.expect_alive(second)
    lab.await_value('/nodes/pvchv2/daemonstate', 'run')


@scenario('issue: a coordinator whose address changes', limit=60)
def server_moves(lab):
    lab.zookeeper()
    node = lab.running_node()
    lab.await_beats(node, 2)
    server = lab.ensemble.one
    lab.drop_client()
    server.stop()
    port = server.port
    server.move()
    equal(server.port, port, 'port of the moved server')
    server.configure(lab.ensemble.servers)
    lab.ensemble.start()
    lab.hosts['pvchv1'] = server.address
    node.write_hosts(lab.hosts)
    lab.await_beats(node, 3, 30)
    lab.expect_alive(node)


@scenario('2: three servers, one killed after the other', limit=90)
def leader_dies(lab):
    lab.zookeeper(3)
    nodes = lab.cluster(2, coordinators=lab.names(3))
    for node in nodes:
        lab.await_beats(node, 2)
    leader = next(s for s in lab.ensemble.servers if 'Mode: leader' in s.command('srvr'))
    leader.kill()
    for node in nodes:
        lab.await_beats(node, 3, 25)
        lab.expect_alive(node)
        equal(lab.values(f'/nodes/{node.short}/daemonstate'), ['init', 'run'], f'daemonstate of {node.short}')


@scenario('issue: heartbeats and 10,000 children under /domains', limit=240, long=True)
def ten_thousand_domains(lab):
    lab.zookeeper()
    lab.put_domains(10000)
    node = lab.node()
    begun = time.monotonic()
    node.up()
    lab.await_state(node, 'run', 60)
    within(time.monotonic() - begun, 15, f'`run` after {time.monotonic() - begun:.1f} s')
    lab.await_beats(node, 5)
    within(lab.longest_gap(node), 2.5, 'a heartbeat was late')


@scenario('issue: 1,000 domains at start; requests and bytes a tick', limit=90)
def thousand_domains(lab):
    lab.zookeeper()
    lab.put_domains(1000)
    stage = lab.proxy()
    node = lab.node(settings={'system.configuration.logging.zookeeper_logging': False})
    begun = time.monotonic()
    node.up()
    lab.await_state(node, 'run', 20)
    spent = time.monotonic() - begun
    within(spent, 5, f'`run` after {spent:.1f} s')
    lab.await_value('/nodes/pvchv1/routerstate', 'primary', 10)
    lab.await_beats(node, 2)
    since, beat = time.monotonic(), lab.stat('/nodes/pvchv1/keepalive').version
    lab.await_beats(node, 5)
    ticks = lab.stat('/nodes/pvchv1/keepalive').version - beat
    requests = sum(stage.count(since).values())
    check(requests <= 10 * ticks, f'{requests} requests in {ticks} ticks: {dict(stage.count(since))}')
    check(stage.bytes(since) <= 2048 * ticks, f'{stage.bytes(since)} bytes of requests in {ticks} ticks')
