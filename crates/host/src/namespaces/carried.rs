//! The caller's settings of the network stack, carried into the namespaces that a run makes: a new one begins with
//! the kernel's defaults, or with those of the machine's first namespace.
//!
//! What the new namespace has a file for is per namespace. Each setting that differs is written and read back; one
//! that the kernel does not take there is told. Nothing of the caller's own namespace is written.
//! Source: Documentation/networking/ip-sysctl.rst, net/sysctl_net.c (/proc/sys/net is that of the thread that looks).

use crate::settings::{STACK, setting_name};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const FOLDER: &str = "/proc/sys/net";
/// Those that a transfer over TCP and IP passes.
const PASSED: [&str; 4] = ["bridge", "core", "ipv4", "ipv6"];
/// The pair has no router in it, and needs no secret.
const OURS: [&str; 7] = [
    "ip_forward",
    "forwarding",
    "mc_forwarding",
    "force_forwarding",
    "tcp_fastopen_key",
    "stable_secret",
    "fib_multipath_hash_seed",
];

/// Every setting of a namespace that can be read, by its file below `/proc/sys/net`.
pub struct StackSettings(BTreeMap<String, String>);

/// A setting that is not in force where a run measures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DifferingSetting {
    /// `net.ipv4.tcp_sack`
    pub name: String,
    pub caller: String,
    pub there: String,
    pub errno: Option<i32>,
}

/// What came of carrying them into one namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CarriedSettings {
    /// `net.ipv4.tcp_sack=0`: those in which the caller differs from a new namespace.
    pub carried: Vec<String>,
    /// How many settings of the caller could be read.
    pub read: usize,
    pub differing: Vec<DifferingSetting>,
}

impl StackSettings {
    /// The settings of this thread's network namespace.
    pub fn here() -> StackSettings {
        let mut all = BTreeMap::new();
        PASSED.iter().for_each(|folder| collect(folder, &mut all));
        StackSettings(all)
    }

    /// Writes them in this thread's namespace, before it has links: a link begins with what `default` says.
    pub fn carry(&self) -> CarriedSettings {
        let differs = |(file, value): &(&String, &String)| read(file).is_some_and(|there| there != **value);
        let mut left: Vec<_> = self.0.iter().filter(|(file, _)| is_writable(file)).filter(differs).collect();
        let asked = left.clone();
        let mut refused = BTreeMap::new();
        // Of two bounds the second may have to be there before the first.
        for _ in 0..2 {
            left.retain(|(file, value)| {
                let written = fs::write(Path::new(FOLDER).join(file), value);
                refused.insert(*file, written.err().and_then(|error: io::Error| error.raw_os_error()));
                differs(&(file, value))
            });
        }
        let name = |file: &str| format!("net.{}", file.replace('/', "."));
        let differing: Vec<_> = left
            .into_iter()
            .map(|(file, value)| DifferingSetting {
                name: name(file),
                caller: value.clone(),
                there: read(file).unwrap_or_default(),
                errno: refused.get(file).copied().flatten(),
            })
            .collect();
        let is_there = |file: &str| differing.iter().all(|setting| setting.name != name(file));
        let carried = asked.into_iter().filter(|(file, _)| is_there(file));
        CarriedSettings {
            read: self.0.len(),
            carried: carried.map(|(file, value)| format!("{}={value}", name(file))).collect(),
            differing,
        }
    }
}

/// Folders of single devices are left out: the pair has others.
fn collect(folder: &str, all: &mut BTreeMap<String, String>) {
    let by_device = folder.ends_with("/conf") || folder.ends_with("/neigh");
    let entries = fs::read_dir(Path::new(FOLDER).join(folder)).into_iter().flatten().flatten();
    for entry in entries {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = format!("{folder}/{name}");
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if !by_device || name == "all" || name == "default" {
                collect(&path, all);
            }
        } else if !OURS.contains(&name.as_str()) {
            all.extend(read(&path).map(|value| (path, value)));
        }
    }
}

fn read(file: &str) -> Option<String> {
    let bytes = fs::read(Path::new(FOLDER).join(file)).ok()?;
    Some(String::from_utf8_lossy(&bytes).split_whitespace().collect::<Vec<_>>().join(" "))
}

/// By its mode: what nobody may write is no setting of this namespace.
fn is_writable(file: &str) -> bool {
    fs::metadata(Path::new(FOLDER).join(file)).is_ok_and(|meta| meta.permissions().mode() & 0o222 != 0)
}

impl CarriedSettings {
    /// As a case records them; nothing where a new namespace has what the caller has.
    pub fn facts(&self) -> impl Iterator<Item = (String, String)> {
        let differing: Vec<_> = self.differing.iter().map(DifferingSetting::sentence).collect();
        [("carried_settings", self.carried.join("; ")), ("differing_settings", differing.join("; "))]
            .into_iter()
            .filter(|(_, text)| !text.is_empty())
            .map(|(id, text)| (id.to_string(), text))
    }
}

impl DifferingSetting {
    /// `net.ipv4.tcp_sack is 1 there and 0 here (Permission denied)`
    pub fn sentence(&self) -> String {
        let error = self.errno.map(|errno| io::Error::from_raw_os_error(errno).to_string());
        let why =
            error.as_deref().and_then(|text| text.split(" (os").next()).unwrap_or("the kernel keeps it");
        format!("{} is {} there and {} here ({why})", self.name, self.there, self.caller)
    }

    /// Loopback lies in the caller's own namespace.
    pub fn remedy(&self) -> &'static str {
        match self.errno {
            Some(libc::EROFS) => {
                "mount /proc/sys writable (docker run --privileged), or measure with --path loopback"
            }
            Some(libc::EPERM | libc::EACCES) => "run as root, or measure with --path loopback",
            _ => "measure with --path loopback, or between namespaces of your own (--path netns:NAME)",
        }
    }
}

/// What is recorded of this thread's namespace with every case: by the names of their files.
pub fn recorded_settings() -> BTreeMap<String, String> {
    let of = |(_, _, file): &(&str, &str, &str)| {
        let name = setting_name(file);
        (name.starts_with("tcp_") || name == "optmem_max").then_some(())?;
        (!name.contains("available")).then(|| read(file).map(|value| (name.to_string(), value)))?
    };
    STACK.iter().filter_map(of).collect()
}
