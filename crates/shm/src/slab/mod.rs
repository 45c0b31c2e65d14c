//! The sender's memory for messages that do not fit into a ring's entry. A *slab* is one piece of shared
//! memory that the agent grants. It is cut into *blocks* of one size class. A block holds one message until
//! each of its readers has released it. Blocks are used again, because the first use of new memory costs more
//! than the copy of the message. The pool keeps few blocks in use at a time, so that they stay in the caches.

mod claim;
#[cfg(test)]
mod tests;

use crate::area::MAX_BLOCKS;
use crate::memory::{Mapping, ShmError, HUGE_PAGE_BYTES};
use ligament_catalogue::fault;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Maximum size of blocks that share a slab, bytes. A larger block has a slab of its own.
const MAX_SHARED_BLOCK_BYTES: u64 = 256 << 10;
const MIN_BLOCK_BYTES: u64 = 1 << 10;
const SHARED_CLASSES: usize = 9;
const SHARED_SLAB_BYTES: u64 = 2 << 20;
/// Maximum size of blocks for which a free block is taken before the sender looks for released ones, bytes.
/// The look transfers a cache line from a reader, which costs more than the memory of a few more blocks.
pub(crate) const MAX_QUICK_BLOCK_BYTES: u64 = 64 << 10;
/// Number of outstanding blocks from which on the sender looks for released blocks first. Without this
/// limit, a sender that never pauses would cycle through all its memory.
const ROTATING: usize = 8;
/// Number of small messages before the sender asks for a slab for them.
const MAX_SLABLESS_MESSAGES: u32 = 64;
/// Maximum number of outstanding blocks that are checked before a new block is taken.
const MAX_BLOCKS_CHECKED: usize = 4;

/// Number of a block among the blocks of its sender. Readers count the block's releases under this number.
pub type BlockId = u32;

/// Returns the size class for `len` bytes and the size of its blocks. Up to 256 KiB the sizes are powers of
/// two. Above, each doubling has eight steps, so at most an eighth of a block is unused.
#[inline(always)]
fn class_of(len: u64) -> (usize, u64) {
    if len <= MAX_SHARED_BLOCK_BYTES {
        // Number of doublings from the smallest block to the block for `len`.
        let class = ((len.saturating_sub(1) / MIN_BLOCK_BYTES) << 1 | 1).ilog2();
        (class as usize, MIN_BLOCK_BYTES << class)
    } else {
        let power = 63 - (len - 1).leading_zeros() as u64;
        let step = 1u64 << (power - 3);
        let steps = (len - (1 << power)).div_ceil(step);
        (SHARED_CLASSES + ((power - 18) * 8 + steps - 1) as usize, (1 << power) + steps * step)
    }
}

/// Returns the number of bytes to request from the agent when no block for `len` bytes is left.
pub fn slab_size(len: u64) -> u64 {
    if len <= MAX_SHARED_BLOCK_BYTES {
        SHARED_SLAB_BYTES
    } else {
        class_of(len).1
    }
}

/// Returns true if messages of `len` bytes may stay in the caches between two exchanges. The slabs of such
/// messages are not sealed, and their readers map them writable, although readers never write them. The
/// reason: a processor loads a line that it reads through a read-only page as shared, and the sender's next
/// write to that line then costs 2.6 times as much (measured on Zen 5, 16 KiB).
pub fn stays_in_caches(len: u64) -> bool {
    len <= 16 << 20
}

struct Slab {
    map: Arc<Mapping>,
    /// Number of bytes from the start of the slab whose pages are allocated.
    populated: usize,
    shared: bool,
    /// Number of blocks in the slab.
    blocks: usize,
}

struct Block {
    slab: u32,
    class: u32,
    offset: usize,
    size: usize,
    start: *mut u8,
    /// The block and its place in the format of `packed`, if they fit.
    packed: Option<u64>,
    /// Number of bytes from the start of the block whose pages are allocated.
    populated: usize,
    /// Number of bytes from the start of the block that no reader's cache holds; `usize::MAX` if the block
    /// had no reader yet.
    claimed: usize,
    uses: Uses,
}

// SAFETY: `start` points into the slab's mapping, which lives as long as the block and is not bound to a
// thread.
unsafe impl Send for Block {}

