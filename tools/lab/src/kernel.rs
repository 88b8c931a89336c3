//! Kernels in the cache: unpacked once, checked at every use, never installed.
//!
//! A folder per flavour holds the kernel, the modules that a guest may need, and what they are in
//! `kernel.json`. It appears whole or not at all; removing it makes the next lab fetch it again.

use super::choice::{ImageHead, KernelChoice};
use super::debian::Suites;
use super::modules::{self, Module};
use super::package::{self, Package, sha256};
use super::{Arch, Nic, guest, tool};
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use syscost_host::Unavailable;
use syscost_host::cleaner::OwnedDirectory;
use syscost_sys::place;

const VMLINUZ: &str = "vmlinuz";
/// Whatever the umask is.
const OURS_ALONE: u32 = 0o755;
const DESCRIPTION: &str = "kernel.json";

/// A kernel of the cache.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Kernel {
    #[serde(skip)]
    folder: PathBuf,
    /// Name and version of the package that it is from.
    pub package: String,
    package_sha256: String,
    pub release: String,
    vmlinuz_sha256: String,
    modules: Vec<Module>,
    /// Without a list, what a kernel lacks shows in its guest.
    builtin: Option<Vec<String>>,
}

impl Kernel {
    pub fn vmlinuz(&self) -> PathBuf {
        self.folder.join(VMLINUZ)
    }

    /// The file of a module, not compressed.
    pub fn module(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.ko"))
    }

    pub fn load_order(&self, wanted: &[&str], optional: &[&str]) -> Result<Vec<String>, Unavailable> {
        let there = |name: &&&str| self.modules.iter().any(|module| module.name == modules::canonical(name));
        let wanted: Vec<&str> =
            wanted.iter().filter(|name| self.builtin.is_some() || there(name)).copied().collect();
        modules::load_order(&self.modules, self.builtin.as_deref().unwrap_or_default(), &wanted, optional)
    }

    /// Is every file what it was when it was unpacked?
    fn verify(&self) -> Result<()> {
        let kernel = std::iter::once((self.vmlinuz(), &self.vmlinuz_sha256));
        for (file, recorded) in kernel.chain(self.modules.iter().map(|m| (self.module(&m.name), &m.sha256))) {
            if sha256(&file)? != *recorded {
                bail!("{} is not what was unpacked: remove {}", file.display(), self.folder.display());
            }
        }
        Ok(())
    }
}

/// What is wanted of the cache.
pub struct WantedKernel<'a> {
    pub choice: &'a KernelChoice,
    /// The build of Debian's kernel.
    pub flavour: &'a str,
    pub arch: &'a Arch,
    pub offline: bool,
}

