"""The host's own network and client networks of nodes of ours (networking.md 3, 5): real links in the nodes' namespaces, a real
ZooKeeper, and what the kernel says of it. VLANs are in the guest (tests/guest/run): this kernel need not have them."""
import os
import time

from .. import network, space
from ..lab import check, equal, scenario, within
from ..network import CLUSTER, STORAGE, UPSTREAM, View
from ..network_watch import FrameMonitor
from .role import one_primary

GATEWAY = f'{UPSTREAM}.{network.LAB}'
VNI = 1001
LOOK = 12.0  # how long a busy machine may take: after a look the daemon rests for ten times as long, at most 5 s


def start(lab, *nodes):
    for node in nodes:
        node.up()
    for node in nodes:
        lab.await_state(node, 'run', 25)


def errors(node):
    """Lines of its log that call for somebody; its BMC is a stand-in that does nothing."""
    return [line for line in node.log().splitlines() if line.startswith('failed:') and 'IPMI' not in line]


def soon(lab, node, judge, what, timeout=LOOK):
    """Waits until judge(view) holds; returns that view."""
    def seen():
        view = View(node)
        return view if judge(view) else None
    return lab.wait(seen, timeout, lambda: f'{node.label}: {what}; it has ' + str({name: View(node).on(name) for name in View(node).links}))


def routes(view):
    return [(route['gateway'], route['dev'], route.get('protocol', 'boot')) for route in view.default_routes()]


@scenario('networking.md 3.1, cases 1 3 4 5 8 97 98: shapes of a host', limit=90)
def shapes_of_a_host(lab):
    """pvchv1 is the only coordinator and there for the others to have a ZooKeeper with a primary."""
    lab.zookeeper()
    shapes = {
        1: network.Shape(),
        2: network.three_devices(mtu={'cluster': 9000, 'storage': 9000}),
        3: network.Shape(),
        4: network.Shape(upstream='ens5', storage='ens5', cluster='ens4'),
        5: network.Shape(upstream='ens5', bridge_device=None),
        6: network.Shape(bridge_device='ens7', bridge_mtu=9000),
        7: network.Shape(bridge_device='ens4', bridge_mtu=9000)}
    shared = {'cluster.networks.storage.network': f'{CLUSTER}.0/24', 'cluster.networks.storage.floating_ip': f'{CLUSTER}.253/24'}
    nodes = {number: lab.node(f'pvchv{number}', coordinators=['pvchv1'], network=shape, settings=shared if number == 3 else {})
             for number, shape in shapes.items()}
    for node in nodes.values():
        node.power_on()
    nodes[5].enter('ip', 'link', 'set', 'ens5', 'mtu', '9000')
    for node in nodes.values():
        before = View(node).text
        status, text = node.execute('--check-config', '--against-host')
        check('would create bridge brcluster' in text, f'{node.label} --against-host: {status}: {text}')
        equal(View(node).text, before, f'what is seen of {node.label} after somebody looked')
    start(lab, *nodes.values())
    views = {number: View(node) for number, node in nodes.items()}

    def host(number, bridges, ports, on, mtus, route):
        view = views[number]
        equal(sorted(name for name in view.links if name.startswith('br')), bridges, f'bridges of pvchv{number}')
        equal({bridge: view.ports(bridge) for bridge in bridges}, ports, f'ports on pvchv{number}')
        node_own = {bridge: [one for one in view.on(bridge, 'inet') if not one.startswith(tuple(f'{net}.254/' for net in network.SUBNETS.values()))]
                    for bridge in bridges}
        equal({bridge: sorted(own) for bridge, own in node_own.items()}, {bridge: sorted(own) for bridge, own in on.items()},
              f'addresses on pvchv{number}')
        equal({name: view.mtu(name) for name in mtus}, mtus, f'MTUs on pvchv{number}')
        equal(routes(view), [(GATEWAY, route, 'boot')], f'default routes of pvchv{number}')
        for name in mtus:
            check(view.is_up(name), f'{name} of pvchv{number} is down')
        for bridge in bridges:
            check(not any('broadcast' in one for one in view.addresses[bridge] if one['family'] == 'inet'), f'{bridge} has a broadcast address')

    def at(number):
        return [f'{net}.{number}/24' for net in (CLUSTER, STORAGE, UPSTREAM)]
    for number in (1, 6, 7):
        host(number, ['brcluster'], {'brcluster': ['ens4']}, {'brcluster': at(number)},
             {'ens4': 9000 if number == 7 else 1500, 'brcluster': 1500}, 'brcluster')
    host(2, ['brcluster', 'brstorage', 'brupstream'], {'brcluster': ['ens5'], 'brstorage': ['ens6'], 'brupstream': ['ens4']},
         dict(zip(('brcluster', 'brstorage', 'brupstream'), ([one] for one in at(2)))),
         {'ens4': 1500, 'ens5': 9000, 'ens6': 9000, 'brcluster': 9000, 'brstorage': 9000, 'brupstream': 1500}, 'brupstream')
    host(3, ['brcluster'], {'brcluster': ['ens4']}, {'brcluster': [at(3)[0], at(3)[2]]}, {'ens4': 1500, 'brcluster': 1500}, 'brcluster')
    host(4, ['brcluster', 'brstorage'], {'brcluster': ['ens4'], 'brstorage': ['ens5']}, {'brcluster': at(4)[:1], 'brstorage': at(4)[1:]},
         {'ens4': 1500, 'ens5': 1500, 'brcluster': 1500, 'brstorage': 1500}, 'brstorage')
    host(5, ['brcluster', 'brupstream'], {'brcluster': ['ens4'], 'brupstream': ['ens5']}, {'brcluster': at(5)[:2], 'brupstream': at(5)[2:]},
         {'ens4': 1500, 'ens5': 9000, 'brcluster': 1500, 'brupstream': 1500}, 'brupstream')
    equal((views[6].mtu('ens7'), views[6].is_up('ens7'), views[6].links['ens7'].get('master'), views[6].on('ens7')), (9000, True, None, []),
          'the device of bridged networks')
    for node in nodes.values():
        status, text = node.execute('--check-config', '--against-host')
        check('nothing would be changed' in text, f'{node.label} --against-host: {status}: {text}')
    # And what is right is left as it is.
    for number, node in nodes.items():
        if number == 1:
            continue  # its addresses of a primary go with the hand-over
        lab.wait(lambda node=node: 'tentative' not in View(node).text, 10, 'the kernel has given out all addresses')
        before = View(node).text
        node.daemon.stop()
        lab.expect_end(node, 0, 10)
        start(lab, node)
        lab.await_beats(node, 2)
        equal(View(node).text, before, f'what is seen of {node.label} after a second start')
    for node in nodes.values():
        equal(errors(node), [], f'errors in the log of {node.label}')
    # An own address that another bridge has, too, is told of and left alone.
    nodes[2].enter('ip', 'address', 'add', f'{CLUSTER}.2/24', 'dev', 'brstorage')
    twice = f'{CLUSTER}.2/24 of brcluster is also on brstorage: remove it there'
    lab.wait(lambda: twice in nodes[2].log(), LOOK, 'a line about an address that is on two bridges')
    status, text = nodes[2].execute('--check-config', '--against-host')
    check(status == 0 and twice in text and 'nothing would be changed' in text, f'{nodes[2].label} --against-host: {status}: {text}')
    check({f'{CLUSTER}.2/24'} <= set(View(nodes[2]).on('brstorage')) & set(View(nodes[2]).on('brcluster')), 'it is on both')


