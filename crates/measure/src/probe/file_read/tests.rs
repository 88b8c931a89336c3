//! Real files: every case reads the right blocks, in the state of the cache that it names.

use super::*;
use crate::probe::Probe;

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
fn a_row_named_for_predictions_is_a_row_of_the_probe() {
    let point = point(axes::BUFFERED, Some(axes::DROPPED), Some(axes::RANDOM), 1 << 20);
    assert!(cost_of(ReadWay::Dropped, true, 1 << 20, ".").means(ID, &point));
    assert!(!cost_of(ReadWay::Cached, true, 1 << 20, ".").means(ID, &point));
    let large = super::tests::point(axes::DIRECT_LARGE, None, None, 1 << 20);
    assert!(cost_of(ReadWay::DirectLarge, false, 1 << 20, ".").means(ID, &large));
    assert_eq!(FILE_READ.row(&point).map(|row| row.listed), Some(false));
}
