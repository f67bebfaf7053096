"""RBD images that more than one has on one node: the lock of who runs is never broken for who is started (README ruling 80)."""
import os
import signal
import subprocess

from ..lab import check, equal, scenario
from .ceph_machines import await_fail, await_lock, storage_herd


def sharing(text):
    return text.replace("    <disk type='network' device='disk'>\n", "    <disk type='network' device='disk'>\n      <shareable/>\n")


class Untouched:
    """One that runs with an image: it keeps its QEMU, its lock, and whatever Ceph lets it do."""

    def __init__(self, lab, herd, cluster, node, uuid, volume):
        self.herd, self.cluster, self.node, self.uuid, self.volume = herd, cluster, node, uuid, volume
        self.address = await_lock(lab, cluster, volume, node)
        self.pid = node.hypervisor.pid_of(uuid)
        self.written = self._written()

    def _written(self):
        return self.node.hypervisor.domain(self.uuid).blockStats('vda')[2]

    def judge(self, lab):
        equal((self.herd.look(self.node, self.uuid), self.node.hypervisor.pid_of(self.uuid)), ('A', self.pid), 'class and QEMU of who runs')
        equal([address for _client, _id, address in self.cluster.locks(self.volume)], [self.address], f'who has the lock of {self.volume}')
        equal(self.cluster.blocklist(), [], 'whom Ceph refuses')
        now = self._written()
        lab.wait(lambda: self._written() > now, 10, 'it goes on writing')


@scenario('issue: an image in two definitions, of which one runs; who shares it by <shareable/>', limit=120)
def ceph_image_in_two_definitions(lab):
    cluster, herd = storage_herd(lab, auth=True)
    node = herd.nodes[0]
    herd.start()
    volumes = [cluster.make_image(name) for name in ('one', 'two', 'shared')]
    one = herd.define(1, 'one', 'writes', volumes=volumes[:1])
    herd.run(one)
    runs = Untouched(lab, herd, cluster, node, one, volumes[0])

    # By its definition, and by its list alone (the definition was mended, and the list was not).
    two = herd.define(2, 'two', 'writes', volumes=volumes[:2])
    three = herd.define(3, 'three', 'writes', volumes=volumes[1:2])
    lab.set(f'/domains/{three}/rbdlist', ','.join((volumes[1], volumes[0])))
    for machine in (two, three):
        herd.client.start(machine)
        _spent, reason = await_fail(lab, herd, machine, 15)
        check(reason.startswith(f'RBD image {volumes[0]} is in use by the VM one, which runs on this node and whose lock it is'), reason)
        equal(node.hypervisor.creations(machine), [], 'creations of who was refused')
        runs.judge(lab)
    check('broke the RBD lock' not in node.log(), 'a lock was broken')

    # Once it is off it may be started.
    herd.client.stop(one)
    herd.await_class(node, one, 'N')
    herd.run(two)
    await_lock(lab, cluster, volumes[0], node, (runs.address,))
    herd.client.stop(two)
    herd.await_class(node, two, 'N')

    # Both say that they share it: both run, and nobody is refused by Ceph.
    before = cluster.blocklist()
    both = [herd.define(number, f'vm{number}', 'writes', volumes=volumes[2:]) for number in (4, 5)]
    for machine in both:
        lab.set(f'/domains/{machine}/xml', sharing(herd.key(machine, 'xml')))
        herd.run(machine)
        await_lock(lab, cluster, volumes[2], node)
    for machine in both:
        herd.settled(machine, node)
    equal(cluster.blocklist(), before, 'whom Ceph refuses')

    # After a power cut both start at once, and the one that has the lock by then keeps it.
    for _again in range(4):
        node.cut_power()
        stale = cluster.locks(volumes[2])
        mark = herd.mark()
        node.power_on()
        herd.start()
        for machine in both:
            herd.await_running(node, machine, 40)
            equal(herd.values(machine, 'state', mark), [], f'values of state of {machine} since then')
            herd.settled(machine, node)
        # None was there if it was just on its way from one writer to the other.
        if stale:
            break
    check(stale, 'a lock outlives the power cut')


@scenario('issue: an image that a program of this host serves as a block device', limit=90)
def ceph_image_mapped_by_the_host(lab):
    """This kernel has no driver for such devices (neither nbd nor rbd): what it would show of one is put there, and the program is real."""
    cluster, herd = storage_herd(lab, auth=True)
    node = herd.nodes[0]
    herd.start()
    volume = cluster.make_image('web')
    sock = '/run/served.sock'
    source = f'rbd:{volume}:conf={cluster.config}:keyring={cluster.keyring}'
    served = subprocess.Popen(node.command(['/usr/bin/qemu-nbd', '-f', 'raw', '-t', '-k', sock, source]), stdin=subprocess.DEVNULL,
                              start_new_session=True)
    lab.wait(lambda: os.path.exists(node.run_path('served.sock')), 15, 'the image is served')
    node.inside('/usr/bin/qemu-io', '-f', 'raw', '-c', 'write 0 4096', f'nbd:unix:{sock}')
    address = await_lock(lab, cluster, volume, node)
    pid = node.processes('qemu-nbd')[0]
    with open(f'/proc/{pid}/status') as file:
        inner = next(line for line in file if line.startswith('NSpid:')).split()[-1]
    folder = '/sys/devices/virtual/block'
    node.inside('/bin/mount', '-t', 'tmpfs', 'blocks', folder)
    node.inside('/bin/sh', '-c', f'mkdir {folder}/nbd0 && echo {inner} > {folder}/nbd0/pid')
    web = herd.define(1, 'web', 'writes', volumes=[volume])
    herd.client.start(web)
    _spent, reason = await_fail(lab, herd, web, 15)
    check(reason.startswith(f'RBD image {volume} is mapped on this node as /dev/nbd0, whose lock it is; unmap it'), reason)
    equal([one for _client, _id, one in cluster.locks(volume)], [address], 'who has the lock')
    equal(cluster.blocklist(), [], 'whom Ceph refuses')
    equal(served.poll(), None, 'the program')
    # Unmapped, its lock is a stale one of this node.
    os.kill(pid, signal.SIGKILL)
    served.wait(10)
    node.inside('/bin/rm', '-r', f'{folder}/nbd0')
    herd.run(web)
    await_lock(lab, cluster, volume, node, (address,))
