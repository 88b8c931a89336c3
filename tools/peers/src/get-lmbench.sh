#!/bin/sh
# Unpacks Debian's lmbench (unmodified, from the non-free section) below a directory, without
# installing it and without changing the system's package sources:
#
#     tools/peers/src/get-lmbench.sh DIRECTORY
#     PATH=$PATH:$(echo DIRECTORY/usr/lib/lmbench/bin/*) cargo run --release -p syscost-peers -- os
set -eu
to=${1:?usage: get-lmbench.sh DIRECTORY}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$to" "$scratch/lists/partial" "$scratch/cache/archives/partial"
codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $codename non-free" \
    > "$scratch/sources.list"
apt() {
    apt-get -q -o APT::Sandbox::User=root -o Dir::Etc::sourcelist="$scratch/sources.list" \
        -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists="$scratch/lists" -o Dir::Cache="$scratch/cache" "$@"
}
apt update
(cd "$scratch" && apt download lmbench)
dpkg -x "$scratch"/lmbench_*.deb "$to"
echo "put on the PATH: $(echo "$to"/usr/lib/lmbench/bin/*)"
