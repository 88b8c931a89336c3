//! `audit`: how often each way to move data copies it, counted and not claimed.

use crate::args::{AuditArgs, Global};
use crate::label::Labels;
use crate::output::{self, Color, Paint, entry};
use crate::{one_pass, status};
use anyhow::Result;
use clap::ArgMatches;
use serde_json::json;
use std::collections::BTreeSet;
use std::process::ExitCode;
use syscost_core::units::short_bytes;
use syscost_experiment::plan::{Case, Plan};
use syscost_experiment::run::{Audit, Record, Warning};
use syscost_harness::{self as measure, UnfinishedCases, audit::Audited};
use syscost_host::namespaces::named;
use syscost_host::remote::target;
use syscost_measure::ledger::Tier;
use syscost_measure::probe::transfer::axes::{MECHANISM, MESSAGE_BYTES, PATH};
use syscost_report::text::copies;
use syscost_report::text::ending::EndTable;

const INDENT: usize = 14;

/// What is audited where neither an experiment nor the axis is named.
const DEFAULTS: [(&str, &str); 3] = [("size", "64K"), ("threads", "1"), ("path", "loopback,veth")];

pub fn run(args: &AuditArgs, matches: &ArgMatches, global: &Global) -> Result<ExitCode> {
    let plan = one_pass::plan(args.experiment.clone(), &DEFAULTS, false, matches)?;
    let mut progress = one_pass::begin(&plan, None, true, global)?;
    let mut found = measure::audit::audit(&plan, &mut |event| progress.show(event))?;
    found.unfinished.skips.splice(0..0, plan.skips.iter().cloned());
    let warnings = measure::packet_sockets(&plan);
    let Audited { audits, unfinished: UnfinishedCases { failures, skips, unreached, .. } } = &found;
    if global.json {
        let line = json!({ "event": "audited", "audits": audits, "failures": failures, "skips": skips,
            "unreached": unreached, "state": found.unfinished.state(), "warnings": warnings });
        output::print_json_line(&line)?;
    } else {
        let paint = Paint::stdout(global.color);
        let told = |warning: &Warning| {
            let what = format!("{}: {} -> {}", warning.observed, warning.consequence, warning.remedy);
            entry(&paint.yellow("note"), INDENT, &what)
        };
        let told: String = warnings.iter().map(told).collect();
        output::print(&(text(&plan, &found, global.color) + &told))?;
    }
    let wrong = audits.iter().any(|audit| audit.balanced() == Some(false));
    let missed = wrong || !failures.is_empty() || args.strict && !skips.is_empty();
    status::of(found.unfinished.state(), missed, || status::nothing("audited", &plan, &[], &[]))
}

/// Columns behind those that name the case.
const COPIES: [&str; 7] = ["user", "in", "orphan", "out", "uncopied", "flag", "balance"];
/// CPU time in nanoseconds per byte, by who paid for it.
const PAYERS: [&str; 6] = ["all", "sender", "softirq", "receiver", "softirq", "elsewhere"];

/// The table of a recorded run; empty where it counted no copies.
pub fn recorded(record: &Record, color: Color) -> String {
    let found = Audited { audits: record.audits.clone(), ..Audited::default() };
    if found.audits.is_empty() { String::new() } else { text(&record.plan, &found, color) }
}

fn text(plan: &Plan, found: &Audited, color: Color) -> String {
    let labels = Labels::of(plan);
    let table = |title: &str, columns: &[&str], cells: fn(&Audit) -> Option<Vec<String>>| {
        let row =
            |audit: &Audit| Some([vec![name(&labels, plan, audit)], place(audit), cells(audit)?].concat());
        let rows: Vec<Vec<String>> = found.audits.iter().filter_map(row).collect();
        let columns = ["mechanism", "size", "path"].iter().chain(columns).map(|name| name.to_string());
        let table = EndTable { title: Some(title.into()), columns: columns.collect(), rows, note: None };
        if table.rows.is_empty() { String::new() } else { output::table(&table, color) }
    };
    table("Bytes copied per byte of payload", &COPIES, copies_of)
        + &table("CPU time in ns per byte", &PAYERS, payers_of)
        + &notes(plan, found, Paint::stdout(color))
}

/// The mechanism, and what else varies beside size and path.
fn name(labels: &Labels, plan: &Plan, audit: &Audit) -> String {
    let case = plan.cases.iter().find(|case| case.probe == audit.probe && case.point == audit.point);
    let others = |case: &Case| labels.words(case, &[MECHANISM.id, MESSAGE_BYTES.id, PATH.id]);
    let mechanism = audit.point.text(MECHANISM).unwrap_or(&audit.probe).to_string();
    std::iter::once(mechanism).chain(case.map(others).unwrap_or_default()).collect::<Vec<_>>().join(" ")
}

