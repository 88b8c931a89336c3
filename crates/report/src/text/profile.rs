//! The names of classes of work.

use syscost_analyze::profile::functions::CodeClass;

pub fn title(class: CodeClass) -> &'static str {
    match class {
        CodeClass::Copy => "data copy",
        CodeClass::Protocol => "TCP/IP and sockets",
        CodeClass::Device => "network device",
        CodeClass::Skb => "skb management",
        CodeClass::Memory => "memory management",
        CodeClass::Locks => "locks",
        CodeClass::Scheduling => "scheduling",
        CodeClass::Entry => "entry to the kernel",
        CodeClass::Files => "files and descriptors",
        CodeClass::User => "user mode",
        CodeClass::Other => "other",
    }
}
