"""Real ZooKeeper servers, the tree a cluster starts with, and the transaction log read back."""
import collections
import glob
import os
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time

from kazoo.client import KazooClient

from . import space

_LOG4J = '''log4j.rootLogger=INFO, A
log4j.appender.A=org.apache.log4j.ConsoleAppender
log4j.appender.A.layout=org.apache.log4j.PatternLayout
log4j.appender.A.layout.ConversionPattern=%d %p %m%n
'''


_HERE = os.path.dirname(os.path.abspath(__file__))
_JAR = '/usr/share/java/zookeeper.jar'
_JAVA = ['java', '-XX:-UseContainerSupport', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Xshare:auto', '-XX:-UsePerfData', '-Xmx160m',
         '-Dzookeeper.preAllocSize=4096']
_MAIN = ['-cp', _JAR, 'org.apache.zookeeper.server.quorum.QuorumPeerMain']


def _archive():
    """Where the classes of a server are kept as the machine of Java has them in memory: a third of the time of a start."""
    java = shutil.which('java')
    if java is None or not os.path.exists(_JAR):
        return None
    of = '-'.join(f'{os.stat(path).st_mtime_ns:x}' for path in (_JAR, os.path.realpath(java)))
    return os.path.join(os.path.dirname(os.path.dirname(_HERE)), 'build', f'zookeeper-{of}.jsa')


