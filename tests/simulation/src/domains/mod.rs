//! Runs over several domains, with the real logic of agents, of the head and of its manager. Each of their
//! messages is sent as bytes on a line that is slow, and is cut now and then. Instances, rings and carriers are
//! simulated (`world`), so the correct result of a script is known (`script`). `sites` connects the parts, and
//! `verdict` has the rules that each schedule must keep.

mod script;
mod sites;
mod verdict;
mod world;

pub use sites::run;

/// The result of a schedule.
#[derive(Debug, Clone, Default)]
pub struct ScheduleResult {
    pub seed: u64,
    /// The broken rules; empty if all were kept.
    pub wrong: Vec<String>,
    pub story: Vec<String>,
    /// `done`, `failed`, `deadlocked`, `stopped`, `vanished`, `not joined`.
    pub end: &'static str,
    pub domains: usize,
    pub events: u64,
    pub grown: usize,
    /// Number of instances with several ranks.
    pub ranks: usize,
}
