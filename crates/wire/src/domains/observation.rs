//! The state of a domain's instances, as its agent reports it to the head a few times a second. Points in time
//! are those of the agent's clock; `Snapshot::at` tells its reading, so that the head can convert them
//! (`ClockShift`).

use crate::number::RankId;
use crate::status::{ChannelCount, ClockShift, Status};
use crate::timeline::TimelineDelta;
use crate::Exit;
use minicbor::{Decode, Encode};

/// The state of a domain's instances.
#[derive(Debug, Clone, Default, PartialEq, Encode, Decode)]
pub struct Snapshot {
    /// The agent's clock when the snapshot was made, ns.
    #[n(0)]
    pub at: u64,
    /// The last round that the agent had passed on to its instances before.
    #[n(1)]
    pub round: u64,
    /// The state of its carrier, read after all pages.
    #[n(2)]
    pub carried: CarrierLoad,
    /// Bytes of memory for messages: in use, and the limit.
    #[n(3)]
    pub memory_used: u64,
    #[n(4)]
    pub memory_limit: u64,
    /// The ranks whose state has changed since the previous snapshot.
    #[n(5)]
    pub rows: Vec<RankRow>,
    /// News of timelines.
    #[n(6)]
    pub lanes: Vec<Lane>,
    /// The counts of channels that have changed since the previous snapshot; `None` if none have.
    #[n(7)]
    pub passages: Option<Vec<Passage>>,
}

/// The counts of a channel, with its number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Encode, Decode)]
pub struct Passage {
    #[n(0)]
    pub channel: u32,
    #[n(1)]
    pub view: ChannelView,
}

/// Messages that have passed a channel, counted at its sending end and at its receiving end. An end in another
/// domain is
/// `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Encode, Decode)]
pub struct ChannelView {
    #[n(0)]
    pub sent: Option<ChannelCount>,
    #[n(1)]
    pub received: Option<ChannelCount>,
}

/// The state of a carrier.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Encode, Decode)]
pub struct CarrierLoad {
    /// True if nothing is under way: the carrier has just checked all its rings and all credit, has nothing to
    /// pass on, and all that it has sent has arrived.
    #[n(0)]
    pub quiet: bool,
    /// Number of messages sent to other domains, and number received from them, since the run began.
    #[n(1)]
    pub sent: u64,
    #[n(2)]
    pub came: u64,
    /// Credit sent to other domains, and credit received from them, since the run began; bytes, wrapping.
    #[n(3)]
    pub told: u64,
    #[n(4)]
    pub credited: u64,
}

/// The state of a rank.
#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub struct RankRow {
    #[n(0)]
    pub rank: RankId,
    #[n(1)]
    pub view: InstanceView,
    #[n(2)]
    pub inspection: ProcessInspection,
}

/// The phase of an instance's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum InstancePhase {
    /// Not started yet.
    #[n(0)]
    Waiting,
    /// Its process runs and has not registered.
    #[n(1)]
    Started,
    /// It has registered and takes part.
    #[n(2)]
    Running,
    /// It has reported that it is done; its process still runs.
    #[n(3)]
    Finished,
    /// Its process has ended.
    #[n(4)]
    Gone(#[n(0)] Exit),
}

/// The present state of an instance, or of a rank of one.
#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub struct InstanceView {
    #[n(0)]
    pub phase: InstancePhase,
    #[n(1)]
    pub pid: Option<u32>,
    /// The process that registered. Known only to its own agent.
    #[cbor(skip)]
    pub speaker: Option<u32>,
    /// The status page, once it exists.
    #[n(2)]
    pub status: Option<Status>,
}

/// The part of a rank's state that only an inspection of its processes shows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct ProcessInspection {
    /// Stopped by a signal or a debugger.
    #[n(0)]
    pub stopped: bool,
    #[n(1)]
    pub ranks: Option<RankLag>,
}

/// The rank of an MPI program that has not reached the call in which the other ranks wait. Only for programs in
/// which rank 0 represents all ranks.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct RankLag {
    /// A description.
    #[n(0)]
    pub what: String,
    /// ns of CLOCK_MONOTONIC.
    #[n(1)]
    pub since: u64,
}

/// News of a rank's timeline.
#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub struct Lane {
    #[n(0)]
    pub rank: RankId,
    #[n(1)]
    pub news: TimelineDelta,
    /// True if these are the last.
    #[n(2)]
    pub over: bool,
}

impl RankRow {
    /// The state on another machine's clock.
    pub fn shifted(mut self, shift: ClockShift) -> RankRow {
        self.view.status = self.view.status.map(|status| status.shifted(shift));
        if let Some(lag) = &mut self.inspection.ranks {
            lag.since = shift.convert(lag.since);
        }
        self
    }
}
