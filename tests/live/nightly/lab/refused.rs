//! Kernels and machines that no lab can use: each is refused in words that say what to do.
//! Only what shows in a booted guest boots one.

use super::Lab;
use crate::common::{SYSCOST, said, soon};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output, Stdio};

/// The start of an x86 kernel's image of this release: Documentation/arch/x86/boot.rst.
fn bz_image(release: &str) -> Vec<u8> {
    let mut image = vec![0; 0x400];
    image[0x202..0x206].copy_from_slice(b"HdrS");
    image[0x20e..0x210].copy_from_slice(&0x100u16.to_le_bytes());
    image[0x300..0x300 + release.len()].copy_from_slice(release.as_bytes());
    image
}

fn module(release: &str) -> String {
    format!("\0depends=\0vermagic={release} SMP mod_unload \0")
}

/// A folder with an image `6.9.9-ours`, two folders of modules, and emulators that nothing may start.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        std::fs::set_permissions(place.0.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let write = |name: &str, bytes: &[u8]| {
            let file = place.0.path().join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, bytes).unwrap();
        };
        write("bzImage", &bz_image("6.9.9-ours"));
        write("script", b"#!/bin/sh");
        write("other/veth.ko", module("6.1.0-other").as_bytes());
        for (folder, names) in
            [("no-nic", "virtio_blk virtio_pci"), ("no-disk", "vmxnet3"), ("no-bus", "vmxnet3 virtio_blk")]
        {
            write(&format!("{folder}/veth.ko"), module("6.9.9-ours").as_bytes());
            let built_in: String = names.split(' ').map(|name| format!("kernel/{name}.ko\n")).collect();
            write(&format!("{folder}/modules.builtin"), built_in.as_bytes());
        }
        for emulator in ["qemu-system-x86_64", "qemu-system-aarch64"] {
            write(&format!("emulators/{emulator}"), b"#!/bin/sh\nexit 99\n");
            let file = place.0.path().join("emulators").join(emulator);
            std::fs::set_permissions(file, PermissionsExt::from_mode(0o755)).unwrap();
        }
        write("nothing/empty", b"");
        place
    }

    /// `lab` with these arguments, where `path` has all the programs.
    fn lab(&self, path: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new(SYSCOST);
        command.current_dir(self.0.path()).env("PATH", self.0.path().join(path));
        command.arg("lab").args(arguments).args(["--cache", "cache", "--offline", "--out", "run"]);
        command.output().unwrap()
    }
}

#[test]
#[ignore = "nightly: .ci/nightly"]
fn what_no_guest_can_boot_is_refused_in_words() {
    let place = Place::new();
    let refusals: &[(&str, &[&str], &[&str])] = &[
        (
            "nothing",
            &[],
            &["there is no qemu-system-x86_64", "apt-get install --no-install-recommends qemu-system-x86"],
        ),
        ("emulators", &["--kernel", "./script"], &["script is no image that boots"]),
        (
            "emulators",
            &["--kernel", "./bzImage", "--modules", "other"],
            &["are of 6.1.0-other", "is 6.9.9-ours", "the same build"],
        ),
        ("emulators", &["--kernel", "./bzImage", "--modules", "nothing"], &["no module (*.ko) in"]),
        (
            "emulators",
            &["--kernel", "./bzImage", "--modules", "no-nic"],
            &["no module vmxnet3", "build it with CONFIG_VMXNET3"],
        ),
        (
            "emulators",
            &["--kernel", "./bzImage", "--modules", "no-disk"],
            &["no module virtio_blk", "CONFIG_VIRTIO_BLK and CONFIG_VIRTIO_PCI"],
        ),
        (
            "emulators",
            &["--kernel", "./bzImage", "--arch", "aarch64", "--binary", SYSCOST],
            &["a kernel for x86_64", "--arch x86_64"],
        ),
    ];
    for (path, arguments, words) in refusals {
        if *path == "nothing" && std::env::consts::ARCH != "x86_64" {
            continue;
        }
        let counted = place.lab(path, &[&["--count", "instructions"], *arguments].concat());
        assert_eq!(counted.status.code(), Some(2), "{arguments:?}: {}", said(&counted));
        let told = said(&counted);
        assert!(words.iter().all(|word| told.contains(word)), "{arguments:?}: {told}");
        assert!(!place.0.path().join("run").exists(), "{arguments:?}: nothing is left");
    }
}

#[test]
#[ignore = "nightly: .ci/nightly"]
fn what_is_no_kernel_or_no_baseline_is_wrong_usage() {
    let place = Place::new();
    for (kernel, words) in [("./nowhere", "there is no file"), ("6.12;", "is no kernel")] {
        let output = place.lab("emulators", &["--count", "instructions", "--kernel", kernel]);
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        assert!(said(&output).contains(words), "{}", said(&output));
    }
}

/// A guest of the usual kernel with these options, ended after this.
fn guest(lab: &Lab, limit: &str, more: &[&str]) -> Output {
    let mut guest = lab.command(&[&["--count", "instructions", "--limit", limit], more].concat());
    let mut guest = guest.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    soon("the end of a guest", || guest.try_wait().unwrap().is_some());
    guest.wait_with_output().unwrap()
}

#[test]
#[ignore = "nightly: .ci/nightly"]
fn a_kernel_that_panics_shows_why_one_that_hangs_is_ended_and_one_without_drivers_says_which() {
    let lab = Lab::alone();
    let limits = ["--limit", "2s", "--count", "instructions"];
    // Fetches the kernel, if no other test has, and tells what is missing.
    if lab.run("kernels that bring no run back", &limits).is_none() {
        return;
    }
    let told = |output: &Output| {
        assert_eq!(output.status.code(), Some(2), "{}", said(output));
        said(output)
    };
    let panic = told(&guest(&lab, "3m", &["--append", "rdinit=/nowhere root=/dev/nowhere"]));
    assert!(panic.contains("Kernel panic - not syncing"), "its last lines: {panic}");
    // A kernel that may not restart halts for ever after its panic.
    let hang = told(&guest(&lab, "20s", &["--append", "rdinit=/nowhere root=/dev/nowhere panic=0"]));
    assert!(hang.contains("was ended after 20 s (--limit)") && hang.contains("ends with:"), "{hang}");
    // A kernel whose built-in drivers are not known: what it lacks shows in its guest.
    let mut cached =
        std::fs::read_dir(super::cache()).unwrap().map(|entry| entry.unwrap().path().join("vmlinuz"));
    let (kernel, modules) = (lab.folder().join("vmlinuz"), lab.folder().join("modules"));
    std::fs::copy(cached.find(|file| file.is_file()).unwrap(), &kernel).unwrap();
    std::fs::create_dir(&modules).unwrap();
    std::fs::write(modules.join("unrelated.ko"), "no driver").unwrap();
    let own = ["--kernel", kernel.to_str().unwrap(), "--modules", modules.to_str().unwrap()];
    let lacking = told(&guest(&lab, "3m", &own));
    assert!(lacking.contains("lacks their driver (CONFIG_VMXNET3"), "{lacking}");
    assert!(lacking.contains("lacks CONFIG_VIRTIO_BLK or CONFIG_VIRTIO_PCI"), "{lacking}");
}
