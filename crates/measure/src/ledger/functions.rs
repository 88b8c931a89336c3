//! The second reading of the ledger: what the kernel's functions returned, where programs may be
//! attached to them. It shares nothing with the first but the choice of connections.
//! Source: program/functions.h.

use super::load::{self, Sums};
use aya::programs::{FEntry, FExit, Program, ProgramError};
use aya::{Btf, Ebpf, EbpfError};
use serde::{Deserialize, Serialize};
use std::io;
use syscost_host::Unavailable;

/// Functions of the program, and the kernel's functions that call them when they return.
const RETURNS: [(&str, &str); 7] = [
    ("sent", "tcp_sendmsg_locked"),
    ("lent", "skb_zerocopy_iter_stream"),
    ("spliced", "skb_splice_from_iter"),
    ("copied_bits", "skb_copy_bits"),
    ("copied_and_summed", "skb_copy_and_csum_bits"),
    ("orphaned", "skb_copy_ubufs"),
    ("received", "tcp_recvmsg"),
];

/// The one that is called when the kernel's function begins.
const BEGINS: (&str, &str) = ("sending", "tcp_sendmsg_locked");

/// Payload bytes of the watched connections, by what the functions that move them returned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Functions {
    /// Taken from the sender (`tcp_sendmsg_locked`), records' framing included where it encrypts.
    pub sent: u64,
    /// Of those, in pages of a user or a file that were hung into a segment as they are
    /// (`skb_zerocopy_iter_stream`, `skb_splice_from_iter`). A pipe's own pages and encrypted records are
    /// the kernel's: copied before.
    pub sent_uncopied: u64,
    /// Of those pages, copied after all for a device that cannot gather them (`skb_copy_bits`,
    /// `skb_copy_and_csum_bits`); repeats included.
    pub copied_leaving: u64,
    /// Copied before a receiver on this machine may keep them (`skb_copy_ubufs`); repeats included.
    pub orphan_copied: u64,
    /// Copied to the receiver by `tcp_recvmsg`; a receiver may also take bytes in other ways.
    pub received: u64,
}

impl Functions {
    /// Came to lie in the kernel's memory before or when it left.
    pub fn copied_in(&self) -> u64 {
        self.sent.saturating_sub(self.sent_uncopied).saturating_add(self.copied_leaving)
    }

    fn of([sent, sent_uncopied, copied_leaving, orphan_copied, received]: [u64; 5]) -> Functions {
        Functions { sent, sent_uncopied, copied_leaving, orphan_copied, received }
    }
}

/// The counters of attached programs; the programs themselves live in the ledger.
pub(super) struct Returned(pub Sums<5>);

impl Returned {
    /// Attaches all of the object's programs for functions, or none.
    pub(super) fn attach(programs: &mut Ebpf) -> Result<Returned, Unavailable> {
        if let Err(error) = attach_all(programs) {
            for (_, program) in programs.programs_mut() {
                unload(program);
            }
            return Err(refusal(&error));
        }
        Sums::of(programs, "RETURNED").map(Returned)
    }

    /// What was returned since.
    pub(super) fn counts(&self) -> io::Result<Functions> {
        self.0.since().map(Functions::of)
    }
}

fn attach_all(programs: &mut Ebpf) -> Result<(), EbpfError> {
    let kernel = Btf::from_sys_fs()?;
    // The first of all: what is inside when the others attach has to be known.
    let (name, function) = BEGINS;
    let program: &mut FEntry = named(programs, name).try_into()?;
    program.load(function, &kernel)?;
    program.attach()?;
    for (name, function) in RETURNS {
        let program: &mut FExit = named(programs, name).try_into()?;
        program.load(function, &kernel)?;
        program.attach()?;
    }
    Ok(())
}

fn named<'p>(programs: &'p mut Ebpf, name: &str) -> &'p mut Program {
    programs.program_mut(name).expect("the program has this function")
}

/// Takes a program for a function out of the kernel; those for tracepoints stay.
fn unload(program: &mut Program) {
    let result = match program {
        Program::FEntry(program) => program.unload(),
        Program::FExit(program) => program.unload(),
        _ => return,
    };
    // Some were never loaded. Nothing else can fail: it closes descriptors.
    debug_assert!(matches!(result, Ok(()) | Err(ProgramError::NotLoaded)), "{result:?}");
}

fn refusal(error: &EbpfError) -> Unavailable {
    Unavailable {
        reason: format!(
            "the kernel lets no program be attached to its functions, or lacks one of them: {}",
            load::last_cause(error)
        ),
        remedy: "a kernel from 6.5 on with CONFIG_FUNCTION_TRACER and without lockdown; the guest of \
                 syscost lab has one"
            .into(),
    }
}
