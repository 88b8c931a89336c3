//! First contact with another place: finds the same syscost there, or copies this very binary.
//!
//! A shell there reads one script, of constants only: it says what the system is and becomes the agent of a syscost
//! that was copied earlier, that hosts share, or that is installed. Whose checksum is another one is not used where
//! ours can run. What is copied lies in one directory that only its user may enter, and nothing else is left. A place
//! without a shell, such as a container with one program, starts the syscost that it has.

use super::agent::{SUBCOMMAND, this_system};
use super::connection::{Connection, Launch, NotOpened};
use super::frame::{self, Hello, PROTOCOL};
use super::target::Target;
use super::transport::words;
use super::{COPIES, InstalledCopy, patience, plain, refusal};
use crate::Unavailable;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};
use syscost_sys::sleep::sleep;
use syscost_sys::{process, program, random};

/// Where copies lie.
const FOLDERS: &str = include_str!("scripts/folders.sh");
const SEARCH: &str = include_str!("scripts/search.sh");
const RECEIVE: &str = include_str!("scripts/receive.sh");
/// Copies of other builds that stay beside a new one: somebody may go back to an older build.
const KEPT: u32 = 2;
/// A slow line needs a while for some ten megabytes.
const COPY_LIMIT: Duration = Duration::from_secs(600);
const LOOK: Duration = Duration::from_millis(20);
/// Of what is said while a program is copied.
const MOST_WORDS: u64 = 4096;

/// How an agent of the right build is started there.
#[derive(Clone, Debug, PartialEq, Eq)]
enum AgentBinary {
    /// A copy that was made earlier, our file on a shared file system, or what is installed.
    Found,
    /// The copy at this place.
    Copied(String),
    /// What is installed, where there is no shell.
    Installed,
    /// This very file.
    Ours,
}

/// An agent that is there, and how it came about.
pub struct Contact {
    pub line: Arc<Connection>,
    pub hello: Hello,
    pub way: ContactWay,
}

/// How it is met again.
#[derive(Clone, Debug)]
pub struct ContactWay {
    binary: AgentBinary,
    sha256: String,
}

/// Finds or makes an agent of this version there.
pub fn first(target: &Target) -> Result<Contact, Unavailable> {
    let sha256 = program::sha256().map_err(|error| Unavailable {
        reason: format!("cannot read this program's own file: {error}"),
        remedy: "run it from a file that its user may read".into(),
    })?;
    let binary = if target.transport.sees_our_files { AgentBinary::Ours } else { AgentBinary::Found };
    let mut way = ContactWay { binary, sha256 };
    let (found, theirs) = match open(target, &way) {
        Ok((line, system, hello)) => (Some((line, hello)), system),
        Err(NotOpened { system: Some(system), .. }) => (None, system),
        Err(failed) if has_no_shell(&failed) => {
            way.binary = AgentBinary::Installed;
            match open(target, &way) {
                Ok((line, system, hello)) => (Some((line, hello)), system),
                Err(without) => return Err(refusal::no_shell(target, &failed, &without)),
            }
        }
        Err(failed) => return Err(refusal::not_started(target, &failed)),
    };
    let ours = this_system();
    match found {
        Some((line, hello)) if hello.sha256 == way.sha256 && hello.protocol == PROTOCOL => {
            return Ok(Contact { line, hello, way });
        }
        // Another build of the same version is as near as another architecture allows.
        Some((line, hello)) if theirs != ours && theirs.starts_with("Linux ") && same_version(&hello) => {
            return Ok(Contact { line, hello, way });
        }
        // Nothing can be copied to where no shell receives it.
        Some((line, hello)) if way.binary == AgentBinary::Installed => {
            return if same_version(&hello) {
                Ok(Contact { line, hello, way })
            } else {
                Err(refusal::another_version(target, &plain(&hello.version)))
            };
        }
        _ if theirs != ours => return Err(refusal::another_system(target, &theirs, &ours)),
        _ => {}
    }
    let place = copy(target, &way.sha256).map_err(|failed| refusal::not_copied(target, &failed))?;
    note(target, &place);
    way.binary = AgentBinary::Copied(place);
    let (line, _, hello) = open(target, &way).map_err(|failed| refusal::by_agent(target, &failed))?;
    if hello.sha256 != way.sha256 {
        return Err(refusal::not_copied(target, &failed("what arrived has another checksum")));
    }
    Ok(Contact { line, hello, way })
}

