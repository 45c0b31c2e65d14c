//! Reads any text as filters, as formula and as unit; writes the filters again; and lets messages through those
//! that can be.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ligament_filters::{FilterContext, Chain, Data, Parcel, Unit};
use ligament_model::Filter;
use ligament_wire::{Array, ArrayOrder, Value};

/// Parameters that are larger are legal, and take time and memory.
const SMALL: u64 = 1000;

fn is_small(filter: &Filter) -> bool {
    let count = |name| filter.count(name).is_none_or(|count| count <= SMALL);
    let counts = filter.counts("shape").unwrap_or_default();
    ["n", "parts"].into_iter().all(count) && counts.iter().product::<u64>() <= SMALL
}

fn through(filters: &[Filter]) {
    let Ok(Some(mut chain)) = Chain::at_receiver(filters, &FilterContext::NOTHING) else { return };
    let array =
        Array::from_slice(&[1.0, -2.0, 0.5, 4.0, 0.0, 1e300], &[2, 3], ArrayOrder::RowMajor).expect("an array");
    for (time, value) in
        [(0.0, Value::Float(1.5)), (1.0, Value::Int(-3)), (2.0, Value::Array(array)), (3.0, Value::None)]
    {
        let parcel = Parcel { timestamp: time, next_timestamp: Some(time + 1.0), data: Data::Kept(value) };
        if let Ok(passed) = chain.apply(parcel) {
            assert!(passed.parcels.iter().all(|parcel| parcel.timestamp.is_finite()));
        }
    }
    let _ = chain.finish();
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let quoted = format!("{text:?}");
    for whole in [text.to_owned(), format!("[{{expression: {quoted}}}]"), format!("[{{slice: {quoted}}}]")] {
        let Ok(filters) = Filter::read(&whole) else { continue };
        assert_eq!(Filter::read(&Filter::write(&filters)).expect("what was written can be read"), filters);
        if filters.len() < 6 && filters.iter().all(is_small) {
            through(&filters);
        }
    }
    if let Ok(unit) = Unit::parse(text) {
        assert!(unit.converts_to(&unit));
    }
});
