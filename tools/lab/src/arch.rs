//! The machines that can be emulated, and how the emulator is asked for them.
//!
//! On aarch64 virtual time follows the instructions executed (`-icount`), which gives the guest a
//! performance monitor that counts cycles and instructions; instructions are exact.
//! Source: qemu-system(1), "Performance monitoring" of target/arm in qemu.

use object::Architecture;

/// The architecture of a guest.
#[derive(Debug, PartialEq)]
pub struct Arch {
    /// As a user, and Rust, name it.
    pub name: &'static str,
    /// What makes it worth choosing.
    pub help: &'static str,
    /// As Debian names it.
    pub debian: &'static str,
    pub emulator: &'static str,
    /// The package that has the emulator.
    pub package: &'static str,
    /// The machine and its processor, emulated instruction by instruction.
    pub machine: &'static str,
    /// The same, where every instruction takes a nanosecond of virtual time, and idle time takes none.
    pub counting_machine: &'static str,
    /// Boot options of a guest that counts: its clock is the counter, which no other clock may correct.
    pub counting_options: &'static str,
    /// The kernel's name of the first serial port.
    pub console: &'static str,
    /// Of its programs.
    pub elf: Architecture,
}

impl Arch {
    pub const ALL: &[Arch] = &[
        Arch {
            name: "x86_64",
            help: "emulated fastest",
            debian: "amd64",
            emulator: "qemu-system-x86_64",
            package: "qemu-system-x86",
            machine: "-accel tcg,thread=multi -cpu max",
            // Without erms and fsrm the kernel does not copy by `rep movsb`, of which the emulator counts every byte. The
            // firmware leaves the results disk alone: the host's disk answers when it likes.
            counting_machine: "-accel tcg,thread=single -icount shift=0,sleep=off -cpu max,-erms,-fsrm -boot strict=on",
            counting_options: "tsc=reliable clocksource=tsc",
            console: "ttyS0",
            elf: Architecture::X86_64,
        },
        Arch {
            name: "aarch64",
            help: "hardware counters count its instructions",
            debian: "arm64",
            emulator: "qemu-system-aarch64",
            package: "qemu-system-arm",
            machine: "-M virt -accel tcg,thread=single -cpu max,pauth-impdef=on -icount shift=0",
            counting_machine: "-M virt -accel tcg,thread=single -cpu max,pauth-impdef=on -icount shift=0,sleep=off",
            counting_options: "",
            console: "ttyAMA0",
            elf: Architecture::Aarch64,
        },
    ];

    /// That of this build.
    pub fn here() -> Option<&'static Arch> {
        Arch::ALL.iter().find(|arch| arch.name == std::env::consts::ARCH)
    }

    /// How a program for a guest of this kind is built on another.
    pub fn build_command(&self) -> String {
        let name = self.name;
        format!(
            "RUSTFLAGS=-Ctarget-feature=+crt-static CARGO_TARGET_{}_UNKNOWN_LINUX_GNU_LINKER={name}-linux-gnu-gcc cargo \
             build --release --target {name}-unknown-linux-gnu (after rustup target add {name}-unknown-linux-gnu; \
             apt-get install gcc-{}-linux-gnu libc6-dev-{}-cross), and name the program with --binary",
            name.to_uppercase(),
            name.replace('_', "-"),
            self.debian
        )
    }
}
