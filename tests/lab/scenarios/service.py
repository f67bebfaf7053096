"""The daemon as a service: command line, exit statuses, notifications, units it needs."""
import os
import re
import time

from ..lab import between, check, equal, scenario, within
from ..node import read_file



def bare_node(lab, **options):
    lab.zookeeper(start=False)
    node = lab.node(**options)
    node.power_on()
    return node


@scenario('config.md 1 2 11, issue: exit statuses', limit=60)
def exit_statuses(lab):
    node = bare_node(lab)
    status, text = node.execute(environment={'PVCD_CONFIG_FILE': None})
    equal(status, 1, 'status without PVCD_CONFIG_FILE')
    check('PVCD_CONFIG_FILE' in text, f'the message does not name the variable: {text!r}')
    status, text = node.execute(environment={'PVCD_CONFIG_FILE': '/etc/pvc/absent.yaml'})
    equal(status, 78, 'status with a missing file')
    check('/etc/pvc/absent.yaml' in text and 'No such file' in text, f'path and reason are missing: {text!r}')
    status, text = node.execute('--version')
    equal(status, 0, 'status of --version')
    check(re.search(r'\d+\.\d+', text), f'--version says {text!r}')
    status, text = node.execute('--help')
    equal(status, 0, 'status of --help')
    check('--check-config' in text, f'--help says {text!r}')
    status, text = node.execute('--nonsense')
    check(status not in (0, 78), f'status of an unknown option: {status}')
    status, text = node.execute(environment={'PVCD_HOSTNAME': 'pvchv2'})
    equal(status, 78, 'status with another host name')
    check('pvc.node' in text and 'pvchv2' in text and 'pvchv1' in text, f'message: {text!r}')
    node.write_configuration('pvc:\n  functions: [\n')
    status, text = node.execute()
    equal(status, 78, 'status of a broken file')
    check('/etc/pvc/pvcnoded.yaml:' in text, f'no line is named: {text!r}')
    check(not os.path.exists(node.run_path('pvc')), 'a refused configuration left /run/pvc behind')


@scenario('config.md --check-config: effective settings', limit=60)
def effective_settings(lab):
    node = bare_node(lab)
    status, text = node.execute('--check-config')
    equal(status, 0, f'status of --check-config\n{text}')
    check('keepalive_interval = 1' in text and 'mode = coordinator' in text, f'settings are missing: {text!r}')
    settings = [line for line in text.splitlines() if re.match(r'\w+(\.\w+)* = ', line)]
    equal(settings, sorted(settings), 'order of the settings')


@scenario('config.md 33', limit=40)
def directories(lab):
    lab.zookeeper()
    node = lab.node()
    node.power_on()
    os.makedirs(node.run_path('pvc'))
    node.start()
    lab.await_state(node, 'run')
    for folder, mode in (('pvc', 0o755), ('pvc/dnsmasq', 0o755), ('pvc/pdns', 0o700), ('pvc/nft', 0o755),
                         ('pvc/nft/networks', 0o755), ('pvc/nft/static', 0o755)):
        path = node.run_path(folder)
        check(os.path.isdir(path), f'/run/{folder} is missing')
        equal(oct(os.stat(path).st_mode & 0o7777), oct(mode), f'mode of /run/{folder}')
    for folder in ('pvc', 'pvc/dnsmasq', 'pvc/pdns', 'pvc/nft'):
        check(os.path.isdir(os.path.join(node.folder, 'log', folder)), f'/var/log/{folder} is missing')


@scenario('config.md 35', limit=60)
def notifications(lab):
    lab.zookeeper(start=False)
    node = lab.node(interval=5, settings={'system.intervals.fence_intervals': 6})
    node.up(notify=True)
    time.sleep(2)
    equal(node.notify.of('READY'), [], 'READY before ZooKeeper answers')
    lab.ensemble.start()
    lab.initialise(10)
    lab.wait(lambda: node.notify.of('READY'), 30, 'READY=1')
    ready = node.notify.of('READY')[0].time
    check(lab.key(node, 'daemonstate') in ('init', 'run'), 'READY before the record exists')
    lab.await_state(node, 'run', 3)
    phases = [message.value for message in node.notify.of('STATUS') if message.time <= ready]
    check(len(set(phases)) >= 8, f'{len(set(phases))} different STATUS lines before READY: {phases}')
    microseconds = [message.value for message in node.notify.of('WATCHDOG_USEC')]
    equal(microseconds[:1], ['30000000'], 'WATCHDOG_USEC with the defaults')
    equal(len(node.notify.of('READY')), 1, 'number of READY=1')
    node.daemon.stop()
    lab.expect_end(node, 0, 4)
    check(node.notify.of('STOPPING'), 'no STOPPING=1')
    equal(node.notify.of('RELOADING'), [], 'RELOADING')


@scenario('config.md 35: exit 78 never says READY', limit=30)
def refused_start_is_not_ready(lab):
    node = bare_node(lab, settings={'system.intervals.fence_intervals': 'often'})
    node.start(notify=True)
    lab.expect_end(node, 78, 10)
    equal(node.notify.of('READY'), [], 'READY')


