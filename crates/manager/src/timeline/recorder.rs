//! Writes the timeline of a run during the run: updates of instances are appended to the file, and the file is
//! made coarser when it becomes too large.

use super::file_format::{TimelineHeader, TimelineLine, FIRST_LINE_PREFIX};
use super::merge::{PieceMerger, TimelinePiece, TimelineSums};
use super::{Activity, TimelineCause};
use crate::directory::{write_whole, RunDirectory};
use crate::names::Names;
use ligament_catalogue::{fault, Fault};
use ligament_wire::{EndpointId, RankId};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

/// Maximum size of the file, unless the model sets another.
pub const DEFAULT_TIMELINE_BYTES: u64 = 16 << 20;
/// The resolution that is chosen when the file becomes too large for the first time.
const FIRST_RESOLUTION_NS: u64 = 1_000_000;
/// Maximum resolution, of about two weeks. The file does not become coarser beyond it.
const LAST_RESOLUTION_NS: u64 = 1 << 50;
/// Maximum time after which an instance's timeline is extended, also if the instance does the same thing all
/// the time.
const MAX_SILENCE_NS: u64 = 5_000_000_000;

/// An activity and its object: the number of a channel, of an endpoint for `Slots`, or `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ActivityKey {
    pub activity: Activity,
    pub id: Option<u32>,
}

/// The counters of an instance at one time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LaneTotals {
    pub sums: TimelineSums,
    /// Model time, s.
    pub time: Option<f64>,
}

/// A wait or a copy. Times in ns of the machine's clock.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedInterval {
    pub key: ActivityKey,
    pub begin: u64,
    pub end: u64,
    /// The counters at its end.
    pub counted: LaneTotals,
    /// Number of intervals before it that were lost. Only the counters include them.
    pub missed: u64,
}

/// News of an instance. Times in ns of the machine's clock.
#[derive(Debug, Clone, Default)]
pub struct LaneUpdate {
    /// 0 if it has not started.
    pub started: u64,
    /// 0 if it has not ended.
    pub ended: u64,
    pub counted: LaneTotals,
    pub intervals: Vec<RecordedInterval>,
    /// The total time and number of some or all activities.
    pub sums: Vec<(ActivityKey, u64, u64)>,
    /// The present wait, and its beginning.
    pub waits: Option<(ActivityKey, u64)>,
}

/// The reason of an update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpdateReason {
    Tick,
    /// A client wants to see the present state.
    OnDemand,
    /// The instance has ended, in this state: this is its last update.
    LaneEnded(String),
}

/// The total time and number of an activity that have been written.
#[derive(Debug, Clone, Copy)]
struct WrittenTotal {
    number: u32,
    ns: u64,
    count: u64,
}

#[derive(Debug, Default)]
struct LaneProgress {
    begun: bool,
    over: bool,
    /// The time up to which the timeline is written or pending, ns of the machine's clock.
    at: u64,
    counted: LaneTotals,
    written: HashMap<ActivityKey, WrittenTotal>,
    /// The present wait, if part of it has been written before its end.
    unfinished_wait: Option<ActivityKey>,
    merger: PieceMerger,
}

/// Writes the timeline of a run.
///
/// Call [`TimelineRecorder::add`] for each update of a rank, and [`TimelineRecorder::write`] after the updates
/// of all ranks.
#[derive(Debug)]
pub struct TimelineRecorder {
    path: PathBuf,
    file: File,
    /// The machine's clock at the time 0 of the file, ns.
    zero: u64,
    header: TimelineHeader,
    lanes: Vec<LaneProgress>,
    causes: u32,
    bytes: u64,
    /// The size at which the file is made coarser.
    limit: u64,
    wanted: u64,
    /// Text that is not written yet.
    text: String,
}

impl TimelineRecorder {
    /// Begins the file. `instances` has the component and the name of each instance; `limit` is the file's size
    /// in bytes.
    ///
    /// # Errors
    /// The system's message, with the path.
    pub fn create(
        directory: &RunDirectory,
        header: TimelineHeader,
        instances: &[(String, String)],
        limit: u64,
        now: u64,
    ) -> Result<TimelineRecorder, Fault> {
        let mut text = beginning(&header);
        for (number, (component, name)) in instances.iter().enumerate() {
            let line = TimelineLine::Instance {
                number: RankId::at(number),
                component: component.clone(),
                name: name.clone(),
            };
            line.write(&mut text);
        }
        let path = directory.timeline();
        write_whole(&path, text.as_bytes(), 0o666)?;
        let file = to_append(&path)?;
        let bytes = text.len() as u64;
        Ok(TimelineRecorder {
            path,
            file,
            zero: now,
            header,
            lanes: instances.iter().map(|_| LaneProgress::default()).collect(),
            causes: 0,
            bytes,
            limit: limit.max(2 * bytes),
            wanted: limit,
            text: String::new(),
        })
    }

