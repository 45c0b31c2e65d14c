//! Tests one end of a path with frames: in order, out of order, valid and invalid.

use ligament_path::{
    Action, Destination, FrameHeader, FrameKind, MessageId, OutgoingFrame, Path, PathOptions, HEADER_BYTES,
};
use proptest::prelude::*;

/// Longer than an acknowledgement may be delayed, and shorter than a stream may send nothing (ns).
const MOMENT_NS: u64 = 100_000_000;

fn piece(conduit: u32, number: u64, offset: u64, len: u32, total: u64) -> FrameHeader {
    FrameHeader { kind: FrameKind::Piece, codec: 0, stored: len, len, conduit, number, offset, total }
}

fn end(tuning: PathOptions, streams: u16) -> Path {
    let mut path = Path::new(tuning, 0);
    (0..streams).for_each(|stream| path.stream_up(stream, 1, 0));
    path
}

fn actions(path: &mut Path) -> Vec<Action> {
    std::iter::from_fn(|| path.action()).filter(|action| *action != Action::Write).collect()
}

fn conduit_of(frame: Option<OutgoingFrame>) -> u32 {
    match frame {
        Some(OutgoingFrame::Piece { id, .. }) => id.conduit,
        other => panic!("a piece is due, and not {other:?}"),
    }
}

#[test]
fn small_messages_do_not_queue_behind_large_ones_on_one_stream_or_on_two() {
    for streams in [1, 2] {
        let mut path = end(PathOptions::default(), streams);
        path.send(1, 100 << 20);
        if streams == 1 {
            assert_eq!(conduit_of(path.next(0, 1)), 1);
        } else {
            assert_eq!(path.next(0, 1), None, "the first stream is for small ones");
            assert_eq!(conduit_of(path.next(1, 1)), 1);
        }
        path.send(2, 8);
        assert_eq!(conduit_of(path.next(0, 2)), 2);
    }
}

#[test]
fn what_is_a_part_of_something_large_goes_with_the_large_ones_and_in_order() {
    let mut path = end(PathOptions::default(), 2);
    path.send_as_large(1, 8);
    path.send(1, 8);
    path.send_as_large(1, 8);
    let number = |frame: Option<OutgoingFrame>| match frame {
        Some(OutgoingFrame::Piece { id, .. }) => id.number,
        other => panic!("a piece is due, and not {other:?}"),
    };
    assert_eq!(number(path.next(0, 1)), 2);
    assert_eq!(path.next(0, 1), None);
    assert_eq!([path.next(1, 1), path.next(1, 1)].map(number), [1, 3]);
    // After the stream breaks, the same frames go by its new incarnation, not by stream 0.
    path.stream_down(1, 2);
    path.stream_up(1, 2, 2);
    assert_eq!(path.next(0, 2), None);
    assert_eq!([path.next(1, 2), path.next(1, 2)].map(number), [1, 3]);
}

#[test]
fn conduits_with_large_messages_take_turns() {
    let mut path = end(PathOptions::default(), 2);
    path.send(1, 100 << 20);
    path.send(2, 100 << 20);
    let order: Vec<u32> = (0..6).map(|_| conduit_of(path.next(1, 1))).collect();
    assert_eq!(order, [1, 2, 1, 2, 1, 2]);
}

#[test]
fn a_message_waits_for_those_before_it_on_its_conduit_and_for_no_others() {
    let mut path = end(PathOptions::default(), 2);
    for (conduit, number) in [(1, 2), (2, 1)] {
        path.begins(0, &piece(conduit, number, 0, 5, 5), 1).unwrap();
        path.finished(0, 1);
    }
    let other = MessageId { conduit: 2, number: 1 };
    assert_eq!(actions(&mut path), [Action::Deliver(other)]);
    path.begins(1, &piece(1, 1, 0, 5, 5), 2).unwrap();
    path.finished(1, 2);
    let due = [1, 2].map(|number| Action::Deliver(MessageId { conduit: 1, number }));
    assert_eq!(actions(&mut path), due);
}

