"""Random hosts as people have them, on the real kernel: what was there before, and no key names, is there after, unchanged; and what
`--against-host` says is what happens. A number draws a host: HOSTS=17 (or HOSTS=1..40) chooses others, as tests/long/hosts does. The
simulator plays the same hosts by the thousand, also those with VLANs and bonds, which this kernel need not have."""
import json
import os
import subprocess
import time

from .. import firewall, hosts, network, space
from ..guest_node import GuestNode
from ..lab import check, equal, scenario
from ..network import View
from .networking import soon, start
from .role import one_primary

COUNT, MORE = 5, 10
ODD = '320'  # of --vlans, too: what was found by hand
RICH = '28'  # of --vlans: a bond, a VLAN of its own, the upstream network on another


def chosen():
    first, _, last = os.environ.get('HOSTS', f'1..{COUNT}').partition('..')
    return int(first), int(last or first)


@scenario('README rulings 79, 81: random hosts', limit=200)
def random_hosts(lab):
    _play(lab, *chosen())


@scenario('README rulings 79, 81: more random hosts', limit=200, long=True)
def more_random_hosts(lab):
    _play(lab, COUNT + 1, MORE)


def _play(lab, first, last):
    lab.zookeeper()
    drawn = hosts.draw(first, last, '--all')
    names = lab.names(len(drawn))
    nodes = {name: (lab.node(name, coordinators=names[:2], network=hosts.shape(host)), host) for name, host in zip(names, drawn)}
    before, said, printed = {}, {}, {}
    for name, (node, host) in nodes.items():
        hosts.write_files(node, host)
        node.power_on()
        hosts.furnish(node, host)
    for node, _ in nodes.values():
        lab.wait(lambda node=node: 'tentative' not in View(node).text, 10, 'the kernel has given out all addresses')
    hosts.advertise(lab)
    for name, (node, host) in nodes.items():
        card = host['cards'][-1]
        # One that forwards hears none.
        is_deaf = network.sysctl(node, f'net/ipv6/conf/{card}/accept_ra') == '0' or network.sysctl(node, f'net/ipv6/conf/{card}/forwarding') == '1'
        lab.wait(lambda node=node, card=card, is_deaf=is_deaf: is_deaf or _is_routed_by_advertisement(node, card),
                 10, f'host {host["seed"]}: {card} has heard the router')
        before[name] = hosts.picture(node, host)
        printed[name] = node.execute('--check-config', '--against-host')[1]
        said[name] = hosts.steps(printed[name])
        equal(hosts.differences(before[name], hosts.picture(node, host), host), [], f'host {host["seed"]} after somebody looked')
    wrong = []

    def judge(when, *more):
        for name, (node, host) in nodes.items():
            now = hosts.picture(node, host)
            found = hosts.differences(before[name], now, host) + [text for rule in more for text in rule(name, now)]
            wrong.extend(f'host {host["seed"]} {when}: {text}' for text in found)
        check(not wrong, '\n'.join([*wrong[:20], 'one of them again: HOSTS=N tests/lab/run random_hosts']))

    for node, _ in nodes.values():
        node.up()
    for node, _ in nodes.values():
        lab.await_state(node, 'run', 40)
    first = [nodes[name][0] for name in names[:2]]
    lab.await_beats(nodes[names[0]][0], 3)
    judge('after the start', lambda name, now: hosts.unfulfilled(said[name], now), lambda name, now: hosts.unsaid(said[name], before[name], now, nodes[name][1]))
    for name, (node, host) in nodes.items():
        if 'inet filter' in dict(host['tables']):
            check('inet filter' in printed[name], f'host {host["seed"]}: --against-host says nothing of its own table inet filter')
            check('inet filter' in node.inside('cat', '/var/lib/pvc/nftables-before'), f'host {host["seed"]}: its table inet filter is not kept aside')
    wanted = {one['vni']: one for _, host in nodes.values() for one in host['networks'] if one['managed']}
    for vni, one in wanted.items():
        gateway = one['gateway'].split('/')[0]
        network.create(lab.client, vni, **({'ip4': hosts.network_of(one['gateway']), 'gateway4': gateway} if gateway else {}))
    for name, (node, host) in nodes.items():
        refused = {one['vni'] for one in host['networks'] if one['refused']}
        for vni in wanted:
            if vni in refused:
                lab.wait(lambda node=node, vni=vni: f'network {vni}: ' in node.log(), 20, f'host {host["seed"]} says why network {vni} is refused')
                # Whether an address is the network's gateway its keys say.
                may_be_gateway = 'with STP' not in before[name].get(f'link vmbr{vni}', 'with STP')
                check({f'vxlan{vni}', f'vmbr{vni}'} & hosts.left_alone(printed[name]) or may_be_gateway,
                      f'host {host["seed"]}: --against-host says nothing of network {vni}: {printed[name]}')
            else:
                soon(lab, node, lambda view, vni=vni: f'vxlan{vni}' in view.ports(f'vmbr{vni}') and view.is_up(f'vmbr{vni}'),
                     f'host {host["seed"]}: network {vni}', 30)
    judge('with client networks')
    lab.set('/networks/1001/mtu', '1400')
    for node, host in nodes.values():
        soon(lab, node, lambda view: view.links['vmbr1001']['mtu'] == 1400, f'host {host["seed"]}: another MTU of network 1001', 30)
    judge('with a network that was changed')
    for target in (first[1:] + first[:1]):
        if len(first) == 2:
            lab.set('/config/primary_node', target.short)
            lab.await_value(f'/nodes/{target.short}/routerstate', 'primary', 40)
    judge('after the role was handed over')
    # As a routing daemon does that begins anew.
    forwarding = 'net/ipv6/conf/all/forwarding'
    for node, _ in nodes.values():
        network.set_sysctl(node, forwarding, 0)
    for node, host in nodes.values():
        lab.wait(lambda node=node: network.sysctl(node, forwarding) == '1', 15, f'host {host["seed"]}: forwarding is on again')
    judge('after somebody switched forwarding off')
    for node, _ in nodes.values():
        node.daemon.kill()
    for node, _ in nodes.values():
        node.daemon.wait(10)
        node.start()
    for node, _ in nodes.values():
        lab.await_state(node, 'run', 60)
    lab.await_beats(nodes[names[0]][0], 3)
    judge('after a kill and another start')
    for vni in wanted:
        network.remove(lab.client, vni)
    for name, (node, host) in nodes.items():
        def rest(view, host=host, name=name):
            return [link for link in view.links if 'link ' + link not in before[name] and link not in hosts.BRIDGES]
        soon(lab, node, lambda view, rest=rest: not rest(view), f'host {host["seed"]}: nothing is left of networks that are gone', 40)
        # What files name that cannot be read may be one of these.
        goes = host['left'] if host['names_known'] else [link for link in host['left'] if link.endswith('1001')]
        lab.wait(lambda node=node, goes=goes: not [link for link in goes if View(node).has(link)], 20,
                 f'host {host["seed"]}: what a node daemon left is gone')
    judge('after the networks were removed')
    for node, _ in nodes.values():
        node.daemon.stop()
        lab.expect_end(node, 0, 30)
    judge('after the end')


