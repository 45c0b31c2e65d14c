//! A domain without processes: the memory of an agent behind a lock, and endpoints for the threads of a test.
#![allow(dead_code)]

use ligament_catalogue::fault;
use ligament_shm::area::{ChannelCount, Ends, Front, Layout};
use ligament_shm::board::{Board, Doorbell};
use ligament_shm::endpoint::{AgentNotice, Foundation, OpenedRing, OUTBOX_BYTES};
use ligament_shm::memory::{create, Mapping};
use ligament_shm::ring::{Announcement, ENTRY_BYTES, ENTRY_WORDS, STAMPED_MASK};
use ligament_shm::status::Status;
use ligament_shm::{barrier, Custodian, Endpoint, ShmError};
use ligament_wire::control::ChannelInfo;
use ligament_wire::steering::Steers;
use ligament_wire::EndpointId;
use rustix::fd::OwnedFd;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

struct Memory {
    area: OwnedFd,
    outbox: OwnedFd,
    layout: Layout,
    /// Distinct senders to this endpoint, in the order of their inboxes.
    senders: Vec<u32>,
    slabs: HashMap<u32, (OwnedFd, u64)>,
    next_slab: u32,
    mail: Vec<AgentNotice>,
}

struct World {
    board_fd: OwnedFd,
    board: Board,
    endpoints: Vec<Memory>,
    limit: u64,
    granted: u64,
    /// Maximum size of a message on any conduit, bytes.
    message_limit: Option<u64>,
    /// Maximum number of bytes of other endpoints' memory that views of one endpoint may hold.
    pinned_limit: u64,
    sleep: Sleep,
    gone: bool,
}

/// The way in which a waiting endpoint sleeps.
#[derive(Clone, Copy)]
pub enum Sleep {
    /// As in a run: the endpoint looks again after a second.
    Usual,
    /// Not at all: the interrupt check ends a wait soon.
    Never,
    /// Until another thread wakes the endpoint. A test then hangs if a wake-up is lost.
    UntilWoken,
}

/// A channel between two endpoints, with its budget in bytes.
#[derive(Clone, Copy)]
pub struct Conduit {
    pub from: u32,
    pub to: u32,
    pub budget: u64,
}

#[derive(Clone)]
pub struct Domain {
    world: Arc<Mutex<World>>,
    conduits: Arc<Vec<Conduit>>,
}

/// Number of cores that a machine may have on which these tests run.
const MAX_CORES: u32 = 4096;

/// Size of a wrong sender's slab, bytes.
pub const SLAB_BYTES: u64 = 1 << 16;

/// A sender that follows no rule.
pub struct WrongSender {
    outbox: Mapping,
    slab: Mapping,
}

impl WrongSender {
    /// Writes an entry to place `index` of the ring at `offset`, with the stamp of the first lap.
    pub fn publish(&self, offset: u64, index: usize, header: [u64; 8], body: &[u64]) {
        let words: &[AtomicU64] = self.outbox.slice_at(offset as usize + index * ENTRY_BYTES, ENTRY_BYTES / 8);
        for (word, value) in words[8..].iter().zip(body) {
            word.store(*value, Ordering::Relaxed);
        }
        for (word, value) in words[..7].iter().zip(header) {
            word.store(value, Ordering::Relaxed);
        }
        words[7].store((header[7] & STAMPED_MASK) | 0x80 << 56, Ordering::Release);
    }

    /// Announces a message in entry `index` of the ring at `offset`, of which `bytes` bytes are copied.
    pub fn announce(&self, offset: u64, index: usize, bytes: u64, what: Announcement) {
        let words = [bytes, what.channel, what.sequence, what.place, what.tag()];
        let slot: &[AtomicU64] = self.outbox.slice_at(offset as usize + index * ENTRY_BYTES, ENTRY_BYTES / 8);
        for (word, value) in slot[ENTRY_WORDS - 8..].iter().zip(words) {
            word.store(value, Ordering::Relaxed);
        }
    }

    /// Writes `bytes` to the start of the sender's slab.
    pub fn fill(&self, bytes: &[u8]) {
        let words: &[AtomicU64] = self.slab.slice_at(0, SLAB_BYTES as usize / 8);
        for (word, eight) in words.iter().zip(bytes.chunks_exact(8)) {
            word.store(u64::from_le_bytes(eight.try_into().unwrap()), Ordering::Relaxed);
        }
    }
}

