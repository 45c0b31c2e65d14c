//! The use of a link: the kernel's data about its streams, and the options that the sockets get.

use super::Net;
use crate::sys::{limit_pace, limit_unsent, TcpInfo};
use crate::{Congestion, LinkReport, Nanos, StreamId};
use ligament_path::{Gauge, RelayDistance};
use rustix::net::sockopt;
use std::time::Duration;

/// Bytes that arrived within this time show that the link works (ns). It covers several looks at the streams.
const RECENT_ARRIVAL_NS: Nanos = 400_000_000;

/// A congestion control that follows the rate at which bytes arrive, and not single losses (Cardwell et al.
/// 2016).
const BBR: &str = "bbr";

fn gauge(info: &TcpInfo) -> Gauge {
    let [busy, no_room, no_memory] = info.busy().map(|microseconds| 1000 * microseconds);
    Gauge {
        round_trip: 1000 * Nanos::from(info.round_trip()),
        least_round_trip: 1000 * Nanos::from(info.least_round_trip()),
        sent: info.sent(),
        sent_again: info.sent_again(),
        arrived: info.arrived(),
        busy,
        no_room,
        no_memory,
        under_way: info.unacknowledged() > 0,
        unanswered: 1_000_000 * Nanos::from(info.unanswered()),
        again: info.backoff(),
    }
}

/// The kernel's value for a socket without a limit of its rate.
const UNLIMITED: u64 = u64::MAX;

impl Net {
    /// Takes in a new stream. Its round trip decides how all streams of the path are used.
    pub(super) fn tune(&mut self, domain: u32, stream: StreamId, behind: RelayDistance, now: Nanos) {
        let peer = self.peer(domain);
        let Some(state) = peer.streams.get(&stream) else { return };
        let Some(info) = TcpInfo::of(state.connection.socket()) else { return };
        let was_long = peer.flow.is_long();
        peer.flow.is_joined(gauge(&info).least_round_trip, behind);
        if !was_long && peer.flow.is_long() {
            peer.streams.values_mut().for_each(|state| state.tuned = false);
        }
        peer.shrink();
        if peer.flow.goes_by_rate() {
            self.tune_new_ones(domain, now);
        }
    }

    /// Sets the options of new streams on a long link, and of all streams on a short link that turns out to
    /// lose segments.
    fn tune_new_ones(&mut self, domain: u32, now: Nanos) {
        let tuning = self.tuning;
        let peer = self.peer(domain);
        for (&number, state) in peer.streams.iter_mut().filter(|(_, state)| !state.tuned) {
            let socket = state.connection.socket();
            // If the kernel lacks a feature, the stream is used without the feature.
            if let Some(unsent) = peer.flow.unsent() {
                let _ = limit_unsent(socket, unsent);
            }
            let wanted = number > 0 && tuning.congestion == Congestion::Best;
            let bbr = wanted && sockopt::set_tcp_congestion(socket, BBR).is_ok();
            let system = || sockopt::tcp_congestion(socket).is_ok_and(|name| name == BBR);
            if number > 0 {
                peer.flow.heeds_losses(!bbr && !system());
            }
            state.tuned = true;
        }
        if peer.flow.is_long() {
            peer.grow(&tuning, now);
            peer.path.shape(peer.flow.shape());
            self.share_pace(domain);
        }
    }

    /// Changes the maximum rate at which this end sends over a long link (bytes per second); `None` for no
    /// limit.
    pub fn set_pace(&mut self, pace: Option<u64>) {
        self.tuning.pace = pace;
        let domains: Vec<u32> = self.peers.keys().copied().collect();
        for domain in domains {
            let peer = self.peer(domain);
            peer.flow.set_paced(pace.is_some());
            if peer.flow.is_long() {
                peer.path.shape(peer.flow.shape());
            }
            if pace.is_none() {
                for state in peer.streams.values() {
                    let _ = limit_pace(state.connection.socket(), UNLIMITED);
                }
            }
            self.share_pace(domain);
        }
    }

    /// Divides the rate that the user has set among the present streams of a long link. Only the end that
    /// dials knows how many streams there will be.
    pub(super) fn share_pace(&mut self, domain: u32) {
        let Some(pace) = self.tuning.pace else { return };
        let peer = self.peer(domain);
        if peer.flow.is_long() && !peer.streams.is_empty() {
            // The divisor counts the first stream and the streams that carry large messages.
            let used = peer.streams.len().min(usize::from(peer.flow.shape().bulk_streams) + 1);
            let share = (pace / used as u64).max(1);
            for state in peer.streams.values() {
                // If the kernel lacks a feature, the stream is used without the feature.
                let _ = limit_pace(state.connection.socket(), share);
            }
        }
    }

    /// Asks the kernel about the streams to a domain, if that is due.
    pub(super) fn glance(&mut self, domain: u32, now: Nanos) {
        let peer = self.peer(domain);
        if peer.flow.due(peer.path.is_quiet()).is_some_and(|due| due <= now) {
            self.look_at(domain, now);
        }
    }

