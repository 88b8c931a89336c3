//! Flame graphs as SVG: every frame as wide as its share of samples, on top of the function that called it.
//!
//! No script: a frame's tooltip has its whole name and share.
//! Source: Gregg, "The flame graph", CACM 59(6), 2016.

use super::canvas::{Anchor, Area, Canvas, Frame, SvgDrawing, WHOLE};
use crate::text::profile as class_names;
use std::collections::BTreeMap;
use syscost_analyze::profile::classify;
use syscost_analyze::profile::functions::CodeClass;
use syscost_experiment::run::Profile;

const WIDTH: f64 = 1200.0;
const ROW: f64 = 16.0;
const BELOW: f64 = 4.0;
/// A frame narrower than this share holds no text.
const NAMED: f64 = 0.02;

/// Frames narrower than this are left out of the page, and of a file.
pub const NARROWEST_ON_PAGE: f64 = 0.01;
pub const NARROWEST_IN_FILE: f64 = 0.001;

/// One frame: where it stands, in shares of the whole, and how it is coloured.
#[derive(Clone, Debug, PartialEq)]
pub struct FlameFrame {
    pub name: String,
    pub left: f64,
    pub share: f64,
    /// From the bottom.
    pub depth: usize,
    pub style: &'static str,
    /// What the tooltip says behind the share.
    pub more: &'static str,
}

#[derive(Clone, Debug, PartialEq)]
pub struct FlameGraph {
    pub id: String,
    pub title: String,
    pub frames: Vec<FlameFrame>,
}

/// Calls as a tree: samples of a function and all that it called.
#[derive(Debug, Default)]
struct CallTree {
    samples: u64,
    called: BTreeMap<String, CallTree>,
}

impl CallTree {
    fn of(profile: &Profile) -> CallTree {
        let mut tree = CallTree::default();
        for sampled in &profile.stacks {
            let mut at = &mut tree;
            at.samples += sampled.total();
            for name in sampled.stack.split(';') {
                at = at.called.entry(name.to_string()).or_default();
                at.samples += sampled.total();
            }
        }
        tree
    }
}

/// A frame's class: that of its function, or of the caller that it belongs to.
fn class_of(name: &str, depth: usize, caller: CodeClass) -> CodeClass {
    if depth == 0 { CodeClass::Other } else { classify::function(name).unwrap_or(caller) }
}

fn style(class: CodeClass) -> &'static str {
    match class {
        CodeClass::Copy => "s1",
        CodeClass::Protocol => "s0",
        CodeClass::Device => "s3",
        CodeClass::Skb => "s4",
        CodeClass::Memory => "s2",
        CodeClass::Locks => "s7",
        CodeClass::Scheduling => "s5",
        CodeClass::Entry | CodeClass::Files | CodeClass::User | CodeClass::Other => "none",
    }
}

impl FlameGraph {
    /// Coloured by class of work.
    pub fn of(profile: &Profile, title: &str, id: &str, narrowest: f64) -> FlameGraph {
        let tree = CallTree::of(profile);
        let mut frames = Vec::new();
        let start = Place { left: 0.0, depth: 0, whole: tree.samples.max(1) as f64, narrowest };
        lay(&tree, start, CodeClass::Other, &mut frames);
        FlameGraph { id: id.into(), title: title.into(), frames }
    }

    fn rows(&self) -> usize {
        self.frames.iter().map(|frame| frame.depth + 1).max().unwrap_or(0)
    }
}

/// Where the frames above a function begin.
#[derive(Clone, Copy)]
struct Place {
    left: f64,
    depth: usize,
    whole: f64,
    narrowest: f64,
}

fn lay(tree: &CallTree, place: Place, caller: CodeClass, frames: &mut Vec<FlameFrame>) {
    let Place { mut left, depth, whole, narrowest } = place;
    for (name, called) in &tree.called {
        let share = called.samples as f64 / whole;
        if share >= narrowest {
            let class = class_of(name, depth, caller);
            let more = if depth == 0 { "" } else { class_names::title(class) };
            frames.push(FlameFrame { name: name.clone(), left, share, depth, style: style(class), more });
            lay(called, Place { left, depth: depth + 1, ..place }, class, frames);
        }
        left += share;
    }
}

/// How a graph is read.
pub const FLAME_NOTE: &str = "width: share of the case's CPU time; colour: class of work";

impl SvgDrawing for FlameGraph {
    fn frame(&self) -> Frame<'_> {
        Frame {
            class: "flame",
            id: &self.id,
            title: &self.title,
            width: WIDTH,
            height: self.rows() as f64 * ROW + BELOW,
            area: Some(Area { left: 0.0, margins: 0 }),
            notes: vec![FLAME_NOTE.into()],
            ..Frame::default()
        }
    }

    fn draw(&self, canvas: &mut Canvas) {
        let rows = self.rows();
        for frame in &self.frames {
            let y = (rows - 1 - frame.depth) as f64 * ROW;
            let more = if frame.more.is_empty() { String::new() } else { format!(", {}", frame.more) };
            let tooltip = format!("{}: {:.1} %{more}", frame.name, frame.share * 100.0);
            canvas.clipped((frame.left * WHOLE, y), (frame.share * WHOLE, ROW - 1.0), |canvas| {
                canvas.group(frame.style, &tooltip, |canvas| {
                    canvas.put(format_args!("<rect width=\"100%\" height=\"15\"/>"));
                    if frame.share >= NAMED {
                        canvas.text("", (3.0, 11.5), Anchor::Start, &frame.name);
                    }
                });
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_core::axis::Point;
    use syscost_experiment::run::{ProfiledRound, SampledStack};
    use syscost_host::sampling::{SampledEvent, SampledScope};

    fn profile(stacks: &[(&str, u32)], ops: f64) -> Profile {
        let samples = stacks.iter().map(|(_, n)| u64::from(*n)).sum();
        Profile {
            probe: "transfer".into(),
            point: Point::default(),
            event: SampledEvent::CpuClock,
            period: 100,
            scope: SampledScope::Machine,
            rounds: vec![ProfiledRound { samples, ops, per_sample: 100.0, ..ProfiledRound::default() }],
            stacks: stacks
                .iter()
                .map(|(s, n)| SampledStack { stack: s.to_string(), samples: vec![*n] })
                .collect(),
        }
    }

    #[test]
    fn a_frame_is_as_wide_as_its_samples_and_above_its_caller() {
        let profile = profile(
            &[("sender;tcp_sendmsg;memcpy", 30), ("sender;tcp_sendmsg", 10), ("receiver;<x>", 60)],
            1.0,
        );
        let graph = FlameGraph::of(&profile, "one", "one", 0.0);
        let of = |name: &str| graph.frames.iter().find(|frame| frame.name == name).unwrap();
        assert_eq!((of("receiver").left, of("receiver").share, of("receiver").depth), (0.0, 0.6, 0));
        assert_eq!((of("tcp_sendmsg").left, of("tcp_sendmsg").share, of("tcp_sendmsg").depth), (0.6, 0.4, 1));
        assert_eq!(of("memcpy").style, of("tcp_sendmsg").style, "an unknown function is its caller's");
        let drawn = graph.standalone();
        assert!(drawn.contains("&lt;x&gt;") && !drawn.contains("<x>") && drawn.contains("30.0 %"));
        assert_eq!(
            FlameGraph::of(&profile, "one", "one", 0.35).frames.len(),
            4,
            "the narrow one is left out"
        );
    }
}
