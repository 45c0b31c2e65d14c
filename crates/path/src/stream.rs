//! One stream of a path: its current incarnation, what is unacknowledged on it, and what has arrived.

use crate::{MessageId, Nanos};
use std::collections::VecDeque;

/// The contents of a frame that must arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Payload {
    Piece { id: MessageId, offset: u64, len: u32 },
    Credit { conduit: u32 },
    End,
}

/// The live incarnation of a stream.
#[derive(Debug)]
pub(crate) struct Stream {
    pub incarnation: u32,
    /// Frames that were sent and are not acknowledged, oldest first.
    pub flight: VecDeque<Payload>,
    /// Counted frames that were sent and acknowledged.
    pub acknowledged: u64,
    /// Counted frames that arrived.
    pub came: u64,
    /// Bytes that arrived since the last acknowledgement.
    pub untold: u64,
    /// The value of `came` in the last acknowledgement.
    pub told: u64,
    /// When something was last received, and last sent.
    pub heard: Nanos,
    pub spoke: Nanos,
    /// The piece whose bytes are being read, if any.
    pub reading: Option<PendingRead>,
}

/// The next bytes on a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PendingRead {
    pub id: MessageId,
    pub offset: u64,
    pub len: u32,
    /// True if it is counted when it is read; acknowledgements are not.
    pub acknowledgement: bool,
}

impl Stream {
    pub fn new(incarnation: u32, now: Nanos) -> Stream {
        Stream {
            incarnation,
            flight: VecDeque::new(),
            acknowledged: 0,
            came: 0,
            untold: 0,
            told: 0,
            heard: now,
            spoke: now,
            reading: None,
        }
    }

    /// The frames that `frames` acknowledges. None if more are acknowledged than were sent: that is a lie.
    pub fn take_acknowledged(
        &mut self,
        frames: u64,
    ) -> Option<std::collections::vec_deque::Drain<'_, Payload>> {
        let news = frames.saturating_sub(self.acknowledged);
        if news > self.flight.len() as u64 {
            return None;
        }
        self.acknowledged += news;
        Some(self.flight.drain(..news as usize))
    }
}
