"""The heartbeat and its figures."""
import re
import threading
import time

from ..lab import check, equal, scenario, within


class MemorySamples:
    """What the kernel says of its memory, again and again: others work on this machine, and take gigabytes in a second."""

    def __init__(self):
        self.total, self.used, self.free = 0, [], []
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.go_on)
        self.thread.start()

    def go_on(self):
        while True:
            with open('/proc/meminfo') as file:
                now = {line.split(':')[0]: int(line.split()[1]) // 1024 for line in file}
            self.total = now['MemTotal']
            self.used.append(now['MemTotal'] - now['MemFree'] - now['Buffers'] - now['Cached'] - now['SReclaimable'])
            self.free.append(now['MemFree'])
            if self.is_over.wait(0.05):
                return

    def end(self):
        self.is_over.set()
        self.thread.join()


@scenario('B.3 AC30 AC31 (as seen), 6.2', limit=40)
def figures(lab):
    lab.zookeeper()
    node = lab.running_node()
    samples = MemorySamples()
    try:
        lab.await_beats(node, 3)
        used, free = int(lab.key(node, 'memused')), int(lab.key(node, 'memfree'))
    finally:
        samples.end()
    equal(lab.key(node, 'memtotal'), str(samples.total), 'memtotal')
    slack = 100  # between two samples
    check(min(samples.used) - slack < used < max(samples.used) + slack,
          f'memused is {used}, the kernel said {min(samples.used)} to {max(samples.used)}')
    check(min(samples.free) - slack < free < max(samples.free) + slack,
          f'memfree is {free}, the kernel said {min(samples.free)} to {max(samples.free)}')
    check(re.fullmatch(r'\d+\.\d{1,2}', lab.key(node, 'cpuload')), f'cpuload is {lab.key(node, "cpuload")!r}')
    for key in ('memalloc', 'memprov', 'vcpualloc', 'domainscount'):
        equal(lab.key(node, key), '0', key)
    equal(lab.key(node, 'runningdomains'), '', 'runningdomains')
    equal(lab.key(node, 'selfreset'), 'off', 'selfreset')
    beat = lab.history(f'/nodes/{node.short}/keepalive', ('set',))[-1]
    within(abs(int(beat.value) - beat.time), 3, 'keepalive is not the time')


@scenario('B.3: cadence', limit=40)
def cadence(lab):
    lab.zookeeper()
    node = lab.running_node()
    lab.await_beats(node, 10, 15)
    beats = lab.beats(node)[-10:]
    gaps = [b - a for a, b in zip(beats, beats[1:])]
    shown = f'gaps between heartbeats at 1 s: {[round(gap, 2) for gap in gaps]}'
    within(max(gaps), 1.3, shown)
    # How late the first of them was is missing from the sum.
    within(abs(sum(gaps) - len(gaps)), 0.03 * len(gaps), shown)


@scenario('B.3 AC35 AC36', limit=40)
def marked_dead_runs_again(lab):
    lab.zookeeper()
    node = lab.running_node(interval=5, settings={'system.intervals.fence_intervals': 6})
    lab.await_beats(node, 1)
    begun = time.monotonic()
    lab.set('/nodes/pvchv1/daemonstate', 'dead')
    lab.await_value('/nodes/pvchv1/daemonstate', 'run', 3)
    within(time.monotonic() - begun, 1.2, f'`run` {time.monotonic() - begun:.1f} s after `dead`')
    run = [c for c in lab.history('/nodes/pvchv1/daemonstate') if c.value == b'run'][-1]
    check(any(c.zxid == run.zxid for c in lab.history('/nodes/pvchv1/keepalive')), '`run` came without a heartbeat')
    lab.expect_alive(node)


@scenario('B.3 AC38: a secondary leaves the cluster keys alone', limit=40)
def secondary_writes_nothing_else(lab):
    lab.zookeeper()
    nodes = lab.cluster(2)
    lab.wait(lambda: lab.get('/config/primary_node') in lab.names(2), 10, 'a primary')
    second = next(node for node in nodes if node.short != lab.get('/config/primary_node'))
    lab.await_beats(second, 3)
    session = lab.session_of(second)
    written = {c.path for c in lab.history() if c.session == session and not c.path.startswith('/nodes/' + second.short)}
    written = {path for path in written if not path.startswith(('/schema/version/', '/logs', '/config/fence_lock'))}
    equal(written, set(), 'what a secondary wrote outside its record')


@scenario('B.3 AC42', limit=40)
def tick_lines_can_be_off(lab):
    lab.zookeeper()
    details = 'system.configuration.logging.log_keepalive_cluster_details'
    quiet = lab.running_node(settings={'system.configuration.logging.log_keepalives': False, details: True})
    lab.await_beats(quiet, 3)
    lines = len(quiet.log().splitlines())
    lab.await_beats(quiet, 3)
    equal(quiet.log().splitlines()[lines:], [], 'lines of three ticks')
    quiet.daemon.stop()
    lab.expect_end(quiet, 0, 4)
    quiet.configure(system__configuration__logging__log_keepalives=True)
    quiet.start()
    lab.await_state(quiet, 'run')
    lab.await_beats(quiet, 2)
    lines = len(quiet.log().splitlines())
    lab.await_beats(quiet, 3)
    later = quiet.log().splitlines()[lines:]
    check(len(later) >= 3, f'{len(later)} lines in three ticks')
    check(any('pvchv1' in line for line in later), 'no tick line names the node')


@scenario('config.md case 45', limit=60)
def peer_with_another_interval(lab):
    lab.zookeeper()
    first = lab.running_node(coordinators=lab.names(2))
    second = lab.node('pvchv2', interval=3)
    second.up()
    lab.await_state(second, 'run')
    lab.wait(lambda: [line for line in first.log().splitlines() if 'pvchv2' in line and 'keepalive_interval' in line], 45,
             'a warning that names pvchv2 and keepalive_interval')
    lab.await_beats(second, 1)
    lines = [line for line in first.log().splitlines() if 'pvchv2' in line and 'keepalive_interval' in line]
    equal(len(lines), 1, 'warnings about the interval')


@scenario('stays for a while: nothing grows', limit=240, long=True)
def nothing_grows(lab):
    lab.zookeeper()
    node = lab.running_node()
    lab.await_beats(node, 20, 40)
    memory, descriptors, threads = node.daemon.memory()['Private_Dirty'], node.daemon.descriptors(), node.daemon.threads()
    for _ in range(10):
        lab.await_beats(node, 8, 30)
        lab.expire_session(lab.session_of(node))
    lab.await_beats(node, 20, 60)
    check(node.daemon.memory()['Private_Dirty'] - memory < 400, 'private memory grew by '
          f'{node.daemon.memory()["Private_Dirty"] - memory} KiB over ten sessions')
    check(node.daemon.descriptors() <= descriptors + 1, f'descriptors: {descriptors}, then {node.daemon.descriptors()}')
    check(node.daemon.threads() <= threads + 1, f'threads: {threads}, then {node.daemon.threads()}')


@scenario('issue: somebody keeps writing the state, and answers are slow', limit=60)
def heartbeats_beside_a_contested_state(lab):
    lab.zookeeper()
    stage = lab.proxy()
    node = lab.running_node(interval=2)
    lab.await_beats(node, 2)
    stage.answer_delay = 0.3
    begun = time.time()
    while time.time() < begun + 15:
        lab.set('/nodes/pvchv1/daemonstate', 'dead')
        time.sleep(0.3)
    within(lab.longest_gap(node, since=begun - 2.2), 3.4, 'a heartbeat was late')
    # Of seven heartbeats; a second line says that it began anew, after an answer that came too late.
    lines = len([line for line in node.log().splitlines() if '[node-state-contested]' in line])
    check(1 <= lines <= 2, f'{lines} lines that say so')
    stage.answer_delay = 0.0
    lab.await_state(node, 'run', 5)
    lab.expect_alive(node)
