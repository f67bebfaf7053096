"""The QEMU that runs guests: the machine's own, or the one of Debian's backports, which has cards that Debian 12's lacks.

That one is downloaded through apt (with an index of its own; the machine's is left alone) and unpacked below build/guest, never
installed. Of the libraries that it needs only those come with it that are not installed here.
"""
import glob
import os
import shutil

from guest import keep
from guest.keep import run

PROGRAM = 'qemu-system-x86_64'
PACKAGE = 'qemu-system-x86'
BASE = 'bookworm'
SUITE = 'bookworm-backports'
KEYS = '/usr/share/keyrings/debian-archive-keyring.gpg'


class Emulator:
    """words: how a command line of it begins. environment: of its process alone."""
    def __init__(self, words, environment):
        self.words = words
        self.environment = environment


def own():
    return Emulator([PROGRAM], dict(os.environ))


def backported():
    """The first call gets it, which takes a network and some seconds. RuntimeError where it cannot be had."""
    tree = keep.ensure('qemu', f'{PACKAGE} of {SUITE}', _make)
    libraries = os.path.join(tree, 'usr/lib/x86_64-linux-gnu')
    words = [os.path.join(tree, 'usr/bin', PROGRAM)]
    for folder in ('qemu', 'seabios'):
        words += ['-L', os.path.join(tree, 'usr/share', folder)]
    before = os.environ.get('LD_LIBRARY_PATH', '')
    return Emulator(words, {**os.environ, 'QEMU_MODULE_DIR': os.path.join(libraries, 'qemu'),
                            'LD_LIBRARY_PATH': ':'.join(filter(None, (libraries, before)))})


def _make(tree):
    try:
        packages = _download(os.path.join(tree, 'apt'))
    except RuntimeError as error:
        raise RuntimeError(f'{PACKAGE} of {SUITE} cannot be had (a card with SR-IOV takes QEMU 8 or later): {error}') from error
    for package in packages:
        run('dpkg-deb', '-x', package, tree)
    for needless in ('apt', 'usr/share/doc', 'usr/share/man'):
        shutil.rmtree(os.path.join(tree, needless), ignore_errors=True)
    missing = [line.split()[0] for line in run('ldd', os.path.join(tree, 'usr/bin', PROGRAM), env={
        **os.environ, 'LD_LIBRARY_PATH': os.path.join(tree, 'usr/lib/x86_64-linux-gnu')}).splitlines() if 'not found' in line]
    if missing:
        raise RuntimeError(f'{PACKAGE} of {SUITE} finds no {", ".join(missing)}')


def _mirrors():
    """Where the machine's own apt has Debian from."""
    return sorted(set(run('apt-get', 'indextargets', '--format', '$(SITE)', 'Created-By: Packages', 'Origin: Debian',
                          f'Codename: {BASE}').split()))


def _mirror():
    found = _mirrors()
    if not found:
        run('apt-get', 'update', '-q')
        found = _mirrors()
    if not found:
        raise RuntimeError(f'the configuration of apt names no mirror with {BASE}')
    return found[0]


def _download(folder):
    """The packages that would be installed, had this machine backports among its sources."""
    lists, cache, sources = (os.path.join(folder, name) for name in ('state/lists', 'cache/archives', 'sources.list'))
    for made in (lists, cache):
        os.makedirs(os.path.join(made, 'partial'))
    mirror = _mirror()
    signed = f'[signed-by={KEYS}] ' if os.path.exists(KEYS) else ''
    with open(sources, 'w') as file:
        for suite in (BASE, SUITE):
            file.write(f'deb {signed}{mirror} {suite} main\n')
    settings = {'Dir::State::lists': lists, 'Dir::Cache': os.path.dirname(cache), 'Dir::Etc::sourcelist': sources,
                'Dir::Etc::sourceparts': '/dev/null', 'Dir::Etc::preferences': '/dev/null', 'Dir::Etc::preferencesparts': '/dev/null',
                'APT::Sandbox::User': 'root', 'APT::Update::Error-Mode': 'any', 'Acquire::Retries': '2', 'Acquire::Languages': 'none',
                'Debug::NoLocking': 'true'}
    # Read after the machine's own configuration, whose hooks are about its own index.
    configuration = os.path.join(folder, 'apt.conf')
    with open(configuration, 'w') as file:
        file.writelines(f'{name} "{value}";\n' for name, value in settings.items())
        file.write('#clear APT::Update::Post-Invoke;\n#clear APT::Update::Post-Invoke-Success;\n')
    apt = ('apt-get', '-c', configuration, '-q')
    run(*apt, 'update')
    run(*apt, 'install', '-y', '--download-only', '--no-install-recommends', f'{PACKAGE}/{SUITE}')
    return sorted(glob.glob(os.path.join(cache, '*.deb')))
