//! The types for the end of a process and for the outcome of a run, and the sentence that describes a
//! failure.

use ligament_catalogue::{hinted, Fault};
use ligament_launch::terminal_text;
pub use ligament_wire::domains::{RunFailure, RunOutcome};
pub use ligament_wire::Exit;
use ligament_wire::RankId;

/// Returns a failure as a whole sentence. `name` returns the name of a rank. If the instance's own message
/// has an error code, that code takes precedence, because it is more specific.
pub fn failure_sentence(failure: &RunFailure, name: impl Fn(RankId) -> String) -> Fault {
    let mut text = match failure.rank {
        Some(rank) => format!("{} {}", name(rank), failure.what),
        None => failure.what.to_string(),
    };
    if let Some(said) = &failure.said {
        text.push_str(": ");
        text.push_str(&terminal_text::clean(said));
    }
    let code = failure.said.as_deref().and_then(hinted);
    Fault::new(code.unwrap_or(failure.what.code()), text)
}
