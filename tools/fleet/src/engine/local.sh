#!/bin/bash
# Written by `syscost fleet plan`. Run again (syscost fleet submit), it measures what is missing.
#
# Hosts are network namespaces joined by a bridge, which is in none of them. Their names are in mounts of this process
# and its children alone: whatever ends it ends all of it. See mount_namespaces(7), network_namespaces(7), ip-netns(8).
cd "$(dirname "$0")" || exit 2
if [ "$1" != inside ]; then
    if ! unshare --mount --net true; then
        echo "error: hosts of this machine need mounts of their own: run as root, or as" \
            "\`unshare --map-root-user --net syscost fleet submit DIR\`" >&2
        exit 2
    fi
    exec unshare --mount --net bash "$0" inside
fi
# An empty folder of names, in place of the machine's.
names() {
    [ -d /run/netns ] && hidden=/run/netns || hidden=/run
    mount -t tmpfs tmpfs $hidden && mkdir -p /run/netns
}
host() { # name and number
    ip netns add "$1" &&
        ip link add "h$2" mtu 1500 type veth peer name eth0 mtu 1500 netns "$1" &&
        ip -n "$1" address add "10.77.0.$2/16" dev eth0 &&
        ip -n "$1" link set lo up &&
        ip -n "$1" link set eth0 up &&
        ip link set "h$2" master br0 up
}
names && ip link add br0 type bridge && ip link set br0 mtu 1500 up || exit 2
number=0
for name in @HOST_NAMES@; do
    number=$((number + 1))
    host "$name" $number || { echo "error: cannot make the host $name" >&2; exit 2; }
done
failed=0
step() { # number, name and host: one at a time
    [ -d "runs/$2/run" ] && return
    word=done
    nsenter --net="/run/netns/$3" setpriv --pdeathsig KILL @BINARY@ fleet step "$PWD" "$1" \
        >>"logs/$2.log" 2>&1 </dev/null || { word=failed; failed=1; }
    echo "$1 of @STEPS@: $2 $word" >&2
}
end() { exit $failed; }
