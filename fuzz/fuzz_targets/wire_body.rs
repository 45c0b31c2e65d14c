//! Any bytes are a body or an error, in one piece or two; a value that was read can be sent and read again.
//! The first byte is the number of parts; the rest is the body.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ligament_wire::Bytes;
use ligament_wire::{align_part, decode, decode_body, head_len, Encoder, Limits, ValueRef};

fuzz_target!(|bytes: &[u8]| {
    let Some((&parts, body)) = bytes.split_first() else {
        return;
    };
    let parts = u16::from(parts);
    let limits = Limits { head: 1 << 20, items: 1 << 16 };
    let whole = decode_body(parts, Bytes::copy_from_slice(body), &limits);

    if let Ok(head) = head_len(parts, body) {
        let first = if parts == 0 { body.len() as u64 } else { align_part(head) };
        if head <= body.len() as u64 && first <= body.len() as u64 {
            let rest = Bytes::copy_from_slice(&body[first as usize..]);
            let pieces = decode(parts, body.len() as u64, &body[..head as usize], rest, &limits);
            assert_eq!(format!("{pieces:?}"), format!("{whole:?}"));
        }
    }

    let Ok(value) = whole else { return };
    let mut encoder = Encoder::new();
    let plan = encoder.plan(&ValueRef::Owned(&value)).expect("what was received can be sent");
    let mut written = vec![0xee; plan.body_len() as usize];
    plan.write_body(&mut written);
    let again = decode_body(plan.parts(), Bytes::from(written.clone()), &limits)
        .expect("what was sent can be received");

    let plan = encoder.plan(&ValueRef::Owned(&again)).expect("what was received can be sent");
    let mut pieces = vec![0xee; plan.body_len() as usize];
    for (index, piece) in pieces.chunks_mut(37).enumerate() {
        let start = index as u64 * 37;
        plan.copy_range(start..start + piece.len() as u64, piece);
    }
    assert_eq!(pieces, written);
});
