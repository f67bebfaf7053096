#!/bin/sh
# Whether the cards of `tests/guest/run --igb` are what tests of SR-IOV rely on: run in that guest, prints `N passed, N failed`.
#   sriov_selftest.sh [COMMAND...]   and then runs this in place of itself, with the cards as they were at first
#
# What was measured there (Debian's kernel 6.1, igb on an emulated 82576, QEMU 10.0.2), and is checked below. A VF is a virtual
# function, its PF the card that has it.
#
# | What | Driver igb | Read back |
# | --- | --- | --- |
# | sriov_numvfs | 0 to 7; another number above 0 while VFs are there: EBUSY; the same: accepted; 8: ERANGE | yes |
# | mac | any, also 0 | yes; all 0 until set, although the VF has a random address of its own |
# | vlan, qos | 0 to 4094, 0 to 7; the driver takes 4095 too; 0 and 0: none | yes; iproute2 does not print 0 |
# | spoofchk, trust | on, off | yes; at first on and off |
# | max_tx_rate | Mbit/s, up to the speed of the link (1000), 0: none; EINVAL beyond it | yes |
# | min_tx_rate | EINVAL, except 0; so is a request with a good max_tx_rate in it | - |
# | state, query_rss | EOPNOTSUPP | state is said to be auto, query_rss is not reported |
#
# - All but the rates may be set while the PF is down. While it has no carrier every rate is EINVAL, also the one that is set, and
#   that there be none (a card that was just found may take that).
# - What is set outlives the PF going down and up.
# - A request with several settings is carried out in the kernel's order (mac, vlan, rates, spoofchk, state, query_rss, trust)
#   until one fails: what came before stays.
# - A VF that is not there: EINVAL. A device without VFs: EOPNOTSUPP, and no file sriov_numvfs.
# - sriov_numvfs 0 removes the devices; VFs that are made again have none of the old settings.
# - The first PF is 0000:01:00.0, its VFs are 0000:01:10.0, .2, .4 ...: virtfn<i> names them, also while vfio-pci has one. Their
#   devices (driver igbvf) get the next free names: eth1 ... with one card. They come into the first network namespace.
# - A VF has carrier about two seconds after it is set up, and only while the PF is up; the PF about one and a half.
# - What a VF in a VLAN sends is on the wire with that tag; it finds nothing of the tag in what it gets.
set -u
PF=/sys/class/net/eth0/device
good=0
bad=0

# verdict STATUS NAME [DETAIL]
verdict() {
  if [ "$1" = 0 ]; then
    good=$((good + 1))
    echo "ok    $2"
  else
    bad=$((bad + 1))
    echo "FAIL  $2"
    [ -z "${3-}" ] || echo "      $3"
  fi
}
# is NAME EXPECTED FOUND
is() {
  [ "$2" = "$3" ]
  verdict $? "$1" "expected: $2; found: $3"
}
# What iproute2 says of VF $1, in one line.
vf() {
  ip -d link show dev eth0 | sed -nE "s/^ *vf $1 +link\/ether ([^ ]*) brd [^ ]*, /\1, /p" | sed 's/ *$//'
}
# sets NAME EXPECTED SETTING...: of VF 1
sets() {
  name=$1
  expected=$2
  shift 2
  said=$(ip link set eth0 vf 1 "$@" 2>&1) || { verdict 1 "$name" "$said"; return; }
  is "$name" "$expected" "$(vf 1)"
}
# refuses NAME MESSAGE COMMAND...: it says so, and VF 1 is as it was
refuses() {
  name=$1
  message=$2
  before=$(vf 1)
  shift 2
  said=$("$@" 2>&1)
  status=$?
  case "$status $said" in
    [1-9]*"$message"*) is "$name" "$before" "$(vf 1)" ;;
    *) verdict 1 "$name" "expected: $message; found: status $status $said" ;;
  esac
}
# number COUNT: of VFs. The shell's own echo names the wrong reason.
number() {
  busybox echo "$1" > "$PF/sriov_numvfs"
}
# waits COMMAND...: for ten seconds at most
waits() {
  tries=0
  until "$@" > /dev/null 2>&1; do
    tries=$((tries + 1))
    [ "$tries" -le 100 ] || return 1
    sleep 0.1
  done
}
has_carrier() {
  ip -br link show dev "$1" | grep -q '[<,]LOWER_UP'
}

is 'the driver' igb "$(basename "$(readlink $PF/driver)")"
is 'seven functions are possible' 7 "$(cat $PF/sriov_totalvfs)"
is 'none is there at first' 0 "$(cat $PF/sriov_numvfs)"
is 'a card without them has no such file' '' "$(ls /sys/class/net/wire/device/sriov_numvfs 2> /dev/null)"

number 3
is 'three are made' 3 "$(cat $PF/sriov_numvfs)"
for index in 0 1 2; do
  is "address of function $index" "0000:01:10.$((index * 2))" "$(basename "$(readlink $PF/virtfn$index)")"
  is "device of function $index" "eth$((index + PVC_GUEST_IGB))" "$(ls $PF/virtfn$index/net)"
  is "function $index at first" '00:00:00:00:00:00, spoof checking on, link-state auto, trust off' "$(vf $index)"
