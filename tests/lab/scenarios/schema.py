"""Schema versions: negotiation, apply, hot update."""
import re
import time

from ..lab import check, equal, scenario, within
from ..zookeeper import base_tree

STRAY = ('/sriov', '/pvcversion', '/tags', '/db_device', '/mtu', '/tier', '/fsid', '/lvm', '/monitoring_plugins',
         '/monitoring_data', '/monitoring_health', '/is_split', '/network_stats', '/migration_max_downtime', '/snapshots')


@scenario('ZK-2', limit=60)
def version_0_is_raised_to_10(lab):
    lab.zookeeper(version=0)
    node = lab.running_node()
    lab.await_value('/schema/version', '10')
    lab.await_value('/nodes/pvchv1/activeschema', '10')
    equal(lab.key(node, 'latestschema'), '10', 'latestschema')
    lab.wait(lambda: lab.stat('/logs') and lab.stat('/ceph/health') and not lab.stat('/cmd'), 10,
             '/logs and /ceph/health, and no /cmd')
    tree = lab.tree()
    check(not set(STRAY) & set(tree), f'stray keys {sorted(set(STRAY) & set(tree))}')
    for key in ('sriov/pf', 'sriov/vf', 'pvcversion', 'monitoring_plugins', 'monitoring_data', 'monitoring_health'):
        lab.wait(lambda: lab.stat(f'/nodes/pvchv1/{key}'), 5, f'/nodes/pvchv1/{key}')
    lab.await_beats(node, 3)
    gap = lab.longest_gap(node)
    within(gap, 2.3, f'{gap:.1f} s between two heartbeats')
    # The session must not have changed for it.
    equal(len({c.session for c in lab.history('/nodes/pvchv1/keepalive')}), 1, 'sessions that sent heartbeats')


@scenario('ZK-5', limit=40)
def version_15(lab):
    lab.zookeeper(version=15)
    node = lab.running_node()
    equal(lab.key(node, 'latestschema'), '15', 'latestschema')
    equal(lab.key(node, 'activeschema'), '15', 'activeschema')
    check(lab.stat('/config/fence_lock'), '/config/fence_lock is gone')
    check(lab.key(node, 'network_stats') is not None, 'no network_stats')
    lab.await_beats(node, 2)
    equal(lab.get('/schema/version'), '15', '/schema/version')
    node.daemon.stop()
    lab.expect_end(node, 0, 4)
    equal(lab.key(node, 'network_stats'), '{}', 'network_stats after the stop')


@scenario('ZK-6, config.md 7.2', limit=40)
def version_16_ends_the_daemon(lab):
    lab.zookeeper()
    lab.set('/schema/version', '16')
    before = {path: lab.stat(path).mzxid for path in lab.tree()}
    node = lab.node()
    node.up()
    lab.expect_end(node, 1, 15)
    text = node.output() + node.log()
    check(re.search(r'\b16\b', text) and re.search(r'\b15\b', text), f'the message does not name 16 and 15: {text[-500:]!r}')
    after = {path: lab.stat(path).mzxid for path in lab.tree()}
    equal(after, before, 'modification ids of all keys')


@scenario('ZK-7', limit=60)
def unreadable_version_while_running(lab):
    lab.zookeeper()
    node = lab.running_node()
    lab.await_beats(node, 1)
    pid = node.daemon.pid
    lines = len(node.log().splitlines())
    lab.set('/schema/version', 'abc')
    lab.await_beats(node, 3)
    lab.client.delete('/schema/version')
    lab.await_beats(node, 3)
    lab.put([('/schema/version', '10')])
    lab.await_beats(node, 2)
    equal(node.daemon.pid, pid, 'process')
    lab.expect_alive(node)
    equal(lab.values('/nodes/pvchv1/activeschema'), ['10'], 'activeschema over time')
    equal(lab.get('/schema/version'), '10', '/schema/version')
    warnings = [line for line in node.log().splitlines()[lines:] if '/schema/version' in line or 'schema' in line.lower()]
    check(1 <= len(warnings) <= 4, f'{len(warnings)} lines about the schema version')


