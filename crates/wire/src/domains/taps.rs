//! Taps of ports in other domains: the requests of the head, and the answers of the agent that has the
//! port. The agent sends a value only when a viewer waits for one, so a tap without a viewer costs no
//! traffic. A value is sent in pieces, and only a few pieces are under way, so other messages on the path
//! wait for few bytes.

use super::MAX_PIECE;
use crate::number::InstanceId;
use crate::steering::ModelTime;
use crate::tap::{TapOutcome, TapSelection};
use ligament_catalogue::{fault, Fault};
use minicbor::{Decode, Encode};

/// Maximum number of bytes of a tap's value that an agent may have under way to the head.
pub const MAX_VALUE_BYTES_UNDER_WAY: u64 = 4 * MAX_PIECE as u64;

/// The head's order for a tap in another domain.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct TapOrder {
    /// The number of the tap. The head chooses it.
    #[n(0)]
    pub ticket: u64,
    #[n(1)]
    pub wish: TapWish,
}

/// The request in an order for a tap.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum TapWish {
    /// The agent begins to watch this port. Answered by `Begun` or `Over`.
    #[n(0)]
    Begin(#[n(0)] Box<TapPort>),
    /// The agent sends the next value that the port sends, if its time is not before this one. A time that is
    /// no number asks for the time of the next value only.
    #[n(1)]
    Ask(#[n(0)] ModelTime),
    /// Number of bytes of the present value that the head has received.
    #[n(2)]
    Took(#[n(0)] u64),
    /// The last viewer is gone, so the tap ends.
    #[n(3)]
    End,
    /// The viewer wishes for a value from another time on, if the value of the last `Ask` has not come yet.
    #[n(4)]
    Change(#[n(0)] ModelTime),
}

/// A port, and the part of its values that viewers want to see.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct TapPort {
    #[n(0)]
    pub instance: InstanceId,
    #[n(1)]
    pub port: String,
    /// The slot of a vector port. `None` means any slot on which the port sends.
    #[n(2)]
    pub slot: Option<u32>,
    #[n(3)]
    pub wanted: TapSelection,
    /// Maximum size of a value for which the viewer has room, in bytes.
    #[n(4)]
    pub room: u64,
    /// The number of the rank in its instance, from 0.
    #[n(5)]
    pub rank: u32,
}

/// An agent's reply about a tap.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct TapReply {
    #[n(0)]
    pub ticket: u64,
    #[n(1)]
    pub shows: Shows,
}

/// The content of an agent's reply about a tap.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum Shows {
    /// The agent has begun to watch the port.
    #[n(0)]
    Begun,
    /// A piece of the requested value. Pieces are sent in order.
    #[n(1)]
    Piece {
        #[n(0)]
        offset: u64,
        #[cbor(n(1), with = "minicbor::bytes")]
        bytes: Vec<u8>,
        /// The description of the value. Only the last piece has it.
        #[n(2)]
        note: Option<TapNote>,
    },
    /// The tap has ended, or could not begin. The text is the reason.
    #[n(2)]
    Over(#[n(0)] String),
}

/// The description of a value, with the same fields as `Note` in `ligament_shm::tap`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct TapNote {
    /// The number of a `TapOutcome`.
    #[n(0)]
    pub outcome: u64,
    #[n(1)]
    pub parts: u16,
    /// Length of the value's body, in bytes. It is also set for a value that is too large to be shown.
    #[n(2)]
    pub bytes: u64,
    #[n(3)]
    pub timestamp: ModelTime,
    #[n(4)]
    pub next_timestamp: Option<ModelTime>,
    #[n(5)]
    pub slot: Option<u32>,
    #[n(6)]
    pub number: u64,
    /// Processor time that the value took at its sender, ns.
    #[n(7)]
    pub cost: u64,
}

impl Shows {
    /// Checks the reply by itself. The head compares it with its requests.
    ///
    /// # Errors
    /// Fails if the reply is impossible: it has too many bytes, or an unknown outcome.
    pub(super) fn check(&self) -> Result<(), Fault> {
        match self {
            Shows::Piece { bytes, .. } if bytes.len() > MAX_PIECE => {
                Err(fault!(DOMAIN_SENDS_NONSENSE, "it shows {} bytes of a value at once", bytes.len()))
            }
            Shows::Piece { note: Some(note), .. } if TapOutcome::of(note.outcome).is_none() => {
                Err(fault!(DOMAIN_SENDS_NONSENSE, "it says {} of a value, which means nothing", note.outcome))
            }
            Shows::Over(why) => super::check::short(why),
            Shows::Begun | Shows::Piece { .. } => Ok(()),
        }
    }
}
