"""A node dies: it is found dead, switched off by its board, seen off, and its machines run elsewhere, each once."""
import json
import time

from ..fences import Fences, with_guest
from ..foreign import launch
from ..lab import check, equal, scenario, within
from .control import ask

SEEN_OFF = {'system.intervals.fence_intervals': 20}
# Of a board that nobody reaches: three orders and looks of 20 s each until the limit of 180 s, then the order to switch it on, and a look.
FAILED_WITHIN = 330


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


@scenario('76: the power goes under a running guest, and the board tells', limit=170)
def fence_power_cut(lab):
    herd, victim, uuids = with_guest(lab, settings=SEEN_OFF)
    [uuid] = uuids
    outlook = json.loads(ask(herd.coordinators[0], 'explain', 'capacity', '--json')[1])
    rows = {one['node']: (one['machines'], one['would_start_elsewhere']) for one in outlook['nodes']}
    equal((rows[victim.short], outlook['without_place']), ((1, 1), []), 'explain capacity, before the cut')
    cut = herd.cut(victim)
    target, begun = herd.await_moved(uuid, 'web', victim)
    print(f'the guest was begun on {target.short} {begun - cut:.1f} s after the power cut')
    record, _ = herd.judge(victim, uuids, 'seen without power')
    equal(herd.machine(record, uuid)['target'], target.short, 'its machine')
    within(begun - cut, 35, 'a guest after a power cut that the board tells')
    returns_empty(lab, herd, victim, uuids)
    for node in herd.nodes:
        check(node.log().count('is not switched off: it is back') <= 1, f'{node.label} begins fences of a node that is back')


def returns_empty(lab, herd, victim, uuids):
    """It is switched on again, and has nothing of what ran on it."""
    lab.wait(lambda: victim.powered, 20, 'the node is switched on again')
    lab.await_state(victim, 'run', 40)
    lab.await_value(f'/nodes/{victim.short}/domainstate', 'flushed', 20)
    for uuid in uuids:
        equal(herd.look(victim, uuid), 'N', 'the guest on the node that is back')
    equal(victim.hypervisor.guests(), [], 'guests on the node that is back')
    herd.never_twice(*uuids.values())


def stays_home(lab, herd, victim, uuid):
    """What a node had that is not fenced: it is back, and its guest runs where it ran."""
    lab.await_state(victim, 'run', 40)
    lab.await_beats(victim, 3, 30)  # at any interval, and after a session that was lost
    equal((herd.key(uuid, 'state'), herd.key(uuid, 'node')), ('start', victim.short), 'its machine')
    equal((herd.look(victim, uuid), len(herd.lives('web'))), ('A', 1), 'the guest that ran on')


@scenario('10.2 10.3: a daemon that stands still is fenced after its throws, not before it is dead', limit=190)
def fence_frozen_daemon(lab):
    herd, victim, uuids = with_guest(lab)
    [uuid] = uuids
    # Too short to be dead.
    victim.daemon.freeze()
    lab.wait(lambda: time.time() - lab.beats(victim)[-1] > 3.5, 10, 'it stands still')
    victim.daemon.thaw()
    lab.await_beats(victim, 2)
    equal(herd.records(victim), [], 'records of fences')
    equal(victim.board.orders(), [], 'orders to its board')
    victim.daemon.freeze()
    _, begun = herd.await_moved(uuid, 'web', victim, 90)
    record, _ = herd.judge(victim, uuids, 'silent')
    first = victim.board.orders(False)[0][0]
    equal((record['commands'][0]['what'], record['commands'][0]['read_as']), ('chassis power status', 'on'), 'its board before the last throw')
    equal(record['commands'][1]['what'], 'chassis power off', 'the first order: its board said `on`, which is no way around the throws')
    check(victim.cuts and victim.cuts[0] <= begun, 'its power was cut before the guest began elsewhere')
    last = max(beat for beat in lab.beats(victim) if beat < first)
    print(f'switched off {first - last:.1f} s after its last heartbeat; the guest begun {begun - first:.1f} s later')


