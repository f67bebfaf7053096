"""A Debian kernel with its modules, for guests: downloaded through apt and unpacked below build/guest, never installed."""
import glob
import os
import subprocess

from guest import keep
from guest.keep import FOLDER, run

PACKAGE = 'linux-image-amd64'
PARTS = ('./boot/vmlinuz-*', './lib/modules/*/modules.*', './lib/modules/*/kernel/arch/*', './lib/modules/*/kernel/crypto/*',
         './lib/modules/*/kernel/lib/*', './lib/modules/*/kernel/fs/*', './lib/modules/*/kernel/net/*', './lib/modules/*/kernel/virt/*',
         './lib/modules/*/kernel/drivers/net/*', './lib/modules/*/kernel/drivers/virtio/*', './lib/modules/*/kernel/drivers/input/*',
         './lib/modules/*/kernel/drivers/acpi/*', './lib/modules/*/kernel/drivers/watchdog/*', './lib/modules/*/kernel/drivers/char/*',
         './lib/modules/*/kernel/drivers/ptp/*', './lib/modules/*/kernel/drivers/pps/*', './lib/modules/*/kernel/drivers/i2c/*',
         './lib/modules/*/kernel/drivers/dca/*', './lib/modules/*/kernel/drivers/vfio/*')


class Kernel:
    def __init__(self, tree):
        self.tree = tree
        self.image = glob.glob(os.path.join(tree, 'boot', 'vmlinuz-*'))[0]
        self.release = os.path.basename(self.image)[len('vmlinuz-'):]

    def modules(self, names):
        """Paths of these modules and of all they need, in the order in which they can be loaded. A kernel has some built in."""
        found = []
        for name in names:
            for line in run('modprobe', '--show-depends', '-d', self.tree, '-S', self.release, name).splitlines():
                words = line.split()
                if words[0] == 'insmod' and words[1] not in found:
                    found.append(words[1])
        return found


def ensure():
    """The kernel that is there; the first call gets it, which takes a network and some seconds."""
    return Kernel(keep.ensure('kernel', ' '.join(PARTS), lambda tree: _unpack(_download(), tree)))


def _wanted():
    """The package that holds the kernel itself."""
    for line in run('apt-cache', 'depends', '--important', PACKAGE).splitlines():
        kind, _, name = line.strip().partition(': ')
        if kind == 'Depends' and name.startswith('linux-image-'):
            return name
    raise RuntimeError(f'apt does not know what {PACKAGE} depends on: is the index there (apt-get update)?')


def _download():
    for old in glob.glob(os.path.join(FOLDER, '*.deb')):
        os.unlink(old)
    try:
        name = _wanted()
    except RuntimeError:
        run('apt-get', 'update', '-q')
        name = _wanted()
    run('apt-get', 'download', '-q', '-o', 'APT::Sandbox::User=root', name, cwd=FOLDER)
    return glob.glob(os.path.join(FOLDER, '*.deb'))[0]


def _unpack(package, tree):
    reader = subprocess.Popen(['dpkg-deb', '--fsys-tarfile', package], stdout=subprocess.PIPE)
    writer = subprocess.run(['tar', '-x', '-C', tree, '--wildcards', *PARTS], stdin=reader.stdout, stderr=subprocess.PIPE, text=True)
    reader.stdout.close()
    if reader.wait() != 0 or writer.returncode != 0:
        raise RuntimeError(f'{package} cannot be unpacked: {writer.stderr.strip()}')
    release = os.path.basename(glob.glob(os.path.join(tree, 'boot', 'vmlinuz-*'))[0])[len('vmlinuz-'):]
    run('depmod', '-b', tree, release)
    os.unlink(package)
