//! What a script draws: which lists stand together in a call, what the axes are called there, what comments say.

use super::heading::TableHeading;
use crate::naming;
use crate::{ColumnMapping, TableColumn};
use std::collections::{BTreeMap, BTreeSet};

/// More calls than any script that draws; longer ones are no drawing.
const MOST_CALLS: usize = 2000;
const LONGEST_CALL: usize = 2000;
/// Words before what a list runs over: `vs threads`, `per message size`.
const OVER: &[&str] = &["vs", "versus", "each", "per", "by", "varying", "across", "over"];
/// What draws a line or a row of bars.
const DRAWS: &[&str] = &["plot", "bar", "errorbar", "scatter", "semilogx", "semilogy", "loglog", "step"];

/// Shorter ones are none.
const SHORTEST_RULE: usize = 10;

/// What begins or ends a figure.
const ENDS: &[&str] = &["figure", "savefig", "show", "close", "subplots"];
const TICKS: &[&str] = &["xticks", "xticklabels"];

struct ScriptCall<'t> {
    name: &'t str,
    arguments: Vec<&'t str>,
}

impl ScriptCall<'_> {
    fn is(&self, last: &str) -> bool {
        self.name.rsplit(['.', '_']).next() == Some(last)
    }

    fn draws(&self) -> bool {
        DRAWS.iter().any(|name| self.name.rsplit('.').next() == Some(name))
    }

    /// `ax1` of `ax1.plot`
    fn receiver(&self) -> &str {
        self.name.rsplit_once('.').map_or("", |(receiver, _)| receiver)
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        self.arguments.iter().filter_map(|argument| quoted(argument.trim()))
    }
}

/// The calls of a script, and which names stand in them.
pub struct ScriptDrawing<'t> {
    text: &'t str,
    calls: Vec<ScriptCall<'t>>,
    /// By name: the calls with their first argument that has it.
    named: BTreeMap<&'t str, Vec<(usize, usize)>>,
    /// By name: the calls that draw after it is named in a loop.
    looped: BTreeMap<&'t str, Vec<usize>>,
}

impl<'t> ScriptDrawing<'t> {
    pub fn of(text: &'t str) -> ScriptDrawing<'t> {
        let mut drawing =
            ScriptDrawing { text, calls: Vec::new(), named: BTreeMap::new(), looped: BTreeMap::new() };
        let mut loops: Vec<(usize, &str)> = Vec::new();
        let code = text.lines().filter(|line| !line.trim_start().starts_with('#'));
        for line in code.filter(|line| line.len() <= LONGEST_CALL) {
            if drawing.calls.len() >= MOST_CALLS {
                break;
            }
            if line.trim_start().starts_with("for ") && line.contains(':') {
                loops.extend(identifiers(line).map(|name| (drawing.calls.len(), name)));
            }
            let from = line.as_ptr() as usize - text.as_ptr() as usize;
            line.match_indices('(').for_each(|(at, _)| drawing.add(from + at));
        }
        for (from, name) in loops {
            let next = drawing.calls.iter().skip(from).position(ScriptCall::draws).map(|at| from + at);
            drawing.looped.entry(name).or_default().extend(next);
        }
        drawing
    }

    /// The call whose arguments begin there.
    fn add(&mut self, at: usize) {
        let text = self.text;
        let before = &text[..at];
        let word = |c: char| c.is_alphanumeric() || "_.[]".contains(c);
        let name = &before[before.trim_end_matches(word).len()..];
        let named = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
        let Some(arguments) = arguments(&text[at + 1..]).filter(|_| named) else { return };
        let call = self.calls.len();
        for (place, argument) in arguments.iter().copied().enumerate() {
            for name in identifiers(argument) {
                let calls = self.named.entry(name).or_default();
                if calls.last().is_none_or(|(last, _)| *last != call) {
                    calls.push((call, place));
                }
            }
        }
        self.calls.push(ScriptCall { name, arguments });
    }

    /// The first argument of a call that has the name.
    fn place(&self, call: usize, name: &str) -> Option<usize> {
        let calls = self.named.get(name)?;
        let at = calls.binary_search_by_key(&call, |(call, _)| *call).ok()?;
        Some(calls[at].1)
    }

    /// The calls that draw a list: those with its name, else the next after a loop over it.
    fn drawing(&self, list: &str) -> Vec<usize> {
        let named = self.named.get(list).into_iter().flatten().map(|(call, _)| *call);
        let own: Vec<usize> = named.filter(|call| self.calls[*call].arguments.len() > 1).collect();
        let (draws, others): (Vec<usize>, Vec<usize>) =
            own.into_iter().partition(|call| self.calls[*call].draws());
        let looped = || self.looped.get(list).cloned().unwrap_or_default();
        [draws, looped(), others].into_iter().find(|calls| !calls.is_empty()).unwrap_or_default()
    }

    /// The calls of the figure that a list is drawn in, from there on.
    fn figure(&self, list: &str) -> impl Iterator<Item = &ScriptCall<'t>> {
        let first = self.drawing(list).first().map_or(self.calls.len(), |call| call + 1);
        self.calls[first..].iter().take_while(|call| !ENDS.iter().any(|end| call.is(end)))
    }

