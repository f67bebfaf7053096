"""A laboratory of nodes with boards that hold their power switches: what a fence did, by its record, and that no guest ran twice."""
import glob
import json
import os
import time

from . import power
from .board import PASSWORD
from .herd import Herd
from .lab import check, equal
from .node import DAEMON, read_file

CTL = os.path.join(os.path.dirname(DAEMON), 'pvcnodectl')
DEAD_AFTER = 6  # fence_intervals
QUICK = {'system.intervals.keepalive_interval': 1, 'system.intervals.fence_intervals': DEAD_AFTER}


def records_of(nodes, about=None):
    """Records of fences on the disks of these nodes (all, or of one node), with whose disk they are on, the oldest first."""
    found = []
    for node in nodes:
        for path in glob.glob(os.path.join(node.folder, 'state', 'fences', '*.json')):
            try:
                record = json.loads(read_file(path))
            except ValueError:
                continue  # it is being replaced
            if about is None or record['node'] == about.short:
                found.append((record, node))
    return sorted(found, key=lambda one: one[0]['id'])


def could_fence(node, count):
    """It has asked the boards of so many others, and each would do."""
    return f'{count} of {count} other nodes asked so far could be fenced now' in node.inside(CTL, 'status')


class Fences(Herd):
    """Nodes with libvirtd, QEMU and a board each, the first three are coordinators. settings: of each, over those of QUICK. suite:
    with which they ask boards. servers: of ZooKeeper; one of several runs on the node of its number, and shares its power."""

    def __init__(self, lab, count=3, settings=None, suite=3, servers=1, ceph=None, **options):
        if ceph is not None:
            lab.ceph(**ceph)
        self.suite = suite
        super().__init__(lab, count, settings={**QUICK, **(settings or {})}, servers=servers, each=self._with_board, **options)
        self.boards = {node.short: node.board for node in self.nodes}

    def _with_board(self, node):
        node.settings.update(power.settings(node.number, self.suite))
        node.write_configuration()
        power.PowerBoard(node, boot=lambda: self.boot(node))

    def server_of(self, node):
        """The server of ZooKeeper that shares its power, if any."""
        servers = self.lab.ensemble.servers
        return servers[node.number - 1] if 1 < len(servers) >= node.number else None

    def boot(self, node):
        """By its board, or by hand."""
        if self.server_of(node):
            self.server_of(node).gain_power()
        node.up()

    @property
    def coordinators(self):
        return self.nodes[:3]

    # --- the way there ---

    def serve(self, node, server):
        """Before it starts: that one alone serves it, until `serve_all`."""
        for other in self.lab.ensemble.servers:
            if other is not server:
                node.enter('ip', 'route', 'add', 'unreachable', f'{other.address}/32')

    def serve_all(self, node):
        for line in node.enter('ip', 'route', 'show', 'type', 'unreachable').splitlines():
            node.enter('ip', 'route', 'del', *line.split()[:2])

    def start_and_arm(self, nodes=None):
        """All are `run` and `ready`, each board was asked, and each daemon has looked long enough to find a node dead."""
        begun = time.monotonic()
        for node in nodes or self.nodes:
            node.up()
        for node in nodes or self.nodes:
            self.lab.await_state(node, 'run')
            self.lab.set(f'/nodes/{node.short}/domainstate', 'ready')
        for node in [one for one in nodes or self.nodes if one in self.coordinators]:
            self.lab.wait(lambda node=node: could_fence(node, len(self.nodes) - 1), 90,
                          lambda node=node: f'{node.label} could fence each other node; it says {node.inside(CTL, "status")}')
        interval = self.nodes[0].settings['system.intervals.keepalive_interval']
        least = interval * self.nodes[0].settings['system.intervals.fence_intervals'] + 2 * interval
        self.lab.wait(lambda: time.monotonic() - begun > least + 3, 2 * least, 'each is armed')

    def guest_on(self, node, number=1, name='web', kind='hang', **values):
        uuid = self.define(number, name, kind, node, **values)
        self.run(uuid, node, 60)
        return uuid

    # --- what came of it ---

    def records(self, about, by=None):
        return records_of(self.nodes if by is None else [by], about)

    def await_outcome(self, about, outcome='done', timeout=60.0, by=None):
        """The record with that outcome, and the node that has it."""
        def seen():
            return next((one for one in self.records(about, by) if one[0]['outcome'] == outcome), None)
        return self.lab.wait(seen, timeout, lambda: f'a fence of {about.short} with the outcome {outcome}; records: '
                             f'{[(one["coordinator"], one["way"], one["outcome"], one["remark"]) for one, _ in self.records(about)]}')

    def judge_power_proof(self, record, way):
        """The way it went; that `off` was ordered and seen before the proof; and the order of it all."""
        equal(record['way'], way, f'the way of {record["id"]}')
        proof = record['proof']
        check(proof is not None and proof['kind'] == 'power', f'the proof: {proof}')
        words = [one['what'] for one in record['commands']]
        check(any(word == 'chassis power off' for word in words), f'commands: {words}')
        seen_off = [one for one in record['commands'] if one['what'] == 'chassis power status' and one['read_as'] == 'off']
        check(seen_off and seen_off[-1]['ended']['boot_us'] <= proof['at']['boot_us'], f'off was seen before it was proven: {record["commands"]}')
        check(all(proof['at']['boot_us'] <= one['at']['boot_us'] for one in record['writes'] if 'fenced' in one['what']),
              f'nothing was written before the proof: {record["writes"]}')
        first_off = words.index('chassis power off')
        for place, one in enumerate(record['commands']):
            is_cut_short = place < first_off and one['status'] is None  # the question before the last throw ends with that
            check(one['ended'] and (one['output'] or one['errors'] or is_cut_short) and one['read_as'], f'an answer as it came: {one}')

    def judge(self, victim, uuids, way=None, by=None):
        """A fence that is done: its record, each of these machines (UUID -> name) recovered and seen to run, nothing twice."""
        record, fencer = self.await_outcome(victim, by=by)
        check(fencer is not victim and record['coordinator'] == fencer.short and record['node'] == victim.short, f'who fenced whom: {record}')
        self.judge_power_proof(record, way or record['way'])
        for uuid, name in uuids.items():
            machine = self.machine(record, uuid)
            equal((machine['outcome'], machine['name']), ('recovered', name), f'{name} in the record')
            check(machine['target'] not in ('', victim.short) and machine['transaction'], f'where {name} went: {machine}')
        self.never_twice(*uuids.values())
        self.no_password()
        return record, fencer

    def no_password(self):
        """Neither in a record nor in a log, nor among the words of a program, nor in what an operator is shown."""
        for record, node in records_of(self.nodes):
            check(PASSWORD not in json.dumps(record), f'the password is in a record of {node.label}')
        for node in self.nodes:
            check(PASSWORD not in node.log() + node.output(), f'the password is in the log of {node.label}')
            check(PASSWORD not in read_file(node.run_path('lab', 'ipmitool')), f'the password is among the words of an ipmitool on {node.label}')
            if node.powered and node.daemon is not None and node.daemon.alive():
                shown = node.inside(CTL, 'fence', 'list') + ''.join(node.inside(CTL, 'fence', 'show', one['id']) for one, _ in records_of([node]))
                check(PASSWORD not in shown, f'{node.label} shows the password')

    def machine(self, record, uuid):
        found = [one for one in record['machines'] if one['uuid'] == uuid]
        check(len(found) == 1, f'{uuid} in the record: {record["machines"]}')
        return found[0]

    def await_moved(self, uuid, name, victim, timeout=60.0):
        """Until it runs on another node: that node, and when it was begun there."""
        others = [node for node in self.nodes if node is not victim]

        def there():
            where = [node for node in others if node.powered and node.short == self.key(uuid, 'node')]
            return where and self.key(uuid, 'state') == 'start' and self.look(where[0], uuid) == 'A' and where[0]
        node = self.lab.wait(there, timeout, lambda: f'{name} runs elsewhere; it is {self.key(uuid, "state")} on {self.key(uuid, "node")}')
        return node, node.hypervisor.lives(name)[-1].begun

    def lives(self, name):
        """From when to when it executed where; what lives still lives until now."""
        found = []
        for node in self.nodes:
            if node.hypervisor is None:
                continue
            for life in node.hypervisor.lives(name):
                ends = [end for end in (life.ended, *node.cuts) if end is not None and end >= life.begun]
                found.append((life.begun, min(ends, default=time.time()), node.label))
        return sorted(found)

    def never_twice(self, *names):
        for name in names:
            lives = self.lives(name)
            check(lives, f'{name} never ran')
            for before, after in zip(lives, lives[1:]):
                check(before[1] <= after[0], f'{name} ran twice: {before} and {after}')

    def cut(self, node):
        """Its power: when."""
        if self.server_of(node):
            self.server_of(node).lose_power()
        node.cut_power()
        return node.cuts[-1]


def with_guest(lab, at=1, guests=('web',), **options):
    """Nodes that are armed, and guests on one of them: the herd, that node, and their names by UUID."""
    herd = Fences(lab, **options)
    herd.start_and_arm()
    victim = herd.nodes[at]
    uuids = {herd.guest_on(victim, number, name): name for number, name in enumerate(guests, 1)}
    lab.await_beats(victim, 2, 30)
    return herd, victim, uuids


