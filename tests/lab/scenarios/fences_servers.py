"""A node dies that runs a server of ZooKeeper, as in a real cluster: who fences has to find another one first, or even a leader. No age
is older than his connection, so that he finds the node dead by its silence at the moment when he may judge again, and gives it its throws."""
from ..fences import Fences, with_guest
from ..lab import check, scenario, within
from .fences import SEEN_OFF, killed_at_each_stage, returns_empty

ELECTION = 15  # seconds at most until there is a server that serves again, with the settings of the lab's servers
SEEN = 10  # from the order to switch it off until its machine begins
QUICKLY = {'system.intervals.keepalive_interval': 1, **SEEN_OFF}
DEFAULTS = {'system.intervals.keepalive_interval': 5, 'system.intervals.fence_intervals': 6}


def cut_with_server(lab, pick, served_by_it, settings):
    """A node with a guest loses its power, and its server dies with it; pick: which server, of all. served_by_it: whether all other
    nodes are connected to that one."""
    herd = Fences(lab, settings=settings, servers=3)
    server = pick(lab.ensemble)
    victim = herd.nodes[server.number - 1]
    others = [node for node in herd.nodes if node is not victim]
    # Not by its own one: a node's own name leads to itself, and the lab's servers are beside the nodes.
    served = {node: server if served_by_it else herd.server_of(other) for node, other in zip(others, reversed(others))}
    for node in others:
        herd.serve(node, served[node])
    herd.start_and_arm()
    for node in others:
        herd.serve_all(node)
    uuids = {herd.guest_on(victim): 'web'}
    lab.await_beats(victim, 2, 30)
    for node in others:
        check(node.address in served[node].clients(), f'server {served[node].number} serves {served[node].clients()}, and not {node.label}')
    cut = herd.cut(victim)
    gaps = {node: max(lab.beats(node)) for node in others}
    [uuid] = uuids
    target, begun = herd.await_moved(uuid, 'web', victim, 150)
    is_new = pick is the_leader or served_by_it
    record, fencer = herd.judge(victim, uuids, 'silent' if is_new else 'seen without power')
    silent = max(lab.longest_gap(node, gaps[node] - 60, begun) for node in others)
    print(f'with server {server.number} ({"leader" if pick is the_leader else "follower"}, served the others: {served_by_it}) the guest was '
          f'begun on {target.short} {begun - cut:.1f} s after the power cut; longest time between two heartbeats of another node {silent:.1f} s')
    fenced = [change.time for change in lab.history(f'/nodes/{victim.short}/daemonstate') if change.value == b'fenced' and change.time > cut]
    print(f'{fencer.short} had it fenced {fenced[0] - cut:.1f} s after the power cut ({record["way"]})')
    interval, count = (settings[f'system.intervals.{one}'] for one in ('keepalive_interval', 'fence_intervals'))
    within(begun - cut, ELECTION + (count + 7) * interval + SEEN if is_new else 35, 'a guest after the power cut of a node with a server')
    returns_empty(lab, herd, victim, uuids)


def the_leader(ensemble):
    return ensemble.leader()


def a_follower(ensemble):
    return next(server for server in ensemble.servers if server is not ensemble.leader())


@scenario('a node dies with a server of ZooKeeper that serves nobody else', limit=170, long=True)
def fence_with_a_follower(lab):
    cut_with_server(lab, a_follower, False, QUICKLY)


@scenario('a node dies with the server of ZooKeeper that serves who fences', limit=200, long=True)
def fence_with_own_server(lab):
    cut_with_server(lab, a_follower, True, QUICKLY)


@scenario('a node dies with the leader of ZooKeeper', limit=230, long=True)
def fence_with_the_leader(lab):
    cut_with_server(lab, the_leader, False, QUICKLY)


@scenario('a figure at default intervals: a node dies with the leader of ZooKeeper', limit=300, long=True)
def fence_with_the_leader_at_defaults(lab):
    cut_with_server(lab, the_leader, False, DEFAULTS)


@scenario('36 46: the fencer is killed at each stage, and the dead node had a server of ZooKeeper, too', limit=600, long=True)
def fence_fencer_killed_of_three_servers(lab):
    killed_at_each_stage(lab, *with_guest(lab, 2, servers=3))
