//! Where the copies happen: what was counted of each way to move data, its data path drawn, and what
//! does not add up.
//!
//! Ways that moved the payload alike share a drawing, whatever they are called.

use super::{capital, grouped, plural, unless_empty};
use crate::escape::slug;
use crate::material::Material;
use crate::text;
use crate::text::words::{Words, and};
use crate::{Arrow, Block, Diagram, Entry, Layer, Location, Movement, Notice, Section, Table};
use syscost_analyze::copies::data_path::{self, DataPath, Flow, PathLeg};
use syscost_core::units::{Unit, significant};
use syscost_experiment::run::Audit;
use syscost_experiment::run::audit::TOLERANCE;
use syscost_measure::ledger::{Counts, Tier};
use syscost_measure::probe;
use syscost_measure::probe::transfer::axes::{MESSAGE_BYTES, RECEIVER, THREADS};

/// Data paths that the answer to why shows; the others stand with the counts.
pub const IN_SIGHT: usize = 5;
/// What is said once of all audits.
const SHARED: &[&str] = &[MESSAGE_BYTES.id, THREADS.id];

pub fn section(m: &Material) -> Option<Section> {
    let told = data_path::data_paths(m.run);
    if told.is_empty() {
        return None;
    }
    let mut blocks = vec![Block::Text(introduction(m, &told)), Block::Table(table(&told))];
    blocks.extend(drawings(&told).into_iter().skip(IN_SIGHT).map(Block::Diagram));
    blocks.extend(super::payers::blocks(m));
    unless_empty("copies", "Where the copies happen", blocks)
}

/// A drawing for all that moved the payload alike.
pub fn diagrams(m: &Material) -> Vec<Diagram> {
    drawings(&data_path::data_paths(m.run))
}

/// A ledger with a hole is an error of the report, and not a rounding.
pub fn errors(m: &Material) -> Vec<Notice> {
    let ways = data_path::data_paths(m.run);
    ways.iter().filter_map(imbalance).collect()
}

fn imbalance(way: &DataPath) -> Option<Notice> {
    let what = text::copies::imbalance(way.audit)?;
    Some(Notice {
        title: format!("The count of copies of {} does not add up", full(way)),
        text: format!(
            "{}; more than {} % is an error. So its copies are unknown.",
            capital(&what),
            significant(TOLERANCE * 100.0)
        ),
        remedy: "`syscost audit` counts again; if it repeats, report it with the kernel's version".into(),
        cases: way.cases.clone(),
    })
}

fn introduction(m: &Material, told: &[DataPath]) -> String {
    let shared = Words::of(m.run).place(&data_path::shared(m.run, SHARED), &[]);
    let at = if shared.is_empty() { String::new() } else { format!(", at {shared}") };
    let counted = told.iter().filter(|c| c.audit.counts.is_some()).count();
    let how = match counted {
        0 => {
            "The kernel's copies were not counted: what is known is what each side did itself, and what completions \
             say."
        }
        n if n == told.len() && told.iter().all(|c| c.audit.tier == Tier::Agreed) => COUNTED_TWICE,
        n if n == told.len() => COUNTED,
        _ => "Counted in the kernel where the tier is not C; there, only what each side did itself is known.",
    };
    let orphan = if counted > 0 { ORPHAN } else { "" };
    format!(
        "Bytes copied per byte of payload, in an untimed round of {}{at}. {how}{orphan}",
        plural(told.len(), "case")
    )
}

const COUNTED: &str =
    "Counted in the kernel, segment by segment; a copy in user space is the mechanism's own count.";
const COUNTED_TWICE: &str = "Counted in the kernel twice, segment by segment and at the functions that copy, and both \
                             agree (tier A); a copy in user space is the mechanism's own count.";
const ORPHAN: &str = " The orphan copy is the one that the kernel makes of lent pages before a receiver on the same \
                      machine may keep them.";

const COLUMNS: [&str; 12] = [
    "mechanism",
    "path",
    "user copied",
    "copied in",
    "orphan copied",
    "copied out",
    "copies in all",
    "not copied in",
    "not copied out",
    "completions flagged",
    "tier",
    "balance",
];

fn table(told: &[DataPath]) -> Table {
    let reasons = told.iter().find_map(|c| c.audit.uncounted.as_ref());
    let rows = told.iter().map(row).collect();
    Table::new("copies-table", &COLUMNS, rows)
        .noted(reasons.map(|why| format!("Not verified: {}. What to do: {}.", why.reason, why.remedy)))
}

