"""How late this machine is with what somebody wants done: what a limit on real time has to allow for beside other work."""
import os
import threading
import time

STEP, USUAL = 0.02, 0.002
LOOK = 1.0
START = 5.0  # a server that starts waits long, and is waited for before anything is judged
SERVANTS = ('pvcnoded', 'pvcnoded-ceph', 'java', 'libvirtd', 'virtlogd', 'ceph-mon', 'ceph-osd', 'ceph-mgr', 'python3')


class Lateness:
    """A thread that sleeps in short steps and adds up by how much each came too late; and how long those have waited for a
    processor, as the kernel counts it, who have a part in what is judged. Of each of them the thread that waited longest."""

    def __init__(self):
        self.woken_late = 0.0
        self.waited = 0.0
        self._names = {}
        self._waits = {}
        self._looked = 0.0
        self._history = [(time.monotonic(), 0.0)]
        self._guard = threading.Lock()
        threading.Thread(target=self._measure, daemon=True).start()

    def _measure(self):
        before = time.monotonic()
        while True:
            time.sleep(STEP)
            now = time.monotonic()
            self.woken_late += max(0.0, now - before - STEP - USUAL)
            before = now
            if now - self._looked > LOOK:
                self.look()
                before = time.monotonic()

    def look(self):
        """Adds what the servants of this lab, which has processes of its own, have waited since the last look."""
        with self._guard:
            self._looked = time.monotonic()
            there = {name for name in os.listdir('/proc') if name.isdigit()}
            self._names = {pid: name for pid, name in self._names.items() if pid in there}
            for pid in there:
                if self._names.get(pid) not in SERVANTS:  # it may have become another program
                    self._names[pid] = _name(pid)
                if self._names[pid] in SERVANTS and pid != str(os.getpid()):
                    longest = self._longest(pid)
                    self.waited += longest if self._names[pid] == 'pvcnoded' or _age(pid) > START else 0.0
            self._history.append((self._looked, self.waited + self.woken_late))

    def most_within(self, seconds):
        """Waited, and woken late, in any stretch of so many seconds, and one look more."""
        with self._guard:
            most, first = 0.0, 0
            for when, waited in self._history:
                while when - self._history[first][0] > seconds + 2 * LOOK:
                    first += 1
                most = max(most, waited - self._history[first][1])
            return most

    def _longest(self, pid):
        longest = 0.0
        try:
            for thread in os.listdir(f'/proc/{pid}/task'):
                with open(f'/proc/{pid}/task/{thread}/schedstat') as file:
                    now = int(file.read().split()[1]) / 1e9
                before = self._waits.get((pid, thread), 0.0)
                self._waits[pid, thread] = now
                longest = max(longest, now - before if now >= before else now)
        except (OSError, IndexError):
            pass  # it ended
        return longest


def _age(pid):
    try:
        with open(f'/proc/{pid}/stat') as file:
            return time.clock_gettime(time.CLOCK_BOOTTIME) - int(file.read().rsplit(')', 1)[1].split()[19]) / os.sysconf('SC_CLK_TCK')
    except (OSError, IndexError):
        return 0.0


def _name(pid):
    try:
        with open(f'/proc/{pid}/comm') as file:
            return file.read().rstrip('\n')
    except OSError:
        return ''


_shared = None


def _lateness():
    global _shared
    if _shared is None:
        _shared = Lateness()
    return _shared


def granted(seconds):
    """To something that took so long, at whatever time since the first call of this process."""
    one = _lateness()
    one.look()
    return one.most_within(seconds)


def until_now():
    """Seconds of lateness since the first call. Of a wait that began at x, until_now() - x was not the daemon's."""
    one = _lateness()
    return one.woken_late + one.waited
