//! `check`: every case once, every byte verified, nothing timed and nothing written.

use crate::args::{CheckArgs, Global};
use crate::label::Labels;
use crate::output::{self, Paint, entry};
use crate::progress::Progress;
use crate::{asked, plan as plan_command, run as run_command};
use anyhow::Result;
use clap::ArgMatches;
use serde_json::json;
use std::process::ExitCode;
use syscost_core::units::count;
use syscost_experiment::plan::{Case, Plan};
use syscost_experiment::run::Failure;
use syscost_harness::{self as measure, UnfinishedCases, rights};

pub fn run(args: &CheckArgs, matches: &ArgMatches, global: &Global) -> Result<ExitCode> {
    let spec = asked::spec(&args.asked, matches)?;
    let mut plan = Plan::make(&spec)?;
    run_command::refuse_nothing(&plan)?;
    run_command::give_up(rights::keep_for_one_pass(&plan, None, false));
    let mut progress = Progress::checking(&plan, global);
    let mut verified = 0;
    let UnfinishedCases { failures, skips, unreached } = measure::check(&plan, &mut |event| {
        verified += usize::from(matches!(event, measure::Event::CaseDone { .. }));
        progress.show(event);
    })?;
    plan.skips.extend(skips);
    if global.json {
        let line = json!({ "event": "checked", "verified": verified, "failures": failures, "skips": plan.skips,
                "unreached": unreached });
        output::print_json_line(&line)?;
    } else {
        output::print(&text(&plan, verified, &failures, unreached, Paint::stdout(global.color)))?;
    }
    let given_up = plan.given_up();
    let due = |case: &&Case| case.twin_of.is_none() && !given_up.contains(&case.index);
    let asked = plan.cases.iter().filter(due).count();
    let skipped = args.strict && !plan.skips.is_empty();
    Ok(if verified < asked || skipped { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn text(plan: &Plan, verified: usize, failures: &[Failure], unreached: usize, paint: Paint) -> String {
    const INDENT: usize = 12;
    let labels = Labels::of(plan);
    let mut text = entry(&paint.green("verified"), INDENT, &count(verified, "case"));
    for Failure { case, message, .. } in failures {
        let label = plan.cases.get(*case).map(|case| labels.case(case)).unwrap_or_default();
        text += &entry(&paint.red("failed"), INDENT, &format!("{label}: {message}"));
    }
    for what in plan_command::skipped(&plan.skips) {
        text += &entry(&paint.yellow("skipped"), INDENT, &what);
    }
    if let Some(what) = plan_command::unreached(plan, unreached) {
        text += &entry(&paint.yellow("stopped"), INDENT, &what);
    }
    text
}
