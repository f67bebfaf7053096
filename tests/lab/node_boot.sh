# shellcheck shell=sh
# PID 1 of a node: private folders over what a node owns, then wait for the power cut.
# $1 = the node's folder outside, $2 = host name
set -e
umask 022
mount --make-rprivate /
mount -t proc proc /proc
mount --bind "$1/boot_id" /proc/sys/kernel/random/boot_id
[ ! -e /proc/sysrq-trigger ] || mount --bind /dev/null /proc/sysrq-trigger
mount -t sysfs -o ro sysfs /sys

# A /dev of its own: no kvm, no watchdog, no disk of the machine.
mkdir -p "$1/dev"
mount -t tmpfs -o mode=755 dev "$1/dev"
for device in null zero full random urandom tty; do
  : > "$1/dev/$device"
  mount --bind "/dev/$device" "$1/dev/$device"
done
mkdir "$1/dev/pts" "$1/dev/shm" "$1/dev/net"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$1/dev/pts"
mount -t tmpfs shm "$1/dev/shm"
ln -s pts/ptmx "$1/dev/ptmx"
ln -s /proc/self/fd "$1/dev/fd"
ln -s /proc/self/fd/0 "$1/dev/stdin"
ln -s /proc/self/fd/1 "$1/dev/stdout"
ln -s /proc/self/fd/2 "$1/dev/stderr"
if [ -c /dev/net/tun ]; then
  : > "$1/dev/net/tun"
  mount --bind /dev/net/tun "$1/dev/net/tun"
fi
mount --rbind "$1/dev" /dev

# /etc as the machine has it, with what the node changes kept beside it.
mkdir -p "$1/etc" "$1/etc.work"
if ! mount -t overlay -o "lowerdir=/etc,upperdir=$1/etc,workdir=$1/etc.work" overlay /etc 2>/dev/null; then
  cp -an /etc/. "$1/etc/"
  mount --bind "$1/etc" /etc
fi
# A rename in an overlay is not seen through the lower folder, a file mounted alone is.
: >> /etc/hosts
mount --bind "$1/hosts" /etc/hosts
mount --bind "$1/run" /run
mount --bind "$1/log" /var/log
for command in systemctl reboot; do
  for folder in /usr/bin /usr/sbin; do
    if [ -e "$folder/$command" ]; then
      mount --bind "$1/run/lab/bin/$command" "$folder/$command"
    fi
  done
done

# What outlives a boot, and libvirt's folders. The machine may lack the place itself: then an overlay of the folder above
# makes it, before anything is mounted in it.
place() { # $1 = folder, $2 = a name, $3 = work space
  if [ ! -d "$1" ]; then
    mkdir "$3/upper/$2" "$3/scratch/$2"
    mount -t overlay -o "lowerdir=${1%/*},upperdir=$3/upper/$2,workdir=$3/scratch/$2" overlay "${1%/*}"
    mkdir "$1"
  fi
}
mkdir -p "$1/state" "$1/over/upper" "$1/over/scratch"
rm -rf "$1/over/upper/state" "$1/over/scratch/state"
place /var/lib/pvc state "$1/over"
if [ -d "$1/libvirt" ]; then
  place /etc/libvirt etc "$1/libvirt"
  place /var/lib/libvirt lib "$1/libvirt"
  place /var/cache/libvirt cache "$1/libvirt"
  mount --bind "$1/libvirt/etc" /etc/libvirt
  mount --bind "$1/libvirt/lib" /var/lib/libvirt
  mount --bind "$1/libvirt/cache" /var/cache/libvirt
  # libvirt looks this user up even where QEMU runs as another one.
  grep -q ^libvirt-qemu: /etc/passwd || echo libvirt-qemu:x:64055:64055::/:/bin/false >> /etc/passwd
  grep -q ^libvirt-qemu: /etc/group || echo libvirt-qemu:x:64055: >> /etc/group
fi
mount --bind "$1/state" /var/lib/pvc
hostname "$2"
: > /run/lab/booted
set +e
trap '' HUP INT TERM
while :; do
  sleep 100000 &
  wait $!
done
