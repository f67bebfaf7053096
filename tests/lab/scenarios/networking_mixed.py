"""Networks of a node of ours beside one that makes them as the reference of version 0.9.82 does, with real guests that are pinged
all the time: taking over a node from it and giving it back, migrations both ways, and the addresses of the primary."""
import contextlib
import glob
import time

from .. import network
from ..foreign import launch
from ..lab import check, equal, scenario, within
from ..mixed import Mixed
from ..network import View
from ..network_watch import AddressMonitor, Fabric, LinkMonitor, was_on_none
from .networking import LOOK, errors, soon, start
from .networking_role import FLOATING, METADATA, address_order, everything, gateways, holds, role_of
from .role import KEY, never_two, primaries

VNI = 1001
STATION = '10.1.1.200'
BRIDGE = f'vmbr{VNI}'
STALL = 0.5  # of a guest's QEMU for other reasons than those that the kernel counts
PINGS = 21
PRIMARY = {'role': 1}


def guest_address(number):
    return f'10.1.1.{10 + number}'


class Connected(Mixed):
    """Both have a client network, in which guests answer pings; EVPN's part is done for them."""

    def __init__(self, lab, networks=1, **options):
        self.shape = network.Shape()
        super().__init__(lab, network=self.shape, **options)
        for number in range(1, networks + 1):
            network.create(lab.client, 1000 + number, **network.managed(number))
        self.fabric = Fabric(self.nodes)
        for node in self.nodes:
            soon(lab, node, lambda view: view.ports(BRIDGE) == [f'vxlan{VNI}'] and view.is_up(BRIDGE), 'the client network', 15)
        self.pings = {}

    def guest(self, node, number=1):
        """One that runs there and answers a station beside it and, through the VXLAN, one in the other node."""
        return self.run_answering(node, number, VNI, guest_address(number))

    def watch_guest(self, number=1, stations=None):
        """Pings from every station."""
        found = []
        for station in stations or self.stations():
            ping = station.ping(guest_address(number))
            self.lab.wait(ping.is_answered, 10, f'the guest answers {station.name}')
            found.append(ping)
        return found

    def watch_across(self):
        """Pings between the stations: nobody who answers them has to get his turn."""
        ping = self.stations()[0].ping('10.1.1.201')
        self.lab.wait(ping.is_answered, 10, 'the stations reach each other')
        return ping

    def stations(self):
        if not hasattr(self, '_stations'):
            self._stations = [network.Station(self.lab, f'st{at}').in_node(node, BRIDGE, f'10.1.1.{200 + at}/24')
                              for at, node in enumerate(self.nodes)]
        return self._stations


class Since(float):
    """Now; and how long each thread of the QEMUs there are has waited for a processor until now."""

    def __new__(cls, herd):
        found = super().__new__(cls, time.time())
        found.herd = herd
        found.waits = cls.waits_of(herd)
        return found

    @staticmethod
    def waits_of(herd):
        found = {}
        for path in (path for node in herd.nodes for one in node.hypervisor.guests() for path in glob.glob(f'/proc/{one.pid}/task/*/schedstat')):
            with contextlib.suppress(OSError), open(path) as file:
                found[path] = int(file.read().split()[1]) / 1e9
        return found

    def waited(self):
        """The longest that one of them has waited since."""
        return max((value - self.waits.get(path, 0.0) for path, value in self.waits_of(self.herd).items()), default=0.0)


def unbroken(pings, since, what):
    """Not one packet was lost from then until now, or for a second. With a Since they are guests', which may miss what they did not get their turn
    for: what else touches their interface a LinkMonitor sees."""
    for ping in pings:
        ping.await_count(PINGS, since)
    until = max(time.time(), since + 1)
    time.sleep(until + 1 - time.time())
    stall = STALL + since.waited() if isinstance(since, Since) else None
    for ping in pings:
        lost, (gap, begun) = ping.lost(since, until), ping.longest_gap(since, until)
        text = f'{what}: {lost} of {ping.count(since, until)} pings to {ping.address} lost, longest gap {gap:.2f} s, {begun - since:.2f} s after the beginning'
        if stall is None:
            equal(lost, 0, text)
        else:
            ping.answers_within(stall, f'{text}; threads of QEMU have waited up to {stall - STALL:.2f} s for a processor', since, until)
    print(f'{what}: ' + ', '.join(f'{ping.count(since, until)} pings, longest gap {ping.longest_gap(since, until)[0]:.3f} s' for ping in pings))


