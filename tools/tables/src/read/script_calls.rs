//! What a script draws: which lists stand together in a call, what the axes are called there, what comments say.

use super::heading::TableHeading;
use super::script_lists::{NamedList, PLACES};
use super::script_run::{ScriptArgument, ScriptCall};
use super::script_value::{ListKey, ListSource, ScriptValue};
use crate::naming::{self, NamedColumn};
use crate::{ColumnMapping, TableColumn};
use std::collections::{BTreeMap, BTreeSet};

/// Words before what a list runs over: `vs threads`, `per message size`.
const OVER: &[&str] = &["vs", "versus", "each", "per", "by", "varying", "across", "over"];
/// What draws a line or a row of bars.
const DRAWS: &[&str] = &[
    "plot", "bar", "errorbar", "scatter", "semilogx", "semilogy", "loglog", "step", "lines", "points",
    "lineplot", "barplot",
];

/// Longer texts are prose.
const LONGEST_LABEL: usize = 40;
/// Shorter ones are none.
const SHORTEST_RULE: usize = 10;
/// Before the title of a section.
const SHORTEST_MARK: usize = 2;

/// What begins or ends a figure.
const ENDS: &[&str] = &["figure", "savefig", "show", "close", "subplots", "subplot"];
const TICKS: &[&str] = &["xticks", "xticklabels"];

impl ScriptCall {
    fn is(&self, last: &str) -> bool {
        self.name.rsplit(['.', '_']).next() == Some(last)
    }

    pub fn draws(&self) -> bool {
        DRAWS.iter().any(|name| self.name.rsplit('.').next() == Some(name))
    }

    fn ends(&self) -> bool {
        ENDS.iter().any(|end| self.is(end))
    }

    /// `ax1` of `ax1.plot`
    fn receiver(&self) -> &str {
        self.name.rsplit_once('.').map_or("", |(receiver, _)| receiver)
    }

    /// One a text: of lists of them none.
    fn texts(&self) -> impl Iterator<Item = &str> {
        self.arguments.iter().filter_map(|argument| match &argument.texts[..] {
            [text] => Some(text.as_str()),
            _ => None,
        })
    }

    /// What it calls an axis: `ylabel("Gbps")`, `set(ylabel="Gbps")`, R's `plot(x, y, ylab="Gbps")`.
    fn axis_label(&self, axis: &str) -> Option<&str> {
        let own = self.is(axis);
        let named = move |argument: &&ScriptArgument| match argument.keyword.as_deref() {
            None => own,
            Some(keyword) => axis.starts_with(keyword) && keyword.ends_with("lab") || keyword == axis,
        };
        self.arguments.iter().find(named)?.texts.first().map(String::as_str)
    }

    pub fn sources(&self) -> impl Iterator<Item = &ListSource> {
        self.arguments.iter().flat_map(|argument| &argument.from)
    }

    /// The first argument that has one of the sources.
    fn place(&self, of: &[&ListSource]) -> Option<usize> {
        self.arguments.iter().position(|argument| argument.has(of))
    }
}

impl ScriptArgument {
    /// Figures, or what they are drawn over: `y=rates`.
    pub fn is_drawn(&self) -> bool {
        self.keyword.as_deref().is_none_or(|keyword| ["x", "y"].contains(&keyword))
    }

    fn is_labels(&self) -> bool {
        self.keyword.as_deref() == Some("labels")
    }

    fn has(&self, of: &[&ListSource]) -> bool {
        of.iter().any(|source| self.from.contains(source))
    }
}

/// What a script draws: the calls of libraries, and which lists stand in them.
pub struct ScriptDrawing<'t> {
    text: &'t str,
    calls: Vec<ScriptCall>,
    /// By variable: the calls that have a list of it.
    named: BTreeMap<String, Vec<usize>>,
}

