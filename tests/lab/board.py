"""A management controller in a node's network: Debian's simulator of boards (ipmi_sim), with a machine that is a file."""
import os
import signal
import stat

USER, PASSWORD = 'admin', 'Passw0rd'
CONFIGURATION = '''\
name "board"
set_working_mc 0x20
  startlan 1
    addr {address} 623
    priv_limit admin
    allowed_auths_callback none md2 md5 straight
    allowed_auths_user none md2 md5 straight
    allowed_auths_operator none md2 md5 straight
    allowed_auths_admin none md2 md5 straight
    guid {guid}
  endlan
  chassis_control "{folder}/chassis x"
  user 1 true "" "test" user 10 none md2 md5 straight
  user 2 true "admin" "Passw0rd" admin 10 none md2 md5 straight
'''
COMMANDS = '''\
mc_setbmc 0x20
mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr
mc_enable 0x20
'''
CHASSIS = '''\
#!/bin/sh
case "$2 $3" in
  'get power') echo "power:$(cat {folder}/power)" ;;
  'set power') echo "$4" > {folder}/power ;;
esac
'''


class Board:
    def __init__(self, node, address):
        """Begins at once, in the network of that node, which is powered. The node's ipmitool is the real one from then on."""
        self.folder = node.run_path('board-' + address)
        self.inner = '/run/board-' + address
        os.makedirs(self.folder)
        self.write('lan.conf', CONFIGURATION.format(address=address, folder=self.inner, guid='a123456789abcdefa123456789abcdef'))
        self.write('commands', COMMANDS)
        self.write('chassis', CHASSIS.format(folder=self.inner))
        os.chmod(os.path.join(self.folder, 'chassis'), stat.S_IRWXU)
        self.power = True
        stand_in = node.run_path('lab', 'bin', 'ipmitool')
        if os.path.exists(stand_in):
            os.unlink(stand_in)
        self.process = node.spawn(['/usr/bin/ipmi_sim', '-n', '-c', f'{self.inner}/lan.conf', '-f', f'{self.inner}/commands',
                                   '-s', self.inner], os.path.join(node.folder, 'board.log'))

    def write(self, name, text):
        with open(os.path.join(self.folder, name), 'w') as file:
            file.write(text)

    @property
    def power(self):
        with open(os.path.join(self.folder, 'power')) as file:
            return file.read().strip() == '1'

    @power.setter
    def power(self, is_on):
        self.write('power', '1\n' if is_on else '0\n')

    def silence(self):
        self.process.signal(signal.SIGSTOP)
