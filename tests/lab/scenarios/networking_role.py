"""The addresses that only the primary has, between nodes of ours (networking.md 6): when they come and go, and what a client that
talks to one of them notices."""
import json
import os
import signal
import subprocess
import time

from .. import network, node as program
from ..lab import between, check, equal, scenario, within
from ..network import CLUSTER, STORAGE, UPSTREAM, View
from ..network_watch import AddressMonitor, FrameMonitor, was_on_none
from .networking import LOOK, soon, start
from .role import KEY, never_two, one_primary, primaries

FLOATING = {role: f'{subnet}.{network.FLOATING}' for role, subnet in network.SUBNETS.items()}
METADATA = network.METADATA


def role_of(node):
    return f'/nodes/{node.short}/routerstate'


def cluster(lab, count=2, shape=None, networks=2, **options):
    """Nodes of ours in `run`, the primary first; client networks 1001 and on."""
    lab.zookeeper()
    for number in range(1, networks + 1):
        network.create(lab.client, 1000 + number, **network.managed(number))
    nodes = [lab.node(name, coordinators=lab.names(count), network=shape or network.Shape(), **options) for name in lab.names(count)]
    start(lab, *nodes)
    primary = one_primary(lab, nodes)
    return [primary, *[node for node in nodes if node is not primary]]


def gateways(count):
    return [(1000 + number, f'10.1.{number}.1/24') for number in range(1, count + 1)]


def everything(shape, networks):
    """All (device, address) pairs of a primary, sorted."""
    found = [(device, one) for device, all_of_them in network.floating_addresses(shape).items() for one in all_of_them]
    return sorted(found + [(f'vmbr{vni}', one) for vni, one in gateways(networks)])


def holds(node, shape, networks):
    return sorted(network.held(View(node), shape, gateways(networks)))


def hand_over(lab, target, nodes, timeout=25):
    lab.set(KEY, target.short)
    lab.wait(lambda: primaries(lab, nodes) == [target] and all(lab.key(node, 'routerstate') == 'secondary' for node in nodes if node is not target),
             timeout, lambda: f'{target.label} takes over; ' + ', '.join(f'{node.label} {lab.key(node, "routerstate")}' for node in nodes))


def address_order(monitor, what, networks):
    """The phases (networking.md 6) in the order in which their addresses came or went, repetitions left out."""
    letters = {FLOATING['upstream']: 'C', FLOATING['cluster']: 'D', FLOATING['storage']: 'D', METADATA: 'E'}
    letters |= {address.split('/')[0]: 'F' for _, address in gateways(networks)}
    found = [letters[step.address.split('/')[0]] for step in monitor.steps(what) if step.address.split('/')[0] in letters]
    return ''.join(letter for at, letter in enumerate(found) if at == 0 or found[at - 1] != letter)


