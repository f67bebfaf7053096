"""A scripted node that behaves as the reference of version 0.9.82 does: its record, its heartbeat, its flush and unflush.

It runs in the sandbox of a node of the lab, beside that node's libvirtd and in the place of our daemon. What it does with
guests is in foreign_guest.py, what it does with the primary role (when told to take part) in foreign_role.py, with networks (on
a node whose configuration has them) in foreign_network.py, with nodes that die (when told when) in foreign_fence.py. Written from node-lifecycle 8 and 9 (columns REF82) and the recorded
traces.
"""
import argparse
import os
import sys
import threading
import time
import traceback

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from .foreign_fence import Fencing
from .foreign_guest import Guest
from .foreign_moves import HOLD
from .foreign_network import Network, Settings
from .foreign_role import Role

CONFIGURATION = '/etc/pvc/pvcnoded.yaml'
KEEPALIVE = 5.0
POLL, POLLS = 0.2, 600
MOVING = ('migrate', 'unmigrate', 'shutdown')


def launch(lab, node, **options):
    """Starts it in a node of the lab, which has a record from then on; waits until it is `run`. options: see main()."""
    if lab.stat(f'/nodes/{node.short}') is None:
        lab.put_node(node.short, domainstate='ready', runningdomains='0')
    options = {'network': int(node.bare)} | options
    words = ['/usr/bin/python3', '-B', '-u', '-m', 'lab.foreign', node.short, lab.ensemble.connect_string]
    words += [word for name, value in options.items() for word in ('--' + name.replace('_', '-'), str(value))]
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    node.daemon = node.spawn(words, os.path.join(node.folder, 'stdout.log'), {'PYTHONPATH': folder})
    lab.await_state(node, 'run')


