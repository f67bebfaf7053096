"""The firewall of client networks (networking.md 7) on real nodes: what nft shows of it, what becomes of packets, what happens when
it changes under traffic, and a table that the other kind left."""
import json
import os
import shutil
import subprocess
import time

from .. import firewall, network
from ..lab import check, equal, scenario, within
from .networking import errors, soon, start
from .role import one_primary

V4 = {1: '10.1.1.0/24', 2: '10.1.2.0/24'}
V6 = {1: 'fd00:1::/64', 2: 'fd00:2::/64'}
LIMIT = 12


def both(number):
    return {'ip4': V4[number], 'gateway4': f'10.1.{number}.1', 'ip6': V6[number], 'gateway6': f'fd00:{number}::1'}


def one_node(lab, *networks, **options):
    """A primary with these networks, whose rules are there."""
    lab.zookeeper()
    node = lab.node(network=network.Shape(), **options)
    for vni, values in networks:
        network.create(lab.client, vni, **values)
    start(lab, node)
    one_primary(lab, [node])
    for vni, _ in networks:
        soon(lab, node, lambda view, vni=vni: view.is_up(f'vmbr{vni}'), f'network {vni}')
        has_chain(lab, node, vni)
    return node


def has_chain(lab, node, vni):
    lab.wait(lambda: f'vxlan{vni}-out' in firewall.chains(node), LIMIT, f'chains of {vni} on {node.label}')


def shows(lab, node, chain, rules):
    shows_soon(lab, node, chain, rules, LIMIT)


def shows_soon(lab, node, chain, rules, timeout):
    lab.wait(lambda: firewall.chains(node).get(chain) == rules, timeout, lambda: f'{chain}: {rules}; it has {firewall.chains(node).get(chain)}')


def same_as_by_hand(lab, node):
    lab.wait(lambda: firewall.listing(node) == firewall.loaded_by_hand(node, '/run/pvc/nft/base.nft'), LIMIT,
             lambda: 'the files say the same as the table: ' + firewall.loaded_by_hand(node, '/run/pvc/nft/base.nft') + '\n' + firewall.listing(node))


@scenario('networking.md 7.1 7.2, cases 41 42 43 44 45 46 48 49 50 52 93: what nft shows, and what it makes of the files', limit=90)
def firewall_as_nft_shows_it(lab):
    lab.zookeeper()
    node = lab.node(network=network.Shape())
    node.power_on()
    for words in ('add table ip other', 'add chain ip other mine', 'add rule ip other mine tcp dport 1 counter'):
        node.enter('nft', *words.split())
    other = firewall.listing(node, 'ip other', handles=True)
    start(lab, node)
    one_primary(lab, [node])
    lab.wait(lambda: firewall.chains(node) == {'forward': [], 'input': []}, LIMIT, lambda: f'base chains; it has {firewall.listing(node)}')
    for chain in ('forward', 'input'):
        check(f'type filter hook {chain} priority filter; policy accept;' in firewall.listing(node), firewall.listing(node))
    same_as_by_hand(lab, node)
    zk = lab.client
    network.create(zk, 1001, ip4=V4[1], gateway4='10.1.1.1')
    network.create(zk, 10000, **both(2))
    network.create(zk, 1003, ip6='fd00:3::/64', gateway6='fd00:3::1')
    network.create(zk, 1004, ip4='10.1.4.0/24')
    network.create(zk, 200, nettype='bridged')
    for vni in (1001, 10000, 1003, 1004):
        has_chain(lab, node, vni)
    into, through = [], []
    for vni, values in ((10000, both(2)), (1001, {'ip4': V4[1]}), (1003, {'ip6': 'fd00:3::/64'}), (1004, {})):
        one, other_chain = firewall.built_in(vni, values.get('ip4'), values.get('ip6'))
        into, through = into + one, through + other_chain
    shows(lab, node, 'input', into)
    shows(lab, node, 'forward', through)
    check(not any('200' in name for name in firewall.chains(node)), 'a bridged network has no chains')
    same_as_by_hand(lab, node)

    # Order, equal orders, a bad one among good ones, injection.
    for name, order, text in (('b', 2, 'tcp dport 22 accept'), ('c', 10, 'drop'), ('a', 1, 'ip saddr { 10.0.0.1, 10.0.1.0/24 } tcp dport { 80, 443 } accept')):
        network.put_acl(zk, 1001, 'in', name, order, text)
    shows(lab, node, 'vxlan1001-in', ['counter', 'counter ip saddr { 10.0.0.1, 10.0.1.0/24 } tcp dport { 80, 443 } accept',
                                      'counter tcp dport 22 accept', 'counter drop'])
    network.put_acl(zk, 1001, 'out', 'y', 0, 'icmp type echo-request limit rate 5/second accept')
    network.put_acl(zk, 1001, 'out', 'x', 0, 'tcp dport 1 reject with tcp reset')
    network.put_acl(zk, 1001, 'out', 'bad', 0, 'tcp dport nosuch accept')
    network.put_acl(zk, 1001, 'out', 'evil', 3, 'accept; add table ip evil')
    network.put_acl(zk, 1001, 'out', 'worse', 4, 'accept\nadd table ip evil')
    network.put_acl(zk, 1001, 'out', 'file', 5, 'include "/etc/passwd"')
    lab.wait(lambda: len(firewall.chains(node)['vxlan1001-out']) == 3, LIMIT, lambda: f'three rules; it has {firewall.listing(node)}')
    same_as_by_hand(lab, node)
    equal('evil' in node.enter('nft', 'list', 'ruleset'), False, 'a table that an ACL made')
    written = firewall.files(node)['networks/1001.nft']
    for name in ('bad', 'evil', 'worse', 'file'):
        lines = [line for line in node.log().splitlines() if '1001' in line and name in line and 'out' in line]
        equal(len(lines), 1, f'lines about {name}, {lines}')
        equal(len([line for line in written.splitlines() if line.lstrip().startswith('#') and name in line]), 1, f'comments about {name} in {written}')
    lab.set('/networks/1001/firewall_rules/out/bad/rule', 'tcp dport ssh accept')
    lab.wait(lambda: len(firewall.chains(node)['vxlan1001-out']) == 4, LIMIT, 'what was repaired is applied')
    same_as_by_hand(lab, node)
    equal(firewall.listing(node, 'ip other', handles=True), other, 'a table of somebody else')
    # Somebody removes the files: all of them are back with the next change.
    shutil.rmtree(firewall.folder(node))
    network.put_acl(zk, 1001, 'out', 'z', 9, 'udp dport 9 drop')
    lab.wait(lambda: {'base.nft', 'networks/1001.nft', 'networks/1003.nft'} <= set(firewall.files(node)), LIMIT, 'the files are back')
    same_as_by_hand(lab, node)
    # A removed one leaves nothing, and the handles of the others stay.
    kept = [one for one in firewall.handles(node) if '1003' in one[0]]
    network.remove(zk, 1001)
    lab.wait(lambda: '1001' not in firewall.listing(node) and 'networks/1001.nft' not in firewall.files(node), LIMIT, 'nothing of 1001')
    equal([one for one in firewall.handles(node) if '1003' in one[0]], kept, 'rules of another network')
    same_as_by_hand(lab, node)


