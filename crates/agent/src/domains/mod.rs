//! The agent of any domain but the first. It reports to the head and carries out the head's orders.
//! `remote_agent` has its logic. `plan_conversion` converts the plan of a run to the types of the protocol
//! between domains, and back.

mod plan_conversion;
mod remote_agent;

/// An entry of the manager's roster of domains. The manager needs nothing else from the launchers of agents.
pub use ligament_launch::agents::ExpectedDomain;
pub use plan_conversion::{
    nodes_from_wire, plan_from_wire, plan_to_wire, program_from_wire, resources_from_wire, Distribution,
};
pub use remote_agent::{orders, HeadRequest, RemoteAgent, SnapshotSource};