@scenario('ZK-8, AC16', limit=60)
def old_node_holds_the_version_back(lab):
    lab.zookeeper(version=9)
    lab.put_node('pvchv2', version=9, latestschema='9')
    lab.put_node('pvchv3', version=9, latestschema='')
    node = lab.running_node(coordinators=lab.names(3))
    equal(lab.key(node, 'latestschema'), '10', 'latestschema')
    lab.await_beats(node, 3)
    equal(lab.get('/schema/version'), '9', '/schema/version')
    for name in ('pvchv2', 'pvchv3'):
        lab.set(f'/nodes/{name}/latestschema', '10')
    node.daemon.stop()
    lab.expect_end(node, 0, 6)
    node.start()
    lab.await_value('/schema/version', '10', 15)
    lab.await_value('/nodes/pvchv1/activeschema', '10', 15)


@scenario('ZK-9', limit=90)
def limit_raises_to_15(lab):
    lab.zookeeper()
    lab.put_domains(3)
    nodes = lab.cluster(2)
    for node in nodes:
        lab.await_beats(node, 3)
    equal(lab.get('/schema/version'), '10', '/schema/version')
    for node in nodes:
        node.daemon.stop()
    for node in nodes:
        lab.expect_end(node, 0, 8)
        node.start(environment={'PVCD_SCHEMA_LIMIT': '15'})
    lab.await_value('/schema/version', '15', 20)
    for node in nodes:
        lab.await_value(f'/nodes/{node.short}/activeschema', '15', 20)
    lab.wait(lambda: lab.stat('/faults') and lab.stat('/config/fence_lock'), 10, '/faults and /config/fence_lock')
    for uuid in lab.client.get_children('/domains'):
        lab.await_value(f'/domains/{uuid}/migration_max_downtime', '300', 10)
        check(lab.stat(f'/domains/{uuid}/snapshots'), f'no snapshots key of {uuid}')
    for node in nodes:
        lab.await_state(node, 'run', 10)


@scenario('ZK-42', limit=60)
def hot_update_10_to_11(lab):
    lab.zookeeper()
    nodes = lab.cluster(2)
    lab.wait(lambda: lab.get('/config/primary_node') in lab.names(2), 10, 'a primary')
    for node in nodes:
        lab.await_beats(node, 2)
    pids = [node.daemon.pid for node in nodes]
    sessions = [lab.session_of(node) for node in nodes]
    for node in nodes:
        node.write_configuration('this: is [ no configuration\n')
    begun = time.time()
    lab.set('/schema/version', '11')
    for node in nodes:
        lab.await_value(f'/nodes/{node.short}/activeschema', '11', 30)
    lab.wait(lambda: lab.stat('/faults'), 10, '/faults')
    for number, node in enumerate(nodes):
        lab.await_beats(node, 3)
        equal(node.daemon.pid, pids[number], f'process of {node.short}')
        equal(lab.session_of(node), sessions[number], f'session of {node.short}')
        equal(lab.values(f'/nodes/{node.short}/daemonstate'), ['init', 'run'], f'daemonstate of {node.short}')
        gap = lab.longest_gap(node, since=begun - 3)
        within(gap, 2.3, f'{node.short}: {gap:.1f} s between two heartbeats')
        lab.expect_alive(node)
    primary = lab.get('/config/primary_node')
    lab.wait(lambda: [n.short for n in nodes if lab.key(n, 'routerstate') == 'primary'] == [primary], 15,
             'the primary after the update')
    for node in nodes:
        restarts = [words for _, words in node.systemctl_calls() if 'pvcworkerd' in words and 'restart' in words]
        check(len(restarts) <= 1, f'{node.short}: pvcworkerd restarted {len(restarts)} times')