/// For each reader that ever had the block, the number of releases that its count must reach before the
/// block is free. Most blocks only ever have one reader.
#[derive(Default)]
struct Uses {
    first: Option<(u32, u32)>,
    others: Vec<(u32, u32)>,
}

impl Uses {
    #[inline]
    fn all(&self, done: impl Fn(u32, u32) -> bool) -> bool {
        self.first.is_none_or(|(reader, due)| done(reader, due))
            && self.others.iter().all(|&(reader, due)| done(reader, due))
    }

    #[inline(always)]
    fn add(&mut self, reader: u32) {
        match &mut self.first {
            Some((first, due)) if *first == reader => *due = due.wrapping_add(1),
            _ => self.add_another(reader),
        }
    }

    #[cold]
    fn add_another(&mut self, reader: u32) {
        match &mut self.first {
            None => self.first = Some((reader, 1)),
            Some(_) => match self.others.iter_mut().find(|(other, _)| *other == reader) {
                Some((_, due)) => *due = due.wrapping_add(1),
                None => self.others.push((reader, 1)),
            },
        }
    }
}

#[derive(Default)]
struct Class {
    outstanding: VecDeque<BlockId>,
    free: Vec<BlockId>,
    /// Number of blocks of this class that have had a reader.
    rotating: usize,
}

/// All slabs and blocks of one sender.
#[derive(Default)]
pub struct BlockPool {
    slabs: Vec<Option<Slab>>,
    blocks: Vec<Block>,
    vacant: Vec<BlockId>,
    classes: Vec<Class>,
    /// Size class of the last block. `recent_len` is its number of bytes in use, and `lends` is true if it
    /// was a loan.
    recent: usize,
    recent_len: usize,
    lends: bool,
    /// Number of messages so far that would fit into a ring's entry but may use a block.
    small: u32,
    /// Number of recent first claim steps that took long, minus the number of those that did not; limited to
    /// -8 to 8.
    slow_steps: i32,
}

impl BlockPool {
    /// Makes a pool without memory.
    pub fn new() -> BlockPool {
        BlockPool::default()
    }

    fn class(&mut self, index: usize) -> &mut Class {
        if self.classes.len() <= index {
            self.classes.resize_with(index + 1, Class::default);
        }
        &mut self.classes[index]
    }

    #[inline]
    fn block(&self, id: BlockId) -> &Block {
        &self.blocks[id as usize]
    }

    /// Takes a block for `len` bytes that is free or released. Returns None if the pool must grow.
    ///
    /// `done_with(reader, block, due)` returns true if the reader has released the block `due` times.
    pub fn take(&mut self, len: u64, done_with: impl Fn(u32, BlockId, u32) -> bool) -> Option<BlockId> {
        let (index, size) = class_of(len);
        if index >= self.classes.len() {
            return None;
        }
        (self.recent, self.recent_len) = (index, len as usize);
        if let Some(at) = self.claimed_for(index, len) {
            return Some(self.classes[index].free.remove(at));
        }
        if size <= MAX_QUICK_BLOCK_BYTES && self.classes[index].outstanding.len() < ROTATING {
            if let Some(id) = self.classes[index].free.pop() {
                return Some(id);
            }
        }
        for _ in 0..MAX_BLOCKS_CHECKED.min(self.classes[index].outstanding.len()) {
            let id = self.classes[index].outstanding.pop_front()?;
            if self.block(id).uses.all(|reader, due| done_with(reader, id, due)) {
                return Some(id);
            }
            // The block moves to the end, so that blocks that a reader holds for long do not hide released
            // ones.
            self.classes[index].outstanding.push_back(id);
        }
        self.classes[index].free.pop()
    }

    /// Called in an idle moment: takes back the released blocks of the size class used last, so that the
    /// next `take` finds one without a look into a reader's memory.
    #[inline]
    pub fn reclaim(&mut self, done_with: impl Fn(u32, BlockId, u32) -> bool) {
        let Some(class) = self.classes.get_mut(self.recent) else { return };
        for _ in 0..MAX_BLOCKS_CHECKED {
            let Some(&id) = class.outstanding.front() else { return };
            if !self.blocks[id as usize].uses.all(|reader, due| done_with(reader, id, due)) {
                return;
            }
            class.outstanding.pop_front();
            class.free.push(id);
        }
    }

