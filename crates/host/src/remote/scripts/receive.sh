# Receives the program and puts it into the first folder that can be written and lets programs start: whole, or not at
# all; then says where. Of other builds the newest stay, and whichever somebody runs; nothing that is not named like a
# copy is touched.
umask 077
why= from= t=
ready() { mkdir -p "$1" 2>&1 && ours "$1" && chmod 700 "$1" 2>&1 && { : >"$1/.SHA256.$$"; } 2>&1; }
forget() { [ -z "$1" ] || { rm -f "$1"; rmdir "${1%/*}" 2>/dev/null; rmdir "${1%/bin/*}" 2>/dev/null; }; }
trap 'forget "$t"; forget "$from"' EXIT
trap 'exit 1' HUP INT TERM PIPE
for d do
    t=
    e=$(ready "$d") || { why="$why$d: ${e:-it belongs to another user}; "; continue; }
    t="$d/.SHA256.$$"
    if [ -n "$from" ]; then
        cat "$from" >"$t" || continue
    else
        from=$t
        echo; echo MARK
        head -c BYTES >"$t" && [ "$(wc -c <"$t")" -eq BYTES ] || { echo "it did not arrive whole in $d; is the disk there full?" >&2; exit 1; }
    fi
    e=$(chmod 700 "$t" 2>&1 && "$t" --version 2>&1 >/dev/null) ||
        { why="$why$e; "; [ "$t" = "$from" ] || forget "$t"; continue; }
    mv "$t" "$d/SHA256" || continue
    n=0
    for f in $(ls -t "$d"); do
        { [ "$f" = SHA256 ] || [ "$(expr "$f" : '[0-9a-f]*')" -ne 64 ] || [ "${#f}" -ne 64 ]; } && continue
        n=$((n + 1))
        [ "$n" -le KEPT ] && continue
        ls -l /proc/[0-9]*/exe 2>/dev/null | grep -q "$f" || rm -f "$d/$f"
    done
    [ "$t" = "$from" ] && from=
    t=
    echo "put $d/SHA256"
    exit 0
done
echo "$why" >&2
exit 126
