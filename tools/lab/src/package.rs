//! The kernel's package: which one, from where, and that it is the right one.
//!
//! In this order: a file that somebody put into the cache by hand; what apt offers, whose index is
//! signed and names the SHA-256; the package pinned here. Nothing is installed.
//! Sources: deb(5), apt-cache(8), <https://snapshot.debian.org> (files by their SHA-1, for good).

use super::{missing, tool};
use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// A package of a build of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    pub name: String,
    pub version: String,
    pub sha256: String,
    pub(crate) source: PackageSource,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PackageSource {
    /// A file that is there.
    Placed(PathBuf),
    /// By apt, with these options.
    Apt(Vec<String>),
    /// The first that answers with the right file.
    Urls(Vec<String>),
}

/// Packages whose content is known beforehand, for machines without Debian's apt: flavour, SHA-256 from Debian's
/// signed index, and the SHA-1 by which the archive of all packages finds it, also when it has left the pool.
const PINS: &[(&str, &str, &str)] = &[
    (
        "cloud-amd64",
        "670b2688bcf94c24693f7c7e1fc9776ff2e202ff15553a2614f79415d48a6607",
        "997acecb6b344ae0c6703844e37fb933c3986a07",
    ),
    (
        "amd64",
        "5de3e329c887173debec07ff1325c975cf4f286d364929d17fecb1e1325c5c46",
        "d9eec5ee7e148b0f0c7a6296af4eaabd146399b9",
    ),
    (
        "cloud-arm64",
        "2ed41c63574acc921cd58b5934cdd5c03d0e988ab6630357c2b61ac58040f5fb",
        "d770ab29f2b4bbd15e4fb58075d0c54fbee820e7",
    ),
];
const PINNED_RELEASE: &str = "6.12.117+deb12";
const PINNED_VERSION: &str = "6.12.117-1~deb12u1";
const POOL: &str = "https://deb.debian.org/debian-security/pool/updates/main/l/linux-6.12";

/// Packages that depend on the newest kernel of their kind, the better first: several kernels are
/// in Debian 12, and the first of these is the newest there.
const META: [&str; 2] = ["linux-image-6.12-", "linux-image-"];

impl Package {
    /// The package to take for this flavour, without fetching it.
    pub fn choose(cache: &Path, flavour: &str) -> Result<Package> {
        if let Some(placed) = placed(cache, flavour)? {
            return Ok(placed);
        }
        if let Some(offered) = offered_by_apt(flavour) {
            return Ok(offered);
        }
        Ok(pinned(flavour).map(|(package, _)| package).ok_or_else(|| by_hand(cache, flavour))?)
    }

    /// A file that is there; its checksum is recorded as it is.
    fn at(file: PathBuf) -> Result<Package> {
        let (name, version) = named(&file);
        Ok(Package { name, version, sha256: sha256(&file)?, source: PackageSource::Placed(file) })
    }

    /// Is its file on this machine already?
    pub fn is_here(&self) -> bool {
        matches!(self.source, PackageSource::Placed(_))
    }

    /// Brings the package's file into `folder`, and checks it.
    pub fn fetch(&self, cache: &Path, flavour: &str, folder: &Path) -> Result<PathBuf> {
        let file = match &self.source {
            PackageSource::Placed(file) => file.clone(),
            PackageSource::Apt(options) => self.download_with_apt(folder, options)?,
            PackageSource::Urls(urls) => {
                return self
                    .download(urls, folder)
                    .context(by_hand(cache, flavour))
                    .context("the kernel's package cannot be downloaded");
            }
        };
        self.verify(&file)?;
        Ok(file)
    }

    fn download_with_apt(&self, folder: &Path, options: &[String]) -> Result<PathBuf> {
        let wanted = format!("{}={}", self.name, self.version);
        let mut apt = tool::command("apt-get");
        options.iter().for_each(|option| _ = apt.args(["-o", option]));
        apt.args(["download", "-q", &wanted]).current_dir(folder);
        tool::output(&mut apt, "apt").with_context(|| format!("apt cannot download {wanted}"))?;
        let files = debs(folder).context("cannot look for what apt downloaded")?;
        let named = format!("{}_", self.name);
        let is_it =
            |file: &PathBuf| file.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&named));
        files.into_iter().find(is_it).context("apt downloaded nothing")
    }

    fn download(&self, urls: &[String], folder: &Path) -> Result<PathBuf> {
        let file = folder.join("kernel.deb");
        let mut errors = Vec::new();
        for url in urls {
            let mut curl = tool::command("curl");
            curl.args("-fsSL --proto =http,https --connect-timeout 20 --max-time 300 -o".split(' '));
            curl.arg(&file).arg(url);
            match tool::output(&mut curl, "curl").and_then(|_| self.verify(&file)) {
                Ok(()) => return Ok(file),
                Err(error) => errors.push(format!("{url}: {error:#}")),
            }
        }
        bail!("{}", errors.join("; "))
    }

    fn verify(&self, file: &Path) -> Result<()> {
        let found = sha256(file)?;
        if found != self.sha256 {
            let Package { name, version, sha256, .. } = self;
            bail!("{} has SHA-256 {found}, not {sha256}: it is not {name} {version}", file.display());
        }
        Ok(())
    }
}

