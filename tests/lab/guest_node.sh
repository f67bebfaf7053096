#!/bin/sh
# What a node does that is a guest under a kernel of its own (guest_node.py): its devices, then the daemon, then whatever the
# scenario waits for. Prints what `ip` shows twice a second (lines `links JSON` and `addresses JSON`), what the daemon says (`said
# TEXT`) and other facts (`NAME VALUE`), which is all that is known of it from outside; ends when the daemon does.
#   guest_node.sh bond    its card in a bond, and a VLAN of that bond, which the host's own upstream network is on
#   guest_node.sh named   as bond; once the daemon has looked at its networks, what ifup would make of /etc/network/interfaces
#   guest_node.sh host    what /etc/lab/host says, a command a line: a host as people have it (hosts.py); shows routes and rules too
#   guest_node.sh sriov   two cards with SR-IOV; the second has functions from before, one of which a driver for guests has
set -e
hostname pvchv1
mkdir -p /run/lab/systemctl/units /run/pvc /var/log/pvc /var/lib/pvc

lines=0
look() {
  echo "links $(ip -j -d link | tr -d '\n')"
  echo "addresses $(ip -j address | tr -d '\n')"
  [ -e /tmp/output ] || return 0
  tail -n "+$((lines + 1))" /tmp/output > /tmp/news
  sed 's/^/said /' /tmp/news
  lines=$((lines + $(wc -l < /tmp/news)))
}

run() {
  PVCD_CONFIG_FILE=/etc/pvc/pvcnoded.yaml pvcnoded >> /tmp/output 2>&1 &
  daemon=$!
}

prepare_bond() {
  ip link add bond0 type bond mode active-backup miimon 100
  ip link set eth0 down
  ip link set eth0 master bond0
  ip link set bond0 up
  ip link add link bond0 name vlan1000 type vlan id 1000
  # The host's own backup network, known to nobody else, called as a client network's VLAN would be.
  ip link add link bond0 name vlan1003 type vlan id 1003
  ip address add 10.50.3.1/24 dev vlan1003
  ip link set vlan1003 up
}
happens_bond() { :; }

prepare_named() {
  prepare_bond
  PVCD_CONFIG_FILE=/etc/pvc/pvcnoded.yaml pvcnoded --check-config --against-host 2>&1 | sed 's/^/against /'
}
happens_named() {
  if [ -e /tmp/once.ifup ] || ! [ -e /sys/class/net/vlan71 ] || ! grep -q 'network 1161: ' /tmp/output; then return 0; fi
  touch /tmp/once.ifup
  for name in brcluster.51 bond0.20 brcluster.71; do
    ip link add link "${name%.*}" name "$name" type vlan id "${name##*.}" && ip link set "$name" up && echo "ifup $name"
  done
}

look_host() {
  echo "routes4 $(ip -j route show table all | tr -d '\n')"
  echo "routes6 $(ip -j -6 route show table all | tr -d '\n')"
  echo "rules $(ip -j rule | tr -d '\n')"
}
prepare_host() {
  sh -e /etc/lab/host
  look
  look_host
  PVCD_CONFIG_FILE=/etc/pvc/pvcnoded.yaml pvcnoded --check-config --against-host | sed 's/^/against /'
  look
  look_host
  echo "prepared"
}
happens_host() { look_host; }

prepare_sriov() {
  echo 2 > /sys/class/net/eth1/device/sriov_numvfs
  modprobe vfio-pci
  taken=$(basename "$(readlink /sys/class/net/eth1/device/virtfn1)")
  echo vfio-pci > "/sys/bus/pci/devices/$taken/driver_override"
  echo "$taken" > "/sys/bus/pci/devices/$taken/driver/unbind"
  echo "$taken" > /sys/bus/pci/drivers_probe
  ip link set eth1 vf 1 vlan 12 qos 3
  ip link set eth1 vf 1 mac 52:54:00:aa:bb:01
  echo "driver $(basename "$(readlink "/sys/bus/pci/devices/$taken/driver")")"
}
# once NAME TEXT: whether this is the first time that links have that text.
once() {
  if [ -e "/tmp/once.$1" ] || ! ip -d link show eth0 | grep -q "$2"; then return 1; fi
  touch "/tmp/once.$1"
}
# What somebody does once the scenario has given the first function of eth0 these VLANs.
happens_sriov() {
  if once somebody 'vf 0 .*vlan 77,'; then
    ip link set eth0 vf 0 vlan 5
    echo "somebody did"
  fi
  if once killed 'vf 0 .*vlan 88,'; then
    kill -KILL "$daemon"
    wait "$daemon" || true
    ip link set eth0 vf 0 vlan 6
    ip link set eth0 vf 2 spoofchk off
    echo "killed $daemon"
    run
  fi
  echo "numbers $(cat /sys/class/net/eth0/device/sriov_numvfs /sys/class/net/eth1/device/sriov_numvfs | tr '\n' ' ')"
  echo "interrupts $(cat /sys/module/vfio_iommu_type1/parameters/allow_unsafe_interrupts 2> /dev/null)"
}

"prepare_$1"
look
run
while kill -0 "$daemon" 2> /dev/null; do
  sleep 0.5
  look
  "happens_$1"
done
wait "$daemon" || echo "the daemon ended with $?"
look
