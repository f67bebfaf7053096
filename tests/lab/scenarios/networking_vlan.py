"""A node whose kernel has VLANs: the daemon in a guest under a Debian kernel (tests/guest/run), with a card in the lab's network and
the lab's ZooKeeper. Its cluster network is on a bond, its upstream network on a VLAN of that bond."""
import json
import os
import subprocess

from .. import network, node as program, space
from ..lab import check, equal, scenario

RUN = os.path.join(os.path.dirname(program.HERE), 'guest', 'run')


class VlanNode:
    def __init__(self, lab, shape):
        self.lab = lab
        self.node = lab.node('pvchv1', network=shape, settings={'system.configuration.logging.file_logging': False})
        space.sh('ip', 'tuntap', 'add', 'vlannode', 'mode', 'tap')
        space.sh('ip', 'link', 'set', 'vlannode', 'master', 'lab0', 'up')
        self.output = os.path.join(lab.folder, 'vlan_node.log')
        files = {'/etc/pvc/pvcnoded.yaml': os.path.join(self.node.folder, 'etc', 'pvc', 'pvcnoded.yaml'),
                 '/etc/hosts': os.path.join(self.node.folder, 'hosts'),
                 '/usr/bin/systemctl': os.path.join(program.HERE, 'standins', 'systemctl'),
                 '/usr/bin/patronictl': os.path.join(program.HERE, 'standins', 'recorder')}
        words = [word for path, source in files.items() for word in ('--file', f'{path}={source}')]
        with open(self.output, 'w') as file:
            self.process = subprocess.Popen([RUN, '--time', '150', '--tap', 'vlannode', *words, '--program', program.DAEMON,
                                             os.path.join(program.HERE, 'vlan_node.sh')], stdin=subprocess.DEVNULL, stdout=file,
                                            stderr=file)

    def text(self):
        return program.read_file(self.output)

    def _last(self, kind):
        lines = [line for line in self.text().split('\n')[:-1] if line.startswith(kind + ' ')]
        return {one['ifname']: one for one in json.loads(lines[-1][len(kind):])} if lines else {}

    def links(self):
        return self._last('links')

    def addresses(self, name):
        return [f'{one["local"]}/{one["prefixlen"]}' for one in self._last('addresses').get(name, {}).get('addr_info', []) if one['scope'] == 'global']

    def wait(self, judge, what, timeout=30):
        def seen():
            check(self.process.poll() is None, f'the guest ended: {self.text()[-2000:]}')
            return judge(self.links())
        self.lab.wait(seen, timeout, lambda: f'{what}; it has {sorted(self.links())}; {self.text()[-300:]}')


def own(links):
    return {key: links['vlan1000'][key] for key in ('ifindex', 'link', 'flags', 'mtu', 'master', 'address')}


@scenario('networking.md 5, cases 26 27: bridged networks on a bond; a VLAN that is the host\'s own', limit=180)
def bridged_networks(lab):
    lab.zookeeper()
    zk = lab.client
    network.create(zk, 200, nettype='bridged')
    network.create(zk, 1000, nettype='bridged')
    network.create(zk, 1001, **network.managed(1))
    node = VlanNode(lab, network.Shape(upstream='vlan1000', cluster='bond0', storage='bond0', bridge_device='bond0', bridge_mtu=1500))
    node.wait(lambda links: links.get('bond0', {}).get('master') == 'brcluster' and links.get('vlan1000', {}).get('master') == 'brupstream',
              'the host\'s own bridges', 60)
    host = node.links()
    lab.await_value('/nodes/pvchv1/daemonstate', 'run', 40)
    node.wait(lambda links: links.get('vlan200', {}).get('master') == 'vmbr200' and 'UP' in links['vmbr200']['flags'], 'the bridged network')
    node.wait(lambda links: links.get('vxlan1001', {}).get('master') == 'vmbr1001', 'the managed network')
    links = node.links()
    base = links['vlan200']
    equal((base['linkinfo']['info_data']['id'], base['link'], base['mtu'], links['vmbr200']['mtu'], 'UP' in base['flags']), (200, 'bond0', 1500, 1500, True),
          'the VLAN')
    equal(node.addresses('vmbr200'), [], 'addresses of the bridged network')
    check('vmbr1000' not in links, 'the network on the host\'s own VLAN was made')
    equal(own(links), own(host), 'the host\'s own VLAN')
    network.remove(zk, 1000)
    network.remove(zk, 200)
    node.wait(lambda links: 'vlan200' not in links and 'vmbr200' not in links, 'the bridged network is gone')
    network.create(zk, 201, nettype='bridged', mtu='1400')
    node.wait(lambda links: links.get('vlan201', {}).get('master') == 'vmbr201' and links['vlan201']['mtu'] == 1400, 'another one')
    equal(own(node.links()), own(host), 'the host\'s own VLAN')
    equal(node.addresses('brupstream')[:1], [f'{network.UPSTREAM}.1/24'], 'address on the VLAN')
    node.process.terminate()
    node.process.wait(10)