#[test]
fn a_piece_that_comes_twice_is_dropped_and_counted_and_its_memory_is_not_asked_for_again() {
    let mut path = end(PathOptions::default(), 2);
    let whole = piece(1, 1, 0, 5, 5);
    assert!(matches!(path.begins(0, &whole, 1).unwrap(), Destination::Message { first: true, .. }));
    // The same piece arrives on another stream before the first one is whole.
    assert!(matches!(path.begins(1, &whole, 1).unwrap(), Destination::Message { first: false, .. }));
    path.finished(0, 2);
    assert!(!path.is_wanted(MessageId { conduit: 1, number: 1 }), "the rest of the second goes nowhere");
    path.finished(1, 2);
    assert_eq!(path.begins(0, &whole, 3).unwrap(), Destination::Nowhere { stored: 5 });
    path.finished(0, 3);
    assert_eq!(actions(&mut path).len(), 1);
    let Some(OutgoingFrame::Control { header, bytes }) = path.next(0, 1_000_000_000) else {
        panic!("it is told")
    };
    assert_eq!((header.kind, bytes.len()), (FrameKind::Acknowledgement, 32));
    assert_eq!((bytes[8], bytes[24]), (2, 1), "frames on each stream");
}

#[test]
fn what_was_told_of_one_stream_on_another_that_broke_is_told_again() {
    let mut path = end(PathOptions::default(), 2);
    path.begins(1, &piece(1, 1, 0, 5, 5), 1).unwrap();
    path.finished(1, 1);
    let told = path.next(0, 1_000_000_000);
    assert!(matches!(told, Some(OutgoingFrame::Control { .. })));
    assert_eq!(path.next(0, 1_000_000_001), None);
    path.stream_down(0, 1_000_000_002);
    assert_eq!(path.next(1, 1_000_000_003), told, "nobody knows whether it has come");
}

#[test]
fn a_stream_that_has_nothing_to_say_gives_a_sign_of_life_and_a_silent_one_is_closed() {
    let tuning = PathOptions::default();
    let mut path = end(tuning, 1);
    assert_eq!(path.next(0, tuning.heartbeat - 1), None);
    let Some(OutgoingFrame::Control { header, .. }) = path.next(0, tuning.heartbeat) else {
        panic!("a heartbeat")
    };
    assert_eq!(header.kind, FrameKind::Heartbeat);
    assert_eq!(path.deadline(), Some(2 * tuning.heartbeat));
    path.tick(tuning.silence - 1);
    assert_eq!(actions(&mut path), []);
    path.tick(tuning.silence);
    assert_eq!(actions(&mut path), [Action::Close { stream: 0 }]);
    path.tick(tuning.silence + tuning.patience);
    assert_eq!(actions(&mut path), [Action::GiveUp]);
    assert_eq!(path.deadline(), None);
}

/// Lets the other end send its `End` frame, and acknowledge all frames of this end up to its own `End` frame.
fn hear_the_end(path: &mut Path, stream: u16, frames: u64, now: u64) {
    let end = FrameHeader { kind: FrameKind::End, ..piece(0, 0, 0, 0, 0) };
    assert_eq!(path.begins(stream, &end, now).unwrap(), Destination::Done);
    let heard = [&u32::from(stream).to_le_bytes()[..], &1u32.to_le_bytes(), &frames.to_le_bytes()].concat();
    path.acknowledged(stream, &heard, now).unwrap();
}

#[test]
fn an_end_that_lacks_only_the_others_last_word_does_not_wait_for_it_for_long() {
    let tuning = PathOptions::default();
    let mut path = end(tuning, 1);
    path.end();
    hear_the_end(&mut path, 0, 0, 1);
    path.stream_down(0, 1);
    assert_eq!(path.deadline(), Some(1 + tuning.farewell));
    path.tick(tuning.farewell);
    assert_eq!(actions(&mut path), []);
    path.tick(1 + tuning.farewell);
    assert_eq!(actions(&mut path), [Action::Ended]);
    path.tick(1 + tuning.patience);
    assert_eq!((actions(&mut path), path.deadline()), (vec![], None), "that was all");
}