    fn look_at(&mut self, domain: u32, now: Nanos) {
        let peer = self.peer(domain);
        let infos = peer.streams.iter().map(|(&stream, state)| {
            // If a helper process such as ssh makes the connection, the kernel knows nothing about the link
            // behind it.
            let info = TcpInfo::of(state.connection.socket());
            (stream, info.as_ref().map(gauge).unwrap_or_default())
        });
        let gauges = infos.collect();
        let stuck = peer.flow.look(gauges, now);
        if peer.flow.goes_by_rate() {
            self.tune_new_ones(domain, now);
        }
        let peer = self.peer(domain);
        if peer.dials() {
            peer.stick(stuck, now)
        } else {
            self.break_stuck(domain, &stuck, now)
        }
    }

    /// Breaks stuck streams at the end that listens; the other end then dials them anew. This is done as soon
    /// as another stream receives bytes again. A stuck stream would continue later, because the kernel
    /// doubles its pauses before it sends again.
    fn break_stuck(&mut self, domain: u32, stuck: &[StreamId], now: Nanos) {
        let peer = self.peer(domain);
        let since = now.saturating_sub(RECENT_ARRIVAL_NS);
        let others = peer.streams.keys().filter(|stream| !stuck.contains(stream));
        if !others.into_iter().any(|&stream| peer.path.was_heard(stream, since)) {
            return;
        }
        for stream in stuck {
            let peer = self.peer(domain);
            let Some(gone) = peer.streams.remove(stream) else { continue };
            peer.path.stream_down(*stream, now);
            peer.due = true;
            // With this option the other end learns of the close at once.
            let _ = sockopt::set_socket_linger(gone.connection.socket(), Some(Duration::ZERO));
            self.owners.remove(&gone.token);
        }
        if !stuck.is_empty() {
            self.share_pace(domain);
        }
    }

    /// Returns a report on the link to each domain that has a stream now.
    pub fn reports(&mut self, now: Nanos) -> Vec<(u32, LinkReport)> {
        let live: Vec<u32> =
            self.peers.iter().filter(|(_, peer)| !peer.streams.is_empty()).map(|(&domain, _)| domain).collect();
        let report = |domain| {
            if self.peer(domain).flow.is_stale(now) {
                self.look_at(domain, now);
            }
            (domain, self.peer(domain).flow.report())
        };
        live.into_iter().map(report).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::pace_of;
    use crate::{now, Listen, Listener, MessageId, MessageStore, NetOptions, RunKeys};
    use ligament_catalogue::Fault;
    use std::io::IoSlice;
    use std::net::{IpAddr, Ipv4Addr};

    /// A store without messages.
    struct EmptyStore;

    impl MessageStore for EmptyStore {
        fn slices<'a>(&'a self, _: u32, _: MessageId, _: u64, _: u32, _: &mut Vec<IoSlice<'a>>) {}
        fn begin(&mut self, _: u32, _: MessageId, _: u64) -> Result<(), Fault> {
            Ok(())
        }
        fn room(&mut self, _: u32, _: MessageId, _: u64, _: u32) -> &mut [u8] {
            &mut []
        }
        fn deliver(&mut self, _: u32, _: MessageId) {}
        fn release(&mut self, _: u32, _: MessageId) {}
        fn credit(&mut self, _: u32, _: u32, _: u64) {}
    }

    #[test]
    fn the_streams_that_there_are_share_the_pace_at_either_end() {
        for paces in paces(2, 2, 100_000_000) {
            assert_eq!(paces, [4_000_000; 2]);
        }
        // The link has as many streams as it needs. 16 of them carry large messages, beside the first.
        for paces in paces(0, 40, 10_000_000) {
            assert_eq!(paces.iter().filter(|&&pace| pace == 8_000_000 / 17).count(), paces.len());
        }
    }

    /// Returns the paces of the streams at both ends of a path with a round trip of `far` ns, when `streams`
    /// streams exist.
    fn paces(wanted: u16, streams: usize, far: Nanos) -> [Vec<u64>; 2] {
        let (keys, tuning) = (RunKeys::make(), NetOptions { pace: Some(8_000_000), ..NetOptions::default() });
        let [mut zero, mut one] = [0, 1].map(|me| Net::new(keys.clone(), me, false, tuning).unwrap());
        let listen = Listen { address: Some(IpAddr::V4(Ipv4Addr::LOCALHOST)), ..Listen::default() };
        let listener = Listener::bind(&listen).unwrap();
        let address = listener.addresses()[0];
        zero.listen(listener);
        zero.expect(1);
        one.dial(0, vec![address], wanted);
        zero.peer(1).flow.is_joined(far, RelayDistance::Nothing);
        one.peer(0).flow.is_joined(far, RelayDistance::Nothing);
        let until = now() + 20_000_000_000;
        while zero.peer(1).streams.len() < streams || one.peer(0).streams.len() < streams {
            assert!(now() < until, "they do not come");
            zero.turn(&mut EmptyStore, now());
            one.turn(&mut EmptyStore, now());
        }
        let paces = |peer: &crate::peer::Peer| -> Vec<u64> {
            peer.streams.values().map(|state| pace_of(state.connection.socket()).unwrap()).collect()
        };
        let set = [paces(zero.peer(1)), paces(one.peer(0))];
        zero.set_pace(Some(8_000));
        assert!(paces(zero.peer(1)).iter().all(|&pace| pace <= 4_000), "the pace of an open path");
        zero.set_pace(None);
        assert!(paces(zero.peer(1)).iter().all(|&pace| pace == UNLIMITED), "and none");
        set
    }
}
