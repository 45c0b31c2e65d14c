//! The paths to other domains as the carrier uses them: those of `ligament-net`, or others in tests.

use ligament_net::{DialAddress, Event, LinkReport, MessageId, MessageStore, Nanos, Net};
use ligament_wire::DomainId;
use std::os::fd::BorrowedFd;

/// All paths of one domain. What the calls mean stands at `ligament_net::Net`.
pub trait Paths: Send {
    /// Begins a path that this end dials.
    fn dial(&mut self, domain: DomainId, places: Vec<DialAddress>, streams: u16);
    /// Begins a path that the other end dials, over connections that are made to it there if it does not come.
    fn expect(&mut self, domain: DomainId, places: Vec<DialAddress>);
    /// Sends a message of `total` bytes, which are asked for later.
    fn send(&mut self, domain: DomainId, conduit: u32, total: u64) -> MessageId;
    /// Tells the far end what of a conduit has been received here, in all.
    fn credit(&mut self, domain: DomainId, conduit: u32, bytes: u64);
    /// Nothing more will be sent to the domain.
    fn end(&mut self, domain: DomainId);
    /// Readable when `turn` has something to do because of a socket.
    fn poll_fd(&self) -> BorrowedFd<'_>;
    /// When `turn` is due in any case.
    fn deadline(&self) -> Option<Nanos>;
    /// Does what can be done without waiting.
    fn turn(&mut self, cargo: &mut dyn MessageStore, now: Nanos);
    /// The next event, oldest first.
    fn event(&mut self) -> Option<Event>;
    /// Returns true if nothing is under way to or from the domain.
    fn idle(&self, domain: DomainId) -> bool;
    /// How the links to the other domains do, where that is known.
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