fn row(told: &DataPath) -> Vec<Entry> {
    let audit = told.audit;
    let per = |bytes: u64| Entry::Number(audit.per_byte(bytes), Unit::Ratio);
    let counted = |bytes: Option<u64>| bytes.map_or(Entry::Missing, per);
    let counts = audit.counts;
    // What did not ask for zero-copy has no completions to flag: not a missing figure.
    let none = || Entry::Text("none".into());
    let name = match told.cell() {
        Some(cell) => Entry::Named { text: told.way.clone(), cell },
        None => Entry::Text(told.way.clone()),
    };
    vec![
        name,
        Entry::Text(told.path.clone()),
        per(audit.user_copied),
        counted(counts.map(|c| c.copied_in)),
        counted(counts.map(|c| c.orphan_copied)),
        counted(counts.map(|c| c.copied_out + audit.decrypted_out())),
        counted(counts.map(|c| copies_in_all(audit, &c))),
        counted(counts.map(|c| c.uncopied_in)),
        per(audit.uncopied_out),
        audit.flagged().map_or_else(none, |share| Entry::Share { share, signed: false }),
        Entry::Text(audit.tier.letter().into()),
        Entry::Text(balanced(audit)),
    ]
}

/// Encryption and decryption read and write every byte as a copy does.
fn copies_in_all(audit: &Audit, counts: &Counts) -> u64 {
    let decrypted = audit.decrypted_inside() + audit.decrypted_out();
    audit.user_copied + counts.copied_in + counts.orphan_copied + decrypted + counts.copied_out
}

/// Nothing is rounded away: `exact` is to the byte.
fn balanced(audit: &Audit) -> String {
    match audit.unexplained() {
        None => "not verified".into(),
        Some(0.0) => "exact".into(),
        Some(share) => difference(share),
    }
}

/// `+0.3 %`
fn difference(share: f64) -> String {
    format!("{}{} %", if share > 0.0 { "+" } else { "" }, significant(share * 100.0))
}

/// One drawing for all that moved the payload alike, and of which as much is known.
fn drawings(told: &[DataPath]) -> Vec<Diagram> {
    let known = |audit: &Audit| (audit.tier, audit.uncounted.clone(), audit.balanced());
    let drawn = grouped(told.iter().map(|way| ((drawing(way), known(way.audit)), way)));
    let mut named: Vec<Diagram> =
        drawn.into_iter().map(|((diagram, _), ways)| named(&ways, diagram)).collect();
    // A name stands for one file and one place.
    for i in 1..named.len() {
        let before = named[..i].iter().filter(|other| other.title == named[i].title).count();
        if before > 0 {
            named[i].id = format!("{}-{}", named[i].id, before + 1);
        }
    }
    named
}

/// `sendmsg over veth`
fn full(told: &DataPath) -> String {
    if told.path.is_empty() { told.way.clone() } else { format!("{} over {}", told.way, told.path) }
}

/// A way without what is usual: `send`, `send to recvmsg`.
fn short(told: &DataPath) -> String {
    let point = &told.audit.point;
    let mechanism = told.mechanism();
    let usual = |receiver: &&str| {
        let axes = probe::find(&told.audit.probe).map(|probe| probe.axes()).unwrap_or_default();
        let axis = axes.iter().find(|axis| axis.id == RECEIVER.id);
        axis.is_none_or(|axis| axis.default().first().is_some_and(|value| value.to_string() == **receiver))
    };
    match point.text(RECEIVER).filter(|receiver| !usual(receiver)) {
        Some(receiver) if told.way.contains(receiver) => format!("{mechanism} to {receiver}"),
        _ if told.way.contains('(') => mechanism.to_string(),
        _ => told.way.clone(),
    }
}

/// So many names as are read at once.
fn some(names: &[String]) -> String {
    if names.len() <= NAMES + 1 {
        return and(names);
    }
    format!("{} and {} more", names[..NAMES].join(", "), names.len() - NAMES)
}

const NAMES: usize = 2;

/// The names of those who share it: `send and sendmsg over loopback and veth`.
fn named(ways: &[&DataPath], mut diagram: Diagram) -> Diagram {
    // Ways by the paths on which they are alike.
    let named = |told: &&DataPath| (short(told), told.path.clone());
    let mut paths = grouped(ways.iter().map(named));
    paths.iter_mut().for_each(|(_, paths)| paths.dedup());
    let groups = grouped(paths.into_iter().map(|(way, paths)| (paths, way)));
    let name = |(paths, ways): &(Vec<String>, Vec<String>)| {
        let over =
            if paths.iter().all(String::is_empty) { String::new() } else { format!(" over {}", and(paths)) };
        format!("{}{over}", some(ways))
    };
    diagram.title = some(&groups.iter().map(name).collect::<Vec<_>>());
    let mut links: Vec<String> = ways.iter().map(|w| w.path.clone()).filter(|p| !p.is_empty()).collect();
    links.sort();
    links.dedup();
    let link = diagram.stages.iter_mut().find(|s| s.area == Layer::Between);
    if let Some(link) = link.filter(|_| !links.is_empty()) {
        link.name = format!("{}: {}", link.name, links.join(", "));
    }
    let all: Vec<String> = ways.iter().map(|told| full(told)).collect();
    // One way gives the file its name; several of the same title differ in what is usual.
    let names = if all.len() == 1 { &all[0] } else { &diagram.title };
    diagram.id = slug(&format!("data path {names}"));
    diagram
}

