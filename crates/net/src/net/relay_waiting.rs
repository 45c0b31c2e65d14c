//! The connections of this domain that wait at a relay until another domain asks for this one.

use super::Net;
use crate::handshake::{Errand, Handshake};
use crate::peer::LOGINS;
use crate::{DialAddress, Nanos, NetOptions, Route};
use ligament_catalogue::{fault, Fault};
use std::sync::Arc;

/// Number of connections that wait at a time. If all are taken, a connection that asks for this domain waits
/// at the relay until this domain's next one arrives.
const MAX_WAITING_CONNECTIONS: usize = 6;

/// The state of waiting at a relay.
pub(super) struct RelayWait {
    places: Vec<DialAddress>,
    next: usize,
    /// Number of connections that wait at the relay, or are on their way to it.
    there: usize,
    pause: Nanos,
    /// Time at which missing connections are started.
    at: Nanos,
}

impl RelayWait {
    pub fn new(way: &Arc<Route>, tuning: &NetOptions) -> RelayWait {
        RelayWait { places: way.places(), next: 0, there: 0, pause: tuning.first_pause, at: 0 }
    }

    /// Returns the time at which missing connections are due to be started.
    pub fn deadline(&self) -> Option<Nanos> {
        (self.there < MAX_WAITING_CONNECTIONS).then_some(self.at)
    }

    fn place(&self) -> DialAddress {
        self.places[self.next % self.places.len()].clone()
    }

    fn failed(&mut self, tuning: &NetOptions, now: Nanos) {
        self.next += 1;
        let logins = self.places.iter().any(|place| place.gate().is_some());
        let (least, longest) = if logins { LOGINS } else { (0, tuning.longest_pause) };
        let pause = self.pause.max(least);
        self.at = now + pause;
        self.pause = (2 * pause).min(longest);
    }
}

impl Net {
    /// Starts as many connections to the relay as are missing there.
    pub(super) fn wait_at_relay(&mut self, now: Nanos) {
        while let Some(waiting) = &mut self.waiting {
            if waiting.deadline().is_none_or(|at| at > now) {
                return;
            }
            let place = waiting.place();
            let deadline = now + self.within(&place);
            let Some(waiting) = &mut self.waiting else { return };
            match Handshake::wait(&place, deadline, &self.house).ok() {
                Some(guest) => {
                    waiting.there += 1;
                    self.expect_answer(guest);
                }
                None => waiting.failed(&self.tuning, now),
            }
        }
    }

    /// Notes that another domain was joined with a waiting connection. A new connection replaces it.
    pub(super) fn was_found(&mut self, now: Nanos) {
        if let Some(waiting) = &mut self.waiting {
            waiting.there -= 1;
            (waiting.at, waiting.pause) = (now, self.tuning.first_pause);
        }
    }

    /// Notes that a connection did not reach the relay, or was cut off. Domains that should dial this end
    /// cannot reach it then, so they get this reason.
    pub(super) fn is_cut_off(&mut self, why: &Fault, now: Nanos) {
        for peer in self.peers.values_mut().filter(|peer| !peer.dials() && peer.streams.is_empty()) {
            peer.trouble = fault!(
                PATH_GIVEN_UP,
                "at the relay: {why}; does it run, and does no other process wait there with the same key?"
            );
        }
        self.waits_no_more(now);
    }

    /// Notes that a connection no longer waits. A new connection follows after a pause.
    pub(super) fn waits_no_more(&mut self, now: Nanos) {
        if let Some(waiting) = &mut self.waiting {
            waiting.there -= 1;
            if waiting.at <= now {
                waiting.failed(&self.tuning, now);
            }
        }
    }

    /// Replaces all waiting connections after a path has broken. The same cut may have broken them, and a
    /// broken connection that carries nothing is not noticed.
    pub(super) fn wait_anew(&mut self, now: Nanos) {
        let Some(waiting) = &mut self.waiting else { return };
        let gone: Vec<u64> = self
            .guests
            .iter()
            .filter(|(_, guest)| guest.errand == Errand::Waits)
            .map(|(&token, _)| token)
            .collect();
        waiting.there -= gone.len();
        waiting.at = waiting.at.max(now);
        for token in gone {
            self.guests.remove(&token);
            self.owners.remove(&token);
        }
    }
}
