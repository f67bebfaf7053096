"""Commands about OSDs as clients up to 0.9.80 send them: through /cmd/ceph, at schema 9, to stand-ins of the tools."""
import json

from .. import node as nodes
from ..lab import check, equal, scenario, within
from .guests_commands import LOOK, Sender

PIPE = '/cmd/ceph'
ADD = 'osd_add pvchv1,/dev/sdb,1.0,False,0.05'
LOOKS = ('lsblk', 'blkid', 'wipefs')
STEPS = ['ceph osd create', 'ceph osd rm 7', 'ceph-volume lvm zap --destroy /dev/sdb',
         'ceph-volume lvm prepare --bluestore --data /dev/sdb', 'ceph-volume lvm list --format json /dev/sdb',
         'ceph-volume lvm activate --bluestore 7 0d8ea6ef-8c5a-4e7d-9f53-000000000007',
         'ceph osd crush add osd.7 1.0 root=default host=pvchv1']
KEYS = {'': '', '/node': 'pvchv1', '/device': '/dev/sdb', '/db_device': '', '/fsid': '',
        '/fsid/osd': '0d8ea6ef-8c5a-4e7d-9f53-000000000007', '/fsid/cluster': 'd532ea08-9179-4094-991a-d9f0db8449af',
        '/lvm': '', '/lvm/vg': 'ceph-7', '/lvm/lv': 'osd-block-7'}


def changes_of(node):
    """The calls of stand-ins, those left out that look at a device before it is touched."""
    return [call for call in node.osd_calls() if call.split()[0] not in LOOKS]


def answer_and_hold(lab, text):
    """Of the last command: seconds from its writing to the lock, and from the answer to the lock's end."""
    asked = next(c.time for c in reversed(lab.history(PIPE)) if c.value == text.encode())
    answered = next(c.time for c in reversed(lab.history(PIPE)) if (c.value or b'').split(b'-')[0] in (b'success', b'failure'))
    locks = [c for c in lab.history(operations=('create', 'delete')) if c.path.startswith(PIPE + '/') and '__lock__' in c.path]
    taken = next(c for c in locks if c.operation == 'create' and c.time >= asked)
    left = next(c for c in locks if c.operation == 'delete' and c.path == taken.path)
    return taken.time - asked, left.time - answered


@scenario('storage.md cases 27 28 29 30', limit=90)
def osd_commands(lab):
    lab.zookeeper(version=9)
    lab.put_node('pvchv9', version=9, daemonstate='stop', latestschema='9')
    lab.set(PIPE, ADD)
    node = lab.node(settings={'functions.enable_storage': True})
    node.power_on()
    node.give_osd_tools()
    node.unit('ceph-osd@7', 'active')
    node.up()
    lab.await_state(node, 'run')
    lab.await_beats(node, 3)
    # Case 27.
    equal((node.osd_calls(), lab.get(PIPE)), ([], ADD), 'calls for a command that stood there at the start, and the command')

    # Case 28.
    sender = Sender(lab, PIPE)
    equal(sender.ask(ADD), 'success-' + ADD, 'answer')
    equal(changes_of(node)[:len(STEPS)], STEPS, 'the calls, in order')
    check(any(words == 'status ceph-osd@7' for _, words in node.systemctl_calls()), f'systemctl: {node.systemctl_calls()}')
    equal({key: lab.get(f'/ceph/osds/7{key}') for key in KEYS}, KEYS, 'the keys of the OSD')
    equal(json.loads(lab.get('/ceph/osds/7/stats'))['weight'], '|', 'its figures before Ceph is asked')
    lock, hold = answer_and_hold(lab, ADD)
    print(f'the lock {1000 * lock:.0f} ms after the command, and {hold:.2f} s longer than the answer')
    within(lock, LOOK, f'the lock came {lock:.2f} s after the command')
    check(hold > 0.9, f'the lock was held for {hold:.2f} s behind the answer')
    within(hold, 1.5, f'the lock was held for {hold:.2f} s behind the answer')
    within(sender.waited, 10, 'the client waited')

    # Case 30.
    lab.put([('/ceph/osds/8', ''), ('/ceph/osds/8/node', 'pvchv9'), ('/ceph/osds/8/stats', '')])
    before = node.osd_calls()
    equal(sender.ask('osd_remove 8,False'), 'osd_remove 8,False', 'what concerns another node')
    equal(node.osd_calls(), before, 'calls')

    remove = 'osd_remove 7,False'
    equal(sender.ask(remove), 'success-' + remove, 'answer')
    check('ceph osd purge 7 --yes-i-really-mean-it' in changes_of(node), f'{changes_of(node)}')
    equal(lab.stat('/ceph/osds/7'), None, 'the OSD that was removed')

    # Case 29.
    before = len(node.osd_calls())
    node.osd_answer('ceph-volume_lvm_prepare', status=1)
    equal(sender.ask(ADD), 'failure-' + ADD, 'answer')
    failed = [call for call in node.osd_calls()[before:] if call.split()[0] not in LOOKS]
    equal(failed, STEPS[:4], 'the calls, up to the one that failed')
    equal(lab.stat('/ceph/osds/7'), None, 'an OSD that could not be made')
    check('ceph-volume lvm prepare' in nodes.read_file(node.log_path), 'the log says what failed')
    equal(sender.contenders(), [], 'lock children')
