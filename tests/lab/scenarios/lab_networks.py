"""The lab's own networks, without the daemon: what the scenarios of networking stand on."""
import time

from .. import guests, network
from ..foreign import launch
from ..lab import check, equal, scenario, within
from ..network_watch import AddressMonitor, FrameMonitor, was_on_none

VNI = 1001
STATION = '10.1.1.200'


def client_network(node, vni, floods):
    """As a daemon makes it."""
    node.enter('ip', 'link', 'add', f'vmbr{vni}', 'type', 'bridge')
    node.enter('ip', 'link', 'add', f'vxlan{vni}', 'type', 'vxlan', 'id', str(vni), 'dev', 'ens4', 'dstport', '4789')
    for name, more in ((f'vxlan{vni}', ['master', f'vmbr{vni}']), (f'vmbr{vni}', [])):
        node.enter('ip', 'link', 'set', name, 'mtu', '1450', *more, 'up')


@scenario('test-lab.md: a client network between two nodes; a guest with a network card is pinged while it migrates', limit=60)
def speaking_guest(lab):
    first, second = nodes = [lab.bare_node(name, hypervisor=True) for name in lab.names(2)]
    for node in nodes:
        node.power_on()
        client_network(node, VNI, nodes)
    network.flood(nodes, VNI)
    network.flood(nodes, VNI)
    for node in nodes:
        equal(node.enter('bridge', 'fdb', 'show', 'dev', f'vxlan{VNI}').count('00:00:00:00:00:00'), 1, f'flooding entries of {node.label}')
    station = network.Station(lab, 'station').in_node(second, f'vmbr{VNI}', f'{STATION}/24')
    uuid = guests.uuid_of(1)
    begun = time.time()
    text = guests.answering_xml(lab.folder, uuid, 'web', VNI, '10.1.1.10')
    first.hypervisor.connection().createXML(text, 0)
    ping = station.ping('10.1.1.10')
    lab.wait(ping.is_answered, 30, 'the guest answers')
    print(f'answers {time.time() - begun:.1f} s after its creation')
    equal([name for name in network.View(first).ports(f'vmbr{VNI}') if name.startswith('vnet')], ['vnet0'], 'its tap')
    equal(station.neighbour('10.1.1.10'), guests.mac_of(uuid), 'its card')
    for source, target in ((first, second), (second, first)):
        since = time.time()
        status, output = source.hypervisor.virsh('migrate', '--live', uuid, f'qemu+tcp://{target.short}.pvc.local/system', '--migrateuri',
                                                 f'tcp://{target.short}.pvc.local')
        equal((status, output), (0, ''), 'virsh migrate')
        moved = time.time()
        lab.wait(lambda since=moved: ping.is_answered(since), 10, f'it answers on {target.label}')
        print(f'migrated in {moved - since:.1f} s, no answer for {ping.longest_gap(since)[0]:.2f} s, {ping.lost(since, time.time() - 1)} lost')
    ping.stop()
    guest = first.hypervisor.domain(uuid)
    guest.shutdown()
    lab.wait(lambda: first.hypervisor.look(uuid) == 'N', 10, 'it obeys its power button')


@scenario('test-lab.md: a bare node has devices and no address; libvirt is there all the same', limit=40)
def bare_nodes(lab):
    lab.zookeeper()
    shape = network.three_devices(present=('ens4', 'ens6'))
    node = lab.node('pvchv1', network=shape, hypervisor=True)
    node.power_on()
    view = network.View(node)
    equal(sorted(view.links), ['ens4', 'ens6', 'lo'], 'links')
    equal([view.on(name, link_local=True) for name in ('ens4', 'ens6')], [[], []], 'addresses')
    check(not view.is_up('ens4'), 'a device of a bare node is up')
    equal(network.View(node).text, view.text, 'what is seen a moment later')
    equal(node.hypervisor.active(), [], 'guests')
    node.add_device('ens5')
    check(network.View(node).has('ens5'), 'the late device')
    status, output = node.execute('--check-config')
    check('brstorage' in output or status == 0, f'--check-config: {status}: {output}')
    node.remove_device('ens5')
    equal(sorted(network.View(node).links), ['ens4', 'ens6', 'lo'], 'links')
    status, output = node.hypervisor.virsh('uri')
    equal(output, 'qemu:///system', 'libvirt')
    equal(node.inside('patronictl', '-c', '/x', 'switchover', '--candidate', 'pvchv1', '--force', 'pvc').splitlines()[-1][:1], '+',
          'last line of a switchover')
    equal((node.patroni.leader, len(node.patroni.calls())), ('pvchv1', 1), 'leader of the database, and calls')
    check('are the same' in node.inside('patronictl', 'switchover', '--candidate', 'pvchv1', 'pvc'), 'the second switchover')
    node.inside('systemctl', 'stop', 'dnsmasq.service')
    equal(node.inside('systemctl', 'is-active', 'dnsmasq.service').strip(), 'inactive', 'a unit that was stopped')


