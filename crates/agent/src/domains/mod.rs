//! What the agent of a domain that is not the head's has to do besides: telling the head what happens, and doing what it
//! says. `remote` is the logic of that; `words` puts what is known here into the words of the protocol, and back; `plan`
//! does so for the plan.

mod plan_conversion;
mod remote_agent;
mod wire_conversion;

/// The manager, which waits for it to join, knows of launchers only this.
pub use ligament_launch::agents::ExpectedDomain;
pub use plan_conversion::{
    nodes_from_wire, plan_from_wire, plan_to_wire, program_from_wire, resources_from_wire,
};
pub use remote_agent::{orders, HeadRequest, RemoteAgent};
pub(crate) use wire_conversion::truncated;
pub use wire_conversion::{
    inspection_from_wire, outcome_from_wire, passage_from_wire, passage_to_wire, report_from_wire,
    view_from_wire,
};
pub use wire_conversion::{
    lane_to_wire, order_from_wire, order_to_wire, outcome_to_wire, page_to_wire, report_to_wire, row_to_wire,
    timeline_from_wire,
};
