//! What this user may do by the owners and modes of files alone, without a capability. Source: path_resolution(7).

use rustix::process::geteuid;
use std::fs::{DirEntry, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const SEARCH: u32 = 0o1;
const WRITE_AND_SEARCH: u32 = 0o3;
const READ_AND_EXECUTE: u32 = 0o5;

/// May files be made in this directory, or may this file be executed, and is the way there free? What is not there yet
/// is made in the nearest directory above.
pub fn is_open(place: &Path) -> bool {
    let Some(there) = place.ancestors().map(or_here).find_map(|path| path.canonicalize().ok()) else {
        return false;
    };
    let allows = |path: &Path, bits| path.metadata().is_ok_and(|about| may(&about, bits));
    let bits = if there.is_dir() { WRITE_AND_SEARCH } else { READ_AND_EXECUTE };
    there.ancestors().skip(1).all(|above| allows(above, SEARCH)) && allows(&there, bits)
}

/// Does everything in this directory belong to this user?
pub fn holds_only_ours(directory: &Path) -> bool {
    let ours = |entry: io::Result<DirEntry>| {
        entry.and_then(|entry| entry.metadata()).is_ok_and(|about| about.uid() == geteuid().as_raw())
    };
    directory.read_dir().is_ok_and(|mut entries| entries.all(ours))
}

fn or_here(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

/// By what the owner or everybody may do; of groups nothing is assumed.
fn may(about: &Metadata, bits: u32) -> bool {
    let own = if about.uid() == geteuid().as_raw() { about.mode() >> 6 } else { about.mode() };
    own & bits == bits
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, chown};

    #[test]
    fn a_place_is_open_to_its_owner_and_shut_where_root_would_need_a_right() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = scratch.path();
        assert!(
            is_open(directory) && is_open(&directory.join("not/yet/there")) && holds_only_ours(directory)
        );
        assert!(is_open(&std::env::temp_dir()), "everybody may");
        let shut = directory.join("shut");
        std::fs::create_dir(&shut).unwrap();
        let mode = |mode| std::fs::set_permissions(&shut, PermissionsExt::from_mode(mode)).unwrap();
        mode(0o500);
        assert!(!is_open(&shut));
        if geteuid().is_root() {
            mode(0o700);
            chown(&shut, Some(12345), None).unwrap();
            assert!(!is_open(&shut) && !is_open(&shut.join("below")) && !holds_only_ours(directory));
        }
    }
}
