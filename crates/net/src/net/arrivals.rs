//! Connections before they are streams (the code calls them guests): dialling, accepting, greeting, refusing.

use super::{Net, Owner};
use crate::admission::one_too_many;
use crate::connection::Connection;
use crate::greeting::{Boot, Hello};
use crate::handshake::{DialledStream, Errand, GreetingProgress, Handshake, Progress, NO_DEADLINE_NS};
use crate::peer::{PathState, Stream};
use crate::stream_reader::StreamReader;
use crate::stream_writer::StreamWriter;
use crate::{socket, DialAddress, Event, Nanos, StreamId};
use ligament_catalogue::{fault, Code, Fault};
use ligament_path::RelayDistance;
use rustix::event::epoll::{self, EventFlags};
use std::net::SocketAddr;

/// Maximum number of connections accepted in one pass of the event loop, so that other sockets are served
/// in between.
const MAX_ACCEPTS_AT_ONCE: usize = 64;
/// Time within which ssh must log in and connect to the target (ns).
const SSH_LOGIN_TIMEOUT_NS: Nanos = 20_000_000_000;
/// Pause before connections are accepted again, after the kernel had no descriptors (ns).
const ACCEPT_PAUSE_NS: Nanos = 200_000_000;
/// The kinds of readiness for which connections are watched: all kinds, as edges.
pub(crate) const ALL: EventFlags =
    EventFlags::IN.union(EventFlags::OUT).union(EventFlags::RDHUP).union(EventFlags::ET);

impl Net {
    /// Starts a connection for each stream of the path to `domain` whose retry time has come.
    pub(super) fn dial_what_is_due(&mut self, domain: u32, now: Nanos) {
        while let Some((line, place)) = self.peer(domain).take_due(domain, now) {
            if self.dial_over_offered(line, now) {
                continue;
            }
            let within = self.within(&place);
            let within = self.peer(domain).hurry(line.stream).map_or(within, |hurry| hurry.min(within));
            match Handshake::dial(line, &place, now + within, &self.house) {
                Ok(guest) => self.expect_answer(guest),
                Err(error) => {
                    let why = Fault::new(Code::PATH_GIVEN_UP, error.to_string());
                    self.not_dialled(line, &place, why, now);
                }
            }
        }
    }

    /// Returns the maximum time for reaching a place.
    pub(super) fn within(&self, place: &DialAddress) -> Nanos {
        let there = if place.gate().is_some() { SSH_LOGIN_TIMEOUT_NS } else { self.tuning.connect };
        there + self.tuning.greeting * place.relays() as Nanos
    }

    pub(super) fn expect_answer(&mut self, guest: Handshake) {
        let token = self.token(Owner::Guest);
        self.watch(guest.connection.socket(), token, ALL);
        self.guests.insert(token, guest);
    }

    fn not_dialled(&mut self, line: DialledStream, place: &DialAddress, why: Fault, now: Nanos) {
        let tuning = self.tuning;
        let peer = self.peer(line.domain);
        // An error message of ssh explains more than the failure of a direct connection does.
        if !(place.is_direct() && peer.told_by_ssh) {
            peer.trouble = why.told(|why| format!("{place}: {why}"));
            peer.told_by_ssh = place.gate().is_some();
        }
        peer.not_dialled(line.stream, &tuning, now);
    }

