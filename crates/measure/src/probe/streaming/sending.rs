//! The sender's side of a stream: hands messages to whatever carries them, window after window.
//!
//! It owns the clock and the loop; a [`Sender`] is called once per chunk, never once per message.

use super::super::meter::{Meter, Stamp};
use super::super::{Task, Timing, Window};
use super::bursts::Bursts;
use super::null::{self, OwnCost};
use super::threads::Done;
use crate::mechanism::{self, Sender, Tally, connections};
use crate::message::{self, Alignment, MESSAGE_BYTES, Message, MessageShape};
use anyhow::{Context, Result, anyhow};
use std::hint::black_box;
use syscost_host::clock;
use syscost_sys::socket::Segments;

/// After the last window the stream goes on a little, so that the receiver's last window, which
/// started a little later, is full too.
const TAIL_NS: u64 = 1_000_000;

/// Segments so far, where the carrier has such a thing.
pub type Carried<'a> = &'a dyn Fn() -> Result<Option<Segments>>;

pub fn message_bytes(task: &Task) -> Result<u64> {
    task.point.int(MESSAGE_BYTES).context("the point has no message size")
}

/// The message of a case.
pub fn message(task: &Task) -> Result<Message> {
    let lengths = MessageShape::of(&task.point).lengths(message_bytes(task)?);
    Ok(Message::of(&lengths, Alignment::of(&task.point)))
}

/// Warm-up, then one window after the other without a pause. The sender is dropped before it returns;
/// ending the stream is the caller's.
pub fn stream_messages(task: &Task, sender: Box<dyn Sender>, carried: Carried<'_>) -> Result<Done> {
    let own = OwnCost::of_sending(task, null_pump())?;
    let (began, copied) = (clock::thread_cpu_ns(), message::user_copied_bytes());
    let mut meter = Meter::of(task);
    let mut pump = Pump::of(sender, task)?;
    let windows = pump.windows(task, &mut meter, carried)?;
    let own_ns = own.total_ns(windows.len() as u64, pump.windows_steps);
    if Bursts::of(&task.point).is_none() {
        pump.until(clock::monotonic_ns() + TAIL_NS)?;
    }
    pump.sender.settle()?;
    let tally = pump.sender.tally();
    let totals = vec![
        (super::USER_COPIED, message::user_copied_bytes() - copied),
        (super::FRAMING, tally.framing_bytes),
        (super::COMPLETIONS, tally.completions),
        (super::COMPLETIONS_COPIED, tally.completions_copied),
        (
            super::CPU,
            (clock::thread_cpu_ns() - began).saturating_add_signed(tally.program.unwrap_or_default().cpu_ns),
        ),
        (null::OWN_IN_WINDOWS, own_ns as u64),
    ];
    let (bytes, missing, program) = (pump.bytes(), meter.missing(), tally.program);
    Ok(Done { windows, bytes, totals, missing, program })
}

/// A mechanism and how many messages it is given at a time.
pub struct Pump {
    pub sender: Box<dyn Sender>,
    /// Messages per call: a chunk is so many, or a multiple.
    call: u64,
    chunk: u64,
    most: u64,
    /// How long a chunk should last.
    chunk_ns: u64,
    pub messages: u64,
    message_bytes: u64,
    /// How often the loop has gone round.
    pub steps: u64,
    /// In the last windows.
    pub windows_steps: u64,
}

/// Counts of a side at one moment.
#[derive(Clone, Copy, Default)]
pub struct SideReading {
    pub messages: u64,
    /// Of the mechanism; nothing for a side that only receives.
    pub tally: Tally,
    pub receive_calls: u64,
    pub segments: Option<Segments>,
}

impl Pump {
    pub fn of(sender: Box<dyn Sender>, task: &Task) -> Result<Pump> {
        let call = mechanism::per_call(&task.point);
        Ok(Pump {
            call,
            chunk: call,
            most: u64::MAX,
            message_bytes: message_bytes(task)?,
            ..Pump::one_by_one(sender)
        })
    }

