//! What only the kernel knows of processes, added to what is seen of their instances.

use ligament_agent::{process_state, Awaited, InstanceView};
use ligament_manager::Observation;

/// Whether threads may give memory back while somebody waits for some: views that the code holds can be dropped only by
/// another thread while it waits.
pub(crate) fn see_threads(seen: &mut [Observation], instances: &[InstanceView]) {
    let short = |one: &Observation| one.waits.as_ref().is_some_and(|waits| waits.what == Awaited::Memory);
    if !seen.iter().any(short) {
        return;
    }
    for (one, view) in seen.iter_mut().zip(instances) {
        if let Some(waits) = one.waits.as_mut().filter(|waits| waits.may_release) {
            let state = view.speaker.and_then(process_state);
            waits.may_release = state.is_none_or(|state| state.threads > 1);
        }
    }
}

/// Notes whose processes are stopped.
pub(crate) fn see_stopped(seen: &mut [Observation], instances: &[InstanceView]) {
    for (one, view) in seen.iter_mut().zip(instances) {
        let pids = [view.speaker, view.pid].into_iter().flatten();
        one.stopped = !one.gone && pids.filter_map(process_state).any(|state| state.stopped);
    }
}
