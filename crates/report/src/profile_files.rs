//! The files of profiles: flame graphs, stacks as other programs read them, and a table.

use super::canvas::SvgDrawing;
use super::escape::{self, slug};
use super::flame::{FlameGraph, NARROWEST_IN_FILE};
use syscost_analyze::profile::ProfileBreakdown;
use syscost_experiment::run::Profile;
use syscost_experiment::run::rows::{CsvColumn, column};

/// The table of all profiles: a row a case and class of work.
pub const TABLE: &str = "profile.csv";
/// Its columns, and what they hold.
pub const COLUMNS: &[CsvColumn] = &[
    column("case", "what tells the case from the others"),
    column("class", "class of work, by the innermost function that syscost knows"),
    column("share", "of the case's CPU time"),
    column("ci_low", "the 95 % confidence interval of the share, over rounds"),
    column("ci_high", "see `ci_low`"),
    column(
        "per_op",
        "share of the CPU time an operation, in the event's unit; empty where samples were lost",
    ),
    column("event", "`cpu-clock`: `per_op` is in nanoseconds; `cycles`: in cycles"),
    column("samples", "samples of the case, all classes"),
];

/// Each as its name and content; `name` says what a case is called.
pub fn files(profiles: &[Profile], name: &dyn Fn(&Profile) -> String) -> Vec<(String, String)> {
    let mut contents = vec![(TABLE.to_string(), table(profiles, name))];
    for profile in sampled(profiles) {
        contents.push((format!("{}.folded", flame_id(&name(profile))), folded(profile)));
    }
    let graphs = graphs(profiles, name, NARROWEST_IN_FILE);
    contents.extend(graphs.into_iter().map(|graph| (format!("{}.svg", graph.id), graph.standalone())));
    contents
}

/// A flame graph of each case.
pub fn graphs(profiles: &[Profile], name: &dyn Fn(&Profile) -> String, narrowest: f64) -> Vec<FlameGraph> {
    let of = |profile: &Profile| {
        let called = name(profile);
        FlameGraph::of(profile, &format!("CPU time of {called}"), &flame_id(&called), narrowest)
    };
    sampled(profiles).map(of).collect()
}

fn sampled(profiles: &[Profile]) -> impl Iterator<Item = &Profile> {
    profiles.iter().filter(|profile| profile.samples() > 0)
}

fn flame_id(name: &str) -> String {
    format!("flame-{}", slug(name))
}

/// A line a stack with its count: what flame graph programs read.
fn folded(profile: &Profile) -> String {
    profile
        .stacks
        .iter()
        .map(|stack| format!("{} {}\n", escape::visible(&stack.stack), stack.total()))
        .collect()
}

fn table(profiles: &[Profile], name: &dyn Fn(&Profile) -> String) -> String {
    let head: Vec<&str> = COLUMNS.iter().map(|column| column.id).collect();
    let mut text = head.join(",") + "\n";
    for profile in profiles {
        let Some(breakdown) = ProfileBreakdown::of(profile) else { continue };
        let case = escape::cell(&name(profile)).replace('"', "\"\"");
        for class in &breakdown.classes {
            let share = class.share;
            let per_op =
                breakdown.per_op.map_or(String::new(), |whole| format!("{:.3}", whole * share.share));
            let figures = format!("{:.6},{:.6},{:.6}", share.share, share.low, share.high);
            let event = profile.event.name();
            text += &format!(
                "\"{case}\",{},{figures},{per_op},{event},{}\n",
                class.class.id(),
                breakdown.samples
            );
        }
    }
    text
}