ANSWERS = ('tcp/22', 'tcp/53', 'tcp/80', 'tcp/443', 'udp/53', 'udp/67', 'udp/123', 'udp/547', 'udp/999', 'tcp/8080')


CONTROL = ('tcp', '10.1.1.1', 53)  # which the node answers, on the bridge of the first station


def told(station, whom, expected):
    """What becomes of its questions; a busy machine takes its time to answer. A silence counts once what is asked behind it is answered."""
    for seconds in (0.25, 1, 5):
        *found, control = station.asks_all([*whom, CONTROL], seconds)
        if found == expected and control == 'answered':
            break
    return found


@scenario('networking.md 7.1, case 47: what reaches the gateway, and what goes through it, by packets', limit=120)
def firewall_by_packets(lab):
    node = one_node(lab, (1001, both(1)), (1002, both(2)))
    here, there = [network.Station(lab, f'st{number}').in_node(node, f'vmbr100{number}', f'10.1.{number}.9/24', f'fd00:{number}::9/64')
                   for number in (1, 2)]
    for number, station in ((1, here), (2, there)):
        station.enter('ip', 'route', 'add', 'default', 'via', f'10.1.{number}.1')
        station.enter('ip', '-6', 'route', 'add', 'default', 'via', f'fd00:{number}::1')
    network.Answerer(['nsenter', '-t', str(node.first), '-n'], ANSWERS)
    there.answer(*ANSWERS)
    for address in ('10.1.1.1', 'fd00:1::1', '10.1.2.9', 'fd00:2::9'):
        ping = here.ping(address)
        lab.wait(ping.is_answered, 10, f'{address} answers echo requests')
        ping.stop()

    # What the node itself answers those on its bridge.
    for kind, port, of in (('tcp', 53, 'answered'), ('tcp', 80, 'answered'), ('udp', 53, 'answered'), ('udp', 67, 'answered'), ('udp', 123, 'answered'),
                           ('tcp', 22, 'silent'), ('tcp', 443, 'silent'), ('tcp', 8080, 'silent'), ('udp', 999, 'silent')):
        whom, expected = [(kind, address, port) for address in ('10.1.1.1', 'fd00:1::1')], [of] * 2
        equal(told(here, whom, expected), expected, f'{kind} {port}')
    whom, expected = [('udp', address, 547) for address in ('10.1.1.1', 'fd00:1::1')], ['silent', 'answered']
    equal(told(here, whom, expected), expected, 'DHCPv6')

    hardware = json.loads(here.enter('ip', '-j', 'link', 'show', 'eth0'))[0]['address']
    passed = {'tcp 22': 'answered', 'tcp 80': 'answered', 'udp 53': 'answered'}
    rows = [
        # direction of network 2, texts, family: None both; what becomes of these
        ('in', [], None, {}),
        ('in', ['tcp dport 22 ct state new accept', 'tcp dport 22 ct state established accept', 'drop'], None, {'tcp 80': 'silent', 'udp 53': 'silent'}),
        ('in', ['tcp dport 22 drop'], None, {'tcp 22': 'silent'}),
        ('in', ['tcp dport ssh reject with tcp reset'], None, {'tcp 22': 'refused'}),
        ('in', ['tcp dport 22 reject'], None, {'tcp 22': 'refused'}),
        ('in', ['udp dport 53 reject with icmpx type admin-prohibited'], None, {'udp 53': 'refused'}),
        ('in', ['tcp dport { 22, 80 } drop'], None, {'tcp 22': 'silent', 'tcp 80': 'silent'}),
        ('in', ['tcp dport 20-30 drop'], None, {'tcp 22': 'silent'}),
        ('in', ['tcp dport { 20-30, 80 } drop'], None, {'tcp 22': 'silent', 'tcp 80': 'silent'}),
        ('in', ['tcp dport != 22 drop'], None, {'tcp 80': 'silent'}),
        ('in', ['th dport 53 drop'], None, {'udp 53': 'silent'}),
        ('in', ['meta l4proto tcp drop'], None, {'tcp 22': 'silent', 'tcp 80': 'silent'}),
        ('in', ['meta l4proto { tcp, udp } drop'], None, {'tcp 22': 'silent', 'tcp 80': 'silent', 'udp 53': 'silent'}),
        ('in', ['meta nfproto ipv4 tcp dport 22 drop'], 4, {'tcp 22': 'silent'}),
        ('in', ['meta nfproto ipv6 tcp dport 22 drop'], 6, {'tcp 22': 'silent'}),
        ('in', ['ip saddr 10.1.1.9 tcp dport 22 drop'], 4, {'tcp 22': 'silent'}),
        ('in', ['ip saddr 10.1.1.0/28 drop'], 4, {'tcp 22': 'silent', 'tcp 80': 'silent', 'udp 53': 'silent'}),
        ('in', ['ip saddr 10.1.1.16/28 drop'], 4, {}),
        ('in', ['ip saddr != 10.1.1.0/24 drop'], 4, {}),
        ('in', ['ip saddr { 10.9.0.0/16, 10.1.1.9 } tcp dport { 80, 443 } drop'], 4, {'tcp 80': 'silent'}),
        ('in', ['ip saddr 10.1.1.5-10.1.1.12 tcp dport 80 drop'], 4, {'tcp 80': 'silent'}),
        ('in', ['ip daddr 10.1.2.9 udp dport 53 drop'], 4, {'udp 53': 'silent'}),
        ('in', ['ip protocol udp drop'], 4, {'udp 53': 'silent'}),
        ('in', ['ip6 saddr fd00:1::9 tcp dport 22 drop'], 6, {'tcp 22': 'silent'}),
        ('in', ['ip6 saddr fd00:1::/64 udp dport 53 drop'], 6, {'udp 53': 'silent'}),
        ('in', ['ip6 nexthdr tcp drop'], 6, {'tcp 22': 'silent', 'tcp 80': 'silent'}),
        ('in', ['ip6 daddr { fd00:2::8-fd00:2::a } tcp dport 80 drop'], 6, {'tcp 80': 'silent'}),
        ('in', ['iifname "vmbr1001" tcp dport 22 drop'], None, {'tcp 22': 'silent'}),
        ('in', ['iifname vmbr9 tcp dport 22 drop'], None, {}),
        ('in', ['oifname { "vmbr1002", "vmbr9" } tcp dport 80 drop'], None, {'tcp 80': 'silent'}),
        ('in', ['ct state { new, established } tcp dport 22 drop'], None, {'tcp 22': 'silent'}),
        ('in', ['ct state new,established tcp dport 22 drop'], None, {'tcp 22': 'silent'}),
        ('in', ['ct state invalid drop'], None, {}),
        ('in', ['tcp flags syn tcp dport 22 drop'], None, {'tcp 22': 'silent'}),
        ('in', ['tcp dport 22 return', 'tcp dport 22 drop'], None, {}),
        ('in', ['tcp dport 22 log prefix "seen: " level info drop'], None, {'tcp 22': 'silent'}),
        ('in', ['tcp dport 22 counter drop comment "why"'], None, {'tcp 22': 'silent'}),
        ('in', ['tcp dport 22 limit rate over 1000/second drop'], None, {}),
        ('in', ['tcp dport 22 limit rate 1/hour burst 1 packets accept', 'tcp dport 22 drop'], None, {'tcp 22': 'silent'}),
        ('in', [f'ether saddr {hardware} tcp dport 22 drop'], None, {'tcp 22': 'silent'}),
        ('in', [f'ether saddr != {hardware} drop'], None, {}),
        ('in', ['meta mark 0 tcp dport 80 drop'], None, {'tcp 80': 'silent'}),
        ('in', ['meta mark { 5, 7 } drop'], None, {}),
        ('out', ['tcp sport 22 drop'], None, {'tcp 22': 'silent'}),
        ('out', ['udp sport 53 ct state established drop'], None, {'udp 53': 'silent'}),
    ]
    zk = lab.client
    for direction, texts, family, changed in rows:
        network.set_acls(zk, 1002, direction, texts)
        lab.wait(lambda: len(firewall.chains(node)[f'vxlan1002-{direction}']) == 1 + len(texts), LIMIT,
                 lambda: f'{direction} {texts}: ' + '\n'.join(line for line in node.log().splitlines() if '1002' in line))
        whom = [(number, what, (what.split()[0], address, what.split()[1])) for what in passed for number, address in ((4, '10.1.2.9'), (6, 'fd00:2::9'))]
        expected = [changed.get(what, passed[what]) if family in (None, number) else passed[what] for number, what, _ in whom]
        found = told(here, [one for _, _, one in whom], expected)
        equal(found, expected, f'{[one for _, _, one in whom]} with {direction} {texts}')
        network.set_acls(zk, 1002, direction, [])
        shows(lab, node, f'vxlan1002-{direction}', ['counter'])
    check(firewall.packets(node, 'vxlan1002-in')[0] > 0, 'the first counter of a network counts what comes in')
    # Kinds of ICMP, by family.
    for text, address in (('icmp type echo-request drop', '10.1.2.9'), ('icmpv6 type echo-request drop', 'fd00:2::9')):
        network.set_acls(zk, 1002, 'in', [])
        shows(lab, node, 'vxlan1002-in', ['counter'])
        network.set_acls(zk, 1002, 'in', [text])
        lab.wait(lambda: len(firewall.chains(node)['vxlan1002-in']) == 2, LIMIT, text)
        ping = here.ping(address)
        other = here.ping('fd00:2::9' if address == '10.1.2.9' else '10.1.2.9')
        lab.wait(other.is_answered, 5, f'{text}: the other family is answered')
        check(not ping.is_answered(), f'{text}: {address} answers')
        ping.stop()
        other.stop()
    equal(errors(node), [], 'errors')