@scenario('ZK-43', limit=150, long=True)
def hot_update_while_a_peer_holds_the_lock(lab):
    lab.zookeeper()
    lab.put_node('pvchv2', daemonstate='run')
    lab.set('/config/primary_node', 'pvchv2')
    node = lab.running_node(coordinators=lab.names(2))
    lock = lab.client.Lock('/schema/version')
    check(lock.acquire(timeout=2), 'the peer got no lock')
    begun = time.monotonic()
    lab.set('/schema/version', '11')
    lab.await_value('/nodes/pvchv1/activeschema', '11', 95)
    spent = time.monotonic() - begun
    check(spent > 55, f'activeschema after {spent:.0f} s')
    within(spent, 92, f'activeschema after {spent:.0f} s')
    within(lab.longest_gap(node), 2.3, 'a heartbeat was late')
    lock.release()
    lab.expect_alive(node)


@scenario('ZK-25 ZK-27', limit=40)
def missing_object_keys_are_created(lab):
    lab.zookeeper(version=13)
    uuid = '00000000-0000-4000-8000-00000000000a'
    lab.put([('/networks/100', 'managed'), ('/ceph/osds/0', '0'), ('/ceph/pools/vms', ''), (f'/domains/{uuid}', 'web')])
    node = lab.running_node()
    lab.await_beats(node, 1)
    equal(lab.get('/networks/100/dhcp4_reservations'), '', 'dhcp4_reservations')
    equal(lab.get('/networks/100/mtu'), '', 'mtu')
    equal(lab.get('/ceph/osds/0/is_split'), 'False', 'is_split')
    equal(lab.get('/ceph/pools/vms/tier'), 'default', 'tier')
    equal(lab.get(f'/domains/{uuid}/migration_max_downtime'), '300', 'migration_max_downtime')
    equal(lab.get(f'/domains/{uuid}/node_autostart'), 'False', 'node_autostart')
    equal(lab.get(f'/domains/{uuid}/migration_method'), 'none', 'migration_method')
    equal(lab.get(f'/domains/{uuid}/node_selector'), 'none', 'node_selector')
    equal(lab.get('/networks/100'), 'managed', 'the network itself')


@scenario('ZK-26', limit=60)
def two_nodes_repair_one_tree(lab):
    lab.zookeeper()
    lab.put((f'/domains/00000000-0000-4000-8000-{number:012d}', f'vm{number}') for number in range(3))
    for path in ('/ceph/health', '/ceph/util', '/logs', '/config/upstream_ip', '/ceph/snapshots', '/ceph/volumes'):
        lab.client.delete(path)
    nodes = [lab.node(name, coordinators=lab.names(2)) for name in lab.names(2)]
    for node in nodes:
        node.power_on()
    for node in nodes:
        node.start()
    for node in nodes:
        lab.await_state(node, 'run', 20)
    creates = [c.path for c in lab.history(operations=('create',)) if c.path.startswith(('/domains/', '/ceph', '/networks'))]
    per = {path: creates.count(path) for path in creates}
    twice = {path for path, count in per.items() if count > 1} - {'/ceph/health', '/ceph/util', '/ceph/snapshots',
                                                                   '/ceph/volumes'}
    equal(twice, set(), 'keys created twice')
    for path, _ in base_tree(10):
        check(lab.stat(path), f'{path} is missing')


@scenario('ZK-47', limit=60)
def one_warning_for_each_object(lab):
    lab.zookeeper()
    lab.put_domains(300)
    transaction = lab.client.transaction()
    uuids = lab.client.get_children('/domains')
    for uuid in uuids:
        for key in ('vnc', 'tags', 'consolelog'):
            transaction.delete(f'/domains/{uuid}/{key}')
    transaction.commit()
    node = lab.running_node()
    lab.await_beats(node, 1)
    for uuid in uuids:
        lines = [line for line in node.log().splitlines() if uuid in line]
        equal(len(lines), 1, f'lines about {uuid}')
        check(re.search(r'\b3\b', lines[0]), f'the line does not name 3: {lines[0]}')
    for key in ('vnc', 'tags', 'consolelog'):
        check(lab.stat(f'/domains/{uuids[0]}/{key}'), f'{key} was not created')
