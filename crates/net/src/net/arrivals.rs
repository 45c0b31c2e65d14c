//! Connections before they are streams: dialled, accepted, greeted, refused.

use super::{Net, Owner};
use crate::connection::Connection;
use crate::greeting::{Boot, Hello};
use crate::guest::{Guest, Line, Progress};
use crate::incoming::Incoming;
use crate::outgoing::StreamWriter;
use crate::peer::{Standing, Stream};
use crate::{socket, Event, Nanos, StreamId};
use ligament_catalogue::{fault, Code, Fault};
use rustix::event::epoll::{self, EventFlags};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

/// The maximum number of connections from outside that have not identified themselves. Beyond it one must go:
/// the oldest one of the machine that has the most. A connection that has proved that it holds the run's keys
/// stays.
const MOST_UNKNOWN: usize = 256;
/// The maximum number accepted before others have their turn.
const TURN: usize = 64;
/// If there are no descriptors, nobody is accepted for this long (ns).
const CROWDED: Nanos = 200_000_000;
/// A connection is watched for everything, and for edges.
const ALL: EventFlags = EventFlags::IN.union(EventFlags::OUT).union(EventFlags::RDHUP).union(EventFlags::ET);

/// The part of an address that one machine cannot choose by itself: of IPv6 the first 64 bits.
type Machine = [u8; 8];

fn machine(address: &SocketAddr) -> Machine {
    let mut all = match address.ip() {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    };
    // Mapped IPv4 addresses differ in their last bytes only.
    if address.is_ipv4() {
        all.rotate_right(8);
    }
    std::array::from_fn(|i| all[i])
}

impl Net {
    /// Dials all streams of a domain that are due.
    pub(super) fn dial_what_is_due(&mut self, domain: u32, now: Nanos) {
        while let Some((line, address)) = self.peer(domain).take_due(domain, now) {
            match Guest::dial(line, address, now + self.tuning.connect) {
                Ok(guest) => {
                    let token = self.token(Owner::Guest);
                    self.watch(guest.connection.socket(), token, ALL);
                    self.guests.insert(token, guest);
                }
                Err(error) => {
                    let why = Fault::new(Code::PATH_GIVEN_UP, error.to_string());
                    self.not_dialled(line, address, why, now);
                }
            }
        }
    }

    fn not_dialled(&mut self, line: Line, address: SocketAddr, why: Fault, now: Nanos) {
        let tuning = self.tuning;
        let peer = self.peer(line.domain);
        peer.trouble = why.told(|why| format!("{address}: {why}"));
        peer.not_dialled(line.stream, &tuning, now);
    }

