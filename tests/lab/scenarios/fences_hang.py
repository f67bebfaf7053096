"""All that a fencer waits for hangs: the program that asks boards, Ceph, and a disk. No heartbeat waits for any of it."""
import os

from .. import space
from ..fences import Fences
from ..lab import check, scenario, within
from .ceph_devices import Loop

BEATS = 75
HANGS = '''\
#!/bin/sh
trap '' TERM INT HUP
echo "$*" >> /run/lab/hung
while :; do sleep 1000; done
'''


def hang_boards(node):
    path = node.run_path('lab', 'bin', 'ipmitool')
    with open(path, 'w') as file:
        file.write(HANGS)
    os.chmod(path, 0o755)


@scenario('no heartbeat is later than 100 ms while boards, Ceph and a disk hang', limit=230, long=True)
def fence_while_everything_hangs(lab):
    herd = Fences(lab, ceph={'auth': True})
    disk, victim, boards = herd.nodes
    frozen = Loop(lab, disk, size=32 << 20)
    space.sh('mkfs.ext4', '-q', frozen.file)
    disk.inside('mount', frozen.path, '/var/lib/pvc')
    volume = lab.storage.make_image('web')
    herd.start_and_arm()
    herd.guest_on(victim, kind='writes', volumes=[volume])
    lab.await_beats(victim, 2)
    for node in (disk, boards):
        hang_boards(node)
    disk.inside('fsfreeze', '-f', '/var/lib/pvc')
    try:
        lab.storage.pause()
        cut = herd.cut(victim)
        for node in (disk, boards):
            lab.wait(lambda node=node: sum(beat > cut for beat in lab.beats(node)) > BEATS, 2 * BEATS, f'{node.label} beats on')
    finally:
        disk.inside('fsfreeze', '-u', '/var/lib/pvc')
        lab.storage.resume()
    check(os.path.exists(boards.run_path('lab', 'hung')), 'a board was asked by a program that hangs')
    check('[fence-record-unwritten]' in disk.log(), 'the frozen disk took no record')
    for node in (disk, boards):
        late = lab.longest_gap(node, cut) - 1
        print(f'{node.short}: the latest of {BEATS} heartbeats came {1000 * late:.0f} ms late while all hung')
        within(late, 0.1, f'a heartbeat of {node.label}')
