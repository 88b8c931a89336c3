//! Documents that say what a processor does in a cycle. Each is of some processors and says nothing of others, however
//! alike: there a prediction is unknown.

/// What tells processors apart: a fact of the machine.
pub const PROCESSOR: &str = "cpu_family";

/// A document and the processors that it is of.
pub struct Guide {
    /// As /proc/cpuinfo has it.
    vendor: &'static str,
    family: u32,
    /// Of a family with several designs; empty: all.
    models: &'static [u32],
    pub document: &'static str,
}

/// Zen 3 and Zen 4.
pub const AMD_19H: Guide = Guide {
    vendor: "AuthenticAMD",
    family: 0x19,
    models: &[],
    document: "AMD, Software Optimization Guides of family 19h (56665, 57647)",
};

/// Client and server cores: Skylake, Kaby Lake, Coffee Lake, Cascade Lake.
const SKYLAKE: &[u32] = &[0x4e, 0x55, 0x5e, 0x8e, 0x9e];

pub const INTEL_SKYLAKE: Guide = Guide {
    vendor: "GenuineIntel",
    family: 6,
    models: SKYLAKE,
    document: "Intel, Optimization Reference Manual (248966), Skylake",
};

pub const FOG_SKYLAKE: Guide = Guide { document: "Fog, Instruction tables: Skylake", ..INTEL_SKYLAKE };

/// Zen and Zen 2.
pub const FOG_ZEN: Guide =
    Guide { vendor: "AuthenticAMD", family: 0x17, models: &[], document: "Fog, Instruction tables: AMD Zen" };

impl Guide {
    /// Is it of the processor that the fact [`PROCESSOR`] describes?
    pub fn is_of(&self, processor: &str) -> bool {
        let mut words = processor.split_whitespace();
        if words.next() != Some(self.vendor) {
            return false;
        }
        let mut number =
            |name| words.next().filter(|word| *word == name).and_then(|_| words.next()?.parse::<u32>().ok());
        number("family") == Some(self.family)
            && (self.models.is_empty() || number("model").is_some_and(|model| self.models.contains(&model)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guide_is_of_its_own_processors_only() {
        let of = |processor: &str| [&AMD_19H, &FOG_ZEN, &INTEL_SKYLAKE].map(|guide| guide.is_of(processor));
        assert_eq!(of("AuthenticAMD family 25 model 17"), [true, false, false]);
        assert_eq!(of("AuthenticAMD family 23 model 49"), [false, true, false]);
        assert_eq!(of("GenuineIntel family 6 model 85"), [false, false, true]);
        for other in [
            "GenuineIntel family 6 model 167",
            "GenuineIntel family 25 model 17",
            "GenuineIntel family 6",
            "implementer 0x41 part 0xd0c",
            "",
        ] {
            assert_eq!(of(other), [false; 3], "{other}");
        }
    }
}
