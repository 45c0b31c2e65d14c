//! Filters that let messages pass or change their times; the data stays where it is.

use crate::chain::{FilterRemark, FilterStep, StepOutput};
use crate::parcel::Parcel;
use ligament_catalogue::{fault, Fault};
use ligament_wire::times::{ShownTime, TimeSeries};

/// Keeps one message in n, beginning with the first of each series.
pub(crate) struct EveryNth {
    n: u64,
    /// The number of messages that are left out before the next one is kept.
    left_out: u64,
    series: TimeSeries,
}

impl EveryNth {
    pub fn new(n: u64, series: TimeSeries) -> EveryNth {
        EveryNth { n, left_out: 0, series }
    }
}

impl FilterStep for EveryNth {
    /// The next message that is kept is n steps away; steps are taken to be as long as this one.
    fn apply<'a>(
        &mut self,
        mut parcel: Parcel<'a>,
        _: &mut Vec<FilterRemark>,
    ) -> Result<StepOutput<'a>, Fault> {
        if self.series.goes_on(parcel.timestamp, parcel.next_timestamp) {
            self.left_out = 0;
        }
        if self.left_out > 0 {
            self.left_out -= 1;
            return Ok(StepOutput::None);
        }
        self.left_out = self.n - 1;
        let at = parcel.timestamp;
        if self.n > 1 {
            parcel.next_timestamp = parcel.next_timestamp.map(|next| at + (next - at) * self.n as f64);
        }
        Ok(StepOutput::One(parcel))
    }
}

/// Lets messages pass from a time on.
pub(crate) struct BlockUntil {
    pub time: f64,
    pub series: TimeSeries,
}

impl FilterStep for BlockUntil {
    fn apply<'a>(&mut self, parcel: Parcel<'a>, _: &mut Vec<FilterRemark>) -> Result<StepOutput<'a>, Fault> {
        self.series.goes_on(parcel.timestamp, parcel.next_timestamp);
        Ok(if self.series.is_before(parcel.timestamp, self.time) {
            StepOutput::None
        } else {
            StepOutput::One(parcel)
        })
    }
}

/// Lets messages pass up to a time.
pub(crate) struct BlockAfter {
    pub time: f64,
    pub series: TimeSeries,
}

impl FilterStep for BlockAfter {
    fn apply<'a>(
        &mut self,
        mut parcel: Parcel<'a>,
        _: &mut Vec<FilterRemark>,
    ) -> Result<StepOutput<'a>, Fault> {
        self.series.goes_on(parcel.timestamp, parcel.next_timestamp);
        let is_after = |time| self.series.is_before(self.time, time);
        if is_after(parcel.timestamp) {
            return Ok(StepOutput::None);
        }
        // The last one that passes has no next.
        parcel.next_timestamp = parcel.next_timestamp.filter(|&next| !is_after(next));
        Ok(StepOutput::One(parcel))
    }
}

/// Moves times.
pub(crate) struct TimeOffset(pub f64);

impl FilterStep for TimeOffset {
    fn apply<'a>(&mut self, parcel: Parcel<'a>, _: &mut Vec<FilterRemark>) -> Result<StepOutput<'a>, Fault> {
        changed(parcel, |time| time + self.0)
    }
}

/// Stretches times.
pub(crate) struct TimeFactor(pub f64);

impl FilterStep for TimeFactor {
    fn apply<'a>(&mut self, parcel: Parcel<'a>, _: &mut Vec<FilterRemark>) -> Result<StepOutput<'a>, Fault> {
        changed(parcel, |time| time * self.0)
    }
}

/// Changes both times of a message.
fn changed(mut parcel: Parcel<'_>, change: impl Fn(f64) -> f64) -> Result<StepOutput<'_>, Fault> {
    let change = |time: f64| match change(time) {
        changed if changed.is_finite() => Ok(changed),
        _ => Err(fault!(FILTER_FAILED, "time {} would become larger than a number can be", ShownTime(time))),
    };
    parcel.timestamp = change(parcel.timestamp)?;
    parcel.next_timestamp = parcel.next_timestamp.map(change).transpose()?;
    Ok(StepOutput::One(parcel))
}

/// Lets nothing pass.
pub(crate) struct Discard;

impl FilterStep for Discard {
    fn apply<'a>(&mut self, _: Parcel<'a>, _: &mut Vec<FilterRemark>) -> Result<StepOutput<'a>, Fault> {
        Ok(StepOutput::None)
    }
}
