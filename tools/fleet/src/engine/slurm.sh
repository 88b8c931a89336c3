#!/bin/bash
# Written by `syscost fleet plan`. Submitted again, it measures what is missing.
#SBATCH --job-name=@NAME@
#SBATCH --nodes=@NUMBER@
#SBATCH --nodelist=@HOSTS@
#SBATCH --exclusive
#SBATCH --no-kill
#SBATCH --time=@MINUTES@
#SBATCH --chdir=@PLACE@
#SBATCH --output=@PLACE@/logs/job-%j.log
step() { # number, name and node
    [ -d "runs/$2/run" ] && return
    timeout --kill-after=10 @SECONDS@ srun --quiet --nodes=1 --ntasks=1 --nodelist="$3" --whole --overlap --mem=0 --cpu-bind=quiet,none \
        --input=none --output="logs/$2.log" --error="logs/$2.log" --open-mode=append @BINARY@ fleet step @PLACE@ "$1" \
        2>>"logs/$2.log" &
}
end() { exit 0; }
