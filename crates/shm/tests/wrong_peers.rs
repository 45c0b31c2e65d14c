//! The memory of a wrong or half-dead peer must lead to an error, never to a crash, an endless wait or a huge
//! allocation.
#![cfg(not(loom))]

mod common;

use common::{Conduit, Domain, SLAB_BYTES};
use ligament_shm::endpoint::{AgentNotice, Contiguous};
use ligament_shm::ring::Announcement;
use ligament_shm::status::now;
use ligament_shm::ShmError;
use ligament_wire::{
    array_head, flags, ArrayOrder, DType, EndpointId, Header, HeaderWords, MessageKind, Value,
};
use proptest::prelude::*;

fn domain() -> Domain {
    Domain::new(2, &[Conduit { from: 0, to: 1, budget: 1 << 20 }], 1 << 30)
}

fn header(kind: MessageKind, carrier_flags: u16, parts: u16, body_len: u64) -> Header {
    Header { kind, carrier_flags, parts, body_len, ..Header::default() }
}

/// Returns the receiver's outcome for one entry.
fn outcome(header: [u64; 8], body: &[u64], slab: &[u8]) -> Result<String, ShmError> {
    let domain = domain();
    let wrong = domain.wrong_sender(0, 64);
    wrong.fill(slab);
    wrong.publish(0, 0, header, body);
    let mut receiver = domain.endpoint(1);
    let (mut header, mut value) = (HeaderWords::default(), Value::None);
    receiver.receive_to(0, Some(now() + 1_000_000), &mut header, &mut value)?;
    Ok(format!("{value:?}"))
}

fn refused(header: Header, body: &[u64]) {
    let got = outcome(header.encode(), body, &[]);
    assert!(matches!(got, Err(ShmError::Malformed(_))), "{got:?}");
}

#[test]
fn a_body_longer_than_its_slot_is_refused() {
    refused(header(MessageKind::Data, 0, 0, 257), &[]);
}

#[test]
fn a_place_outside_of_its_slab_is_refused() {
    let placed = header(MessageKind::Data, flags::PLACED, 1, 24 + 40 + 4096);
    for place in [[0, SLAB_BYTES, 24], [0, u64::MAX - 63, 24], [0, SLAB_BYTES - 4032, 24]] {
        refused(placed, &place);
    }
}

#[test]
fn a_reference_to_a_head_that_never_came_is_refused() {
    refused(header(MessageKind::Data, flags::PLACED | flags::AS_BEFORE, 0, 0), &[]);
    refused(header(MessageKind::Data, flags::AS_BEFORE, 1, 4096), &[]);
    refused(header(MessageKind::Overlay, flags::PLACED | flags::AS_BEFORE, 1, 4096), &[]);
}

#[test]
fn a_place_that_refers_to_the_head_before_is_checked_like_any_other() {
    let mut head = Vec::new();
    let body_len = array_head(DType::UInt8, &[1024], ArrayOrder::RowMajor, None, &mut head).unwrap();
    let mut body = vec![0, 0, head.len() as u64];
    head.resize(head.len().next_multiple_of(8), 0);
    body.extend(head.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())));
    for place in [1u64 << 29, (SLAB_BYTES / 1024) << 18, (1 << 56) - 1] {
        let domain = domain();
        let wrong = domain.wrong_sender(0, 64);
        wrong.publish(0, 0, header(MessageKind::Data, flags::PLACED, 1, body_len).encode(), &body);
        let mut second = header(MessageKind::Data, flags::PLACED | flags::AS_BEFORE, 0, place);
        second.sequence = 1;
        let mut receiver = domain.endpoint(1);
        let (mut header, mut value) = (HeaderWords::default(), Value::None);
        receiver.receive_to(0, Some(now() + 1_000_000), &mut header, &mut value).unwrap();
        wrong.publish(0, 1, second.encode(), &[]);
        let got = receiver.receive_to(0, Some(now() + 1_000_000), &mut header, &mut value);
        assert!(matches!(got, Err(ShmError::Malformed(_))), "{place}: {got:?}");
    }
}

#[test]
fn a_slab_that_does_not_exist_is_refused() {
    refused(header(MessageKind::Data, flags::PLACED, 1, 4096), &[77, 0, 24]);
}

#[test]
fn a_head_longer_than_its_body_is_refused() {
    refused(header(MessageKind::Data, flags::PLACED, 1, 100), &[0, 0, 101]);
    refused(header(MessageKind::Data, flags::PLACED, 1, 4096), &[0, 0, u64::MAX]);
}

#[test]
fn a_message_for_a_channel_that_ends_elsewhere_is_refused() {
    refused(Header { conduit: 5, ..header(MessageKind::Data, 0, 0, 0) }, &[]);
    refused(Header { conduit: u32::MAX, ..header(MessageKind::Data, 0, 0, 0) }, &[]);
}

