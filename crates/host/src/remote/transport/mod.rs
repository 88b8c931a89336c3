//! Ways to start a process somewhere else, with its standard input and output: one visible list of command templates.
//!
//! A row says which words start a process at a place, how the place is read, and what to do where that fails. The place
//! reaches no shell here, holds plain characters only, and never begins like an option. Nothing else of syscost knows
//! ssh from srun.

pub(super) mod place;
pub mod rsh;
pub mod words;

use place::Parts;
use std::fmt;

/// A program that starts processes elsewhere. In its templates `{part}` stands for a part of the place.
pub struct Transport {
    /// What stands before the place in a path, and in `--rsh`.
    pub name: &'static str,
    /// How a user writes a path by it.
    pub form: &'static str,
    /// The parts of a place, or how one is written.
    pub place: fn(&str) -> Result<Parts, String>,
    /// The words before those of the process. A group is left out where the place lacks a part of it.
    pub command: &'static [&'static str],
    /// The same as a person types it, where that is shorter.
    pub by_hand: &'static [&'static str],
    /// The place as messages have it.
    pub shown: &'static str,
    /// What to do where its program is not there.
    pub install: &'static str,
    /// What it says in lower case, and what helps then; `{command}` stands for what a person types.
    pub remedies: &'static [(&'static [&'static str], &'static str)],
    /// Variables of the environment that would make its program do something else.
    pub forgets: &'static [&'static str],
    /// Does the process see this very file system? Then nothing has to be found or copied there.
    pub sees_our_files: bool,
    /// Do its hosts often share a file system, so that our own file may be there at the same path?
    pub may_share_files: bool,
    /// Does the far side know by which address it was reached (`SSH_CONNECTION`)?
    pub tells_address: bool,
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Transport {
    fn eq(&self, other: &Transport) -> bool {
        self.name == other.name
    }
}

impl Eq for Transport {}

const SEE_WHAT_IT_SAYS: (&[&str], &str) = (&[""], "see what it says: {command} true");

/// What most transports have in common.
const ROW: Transport = Transport {
    name: "",
    form: "",
    place: place::container,
    command: &[],
    by_hand: &[],
    shown: "",
    install: "",
    remedies: &[SEE_WHAT_IT_SAYS],
    forgets: &[],
    sees_our_files: false,
    may_share_files: false,
    tells_address: false,
};

/// Every transport, in the order of help. The first is what `rsh:` means where no command is named.
pub static ALL: &[Transport] = &[SSH, SRUN, KUBECTL, DOCKER, PODMAN, NSENTER, RSH];

/// Source: ssh(1), ssh_config(5). A master that is there is used; none is made that would outlive the run.
const SSH: Transport = Transport {
    name: "ssh",
    form: "ssh://[USER@]HOST[:PORT]",
    place: place::login,
    command: &[
        "ssh -T -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=5 -o ServerAliveCountMax=3",
        "-o ControlMaster=no -o ClearAllForwardings=yes -o ForwardAgent=no -o RemoteCommand=none",
        "-p {port}",
        "-l {user}",
        "-- {host}",
    ],
    by_hand: &["ssh", "-p {port}", "{login}"],
    shown: "{login}",
    install: "install the client: apt-get install openssh-client",
    remedies: &[
        (
            &["host key verification failed", "identification has changed"],
            "connect once by hand and compare the key with that of the host: {command}; where the host got a new key, \
             and only then, forget the old one: ssh-keygen -R {key}",
        ),
        (
            &["permission denied", "too many authentication failures"],
            "syscost asks for no password: give the host your key with ssh-copy-id, or start ssh-agent; try {command} \
             -o BatchMode=yes true",
        ),
        (
            &["not available", "nologin"],
            "that account has no shell there: log in as another user, or give it one (usermod -s /bin/sh NAME)",
        ),
        (
            &["could not resolve", "name or service not known"],
            "write a name that resolves, an address, or a Host of ~/.ssh/config",
        ),
        (&["connection refused"], "start sshd there, or name its port: ssh://{place}:PORT"),
        (
            &["timed out", "no route to host", "unreachable"],
            "see that the host is up and lets ssh in: {command}",
        ),
        (&[""], "see what it says: {command} -o BatchMode=yes true"),
    ],
    tells_address: true,
    ..ROW
};

