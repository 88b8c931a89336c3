//! Real processes read real files; a file that is not what it should be is an error, not a figure.

use super::*;
use crate::probe::Timing;
use crate::probe::{Probe, Task};
use syscost_host::Unavailable;
use syscost_host::scratch::Scratch;

fn task(processes: u64, files: Vec<String>) -> Task {
    let mut point = Point::default();
    point.set(directory::ID.id, Value::text("."));
    point.set(PROCESSES.id, Value::Int(processes));
    Task {
        probe: ID.into(),
        role: "readers".into(),
        token: "a seed".into(),
        verify_all: true,
        files,
        ..Task::of(point, Timing { warmup_ns: 0, window_ns: 5_000_000, windows: 2 })
    }
}

#[test]
fn every_process_reads_its_own_file_and_a_strange_file_is_noticed() {
    let mut scratch = Scratch::default();
    let point = task(3, Vec::new()).point;
    let files = match scratch.paths(&FILE_CONTENTION.needs(&point).files) {
        Ok(files) => files,
        Err(why) => return eprintln!("skipped: {}", why.reason),
    };
    assert_eq!(files.len(), 3);
    // The pin would stay on the test's thread.
    let play = |task: Task| {
        std::thread::spawn(move || FILE_CONTENTION.play(&task, &mut crate::fixture::Begun)).join().unwrap()
    };
    match play(task(3, files.clone())) {
        Ok(report) => {
            assert_eq!(report.windows.len(), 2);
            for window in &report.windows {
                assert!(window.ops >= 3.0, "each process read something: {window:?}");
                let slowest = window.quantities["slowest_process_ns"];
                assert!(slowest >= window.quantities["median_ns"] && slowest.is_some());
            }
        }
        Err(error) => match error.downcast_ref::<Unavailable>() {
            Some(why) => return eprintln!("skipped: {}", why.reason),
            None => panic!("{error:#}"),
        },
    }
    let mut strange = tempfile::NamedTempFile::new_in(".").unwrap();
    std::io::Write::write_all(&mut strange, &vec![7; FILE_SIZE as usize]).unwrap();
    strange.as_file().sync_all().unwrap();
    let path = strange.path().to_string_lossy().into_owned();
    let error = play(task(1, vec![path])).unwrap_err();
    assert!(error.to_string().contains("other bytes"), "{error:#}");
}
