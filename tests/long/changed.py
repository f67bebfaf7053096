"""Which files differ from what was found clean: tests/long/clean/PART lists the content of each then, as git names it. A
commit does as well; contents survive a history that was rewritten."""
import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
KINDS = ['*.cpp', '*.hpp', '.clang-tidy']


def git(root, *arguments, text=None):
    return subprocess.run(['git', '-C', str(root), *arguments], input=text, capture_output=True, text=True, check=True).stdout


def contents(root):
    """Path -> name of its content, of all tracked and new files that a compiler reads."""
    listed = git(root, 'ls-files', '--cached', '--others', '--exclude-standard', '--', *KINDS).splitlines()
    paths = sorted({path for path in listed if os.path.isfile(os.path.join(root, path))})
    names = git(root, 'hash-object', '--stdin-paths', text='\n'.join(os.path.join(root, path) for path in paths)).split()
    return dict(zip(paths, names))


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
