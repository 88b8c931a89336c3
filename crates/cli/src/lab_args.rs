//! Options of the lab: what its guests are.

use crate::experiment_args::ExperimentArgs;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use syscost_lab::{Arch, Nic};

pub const LAB_EXAMPLES: &str = "\
Examples:
  syscost lab                       what each mechanism copies between devices
  syscost lab --nic virtio          a device that has every packet copied
  syscost lab --path veth,loopback --mechanism send,zero-copy
                                    other paths, inside the guest
  syscost lab --count instructions --kernel 6.1,6.12,newest --out kernels
  syscost compare kernels/6.1 -- kernels/newest
                                    what each operation costs more
  syscost lab --count instructions --kernel ./bzImage --modules ./lib/modules
  syscost lab --count cache --size 64K --threads 1
                                    what each way to send misses, in which cache

It needs qemu (Debian: qemu-system-x86, no KVM, no root), dpkg and xz, and a C
compiler for --count cache. The first
lab fetches a kernel of 34 MB into the cache, checks it and unpacks it. Nothing
is installed. Times measured inside mean nothing and are not reported.
Instructions say nothing of caches, stalls, exits of a virtual machine or real
devices.";

#[derive(Args, Debug)]
pub struct LabArgs {
    #[command(flatten)]
    pub asked: ExperimentArgs,
    #[command(flatten)]
    pub guest: GuestArgs,
    /// Count in a guest whose clocks are the count: instructions on one CPU, or cache misses on two
    /// [default experiment: the one of that name]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub count: Option<LabCount>,
    /// Kernels, a guest each: versions in any suite of Debian's (6.1, 6.12.107, newest), a .deb, or
    /// the path of a vmlinuz or bzImage [default: the newest that apt offers]
    #[arg(long, value_name = "KERNEL", value_delimiter = ',')]
    pub kernel: Vec<String>,
    /// Directory to write, new or empty; of several kernels a directory of directories
    /// [default: syscost-runs/<UTC time>-<name>]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// What a guest is made of.
#[derive(Args, Debug)]
pub struct GuestArgs {
    /// The network device that the guest has two of
    #[arg(long, value_name = "MODEL", default_value = "vmxnet3", value_parser = one_of(Nic::ALL, |nic| (nic.name, nic.help)))]
    pub nic: &'static Nic,
    /// The guest's architecture [default: that of this build]
    #[arg(long, value_parser = one_of(Arch::ALL, |arch| (arch.name, arch.help)))]
    pub arch: Option<&'static Arch>,
    /// A syscost built for the guest's architecture, statically linked
    #[arg(long, value_name = "FILE")]
    pub binary: Option<PathBuf>,
    /// Modules of an image that --kernel names [default: lib/modules/RELEASE beside it, or installed]
    #[arg(long, value_name = "DIR")]
    pub modules: Option<PathBuf>,
    /// Modelled caches as SIZE/WAYS, with --count cache: l1i, l1d, l2, llc (l1d=48K/12,l2=2M/16)
    /// [default: those of this machine's processor]
    #[arg(long, value_name = "LEVEL=SIZE/WAYS,..")]
    pub caches: Option<String>,
    /// Boot options of the guest's kernel, for instance mitigations=off
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true)]
    pub append: Option<String>,
    /// Where kernels are kept [default: $XDG_CACHE_HOME/syscost/lab]
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
    /// Fetch nothing: use the cache, or a package that --kernel names
    #[arg(long)]
    pub offline: bool,
    /// End the guest after this time, booting included [default: 120s; 15m where it counts
    /// instructions, 60m with modelled caches]
    #[arg(long, value_name = "TIME")]
    pub limit: Option<String>,
}

/// What a guest of the lab counts beside copies.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabCount {
    /// Instructions of the emulated processor
    Instructions,
    /// Instructions, and misses of modelled caches at every level
    Cache,
}

/// One of several by its name: what each is called, and what its help says.
fn one_of<T: Send + Sync>(
    all: &'static [T],
    named: fn(&T) -> (&'static str, &'static str),
) -> impl TypedValueParser<Value = &'static T> {
    let values = all.iter().map(|one| PossibleValue::new(named(one).0).help(named(one).1));
    PossibleValuesParser::new(values)
        .map(move |name| all.iter().find(|one| named(one).0 == name).expect("clap takes only names of these"))
}
