//! `history PROBE AXIS=VALUE..`: one figure over the runs of a store.

use crate::args::Global;
use crate::store_args::HistoryArgs;
use anyhow::Result;

pub fn run(args: &HistoryArgs, global: &Global) -> Result<()> {
    built::show(args, global)
}

#[cfg(not(feature = "store"))]
mod built {
    use crate::args::Global;
    use crate::store_args::HistoryArgs;
    use crate::stored::MISSING;
    use anyhow::{Result, bail};

    pub fn show(_: &HistoryArgs, _: &Global) -> Result<()> {
        bail!("{}", MISSING)
    }
}

#[cfg(feature = "store")]
mod built {
    use crate::args::Global;
    use crate::output;
    use crate::store_args::HistoryArgs;
    use anyhow::{Context, Result, bail};
    use serde_json::json;
    use std::collections::BTreeSet;
    use syscost_analyze::sides::compared_metric;
    use syscost_core::units::{Unit, count, utc};
    use syscost_measure::probe::{self, Probe};
    use syscost_report::escape;
    use syscost_report::terminal::{self, TerminalLook};
    use syscost_report::text::ending::EndTable;
    use syscost_store::history::{BootPoint, CellQuery, HistoryPoint, boots, cells, history};
    use syscost_store::otava::{self, BootChange};

    /// Cases that are named where a question has several.
    const EXAMPLES: usize = 3;
    /// Characters of a boot or machine that tell it from others.
    const SHORT: usize = 8;

    pub fn show(args: &HistoryArgs, global: &Global) -> Result<()> {
        let query = query(args)?;
        let (points, unread) = history(&args.store, &query)?;
        for file in unread {
            output::complain(&format!("warning: a file is left out, it could not be read: {file}"));
        }
        let cells = cells(&points);
        if cells.len() > 1 {
            let some: Vec<String> = apart(&cells).take(EXAMPLES).collect();
            bail!(
                "{} have this figure; name one by its axes: {}",
                count(cells.len(), "case"),
                some.join("; ")
            );
        }
        if points.is_empty() {
            bail!("no run of {} has {} of this case", args.store.display(), query.metric);
        }
        let boots = boots(&points);
        if global.json {
            return output::print_json(&all(&points, &boots));
        }
        if args.csv {
            return output::print(&csv(&points));
        }
        let look =
            TerminalLook { width: output::columns(), colour: output::Paint::stdout(global.color).on() };
        output::print(&terminal::table(&table(&points), look))?;
        output::print(&terminal::table(&by_boot(&boots), look))?;
        output::print(&changed(otava::changes(&boots, otava::PROGRAM.as_ref())?))
    }

    /// What Otava says, a line a change.
    fn changed(found: Option<Vec<BootChange>>) -> String {
        let Some(found) = found else {
            return "Change points: Apache Otava is not installed (pip install apache-otava).\n".into();
        };
        if found.is_empty() {
            return "Change points by Apache Otava: none.\n".into();
        }
        let line = |change: &BootChange| {
            let (at, boot) = (moment(change.started_unix_ns), short(&change.boot));
            format!("Change point by Apache Otava: {:.2}x from {at} on (boot {boot}).\n", change.ratio)
        };
        found.iter().map(line).collect()
    }

