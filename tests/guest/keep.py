"""What guests need, got once: a tree below build/guest, made under a lock and believed only when it is complete."""
import fcntl
import os
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(os.path.dirname(os.path.dirname(HERE)), 'build', 'guest')


def run(*words, **options):
    """What this command prints; RuntimeError with its own words where it fails."""
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    if done.returncode != 0:
        raise RuntimeError(f'{" ".join(words)}: exit {done.returncode}: {done.stderr.strip()}')
    return done.stdout


def ensure(name, holds, make):
    """The tree of this name that holds this (a text: another one, and it is made anew). make(tree) fills an empty folder."""
    os.makedirs(FOLDER, exist_ok=True)
    tree = os.path.join(FOLDER, name)
    mark = os.path.join(tree, 'complete')
    with open(os.path.join(FOLDER, 'lock'), 'w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _read(mark) != holds:
            shutil.rmtree(tree, ignore_errors=True)
            os.makedirs(tree)
            make(tree)
            with open(mark + '.new', 'w') as file:
                file.write(holds)
            os.rename(mark + '.new', mark)
    return tree


def _read(path):
    try:
        with open(path) as file:
            return file.read()
    except FileNotFoundError:
        return None