def _is_routed_by_advertisement(node, card):
    return any(one['dst'] == 'default' and one['dev'] == card and one.get('protocol') == 'ra' for one in View(node).routes)


@scenario('README rulings 79, 81: a random host with VLANs and bonds', limit=240, long=True)
def random_host_with_vlans(lab):
    """In a guest, whose kernel has them. HOSTS chooses it."""
    _play_in_guest(lab, os.environ.get('HOSTS', RICH))


@scenario('README rulings 79, 81: a random host with a VRF, a routed bridge with a VLAN, and VLANs larger than the file says', limit=240)
def odd_host_with_vlans(lab):
    host, printed = _play_in_guest(lab, ODD)
    for what in ('a VRF with a card', 'a bridge by the name of a network\'s with its VLAN, an address and a route', 'a VLAN with an MTU above that of the file'):
        check(what in host['kinds'], f'host {ODD} does not have {what}')
    check(f'would set net/ipv6/conf/{host["cards"][-1]}/accept_ra to 2' in printed, f'a card in a VRF goes on taking routes of routers: {printed}')
    check('vmbr62 (' in printed, f'--against-host says nothing of vmbr62: {printed}')


def _play_in_guest(lab, number):
    lab.zookeeper()
    host = hosts.draw(*([int(number.partition('..')[0])] * 2), '--vlans')[0]
    node = GuestNode(lab, 'host', hosts.shape(host), limit=220, more={'/etc/lab/host': hosts.guest_commands(host), **host['files']})

    def seen(which=-1):
        lines = {kind: [line for line in node.text().split('\n')[:-1] if line.startswith(kind + ' ')]
                 for kind in ('links', 'addresses', 'routes4', 'routes6', 'rules')}
        links, addresses, routes4, routes6, rules = (json.loads(of[which].split(' ', 1)[1]) for of in lines.values())
        return hosts.links_and_more(links, addresses, routes4 + routes6, rules)
    node.wait(lambda links: 'prepared' in node.text().splitlines(), 'the host is there', 120)
    before = seen()
    equal(hosts.differences(seen(0), before, host), [], 'changes after somebody looked')
    printed = '\n'.join(line[8:] for line in node.text().splitlines() if line.startswith('against '))
    lab.await_value('/nodes/pvchv1/daemonstate', 'run', 120)
    lab.wait(lambda: not hosts.unfulfilled(_without_settings(hosts.steps(printed)), seen()), 20,
             lambda: str(hosts.unfulfilled(_without_settings(hosts.steps(printed)), seen())))
    equal(hosts.differences(before, seen(), host) + hosts.unsaid(hosts.steps(printed), before, seen(), host), [], f'host {host["seed"]} after the start')
    for one in host['networks']:
        gateway = one['gateway'].split('/')[0]
        network.create(lab.client, one['vni'], nettype='managed' if one['managed'] else 'bridged',
                       **({'ip4': hosts.network_of(one['gateway']), 'gateway4': gateway} if gateway else {}))
    for one in host['networks']:
        base = f'{"vxlan" if one["managed"] else "vlan"}{one["vni"]}'
        if one['refused']:
            node.await_said(f'network {one["vni"]}: ', 30)
            may_be_gateway = 'with STP' not in before.get(f'link vmbr{one["vni"]}', 'with STP')
            check({base, f'vmbr{one["vni"]}'} & hosts.left_alone(printed) or may_be_gateway, f'--against-host says nothing of {base}: {printed}')
        else:
            node.wait(lambda links, base=base, one=one: links.get(base, {}).get('master') == f'vmbr{one["vni"]}', f'network {one["vni"]}', 40)
    equal(hosts.differences(before, seen(), host), [], f'host {host["seed"]} with client networks')
    for one in host['networks']:
        network.remove(lab.client, one['vni'])
    node.wait(lambda links: not [name for name in links if f'link {name}' not in before and name not in hosts.BRIDGES], 'nothing is left of networks', 40)
    equal(hosts.differences(before, seen(), host), [], f'host {host["seed"]} after the networks were removed')
    node.end()
    return host, printed


