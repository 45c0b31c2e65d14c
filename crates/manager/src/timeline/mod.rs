//! The timeline of a run: at which times each instance computed, waited for another instance, and copied
//! messages. `recorder` writes the timeline during the run. `merge` makes the timeline coarser when it
//! becomes large. `file_format` has the lines of the file, `reader` reads the file, and `waits` adds up
//! waits.

mod file_format;
mod merge;
mod reader;
mod recorder;
mod waits;

pub use merge::{PieceMerger, TimelinePiece, TimelineSums};
pub use reader::{RunTimeline, TimelineHeader, TimelineLane, TimelineSpan};
pub use recorder::{
    ActivityKey, ActivityTotal, LaneName, LaneTotals, LaneUpdate, NewTimeline, RecordedInterval,
    TimelineRecorder, UpdateOccasion, UpdateReason, DEFAULT_TIMELINE_BYTES,
};
pub use waits::{long_waits, LongWait};

use ligament_wire::RankId;

/// The activities of an instance other than computing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Activity {
    /// The instance waits for a message from the peer.
    Message,
    /// The instance waits for a message on any of several ports, and no message has arrived.
    AnyMessage,
    /// The instance waits until the peer reads messages, so that the conduit has room.
    Room,
    /// The instance waits until the peer takes entries out of a ring. The peer does this in any call.
    Slots,
    /// The instance waits for memory for a message.
    Memory,
    /// The instance waits until a change of settings is agreed on, or waits at a halt.
    Steering,
    /// The instance copies a message that it sends to the peer.
    Send,
    /// The instance copies a message that it has received from the peer.
    Receive,
}

impl Activity {
    /// All activities, each with the word that stands for it in the file.
    const NAMES: [(Activity, &'static str); 8] = [
        (Activity::Message, "message"),
        (Activity::AnyMessage, "any"),
        (Activity::Room, "room"),
        (Activity::Slots, "slots"),
        (Activity::Memory, "memory"),
        (Activity::Steering, "steering"),
        (Activity::Send, "send"),
        (Activity::Receive, "receive"),
    ];

    /// Returns the word for the activity.
    pub fn name(self) -> &'static str {
        Activity::NAMES.iter().find(|(activity, _)| *activity == self).map_or("?", |(_, name)| name)
    }

    fn from_name(name: &str) -> Option<Activity> {
        Activity::NAMES.iter().find(|(_, known)| *known == name).map(|(activity, _)| *activity)
    }

    /// Returns true if the activity is a wait.
    pub fn is_wait(self) -> bool {
        !matches!(self, Activity::Send | Activity::Receive)
    }
}

/// A reason for which an instance did not compute: the activity of the instance, and the peer that is
/// concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineCause {
    /// Rank that spent its time on the activity.
    pub rank: RankId,
    pub activity: Activity,
    /// Port of this rank, such as `micro.init`, if exactly one port is concerned.
    pub at: Option<String>,
    /// Rank at the other end of the conduit, if there is one.
    pub peer: Option<RankId>,
    /// Port at the other end of the conduit, such as `macro.out`.
    pub peer_port: Option<String>,
}

impl TimelineCause {
    /// Returns a description that names the peer's port, such as `waits for macro.out`.
    pub fn sentence(&self, peer: &str) -> String {
        let port = self.peer_port.as_deref().unwrap_or(peer);
        match self.activity {
            Activity::Message if self.at.is_none() => "waits for messages".into(),
            Activity::Message => format!("waits for {port}"),
            Activity::AnyMessage => "waits for any of several ports".into(),
            Activity::Room if self.at.is_none() => "waits until others read".into(),
            Activity::Room => format!("waits until {port} is read"),
            Activity::Slots => format!("waits until {peer} takes what was sent"),
            Activity::Memory => "waits for memory".into(),
            Activity::Steering => "is held by who steers".into(),
            Activity::Send => format!("sends to {port}"),
            Activity::Receive => format!("receives from {port}"),
        }
    }
}
