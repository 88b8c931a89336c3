//! Every kind of sentence over runs whose truth is known: how often it is false, and how often silent.
//!
//! Noise drifts as on a real machine ([`syscost_analyze::synthetic`]). Where nothing is to be said, a kind may speak in
//! at most 5 % of runs, which is the error that runs are asked for; a kind that only counts may never. Where its truth is
//! far beyond what the noise hides, it may be silent or wrong in at most 10 %. What [`Says`], [`Surprise`] and [`Limit`]
//! can be is matched without a rest, and so is the walk of each kind: a kind without a walk does not compile.

mod consistent;
mod worlds;

use std::collections::BTreeMap;
use syscost_analyze::answer::AnswerVerdict;
use syscost_analyze::compare::winners::Sure;
use syscost_analyze::finding::expensive::Expense;
use syscost_analyze::finding::not_fastest::PriceTrend;
use syscost_analyze::finding::overtaking::Overtakes;
use syscost_analyze::finding::scatter_gather::Gathering;
use syscost_analyze::finding::unexpected::{Surprise, SurpriseSeen, SurprisingPlace, Unforeseen};
use syscost_analyze::finding::zero_copy::ZeroCopyChange;
use syscost_analyze::finding::{self, Says};
use syscost_analyze::limits::limiter::Limit;
use syscost_analyze::trust::TrustFact;
use syscost_analyze::whole::Analysis;
use syscost_core::decide::Verdict;
use syscost_experiment::plan::Case;
use syscost_experiment::run::Run;
use syscost_report::text::words::Words;
use syscost_report::text::{self, limits};

/// Runs in which nothing is to be said, and runs with a truth.
const NULLS: u64 = 150;
const PLANTED: u64 = 20;

macro_rules! kinds {
    ($($kind:ident),* $(,)?) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        enum SentenceKind { $($kind),* }
        const KINDS: &[SentenceKind] = &[$(SentenceKind::$kind),*];
    };
}

kinds! {
    ScatterGather, ZeroCopy, NotFastest, CacheLevels, Threads, Along, Overtaking, LargerIsWorse,
    LargerIsCheaper, TwoLevels, OffTheModel, Limits, Recommended, Twins,
    Dear, CheaperWay, Layers, Latency, MoreThreadsAreFaster, Placement, BesideTcp,
}

/// What a kind is walked over.
struct Walk {
    /// Its truth, and whether it was told as it is.
    planted: fn(u64) -> Run,
    right: fn(&WalkedRun) -> bool,
    /// Where it must not speak.
    null: fn(u64) -> Run,
    /// The share of runs without a truth in which it may speak all the same; 0 for what only counts.
    error: f64,
}

/// What asks about a limit of 5 %.
fn inference(planted: fn(u64) -> Run, right: fn(&WalkedRun) -> bool) -> Walk {
    Walk { planted, right, null: worlds::nothing, error: 0.05 }
}

fn count(planted: fn(u64) -> Run, right: fn(&WalkedRun) -> bool) -> Walk {
    Walk { error: 0.0, ..inference(planted, right) }
}