def _without_settings(steps):
    return [step for step in steps if not step.startswith('set net/')]


@scenario('networking.md 7.3: sets of others in the table stay until it is made anew, also where a rule of theirs uses them', limit=60)
def sets_of_others(lab):
    lab.zookeeper()
    node = lab.node(network=network.Shape())
    network.create(lab.client, 1001, **network.managed(1))
    node.up()
    lab.await_state(node, 'run', 40)
    lab.wait(lambda: 'vxlan1001-in' in firewall.chains(node), 20, 'the chains of the network')

    def nft(text):
        subprocess.run(['nsenter', '-t', str(node.first), '-n', 'nft', '-f', '-'], input=text, text=True, check=True)
    nft('add set inet filter mine { type ipv4_addr; }\nadd element inet filter mine { 192.0.2.1 }\n')
    network.put_acl(lab.client, 1001, 'in', 'one', 0, 'tcp dport 22 accept')
    lab.wait(lambda: 'tcp dport 22' in str(firewall.chains(node)), 10, 'the ACL')
    lab.await_beats(node, 3)
    check('set mine' in firewall.listing(node), f'the set is gone with a change beside it: {firewall.listing(node)}')
    # A rule that is not the daemon's goes; what it used stays.
    nft('add rule inet filter forward ip saddr @mine accept\n')
    lab.wait(lambda: '@mine' not in firewall.listing(node), 10, 'the rule goes')
    check('set mine' in firewall.listing(node), 'the set went with the rule')
    # The daemon makes a dormant table anew.
    nft('add table inet filter { flags dormant; }\n')
    lab.wait(lambda: 'dormant' not in firewall.listing(node) and 'tcp dport 22' in str(firewall.chains(node)), 20, 'the table is made anew')
    check('set mine' not in firewall.listing(node), 'the set is there behind a table that was made anew')


def _bridge(node, number, device='ens4', port=4789, address='', more=''):
    """As a node daemon leaves it, but for what is told."""
    for words in (f'link add vmbr{number} type bridge {more}', f'link add vxlan{number} mtu 1450 type vxlan id {number} dev {device} dstport {port}',
                  f'link set vxlan{number} master vmbr{number}', f'link set vxlan{number} up', f'link set vmbr{number} up', f'address add {address} dev vmbr{number}'):
        node.enter('ip', *words.split())