    /// Takes an update of a rank until `now`, ns of the machine's clock.
    pub fn add(
        &mut self,
        rank: RankId,
        gained: &LaneUpdate,
        now: u64,
        moment: &UpdateReason,
        names: &impl Names,
    ) {
        let Some(mut lane) = self.lanes.get_mut(rank.index()).map(std::mem::take) else { return };
        self.take_in(rank, &mut lane, gained, now, moment, names);
        self.lanes[rank.index()] = lane;
    }

    fn take_in(
        &mut self,
        rank: RankId,
        lane: &mut LaneProgress,
        gained: &LaneUpdate,
        now: u64,
        moment: &UpdateReason,
        names: &impl Names,
    ) {
        if lane.over || gained.started == 0 {
            return;
        }
        if !lane.begun {
            lane.begun = true;
            lane.at = gained.started.max(self.zero);
            TimelineLine::Begins { rank, at: lane.at - self.zero }.write(&mut self.text);
        }
        for interval in &gained.intervals {
            let cause = self.number(rank, lane, interval.key, names);
            if interval.missed > 0 {
                self.bridge(rank, lane, interval, gained);
            }
            self.add_interval(rank, lane, interval, cause);
        }
        let mut ahead = excess_written_ns(lane, gained);
        for &(what, ns, count) in &gained.sums {
            self.add_to_total(rank, lane, (what, ns, count), &mut ahead, names);
        }
        // Nothing is recorded after the instance's end.
        let now = if gained.ended > 0 { gained.ended } else { now };
        if *moment != UpdateReason::Tick || now.saturating_sub(lane.at) > MAX_SILENCE_NS {
            self.go_on(rank, lane, gained, now, names);
        }
        if *moment != UpdateReason::Tick {
            let text = &mut self.text;
            lane.merger.flush(&mut |piece| TimelineLine::Piece { rank, piece }.write(text));
        }
        if let UpdateReason::LaneEnded(how) = moment {
            lane.over = true;
            TimelineLine::Ends { rank, at: lane.at - self.zero, how: how.clone() }.write(&mut self.text);
        }
    }

    /// Adds one period for the intervals that were lost before this one.
    fn bridge(
        &mut self,
        rank: RankId,
        lane: &mut LaneProgress,
        interval: &RecordedInterval,
        gained: &LaneUpdate,
    ) {
        let begin = interval.begin.max(lane.at);
        let own = own_part(interval, interval.end.saturating_sub(begin));
        let before = LaneTotals { sums: interval.counted.sums.since(&own), time: interval.counted.time };
        // The cause that took most of the period is unknown. The one whose total has grown most is the
        // likeliest.
        let grown = |&(what, ns, _): &(ActivityKey, u64, u64)| {
            let told = lane.written.get(&what)?;
            Some((told.number, ns.saturating_sub(told.ns)))
        };
        let most = gained.sums.iter().filter_map(grown).max_by_key(|(_, ns)| *ns);
        let share = |(number, ns): (u32, u64)| (Some(number), ns);
        self.add_period(rank, lane, begin, before, most.map_or((None, 0), share));
    }

    fn add_interval(&mut self, rank: RankId, lane: &mut LaneProgress, interval: &RecordedInterval, cause: u32) {
        let (begin, end) = (interval.begin.max(lane.at), interval.end.max(lane.at));
        let piece = TimelinePiece {
            gap: begin - lane.at,
            length: end - begin,
            cause: Some(cause),
            share: end - begin,
            is_period: false,
            sums: interval.counted.sums.since(&lane.counted.sums),
            time: interval.counted.time,
        };
        lane.at = end;
        self.push(rank, lane, piece, interval.counted);
    }

    /// Extends the timeline to `to` by a period.
    fn add_period(
        &mut self,
        rank: RankId,
        lane: &mut LaneProgress,
        to: u64,
        counted: LaneTotals,
        (cause, share): (Option<u32>, u64),
    ) {
        let length = to.saturating_sub(lane.at);
        let sums = counted.sums.since(&lane.counted.sums);
        if length == 0 && sums == TimelineSums::default() {
            return;
        }
        let share = share.min(length).min(sums.busy_otherwise());
        let piece = TimelinePiece { gap: 0, length, cause, share, is_period: true, sums, time: counted.time };
        lane.at += length;
        self.push(rank, lane, piece, counted);
    }

