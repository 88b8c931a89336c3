//! Data paths and what was counted on them: in the page, as files, in the terminal; and errors first.

use crate::report::common;
use syscost_analyze::whole::Analysis;
use syscost_core::axis::Value;
use syscost_experiment::run::{Audit, Run};
use syscost_host::Unavailable;
use syscost_measure::ledger::{Counts, Tier};
use syscost_measure::{mechanism, receiver};
use syscost_report::terminal::{self, TerminalLook};
use syscost_report::{Movement, Report, build, diagram, html, svg};

const PLAIN: TerminalLook = TerminalLook { width: 80, colour: false };

fn report(run: &Run) -> Report {
    build::report(run, &Analysis::of(run))
}

fn of<'r>(run: &'r mut Run, mechanism: &str) -> &'r mut Audit {
    let mut audits = run.record.audits.iter_mut();
    audits.find(|a| a.point.text_at("mechanism") == Some(mechanism)).expect("it is audited")
}

/// The audits twice: as they are, and on another path.
fn on_two_paths() -> Run {
    let mut run = common::small_run();
    let mut more = run.record.audits.clone();
    for audit in &mut more {
        audit.point.set("path", Value::text("loopback"));
    }
    run.record.audits.extend(more);
    run
}

fn lines(run: &Run) -> Vec<String> {
    report(run).diagrams().map(|d| format!("{}: {}", d.title, diagram::line(d))).collect()
}