/// For [`super::copies`]: it stays there also when nothing comes of it.
fn note(target: &Target, place: &str) {
    let folder = place.rsplit_once('/').map_or(place, |(folder, _)| folder);
    let removal = format!("{} rm -r {}", target.by_hand(), words::quote(folder));
    let place = format!("{target}:{place}");
    COPIES.lock().unwrap_or_else(PoisonError::into_inner).push(InstalledCopy { place, removal });
}

fn same_version(hello: &Hello) -> bool {
    hello.version == env!("CARGO_PKG_VERSION") && hello.protocol == PROTOCOL
}

/// Statuses and words of container engines and of Slurm for a program that is not there.
fn has_no_shell(failed: &NotOpened) -> bool {
    let said = failed.words.to_lowercase();
    refusal::is_missing(&said) && said.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == "sh")
}

/// A line to the agent that was found before.
pub fn again(target: &Target, way: &ContactWay) -> Result<(Arc<Connection>, Hello), Unavailable> {
    match open(target, way) {
        Ok((line, _, hello)) => Ok((line, hello)),
        Err(failed) if failed.system.is_none() => Err(refusal::not_started(target, &failed)),
        Err(failed) => Err(refusal::by_agent(target, &failed)),
    }
}

fn open(target: &Target, way: &ContactWay) -> Result<(Arc<Connection>, String, Hello), NotOpened> {
    let mark = new_mark()?;
    let words = |program: &str| vec![program.to_string(), SUBCOMMAND.to_string(), mark.clone()];
    let open = |words: &[String], input: &str, lends: Option<&File>| {
        Connection::open(target, &Launch { words, input, lends }, &mark)
    };
    match &way.binary {
        AgentBinary::Installed => open(&words("syscost"), "", None),
        AgentBinary::Ours => {
            let ours = File::open(program::path());
            let ours =
                ours.map_err(|error| failed(&format!("cannot read this program's own file: {error}")))?;
            open(&words(&format!("/proc/self/fd/{}", ours.as_raw_fd())), "", Some(&ours))
        }
        AgentBinary::Found => {
            let shared = target.transport.may_share_files.then(program::path);
            open(&shell(), &searching(&way.sha256, shared.as_deref(), &mark), None)
        }
        AgentBinary::Copied(place) => open(&shell(), &starting(place, &mark), None),
    }
}

/// Whether its words are executed or given to a shell, what runs is a shell that reads our script.
fn shell() -> Vec<String> {
    vec!["sh".to_string()]
}

fn failed(words: &str) -> NotOpened {
    NotOpened { system: None, status: None, words: words.into() }
}

fn new_mark() -> Result<String, NotOpened> {
    let token =
        random::token().map_err(|error| failed(&format!("the kernel gives no random numbers: {error}")))?;
    Ok(format!("syscost-{token}"))
}

/// One compound command, so that a shell has read all of it before it does any of it: what comes behind is the agent's.
fn script(parts: &[&str]) -> String {
    format!("{{\n{}\n}}\n", parts.join("\n"))
}

fn greeting(mark: &str) -> String {
    format!("echo; echo {mark}; echo \"$(uname -s) $(uname -m)\"")
}

/// Becomes the agent of the copy with this checksum, of the file at our own path, or of what is installed.
fn searching(sha256: &str, shared: Option<&Path>, mark: &str) -> String {
    let shared = words::quote(shared.and_then(Path::to_str).unwrap_or_default());
    let search = SEARCH.replace("SHA256", sha256).replace("AGENT", SUBCOMMAND);
    let search = search.replace("SYSTEM", &this_system()).replace("SHARED", &shared);
    script(&[&greeting(mark), FOLDERS, &search])
}

/// Becomes the agent of the program at this place.
fn starting(place: &str, mark: &str) -> String {
    let place = words::quote(place);
    let missing = format!("[ -e {place} ] || {{ echo no syscost is there >&2; exit 1; }}");
    script(&[&greeting(mark), &missing, &format!("exec {place} {SUBCOMMAND}")])
}

