//! Writes the timeline of a run during the run. Updates of instances are appended to the timeline's file.
//! When the file becomes too large, its resolution is made coarser.

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

/// Maximum size of the file in bytes, unless the model sets another size.
pub const DEFAULT_TIMELINE_BYTES: u64 = 16 << 20;
/// Resolution that is chosen when the file becomes too large for the first time, in ns.
const FIRST_RESOLUTION_NS: u64 = 1_000_000;
/// Maximum resolution in ns, about two weeks. The file never becomes coarser than this.
const LAST_RESOLUTION_NS: u64 = 1 << 50;
/// Time after which an instance's timeline is extended even if the activity of the instance has not
/// changed, in ns.
const MAX_SILENCE_NS: u64 = 5_000_000_000;

/// An activity and the object of the activity. `id` is the number of a channel, or of an endpoint for
/// `Slots`, or `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ActivityKey {
    pub activity: Activity,
    pub id: Option<u32>,
}

/// The counters of an instance at one time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LaneTotals {
    pub sums: TimelineSums,
    /// Model time, in s.
    pub time: Option<f64>,
}

/// A wait or a copy. Both times are in ns of the machine's clock.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedInterval {
    pub key: ActivityKey,
    pub begin: u64,
    pub end: u64,
    /// Counters of the instance at the end of the interval.
    pub counted: LaneTotals,
    /// Number of intervals directly before this interval that were lost. Only the counters include them.
    pub missed: u64,
}

/// The total time of an activity since the instance began.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ActivityTotal {
    pub key: ActivityKey,
    pub ns: u64,
    /// Number of times that the activity took place.
    pub count: u64,
}

/// The news of an instance since its last update. All times are in ns of the machine's clock.
#[derive(Debug, Clone, Default)]
pub struct LaneUpdate {
    /// Time at which the instance started; 0 if it has not started.
    pub started: u64,
    /// Time at which the instance ended; 0 if it has not ended.
    pub ended: u64,
    pub counted: LaneTotals,
    pub intervals: Vec<RecordedInterval>,
    /// Totals of some or all activities.
    pub totals: Vec<ActivityTotal>,
    /// Present wait, and the time at which the wait began.
    pub waits: Option<(ActivityKey, u64)>,
}

/// The reason of an update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpdateReason {
    Tick,
    /// A client wants to see the present state of the run.
    OnDemand,
    /// The instance has ended, in the state that the text names. This is the instance's last update.
    LaneEnded(String),
}

/// The time of an update, in ns of the machine's clock, and the reason of the update.
#[derive(Debug, Clone, Copy)]
pub struct UpdateOccasion<'a> {
    pub now: u64,
    pub reason: &'a UpdateReason,
}

/// The names of a lane. A lane is the part of the timeline that belongs to one rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneName {
    pub component: String,
    /// Name of the instance, or of the rank.
    pub name: String,
}

/// The properties of a new timeline.
#[derive(Debug)]
pub struct NewTimeline<'a> {
    pub header: TimelineHeader,
    /// Names of all lanes, in the order of their ranks.
    pub lanes: &'a [LaneName],
    /// Maximum size of the file, in bytes.
    pub limit: u64,
    /// Time of the machine's clock at the time 0 of the timeline, in ns.
    pub zero: u64,
}

/// The part of an activity's total time and count that has been written to the file.
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
    /// Time up to which the timeline is written or pending, in ns of the machine's clock.
    at: u64,
    counted: LaneTotals,
    written: HashMap<ActivityKey, WrittenTotal>,
    /// Activity of the present wait, if part of the wait has been written before its end.
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
    /// Time of the machine's clock at the time 0 of the file, in ns.
    zero: u64,
    header: TimelineHeader,
    lanes: Vec<LaneProgress>,
    causes: u32,
    bytes: u64,
    /// Size of the file above which the file is made coarser, in bytes.
    limit: u64,
    wanted: u64,
    /// Text that has not been written to the file yet.
    text: String,
}

