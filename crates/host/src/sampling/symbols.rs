//! Names of the kernel's functions by address, from /proc/kallsyms.

use crate::Unavailable;
use crate::files::Root;

/// Functions in the order of their addresses.
#[derive(Clone, Debug, Default)]
pub struct KernelSymbols {
    functions: Vec<(u64, String)>,
}

/// Of an address that no function has.
pub(super) const UNKNOWN: &str = "[unknown]";

impl KernelSymbols {
    /// Of the kernel that runs, where it shows addresses to this user.
    pub fn read() -> Result<KernelSymbols, Unavailable> {
        KernelSymbols::at(&Root::here())
    }

    fn at(root: &Root) -> Result<KernelSymbols, Unavailable> {
        let Some(text) = root.text("proc/kallsyms") else {
            return Err(Unavailable {
                reason: "this kernel does not name its functions (no /proc/kallsyms)".into(),
                remedy: "use a kernel with CONFIG_KALLSYMS, and mount /proc".into(),
            });
        };
        KernelSymbols::parse(&text).ok_or_else(|| {
            let setting = root.number_or_negative("proc/sys/kernel/kptr_restrict");
            let setting = setting.map_or("unknown".into(), |n| n.to_string());
            Unavailable {
                reason: format!("the kernel hides the addresses of its functions (kernel.kptr_restrict = {setting})"),
                remedy: "sudo sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1; with kptr_restrict 0 or 1 root or \
                         CAP_SYSLOG is enough"
                    .into(),
            }
        })
    }

    /// `None`: every address is zero, which is how the kernel hides them.
    pub(super) fn parse(text: &str) -> Option<KernelSymbols> {
        let function = |line: &str| {
            let mut fields = line.split_whitespace();
            let address = u64::from_str_radix(fields.next()?, 16).ok()?;
            let code = fields.next().is_some_and(|kind| matches!(kind, "t" | "T" | "w" | "W"));
            let name = fields.next()?;
            // Padding before a function has a name of its own.
            (code && address != 0 && !name.starts_with("__pfx_")).then(|| (address, plain(name)))
        };
        let mut functions: Vec<(u64, String)> = text.lines().filter_map(function).collect();
        functions.sort_by_key(|(address, _)| *address);
        // The first of several names for one address.
        functions.dedup_by_key(|(address, _)| *address);
        (!functions.is_empty()).then_some(KernelSymbols { functions })
    }

    /// The function that an address lies in.
    pub fn name(&self, address: u64) -> &str {
        let after = self.functions.partition_point(|(start, _)| *start <= address);
        after.checked_sub(1).map_or(UNKNOWN, |at| &self.functions[at].1)
    }

    /// Every name.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.functions.iter().map(|(_, name)| name.as_str())
    }
}

/// Without what the compiler appends to a part or a clone of a function: `.isra.0`, `.cold`. A semicolon would end a frame.
fn plain(name: &str) -> String {
    let end = name.find('.').filter(|at| *at > 0).unwrap_or(name.len());
    name[..end].replace(';', ":")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::fixture::Machine;

    #[test]
    fn an_address_has_the_name_of_the_function_before_it() {
        let text = "2000 T second\n1000 T first\n1000 T alias\n1800 d data\n1ff0 T __pfx_second\n3000 t third.part.0\t[mod]\n";
        let symbols = KernelSymbols::parse(text).unwrap();
        let names = [0xfff, 0x1000, 0x1fff, 0x2000, 0x9000].map(|address| symbols.name(address));
        assert_eq!(names, [UNKNOWN, "first", "first", "second", "third"]);
    }

    #[test]
    fn hidden_addresses_are_a_reason_with_a_remedy() {
        let machine = Machine::empty();
        machine.write("proc/kallsyms", "0000000000000000 T first\n0000000000000000 T second\n");
        machine.write("proc/sys/kernel/kptr_restrict", "2\n");
        let why = KernelSymbols::at(&machine.root()).unwrap_err();
        assert!(why.reason.contains("kptr_restrict = 2") && why.remedy.contains("kptr_restrict=0"));
        assert!(KernelSymbols::at(&Machine::empty().root()).unwrap_err().remedy.contains("KALLSYMS"));
    }
}
