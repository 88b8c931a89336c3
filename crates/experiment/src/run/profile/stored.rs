//! How profiles lie in the file: each function's name once, each call once, and only counts that are not zero.

use super::{Profile, ProfileFile, SampledStack};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Of what is read: a file of calls that share their callers could name far more than it holds.
const LARGEST_STACKS: usize = 512 << 20;

#[derive(Serialize, Deserialize)]
pub(super) struct StoredProfiles {
    tool: String,
    kernel: String,
    names: Vec<String>,
    /// The place of the caller in this list, if it has one, and that of the function in `names`. Callers come first.
    calls: Vec<(Option<usize>, usize)>,
    profiles: Vec<Profile<StoredStack>>,
}

/// The place of the innermost call, then pairs of a round's place and a count.
#[derive(Serialize, Deserialize)]
struct StoredStack(Vec<usize>);

/// Places given out so far.
#[derive(Default)]
struct CallPlaces<'p> {
    names: HashMap<&'p str, usize>,
    calls: HashMap<(Option<usize>, usize), usize>,
}

impl<'p> CallPlaces<'p> {
    /// Where the innermost call of the stack is.
    fn place(&mut self, stack: &'p str) -> Option<usize> {
        let mut caller = None;
        for name in stack.split(';') {
            let next = self.names.len();
            let name = *self.names.entry(name).or_insert(next);
            let next = self.calls.len();
            caller = Some(*self.calls.entry((caller, name)).or_insert(next));
        }
        caller
    }
}

/// The keys in the order of their places.
fn in_order<K>(places: HashMap<K, usize>) -> Vec<K> {
    let mut sorted: Vec<(K, usize)> = places.into_iter().collect();
    sorted.sort_unstable_by_key(|(_, place)| *place);
    sorted.into_iter().map(|(key, _)| key).collect()
}

impl StoredProfiles {
    pub(super) fn of(file: &ProfileFile) -> StoredProfiles {
        let mut places = CallPlaces::default();
        let profiles = file.profiles.iter().map(|profile| stored(profile, &mut places)).collect();
        StoredProfiles {
            tool: file.tool.clone(),
            kernel: file.kernel.clone(),
            profiles,
            names: in_order(places.names).into_iter().map(String::from).collect(),
            calls: in_order(places.calls),
        }
    }

    /// `Err`: what is wrong with it.
    pub(super) fn file(self) -> Result<ProfileFile, String> {
        let mut budget = LARGEST_STACKS;
        let StoredProfiles { tool, kernel, names, calls, profiles } = self;
        let profiles = profiles
            .iter()
            .map(|stored| {
                let rounds = stored.rounds.len();
                let whole = |stack: &StoredStack| read(stack, rounds, &names, &calls, &mut budget);
                Ok(stored.with(stored.stacks.iter().map(whole).collect::<Result<_, String>>()?))
            })
            .collect::<Result<_, String>>()?;
        Ok(ProfileFile { tool, kernel, profiles })
    }
}

fn stored<'p>(profile: &'p Profile, places: &mut CallPlaces<'p>) -> Profile<StoredStack> {
    let stack = |stack: &'p SampledStack| {
        let seen = stack.samples.iter().enumerate().filter(|(_, count)| **count > 0);
        let counts = seen.flat_map(|(round, count)| [round, *count as usize]);
        StoredStack(places.place(&stack.stack).into_iter().chain(counts).collect())
    };
    profile.with(profile.stacks.iter().map(stack).collect())
}

