//! `check`: every case once, every byte verified, nothing timed and nothing written.

use crate::args::{CheckArgs, Global};
use crate::output::{self, Paint, entry};
use crate::{asked, one_pass, status};
use anyhow::Result;
use clap::ArgMatches;
use serde_json::json;
use std::process::ExitCode;
use syscost_core::units::count;
use syscost_experiment::plan::Plan;
use syscost_harness::{self as measure, UnfinishedCases};

pub fn run(args: &CheckArgs, matches: &ArgMatches, global: &Global) -> Result<ExitCode> {
    let spec = asked::spec(&args.asked, matches)?;
    let mut plan = Plan::make(&spec)?;
    let mut progress = one_pass::begin(&plan, None, false, global)?;
    let mut left = measure::check(&plan, &mut |event| progress.show(event))?;
    plan.skips.append(&mut left.skips);
    left.skips.clone_from(&plan.skips);
    if global.json {
        let UnfinishedCases { failures, skips, unreached, .. } = &left;
        let line = json!({ "event": "checked", "verified": left.done, "failures": failures, "skips": skips,
                "unreached": unreached, "state": left.state() });
        output::print_json_line(&line)?;
    } else {
        const INDENT: usize = 12;
        let paint = Paint::stdout(global.color);
        let text = entry(&paint.green("verified"), INDENT, &count(left.done, "case"));
        output::print(&(text + &one_pass::left_over(&plan, &left, INDENT, paint)))?;
    }
    let missed = !left.failures.is_empty() || args.strict && !plan.skips.is_empty();
    status::of(left.state(), missed, || status::nothing("verified", &plan, &[], &[]))
}
