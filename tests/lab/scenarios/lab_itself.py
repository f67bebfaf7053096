"""The lab's own hypervisors, without the daemon: what the scenarios of guests stand on."""
import time

import libvirt

from .. import guests
from ..herd import Herd, Sampler
from ..lab import check, equal, scenario

UUID = guests.uuid_of(1)


@scenario('test-lab.md: two nodes, a real guest, live migration', limit=40)
def two_hypervisors(lab):
    first, second = (lab.bare_node(name, hypervisor=True) for name in lab.names(2))
    times = []

    def timed(what, call):
        begun = time.monotonic()
        result = call()
        times.append(f'{what} {time.monotonic() - begun:.2f} s')
        return result
    timed('first node', first.power_on)
    timed('second node', second.power_on)
    equal(first.inside('/usr/bin/getent', 'hosts', 'pvchv2.pvc.local').split()[0], second.address, 'address of pvchv2.pvc.local')
    equal(first.inside('/usr/bin/getent', 'ahostsv4', 'pvchv1').split()[0], first.address, 'address of pvchv1 on itself')
    text = guests.xml(lab.folder, UUID, 'web', 'hang')
    guest = timed('create', lambda: first.hypervisor.connection().createXML(text, 0))
    equal(first.hypervisor.look(UUID), 'A', 'class on the first node')
    equal([one.uuid for one in first.hypervisor.guests()], [UUID], 'QEMU processes of the first node')
    status, output = timed('virsh migrate', lambda: first.hypervisor.virsh(
        'migrate', '--live', UUID, 'qemu+tcp://pvchv2.pvc.local/system', '--migrateuri', 'tcp://pvchv2.pvc.local'))
    equal((status, output), (0, ''), 'virsh migrate')
    equal((first.hypervisor.look(UUID), second.hypervisor.look(UUID)), ('N', 'A'), 'classes after the migration')
    equal([one.uuid for one in second.hypervisor.guests()], [UUID], 'QEMU processes of the second node')
    guest = second.hypervisor.domain(UUID)
    timed('destroy', guest.destroy)
    for kind, expected in (('off', False), ('acpi', True)):
        uuid = guests.uuid_of(2 if kind == 'off' else 3)
        second.hypervisor.connection().createXML(guests.xml(lab.folder, uuid, kind, kind), 0)
        if expected:
            equal(second.hypervisor.look(uuid), 'A', f'class of {kind}')
            # The guest listens to its button once the BIOS has handed over.
            lab.wait(lambda: press(second, uuid) or second.hypervisor.look(uuid) != 'A', 5, f'{kind} obeys the button')
        timed(f'{kind} ends', lambda uuid=uuid, kind=kind: lab.wait(
            lambda: second.hypervisor.look(uuid) == 'N', 10, f'{kind} switches itself off'))
    timed('libvirtd restart', second.hypervisor.restart)
    second.hypervisor.connection().createXML(text, 0)
    second.hypervisor.kill_guest(UUID)
    timed('QEMU killed, noticed', lambda: lab.wait(lambda: second.hypervisor.look(UUID) == 'N', 10, 'the killed guest is gone'))
    second.hypervisor.connection().createXML(text, 0)
    pid = second.hypervisor.pid_of(UUID)
    timed('power cut', second.cut_power)
    check(not lab.process_exists(pid), 'QEMU outlived its node')
    timed('power on again', second.power_on)
    equal(second.hypervisor.active(), [], 'guests after the power cut')
    print(', '.join(times))


def press(node, uuid):
    try:
        node.hypervisor.domain(uuid).shutdownFlags(libvirt.VIR_DOMAIN_SHUTDOWN_ACPI_POWER_BTN)
    except (libvirt.libvirtError, AttributeError):
        pass


@scenario('vm-domains 8.2, 9.3: samples of a migration, a migration that does not end, its driver killed', limit=60)
def sampled_migration(lab):
    herd = Herd(lab, 2)
    first, second = herd.nodes
    web, busy = herd.define(1, 'web', 'hang'), herd.define(2, 'busy', 'dirty')
    libvirt_events = herd.events(second)
    for uuid, name, kind in ((web, 'web', 'hang'), (busy, 'busy', 'dirty')):
        first.hypervisor.connection().createXML(herd.xml(uuid, name, kind), 0)
        herd.await_booted(first, uuid)
    sampler = Sampler((first, second), web)
    begun = time.monotonic()
    equal(first.hypervisor.virsh(*to_second(web))[0], 0, 'virsh migrate')
    spent = time.monotonic() - begun
    samples, gap = sampler.judge(1.0)
    lab.wait(lambda: libvirt_events.of(web), 15, 'an event at the target')
    equal([(event.event, event.detail) for event in libvirt_events.of(web)][:1], [(2, 1)], 'first event at the target')
    first.hypervisor.domain(busy).migrateSetMaxSpeed(2)
    driver = first.spawn(['/usr/bin/virsh', '-c', 'qemu:///system', *to_second(busy)], first.hypervisor.log_path('virsh'))
    herd.await_class(second, busy, 'I', 10)
    time.sleep(2)
    equal((herd.look(first, busy), herd.look(second, busy)), ('A', 'I'), 'classes while it does not end')
    killed = time.monotonic()
    driver.kill()
    driver.wait(5)
    herd.await_class(second, busy, 'N', 2)
    gone = time.monotonic() - killed
    equal(herd.look(first, busy), 'A', 'class at the source')
    first.hypervisor.domain(busy).migrateSetMaxSpeed(10000)
    begun = time.monotonic()
    equal(first.hypervisor.virsh(*to_second(busy)), (0, ''), 'virsh migrate without a limit')
    print(f'{spent:.2f} s, {samples} samples, nobody executed for {gap:.2f} s; driver killed: target gone in {gone:.2f} s; '
          f'the busy one in {time.monotonic() - begun:.2f} s')
    # The client's side of it.
    mark = herd.mark()
    herd.client.place(web, 'migrate', second.short, first.short)
    equal((herd.values(web, 'state', mark), herd.values(web, 'node', mark)), (['migrate'], [second.short]), 'values written')
    equal(herd.own_writes(web), [], 'writes of others')
    herd.no_locks_left(web, 1)
    herd.client.undefine(web)
    equal(lab.stat(f'/domains/{web}'), None, 'the removed guest')


def to_second(uuid):
    return 'migrate', '--live', uuid, 'qemu+tcp://pvchv2.pvc.local/system', '--migrateuri', 'tcp://pvchv2.pvc.local'