/// The connection of an endpoint to the domain, in place of a connection to an agent.
pub struct Line {
    world: Arc<Mutex<World>>,
    me: u32,
}

fn dup(fd: &OwnedFd) -> OwnedFd {
    fd.try_clone().unwrap()
}

impl Domain {
    /// Makes a domain of `endpoints` endpoints, whose slabs may take `limit` bytes together.
    pub fn new(endpoints: u32, conduits: &[Conduit], limit: u64) -> Domain {
        let asymmetric = barrier::register();
        let board_fd = create("board", Board::size(endpoints as usize)).unwrap();
        let board = Board::create(&board_fd, endpoints as usize, 2, asymmetric).unwrap();
        let endpoints = (0..endpoints)
            .map(|me| {
                let mut senders: Vec<u32> = conduits.iter().filter(|c| c.to == me).map(|c| c.from).collect();
                senders.sort();
                senders.dedup();
                let channels = conduits.iter().filter(|c| c.to == me).count() as u32;
                let ends = conduits.iter().filter(|c| c.from == me).count() as u32;
                let layout = Layout { channels, inboxes: senders.len() as u32, rows: 0, ends };
                Memory {
                    area: create("area", layout.size()).unwrap(),
                    outbox: create("outbox", OUTBOX_BYTES).unwrap(),
                    layout,
                    senders,
                    slabs: HashMap::new(),
                    next_slab: 0,
                    mail: Vec::new(),
                }
            })
            .collect();
        let world = World {
            board_fd,
            board,
            endpoints,
            limit,
            granted: 0,
            message_limit: None,
            pinned_limit: 1 << 30,
            sleep: Sleep::Usual,
            gone: false,
        };
        Domain { world: Arc::new(Mutex::new(world)), conduits: Arc::new(conduits.to_vec()) }
    }

    /// Makes endpoint `me`.
    pub fn endpoint(&self, me: u32) -> Endpoint<Line> {
        self.try_endpoint(me).unwrap()
    }

    /// Makes endpoint `me`, or returns the error with which the system refuses it.
    pub fn try_endpoint(&self, me: u32) -> Result<Endpoint<Line>, ShmError> {
        let message_limit = self.world.lock().unwrap().message_limit;
        let info = |id: usize, c: &Conduit, peer: u32| ChannelInfo {
            member: 0,
            id: id as u32,
            port: 0,
            slot: None,
            peer: EndpointId::new(peer),
            credit: self.conduits[..id].iter().filter(|earlier| earlier.to == c.to).count() as u32,
            budget: c.budget,
            peer_port: format!("instance{peer}.{}", if peer == c.to { "in" } else { "out" }),
            limit: message_limit,
            steps: None,
            may_fail: None,
            marks: None,
            wants_of: None,
            filters: None,
        };
        let all = || self.conduits.iter().enumerate();
        let sends: Vec<_> = all().filter(|(_, c)| c.from == me).map(|(i, c)| info(i, c, c.to)).collect();
        let receives: Vec<_> = all().filter(|(_, c)| c.to == me).map(|(i, c)| info(i, c, c.from)).collect();
        let world = self.world.lock().unwrap();
        let memory = &world.endpoints[me as usize];
        let foundation = Foundation {
            endpoint: EndpointId::new(me),
            board: dup(&world.board_fd),
            area: dup(&memory.area),
            outbox: dup(&memory.outbox),
            layout: memory.layout,
            pinned_limit: world.pinned_limit,
        };
        if !memory.mail.is_empty() {
            world.board.doorbell(EndpointId::new(me)).unwrap().call();
        }
        drop(world);
        Endpoint::new(foundation, &sends, &receives, Line { world: self.world.clone(), me })
    }

