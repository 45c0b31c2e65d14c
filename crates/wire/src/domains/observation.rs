//! How the instances of a domain stand, as its agent tells the head a few times a second. Machines' clocks have
//! nothing to do with each other, so points in time are ages: ns before the snapshot was made.

use super::Exit;
use crate::number::RankId;
use minicbor::{Decode, Encode};

/// How the instances of a domain stand.
#[derive(Debug, Clone, Default, PartialEq, Encode, Decode)]
pub struct Snapshot {
    /// When it was made, by the agent's own clock, ns.
    #[n(0)]
    pub at: u64,
    /// The last round of looks that the agent had passed on to its instances before.
    #[n(1)]
    pub round: u64,
    /// What its carrier does, asked after all pages were read.
    #[n(2)]
    pub carried: CarrierLoad,
    /// Bytes of memory for messages: given out, and the most that may be.
    #[n(3)]
    pub memory_used: u64,
    #[n(4)]
    pub memory_limit: u64,
    /// The ranks of which anything has changed since the snapshot before.
    #[n(5)]
    pub rows: Vec<RankRow>,
    /// What timelines have gained.
    #[n(6)]
    pub lanes: Vec<Lane>,
    /// What has passed channels, where that has changed since the snapshot before. None if nothing has.
    #[n(7)]
    pub passages: Option<Vec<Passage>>,
}

/// What has passed a channel, in all, at those of its ends that are in the domain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Encode, Decode)]
pub struct Passage {
    /// By its number.
    #[n(0)]
    pub channel: u32,
    #[n(1)]
    pub sent: Option<Traffic>,
    #[n(2)]
    pub received: Option<Traffic>,
}

/// Messages that have passed one end of a channel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Encode, Decode)]
pub struct Traffic {
    #[n(0)]
    pub messages: u64,
    /// Of their bodies.
    #[n(1)]
    pub bytes: u64,
    /// The timestamp of the last one, s.
    #[n(2)]
    pub time: Option<f64>,
}

/// How much a carrier has to do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Encode, Decode)]
pub struct CarrierLoad {
    /// True if nothing is under way: it has just looked at all its rings and all credit, has nothing to pass
    /// on, and all that it has sent has arrived.
    #[n(0)]
    pub quiet: bool,
    /// Messages that went to other domains, and that came from there, ever.
    #[n(1)]
    pub sent: u64,
    #[n(2)]
    pub came: u64,
    /// What was told to other domains of what was received here, and what they told; bytes, wrapping.
    #[n(3)]
    pub told: u64,
    #[n(4)]
    pub credited: u64,
}

/// A rank of an instance.
#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub struct RankRow {
    #[n(0)]
    pub rank: RankId,
    #[n(1)]
    pub phase: RankPhase,
    #[n(2)]
    pub pid: Option<u32>,
    /// True if its process is stopped, by a signal or a debugger.
    #[n(3)]
    pub stopped: bool,
    /// Its status page, once it has one.
    #[n(4)]
    pub page: Option<Page>,
    /// Of an MPI program, which rank has not come where others are, in words, and for how long, ns.
    #[n(5)]
    pub ranks: Option<(String, u64)>,
}

/// Where an instance stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum RankPhase {
    #[n(0)]
    Waiting,
    #[n(1)]
    Started,
    #[n(2)]
    Running,
    #[n(3)]
    Finished,
    #[n(4)]
    Gone(#[n(0)] Exit),
}

/// A status page. Durations in ns.
#[derive(Debug, Clone, Default, PartialEq, Encode, Decode)]
pub struct Page {
    /// As the page has it: 0 starting, 1 computing, … 5 ended, 6 failed.
    #[n(0)]
    pub state: u8,
    #[n(1)]
    pub epoch: u64,
    #[n(2)]
    pub waits: Option<Waits>,
    #[n(3)]
    pub looked: u64,
    /// Model time, s.
    #[n(4)]
    pub time: Option<f64>,
    #[n(5)]
    pub iterations: u64,
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
    #[n(13)]
    pub receiving: u64,
    #[n(14)]
    pub wait_count: u64,
    /// Ages; none for not yet.
    #[n(15)]
    pub started: Option<u64>,
    #[n(16)]
    pub ended: Option<u64>,
}

/// A wait.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Waits {
    #[n(0)]
    pub what: AwaitedThing,
    /// How long it lasts already, ns.
    #[n(1)]
    pub age: u64,
    #[n(2)]
    pub timed: bool,
    #[n(3)]
    pub holding: bool,
}

/// What is waited for. Channels and ranks by their numbers in the run.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum AwaitedThing {
    #[n(0)]
    Message(#[n(0)] Vec<u32>),
    #[n(1)]
    Credit(#[n(0)] u32, #[n(1)] u64),
    #[n(2)]
    Slots(#[n(0)] RankId),
    #[n(3)]
    Memory,
    /// A change to be agreed on, or the end of a halt.
    #[n(4)]
    Steering(#[n(0)] u64),
}

/// What the timeline of a rank has gained.
#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub struct Lane {
    #[n(0)]
    pub rank: RankId,
    /// The status page as it was then.
    #[n(1)]
    pub page: Page,
    #[n(2)]
    pub intervals: Vec<Interval>,
    /// The sums of its causes, if there is anything new in them.
    #[n(3)]
    pub sums: Vec<ActivityTotal>,
    /// True if nothing more will come.
    #[n(4)]
    pub over: bool,
}

/// A wait or a copy.
#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub struct Interval {
    /// 1 for a message, 2 for any of several, 3 for credit, 4 for slots, 5 for memory; 6 sends, 7 receives.
    #[n(0)]
    pub activity: u8,
    #[n(1)]
    pub id: u32,
    /// Ages.
    #[n(2)]
    pub begin: u64,
    #[n(3)]
    pub end: u64,
    /// All that the instance had counted at its end.
    #[n(4)]
    pub sums: [u64; 10],
    /// The number of before that it are missing.
    #[n(5)]
    pub missed: u64,
}

/// How long and how often in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ActivityTotal {
    #[n(0)]
    pub activity: u8,
    #[n(1)]
    pub id: u32,
    #[n(2)]
    pub ns: u64,
    #[n(3)]
    pub count: u64,
}
