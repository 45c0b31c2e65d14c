//! The relay itself: it decides who may use it, joins connections in pairs, and copies bytes between the
//! two. It has one thread and stores no messages: when it is killed and started again, its users connect
//! again.

mod greetings;
mod trunks;

use super::direction::{CopyOutcome, Direction};
use super::greeting::{Ask, MeetingPoint, ASK_BYTES, CHALLENGE_BYTES, PROOF_BYTES};
use super::route::{Route, LIFE_PREFIX_BYTES};
use super::trunk::{self, Trunk};
use super::Station;
use crate::admission::one_too_many;
use crate::connection::Connection;
use crate::fixed_read::FixedRead;
use crate::keys::{Prover, RunKeys};
use crate::{now, socket, Listener, Nanos, NetOptions};
use ligament_catalogue::{fault, Fault};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use rustix::time::Timespec;
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::io;
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

const SECOND_NS: Nanos = 1_000_000_000;
/// Time within which a new connection must send its request and its proof (ns).
const GREETING_TIMEOUT_NS: Nanos = 5 * SECOND_NS;
/// Time within which a wanted domain must come to the relay (ns).
const MEETING_TIMEOUT_NS: Nanos = 10 * SECOND_NS;
/// Time within which a connection must end in both directions after one direction has ended (ns).
const HALF_CLOSED_TIMEOUT_NS: Nanos = 60 * SECOND_NS;
/// Pause before connections are accepted again, after the kernel had no descriptors (ns).
const ACCEPT_PAUSE_NS: Nanos = 200_000_000;
/// Maximum number of connections of the relay.
const MAX_CONNECTIONS: usize = 8192;
/// Maximum number of connections that wait as one domain.
const MAX_WAITING_OF_A_DOMAIN: usize = 64;
/// Maximum number of connections that want one domain.
const MAX_REQUESTS_FOR_A_DOMAIN: usize = 1024;
/// Maximum of bytes that all pairs together store between reading and writing (bytes).
const MAX_PAIRS_BYTES: usize = 32 << 20;
/// Minimum that one direction of a pair may store (bytes).
const MIN_DIRECTION_BYTES: usize = 4 << 10;
/// Maximum that one direction of a pair may store (bytes).
const MAX_DIRECTION_BYTES: usize = 64 << 10;
/// Maximum number of requests that each of two sets remembers, so that no request is accepted twice. When
/// the newer set is full, it replaces the older one.
const REMEMBERED: usize = 1 << 15;
/// Maximum number of connections accepted at once, of sockets that epoll reports at once, and of unread
/// notices.
const MAX_EVENTS_AT_ONCE: usize = 64;
const ALL: EventFlags = EventFlags::IN.union(EventFlags::OUT).union(EventFlags::RDHUP).union(EventFlags::ET);

/// A notice of a relay for the person who runs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RelayNotice {
    /// A connection was refused, after `others` refusals that this notice replaces. Its other end learns
    /// the reason only if it holds the key.
    Refused { from: SocketAddr, why: String, others: u64 },
    /// Two connections were joined.
    Joined { one: SocketAddr, other: SocketAddr },
}

/// Numbers that show the use of a relay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Load {
    /// Number of connections.
    pub connections: usize,
    /// Number of pairs of joined connections.
    pub pairs: usize,
    /// Number of connections that wait as a domain until another one wants that domain.
    pub wait: usize,
    /// Number of streams of trunks.
    pub streams: usize,
    /// Number of circuits that these trunks carry.
    pub circuits: usize,
    /// Number of bytes that were read and not written yet.
    pub kept: usize,
    /// Number of bytes passed on since the relay started.
    pub through: u64,
}

/// A relay.
pub struct Relay {
    epoll: OwnedFd,
    keys: RunKeys,
    prover: Prover,
    /// Other relays with which this relay joins connections: by name, their keys and the route to them.
    onward: HashMap<[u8; 16], (RunKeys, Arc<Route>)>,
    /// Trunks to these relays, by name. Under this relay's own name: the trunks that other relays dial to
    /// it.
    trunks: HashMap<[u8; 16], Trunk>,
    tuning: NetOptions,
    listening: HashMap<u64, OwnedFd>,
    /// If the kernel had no descriptors, no connection is accepted before this time (`now()`'s clock, ns).
    crowded: Option<Nanos>,
    ends: HashMap<u64, RelayConnection>,
    last_token: u64,
    meetings: HashMap<MeetingPoint, Meet>,
    /// Connections by the time of their next check.
    due: BTreeSet<(Nanos, u64)>,
    /// Random numbers of the requests that were accepted: the newer set, and the older one.
    heard: [HashSet<[u8; 32]>; 2],
    /// Connections that may continue without a new report of the kernel.
    again: BTreeSet<u64>,
    told: VecDeque<RelayNotice>,
    buffer: Vec<u8>,
    pairs: usize,
    through: u64,
}

