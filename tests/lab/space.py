"""The namespaces of one lab run.

enter() forks: the child goes on as PID 1 of its own PID, network and mount namespaces, the parent forwards signals and
waits. Whatever happens to either of them, the kernel ends every process of the lab and removes its links and mounts
with the child. Only a folder name and a record file can be left, and the next start removes those.
"""
import atexit
import ctypes
import glob
import json
import os
import signal
import subprocess
import sys
import tempfile
import termios
import time

PREFIX = '/tmp/pvcnoded-lab.'
NETWORK = '10.255.0'
_libc = ctypes.CDLL(None, use_errno=True)
_NEW_MOUNT, _NEW_NET, _NEW_PID = 0x20000, 0x40000000, 0x20000000
_PR_SET_PDEATHSIG = 1
ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


def start_time(pid):
    """Start time of a process in clock ticks since boot; with the pid it names a process for good. None: it ended."""
    try:
        with open(f'/proc/{pid}/stat') as stat:
            fields = stat.read().rsplit(')', 1)[1].split()
            return None if fields[0] in 'ZX' else int(fields[19])
    except (OSError, IndexError):
        return None


def sh(*words, check=True, **options):
    """Runs a command to its end; its standard output is the result."""
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    if check and done.returncode != 0:
        raise RuntimeError(f'{" ".join(words)}: exit {done.returncode}: {done.stderr.strip()}')
    return done.stdout


def remove_leftovers():
    """Ends what killed runs left behind: their recorded processes, then their folders."""
    for record in glob.glob(PREFIX + '*.json'):
        try:
            with open(record) as file:
                content = json.load(file)
        except (OSError, ValueError):
            # Either another run is writing it this moment, or its writer died over it.
            try:
                if time.time() - os.stat(record).st_mtime > 60:
                    os.unlink(record)
            except OSError:
                pass
            continue
        processes = content['processes']
        if start_time(processes[0][0]) == processes[0][1]:
            continue
        for pid, started in processes[1:]:
            if start_time(pid) == started:
                os.kill(pid, signal.SIGKILL)
        folder = record[:-len('.json')]
        for leave in (lambda: os.rmdir(folder), lambda: os.unlink(record)):
            try:
                leave()
            except OSError:
                pass


def enter(size='768m'):
    """Goes on in new namespaces; returns the run's folder (a tmpfs that only the lab sees)."""
    if os.geteuid() != 0:
        sys.exit('the lab makes namespaces and mounts: run it as root')
    remove_leftovers()
    folder = tempfile.mkdtemp(prefix=PREFIX)
    os.chmod(folder, 0o755)
    record = folder + '.json'
    mine = [os.getpid(), start_time(os.getpid())]
    _write_record(record, [mine])

    if _libc.unshare(_NEW_PID) != 0:
        error = os.strerror(ctypes.get_errno())
        _forget(folder, record)
        sys.exit(f'the lab cannot make its namespaces: {error}')
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        return _become_first(folder, size)

    _write_record(record, [mine, [child, start_time(child)]])
    terminal = termios.tcgetattr(sys.stdin.fileno()) if sys.stdin is not None and sys.stdin.isatty() else None
    for number in ENDING:
        signal.signal(number, lambda got, _frame: _forward(child, got))
    while True:
        try:
            status = os.waitpid(child, 0)[1]
            break
        except InterruptedError:
            continue
    if terminal is not None:
        termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, terminal)
    _forget(folder, record)
    os._exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))


def _forward(child, number):
    # The terminal gives a key press to both; only what was sent to us alone is passed on.
    if number == signal.SIGINT and sys.stdin is not None and sys.stdin.isatty():
        return
    try:
        os.kill(child, number)
    except ProcessLookupError:
        pass


def _write_record(record, processes):
    with open(record + '.new', 'w') as file:
        json.dump({'processes': processes}, file)
    os.rename(record + '.new', record)


def _forget(folder, record):
    for leave in (lambda: os.rmdir(folder), lambda: os.unlink(record)):
        try:
            leave()
        except OSError:
            pass


def _become_first(folder, size):
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    for number in ENDING:
        signal.signal(number, _stop)
    if _libc.unshare(_NEW_NET | _NEW_MOUNT) != 0:
        sys.exit('the lab cannot make its namespaces: ' + os.strerror(ctypes.get_errno()))
    atexit.register(sys.stdout.flush)
    sh('mount', '--make-rprivate', '/')
    sh('mount', '-t', 'proc', 'proc', '/proc')
    sh('mount', '-t', 'tmpfs', '-o', 'mode=755,size=' + size, 'lab', folder)
    sh('ip', 'link', 'set', 'lo', 'up')
    # An address of its own: a bridge that takes one from its ports changes it when a node's power is cut.
    sh('ip', 'link', 'add', 'lab0', 'address', '02:00:00:00:02:50', 'type', 'bridge')
    sh('ip', 'address', 'add', f'{NETWORK}.250/24', 'dev', 'lab0')
    sh('ip', 'link', 'set', 'lab0', 'mtu', '1500', 'up')  # otherwise it takes that of its ports
    return folder


class Stopped(BaseException):
    """Somebody asked the lab to end."""


def end_with_parent(parent):
    """The calling process is asked to end when this one, which has just made it, ends."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit('who began this has ended')


def ignore_signals():
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)


def _stop(number, _frame):
    ignore_signals()
    raise Stopped(signal.Signals(number).name)
