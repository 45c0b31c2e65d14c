//! Files between the domains of a run, whichever way they go: out in parts (`sender`), in until they are
//! whole (`receiver`); and what is to be seen of an instance's files while it runs (`sight`).

mod receiver;
mod sender;
mod sight;

pub(crate) use receiver::FileReceiver;
pub(crate) use sender::FileSender;
pub(crate) use sight::see;

/// The directory of a run's inputs, below that of the run.
pub(crate) const INPUTS: &str = "inputs";
