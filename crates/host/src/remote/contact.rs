//! First contact with another host: finds the same syscost there, or copies this very binary.
//!
//! One script, of constants only, runs there: it says what the system is and becomes the agent of a
//! syscost that was copied earlier or is installed. Whose checksum is another one is not used where ours
//! can run. What is copied lies in one directory that only its user may enter, and nothing else is left.

use super::agent::SUBCOMMAND;
use super::connection::{Connection, NotOpened, ssh};
use super::frame::{Hello, PROTOCOL};
use super::target::Target;
use super::{COPIES, InstalledCopy, patience, plain, refusal};
use crate::Unavailable;
use std::fs::File;
use std::io::{self, Read};
use std::process::Child;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};
use syscost_sys::sleep::sleep;
use syscost_sys::{process, program, random};

/// Where copies lie, below the cache directory of the user there.
const FOLDER: &str = "syscost/bin";
/// Copies of other builds that stay beside a new one: somebody may go back to an older build.
const KEPT: u32 = 2;
/// A slow line needs a while for some ten megabytes.
const COPY_LIMIT: Duration = Duration::from_secs(600);
const LOOK: Duration = Duration::from_millis(20);

/// How an agent of the right build is started there.
#[derive(Clone, Debug)]
pub struct AgentBinary {
    /// Only the copy is used.
    copied: bool,
    sha256: String,
}

/// An agent that is there, and how it came about.
pub struct Contact {
    pub line: Arc<Connection>,
    pub hello: Hello,
    pub way: AgentBinary,
}

/// Finds or makes an agent of this version there.
pub fn first(target: &Target) -> Result<Contact, Unavailable> {
    let sha256 = program::sha256().map_err(|error| Unavailable {
        reason: format!("cannot read this program's own file: {error}"),
        remedy: "run it from a file that its user may read".into(),
    })?;
    let mut way = AgentBinary { copied: false, sha256 };
    let (found, theirs) = match open(target, &way) {
        Ok((line, system, hello)) => (Some((line, hello)), system),
        Err(NotOpened { system: Some(system), .. }) => (None, system),
        Err(failed) => return Err(refusal::by_ssh(target, &failed)),
    };
    let ours = format!("Linux {}", std::env::consts::ARCH);
    match found {
        Some((line, hello)) if hello.sha256 == way.sha256 && hello.protocol == PROTOCOL => {
            return Ok(Contact { line, hello, way });
        }
        // Another build of the same version is as near as another architecture allows.
        Some((line, hello)) if theirs != ours && theirs.starts_with("Linux ") && same_version(&hello) => {
            return Ok(Contact { line, hello, way });
        }
        _ if theirs != ours => return Err(refusal::another_system(target, &theirs, &ours)),
        _ => {}
    }
    way.copied = true;
    copy(target, &way.sha256).map_err(|words| refusal::not_copied(target, &words))?;
    note(target, &way.sha256);
    let (line, _, hello) = open(target, &way).map_err(|failed| refusal::by_agent(target, &failed))?;
    if hello.sha256 != way.sha256 {
        return Err(refusal::not_copied(target, "what arrived has another checksum"));
    }
    Ok(Contact { line, hello, way })
}

/// For [`super::copies`]: it stays there also when nothing comes of it.
fn note(target: &Target, sha256: &str) {
    let place = format!("{target}:~/.cache/{FOLDER}/{sha256}");
    let removal = format!("{} rm -r .cache/{FOLDER}", target.ssh_command());
    COPIES.lock().unwrap_or_else(PoisonError::into_inner).push(InstalledCopy { place, removal });
}

fn same_version(hello: &Hello) -> bool {
    hello.version == env!("CARGO_PKG_VERSION") && hello.protocol == PROTOCOL
}

/// A line to the agent that was found before.
pub fn again(target: &Target, way: &AgentBinary) -> Result<(Arc<Connection>, Hello), Unavailable> {
    match open(target, way) {
        Ok((line, _, hello)) => Ok((line, hello)),
        Err(failed) if failed.system.is_none() => Err(refusal::by_ssh(target, &failed)),
        Err(failed) => Err(refusal::by_agent(target, &failed)),
    }
}