/// A connection to the relay.
struct RelayConnection {
    connection: Connection,
    from: SocketAddr,
    /// Number that the connection has at all relays that it passes, once its request has been read.
    circuit: Option<[u8; 16]>,
    /// True if another relay has sent the connection here by a trunk.
    by_trunk: bool,
    deadline: Nanos,
    state: RelayConnectionState,
}

enum RelayConnectionState {
    /// The relay waits for the connection's request.
    Asks(Box<FixedRead<ASK_BYTES>>),
    /// The relay waits for the connection's proof.
    Proves {
        ask: Ask,
        bytes: Box<[u8; ASK_BYTES]>,
        challenge: Box<[u8; CHALLENGE_BYTES]>,
        coming: FixedRead<PROOF_BYTES>,
    },
    /// The connection waits as a domain until another connection wants that domain.
    Waits(MeetingPoint),
    /// The connection wants a domain that is not waiting here yet.
    Wants(MeetingPoint),
    /// The connection is joined with another one. `coming` has the bytes on their way to this connection.
    Joined { other: u64, coming: Direction },
}

/// The connections that wait as one domain, all of the same process of that domain, and those that want the
/// domain.
#[derive(Default)]
struct Meet {
    life: [u8; LIFE_PREFIX_BYTES],
    wait: VecDeque<u64>,
    want: VecDeque<u64>,
}

