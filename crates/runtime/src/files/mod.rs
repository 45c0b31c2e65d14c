//! Files between the domains of a run, whichever way they go: out in parts (`departing`), in until they are whole
//! (`arriving`); and what is to be seen of an instance's files while it runs (`sight`).

mod arriving;
mod departing;
mod sight;

pub(crate) use arriving::Arriving;
pub(crate) use departing::Departing;
pub(crate) use sight::see;

/// The directory of a run's inputs, below that of the run.
pub(crate) const INPUTS: &str = "inputs";
