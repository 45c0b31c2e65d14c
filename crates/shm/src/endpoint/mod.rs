//! An endpoint: one rank of one instance as the transport sees it. It owns its line on the board, its area and
//! its outbox, writes to the rings that it has opened and reads those that were opened to it. All that needs
//! the agent goes through `Custodian`; nothing here knows what an instance is.

mod arrived;
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
pub use notes::{Idle, Needs, Overdrawn};
pub use remote::{ParkingPlace, RemoteBody};
pub use send::Loan;
pub use source::{AsBefore, Contiguous, EmptySource, Source};
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

/// Bytes of address space for the rings that an endpoint writes; they cost memory only as they grow.
pub const OUTBOX_BYTES: usize = 256 << 20;

/// Copies up to this size are not timed: two looks at the clock would take a tenth as long as they do.
const MAX_UNTIMED_COPY_BYTES: u64 = 64 << 10;

/// The surroundings of an endpoint: its agent, and the system to wait with.
pub trait Custodian {
    /// Memory for messages.
    ///
    /// # Errors
    /// `OutOfMemory` when the run's limit does not allow it.
    fn new_slab(&mut self, bytes: u64) -> Result<(u32, OwnedFd), ShmError>;
    /// Gives a slab back.
    fn drop_slab(&mut self, slab: u32) -> Result<(), ShmError>;
    /// Announces the ring to endpoint `to`; the reader's area comes back.
    fn open_ring(&mut self, to: EndpointId, offset: u64, slots: u32) -> Result<OpenedRing, ShmError>;
    /// Another endpoint's slab and its size.
    fn fetch_slab(&mut self, of: EndpointId, slab: u32) -> Result<(OwnedFd, u64), ShmError>;
    /// The notices of the agent that are there, without waiting.
    fn notices(&mut self) -> Result<Vec<AgentNotice>, ShmError>;
    /// Tells the agent something of a change.
    fn steers(&mut self, change: u64, answer: Steers) -> Result<(), ShmError>;
    /// Returns true if the agent has gone away.
    fn is_gone(&self) -> bool;

    /// The time by which waits are measured, ns of CLOCK_MONOTONIC. This and what follows is the system's; only
    /// a simulation has its own.
    #[inline]
    fn now(&self) -> u64 {
        now()
    }
    /// Lets somebody else run while this endpoint waits.
    #[inline]
    fn give_way(&mut self) {
        rustix::thread::sched_yield();
    }
    /// The core that this runs on.
    fn core(&self) -> u32 {
        rustix::thread::sched_getcpu() as u32
    }
    /// Sleeps until the endpoint's doorbell is no longer `seen`, or until `at_most` has passed.
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
    /// Whoever waits is to look once more for what it waits for, and to note this round on its status page.
    Look(u64),
    /// Something is to happen at a model time, to these of the instances that the endpoint serves.
    Steer(Steer, Vec<u32>),
    /// An endpoint that this one sends to has ended, and what is sent there goes nowhere.
    PeerEnded(EndpointId),
    /// An endpoint that this one receives from is gone, and has not ended its channels.
    PeerLost(EndpointId),
    /// Show what is sent on a port.
    Tap {
        tap: Box<Tap>,
        memory: OwnedFd,
    },
    /// Show it no more.
    Untap(u32),
    RunEnds(String),
}

/// The shared memory that an endpoint is born with.
pub struct Foundation {
    pub endpoint: EndpointId,
    pub board: OwnedFd,
    pub area: OwnedFd,
    pub outbox: OwnedFd,
    pub layout: Layout,
    pub pinned_limit: u64,
}

/// A channel that this endpoint sends on.
struct OutChannel {
    id: u32,
    /// Index in `out`.
    peer: usize,
    credit: u32,
    budget: u64,
    /// The most bytes that a message may have.
    limit: u64,
    /// The maximum that may be under way without a second look: the budget, or less where messages are limited
    /// to less.
    at_once: u64,
    /// Bytes sent, and how many of them were credited when last looked.
    sent: u64,
    credited: u64,
    sequence: u64,
    /// Which head stood in this channel's slot last, as `Source::number` says; 0 for none that can be referred
    /// to.
    last_head: u64,
}

/// A channel that this endpoint receives on.
struct InChannel {
    id: u32,
    /// The component at its begin, for people.
    from: String,
    /// Index in `inn`.
    peer: usize,
    queue: VecDeque<Box<ArrivedMessage>>,
    sequence: u64,
    /// Its end has arrived.
    ended: bool,
    credited: u64,
    assembling: Option<receive::Assembly>,
    known: arrived::KnownPreamble,
}

