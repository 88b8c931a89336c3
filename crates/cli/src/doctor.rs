//! `doctor`: will this machine give clean numbers? Judged in `host::doctor`; shown here.

use crate::args::{DoctorArgs, Global};
use crate::output::{self, Paint, entry};
use anyhow::{Result, anyhow};
use std::process::ExitCode;
use syscost_core::units;
use syscost_host::doctor::{self, HostCheck, Status};
use syscost_host::remote::consent;
use syscost_host::remote::transport::rsh;
use syscost_measure::probe::transfer::far;

const INDENT: usize = 10;

pub fn run(args: &DoctorArgs, global: &Global) -> Result<ExitCode> {
    if let Some(command) = args.rsh.as_deref() {
        rsh::check(command).map_err(|why| anyhow!("--rsh: {why}"))?;
        rsh::set(Some(command));
    }
    consent::allow(args.path.iter().chain(&args.rsh).cloned());
    let path = args.path.as_deref().map(doctor::path).transpose();
    let path = path.map_err(|reason| anyhow!("--path: {reason}"))?;
    let mut checks = doctor::checks();
    let reached = path.as_ref().is_some_and(|check| check.status != Status::Bad);
    checks.extend(path);
    checks.extend(args.path.as_deref().filter(|_| reached).and_then(far_side));
    if global.json {
        output::print_json(&checks)?;
    } else {
        output::print(&text(&checks, Paint::stdout(global.color)))?;
    }
    let unfit = checks.iter().any(|check| check.status == Status::Bad);
    Ok(if args.strict && unfit { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// What the host on the far side cannot do of a usual transfer; it is asked.
fn far_side(path: &str) -> Option<HostCheck> {
    let why = far::asked(&far::usual(path)).err()?;
    Some(HostCheck {
        id: "far_side".into(),
        title: "the far side of the path".into(),
        status: Status::Caution,
        observed: why.reason,
        consequence: "what is measured instead is recorded with the cases; those that name it are skipped"
            .into(),
        remedy: why.remedy,
    })
}

fn text(checks: &[HostCheck], paint: Paint) -> String {
    let mut text = String::new();
    for check in checks {
        text += &entry(&word(check.status, paint), INDENT, &format!("{}: {}", check.title, check.observed));
        if !check.consequence.is_empty() {
            text += &entry("", INDENT, &check.consequence);
        }
        if !check.remedy.is_empty() {
            text += &entry("", INDENT, &format!("-> {}", check.remedy));
        }
    }
    text + &summary(checks, paint)
}

fn word(status: Status, paint: Paint) -> String {
    match status {
        Status::Good => paint.green("good"),
        Status::Unknown => "unknown".to_string(),
        Status::Caution => paint.yellow("caution"),
        Status::Bad => paint.red("bad"),
    }
}

fn summary(checks: &[HostCheck], paint: Paint) -> String {
    let count = |status| checks.iter().filter(|c| c.status == status).count();
    let (bad, caution) = (count(Status::Bad), count(Status::Caution));
    let verdict = match (bad, caution) {
        (0, 0) => "This machine gives clean numbers.".to_string(),
        (0, n) => format!("Numbers from this machine are usable, with {}.", units::count(n, "caveat")),
        (n, _) => format!("Numbers from this machine are wrong or missing in {}.", units::count(n, "point")),
    };
    format!("\n{}\n", paint.bold(&verdict))
}
