//! Claiming: while an endpoint waits, it writes to the block that it will use next, and so takes the block's
//! lines from the cache of its last reader.

use super::{class_of, BlockId, BlockPool, Class, MAX_QUICK_BLOCK_BYTES};

/// Maximum size of blocks that are claimed (see `BlockPool::claim`), bytes. A larger block does not stay in
/// the cache that belongs to one core alone.
const MAX_CLAIMED_BYTES: usize = 2 << 20;
/// Duration above which the first step of a claim shows that the reader's cache is not shared with this
/// core, ns. (Measured, with the clock: 40 to 60 ns between cores with a common cache, 100 to 200 ns between
/// other cores.)
const FAR_CACHE_NS: u64 = 85;
/// Number of bytes that a waiting endpoint claims between two looks for its event.
const CLAIM_STEP_BYTES: usize = 4 << 10;

impl BlockPool {
    /// Called in an idle moment: claims a few lines of the block that will be used next. Returns false if
    /// there is nothing to claim. `now` returns the time in ns.
    ///
    /// Lines in the cache of a reader's core must be fetched from that cache, one by one, before they can be
    /// written. Claiming writes whole lines beforehand, which takes them without fetching. Measured on Zen 5
    /// to rewrite 16 KiB that another core has read: 0.73 µs without claiming and 0.47 with it on cores with
    /// a common cache, 3.0 and 1.0 on other cores. To copy 1 MiB to a block that is claimed: 41 µs, against
    /// 37 without claiming, on cores with a common cache; 63 against 152 on other cores. Therefore a large
    /// block for a copy is claimed only where the first step takes long.
    #[inline]
    pub fn claim(&mut self, now: impl Fn() -> u64) -> bool {
        let len = self.recent_len;
        if len > MAX_CLAIMED_BYTES {
            return false;
        }
        let Some(&id) = self.classes.get(self.recent).and_then(|class| class.free.last()) else { return false };
        let claimed = self.block(id).claimed;
        if claimed == 0 && len >= CLAIM_STEP_BYTES {
            return self.claim_timed(id, len, now);
        }
        (self.lends || self.slow_steps > 0) && self.claim_up_to(id, len, CLAIM_STEP_BYTES)
    }

    /// Claims the first step and measures its time, which shows whether the reader's cache is shared with
    /// this core.
    fn claim_timed(&mut self, id: BlockId, len: usize, now: impl Fn() -> u64) -> bool {
        let began = now();
        let claimed = self.claim_up_to(id, len, CLAIM_STEP_BYTES);
        let slow = claimed && now() - began > FAR_CACHE_NS;
        self.slow_steps = (self.slow_steps + if slow { 1 } else { -1 }).clamp(-8, 8);
        claimed
    }

    /// Returns true if claiming pays for blocks of this size, which are too large for `at_hand`.
    fn claims_large(&self, len: u64) -> bool {
        len > MAX_QUICK_BLOCK_BYTES && len <= MAX_CLAIMED_BYTES as u64 && (self.lends || self.slow_steps > 0)
    }

    /// Returns the index, in the free list of a class, of the last block that is claimed up to `len` bytes.
    pub(super) fn claimed_for(&self, class: usize, len: u64) -> Option<usize> {
        if !self.claims_large(len) {
            return None;
        }
        let Class { free, rotating, .. } = &self.classes[class];
        let fits = |claimed: usize| claimed >= len as usize && (claimed != usize::MAX || *rotating < 2);
        free.iter().rposition(|&id| fits(self.block(id).claimed))
    }

    /// Returns true if a second block of this size should be in use, so that the sender can claim one block
    /// while the other is being read.
    pub fn wants_another(&self, len: u64) -> bool {
        let (index, _) = class_of(len);
        self.claims_large(len)
            && self.classes.get(index).is_some_and(|class| class.rotating == 1)
            && self.claimed_for(index, len).is_none()
    }

    /// Called when there is no memory for a second block: `wants_another` does not ask for one again.
    pub fn no_other(&mut self, len: u64) {
        let (index, _) = class_of(len);
        self.class(index).rotating = 2;
    }

    /// Claims at most `step` more bytes among the first `len` bytes of a free block.
    fn claim_up_to(&mut self, id: BlockId, len: usize, step: usize) -> bool {
        let block = &mut self.blocks[id as usize];
        let end = len.min(block.populated).min(block.claimed.saturating_add(step));
        if block.claimed >= end {
            return false;
        }
        // SAFETY: the block is free, so no other code uses its memory. Its pages are in place up to
        // `populated`, which lies within its slab's mapping.
        unsafe { block.start.add(block.claimed).write_bytes(0, end - block.claimed) };
        block.claimed = end;
        true
    }

    /// Notes that the code fills the present blocks in place (loans).
    #[inline]
    pub fn lends(&mut self) {
        self.lends = true;
    }

    /// Notes that the present block is filled by a copy.
    #[inline]
    pub fn copies(&mut self) {
        self.lends = false;
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{grow, pool_with};
    use super::*;
    use crate::status::now;

    #[test]
    fn a_free_block_is_claimed_in_steps_and_a_block_with_a_reader_is_not_touched() {
        let mut pool = pool_with(16 << 10);
        let one = pool.take(10_000, |_, _, _| false).unwrap();
        pool.populate(one, 10_000).unwrap();
        let start = pool.place(one).start;
        let bytes = || unsafe { std::slice::from_raw_parts(start, 16 << 10) };
        unsafe { start.write_bytes(7, 16 << 10) };
        pool.used_by(one, 3);
        pool.posted(one);
        pool.reclaim(|_, _, _| false);
        while pool.claim(now) {}
        assert!(bytes().iter().all(|&byte| byte == 7));
        pool.reclaim(|_, _, _| true);
        assert!(pool.claim(now));
        assert!(bytes()[..CLAIM_STEP_BYTES].iter().all(|&byte| byte == 0) && bytes()[CLAIM_STEP_BYTES] == 7);
        pool.lends();
        while pool.claim(now) {}
        assert!(bytes()[..10_000].iter().all(|&byte| byte == 0) && bytes()[10_000] == 7);
        assert!(!pool.claim(now));
    }

    #[test]
    fn two_large_blocks_that_are_lent_go_round_so_that_one_can_be_claimed() {
        let len = 1 << 20;
        let mut pool = pool_with(len);
        let mut used = Vec::new();
        for round in 0..6 {
            if pool.wants_another(len) {
                grow(&mut pool, 1, len);
            }
            let block = pool.take(len, |_, _, _| true).unwrap();
            pool.populate(block, len as usize).unwrap();
            pool.lends();
            assert!(round < 3 || pool.block(block).claimed >= len as usize, "round {round}");
            pool.used_by(block, 0);
            pool.posted(block);
            used.push(block);
            // The reader has released the previous block, and still reads this one.
            if let [.., before, _] = used[..] {
                pool.reclaim(|_, id, _| id == before);
            }
            while pool.claim(now) {}
        }
        assert!(used[2..].windows(2).all(|two| two[0] != two[1]), "{used:?}");
        assert_eq!(used.iter().collect::<std::collections::BTreeSet<_>>().len(), 2);
    }
}
