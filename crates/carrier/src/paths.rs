//! The paths to other domains, as the carrier uses them: real paths of `ligament-net`, or paths of a test.

use ligament_net::{DialAddress, Event, LinkReport, MessageId, MessageStore, Nanos, Net};
use ligament_wire::DomainId;
use std::os::fd::BorrowedFd;

/// All paths of one domain. `ligament_net::Net` documents the calls.
pub trait Paths: Send {
    /// Begins a path that this end dials.
    fn dial(&mut self, domain: DomainId, places: Vec<DialAddress>, streams: u16);
    /// Begins a path that the other end dials. If no connection arrives from the other end, this end
    /// connects to `places`.
    fn expect(&mut self, domain: DomainId, places: Vec<DialAddress>);
    /// Begins to send a message of `total` bytes. The bytes are read from the message store in a later
    /// `turn`.
    fn send(&mut self, domain: DomainId, conduit: u32, total: u64) -> MessageId;
    /// Tells the other domain the total number of bytes of a conduit that were received in this domain.
    fn credit(&mut self, domain: DomainId, conduit: u32, bytes: u64);
    /// Announces that this end sends nothing more to the domain.
    fn end(&mut self, domain: DomainId);
    /// Returns a descriptor that is readable when a socket needs a `turn`.
    fn poll_fd(&self) -> BorrowedFd<'_>;
    /// Returns the time at which the next `turn` is due in any case.
    fn deadline(&self) -> Option<Nanos>;
    /// Does all work that is possible without waiting. The parameter `cargo` is the message store of the
    /// carrier.
    fn turn(&mut self, cargo: &mut dyn MessageStore, now: Nanos);
    /// Returns the oldest event that was not returned yet.
    fn event(&mut self) -> Option<Event>;
    /// Returns true if nothing is under way to or from the domain.
    fn idle(&self, domain: DomainId) -> bool;
    /// Returns the state of the links to the other domains, as far as it is known.
    fn reports(&mut self, _now: Nanos) -> Vec<(DomainId, LinkReport)> {
        Vec::new()
    }
}

impl Paths for Net {
    fn dial(&mut self, domain: DomainId, places: Vec<DialAddress>, streams: u16) {
        self.dial(domain.number(), places, streams);
    }

    fn expect(&mut self, domain: DomainId, places: Vec<DialAddress>) {
        self.expect_at(domain.number(), places);
    }

    fn send(&mut self, domain: DomainId, conduit: u32, total: u64) -> MessageId {
        self.send(domain.number(), conduit, total)
    }

    fn credit(&mut self, domain: DomainId, conduit: u32, bytes: u64) {
        self.credit(domain.number(), conduit, bytes);
    }

    fn end(&mut self, domain: DomainId) {
        self.end(domain.number());
    }

    fn poll_fd(&self) -> BorrowedFd<'_> {
        self.poll_fd()
    }

    fn deadline(&self) -> Option<Nanos> {
        self.deadline()
    }

    fn turn(&mut self, cargo: &mut dyn MessageStore, now: Nanos) {
        self.turn(cargo, now);
    }

    fn event(&mut self) -> Option<Event> {
        self.event()
    }

    fn idle(&self, domain: DomainId) -> bool {
        self.idle(domain.number())
    }

    fn reports(&mut self, now: Nanos) -> Vec<(DomainId, LinkReport)> {
        Net::reports(self, now).into_iter().map(|(domain, report)| (DomainId::new(domain), report)).collect()
    }
}
