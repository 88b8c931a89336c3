//! Facts of the storage: the current directory's file system and disk.

use super::{Facts, yes};
use crate::storage::{self, Disk};

impl Facts {
    pub(super) fn storage(&mut self) {
        let here = self.root.link("proc/self/cwd");
        let mount = here.and_then(|path| storage::mount_of(&self.root, &path));
        let source = "/proc/self/mountinfo";
        let mounted = mount.as_ref();
        let (file_system, options) = (mounted.map(|m| &m.file_system), mounted.map(|m| &m.options));
        self.add("directory_file_system", "file system of the current directory", source, file_system);
        self.add("directory_mount_options", "mount options of the current directory", source, options);
        let disk = mount.and_then(|mount| storage::disk_of(&self.root, &mount));
        self.directory_disk(disk.as_ref());
    }

    /// The disk that file rows read from unless told otherwise.
    fn directory_disk(&mut self, disk: Option<&Disk>) {
        let source = disk.map_or("/sys/dev/block".into(), |disk| format!("/sys/block/{}", disk.name));
        let title = "disk of the current directory";
        self.add("directory_disk", title, &source, disk.map(|d| &d.name));
        let model = disk.and_then(|d| d.model.as_ref());
        self.add("directory_disk_model", format!("{title}: model"), &source, model);
        let rotational = disk.and_then(|d| d.rotational).map(yes);
        self.add("directory_disk_rotational", format!("{title}: rotates"), &source, rotational);
        let scheduler = disk.and_then(|d| d.scheduler.as_ref());
        self.add("directory_disk_scheduler", format!("{title}: scheduler"), &source, scheduler);
        let bytes = disk.and_then(|d| d.read_ahead_bytes);
        self.add("directory_disk_read_ahead_bytes", format!("{title}: readahead, bytes"), &source, bytes);
    }
}