impl<'t> ScriptDrawing<'t> {
    pub fn of(text: &'t str, calls: Vec<ScriptCall>) -> ScriptDrawing<'t> {
        let mut named: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (at, call) in calls.iter().enumerate() {
            let names: BTreeSet<&String> = call.sources().map(|source| &source.name).collect();
            names.into_iter().for_each(|name| named.entry(name.clone()).or_default().push(at));
        }
        ScriptDrawing { text, calls, named }
    }

    /// The calls that have a list, or else what holds it, or one beside it in a list of lists.
    fn having<'d>(&'d self, list: &NamedList) -> (Vec<&'d ScriptCall>, Vec<&'d ListSource>) {
        let calls = || self.named.get(&list.name).into_iter().flatten().map(|at| &self.calls[*at]);
        let sources = || calls().flat_map(ScriptCall::sources).filter(|source| source.name == list.name);
        let holds = |source: &ListSource| list.path.starts_with(&source.keys);
        let beside = |source: &ListSource| ListKey::stand_beside(&source.keys, &list.path);
        // What it is computed into says less of it than a list beside it.
        let best = |source: &&ListSource| {
            let held = holds(source);
            (held || beside(source)).then_some((source.plain, held, if held { source.keys.len() } else { 0 }))
        };
        let most = sources().filter_map(|source| best(&source)).max();
        let own: Vec<&ListSource> =
            sources().filter(|source| most.is_some() && best(source) == most).collect();
        (calls().filter(|call| call.place(&own).is_some()).collect(), own)
    }