fn walk(kind: SentenceKind) -> Walk {
    match kind {
        SentenceKind::ScatterGather => count(worlds::packs, |seen| {
            seen.any(|says| match says {
                Says::ScatterGather(Gathering::Copies(copies)) => {
                    copies.ours == "sendmsg" && (copies.ours_in_all, copies.theirs_in_all) == (2.0, 3.0)
                }
                _ => false,
            })
        }),
        SentenceKind::ZeroCopy => count(worlds::lends, |seen| {
            seen.any(|says| match says {
                Says::ZeroCopy(ZeroCopyChange::Copies(copies)) => {
                    (copies.ours_in_all, copies.theirs_in_all) == (1.0, 2.0)
                }
                _ => false,
            })
        }),
        SentenceKind::NotFastest => inference(worlds::zero_copy_pays, |seen| {
            seen.any(|says| match says {
                Says::NotFastest(all) => all.prices.iter().all(|price| {
                    let fixed = price.fixed.is_some_and(|e| (6000.0..10_000.0).contains(&e.value));
                    fixed && price.trend == PriceTrend::Better
                }),
                _ => false,
            })
        }),
        SentenceKind::CacheLevels => inference(worlds::misses, |seen| {
            seen.any(|says| match says {
                Says::CacheLevels(level) => {
                    level.largest.as_ref().is_some_and(|fall| fall.fewer == "sendmsg")
                }
                _ => false,
            })
        }),
        SentenceKind::Threads => inference(worlds::crowded, |seen| {
            seen.any(|says| match says {
                Says::Threads(scaling) => {
                    scaling.stops.iter().all(|stop| stop.threads == 1 && stop.slower > 0)
                }
                _ => false,
            })
        }),
        SentenceKind::Layers => Walk {
            null: worlds::layers_alike,
            ..inference(worlds::layered, |seen| {
                seen.any(|says| match says {
                    Says::Layers(cost) => {
                        cost.layer.as_text() == Some("bridge")
                            && cost.places.iter().all(|p| p.verdict == Verdict::More)
                    }
                    _ => false,
                })
            })
        },
        SentenceKind::Placement => Walk {
            null: worlds::placed_alike,
            ..inference(worlds::placed, |seen| {
                seen.any(|says| match says {
                    Says::Placement(cost) => {
                        cost.ends == "one_cpu"
                            && cost.metric == "total_cpu_ns_per_byte"
                            && cost.verdict == Verdict::Less
                    }
                    _ => false,
                })
            })
        },
        SentenceKind::BesideTcp => Walk {
            null: |seed| worlds::beside_tcp(seed, 1.0),
            ..inference(
                |seed| worlds::beside_tcp(seed, 1.5),
                |seen| {
                    seen.any(|says| match says {
                        Says::BesideTcp(cost) => {
                            cost.metric == "total_cpu_ns_per_byte" && cost.verdict == Verdict::Less
                        }
                        _ => false,
                    })
                },
            )
        },
        SentenceKind::Along => inference(worlds::connected, |seen| {
            seen.any(|says| match says {
                Says::Along(all) => all.changes.first().is_some_and(|change| {
                    let dearer = change.more.as_ref().map(|more| more.largest.ratio.value);
                    change.less.is_none() && dearer.is_some_and(|ratio| (1.2..1.5).contains(&ratio))
                }),
                _ => false,
            })
        }),
        SentenceKind::Latency => Walk {
            null: |seed| worlds::round_trips(seed, |_| 1.0),
            ..inference(
                |seed| worlds::round_trips(seed, |p| if p.int_at("threads") == Some(4) { 1.5 } else { 1.0 }),
                |seen| {
                    seen.any(|says| match says {
                        Says::Latency(change) => {
                            let higher = change.higher.as_ref();
                            change.axis == "threads" && higher.is_some_and(|h| h.places == change.places)
                        }
                        _ => false,
                    })
                },
            )
        },
        SentenceKind::MoreThreadsAreFaster => Walk {
            null: |seed| worlds::round_trips(seed, |_| 1.0),
            ..inference(
                |seed| worlds::round_trips(seed, |p| if p.int_at("threads") == Some(4) { 0.6 } else { 1.0 }),
                |seen| seen.step(Surprise::MoreThreadsAreFaster) == Some((1, 4)),
            )
        },
        SentenceKind::Overtaking => inference(worlds::crosses, |seen| {
            seen.any(|says| match says {
                Says::Overtaking(one) => {
                    one.overtakes == Overtakes::From { low: 64, high: 4096 }
                        || one.overtakes == Overtakes::From { low: 64, high: 65536 }
                }
                _ => false,
            })
        }),
        SentenceKind::LargerIsWorse => {
            inference(worlds::cliff, |seen| seen.step(Surprise::LargerIsWorse) == Some((64, 4096)))
        }
        SentenceKind::LargerIsCheaper => {
            inference(worlds::cliff, |seen| seen.step(Surprise::LargerIsCheaper) == Some((4096, 65536)))
        }
        SentenceKind::TwoLevels => inference(worlds::two_levels, |seen| {
            seen.surprises(Surprise::TwoLevels).iter().any(|place| place.case == 3)
        }),
        SentenceKind::OffTheModel => Walk {
            null: worlds::on_the_model,
            ..inference(worlds::off_the_model, |seen| {
                let odd = seen.surprises(Surprise::OffTheModel);
                odd.len() == 1 && odd[0].place.int_at("message_bytes") == Some(4096)
            })
        },
        SentenceKind::Limits => Walk {
            null: worlds::nearly_busy_sender,
            ..inference(worlds::busy_sender, |seen| {
                let busy = |limit: Limit| seen.analysis.limiters.iter().all(|one| one.limit == limit);
                busy(Limit::SenderCpu)
            })
        },
        SentenceKind::Recommended => inference(worlds::crosses, |seen| {
            seen.analysis.recommendation.situations.iter().any(|of| {
                of.advice.iter().any(|advice| {
                    let best = |size: u64| {
                        let range = advice.ranges.iter().find(|r| r.from <= size && size <= r.to)?;
                        (range.sure == Sure::Best)
                            .then(|| range.lead.text_at("mechanism").unwrap_or_default())
                    };
                    best(64) == Some("pack_send") && best(65536) == Some("sendmsg")
                })
            })
        }),
        SentenceKind::Dear => Walk {
            null: |seed| worlds::operation(seed, 1.5),
            ..inference(
                |seed| worlds::operation(seed, 3.0),
                |seen| {
                    seen.any(|says| match says {
                        Says::Expensive(Expense::Dear { dear, of, .. }) => dear == of,
                        _ => false,
                    })
                },
            )
        },
        SentenceKind::CheaperWay => Walk {
            null: |seed| worlds::ways_of_making(seed, |_| 1000.0),
            ..inference(
                |seed| worlds::ways_of_making(seed, |how| if how == "vfork" { 1000.0 } else { 1200.0 }),
                |seen| {
                    seen.any(|says| match says {
                        Says::Expensive(Expense::OtherWay(way)) => {
                            way.cheaper == 1 && (1.1..1.3).contains(&way.ratio.value)
                        }
                        _ => false,
                    })
                },
            )
        },
        // Identical cases differ in no run, so that there is nothing to be silent about.
        SentenceKind::Twins => inference(worlds::nothing, |_| true),
    }
}

