//! One path of this domain: its logic, its streams, and, if this end dials, the time to dial each stream
//! again.

use crate::codec::Codec;
use crate::connection::Connection;
use crate::greeting::Boot;
use crate::handshake::DialledStream;
use crate::stream_reader::StreamReader;
use crate::stream_writer::StreamWriter;
use crate::{DialAddress, NetOptions};
use ligament_catalogue::{fault, Fault};
use ligament_path::{Flow, Nanos, Path, RelayDistance, StreamId};
use std::collections::BTreeMap;

/// A live stream.
pub(crate) struct Stream {
    /// The token under which epoll reports it.
    pub token: u64,
    pub incarnation: u32,
    pub connection: Connection,
    pub incoming: StreamReader,
    pub outgoing: StreamWriter,
    /// True if the socket has the options for a link that is long or loses segments.
    pub tuned: bool,
}

/// A stream as seen by the end that dials it.
pub(crate) struct DialledState {
    incarnation: u32,
    pause: Nanos,
    /// Time at which to dial; `None` while the stream lives or is being dialled.
    at: Option<Nanos>,
    /// The place to dial next: its index is the remainder of this number by the number of places. The number
    /// only grows while places fail, so a multiple of the number of places ends a round.
    next: usize,
    /// True if the stream is dialled although it lives, because it is stuck.
    beside: bool,
}

/// Connections that this end makes so that the other end dials over them.
pub(crate) struct OfferedConnections {
    places: Vec<DialAddress>,
    next: usize,
    incarnation: u32,
    pause: Nanos,
    /// Time at which to make the next connection; `None` while a connection is offered.
    at: Option<Nanos>,
    /// True if the other end has dialled over such a connection, and so will need more.
    used: bool,
    /// Index in `places` of the place at which the other end last dialled over an offered connection.
    proved: Option<usize>,
}

/// A connection that is to be offered now.
pub(crate) struct Offer {
    pub place: DialAddress,
    pub incarnation: u32,
    /// True if the other end is known to be at this place.
    pub patient: bool,
}

/// The state of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathState {
    Lives,
    /// Both ends have announced their end; the last bytes still have to be written.
    Ending,
    Ended,
    GivenUp,
}

/// Time for which one address of a domain is tried before another one is tried beside it (ns).
const NEXT_ADDRESS_DELAY_NS: Nanos = 500_000_000;

/// Pauses between logins by ssh: the first, and the longest (ns).
pub(crate) const LOGINS: (Nanos, Nanos) = (1_000_000_000, 8_000_000_000);

/// One path.
pub(crate) struct Peer {
    pub path: Path,
    pub flow: Flow,
    /// Streams that are stuck.
    stuck: Vec<StreamId>,
    pub codec: Codec,
    pub streams: BTreeMap<StreamId, Stream>,
    pub standing: PathState,
    /// Identifies the process of the far domain to which this path belongs.
    pub boot: Option<Boot>,
    /// True if there may be something to write.
    pub due: bool,
    /// True if the two ends use different relays, with a trunk between these.
    pub by_trunk: bool,
    /// The last reason for which there was no stream.
    pub trouble: Fault,
    /// True if `trouble` is about a place to which ssh leads.
    pub told_by_ssh: bool,
    /// Number of violations of the rules in a row.
    pub wrongs: u32,
    places: Vec<DialAddress>,
    dialled: BTreeMap<StreamId, DialledState>,
    /// Number of the place that was reached last.
    reached: Option<usize>,
    offering: Option<OfferedConnections>,
}

