//! Copies of files between the two ends of a connection: `send` is the end that has the files, `receive` the
//! end that gets them. The sender lists its files (`scan`, or `watch` if it keeps following changes). The
//! receiver answers which files it lacks, and the sender sends these. A file gets its final name only when it
//! is complete (`partial`). The receiver writes nothing outside its directory, even if the sender breaks the
//! rules (`tree`). If the user asks for it, `removal` removes files that the sender no longer has. `protocol`
//! has the messages of both ends, and `channel` carries them. The guide is `docs/guides/files.md`.
#![forbid(unsafe_code)]

mod channel;
mod entry;
#[cfg(fuzzing)]
pub mod fuzzing;
mod names;
mod outgoing_file;
mod partial;
mod protocol;
mod rate;
mod receive;
mod removal;
mod scan;
mod send;
#[cfg(test)]
mod strangers;
mod sum;
mod tally;
#[cfg(test)]
mod temporary;
mod tree;
mod watch;

pub use channel::{MessageChannel, OverPath, OverPipes, MAX_MESSAGE_BYTES};
pub use receive::{receive, ReceiveOptions};
pub use send::{send, SendOptions};
pub use sum::checksum;
pub use tally::{reason_of, CopyTally, Counts, FailedFile};
pub use watch::WatchOptions;
