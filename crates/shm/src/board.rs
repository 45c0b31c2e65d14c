//! The board: one piece of shared memory per domain, which all processes of the domain write. It holds the
//! number of cores that awake endpoints keep busy, and one line with a doorbell for each endpoint. The
//! processes may be faulty but are not hostile: a wrong write to the board can wake an endpoint in vain or
//! delay a wake-up by at most a second. It never changes a message.

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

/// The owner is parked until a message arrives.
pub const FOR_MESSAGES: u32 = 1;
/// The owner is parked until credit, room in a ring, or a block of memory is returned to it.
pub const FOR_CREDIT: u32 = 2;

/// The doorbell of an endpoint: one cache line. The endpoint is the owner of the doorbell.
#[repr(C, align(64))]
pub struct Doorbell {
    /// The futex of the owner. Each ring of the doorbell changes its value.
    bell: AtomicU32,
    /// The event that the owner waits for while it is parked (`FOR_MESSAGES`, `FOR_CREDIT`); 0 otherwise.
    parked: AtomicU32,
    /// Number of times the agent has put something into the owner's socket.
    control: AtomicU32,
    /// 1 if the owner is counted as awake.
    awake: AtomicU32,
    /// Number of the core on which the owner last began to wait, plus one; 0 if the owner never waited.
    core: AtomicU32,
    /// 1 if the owner is a carrier: the endpoint that stands for all endpoints of other domains.
    far: AtomicU32,
    /// Number of cores that the owner keeps busy while it is awake; 0 means one.
    busy: AtomicU32,
    /// 1 if the owner has begun to steer.
    steers: AtomicU32,
    spare: [AtomicU32; 8],
    /// The threads that sleep on the futex, in a model check with loom.
    #[cfg(loom)]
    sleepers: (loom::sync::Mutex<()>, loom::sync::Condvar),
}

#[cfg(not(loom))]
// SAFETY: all fields are atomic.
unsafe impl crate::memory::Shared for Doorbell {}

impl Doorbell {
    /// Makes a doorbell in the private memory of a process.
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

    /// Returns the number of times the agent has put something into the owner's socket. The owner compares
    /// it with its last value to see whether it must read the socket.
    #[inline]
    pub fn control(&self) -> u32 {
        self.control.load(Ordering::Acquire)
    }

    /// Called after a publication: wakes the owner if it is parked for `what`, and returns true if it was.
    /// Calls `first` before the owner is woken.
    #[inline(always)]
    pub fn ring_if_parked(&self, what: u32, first: impl FnOnce()) -> bool {
        barrier::light();
        self.parked.load(Ordering::Relaxed) & what != 0 && self.ring(first)
    }

    /// Wakes the owner if it is parked, and returns true if it was. Calls `first` before the owner is woken.
    ///
    /// The order matters: this function clears the flag `parked` first and changes the bell after it. If it
    /// clears the flag of a park, the bell still changes after that park has read it, so the park cannot
    /// continue to sleep. (In the opposite order, a late ring could clear the flag of the next park without
    /// waking it; loom found that.)
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

    /// Wakes all threads that sleep on this doorbell, whether or not the owner is parked.
    pub fn rouse(&self) {
        self.parked.store(0, Ordering::SeqCst);
        self.bell.fetch_add(1, Ordering::SeqCst);
        wake(self);
    }

    /// Returns the present value of the bell. A thread can sleep with this value until the bell changes.
    /// Senders ring only after `lie_down`.
    pub fn seen(&self) -> u32 {
        self.bell.load(Ordering::SeqCst)
    }

    /// Agent: tells the owner that its socket holds a new notice.
    pub fn call(&self) {
        self.control.fetch_add(1, Ordering::SeqCst);
        self.ring(|| {});
    }

    /// Owner: begins to steer, which means that it asks before each step whether it may continue. The owner
    /// calls this before it looks whether the agent has called.
    pub fn begins_to_steer(&self) {
        self.steers.store(1, Ordering::SeqCst);
        // Either the owner's look after this store sees the agent's call, or the agent's look after its call
        // sees this store.
        crate::sync::fence(Ordering::SeqCst);
    }

    /// Agent, after `call`: returns true if the owner has begun to steer. If not, the owner will read the
    /// notice before its first step.
    pub fn steers(&self) -> bool {
        self.steers.load(Ordering::SeqCst) != 0
    }

    /// Marks the owner as a carrier, whose messages come from other machines. A process that waits for the
    /// owner must not spin.
    pub fn stands_for_others(&self) {
        self.far.store(1, Ordering::Relaxed);
    }

    /// Sets the number of cores that the owner keeps busy while it is awake, because it has threads or
    /// ranks. Must be called while the owner is counted as asleep.
    pub fn keeps_busy(&self, cores: u32) {
        // The limit prevents an overflow of the sum over all endpoints.
        self.busy.store(cores.min(1 << 16), Ordering::SeqCst);
    }

    fn busy(&self) -> u32 {
        self.busy.load(Ordering::SeqCst).max(1)
    }

    /// Returns true if the owner is a carrier.
    pub fn is_far(&self) -> bool {
        self.far.load(Ordering::Relaxed) != 0
    }