@scenario('config.md 36, shortened to 35 s', limit=90)
def watchdog_during_an_outage(lab):
    lab.zookeeper()
    stage = lab.proxy()
    node = lab.running_node(notify=True, interval=5, settings={'system.intervals.fence_intervals': 6})
    stage.set('refuse')
    begun = time.monotonic()
    time.sleep(35)
    pings = [begun] + [m.time for m in node.notify.of('WATCHDOG') if m.time > begun and m.value == '1'] + [time.monotonic()]
    gap = max(b - a for a, b in zip(pings, pings[1:]))
    within(gap, 15, f'{gap:.0f} s without WATCHDOG=1')
    lab.expect_alive(node)
    stage.set('pass')
    lab.await_beats(node, 1, 20)


@scenario('config.md 38', limit=90)
def watchdog_with_a_long_interval(lab):
    lab.zookeeper()
    node = lab.running_node(notify=True, interval=3600, settings={'system.intervals.fence_intervals': 6})
    begun = time.monotonic()
    time.sleep(32)
    pings = [begun] + [m.time for m in node.notify.of('WATCHDOG') if m.time > begun] + [time.monotonic()]
    gap = max(b - a for a, b in zip(pings, pings[1:]))
    within(gap, 15, f'{gap:.0f} s without WATCHDOG=1')
    equal([m.value for m in node.notify.of('WATCHDOG_USEC')][:1], ['60000000'], 'WATCHDOG_USEC')
    node.daemon.stop()
    lab.expect_end(node, 0, 4)


@scenario('config.md 39: a stopped daemon does not ping', limit=60)
def frozen_daemon_does_not_ping(lab):
    lab.zookeeper()
    node = lab.running_node(notify=True)
    node.daemon.freeze()
    time.sleep(0.3)
    before = len(node.notify.of('WATCHDOG'))
    time.sleep(13)
    equal(len(node.notify.of('WATCHDOG')), before, 'pings of a stopped process')
    node.daemon.thaw()
    lab.wait(lambda: len(node.notify.of('WATCHDOG')) > before, 15, 'WATCHDOG=1 after it went on')


@scenario('B.1 AC05 (as far as built), config.md 40', limit=60)
def unit_that_never_becomes_active(lab):
    lab.zookeeper()
    node = lab.node()
    node.power_on()
    node.unit('zookeeper', state='inactive')
    node.start()
    begun = time.time()
    lab.await_state(node, 'run', 12)
    calls = node.systemctl_calls()
    starts = [words for _, words in calls if 'start' in words.split()]
    equal(starts, ['start --no-block zookeeper.service'], 'starts')
    asked = [stamp for stamp, words in calls if 'is-active' in words.split()]
    check(len(asked) >= 8, f'is-active was asked {len(asked)} times')
    gaps = [b - a for a, b in zip(asked, asked[1:])]
    shown = f'gaps between questions: {[round(gap, 2) for gap in gaps]}'
    check(min(gaps) >= 0.03, shown)
    within(max(gaps), 0.75, shown)
    between(3, asked[-1] - begun, 6, f'the last question came {asked[-1] - begun:.1f} s after the start')


@scenario('B.1 AC05 (as far as built)', limit=60)
def unit_that_takes_two_seconds(lab):
    lab.zookeeper()
    node = lab.node()
    node.power_on()
    node.unit('zookeeper', delay=2)
    node.start()
    begun = time.monotonic()
    lab.await_state(node, 'run', 10)
    within(time.monotonic() - begun, 4.5, f'`run` after {time.monotonic() - begun:.1f} s')


@scenario('config.md 40: a service manager that hangs', limit=60)
def service_manager_hangs(lab):
    lab.zookeeper()
    node = lab.node()
    node.power_on()
    node.slow_commands(60)
    node.start()
    begun = time.monotonic()
    lab.await_state(node, 'run', 12)
    within(time.monotonic() - begun, 9, f'`run` after {time.monotonic() - begun:.1f} s')
    node.daemon.stop()
    lab.expect_end(node, 0, 5)


@scenario('issue: exec to run below 1 s when the services are up', limit=40)
def quick_start(lab):
    lab.zookeeper()
    node = lab.node()
    node.power_on()
    node.start()
    begun = time.monotonic()
    lab.await_state(node, 'run', 10)
    within(time.monotonic() - begun, 1.5, f'`run` after {time.monotonic() - begun:.2f} s')


@scenario('what is off costs nothing', limit=60)
def a_node_without_functions(lab):
    lab.zookeeper()
    node = lab.running_node()
    lab.await_beats(node, 3)
    loaded = sorted(set(re.findall(r'/(lib[^/\n]*\.so)', read_file(f'/proc/{node.daemon.pid}/maps'))))
    check('libvirt.so' not in loaded and len(loaded) < 20, f'libraries: {" ".join(loaded)}')
    # Not the private dirty pages: those of a program that was just built are dirty until the disk has them.
    own = node.daemon.memory()['Anonymous']
    check(own < 1536, f'{own} KiB of its own')
