//! Facts about processes that only the kernel knows. They are added to the observations of the instances.

use crate::ranks::RankPages;
use ligament_agent::{process_state, AwaitedEvent, InstancePhase, InstanceView, ProcessInspection, REST};
use ligament_manager::{timeline, Observation};

/// Updates for each instance that waits for memory whether another thread of its process exists. Only another
/// thread can drop views while the instance waits, and so free memory.
pub(crate) fn see_threads(seen: &mut [Observation], instances: &[InstanceView]) {
    let short = |one: &Observation| one.waits.as_ref().is_some_and(|waits| waits.what == AwaitedEvent::Memory);
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

/// Inspects the processes of an instance. `for_all` is true if one rank speaks for all ranks of an MPI program.
pub(crate) fn look(view: &InstanceView, for_all: bool, pages: &mut RankPages) -> ProcessInspection {
    if matches!(view.phase, InstancePhase::Gone(_)) {
        return ProcessInspection::default();
    }
    let pids = [view.speaker, view.pid].into_iter().flatten();
    let stopped = pids.filter_map(process_state).any(|state| state.stopped);
    ProcessInspection { stopped, ranks: for_all.then(|| pages.standing(view)).flatten() }
}

fn what(cause: ligament_agent::Cause) -> timeline::ActivityKey {
    use ligament_agent::Activity as Page;
    use timeline::Activity;
    let (activity, names_one) = match cause.activity {
        Page::AwaitsMessage => (Activity::Message, true),
        Page::AwaitsAny => (Activity::AnyMessage, false),
        Page::AwaitsCredit => (Activity::Room, true),
        Page::AwaitsSlots => (Activity::Slots, true),
        Page::AwaitsMemory => (Activity::Memory, false),
        Page::AwaitsSteering => (Activity::Steering, false),
        Page::Sends => (Activity::Send, true),
        Page::Receives => (Activity::Receive, true),
    };
    timeline::ActivityKey { activity, id: (names_one && cause.id != REST).then_some(cause.id) }
}

fn counted(page: ligament_agent::TimelineTotals) -> timeline::LaneTotals {
    let time = f64::from_bits(page.time);
    timeline::LaneTotals {
        sums: timeline::TimelineSums {
            waits: page.waits,
            waited: page.waited,
            sending: page.transferred.saturating_sub(page.receiving),
            receiving: page.receiving,
            sent_messages: page.sent_messages,
            sent_bytes: page.sent_bytes,
            received_messages: page.received_messages,
            received_bytes: page.received_bytes,
            iterations: page.iterations,
        },
        time: (!time.is_nan()).then_some(time),
    }
}

/// Converts the new part of an instance's timeline to the manager's form.
pub(crate) fn gained(seen: &ligament_agent::TimelineDelta) -> timeline::LaneUpdate {
    use ligament_agent::{Cause, TimelineTotals};
    let interval = |interval: &ligament_agent::TimelineInterval| timeline::RecordedInterval {
        key: what(interval.cause),
        begin: interval.begin,
        end: interval.end,
        counted: counted(interval.sums),
        missed: interval.missed,
    };
    let total = |sum: &ligament_agent::CauseSum| timeline::ActivityTotal {
        key: what(sum.cause),
        ns: sum.ns,
        count: sum.count,
    };
    timeline::LaneUpdate {
        started: seen.status.started,
        ended: seen.status.ended,
        counted: counted(TimelineTotals::of(&seen.status)),
        intervals: seen.intervals.iter().map(interval).collect(),
        totals: seen.causes.iter().map(total).collect(),
        waits: seen.status.waits.as_ref().map(|waits| (what(Cause::of(&waits.what)), waits.since)),
    }
}
