//! Why another place cannot be used, and what would make it agree.
//!
//! Words of its transport and of the far side are quoted, cleaned; nothing is decided by them but which remedy is
//! named. Source: ssh(1), ld.so(8).

use super::connection::{NO_PROGRAM, NotOpened};
use super::reach::NoConnection;
use super::target::{Ports, Target};
use crate::Unavailable;
use std::net::{IpAddr, SocketAddr};

/// Exit status of ssh when it is ssh itself that failed.
const SSH_FAILED: i32 = 255;

/// A line that could not be opened before anything of ours ran there.
pub fn not_started(target: &Target, failed: &NotOpened) -> Unavailable {
    let words = &failed.words;
    let said = words.to_lowercase();
    let transport = target.transport;
    let (reason, remedy) = if words.starts_with(NO_PROGRAM) {
        (format!("cannot reach {target}: {words} in the search path"), transport.install)
    } else {
        let knows = |pieces: &[&str]| pieces.iter().any(|piece| said.contains(piece));
        let (_, remedy) = transport.remedies.iter().find(|(pieces, _)| knows(pieces)).unwrap_or(&(&[], ""));
        let what = if transport.tells_address { "log in to" } else { "start a process at" };
        (format!("cannot {what} {target}: {words}"), *remedy)
    };
    let remedy = target.filled(&remedy.replace("{command}", &target.by_hand()));
    Unavailable { reason, remedy }
}

/// No shell is there, and no syscost that starts as this one does.
pub fn no_shell(target: &Target, shell: &NotOpened, without: &NotOpened) -> Unavailable {
    let words = &without.words;
    if is_missing(words) && !words.contains("syscost") {
        // What is missing is neither of the two: the place itself.
        return not_started(target, without);
    }
    if !is_missing(words) {
        return Unavailable {
            reason: format!("{target} has no shell, and its syscost does not answer as this one: {words}"),
            remedy: format!("put the static build of syscost {} there", env!("CARGO_PKG_VERSION")),
        };
    }
    Unavailable {
        reason: format!("{target} has neither a shell nor syscost: {}; {}", shell.words, without.words),
        remedy: "put the static build into its search path (dist/image makes an image that has it), or, on the machine \
                 where it runs, measure its network from outside: nsenter:PID"
            .into(),
    }
}

/// As engines, shells and Slurm say it.
pub fn is_missing(words: &str) -> bool {
    let said = words.to_lowercase();
    said.contains("not found") || said.contains("no such file")
}

pub fn another_version(target: &Target, theirs: &str) -> Unavailable {
    Unavailable {
        reason: format!("{target} has syscost {theirs} and no shell that could receive this one"),
        remedy: format!("put syscost {} there", env!("CARGO_PKG_VERSION")),
    }
}

/// The far side ran our command and no agent came of it.
pub fn by_agent(target: &Target, failed: &NotOpened) -> Unavailable {
    let words = &failed.words;
    if failed.status == Some(SSH_FAILED) && target.transport.tells_address {
        return not_started(target, failed);
    }
    Unavailable {
        reason: format!("syscost does not start on {target}: {words}"),
        remedy: start_it(target, failed),
    }
}

/// What lets a program start that is there.
fn start_it(target: &Target, NotOpened { status, words, .. }: &NotOpened) -> String {
    let library = ["GLIBC_", "libgcc_s", "error while loading shared libraries", "symbol not found"];
    let cannot_load = library.iter().any(|piece| words.contains(piece)) || *status == Some(127);
    if cannot_load {
        "use the static build of syscost, which needs no library there: RUSTFLAGS=\"-C target-feature=+crt-static\" \
         cargo build --release --target x86_64-unknown-linux-gnu (or that of your machine)"
            .to_string()
    } else if words.contains("Permission denied") || *status == Some(126) {
        format!(
            "every folder there that can be written forbids programs (noexec): install the same syscost in the search path of {target}"
        )
    } else {
        format!("install the same syscost on {target}, in the search path of {}", target.by_hand())
    }
}

pub fn another_system(target: &Target, theirs: &str, ours: &str) -> Unavailable {
    Unavailable {
        reason: format!(
            "{target} is {theirs}, this host is {ours}, and no syscost {} is installed there",
            env!("CARGO_PKG_VERSION")
        ),
        remedy: format!(
            "install syscost {} built for {theirs} there, in the search path of {}",
            env!("CARGO_PKG_VERSION"),
            target.by_hand()
        ),
    }
}

