//! A path between two programs, without a model. One end listens, and the other end opens the path. Both
//! ends send and receive messages of any size. The messages are encrypted, and a broken connection is
//! replaced without a loss. `path` has the calls, and `end` the data that the calls share with the thread
//! that moves bytes. `options` and `error` have the types for arguments and errors of the calls. The guide
//! is `docs/guides/paths.md`.
#![forbid(unsafe_code)]

mod end;
mod error;
mod options;
mod path;

pub use error::{Misuse, PathError, PathErrorKind};
pub use ligament_net::{Family, Gate, Invitation, Listen, RunKeys as Key, Station};
pub use options::Options;
pub use path::{Path, Request, Statistics};
