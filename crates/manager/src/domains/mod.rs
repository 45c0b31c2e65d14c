//! The head's view of a run over several domains; no I/O and no clock. `roster` has the domains that have
//! joined and the domains that are missing. `head` combines the reports of all agents into one view, and
//! turns the manager's orders into orders for each agent.
//!
//! The logic of each agent is *held* (`AgentCore::hold`): after the processes of its own domain have ended, the
//! agent stays until the processes of all other domains have ended. The reason is that the run may still fail
//! in another domain. An agent never ends a run by itself. An agent reports to the head, and the head orders
//! all agents to end, including its own. So a run can end in only one way.

mod head;
mod roster;

pub use head::{Head, HeadAction};
pub use ligament_agent::domains::ExpectedDomain;
pub use roster::{DomainRoster, JoinedDomain};