@scenario('10.2 10.3 15: boards that are silent, slow, refuse, or know another password', limit=200, long=True)
def fence_bad_boards(lab):
    herd, victim, uuids = with_guest(lab)
    [uuid] = uuids

    # It refuses: the node runs on as far as anybody knows, and its machines stay.
    victim.board.refuse()
    victim.daemon.freeze()
    record, fencer = herd.await_outcome(victim, 'failed', 120)
    equal((record['way'], record['proof']), ('silent', None), 'way and proof')
    check(len(victim.board.orders(False)) >= 1, 'it was ordered to be off')
    equal(lab.key(victim, 'daemonstate'), 'dead', 'its state')
    check(victim.powered, 'its power')
    victim.daemon.thaw()
    stays_home(lab, herd, victim, uuid)
    victim.board.refuse(False)

    # Another password than the one that the node published.
    lab.set(f'/nodes/{victim.short}/ipmipassword', 'another')
    status, text = ask(fencer, 'fence', 'probe', victim.short, timeout=90)
    check(status == 0 and 'exit status 1' in text, f'a probe with another password: {status} {text}')
    lab.set(f'/nodes/{victim.short}/ipmipassword', 'Passw0rd')

    # It thinks for three seconds before each word.
    victim.board.slow(3)
    victim.daemon.freeze()
    herd.await_moved(uuid, 'web', victim, 120)
    record, _ = herd.judge(victim, uuids, 'silent')
    # The question before the last throw ends with that, whether it was answered or not.
    first_off = [one['what'] for one in record['commands']].index('chassis power off')
    check(all(one['ended']['boot_us'] - one['begun']['boot_us'] > 2_000_000 for one in record['commands'][first_off:] if 'power' in one['what']),
          f'slow answers: {record["commands"]}')


@scenario('10.3: a board that is silent fences nobody; an operator\'s word does', limit=460, long=True)
def fence_silent_board_and_operator(lab):
    herd, victim, uuids = with_guest(lab)
    [uuid] = uuids
    asked = herd.nodes[0]

    # While it lives no word is taken.
    status, text = confirm(asked, victim)
    check(status == 1 and 'heartbeat' in text, f'a word about a node that lives: {status} {text}')
    victim.board.lose_all_power()
    lab.await_value(f'/nodes/{victim.short}/daemonstate', 'dead', 40)
    herd.await_outcome(victim, 'failed', FAILED_WITHIN)
    equal((herd.key(uuid, 'state'), herd.key(uuid, 'node')), ('start', victim.short), 'its machine after the fence has failed')
    status, text = ask(asked, 'fence', 'confirm', victim.short, '--yes-the-node-is-off', 'pvchv9', timeout=90)
    equal(status, 2, f'another name: {text}')
    asked = lab.wait(lambda: word_taken((asked, herd.nodes[2]), victim), 240, 'a word is taken')
    target, _ = herd.await_moved(uuid, 'web', victim, 40)
    record, _ = herd.await_outcome(victim, by=asked)
    equal(record['proof']['kind'], 'operator', 'the proof')
    check(record['way'] in ('confirmed by an operator', 'left dead'), f'its way: {record["way"]}')  # in the midst of another try
    equal(herd.machine(record, uuid)['target'], target.short, 'its machine')
    check(not victim.powered and not victim.board.orders(True), 'the node is not switched on')
    herd.never_twice('web')
    herd.no_password()


def word_taken(coordinators, victim):
    """By whom: the other one may have begun to fence it meanwhile, and knows nothing of its board yet."""
    for node in coordinators:
        status, text = confirm(node, victim)
        if status == 0:
            return node
        check('ask again' in text or 'fence lock' in text, f'why it is not taken: {text}')
    return None


def confirm(node, victim, *more):
    return ask(node, 'fence', 'confirm', victim.short, '--yes-the-node-is-off', victim.short, *more, timeout=90)


@scenario('D117: node and board behind a switch that fails; the node comes back as it was', limit=460, long=True)
def fence_cut_off(lab):
    herd, victim, uuids = with_guest(lab)
    [uuid] = uuids
    victim.board.cut_off()
    record, _ = herd.await_outcome(victim, 'failed', FAILED_WITHIN)
    equal((record['way'], record['proof']), ('silent', None), 'way and proof')
    equal((herd.key(uuid, 'state'), herd.key(uuid, 'node')), ('start', victim.short), 'its machine')
    victim.board.rejoin()
    stays_home(lab, herd, victim, uuid)
    equal(victim.board.orders(), [], 'orders that reached its board')
    herd.never_twice('web')
    herd.no_password()


