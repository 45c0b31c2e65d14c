//! The last word of a domain whose process is gone. Another process, which outlived it, greets another domain
//! with the domain's `Boot`, gives the reason in one sentence, and closes. So the other domain knows a dead
//! agent from a cut cable at once, and waits only for a cut cable. Unlike the rest of this crate, this module
//! may block.

use crate::connection::ReadOutcome;
use crate::fixed_read::failed;
use crate::greeting::{Boot, LAST_WORD_BYTES};
use crate::handshake::{DialledStream, Handshake, HandshakeContext, Progress};
use crate::keys::random;
use crate::relay::route::{DialAddress, Route};
use crate::{now, Invitation, Nanos};
use ligament_catalogue::{fault, Fault};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use std::io::{ErrorKind, IoSliceMut};
use std::sync::Arc;

/// Time for which each address is tried, and additional time for each relay in between (ns). Over ssh, the
/// time is several times as long.
const ADDRESS_TIMEOUT_NS: Nanos = 3_000_000_000;

/// Everything that is needed to send the last word. It is made before the domain's paths, for the process
/// that will outlive this one.
#[derive(Debug, Clone)]
pub struct LastWord {
    invitation: Invitation,
    /// The route of this domain over relays.
    way: Option<Arc<Route>>,
    me: u32,
    boot: Boot,
}

impl LastWord {
    /// Makes the last word of domain `me` of the run, with a new `Boot` for the domain.
    ///
    /// # Panics
    /// The kernel has no random numbers.
    pub fn new(invitation: Invitation, me: u32) -> LastWord {
        LastWord { invitation, way: None, me, boot: random() }
    }

    /// Returns the same last word for a domain that has this route over relays.
    #[must_use]
    pub fn over(self, way: Option<Arc<Route>>) -> LastWord {
        LastWord { way, ..self }
    }

    pub(crate) fn house(&self) -> HandshakeContext {
        let Invitation { keys, encrypt, .. } = &self.invitation;
        HandshakeContext::new(keys.clone(), self.me, *encrypt, self.boot)
    }

    /// Tells the run's head that the domain's process is gone, and the reason: see `say_to`.
    ///
    /// # Errors
    /// The head was not reached.
    pub fn say(&self, why: &str) -> Result<(), Fault> {
        self.say_at(0, &self.invitation.places_of_head(self.way.as_ref()), why)
    }

    /// Tells a domain that the process of this domain is gone, and the reason, which is cut to 512 bytes.
    /// `addresses` is the list of addresses of the other domain. Returns when the last word was received.
    /// Takes at most some seconds for each address.
    ///
    /// # Errors
    /// The domain was not reached; the reason is that of the last address.
    pub fn say_to(&self, domain: u32, addresses: &[String], why: &str) -> Result<(), Fault> {
        self.say_at(domain, &DialAddress::read(addresses, self.way.as_ref())?, why)
    }

    fn say_at(&self, domain: u32, places: &[DialAddress], why: &str) -> Result<(), Fault> {
        let house = self.house();
        let mut word = [0; LAST_WORD_BYTES];
        let end = (0..=why.len().min(word.len())).rev().find(|&at| why.is_char_boundary(at)).unwrap_or(0);
        word[..end].copy_from_slice(&why.as_bytes()[..end]);
        let mut outcome = Err(fault!(PATH_GIVEN_UP, "it has no address"));
        for (place, incarnation) in places.iter().zip(1..) {
            let line = DialledStream { domain, stream: 0, incarnation, last_word: true };
            outcome = tell(&house, line, place, &word)
                .map_err(|error| error.told(|error| format!("{place}: {error}")));
            if outcome.is_ok() {
                break;
            }
        }
        outcome
    }
}

fn tell(house: &HandshakeContext, line: DialledStream, place: &DialAddress, word: &[u8]) -> Result<(), Fault> {
    let by_ssh = if place.gate().is_some() { 4 } else { 0 };
    let until = now() + ADDRESS_TIMEOUT_NS * (1 + by_ssh + place.relays() as Nanos);
    let mut head = Handshake::dial(line, place, until, house).map_err(failed)?;
    let mut greeted = false;
    loop {
        wait(&mut head, until)?;
        if !greeted {
            if !matches!(head.advance(house)?, Progress::Answered { .. }) {
                continue;
            }
            greeted = true;
            head.connection.say(word).map_err(failed)?;
        }
        head.connection.flush().map_err(failed)?;
        // The far end sends nothing; by closing it shows that it has read the last word. If a relay is
        // killed meanwhile, the connection breaks and the next place is tried, so the far end may receive
        // the last word twice.
        match head.connection.receive(&mut [IoSliceMut::new(&mut [0; 64])]) {
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return Err(failed(error)),
            Ok(ReadOutcome::End) | Err(_) if !head.connection.has_unsent() => return Ok(()),
            _ => {}
        }
    }
}

/// Waits until the connection may continue.
fn wait(head: &mut Handshake, until: Nanos) -> Result<(), Fault> {
    let left = until.saturating_sub(now());
    if left == 0 {
        return Err(head.awaited());
    }
    let left = Timespec { tv_sec: (left / 1_000_000_000) as i64, tv_nsec: (left % 1_000_000_000) as i64 };
    let writes = !head.connection.is_writable();
    let wanted = if writes { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
    let happened = {
        let mut fds = [PollFd::new(head.connection.socket(), wanted)];
        // If a signal interrupts the call, the caller waits again.
        let _ = poll(&mut fds, Some(&left));
        fds[0].revents()
    };
    let closed = happened.intersects(PollFlags::HUP | PollFlags::ERR);
    head.connection.ready(
        happened.contains(PollFlags::IN),
        happened.intersects(PollFlags::OUT | PollFlags::ERR),
        closed,
    );
    Ok(())
}