#[test]
fn ways_that_are_alike_share_a_drawing_and_keep_their_names() {
    let lines = lines(&on_two_paths());
    let expected = [
        "pack_send over veth and loopback: fields =1x=> buffer =1x=> socket -0-> link -0-> socket =1x=> user",
        "send and sendmsg over veth and loopback: fields -0-> buffer =1x=> socket -0-> link -0-> socket =1x=> user",
        "msg_zerocopy over veth and loopback: fields -0-> buffer -0-> socket -0-> link =1x=> socket =1x=> user",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn one_count_that_differs_has_a_drawing_of_its_own() {
    let mut run = common::small_run();
    of(&mut run, "sendmsg").uncopied_out = 250_000;
    let counts = of(&mut run, "sendmsg").counts.as_mut().unwrap();
    (counts.copied_in, counts.uncopied_in, counts.copied_out) = (400_000, 600_000, 750_000);
    let lines = lines(&run);
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(
        lines[2].ends_with("-0-> buffer =0.4x=> socket -0-> link -0-> socket =0.75x=> user"),
        "{lines:?}"
    );
    let page = html::page(&report(&run));
    assert!(page.contains("0.6 by reference") && page.contains("0.25 mapped"));
}

#[test]
fn a_device_moves_what_nobody_copied() {
    let mut run = common::small_run();
    let audit = of(&mut run, "msg_zerocopy");
    audit.completions_copied = 0;
    let counts = audit.counts.as_mut().unwrap();
    (counts.orphan_copied, counts.device_fetched) = (0, 1_000_000);
    let report = report(&run);
    let diagram = report.diagrams().last().unwrap();
    assert_eq!(
        diagram::line(diagram),
        "fields -0-> buffer -0-> socket ~1x~> device ~DMA~> socket =1x=> user"
    );
    assert_eq!(diagram.claim.as_ref().unwrap().0, Some(true));
    let kept = "zero-copy: nothing was copied up to the receiver&#39;s socket";
    assert!(svg::files(&report).iter().any(|(_, file)| file.contains(kept)));
}

#[test]
fn what_was_not_counted_is_drawn_as_unknown_with_the_reason() {
    let mut run = common::small_run();
    for audit in &mut run.record.audits {
        (audit.counts, audit.tier) = (None, Tier::Told);
        audit.uncounted = Some(Unavailable {
            reason: "loading a program into the kernel needs CAP_BPF".into(),
            remedy: "run as root".into(),
        });
    }
    let report = report(&run);
    assert!(report.errors.is_empty(), "not counted is no error");
    let lines: Vec<String> = report.diagrams().map(diagram::line).collect();
    assert_eq!(lines[0], "fields =1x=> buffer -?-> socket -?-> link -?-> socket -?-> user");
    let unknown = report.diagrams().flat_map(|d| &d.arrows).filter(|a| a.kind == Movement::Unknown).count();
    assert_eq!(unknown, 3 * 4, "of pack_send, of the two that gather nothing, of the one that asked");
    let page = html::page(&report);
    assert!(page.contains("needs CAP_BPF") && page.contains("What to do: run as root."));
    assert!(page.contains("zero-copy requested; copies not counted"));
}

#[test]
fn a_count_that_does_not_add_up_comes_before_everything() {
    let mut run = common::small_run();
    assert!(report(&run).errors.is_empty());
    of(&mut run, "msg_zerocopy").counts.as_mut().unwrap().copied_out = 998_500;
    let report = report(&run);
    assert_eq!(report.errors.len(), 1);
    let page = html::page(&report);
    let error =
        page.find("The count of copies of msg_zerocopy over veth does not add up").expect("it is told");
    assert!(error < page.find("id=\"trust\"").unwrap(), "above the trust bar");
    assert!(page.contains("0 sent and 1500 delivered of 1000000 bytes are unexplained (+0.15 %)"));
    assert!(page.contains("does not add up: +0.15 % unexplained"), "and on its drawing");
    let text = terminal::text(&report, None, PLAIN);
    let title = &run.record.spec.title;
    assert!(text.starts_with("Do not rely on this: the copies of 1 case do not add up"), "{text}");
    assert!(text.contains(&format!("{title}\nerror: The count of copies of msg_zerocopy")), "{text}");
    assert!(!text.contains("copied once by the orphan copy"), "nothing is claimed from it");
}

#[test]
fn a_run_without_audits_has_no_such_section() {
    let mut run = common::small_run();
    run.record.audits.clear();
    let report = report(&run);
    assert!(!html::page(&report).contains("id=\"copies\"") && report.diagrams().count() == 0);
    assert!(!terminal::text(&report, None, PLAIN).contains("Copies per byte"));
    assert!(report.verdict.iter().any(|s| s.text.contains("The kernel ")), "the completions alone");
}

/// As an audit of this mechanism and receiver would be that copied nothing in and mapped what it could.
fn uncopied(audit: &mut Audit, mechanism: &str, receiver: &str, uncopied_out: u64) {
    let all = audit.delivered_bytes;
    audit.point.set("mechanism", Value::text(mechanism));
    audit.point.set("receiver", Value::text(receiver));
    (audit.user_copied, audit.uncopied_out, audit.completions) = (0, uncopied_out, 0);
    audit.counts = Some(Counts { uncopied_in: all, copied_out: all - uncopied_out, ..Counts::default() });
}

#[test]
fn what_is_sent_from_a_file_begins_in_the_kernel_and_what_nobody_gets_ends_there() {
    let from_file = mechanism::ALL
        .iter()
        .find(|m| m.about().facts.reuse == mechanism::Reuse::File)
        .expect("one sends from a file")
        .about()
        .id;
    let drops = receiver::ALL.iter().find(|r| !r.delivers()).expect("one delivers nothing").about().id;
    let takes = receiver::control().about().id;
    let mut run = common::small_run();
    run.record.audits.truncate(3);
    let all = run.record.audits[0].delivered_bytes;
    for (audit, (receiver, uncopied_out)) in
        run.record.audits.iter_mut().zip([(takes, 0), (takes, all), (drops, all)])
    {
        uncopied(audit, from_file, receiver, uncopied_out);
    }
    let report = report(&run);
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    let lines: Vec<String> = report.diagrams().map(diagram::line).collect();
    assert_eq!(
        lines,
        [
            "file -0-> socket -0-> link -0-> socket =1x=> user",
            "file -0-> socket -0-> link -0-> socket -0-> mapping",
            "file -0-> socket -0-> link -0-> socket -0-> nobody",
        ]
    );
    let page = html::page(&report);
    assert!(page.contains("page cache to sender's socket: 0 by reference"));
    assert!(page.contains("receiver's socket to not delivered: 0 ends in the kernel"));
}

#[test]
fn what_is_encrypted_is_called_so() {
    let mut run = common::small_run();
    run.record.audits.truncate(1);
    let audit = &mut run.record.audits[0];
    let (all, framing) = (audit.delivered_bytes, 8_000);
    (audit.user_copied, audit.framing_bytes) = (0, framing);
    audit.counts = Some(Counts { copied_in: all + framing, decrypted_out: all, ..Counts::default() });
    let report = report(&run);
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    let page = html::page(&report);
    assert!(page.contains("1.01x encrypted"));
    assert!(page.contains("receiver's socket to receiver's buffer: 1x decrypted"));
    let counts = Counts { copied_in: all + framing, copied_out: all, ..Counts::default() };
    run.record.audits[0].counts = Some(counts);
    let page = html::page(&self::report(&run));
    assert!(page.contains("to receiver's socket: 1x decrypted") && page.contains("buffer: 1x copied out"));
}