@scenario('networking.md 3.1, case 6: a default route that somebody else made', limit=40)
def foreign_default_route(lab):
    lab.zookeeper()
    shape = network.Shape(present=('ens4', 'ens9'))
    node = lab.node(network=shape)
    node.power_on()
    for words in ('address add 192.0.2.2/24 dev ens9', 'link set ens9 up', 'route add default via 192.0.2.1 dev ens9'):
        node.enter('ip', *words.split())
    before = routes(View(node))
    start(lab, node)
    equal(routes(View(node)), before, 'default routes')
    lines = [line for line in node.log().splitlines() if '192.0.2.1' in line]
    equal(len(lines), 1, f'lines about it, {lines}')


@scenario('networking.md 3.1: a host that is managed over the device that becomes a port is still reached', limit=90)
def managed_over_a_port(lab):
    """By an address of none of the three networks, and by IPv6; with a default route of its own."""
    lab.zookeeper()
    node = lab.node(network=network.Shape())
    node.power_on()
    for words in ('link set ens4 up', 'address add 192.168.5.7/24 dev ens4', 'address add fd55::7/64 dev ens4 nodad',
                  'address add 192.168.6.7/24 dev ens4 scope link', 'route add default via 192.168.5.250 dev ens4', '-6 route add default via fd55::250 dev ens4 metric 77'):
        node.enter('ip', *words.split())
    station = network.Station(lab, 'manager').in_lab('192.168.5.240/24', 'fd55::240/64')
    pings = {address: station.ping(address) for address in ('192.168.5.7', 'fd55::7')}
    for address, ping in pings.items():
        lab.wait(ping.is_answered, 10, f'{address} answers before the start')
    lab.wait(lambda: 'tentative' not in View(node).text, 10, 'the kernel has given out all addresses')
    before = View(node).text
    status, text = node.execute('--check-config', '--against-host')
    for step in ('add 192.168.5.7/24 to brcluster', 'add 192.168.6.7/24 (scope link) to brcluster', 'add default route via 192.168.5.250 on brcluster', 'remove 192.168.5.7/24 from ens4',
                 'add fd55::7/64 to brcluster', 'remove fd55::7/64 from ens4'):
        check(f'would {step}' in text, f'--against-host says nothing of "{step}": {status}: {text}')
    equal(View(node).text, before, 'what is seen after somebody looked')
    begun = time.time()
    start(lab, node)
    view = soon(lab, node, lambda view: view.on('ens4') == [], 'the device has no address')
    check({'192.168.5.7/24', 'fd55::7/64'} <= set(view.on('brcluster')), f'on the bridge: {view.on("brcluster")}')
    check('192.168.6.7/24 scope link' in node.enter('ip', '-o', 'address', 'show', 'dev', 'brcluster'), 'an address of scope link is another one there')
    equal(routes(view), [('192.168.5.250', 'brcluster', 'boot'), ('fd55::250', 'brcluster', 'boot')], 'default routes')
    time.sleep(12)  # neighbours forget within this time what does not answer
    for address, ping in pings.items():
        check(ping.is_answered(time.time() - 1), f'{address} does not answer any more')
        ping.answers_within(1.5, f'longest time without an answer of {address}', begun)
        ping.stop()
    status, text = node.execute('--check-config', '--against-host')
    check('nothing would be changed' in text, f'--against-host after the start: {status}: {text}')
    equal(errors(node), [], 'errors in the log')


