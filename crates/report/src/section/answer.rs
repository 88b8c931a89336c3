//! Whether to believe the run, and what to do: a card for each situation of the reader.

use crate::context::SIZE;
use crate::material::Material;
use crate::rivals::{COST, RivalField, study};
use crate::text::recommendation::{AdviceText, RecommendationText, recommendation};
use crate::text::words::Words;
use crate::text::{self, costs, trust};
use crate::{AnswerCard, Statement, TrustBar};
use syscost_analyze::CellRef;
use syscost_analyze::compare::study::ALONG;
use syscost_analyze::finding::Says;
use syscost_analyze::operations::accuracy::Fits;
use syscost_analyze::trust::TrustLevel;
use syscost_core::axis::Value;
use syscost_experiment::plan::Case;
use syscost_experiment::run::State;
use syscost_measure::probe::Probe;
use syscost_measure::probe::tcp_latency::axes::RATE;
use syscost_measure::probe::transfer::Transfer;

/// Sentences of a card in sight below its headlines, and words that all of it has.
const SHOWN: usize = 3;
const WORDS: usize = 56;

pub fn trust(m: &Material) -> TrustBar {
    let found = &m.analysis.trust;
    TrustBar {
        colour: match found.level {
            TrustLevel::Good => "green",
            TrustLevel::Fair => "amber",
            TrustLevel::Poor => "red",
        },
        headline: trust::headline(found),
        facts: trust::facts(found),
    }
}

/// What to use, or what was found where nothing competes.
pub fn cards(m: &Material) -> Vec<AnswerCard> {
    let latency = &m.analysis.latency;
    let by = |found, along| recommendation(m.run, found, along);
    let RecommendationText { advice, notes } = by(&m.analysis.recommendation, ALONG.id);
    let told = [advice, by(&latency.by_rate, RATE.id).advice, by(&latency.by_size, ALONG.id).advice];
    let situations = told.iter().flat_map(|advice| advice.chunk_by(|a, b| a.situation == b.situation));
    let warned = [unfinished(m), empty(m)].into_iter().flatten();
    let mut cards: Vec<AnswerCard> =
        warned.map(|said| AnswerCard { headlines: vec![said], ..AnswerCard::default() }).collect();
    cards.extend(one_question(m));
    let own = text::own_operations::opening(m);
    cards.extend((!own.is_empty()).then(|| AnswerCard { headlines: own, ..AnswerCard::default() }));
    cards.extend(layers(m));
    cards.extend(situations.map(card));
    let limits = text::latency::statements(latency, &Words::of(m.run));
    cards.extend(latency_changes(m, limits));
    cards.extend(placement(m));
    cards.extend(beside_tcp(m));
    // What holds at the same place is said of the first.
    for i in (1..cards.len()).rev() {
        if cards[..i].iter().any(|card| card.note == cards[i].note) {
            cards[i].note.clear();
        }
    }
    // Beside advice the costs of rulers are details.
    let (operations, confidence) = (&m.analysis.operations, m.run.record.spec.confidence);
    let rows = if m.compared() { &[][..] } else { operations };
    cards.extend(costs::groups(rows).into_iter().map(|costs::CostGroup { title, figures, said }| {
        AnswerCard { title: title.into(), shown: vec![said], figures, ..AnswerCard::default() }
    }));
    let mut dear = text::dear(m).into_iter();
    let headlines: Vec<Statement> = dear.next().into_iter().collect();
    let found: Vec<Statement> = dear.chain(costs::predictions(&Fits::of(rows, confidence))).collect();
    if !found.is_empty() || !headlines.is_empty() {
        cards.push(folded(AnswerCard { headlines, ..AnswerCard::default() }, found));
    }
    if !notes.is_empty() {
        let title = "What this run cannot say".into();
        cards.push(AnswerCard { title, shown: notes, ..AnswerCard::default() });
    }
    cards
}

/// Of two ways at one place: how they compare, whatever a reader starts from.
fn one_question(m: &Material) -> Option<AnswerCard> {
    let fields = RivalField::all(m);
    let [field] = &fields[..] else { return None };
    let scope = *field.scopes().first()?;
    let (&[row], 2) = (&field.rows(scope)[..], field.ways.len()) else { return None };
    let words = Words::of(m.run);
    let other = 1 - field.control;
    let at = format!("at {}", words.value(SIZE.id, &Value::Int(row.size)));
    let cells = |metric| {
        let cases = [other, field.control].into_iter().flat_map(|way| field.cases_of(way, row));
        cases.map(|case| CellRef { case, metric }).collect()
    };
    let told = |id: &'static str| {
        let study = study(m, id)?;
        let (ratio, verdict) = field.ratio(study, other, row)?;
        let names = (field.ways[other].name.as_str(), field.ways[field.control].name.as_str());
        let text = text::costs::compared(&study.comparisons.metric, names, &ratio, verdict, &at);
        Some(Statement { text, cells: cells(study.comparisons.metric.id) })
    };
    let shown = told("throughput").into_iter().collect();
    Some(AnswerCard { headlines: vec![told(COST)?], shown, ..AnswerCard::default() })
}

