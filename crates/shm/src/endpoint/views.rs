//! Memory that a peer has lent: views of its slabs, and telling it when they are over. A view may be dropped by
//! any thread, also after its endpoint is gone.

use crate::area::Inbox;
use crate::board::{Board, FOR_CREDIT};
use crate::forks;
use crate::memory::{Mapping, ShmError};
use ligament_wire::{Bytes, EndpointId, Keeper};
use rustix::fd::OwnedFd;
use std::collections::HashMap;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

/// Views above this are released as soon as they are dropped, since their sender may need the memory. Smaller
/// ones wait for a quiet moment of the endpoint: to tell the sender at once would put the journey of a cache
/// line between a receive and the reply to it.
const MAX_BATCHED_VIEW_BYTES: u64 = 64 << 10;

/// So many blocks that were read at once are told of together, if no quiet moment comes before.
const MAX_BATCHED_RELEASES: usize = 4;

/// The parts that give a block back, from any thread.
pub(crate) struct BlockReturn {
    inbox: Inbox,
    board: Arc<Board>,
    sender: EndpointId,
    /// The count of forks when this was made: a forked child sees another one.
    forks: u32,
}

impl BlockReturn {
    /// The way back to `sender` through our inbox for it.
    pub fn new(inbox: Inbox, board: Arc<Board>, sender: EndpointId) -> BlockReturn {
        forks::watch();
        BlockReturn { inbox, board, sender, forks: forks::count() }
    }

    /// Returns true if this is a forked child: the views are its parent's, and so is the memory that they are
    /// of.
    #[inline]
    fn is_forked(&self) -> bool {
        self.forks != forks::count()
    }

    /// Our inbox for the peer.
    pub fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    /// Credit, room or a block went back: wakes the sender if it waits for that.
    #[inline]
    pub fn wake_sender(&self) {
        if let Some(bell) = self.board.doorbell(self.sender) {
            self.board.ring_if_parked(bell, FOR_CREDIT);
        }
    }
}

/// One view's hold on a block: the record that keeps its bytes. Used again when the view is over.
#[repr(C)]
struct Lease {
    keeper: Keeper,
    link: NonNull<BlockReturn>,
    /// The slab that the view is of, and where it begins here. It stays for the next view, which is mostly of
    /// the same slab.
    pages: Option<Arc<Mapping>>,
    start: *const u8,
    len: u64,
    block: u32,
    /// The sender has given the slab back.
    gone: AtomicBool,
    /// The view is gone; the endpoint may use this lease again.
    over: AtomicBool,
}

impl Lease {
    fn hold(&mut self, pages: Option<Arc<Mapping>>) {
        self.start = pages.as_ref().map_or(std::ptr::null(), |pages| pages.start());
        (self.pages, *self.gone.get_mut()) = (pages, false);
    }
}

/// The last holder of a view is gone.
///
/// # Safety
/// `keeper` is that of a lease that is out; called once.
unsafe fn end_lease(keeper: NonNull<Keeper>) {
    // SAFETY: `repr(C)` puts the keeper first; leases live until they are over (see `Lent`), and so does the
    // link.
    let lease = unsafe { keeper.cast::<Lease>().as_ref() };
    if lease.len > MAX_BATCHED_VIEW_BYTES {
        // SAFETY: as above.
        let link = unsafe { lease.link.as_ref() };
        if link.is_forked() {
            return;
        }
        link.inbox.release(lease.block);
        link.wake_sender();
    }
    // The last thing done with it: the endpoint may use it again, or free it.
    lease.over.store(true, Ordering::Release);
}

/// The mappings of a peer's slabs, and what views of them are out. Only the endpoint's thread touches it.
pub(crate) struct Lent {
    /// Ours, unless views outlive us.
    link: NonNull<BlockReturn>,
    out: Vec<NonNull<Lease>>,
    /// Blocks that were read at once, and whose sender is still to be told.
    read: Vec<u32>,
    free: Vec<NonNull<Lease>>,
    /// Which of `out` is looked at next.
    look: usize,
    /// Bytes of the leases in `out`.
    bytes_out: u64,
    maps: HashMap<u32, Arc<Mapping>>,
    /// The slab used last: number, first byte, length.
    last: (u32, *const u8, u64),
}