@scenario('networking.md 7.3, case 51: a hundred changes under traffic: nothing leaks, and no packet of an established flow is dropped', limit=90)
def firewall_changes_under_traffic(lab):
    node = one_node(lab, (1001, both(1)), (1002, both(2)))
    zk = lab.client
    here, there = [network.Station(lab, f'st{number}').in_node(node, f'vmbr100{number}', f'10.1.{number}.9/24', gateway=f'10.1.{number}.1') for number in (1, 2)]
    there.answer('tcp/22', 'udp/999')
    network.put_acl(zk, 1002, 'in', 'a', 0, 'tcp dport 22 accept')
    network.put_acl(zk, 1002, 'in', 'z', 99999, 'drop')
    shows(lab, node, 'vxlan1002-in', ['counter', 'counter tcp dport 22 accept', 'counter drop'])
    flow, leak = here.flow('tcp', '10.1.2.9', 22), here.flow('udp', '10.1.2.9', 999, every=0.001)
    lab.wait(flow.is_answered, 5, 'the flow is answered')
    since = time.time()
    for number in range(100):
        if number % 3 == 2:
            network.set_acls(zk, 1001, 'out', [f'udp dport {number + 1} accept'] * (number % 5))
        else:
            network.put_acl(zk, 1002, 'in', f'n{number}', 100 + number, f'tcp dport {3000 + number} accept')
        time.sleep(0.03)
    lab.wait(lambda: len(firewall.chains(node)['vxlan1002-in']) == 3 + 67, LIMIT, lambda: f'all are there; it has {len(firewall.chains(node)["vxlan1002-in"])}')
    # Somebody flushes it, once the daemon has seen it right: it is made again, and said.
    lab.await_beats(node, 3)
    node.enter('nft', 'flush', 'ruleset')
    lab.wait(lambda: len(firewall.chains(node).get('vxlan1002-in', [])) == 3 + 67, LIMIT, 'it is made again')
    lab.wait(lambda: any('network-damaged' in line or 'firewall' in line and 'again' in line for line in node.log().splitlines()), LIMIT,
             'a line about it')
    leaked = leak.read()[1]
    flow.stop()
    leak.stop()
    within(flow.longest_wait(since), 0.3, 'the established flow stood still')
    equal(flow.lost(since, time.time() - 2), 0, 'pieces of the flow that were lost')
    # Between the flush and the daemon's answer nothing is filtered: that is no change of ours.
    flushed = [at for number, at in leaked.items()]
    check(len(flushed) == 0 or min(flushed) > since, 'something leaked before')
    within(len(flushed) * 0.001, 1.5, f'{len(flushed)} packets leaked')
    print(f'longest wait of the flow {flow.longest_wait(since):.3f} s; {len(flushed)} packets between the flush and its repair')


