//! Sides of a transfer that are elsewhere: what they need is asked there, before anything is planned.

use super::available;
use super::axes::{self, CONGESTION_CONTROL, MECHANISM, PATH, PLACEMENT, RECEIVER, SOCKET_BUFFER_BYTES};
use crate::mechanism;
use crate::message;
use crate::receiver as receivers;
use crate::receiver::options::{BUSY_POLL, LOW_WATER};
use syscost_core::axis::{Point, Value};
use syscost_host::Unavailable;
use syscost_host::remote::{self, target};
use syscost_sys::optional::PINNING;

/// What of a point its receiver has to be able to do.
const OF_RECEIVERS: [&str; 6] =
    [RECEIVER.id, CONGESTION_CONTROL.id, PLACEMENT.id, SOCKET_BUFFER_BYTES.id, LOW_WATER.id, BUSY_POLL.id];

/// What of it its sender has to be able to do, where that is elsewhere too.
const OF_SENDERS: [&str; 4] = [MECHANISM.id, CONGESTION_CONTROL.id, PLACEMENT.id, SOCKET_BUFFER_BYTES.id];

/// Is neither end of this point's path here?
pub fn both(point: &Point) -> bool {
    point.text(PATH).is_some_and(target::are_both_elsewhere)
}

/// The host on the far side of this point's path.
pub fn host(point: &Point) -> Option<&str> {
    point.text(PATH).filter(|path| target::is_meant(path))
}

/// Checks what a message between two processes needs on their hosts: its fields, the path, CPUs, and options of sockets.
pub fn ends(point: &Point) -> Result<(), Unavailable> {
    message::fits(point)?;
    point.text(PATH).map_or(Ok(()), available::path)?;
    if !both(point) {
        point.text(PLACEMENT).map_or(Ok(()), available::placement)?;
        available::options(point, host(point).is_none())?;
    }
    asked(point)
}

/// The same of processes of one host. `measured` is the beginning of the sentence that refuses another one.
pub fn on_one_host(point: &Point, measured: &str) -> Result<(), Unavailable> {
    if host(point).is_some() {
        return Err(Unavailable {
            reason: format!("{measured} measured between processes of one host"),
            remedy: "name a path between two namespaces, or loopback".into(),
        });
    }
    ends(point)
}

/// Over this path, with what is usual of the rest.
pub fn usual(path: &str) -> Point {
    let mut point = Point::default();
    for id in [RECEIVER.id, CONGESTION_CONTROL.id] {
        axes::find(id).default().into_iter().take(1).for_each(|value| point.set(id, value));
    }
    point.set(PATH.id, Value::text(path));
    point
}

/// Asks both ends that are elsewhere; a point whose path leads nowhere else needs nobody's leave.
pub fn asked(point: &Point) -> Result<(), Unavailable> {
    let Some(path) = host(point) else { return Ok(()) };
    let host = remote::open(path)?;
    host.far.allows(&question(point, &OF_RECEIVERS))?;
    host.near.as_ref().map_or(Ok(()), |near| near.allows(&question(point, &OF_SENDERS)))
}

/// Asks the far end whether it can send too: it answers each request.
pub fn can_answer(point: &Point) -> Result<(), Unavailable> {
    let Some(path) = host(point) else { return Ok(()) };
    remote::open(path)?.far.allows(&question(point, &[MECHANISM.id]))
}

fn question(point: &Point, ids: &[&str]) -> serde_json::Value {
    let wanted: Vec<_> = ids.iter().filter_map(|id| Some(((*id).into(), point.get(id)?.clone()))).collect();
    let wanted: Point = wanted.into_iter().collect();
    serde_json::to_value(&wanted).expect("a point is text and numbers")
}

/// Why a value is refused on that host, which answers: a congestion control, or any placement.
pub fn refusal(point: &Point, axis: &str, value: &str) -> Option<Unavailable> {
    let Some(Ok(host)) = host(point).map(remote::open) else { return None };
    let wanted = serde_json::json!({ axis: value });
    let answers = host.near.iter().chain([&host.far]).map(|side| side.allows(&wanted));
    let of_it = |why: &Unavailable| [value, PINNING.call].iter().any(|word| why.reason.contains(word));
    answers.filter_map(Result::err).find(of_it)
}

/// The answer, on the host that is asked.
pub fn allows(wanted: &serde_json::Value) -> Result<(), Unavailable> {
    let wanted: Point = serde_json::from_value(wanted.clone())
        .map_err(|error| another_build(format!("the question is not understood ({error})")))?;
    let unknown = |what: &str| another_build(format!("this syscost has no {what}"));
    if let Some(name) = wanted.text(MECHANISM) {
        mechanism::find(name).ok_or_else(|| unknown(&format!("mechanism {name}")))?.available()?;
    }
    if let Some(name) = wanted.text(RECEIVER) {
        receivers::find(name).ok_or_else(|| unknown(&format!("receiver {name}")))?.available()?;
    }
    wanted.text(CONGESTION_CONTROL).map_or(Ok(()), available::congestion_control)?;
    available::options(&wanted, true)?;
    wanted.text(PLACEMENT).map_or(Ok(()), available::placement)
}

fn another_build(reason: String) -> Unavailable {
    Unavailable { reason, remedy: "use the same syscost on both hosts".into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_this_machine_cannot_is_refused_with_a_reason_and_a_remedy() {
        assert_eq!(allows(&json!({})), Ok(()));
        // Every kernel has it, and every user may use it.
        assert_eq!(allows(&json!({ "congestion_control": "reno", "receiver": "recv" })), Ok(()));
        let refused = |wanted: serde_json::Value| allows(&wanted).unwrap_err();
        let why = refused(json!({ "congestion_control": "nonesuch" }));
        assert!(why.reason.contains("nonesuch"), "{why:?}");
        assert!(why.remedy.contains("--congestion"), "what is loaded can be asked for: {why:?}");
        assert!(refused(json!({ "receiver": "nonesuch" })).reason.contains("no receiver nonesuch"));
        assert!(refused(json!({ "placement": "nonesuch" })).reason.contains("different, same, none"));
        assert!(refused(json!([1])).reason.contains("not understood"));
    }

    #[test]
    fn only_a_path_to_another_host_is_asked() {
        let point = |path: &str| {
            let mut point = Point::default();
            point.set(PATH.id, syscost_core::axis::Value::text(path));
            point
        };
        assert_eq!(asked(&point("loopback")), Ok(()));
        assert_eq!(refusal(&point("loopback"), CONGESTION_CONTROL.id, "nonesuch"), None);
        // No such host: what is not there refuses nothing, and is a reason of its own.
        assert!(
            asked(&point("ssh://-")).is_err()
                && refusal(&point("ssh://-"), CONGESTION_CONTROL.id, "cubic").is_none()
        );
    }
}
