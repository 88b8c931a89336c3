//! `control_group`: a control group made and removed, and a process that is moved into one and back.
//!
//! In a group of the probe's own below that of this process, which goes with it. Sources: cgroups(7),
//! Documentation/admin-guide/cgroup-v2.rst.

use super::prediction::{CostAccount, Inputs};
use super::rights::{Rights, TOPMOST_GROUP};
use super::row::Row;
use super::{Channel, OS_MORE_SUITE, OsOperation, Probe, ProbeAbout, RoleReport, Task, Timing, batch};
use anyhow::{Context, Result, ensure};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use syscost_core::axis::{Axis, NameAxis, Point};
use syscost_host::Unavailable;
use syscost_host::cleaner::OwnedDirectory;
use syscost_host::clock::monotonic_ns;
use syscost_host::files::{Root, control_groups};

const GROUP_CALL: NameAxis = NameAxis::new("group_call");
const MOVE: &str = "move";
/// Which processes are in a group, and where one is moved to it.
const MEMBERS: &str = "cgroup.procs";

pub struct ControlGroup;

fn refused(error: &std::io::Error) -> Unavailable {
    Unavailable {
        reason: format!("no control group can be made below that of this process ({error})"),
        remedy: "as root, or in a delegated group (systemd-run --user --scope -p Delegate=yes)".into(),
    }
}

/// The group of this process in the hierarchy of version 2.
fn own_group() -> Result<PathBuf, Unavailable> {
    let folders = control_groups(&Root::here(), "", &["sys/fs/cgroup", "sys/fs/cgroup/unified"]);
    let own = folders.into_iter().map(|folder| Path::new("/").join(folder));
    own.into_iter().find(|folder| folder.join(MEMBERS).exists()).ok_or_else(|| Unavailable {
        reason: "this process is in no control group of version 2 that is mounted".into(),
        remedy: "a system with cgroup2 mounted at /sys/fs/cgroup".into(),
    })
}

/// A group of one's own, in the group of this process.
struct OwnGroup {
    outside: PathBuf,
    owned: OwnedDirectory,
}

impl OwnGroup {
    fn make() -> Result<OwnGroup> {
        let outside = own_group()?;
        let owned = OwnedDirectory::create(&outside).map_err(|error| refused(&error))?;
        ensure!(owned.path().join(MEMBERS).exists(), "a directory was made and is no control group");
        Ok(OwnGroup { outside, owned })
    }

    /// A group is there between the two calls, with the kernel's files in it.
    fn create_and_remove(&self) -> Result<u64> {
        let path = self.owned.path().join("group");
        let start = monotonic_ns();
        fs::create_dir(&path).context("no control group can be made")?;
        let made_ns = monotonic_ns() - start;
        ensure!(path.join(MEMBERS).exists(), "a control group was made and has no members");
        let start = monotonic_ns();
        fs::remove_dir(&path).context("the control group cannot be removed")?;
        Ok(made_ns + (monotonic_ns() - start))
    }
}

/// Moves this process into the group and back; each has to be true of the kernel's account afterwards.
struct Mover {
    inside: File,
    outside: File,
    own: String,
}

impl Mover {
    fn of(group: &OwnGroup) -> Result<Mover> {
        let open = |folder: &Path| File::options().write(true).open(folder.join(MEMBERS));
        let inside = open(group.owned.path()).map_err(|error| refused(&error))?;
        let outside = open(&group.outside).map_err(|error| refused(&error))?;
        let own = group.owned.path().file_name().context("a group has a name")?;
        Ok(Mover { inside, outside, own: own.to_string_lossy().into_owned() })
    }

    fn move_to(&self, inside: bool) -> Result<u64> {
        let mut to = if inside { &self.inside } else { &self.outside };
        let start = monotonic_ns();
        // 0: the process that writes.
        let moved = to.write_all(b"0");
        let ns = monotonic_ns() - start;
        moved.map_err(|error| refused(&error))?;
        let told = fs::read_to_string("/proc/self/cgroup").context("/proc/self/cgroup")?;
        ensure!(told.contains(&self.own) == inside, "the process was moved and is where it was");
        Ok(ns)
    }
}

impl Drop for Mover {
    fn drop(&mut self) {
        let _ = (&self.outside).write_all(b"0");
    }
}

impl Probe for ControlGroup {
    fn about(&self) -> ProbeAbout {
        ProbeAbout {
            id: "control_group",
            title: "control groups",
            method: "The time of mkdir(2) and rmdir(2) of a control group of version 2, or of a write that moves this process into a \
                     group, and of one that moves it back (each counts). The new group has to have the kernel's files; after each \
                     move the kernel has to name the other group.",
            source: "cgroups(7), Documentation/admin-guide/cgroup-v2.rst",
            roles: &["maker"],
            operation: Some(&ControlGroup),
            ..ProbeAbout::DEFAULTS
        }
    }

    fn axes(&self) -> Vec<Axis> {
        vec![
            GROUP_CALL
                .names(|| vec!["create", MOVE])
                .flag("group-call", "call")
                .help("what is done with a control group"),
        ]
    }

    fn available(&self, _: &Point) -> Result<(), Unavailable> {
        own_group().map(|_| ())
    }

    fn rights(&self, _: &str) -> Rights {
        Rights(vec![TOPMOST_GROUP])
    }

    fn timing(&self, _: &Point, base: Timing) -> Timing {
        // A move waits for all CPUs to pass through the scheduler: up to some ten milliseconds.
        Timing { window_ns: base.window_ns * 8, ..base }
    }

    fn play(&self, task: &Task, channel: &mut dyn Channel) -> Result<RoleReport> {
        let facts = batch::settle_on_one_cpu();
        let group = OwnGroup::make()?;
        let overhead_ns = batch::clock_overhead_ns();
        let windows = if task.point.text(GROUP_CALL) == Some(MOVE) {
            let mover = Mover::of(&group)?;
            mover.move_to(true)?;
            mover.move_to(false)?;
            channel.ready()?;
            let both = || Ok(mover.move_to(true)? + mover.move_to(false)?);
            let mut windows = batch::operations(task, 2.0 * overhead_ns, both)?;
            windows.iter_mut().for_each(|window| window.of_each(2.0));
            windows
        } else {
            group.create_and_remove().map_err(|error| refused(&std::io::Error::other(error.to_string())))?;
            channel.ready()?;
            batch::operations(task, 2.0 * overhead_ns, || group.create_and_remove())?
        };
        Ok(RoleReport { windows, facts, ..RoleReport::default() })
    }
}

impl OsOperation for ControlGroup {
    fn suite(&self) -> &'static str {
        OS_MORE_SUITE
    }

    fn row(&self, point: &Point) -> Option<Row> {
        let moved = point.text(GROUP_CALL)? == MOVE;
        Some(Row::listed(if moved { "process moved into another" } else { "made and removed" }))
    }

    /// How many files a group has and how long a move waits for all CPUs is the kernel's configuration, and in no primitive.
    fn predict(&self, _: &Point, _: Inputs<'_>) -> Option<CostAccount> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_made_and_a_process_moved_or_it_is_unavailable() {
        let done = || -> Result<()> {
            let group = OwnGroup::make()?;
            group.create_and_remove()?;
            let mover = Mover::of(&group)?;
            mover.move_to(true)?;
            mover.move_to(false)?;
            let name = group.owned.path().to_path_buf();
            drop((mover, group));
            assert!(!name.exists(), "left behind: {}", name.display());
            Ok(())
        };
        if let Err(why) = done() {
            assert!(why.is::<Unavailable>() || why.is::<std::io::Error>(), "{why}");
        }
    }
}
