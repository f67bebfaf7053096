"""The board of a node that holds its power switch: Debian's simulator of boards (ipmi_sim), at an address of its own in the lab's
network. It lives while the node has no power, cuts its whole sandbox like a power cut, starts it again, and says truly which it is."""
import os
import select
import subprocess
import threading

from . import space
from .board import COMMANDS, CONFIGURATION, PASSWORD, USER
from .node import read_file

CHASSIS = '''\
#!/bin/sh
[ ! -e {folder}/slow ] || sleep "$(cat {folder}/slow)"
case "$2 $3" in
  'get power') if [ -e {folder}/lies ]; then cat {folder}/lies; elif [ -e {folder}/powered ]; then echo power:1; else echo power:0; fi ;;
  'set power')
    echo "$(date +%s.%N) $4" >> {folder}/orders
    [ ! -e {folder}/refuses ] || exit 1
    echo "$4" > {folder}/switch ;;
esac
'''
FIRST = 150  # the last number of the board's address is so much more than its node's


def address_of(number):
    return f'{space.NETWORK}.{FIRST + number}'


def settings(number, suite=3):
    """Of a node with such a board; suite: with which it asks those of others, None: it finds out."""
    values = {'system.fencing.ipmi.host': address_of(number), 'system.fencing.ipmi.user': USER, 'system.fencing.ipmi.pass': PASSWORD}
    return values if suite is None else values | {'system.fencing.ipmi.cipher_suite': suite}


class PowerBoard:
    """boot: what the node does when its board has switched it on, for so many seconds its firmware has had its own; its daemon
    starts, unless something else is said."""

    def __init__(self, node, boot=None, firmware=3.0):
        self.node = node
        self.firmware = firmware
        self.boot = boot or node.up
        self.address = address_of(node.number)
        self.folder = os.path.join(node.folder, 'board')
        os.makedirs(self.folder)
        guid = f'a123456789abcdefa1234567{node.number:08x}'
        self._write('lan.conf', CONFIGURATION.format(address=self.address, folder=self.folder, guid=guid))
        self._write('commands', COMMANDS)
        self._write('chassis', CHASSIS.format(folder=self.folder))
        os.chmod(os.path.join(self.folder, 'chassis'), 0o700)
        os.mkfifo(os.path.join(self.folder, 'switch'))
        node.board = self
        self.tell(node.powered)
        self.is_reached = False
        self.connect()
        with open(os.path.join(node.folder, 'board.log'), 'ab') as log:
            self.process = subprocess.Popen(['/usr/bin/ipmi_sim', '-n', '-c', self._path('lan.conf'), '-f', self._path('commands'),
                                             '-s', self.folder], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        threading.Thread(target=self._serve, daemon=True).start()

    def _path(self, name):
        return os.path.join(self.folder, name)

    def _write(self, name, text):
        with open(self._path(name), 'w') as file:
            file.write(text)

    def _mark(self, name, text):
        if text:
            self._write(name, text)
        elif os.path.exists(self._path(name)):
            os.unlink(self._path(name))

    def _serve(self):
        switch = os.open(self._path('switch'), os.O_RDWR)
        boots = False
        while True:
            if boots and not select.select([switch], [], [], self.firmware)[0]:
                boots = False
                with self.node.switching:
                    if not self.node.powered:
                        self.boot()
                continue
            for word in os.read(switch, 64).split():
                with self.node.switching:
                    boots = word == b'1' and not self.node.powered
                    if word != b'1':
                        self.node.cut_power()
                    self.tell(word == b'1')

    def tell(self, is_on):
        self._mark('powered', 'yes' if is_on else '')

    def orders(self, what=None):
        """Times of the orders that came, and whether they were `on`; also of those that it refused."""
        found = [(float(time_), word == '1') for time_, word in (line.split() for line in read_file(self._path('orders')).splitlines())]
        return [one for one in found if what is None or one[1] == what]

    def say(self):
        """What it tells an ipmitool of the lab: on, off or nothing."""
        done = subprocess.run(['ipmitool', '-I', 'lanplus', '-C', '3', '-N', '1', '-R', '1', '-H', self.address, '-U', USER, '-P', PASSWORD,
                               'chassis', 'power', 'status'], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True, check=False)
        return next((word for word in ('on', 'off') if done.stdout.strip().endswith(' ' + word)), 'silent')

    # --- what may be wrong with it ---

    def disconnect(self):
        """No cable, or no power: nobody answers at its address."""
        if self.is_reached:
            space.sh('ip', 'address', 'del', f'{self.address}/32', 'dev', 'lab0')
        self.is_reached = False

    def connect(self):
        if not self.is_reached:
            space.sh('ip', 'address', 'add', f'{self.address}/32', 'dev', 'lab0')
        self.is_reached = True

    def slow(self, seconds):
        """It thinks so long before each answer about the power; 0: no more."""
        self._mark('slow', str(seconds) if seconds else '')

    def refuse(self, does=True):
        """It says why not, and switches nothing."""
        self._mark('refuses', 'yes' if does else '')

    def lie(self, says_on=None):
        self._mark('lies', '' if says_on is None else f'power:{int(says_on)}')

    # --- the whole machine ---

    def lose_all_power(self):
        """The cable of both is pulled."""
        self.disconnect()
        self.node.cut_power()

    def cut_off(self):
        """Their switch fails: the node runs on."""
        self.disconnect()
        self.node.unlink()

    def rejoin(self):
        self.connect()
        self.node.relink()

    def end(self):
        self.process.kill()
        self.process.wait(10)