/// The kernel of this choice: from the cache, or fetched into it. An image of the user's is taken as it is at this moment, into
/// `scratch`.
pub fn get(
    cache: &Path,
    wanted: &WantedKernel<'_>,
    scratch: &Path,
    watch: &mut dyn FnMut(&str),
) -> Result<Kernel> {
    let flavour = wanted.flavour;
    let name = match wanted.choice {
        KernelChoice::Image { image, modules } => {
            return of_image(image, modules.as_deref(), wanted.arch, scratch);
        }
        KernelChoice::Usual => flavour.to_string(),
        KernelChoice::Debian(version) => format!("{flavour}@{version}"),
        KernelChoice::Package(file) => format!("{flavour}@{}", &sha256(file)?[..16]),
    };
    let folder = cache.join(name);
    let fresh = !cache.exists();
    let held =
        place::make(cache).with_context(|| format!("cannot make the directory {}", cache.display()))?;
    if fresh {
        held.set_permissions(Permissions::from_mode(OURS_ALONE))?;
    }
    refuse_shared(cache)?;
    if folder.exists() {
        return load(&folder);
    }
    let packages = match wanted.choice {
        KernelChoice::Package(file) => vec![Package::at(file.clone())?],
        KernelChoice::Debian(version) if wanted.offline => bail!(
            "the cache has no kernel {version}, and --offline fetches none: leave it out, or name a .deb with --kernel"
        ),
        KernelChoice::Debian(version) => {
            Suites::open(cache, wanted.arch.debian, watch)?.find(version, flavour)?
        }
        _ if wanted.offline => return Err(package::by_hand(cache, flavour).into()),
        _ => match package::offered_by_apt(flavour) {
            Some(offered) => vec![offered],
            None => Suites::open(cache, wanted.arch.debian, watch)
                .and_then(|suites| suites.find(package::USUAL, flavour))
                .with_context(|| package::by_hand(cache, flavour))?,
        },
    };
    let staging = OwnedDirectory::create(cache).context("cannot make a directory in the cache")?;
    let mut files = Vec::new();
    for package in &packages {
        if package.file.is_none() {
            watch(&format!("fetching {}", package.name));
        }
        files.push(package.fetch(staging.path())?);
    }
    watch(&format!("unpacking {}", packages[0].name));
    let new = unpack(&packages, &files, wanted.arch, staging.path())?;
    match fs::rename(&new, &folder) {
        Ok(()) => {}
        // Another lab was faster.
        Err(_) if folder.exists() => {}
        Err(error) => return Err(error).with_context(|| format!("cannot keep {}", folder.display())),
    }
    load(&folder)
}

/// What a kernel should be lies beside it: whoever may change one may change both.
fn refuse_shared(folder: &Path) -> Result<()> {
    if place::is_private(place::open(folder)?)? {
        return Ok(());
    }
    bail!(
        "other users may change {}, and so the kernel that the lab would boot: name another directory with --cache, or make it yours alone (chown, chmod go-w)",
        folder.display()
    )
}

fn load(folder: &Path) -> Result<Kernel> {
    refuse_shared(folder)?;
    let about = || format!("{} is no kernel of the lab: remove it", folder.display());
    let text = fs::read_to_string(folder.join(DESCRIPTION)).with_context(about)?;
    let mut kernel: Kernel = serde_json::from_str(&text).with_context(about)?;
    kernel.folder = folder.to_path_buf();
    kernel.verify()?;
    Ok(kernel)
}

/// Unpacks the packages of a kernel in `staging` and puts what guests need into a folder of its own.
fn unpack(packages: &[Package], files: &[PathBuf], arch: &Arch, staging: &Path) -> Result<PathBuf> {
    let tree = staging.join("tree");
    fs::create_dir(&tree)?;
    for file in files {
        tool::output(tool::command("dpkg-deb").arg("--extract").arg(file).arg(&tree), "dpkg")?;
    }
    let new = staging.join("new");
    fs::create_dir(&new)?;
    fs::set_permissions(&new, Permissions::from_mode(OURS_ALONE))?;
    let (image, folder) = found_in(&tree)?;
    ImageHead::read(&image)?.fits(arch, &image)?;
    let release = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let [names, sums] = [|p: &Package| format!("{} {}", p.name, p.version), |p: &Package| p.sha256.clone()]
        .map(|of| packages.iter().map(of).collect::<Vec<_>>().join(", "));
    let kernel = pick([names, sums, release], &image, Some(&folder), &new)?;
    fs::write(new.join(DESCRIPTION), serde_json::to_string_pretty(&kernel)?)?;
    Ok(new)
}

/// The image and the modules of an unpacked kernel: in /boot until 7.1, beside its modules since.
fn found_in(tree: &Path) -> Result<(PathBuf, PathBuf)> {
    let boot = fs::read_dir(tree.join("boot")).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut images = boot.filter_map(|path| {
        let release = path.file_name()?.to_str()?.strip_prefix("vmlinuz-")?.to_string();
        Some((path, release))
    });
    let parents = ["lib/modules", "usr/lib/modules"].map(|folder| tree.join(folder));
    if let Some((image, release)) = images.next() {
        let folder = parents.iter().map(|parent| parent.join(&release)).find(|folder| folder.is_dir());
        return Ok((image, folder.context("the package has no modules")?));
    }
    let folders = parents.iter().flat_map(|parent| fs::read_dir(parent).into_iter().flatten().flatten());
    let mut with_image = folders.map(|entry| entry.path()).filter(|folder| folder.join(VMLINUZ).is_file());
    let folder = with_image.next().context(
        "the package has no kernel with its modules in it: unpack its parts (dpkg-deb --extract), and name vmlinuz and --modules",
    )?;
    Ok((folder.join(VMLINUZ), folder))
}

