//! Messages of a port of an instance, for a viewer: now and then the latest value, out of a box that the
//! instance writes when it is asked to. The instance never waits for anybody here.

use super::{broken, hear, reach, record_of, say, wait_for_answer};
use ligament_catalogue::{fault, Code, Fault};
use ligament_manager::{find_run, RunDirectory, RunRecord};
use ligament_shm::own::OwnMemory;
use ligament_shm::socket::{Frames, Socket};
use ligament_shm::tap::{Note, TapBox};
use ligament_shm::ShmError;
use ligament_wire::control::{from_bytes, Notice, Question};
use ligament_wire::tap::{TapOutcome, TapSelection};
use ligament_wire::{decode_body, Bytes, Limits, Value};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use std::time::{Duration, Instant};

/// Room for a value, if nobody says how much, bytes.
pub const DEFAULT_BOX_BYTES: u64 = 64 << 20;
/// How often is looked whether a value has come: at first, and at the most seldom. A value is not waited for in
/// the way of messages, since to wake somebody would cost the sender time.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(1);
const MAX_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// A port, as people write it: `macro.state_out`, `micro[3].out`, `macro.out[2]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortOf {
    pub instance: String,
    pub port: String,
    /// Of a vector port.
    pub slot: Option<u32>,
}

impl PortOf {
    /// Reads it.
    ///
    /// # Errors
    /// It is none.
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
        Ok(PortOf { instance: instance.to_owned(), port: port.to_owned(), slot })
    }
}

impl std::fmt::Display for PortOf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let PortOf { instance, port, slot } = self;
        match slot {
            Some(slot) => write!(f, "{instance}.{port}[{slot}]"),
            None => write!(f, "{instance}.{port}"),
        }
    }
}

/// A value that a port has sent.
#[derive(Debug, Clone)]
pub struct PortValue {
    /// Of the message, s.
    pub timestamp: f64,
    pub next_timestamp: Option<f64>,
    /// Of a vector port.
    pub slot: Option<u32>,
    /// The number of messages that the port had sent since the tap began, with this one.
    pub number: u64,
    pub value: Value,
}

/// The outcome of waiting for a value.
#[derive(Debug)]
pub enum TapEvent {
    /// The value.
    Shown(Box<PortValue>),
    /// None yet.
    Nothing,
    /// None any more, and why.
    Over(String),
}

/// A viewer of a port.
pub struct TapSession {
    socket: Socket,
    bin: TapBox,
    port: PortOf,
    /// True if a value was asked for and has not come.
    asked: bool,
    over: Option<String>,
}

impl TapSession {
    /// Begins to look at a port of a run that is under way, with room for values of so many bytes. None if the
    /// run is not, or its head cannot be reached from this machine.
    ///
    /// # Errors
    /// It does not answer, or refuses: there is no such port, or not yet (`TAP_TOO_EARLY`).
    pub fn begin(
        run: &RunDirectory,
        record: &RunRecord,
        port: &PortOf,
        wanted: &TapSelection,
        room: u64,
    ) -> Result<Option<TapSession>, Fault> {
        let Some((mut socket, token)) = reach(run, record)? else { return Ok(None) };
        let PortOf { instance, port: name, slot } = port.clone();
        let question = Question::Tap { instance, port: name, slot, wanted: wanted.clone(), room };
        say(&mut socket, record, &token, question)?;
        wait_for_answer(&socket, record)?;
        let (answer, memory) = hear(&mut socket, record)?;
        match (answer, memory.into_iter().next()) {
            (Notice::Tapped { room }, Some(memory)) => {
                let bin = TapBox::open(&memory, room).map_err(|error| broken(record, &error))?;
                Ok(Some(TapSession { socket, bin, port: port.clone(), asked: false, over: None }))
            }
            (other, _) => Err(broken(record, &format!("it said {other:?}"))),
        }
    }

    /// As `begin`, of a run that is named as the command's arguments name it.
    ///
    /// # Errors
    /// As `begin`; there is no such run, or it is not under way on this machine.
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

    /// The port.
    pub fn port(&self) -> &PortOf {
        &self.port
    }

    /// Messages that the port has sent since the tap began.
    pub fn passed(&self) -> u64 {
        self.bin.passed()
    }

    /// Asks for the next value that is sent, and waits for it, for so long at the most. One that was asked for
    /// and came late is given the next time.
    ///
    /// # Errors
    /// The value cannot be shown as it was asked for (`NOT_SHOWN`); the next value may be.
    pub fn next(&mut self, patience: Duration) -> Result<TapEvent, Fault> {
        if !std::mem::replace(&mut self.asked, true) {
            self.bin.ask();
        }
        let until = Instant::now().checked_add(patience);
        let mut pause = MIN_POLL_INTERVAL;
        loop {
            // Before what is there is looked at: the last value may have come before the end.
            let over = self.is_over();
            if let Some(came) = self.take()? {
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

    /// Lets time pass before the next value is asked for, as long as there may be one.
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

    /// Sleeps, unless the agent says something.
    fn sleep(&self, time: Duration) {
        let time = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) };
        let mut fds = [PollFd::new(&self.socket, PollFlags::IN)];
        let _ = poll(&mut fds, Some(&time));
    }

    /// Why nothing comes any more, if so.
    fn is_over(&mut self) -> Option<String> {
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

    /// The content of the box, if there is any.
    fn take(&mut self) -> Result<Option<PortValue>, Fault> {
        let wrong = |what: &dyn std::fmt::Display| {
            fault!(MALFORMED_DATA, "what {} shows makes no sense: {what}", self.port)
        };
        let taken = match self.bin.take() {
            Ok(None) => return Ok(None),
            Ok(Some(taken)) => Ok(taken),
            Err(error) => Err(wrong(&error)),
        };
        // Also after nonsense, so that the next value may be better.
        self.asked = false;
        let (note, body) = taken?;
        let Note { outcome, parts, body_len, timestamp, next_timestamp, slot, number } = note;
        let value = match outcome {
            TapOutcome::Value => value_of(parts, body_len, body).map_err(|error| wrong(&error))?,
            other => return Err(self.not_shown(other, body_len)),
        };
        Ok(Some(PortValue { timestamp, next_timestamp, slot, number, value }))
    }

    fn not_shown(&self, outcome: TapOutcome, bytes: u64) -> Fault {
        let port = &self.port;
        match outcome {
            TapOutcome::Value => fault!(NOT_SHOWN, "{port} has sent a value"),
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
            TapOutcome::Unsendable => {
                fault!(NOT_SHOWN, "the value on {port} cannot be shown: no message can hold it")
            }
        }
    }
}

/// The value with this body, which is checked as one from a socket is.
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
        assert_eq!(PortOf::of("micro[3].out[2]").unwrap().to_string(), "micro[3].out[2]");
    }
}
