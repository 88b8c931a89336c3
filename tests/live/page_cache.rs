//! A control group with little memory has a small page cache, and the search for its size sees it.

use crate::common::{SYSCOST, is_root, said, skipped};
use std::path::{Path, PathBuf};
use std::process::Command;

const LIMIT_BYTES: u64 = 128 << 20;

/// A control group of our own that limits memory; removed when dropped.
struct Group(PathBuf);

impl Group {
    fn new() -> Result<Group, String> {
        let own = std::fs::read_to_string("/proc/self/cgroup").map_err(|e| e.to_string())?;
        let path = |controllers: &str| {
            own.lines().find_map(|line| {
                let (list, path) = line.split_once(':')?.1.split_once(':')?;
                list.split(',').any(|c| c == controllers).then(|| path.trim_matches('/').to_string())
            })
        };
        let version_1 =
            path("memory").map(|own| (format!("/sys/fs/cgroup/memory/{own}"), "memory.limit_in_bytes"));
        // In version 2 only a group without processes may hand memory on: the top one always may.
        let (above, file) = version_1.unwrap_or(("/sys/fs/cgroup".into(), "memory.max"));
        let folder = Path::new(&above).join(format!("syscost-test-{}", std::process::id()));
        std::fs::create_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let group = Group(folder);
        let limit = group.0.join(file);
        std::fs::write(&limit, LIMIT_BYTES.to_string()).map_err(|e| format!("{}: {e}", limit.display()))?;
        Ok(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn a_small_page_cache_is_seen() {
    const TEST: &str = "a small page cache";
    if !is_root(TEST) {
        return;
    }
    let group = match Group::new() {
        Ok(group) => group,
        Err(why) => return skipped(TEST, &format!("no control group that limits memory: {why}")),
    };
    let out = tempfile::tempdir().unwrap();
    let run = out.path().join("run");
    // Below target/: on a disk, where /tmp may be memory.
    let files = tempfile::tempdir_in(Path::new(SYSCOST).parent().unwrap()).unwrap();
    let enter = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", group.0.display());
    let output = Command::new("sh")
        .args(["-c", &enter, "sh", SYSCOST, "run", "file_cache", "--file-size", "16M,256M,1G"])
        .args(["--cache-limit", "256M", "--time-limit", "8s", "--dir"])
        .arg(files.path())
        .arg("--out")
        .arg(&run)
        .output()
        .unwrap();
    let said = said(&output);
    let Ok(mut results) = csv::Reader::from_path(run.join("results.csv")) else { panic!("{said}") };
    let header = results.headers().unwrap().clone();
    let column = |name: &str| header.iter().position(|h| h == name).unwrap();
    let (bytes, metric, value) = (column("file_bytes"), column("metric"), column("value"));
    let shares: Vec<(String, f64)> = results
        .records()
        .map(|row| row.unwrap())
        .filter(|row| &row[metric] == "cached_share")
        .map(|row| (row[bytes].to_string(), row[value].parse().unwrap()))
        .collect();
    if shares.len() < 2 && said.contains("did not give") {
        return skipped(TEST, "the disk is too slow to read the file twice");
    }
    let share =
        |size: u64| shares.iter().find(|(bytes, _)| *bytes == size.to_string()).map(|(_, share)| *share);
    assert!(share(16 << 20).is_some_and(|share| share > 0.9), "a small file stays: {shares:?}\n{said}");
    assert!(share(256 << 20).is_some_and(|share| share < 0.6), "a large one does not: {shares:?}\n{said}");
    assert_eq!(share(1 << 30), None, "nothing above the limit is measured: {said}");
    assert_eq!(std::fs::read_dir(files.path()).unwrap().count(), 0, "nothing is left behind");
}
