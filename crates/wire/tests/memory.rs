//! A reader asks for memory as data turns up, not as a message claims. One test, since it watches the process.

use ligament_wire::Bytes;
use ligament_wire::*;
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

#[test]
fn claimed_lengths_do_not_make_the_reader_ask_for_memory() {
    // Sixty-four lists within each other, each of which claims as many items as bytes remain, and then nothing
    // that a list could hold.
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

    // A plain array is read without any memory but the handle that shares its bytes.
    let numbers = vec![1.0_f64; 1 << 20];
    let mut encoder = Encoder::new();
    let array = ArrayRef::from_slice(&numbers, &[1 << 20], ArrayOrder::RowMajor);
    encoder.plan_array(&array).unwrap();
    ALLOCATOR.reset_peak_usage();
    let before = ALLOCATOR.current_usage();
    encoder.plan(&ValueRef::Array(array)).unwrap();
    assert_eq!(ALLOCATOR.peak_usage(), before, "planning a plain array asked for memory");
}
