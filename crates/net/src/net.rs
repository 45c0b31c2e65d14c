//! All paths of one domain.

use crate::{Cargo, Event, Listener, MessageId, Nanos, RunKeys, Tuning};
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;

/// All paths of one domain: they share one epoll descriptor and one listening port.
pub struct Net {}

impl Net {
    /// Without any path yet. `me`: this domain's number.
    ///
    /// # Panics
    /// The kernel has no more descriptors.
    pub fn new(keys: RunKeys, me: u32, encrypt: bool, tuning: Tuning) -> Net {
        let _ = (keys, me, encrypt, tuning);
        todo!()
    }

    /// Lets expected domains in there.
    pub fn listen(&mut self, listener: Listener) {
        let _ = listener;
        todo!()
    }

    /// Begins a path that this end dials, with so many streams; after cuts it dials again, with growing pauses. The
    /// addresses are all the same domain's, the likeliest first.
    pub fn dial(&mut self, domain: u32, addresses: Vec<SocketAddr>, streams: u16) {
        let _ = (domain, addresses, streams);
        todo!()
    }

    /// Begins a path that the other end dials.
    pub fn expect(&mut self, domain: u32) {
        let _ = domain;
        todo!()
    }

    /// Sends a message of `total` bytes, which are asked for later, and must be there until `Cargo::release`. May be
    /// called before there is a connection, but not before `dial` or `expect`, nor after `end`.
    pub fn send(&mut self, domain: u32, conduit: u32, total: u64) -> MessageId {
        let _ = (domain, conduit, total);
        todo!()
    }

    /// Tells the far end that so many bytes of a conduit have been received here, in all.
    pub fn credit(&mut self, domain: u32, conduit: u32, bytes: u64) {
        let _ = (domain, conduit, bytes);
        todo!()
    }

    /// Nothing more will be sent to the domain. When both ends have said so, `Event::Ended` comes.
    pub fn end(&mut self, domain: u32) {
        let _ = domain;
        todo!()
    }

    /// Readable when `turn` has something to do because of a socket.
    pub fn poll_fd(&self) -> BorrowedFd<'_> {
        todo!()
    }

    /// When `turn` is due even if no socket is ready (`now()`'s clock). In the past: at once.
    pub fn deadline(&self) -> Option<Nanos> {
        todo!()
    }

    /// Does what can be done without waiting, but not without bounds: after some MiB it returns, and is due again at
    /// once. Call it after `send`, `credit`, `dial`, `end` too. `now`: from `now()`.
    pub fn turn(&mut self, cargo: &mut dyn Cargo, now: Nanos) {
        let _ = (cargo, now);
        todo!()
    }

    /// What has happened, oldest first.
    pub fn event(&mut self) -> Option<Event> {
        todo!()
    }

    /// Whether nothing is under way to or from the domain, and everything is acknowledged.
    pub fn idle(&self, domain: u32) -> bool {
        let _ = domain;
        todo!()
    }
}