#[test]
fn a_message_out_of_sequence_is_refused() {
    refused(Header { sequence: 1, ..header(MessageKind::Data, 0, 0, 0) }, &[]);
}

#[test]
fn a_chunk_of_nothing_is_refused() {
    refused(header(MessageKind::Data, flags::STREAM, 0, 1 << 20), &[0, 0, 4096, 4096]);
    refused(header(MessageKind::Data, flags::STREAM, 0, 10), &[0, 0, 4096, 0]);
}

#[test]
fn a_chunk_of_an_impossible_message_is_an_error_and_no_allocation() {
    let got =
        outcome(header(MessageKind::Data, flags::STREAM, 0, (1 << 56) - 1).encode(), &[0, 0, 4096, 0], &[]);
    assert!(matches!(got, Err(ShmError::OutOfMemory { .. })), "{got:?}");
}

#[test]
fn a_jump_out_of_the_outbox_is_refused() {
    for (offset, slots) in [(1 << 40, 64), (4096, u64::MAX), (4097, 64), (0, 0), (u64::MAX - 4095, 64)] {
        refused(header(MessageKind::Carrier, 0, 0, 0), &[offset, slots]);
    }
}

#[test]
fn a_ring_that_cannot_be_is_refused() {
    for (offset, slots) in [(4096, u32::MAX), (1 << 50, 64), (7, 64), (0, 1)] {
        let domain = domain();
        domain.wrong_sender(0, 64);
        let fd = ligament_shm::memory::create("other", 4096).unwrap();
        domain
            .tell(1, AgentNotice::RingOpened { from: EndpointId::new(0), outbox: fd, offset, slots, inbox: 0 });
        let got = domain.endpoint(1).receive(0, Some(now() + 1_000_000)).map(|_| ());
        assert!(matches!(got, Err(ShmError::Malformed(_) | ShmError::System { .. })), "{got:?}");
    }
}

#[test]
fn a_sender_that_died_before_it_published_is_waited_for_and_not_read() {
    let domain = domain();
    let wrong = domain.wrong_sender(0, 64);
    wrong.fill(&[1; 4096]);
    let mut receiver = domain.endpoint(1);
    assert!(matches!(receiver.receive(0, Some(now() + 1_000_000)), Err(ShmError::TimedOut)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// The receiver checks the announcement of a message as strictly as the message.
    #[test]
    fn no_announcement_whatever_makes_a_receiver_fall(
        bytes in prop_oneof![0u64..300_000, any::<u64>()],
        channel in prop_oneof![Just(0u64), any::<u64>()],
        sequence in prop_oneof![Just(1u64), any::<u64>()],
        place in prop_oneof![0u64..5000, any::<u64>()],
    ) {
        const LEN: usize = 200_000;
        let domain = domain();
        let wrong = domain.wrong_sender(0, 64);
        let mut head = Vec::new();
        array_head(DType::UInt8, &[LEN as u64], ArrayOrder::RowMajor, None, &mut head).unwrap();
        let mut receiver = domain.endpoint(1);
        let before = Contiguous { head: &head, number: 1, data: &[9; LEN] };
        let mut sender = domain.endpoint(0);
        sender.send(&[0], HeaderWords::from(header(MessageKind::Data, 0, 0, 0)), &before).unwrap();
        let (mut header, mut value) = (HeaderWords::default(), Value::None);
        receiver.receive_to(0, None, &mut header, &mut value).unwrap();
        wrong.announce(0, 1, bytes, Announcement { channel, sequence, place });
        domain.tell(1, AgentNotice::RunEnds("over".into()));
        let outcome = receiver.follow_into(0, |_| true, &mut vec![0; LEN]);
        prop_assert!(matches!(outcome, Err(ShmError::RunEnds(_))), "{outcome:?}");
    }

    #[test]
    fn no_slot_whatever_makes_a_receiver_fall(
        words in prop::array::uniform8(any::<u64>()),
        kind in prop::sample::select(vec![1u8, 2, 3, 4, 15, 64]),
        flag_bits in any::<u16>(),
        body in prop::collection::vec(prop_oneof![any::<u64>(), 0u64..5000], 0..32),
        slab in prop::collection::vec(any::<u8>(), 0..512),
        len in prop_oneof![0u64..300, 0u64..70_000, any::<u64>()],
    ) {
        let mut words = words;
        // The words have a valid version, kind, channel and sequence, so that the later checks are reached.
        let flag_bits = flag_bits & flags::KNOWN;
        words[0] = 1 | u64::from(kind) << 8 | u64::from(flag_bits) << 16;
        words[1] = 0;
        words[6] &= 0x0003_ffff_ffff_ffff;
        words[7] = len & ((1 << 56) - 1);
        let _ = outcome(words, &body, &slab);
    }
}