/// An endpoint.
pub struct Endpoint<C> {
    index: EndpointId,
    board: Arc<Board>,
    front: Front,
    /// The traffic of outgoing channels; none if nobody counts that.
    ends: Option<Ends>,
    area: OwnedFd,
    layout: Layout,
    outbox: Outbox,
    out: Vec<OutPeer>,
    inn: Vec<InPeer>,
    sends: Vec<OutChannel>,
    receives: Vec<InChannel>,
    /// Channel number → index in `receives`.
    numbers: HashMap<u32, u32>,
    /// The number looked up last, and its index.
    last_number: (u32, u32),
    pool: BlockPool,
    /// Boxes for messages to come: boxed because moving a message costs more than the rest of its way.
    #[allow(clippy::vec_box)]
    spare: Vec<Box<ArrivedMessage>>,
    /// The body of the slot that is being sent.
    body: Box<source::SlotBody>,
    /// Boxed: it is looked at only after a wait or a large copy, and shall not stand between what every message
    /// needs.
    timeline: Box<Recorder>,
    custodian: C,
    /// Why the agent last gave no memory.
    denied: String,
    control_seen: u32,
    taps: taps::Taps,
    /// The round of looking again that the agent has asked for.
    look_again: Option<u64>,
    /// Something was taken in since the wait began, or since the endpoint last looked again: memory may have
    /// gone back to a sender with it.
    stirred: bool,
    /// Somebody was woken since the last wait.
    rang: bool,
    /// In the last long wait, whoever it was for was on this core too.
    crowded: bool,
    turns: turns::Turns,
    /// Bytes that views hold, as last looked up, and those lent since.
    pinned_guess: u64,
    pinned_looks: u32,
    pinned_limit: u64,
    /// The receive that copies while its message is still being sent.
    following: Option<follow::FollowingReceive>,
    /// Looks for a message that found none and did not wait.
    fruitless: u32,
    /// Every message takes the general way (`set_generally`).
    generally: bool,
    interrupt: Option<Box<dyn Fn() -> bool + Send>>,
    steering: Box<SteeringState>,
    run_ends: Option<String>,
    /// Why nothing more is taken in: a message that there was no memory for lies in pieces.
    refused: Option<ShmError>,
    /// The notes of an endpoint that serves many instances.
    served: Option<Box<notes::ServedNotes>>,
}

impl<C: Custodian> Endpoint<C> {
    /// Puts an endpoint together from what its agent gave. `sends` and `receives` name channels and peers;
    /// their order gives the indices by which `send` and `receive` know them.
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
                    assembling: None,
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

    /// The end of a channel that is not incoming, as `Ends` counts them.
    #[inline]
    pub fn channel_end(&self, index: usize) -> Option<&ChannelEnd> {
        self.ends.as_ref()?.end(u32::try_from(index).ok()?)
    }

    /// While it is awake, so many cores are busy: who waits for it does not spin on them.
    pub fn keeps_busy(&mut self, cores: u32) {
        self.board.fall_asleep(self.bell());
        self.bell().keeps_busy(cores);
        self.board.wake_up(self.bell());
    }

    #[inline]
    fn bell(&self) -> &Doorbell {
        self.board.doorbell(self.index).expect("checked when the endpoint was made")
    }

    /// The endpoint's status page.
    #[inline]
    pub fn status(&self) -> &StatusPage {
        self.front.status()
    }

    /// When a copy of so many bytes begins, if it is worth its place in the timeline: else 0. For `copy_ends`.
    #[inline]
    pub fn copy_begins(&self, bytes: u64) -> u64 {
        if bytes > MAX_UNTIMED_COPY_BYTES {
            self.custodian.now()
        } else {
            0
        }
    }

    /// A copy of a message that came on channel `index` is over.
    #[inline]
    pub fn copy_ends(&mut self, index: usize, began: u64) {
        if began != 0 {
            let id = self.receives[index].id;
            self.copied(Cause { activity: Activity::Receives, id }, began);
        }
    }

    /// A copy to send on `to` is over.
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

    /// The agent's ear.
    pub fn custodian(&mut self) -> &mut C {
        &mut self.custodian
    }

    /// Bytes of others' memory that live views hold.
    pub fn pinned(&mut self) -> u64 {
        self.inn.iter_mut().filter_map(|peer| peer.ring.as_mut()).map(|ring| ring.lent.bytes_out()).sum()
    }

    /// While waiting, `check` is asked after each park (at most a second); when it says yes, the wait ends with
    /// `Interrupted`. Python looks for signals this way.
    pub fn set_interrupt_check(&mut self, check: Box<dyn Fn() -> bool + Send>) {
        self.interrupt = Some(check);
    }

    /// Of each channel, by its number in the run, how many messages were sent on it; the end counts as one.
    pub fn sent_on(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.sends.iter().map(|channel| (channel.id, channel.sequence))
    }

    /// Of each channel, by its number in the run, how many messages were received from it, without those that
    /// have arrived and were not asked for; the end counts as one.
    pub fn received_from(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.receives.iter().map(|channel| (channel.id, channel.sequence - channel.queue.len() as u64))
    }

    /// Says on the status page that all is over.
    pub fn end(&mut self, failed: bool) {
        self.tidy();
        let pinned = self.pinned();
        self.status().set_pinned(pinned);
        self.status().end(if failed { EndpointActivity::Failed } else { EndpointActivity::Ended }, now());
        self.board.fall_asleep(self.bell());
    }

    /// Hears what the agent has said, if it has called.
    pub(crate) fn hear_agent(&mut self) -> Result<(), ShmError> {
        let calls = self.bell().control();
        if calls == self.control_seen {
            return self.goes_on();
        }
        loop {
            match self.custodian.notices() {
                Ok(notices) if notices.is_empty() => break,
                Ok(notices) => notices.into_iter().try_for_each(|notice| self.heed(notice))?,
                // The reason came before the end of the line.
                Err(_) if self.run_ends.is_some() => break,
                Err(error) => return Err(error),
            }
        }
        // Not before: what could not be heard must be an error the next time, too.
        self.control_seen = calls;
        self.taps.has_heard(calls);
        self.goes_on()
    }

    /// Returns true if nothing that was heard or met before stands in the way of going on.
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
