//! The state of an endpoint, as its status page shows it and agents report it. Points in time are ns of the
//! machine's CLOCK_MONOTONIC; the clocks of different machines are independent, so a report is converted by a
//! `ClockShift`.

use crate::EndpointId;
use minicbor::{Decode, Encode};

/// The activity of an endpoint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
#[repr(u64)]
pub enum EndpointActivity {
    /// The endpoint has registered and has not called the library yet.
    #[default]
    #[n(0)]
    Starting = 0,
    /// The endpoint runs its own code.
    #[n(1)]
    Computing = 1,
    /// The endpoint waits in `receive`.
    #[n(2)]
    WaitingToReceive = 2,
    /// The endpoint waits for credit in `send`.
    #[n(3)]
    WaitingToSend = 3,
    /// The endpoint copies a message.
    #[n(4)]
    Transferring = 4,
    /// The endpoint has ended cleanly.
    #[n(5)]
    Ended = 5,
    /// The endpoint has reported an error.
    #[n(6)]
    Failed = 6,
    /// The endpoint waits in `steer` until a change is confirmed, or at a halt.
    #[n(7)]
    Held = 7,
}

impl EndpointActivity {
    /// Returns the activity that a word of a status page stands for. An unknown word means `Starting`.
    pub fn from_word(word: u64) -> EndpointActivity {
        match word {
            1 => EndpointActivity::Computing,
            2 => EndpointActivity::WaitingToReceive,
            3 => EndpointActivity::WaitingToSend,
            4 => EndpointActivity::Transferring,
            5 => EndpointActivity::Ended,
            6 => EndpointActivity::Failed,
            7 => EndpointActivity::Held,
            _ => EndpointActivity::Starting,
        }
    }

    /// Returns the activity's name in status output.
    pub fn name(self) -> &'static str {
        match self {
            EndpointActivity::Starting => "starting",
            EndpointActivity::Computing => "computing",
            EndpointActivity::WaitingToReceive => "waiting to receive",
            EndpointActivity::WaitingToSend => "waiting to send",
            EndpointActivity::Transferring => "transferring",
            EndpointActivity::Ended => "ended",
            EndpointActivity::Failed => "failed",
            EndpointActivity::Held => "held",
        }
    }
}

/// The event for which an endpoint waits. Channels are given by their numbers in the run.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum AwaitedEvent {
    /// A message on any of these channels.
    #[n(0)]
    Message {
        #[n(0)]
        channels: Vec<u32>,
    },
    /// The receiver of this channel reads. A budget of `needs` bytes would also end the wait.
    #[n(1)]
    Credit {
        #[n(0)]
        channel: u32,
        #[n(1)]
        needs: u64,
    },
    /// This endpoint takes entries out of its ring, which it does in each call of the library.
    #[n(2)]
    Slots {
        #[n(0)]
        endpoint: EndpointId,
    },
    /// A receiver releases a block of memory.
    #[n(3)]
    Memory,
    /// This change is confirmed, or this halt is over.
    #[n(4)]
    Steering {
        #[n(0)]
        change: u64,
    },
}

/// A wait of an endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct WaitRecord {
    #[n(0)]
    pub what: AwaitedEvent,
    /// Time at which the wait began, in ns of CLOCK_MONOTONIC.
    #[n(1)]
    pub since: u64,
    /// True if the wait has a time-out.
    #[n(2)]
    pub timed: bool,
    /// True if the code may hold views of the memory of other endpoints. Another thread of the code could
    /// drop them while this wait lasts.
    #[n(3)]
    pub holding: bool,
}