/// The pinned package of a flavour, and where it lies: in the pool, and in the archive of all packages.
fn pinned(flavour: &str) -> Option<(Package, [String; 2])> {
    let (_, sha256, sha1) = PINS.iter().find(|(pinned, ..)| *pinned == flavour)?;
    let name = format!("linux-image-{PINNED_RELEASE}-{flavour}-unsigned");
    let arch = flavour.rsplit('-').next()?;
    let urls = [
        format!("{POOL}/{name}_{PINNED_VERSION}_{arch}.deb"),
        format!("https://snapshot.debian.org/file/{sha1}"),
    ];
    let source = PackageSource::Urls(urls.to_vec());
    Some((Package { name, version: PINNED_VERSION.into(), sha256: sha256.to_string(), source }, urls))
}

/// What to do where nothing can be downloaded.
pub fn by_hand(cache: &Path, flavour: &str) -> syscost_host::Unavailable {
    let example = pinned(flavour).map_or(String::new(), |(package, [url, _])| {
        format!(": for instance {url} (SHA-256 {})", package.sha256)
    });
    missing(
        format!("there is no kernel ({flavour}) for the guest in {}", cache.display()),
        format!(
            "with a network, leave out --offline; without, put a file linux-image-*-{flavour}*.deb of Debian into {}{example}",
            cache.display()
        ),
    )
}

/// A file that fits this flavour, put there by hand.
fn placed(cache: &Path, flavour: &str) -> Result<Option<Package>> {
    let files = debs(cache).unwrap_or_default();
    let fitting = files.into_iter().find(|file| is_of_flavour(&named(file).0, flavour));
    fitting.map(Package::at).transpose()
}

/// Name and version of the package in a file of this name.
fn named(file: &Path) -> (String, String) {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let stem = name.trim_end_matches(".deb");
    let (package, version) = stem.split_once('_').unwrap_or((stem, "of an unknown version"));
    (package.into(), version.split('_').next().unwrap_or_default().replace("%3a", ":"))
}

/// A package that the user named, and the other parts of the same kernel that lie beside it.
pub fn named_by_user(file: &Path) -> Result<Vec<Package>> {
    let first = Package::at(file.into())?;
    let parts = ["linux-image-", "linux-binary-unsigned-", "linux-binary-", "linux-modules-", "linux-base-"];
    let release = |name: &str| {
        let rest = parts.iter().find_map(|part| name.strip_prefix(part));
        rest.map(|rest| rest.trim_end_matches("-unsigned").to_string())
    };
    let Some(own) = release(&first.name) else { return Ok(vec![first]) };
    let beside = debs(file.parent().unwrap_or(Path::new(".")))?.into_iter().filter(|other| other != file);
    let same = beside.filter(|other| {
        let (name, version) = named(other);
        release(&name).as_ref() == Some(&own) && version == first.version
    });
    let others = same.map(Package::at).collect::<Result<Vec<_>>>()?;
    Ok(std::iter::once(first).chain(others).collect())
}

/// `linux-image-6.12.117+deb12-cloud-amd64-unsigned` is of flavour `cloud-amd64`, not `amd64`.
fn is_of_flavour(package: &str, flavour: &str) -> bool {
    let version = package.trim_end_matches("-unsigned").strip_prefix("linux-image-");
    let version = version.and_then(|rest| rest.strip_suffix(flavour)?.strip_suffix('-'));
    version.is_some_and(|version| {
        version.starts_with(|c: char| c.is_ascii_digit()) && !version.contains("cloud")
    })
}

fn debs(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    let mut files: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "deb") && path.is_file());
    files.sort();
    Ok(files)
}