@scenario('networking.md 3.1, case 7: a device that comes late', limit=60)
def late_device(lab):
    lab.zookeeper()
    node = lab.node(network=network.Shape(present=()))
    node.up()
    view = soon(lab, node, lambda view: f'{CLUSTER}.1/24' in view.on('brcluster'), 'bridge and address', 10)
    equal(view.ports('brcluster'), [], 'ports')
    time.sleep(1)
    lab.expect_alive(node)
    node.add_device('ens4')
    begun = time.monotonic()
    soon(lab, node, lambda view: view.ports('brcluster') == ['ens4'] and view.is_up('ens4') and view.mtu('ens4') == 1500, 'ens4 is taken', 10)
    within(time.monotonic() - begun, 1, 'the device that came')
    lab.await_state(node, 'run', 40)


@scenario('networking.md 3.1: another device in the file takes the place of the one before, and never comes beside it', limit=90)
def another_device(lab):
    """Both lead to the lab's switch: two of them in one bridge are a loop."""
    lab.zookeeper()
    node = lab.node(network=network.Shape(present=('ens4', 'ens9')))
    start(lab, node)
    one_primary(lab, [node])
    network.create(lab.client, VNI, **network.managed(1))
    soon(lab, node, lambda view: '10.1.1.1/24' in view.on(f'vmbr{VNI}') and view.ports(f'vmbr{VNI}') == [f'vxlan{VNI}'], 'the client network')
    is_down = 'ens9 becomes a port of brcluster'
    for device, before, is_there in (('ens9', 'ens4', True), ('ens10', 'ens9', False)):
        node.daemon.stop()
        node.daemon.wait(20)
        node.configure(**{f'system.configuration.networking.{role}.device': device for role in ('upstream', 'cluster', 'storage')})
        if is_there:
            node.enter('ip', 'link', 'set', device, 'down')
            text = node.execute('--check-config', '--against-host')[1]
            check(is_down in text, f'--against-host does not say what becomes of {device}, which is down: {text}')
        node.up()
        if not is_there:
            soon(lab, node, lambda view: 'device ens10 is missing' in node.log(), 'it is told of', 10)
            equal(View(node).ports('brcluster'), ['ens9'], 'ports while the new device is missing')
            node.add_device(device)
        soon(lab, node, lambda view: view.ports('brcluster') == [device] and view.is_up(device), f'{device} instead of {before}', 40)
        check(f'{before} was the device of brcluster, which is {device} now: it is taken out' in node.log(), node.log())
        lab.await_state(node, 'run', 40)
        one_primary(lab, [node])
        soon(lab, node, lambda view: view.ports(f'vmbr{VNI}') == [f'vxlan{VNI}'] and view.links[f'vxlan{VNI}']['link'] == device if 'link' in view.links.get(f'vxlan{VNI}', {})
             else f'dev {device} ' in node.enter('ip', '-d', 'link', 'show', f'vxlan{VNI}'), f'the VXLAN is on {device}')
        equal(f'{CLUSTER}.1/24' in View(node).on('brcluster'), True, 'the address of the bridge')
    check('is not as it was' not in node.log(), node.log())
    equal([line for line in errors(node) if 'missing' not in line], [], 'errors')


