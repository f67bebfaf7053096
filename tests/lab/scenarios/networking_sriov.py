"""A node with two network cards that have SR-IOV (igb, emulated by QEMU), under a kernel of its own."""
from .. import network
from ..guest_node import GuestNode
from ..lab import check, equal, scenario

CARDS = [{'phy': 'eth0', 'mtu': 2000, 'vfcount': 3}, {'phy': 'eth1', 'vfcount': 4}, {'phy': 'eth9', 'vfcount': 2}]
NOBODY = '00000000-0000-4000-8000-000000000404'


FUNCTIONS = ('eth0v0', 'eth0v1', 'eth0v2', 'eth1v0', 'eth1v1')
TREE = ('', '/config', '/config/link_state', '/config/query_rss', '/config/spoof_check', '/config/trust', '/config/tx_rate_max',
        '/config/tx_rate_min', '/config/vlan_id', '/config/vlan_qos', '/mac', '/mtu', '/pci', '/pci/bus', '/pci/domain',
        '/pci/function', '/pci/slot', '/pf', '/phy_mac', '/used', '/used_by')


def function(links, card, number):
    """What the kernel says of a virtual function: address, VLAN, class, checks of its sender, trust."""
    one = links[card]['vfinfo_list'][number]
    vlan = (one.get('vlan_list') or [{}])[0]
    return one['address'], vlan.get('vlan', 0), vlan.get('qos', 0), one['spoofchk'], one['trust']


def is_like(card, number, *wanted):
    """A judge of links: what function() says without the address."""
    return lambda links: function(links, card, number)[1:] == wanted