def ctl(node, *words):
    done = subprocess.run(node.command([os.path.join(os.path.dirname(program.DAEMON), 'pvcnodectl'), *words]), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    return done.returncode, done.stdout


@scenario('networking.md 6, cases 36 38, AC37: three bridges; the addresses come and go by phases', limit=90)
def addresses_by_phases(lab):
    shape = network.three_devices()
    old, new = nodes = cluster(lab, shape=shape)
    equal(holds(old, shape, 2), everything(shape, 2), 'what the primary has')
    equal(holds(new, shape, 2), [], 'what the secondary has')
    own = {node.label: {name: [one for one in View(node).on(name, 'inet') if not one.startswith(tuple(FLOATING.values()))]
                        for name in shape.bridges()} for node in nodes}
    (comes, goes), frames = AddressMonitor.of_all(new, old), FrameMonitor(new)
    hand_over(lab, new, nodes)
    soon(lab, new, lambda _view: holds(new, shape, 2) == everything(shape, 2), 'all addresses of a primary')
    soon(lab, old, lambda _view: holds(old, shape, 2) == [], 'none of them')
    equal((address_order(comes, 'add', 2), address_order(goes, 'remove', 2)), ('CDEF', 'CDEF'), 'order of the phases')
    for address in [*FLOATING.values(), METADATA, '10.1.1.1', '10.1.2.1']:
        equal(was_on_none(comes, goes, address), None, address)
    for role, address in FLOATING.items():
        mac = View(new).links[shape.bridge_of(role)]['address']
        sent = [frame.sender for frame in frames.pair(address, shape.bridge_of(role))]
        equal(sent, [mac] * 2, f'announcements of {address}')
    equal(frames.frames(METADATA), [], 'announcements on lo')
    # AC37, by whoever is primary: of another's value with the next tick.
    lab.await_value('/config/upstream_ip', f'{FLOATING["upstream"]}/24', 8)
    lab.set('/config/upstream_ip', 'x')
    lab.await_value('/config/upstream_ip', f'{FLOATING["upstream"]}/24', 8)
    equal(own, {node.label: {name: [one for one in View(node).on(name, 'inet') if not one.startswith(tuple(FLOATING.values()))]
                             for name in shape.bridges()} for node in nodes}, 'the own addresses of both')
    never_two(lab, nodes)


@scenario('networking.md 6, case 37: storage and upstream share the device of the cluster', limit=60)
def addresses_on_a_shared_device(lab):
    shape = network.Shape()
    primary, other = cluster(lab, shape=shape, networks=1)
    equal(holds(primary, shape, 1), everything(shape, 1), 'what the primary has')
    equal(sorted(one for one in View(primary).on('brcluster', 'inet') if '.254/' in one), sorted(f'{one}/24' for one in FLOATING.values()),
          'floating addresses on brcluster')
    equal(holds(other, shape, 1), [], 'what the secondary has')


@scenario('networking.md 6: ten networks change hands; a client pings floating addresses all the time; explain primary', limit=150)
def hand_over_seen_by_a_client(lab):
    shape = network.Shape()
    old, new = nodes = cluster(lab, shape=shape, networks=10)
    client = network.Station(lab, 'client').in_lab(f'{UPSTREAM}.200/24', f'{CLUSTER}.200/24', f'{STORAGE}.200/24')
    # A host that has been there for a while, as the neighbours of a cluster are.
    pings = {role: client.ping(address) for role, address in FLOATING.items()}
    for ping in pings.values():
        lab.wait(ping.is_answered, 5, 'the primary answers')
    time.sleep(1.5)
    said = []
    for number, target in enumerate([new, old] * 5):
        # How often a busy machine lets one ask during a takeover is not what is tested.
        if number >= 3 and any('phase' in text for text in said):
            break
        since = time.time()
        lab.set(KEY, target.short)
        while primaries(lab, nodes) != [target] and time.time() < since + 25:
            for node in nodes:
                status, text = ctl(node, 'explain', 'primary')
                equal(status, 0, f'explain primary on {node.label}: {text}')
                said.append(text)
        lab.wait(lambda target=target: primaries(lab, nodes) == [target], 1, f'{target.label} takes over')
        for role, ping in pings.items():
            lab.wait(lambda ping=ping, now=time.time(): ping.is_answered(now), 5, f'the {role} address is answered')
        lab.wait(lambda target=target: holds(target, shape, 10) == everything(shape, 10), LOOK, f'{target.label} has all addresses')
        gone = next(node for node in nodes if node is not target)
        lab.wait(lambda gone=gone: holds(gone, shape, 10) == [], LOOK, f'{gone.label} has none')
        walked = lab.history(role_of(target), ('set',))
        begun = [change.time for change in walked if change.value == b'takeover'][-1]
        print(f'to {target.label}: takeover to primary {walked[-1].time - begun:.2f} s; longest gaps ' +
              ', '.join(f'{role} {ping.longest_gap(since)[0]:.2f} s, {ping.lost(since, time.time() - 1)} lost' for role, ping in pings.items()))
        time.sleep(1.2)
    for ping in pings.values():
        ping.stop()
    for role, ping in pings.items():
        # Added by one before the other removes it, and announced: a client's next packet finds the new one.
        ping.answers_within(0.5, f'longest time without an answer of the {role} address')
    check(any('phase' in text for text in said), f'no explanation named a phase: {sorted(set(said))[:3]}')
    never_two(lab, nodes)


@scenario('networking.md 5.4, case 40: networks that come and go while the role changes hands', limit=90)
def networks_during_a_takeover(lab):
    shape = network.Shape()
    old, new = nodes = cluster(lab, shape=shape, networks=1)
    new.patroni.answer(delay=2)  # so that `takeover` lasts a while after phase F
    network.create(lab.client, 1050, ip4='10.1.50.0/24', gateway4='10.1.50.1')
    soon(lab, old, lambda view: view.on('vmbr1050') == ['10.1.50.1/24'], 'a gateway of the primary')
    lab.set(KEY, new.short)
    lab.await_value(role_of(new), 'takeover', 10)
    lab.wait(lambda: '10.1.1.1/24' in View(new).on('vmbr1001'), 15, 'phase F')
    network.create(lab.client, 1051, ip4='10.1.51.0/24', gateway4='10.1.51.1')
    network.remove(lab.client, 1050)
    lab.await_value(role_of(new), 'primary', 25)
    soon(lab, new, lambda view: view.on('vmbr1051') == ['10.1.51.1/24'] and not view.has('vmbr1050'), 'the new one has its gateway, the old one is gone')
    soon(lab, old, lambda view: view.on('vmbr1051') == [] and not view.has('vmbr1050') and view.on('vmbr1001') == [], 'the secondary has none')


@scenario('networking.md 6, case 39: what a daemon that was killed left behind', limit=120)
def leftover_addresses(lab):
    shape = network.three_devices()
    old, new = nodes = cluster(lab, shape=shape)
    # Its own name: all stays, without a moment in between.
    goes = AddressMonitor(old)
    old.daemon.kill()
    old.daemon.wait(5)
    equal(holds(old, shape, 2), everything(shape, 2), 'what a killed daemon leaves')
    status, text = old.execute('--check-config', '--against-host')
    told = [line for line in text.splitlines() if line.startswith('if another node is primary: would remove ')]
    check('nothing would be changed' in text and len(told) == 1, f'--against-host: {status}: {text}')
    for device, address in everything(shape, 2):
        check(f'{address} on {device}' in told[0], f'--against-host: {text}')
    old.start()
    lab.await_state(old, 'run', 25)
    one_primary(lab, nodes)
    equal([step for step in goes.steps('remove') if 'inet6' not in step.address and not step.address.startswith('fe80')], [],
          'addresses that went while it came back as primary')
    equal(holds(old, shape, 2), everything(shape, 2), 'what it has as primary')
    # Another one's name: all goes before it is `run`.
    old.daemon.kill()
    old.daemon.wait(5)
    lab.set(role_of(old), 'secondary')
    lab.set(f'/nodes/{old.short}/daemonstate', 'dead')
    lab.set(KEY, new.short)
    lab.await_value(role_of(new), 'primary', 40)
    equal(holds(old, shape, 2), everything(shape, 2), 'what is still there')
    old.start()
    lab.await_state(old, 'run', 25)
    soon(lab, old, lambda _view: holds(old, shape, 2) == [], 'nothing of a primary')
    run = [change.time for change in lab.history(f'/nodes/{old.short}/daemonstate', ('set',)) if change.value == b'run'][-1]
    for _, address in everything(shape, 2):
        within(goes.first('remove', address) - run, 0, f'{address} was still there in `run`')
    equal(holds(new, shape, 2), everything(shape, 2), 'what the primary has')


@scenario('networking.md 6, case 95 (AC115): leftovers, and no ZooKeeper to ask', limit=150)
def leftovers_without_zookeeper(lab):
    """keepalive 1 s, 10 missed ones: what a primary has outlives its last heartbeat by 15 s."""
    lab.zookeeper()
    stage = lab.proxy()  # of the nodes alone
    shape = network.three_devices()
    node = lab.node(network=shape, settings={'system.intervals.fence_intervals': 10})
    network.create(lab.client, 1001, **network.managed(1))
    node.up()
    lab.await_state(node, 'run', 25)
    one_primary(lab, [node])
    lab.await_beats(node, 2)
    soon(lab, node, lambda _view: holds(node, shape, 1) == everything(shape, 1), 'all of a primary')
    goes = AddressMonitor(node)
    node.daemon.kill()
    node.daemon.wait(5)
    stage.set('refuse')
    last = lab.beats(node)[-1]
    time.sleep(2)
    node.start()
    lab.wait(lambda: goes.first('remove', FLOATING['upstream']), 30, 'the upstream address goes')
    for _, address in everything(shape, 1):
        lab.wait(lambda address=address: goes.first('remove', address), LOOK, f'{address} goes')
        between(13.5, goes.first('remove', address) - last, 19, f'{address} went {goes.first("remove", address) - last:.1f} s after the last heartbeat')
    # And without a heartbeat on record there is nothing to wait for.
    node.daemon.kill()
    node.daemon.wait(5)
    for device, address in everything(shape, 1):
        node.enter('ip', 'address', 'add', address, 'dev', device)
    os.unlink(node.run_path('pvc', 'heartbeat'))
    before = View(node).text
    status, text = node.execute('--check-config', '--against-host')
    for device, address in everything(shape, 1):
        check(f'would remove {address} from {device}: no record of this boot' in text, f'--against-host: {status}: {text}')
    equal(View(node).text, before, 'what is seen after somebody looked')
    begun, mark = time.time(), goes.mark()
    node.start()
    for _, address in everything(shape, 1):
        lab.wait(lambda address=address: goes.first('remove', address, mark), 10, f'{address} goes at once')
        within(goes.first('remove', address, mark) - begun, 5, f'{address}')


@scenario('networking.md 6, case 96: leftovers while the start hangs', limit=90)
def leftovers_while_the_start_hangs(lab):
    lab.zookeeper()
    shape = network.three_devices()
    node = lab.node(coordinators=lab.names(2), network=shape, hypervisor=True)
    lab.put_node('pvchv2', daemonstate='run')
    network.create(lab.client, 1001, **network.managed(1))
    node.up()
    lab.await_state(node, 'run', 25)
    lab.await_value(role_of(node), 'primary', 20)
    lab.await_beats(node, 2)  # what it is stands beside the last heartbeat
    equal(holds(node, shape, 1), everything(shape, 1), 'all of a primary')
    node.daemon.kill()
    node.daemon.wait(5)
    node.hypervisor.freeze()
    node.start()
    lab.await_value(f'/nodes/{node.short}/daemonstate', 'init', 20)
    time.sleep(1)
    equal(holds(node, shape, 1), everything(shape, 1), 'what it has while it is named')
    goes = AddressMonitor(node)
    lab.set(KEY, 'pvchv2')
    named = time.time()
    for _, address in everything(shape, 1):
        lab.wait(lambda address=address: goes.first('remove', address), 5, f'{address} goes')
        within(goes.first('remove', address) - named, 1, f'{address} went {goes.first("remove", address) - named:.2f} s after another was named')
    equal(lab.key(node, 'daemonstate'), 'init', 'daemonstate')
    node.hypervisor.thaw()
    lab.await_state(node, 'run', 30)


@scenario('networking.md 6: an orderly stop of the primary, a power cut, and the way back', limit=150)
def primary_leaves(lab):
    shape = network.Shape()
    old, new = nodes = cluster(lab, shape=shape)
    client = network.Station(lab, 'client').in_lab(f'{UPSTREAM}.200/24')
    ping = client.ping(FLOATING['upstream'])
    lab.wait(ping.is_answered, 5, 'the primary answers')
    since = time.time()
    old.daemon.stop()
    lab.expect_end(old, 0, 30)
    lab.wait(lambda: primaries(lab, nodes) == [new], 15, f'{new.label} takes over')
    lab.wait(lambda: holds(new, shape, 2) == everything(shape, 2), LOOK, 'it has all addresses')
    equal(holds(old, shape, 2), [], 'what the one that left has')
    check(View(old).ports('vmbr1001') == ['vxlan1001'] and f'{CLUSTER}.{old.number}/24' in View(old).on('brcluster'), 'its networks stay')
    lab.wait(lambda: ping.is_answered(time.time() - 0.2), 5, 'the address is answered')
    print(f'an orderly stop: no answer for {ping.longest_gap(since)[0]:.2f} s, {ping.lost(since, time.time() - 1)} lost')
    start(lab, old)
    equal(holds(old, shape, 2), [], 'what it has after its return')
    ping.stop()


def _two_with_both_gateways(lab):
    """Two nodes, the primary, which has both gateways of network 1001 on `vmbr1001`, and the other."""
    lab.zookeeper()
    network.create(lab.client, 1001, **network.managed(1), ip6='fd00:1::/64', gateway6='fd00:1::1')
    nodes = [lab.node(name, coordinators=lab.names(2), network=network.Shape()) for name in lab.names(2)]
    start(lab, *nodes)
    primary = one_primary(lab, nodes)
    other = next(node for node in nodes if node is not primary)
    soon(lab, primary, lambda view: view.on('vmbr1001') == ['10.1.1.1/24', 'fd00:1::1/64'], 'both gateways')
    return nodes, primary, other


@scenario('networking.md 6: routes of an operator over a bridge that has nothing but an address of the primary outlive hand-overs and kills', limit=180)
def routes_of_an_operator(lab):
    nodes, primary, other = _two_with_both_gateways(lab)
    staying = {('10.78.0.0/16',), ('10.79.0.0/16', 'table', '100')}
    waiting = {('10.80.0.0/16', 'via', '10.1.1.9'), ('10.81.0.0/16', 'src', '10.1.1.1')}
    for words in staying | waiting:
        primary.enter('ip', 'route', 'add', words[0], 'dev', 'vmbr1001', *words[1:])
    primary.enter('ip', '-6', 'route', 'add', 'fd01::/64', 'dev', 'vmbr1001', 'src', 'fd00:1::1')

    def there(words):
        table = words[2] if 'table' in words else 'main'
        return primary.enter('ip', 'route', 'show', 'table', table, words[0], 'dev', 'vmbr1001', check=False).strip() != ''

    def source():
        return 'src fd00:1::1' in primary.enter('ip', '-6', 'route', 'show', 'fd01::/64')

    time.sleep(LOOK)
    for is_killed in (False, True):
        hand_over(lab, other, nodes)
        soon(lab, primary, lambda view: view.on('vmbr1001') == [], 'no gateway on the secondary')
        equal({words for words in staying | waiting if there(words)}, staying, 'routes without the gateway')
        check(not source(), 'the kernel leaves the IPv6 route without its source')
        if is_killed:
            primary.daemon.kill()
            primary.daemon.wait(20)
            start(lab, primary)
        hand_over(lab, primary, nodes)
        soon(lab, primary, lambda view: view.on('vmbr1001') == ['10.1.1.1/24', 'fd00:1::1/64'], 'both gateways again')
        lab.wait(lambda: all(there(words) for words in staying | waiting) and source(), 10, 'all routes are there again')
    # Killed as the primary: the start takes the gateways away before it knows the networks.
    lab.wait(lambda: program.read_file(primary.run_path('pvc', 'client-bridges')).count('route vmbr1001 ') == 5, 10, 'all are on record')
    primary.daemon.kill()
    primary.daemon.wait(20)
    lab.set(KEY, other.short)
    goes = AddressMonitor(primary)
    primary.start()
    for address in ('10.1.1.1/24', 'fd00:1::1/64'):
        lab.wait(lambda address=address: goes.first('remove', address), 25, f'{address} goes with the start')
    equal({words for words in staying | waiting if there(words)}, staying, 'routes after the start')
    check(not source(), 'the IPv6 route has no source after the start')
    lab.await_state(primary, 'run', 25)
    # The session of the killed one must have ended first.
    lab.wait(lambda: primaries(lab, nodes) == [other], 60, 'the other one takes over')
    hand_over(lab, primary, nodes)
    lab.wait(lambda: all(there(words) for words in staying | waiting) and source(), 10, 'all routes are there again after a start')
    # Its link-local address, and that it routes, come back too.
    primary.enter('ip', '-6', 'address', 'flush', 'dev', 'vmbr1001', 'scope', 'link')
    primary.enter('sysctl', '-qw', 'net.ipv6.conf.vmbr1001.forwarding=0')
    lab.wait(lambda: 'fe80' in primary.enter('ip', '-6', 'address', 'show', 'dev', 'vmbr1001', 'scope', 'link'), 10, 'the link-local address')
    lab.wait(lambda: primary.enter('cat', '/proc/sys/net/ipv6/conf/vmbr1001/forwarding').strip() == '1', 10, 'forwarding of IPv6')
    primary.enter('ip', 'route', 'del', '10.80.0.0/16')
    time.sleep(3)
    check(not there(('10.80.0.0/16',)), 'what the operator takes away stays away')


@scenario('networking.md 6: of several routes of an operator to one place each comes back after a hand-over, in the place that it had', limit=150)
def routes_of_one_place(lab):
    nodes, primary, other = _two_with_both_gateways(lab)
    for words in ('add 10.90.5.0/24 dev vmbr1001', 'append 10.90.5.0/24 via 10.1.1.20 dev vmbr1001', 'append 10.90.5.0/24 dev vmbr1001 src 10.1.1.1',
                  'add 10.90.1.0/24 via 10.1.1.20 dev vmbr1001', 'append 10.90.1.0/24 via 10.1.1.21 dev vmbr1001', 'append blackhole 10.90.1.0/24',
                  'add 10.90.2.0/24 dev vmbr1001', 'append unreachable 10.90.2.0/24', 'prepend 10.1.1.0/24 via 10.1.1.99 dev vmbr1001'):
        primary.enter('ip', 'route', *words.split())
    for words in ('add fd90::/64 dev vmbr1001 src fd00:1::1', 'append fd90::/64 via fd00:1::20 dev vmbr1001', 'add fd00:1::/64 dev vmbr1001 metric 50'):
        primary.enter('ip', '-6', 'route', *words.split())

    def shown():
        return [primary.enter('ip', family, 'route', 'show', place) for family, place in (
            ('-4', '10.90.5.0/24'), ('-4', '10.90.1.0/24'), ('-4', '10.90.2.0/24'), ('-4', '10.1.1.0/24'), ('-6', 'fd90::/64'), ('-6', 'fd00:1::/64'))]
    before = shown()
    time.sleep(LOOK)
    for _ in range(2):
        hand_over(lab, other, nodes)
        soon(lab, primary, lambda view: view.on('vmbr1001') == [], 'no gateway on the secondary')
        without = shown()
        check(without[5].startswith('fd00:1::/64 dev vmbr1001 metric 50') and 'kernel' not in without[5], f'the network of the gateway without it: {without[5]}')
        check(without[2] == before[2], f'what needs no address: {without[2]}')
        time.sleep(LOOK)
        hand_over(lab, primary, nodes)
        soon(lab, primary, lambda view: view.on('vmbr1001') == ['10.1.1.1/24', 'fd00:1::1/64'], 'both gateways again')
        lab.wait(lambda: shown() == before, 10, lambda: f'all routes in their order; before: {before}; now: {shown()}')


@scenario('networking.md 6: routes of an operator that go with an address of the primary for good are named while they are there', limit=90)
def routes_that_do_not_come_back(lab):
    lab.zookeeper()
    network.create(lab.client, 1001, **network.managed(1), ip6='fd00:1::/64', gateway6='fd00:1::1')
    network.create(lab.client, 1002, **network.managed(2))
    node = lab.node(network=network.Shape())
    start(lab, node)
    for device, gateways_of in (('vmbr1001', ['10.1.1.1/24', 'fd00:1::1/64']), ('vmbr1002', ['10.1.2.1/24'])):
        soon(lab, node, lambda view, device=device, gateways_of=gateways_of: view.on(device) == gateways_of, f'gateways on {device}')
    for words in ('10.90.6.0/24 nexthop via 10.1.1.20 dev vmbr1001 nexthop via 10.1.2.20 dev vmbr1002', 'blackhole 10.90.9.0/24 src 10.1.1.1',
                  'unreachable 10.90.10.0/24 src 10.1.2.1 table 77', '10.91.8.0/24 via inet6 fd00:1::20 dev vmbr1001',
                  '10.91.12.0/24 encap ip id 7 dst 10.9.9.9 via 10.1.1.20 dev vmbr1001', '10.92.0.0/16 via 10.1.1.20 dev vmbr1001', 'blackhole 10.93.0.0/16'):
        node.enter('ip', 'route', 'add', *words.split())
    node.enter('ip', '-6', 'route', 'add', 'blackhole', 'fd92::/64', 'src', 'fd00:1::1')
    goes = 'goes with an address of the primary, and it does not come back with that, because'
    named = [f'the route {which} {goes} {why}' for which, why in (
        ('10.90.6.0/24 via 10.1.1.20 over vmbr1001', 'it is one of several ways'), ('10.90.6.0/24 via 10.1.2.20 over vmbr1002', 'it is one of several ways'),
        ('10.90.9.0/24 (source 10.1.1.1)', 'it is of the type blackhole'), ('10.90.10.0/24 (source 10.1.2.1) of table 77', 'it is of the type unreachable'),
        ('10.91.8.0/24 via fd00:1::20 over vmbr1001', 'its gateway is of the other family'), ('10.91.12.0/24 via 10.1.1.20 over vmbr1001', 'its packets are wrapped'))]
    named.append('the route fd92::/64 (metric 1024, source fd00:1::1) loses its source with an address of the primary, and the source does not come back with that, because it is of the '
                 'type blackhole')
    for line in named:
        lab.await_log(node, line)
    status, text = node.execute('--check-config', '--against-host')
    equal(status, 0, f'--against-host: {text}')
    for line in named + ['the route 10.92.0.0/16 via 10.1.1.20 over vmbr1001 goes with an address of the primary, and comes back with that']:
        check(line in text, f'--against-host does not say "{line}": {text}')
    equal(sum('does not come back' in line for line in text.splitlines()), len(named), f'routes that do not come back: {text}')
    check('10.93.0.0' not in text, 'what needs no address')