    /// Somebody connects to a listening socket.
    pub(super) fn take_in(&mut self, token: u64, now: Nanos) {
        let Some(listener) = self.listening.get(&token) else { return };
        let mut arrived = Vec::new();
        let outcome = loop {
            match socket::accept(listener) {
                Ok(Some(guest)) => arrived.push(guest),
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
            if arrived.len() == TURN {
                self.again = true;
                break Ok(());
            }
        };
        if outcome.is_err() && self.crowded.is_none() {
            // The socket stays ready, so it is not watched for a while.
            for listener in self.listening.values() {
                let _ = epoll::delete(&self.epoll, listener);
            }
            self.crowded = Some(now + CROWDED);
        }
        for (socket, address) in arrived {
            self.make_room_for_a_guest();
            let token = self.token(Owner::Guest);
            self.watch(&socket, token, ALL);
            let mut connection = Connection::new(socket);
            // If a greeting has arrived already, it is read before the next guest is accepted.
            connection.ready(true, false, false);
            let guest = Guest::arrives(connection, address, now + self.tuning.greeting);
            self.guests.insert(token, guest);
            self.greet(token, now);
        }
    }

    pub(super) fn listen_again(&mut self, now: Nanos) {
        if self.crowded.is_some_and(|until| until <= now) {
            self.crowded = None;
            for (&token, listener) in &self.listening {
                self.watch(listener, token, EventFlags::IN);
            }
        }
    }

    fn make_room_for_a_guest(&mut self) {
        let unknown = || self.guests.iter().filter(|(_, guest)| guest.is_unknown());
        if unknown().count() < MOST_UNKNOWN {
            return;
        }
        let mut machines: HashMap<Machine, (usize, u64)> = HashMap::new();
        for (&token, guest) in unknown() {
            machines.entry(machine(&guest.address)).or_insert((0, token)).0 += 1;
        }
        // Tokens grow: the smaller one came first.
        let first = machines.into_values().max_by_key(|&(count, token)| (count, Reverse(token)));
        if let Some((_, token)) = first {
            let why = fault!(NOT_LET_IN, "too many have come that do not say who they are");
            self.turn_away(token, why, 0);
        }
    }

    /// Closes guests whose time is up.
    pub(super) fn dismiss_late_guests(&mut self, now: Nanos) {
        let late: Vec<(u64, Fault)> = self
            .guests
            .iter()
            .filter(|(_, guest)| guest.deadline <= now)
            .map(|(&token, guest)| (token, guest.awaited()))
            .collect();
        for (token, why) in late {
            self.turn_away(token, why, now);
        }
    }

    /// Closes a connection that does not become a stream, without saying anything to it.
    fn turn_away(&mut self, token: u64, why: Fault, now: Nanos) {
        self.owners.remove(&token);
        let Some(guest) = self.guests.remove(&token) else { return };
        match guest.line() {
            Some(line) => self.not_dialled(line, guest.address, why, now),
            None => {
                let others = match self.events.back() {
                    Some(Event::Refused { others, .. }) => Some(others + 1),
                    _ => None,
                };
                if others.is_some() {
                    self.events.pop_back();
                }
                let (from, others) = (guest.address, others.unwrap_or(0));
                self.events.push_back(Event::Refused { from, why: why.into(), others });
            }
        }
    }

    /// Continues a greeting.
    pub(super) fn greet(&mut self, token: u64, now: Nanos) {
        loop {
            let Some(guest) = self.guests.get_mut(&token) else { return };
            let outcome = match guest.advance(&self.house) {
                Ok(Progress::Waiting) => return,
                Ok(Progress::Knocks(hello)) => self.let_in(token, &hello),
                Ok(Progress::Answered { line, boot }) => {
                    self.answered(token, line, boot, now);
                    return;
                }
                Ok(Progress::Joined(hello)) => match self.still_welcome(&hello) {
                    Ok(()) => {
                        let Hello { from, stream, incarnation, boot, last_word, .. } = hello;
                        self.join(token, Line { domain: from, stream, incarnation, last_word }, boot, now);
                        return;
                    }
                    Err(why) => Err(why),
                },
                Ok(Progress::LastWord(hello, why)) => match self.still_welcome(&hello) {
                    Ok(()) => {
                        // Closing tells the other end that this was received.
                        self.owners.remove(&token);
                        self.guests.remove(&token);
                        self.part_from(hello.from, Event::Gone { domain: hello.from, why });
                        return;
                    }
                    Err(why) => Err(why),
                },
                Err(why) => Err(why),
            };
            if let Err(why) = outcome {
                self.turn_away(token, why, now);
                return;
            }
        }
    }

    /// Somebody who holds the run's keys, or repeats the hello of somebody who does, wants to be admitted.
    fn let_in(&mut self, token: u64, hello: &Hello) -> Result<(), Fault> {
        let &Hello { encrypt, from, to, boot, stream, incarnation, .. } = hello;
        let me = self.house.me;
        if to != me {
            return Err(fault!(NOT_LET_IN, "domain {from} wants domain {to}, and this is {me}"));
        }
        if encrypt != self.house.security.is_some() {
            let (theirs, ours) = if encrypt { ("encrypts", "does not") } else { ("does not encrypt", "does") };
            return Err(fault!(
                NOT_LET_IN,
                "domain {from} {theirs}, and this end {ours}; join with the run's own invitation"
            ));
        }
        let line = (from, boot, stream, hello.last_word);
        let last = self.seen.get(&line).copied().unwrap_or(0);
        if incarnation <= last {
            return Err(fault!(NOT_LET_IN, "a greeting of domain {from} that was heard before"));
        }
        self.expected(hello)?;
        self.seen.insert(line, incarnation);
        match self.guests.get_mut(&token) {
            Some(guest) => guest.welcome(&self.house),
            None => Ok(()),
        }
    }

    fn expected(&self, hello: &Hello) -> Result<(), Fault> {
        let &Hello { from, boot, last_word, .. } = hello;
        match self.peers.get(&from) {
            // If this end dials a domain, only the process that outlived the domain dials here.
            Some(peer) if peer.dials() && !last_word => {
                Err(fault!(NOT_LET_IN, "domain {from} dials, where this end does"))
            }
            None => Err(fault!(NOT_LET_IN, "domain {from} is not expected")),
            Some(peer) if peer.standing == Standing::GivenUp => {
                Err(fault!(NOT_LET_IN, "domain {from} was given up"))
            }
            Some(peer) if peer.boot.is_some_and(|known| known != boot) => {
                Err(fault!(NOT_LET_IN, "domain {from} has joined already, and this is another one"))
            }
            Some(_) => Ok(()),
        }
    }

    /// Whether no newer connection came while a guest was greeted.
    fn still_welcome(&self, hello: &Hello) -> Result<(), Fault> {
        let &Hello { from, boot, stream, incarnation, .. } = hello;
        self.expected(hello)?;
        match self.seen.get(&(from, boot, stream, hello.last_word)) {
            Some(&newest) if newest > incarnation => {
                Err(fault!(NOT_LET_IN, "domain {from} has come anew meanwhile"))
            }
            _ => Ok(()),
        }
    }

    /// A listener has answered, and holds the run's keys.
    fn answered(&mut self, token: u64, line: Line, boot: Boot, now: Nanos) {
        let tuning = self.tuning;
        let domain = line.domain;
        let peer = self.peer(domain);
        if peer.boot.is_some_and(|known| known != boot) {
            self.give_up(
                domain,
                fault!(PATH_GIVEN_UP, "domain {domain} has been started anew, and knows nothing of this run"),
            );
            return;
        }
        peer.was_dialled(line.stream, &tuning);
        self.join(token, line, boot, now);
    }

    /// A guest becomes a stream.
    fn join(&mut self, token: u64, line: Line, boot: Boot, now: Nanos) {
        let Line { domain, stream, incarnation, .. } = line;
        let Some(Guest { connection, .. }) = self.guests.remove(&token) else { return };
        self.owners.insert(token, Owner::Stream(domain, stream));
        let incoming = Incoming::new();
        let fresh = Stream { token, incarnation, connection, incoming, outgoing: StreamWriter::new() };
        let peer = self.peer(domain);
        let was_down = peer.streams.is_empty();
        peer.boot = Some(boot);
        peer.path.stream_up(stream, incarnation, now);
        peer.due = true;
        let old = peer.streams.insert(stream, fresh);
        self.replaced(domain, stream, old);
        if was_down {
            self.events.push_back(Event::PathUp { domain });
        }
        // Bytes behind the greeting raised their edge already.
        self.ready.push(token);
    }

    fn replaced(&mut self, domain: u32, stream: StreamId, old: Option<Stream>) {
        if let Some(old) = old {
            self.owners.remove(&old.token);
            let why = fault!(PATH_GIVEN_UP, "it was dialled anew (connection {})", old.incarnation + 1);
            self.events.push_back(Event::StreamLost { domain, stream, why });
        }
    }
}