/// The content of a status page. Times are in ns. `started` and `ended` are points in time of
/// CLOCK_MONOTONIC; 0 means never.
#[derive(Debug, Clone, Default, PartialEq, Encode, Decode)]
pub struct Status {
    #[n(0)]
    pub state: EndpointActivity,
    /// A counter that changes whenever a wait begins or ends.
    #[n(1)]
    pub epoch: u64,
    /// The present wait.
    #[n(2)]
    pub waits: Option<WaitRecord>,
    /// Number of the last round in which the endpoint has checked its input again (see `StatusPage::confirm`).
    #[n(3)]
    pub looked: u64,
    /// Model time in s, once known.
    #[n(4)]
    pub time: Option<f64>,
    /// Number of passes of the reuse loop that began.
    #[n(5)]
    pub iterations: u64,
    /// Number of bytes of other endpoints' memory that live views hold.
    #[n(6)]
    pub pinned: u64,
    #[n(7)]
    pub sent_messages: u64,
    #[n(8)]
    pub sent_bytes: u64,
    #[n(9)]
    pub received_messages: u64,
    #[n(10)]
    pub received_bytes: u64,
    #[n(11)]
    pub waited: u64,
    #[n(12)]
    pub transferred: u64,
    /// The part of `transferred` that was spent on receiving.
    #[n(13)]
    pub receiving: u64,
    /// Number of waits that have ended.
    #[n(14)]
    pub wait_count: u64,
    #[n(15)]
    pub started: u64,
    #[n(16)]
    pub ended: u64,
}

/// The messages that have passed one end of a channel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Encode, Decode)]
pub struct ChannelCount {
    #[n(0)]
    pub messages: u64,
    /// Number of bytes of the messages' bodies.
    #[n(1)]
    pub bytes: u64,
    /// The timestamp of the last message, in s. `None` before the first message.
    #[n(2)]
    pub time: Option<f64>,
}

/// The times of two machines' clocks at one moment, in ns. Their difference converts the points in time of a
/// report to the clock of the receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockShift {
    /// Time of the clock of the reporting machine.
    pub there: u64,
    /// Time of the clock of the receiving machine.
    pub here: u64,
}

impl ClockShift {
    /// Converts a point in time before the report to the receiver's clock. Returns 0 if the receiver's clock
    /// began after that point.
    pub fn convert(self, at: u64) -> u64 {
        self.here.saturating_sub(self.there.saturating_sub(at))
    }

    /// Does the same as `convert`, but keeps a 0, which means never.
    fn convert_moment(self, at: u64) -> u64 {
        if at == 0 {
            return 0;
        }
        self.convert(at).max(1)
    }
}

impl Status {
    /// Converts all times of the status to the clock of another machine.
    pub fn shifted(mut self, shift: ClockShift) -> Status {
        self.started = shift.convert_moment(self.started);
        self.ended = shift.convert_moment(self.ended);
        if let Some(waits) = &mut self.waits {
            waits.since = shift.convert(waits.since).max(1);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status() -> Status {
        Status {
            state: EndpointActivity::WaitingToReceive,
            epoch: 7,
            waits: Some(WaitRecord {
                what: AwaitedEvent::Message { channels: vec![1, 2] },
                since: 900,
                timed: true,
                holding: false,
            }),
            looked: 3,
            time: Some(0.5),
            iterations: 1,
            pinned: 2,
            sent_messages: 3,
            sent_bytes: 4,
            received_messages: 5,
            received_bytes: 6,
            waited: 7,
            transferred: 8,
            receiving: 9,
            wait_count: 10,
            started: 100,
            ended: 0,
        }
    }

    #[test]
    fn a_status_comes_to_another_clock_with_all_its_intervals() {
        let there = status();
        let here = there.clone().shifted(ClockShift { there: 1000, here: 1_000_000 });
        let moved = |at: u64| at + 999_000;
        let waits = there.waits.clone().map(|waits| WaitRecord { since: moved(waits.since), ..waits });
        assert_eq!(here, Status { waits, started: moved(there.started), ..there });
    }

    #[test]
    fn a_clock_that_began_later_makes_nothing_of_what_was_before_it() {
        let here = status().shifted(ClockShift { there: 1000, here: 10 });
        assert_eq!((here.started, here.ended), (1, 0));
    }
}