/// What apt knows of the newest kernel of this flavour; `None` where there is no apt, or it does not.
fn offered_by_apt(flavour: &str) -> Option<Package> {
    META.iter().find_map(|meta| {
        let depends = shown(&format!("{meta}{flavour}"), &[])?.remove("Depends")?;
        let image = depends.split([',', ' ', '|']).find(|name| is_of_flavour(name, flavour))?.to_string();
        // The unsigned build is the same kernel, and is there where the signed one is not.
        let names = [format!("{image}-unsigned"), image];
        names.iter().find_map(|name| by_apt(name, &[]))
    })
}

/// A package of the index of apt with these options.
pub fn by_apt(name: &str, options: &[String]) -> Option<Package> {
    let mut fields = shown(name, options)?;
    let (version, sha256) = (fields.remove("Version")?, fields.remove("SHA256")?);
    Some(Package { name: name.into(), version, sha256, source: PackageSource::Apt(options.to_vec()) })
}

/// The fields of a package in the index of apt with these options.
pub fn shown(package: &str, options: &[String]) -> Option<BTreeMap<String, String>> {
    let mut show = tool::command("apt-cache");
    options.iter().for_each(|option| _ = show.args(["-o", option]));
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

/// The archive of the package's files (`data.tar.xz`), copied out of the package. A package is an
/// ar archive: ar(5).
pub fn extract_data(package: &Path, folder: &Path) -> Result<PathBuf> {
    let about = || format!("{} is not a sound Debian package", package.display());
    let mut file = File::open(package).with_context(|| format!("cannot open {}", package.display()))?;
    let mut magic = [0; 8];
    file.read_exact(&mut magic).with_context(about)?;
    if &magic != b"!<arch>\n" {
        bail!("{}", about());
    }
    loop {
        let mut header = [0; 60];
        file.read_exact(&mut header).with_context(about)?;
        let text = |range: std::ops::Range<usize>| String::from_utf8_lossy(&header[range]).trim().to_string();
        let (name, bytes) = (text(0..16), text(48..58).parse::<u64>().with_context(about)?);
        let name = name.trim_end_matches('/');
        if name.starts_with("data.tar") && !name.contains('/') {
            let to = folder.join(name);
            let copied = io::copy(&mut Read::take(&mut file, bytes), &mut File::create(&to)?)?;
            return if copied == bytes { Ok(to) } else { bail!("{}", about()) };
        }
        file.seek(SeekFrom::Current(i64::try_from(bytes + bytes % 2).with_context(about)?))?;
    }
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
        assert!(is_of_flavour("linux-image-6.12.117+deb12-cloud-amd64-unsigned", "cloud-amd64"));
        assert!(is_of_flavour("linux-image-6.1.0-9-amd64", "amd64"));
        assert!(!is_of_flavour("linux-image-6.12.117+deb12-cloud-amd64", "amd64"));
        assert!(!is_of_flavour("linux-image-amd64", "amd64"));
    }

    #[test]
    fn a_package_that_was_placed_is_used_and_a_changed_one_refused() {
        let cache = tempfile::tempdir().unwrap();
        let file = cache.path().join("linux-image-6.12.1-cloud-amd64-unsigned_6.12.1-1_amd64.deb");
        fs::write(&file, "content").unwrap();
        let package = Package::choose(cache.path(), "cloud-amd64").unwrap();
        assert_eq!(
            (package.name.as_str(), package.version.as_str()),
            ("linux-image-6.12.1-cloud-amd64-unsigned", "6.12.1-1")
        );
        assert_eq!(package.fetch(cache.path(), "cloud-amd64", cache.path()).unwrap(), file);
        fs::write(&file, "changed").unwrap();
        let error = package.fetch(cache.path(), "cloud-amd64", cache.path()).unwrap_err();
        assert!(error.to_string().contains("SHA-256"), "{error}");
    }

    #[test]
    fn the_data_of_a_package_is_found_behind_its_other_members() {
        let folder = tempfile::tempdir().unwrap();
        let member = |name: &str, content: &str| {
            let padding = if content.len() % 2 == 1 { "\n" } else { "" };
            format!(
                "{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n{content}{padding}",
                0,
                0,
                0,
                100644,
                content.len()
            )
        };
        let deb = folder.path().join("a.deb");
        let whole = format!("!<arch>\n{}{}", member("debian-binary", "2.0"), member("data.tar.xz", "files"));
        fs::write(&deb, &whole).unwrap();
        let data = extract_data(&deb, folder.path()).unwrap();
        assert_eq!(fs::read_to_string(data).unwrap(), "files");
        for wrong in [&whole[..whole.len() - 3], "!<arch>\n", "PK"] {
            fs::write(&deb, wrong).unwrap();
            assert!(extract_data(&deb, folder.path()).is_err());
        }
    }
}
