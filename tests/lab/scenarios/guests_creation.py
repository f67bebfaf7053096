"""Creations that libvirtd holds back, with a real one."""
import os
import time

from ..herd import Herd
from ..lab import check, equal, scenario, within


class Gate:
    """QEMU that starts, on every node, only once the gate is open: its libvirtd waits for it, whoever asked for that."""

    def __init__(self, lab):
        self.folder = os.path.join(lab.folder, 'gate')
        self.emulator = os.path.join(self.folder, 'qemu')
        os.mkdir(self.folder)
        with open(self.emulator, 'w') as file:
            file.write(f'''#!/bin/sh
case "$*" in *guest=*) while [ ! -e {self.folder}/open ]; do sleep 0.02; done ;; esac
exec /usr/bin/qemu-system-x86_64 "$@"
''')
        os.chmod(self.emulator, 0o755)

    def open(self):
        with open(os.path.join(self.folder, 'open'), 'w'):
            pass

    def define(self, herd, number, node):
        uuid = herd.define(number, f'vm{number}', 'hang', node=node)
        herd.lab.set(f'/domains/{uuid}/xml', herd.key(uuid, 'xml').replace('/usr/bin/qemu-system-x86_64', self.emulator))
        return uuid

    @staticmethod
    def held(herd, uuid):
        """Where its QEMU, or what shall become one, is."""
        return [node.label for node in herd.nodes if uuid in {guest.uuid for guest in node.hypervisor.guests()}]


@scenario('README ruling 89: an orderly stop while a creation is out; it is moved, and comes true', limit=150)
def stopped_while_it_is_created(lab):
    herd = Herd(lab, 2)
    first, second = herd.nodes
    gate = Gate(lab)
    herd.start()
    uuid = gate.define(herd, 1, first)
    herd.client.start(uuid)
    lab.wait(lambda: gate.held(herd, uuid), 10, 'its QEMU is started')
    begun = time.time()
    first.daemon.stop()
    lab.expect_end(first, 0, 60)
    within(time.time() - begun, 20, 'it waits for the creation within its limit, and ends')
    equal((lab.key(first, 'daemonstate'), herd.listed(first)), ('stop', [uuid]), 'state and running list of who stopped')
    # Nobody is there to see it stop; who starts it elsewhere has to wait until that libvirtd says what became of it.
    herd.client.place(uuid, 'stop', second.short, '')
    herd.client.start(uuid)
    lab.wait(lambda: herd.key(uuid, 'failedreason').startswith(f'node {first.short}, whose daemon is stopped, has it in its running list'), 30,
             lambda: f'why it waits: {herd.key(uuid, "failedreason")!r}')
    gate.open()
    herd.await_class(first, uuid, 'A')
    tries = second.log().count('vm1 - waiting: ')
    lab.await_beats(second, 8, 30)  # a try or two
    equal((herd.key(uuid, 'state'), herd.key(uuid, 'node'), gate.held(herd, uuid)), ('start', second.short, [first.label]), 'state, node, who has it')
    equal(second.log().count('vm1 - waiting: '), tries, 'lines about that, while it stays so')
    herd.start(first)
    herd.await_running(second, uuid, 40)
    herd.settled(uuid, second)
    equal(herd.values(uuid, 'state'), ['stop', 'start', 'stop', 'start'], 'values of state')
    equal((len(first.hypervisor.lives('vm1')), len(second.hypervisor.lives('vm1'))), (1, 1), 'lives')
    ended, begun = first.hypervisor.lives('vm1')[0].ended, second.hypervisor.lives('vm1')[0].begun
    check(ended is not None and ended <= begun, f'the one ended at {ended}, the other began at {begun}')


@scenario('issue: a daemon that is killed while a creation is out, again and again; it is adopted', limit=150)
def killed_while_it_is_created(lab):
    herd = Herd(lab, 2)
    first, second = herd.nodes
    gate = Gate(lab)
    herd.start()
    uuid = gate.define(herd, 1, first)
    herd.client.start(uuid)
    lab.wait(lambda: gate.held(herd, uuid), 10, 'its QEMU is started')
    for _ in range(2):
        first.daemon.kill()
        lab.expect_end(first, -9, 5)
        herd.start(first)
        lab.await_beats(first, 3)
        equal((herd.key(uuid, 'state'), herd.key(uuid, 'failedreason'), herd.listed(first), gate.held(herd, uuid)),
              ('start', '', [uuid], [first.label]), 'state, reason, running list, who has it')
        check(herd.look(first, uuid) != 'A', 'it runs')
    gate.open()
    herd.await_running(first, uuid, 30)
    herd.settled(uuid, first)
    equal(herd.values(uuid, 'state'), ['stop', 'start'], 'values of state')
    equal(len(first.hypervisor.lives('vm1')), 1, 'lives')
    herd.client.stop(uuid)
    herd.await_class(first, uuid, 'N')


@scenario('vm-domains.md 6.1: libvirtd holds a creation back, its daemon dies, and the machine is started elsewhere', limit=120)
def creation_outlives_its_daemon(lab):
    herd = Herd(lab, 2)
    first, second = herd.nodes
    herd.start()
    uuid = herd.define(1, 'vm1', 'hang', node=first)

    def copies():
        return [node.label for node in herd.nodes if uuid in {guest.uuid for guest in node.hypervisor.guests()}]
    first.hypervisor.freeze()
    lab.set(f'/domains/{uuid}/state', 'start')
    lab.wait(lambda: uuid in herd.listed(first), 10, 'it is listed before it is created')
    time.sleep(1)
    first.daemon.kill()
    first.daemon.wait(5)
    lab.set(f'/nodes/{first.short}/daemonstate', 'stop')
    lab.set(f'/domains/{uuid}/state', 'stop')
    lab.set(f'/domains/{uuid}/node', second.short)
    lab.set(f'/domains/{uuid}/state', 'start')
    until = time.time() + 20
    while time.time() < until:
        equal(copies(), [], 'who has it while that libvirtd stands still')
        time.sleep(0.2)
    # libvirt 9.0 gives up what a process asked that is no more by then; what it had begun it would carry out.
    first.hypervisor.thaw()
    herd.start(first)
    seen = []

    def moved():
        seen.append(copies())
        return seen[-1] == [second.label]
    lab.wait(moved, 60, lambda: f'it runs on the node that it belongs to; it is on {copies()}')
    check(all(len(one) <= 1 for one in seen), f'who had it, one after the other: {seen}')
    equal(lab.get(f'/domains/{uuid}/state'), 'start', 'its state')
