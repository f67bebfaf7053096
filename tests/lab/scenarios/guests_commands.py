"""Commands about guests as clients up to 0.9.80 send them: through /cmd/domains, at schema 9."""
import os
import time

from .. import guests
from ..herd import Herd
from ..lab import check, equal, scenario, within

PIPE = '/cmd/domains'
SLOW, FAST = 2, 10000  # MiB/s of a live migration
LOOK = 0.5  # a client looks for the answer after this time, and holds the write lock that long when it clears the key


def disk(lab, letter):
    path = os.path.join(lab.folder, 'guests', f'more-{letter}.img')
    with open(path, 'wb') as file:
        file.truncate(1 << 20)
    return (f"<disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='{path}'/>"
            f"<target dev='vd{letter}' bus='virtio'/></disk>")


class Sender:
    """A client's side of the protocol, on kazoo's locks."""

    def __init__(self, lab, pipe=PIPE):
        self.zk = lab.client
        self.lab = lab
        self.pipe = pipe

    def send(self, text):
        self.sent = time.monotonic()
        self.zk.set(self.pipe, text.encode())

    def answer(self):
        """What the client reads; then it clears the key."""
        time.sleep(max(0.0, self.sent + LOOK - time.monotonic()))
        lock = self.zk.ReadLock(self.pipe)
        lock.acquire(timeout=40)
        try:
            text = self.zk.get(self.pipe)[0].decode()
        finally:
            lock.release()
        self.waited = time.monotonic() - self.sent
        lock = self.zk.WriteLock(self.pipe)
        lock.acquire(timeout=10)
        try:
            time.sleep(LOOK)
            self.zk.set(self.pipe, b'')
        finally:
            lock.release()
        return text

    def ask(self, text):
        self.send(text)
        return self.answer()

    def contenders(self):
        return self.zk.get_children(self.pipe)


def herd_at_9(lab, count=1):
    """A node that knows no later version keeps the cluster at 9."""
    herd = Herd(lab, count, version=9)
    lab.put_node('pvchv9', version=9, daemonstate='stop', latestschema='9')
    herd.start()
    equal(lab.get('/schema/version'), '9', '/schema/version')
    return herd, Sender(lab)


def devices_of(node, uuid):
    return node.hypervisor.domain(uuid).XMLDesc(0)


@scenario('14, AC107-AC110, ZK-41: devices and locks through the command pipe', limit=90)
def guest_gets_a_device(lab):
    herd, sender = herd_at_9(lab)
    node = herd.nodes[0]
    web, off = herd.define(1, 'web', 'hang'), herd.define(2, 'off', 'hang')
    foreign = guests.uuid_of(3)
    guests.define(lab.client, foreign, 'foreign', herd.xml(foreign, 'foreign', 'hang'), 'pvchv9', version=9)
    herd.run(web)
    mark, element = herd.mark(), disk(lab, 'b')
    attach = f'attach_device {web} {element}'
    equal(sender.ask(attach), 'success-' + attach, 'answer to the attachment')
    print(f'attached; the client had its answer after {sender.waited:.2f} s')
    check('more-b.img' in devices_of(node, web), 'the disk is not there')
    written = [(c.time, (c.value or b'').decode()) for c in herd.changes(PIPE, mark)]
    equal([text for _, text in written], [attach, 'success-' + attach, ''], 'values of the key')
    within(written[1][0] - written[0][0], LOOK, f'answered after {written[1][0] - written[0][0]:.2f} s')
    removed = [c.time for c in lab.history(operations=('delete',)) if c.path.startswith(PIPE + '/') and '__lock__' in c.path]
    held = removed[0] - written[1][0]
    check(held > 0.9, f'the lock was held for {held:.2f} s behind the answer')
    within(held, 1.5, f'the lock was held for {held:.2f} s behind the answer')
    equal(sender.ask(attach), 'failure-' + attach, 'answer to the same attachment again')
    spaced = f'attach_device {web}  <rng  model="virtio">\n\n  <backend model="random">/dev/urandom</backend>\n</rng> '
    equal(sender.ask(spaced), 'success-' + spaced, 'answer to an element with runs of blanks')
    check("model='random'" in devices_of(node, web), 'the second device is not there')
    detach = f'detach_device {web} {element}'
    equal(sender.ask(detach), 'success-' + detach, 'answer to the detachment')

    for text in (f'attach_device {off} {element}', f'detach_device {off} {element}', f'attach_device {web}', 'attach_device',
                 f'attach_device {web} <!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/hostname">]><disk>&x;</disk>',
                 f'attach_device {web} <nonsense/>', f'flush_locks {web}'):
        equal(sender.ask(text), 'failure-' + text, 'answer')
    for text in (f'attach_device {foreign} {element}', f'flush_locks {foreign}', f'flush_locks {guests.uuid_of(9)}', 'osd_remove 3,False',
                 'success-' + attach):
        equal(sender.ask(text), text, 'what nobody answers')
    equal(sender.ask(f'flush_locks {off}'), f'success-flush_locks {off}', 'answer for a guest without volumes')
    lab.set(f'/domains/{off}/rbdlist', 'vms/off_sda')
    equal(sender.ask(f'flush_locks {off}'), f'failure-flush_locks {off}', 'answer where Ceph cannot be asked')
    lab.await_log(node, 'Ceph cannot be asked on this node')
    equal(sender.contenders(), [], 'lock children')

    # AC107: what stands there at the start is old.
    again = f'attach_device {web} {disk(lab, "c")}'
    node.daemon.stop()
    lab.expect_end(node, 0, 6)
    lab.set(PIPE, again)
    node.start(environment=herd.environment)
    lab.await_state(node, 'run')
    lab.await_beats(node, 3)
    equal(lab.get(PIPE), again, 'a command that stood there at the start')
    check('more-c.img' not in devices_of(node, web), 'it was carried out')
    equal(sender.ask(again), 'success-' + again, 'the same command, sent anew')

    # ZK-41: nobody looks any more at version 10.
    lab.set('/schema/version', '10')
    lab.await_value('/nodes/pvchv1/activeschema', '10', 30)
    lab.wait(lambda: not lab.stat('/cmd'), 10, '/cmd goes')
    lab.put([('/cmd', ''), (PIPE, '')])
    equal(sender.ask(again), again, 'a command at version 10')
    herd.settled(web, node)