pub fn not_copied(target: &Target, failed: &NotOpened) -> Unavailable {
    let reason = format!("syscost could not be copied to {target}: {}", failed.words);
    if matches!(failed.status, Some(126 | 127)) {
        return Unavailable { reason, remedy: start_it(target, failed) };
    }
    Unavailable {
        reason,
        remedy: format!(
            "let ~/.cache, /dev/shm, /tmp or /var/tmp there be written: {}; or install the same syscost there",
            target.by_hand()
        ),
    }
}

/// No connection for data from here to there.
pub fn no_data(
    target: &Target,
    near: &str,
    from: IpAddr,
    to: SocketAddr,
    ports: Option<Ports>,
    (because, error): (NoConnection, &str),
) -> Unavailable {
    let (address, port) = (to.ip(), to.port());
    let fixed = "have it listen on ports that a firewall can open: add ?ports=40000-40100 to the path";
    let (what, remedy) = match because {
        NoConnection::NoAnswer => {
            let open = ports.map_or_else(|| format!("{fixed}, then open them"), |_| "open them".to_string());
            let range = ports.unwrap_or((40000, 40100));
            let rule = rules(from, address, range);
            (
                "no answer: something between drops the packets, a firewall or an address that the near side does not reach",
                format!(
                    "{open} on {target}: {rule}; or name an address of {target} that {near} reaches: ?data=ADDRESS"
                ),
            )
        }
        NoConnection::Refused => (
            "refused: a firewall rejects it, or the address belongs to another host",
            format!("let TCP from {from} in on {target}, or name its own address: ?data=ADDRESS; {fixed}"),
        ),
        NoConnection::Unreachable => (
            "unreachable: no route, or a firewall that says so",
            format!(
                "see the route: ip route get {address}; or name another address of {target}: ?data=ADDRESS"
            ),
        ),
        NoConnection::Other => ("it failed", format!("name another address of {target}: ?data=ADDRESS")),
    };
    Unavailable {
        reason: format!(
            "the data connection from {from} to {address} port {port} on {target} cannot be made: {what} ({error})"
        ),
        remedy,
    }
}