impl Peer {
    /// Makes a path. If this end dials, `places` and `streams` are given (0 streams means as many as the link
    /// needs). The places may be of two kinds, such as addresses and a relay. The second stream then soon
    /// tries the other kind, and the further streams wait until one kind is reached.
    pub fn new(tuning: &NetOptions, places: Vec<DialAddress>, streams: Option<u16>, now: Nanos) -> Peer {
        let mut flow = Flow::new(streams.filter(|&set| set > 0), &tuning.path);
        flow.set_paced(tuning.pace.is_some());
        let by_trunk = |place: &DialAddress| place.behind() == RelayDistance::Trunk;
        if !places.is_empty() && places.iter().all(by_trunk) {
            flow.goes_by_trunk();
        }
        let other = places.iter().position(|place| place.is_direct() != places[0].is_direct());
        let by_ssh = places.first().is_some_and(|place| place.gate().is_some());
        let streams = streams.map_or(0, |_| flow.streams());
        let begin = |stream| match other {
            Some(other) if stream == 1 => (other, now + NEXT_ADDRESS_DELAY_NS),
            Some(_) if stream > 1 => (0, now + 2 * NEXT_ADDRESS_DELAY_NS),
            // The other streams wait for the first one, because one login shows if the gate can be used.
            None if by_ssh && stream > 0 => (0, now + 20 * NEXT_ADDRESS_DELAY_NS),
            _ => (0, now),
        };
        let line = |stream| {
            let (next, at) = begin(stream);
            (
                stream,
                DialledState { incarnation: 0, pause: tuning.first_pause, at: Some(at), next, beside: false },
            )
        };
        Peer {
            path: Path::new(tuning.path, now),
            flow,
            stuck: Vec::new(),
            codec: Codec::new(tuning.compression),
            streams: BTreeMap::new(),
            standing: PathState::Lives,
            boot: None,
            due: true,
            by_trunk: places.iter().any(by_trunk),
            trouble: fault!(PATH_GIVEN_UP, "nobody has come"),
            told_by_ssh: false,
            wrongs: 0,
            places,
            dialled: (0..streams).map(line).collect(),
            reached: None,
            offering: None,
        }
    }

    pub fn dials(&self) -> bool {
        !self.dialled.is_empty()
    }

    /// Prepares connections to offer at these places if the other end does not dial soon.
    pub fn offers_at(&mut self, places: Vec<DialAddress>, now: Nanos) {
        let at = (!places.is_empty()).then_some(now + 2 * NEXT_ADDRESS_DELAY_NS);
        self.offering = Some(OfferedConnections {
            places,
            next: 0,
            incarnation: 0,
            pause: 0,
            at,
            used: false,
            proved: None,
        });
    }

    /// Returns the connection that is to be offered now.
    pub fn take_offer(&mut self, now: Nanos) -> Option<Offer> {
        let (lives, has_come) = (self.standing == PathState::Lives, !self.streams.is_empty());
        let offering = self.offering.as_mut()?;
        offering.at.filter(|&at| at <= now)?;
        offering.at = None;
        if !lives || (has_come && !offering.used) {
            return None;
        }
        offering.incarnation += 1;
        let at = offering.next % offering.places.len();
        let (place, patient) = (offering.places[at].clone(), offering.proved == Some(at));
        Some(Offer { place, incarnation: offering.incarnation, patient })
    }

    /// Notes that an offered connection was not made, or is gone. Another connection follows after a pause.
    pub fn was_not_offered(&mut self, tuning: &NetOptions, now: Nanos) {
        let Some(offering) = &mut self.offering else { return };
        offering.next += 1;
        offering.pause = (2 * offering.pause).clamp(tuning.first_pause, tuning.longest_pause);
        offering.at = Some(now + offering.pause);
    }

    /// Notes that the other end has dialled over an offered connection. Another connection replaces it.
    pub fn was_dialled_over(&mut self, now: Nanos) {
        let Some(offering) = &mut self.offering else { return };
        (offering.used, offering.pause, offering.at) = (true, 0, Some(now));
        offering.proved = Some(offering.next % offering.places.len());
    }

    /// Makes offers due again, because all streams are gone.
    pub fn offer_again(&mut self, now: Nanos) {
        let Some(offering) = self.offering.as_mut().filter(|offering| !offering.places.is_empty()) else {
            return;
        };
        if offering.at.is_none() {
            offering.at = Some(if offering.used { now } else { now + 2 * NEXT_ADDRESS_DELAY_NS });
        }
    }

