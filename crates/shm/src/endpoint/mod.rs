//! An endpoint: one rank of one instance as the transport sees it. It owns its line on the board, its area
//! and its outbox. It writes the rings that it has opened to its peers, and reads the rings that peers have
//! opened to it. All requests to the agent go through `Custodian`. This module does not know instances.

mod arrived;
mod cut;
mod follow;
mod notes;
mod ordinary;
mod peers;
mod receive;
mod remote;
mod room;
mod send;
mod source;
mod steer;
mod stream;
mod taps;
pub mod turns;
mod views;
mod wait;

pub use arrived::ArrivedMessage;
pub use cut::{ChannelRemainder, CutContents, EndedCut, MessageUnderWay};
pub use notes::{Idle, Needs, Overdrawn};
pub use remote::{ParkingPlace, RemoteBody};
pub use send::Loan;
pub use source::{AsBefore, Contiguous, ElementBytes, EmptySource, Filled, Source};
pub use taps::PortTap;

use crate::area::{ChannelEnd, Ends, Front, Layout};
use crate::barrier;
use crate::board::{Board, Doorbell};
use crate::memory::{seal_against_writers, Mapping, ShmError};
use crate::slab::BlockPool;
use crate::status::{now, EndpointActivity, StatusPage};
use crate::steering::SteeringState;
use crate::timeline::{Activity, Cause, Recorder};
use ligament_wire::control::{ChannelInfo, Tap};
use ligament_wire::steering::{Steer, Steers};
use ligament_wire::EndpointId;
use peers::{InPeer, OutPeer, Outbox};
use rustix::fd::OwnedFd;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// Size of the address space for the rings that an endpoint writes, bytes. The rings take memory only as
/// they grow.
pub const OUTBOX_BYTES: usize = 256 << 20;

/// Maximum size of a copy that is not timed, bytes. Reading the clock twice would take a tenth of the time
/// of such a copy.
const MAX_UNTIMED_COPY_BYTES: u64 = 64 << 10;
/// Number of times that a receiver wakes a waiting sender while it reads a whole budget.
const WAKES_PER_BUDGET: u64 = 4;

/// The environment of an endpoint: its agent, and the functions of the system that it waits with.
pub trait Custodian {
    /// Requests a slab of at least `bytes` bytes from the agent. Returns its number and its memory.
    ///
    /// # Errors
    /// `OutOfMemory` when the run's limit does not allow it.
    fn new_slab(&mut self, bytes: u64) -> Result<(u32, OwnedFd), ShmError>;
    /// Returns a slab to the agent.
    fn drop_slab(&mut self, slab: u32) -> Result<(), ShmError>;
    /// Announces a ring to endpoint `to`. Returns the reader's area, its layout, and the inbox for this
    /// ring.
    fn open_ring(&mut self, to: EndpointId, offset: u64, slots: u32) -> Result<OpenedRing, ShmError>;
    /// Requests the slab of another endpoint. Returns its memory and its size in bytes.
    fn fetch_slab(&mut self, of: EndpointId, slab: u32) -> Result<(OwnedFd, u64), ShmError>;
    /// Returns the notices of the agent that have arrived, without waiting.
    fn notices(&mut self) -> Result<Vec<AgentNotice>, ShmError>;
    /// Sends the agent this endpoint's answer to a change.
    fn steers(&mut self, change: u64, answer: Steers) -> Result<(), ShmError>;
    /// Returns true if the agent has closed the connection.
    fn is_gone(&self) -> bool;

    /// Returns the time by which waits are measured, ns of CLOCK_MONOTONIC. This function and the following
    /// ones use the system by default; only a simulation replaces them.
    #[inline]
    fn now(&self) -> u64 {
        now()
    }
    /// Yields the core to another process while this endpoint waits.
    #[inline]
    fn give_way(&mut self) {
        rustix::thread::sched_yield();
    }
    /// Returns the number of the core on which this thread runs.
    fn core(&self) -> u32 {
        rustix::thread::sched_getcpu() as u32
    }
    /// Sleeps until the endpoint's doorbell has another value than `seen`, or until `at_most` has passed.
    fn sleep(&mut self, bell: &Doorbell, seen: u32, at_most: Duration) {
        bell.sleep(seen, at_most);
    }
}

