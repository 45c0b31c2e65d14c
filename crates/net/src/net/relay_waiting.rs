//! Connections of this domain that wait at a relay until somebody there wants it.

use super::Net;
use crate::handshake::{Errand, Handshake};
use crate::peer::LOGINS;
use crate::{DialAddress, Nanos, NetOptions, Route};
use ligament_catalogue::{fault, Fault};
use std::sync::Arc;

/// The number of connections that wait at a time. Whoever comes when all are taken waits at the relay until the
/// next one is there.
const MAX_WAITING_CONNECTIONS: usize = 6;

/// Waiting at a relay.
pub(super) struct RelayWait {
    places: Vec<DialAddress>,
    next: usize,
    /// The number of connections that wait, or are on their way there.
    there: usize,
    pause: Nanos,
    /// When more go there.
    at: Nanos,
}

impl RelayWait {
    pub fn new(way: &Arc<Route>, tuning: &NetOptions) -> RelayWait {
        RelayWait { places: way.places(), next: 0, there: 0, pause: tuning.first_pause, at: 0 }
    }

    /// When something is due by time alone.
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
    /// Sends as many to the relay as are missing there.
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

    /// One has been found by somebody: another one takes its place.
    pub(super) fn was_found(&mut self, now: Nanos) {
        if let Some(waiting) = &mut self.waiting {
            waiting.there -= 1;
            (waiting.at, waiting.pause) = (now, self.tuning.first_pause);
        }
    }

    /// One has not reached the relay, or was cut off. Those who are expected do not come then.
    pub(super) fn is_cut_off(&mut self, why: &Fault, now: Nanos) {
        for peer in self.peers.values_mut().filter(|peer| !peer.dials() && peer.streams.is_empty()) {
            peer.trouble = fault!(
                PATH_GIVEN_UP,
                "at the relay: {why}; does it run, and does no other process wait there with the same key?"
            );
        }
        self.waits_no_more(now);
    }

    /// One waits there no more: another one will, after a while.
    pub(super) fn waits_no_more(&mut self, now: Nanos) {
        if let Some(waiting) = &mut self.waiting {
            waiting.there -= 1;
            if waiting.at <= now {
                waiting.failed(&self.tuning, now);
            }
        }
    }

    /// A path has broken, so those that wait may have been cut off as well without knowing it: others take
    /// their places.
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
