//! Filters that block messages by their times, or change their times. The data of a message stays in its
//! memory.

use crate::chain::{FilterRemark, FilterStep, StepOutput};
use crate::memory::{checked, FilterMemory, Memory};
use crate::parcel::Parcel;
use ligament_catalogue::{fault, Fault};
use ligament_wire::fields::{counted, entries, Fields};
use ligament_wire::times::{ShownTime, TimeSeries};
use ligament_wire::Value;

/// Passes every n-th message on, beginning with the first message of each series.
pub(crate) struct EveryNth {
    n: u64,
    /// Number of messages that are still to be dropped before the next message passes.
    left_out: u64,
    series: TimeSeries,
}

impl EveryNth {
    pub fn new(n: u64, series: TimeSeries) -> EveryNth {
        EveryNth { n, left_out: 0, series }
    }
}

impl FilterStep for EveryNth {
    /// Passes a message, or drops it. The next message that passes is n steps away, so the next timestamp of
    /// a passed message is set to n times its step.
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

    fn memory(&mut self) -> FilterMemory<'_> {
        FilterMemory::Some(self)
    }
}

impl Memory for EveryNth {
    fn state(&mut self) -> Result<Value, Fault> {
        Ok(entries([("left out", counted(self.left_out)), ("series", self.series.state())]))
    }

    fn restore(&mut self, state: &Value) -> Result<(), Fault> {
        let mut restored = || {
            let fields = Fields::of(state)?;
            (self.left_out, self.series) =
                (fields.count("left out")?, TimeSeries::of_state(fields.get("series")?)?);
            Some(())
        };
        checked(restored())
    }
}

/// Blocks messages before a time.
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

    fn memory(&mut self) -> FilterMemory<'_> {
        FilterMemory::Some(self)
    }
}

impl Memory for BlockUntil {
    fn state(&mut self) -> Result<Value, Fault> {
        Ok(self.series.state())
    }

    fn restore(&mut self, state: &Value) -> Result<(), Fault> {
        checked(TimeSeries::of_state(state).map(|series| self.series = series))
    }
}

/// Blocks messages after a time.
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
        // The last message that passes has no next timestamp.
        parcel.next_timestamp = parcel.next_timestamp.filter(|&next| !is_after(next));
        Ok(StepOutput::One(parcel))
    }

    fn memory(&mut self) -> FilterMemory<'_> {
        FilterMemory::Some(self)
    }
}

impl Memory for BlockAfter {
    fn state(&mut self) -> Result<Value, Fault> {
        Ok(self.series.state())
    }

    fn restore(&mut self, state: &Value) -> Result<(), Fault> {
        checked(TimeSeries::of_state(state).map(|series| self.series = series))
    }
}

/// Adds a constant to the times of a message.
pub(crate) struct TimeOffset(pub f64);

impl FilterStep for TimeOffset {
    fn apply<'a>(&mut self, parcel: Parcel<'a>, _: &mut Vec<FilterRemark>) -> Result<StepOutput<'a>, Fault> {
        changed(parcel, |time| time + self.0)
    }

    fn memory(&mut self) -> FilterMemory<'_> {
        FilterMemory::None
    }
}

/// Multiplies the times of a message by a constant.
pub(crate) struct TimeFactor(pub f64);

impl FilterStep for TimeFactor {
    fn apply<'a>(&mut self, parcel: Parcel<'a>, _: &mut Vec<FilterRemark>) -> Result<StepOutput<'a>, Fault> {
        changed(parcel, |time| time * self.0)
    }

    fn memory(&mut self) -> FilterMemory<'_> {
        FilterMemory::None
    }
}

/// Applies `change` to the timestamp and the next timestamp of a message. Refuses times that become
/// infinite.
fn changed(mut parcel: Parcel<'_>, change: impl Fn(f64) -> f64) -> Result<StepOutput<'_>, Fault> {
    let change = |time: f64| match change(time) {
        changed if changed.is_finite() => Ok(changed),
        _ => Err(fault!(FILTER_FAILED, "time {} would become larger than a number can be", ShownTime(time))),
    };
    parcel.timestamp = change(parcel.timestamp)?;
    parcel.next_timestamp = parcel.next_timestamp.map(change).transpose()?;
    Ok(StepOutput::One(parcel))
}

/// Drops every message.
pub(crate) struct Discard;

impl FilterStep for Discard {
    fn apply<'a>(&mut self, _: Parcel<'a>, _: &mut Vec<FilterRemark>) -> Result<StepOutput<'a>, Fault> {
        Ok(StepOutput::None)
    }

    fn memory(&mut self) -> FilterMemory<'_> {
        FilterMemory::None
    }
}
