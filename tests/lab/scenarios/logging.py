"""Logs and standard streams on their bad days, and the log in ZooKeeper."""
import fcntl
import os
import re
import signal
import time

from ..lab import check, equal, scenario, within

LOGGING = 'system.configuration.logging.'


@scenario('B.2 AC23', limit=40)
def hup_reopens_the_log(lab):
    lab.zookeeper()
    node = lab.running_node()
    lab.await_beats(node, 2)
    os.rename(node.log_path, node.log_path + '.1')
    node.daemon.signal(signal.SIGHUP)
    lab.wait(lambda: os.path.exists(node.log_path), 5, 'a new pvc.log')
    size = os.path.getsize(node.log_path + '.1')
    lab.await_beats(node, 3)
    check(os.path.getsize(node.log_path) > 0, 'the new file stays empty')
    check(os.path.getsize(node.log_path + '.1') == size, 'the old file still grows')
    lab.expect_alive(node)


@scenario('B.2 AC23 without file logging', limit=40)
def hup_without_a_file(lab):
    lab.zookeeper()
    node = lab.running_node(settings={LOGGING + 'file_logging': False})
    lab.await_beats(node, 1)
    for _ in range(3):
        node.daemon.signal(signal.SIGHUP)
    lab.await_beats(node, 2)
    lab.expect_alive(node)
    check(not os.path.exists(node.log_path), 'a log file was made')


@scenario('issue: a full disk under the log', limit=60)
def full_log_disk(lab):
    lab.zookeeper()
    node = lab.node()
    node.power_on()
    node.inside('sh', '-c', 'mkdir -p /var/log/pvc && mount -t tmpfs -o size=16k full /var/log/pvc && '
                            'head -c 16384 /dev/zero > /var/log/pvc/filler; :')
    node.start()
    lab.await_state(node, 'run')
    lab.await_beats(node, 4)
    within(lab.longest_gap(node), 1.6, f'a heartbeat was {lab.longest_gap(node):.1f} s late')
    lab.expect_alive(node)
    node.inside('rm', '/var/log/pvc/filler')
    lab.wait(lambda: int(node.inside('stat', '-c', '%s', '/var/log/pvc/pvc.log').split()[0]) > 0, 8,
             'the log goes on once there is room')
    node.daemon.stop()
    lab.expect_end(node, 0, 4)


@scenario('issue: stdout a pipe that nobody reads', limit=60)
def stdout_nobody_reads(lab):
    lab.zookeeper()
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(writing, False)
    try:
        while True:
            os.write(writing, b'x' * 4096)
    except BlockingIOError:
        pass
    os.set_blocking(writing, True)
    node = lab.node()
    node.up(stdout=writing)
    lab.await_state(node, 'run')
    lab.await_beats(node, 5)
    within(lab.longest_gap(node), 1.6, f'a heartbeat was {lab.longest_gap(node):.1f} s late')
    begun = time.monotonic()
    node.daemon.stop()
    lab.expect_end(node, 0, 6)
    within(time.monotonic() - begun, 2, f'the stop took {time.monotonic() - begun:.1f} s')
    os.close(reading)
    os.close(writing)


@scenario('issue: stdout a pipe whose reader has gone', limit=40)
def stdout_reader_gone(lab):
    lab.zookeeper()
    reading, writing = os.pipe()
    node = lab.node()
    node.up(stdout=writing)
    os.close(writing)
    lab.await_state(node, 'run')
    os.close(reading)
    lab.await_beats(node, 4)
    lab.expect_alive(node)
    node.daemon.stop()
    lab.expect_end(node, 0, 4)


@scenario('issue: descriptors 0 to 2 closed', limit=40)
def no_standard_descriptors(lab):
    lab.zookeeper()
    node = lab.node()
    node.up(wrap='exec 0<&- 1>&- 2>&-;')
    lab.await_state(node, 'run')
    lab.await_beats(node, 3)
    # What the daemon opens must not land on descriptors that are taken for standard streams.
    for number in (0, 1, 2):
        target = os.readlink(f'/proc/{node.daemon.pid}/fd/{number}') if os.path.islink(
            f'/proc/{node.daemon.pid}/fd/{number}') else ''
        check(target in ('', '/dev/null'), f'descriptor {number} is {target}')
    check(node.log(), 'the log file is empty')
    node.daemon.stop()
    lab.expect_end(node, 0, 4)
    equal(lab.key(node, 'daemonstate'), 'stop', 'daemonstate')


