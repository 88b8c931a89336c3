//! srun: a step of the Slurm allocation that syscost runs in, or an allocation of its own where it runs in none.
//! Source: srun(1).

use super::{Transport, owned, plain_name};

pub struct Srun;

impl Transport for Srun {
    fn name(&self) -> &'static str {
        "srun"
    }

    fn form(&self) -> &'static str {
        "srun:NODE"
    }

    fn place(&self, text: &str) -> Result<String, String> {
        plain_name("node", text, "._-")
    }

    fn words(&self, place: &str) -> Vec<String> {
        let node = format!("--nodelist={place}");
        owned(&[
            "srun",
            // Both sides of a path are steps of one allocation, which share its CPUs.
            "--overlap",
            "--nodes=1",
            "--ntasks=1",
            "--ntasks-per-node=1",
            // syscost pins its threads itself.
            "--cpu-bind=quiet,none",
            "--mpi=none",
            // A node that is taken is an answer, not a wait.
            "--immediate=30",
            "--quiet",
            "--unbuffered",
            "--input=all",
            "--output=all",
            "--error=all",
            &node,
        ])
    }

    fn by_hand(&self, place: &str) -> String {
        format!("srun --overlap -N1 -n1 -w {place}")
    }

    /// They put words of their own into what is said there, or ask for more than one process.
    fn forgets(&self) -> &'static [&'static str] {
        &[
            "SLURM_LABELIO",
            "SLURM_NTASKS",
            "SLURM_NPROCS",
            "SLURM_NNODES",
            "SLURM_NTASKS_PER_NODE",
            "SLURM_DISTRIBUTION",
            "SLURM_MULTI_PROG",
            "SLURM_OPEN_MODE",
        ]
    }

    fn may_share_files(&self) -> bool {
        true
    }

    fn install(&self) -> &'static str {
        "run it where Slurm's commands are: a login node, or apt-get install slurm-client"
    }

    fn remedies(&self) -> &'static [(&'static [&'static str], &'static str)] {
        &[
            (
                &["invalid node name", "node configuration is not available", "not in this job"],
                "name one node that `sinfo -N` shows; inside an allocation one of its own: scontrol show hostnames",
            ),
            (
                &["unable to contact", "configuration source", "connection refused", "munge"],
                "run it where Slurm answers (`sinfo` says so), or set SLURM_CONF",
            ),
            (
                &["busy", "unable to allocate resources", "resources are", "no answer within"],
                "the node is taken or down: see `squeue -w {place}` and `sinfo -n {place}`; to keep both ends while you \
                 measure, run syscost inside an allocation that holds them: salloc -w NODE,{place}",
            ),
            (&[""], "see what it says: {command} true"),
        ]
    }
}