/// A run and what is said of it.
struct WalkedRun {
    run: Run,
    analysis: Analysis,
}

impl WalkedRun {
    fn of(run: Run) -> WalkedRun {
        WalkedRun { analysis: Analysis::of(&run), run }
    }

    fn any(&self, holds: impl Fn(&Says) -> bool) -> bool {
        self.analysis.answers.iter().flat_map(|answer| &answer.shown).any(|shown| holds(&shown.says))
    }

    fn surprises(&self, wanted: Surprise) -> Vec<&SurprisingPlace> {
        let shown = self.analysis.answers.iter().flat_map(|answer| &answer.shown);
        let places = shown.filter_map(|shown| match &shown.says {
            Says::Unexpected(Unforeseen::Phenomenon { kind, places, .. }) if *kind == wanted => Some(places),
            _ => None,
        });
        places.flatten().collect()
    }

    /// The ends of the strongest.
    fn step(&self, wanted: Surprise) -> Option<(u64, u64)> {
        match self.surprises(wanted).first()?.seen {
            SurpriseSeen::Step { from, to, .. } => Some((from, to)),
            SurpriseSeen::Levels { .. } | SurpriseSeen::Model { .. } => None,
        }
    }

    /// Kinds that say that something is so.
    fn asserted(&self) -> Vec<SentenceKind> {
        let shown = self.analysis.answers.iter().flat_map(|answer| &answer.shown);
        let mut asserted: Vec<SentenceKind> = shown.flat_map(|shown| asserts(&shown.says)).collect();
        let named = |limit: Limit| match limit {
            Limit::SenderCpu | Limit::ReceiverCpu | Limit::BothCpus | Limit::Link => true,
            Limit::NoSide | Limit::Undecided => false,
        };
        let advice = self.analysis.recommendation.situations.iter().flat_map(|of| &of.advice);
        let best = |sure: Sure| match sure {
            Sure::Best => true,
            Sure::Same | Sure::Undecided | Sure::Alone => false,
        };
        let apart = |fact: &TrustFact| match fact {
            TrustFact::Twins { low, high, .. } => *low > 1.0 || *high < 1.0,
            _ => false,
        };
        // Each case has an error of its own: the first stands for them.
        let limited = self.analysis.limiters.first().is_some_and(|l| named(l.limit));
        asserted.extend(limited.then_some(SentenceKind::Limits));
        let claimed = advice.flat_map(|advice| &advice.ranges).any(|range| best(range.sure));
        asserted.extend(claimed.then_some(SentenceKind::Recommended));
        let twins = self.analysis.trust.reasons.iter().any(|reason| apart(&reason.fact));
        asserted.extend(twins.then_some(SentenceKind::Twins));
        asserted
    }

