//! Tests of the timeline, from the updates of instances to the text that is read back. Sums are exact even if
//! intervals were lost or merged. The timeline of an instance that ends without a report reaches to its end.
//! The error for a damaged file names the line.

use ligament_manager::timeline::{
    long_waits, Activity, ActivityKey, ActivityTotal, LaneName, LaneTotals, LaneUpdate, NewTimeline,
    RecordedInterval, RunTimeline, TimelineHeader, TimelineRecorder, TimelineSums, UpdateOccasion,
    UpdateReason,
};
use ligament_manager::{Names, RunDirectory};
use ligament_wire::RankId;
use proptest::prelude::*;
use std::path::{Path, PathBuf};

const A: RankId = RankId::new(0);
const B: RankId = RankId::new(1);

/// The names of two instances that send each other messages: channel 0 leads from `a.out` to `b.in`, channel 1
/// back.
struct PairNames;

impl Names for PairNames {
    fn instance(&self, rank: RankId) -> String {
        self.rank(rank)
    }

    fn rank(&self, rank: RankId) -> String {
        ["a", "b"][rank.index()].into()
    }

    fn component(&self, rank: RankId) -> u32 {
        rank.number()
    }

    fn ends(&self, channel: u32) -> Option<((RankId, String), (RankId, String))> {
        match channel {
            0 => Some(((A, "a.out".into()), (B, "b.in".into()))),
            1 => Some(((B, "b.out".into()), (A, "a.in".into()))),
            _ => None,
        }
    }

    fn conduit(&self, channel: u32) -> Option<[u32; 4]> {
        let (from, to) = self.ends(channel)?;
        Some([from.0.number(), 0, to.0.number(), 1])
    }
}

const MESSAGE: ActivityKey = ActivityKey { activity: Activity::Message, id: Some(1) };
const START_NS: u64 = 5_000_000;

fn header() -> TimelineHeader {
    TimelineHeader {
        run: "r".into(),
        model: "m".into(),
        started: "2026-01-01T00:00:00.000Z".into(),
        resolution: 0,
    }
}

struct TestRunDirectory {
    path: PathBuf,
}