# What R's daemon loads (networking.md 7.1, 7.2), with a network that is there and one that is gone.
REFERENCE = '''flush ruleset
add table inet filter
add chain inet filter forward {{ type filter hook forward priority 0; }}
add chain inet filter input {{ type filter hook input priority 0; }}
{networks}'''


def reference_rules(vni, ip4):
    into, through = firewall.built_in(vni, ip4)
    return '\n'.join([f'add chain inet filter vxlan{vni}-in', f'add chain inet filter vxlan{vni}-out', f'add rule inet filter vxlan{vni}-in counter',
                      f'add rule inet filter vxlan{vni}-out counter', *[f'add rule inet filter input {one}' for one in into],
                      *[f'add rule inet filter forward {one}' for one in through]])


def load(node, text):
    done = subprocess.run(['nsenter', '-t', str(node.first), '-n', 'nft', '-f', '-'], input=text, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    equal((done.returncode, done.stdout), (0, ''), 'nft')


@scenario('README ruling 79: machines on what was taken over stay filtered, whether their network is refused or put right', limit=90)
def refused_and_filtered(lab):
    lab.zookeeper()
    node = lab.node(network=network.Shape())
    node.power_on()
    node.enter('ip', 'link', 'set', 'ens4', 'up')
    # As another daemon left it, but for the port of the one and the learning of the other.
    for number, settings in ((1, ('dstport', '8472')), (2, ('dstport', '4789', 'nolearning'))):
        bridge, base = f'vmbr100{number}', f'vxlan100{number}'
        network.create(lab.client, 1000 + number, ip4=V4[number], gateway4=f'10.1.{number}.1')
        node.enter('ip', 'link', 'add', bridge, 'type', 'bridge')
        node.enter('ip', 'link', 'add', base, 'mtu', '1450', 'type', 'vxlan', 'id', f'100{number}', 'dev', 'ens4', *settings)
        node.enter('ip', 'link', 'set', base, 'master', bridge, 'up')
        node.enter('ip', 'link', 'set', bridge, 'up')
    load(node, REFERENCE.format(networks=reference_rules(1001, V4[1]) + '\n' + reference_rules(1002, V4[2])))
    stations = [network.Station(lab, f'st{number}').in_node(node, f'vmbr100{number}', f'10.1.{number}.9/24', f'fd00:{number}::9/64') for number in (1, 2)]
    network.Answerer(['nsenter', '-t', str(node.first), '-n'], ('tcp/22',))
    start(lab, node)
    one_primary(lab, [node])
    soon(lab, node, lambda view: view.on('vmbr1002', 'inet') == ['10.1.2.1/24'], 'the network that is put right')
    equal(network.View(node).data('vxlan1002')['learning'], True, 'learning')
    lab.wait(lambda: 'network 1001: vxlan1001 is VXLAN 1001, and not as FRR needs it for EVPN: it has port 8472' in node.log(), LIMIT, 'the refusal')
    for number, station in enumerate(stations, 1):
        has_chain(lab, node, 1000 + number)
        # What a host is reached by whatever became of its gateway; the port answers without the rules.
        node.enter('ip', 'address', 'add', f'fd00:{number}::1/64', 'dev', f'vmbr100{number}', 'nodad')
        equal(station.asks('tcp', f'fd00:{number}::1', 22, 1.0), 'silent', f'a machine of network 100{number} asks the host')
        station.close()


@scenario('networking.md 7.3, ruling 34: the table of the other kind is replaced in one batch, a killed daemon leaves its own, a second start touches nothing', limit=90)
def firewall_of_the_other_kind(lab):
    lab.zookeeper()
    node = lab.node(network=network.Shape())
    node.power_on()
    load(node, REFERENCE.format(networks=reference_rules(1001, V4[1]) + '\n' + reference_rules(7, '10.7.0.0/24')))
    network.create(lab.client, 1001, ip4=V4[1], gateway4='10.1.1.1')
    network.put_acl(lab.client, 1001, 'in', 'a', 0, 'tcp dport 22 accept')
    start(lab, node)
    one_primary(lab, [node])
    into, through = firewall.built_in(1001, V4[1])
    shows(lab, node, 'input', into)
    shows(lab, node, 'forward', through)
    shows(lab, node, 'vxlan1001-in', ['counter', 'counter tcp dport 22 accept'])
    check('vxlan7-in' not in firewall.chains(node), 'the chains of a network that is gone')
    lab.await_beats(node, 2)
    before = firewall.handles(node)
    for end in ('kill', 'stop'):
        getattr(node.daemon, end)()
        node.daemon.wait(20)
        equal(firewall.handles(node), before, 'rules that stay without a daemon')
        start(lab, node)
        lab.await_beats(node, 3)
        equal(firewall.handles(node), before, 'rules after another start')
    node.daemon.kill()
    node.daemon.wait(5)
    # And back: the other kind's own load over what ours left.
    load(node, REFERENCE.format(networks=reference_rules(1001, V4[1])))
    equal(firewall.chains(node)['input'], into, 'the table of the other kind over ours')
    equal(errors(node), [], 'errors')


HOST_RULES = '''flush ruleset
table inet filter {
  chain input { type filter hook input priority 0; policy drop;
    ct state established,related accept
    iifname "lo" accept
    ip saddr 10.0.0.0/8 accept
    tcp dport 22 ip saddr 192.0.2.0/24 accept
  }
  chain forward { type filter hook forward priority 0; policy accept; }
  chain output { type filter hook output priority 0; policy accept; }
}
'''


@scenario('firewall.md: the host\'s own firewall is told of and kept aside before it is replaced, once', limit=60)
def firewall_of_the_host(lab):
    lab.zookeeper()
    node = lab.node(network=network.Shape())
    node.power_on()
    load(node, HOST_RULES)
    before = node.enter('nft', 'list', 'table', 'inet', 'filter')
    lines = [line for line in node.execute('--check-config', '--against-host')[1].splitlines() if line.startswith('firewall: ')]
    equal(len(lines), 1, f'lines about the firewall {lines}')
    check('which has chain input, chain output' in lines[0], lines[0])
    start(lab, node)
    one_primary(lab, [node])
    lab.wait(lambda: firewall.chains(node) == {'forward': [], 'input': []}, LIMIT, lambda: f'base chains; it has {firewall.listing(node)}')
    path = os.path.join(node.folder, 'state', 'nftables-before')
    kept = open(path).read()
    check(kept.endswith(before), kept)
    equal(oct(os.stat(path).st_mode & 0o777), '0o644', 'mode of the file')
    said = [line for line in node.log().splitlines() if 'table inet filter of this host has chain input, chain output' in line]
    equal(len(said), 1, f'lines of the log {said}')
    # It is what restores them.
    equal(subprocess.run(['nsenter', '-t', str(node.first), '-n', 'nft', '-c', '-f', path], check=False).returncode, 0, 'nft takes it')
    # Its own service again, with other rules: put right, what was first stays, and what came then is kept, too.
    load(node, HOST_RULES.replace('policy drop', 'policy accept'))
    lab.wait(lambda: firewall.chains(node) == {'forward': [], 'input': []}, LIMIT, lambda: f'base chains; it has {firewall.listing(node)}')
    equal(open(path).read(), kept, 'what was kept')
    check('policy accept' in open(path + '.2').read(), 'the second copy')
    lab.wait(lambda: 'what the host had is kept in /var/lib/pvc/nftables-before.2; put rules' in node.log(), LIMIT, 'the line of the second copy')
    # Another policy of a chain of the daemon's own is damage.
    node.enter('nft', 'chain', 'inet', 'filter', 'input', '{ policy drop; }')
    lab.wait(lambda: 'policy drop' not in firewall.listing(node), LIMIT, lambda: f'its policy; it has {firewall.listing(node)}')
    lab.wait(lambda: 'somebody made chain input: that goes' in node.log(), LIMIT, 'the line of the damage')
    check(not os.path.exists(path + '.3'), 'a copy of the daemon\'s own table')
    # A program that owns the table.
    owner = subprocess.Popen(['nsenter', '-t', str(node.first), '-n', 'nft', '-i'], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    for _ in range(200):
        owner.stdin.write('delete table inet filter\nadd table inet filter { flags owner ; }\n')
    owner.stdin.flush()
    lab.wait(lambda: 'belongs to another running program (flags owner): ' in node.log(), LIMIT, 'the line of the owner')
    owner.kill()
    owner.wait()
    lab.wait(lambda: firewall.chains(node) == {'forward': [], 'input': []}, 5, lambda: f'base chains; it has {firewall.listing(node)}')


@scenario('firewall.md: the host\'s own firewall beside static files, and where its copy cannot be written for good', limit=60)
def firewall_of_the_host_that_cannot_be_kept(lab):
    lab.zookeeper()
    node = lab.node(network=network.Shape())
    node.power_on()
    load(node, HOST_RULES)
    before = node.enter('nft', 'list', 'table', 'inet', 'filter')
    static = os.path.join(node.folder, 'run', 'pvc', 'nft', 'static')
    os.makedirs(static)
    with open(os.path.join(static, 'mine.nft'), 'w') as file:
        file.write('table inet mine { }\n')
    lines = [line for line in node.execute('--check-config', '--against-host')[1].splitlines() if line.startswith('firewall: would replace')]
    equal(len(lines), 1, f'lines about the firewall {lines}')
    node.inside('mount', '-t', 'tmpfs', '-o', 'ro', 'none', '/var/lib/pvc')
    start(lab, node)
    one_primary(lab, [node])
    lab.wait(lambda: 'mine' in node.enter('nft', 'list', 'tables'), LIMIT, 'the static file is loaded')
    meanwhile = os.path.join(node.folder, 'run', 'pvc', 'nftables-before')
    check(open(meanwhile).read().endswith(before), 'the copy until the next boot')
    check('it is in /run/pvc/nftables-before until the next boot' in node.log(), node.log())
    node.inside('umount', '/var/lib/pvc')
    path = os.path.join(node.folder, 'state', 'nftables-before')
    lab.wait(lambda: os.path.exists(path), 30, 'the copy that outlives a boot')
    check(open(path).read().endswith(before), 'the copy')


@scenario('issue: a change of a network with 500 rules beside 200 others, and the full rebuild of 200', limit=120)
def firewall_of_many_networks(lab):
    """Judged by what is there in the end; tests/bench/networks measures."""
    lab.zookeeper()
    node = lab.node(network=network.Shape())
    for number in range(1, 201):
        network.create(lab.client, 2000 + number, ip4=f'10.{number}.0.0/24', gateway4=f'10.{number}.0.1')
    start(lab, node)
    one_primary(lab, [node])
    lab.wait(lambda: len(firewall.chains(node)) == 402, 30, lambda: f'chains of 200 networks; it has {len(firewall.chains(node))}')
    network.set_acls(lab.client, 2001, 'in', [f'ip saddr 10.9.{number // 250}.{number % 250} tcp dport {number + 1} accept' for number in range(499)])
    lab.wait(lambda: len(firewall.chains(node)['vxlan2001-in']) == 500, 20, lambda: f'500 rules; it has {len(firewall.chains(node)["vxlan2001-in"])}')
    lab.await_beats(node, 2)
    kept = [one for one in firewall.handles(node)]
    network.put_acl(lab.client, 2001, 'in', 'last', 100000, 'drop')
    lab.wait(lambda: firewall.chains(node)['vxlan2001-in'][-1] == 'counter drop', 10, 'one more')
    equal([one for one in firewall.handles(node)][:len(kept)] != [], True, 'there are rules')
    check(set(kept) <= set(firewall.handles(node)), 'a change of one rule has replaced others')
    node.enter('nft', 'delete', 'table', 'inet', 'filter')
    lab.wait(lambda: len(firewall.chains(node)) == 402, 20, 'all of it is made again')
    equal(errors(node), [], 'errors')


@scenario('networking.md 7.4, case 53, ruling 35: files of the administrator, and words that only nft knows', limit=120)
def firewall_with_static_files(lab):
    node = one_node(lab, (1001, both(1)))
    node.enter('nft', 'add', 'table', 'ip', 'other')
    other = firewall.listing(node, 'ip other', handles=True)
    static = os.path.join(firewall.folder(node), 'static')
    with open(os.path.join(static, 'mine'), 'w') as file:
        file.write('add chain inet filter mine\nadd rule inet filter mine tcp dport 22 counter drop\n'
                   'add rule inet filter input ip saddr 192.0.2.1 counter drop\n'
                   'table inet extra {\n    chain own { type filter hook input priority 5; tcp dport 7777 counter drop; }\n}\n')
    into, _ = firewall.built_in(1001, V4[1], V6[1])
    shows_soon(lab, node, 'input', ['ip saddr 192.0.2.1 counter drop', *into], 25)
    extra = firewall.listing(node, 'inet extra')
    check('tcp dport 7777' in extra, extra)
    # ACLs that lead to its chain, and with words that this daemon does not load itself; two more rebuilds.
    network.put_acl(lab.client, 1001, 'in', 'a', 0, 'jump mine')
    network.put_acl(lab.client, 1001, 'in', 'b', 1, 'ip ttl 5 drop')
    network.put_acl(lab.client, 1001, 'in', 'c', 2, 'ip ttl nosuch drop')
    network.put_acl(lab.client, 1001, 'in', 'd', 3, 'goto vxlan1001-out')
    network.put_acl(lab.client, 1001, 'in', 'e', 4, 'tcp dport 80 accept')
    shows(lab, node, 'vxlan1001-in', ['counter', 'counter jump mine', 'counter ip ttl 5 drop', 'counter tcp dport 80 accept'])
    same_as_by_hand(lab, node)
    equal(firewall.listing(node, 'inet extra'), extra, 'a table of a static file after more rebuilds')
    # What only the whole shows: a chain that a hook leads to must not hold it.
    network.put_acl(lab.client, 1001, 'in', 'nat', 5, 'masquerade')
    lab.wait(lambda: 'in nat is left out' in node.log(), LIMIT, 'masquerade is refused')
    shows(lab, node, 'vxlan1001-in', ['counter', 'counter jump mine', 'counter ip ttl 5 drop', 'counter tcp dport 80 accept'])
    equal(firewall.chains(node)['input'], ['ip saddr 192.0.2.1 counter drop', *into], 'rules of a static file beside a refused ACL')
    same_as_by_hand(lab, node)
    for name in ('in c is left out', 'in d is left out', 'in nat is left out'):
        equal(len([line for line in node.log().splitlines() if name in line]), 1, f'lines that say "{name}"')
    # What somebody changes comes back; another start makes no second one of anything.
    node.enter('nft', 'flush', 'chain', 'inet', 'filter', 'vxlan1001-in')
    shows(lab, node, 'vxlan1001-in', ['counter', 'counter jump mine', 'counter ip ttl 5 drop', 'counter tcp dport 80 accept'])
    node.daemon.kill()
    node.daemon.wait(5)
    start(lab, node)
    lab.await_beats(node, 2)
    same_as_by_hand(lab, node)
    equal(firewall.listing(node, 'inet extra'), extra, 'a table of a static file after another start')
    # A file that nft does not take is left out alone, and named.
    mine = ['ip saddr 192.0.2.1 counter drop', *into]
    with open(os.path.join(static, 'wrong'), 'w') as file:
        file.write('# one line\nadd rule inet filter input nosuch\n')
    lab.await_log(node, 'static file wrong: line 2: syntax error', 25)
    network.set_acls(lab.client, 1001, 'in', ['ip ttl 5 drop'])
    shows_soon(lab, node, 'vxlan1001-in', ['counter', 'counter ip ttl 5 drop'], 25)
    shows(lab, node, 'input', mine)
    os.unlink(os.path.join(static, 'wrong'))
    lab.await_log(node, 'this is over: firewall: static file wrong', 25)
    shows(lab, node, 'input', mine)
    # A rule in the place of another, which has its handle; and what nft has just loaded, gone right behind it.
    handle = node.enter('nft', '-a', 'list', 'chain', 'inet', 'filter', 'input').partition('192.0.2.1')[2].partition('# handle ')[2].split()[0]
    node.enter('nft', 'replace', 'rule', 'inet', 'filter', 'input', 'handle', handle, 'ip', 'saddr', '192.0.2.1', 'counter', 'accept')
    shows_soon(lab, node, 'input', mine, 5)
    # Tables of a file that a file includes are known by what the load made; names of others are left alone.
    with open(os.path.join(firewall.folder(node), 'more.nft'), 'w') as file:
        file.write('table inet included {\n    chain own { type filter hook input priority 6; tcp dport 7778 counter drop; }\n}\n')
    with open(os.path.join(static, 'more'), 'w') as file:
        file.write('include "/run/pvc/nft/more.nft"\n')
    lab.wait(lambda: 'included' in node.enter('nft', 'list', 'tables'), 25, 'the table of an included file')
    included = firewall.listing(node, 'inet included')
    network.set_acls(lab.client, 1001, 'in', ['ip ttl 6 drop'])
    shows_soon(lab, node, 'vxlan1001-in', ['counter', 'counter ip ttl 6 drop'], 25)
    equal(firewall.listing(node, 'inet included'), included, 'it is not doubled')
    os.unlink(os.path.join(static, 'more'))
    lab.wait(lambda: 'included' not in node.enter('nft', 'list', 'tables'), 25, 'and it goes with the file')
    # And without any: this daemon's own way again.
    os.unlink(os.path.join(static, 'mine'))
    network.set_acls(lab.client, 1001, 'in', [])
    shows_soon(lab, node, 'input', into, 25)
    lab.wait(lambda: 'extra' not in node.enter('nft', 'list', 'tables'), 25, 'the table of a static file goes with it')
    lab.wait(lambda: 'mine' not in firewall.chains(node), LIMIT, 'and its chain')
    equal(firewall.listing(node, 'ip other', handles=True), other, 'a table of somebody else')


def rules_with_handles(node):
    """Handle -> chain and rule."""
    found, chain = {}, ''
    for line in firewall.listing(node, 'inet filter', handles=True).splitlines():
        words, _, handle = line.strip().partition(' # handle ')
        if words.startswith('chain '):
            chain = words.split()[1]
        elif handle and not words.startswith('table '):
            found[int(handle)] = f'{chain}: {words}'
    return found


@scenario('networking.md 7.4, ruling 35: a change of one network leaves the rules of all others, also where nft made them', limit=90)
def firewall_changes_beside_nft(lab):
    node = one_node(lab, (1001, both(1)), (1002, both(2)))
    network.put_acl(lab.client, 1002, 'out', 'x', 0, 'ip ttl 9 drop')
    shows(lab, node, 'vxlan1002-out', ['counter', 'counter ip ttl 9 drop'])
    static = os.path.join(firewall.folder(node), 'static')

    def changed(what, gone, change, chain, rules):
        before = rules_with_handles(node)
        change()
        shows(lab, node, chain, rules)
        time.sleep(0.5)
        after = rules_with_handles(node)
        lost = [rule for handle, rule in before.items() if after.get(handle) != rule]
        equal(len(lost), gone, f'{what}: rules that went: {lost}')
        # Chains come in the order in which they were made.
        equal(sorted(firewall.listing(node).splitlines()), sorted(firewall.loaded_by_hand(node, '/run/pvc/nft/base.nft').splitlines()), f'{what}: the files')

    for files in (0, 1):
        first = []
        if files:
            with open(os.path.join(static, 'mine'), 'w') as file:
                file.write('add chain inet filter mine\nadd rule inet filter mine tcp dport 22 counter drop\nadd rule inet filter input ip saddr 192.0.2.1 counter drop\n')
            first = ['ip saddr 192.0.2.1 counter drop']
            lab.wait(lambda: 'mine' in firewall.chains(node), 25, 'the chain of a static file')
            time.sleep(0.5)
        texts, acls, into = ['ip ttl 5 drop', 'udp dport { 53, 100-200 } accept', 'ip ttl { 6, 7 } drop', 'tcp dport 80 accept'], ['counter'], 'vxlan1001-in'
        for at in (0, 3, 2, 1):
            acls = ['counter', *(f'counter {text}' for text in texts if f'counter {text}' in acls or text == texts[at])]
            changed(texts[at], 0, lambda: network.put_acl(lab.client, 1001, 'in', f'a{at}', at, texts[at]), into, acls)
        changed('what only the kernel refuses', 0, lambda: network.put_acl(lab.client, 1001, 'in', 'nat', 5, 'masquerade'), into, acls)
        lab.await_log(node, 'ACL in nat is left out', 10)
        changed('its end', 0, lambda: lab.client.delete('/networks/1001/firewall_rules/in/nat', recursive=True), into, acls)
        one, two = firewall.built_in(1001, V4[1], V6[1])[0], firewall.built_in(1002, V4[2], V6[2])[0]
        third = firewall.built_in(10000, '10.1.9.0/24', None)[0]
        changed('a network before all', 0, lambda: network.create(lab.client, 10000, ip4='10.1.9.0/24', gateway4='10.1.9.1'), 'input', [*first, *third, *one, *two])
        changed('its end', len(third) + 2 + 2, lambda: network.remove(lab.client, 10000), 'input', [*first, *one, *two])
        changed('an ACL that goes', 1, lambda: lab.client.delete('/networks/1001/firewall_rules/in/a2', recursive=True), into, [one for one in acls if texts[2] not in one])
        changed('all of them', 3, lambda: network.set_acls(lab.client, 1001, 'in', []), into, ['counter'])
    equal([line for line in errors(node) if 'masquerade' not in line and 'in nat' not in line], [], 'errors')
    check('somebody changed' not in node.log(), 'it takes nothing of its own for somebody else\'s')


@scenario('README ruling 82: more ACLs than a session can watch: it goes on over another connection, and what has no watch is noticed', limit=120)
def firewall_of_more_keys_than_can_be_watched(lab):
    lab.zookeeper()
    stage = lab.proxy()
    node = lab.node(network=network.Shape())
    network.create(lab.client, 1001, **both(1))
    count = 150
    names = [f'{"allow-from-the-office-" * 180}{number:03}' for number in range(count)]
    for number, name in enumerate(names):
        network.put_acl(lab.client, 1001, 'in', name, number, f'tcp dport {number + 1} accept')
    start(lab, node)
    rules = lambda: len(firewall.chains(node).get('vxlan1001-in', ()))
    lab.wait(lambda: rules() == count + 1, 30, lambda: f'{rules()} rules')
    lab.wait(lambda: 'beyond the watch budget' in node.log(), 10, 'it is said')
    everything = sum(len(f'/networks/1001/firewall_rules/in/{name}/{key}') for name in names for key in ('rule', 'order'))
    check(everything > 1024 * 1024, f'all keys have {everything} bytes')
    for _ in range(2):
        session, mark = lab.session_of(node), time.monotonic()
        stage.drop()
        lab.await_beats(node, 3, 20)
        equal(lab.session_of(node), session, 'session after its connection was dropped')
        sent = [r.bytes for r in list(stage.requests) if r.time > mark and r.name.startswith('setWatches')]
        check(sent and max(sent) <= 512 * 1024, f'packets with watches: {sent}')
    # Whether it has a watch or not.
    for name in (names[0], names[count // 2], names[-1]):
        before = rules()
        lab.client.delete(f'/networks/1001/firewall_rules/in/{name}', recursive=True)
        lab.wait(lambda: rules() == before - 1, 10, lambda: f'{rules()} rules, and before {before}')
