"""OSD commands of clients with what is real here: loop devices that the host's own tools look at, and a Ceph that is asked whether an OSD
may go. This kernel has neither the device mapper nor partitions of loop devices, so that what makes OSDs (ceph-volume) is a stand-in."""
import json
import os
import shutil
import subprocess

from .. import space
from ..lab import check, equal, scenario
from .ceph_osds import ADD, KEYS, PIPE, changes_of
from .guests_commands import Sender

SIZE = 64 << 20


def real_tools(node, *names):
    """The host's own programs in place of their stand-ins; their calls are recorded like theirs."""
    for name in names:
        path = node.run_path('lab', 'bin', name)
        with open(path, 'w') as file:
            file.write(f'#!/bin/sh\nmkdir -p /run/lab/osd\necho "$(date +%s.%N) {name} $*" >> /run/lab/osd/calls\nexec {shutil.which(name)} "$@"\n')
        os.chmod(path, 0o755)


def node_at_9(lab, **settings):
    lab.zookeeper(version=9)
    lab.put_node('pvchv9', version=9, daemonstate='stop', latestschema='9')
    node = lab.node(settings={'functions.enable_storage': True, **settings})
    node.power_on()
    node.give_osd_tools()
    return node, Sender(lab, PIPE)


class Loop:
    """A loop device, in the lab and in a node."""

    def __init__(self, lab, node, name='disk', size=SIZE):
        self.file = os.path.join(lab.folder, name)
        self._make(self.file, size)
        self.path = space.sh('losetup', '--find', '--show', self.file).strip()
        self._hold()
        number = os.stat(self.path).st_rdev
        node.inside('/bin/mknod', self.path, 'b', str(os.major(number)), str(os.minor(number)))

    @staticmethod
    def _make(path, size):
        with open(path, 'wb') as file:
            file.truncate(size)

    def _hold(self):
        """It goes with this process, however that ends: what is detached while it is open stays until it is closed."""
        self.descriptor = os.open(self.path, os.O_RDONLY)
        space.sh('losetup', '--detach', self.path)

    def replace(self, size):
        """Another disk under the same name and number."""
        os.close(self.descriptor)
        self._make(self.file + '2', size)
        space.sh('losetup', self.path, self.file + '2')
        self._hold()

    def content(self):
        with open(self.file, 'rb') as file:
            return file.read()


@scenario('issue: the device that is written to is the one that was named, and nobody has it', limit=120)
def osd_devices_are_looked_at(lab):
    node, sender = node_at_9(lab)
    real_tools(node, 'lsblk', 'blkid', 'wipefs', 'blockdev', 'sgdisk', 'pvcreate', 'vgcreate')
    node.unit('ceph-osd@7', 'active')
    node.up()
    lab.await_state(node, 'run')
    lab.await_beats(node, 2)
    disk = Loop(lab, node)
    add = ADD.replace('/dev/sdb', disk.path)
    node.osd_answer('ceph-volume_lvm_list', output=json.dumps({'7': [{
        'type': 'block', 'devices': [disk.path], 'lv_name': 'osd-block-7', 'lv_path': '/dev/ceph-7/osd-block-7', 'vg_name': 'ceph-7',
        'tags': {'ceph.osd_id': '7', 'ceph.osd_fsid': KEYS['/fsid/osd'], 'ceph.cluster_fsid': KEYS['/fsid/cluster']}}]}))

    def told(*words):
        line = [one for one in node.log().splitlines() if '[command-failed]' in one][-1]
        check(all(word in line for word in words), line)

    def refused(command, words, calls=()):
        before, content = len(changes_of(node)), disk.content()
        equal(sender.ask(command), 'failure-' + command, 'answer')
        told(disk.path, words)
        equal(changes_of(node)[before:], list(calls), 'calls that change something')
        check(disk.content() == content, 'what was on it is another')

    # A file system that is mounted where the node does not see it (the lab's own namespace).
    space.sh('mkfs.ext4', '-q', disk.file)
    place = os.path.join(lab.folder, 'mounted')
    os.mkdir(place)
    space.sh('mount', disk.path, place)
    refused(add, 'it cannot be had exclusively')
    refused(f'db_vg_add pvchv1,{disk.path}', 'it cannot be had exclusively', ['vgdisplay osd-db'])
    space.sh('umount', place)
    # Somebody has it for himself, without anything on it.
    space.sh('wipefs', '--all', disk.path)
    held = os.open(disk.path, os.O_RDONLY | os.O_EXCL)
    refused(add, 'it cannot be had exclusively')
    os.close(held)
    # Another disk under its name, once the number of the OSD is known.
    node.osd_answer('ceph_osd_create', delay=2, output='7\n')
    before = len(changes_of(node))
    sender.send(add)
    lab.wait(lambda: 'ceph osd create' in changes_of(node)[before:], 10, 'the number is asked for')
    disk.replace(2 * SIZE)
    equal(sender.answer(), 'failure-' + add, 'answer')
    told(f'it had {SIZE} bytes when the command came, and has {2 * SIZE} now')
    equal([call for call in changes_of(node)[before:] if 'zap' in call or 'prepare' in call], [], 'what was written to another disk')
    # Free, and the one that was named.
    node.osd_answer('ceph_osd_create', delay=0, output='7\n')
    equal(sender.ask(add), 'success-' + add, 'answer')
    # Partitions of loop devices there are none in this kernel: nothing is taken for one.
    group = f'db_vg_add pvchv1,{disk.path}'
    before = len(changes_of(node))
    equal(sender.ask(group), 'failure-' + group, 'answer')
    told('no partition appeared on it')
    equal([call for call in changes_of(node)[before:] if call.split()[0] in ('pvcreate', 'vgcreate')], [], 'volumes on a device that nobody looked at')

    # An OSD of another node is not replaced here, whoever the command is for.
    lab.put([('/ceph/osds/8', ''), ('/ceph/osds/8/node', 'pvchv9'), ('/ceph/osds/8/device', disk.path), ('/ceph/osds/8/stats', '')])
    node.osd_answer('ceph_osd_ls', output='7\n8\n')
    before = changes_of(node)
    replace = f'osd_replace pvchv1,8,{disk.path},{disk.path},1.0,False'
    equal(sender.ask(replace), 'failure-' + replace, 'answer')
    told('it is an OSD of node pvchv9, not of this one')
    equal([call for call in changes_of(node)[len(before):] if call != 'ceph osd ls'], [], 'calls for an OSD of another node')