fn open(target: &Target, way: &AgentBinary) -> Result<(Arc<Connection>, String, Hello), NotOpened> {
    let mark = random::token().map_err(|error| NotOpened {
        system: None,
        status: None,
        words: format!("the kernel gives no random numbers: {error}"),
    })?;
    let mark = format!("syscost-{mark}");
    Connection::open(target, &script(way, &mark), &mark)
}

/// Holds no quote of its own kind, so that any login shell hands it on as it is.
fn script(way: &AgentBinary, mark: &str) -> String {
    let AgentBinary { copied, sha256 } = way;
    let installed = if *copied { "" } else { " \"$(command -v syscost)\"" };
    format!(
        "exec sh -c 'echo; echo {mark}; echo \"$(uname -s) $(uname -m)\"; \
         for p in \"${{XDG_CACHE_HOME:-$HOME/.cache}}/{FOLDER}/{sha256}\"{installed}; do \
         if [ -x \"$p\" ]; then exec \"$p\" {SUBCOMMAND}; fi; \
         [ -f \"$p\" ] && echo \"$p may not be executed\" >&2 && exit 126; done; echo no syscost is there >&2; exit 1'"
    )
}

/// Receives a program of this length and puts it where [`script`] looks: whole, or not at all. Of other builds
/// the newest stay, and whichever somebody runs; nothing that is not named like a copy is touched.
fn receiving(sha256: &str, bytes: u64) -> String {
    format!(
        "exec sh -c 'umask 077; d=\"${{XDG_CACHE_HOME:-$HOME/.cache}}/{FOLDER}\"; mkdir -p \"$d\" && chmod 700 \"$d\" || exit 1; \
         t=\"$d/.{sha256}.$$\"; trap \"rm -f \\\"\\$t\\\"\" EXIT; trap \"exit 1\" HUP INT TERM PIPE; \
         cat > \"$t\" && [ \"$(wc -c < \"$t\")\" -eq {bytes} ] && chmod 700 \"$t\" && mv \"$t\" \"$d/{sha256}\" || exit 1; \
         n=0; for f in $(ls -t \"$d\"); do \
         [ \"$f\" = {sha256} ] || [ \"$(expr \"$f\" : \"[0-9a-f]*\")\" -ne 64 ] || [ \"${{#f}}\" -ne 64 ] && continue; \
         n=$((n+1)); [ \"$n\" -le {KEPT} ] && continue; \
         ls -l /proc/[0-9]*/exe 2>/dev/null | grep -q \"$f\" || rm -f \"$d/$f\"; done; exit 0'"
    )
}