@scenario('networking.md 3.1: three devices become one in the file, and one three: addresses and the way out come along', limit=90)
def devices_become_one(lab):
    lab.zookeeper()
    three, one = network.three_devices(), network.Shape(upstream='ens4', cluster='ens4', storage='ens4')
    node = lab.node(network=three)
    start(lab, node)
    gateways = ('10.253.0.250', '10.254.0.250', '10.255.0.250')

    def begin_anew(shape):
        node.daemon.stop()
        node.daemon.wait(20)
        node.configure(**shape.settings())
        node.up()
    begin_anew(one)
    soon(lab, node, lambda view: view.ports('brcluster') == ['ens4'] and not view.on('brupstream') and not view.on('brstorage'), 'the move')
    lab.wait(lambda: '10.253.0.250' in node.enter('ip', 'route', 'show', 'default'), 10, 'the default route')
    check(all('dev brcluster' in node.enter('ip', 'route', 'get', gateway) for gateway in (*gateways, '8.8.8.8')), node.enter('ip', 'route'))
    check('is not as it was' not in node.log(), 'a change of the file is called damage')
    begin_anew(three)
    soon(lab, node, lambda view: [view.ports(bridge) for bridge in ('brupstream', 'brcluster', 'brstorage')] == [['ens4'], ['ens5'], ['ens6']], 'the ports')
    lab.wait(lambda: len({View(node).links[bridge]['address'] for bridge in ('brupstream', 'brcluster', 'brstorage')}) == 3, 10, 'an address for each')
    for address in ('10.253.0.1/24', '10.254.0.1/24'):
        lab.wait(lambda address=address: f'{address} of br' in node.log() and 'is also on brcluster: remove it there' in node.log(), 10, 'what is to be removed')
        node.enter('ip', 'address', 'del', address, 'dev', 'brcluster')
    lab.wait(lambda: 'dev brupstream' in node.enter('ip', 'route', 'get', '8.8.8.8'), 20, 'the way out is by its own bridge')


@scenario('networking.md 3.1: devices that the file calls by another name that they have', limit=60)
def other_names_of_devices(lab):
    lab.zookeeper()
    node = lab.node(network=network.Shape(bridge_device='ens4'))
    node.power_on()
    long_name = 'enp3s0np0'
    node.enter('ip', 'link', 'property', 'add', 'dev', 'ens4', 'altname', long_name)
    node.configure(**{f'system.configuration.networking.{role}.device': long_name for role in ('upstream', 'cluster', 'storage')})
    node.configure(**{'system.configuration.networking.bridge_device': long_name})
    text = node.execute('--check-config', '--against-host')[1]
    check('make ens4 a port of brcluster' in text, text)
    begun = time.monotonic()
    node.up()
    lab.await_state(node, 'run', 25)
    within(time.monotonic() - begun, 15, 'the start')
    equal(View(node).ports('brcluster'), ['ens4'], 'ports')
    equal(network.sysctl(node, 'net/ipv4/conf/ens4/rp_filter') in ('0', '2'), True, 'a setting of the device')
    one_primary(lab, [node])
    network.create(lab.client, VNI, **network.managed(1))
    soon(lab, node, lambda view: view.is_up(f'vxlan{VNI}') and view.ports(f'vmbr{VNI}') == [f'vxlan{VNI}'], 'the client network')
    equal(errors(node), [], 'errors')


