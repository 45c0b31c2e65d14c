//! Links between domains over real sockets: who may come in, encryption, streams that are dialled again after a
//! cut, compression. All of this is around `ligament_path::Path`, which knows nothing of sockets. No threads,
//! and nothing that blocks.
#![deny(unsafe_code)]

mod message_store;
mod codec;
mod fixed_read;
mod connection;
mod admission;
mod event;
#[cfg(fuzzing)]
pub mod fuzzing;
mod gate;
mod greeting;
mod handshake;
mod stream_reader;
mod invitation;
mod keys;
mod last_word;
mod listener;
mod net;
mod stream_writer;
mod compression_choice;
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

pub use message_store::MessageStore;
pub use event::Event;
pub use gate::Gate;
pub use greeting::MAX_STREAMS;
pub use invitation::Invitation;
pub use keys::RunKeys;
pub use last_word::LastWord;
pub use ligament_path::{Limit, MessageId, Nanos, LinkReport, StreamId};
pub use listener::{Family, Listen, Listener};
pub use net::Net;
pub use relay::{Load, DialAddress, Relay, Station, RelayNotice, Route};
pub use tuning::{Compression, Congestion, NetOptions};

/// The conduit of a path that belongs to the agents themselves.
pub const CONTROL: u32 = u32::MAX;

/// The monotonic clock (ns), as `Net::turn` wants it.
pub fn now() -> Nanos {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}