    fn push(&mut self, rank: RankId, lane: &mut LaneProgress, piece: TimelinePiece, counted: LaneTotals) {
        // A page that changes while it is read may seem a little older than the previous reading.
        lane.counted.sums = lane.counted.sums.plus(&piece.sums);
        lane.counted.time = counted.time.or(lane.counted.time);
        let text = &mut self.text;
        lane.merger.push(piece, self.header.resolution, &mut |piece| {
            TimelineLine::Piece { rank, piece }.write(text);
        });
    }

    /// Extends the timeline to `now` by the instance's present activity.
    fn go_on(
        &mut self,
        rank: RankId,
        lane: &mut LaneProgress,
        gained: &LaneUpdate,
        now: u64,
        names: &impl Names,
    ) {
        let Some((what, since)) = gained.waits else {
            return self.add_period(rank, lane, now.max(lane.at), gained.counted, (None, 0));
        };
        let since = since.max(lane.at);
        self.add_period(rank, lane, since, gained.counted, (None, 0));
        let length = now.saturating_sub(since);
        let cause = self.number(rank, lane, what, names);
        let mut counted = gained.counted;
        counted.sums = lane.counted.sums.plus(&TimelineSums { waited: length, ..TimelineSums::default() });
        let interval = RecordedInterval { key: what, begin: since, end: now, counted, missed: 0 };
        self.add_interval(rank, lane, &interval, cause);
        if let Some(told) = lane.written.get_mut(&what) {
            told.ns += length;
            lane.unfinished_wait = Some(what);
            TimelineLine::Total { cause, ns: length, count: 0 }.write(&mut self.text);
        }
    }

    fn add_to_total(
        &mut self,
        rank: RankId,
        lane: &mut LaneProgress,
        (what, ns, count): (ActivityKey, u64, u64),
        ahead: &mut u64,
        names: &impl Names,
    ) {
        let cause = self.number(rank, lane, what, names);
        let told = lane.written.get_mut(&what).expect("it has a number");
        // Part of an unfinished wait has been written already.
        let (more, often) = (ns.saturating_sub(told.ns), count.saturating_sub(told.count));
        if more > 0 || often > 0 {
            told.ns += more;
            told.count += often;
            let known = more.min(*ahead);
            *ahead -= known;
            TimelineLine::Total { cause, ns: more - known, count: often }.write(&mut self.text);
        }
    }

    /// The number of a cause in the file. A new cause is written first.
    fn number(&mut self, rank: RankId, lane: &mut LaneProgress, what: ActivityKey, names: &impl Names) -> u32 {
        if let Some(told) = lane.written.get(&what) {
            return told.number;
        }
        let number = self.causes;
        self.causes += 1;
        lane.written.insert(what, WrittenTotal { number, ns: 0, count: 0 });
        TimelineLine::Cause { number, cause: cause(rank, what, names) }.write(&mut self.text);
        number
    }

    /// Writes the collected text.
    ///
    /// # Errors
    /// The system's message, with the path. Text that was not written is lost, and the file may end within a
    /// line.
    pub fn write(&mut self) -> Result<(), Fault> {
        let text = std::mem::take(&mut self.text);
        if text.is_empty() {
            return Ok(());
        }
        let wrong =
            |error| fault!(RUN_DIRECTORY_UNWRITABLE, "{} cannot be written: {error}", self.path.display());
        self.file.write_all(text.as_bytes()).map_err(wrong)?;
        self.bytes += text.len() as u64;
        if self.bytes > self.limit {
            self.make_coarser()?;
        }
        self.text = text;
        self.text.clear();
        Ok(())
    }

    /// Doubles the resolution, or more, until the file has half of its maximum size.
    fn make_coarser(&mut self) -> Result<(), Fault> {
        let wrong =
            |error: &dyn std::fmt::Display| fault!(TIMELINE_STOPPED, "{}: {error}", self.path.display());
        let mut text = std::fs::read_to_string(&self.path).map_err(|error| wrong(&error))?;
        while text.len() as u64 > self.wanted / 2 && self.header.resolution < LAST_RESOLUTION_NS {
            self.header.resolution = (self.header.resolution * 2).max(FIRST_RESOLUTION_NS);
            text = coarser(&text, &self.header).map_err(|error| wrong(&error))?;
        }
        write_whole(&self.path, text.as_bytes(), 0o666)?;
        self.file = to_append(&self.path)?;
        self.bytes = text.len() as u64;
        self.limit = self.wanted.max(2 * self.bytes);
        Ok(())
    }
}

