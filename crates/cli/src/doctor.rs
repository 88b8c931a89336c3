//! `doctor`: will this machine give clean numbers? Judged in `host::doctor`; shown here.

use crate::args::{DoctorArgs, Global};
use crate::output::{self, Paint, entry};
use anyhow::{Result, anyhow};
use std::process::ExitCode;
use syscost_core::units;
use syscost_host::doctor::{self, HostCheck, Status};

const INDENT: usize = 10;

pub fn run(args: &DoctorArgs, global: &Global) -> Result<ExitCode> {
    let path = args.path.as_deref().map(doctor::path).transpose();
    let path = path.map_err(|reason| anyhow!("--path: {reason}"))?;
    let mut checks = doctor::checks();
    checks.extend(path);
    if global.json {
        output::print_json(&checks)?;
    } else {
        output::print(&text(&checks, Paint::stdout(global.color)))?;
    }
    let unfit = checks.iter().any(|check| check.status == Status::Bad);
    Ok(if args.strict && unfit { ExitCode::FAILURE } else { ExitCode::SUCCESS })
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
