//! Tests of `Flow`: the number of streams of a link, the number of bytes that each takes at a time, and the
//! stuck streams, as they follow from the kernel's reports.

use ligament_path::{Flow, Gauge, Limit, LinkShape, OutgoingFrame, Path, PathOptions, RelayDistance, StreamId};
use std::collections::BTreeMap;

const MS: u64 = 1_000_000;

/// Returns the minimum and the maximum length of a piece.
fn pieces(flow: &Flow) -> (u32, u32) {
    (flow.shape().min_piece, flow.shape().max_piece)
}

/// Makes the reports of streams that have each sent `sent` bytes since their beginning, `again` of them
/// twice.
fn gauges(streams: u16, sent: u64, again: u64, round_trip: u64) -> BTreeMap<StreamId, Gauge> {
    let gauge = Gauge {
        round_trip,
        least_round_trip: 100 * MS,
        sent,
        sent_again: again,
        arrived: sent - again,
        busy: sent * 1000,
        under_way: true,
        ..Gauge::default()
    };
    (0..streams).map(|stream| (stream, gauge)).collect()
}

#[test]
fn a_short_way_has_a_few_streams_and_whole_pieces_and_a_long_one_many_and_small_ones() {
    let tuning = PathOptions::default();
    let mut flow = Flow::new(None, &tuning);
    flow.is_joined(MS / 10, RelayDistance::Nothing);
    assert_eq!((flow.streams(), pieces(&flow), flow.unsent()), (4, (tuning.piece, tuning.piece), None));
    let mut flow = Flow::new(None, &tuning);
    flow.is_joined(15 * MS, RelayDistance::Nothing);
    let (least, most) = pieces(&flow);
    assert!(flow.streams() > 64 && least < most && most < tuning.piece && flow.unsent().is_some());
    assert!(flow.shape().pulse < tuning.heartbeat);
    let many = flow.streams();
    flow.is_joined(MS / 10, RelayDistance::Nothing);
    assert_eq!(flow.streams(), many, "it stays a long way");
    let mut relayed = Flow::new(None, &tuning);
    relayed.is_joined(MS / 10, RelayDistance::Relays);
    assert!((5..many).contains(&relayed.streams()) && relayed.is_long());
    let mut by_trunk = Flow::new(None, &tuning);
    by_trunk.is_joined(15 * MS, RelayDistance::Trunk);
    assert_eq!((by_trunk.streams(), by_trunk.is_long()), (2, false), "the trunk sees to the long way");
}

#[test]
fn the_longer_a_way_is_the_more_streams_carry_long_messages() {
    let bulk = |round_trip: u64| {
        let mut flow = Flow::new(None, &PathOptions::default());
        flow.is_joined(round_trip, RelayDistance::Nothing);
        flow.shape().bulk_streams.min(flow.streams())
    };
    assert!(bulk(15 * MS) < bulk(60 * MS) && bulk(60 * MS) < bulk(100 * MS));
    assert_eq!(bulk(100 * MS), bulk(200 * MS), "these are all");
}

#[test]
fn a_number_of_streams_that_was_set_stays() {
    let mut flow = Flow::new(Some(7), &PathOptions::default());
    flow.is_joined(100 * MS, RelayDistance::Nothing);
    flow.look(gauges(7, 100 << 20, 10 << 20, 100 * MS), 1000 * MS);
    assert_eq!(flow.streams(), 7);
}

/// Makes a link with a shortest round trip of 100 ms, whose current round trip is `round_trip` (ms). At each
/// of several looks, 0.6 % of its bytes were sent again.
fn lossy(round_trip: u64, heeds_losses: bool) -> Flow {
    let mut flow = Flow::new(None, &PathOptions::default());
    flow.is_joined(100 * MS, RelayDistance::Nothing);
    flow.heeds_losses(heeds_losses);
    for look in 1..20 {
        flow.look(gauges(flow.streams(), look * (10 << 20), look << 16, round_trip * MS), look * 1000 * MS);
    }
    flow
}

