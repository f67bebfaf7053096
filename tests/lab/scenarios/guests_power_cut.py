"""A host that comes back from a power cut: what it ran runs again by itself, as soon as what it needs is there (README ruling 77)."""
from .. import guests, network
from ..herd import Herd
from ..lab import check, equal, scenario
from ..network import View
from . import metrics
from .control import ask
from .networking import LOOK, errors, soon

VNI, STOLEN, UNKNOWN, COUNT = 1001, 1011, 1999, 3


def waiting(node):
    """How many machines wait, by cause, as the metric tells."""
    found = {name: int(value) for name, value in metrics.values(node).items() if 'machines_waiting{' in name}
    return {name.split('"')[1]: value for name, value in found.items() if value}


@scenario('issue: machines and their bridges after a power cut; a bridge that is somebody else\'s', limit=150)
def power_comes_back(lab):
    herd = Herd(lab, settings=metrics.AT_ALL, network=network.Shape())
    node = herd.nodes[0]
    for number in range(1, 11):
        network.create(lab.client, 1000 + number, **network.managed(number))
    herd.start()
    soon(lab, node, lambda view: view.is_up('vmbr1010'), 'networks')
    uuids = [herd.run_answering(node, number, VNI, f'10.1.1.{9 + number}') for number in range(1, COUNT + 1)]
    # Two more that are to run: on a bridge whose name somebody else has after the boot, and on one of no network.
    network.create(lab.client, STOLEN, **network.managed(11))
    soon(lab, node, lambda view: view.is_up(f'vmbr{STOLEN}'), 'one more')
    stolen = herd.run_answering(node, COUNT + 1, STOLEN, '10.1.11.10')
    herd.client.stop(stolen)
    herd.await_class(node, stolen, 'N')
    unknown, name = guests.uuid_of(COUNT + 2), f'vm{COUNT + 2}'
    guests.define(lab.client, unknown, name, guests.answering_xml(lab.folder, unknown, name, UNKNOWN, '10.1.99.10'), node.short, 'stop')
    lab.await_beats(node, 2)
    node.cut_power()
    for one in (stolen, unknown):
        herd.client.start(one)

    mark = herd.mark()
    node.power_on()
    equal(node.hypervisor.guests(), [], 'guests right after the boot')
    node.enter('ip', 'link', 'add', f'vmbr{STOLEN}', 'type', 'veth', 'peer', 'name', 'somebodys')
    herd.start()
    for one in uuids:
        herd.await_running(node, one, 40)
    for one in uuids:
        equal(set(herd.values(one, 'state', mark)) | {herd.key(one, 'state')}, {'start'}, 'values of its state since the boot')
        lab.wait(lambda one=one: herd.key(one, 'failedreason') == '', 10, 'the reason to wait is taken back')
        herd.settled(one, node)
        equal(len(node.hypervisor.creations(one)), 2, f'creations of {one}, one before the power cut')
    herd.await_key(unknown, 'state', 'fail', LOOK)
    equal(herd.key(unknown, 'failedreason'), f'its bridge vmbr{UNKNOWN} belongs to no network that exists', 'why no waiting helps')
    lab.wait(lambda: 'refused' in herd.key(stolen, 'failedreason'), LOOK, lambda: f'why it waits: {herd.key(stolen, "failedreason")!r}')
    reason = herd.key(stolen, 'failedreason')
    print('what an operator reads:', reason)
    check(reason.startswith(f'the network of its bridge vmbr{STOLEN} is refused: '), reason)
    equal((herd.key(stolen, 'state'), herd.look(node, stolen)), ('start', 'N'), 'state and class of what waits')
    equal(waiting(node), {'refused_network': 1}, 'the metric')
    status, said = ask(node, 'vm', 'show', name_of(stolen))
    check(status == 0 and reason in said, f'pvcnodectl vm show: {status}: {said}')
    equal(len([line for line in node.log().splitlines() if 'vm4 - it waits to be started: ' + reason in line]), 1, 'lines about that')

    # Mended, it starts by itself.
    node.enter('ip', 'link', 'delete', f'vmbr{STOLEN}')
    herd.await_running(node, stolen, 75)
    lab.wait(lambda: herd.key(stolen, 'failedreason') == '', 10, 'the reason to wait is taken back')
    equal(waiting(node), {}, 'the metric')
    check(View(node).is_up(f'vmbr{STOLEN}'), 'its bridge is up')
    equal(len(errors(node)), 2, f'errors: {errors(node)}')


def name_of(uuid):
    return f'vm{int(uuid[:8], 16)}'
