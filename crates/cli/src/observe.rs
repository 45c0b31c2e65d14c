//! From what an agent sees of its instances to what the manager makes of it.

use ligament_agent::{process_state, InstanceView, Phase, State, REST};
use ligament_manager::timeline;
use ligament_manager::{Awaited, Counters, Names, Observation, Standing, Waiting};
use ligament_model::Resolved;

/// A model has names for all of its parts.
pub(crate) struct NamesOf<'a>(pub &'a Resolved);

impl Names for NamesOf<'_> {
    fn instance(&self, instance: u32) -> String {
        self.0.instances.get(instance as usize).map_or_else(|| "?".to_owned(), |one| one.name.to_string())
    }

    fn ends(&self, channel: u32) -> Option<((u32, String), (u32, String))> {
        let channel = self.0.channels.get(channel as usize)?;
        let end = |end: ligament_model::Endpoint| (end.instance, self.0.end_name(end));
        Some((end(channel.from), end(channel.to)))
    }
}

/// All instances as they are now, ns of CLOCK_MONOTONIC.
pub(crate) fn observe_all(model: &Resolved, instances: &[InstanceView], now: u64) -> Vec<Observation> {
    let one = |(i, view): (usize, &InstanceView)| {
        let instance = &model.instances[i];
        observe(instance.name.to_string(), instance.component, view, now)
    };
    let mut seen: Vec<Observation> = instances.iter().enumerate().map(one).collect();
    let short = |one: &Observation| one.waits.as_ref().is_some_and(|waits| waits.what == Awaited::Memory);
    if seen.iter().any(short) {
        see_threads(&mut seen, instances);
    }
    seen
}

/// Views that the code holds can be dropped only by another thread while it waits.
fn see_threads(seen: &mut [Observation], instances: &[InstanceView]) {
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

fn awaited(what: &ligament_agent::Awaited) -> Awaited {
    use ligament_agent::Awaited as Page;
    match what {
        Page::Message { channels } => Awaited::Message { channels: channels.clone() },
        Page::Credit { channel, needs } => Awaited::Credit { channel: *channel, needs: *needs },
        Page::Slots { endpoint } => Awaited::Slots { instance: *endpoint },
        Page::Memory => Awaited::Memory,
    }
}

/// What the agent knows of an instance, as the manager sees it.
fn observe(name: String, component: u32, view: &InstanceView, now: u64) -> Observation {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let standing = match (view.phase, view.status.as_ref().map(|status| status.state)) {
        (Phase::Waiting, _) => Standing::NotStarted,
        (Phase::Started, _) => Standing::Starting,
        (Phase::Gone(exit), Some(State::Ended)) if exit.is_clean() => Standing::Done,
        (Phase::Finished, _) => Standing::Done,
        (Phase::Gone(_), _) => Standing::Failed,
        (Phase::Running, state) => match state {
            None | Some(State::Starting) => Standing::Starting,
            Some(State::Computing) => Standing::Computing,
            Some(State::WaitingToReceive) => Standing::WaitingToReceive,
            Some(State::WaitingToSend) => Standing::WaitingToSend,
            Some(State::Transferring) => Standing::Transferring,
            Some(State::Ended) => Standing::Done,
            Some(State::Failed) => Standing::Failed,
        },
    };
    let gone = matches!(view.phase, Phase::Gone(_));
    let Some(status) = &view.status else {
        let counters = Counters::default();
        return Observation {
            name,
            component,
            pid: view.pid,
            gone,
            standing,
            waits: None,
            epoch: 0,
            looked: 0,
            stopped: false,
            model_time: None,
            counters,
        };
    };
    let end = if status.ended > 0 { status.ended } else { now };
    let waits = matches!(standing, Standing::WaitingToReceive | Standing::WaitingToSend);
    let waits = status.waits.as_ref().filter(|_| waits);
    let waiting_now = waits.map_or(0, |waits| now.saturating_sub(waits.since));
    let waits = waits.map(|waits| Waiting {
        what: awaited(&waits.what),
        seconds: seconds(waiting_now),
        timed: waits.timed,
        may_release: waits.holding,
    });
    let counters = Counters {
        sent_messages: status.sent_messages,
        sent_bytes: status.sent_bytes,
        received_messages: status.received_messages,
        received_bytes: status.received_bytes,
        iterations: status.iterations,
        pinned_bytes: status.pinned,
        total: if status.started > 0 { seconds(end.saturating_sub(status.started)) } else { 0.0 },
        waiting: seconds(status.waited + waiting_now),
        transferring: seconds(status.transferred),
    };
    Observation {
        name,
        component,
        pid: view.pid,
        gone,
        standing,
        waits,
        epoch: status.epoch,
        looked: status.looked,
        stopped: false,
        model_time: status.time,
        counters,
    }
}

fn what(cause: ligament_agent::Cause) -> timeline::What {
    use ligament_agent::Activity as Page;
    use timeline::Activity;
    let (activity, names_one) = match cause.activity {
        Page::AwaitsMessage => (Activity::Message, true),
        Page::AwaitsAny => (Activity::AnyMessage, false),
        Page::AwaitsCredit => (Activity::Room, true),
        Page::AwaitsSlots => (Activity::Slots, true),
        Page::AwaitsMemory => (Activity::Memory, false),
        Page::Sends => (Activity::Send, true),
        Page::Receives => (Activity::Receive, true),
    };
    timeline::What { activity, id: (names_one && cause.id != REST).then_some(cause.id) }
}

fn counted(page: ligament_agent::Sums) -> timeline::Counted {
    let time = f64::from_bits(page.time);
    timeline::Counted {
        sums: timeline::Sums {
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

/// What an instance's timeline has gained, as the manager sees it.
pub(crate) fn gained(seen: &ligament_agent::Gained) -> timeline::Gained {
    use ligament_agent::{Cause, Sums};
    let interval = |interval: &ligament_agent::Interval| timeline::Interval {
        what: what(interval.cause),
        begin: interval.begin,
        end: interval.end,
        counted: counted(interval.sums),
        missed: interval.missed,
    };
    timeline::Gained {
        started: seen.status.started,
        ended: seen.status.ended,
        counted: counted(Sums::of(&seen.status)),
        intervals: seen.intervals.iter().map(interval).collect(),
        sums: seen.causes.iter().map(|sum| (what(sum.cause), sum.ns, sum.count)).collect(),
        waits: seen.status.waits.as_ref().map(|waits| (what(Cause::of(&waits.what)), waits.since)),
    }
}