@scenario('README ruling 34: ours takes over a live node of the other kind and gives it back; a guest is pinged all the time', limit=150)
def take_over_a_live_node(lab):
    """Nothing of its links is touched, so nothing is lost on the way to the guest and back; a station beside it answers without
    a process that has to get its turn."""
    herd = Connected(lab)
    node, uuid = herd.foreign, herd.guest(herd.foreign)
    pings = herd.watch_guest()
    across = herd.watch_across()
    before = View(node)
    links = [name for name in before.links if name not in ('lo',)]
    pid = node.hypervisor.pid_of(uuid)

    def unchanged(what):
        view = View(node)
        equal([view.index(name) for name in links], [before.index(name) for name in links], f'{what}: indexes of {links}')
        equal(view.ports(BRIDGE), before.ports(BRIDGE), f'{what}: ports of {BRIDGE}')
        equal([view.on(name, 'inet') for name in links], [before.on(name, 'inet') for name in links], f'{what}: addresses')
        equal(node.hypervisor.pid_of(uuid), pid, f'{what}: the process of the guest')

    def replace(what, by):
        monitor, begun = LinkMonitor(node), Since(herd)
        node.daemon.kill()
        node.daemon.wait(5)
        by(lab, node)
        lab.await_beats(node, 1 if by is launch else 2, 15)
        unchanged(what)
        touched = monitor.about(*(name for name in before.ports(BRIDGE) if name.startswith('vnet')))
        equal(touched, [], f'{what}: what happened to the interface of the guest')
        unbroken([across], float(begun), f'{what}: between two stations')
        unbroken(pings, begun, f'{what}: the guest')
        monitor.stop()
    replace('taken over by ours', start)
    equal([network.sysctl(node, f'net/ipv6/conf/{BRIDGE}/{key}') for key in ('accept_dad', 'accept_ra', 'autoconf')], ['0'] * 3, 'settings of the bridge')
    replace('given back', launch)
    replace('taken over once more', start)
    equal(errors(node), [], 'errors')


@scenario('networking.md 5, test-lab.md: two guests on two nodes, a live migration each way, and the death of either daemon', limit=180)
def guests_on_a_vxlan(lab):
    herd = Connected(lab)
    ours, foreign = herd.ours, herd.foreign
    first, second = herd.guest(ours, 1), herd.guest(foreign, 2)
    pings, others, across = herd.watch_guest(1), herd.watch_guest(2), herd.watch_across()
    for target, last in ((foreign, ours.short), (ours, '')):
        since = Since(herd)
        (herd.client.unmigrate if last == '' else lambda uuid, to=target: herd.client.migrate(uuid, to.short))(first)
        herd.await_moved(first, target, last, 60)
        # It lives on, on the other node and on the same address, and whoever stays hears of nothing.
        for ping in pings:
            lab.wait(lambda ping=ping, now=time.time(): ping.is_answered(now), 10, f'the guest answers on {target.label}')
        print(f'to {target.label}: no answer for {max(ping.longest_gap(since)[0] for ping in pings):.2f} s')
        unbroken(others, since, 'the guest that stays')
    for node in (ours, foreign):
        monitor, since = LinkMonitor(node), Since(herd)
        node.daemon.kill()
        node.daemon.wait(5)
        time.sleep(2)
        unbroken([across], float(since), f'the daemon of {node.label} is dead: between two stations')
        unbroken([*pings, *others], since, f'the daemon of {node.label} is dead')
        since = Since(herd)
        start(lab, node) if node is ours else launch(lab, node)
        lab.await_beats(node, 1, 15)
        unbroken([across], float(since), f'the daemon of {node.label} is back: between two stations')
        unbroken([*pings, *others], since, f'the daemon of {node.label} is back')
        equal(monitor.about(*(name for name in View(node).ports(BRIDGE) if name.startswith('vnet'))), [], f'{node.label}: interfaces of guests')
        monitor.stop()
    equal([herd.look(ours, first), herd.look(foreign, second)], ['A', 'A'], 'classes')


def power_on(node):
    """The other kind leaves it to the host to bring the device of the upstream network up."""
    node.power_on()
    node.enter('ip', 'link', 'set', 'ens4', 'up')


def hand_over_to(lab, target, source, shape, networks):
    (comes, goes), since = AddressMonitor.of_all(target, source), time.time()
    lab.set(KEY, target.short)
    lab.wait(lambda: primaries(lab, [source, target]) == [target] and lab.key(source, 'routerstate') == 'secondary', 40,
             f'{target.label} takes over; {target.label} {lab.key(target, "routerstate")}, {source.label} {lab.key(source, "routerstate")}')
    lab.wait(lambda: holds(source, shape, networks) == [], LOOK, f'{source.label} has nothing of a primary')
    return comes, goes, since