#[test]
fn where_segments_are_lost_and_no_queue_explains_it_there_are_more_streams_up_to_a_limit() {
    let usual = lossy(105, false).streams();
    let flow = lossy(105, true);
    assert!(flow.streams() > usual && flow.streams() <= 256 && flow.shape().bulk_streams >= flow.streams());
}

#[test]
fn over_a_short_way_that_loses_segments_streams_go_by_their_rate_unless_a_queue_explains_it() {
    let short = |round_trip, again| {
        let mut flow = Flow::new(None, &PathOptions::default());
        flow.is_joined(MS, RelayDistance::Nothing);
        for look in 1..4 {
            // The shortest round trip is 100 ms in `gauges`. Only its ratio to `round_trip` matters here.
            flow.look(
                gauges(flow.streams(), look * (10 << 20), look * again, round_trip * MS),
                look * 1000 * MS,
            );
        }
        flow
    };
    let flow = short(150, 1 << 16);
    assert!(flow.goes_by_rate() && !flow.is_long() && flow.streams() < 16, "{}", flow.streams());
    assert!(
        flow.due(false).is_some() && flow.due(true).is_none(),
        "it is looked at while something is under way"
    );
    assert!(!short(210, 1 << 16).goes_by_rate(), "a queue is full");
    assert!(!short(150, 0).goes_by_rate(), "nothing is lost");
}

#[test]
fn where_a_full_queue_loses_long_messages_go_over_fewer_streams_if_these_heed_losses() {
    let flow = lossy(190, true);
    let (bulk, streams) = (flow.shape().bulk_streams, flow.streams());
    assert!(bulk < streams / 2, "{bulk} of {streams}");
    assert!(lossy(190, false).shape().bulk_streams >= flow.streams());
}

#[test]
fn a_stream_is_stuck_if_nothing_comes_back_although_all_was_sent_again() {
    let mut flow = Flow::new(None, &PathOptions::default());
    flow.is_joined(40 * MS, RelayDistance::Nothing);
    let silent =
        Gauge { under_way: true, unanswered: 700 * MS, again: 1, round_trip: 40 * MS, ..Gauge::default() };
    let others = [
        Gauge { under_way: false, ..silent },
        Gauge { again: 0, ..silent },
        Gauge { unanswered: 300 * MS, ..silent },
        Gauge { round_trip: 400 * MS, ..silent },
    ];
    let all = others.into_iter().chain([silent]).enumerate().map(|(at, gauge)| (at as StreamId, gauge));
    let all: BTreeMap<StreamId, Gauge> = all.collect();
    assert_eq!(flow.look(all.clone(), 300 * MS), []);
    assert_eq!(flow.look(all, 1000 * MS), [4]);
}

#[test]
fn a_stream_that_was_quiet_for_long_is_not_stuck_as_soon_as_something_is_sent_again() {
    let mut flow = Flow::new(None, &PathOptions::default());
    flow.is_joined(40 * MS, RelayDistance::Nothing);
    let quiet = Gauge { unanswered: 9000 * MS, round_trip: 40 * MS, ..Gauge::default() };
    let begun = Gauge { under_way: true, again: 1, unanswered: 9300 * MS, ..quiet };
    let look = |flow: &mut Flow, gauge, at: u64| flow.look(BTreeMap::from([(1, gauge)]), at * MS);
    assert_eq!(look(&mut flow, quiet, 9000), []);
    assert_eq!(look(&mut flow, begun, 9300), [], "it has been under way for less than 300 ms");
    assert_eq!(look(&mut flow, Gauge { unanswered: 9600 * MS, ..begun }, 9600), []);
    assert_eq!(look(&mut flow, Gauge { unanswered: 9900 * MS, ..begun }, 9900), [1]);
}

#[test]
fn a_stream_that_comes_late_on_a_full_way_makes_it_no_longer() {
    let mut flow = Flow::new(None, &PathOptions::default());
    flow.is_joined(MS / 5, RelayDistance::Nothing);
    flow.is_joined(30 * MS, RelayDistance::Nothing);
    assert!(!flow.is_long());
}