    /// Accepts connections from a listening socket.
    pub(super) fn take_in(&mut self, token: u64, now: Nanos) {
        let Some(listener) = self.listening.get(&token) else { return };
        let mut arrived = Vec::new();
        let outcome = loop {
            match socket::accept(listener) {
                Ok(Some(guest)) => arrived.push(guest),
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
            if arrived.len() == MAX_ACCEPTS_AT_ONCE {
                self.again = true;
                break Ok(());
            }
        };
        if outcome.is_err() {
            // The listening socket stays ready, so it is not watched for a while.
            for listener in self.listening.values() {
                let _ = epoll::delete(&self.epoll, listener);
            }
            self.crowded = Some(now + ACCEPT_PAUSE_NS);
        }
        for (socket, address) in arrived {
            self.arrives(Connection::new(socket), address, now);
        }
    }

    /// Begins the greeting of a new connection. Its other end must identify itself next.
    pub(super) fn arrives(&mut self, mut connection: Connection, from: SocketAddr, now: Nanos) {
        self.make_room_for_a_guest();
        let token = self.token(Owner::Guest);
        self.watch(connection.socket(), token, ALL);
        // If a greeting has arrived already, it is read before the next connection is accepted.
        connection.ready(true, false, false);
        let guest = Handshake::arrives(connection, from, now + self.tuning.greeting);
        self.guests.insert(token, guest);
        self.greet(token, now);
    }

    pub(super) fn listen_again(&mut self, now: Nanos) {
        if self.crowded.is_some_and(|until| until <= now) {
            let watched =
                self.listening.iter().filter(|(token, at)| self.watch(at, **token, EventFlags::IN)).count();
            self.crowded = (watched < self.listening.len()).then_some(now + ACCEPT_PAUSE_NS);
        }
    }

    fn make_room_for_a_guest(&mut self) {
        let unknown = self.guests.iter().filter(|(_, guest)| guest.is_unknown());
        if let Some(token) = one_too_many(unknown.map(|(&token, guest)| (token, guest.place.address()))) {
            let why = fault!(NOT_LET_IN, "too many have come that do not say who they are");
            self.turn_away(token, why, 0);
        }
    }

    /// Closes connections that did not become streams in time.
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
        let Some(mut guest) = self.guests.remove(&token) else { return };
        let why = guest.connection.explained(why);
        match guest.errand {
            Errand::Dials(line) => self.not_dialled(line, &guest.place, why, now),
            Errand::Waits => self.is_cut_off(&why, now),
            Errand::Offers { domain, .. } => self.was_not_offered(domain, now),
            Errand::Offered(_) => {}
            Errand::Came if self.is_dialled_anew(&guest) => {}
            Errand::Came => {
                let others = match self.events.back() {
                    Some(Event::Refused { others, .. }) => Some(others + 1),
                    _ => None,
                };
                if others.is_some() {
                    self.events.pop_back();
                }
                let (from, others) = (guest.place.address(), others.unwrap_or(0));
                self.events.push_back(Event::Refused { from, why: why.into(), others });
            }
        }
    }

    /// Returns true if this connection is an earlier attempt of a known domain to dial: the domain has closed
    /// it, or has dialled again meanwhile. The refusal of such a connection is not reported.
    fn is_dialled_anew(&self, guest: &Handshake) -> bool {
        guest.welcomed_hello().is_some_and(|hello| {
            let is_older = self.seen.get(&hello.line()).is_some_and(|&newest| newest > hello.incarnation);
            self.peers.contains_key(&hello.from) && (is_older || guest.connection.is_closed())
        })
    }

