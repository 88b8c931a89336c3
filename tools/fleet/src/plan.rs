//! A fleet as it was asked for (`fleet.toml`), and the steps that follow from it, always the same.

use crate::hosts;
use crate::matchings::{PairChoice, matchings};
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Pairs without a word on what they run: one size that a network's speed shows at, and its CPU time.
pub const PAIR_RUN: &str = "transfer --mechanism send --size 64K --threads 1 --time-limit 5s";
/// A million runs is a slip of the pen.
const MOST_STEPS: usize = 1_000_000;
/// What a step takes beyond its time limit: it starts, looks at both ends and reports.
const AROUND_SECONDS: u64 = 20;
/// A run without a time limit of its own.
const RUN_SECONDS: u64 = 120;

/// `fleet.toml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FleetPlan {
    /// Names the fleet's jobs and its group of runs.
    pub id: String,
    /// As it was written: `n[1-500]`.
    pub hosts: String,
    pub engine: String,
    /// What each host runs by itself: arguments of `syscost run`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub each: Option<String>,
    /// `all`, `matchings:8`, `to=HOST`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pairs: Option<String>,
    /// What each pair runs: arguments of `syscost run`.
    pub pair_run: String,
    /// How often every step is measured.
    pub repeats: usize,
    /// Draws who meets whom.
    pub seed: u64,
    /// The program on every host.
    pub binary: String,
    /// What is alike of hosts, where somebody said so: switch, rack, zone.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub strata: BTreeMap<String, String>,
}

/// One run of one host, or of two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetStep {
    pub number: usize,
    /// Steps of one stage share no host: they may run at once.
    pub stage: usize,
    pub repeat: usize,
    /// Where the step runs: alone, or as the sender.
    pub host: String,
    pub receiver: Option<String>,
}

impl FleetStep {
    /// The name of its directory.
    pub fn name(&self) -> String {
        match &self.receiver {
            Some(receiver) => format!("{:06}-{}-{receiver}", self.number, self.host),
            None => format!("{:06}-{}", self.number, self.host),
        }
    }
}

impl FleetPlan {
    pub fn read(text: &str) -> Result<FleetPlan> {
        let plan: FleetPlan = toml::from_str(text).context("it is no plan of a fleet")?;
        plan.check()?;
        Ok(plan)
    }

    pub fn write(&self) -> Result<String> {
        let said =
            "# Written by `syscost fleet plan`. Its steps follow from it: plan again to change them.\n";
        Ok(said.to_string() + &toml::to_string(self)?)
    }

