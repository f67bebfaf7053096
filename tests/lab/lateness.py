"""How late this machine wakes who asked to be woken: what a limit on real time has to allow for beside other work."""
import threading
import time

STEP, USUAL = 0.02, 0.002


class Lateness:
    """A thread that sleeps in short steps and adds up by how much each came too late."""

    def __init__(self):
        self.seconds = 0.0
        threading.Thread(target=self._measure, daemon=True).start()

    def _measure(self):
        before = time.monotonic()
        while True:
            time.sleep(STEP)
            now = time.monotonic()
            self.seconds += max(0.0, now - before - STEP - USUAL)
            before = now


_shared = None


def so_far():
    """Seconds of lateness since the first call of this process. Of a wait that began at x, so_far() - x was not the daemon's."""
    global _shared
    if _shared is None:
        _shared = Lateness()
    return _shared.seconds