/// The rule that is missing, as the usual tools write it.
fn rules(from: IpAddr, to: IpAddr, (first, last): Ports) -> String {
    let (family, iptables) = if to.is_ipv4() { ("ip", "iptables") } else { ("ip6", "ip6tables") };
    format!(
        "nft add rule inet filter input {family} saddr {from} {family} daddr {to} tcp dport {first}-{last} accept (or: \
         {iptables} -I INPUT -s {from} -d {to} -p tcp --dport {first}:{last} -j ACCEPT; or: ufw allow proto tcp from \
         {from} to {to} port {first}:{last})"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remote::target::Route;

    fn failed(status: Option<i32>, words: &str) -> NotOpened {
        NotOpened { system: None, status, words: words.into() }
    }

    fn far(path: &str) -> Target {
        Route::parse(path).unwrap().far
    }

    #[test]
    fn each_refusal_of_ssh_has_its_remedy() {
        let target = far("ssh://me@lab:2222");
        // ssh(1) ends with 255 where it fails itself, nologin(8) with 1.
        for (status, words, remedy) in [
            (Some(255), "Host key verification failed.", "ssh-keygen -R '[lab]:2222'"),
            (Some(255), "me@lab: Permission denied (publickey).", "ssh-copy-id"),
            (Some(255), "ssh: Could not resolve hostname lab: Name or service not known", "~/.ssh/config"),
            (Some(255), "ssh: connect to host lab port 2222: Connection refused", "start sshd"),
            (Some(255), "ssh: connect to host lab port 2222: Connection timed out", "is up"),
            (Some(1), "This account is currently not available.", "usermod -s"),
            (Some(255), "something new", "-o BatchMode=yes"),
            (None, "there is no program ssh", "openssh-client"),
        ] {
            let why = not_started(&target, &failed(status, words));
            assert!(why.remedy.contains(remedy) && why.reason.contains(words), "{why:?}");
        }
    }

    #[test]
    fn each_refusal_of_an_engine_has_its_remedy() {
        for (path, words, remedy) in [
            ("srun:n9", "srun: error: Unable to create step: Invalid node name specified", "sinfo -N"),
            (
                "srun:n1",
                "srun: error: Unable to allocate resources: Requested nodes are busy",
                "squeue -w n1",
            ),
            ("srun:n1", "no answer within 40 s", "salloc -w NODE,n1"),
            ("srun:n1", "there is no program srun", "slurm-client"),
            ("docker:web", "Error response from daemon: No such container: web", "docker ps"),
            (
                "docker:web",
                "Cannot connect to the Docker daemon at unix:///var/run/docker.sock.",
                "systemctl start docker",
            ),
            ("docker:web", "Error response from daemon: container 12 is not running", "docker start web"),
            (
                "podman:web",
                "Error: no container with name or ID \"web\" found: no such container",
                "podman ps",
            ),
            (
                "podman:web",
                "Error: can only create exec sessions on running containers: container state improper",
                "podman start web",
            ),
            ("kubectl:p", "The connection to the server localhost:8080 was refused", "get-contexts"),
            ("kubectl:p", "Error from server (NotFound): pods \"p\" not found", "kubectl get pods"),
            ("kubectl:p", "Error from server (Forbidden): pods \"p\" is forbidden", "auth can-i"),
            ("nsenter:99", "nsenter: cannot open /proc/99/ns/net: No such file or directory", "lsns"),
            (
                "nsenter:99",
                "nsenter: reassociate to namespace 'ns/net' failed: Operation not permitted",
                "as root",
            ),
        ] {
            let why = not_started(&far(path), &failed(Some(1), words));
            assert!(why.remedy.contains(remedy) && why.reason.contains(words), "{why:?}");
            assert!(!why.remedy.contains("{place}") && !why.remedy.contains("{command}"), "{why:?}");
        }
    }

    #[test]
    fn a_place_without_a_shell_says_what_it_lacks() {
        let target = far("podman:web");
        let shell = failed(Some(127), "crun: executable file `sh` not found in $PATH");
        let why = |words: &str| no_shell(&target, &shell, &failed(Some(127), words));
        let neither = why("crun: executable file `syscost` not found in $PATH");
        assert!(
            neither.reason.contains("neither a shell nor syscost") && neither.remedy.contains("nsenter:PID")
        );
        let older = why("error: unexpected argument 'syscost-00' found");
        assert!(
            older.reason.contains("does not answer as this one")
                && older.remedy.contains(env!("CARGO_PKG_VERSION"))
        );
    }

    #[test]
    fn an_older_library_names_the_static_build() {
        let target = far("ssh://lab");
        let words =
            "/root/.cache/syscost/bin/0: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.39' not found";
        // ld.so(8) ends with 1; what a shell ends with is in the tests of contact.rs.
        assert!(by_agent(&target, &failed(Some(1), words)).remedy.contains("crt-static"));
    }

    #[test]
    fn a_missing_firewall_rule_is_written_out() {
        let target = far("ssh://lab");
        let (from, to) = ("10.0.0.1".parse().unwrap(), "10.0.0.2:40000".parse().unwrap());
        let error = (NoConnection::NoAnswer, "timed out");
        let why = no_data(&target, "this host", from, to, Some((40000, 40001)), error);
        assert!(
            why.remedy.contains("saddr 10.0.0.1 ip daddr 10.0.0.2 tcp dport 40000-40001 accept"),
            "{why:?}"
        );
        assert!(!why.remedy.contains("?ports="), "{why:?}");
        assert!(no_data(&target, "this host", from, to, None, error).remedy.contains("?ports="));
        let six = no_data(
            &target,
            "this host",
            "fd00::1".parse().unwrap(),
            "[fd00::2]:9".parse().unwrap(),
            None,
            error,
        );
        assert!(six.remedy.contains("ip6 saddr fd00::1") && six.remedy.contains("ip6tables"), "{six:?}");
        let refused = no_data(&target, "this host", from, to, None, (NoConnection::Refused, "refused"));
        assert!(refused.reason.contains("refused") && refused.remedy.contains("?data="), "{refused:?}");
    }
}