/// The reader's side of a ring that was opened.
pub struct OpenedRing {
    pub area: OwnedFd,
    pub layout: Layout,
    pub inbox: u32,
}

/// A notice of the agent.
pub enum AgentNotice {
    RingOpened {
        from: EndpointId,
        outbox: OwnedFd,
        offset: u64,
        slots: u32,
        inbox: u32,
    },
    SlabDropped {
        of: EndpointId,
        slab: u32,
    },
    Budget {
        channel: u32,
        bytes: u64,
    },
    /// A waiting endpoint is to look once more for its event, and to write this round to its status page.
    Look(u64),
    /// A change: a request of the head, and the instances of this endpoint that it concerns.
    Steer(Steer, Vec<u32>),
    /// A receiver of this endpoint has ended. Messages to it are dropped from now on.
    PeerEnded(EndpointId),
    /// A sender to this endpoint has died without ending its channels.
    PeerLost(EndpointId),
    /// The endpoint is to show the messages of a port in this memory.
    Tap {
        tap: Box<Tap>,
        memory: OwnedFd,
    },
    /// The endpoint is to remove this tap.
    Untap(u32),
    RunEnds(String),
}

/// The shared memory that an endpoint gets at its start.
pub struct Foundation {
    pub endpoint: EndpointId,
    pub board: OwnedFd,
    pub area: OwnedFd,
    pub outbox: OwnedFd,
    pub layout: Layout,
    pub pinned_limit: u64,
}

/// A channel on which this endpoint sends.
struct OutChannel {
    id: u32,
    /// Index of the receiver in `Endpoint::out`.
    peer: usize,
    credit: u32,
    budget: u64,
    /// Maximum size of a message, bytes.
    limit: u64,
    /// Number of bytes that may be under way before the sender must look more closely: the budget, or less
    /// if the size of messages is limited to less.
    at_once: u64,
    /// Number of bytes sent. `credited` is the number of bytes that the receiver had credited at the last
    /// look.
    sent: u64,
    credited: u64,
    sequence: u64,
    /// Number of marks of checkpoints that were sent.
    marks: u64,
    /// True if the end of the channel was sent.
    ended: bool,
    /// Number of the preamble that was last written to an entry of this channel (see `Source::number`); 0 if
    /// later messages cannot refer to it.
    last_head: u64,
}

/// A channel on which this endpoint receives.
struct InChannel {
    id: u32,
    /// Name of the sending port, for error messages.
    from: String,
    /// Index of the sender in `Endpoint::inn`.
    peer: usize,
    queue: VecDeque<Box<ArrivedMessage>>,
    sequence: u64,
    /// True if the end of the channel has arrived.
    ended: bool,
    credited: u64,
    /// The value of `credited` at which the sender is woken next while messages are still in the queue.
    wake_at: u64,
    /// Number of bytes between two such wake-ups.
    wake_step: u64,
    assembling: Option<receive::Assembly>,
    /// The marks of checkpoints that came, if the run has checkpoints.
    marks: Option<Box<cut::ChannelMarks>>,
    known: arrived::KnownPreamble,
}