@scenario('README ruling 79: bridges of the host that have names of networks keep their addresses, and stay', limit=60)
def bridges_of_the_host(lab):
    lab.zookeeper()
    node = lab.node(network=network.Shape(present=('ens4', 'ens8', 'ens9')))
    node.power_on()
    folder = os.path.join(node.folder, 'etc', 'network')
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, 'interfaces'), 'w') as file:
        file.write('auto vmbr1003\niface vmbr1003 inet static\n  address 10.77.3.1/24\n  bridge_ports vxlan1003\n')
    hosts.make_card(node, 'ens8')
    for words in ('link set ens4 up', 'link set ens9 up'):
        node.enter('ip', *words.split())
    _bridge(node, 1001, 'ens9', 8472, '10.77.1.1/24', 'stp_state 1')
    _bridge(node, 1002, address='10.77.2.1/24')
    _bridge(node, 1003, address='10.77.3.1/24')
    _bridge(node, 1004, address='10.77.4.1/24')
    for words in ('route add 10.78.1.0/24 via 10.77.1.2 dev vmbr1001', 'route add 10.78.2.0/24 via 10.77.2.2 dev vmbr1002', 'link add vmbr1 type bridge',
                  'link set ens8 master vmbr1', 'link set vmbr1 up'):
        node.enter('ip', *words.split())
    text = node.execute('--check-config', '--against-host')[1]
    for said in ('its name: vmbr1 (it has the port ens8)', 'its name: vmbr1001 (it has STP switched on)', 'its name: vmbr1003 (the network configuration of this host names it)',
                 'left alone, unless a client network has its number: vmbr1002 (routes lead over it)', 'would remove 10.77.4.1/24 from vmbr1004',
                 'if no client network has such a number: would remove, as left by a node daemon: vmbr1004, vxlan1004\n'):
        check(said in text, f'--against-host does not say "{said}": {text}')
    check('would remove 10.77.1.1' not in text and 'would remove 10.77.2.1' not in text and 'would remove 10.77.3.1' not in text, text)
    start(lab, node)
    soon(lab, node, lambda view: not view.has('vmbr1004') and not view.has('vxlan1004'), 'what a daemon left goes')

    def stays(when):
        view = View(node)
        for number in (1001, 1002, 1003):
            equal((view.on(f'vmbr{number}'), view.ports(f'vmbr{number}')), ([f'10.77.{number - 1000}.1/24'], [f'vxlan{number}']), f'vmbr{number} {when}')
        routes = node.enter('ip', 'route')
        check('10.78.1.0/24' in routes and '10.78.2.0/24' in routes, f'{when}: {routes}')
        check(view.has('vmbr1'), f'vmbr1 is gone {when}')

    stays('after the start')
    check('network 1 is gone' not in node.log(), 'vmbr1 was no network\'s')
    node.enter('ip', 'link', 'set', 'ens8', 'nomaster')
    # What comes later is looked at in the same way.
    _bridge(node, 1005, 'ens9', 8472, '10.77.5.1/24')
    lab.await_beats(node, 3)
    stays('without its card')
    equal(View(node).on('vmbr1005'), ['10.77.5.1/24'], 'addresses of a bridge that came later')
    node.daemon.stop()
    lab.expect_end(node, 0, 30)
    stays('after the stop')


@scenario('README ruling 79: containers of the host on an overlay of its own ask it what they like; a machine beside them is filtered', limit=60)
def containers_of_the_host(lab):
    lab.zookeeper()
    node = lab.node(network=network.Shape(present=('ens4', 'ens9')))
    node.power_on()
    for words in ('link set ens9 up', 'address add 192.0.2.10/24 dev ens9', 'link add vmbr50 type bridge',
                  'link add vxlan50 mtu 1450 type vxlan id 50 dev ens9 dstport 8472 remote 192.0.2.11',
                  'link set vxlan50 master vmbr50', 'link set vxlan50 up', 'link set vmbr50 up', '-6 address add fd77::1/64 dev vmbr50 nodad'):
        node.enter('ip', *words.split())
    container = network.Station(lab, 'container').in_node(node, 'vmbr50', 'fd77::5/64', is_container=True)
    network.Answerer(['nsenter', '-t', str(node.first), '-n'], ('tcp/3306',))
    equal(container.asks('tcp', 'fd77::1', 3306, 1.0), 'answered', 'a container, before the start')
    start(lab, node)
    one_primary(lab, [node])
    network.create(lab.client, 1001, **network.managed(1))
    soon(lab, node, lambda view: '10.1.1.1/24' in view.on('vmbr1001'), 'a network')
    equal(container.asks('tcp', 'fd77::1', 3306, 1.0), 'answered', 'a container')
    network.create(lab.client, 50, **network.managed(50))
    lab.await_log(node, 'network 50: ')
    equal(container.asks('tcp', 'fd77::1', 3306, 1.0), 'answered', 'a container, with a network of its number that is refused')
    machine = network.Station(lab, 'machine').in_node(node, 'vmbr50', 'fd77::6/64')
    lab.wait(lambda: 'vxlan50-in' in firewall.chains(node), 10, 'a machine in it is filtered')
    equal(machine.asks('tcp', 'fd77::1', 3306, 1.0), 'silent', 'a machine')