@scenario('networking.md 3.2, cases 9 10: settings of the kernel; a device with a dot in its name', limit=60)
def kernel_settings(lab):
    lab.zookeeper()
    plain = lab.node('pvchv1', coordinators=['pvchv1'], network=network.three_devices())
    dotted = lab.node('pvchv2', coordinators=['pvchv1'], network=network.Shape(cluster='eth0.100', storage='eth0.100', upstream='ens4'))
    for node in (plain, dotted):
        node.power_on()
    network.set_sysctl(plain, 'net/ipv4/conf/all/rp_filter', 1)
    network.set_sysctl(dotted, 'net/ipv4/conf/all/rp_filter', 0)
    start(lab, plain, dotted)
    for node, devices, filtered in ((plain, ('ens5', 'brcluster', 'ens4', 'brupstream'), '2'), (dotted, ('eth0.100', 'brcluster', 'ens4', 'brupstream'), '0')):
        wanted = {'net/ipv4/ip_forward': '1', 'net/ipv6/conf/all/forwarding': '1'}
        for scope in ('all', 'default'):
            wanted |= {f'net/ipv4/conf/{scope}/send_redirects': '1', f'net/ipv4/conf/{scope}/accept_source_route': '1',
                       f'net/ipv6/conf/{scope}/accept_source_route': '1'}
        wanted |= {f'net/ipv4/conf/{device}/rp_filter': filtered for device in devices}
        equal({key: network.sysctl(node, key) for key in wanted}, wanted, f'settings of {node.label}')


@scenario('networking.md case 90: without the function nothing is touched', limit=40)
def networking_off(lab):
    lab.zookeeper()
    node = lab.node()
    node.power_on()
    network.create(lab.client, VNI, **network.managed(1))
    # What the settings are says more than what the daemon promises.
    kept = {key: network.sysctl(node, key) for key in ('net/ipv4/ip_forward', 'net/ipv6/conf/all/forwarding', 'net/ipv4/conf/ens4/rp_filter')}
    lab.wait(lambda: 'tentative' not in View(node).text and View(node).on('ens4', 'inet6', link_local=True), 10, 'the kernel has given ens4 an address')
    before = View(node).text
    start(lab, node)
    one_primary(lab, [node])
    lab.await_beats(node, 2)
    equal(View(node).text, before, 'links, addresses and routes')
    equal({key: network.sysctl(node, key) for key in kept}, kept, 'settings')


@scenario('networking.md 3.1: what somebody takes away from a running node comes back', limit=60)
def damage_is_repaired(lab):
    lab.zookeeper()
    node = lab.node(network=network.three_devices())
    start(lab, node)
    one_primary(lab, [node])
    network.create(lab.client, VNI, **network.managed(1))
    bridge, base = f'vmbr{VNI}', f'vxlan{VNI}'
    good = soon(lab, node, lambda view: f'10.1.1.1/24' in view.on(bridge) and view.is_up(base) and view.ports(bridge) == [base], 'the client network')

    def hurt(what, words, whole):
        node.enter('ip', *words.split())
        soon(lab, node, whole, what)
    hurt('an address', f'address delete {STORAGE}.1/24 dev brstorage', lambda view: f'{STORAGE}.1/24' in view.on('brstorage'))
    hurt('a bridge that is down', 'link set brstorage down', lambda view: view.is_up('brstorage'))
    hurt('a port', 'link set ens6 nomaster', lambda view: view.ports('brstorage') == ['ens6'])
    hurt('the default route', 'route delete default', lambda view: routes(view) == routes(good))
    def connected(view):
        del view
        shown = node.enter('ip', 'route', 'show', 'table', 'main')
        return all(f'{net}.0/24 dev {bridge_of} proto kernel scope link src' in shown for net, bridge_of in
                   ((CLUSTER, 'brcluster'), (STORAGE, 'brstorage'), (UPSTREAM, 'brupstream'), ('10.1.1', bridge)))
    hurt('all routes of the main table', 'route flush table main', lambda view: connected(view) and routes(view) == routes(good))
    hurt('an MTU', 'link set brstorage mtu 1400', lambda view: view.mtu('brstorage') == 1500)
    hurt('a base that is down', f'link set {base} down', lambda view: view.is_up(base))
    hurt('a base that was taken out', f'link set {base} nomaster', lambda view: view.ports(bridge) == [base])
    hurt('a base that was deleted', f'link delete {base}', lambda view: view.ports(bridge) == [base] and view.is_up(base))
    hurt('a bridge that was deleted', f'link delete {bridge}', lambda view: view.ports(bridge) == [base] and '10.1.1.1/24' in view.on(bridge))
    hurt('a gateway', f'address delete 10.1.1.1/24 dev {bridge}', lambda view: '10.1.1.1/24' in view.on(bridge))
    hurt('a floating address', f'address delete {UPSTREAM}.254/24 dev brupstream', lambda view: f'{UPSTREAM}.254/24' in view.on('brupstream'))
    lab.expect_alive(node)


def dhcp_folders(node):
    with os.scandir(node.run_path('pvc/dnsmasq')) as found:
        return sorted(one.name for one in found if one.is_dir(follow_symlinks=False))


