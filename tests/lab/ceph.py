#!/usr/bin/python3
"""A real cluster of Ceph on this machine: a monitor, a manager, and OSDs that keep everything in memory.

    tests/lab/ceph.py serve FOLDER [--osds N] [--auth] [--pool NAME ...] [--address IP] [--no-manager]

makes one in FOLDER, prints one line of JSON when it is up (files, process ids, seconds it took), and ends it when its
standard input ends. Everything of it dies with this process, however that ends; what an earlier run has left in the
same folder is ended and removed first. As a module: Cluster.
"""
import argparse
import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid

_SETTINGS = '''[global]
fsid = {fsid}
mon host = [v2:{host}:{v2},v1:{host}:{v1}]
auth cluster required = {auth}
auth service required = {auth}
auth client required = {auth}
run dir = {folder}
admin socket = {folder}/$name.asok
log file = {folder}/$name.log
pid file = {folder}/$name.pid
crash dir = {folder}/crash
mon data = {folder}/mon
mgr data = {folder}/mgr
osd data = {folder}/osd.$id
public network = {network}
ms bind ipv4 = {is_v4}
ms bind ipv6 = {is_v6}
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 8
osd pool default pgp num = 8
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
osd objectstore = memstore
memstore device bytes = 2147483648
osd max object name len = 256
osd max object namespace len = 64
osd class update on start = false
osd heartbeat grace = {grace}
mon allow pool size one = true
mon allow pool delete = true
mon warn on pool no redundancy = false
mon warn on insecure global id reclaim = false
mon warn on insecure global id reclaim allowed = false
mon initial members = a
mon data avail warn = 1
mon data avail crit = 1
mon osd down out interval = 600
paxos propose interval = 0.1
paxos min wait = 0.02
mgr initial modules =
mgr module path = {folder}/modules
mgr stats period = 1

[mon]
keyring = {folder}/mon/keyring
[mgr]
keyring = {folder}/mgr/keyring
[osd]
keyring = {folder}/osd.$id/keyring
[client]
keyring = {keyring}
'''

_MON_KEYRING = '''[mon.]
\tkey = {mon}
\tcaps mon = "allow *"
'''
_ADMIN_KEYRING = '''[client.admin]
\tkey = {admin}
\tcaps mds = "allow *"
\tcaps mgr = "allow *"
\tcaps mon = "allow *"
\tcaps osd = "allow *"
'''
_PR_SET_PDEATHSIG = 1
# Where the manager's modules are. It loads all that it finds, which takes it eight seconds: it finds the one that is
# asked, and empty ones in place of those without which the cluster's health is bad.
_MODULES = '/usr/share/ceph/mgr'
_MODULES_WANTED = ('status',)
_MODULES_EMPTY = ('balancer', 'crash', 'devicehealth', 'orchestrator', 'pg_autoscaler', 'progress', 'rbd_support',
                  'telemetry', 'volumes')
_EMPTY_MODULE = '''from mgr_module import MgrModule


class Module(MgrModule):
    COMMANDS = []
    NOTIFY_TYPES = []
'''


def free_ports(address, count):
    """Several at once, so that they differ."""
    family = socket.AF_INET6 if ':' in address else socket.AF_INET
    probes = [socket.socket(family) for _ in range(count)]
    try:
        for probe in probes:
            probe.bind((address, 0))
        return [probe.getsockname()[1] for probe in probes]
    finally:
        for probe in probes:
            probe.close()


def die_with_parent():
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def end_leftovers(folder):
    """Ends what a killed run in this folder has left, told by its own words, and removes its files."""
    if not os.path.isdir(folder):
        return
    for name in os.listdir(folder):
        if not name.endswith('.pid'):
            continue
        try:
            with open(os.path.join(folder, name)) as file:
                pid = int(file.read())
            with open(f'/proc/{pid}/cmdline', 'rb') as file:
                words = file.read().split(b'\0')
            if os.path.join(folder, 'ceph.conf').encode() in words:
                os.kill(pid, signal.SIGKILL)
        except (OSError, ValueError):
            pass  # gone, or never there
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)


