"""A node whose kernel has VLANs, as it is a guest of its own: its cluster network is on a bond, its upstream network on a VLAN of
that bond."""
from .. import network
from ..guest_node import GuestNode
from ..lab import check, equal, scenario


def own(links):
    return {key: links['vlan1000'][key] for key in ('ifindex', 'link', 'flags', 'mtu', 'master', 'address')}


def is_as_it_was(node, host, when):
    """The VLAN that the administrator made for himself (ruling 79)."""
    links = node.links()
    check('vlan1003' in links, f'the administrator\'s own VLAN is gone: {when}')
    now, before = [{key: one['vlan1003'].get(key) for key in ('ifindex', 'link', 'flags', 'mtu', 'master', 'address')} for one in (links, host)]
    equal((now, '10.50.3.1/24' in node.addresses('vlan1003')), (before, True), f'the administrator\'s own VLAN, {when}')


@scenario('networking.md 5, cases 26 27: bridged networks on a bond; a VLAN that is the host\'s own', limit=180)
def bridged_networks(lab):
    lab.zookeeper()
    zk = lab.client
    network.create(zk, 200, nettype='bridged')
    network.create(zk, 1000, nettype='bridged')
    network.create(zk, 1001, **network.managed(1))
    node = GuestNode(lab, 'bond', network.Shape(upstream='vlan1000', cluster='bond0', storage='bond0', bridge_device='bond0', bridge_mtu=1500))
    node.wait(lambda links: links.get('bond0', {}).get('master') == 'brcluster' and links.get('vlan1000', {}).get('master') == 'brupstream',
              'the host\'s own bridges', 60)
    host = node.links()
    is_as_it_was(node, host, 'while the node starts')
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
    is_as_it_was(node, host, 'after the start')
    node.await_said('vlan1003 (it has 10.50.3.1/24)')
    said = node.said('vlan1003 (it has 10.50.3.1/24)')
    equal(len(said), 1, f'lines about the administrator\'s own VLAN {said}')
    network.create(zk, 1003, nettype='bridged')
    node.await_said('network 1003: vlan1003 is a link of this host\'s own')
    is_as_it_was(node, host, 'with a network of its number')
    network.remove(zk, 1003)
    network.remove(zk, 1000)
    network.remove(zk, 200)
    node.wait(lambda links: 'vlan200' not in links and 'vmbr200' not in links, 'the bridged network is gone')
    network.create(zk, 201, nettype='bridged', mtu='1400')
    node.wait(lambda links: links.get('vlan201', {}).get('master') == 'vmbr201' and links['vlan201']['mtu'] == 1400, 'another one')
    equal(own(node.links()), own(host), 'the host\'s own VLAN')
    is_as_it_was(node, host, 'after the network of its number')
    check('vmbr1003' not in node.links(), 'the bridge of a refused network')
    equal(node.addresses('brupstream')[:1], [f'{network.UPSTREAM}.1/24'], 'address on the VLAN')
    node.end()
