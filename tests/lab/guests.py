"""Guests that are one boot sector, and clients that command them exactly as the clients of a cluster do.

The sleeps under a lock are the clients' behaviour (vm-domains 2): they hold the lock of a state for half a second.
"""
import os
import time
import uuid as uuids

from kazoo.exceptions import NoNodeError

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
FLOPPY = 1474560
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
_VOLUME = '''
    <disk type='network' device='disk'>
      <driver name='qemu' type='raw' cache='none'/>
      <source protocol='rbd' name='{volume}'><config file='{config}'/></source>
      <target dev='vd{letter}' bus='virtio'/>
    </disk>'''
_GRAPHICS = '''
    <graphics type='vnc' port='-1' autoport='yes' listen='127.0.0.1'/>'''


def image(folder, kind):
    """Path of the floppy with that boot sector; all nodes of the lab see it at the same place."""
    path = os.path.join(folder, 'guests', kind + '.img')
    if not os.path.exists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        sector = bytes.fromhex(SECTORS[kind]).ljust(510, b'\0') + b'\x55\xAA'
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
    _commit(zk, [('create', *pair) for pair in record(uuid, name, text, node, state, version, **values)])


def _commit(zk, operations):
    transaction = zk.transaction()
    for kind, path, value in operations:
        (transaction.create if kind == 'create' else transaction.set_data)(path, value.encode())
    for result, operation in zip(transaction.commit(), operations):
        if isinstance(result, Exception):
            raise RuntimeError(f'cannot {operation[0]} {operation[1]}: {result!r}')


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
            _commit(self.zk, [('set', f'/domains/{uuid}/{key}', value) for key, value in values.items()])
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
        _commit(self.zk, [('set', f'/domains/{uuid}', name), ('set', f'/domains/{uuid}/rbdlist', ''),
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
