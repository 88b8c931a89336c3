//! Counted copies in the report: labels from counts, errors that are said first, nothing where nobody
//! counted.

use crate::common;
use syscost::analysis::whole::Analysis;
use syscost::host::Unavailable;
use syscost::ledger::Tier;
use syscost::report::{Report, build, csv, html};
use syscost::run::{Audit, Run};

fn report(run: &Run) -> Report {
    build::report(run, &Analysis::of(run))
}

fn audit<'r>(run: &'r mut Run, mechanism: &str) -> &'r mut Audit {
    let audits = run.record.audits.iter_mut();
    let mut of = audits.filter(|a| a.point.text("mechanism") == Some(mechanism));
    of.next().expect("one audit of each mechanism")
}

fn told(run: &Run) -> String {
    let verdict = report(run).verdict;
    verdict.into_iter().map(|s| s.text).find(|text| text.contains("completions")).expect("on zero-copy")
}

#[test]
fn the_count_decides_and_the_flag_speaks_only_alone() {
    let mut run = common::small_run();
    assert!(told(&run).contains("zero-copy asked, copied once on the way"), "{}", told(&run));
    // A network device took the sender's pages, whatever the flag says.
    let counts = audit(&mut run, "msg_zerocopy").counts.as_mut().expect("counted");
    (counts.orphan_copied, counts.device_fetched) = (0, counts.uncopied_in);
    let text = told(&run);
    assert!(text.contains("zero-copy asked, not copied on the way"), "{text}");
    assert!(text.contains("the flag is wrong here: 100 % of the completions"), "{text}");
    let alone = audit(&mut run, "msg_zerocopy");
    (alone.counts, alone.tier) = (None, Tier::Told);
    assert!(told(&run).contains("zero-copy was asked for and the kernel copied"), "{}", told(&run));
}

#[test]
fn a_ledger_that_does_not_balance_is_the_first_notice() {
    let mut run = common::small_run();
    assert!(!report(&run).notices[0].title.contains("balance"));
    audit(&mut run, "msg_zerocopy").counts.as_mut().expect("counted").copied_out -= 1_100;
    let report = report(&run);
    assert!(report.notices[0].title.starts_with("Error: the count of copies does not balance"));
    assert!(report.notices[0].text.contains("1100 delivered are unexplained"), "{}", report.notices[0].text);
    assert!(!report.notices[0].cases.is_empty());
    assert!(html::page(&report).contains("+0.11 %"), "shown, not rounded away");
    assert!(!told(&run).contains("counted at"), "nothing is claimed from it");
}

#[test]
fn what_was_not_counted_is_empty_and_said_to_be_unverified() {
    let mut run = common::small_run();
    for audit in &mut run.record.audits {
        (audit.tier, audit.counts, audit.cpu) = (Tier::Told, None, None);
        let (reason, remedy) = ("no rights".to_string(), "run as root".to_string());
        audit.uncounted = Some(Unavailable { reason, remedy });
    }
    let page = html::page(&report(&run));
    assert!(page.contains("not verified") && page.contains("No rights"));
    assert!(!page.contains("Who pays for CPU time"));
    let analysis = Analysis::of(&run);
    let text = csv::results(&run, &analysis.cells);
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let header: Vec<String> = reader.headers().unwrap().iter().map(String::from).collect();
    let at = |name: &str| header.iter().position(|h| h == name).expect(name);
    let mut rows = 0;
    for row in reader.records().map(Result::unwrap) {
        let packs = &row[at("mechanism")] == "pack_send";
        assert_eq!(&row[at("user_copied")], if packs { "1" } else { "0" }, "known without tracing");
        assert_eq!(&row[at("ledger_tier")], "C");
        for column in ["copied_in", "orphan_copied", "copied_out", "uncopied", "ledger_balance"] {
            assert_eq!(&row[at(column)], "", "{column}");
        }
        rows += 1;
    }
    assert!(rows > 0);
}
