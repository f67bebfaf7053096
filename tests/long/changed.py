"""Which files differ from what was found clean: a file of each part in tests/long/clean/ lists the content of each then, as git names it. A
commit does as well; contents survive a history that was rewritten."""
import hashlib
import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
KINDS = ('.cpp', '.hpp', '.clang-tidy')


def git(root, *arguments):
    return subprocess.run(['git', '-C', str(root), *arguments], capture_output=True, text=True, check=True).stdout


def content(path):
    with open(path, 'rb') as file:
        text = file.read()
    return hashlib.sha1(b'blob %d\0' % len(text) + text).hexdigest()


def contents(root):
    """Path -> name of its content, of all that a compiler reads. Without git: an exported tree is checked as well."""
    found = {}
    for folder, names, files in os.walk(str(root)):
        names[:] = sorted(name for name in names if not name.startswith('.') and name != 'build')
        for name in sorted(files):
            if name.endswith(KINDS):
                path = os.path.join(folder, name)
                found[os.path.relpath(path, str(root))] = content(path)
    return found


def note(root, part):
    with open(os.path.join(HERE, 'clean', part), 'w') as file:
        file.writelines(f'{name} {path}\n' for path, name in contents(root).items())


def changed_since(root, what):
    """Paths below root; `what` is a part that was noted, or a commit."""
    noted = os.path.join(HERE, 'clean', what)
    if not os.path.exists(noted):
        return set(git(root, 'diff', '--name-only', what).splitlines()) | set(
            git(root, 'ls-files', '--others', '--exclude-standard').splitlines())
    with open(noted) as file:
        before = {path: name for name, path in (line.rstrip('\n').split(' ', 1) for line in file)}
    now = contents(root)
    return {path for path in now.keys() | before.keys() if now.get(path) != before.get(path)}
