//! Real files: every case reads the right blocks, in the state of the cache that it names.

use super::*;
use crate::probe::Timing;
use crate::probe::blocks::BLOCK_BYTES;
use crate::probe::{Probe, RoleReport, Task};
use syscost_host::scratch::Scratch;

fn point(mode: &str, cache: Option<&str>, pattern: Option<&str>, bytes: u64) -> Point {
    let mut point = Point::default();
    point.set(directory::ID.id, Value::text("."));
    point.set("read_mode", Value::text(mode));
    cache.into_iter().for_each(|cache| point.set("page_cache", Value::text(cache)));
    pattern.into_iter().for_each(|pattern| point.set("read_pattern", Value::text(pattern)));
    point.set("file_bytes", Value::Int(bytes));
    point
}

#[test]
fn every_way_reads_every_byte_of_a_small_file() {
    let mut scratch = Scratch::default();
    // Not whole 512 KiB, so that the last large block is short.
    let bytes = (1 << 20) + 3 * BLOCK_BYTES;
    for (mode, cache, pattern) in [
        (axes::BUFFERED, Some(axes::DROPPED), Some(axes::SEQUENTIAL)),
        (axes::BUFFERED, Some(axes::DROPPED), Some(axes::RANDOM)),
        (axes::BUFFERED, Some(axes::WARM), Some(axes::RANDOM)),
        (axes::DIRECT, None, Some(axes::SEQUENTIAL)),
        (axes::DIRECT_LARGE, None, None),
    ] {
        let point = point(mode, cache, pattern, bytes);
        let run = |point: &Point, scratch: &mut Scratch| -> anyhow::Result<RoleReport> {
            FILE_READ.available(point)?;
            let files = scratch.paths(&FILE_READ.needs(point).files)?;
            let timing = Timing { warmup_ns: 0, window_ns: 200_000_000, windows: 1 };
            let task = Task {
                probe: ID.into(),
                role: "reader".into(),
                token: "a seed".into(),
                verify_all: true,
                files,
                ..Task::of(point.clone(), timing)
            };
            // One pass is enough to see the whole file.
            FILE_READ.play(
                &Task { timing: Timing { window_ns: 50_000_000, ..timing }, ..task },
                &mut crate::fixture::Begun,
            )
        };
        match run(&point, &mut scratch) {
            Ok(report) => {
                let window = &report.windows[0];
                assert!(window.ops > 0.0 && window.bytes == window.ops * BLOCK_BYTES as f64, "{point}");
                let cached = window.quantities.get("cached_per_read").copied().flatten();
                assert_eq!(cached.is_some(), cache == Some(axes::DROPPED), "{point}");
            }
            Err(error) => match error.downcast_ref::<Unavailable>() {
                Some(why) => eprintln!("skipped: {point}: {}", why.reason),
                None => panic!("{point}: {error:#}"),
            },
        }
    }
}

#[test]
fn a_row_named_for_predictions_is_a_row_of_the_probe() {
    let point = point(axes::BUFFERED, Some(axes::DROPPED), Some(axes::RANDOM), 1 << 20);
    assert!(cost_of(ReadWay::Dropped, true, 1 << 20, ".").means(ID, &point));
    assert!(!cost_of(ReadWay::Cached, true, 1 << 20, ".").means(ID, &point));
    let large = super::tests::point(axes::DIRECT_LARGE, None, None, 1 << 20);
    assert!(cost_of(ReadWay::DirectLarge, false, 1 << 20, ".").means(ID, &large));
    assert_eq!(FILE_READ.row(&point).map(|row| row.listed), Some(false));
}
