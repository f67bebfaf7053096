"""One guest as a foreign hypervisor of version 0.9.82 sees it: what that daemon does, with its sleeps, its order of writes and
its mistakes.

Written from vm-domains 4.2, 4.3, 5.1, 6.1-6.5 (columns REF82) and the recorded traces; migration is in foreign_moves.py. What
looks wrong here is meant: ours has to live with it. The mistakes that scenarios count on carry the number of their hazard
(vm-domains A).
"""
import re
import threading
import time
import traceback
import uuid as uuids

import libvirt
from kazoo.exceptions import NoNodeError

from .foreign_moves import STUCK, Moves

libvirt.registerErrorHandler(lambda _context, _error: None, None)


class Guest(Moves):
    """A watch on the state; each change starts a thread that makes one pass. While an operation runs, passes end without
    doing anything (H02). An exception ends its thread and leaves the operation marked as running (H03). Cleaning up, adopting
    and correcting a state are no operations."""

    def __init__(self, node, uuid):
        self.node = node
        self.uuid = uuid
        self.state = None
        self._handle = None
        self._operation = None
        self._guard = threading.Lock()
        self._home = self._read('lastnode')
        node.zk.DataWatch(self._path('state'), self._changed)

    # --- keys ---

    def _path(self, key):
        return f'/domains/{self.uuid}/{key}'

    def _read(self, key):
        try:
            return self.node.zk.get(self._path(key))[0].decode()
        except NoNodeError:
            return ''

    def _write(self, **values):
        self.node.write({self._path(key): value for key, value in values.items()})

    def _lock(self, key):
        return self.node.zk.Lock(self._path(key), str(uuids.uuid1()))

    def _note(self, text):
        self.node.note(f'{self.uuid[:8]}: {text}')

    # --- passes ---

    def _changed(self, value, stat):
        if stat is None:
            return False
        self.state = value.decode()
        threading.Thread(target=self._safely, daemon=True).start()
        return True

    def _safely(self):
        try:
            self._pass()
        except Exception:
            self._note('a pass ended by an exception\n' + traceback.format_exc())

    def _pass(self):
        state, node, _last, method = (self._read(key) for key in ('state', 'node', 'lastnode', 'migration_method'))
        owner = node == self.node.name
        with self._guard:
            if self._operation is not None:
                self._note(f'{state} on {node}: it is in {self._operation.__name__}, the change is dropped')
                return
            if owner:
                self._handle = self._look_up()
            running = self._runs()
            chosen = self._choose(state, owner, running)
            if chosen not in (None, self._adopt, self._settle, self._clean):
                self._operation = chosen
        self._note(f'{state} on {node}, {"running" if running else "not running"}: '
                   f'{"nothing" if chosen is None else chosen.__name__}')
        if chosen is not None:
            ended = chosen(state == 'migrate-live', method) if chosen == self._send else chosen()
            if ended == STUCK:
                return
            if self._operation is chosen:
                self._operation = None
        if owner:
            self._write(vnc=self._vnc())

    def _choose(self, state, owner, running):
        """Tables 4.2 and 4.3."""
        if owner:
            table = {'start': (self._adopt, self._start), 'migrate': (self._settle, self._receive),
                     'migrate-live': (self._settle, self._receive), 'restart': (self._restart, self._settle),
                     'shutdown': (self._shutdown, self._clean), 'stop': (self._stop, self._clean)}
            return table[state][0 if running else 1] if state in table else None
        if not running:
            return None
        return {'migrate': self._send, 'migrate-live': self._send, 'shutdown': self._shutdown}.get(state, self._terminate)

    # --- libvirt ---

    def _look_up(self):
        try:
            return libvirt.open('qemu:///system').lookupByUUIDString(self.uuid)
        except libvirt.libvirtError:
            return None

    def _runs(self):
        """RUNNING or not: a paused guest and one whose process is still ending count as off (H09)."""
        try:
            return self._handle is not None and self._handle.state()[0] == libvirt.VIR_DOMAIN_RUNNING
        except libvirt.libvirtError:
            return False

    def should_be_nudged(self):
        """A guest that vanished although it is wanted here."""
        return self.state == 'start' and self._handle is not None and not self._runs() and self._read('node') == self.node.name

    def nudge(self):
        self._write(state=self.state)

    def _vnc(self):
        try:
            found = re.search(r'<graphics ([^>]*)>', self._handle.XMLDesc()) if self._handle is not None else None
        except libvirt.libvirtError:
            found = None
        if found is None:
            return ''
        values = dict(re.findall(r"(\w+)='([^']*)'", found.group(1)))
        return f'{values.get("listen", "")}:{values.get("port", "")}'

    # --- start, shutdown, stop, restart ---

    def _adopt(self):
        self._write(consolelog='')
        self.node.list_add(self.uuid)

    def _settle(self):
        self._write(state='start')

    def _clean(self):
        self.node.list_remove(self.uuid)

    def _start(self):
        self._write(consolelog='')
        try:
            self._handle = libvirt.open('qemu:///system').createXML(self._read('xml'), 0)
        except libvirt.libvirtError as error:
            self._write(state='fail', failedreason=str(error))
            self._handle = None
            return
        self.node.list_add(self.uuid)
        self._write(failedreason='')

    def _await_end(self, limit):
        """The loop of a shutdown: 'off', 'late' or 'aborted'."""
        self._handle.shutdown()
        for _ in range(int(limit)):
            time.sleep(1.0)
            if self._read('state') not in ('shutdown', 'restart', 'migrate'):
                return 'aborted'
            if not self._runs():
                return 'off'
        return 'late'

    def _shutdown(self, is_part=False):
        ended = self._await_end(self.node.options.shutdown)
        if ended == 'off':
            self.node.list_remove(self.uuid)
            self._write(state='stop')
        elif ended == 'late':
            # The guest still runs; the pass that this write starts is to destroy it, if it finds the flag down (H15).
            if not is_part:
                self._operation = None
            self._write(state='stop')
        else:
            threading.Thread(target=self._safely, daemon=True).start()

    def _end_it(self):
        self._handle.destroy()
        time.sleep(0.2)
        if self._runs():
            self._handle.destroy()
        self.node.list_remove(self.uuid)

    def _stop(self):
        self._end_it()
        self._write(state='stop')

    def _terminate(self):
        time.sleep(self.node.options.destroy_after)
        self._end_it()

    def _restart(self):
        self._shutdown(is_part=True)
        time.sleep(1.0)
        self._write(state='start')
        time.sleep(0.2)
        self._handle = self._look_up()
        if not self._runs():
            self._start()
        self._write(state='start')
