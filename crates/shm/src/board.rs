//! The board: one shared page range per domain, written by all of it. It holds how many endpoints are awake and
//! one doorbell line per endpoint. Peers may be wrong but not hostile: scribbling here can wake somebody for
//! nothing or delay a wake-up by at most a second, and never changes a message.

use crate::barrier;
use crate::sync::{AtomicU32, Ordering};

#[cfg(not(loom))]
use crate::memory::{Mapping, ShmError};
#[cfg(not(loom))]
use ligament_wire::EndpointId;
#[cfg(not(loom))]
use rustix::fd::AsFd;
#[cfg(not(loom))]
use std::time::Duration;

/// Parked: waits for messages.
pub const FOR_MESSAGES: u32 = 1;
/// Parked: waits for credit, for room in a ring, or for a block to come back.
pub const FOR_CREDIT: u32 = 2;

/// An endpoint's doorbell: one cache line.
#[repr(C, align(64))]
pub struct Doorbell {
    /// The futex: changes with every ring.
    bell: AtomicU32,
    /// The event that the owner waits for while it is parked; 0 otherwise.
    parked: AtomicU32,
    /// Counts what the agent has put into the owner's socket.
    control: AtomicU32,
    /// True if the owner is counted as awake.
    awake: AtomicU32,
    /// The core on which the owner began to wait last, plus one; 0 if it never did.
    core: AtomicU32,
    /// True if the owner stands for others that are on other machines.
    far: AtomicU32,
    /// The number of cores that the owner keeps busy while it is awake; 0 stands for one.
    busy: AtomicU32,
    /// True if the owner has begun to steer.
    steers: AtomicU32,
    spare: [AtomicU32; 8],
    /// The threads that sleep on the futex, in loom's world.
    #[cfg(loom)]
    sleepers: (loom::sync::Mutex<()>, loom::sync::Condvar),
}

#[cfg(not(loom))]
// SAFETY: only atomics.
unsafe impl crate::memory::Shared for Doorbell {}

impl Doorbell {
    /// A doorbell in a process's own memory.
    pub fn new() -> Doorbell {
        Doorbell {
            bell: AtomicU32::new(0),
            parked: AtomicU32::new(0),
            control: AtomicU32::new(0),
            awake: AtomicU32::new(0),
            core: AtomicU32::new(0),
            far: AtomicU32::new(0),
            busy: AtomicU32::new(0),
            steers: AtomicU32::new(0),
            spare: std::array::from_fn(|_| AtomicU32::new(0)),
            #[cfg(loom)]
            sleepers: (loom::sync::Mutex::new(()), loom::sync::Condvar::new()),
        }
    }

    /// How often the agent has called.
    #[inline]
    pub fn control(&self) -> u32 {
        self.control.load(Ordering::Acquire)
    }

    /// After a publication: wakes the owner if it is parked for `what`, and tells whether it was.
    #[inline(always)]
    pub fn ring_if_parked(&self, what: u32, first: impl FnOnce()) -> bool {
        barrier::light();
        self.parked.load(Ordering::Relaxed) & what != 0 && self.ring(first)
    }

    /// Wakes the owner if it is parked, and tells whether it was; before it is woken, does what comes `first`.
    ///
    /// The flag goes first and the bell after it: a ring that takes the flag of a park has the bell still
    /// before it, so that this park cannot sleep on. (The other way round a late ring could take the flag of
    /// the next park without waking it; loom found that.)
    #[cold]
    pub fn ring(&self, first: impl FnOnce()) -> bool {
        let parked = self.parked.swap(0, Ordering::SeqCst) != 0;
        if parked {
            first();
            self.bell.fetch_add(1, Ordering::SeqCst);
            wake(self);
        }
        parked
    }

    /// Wakes whoever sleeps here, parked or not.
    pub fn rouse(&self) {
        self.parked.store(0, Ordering::SeqCst);
        self.bell.fetch_add(1, Ordering::SeqCst);
        wake(self);
    }

