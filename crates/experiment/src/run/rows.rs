//! The lines of `samples.csv` held against a plan: [`syscost_core::sample::rows`] reads and writes them.

use crate::plan::Plan;
use syscost_core::sample::Sample;
pub use syscost_core::sample::rows::*;
use syscost_core::units::count;
use syscost_measure::probe;

/// The quantities of the plan's probes in registry order: the columns after [`FIXED`].
pub fn quantity_columns(plan: &Plan) -> Vec<String> {
    let mut columns: Vec<String> = Vec::new();
    for probe in probe::ALL {
        let id = probe.about().id;
        let planned = plan.cases.iter().any(|c| c.probe == id);
        for quantity in probe.quantities().iter().filter(|_| planned) {
            if !columns.iter().any(|c| c == quantity.id) {
                columns.push(quantity.id.to_string());
            }
        }
    }
    columns
}

/// Reads one row (without its newline), checks every field and holds it against the plan; its quantities are not kept.
pub fn check_row(line: &str, plan: &Plan, columns: &Columns) -> Result<Sample, BadField> {
    let bad = |column: &str, reason: String| BadField { column: column.into(), reason };
    let (sample, probe) = check_fields(line, columns)?;
    let case = plan.cases.get(sample.case).ok_or_else(|| {
        bad("case", format!("{} is not in the plan of {}", sample.case, count(plan.cases.len(), "case")))
    })?;
    if case.probe != probe {
        return Err(bad("probe", format!("{:?}, but the plan has {:?}", shorten(probe), case.probe)));
    }
    Ok(sample)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Case;
    use syscost_core::axis::Point;

    fn plan() -> Plan {
        let case = |index| Case { index, probe: "transfer".into(), point: Point::default(), twin_of: None };
        Plan { cases: vec![case(0), case(1)], ..Plan::default() }
    }

    #[test]
    fn a_row_of_another_plan_names_its_column() {
        let row = |text: &str| check_row(text, &plan(), &Columns::new(vec!["a".into()])).unwrap_err();
        assert_eq!(row("7,transfer,0,0,1,2,3,true,,,1").column, "case");
        assert_eq!(row("0,other,0,0,1,2,3,true,,,1").column, "probe");
        assert_eq!(row("0,transfer,0,0,1,2,3,true,,,x").column, "a");
    }
}