@scenario('14, 4.4: the session goes during a command', limit=60)
def session_lost_during_a_command(lab):
    herd, sender = herd_at_9(lab)
    node = herd.nodes[0]
    web = herd.define(1, 'web', 'hang')
    herd.run(web)
    attach = f'attach_device {web} {disk(lab, "b")}'
    node.hypervisor.freeze()
    sender.send(attach)
    lab.wait(sender.contenders, 2, 'the node takes the lock')
    lab.expire_session(lab.session_of(node))
    lab.wait(lambda: not sender.contenders(), 15, lambda: f'the lock goes with the session: {sender.contenders()}')
    equal(sender.answer(), attach, 'what the client reads')
    node.hypervisor.thaw()
    lab.await_log(node, 'connected to ZooKeeper again', 20)
    lab.await_beats(node, 3)
    lab.expect_alive(node)
    equal([(c.value or b'').decode() for c in herd.changes(PIPE)][-2:], [attach, ''], 'last values of the key')
    flush = f'flush_locks {web}'
    equal(sender.ask(flush), 'failure-' + flush, 'the next command')
    more = f'attach_device {web} {disk(lab, "c")}'
    equal(sender.ask(more), 'success-' + more, 'the next device')
    herd.settled(web, node)


@scenario('14: a libvirtd that does not answer; failure within 20 s, and heartbeats go on', limit=60)
def libvirt_hangs_during_a_command(lab):
    herd, sender = herd_at_9(lab)
    node = herd.nodes[0]
    web = herd.define(1, 'web', 'hang')
    herd.run(web)
    attach = f'attach_device {web} {disk(lab, "b")}'
    begun = time.time()
    node.hypervisor.freeze()
    equal(sender.ask(attach), 'failure-' + attach, 'answer')
    within(sender.waited, 22.5, f'answered after {sender.waited:.1f} s')
    print(f'answered after {sender.waited:.1f} s')
    node.hypervisor.thaw()
    gap = lab.longest_gap(node, since=begun)
    within(gap, 2.5, f'{gap:.1f} s between two heartbeats')
    more = f'attach_device {web} {disk(lab, "c")}'

    def served():
        return sender.ask(more).startswith('success-')
    lab.wait(served, 20, 'the next command is served')
    herd.settled(web, node)


@scenario('14: a command during a migration is the target\'s, behind its arrival', limit=90)
def command_during_a_migration(lab):
    herd, sender = herd_at_9(lab, 2)
    first, second = herd.nodes
    web = herd.define(1, 'web', 'dirty')
    herd.run(web)
    # It cannot end: the guest changes its memory faster than it may be sent.
    first.hypervisor.domain(web).migrateSetMaxSpeed(SLOW)
    herd.client.migrate(web, second.short)
    herd.await_class(second, web, 'I', 10)
    attach = f'attach_device {web} {disk(lab, "b")}'
    sender.send(attach)
    lab.wait(sender.contenders, 2, 'the target takes the lock')
    time.sleep(2)
    equal(lab.get(PIPE), attach, 'the key meanwhile')
    equal((herd.look(first, web), herd.look(second, web)), ('A', 'I'), 'classes meanwhile')
    first.hypervisor.domain(web).migrateSetMaxSpeed(FAST)
    equal(sender.answer(), 'success-' + attach, 'answer')
    herd.await_running(second, web)
    check('more-b.img' in devices_of(second, web), 'the disk is not there')
    herd.no_locks_left(web)
    herd.settled(web, second, first.short)
