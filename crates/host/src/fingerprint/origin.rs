//! Which machine it is, and since when it is up: what tells two runs of one machine, and of one boot, from others.

use super::{BOOT, Facts, MACHINE};
use sha2::{Digest, Sha256};

/// The key of the machine's hash: an id that is made with another key cannot be matched with it.
const KEY: &[u8] = b"syscost: machine of a run";
const BLOCK_BYTES: usize = 64;

impl Facts {
    pub fn origin(&mut self) {
        self.file("host_name", "host name", "proc/sys/kernel/hostname");
        let id = ["etc/machine-id", "var/lib/dbus/machine-id"].iter().find_map(|path| self.root.text(path));
        let hash = id.filter(|id| !id.trim().is_empty()).map(|id| keyed_hash(id.trim().as_bytes()));
        self.add(MACHINE, "machine, as a keyed hash of its id", "/etc/machine-id", hash);
        self.file(BOOT, "boot", "proc/sys/kernel/random/boot_id");
        let uptime = self.root.text("proc/uptime").unwrap_or_default();
        let seconds = uptime.split(['.', ' ']).next().map(String::from);
        self.add("uptime_seconds", "time since the boot, seconds", "/proc/uptime", seconds);
        let dmi = |name: &str| self.root.text(&format!("sys/class/dmi/id/{name}"));
        // Amazon's firmware names the type of the instance; that of others names the product alone.
        let instance =
            dmi("sys_vendor").filter(|vendor| vendor.contains("Amazon")).and_then(|_| dmi("product_name"));
        self.add("cloud_instance_type", "instance type", "/sys/class/dmi/id/product_name", instance);
    }
}

/// HMAC-SHA-256 with the id as the key, as machine-id(5) asks for: nobody gets from it to the id.
fn keyed_hash(id: &[u8]) -> String {
    let pad = |with: u8| -> Vec<u8> {
        (0..BLOCK_BYTES).map(|at| id.get(at).copied().unwrap_or(0) ^ with).collect()
    };
    let inner = Sha256::new().chain_update(pad(0x36)).chain_update(KEY).finalize();
    let outer = Sha256::new().chain_update(pad(0x5c)).chain_update(inner).finalize();
    outer.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::super::facts_of;
    use crate::files::fixture::Machine;

    fn told(machine: &Machine, id: &str) -> Option<String> {
        facts_of(&machine.root()).into_iter().find(|fact| fact.id == id).expect("it is a fact").value
    }

    #[test]
    fn a_machine_is_told_by_a_hash_and_never_by_its_id() {
        let machine = Machine::empty();
        let id = "0123456789abcdef0123456789abcdef";
        machine.write("etc/machine-id", &format!("{id}\n"));
        machine.write("proc/sys/kernel/random/boot_id", "5f1b9c3e-0000-4000-8000-000000000001\n");
        machine.write("proc/sys/kernel/hostname", "node7\n");
        machine.write("proc/uptime", "86400.25 100.0\n");
        let hash = told(&machine, "machine_id_hash").unwrap();
        // openssl dgst -sha256 -mac HMAC -macopt key:ID, of the key's text.
        assert_eq!(hash, HASH);
        assert_eq!(told(&machine, "uptime_seconds").as_deref(), Some("86400"));
        assert_eq!(told(&machine, "host_name").as_deref(), Some("node7"));
        assert!(facts_of(&machine.root()).iter().all(|fact| fact.value.as_deref() != Some(id)));
        let other = Machine::empty();
        other.write("var/lib/dbus/machine-id", "0123456789abcdef0123456789abcdee\n");
        assert_ne!(told(&other, "machine_id_hash"), Some(hash));
    }

    #[test]
    fn an_instance_type_is_told_where_the_firmware_does() {
        let machine = Machine::empty();
        machine.write("sys/class/dmi/id/product_name", "m7i.large\n");
        assert_eq!(told(&machine, "cloud_instance_type"), None, "of a vendor that names products");
        machine.write("sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
        assert_eq!(told(&machine, "cloud_instance_type").as_deref(), Some("m7i.large"));
    }

    const HASH: &str = "4dcf5324955726191a754383a5498803";
}
