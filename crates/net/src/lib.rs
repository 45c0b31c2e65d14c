//! Links between domains over real sockets: who may come in, encryption, streams that are dialled again after a
//! cut, compression. All of this is around `ligament_path::Path`, which knows nothing of sockets. No threads,
//! and nothing that blocks.
#![forbid(unsafe_code)]

mod cargo;
mod codec;
mod connection;
mod event;
#[cfg(fuzzing)]
pub mod fuzzing;
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
mod records;
mod secure;
mod socket;
mod tls;
mod tuning;

pub use cargo::Cargo;
pub use event::Event;
pub use invitation::Invitation;
pub use keys::RunKeys;
pub use last_word::LastWord;
pub use ligament_path::{MessageId, Nanos, StreamId};
pub use listener::{Family, Listen, Listener};
pub use net::Net;
pub use tuning::{Compression, Tuning};

/// The conduit of a path that belongs to the agents themselves.
pub const CONTROL: u32 = u32::MAX;

/// The monotonic clock (ns), as `Net::turn` wants it.
pub fn now() -> Nanos {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}