impl TimelineRecorder {
    /// Creates the file and writes its first lines.
    ///
    /// # Errors
    /// The system's message, with the path.
    pub fn create(directory: &RunDirectory, timeline: NewTimeline<'_>) -> Result<TimelineRecorder, Fault> {
        let NewTimeline { header, lanes, limit, zero } = timeline;
        let mut text = beginning(&header);
        for (number, LaneName { component, name }) in lanes.iter().enumerate() {
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
            zero,
            header,
            lanes: lanes.iter().map(|_| LaneProgress::default()).collect(),
            causes: 0,
            bytes,
            limit: limit.max(2 * bytes),
            wanted: limit,
            text: String::new(),
        })
    }

    /// Takes an update of a rank, made for the reason and at the time in `at`.
    pub fn add(&mut self, rank: RankId, update: &LaneUpdate, at: &UpdateOccasion<'_>, names: &impl Names) {
        let Some(lane) = self.lanes.get_mut(rank.index()) else { return };
        let mut writer = LaneWriter {
            rank,
            lane,
            text: &mut self.text,
            causes: &mut self.causes,
            zero: self.zero,
            resolution: self.header.resolution,
            names,
        };
        writer.add(update, at);
    }

    /// Writes the collected text to the file.
    ///
    /// # Errors
    /// The system's message, with the path. The text that could not be written is lost, and the file may
    /// end within a line.
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

    /// Makes the resolution coarser by factors of 2 until the file has at most half of its maximum size.
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

/// Writes the updates of one rank as lines of the timeline.
struct LaneWriter<'a, N> {
    rank: RankId,
    lane: &'a mut LaneProgress,
    text: &'a mut String,
    /// Number of causes that the file has.
    causes: &'a mut u32,
    zero: u64,
    resolution: u64,
    names: &'a N,
}

/// The cause that took most of a period, not counting computing, and the time that this cause took.
#[derive(Debug, Clone, Copy, Default)]
struct MainCause {
    number: Option<u32>,
    ns: u64,
}