impl TestRunDirectory {
    fn new(test: &str) -> TestRunDirectory {
        let path = std::env::temp_dir().join(format!("ligament-timeline-{}-{test}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        TestRunDirectory { path }
    }

    fn run(&self) -> RunDirectory {
        RunDirectory::open(&self.path)
    }

    fn record(&self, limit: u64) -> TimelineRecorder {
        let lanes = ["a", "b"].map(|name| LaneName { component: name.to_owned(), name: name.to_owned() });
        let timeline = NewTimeline { header: header(), lanes: &lanes, limit, zero: START_NS };
        TimelineRecorder::create(&self.run(), timeline).unwrap()
    }

    fn read(&self) -> RunTimeline {
        RunTimeline::of(&self.run()).unwrap()
    }
}

impl Drop for TestRunDirectory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// A simulated instance that computes and waits, with the updates that the agent would read from its status
/// page.
#[derive(Clone)]
struct Waiter {
    now: u64,
    gained: LaneUpdate,
    waited: u64,
    waits: u64,
}

impl Waiter {
    fn new() -> Waiter {
        let gained = LaneUpdate { started: START_NS, ..LaneUpdate::default() };
        Waiter { now: START_NS, gained, waited: 0, waits: 0 }
    }

    fn counted(&self) -> LaneTotals {
        let sums = TimelineSums {
            waits: self.waits,
            waited: self.waited,
            received_messages: self.waits,
            ..TimelineSums::default()
        };
        LaneTotals { sums, time: Some(self.waits as f64) }
    }

    /// Lets the instance compute, and then wait, for the given times in ns. If `lost` has a count, the interval
    /// of this wait is lost, and the count is increased.
    fn wait(&mut self, compute: u64, length: u64, lost: &mut Option<u64>) {
        let begin = self.now + compute;
        self.now = begin + length;
        self.waited += length;
        self.waits += 1;
        if let Some(lost) = lost {
            *lost += 1;
            return;
        }
        let counted = self.counted();
        let interval = RecordedInterval { key: MESSAGE, begin, end: self.now, counted, missed: 0 };
        self.gained.intervals.push(interval);
    }

    fn take(&mut self) -> LaneUpdate {
        self.gained.counted = self.counted();
        self.gained.totals = vec![ActivityTotal { key: MESSAGE, ns: self.waited, count: self.waits }];
        let taken = self.gained.clone();
        self.gained.intervals.clear();
        taken
    }
}

fn occasion(now: u64, reason: &UpdateReason) -> UpdateOccasion<'_> {
    UpdateOccasion { now, reason }
}

fn over() -> UpdateReason {
    UpdateReason::LaneEnded("gone".into())
}

#[test]
fn a_wait_is_read_back_with_whom_it_was_for() {
    let place = TestRunDirectory::new("simple");
    let mut recording = place.record(1 << 20);
    let mut a = Waiter::new();
    a.wait(1000, 50_000, &mut None);
    recording.add(A, &a.take(), &occasion(a.now, &UpdateReason::Tick), &PairNames);
    recording.write().unwrap();
    let timeline = place.read();
    assert_eq!(timeline.header, header());
    let lane = &timeline.lanes[0];
    let span = &lane.spans[0];
    assert_eq!((lane.began, span.from, span.begin, span.end), (Some(0), 0, 1000, 51_000));
    let cause = &timeline.causes[span.cause.unwrap() as usize];
    assert_eq!(cause.peer_port.as_deref(), Some("b.out"));
    assert_eq!(cause.at.as_deref(), Some("a.in"));
    let waits = long_waits(&timeline, true);
    assert_eq!((waits[0].who.as_str(), waits[0].on.as_deref(), waits[0].count), ("a", Some("b"), 1));
    assert!(waits[0].seconds == 50e-6 && waits[0].part > 0.98);
}

#[test]
fn an_instance_that_is_killed_while_it_waits_waits_to_its_end() {
    let place = TestRunDirectory::new("killed");
    let mut recording = place.record(1 << 20);
    let mut a = Waiter::new();
    a.wait(1000, 50_000, &mut None);
    let mut last = a.take();
    last.waits = Some((MESSAGE, a.now + 500));
    recording.add(A, &last, &occasion(a.now + 10_500, &over()), &PairNames);
    // An update after the instance's end changes nothing.
    a.wait(0, 1_000_000, &mut None);
    recording.add(A, &a.take(), &occasion(a.now, &UpdateReason::OnDemand), &PairNames);
    recording.write().unwrap();
    let timeline = place.read();
    let lane = &timeline.lanes[0];
    assert_eq!(lane.ended, Some((61_500, "gone".into())));
    assert_eq!((lane.total(), lane.sums.waited, lane.computing()), (61_500, 60_000, 1500));
    assert_eq!(long_waits(&timeline, true)[0].seconds, 60e-6);
}

#[test]
fn a_wait_that_was_shown_before_it_was_over_counts_once() {
    let place = TestRunDirectory::new("asked");
    let mut recording = place.record(1 << 20);
    let mut a = Waiter::new();
    let mut begun = a.take();
    begun.waits = Some((MESSAGE, a.now + 1000));
    recording.add(A, &begun, &occasion(a.now + 20_000, &UpdateReason::OnDemand), &PairNames);
    recording.write().unwrap();
    let shown = place.read();
    assert_eq!(
        (shown.lanes[0].sums.waited, shown.lanes[0].sums.waits, shown.totals[0]),
        (19_000, 0, (19_000, 0))
    );
    a.wait(1000, 50_000, &mut None);
    recording.add(A, &a.take(), &occasion(a.now, &over()), &PairNames);
    recording.write().unwrap();
    let timeline = place.read();
    assert_eq!(timeline.lanes[0].sums.waited, 50_000);
    assert_eq!((timeline.lanes[0].sums.waits, timeline.totals[0]), (1, (50_000, 1)));
    assert_eq!(timeline.lanes[0].total(), 51_000);
}

#[test]
fn a_wait_for_any_that_was_shown_before_it_was_over_counts_once() {
    let place = TestRunDirectory::new("any");
    let mut recording = place.record(1 << 20);
    let mut a = Waiter::new();
    let any = ActivityKey { activity: Activity::AnyMessage, id: None };
    for at in [20_000, 40_000] {
        let begun = LaneUpdate { waits: Some((any, START_NS + 1000)), ..a.gained.clone() };
        recording.add(A, &begun, &occasion(START_NS + at, &UpdateReason::OnDemand), &PairNames);
    }
    a.wait(1000, 50_000, &mut None);
    recording.add(A, &a.take(), &occasion(a.now, &UpdateReason::Tick), &PairNames);
    // Another wait for any port ends without a message. All its time counts for `AnyMessage`.
    let mut last = a.take();
    last.totals.push(ActivityTotal { key: any, ns: 3000, count: 1 });
    recording.add(A, &last, &occasion(a.now, &over()), &PairNames);
    recording.write().unwrap();
    let waits = long_waits(&place.read(), true);
    let sum =
        |activity| waits.iter().filter(|wait| wait.activity == activity).map(|wait| wait.seconds).sum::<f64>();
    assert_eq!((sum(Activity::AnyMessage), sum(Activity::Message)), (42e-6, 11e-6));
}

#[test]
fn a_long_computation_is_seen_before_it_is_over() {
    let place = TestRunDirectory::new("heartbeat");
    let mut recording = place.record(1 << 20);
    let mut a = Waiter::new();
    recording.add(A, &a.take(), &occasion(START_NS + 60_000_000_000, &UpdateReason::Tick), &PairNames);
    recording.write().unwrap();
    assert_eq!(place.read().lanes[0].computing(), 60_000_000_000);
}

#[test]
fn a_file_that_becomes_too_large_is_made_coarser_and_its_sums_stay() {
    let place = TestRunDirectory::new("limit");
    const LIMIT_BYTES: u64 = 20_000;
    let mut recording = place.record(LIMIT_BYTES);
    let mut a = Waiter::new();
    for i in 0..20_000 {
        a.wait(300_000, if i == 7777 { 3_000_000_000 } else { 200_000 }, &mut None);
        if i % 100 == 99 {
            recording.add(A, &a.take(), &occasion(a.now, &UpdateReason::Tick), &PairNames);
            recording.write().unwrap();
            let size = std::fs::metadata(place.run().timeline()).unwrap().len();
            assert!(size <= LIMIT_BYTES, "{size}");
        }
    }
    recording.add(A, &a.take(), &occasion(a.now, &over()), &PairNames);
    recording.write().unwrap();
    let timeline = place.read();
    let lane = &timeline.lanes[0];
    assert!(timeline.header.resolution > 1_000_000);
    assert_eq!((lane.sums.waits, lane.sums.waited), (20_000, a.waited));
    assert_eq!(lane.total(), a.now - START_NS);
    assert_eq!(timeline.totals[0], (a.waited, 20_000));
    let long = lane.spans.iter().find(|span| !span.is_period).expect("the long wait is not merged");
    assert_eq!(long.end - long.begin, 3_000_000_000);
}

#[test]
fn a_run_without_a_timeline_and_a_later_version_are_told_apart() {
    let place = TestRunDirectory::new("none");
    let error = RunTimeline::of(&place.run()).unwrap_err();
    assert!(error.contains("has no timeline") && error.contains("timeline: 0"), "{error}");
    std::fs::write(place.run().timeline(), "ligament timeline 7\nwho knows\n").unwrap();
    let error = RunTimeline::of(&place.run()).unwrap_err();
    assert!(error.contains("version 7") && error.contains("timeline:1"), "{error}");
    std::fs::write(place.run().timeline(), b"\xff\xfe").unwrap();
    assert!(RunTimeline::of(&place.run()).unwrap_err().contains("damaged"));
}

fn sample() -> String {
    let place = TestRunDirectory::new("sample");
    let mut recording = place.record(1 << 20);
    let (mut a, mut b) = (Waiter::new(), Waiter::new());
    for i in 0..3 {
        a.wait(1000, 50_000 + i, &mut None);
        b.wait(50_000, 10_000, &mut None);
    }
    recording.add(A, &a.take(), &occasion(a.now, &over()), &PairNames);
    recording.add(B, &b.take(), &occasion(b.now, &over()), &PairNames);
    recording.write().unwrap();
    std::fs::read_to_string(place.run().timeline()).unwrap()
}

#[test]
fn a_damaged_line_is_named() {
    let text = sample();
    for (from, to, part) in [
        ("ligament timeline 1", "hello", ":1: it does not begin with"),
        ("{", "[", ":2: the header is damaged"),
        ("i 1 b b", "i 5 b b", ":4: instance 5 where 1 was due"),
        ("\nb 0 0", "\nb 9 0", "instance 9 of 2"),
        ("\nb 0 0", "\nb 0 x", "the time is \"x\", which is no such number"),
        ("\nb 0 0\n", "\n", "instance 0 has not begun"),
        ("\nx 0 1000 ", "\nx 0 18446744073709551615 ", "too far in the future"),
        ("\nt 0 ", "\nt 3 ", "cause 3 of "),
        (" a.in ", " a\u{1b}[31m ", "has characters that no name has"),
    ] {
        assert!(text.contains(from), "{from:?} in {text}");
        let error = RunTimeline::read(&text.replacen(from, to, 1), Path::new("timeline")).unwrap_err();
        assert!(error.contains(part) && error.starts_with("timeline:"), "{to:?}: {error}");
    }
}

#[test]
fn a_last_line_that_is_not_whole_is_left_out() {
    let text = sample();
    let whole = RunTimeline::read(&text, Path::new("t")).unwrap();
    let spans = |timeline: &RunTimeline| timeline.lanes.iter().map(|lane| lane.spans.len()).sum::<usize>();
    let last = text.trim_end().rfind('\n').unwrap() + 1;
    let cut = RunTimeline::read(&text[..last + 3], Path::new("t")).unwrap();
    assert!(spans(&cut) <= spans(&whole) && cut.lanes.len() == 2);
    let kinds = format!("{text}q some later kind\n");
    assert_eq!(RunTimeline::read(&kinds, Path::new("t")).unwrap(), whole);
}

proptest! {
    #[test]
    fn sums_are_exact_whatever_is_missed_merged_or_asked_for(
        steps in prop::collection::vec((0u64..3_000_000, 5_000u64..3_000_000, 0u8..10), 1..300),
        limit in 300u64..20_000,
    ) {
        let place = TestRunDirectory::new(&format!("any-{limit}-{}", steps.len()));
        let mut recording = place.record(limit);
        let mut a = Waiter::new();
        let mut lost: Option<u64> = None;
        for (compute, length, what) in steps {
            if what == 0 {
                lost = Some(0);
            }
            if what > 1 {
                if let Some(missed) = lost.take() {
                    a.wait(compute, length, &mut None);
                    a.gained.intervals.last_mut().unwrap().missed = missed;
                    continue;
                }
            }
            a.wait(compute, length, &mut lost);
            // Some updates are taken between two waits, on demand or at a tick. Intervals that are lost at the
            // end of the run have no later interval that tells their number, so only the sums include them.
            let moment = if what == 9 { UpdateReason::OnDemand } else { UpdateReason::Tick };
            if what >= 8 && lost.is_none() {
                recording.add(A, &a.take(), &occasion(a.now, &moment), &PairNames);
                recording.write().unwrap();
            }
        }
        a.gained.ended = a.now + 10;
        recording.add(A, &a.take(), &occasion(a.now + 1000, &over()), &PairNames);
        recording.write().unwrap();
        let timeline = place.read();
        let lane = &timeline.lanes[0];
        prop_assert_eq!(lane.sums, a.counted().sums);
        prop_assert_eq!(lane.total(), a.now + 10 - START_NS);
        prop_assert_eq!(timeline.totals[0], (a.waited, a.waits));
        let mut end = 0;
        for span in &lane.spans {
            prop_assert!(span.from == end && span.begin >= span.from && span.end >= span.begin);
            prop_assert!(span.share <= span.end - span.begin);
            end = span.end;
        }
    }

    #[test]
    fn no_text_makes_the_reader_panic(
        place in 0usize..2000, bytes in "[ -~\n]{0,8}", removed in 0usize..20,
    ) {
        let mut text = sample();
        let at = place % text.len();
        let to = (at + removed).min(text.len());
        text.replace_range(at..to, &bytes);
        if let Ok(timeline) = RunTimeline::read(&text, Path::new("t")) {
            let _ = (long_waits(&timeline, true), long_waits(&timeline, false));
        }
    }
}