/// An endpoint.
pub struct Endpoint<C> {
    index: EndpointId,
    board: Arc<Board>,
    front: Front,
    /// The counts of outgoing channels; None if no process reads them.
    ends: Option<Ends>,
    area: OwnedFd,
    layout: Layout,
    outbox: Outbox,
    out: Vec<OutPeer>,
    inn: Vec<InPeer>,
    sends: Vec<OutChannel>,
    receives: Vec<InChannel>,
    /// Index in `receives` of each channel number.
    numbers: HashMap<u32, u32>,
    /// The channel number looked up last, and its index.
    last_number: (u32, u32),
    pool: BlockPool,
    /// Unused boxes for future messages. Messages are boxed because moving one costs more than all other
    /// steps of its reception.
    #[allow(clippy::vec_box)]
    spare: Vec<Box<ArrivedMessage>>,
    /// The body of the entry that is being sent.
    body: Box<source::SlotBody>,
    /// The timeline. It is boxed because it is used only after a wait or a large copy, and should not lie
    /// between the fields that every message needs.
    timeline: Box<Recorder>,
    custodian: C,
    /// The agent's reason for its last refusal of memory.
    denied: String,
    control_seen: u32,
    taps: taps::Taps,
    /// The round of the agent's last `Look` notice, if the endpoint has not answered it yet.
    look_again: Option<u64>,
    /// True if the endpoint has taken in a message since the begin of the wait, or since it last looked
    /// again. Memory may have been returned to a sender by it.
    stirred: bool,
    /// True if this endpoint has woken another one since its last wait.
    rang: bool,
    /// True if, in the last long wait, the endpoint that was waited for was awake on the same core.
    crowded: bool,
    turns: turns::Turns,
    /// Number of bytes that views hold: the last exact count plus the bytes lent since.
    pinned_guess: u64,
    pinned_looks: u32,
    pinned_limit: u64,
    /// The receive that copies its message while the sender is still copying it.
    following: Option<follow::FollowingReceive>,
    /// Number of looks for a message that found none and did not wait.
    fruitless: u32,
    /// True if every message takes the general way at present.
    generally: bool,
    /// True if every message always takes the general way (see `set_generally`).
    always_generally: bool,
    /// Cuts that are not whole yet.
    cuts: Vec<cut::Cut>,
    interrupt: Option<Box<dyn Fn() -> bool + Send>>,
    steering: Box<SteeringState>,
    run_ends: Option<String>,
    /// The reason why this endpoint takes in no more messages: it had no memory to put a message in chunks
    /// together.
    refused: Option<ShmError>,
    /// The notes of an endpoint that serves many instances.
    served: Option<Box<notes::ServedNotes>>,
}

impl<C: Custodian> Endpoint<C> {
    /// Makes an endpoint from the memory that its agent gave. `sends` and `receives` name the channels and
    /// their peers. The order of each list defines the indices that `send` and `receive` use.
    pub fn new(
        foundation: Foundation,
        sends: &[ChannelInfo],
        receives: &[ChannelInfo],
        custodian: C,
    ) -> Result<Endpoint<C>, ShmError> {
        let Foundation { endpoint: index, board, area, outbox, layout, pinned_limit } = foundation;
        let board = Arc::new(Board::open(&board)?);
        barrier::join(board.asymmetric())?;
        if board.doorbell(index).is_none() {
            return Err(ShmError::Malformed(format!("the board has no line for endpoint {index}")));
        }
        let front = Front::new(Mapping::writable(&area, 0, layout.front())?, layout)?;
        let ends = match layout.ends() {
            (_, 0) => None,
            (at, len) => Some(Ends::new(Mapping::writable(&area, at, len)?, layout)?),
        };
        let timeline = Box::new(Recorder::new(front.status()));
        let outbox_map = Mapping::writable(&outbox, 0, OUTBOX_BYTES)?;
        seal_against_writers(&outbox)?;
        let mut out: Vec<OutPeer> = Vec::new();
        let mut by_endpoint = HashMap::new();
        let sends = sends
            .iter()
            .map(|channel| {
                let peer = *by_endpoint.entry(channel.peer).or_insert_with(|| {
                    out.push(OutPeer::new(channel.peer));
                    out.len() - 1
                });
                let limit = channel.limit.unwrap_or(u64::MAX);
                OutChannel {
                    id: channel.id,
                    peer,
                    credit: channel.credit,
                    budget: channel.budget,
                    limit,
                    at_once: send::at_once(channel.budget, limit),
                    sent: 0,
                    credited: 0,
                    sequence: 0,
                    marks: 0,
                    ended: false,
                    last_head: 0,
                }
            })
            .collect();
        let mut inn: Vec<InPeer> = Vec::new();
        by_endpoint.clear();
        let mut numbers = HashMap::with_capacity(receives.len());
        let receives = receives
            .iter()
            .enumerate()
            .map(|(i, channel)| {
                let peer = *by_endpoint.entry(channel.peer).or_insert_with(|| {
                    inn.push(InPeer::new(channel.peer));
                    inn.len() - 1
                });
                numbers.insert(channel.id, i as u32);
                InChannel {
                    id: channel.id,
                    from: channel.peer_port.clone(),
                    peer,
                    queue: VecDeque::new(),
                    sequence: 0,
                    ended: false,
                    credited: 0,
                    wake_at: 0,
                    wake_step: channel.budget / WAKES_PER_BUDGET,
                    assembling: None,
                    marks: None,
                    known: arrived::KnownPreamble::default(),
                }
            })
            .collect();
        let endpoint = Endpoint {
            index,
            board,
            front,
            ends,
            area,
            layout,
            outbox: Outbox::new(outbox_map),
            out,
            inn,
            sends,
            receives,
            numbers,
            last_number: (u32::MAX, 0),
            pool: BlockPool::new(),
            spare: Vec::new(),
            body: Box::default(),
            timeline,
            custodian,
            denied: String::new(),
            control_seen: 0,
            taps: taps::Taps::default(),
            look_again: None,
            stirred: false,
            rang: false,
            crowded: false,
            turns: turns::Turns::default(),
            pinned_guess: 0,
            pinned_looks: 0,
            pinned_limit,
            following: None,
            fruitless: 0,
            generally: false,
            always_generally: false,
            cuts: Vec::new(),
            interrupt: None,
            steering: Box::default(),
            run_ends: None,
            refused: None,
            served: None,
        };
        endpoint.board.wake_up(endpoint.bell());
        endpoint.status().start(now());
        Ok(endpoint)
    }