@scenario('networking.md 6: a client network gets no gateway that would change what the host reaches by itself', limit=90)
def gateways_and_the_host(lab):
    lab.zookeeper()
    node = lab.node(network=network.Shape(present=('ens4', 'ens9')))
    node.power_on()
    for words in ('link set ens9 up', 'address add 192.0.2.10/24 dev ens9', '-6 address add 2001:db8:1::10/64 dev ens9 nodad', 'route add 10.66.0.0/16 via 192.0.2.1 dev ens9',
                  'route add 10.68.7.0/24 via 192.0.2.1 dev ens9'):
        node.enter('ip', *words.split())
    station = network.Station(lab, 'manager').in_lab('192.0.2.5/24')
    ping = station.ping('192.0.2.10')
    lab.wait(ping.is_answered, 10, 'answers before')
    start(lab, node)
    one_primary(lab, [node])
    network.create(lab.client, 1001, ip4='192.0.2.0/25', gateway4='192.0.2.1')
    network.create(lab.client, 1002, ip4='10.68.7.0/25', gateway4='10.68.7.1')
    network.create(lab.client, 1005, ip4='10.66.7.0/24', gateway4='10.66.7.1')
    network.create(lab.client, 1003, ip6='2001:db8:1::/80', gateway6='2001:db8:1::1')
    network.create(lab.client, 1004, **network.managed(4))
    soon(lab, node, lambda view: view.on('vmbr1004') == ['10.1.4.1/24'], 'another network has its gateway')
    view = View(node)
    equal([view.on(f'vmbr{number}') for number in (1001, 1002, 1003)], [[], [], []], 'addresses')
    for vni, text in ((1001, 'overlaps 192.0.2.0/24 of ens9'), (1002, 'lies in 10.68.7.0/24'), (1003, 'overlaps 2001:db8:1::/64 of ens9')):
        check(any(f'network {vni}: ' in line and text in line for line in node.log().splitlines()), f'network {vni}: {text} is not said')
    # A part of what the router of a site has was given to the cluster.
    soon(lab, node, lambda view: view.on('vmbr1005') == ['10.66.7.1/24'], 'the gateway of a network in a wide route')
    lab.await_log(node, 'network 1005: its 10.66.7.0/24 lies in 10.66.0.0/16')
    lab.await_beats(node, 3)
    check(ping.is_answered(time.time() - 1), 'the operator does not reach his host any more')
    # It is over when the host's own is.
    node.enter('ip', 'route', 'del', '10.68.7.0/24')
    soon(lab, node, lambda view: view.on('vmbr1002') == ['10.68.7.1/25'], 'the gateway comes when the route is gone')
    node.enter('ip', 'address', 'add', '10.1.4.77/24', 'dev', 'ens9')
    soon(lab, node, lambda view: view.on('vmbr1004') == [], 'the gateway goes when the host gets that network')


def _card(node, name):
    """One that is no veth, as those of containers are."""
    node.remove_device(name)
    space.sh('ip', 'link', 'add', 'link', 'lab0', 'name', name, 'mtu', '1500', 'netns', str(node.first), 'type', 'macvlan', 'mode', 'bridge')
    node.enter('ip', 'link', 'set', name, 'up')


@scenario('README ruling 81: the default route waits for its port, and leaves a host meanwhile that has another way', limit=60)
def route_waits_for_port(lab):
    lab.zookeeper()
    node = lab.node(network=network.Shape(present=('ens4', 'ens9')))
    node.power_on()
    for words in ('link set ens9 up', 'address add 192.0.2.10/24 dev ens9', 'route add default via 192.0.2.250 dev ens9 proto dhcp metric 100',
                  'link set ens4 up', 'link add link ens4 name docker_mv type macvlan mode bridge', 'link set docker_mv up'):
        node.enter('ip', *words.split())
    status, text = node.execute('--check-config', '--against-host')
    check(status != 0 and 'device ens4 carries docker_mv' in text and 'default route' not in text, f'{status}: {text}')
    node.start()
    lab.wait(lambda: 'device ens4 carries docker_mv' in node.log(), 20, 'it says why there is no port')
    lab.wait(lambda: View(node).on('brcluster'), 20, 'the addresses')
    equal([one['dev'] for one in View(node).routes if one['dst'] == 'default'], ['ens9'], 'the default routes')
    node.enter('ip', 'link', 'del', 'docker_mv')
    soon(lab, node, lambda view: view.ports('brcluster') == ['ens4'], 'the port')
    soon(lab, node, lambda view: 'brcluster' in [one['dev'] for one in view.routes if one['dst'] == 'default'], 'the route')


@scenario('networking.md 3.1: a host that reaches its networks over a bridge of its own, or over a macvlan, goes on to', limit=90)
def bridges_without_port(lab):
    lab.zookeeper()
    names = lab.names(3)
    nodes = [lab.node(name, coordinators=names, network=network.Shape()) for name in names]
    own_bridge = ('link add {over} type bridge', 'link set ens4 master {over}')
    macvlan = ('link add {over} link ens4 type macvlan mode bridge',)
    shapes = ((own_bridge, 'br0', 24, 'metric 425'), (own_bridge, 'br0', 16, ''), (macvlan, 'mv0', 24, 'metric 100'))
    for node, (made, over, prefix, metric) in zip(nodes, shapes):
        node.power_on()
        for words in ('link set ens4 up', *made, f'link set {over} up', f'address add {node.address}/{prefix} dev {over} {metric}'):
            node.enter('ip', *words.format(over=over).split())
        node.start()
    for node, (_, over, _, _) in zip(nodes, shapes):
        lab.wait(lambda node=node: 'is not added on brcluster, which has no port' in node.log(), 30, lambda node=node: node.log())
        way = node.enter('ip', 'route', 'get', '10.255.0.250')
        check(f'dev {over} ' in way, f'{node.label}: {way}')
        check(not [one for one in View(node).on('brcluster') if one.startswith('10.255.')], f'{node.label}: {View(node).on("brcluster")}')


