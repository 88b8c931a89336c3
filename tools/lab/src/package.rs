//! The kernel's package: which one, from where, and that it is the right one.
//!
//! In this order: a file that the user names; what the system's apt offers; Debian's own suites ([`super::debian`]). Their index is signed and names the SHA-256. Nothing is installed. Sources: deb(5), apt-cache(8).

use super::{missing, tool};
use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use syscost_host::Unavailable;

/// A package of a build of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    pub name: String,
    pub version: String,
    pub sha256: String,
    /// Where it is; `None`: apt fetches it, with these options.
    pub file: Option<PathBuf>,
    options: Vec<String>,
}

/// Before the release of a kernel, in the name of its package.
pub const IMAGE: &str = "linux-image-";
/// The version whose newest kernel a guest boots where nothing else is asked and the system's apt has none.
pub const USUAL: &str = "6.12";
/// Packages that depend on the newest kernel of their kind, the better first: several kernels are
/// in Debian 12, and the first of these is the newest there.
const META: [&str; 2] = ["linux-image-6.12-", IMAGE];

impl Package {
    /// A file that is there; its checksum is recorded as it is.
    pub fn at(file: PathBuf) -> Result<Package> {
        let (name, version) = named(&file);
        Ok(Package { name, version, sha256: sha256(&file)?, file: Some(file), options: Vec::new() })
    }

    /// The package's file, brought into `folder` where it is elsewhere, and checked.
    pub fn fetch(&self, folder: &Path) -> Result<PathBuf> {
        let file = match &self.file {
            Some(file) => file.clone(),
            None => self.download(folder)?,
        };
        let found = sha256(&file)?;
        if found != self.sha256 {
            let Package { name, version, sha256, .. } = self;
            bail!("{} has SHA-256 {found}, not {sha256}: it is not {name} {version}", file.display());
        }
        Ok(file)
    }

    fn download(&self, folder: &Path) -> Result<PathBuf> {
        let wanted = format!("{}={}", self.name, self.version);
        let mut apt = apt("apt-get", &self.options);
        apt.args(["download", "-q", &wanted]).current_dir(folder);
        tool::output(&mut apt, "apt").with_context(|| format!("apt cannot download {wanted}"))?;
        let files = debs(folder).context("cannot look for what apt downloaded")?;
        files.into_iter().find(|file| named(file).0 == self.name).context("apt downloaded nothing")
    }
}

/// What to do where no kernel can be fetched.
pub fn by_hand(cache: &Path, flavour: &str) -> Unavailable {
    missing(
        format!("there is no kernel ({flavour}) for the guest in {}", cache.display()),
        format!(
            "with apt and a network, leave out --offline; without, name a file linux-image-*-{flavour}*.deb of Debian \
             (https://packages.debian.org/linux-image-{flavour}) with --kernel"
        ),
    )
}

/// Name and version of the package in a file of this name.
fn named(file: &Path) -> (String, String) {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let stem = name.trim_end_matches(".deb");
    let (package, version) = stem.split_once('_').unwrap_or((stem, "of an unknown version"));
    (package.into(), version.split('_').next().unwrap_or_default().replace("%3a", ":"))
}

/// `6.12.107+deb13` of `linux-image-6.12.107+deb13-cloud-amd64-unsigned`, where that is the flavour.
pub fn release_of(name: &str, flavour: &str) -> Option<String> {
    let rest = name.strip_prefix(IMAGE)?.trim_end_matches("-unsigned");
    let release = rest.strip_suffix(flavour)?.strip_suffix('-')?;
    let plain = release.starts_with(|c: char| c.is_ascii_digit()) && !release.contains(['c', 'r'].as_slice());
    plain.then(|| release.to_string())
}

fn debs(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    let mut files: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "deb") && path.is_file());
    files.sort();
    Ok(files)
}