    /// Every answer is a sentence, or says what it lacks.
    fn is_said(&self) {
        let words = Words::of(&self.run);
        for answer in &self.analysis.answers {
            let told = text::answer(answer, &words);
            assert_eq!(told.headline.is_empty(), answer.verdict == AnswerVerdict::NotMeasured, "{told:?}");
            let texts = told.statements.iter().map(|s| &s.text).chain(&told.caveats).chain([&told.headline]);
            for text in texts {
                assert!(!["NaN", "inf ", "infx", "-0 %"].iter().any(|odd| text.contains(odd)), "{text}");
            }
        }
        let moves = |case: &Case| ["transfer", "datagram_transfer"].contains(&case.probe.as_str());
        let moved = self.run.record.plan.cases.iter().any(moves);
        assert_eq!(limits::statement(&self.analysis.limiters).is_some(), moved);
    }
}

/// What is said to be so. That nothing was found asserts nothing.
fn asserts(says: &Says) -> Vec<SentenceKind> {
    let when = |kind: SentenceKind, so: bool| if so { vec![kind] } else { Vec::new() };
    match says {
        Says::ScatterGather(_) => vec![SentenceKind::ScatterGather],
        Says::ZeroCopy(_) => vec![SentenceKind::ZeroCopy],
        Says::Overtaking(one) => {
            when(SentenceKind::Overtaking, !one.better.is_empty() || !one.worse.is_empty())
        }
        Says::NotFastest(all) => {
            let told = |price: &finding::not_fastest::ZeroCopyPrice| {
                price.fixed.is_some() || price.trend != PriceTrend::Open
            };
            when(SentenceKind::NotFastest, all.prices.iter().any(told))
        }
        Says::CacheLevels(level) => when(SentenceKind::CacheLevels, level.differ > 0),
        // With twice the threads twice as much is moved in all runs that have two.
        Says::Threads(scaling) => when(SentenceKind::Threads, scaling.loss.is_some()),
        Says::Along(all) => {
            // Each metric has an error of its own: the first stands for them.
            let first = all.changes.first();
            let told = first.is_some_and(|change| change.more.is_some() || change.less.is_some());
            when(SentenceKind::Along, told)
        }
        Says::Latency(change) => {
            when(SentenceKind::Latency, change.higher.is_some() || change.lower.is_some())
        }
        Says::Layers(cost) => {
            let told = |verdict| matches!(verdict, Verdict::More | Verdict::Less);
            when(SentenceKind::Layers, cost.places.iter().any(|place| told(place.verdict)))
        }
        // Its own tests plant a difference and find it.
        Says::OwnOperations(_) => Vec::new(),
        Says::Placement(cost) => {
            when(SentenceKind::Placement, matches!(cost.verdict, Verdict::More | Verdict::Less))
        }
        Says::Expensive(Expense::Dear { dear, .. }) => when(SentenceKind::Dear, *dear > 0),
        Says::Expensive(Expense::OtherWay(way)) => when(SentenceKind::CheaperWay, way.cheaper > 0),
        Says::BesideTcp(cost) => {
            when(SentenceKind::BesideTcp, matches!(cost.verdict, Verdict::More | Verdict::Less))
        }
        // Its own tests plant a size and find it.
        Says::HeldSize(_) => Vec::new(),
        // Recorded facts.
        Says::Expensive(Expense::ClockByKernel { .. } | Expense::Governor { .. }) => Vec::new(),
        Says::Unexpected(Unforeseen::NotFound { .. }) => Vec::new(),
        Says::Unexpected(Unforeseen::Phenomenon { kind, .. }) => {
            let kind = match kind {
                Surprise::LargerIsWorse => SentenceKind::LargerIsWorse,
                Surprise::LargerIsCheaper => SentenceKind::LargerIsCheaper,
                Surprise::MoreThreadsAreFaster => SentenceKind::MoreThreadsAreFaster,
                Surprise::TwoLevels => SentenceKind::TwoLevels,
                Surprise::OffTheModel => SentenceKind::OffTheModel,
            };
            vec![kind]
        }
    }
}

