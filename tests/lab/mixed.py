"""A laboratory with two hypervisors: one runs our daemon, the other a script that behaves as the reference 0.9.82."""
import time

import libvirt

from .foreign import launch
from .herd import Herd, Sampler
from .lab import equal

SLOW, FAST = 2, 10000


class Mixed(Herd):
    """pvchv1 is ours, pvchv2 the other."""

    def __init__(self, lab, settings=None, network=None, **options):
        super().__init__(lab, 2, settings=settings, network=network)
        self.ours, self.foreign = self.nodes
        launch(lab, self.foreign, **options)
        self.start(self.ours)
        lab.set(f'/nodes/{self.ours.short}/domainstate', 'ready')

    def peer(self, node):
        return self.foreign if node is self.ours else self.ours

    def run_on(self, node, number=1, name='web', kind='hang', **values):
        uuid = self.define(number, name, kind, node, **values)
        self.run(uuid, node, 30)  # the first of a node waits for libvirt to get to know QEMU
        return uuid

    def watch(self, uuid, every=0.02):
        return Sampler(self.nodes, uuid, every)

    def locks(self, uuid):
        """Children of its keys that are contenders: key, name, and what they say of themselves."""
        found = []
        for key in ('state', 'node', 'migrate_sync_lock'):
            for child in self.lab.client.get_children(f'/domains/{uuid}/{key}'):
                found.append((key, child, self.lab.get(f'/domains/{uuid}/{key}/{child}', '')))
        return found

    def own_locks(self, uuid):
        return [lock for lock in self.locks(uuid) if lock[2].startswith(self.ours.short + ':')]

    def await_moved(self, uuid, target, last='', timeout=20.0):
        """start, on the target, in its list and in no other; no lock is left."""
        source = self.peer(target)
        self.lab.wait(lambda: (self.key(uuid, 'state'), self.key(uuid, 'node')) == ('start', target.short), timeout,
                      lambda: f'`start` on {target.label}, it is {self.key(uuid, "state")} on {self.key(uuid, "node")}')
        self.await_running(target, uuid, timeout)
        self.lab.wait(lambda: uuid not in self.listed(source), 5, f'it leaves the list of {source.label}')
        self.await_class(source, uuid, 'N', 5)
        self.await_key(uuid, 'migrate_sync_lock', '', 5)
        self.no_locks_left(uuid)
        self.settled(uuid, target, last)

    def move(self, uuid, target, act, last='', through=('migrate', 'start'), gap=1.5, timeout=20.0):
        """One migration from the command to its end, and what was to be seen of it."""
        source, sampler, mark, begun = self.peer(target), self.watch(uuid), self.mark(), time.monotonic()
        act()
        self.await_moved(uuid, target, last, timeout)
        samples, worst = sampler.judge(gap)
        print(f"{source.label} to {target.label}: {time.monotonic() - begun:.1f} s, no copy executed for {worst:.2f} s "
              f"in {samples} samples")
        equal(self.values(uuid, 'state', mark), list(through), 'values of state')
        # Ours says with its `stop` that this is its hand-over and nobody else's word.
        said = [f'{uuid} handed over'] if 'stop' in through and source is self.ours else []
        equal(self.values(uuid, 'migrate_sync_lock', mark), [uuid, *said, ''], 'values of the lock between the nodes')
        equal([text for text in self.values(uuid, 'failedreason', mark) if text], [], 'failedreason')

    def begin_endless(self, target):
        """A migration that cannot end by itself: the guest and a sampler."""
        source = self.peer(target)
        uuid = self.run_on(source, kind='dirty')
        source.hypervisor.domain(uuid).migrateSetMaxSpeed(SLOW)
        sampler = self.watch(uuid)
        self.client.migrate(uuid, target.short)
        self.await_class(target, uuid, 'I', 40)

        def sent():
            try:
                return source.hypervisor.domain(uuid).jobInfo()[4] > 0
            except libvirt.libvirtError:
                return False
        self.lab.wait(sent, 40, 'some of its memory is sent')
        return uuid, sampler

    def let_it_end(self, source, uuid):
        source.hypervisor.domain(uuid).migrateSetMaxSpeed(FAST)
