"""libvirtd, virtlogd and QEMU of one node, and what the lab asks them directly.

They live in the node's namespaces and end with its power. Nothing of the machine's own libvirt is read or touched: the
node has its own /etc/libvirt, /run, /var/lib/libvirt and /var/log, and a /dev without kvm. What libvirt finds out about
QEMU (one second of probing) is kept for all nodes of a run.
"""
import collections
import datetime
import glob
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
import uuid

import libvirt

PORT = 16509
DOMAIN = 'pvc.local'
_NAMES = range(1, 10)

_LIBVIRTD = '''listen_tls=0
listen_tcp=1
listen_addr="{address}"
auth_tcp="none"
auth_unix_ro="none"
auth_unix_rw="none"
host_uuid="{identity}"
log_outputs="2:stderr"
'''
_QEMU = '''user="root"
group="root"
remember_owner=0
namespaces=[]
cgroup_controllers=[]
security_driver="none"
'''

# The classes of vm-domains 4.1, by state and reason.
ALIVE, PAUSED, INCOMING, DYING, NONE, UNKNOWN = 'A', 'P', 'I', 'D', 'N', '?'
Guest = collections.namedtuple('Guest', 'pid uuid')
Life = collections.namedtuple('Life', 'begun ended reason')

libvirt.registerErrorHandler(lambda _context, _error: None, None)


_events = None


def _run_events():
    while True:
        libvirt.virEventRunDefaultImpl()


def connect(uri, patience=3):
    """A connection whose calls fail within so many seconds when the other side is gone without a word."""
    global _events
    if _events is None:
        libvirt.virEventRegisterDefaultImpl()
        _events = threading.Thread(target=_run_events, daemon=True)
        _events.start()
    opened = libvirt.open(uri)
    opened.setKeepAlive(1, patience)
    return opened


def read(path):
    try:
        with open(path, errors='replace') as file:
            return file.read()
    except OSError:
        return ''


def class_of(state, reason):
    if state in (libvirt.VIR_DOMAIN_RUNNING, libvirt.VIR_DOMAIN_BLOCKED):
        return ALIVE
    if state == libvirt.VIR_DOMAIN_PAUSED:
        if reason == libvirt.VIR_DOMAIN_PAUSED_MIGRATION:
            return INCOMING
        return DYING if reason == libvirt.VIR_DOMAIN_PAUSED_SHUTTING_DOWN else PAUSED
    if state == libvirt.VIR_DOMAIN_PMSUSPENDED:
        return PAUSED
    return DYING if state == libvirt.VIR_DOMAIN_SHUTDOWN else NONE


def hosts_lines(node, hosts):
    """Lines of /etc/hosts: every node by its full name; itself and those that are no coordinators by the short one too.
    A coordinator's short name leads to its ZooKeeper server, which in the lab is not on the node."""
    lines = []
    for number in _NAMES:
        name = f'pvchv{number}'
        address = f'{node.address.rsplit(".", 1)[0]}.{number}'
        own = name == node.short or name not in hosts
        lines.append(f'{address} {name}.{DOMAIN}' + (f' {name}' if own else ''))
    return lines