    /// Returns the counts of the channel end `index` that is not incoming; `Ends` defines the indices.
    #[inline]
    pub fn channel_end(&self, index: usize) -> Option<&ChannelEnd> {
        self.ends.as_ref()?.end(u32::try_from(index).ok()?)
    }

    /// Sets the number of cores that are busy while this endpoint is awake. Endpoints that wait for this one
    /// do not spin on these cores.
    pub fn keeps_busy(&mut self, cores: u32) {
        self.board.fall_asleep(self.bell());
        self.bell().keeps_busy(cores);
        self.board.wake_up(self.bell());
    }

    #[inline]
    fn bell(&self) -> &Doorbell {
        self.board.doorbell(self.index).expect("checked when the endpoint was made")
    }

    /// Returns the endpoint's status page.
    #[inline]
    pub fn status(&self) -> &StatusPage {
        self.front.status()
    }

    /// Returns the begin of a copy of `bytes` bytes for `copy_ends`, or 0 if the copy is too short for the
    /// timeline.
    #[inline]
    pub fn copy_begins(&self, bytes: u64) -> u64 {
        if bytes > MAX_UNTIMED_COPY_BYTES {
            self.custodian.now()
        } else {
            0
        }
    }

    /// Notes the end of a copy of a message that arrived on channel `index`.
    #[inline]
    pub fn copy_ends(&mut self, index: usize, began: u64) {
        if began != 0 {
            let id = self.receives[index].id;
            self.copied(Cause { activity: Activity::Receives, id }, began);
        }
    }

    /// Notes the end of a copy of a message to the channels `to`.
    #[inline]
    fn send_copy_ends(&mut self, to: &[usize], began: u64) {
        if let (true, Some(&first)) = (began != 0, to.first()) {
            let id = self.sends[first].id;
            self.copied(Cause { activity: Activity::Sends, id }, began);
        }
    }

    #[cold]
    fn copied(&mut self, cause: Cause, began: u64) {
        let now = self.custodian.now();
        self.status().add_transferred(now.saturating_sub(began), cause.activity == Activity::Receives);
        self.timeline.note(&self.front, cause, began, now);
    }

    /// Returns the custodian, which connects the endpoint to its agent.
    pub fn custodian(&mut self) -> &mut C {
        &mut self.custodian
    }

    /// Returns the number of bytes of other endpoints' memory that live views hold.
    pub fn pinned(&mut self) -> u64 {
        self.inn.iter_mut().filter_map(|peer| peer.ring.as_mut()).map(|ring| ring.lent.bytes_out()).sum()
    }

    /// Sets a function that is called during a wait after each park (at most a second). If it returns true,
    /// the wait ends with `Interrupted`. The Python binding checks for signals this way.
    pub fn set_interrupt_check(&mut self, check: Box<dyn Fn() -> bool + Send>) {
        self.interrupt = Some(check);
    }

    /// Returns the number of messages sent on each channel, with the channel's number in the run. The end of
    /// a channel counts as a message, and a mark of a checkpoint does not.
    pub fn sent_on(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.sends.iter().map(|channel| (channel.id, channel.sequence - channel.marks))
    }