/// The user's own image, with the modules of its release: named, beside it, or installed.
fn of_image(image: &Path, modules: Option<&Path>, arch: &Arch, scratch: &Path) -> Result<Kernel> {
    let head = ImageHead::read(image)?;
    head.fits(arch, image)?;
    let installed = |release: &String| {
        let beside = image.parent().unwrap_or(Path::new(".")).join("lib/modules");
        [beside, "/lib/modules".into()].into_iter().map(|p| p.join(release)).find(|folder| folder.is_dir())
    };
    let folder = match modules {
        Some(named) => Some(modules_of(named, head.release.as_deref(), image)?),
        None => head.release.as_ref().and_then(installed),
    };
    let new = scratch.join("kernel");
    fs::create_dir(&new)?;
    let sha256 = sha256(image)?;
    let release = head.release.clone().unwrap_or_else(|| "of an unknown release".into());
    let package = format!("{} {release} (SHA-256 {})", image.display(), &sha256[..16]);
    pick([package, sha256, release], image, folder.as_deref(), &new)
}

/// The folder of this release's modules, which the user named or which lies in it.
fn modules_of(named: &Path, release: Option<&str>, image: &Path) -> Result<PathBuf> {
    let release_below =
        release.map(|release| ["", "lib/modules"].map(|below| named.join(below).join(release)));
    if let Some(folder) = release_below.into_iter().flatten().find(|folder| folder.is_dir()) {
        return Ok(folder);
    }
    let files =
        module_files(named).with_context(|| format!("cannot read the modules in {}", named.display()))?;
    let Some(first) = files.values().next() else {
        bail!("there is no module (*.ko) in {}", named.display())
    };
    let of = modules::release(&plain(first)?);
    match (of, release) {
        (Some(of), Some(release)) if of != release => bail!(
            "the modules in {} are of {of}, and {} is {release}: name the modules of the same build",
            named.display(),
            image.display()
        ),
        _ => Ok(named.into()),
    }
}

/// Copies the kernel of this package, checksum and release, and the modules that some guest wants, with all that they need.
fn pick(
    [package, package_sha256, release]: [String; 3],
    image: &Path,
    folder: Option<&Path>,
    new: &Path,
) -> Result<Kernel> {
    fs::copy(image, new.join(VMLINUZ))?;
    let files = folder.map_or(Ok(BTreeMap::new()), module_files)?;
    let mut modules: Vec<Module> = Vec::new();
    let mut left = wanted();
    while let Some(name) = left.pop() {
        let Some(file) = files.get(&name).filter(|_| modules.iter().all(|m| m.name != name)) else {
            continue;
        };
        let to = new.join(format!("{name}.ko"));
        let object = plain(file)?;
        fs::write(&to, &object)?;
        let depends = modules::depends(&object);
        left.extend(depends.iter().cloned());
        modules.push(Module { name, depends, sha256: sha256(&to)? });
    }
    let builtin = folder.and_then(|folder| fs::read_to_string(folder.join("modules.builtin")).ok());
    Ok(Kernel {
        folder: new.to_path_buf(),
        package,
        package_sha256,
        release,
        vmlinuz_sha256: sha256(&new.join(VMLINUZ))?,
        modules,
        builtin: builtin.map(|text| text.lines().filter_map(modules::name_of).collect()),
    })
}