@scenario('networking.md 3.1: addresses move with the metric of the routes to their networks, or without one', limit=90)
def ways_stay(lab):
    lab.zookeeper()
    node = lab.node(network=network.Shape(present=('ens4', 'ens8')))
    node.power_on()
    _card(node, 'ens8')
    for words in ('link set ens4 up', 'address add 10.88.0.8/24 dev ens4 metric 600', 'address add 10.88.0.9/24 dev ens8 metric 100',
                  'address add 172.30.5.1/16 dev ens4 noprefixroute', 'address add 10.89.0.8/24 dev ens4 noprefixroute',
                  'route add 10.89.0.0/24 dev ens4 proto kernel scope link src 10.89.0.8 metric 425',
                  '-6 address add fd88::8/64 dev ens4 metric 2000', '-6 address add fd89::8/64 dev ens4 noprefixroute'):
        node.enter('ip', *words.split())
    text = node.execute('--check-config', '--against-host')[1]
    for words in ('add 10.88.0.8/24 (metric 600) to brcluster', 'add 172.30.5.1/16 (noprefixroute) to brcluster',
                  'add route 10.89.0.0/24 (metric 425, source 10.89.0.8) on brcluster'):
        check(words in text, f'{words}: {text}')
    start(lab, node)
    soon(lab, node, lambda view: view.ports('brcluster') == ['ens4'], 'the port')
    routes = node.enter('ip', 'route') + node.enter('ip', '-6', 'route')
    for words in ('10.88.0.0/24 dev brcluster proto kernel scope link src 10.88.0.8 metric 600', '10.89.0.0/24 dev brcluster proto kernel scope link src 10.89.0.8 metric 425',
                  'fd88::/64 dev brcluster proto kernel metric 2000'):
        check(words in routes, f'{words}: {routes}')
    for network_of in ('172.30.0.0/16', 'fd89::/64'):
        check(network_of not in routes, routes)
    check('dev ens8' in node.enter('ip', 'route', 'get', '10.88.0.50'), 'the way of the smaller metric')


@scenario('networking.md 3.1: routes of programs to the networks of their addresses move, also where a plain address is beside', limit=90)
def ways_of_programs_stay(lab):
    lab.zookeeper()
    node = lab.node(network=network.Shape(present=('ens4',)))
    node.power_on()
    # The primary address of each network of IPv4 has noprefixroute, so that the kernel makes no route for the second one.
    for words in ('link set ens4 up', 'address add 10.255.0.48/24 dev ens4 valid_lft 3000 preferred_lft 2000 noprefixroute',
                  'route add 10.255.0.0/24 dev ens4 proto kernel scope link src 10.255.0.48 metric 1024',
                  'route add 10.46.0.0/16 via 10.255.0.250 dev ens4 proto dhcp src 10.255.0.48 metric 1024', f'address add {node.address}/24 dev ens4',
                  'address add 10.44.0.18/24 dev ens4 noprefixroute', 'route add 10.44.0.0/24 dev ens4 proto kernel scope link src 10.44.0.18 metric 100',
                  'address add 10.44.0.19/24 dev ens4', 'route append 10.44.0.0/24 dev ens4 proto kernel scope link src 10.44.0.19 metric 100',
                  # Two of one metric, which differ by their source alone; and two of somebody's on the link.
                  'route add 10.47.0.0/16 via 10.44.0.1 dev ens4 src 10.44.0.18 metric 5', 'route append 10.47.0.0/16 via 10.44.0.1 dev ens4 src 10.44.0.19 metric 5',
                  'route add 10.48.0.0/16 dev ens4 src 10.44.0.19 metric 5', 'route append 10.48.0.0/16 dev ens4 src 10.44.0.18 metric 5',
                  '-6 address add fd44::13/64 dev ens4 nodad', '-6 address add fd44::14/64 dev ens4 noprefixroute nodad',
                  '-6 route add fd44::/64 dev ens4 proto kernel metric 100'):
        node.enter('ip', *words.split())
    start(lab, node)
    soon(lab, node, lambda view: view.ports('brcluster') == ['ens4'], 'the port')
    routes = node.enter('ip', 'route') + node.enter('ip', '-6', 'route')
    for words in ('10.255.0.0/24 dev brcluster proto kernel scope link src 10.255.0.48 metric 1024',
                  '10.46.0.0/16 via 10.255.0.250 dev brcluster proto dhcp src 10.255.0.48 metric 1024',
                  '10.44.0.0/24 dev brcluster proto kernel scope link src 10.44.0.18 metric 100',
                  '10.44.0.0/24 dev brcluster proto kernel scope link src 10.44.0.19 metric 100',
                  '10.47.0.0/16 via 10.44.0.1 dev brcluster src 10.44.0.18 metric 5', '10.47.0.0/16 via 10.44.0.1 dev brcluster src 10.44.0.19 metric 5',
                  '10.48.0.0/16 dev brcluster scope link src 10.44.0.19 metric 5', '10.48.0.0/16 dev brcluster scope link src 10.44.0.18 metric 5',
                  'fd44::/64 dev brcluster proto kernel metric 100', 'fd44::/64 dev brcluster proto kernel metric 256'):
        check(words in routes, f'{words}: {routes}')
    check('10.' not in node.enter('ip', 'route', 'show', 'dev', 'ens4'), node.enter('ip', 'route', 'show', 'dev', 'ens4'))
    check('fd44' not in node.enter('ip', '-6', 'route', 'show', 'dev', 'ens4'), node.enter('ip', '-6', 'route', 'show', 'dev', 'ens4'))
    for address in ('10.44.0.77', 'fd44::77'):
        check('dev brcluster' in node.enter('ip', 'route', 'get', address), f'the way to {address}')


