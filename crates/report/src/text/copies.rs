//! Copies of one way beside another's, in words.

use syscost_analyze::finding::beside::{CopiesBeside, CopyChange, CopyPlace};
use syscost_analyze::words::and;
use syscost_core::units::significant;

fn place(place: CopyPlace) -> &'static str {
    match place {
        CopyPlace::UserSpace => "the copy in user space",
        CopyPlace::IntoKernel => "the copy into the kernel",
        CopyPlace::Orphan => "the orphan copy on arrival",
        CopyPlace::OutToReceiver => "the copy out to the receiver",
    }
}

/// Copies per byte: the table has every digit.
fn figure(copies: f64) -> String {
    significant((copies * 100.0).round() / 100.0)
}

/// `over veth`; nothing without a path.
fn over(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!(" over {path}") }
}

/// `sendmsg over veth saves the copy in user space. It makes 2 copies a byte instead of 3 with pack_send.`
pub fn sentence(copies: &CopiesBeside) -> String {
    let CopiesBeside { ours, theirs, path, .. } = copies;
    let names = |which: fn(&CopyChange) -> bool| {
        let those = copies.changed.iter().filter(|change| which(change));
        those.map(|change| place(change.place).to_string()).collect::<Vec<_>>()
    };
    let (saved, added) = (names(|c| c.ours < c.theirs), names(|c| c.ours > c.theirs));
    let change = match (saved.as_slice(), added.as_slice()) {
        ([], []) => "copies as often".to_string(),
        (saved, []) => format!("saves {}", and(saved)),
        ([], added) => format!("adds {}", and(added)),
        (saved, added) => format!("saves {} and adds {}", and(saved), and(added)),
    };
    let (our, their) = (figure(copies.ours_in_all), figure(copies.theirs_in_all));
    let totals = if our == their {
        format!("It makes {our} copies a byte, as does {theirs}")
    } else {
        let copies = if our == "1" { "copy" } else { "copies" };
        format!("It makes {our} {copies} a byte instead of {their} with {theirs}")
    };
    format!("{ours}{} {change}. {totals}.", over(path))
}
