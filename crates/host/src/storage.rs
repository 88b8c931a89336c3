//! Where files of a directory live: its mount, its file system, the disk below.
//!
//! It only reads /proc and /sys. A directory of a layered or remote file system has no disk that
//! can be told. Sources: proc_pid_mountinfo(5); Documentation/ABI/stable/sysfs-block.

use super::files::Root;
use std::path::Path;

/// A line of /proc/self/mountinfo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// `259:1`
    pub device_number: String,
    /// `ext4`
    pub file_system: String,
    /// Of the mount and of the file system: `rw,relatime,discard`.
    pub options: String,
    /// What of the file system is mounted: `/`, or a folder of it.
    pub top: String,
}

impl Mount {
    /// Files are memory: no disk is ever read.
    pub fn is_memory(&self) -> bool {
        matches!(self.file_system.as_str(), "tmpfs" | "ramfs")
    }

    /// Another machine, or another process, has the files and a cache of its own.
    pub fn is_remote(&self) -> bool {
        const REMOTE: [&str; 10] =
            ["nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "ceph", "afs", "glusterfs", "lustre"];
        REMOTE.contains(&self.file_system.as_str()) || self.file_system.starts_with("fuse")
    }
}

/// The mount that holds this absolute path.
pub fn mount_of(root: &Root, path: &Path) -> Option<Mount> {
    // The last of several on one point lies over the others; max_by_key gives the last of equals.
    let above = mounts(root)?.into_iter().filter(|(point, _)| path.starts_with(point));
    above.max_by_key(|(point, _)| Path::new(point).components().count()).map(|(_, mount)| mount)
}

/// Every mount, with its point.
pub fn mounts(root: &Root) -> Option<Vec<(String, Mount)>> {
    Some(root.text("proc/self/mountinfo")?.lines().filter_map(parse).collect())
}

/// Mount point and mount of a line: `36 35 98:0 /root /point rw,noatime master:1 - ext3 /dev/x rw`.
fn parse(line: &str) -> Option<(String, Mount)> {
    let (left, right) = line.split_once(" - ")?;
    let left: Vec<&str> = left.split(' ').collect();
    let mut right = right.split(' ');
    let (number, top, point, of_mount) = (left.get(2)?, left.get(3)?, left.get(4)?, left.get(5)?);
    let (file_system, _source, of_file_system) = (right.next()?, right.next()?, right.next().unwrap_or(""));
    let mut options: Vec<&str> = Vec::new();
    for option in of_mount.split(',').chain(of_file_system.split(',')) {
        // Layers of a container are paths of its host: nobody's business, and very long.
        if !option.is_empty() && !option.contains('/') && !options.contains(&option) {
            options.push(option);
        }
    }
    // A mount may be read-only on a file system that is not: what holds is the narrower.
    if options.contains(&"ro") {
        options.retain(|option| *option != "rw");
    }
    let mount = Mount {
        device_number: number.to_string(),
        file_system: file_system.into(),
        options: options.join(","),
        top: unescape(top),
    };
    Some((unescape(point), mount))
}

/// Blanks, tabs, line ends and backslashes come in octal: `\040`.
fn unescape(text: &str) -> String {
    let escapes = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    escapes.iter().fold(text.to_string(), |text, (code, plain)| text.replace(code, plain))
}

/// A block device as /sys describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// `vda`
    pub name: String,
    pub model: Option<String>,
    /// `None` also of a virtual disk: the kernel's default for it is to rotate, whatever is behind it.
    pub rotational: Option<bool>,
    /// The one in brackets: `none`, `mq-deadline`.
    pub scheduler: Option<String>,
    pub read_ahead_bytes: Option<u64>,
}