    /// Returns true if some block is still held by a reader, so that waiting can free memory.
    pub fn any_outstanding(&self) -> bool {
        self.classes.iter().any(|class| !class.outstanding.is_empty())
    }

    /// Adds a slab that the agent granted for messages of `len` bytes, mapped over its whole
    /// `slab_size(len)`.
    ///
    /// # Errors
    /// `OutOfMemory` if this sender has too many blocks already.
    pub fn add_slab(&mut self, id: u32, map: Mapping, len: u64) -> Result<(), ShmError> {
        let (class, size) = class_of(len);
        let shared = len <= MAX_SHARED_BLOCK_BYTES;
        let count = if shared { map.len() / size as usize } else { 1 };
        if self.blocks.len() - self.vacant.len() + count > MAX_BLOCKS {
            return Err(ShmError::OutOfMemory {
                bytes: len,
                reason: fault!(
                    MEMORY_SPENT,
                    "more than {MAX_BLOCKS} messages of this sender are waiting to be read"
                ),
            });
        }
        if map.len() >= HUGE_PAGE_BYTES && !shared {
            map.advise_huge();
        }
        let slot = id as usize;
        if self.slabs.len() <= slot {
            self.slabs.resize_with(slot + 1, || None);
        }
        let start = map.start();
        self.slabs[slot] = Some(Slab { map: Arc::new(map), populated: 0, shared, blocks: count });
        // The last block pushed is the first one taken, so the block at the front of the slab is pushed
        // last.
        for i in (0..count).rev() {
            let offset = i * size as usize;
            let block = Block {
                slab: id,
                class: class as u32,
                offset,
                size: size as usize,
                // The address is in bounds: blocks are cut to fit their slab.
                start: start.wrapping_add(offset),
                packed: None,
                populated: 0,
                claimed: usize::MAX,
                uses: Uses::default(),
            };
            let number = self.vacant.pop().unwrap_or(self.blocks.len() as BlockId);
            let packed = packed(number, id, offset as u64);
            match self.blocks.get_mut(number as usize) {
                // Readers continue to count under this number, so the counts of the old block stay valid.
                Some(old) => *old = Block { uses: std::mem::take(&mut old.uses), packed, ..block },
                None => self.blocks.push(Block { packed, ..block }),
            }
            self.class(class).free.push(number);
        }
        Ok(())
    }

    /// Allocates the pages of the first `len` bytes of a block, so that a write to them cannot fail.
    ///
    /// # Errors
    /// `OutOfMemory`; the block is free again.
    #[inline]
    pub fn populate(&mut self, id: BlockId, len: usize) -> Result<(), ShmError> {
        if len <= self.block(id).populated {
            return Ok(());
        }
        self.populate_now(id, len)
    }

    #[cold]
    fn populate_now(&mut self, id: BlockId, len: usize) -> Result<(), ShmError> {
        let block = &mut self.blocks[id as usize];
        let offset = block.offset;
        let slab = self.slabs[block.slab as usize].as_mut().expect("a block's slab exists");
        let end = (offset + len).min(slab.map.len());
        if end <= slab.populated {
            block.populated = slab.populated - offset;
            return Ok(());
        }
        // Small blocks are used one after the other, so the pages of some of their neighbours are allocated
        // at once.
        let end = if slab.shared { (end + (64 << 10)).min(slab.map.len()) } else { end };
        let from = slab.populated;
        match slab.map.populate_write(from, end - from) {
            Ok(()) => {
                slab.populated = end;
                block.populated = end - offset;
                Ok(())
            }
            Err(error) => {
                self.give_back(id);
                Err(error)
            }
        }
    }

    /// Counts a message whose body would fit into a ring's entry, and returns true if the body should go into
    /// a block instead. The message then takes one cache line of its entry, with the place of the block and a
    /// number for the preamble. This is worth a slab after `MAX_SLABLESS_MESSAGES` such messages, and while
    /// readers release the blocks soon.
    #[inline(always)]
    pub fn takes_small(&mut self) -> bool {
        self.small = self.small.saturating_add(1);
        self.small > MAX_SLABLESS_MESSAGES
            && self.classes.first().is_none_or(|class| class.outstanding.len() < ROTATING)
    }

