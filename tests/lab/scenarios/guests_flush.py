"""A flush whose targets refuse single machines, or do not answer for a while: nobody is shut down for that (README ruling 78)."""
import time

from ..herd import Herd
from ..lab import check, equal, scenario
from . import metrics
from .control import ask

BRIDGE = 'brown'


def two_nodes(lab):
    herd = Herd(lab, 2, settings=metrics.AT_ALL)
    herd.start()
    for node in herd.nodes:
        lab.set(f'/nodes/{node.short}/domainstate', 'ready')
    return herd, *herd.nodes


def nobody_was_shut_down(herd, uuids, mark):
    for one in uuids:
        values = herd.values(one, 'state', mark)
        check(not set(values) - {'migrate', 'migrate-live', 'start'}, f'values of state of {one}: {values}')


def left_on(node):
    """What an operator sees of machines that a flush left: the metric, and what `status` names."""
    return int(metrics.values(node)['pvcnoded_flushed_machines']), ask(node, 'status')[1]


def with_a_card(text):
    return text.replace('  </devices>', f"    <interface type='bridge'><source bridge='{BRIDGE}'/><model type='ne2k_pci'/>"
                                        "<rom enabled='no'/></interface>\n  </devices>")


@scenario('issue: two machines that the only target refuses stay and run, the others move', limit=90)
def flush_with_refused_machines(lab):
    herd, first, second = two_nodes(lab)
    # The host's own network: the target has no such bridge, and its libvirt refuses who needs it.
    first.enter('ip', 'link', 'add', BRIDGE, 'type', 'bridge')
    uuids = [herd.define(number, f'vm{number}', 'hang', migration_method='live' if number <= 2 else 'none') for number in range(1, 6)]
    refused, others = uuids[:2], uuids[2:]
    for one in refused:
        lab.set(f'/domains/{one}/xml', with_a_card(herd.key(one, 'xml')))
    for one in uuids:
        herd.run(one)
    pids = [first.hypervisor.pid_of(one) for one in refused]
    mark = herd.mark()
    lab.set(f'/nodes/{first.short}/domainstate', 'flush')
    lab.await_value(f'/nodes/{first.short}/domainstate', 'flushed', 60)
    for one in others:
        herd.await_running(second, one)
        herd.settled(one, second, first.short)
    for one, pid in zip(refused, pids):
        herd.settled(one, first)
        equal(first.hypervisor.pid_of(one), pid, f'QEMU of {one}')
    nobody_was_shut_down(herd, uuids, mark)
    lab.await_log(first, 'still running here: vm1, vm2')
    lab.await_beats(first, 2)
    number, status = left_on(first)
    equal(number, 2, 'the metric')
    check('2 virtual machine(s) run here: vm1, vm2; do not switch it off' in status, status)


def all_move(lab, until_thawed):
    """Four that run while the target's libvirtd stands still: until it is told to go on."""
    herd, first, second = two_nodes(lab)
    uuids = [herd.define(number, f'vm{number}', 'acpi') for number in range(1, 5)]
    for one in uuids:
        herd.run(one)
    mark, lives = herd.mark(), [first.hypervisor.lives(f'vm{number}') for number in range(1, 5)]
    second.hypervisor.freeze()
    lab.set(f'/nodes/{first.short}/domainstate', 'flush')
    until_thawed(first)
    for number, (one, before) in enumerate(zip(uuids, lives), 1):
        equal((herd.look(first, one), first.hypervisor.lives(f'vm{number}')), ('A', before), 'class and lives while nobody takes it')
    second.hypervisor.thaw()
    lab.await_value(f'/nodes/{first.short}/domainstate', 'flushed', 120)
    nobody_was_shut_down(herd, uuids, mark)
    for one in uuids:
        herd.await_running(second, one)
        herd.settled(one, second, first.short)
    lab.await_beats(first, 2)
    lab.await_log(first, 'no virtual machine runs here any more')
    equal(left_on(first)[0], 0, 'the metric')
    return first


@scenario('issue: the target\'s libvirtd hangs for 22 s; everybody moves, nobody is shut down', limit=150, long=True)
def flush_with_silent_target(lab):
    first = all_move(lab, lambda _first: time.sleep(22))
    lab.await_log(first, 'live migration: libvirt there did not answer in time [migration-attempt]')


@scenario('issue: a target that hangs for so long that it is left out is tried again at the end', limit=240, long=True)
def flush_with_target_left_out(lab):
    all_move(lab, lambda first: lab.await_log(first, '[flush-target-left-out]', 120))