/// Puts this binary there.
fn copy(target: &Target, sha256: &str) -> Result<(), String> {
    let mut binary = File::open(program::path()).map_err(|error| error.to_string())?;
    let bytes = binary.metadata().map_err(|error| error.to_string())?.len();
    let script = receiving(sha256, bytes);
    let mut child = ssh(target, &script).spawn().map_err(|error| error.to_string())?;
    let mut input = child.stdin.take().expect("piped");
    let (mut output, mut errors) = (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
    std::thread::scope(|scope| {
        let drained = scope.spawn(move || io::copy(&mut output, &mut io::sink()));
        let words = scope.spawn(move || {
            let mut words = Vec::new();
            let _ = errors.by_ref().take(4096).read_to_end(&mut words);
            let _ = io::copy(&mut errors, &mut io::sink());
            plain(&String::from_utf8_lossy(&words))
        });
        let sent = scope.spawn(move || io::copy(&mut binary, &mut input));
        let status = wait(&mut child);
        let _ = drained.join();
        let sent = sent.join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked")));
        let words = words.join().unwrap_or_default();
        match (status, sent) {
            (Ok(true), Ok(_)) => Ok(()),
            (Err(error), _) => Err(error.to_string()),
            (_, Err(error)) if words.is_empty() => Err(error.to_string()),
            _ if words.is_empty() => Err("it did not arrive whole; is the disk there full?".into()),
            _ => Err(words),
        }
    })
}

/// The end of the copying ssh, or of our patience: then it is killed, and its pipes close.
fn wait(child: &mut Child) -> io::Result<bool> {
    let limit = patience::left(COPY_LIMIT);
    let end = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        if Instant::now() > end {
            process::kill_group(child.id());
            let _ = child.wait();
            return Err(io::Error::other(format!("it took more than {} s", limit.as_secs_f64().ceil())));
        }
        sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;
    use std::process::{Command, Stdio};
    use std::time::SystemTime;

    #[test]
    fn scripts_hold_no_quote_that_a_login_shell_would_end_at() {
        for copied in [false, true] {
            let script = script(&AgentBinary { copied, sha256: "ab12".into() }, "syscost-00");
            assert!(is_handed_on(&script), "{script}");
            assert_eq!(script.contains("command -v"), !copied);
        }
        assert!(is_handed_on(&receiving("ab12", 7)));
    }

    fn is_handed_on(script: &str) -> bool {
        let inner = script.strip_prefix("exec sh -c '").and_then(|s| s.strip_suffix('\''));
        inner.is_some_and(|inner| !inner.contains(['\'', '!', '\n']))
    }

    /// What a shell says that cannot start the copy, and the status with which it ends.
    fn refused_by_a_shell(put: impl Fn(&std::path::Path)) -> Unavailable {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir_all(home.path().join(FOLDER)).unwrap();
        put(&home.path().join(FOLDER).join("ab12"));
        let script = script(&AgentBinary { copied: true, sha256: "ab12".into() }, "syscost-00");
        let output =
            Command::new("sh").args(["-c", &script]).env("XDG_CACHE_HOME", home.path()).output().unwrap();
        assert!(!output.status.success(), "{output:?}");
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        let failed = NotOpened { system: None, status: output.status.code(), words };
        refusal::by_agent(&Target::parse("ssh://lab").unwrap(), &failed)
    }

    #[test]
    fn what_a_shell_cannot_start_has_its_remedy() {
        let nothing = refused_by_a_shell(|_| {});
        assert!(nothing.remedy.contains("install the same syscost on lab"), "{nothing:?}");
        // As a file system mounted with noexec has it: nobody may execute it.
        let forbidden = refused_by_a_shell(|copy| fs::write(copy, "#!/bin/sh\n").unwrap());
        assert!(forbidden.remedy.contains("noexec"), "{forbidden:?}");
        // A program for a loader that is not there, as on a host with another C library.
        let foreign = refused_by_a_shell(|copy| {
            let mut program = fs::read("/bin/sh").unwrap();
            let loader = program.windows(4).position(|bytes| bytes == b"/ld-").expect("a dynamic program");
            program[loader + 1..loader + 3].copy_from_slice(b"no");
            fs::write(copy, program).unwrap();
            fs::set_permissions(copy, fs::Permissions::from_mode(0o700)).unwrap();
        });
        assert!(foreign.remedy.contains("crt-static"), "{foreign:?}");
    }

    #[test]
    fn old_copies_go_but_the_newest_and_the_one_in_use() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(FOLDER);
        fs::create_dir_all(&folder).unwrap();
        // Nobody else's process has a file of such a name: its own number is part of it.
        let name = |n: u64| format!("{:064x}", u64::from(std::process::id()) << 16 | n);
        let old = |name: &str, hours: u64| {
            let file = folder.join(name);
            fs::copy("/bin/sleep", &file).unwrap();
            let then = SystemTime::now() - Duration::from_secs(3600 * hours);
            File::options().write(true).open(&file).unwrap().set_modified(then).unwrap();
            file
        };
        let [used, ..] = [5, 4, 3, 2, 1].map(|age| old(&name(age), age));
        let foreign = old("notes", 9);
        let mut running = Command::new(&used).arg("60").spawn().unwrap();
        let mut receiver = Command::new("sh");
        receiver.args(["-c", &receiving(&name(0), 3)]).env("XDG_CACHE_HOME", home.path());
        let mut receiver = receiver.stdin(Stdio::piped()).spawn().unwrap();
        receiver.stdin.take().unwrap().write_all(b"new").unwrap();
        assert!(receiver.wait().unwrap().success());
        running.kill().unwrap();
        running.wait().unwrap();
        let mut left: Vec<String> = fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        // The new one, two of the others, the one that runs.
        let mut wanted = vec![name(0), name(1), name(2), name(5), "notes".to_string()];
        wanted.sort();
        assert_eq!(left, wanted);
        assert!(foreign.exists());
    }
}
