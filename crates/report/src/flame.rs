//! Flame graphs as SVG: every frame as wide as its share of samples, on top of the function that called it.
//!
//! No script: a frame's tooltip has its whole name and share. A difference has the widths of one profile and colours for how
//! much more (or less) CPU time an operation each frame takes than in the other.
//! Source: Gregg, "The flame graph", CACM 59(6), 2016; "Differential flame graphs", 2014.

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
/// Steps of colour in either direction of a difference.
const STEPS: f64 = 4.0;

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
    pub style: String,
    /// What the tooltip says behind the share.
    pub more: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct FlameGraph {
    pub id: String,
    pub title: String,
    pub frames: Vec<FlameFrame>,
    pub notes: Vec<String>,
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
        let whole = tree.samples.max(1) as f64;
        let mut look = |name: &str, depth: usize, caller: CodeClass, _: &[&str], _: f64| {
            let class = class_of(name, depth, caller);
            let more = if depth == 0 { String::new() } else { class_names::title(class).to_string() };
            (class, style(class).to_string(), more)
        };
        let start = Place { left: 0.0, depth: 0, whole, narrowest };
        lay(&tree, start, CodeClass::Other, &mut Vec::new(), &mut look, &mut frames);
        let notes = vec!["width: share of the case's CPU time; colour: class of work".into()];
        FlameGraph { id: id.into(), title: title.into(), frames, notes }
    }

    /// Widths of `profile`; colours by CPU time an operation in it less that in `base`. `None` where either has no time an
    /// operation.
    pub fn difference(
        base: &Profile,
        profile: &Profile,
        title: &str,
        id: &str,
        narrowest: f64,
    ) -> Option<FlameGraph> {
        let (base_per_op, per_op) = (base.sampled_per_op()?, profile.sampled_per_op()?);
        let (before, after) = (CallTree::of(base), CallTree::of(profile));
        let base_whole = before.samples.max(1) as f64;
        let scale = per_op.max(base_per_op);
        let mut look = |_: &str, _: usize, _: CodeClass, path: &[&str], share: f64| {
            let base_share = find(&before, path) as f64 / base_whole;
            let change = (share * per_op - base_share * base_per_op) / scale;
            // A quarter of the dearer one's whole time has the full colour.
            let step = (change * STEPS * 4.0).round().clamp(-STEPS, STEPS);
            let style = match step {
                0.0 => "none".to_string(),
                step if step > 0.0 => format!("s1 f{step:.0}"),
                step => format!("s0 f{:.0}", -step),
            };
            (
                CodeClass::Other,
                style,
                format!("{:+.1} % of the dearer one's CPU time an operation", change * 100.0),
            )
        };
        let mut frames = Vec::new();
        let start = Place { left: 0.0, depth: 0, whole: after.samples.max(1) as f64, narrowest };
        lay(&after, start, CodeClass::Other, &mut Vec::new(), &mut look, &mut frames);
        let notes = vec!["orange: takes more CPU time an operation than in the other; blue: less".into()];
        Some(FlameGraph { id: id.into(), title: title.into(), frames, notes })
    }

    fn rows(&self) -> usize {
        self.frames.iter().map(|frame| frame.depth + 1).max().unwrap_or(0)
    }
}

fn find(tree: &CallTree, path: &[&str]) -> u64 {
    path.iter().try_fold(tree, |at, name| at.called.get(*name)).map_or(0, |at| at.samples)
}

/// Where the frames above a function begin.
#[derive(Clone, Copy)]
struct Place {
    left: f64,
    depth: usize,
    whole: f64,
    narrowest: f64,
}

/// From name, depth, the caller's class, the path and the share: class, style and tooltip.
type FrameLook<'l> = dyn FnMut(&str, usize, CodeClass, &[&str], f64) -> (CodeClass, String, String) + 'l;

fn lay<'t>(
    tree: &'t CallTree,
    place: Place,
    caller: CodeClass,
    path: &mut Vec<&'t str>,
    look: &mut FrameLook<'_>,
    frames: &mut Vec<FlameFrame>,
) {
    let mut left = place.left;
    for (name, called) in &tree.called {
        let share = called.samples as f64 / place.whole;
        if share >= place.narrowest {
            path.push(name);
            let (class, style, more) = look(name, place.depth, caller, path, share);
            frames.push(FlameFrame { name: name.clone(), left, share, depth: place.depth, style, more });
            let above = Place { left, depth: place.depth + 1, ..place };
            lay(called, above, class, path, look, frames);
            path.pop();
        }
        left += share;
    }
}

impl SvgDrawing for FlameGraph {
    fn frame(&self) -> Frame<'_> {
        Frame {
            class: "flame",
            id: &self.id,
            title: &self.title,
            width: WIDTH,
            height: self.rows() as f64 * ROW + BELOW,
            area: Some(Area { left: 0.0, margins: 0 }),
            notes: self.notes.clone(),
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
                canvas.group(&frame.style, &tooltip, |canvas| {
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

    #[test]
    fn a_difference_is_per_operation_and_not_per_sample() {
        let base = profile(&[("sender;tcp_sendmsg", 100), ("sender;copy", 100)], 2.0);
        let other = profile(&[("sender;tcp_sendmsg", 100), ("sender;pin", 100)], 1.0);
        let graph = FlameGraph::difference(&base, &other, "d", "d", 0.0).unwrap();
        let of = |name: &str| graph.frames.iter().find(|frame| frame.name == name).unwrap();
        assert!(of("tcp_sendmsg").more.starts_with("+25.0 %"), "{}", of("tcp_sendmsg").more);
        assert!(of("pin").more.starts_with("+50.0 %") && of("pin").style == "s1 f4");
        let same = FlameGraph::difference(&base, &base, "d", "d", 0.0).unwrap();
        assert!(same.frames.iter().all(|frame| frame.style == "none"));
        let mut lossy = base.clone();
        lossy.rounds[0].lost = 1;
        assert!(FlameGraph::difference(&lossy, &base, "d", "d", 0.0).is_none());
    }
}