@scenario('networking.md 5, cases 22 23 24 25 29: client networks come, change and go', limit=90)
def client_networks_live(lab):
    lab.zookeeper()
    first, second = nodes = [lab.node(name, coordinators=lab.names(2), network=network.Shape()) for name in lab.names(2)]
    start(lab, *nodes)
    primary = one_primary(lab, nodes)
    zk = lab.client
    network.create(zk, VNI, **network.managed(1))
    network.create(zk, 1002, mtu='9000', **network.managed(2))
    network.create(zk, 1003, mtu='abc', **network.managed(3))
    network.create(zk, 1004, mtu='1450', **network.managed(4))
    for node in nodes:
        def complete(view):
            return all(view.ports(f'vmbr{vni}') == [f'vxlan{vni}'] and view.is_up(f'vmbr{vni}') and view.is_up(f'vxlan{vni}') for vni in range(1001, 1005))
        view = soon(lab, node, complete, 'four networks')
        for vni in range(1001, 1005):
            equal((view.mtu(f'vmbr{vni}'), view.mtu(f'vxlan{vni}')), (1450, 1450), f'MTUs of {vni} on {node.label}')
        data = view.data(f'vxlan{VNI}')
        equal((data['id'], data['port'], data['link'], data['learning'], data.get('local'), data.get('group'), data.get('remote')),
              (VNI, 4789, 'ens4', True, None, None, None), f'the VXLAN on {node.label}')
        check(not network.has_checksum_offload(node, f'vmbr{VNI}'), f'checksums are offloaded on {node.label}')
        equal([network.sysctl(node, f'net/ipv6/conf/vmbr{VNI}/{key}') for key in ('accept_dad', 'accept_ra', 'autoconf')], ['0'] * 3,
              f'settings of the bridge on {node.label}')
    lab.await_value(f'/networks/{VNI}/mtu', '1450')
    writers = {change.session for change in lab.history(f'/networks/{VNI}/mtu', ('set',))}
    equal(writers, {lab.session_of(primary)}, 'who wrote the MTU')
    equal([(lab.get(f'/networks/{vni}/mtu'), lab.stat(f'/networks/{vni}/mtu').version) for vni in (1002, 1003)], [('9000', 0), ('abc', 0)],
          'MTUs that are not for ours to correct')
    vnis = ['1001', '1002', '1003', '1004']
    for node in nodes:
        lab.wait(lambda: dhcp_folders(node) == vnis, 5, f'directories for DHCP on {node.label}')
        equal(oct(os.stat(node.run_path('pvc/dnsmasq/1002')).st_mode & 0o7777), oct(0o755), f'mode of one on {node.label}')
        for name in ('1002/52:54:00:00:00:01', '1002.pid'):
            with open(node.run_path(f'pvc/dnsmasq/{name}'), 'w', encoding='ascii') as file:
                file.write('a text\n')
    indexes = {node.label: View(node).index(f'vmbr{VNI}') for node in nodes}
    network.modify(zk, 1004, mtu='1400')
    for node in nodes:
        soon(lab, node, lambda view: (view.mtu('vmbr1004'), view.mtu('vxlan1004')) == (1400, 1400), 'the new MTU')
    for vni in (1002, 1003):
        network.remove(zk, vni)
    for node in nodes:
        soon(lab, node, lambda view: not any(view.has(f'{kind}{vni}') for kind in ('vmbr', 'vxlan') for vni in (1002, 1003)), 'two are gone')
        equal(View(node).index(f'vmbr{VNI}'), indexes[node.label], f'index of the bridge on {node.label}')
        lab.wait(lambda: dhcp_folders(node) == ['1001', '1004'], 5, f'two directories for DHCP are gone on {node.label}')
        check(os.path.isfile(node.run_path('pvc/dnsmasq/1002.pid')), f'a file beside them is gone on {node.label}')