    /// Makes a sender that follows no rule, with a ring of `slots` entries at `offset` from endpoint 0 to
    /// endpoint 1.
    pub fn wrong_sender(&self, offset: u64, slots: u32) -> WrongSender {
        let mut line = Line { world: self.world.clone(), me: 0 };
        line.open_ring(EndpointId::new(1), offset, slots).unwrap();
        let (_, slab) = line.new_slab(SLAB_BYTES).unwrap();
        let world = self.world.lock().unwrap();
        let outbox = Mapping::writable(&world.endpoints[0].outbox, 0, OUTBOX_BYTES).unwrap();
        WrongSender { outbox, slab: Mapping::writable(&slab, 0, SLAB_BYTES as usize).unwrap() }
    }

    /// Sets the number of bytes that all slabs may take together.
    pub fn set_limit(&self, bytes: u64) {
        self.world.lock().unwrap().limit = bytes;
    }

    /// Sets the maximum size of a message for endpoints that are made later, bytes.
    pub fn limit_messages(&self, bytes: u64) {
        self.world.lock().unwrap().message_limit = Some(bytes);
    }

    /// Sets the number of bytes of other endpoints' memory that views may hold, for endpoints that are made
    /// later.
    pub fn limit_views(&self, bytes: u64) {
        self.world.lock().unwrap().pinned_limit = bytes;
    }

    /// Sets the way in which endpoints sleep from now on.
    pub fn let_sleep(&self, sleep: Sleep) {
        self.world.lock().unwrap().sleep = sleep;
    }

    /// Returns the first `slots` entries that an endpoint has written, as words.
    pub fn written(&self, of: u32, slots: usize) -> Vec<[u64; ENTRY_WORDS]> {
        let world = self.world.lock().unwrap();
        let map = Mapping::readable(&world.endpoints[of as usize].outbox, 0, slots * ENTRY_BYTES).unwrap();
        let words: &[AtomicU64] = map.slice_at(0, slots * ENTRY_WORDS);
        let slot = |i: usize| std::array::from_fn(|k| words[i * ENTRY_WORDS + k].load(Ordering::Acquire));
        (0..slots).map(slot).collect()
    }

    /// Returns the credit that an endpoint has returned on each of its incoming channels, bytes.
    pub fn credits(&self, of: u32) -> Vec<u64> {
        let world = self.world.lock().unwrap();
        let memory = &world.endpoints[of as usize];
        let map = Mapping::readable(&memory.area, 0, memory.layout.front()).unwrap();
        let front = Front::new(map, memory.layout).unwrap();
        (0..memory.layout.channels).map(|i| front.credit(i).unwrap().load(Ordering::Acquire)).collect()
    }

    /// Returns an endpoint's counts of its channels: of the outgoing channels, and of the incoming ones.
    pub fn passed(&self, of: u32) -> (Vec<ChannelCount>, Vec<ChannelCount>) {
        let world = self.world.lock().unwrap();
        let Memory { area, layout, .. } = &world.endpoints[of as usize];
        let front = Front::new(Mapping::readable(area, 0, layout.front()).unwrap(), *layout).unwrap();
        let received = (0..layout.channels).map(|i| front.end(i).unwrap().passed()).collect();
        let (at, len) = layout.ends();
        let ends = (len > 0).then(|| Ends::new(Mapping::readable(area, at, len).unwrap(), *layout).unwrap());
        let sent = (0..layout.ends).filter_map(|i| Some(ends.as_ref()?.end(i)?.passed())).collect();
        (sent, received)
    }

    /// Makes the agent vanish without a notice.
    pub fn agent_vanishes(&self) {
        self.world.lock().unwrap().gone = true;
    }

    /// Returns the number of bytes of slabs that are granted and not given back.
    pub fn granted(&self) -> u64 {
        self.world.lock().unwrap().granted
    }

    /// Returns the status of an endpoint, as its agent sees it.
    pub fn look(&self, of: u32) -> Status {
        let world = self.world.lock().unwrap();
        let memory = &world.endpoints[of as usize];
        let map = Mapping::readable(&memory.area, 0, memory.layout.front()).unwrap();
        Front::new(map, memory.layout).unwrap().look()
    }

    /// Returns true if an endpoint has begun to steer, as its agent sees it.
    pub fn steers(&self, of: u32) -> bool {
        self.world.lock().unwrap().board.doorbell(EndpointId::new(of)).unwrap().steers()
    }