    /// What is read may have been changed by hand.
    pub fn check(&self) -> Result<()> {
        if !hosts::is_name(&self.id) {
            bail!("{:?} is no id of a fleet", self.id);
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
        if !self.binary.chars().all(plain) || self.binary.is_empty() || self.binary.starts_with('-') {
            bail!("{:?} is no path of a program: letters, digits and /._-+", self.binary);
        }
        if self.each.is_none() && self.pairs.is_none() {
            bail!("nothing is to be measured: name --each, --pairs or both");
        }
        if self.repeats == 0 {
            bail!("repeats = 0 measures nothing");
        }
        for own in [
            "--path",
            "--out",
            "--label",
            "--group",
            "--resume",
            "--repeat",
            "--json",
            "--allow-commands",
            "--rsh",
            "--variants",
        ] {
            let has = |run: &str| run.split_whitespace().any(|word| word.split('=').next() == Some(own));
            if has(&self.pair_run) || self.each.as_deref().is_some_and(has) {
                bail!("{own} is set by the fleet: leave it out");
            }
        }
        self.steps().map(drop)
    }

    pub fn hosts(&self) -> Result<Vec<String>> {
        hosts::expand(&self.hosts)
    }

    /// Every step, in the order in which they are measured.
    pub fn steps(&self) -> Result<Vec<FleetStep>> {
        let hosts = self.hosts()?;
        let choice: Option<PairChoice> =
            self.pairs.as_deref().map(str::parse).transpose().map_err(anyhow::Error::msg)?;
        let pairs = choice.as_ref().map_or(0, |choice| choice.pairs(hosts.len()));
        let a_time = pairs.saturating_add(usize::from(self.each.is_some()) * hosts.len());
        // Where no pair is measured, repeats alone can be many.
        if a_time.max(1).saturating_mul(self.repeats) > MOST_STEPS {
            bail!("that is more than {MOST_STEPS} steps");
        }
        let matchings = match &choice {
            Some(choice) => matchings(choice, &hosts, self.seed)?,
            None => Vec::new(),
        };
        let mut steps = Vec::new();
        let mut stage = 0;
        for repeat in 0..self.repeats {
            let alone: Vec<(usize, Option<usize>)> = match self.each {
                Some(_) => (0..hosts.len()).map(|host| (host, None)).collect(),
                None => Vec::new(),
            };
            let pairs = matchings.iter().map(|pairs| pairs.iter().map(|(a, b)| (*a, Some(*b))).collect());
            for together in std::iter::once(alone).chain(pairs).filter(|together| !together.is_empty()) {
                for (host, receiver) in together {
                    steps.push(FleetStep {
                        number: steps.len() + 1,
                        stage,
                        repeat,
                        host: hosts[host].clone(),
                        receiver: receiver.map(|receiver| hosts[receiver].clone()),
                    });
                }
                stage += 1;
            }
        }
        Ok(steps)
    }

    /// What a step runs, without where.
    pub fn run_of(&self, step: &FleetStep) -> &str {
        match step.receiver {
            Some(_) => &self.pair_run,
            None => self.each.as_deref().unwrap_or_default(),
        }
    }

    /// The longest that one step may take.
    pub fn step_seconds(&self) -> u64 {
        let of = |run: &str| {
            let mut words = run.split_whitespace().skip_while(|word| *word != "--time-limit");
            let asked = words.nth(1).and_then(|text| syscost_core::units::parse_duration(text).ok());
            asked.map_or(RUN_SECONDS, |limit| limit.as_secs() + 1)
        };
        let each = self.each.as_deref().map(of).unwrap_or(0);
        let pair = if self.pairs.is_some() { of(&self.pair_run) } else { 0 };
        2 * each.max(pair) + AROUND_SECONDS
    }

    /// About how long all of it takes.
    pub fn minutes(&self, steps: &[FleetStep]) -> u64 {
        let stages = steps.last().map_or(0, |last| last.stage + 1) as u64;
        (stages * self.step_seconds()).div_ceil(60) + 5
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    fn plan(hosts: &str, pairs: &str) -> FleetPlan {
        FleetPlan {
            id: "f1".into(),
            hosts: hosts.into(),
            engine: "local".into(),
            each: None,
            pairs: Some(pairs.into()),
            pair_run: PAIR_RUN.into(),
            repeats: 1,
            seed: 7,
            binary: "/usr/bin/syscost".into(),
            strata: BTreeMap::new(),
        }
    }

    #[test]
    fn a_plan_is_read_as_it_was_written() {
        let plan = plan("n[1-4]", "all");
        assert_eq!(FleetPlan::read(&plan.write().unwrap()).unwrap(), plan);
        assert_eq!(plan.steps().unwrap().len(), 12);
        assert_eq!(plan.steps().unwrap().last().unwrap().stage, 5);
    }

    #[test]
    fn what_the_fleet_sets_itself_cannot_be_asked_for() {
        let wrong = FleetPlan { pair_run: "transfer --path veth".into(), ..plan("n[1-4]", "all") };
        assert!(wrong.check().unwrap_err().to_string().contains("--path"));
        let wrong = FleetPlan { binary: "a b; c".into(), ..plan("n[1-4]", "all") };
        assert!(wrong.check().is_err());
        assert!(FleetPlan { pairs: None, ..plan("n[1-4]", "all") }.check().is_err());
    }

    #[test]
    fn more_steps_than_anybody_means_are_refused_before_they_are_made() {
        for pairs in ["all", "matchings:9999999999999", "matchings:30000"] {
            let error = plan("n[1-20000]", pairs).steps().unwrap_err().to_string();
            assert!(error.contains("more than"), "{error}");
        }
        assert!(FleetPlan { repeats: usize::MAX, ..plan("n[1-4]", "to=n1") }.steps().is_err());
    }

    #[test]
    fn alone_comes_before_pairs_and_repeats_follow() {
        let plan = FleetPlan { each: Some("os".into()), repeats: 2, ..plan("n[1-4]", "matchings:2") };
        let steps = plan.steps().unwrap();
        assert_eq!(steps.len(), 2 * (4 + 4));
        assert!(steps[..4].iter().all(|step| step.receiver.is_none() && step.stage == 0));
        assert_eq!((steps[15].repeat, steps[15].stage, steps[0].name()), (1, 5, "000001-n1".to_string()));
    }

    /// A bound with room: a shared machine is slow now and then.
    #[test]
    fn a_thousand_hosts_are_planned_at_once() {
        let start = Instant::now();
        let steps = plan("n[1-1000]", "matchings:8").steps().unwrap();
        assert_eq!(steps.len(), 4000);
        println!("1000 hosts, 4000 pairs: {:?}", start.elapsed());
        assert!(start.elapsed() < Duration::from_secs(10));
    }
}
