//! What the agent of a domain that is not the head's has to do besides: telling the head what happens, and doing what it
//! says. `remote` is the logic of that; `words` puts what is known here into the words of the protocol, and back; `plan`
//! does so for the plan.

mod plan;
mod remote;
mod words;

/// The manager, which waits for it to join, knows of launchers only this.
pub use ligament_launch::agents::Expected;
pub use plan::{nodes_of, program_of, resources_of, tell_plan, told_plan};
pub use remote::{orders, Heard, RemoteAgent};
pub(crate) use words::cut;
pub use words::{lane_of, order_of, outcome_of, page_of, report_of, row_of, told_gained, told_order};
pub use words::{passage_of, told_looked, told_outcome, told_passage, told_report, told_view};