    /// The calls that draw a list: those that draw it as it is, else what is computed of it, else those of a library
    /// that is not known.
    fn drawing<'d>(&'d self, list: &NamedList) -> (Vec<&'d ScriptCall>, Vec<&'d ListSource>) {
        let (all, own) = self.having(list);
        let (draws, others): (Vec<&ScriptCall>, Vec<&ScriptCall>) =
            all.into_iter().filter(|call| call.arguments.len() > 1).partition(|call| call.draws());
        let as_it_is: Vec<&ListSource> = own.iter().copied().filter(|of| of.plain).collect();
        let plain = draws.iter().copied().filter(|call| call.place(&as_it_is).is_some()).collect();
        let all = [plain, draws, others].into_iter().find(|calls| !calls.is_empty());
        (all.unwrap_or_default(), own)
    }

    fn first(&self, list: &NamedList) -> Option<&ScriptCall> {
        self.drawing(list).0.first().copied()
    }

    /// The calls of the figure that a call is of: from there on, and then those before it.
    fn figure(&self, of: &ScriptCall) -> impl Iterator<Item = &ScriptCall> {
        let before = self.calls[..of.number].iter().rev().take_while(|call| !call.ends());
        self.calls[of.number..].iter().take_while(|call| !call.ends()).chain(before)
    }

    /// The list whose texts stand below the axis.
    pub fn ticks<'a>(&self, list: &NamedList, axes: &[&'a str]) -> Option<&'a str> {
        let figure = self.first(list).into_iter().flat_map(|call| self.figure(call));
        let ticks = figure.filter(|call| TICKS.iter().any(|name| call.is(name)));
        let sources = ticks.flat_map(ScriptCall::sources);
        let all: BTreeSet<&str> =
            sources.filter_map(|source| axes.iter().copied().find(|axis| *axis == source.name)).collect();
        all.first().copied().filter(|_| all.len() == 1)
    }

    /// Is it drawn itself, and not only what is computed of it?
    pub fn draws(&self, list: &NamedList) -> bool {
        self.first(list).is_some_and(ScriptCall::draws) && self.is_plain(list)
    }

    /// What its figure writes at an axis, whatever it is.
    pub fn axis_label(&self, list: &NamedList, axis: &str) -> Option<&str> {
        self.first(list).and_then(|first| self.own_label(first, axis))
    }

    pub fn own_label(&self, of: &ScriptCall, axis: &str) -> Option<&str> {
        self.figure(of).filter(|call| call.receiver() == of.receiver()).find_map(|call| call.axis_label(axis))
    }

    /// What the title of its figure says, or the call of a function that draws it.
    pub fn titles(&self, list: &NamedList) -> Vec<&str> {
        self.first(list).map(|first| self.own_titles(first)).unwrap_or_default()
    }

    pub fn own_titles(&self, of: &ScriptCall) -> Vec<&str> {
        let own = self.calls.get(of.number).filter(|call| !call.draws()).into_iter();
        let titles: Vec<&ScriptCall> = self.figure(of).filter(|call| call.is("title")).collect();
        let alone = |call: &&ScriptCall| call.receiver() == of.receiver();
        let any = !titles.iter().any(&alone);
        own.chain(titles.into_iter().filter(|call| any || alone(call))).flat_map(ScriptCall::texts).collect()
    }

    pub fn drawn(&self) -> impl Iterator<Item = &ScriptCall> {
        self.calls.iter().filter(|call| call.draws())
    }

    /// What stands below its axis.
    pub fn own_ticks(&self, of: &ScriptCall) -> Option<&ScriptValue> {
        let own = self.figure(of).filter(|call| call.receiver() == of.receiver());
        let ticks = own.filter(|call| TICKS.iter().any(|name| call.is(name)));
        ticks
            .filter_map(|call| call.arguments.iter().rfind(|of| of.is_drawn() || of.is_labels()))
            .map(|of| &of.value)
            .next()
    }

    /// Of lists of lists, is it the outer that is drawn over a name? `plot(sizes, rates[:, 3])`
    pub fn sliced(&self, list: &NamedList, axes: &[&str]) -> Option<(String, bool)> {
        let (calls, _) = self.drawing(list);
        let own = |source: &&ListSource| source.name == list.name;
        let mut found = calls.into_iter().filter_map(|call| {
            let axis = axes.iter().find(|axis| call.sources().any(|source| source.name == **axis))?;
            let drawn = call.sources().find(own).filter(|source| source.across || !source.keys.is_empty())?;
            (list.name != **axis).then(|| (axis.to_string(), drawn.across))
        });
        found.next()
    }

    /// Which of these lists it is drawn over: the one before it in all calls.
    pub fn over<'a>(&self, list: &NamedList, axes: &[&'a str]) -> Option<&'a str> {
        let (calls, of) = self.drawing(list);
        let before = |call: &ScriptCall| {
            // What is computed of two lists pairs them, in any order.
            let own = call.place(&of).filter(|_| call.draws()).unwrap_or(call.arguments.len());
            let sources = call.arguments[..own].iter().flat_map(|argument| &argument.from);
            let names: BTreeSet<&str> = sources.map(|source| source.name.as_str()).collect();
            axes.iter().copied().filter(move |axis| names.contains(axis)).collect::<Vec<_>>()
        };
        let all: BTreeSet<&str> = calls.into_iter().flat_map(before).collect();
        all.first().copied().filter(|_| all.len() == 1)
    }

    /// Names of lists that stand after a list in calls that draw, or in any.
    pub fn drawn_over(&self, list: &NamedList, any: bool) -> BTreeSet<&str> {
        let (calls, own) = self.having(list);
        let calls = calls.into_iter().filter(|call| any || call.draws());
        calls
            .filter_map(|call| call.place(&own).map(|at| &call.arguments[at + 1..]))
            .flatten()
            // `label=names[0]` is drawn over nothing.
            .filter(|argument| argument.is_drawn())
            .flat_map(|argument| argument.from.iter().map(|source| source.name.as_str()))
            .collect()
    }

    /// What the call that draws a list calls it, or the legend of its figure.
    pub fn curve(&self, list: &NamedList) -> Option<&str> {
        let (calls, own) = self.drawing(list);
        let mut labels = calls.into_iter().filter(|call| call.draws()).filter_map(|call| {
            // `yerr=list` is another thing of the curve.
            let drawn = |argument: &&ScriptArgument| argument.is_drawn() && argument.has(&own);
            call.arguments.iter().skip(1).find(drawn)?;
            self.own_curve(call)
        });
        labels.next()
    }

    pub fn own_curve<'d>(&'d self, of: &'d ScriptCall) -> Option<&'d str> {
        let label = of.arguments.iter().find(|argument| argument.keyword.as_deref() == Some("label"));
        let label = label.and_then(|label| label.texts.first());
        label.map(String::as_str).or_else(|| self.legend(of))
    }

    /// `legend(["A1", "A2"])` names the curves in their order.
    fn legend(&self, of: &ScriptCall) -> Option<&str> {
        let own = |call: &&ScriptCall| call.receiver() == of.receiver();
        let legend = self.figure(of).filter(own).find(|call| call.is("legend"))?;
        // MATLAB's are arguments; R's have a keyword behind their place.
        let named = legend.arguments.iter().find(|argument| argument.texts.len() > 1);
        let names: Vec<&String> = match named {
            Some(all) => all.texts.iter().collect(),
            None => legend.arguments.iter().flat_map(|argument| &argument.texts).collect(),
        };
        let mut drawn: Vec<usize> =
            self.figure(of).filter(own).filter(|call| call.draws()).map(|call| call.number).collect();
        drawn.sort_unstable();
        let at = drawn.iter().position(|at| *at == of.number)?;
        names.get(at).filter(|_| names.len() == drawn.len()).map(|name| name.as_str())
    }

    /// Is it drawn as it is? `[x / 1e6 for x in list]` is not.
    pub fn is_plain(&self, list: &NamedList) -> bool {
        let (calls, own) = self.drawing(list);
        let mut sources = calls.into_iter().filter(|call| call.draws()).flat_map(ScriptCall::sources);
        sources.all(|source| source.plain || !own.contains(&source))
    }

    /// What the plot calls an axis of it: a label of its figure, of the same axes where there are several.
    pub fn label(&self, list: &NamedList, axis: &str, is: impl Fn(TableColumn) -> bool) -> Option<&str> {
        let drawn = self.first(list)?;
        let named = |text: &str| naming::column_of(text).or_else(|| naming::unit_alone(text));
        let fits = |text: &&str| named(text).is_some_and(|named| is(named.column));
        if drawn.draws() {
            let any = || self.figure(drawn).find_map(|call| call.axis_label(axis));
            return self.axis_label(list, axis).or_else(any).filter(fits);
        }
        // A function that is not seen, `save(sizes, a1, a2, "Message size", "Throughput (Gbps)")`: one text of it
        // says so, or one with its unit.
        let all: Vec<&str> = drawn.texts().filter(fits).collect();
        let with_unit = || all.iter().filter(|text| named(text).is_some_and(|named| named.unit.is_some()));
        let one = || with_unit().next().copied().filter(|_| with_unit().count() == 1);
        one().or(all.first().copied().filter(|_| all.len() == 1))
    }

    /// The only label of the plots' axes whose quantity is asked for, else the only text with a unit that is given to
    /// a function that is not seen; of several, all have one unit.
    pub fn only_label(&self, is: impl Fn(TableColumn) -> bool) -> Option<String> {
        let named =
            |text: &str| Some((naming::column_of(text).filter(|named| is(named.column))?, text.to_string()));
        let labels: Vec<&str> = self.calls.iter().filter_map(|call| call.axis_label("ylabel")).collect();
        let mut all: Vec<(NamedColumn, String)> = labels.iter().filter_map(|text| named(text)).collect();
        if labels.is_empty() {
            let texts =
                self.calls.iter().flat_map(ScriptCall::texts).filter(|text| text.len() <= LONGEST_LABEL);
            all = texts.filter_map(named).filter(|(of, _)| of.unit.is_some()).collect();
        }
        let (first, text) = all.first()?;
        let alike =
            |(other, _): &(NamedColumn, String)| (other.column, other.unit) == (first.column, first.unit);
        all.iter().all(alike).then(|| text.clone())
    }

    /// `# Size -> [1 thread, 2 threads]` above a list of two.
    pub fn axis_in_comment(&self, list: &NamedList, mapping: &ColumnMapping) -> Option<NamedList> {
        let comment = self.comment(list.line);
        let cells = comment.iter().find_map(|line| places_in(line))?;
        let cells: Vec<String> = cells.into_iter().map(String::from).collect();
        let axis = NamedList { name: String::new(), keys: Vec::new(), numbers: false, cells, ..list.clone() };
        let column = axis.labels(mapping)?;
        let place = |cell: &String| TableHeading::of(cell, mapping).place.unwrap_or_default();
        let number =
            |cell: &String| place(cell).bytes.or(place(cell).threads).unwrap_or_default().to_string();
        let cells = axis.cells.iter().map(number).collect();
        Some(NamedList { label: Some(column.title()), numbers: true, cells, ..axis })
    }

    /// The comment above a line.
    pub fn comment(&self, line: usize) -> Vec<&'t str> {
        comment_above(self.text, line)
    }

    /// The last comment above a line that stands between rules, or below its own title between rules: what it says is
    /// said of all up to the next.
    pub fn section(&self, line: usize) -> Vec<&'t str> {
        let above: Vec<&str> = self.text.lines().take(line.saturating_sub(1)).collect();
        let Some(mark) = above.iter().rposition(|line| is_rule(line) || is_ruled(line)) else {
            return Vec::new();
        };
        let is_comment = |line: &&&str| line.trim_start().starts_with('#') && !is_rule(line);
        match is_rule(above[mark]) {
            true => above[..mark].iter().rev().take_while(is_comment).copied().collect(),
            false => above[mark..].iter().take_while(is_comment).copied().collect(),
        }
    }
}

