//! The values of a port for a viewer. The instance writes the latest value to a box when the viewer asks for
//! it. The instance never waits for a viewer.

use super::{broken, hear, reach, record_of, say, wait_for_answer};
use ligament_catalogue::{fault, Code, Fault};
use ligament_manager::{find_run, RunDirectory, RunRecord};
use ligament_shm::own::OwnMemory;
use ligament_shm::socket::{Frames, Socket};
use ligament_shm::tap::{Note, TapBox, Wish};
use ligament_shm::ShmError;
use ligament_wire::control::{from_bytes, Notice, Question};
use ligament_wire::tap::{TapOutcome, TapSelection};
use ligament_wire::{decode_body, rank_name, rank_parts, Bytes, Limits, Value};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use std::time::{Duration, Instant};

/// Default for the maximum size of a value, in bytes.
pub const DEFAULT_BOX_BYTES: u64 = 64 << 20;
/// Shortest and longest interval between two checks for a value. The viewer polls, because a wake-up of the
/// viewer would cost the sending instance time.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(1);
const MAX_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// A port in the form in which a user writes it: `macro.state_out`, `micro[3].out`, `macro.out[2]`, or
/// `flow:1.out` for rank 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortOf {
    pub instance: String,
    /// The number of the rank in its instance, if the text has one.
    pub rank: Option<u32>,
    pub port: String,
    /// The slot of a vector port.
    pub slot: Option<u32>,
}

impl PortOf {
    /// Reads a port from a text.
    ///
    /// # Errors
    /// The text is no port.
    pub fn of(text: &str) -> Result<PortOf, Fault> {
        let wrong = || {
            fault!(
                TAP_REFUSED,
                "\"{text}\" is no port; write INSTANCE.PORT, such as macro.state_out or micro[3].out[2]"
            )
        };
        let (instance, port) =
            text.rsplit_once('.').filter(|(one, two)| !one.is_empty() && !two.is_empty()).ok_or_else(wrong)?;
        let (port, slot) = match port.split_once('[') {
            None => (port, None),
            Some((port, slot)) => {
                let slot = slot.strip_suffix(']').and_then(|slot| slot.parse().ok()).ok_or_else(wrong)?;
                (port, Some(slot))
            }
        };
        let (instance, rank) = rank_parts(instance);
        Ok(PortOf { instance: instance.to_owned(), rank, port: port.to_owned(), slot })
    }
}

impl std::fmt::Display for PortOf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let PortOf { instance, rank, port, slot } = self;
        let instance = rank_name(instance, *rank);
        match slot {
            Some(slot) => write!(f, "{instance}.{port}[{slot}]"),
            None => write!(f, "{instance}.{port}"),
        }
    }
}

/// A value that a port has sent.
#[derive(Debug, Clone)]
pub struct PortValue {
    /// Timestamp of the message, in s.
    pub timestamp: f64,
    pub next_timestamp: Option<f64>,
    /// The slot of a vector port.
    pub slot: Option<u32>,
    /// Number of messages that the port has sent since the tap began, including this one.
    pub number: u64,
    /// Processor time that showing the value took at its sender.
    pub cost: Duration,
    pub value: Value,
}

/// The content of a tap's box.
#[derive(Debug)]
pub(super) enum TapAnswer {
    /// The value for which the viewer has asked.
    Value(PortValue),
    /// The time of a message, in s. The viewer has asked for the time alone.
    Time(f64),
    /// Nothing yet.
    Nothing,
}

/// The outcome of waiting for a value.
#[derive(Debug)]
pub enum TapEvent {
    /// The value.
    Shown(Box<PortValue>),
    /// No value has arrived yet.
    Nothing,
    /// No further value will arrive; the reason.
    Over(String),
}

/// A tap that the run was asked to begin.
pub(super) struct TapQuestion {
    socket: Socket,
    port: PortOf,
    levels: usize,
}

impl TapQuestion {
    /// Waits for the answer of the run. Errors: as `TapSession::begin`.
    pub fn answer(mut self, record: &RunRecord) -> Result<TapSession, Fault> {
        wait_for_answer(&self.socket, record)?;
        let (answer, memory) = hear(&mut self.socket, record)?;
        match (answer, memory.into_iter().next()) {
            (Notice::Tapped { room }, Some(memory)) => {
                let bin = TapBox::open(&memory, room).map_err(|error| broken(record, &error))?;
                let TapQuestion { socket, port, levels } = self;
                Ok(TapSession { socket, bin, port, levels, asked: false, over: None })
            }
            (other, _) => Err(broken(record, &format!("it said {other:?}"))),
        }
    }
}

/// A viewer of a port.
pub struct TapSession {
    socket: Socket,
    bin: TapBox,
    port: PortOf,
    /// Number of the levels of requested surfaces; 0 for values.
    levels: usize,
    /// True if a value was requested and has not arrived.
    asked: bool,
    over: Option<String>,
}