    /// Continues a greeting.
    pub(super) fn greet(&mut self, token: u64, now: Nanos) {
        loop {
            let Some(guest) = self.guests.get_mut(&token) else { return };
            let progress = guest.advance(&self.house);
            let in_time = now + self.tuning.greeting;
            match (guest.heard(), guest.errand) {
                _ if progress.is_err() => {}
                (GreetingProgress::Nothing, _) => {}
                // Any program can send some bytes. A domain of the run sends its whole greeting in time.
                (GreetingProgress::Something, Errand::Waits) => {
                    (guest.errand, guest.deadline) = (Errand::Came, in_time);
                    self.waits_no_more(now);
                }
                (GreetingProgress::Something, _) if guest.deadline == NO_DEADLINE_NS => {
                    guest.deadline = in_time
                }
                (GreetingProgress::Something, _) => {}
                (GreetingProgress::Keys, errand) => {
                    (guest.errand, guest.deadline) = (Errand::Came, in_time);
                    match errand {
                        Errand::Offers { domain, .. } => self.was_dialled_over(domain, now),
                        _ => self.was_found(now),
                    }
                }
            }
            let outcome = match progress {
                Ok(Progress::Waiting) => return,
                Ok(Progress::Knocks(hello)) if hello.offer => self.take_offer(token, &hello, now),
                Ok(Progress::Knocks(hello)) => self.let_in(token, &hello),
                Ok(Progress::Answered { line, boot }) => {
                    self.answered(token, line, boot, now);
                    return;
                }
                Ok(Progress::Joined(hello)) => match self.still_welcome(&hello) {
                    Ok(()) => {
                        self.admit_stranger(&hello);
                        let Hello { from, stream, incarnation, boot, last_word, .. } = hello;
                        self.join(
                            token,
                            DialledStream { domain: from, stream, incarnation, last_word },
                            boot,
                            now,
                        );
                        return;
                    }
                    Err(why) => Err(why),
                },
                Ok(Progress::LastWord(hello, why)) => match self.still_welcome(&hello) {
                    Ok(()) => {
                        // The close tells the other end that its last word was received.
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

    /// Checks the hello of a new connection, and sends the welcome. Until the proof, the other end may have
    /// only repeated a recorded hello.
    fn let_in(&mut self, token: u64, hello: &Hello) -> Result<(), Fault> {
        self.is_for_me(hello)?;
        self.expected(hello)?;
        self.note_heard(hello);
        match self.guests.get_mut(&token) {
            Some(guest) => guest.welcome(&self.house),
            None => Ok(()),
        }
    }

    pub(super) fn is_for_me(&self, hello: &Hello) -> Result<(), Fault> {
        let &Hello { encrypt, from, to, .. } = hello;
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
        let last = self.seen.get(&hello.line()).copied().unwrap_or(0);
        if hello.incarnation <= last {
            return Err(fault!(NOT_LET_IN, "a greeting of domain {from} that was heard before"));
        }
        Ok(())
    }

    /// Notes that this greeting was received. The same greeting is refused from now on.
    pub(super) fn note_heard(&mut self, hello: &Hello) {
        self.forget_greetings();
        self.seen.insert(hello.line(), hello.incarnation);
    }

    fn expected(&self, hello: &Hello) -> Result<(), Fault> {
        let &Hello { from, boot, last_word, .. } = hello;
        match self.peers.get(&from) {
            // If this end dials the path, the other domain does not. Only the process that outlived the
            // domain connects, to send its last word.
            Some(peer) if peer.dials() && !last_word => {
                Err(fault!(NOT_LET_IN, "domain {from} dials, where this end does"))
            }
            None if self.is_forgotten(hello) => Err(fault!(NOT_LET_IN, "domain {from} was given up")),
            None if !last_word && self.has_room_for_strangers() => Ok(()),
            None => Err(fault!(NOT_LET_IN, "domain {from} is not expected")),
            Some(peer) if peer.standing == PathState::GivenUp => {
                Err(fault!(NOT_LET_IN, "domain {from} was given up"))
            }
            Some(peer) if peer.boot.is_some_and(|known| known != boot) => {
                Err(fault!(NOT_LET_IN, "domain {from} has joined already, and this is another one"))
            }
            Some(_) => Ok(()),
        }
    }

    /// Returns an error if a newer connection of the same stream arrived during the greeting.
    fn still_welcome(&self, hello: &Hello) -> Result<(), Fault> {
        let from = hello.from;
        self.expected(hello)?;
        match self.seen.get(&hello.line()) {
            Some(&newest) if newest > hello.incarnation => {
                Err(fault!(NOT_LET_IN, "domain {from} has come anew meanwhile"))
            }
            _ => Ok(()),
        }
    }

    /// Makes a dialled connection a stream: the listener has answered, and has the run's keys.
    fn answered(&mut self, token: u64, line: DialledStream, boot: Boot, now: Nanos) {
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
        if peer.streams.get(&line.stream).is_some_and(|lives| lives.incarnation > line.incarnation) {
            // The stream was dialled once more meanwhile, and the newer connection was answered first.
            self.owners.remove(&token);
            self.guests.remove(&token);
            return;
        }
        peer.was_dialled(line.stream, &tuning, now);
        self.join(token, line, boot, now);
    }

    /// Makes a connection a stream of its path.
    fn join(&mut self, token: u64, line: DialledStream, boot: Boot, now: Nanos) {
        let DialledStream { domain, stream, incarnation, .. } = line;
        let Some(Handshake { connection, place, .. }) = self.guests.remove(&token) else { return };
        self.owners.insert(token, Owner::Stream(domain, stream));
        let incoming = StreamReader::new();
        let outgoing = StreamWriter::new();
        let fresh = Stream { token, incarnation, connection, incoming, outgoing, tuned: false };
        let peer = self.peer(domain);
        let was_down = peer.streams.is_empty();
        peer.boot = Some(boot);
        peer.path.stream_up(stream, incarnation, now);
        peer.due = true;
        let old = peer.streams.insert(stream, fresh);
        self.replaced(domain, stream, old);
        let behind = match place.behind() {
            RelayDistance::Relays if self.peer(domain).by_trunk => RelayDistance::Trunk,
            behind => behind,
        };
        self.tune(domain, stream, behind, now);
        if was_down {
            self.events.push_back(Event::PathUp { domain });
        }
        // The edge of bytes that followed the greeting was reported already, so the stream is read at once.
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
