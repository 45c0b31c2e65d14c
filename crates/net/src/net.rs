//! All paths of one domain: the public interface, and the order of work within a turn. `arrivals` handles
//! connections until they are streams; `streams` handles them afterwards.

mod arrivals;
mod flow;
mod offers;
mod relay_waiting;
mod strangers;
mod streams;

use crate::connection::Connection;
use crate::greeting::{Boot, Lineage, MAX_STREAMS};
use crate::handshake::{Errand, Handshake, HandshakeContext, NO_DEADLINE_NS};
use crate::keys::random;
use crate::peer::{PathState, Peer};
use crate::{
    now, DialAddress, Event, LastWord, Listener, MessageId, MessageStore, Nanos, NetOptions, Route, RunKeys,
    StreamId,
};
use ligament_catalogue::{fault, Fault};
use ligament_path::RelayDistance;
use relay_waiting::RelayWait;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use rustix::time::Timespec;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

pub(crate) use arrivals::ALL;

/// Size of the buffer for bytes whose destination is not known yet (bytes).
const SCRATCH_BYTES: usize = 64 << 10;
/// Maximum number of sockets that epoll reports at once.
const READY: usize = 256;

/// The owner of a token of epoll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Listener,
    Guest,
    Stream(u32, StreamId),
}

/// All paths of one domain: they share one epoll descriptor and one listening port.
pub struct Net {
    epoll: OwnedFd,
    house: HandshakeContext,
    tuning: NetOptions,
    owners: HashMap<u64, Owner>,
    last_token: u64,
    listening: BTreeMap<u64, OwnedFd>,
    /// If the kernel had no descriptors, no connection is accepted before this time (`now()`'s clock, ns).
    crowded: Option<Nanos>,
    guests: BTreeMap<u64, Handshake>,
    /// The connections of this domain that wait at a relay for other domains.
    waiting: Option<RelayWait>,
    peers: BTreeMap<u32, Peer>,
    /// Maximum number of paths. A domain that is not expected is let in as long as there are fewer.
    admits: usize,
    /// Paths that were forgotten: the domain and its `Boot`. The state of such a path is gone, so the path
    /// cannot be continued.
    forgotten: VecDeque<(u32, Boot)>,
    /// The newest accepted incarnation of each subject of a greeting, such as one stream of one process of a
    /// domain.
    seen: HashMap<Lineage, u32>,
    events: VecDeque<Event>,
    /// Tokens of the guests (connections that are not streams yet) and streams that may continue.
    ready: Vec<u64>,
    /// True if the last turn returned with more to do.
    again: bool,
    scratch: Vec<u8>,
}

impl Net {
    /// Makes a `Net` without any path. `me` is the number of this domain.
    ///
    /// # Errors
    /// The kernel has no more descriptors.
    ///
    /// # Panics
    /// The kernel has no random numbers.
    pub fn new(keys: RunKeys, me: u32, encrypt: bool, tuning: NetOptions) -> Result<Net, Fault> {
        Net::of_house(HandshakeContext::new(keys, me, encrypt, random()), tuning)
    }

    /// Makes the `Net` of a domain, with a `last_word` by which another process can report that this
    /// process is gone.
    ///
    /// # Errors
    /// The kernel has no more descriptors.
    pub fn with_last_word(last_word: &LastWord, tuning: NetOptions) -> Result<Net, Fault> {
        Net::of_house(last_word.house(), tuning)
    }