    /// Returns true if there were so many small messages that a slab for them is worth its memory.
    #[inline(always)]
    pub fn had_many_small(&self) -> bool {
        self.small > MAX_SLABLESS_MESSAGES
    }

    /// Called when there was no memory for a block of a small message. The count starts again, so the next
    /// request for such a block comes only after as many messages again.
    pub fn takes_no_small(&mut self) {
        self.small = 0;
    }

    /// Returns a free block for `len` bytes whose pages are allocated, if the sender can take one without
    /// looking for releases.
    #[inline(always)]
    pub fn at_hand(&mut self, len: u64) -> Option<BlockId> {
        let (index, size) = class_of(len);
        let class = self.classes.get_mut(index)?;
        if size > MAX_QUICK_BLOCK_BYTES || class.outstanding.len() >= ROTATING {
            return None;
        }
        let &id = class.free.last()?;
        if self.blocks[id as usize].populated < len as usize {
            return None;
        }
        class.free.pop();
        (self.recent, self.recent_len) = (index, len as usize);
        Some(id)
    }

    /// Finds a free block to which `len` bytes can be copied at once and whose place can be packed. The
    /// block stays free until `hand_out`.
    #[inline(always)]
    pub fn for_copy(&self, len: u64) -> Option<ForCopy> {
        // Most messages have the same length as the one before.
        let class = if len as usize == self.recent_len { self.recent } else { class_of(len).0 };
        let Class { free, outstanding, .. } = self.classes.get(class)?;
        let &id = free.last()?;
        let block = self.blocks.get(id as usize)?;
        // Up to this size, the sizes of the classes are powers of two.
        let at_hand =
            len <= MAX_QUICK_BLOCK_BYTES && outstanding.len() < ROTATING && len as usize <= block.populated;
        let place = block.packed.filter(|_| at_hand)?;
        Some(ForCopy { start: block.start, place, class, id, len: len as usize })
    }

    /// Hands the block that `for_copy` has just found to one reader. Does the work of `at_hand`, `copies`,
    /// `used_by` and `posted`.
    #[inline(always)]
    pub fn hand_out(&mut self, block: &ForCopy, reader: u32) {
        let &ForCopy { class: index, id, len, .. } = block;
        let (class, block) = (&mut self.classes[index], &mut self.blocks[id as usize]);
        class.free.pop();
        class.rotating += usize::from(block.claimed == usize::MAX);
        block.claimed = 0;
        block.uses.add(reader);
        class.outstanding.push_back(id);
        (self.recent, self.recent_len, self.lends) = (index, len, false);
    }

    /// Returns the place of a block: number of its slab, offset in the slab, address in this process, and
    /// size.
    #[inline(always)]
    pub fn place(&self, id: BlockId) -> BlockPlace {
        let block = self.block(id);
        BlockPlace { slab: block.slab, offset: block.offset as u64, start: block.start, size: block.size }
    }

    /// Returns the mapping that contains a block, and the block's offset in it. The pages stay mapped in
    /// this process while the caller holds the mapping.
    pub fn pages(&self, id: BlockId) -> (Arc<Mapping>, usize) {
        let Block { slab, offset, .. } = *self.block(id);
        (self.slabs[slab as usize].as_ref().expect("a block's slab exists").map.clone(), offset)
    }

    /// Returns true if block `id` of this pool begins at address `start`.
    pub fn has(&self, id: BlockId, start: *mut u8) -> bool {
        self.blocks.get(id as usize).is_some_and(|block| block.start == start)
    }

    /// Counts one more reader of the block.
    #[inline(always)]
    pub fn used_by(&mut self, id: BlockId, reader: u32) {
        self.blocks[id as usize].uses.add(reader);
    }

    /// Called when all readers of the block have its entry: from now on the block waits for their releases.
    #[inline(always)]
    pub fn posted(&mut self, id: BlockId) {
        let block = &mut self.blocks[id as usize];
        let class = block.class as usize;
        self.classes[class].rotating += usize::from(block.claimed == usize::MAX);
        block.claimed = 0;
        self.classes[class].outstanding.push_back(id);
    }

