//! The report of a fleet: who is slow, every host, every pair, and what is missing. Words and layout only.

use crate::figures::{FleetTables, StepState};
use crate::found::{FleetFound, HostAnswer, HostQuestion};
use crate::plan::FleetPlan;
use std::collections::{BTreeMap, BTreeSet};
use syscost_core::decide::{MARGIN, Verdict};
use syscost_core::units::{count, percent};
use syscost_report::text::ending::EndTable;
use syscost_report::{AnswerCard, Block, Entry, Notice, Report, Section, Statement, Table, TrustBar};

/// Slow hosts that the card names.
const NAMED: usize = 5;
/// Rows of a table that stays open.
const SHOWN: usize = 30;
/// Reasons that are shown for steps that failed.
const REASONS: usize = 12;

/// Everything that the page shows.
pub struct FleetPage<'a> {
    pub plan: &'a FleetPlan,
    pub tables: &'a FleetTables,
    pub found: &'a FleetFound,
}

impl FleetPage<'_> {
    pub fn report(&self) -> Report {
        let FleetPlan { id, hosts, engine, each, pairs, pair_run, .. } = self.plan;
        let pairs = pairs.as_ref().map(|pairs| format!("pairs {pairs}: {pair_run}"));
        let asked: Vec<String> = each.clone().into_iter().chain(pairs).collect();
        let mut said = self.headlines().into_iter().map(|text| Statement { text, cells: Vec::new() });
        let card = AnswerCard {
            title: "Which host is slow?".into(),
            headlines: said.next().into_iter().collect(),
            shown: said.collect(),
            ..AnswerCard::default()
        };
        let sections = [self.slow(), self.hosts(), self.noise(), self.facts(), self.missing(), self.method()];
        Report {
            title: format!("Fleet {hosts}"),
            subtitle: format!("{id} · {engine} · {}", asked.join(", ")),
            trust: self.trust(),
            answers: vec![card],
            errors: self.versions().into_iter().collect(),
            sections: sections.into_iter().flatten().collect(),
            ..Report::default()
        }
    }

    fn trust(&self) -> TrustBar {
        let [done, failed, open] =
            [StepState::Done, StepState::Failed, StepState::Open].map(|state| self.tables.count(state));
        let all = self.tables.steps.len();
        let colour = match () {
            () if 2 * done < all => "red",
            () if failed + open > 0 => "amber",
            () => "green",
        };
        let mut facts =
            vec![format!("{done} of {} measured", count(all, "step")), "error 5 % over all hosts".into()];
        facts.extend((failed > 0).then(|| format!("{failed} failed")));
        facts.extend((open > 0).then(|| format!("{open} not measured yet")));
        TrustBar { colour, headline: if done == all { "Complete" } else { "Incomplete" }.into(), facts }
    }

    /// What the terminal says too.
    pub fn headlines(&self) -> Vec<String> {
        let (slow, answers, open) = (self.found.slow(), self.found.answers.len(), self.found.undecided());
        let verb = if slow.len() == 1 { "is" } else { "are" };
        let first = match (answers, slow.len(), open) {
            (0, ..) => "No host can be judged: too few steps are measured.".into(),
            (_, 0, 0) => format!("Every host costs the same as its fleet, within {}.", percent(MARGIN)),
            (_, 0, _) => format!(
                "No host is significantly slower than its fleet. {open} of {answers} answers are undecided."
            ),
            (_, number, _) => {
                format!("{number} of {} {verb} slower than the fleet.", count(self.found.hosts.len(), "host"))
            }
        };
        let worst = self.found.worst().take(NAMED).map(|answer| {
            let [name, role, asked, interval, ..] = self.row(answer);
            format!("{name}, {role}: {asked} costs {interval}.")
        });
        std::iter::once(first).chain(worst).collect()
    }

    /// `transfer (message_bytes=65536), throughput`: what all of them share is in the plan.
    fn question(&self, question: &HostQuestion) -> String {
        let own = self.found.own_point(question);
        let point = if own.is_empty() { own } else { format!(" ({own})") };
        format!("{}{point}, {}", question.probe, question.metric.replace('_', " "))
    }

    /// An answer, as [`COLUMNS`] have it.
    fn row(&self, answer: &HostAnswer) -> [String; 6] {
        let decision = &answer.decision;
        let interval = match decision.level {
            0.0 => String::new(),
            _ => format!(" [{:.2}, {:.2}]", decision.low, decision.high),
        };
        let verdict = match decision.verdict {
            Verdict::More => "slow",
            Verdict::Less => "fast",
            Verdict::Same => "same",
            Verdict::Undecided => "undecided",
        };
        let asked = answer.question.as_ref().map(|one| self.question(one));
        [
            self.found.hosts[answer.host].clone(),
            answer.role.into(),
            asked.unwrap_or_else(|| "the typical operation".into()),
            format!("{:.2}x{interval}", decision.ratio),
            decision.rounds.to_string(),
            verdict.into(),
        ]
    }

    fn slow(&self) -> Option<Section> {
        let slow = self.found.slow();
        let answers = slow.iter().flat_map(|host| self.found.of_host(*host));
        let rows = answers.map(|answer| self.row(answer)).collect();
        tabled(("slow", "Slow hosts"), "", ("slow-hosts", COLUMNS), rows)
    }

    /// For the terminal.
    pub fn ending(&self) -> EndTable {
        let slow = self.found.slow().len();
        EndTable {
            title: None,
            columns: COLUMNS.map(String::from).to_vec(),
            rows: self.found.worst().take(SHOWN).map(|answer| self.row(answer).to_vec()).collect(),
            note: (slow > SHOWN).then(|| format!("{} more are on the page", slow - SHOWN)),
        }
    }

    /// Every host once: what it costs most beside its fleet.
    fn hosts(&self) -> Option<Section> {
        let mut seen = BTreeSet::new();
        let worst = self.found.answers.iter().filter(|answer| seen.insert(answer.host));
        let rows = worst.map(|answer| self.row(answer)).collect();
        let said = "Each host by the answer in which it costs most, dearest first. The ratio is to the middle of its kind.";
        tabled(("hosts", "Every host"), said, ("hosts", COLUMNS), rows)
    }

    /// The noise of measurements: a smaller difference is undecided.
    fn noise(&self) -> Option<Section> {
        let size = |log: Option<f64>| log.map_or("-".to_string(), |log| percent(log.exp_m1()));
        let rows = self
            .found
            .pairs
            .iter()
            .map(|table| [self.question(&table.question), size(table.scatter), size(table.floor)]);
        let said = "Between repeats: `--repeat 2` measures it.";
        tabled(
            ("noise", "What pairs scatter by"),
            said,
            ("noise", ["figure", "one measurement", "repeats of a pair"]),
            rows.collect(),
        )
    }

    fn facts(&self) -> Option<Section> {
        let title = ("facts", "In what slow hosts differ");
        let none = "Slow hosts have no recorded fact that most others lack.";
        let said = "Facts of slow hosts that most hosts do not share. One of them may be the cause.";
        let rows = self.found.odd.iter().map(|odd| {
            let host = self.found.hosts[odd.host].clone();
            [host, odd.cause.to_string(), odd.title.clone(), odd.value.clone(), odd.usual.clone()]
        });
        let columns = ["host", "kind", "fact", "here", "most hosts"];
        let table = tabled(title, said, ("odd-facts", columns), rows.collect());
        let any_slow = self.found.worst().next().is_some();
        table.or_else(|| any_slow.then(|| section(title.0, title.1, vec![Block::Text(none.into())])))
    }

    /// Steps without a run, by what they said.
    fn missing(&self) -> Option<Section> {
        let mut by_reason: BTreeMap<&str, (usize, BTreeSet<&str>)> = BTreeMap::new();
        for step in self.tables.steps.iter().filter(|step| step.state == StepState::Failed) {
            let (number, hosts) = by_reason.entry(&step.reason).or_default();
            *number += 1;
            hosts.insert(&step.host);
        }
        let mut reasons: Vec<_> = by_reason.into_iter().collect();
        reasons.sort_by_key(|(_, (number, _))| std::cmp::Reverse(*number));
        let rows = reasons.into_iter().take(REASONS).map(|(reason, (number, hosts))| {
            let some = hosts.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
            let more = hosts.len().saturating_sub(NAMED);
            let which = if more > 0 { format!("{some} and {more} more") } else { some };
            [number.to_string(), which, reason.into()]
        });
        let said = "What was measured is kept. `syscost fleet submit` again measures what is missing.";
        let columns = ["steps", "hosts", "what they said"];
        tabled(("failed", "Steps that failed"), said, ("failed", columns), rows.collect())
    }

    /// Runs of different programs are no fleet.
    fn versions(&self) -> Option<Notice> {
        let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for step in self.tables.steps.iter().filter(|step| step.state == StepState::Done) {
            versions.entry(&step.syscost).or_default().insert(&step.host);
        }
        let of = |(version, hosts): (&&str, &BTreeSet<&str>)| {
            format!("{version} on {}", count(hosts.len(), "host"))
        };
        let told: Vec<String> = versions.iter().map(of).collect();
        (told.len() > 1).then(|| Notice {
            title: "Hosts measured with different builds of syscost".into(),
            text: format!("{}. A host may be slow because of its build.", told.join("; ")),
            remedy: "install one build on every host and submit a new fleet".into(),
            cases: Vec::new(),
        })
    }

    fn method(&self) -> Option<Section> {
        let kinds: BTreeSet<&String> = self.plan.strata.values().collect();
        let strata = match kinds.len() {
            0 => "No kind of hosts (switch, rack, zone) is known: `--stratum FILE` names them.".to_string(),
            n => format!("{n} kinds of hosts are compared each with itself."),
        };
        let method = "Pairs: a median polish of log cost = all + sender + receiver + rest, so that a slow host is named and not its partners. \
            Hosts alone: the median of repeats beside the median of hosts. The error of a host is the larger of two: what hosts scatter by, and \
            what measurements scatter by. Tails are those of t with 3 degrees of freedom for each measurement. Holm's procedure holds the error \
            over all hosts, roles and figures. See docs/hosts.md.";
        let blocks = vec![Block::Text(method.into()), Block::Text(strata)];
        Some(Section { folded: Some("Method"), ..section("method", "Method", blocks) })
    }
}