@scenario('networking.md 5.3, cases 30 31: what is right is adopted, what nobody wants is removed, what is used is left', limit=60)
def startup_sweep(lab):
    lab.zookeeper()
    node = lab.node(network=network.Shape())
    node.power_on()
    network.create(lab.client, VNI, **network.managed(1))
    for vni in (VNI, 7, 8):
        node.enter('ip', 'link', 'add', f'vmbr{vni}', 'type', 'bridge')
        node.enter('ip', 'link', 'add', f'vxlan{vni}', 'mtu', '1450', 'type', 'vxlan', 'id', str(vni), 'dev', 'ens4', 'dstport', '4789')
        node.enter('ip', 'link', 'set', f'vxlan{vni}', 'master', f'vmbr{vni}', 'up')
        node.enter('ip', 'link', 'set', f'vmbr{vni}', 'up')
    # Names that are taken by what is not of the daemon's making.
    node.enter('ip', 'link', 'add', 'vxlan9', 'type', 'vxlan', 'id', '99', 'dev', 'ens4', 'dstport', '4789')
    station = network.Station(lab, 'guest').in_node(node, 'vmbr8', '10.8.0.1/24')
    before = View(node)
    start(lab, node)
    view = soon(lab, node, lambda view: not view.has('vmbr7') and not view.has('vxlan7'), 'network 7 is gone', 10)
    equal([view.index(name) for name in ('vmbr1001', 'vxlan1001', 'vmbr8', 'vxlan8', 'vxlan9')],
          [before.index(name) for name in ('vmbr1001', 'vxlan1001', 'vmbr8', 'vxlan8', 'vxlan9')], 'indexes of the others')
    equal(view.ports('vmbr8'), ['vnet-guest', 'vxlan8'], 'ports of the bridge that is used')
    # The kernel gives one when the bridge has a carrier, which may be after the look.
    missing = set(before.on('vmbr1001', 'inet6', link_local=True)) - set(view.on('vmbr1001', 'inet6', link_local=True))
    equal((missing, 'remove fe80' in node.log()), (set(), False), 'link-local addresses that went')
    lines = [line for line in node.log().splitlines() if 'network 8 ' in line]
    equal(len(lines), 1, f'lines about it, {lines}')
    station.close()


@scenario('README ruling 83: a bridge keeps its hardware address, and neighbours believe another one within a second', limit=90)
def neighbours_believe(lab):
    lab.zookeeper()
    node = lab.node(network=network.Shape())
    start(lab, node)
    one_primary(lab, [node])
    bridge = f'vmbr{VNI}'
    network.create(lab.client, VNI, **network.managed(1))
    soon(lab, node, lambda view: view.on(bridge) == ['10.1.1.1/24'], 'the gateway')
    station = network.Station(lab, 'st').in_node(node, bridge, '10.1.1.9/24', gateway='10.1.1.1')
    ping = station.ping('10.1.1.1')
    lab.wait(ping.is_answered, 10, 'the gateway answers')
    mac, index = View(node).links[bridge]['address'], View(node).index(f'vxlan{VNI}')
    check(mac.startswith('06:'), f'{bridge} has {mac}, which is none of its own')
    since = time.time()
    node.enter('ip', 'link', 'del', f'vxlan{VNI}')
    soon(lab, node, lambda view: view.has(f'vxlan{VNI}') and view.index(f'vxlan{VNI}') != index and view.ports(bridge) != [], 'the VXLAN again')
    time.sleep(1)
    equal(View(node).links[bridge]['address'], mac, 'the hardware address of the bridge')
    gap = ping.longest_gap(since)[0]
    within(gap, 0.3, f'without the gateway for {gap:.3f} s, as its VXLAN was made anew')
    # The last word with the old address was just now.
    station.enter('ip', 'neigh', 'flush', 'all')
    time.sleep(0.2)
    since = time.time()
    node.enter('ip', 'link', 'set', bridge, 'address', '06:00:00:00:00:09')
    lab.wait(lambda: '06:00:00:00:00:09' in station.enter('ip', 'neigh'), 5, 'the neighbour believes it')
    time.sleep(1)
    gap = ping.longest_gap(since)[0]
    within(gap, 1.0, f'without the gateway for {gap:.3f} s, as its bridge has another hardware address')
    equal(errors(node), [], 'errors')
    station.close()