#[test]
fn a_report_says_how_fast_it_goes_what_is_lost_and_what_is_the_limit() {
    let mut flow = Flow::new(None, &PathOptions::default());
    flow.is_joined(100 * MS, RelayDistance::Nothing);
    flow.look(gauges(2, 0, 0, 100 * MS), 1000 * MS);
    flow.look(gauges(2, 10_000_000, 100_000, 100 * MS), 2000 * MS);
    let report = flow.report();
    assert_eq!((report.streams, report.limit), (2, Limit::Way));
    assert!((report.rate - 2.0 * 9_900_000.0).abs() < 1.0 && (report.loss - 0.01).abs() < 1e-9, "{report:?}");
    for (change, limit) in [(0, Limit::Nothing), (1, Limit::Receiver), (2, Limit::Memory)] {
        let mut next = gauges(2, 20_000_000, 100_000, 100 * MS);
        for gauge in next.values_mut() {
            gauge.busy = 10_000_000_000 + if change == 0 { 0 } else { 900 * MS };
            gauge.no_room = if change == 1 { 800 * MS } else { 0 };
            gauge.no_memory = if change == 2 { 800 * MS } else { 0 };
        }
        let mut flow = Flow::new(None, &PathOptions::default());
        flow.is_joined(100 * MS, RelayDistance::Nothing);
        flow.look(gauges(2, 10_000_000, 100_000, 100 * MS), 1000 * MS);
        flow.look(next, 2000 * MS);
        assert_eq!(flow.report().limit, limit);
    }
}

/// Returns the number of bytes of a message that each stream gets if all streams take pieces in turns.
fn spread(total: u64, streams: u16) -> Vec<u64> {
    spread_beyond(4 << 20, total, streams)
}

/// Like `spread`. Messages of more than `beyond` bytes go over 20 streams only.
fn spread_beyond(beyond: u64, total: u64, streams: u16) -> Vec<u64> {
    let mut path = Path::new(PathOptions::default(), 0);
    (0..streams).for_each(|stream| path.stream_up(stream, 1, 0));
    path.shape(LinkShape {
        min_piece: 8 << 10,
        max_piece: 64 << 10,
        bulk_streams: 20,
        beyond,
        pulse: 500 * MS,
    });
    path.send(1, total);
    let mut given = vec![0; usize::from(streams)];
    loop {
        let before: u64 = given.iter().sum();
        for stream in 1..streams {
            if let Some(OutgoingFrame::Piece { len, .. }) = path.next(stream, 1) {
                given[usize::from(stream)] += u64::from(len);
            }
        }
        if given.iter().sum::<u64>() == before {
            return given;
        }
    }
}

#[test]
fn a_message_is_spread_evenly_over_all_streams_for_large_ones() {
    let given = spread(1 << 20, 81);
    assert_eq!(given.iter().sum::<u64>(), 1 << 20);
    assert!(given[1..].iter().all(|&bytes| bytes.abs_diff((1 << 20) / 80) < 200), "{given:?}");
    // A stream takes at least 8 KiB, so a short message uses few streams.
    let given = spread(64 << 10, 81);
    assert_eq!(given.iter().filter(|&&bytes| bytes > 0).count(), 8);
    // A longer message goes in pieces of the maximum length, over the streams for long messages.
    let given = spread(64 << 20, 81);
    assert!(given[1..].iter().all(|&bytes| bytes % (64 << 10) == 0));
    assert_eq!(given[1..].iter().filter(|&&bytes| bytes > 0).count(), 20, "where long ones go over fewer");
    // If `beyond` is 0, as for streams that share a pace, short messages use the streams for long messages,
    // too.
    let given = spread_beyond(0, 1 << 20, 81);
    assert_eq!(given[1..].iter().filter(|&&bytes| bytes > 0).count(), 20);
    assert!(given[1..21].iter().all(|&bytes| bytes.abs_diff((1 << 20) / 20) < 200), "{given:?}");
}