/// A step of the Slurm allocation that syscost runs in, or an allocation of its own where it runs in none. Both sides of a
/// path are steps of one allocation, which share its CPUs (`--overlap`); syscost pins its threads itself; a node that is
/// taken is an answer, not a wait (`--immediate`). Source: srun(1).
const SRUN: Transport = Transport {
    name: "srun",
    form: "srun:NODE",
    place: place::node,
    command: &[
        "srun --overlap --nodes=1 --ntasks=1 --ntasks-per-node=1 --cpu-bind=quiet,none --mpi=none --immediate=30",
        "--quiet --unbuffered --input=all --output=all --error=all --nodelist={place}",
    ],
    by_hand: &["srun --overlap -N1 -n1 -w {place}"],
    shown: "srun:{place}",
    install: "run it where Slurm's commands are: a login node, or apt-get install slurm-client",
    remedies: &[
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
        SEE_WHAT_IT_SAYS,
    ],
    // They put words of their own into what is said there, or ask for more than one process.
    forgets: &[
        "SLURM_LABELIO",
        "SLURM_NTASKS",
        "SLURM_NPROCS",
        "SLURM_NNODES",
        "SLURM_NTASKS_PER_NODE",
        "SLURM_DISTRIBUTION",
        "SLURM_MULTI_PROG",
        "SLURM_OPEN_MODE",
    ],
    may_share_files: true,
    ..ROW
};

/// A process in a container of a pod, by the cluster and the user of your kubeconfig. Source: kubectl exec --help.
const KUBECTL: Transport = Transport {
    name: "kubectl",
    form: "kubectl:[NAMESPACE/]POD[:CONTAINER]",
    place: place::pod,
    command: &["kubectl exec -i", "--namespace={namespace}", "--container={container}", "{pod} --"],
    shown: "kubectl:{place}",
    install: "install kubectl (https://kubernetes.io/docs/tasks/tools), of a version near the cluster's",
    remedies: &[
        (
            &["connection to the server", "unable to connect to the server", "no configuration", "context"],
            "choose a cluster that answers: kubectl config get-contexts; kubectl cluster-info",
        ),
        (
            &["forbidden", "unauthorized"],
            "your role has to allow `create` of pods/exec in that namespace: kubectl auth can-i create pods/exec",
        ),
        (
            &["is not valid for pod", "container not found", "container name must be specified"],
            "name one of its containers: kubectl:[NAMESPACE/]POD:CONTAINER (kubectl describe pod)",
        ),
        (
            &["not found", "unable to upgrade", "completed pod", "does not have a host"],
            "name a pod that runs: kubectl get pods --all-namespaces --field-selector=status.phase=Running",
        ),
        SEE_WHAT_IT_SAYS,
    ],
    ..ROW
};

/// A process in a running container, by the daemon that the command talks to (DOCKER_HOST, its context). Source: docker
/// container exec(1).
const DOCKER: Transport = Transport {
    name: "docker",
    form: "docker:NAME",
    command: &["docker exec -i {place}"],
    shown: "docker:{place}",
    install: "install docker's command (apt-get install docker.io), or use podman:NAME",
    remedies: &[
        (
            &["permission denied while trying to connect", "dial unix"],
            "let your user reach the daemon: run as root, or join the group docker",
        ),
        (
            &["cannot connect to the docker daemon", "is the docker daemon running"],
            "start the daemon (systemctl start docker), or name another one: DOCKER_HOST",
        ),
        (&["no such container"], "name a container that `docker ps` shows"),
        (&["is not running", "is paused", "is restarting"], "start it: docker start {place}"),
        SEE_WHAT_IT_SAYS,
    ],
    ..ROW
};

/// A process in a running container of this user. Source: podman-exec(1).
const PODMAN: Transport = Transport {
    name: "podman",
    form: "podman:NAME",
    command: &["podman exec -i {place}"],
    shown: "podman:{place}",
    install: "install podman: apt-get install podman",
    remedies: &[
        (
            &["no container with name", "no such container"],
            "name a container that `podman ps` of the same user shows: root has others than you",
        ),
        (&["state improper", "is not running", "on running containers"], "start it: podman start {place}"),
        SEE_WHAT_IT_SAYS,
    ],
    ..ROW
};

