"""Guests that are one boot sector, and clients that command them exactly as the clients of a cluster do.

The sleeps under a lock are the clients' behaviour (vm-domains 2): they hold the lock of a state for half a second.
"""
import ipaddress
import os
import time
import uuid as uuids

from kazoo.exceptions import NoNodeError

from . import zookeeper

# What stands in the boot sector (vm-domains B.9).
SECTORS = {
    'hang': 'FA F4 EB FD',
    'off': 'BA 04 06 B8 00 20 EF F4 EB FD',
    'acpi': 'FA BA 02 06 B8 00 01 EF BA 00 06 ED F6 C4 01 74 F7 BA 04 06 B8 00 20 EF F4 EB FD',
    'reset': 'BA F9 0C B0 06 EE F4 EB FD',
    'dirty': 'FA 31 C0 8E D8 0F 01 16 50 7C 0F 20 C0 0C 01 0F 22 C0 EB 00 BB 08 00 8E E3 24 FE 0F 22 C0 66 BF 00 00 20 00 '
             '64 67 66 FF 07 66 81 C7 00 10 00 00 66 81 FF 00 00 80 03 72 EB EB E3 00 00 00 00 00 00 00 00 00 00 00 00 00 '
             'FF FF 00 00 00 92 CF 00 0F 00 40 7C 00 00',
    # Writes the first sector of its disk nine times a second, and obeys its button.
    'writes': '31 C0 8E D8 8E C0 BA 02 06 B8 00 01 EF FB B8 01 03 BB 00 7C B9 01 00 BA 80 00 CD 13 F4 F4 BA 00 06 ED F6 C4 01 '
              '74 E7 BA 04 06 B8 00 20 EF FA F4 EB FD',
}
# sectors/answers.S, with places for its address and that of its card.
SECTORS['answers'] = (
    'EB 0E 00 00 0A 01 01 0A 52 54 00 00 00 01 00 00 31 C0 8E D8 8E C0 8E D0 BC 00 7C FC B0 34 E6 43 B8 4E 17 E6 40 88 E0 E6 '
    '40 BA 02 06 B8 00 01 EF 66 BB 00 00 00 80 66 89 D8 BA F8 0C 66 EF BA FC 0C 66 ED 66 3D EC 10 29 80 74 09 66 81 C3 00 08 '
    '00 00 EB E2 67 66 8D 43 10 BA F8 0C 66 EF BA FC 0C 66 ED 24 F0 A3 0E 7C BE B4 7C AD 3C FF 74 64 E8 02 00 EB F6 52 8B 16 '
    '0E 7C 00 C2 88 E0 EE 5A C3 50 B8 07 40 E8 ED FF B0 08 88 DC E8 E6 FF B0 09 88 FC E8 DF FF B0 0A 88 CC E8 D8 FF B0 0B 88 '
    'EC E8 D1 FF 58 88 C4 30 C0 E8 C9 FF 8B 16 0E 7C 80 C2 10 C3 00 21 0E 48 0A 00 0B 00 0C 04 0D 00 01 46 02 80 03 46 04 40 '
    '07 FF 0F 00 00 61 07 46 00 22 FF FF FB F4 BA 00 06 ED F6 C4 01 74 07 BA 04 06 B8 00 20 EF B8 00 62 E8 89 FF 8B 16 0E 7C '
    '80 C2 07 EC 88 C1 B8 00 22 E8 79 FF 8B 16 0E 7C 80 C2 03 EC 38 C1 74 CC 88 C7 30 DB B9 04 00 B0 0A E8 6D FF BF FC 7F F3 '
    '6C 83 C3 04 8B 0E FE 7F 83 E9 04 51 B0 0A E8 58 FF BF 00 80 F3 6C 59 B0 03 8A 26 FD 7F E8 3D FF 66 A1 04 7C 8B 2E 0C 80 '
    '81 FD 08 06 74 39 83 FD 08 75 9B 80 3E 17 80 01 75 94 80 3E 22 80 08 75 8D 66 39 06 1E 80 75 86 C6 06 22 80 00 80 06 24 '
    '80 08 80 16 25 80 00 80 16 24 80 00 66 87 06 1A 80 66 A3 1E 80 EB 34 80 3E 15 80 01 0F 85 5E FF 66 39 06 26 80 0F 85 55 '
    'FF C6 06 15 80 02 BE 16 80 BF 20 80 B9 0A 00 F3 A4 BE 08 7C BF 16 80 B9 06 00 F3 A4 66 A3 1C 80 B9 3C 00 66 A1 06 80 66 '
    'A3 00 80 A1 0A 80 A3 04 80 BE 08 7C BF 06 80 51 B9 06 00 F3 A4 59 51 BB 00 40 B0 12 E8 AA FE BE 00 80 F3 6E 59 B0 05 88 '
    'CC E8 91 FE B0 06 88 EC E8 8A FE B8 00 26 E8 84 FE E9 F2 FE')
