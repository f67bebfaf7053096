"""A node that nobody sees off, and whose machine has all of its disks on Ceph (`failed_fence: migrate`): the clients that have them open
are refused, seen to be so, and the machine starts elsewhere, whatever the old one still does."""
import os
import re

import libvirt_qemu

from ..fences import DEAD_AFTER, Fences
from ..lab import check, equal, scenario
from ..node import read_file
from .fences import FAILED_WITHIN

PROVEN_BY_STORAGE = {'system.intervals.suicide_intervals': DEAD_AFTER, 'system.fencing.actions.failed_fence': 'migrate'}


def monitor(domain, words):
    return libvirt_qemu.qemuMonitorCommand(domain, words, libvirt_qemu.VIR_DOMAIN_QEMU_MONITOR_COMMAND_HMP)


def log_of(node):
    """What QEMU itself says of the guest."""
    return read_file(os.path.join(node.folder, 'log/libvirt/qemu/web.log'))


def clients_of(lab, volume):
    """Who has it open for writing, by address."""
    return [word.split('=')[1] for line in lab.storage.rbd('status', volume).splitlines() for word in line.split() if word.startswith('watcher=')]


@scenario('storage 37: a board is silent; a client that has the disk open and has never written is refused before the machine starts', limit=420,
          long=True)
def fence_by_storage(lab):
    herd = Fences(lab, settings=PROVEN_BY_STORAGE, ceph={'auth': True})
    victim = herd.nodes[1]
    volume = lab.storage.make_image('web')
    herd.start_and_arm()
    uuid = herd.define(1, 'web', 'hang', victim, volumes=[volume])
    # All of its disks are on Ceph: without the floppy that it would boot from.
    lab.set(f'/domains/{uuid}/xml', re.sub(r"<disk type='file'.*?</disk>|<boot dev='fd'/>", '', herd.key(uuid, 'xml'), flags=re.DOTALL))
    herd.kinds[uuid] = ''
    herd.run(uuid, victim, 60)
    lab.await_beats(victim, 2)
    equal(lab.storage.locks(volume), [], 'locks of a client that has never written')
    [client] = lab.wait(lambda: clients_of(lab, volume), 20, 'a client that has it open')
    check(client.startswith(victim.address + ':'), f'its client: {client}')

    domain = victim.hypervisor.domain(uuid)
    disk = re.search(r'Attached to: +(\S+)', monitor(domain, 'info block')).group(1)

    victim.board.disconnect()
    victim.daemon.freeze()
    lab.wait(lambda: herd.key(uuid, 'node') != victim.short, FAILED_WITHIN, 'it is given to another node')
    check(client in lab.storage.blocklist(), f'{client} is refused by Ceph: {lab.storage.blocklist()}')
    target, _ = herd.await_moved(uuid, 'web', victim)
    record, fencer = herd.await_outcome(victim, 'failed')
    equal((record['way'], record['proof'], lab.key(victim, 'daemonstate')), ('silent', None, 'dead'), 'way, proof of its power, and state')
    machine = herd.machine(record, uuid)
    equal((machine['target'], client in machine['clients']), (target.short, True), f'the machine in the record of {fencer.label}: {machine}')
    check('proof by storage' in machine['steps'], f'its proof: {machine}')

    # The old one runs on, and writes now for the first time.
    equal(herd.look(victim, uuid), 'A', 'the old one')
    monitor(domain, f'qemu-io -d {disk} "write 0 512"')
    lab.wait(lambda: '-108 (Cannot send after transport endpoint shutdown)' in log_of(victim), 20, 'its first write is refused')
    herd.no_password()