/// Receives a program of this length, after the mark, where [`searching`] looks.
fn receiving(sha256: &str, bytes: u64, mark: &str) -> String {
    let receive = RECEIVE.replace("SHA256", sha256).replace("MARK", mark);
    let receive = receive.replace("BYTES", &bytes.to_string()).replace("KEPT", &KEPT.to_string());
    script(&[FOLDERS, &receive])
}

/// Puts this binary there; where.
fn copy(target: &Target, sha256: &str) -> Result<String, NotOpened> {
    let io_failed = |error: io::Error| failed(&error.to_string());
    let mut binary = File::open(program::path()).map_err(io_failed)?;
    let bytes = binary.metadata().map_err(io_failed)?.len();
    let mark = new_mark()?;
    let script = receiving(sha256, bytes, &mark);
    let launch = Launch { words: &shell(), input: &script, lends: None };
    let mut child = launch.command(target).spawn().map_err(io_failed)?;
    let mut input = child.stdin.take().expect("piped");
    let (output, mut errors) = (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
    std::thread::scope(|scope| {
        let sent = scope.spawn(move || -> io::Result<Option<String>> {
            let mut output = BufReader::new(output);
            input.write_all(script.as_bytes())?;
            // Before its script is read whole, a shell would take what comes for a part of it.
            if frame::skip_to(&mut output, &mark)?.is_err() {
                return Ok(None);
            }
            io::copy(&mut binary, &mut input)?;
            drop(input);
            let mut put = String::new();
            output.by_ref().take(MOST_WORDS).read_line(&mut put)?;
            let _ = io::copy(&mut output, &mut io::sink());
            Ok(put.trim_end().strip_prefix("put ").map(plain).filter(|place| !place.is_empty()))
        });
        let words = scope.spawn(move || {
            let mut words = Vec::new();
            let _ = errors.by_ref().take(MOST_WORDS).read_to_end(&mut words);
            let _ = io::copy(&mut errors, &mut io::sink());
            plain(&String::from_utf8_lossy(&words))
        });
        let status = wait(&mut child);
        let sent = sent.join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked")));
        let words = words.join().unwrap_or_default();
        let status = status.map_err(io_failed)?;
        match sent {
            Ok(Some(place)) if status.success() => Ok(place),
            Err(error) if words.is_empty() => Err(io_failed(error)),
            _ if words.is_empty() => Err(failed("it did not arrive whole; is the disk there full?")),
            _ => Err(NotOpened { system: None, status: status.code(), words }),
        }
    })
}

/// The end of what copies, or of our patience: then it is killed, and its pipes close.
fn wait(child: &mut Child) -> io::Result<ExitStatus> {
    let limit = patience::left(COPY_LIMIT);
    let end = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
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
    use crate::remote::target::Route;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::process::{Command, Output, Stdio};
    use std::time::SystemTime;

    const FOLDER: &str = "syscost/bin";

    /// A shell that reads this script as it comes out of a line, and what follows it once the mark has come.
    fn shell_told(script: &str, then: &[u8], home: &Path) -> Output {
        let mut shell = Command::new("sh");
        shell.env("XDG_CACHE_HOME", home).env("TMPDIR", home.join("tmp")).env_remove("XDG_RUNTIME_DIR");
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut shell = shell.spawn().unwrap();
        let (mut input, mut output) =
            (shell.stdin.take().unwrap(), BufReader::new(shell.stdout.take().unwrap()));
        input.write_all(script.as_bytes()).unwrap();
        if frame::skip_to(&mut output, "syscost-00").unwrap().is_ok() {
            let _ = input.write_all(then);
        }
        drop(input);
        let mut stdout = Vec::new();
        output.read_to_end(&mut stdout).unwrap();
        Output { stdout, ..shell.wait_with_output().unwrap() }
    }

    #[test]
    fn where_the_cache_cannot_be_written_the_copy_goes_elsewhere_and_is_found_there() {
        let home = tempfile::tempdir().unwrap();
        // A file where the folder should be: no user, not even root, can write below it.
        fs::write(home.path().join("syscost"), "").unwrap();
        let program = fs::read("/bin/true").unwrap();
        let sha256 = format!("{:064x}", u64::from(std::process::id()) << 16 | 0xee);
        let output =
            shell_told(&receiving(&sha256, program.len() as u64, "syscost-00"), &program, home.path());
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let place = said.trim_end().strip_prefix("put ").unwrap_or_else(|| panic!("{output:?}")).to_string();
        assert!(place.ends_with(&sha256) && !place.starts_with(home.path().to_str().unwrap()), "{place}");
        // The program that was copied is true(1), whatever its arguments.
        let output = shell_told(&searching(&sha256, None, "syscost-00"), b"", home.path());
        assert!(output.status.success(), "{output:?}");
        fs::remove_file(&place).unwrap();
    }

    #[test]
    fn our_own_file_is_started_where_hosts_share_it_and_nobody_else_can_change_it() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("it's syscost");
        let put = |text: &str, mode: u32| {
            fs::write(&file, format!("#!/bin/sh\n{text}\n")).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        };
        let sha256 = format!("{:064x}", u64::from(std::process::id()) << 16 | 0xef);
        let is_started = || {
            let output = shell_told(&searching(&sha256, Some(&file), "syscost-00"), b"", home.path());
            String::from_utf8_lossy(&output.stdout).ends_with("started agent\n")
        };
        let works = "[ \"$1\" = --version ] || echo \"started $1\"";
        put(works, 0o755);
        assert!(is_started());
        for (text, mode) in [(works, 0o757), (works, 0o644), ("exit 1", 0o755)] {
            put(text, mode);
            assert!(!is_started(), "{text} {mode:o}");
        }
        put(works, 0o755);
        // Only root can give a file away.
        if std::os::unix::fs::chown(&file, Some(4711), None).is_ok() {
            assert!(!is_started(), "the file of another user");
        }
    }

    #[test]
    fn what_arrives_in_part_is_not_kept() {
        let home = tempfile::tempdir().unwrap();
        let output = shell_told(&receiving(&"a".repeat(64), 9, "syscost-00"), b"part", home.path());
        assert!(
            !output.status.success() && String::from_utf8_lossy(&output.stderr).contains("not arrive whole"),
            "{output:?}"
        );
        assert!(!home.path().join(FOLDER).exists(), "nothing is left");
    }

    #[test]
    fn a_place_without_a_shell_is_told_by_what_engines_say() {
        let failed = |words: &str| NotOpened { system: None, status: Some(127), words: words.into() };
        for words in [
            "OCI runtime exec failed: exec failed: unable to start container process: exec: \"sh\": executable file not found in $PATH: unknown",
            "Error: crun: executable file `sh` not found in $PATH: No such file or directory",
            "slurmstepd: error: execve(): sh: No such file or directory",
        ] {
            assert!(has_no_shell(&failed(words)), "{words}");
        }
        assert!(!has_no_shell(&failed(
            "Error: no container with name or ID \"web\" found: no such container"
        )));
    }

    /// What a shell says that cannot start the copy, and the status with which it ends.
    fn refused_by_a_shell(put: impl Fn(&Path)) -> Unavailable {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir_all(home.path().join(FOLDER)).unwrap();
        put(&home.path().join(FOLDER).join("ab12"));
        let place = home.path().join(FOLDER).join("ab12");
        let output = shell_told(&starting(place.to_str().unwrap(), "syscost-00"), b"", home.path());
        assert!(!output.status.success(), "{output:?}");
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        let failed = NotOpened { system: None, status: output.status.code(), words };
        refusal::by_agent(&Route::parse("ssh://lab").unwrap().far, &failed)
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
        let program = fs::read("/bin/true").unwrap();
        let script = receiving(&name(0), program.len() as u64, "syscost-00");
        let output = shell_told(&script, &program, home.path());
        assert!(output.status.success(), "{output:?}");
        assert!(
            String::from_utf8_lossy(&output.stdout)
                .ends_with(&format!("put {}\n", folder.join(name(0)).display()))
        );
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