fn place(audit: &Audit) -> Vec<String> {
    let size = audit.point.int(MESSAGE_BYTES).map_or(String::new(), short_bytes);
    vec![size, path(audit.point.text(PATH).unwrap_or_default())]
}

fn copies_of(audit: &Audit) -> Option<Vec<String>> {
    let per = |bytes: u64| format!("{:.2}", audit.per_byte(bytes));
    let counted = |bytes: Option<u64>| bytes.map_or("?".to_string(), per);
    let counts = audit.counts;
    Some(vec![
        per(audit.user_copied),
        counted(counts.map(|c| c.copied_in)),
        counted(counts.map(|c| c.orphan_copied)),
        counted(counts.map(|c| c.copied_out + audit.decrypted_out())),
        counted(counts.map(|c| c.uncopied_in)),
        audit.flagged().map_or("-".to_string(), |share| format!("{:.0} %", share * 100.0)),
        balance(audit),
    ])
}

/// Where it could be seen.
fn payers_of(audit: &Audit) -> Option<Vec<String>> {
    let cpu = audit.cpu.as_ref()?;
    let spent = [
        cpu.total_ns(),
        cpu.sender_process_ns(),
        cpu.softirqs.sender_net_rx_ns,
        cpu.receiver_process_ns(),
        cpu.softirqs.receiver_net_rx_ns,
        cpu.softirqs.elsewhere_net_rx_ns,
    ];
    Some(spent.iter().map(|ns| format!("{:.2}", cpu.per_byte(*ns))).collect())
}

/// Names that a user gave are too long for a column.
fn path(path: &str) -> String {
    match path {
        path if named::is_meant(path) => "netns".into(),
        path if target::is_meant(path) => "ssh".into(),
        path => path.into(),
    }
}

/// Nothing is rounded away: `exact` is to the byte.
fn balance(audit: &Audit) -> String {
    match audit.unexplained() {
        None => "?".into(),
        Some(0.0) => "exact".into(),
        Some(share) => format!("{:+.2}%", share * 100.0),
    }
}

/// How it is known, what is wrong, and what could not be audited.
fn notes(plan: &Plan, found: &Audited, paint: Paint) -> String {
    let labels = Labels::of(plan);
    let mut text = String::new();
    if !found.audits.is_empty() {
        text.push('\n');
    }
    let tiers: BTreeSet<Tier> = found.audits.iter().map(|audit| audit.tier).collect();
    for tier in &tiers {
        // Said once: both tiers count the same.
        let meant = match tier {
            Tier::Traced if tiers.contains(&Tier::Agreed) => {
                "counted by tracepoints alone: the count at the functions is missing or differs".to_string()
            }
            tier => meaning(*tier),
        };
        text += &entry(&format!("tier {}", tier.letter()), INDENT, &meant);
    }
    if found.audits.iter().any(|audit| audit.cpu.is_some()) {
        let what = "nanoseconds of one short extra round: a share, not a benchmark; \"softirq\" is the receive \
                    path (NET_RX), which runs on top of either side's thread; \"all\" holds other softirqs too";
        text += &entry("CPU", INDENT, what);
    }
    if found.audits.iter().any(|audit| audit.framing_bytes > 0) {
        let what = "\"in\" is what the kernel encrypted, with the framing of records. Every byte is also \
                    decrypted once: inside the kernel before it is copied out, or while it is copied out";
        text += &entry("encrypted", INDENT, what);
    }
    if let Some(why) = found.audits.iter().find_map(|audit| audit.uncounted.as_ref()) {
        text += &entry(&paint.yellow("not verified"), INDENT, &format!("{} -> {}", why.reason, why.remedy));
    }
    for audit in &found.audits {
        let name = name(&labels, plan, audit);
        if let Some(what) = copies::imbalance(audit) {
            text +=
                &entry(&paint.red("error"), INDENT, &format!("{name}: the ledger does not balance: {what}"));
        }
        for what in copies::all_notes(audit) {
            text += &entry(&paint.yellow("note"), INDENT, &format!("{name}: {what}"));
        }
    }
    text + &one_pass::left_over(plan, &found.unfinished, INDENT, paint)
}

fn meaning(tier: Tier) -> String {
    let counted = "bytes per byte of payload, counted in the kernel; \"uncopied\" left in the sender's own pages, \
             \"orphan\" was copied between two sockets of this machine, \"flag\" is the share of completions \
             that the kernel calls copied";
    match tier {
        Tier::Agreed => {
            format!("{counted}; counted by tracepoints and at the functions that copy: both agree")
        }
        Tier::Traced => counted.into(),
        Tier::Told => {
            "copies in the kernel were not counted (?). Shown are the mechanism's own copies and the share of \
             completions that the kernel flags as copied"
                .into()
        }
    }
}