class Hypervisor:
    def __init__(self, node, cache):
        self.node = node
        self.folder = os.path.join(node.folder, 'libvirt')
        self.cache = cache
        self.identity = str(uuid.uuid4())
        self.libvirtd = None
        self.virtlogd = None
        self._opened = {}

    # --- power ---

    def prepare(self):
        """Before the node boots: its folders and configuration. node_boot.sh puts them in their places."""
        shutil.rmtree(self.folder, ignore_errors=True)
        for part in ('etc', 'lib', 'upper', 'scratch'):
            os.makedirs(os.path.join(self.folder, part))
        os.makedirs(self.cache, exist_ok=True)
        os.symlink(self.cache, os.path.join(self.folder, 'cache'))
        os.makedirs(os.path.join(self.node.folder, 'log', 'libvirt'), exist_ok=True)
        for name, text in (('libvirtd.conf', _LIBVIRTD.format(address='0.0.0.0' if self.node.bare else self.node.address, identity=self.identity)),
                           ('qemu.conf', _QEMU), ('virtlogd.conf', 'log_outputs="2:stderr"\n')):
            with open(os.path.join(self.folder, 'etc', name), 'w') as file:
                file.write(text)

    def power_on(self):
        self.virtlogd = self.node.spawn(['/usr/sbin/virtlogd', '-f', '/etc/libvirt/virtlogd.conf'], self.log_path('virtlogd'))
        self.start()

    def power_off(self):
        """The node lost its power: the processes are gone already."""
        for process in (self.libvirtd, self.virtlogd):
            if process is not None:
                process.carrier.wait(10)
        self.libvirtd = self.virtlogd = None

    # --- libvirtd ---

    def start(self, wait=True):
        self.libvirtd = self.node.spawn(['/usr/sbin/libvirtd', '--listen', '-f', '/etc/libvirt/libvirtd.conf'],
                                        self.log_path('libvirtd'))
        if wait:
            self.wait_ready()

    def wait_ready(self, timeout=60.0):
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline and self.libvirtd.alive():
            try:
                # At its own address it listens only if that was there in time.
                if not self.node.bare:
                    with socket.create_connection((self.node.address, PORT), 1):
                        pass
                self.connection().getLibVersion()
                return
            except (OSError, libvirt.libvirtError):
                self.drop()
                time.sleep(0.02)
        raise RuntimeError(f'{self.node.label}: libvirtd does not come up:\n' + self.log()[-2000:])

    def stop(self):
        """In order; the guests go on."""
        self._end(signal.SIGTERM)

    def kill(self):
        self._end(signal.SIGKILL)

    def _end(self, number):
        self.drop()
        self.libvirtd.signal(number)
        self.libvirtd.wait(15)

    def restart(self):
        self.stop()
        self.start()

    def freeze(self):
        self.drop()
        self.libvirtd.freeze()

    def thaw(self):
        self.libvirtd.thaw()

    # --- what it says ---

    @property
    def uri(self):
        if self.node.bare:
            return 'qemu+unix:///system?socket=' + self.node.run_path('libvirt', 'libvirt-sock')
        return f'qemu+tcp://{self.node.address}/system'

    @property
    def test_uri(self):
        """The same libvirtd, with libvirt's own test driver behind it."""
        return f'test+tcp://{self.node.address}/default'

    def connection(self, uri=None):
        """A connection that stays; do not use it while libvirtd is frozen."""
        uri = uri or self.uri
        if uri not in self._opened:
            self._opened[uri] = connect(uri)
        return self._opened[uri]

    def drop(self):
        for opened in self._opened.values():
            try:
                opened.close()
            except libvirt.libvirtError:
                pass
        self._opened = {}

    def domain(self, guest, uri=None):
        """libvirt's handle of a guest, None without one."""
        try:
            return self.connection(uri).lookupByUUIDString(guest)
        except libvirt.libvirtError as error:
            if error.get_error_code() == libvirt.VIR_ERR_NO_DOMAIN:
                return None
            raise

    def look(self, guest, uri=None):
        """Class of a guest as vm-domains 4.1 names them; `?` when libvirt does not answer."""
        try:
            found = self.domain(guest, uri)
            return NONE if found is None else class_of(*found.state()[:2])
        except libvirt.libvirtError as error:
            if error.get_error_code() == libvirt.VIR_ERR_NO_DOMAIN:
                return NONE
            self.drop()
            return UNKNOWN

    def active(self, uri=None):
        """UUIDs of every active domain."""
        return sorted(found.UUIDString() for found in self.connection(uri).listAllDomains(libvirt.VIR_CONNECT_LIST_DOMAINS_ACTIVE))

    def virsh(self, *words, uri=None, timeout=60.0):
        """Exit status and output of a virsh in the node."""
        done = subprocess.run(self.node.command(['/usr/bin/virsh', '-q', '-c', uri or 'qemu:///system', *words]),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout)
        return done.returncode, done.stdout.decode(errors='replace').strip()

    # --- QEMU ---

    def guests(self):
        """Every QEMU process of the node that is a guest: process id as the lab sees it, and UUID."""
        found = []
        inside = os.readlink(f'/proc/{self.node.first}/ns/pid')
        for path in glob.glob('/proc/[0-9]*/cmdline'):
            try:
                with open(path, 'rb') as file:
                    words = file.read().split(b'\0')
                if b'-uuid' in words and os.readlink(os.path.dirname(path) + '/ns/pid') == inside:
                    found.append(Guest(int(path.split('/')[2]), words[words.index(b'-uuid') + 1].decode()))
            except (OSError, IndexError):
                continue
        return found

    def pid_of(self, guest):
        return next((one.pid for one in self.guests() if one.uuid == guest), None)

    def kill_guest(self, guest):
        os.kill(self.pid_of(guest), signal.SIGKILL)

    def log_path(self, name):
        return os.path.join(self.node.folder, name + '.log')

    def log(self):
        return ''.join(line for line in read(self.log_path('libvirtd')).splitlines(keepends=True)
                       if not re.search(r'ethtool ioctl|udevGetDMIData|dmidecode|dnsmasq|DBus|GDBus', line))

    def creations(self, guest):
        """When libvirtd began to create it, each time: it warns of a guest that runs as root just before it starts QEMU."""
        found = re.findall(r'^(\S+ \S+?)\+0000: .* uuid=' + guest + r' is tainted: high-privileges$', self.log(), re.MULTILINE)
        return [datetime.datetime.fromisoformat(text + '+00:00').timestamp() for text in found]

    def lives(self, name):
        """When libvirtd began to start a guest of that name and when it saw its end (None: it lives), with the reason, each time."""
        found = []
        for stamp, what, reason in re.findall(r'^(\S+ \S+?)\+0000: (starting up|shutting down)(?:, reason=(\w+))?',
                                              read(os.path.join(self.node.folder, 'log', 'libvirt', 'qemu', name + '.log')), re.MULTILINE):
            when = datetime.datetime.fromisoformat(stamp + '+00:00').timestamp()
            if what == 'starting up':
                found.append(Life(when, None, ''))
            elif found:
                found[-1] = Life(found[-1].begun, when, reason)
        return found

    def console(self, name):
        return os.path.join(self.node.folder, 'log', 'libvirt', name + '.log')
