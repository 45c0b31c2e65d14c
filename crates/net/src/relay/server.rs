//! The relay itself: who may use it, who meets whom, and the copying. One thread, no memory of messages: when
//! it is killed and started again, those who used it connect again.

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
/// How long somebody may take to say who they are, a domain to come that is wanted, and a connection of which
/// one direction has ended to end in the other (ns).
const GREETING_TIMEOUT_NS: Nanos = 5 * SECOND_NS;
const MEETING_TIMEOUT_NS: Nanos = 10 * SECOND_NS;
const HALF_CLOSED_TIMEOUT_NS: Nanos = 60 * SECOND_NS;
/// If there are no descriptors, nobody is accepted for this long (ns).
const ACCEPT_PAUSE_NS: Nanos = 200_000_000;
/// The most connections; of a domain that wait, and that want it.
const MAX_CONNECTIONS: usize = 8192;
const MAX_WAITING_OF_A_DOMAIN: usize = 64;
const MAX_REQUESTS_FOR_A_DOMAIN: usize = 1024;
/// The maximum of untaken bytes of all pairs, and the minimum and the maximum of one direction (bytes).
const MAX_PAIRS_BYTES: usize = 32 << 20;
const MIN_DIRECTION_BYTES: usize = 4 << 10;
const MAX_DIRECTION_BYTES: usize = 64 << 10;
/// The number of requests that are remembered, so that none is accepted twice; a new one for each of two
/// halves.
const REMEMBERED: usize = 1 << 15;
/// The maximum number accepted, and of sockets reported, at once.
const MAX_EVENTS_AT_ONCE: usize = 64;
const ALL: EventFlags = EventFlags::IN.union(EventFlags::OUT).union(EventFlags::RDHUP).union(EventFlags::ET);

/// A notice of a relay for the person who runs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RelayNotice {
    /// Somebody was sent away, after this many others. They were told nothing, unless they hold the key.
    Refused { from: SocketAddr, why: String, others: u64 },
    /// Two connections were joined.
    Joined { one: SocketAddr, other: SocketAddr },
}

/// How much there is at a relay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Load {
    /// Connections, pairs of them that are joined, and those that wait to be found.
    pub connections: usize,
    pub pairs: usize,
    pub wait: usize,
    /// Streams of trunks, and circuits that go by them.
    pub streams: usize,
    pub circuits: usize,
    /// Bytes that were read and not written yet.
    pub kept: usize,
    /// Bytes passed on, ever.
    pub through: u64,
}

/// A relay.
pub struct Relay {
    epoll: OwnedFd,
    keys: RunKeys,
    prover: Prover,
    /// Other relays that it leads to: their names, keys, and where they are.
    onward: HashMap<[u8; 16], (RunKeys, Arc<Route>)>,
    /// Trunks to these, and, under the name of this one, those of others to here.
    trunks: HashMap<[u8; 16], Trunk>,
    tuning: NetOptions,
    listening: HashMap<u64, OwnedFd>,
    /// No one is accepted before this time, because there are no descriptors.
    crowded: Option<Nanos>,
    ends: HashMap<u64, RelayConnection>,
    last_token: u64,
    meetings: HashMap<MeetingPoint, Meet>,
    /// Connections by the time of their next check.
    due: BTreeSet<(Nanos, u64)>,
    heard: [HashSet<[u8; 32]>; 2],
    /// Connections that may go on without a new report of the kernel.
    again: BTreeSet<u64>,
    told: VecDeque<RelayNotice>,
    buffer: Vec<u8>,
    pairs: usize,
    through: u64,
}

/// A connection.
struct RelayConnection {
    connection: Connection,
    from: SocketAddr,
    /// The number of its way over relays, once it has been said.
    circuit: Option<[u8; 16]>,
    /// True if it has come from another relay by a trunk.
    by_trunk: bool,
    deadline: Nanos,
    state: RelayConnectionState,
}

enum RelayConnectionState {
    /// Its request is due.
    Asks(Box<FixedRead<ASK_BYTES>>),
    /// Its proof is due.
    Proves {
        ask: Ask,
        bytes: Box<[u8; ASK_BYTES]>,
        challenge: Box<[u8; CHALLENGE_BYTES]>,
        coming: FixedRead<PROOF_BYTES>,
    },
    /// It waits to be found, or wants somebody who is not there yet.
    Waits(MeetingPoint),
    Wants(MeetingPoint),
    /// It is joined with another one; what is on the way to here.
    Joined {
        other: u64,
        coming: Direction,
    },
}

/// The connections that wait as a domain, all of them in one life of it, and those that want it.
#[derive(Default)]
struct Meet {
    life: [u8; LIFE_PREFIX_BYTES],
    wait: VecDeque<u64>,
    want: VecDeque<u64>,
}

impl Relay {
    /// A relay that wants the key of `station`, listens there, and leads on to these other relays.
    ///
    /// # Errors
    /// The kernel has no more descriptors, or nobody knows where one of the other relays is.
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

    /// Readable when `turn` has something to do because of a socket.
    pub fn poll_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }

    /// The next notice, oldest first.
    pub fn told(&mut self) -> Option<RelayNotice> {
        self.told.pop_front()
    }

    /// How much there is.
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

    /// Waits at most so long for something to do, and does it.
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
        // Only a signal can interrupt it, and then the next turn looks again.
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

    /// Returns true if the kernel watches a socket from now on: it may have no memory for that.
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
                    // If the request has arrived already, it is read before the next one is accepted.
                    if let Some(end) = self.ends.get_mut(&token) {
                        end.connection.ready(true, false, false);
                    }
                    self.go_on(token);
                }
                Ok(None) => return,
                Err(_) => {
                    // The socket stays ready, so it is not watched for a while.
                    for listener in self.listening.values() {
                        let _ = epoll::delete(&self.epoll, listener);
                    }
                    self.crowded = Some(now() + ACCEPT_PAUSE_NS);
                    return;
                }
            }
        }
    }

    /// Sends one away if too many have not said what they want; and one if too many have not proved that they
    /// hold the key: requests that somebody has recorded can be said again where they are forgotten.
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

    /// The connection's number; none if the kernel does not watch it, and then it is closed.
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
        // The notices are not read: then nobody misses the oldest.
        if self.told.len() > MAX_EVENTS_AT_ONCE {
            self.told.pop_front();
        }
    }

    /// Closes a connection, and the one that it is joined with.
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
    /// Copies from one to the other.
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

    /// Returns true if nothing more goes to a connection.
    fn has_ended(&self, token: u64) -> bool {
        match self.ends.get(&token).map(|end| &end.state) {
            Some(RelayConnectionState::Joined { coming, .. }) => coming.has_ended() && coming.kept() == 0,
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests;
