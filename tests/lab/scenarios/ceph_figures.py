"""What the primary publishes of a real Ceph, and what it does while Ceph is silent."""
import json
import shutil
import threading
import time

from .. import guests
from ..herd import Herd
from ..lab import between, check, equal, scenario, within
from ..node import read_file
from .control import ask

HELPER = 'pvcnoded-ceph'
PLACEHOLDER = ('{"uuid": "|", "up": 0, "in": 0, "primary_affinity": "|", "utilization": "|", "var": "|", "pgs": "|", "kb": "|", '
               '"weight": "|", "reweight": "|", "node": "|", "used": "|", "avail": "|", "wr_ops": "|", "wr_data": "|", '
               '"rd_ops": "|", "rd_data": "|", "state": "|"}')
NUMBERS = ('primary_affinity', 'utilization', 'var', 'pgs', 'weight', 'reweight')
INTEGERS = ('up', 'in', 'kb', 'kb_used', 'kb_used_data', 'kb_used_omap', 'kb_used_meta', 'kb_avail')
TEXTS = ('uuid', 'class', 'node', 'used', 'avail', 'wr_ops', 'wr_data', 'rd_ops', 'rd_data', 'state')
OF_POOL = ('id', 'stored_bytes', 'free_bytes', 'used_bytes', 'used_percent', 'num_objects', 'num_object_clones',
           'num_object_copies', 'num_objects_missing_on_primary', 'num_objects_unfound', 'num_objects_degraded', 'read_ops',
           'read_bytes', 'write_ops', 'write_bytes')


def register(lab, osds=0):
    """What clients keep of a pool and of OSDs."""
    pairs = [('/ceph/pools/vms', ''), ('/ceph/pools/vms/pgs', '8'), ('/ceph/pools/vms/tier', 'default'),
             ('/ceph/pools/vms/stats', '{}'), ('/ceph/volumes/vms', ''), ('/ceph/snapshots/vms', '')]
    for number in range(osds):
        pairs += [(f'/ceph/osds/{number}', ''), (f'/ceph/osds/{number}/node', 'pvchv1'), (f'/ceph/osds/{number}/device', ''),
                  (f'/ceph/osds/{number}/stats', PLACEHOLDER)]
    lab.put(pairs)


def document(lab, path):
    """A value that is JSON; {} before it is."""
    try:
        return json.loads(lab.get(path) or '{}')
    except ValueError:
        return {}


def health(lab):
    return document(lab, '/ceph/health')


def await_health(lab, timeout=20):
    lab.wait(lambda: health(lab).get('status') in ('HEALTH_OK', 'HEALTH_WARN'), timeout,
             lambda: f'health of Ceph, it is {lab.get("/ceph/health")!r}')


def judge_osd(stats, what):
    equal(sorted(stats), sorted(NUMBERS + INTEGERS + TEXTS), f'keys of {what}')
    for key in NUMBERS:
        check(isinstance(stats[key], (int, float)), f'{what}: {key} is {stats[key]!r}')
    for key in INTEGERS:
        check(isinstance(stats[key], int), f'{what}: {key} is {stats[key]!r}')
    for key in TEXTS:
        check(isinstance(stats[key], str), f'{what}: {key} is {stats[key]!r}')
    equal((stats['up'], stats['in'], stats['state']), (1, 1, 'exists,up'), f'up, in and state of {what}')


class Watched:
    """The helpers of a node, looked at five times a second."""

    def __init__(self, node):
        self.node = node
        self.counts = set()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        while not self._stop.wait(0.2):
            self.counts.add(len(self.node.processes(HELPER)))

    def end(self):
        self._stop.set()
        self._thread.join(5)
        return self.counts


def threads_of(pid):
    return int(read_file(f'/proc/{pid}/status').split('Threads:')[1].split()[0])


def private_memory(pid):
    return int(read_file(f'/proc/{pid}/smaps_rollup').split('Private_Dirty:')[1].split()[0])


