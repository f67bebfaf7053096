"""Networks of nodes that bring them up themselves: their shapes, what is seen of them, and those who talk through them.

The lab's network is one segment (the bridge lab0) with three subnets, as a switch without VLANs would have it. What EVPN does
in a cluster, the forwarding of what is sent to all of a VXLAN, is set here by hand (flood).
"""
import json
import os
import re
import signal
import subprocess
import sys
import time

from . import space, zookeeper
from .lab import NoVerdict, within

CLUSTER, STORAGE, UPSTREAM = space.NETWORK, '10.254.0', '10.253.0'
SUBNETS = {'cluster': CLUSTER, 'storage': STORAGE, 'upstream': UPSTREAM}
BRIDGES = {'cluster': 'brcluster', 'storage': 'brstorage', 'upstream': 'brupstream'}
LAB, FLOATING = 250, 254  # host numbers: the lab's own, and the one that the primary has
METADATA = '169.254.169.254'
HERE = os.path.dirname(os.path.abspath(__file__))
TALKER = os.path.join(HERE, 'talker.py')
PATIENCE = 30.0  # a prober that has not had its turn by then gets none


class Shape:
    """Which devices a node has and which network is on which. present: those it has from power-on; the others come late."""

    def __init__(self, upstream='ens4', cluster='ens4', storage='ens4', mtu=None, address=None, bridge_device=None, bridge_mtu=None,
                 present=None, gateway=f'{UPSTREAM}.{LAB}'):
        self.devices = {'upstream': upstream, 'cluster': cluster, 'storage': storage}
        self.mtu = {role: 1500 for role in SUBNETS} | (mtu or {})
        self.address = {role: 'by-id' for role in SUBNETS} | (address or {})
        self.bridge_device, self.bridge_mtu, self.gateway = bridge_device, bridge_mtu, gateway
        everything = [cluster, storage, upstream, *([bridge_device] if bridge_device else [])]
        self.present = tuple(dict.fromkeys(everything)) if present is None else tuple(present)

    def bridge_of(self, role):
        """networking.md 3.1."""
        for other in ('cluster', 'storage'):
            if self.devices[role] == self.devices[other]:
                return BRIDGES[other]
        return BRIDGES[role]

    def bridges(self):
        return sorted({self.bridge_of(role) for role in SUBNETS})

    def settings(self):
        values = {'functions.enable_networking': True,
                  'system.configuration.networking.sriov_enable': False,
                  'system.configuration.networking.bridge_device': self.bridge_device,
                  'system.configuration.networking.bridge_mtu': self.bridge_mtu,
                  'cluster.networks.upstream.gateway': self.gateway}
        for role, subnet in SUBNETS.items():
            values[f'cluster.networks.{role}.network'] = f'{subnet}.0/24'
            values[f'cluster.networks.{role}.floating_ip'] = f'{subnet}.{FLOATING}/24'
            values[f'system.configuration.networking.{role}.device'] = self.devices[role]
            values[f'system.configuration.networking.{role}.mtu'] = self.mtu[role]
            values[f'system.configuration.networking.{role}.address'] = self.address[role]
        return values

    @staticmethod
    def prepare_lab():
        for subnet in (STORAGE, UPSTREAM):
            space.sh('ip', 'address', 'replace', f'{subnet}.{LAB}/24', 'dev', 'lab0')


def three_devices(**options):
    return Shape(upstream='ens4', cluster='ens5', storage='ens6', **options)


# --- what is seen of a node ---

class View:
    """Links, addresses and routes of a node at one moment, as `ip` shows them, without what changes by itself."""

    def __init__(self, node):
        self.links = {link['ifname']: link for link in self._ask(node, '-d', 'link')}
        self.addresses = {link['ifname']: link['addr_info'] for link in self._ask(node, 'addr')}
        self.routes = self._ask(node, 'route', 'show', 'table', 'all')

    @staticmethod
    def _ask(node, *words):
        return _steady(json.loads(node.enter('ip', '-j', *words) or '[]'))

    @property
    def text(self):
        return json.dumps([self.links, self.addresses, self.routes], indent=1, sort_keys=True)

    def has(self, name):
        return name in self.links

    def index(self, name):
        return self.links[name]['ifindex'] if name in self.links else None

    def ports(self, bridge):
        return sorted(name for name, link in self.links.items() if link.get('master') == bridge)

    def mtu(self, name):
        return self.links[name]['mtu'] if name in self.links else None

    def is_up(self, name):
        return name in self.links and 'UP' in self.links[name]['flags']

    def kind(self, name):
        return self.links[name].get('linkinfo', {}).get('info_kind') if name in self.links else None

    def data(self, name):
        return self.links[name].get('linkinfo', {}).get('info_data', {}) if name in self.links else {}

    def on(self, name, family=None, link_local=False):
        """Addresses of a device with their prefix lengths, in order."""
        return [f'{one["local"]}/{one["prefixlen"]}' for one in self.addresses.get(name, [])
                if family in (None, one['family']) and (link_local or one['scope'] != 'link')]

    def default_routes(self):
        return [route for route in self.routes if route['dst'] == 'default' and 'gateway' in route]


