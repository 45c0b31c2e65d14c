//! Tests that a reader allocates memory for data that is there, and not for lengths that a message claims.
//! All checks are in one test, because the allocator counts for the whole process.

use ligament_wire::Bytes;
use ligament_wire::*;
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

#[test]
fn claimed_lengths_do_not_make_the_reader_ask_for_memory() {
    // 64 nested lists. Each list claims as many items as bytes remain, but no items follow the last one.
    let size: usize = 1 << 20;
    let mut tree = Vec::with_capacity(size);
    for level in 0..64 {
        tree.push(0x9a);
        tree.extend_from_slice(&((size - 5 * (level + 1)) as u32).to_be_bytes());
    }
    tree.resize(size, 0xf7);
    let mut body = (tree.len() as u64).to_le_bytes().to_vec();
    body.append(&mut tree);
    let body = Bytes::from(body);
    drop(tree);

    ALLOCATOR.reset_peak_usage();
    let before = ALLOCATOR.current_usage();
    let result = decode_body(0, body, &Limits::default());
    let asked = ALLOCATOR.peak_usage() - before;
    assert!(result.is_err());
    assert!(asked < 4 << 20, "{asked} bytes for a message of {size}");

    // Planning a plain array again allocates no memory.
    let numbers = vec![1.0_f64; 1 << 20];
    let mut encoder = Encoder::new();
    let array = ArrayRef::from_slice(&numbers, &[1 << 20], ArrayOrder::RowMajor);
    encoder.plan_array(&array).unwrap();
    ALLOCATOR.reset_peak_usage();
    let before = ALLOCATOR.current_usage();
    encoder.plan(&ValueRef::Array(array)).unwrap();
    assert_eq!(ALLOCATOR.peak_usage(), before, "planning a plain array asked for memory");
}