class Cluster:
    """One cluster. Daemons are called mon, mgr, osd.0 ..."""

    def __init__(self, folder, osds=1, address='127.0.0.1', auth=False, pools=('vms',), manager=True, grace=20):
        self.folder = os.path.abspath(folder)
        self.osds = osds
        self.address = address
        self.auth = auth
        self.pools = pools
        self.manager = manager
        self.grace = grace
        self.fsid = str(uuid.uuid4())
        self.processes = {}

    # --- files ---

    @property
    def config(self):
        return os.path.join(self.folder, 'ceph.conf')

    @property
    def keyring(self):
        return os.path.join(self.folder, 'admin.keyring')

    @property
    def wrong_keyring(self):
        return os.path.join(self.folder, 'wrong.keyring')

    def describe(self):
        return {'config': self.config, 'keyring': self.keyring, 'wrong_keyring': self.wrong_keyring, 'fsid': self.fsid,
                'pids': {name: one.pid for name, one in self.processes.items()}}

    def _write(self, name, text):
        with open(os.path.join(self.folder, name), 'w') as file:
            file.write(text)

    def _key(self):
        return self._tool('ceph-authtool', '--gen-print-key').strip()

    def _configure(self):
        os.makedirs(self.folder, exist_ok=True)
        end_leftovers(self.folder)
        is_v6 = ':' in self.address
        host = f'[{self.address}]' if is_v6 else self.address
        v2, v1 = free_ports(self.address, 2)
        self.vector = f'[v2:{host}:{v2},v1:{host}:{v1}]'
        self._write('ceph.conf', _SETTINGS.format(
            fsid=self.fsid, host=host, v2=v2, v1=v1, auth='cephx' if self.auth else 'none', folder=self.folder,
            keyring=self.keyring, network=self.address + ('/128' if is_v6 else '/32'), grace=self.grace,
            is_v4=str(not is_v6).lower(), is_v6=str(is_v6).lower()))
        admin = self._key()
        self._write('admin.keyring', _ADMIN_KEYRING.format(admin=admin))
        self._write('wrong.keyring', _ADMIN_KEYRING.format(admin=self._key()))
        self._write('mon.keyring', _MON_KEYRING.format(mon=self._key()) + _ADMIN_KEYRING.format(admin=admin))
        os.mkdir(os.path.join(self.folder, 'modules'))
        for name in os.listdir(_MODULES):
            if name in _MODULES_WANTED or name.endswith('.py'):
                os.symlink(os.path.join(_MODULES, name), os.path.join(self.folder, 'modules', name))
        for name in _MODULES_EMPTY:
            os.mkdir(os.path.join(self.folder, 'modules', name))
            self._write(f'modules/{name}/__init__.py', 'from .module import Module\n')
            self._write(f'modules/{name}/module.py', _EMPTY_MODULE)
        for name in ('mon', 'mgr', 'crash', *(f'osd.{number}' for number in range(self.osds))):
            os.mkdir(os.path.join(self.folder, name))

    # --- processes ---

    def _tool(self, *words, timeout=60):
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)
        if done.returncode != 0:
            raise RuntimeError(f'{" ".join(words)}: status {done.returncode}: {done.stderr[-2000:]}')
        return done.stdout

    def start_daemon(self, name):
        program, _, number = name.partition('.')
        words = [f'ceph-{program}', '-f', '-c', self.config, '-i', number or {'mon': 'a', 'mgr': 'x'}[program]]
        with open(os.path.join(self.folder, f'{name}.out'), 'ab') as out:
            self.processes[name] = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                                    cwd=self.folder, start_new_session=True, preexec_fn=die_with_parent)

    def end_daemon(self, name, number=signal.SIGKILL):
        process = self.processes.pop(name, None)
        if process is None:
            return
        process.send_signal(number)
        process.send_signal(signal.SIGCONT)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def pause(self, *names):
        """All, if none is named."""
        for name in names or self.processes:
            self.processes[name].send_signal(signal.SIGSTOP)

    def resume(self, *names):
        for name in names or self.processes:
            self.processes[name].send_signal(signal.SIGCONT)

    def _make_osd(self, number, ident):
        # Beside the monitor's start: with the monitors' map it need not be asked.
        self._tool('ceph-osd', '--mkfs', '-c', self.config, '-i', str(number), '--osd-uuid', ident, '--monmap',
                   os.path.join(self.folder, 'monmap'), '--no-mon-config', '--osd-data',
                   os.path.join(self.folder, f'osd.{number}'))

    def start(self, timeout=60):
        """Up: the pools can be written to, and the manager answers."""
        deadline = time.monotonic() + timeout
        self._configure()
        monmap = os.path.join(self.folder, 'monmap')
        self._tool('monmaptool', '--create', '--fsid', self.fsid, '--addv', 'a', self.vector, monmap)
        identities = [str(uuid.uuid4()) for _ in range(self.osds)]
        self._keys = [self._key() for _ in range(self.osds)] if self.auth else []
        for number, key in enumerate(self._keys):
            self._write(f'osd.{number}/keyring', f'[osd.{number}]\n\tkey = {key}\n')
        makers = [threading.Thread(target=self._make_osd, args=one) for one in enumerate(identities)]
        for one in makers:
            one.start()
        self._tool('ceph-mon', '--mkfs', '-c', self.config, '-i', 'a', '--monmap', monmap, '--keyring',
                   os.path.join(self.folder, 'mon.keyring'))
        self.start_daemon('mon')
        for number, ident in enumerate(identities):
            self.command({'prefix': 'osd new', 'uuid': ident, 'id': number}, deadline)
            if self.auth:
                self.command({'prefix': 'auth add', 'entity': f'osd.{number}',
                              'caps': ['mon', 'allow profile osd', 'mgr', 'allow profile osd', 'osd', 'allow *']}, deadline,
                             f'[osd.{number}]\n\tkey = {self._keys[number]}\n')
        if self.manager:
            self._prepare_manager(deadline)
            self.start_daemon('mgr')
        for number, one in enumerate(makers):
            one.join()
            self.start_daemon(f'osd.{number}')
        for pool in self.pools:
            self.command({'prefix': 'osd pool create', 'pool': pool, 'pg_num': 8}, deadline)
            self.command({'prefix': 'osd pool application enable', 'pool': pool, 'app': 'rbd'}, deadline)
        self._await('OSDs', self._osds_are_up, deadline)
        if self.manager:
            self._await('the manager', self._manager_answers, deadline)
        self.disconnect()
        return self

    def _prepare_manager(self, deadline):
        if self.auth:
            key = self.command({'prefix': 'auth get-or-create', 'entity': 'mgr.x', 'format': 'plain',
                                'caps': ['mon', 'allow profile mgr', 'osd', 'allow *', 'mds', 'allow *']}, deadline)
            self._write('mgr/keyring', key)

    def _osds_are_up(self, deadline):
        found = json.loads(self.command({'prefix': 'osd stat', 'format': 'json'}, deadline))
        return found['num_up_osds'] == self.osds

    def _manager_answers(self, deadline):
        found = json.loads(self.command({'prefix': 'mgr stat', 'format': 'json'}, deadline))
        if not found['available']:
            return False
        if self.osds == 0:
            return True
        # It has heard of the placement groups, and its module that shows OSDs is there.
        state = json.loads(self.command({'prefix': 'pg stat', 'format': 'json'}, deadline))
        groups = state.get('pg_summary', state).get('num_pg_by_state', [])
        are_clean = bool(groups) and all(one['name'] == 'active+clean' for one in groups)
        return (are_clean or not self.pools) and bool(self.command({'prefix': 'osd status'}, deadline))

    def _await(self, what, is_so, deadline):
        while True:
            try:
                if is_so(deadline):
                    return
            except CommandFailed as why:
                last = str(why)
            else:
                last = ''
            ended = [name for name, one in self.processes.items() if one.poll() is not None]
            if ended or time.monotonic() > deadline:
                raise RuntimeError(f'{what} of Ceph not up in time: {last}\n{self._last_words()}')
            time.sleep(0.1)

    def _last_words(self):
        words = []
        for name in sorted(self.processes):
            with open(os.path.join(self.folder, f'{name}.out'), errors='replace') as file:
                words.append(f'{name}: {file.read()[-1000:]}')
        return '\n'.join(words)

    def stop(self):
        self.disconnect()
        for name in sorted(self.processes, reverse=True):
            self.end_daemon(name)
        for name in os.listdir(self.folder) if os.path.isdir(self.folder) else []:
            if name.endswith('.pid'):
                os.unlink(os.path.join(self.folder, name))

    # --- commands ---

    _handle = None

    def command(self, what, deadline, text=''):
        """A monitor's command over the library: its programs take half a second each."""
        import rados
        while self._handle is None:
            handle = rados.Rados(conffile=self.config, conf={'keyring': self.keyring, 'client_mount_timeout': '3',
                                                             'rados_mon_op_timeout': '5', 'log_file': '', 'admin_socket': ''},
                                 name='client.admin')
            try:
                handle.connect()
                self._handle = handle
            except rados.Error:
                handle.shutdown()
                if time.monotonic() > deadline:
                    raise
        status, out, words = self._handle.mon_command(json.dumps(what), text.encode())
        if status != 0:
            raise CommandFailed(f'{what["prefix"]}: status {status}: {words}')
        return out.decode()

    def disconnect(self):
        if self._handle is not None:
            self._handle.shutdown()
            self._handle = None

    def program(self, name, *words):
        """The command line of a program of Ceph for this cluster."""
        return [name, '-c', self.config, '--keyring', self.keyring, *words]

    def ceph(self, *words, timeout=30):
        return self._tool(*self.program('ceph', *words), timeout=timeout)

    def rbd(self, *words, timeout=30):
        return self._tool(*self.program('rbd', *words), timeout=timeout)

    def rados(self, *words, timeout=30):
        return self._tool(*self.program('rados', *words), timeout=timeout)

    # --- images, asked over the library as well ---

    def ask(self, prefix, timeout=10, **words):
        """What a monitor's command says as JSON; of the blocklist, which is two lists, the one of single addresses."""
        text = self.command({'prefix': prefix, 'format': 'json', **words}, time.monotonic() + timeout)
        return json.JSONDecoder().raw_decode(text.lstrip())[0]

    def _pool(self, name):
        self.ask('status')
        return self._handle.open_ioctx(name)

    def make_image(self, name, size=4 << 20, pool='vms'):
        """With the features that images have unless told otherwise, an exclusive lock among them. Its name, with the pool."""
        import rbd
        with self._pool(pool) as where:
            rbd.RBD().create(where, name, size)
        return f'{pool}/{name}'

    def locks(self, volume):
        """Whose locks an image has, as (client, id, address)."""
        import rbd
        pool, name = volume.split('/')
        with self._pool(pool) as where, rbd.Image(where, name, read_only=True) as image:
            found = image.list_lockers()
        return list(found['lockers']) if found else []

    def holders(self, volume):
        """Addresses of those who hold a lock of an image, without port and nonce."""
        return [address.rsplit(':', 1)[0] for _client, _id, address in self.locks(volume)]

    def blocklist(self):
        """Addresses that Ceph refuses."""
        return [one['addr'] for one in self.ask('osd blocklist ls')]


class CommandFailed(RuntimeError):
    """Ceph answered that it cannot, or not yet."""


def serve(options):
    begun = time.monotonic()
    cluster = Cluster(options.folder, osds=options.osds, address=options.address, auth=options.auth,
                      pools=options.pool or ['vms'], manager=not options.no_manager, grace=options.grace)
    die_with_parent()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        cluster.start()
        print(json.dumps({**cluster.describe(), 'seconds': round(time.monotonic() - begun, 2)}), flush=True)
        while os.read(0, 4096):
            pass
    finally:
        cluster.stop()


def main():
    parser = argparse.ArgumentParser(prog='ceph.py', description=__doc__.splitlines()[0])
    words = parser.add_subparsers(required=True)
    one = words.add_parser('serve')
    one.add_argument('folder')
    one.add_argument('--osds', type=int, default=1)
    one.add_argument('--auth', action='store_true')
    one.add_argument('--pool', action='append')
    one.add_argument('--address', default='127.0.0.1')
    one.add_argument('--grace', type=int, default=20, help='seconds until an OSD that does not answer is down')
    one.add_argument('--no-manager', action='store_true')
    one.set_defaults(run=serve)
    options = parser.parse_args()
    options.run(options)


if __name__ == '__main__':
    main()