/// The disk of a mount: the whole one where the mount is a partition.
pub fn disk_of(root: &Root, mount: &Mount) -> Option<Disk> {
    let device = root.link(&format!("sys/dev/block/{}", mount.device_number))?;
    let name = device.file_name()?.to_str()?;
    let parent = device.parent()?.file_name()?.to_str()?;
    let known = |name: &str| root.exists(&format!("sys/block/{name}"));
    let name = if known(name) { name } else { Some(parent).filter(|name| known(name))? };
    Some(disk(root, name))
}

/// Of virtio or Xen.
fn is_virtual(name: &str) -> bool {
    ["vd", "xvd"].iter().any(|kind| name.starts_with(kind))
}

fn disk(root: &Root, name: &str) -> Disk {
    let text = |file: &str| root.text(&format!("sys/block/{name}/{file}")).filter(|t| !t.is_empty());
    let number = |file: &str| root.number(&format!("sys/block/{name}/{file}"));
    let scheduler = text("queue/scheduler");
    Disk {
        name: name.to_string(),
        model: text("device/model").or_else(|| text("device/name")),
        rotational: number("queue/rotational").filter(|_| !is_virtual(name)).map(|n| n == 1),
        scheduler: scheduler.and_then(|t| Some(t.split_once('[')?.1.split_once(']')?.0.to_string())),
        read_ahead_bytes: number("queue/read_ahead_kb").map(|kib| kib * 1024),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::fixture::Machine;

    const TABLE: &str = "\
        22 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw,discard\n\
        30 22 0:30 / /tmp rw,nosuid - tmpfs tmpfs rw,size=100k\n\
        31 22 0:31 / /mnt/a\\040b ro,relatime - fuse.sshfs host:/secret rw,user_id=0\n\
        32 22 0:32 / /over rw - overlay overlay rw,lowerdir=/var/lib/x,upperdir=/var/lib/y,xino=off\n";

    fn mount(path: &str) -> Mount {
        let machine = Machine::empty();
        machine.write("proc/self/mountinfo", TABLE);
        mount_of(&machine.root(), Path::new(path)).unwrap()
    }

    #[test]
    fn the_longest_mount_point_holds_the_path() {
        assert_eq!(mount("/home/me").options, "rw,relatime,discard");
        assert_eq!(mount("/tmpfile").file_system, "ext4", "whole names, not prefixes");
        assert!(mount("/tmp/x").is_memory());
        let remote = mount("/mnt/a b/c");
        assert!(remote.is_remote() && remote.options.starts_with("ro,") && !remote.is_memory(), "{remote:?}");
        assert_eq!(mount("/over").options, "rw,xino=off", "no path of the host is told");
    }

    #[test]
    fn a_partition_is_on_its_disk() {
        let machine = Machine::empty();
        machine.write("sys/block/nvme0n1/device/model", "Samsung SSD 990\n");
        machine.write("sys/block/nvme0n1/queue/rotational", "0\n");
        machine.write("sys/block/nvme0n1/queue/scheduler", "[none] mq-deadline\n");
        machine.write("sys/block/nvme0n1/queue/read_ahead_kb", "128\n");
        machine.link("sys/dev/block/259:2", "../../devices/pci0/nvme/nvme0n1/nvme0n1p2");
        let disk = disk_of(&machine.root(), &mount("/home")).unwrap();
        assert_eq!(
            disk,
            Disk {
                name: "nvme0n1".into(),
                model: Some("Samsung SSD 990".into()),
                rotational: Some(false),
                scheduler: Some("none".into()),
                read_ahead_bytes: Some(128 << 10),
            }
        );
        assert_eq!(disk_of(&machine.root(), &mount("/tmp/x")), None, "memory has no disk");
    }

    /// It was said: vda rotates, where random reads took 50 us.
    #[test]
    fn a_virtual_disk_does_not_say_whether_it_rotates() {
        let machine = Machine::empty();
        for name in ["sda", "vda", "xvda"] {
            machine.write(&format!("sys/block/{name}/queue/rotational"), "1\n");
            assert_eq!(disk(&machine.root(), name).rotational.is_some(), name == "sda", "{name}");
        }
    }
}
