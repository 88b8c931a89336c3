#!/bin/bash
# Written by `syscost fleet plan`. Run again (syscost fleet submit), it measures what is missing.
cd "$(dirname "$0")" && kubectl apply --filename fleet.json >/dev/null || exit 2
# Pulling an image takes minutes now and then. Pods that do not start cost their own steps.
kubectl wait --for=jsonpath='{.status.ready}'=@NUMBER@ job/@NAME@ --timeout=300s >/dev/null ||
    echo "not every pod was ready: kubectl describe job/@NAME@" >&2
kubectl get pods --selector job-name=@NAME@ --field-selector status.phase=Running \
    --output jsonpath='{range .items[*]}{.spec.nodeName},{.metadata.name}{"\n"}{end}' >pods.csv
[ -s pods.csv ] || { echo "error: no pod of the fleet runs: kubectl describe job/@NAME@" >&2; exit 2; }
step() { # number and name: started here, its two ends in pods
    [ -d "runs/$2/run" ] && return
    setpriv --pdeathsig KILL @BINARY@ fleet step "$PWD" "$1" >>"logs/$2.log" 2>&1 </dev/null &
}
end() {
    if [ "$(ls -d runs/*/run 2>/dev/null | wc -l)" = @STEPS@ ]; then
        exec kubectl delete --wait=false --filename fleet.json >/dev/null
    fi
    echo "the pods wait for another submit, or: kubectl delete --filename $PWD/fleet.json" >&2
    exit 1
}
