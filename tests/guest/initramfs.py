"""The file system that a guest's kernel unpacks into its memory: a cpio archive of format newc."""
import gzip
import os
import re
import shutil
import stat
import subprocess
import tempfile

BUSYBOX = '/usr/bin/busybox' if os.path.exists('/usr/bin/busybox') else '/bin/busybox'
STRIP = 'llvm-strip-19'


class Initramfs:
    def __init__(self):
        self._files = {}
        self.folder('/')
        for path in ('/dev', '/proc', '/sys', '/tmp', '/run', '/etc', '/var/log', '/root', '/usr/bin', '/usr/sbin', '/usr/local/bin'):
            self.folder(path)
        for link, target in (('/bin', 'usr/bin'), ('/sbin', 'usr/sbin'), ('/lib', 'usr/lib'), ('/lib64', 'usr/lib64')):
            self._files[link] = (stat.S_IFLNK | 0o777, target.encode())
        self._files['/dev/console'] = (stat.S_IFCHR | 0o600, (5, 1))
        self.put('/bin/busybox', BUSYBOX)
        self.link('/bin/sh', 'busybox')

    # Debian's /bin, /sbin, /lib and /lib64 are links; what is asked for below one goes below its target.
    @staticmethod
    def _real(path):
        return re.sub(r'^/(bin|sbin|lib|lib64)/', r'/usr/\1/', os.path.normpath(path))

    def folder(self, path):
        path = self._real(path)
        if path != '/' and path not in self._files:
            self.folder(os.path.dirname(path))
            self._files[path] = (stat.S_IFDIR | 0o755, b'')

    def text(self, path, content, mode=0o644):
        path = self._real(path)
        self.folder(os.path.dirname(path))
        self._files[path] = (stat.S_IFREG | mode, content.encode() if isinstance(content, str) else content)

    def link(self, path, target):
        path = self._real(path)
        self.folder(os.path.dirname(path))
        self._files[path] = (stat.S_IFLNK | 0o777, target.encode())

    def put(self, path, source):
        """A file of this machine, or a folder with all that is in it."""
        if os.path.isdir(source):
            self.folder(path)
            for name in sorted(os.listdir(source)):
                self.put(os.path.join(path, name), os.path.join(source, name))
            return
        with open(source, 'rb') as file:
            self.text(path, file.read(), 0o755 if os.access(source, os.X_OK) else 0o644)

    def program(self, path, source=None):
        """A program without its debugging information, with the libraries that it is linked with."""
        source = source or path
        with open(source, 'rb') as file:
            is_elf = file.read(4) == b'\x7fELF'
        if not is_elf:
            self.put(path, source)
            return
        with tempfile.TemporaryDirectory() as folder:
            small = os.path.join(folder, 'program')
            if shutil.which(STRIP) is None or subprocess.run([STRIP, '-o', small, source]).returncode != 0:
                small = source
            with open(small, 'rb') as file:
                self.text(path, file.read(), 0o755)
        done = subprocess.run(['ldd', source], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for library in re.findall(r'(/\S+) \(0x', done.stdout):
            if self._real(library) not in self._files:
                self.put(library, os.path.realpath(library))

    def write(self, file):
        """Compressed so that it costs little to make; the kernel reads it in any case."""
        with gzip.GzipFile(fileobj=file, mode='wb', compresslevel=1, mtime=0) as archive:
            for number, (path, (mode, content)) in enumerate(sorted(self._files.items()), 1):
                device = (0, 0)
                if stat.S_ISCHR(mode):
                    device, content = content, b''
                _entry(archive, number, path.lstrip('/'), mode, content, device)
            _entry(archive, 0, 'TRAILER!!!', 0, b'', (0, 0))


def _entry(archive, number, name, mode, content, device):
    raw = name.encode() + b'\0'
    fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, *device, len(raw), 0)
    archive.write(b'070701' + b''.join(b'%08X' % field for field in fields) + raw)
    archive.write(b'\0' * (-(110 + len(raw)) % 4))
    archive.write(content)
    archive.write(b'\0' * (-len(content) % 4))
