//! Memory that a peer has lent: views of its slabs, and the release of the views. Any thread may drop a
//! view, even after its endpoint is gone.

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

/// Maximum size of views whose releases are collected, bytes. A larger view is released at once when it is
/// dropped, since its sender may need the memory. The release of a smaller view waits for an idle moment of
/// the endpoint: an immediate release would transfer a cache line between a receive and the reply to it.
const MAX_BATCHED_VIEW_BYTES: u64 = 64 << 10;

/// Number of blocks, read without a view, whose releases are collected if no idle moment comes before.
const MAX_BATCHED_RELEASES: usize = 4;

/// The data that any thread needs to return a block to its sender.
pub(crate) struct BlockReturn {
    inbox: Inbox,
    board: Arc<Board>,
    sender: EndpointId,
    /// The count of forks at the creation of this struct. A forked child has a larger count.
    forks: u32,
}

impl BlockReturn {
    /// Makes what a view needs to return its block to `sender`. `inbox` is this endpoint's inbox for messages
    /// of `sender`.
    pub fn new(inbox: Inbox, board: Arc<Board>, sender: EndpointId) -> BlockReturn {
        forks::watch();
        BlockReturn { inbox, board, sender, forks: forks::count() }
    }

    /// Returns true if this process is a forked child. The views and their memory then belong to its parent.
    #[inline]
    fn is_forked(&self) -> bool {
        self.forks != forks::count()
    }

    /// Returns this endpoint's inbox for the peer.
    pub fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    /// Called after credit, room or a block was returned: wakes the sender if it waits for one of these.
    #[inline]
    pub fn wake_sender(&self) {
        if let Some(bell) = self.board.doorbell(self.sender) {
            self.board.ring_if_parked(bell, FOR_CREDIT);
        }
    }
}

/// The hold of one view on a block: a record that keeps the view's bytes. The record is used again when the
/// view has ended.
#[repr(C)]
struct Lease {
    keeper: Keeper,
    link: NonNull<BlockReturn>,
    /// The mapping of the view's slab, with its address in `start`. The mapping stays in the record for the
    /// next view, which is mostly of the same slab.
    pages: Option<Arc<Mapping>>,
    start: *const u8,
    len: u64,
    block: u32,
    /// True if the sender has withdrawn the slab.
    gone: AtomicBool,
    /// True if the view has ended, so that the endpoint may use this lease again.
    over: AtomicBool,
}

impl Lease {
    fn hold(&mut self, pages: Option<Arc<Mapping>>) {
        self.start = pages.as_ref().map_or(std::ptr::null(), |pages| pages.start());
        (self.pages, *self.gone.get_mut()) = (pages, false);
    }
}

/// Ends a lease when the last holder of its view is gone.
///
/// # Safety
/// `keeper` belongs to a lease that is out; the function is called once for it.
unsafe fn end_lease(keeper: NonNull<Keeper>) {
    // SAFETY: `repr(C)` puts the keeper first, so its address is that of the lease. `LentSlabs` frees the lease
    // and the link only after the view has ended.
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
    // This must be the last access to the lease: the endpoint may use it again, or free it.
    lease.over.store(true, Ordering::Release);
}

/// The mappings of a peer's slabs, and the leases of the views that exist. Only the endpoint's thread uses
/// this struct.
pub(crate) struct LentSlabs {
    /// The link to the peer. It is freed with this struct, unless views outlive it.
    link: NonNull<BlockReturn>,
    out: Vec<NonNull<Lease>>,
    /// Numbers of blocks that were read without a view and are not released yet.
    read: Vec<u32>,
    free: Vec<NonNull<Lease>>,
    /// Index in `out` of the next lease to check.
    look: usize,
    /// Total number of bytes of the leases in `out`.
    bytes_out: u64,
    maps: HashMap<u32, Arc<Mapping>>,
    /// The slab used last: its number, the address of its first byte, its length.
    last: (u32, *const u8, u64),
}

// SAFETY: `last` points into one of the mappings. Neither the mappings nor the link and the leases are bound
// to a thread.
unsafe impl Send for LentSlabs {}

/// A value of `last` that matches no slab: slab 0 with length 0.
const NO_SLAB: (u32, *const u8, u64) = (0, std::ptr::null(), 0);