fn to_append(path: &PathBuf) -> Result<File, Fault> {
    let opened = OpenOptions::new().append(true).open(path);
    opened.map_err(|error| fault!(TIMELINE_STOPPED, "{} cannot be opened: {error}", path.display()))
}

fn beginning(header: &TimelineHeader) -> String {
    let json = serde_json::to_string(header).unwrap_or_default();
    format!("{}\n{json}\n", super::file_format::FIRST_LINE)
}

/// Time, ns, of an unfinished wait that was written for another activity than the finished wait counts for: a
/// wait for any of several ports counts, at its end, for the port on which a message came.
fn excess_written_ns(lane: &mut LaneProgress, gained: &LaneUpdate) -> u64 {
    // An instance is in one wait at a time, so new sums mean that the wait is over.
    if gained.sums.is_empty() {
        return 0;
    }
    let Some((what, told)) =
        lane.unfinished_wait.take().and_then(|what| Some((what, lane.written.get_mut(&what)?)))
    else {
        return 0;
    };
    let own = gained.sums.iter().find(|(one, ..)| *one == what).map_or(0, |&(_, ns, _)| ns);
    let ahead = told.ns.saturating_sub(own);
    told.ns -= ahead;
    ahead
}

/// The counters of an interval itself, of which `length` (ns) is added.
fn own_part(interval: &RecordedInterval, length: u64) -> TimelineSums {
    match interval.key.activity {
        Activity::Send => TimelineSums { sending: length, ..TimelineSums::default() },
        Activity::Receive => TimelineSums { receiving: length, ..TimelineSums::default() },
        _ => TimelineSums { waits: 1, waited: length, ..TimelineSums::default() },
    }
}

fn cause(rank: RankId, what: ActivityKey, names: &impl Names) -> TimelineCause {
    let nothing = TimelineCause { rank, activity: what.activity, at: None, peer: None, peer_port: None };
    let Some(id) = what.id else { return nothing };
    if what.activity == Activity::Slots {
        return TimelineCause { peer: Some(EndpointId::new(id).leader()), ..nothing };
    }
    let Some((from, to)) = names.ends(id) else { return nothing };
    let ((_, own), (peer, port)) = match what.activity {
        Activity::Room | Activity::Send => (from, to),
        _ => (to, from),
    };
    TimelineCause { at: Some(own), peer: Some(peer), peer_port: Some(port), ..nothing }
}

/// The text of the same timeline, with the resolution of `header`.
fn coarser(text: &str, header: &TimelineHeader) -> Result<String, Fault> {
    let mut out = beginning(header);
    let mut mergers: HashMap<RankId, PieceMerger> = HashMap::new();
    let mut totals: HashMap<u32, (u64, u64)> = HashMap::new();
    let mut ends = String::new();
    for (number, text) in text.lines().enumerate().skip(2) {
        match TimelineLine::read(text).map_err(|why| why.told(|why| format!("line {}: {why}", number + 1)))? {
            TimelineLine::Piece { rank, piece } => {
                let write = &mut |piece| TimelineLine::Piece { rank, piece }.write(&mut out);
                mergers.entry(rank).or_default().push(piece, header.resolution, write);
            }
            TimelineLine::Total { cause, ns, count } => {
                let total = totals.entry(cause).or_default();
                *total = (total.0.saturating_add(ns), total.1.saturating_add(count));
            }
            line @ TimelineLine::Ends { .. } => line.write(&mut ends),
            line => line.write(&mut out),
        }
    }
    let mut mergers: Vec<_> = mergers.into_iter().collect();
    mergers.sort_unstable_by_key(|(rank, _)| *rank);
    for (rank, mut merger) in mergers {
        merger.flush(&mut |piece| TimelineLine::Piece { rank, piece }.write(&mut out));
    }
    let mut totals: Vec<_> = totals.into_iter().collect();
    totals.sort_unstable();
    for (cause, (ns, count)) in totals {
        TimelineLine::Total { cause, ns, count }.write(&mut out);
    }
    out.push_str(&ends);
    debug_assert!(out.starts_with(FIRST_LINE_PREFIX));
    Ok(out)
}
