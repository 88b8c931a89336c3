//! From a stack to the class of its work.

use super::functions::{CodeClass, TABLE};
use std::collections::HashMap;
use std::sync::LazyLock;
use syscost_host::sampling::is_user_frame;

/// Names that the table has whole, and beginnings, each in two parts around the `*`.
struct KnownFunctions {
    whole: HashMap<&'static str, CodeClass>,
    beginnings: HashMap<&'static str, Vec<(&'static str, CodeClass)>>,
    longest: usize,
}

static KNOWN: LazyLock<KnownFunctions> = LazyLock::new(|| {
    let mut known = KnownFunctions { whole: HashMap::new(), beginnings: HashMap::new(), longest: 0 };
    for (class, _, names) in TABLE {
        for name in names.split_whitespace() {
            match name.split_once('*') {
                None => drop(known.whole.insert(name, *class)),
                Some((begin, end)) => {
                    known.beginnings.entry(begin).or_default().push((end, *class));
                    known.longest = known.longest.max(begin.len());
                }
            }
        }
    }
    known
});

/// The class of a function; `None` where the table does not know it.
pub fn function(name: &str) -> Option<CodeClass> {
    if is_user_frame(name) {
        return Some(CodeClass::User);
    }
    if let Some(class) = KNOWN.whole.get(name) {
        return Some(*class);
    }
    let fits = |length: usize| {
        let begin = name.get(..length)?;
        let ends = KNOWN.beginnings.get(begin)?;
        ends.iter().find(|(end, _)| name[length..].ends_with(end)).map(|(_, class)| *class)
    };
    (1..=name.len().min(KNOWN.longest)).rev().find_map(fits)
}

/// They end a time without interrupts, whose samples by a timer gather here.
const END_WITHOUT_INTERRUPTS: [&str; 2] = ["_raw_spin_unlock_irq", "_raw_spin_unlock_irqrestore"];
/// What holds a wait queue's lock while it wakes somebody, which takes longer than all else it does. The functions
/// between are not on the stack: each ends with the call of the next.
const WAKERS: [&str; 6] =
    ["anon_pipe_read", "anon_pipe_write", "eventfd_read", "eventfd_write", "pipe_read", "pipe_write"];

/// The class of a stack, from the outermost function to the innermost. The innermost that the table knows decides. The entry
/// of a system call is all that is known of a stack whose inner functions are not: that is no answer.
pub fn stack<'f>(functions: impl DoubleEndedIterator<Item = &'f str>) -> CodeClass {
    let mut waking = false;
    for (depth, name) in functions.rev().enumerate() {
        if waking && WAKERS.contains(&name) {
            return CodeClass::Scheduling;
        }
        waking = depth == 0 && END_WITHOUT_INTERRUPTS.contains(&name);
        match function(name) {
            // A caller outside the kernel does not say what the kernel did for it.
            Some(CodeClass::Entry | CodeClass::User) if depth > 0 => return CodeClass::Other,
            Some(class) => return class,
            None => {}
        }
    }
    CodeClass::Other
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_host::sampling::KernelSymbols;

    #[test]
    fn the_longest_name_that_fits_decides() {
        assert_eq!(function("tcp_sendmsg"), Some(CodeClass::Protocol));
        assert_eq!(function("tcp_stream_alloc_skb"), Some(CodeClass::Skb));
        assert_eq!(function("skb_release_data"), Some(CodeClass::Skb));
        assert_eq!(function("skb_copy_datagram_iter"), Some(CodeClass::Copy));
        assert_eq!(function("__mod_node_page_state"), Some(CodeClass::Memory));
        assert_eq!(function("__mod_timer"), Some(CodeClass::Scheduling));
        assert_eq!(function("memcpy"), None);
    }

    #[test]
    fn an_unknown_function_counts_for_its_caller_but_not_for_the_entry() {
        let class = |functions: &[&str]| stack(functions.iter().copied());
        assert_eq!(class(&["do_syscall_64", "tcp_sendmsg", "memcpy"]), CodeClass::Protocol);
        assert_eq!(class(&["do_syscall_64", "frobnicate"]), CodeClass::Other);
        assert_eq!(class(&["entry_SYSCALL_64_after_hwframe", "do_syscall_64"]), CodeClass::Entry);
        assert_eq!(class(&["user mode"]), CodeClass::User);
        assert_eq!(class(&["run (mine.so)", "copyin (mine.so)"]), CodeClass::User);
        assert_eq!(class(&["run (mine.so)", "tcp_sendmsg"]), CodeClass::Protocol);
        assert_eq!(class(&["run (mine.so)", "unheard_of"]), CodeClass::Other);
        assert_eq!(class(&[]), CodeClass::Other);
        let interrupted = ["tcp_sendmsg", "asm_sysvec_apic_timer_interrupt", "frobnicate"];
        assert_eq!(class(&interrupted), CodeClass::Other, "an interrupt is not what it interrupts");
    }

    /// A disk was said to be a network device.
    #[test]
    fn a_virtual_queue_is_of_whom_it_serves() {
        let class = |caller: &str| stack([caller, "virtqueue_notify", "vp_notify", "iowrite16"].into_iter());
        assert_eq!(class("blk_mq_dispatch_rq_list"), CodeClass::Files);
        assert_eq!(class("dev_hard_start_xmit"), CodeClass::Device);
    }

    /// Waking a CPU through a pipe or an eventfd was 90 % work of files, through a futex 86 % scheduling.
    #[test]
    fn the_end_of_a_wake_up_is_scheduling_whoever_holds_the_lock() {
        let class = |functions: &[&str]| stack(functions.iter().copied());
        for innermost in [
            ["eventfd_write", "_raw_spin_unlock_irq"],
            ["anon_pipe_write", "_raw_spin_unlock_irqrestore"],
            ["try_to_wake_up", "_raw_spin_unlock_irqrestore"],
        ] {
            assert_eq!(
                class(&["do_syscall_64", "vfs_write", innermost[0], innermost[1]]),
                CodeClass::Scheduling
            );
        }
        assert_eq!(class(&["vfs_write", "eventfd_write"]), CodeClass::Files);
        assert_eq!(class(&["blk_mq_run", "_raw_spin_unlock_irqrestore"]), CodeClass::Files);
    }

    #[test]
    fn no_name_is_in_two_classes() {
        assert!(CodeClass::all().map(|class| class as usize).eq(0..TABLE.len()), "a class is its place");
        let mut seen: HashMap<&str, CodeClass> = HashMap::new();
        for (class, _, names) in TABLE {
            for name in names.split_whitespace() {
                let before = seen.insert(name, *class);
                assert!(before.is_none() || before == Some(*class), "{name}: {before:?} and {class:?}");
            }
        }
    }

    /// A table for another kernel would show here, and where a name is no longer one.
    #[test]
    fn every_class_has_functions_of_the_kernel_that_runs() {
        let Ok(symbols) = KernelSymbols::read() else { return };
        for (class, ..) in TABLE.iter().filter(|(.., names)| !names.is_empty()) {
            let found = symbols.names().filter(|name| function(name) == Some(*class)).count();
            assert!(found >= 5, "{}: {found} functions of this kernel", class.id());
        }
    }
}