    fn of_house(house: HandshakeContext, tuning: NetOptions) -> Result<Net, Fault> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)
            .map_err(|error| fault!(PATH_GIVEN_UP, "the kernel has no descriptors for a path: {error}"))?;
        Ok(Net {
            epoll,
            house,
            tuning,
            owners: HashMap::new(),
            last_token: 0,
            listening: BTreeMap::new(),
            crowded: None,
            guests: BTreeMap::new(),
            waiting: None,
            peers: BTreeMap::new(),
            admits: 0,
            forgotten: VecDeque::new(),
            seen: HashMap::new(),
            events: VecDeque::new(),
            ready: Vec::new(),
            again: false,
            scratch: vec![0; SCRATCH_BYTES],
        })
    }

    /// Listens with `listener`, and lets expected domains in.
    pub fn listen(&mut self, listener: Listener) {
        for socket in listener.into_sockets() {
            let token = self.token(Owner::Listener);
            if !self.watch(&socket, token, EventFlags::IN) {
                self.crowded = Some(now());
            }
            self.listening.insert(token, socket);
        }
    }

    /// Lets in expected domains that find this domain at the last relay of a route. Does nothing if the route
    /// has no relay.
    pub fn wait_at(&mut self, way: &Arc<Route>) {
        self.waiting = (way.length() > 0).then(|| RelayWait::new(way, &self.tuning));
    }

    /// Begins a path that this end dials, with this many streams; 0 means as many as the link needs. The
    /// first stream is for small messages. After cuts the path dials again, with growing pauses. All places
    /// belong to the same domain, the most likely one first.
    ///
    /// # Panics
    /// There are more than 256 streams.
    pub fn dial<P: Into<DialAddress>>(&mut self, domain: u32, places: Vec<P>, streams: u16) {
        assert!(streams <= MAX_STREAMS, "a path has 1 to {MAX_STREAMS} streams, not {streams}");
        let places = places.into_iter().map(P::into).collect();
        let peer = Peer::new(&self.tuning, places, Some(streams), now());
        self.peers.insert(domain, peer);
    }

    /// Begins a path that the other end dials.
    pub fn expect(&mut self, domain: u32) {
        let peer = Peer::new(&self.tuning, Vec::new(), None, now());
        self.peers.insert(domain, peer);
    }

    /// Begins a path that the other end dials, with a domain that listens at `places`. If that domain does
    /// not dial in time, this end makes connections to it, over which the domain then dials. So a domain
    /// that cannot be dialled may be at either end of a path.
    pub fn expect_at<P: Into<DialAddress>>(&mut self, domain: u32, places: Vec<P>) {
        self.expect(domain);
        // At a relay the other domain finds this domain by itself.
        let (near, far) =
            places.into_iter().map(P::into).partition::<Vec<DialAddress>, _>(|place| place.relays() == 0);
        let peer = self.peer(domain);
        peer.by_trunk = far.iter().any(|place| place.behind() == RelayDistance::Trunk);
        peer.offers_at(near, now());
    }

    /// Sends a message of `total` bytes. The bytes are read later, and must stay available until
    /// `MessageStore::release`. May be called before there is a connection.
    ///
    /// # Panics
    /// Neither `dial` nor `expect` was called for the domain.
    pub fn send(&mut self, domain: u32, conduit: u32, total: u64) -> MessageId {
        let peer = self.peer(domain);
        peer.due = true;
        peer.path.send(conduit, total)
    }

    /// Reports to the far end how many bytes of a conduit have been received here, in all.
    ///
    /// # Panics
    /// Neither `dial` nor `expect` was called for the domain.
    pub fn credit(&mut self, domain: u32, conduit: u32, bytes: u64) {
        let peer = self.peer(domain);
        peer.due = true;
        peer.path.credit(conduit, bytes);
    }

    /// Announces that nothing more will be sent to the domain. When both ends have done so, `Event::Ended`
    /// follows.
    ///
    /// # Panics
    /// Neither `dial` nor `expect` was called for the domain.
    pub fn end(&mut self, domain: u32) {
        let peer = self.peer(domain);
        peer.due = true;
        peer.path.end();
    }

    fn peer(&mut self, domain: u32) -> &mut Peer {
        let me = self.house.me;
        let peer = self.peers.get_mut(&domain);
        peer.unwrap_or_else(|| panic!("domain {me} has no path to domain {domain}"))
    }

    /// Returns a descriptor that is readable when a socket gives `turn` something to do.
    pub fn poll_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }

    /// Returns the time at which `turn` is due even if no socket is ready (`now()`'s clock). A time in the
    /// past means at once.
    pub fn deadline(&self) -> Option<Nanos> {
        if self.again || self.peers.values().any(|peer| peer.due && !peer.streams.is_empty()) {
            return Some(0);
        }
        let guests = self.guests.values().map(|guest| guest.deadline);
        let peers = self.peers.values().filter_map(Peer::deadline);
        let waiting = self.waiting.as_ref().and_then(RelayWait::deadline);
        guests.chain(peers).chain(self.crowded).chain(waiting).min().filter(|&at| at != NO_DEADLINE_NS)
    }

    /// Does all work that needs no waiting, up to a limit: after some MiB the function returns, and is due
    /// again at once. It must also be called after `send`, `credit`, `dial` and `end`. `now` is a value of
    /// `now()`.
    pub fn turn(&mut self, cargo: &mut dyn MessageStore, now: Nanos) {
        self.again = false;
        self.write(cargo, now);
        self.look();
        let ready = std::mem::take(&mut self.ready);
        for token in ready {
            match self.owners.get(&token) {
                Some(Owner::Listener) => self.take_in(token, now),
                Some(Owner::Guest) => self.greet(token, now),
                Some(&Owner::Stream(domain, stream)) => self.read(domain, stream, cargo, now),
                None => {}
            }
        }
        // This follows the reading of all that has arrived: if this process itself was stopped for a while,
        // no other end is then taken for silent.
        self.pass_time(cargo, now);
        self.write(cargo, now);
        self.again |= !self.ready.is_empty();
    }

    /// Removes and returns the oldest event.
    pub fn event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Returns the reason why there is no connection to the domain, as far as the reason is known.
    pub fn trouble(&self, domain: u32) -> Option<&Fault> {
        self.peers.get(&domain).map(|peer| &peer.trouble)
    }

    /// Returns true if no message is under way to or from the domain, and everything is acknowledged.
    pub fn idle(&self, domain: u32) -> bool {
        self.peers.get(&domain).is_none_or(|peer| peer.path.is_quiet())
    }

    /// Does the work whose time has come.
    fn pass_time(&mut self, cargo: &mut dyn MessageStore, now: Nanos) {
        self.dismiss_late_guests(now);
        self.listen_again(now);
        self.wait_at_relay(now);
        let due: Vec<u32> = self
            .peers
            .iter()
            .filter(|(_, peer)| peer.deadline().is_some_and(|deadline| deadline <= now))
            .map(|(&domain, _)| domain)
            .collect();
        for domain in due {
            self.glance(domain, now);
            self.peer(domain).path.tick(now);
            self.act(domain, cargo, now);
            self.dial_what_is_due(domain, now);
            self.offer_what_is_due(domain, now);
        }
    }

    /// Asks the kernel which sockets have become ready.
    fn look(&mut self) {
        // A local variable, because an event of the kernel may hold a pointer, and a pointer in the struct
        // would bind the struct to one thread.
        let mut happened = [const { MaybeUninit::<epoll::Event>::uninit() }; READY];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        // Only a signal can interrupt the call, and the next turn then asks again.
        let Ok((happened, _)) = epoll::wait(&self.epoll, &mut happened[..], Some(&at_once)) else { return };
        for &mut epoll::Event { flags, data } in happened {
            let token = data.u64();
            let closed = flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR);
            let (readable, writable) =
                (flags.contains(EventFlags::IN), flags.intersects(EventFlags::OUT | EventFlags::ERR));
            if let Some(connection) = self.connection(token) {
                connection.ready(readable, writable, closed);
            }
            if let Some(&Owner::Stream(domain, _)) = self.owners.get(&token) {
                self.peer(domain).due |= writable;
                if !readable && !closed {
                    continue;
                }
            }
            if !self.ready.contains(&token) {
                self.ready.push(token);
            }
        }
    }

    fn connection(&mut self, token: u64) -> Option<&mut Connection> {
        match *self.owners.get(&token)? {
            Owner::Listener => None,
            Owner::Guest => self.guests.get_mut(&token).map(|guest| &mut guest.connection),
            Owner::Stream(domain, stream) => {
                let stream = self.peers.get_mut(&domain)?.streams.get_mut(&stream)?;
                Some(&mut stream.connection)
            }
        }
    }

    fn token(&mut self, owner: Owner) -> u64 {
        self.last_token += 1;
        self.owners.insert(self.last_token, owner);
        self.last_token
    }

    /// Returns true if the kernel watches the socket from now on. If the kernel has no memory for that, it
    /// reports nothing about the connection, whose time then runs out.
    fn watch(&self, socket: &OwnedFd, token: u64, flags: EventFlags) -> bool {
        let added = epoll::add(&self.epoll, socket, EventData::new_u64(token), flags);
        matches!(added, Ok(()) | Err(Errno::EXIST))
    }

    /// Ends a path because of a failure.
    fn give_up(&mut self, domain: u32, why: Fault) {
        self.part_from(domain, Event::GivenUp { domain, why });
    }

    /// Closes all connections of a path, and reports the reason once.
    fn part_from(&mut self, domain: u32, why: Event) {
        let Some(peer) = self.peers.get_mut(&domain) else { return };
        if matches!(peer.standing, PathState::GivenUp | PathState::Ended) {
            return;
        }
        peer.standing = PathState::GivenUp;
        self.close(domain);
        self.events.push_back(why);
    }

    /// Closes all connections of a path.
    fn close(&mut self, domain: u32) {
        let Some(peer) = self.peers.get_mut(&domain) else { return };
        for (_, stream) in std::mem::take(&mut peer.streams) {
            self.owners.remove(&stream.token);
        }
        let dialling = |guest: &Handshake| match guest.errand {
            Errand::Dials(line) => line.domain == domain,
            Errand::Offers { domain: other, .. } | Errand::Offered(other) => other == domain,
            Errand::Came | Errand::Waits => false,
        };
        let tokens: Vec<u64> =
            self.guests.iter().filter(|(_, guest)| dialling(guest)).map(|(&token, _)| token).collect();
        for token in tokens {
            self.guests.remove(&token);
            self.owners.remove(&token);
        }
    }
}
