//! Kernel modules: what each one needs, and the order to load them in.
//!
//! A package that is not installed has no modules.dep, so dependencies are read from the modules:
//! `depends=` in their `.modinfo`. Source: Documentation/kbuild/modules.rst, modinfo(8).

use super::missing;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use syscost_host::Unavailable;

/// A module of the cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Module {
    pub name: String,
    pub depends: Vec<String>,
    pub sha256: String,
}

/// The kernel writes `-` and `_` as the same letter.
pub fn canonical(name: &str) -> String {
    name.replace('-', "_")
}

/// The name of a module's file: `veth` of `kernel/drivers/net/veth.ko.xz`.
pub fn name_of(path: &str) -> Option<String> {
    let file = path.rsplit('/').next()?;
    let (stem, ending) = file.split_once(".ko")?;
    matches!(ending, "" | ".xz").then(|| canonical(stem))
}

/// What a module says of itself after this word of its `.modinfo`.
fn told(object: &[u8], key: &str) -> Option<String> {
    let key = format!("\0{key}=").into_bytes();
    let at = object.windows(key.len()).position(|window| window == key)? + key.len();
    let text = object[at..].iter().copied().take_while(|byte| *byte != 0).collect();
    String::from_utf8(text).ok()
}

/// What this module needs.
pub fn depends(object: &[u8]) -> Vec<String> {
    let text = told(object, "depends").unwrap_or_default();
    text.split(',').filter(|name| !name.is_empty()).map(canonical).collect()
}

/// The release that a module is of.
pub fn release(object: &[u8]) -> Option<String> {
    Some(told(object, "vermagic")?.split_whitespace().next()?.to_string())
}

/// The symbol of a kernel's configuration that a module is of, where it is not its name.
fn symbol(module: &str) -> String {
    match module {
        "virtio_blk" => "CONFIG_VIRTIO_BLK and CONFIG_VIRTIO_PCI".into(),
        other => format!("CONFIG_{}", other.to_uppercase()),
    }
}

/// Every wanted module after those that it needs, each once. What is built into the kernel needs no
/// loading; an optional module that the kernel lacks is left out.
pub fn load_order(
    modules: &[Module],
    builtin: &[String],
    wanted: &[&str],
    optional: &[&str],
) -> Result<Vec<String>, Unavailable> {
    let mut order = Vec::new();
    let there = |name: &&&str| modules.iter().any(|module| module.name == canonical(name));
    for name in wanted.iter().chain(optional.iter().filter(there)) {
        visit(modules, builtin, &canonical(name), &mut order, &mut BTreeSet::new())?;
    }
    Ok(order)
}

fn visit(
    modules: &[Module],
    builtin: &[String],
    name: &str,
    order: &mut Vec<String>,
    seen: &mut BTreeSet<String>,
) -> Result<(), Unavailable> {
    let known = order.iter().chain(builtin).any(|known| known == name);
    if known || !seen.insert(name.to_string()) {
        return Ok(());
    }
    let module = modules.iter().find(|module| module.name == name).ok_or_else(|| {
        missing(
            format!("this kernel has no module {name}, and it is not built in"),
            format!(
                "build it with {}, as a module that --modules has or into the kernel; or choose another device with --nic",
                symbol(name)
            ),
        )
    })?;
    for needed in &module.depends {
        visit(modules, builtin, needed, order, seen)?;
    }
    order.push(name.to_string());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(name: &str, depends: &[&str]) -> Module {
        let depends = depends.iter().map(|name| name.to_string()).collect();
        Module { name: name.into(), depends, sha256: String::new() }
    }

    #[test]
    fn a_module_says_what_it_needs() {
        let object = b"\x7fELF..license=GPL\0depends=net_failover,crc-t10dif\0retpoline=Y\0";
        assert_eq!(depends(object), ["net_failover", "crc_t10dif"]);
        assert_eq!(depends(b"license=GPL\0depends=\0name=veth\0"), [""; 0]);
        assert_eq!(depends(b"no module"), [""; 0]);
        assert_eq!(name_of("kernel/drivers/net/virtio-net.ko.xz").as_deref(), Some("virtio_net"));
        assert_eq!(name_of("kernel/x.ko").as_deref(), Some("x"));
        assert_eq!(name_of("modules.order"), None);
    }

    #[test]
    fn needs_come_first_and_once() {
        let modules = [
            module("virtio_net", &["net_failover", "ring"]),
            module("net_failover", &["failover"]),
            module("failover", &[]),
        ];
        let builtin = ["ring".to_string()];
        let order = load_order(&modules, &builtin, &["virtio-net", "failover"], &["veth"]).unwrap();
        assert_eq!(order, ["failover", "net_failover", "virtio_net"]);
        let why = load_order(&modules, &[], &["virtio_net"], &[]).unwrap_err();
        assert!(why.reason.contains("ring"), "{why:?}");
        let circle = [module("a", &["b"]), module("b", &["a"])];
        assert_eq!(load_order(&circle, &[], &["a"], &[]).unwrap(), ["b", "a"], "a circle ends");
    }
}
