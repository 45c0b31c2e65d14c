//! Paths whose other ends are not known beforehand, such as the paths of a relay's trunks. A domain that has
//! the keys is let in, up to a maximum number. The connections are accepted elsewhere, and taken over here.

use super::Net;
use crate::connection::Connection;
use crate::greeting::Hello;
use crate::{MessageId, Nanos};
use rustix::net::getpeername;
use std::net::SocketAddr;

/// Maximum number of greetings that are remembered. Beyond it, the greetings of unknown domains are
/// forgotten.
const MAX_REMEMBERED_GREETINGS: usize = 1 << 14;
/// Maximum number of forgotten paths that are remembered, because the other end may want to continue them.
const MAX_REMEMBERED_PATHS: usize = 1 << 10;

impl Net {
    /// Lets in domains that are not expected, as long as there are fewer than `most` paths.
    pub(crate) fn admit(&mut self, most: usize) {
        self.admits = most;
    }

    /// Takes over a connection that was accepted elsewhere, and whose other end must identify itself next.
    pub(crate) fn take(&mut self, connection: Connection, from: SocketAddr, now: Nanos) {
        self.arrives(connection, from, now);
    }

    /// Returns true if one more domain that is not expected may be let in.
    pub(super) fn has_room_for_strangers(&self) -> bool {
        self.peers.len() < self.admits
    }

    /// Begins a path with a domain that was not expected and has proved that it has the keys.
    pub(super) fn admit_stranger(&mut self, hello: &Hello) {
        if !self.peers.contains_key(&hello.from) {
            self.expect(hello.from);
        }
    }

    /// Forgets the greetings of unknown domains when too many are stored. This is safe, because a stranger
    /// that repeats a greeting cannot prove that it has the keys.
    pub(super) fn forget_greetings(&mut self) {
        if self.admits > 0 && self.seen.len() >= MAX_REMEMBERED_GREETINGS {
            let peers = &self.peers;
            self.seen.retain(|line, _| peers.contains_key(&line.0));
        }
    }

    /// Closes all connections of a path and forgets it, without telling the other end. The other end may
    /// dial the path again. It is then refused, because its state would not fit to that of a new path.
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

    /// Returns the address of the other end of a path, as one of its streams shows it.
    pub(crate) fn address(&self, domain: u32) -> Option<SocketAddr> {
        let stream = self.peers.get(&domain)?.streams.values().next()?;
        let address = getpeername(stream.connection.socket()).ok()??;
        SocketAddr::try_from(address).ok()
    }

    /// Returns the number of streams of all paths.
    pub(crate) fn streams(&self) -> usize {
        self.peers.values().map(|peer| peer.streams.len()).sum()
    }

    /// Sends a part of a larger whole. Even a short part is treated as a large message.
    pub(crate) fn send_as_large(&mut self, domain: u32, conduit: u32, total: u64) -> MessageId {
        let peer = self.peer(domain);
        peer.due = true;
        peer.path.send_as_large(conduit, total)
    }
}