// SAFETY: `last` points into one of the mappings, which are not bound to a thread; nor are link and leases.
unsafe impl Send for Lent {}

/// No slab has this number and any length.
const NO_SLAB: (u32, *const u8, u64) = (0, std::ptr::null(), 0);

impl Lent {
    /// Nothing is lent yet.
    pub fn new(link: BlockReturn) -> Lent {
        Lent {
            link: NonNull::from(Box::leak(Box::new(link))),
            out: Vec::new(),
            read: Vec::with_capacity(MAX_BATCHED_RELEASES),
            free: Vec::new(),
            look: 0,
            bytes_out: 0,
            maps: HashMap::new(),
            last: NO_SLAB,
        }
    }

    /// Bytes of views that are out.
    pub fn bytes_out(&mut self) -> u64 {
        self.take_back(usize::MAX);
        self.bytes_out
    }

    /// The number of views that are out; and whether some were over that their sender had not been told of.
    pub fn leases(&mut self) -> (usize, bool) {
        let before = self.out.len() + self.read.len();
        self.take_back(usize::MAX);
        (self.out.len(), self.out.len() < before)
    }

    /// The link to the peer.
    #[inline]
    pub fn link(&self) -> &BlockReturn {
        // SAFETY: made by `new`, and freed by `drop` only.
        unsafe { self.link.as_ref() }
    }

    /// A view of `len` bytes at `offset` in slab `slab`, released when the last of its clones is dropped.
    /// `fetch` asks the agent for the slab the first time.
    ///
    /// # Errors
    /// `Malformed` if that is not within the slab.
    #[inline]
    pub fn lease(
        &mut self,
        slab: u32,
        offset: u64,
        len: u64,
        block: u32,
        fetch: impl FnOnce() -> Result<(OwnedFd, u64), ShmError>,
    ) -> Result<Bytes, ShmError> {
        if !self.knows(slab) {
            self.map(slab, fetch()?)?;
        }
        let (_, _, size) = self.last;
        self.lease_known(slab, offset, len, block)
            .ok_or_else(|| ShmError::Malformed(format!("{len} bytes at {offset} of a slab of {size}")))
    }

    /// As `lease`, in a slab that was met before; none if it was not, or if the bytes are not within it.
    #[inline(always)]
    pub fn lease_known(&mut self, slab: u32, offset: u64, len: u64, block: u32) -> Option<Bytes> {
        let start = self.look_at_known(slab, offset, len)?.as_ptr();
        let mut lease = self.free.pop().unwrap_or_else(|| self.new_lease());
        // SAFETY: a lease in `free` is ours alone.
        let new = unsafe { lease.as_mut() };
        if new.start != self.last.1 {
            self.turn(new, slab);
        }
        (new.len, new.block) = (len, block);
        *new.over.get_mut() = false;
        // SAFETY: it is over, or new.
        unsafe { new.keeper.again() };
        self.out.push(lease);
        self.bytes_out += len;
        // SAFETY: the range was checked against the mapping, which the lease holds; and the lease stays while
        // it is out. The sender does not write there until the release (peers may be wrong: then the numbers
        // are wrong, as with any shared memory).
        Some(unsafe { Bytes::from_keeper(start, len as usize, lease.cast()) })
    }

    /// `len` bytes at `offset` in slab `slab`, until `is_read` says that this is over; else as `lease_known`.
    #[inline(always)]
    pub fn look_at_known(&mut self, slab: u32, offset: u64, len: u64) -> Option<&[u8]> {
        if !self.knows(slab) {
            return None;
        }
        let (_, start, size) = self.last;
        let within = offset.checked_add(len).is_some_and(|end| end <= size);
        // SAFETY: the range was checked against the mapping; else as in `lease_known`.
        within.then(|| unsafe { std::slice::from_raw_parts(start.add(offset as usize), len as usize) })
    }

    /// A block that was looked at is done with. Its sender is told in a quiet moment, as of small views, or
    /// with the next ones.
    #[inline(always)]
    pub fn is_read(&mut self, block: u32) {
        self.read.push(block);
        if self.read.len() >= MAX_BATCHED_RELEASES {
            self.take_back(0);
        }
    }

