//! Any value is a map of a part of an array or none; a route between such a map and another part copies without
//! leaving either part. The first byte is the number of parts; the rest is the body of a message with a map.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ligament_exchange::{Coverage, IndexMap, Part, PartLayout, Route};
use ligament_wire::{decode_body, ArrayOrder, Bytes, Limits};

/// The shapes of the arrays to which a map may belong.
const SHAPES: [&[u64]; 3] = [&[40], &[4, 6], &[3, 2, 5]];
/// Numbers of elements of another part. They lie in each of the arrays.
const NUMBERS: [i64; 6] = [23, 0, 7, 8, 9, 11];

fuzz_target!(|bytes: &[u8]| {
    let Some((&parts, body)) = bytes.split_first() else { return };
    let limits = Limits { head: 1 << 20, items: 1 << 16 };
    let Ok(value) = decode_body(u16::from(parts), Bytes::copy_from_slice(body), &limits) else { return };
    for array in SHAPES {
        let Some(map) = IndexMap::from_value(array, &value) else { continue };
        let from = vec![1u8; map.len() as usize];
        let range = Part::Range { begin: 2, end: 20 };
        for other in [Part::List(&NUMBERS), range] {
            let Ok(own) = IndexMap::new(array, other) else { continue };
            for order in [ArrayOrder::RowMajor, ArrayOrder::ColumnMajor] {
                let route = Route::new(array, PartLayout { map: &map, order }, PartLayout { map: &own, order });
                let mut to = vec![0u8; own.len() as usize];
                route.copy(1, &from, &mut to);
                let mut coverage = Coverage::new(own.len());
                if coverage.add(&route).is_ok() && coverage.gap().is_none() {
                    assert!(to.iter().all(|element| *element == 1), "each element was copied");
                }
            }
        }
    }
});
