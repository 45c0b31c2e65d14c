//! Reads the timeline of a run. The file may be damaged, incomplete, or written by another version of
//! Ligament.

pub use super::file_format::TimelineHeader;
use super::file_format::{TimelineLine, FIRST_LINE, FIRST_LINE_PREFIX};
use super::merge::{TimelinePiece, TimelineSums};
use super::TimelineCause;
use crate::directory::RunDirectory;
use ligament_catalogue::{fault, Fault};
use ligament_wire::RankId;
use std::path::Path;

/// Maximum size of a file that is read, in bytes.
const MAX_FILE_BYTES: u64 = 4 << 30;

/// A part of an instance's timeline. All times are in ns since the time 0 of the timeline.
#[derive(Debug, Clone, PartialEq)]
pub struct TimelineSpan {
    /// End of the previous span. From this time to `begin`, the instance computed, or waited for times that
    /// are too short to be shown.
    pub from: u64,
    pub begin: u64,
    pub end: u64,
    /// Index in `RunTimeline::causes`. The cause of a period is the cause that took most of the period's
    /// time, not counting computing.
    pub cause: Option<u32>,
    /// Time that the cause took, in ns.
    pub share: u64,
    /// True if the span is a period. A period stands for several intervals and the time between them.
    pub is_period: bool,
    /// Counters of the time from `from` to `end`.
    pub sums: TimelineSums,
    /// Model time at the end of the span, in s.
    pub time: Option<f64>,
}

/// The timeline of one instance.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TimelineLane {
    pub name: String,
    pub component: String,
    /// Time at which the instance registered, in ns.
    pub began: Option<u64>,
    /// Time at which the instance ended, in ns, and a description of the end.
    pub ended: Option<(u64, String)>,
    pub spans: Vec<TimelineSpan>,
    /// Counters of the whole timeline.
    pub sums: TimelineSums,
}

impl TimelineLane {
    /// Returns the time up to which the timeline is known, in ns.
    pub fn end(&self) -> u64 {
        self.spans.last().map_or(self.began.unwrap_or(0), |span| span.end)
    }

    /// Returns the time from the registration to the end, in ns.
    pub fn total(&self) -> u64 {
        self.end() - self.began.unwrap_or(0)
    }

    /// Returns the time that the instance spent computing, in ns.
    pub fn computing(&self) -> u64 {
        self.total().saturating_sub(self.sums.busy_otherwise())
    }
}

/// The timeline of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunTimeline {
    pub header: TimelineHeader,
    pub lanes: Vec<TimelineLane>,
    pub causes: Vec<TimelineCause>,
    /// Total time (ns) and number of occurrences of each cause, including occurrences too short to be
    /// shown.
    pub totals: Vec<(u64, u64)>,
}

