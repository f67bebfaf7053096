"""Networks as a foreign node of version 0.9.82 makes them, with `ip`; a part of foreign.py.

Written from networking.md 2.1, 3, 5.3, 5.4 and 6 (columns R), node-lifecycle 3.3, 3.4 and 7.5. What looks wrong here is meant:
no exit status is looked at, the floating addresses go to bridges that may not exist, every node writes its own clamp of an MTU,
secondaries accept router advertisements, an empty value is no change, and an old gateway is removed with the new length. It has
no firewall, no DHCP and no DNS.
"""
import ipaddress
import os
import socket
import struct
import subprocess
import time

import yaml
from kazoo.exceptions import NoNodeError

ROLES = ('cluster', 'storage', 'upstream')
METADATA = '169.254.169.254/32'
MARGIN = 50  # of a VXLAN


def host_address(network, number):
    found = ipaddress.ip_network(network)
    return f'{found.network_address + number}/{found.prefixlen}'


class Settings:
    """What of pvcnoded.yaml it needs."""

    def __init__(self, path, name):
        with open(path) as file:
            pvc = yaml.safe_load(file)['pvc']
        networks, own = pvc['cluster']['networks'], pvc['system']['configuration']['networking']
        number = int(''.join(letter if letter.isdigit() else ' ' for letter in name).split()[-1])
        self.device = {role: own[role]['device'] for role in ROLES}
        self.mtu = {role: int(own[role]['mtu']) for role in ROLES}
        self.address = {role: host_address(networks[role]['network'], number) if own[role]['address'] == 'by-id' else own[role]['address']
                        for role in ROLES}
        self.floating = {role: networks[role]['floating_ip'].split('/')[0] + '/' + self.address[role].split('/')[1] for role in ROLES}
        self.gateway = networks['upstream'].get('gateway')
        self.bridge_device, self.bridge_mtu = own.get('bridge_device'), own.get('bridge_mtu')

    def shares_cluster_device(self, role):
        return self.device[role] == self.device['cluster']


class HostNetwork:
    """The commands, and what is done with them before ZooKeeper is connected."""

    def __init__(self, note, settings):
        self.note = note
        self.settings = settings

    def run(self, *words):
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            self.note(f'{" ".join(words)}: {done.stderr.strip()}')
        return done.returncode == 0

    def sysctl(self, key, value):
        try:
            with open('/proc/sys/' + key, 'w') as file:
                file.write(value)
        except OSError:
            pass

    def _bridge(self, role):
        device, bridge, mtu = self.settings.device[role], 'br' + role, str(self.settings.mtu[role])
        self.run('ip', 'link', 'add', bridge, 'type', 'bridge')
        self.run('ip', 'link', 'set', device, 'master', bridge)
        self.run('ip', 'link', 'set', bridge, 'mtu', mtu, 'up')
        self.run('ip', 'address', 'add', self.settings.address[role], 'dev', bridge)

    def bring_up(self):
        s = self.settings
        for role in ROLES:
            if role != 'upstream':
                self.run('ip', 'link', 'set', s.device[role], 'mtu', str(s.mtu[role]), 'up')
            if role == 'cluster' or not s.shares_cluster_device(role):
                self._bridge(role)
            elif s.address[role] != s.address['cluster']:
                self.run('ip', 'address', 'add', s.address[role], 'dev', 'brcluster')
        if s.gateway:
            self.run('ip', 'route', 'add', 'default', 'via', s.gateway, 'dev',
                     'brcluster' if s.shares_cluster_device('upstream') else 'brupstream')
        self.sysctl('net/ipv4/ip_forward', '1')
        for key in ('net/ipv4/conf/{}/send_redirects', 'net/ipv4/conf/{}/accept_source_route', 'net/ipv6/conf/{}/accept_source_route'):
            for scope in ('all', 'default'):
                self.sysctl(key.format(scope), '1')
        for name in (s.device['cluster'], 'brcluster', s.device['upstream'], 'brupstream'):
            self.sysctl(f'net/ipv4/conf/{name}/rp_filter', '0')
        time.sleep(3)

    # --- addresses ---

    def add(self, address, device):
        """And announces it, whether it was there or not."""
        self.run('ip', 'address', 'add', address, 'dev', device)
        if ':' not in address:
            self.announce(address.split('/')[0], device)

    def remove(self, address, device):
        self.run('ip', 'address', 'delete', address, 'dev', device)

    def announce(self, address, device):
        """Two ARP replies to everybody, 20 ms apart."""
        try:
            with open(f'/sys/class/net/{device}/address') as file:
                mac = bytes.fromhex(file.read().strip().replace(':', ''))
            raw = socket.inet_aton(address)
            frame = b'\xff' * 6 + mac + b'\x08\x06' + struct.pack('>HHBBH', 1, 0x800, 6, 4, 2) + mac + raw + b'\xff' * 6 + raw
            with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as wire:
                wire.bind((device, 0x0806))
                for _ in range(2):
                    wire.send(frame)
                    time.sleep(0.02)
        except OSError as error:
            self.note(f'{address} is not announced on {device}: {error}')


