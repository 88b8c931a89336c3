//! From a run to its report: the sections in order. Nothing is measured, marked up or printed here.

use super::material::Material;
use super::section;
use super::text;
use super::{Block, CellRef, LINKED, LINKS, Report, Section, Statement};
use std::time::Duration;
use syscost_analyze::operations::beside::Beside;
use syscost_analyze::whole::Analysis;
use syscost_core::units;
use syscost_experiment::run::Run;

/// The report of a run, from its analysis.
pub fn report(run: &Run, analysis: &Analysis) -> Report {
    report_beside(run, analysis, &[])
}

/// The same with figures from elsewhere beside the run's own.
pub fn report_beside(run: &Run, analysis: &Analysis, beside: &[Beside]) -> Report {
    // Where nobody named figures from elsewhere, the published report's own.
    let published = if beside.is_empty() { section::published::of(run, analysis) } else { Vec::new() };
    let material = Material::of(run, analysis, if beside.is_empty() { &published } else { beside });
    let verdict = section::answer::statements(&material);
    // In sight: the figure, the table, why it is so, what people ask.
    let mut sections: Vec<Section> = [
        section::figure::section(&material),
        section::costs::section(&material),
        section::latency::section(&material),
        section::published::section(&material).filter(|_| !material.compared()),
        section::published::curves(&material).filter(|_| !material.compared()),
        section::why::section(&material),
        section::questions::section(&material),
    ]
    .into_iter()
    .flatten()
    .collect();
    let evidence = under(
        "More figures and evidence",
        [
            section::copies::section(&material),
            section::time::section(&material),
            section::profile::section(&material),
            section::latency::details(&material),
            section::operations::section(&material),
            section::published::curves(&material).filter(|_| material.compared()),
        ],
    );
    let careful = under(
        "What to be careful with",
        [
            section::care::section(&material),
            section::missing::section(&material),
            section::problems::section(&material),
        ],
    );
    let linked = if run.record.plan.cases.len() > section::cases::ROWS { LINKS } else { LINKED };
    let referenced = referenced(&verdict, sections.iter().chain(&evidence).chain(&careful), linked);
    let cases = under("Every case", [section::cases::section(&material, &referenced)]);
    let machine = under(
        "Machine, method, how to reproduce",
        [
            section::machine::section(&material),
            section::during::section(&material),
            Some(section::method::section(&material)),
            Some(section::reproduce::section(&material)),
        ],
    );
    sections.extend([evidence, careful, cases, machine].into_iter().flatten());
    Report {
        title: title(run),
        subtitle: subtitle(&material),
        ending: text::ending::ending(&material, &verdict),
        trust: section::answer::trust(&material),
        answers: section::answer::cards(&material),
        verdict,
        errors: section::copies::errors(&material),
        notices: section::problems::notices(&material),
        sections,
    }
}

/// Sections behind one title.
fn under<const N: usize>(title: &'static str, sections: [Option<Section>; N]) -> Vec<Section> {
    sections.into_iter().flatten().map(|section| Section { folded: Some(title), ..section }).collect()
}

/// The cells that sentences are linked to, so many of each: they must be found on the page.
fn referenced<'s>(
    verdict: &'s [Statement],
    sections: impl Iterator<Item = &'s Section>,
    linked: usize,
) -> Vec<CellRef> {
    let listed = sections.flat_map(|s| &s.blocks).flat_map(Block::all).flat_map(|block| match block {
        Block::Statement(statement) => std::slice::from_ref(statement),
        Block::Statements(list) => list,
        _ => &[],
    });
    verdict.iter().chain(listed).flat_map(|s| s.cells.iter().take(linked).cloned()).collect()
}

fn title(run: &Run) -> String {
    match (run.record.spec.title.as_str(), run.record.spec.name.as_str()) {
        ("", "") => "A run of syscost".into(),
        ("", name) => name.into(),
        (title, _) => title.into(),
    }
}

/// When, where and how complete: one line.
fn subtitle(m: &Material) -> String {
    let run = m.run;
    let fact = |id: &str| run.record.fact(id).map(str::to_string);
    let asked = run.record.plan.cases.iter().filter(|c| c.twin_of.is_none());
    let measured = asked.clone().filter(|c| !m.analysis.cells.of_case(c.index).is_empty()).count();
    let asked = asked.count();
    let part = if measured < asked { format!("{measured} of ") } else { String::new() };
    let mut parts: Vec<String> = [fact("cpu_model"), fact("kernel_release").map(|k| format!("Linux {k}"))]
        .into_iter()
        .flatten()
        .collect();
    parts.push(date(run.record.started_unix_ns));
    parts.push(format!(
        "{part}{} in {}",
        units::count(asked, "case"),
        units::format_duration(Duration::from_nanos(run.record.elapsed_ns))
    ));
    parts.join(" · ")
}

/// `2026-11-21 21:58 UTC`
fn date(unix_ns: u64) -> String {
    let moment = units::utc(unix_ns / 1_000_000_000);
    format!("{} {} UTC", &moment[..10], &moment[11..16])
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn dates_are_civil() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_400_000_000_000), "2000-02-29 00:00 UTC");
        assert_eq!(date(1_795_300_000_000_000_000), "2026-11-21 22:26 UTC");
        assert!(date(u64::MAX).starts_with("2554-"));
    }
}