    /// Frees a block that was sent to no reader.
    pub fn give_back(&mut self, id: BlockId) {
        let class = self.block(id).class as usize;
        self.classes[class].free.push(id);
    }

    /// Takes back all released blocks, and drops slabs whose blocks are all free, the largest first, until
    /// `bytes` bytes are given back. Returns the numbers of the dropped slabs, for the agent.
    pub fn trim(&mut self, bytes: u64, done_with: impl Fn(u32, BlockId, u32) -> bool) -> Vec<u32> {
        for class in 0..self.classes.len() {
            let outstanding = std::mem::take(&mut self.classes[class].outstanding);
            for id in outstanding {
                let back = self.block(id).uses.all(|reader, due| done_with(reader, id, due));
                let class = &mut self.classes[class];
                if back {
                    class.free.push(id);
                } else {
                    class.outstanding.push_back(id);
                }
            }
        }
        let mut gone = Vec::new();
        let mut given = 0;
        for class in (0..self.classes.len()).rev() {
            for slab in self.wholly_free(class) {
                if given >= bytes {
                    break;
                }
                given += self.slabs[slab as usize].take().map_or(0, |slab| slab.map.len() as u64);
                gone.push(slab);
                let free = std::mem::take(&mut self.classes[class].free);
                let (dropped, kept): (Vec<_>, Vec<_>) =
                    free.into_iter().partition(|&id| self.block(id).slab == slab);
                let read = dropped.iter().filter(|&&id| self.block(id).claimed != usize::MAX).count();
                self.classes[class].free = kept;
                self.classes[class].rotating = self.classes[class].rotating.saturating_sub(read);
                self.vacant.extend(dropped);
            }
        }
        gone
    }

    /// Returns the slabs of a class whose blocks are all free.
    fn wholly_free(&self, class: usize) -> Vec<u32> {
        let mut free: BTreeMap<u32, usize> = BTreeMap::new();
        for &id in &self.classes[class].free {
            *free.entry(self.block(id).slab).or_default() += 1;
        }
        free.retain(|&slab, count| self.slabs[slab as usize].as_ref().is_some_and(|s| s.blocks == *count));
        free.into_keys().collect()
    }
}

/// The place of a block.
#[derive(Debug, Clone, Copy)]
pub struct BlockPlace {
    pub slab: u32,
    pub offset: u64,
    pub start: *mut u8,
    pub size: usize,
}

/// A free block that can be copied to and then handed out with `hand_out`.
pub struct ForCopy {
    /// Address of its first byte.
    pub start: *mut u8,
    /// The block and its place in the format of `packed`.
    pub place: u64,
    class: usize,
    id: BlockId,
    len: usize,
}

const BLOCK_BITS: u32 = MAX_BLOCKS.trailing_zeros();
const OFFSET_BITS: u32 = (SHARED_SLAB_BYTES / MIN_BLOCK_BYTES).trailing_zeros();
const SLAB_BITS: u32 = 56 - BLOCK_BITS - OFFSET_BITS;

/// Packs a block and its place into 56 bits. From the lowest bit: block, offset in units of the smallest
/// block, slab. Returns None if they do not fit, which happens only in extremely large runs.
#[inline]
pub fn packed(block: BlockId, slab: u32, offset: u64) -> Option<u64> {
    let fits = block < 1 << BLOCK_BITS && slab < 1 << SLAB_BITS && offset < SHARED_SLAB_BYTES;
    let steps = (offset / MIN_BLOCK_BYTES) << BLOCK_BITS;
    fits.then(|| u64::from(block) | steps | u64::from(slab) << (BLOCK_BITS + OFFSET_BITS))
}

/// Returns the block, slab and offset that `packed` has packed.
#[inline]
pub fn unpacked(packed: u64) -> (BlockId, u32, u64) {
    let block = packed as u32 & ((1 << BLOCK_BITS) - 1);
    let steps = packed >> BLOCK_BITS & ((1 << OFFSET_BITS) - 1);
    (block, (packed >> (BLOCK_BITS + OFFSET_BITS)) as u32, steps * MIN_BLOCK_BYTES)
}
