//! One stream of a path: its current incarnation, the frames that are not acknowledged, and counts of what
//! arrived.

use crate::{MessageId, Nanos};
use std::collections::VecDeque;

/// The contents of a frame that must arrive. If the stream breaks, the frame is sent again on another stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Payload {
    Piece { id: MessageId, offset: u64, len: u32 },
    Credit { conduit: u32 },
    End,
}

/// The current incarnation of a stream.
#[derive(Debug)]
pub(crate) struct Stream {
    pub incarnation: u32,
    /// Frames that were sent and are not acknowledged, oldest first.
    pub flight: VecDeque<Payload>,
    /// Number of counted frames that were sent and acknowledged.
    pub acknowledged: u64,
    /// Number of counted frames that have arrived. Pieces, credit and ends are counted.
    pub came: u64,
    /// Number of bytes that have arrived since the last acknowledgement.
    pub untold: u64,
    /// The value of `came` in the last acknowledgement that was sent.
    pub told: u64,
    /// Time at which something last arrived.
    pub heard: Nanos,
    /// Time at which something was last sent.
    pub spoke: Nanos,
    /// The piece or the acknowledgement whose bytes are being read, if any.
    pub reading: Option<PendingRead>,
}

/// The bytes that follow the header that was read last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PendingRead {
    pub id: MessageId,
    pub offset: u64,
    pub len: u32,
    /// True if the bytes belong to an acknowledgement. An acknowledgement is not counted; a piece is.
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

    /// Removes the frames that are acknowledged by the count `frames`, and returns them. Returns `None` if
    /// the count is greater than the number of frames sent: the other end is then faulty.
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
