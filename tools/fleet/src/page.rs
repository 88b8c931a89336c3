//! The report of a fleet: who is slow, every host, every pair, and what is missing. Words and layout only.

use crate::figures::{FleetTables, StepState};
use crate::found::{FleetFound, HostAnswer, HostQuestion, PairTable};
use crate::plan::FleetPlan;
use std::collections::{BTreeMap, BTreeSet};
use syscost_core::decide::Verdict;
use syscost_core::units::{count, percent};
use syscost_report::pair_map::{PairMap, PairMark};
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
        let sections = [self.slow(), self.pairs(), self.hosts(), self.facts(), self.missing(), self.method()];
        Report {
            title: format!("Fleet {}", self.plan.hosts),
            subtitle: format!("{} · {} · {}", self.plan.id, self.plan.engine, self.asked()),
            trust: self.trust(),
            answers: vec![self.card()],
            verdict: Vec::new(),
            ending: Default::default(),
            errors: self.versions().into_iter().collect(),
            notices: Vec::new(),
            sections: sections.into_iter().flatten().collect(),
        }
    }

    fn asked(&self) -> String {
        let pairs = self.plan.pairs.as_ref().map(|pairs| format!("pairs {pairs}: {}", self.plan.pair_run));
        let asked = [self.plan.each.clone(), pairs];
        asked.into_iter().flatten().collect::<Vec<_>>().join(", ")
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
        let slow = self.found.slow();
        if self.found.answers.is_empty() {
            return vec!["No host can be judged: too few steps are measured.".into()];
        }
        if slow.is_empty() {
            let open = self.found.undecided();
            return vec![match open {
                0 => format!(
                    "Every host costs the same as its fleet, within {}.",
                    percent(syscost_core::decide::MARGIN)
                ),
                _ => format!(
                    "No host is significantly slower than its fleet. {open} of {} answers are undecided.",
                    self.found.answers.len()
                ),
            }];
        }
        let verb = if slow.len() == 1 { "is" } else { "are" };
        let mut lines = vec![format!(
            "{} of {} {verb} slower than the fleet.",
            slow.len(),
            count(self.found.hosts.len(), "host")
        )];
        lines.extend(
            slow.iter().take(NAMED).filter_map(|host| Some(self.sentence(self.found.of_host(*host).next()?))),
        );
        lines
    }

    fn sentence(&self, answer: &HostAnswer) -> String {
        format!(
            "{}, {}: {} costs {}.",
            self.name(answer),
            answer.role.word(),
            self.asked_for(answer),
            interval(answer)
        )
    }

    fn name(&self, answer: &HostAnswer) -> &str {
        &self.found.hosts[answer.host]
    }

    fn asked_for(&self, answer: &HostAnswer) -> String {
        answer.question.as_ref().map_or_else(|| "the typical operation".into(), |one| self.question(one))
    }

    /// `transfer (message_bytes=65536), throughput`: what all of them share is in the plan.
    fn question(&self, question: &HostQuestion) -> String {
        let own = self.found.own_point(question);
        let point = if own.is_empty() { own } else { format!(" ({own})") };
        format!("{}{point}, {}", question.probe, short_metric(&question.metric))
    }

    fn card(&self) -> AnswerCard {
        let mut said = self.headlines().into_iter().map(|text| Statement { text, cells: Vec::new() });
        AnswerCard {
            title: "Which host is slow?".into(),
            headlines: said.next().into_iter().collect(),
            shown: said.collect(),
            ..AnswerCard::default()
        }
    }

    fn row(&self, answer: &HostAnswer) -> Vec<String> {
        vec![
            self.name(answer).to_string(),
            answer.role.word().into(),
            self.asked_for(answer),
            interval(answer),
            answer.decision.rounds.to_string(),
            verdict(answer).into(),
        ]
    }

    fn slow(&self) -> Option<Section> {
        let rows: Vec<Vec<String>> = self
            .found
            .slow()
            .iter()
            .flat_map(|host| self.found.of_host(*host))
            .map(|answer| self.row(answer))
            .collect();
        (!rows.is_empty()).then(|| section("slow", "Slow hosts", table_blocks("slow-hosts", &COLUMNS, rows)))
    }

    /// For the terminal.
    pub fn ending(&self) -> EndTable {
        let slow = self.found.slow();
        let answers = slow.iter().filter_map(|host| self.found.of_host(*host).next());
        EndTable {
            title: None,
            columns: COLUMNS.map(String::from).to_vec(),
            rows: answers.take(SHOWN).map(|answer| self.row(answer)).collect(),
            note: (slow.len() > SHOWN).then(|| format!("{} more are on the page", slow.len() - SHOWN)),
        }
    }

    /// Every host once: what it costs most beside its fleet.
    fn hosts(&self) -> Option<Section> {
        let mut seen = BTreeSet::new();
        let worst = self.found.answers.iter().filter(|answer| seen.insert(answer.host));
        let rows: Vec<Vec<String>> = worst.map(|answer| self.row(answer)).collect();
        let said = "Each host by the answer in which it costs most, dearest first. The ratio is to the middle of its kind.";
        let mut blocks = vec![Block::Text(said.into())];
        blocks.extend(table_blocks("hosts", &COLUMNS, rows));
        Some(section("hosts", "Every host", blocks))
    }

    fn pairs(&self) -> Option<Section> {
        let slow: BTreeSet<usize> = self.found.slow().into_iter().collect();
        let tabs: Vec<(String, Vec<Block>)> = self
            .found
            .pairs
            .iter()
            .enumerate()
            .map(|(at, table)| (self.question(&table.question), self.map(at, table, &slow)))
            .collect();
        (!tabs.is_empty()).then(|| section("pairs", "Pairs of hosts", Block::tabs("pair-maps", tabs)))
    }

    fn map(&self, at: usize, table: &PairTable, slow: &BTreeSet<usize>) -> Vec<Block> {
        let mark = |pair: &syscost_core::decide::hosts::PairCost| PairMark {
            row: pair.sender,
            column: pair.receiver,
            value: pair.log.exp(),
        };
        let map = PairMap {
            id: format!("pairs-{}", at + 1),
            title: format!("{}: cost of a pair over the middle of all", self.question(&table.question)),
            names: self.found.hosts.clone(),
            named: slow.clone(),
            marks: table.pairs.iter().map(mark).collect(),
        };
        let size = |log: f64| percent(log.exp_m1());
        let scatter = table.scatter.map_or_else(
            || "Too few pairs tell what one measurement scatters by.".to_string(),
            |scatter| format!("One measurement scatters by {}.", size(scatter)),
        );
        let floor = table.floor.map_or_else(
            || "No pair was repeated: `--repeat 2` measures the floor.".to_string(),
            |floor| format!("Repeats of a pair differ by {}: the floor.", size(floor)),
        );
        let told = "A slow sender is a row, a slow receiver a column, a slow way a block.";
        vec![Block::PairMap(map), Block::Note(format!("{told} {scatter} {floor}"))]
    }

    fn facts(&self) -> Option<Section> {
        let slow = self.found.slow();
        if slow.is_empty() {
            return None;
        }
        let row = |odd: &crate::found::OddFact| {
            vec![
                self.found.hosts[odd.host].clone(),
                odd.cause.to_string(),
                odd.title.clone(),
                odd.value.clone(),
                odd.usual.clone(),
            ]
        };
        let rows: Vec<Vec<String>> = self.found.odd.iter().map(row).collect();
        let blocks = if rows.is_empty() {
            vec![Block::Text("Slow hosts have no recorded fact that most others lack.".into())]
        } else {
            let said = "Facts of slow hosts that most hosts do not share. One of them may be the cause.";
            let columns = ["host", "kind", "fact", "here", "most hosts"];
            let mut blocks = vec![Block::Text(said.into())];
            blocks.extend(table_blocks("odd-facts", &columns, rows));
            blocks
        };
        Some(section("facts", "In what slow hosts differ", blocks))
    }

    /// Steps without a run, by what they said.
    fn missing(&self) -> Option<Section> {
        let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for step in self.tables.steps.iter().filter(|step| step.state == StepState::Failed) {
            by_reason.entry(&step.reason).or_default().push(&step.host);
        }
        if by_reason.is_empty() {
            return None;
        }
        let mut rows: Vec<(usize, Vec<String>)> = by_reason
            .into_iter()
            .map(|(reason, mut hosts)| {
                let number = hosts.len();
                hosts.sort_unstable();
                hosts.dedup();
                let some = hosts.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
                let more = hosts.len().saturating_sub(NAMED);
                let which = if more > 0 { format!("{some} and {more} more") } else { some };
                (number, vec![number.to_string(), which, reason.into()])
            })
            .collect();
        rows.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
        rows.truncate(REASONS);
        let rows = rows.into_iter().map(|(_, row)| row).collect();
        let said = "What was measured is kept. `syscost fleet submit` again measures what is missing.";
        let mut blocks = vec![Block::Text(said.into())];
        blocks.extend(table_blocks("failed", &["steps", "hosts", "what they said"], rows));
        Some(section("failed", "Steps that failed", blocks))
    }

    /// Runs of different programs are no fleet.
    fn versions(&self) -> Option<Notice> {
        let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for step in self.tables.steps.iter().filter(|step| step.state == StepState::Done) {
            versions.entry(&step.syscost).or_default().insert(&step.host);
        }
        (versions.len() > 1).then(|| {
            let of = |(version, hosts): (&&str, &BTreeSet<&str>)| {
                format!("{version} on {}", count(hosts.len(), "host"))
            };
            Notice {
                title: "Hosts measured with different builds of syscost".into(),
                text: format!(
                    "{}. A host may be slow because of its build.",
                    versions.iter().map(of).collect::<Vec<_>>().join("; ")
                ),
                remedy: "install one build on every host and submit a new fleet".into(),
                cases: Vec::new(),
            }
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
            over all hosts, roles and figures. See docs/fleet.md.";
        let blocks = vec![Block::Text(method.into()), Block::Text(strata)];
        Some(Section { folded: Some("Method"), ..section("method", "Method", blocks) })
    }
}

const COLUMNS: [&str; 6] = ["host", "role", "figure", "cost / fleet", "n", "verdict"];

/// A table; behind its first rows the others are folded away.
fn table_blocks(id: &str, columns: &[&str], rows: Vec<Vec<String>>) -> Vec<Block> {
    let mut rows: Vec<Vec<Entry>> =
        rows.into_iter().map(|row| row.into_iter().map(Entry::Text).collect()).collect();
    let rest = rows.split_off(rows.len().min(SHOWN));
    let mut blocks = vec![Block::Table(Table::new(id.to_string(), columns, rows))];
    if !rest.is_empty() {
        let title = format!("{} more", rest.len());
        let table = Table::new(format!("{id}-more"), columns, rest);
        blocks.push(Block::Folded { title, blocks: vec![Block::Table(table)] });
    }
    blocks
}

fn short_metric(metric: &str) -> String {
    metric.replace('_', " ")
}

fn interval(answer: &HostAnswer) -> String {
    let decision = &answer.decision;
    match decision.level {
        0.0 => format!("{:.2}x", decision.ratio),
        _ => format!("{:.2}x [{:.2}, {:.2}]", decision.ratio, decision.low, decision.high),
    }
}

fn verdict(answer: &HostAnswer) -> &'static str {
    match answer.decision.verdict {
        Verdict::More => "slow",
        Verdict::Less => "fast",
        Verdict::Same => "same",
        Verdict::Undecided => "undecided",
    }
}

fn section(id: &str, title: &str, blocks: Vec<Block>) -> Section {
    Section { id: id.into(), title: title.into(), folded: None, blocks }
}
