"""Many machines with several disks each that start at once: none fails for it (README ruling 77)."""
import time

from ..lab import check, equal, scenario, within
from .ceph_machines import storage_herd

DISKS = 4


def runs_everywhere(lab, herd, node, uuids, limit):
    """Until all of them run and are listed, without one that failed or was stopped meanwhile."""
    left = lambda: [one for one in uuids if one not in herd.listed(node)]
    lab.wait(lambda: not left(), limit, lambda: f'{len(left())} of {len(uuids)} are not listed: '
             + str([(one, herd.key(one, 'state'), herd.key(one, 'failedreason')) for one in left()]))
    for one in uuids:
        herd.await_class(node, one, 'A', limit)
        herd.settled(one, node)


def many_at_once(lab, count):
    """They start at once, and again after a power cut, with their stale locks."""
    cluster, herd = storage_herd(lab, auth=True, osds=2)
    node = herd.nodes[0]
    herd.start()
    uuids = []
    for number in range(1, count + 1):
        volumes = [cluster.make_image(f'm{number}d{disk}') for disk in range(DISKS)]
        uuids.append(herd.define(number, f'vm{number}', 'writes', volumes=volumes))
    first = [f'vms/m{number}d0' for number in range(1, count + 1)]
    begun, mark = time.time(), herd.mark()
    write = lab.client.transaction()
    for one in uuids:
        write.set_data(f'/domains/{one}/state', b'start')
    write.commit()
    runs_everywhere(lab, herd, node, uuids, 60)
    print(f'{count} machines of {DISKS} disks run after {time.time() - begun:.1f} s')
    lab.wait(lambda: all(cluster.holders(one) == [node.address] for one in first), 60, 'each has the lock of its first disk')
    gap = lab.longest_gap(node, since=begun)
    within(gap, 2.5, f'{gap:.2f} s between two heartbeats')

    node.cut_power()
    stale = [cluster.locks(one)[0] for one in first]
    node.power_on()
    begun = time.time()
    herd.start()
    runs_everywhere(lab, herd, node, uuids, 120)
    print(f'after the power cut they run after {time.time() - begun:.1f} s')
    lab.wait(lambda: all(cluster.locks(one) and cluster.locks(one)[0] != before for one, before in zip(first, stale)), 60, 'each has a lock of its own')
    equal(node.log().count('broke the RBD lock'), count, 'locks that were broken')
    check({address for _client, _id, address in stale} <= set(cluster.blocklist()), 'not each client of before is refused by Ceph')
    for one in uuids:
        equal(herd.values(one, 'state', mark), ['start'], f'values of state of {one}')
    gap = lab.longest_gap(node, since=begun)
    within(gap, 2.5, f'{gap:.2f} s between two heartbeats')


@scenario('issue: twelve machines of four disks that start at once', limit=120, long=True)
def ceph_twelve_at_once(lab):
    many_at_once(lab, 12)


@scenario('issue: thirty-three machines of four disks that start at once', limit=240, long=True)
def ceph_many_at_once(lab):
    many_at_once(lab, 33)
