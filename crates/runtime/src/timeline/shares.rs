//! A timeline as columns: what part of each piece of wall time an instance, or on average the instances of a component,
//! spent computing, waiting, sending and receiving.

use super::MANY;
use ligament_manager::timeline::{Activity, Lane, Sums, Timeline};

/// What is told apart, in the order in which it is drawn and listed.
pub const KINDS: [&str; 4] = ["compute", "wait", "send", "receive"];

/// Time spent on each of `KINDS`, ns.
pub type Times = [f64; KINDS.len()];

/// A row of the picture.
pub struct Row {
    pub name: String,
    /// For each column the part of it spent on each kind, of each instance on average; not more than 1 together.
    pub columns: Vec<Times>,
    /// The sums over all of its time, on average, s.
    pub seconds: Times,
}

impl Row {
    /// The part of its time spent on each kind.
    pub fn parts(&self) -> Times {
        let all: f64 = self.seconds.iter().sum();
        self.seconds.map(|one| if all > 0.0 { one / all } else { 0.0 })
    }
}

/// Times of a length of time in which this was counted.
fn times(length: u64, sums: &Sums) -> Times {
    let others = sums.busy_otherwise();
    let scale = if others > length { length as f64 / others as f64 } else { 1.0 };
    let part = |ns: u64| ns as f64 * scale;
    [length.saturating_sub(others) as f64, part(sums.waited), part(sums.sending), part(sums.receiving)]
}

/// Spreads times evenly over `begin..end`.
fn spread(begin: u64, end: u64, times: &Times, column: f64, columns: &mut [Times]) {
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

fn add(timeline: &Timeline, lane: &Lane, column: f64, columns: &mut [Times]) {
    for span in &lane.spans {
        if span.is_period {
            spread(span.begin, span.end, &times(span.end - span.begin, &span.sums), column, columns);
            continue;
        }
        let mut own = Sums::default();
        match span.cause.map(|cause| timeline.causes[cause as usize].activity) {
            Some(Activity::Send) => own.sending = span.share,
            Some(Activity::Receive) => own.receiving = span.share,
            _ => own.waited = span.share,
        }
        spread(span.from, span.begin, &times(span.begin - span.from, &span.sums.since(&own)), column, columns);
        spread(span.begin, span.end, &times(span.end - span.begin, &own), column, columns);
    }
}

/// The rows: one for each instance, or for each component if there are many, and at most `most` of them.
pub fn rows(timeline: &Timeline, columns: usize, most: usize) -> Vec<Row> {
    let end = timeline.end().max(1);
    let column = end as f64 / columns as f64;
    let mut rows = Vec::new();
    let mut rest = timeline.lanes.as_slice();
    let each = rest.len() <= MANY;
    while let Some(first) = rest.first() {
        let alike = |lane: &&Lane| lane.component == first.component;
        let count = if each { 1 } else { rest.iter().take_while(alike).count() };
        let (these, others) = rest.split_at(count);
        rest = others;
        if rows.len() == most {
            break;
        }
        let mut row = Row {
            name: if count == 1 {
                first.name.clone()
            } else {
                format!("{} (mean of {count})", first.component)
            },
            columns: vec![Times::default(); columns],
            seconds: Times::default(),
        };
        for lane in these {
            add(timeline, lane, column, &mut row.columns);
            for (sum, ns) in row.seconds.iter_mut().zip(times(lane.total(), &lane.sums)) {
                *sum += ns / 1e9 / count as f64;
            }
        }
        let scale = 1.0 / (column * count as f64);
        row.columns.iter_mut().flatten().for_each(|time| *time *= scale);
        rows.push(row);
    }
    rows
}