impl RunTimeline {
    /// Reads the timeline of a run.
    ///
    /// # Errors
    /// There is no timeline, or the timeline is damaged. The error has the file, the line and the problem.
    pub fn of(run: &RunDirectory) -> Result<RunTimeline, Fault> {
        let path = run.timeline();
        let wrong = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => fault!(
                NO_TIMELINE,
                "the run {} has no timeline ({}): its model says \"timeline: 0\" under \"ligament:\", or it \
                was made by an older version",
                run.name(),
                path.display()
            ),
            std::io::ErrorKind::InvalidData => {
                fault!(TIMELINE_DAMAGED, "{}: it is not text; it is damaged", path.display())
            }
            _ => fault!(TIMELINE_DAMAGED, "{}: {error}", path.display()),
        };
        let len = std::fs::metadata(&path).map_err(wrong)?.len();
        if len > MAX_FILE_BYTES {
            return Err(fault!(
                TIMELINE_DAMAGED,
                "{} has {len} bytes; that is no timeline of a run",
                path.display()
            ));
        }
        let text = ligament_model::read_text(&path).map_err(wrong)?;
        RunTimeline::read(&text, &path)
    }

    /// Parses the text of a timeline. `path` is only used in messages.
    ///
    /// # Errors
    /// As `of`.
    pub fn read(text: &str, path: &Path) -> Result<RunTimeline, Fault> {
        let at = |line: usize, what: Fault| what.told(|what| format!("{}:{line}: {what}", path.display()));
        // The last line may be incomplete, because the line is being written, or because the run was
        // killed.
        let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
        let mut lines = whole.lines().enumerate().map(|(i, line)| (i + 1, line));
        match lines.next() {
            Some((_, FIRST_LINE)) => {}
            Some((_, other)) if other.starts_with(FIRST_LINE_PREFIX) => {
                let version: String = other[FIRST_LINE_PREFIX.len()..].chars().take(20).collect();
                return Err(at(
                    1,
                    fault!(
                        TIMELINE_NEWER,
                        "it is of version {version}, and this is Ligament {}, which reads version 1; \
                    use the Ligament that made it",
                        env!("CARGO_PKG_VERSION")
                    ),
                ));
            }
            _ => {
                return Err(at(
                    1,
                    fault!(
                        TIMELINE_DAMAGED,
                        "it does not begin with \"{FIRST_LINE}\": it is no timeline, or it is damaged"
                    ),
                ))
            }
        }
        let header = lines.next().map_or("", |(_, text)| text);
        let header: TimelineHeader = serde_json::from_str(header)
            .map_err(|error| at(2, fault!(TIMELINE_DAMAGED, "the header is damaged: {error}")))?;
        let mut timeline = RunTimeline { header, lanes: Vec::new(), causes: Vec::new(), totals: Vec::new() };
        for (number, text) in lines {
            let added = TimelineLine::read(text).and_then(|line| timeline.add(line));
            added.map_err(|why| at(number, fault!(TIMELINE_DAMAGED, "{why}; the file is damaged")))?;
        }
        Ok(timeline)
    }

    fn lane(&mut self, rank: RankId) -> Result<&mut TimelineLane, Fault> {
        let there = self.lanes.len();
        self.lanes.get_mut(rank.index()).ok_or_else(|| fault!(TIMELINE_DAMAGED, "instance {rank} of {there}"))
    }

    fn add(&mut self, line: TimelineLine) -> Result<(), Fault> {
        match line {
            TimelineLine::Instance { number, component, name } => {
                if number.index() != self.lanes.len() {
                    return Err(fault!(
                        TIMELINE_DAMAGED,
                        "instance {number} where {} was due",
                        self.lanes.len()
                    ));
                }
                self.lanes.push(TimelineLane { name, component, ..TimelineLane::default() });
            }
            TimelineLine::Cause { number, cause } => {
                if number as usize != self.causes.len() {
                    return Err(fault!(TIMELINE_DAMAGED, "cause {number} where {} was due", self.causes.len()));
                }
                self.lane(cause.rank)?;
                if let Some(peer) = cause.peer {
                    self.lane(peer)?;
                }
                self.causes.push(cause);
                self.totals.push((0, 0));
            }
            TimelineLine::Begins { rank, at } => {
                let lane = self.lane(rank)?;
                if lane.began.replace(at).is_some() {
                    return Err(fault!(TIMELINE_DAMAGED, "instance {rank} begins twice"));
                }
            }
            TimelineLine::Ends { rank, at, how } => self.lane(rank)?.ended = Some((at, how)),
            TimelineLine::Piece { rank, piece } => self.add_piece(rank, &piece)?,
            TimelineLine::Total { cause, ns, count } => {
                let there = self.totals.len();
                let total = self
                    .totals
                    .get_mut(cause as usize)
                    .ok_or_else(|| fault!(TIMELINE_DAMAGED, "cause {cause} of {there}"))?;
                *total = (total.0.saturating_add(ns), total.1.saturating_add(count));
            }
            TimelineLine::Unknown => {}
        }
        Ok(())
    }

    fn add_piece(&mut self, rank: RankId, piece: &TimelinePiece) -> Result<(), Fault> {
        let causes = self.causes.len();
        if let Some(cause) = piece.cause {
            let known = self
                .causes
                .get(cause as usize)
                .ok_or_else(|| fault!(TIMELINE_DAMAGED, "cause {cause} of {causes}"))?;
            if known.rank != rank {
                return Err(fault!(
                    TIMELINE_DAMAGED,
                    "cause {cause} is one of instance {}, not of {rank}",
                    known.rank
                ));
            }
        }
        let lane = self.lane(rank)?;
        if lane.began.is_none() {
            return Err(fault!(TIMELINE_DAMAGED, "instance {rank} has not begun"));
        }
        let from = lane.end();
        let begin = from.checked_add(piece.gap).ok_or_else(too_far)?;
        let end = begin.checked_add(piece.length).ok_or_else(too_far)?;
        lane.sums = lane.sums.plus(&piece.sums);
        let TimelinePiece { cause, share, is_period, sums, time, .. } = *piece;
        lane.spans.push(TimelineSpan { from, begin, end, cause, share, is_period, sums, time });
        Ok(())
    }

    /// Returns the latest end of all instances' timelines, in ns. During a run, this is the time up to
    /// which the timeline is known.
    pub fn end(&self) -> u64 {
        self.lanes.iter().map(TimelineLane::end).max().unwrap_or(0)
    }

    /// Returns the name of a cause's peer, for people.
    pub fn peer_name(&self, cause: &TimelineCause) -> &str {
        cause.peer.map_or("others", |peer| &self.lanes[peer.index()].name)
    }
}

fn too_far() -> Fault {
    fault!(TIMELINE_DAMAGED, "it is too far in the future")
}
