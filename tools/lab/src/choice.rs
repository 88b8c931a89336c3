//! Which kernel a guest boots: the lab's own choice, a version of Debian's, a package, or an image of the user's.
//!
//! What a file is, is read from its first bytes, so that the wrong one is refused before anything boots.
//! Sources: Documentation/arch/x86/boot.rst, Documentation/arch/arm64/booting.rst.

use super::Arch;
use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The highest version that Debian has and that is no release candidate.
pub const NEWEST: &str = "newest";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelChoice {
    /// The newest of its kind that the system's apt offers, else Debian's suites.
    Usual,
    /// A version in any suite of Debian.
    Debian(String),
    Package(PathBuf),
    Image {
        image: PathBuf,
        modules: Option<PathBuf>,
    },
}

impl KernelChoice {
    /// What stands on the command line: a file, or a version. Modules belong to images.
    pub fn parse(text: &str, modules: Option<&Path>) -> Result<KernelChoice> {
        let path = Path::new(text);
        if text.contains('/') || path.is_file() {
            if !path.is_file() {
                bail!(
                    "there is no file {text}: --kernel takes a .deb, a vmlinuz or bzImage, or a version of Debian's (6.12)"
                );
            }
            let path = std::path::absolute(path)?;
            let is_package = path.extension().is_some_and(|ending| ending == "deb");
            let modules = modules.map(std::path::absolute).transpose()?;
            return Ok(if is_package {
                KernelChoice::Package(path)
            } else {
                KernelChoice::Image { image: path, modules }
            });
        }
        let version = text == NEWEST || text.starts_with(|c: char| c.is_ascii_digit());
        if !version || !text.chars().all(|c| c.is_ascii_alphanumeric() || ".+-~".contains(c)) {
            bail!(
                "{text:?} is no kernel: name a version of Debian's (6.12, newest), a .deb, or a vmlinuz by its path (./bzImage)"
            );
        }
        Ok(KernelChoice::Debian(text.into()))
    }

    /// Is it another kernel when Debian has a newer one?
    pub fn moves(&self) -> bool {
        *self == KernelChoice::Usual || self.label() == NEWEST
    }

    /// What a user calls it, as the name of a directory.
    pub fn label(&self) -> String {
        let name = match self {
            KernelChoice::Usual => "usual".into(),
            KernelChoice::Debian(version) => version.clone(),
            KernelChoice::Package(path) => {
                path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
            }
            KernelChoice::Image { image, .. } => {
                image.file_name().unwrap_or_default().to_string_lossy().into_owned()
            }
        };
        name.chars().map(|c| if c.is_ascii_alphanumeric() || "._-+".contains(c) { c } else { '_' }).collect()
    }
}

/// What the head of an image says.
#[derive(Debug, PartialEq, Eq)]
pub struct ImageHead {
    /// As [`Arch::name`] has it; `None`: it does not say.
    pub arch: Option<&'static str>,
    pub release: Option<String>,
}

impl ImageHead {
    pub fn read(image: &Path) -> Result<ImageHead> {
        const MOST: u64 = 64 << 10;
        let mut head = Vec::new();
        let file = File::open(image).with_context(|| format!("cannot open {}", image.display()))?;
        file.take(MOST).read_to_end(&mut head).with_context(|| format!("cannot read {}", image.display()))?;
        ImageHead::of(&head).with_context(|| {
            format!(
                "{} is no image that boots: name the vmlinuz, bzImage or Image of a kernel",
                image.display()
            )
        })
    }

    /// `None`: no kernel that an emulator boots. An ELF `vmlinux` of x86 has no entry that qemu knows.
    fn of(head: &[u8]) -> Option<ImageHead> {
        if head.get(0x202..0x206) == Some(b"HdrS") {
            let at = u16::from_le_bytes([*head.get(0x20e)?, *head.get(0x20f)?]);
            let text = head.get(usize::from(at) + 0x200..)?;
            let text: Vec<u8> = text.iter().take(256).copied().take_while(|byte| *byte > b' ').collect();
            let release = String::from_utf8(text).ok().filter(|text| at > 0 && !text.is_empty());
            return Some(ImageHead { arch: Some("x86_64"), release });
        }
        if head.get(0x38..0x3c) == Some(b"ARM\x64") {
            return Some(ImageHead { arch: Some("aarch64"), release: None });
        }
        let packed = head.starts_with(&[0x1f, 0x8b]) || head.get(4..8) == Some(b"zimg");
        packed.then_some(ImageHead { arch: None, release: None })
    }

    /// An image of another machine is refused.
    pub fn fits(&self, arch: &Arch, image: &Path) -> Result<()> {
        match self.arch.filter(|named| *named != arch.name) {
            Some(other) => bail!(
                "{} is a kernel for {other}, and the guest is {}: choose with --arch {other}",
                image.display(),
                arch.name
            ),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_a_version_and_a_path_is_a_file() {
        let of = |text: &str| KernelChoice::parse(text, None);
        assert_eq!(of("6.12").unwrap(), KernelChoice::Debian("6.12".into()));
        assert_eq!(of("newest").unwrap().label(), "newest");
        for wrong in ["", "bzimage", "6.12;x", "./nowhere", "/nowhere/vmlinuz"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| {
            std::fs::write(folder.path().join(name), "x").unwrap();
            of(folder.path().join(name).to_str().unwrap()).unwrap()
        };
        assert!(matches!(file("a.deb"), KernelChoice::Package(_)));
        assert_eq!(file("bzImage").label(), "bzImage");
    }

    #[test]
    fn an_image_says_its_machine_and_its_release() {
        let mut bz_image = vec![0; 0x400];
        bz_image[0x202..0x206].copy_from_slice(b"HdrS");
        bz_image[0x20e..0x210].copy_from_slice(&0x100u16.to_le_bytes());
        bz_image[0x300..0x30a].copy_from_slice(b"6.12.9 (me");
        let head = ImageHead::of(&bz_image).unwrap();
        assert_eq!((head.arch, head.release.as_deref()), (Some("x86_64"), Some("6.12.9")));
        let arm = Arch::ALL.iter().find(|arch| arch.name == "aarch64").unwrap();
        assert!(head.fits(arm, Path::new("b")).unwrap_err().to_string().contains("--arch x86_64"));
        let mut image = vec![0; 0x40];
        image[0x38..0x3c].copy_from_slice(b"ARM\x64");
        assert_eq!(ImageHead::of(&image).unwrap().arch, Some("aarch64"));
        assert_eq!(ImageHead::of(b"#!/bin/sh"), None);
        assert_eq!(ImageHead::of(b""), None);
    }
}