FLOPPY = 1474560
ADDRESS_AT = 4
HOLD = 0.5

_XML = '''<domain type='{driver}'>
  <name>{name}</name>
  <uuid>{uuid}</uuid>
  <memory unit='MiB'>64</memory>
  <vcpu>1</vcpu>
  <os>
    <type arch='{arch}'{machine}>hvm</type>{boot}
  </os>
  <features><acpi/></features>
  <on_poweroff>destroy</on_poweroff>
  <on_reboot>restart</on_reboot>
  <on_crash>restart</on_crash>
  <devices>{devices}
  </devices>
</domain>
'''
_QEMU_DEVICES = '''
    <emulator>/usr/bin/qemu-system-x86_64</emulator>
    <disk type='file' device='floppy'>
      <driver name='qemu' type='raw'/>
      <source file='{image}'/>
      <target dev='fda' bus='fdc'/>
      <readonly/>
    </disk>
    <controller type='usb' model='none'/>
    <serial type='pty'>
      <log file='/var/log/libvirt/{name}.log' append='on'/>
      <target port='0'/>
    </serial>
    <console type='pty'/>'''
_CARD = '''
    <interface type='bridge'>
      <mac address='{mac}'/>
      <source bridge='{bridge}'/>
      <model type='ne2k_pci'/>
      <rom enabled='no'/>
    </interface>'''
_VOLUME = '''
    <disk type='network' device='disk'>
      <driver name='qemu' type='raw' cache='none'/>
      <source protocol='rbd' name='{volume}'><config file='{config}'/></source>
      <target dev='vd{letter}' bus='virtio'/>
    </disk>'''
_GRAPHICS = '''
    <graphics type='vnc' port='-1' autoport='yes' listen='127.0.0.1'/>'''


def image(folder, kind, address='', mac=''):
    """Path of the floppy with that boot sector; all nodes of the lab see it at the same place. address, mac: what it answers as."""
    path = os.path.join(folder, 'guests', kind + address + '.img')
    if not os.path.exists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        sector = bytes.fromhex(SECTORS[kind]).ljust(510, b'\0') + b'\x55\xAA'
        if address:
            own = ipaddress.ip_address(address).packed + bytes.fromhex(mac.replace(':', ''))
            sector = sector[:ADDRESS_AT] + own + sector[ADDRESS_AT + len(own):]
        with open(path, 'wb') as file:
            file.write(sector)
            file.truncate(FLOPPY)
    return path


def xml(folder, uuid, name, kind, vnc=True, comment='', volumes=(), config=''):
    """Definition of a QEMU guest. comment makes two of them tell apart. volumes: RBD images, of the Ceph that the file
    config leads to, which also says where the key is."""
    devices = _QEMU_DEVICES.format(image=image(folder, kind), name=name) + (_GRAPHICS if vnc else '')
    devices += ''.join(_VOLUME.format(volume=volume, config=config, letter=letter) for volume, letter in zip(volumes, 'abcd'))
    # The BIOS serves only disks that it may boot from.
    boot = "\n    <boot dev='fd'/>" + ("\n    <boot dev='hd'/>" if volumes else '')
    text = _XML.format(driver='qemu', name=name, uuid=uuid, arch='x86_64', machine=" machine='pc'", boot=boot, devices=devices)
    return text.replace('  <memory', f'  <description>{comment}</description>\n  <memory', 1) if comment else text


def mac_of(uuid):
    number = int(uuid[:8], 16)
    return f'52:54:00:00:{number >> 8:02x}:{number & 255:02x}'