/// What the system's apt knows of the newest kernel of this flavour; `None` where there is no apt, or it does not.
pub fn offered_by_apt(flavour: &str) -> Option<Package> {
    META.iter().find_map(|meta| {
        let depends = shown(&format!("{meta}{flavour}"), &[])?.remove("Depends")?;
        let image = depends.split([',', ' ', '|']).find(|name| release_of(name, flavour).is_some())?;
        // The unsigned build is the same kernel, and is there where the signed one is not.
        [format!("{image}-unsigned"), image.to_string()].iter().find_map(|name| by_apt(name, &[]))
    })
}

/// apt with these options.
pub fn apt(program: &str, options: &[String]) -> std::process::Command {
    let mut command = tool::command(program);
    options.iter().for_each(|option| _ = command.args(["-o", option]));
    command
}

/// A package of the index of apt with these options.
pub fn by_apt(name: &str, options: &[String]) -> Option<Package> {
    let mut fields = shown(name, options)?;
    let (version, sha256) = (fields.remove("Version")?, fields.remove("SHA256")?);
    Some(Package { name: name.into(), version, sha256, file: None, options: options.to_vec() })
}

/// The fields of a package in the index of apt with these options.
pub fn shown(package: &str, options: &[String]) -> Option<BTreeMap<String, String>> {
    let mut show = apt("apt-cache", options);
    let text = tool::output(show.args(["show", "--no-all-versions", package]), "apt").ok()?;
    let fields = fields(&String::from_utf8_lossy(&text));
    fields.contains_key("Filename").then_some(fields)
}

/// The first paragraph of a control file; lines that continue a field are left out.
fn fields(text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().take_while(|line| !line.is_empty()).filter(|line| !line.starts_with(' '));
    let field =
        |line: &str| line.split_once(": ").map(|(key, value)| (key.to_string(), value.trim().to_string()));
    lines.filter_map(field).collect()
}

/// SHA-256 of a file, in hexadecimal digits.
pub fn sha256(path: &Path) -> Result<String> {
    let about = || format!("cannot read {}", path.display());
    let mut hasher = Sha256::new();
    io::copy(&mut File::open(path).with_context(about)?, &mut hasher).with_context(about)?;
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_read_by_its_first_paragraph() {
        let text = "Package: linux-image-6.12-cloud-amd64\nDepends: linux-image-6.12.117+deb12-cloud-amd64 (= 6.12)\n\
                    Description: Linux\n more: words\nSHA256: ab\n\nPackage: other\nSHA256: cd\n";
        let found = fields(text);
        assert_eq!(found["SHA256"], "ab");
        assert_eq!(found.len(), 4, "{found:?}");
    }

    #[test]
    fn flavours_are_told_apart() {
        let of = |name: &str| release_of(name, "cloud-amd64");
        assert_eq!(of("linux-image-6.1.0-50-cloud-amd64-unsigned").as_deref(), Some("6.1.0-50"));
        assert_eq!(of("linux-image-7.3.4+deb13-cloud-amd64").as_deref(), Some("7.3.4+deb13"));
        assert_eq!(of("linux-image-7.3.4+deb13-cloud-amd64-dbg"), None);
        assert_eq!(of("linux-image-cloud-amd64"), None);
        assert_eq!(release_of("linux-image-6.1.0-50-cloud-amd64", "amd64"), None);
        assert_eq!(release_of("linux-image-6.1.0-50-rt-amd64", "amd64"), None);
        assert_eq!(release_of("linux-image-amd64", "amd64"), None);
    }

    #[test]
    fn a_package_that_is_named_is_used_and_a_changed_one_refused() {
        let cache = tempfile::tempdir().unwrap();
        let file = cache.path().join("linux-image-6.12.1-cloud-amd64-unsigned_6.12.1-1_amd64.deb");
        fs::write(&file, "content").unwrap();
        let package = Package::at(file.clone()).unwrap();
        assert_eq!(
            (package.name.as_str(), package.version.as_str()),
            ("linux-image-6.12.1-cloud-amd64-unsigned", "6.12.1-1")
        );
        assert_eq!(package.fetch(cache.path()).unwrap(), file);
        fs::write(&file, "changed").unwrap();
        let error = package.fetch(cache.path()).unwrap_err();
        assert!(error.to_string().contains("SHA-256"), "{error}");
    }
}
