"""How a foreign hypervisor of version 0.9.82 sends a guest and receives one; a part of foreign_guest.py.

Written from vm-domains 8.1-8.5 (columns REF82) and the recorded traces: which locks, in which order, for how long, and what
is left behind when it goes wrong.
"""
import time

import libvirt
from kazoo.exceptions import LockTimeout

PAUSE, HOLD, PEER = 0.5, 1.0, 30.0
TRIES = 3
STUCK = 'stuck'


class Moves:
    """The two sides of a migration."""

    # --- migration: sender ---

    def _send(self, is_enforced, method):
        node_lock, state_lock = self._lock('node'), self._lock('state')
        node_lock.acquire()
        state_lock.acquire()

        def leave():
            node_lock.release()
            state_lock.release()

        target, last = self._read('node'), self._read('lastnode')
        if target in (self.node.name, last):
            leave()
            return
        time.sleep(max(PAUSE, self.node.options.dawdle))
        sync = self._lock('migrate_sync_lock')
        try:
            sync.acquire(timeout=PEER)
        except LockTimeout:
            self._roll_back(leave, 'the receiver does not show')
            return
        if self._read('node') != target:
            leave()  # and keeps the lock between the nodes (H04)
            return
        moved = method != 'shutdown' and self._move_live(target)
        if not moved and (is_enforced or method == 'live'):
            self._roll_back(leave, 'it cannot move live')  # keeps the lock between the nodes (H04)
            return
        if moved:
            self.node.list_remove(self.uuid)
            self._handle = None
        else:
            ended = self._await_end(self.node.options.shutdown)
            if ended == 'off':
                self.node.list_remove(self.uuid)
            if ended != 'aborted':
                self._write(state='stop')  # when late with the guest still running (H08)
                time.sleep(self.node.options.linger)
        self._home = self._read('lastnode')
        leave()
        # Its flag is down before a peer can act on what this release lets go: a flag that is still up would lose the `start`
        # that is to end a guest that is late. Both happen; this is the one that ends well.
        self._operation = None
        sync.release()

    def _move_live(self, target):
        where = f'{target}.{self.node.options.domain}'
        for attempt in range(TRIES):
            if attempt > 0:
                time.sleep(PAUSE)
            try:
                there = libvirt.open(f'qemu+tcp://{where}/system')
                if self._handle.migrate(there, libvirt.VIR_MIGRATE_LIVE, None, f'tcp://{where}', 0) is not None:
                    return True
            except libvirt.libvirtError as error:
                self._note(f'live migration to {target}: {error}')
        return False

    def _roll_back(self, leave, why):
        self._note('rolled back: ' + why)
        self._write(state='start', node=self.node.name, lastnode=self._home)
        leave()

    # --- migration: receiver ---

    def _receive(self):
        time.sleep(self.node.options.late)
        self._write(migrate_sync_lock=self.uuid)
        sync = self._lock('migrate_sync_lock')
        try:
            sync.acquire(timeout=PEER)
        except LockTimeout:
            return STUCK  # (H05)
        time.sleep(self.node.options.hold)
        sync.release()
        sync.acquire()
        node, _last, state = (self._read(key) for key in ('node', 'lastnode', 'state'))
        self._handle = self._look_up()
        if node != self.node.name:
            self._note('received nothing: it belongs to ' + node)
        elif self._runs():
            self.node.list_add(self.uuid)
            self._write(state='start')
        elif self._handle is not None:
            self._write(state='fail', failedreason='it came, but does not run')  # (H24)
        elif state == 'stop':
            # The change starts it, unless the flag is still up when its pass looks (H02); here it is not.
            if self.node.options.linger == 0:
                self._operation = None
            self._write(state='start')
            time.sleep(self.node.options.linger)
        else:
            self._note(f'received nothing: state {state}')  # stays `migrate` for ever (H06)
        self._home = self._read('lastnode')
        sync.release()
        self._write(migrate_sync_lock='')
        return None
