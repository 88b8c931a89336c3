//! Lists of hosts as Slurm writes them: `n[1-500]`, `a[01-04],b,c[1,3]-ib`.
//!
//! Nothing of a name reaches a shell that could read more than a name in it.

use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};

/// More hosts than any report shows; a slip of the pen asks for millions.
const MOST: usize = 20_000;
const LONGEST_NAME: usize = 253;
/// Rack, chassis, node, port: more is no naming of hosts.
const MOST_BRACKETS: usize = 8;

/// Every host of the list, in its order.
pub fn expand(list: &str) -> Result<Vec<String>> {
    let mut hosts = Vec::new();
    for part in parts(list)? {
        if part.matches('[').count() > MOST_BRACKETS {
            bail!("a host has more than {MOST_BRACKETS} brackets");
        }
        expand_one(part, &mut hosts)?;
        if hosts.len() > MOST {
            bail!("{list:?} names more than {MOST} hosts");
        }
    }
    if let Some(wrong) = hosts.iter().find(|host| !is_name(host)) {
        bail!("{wrong:?} is no host name: letters, digits, . _ and -, not beginning with - or .");
    }
    let mut seen = BTreeSet::new();
    if let Some(twice) = hosts.iter().find(|host| !seen.insert(host.as_str())) {
        bail!("the host {twice} is named twice");
    }
    if hosts.is_empty() {
        bail!("no host is named: write --hosts 'n[1-500]'");
    }
    Ok(hosts)
}

pub fn is_name(host: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    !host.is_empty() && host.len() <= LONGEST_NAME && !host.starts_with(['-', '.']) && host.chars().all(plain)
}

/// `host,kind` in each line.
pub fn kinds(text: &str) -> Result<BTreeMap<String, String>> {
    let kind = |line: &str| {
        let (host, kind) = line.split_once(',').with_context(|| format!("{line:?} is not host,kind"))?;
        Ok((host.trim().to_string(), kind.trim().to_string()))
    };
    text.lines().filter(|line| !line.trim().is_empty()).map(kind).collect()
}

/// Splits at commas outside of brackets.
fn parts(list: &str) -> Result<Vec<&str>> {
    let (mut depth, mut start, mut found) = (0u32, 0, Vec::new());
    for (at, c) in list.char_indices() {
        match c {
            '[' if depth == 0 => depth = 1,
            ']' if depth == 1 => depth = 0,
            '[' | ']' => bail!("the brackets of {list:?} do not match"),
            ',' if depth == 0 => {
                found.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if depth != 0 {
        bail!("the brackets of {list:?} do not match");
    }
    found.push(&list[start..]);
    Ok(found.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect())
}

fn expand_one(part: &str, hosts: &mut Vec<String>) -> Result<()> {
    let Some((before, rest)) = part.split_once('[') else {
        hosts.push(part.to_string());
        return Ok(());
    };
    let (inside, after) = rest.split_once(']').expect("brackets match");
    for range in inside.split(',') {
        for number in numbers(range, part)? {
            expand_one(&format!("{before}{number}{after}"), hosts)?;
            if hosts.len() > MOST {
                bail!("{part:?} names more than {MOST} hosts");
            }
        }
    }
    Ok(())
}

/// `08-11`: 08, 09, 10, 11.
fn numbers(range: &str, part: &str) -> Result<Vec<String>> {
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let number =
        |text: &str| text.parse::<u32>().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
    let (Some(from), Some(to)) = (number(first), number(last)) else {
        bail!("{range:?} in {part:?} is no number and no range of numbers");
    };
    if to < from {
        bail!("{range:?} in {part:?} counts down");
    }
    if (to - from) as usize >= MOST {
        bail!("{part:?} names more than {MOST} hosts");
    }
    Ok((from..=to).map(|n| format!("{n:0width$}", width = first.len())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists_are_read_as_slurm_writes_them() {
        assert_eq!(expand("n[1-3]").unwrap(), ["n1", "n2", "n3"]);
        assert_eq!(expand("a[08-10,12],b, c[1]-ib").unwrap(), ["a08", "a09", "a10", "a12", "b", "c1-ib"]);
        assert_eq!(expand("r[1-2]n[1-2]").unwrap(), ["r1n1", "r1n2", "r2n1", "r2n2"]);
        assert_eq!(expand("n[1-500]").unwrap().len(), 500);
    }

    #[test]
    fn what_names_no_hosts_is_refused() {
        for wrong in [
            "",
            ",",
            "n[1-",
            "n]1[",
            "n[[1]]",
            "n[3-1]",
            "n[a-b]",
            "n[1-+3]",
            "-x",
            "a;b",
            "$(x)",
            "a b",
            "n[1-99999999]",
            "n1,n1",
            "r[1-999]n[1-999]",
        ] {
            assert!(expand(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_written_names_are_plain(list in "\\PC{0,40}|[a-c0-9,\\[\\]-]{0,30}") {
            if let Ok(hosts) = expand(&list) {
                prop_assert!(hosts.iter().all(|host| is_name(host)));
            }
        }
    }
}
