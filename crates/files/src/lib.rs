//! Copying files between two ends: `send` is the end that has them, `receive` the one that gets them. The
//! sender says what there is (`scan`, or `watch` if it goes on), the receiver answers what it lacks, and gets
//! it. Nothing stands under its name there before it is whole (`partial`), and nothing is written outside of
//! the directory that the receiver was given (`tree`), whatever the sender says. `removal` takes away what the
//! sender has no more, if that is asked for. `protocol` has the words of both, `channel` what they travel by.
//! The guide is `docs/guides/files.md`.
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
