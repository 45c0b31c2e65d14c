//! Links between domains over real sockets: who may come in, encryption, streams that are dialled again after a
//! cut, compression. All of this is around `ligament_path::Path`, which knows nothing of sockets. No threads,
//! and nothing that blocks.
#![deny(unsafe_code)]

mod cargo;
mod codec;
mod coming;
mod connection;
mod crowd;
mod event;
#[cfg(fuzzing)]
pub mod fuzzing;
mod gate;
mod greeting;
mod guest;
mod incoming;
mod invitation;
mod keys;
mod last_word;
mod listener;
mod net;
mod outgoing;
mod pays;
mod peer;
mod private;
mod records;
mod relay;
mod secure;
mod socket;
#[allow(unsafe_code)]
mod sys;
mod tls;
mod tuning;

pub use cargo::Cargo;
pub use event::Event;
pub use gate::Gate;
pub use greeting::MOST_STREAMS;
pub use invitation::Invitation;
pub use keys::RunKeys;
pub use last_word::LastWord;
pub use ligament_path::{Limit, MessageId, Nanos, Report, StreamId};
pub use listener::{Family, Listen, Listener};
pub use net::Net;
pub use relay::{Load, Place, Relay, Station, Told, Way};
pub use tuning::{Compression, Congestion, Tuning};

/// The conduit of a path that belongs to the agents themselves.
pub const CONTROL: u32 = u32::MAX;

/// The monotonic clock (ns), as `Net::turn` wants it.
pub fn now() -> Nanos {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}