@scenario('storage.md cases 1 2 5 11', limit=120)
def ceph_is_published(lab):
    interval = 5
    cluster = lab.ceph(osds=3)
    lab.zookeeper()
    register(lab, 3)
    both = [lab.node(name, coordinators=lab.names(2), interval=interval) for name in lab.names(2)]
    for node in both:
        node.up()
    for node in both:
        lab.await_state(node, 'run')
    lab.wait(lambda: 'primary' in [lab.key(node, 'routerstate') for node in both], 20, 'one is primary')
    primary = next(node for node in both if lab.key(node, 'routerstate') == 'primary')
    other = next(node for node in both if node is not primary)

    # Cases 1 and 5.
    begun = time.monotonic()
    lab.wait(lambda: document(lab, '/ceph/osds/2/stats').get('weight') not in (None, '|'), 3 * interval, 'figures of OSDs')
    within(time.monotonic() - begun, interval + 3, 'one tick')
    check('status' in health(lab) and 'checks' in health(lab), f'health: {lab.get("/ceph/health")}')
    check('cluster:' in lab.get('/ceph'), f'/ceph: {lab.get("/ceph")}')
    check('--- POOLS ---' in lab.get('/ceph/util'), f'/ceph/util: {lab.get("/ceph/util")}')
    for number in range(3):
        judge_osd(document(lab, f'/ceph/osds/{number}/stats'), f'OSD {number}')
    pool = document(lab, '/ceph/pools/vms/stats')
    equal(tuple(pool), OF_POOL, 'keys of the pool, in order')
    check(all(isinstance(value, (int, float)) for value in pool.values()), f'pool: {pool}')
    check(pool['free_bytes'] > 0, f'pool: {pool}')

    # Case 2.
    mark = lab.client.last_zxid
    cluster.ceph('osd', 'set', 'noout')
    lab.wait(lambda: 'OSDMAP_FLAGS' in health(lab).get('checks', {}), 3 * interval, 'another health is published')
    writers = {change.session for change in lab.history() if change.path.startswith('/ceph') and change.zxid > mark}
    equal(writers, {lab.session_of(primary)}, 'sessions that wrote below /ceph')
    equal((len(primary.processes(HELPER)), other.processes(HELPER)), (1, []), 'helpers of the primary, and of the other')
    for name in ('librados', 'librbd'):
        equal([name in read_file(f'/proc/{node.daemon.pid}/maps') for node in both], [False, False], f'maps {name}')
        check(name in read_file(f'/proc/{primary.processes(HELPER)[0]}/maps'), f'the helper maps {name}')

    # Case 11.
    cluster.end_daemon('mgr')
    lab.await_log(primary, "Ceph's manager does not answer", 60)
    lab.await_beats(primary, 1, 2 * interval)
    helper, begun = primary.processes(HELPER), time.time()
    before = (primary.daemon.threads(), threads_of(helper[0]))
    lab.await_beats(primary, 5, 6 * interval)
    times = [at for at in lab.beats(primary) if at >= begun - interval]
    for first, second in zip(times, times[1:]):
        # The one that follows a late one comes early.
        within(abs(second - first - interval), 0.5, f'{second - first:.2f} s between two heartbeats')
    equal(primary.processes(HELPER), helper, 'the helper')
    after = (primary.daemon.threads(), threads_of(helper[0]))
    # Of the daemon's pool those that are idle may have ended meanwhile.
    check(after[0] <= before[0] and after[1] == before[1], f'threads of the daemon and of the helper: {before}, then {after}')
    judge_osd(document(lab, '/ceph/osds/0/stats'), 'OSD 0 without a manager')


@scenario('issue: objects that lack a copy are counted as `rados df` counts them, without those that only lie elsewhere', limit=120)
def ceph_pool_is_not_whole(lab):
    cluster = lab.ceph(osds=3)
    lab.zookeeper()
    register(lab, 3)
    node = lab.running_node(interval=2)
    cluster.ceph('osd', 'pool', 'set', 'vms', 'size', '2')
    for number in range(12):
        cluster.make_image(f'i{number}')
    lab.wait(lambda: '8 active+clean' in cluster.ceph('pg', 'stat'), 60, 'the pool has two copies of all')
    for flag in ('norebalance', 'nobackfill', 'norecover'):
        cluster.ceph('osd', 'set', flag)
    cluster.ceph('osd', 'out', '2')

    def recovery():
        return next(one['recovery'] for one in cluster.ask('osd pool stats') if one['pool_name'] == 'vms')
    lab.wait(lambda: recovery().get('misplaced_objects', 0) > 0, 30, 'objects that lie elsewhere')
    cluster.end_daemon('osd.1')
    cluster.ceph('osd', 'down', '1')

    def counted():
        """By `rados df`, and as it is published."""
        pools = json.loads(cluster.rados('df', '--format', 'json'))['pools']
        return next(one['num_objects_degraded'] for one in pools if one['name'] == 'vms'), document(lab, '/ceph/pools/vms/stats').get('num_objects_degraded')

    def agree():
        theirs, ours = counted()
        return theirs > 0 and theirs == ours and recovery().get('misplaced_objects', 0) > 0
    lab.wait(agree, 40, lambda: f'what `rados df` counts is published: {counted()}, {recovery()}')
    print(counted(), recovery())
    lab.expect_alive(node)