impl TapSession {
    /// Begins to view a port of a running run, for values of up to `room` bytes. Returns `None` if the run is
    /// over, or if its head cannot be reached from this machine.
    ///
    /// # Errors
    /// The run does not answer, or refuses the tap: there is no such port, or the port is not known yet
    /// (`TAP_TOO_EARLY`).
    pub fn begin(
        run: &RunDirectory,
        record: &RunRecord,
        port: &PortOf,
        wanted: &TapSelection,
        room: u64,
    ) -> Result<Option<TapSession>, Fault> {
        let Some(request) = TapSession::ask_to_begin(run, record, (port, wanted, room))? else {
            return Ok(None);
        };
        request.answer(record).map(Some)
    }

    /// Asks the run to begin a tap, and does not wait for the answer. Otherwise as `begin`.
    pub(super) fn ask_to_begin(
        run: &RunDirectory,
        record: &RunRecord,
        (port, wanted, room): (&PortOf, &TapSelection, u64),
    ) -> Result<Option<TapQuestion>, Fault> {
        let Some((mut socket, token)) = reach(run, record)? else { return Ok(None) };
        let PortOf { instance, rank, port: name, slot } = port.clone();
        let rank = rank.unwrap_or(0);
        let question = Question::Tap { instance, rank, port: name, slot, wanted: wanted.clone(), room };
        say(&mut socket, record, &token, question)?;
        Ok(Some(TapQuestion { socket, port: port.clone(), levels: wanted.levels.len() }))
    }

    /// Does the same as `begin`, for the run that `run` names on the command line.
    ///
    /// # Errors
    /// Fails like `begin`, and if there is no such run, or it does not run on this machine.
    pub fn of(run: &str, port: &PortOf, wanted: &TapSelection, room: u64) -> Result<TapSession, Fault> {
        let run = find_run(run)?;
        let begun = TapSession::begin(&run, &record_of(&run)?, port, wanted, room)?;
        begun.ok_or_else(|| {
            fault!(
                TAP_REFUSED,
                "{} is not under way, or not on this machine: there is nothing to look at",
                run.name()
            )
        })
    }

    /// Returns the port.
    pub fn port(&self) -> &PortOf {
        &self.port
    }

    /// Returns the number of messages that the port has sent since the tap began.
    pub fn passed(&self) -> u64 {
        self.bin.passed()
    }

    /// Requests the next value that the port sends, and waits for it, but not longer than `patience`. If the
    /// value arrives later, the next call returns it.
    ///
    /// # Errors
    /// The value cannot be shown in the requested form (`NOT_SHOWN`). Later values may have another form.
    pub fn next(&mut self, patience: Duration) -> Result<TapEvent, Fault> {
        if !std::mem::replace(&mut self.asked, true) {
            self.bin.ask();
        }
        let until = Instant::now().checked_add(patience);
        let mut pause = MIN_POLL_INTERVAL;
        loop {
            // The end is read before the box: the last value may have arrived just before the end, and must not
            // be missed.
            let over = self.is_over();
            if let TapAnswer::Value(came) = self.take()? {
                return Ok(TapEvent::Shown(Box::new(came)));
            }
            if let Some(why) = over {
                return Ok(TapEvent::Over(why));
            }
            let left = until.map_or(pause, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Ok(TapEvent::Nothing);
            }
            self.sleep(pause.min(left));
            pause = (pause * 2).min(MAX_POLL_INTERVAL);
        }
    }

    /// Waits for this time before the next value is requested. Returns earlier if the tap has ended.
    pub fn rest(&mut self, time: Duration) {
        let until = Instant::now().checked_add(time);
        while self.is_over().is_none() {
            let left = until.map_or(MAX_POLL_INTERVAL, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return;
            }
            self.sleep(left);
        }
    }

