//! What the processor, or a hypervisor in its place, says of itself and its clocks (CPUID).
//!
//! It only decodes: whether the counter keeps to what is said, is measured elsewhere. Processors
//! without the instruction say nothing. Sources: Intel SDM vol. 2A, CPUID leaves 0x15 and 0x16;
//! VMware, "Mechanisms to determine if software is running in a VMware virtual machine" (leaf
//! 0x40000010, which KVM and others took over).

/// A rate and the leaf that gives it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Declared {
    pub hertz: f64,
    pub source: &'static str,
}

/// EAX, EBX, ECX and EDX of one leaf.
type Leaf = [u32; 4];

/// The rate of the time-stamp counter.
pub fn tick_counter() -> Option<Declared> {
    tick_counter_of(&leaf)
}

/// The processor's nominal frequency.
pub fn nominal() -> Option<Declared> {
    nominal_of(&leaf)
}

/// What the hypervisor calls itself: `KVMKVMKVM`, or `TCGTCGTCGTCG` where qemu emulates.
pub fn hypervisor() -> Option<String> {
    hypervisor_of(&leaf)
}

fn hypervisor_of(leaf: &impl Fn(u32) -> Option<Leaf>) -> Option<String> {
    let [_, b, c, d] = leaf(0x4000_0000)?;
    let bytes: Vec<u8> = [b, c, d].into_iter().flat_map(u32::to_le_bytes).collect();
    let name: String = bytes.into_iter().filter(u8::is_ascii_graphic).map(char::from).collect();
    (!name.is_empty()).then_some(name)
}

fn tick_counter_of(leaf: &impl Fn(u32) -> Option<Leaf>) -> Option<Declared> {
    // Under a hypervisor its own word counts: leaf 0x15 may be the host's, passed through.
    let by_hypervisor = leaf(0x4000_0010).map(|[khz, ..]| f64::from(khz) * 1e3);
    let by_crystal = leaf(0x15).map(|[denominator, numerator, crystal_hertz, _]| {
        f64::from(crystal_hertz) * f64::from(numerator) / f64::from(denominator.max(1))
    });
    [(by_hypervisor, "CPUID leaf 0x40000010"), (by_crystal, "CPUID leaf 0x15")]
        .into_iter()
        .find_map(|(hertz, source)| Some(Declared { hertz: hertz.filter(|hz| *hz > 0.0)?, source }))
}

fn nominal_of(leaf: &impl Fn(u32) -> Option<Leaf>) -> Option<Declared> {
    let [megahertz, ..] = leaf(0x16)?;
    let hertz = f64::from(megahertz & 0xffff) * 1e6;
    (hertz > 0.0).then_some(Declared { hertz, source: "CPUID leaf 0x16" })
}

/// A leaf, where the processor has it.
#[cfg(target_arch = "x86_64")]
fn leaf(number: u32) -> Option<Leaf> {
    // A safe function since Rust 1.92; older compilers, which are supported too, call it unsafe.
    #[allow(unused_unsafe)]
    // SAFETY: every x86-64 processor has CPUID, and it writes nothing but registers.
    let ask = |number: u32| unsafe { std::arch::x86_64::__cpuid(number) };
    let is_virtual = ask(1).ecx & (1 << 31) != 0;
    let highest = match number {
        0x4000_0000.. if !is_virtual => return None,
        0x4000_0000.. => ask(0x4000_0000).eax,
        _ => ask(0).eax,
    };
    let answer = (number <= highest).then(|| ask(number))?;
    Some([answer.eax, answer.ebx, answer.ecx, answer.edx])
}

#[cfg(not(target_arch = "x86_64"))]
fn leaf(_: u32) -> Option<Leaf> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A processor that has these leaves only.
    fn with(leaves: &'static [(u32, Leaf)]) -> impl Fn(u32) -> Option<Leaf> {
        move |number| leaves.iter().find(|(n, _)| *n == number).map(|(_, leaf)| *leaf)
    }

    #[test]
    fn the_crystal_is_multiplied() {
        // A Skylake client: 24 MHz * 216 / 2.
        let skylake = with(&[(0x15, [2, 216, 24_000_000, 0]), (0x16, [2600, 3500, 100, 0])]);
        let declared = tick_counter_of(&skylake).unwrap();
        assert_eq!((declared.hertz, declared.source), (2.592e9, "CPUID leaf 0x15"));
        assert_eq!(nominal_of(&skylake).unwrap().hertz, 2.6e9);
    }

    #[test]
    fn the_hypervisor_has_the_last_word() {
        let guest = with(&[(0x15, [2, 216, 24_000_000, 0]), (0x4000_0010, [2_000_000, 0, 0, 0])]);
        assert_eq!(tick_counter_of(&guest).unwrap().hertz, 2e9);
    }

    #[test]
    fn a_hypervisor_names_itself() {
        let word = |text: &[u8; 4]| u32::from_le_bytes(*text);
        let tcg = move |leaf| (leaf == 0x4000_0000).then(|| [1, word(b"TCGT"), word(b"CGTC"), word(b"GTCG")]);
        assert_eq!(hypervisor_of(&tcg).as_deref(), Some("TCGTCGTCGTCG"));
        assert_eq!(hypervisor_of(&with(&[(0x4000_0000, [1, 0, 0, 0])])), None);
    }
}
