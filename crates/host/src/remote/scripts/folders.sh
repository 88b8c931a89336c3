# Where copies may lie. The user's cache is private; of the folders that are everybody's only those that this user made.
u=$(id -u)
set --
[ -z "${XDG_CACHE_HOME:-${HOME:-}}" ] || set -- "${XDG_CACHE_HOME:-$HOME/.cache}/syscost/bin"
[ -z "${XDG_RUNTIME_DIR:-}" ] || set -- "$@" "$XDG_RUNTIME_DIR/syscost/bin"
set -- "$@" "/dev/shm/syscost-$u" "${TMPDIR:-/tmp}/syscost-$u" "/var/tmp/syscost-$u"
ours() { [ ! -h "$1" ] && [ -O "$1" ]; }