impl Relay {
    /// Makes a relay that demands the key of `station`, listens with `listener`, and joins connections with
    /// the relays in `onward` on request.
    pub fn new(station: &Station, listener: Listener, onward: &[Station]) -> Result<Relay, Fault> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)
            .map_err(|error| fault!(CANNOT_LISTEN, "connections cannot be watched: {error}"))?;
        let mut names = HashMap::new();
        for next in onward {
            if next.keys.relay() == station.keys.relay() {
                return Err(fault!(RELAY_UNUSABLE, "the relay leads on to itself; name another one"));
            }
            let way = Route::over(std::slice::from_ref(next))?;
            names.insert(next.keys.relay(), (next.keys.clone(), way));
        }
        let mut relay = Relay {
            epoll,
            keys: station.keys.clone(),
            prover: station.keys.prover(),
            onward: names,
            trunks: HashMap::new(),
            tuning: trunk::tuning(),
            listening: HashMap::new(),
            crowded: None,
            ends: HashMap::new(),
            last_token: 0,
            meetings: HashMap::new(),
            due: BTreeSet::new(),
            heard: [HashSet::new(), HashSet::new()],
            again: BTreeSet::new(),
            told: VecDeque::new(),
            buffer: vec![0; MAX_DIRECTION_BYTES],
            pairs: 0,
            through: 0,
        };
        for socket in listener.into_sockets() {
            let token = relay.token();
            if !relay.watch(&socket, token, EventFlags::IN) {
                relay.crowded = Some(now());
            }
            relay.listening.insert(token, socket);
        }
        Ok(relay)
    }

    /// Returns a descriptor that is readable when a socket gives `turn` something to do.
    pub fn poll_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }

    /// Removes and returns the oldest notice.
    pub fn told(&mut self) -> Option<RelayNotice> {
        self.told.pop_front()
    }

    /// Returns the numbers that show the use of the relay.
    pub fn load(&self) -> Load {
        let kept = |end: &RelayConnection| match &end.state {
            RelayConnectionState::Joined { coming, .. } => coming.kept(),
            _ => 0,
        };
        let trunks = self.trunks.values().map(Trunk::load);
        let (streams, circuits, between) =
            trunks.fold((0, 0, 0), |all, one| (all.0 + one.0, all.1 + one.1, all.2 + one.2));
        Load {
            connections: self.ends.len(),
            pairs: self.pairs,
            wait: self.meetings.values().map(|meet| meet.wait.len()).sum(),
            streams,
            circuits,
            kept: between + self.ends.values().map(kept).sum::<usize>(),
            through: self.through,
        }
    }

    /// Waits at most `most` for something to do, and does it.
    pub fn turn(&mut self, most: Duration) {
        let now = now();
        let mut wait = most.as_nanos().min(u128::from(Nanos::MAX)) as Nanos;
        if !self.again.is_empty() {
            wait = 0;
        }
        for at in self.due.first().map(|&(at, _)| at).into_iter().chain(self.crowded).chain(self.trunks_due()) {
            wait = wait.min(at.saturating_sub(now));
        }
        let wait = Timespec { tv_sec: (wait / SECOND_NS) as i64, tv_nsec: (wait % SECOND_NS) as i64 };
        let mut happened = [const { MaybeUninit::<epoll::Event>::uninit() }; MAX_EVENTS_AT_ONCE];
        // Only a signal can interrupt the call, and the next turn then asks again.
        if let Ok((happened, _)) = epoll::wait(&self.epoll, &mut happened[..], Some(&wait)) {
            for &mut epoll::Event { flags, data } in happened {
                let token = data.u64();
                if self.listening.contains_key(&token) {
                    self.take_in(token);
                    continue;
                }
                let Some(end) = self.ends.get_mut(&token) else { continue };
                let closed = flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR);
                let writable = flags.intersects(EventFlags::OUT | EventFlags::ERR);
                end.connection.ready(flags.contains(EventFlags::IN), writable, closed);
                self.again.insert(token);
            }
        }
        self.pass_time();
        for token in std::mem::take(&mut self.again) {
            self.go_on(token);
        }
        self.turn_trunks();
    }

    fn pass_time(&mut self) {
        let now = now();
        if self.crowded.is_some_and(|until| until <= now) {
            let watched =
                self.listening.iter().filter(|(token, at)| self.watch(at, **token, EventFlags::IN)).count();
            self.crowded = (watched < self.listening.len()).then_some(now + ACCEPT_PAUSE_NS);
        }
        while let Some(&(at, token)) = self.due.first().filter(|(at, _)| *at <= now) {
            self.due.remove(&(at, token));
            let Some(end) = self.ends.get(&token) else { continue };
            let why = match end.state {
                RelayConnectionState::Asks(_) => fault!(NOT_LET_IN, "it sent no request in time"),
                RelayConnectionState::Proves { .. } => {
                    fault!(NOT_LET_IN, "it did not prove in time that it holds the key")
                }
                RelayConnectionState::Wants(_) => {
                    fault!(NOT_LET_IN, "the domain that it asks for is not waiting here")
                }
                RelayConnectionState::Joined { .. } | RelayConnectionState::Waits(_) => {
                    fault!(NOT_LET_IN, "one half of it was over, and the other half did not end")
                }
            };
            self.part_with(token, Some(why));
        }
    }

    // ---- connections ----------------------------------------------------------------------------------------
    fn token(&mut self) -> u64 {
        self.last_token += 1;
        self.last_token
    }

    /// Returns true if the kernel watches the socket from now on. The kernel may have no memory for that.
    fn watch(&self, socket: &OwnedFd, token: u64, flags: EventFlags) -> bool {
        let added = epoll::add(&self.epoll, socket, EventData::new_u64(token), flags);
        matches!(added, Ok(()) | Err(Errno::EXIST))
    }

    fn take_in(&mut self, token: u64) {
        for _ in 0..MAX_EVENTS_AT_ONCE {
            let Some(listener) = self.listening.get(&token) else { return };
            match socket::accept(listener) {
                Ok(Some((socket, from))) => {
                    self.limit_unknown();
                    if self.ends.len() >= MAX_CONNECTIONS {
                        let why = fault!(NOT_LET_IN, "there are {MAX_CONNECTIONS} connections already");
                        self.tell_refused(from, &why);
                        continue;
                    }
                    let _ = socket::keep_alive(&socket);
                    let state = RelayConnectionState::Asks(Box::new(FixedRead::NONE));
                    let Some(token) = self.add(socket, from, GREETING_TIMEOUT_NS, state) else { continue };
                    // If the request has arrived already, it is read before the next connection is
                    // accepted.
                    if let Some(end) = self.ends.get_mut(&token) {
                        end.connection.ready(true, false, false);
                    }
                    self.go_on(token);
                }
                Ok(None) => return,
                Err(_) => {
                    // The listening socket stays ready, so it is not watched for a while.
                    for listener in self.listening.values() {
                        let _ = epoll::delete(&self.epoll, listener);
                    }
                    self.crowded = Some(now() + ACCEPT_PAUSE_NS);
                    return;
                }
            }
        }
    }

    /// Closes one connection if too many have sent no request, and one if too many have not proved that
    /// they hold the key. The second limit is needed because a stranger can repeat a recorded request after
    /// the relay has forgotten it.
    fn limit_unknown(&mut self) {
        let of = |proves: bool| {
            let unknown = self.ends.iter().filter(move |(_, end)| match end.state {
                RelayConnectionState::Asks(_) => !proves && !end.by_trunk,
                RelayConnectionState::Proves { .. } => proves && !end.by_trunk,
                _ => false,
            });
            one_too_many(unknown.map(|(&token, end)| (token, end.from)))
        };
        let (asks, proves) = (of(false), of(true));
        if let Some(first) = asks {
            let why = fault!(NOT_LET_IN, "too many connections have sent no request yet");
            self.part_with(first, Some(why));
        }
        if let Some(first) = proves {
            let why = fault!(NOT_LET_IN, "too many connections have not proved yet that they hold the key");
            self.part_with(first, Some(why));
        }
    }

    /// Adds a connection. Returns its token, or `None` if the kernel does not watch the socket, which is
    /// then closed.
    fn add(
        &mut self,
        socket: OwnedFd,
        from: SocketAddr,
        within: Nanos,
        state: RelayConnectionState,
    ) -> Option<u64> {
        let token = self.token();
        if !self.watch(&socket, token, ALL) {
            return None;
        }
        let deadline = now() + within;
        self.due.insert((deadline, token));
        let connection = Connection::new(socket);
        let end = RelayConnection { connection, from, circuit: None, by_trunk: false, deadline, state };
        self.ends.insert(token, end);
        Some(token)
    }

    fn set_deadline(&mut self, token: u64, within: Option<Nanos>) {
        let Some(end) = self.ends.get_mut(&token) else { return };
        self.due.remove(&(end.deadline, token));
        if let Some(within) = within {
            end.deadline = now() + within;
            self.due.insert((end.deadline, token));
        }
    }

    fn tell_refused(&mut self, from: SocketAddr, why: &Fault) {
        let others = match self.told.back() {
            Some(RelayNotice::Refused { others, .. }) => Some(others + 1),
            _ => None,
        };
        if others.is_some() {
            self.told.pop_back();
        }
        self.tell(RelayNotice::Refused { from, why: why.to_string(), others: others.unwrap_or(0) });
    }

    fn tell(&mut self, told: RelayNotice) {
        self.told.push_back(told);
        // If nobody reads the notices, the oldest one is dropped.
        if self.told.len() > MAX_EVENTS_AT_ONCE {
            self.told.pop_front();
        }
    }

    /// Closes a connection, and the connection that it is joined with.
    fn part_with(&mut self, token: u64, why: Option<Fault>) {
        let Some(end) = self.ends.remove(&token) else { return };
        self.due.remove(&(end.deadline, token));
        if let Some(why) = why {
            self.tell_refused(end.from, &why);
        }
        match end.state {
            RelayConnectionState::Asks(_) | RelayConnectionState::Proves { .. } => {}
            RelayConnectionState::Waits(meeting) | RelayConnectionState::Wants(meeting) => {
                self.forget(token, &meeting)
            }
            RelayConnectionState::Joined { other, .. } => {
                if self.ends.contains_key(&other) {
                    self.pairs -= 1;
                    self.part_with(other, None);
                }
            }
        }
    }

    fn forget(&mut self, token: u64, meeting: &MeetingPoint) {
        let Some(meet) = self.meetings.get_mut(meeting) else { return };
        meet.wait.retain(|&one| one != token);
        meet.want.retain(|&one| one != token);
        if meet.wait.is_empty() && meet.want.is_empty() {
            self.meetings.remove(meeting);
        }
    }

    // ---- copying --------------------------------------------------------------------------------------------
    /// Copies bytes from connection `from` to connection `to`.
    fn copy(&mut self, from: u64, to: u64) {
        let Some(mut source) = self.ends.remove(&from) else { return };
        let outcome = match self.ends.get_mut(&to) {
            Some(RelayConnection {
                connection, state: RelayConnectionState::Joined { coming, .. }, ..
            }) => {
                let room =
                    (MAX_PAIRS_BYTES / (2 * self.pairs.max(1))).clamp(MIN_DIRECTION_BYTES, MAX_DIRECTION_BYTES);
                let outcome = source.connection.flush().and_then(|()| connection.flush());
                outcome.and_then(|()| coming.copy(&mut source.connection, connection, &mut self.buffer[..room]))
            }
            _ => Err(io::ErrorKind::BrokenPipe.into()),
        };
        self.ends.insert(from, source);
        match outcome {
            Err(_) => self.part_with(from, None),
            Ok((copied, through)) => {
                self.through += through;
                match copied {
                    CopyOutcome::Waits => {}
                    CopyOutcome::More => drop(self.again.insert(from)),
                    CopyOutcome::Ended if self.has_ended(from) => self.part_with(from, None),
                    CopyOutcome::Ended => self.set_deadline(from, Some(HALF_CLOSED_TIMEOUT_NS)),
                }
            }
        }
    }

    /// Returns true if no more bytes go to this connection.
    fn has_ended(&self, token: u64) -> bool {
        match self.ends.get(&token).map(|end| &end.state) {
            Some(RelayConnectionState::Joined { coming, .. }) => coming.has_ended() && coming.kept() == 0,
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests;
