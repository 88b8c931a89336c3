//! `check`: every case once, every byte verified, nothing timed and nothing written.

use crate::args::{CheckArgs, Global};
use crate::output::{self, Paint, entry};
use crate::{asked, one_pass};
use anyhow::Result;
use clap::ArgMatches;
use serde_json::json;
use std::process::ExitCode;
use syscost_core::units::count;
use syscost_experiment::plan::{Case, Plan};
use syscost_harness::{self as measure, UnfinishedCases};

pub fn run(args: &CheckArgs, matches: &ArgMatches, global: &Global) -> Result<ExitCode> {
    let spec = asked::spec(&args.asked, matches)?;
    let mut plan = Plan::make(&spec)?;
    let mut progress = one_pass::begin(&plan, None, false, global)?;
    let mut verified = 0;
    let mut left = measure::check(&plan, &mut |event| {
        verified += usize::from(matches!(event, measure::Event::CaseDone { .. }));
        progress.show(event);
    })?;
    plan.skips.append(&mut left.skips);
    left.skips.clone_from(&plan.skips);
    if global.json {
        let UnfinishedCases { failures, skips, unreached } = &left;
        let line = json!({ "event": "checked", "verified": verified, "failures": failures, "skips": skips,
                "unreached": unreached });
        output::print_json_line(&line)?;
    } else {
        const INDENT: usize = 12;
        let paint = Paint::stdout(global.color);
        let text = entry(&paint.green("verified"), INDENT, &count(verified, "case"));
        output::print(&(text + &one_pass::left_over(&plan, &left, INDENT, paint)))?;
    }
    let given_up = plan.given_up();
    let due = |case: &&Case| case.twin_of.is_none() && !given_up.contains(&case.index);
    let asked = plan.cases.iter().filter(due).count();
    let skipped = args.strict && !plan.skips.is_empty();
    Ok(if verified < asked || skipped { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