class Foreign:
    def __init__(self, options):
        self.options = options
        self.name = options.name
        self.begun = time.time()
        self.network = Network(self, Settings(CONFIGURATION, self.name)) if options.network else None
        if self.network is not None:
            self.network.host.bring_up()
        self.zk = KazooClient(options.servers, timeout=10.0)
        self.zk.start(timeout=20)
        # Whatever stood there stays in it, the 0 of a node that never had a guest too.
        self._running = self._read('runningdomains').split()
        self._guard = threading.RLock()
        self._guests = {}
        self._role = Role(self) if options.role else None
        self._fencing = Fencing(self, CONFIGURATION, options.dead_after, options.interval) if options.dead_after else None
        self.beat = threading.Event()
        self._job = None
        self._stop_job = False

    # --- tree ---

    def note(self, text):
        now = time.time()
        print(time.strftime('%H:%M:%S', time.gmtime(now)) + f'{now % 1:.3f}'[1:] + ' ' + text, flush=True)

    def write(self, values):
        """Every write of the reference is a transaction, and its outcome is not looked at (H16)."""
        transaction = self.zk.transaction()
        for path, value in values.items():
            transaction.set_data(path, value.encode())
        for path, result in zip(values, transaction.commit()):
            if isinstance(result, Exception):
                self.note(f'{path} not written: {result!r}')

    def get(self, path):
        try:
            return self.zk.get(path)[0].decode()
        except NoNodeError:
            return None

    def _read(self, key):
        return self.get(f'/nodes/{self.name}/{key}') or ''

    def _record(self, **values):
        self.write({f'/nodes/{self.name}/{key}': value for key, value in values.items()})

    # --- running list ---

    def list_add(self, uuid):
        with self._guard:
            if uuid not in self._running:
                self._running.append(uuid)
                self._record(runningdomains=' '.join(self._running))

    def list_remove(self, uuid):
        with self._guard:
            if uuid in self._running:
                self._running.remove(uuid)
                self._record(runningdomains=' '.join(self._running))

    # --- life ---

    def run(self):
        self._record(daemonstate='init')
        if self._role is not None:
            self._role.register()
            self._role.watch()
        if self.network is not None:
            self.network.watch()
        self.zk.ChildrenWatch('/domains', self._guests_changed)
        self.zk.DataWatch(f'/nodes/{self.name}/domainstate', self._domainstate_changed)
        self._record(daemonstate='run')
        while True:
            self._tick()
            self.beat.wait(self.options.interval)
            self.beat.clear()

    def _guests_changed(self, names):
        for gone in set(self._guests) - set(names):
            del self._guests[gone]
        for uuid in names:
            if uuid not in self._guests:
                self._guests[uuid] = Guest(self, uuid)

    def _tick(self):
        if self._role is not None:
            self._role.tick()
        for uuid in list(self._running):
            guest = self._guests.get(uuid)
            if guest is not None and guest.should_be_nudged():
                guest.nudge()
        with self._guard:
            count = sum(1 for uuid in self._running if uuid in self._guests)
            self._record(memtotal='24105', memused='1957', memfree='20729', memalloc=str(64 * count), memprov=str(64 * count),
                         vcpualloc='0', cpuload='0.5', domainscount=str(count), runningdomains=' '.join(self._running),
                         keepalive=str(int(time.time())))
        if self._fencing is not None:
            self._fencing.tick()

    # --- flush and unflush ---

    def _domainstate_changed(self, value, _stat):
        work = {b'flush': self._flush, b'unflush': self._unflush}.get(value)
        if work is None:
            return
        self._stop_job = True
        while self._job is not None and self._job.is_alive():
            time.sleep(0.1)
        self._stop_job = False
        self._job = threading.Thread(target=self.safely, args=(work,), daemon=True)
        self._job.start()

    def safely(self, work):
        try:
            work()
        except Exception:
            self.note('a job ended by an exception\n' + traceback.format_exc())

    def _flush(self):
        for uuid in list(self._running):
            if self._stop_job:
                return
            root = f'/domains/{uuid}'
            while self.get(root + '/state') in ('restart', 'shutdown'):
                time.sleep(2.0)
            state, node = self.get(root + '/state'), self.get(root + '/node')
            if state is None:
                continue
            home = self.get(root + '/lastnode') or node
            target = self.select(node)
            if target is None or target == home:
                if state == 'start':
                    self.write({root + '/state': 'shutdown', root + '/node_autostart': 'True'})
            else:
                self.write({root + '/state': 'migrate', root + '/node': target, root + '/lastnode': home})
            self._await_moved(root)
        with self._guard:
            self._running = []
            self._record(runningdomains='', domainstate='flushed')

    def _unflush(self):
        for uuid in self.zk.get_children('/domains'):
            if self._stop_job:
                return
            root = f'/domains/{uuid}'
            if self.get(root + '/node_autostart') == 'True' and self.get(root + '/node') == self.name:
                self.write({root + '/state': 'start', root + '/node': self.name, root + '/lastnode': '',
                            root + '/node_autostart': 'False'})
            elif self.get(root + '/lastnode') == self.name:
                self.write({root + '/state': 'migrate', root + '/node': self.name, root + '/lastnode': ''})
                self._await_moved(root)
        self._record(domainstate='ready')

    def _await_moved(self, root):
        for _ in range(POLLS):
            if self.get(root + '/state') not in MOVING:
                return
            time.sleep(POLL)

    def select(self, current):
        """The candidate with most free memory."""
        best, most = None, 0
        for name in self.zk.get_children('/nodes'):
            root = f'/nodes/{name}'
            if name != current and (self.get(root + '/daemonstate'), self.get(root + '/domainstate')) == ('run', 'ready'):
                free = int(self.get(root + '/memfree'))
                if free > most:
                    best, most = name, free
        return best


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('name')
    parser.add_argument('servers')
    parser.add_argument('--domain', default='pvc.local')
    parser.add_argument('--shutdown', type=float, default=5, help='vm_shutdown_timeout')
    parser.add_argument('--late', type=float, default=0, help='seconds before it notices that it shall receive')
    parser.add_argument('--destroy-after', type=float, default=0, help='seconds before it ends a guest that belongs elsewhere')
    parser.add_argument('--linger', type=float, default=0, help='seconds it stays in a hand-over after it wrote the state')
    parser.add_argument('--dawdle', type=float, default=0,
                        help='seconds from the locks of a migration to the one between the nodes')
    parser.add_argument('--hold', type=float, default=HOLD, help='seconds for which a receiver keeps the first phase')
    parser.add_argument('--interval', type=float, default=KEEPALIVE, help='keepalive_interval')
    parser.add_argument('--dead-after', type=float, default=0, help='seconds of silence after which it fences a node; 0: never')
    parser.add_argument('--role', type=int, default=0, help='1: it takes part in the primary role')
    parser.add_argument('--network', type=int, default=0, help='1: it brings up the networks of its configuration')
    parser.add_argument('--beat-in-hand-over', type=float, default=0,
                        help='its next heartbeat falls due so many seconds after it is told to give the role up, once')
    parser.add_argument('--reaction', type=float, default=0, help='seconds from its name in the key to `takeover`')
    parser.add_argument('--takeover', type=float, default=0, help='seconds that a takeover takes longer')
    parser.add_argument('--relinquish', type=float, default=0, help='seconds that giving the role up takes longer')
    Foreign(parser.parse_args()).run()


if __name__ == '__main__':
    sys.exit(main())