impl<N: Names> LaneWriter<'_, N> {
    fn add(&mut self, update: &LaneUpdate, at: &UpdateOccasion<'_>) {
        let rank = self.rank;
        if self.lane.over || update.started == 0 {
            return;
        }
        if !self.lane.begun {
            self.lane.begun = true;
            self.lane.at = update.started.max(self.zero);
            TimelineLine::Begins { rank, at: self.lane.at - self.zero }.write(self.text);
        }
        for interval in &update.intervals {
            let cause = self.number(interval.key);
            if interval.missed > 0 {
                self.bridge(interval, update);
            }
            self.add_interval(interval, cause);
        }
        let mut ahead = excess_written_ns(self.lane, update);
        for total in &update.totals {
            self.add_to_total(total, &mut ahead);
        }
        // The end of the instance is the last time that is recorded.
        let now = if update.ended > 0 { update.ended } else { at.now };
        let is_tick = *at.reason == UpdateReason::Tick;
        if !is_tick || now.saturating_sub(self.lane.at) > MAX_SILENCE_NS {
            self.extend(update, now);
        }
        if !is_tick {
            let text = &mut *self.text;
            self.lane.merger.flush(&mut |piece| TimelineLine::Piece { rank, piece }.write(text));
        }
        if let UpdateReason::LaneEnded(how) = at.reason {
            self.lane.over = true;
            TimelineLine::Ends { rank, at: self.lane.at - self.zero, how: how.clone() }.write(self.text);
        }
    }

    /// Adds one period that stands for all intervals lost before `interval`.
    fn bridge(&mut self, interval: &RecordedInterval, update: &LaneUpdate) {
        let begin = interval.begin.max(self.lane.at);
        let own = own_part(interval, interval.end.saturating_sub(begin));
        let before = LaneTotals { sums: interval.counted.sums.since(&own), time: interval.counted.time };
        // It is unknown which cause took most of the period. The cause whose total has grown most is the
        // likeliest.
        let grown = |total: &ActivityTotal| {
            let told = self.lane.written.get(&total.key)?;
            Some(MainCause { number: Some(told.number), ns: total.ns.saturating_sub(told.ns) })
        };
        let most = update.totals.iter().filter_map(grown).max_by_key(|cause| cause.ns);
        self.add_period(begin, before, most.unwrap_or_default());
    }

    fn add_interval(&mut self, interval: &RecordedInterval, cause: u32) {
        let (begin, end) = (interval.begin.max(self.lane.at), interval.end.max(self.lane.at));
        let piece = TimelinePiece {
            gap: begin - self.lane.at,
            length: end - begin,
            cause: Some(cause),
            share: end - begin,
            is_period: false,
            sums: interval.counted.sums.since(&self.lane.counted.sums),
            time: interval.counted.time,
        };
        self.lane.at = end;
        self.push(piece, interval.counted);
    }

    /// Extends the timeline up to the time `to` by one period.
    fn add_period(&mut self, to: u64, counted: LaneTotals, main: MainCause) {
        let length = to.saturating_sub(self.lane.at);
        let sums = counted.sums.since(&self.lane.counted.sums);
        if length == 0 && sums == TimelineSums::default() {
            return;
        }
        let share = main.ns.min(length).min(sums.busy_otherwise());
        let piece = TimelinePiece {
            gap: 0,
            length,
            cause: main.number,
            share,
            is_period: true,
            sums,
            time: counted.time,
        };
        self.lane.at += length;
        self.push(piece, counted);
    }

    fn push(&mut self, piece: TimelinePiece, counted: LaneTotals) {
        // A status page that changes while it is read may show values that are a little older than the
        // previous values.
        self.lane.counted.sums = self.lane.counted.sums.plus(&piece.sums);
        self.lane.counted.time = counted.time.or(self.lane.counted.time);
        let (rank, text) = (self.rank, &mut *self.text);
        self.lane.merger.push(piece, self.resolution, &mut |piece| {
            TimelineLine::Piece { rank, piece }.write(text);
        });
    }

    /// Extends the timeline up to the time `now` by the instance's present activity.
    fn extend(&mut self, update: &LaneUpdate, now: u64) {
        let Some((key, since)) = update.waits else {
            return self.add_period(now.max(self.lane.at), update.counted, MainCause::default());
        };
        let since = since.max(self.lane.at);
        self.add_period(since, update.counted, MainCause::default());
        let length = now.saturating_sub(since);
        let cause = self.number(key);
        let mut counted = update.counted;
        counted.sums = self.lane.counted.sums.plus(&TimelineSums { waited: length, ..TimelineSums::default() });
        let interval = RecordedInterval { key, begin: since, end: now, counted, missed: 0 };
        self.add_interval(&interval, cause);
        if let Some(told) = self.lane.written.get_mut(&key) {
            told.ns += length;
            self.lane.unfinished_wait = Some(key);
            TimelineLine::Total { cause, ns: length, count: 0 }.write(self.text);
        }
    }

    /// Writes the increase of an activity's total. Up to `ahead` ns of the increase have been written
    /// already.
    fn add_to_total(&mut self, total: &ActivityTotal, ahead: &mut u64) {
        let &ActivityTotal { key, ns, count } = total;
        let cause = self.number(key);
        let told = self.lane.written.get_mut(&key).expect("it has a number");
        // If part of an unfinished wait was written, `told` has that part already.
        let (more, often) = (ns.saturating_sub(told.ns), count.saturating_sub(told.count));
        if more > 0 || often > 0 {
            told.ns += more;
            told.count += often;
            let known = more.min(*ahead);
            *ahead -= known;
            TimelineLine::Total { cause, ns: more - known, count: often }.write(self.text);
        }
    }

    /// Returns the number of a cause in the file. A cause that is new is first written to the file.
    fn number(&mut self, key: ActivityKey) -> u32 {
        if let Some(told) = self.lane.written.get(&key) {
            return told.number;
        }
        let number = *self.causes;
        *self.causes += 1;
        self.lane.written.insert(key, WrittenTotal { number, ns: 0, count: 0 });
        TimelineLine::Cause { number, cause: cause(self.rank, key, self.names) }.write(self.text);
        number
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

/// Returns the time, in ns, of an unfinished wait that was written for a different activity from the one
/// that the finished wait counts for. Example: a wait for any of several ports counts, after its end, for
/// the port on which a message arrived.
fn excess_written_ns(lane: &mut LaneProgress, update: &LaneUpdate) -> u64 {
    // An instance is in only one wait at a time, so new totals show that the wait has ended.
    if update.totals.is_empty() {
        return 0;
    }
    let Some((what, told)) =
        lane.unfinished_wait.take().and_then(|what| Some((what, lane.written.get_mut(&what)?)))
    else {
        return 0;
    };
    let own = update.totals.iter().find(|total| total.key == what).map_or(0, |total| total.ns);
    let ahead = told.ns.saturating_sub(own);
    told.ns -= ahead;
    ahead
}

/// Returns the part of the counters that comes from `length` ns of an interval, without what was counted before
/// it.
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

/// Returns the text of the same timeline with the resolution of `header`.
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