def hand_over_each_way(lab, networks):
    lab.zookeeper()
    shape = network.three_devices()
    for number in range(1, networks + 1):
        network.create(lab.client, 1000 + number, **network.managed(number))
    # With one interval in the cluster: a peer that beats more rarely is silent between two beats.
    ours, foreign = [lab.node(name, coordinators=lab.names(2), network=shape, interval=5) for name in lab.names(2)]
    for node in (ours, foreign):
        power_on(node)
    start(lab, ours)
    lab.await_value(role_of(ours), 'primary', 20)
    launch(lab, foreign, **PRIMARY)
    client = network.Station(lab, 'client').in_lab(f'{network.UPSTREAM}.200/24')
    ping = client.ping(FLOATING['upstream'])
    lab.wait(ping.is_answered, 5, 'the primary answers')
    for target, source in ((foreign, ours), (ours, foreign), (foreign, ours)):
        if source is foreign:
            # Its heartbeat rewrites the key as long as it is primary (README ruling 22): just after one there is time.
            lab.await_beats(foreign, 1, 15)
        said = len(target.output()) if source is foreign else 0
        comes, goes, since = hand_over_to(lab, target, source, shape, networks)
        lab.wait(lambda target=target: holds(target, shape, networks) == everything(shape, networks), LOOK, f'{target.label} has all addresses')
        equal((address_order(comes, 'add', networks), address_order(goes, 'remove', networks)), ('CDEF', 'CDEF'),
              f'order of the phases from {source.label} to {target.label}')
        # The other kind as reader may be a step ahead of the writer (node-lifecycle.md 7.4, zookeeper-schema.md 4.3): then it drops
        # an address without waiting for ours, which hurries, but may have to wait for the kernel: namespaces that end beside it hold
        # the lock of all links. Nothing else may leave an address on nobody.
        was_ahead = source is foreign and 'a step ahead' in target.output()[said:]
        for address in [*FLOATING.values(), METADATA, *[one.split('/')[0] for _, one in gateways(networks)]]:
            equal(was_on_none(comes, goes, address, allowed=0.5 if was_ahead else 0.0), None, address)
        lab.wait(lambda: ping.is_answered(time.time() - 0.2), 5, 'the address is answered')
        took = max(step.time for step in comes.steps('add')) - since
        print(f'{source.label} to {target.label}: all within {took:.2f} s, longest gap {ping.longest_gap(since)[0]:.2f} s, {ping.lost(since, time.time() - 1)} lost')
        time.sleep(1)
    ping.stop()
    ping.answers_within(1.0, 'longest time without an answer')
    never_two(lab, [ours, foreign], 4)



@scenario('networking.md 6 with the other kind: the addresses change hands by phases, each way', limit=180)
def mixed_hand_over_with_addresses(lab):
    hand_over_each_way(lab, 3)


@scenario('networking.md 6 with the other kind: twenty networks change hands, each way; prints how long it takes', limit=200, long=True)
def mixed_hand_over_of_twenty_networks(lab):
    hand_over_each_way(lab, 20)


@scenario('networking.md 6, hazard 22: what the other kind leaves when it is killed as primary', limit=120)
def leftovers_of_the_other_kind(lab):
    lab.zookeeper()
    shape = network.three_devices()
    network.create(lab.client, VNI, **network.managed(1))
    first, second = [lab.node(name, coordinators=lab.names(2), network=shape) for name in lab.names(2)]
    for node in (first, second):
        power_on(node)
    launch(lab, first, **PRIMARY)
    lab.await_value(role_of(first), 'primary', 20)
    start(lab, second)
    first.daemon.kill()
    first.daemon.wait(5)
    equal(holds(first, shape, 1), everything(shape, 1), 'what it left')
    lab.set(f'/nodes/{first.short}/daemonstate', 'dead')
    lab.set(role_of(first), 'secondary')
    lab.set(KEY, second.short)
    lab.await_value(role_of(second), 'primary', 40)
    start(lab, first)
    soon(lab, first, lambda _view: holds(first, shape, 1) == [], 'nothing of a primary', 5)
    equal(holds(second, shape, 1), everything(shape, 1), 'what the primary has')
    # Without <dyn>/heartbeat nobody knew that it was primary, so all went before ZooKeeper was asked.