/// What a comment says.
fn remark(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix('#')
}

/// `# -----------`
fn is_rule(line: &str) -> bool {
    remark(line).is_some_and(|rest| rest.len() >= SHORTEST_RULE && rest.trim().chars().all(is_of_rules))
}

/// `# --- Plot 1: throughput ---`
fn is_ruled(line: &str) -> bool {
    remark(line).map(str::trim).is_some_and(|rest| {
        let marks = rest.len() - rest.trim_start_matches(is_of_rules).len();
        marks >= SHORTEST_MARK && marks < rest.len()
    })
}

fn is_of_rules(c: char) -> bool {
    "=-#*~".contains(c)
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
fn places_in(text: &str) -> Option<Vec<&str>> {
    let inside = text.rsplit_once('[')?.1.split_once(']')?.0;
    let all: Vec<&str> = inside.split(',').map(str::trim).collect();
    (all.len() > 1).then_some(all)
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
    use crate::read::script_lists::listed;
    use crate::read::script_run::run;

    const TEXT: &str = "# Latency (us) vs Thread Count (Size=65536)\nthreads = [1, 4]\nlat_a1 = [1, 2]\nlat_a2 = [2, 3]\n\
        ax1.plot(threads, lat_a1, 'o-', label='A1')\nax1.plot(threads, [v / 1e3 for v in lat_a2])\nax1.set_ylabel('Latency (us)')\n\
        sizes = [64, 128]\nrates = {\'A1\': [1, 2]}\nfor name, values in rates.items():\n    plt.plot(sizes, values)\nplt.ylabel(\"Throughput (Gbps)\")\n";

    #[test]
    fn what_is_drawn_over_what_and_under_which_label() {
        let run = run(TEXT);
        let lists =
            |name: &str| run.assigned.iter().filter(move |of| of.name == name).flat_map(listed).next();
        let list = |name: &str| lists(name).unwrap();
        let drawing = ScriptDrawing::of(TEXT, run.calls);
        let axes = ["threads", "sizes"];
        assert_eq!(drawing.over(&list("lat_a1"), &axes), Some("threads"));
        assert_eq!(drawing.over(&list("rates"), &axes), Some("sizes"));
        assert_eq!(drawing.over(&list("threads"), &axes), None);
        assert!(drawing.is_plain(&list("lat_a1")) && !drawing.is_plain(&list("lat_a2")));
        let label = |name| drawing.label(&list(name), "ylabel", TableColumn::is_measure).map(String::from);
        assert_eq!(label("lat_a1").as_deref(), Some("Latency (us)"));
        assert_eq!(label("rates").as_deref(), Some("Throughput (Gbps)"));
    }

    #[test]
    fn comments_say_what_a_list_runs_over() {
        let comment = ScriptDrawing::of(TEXT, Vec::new()).comment(3);
        let said = runs_over(comment[0], &ColumnMapping::default());
        assert_eq!(said, (vec![TableColumn::Threads], vec![TableColumn::MessageBytes]));
        assert_eq!(places_in("# Size -> [t1, t2]"), Some(vec!["t1", "t2"]));
    }
}
