//! An account beside the samples of its case: terms and classes of the profile mean the same parts of the work.

use super::{Account, TermGroup};
use crate::profile::ProfileBreakdown;
use crate::profile::functions::CodeClass;
use syscost_experiment::run::Run;
use syscost_measure::mechanism::{self, Handling};
use syscost_measure::probe::Probe;
use syscost_measure::probe::streaming::SENDER;
use syscost_measure::probe::transfer::Transfer;
use syscost_measure::probe::transfer::axes::MECHANISM;

/// What both can tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorkPart {
    /// The program: copies in user memory are here.
    User,
    KernelCopy,
    /// Pinned, filled by the orphan copy, given back.
    LentPages,
    Stack,
    Sleep,
    /// What no class has, and no term.
    Unknown,
}

impl WorkPart {
    pub const ALL: [WorkPart; 6] = [
        WorkPart::User,
        WorkPart::KernelCopy,
        WorkPart::LentPages,
        WorkPart::Stack,
        WorkPart::Sleep,
        WorkPart::Unknown,
    ];

    fn of_term(group: TermGroup) -> WorkPart {
        match group {
            TermGroup::UserCopy => WorkPart::User,
            TermGroup::CopyIn | TermGroup::CopyOut => WorkPart::KernelCopy,
            TermGroup::Lent => WorkPart::LentPages,
            TermGroup::Calls | TermGroup::Completions | TermGroup::Receive => WorkPart::Stack,
            TermGroup::Sleep => WorkPart::Sleep,
        }
    }

    /// Who lends pages copies nothing in: the sender's copies are those of pages that a receiver could not share.
    fn of_class(class: CodeClass, lends: bool, sender: bool) -> WorkPart {
        match class {
            CodeClass::User => WorkPart::User,
            CodeClass::Copy if lends && sender => WorkPart::LentPages,
            CodeClass::Copy => WorkPart::KernelCopy,
            CodeClass::Memory if lends => WorkPart::LentPages,
            CodeClass::Scheduling => WorkPart::Sleep,
            CodeClass::Other => WorkPart::Unknown,
            CodeClass::Protocol
            | CodeClass::Device
            | CodeClass::Skb
            | CodeClass::Memory
            | CodeClass::Locks
            | CodeClass::Entry
            | CodeClass::Files => WorkPart::Stack,
        }
    }
}

/// One part of a case's CPU time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartTime {
    pub part: WorkPart,
    pub modelled_ns: f64,
    /// The part's share of samples, of the time that was measured without them.
    pub sampled_ns: f64,
}

/// A case that has an account, a measured time and samples.
#[derive(Clone, Debug, PartialEq)]
pub struct SampledAccount<'a> {
    pub account: &'a Account,
    pub measured_ns: f64,
    pub parts: Vec<PartTime>,
}

/// `None`: the case was not measured or not sampled.
pub fn beside<'a>(run: &Run, account: &'a Account) -> Option<SampledAccount<'a>> {
    let measured_ns = account.measured.total_ns;
    let same = |probe: &str| probe == Transfer.about().id;
    let profile = run.profiles.iter().find(|p| same(p.probe.as_str()) && p.point == account.point)?;
    let breakdown = ProfileBreakdown::of(profile)?;
    let mechanism = mechanism::find(account.point.text(MECHANISM)?)?;
    let lends = Handling::of(mechanism, &account.point)?.lends;
    let shares = || {
        let classes = breakdown.classes.iter();
        classes
            .flat_map(|time| time.by_owner.iter().map(|(owner, share)| (time.class, owner == SENDER, *share)))
    };
    let part = |part: WorkPart| {
        let items = account.items.iter().filter(|item| WorkPart::of_term(item.about.group) == part);
        let own = shares().filter(|(class, sender, _)| WorkPart::of_class(*class, lends, *sender) == part);
        let share: f64 = own.map(|(_, _, share)| share).sum();
        PartTime { part, modelled_ns: items.map(|item| item.ns()).sum(), sampled_ns: share * measured_ns }
    };
    Some(SampledAccount { account, measured_ns, parts: WorkPart::ALL.map(part).into() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tests::with_accounts;
    use syscost_experiment::run::{Profile, ProfiledRound, SampledStack};
    use syscost_host::sampling::{SampledEvent, SampledScope};

    #[test]
    fn every_sample_and_every_term_is_in_one_part() {
        let (mut run, analysis) = with_accounts(&[1.0]);
        let account = &analysis.model.accounts[0];
        assert!(beside(&run, account).is_none(), "no profile was made");
        let stack = |stack: &str, n| SampledStack { stack: stack.into(), samples: vec![n] };
        run.profiles = vec![Profile {
            probe: Transfer.about().id.into(),
            point: account.point.clone(),
            event: SampledEvent::CpuClock,
            period: 1,
            scope: SampledScope::Machine,
            rounds: vec![ProfiledRound { samples: 10, ..ProfiledRound::default() }],
            stacks: vec![
                stack("sender;do_syscall_64;tcp_sendmsg", 6),
                stack("receiver;do_syscall_64;__schedule", 3),
                stack("receiver;frobnicate", 1),
            ],
        }];
        let beside = beside(&run, account).expect("all three are there");
        let modelled: f64 = beside.parts.iter().map(|part| part.modelled_ns).sum();
        let sampled: f64 = beside.parts.iter().map(|part| part.sampled_ns).sum();
        assert!((modelled - account.predicted_ns()).abs() < 1e-6);
        assert!((sampled - beside.measured_ns).abs() < 1e-6);
        let of = |part: WorkPart| beside.parts[part as usize].sampled_ns / beside.measured_ns;
        assert!((of(WorkPart::Stack) - 0.6).abs() < 1e-9 && (of(WorkPart::Sleep) - 0.3).abs() < 1e-9);
    }
}