def monitor_is_silent(lab, seconds):
    interval = 2
    cluster = lab.ceph(manager=False)
    lab.zookeeper()
    register(lab)
    node = lab.running_node(interval=interval)
    await_health(lab)
    lab.await_beats(node, 2)
    helpers, begun, stopped = Watched(node), time.time(), time.monotonic()
    memory = (node.daemon.memory()['Private_Dirty'], private_memory(node.processes(HELPER)[0]))
    cluster.pause('mon')
    lab.await_log(node, 'Ceph does not answer', 20)
    lab.wait(lambda: 'PVC_CEPH_UNREACHABLE' in health(lab).get('checks', {}), 80, 'health says that Ceph is not reached')
    # The last answer is up to a tick old, a round that nobody answers takes up to 3 s, and then every other tick asks.
    between(59, time.monotonic() - stopped, 64 + 2 * interval, f'clients were told after {time.monotonic() - stopped:.1f} s')
    status, text = ask(node, 'status')
    check('Ceph does not answer' in text, f'pvcnodectl status ({status}): {text}')
    time.sleep(max(0.0, seconds - (time.monotonic() - stopped)))
    after = (node.daemon.memory()['Private_Dirty'], private_memory(node.processes(HELPER)[0]))
    cluster.resume('mon')
    resumed = time.monotonic()
    await_health(lab, 30)
    spent = time.monotonic() - resumed
    print(f'real health {spent:.1f} s after the monitor went on; KiB of daemon and helper {memory} -> {after}')
    within(spent, 2 * interval + 0.5, f'real health came {spent:.1f} s after the monitor went on')
    gap = lab.longest_gap(node, since=begun)
    within(gap, interval + 0.1, f'{gap:.2f} s between two heartbeats')
    check(helpers.end() <= {0, 1}, f'helpers at a time: {helpers.counts}')
    lab.await_log(node, 'Ceph answers again')
    check(after[0] - memory[0] < 512, f'KiB of the daemon: {memory[0]}, then {after[0]}')
    check(after[1] - memory[1] < 2048, f'KiB of the helper: {memory[1]}, then {after[1]}')
    shown = ask(node, 'status')[1]
    check('Ceph does not answer' not in shown, f'pvcnodectl status: {shown}')


@scenario('storage.md case 12, the monitor silent for 75 s', limit=150)
def ceph_monitor_is_silent(lab):
    monitor_is_silent(lab, 75)


@scenario('storage.md case 12, the monitor silent for ten minutes', limit=700, long=True)
def ceph_monitor_is_silent_for_long(lab):
    monitor_is_silent(lab, 600)


@scenario('storage.md case 13', limit=90)
def ceph_keyring_is_wrong(lab):
    cluster = lab.ceph(auth=True, manager=False)
    keyring = f'{lab.folder}/node.keyring'
    shutil.copy(cluster.wrong_keyring, keyring)
    herd = Herd(lab, settings={'system.configuration.storage.ceph_admin_keyring': keyring})
    register(lab)
    node = herd.nodes[0]
    herd.start()
    lab.await_log(node, 'Ceph does not answer', 20)
    web = herd.define(1, 'web', 'writes', volumes=[cluster.make_image('web')])
    guests.Client(lab.client).start(web)
    reason = lab.wait(lambda: herd.key(web, 'failedreason'), 30, 'the reason why it is not started')
    check('ermission denied' in reason, reason)
    equal(herd.key(web, 'state'), 'start', 'its state: it waits for Ceph')
    lab.await_beats(node, 6)
    lines = [line for line in node.log().splitlines() if 'Ceph does not answer' in line]
    check(len(lines) == 1 and 'ermission denied' in lines[0], f'lines: {lines}')
    equal(health(lab), {}, 'health')
    shutil.copy(cluster.keyring, keyring)
    await_health(lab, 40)
    herd.await_class(node, web, 'A', 75)  # by itself
    lab.wait(lambda: cluster.holders(f'vms/web') == [node.address], 10, 'the guest has the lock of its disk')
    lab.expect_alive(node)