    /// The list whose texts stand below the axis.
    pub fn ticks<'a>(&self, list: &str, axes: &[&'a str]) -> Option<&'a str> {
        let ticks = self.figure(list).filter(|call| TICKS.iter().any(|name| call.is(name)));
        let named = ticks.flat_map(|call| call.arguments.iter().flat_map(|argument| identifiers(argument)));
        let all: BTreeSet<&str> =
            named.filter_map(|name| axes.iter().copied().find(|axis| *axis == name)).collect();
        all.first().copied().filter(|_| all.len() == 1)
    }

    /// Is it drawn itself, and not only what is computed of it?
    pub fn draws(&self, list: &str) -> bool {
        let direct = |call: &usize| self.calls[*call].draws() && self.place(*call, list).is_some();
        self.drawing(list).first().is_some_and(direct) && self.is_plain(list)
    }

    /// What its figure writes at an axis, whatever it is.
    pub fn axis_label(&self, list: &str, axis: &str) -> Option<&str> {
        let first = *self.drawing(list).first()?;
        let own = |call: &&ScriptCall| call.is(axis) && call.receiver() == self.calls[first].receiver();
        self.figure(list).find(own)?.texts().next()
    }

    /// What the title of its figure says, or the call of a function that draws it.
    pub fn titles(&self, list: &str) -> Vec<&str> {
        let drawn = self.drawing(list).first().map(|call| &self.calls[*call]);
        let own = drawn.filter(|call| !call.draws()).into_iter();
        own.chain(self.figure(list).filter(|call| call.is("title"))).flat_map(ScriptCall::texts).collect()
    }

    /// Of lists of lists, is it the outer that is drawn over a name? `plot(sizes, rates[:, 3])`
    pub fn sliced(&self, list: &str, axes: &[&str]) -> Option<(String, bool)> {
        let calls = self.drawing(list).into_iter().map(|call| &self.calls[call].arguments);
        let mut found = calls.filter_map(|arguments| {
            let axis = axes.iter().find(|axis| arguments.iter().any(|argument| argument.trim() == **axis))?;
            let sliced = arguments.iter().find(|argument| argument.trim().ends_with(']'))?;
            let (name, slice) = sliced.trim().split_once('[')?;
            (name != *axis).then(|| (axis.to_string(), slice.starts_with(':')))
        });
        found.next()
    }

    /// Which of these lists it is drawn over: the one before it in all calls.
    pub fn over<'a>(&self, list: &str, axes: &[&'a str]) -> Option<&'a str> {
        let before = |call: usize| {
            // What is computed of two lists pairs them, in any order.
            let pairs = !self.calls[call].draws();
            let own = self.place(call, list).filter(|_| !pairs).unwrap_or(usize::MAX);
            axes.iter().copied().filter(move |axis| self.place(call, axis).is_some_and(|at| at < own))
        };
        let all: BTreeSet<&str> = self.drawing(list).into_iter().flat_map(before).collect();
        all.first().copied().filter(|_| all.len() == 1)
    }

    /// Names that stand after a list in calls: what may be drawn over it.
    pub fn after(&self, list: &str) -> BTreeSet<&'t str> {
        let calls = self.named.get(list).into_iter().flatten();
        calls
            .flat_map(|(call, at)| self.calls[*call].arguments.iter().skip(at + 1).copied())
            .flat_map(identifiers)
            .collect()
    }

    /// Names that stand after a list in calls that draw.
    pub fn drawn_over(&self, list: &str) -> BTreeSet<&'t str> {
        let calls = self.named.get(list).into_iter().flatten();
        let draws = calls.filter(|(call, _)| self.calls[*call].draws());
        draws
            .flat_map(|(call, at)| self.calls[*call].arguments.iter().skip(at + 1).copied())
            .flat_map(identifiers)
            .collect()
    }

    /// What the call that draws a list calls it.
    pub fn curve(&self, list: &str) -> Option<&'t str> {
        let named = self.named.get(list)?.iter().map(|(call, _)| &self.calls[*call]);
        let mut labels = named.filter(|call| call.draws()).filter_map(|call| {
            // `yerr=list` is another thing of the curve.
            let drawn = |argument: &&&str| argument.trim().split('[').next() == Some(list);
            call.arguments.iter().skip(1).find(drawn)?;
            call.arguments.iter().find_map(|argument| {
                let value = argument.trim().strip_prefix("label")?.trim_start().strip_prefix('=')?;
                quoted(value.trim())
            })
        });
        labels.next()
    }

    /// Is it drawn as it is? `[x / 1e6 for x in list]` is not.
    pub fn is_plain(&self, list: &str) -> bool {
        let plain = |call: usize| {
            let Some(at) = self.place(call, list) else { return true };
            let rest = self.calls[call].arguments[at].trim().strip_prefix(list);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('['))
        };
        self.drawing(list).into_iter().filter(|call| self.calls[*call].draws()).all(plain)
    }

    /// What the plot calls an axis of it: the label after it is drawn, of the same axes where there are several.
    pub fn label<'s>(&'s self, list: &str, axis: &str, is: impl Fn(TableColumn) -> bool) -> Option<&'s str> {
        let first = *self.drawing(list).first()?;
        let drawn = &self.calls[first];
        let named = |text: &str| naming::column_of(text).or_else(|| naming::unit_alone(text));
        let fits = |text: &&str| named(text).is_some_and(|named| is(named.column));
        let later = || self.calls.iter().skip(first + 1);
        let labels = || later().filter(move |call| call.is(axis));
        // One text of it says so, or one with its unit.
        let told = |call: &'s ScriptCall<'t>| {
            let all: Vec<&str> = call.texts().filter(fits).collect();
            let with_unit =
                || all.iter().filter(|text| named(text).is_some_and(|named| named.unit.is_some()));
            let one = || with_unit().next().copied().filter(|_| with_unit().count() == 1);
            one().or(all.first().copied().filter(|_| all.len() == 1))
        };
        if !drawn.draws() {
            return told(drawn);
        }
        let own = labels().find(|call| call.receiver() == drawn.receiver());
        if let Some(call) = own.or_else(|| labels().next()).filter(|call| call.texts().next().is_some()) {
            return call.texts().next().filter(|text| fits(text));
        }
        // A function of the script's own: `save(sizes, a1, a2, "Message size", "Throughput (Gbps)")`.
        let near = std::iter::once(drawn).chain(later()).take(4).find_map(told);
        near.or_else(|| {
            let far: BTreeSet<&str> = later().filter_map(told).collect();
            far.first().copied().filter(|_| far.len() == 1)
        })
    }

    /// The comment above a line.
    pub fn comment(&self, line: usize) -> Vec<&'t str> {
        comment_above(self.text, line)
    }

    /// The last comment above a line that stands between rules: what it says is said of all up to the next.
    pub fn section(&self, line: usize) -> Vec<&'t str> {
        let above: Vec<&str> = self.text.lines().take(line.saturating_sub(1)).collect();
        let is_rule = |line: &&&str| {
            line.trim_start().strip_prefix('#').is_some_and(|rest| {
                rest.len() >= SHORTEST_RULE && rest.trim().chars().all(|c| "=-#*~".contains(c))
            })
        };
        let inside = above.iter().rev().skip_while(|line| !is_rule(line)).skip(1);
        inside.take_while(|line| line.trim_start().starts_with('#') && !is_rule(line)).copied().collect()
    }
}

