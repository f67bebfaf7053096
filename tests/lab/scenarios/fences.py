"""A node dies: it is found dead, switched off by its board, seen off, and its machines run elsewhere, each once."""
from ..fences import QUICK, Fences
from ..lab import check, equal, scenario, within

SEEN_OFF = {'system.intervals.fence_intervals': 20}


@scenario('the lab: a board cuts and starts its node', limit=60)
def boards_switch(lab):
    herd = Fences(lab, 1)
    node = herd.nodes[0]
    herd.start()

    def ask(word):
        return node.inside('sh', '-c', f'IPMI_PASSWORD=Passw0rd ipmitool -I lanplus -C 3 -H {node.board.address} -U admin -E chassis power {word}')
    equal(ask('status').strip(), 'Chassis Power is on', 'a node with power')
    first = node.first
    ask('off')
    lab.wait(lambda: not node.powered, 10, 'its power is off')
    equal(lab.process_exists(first), False, 'a process of it is left')
    equal(len(node.board.orders()), 1, 'orders')
    beats = lab.stat(f'/nodes/{node.short}/keepalive').version
    node.board.node.power_on()
    check(node.powered and lab.stat(f'/nodes/{node.short}/keepalive').version == beats, 'power by hand, and no daemon')
    node.board.refuse()
    check('Chassis Power Control: Down/Off' not in ask('off') and node.powered, 'a board that refuses')
    node.board.refuse(False)
    node.board.disconnect()
    check('Unable to establish' in ask('status'), 'a board that nobody reaches')


@scenario('76: the power goes under a running guest, and the board tells', limit=150)
def fence_power_cut(lab):
    herd = Fences(lab, settings=SEEN_OFF)
    victim = herd.nodes[1]
    herd.start_and_arm()
    uuid = herd.guest_on(victim)
    lab.await_beats(victim, 2)
    cut = herd.cut(victim)
    target, begun = herd.await_moved(uuid, 'web', victim)
    print(f'the guest was begun on {target.short} {begun - cut:.1f} s after the power cut')
    record, fencer = herd.await_outcome(victim)
    herd.judge_power_proof(record, 'seen without power')
    equal((herd.machine(record, uuid)['outcome'], herd.machine(record, uuid)['target']), ('recovered', target.short), 'its machine')
    within(begun - cut, 35, 'a guest after a power cut that the board tells')
    herd.never_twice('web')
    lab.wait(lambda: victim.powered, 15, 'the node is switched on again')
    lab.await_state(victim, 'run', 40)
    lab.await_value(f'/nodes/{victim.short}/domainstate', 'flushed')
    equal(herd.look(victim, uuid), 'N', 'the guest on the node that is back')
    herd.never_twice('web')
    check('web' not in str(victim.hypervisor.guests()), 'no guest on it')
    check(fencer is not victim, 'the fencer')


@scenario('10.2 10.3: a daemon that stands still is fenced after its throws, not before it is dead', limit=170)
def fence_frozen_daemon(lab):
    herd = Fences(lab)
    victim = herd.nodes[1]
    herd.start_and_arm()
    uuid = herd.guest_on(victim)
    lab.await_beats(victim, 2)
    # Too short to be dead.
    victim.daemon.freeze()
    lab.wait(lambda: lab.longest_gap(herd.nodes[0]) is not None and _age(lab, victim) > 3.5, 10, 'it stands still')
    victim.daemon.thaw()
    lab.await_beats(victim, 2)
    equal(herd.records(victim), [], 'records of fences')
    equal(victim.board.orders(), [], 'orders to its board')
    victim.daemon.freeze()
    target, begun = herd.await_moved(uuid, 'web', victim, 90)
    record, _ = herd.await_outcome(victim)
    herd.judge_power_proof(record, 'silent')
    first = victim.board.orders(False)[0][0]
    check(victim.cuts and victim.cuts[0] <= begun, 'its power was cut before the guest began elsewhere')
    print(f'switched off {first - _last_beat(lab, victim):.1f} s after its last heartbeat; the guest begun {begun - first:.1f} s later')
    herd.never_twice('web')


def _age(lab, node):
    import time
    return time.time() - lab.beats(node)[-1]


def _last_beat(lab, node):
    return lab.beats(node)[-1]
