//! Tests of timelines. An agent may read records at any time, also while the endpoint writes them.

use super::*;
use crate::area::{keep_no_timeline, Layout};
use crate::memory::{create, Mapping};
use crate::status::Awaits;
use proptest::prelude::*;
use rustix::fd::OwnedFd;

const LAYOUT: Layout = Layout { channels: 2, inboxes: 0, rows: 0, ends: 0 };

fn area() -> OwnedFd {
    create("area", LAYOUT.size()).unwrap()
}

fn front(area: &OwnedFd) -> Front {
    Front::new(Mapping::writable(area, 0, LAYOUT.front()).unwrap(), LAYOUT).unwrap()
}

/// Records a wait for a message on a channel, from `begin` to `end`.
fn wait(front: &Front, recorder: &mut Recorder, channel: u32, begin: u64, end: u64) {
    front.status().begin_wait(Awaits::Message(&mut std::iter::once(channel)), false, front.waits(), begin);
    front.status().end_wait();
    front.status().count_wait(end - begin);
    recorder.note(front, Cause { activity: Activity::AwaitsMessage, id: channel }, begin, end);
}

#[test]
fn a_wait_that_lasted_is_recorded_and_a_short_one_only_added_up() {
    let area = area();
    let (writer, seen) = (front(&area), front(&area));
    let (mut recorder, mut reader) = (Recorder::new(writer.status()), TimelineReader::default());
    wait(&writer, &mut recorder, 7, 1000, 1000 + MIN_RECORDED_NS - 1);
    wait(&writer, &mut recorder, 7, 20_000, 20_000 + MIN_RECORDED_NS);
    let status = seen.look();
    let taken = reader.take(&seen);
    assert_eq!(taken.len(), 1);
    assert_eq!((taken[0].begin, taken[0].end, taken[0].missed), (20_000, 20_000 + MIN_RECORDED_NS, 0));
    assert_eq!((taken[0].sums.waits, taken[0].sums.waited), (2, 2 * MIN_RECORDED_NS - 1));
    let cause = Cause { activity: Activity::AwaitsMessage, id: 7 };
    assert_eq!(reader.sums(&seen, &status), [CauseSum { cause, ns: 2 * MIN_RECORDED_NS - 1, count: 2 }]);
    assert!(reader.take(&seen).is_empty() && reader.sums(&seen, &status).is_empty(), "only what is new");
}

#[test]
fn records_that_were_overwritten_are_counted_and_missing_in_no_sum() {
    let area = area();
    let (writer, seen) = (front(&area), front(&area));
    let (mut recorder, mut reader) = (Recorder::new(writer.status()), TimelineReader::default());
    let waits = 3 * MAX_RECORDS as u64 + 5;
    for i in 0..waits {
        wait(&writer, &mut recorder, 0, i * 20_000, i * 20_000 + 10_000);
    }
    let taken = reader.take(&seen);
    assert_eq!(taken.len(), MAX_RECORDS);
    assert_eq!(taken[0].missed, waits - MAX_RECORDS as u64);
    assert_eq!(taken[0].sums.waits, taken[0].missed + 1);
    assert_eq!(taken.last().unwrap().sums.waited, waits * 10_000);
}

#[test]
fn causes_that_there_is_no_room_for_are_added_up_by_kind() {
    let area = area();
    let (writer, seen) = (front(&area), front(&area));
    let (mut recorder, mut reader) = (Recorder::new(writer.status()), TimelineReader::default());
    let channels = CAUSES as u32 + 10;
    for channel in 0..channels {
        wait(&writer, &mut recorder, channel, 0, 100);
    }
    let sums = reader.sums(&seen, &seen.look());
    assert_eq!(sums.iter().map(|sum| sum.count).sum::<u64>(), u64::from(channels));
    let rest = sums.last().unwrap();
    assert_eq!(rest.cause, Cause { activity: Activity::AwaitsMessage, id: REST });
    assert_eq!(rest.count, u64::from(channels) - OWN as u64);
}

#[test]
fn an_endpoint_that_shall_keep_no_timeline_keeps_none() {
    let area = area();
    keep_no_timeline(&area).unwrap();
    let writer = front(&area);
    let (mut recorder, mut reader) = (Recorder::new(writer.status()), TimelineReader::default());
    wait(&writer, &mut recorder, 0, 0, 1_000_000);
    assert!(reader.take(&writer).is_empty());
    assert!(reader.sums(&writer, &writer.look()).is_empty());
    assert_eq!(writer.look().waited, 1_000_000, "the status page still counts");
}

#[test]
fn what_is_read_while_it_is_written_is_whole() {
    let area = area();
    let writer = front(&area);
    let seen = front(&area);
    const WAITS: u64 = 50_000;
    let recording = std::thread::spawn(move || {
        let mut recorder = Recorder::new(writer.status());
        for i in 0..WAITS {
            wait(&writer, &mut recorder, (i % 3) as u32, i * 10_000, i * 10_000 + MIN_RECORDED_NS);
        }
    });
    let mut reader = TimelineReader::default();
    let mut known = 0;
    loop {
        let over = recording.is_finished();
        for interval in reader.take(&seen) {
            known += interval.missed + 1;
            assert_eq!(interval.sums.waits, known);
            assert_eq!(interval.begin, (known - 1) * 10_000);
            assert_eq!(interval.end, interval.begin + MIN_RECORDED_NS);
            assert_eq!(interval.cause.id, ((known - 1) % 3) as u32);
            assert_eq!(interval.sums.waited, known * MIN_RECORDED_NS);
        }
        if over {
            break;
        }
    }
    recording.join().unwrap();
    assert_eq!(known, WAITS);
}

proptest! {
    #[test]
    fn whenever_it_is_read_nothing_is_missing_in_sum(
        rounds in proptest::collection::vec(proptest::collection::vec((0u32..4, 0u64..20_000), 0..400), 0..6)
    ) {
        let area = area();
        let (writer, seen) = (front(&area), front(&area));
        let (mut recorder, mut reader) = (Recorder::new(writer.status()), TimelineReader::default());
        let (mut now, mut long, mut by_channel) = (0, 0, [0u64; 4]);
        let mut known = 0;
        let mut last = Vec::new();
        for round in rounds {
            for (channel, lasted) in round {
                wait(&writer, &mut recorder, channel, now, now + lasted);
                now += lasted + 1;
                long += u64::from(lasted >= MIN_RECORDED_NS);
                by_channel[channel as usize] += lasted;
            }
            for interval in reader.take(&seen) {
                known += interval.missed + 1;
            }
            prop_assert_eq!(known, long);
            let sums = reader.sums(&seen, &seen.look());
            if !sums.is_empty() {
                last = sums;
            }
            for sum in &last {
                prop_assert_eq!(sum.ns, by_channel[sum.cause.id as usize]);
            }
            prop_assert_eq!(last.iter().map(|sum| sum.ns).sum::<u64>(), seen.look().waited);
        }
    }
}