/// Where every case has a partner with another value, that is what the run is about.
pub fn asks_of_layers(m: &Material) -> bool {
    let shown = m.analysis.answers.iter().flat_map(|answer| &answer.shown);
    let places: usize =
        shown.map(|shown| if let Says::Layers(cost) = &shown.says { cost.places.len() } else { 0 }).sum();
    let is_transfer = |case: &&Case| case.twin_of.is_none() && case.probe == Transfer.about().id;
    let cases = m.run.record.plan.cases.iter().filter(is_transfer);
    2 * places >= cases.count()
}

/// What each layer of a network and each setting costs, where the run asked for that.
fn layers(m: &Material) -> Option<AnswerCard> {
    let answer = m.analysis.answers.iter().find(|answer| answer.question == text::LAYERS)?;
    let said = text::answer(answer, &Words::of(m.run));
    let cells = answer.shown.iter().flat_map(|shown| shown.cells.clone()).collect();
    let headline = Statement { text: said.headline, cells };
    let title = "What each layer and setting costs".into();
    let card = AnswerCard { title, headlines: vec![headline], ..AnswerCard::default() };
    (asks_of_layers(m) && !said.statements.is_empty()).then(|| folded(card, said.statements))
}

/// How latency changes along what was varied, and which rates each way keeps up with.
fn latency_changes(m: &Material, limits: Vec<Statement>) -> Option<AnswerCard> {
    let mut told = text::latency_along::opening(m).into_iter().chain(limits);
    let headlines = vec![told.next()?];
    let title = "How latency changes".into();
    Some(folded(AnswerCard { title, headlines, ..AnswerCard::default() }, told.collect()))
}

/// What the plainest way would cost elsewhere than on the two CPUs of the study.
fn placement(m: &Material) -> Option<AnswerCard> {
    let headline = text::placement::statement(m)?;
    Some(AnswerCard {
        title: "Where both ends run".into(),
        headlines: vec![headline],
        ..AnswerCard::default()
    })
}

/// What a TCP message costs in the place of a datagram.
fn beside_tcp(m: &Material) -> Option<AnswerCard> {
    let mut said = text::beside_tcp::statements(m).into_iter();
    let headlines = vec![said.next()?];
    let title = "A datagram beside a TCP message".into();
    Some(AnswerCard { title, headlines, shown: said.collect(), ..AnswerCard::default() })
}

/// Every sentence of the answer, in the order of reading.
pub fn statements(m: &Material) -> Vec<Statement> {
    let parts = |card: AnswerCard| card.headlines.into_iter().chain(card.shown).chain(card.folded);
    cards(m).into_iter().flat_map(parts).collect()
}

fn empty(m: &Material) -> Option<Statement> {
    let text = "No usable sample was recorded, so there is nothing to say about this run.";
    m.analysis.cells.is_empty().then(|| Statement::bare(text))
}

/// The first advice of a situation with its ranges; of the other metrics and thread counts the headlines.
fn card(of: &[AdviceText]) -> AnswerCard {
    let mut headlines = of.iter().map(|advice| advice.headline.clone());
    let batched = of.first().and_then(|advice| advice.batched.clone());
    let card = AnswerCard {
        headlines: batched.into_iter().chain(headlines.next()).collect(),
        note: of.first().map(|advice| advice.scope.clone()).unwrap_or_default(),
        ..AnswerCard::default()
    };
    let details = of.iter().flat_map(|advice| advice.details.clone());
    folded(card, headlines.chain(details).collect())
}

/// So much in sight as is read at once.
fn folded(card: AnswerCard, all: Vec<Statement>) -> AnswerCard {
    let length = |statement: &Statement| statement.text.split_whitespace().count();
    let mut words: usize = card.headlines.iter().map(length).sum();
    let fits = |statement: &&Statement| {
        words += length(statement);
        words <= WORDS
    };
    // A long sentence is better than none.
    let least = usize::from(card.headlines.is_empty());
    let shown = all.iter().take(SHOWN).take_while(fits).count().max(least.min(all.len()));
    AnswerCard { shown: all[..shown].to_vec(), folded: all[shown..].to_vec(), ..card }
}

/// A partial run says so before anything else.
fn unfinished(m: &Material) -> Option<Statement> {
    let text = match m.run.record.state {
        State::Complete | State::TimeLimit | State::NothingMeasured => return None,
        State::Running => "This run has not ended. Continue it with `syscost run --resume DIR`.",
        State::Interrupted => "This run was interrupted. Continue it with `syscost run --resume DIR`.",
    };
    Some(Statement::bare(text))
}
