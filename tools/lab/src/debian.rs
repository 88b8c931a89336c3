//! Kernels of every suite that Debian's mirrors hold, by version: `6.1`, `6.12.107`, `newest`.
//!
//! apt reads the suites' indexes into the lab's cache and checks their signatures by Debian's own keyring; the system's apt
//! is neither asked nor changed. Since 7.2 a kernel is three packages. Sources: apt.conf(5), sources.list(5).

use super::choice::NEWEST;
use super::package::{IMAGE, Package, apt, by_apt, release_of, shown};
use super::{missing, tool};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

const MIRROR: &str = "http://deb.debian.org";
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// Each archive and its suites; a mirror that lacks one has the others.
const SUITES: &[(&str, &[&str])] = &[
    (
        "debian",
        &[
            "oldoldstable",
            "oldstable",
            "oldstable-backports",
            "stable",
            "stable-backports",
            "testing",
            "unstable",
            "experimental",
        ],
    ),
    ("debian-security", &["oldstable-security", "stable-security"]),
];
/// An index that is older is read again.
const FRESH: Duration = Duration::from_secs(24 * 3600);
/// Parts of a kernel that is split: its release follows.
const PARTS: [&str; 3] = ["linux-base-", "linux-binary-", "linux-modules-"];

/// apt, told to look into these suites alone.
pub struct Suites {
    options: Vec<String>,
}

impl Suites {
    /// The indexes in this cache, read again where they are old.
    pub fn open(cache: &Path, arch: &str, watch: &mut dyn FnMut(&str)) -> Result<Suites> {
        let place = cache.join(format!("suites-{arch}"));
        for folder in ["lists/partial", "archives/archives/partial"] {
            fs::create_dir_all(place.join(folder)).context("cannot make a directory for Debian's indexes")?;
        }
        if !Path::new(KEYRING).exists() {
            let what = format!("Debian's signatures cannot be checked: {KEYRING} is not there");
            return Err(
                missing(what, "install it (apt-get install debian-archive-keyring), or name a .deb").into()
            );
        }
        let source = |archive: &str, suite: &str| {
            format!("deb [signed-by={KEYRING}] {MIRROR}/{archive} {suite} main\n")
        };
        let sources: String = SUITES
            .iter()
            .flat_map(|(archive, suites)| suites.iter().map(|suite| source(archive, suite)))
            .collect();
        let list = place.join("sources.list");
        fs::write(&list, sources)?;
        let set = |key: &str, value: &Path| format!("{key}={}", value.display());
        let mut options = vec![
            set("Dir::Etc::sourcelist", &list),
            "Dir::Etc::sourceparts=/dev/null".into(),
            set("Dir::State::lists", &place.join("lists")),
            set("Dir::Cache", &place.join("archives")),
            "Dir::State::status=/dev/null".into(),
            format!("APT::Architecture={arch}"),
            format!("APT::Architectures={arch}"),
            "APT::Update::Post-Invoke-Success=".into(),
            "Acquire::Languages=none".into(),
            "APT::Sandbox::User=root".into(),
        ];
        for kind in ["DEP-11", "DEP-11-icons-small", "DEP-11-icons", "DEP-11-icons-large", "CNF"] {
            options.push(format!("Acquire::IndexTargets::deb::{kind}::DefaultEnabled=false"));
        }
        let suites = Suites { options };
        let stamp = place.join("read");
        let age = fs::metadata(&stamp).and_then(|about| about.modified());
        let is_fresh = age.is_ok_and(|at| SystemTime::now().duration_since(at).is_ok_and(|age| age < FRESH));
        if !is_fresh {
            watch("reading the indexes of Debian's suites");
            let mut update = apt("apt-get", &suites.options);
            // A mirror may lack a suite: what came is used, and what came is signed.
            let read = tool::output(update.args(["-q", "update"]), "apt");
            if suites.images()?.is_empty() {
                read.context("apt cannot read Debian's indexes")?;
            }
            fs::write(&stamp, "")?;
        }
        Ok(suites)
    }

    /// Names of all packages that are kernels.
    fn images(&self) -> Result<Vec<String>> {
        let names = tool::output(apt("apt-cache", &self.options).args(["pkgnames", IMAGE]), "apt")?;
        Ok(String::from_utf8_lossy(&names).lines().map(str::to_string).collect())
    }

    /// The packages of the highest kernel of this flavour whose version is, or begins with, what was asked.
    pub fn find(&self, asked: &str, flavour: &str) -> Result<Vec<Package>> {
        let images = self.images()?;
        let mut fitting: Vec<(Vec<u64>, &String)> = images
            .iter()
            .filter_map(|name| Some((release_of(name, flavour)?, name)))
            .filter(|(release, _)| fits(release, asked))
            .map(|(release, name)| (numbers(&release), name))
            .collect();
        fitting.sort();
        let Some((_, image)) = fitting.pop() else {
            let mut known: Vec<String> = images.iter().filter_map(|name| release_of(name, flavour)).collect();
            known.sort_by_key(|release| numbers(release));
            known.dedup();
            bail!("Debian's suites have no kernel {asked} ({flavour}); they have {}", known.join(" "));
        };
        let whole = self.package(image)?;
        let depends = shown(image, &self.options).and_then(|mut fields| fields.remove("Depends"));
        let depends = depends.unwrap_or_default();
        let named =
            depends.split([',', ' ', '|']).filter(|name| PARTS.iter().any(|part| name.starts_with(part)));
        let parts = named.map(|name| self.package(name)).collect::<Result<Vec<_>>>()?;
        Ok(if parts.is_empty() { vec![whole] } else { parts })
    }

    fn package(&self, name: &str) -> Result<Package> {
        by_apt(name, &self.options).with_context(|| format!("apt does not know {name}"))
    }
}

/// `6.1.0-50` is a 6.1, and no 6.
fn fits(release: &str, asked: &str) -> bool {
    if asked == NEWEST {
        // A candidate has no third number.
        return numbers(release).len() > 2;
    }
    release.strip_prefix(asked).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-', '+', '~']))
}

fn numbers(release: &str) -> Vec<u64> {
    release.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_told_from_longer_versions() {
        assert!(
            fits("6.1.0-50", "6.1") && fits("6.12.107+deb13", "6.12.107") && fits("6.12.107+deb13", "6.12")
        );
        assert!(!fits("6.12.107+deb13", "6.1") && !fits("6.12.107+deb13", "6.12.10"));
        assert!(fits("7.3.4+deb13", NEWEST) && !fits("7.3", NEWEST));
        assert!(
            numbers("6.12.107+deb13") > numbers("6.12.94+deb13") && numbers("6.1.0-54") > numbers("6.1.0-50")
        );
    }
}