/// A process of this machine in the network (and host name) of another one, such as that of a container. It keeps our files
/// and our control group: nothing is copied, and limits of the container's CPU time do not hold. Source: nsenter(1).
const NSENTER: Transport = Transport {
    name: "nsenter",
    form: "nsenter:PID",
    place: place::process,
    command: &["nsenter --target={place} --net --uts", "--{user} --preserve-credentials", "--"],
    shown: "nsenter:{place}",
    install: "install util-linux, which has nsenter",
    remedies: &[
        (
            &["no such file or directory", "no such process"],
            "name a process that runs: lsns -t net; podman inspect -f '{{.State.Pid}}' NAME; docker has the same",
        ),
        (
            &["operation not permitted", "permission denied"],
            "enter it as root, or as the user whose container it is",
        ),
        SEE_WHAT_IT_SAYS,
    ],
    sees_our_files: true,
    ..ROW
};

/// Any command that starts a process at a place: [`rsh`] has it.
const RSH: Transport = Transport {
    name: "rsh",
    form: "rsh:HOST (with --rsh COMMAND)",
    place: place::host,
    shown: "rsh:{place}",
    install: "write a program that is in the search path, or its whole path: --rsh 'COMMAND {host}'",
    remedies: &[(
        &[""],
        "it has to start a process there with its standard input and output, and ask nothing: {command} true",
    )],
    may_share_files: true,
    ..ROW
};

/// The transport of this name.
pub fn find(name: &str) -> Option<&'static Transport> {
    ALL.iter().find(|transport| transport.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remote::target::Target;

    #[test]
    fn no_place_is_an_option_and_every_place_is_a_word_of_its_own_or_a_part_of_one() {
        for transport in ALL {
            for hostile in
                ["", "-x", "--privileged", "a b", "a;b", "$(x)", "a\nb", "a\u{1b}[2J", "`x`", "a|b"]
            {
                assert!((transport.place)(hostile).is_err(), "{transport:?} takes {hostile:?}");
            }
            let target = Target::at(transport, "77").unwrap();
            let words = target.words();
            // Its command is named at run time.
            let program = usize::from(transport.name != "rsh");
            assert!(words.len() > program && words.iter().any(|word| word.contains("77")), "{words:?}");
            assert!(words.iter().all(|word| !word.contains('{')), "{words:?}");
            assert!(transport.form.starts_with(transport.name) && target.to_string().contains("77"));
            assert!(!transport.install.is_empty() && !target.by_hand().is_empty());
        }
    }

    #[test]
    fn words_are_as_each_program_takes_them() {
        let of = |name: &str, place: &str| Target::at(find(name).unwrap(), place).unwrap().words().join(" ");
        for (place, end) in [
            ("//me@lab-2.example:2222/", "RemoteCommand=none -p 2222 -l me -- lab-2.example"),
            ("[fd00::2]:22", "-p 22 -- fd00::2"),
            ("[fe80::1%eth0]", "RemoteCommand=none -- fe80::1%eth0"),
        ] {
            assert!(of("ssh", place).ends_with(end), "{}", of("ssh", place));
        }
        let ssh = Target::at(&SSH, "me@lab:2222").unwrap();
        assert_eq!(
            (ssh.by_hand().as_str(), ssh.filled("{key}")),
            ("ssh -p 2222 me@lab", "'[lab]:2222'".into())
        );
        assert!(of("srun", "n1").contains("--nodelist=n1"));
        assert_eq!(of("kubectl", "web"), "kubectl exec -i web --");
        assert_eq!(
            of("kubectl", "prod/web-0:app"),
            "kubectl exec -i --namespace=prod --container=app web-0 --"
        );
        assert_eq!(of("docker", "web_1"), "docker exec -i web_1");
        assert_eq!(of("podman", "web"), "podman exec -i web");
        assert!(of("nsenter", "4711").starts_with("nsenter --target=4711 --net"));
        for (name, wrong) in [
            ("nsenter", "web"),
            ("nsenter", "0"),
            ("kubectl", "a/b/c"),
            ("kubectl", "a:b:c"),
            ("srun", "n[1-3]"),
        ] {
            assert!((find(name).unwrap().place)(wrong).is_err(), "{name}:{wrong}");
        }
    }
}