def prepare():
    """Makes that archive, if it can be made; servers start without it, too."""
    path = _archive()
    if path is None or os.path.exists(path):
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        port = free_port('127.0.0.1')
        with open(os.path.join(folder, 'zoo.cfg'), 'w') as file:
            file.write(f'dataDir={folder}/data\nclientPort={port}\nclientPortAddress=127.0.0.1\n4lw.commands.whitelist=*\nadmin.enableServer=false\n')
        process = subprocess.Popen([*_JAVA, f'-XX:ArchiveClassesAtExit={folder}/made.jsa', *_MAIN, os.path.join(folder, 'zoo.cfg')],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            client = KazooClient(f'127.0.0.1:{port}')
            client.start(timeout=20)
            client.create('/a', b'')
            client.set('/a', b'b')
            client.get_children('/', watch=lambda _event: None)
            client.delete('/a')
            client.stop()
            client.close()
            process.terminate()
            process.wait(20)
            shutil.copyfile(os.path.join(folder, 'made.jsa'), path + f'.{os.getpid()}')
            os.rename(path + f'.{os.getpid()}', path)
        except Exception:
            pass
        finally:
            process.kill()
            process.wait()


def free_port(address):
    with socket.socket() as probe:
        probe.bind((address, 0))
        return probe.getsockname()[1]


class Server:
    """One server process on an address of its own in the lab's network."""

    def __init__(self, folder, number, settings):
        self.number = number
        self.folder = folder
        self.address = f'{space.NETWORK}.{200 + number}'
        space.sh('ip', 'address', 'add', self.address + '/24', 'dev', 'lab0')
        self.port = free_port(self.address)
        self.peer_ports = (free_port(self.address), free_port(self.address))
        self.settings = settings
        self.process = None
        os.makedirs(self.data, exist_ok=True)
        with open(os.path.join(folder, 'log4j.properties'), 'w') as file:
            file.write(_LOG4J)

    @property
    def data(self):
        return os.path.join(self.folder, 'data')

    def configure(self, servers):
        lines = [f'dataDir={self.data}', f'clientPort={self.port}', f'clientPortAddress={self.address}',
                 '4lw.commands.whitelist=*', 'admin.enableServer=false', 'initLimit=20', 'syncLimit=10',
                 'maxClientCnxns=0', 'snapCount=1000000']
        lines += [f'{key}={value}' for key, value in self.settings.items()]
        if len(servers) > 1:
            lines += [f'server.{s.number}={s.address}:{s.peer_ports[0]}:{s.peer_ports[1]}' for s in servers]
            with open(os.path.join(self.data, 'myid'), 'w') as file:
                file.write(f'{self.number}\n')
        with open(os.path.join(self.folder, 'zoo.cfg'), 'w') as file:
            file.write('\n'.join(lines) + '\n')

    def start(self):
        log = open(os.path.join(self.folder, 'server.log'), 'ab')
        archive = _archive()
        kept = [f'-XX:SharedArchiveFile={archive}'] if archive and os.path.exists(archive) else []
        self.process = subprocess.Popen(
            [*_JAVA, *kept, f'-Dlog4j.configuration=file:{self.folder}/log4j.properties', *_MAIN, os.path.join(self.folder, 'zoo.cfg')],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder, start_new_session=True)
        log.close()

    def command(self, word, timeout=2.0):
        """Sends a four-letter word; the answer, or '' from a server that does not answer."""
        try:
            with socket.create_connection((self.address, self.port), timeout) as stream:
                stream.sendall(word.encode())
                answer = b''
                while chunk := stream.recv(65536):
                    answer += chunk
                return answer.decode(errors='replace')
        except OSError:
            return ''

    def counters(self):
        return {key: value for key, _, value in (line.partition('\t') for line in self.command('mntr').splitlines())}

    def wait_ready(self, timeout=90.0):
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            if 'Mode:' in self.command('srvr', 1.0):
                return
            time.sleep(0.03)
        with open(os.path.join(self.folder, 'server.log'), errors='replace') as log:
            raise RuntimeError(f'ZooKeeper server {self.number} does not come up:\n' + log.read()[-2000:])

    def stop(self):
        self.end(signal.SIGTERM)

    def kill(self):
        self.end(signal.SIGKILL)

    def end(self, number):
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(number)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process = None

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def lose_power(self):
        """Nobody is told of its end."""
        space.sh('ip', 'address', 'del', self.address + '/24', 'dev', 'lab0')
        self.kill()

    def gain_power(self):
        if self.process is None:
            space.sh('ip', 'address', 'add', self.address + '/24', 'dev', 'lab0')
            self.start()

    def clients(self):
        """Addresses of those that are connected to it."""
        return {line.split(':')[0].strip(' /') for line in self.command('cons').splitlines() if ':' in line}

    def move(self):
        """Gives the server a new address; it must be stopped, configured and started again by the caller."""
        self.address = f'{space.NETWORK}.{210 + self.number}'
        space.sh('ip', 'address', 'add', self.address + '/24', 'dev', 'lab0')
        self.port = self.port if port_is_free(self.address, self.port) else free_port(self.address)


def port_is_free(address, port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
            return True
        except OSError:
            return False


class Ensemble:
    """One server, or three that agree."""

    def __init__(self, folder, servers=1, start=True, **settings):
        self.settings = {'tickTime': 500, 'maxSessionTimeout': 10000, **settings}
        self.servers = []
        for number in range(1, servers + 1):
            place = os.path.join(folder, f'zookeeper{number}')
            os.makedirs(place)
            self.servers.append(Server(place, number, self.settings))
        for server in self.servers:
            server.configure(self.servers)
        if start:
            self.start()

    @property
    def one(self):
        return self.servers[0]

    def leader(self):
        return next((server for server in self.servers if server.counters().get('zk_server_state') == 'leader'), None)

    @property
    def connect_string(self):
        return ','.join(f'{s.address}:{s.port}' for s in self.servers)

    def start(self):
        for server in self.servers:
            server.start()
        for server in self.servers:
            server.wait_ready()

    def stop(self):
        for server in self.servers:
            server.stop()

    def kill(self):
        for server in self.servers:
            server.kill()

    def restart(self):
        self.stop()
        self.start()

    def freeze(self):
        for server in self.servers:
            server.freeze()

    def thaw(self):
        for server in self.servers:
            server.thaw()

    def history(self):
        """Every committed operation, oldest first, from the log of the server that has most of them."""
        return max((read_log(server.data) for server in self.servers), key=len)


def base_tree(version):
    """The keys of a fresh cluster of one schema version, parents first (schema specification 7 and 9.1)."""
    paths = ['/schema', '/schema/version', '/config', '/config/maintenance', '/config/primary_node',
             '/config/primary_node/sync_lock']
    if version >= 15:
        paths.append('/config/fence_lock')
    paths += ['/config/upstream_ip', '/config/migration_target_selector']
    if version >= 4:
        paths.append('/logs')
    if version >= 11:
        paths.append('/faults')
    paths += ['/nodes', '/domains', '/networks', '/ceph']
    if version >= 9:
        paths.append('/ceph/health')
    paths += ['/ceph/util', '/ceph/osds', '/ceph/pools', '/ceph/volumes', '/ceph/snapshots']
    if version <= 9:
        paths += ['/cmd', '/cmd/nodes', '/cmd/domains', '/cmd/ceph']
    return [(path, str(version) if path == '/schema/version' else '') for path in paths]


def node_record(version, mode='coordinator', **values):
    """A node's record as the reference leaves it behind: suffix and value, parents first."""
    now = str(int(time.time()))
    record = {'': mode, '/keepalive': now, '/daemonmode': mode, '/activeschema': str(version),
              '/latestschema': str(version), '/staticdata': '8 6.1.0-13-amd64 GNU/Linux x86_64', '/pvcversion': '0.9.82',
              '/runningdomains': '', '/domainscount': '0', '/networkscount': '0', '/daemonstate': 'stop',
              '/routerstate': 'secondary' if mode == 'coordinator' else 'client', '/domainstate': 'flushed',
              '/cpuload': '0.0', '/vcpualloc': '0', '/memtotal': '0', '/memused': '0', '/memfree': '0', '/memalloc': '0',
              '/memprov': '0', '/ipmihostname': '', '/ipmiusername': '', '/ipmipassword': ''}
    if version >= 1:
        record.update({'/sriov': '', '/sriov/pf': '', '/sriov/vf': ''})
    if version >= 9:
        record.update({'/monitoring_plugins': '', '/monitoring_data': '', '/monitoring_health': ''})
    if version >= 12:
        record['/network_stats'] = '{}'
    if version < 2:
        del record['/pvcversion']
    record.update({'/' + key: value for key, value in values.items()})
    return record


DOMAIN_XML = ("<domain type='kvm'><name>{name}</name><uuid>{uuid}</uuid><memory unit='MiB'>1024</memory>"
              "<vcpu>2</vcpu><devices/></domain>")


def domain_record(version, uuid, name, node):
    """A stopped VM as the client side defines it."""
    record = {'': name, '/xml': DOMAIN_XML.format(name=name, uuid=uuid), '/state': 'stop', '/profile': 'None', '/stats': '',
              '/node': node, '/lastnode': '', '/failedreason': '', '/rbdlist': '', '/consolelog': '', '/vnc': '',
              '/node_autostart': 'False', '/migration_method': 'none', '/node_selector': 'none', '/node_limit': '',
              '/migrate_sync_lock': ''}
    if version >= 3:
        record['/tags'] = ''
    if version >= 13:
        record['/migration_max_downtime'] = '300'
    if version >= 14:
        record['/snapshots'] = ''
    return record


# --- the transaction log ---------------------------------------------------------------------------------------------

Change = collections.namedtuple('Change', 'time session zxid operation path value ephemeral acl')
_CREATE, _DELETE, _SET, _CHECK, _MULTI = (1, 15, 19, 21), (2, 20), 5, 13, 14


class _Reader:
    def __init__(self, data):
        self.data = data
        self.at = 0

    def take(self, form):
        values = struct.unpack_from('>' + form, self.data, self.at)
        self.at += struct.calcsize('>' + form)
        return values if len(values) > 1 else values[0]

    def blob(self):
        length = self.take('i')
        if length < 0:
            return None
        self.at += length
        return self.data[self.at - length:self.at]

    def text(self):
        return (self.blob() or b'').decode(errors='replace')


def read_log(folder):
    """Every committed operation in a server's data folder, oldest first."""
    changes = []
    for name in sorted(glob.glob(os.path.join(folder, 'version-2', 'log.*')), key=lambda n: int(n.rsplit('.', 1)[1], 16)):
        with open(name, 'rb') as file:
            data = file.read()
        at = 16
        while at + 12 <= len(data):
            _checksum, length = struct.unpack_from('>qi', data, at)
            if length <= 0 or at + 12 + length + 1 > len(data) or data[at + 12 + length] != 0x42:
                break
            changes.extend(_decode(_Reader(data[at + 12:at + 12 + length])))
            at += 12 + length + 1
    return changes


def _decode(reader):
    session, _cxid, zxid, stamp, kind = reader.take('qiqqi')
    common = (stamp / 1000.0, session, zxid)
    if kind == _MULTI:
        for _ in range(reader.take('i')):
            inner = reader.take('i')
            yield from _operation(common, inner, _Reader(reader.blob() or b''))
    else:
        yield from _operation(common, kind, reader)


def _operation(common, kind, reader):
    if kind in _CREATE:
        path, value = reader.text(), reader.blob()
        acl = []
        for _ in range(max(reader.take('i'), 0)):
            permissions, scheme, who = reader.take('i'), reader.text(), reader.text()
            acl.append((permissions, scheme, who))
        ephemeral = bool(reader.take('?')) if kind in (1, 15) else False
        yield Change(*common, 'create', path, value, ephemeral, acl)
    elif kind in _DELETE:
        yield Change(*common, 'delete', reader.text(), None, False, None)
    elif kind == _SET:
        yield Change(*common, 'set', reader.text(), reader.blob(), False, None)
    elif kind == _CHECK:
        yield Change(*common, 'check', reader.text(), None, False, None)
    elif kind == -10:
        yield Change(*common, 'session', '', None, False, None)
    elif kind == -11:
        yield Change(*common, 'close', '', None, False, None)
    elif kind == -1:
        yield Change(*common, 'error', '', None, False, None)


def commit(zk, operations):
    """One transaction: (`create` or `set`, path, text) each."""
    transaction = zk.transaction()
    for kind, path, value in operations:
        (transaction.create if kind == 'create' else transaction.set_data)(path, value.encode())
    for result, operation in zip(transaction.commit(), operations):
        if isinstance(result, Exception):
            raise RuntimeError(f'cannot {operation[0]} {operation[1]}: {result!r}')


def session_password(session):
    """The password a server gives a session (it is computed from the id), so that a test can connect as that session."""
    def step(state):
        return (state * 0x5DEECE66D + 0xB) & ((1 << 48) - 1)
    state = ((session ^ 0xB3415C00) ^ 0x5DEECE66D) & ((1 << 48) - 1)
    password = b''
    while len(password) < 16:
        state = step(state)
        value = state >> 16 & 0xFFFFFFFF
        password += value.to_bytes(4, 'little')
    return password
