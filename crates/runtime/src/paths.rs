//! The common work of a head and of an agent elsewhere with the paths between domains, before and after the run
//! itself: waiting for what comes, and parting in order.

use ligament_agent::{Carrier, CarrierReport};
use ligament_catalogue::{fault, Fault};
use ligament_net::{Event, Net, NetOptions, MAX_STREAMS};
use ligament_wire::domains::CarrierLoad;
use ligament_wire::DomainId;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use tokio::signal::unix::{signal, Signal, SignalKind};
use tokio::sync::mpsc::UnboundedReceiver;

/// Streams of a path: as many as the link needs.
const STREAMS: u16 = 0;
/// For how long to wait until the last word has arrived.
const LAST_WORD_TIMEOUT: Duration = Duration::from_secs(5);

/// The number of streams that a path to a domain gets from the one that dials: as many as either of them wants.
pub(crate) fn streams(wanted: [Option<u16>; 2]) -> u16 {
    // A number from elsewhere is not to be believed.
    wanted.into_iter().flatten().max().map_or(STREAMS, |streams| streams.min(MAX_STREAMS))
}

/// How paths behave that are given up after so long without a connection, and send no more than so much in a
/// second.
pub(crate) fn tuning(patience: Duration, pace: Option<u64>) -> NetOptions {
    let mut tuning = NetOptions { pace, ..NetOptions::default() };
    tuning.path.patience = patience.as_nanos() as u64;
    tuning
}

/// The number of cores that this process may use.
pub fn own_cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32)
}

/// Begins to carry.
pub(crate) fn connect(net: Net) -> Result<(Carrier, UnboundedReceiver<CarrierReport>), Fault> {
    Carrier::start(net)
        .map_err(|error| fault!(CARRIER_FAILED, "paths to other domains cannot be made: {error}"))
}

/// How much a carrier has to do.
pub(crate) fn carried(carrier: &Carrier) -> CarrierLoad {
    let quiet = carrier.quiet();
    CarrierLoad {
        quiet: quiet.quiet,
        sent: quiet.sent,
        came: quiet.came,
        told: quiet.told,
        credited: quiet.credited,
    }
}

/// The event loop outside of a run.
pub(crate) struct EventLoop {
    runtime: tokio::runtime::Runtime,
    ends: [Signal; 3],
}

/// An event.
pub(crate) enum Call {
    Heard(CarrierReport),
    /// A signal that is to end this.
    Interrupted,
    /// The terminal went away.
    HungUp,
    /// Time has passed.
    Nothing,
}

/// From now on signals that would end this process come as `Call::Interrupted`, or `Call::HungUp`.
pub(crate) fn event_loop() -> Result<EventLoop, Fault> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| fault!(CANNOT_WATCH, "no event loop: {error}"))?;
    let entered = runtime.enter();
    let end = |kind| signal(kind).map_err(|error| fault!(CANNOT_WATCH, "signals cannot be watched: {error}"));
    let ends = [end(SignalKind::interrupt())?, end(SignalKind::terminate())?, end(SignalKind::hangup())?];
    drop(entered);
    Ok(EventLoop { runtime, ends })
}

/// Waits for what comes next, at most until a moment.
pub(crate) fn hear(
    events: &mut EventLoop,
    heard: &mut UnboundedReceiver<CarrierReport>,
    until: Instant,
) -> Result<Call, Fault> {
    let EventLoop { runtime, ends: [interrupt, terminate, hangup] } = events;
    runtime.block_on(async {
        tokio::select! {
            heard = heard.recv() => heard.map(Call::Heard).ok_or_else(|| {
                fault!(CARRIER_FAILED, "the carrier of messages between domains has ended")
            }),
            _ = interrupt.recv() => Ok(Call::Interrupted),
            _ = terminate.recv() => Ok(Call::Interrupted),
            _ = hangup.recv() => Ok(Call::HungUp),
            () = tokio::time::sleep_until(until.into()) => Ok(Call::Nothing),
        }
    })
}

/// Parts from domains: waits until all that was said to them has arrived, and they have said their last word
/// too. Who does not answer is not waited for much longer.
pub(crate) fn farewell(
    carrier: &Carrier,
    mut heard: UnboundedReceiver<CarrierReport>,
    domains: impl Iterator<Item = DomainId>,
) {
    let mut left: BTreeSet<DomainId> = domains.collect();
    left.iter().for_each(|&domain| carrier.end(domain));
    let until = Instant::now() + LAST_WORD_TIMEOUT;
    let Ok(mut events) = event_loop() else { return };
    while !left.is_empty() && Instant::now() < until {
        match hear(&mut events, &mut heard, until) {
            Ok(Call::Heard(CarrierReport::Path(
                Event::Ended { domain } | Event::GivenUp { domain, .. } | Event::Gone { domain, .. },
            ))) => {
                left.remove(&DomainId::new(domain));
            }
            Ok(Call::Heard(_) | Call::HungUp | Call::Nothing) => {}
            Ok(Call::Interrupted) | Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_domains_the_larger_number_of_streams_counts() {
        assert_eq!(streams([None, None]), 0, "as many as the link needs");
        assert_eq!(
            [streams([Some(4), None]), streams([None, Some(7)]), streams([Some(9), Some(2)])],
            [4, 7, 9]
        );
        assert_eq!(streams([None, Some(u16::MAX)]), 256, "nobody may want more");
    }
}