    /// Of messages of a byte: the clock is looked at after each.
    pub fn one_by_one(sender: Box<dyn Sender>) -> Pump {
        let chunk_ns = sender.call_ns();
        Pump {
            sender,
            call: 1,
            chunk: 1,
            most: 1,
            chunk_ns,
            messages: 0,
            message_bytes: 1,
            steps: 0,
            windows_steps: 0,
        }
    }

    pub fn message_bytes(&self) -> u64 {
        self.message_bytes
    }

    /// Of a program that sends: see [`mechanism::ProgramTally`].
    pub fn program_cpu_ns(&self) -> i64 {
        self.sender.tally().program.map_or(0, |program| program.cpu_ns)
    }

    pub fn bytes(&self) -> u64 {
        self.messages * self.message_bytes
    }

    /// Warm-up and windows, as the task's timing has them.
    pub fn windows(&mut self, task: &Task, meter: &mut Meter, carried: Carried<'_>) -> Result<Vec<Window>> {
        let Timing { warmup_ns, window_ns, windows } = task.timing;
        let bursts = Bursts::of(&task.point);
        let mut timed = Vec::new();
        match bursts {
            Some(bursts) => bursts.warm_up(|messages| self.burst(messages))?,
            None => self.until(clock::monotonic_ns() + warmup_ns)?,
        }
        self.at_least(self.call * connections(&task.point))?;
        self.sender.settle()?;
        let mut before = self.reading(carried)?;
        let steps = self.steps;
        let mut from = meter.stamp();
        for _ in 0..windows {
            // From the window's own start: a thread that was held up must not squeeze the next window.
            match bursts {
                Some(bursts) => bursts.window(|messages| self.burst(messages))?,
                None => self.until(from.ns() + window_ns)?,
            }
            self.sender.settle()?;
            let to = meter.stamp();
            let after = self.reading(carried)?;
            let mut window = window(meter, (&from, &to), (&before, &after), self.message_bytes);
            add_sending(&mut window, &before, &after);
            timed.push(window);
            // Reading the counts of many connections takes a while that belongs to no window.
            let restarts = connections(&task.point) > 1 || bursts.is_some();
            from = if restarts { meter.restart(to) } else { to };
            before = after;
        }
        self.windows_steps = self.steps - steps;
        Ok(timed)
    }

    fn burst(&mut self, messages: u64) -> Result<()> {
        self.sender.send(messages).map_err(|error| anyhow!(error).context("cannot send"))?;
        self.messages += messages;
        self.steps += 1;
        Ok(self.sender.settle()?)
    }

    /// Sends until the deadline has passed, looking at the clock once a chunk.
    pub fn until(&mut self, deadline: u64) -> Result<()> {
        let mut now = clock::monotonic_ns();
        while now < deadline {
            self.sender.send(self.chunk).map_err(|error| anyhow!(error).context("cannot send"))?;
            self.messages += self.chunk;
            self.steps += 1;
            let then = std::mem::replace(&mut now, clock::monotonic_ns());
            if now - then < self.chunk_ns / 2 {
                self.chunk = self.most.min(self.chunk * 2);
            } else if now - then > self.chunk_ns * 2 && self.chunk > self.call {
                self.chunk /= 2;
            }
        }
        Ok(())
    }

    /// Every connection has had a turn before anything is timed, however slow this machine is.
    pub fn at_least(&mut self, messages: u64) -> Result<()> {
        while self.messages < messages {
            self.sender.send(self.call).map_err(|error| anyhow!(error).context("cannot send"))?;
            self.messages += self.call;
            self.steps += 1;
        }
        Ok(())
    }

    pub fn reading(&self, carried: Carried<'_>) -> Result<SideReading> {
        let (messages, tally) = (self.messages, self.sender.tally());
        Ok(SideReading { messages, tally, receive_calls: 0, segments: carried()? })
    }
}

