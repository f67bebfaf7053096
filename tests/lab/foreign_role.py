"""The primary role as a foreign coordinator of version 0.9.82 takes it and gives it up; a part of foreign.py.

Written from node-lifecycle 6.1, 7.1, 7.3 and 7.4 (columns REF82) and the recorded traces primary-pvchv1-to-pvchv2-1 and
primary-reference-to-ours-nobody: the locks, the pauses and the writes, and in between the addresses if it has networks
(foreign_network.py). It has no services.
It acts once on each change of the key and never looks again, and its heartbeat writes its own name over any other as long as
it is primary: so a hand-over can end with nobody.
"""
import threading
import time
import uuid as uuids

from kazoo.exceptions import LockTimeout

PRIMARY = '/config/primary_node'
SYNC = PRIMARY + '/sync_lock'
DELAY, CONTENTION = 0.5, 0.4
START, SETTLE = 0.2, 2.0
# How long a writer keeps a phase, and its pause after it.
MEET, STOP, PHASES = (1.0, 0.1), (0.4, 0.1), ((0.6, 0.0), (0.4, 0.0), (0.35, 0.0), (0.3, 0.0), (0.4, 0.0))
LETTERS = 'CDEFG'


class Role:
    """Changes of the key are handled one after the other on the thread that brings all watches; a walk has its own."""

    def __init__(self, node):
        self.node = node
        self.value = 'secondary'
        self._early_beat = node.options.beat_in_hand_over

    # --- what foreign.py calls ---

    def register(self):
        self._write('secondary')
        if self.node.get(PRIMARY) in (None, '', 'none'):
            self.node.write({PRIMARY: self.node.name})

    def watch(self):
        self.node.zk.DataWatch(self._own(), self._role_changed)
        self.node.zk.DataWatch(PRIMARY, self._primary_changed)

    def tick(self):
        """A primary writes its own name over any other, and does not ask why it was there."""
        if self.value == 'primary' and self.node.get(PRIMARY) != self.node.name:
            self.node.note('primary, and somebody else is named: it names itself')
            self.node.write({PRIMARY: self.node.name})

    # --- keys ---

    def _own(self):
        return f'/nodes/{self.node.name}/routerstate'

    def _write(self, value):
        self.node.note(f'role: {value}')
        self.node.write({self._own(): value})

    def _daemon(self):
        return self.node.get(f'/nodes/{self.node.name}/daemonstate')

    # --- watches ---

    def _primary_changed(self, value, stat):
        named = (value or b'').decode()
        if named in ('', 'none'):
            if self.value == 'secondary' and stat is not None and self._daemon() == 'run':
                self._contend(stat.version)
        elif named == self.node.name and self.value == 'secondary':
            time.sleep(max(DELAY, self.node.options.reaction))
            self._write('takeover')
        elif named != self.node.name and self.value == 'primary':
            if self._early_beat > 0:
                threading.Timer(self._early_beat, self.node.beat.set).start()
                self._early_beat = 0
            time.sleep(DELAY)
            self._write('relinquish')  # whatever the key says by now

    def _role_changed(self, value, _stat):
        self.value = (value or b'').decode()
        if self.node.network is not None:
            self.node.network.role = self.value
        walk = {'takeover': self._take_over, 'relinquish': self._relinquish}.get(self.value)
        if walk is not None:
            threading.Thread(target=self.node.safely, args=(walk,), daemon=True).start()

    def _contend(self, version):
        """Who waits here cannot hear that the one before it has left: it times out."""
        lock = self._lock(self.node.zk.Lock, PRIMARY)
        try:
            lock.acquire(timeout=CONTENTION)
        except LockTimeout:
            self.node.note('it did not get the role')
            return
        try:
            if self.node.zk.get(PRIMARY)[1].version == version:
                self.node.write({PRIMARY: self.node.name})
        finally:
            lock.release()

    # --- hand-over, side by side ---

    @staticmethod
    def _lock(kind, path):
        return kind(path, str(uuids.uuid1()))

    def _write_phase(self, times, letter=''):
        hold, pause = times
        lock = self._lock(self.node.zk.WriteLock, SYNC)
        lock.acquire()
        time.sleep(hold)
        if self.node.network is not None:
            self.node.network.take(letter)
        self.node.write({SYNC: ''})
        lock.release()
        time.sleep(pause)

    def _read_phase(self, letter=''):
        lock = self._lock(self.node.zk.ReadLock, SYNC)
        lock.acquire()
        if self.node.network is not None:
            self.node.network.give(letter)
        lock.release()

    def _take_over(self):
        candidate = self._lock(self.node.zk.Lock, PRIMARY)
        candidate.acquire()
        self.node.write({SYNC: ''})
        self._write_phase(MEET)
        time.sleep(self.node.options.takeover)
        self._read_phase()
        for times, letter in zip(PHASES, LETTERS):
            self._write_phase(times, letter)
        time.sleep(SETTLE)
        candidate.release()
        self._write('primary')

    def _relinquish(self):
        if self._daemon() in ('run', 'shutdown'):
            time.sleep(START)
            self._read_phase()
            self._write_phase(STOP)
            time.sleep(self.node.options.relinquish)
            for letter in LETTERS:
                self._read_phase(letter)
            time.sleep(SETTLE)
        self._write('secondary')
