//! `fleet plan|submit|status|collect|report`: many hosts, by the engine that is there.

use crate::args::{self, Global};
use crate::experiment_args::ExperimentArgs;
use crate::fleet_args::{FleetArgs, FleetCommand, FleetDir, FleetPlanArgs};
use crate::{asked, output, text_file};
use anyhow::{Context, Result, anyhow, bail};
use clap::FromArgMatches;
use serde_json::json;
use std::path::Path;
use std::process::ExitCode;
use syscost_core::units::count;
use syscost_experiment::run::directory::OpenDirectory;
use syscost_fleet::figures::{FleetTables, StepState};
use syscost_fleet::folder::FleetFolder;
use syscost_fleet::found::FleetFound;
use syscost_fleet::page::FleetPage;
use syscost_fleet::plan::{FleetPlan, FleetStep};
use syscost_fleet::{collect, engine, hosts, step};
use syscost_host::remote::consent;
use syscost_report::html;
use syscost_sys::{program, random};

const PAGE: &str = "fleet.html";
/// A list of hosts and their kinds.
const LARGEST_FILE: u64 = 4 << 20;

pub fn run(args: &FleetArgs, global: &Global) -> Result<ExitCode> {
    match &args.command {
        FleetCommand::Plan(args) => plan(args, global)?,
        FleetCommand::Submit(args) => submit(args, global)?,
        FleetCommand::Status(args) => status(args, global)?,
        FleetCommand::Collect(args) => return collect_runs(args, global),
        FleetCommand::Report(args) => report(args, global)?,
        FleetCommand::Step { dir, number } => {
            step::run(&FleetFolder::open(dir)?, *number)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn plan(args: &FleetPlanArgs, global: &Global) -> Result<()> {
    let engine = engine::find(&args.engine)?;
    let names = hosts::expand(&args.hosts)?;
    let unknown = engine.unknown(&names);
    if !unknown.is_empty() {
        let some = unknown.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
        bail!("{} does not know {}: {some}", args.engine, count(unknown.len(), "host"));
    }
    let strata = match &args.stratum {
        Some(file) => {
            let text = text_file::read(file, LARGEST_FILE, "list of hosts", "write host,kind in each line")?;
            let mut kinds = hosts::kinds(&text).with_context(|| format!("cannot use {}", file.display()))?;
            kinds.retain(|host, _| names.contains(host));
            kinds
        }
        None => engine.strata(&names),
    };
    let here = || program::path().to_string_lossy().into_owned();
    let token = random::token().context("the kernel gives no random numbers")?;
    let plan = FleetPlan {
        id: token[..8].into(),
        hosts: args.hosts.clone(),
        engine: args.engine.clone(),
        each: args.each.clone(),
        pairs: args.pairs.clone(),
        pair_run: args.pair_run.clone(),
        repeats: args.repeat as usize,
        seed: args.seed,
        binary: args.binary.clone().unwrap_or_else(here),
        strata,
    };
    plan.check()?;
    takes("--pair-run", &plan.pair_run)?;
    plan.each.as_deref().map_or(Ok(()), |each| takes("--each", each))?;
    let steps = plan.steps()?;
    let place = std::path::absolute(&args.out)?;
    let (script, text) = engine.script(&plan, &steps, &place)?;
    FleetFolder::make(&place, &plan, (script, &text))?;
    let stages = steps.last().map_or(0, |last| last.stage + 1);
    if global.json {
        return output::print_json(
            &json!({ "dir": args.out, "id": plan.id, "hosts": names.len(), "steps": steps.len(), "stages": stages, "files": [script] }),
        );
    }
    let dir = args.out.display();
    output::print(&format!(
        "{dir}: {} of {} in {}, up to {} minutes\nNext: syscost fleet submit {dir}\n",
        count(steps.len(), "step"),
        count(names.len(), "host"),
        count(stages, "stage"),
        plan.minutes(&steps)
    ))
}

/// Would `syscost run` take these arguments? Asked before a thousand hosts are.
fn takes(option: &str, arguments: &str) -> Result<()> {
    let words = ["syscost", "run"].into_iter().chain(arguments.split_whitespace());
    let matches = args::command().try_get_matches_from(words).map_err(|refused| {
        let text = refused.to_string();
        anyhow!("{option}: {}", text.lines().next().unwrap_or_default().trim_start_matches("error: "))
    })?;
    let Some(("run", run)) = matches.subcommand() else { bail!("{option}: no arguments of syscost run") };
    asked::spec(&ExperimentArgs::from_arg_matches(run)?, run).with_context(|| option.to_string()).map(drop)
}

fn submit(args: &FleetDir, global: &Global) -> Result<()> {
    let folder = open(&args.dir)?;
    let missing = folder.plan.steps()?.iter().filter(|step| !folder.is_done(step)).count();
    if missing == 0 {
        bail!("every step is done: syscost fleet collect {}", args.dir.display());
    }
    let engine = engine::find(&folder.plan.engine)?;
    consent::to_file(engine.others(&folder, &program::path().to_string_lossy())?)?;
    let told = engine.submit(&folder)?;
    if global.json {
        return output::print_json(&json!({ "dir": args.dir, "submitted": missing, "engine": told }));
    }
    output::print(&format!(
        "{}: {told}\nNext: syscost fleet status {}\n",
        count(missing, "step"),
        args.dir.display()
    ))
}

fn status(args: &FleetDir, global: &Global) -> Result<()> {
    let folder = open(&args.dir)?;
    // Done steps are known also where the engine cannot be asked.
    let engine = engine::find(&folder.plan.engine)?.status(&folder);
    let steps = folder.plan.steps()?;
    let (done, open): (Vec<&FleetStep>, Vec<&FleetStep>) =
        steps.iter().partition(|step| folder.is_done(step));
    let failed: Vec<(&&FleetStep, String)> =
        open.iter().filter_map(|step| Some((step, folder.last_words(step)?))).collect();
    if global.json {
        let engine = engine.unwrap_or_else(|error| vec![format!("{error:#}")]);
        return output::print_json(
            &json!({ "steps": steps.len(), "done": done.len(), "tried": failed.len(), "engine": engine }),
        );
    }
    let mut text = match engine {
        Ok(lines) => lines.iter().map(|line| format!("{}: {line}\n", folder.plan.engine)).collect::<String>(),
        Err(error) => format!("{}: {error:#}\n", folder.plan.engine),
    };
    text += &format!("{} of {} done\n", done.len(), count(steps.len(), "step"));
    for (step, words) in failed.iter().take(10) {
        text += &output::entry(&format!("{}  ", step.name()), 4, words);
    }
    output::print(&text)
}

fn collect_runs(args: &FleetDir, global: &Global) -> Result<ExitCode> {
    let folder = open(&args.dir)?;
    let tables = collect::collect(&folder)?;
    tables.write(&folder)?;
    let [done, failed, open] =
        [StepState::Done, StepState::Failed, StepState::Open].map(|state| tables.count(state));
    if global.json {
        output::print_json(
            &json!({ "done": done, "failed": failed, "open": open, "figures": tables.figures.len() }),
        )?;
    } else {
        output::print(&format!(
            "{done} of {} done, {failed} failed, {open} not measured yet\nNext: syscost fleet report {}\n",
            count(tables.steps.len(), "step"),
            args.dir.display()
        ))?;
    }
    Ok(ExitCode::from(u8::from(done < tables.steps.len())))
}

fn report(args: &FleetDir, global: &Global) -> Result<()> {
    let folder = open(&args.dir)?;
    let tables = FleetTables::read(&folder)?;
    let found = FleetFound::of(&folder.plan, &tables)?;
    let page = FleetPage { plan: &folder.plan, tables: &tables, found: &found };
    OpenDirectory::make(&folder.place)?.replace(PAGE, html::page(&page.report()).as_bytes())?;
    let place = args.dir.join(PAGE);
    if global.json {
        return output::print_json(&answers(&found, &place));
    }
    let mut text: String = page.headlines().iter().map(|line| output::entry("", 0, line)).collect();
    let table = page.ending();
    if !table.rows.is_empty() {
        text += &output::table(&table, global.color);
    }
    let failed = tables.count(StepState::Failed);
    if failed > 0 {
        text += &format!("{failed} of {} failed: the page says why\n", count(tables.steps.len(), "step"));
    }
    output::print(&format!("{text}{}\n", place.display()))
}

fn answers(found: &FleetFound, place: &Path) -> serde_json::Value {
    let answer = |one: &syscost_fleet::found::HostAnswer| {
        json!({
            "host": found.hosts[one.host], "role": one.role,
            "probe": one.question.as_ref().map(|q| &q.probe), "point": one.question.as_ref().map(|q| &q.point),
            "metric": one.question.as_ref().map(|q| &q.metric), "ratio": one.decision.ratio, "low": one.decision.low,
            "high": if one.decision.high.is_finite() { Some(one.decision.high) } else { None },
            "p_adjusted": one.decision.p_adjusted, "verdict": format!("{:?}", one.decision.verdict).to_lowercase(),
        })
    };
    let slow: Vec<&String> = found.slow().iter().map(|host| &found.hosts[*host]).collect();
    json!({ "slow": slow, "answers": found.answers.iter().map(answer).collect::<Vec<_>>(), "page": place })
}

fn open(dir: &Path) -> Result<FleetFolder> {
    FleetFolder::open(&std::path::absolute(dir)?)
}