    /// Sleeps, but not longer than until the agent sends a message.
    fn sleep(&self, time: Duration) {
        let time = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) };
        let mut fds = [PollFd::new(&self.socket, PollFlags::IN)];
        let _ = poll(&mut fds, Some(&time));
    }

    /// Returns the reason why no further value will arrive, if there is one.
    pub(super) fn is_over(&mut self) -> Option<String> {
        if self.over.is_none() {
            self.over = match self.socket.try_receive() {
                Ok(None) | Err(ShmError::Interrupted) => None,
                Ok(Some(frame)) => match from_bytes(&frame.bytes) {
                    Ok(Notice::TapOver { why }) => Some(Fault::heard(why, Code::TAP_REFUSED).text().to_owned()),
                    _ => Some("the run said what this tap does not understand".to_owned()),
                },
                Err(_) => Some("the run is over".to_owned()),
            };
        }
        self.over.clone()
    }

    /// Asks for a value. If the viewer has asked before and no value has come, this value is asked for instead.
    pub(super) fn request(&mut self, wish: Wish) {
        if std::mem::replace(&mut self.asked, true) {
            self.bin.change_wish(wish);
        } else {
            self.bin.ask_for(wish);
        }
    }

    /// Takes the value out of the box, if there is one.
    pub(super) fn take(&mut self) -> Result<TapAnswer, Fault> {
        let wrong = |what: &dyn std::fmt::Display| {
            fault!(MALFORMED_DATA, "what {} shows makes no sense: {what}", self.port)
        };
        let taken = match self.bin.take() {
            Ok(None) => return Ok(TapAnswer::Nothing),
            Ok(Some(taken)) => Ok(taken),
            Err(error) => Err(wrong(&error)),
        };
        // This holds even if the value cannot be read, so that the next call requests another value.
        self.asked = false;
        let (note, body) = taken?;
        let Note { outcome, parts, body_len, timestamp, next_timestamp, slot, number, cost } = note;
        let value = match outcome {
            TapOutcome::Value => value_of(parts, body_len, body).map_err(|error| wrong(&error))?,
            TapOutcome::Time => return Ok(TapAnswer::Time(timestamp)),
            other => return Err(self.not_shown(other, body_len)),
        };
        let cost = Duration::from_nanos(cost);
        Ok(TapAnswer::Value(PortValue { timestamp, next_timestamp, slot, number, cost, value }))
    }

    fn not_shown(&self, outcome: TapOutcome, bytes: u64) -> Fault {
        let port = &self.port;
        let fewer = if self.levels > 1 { ", or for fewer levels" } else { "" };
        match outcome {
            TapOutcome::Value => fault!(NOT_SHOWN, "{port} has sent a value"),
            TapOutcome::TooLarge if self.levels > 0 => fault!(
                NOT_SHOWN,
                "the surfaces of {port} have {bytes} bytes, and the tap has room for {}; ask for more room\
                 {fewer}",
                self.bin.room()
            ),
            TapOutcome::TooLarge => fault!(
                NOT_SHOWN,
                "{port} sends {bytes} bytes, and the tap has room for {}; ask for a slice, every n-th element \
                 or a histogram, or for more room",
                self.bin.room()
            ),
            TapOutcome::NoKey => fault!(NOT_SHOWN, "{port} sends no map with this key"),
            TapOutcome::NoPart => {
                fault!(NOT_SHOWN, "{port} sends no array with so many axes, or none with this index")
            }
            TapOutcome::NoNumbers => fault!(
                NOT_SHOWN,
                "{port} sends no array of numbers: there is no \
                                                        histogram of it"
            ),
            TapOutcome::NoMemory => {
                fault!(NOT_SHOWN, "the system has no memory to show the {bytes} bytes that {port} sends")
            }
            TapOutcome::NoSurface => fault!(
                NOT_SHOWN,
                "{port} has no surfaces: they are made of a field of numbers, on a grid of three axes, with \
                 ghosts"
            ),
            TapOutcome::Time => {
                fault!(NOT_SHOWN, "{port} has sent a value of which only the time was asked for")
            }
            TapOutcome::Unsendable => {
                fault!(NOT_SHOWN, "the value on {port} cannot be shown: no message can hold it")
            }
        }
    }
}

/// Returns the value in a body. The body comes from another process, so it is checked like a body from a
/// socket.
fn value_of(parts: u16, body_len: u64, body: OwnMemory) -> Result<Value, Fault> {
    match (parts, body_len) {
        (0, 0) => Ok(Value::None),
        _ => decode_body(parts, Bytes::from_owner(body), &Limits::default()).map_err(Fault::from),
    }
}

#[cfg(test)]
mod tests {
    use super::PortOf;

    #[test]
    fn a_port_is_named_as_messages_name_it() {
        let of = |text| PortOf::of(text).map(|one| (one.instance.clone(), one.port.clone(), one.slot)).ok();
        assert_eq!(of("macro.out"), Some(("macro".into(), "out".into(), None)));
        assert_eq!(of("micro[3].out[2]"), Some(("micro[3]".into(), "out".into(), Some(2))));
        assert_eq!(of("outer.inner[1][2].out"), Some(("outer.inner[1][2]".into(), "out".into(), None)));
        for wrong in ["macro", ".out", "macro.", "macro.out[", "macro.out[x]", "macro.out[1]x", "macro.out[-1]"]
        {
            assert_eq!(of(wrong), None, "{wrong}");
        }
        let rank = PortOf::of("flow[1]:3.u").unwrap();
        assert_eq!(
            (rank.instance.as_str(), rank.rank, rank.to_string()),
            ("flow[1]", Some(3), "flow[1]:3.u".into())
        );
        assert_eq!(PortOf::of("micro[3].out[2]").unwrap().to_string(), "micro[3].out[2]");
    }
}
