//! One run over several domains, as its head sees it; no I/O and no clock. `gathering`: which agents have
//! joined, and which are missing. `head`: makes one view of what the agents of all domains report, and turns
//! the manager's orders into orders for each of them.
//!
//! An agent's logic is *held*: with no process of its own left it stays until the head has heard the same of
//! all others, because a run that is over in one domain may yet fail in another. Agents never end a run
//! themselves: they report, and the head orders all of them to end, its own agent included. So there is one way
//! in which a run ends.

mod head;
mod roster;

pub use head::{Head, HeadAction};
pub use ligament_agent::domains::ExpectedDomain;
pub use roster::{DomainRoster, JoinedDomain};
