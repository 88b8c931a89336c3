//! What a mechanism is: who gathers the fields, how their bytes enter the kernel, when their memory is free.
//!
//! It says what the interface asks for, never what the kernel did: completions and audits say that.

use super::{Mechanism, find, per_call};
use crate::message::MessageShape;
use syscost_core::axis::Point;

/// What a mechanism asks of the kernel with every message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sending {
    pub packing: Packing,
    pub handover: Handover,
    pub reuse: Reuse,
}

/// Who brings the fields of a message together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// The sender, by memcpy into one buffer: one copy in user space.
    Packed,
    /// Nobody: a call for each field.
    PerField,
    /// The kernel, by a list of pieces.
    ByKernel,
    /// Nobody: the message lies in one piece before the clock starts.
    Beforehand,
    /// A user's own code, which nobody sees.
    Unseen,
}

/// How bytes enter the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handover {
    /// Copied to the kernel's memory: one copy.
    Copied,
    /// Encrypted to the kernel's memory.
    Encrypted,
    /// The kernel refers to the pages where they are: no copy.
    Referenced,
    /// Large pieces are referred to, small ones copied.
    BySize,
    /// As a user's own code has it.
    Unseen,
}

/// Who owns the memory of a message while it is sent, and when the sender may write it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// The sender's, free when the call returns.
    AtReturn,
    /// The sender's, lent until the kernel reports the send complete.
    AtCompletion,
    /// The sender's, lent without notice: free when the other side must have read it.
    WhenRead,
    /// The page cache's: the sender only names the file.
    File,
    /// As a user's own code has it: free when it says so.
    Unseen,
}

impl Sending {
    /// Of a user's own code: it belongs to no class, and promises no copies.
    pub const UNSEEN: Sending = Sending::of(Packing::Unseen, Handover::Unseen, Reuse::Unseen);

    pub const fn of(packing: Packing, handover: Handover, reuse: Reuse) -> Sending {
        Sending { packing, handover, reuse }
    }

    /// `None`: no other class competes with it.
    pub fn class(self) -> Option<Class> {
        match (self.packing, self.handover) {
            (_, Handover::Referenced | Handover::BySize) => Some(Class::ZeroCopy),
            (_, Handover::Encrypted | Handover::Unseen)
            | (Packing::Beforehand | Packing::Unseen, Handover::Copied) => None,
            (Packing::Packed | Packing::PerField, Handover::Copied) => Some(Class::TwoCopy),
            (Packing::ByKernel, Handover::Copied) => Some(Class::OneCopy),
        }
    }

    /// Copies of each byte up to the socket; `None`: encryption moves bytes anyway, or the pieces decide.
    pub fn copies(self) -> Option<f64> {
        let in_user_space = if self.packing == Packing::Packed { 1.0 } else { 0.0 };
        match self.handover {
            Handover::Copied => Some(in_user_space + 1.0),
            Handover::Referenced => Some(in_user_space),
            Handover::Encrypted | Handover::BySize | Handover::Unseen => None,
        }
    }
}

/// How a mechanism hands one call's messages to the kernel: what an account of its cost counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handling {
    /// Calls that a group of messages takes ([`per_call`] of them).
    pub calls: u64,
    /// Pieces that such a call names, over all its messages.
    pub pieces: u64,
    /// Is every byte copied in user memory first?
    pub packs: bool,
    /// Does the kernel pin the pages rather than copy them (MSG_ZEROCOPY)?
    pub lends: bool,
}

impl Handling {
    /// `None`: no account of its cost can be made.
    pub fn of(mechanism: &dyn Mechanism, point: &Point) -> Option<Handling> {
        let Sending { packing, handover, .. } = mechanism.about().facts;
        let fields = MessageShape::of(point).pieces();
        mechanism.plain_calls().then(|| Handling {
            calls: if packing == Packing::PerField { fields } else { 1 },
            pieces: if packing == Packing::ByKernel { fields * per_call(point) } else { 1 },
            packs: packing == Packing::Packed,
            lends: handover == Handover::Referenced,
        })
    }
}

/// Mechanisms by the interface's share of the work: no gathering (two-copy), gathering (one-copy), by reference
/// (zero-copy).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    TwoCopy,
    OneCopy,
    ZeroCopy,
}

impl Class {
    /// Of the mechanism of this id.
    pub fn of(id: &str) -> Option<Class> {
        find(id)?.about().facts.class()
    }

    /// The word, which the command line accepts for the class's plainest member.
    pub fn word(self) -> &'static str {
        match self {
            Class::TwoCopy => "two-copy",
            Class::OneCopy => "one-copy",
            Class::ZeroCopy => "zero-copy",
        }
    }

    pub fn holds(self, id: &str) -> bool {
        Class::of(id) == Some(self)
    }

    /// Is it the mechanism that the word alone means?
    pub fn means(self, id: &str) -> bool {
        find(id).is_some_and(|m| m.about().aliases.contains(&self.word()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::ALL;

    #[test]
    fn every_class_has_one_plain_member() {
        for class in [Class::TwoCopy, Class::OneCopy, Class::ZeroCopy] {
            let plain: Vec<_> = ALL.iter().filter(|m| class.means(m.about().id)).collect();
            assert_eq!(plain.len(), 1, "{class:?}");
            assert!(class.holds(plain[0].about().id), "{class:?}");
        }
        assert!(!Class::TwoCopy.holds("no_such_mechanism"));
    }
}
