//! The directory that a path leads to, where nobody else decides where that is.
//!
//! Every component is opened below the one before it and never through a link; a link is read and judged by its owner.
//! A descriptor, not a name, is what comes back, so that no later rename leads elsewhere. openat2(2) can refuse links
//! altogether or follow all of them: neither is wanted, so the walk is the same on every kernel.
//! Sources: path_resolution(7), symlink(7), user_namespaces(7), sudo(8).

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{
    AtFlags, FileType, Gid, Mode, OFlags, Stat, Uid, chownat, fstat, mkdirat, open as open_at_name, openat,
    readlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

/// As many as the kernel follows.
const MOST_LINKS: usize = 40;
/// A descriptor that only names what it is of. With `DIRECTORY` it mounts what is mounted on demand.
const NAMED: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Of a group too: who is in it is not known.
const OTHERS_WRITE: u32 = 0o022;

/// A link in the way that another user made.
#[derive(Debug)]
pub struct StrangeLink {
    link: PathBuf,
    owner: u32,
}

impl fmt::Display for StrangeLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} is a symbolic link of another user (uid {}), who would decide where files go; name the directory \
             that it leads to, or remove the link",
            self.link.display(),
            self.owner
        )
    }
}

impl std::error::Error for StrangeLink {}

/// Opens a directory that is there.
pub fn open(path: &Path) -> io::Result<File> {
    walk(path, false)
}

/// Opens a directory, and makes what is missing of the way to it.
pub fn make(path: &Path) -> io::Result<File> {
    walk(path, true)
}

/// Makes a directory in this one; one that is there is an error.
pub fn make_new(at: impl AsFd, name: &OsStr) -> io::Result<OwnedFd> {
    mkdirat(&at, name, Mode::from_raw_mode(0o777))?;
    let made = openat(&at, name, NAMED | OFlags::DIRECTORY, Mode::empty())?;
    hand_over(&made, at)?;
    Ok(made)
}

/// Does what this user owns belong to whom this process works for: itself, or who called sudo?
pub fn is_ours(owner: u32) -> bool {
    owner == geteuid().as_raw() || caller().is_some_and(|(user, _)| user == owner)
}

/// May nobody but root and this user change what is in this directory?
pub fn is_private(directory: impl AsFd) -> io::Result<bool> {
    let about = fstat(directory)?;
    Ok((about.st_uid == 0 || is_ours(about.st_uid)) && about.st_mode & OTHERS_WRITE == 0)
}

/// What was made in this directory by root belongs to who called sudo, where the directory does.
pub fn hand_over(made: impl AsFd, directory: impl AsFd) -> io::Result<()> {
    let Some((user, group)) = caller() else { return Ok(()) };
    if fstat(directory)?.st_uid != user || fstat(&made)?.st_uid != geteuid().as_raw() {
        return Ok(());
    }
    let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
    Ok(chownat(made, "", Some(user), Some(group), AtFlags::EMPTY_PATH)?)
}

/// User and group of who called sudo. Only root is asked: nobody else could act on it.
fn caller() -> Option<(u32, u32)> {
    let number = |name| std::env::var(name).ok()?.parse::<u32>().ok();
    if !geteuid().is_root() {
        return None;
    }
    number("SUDO_UID").filter(|user| *user != 0).zip(number("SUDO_GID"))
}

