#!/bin/sh
# What a node whose kernel has VLANs does in the guest (scenarios/networking_vlan.py): a bond with one VLAN that the host's own
# upstream network is on, then the daemon, then whatever the scenario waits for. Prints a line `links JSON` twice a second,
# which is all that is known of it from outside; ends when the daemon does.
set -e
hostname pvchv1
ip link add bond0 type bond mode active-backup miimon 100
ip link set eth0 down
ip link set eth0 master bond0
ip link set bond0 up
ip link add link bond0 name vlan1000 type vlan id 1000
echo "links $(ip -j -d link | tr -d '\n')"
mkdir -p /run/lab/systemctl/units /run/pvc /var/log/pvc /var/lib/pvc
PVCD_CONFIG_FILE=/etc/pvc/pvcnoded.yaml pvcnoded > /tmp/output 2>&1 &
daemon=$!
while kill -0 "$daemon" 2> /dev/null; do
  sleep 0.5
  echo "links $(ip -j -d link | tr -d '\n')"
  echo "addresses $(ip -j address | tr -d '\n')"
done
wait "$daemon" || echo "the daemon ended with $?"
cat /tmp/output
