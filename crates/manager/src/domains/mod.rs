//! A run over several domains, as its head sees it; no I/O and no clock. `roster`: which agents have joined,
//! and which are missing. `head`: combines the reports of all agents into one view, and turns the manager's
//! orders into orders for each agent.
//!
//! An agent's logic is *held*: after its own processes have ended, it stays until those of all other domains
//! have ended, because a run that is over in one domain may yet fail in another. Agents never end a run
//! themselves. They report, and the head orders all of them to end, its own agent included. So there is only
//! one way in which a run ends.

mod head;
mod roster;

pub use head::{Head, HeadAction};
pub use ligament_agent::domains::ExpectedDomain;
pub use roster::{DomainRoster, JoinedDomain};
