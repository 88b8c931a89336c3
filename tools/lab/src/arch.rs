//! The machines that can be emulated, and how the emulator is asked for them.
//!
//! On aarch64 virtual time follows the instructions executed (`-icount`), which gives the guest a
//! performance monitor that counts cycles and instructions; instructions are exact.
//! Source: qemu-system(1), "Performance monitoring" of target/arm in qemu.

/// The architecture of a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arch {
    X86_64,
    Aarch64,
}

impl Arch {
    pub const ALL: [Arch; 2] = [Arch::X86_64, Arch::Aarch64];

    /// That of this build.
    pub fn here() -> Option<Arch> {
        Arch::ALL.into_iter().find(|arch| arch.name() == std::env::consts::ARCH)
    }

    /// As a user, and Rust, name it.
    pub fn name(self) -> &'static str {
        match self {
            Arch::X86_64 => "x86_64",
            Arch::Aarch64 => "aarch64",
        }
    }

    /// What makes it worth choosing.
    pub fn help(self) -> &'static str {
        match self {
            Arch::X86_64 => "emulated fastest",
            Arch::Aarch64 => "hardware counters count its instructions",
        }
    }

    /// As Debian names it.
    pub fn debian(self) -> &'static str {
        match self {
            Arch::X86_64 => "amd64",
            Arch::Aarch64 => "arm64",
        }
    }

    pub fn emulator(self) -> &'static str {
        match self {
            Arch::X86_64 => "qemu-system-x86_64",
            Arch::Aarch64 => "qemu-system-aarch64",
        }
    }

    /// The package that has the emulator.
    pub fn package(self) -> &'static str {
        match self {
            Arch::X86_64 => "qemu-system-x86",
            Arch::Aarch64 => "qemu-system-arm",
        }
    }

    /// The machine and its processor, emulated instruction by instruction.
    pub fn machine(self) -> &'static [&'static str] {
        match self {
            Arch::X86_64 => &["-accel", "tcg,thread=multi", "-cpu", "max"],
            Arch::Aarch64 => &[
                "-M",
                "virt",
                "-accel",
                "tcg,thread=single",
                "-cpu",
                "max,pauth-impdef=on",
                "-icount",
                "shift=0",
            ],
        }
    }

    /// The kernel's name of the first serial port.
    pub fn console(self) -> &'static str {
        match self {
            Arch::X86_64 => "ttyS0",
            Arch::Aarch64 => "ttyAMA0",
        }
    }

    /// `e_machine` of its programs: elf(5).
    pub fn elf_machine(self) -> u16 {
        match self {
            Arch::X86_64 => 62,
            Arch::Aarch64 => 183,
        }
    }

    /// How a program for a guest of this kind is built on another.
    pub fn build_command(self) -> String {
        let name = self.name();
        format!(
            "RUSTFLAGS=-Ctarget-feature=+crt-static CARGO_TARGET_{}_UNKNOWN_LINUX_GNU_LINKER={name}-linux-gnu-gcc cargo \
             build --release --target {name}-unknown-linux-gnu (after rustup target add {name}-unknown-linux-gnu; \
             apt-get install gcc-{}-linux-gnu libc6-dev-{}-cross), and name the program with --binary",
            name.to_uppercase(),
            name.replace('_', "-"),
            self.debian()
        )
    }
}