@scenario('two nodes at once, of five', limit=240, long=True)
def fence_two_nodes(lab):
    herd, first, uuids = with_guest(lab, 3, count=5)
    second = herd.nodes[4]
    uuids[herd.guest_on(second, 2, 'db')] = 'db'
    lab.await_beats(second, 2)
    named = 'this node is no coordinator; ask one: ' + ', '.join(node.short for node in herd.coordinators)
    equal(json.loads(ask(second, 'explain', 'fences', '--json')[1])['judges_not_because'], named, 'explain fences on a hypervisor')
    equal(ask(second, 'explain', 'capacity')[0], 1, 'explain capacity on a hypervisor')
    cut = herd.cut(first)
    herd.cut(second)
    for (uuid, name), victim in zip(uuids.items(), (first, second)):
        lab.wait(lambda uuid=uuid: herd.key(uuid, 'node') not in (first.short, second.short), 90, f'{name} is moved')
        target, begun = herd.await_moved(uuid, name, victim, 90)
        check(target not in (first, second), 'its target lives')
        print(f'{name} was begun on {target.short} {begun - cut:.1f} s after the power cut')
        herd.judge(victim, {uuid: name})


@scenario('31: two of three at once: neither is switched off before the other is back', limit=240, long=True)
def fence_two_of_three(lab):
    herd, first, uuids = with_guest(lab)
    second = herd.nodes[2]
    db = herd.guest_on(second, 2, 'db')
    lab.await_beats(second, 2)
    herd.cut(first)
    herd.cut(second)
    lab.wait(lambda: all(f'node {one.short} is dead' in herd.nodes[0].log() for one in (first, second)), 40, 'both are found dead')
    lab.wait(lambda: herd.nodes[0].log().count('[fence-held-back]') == 2, 40, 'both are held back')
    check(not first.board.orders() and not second.board.orders(), 'neither was switched off')
    # By hand; what it ran it still has.
    herd.boot(first)
    begun = time.time()
    target, there = herd.await_moved(db, 'db', second, 90)
    print(f'the guest of the second was begun on {target.short} {there - begun:.1f} s after the first was switched on')
    herd.judge(second, {db: 'db'})
    [uuid] = uuids
    herd.await_running(first, uuid, 60)
    herd.never_twice('web')


@scenario('36 46: the fencer is killed at each stage; another, or it again, goes on, and nothing happens twice', limit=420, long=True)
def fence_fencer_killed(lab):
    killed_at_each_stage(lab, *with_guest(lab, 2))


def killed_at_each_stage(lab, herd, victim, uuids):
    [uuid] = uuids
    for stage in STAGES:
        done = {record['id'] for record, _ in herd.records(victim)}
        cut = herd.cut(victim)
        fencer = lab.wait(lambda done=done, stage=stage: stage[1](herd, victim, done), 90, f'the stage: {stage[0]}')
        fencer.daemon.kill()
        fencer.daemon.wait(10)
        fencer.start()
        _, begun = herd.await_moved(uuid, 'web', victim, 300)
        print(f'killed when {stage[0]}: the guest was begun {begun - cut:.1f} s after the power cut')
        ways = {record['way'] for record, _ in herd.records(victim) if record['id'] not in done and record['proof']}
        check(ways, f'the record of its proof, killed when {stage[0]}')
        herd.never_twice('web')
        # Whom it had ordered on before it was killed is back before it can go on.
        lab.wait(lambda: any(one['outcome'] == 'done' and one['id'] not in done for one, _ in herd.records(victim)) or
                 lab.key(victim, 'daemonstate') == 'run', 30, 'a record that is done')
        if not victim.powered:
            herd.boot(victim)
        lab.await_state(victim, 'run', 60)
        lab.set(f'/nodes/{victim.short}/domainstate', 'ready')
        lab.await_state(fencer, 'run')
        # Begun anew: one that migrates is on two nodes for a moment.
        herd.client.stop(uuid)
        lab.wait(lambda: all(herd.look(node, uuid) == 'N' for node in herd.nodes), 60, 'the guest has ended')
        herd.client.place(uuid, 'start', victim.short, '')
        herd.await_running(victim, uuid, 60)
        lab.wait(lambda fencer=fencer: fencer.daemon is not None and time.monotonic() - fencer.daemon.started > 12, 20, 'it is armed again')
    herd.no_password()


def _new(herd, victim, done):
    return [(record, node) for record, node in herd.records(victim) if record['id'] not in done]


STAGES = (
    ('it has opened its record', lambda herd, victim, done: next((node for _, node in _new(herd, victim, done)), None)),
    ('off was ordered', lambda herd, victim, done: next((node for record, node in _new(herd, victim, done)
                                                         if any(one['what'] == 'chassis power off' for one in record['commands'])), None)),
    ('it has its proof', lambda herd, victim, done: next((node for record, node in _new(herd, victim, done) if record['proof']), None)),
    ('the node is fenced', lambda herd, victim, done: next((node for record, node in _new(herd, victim, done) if record['fenced_id']), None)),
)


