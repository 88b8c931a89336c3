//! Facts of the network: settings of the stack, and every device.

use super::{Facts, on};
use crate::settings::STACK;
use syscost_sys::ethtool::{self, Offload};

const FOLDER: &str = "sys/class/net";
/// A host of containers has hundreds of devices: these many are described.
const DESCRIBED: usize = 8;

impl Facts {
    pub(super) fn network(&mut self) {
        for (id, title, file) in STACK {
            self.file(id, title, &format!("proc/sys/net/{file}"));
        }
        self.devices();
    }

    /// Devices of this namespace; addresses are nobody's business.
    fn devices(&mut self) {
        let names = self.root.names(FOLDER);
        let list = (!names.is_empty()).then_some(names.len());
        self.add("network_devices", "network devices", &format!("/{FOLDER}"), list);
        for name in self.described(names) {
            let id = fact_id(&name);
            let file = |file: &str| format!("{FOLDER}/{name}/{file}");
            let driver = self.root.link(&file("device/driver"));
            let driver = driver.and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
            let source = format!("/{}", file("device/driver"));
            self.add(format!("{id}_driver"), format!("{name}: driver"), &source, driver);
            // A device without a link or without a speed says -1, or nothing.
            let megabits = self.root.number(&file("speed")).filter(|n| (1..u64::from(u32::MAX)).contains(n));
            let speed = megabits.map(|n| n * 1_000_000);
            let (id_speed, title) = (format!("{id}_bits_per_second"), format!("{name}: speed, bit/s"));
            self.add(id_speed, title, &format!("/{}", file("speed")), speed);
            self.file(&format!("{id}_mtu_bytes"), &format!("{name}: MTU, bytes"), &file("mtu"));
            self.file(&format!("{id}_state"), &format!("{name}: state"), &file("operstate"));
            self.interrupts(&name, &id);
        }
    }

    /// How many interrupts a device has, and which CPUs take them.
    fn interrupts(&mut self, name: &str, id: &str) {
        let folder = format!("{FOLDER}/{name}/device/msi_irqs");
        let numbers = self.root.names(&folder);
        if numbers.is_empty() {
            return;
        }
        let cpus = |number: &String| self.root.text(&format!("proc/irq/{number}/smp_affinity_list"));
        let mut taken: Vec<String> = numbers.iter().filter_map(cpus).map(|text| text.trim().into()).collect();
        taken.sort();
        taken.dedup();
        let told = format!("{} on CPUs {}", numbers.len(), taken.join(" "));
        let title = format!("{name}: interrupts");
        self.add(format!("{id}_interrupts"), title, &format!("/{folder}"), Some(told));
    }

    /// What only the devices themselves can be asked: offloads, and drivers without hardware.
    pub(super) fn running_devices(&mut self) {
        for name in self.described(self.root.names(FOLDER)) {
            let id = fact_id(&name);
            if let Ok(driver) = ethtool::driver(&name) {
                self.tell(&format!("{id}_driver"), "ETHTOOL_GDRVINFO", driver);
            }
            if let Some(firmware) = ethtool::firmware(&name) {
                let title = format!("{name}: firmware");
                self.add(format!("{id}_firmware"), title, "ETHTOOL_GDRVINFO", Some(firmware));
            }
            if let Some((received, sent)) = ethtool::rings(&name) {
                let told = format!("{received} received, {sent} sent");
                let title = format!("{name}: ring sizes");
                self.add(format!("{id}_rings"), title, "ETHTOOL_GRINGPARAM", Some(told));
            }
            let state = |offload: Offload| {
                Some(format!("{} {}", offload.name(), on(ethtool::get(&name, offload).ok()?)))
            };
            let offloads: Vec<String> = Offload::ALL.into_iter().filter_map(state).collect();
            let title = format!("{name}: offloads");
            self.add(format!("{id}_offloads"), title, "SIOCETHTOOL", Some(offloads.join(" ")));
        }
    }

    /// The devices that are described: those with hardware behind them first.
    fn described(&self, mut names: Vec<String>) -> Vec<String> {
        names.sort_by_key(|name| !self.root.exists(&format!("{FOLDER}/{name}/device")));
        names.truncate(DESCRIBED);
        names
    }
}

/// `network_eth0`, `network_br_lan`
fn fact_id(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    format!("network_{}", name.chars().map(plain).collect::<String>())
}