    /// Returns the next stream that is due to be dialled, and its place.
    pub fn take_due(&mut self, domain: u32, now: Nanos) -> Option<(DialledStream, DialAddress)> {
        if self.standing != PathState::Lives || self.places.is_empty() {
            return None;
        }
        let (&stream, dialled) =
            self.dialled.iter_mut().find(|(_, dialled)| dialled.at.is_some_and(|at| at <= now))?;
        dialled.at = None;
        dialled.incarnation += 1;
        let place = self.places[dialled.next % self.places.len()].clone();
        Some((DialledStream { domain, stream, incarnation: dialled.incarnation, last_word: false }, place))
    }

    /// Returns a stream that waits to be dialled, and notes that it is now being dialled.
    pub fn take_waiting(&mut self, domain: u32) -> Option<DialledStream> {
        let lives = self.standing == PathState::Lives;
        let (&stream, dialled) = self.dialled.iter_mut().find(|(_, dialled)| lives && dialled.at.is_some())?;
        dialled.at = None;
        dialled.incarnation += 1;
        Some(DialledStream { domain, stream, incarnation: dialled.incarnation, last_word: false })
    }

    /// Notes that a stream could not be dialled. It is tried next at the place where another stream was
    /// reached, otherwise at the next place; if all places have been tried, after a pause.
    pub fn not_dialled(&mut self, stream: StreamId, tuning: &NetOptions, now: Nanos) {
        // There may be no places: a stream that is dialled over an offered connection has none.
        let many = self.places.len().max(1);
        let Some(dialled) = self.dialled.get_mut(&stream) else { return };
        if dialled.beside {
            // The place was right. Only the link to it is cut.
            dialled.at = Some(now + tuning.first_pause);
            return;
        }
        if let Some(reached) = self.reached.filter(|reached| *reached != dialled.next % many) {
            (dialled.next, dialled.at) = (reached, Some(now));
            return;
        }
        self.reached = None;
        dialled.next += 1;
        if dialled.next % many == 0 {
            // A machine may take repeated failed logins for an attack, so pauses after them are longer.
            let logins = self.places.iter().any(|place| place.gate().is_some());
            let (least, longest) = if logins { LOGINS } else { (0, tuning.longest_pause) };
            let pause = dialled.pause.max(least);
            dialled.at = Some(now + pause);
            dialled.pause = (2 * pause).min(longest);
        } else {
            dialled.at = Some(now);
        }
    }

    /// Notes that a stream which this end has dialled now lives. Streams that wait to be dialled use the
    /// same place.
    pub fn was_dialled(&mut self, stream: StreamId, tuning: &NetOptions, now: Nanos) {
        let many = self.places.len().max(1);
        let Some(dialled) = self.dialled.get_mut(&stream) else { return };
        dialled.pause = tuning.first_pause;
        self.told_by_ssh = false;
        let (reached, beside) = (dialled.next % many, std::mem::take(&mut dialled.beside));
        if beside {
            // The link works again: all other stuck streams are dialled anew.
            let others = std::mem::take(&mut self.stuck).into_iter().filter(|&other| other != stream);
            self.dial_beside(others.collect(), now);
        }
        if self.reached.replace(reached).is_none() {
            for waits in self.dialled.values_mut().filter(|dialled| dialled.at.is_some()) {
                (waits.next, waits.at) = (reached, Some(now));
            }
        }
    }

    /// Adds the streams that the flow now wants, and dials them at the place where another stream was
    /// reached.
    pub fn grow(&mut self, tuning: &NetOptions, now: Nanos) {
        if !self.dials() {
            return;
        }
        let next = self.reached.unwrap_or(0);
        for stream in 0..self.flow.streams() {
            let fresh = || DialledState {
                incarnation: 0,
                pause: tuning.first_pause,
                at: Some(now),
                next,
                beside: false,
            };
            self.dialled.entry(stream).or_insert_with(fresh);
        }
    }