#[test]
fn no_kind_of_sentence_is_false_beyond_its_error_or_silent_where_its_truth_is_plain() {
    let nothing: Vec<Vec<SentenceKind>> = (0..NULLS)
        .map(|seed| {
            let seen = WalkedRun::of(worlds::nothing(seed));
            seen.is_said();
            seen.asserted()
        })
        .collect();
    let mut found: BTreeMap<SentenceKind, (usize, u64, usize)> = BTreeMap::new();
    for kind in KINDS {
        let walk = walk(*kind);
        let shared = std::ptr::fn_addr_eq(walk.null, worlds::nothing as fn(u64) -> Run);
        let (null, nulls) = match shared {
            true => (nothing.clone(), NULLS),
            false => {
                ((0..2 * NULLS).map(|seed| WalkedRun::of((walk.null)(seed)).asserted()).collect(), 2 * NULLS)
            }
        };
        let falsely = null.iter().filter(|asserted| asserted.contains(kind)).count();
        let right = (0..PLANTED).filter(|seed| {
            let seen = WalkedRun::of((walk.planted)(100 + seed));
            seen.is_said();
            (walk.right)(&seen)
        });
        found.insert(*kind, (falsely, nulls, PLANTED as usize - right.count()));
    }
    let bad: Vec<String> = found
        .iter()
        .filter(|(kind, (falsely, nulls, silent))| {
            let walk = walk(**kind);
            let silent_allowed = if walk.error == 0.0 { 0 } else { PLANTED as usize / 10 };
            // Two standard errors of a count: the worlds are drawn, and an error of exactly what is allowed is none.
            let wanted = walk.error * *nulls as f64;
            let chance = 2.0 * (wanted * (1.0 - walk.error)).sqrt();
            *falsely as f64 > wanted + chance || *silent > silent_allowed
        })
        .map(|(kind, (falsely, nulls, silent))| {
            format!("{kind:?}: false in {falsely} of {nulls}, silent or wrong in {silent} of {PLANTED}")
        })
        .collect();
    assert!(bad.is_empty(), "{bad:#?}\nall: {found:?}");
}
