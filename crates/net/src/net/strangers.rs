//! Paths whose other ends nobody names beforehand, as those of a relay's trunks: whoever holds the keys is let
//! in, so many at most. Their connections are accepted elsewhere, and taken over.

use super::Net;
use crate::connection::Connection;
use crate::greeting::Hello;
use crate::{MessageId, Nanos};
use rustix::net::getpeername;
use std::net::SocketAddr;

/// The number of greetings that are remembered of those that are not let in yet.
const MAX_REMEMBERED_GREETINGS: usize = 1 << 14;
/// The number of paths that are remembered that were forgotten here, and which the other end may want to go on
/// with.
const MAX_REMEMBERED_PATHS: usize = 1 << 10;

impl Net {
    /// Lets so many domains in that nobody expects.
    pub(crate) fn admit(&mut self, most: usize) {
        self.admits = most;
    }

    /// A connection that was accepted elsewhere, and says next who it is.
    pub(crate) fn take(&mut self, connection: Connection, from: SocketAddr, now: Nanos) {
        self.arrives(connection, from, now);
    }

    /// Returns true if one more may come that nobody expects.
    pub(super) fn has_room_for_strangers(&self) -> bool {
        self.peers.len() < self.admits
    }

    /// One that nobody expected has proved itself.
    pub(super) fn admit_stranger(&mut self, hello: &Hello) {
        if !self.peers.contains_key(&hello.from) {
            self.expect(hello.from);
        }
    }

    /// Greetings of those that are no peers are forgotten when there are too many: who can repeat one cannot
    /// prove it.
    pub(super) fn forget_greetings(&mut self) {
        if self.admits > 0 && self.seen.len() >= MAX_REMEMBERED_GREETINGS {
            let peers = &self.peers;
            self.seen.retain(|line, _| peers.contains_key(&line.0));
        }
    }

    /// Closes all that belongs to a path and forgets it, without a word. The other end may still believe in it,
    /// and dial it again: it is not let in as if it were new, as nothing would fit together.
    pub(crate) fn forget(&mut self, domain: u32) {
        self.close(domain);
        let Some(boot) = self.peers.remove(&domain).and_then(|peer| peer.boot) else { return };
        self.forgotten.push_back((domain, boot));
        if self.forgotten.len() > MAX_REMEMBERED_PATHS {
            self.forgotten.pop_front();
        }
    }

    /// Returns true if this path was forgotten.
    pub(super) fn is_forgotten(&self, hello: &Hello) -> bool {
        self.forgotten.contains(&(hello.from, hello.boot))
    }

    /// The address of the other end of a path, as its streams are seen from here.
    pub(crate) fn address(&self, domain: u32) -> Option<SocketAddr> {
        let stream = self.peers.get(&domain)?.streams.values().next()?;
        let address = getpeername(stream.connection.socket()).ok()??;
        SocketAddr::try_from(address).ok()
    }

    /// The number of streams, of all paths.
    pub(crate) fn streams(&self) -> usize {
        self.peers.values().map(|peer| peer.streams.len()).sum()
    }

    /// As `send`, of a part of something large: it goes with large messages, however short it is.
    pub(crate) fn send_as_large(&mut self, domain: u32, conduit: u32, total: u64) -> MessageId {
        let peer = self.peer(domain);
        peer.due = true;
        peer.path.send_as_large(conduit, total)
    }
}
