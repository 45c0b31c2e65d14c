//! Tests of `BlockPool`, without an endpoint.

use super::*;
use crate::memory::create;

pub fn pool_with(len: u64) -> BlockPool {
    let mut pool = BlockPool::new();
    grow(&mut pool, 0, len);
    pool
}

pub fn grow(pool: &mut BlockPool, id: u32, len: u64) {
    let size = slab_size(len) as usize;
    let fd = create("test", size).unwrap();
    pool.add_slab(id, Mapping::writable(&fd, 0, size).unwrap(), len).unwrap();
}

#[test]
fn classes_waste_at_most_an_eighth_above_256_kib_and_half_below() {
    let mut last = (0, 0);
    for len in (1..4096).chain((1..4000).map(|i| i * 1531)).chain([5 << 30, (5 << 30) + 1]) {
        let (class, size) = class_of(len);
        assert!(size >= len, "{len} in {size}");
        assert!(size <= (2 * len).max(MIN_BLOCK_BYTES));
        if len > MAX_SHARED_BLOCK_BYTES {
            assert!(size - len <= len / 8, "{len} wastes {}", size - len);
        }
        if len > last.0 {
            assert!(class >= last.1);
            last = (len, class);
        }
    }
}

#[test]
fn a_place_comes_out_of_its_56_bits_as_it_went_in() {
    for (block, slab, offset) in [(0, 0, 0), (MAX_BLOCKS as u32 - 1, 77, 2047 << 10), (5, (1 << 27) - 1, 1024)]
    {
        let packed = packed(block, slab, offset).unwrap();
        assert!(packed < 1 << 56);
        assert_eq!(unpacked(packed), (block, slab, offset));
    }
    assert_eq!(packed(MAX_BLOCKS as u32, 0, 0), None);
    assert_eq!(packed(0, 1 << 27, 0), None);
    assert_eq!(packed(0, 0, 2 << 20), None);
}

#[test]
fn two_lengths_of_one_class_have_one_block_size() {
    for len in (1..2_000_000u64).step_by(977) {
        let (class, size) = class_of(len);
        assert_eq!(class_of(size), (class, size));
    }
}

#[test]
fn the_same_large_block_comes_again_once_its_reader_has_released_it() {
    let mut pool = pool_with(1 << 20);
    let first = pool.take(1 << 20, |_, _, due| due == 0).unwrap();
    pool.used_by(first, 7);
    pool.posted(first);
    assert_eq!(pool.take(1_000_000, |_, _, _| false), None);
    assert_eq!(pool.take(1 << 20, |reader, _, due| u32::from(reader == 7) == due), Some(first));
}

#[test]
fn a_small_block_comes_again_once_a_quiet_moment_has_reclaimed_it() {
    let mut pool = pool_with(4096);
    let first = pool.take(4096, |_, _, due| due == 0).unwrap();
    pool.used_by(first, 7);
    pool.posted(first);
    pool.reclaim(|_, _, _| false);
    let second = pool.take(4000, |_, _, _| panic!("a free block is at hand")).unwrap();
    assert_ne!(first, second);
    pool.give_back(second);
    pool.reclaim(|_, _, _| true);
    assert_eq!(pool.take(4096, |_, _, _| panic!("a free block is at hand")), Some(first));
}

#[test]
fn a_block_with_two_readers_waits_for_both() {
    let mut pool = pool_with(1 << 20);
    let block = pool.take(1 << 20, |_, _, due| due == 0).unwrap();
    pool.used_by(block, 1);
    pool.used_by(block, 2);
    pool.posted(block);
    assert_eq!(pool.take(1 << 20, |reader, _, due| u32::from(reader == 1) == due), None);
    assert_eq!(pool.take(1 << 20, |_, _, due| due == 1), Some(block));
}

#[test]
fn one_pinned_block_does_not_keep_the_others_from_coming_back() {
    let mut pool = pool_with(300 << 10);
    for id in 1..3 {
        grow(&mut pool, id, 300 << 10);
    }
    let blocks: Vec<_> = (0..3).map(|_| pool.take(300 << 10, |_, _, due| due == 0).unwrap()).collect();
    for &block in &blocks {
        pool.used_by(block, 0);
        pool.posted(block);
    }
    let pinned = blocks[0];
    let got = pool.take(300 << 10, |_, block, due| u32::from(block != pinned) == due);
    assert!(got.is_some() && got != Some(pinned));
}

#[test]
fn a_slab_of_small_blocks_goes_back_once_all_of_them_are_free() {
    let mut pool = pool_with(1000);
    grow(&mut pool, 1, 50_000);
    let blocks: Vec<_> = (0..3).map(|_| pool.take(1000, |_, _, _| false).unwrap()).collect();
    for &block in &blocks {
        pool.used_by(block, 0);
        pool.posted(block);
    }
    let held = blocks[1];
    assert_eq!(pool.trim(u64::MAX, |_, block, _| block != held), [1]);
    assert_eq!(pool.trim(u64::MAX, |_, _, _| true), [0]);
    assert_eq!(pool.take(1000, |_, _, _| true), None);
    // The blocks of the next slab get the numbers that the blocks of the dropped slab had.
    grow(&mut pool, 2, 1000);
    assert!(pool.take(1000, |_, _, _| false).is_some());
}

#[test]
fn trimming_gives_back_what_no_reader_holds() {
    let mut pool = pool_with(1 << 20);
    grow(&mut pool, 1, 1 << 20);
    let held = pool.take(1 << 20, |_, _, due| due == 0).unwrap();
    pool.used_by(held, 0);
    pool.posted(held);
    assert_eq!(pool.trim(u64::MAX, |_, _, due| due == 0).len(), 1);
    assert!(pool.any_outstanding());
    assert_eq!(pool.trim(u64::MAX, |_, _, due| due == 1).len(), 1);
    assert!(!pool.any_outstanding());
}