@scenario('networking.md 5.3, 6, cases 32 33 34 35: gateways', limit=90)
def gateways(lab):
    lab.zookeeper()
    nodes = [lab.node(name, coordinators=lab.names(2), network=network.Shape()) for name in lab.names(2)]
    start(lab, *nodes)
    primary = one_primary(lab, nodes)
    other = next(node for node in nodes if node is not primary)
    frames = FrameMonitor(primary)
    bridge = f'vmbr{VNI}'
    network.create(lab.client, VNI, **network.managed(1), ip6='fd00:1::/64', gateway6='fd00:1::1')
    soon(lab, primary, lambda view: view.on(bridge) == ['10.1.1.1/24', 'fd00:1::1/64'], 'both gateways')
    soon(lab, other, lambda view: view.is_up(bridge), 'the bridge')
    time.sleep(0.3)
    mac = View(primary).links[bridge]['address']
    sent = frames.pair('10.1.1.1', bridge)
    equal([(frame.kind, frame.sender, frame.target) for frame in sent], [('arp', mac, 'ff:ff:ff:ff:ff:ff')] * 2, 'announcements')
    apart = sent[1].time - sent[0].time
    requests = [frame for frame in frames.frames('10.1.1.1') if frame.kind == 'request' and frame.device == bridge]
    equal({(frame.sender, frame.target) for frame in requests}, {(mac, '00:00:00:00:00:00')}, 'requests for itself')
    check(requests[0].time <= sent[0].time, 'the request comes first: who believes it takes the reply too')
    check(0.01 <= apart, f'they are {apart * 1000:.0f} ms apart')
    equal({(frame.kind, frame.target) for frame in frames.frames('fd00:1::1') if frame.device == bridge} - {('na', '5')}, set(),
          'advertisements: router and override')
    equal(len(frames.pair('fd00:1::1', bridge)), 2, 'advertisements')
    equal(View(other).on(bridge), [], 'addresses of the bridge on the secondary')
    network.modify(lab.client, VNI, ip4_gateway='10.1.1.126', ip4_network='10.1.1.0/25')
    soon(lab, primary, lambda view: view.on(bridge) == ['10.1.1.126/25', 'fd00:1::1/64'] or view.on(bridge) == ['fd00:1::1/64', '10.1.1.126/25'],
         'the new gateway alone')
    network.modify(lab.client, VNI, ip6_gateway='', ip6_network='')
    soon(lab, primary, lambda view: view.on(bridge) == ['10.1.1.126/25'], 'no IPv6 gateway')
    equal(View(other).on(bridge), [], 'addresses of the bridge on the secondary')
    # Two networks that want one address: the smaller number has it.
    network.create(lab.client, 1000, ip4='10.1.1.0/25', gateway4='10.1.1.126')
    soon(lab, primary, lambda view: '10.1.1.126/25' in view.on('vmbr1000') and view.on(bridge) == [], 'the smaller number has the address')


@scenario('networking.md 5.1, case 28: what clients may write by mistake', limit=60)
def what_cannot_be_used(lab):
    lab.zookeeper()
    node = lab.node(network=network.Shape(bridge_device='ens4'))
    network.create(lab.client, 5000, nettype='bridged')
    network.create(lab.client, 1002, nettype='routed')
    network.create(lab.client, 16777216)
    network.create(lab.client, 1003, ip4='10.1.3.0/33', gateway4='10.1.3.1')
    network.create(lab.client, 1004, ip4='10.1.4.7/24', gateway4='10.1.4.1')
    lab.put([('/networks/abc', 'letters'), ('/networks/abc/nettype', 'managed'), ('/networks/1005', 'half'), ('/networks/1005/nettype', 'managed')])
    start(lab, node)
    one_primary(lab, [node])
    soon(lab, node, lambda view: '10.1.4.1/24' in view.on('vmbr1004') and view.is_up('vmbr1003') and view.is_up('vmbr1005'), 'what can be used')
    view = View(node)
    equal(view.on('vmbr1003'), [], 'addresses of a network that has none')
    equal([name for name in view.links if name in ('vlan5000', 'vmbr5000', 'vmbr1002', 'vmbr16777216', 'vmbrabc')], [], 'links of those that cannot be')
    for vni in ('5000', '1002', '16777216', 'abc'):
        lab.wait(lambda vni=vni: any(vni in line for line in node.log().splitlines()), 10, f'a line about network {vni}')


@scenario('networking.md 5.2, case 91 without VLANs: links that the kernel refuses are told of and tried again', limit=60)
def kernel_refuses(lab):
    """This kernel may have no VLANs; where it has, the network is simply there."""
    lab.zookeeper()
    node = lab.node(network=network.Shape(bridge_device='ens4'))
    network.create(lab.client, 200, nettype='bridged')
    network.create(lab.client, VNI, **network.managed(1))
    start(lab, node)
    soon(lab, node, lambda view: view.is_up(f'vmbr{VNI}'), 'the other network')
    has_vlans = space.sh('ip', 'link', 'add', 'link', 'lab0', 'name', 'probe9', 'type', 'vlan', 'id', '9', check=False) == '' and \
        'probe9' in space.sh('ip', '-br', 'link')
    if has_vlans:
        soon(lab, node, lambda view: view.ports('vmbr200') == ['vlan200'], 'the bridged network')
    else:
        lab.wait(lambda: any('vlan200' in line for line in node.log().splitlines()), 10, 'a line about it')
        soon(lab, node, lambda view: view.is_up('vmbr200'), 'its bridge is up: machines here reach each other')
        check(not any(line.count('create VLAN vlan200') > 1 for line in node.log().splitlines()), 'it names its subject once')
        lab.expect_alive(node)
