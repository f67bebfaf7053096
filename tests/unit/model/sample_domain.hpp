// The XML of a machine as a cluster's provisioner stores it and as libvirt shows it while it runs.
#pragma once

#include <string>
#include <string_view>

namespace pvc::model {

inline constexpr std::string_view stored_domain = R"xml(<domain type='kvm'>
  <name>web</name>
  <uuid>8b5c6f2e-0d1a-4c3b-9e7f-00a1b2c3d4e5</uuid>
  <description>front end &amp; cache &lt;2&gt;</description>
  <memory unit='MiB'>2048</memory>
  <vcpu>2</vcpu>
  <cpu>
    <topology sockets='1' cores='2' threads='1'/>
  </cpu>
  <os>
    <type arch='x86_64' machine='pc-i440fx-7.2'>hvm</type>
    <bootmenu enable='yes'/>
    <boot dev='cdrom'/>
    <boot dev='hd'/>
  </os>
  <features><acpi/><apic/><pae/></features>
  <clock offset='utc'/>
  <on_poweroff>destroy</on_poweroff>
  <on_reboot>restart</on_reboot>
  <on_crash>restart</on_crash>
  <devices>
    <emulator>/usr/bin/qemu-system-x86_64</emulator>
    <controller type='usb' index='0'/>
    <controller type='scsi' model='virtio-scsi' index='0'/>
    <serial type='pty'>
      <log file='/var/log/libvirt/web.log' append='on'/>
    </serial>
    <console type='pty'/>
    <disk type='network' device='disk'>
      <driver name='qemu' discard='unmap'/>
      <auth username='libvirt'>
        <secret type='ceph' uuid='2f3c1d64-5a0b-4e57-8f27-7a1a7c1c0001'/>
      </auth>
      <source protocol='rbd' name='vms/web_sda'>
        <host name='hv1.pvc.storage' port='6789'/>
        <host name='hv2.pvc.storage' port='6789'/>
      </source>
      <target dev='sda' bus='scsi'/>
    </disk>
    <disk type='network' device='disk'>
      <source protocol="rbd"   name = "vms/web_sdb"
      />
      <target dev='sdb' bus='virtio'/>
    </disk>
    <disk type='file' device='cdrom'>
      <target dev='hdc' bus='ide'/>
      <readonly/>
    </disk>
    <disk type='file' device='floppy'>
      <source file='/srv/boot/hang.img'/>
      <target dev='fda' bus='fdc'/>
      <readonly/>
    </disk>
    <interface type='bridge'>
      <mac address='52:54:00:11:22:33'/>
      <source bridge='vmbr100'/>
      <model type='virtio'/>
    </interface>
    <interface type='direct'>
      <source dev='ens4' mode='bridge'/>
    </interface>
    <interface type='hostdev' managed='yes'>
      <source><address type='pci' domain='0x0000' bus='0x03' slot='0x10' function='0x1'/></source>
      <sriov_device>ens1f0v1</sriov_device>
    </interface>
    <graphics type='vnc' port='-1' autoport='yes' listen='0.0.0.0' passwd='do-not-tell'/>
    <channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0'/></channel>
    <memballoon model='virtio'/>
  </devices>
</domain>
)xml";

// The example of the specification: a disk, an empty drive, two bridges, one direct interface.
inline constexpr std::string_view live_domain = R"xml(<domain type='kvm' id='7'>
  <name>web</name>
  <uuid>8b5c6f2e-0d1a-4c3b-9e7f-00a1b2c3d4e5</uuid>
  <memory unit='KiB'>2097152</memory>
  <currentMemory unit='KiB'>2097152</currentMemory>
  <vcpu placement='static'>2</vcpu>
  <devices>
    <disk type='network' device='disk'>
      <source protocol='rbd' name='vms/web_sda' index='2'/>
      <backingStore/>
      <target dev='sda' bus='scsi'/>
      <alias name='scsi0-0-0-0'/>
    </disk>
    <disk type='file' device='cdrom'>
      <driver name='qemu'/>
      <target dev='hdc' bus='ide'/>
    </disk>
    <interface type='bridge'>
      <source bridge='vmbr100'/>
      <target dev='vnet0'/>
    </interface>
    <interface type='direct'>
      <source dev='ens4' mode='bridge'/>
      <target dev='macvtap0'/>
    </interface>
    <interface type='bridge'>
      <source bridge='brcluster'/>
      <target dev='vnet1'/>
    </interface>
    <graphics type='vnc' port='5901' autoport='yes' listen='0.0.0.0'>
      <listen type='address' address='0.0.0.0'/>
    </graphics>
    <graphics type='spice' port='5902' listen='127.0.0.1'/>
  </devices>
  <seclabel type='dynamic' model='apparmor' relabel='yes'/>
</domain>
)xml";

// A domain with these devices and nothing else.
inline std::string domain_with(std::string_view devices) {
    return "<domain><devices>" + std::string(devices) + "</devices></domain>";
}

}  // namespace pvc::model
