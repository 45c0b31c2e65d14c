//! The state of a domain's instances, as the domain's agent reports it to the head a few times a second.
//! Points in time are those of the agent's clock. `Snapshot::at` has the time of this clock at the report,
//! so that the head can convert all times to its own clock (`ClockShift`).

use crate::number::RankId;
use crate::status::{ChannelCount, ClockShift, Status};
use crate::timeline::TimelineDelta;
use crate::Exit;
use minicbor::{Decode, Encode};

/// The state of a domain's instances at one time.
#[derive(Debug, Clone, Default, PartialEq, Encode, Decode)]
pub struct Snapshot {
    /// Time of the agent's clock at which the snapshot was made, in ns.
    #[n(0)]
    pub at: u64,
    /// Number of the last `AgentOrder::Look` that the agent had passed on to its instances before the
    /// snapshot.
    #[n(1)]
    pub round: u64,
    /// The state of the domain's carrier. The agent reads it after the status pages of all instances.
    #[n(2)]
    pub carried: CarrierLoad,
    /// Memory for messages: the bytes in use, and the limit in bytes (`memory_limit`).
    #[n(3)]
    pub memory_used: u64,
    #[n(4)]
    pub memory_limit: u64,
    /// The ranks whose state has changed since the previous snapshot.
    #[n(5)]
    pub rows: Vec<RankRow>,
    /// New parts of the timelines of ranks.
    #[n(6)]
    pub lanes: Vec<Lane>,
    /// The counts of the channels whose counts have changed since the previous snapshot. `None` if no count
    /// has changed.
    #[n(7)]
    pub passages: Option<Vec<Passage>>,
}

/// The counts of a channel, and the number of the channel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Encode, Decode)]
pub struct Passage {
    #[n(0)]
    pub channel: u32,
    #[n(1)]
    pub view: ChannelView,
}

/// Messages that have passed a channel, counted at its sending end and at its receiving end. The count of
/// an end in another domain is `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Encode, Decode)]
pub struct ChannelView {
    #[n(0)]
    pub sent: Option<ChannelCount>,
    #[n(1)]
    pub received: Option<ChannelCount>,
}

/// The traffic of a carrier.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Encode, Decode)]
pub struct CarrierLoad {
    /// True if nothing is under way: the carrier has just checked all its rings and all credit, has nothing to
    /// pass on, and all messages that the carrier has sent have arrived.
    #[n(0)]
    pub quiet: bool,
    /// Number of messages sent to other domains, and number received from other domains (`came`), since the
    /// run began.
    #[n(1)]
    pub sent: u64,
    #[n(2)]
    pub came: u64,
    /// Credit sent to other domains, and credit received from other domains (`credited`), since the run
    /// began, in bytes. Both sums wrap around.
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
    /// The instance has not been started yet.
    #[n(0)]
    Waiting,
    /// The instance's process runs and has not registered.
    #[n(1)]
    Started,
    /// The instance has registered and takes part in the run.
    #[n(2)]
    Running,
    /// The instance has reported that it is done. Its process still runs.
    #[n(3)]
    Finished,
    /// The instance's process has ended.
    #[n(4)]
    Gone(#[n(0)] Exit),
}

/// The present state of an instance, or of a rank of an instance.
#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub struct InstanceView {
    #[n(0)]
    pub phase: InstancePhase,
    #[n(1)]
    pub pid: Option<u32>,
    /// The number (pid) of the process that registered. Only the agent of the process's domain knows it.
    #[cbor(skip)]
    pub speaker: Option<u32>,
    /// The content of the status page, once the page exists.
    #[n(2)]
    pub status: Option<Status>,
}

/// The part of a rank's state that only an inspection of its processes shows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct ProcessInspection {
    /// True if a signal or a debugger has stopped the process.
    #[n(0)]
    pub stopped: bool,
    /// The ranks of an MPI program that lag behind the other ranks, if there are any.
    #[n(1)]
    pub ranks: Option<RankLag>,
}

/// The rank of an MPI program that has not reached the call in which the other ranks wait. Only for programs in
/// which rank 0 represents all ranks.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct RankLag {
    /// The description of the lag, such as `rank 1 has not come to the end`.
    #[n(0)]
    pub what: String,
    /// Time at which the lag began, in ns of CLOCK_MONOTONIC.
    #[n(1)]
    pub since: u64,
}

/// The new part of a rank's timeline since the previous snapshot.
#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub struct Lane {
    #[n(0)]
    pub rank: RankId,
    #[n(1)]
    pub news: TimelineDelta,
    /// True if this is the last part of the timeline.
    #[n(2)]
    pub over: bool,
}

impl RankRow {
    /// Converts all times of the state to the clock of another machine.
    pub fn shifted(mut self, shift: ClockShift) -> RankRow {
        self.view.status = self.view.status.map(|status| status.shifted(shift));
        if let Some(lag) = &mut self.inspection.ranks {
            lag.since = shift.convert(lag.since);
        }
        self
    }
}