    /// The present value of the bell: until it changes one can sleep here, though nobody rings before
    /// `lie_down`.
    pub fn seen(&self) -> u32 {
        self.bell.load(Ordering::SeqCst)
    }

    /// The agent: there is something in the owner's socket.
    pub fn call(&self) {
        self.control.fetch_add(1, Ordering::SeqCst);
        self.ring(|| {});
    }

    /// The owner, before it looks whether the agent has called: from now on it asks before each step whether it
    /// may go on.
    pub fn begins_to_steer(&self) {
        self.steers.store(1, Ordering::SeqCst);
        // The look after this store is one of all or nothing with the agent's, which comes after its call.
        crate::sync::fence(Ordering::SeqCst);
    }

    /// The agent, after it has called: whether the owner has begun to steer. If not, it hears of what it was
    /// called for before it makes its first step.
    pub fn steers(&self) -> bool {
        self.steers.load(Ordering::SeqCst) != 0
    }

    /// Marks the owner as a carrier, whose messages come from other machines: a process that waits for it must
    /// not spin.
    pub fn stands_for_others(&self) {
        self.far.store(1, Ordering::Relaxed);
    }

    /// While the owner is awake, so many cores are busy: it has threads, or ranks. To be said while it is
    /// counted as asleep.
    pub fn keeps_busy(&self, cores: u32) {
        // So that no sum of them overflows.
        self.busy.store(cores.min(1 << 16), Ordering::SeqCst);
    }

    fn busy(&self) -> u32 {
        self.busy.load(Ordering::SeqCst).max(1)
    }

    /// Returns true if the owner is marked as a carrier.
    pub fn is_far(&self) -> bool {
        self.far.load(Ordering::Relaxed) != 0
    }

    /// The owner begins to wait on this core.
    pub fn waits_on(&self, core: u32) {
        if self.core.load(Ordering::Relaxed) != core + 1 {
            self.core.store(core + 1, Ordering::Relaxed);
        }
    }

    /// Returns true if the owner is awake and was last seen on this core.
    pub fn is_awake_on(&self, core: u32) -> bool {
        self.core.load(Ordering::Relaxed) == core + 1 && self.awake.load(Ordering::Relaxed) != 0
    }

    /// Parks the owner, unless `ready` says that there is no need: `sleep` is told the bell as it was before,
    /// and is to return when the bell is no longer that, or when it has slept for long enough. `owner` is
    /// handed to both.
    pub fn park<W: ?Sized>(
        &self,
        what: u32,
        owner: &mut W,
        ready: impl FnOnce(&mut W) -> bool,
        sleep: impl FnOnce(&mut W, u32),
    ) {
        let before = self.lie_down(what);
        if !ready(owner) {
            sleep(owner, before);
        }
        self.get_up();
    }

    /// The first part of a park: from now on others ring for `what`. The owner looks once more whether there is
    /// need to sleep, and may do so while the bell is what comes back.
    pub fn lie_down(&self, what: u32) -> u32 {
        let before = self.bell.load(Ordering::SeqCst);
        self.parked.store(what, Ordering::SeqCst);
        barrier::heavy();
        before
    }

    /// The last part of a park.
    pub fn get_up(&self) {
        self.parked.store(0, Ordering::SeqCst);
    }

    /// Sleeps until the bell is no longer `seen`, a signal comes, or `at_most` has passed.
    pub fn sleep(&self, seen: u32, at_most: Timeout) {
        wait(self, seen, at_most);
    }

    /// Returns true if the bell is no longer `seen`.
    pub fn has_rung(&self, seen: u32) -> bool {
        self.bell.load(Ordering::SeqCst) != seen
    }
}

impl Default for Doorbell {
    fn default() -> Self {
        Doorbell::new()
    }
}

#[cfg(not(loom))]
/// How long a park may last.
pub type Timeout = Duration;

