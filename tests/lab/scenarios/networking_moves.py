"""What a host has on a device goes to the bridge of which the device becomes a port, on the real kernel: as it was, and never lost."""
import os
import random
import re
import signal
import time

from .. import network
from ..lab import check, equal, scenario
from ..network import View
from .networking import soon, start
from .role import one_primary

ROUTES = 250


def _over(node, device):
    """Where the routes of the host over a device lead, but for those of the kernel."""
    return sorted(line.split()[0] + (' of 100' if table == '100' else '') for family in ('-4', '-6') for table in ('main', '100')
                  for line in node.enter('ip', family, 'route', 'show', 'table', table, 'dev', device, check=False).splitlines() if 'proto kernel' not in line and line[0].strip())


@scenario('networking.md 3.1: a daemon that is killed while routes go to a bridge has lost none', limit=120)
def killed_moves(lab):
    lab.zookeeper()
    node = lab.node(network=network.Shape(present=('ens4',), gateway=None))
    node.power_on()
    node.enter('ip', 'link', 'set', 'ens4', 'up')
    commands = ['address add 192.168.5.7/24 dev ens4', 'address add 203.0.113.7/32 dev ens4', '-6 address add fd55::7/64 dev ens4 nodad',
                'route add 198.51.100.1/32 dev ens4', 'route add default via 203.0.113.1 dev ens4 onlink', 'route add default via 192.168.5.250 dev ens4 table 100',
                # Two of one place and metric.
                'route add 10.79.0.0/16 via 192.168.5.250 dev ens4', 'route append 10.79.0.0/16 via 192.168.5.251 dev ens4',
                '-6 route add default via fd55::250 dev ens4 metric 1024', '-6 route add fd99::/64 dev ens4 metric 100']
    commands += [f'route add 10.77.{number}.0/24 via {"192.168.5.250" if number % 2 else "198.51.100.1"} dev ens4' for number in range(ROUTES)]
    commands += [f'-6 route add fd77:{number}::/48 via fd55::250 dev ens4 metric 7' for number in range(ROUTES // 5)]
    for words in commands:
        node.enter('ip', *words.split())
    before = _over(node, 'ens4')
    check(len(before) > ROUTES * 6 // 5, before)
    kills, unfinished = 0, 0
    draw = random.Random(17)
    while True:
        node.start()
        lab.wait(lambda: View(node).has('brcluster') and View(node).ports('brcluster') == ['ens4'], 30, 'the port')
        time.sleep(draw.random() * 0.05)
        node.daemon.kill()
        node.daemon.wait(10)
        kills += 1
        here, there = _over(node, 'ens4'), _over(node, 'brcluster')
        equal(sorted(set(here) | set(there)), sorted(set(before)), f'the routes after {kills} kills')
        unfinished += bool(here) and bool(there)
        if not here or kills == 30:
            break
    check(unfinished, 'no kill came in the middle')
    start(lab, node)
    lab.wait(lambda: _over(node, 'ens4') == [] and View(node).on('ens4') == [], 30, lambda: f'all of it goes: {_over(node, "ens4")}')
    equal(_over(node, 'brcluster'), before, 'the routes at the end')
    equal(sorted(one for one in View(node).on('brcluster') if not one.startswith('10.25')), ['192.168.5.7/24', '203.0.113.7/32', 'fd55::7/64'], 'the addresses')


def _way(node, where):
    """The source of what this host sends there."""
    words = node.enter('ip', 'route', 'get', where).split()
    return words[words.index('src') + 1]


@scenario('networking.md 3.1: what a host sends keeps its source when its address and its default route go to a bridge; neighbours go along', limit=90)
def way_out(lab):
    lab.zookeeper()
    names = lab.names(3)
    nodes = [lab.node(name, coordinators=names, network=network.Shape(present=('ens4',), gateway=None)) for name in names]
    shapes = (('address add 203.0.113.7/32 dev ens4', 'route add default via 203.0.113.1 dev ens4 onlink'),
              ('address add 203.0.113.6/31 dev ens4', 'address add 198.51.100.7/24 dev ens4', 'route add 203.0.113.1/32 dev ens4', 'route add default via 203.0.113.1 dev ens4'),
              ('address add 10.255.0.199/24 dev ens4', 'address add 10.255.0.198/24 dev ens4', 'route add default via 10.255.0.250 dev ens4'))
    of_six = ('-6 address add 2001:db8:1::7/128 dev ens4 nodad', '-6 route add default via fe80::1 dev ens4 metric 1024')
    entries = ('neigh add 198.51.100.77 lladdr 02:00:00:00:00:01 nud permanent dev ens4', 'neigh add proxy 198.51.100.78 dev ens4',
               '-6 neigh add fd00::77 lladdr 02:00:00:00:00:01 nud permanent dev ens4', '-6 neigh add proxy fd00::78 dev ens4')
    places = ('192.0.2.99', '10.255.0.77', '2001:db8:9::1')
    before = {}
    for node, shape in zip(nodes, shapes):
        node.power_on()
        for words in ('link set ens4 up', *shape, *of_six, *entries):
            node.enter('ip', *words.split())
        lab.wait(lambda node=node: 'tentative' not in View(node).text, 10, 'addresses')
        before[node] = [_way(node, place) for place in places if place != '10.255.0.77' or node is nodes[2]]
        text = node.execute('--check-config', '--against-host')[1]
        check('add neighbour 198.51.100.77 at 02:00:00:00:00:01 on brcluster' in text, text)
        node.start()
    for node in nodes:
        lab.wait(lambda node=node: View(node).has('brcluster') and View(node).ports('brcluster') == ['ens4'] and View(node).on('ens4') == [], 30, lambda node=node: node.log())
        equal([_way(node, place) for place in places if place != '10.255.0.77' or node is nodes[2]], before[node], f'{node.label}: the sources')
        there = ''.join(node.enter('ip', *words.split()) for words in ('neigh show nud permanent', 'neigh show proxy', '-6 neigh show proxy'))
        for words in ('198.51.100.77 dev brcluster lladdr 02:00:00:00:00:01 PERMANENT', '198.51.100.78 dev brcluster', 'fd00::77 dev brcluster lladdr 02:00:00:00:00:01 PERMANENT',
                      'fd00::78 dev brcluster'):
            check(words in there and 'ens4' not in there, f'{node.label}: {words}: {there}')


@scenario('README ruling 79, networking.md 3: table local, ARP and the names of its bridges, which somebody takes away by hand, come back', limit=90)
def hands_of_others(lab):
    lab.zookeeper()
    node = lab.node(network=network.Shape(present=('ens4', 'ens9')))
    node.power_on()
    for words in ('link set ens9 up', 'address add 192.0.2.10/24 dev ens9'):
        node.enter('ip', *words.split())
    start(lab, node)
    one_primary(lab, [node])
    network.create(lab.client, 1001, **network.managed(1))
    soon(lab, node, lambda view: view.on('vmbr1001') == ['10.1.1.1/24'], 'the gateway')
    lab.await_beats(node, 2)
    index = View(node).index('vmbr1001')
    for bridge in ('vmbr1001', 'brcluster'):
        node.enter('ip', 'link', 'set', bridge, 'arp', 'off')
        soon(lab, node, lambda view, bridge=bridge: 'NOARP' not in node.enter('ip', 'link', 'show', 'dev', bridge), f'ARP of {bridge}')
    node.enter('ip', 'link', 'set', 'vmbr1001', 'name', 'mine')
    soon(lab, node, lambda view: view.has('vmbr1001') and view.index('vmbr1001') == index and view.on('vmbr1001') == ['10.1.1.1/24'], 'the name of vmbr1001')
    check('vmbr1001 was called mine' in node.log(), node.log())
    node.enter('ip', 'link', 'set', 'vmbr1001', 'name', 'vmbr9999')
    soon(lab, node, lambda view: view.has('vmbr1001') and not view.has('vmbr9999') and view.index('vmbr1001') == index, 'the name of vmbr1001, that was another network\'s')
    network.create(lab.client, 1002, **network.managed(2))
    soon(lab, node, lambda view: view.on('vmbr1002') == ['10.1.2.1/24'], 'the gateway of 1002')
    lab.await_beats(node, 2)
    other = View(node).index('vmbr1002')
    node.enter('sh', '-c', 'ip link set vmbr1001 name between; ip link set vmbr1002 name vmbr1001; ip link set between name vmbr1002')
    soon(lab, node, lambda view: view.has('vmbr1001') and view.has('vmbr1002') and (view.index('vmbr1001'), view.index('vmbr1002')) == (index, other)
         and view.on('vmbr1001') == ['10.1.1.1/24'] and view.on('vmbr1002') == ['10.1.2.1/24'], 'names that were exchanged')
    node.enter('ip', 'route', 'flush', 'table', 'local')
    own = [f'{node.address}', '10.1.1.1']
    soon(lab, node, lambda view: all(f'local {one} dev' in node.enter('ip', 'route', 'show', 'table', 'local') for one in own), 'the local routes')
    lab.wait(lambda: 'this host takes no packets for' in node.log() and '192.0.2.10/24 on ens9' in node.log(), 10, 'what is not the daemon\'s is said')
    for words in ('address del 127.0.0.1/8 dev lo', 'address add 127.0.0.1/8 dev lo', 'address del 192.0.2.10/24 dev ens9', 'address add 192.0.2.10/24 dev ens9'):
        node.enter('ip', *words.split())
    lab.await_log(node, 'this is over: this host takes no packets for')
    lab.await_beats(node, 2)


def _looks(lab, node):
    """So often the daemon has looked at the links since its start, by what it says when it is asked."""
    said = r'(\d+) looks since the start'
    before = len(re.findall(said, node.log()))
    node.daemon.signal(signal.SIGUSR1)
    return int(lab.wait(lambda: re.findall(said, node.log())[before:], 10, 'the report')[0])


@scenario('README ruling 79, networking.md 6: routes of IPv6 that somebody flushes on a primary come back at once, those of the bridge itself too; those of routing daemons cause no look', limit=120)
def flushed_routes_of_six(lab):
    lab.zookeeper()
    node = lab.node(network=network.Shape())
    node.power_on()
    start(lab, node)
    one_primary(lab, [node])
    network.create(lab.client, 1003, ip6='2001:db8:3::/64', gateway6='2001:db8:3::1')
    soon(lab, node, lambda view: view.on('vmbr1003') == ['2001:db8:3::1/64'], 'the gateway')
    network.Station(lab, 'g1').in_node(node, 'vmbr1003', '2001:db8:3::20/64')
    own = re.search(r'fe80::[0-9a-f:]+', node.enter('ip', '-6', 'address', 'show', 'dev', 'vmbr1003', 'scope', 'link')).group()
    node.enter('ip', '-6', 'address', 'add', 'fe80::77/64', 'dev', 'vmbr1003', 'nodad')  # somebody's

    def shown(table):
        return node.enter('ip', '-6', 'route', 'show', 'table', table, 'dev', 'vmbr1003', check=False)

    def is_whole():
        return (all(f'{one} proto kernel' in shown('main') for one in ('2001:db8:3::/64', 'fe80::/64'))
                and all(f'local {one} proto kernel' in shown('local') for one in ('2001:db8:3::1', own)))
    lab.wait(is_whole, 10, lambda: shown('main') + shown('local'))
    for tables in (('local',), ('main',), ('local', 'main'), ('main', 'local')):
        time.sleep(4)  # the kernel makes its routes to an address of IPv6 a moment after that: of a new one none is missed
        since = time.monotonic()
        for table in tables:
            node.enter('ip', '-6', 'route', 'flush', 'table', table)
        lab.wait(is_whole, 5, lambda tables=tables: f'{tables}: {shown("main")}{shown("local")}')
        print(f'{" ".join(tables)}: {time.monotonic() - since:.2f} s')
        check(('local fe80::77' in shown('local')) == (tables == ('main',)), f'{tables}: {shown("local")}: somebody\'s address was taken away')
        if 'local' in tables:
            lab.await_log(node, 'fe80::77/64 on vmbr1003: the kernel')
            for word in ('del', 'add'):
                node.enter('ip', '-6', 'address', word, 'fe80::77/64', 'dev', 'vmbr1003', *(['nodad'] if word == 'add' else []))
    time.sleep(4)
    counts = []
    for by in ('bgp', 'boot'):
        before = _looks(lab, node)
        since = time.monotonic()
        lines = [f'route {word} fd77:{number % 250}::/48 dev brcluster proto {by}' for number in range(2500) for word in ('add', 'del')]
        path = os.path.join(node.folder, 'routes')
        with open(path, 'w') as file:
            file.write('\n'.join(lines))
        node.enter('ip', '-6', '-batch', path)
        counts.append((_looks(lab, node) - before, time.monotonic() - since))
    print('5000 changes, looks and seconds: of BGP, by hand: ' + ', '.join(f'{looks} in {seconds:.1f}' for looks, seconds in counts))
    check(counts[0][0] <= 3, f'{counts}: looks for what a routing daemon makes')
    check(counts[1][0] <= 10 * counts[1][1] + 5, f'{counts}: looks without end')


@scenario('README ruling 79: what ifupdown names and is not up is not made for a client network, before a start or after it', limit=90)
def named_and_down(lab):
    lab.zookeeper()
    node = lab.node(network=network.Shape())
    node.power_on()
    os.makedirs(os.path.join(node.folder, 'etc', 'network'))
    with open(os.path.join(node.folder, 'etc', 'network', 'interfaces'), 'w') as file:
        file.write('auto vxlan1001\niface vxlan1001 inet manual\nauto vmbr1002\niface vmbr1002 inet manual\n')
    for vni in (1001, 1002, 1003):
        network.create(lab.client, vni, **network.managed(vni - 1000))
    text = node.execute('--check-config', '--against-host')[1]
    for name in ('vxlan1001', 'vmbr1002'):
        check(f'{name} (the network configuration of this host names it; it is not there)' in text, text)
    start(lab, node)
    one_primary(lab, [node])
    soon(lab, node, lambda view: view.on('vmbr1003') == ['10.1.3.1/24'], 'the gateway of the network that nobody names')
    for vni, name in ((1001, 'vxlan1001'), (1002, 'vmbr1002')):
        lab.await_log(node, f'network {vni}: {name} is a link of this host\'s own: the network configuration of this host names it, whether it is up or not')

    def nothing_is_made(when):
        for vni in (1001, 1002):
            for kind in ('vxlan', 'vmbr'):
                check(not View(node).has(f'{kind}{vni}'), f'{when}: {kind}{vni} was made')
    nothing_is_made('after the start')
    # ifup, ifdown, ifup; another start between them.
    up = ('link add vxlan1001 mtu 1450 type vxlan id 1001 dev ens4 dstport 4789', 'address add 10.50.3.1/24 dev vxlan1001', 'link set vxlan1001 up')
    for with_restart in (False, True):
        for words in up:
            node.enter('ip', *words.split())
        lab.await_beats(node, 1)
        if with_restart:
            node.daemon.kill()
            node.daemon.wait(10)
        node.enter('ip', 'link', 'delete', 'vxlan1001')
        if with_restart:
            node.start()
        lab.await_beats(node, 2)
        nothing_is_made(f'after ifdown, restarted: {with_restart}')
    for words in up:
        node.enter('ip', *words.split())
    # The daemon's own base by another name has its own again, and its network its gateway.
    index = View(node).index('vxlan1003')
    # The daemon may be quicker than the second command.
    node.enter('sh', '-c', 'until ip link set vxlan1003 down && ip link set vxlan1003 name foo1 2>/dev/null; do sleep 0.01; done')
    soon(lab, node, lambda view: view.has('vxlan1003') and view.index('vxlan1003') == index and view.ports('vmbr1003') == ['vxlan1003'] and view.on('vmbr1003') == ['10.1.3.1/24'], 'the name of vxlan1003')
    check('vxlan1003 was called foo1' in node.log(), node.log())
    for vni in (1001, 1002, 1003):
        network.remove(lab.client, vni)
    soon(lab, node, lambda view: not view.has('vmbr1003') and not view.has('vxlan1003'), 'the network goes')
    lab.await_beats(node, 2)
    equal(View(node).on('vxlan1001'), ['10.50.3.1/24'], 'the address of the host')
    check(View(node).links['vxlan1001'].get('master') is None, 'vxlan1001 is in a bridge')


@scenario('networking.md 3.1: a DHCP client renews its lease on a port: the bridge has it for as long', limit=60)
def renewed_lease(lab):
    lab.zookeeper()
    node = lab.node(network=network.Shape())
    start(lab, node)
    bridge = 'brcluster'
    lease = '10.255.0.88/24'
    for before, now in ((20, 600), (600, 300), ('forever', 200)):
        for device, left in ((bridge, before), ('ens4', now)):
            node.enter('ip', 'address', 'replace', lease, 'dev', device, 'valid_lft', str(left), 'preferred_lft', str(left))
        soon(lab, node, lambda view: lease not in view.on('ens4'), 'it goes from the port')
        text = node.enter('ip', '-4', '-o', 'address', 'show', 'dev', bridge)
        left = [line.split('valid_lft ')[1].split('sec')[0] for line in text.splitlines() if lease in line]
        check(len(left) == 1 and left[0].isdigit() and now - 60 < int(left[0]) <= now, text)
    lab.await_log(node, f'{lease} goes from ens4 to {bridge}')


@scenario('networking.md 3.1: of two addresses of one network one has its route by systemd-networkd: the network is reached over the bridge', limit=60)
def several_of_one_network(lab):
    lab.zookeeper()
    node = lab.node(network=network.Shape(present=('ens4',), gateway=None))
    node.power_on()
    node.enter('ip', 'link', 'set', 'ens4', 'up')
    for words in ('address add 10.255.0.48/24 dev ens4 valid_lft 3000 preferred_lft 2000 noprefixroute', 'route add 10.255.0.0/24 dev ens4 proto kernel scope link src 10.255.0.48 metric 1024',
                  'route add default via 10.255.0.250 dev ens4 proto dhcp src 10.255.0.48 metric 1024', f'address add 10.255.0.{node.number}/24 dev ens4',
                  'address add 10.44.0.18/24 dev ens4 noprefixroute', 'route add 10.44.0.0/24 dev ens4 proto kernel scope link src 10.44.0.18 metric 100', 'address add 10.44.0.19/24 dev ens4',
                  '-6 address add fd44::13/64 dev ens4 nodad', '-6 address add fd44::14/64 dev ens4 noprefixroute nodad', '-6 route add fd44::/64 dev ens4 proto kernel metric 100'):
        node.enter('ip', *words.split())
    start(lab, node)
    soon(lab, node, lambda view: view.ports('brcluster') == ['ens4'] and view.on('ens4') == [], 'the port, without addresses')
    ways = [line.strip() for family in ('-4', '-6') for line in node.enter('ip', family, 'route', 'show', 'dev', 'brcluster').splitlines()]
    for where, metric in (('10.255.0.0/24', 1024), ('default via 10.255.0.250', 1024), ('10.44.0.0/24', 100), ('fd44::/64', 100), ('fd44::/64', 256)):
        check(any(line.startswith(where) and f'metric {metric}' in line for line in ways), f'{where} metric {metric}: {ways}')
    equal([line for line in node.enter('ip', '-6', 'route', 'show', 'dev', 'ens4').splitlines() if line.startswith('fd44')], [], 'what is left on the port')


OWN_WAYS = (
    # A gateway for neighbours too, as hosting companies want it.
    'address add 10.44.0.18/24 dev ens4', 'address add 10.44.0.19/24 dev ens4', 'route prepend 10.44.0.0/24 via 10.44.0.1 dev ens4',
    # The kernel's own is not there, in itself and for a gateway.
    'address add 10.45.0.18/24 dev ens4', 'route add 10.145.0.0/16 via 10.45.0.1 dev ens4', 'route del 10.45.0.0/24 dev ens4',
    'address add 10.46.0.18/24 dev ens4', 'route add 10.46.0.1 dev ens4 scope link src 10.46.0.18', 'route replace 10.46.0.0/24 via 10.46.0.1 dev ens4 src 10.46.0.18',
    # Another source, and settings.
    'address add 10.47.0.18/24 dev ens4', 'address add 10.47.0.19/24 dev ens4', 'route replace 10.47.0.0/24 dev ens4 proto kernel scope link src 10.47.0.19',
    'address add 10.48.0.18/24 dev ens4', 'route change 10.48.0.0/24 dev ens4 proto kernel scope link src 10.48.0.18 mtu 1400 initcwnd 30',
    'address add 10.49.0.18/24 dev ens4', 'route replace 10.49.0.0/24 dev ens4 scope link src 10.49.0.18 advmss 1300',
    'address add 10.50.0.18/24 dev ens4', 'route prepend 10.50.0.0/24 dev ens4 proto dhcp scope link src 10.50.0.18 mtu 1400',
    # By a gateway before one on the link, and by gateways in no order.
    'route add 10.147.0.0/24 via 10.44.0.1 dev ens4 table 88', 'route append 10.147.0.0/24 dev ens4 table 88 src 10.44.0.19',
    'route add 10.148.0.0/16 via 10.44.0.9 dev ens4', 'route append 10.148.0.0/16 via 10.44.0.5 dev ens4', 'route append 10.148.0.0/16 via 10.44.0.7 dev ens4',
    '-6 address add fd55::7/64 dev ens4 nodad', '-6 route add fd65::/64 via fd55::9 dev ens4', '-6 route del fd55::/64 dev ens4',
    '-6 address add fd56::7/64 dev ens4 nodad', '-6 route change fd56::/64 dev ens4 proto kernel metric 256 mtu 1400',
    '-6 address add fd57::7/64 dev ens4 nodad', '-6 route add fd57::1 dev ens4', '-6 route del fd57::/64 dev ens4', '-6 route add fd57::/64 via fd57::1 dev ens4 metric 256',
    'neigh add 10.44.0.7 lladdr 02:00:00:00:00:07 dev ens4 nud permanent', '-6 neigh add fd55::77 lladdr 02:00:00:00:00:77 dev ens4 nud permanent')


def _ways_over(node, device):
    """All of the host's, with what the kernel made, as `ip` shows them; not those of the daemon's networks."""
    return [' '.join(line.split()) for family, table in (('-4', 'main'), ('-4', '88'), ('-6', 'main'))
            for line in node.enter('ip', family, 'route', 'show', 'table', table, 'dev', device, check=False).splitlines()
            if not line.startswith(('10.25', 'fe80', 'fd00', 'multicast'))]


def _entered_on(node, device):
    return sorted(' '.join(line.split()) for family in ('-4', '-6') for line in node.enter('ip', family, 'neigh', 'show', 'dev', device, 'nud', 'permanent', check=False).splitlines()
                  if '02:00:00:00:00' in line)


@scenario('networking.md 3.1: a host that has other ways to its own networks than the kernel makes has them on the bridge, in their order, also after kills', limit=180)
def own_ways_stay(lab):
    lab.zookeeper()
    node = lab.node(network=network.Shape(present=('ens4',), gateway=None))
    node.power_on()
    node.enter('ip', 'link', 'set', 'ens4', 'up')
    for words in OWN_WAYS:
        node.enter('ip', *words.split())
    before, entered = _ways_over(node, 'ens4'), _entered_on(node, 'ens4')
    check(len(before) > 18 and len(entered) == 2, f'{before} {entered}')
    said = node.execute('--check-config', '--against-host')[1]
    for words in ('would remove route 10.45.0.0/24 (source 10.45.0.18) on brcluster', 'no route of the kernel\'s own to'):
        check(words in said, f'{words}: {said}')
    draw = random.Random(18)
    for kills in range(12):
        node.start()
        lab.wait(lambda: View(node).has('brcluster') and View(node).ports('brcluster') == ['ens4'], 30, 'the port')
        time.sleep(draw.random() * 0.12)
        node.daemon.kill()
        node.daemon.wait(10)
        both = set(_entered_on(node, 'ens4')) | set(_entered_on(node, 'brcluster'))
        equal(sorted(both), entered, f'what somebody entered, after {kills + 1} kills')
    start(lab, node)
    lab.wait(lambda: _ways_over(node, 'ens4') == [] and View(node).on('ens4') == [], 30, lambda: f'all of it goes: {_ways_over(node, "ens4")}')
    equal(_ways_over(node, 'brcluster'), before, 'the ways at the end')
    equal(_entered_on(node, 'brcluster'), entered, 'what somebody entered, at the end')
    for where in ('10.44.0.77', '10.45.0.77', '10.46.0.77', 'fd55::77', 'fd57::77'):
        check('dev brcluster' not in node.enter('ip', 'route', 'get', where, check=False) or ' via ' in node.enter('ip', 'route', 'get', where, check=False), f'on the link: {where}')
    # A later look brings nothing back.
    node.enter('ip', 'address', 'add', '10.51.0.18/24', 'dev', 'brcluster')
    time.sleep(3)
    equal([one for one in _ways_over(node, 'brcluster') if not one.startswith('10.51')], before, 'the ways later')