/// What a text says that a list runs over, and at which places of other axes.
pub fn runs_over(text: &str, mapping: &ColumnMapping) -> (Vec<TableColumn>, Vec<TableColumn>) {
    let (mut over, mut fixed) = (Vec::new(), Vec::new());
    let words = words(text);
    for (at, word) in words.iter().enumerate() {
        let after = |most: usize| words[(at + 1).min(words.len())..].iter().take(most);
        let named = |most: usize| {
            let text = after(most).map(String::as_str).collect::<Vec<_>>().join(" ");
            let column = TableHeading::of(&text, mapping).column;
            column.filter(|column| PLACES.contains(column))
        };
        if OVER.contains(&word.as_str()) {
            over.extend((1..=2).rev().find_map(named));
        }
        let number = after(2).find(|word| *word != "=" && *word != ":");
        if number.is_some_and(|word| word.parse::<u64>().is_ok()) && after(1).any(|word| word == "=") {
            let column = TableHeading::of(word, mapping).column;
            fixed.extend(column.filter(|column| PLACES.contains(column)));
        }
    }
    (over, fixed)
}

/// `[64B, 1KB, 16KB]`, `[thread1, thread2]`: what the figures below are places of.
pub fn places_in(text: &str) -> Option<Vec<&str>> {
    let inside = text.rsplit_once('[')?.1.split_once(']')?.0;
    let all: Vec<&str> = inside.split(',').map(str::trim).collect();
    (all.len() > 1).then_some(all)
}