    /// Stores the core on which the owner begins to wait.
    pub fn waits_on(&self, core: u32) {
        if self.core.load(Ordering::Relaxed) != core + 1 {
            self.core.store(core + 1, Ordering::Relaxed);
        }
    }

    /// Returns true if the owner is awake, and ran on this core when its latest wait began.
    pub fn is_awake_on(&self, core: u32) -> bool {
        self.core.load(Ordering::Relaxed) == core + 1 && self.awake.load(Ordering::Relaxed) != 0
    }

    /// Parks the owner, unless `ready` returns true. `sleep` gets the value of the bell from before the
    /// park. It must return when the bell has another value, or when it has slept for long enough. Both
    /// functions get `owner`.
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

    /// Begins a park: from now on other processes ring for `what`. Returns the value of the bell. The owner
    /// must look once more for its event, and may then sleep while the bell has the returned value.
    pub fn lie_down(&self, what: u32) -> u32 {
        let before = self.bell.load(Ordering::SeqCst);
        self.parked.store(what, Ordering::SeqCst);
        barrier::heavy();
        before
    }

    /// Ends a park: the owner is no longer parked.
    pub fn get_up(&self) {
        self.parked.store(0, Ordering::SeqCst);
    }

    /// Sleeps until the bell has another value than `seen`, a signal arrives, or `at_most` has passed.
    pub fn sleep(&self, seen: u32, at_most: Timeout) {
        wait(self, seen, at_most);
    }

    /// Returns true if the bell has another value than `seen`.
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
/// Maximum duration of a park.
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
// SAFETY: all fields are atomic.
unsafe impl crate::memory::Shared for BoardHead {}

/// The board, as a process has mapped it.
#[cfg(not(loom))]
pub struct Board {
    map: Mapping,
    doorbells: usize,
}

#[cfg(not(loom))]
const MAGIC: u32 = 0x4c49_4742;

#[cfg(not(loom))]
impl Board {
    /// Returns the size of a board for `endpoints` endpoints, bytes.
    pub fn size(endpoints: usize) -> usize {
        64 * (1 + endpoints)
    }

    /// Agent: lays out a fresh board. `cores` is the number of cores that all instances may use together.
    pub fn create(fd: impl AsFd, endpoints: usize, cores: u32, asymmetric: bool) -> Result<Board, ShmError> {
        let map = Mapping::writable(fd, 0, Board::size(endpoints))?;
        let head: &BoardHead = map.at(0);
        head.cores.store(cores, Ordering::SeqCst);
        head.asymmetric.store(asymmetric as u32, Ordering::SeqCst);
        head.doorbells.store(endpoints as u32, Ordering::SeqCst);
        head.magic.store(MAGIC, Ordering::SeqCst);
        Ok(Board { map, doorbells: endpoints })
    }

    /// Maps a board that the agent has laid out.
    ///
    /// # Errors
    /// `Malformed` if the memory is not a board.
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

    /// Returns true if the agent found that the asymmetric fence works.
    pub fn asymmetric(&self) -> bool {
        self.head().asymmetric.load(Ordering::Relaxed) != 0
    }

    /// Returns the doorbell of an endpoint, or None if the board has no line for it.
    #[inline]
    pub fn doorbell(&self, endpoint: EndpointId) -> Option<&Doorbell> {
        let index = endpoint.index();
        // SAFETY: the board has a line for each of its `doorbells` doorbells, by `create` or as `open` has
        // checked.
        (index < self.doorbells).then(|| unsafe { self.map.at_checked(64 * (1 + index)) })
    }

    /// Returns true if the awake endpoints keep no more cores busy than there are. Then an endpoint may spin
    /// without taking a core from another one.
    #[inline]
    pub fn may_spin(&self) -> bool {
        let head = self.head();
        head.awake.load(Ordering::Relaxed) <= head.cores.load(Ordering::Relaxed)
    }

    /// Returns true if one more endpoint could be awake and would find a free core.
    pub fn has_spare_core(&self) -> bool {
        let head = self.head();
        head.awake.load(Ordering::Relaxed) < head.cores.load(Ordering::Relaxed)
    }

    /// Called after a publication: wakes the owner of a doorbell if it is parked for `what`, and returns
    /// true if it was. The owner counts as awake from then on, before it runs, because the caller may occupy
    /// the core that the owner needs if it spins.
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

    /// Counts an endpoint as asleep. An endpoint calls this when it parks and when it ends; the agent calls
    /// it for an endpoint that has died.
    pub fn fall_asleep(&self, bell: &Doorbell) {
        if bell.awake.swap(0, Ordering::SeqCst) == 1 {
            self.head().awake.fetch_sub(bell.busy(), Ordering::SeqCst);
        }
    }
}

#[cfg(loom)]
mod model {
    //! Replaces the futex in a model check with loom, and checks that no wake-up is lost.
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
                // A park ends only when the message is there, also if the endpoint did not sleep.
                assert_eq!(message.load(Ordering::Acquire), 1);
            }
            sender.join().unwrap();
        });
    }

    #[test]
    fn two_senders_wake_one_reader() {
        let mut model = loom::model::Builder::new();
        // A check of all interleavings takes minutes. Every bug that was tried shows up in interleavings with
        // up to three preemptions.
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
