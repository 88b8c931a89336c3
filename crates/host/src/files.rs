//! Reading small files of /proc and /sys under a root path, so that tests can be other machines.

use std::fs;
use std::io;
use std::path::PathBuf;

/// The root of a machine's files: `/`, or a fixture's folder.
#[derive(Clone, Debug)]
pub struct Root(PathBuf);

impl Root {
    /// This machine.
    pub fn here() -> Root {
        Root(PathBuf::from("/"))
    }

    pub fn at(path: impl Into<PathBuf>) -> Root {
        Root(path.into())
    }

    /// `path` is relative: `proc/stat`.
    pub fn path(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    /// The file's text without surrounding white space.
    pub fn read(&self, path: &str) -> io::Result<String> {
        Ok(String::from_utf8_lossy(&fs::read(self.path(path))?).trim().to_string())
    }

    /// `None` where it cannot be read.
    pub fn text(&self, path: &str) -> Option<String> {
        self.read(path).ok()
    }

    /// What lets this process read a file that it could not read: a mount, a permission, another kernel.
    pub fn how_to_read(&self, path: &str) -> String {
        let unless = |proof: &str, mount: &str| (!self.exists(proof)).then(|| format!("mount -t {mount}"));
        let missing = match path.split('/').next() {
            Some("proc") => unless("proc/self/exe", "proc proc /proc"),
            Some("sys") => unless("sys/devices", "sysfs sysfs /sys"),
            _ => None,
        };
        let denied = self.read(path).is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied);
        missing.unwrap_or_else(|| match denied {
            true => format!("run as root, or let this user read /{path}"),
            false => format!(
                "/{path} does not say it here: uncover it if something is mounted over it, or use a machine that has it"
            ),
        })
    }

    pub fn number(&self, path: &str) -> Option<u64> {
        self.text(path)?.parse().ok()
    }

    /// A number that may be below 0, as some settings are.
    pub fn number_or_negative(&self, path: &str) -> Option<i64> {
        self.text(path)?.parse().ok()
    }

    /// What the first line of a file that begins with this name says: `name : value`.
    pub fn field(&self, path: &str, name: &str) -> Option<String> {
        let value =
            |line: &str| Some(line.strip_prefix(name)?.trim_start().strip_prefix(':')?.trim().to_string());
        self.text(path)?.lines().find_map(value)
    }

    /// A list of CPUs or nodes: `0-3,8`.
    pub fn list(&self, path: &str) -> Option<Vec<usize>> {
        parse_list(&self.text(path)?)
    }

    /// Names in a folder, sorted; empty where there is none.
    pub fn names(&self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(path)).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.filter_map(|e| e.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// Where a symbolic link points to.
    pub fn link(&self, path: &str) -> Option<PathBuf> {
        fs::read_link(self.path(path)).ok()
    }

    pub fn exists(&self, path: &str) -> bool {
        self.path(path).exists()
    }
}

/// Reads `0-3,8,10-11`; an empty text is an empty list. Source: cpuset(7), formats.
pub fn parse_list(text: &str) -> Option<Vec<usize>> {
    let mut list = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if last < first || last - first > 1 << 20 {
            return None;
        }
        list.extend(first..=last);
    }
    Some(list)
}

/// Writes `0-3,8`.
pub fn show_list(list: &[usize]) -> String {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for &n in list {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == n => *last = n,
            _ => parts.push((n, n)),
        }
    }
    let show = |(a, b): &(usize, usize)| if a == b { a.to_string() } else { format!("{a}-{b}") };
    parts.iter().map(show).collect::<Vec<_>>().join(",")
}

/// A machine of files for tests.
#[cfg(test)]
pub mod fixture {
    use super::Root;
    use std::fs;

    pub struct Machine {
        folder: tempfile::TempDir,
    }

    impl Machine {
        pub fn empty() -> Machine {
            Machine { folder: tempfile::tempdir().unwrap() }
        }

        pub fn write(&self, path: &str, text: &str) {
            let path = self.folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        /// Our control groups as /proc tells them, and their mounts: what is mounted, where, as what.
        pub fn control_groups(&self, own: &str, mounts: &[(&str, &str, &str)]) {
            self.write("proc/self/cgroup", own);
            let line =
                |(top, point, kind): &(&str, &str, &str)| format!("1 1 0:9 {top} {point} rw - {kind}\n");
            self.write("proc/self/mountinfo", &mounts.iter().map(line).collect::<String>());
        }

        /// A group with one file, and those that every group has.
        pub fn group(&self, folder: &str, file: &str, text: &str) {
            self.write(&format!("{folder}/cgroup.procs"), "1\n");
            self.write(&format!("{folder}/{file}"), text);
        }

        /// A symbolic link.
        pub fn link(&self, path: &str, target: &str) {
            let path = self.folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(target, path).unwrap();
        }

        pub fn root(&self) -> Root {
            Root::at(self.folder.path())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists_are_read_as_the_kernel_writes_them() {
        assert_eq!(parse_list("0-3,8\n"), Some(vec![0, 1, 2, 3, 8]));
        assert_eq!(parse_list(""), Some(vec![]));
        for wrong in ["3-1", "a", "0-99999999", "-"] {
            assert_eq!(parse_list(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn lists_read_back(list in prop::collection::btree_set(0usize..600, 0..40)) {
            let list: Vec<usize> = list.into_iter().collect();
            prop_assert_eq!(parse_list(&show_list(&list)), Some(list));
        }
    }
}