fn walk(path: &Path, make: bool) -> io::Result<File> {
    let mut left: Vec<OsString> = Vec::new();
    let mut at = begin(path, &mut left)?;
    let mut links = 0;
    while let Some(name) = left.pop() {
        match step(at.as_fd(), &name, make)? {
            Walked::Into(directory) => at = directory,
            Walked::Link { target, owner } => {
                links += 1;
                if links > MOST_LINKS {
                    return Err(Errno::LOOP.into());
                }
                if let Some(owner) = owner {
                    return Err(io::Error::other(StrangeLink { link: named(path, &left, &name), owner }));
                }
                if target.is_absolute() {
                    at = begin(&target, &mut left)?;
                } else {
                    left.extend(names(&target));
                }
            }
        }
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(openat(at, ".", flags, Mode::empty())?.into())
}

/// Where a path begins; its components come on top of what is left to walk.
fn begin(path: &Path, left: &mut Vec<OsString>) -> io::Result<OwnedFd> {
    if path.as_os_str().is_empty() {
        return Err(Errno::NOENT.into());
    }
    left.extend(names(path));
    let from = if path.is_absolute() { "/" } else { "." };
    Ok(open_at_name(from, NAMED | OFlags::DIRECTORY, Mode::empty())?)
}

/// The components to walk, the last one first.
fn names(path: &Path) -> impl Iterator<Item = OsString> {
    let wanted = |part: Component<'_>| match part {
        Component::Normal(name) => Some(name.to_os_string()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(wanted).collect::<Vec<_>>().into_iter().rev()
}

/// A component as people know it, where the path that they gave leads there without another link.
fn named(path: &Path, left: &[OsString], name: &OsStr) -> PathBuf {
    let shown = path.ancestors().nth(left.len()).filter(|shown| shown.file_name() == Some(name));
    shown.map_or_else(|| name.into(), Path::to_path_buf)
}

enum Walked {
    Into(OwnedFd),
    /// The owner, where that is somebody whose word does not count.
    Link {
        target: PathBuf,
        owner: Option<u32>,
    },
}

fn step(at: BorrowedFd<'_>, name: &OsStr, make: bool) -> io::Result<Walked> {
    loop {
        match openat(at, name, NAMED | OFlags::DIRECTORY, Mode::empty()) {
            Ok(directory) => return Ok(Walked::Into(directory)),
            // That is what a link is for these flags.
            Err(Errno::NOTDIR | Errno::LOOP) => return link(at, name),
            Err(Errno::NOENT) if make => match make_new(at, name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => return made.map(Walked::Into),
            },
            Err(error) => return Err(error.into()),
        }
    }
}

fn link(at: BorrowedFd<'_>, name: &OsStr) -> io::Result<Walked> {
    let link = openat(at, name, NAMED, Mode::empty())?;
    let about = fstat(&link)?;
    if FileType::from_raw_mode(about.st_mode) != FileType::Symlink {
        return Err(Errno::NOTDIR.into());
    }
    let target = OsString::from_vec(readlinkat(&link, "", Vec::new())?.into_bytes());
    let trusted = about.st_uid == 0 || is_ours(about.st_uid) || nobody_could(&about, &fstat(at)?);
    Ok(Walked::Link { target: target.into(), owner: (!trusted).then_some(about.st_uid) })
}

/// In a user namespace that root is not mapped into, what root owns looks like anybody's. There a link is followed
/// where its directory has an owner of that kind too and nobody else may write to it.
fn nobody_could(link: &Stat, directory: &Stat) -> bool {
    let unmapped = |uid: u32| uid == overflow_user() && !is_mapped(uid);
    unmapped(link.st_uid) && unmapped(directory.st_uid) && directory.st_mode & OTHERS_WRITE == 0
}

fn overflow_user() -> u32 {
    let told = std::fs::read_to_string("/proc/sys/kernel/overflowuid").ok();
    told.and_then(|text| text.trim().parse().ok()).unwrap_or(65_534)
}

/// Where the map cannot be read, a user is taken for what its number says.
fn is_mapped(user: u32) -> bool {
    let Ok(map) = std::fs::read_to_string("/proc/self/uid_map") else { return true };
    map.lines().any(|line| {
        let numbers: Vec<u64> = line.split_whitespace().filter_map(|n| n.parse().ok()).collect();
        matches!(numbers[..], [first, _, count] if (first..first + count).contains(&u64::from(user)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{MetadataExt, lchown, symlink};

    fn same(directory: &File, path: &Path) -> bool {
        let (held, named) = (directory.metadata().unwrap(), fs::metadata(path).unwrap());
        (held.dev(), held.ino()) == (named.dev(), named.ino())
    }

    #[test]
    fn a_path_leads_where_the_kernel_would_go() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().join("real");
        assert!(open(&real).is_err(), "nothing is made unasked");
        assert!(same(&make(&real.join("a/b")).unwrap(), &real.join("a/b")));
        symlink("real/a", folder.path().join("relative")).unwrap();
        symlink(real.join("a"), folder.path().join("absolute")).unwrap();
        for way in ["relative/b", "absolute/b", "absolute/./b/../b", "real/../relative/b"] {
            assert!(same(&open(&folder.path().join(way)).unwrap(), &real.join("a/b")), "{way}");
        }
        assert!(same(&make(&folder.path().join("relative/../new")).unwrap(), &real.join("new")));
        symlink("round", folder.path().join("round")).unwrap();
        let round = open(&folder.path().join("round/x")).unwrap_err();
        assert_eq!(round.raw_os_error(), Some(Errno::LOOP.raw_os_error()));
        fs::write(folder.path().join("file"), "").unwrap();
        let file = make(&folder.path().join("file/x")).unwrap_err();
        assert_eq!(file.kind(), io::ErrorKind::NotADirectory);
        assert!(same(&open(Path::new(".")).unwrap(), Path::new(".")));
        assert!(open(Path::new("")).is_err());
    }

    #[test]
    fn a_link_of_another_user_is_refused_wherever_it_stands() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        fs::create_dir(&target).unwrap();
        symlink(&target, &link).unwrap();
        if lchown(&link, Some(1), Some(1)).is_err() {
            eprintln!("skipped: only root can make a link of another user");
            return;
        }
        for way in ["link", "link/sub", "link/../x", "target/../link/sub/deeper"] {
            let refused = make(&folder.path().join(way)).unwrap_err().to_string();
            assert!(refused.contains("link is a symbolic link of another user (uid 1)"), "{way}: {refused}");
        }
        assert_eq!(fs::read_dir(&target).unwrap().count(), 0);
    }
}