pub const PLACES: [TableColumn; 2] = [TableColumn::MessageBytes, TableColumn::Threads];

fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with(|c: char| c.is_alphabetic() || c == '_'))
}

/// What stands between the commas of a call, up to its end.
fn arguments(text: &str) -> Option<Vec<&str>> {
    let (mut all, mut from, mut depth, mut mark) = (Vec::new(), 0, 0u32, None);
    for (at, c) in text.char_indices().take(LONGEST_CALL) {
        match (mark, c) {
            (Some(open), c) if c == open => mark = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => mark = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')') if depth == 0 => {
                all.push(&text[from..at]);
                return Some(all);
            }
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                all.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    None
}

/// `f"..."` below another text.
fn is_next_part(rest: &str) -> bool {
    let rest = rest.trim_start();
    rest.len() < LONGEST_CALL && ["f\"", "f'", "r\"", "r'"].iter().any(|mark| rest.starts_with(mark))
}

fn quoted(text: &str) -> Option<&str> {
    let text =
        text.split_once('=').filter(|(name, _)| name.trim().ends_with("label")).map_or(text, |(_, of)| of);
    let text = text.trim().trim_start_matches(['f', 'r']);
    let mark = text.chars().next().filter(|c| ['"', '\''].contains(c))?;
    let (text, rest) = text[1..].split_once(mark)?;
    // `"Throughput (4 threads) " + system`: its first part says it.
    let goes_on = rest.trim_start().starts_with(['"', '\'', '+', '%', '.']) || is_next_part(rest);
    (rest.is_empty() || goes_on).then_some(text)
}

/// The comment nearest above a line (from 1), one text a line.
fn comment_above(text: &str, line: usize) -> Vec<&str> {
    let above: Vec<&str> = text.lines().take(line.saturating_sub(1)).collect();
    let is_comment = |line: &&&str| line.trim_start().starts_with('#');
    let other = above.iter().rev().take_while(|line| !is_comment(line)).count();
    above.iter().rev().skip(other).take_while(is_comment).take(6).copied().collect()
}

/// `msg_size=4096`, `Message Size`: words, numbers and the signs between them.
fn words(line: &str) -> Vec<String> {
    let spaced = line.replace('=', " = ").to_lowercase();
    let edge = |c: char| !c.is_alphanumeric() && c != '=' && c != '_';
    spaced
        .split([' ', '\t', '(', ')', ',', '[', ']'])
        .map(|word| word.trim_matches(edge).to_string())
        .filter(|word| !word.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Latency (us) vs Thread Count (Size=65536)\nlat_a1 = [1, 2]\nlat_a2 = [2, 3]\n\
        ax1.plot(threads, lat_a1, 'o-', label='A1')\nax1.plot(threads, [v / 1e3 for v in lat_a2])\nax1.set_ylabel('Latency (us)')\n\
        for name, values in rates.items():\n    plt.plot(sizes, values)\nplt.ylabel(\"Throughput (Gbps)\")\n";

    #[test]
    fn what_is_drawn_over_what_and_under_which_label() {
        let drawing = ScriptDrawing::of(TEXT);
        let axes = ["threads", "sizes"];
        assert_eq!(drawing.over("lat_a1", &axes), Some("threads"));
        assert_eq!(drawing.over("rates", &axes), Some("sizes"));
        assert_eq!(drawing.over("other", &axes), None);
        assert!(drawing.is_plain("lat_a1") && !drawing.is_plain("lat_a2"));
        let label = |list| drawing.label(list, "ylabel", TableColumn::is_measure);
        assert_eq!((label("lat_a1"), label("rates")), (Some("Latency (us)"), Some("Throughput (Gbps)")));
    }

    #[test]
    fn comments_say_what_a_list_runs_over() {
        let comment = ScriptDrawing::of(TEXT).comment(3);
        let said = runs_over(comment[0], &ColumnMapping::default());
        assert_eq!(said, (vec![TableColumn::Threads], vec![TableColumn::MessageBytes]));
        assert_eq!(places_in("# Size -> [t1, t2]"), Some(vec!["t1", "t2"]));
    }
}