@scenario('77: a node that somebody switches on by hand in the middle', limit=170, long=True)
def fence_powered_on_by_hand(lab):
    herd, victim, uuids = with_guest(lab)
    [uuid] = uuids
    herd.cut(victim)
    lab.await_value(f'/nodes/{victim.short}/daemonstate', 'dead', 30)
    # In the throws: it is back, and is what it was.
    herd.boot(victim)
    lab.await_state(victim, 'run', 40)
    lab.wait(lambda: herd.look(victim, uuid) == 'A' or herd.key(uuid, 'node') != victim.short, 60, 'the guest runs again')
    where = next(node for node in herd.nodes if node.short == herd.key(uuid, 'node'))
    herd.await_running(where, uuid, 60)
    herd.never_twice('web')
    herd.no_password()
    # Back among its throws it passes, and has what it had; later it is switched off, and seen off, before anything is given away.
    fences = [record for record, _ in herd.records(victim)]
    print([(record['way'], record['outcome']) for record in fences], where.label)
    check(fences and fences[0]['way'] == 'silent', f'the way: {[record["way"] for record in fences]}')
    if where is victim:
        check(all(record['proof'] is None and not victim.board.orders(False) for record in fences), f'a node that is back passes: {fences}')
    else:
        herd.judge(victim, uuids, 'silent')


@scenario('46: a coordinator whose /var is full fences nobody, and another does', limit=330, long=True)
def fence_full_disk(lab):
    herd = Fences(lab)
    full, victim = herd.nodes[0], herd.nodes[2]
    # A disk of one page, and that is taken.
    full.inside('mount', '-t', 'tmpfs', '-o', 'size=4k', 'full', '/var/lib/pvc')
    full.inside('sh', '-c', 'mkdir -m 700 /var/lib/pvc/fences; head -c 4096 /dev/zero > /var/lib/pvc/full')
    herd.start_and_arm()
    uuid = herd.guest_on(victim)
    lab.await_beats(victim, 2)
    herd.cut(victim)
    # If it was the first to see it dead, the other takes that for left behind after 180 s.
    herd.await_moved(uuid, 'web', victim, 240)
    _, fencer = herd.judge(victim, {uuid: 'web'})
    check(fencer is herd.nodes[1], f'the fencer: {fencer.label}')


@scenario('the primary dies: its machines and the role', limit=170, long=True)
def fence_primary(lab):
    herd = Fences(lab, settings=SEEN_OFF)
    herd.start_and_arm()
    victim = lab.wait(lambda: next((node for node in herd.nodes if lab.get('/config/primary_node') == node.short), None), 30, 'a primary')
    uuid = herd.guest_on(victim)
    lab.await_beats(victim, 2)
    cut = herd.cut(victim)
    target, begun = herd.await_moved(uuid, 'web', victim)
    print(f'the guest was begun on {target.short} {begun - cut:.1f} s after the power cut of the primary')
    herd.judge(victim, {uuid: 'web'}, 'seen without power')
    primary = lab.wait(lambda: next((node for node in herd.nodes if node is not victim and lab.key(node, 'routerstate') == 'primary'), None),
                       40, 'another primary')
    equal(lab.get('/config/primary_node'), primary.short, 'the key of the primary')


@scenario('storage 22 35: a power cut on Ceph: the old client\'s lock goes, and what the node held is refused', limit=240, long=True)
def fence_on_ceph(lab):
    herd = Fences(lab, settings=SEEN_OFF, ceph={'auth': True})
    victim = herd.nodes[1]
    volume = lab.storage.make_image('web')
    herd.start_and_arm()
    uuid = herd.guest_on(victim, kind='writes', volumes=[volume])
    lab.await_beats(victim, 2)
    before = lab.storage.locks(volume)
    check(len(before) == 1 and before[0][2].startswith(victim.address + ':'), f'its lock: {before}')
    cut = herd.cut(victim)
    target, begun = herd.await_moved(uuid, 'web', victim, 90)
    print(f'the guest on Ceph was begun on {target.short} {begun - cut:.1f} s after the power cut')
    record, _ = herd.judge(victim, {uuid: 'web'}, 'seen without power')
    machine = herd.machine(record, uuid)
    check(any(before[0][2].split('/')[0].split(':')[0] in text for text in machine['locks'] + machine['clients']), f'its locks: {machine}')
    lab.wait(lambda: [one for one in lab.storage.locks(volume) if one[2].startswith(target.address + ':')], 20, 'the lock of the new one')
    check(not [one for one in lab.storage.locks(volume) if one[2].startswith(victim.address + ':')], 'the old lock is gone')
    check(before[0][2] in lab.storage.blocklist(), f'{before[0][2]} is refused by Ceph: {lab.storage.blocklist()}')


