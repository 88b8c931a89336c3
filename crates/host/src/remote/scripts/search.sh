# Becomes the agent of the copy with this checksum, of our own file where hosts share it, or of what is installed.
for d do
    if ours "$d" && [ -x "$d/SHA256" ]; then exec "$d/SHA256" AGENT; fi
done
# The owner and root may change it, nobody else.
trusted() {
    [ -f "$1" ] && [ -x "$1" ] && set -- "$1" $(ls -lLdn "$1") &&
        case ${2:-} in ????????w* | "") false ;; esac && { [ -O "$1" ] || [ "$4" = 0 ]; }
}
o=SHARED
if [ "$(uname -s) $(uname -m)" = "SYSTEM" ] && trusted "$o" && "$o" --version >/dev/null 2>&1; then exec "$o" AGENT; fi
p=$(command -v syscost) && exec "$p" AGENT
echo no syscost is there >&2
exit 1
