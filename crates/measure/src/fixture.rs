//! A machine made of files, one whose rows cost what a test says, and a round that has begun.

use crate::probe::prediction::{Input, Known, RowRef};
use crate::probe::{Channel, Probe, RoleReport, Task};
use std::fs;
use std::sync::mpsc;
use syscost_core::units::Unit;
use syscost_host::files::Root;

pub struct Machine(tempfile::TempDir);

impl Machine {
    pub fn empty() -> Machine {
        Machine(tempfile::tempdir().unwrap())
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn root(&self) -> Root {
        Root::at(self.0.path())
    }
}

/// Every row of a probe costs so many nanoseconds; the core runs at one cycle a nanosecond.
pub struct Costs(Vec<(&'static str, f64)>);

impl Costs {
    pub fn of(rows: &[(&'static str, f64)]) -> Costs {
        Costs(rows.to_vec())
    }
}

impl Known for Costs {
    fn fact(&self, id: &str) -> Option<Input> {
        (id == "core_hertz").then(|| Input::new(id, 1e9, Unit::Hertz, "a test"))
    }

    fn says(&self, _: &str) -> Option<String> {
        None
    }

    fn row(&self, row: &RowRef) -> Option<Input> {
        let (_, value) = self.0.iter().find(|(probe, _)| *probe == row.probe)?;
        Some(Input::new("", *value, Unit::Nanoseconds, "a test"))
    }
}

/// A round of one role that has begun.
pub struct Begun;

impl Channel for Begun {
    fn offer(&mut self, _: serde_json::Value) -> anyhow::Result<()> {
        Ok(())
    }

    fn ready(&mut self) -> anyhow::Result<()> {
        Ok(())
    }
}

/// Hands the receiver's offer over; nobody waits for anybody else.
struct Line(Option<mpsc::Sender<serde_json::Value>>);

impl Channel for Line {
    fn offer(&mut self, offer: serde_json::Value) -> anyhow::Result<()> {
        let line = self.0.as_ref().expect("only the receiver offers");
        Ok(line.send(offer)?)
    }

    fn ready(&mut self) -> anyhow::Result<()> {
        Ok(())
    }
}

/// What both sides of a round over loopback report, the receiver first. The task of a role is given its peer's offer.
pub fn played(
    probe: &'static dyn Probe,
    task: impl Fn(&str, Option<serde_json::Value>) -> Task,
) -> [RoleReport; 2] {
    let (tell, told) = mpsc::channel();
    let [receiver, sender] = probe.about().roles else { panic!("two roles") };
    let listening = task(receiver, None);
    let receiving = std::thread::spawn(move || probe.play(&listening, &mut Line(Some(tell))));
    let peer = told.recv().expect("the receiver offers where it listens");
    let sent = probe.play(&task(sender, Some(peer)), &mut Line(None)).expect("a sender");
    [receiving.join().expect("no panic").expect("a receiver"), sent]
}