def answering_xml(folder, uuid, name, vni, address):
    """Definition of a guest with a card in a client network that answers pings and obeys its power button. It is no Linux: under
    TCG of QEMU 7.2 what a busy one writes while it is migrated can be lost, and then it crashes."""
    mac = mac_of(uuid)
    devices = _QEMU_DEVICES.format(image=image(folder, 'answers', address, mac), name=name) + _CARD.format(mac=mac, bridge=f'vmbr{vni}')
    return _XML.format(driver='qemu', name=name, uuid=uuid, arch='x86_64', machine=" machine='pc'", boot="\n    <boot dev='fd'/>",
                       devices=devices)


def test_xml(uuid, name, comment=''):
    """Definition of a domain of libvirt's own test driver."""
    text = _XML.format(driver='test', name=name, uuid=uuid, arch='i686', machine='', boot='', devices=_GRAPHICS)
    return text.replace('  <memory', f'  <description>{comment}</description>\n  <memory', 1) if comment else text


def uuid_of(number):
    return f'{number:08x}-aaaa-4bbb-8ccc-{number:012x}'


def record(uuid, name, text, node, state='stop', version=10, **values):
    """All keys of a domain as a client creates them, in schema order."""
    keys = {'': name, '/xml': text, '/state': state, '/profile': 'None', '/stats': '', '/node': node, '/lastnode': '',
            '/failedreason': '', '/rbdlist': '', '/consolelog': '', '/vnc': '', '/node_autostart': 'False',
            '/migration_method': 'none'}
    if version >= 13:
        keys['/migration_max_downtime'] = '300'
    keys.update({'/node_selector': 'none', '/node_limit': ''})
    if version >= 3:
        keys['/tags'] = ''
    keys['/migrate_sync_lock'] = ''
    if version >= 14:
        keys['/snapshots'] = ''
    keys.update({'/' + key: value for key, value in values.items()})
    return [(f'/domains/{uuid}{suffix}', value) for suffix, value in keys.items()]


def define(zk, uuid, name, text, node, state='stop', version=10, **values):
    """One transaction with all keys."""
    zookeeper.commit(zk, [('create', *pair) for pair in record(uuid, name, text, node, state, version, **values)])


class Client:
    """Commands guests as a client of the cluster does."""

    def __init__(self, zk):
        self.zk = zk

    def get(self, uuid, key):
        return self.zk.get(f'/domains/{uuid}/{key}')[0].decode()

    def locked_write(self, uuid, timeout=None, **values):
        """One transaction under the exclusive lock of the state, which is kept a moment longer."""
        lock = self.zk.Lock(f'/domains/{uuid}/state', str(uuids.uuid1()))
        lock.acquire(timeout=timeout)
        try:
            zookeeper.commit(self.zk, [('set', f'/domains/{uuid}/{key}', value) for key, value in values.items()])
            time.sleep(HOLD)
        finally:
            lock.release()

    def set(self, uuid, state, timeout=None):
        self.locked_write(uuid, timeout, state=state)

    def place(self, uuid, state, node, last, timeout=None):
        self.locked_write(uuid, timeout, state=state, node=node, lastnode=last)

    def start(self, uuid):
        self.set(uuid, 'start')

    def stop(self, uuid):
        self.set(uuid, 'stop')

    def shutdown(self, uuid):
        self.set(uuid, 'shutdown')

    def restart(self, uuid):
        self.set(uuid, 'restart')

    def modify(self, uuid, name, text, restart=False):
        zookeeper.commit(self.zk, [('set', f'/domains/{uuid}', name), ('set', f'/domains/{uuid}/rbdlist', ''),
                                   ('set', f'/domains/{uuid}/xml', text)])
        if restart:
            self.restart(uuid)

    def _moving(self, uuid, live):
        state = self.get(uuid, 'state')
        return ('migrate-live' if live else 'migrate') if state == 'start' else state

    def migrate(self, uuid, node, live=False):
        """Away for a while: its present node is remembered as home."""
        current, last = self.get(uuid, 'node'), self.get(uuid, 'lastnode')
        self.place(uuid, self._moving(uuid, live), node, last or current)

    def move(self, uuid, node, live=False):
        self.place(uuid, self._moving(uuid, live), node, '')

    def unmigrate(self, uuid, live=False):
        self.place(uuid, self._moving(uuid, live), self.get(uuid, 'lastnode'), '')

    def undefine(self, uuid):
        if self.get(uuid, 'state') != 'stop':
            self.set(uuid, 'stop')
        self.set(uuid, 'delete')
        try:
            self.zk.delete(f'/domains/{uuid}', recursive=True)
        except NoNodeError:
            pass