@scenario('ZK-28 (as seen), zookeeper-schema.md 11', limit=60)
def log_in_zookeeper(lab):
    lab.zookeeper()
    node = lab.running_node(settings={LOGGING + 'zookeeper_logging': True, LOGGING + 'node_log_lines': 20,
                                      LOGGING + 'log_dates': False})
    lab.wait(lambda: lab.get('/logs/pvchv1/messages'), 10, 'log lines in ZooKeeper')
    lab.await_beats(node, 12, 20)
    text = lab.get('/logs/pvchv1/messages')
    lines = text.split('\n')
    check(len(lines) <= 20, f'{len(lines)} lines, 20 are allowed')
    check(lines[0] != '' and lines[-1] != '', 'an empty line first or last')
    stamp = re.compile(r'\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{6} ')
    for line in lines:
        check(stamp.match(line), f'a line does not begin with a date: {line!r}')
    writes = [c.time for c in lab.history('/logs/pvchv1/messages', ('create', 'set'))]
    crowd = max(sum(1 for t in writes if start <= t < start + 1.0) for start in writes)
    check(crowd <= 2, f'{crowd} writes of the log within a second')
    log = {c.session for c in lab.history('/logs/pvchv1/messages', ('create', 'set'))}
    check(lab.session_of(node) not in log, 'the log has no session of its own')
    node.daemon.stop()
    lab.expect_end(node, 0, 6)
    equal(lab.open_sessions(), set(), 'open sessions after the stop')
    kept = lab.get('/logs/pvchv1/messages').split('\n')
    check(kept[-1] != lines[-1], 'the last lines did not reach the server')
    # A second start goes on after what is there, without a blank line.
    node.start()
    lab.await_state(node, 'run')
    lab.wait(lambda: lab.get('/logs/pvchv1/messages').split('\n')[-1] != kept[-1], 10, 'further lines')
    check('' not in lab.get('/logs/pvchv1/messages').split('\n'), 'a blank line in the log')


@scenario('zookeeper-schema.md 11: no log below version 4, a tag from 11 on', limit=60)
def log_key_follows_the_version(lab):
    lab.zookeeper(version=11)
    node = lab.running_node(settings={LOGGING + 'zookeeper_logging': True})
    text = lab.wait(lambda: lab.get('/logs/pvchv1/messages'), 10, 'log lines in ZooKeeper')
    check(all('pvcnoded:   ' in line for line in text.split('\n')), f'lines without the tag: {text[:300]!r}')


@scenario('ZK-31, shortened', limit=60)
def log_survives_an_outage(lab):
    lab.zookeeper()
    stage = lab.proxy()
    node = lab.running_node(settings={LOGGING + 'zookeeper_logging': True})
    lab.wait(lambda: lab.get('/logs/pvchv1/messages'), 10, 'log lines in ZooKeeper')
    stage.set('refuse')
    time.sleep(8)
    stage.set('pass')
    lab.await_beats(node, 3, 20)
    time.sleep(1.5)
    shipped = lab.get('/logs/pvchv1/messages').split('\n')
    with open(node.log_path) as file:
        local = [line.rstrip('\n') for line in file]
    # Lines of ticks wait for others, at most 30 s: what came before the last other line has gone with it.
    others = [at for at, line in enumerate(local) if 'tick: ' not in line and '\x1b[95m' not in line]
    check(len(others) > 5, f'only {len(others)} lines that are no ticks')
    missing = [line for line in local[:others[-1] + 1] if line not in shipped]
    check(not missing, f'{len(missing)} of {len(local)} lines never reached the server, the first: {missing[:1]}')
