//! Links between domains over real sockets: the check of the domains that may come in, encryption, streams
//! that are dialled again after a cut, compression. The protocol is `ligament_path::Path`, which knows
//! nothing of sockets. No call blocks, except in `last_word`. The only thread waits for the end of an ssh
//! process.
#![deny(unsafe_code)]

mod admission;
mod codec;
mod compression_choice;
mod connection;
mod event;
mod fixed_read;
#[cfg(fuzzing)]
pub mod fuzzing;
mod gate;
mod greeting;
mod handshake;
mod invitation;
mod keys;
mod last_word;
mod listener;
mod message_store;
mod net;
mod peer;
mod private;
mod records;
mod relay;
mod secure;
mod socket;
mod stream_reader;
mod stream_writer;
#[allow(unsafe_code)]
mod sys;
mod tls;
mod tuning;

pub use event::Event;
pub use gate::Gate;
pub use greeting::MAX_STREAMS;
pub use invitation::Invitation;
pub use keys::RunKeys;
pub use last_word::LastWord;
pub use ligament_path::{Limit, LinkReport, MessageId, Nanos, StreamId};
pub use listener::{Family, Listen, Listener};
pub use message_store::MessageStore;
pub use net::Net;
pub use relay::{DialAddress, Load, Relay, RelayNotice, Route, Station};
pub use tuning::{Compression, Congestion, NetOptions};

/// The conduit of a path that belongs to the agents themselves.
pub const CONTROL: u32 = u32::MAX;

/// Returns the time of the monotonic clock (ns), as `Net::turn` expects it.
pub fn now() -> Nanos {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}
