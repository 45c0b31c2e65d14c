//! The work of head and agents with the paths between domains before and after the run itself: the wait for
//! messages, and the orderly end of the paths.

use ligament_agent::{Carrier, CarrierReport};
use ligament_catalogue::{fault, Fault};
use ligament_net::{Event, Net, NetOptions, MAX_STREAMS};
use ligament_wire::domains::CarrierLoad;
use ligament_wire::DomainId;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use tokio::signal::unix::{signal, Signal, SignalKind};
use tokio::sync::mpsc::UnboundedReceiver;

/// Number of streams that stands for as many streams as the path needs.
const STREAMS: u16 = 0;
/// Time for which a process waits until its last message has arrived.
const LAST_WORD_TIMEOUT: Duration = Duration::from_secs(5);

/// Returns the number of streams of a path: the larger one of the numbers that the two domains want.
pub(crate) fn streams(wanted: [Option<u16>; 2]) -> u16 {
    // A number from another machine may be any number, so it is limited.
    wanted.into_iter().flatten().max().map_or(STREAMS, |streams| streams.min(MAX_STREAMS))
}

/// Returns the options of paths. A path fails after the time `patience` without a connection, and sends at most
/// `pace` bytes per second to a distant domain.
pub(crate) fn tuning(patience: Duration, pace: Option<u64>) -> NetOptions {
    let mut tuning = NetOptions { pace, ..NetOptions::default() };
    tuning.path.patience = patience.as_nanos() as u64;
    tuning
}

/// Returns the number of cores that this process may use.
pub fn own_cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32)
}

/// Starts a carrier.
pub(crate) fn connect(net: Net) -> Result<(Carrier, UnboundedReceiver<CarrierReport>), Fault> {
    Carrier::start(net)
        .map_err(|error| fault!(CARRIER_FAILED, "paths to other domains cannot be made: {error}"))
}

/// Returns the load of a carrier.
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

/// The event loop of this process before and after the run. During the run, the agent's driver has its own.
pub(crate) struct EventLoop {
    runtime: tokio::runtime::Runtime,
    ends: [Signal; 3],
}

/// An event for which a caller of `hear` waits.
pub(crate) enum Call {
    Heard(CarrierReport),
    /// A signal that ends this process.
    Interrupted,
    /// The terminal was closed.
    HungUp,
    /// The time for which the caller waits has passed.
    Nothing,
}

/// Makes the event loop. After this, a signal that would otherwise end this process becomes `Call::Interrupted`
/// or `Call::HungUp`.
pub(crate) fn event_loop() -> Result<EventLoop, Fault> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| fault!(CANNOT_WATCH, "no event loop: {error}"))?;
    let entered = runtime.enter();
    let end = |kind| signal(kind).map_err(|error| fault!(CANNOT_WATCH, "signals cannot be watched: {error}"));
    let ends = [end(SignalKind::interrupt())?, end(SignalKind::terminate())?, end(SignalKind::hangup())?];
    drop(entered);
    Ok(EventLoop { runtime, ends })
}

/// Waits for the next event, at most until a point in time.
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

/// Ends the paths to domains: waits until all messages to these domains have arrived, and until the domains
/// have ended their directions. The wait takes at most `LAST_WORD_TIMEOUT` for all domains together.
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
