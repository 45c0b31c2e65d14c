//! A path between two programs, without a model: one end listens, the other one opens; both send and receive
//! messages of any size. What travels is encrypted, and a connection that breaks is made anew without a loss.
//! `end` has what the two ends share with the thread that moves bytes, `path` the calls, `options` and `error`
//! what they are given and give back. The guide is `docs/guides/paths.md`.
#![forbid(unsafe_code)]

mod end;
mod error;
mod options;
mod path;

pub use error::{Misuse, PathError, PathErrorKind};
pub use ligament_net::{Family, Gate, Invitation, Listen, RunKeys as Key, Station};
pub use options::Options;
pub use path::{Path, Request, Statistics};
