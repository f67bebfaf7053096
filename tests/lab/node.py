"""A node: a sandbox with network, mounts, host name and processes of its own, and the daemon inside."""
import copy
import os
import re
import shutil
import signal
import subprocess
import threading
import time
import uuid

import yaml

from . import lateness, space
from .hypervisor import Hypervisor, hosts_lines
from .notify import NotifySocket
from .patroni import Patroni

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
DAEMON = os.environ.get('LAB_DAEMON') or os.path.join(ROOT, 'build', 'release', 'bin', 'pvcnoded')
SAMPLE = os.environ.get('LAB_SAMPLE') or os.path.join(ROOT, 'conf', 'pvcnoded.sample.yaml')
STAND_INS = ('reboot', 'ipmitool')
OSD_TOOLS = ('ceph', 'ceph-volume', 'lsscsi', 'lsblk', 'blkid', 'wipefs', 'blockdev', 'lvdisplay', 'vgdisplay', 'lvcreate', 'lvremove', 'sgdisk',
             'pvcreate', 'vgcreate')
PATH = '/run/lab/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'


def read_file(path, missing=''):
    try:
        with open(path, errors='replace') as file:
            return file.read()
    except OSError:
        return missing


class Daemon:
    """One run of the daemon, or of another program, in a node. The process seen from here is nsenter, which carries its exit status."""

    def __init__(self, carrier, started):
        self.carrier = carrier
        self.started = started
        self._pid = None

    @property
    def pid(self):
        """Process id as the lab sees it; None before it runs and after it ended."""
        if self._pid is None:
            deadline = time.monotonic() + 30
            while time.monotonic() < deadline and self.carrier.poll() is None:
                for child in read_file(f'/proc/{self.carrier.pid}/task/{self.carrier.pid}/children').split():
                    name = os.path.basename(read_link(f'/proc/{child}/exe'))
                    if name and name not in ('nsenter', 'env', 'sh', 'dash', 'bash'):
                        self._pid = int(child)
                        return self._pid
                time.sleep(0.001)
        return self._pid

    @property
    def inner_pid(self):
        """Process id as the node sees it."""
        found = re.search(r'^NSpid:.*\s(\d+)$', read_file(f'/proc/{self.pid}/status'), re.M)
        return int(found.group(1)) if found else None

    def alive(self):
        return self.carrier.poll() is None

    def signal(self, number):
        pid = self.pid
        if pid is None:
            return
        if number == signal.SIGCONT:
            self.carrier.send_signal(number)
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass

    def stop(self):
        self.signal(signal.SIGTERM)

    def kill(self):
        self.signal(signal.SIGKILL)

    def freeze(self):
        self.signal(signal.SIGSTOP)

    def thaw(self):
        self.signal(signal.SIGCONT)

    def wait(self, timeout):
        """Exit status; negative for a signal. Raises TimeoutExpired while it runs on, beyond what this machine was late meanwhile."""
        deadline, late = time.monotonic() + timeout, lateness.until_now()
        while True:
            try:
                return self.carrier.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                granted, late = lateness.until_now() - late, lateness.until_now()
                if granted < 0.01:
                    raise
                deadline += granted

    def threads(self):
        return len(os.listdir(f'/proc/{self.pid}/task'))

    def descriptors(self):
        return len(os.listdir(f'/proc/{self.pid}/fd'))

    def cpu_seconds(self):
        """Of all its threads that are still there."""
        spent = 0
        for thread in os.listdir(f'/proc/{self.pid}/task'):
            spent += int((read_file(f'/proc/{self.pid}/task/{thread}/schedstat') or '0').split()[0])
        return spent / 1e9

    def memory(self):
        """KiB: Rss, Pss, Private_Dirty and the other lines of smaps_rollup. Empty once it ended."""
        return {key: int(value) for key, value in
                re.findall(r'^(\w+):\s+(\d+) kB', read_file(f'/proc/{self.pid}/smaps_rollup'), re.M)}


def read_link(path):
    try:
        return os.readlink(path)
    except OSError:
        return ''


def set_at(tree, path, value):
    *parents, last = path.split('.')
    for name in parents:
        if not isinstance(tree.get(name), dict):
            tree[name] = {}
        tree = tree[name]
    tree[last] = value


def remove_at(tree, path):
    *parents, last = path.split('.')
    for name in parents:
        tree = tree.get(name)
        if not isinstance(tree, dict):
            return
    tree.pop(last, None)


def load_sample():
    with open(SAMPLE) as file:
        sample = yaml.safe_load(file)
    if not isinstance(sample, dict) or 'pvc' not in sample:
        raise RuntimeError(f'{SAMPLE} is no configuration: the lab derives every node from it')
    return sample


