//! Connections that the listening end of a path makes, because the dialling end cannot reach it. The
//! dialling end then dials streams over them, as if it had made the connections itself.

use super::Net;
use crate::greeting::Hello;
use crate::handshake::{DialledStream, Errand, Handshake};
use crate::Nanos;
use ligament_catalogue::{fault, Fault};

/// Maximum number of offered connections of a domain that are stored. Beyond it the oldest is closed.
const MAX_OFFERS_OF_A_DOMAIN: usize = 4;

impl Net {
    /// Makes a connection for a domain to dial over, if one is due.
    pub(super) fn offer_what_is_due(&mut self, domain: u32, now: Nanos) {
        let Some(offer) = self.peer(domain).take_offer(now) else { return };
        // The program that listens at this place may not answer; the next place is then tried.
        let deadline = now + self.within(&offer.place) + self.tuning.greeting;
        match Handshake::offer(offer, domain, deadline) {
            Ok(guest) => self.expect_answer(guest),
            Err(_) => self.was_not_offered(domain, now),
        }
    }

    pub(super) fn was_not_offered(&mut self, domain: u32, now: Nanos) {
        let tuning = self.tuning;
        self.peer(domain).was_not_offered(&tuning, now);
    }

    pub(super) fn was_dialled_over(&mut self, domain: u32, now: Nanos) {
        self.peer(domain).was_dialled_over(now);
    }

    /// Takes a connection that a domain with the run's keys has made so that this end dials over it.
    pub(super) fn take_offer(&mut self, token: u64, hello: &Hello, now: Nanos) -> Result<(), Fault> {
        self.is_for_me(hello)?;
        let from = hello.from;
        match self.peers.get(&from) {
            Some(peer) if peer.dials() && peer.boot.is_none_or(|known| known == hello.boot) => {}
            _ => return Err(fault!(NOT_LET_IN, "domain {from} offers a connection that nobody wants")),
        }
        self.note_heard(hello);
        // An offer replaces a connection that this end still tries to make: the other domain most likely
        // cannot be dialled from here.
        let stuck = self.guests.iter().find(|(_, guest)| {
            guest.line().is_some_and(|line| line.domain == from && !line.last_word) && guest.is_dialling()
        });
        let stuck = stuck.map(|(&token, guest)| (token, guest.line()));
        let line = match self.peer(from).take_waiting(from) {
            Some(line) => Some(line),
            None => stuck.and_then(|(token, line)| {
                self.guests.remove(&token);
                self.owners.remove(&token);
                line
            }),
        };
        let deadline = now + self.tuning.connect;
        let Some(guest) = self.guests.get_mut(&token) else { return Ok(()) };
        match line {
            Some(line) => guest.dial_over(line, deadline, &self.house)?,
            None => guest.is_offered(from),
        }
        let kept = |guest: &Handshake| guest.errand == Errand::Offered(from);
        let all: Vec<u64> =
            self.guests.iter().filter(|(_, guest)| kept(guest)).map(|(&token, _)| token).collect();
        for old in &all[..all.len().saturating_sub(MAX_OFFERS_OF_A_DOMAIN)] {
            self.guests.remove(old);
            self.owners.remove(old);
        }
        Ok(())
    }

    /// Dials a stream over the newest connection that the stream's domain has offered. Returns true if
    /// there was such a connection.
    pub(super) fn dial_over_offered(&mut self, line: DialledStream, now: Nanos) -> bool {
        let offered = |guest: &Handshake| guest.errand == Errand::Offered(line.domain);
        let tokens: Vec<u64> =
            self.guests.iter().rev().filter(|(_, guest)| offered(guest)).map(|(&token, _)| token).collect();
        let deadline = now + self.tuning.connect;
        for token in tokens {
            let Some(guest) = self.guests.get_mut(&token) else { continue };
            if guest.dial_over(line, deadline, &self.house).is_ok() {
                return true;
            }
            self.guests.remove(&token);
            self.owners.remove(&token);
        }
        false
    }
}