#[test]
fn an_end_that_has_something_to_say_waits_for_a_stream_as_long_as_its_patience_lasts() {
    let tuning = PathOptions::default();
    let mut path = end(tuning, 1);
    path.send(1, 10);
    path.end();
    hear_the_end(&mut path, 0, 0, 1);
    path.stream_down(0, 1);
    path.tick(1 + tuning.farewell);
    assert_eq!(actions(&mut path), []);
    path.tick(1 + tuning.patience);
    assert_eq!(actions(&mut path), [Action::GiveUp]);
}

#[test]
fn what_has_come_is_told_with_whatever_is_said_and_else_only_after_a_while() {
    let mut path = end(PathOptions::default(), 1);
    path.begins(0, &piece(1, 1, 0, 5, 5), 7).unwrap();
    path.finished(0, 7);
    assert_eq!(path.next(0, 8), None, "nothing is said only to tell that");
    path.send(2, 5);
    assert_eq!(conduit_of(path.next(0, 9)), 2);
    let Some(OutgoingFrame::Control { header, .. }) = path.next(0, 9) else {
        panic!("it is told in the same moment")
    };
    assert_eq!(header.kind, FrameKind::Acknowledgement);
    assert_eq!(path.next(0, 9), None, "once");
}

#[test]
fn an_end_that_has_sent_its_last_asks_for_news_and_gets_it_at_once() {
    let (mut here, mut there) = (end(PathOptions::default(), 1), end(PathOptions::default(), 1));
    here.send(1, 5);
    here.end();
    conduit_of(here.next(0, MOMENT_NS));
    let Some(OutgoingFrame::Control { header, .. }) = here.next(0, MOMENT_NS) else { panic!("it asks") };
    assert_eq!((header.kind, header.number, here.next(0, MOMENT_NS)), (FrameKind::Heartbeat, 1, None), "once");
    there.begins(0, &piece(1, 1, 0, 5, 5), 2 * MOMENT_NS).unwrap();
    there.finished(0, 2 * MOMENT_NS);
    assert_eq!(there.next(0, 2 * MOMENT_NS), None);
    there.begins(0, &header, 2 * MOMENT_NS).unwrap();
    let Some(OutgoingFrame::Control { header, bytes }) = there.next(0, 2 * MOMENT_NS) else {
        panic!("it is told")
    };
    assert_eq!(header.kind, FrameKind::Acknowledgement);
    here.acknowledged(0, &bytes, 3 * MOMENT_NS).unwrap();
    let Some(OutgoingFrame::Control { header, .. }) = here.next(0, 3 * MOMENT_NS) else {
        panic!("this was all")
    };
    assert_eq!(header.kind, FrameKind::End);
}

#[test]
fn what_is_due_and_waits_for_its_stream_does_not_call_for_another_tick() {
    let tuning = PathOptions::default();
    let mut path = end(tuning, 1);
    path.begins(0, &piece(1, 1, 0, 5, 5), 7).unwrap();
    path.finished(0, 7);
    assert_eq!(path.deadline(), Some(7 + tuning.tell_after));
    path.tick(7 + tuning.tell_after);
    assert!(path.has_next(0, 7 + tuning.tell_after), "it is to be told");
    assert_eq!(path.deadline(), Some(tuning.heartbeat), "the stream may be full");
    path.tick(tuning.heartbeat);
    assert_eq!(path.deadline(), Some(7 + tuning.silence));
}

#[test]
fn a_path_is_quiet_when_all_that_was_sent_is_known_to_have_come() {
    let mut path = end(PathOptions::default(), 1);
    assert!(path.is_quiet());
    path.credit(3, 100);
    assert!(!path.is_quiet(), "credit waits");
    path.next(0, 1).unwrap();
    assert!(!path.is_quiet(), "credit is under way");
    let heard = [&0u32.to_le_bytes()[..], &1u32.to_le_bytes(), &1u64.to_le_bytes()].concat();
    path.acknowledged(0, &heard, 2).unwrap();
    assert!(path.is_quiet());
}