/// The window of a side between two moments.
pub fn window(
    meter: &Meter,
    (from, to): (&Stamp, &Stamp),
    (before, after): (&SideReading, &SideReading),
    bytes: u64,
) -> Window {
    let messages = after.messages - before.messages;
    let mut window = meter.window(from, to, messages as f64, (messages * bytes) as f64);
    let mut put = |id: &str, n: u64| window.quantities.insert(id.into(), Some(n as f64));
    put("messages", messages);
    let sending = after.tally.system_calls - before.tally.system_calls;
    put("system_calls", sending + after.receive_calls - before.receive_calls);
    if after.tally.uncounted {
        window.quantities.insert("system_calls".into(), None);
    }
    if let Some((before, after)) = before.tally.program.zip(after.tally.program) {
        with_program(&mut window, after.cpu_ns - before.cpu_ns);
    }
    window
}

/// A program did the work, whose CPU time is known; what else the thread's own clocks and counters say is not of it.
fn with_program(window: &mut Window, cpu_ns: i64) {
    let own_ns = window.quantities.get("cpu_ns").copied().flatten().unwrap_or(0.0);
    let whole_ns = (own_ns + cpu_ns as f64).max(0.0);
    for (id, value) in &mut window.quantities {
        match id.as_str() {
            "cpu_ns" => *value = Some(whole_ns),
            "tsc_cycles" => *value = value.map(|cycles| cycles * whole_ns / own_ns.max(1.0)),
            "elapsed_ns" | "messages" | "system_calls" => {}
            _ => *value = None,
        }
    }
}

/// Adds what only the side has whose mechanism is measured.
pub fn add_sending(window: &mut Window, before: &SideReading, after: &SideReading) {
    let mut put = |id: &str, n: u64| window.quantities.insert(id.into(), Some(n as f64));
    let (from, to) = (&before.tally, &after.tally);
    put("completions", to.completions - from.completions);
    put("completions_copied", to.completions_copied - from.completions_copied);
    put("queue_entries", to.queue_entries - from.queue_entries);
    put("enobufs", to.enobufs - from.enobufs);
    if let Some((after, before)) = after.segments.zip(before.segments) {
        let since = |count: fn(&Segments) -> u32| u64::from(count(&after).wrapping_sub(count(&before)));
        put("retransmits", since(|s| s.retransmitted));
        put("data_segments", since(|s| s.with_data));
        put("segments_received", since(|s| s.received));
    }
}

/// Sends nothing.
struct NullSender;

impl Sender for NullSender {
    fn send(&mut self, _: u64) -> std::io::Result<()> {
        Ok(())
    }

    fn tally(&self) -> Tally {
        Tally::default()
    }
}

/// A pump whose messages are nothing: one a step.
pub fn null_pump() -> Pump {
    // The compiler must not see what it calls: a mechanism is not seen either.
    Pump::one_by_one(black_box(Box::new(NullSender)))
}

impl OwnCost {
    /// Of a sender's windows, which `pump` is to step through.
    pub fn of_sending(task: &Task, mut pump: Pump) -> Result<OwnCost> {
        OwnCost::by_windows(task, |task, meter| {
            let windows = pump.windows(task, meter, &|| Ok(None))?;
            Ok((windows, pump.windows_steps))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_s_time_is_added_and_what_only_this_thread_counts_is_unknown() {
        let quantities = [
            ("cpu_ns", 50.0),
            ("tsc_cycles", 100.0),
            ("elapsed_ns", 900.0),
            ("messages", 7.0),
            ("system_calls", 7.0),
            ("voluntary_switches", 3.0),
            ("cycles_user", 9.0),
        ];
        let quantities = quantities.map(|(id, value)| (id.to_string(), Some(value))).into();
        let mut window = Window { quantities, ..Window::default() };
        with_program(&mut window, 450);
        let now = |id: &str| window.quantities[id];
        assert_eq!((now("cpu_ns"), now("tsc_cycles")), (Some(500.0), Some(1000.0)));
        assert_eq!(
            (now("elapsed_ns"), now("messages"), now("system_calls")),
            (Some(900.0), Some(7.0), Some(7.0))
        );
        assert_eq!((now("voluntary_switches"), now("cycles_user")), (None, None));
    }
}
