#!/bin/bash
# A host of the hypervisor contract: process 1 of namespaces of its own, with a libvirt daemon that sees private folders
# and a /dev without kvm. It obeys lines on its standard input and answers each with one; at the end of the input, or when
# it is killed, everything in it goes. Arguments: folder, host name.
set -eu
folder=$1
name=$2

mount --make-rprivate /
mount -t proc proc /proc
hostname "$name"
mkdir -p "$folder/dev" "$folder/run" "$folder/run/libvirt" "$folder/varlib" "$folder/log" "$folder/cache" "$folder/etc"
mount -t tmpfs -o mode=755 dev "$folder/dev"
for device in null zero full random urandom tty; do
    cp -a "/dev/$device" "$folder/dev/"
done
mkdir "$folder/dev/pts" "$folder/dev/shm" "$folder/dev/net"
cp -a /dev/net/tun "$folder/dev/net/"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$folder/dev/pts"
ln -s pts/ptmx "$folder/dev/ptmx"
ln -s /proc/self/fd "$folder/dev/fd"
mount --bind "$folder/dev" /dev
mount --bind "$folder/run" /run
mount --bind "$folder/etc" /etc/libvirt
mount --bind "$folder/log" /var/log
# The accounts of the package, if the machine has not made them; the daemon looks them up and uses none.
cp /etc/passwd /etc/group "$folder/"
grep -q '^libvirt-qemu:' "$folder/passwd" || echo 'libvirt-qemu:x:64055:64055::/var/lib/libvirt:/usr/sbin/nologin' >>"$folder/passwd"
for group in kvm libvirt-qemu; do
    grep -q "^$group:" "$folder/group" || echo "$group:x:64055:" >>"$folder/group"
done
mount --bind "$folder/passwd" /etc/passwd
mount --bind "$folder/group" /etc/group
# These two may be missing on the machine; what stands beside them is not needed.
mount -t tmpfs varlib /var/lib
mkdir /var/lib/libvirt
mount --bind "$folder/varlib" /var/lib/libvirt
mount -t tmpfs varcache /var/cache
mkdir /var/cache/libvirt
mount --bind "$folder/cache" /var/cache/libvirt

daemon=
start() {
    /usr/sbin/libvirtd --listen --config /etc/libvirt/libvirtd.conf </dev/null >>"$folder/output" 2>&1 &
    daemon=$!
}
while read -r command; do
    case $command in
        start) start ;;
        stop)
            kill -KILL "$daemon"
            wait "$daemon" 2>/dev/null || true
            rm -f /run/libvirtd.pid
            ;;
        freeze) kill -STOP "$daemon" ;;
        thaw) kill -CONT "$daemon" ;;
    esac
    echo "$command"
done