#[test]
fn frames_that_break_the_rules_are_refused_with_what_is_wrong() {
    let tuning = PathOptions { longest: 1000, most: 10, conduits: 2, ..PathOptions::default() };
    let refused = |frames: &[FrameHeader], because: &str| {
        let mut path = end(tuning, 1);
        let outcome = frames.iter().try_for_each(|frame| {
            path.begins(0, frame, 1)?;
            path.finished(0, 1);
            Ok::<(), ligament_path::FrameError>(())
        });
        let text = outcome.expect_err(because).to_string();
        assert!(text.contains(because), "{text}");
    };
    refused(&[piece(1, 1, 0, 10, 1001)], "at most 1000 are taken");
    refused(&[piece(1, 11, 0, 10, 10)], "more than 10 messages of conduit 1");
    refused(&[piece(1, 1, 0, 10, 100), piece(1, 1, 10, 10, 101)], "has 100 bytes, and 101");
    refused(&[piece(2, 1, 0, 10, 10)], "conduit 2, where there are 2");
    // Each separate piece costs memory.
    let scattered: Vec<FrameHeader> = (0..400).map(|at| piece(1, 1, 2 * at, 1, 1000)).collect();
    refused(&scattered, "in too many pieces");
    let mut path = end(tuning, 1);
    assert!(path.begins(3, &piece(1, 1, 0, 1, 1), 1).unwrap_err().to_string().contains("stream 3"));
    path.begins(0, &piece(1, 1, 0, 1, 1), 1).unwrap();
    assert!(path.begins(0, &piece(1, 2, 0, 1, 1), 1).unwrap_err().to_string().contains("within a frame"));
    let lie = [&0u32.to_le_bytes()[..], &1u32.to_le_bytes(), &7u64.to_le_bytes()].concat();
    assert!(path.acknowledged(0, &lie, 1).unwrap_err().to_string().contains("more than were sent"));
    assert!(path.acknowledged(0, &lie[..15], 1).unwrap_err().to_string().contains("15 bytes"));
}

#[test]
fn a_header_of_any_other_kind_or_with_impossible_lengths_is_refused() {
    let good = piece(1, 1, 0, 5, 10).encode();
    assert_eq!(FrameHeader::decode(&good).unwrap(), piece(1, 1, 0, 5, 10));
    for (at, value) in [(0, 0), (0, 6), (2, 1), (4, 6), (11, 1), (16, 0), (24, 6), (31, 255), (32, 4)] {
        let mut bad = good;
        bad[at] = value;
        assert!(FrameHeader::decode(&bad).is_err(), "byte {at} = {value}");
    }
}

proptest! {
    #[test]
    fn no_header_makes_an_end_fall_and_a_header_that_is_taken_stays_the_same(
        mut bytes in any::<[u8; HEADER_BYTES]>(), kind in 1u8..6, zeros in any::<bool>()
    ) {
        bytes[0] = kind;
        (bytes[2], bytes[3]) = (0, 0);
        if zeros {
            // Most headers with small numbers are accepted.
            for at in [5, 6, 7, 9, 10, 11].into_iter().chain(17..24).chain(25..32).chain(34..40) {
                bytes[at] = 0;
            }
            (bytes[1], bytes[8]) = (0, bytes[4]);
        }
        if let Ok(header) = FrameHeader::decode(&bytes) {
            prop_assert_eq!(header.encode(), bytes);
            let mut path = end(PathOptions { longest: 1 << 20, ..PathOptions::default() }, 1);
            let _ = path.begins(0, &header, 1);
            path.finished(0, 2);
            let _ = path.acknowledged(0, &bytes[..16], 3);
        }
    }
}