/// Whatever any guest may load.
fn wanted() -> Vec<String> {
    let of_devices = Nic::ALL.iter().map(|nic| &nic.module);
    let all = [guest::DISK_MODULES, guest::DISK_BUS_MODULES, guest::OPTIONAL_MODULES].into_iter().flatten();
    all.chain(of_devices).map(|name| modules::canonical(name)).collect()
}

/// Every module below this folder, by name.
fn module_files(folder: &Path) -> Result<BTreeMap<String, PathBuf>> {
    let (mut files, mut folders) = (BTreeMap::new(), vec![folder.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else if let Some(name) = modules::name_of(&entry.file_name().to_string_lossy()) {
                files.insert(name, entry.path());
            }
        }
    }
    Ok(files)
}

/// A module as the kernel takes it from anybody: not compressed.
fn plain(file: &Path) -> Result<Vec<u8>> {
    if file.extension().is_some_and(|ending| ending == "xz") {
        return tool::output(tool::command("xz").arg("-dc").arg(file), "xz-utils");
    }
    fs::read(file).with_context(|| format!("cannot read {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usual() -> WantedKernel<'static> {
        WantedKernel {
            choice: &KernelChoice::Usual,
            flavour: "cloud-amd64",
            arch: &Arch::ALL[0],
            offline: true,
        }
    }

    #[test]
    fn modules_of_another_build_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("veth.ko"), b"\0depends=\0vermagic=6.1.0-50 SMP mod_unload \0").unwrap();
        let of = |release| modules_of(folder.path(), Some(release), Path::new("bzImage"));
        assert_eq!(of("6.1.0-50").unwrap(), folder.path());
        let error = of("6.12.9").unwrap_err().to_string();
        assert!(error.contains("6.1.0-50") && error.contains("6.12.9"), "{error}");
        let empty = tempfile::tempdir().unwrap();
        assert!(modules_of(empty.path(), None, Path::new("bzImage")).is_err());
    }

    #[test]
    fn a_changed_cache_is_refused() {
        let cache = tempfile::tempdir().unwrap();
        let folder = cache.path().join("cloud-amd64");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join(VMLINUZ), "kernel").unwrap();
        let kernel = Kernel {
            folder: PathBuf::new(),
            package: "linux-image-1 1".into(),
            package_sha256: String::new(),
            release: "1".into(),
            vmlinuz_sha256: sha256(&folder.join(VMLINUZ)).unwrap(),
            modules: Vec::new(),
            builtin: Some(vec!["virtio_pci".into()]),
        };
        fs::write(folder.join(DESCRIPTION), serde_json::to_string(&kernel).unwrap()).unwrap();
        let get = || get(cache.path(), &usual(), cache.path(), &mut |_| {});
        assert_eq!(get().unwrap().vmlinuz(), folder.join(VMLINUZ));
        assert!(get().unwrap().load_order(&["vmxnet3"], &[]).is_err(), "it has no such module");
        for shared in [cache.path(), &folder] {
            let allow = |mode| fs::set_permissions(shared, Permissions::from_mode(mode)).unwrap();
            for mode in [0o777, 0o1777, 0o775] {
                allow(mode);
                let refused = get().unwrap_err().to_string();
                assert!(refused.contains("other users may change"), "{mode:o}: {refused}");
            }
            allow(0o755);
        }
        fs::write(folder.join(VMLINUZ), "another").unwrap();
        assert!(get().unwrap_err().to_string().contains("remove"));
    }

    #[test]
    fn offline_and_without_a_file_it_says_what_to_place() {
        let cache = tempfile::tempdir().unwrap();
        let error = get(cache.path(), &usual(), cache.path(), &mut |_| {}).unwrap_err();
        let why = error.downcast::<Unavailable>().expect("an answer with a remedy");
        assert!(
            why.remedy.contains("linux-image-*-cloud-amd64") && why.remedy.contains("--kernel"),
            "{why:?}"
        );
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 0, "nothing left in the cache");
    }
}
