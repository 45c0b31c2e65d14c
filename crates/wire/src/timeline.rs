//! The timeline of an endpoint, as its shared memory holds it and agents report it. Times are ns of the
//! machine's CLOCK_MONOTONIC.

use crate::status::{AwaitedEvent, ClockShift, Status};
use minicbor::{Decode, Encode};

/// The activity of an endpoint in an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode)]
#[cbor(index_only)]
#[repr(u8)]
pub enum Activity {
    /// The endpoint waits for a message on a channel.
    #[n(1)]
    AwaitsMessage = 1,
    /// The endpoint waits for a message on any of several channels, and no message has arrived yet.
    #[n(2)]
    AwaitsAny = 2,
    /// The endpoint waits until the receiver of a channel reads.
    #[n(3)]
    AwaitsCredit = 3,
    /// The endpoint waits until another endpoint takes entries out of the ring between the two.
    #[n(4)]
    AwaitsSlots = 4,
    /// The endpoint waits for memory.
    #[n(5)]
    AwaitsMemory = 5,
    /// The endpoint copies a message that it sends. If the message has several channels, the first is
    /// recorded.
    #[n(6)]
    Sends = 6,
    /// The endpoint copies a message that it has received on a channel.
    #[n(7)]
    Receives = 7,
    /// The endpoint waits until a change is confirmed, or at a halt.
    #[n(8)]
    AwaitsSteering = 8,
}

impl Activity {
    const ALL: [Activity; 8] = [
        Activity::AwaitsMessage,
        Activity::AwaitsAny,
        Activity::AwaitsCredit,
        Activity::AwaitsSlots,
        Activity::AwaitsMemory,
        Activity::Sends,
        Activity::Receives,
        Activity::AwaitsSteering,
    ];

    /// Returns the activity in the lower byte of a word.
    pub fn from_word(word: u64) -> Option<Activity> {
        Activity::ALL.into_iter().find(|&activity| activity as u64 == word & 0xff)
    }

    /// Returns true if the activity is a wait.
    pub fn is_wait(self) -> bool {
        !matches!(self, Activity::Sends | Activity::Receives)
    }
}

/// An activity and its object. The object is the number of a channel or of an endpoint, `REST` for all
/// other channels, or 0 if there is no object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub struct Cause {
    #[n(0)]
    pub activity: Activity,
    #[n(1)]
    pub id: u32,
}

impl Cause {
    /// Returns the cause as a word of shared memory.
    pub fn word(self) -> u64 {
        u64::from(self.id) << 32 | self.activity as u64
    }

    /// Returns the cause that a word of shared memory stands for.
    pub fn from_word(word: u64) -> Option<Cause> {
        Some(Cause { activity: Activity::from_word(word)?, id: (word >> 32) as u32 })
    }

    /// Returns the cause of a wait for this event.
    pub fn of(awaited: &AwaitedEvent) -> Cause {
        let (activity, id) = match awaited {
            AwaitedEvent::Message { channels } => match channels.as_slice() {
                [one] => (Activity::AwaitsMessage, *one),
                _ => (Activity::AwaitsAny, 0),
            },
            AwaitedEvent::Credit { channel, .. } => (Activity::AwaitsCredit, *channel),
            AwaitedEvent::Slots { endpoint } => (Activity::AwaitsSlots, endpoint.number()),
            AwaitedEvent::Memory => (Activity::AwaitsMemory, 0),
            AwaitedEvent::Steering { .. } => (Activity::AwaitsSteering, 0),
        };
        Cause { activity, id }
    }
}

/// The counters of an endpoint at one time. Times are in ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Encode, Decode)]
pub struct TimelineTotals {
    /// Number of waits that were not over at once.
    #[n(0)]
    pub waits: u64,
    #[n(1)]
    pub waited: u64,
    /// Time spent copying messages.
    #[n(2)]
    pub transferred: u64,
    /// The part of `transferred` that was spent on receiving.
    #[n(3)]
    pub receiving: u64,
    #[n(4)]
    pub sent_messages: u64,
    #[n(5)]
    pub sent_bytes: u64,
    #[n(6)]
    pub received_messages: u64,
    #[n(7)]
    pub received_bytes: u64,
    #[n(8)]
    pub iterations: u64,
    /// Model time in s, as the bits of an `f64`. NaN before the first message.
    #[n(9)]
    pub time: u64,
}

impl TimelineTotals {
    /// Returns the totals as words, in a fixed order.
    pub fn words(self) -> [u64; 10] {
        [
            self.waits,
            self.waited,
            self.transferred,
            self.receiving,
            self.sent_messages,
            self.sent_bytes,
            self.received_messages,
            self.received_bytes,
            self.iterations,
            self.time,
        ]
    }

    /// Makes the totals from these words.
    pub fn from_words(words: [u64; 10]) -> TimelineTotals {
        TimelineTotals {
            waits: words[0],
            waited: words[1],
            transferred: words[2],
            receiving: words[3],
            sent_messages: words[4],
            sent_bytes: words[5],
            received_messages: words[6],
            received_bytes: words[7],
            iterations: words[8],
            time: words[9],
        }
    }

    /// Returns the totals that a status page has.
    pub fn of(status: &Status) -> TimelineTotals {
        TimelineTotals {
            waits: status.wait_count,
            waited: status.waited,
            transferred: status.transferred,
            receiving: status.receiving,
            sent_messages: status.sent_messages,
            sent_bytes: status.sent_bytes,
            received_messages: status.received_messages,
            received_bytes: status.received_bytes,
            iterations: status.iterations,
            time: status.time.unwrap_or(f64::NAN).to_bits(),
        }
    }
}

/// A recorded wait or copy.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct TimelineInterval {
    #[n(0)]
    pub cause: Cause,
    #[n(1)]
    pub begin: u64,
    #[n(2)]
    pub end: u64,
    /// The counters at the end of the wait or copy.
    #[n(3)]
    pub sums: TimelineTotals,
    /// Number of earlier intervals that were overwritten before a reader could read them.
    #[n(4)]
    pub missed: u64,
}

/// The total time (ns) and number of all intervals with one cause.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct CauseSum {
    #[n(0)]
    pub cause: Cause,
    #[n(1)]
    pub ns: u64,
    #[n(2)]
    pub count: u64,
}

/// The new part of an endpoint's timeline since the previous reading.
#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub struct TimelineDelta {
    /// The status page, read just before the timeline.
    #[n(0)]
    pub status: Status,
    #[n(1)]
    pub intervals: Vec<TimelineInterval>,
    /// The sums of all causes, if they have changed since the previous reading.
    #[n(2)]
    pub causes: Vec<CauseSum>,
}

impl TimelineDelta {
    /// Converts all times to the clock of another machine.
    pub fn shifted(mut self, shift: ClockShift) -> TimelineDelta {
        self.status = self.status.shifted(shift);
        for interval in &mut self.intervals {
            interval.begin = shift.convert(interval.begin);
            interval.end = shift.convert(interval.end);
        }
        self
    }
}
