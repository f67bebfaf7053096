"""Client networks whose nodes find each other by BGP EVPN (networking.md 12): FRR of Debian on every node, real guests, and nothing
that the lab enters into a forwarding table."""
import time

from .. import evpn, network
from ..herd import Herd
from ..lab import check, equal, scenario
from ..network import View
from ..network_watch import LinkMonitor
from .networking import errors, soon, start
from .networking_mixed import Since, guest_address, unbroken

VNI, BRIDGE = 1001, 'vmbr1001'


class Routed(Herd):
    """Two nodes of ours with FRR and one client network."""

    def __init__(self, lab):
        super().__init__(lab, 2, network=network.Shape())
        self.start()
        for node in self.nodes:
            lab.set(f'/nodes/{node.short}/domainstate', 'ready')
        self.routers = evpn.route(lab, self.nodes)
        network.create(lab.client, VNI, **network.managed(1))
        for node in self.nodes:
            soon(lab, node, lambda view: view.ports(BRIDGE) == [f'vxlan{VNI}'] and view.is_up(BRIDGE), 'the client network', 15)
        first, second = self.nodes
        for node, other in ((first, second), (second, first)):
            lab.wait(lambda node=node, other=other: evpn.flooded(node, VNI) == [other.address], 15,
                     lambda node=node: f'FRR of {node.label} tells where the network is; it has {evpn.flooded(node, VNI)}')

    def guest(self, node, number):
        return self.run_answering(node, number, VNI, guest_address(number))


def watched(lab, stations, number):
    found = [station.ping(guest_address(number)) for station in stations]
    for station, ping in zip(stations, found):
        lab.wait(ping.is_answered, 15, f'vm{number} answers {station.name}')
    return found


@scenario('networking.md 12: two guests on two nodes through EVPN, a live migration each way, and the death of either daemon', limit=180)
def guests_through_evpn(lab):
    herd = Routed(lab)
    first, second = herd.nodes
    moving, staying = herd.guest(first, 1), herd.guest(second, 2)
    stations = [network.Station(lab, f'st{at}').in_node(node, BRIDGE, f'10.1.1.{200 + at}/24') for at, node in enumerate(herd.nodes)]
    pings, others = watched(lab, stations, 1), watched(lab, stations, 2)
    across = stations[0].ping('10.1.1.201')
    lab.wait(across.is_answered, 10, 'the stations reach each other')
    known = herd.routers[first.label].remote_hosts(VNI)
    check(second.address in known.values(), f'EVPN tells {first.label} who is on {second.label}: {known}')
    for target in (second, first):
        since = Since(herd)
        if target is second:
            herd.client.migrate(moving, target.short)
        else:
            herd.client.unmigrate(moving)
        herd.await_running(target, moving, 60)
        lab.await_value(f'/domains/{moving}/state', 'start', 30)
        for ping in pings:
            lab.wait(lambda ping=ping, now=time.time(): ping.is_answered(now), 10, f'vm1 answers on {target.label}')
        print(f'to {target.label}: no answer for {max(ping.longest_gap(since)[0] for ping in pings):.2f} s')
        unbroken(others, since, 'the guest that stays')
    for node in herd.nodes:
        monitor, since = LinkMonitor(node), Since(herd)
        node.daemon.kill()
        node.daemon.wait(5)
        time.sleep(2)
        unbroken([across], float(since), f'the daemon of {node.label} is dead: between two stations')
        unbroken([*pings, *others], since, f'the daemon of {node.label} is dead')
        since = Since(herd)
        start(lab, node)
        lab.await_beats(node, 1, 15)
        unbroken([across], float(since), f'the daemon of {node.label} is back: between two stations')
        unbroken([*pings, *others], since, f'the daemon of {node.label} is back')
        equal(monitor.about(*(name for name in View(node).ports(BRIDGE) if name.startswith('vnet'))), [], f'{node.label}: interfaces of guests')
        monitor.stop()
    equal([herd.look(first, moving), herd.look(second, staying)], ['A', 'A'], 'classes')
    for node in herd.nodes:
        equal(errors(node), [], f'errors of {node.label}')


@scenario('networking.md 3.2, 12: what FRR finds and what it takes away', limit=90)
def what_frr_sees(lab):
    """A VXLAN without an address of its own, learning on; and IPv6 is forwarded although zebra's configuration says no, also where it says so later."""
    lab.zookeeper()
    nodes = [lab.node(name, coordinators=lab.names(2), network=network.Shape()) for name in lab.names(2)]
    start(lab, *nodes)
    routers = evpn.route(lab, nodes)
    for node in nodes:
        # zebra has written 0 as it started; the daemon does not leave it at that (README ruling 81).
        lab.wait(lambda node=node: network.sysctl(node, 'net/ipv6/conf/all/forwarding') == '1', 5, f'{node.label} forwards IPv6')
    network.create(lab.client, VNI, ip4='10.1.1.0/24', gateway4='10.1.1.1', ip6='fd00:1::/64', gateway6='fd00:1::1')
    for node in nodes:
        view = soon(lab, node, lambda view: view.ports(BRIDGE) == [f'vxlan{VNI}'] and view.is_up(BRIDGE), 'the client network', 15)
        data = view.data(f'vxlan{VNI}')
        check('local' not in data and data.get('learning') is True, f'vxlan{VNI} of {node.label}: {data}')
    primary = lab.wait(lambda: next((node for node in nodes if 'fd00:1::1/64' in View(node).on(BRIDGE)), None), 30, 'the IPv6 gateway')
    lab.wait(lambda: network.sysctl(primary, 'net/ipv6/conf/all/forwarding') == '1', 5, 'IPv6 is forwarded with the gateway')
    for node, other in (nodes, nodes[::-1]):
        lab.wait(lambda node=node, other=other: evpn.flooded(node, VNI) == [other.address], 15,
                 lambda node=node: f'FRR of {node.label}: {evpn.flooded(node, VNI)}')
    # FRR is restarted while this node routes: zebra writes 0 again.
    forwarding = 'net/ipv6/conf/all/forwarding'
    routers[primary.label].stop()
    again = evpn.Router(primary, [node for node in nodes if node is not primary])
    lab.wait(lambda: again.peers() == len(nodes) - 1, 30, 'FRR is there again')
    lab.wait(lambda: network.sysctl(primary, forwarding) == '1', 5, 'IPv6 is forwarded again')
    # A second network that comes and goes: FRR follows, and leaves the first alone.
    network.create(lab.client, VNI + 1, **network.managed(2))
    for node, other in (nodes, nodes[::-1]):
        lab.wait(lambda node=node, other=other: evpn.flooded(node, VNI + 1) == [other.address], 15, 'FRR follows a new network')
    network.remove(lab.client, VNI + 1)
    for node in nodes:
        soon(lab, node, lambda view: not view.has(f'vxlan{VNI + 1}'), 'the second network goes')
    for node, other in (nodes, nodes[::-1]):
        equal(evpn.flooded(node, VNI), [other.address], f'{node.label}: the network that stays')
