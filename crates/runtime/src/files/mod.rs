//! Files between the domains of a run: `sender` sends a file in parts, and `receiver` puts the parts
//! together. `sight` reads an instance's files while it runs.

mod receiver;
mod sender;
mod sight;

pub(crate) use receiver::FileReceiver;
pub(crate) use sender::FileSender;
pub(crate) use sight::see;

/// Name of the directory of a run's inputs, below the run directory.
pub(crate) const INPUTS: &str = "inputs";