    /// Returns the number of messages of each channel's sender that the code has received, with the channel's
    /// number in the run. Messages that wait in a queue do not count. The end of a channel counts as a message,
    /// and so does one that is dropped because the code had received it before a checkpoint, also if it is
    /// still to come.
    pub fn received_from(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.receives.iter().map(|channel| (channel.id, channel.received_of_sender()))
    }

    /// Marks the endpoint as ended on its status page, and counts it as asleep.
    pub fn end(&mut self, failed: bool) {
        self.tidy();
        let pinned = self.pinned();
        self.status().set_pinned(pinned);
        self.status().end(if failed { EndpointActivity::Failed } else { EndpointActivity::Ended }, now());
        self.board.fall_asleep(self.bell());
    }

    /// Handles the notices of the agent, if it has called since the last look.
    pub(crate) fn hear_agent(&mut self) -> Result<(), ShmError> {
        let calls = self.bell().control();
        if calls == self.control_seen {
            return self.goes_on();
        }
        loop {
            match self.custodian.notices() {
                Ok(notices) if notices.is_empty() => break,
                Ok(notices) => notices.into_iter().try_for_each(|notice| self.heed(notice))?,
                // The connection has ended, but the agent had sent the reason before.
                Err(_) if self.run_ends.is_some() => break,
                Err(error) => return Err(error),
            }
        }
        // This must come last: if a notice fails, the next call must handle the notices again and fail too.
        self.control_seen = calls;
        self.taps.has_heard(calls);
        self.goes_on()
    }

    /// Returns an error if the run has ended, or if an earlier error forbids further receiving.
    fn goes_on(&self) -> Result<(), ShmError> {
        match (&self.run_ends, &self.refused) {
            (Some(why), _) => Err(ShmError::RunEnds(why.clone())),
            (None, Some(refused)) => Err(refused.clone()),
            (None, None) => Ok(()),
        }
    }

    fn heed(&mut self, notice: AgentNotice) -> Result<(), ShmError> {
        match notice {
            AgentNotice::RingOpened { from, outbox, offset, slots, inbox } => {
                let (at, len) = self.layout.inbox(inbox);
                if inbox >= self.layout.inboxes {
                    return Err(ShmError::Malformed(format!(
                        "a ring for inbox {inbox} of {}",
                        self.layout.inboxes
                    )));
                }
                let map = Mapping::writable(&self.area, at, len)?;
                let board = self.board.clone();
                match self.inn.iter_mut().find(|peer| peer.endpoint == from) {
                    Some(peer) => peer.open(outbox, offset, slots, map, board)?,
                    None => {
                        return Err(ShmError::Malformed(format!(
                            "endpoint {from} opened a ring without a conduit"
                        )))
                    }
                }
            }
            AgentNotice::SlabDropped { of, slab } => {
                if let Some(peer) = self.inn.iter_mut().find(|peer| peer.endpoint == of) {
                    if let Some(ring) = &mut peer.ring {
                        ring.lent.forget_slab(slab);
                    }
                }
            }
            AgentNotice::Budget { channel, bytes } => {
                match (self.sends.iter_mut().find(|c| c.id == channel), &mut self.served) {
                    (Some(channel), _) => {
                        channel.budget = bytes;
                        channel.at_once = send::at_once(bytes, channel.limit);
                    }
                    (None, Some(served)) => served.budgets.push((channel, bytes)),
                    (None, None) => {}
                }
            }
            AgentNotice::PeerEnded(endpoint) => {
                if let Some(peer) = self.out.iter_mut().find(|peer| peer.endpoint == endpoint) {
                    peer.ended = true;
                }
            }
            AgentNotice::PeerLost(endpoint) => self.end_channels_of(endpoint)?,
            AgentNotice::Look(round) => self.look_again = Some(round),
            AgentNotice::Tap { tap, memory } => self.taps.add(*tap, &memory),
            AgentNotice::Untap(tap) => self.taps.remove(tap),
            AgentNotice::Steer(steer, members) => {
                let told = self.steering.hear(steer, &members);
                self.tell(told)?;
            }
            AgentNotice::RunEnds(why) => self.run_ends = Some(why),
        }
        Ok(())
    }
}