fn drawing(told: &DataPath) -> Diagram {
    let device = told.flows.iter().any(|(_, flow)| matches!(flow, Flow::Device { .. }));
    let (link, short) = if device { ("network devices", "device") } else { ("link", "link") };
    let stage = |area, name: &str, short: &str| Location { area, name: name.into(), short: short.into() };
    let mut stages = if told.flows.iter().any(|(step, _)| *step == PathLeg::Gather) {
        vec![stage(Layer::User, "the fields", "fields"), stage(Layer::User, "sender's buffer", "buffer")]
    } else {
        vec![stage(Layer::Kernel, "page cache", "file")]
    };
    let (end, at_end) = destination(told);
    stages.extend([
        stage(Layer::Kernel, "sender's socket", "socket"),
        stage(Layer::Between, link, short),
        stage(Layer::Kernel, "receiver's socket", "socket"),
        stage(Layer::User, end, at_end),
    ]);
    Diagram {
        id: String::new(),
        title: String::new(),
        claim: claim(told),
        stages,
        arrows: told.flows.iter().map(|(step, flow)| arrow(told, *step, *flow)).collect(),
    }
}

/// Where the payload ends, in full and in short.
fn destination(told: &DataPath) -> (&'static str, &'static str) {
    let audit = told.audit;
    match audit.uncopied_out {
        _ if !told.delivered => ("not delivered", "nobody"),
        0 => ("receiver's buffer", "user"),
        all if all == audit.delivered_bytes => ("receiver's mapping", "mapping"),
        _ => ("receiver's memory", "user"),
    }
}

/// What is said above the drawing; a count that does not add up before all else.
fn claim(told: &DataPath) -> Option<(Option<bool>, String)> {
    let said = told.claim.as_ref();
    let hole = told.audit.unexplained().filter(|_| told.audit.balanced() == Some(false));
    match hole {
        None => said.map(|claim| (claim.kept(), text::copies::claim(claim))),
        Some(share) => {
            let what = said.map_or("the count of its copies does not add up".into(), text::copies::claim);
            Some((Some(false), format!("{what}: {} unexplained", difference(share))))
        }
    }
}

fn arrow(told: &DataPath, step: PathLeg, flow: Flow) -> Arrow {
    let what = match step {
        PathLeg::Gather => "copied in user space",
        PathLeg::Send if told.encrypted => "encrypted",
        PathLeg::Send => "copied in",
        PathLeg::Leave => "copied on leaving",
        PathLeg::Arrive if told.encrypted => "decrypted",
        PathLeg::Arrive => "orphan copy",
        PathLeg::Receive if told.audit.decrypted_out() > 0 => "decrypted",
        PathLeg::Receive => "copied out",
    };
    let instead = match (step, told.delivered) {
        (PathLeg::Receive, true) => "mapped",
        (PathLeg::Receive, false) => "ends in the kernel",
        _ => "by reference",
    };
    match flow {
        Flow::Unknown => Arrow::new(Movement::Unknown, "?", "not verified"),
        Flow::Device { fetched } => {
            let amount = fetched.map_or("DMA".to_string(), |bytes| format!("{}x", figure(bytes)));
            Arrow::new(Movement::Device, &amount, "by the device")
        }
        Flow::Counted { copied: 0.0, .. } => Arrow::new(Movement::Reference, "0", instead),
        Flow::Counted { copied, uncopied } => {
            let mut arrow = Arrow::new(Movement::Copied(copied), &format!("{}x", figure(copied)), what);
            if uncopied >= SHOWN {
                arrow.rest = Some(format!("{} {instead}", figure(uncopied)));
            }
            arrow
        }
    }
}

/// Less than this of a part is not worth a word beside the other; the table has it.
const SHOWN: f64 = 0.005;

/// Two digits behind the point: the drawing is for the eye, the table has the rest.
fn figure(bytes: f64) -> String {
    if bytes < SHOWN {
        return "<0.01".into();
    }
    significant((bytes * 100.0).round() / 100.0)
}