#[cfg(not(loom))]
fn wait(door: &Doorbell, seen: u32, at_most: Timeout) {
    use rustix::thread::futex;
    let time =
        rustix::time::Timespec { tv_sec: at_most.as_secs() as i64, tv_nsec: i64::from(at_most.subsec_nanos()) };
    let _ = futex::wait(&door.bell, futex::Flags::empty(), seen, Some(&time));
}

#[cfg(not(loom))]
fn wake(door: &Doorbell) {
    use rustix::thread::futex;
    let _ = futex::wake(&door.bell, futex::Flags::empty(), u32::MAX >> 1);
}

#[cfg(loom)]
pub use model::Timeout;
#[cfg(loom)]
use model::{wait, wake};

/// The first line of the board.
#[cfg(not(loom))]
#[repr(C, align(64))]
pub struct BoardHead {
    magic: AtomicU32,
    cores: AtomicU32,
    awake: AtomicU32,
    asymmetric: AtomicU32,
    doorbells: AtomicU32,
    spare: [AtomicU32; 11],
}

#[cfg(not(loom))]
// SAFETY: only atomics.
unsafe impl crate::memory::Shared for BoardHead {}

/// The board, mapped.
#[cfg(not(loom))]
pub struct Board {
    map: Mapping,
    doorbells: usize,
}

#[cfg(not(loom))]
const MAGIC: u32 = 0x4c49_4742;

#[cfg(not(loom))]
impl Board {
    /// Bytes that a board for so many endpoints takes.
    pub fn size(endpoints: usize) -> usize {
        64 * (1 + endpoints)
    }

    /// The agent: lays out a fresh board. `cores` is how many processors the instances may use together.
    pub fn create(fd: impl AsFd, endpoints: usize, cores: u32, asymmetric: bool) -> Result<Board, ShmError> {
        let map = Mapping::writable(fd, 0, Board::size(endpoints))?;
        let head: &BoardHead = map.at(0);
        head.cores.store(cores, Ordering::SeqCst);
        head.asymmetric.store(asymmetric as u32, Ordering::SeqCst);
        head.doorbells.store(endpoints as u32, Ordering::SeqCst);
        head.magic.store(MAGIC, Ordering::SeqCst);
        Ok(Board { map, doorbells: endpoints })
    }

    /// Maps a board that the agent laid out.
    ///
    /// # Errors
    /// `Malformed` if this is no board.
    pub fn open(fd: impl AsFd) -> Result<Board, ShmError> {
        let size = rustix::fs::fstat(&fd).map_err(crate::memory::during("fstat"))?.st_size as usize;
        if size < Board::size(1) {
            return Err(ShmError::Malformed(format!("a board of {size} bytes")));
        }
        let map = Mapping::writable(fd, 0, size)?;
        let head: &BoardHead = map.at(0);
        let doorbells = head.doorbells.load(Ordering::SeqCst) as usize;
        if head.magic.load(Ordering::SeqCst) != MAGIC || Board::size(doorbells) > size {
            return Err(ShmError::Malformed("this is not the board of a run".into()));
        }
        Ok(Board { map, doorbells })
    }

    #[inline]
    fn head(&self) -> &BoardHead {
        // SAFETY: every board begins with its head, by `create` or as `open` has checked.
        unsafe { self.map.at_checked(0) }
    }

    /// Returns true if the agent found the asymmetric fence to work.
    pub fn asymmetric(&self) -> bool {
        self.head().asymmetric.load(Ordering::Relaxed) != 0
    }

    /// An endpoint's doorbell, or none if the board has no such line.
    #[inline]
    pub fn doorbell(&self, endpoint: EndpointId) -> Option<&Doorbell> {
        let index = endpoint.index();
        // SAFETY: the board has a line for each of so many doorbells, by `create` or as `open` has checked.
        (index < self.doorbells).then(|| unsafe { self.map.at_checked(64 * (1 + index)) })
    }