    /// Returns true if a slab is mapped; it is the one used last then.
    #[inline(always)]
    fn knows(&mut self, slab: u32) -> bool {
        let (last, _, size) = self.last;
        last == slab && size != 0 || self.turn_to(slab)
    }

    /// Has a lease hold a slab that is known.
    #[cold]
    fn turn(&self, lease: &mut Lease, slab: u32) {
        lease.hold(self.maps.get(&slab).cloned());
    }

    #[cold]
    fn turn_to(&mut self, slab: u32) -> bool {
        let known = self.maps.get(&slab).map(|map| (slab, map.start().cast_const(), map.len() as u64));
        self.last = known.unwrap_or(NO_SLAB);
        known.is_some()
    }

    #[cold]
    fn map(&mut self, slab: u32, (fd, bytes): (OwnedFd, u64)) -> Result<(), ShmError> {
        let len = bytes as usize;
        // Writable where its sender allows it: see `slab::stays_in_caches`.
        let map = Mapping::writable(&fd, 0, len).or_else(|_| Mapping::readable(&fd, 0, len))?;
        self.maps.insert(slab, Arc::new(map));
        self.turn_to(slab);
        Ok(())
    }

    #[cold]
    fn new_lease(&self) -> NonNull<Lease> {
        let keeper = Keeper::new(end_lease);
        let (link, pages, start, over) = (self.link, None, std::ptr::null(), AtomicBool::new(true));
        let lease = Lease { keeper, link, pages, start, len: 0, block: 0, gone: AtomicBool::new(false), over };
        NonNull::from(Box::leak(Box::new(lease)))
    }

    /// Looks at no more than `at_most` of the leases that are out, and takes back those that are over: tells
    /// the sender of the small ones, and of what was read at once, which was put off.
    #[inline]
    pub fn take_back(&mut self, at_most: usize) {
        if self.link().is_forked() {
            return;
        }
        let mut any = !self.read.is_empty();
        while let Some(block) = self.read.pop() {
            self.link().inbox.release_alone(block);
        }
        for _ in 0..at_most.min(self.out.len()) {
            if self.look >= self.out.len() {
                self.look = 0;
            }
            let mut lease = self.out[self.look];
            // SAFETY: leases live as long as `self` at least.
            if !unsafe { lease.as_ref() }.over.load(Ordering::Acquire) {
                self.look += 1;
                continue;
            }
            self.out.swap_remove(self.look);
            // SAFETY: the view is gone, so that the lease is ours alone.
            let here = unsafe { lease.as_mut() };
            if *here.gone.get_mut() {
                here.hold(None);
            }
            self.bytes_out -= here.len;
            if here.len <= MAX_BATCHED_VIEW_BYTES {
                // No other thread counts at the same time: small views are told here only, and a block holds a
                // small and a large one at once only as the end of a stream, whose views never leave the
                // endpoint.
                self.link().inbox.release_alone(here.block);
                any = true;
            }
            self.free.push(lease);
        }
        if any {
            self.link().wake_sender();
        }
    }

    /// The peer gave a slab back: it is unmapped as soon as no view of it is out.
    pub fn forget_slab(&mut self, slab: u32) {
        self.last = NO_SLAB;
        self.take_back(usize::MAX);
        let Some(gone) = self.maps.remove(&slab) else { return };
        for lease in &mut self.free {
            // SAFETY: a lease in `free` is ours alone.
            let lease = unsafe { lease.as_mut() };
            if lease.start == gone.start() {
                lease.hold(None);
            }
        }
        for lease in &self.out {
            // SAFETY: leases live as long as `self` at least.
            let lease = unsafe { lease.as_ref() };
            if lease.start == gone.start() {
                lease.gone.store(true, Ordering::Relaxed);
            }
        }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.take_back(usize::MAX);
        for lease in self.free.drain(..) {
            // SAFETY: from `Box::leak`, and over.
            drop(unsafe { Box::from_raw(lease.as_ptr()) });
        }
        // Views outlive the endpoint: their leases, and with them what these hold, stay to the end of the
        // process.
        if self.out.is_empty() {
            // SAFETY: from `Box::leak`, and no lease refers to it any more.
            drop(unsafe { Box::from_raw(self.link.as_ptr()) });
        }
    }
}
