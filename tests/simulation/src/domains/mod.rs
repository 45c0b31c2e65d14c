//! Runs over several domains: the real logic of agents, of the head and of its manager, with every word between
//! them as bytes on lines that are slow and now and then cut. Instances, rings and carriers are played
//! (`world`), so that what must come of a script is known (`script`). `sites` is who reacts to what, `verdict`
//! what a schedule must hold to.

mod script;
mod sites;
mod verdict;
mod world;

pub use sites::run;

/// The result of a schedule.
#[derive(Debug, Clone, Default)]
pub struct ScheduleResult {
    pub seed: u64,
    /// The broken rules; empty if nothing did.
    pub wrong: Vec<String>,
    pub story: Vec<String>,
    /// `done`, `failed`, `deadlocked`, `stopped`, `vanished`, `not joined`.
    pub end: &'static str,
    pub domains: usize,
    pub events: u64,
    pub grown: usize,
    /// The number of instances that had several ranks.
    pub ranks: usize,
}