@scenario('issue: what Ceph cannot tell is not safe: an OSD that stands still in a degraded cluster', limit=240)
def osd_is_not_known_to_be_safe(lab):
    cluster = lab.ceph(osds=2)
    node, sender = node_at_9(lab)
    real_tools(node, 'ceph')
    ident = next(one['uuid'] for one in cluster.ask('osd dump')['osds'] if one['osd'] == 1)
    node.osd_answer('ceph-volume_lvm_list', output=json.dumps({'1': [{
        'type': 'block', 'devices': ['/dev/sdb'], 'lv_name': 'osd-block-1', 'lv_path': '/dev/ceph-1/osd-block-1', 'vg_name': 'ceph-1',
        'tags': {'ceph.osd_id': '1', 'ceph.osd_fsid': ident, 'ceph.cluster_fsid': cluster.fsid}}]}))
    lab.put([(f'/ceph/osds/1{key}', value) for key, value in
             {**KEYS, '/fsid/osd': ident, '/fsid/cluster': cluster.fsid, '/lvm/vg': 'ceph-1', '/lvm/lv': 'osd-block-1', '/stats': ''}.items()])
    for name in 'abcdef':
        cluster.make_image(name)  # a few objects, on both
    node.up()
    lab.await_state(node, 'run')
    lab.await_beats(node, 2)
    # It stands still, and a manager that is new does not know what was on it.
    cluster.pause('osd.1')
    cluster.ceph('osd', 'down', '1')
    cluster.end_daemon('mgr')
    cluster.start_daemon('mgr')
    question = ['ceph', 'osd', 'safe-to-destroy', 'osd.1']

    def status():
        done = subprocess.run(cluster.program(*question), capture_output=True, text=True, timeout=60)
        return done.returncode
    lab.wait(lambda: status() == 11, 60, 'Ceph cannot tell')
    remove = 'osd_remove 1,True'
    sender.send(remove)
    asked = lambda: changes_of(node).count(' '.join(question))
    lab.wait(lambda: asked() >= 3, 60, 'it is asked again and again')
    equal([call for call in changes_of(node) if 'zap' in call or 'purge' in call or 'destroy 1' in call], [], 'what was erased')
    check(not any(words.startswith('stop ceph-osd') for _, words in node.systemctl_calls()), f'{node.systemctl_calls()}')

    # It goes on after all, and its data moves away: now Ceph says that it may go.
    node.osd_answer('ceph-volume_lvm_zap', delay=3)
    cluster.resume('osd.1')
    lab.wait(lambda: any(words.startswith('stop ceph-osd@1') for _, words in node.systemctl_calls()), 90, 'it is stopped once it is safe')
    equal(status(), 0, 'safe-to-destroy')
    cluster.end_daemon('osd.1')
    equal(sender.answer(), 'success-' + remove, 'answer')
    equal([one['osd'] for one in cluster.ask('osd dump')['osds']], [0], 'OSDs that Ceph has')
    equal(lab.stat('/ceph/osds/1'), None, 'its keys')