def _steady(value):
    if isinstance(value, list):
        return [_steady(one) for one in value]
    if isinstance(value, dict):
        return {key: _steady(one) for key, one in value.items()
                if not re.search(r'_timer$|^(valid|preferred)_life_time$|^topology_change', key)}
    return value


def sysctl(node, key):
    """Value of a key below /proc/sys in the node; None: there is no such key."""
    path = f'/proc/{node.first}/root/proc/sys/{key}'
    done = subprocess.run(['nsenter', '-t', str(node.first), '-n', 'cat', path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def set_sysctl(node, key, value):
    subprocess.run(['nsenter', '-t', str(node.first), '-n', 'tee', f'/proc/{node.first}/root/proc/sys/{key}'], input=f'{value}\n', text=True,
                   stdout=subprocess.DEVNULL, check=True)


def has_checksum_offload(node, device):
    return 'tx-checksumming: on' in node.enter('ethtool', '-k', device)


def floating_addresses(shape):
    """Where the addresses of a primary are: device -> addresses."""
    found = {'lo': [f'{METADATA}/32']}
    for role, subnet in SUBNETS.items():
        found.setdefault(shape.bridge_of(role), []).append(f'{subnet}.{FLOATING}/24')
    return found


def held(view, shape, gateways=()):
    """Which of the addresses of a primary a node has, as (device, address) pairs. gateways: (vni, address with length)."""
    wanted = [(device, one) for device, all_of_them in floating_addresses(shape).items() for one in all_of_them]
    wanted += [(f'vmbr{vni}', one) for vni, one in gateways]
    return [(device, one) for device, one in wanted if one in view.on(device)]


# --- client networks as clients of the cluster write them (networking.md 5.1) ---

def record(vni, description, nettype='managed', **values):
    """All keys of a network, parents first: ip4='10.1.1.0/24', gateway4='10.1.1.1', ip6, gateway6, mtu, domain, …"""
    unset = 'None'
    keys = {'': description, '/nettype': nettype, '/mtu': values.get('mtu', ''),
            '/domain': values.get('domain', f'{description}.local' if nettype == 'managed' else unset),
            '/name_servers': values.get('name_servers', ''),
            '/ip6_network': values.get('ip6', unset), '/ip6_gateway': values.get('gateway6', unset),
            '/dhcp6_flag': 'True' if 'ip6' in values else 'False',
            '/ip4_network': values.get('ip4', unset), '/ip4_gateway': values.get('gateway4', unset),
            '/dhcp4_flag': 'False', '/dhcp4_start': unset, '/dhcp4_end': unset,
            '/dhcp4_leases': '', '/dhcp4_reservations': '', '/firewall_rules': '', '/firewall_rules/in': '', '/firewall_rules/out': ''}
    return [(f'/networks/{vni}{suffix}', value) for suffix, value in keys.items()]


def create(zk, vni, description=None, nettype='managed', **values):
    """One transaction with all keys, as the API does it."""
    zookeeper.commit(zk, [('create', *pair) for pair in record(vni, description or f'net{vni}', nettype, **values)])


def modify(zk, vni, **values):
    """Keys by their last part (ip4_gateway='10.1.1.126'), in one transaction."""
    zookeeper.commit(zk, [('set', f'/networks/{vni}/{key}', value) for key, value in values.items()])


def remove(zk, vni):
    zk.delete(f'/networks/{vni}', recursive=True)


def set_acls(zk, vni, direction, texts):
    """These and no others, each with what nft says of it in order, in one transaction."""
    base = f'/networks/{vni}/firewall_rules/{direction}'
    change = zk.transaction()
    for name in zk.get_children(base):
        for key in zk.get_children(f'{base}/{name}'):
            change.delete(f'{base}/{name}/{key}')
        change.delete(f'{base}/{name}')
    for order, text in enumerate(texts):
        _add_acl(change, f'{base}/rule{order}', order, text)
    _judge(change.commit())


def put_acl(zk, vni, direction, name, order, text):
    change = zk.transaction()
    _add_acl(change, f'/networks/{vni}/firewall_rules/{direction}/{name}', order, text)
    _judge(change.commit())


def _add_acl(change, path, order, text):
    change.create(path, b'')
    change.create(f'{path}/order', str(order).encode())
    change.create(f'{path}/rule', text.encode())


def _judge(results):
    for result in results:
        if isinstance(result, Exception):
            raise RuntimeError(f'the transaction failed: {results!r}')


def managed(number):
    """An ordinary network: values for create()."""
    return {'ip4': f'10.1.{number}.0/24', 'gateway4': f'10.1.{number}.1'}


# --- VXLANs without EVPN ---

def flood(nodes, vni):
    """What is sent to all of a VXLAN goes to every one of these nodes that has it."""
    for node in nodes:
        known = node.enter('bridge', 'fdb', 'show', 'dev', f'vxlan{vni}', check=False)
        for other in nodes:
            if other is not node and f'00:00:00:00:00:00 dst {other.address} ' not in known + ' ':
                node.enter('bridge', 'fdb', 'append', '00:00:00:00:00:00', 'dev', f'vxlan{vni}', 'dst', other.address, check=False)


# --- who talks through them ---

class Station:
    """A host of its own: a network namespace with one device, in the lab's network or in a bridge of a node."""

    def __init__(self, lab, name):
        self.name = name
        self.folder = os.path.join(lab.folder, 'stations')
        os.makedirs(self.folder, exist_ok=True)
        self.process = subprocess.Popen(['unshare', '--net', 'sleep', 'infinity'], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        own, deadline = os.readlink('/proc/self/ns/net'), time.monotonic() + 30
        while os.readlink(f'/proc/{self.process.pid}/ns/net') == own:
            if time.monotonic() > deadline:
                raise RuntimeError(f'{name} gets no namespace')
            time.sleep(0.002)
        self.enter('ip', 'link', 'set', 'lo', 'up')
        self.pings = 0

    def enter(self, *words, check=True):
        return space.sh('nsenter', '-t', str(self.process.pid), '-n', *words, check=check)

    def in_lab(self, *addresses, gateway=None):
        """Plugged into the lab's network. addresses with their lengths."""
        outside = f's-{self.name[:12]}'
        space.sh('ip', 'link', 'add', outside, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', str(self.process.pid))
        space.sh('ip', 'link', 'set', outside, 'master', 'lab0', 'up')
        return self._address(addresses, gateway)

    def in_node(self, node, bridge, *addresses, gateway=None, is_container=False):
        """Plugged into a bridge of a node, as a virtual machine is, or a container of the host."""
        # By this name it is known as a machine's, as its kind, which is a container's, does not tell.
        tap = f'{"veth" if is_container else "vnet"}-{self.name[:10]}'
        node.enter('ip', 'link', 'add', tap, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', f'/proc/{self.process.pid}/ns/net')
        node.enter('ip', 'link', 'set', tap, 'master', bridge, 'up')
        return self._address(addresses, gateway)

    def _address(self, addresses, gateway):
        self.enter('ip', 'link', 'set', 'eth0', 'up')
        for one in addresses:
            self.enter('ip', 'address', 'add', one, 'dev', 'eth0', *(['nodad'] if ':' in one else []))
        if gateway is not None:
            self.enter('ip', 'route', 'add', 'default', 'via', gateway)
        return self

    def answer(self, *ports):
        """Echoes on these ("tcp/22") over both families."""
        return Answerer(['nsenter', '-t', str(self.process.pid), '-n'], ports)

    def asks(self, kind, address, port, seconds=0.3, source=None):
        """'answered', 'silent' or 'refused'."""
        words = [kind, address, str(port), str(seconds), *([str(source)] if source else [])]
        done = subprocess.run(['nsenter', '-t', str(self.process.pid), '-n', sys.executable, '-B', TALKER, 'ask', *words],
                              stdin=subprocess.DEVNULL, timeout=60)
        return {0: 'answered', 1: 'silent', 3: 'refused'}.get(done.returncode, f'exit {done.returncode}')

    def asks_all(self, whom, seconds=0.25):
        """The same of all (kind, address, port) at once."""
        done = subprocess.run(['nsenter', '-t', str(self.process.pid), '-n', sys.executable, '-B', TALKER, 'ask-all', str(seconds),
                               *(','.join(str(word) for word in one) for one in whom)],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, timeout=60)
        return [{0: 'answered', 1: 'silent', 3: 'refused'}.get(int(line)) for line in done.stdout.split()]

    def flow(self, kind, address, port, every=0.005):
        self.pings += 1
        path = os.path.join(self.folder, f'{self.name}.{self.pings}')
        return Ping(self, address, path, every, [TALKER, 'flow', kind, address, str(port), str(every), path])

    def ping(self, address, every=0.02):
        self.pings += 1
        return Ping(self, address, os.path.join(self.folder, f'{self.name}.{self.pings}'), every)

    def neighbour(self, address):
        """Hardware address that it has for another one."""
        found = re.search(r'lladdr (\S+)', self.enter('ip', 'neigh', 'show', address))
        return found.group(1) if found else ''

    def close(self):
        self.process.kill()
        self.process.wait()


class Answerer:
    """Answers until it is closed (talker.py). way: how to get to where it shall be."""

    def __init__(self, way, ports):
        self.process = subprocess.Popen([*way, sys.executable, '-B', TALKER, 'answer', *ports], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != 'ready\n':
            raise RuntimeError(f'nobody answers on {ports}')

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Ping:
    """Sends one packet after the other without waiting for answers (prober.py), until it is told to stop. It is judged by what was
    sent and what came back; when the prober had its turn is no matter, and what it may have lost is no verdict."""

    def __init__(self, station, address, path, every, words=None):
        self.address = address
        self.path = path
        self.every = every
        self.marks = 0
        self.process = subprocess.Popen(['nsenter', '-t', str(station.process.pid), '-n', sys.executable, '-B',
                                         *(words or [os.path.join(HERE, 'prober.py'), address, str(every), path])],
                                        stdin=subprocess.PIPE)

    def _lines(self):
        try:
            with open(self.path) as file:
                return file.read().split('\n')[:-1]
        except OSError:
            return []

    def _all_lines(self):
        """With everything that had come before this call."""
        self.marks += 1
        last, deadline = f'm {self.marks}', time.monotonic() + PATIENCE
        try:
            self.process.stdin.write(f'{self.marks}\n'.encode())
            self.process.stdin.flush()
        except (OSError, ValueError):
            pass  # it has ended, or was stopped
        while True:
            has_ended = self.process.poll() is not None
            lines = self._lines()
            if last in lines[-200:] or 'end' in lines[-1:]:
                break
            if has_ended or time.monotonic() > deadline:
                raise NoVerdict(f'the prober of {self.address} ' + ('has ended' if has_ended else 'had no turn'))
            time.sleep(0.002)
        if 'lost' in lines:
            raise NoVerdict(f'the prober of {self.address} had no room for an answer')
        return lines

    @staticmethod
    def _times(lines):
        sent, answered = {}, {}
        for line in lines:
            if line[0] in 'sr':
                kind, number, at = line.split()
                (sent if kind == 's' else answered).setdefault(int(number), float(at))
        return sent, answered

    def read(self):
        """Number -> time sent, number -> time answered. Times are those of the clock."""
        return self._times(self._all_lines())

    def is_answered(self, since=0.0):
        sent, answered = self._times(self._lines())
        return any(sent[number] >= since for number in answered if number in sent)

    def stop(self):
        """The last packets have a second to come back."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)
        self.process.stdin.close()
        return self

    def lost(self, since=0.0, until=float('inf')):
        """How many of those sent between these times were never answered."""
        sent, answered = self.read()
        return sum(1 for number, at in sent.items() if since <= at <= until and number not in answered)

    def count(self, since=0.0, until=float('inf')):
        return sum(1 for at in self.read()[0].values() if since <= at <= until)

    def await_count(self, count, since):
        """Until so many were sent since then."""
        deadline = time.monotonic() + PATIENCE
        while self.count(since) < count:
            if time.monotonic() > deadline:
                raise NoVerdict(f'the prober of {self.address} had no turn')
            time.sleep(self.every)

    def longest_gap(self, since=0.0, until=float('inf')):
        """The longest time for which what was sent was not answered, and when it began. It is as long as the packets tell that were
        lost one after the other: that none was sent meanwhile tells nothing."""
        sent, answered = self.read()
        worst, begun, before, first = 0.0, 0.0, None, None
        if not any(number in answered and since <= at <= until for number, at in sent.items()):
            return float('inf'), 0.0
        for number, at in sorted(sent.items()):
            if not since <= at <= until:
                continue
            if number in answered:
                before, first = at, None
                continue
            first = at if first is None else first
            gap = at - first + 2 * self.every
            if gap > worst:
                worst, begun = gap, first if before is None else before
        return worst, begun

    def longest_wait(self, since=0.0):
        """Of what was sent since then, until its answer came: what is dropped of a stream comes late."""
        sent, answered = self.read()
        return max((answered[number] - at for number, at in sent.items() if at >= since and number in answered), default=float('inf'))

    def longest_pause(self, since=0.0, until=float('inf')):
        """For which nothing was sent."""
        times = sorted(at for at in self.read()[0].values() if since <= at <= until)
        return max((later - earlier for earlier, later in zip(times, times[1:])), default=0.0)

    def answers_within(self, limit, text, since=0.0, until=float('inf')):
        """No gap is as long as that. It would not be seen if so long nothing was sent."""
        pause = self.longest_pause(since, until)
        if pause >= limit:
            raise NoVerdict(f'the prober of {self.address} sent nothing for {pause:.2f} s')
        within(self.longest_gap(since, until)[0], limit, text)
