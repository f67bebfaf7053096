"""FRR on nodes, configured as a cluster's deployment does it (networking.md 12): iBGP between all of them, which tells every node
where the others' machines are. No session ends because a busy machine keeps its partner waiting. It replaces what network.flood sets by hand. The daemon never talks to it; here its unit is a
stand-in like all others, and FRR is started beside it."""
import json
import os
import re

from . import space

PROGRAMS = '/usr/lib/frr'
AS = 65500
CONFIGURATION = '''frr defaults traditional
hostname {name}
no ipv6 forwarding
router bgp {number}
 bgp router-id {own}
 no bgp default ipv4-unicast
 neighbor fabric peer-group
 neighbor fabric remote-as {number}
 neighbor fabric timers 10 60
 neighbor fabric timers connect 1
{neighbors}
 address-family l2vpn evpn
  neighbor fabric activate
  advertise-all-vni
 exit-address-family
 address-family ipv4 unicast
  neighbor fabric activate
  redistribute connected
 exit-address-family
'''


class Router:
    """zebra and bgpd of one node, in its namespaces; they go with its power."""

    def __init__(self, node, others):
        self.node = node
        folder = node.run_path('frr')
        os.makedirs(folder, exist_ok=True)
        neighbors = '\n'.join(f' neighbor {other.address} peer-group fabric' for other in others)
        with open(os.path.join(folder, 'frr.conf'), 'w') as file:
            file.write(CONFIGURATION.format(name=node.short, number=AS, own=node.address, neighbors=neighbors))
        space.sh('chown', '-R', 'frr:frr', folder)
        log = os.path.join(node.folder, 'frr.log')
        common = ['-f', '/run/frr/frr.conf', '-z', '/run/frr/zserv', '--vty_socket', '/run/frr']
        self.zebra = node.spawn([f'{PROGRAMS}/zebra', '-i', '/run/frr/zebra.pid', '-A', '127.0.0.1', '-P', '0', *common], log)
        self.bgpd = node.spawn([f'{PROGRAMS}/bgpd', '-i', '/run/frr/bgpd.pid', '-A', '127.0.0.1', '-P', '0', *common], log)

    def ask(self, question):
        """JSON of one of its commands; None while it does not answer."""
        text = self.node.inside('vtysh', '--vty_socket', '/run/frr', '-c', f'{question} json')
        try:
            return json.loads(text)
        except ValueError:
            return None

    def peers(self):
        """How many sessions are established."""
        answer = self.ask('show bgp l2vpn evpn summary') or {}
        return sum(peer.get('state') == 'Established' for peer in answer.get('peers', {}).values())

    def remote_hosts(self, vni):
        """Hardware address -> the node that has it, as EVPN says."""
        answer = self.ask(f'show evpn mac vni {vni}') or {}
        return {mac: entry.get('remoteVtep') for mac, entry in answer.get('macs', {}).items() if entry.get('type') == 'remote'}

    def stop(self):
        for one in (self.bgpd, self.zebra):
            one.kill()
            one.wait(5)


def route(lab, nodes):
    """FRR on all of them; waits for their sessions."""
    routers = {node.label: Router(node, [other for other in nodes if other is not node]) for node in nodes}
    lab.wait(lambda: all(router.peers() == len(nodes) - 1 for router in routers.values()), 30, 'BGP sessions between all nodes')
    return routers


def flooded(node, vni):
    """Where the node sends what is for all of a network, by who entered it: FRR's entries are not permanent ones of the lab's."""
    found = node.enter('bridge', 'fdb', 'show', 'dev', f'vxlan{vni}', check=False)
    return sorted(re.findall(r'00:00:00:00:00:00 dst (\S+) ', found))
