//! The disk that a guest of the lab wrote: files with plain names, or an error.

use super::Seen;
use std::path::Path;
use syscost_lab::results_disk;

pub fn look(bytes: &[u8], scratch: &Path) -> Seen {
    let disk = scratch.join("disk");
    std::fs::write(&disk, bytes).expect("written");
    let Ok(brought) = results_disk::read(&disk) else { return Seen::Refused };
    let total: usize = brought.files.iter().map(|(_, content)| content.len()).sum();
    assert!(total <= bytes.len(), "no more than was written");
    for (name, _) in &brought.files {
        assert!(
            !name.starts_with('.') && !name.contains('/') && !name.contains(char::is_control),
            "{name:?}"
        );
    }
    let again = scratch.join("again");
    std::fs::write(&again, "").expect("written");
    results_disk::write(&again, "", &brought).expect("what was read can be written");
    assert_eq!(results_disk::read(&again).expect("what was written"), brought);
    Seen::Understood
}
