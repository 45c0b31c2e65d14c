//! Messages of an agent to the head of a run, and of the head to the agent: bad ones are refused, accepted ones
//! lead nowhere out of a table, and a message is the same after it was written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ligament_agent::domains::plan_from_wire;
use ligament_manager::domains::{DomainRoster, Head};
use ligament_wire::control::to_bytes;
use ligament_wire::domains::{from_bytes, Extent, FromAgent, FromHead};
use ligament_wire::{DomainId, Ranks};
use std::time::Duration;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(message) = from_bytes::<FromAgent>(bytes) {
        let written = to_bytes(&message);
        // Compared as bytes, since not every number is equal to itself.
        assert_eq!(from_bytes::<FromAgent>(&written).map(|again| to_bytes(&again)).as_ref(), Ok(&written));
    }
    let _ = DomainRoster::new(Vec::new()).heard(DomainId::new(1), bytes);
    let placement = [0, 1, 2, 1].map(DomainId::new).to_vec();
    let ranks = Ranks::new([1, 2, 1, 1]);
    let extent = Extent { placement, ranks, channels: 4, inputs: 0 };
    let mut head = Head::new(extent, vec!["a".into(), "b".into()], Duration::from_secs(60), 1);
    for domain in [1, 2, 7].map(DomainId::new) {
        head.heard(domain, bytes, 1_000_000);
    }
    head.tick(2_000_000);
    head.release();
    match from_bytes::<FromHead>(bytes) {
        Ok(FromHead::Begin(begin)) if begin.check(DomainId::new(1)).is_ok() => {
            let (plan, placement) = plan_from_wire(&begin.plan);
            assert_eq!(plan.instances.len(), placement.len());
        }
        Ok(message) => {
            let written = to_bytes(&message);
            assert_eq!(from_bytes::<FromHead>(&written).map(|again| to_bytes(&again)).as_ref(), Ok(&written));
        }
        Err(_) => {}
    }
});