class Node:
    """instance tells apart two machines that carry one name. devices: those that it has from power-on, each with a link into
    the lab's network. A bare node has no address: it is the daemon that gives it one."""

    def __init__(self, folder, name, coordinators, hosts, settings=None, remove=(), instance='', hypervisor=False, devices=('ens4',),
                 bare=False):
        self.name = name
        self.short = name.split('.')[0]
        self.label = self.short + instance
        digits = re.findall(r'\d+', self.short)
        self.number = int(digits[-1]) + (100 if instance else 0)
        self.address = f'{space.NETWORK}.{self.number}'
        self.devices = tuple(devices)
        self.bare = bare
        self.links = {}  # of its devices: name inside -> name outside
        self.folder = os.path.join(folder, self.label)
        self.coordinators = coordinators
        self.settings = dict(settings or {})
        self.remove = tuple(remove)
        self.first = None
        self.first_outside = None
        self.daemon = None
        self.daemons = []  # all that were started
        self.notify = None
        self.linked = False
        self.board = None  # that holds its power switch (power.py)
        self.switching = threading.RLock()  # of its power: a board does so too
        self.cuts = []  # of its power, by the clock of the wall
        self.patroni = Patroni(self, os.path.join(folder, 'patroni'))
        self.hypervisor = Hypervisor(self, os.path.join(folder, 'libvirt-cache')) if hypervisor else None
        for part in ('run', 'log', 'etc', 'etc/pvc'):
            os.makedirs(os.path.join(self.folder, part), exist_ok=True)
        self.write_hosts(hosts)
        self.write_configuration()

    # --- configuration ---

    def write_hosts(self, hosts):
        lines = ['127.0.0.1 localhost', '::1 localhost']
        if self.hypervisor is not None:
            lines += hosts_lines(self, hosts)
            hosts = {name: address for name, address in hosts.items() if name != self.short}
        lines += [f'{address} {name}' for name, address in hosts.items()]
        # In place, since a running node has this very file mounted.
        with open(os.path.join(self.folder, 'hosts'), 'w') as file:
            file.write('\n'.join(lines) + '\n')

    def configuration(self):
        """The sample's settings with the functions off that are not built, and this node's own."""
        tree = copy.deepcopy(load_sample())
        pvc = tree['pvc']
        for function in ('hypervisor', 'networking', 'storage', 'api'):
            set_at(pvc, f'functions.enable_{function}', False)
        settings = {'node': self.short, 'cluster.coordinators': self.coordinators,
                    'system.fencing.ipmi.host': f'{self.short}-lom',  # the sample has that of one node
                    'system.configuration.directories.dynamic_directory': '/run/pvc',
                    'system.configuration.directories.log_directory': '/var/log/pvc',
                    'system.configuration.logging.file_logging': True,
                    'system.configuration.logging.stdout_logging': True,
                    'system.configuration.logging.log_colours': False,
                    'system.configuration.logging.log_dates': True,
                    'system.configuration.logging.log_keepalives': True}
        if self.hypervisor is not None:
            settings['functions.enable_hypervisor'] = True
        settings.update(self.settings)
        for path, value in settings.items():
            if path.startswith('system.intervals.'):
                remove_at(pvc, 'system.fencing.intervals.' + path.rsplit('.', 1)[1])
            set_at(pvc, path, value)
        for path in self.remove:
            remove_at(pvc, path)
        return tree

    def write_configuration(self, text=None):
        path = os.path.join(self.folder, 'etc', 'pvc', 'pvcnoded.yaml')
        with open(path, 'w') as file:
            file.write(text if text is not None else yaml.safe_dump(self.configuration(), sort_keys=False))
        os.chmod(path, 0o600)

    def configure(self, **settings):
        """Changes settings, dots written as double underscores: system__intervals__keepalive_interval=1."""
        self.settings.update({path.replace('__', '.'): value for path, value in settings.items()})
        self.write_configuration()

    # --- power and link ---

    @property
    def powered(self):
        return self.first_outside is not None and self.first_outside.poll() is None

    def power_on(self):
        with self.switching:
            if not self.powered:
                self._power_on()

    def _power_on(self):
        self.tell_power(True)
        run = os.path.join(self.folder, 'run')
        for entry in os.listdir(run):
            path = os.path.join(run, entry)
            shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
        os.makedirs(os.path.join(run, 'lab', 'bin'))
        os.makedirs(os.path.join(run, 'lab', 'systemctl', 'units'))
        shutil.copy(os.path.join(HERE, 'standins', 'systemctl'), os.path.join(run, 'lab', 'bin', 'systemctl'))
        for command in STAND_INS:
            stand_in = 'recorder' if command != 'ipmitool' or self.board is None else 'asked_ipmitool'
            shutil.copy(os.path.join(HERE, 'standins', stand_in), os.path.join(run, 'lab', 'bin', command))
        self.patroni.install()
        with open(os.path.join(self.folder, 'boot_id'), 'w') as file:
            file.write(str(uuid.uuid4()) + '\n')
        shutil.rmtree(os.path.join(self.folder, 'etc.work'), ignore_errors=True)
        if self.hypervisor is not None:
            self.hypervisor.prepare()
        log = open(os.path.join(self.folder, 'boot.log'), 'ab')
        self.first_outside = subprocess.Popen(
            ['unshare', '--net', '--mount', '--uts', '--pid', '--fork', '--kill-child=KILL',
             '/bin/sh', os.path.join(HERE, 'node_boot.sh'), self.folder, self.name],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        log.close()
        deadline = time.monotonic() + 60
        while not os.path.exists(os.path.join(run, 'lab', 'booted')):
            if self.first_outside.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f'{self.label} does not boot: ' + read_file(os.path.join(self.folder, 'boot.log')))
            time.sleep(0.002)
        self.first = int(read_file(f'/proc/{self.first_outside.pid}/task/{self.first_outside.pid}/children').split()[0])
        self.enter('ip', 'link', 'set', 'lo', 'up')
        for device in self.devices:
            self.add_device(device, up=not self.bare)
        if not self.bare:
            self.enter('ip', 'address', 'add', f'{self.address}/24', 'dev', self.devices[0])
        self.linked = True
        if self.hypervisor is not None:
            self.hypervisor.power_on()

    def cut_power(self):
        """Everything in the node ends at once, and not a packet says goodbye."""
        with self.switching:
            if self.powered:
                self._cut_power()

    def tell_power(self, is_on):
        """What its board says from now on."""
        if self.board is not None:
            self.board.tell(is_on)

    def _cut_power(self):
        self.unlink()
        os.kill(self.first, signal.SIGKILL)
        self.cuts.append(time.time())
        # What carries a process that stands still does so too, and a namespace ends when all its processes are taken leave of.
        for one in (self.daemon, *((self.hypervisor.libvirtd, self.hypervisor.virtlogd) if self.hypervisor is not None else ())):
            if one is not None and one.alive():
                one.carrier.send_signal(signal.SIGCONT)
        self.first_outside.wait(10)
        if self.daemon is not None:
            self.daemon.carrier.wait(10)
        if self.hypervisor is not None:
            self.hypervisor.power_off()
        if self.notify is not None:
            self.notify.close()
        for link in self.links.values():
            space.sh('ip', 'link', 'delete', link, check=False)
        self.links = {}
        self.first_outside = self.first = self.daemon = self.notify = None
        self.tell_power(False)

    def unlink(self):
        if self.linked:
            if self.hypervisor is not None:
                # To close a connection asks the other side.
                self.hypervisor.drop()
            for link in self.links.values():
                space.sh('ip', 'link', 'set', link, 'down', check=False)
            self.linked = False

    def relink(self):
        for link in self.links.values():
            space.sh('ip', 'link', 'set', link, 'up')
        self.linked = True

    def enter(self, *words, check=True):
        """Output of a command of the lab's that sees the node's network."""
        return space.sh('nsenter', '-t', str(self.first), '-n', *words, check=check)

    def add_device(self, device, up=False):
        """A network card is plugged in, with a cable to the lab's network."""
        number = len(self.links)
        link = f'n-{self.label[:10]}' + (f'-{number}' if number else '')
        # A machine keeps its hardware address over a power cut; with a new one its neighbours would talk to nobody for a while.
        mac = f'02:00:00:00:{16 * number + 1:02x}:{self.number:02x}'
        space.sh('ip', 'link', 'add', link, 'mtu', '9000', 'type', 'veth', 'peer', 'name', device, 'mtu', '1500', 'address', mac, 'netns',
                 str(self.first))
        space.sh('ip', 'link', 'set', link, 'master', 'lab0', 'up')
        if up:
            self.enter('ip', 'link', 'set', device, 'up')
        self.links[device] = link

    def remove_device(self, device):
        space.sh('ip', 'link', 'delete', self.links.pop(device))

    # --- the daemon ---

    def command(self, words, environment=None, wrap=None):
        values = {'PATH': PATH, 'HOME': '/', 'LANG': 'C.UTF-8', 'PVCD_CONFIG_FILE': '/etc/pvc/pvcnoded.yaml'}
        values.update(environment or {})
        inner = list(words)
        if wrap:
            inner = ['/bin/sh', '-c', f'{wrap} exec "$0" "$@"'] + inner
        return ['nsenter', '-t', str(self.first), '-n', '-m', '-u', '-p', '--wd=/', '--', '/usr/bin/env', '-i',
                *[f'{key}={value}' for key, value in values.items() if value is not None], *inner]

    def start(self, arguments=(), environment=None, stdout=None, wrap=None, notify=False):
        """Starts the daemon. wrap is a piece of shell in front of it, for odd descriptors and limits."""
        environment = dict(environment or {})
        if notify:
            if self.notify is None:
                self.notify = NotifySocket(os.path.join(self.folder, 'run', 'notify'))
            environment['NOTIFY_SOCKET'] = '/run/notify'
            environment.setdefault('WATCHDOG_USEC', '60000000')
        self.daemon = self.spawn([DAEMON, *arguments], os.path.join(self.folder, 'stdout.log'), environment, stdout, wrap)
        self.daemons.append(self.daemon)
        return self.daemon

    def spawn(self, words, log, environment=None, output=None, wrap=None):
        """A process in the node that goes on; it prints to output or appends to the file called log."""
        stream = output if output is not None else open(log, 'ab')
        started = time.monotonic()
        carrier = subprocess.Popen(self.command(words, environment, wrap), stdin=subprocess.DEVNULL, stdout=stream, stderr=stream,
                                   start_new_session=True)
        if output is None:
            stream.close()
        return Daemon(carrier, started)

    def up(self, **options):
        """Power and daemon."""
        if not self.powered:
            self.power_on()
        return self.start(**options)

    def execute(self, *arguments, environment=None, timeout=60.0):
        """Runs the daemon's executable to its end: exit status and everything it printed."""
        done = subprocess.run(self.command([DAEMON, *arguments], environment), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=timeout)
        return done.returncode, done.stdout.decode(errors='replace')

    def inside(self, *words):
        """Output of a command run in the node."""
        return subprocess.run(self.command(words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=60).stdout.decode(errors='replace')

    def processes(self, name):
        """Ids, as the lab sees them, of the node's processes whose program is called so."""
        inside, found = read_link(f'/proc/{self.first}/ns/pid'), []
        for entry in os.listdir('/proc'):
            if entry.isdigit() and os.path.basename(read_link(f'/proc/{entry}/exe')) == name:
                if read_link(f'/proc/{entry}/ns/pid') == inside and space.start_time(int(entry)) is not None:
                    found.append(int(entry))
        return found

    def give_osd_tools(self):
        """Puts stand-ins in the place of what knows of disks and OSDs, until the power is cut."""
        for name in OSD_TOOLS:
            shutil.copy(os.path.join(HERE, 'standins', 'osd_tool'), self.run_path('lab', 'bin', name))

    def osd_answer(self, call, **what):
        """What a stand-in does from now on: output, status or delay of a call, written as its words joined by `_`."""
        os.makedirs(self.run_path('lab', 'osd'), exist_ok=True)
        for kind, value in what.items():
            with open(self.run_path('lab', 'osd', f'{call}.{kind}'), 'w') as file:
                file.write(str(value))

    def osd_calls(self):
        """Words of every call of a stand-in."""
        return [line.partition(' ')[2] for line in read_file(self.run_path('lab', 'osd', 'calls')).splitlines()]

    # --- what it left ---

    @property
    def log_path(self):
        return os.path.join(self.folder, 'log', 'pvc', 'pvc.log')

    def log(self):
        return read_file(self.log_path)

    def output(self):
        return read_file(os.path.join(self.folder, 'stdout.log'))

    def run_path(self, *parts):
        return os.path.join(self.folder, 'run', *parts)

    def systemctl_calls(self):
        """Time and words of every call."""
        calls = []
        for line in read_file(self.run_path('lab', 'systemctl', 'calls')).splitlines():
            stamp, _, words = line.partition(' ')
            calls.append((float(stamp), words))
        return calls

    def unit(self, name, state=None, delay=None):
        """What is-active says of a unit, or the seconds it takes to become active."""
        base = self.run_path('lab', 'systemctl', 'units', name)
        if state is not None:
            with open(base, 'w') as file:
                file.write(state)
        if delay is not None:
            with open(base + '.delay', 'w') as file:
                file.write(str(delay))

    def slow_commands(self, seconds):
        path = self.run_path('lab', 'systemctl', 'delay')
        with open(path, 'w') as file:
            file.write(str(seconds))