done
refuses 'another number while they are there' 'Device or resource busy' number 2
verdict "$(number 3; echo $?)" 'the same number once more'

rest='spoof checking on, link-state auto, trust off'
mac=02:00:00:00:00:11
sets 'mac' "$mac, $rest" mac $mac
sets 'vlan and qos' "$mac, vlan 42, qos 3, $rest" vlan 42 qos 3
sets 'vlan and qos, the highest' "$mac, vlan 4094, qos 7, $rest" vlan 4094 qos 7
sets 'no vlan' "$mac, $rest" vlan 0 qos 0
sets 'spoofchk off' "$mac, spoof checking off, link-state auto, trust off" spoofchk off
sets 'trust on' "$mac, spoof checking off, link-state auto, trust on" trust on
sets 'trust off, spoofchk on' "$mac, $rest" trust off spoofchk on
for state in auto enable disable; do
  refuses "state $state" 'Operation not supported' ip link set eth0 vf 1 state $state
done
for switch in on off; do
  refuses "query_rss $switch" 'Operation not supported' ip link set eth0 vf 1 query_rss $switch
done
refuses 'a rate without carrier' 'Invalid argument' ip link set eth0 vf 1 max_tx_rate 100
sets 'mac 0' "00:00:00:00:00:00, $rest" mac 00:00:00:00:00:00
sets 'mac again' "$mac, $rest" mac $mac
refuses 'a function that is not there' 'Invalid argument' ip link set eth0 vf 3 trust on
refuses 'a card without functions' 'Operation not supported' ip link set wire vf 0 trust on
ip link set eth0 vf 1 spoofchk off query_rss on trust on 2> /dev/null
rest='spoof checking off, link-state auto, trust off'
is 'what comes before a refusal is done, and nothing after it' "$mac, $rest" "$(vf 1)"

ip link set eth0 up
ip link set wire up
waits has_carrier eth0
verdict $? 'the cable is seen'
rate='tx rate 100 (Mbps), max_tx_rate 100Mbps'
sets 'max_tx_rate' "$mac, $rate, $rest" max_tx_rate 100
refuses 'min_tx_rate' 'Invalid argument' ip link set eth0 vf 1 max_tx_rate 200 min_tx_rate 10
refuses 'more than the link has' 'Invalid argument' ip link set eth0 vf 1 max_tx_rate 1001
ip link set eth0 vf 1 vlan 42 qos 3
ip link set eth0 down
is 'down' "$mac, vlan 42, qos 3, $rate, $rest" "$(vf 1)"
refuses 'the same rate without carrier' 'Invalid argument' ip link set eth0 vf 1 max_tx_rate 100
refuses 'no rate without carrier' 'Invalid argument' ip link set eth0 vf 1 max_tx_rate 0
ip link set eth0 up
waits has_carrier eth0
is 'and up again' "$mac, vlan 42, qos 3, $rate, $rest" "$(vf 1)"

# The function in a namespace of its own, at the other end of the cable a device of that VLAN.
mkdir -p /run/netns
ip netns add inside
device=$(ls $PF/virtfn1/net)
ip link set "$device" netns inside
ip -n inside addr add 192.0.2.1/24 dev "$device"
ip -n inside link set "$device" up
ip link add link wire name tagged type vlan id 42
ip link set tagged up
ip addr add 192.0.2.2/24 dev tagged
waits ip netns exec inside ping -c 1 -W 1 192.0.2.2
verdict $? 'its frames are in the vlan'
is 'it has the address that it was given' $mac "$(ip -n inside -br link show dev "$device" | awk '{ print $3 }')"

modprobe vfio_iommu_type1 allow_unsafe_interrupts=1 && modprobe vfio-pci
is 'vfio with unsafe interrupts' Y "$(cat /sys/module/vfio_iommu_type1/parameters/allow_unsafe_interrupts)"
address=$(basename "$(readlink $PF/virtfn2)")
echo vfio-pci > "/sys/bus/pci/devices/$address/driver_override"
echo "$address" > "/sys/bus/pci/devices/$address/driver/unbind"
echo "$address" > /sys/bus/pci/drivers/vfio-pci/bind
is 'given to vfio-pci' vfio-pci "$(basename "$(readlink $PF/virtfn2/driver)")"
is 'it has no device then' '' "$(ls $PF/virtfn2/net 2> /dev/null)"
ip link set eth0 vf 2 vlan 7 qos 0
is 'and can be set' '00:00:00:00:00:00, vlan 7, spoof checking on, link-state auto, trust off' "$(vf 2)"

number 0
is 'they are removed' '' "$(ls -d $PF/virtfn* 2> /dev/null)$(ip -n inside -br link | grep "$device")"
refuses 'more than the card has' 'out of range' number 8
number 7
is 'all seven' '0000:01:11.4' "$(basename "$(readlink $PF/virtfn6)")"
is 'nothing is left of the settings' '00:00:00:00:00:00, spoof checking on, link-state auto, trust off' "$(vf 1)"

number 0
ip netns delete inside
ip link delete tagged
ip addr flush dev wire
ip link set wire down
ip link set eth0 down

echo "$good passed, $bad failed"
[ "$bad" = 0 ] || exit 1
[ $# = 0 ] || exec "$@"
