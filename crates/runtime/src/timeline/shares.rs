//! A timeline as columns, for a picture. Each column stands for a piece of wall time. It has the shares of this
//! time that an instance spent computing, waiting, sending and receiving. For a component, the shares are the
//! average over its instances.

use super::MAX_SEPARATE_INSTANCES;
use ligament_manager::timeline::{Activity, RunTimeline, TimelineLane, TimelineSums};

/// The kinds of activity, in the order in which they are drawn and listed.
pub const KINDS: [&str; 5] = ["compute", "wait", "send", "receive", "held"];

/// Time spent on each of `KINDS`, ns.
pub type TimeShares = [f64; KINDS.len()];

/// A row of the picture.
pub struct ShareRow {
    pub name: String,
    /// For each column, the share of each kind, as an average over the instances. The shares of a column add up
    /// to at most 1.
    pub columns: Vec<TimeShares>,
    /// Time spent on each kind in all columns, as an average over the instances, in s.
    pub seconds: TimeShares,
}

impl ShareRow {
    /// Returns the share of each kind in the whole time.
    pub fn parts(&self) -> TimeShares {
        let all: f64 = self.seconds.iter().sum();
        self.seconds.map(|one| if all > 0.0 { one / all } else { 0.0 })
    }
}

/// Returns the time of each kind in a period of this length. `held` is the time that was spent held at a
/// steering point; it is a part of the waits.
fn times(length: u64, sums: &TimelineSums, held: u64) -> TimeShares {
    let others = sums.busy_otherwise();
    let scale = if others > length { length as f64 / others as f64 } else { 1.0 };
    let part = |ns: u64| ns as f64 * scale;
    let held = held.min(sums.waited);
    let computing = length.saturating_sub(others) as f64;
    [computing, part(sums.waited - held), part(sums.sending), part(sums.receiving), part(held)]
}

/// Distributes times evenly over `begin..end`.
fn spread(begin: u64, end: u64, times: &TimeShares, column: f64, columns: &mut [TimeShares]) {
    if end <= begin || columns.is_empty() {
        return;
    }
    let last = columns.len() - 1;
    let (from, to) = (begin as f64 / column, end as f64 / column);
    for (i, place) in columns.iter_mut().enumerate().take(to.ceil() as usize).skip((from as usize).min(last)) {
        let overlap = (to.min(i as f64 + 1.0) - from.max(i as f64)).max(0.0) / (to - from);
        for (place, time) in place.iter_mut().zip(times) {
            *place += time * overlap;
        }
    }
}

fn add(timeline: &RunTimeline, lane: &TimelineLane, column: f64, columns: &mut [TimeShares]) {
    for span in &lane.spans {
        let activity = span.cause.map(|cause| timeline.causes[cause as usize].activity);
        let held = if activity == Some(Activity::Steering) { span.share } else { 0 };
        if span.is_period {
            spread(span.begin, span.end, &times(span.end - span.begin, &span.sums, held), column, columns);
            continue;
        }
        let mut own = TimelineSums::default();
        match activity {
            Some(Activity::Send) => own.sending = span.share,
            Some(Activity::Receive) => own.receiving = span.share,
            _ => own.waited = span.share,
        }
        let before = times(span.begin - span.from, &span.sums.since(&own), 0);
        spread(span.from, span.begin, &before, column, columns);
        spread(span.begin, span.end, &times(span.end - span.begin, &own, held), column, columns);
    }
}

/// Returns the time for which each instance was held at steering points, in ns. The totals of the causes are
/// exact, but the last part may not be in the file yet; so the spans are added up too, and the larger sum
/// counts.
fn held(timeline: &RunTimeline) -> Vec<u64> {
    let is_held = |cause: u32| timeline.causes[cause as usize].activity == Activity::Steering;
    let spans = |lane: &TimelineLane| -> u64 {
        let held = lane.spans.iter().filter(|span| span.cause.is_some_and(is_held));
        held.fold(0, |sum, span| sum.saturating_add(span.share))
    };
    let mut held: Vec<u64> = timeline.lanes.iter().map(spans).collect();
    for (cause, (ns, _)) in timeline.causes.iter().zip(&timeline.totals) {
        if cause.activity == Activity::Steering {
            let known = &mut held[cause.rank.index()];
            *known = (*known).max(*ns);
        }
    }
    held
}

/// Returns at most `most` rows: one for each instance, or one for each component if there are many instances.
pub fn rows(timeline: &RunTimeline, columns: usize, most: usize) -> Vec<ShareRow> {
    let end = timeline.end().max(1);
    let column = end as f64 / columns as f64;
    let mut rows = Vec::new();
    let held = held(timeline);
    let mut rest = timeline.lanes.as_slice();
    let each = rest.len() <= MAX_SEPARATE_INSTANCES;
    while let Some(first) = rest.first() {
        let alike = |lane: &&TimelineLane| lane.component == first.component;
        let count = if each { 1 } else { rest.iter().take_while(alike).count() };
        let from = timeline.lanes.len() - rest.len();
        let (these, others) = rest.split_at(count);
        rest = others;
        if rows.len() == most {
            break;
        }
        let mut row = ShareRow {
            name: if count == 1 {
                first.name.clone()
            } else {
                format!("{} (mean of {count})", first.component)
            },
            columns: vec![TimeShares::default(); columns],
            seconds: TimeShares::default(),
        };
        for (lane, held) in these.iter().zip(&held[from..]) {
            add(timeline, lane, column, &mut row.columns);
            for (sum, ns) in row.seconds.iter_mut().zip(times(lane.total(), &lane.sums, *held)) {
                *sum += ns / 1e9 / count as f64;
            }
        }
        let scale = 1.0 / (column * count as f64);
        row.columns.iter_mut().flatten().for_each(|time| *time *= scale);
        rows.push(row);
    }
    rows
}