    /// Drops the streams that are no longer wanted, if they still wait to be dialled.
    pub fn shrink(&mut self) {
        let streams = self.flow.streams();
        self.dialled.retain(|&stream, dialled| stream < streams || dialled.at.is_none());
    }

    /// Takes in the streams that are stuck. The first of them is dialled anew; when it lives, all others
    /// are as well.
    pub fn stick(&mut self, stuck: Vec<StreamId>, now: Nanos) {
        self.stuck = stuck;
        for (stream, dialled) in &mut self.dialled {
            if dialled.beside && dialled.at.is_some() && !self.stuck.contains(stream) {
                // The stream continues by itself.
                (dialled.at, dialled.beside) = (None, false);
            }
        }
        if self.dialled.values().any(|dialled| dialled.beside) {
            return;
        }
        let first = self.stuck.first().copied().into_iter().collect();
        self.dial_beside(first, now);
    }

    fn dial_beside(&mut self, streams: Vec<StreamId>, now: Nanos) {
        for stream in streams {
            // A stream that waits to be dialled will be dialled in any case.
            if let Some(dialled) = self.dialled.get_mut(&stream).filter(|dialled| dialled.at.is_none()) {
                (dialled.at, dialled.beside) = (Some(now), true);
            }
        }
    }

    /// Returns a limit, in addition to the usual one, for the time to reach a stream that replaces a stuck
    /// one. The first bytes of the new stream may be lost as well, and it is then dialled once more.
    pub fn hurry(&self, stream: StreamId) -> Option<Nanos> {
        self.dialled.get(&stream).filter(|dialled| dialled.beside).map(|_| self.flow.patience())
    }

    /// Notes that a stream which lived is gone.
    pub fn dial_again(&mut self, stream: StreamId, now: Nanos) {
        if let Some(dialled) = self.dialled.get_mut(&stream) {
            // The address was right, so use it again.
            dialled.at = Some(now + dialled.pause);
            dialled.beside = false;
        }
    }

    /// Returns the time at which something is due even if no socket is ready.
    pub fn deadline(&self) -> Option<Nanos> {
        match self.standing {
            PathState::GivenUp => None,
            PathState::Lives => {
                let dials = self.dialled.values().filter_map(|dialled| dialled.at).min();
                let offers = self.offering.as_ref().and_then(|offering| offering.at);
                let glance = self.flow.due(self.path.is_quiet()).filter(|_| !self.streams.is_empty());
                dials.into_iter().chain(offers).chain(glance).chain(self.path.deadline()).min()
            }
            PathState::Ending | PathState::Ended => self.path.deadline(),
        }
    }

    /// Returns true if the kernel has taken all bytes.
    pub fn has_written_all(&self) -> bool {
        self.streams.values().all(|stream| stream.outgoing.is_empty() && !stream.connection.has_unsent())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Route, Station};

    fn places() -> Vec<DialAddress> {
        let way = Route::over(&[Station::new(vec!["192.0.2.1:7000".into()])]).unwrap();
        DialAddress::read(&["192.0.2.2:1".into(), "192.0.2.3:2".into(), way.word().unwrap()], Some(&way))
            .unwrap()
    }

    /// Returns the streams that are due, each with true if it goes over the relay.
    fn due(peer: &mut Peer, now: Nanos) -> Vec<(StreamId, bool)> {
        std::iter::from_fn(|| peer.take_due(7, now))
            .map(|(line, place)| (line.stream, place.relays() > 0))
            .collect()
    }

    #[test]
    fn a_domain_that_is_reached_directly_is_not_sent_over_a_relay() {
        let tuning = NetOptions::default();
        let mut peer = Peer::new(&tuning, places(), Some(4), 100);
        assert_eq!(due(&mut peer, 100), [(0, false)]);
        assert_eq!(due(&mut peer, 100 + NEXT_ADDRESS_DELAY_NS - 1), []);
        peer.was_dialled(0, &tuning, 200);
        assert_eq!(due(&mut peer, 200), [(1, false), (2, false), (3, false)]);
    }