@scenario('README ruling 81: a host whose way out is by an advertisement, over a bridge with a card and a machine', limit=60)
def advertised_over_a_bridge(lab):
    lab.zookeeper()
    node = lab.node(network=network.Shape(present=('ens4', 'ens8')))
    node.power_on()
    _card(node, 'ens8')
    for words in ('link add br0 type bridge', 'link set ens8 master br0', 'link set br0 up', 'tuntap add vnet0 mode tap', 'link set vnet0 master br0 up'):
        node.enter('ip', *words.split())
    lab.wait(lambda: 'tentative' not in View(node).text, 10, 'the kernel has given out all addresses')
    hosts.advertise(lab)
    lab.wait(lambda: _is_routed_by_advertisement(node, 'br0'), 10, 'the router is heard')
    check('net/ipv6/conf/br0/accept_ra' in node.execute('--check-config', '--against-host')[1], '--against-host tells of accept_ra')
    node.start()
    lab.wait(lambda: network.sysctl(node, 'net/ipv6/conf/all/forwarding') == '1', 30, 'IPv6 is forwarded')
    equal(network.sysctl(node, 'net/ipv6/conf/br0/accept_ra'), '2', 'accept_ra of br0')
    check(_is_routed_by_advertisement(node, 'br0'), 'the default route of br0 is there')


