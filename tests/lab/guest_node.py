"""A node with a kernel of its own: the daemon in a guest under a Debian kernel (tests/guest/run), with a card in the lab's network
and the lab's ZooKeeper. It is known by its keys and by what guest_node.sh prints."""
import json
import os
import subprocess

from . import node as program, space
from .lab import check

RUN = os.path.join(os.path.dirname(program.HERE), 'guest', 'run')
TAP = 'guestnode'


class GuestNode:
    """kind: what guest_node.sh prepares. words: more for tests/guest/run. more: files for the guest, path -> text."""

    def __init__(self, lab, kind, shape, words=(), settings=None, limit=150, more=()):
        self.lab = lab
        self.node = lab.node('pvchv1', network=shape,
                             settings={'system.configuration.logging.file_logging': False, **(settings or {})})
        space.sh('ip', 'tuntap', 'add', TAP, 'mode', 'tap')
        space.sh('ip', 'link', 'set', TAP, 'master', 'lab0', 'up')
        self.output = os.path.join(self.node.folder, 'boot.log')  # where evidence is looked for
        files = {'/etc/pvc/pvcnoded.yaml': os.path.join(self.node.folder, 'etc', 'pvc', 'pvcnoded.yaml'),
                 '/etc/hosts': os.path.join(self.node.folder, 'hosts'),
                 '/usr/bin/systemctl': os.path.join(program.HERE, 'standins', 'systemctl'),
                 '/usr/bin/patronictl': os.path.join(program.HERE, 'standins', 'recorder')}
        for path, text in dict(more).items():
            files[path] = os.path.join(self.node.folder, path.replace('/', '_'))
            with open(files[path], 'w') as file:
                file.write(text)
        given = [word for path, source in files.items() for word in ('--file', f'{path}={source}')]
        with open(self.output, 'w') as file:
            self.process = subprocess.Popen([RUN, '--time', str(limit), '--tap', TAP, *words, *given, '--program', program.DAEMON,
                                             os.path.join(program.HERE, 'guest_node.sh'), kind], stdin=subprocess.DEVNULL,
                                            stdout=file, stderr=file)

    def text(self):
        return program.read_file(self.output)

    def last(self, kind):
        """The newest line of that name, without it; empty before there is one."""
        lines = [line for line in self.text().split('\n')[:-1] if line.startswith(kind + ' ')]
        return lines[-1][len(kind) + 1:] if lines else ''

    def said(self, text):
        """Lines of the daemon's with that text."""
        return [line for line in self.text().split('\n') if line.startswith('said ') and text in line]

    def await_said(self, text, timeout=20):
        self.wait(lambda links: self.said(text), f'the daemon did not say {text}', timeout)

    def _named(self, kind):
        return {one['ifname']: one for one in json.loads(self.last(kind) or '[]')}

    def links(self):
        return self._named('links')

    def addresses(self, name):
        return [f'{one["local"]}/{one["prefixlen"]}' for one in self._named('addresses').get(name, {}).get('addr_info', []) if one['scope'] == 'global']

    def wait(self, judge, what, timeout=30):
        """Until judge(links) holds."""
        def seen():
            check(self.process.poll() is None, f'the guest ended: {self.text()[-2000:]}')
            return judge(self.links())
        self.lab.wait(seen, timeout, lambda: f'{what}; it has {sorted(self.links())}; {self.text()[-300:]}')

    def end(self):
        """The power goes off."""
        self.process.terminate()
        self.process.wait(10)