fn read(
    stack: &StoredStack,
    rounds: usize,
    names: &[String],
    calls: &[(Option<usize>, usize)],
    budget: &mut usize,
) -> Result<SampledStack, String> {
    let (innermost, counts) = stack.0.split_first().ok_or("a stack has no call")?;
    let mut samples = vec![0; rounds];
    for pair in counts.chunks(2) {
        let [round, count] = pair else { return Err("a round of a stack has no count".into()) };
        let held = samples.get_mut(*round).ok_or("a stack counts for a round that is not there")?;
        *held = u32::try_from(*count).map_err(|_| "a count is impossible")?;
    }
    let mut functions = Vec::new();
    let mut next = Some(*innermost);
    while let Some(place) = next {
        let (caller, name) = *calls.get(place).ok_or("a stack has a call that is not there")?;
        if caller.is_some_and(|caller| caller >= place) {
            return Err("a call comes before its caller".into());
        }
        let name = names.get(name).ok_or("a call has a name that is not there")?;
        *budget = budget.checked_sub(name.len() + 1).ok_or("its stacks are impossibly long")?;
        functions.push(name.as_str());
        next = caller;
    }
    functions.reverse();
    Ok(SampledStack { stack: functions.join(";"), samples })
}

#[cfg(test)]
mod tests {
    use super::super::ProfiledRound;
    use super::*;
    use syscost_core::axis::Point;
    use syscost_host::sampling::{SampledEvent, SampledScope};

    fn profile(stacks: &[(&str, &[u32])]) -> Profile {
        let stack = |(stack, samples): &(&str, &[u32])| SampledStack {
            stack: (*stack).into(),
            samples: samples.to_vec(),
        };
        Profile {
            probe: "transfer".into(),
            point: Point::default(),
            event: SampledEvent::CpuClock,
            period: 100,
            scope: SampledScope::Machine,
            rounds: vec![ProfiledRound::default(); 3],
            stacks: stacks.iter().map(stack).collect(),
        }
    }

    fn file() -> ProfileFile {
        let one = profile(&[("sender;entry;send", &[0, 3, 1]), ("sender;entry", &[0, 0, 0])]);
        let other = profile(&[("sender;entry;send;copy", &[7, 0, 0]), ("receiver;entry", &[0, 0, 2])]);
        ProfileFile { tool: "t".into(), kernel: "k".into(), profiles: vec![one, other] }
    }

    #[test]
    fn a_name_and_a_call_lie_there_once() {
        let stored = StoredProfiles::of(&file());
        assert_eq!(stored.names, ["sender", "entry", "send", "copy", "receiver"]);
        assert_eq!(
            stored.calls,
            [(None, 0), (Some(0), 1), (Some(1), 2), (Some(2), 3), (None, 4), (Some(4), 1)]
        );
        assert_eq!(stored.profiles[0].stacks[0].0, [2, 1, 3, 2, 1]);
        assert_eq!(stored.file().unwrap(), file());
    }

    #[test]
    fn what_fits_not_together_is_damage() {
        let broken = |change: &dyn Fn(&mut StoredProfiles)| {
            let mut stored = StoredProfiles::of(&file());
            change(&mut stored);
            stored.file().unwrap_err()
        };
        let stack = |words: &[usize]| {
            let words = words.to_vec();
            broken(&move |file| file.profiles[0].stacks[0].0 = words.clone())
        };
        assert!(stack(&[2, 3, 1]).contains("round that is not there"));
        assert!(stack(&[2, 1]).contains("no count"));
        assert!(stack(&[]).contains("no call"));
        assert!(stack(&[99]).contains("call that is not there"));
        assert!(stack(&[2, 1, 1 << 40]).contains("impossible"));
        assert!(broken(&|file| file.calls[1].0 = Some(1)).contains("before its caller"));
        assert!(broken(&|file| file.calls[0].1 = 99).contains("name that is not there"));
    }

    /// A small file whose stacks would fill the memory.
    #[test]
    fn a_file_that_names_more_than_it_holds_is_refused() {
        let mut stored = StoredProfiles::of(&file());
        stored.names[0] = "x".repeat(1 << 20);
        stored.calls = std::iter::once((None, 0)).chain((0..1000).map(|place| (Some(place), 0))).collect();
        stored.profiles[0].stacks[0].0 = vec![1000];
        assert!(stored.file().unwrap_err().contains("impossibly long"));
    }
}