    /// Each case by the coordinates that not all have.
    fn apart<'a>(cells: &'a BTreeSet<&str>) -> impl Iterator<Item = String> + 'a {
        let of = |cell: &'a str| cell.split(' ').collect::<BTreeSet<&str>>();
        let shared = cells.iter().map(|cell| of(cell)).reduce(|a, b| &a & &b).unwrap_or_default();
        cells.iter().map(move |cell| (&of(cell) - &shared).into_iter().collect::<Vec<_>>().join(" "))
    }

    fn query(args: &HistoryArgs) -> Result<CellQuery> {
        let probe = probe::find(&args.probe)
            .with_context(|| format!("there is no probe {:?}: syscost list", args.probe))?;
        let metric = match &args.metric {
            Some(id) => id.clone(),
            None => compared_metric(probe).context("this probe has no figure to compare")?.id.into(),
        };
        let coordinates = args.axes.iter().map(|text| coordinate(probe, text)).collect::<Result<Vec<_>>>()?;
        Ok(CellQuery { probe: args.probe.clone(), metric, coordinates, machine: args.machine.clone() })
    }

    /// `size=64K` as points have it: `message_bytes=65536`
    fn coordinate(probe: &dyn Probe, text: &str) -> Result<String> {
        let (name, value) =
            text.split_once('=').with_context(|| format!("write AXIS=VALUE, not {text:?}"))?;
        let axes = probe.axes();
        let axis = axes.iter().find(|axis| axis.flag == name || axis.id == name);
        let axis =
            axis.with_context(|| format!("{} has no axis {name:?}: syscost axes", probe.about().id))?;
        let value = axis.parse(value).map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
        Ok(format!("{}={value}", axis.id))
    }

    fn moment(unix_ns: i64) -> String {
        let text = utc(u64::try_from(unix_ns).unwrap_or(0) / 1_000_000_000);
        format!("{} {}", &text[..10], &text[11..16])
    }

    fn short(text: &str) -> String {
        text.chars().take(SHORT).collect()
    }

    fn shown(point: &HistoryPoint, value: f64) -> String {
        let unit = serde_json::from_value::<Unit>(point.unit.clone().into());
        unit.map_or_else(|_| format!("{value} {}", point.unit), |unit| unit.format(value))
    }

    fn table(points: &[HistoryPoint]) -> EndTable {
        let row = |point: &HistoryPoint| {
            vec![
                moment(point.started_unix_ns),
                shown(point, point.value),
                format!("{} - {}", shown(point, point.interval.0), shown(point, point.interval.1)),
                short(point.boot.as_deref().unwrap_or("-")),
                point.label.as_deref().or(point.revision.as_deref()).unwrap_or_default().into(),
            ]
        };
        let columns = ["run", "value", "CI", "boot", "label"].map(String::from).to_vec();
        EndTable { title: None, columns, rows: points.iter().map(row).collect(), note: None }
    }

    fn by_boot(boots: &[BootPoint]) -> EndTable {
        let row = |boot: &BootPoint| {
            vec![
                moment(boot.started_unix_ns),
                short(&boot.machine),
                short(&boot.boot),
                boot.runs.to_string(),
                format!("{:.3}", boot.relative),
            ]
        };
        let columns = ["boot of", "machine", "boot", "runs", "relative"].map(String::from).to_vec();
        let note = Some("relative: to the mean over the machine's boots".to_string());
        EndTable { title: None, columns, rows: boots.iter().map(row).collect(), note }
    }

    fn csv(points: &[HistoryPoint]) -> String {
        let mut text =
            "started_unix_ns,machine,boot,run,label,revision,point,unit,value,ci_low,ci_high\n".to_string();
        for point in points {
            let name = |text: &Option<String>| text.clone().unwrap_or_default();
            let words = [
                point.started_unix_ns.to_string(),
                point.machine.clone(),
                name(&point.boot),
                point.run.clone(),
                name(&point.label),
                name(&point.revision),
                point.point.clone(),
                point.unit.clone(),
            ];
            let numbers = [point.value, point.interval.0, point.interval.1].map(|value| value.to_string());
            let mut writer = ::csv::Writer::from_writer(Vec::new());
            let row = words.iter().map(|text| escape::cell(text).into_owned()).chain(numbers);
            writer.write_record(row).expect("in memory");
            text +=
                &String::from_utf8(writer.into_inner().expect("in memory")).expect("only text was written");
        }
        text
    }

    fn all(points: &[HistoryPoint], boots: &[BootPoint]) -> serde_json::Value {
        let point = |p: &HistoryPoint| {
            json!({
                "started_unix_ns": p.started_unix_ns, "machine": p.machine, "boot": p.boot, "run": p.run, "label": p.label,
                "revision": p.revision, "point": p.point, "unit": p.unit, "value": p.value,
                "ci_low": p.interval.0, "ci_high": p.interval.1,
            })
        };
        let boot = |b: &BootPoint| {
            json!({
                "machine": b.machine, "boot": b.boot, "started_unix_ns": b.started_unix_ns, "runs": b.runs,
                "relative": b.relative,
            })
        };
        json!({
            "runs": points.iter().map(point).collect::<Vec<_>>(),
            "boots": boots.iter().map(boot).collect::<Vec<_>>(),
        })
    }
}