impl LentSlabs {
    /// Makes a struct without mappings and leases.
    pub fn new(link: BlockReturn) -> LentSlabs {
        LentSlabs {
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

    /// Returns the number of bytes that existing views hold.
    pub fn bytes_out(&mut self) -> u64 {
        self.take_back(usize::MAX);
        self.bytes_out
    }

    /// Returns the number of existing views, and true if some views had ended whose sender had not been told
    /// yet.
    pub fn leases(&mut self) -> (usize, bool) {
        let before = self.out.len() + self.read.len();
        self.take_back(usize::MAX);
        (self.out.len(), self.out.len() < before)
    }

    /// Returns the link to the peer.
    #[inline]
    pub fn link(&self) -> &BlockReturn {
        // SAFETY: made by `new`, and freed by `drop` only.
        unsafe { self.link.as_ref() }
    }

    /// Returns a view of `len` bytes at `offset` in slab `slab`. The block is released when the last clone
    /// of the view is dropped. If the slab is not mapped yet, `fetch` requests it from the agent.
    ///
    /// # Errors
    /// `Malformed` if the bytes are not within the slab.
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

    /// Like `lease`, for a slab that is mapped already. Returns None if the slab is not mapped or the bytes
    /// are not within it.
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
        // SAFETY: no view uses the lease: it is new, or its last view has ended.
        unsafe { new.keeper.again() };
        self.out.push(lease);
        self.bytes_out += len;
        // SAFETY: the range was checked against the mapping, which the lease holds; and the lease stays while
        // it is out. The sender does not write there until the release (peers may be wrong: then the numbers
        // are wrong, as with any shared memory).
        Some(unsafe { Bytes::from_keeper(start, len as usize, lease.cast()) })
    }

    /// Returns `len` bytes at `offset` in slab `slab`; they may be used until `is_read`. Returns None as
    /// `lease_known` does.
    #[inline(always)]
    pub fn look_at_known(&mut self, slab: u32, offset: u64, len: u64) -> Option<&[u8]> {
        if !self.knows(slab) {
            return None;
        }
        let (_, start, size) = self.last;
        let within = offset.checked_add(len).is_some_and(|end| end <= size);
        // SAFETY: the range was checked against the mapping. The other conditions are those of `lease_known`.
        within.then(|| unsafe { std::slice::from_raw_parts(start.add(offset as usize), len as usize) })
    }

    /// Marks a block that was read without a view as released. Its sender is told in an idle moment, as for
    /// small views, or with the next such blocks.
    #[inline(always)]
    pub fn is_read(&mut self, block: u32) {
        self.read.push(block);
        if self.read.len() >= MAX_BATCHED_RELEASES {
            self.take_back(0);
        }
    }

    /// Returns true if a slab is mapped. It is then in `last`.
    #[inline(always)]
    fn knows(&mut self, slab: u32) -> bool {
        let (last, _, size) = self.last;
        last == slab && size != 0 || self.turn_to(slab)
    }

    /// Makes a lease hold the mapping of a known slab.
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
        // The mapping is writable if the sender allows it: see `slab::stays_in_caches`.
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

    /// Checks at most `at_most` leases, and takes back those whose views have ended. Tells the sender of
    /// small views that have ended and of blocks that were read without a view.
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
                // No other thread counts releases of this block at the same time. Small views are counted
                // only here. A block has a small and a large view at once only if it holds the end of a
                // stream, and those views never leave the endpoint.
                self.link().inbox.release_alone(here.block);
                any = true;
            }
            self.free.push(lease);
        }
        if any {
            self.link().wake_sender();
        }
    }

    /// Removes a slab that the peer has withdrawn. It is unmapped when its last view has ended.
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

impl Drop for LentSlabs {
    fn drop(&mut self) {
        self.take_back(usize::MAX);
        for lease in self.free.drain(..) {
            // SAFETY: the lease comes from `Box::leak`, and its view has ended.
            drop(unsafe { Box::from_raw(lease.as_ptr()) });
        }
        // Views outlive the endpoint. Their leases, and the mappings and the link that these hold, stay
        // until the process ends.
        if self.out.is_empty() {
            // SAFETY: the link comes from `Box::leak`, and no lease refers to it any more.
            drop(unsafe { Box::from_raw(self.link.as_ptr()) });
        }
    }
}
