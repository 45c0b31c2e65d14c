//! The timeline of a run: when each instance computed, waited for another, and copied messages. `recorder`
//! writes it during the run, `merge` makes it coarser when it becomes large, `file_format` has the lines of the
//! file, `reader` reads the file, and `waits` sums up waits.

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

/// Activities of an instance other than computing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Activity {
    /// Waits for a message from the peer.
    Message,
    /// Waits for a message on any of several ports, and none has come.
    AnyMessage,
    /// Waits until the peer reads, so that there is room in the conduit.
    Room,
    /// Waits until the peer takes ring entries, which it does in any call.
    Slots,
    /// Waits for memory for a message.
    Memory,
    /// Waits until a change of settings is agreed on, or at a halt.
    Steering,
    /// Copies a message that it sends to the peer.
    Send,
    /// Copies a message that it has received from the peer.
    Receive,
}

impl Activity {
    /// All activities, with their words in the file.
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

    /// The word for the activity.
    pub fn name(self) -> &'static str {
        Activity::NAMES.iter().find(|(activity, _)| *activity == self).map_or("?", |(_, name)| name)
    }

    fn from_name(name: &str) -> Option<Activity> {
        Activity::NAMES.iter().find(|(_, known)| *known == name).map(|(activity, _)| *activity)
    }

    /// True if the activity is a wait.
    pub fn is_wait(self) -> bool {
        !matches!(self, Activity::Send | Activity::Receive)
    }
}

/// A cause for which an instance did not compute: its activity, and the peer that is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineCause {
    /// The rank whose time it took.
    pub rank: RankId,
    pub activity: Activity,
    /// Its own port, such as `micro.init`, if it is one port.
    pub at: Option<String>,
    /// The rank at the other end, if there is one.
    pub peer: Option<RankId>,
    /// The port at the other end, such as `macro.out`.
    pub peer_port: Option<String>,
}

impl TimelineCause {
    /// A description that ends with the peer's port: `waits for macro.out`.
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