    /// Reads the status of an endpoint until it is as `wanted`.
    pub fn look_until(&self, of: u32, wanted: impl Fn(&Status) -> bool) -> Status {
        let began = std::time::Instant::now();
        loop {
            let status = self.look(of);
            if wanted(&status) {
                return status;
            }
            assert!(began.elapsed().as_secs() < 60, "it never came: {status:?}");
            std::thread::yield_now();
        }
    }

    /// Waits until an endpoint counts as asleep.
    pub fn wait_until_asleep(&self, of: u32) {
        let began = std::time::Instant::now();
        let is_awake = || {
            let world = self.world.lock().unwrap();
            let bell = world.board.doorbell(EndpointId::new(of)).unwrap();
            (0..MAX_CORES).any(|core| bell.is_awake_on(core))
        };
        while is_awake() {
            assert!(began.elapsed().as_secs() < 60, "endpoint {of} stays awake");
            std::thread::yield_now();
        }
    }

    /// Sends a notice of the agent to an endpoint.
    pub fn tell(&self, to: u32, notice: AgentNotice) {
        let mut world = self.world.lock().unwrap();
        world.endpoints[to as usize].mail.push(notice);
        world.board.doorbell(EndpointId::new(to)).unwrap().call();
    }
}

impl Custodian for Line {
    fn steers(&mut self, _: u64, _: Steers) -> Result<(), ShmError> {
        Ok(())
    }

    fn new_slab(&mut self, bytes: u64) -> Result<(u32, OwnedFd), ShmError> {
        let mut world = self.world.lock().unwrap();
        if world.granted + bytes > world.limit {
            return Err(ShmError::OutOfMemory { bytes, reason: fault!(MEMORY_SPENT, "the test's limit") });
        }
        world.granted += bytes;
        let memory = &mut world.endpoints[self.me as usize];
        let id = memory.next_slab;
        memory.next_slab += 1;
        let fd = create("slab", bytes as usize).unwrap();
        memory.slabs.insert(id, (dup(&fd), bytes));
        Ok((id, fd))
    }

    fn drop_slab(&mut self, slab: u32) -> Result<(), ShmError> {
        let mut world = self.world.lock().unwrap();
        let (_, bytes) = world.endpoints[self.me as usize].slabs.remove(&slab).expect("a slab is dropped once");
        world.granted -= bytes;
        Ok(())
    }

    fn open_ring(&mut self, to: EndpointId, offset: u64, slots: u32) -> Result<OpenedRing, ShmError> {
        let mut world = self.world.lock().unwrap();
        let outbox = dup(&world.endpoints[self.me as usize].outbox);
        let memory = &mut world.endpoints[to.index()];
        let inbox = memory.senders.iter().position(|&s| s == self.me).expect("there is a conduit") as u32;
        memory.mail.push(AgentNotice::RingOpened {
            from: EndpointId::new(self.me),
            outbox,
            offset,
            slots,
            inbox,
        });
        let opened = OpenedRing { area: dup(&memory.area), layout: memory.layout, inbox };
        world.board.doorbell(to).unwrap().call();
        Ok(opened)
    }

    fn fetch_slab(&mut self, of: EndpointId, slab: u32) -> Result<(OwnedFd, u64), ShmError> {
        let world = self.world.lock().unwrap();
        match world.endpoints[of.index()].slabs.get(&slab) {
            Some((fd, bytes)) => Ok((dup(fd), *bytes)),
            None => Err(ShmError::Malformed(format!("no slab {slab}"))),
        }
    }

    fn notices(&mut self) -> Result<Vec<AgentNotice>, ShmError> {
        Ok(std::mem::take(&mut self.world.lock().unwrap().endpoints[self.me as usize].mail))
    }

    fn is_gone(&self) -> bool {
        self.world.lock().unwrap().gone
    }

    fn sleep(&mut self, bell: &Doorbell, seen: u32, at_most: Duration) {
        let sleep = self.world.lock().unwrap().sleep;
        match sleep {
            Sleep::Usual => bell.sleep(seen, at_most),
            Sleep::Never => {}
            Sleep::UntilWoken => {
                bell.sleep(seen, Duration::from_secs(60));
                assert!(bell.has_rung(seen), "nobody has woken this endpoint");
            }
        }
    }
}
