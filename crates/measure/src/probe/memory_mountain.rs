//! `memory_mountain`: read throughput over the size of the working set and the stride.
//!
//! What locality is worth: a small size profits from the caches, a small stride from lines and
//! prefetchers. Source: Bryant and O'Hallaron, Computer Systems, 3rd ed., 6.6.1.

use super::operation::{PlayedRound, SystemOperation};
use super::passes;
use super::prediction::RowRef;
use super::row::{Drawing, Row, Shape};
use super::working_set::{self, ID as WORKING_SET};
use super::{Needs, Timing, Window};
use anyhow::{Context, Result, ensure};
use syscost_core::axis::DefaultValues::Ints;
use syscost_core::axis::{Axis, IntAxis, Point, Value};
use syscost_core::units::Unit;
use syscost_host::{Unavailable, memory};
use syscost_sys::mapping::{Mapping, Pages};
use syscost_sys::stream;

const ID: &str = "memory_mountain";
const STRIDE: IntAxis = IntAxis::new("stride_bytes");
const WORD: u64 = size_of::<u64>() as u64;
/// The largest working set of the default.
pub const LARGEST: u64 = 64 << 20;
/// Words are these multiples, so that a sum over any of them is known.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// The row of a cell, as an input of other rows' predictions.
pub fn rate_at(bytes: u64, stride: u64) -> RowRef {
    let coordinates = vec![(WORKING_SET.id, Value::Int(bytes)), (STRIDE.id, Value::Int(stride))];
    RowRef { probe: ID, coordinates, metric: "bandwidth" }
}

fn sizes() -> Vec<Value> {
    let most = memory::for_default_sizes().map_or(LARGEST, |bytes| (bytes / 4).max(1 << 20));
    let octaves = std::iter::successors(Some(1 << 10), |size| Some(size * 2));
    octaves.take_while(|size| *size <= LARGEST.min(most)).map(Value::Int).collect()
}

fn quick_sizes() -> Vec<Value> {
    sizes().into_iter().step_by(4).collect()
}

fn coordinates(point: &Point) -> (u64, u64) {
    (point.int(WORKING_SET).unwrap_or(1 << 10), point.int(STRIDE).unwrap_or(16))
}

/// The sum of the words 0, s, 2s, ... below n, each its index times the factor.
fn expected_sum(words: u64, stride: u64) -> u64 {
    let count = u128::from(words.div_ceil(stride));
    let indices = (count * count.saturating_sub(1) / 2) as u64;
    indices.wrapping_mul(stride).wrapping_mul(FACTOR)
}

pub static MEMORY_MOUNTAIN: SystemOperation = SystemOperation {
    id: ID,
    title: "memory mountain",
    method: "One thread sums 8-byte words at a fixed stride through a working set that it has been through \
             before, in eight sums at once. Throughput counts the words read, not the lines moved; every sum \
             is checked; base pages.",
    source: "Bryant and O'Hallaron, Computer Systems: A Programmer's Perspective, 3rd ed., 6.6.1",
    roles: &["reader"],
    axes,
    needs: |point| Needs::memory(coordinates(point).0),
    figures: || passes::figures("bytes of the words read, by the time that it took"),
    // Many cells, each cheap: a tenth of the usual windows is thousands of passes over a small set, and at least one over a
    // large one.
    timing: Some(|_, base| Timing { warmup_ns: base.warmup_ns / 5, window_ns: base.window_ns / 8, ..base }),
    measure: Some(measure),
    row: Some(row),
    // Not predicted: what prefetchers make of a stride is in no document, and no few figures predict all others.
    predict: Some(|_, _| None),
    drawings: &[
        Drawing::of(
            "Memory mountain",
            "bandwidth",
            Shape::Heat {
                x: |point| point.get(STRIDE.id).cloned(),
                y: |point| point.get(WORKING_SET.id).cloned(),
                x_title: "stride",
                y_title: "working set",
                mirrored: false,
            },
        ),
        Drawing::of(
            "Memory mountain: read throughput by size, a line for each stride",
            "bandwidth",
            Shape::Curve { along: WORKING_SET.id, log_y: true, levels: false },
        ),
    ],
    ..SystemOperation::DEFAULTS
};

fn axes() -> Vec<Axis> {
    vec![
        working_set::axis(64, sizes, quick_sizes),
        STRIDE
            .bytes(WORD, 1 << 20)
            .flag("stride", "stride")
            .help("from one 8-byte word that is read to the next")
            .default_on(Ints(&[16, 32, 64, 96, 128, 192, 256, 384]))
            .quick_on(Ints(&[16, 64, 256])),
    ]
}

fn measure(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    let (bytes, stride) = coordinates(round.point());
    if !stride.is_multiple_of(WORD) {
        let reason = format!("a stride of {stride} bytes is no whole number of {WORD}-byte words");
        return Err(Unavailable { reason, remedy: "name multiples of 8 with --stride".into() }.into());
    }
    let (count, stride) = ((bytes / WORD) as usize, (stride / WORD) as usize);
    let mapped = Mapping::anonymous(bytes as usize, Pages::Base);
    let mut memory = mapped.with_context(|| format!("no memory for a working set of {bytes} bytes"))?;
    memory.populate();
    let words = &mut memory.words()[..count];
    (0u64..).zip(words.iter_mut()).for_each(|(i, word)| *word = i.wrapping_mul(FACTOR));
    round.ready()?;
    let mut sum = 0u64;
    let read = count.div_ceil(stride) as u64 * WORD;
    let timed = passes::windows(round.task, read, |passes| {
        for _ in 0..passes {
            sum = sum.wrapping_add(stream::sum_of_strided(std::hint::black_box(words), stride));
        }
    });
    let expected = expected_sum(count as u64, stride as u64).wrapping_mul(timed.passes);
    ensure!(sum == expected, "the words add up to {sum:#x}, not {expected:#x}: not every word was read");
    Ok(timed.windows)
}

fn row(point: &Point) -> Option<Row> {
    let (bytes, stride) = coordinates(point);
    Some(Row::drawn(format!("{}, stride {stride} B", Unit::Bytes.format(bytes as f64))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_known_without_adding_up() {
        for (words, stride) in [(128, 1), (128, 2), (1000, 48), (5, 8), (1 << 16, 12)] {
            let added = (0..words)
                .step_by(stride as usize)
                .fold(0u64, |sum, i: u64| sum.wrapping_add(i.wrapping_mul(FACTOR)));
            assert_eq!(expected_sum(words, stride), added, "{words} words, stride {stride}");
        }
    }

    #[test]
    fn the_grid_is_that_of_the_book() {
        let sizes: Vec<u64> = sizes().iter().filter_map(Value::as_int).collect();
        assert!(sizes[0] == 1024 && sizes.windows(2).all(|w| w[1] == 2 * w[0]), "{sizes:?}");
        assert!(*sizes.last().unwrap() <= LARGEST);
    }
}
