//! What a dynamically linked program needs to run in a guest that has no libraries: its loader and
//! its shared libraries, from this machine.
//!
//! The loader itself is asked (`ld.so --list`), which is what ldd(1) does. A static program has no
//! loader and needs nothing. Source: elf(5), ld.so(8).

use super::{Arch, tool};
use anyhow::{Context, Result, bail};
use object::read::elf::{ElfFile64, ProgramHeader};
use object::{Architecture, Endianness, Object};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The files that the program needs at these same paths, in a guest of this kind.
pub fn of(program: &Path, arch: &Arch) -> Result<Vec<PathBuf>> {
    // The loader that is asked has a "self" of its own.
    let named_by_process = format!("/proc/{}/exe", std::process::id());
    let program = if program == Path::new("/proc/self/exe") { Path::new(&named_by_process) } else { program };
    let bytes = std::fs::read(program).with_context(|| format!("cannot read {}", program.display()))?;
    let (machine, loader) =
        loader(&bytes).with_context(|| format!("cannot use {} in a guest", program.display()))?;
    if machine != arch.elf {
        bail!("{} is no program for {}: {}", program.display(), arch.name, arch.build_command());
    }
    let Some(loader) = loader else { return Ok(Vec::new()) };
    if Arch::here() != Some(arch) {
        bail!("{} is not static: {}", program.display(), arch.build_command());
    }
    let listed = tool::output(tool::command(&loader).arg("--list").arg(program), "libc6")?;
    let mut files = listed_files(&String::from_utf8_lossy(&listed))?;
    files.insert(PathBuf::from(loader));
    Ok(files.into_iter().collect())
}

/// Whose program it is, and the program that loads it, if it is dynamically linked.
fn loader(elf: &[u8]) -> Result<(Architecture, Option<String>)> {
    let file = ElfFile64::<Endianness>::parse(elf).context("it is no 64-bit ELF program")?;
    for header in file.elf_program_headers() {
        if let Some(name) = header.interpreter(file.endian(), elf)? {
            let name = std::str::from_utf8(name).context("the name of its loader is no text")?;
            return Ok((file.architecture(), Some(name.to_string())));
        }
    }
    Ok((file.architecture(), None))
}

/// `libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x7f..)`, or a path alone; the kernel's own
/// library has no file.
fn listed_files(text: &str) -> Result<BTreeSet<PathBuf>> {
    let mut files = BTreeSet::new();
    for line in text.lines().map(str::trim) {
        if line.ends_with("not found") {
            bail!("a shared library is missing: {line}");
        }
        let place = line.split_once(" => ").map_or(line, |(_, place)| place);
        let path = place.rsplit_once(" (").map_or(place, |(path, _)| path);
        if path.starts_with('/') {
            files.insert(PathBuf::from(path));
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_test_needs_a_libc_or_is_static() {
        let here = Arch::here().expect("a kind that can be emulated");
        let other = Arch::ALL.iter().find(|arch| *arch != here).unwrap();
        let error = of(Path::new("/proc/self/exe"), other).unwrap_err().to_string();
        assert!(error.contains("--binary"), "{error}");
        let needed = of(Path::new("/proc/self/exe"), here).unwrap();
        let libc = |path: &PathBuf| {
            path.to_string_lossy().contains("libc") || path.to_string_lossy().contains("musl")
        };
        assert!(needed.is_empty() || needed.iter().any(libc), "{needed:?}");
        assert!(needed.iter().all(|path| path.is_file()), "{needed:?}");
    }

    #[test]
    fn a_listing_is_read_and_a_missing_library_is_an_error() {
        let text =
            "\tlinux-vdso.so.1 (0x7f)\n\tlibm.so.6 => /lib/libm.so.6 (0x7f)\n\t/lib64/ld-linux.so.2 (0x7f)\n";
        let files: Vec<String> =
            listed_files(text).unwrap().iter().map(|p| p.display().to_string()).collect();
        assert_eq!(files, ["/lib/libm.so.6", "/lib64/ld-linux.so.2"]);
        assert!(listed_files("libx.so => not found").is_err());
        assert!(loader(b"#!/bin/sh").is_err());
    }
}
