//! Taps of ports of other domains: what the head wants to see there, and what the agent there shows. A value
//! goes when somebody waits for one and not before, in pieces, of which no more are under way than a few; so
//! there is nothing on the path while nobody looks, and what else is said there waits for no more than these.

use super::MAX_PIECE;
use crate::number::InstanceId;
use crate::steering::ModelTime;
use crate::tap::{TapOutcome, TapSelection};
use ligament_catalogue::{fault, Fault};
use minicbor::{Decode, Encode};

/// Bytes of a tap's values that an agent may have under way to the head.
pub const VALUES_UNDER_WAY: u64 = 4 * MAX_PIECE as u64;

/// The head's order for a tap in another domain.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct TapOrder {
    /// Its number, which the head gives.
    #[n(0)]
    pub ticket: u64,
    #[n(1)]
    pub wish: TapWish,
}

/// The request.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum TapWish {
    /// Look at this port. Answered by `Begun` or `Over`.
    #[n(0)]
    Begin(#[n(0)] Box<TapPort>),
    /// Show the next value that it sends.
    #[n(1)]
    Ask,
    /// So many bytes of the value that is under way have come.
    #[n(2)]
    Took(#[n(0)] u64),
    /// The last viewer is gone.
    #[n(3)]
    End,
}

/// A port, and what of it is to be seen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct TapPort {
    #[n(0)]
    pub instance: InstanceId,
    #[n(1)]
    pub port: String,
    /// Of a vector port; none means whatever slot is sent on.
    #[n(2)]
    pub slot: Option<u32>,
    #[n(3)]
    pub wanted: TapSelection,
    /// For how large a value there is room, bytes.
    #[n(4)]
    pub room: u64,
}

/// An agent's reply about a tap.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct TapReply {
    #[n(0)]
    pub ticket: u64,
    #[n(1)]
    pub shows: Shows,
}

/// The reply.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum Shows {
    /// The port is looked at.
    #[n(0)]
    Begun,
    /// A piece of the value that was asked for; they come in order.
    #[n(1)]
    Piece {
        #[n(0)]
        offset: u64,
        #[cbor(n(1), with = "minicbor::bytes")]
        bytes: Vec<u8>,
        /// With the last.
        #[n(2)]
        note: Option<TapNote>,
    },
    /// Nothing is shown any more, or was at all, and why.
    #[n(2)]
    Over(#[n(0)] String),
}

/// The note about a value, as `ligament_shm::tap` has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct TapNote {
    /// By its number.
    #[n(0)]
    pub outcome: u64,
    #[n(1)]
    pub parts: u16,
    /// Of the value; also of one that is too large to be shown.
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
}

impl Shows {
    /// Returns true if it can be meant; whether it was asked for, the head sees.
    ///
    /// # Errors
    /// The message is impossible.
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