    #[test]
    fn where_that_takes_long_the_relay_is_tried_and_all_streams_go_the_way_that_was_found() {
        let tuning = NetOptions::default();
        let mut peer = Peer::new(&tuning, places(), Some(4), 100);
        assert_eq!(due(&mut peer, 100), [(0, false)]);
        assert_eq!(due(&mut peer, 100 + NEXT_ADDRESS_DELAY_NS), [(1, true)]);
        peer.was_dialled(1, &tuning, 200 + NEXT_ADDRESS_DELAY_NS);
        assert_eq!(due(&mut peer, 200 + NEXT_ADDRESS_DELAY_NS), [(2, true), (3, true)]);
        peer.not_dialled(0, &tuning, 300 + NEXT_ADDRESS_DELAY_NS);
        assert_eq!(due(&mut peer, 300 + NEXT_ADDRESS_DELAY_NS), [(0, true)]);
        // The relay is not reached any more. After a pause, the search begins again with the first place.
        peer.not_dialled(2, &tuning, 400 + NEXT_ADDRESS_DELAY_NS);
        assert_eq!(due(&mut peer, 400 + NEXT_ADDRESS_DELAY_NS), []);
        assert_eq!(due(&mut peer, 400 + NEXT_ADDRESS_DELAY_NS + tuning.first_pause), [(2, false)]);
    }

    #[test]
    fn of_streams_that_are_stuck_one_is_dialled_until_it_comes_through_and_then_the_others() {
        let tuning = NetOptions::default();
        let mut peer = Peer::new(&tuning, places()[..1].to_vec(), Some(4), 100);
        assert_eq!(due(&mut peer, 100).len(), 4);
        (0..4).for_each(|stream| peer.was_dialled(stream, &tuning, 100));
        peer.stick(vec![1, 2, 3], 200);
        assert_eq!(due(&mut peer, 200), [(1, false)]);
        assert!(peer.hurry(1).is_some() && peer.hurry(2).is_none());
        peer.stick(vec![1, 2, 3], 300);
        assert_eq!(due(&mut peer, 300), [], "it is under way");
        peer.not_dialled(1, &tuning, 400);
        assert_eq!(due(&mut peer, 400 + tuning.first_pause), [(1, false)], "soon again");
        peer.was_dialled(1, &tuning, 500);
        assert_eq!(due(&mut peer, 500), [(2, false), (3, false)]);
        // A stream that is no longer stuck is not dialled again.
        peer.not_dialled(2, &tuning, 600);
        peer.stick(vec![], 600);
        assert_eq!(due(&mut peer, Nanos::MAX), []);
    }

    #[test]
    fn addresses_alone_are_all_dialled_at_once() {
        let tuning = NetOptions::default();
        let mut peer = Peer::new(&tuning, places()[..2].to_vec(), Some(3), 100);
        assert_eq!(due(&mut peer, 100), [(0, false), (1, false), (2, false)]);
    }

    #[test]
    fn connections_are_offered_to_who_does_not_come_and_again_while_they_are_used() {
        let tuning = NetOptions::default();
        let mut peer = Peer::new(&tuning, Vec::<DialAddress>::new(), None, 100);
        peer.offers_at(places()[..1].to_vec(), 100);
        assert!(peer.take_offer(100 + NEXT_ADDRESS_DELAY_NS).is_none(), "it may still come");
        let number = |offer: Option<Offer>| offer.map(|offer| (offer.incarnation, offer.patient));
        assert_eq!(number(peer.take_offer(100 + 2 * NEXT_ADDRESS_DELAY_NS)), Some((1, false)));
        assert!(peer.take_offer(Nanos::MAX).is_none(), "one at a time");
        peer.was_not_offered(&tuning, 0);
        assert_eq!(number(peer.take_offer(tuning.first_pause)), Some((2, false)));
        peer.was_dialled_over(5);
        assert_eq!(number(peer.take_offer(5)), Some((3, true)), "where it was before, it is waited for");
    }
}