@scenario('networking.md 4, cases 13 to 21: cards with SR-IOV (igb): functions made, entered, set, put right, over a killed daemon', limit=240)
def functions_of_a_card(lab):
    lab.zookeeper()
    shape = network.Shape(upstream='wire', cluster='wire', storage='wire', bridge_device='wire', bridge_mtu=1500)
    lab.put_node('pvchv1')
    lab.put([('/nodes/pvchv1/sriov/pf/eth7', ''), ('/nodes/pvchv1/sriov/pf/eth7/mtu', '1500'), ('/nodes/pvchv1/sriov/pf/eth7/vfcount', '1')])
    node = GuestNode(lab, 'sriov', shape, ('--igb', '2', '--memory', '768'), limit=200, settings={
        'system.configuration.networking.sriov_enable': True, 'system.configuration.networking.sriov_device': CARDS})
    base = '/nodes/pvchv1/sriov'

    def key(name, suffix):
        return lab.get(f'{base}/vf/{name}/{suffix}')

    # Made where a card has none; where it has another number they stay; a card that this host has not is told of.
    lab.await_state(node.node, 'run', 90)
    lab.wait(lambda: sorted(lab.client.get_children(base + '/vf')) == sorted(FUNCTIONS), 20, 'the functions are entered')
    lab.wait(lambda: sorted(lab.client.get_children(base + '/pf')) == ['eth0', 'eth1'], 20, 'the cards are entered, the old one is gone')
    node.wait(lambda links: node.last('numbers').split() == ['3', '2'], 'numbers of functions')
    equal(node.last('driver'), 'vfio-pci', 'driver of the function that is prepared for a guest')
    equal(node.last('interrupts'), 'Y', 'allow_unsafe_interrupts')
    node.await_said('eth1 has 2 virtual functions, and not the 4 of vfcount')
    node.await_said('eth9: there is no such network card')
    for name in FUNCTIONS:
        equal(sorted(lab.tree(f'{base}/vf/{name}')), sorted(f'{base}/vf/{name}{suffix}' for suffix in TREE if suffix), f'keys of {name}')
    equal([[key(name, 'pci/' + part) for part in ('domain', 'bus', 'slot', 'function')] for name in FUNCTIONS],
          [['0000', '01', '10', '0'], ['0000', '01', '10', '2'], ['0000', '01', '10', '4'], ['0000', '02', '10', '0'], ['0000', '02', '10', '2']],
          'addresses on the bus')
    equal([key('eth1v1', name) for name in ('config/vlan_id', 'config/vlan_qos', 'mac', 'phy_mac', 'config/spoof_check', 'config/trust', 'used')],
          ['12', '3', '52:54:00:aa:bb:01', '52:54:00:aa:bb:01', 'True', 'False', 'False'], 'what a function had before')
    equal([lab.get(f'{base}/pf/{name}') for name in ('eth0/mtu', 'eth0/vfcount', 'eth1/mtu', 'eth1/vfcount')], ['2000', '3', '1500', '4'], 'cards')
    links = node.links()
    equal((links['eth0']['mtu'], 'UP' in links['eth0']['flags'], 'UP' in links['eth1']['flags']), (2000, True, False), 'the cards themselves')

    # What clients write is set, and only that.
    change = lab.client.transaction()
    for name, value in (('vlan_id', '100'), ('vlan_qos', '5'), ('spoof_check', 'False'), ('trust', 'True')):
        change.set_data(f'{base}/vf/eth0v1/config/{name}', value.encode())
    check(all(not isinstance(one, Exception) for one in change.commit()), 'the client\'s change')
    node.wait(is_like('eth0', 1, 100, 5, False, True), 'what the client wrote')
    lab.set(f'{base}/vf/eth0v1/config/tx_rate_max', '500')
    node.wait(lambda links: links['eth0']['vfinfo_list'][1]['rate']['max_tx'] == 500, 'the rate')
    lab.set(f'{base}/vf/eth1v1/config/vlan_id', '13')
    node.wait(is_like('eth1', 1, 13, 3, True, False), 'a function that a guest has, of a card that is down')
    equal([function(node.links(), 'eth0', other)[1:] for other in (0, 2)], [(0, 0, True, False)] * 2, 'the others')

    # What cannot be used, and what the driver refuses, is told of and changes nothing.
    lab.set(f'{base}/vf/eth0v2/config/vlan_id', '5000')
    node.await_said('[sriov-value]')
    lab.set(f'{base}/vf/eth0v2/config/tx_rate_min', '100')
    node.await_said('[sriov-failed]')
    lab.set(f'{base}/vf/eth0v2/config/trust', 'True')
    node.wait(is_like('eth0', 2, 0, 0, True, True), 'its other settings')
    lab.set(f'{base}/vf/eth0v2/config/vlan_id', '9')
    lab.set(f'{base}/vf/eth0v2/config/tx_rate_min', '0')
    node.wait(is_like('eth0', 2, 9, 0, True, True), 'once it is right')

    # Somebody sets it beside the keys.
    lab.set(f'{base}/vf/eth0v0/config/vlan_id', '77')
    node.wait(lambda links: node.last('somebody'), 'somebody')
    node.wait(is_like('eth0', 0, 77, 0, True, False), 'put right')
    equal(lab.values(f'{base}/vf/eth0v0/config/vlan_id'), ['0', '77'], 'values of the key')

    # A function whose machine is gone is free again.
    change = lab.client.transaction()
    for name, value in (('used', 'True'), ('used_by', NOBODY), ('mac', '52:54:00:cc:cc:cc')):
        change.set_data(f'{base}/vf/eth0v2/{name}', value.encode())
    change.create('/domains/' + NOBODY, b'gone')
    check(all(not isinstance(one, Exception) for one in change.commit()), 'the client\'s guest')
    lab.await_beats(node.node, 2)
    equal(key('eth0v2', 'used'), 'True', 'while the machine is there')
    lab.client.delete('/domains/' + NOBODY)
    lab.wait(lambda: key('eth0v2', 'used') == 'False', 20, 'set free')
    equal((key('eth0v2', 'used_by'), key('eth0v2', 'mac')), ('', key('eth0v2', 'phy_mac')), 'set free')

    # So is one whose machine belongs to another node by now.
    for name, value in (('used', 'True'), ('used_by', NOBODY), ('mac', '52:54:00:cc:cc:cc')):
        lab.set(f'{base}/vf/eth0v2/{name}', value)
    lab.put([(f'/domains/{NOBODY}', 'moved'), (f'/domains/{NOBODY}/node', 'pvchv1'), (f'/domains/{NOBODY}/state', 'stop')])
    lab.await_beats(node.node, 2)
    equal(key('eth0v2', 'used'), 'True', 'while the machine belongs here')
    lab.set(f'/domains/{NOBODY}/node', 'pvchv2')
    lab.wait(lambda: key('eth0v2', 'used') == 'False', 20, 'the machine that moved away leaves it')
    equal((key('eth0v2', 'used_by'), key('eth0v2', 'mac')), ('', key('eth0v2', 'phy_mac')), 'set free')

    # Killed, changed while it is dead, and started again.
    before = {path: lab.get(path) for path in lab.tree(base)}
    lab.set(f'{base}/vf/eth0v0/config/vlan_id', '88')
    before[f'{base}/vf/eth0v0/config/vlan_id'] = '88'
    node.wait(lambda links: node.last('killed'), 'the kill')
    node.wait(is_like('eth0', 0, 88, 0, True, False), 'the VLAN after the start', 60)
    node.wait(is_like('eth0', 1, 100, 5, False, True), 'the second function after the start')
    node.wait(is_like('eth0', 2, 9, 0, True, True), 'the third function after the start')
    lab.await_beats(node.node, 3)
    equal({path: lab.get(path) for path in lab.tree(base)}, before, 'keys after the start')
    equal(node.last('numbers').split(), ['3', '2'], 'numbers of functions')
    equal(function(node.links(), 'eth1', 1), ('52:54:00:aa:bb:01', 13, 3, True, False), 'the function that a guest has')
    node.end()