    /// Returns true if a core is there for all that those who are awake keep busy, so that spinning robs
    /// nobody.
    #[inline]
    pub fn may_spin(&self) -> bool {
        let head = self.head();
        head.awake.load(Ordering::Relaxed) <= head.cores.load(Ordering::Relaxed)
    }

    /// Returns true if one more could be awake and none would have to give way.
    pub fn has_spare_core(&self) -> bool {
        let head = self.head();
        head.awake.load(Ordering::Relaxed) < head.cores.load(Ordering::Relaxed)
    }

    /// After a publication: wakes the owner of a doorbell if it is parked for `what`, and tells whether it was.
    /// It counts as awake from then on, before it runs: whoever woke it may stand in its way by spinning.
    #[inline(always)]
    pub fn ring_if_parked(&self, bell: &Doorbell, what: u32) -> bool {
        bell.ring_if_parked(what, || self.wake_up(bell))
    }

    /// Counts an endpoint as awake.
    pub fn wake_up(&self, bell: &Doorbell) {
        if bell.awake.swap(1, Ordering::SeqCst) == 0 {
            self.head().awake.fetch_add(bell.busy(), Ordering::SeqCst);
        }
    }

    /// Counts an endpoint as asleep: when it parks, when it ends, and, by the agent, when it has died.
    pub fn fall_asleep(&self, bell: &Doorbell) {
        if bell.awake.swap(0, Ordering::SeqCst) == 1 {
            self.head().awake.fetch_sub(bell.busy(), Ordering::SeqCst);
        }
    }
}

#[cfg(loom)]
mod model {
    //! A futex in loom's world, and the proof that no wake-up is lost.
    use super::*;

    /// There is no time in the model: a lost wake-up is a deadlock, which loom reports.
    pub type Timeout = ();

    pub fn wait(door: &Doorbell, seen: u32, _: Timeout) {
        let mut held = door.sleepers.0.lock().unwrap();
        while door.bell.load(Ordering::SeqCst) == seen {
            held = door.sleepers.1.wait(held).unwrap();
        }
    }

    fn park(bell: &Doorbell, ready: impl FnOnce() -> bool) {
        bell.park(FOR_MESSAGES, &mut (), |()| ready(), |(), seen| bell.sleep(seen, ()));
    }

    pub fn wake(door: &Doorbell) {
        let _held = door.sleepers.0.lock().unwrap();
        door.sleepers.1.notify_all();
    }

    #[test]
    fn a_publication_never_leaves_its_reader_parked() {
        loom::model(|| {
            let bell = loom::sync::Arc::new(Doorbell::new());
            let message = loom::sync::Arc::new(AtomicU32::new(0));
            let (b, m) = (bell.clone(), message.clone());
            let sender = loom::thread::spawn(move || {
                m.store(1, Ordering::Release);
                b.ring_if_parked(FOR_MESSAGES, || {});
            });
            if message.load(Ordering::Acquire) == 0 {
                park(&bell, || message.load(Ordering::Acquire) == 1);
                // Woken, or never asleep: either way the message must be there.
                assert_eq!(message.load(Ordering::Acquire), 1);
            }
            sender.join().unwrap();
        });
    }

    #[test]
    fn two_senders_wake_one_reader() {
        let mut model = loom::model::Builder::new();
        // All interleavings take minutes; those with up to three preemptions hold every bug that was tried.
        model.preemption_bound = Some(3);
        model.check(|| {
            let bell = loom::sync::Arc::new(Doorbell::new());
            let messages = loom::sync::Arc::new(AtomicU32::new(0));
            let senders: Vec<_> = (0..2)
                .map(|_| {
                    let (b, m) = (bell.clone(), messages.clone());
                    loom::thread::spawn(move || {
                        m.fetch_add(1, Ordering::Release);
                        b.ring_if_parked(FOR_MESSAGES, || {});
                    })
                })
                .collect();
            while messages.load(Ordering::Acquire) < 2 {
                park(&bell, || messages.load(Ordering::Acquire) == 2);
            }
            for sender in senders {
                sender.join().unwrap();
            }
        });
    }
}
