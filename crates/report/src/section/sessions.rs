//! The same experiment on other machines: each session's answer beside the run's, and in none of its figures.

use crate::build;
use crate::material::state;
use crate::{Block, Notice, Report, Section};
use syscost_analyze::whole::Analysis;
use syscost_experiment::run::Run;
use syscost_host::identity;

/// On a terminal; the page has all.
const SHOWN: usize = 3;

/// What a session answers by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionAnswer {
    pub name: String,
    /// Machine, date, cases and time.
    pub scope: String,
    pub state: &'static str,
    /// What tells its machine from the run's.
    pub differs: Option<String>,
    pub sentences: Vec<String>,
}

impl SessionAnswer {
    /// Of a session of this run.
    pub fn of(name: &str, session: &Run, run: &Run) -> SessionAnswer {
        let report = build::report(session, &Analysis::of(session));
        let fact = |run: &Run, id: &str| run.record.host.iter().find(|fact| fact.id == id)?.value.clone();
        SessionAnswer {
            name: name.into(),
            scope: report.subtitle,
            state: state(session.record.state),
            differs: identity::difference(|id| fact(run, id), |id| fact(session, id)),
            sentences: report.verdict.into_iter().map(|statement| statement.text).collect(),
        }
    }

    fn first(&self) -> &str {
        self.sentences.first().map_or("no answer: too few samples", String::as_str)
    }

    fn line(&self) -> String {
        format!("{} ({}): {}", self.name, self.scope, self.first())
    }

    fn blocks(&self) -> Vec<Block> {
        let mut blocks = vec![Block::Heading(format!("{}: {}", self.name, self.scope))];
        let apart = match &self.differs {
            Some(what) => format!("Another machine, or a changed one: {what}. State: {}.", self.state),
            None => format!("The same kind of machine. State: {}.", self.state),
        };
        blocks.push(Block::Text(apart));
        match self.sentences.is_empty() {
            true => blocks.push(Block::Text(format!("It has {}.", self.first()))),
            false => blocks.extend(self.sentences.iter().cloned().map(Block::Text)),
        }
        blocks.push(Block::Command(format!("syscost report DIR/{}", self.name)));
        blocks
    }
}

/// Shows sessions in the report of their run; what could not be read, with the reason.
pub fn show(report: &mut Report, sessions: &[SessionAnswer], unread: &[(String, String)]) {
    if sessions.is_empty() && unread.is_empty() {
        return;
    }
    let mut blocks = vec![Block::Text(
        "The same experiment, measured apart. Its figures are in no figure, table or sentence of this run."
            .into(),
    )];
    blocks.extend(unread.iter().map(|unread| Block::Notice(notice(unread))));
    blocks.extend(sessions.iter().flat_map(SessionAnswer::blocks));
    let section = Section { id: "sessions".into(), title: "Other sessions".into(), folded: None, blocks };
    let at = report.sections.iter().position(|s| s.folded.is_some()).unwrap_or(report.sections.len());
    report.sections.insert(at, section);
    let broken = unread.iter().map(|unread| notice(unread).title);
    let mut lines: Vec<String> = sessions.iter().map(SessionAnswer::line).chain(broken).collect();
    let more = lines.len().saturating_sub(SHOWN);
    lines.truncate(SHOWN);
    if more > 0 {
        lines.push(format!("… {} in the report", super::plural(more, "more session")));
    }
    report.ending.sessions = lines;
}

fn notice((name, reason): &(String, String)) -> Notice {
    Notice {
        title: format!("{name} could not be read"),
        text: format!("{reason}. The report has no answer of that session."),
        remedy: format!("syscost report DIR/{name}"),
        cases: Vec::new(),
    }
}