@scenario('test-lab.md: a prober sees an address move from one node to another', limit=40)
def moving_address(lab):
    first, second = nodes = [lab.bare_node(name) for name in lab.names(2)]
    for node in nodes:
        node.power_on()
    address = f'{network.CLUSTER}.{network.FLOATING}'
    first.enter('ip', 'address', 'add', f'{address}/24', 'dev', 'ens4')
    client = network.Station(lab, 'client').in_lab(f'{network.CLUSTER}.150/24')
    ping = client.ping(address)
    lab.wait(ping.is_answered, 5, 'the first node answers')
    time.sleep(0.3)
    goes, comes = AddressMonitor.of_all(first, second)
    first.enter('ip', 'address', 'delete', f'{address}/24', 'dev', 'ens4')
    time.sleep(0.5)
    second.enter('ip', 'address', 'add', f'{address}/24', 'dev', 'ens4')
    second.enter('arping', '-c', '1', '-P', '-U', '-I', 'ens4', address, check=False)
    since = time.time()
    client.enter('ip', 'neigh', 'flush', 'dev', 'eth0')
    lab.wait(lambda: ping.is_answered(since), 10, 'the second node answers')
    ping.stop()
    gap, lost = ping.longest_gap()[0], ping.lost()
    check(gap > 0.45, f'a gap of {gap:.2f} s')
    within(gap, 3, f'a gap of {gap:.2f} s')
    check(lost >= 15, f'{lost} lost')
    equal(client.neighbour(address), '02:00:00:00:01:02', 'whom the client talks to')
    check('nobody had it' in (was_on_none(comes, goes, address) or ''), f'monitors: {goes.steps()}, {comes.steps()}')
    # The other way round, with both for a moment.
    comes, goes = AddressMonitor.of_all(first, second)
    first.enter('ip', 'address', 'add', f'{address}/24', 'dev', 'ens4')
    second.enter('ip', 'address', 'delete', f'{address}/24', 'dev', 'ens4')
    lab.wait(lambda: goes.first('remove', address), 5, 'the monitor sees that it goes')
    equal(was_on_none(comes, goes, address), None, 'monitors')


@scenario('the scripted node against networking.md 3, 5.3 and 6 (columns R)', limit=90)
def foreign_networks_are_faithful(lab):
    lab.zookeeper()
    network.create(lab.client, VNI, **network.managed(1), ip6='fd00:1::/64', gateway6='fd00:1::1')
    lab.put_node('pvchv2', daemonstate='run')
    shape = network.Shape()
    node = lab.node('pvchv1', coordinators=lab.names(2), network=shape)
    node.power_on()
    addresses, frames = AddressMonitor(node), FrameMonitor(node)
    launch(lab, node, role=1, beat_in_hand_over=0.05)
    lab.await_value('/nodes/pvchv1/routerstate', 'primary', 25)
    view = network.View(node)
    equal(view.ports('brcluster'), ['ens4'], 'ports of brcluster')
    equal(view.ports(f'vmbr{VNI}'), [f'vxlan{VNI}'], 'ports of the bridge')
    equal([view.mtu(name) for name in ('brcluster', f'vmbr{VNI}', f'vxlan{VNI}')], [1500, 1450, 1450], 'MTUs')
    equal((view.data(f'vxlan{VNI}')['port'], view.data(f'vxlan{VNI}')['learning']), (4789, True), 'the VXLAN')
    equal(lab.get(f'/networks/{VNI}/mtu'), '1450', 'its MTU in the tree')
    equal([(route['gateway'], route['dev']) for route in view.default_routes()], [(f'{network.UPSTREAM}.250', 'brcluster')], 'default route')
    check(not network.has_checksum_offload(node, f'vmbr{VNI}'), 'checksums of the bridge are offloaded')
    own = [f'{subnet}.1/24' for subnet in (network.CLUSTER, network.STORAGE, network.UPSTREAM)]
    floating = [f'{network.CLUSTER}.254/24', f'{network.METADATA}/32', 'fd00:1::1/64', '10.1.1.1/24']
    # Those of storage and upstream are lost: their bridges do not exist where all is on one device.
    equal([step.address for step in addresses.steps('add') if step.address in own + floating], own + floating, 'addresses in order')
    equal(network.held(view, shape, [(VNI, '10.1.1.1/24')]),
          [('lo', '169.254.169.254/32'), ('brcluster', f'{network.CLUSTER}.254/24'), (f'vmbr{VNI}', '10.1.1.1/24')], 'what the primary has')
    sent = frames.pair('10.1.1.1', f'vmbr{VNI}')
    equal([(frame.kind, frame.target) for frame in sent], [('arp', 'ff:ff:ff:ff:ff:ff')] * 2, 'announcements of the gateway')
    since = addresses.mark()
    lab.set('/config/primary_node', 'pvchv2')
    lab.await_value('/nodes/pvchv1/routerstate', 'secondary', 15)
    lab.wait(lambda: network.held(network.View(node), shape, [(VNI, '10.1.1.1/24')]) == [], 2, 'nothing of a primary is left')
    equal([step.address for step in addresses.steps('remove', since)], floating, 'addresses removed, in order')
    network.remove(lab.client, VNI)
    lab.wait(lambda: not network.View(node).has(f'vmbr{VNI}') and not network.View(node).has(f'vxlan{VNI}'), 5, 'the network is gone')
