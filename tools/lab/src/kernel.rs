//! Kernels in the cache: unpacked once, checked at every use, never installed.
//!
//! A folder per flavour holds the kernel, the modules that a guest may need, and what they are in
//! `kernel.json`. It appears whole or not at all; removing it makes the next lab fetch it again.

use super::modules::{self, Module};
use super::package::{self, Package, sha256};
use super::{Nic, guest, tool};
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
    builtin: Vec<String>,
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
        let wanted: Vec<&str> = guest::MODULES.iter().chain(wanted).copied().collect();
        modules::load_order(&self.modules, &self.builtin, &wanted, optional)
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

/// A kernel of this flavour: from the cache, or fetched into it.
pub fn get(cache: &Path, flavour: &str, offline: bool, watch: &mut dyn FnMut(&str)) -> Result<Kernel> {
    let folder = cache.join(flavour);
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
    let package = Package::choose(cache, flavour)?;
    if offline && !package.is_here() {
        return Err(package::by_hand(cache, flavour).into());
    }
    let staging = OwnedDirectory::create(cache).context("cannot make a directory in the cache")?;
    if !package.is_here() {
        watch(&format!("fetching {}", package.name));
    }
    let file = package.fetch(cache, flavour, staging.path())?;
    watch(&format!("unpacking {}", package.name));
    let new = unpack(&package, &file, staging.path())?;
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

/// Unpacks a package in `staging` and puts what guests need into a folder of its own.
fn unpack(package: &Package, file: &Path, staging: &Path) -> Result<PathBuf> {
    let data = package::extract_data(file, staging)?;
    let tree = staging.join("tree");
    fs::create_dir(&tree)?;
    let mut tar = tool::command("tar");
    tar.arg("-xf").arg(&data).arg("-C").arg(&tree).arg("--no-same-owner");
    tool::output(&mut tar, "tar xz-utils")?;
    let new = staging.join("new");
    fs::create_dir(&new)?;
    fs::set_permissions(&new, Permissions::from_mode(OURS_ALONE))?;
    let kernel = pick(package, &tree, &new)?;
    fs::write(new.join(DESCRIPTION), serde_json::to_string_pretty(&kernel)?)?;
    Ok(new)
}

/// Copies the kernel and the modules that some guest wants, with all that they need.
fn pick(package: &Package, tree: &Path, new: &Path) -> Result<Kernel> {
    let boot = fs::read_dir(tree.join("boot")).context("the package has no /boot")?;
    let image = boot
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vmlinuz-")));
    let image = image.context("the package has no kernel in /boot")?;
    let name = image.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let release = name.trim_start_matches("vmlinuz-").to_string();
    fs::copy(&image, new.join(VMLINUZ))?;
    let folders = ["lib/modules", "usr/lib/modules"].map(|folder| tree.join(folder).join(&release));
    let folder = folders.into_iter().find(|folder| folder.is_dir()).context("the package has no modules")?;
    let files = module_files(&folder)?;
    let mut modules: Vec<Module> = Vec::new();
    let mut wanted: Vec<String> = wanted();
    while let Some(name) = wanted.pop() {
        let Some(file) = files.get(&name).filter(|_| modules.iter().all(|m| m.name != name)) else {
            continue;
        };
        let to = new.join(format!("{name}.ko"));
        let object = plain(file)?;
        fs::write(&to, &object)?;
        let depends = modules::depends(&object);
        wanted.extend(depends.iter().cloned());
        modules.push(Module { name, depends, sha256: sha256(&to)? });
    }
    let builtin = fs::read_to_string(folder.join("modules.builtin")).unwrap_or_default();
    Ok(Kernel {
        folder: new.to_path_buf(),
        package: format!("{} {}", package.name, package.version),
        package_sha256: package.sha256.clone(),
        release,
        vmlinuz_sha256: sha256(&new.join(VMLINUZ))?,
        modules,
        builtin: builtin.lines().filter_map(modules::name_of).collect(),
    })
}

/// Whatever any guest may load.
fn wanted() -> Vec<String> {
    let of_devices = Nic::ALL.iter().map(|nic| &nic.module);
    let all = guest::MODULES.iter().chain(guest::OPTIONAL_MODULES).chain(of_devices);
    all.map(|name| modules::canonical(name)).collect()
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
            builtin: vec!["virtio_pci".into()],
        };
        fs::write(folder.join(DESCRIPTION), serde_json::to_string(&kernel).unwrap()).unwrap();
        let get = || get(cache.path(), "cloud-amd64", true, &mut |_| {});
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
        let error = get(cache.path(), "cloud-amd64", true, &mut |_| {}).unwrap_err();
        let why = error.downcast::<Unavailable>().expect("an answer with a remedy");
        assert!(
            why.remedy.contains("linux-image-*-cloud-amd64") && why.remedy.contains("SHA-256"),
            "{why:?}"
        );
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 0, "nothing left in the cache");
    }
}