@scenario('README ruling 79: a link of the host that a network used stays, although the record of that is cut off', limit=60)
def record_cut_off(lab):
    lab.zookeeper()
    node = lab.node(network=network.Shape())
    node.power_on()
    for words in ('link set ens4 up', 'link add vxlan1003 mtu 1450 type vxlan id 1003 dev ens4 dstport 4789', 'link set vxlan1003 up'):
        node.enter('ip', *words.split())
    start(lab, node)
    one_primary(lab, [node])
    network.create(lab.client, 1003, **network.managed(3))
    soon(lab, node, lambda view: view.ports('vmbr1003') == ['vxlan1003'], 'it is used')
    path = os.path.join(node.folder, 'run', 'pvc', 'client-bridges')

    def record():
        with open(path) as file:
            return file.read()
    lab.wait(lambda: 'base vxlan1003' in record(), 10, 'the record')
    node.daemon.kill()
    node.daemon.wait(10)
    text = record()
    with open(path, 'w') as file:
        file.write(text[:len(text) // 2])
    network.remove(lab.client, 1003)
    check('has no end' in node.execute('--check-config', '--against-host')[1], '--against-host says nothing of the record')
    node.start()
    soon(lab, node, lambda view: not view.has('vmbr1003'), 'the bridge goes')
    check(View(node).has('vxlan1003'), 'the link of the host is gone')


@scenario('README ruling 79: links that ifupdown names by a pattern, in a large file, in one of many, or in one that a pattern of folders sources', limit=90)
def names_by_ifupdown(lab):
    lab.zookeeper()
    node = lab.node(network=network.Shape())
    node.power_on()
    base = os.path.join(node.folder, 'etc', 'network')
    os.makedirs(os.path.join(base, 'first.d'))
    many = ''.join(f'auto ens9.{n}\niface ens9.{n} inet manual\n    vlan-raw-device ens9\n    # {"-" * 40}\n' for n in range(1, 700))
    files = {'interfaces': many + 'source /etc/network/first.d/*\nsource sites/*/*.conf\nauto vxlan1001\niface vxlan1001 inet manual\nauto /vxlan100[2]\niface vxlan inet manual\n',
             'first.d/zz': 'iface vxlan1003 inet manual\n', 'first.d/inner/more': 'auto vxlan1006\n', 'sites/north/own.conf': 'auto vxlan1005\n', **{f'first.d/a{n}': f'auto ens8.{n}\n' for n in range(300)}}
    for name, text in files.items():
        os.makedirs(os.path.dirname(os.path.join(base, name)), exist_ok=True)
        with open(os.path.join(base, name), 'w') as file:
            file.write(text)
    node.enter('ip', 'link', 'set', 'ens4', 'up')
    named = (1001, 1002, 1003, 1005, 1006)
    for vni in named:
        node.enter('ip', *f'link add vxlan{vni} mtu 1450 type vxlan id {vni} dev ens4 dstport 4789'.split())
        network.create(lab.client, vni, **network.managed(vni - 1000))
    start(lab, node)
    for vni in named:
        lab.wait(lambda vni=vni: f'network {vni}: vxlan{vni} is a link of this host\'s own' in node.log(), 10, f'network {vni} is refused')
        check(View(node).links[f'vxlan{vni}'].get('master') is None, f'vxlan{vni} is in a bridge')
    # While the daemon runs, together with the link and just before the network.
    with open(os.path.join(base, 'first.d', 'zz'), 'a') as file:
        file.write('iface vxlan1004 inet manual\n')
    node.enter('ip', *'link add vxlan1004 mtu 1450 type vxlan id 1004 dev ens4 dstport 4789'.split())
    network.create(lab.client, 1004, **network.managed(4))
    lab.await_log(node, 'network 1004: vxlan1004 is a link of this host\'s own')
    check(View(node).links['vxlan1004'].get('master') is None, 'vxlan1004 is in a bridge')


@scenario('networking.md 3.1: a link of the host that is called as a bridge of the daemon, or has that as another name, gets no address', limit=90)
def called_as_a_bridge(lab):
    lab.zookeeper()
    nodes = [lab.node(name, coordinators=['pvchv1', 'pvchv2'], network=network.three_devices(present=('ens4', 'ens5', 'ens6', card)))
             for name, card in (('pvchv1', 'brupstream'), ('pvchv2', 'ens9'))]
    for node, card in zip(nodes, ('brupstream', 'ens9')):
        node.power_on()
        node.enter('ip', 'link', 'set', card, 'up')
        node.enter('ip', 'address', 'add', '192.0.2.10/24', 'dev', card)
    nodes[1].enter('ip', 'link', 'property', 'add', 'dev', 'ens9', 'altname', 'brupstream')
    for node, why in zip(nodes, ('brupstream is no bridge', 'brupstream is another name of ens9')):
        status, text = node.execute('--check-config', '--against-host')
        check(status != 0 and why in text and 'nothing is done to it, and no address is added' in text and 'create bridge brupstream' not in text, f'{status}: {text}')
        node.up()
        lab.await_state(node, 'run', 60)
        lab.await_value(f'/nodes/{node.short}/routerstate', 'primary', 40)
        soon(lab, node, lambda view: '10.255.0.254/24' in view.on('brcluster'), 'addresses of the primary')
        lab.await_beats(node, 3)
        card = 'ens9' if node is nodes[1] else 'brupstream'
        equal(View(node).on(card), ['192.0.2.10/24'], f'addresses of {card}')
        check(why in node.log(), node.log())
        node.daemon.stop()
        lab.expect_end(node, 0, 30)


@scenario('networking.md 7.4, 8.3: a symbolic link in the place of a directory or a record of the daemon\'s is not followed', limit=60)
def links_in_its_directories(lab):
    lab.zookeeper()
    node = lab.node(network=network.Shape())
    network.create(lab.client, 1001, **network.managed(1))
    start(lab, node)
    run, theirs = os.path.join(node.folder, 'run', 'pvc'), os.path.join(node.folder, 'run', 'theirs')
    lab.wait(lambda: os.path.isdir(os.path.join(run, 'dnsmasq', '1001')) and os.path.exists(os.path.join(run, 'nft', 'networks', '1001.nft')), 20, 'its directories')
    node.daemon.stop()
    lab.expect_end(node, 0, 30)
    files = {'dhcp/52:54:00:00:00:01': 'a lease', 'nets/9.nft': 'their rules', 'record': 'boot 1\n'}
    for name, text in files.items():
        os.makedirs(os.path.dirname(os.path.join(theirs, name)), exist_ok=True)
        with open(os.path.join(theirs, name), 'w') as file:
            file.write(text)
    os.rmdir(os.path.join(run, 'dnsmasq', '1001'))
    for name in os.listdir(os.path.join(run, 'nft', 'networks')):
        os.remove(os.path.join(run, 'nft', 'networks', name))
    os.rmdir(os.path.join(run, 'nft', 'networks'))
    os.remove(os.path.join(run, 'client-bridges'))
    for place, to in (('dnsmasq/1001', 'dhcp'), ('dnsmasq/7', 'dhcp'), ('nft/networks', 'nets'), ('client-bridges', 'record')):
        os.symlink('/run/theirs/' + to, os.path.join(run, place))
    start(lab, node)
    for said in ('dnsmasq/1001: refused: it is no directory', 'dnsmasq/7: it is no directory', 'nft/networks: refused: it is no directory',
                 'client-bridges: input/output error: it is a symbolic link, which is not followed'):
        lab.wait(lambda said=said: said in node.log(), 20, f'a line that says "{said}"')
    lab.wait(lambda: 'vxlan1001-in' in firewall.chains(node), 20, 'the rules of the network')
    lab.wait(lambda: not os.path.islink(os.path.join(run, 'client-bridges')), 20, 'the record is in its place')
    network.remove(lab.client, 1001)
    soon(lab, node, lambda view: not view.has('vmbr1001'), 'the network is gone')
    lab.await_beats(node, 3)
    for name, text in files.items():
        with open(os.path.join(theirs, name)) as file:
            equal(file.read(), text, f'what a link leads to: {name}')
    equal(sorted(os.listdir(theirs)) + sorted(os.listdir(os.path.join(theirs, 'nets'))), ['dhcp', 'nets', 'record', '9.nft'], 'files of others')
