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


NAMED = """auto lo
source ~/more
auto brcluster.51
iface brcluster.51 inet static
    address 10.51.0.1/24
iface store inet manual
    vlan-raw-device brcluster
    vlan-id 52
iface br-dmz inet manual
    bridge_ports bond0.20
iface bond9 inet manual
    bond-slaves bond0.29
iface br-lab inet manual
    bridge-ports glob bond0.[30-39]
auto vmbr1161
iface vmbr1161 inet manual
"""


@scenario('README ruling 79: VLANs that the host\'s files name by their place are left to ifup, whatever else of the files cannot be read', limit=180)
def named_vlans(lab):
    lab.zookeeper()
    bridged, refused = (20, 29, 35, 51, 52, 71), ('bond0.20', 'bond0.29', 'bond0.[30-39]', 'brcluster.51', 'brcluster.52')
    for vni in bridged:
        network.create(lab.client, vni, nettype='bridged')
    network.create(lab.client, 1161, **network.managed(1))
    node = GuestNode(lab, 'named', network.Shape(upstream='vlan1000', cluster='bond0', storage='bond0', bridge_device='bond0', bridge_mtu=1500),
                     more={'/etc/network/interfaces': NAMED})
    lab.await_value('/nodes/pvchv1/daemonstate', 'run', 120)
    node.wait(lambda links: links.get('vlan71', {}).get('master') == 'vmbr71', 'the network that nothing names')
    for vni, name in zip(bridged, refused):
        node.await_said(f'network {vni}: VLAN {vni} of {name.rpartition(".")[0]} is this host\'s own: the network configuration of this host names {name}')
    node.await_said('network 1161: vmbr1161 is a link of this host\'s own')
    node.await_said('is not known: what /etc/network/interfaces:2 sources: ~/more: unavailable: a path for a shell is not followed')
    before = '\n'.join(line for line in node.text().splitlines() if line.startswith('against '))
    check(all(name in before for name in (*refused, 'vmbr1161 (', '~/more')), f'--against-host does not say all of it: {before}')
    for name in ('brcluster.51', 'bond0.20', 'brcluster.71'):
        node.wait(lambda links, name=name: f'ifup {name}' in node.text().splitlines(), f'{name} could not be made')
    node.await_said('brcluster.71 gets no packets: network 71 was there first')
    made = {f'{kind}{vni}' for vni in (*bridged, 1161) for kind in ('vlan', 'vxlan', 'vmbr')} & set(node.links())
    equal(made, {'vlan71', 'vmbr71'}, 'links of networks')
    network.remove(lab.client, 71)
    node.await_said('this is over: brcluster.71 gets no packets')
    node.end()