class ClientNetwork:
    """Each key has a watch, and each change is acted on at once."""

    def __init__(self, node, vni):
        self.node = node
        self.vni = vni
        self.host = node.network.host
        self.bridge = f'vmbr{vni}'
        self.is_gone = False
        self.is_managed = self._read('nettype') == 'managed'
        self.base = f'{"vxlan" if self.is_managed else "vlan"}{vni}'
        self.values = {}
        for key in ('mtu', 'ip4_network', 'ip6_network', 'ip4_gateway', 'ip6_gateway'):
            self.values[key] = self._read(key)
        self._create()
        for key in self.values:
            node.zk.DataWatch(self._path(key), lambda value, stat, _event, key=key: self._changed(key, value, stat))

    def _path(self, key):
        return f'/networks/{self.vni}/{key}'

    def _read(self, key):
        return self.node.get(self._path(key)) or ''

    # --- links ---

    def _mtu(self):
        s = self.host.settings
        most = s.mtu['cluster'] - MARGIN if self.is_managed else int(s.bridge_mtu or 1500)
        try:
            wanted = int(self.values['mtu'])
        except ValueError:
            wanted = 0
        result = wanted if 0 < wanted <= most else most
        if str(result) != self.values['mtu']:
            self.values['mtu'] = str(result)
            self.node.write({self._path('mtu'): str(result)})
        return str(result)

    def _size(self):
        mtu = self._mtu()
        for name in (self.base, self.bridge):
            self.host.run('ip', 'link', 'set', name, 'mtu', mtu, 'up')

    def _create(self):
        s, run = self.host.settings, self.host.run
        if self.is_managed:
            os.makedirs(f'/run/pvc/dnsmasq/{self.vni}', exist_ok=True)
            run('ip', 'link', 'add', self.base, 'type', 'vxlan', 'id', str(self.vni), 'dstport', '4789', 'dev', s.device['cluster'])
        else:
            run('ip', 'link', 'add', 'link', str(s.bridge_device), 'name', self.base, 'type', 'vlan', 'id', str(self.vni))
        run('ip', 'link', 'add', self.bridge, 'type', 'bridge')
        self._size()
        run('ethtool', '-K', self.bridge, 'tx', 'off')
        self.host.sysctl(f'net/ipv6/conf/{self.bridge}/' + ('accept_dad' if self.is_managed else 'disable_ipv6'), '0' if self.is_managed else '1')
        run('ip', 'link', 'set', self.base, 'master', self.bridge)
        if self.node.network.is_primary():
            self.add_gateways()

    def remove(self):
        self.is_gone = True
        run = self.host.run
        if self.node.network.is_primary():
            self.remove_gateways()
        run('ip', 'link', 'set', self.bridge, 'down')
        run('ip', 'link', 'set', self.base, 'down')
        run('ip', 'link', 'set', self.base, 'nomaster')
        run('ip', 'link', 'delete', self.bridge)
        run('ip', 'link', 'delete', self.base)

    # --- gateways ---

    def _gateway(self, family):
        if not self.is_managed or self.values[f'{family}_gateway'] in ('None', ''):
            return None
        return self.values[f'{family}_gateway'] + '/' + self.values[f'{family}_network'].partition('/')[2]

    def add_gateways(self):
        for family in ('ip6', 'ip4'):
            if self._gateway(family):
                self.host.add(self._gateway(family), self.bridge)

    def remove_gateways(self):
        for family in ('ip6', 'ip4'):
            if self._gateway(family):
                self.host.remove(self._gateway(family), self.bridge)

    # --- changes ---

    def _changed(self, key, value, stat):
        if stat is None or self.is_gone:
            return False
        text = (value or b'').decode()
        if text in ('', self.values[key]):
            return True
        is_address = key.endswith('_gateway') and self.node.network.is_primary()
        if is_address:
            old = self.values[key]
            length = self._read(key[:3] + '_network').partition('/')[2]
            self.host.remove(f'{old}/{length}', self.bridge)
        self.values[key] = text
        if key == 'mtu':
            self._size()
        elif is_address and self._gateway(key[:3]):
            self.host.add(self._gateway(key[:3]), self.bridge)
        return True


class Network:
    """A foreign node's networks. The role tells which phase it is in (foreign_role.py)."""

    def __init__(self, node, settings):
        self.node = node
        self.host = HostNetwork(node.note, settings)
        self.networks = {}
        self.role = 'secondary'

    def is_primary(self):
        return self.role == 'primary'

    def watch(self):
        self.node.zk.ChildrenWatch('/networks', self._listed)

    def _listed(self, names):
        for gone in set(self.networks) - set(names):
            self.networks.pop(gone).remove()
        for vni in sorted(set(names) - set(self.networks), key=int):
            try:
                self.networks[vni] = ClientNetwork(self.node, int(vni))
            except NoNodeError:
                pass

    # --- phases: the letters of networking.md 6 ---

    def take(self, phase):
        s = self.host.settings
        if phase == 'C':
            self.host.add(s.floating['upstream'], 'brupstream')
        elif phase == 'D':
            self.host.add(s.floating['cluster'], 'brcluster')
            self.host.add(s.floating['storage'], 'brstorage')
        elif phase == 'E':
            self.host.add(METADATA, 'lo')
        elif phase == 'F':
            for one in list(self.networks.values()):
                one.add_gateways()

    def give(self, phase):
        s = self.host.settings
        if phase == 'C':
            self.host.remove(s.floating['upstream'], 'brupstream')
        elif phase == 'D':
            self.host.remove(s.floating['cluster'], 'brcluster')
            self.host.remove(s.floating['storage'], 'brstorage')
        elif phase == 'E':
            self.host.remove(METADATA, 'lo')
        elif phase == 'F':
            for one in list(self.networks.values()):
                one.remove_gateways()