const COLUMNS: [&str; 6] = ["host", "role", "figure", "cost / fleet", "n", "verdict"];

/// A section of one table, with a sentence before it; behind its first rows the others are folded away. None without rows.
fn tabled<const N: usize>(
    (id, title): (&str, &str),
    said: &str,
    (table, columns): (&str, [&str; N]),
    rows: Vec<[String; N]>,
) -> Option<Section> {
    let mut rows: Vec<Vec<Entry>> = rows.into_iter().map(|row| row.map(Entry::Text).to_vec()).collect();
    let rest = rows.split_off(rows.len().min(SHOWN));
    let mut blocks = Vec::new();
    blocks.extend((!said.is_empty()).then(|| Block::Text(said.into())));
    blocks.extend((!rows.is_empty()).then(|| Block::Table(Table::new(table, &columns, rows))));
    if !rest.is_empty() {
        let title = format!("{} more", rest.len());
        let more = Block::Table(Table::new(format!("{table}-more"), &columns, rest));
        blocks.push(Block::Folded { title, blocks: vec![more] });
    }
    blocks.iter().any(|block| matches!(block, Block::Table(_))).then(|| section(id, title, blocks))
}

fn section(id: &str, title: &str, blocks: Vec<Block>) -> Section {
    Section { id: id.into(), title: title.into(), folded: None, blocks }
}