@scenario('U16: a reference node dies and is fenced', limit=170, long=True)
def fence_reference_victim(lab):
    herd = Fences(lab, settings={'system.intervals.fence_intervals': 12})
    victim = herd.nodes[2]
    start_foreign(lab, victim)
    ours = herd.nodes[:2]
    herd.start_and_arm(ours)
    uuid = herd.guest_on(victim)
    herd.cut(victim)
    herd.await_moved(uuid, 'web', victim, 90)
    herd.judge(victim, {uuid: 'web'})
    lab.wait(lambda: victim.powered, 20, 'it is switched on again')


@scenario('U17: a reference node fences; ours leaves that to it', limit=170, long=True)
def fence_reference_fencer(lab):
    herd = Fences(lab, settings={'system.intervals.fence_intervals': 60})
    foreign, ours, victim = herd.nodes
    start_foreign(lab, foreign, dead_after=6)
    victim.board.firmware = 12  # it is switched on before its machines are moved: that takes less than a boot
    herd.start_and_arm([ours, victim])
    uuid = herd.guest_on(victim)
    lab.await_beats(victim, 2)
    herd.cut(victim)
    herd.await_moved(uuid, 'web', victim, 90)
    equal(herd.records(victim, by=ours), [], 'records of ours')
    herd.never_twice('web')
    lab.wait(lambda: victim.powered, 20, 'it is switched on again')
    lab.await_value(f'/nodes/{victim.short}/domainstate', 'flushed', 20)
    equal(herd.look(victim, uuid), 'N', 'the guest on the node that is back')


def start_foreign(lab, node, **options):
    """A reference node with the same board."""
    lab.put_node(node.short, domainstate='ready', runningdomains='0', ipmihostname=node.board.address, ipmiusername='admin',
                 ipmipassword='Passw0rd')
    launch(lab, node, interval=1, **options)
    node.board.boot = node.power_on


@scenario('a figure: ten machines of a dead node', limit=240, long=True)
def fence_ten_machines(lab):
    herd, victim, uuids = with_guest(lab, guests=[f'vm{number}' for number in range(1, 11)], settings=SEEN_OFF)
    cut = herd.cut(victim)
    begun = [herd.await_moved(uuid, name, victim, 90)[1] for uuid, name in uuids.items()]
    starts = [change.time for uuid in uuids for change in lab.history(f'/domains/{uuid}/node')
              if change.time > cut and (change.value or b'').decode() != victim.short]
    print(f'ten machines: writes of `start` {min(starts) - cut:.1f} to {max(starts) - cut:.1f} s after the cut, '
          f'guests begun {min(begun) - cut:.1f} to {max(begun) - cut:.1f} s after it')
    within(max(starts) - min(starts), 10, 'all writes of `start`')
    record, _ = herd.judge(victim, uuids, 'seen without power')
    check(len({machine['target'] for machine in record['machines']}) == 2, f'all went to one node: {record["machines"]}')


@scenario('a figure at default intervals: power cut, board tells; daemon frozen', limit=360, long=True)
def fence_default_intervals(lab):
    herd = Fences(lab, settings={'system.intervals.keepalive_interval': 5, 'system.intervals.fence_intervals': 6})
    herd.start_and_arm()
    victim = herd.nodes[1]
    uuid = herd.guest_on(victim)
    lab.await_beats(victim, 2, 20)
    cut = herd.cut(victim)
    target, begun = herd.await_moved(uuid, 'web', victim, 120)
    print(f'default intervals: begun on {target.short} {begun - cut:.1f} s after a power cut that the board told')
    within(begun - cut, 35, 'a guest after a power cut that the board tells')
    lab.await_state(victim, 'run', 60)
    victim = target
    lab.await_beats(victim, 2, 20)
    last = lab.beats(victim)[-1]
    victim.daemon.freeze()
    frozen = time.time()
    lab.set(f'/nodes/{herd.nodes[1].short}/domainstate', 'ready')
    target, begun = herd.await_moved(uuid, 'web', victim, 150)
    print(f'default intervals: begun on {target.short} {begun - frozen:.1f} s after its daemon froze, {begun - last:.1f} s after its last heartbeat')
    within(begun - frozen, 72, 'a guest after its daemon froze')
    herd.never_twice('web')
