//! Model times: the rule by which two times count as the same, and the text of a time for people.
//!
//! A time is a sum of steps, and each addition rounds. A code that adds up 0.1 a thousand times is at
//! 99.9999999999986, so this time must not be compared with 100 by its bits. One rule applies wherever times
//! of different origin are compared:
//!
//! - If the step is known, two times are the same if they differ by less than a ten-thousandth of the step,
//!   or by less than the rounding of the additions so far. But two times that differ by more than a quarter of
//!   the step are never the same, so two steps of a code never become one.
//! - If no step is known, two times are the same if they differ by less than a thousand additions may round.
//!   Example: two neighbouring milliseconds since 1970 are two times, whether counted in seconds or in
//!   milliseconds.

use crate::fields::{counted, entries, optional, Fields};
use crate::value::Value;
use std::fmt;

/// Part of the step by which two times that are the same may differ.
const SHARE_OF_STEP: f64 = 1e-4;
/// Maximum part of the step by which two such times may differ, however many additions there were.
const MAX_SHARE_OF_STEP: f64 = 0.25;
/// Part of the last step. Two successive times that differ by less are the same time, and not a much shorter
/// step.
const SHARE_OF_NO_STEP: f64 = 1e-9;
/// Without a step: the part of the larger time by which two times that are the same may differ, 2⁻⁴².
const SHARE_OF_TIME: f64 = 1024.0 * f64::EPSILON;
/// Number of roundings for each step. It is more than one, because a code may make one step of several
/// additions.
const ROUNDINGS_PER_STEP: f64 = 4.0;
/// Number of roundings for all other computations with a time.
const ROUNDINGS: f64 = 16.0;

/// A series of ascending times, with the distance between them if it is known.
#[derive(Debug, Clone, Copy, Default)]
pub struct TimeSeries {
    last: Option<f64>,
    step: Option<f64>,
    /// Number of steps since the series began.
    steps: u64,
    /// The largest absolute value that was used to compute the times.
    largest: f64,
}

impl TimeSeries {
    /// Makes a series of times in equal steps. Each time is computed by itself, not from the one before.
    pub fn of_step(step: f64) -> TimeSeries {
        TimeSeries { step: (step > 0.0).then_some(step), ..TimeSeries::default() }
    }

    /// Makes a series of times that were computed with a number of this size.
    pub fn computed_with(size: f64) -> TimeSeries {
        TimeSeries { largest: size.abs(), ..TimeSeries::default() }
    }

    /// Adds the next time, and perhaps the time after it, if that is known. A time that is earlier than the
    /// previous one begins the series anew; the function then returns true.
    pub fn goes_on(&mut self, time: f64, next: Option<f64>) -> bool {
        let again = self.last.is_some_and(|last| self.is_before(time, last));
        if again {
            (self.last, self.step, self.steps) = (None, None, 0);
        }
        let size = time.abs().max(next.map_or(0.0, f64::abs));
        self.largest = self.largest.max(size);
        // Two messages of the same time are not a step, even if their times were added up in two ways.
        let rounding = self.rounding(self.largest);
        let no_step = self
            .step
            .map_or(rounding, |step| rounding.max(step * SHARE_OF_NO_STEP).min(step * MAX_SHARE_OF_STEP));
        let gap = |from: f64, to: f64| Some(to - from).filter(|&gap| gap > no_step);
        let since = self.last.and_then(|last| gap(last, time));
        let until = next.and_then(|next| gap(time, next));
        self.steps += u64::from(since.is_some());
        self.step = since.into_iter().chain(until).reduce(f64::min).or(self.step);
        self.last = Some(time);
        again
    }

    /// Returns all of the series as a value, for a checkpoint.
    pub fn state(&self) -> Value {
        entries([
            ("last", optional(self.last)),
            ("step", optional(self.step)),
            ("steps", counted(self.steps)),
            ("largest", Value::Float(self.largest)),
        ])
    }

    /// Makes the series of the value that [`TimeSeries::state`] has returned. Returns `None` for any other
    /// value.
    pub fn of_state(state: &Value) -> Option<TimeSeries> {
        let fields = Fields::of(state)?;
        Some(TimeSeries {
            last: fields.optional("last")?,
            step: fields.optional("step")?,
            steps: fields.count("steps")?,
            largest: fields.number("largest")?,
        })
    }

    /// Returns true if two times are the same.
    pub fn is_same(&self, one: f64, other: f64) -> bool {
        (one - other).abs() <= self.slack(one, other) || one == other
    }

    /// Returns true if a time is earlier than another, and not the same.
    pub fn is_before(&self, one: f64, other: f64) -> bool {
        one < other && !self.is_same(one, other)
    }

    fn slack(&self, one: f64, other: f64) -> f64 {
        let largest = self.largest.max(one.abs()).max(other.abs());
        let Some(step) = self.step else { return largest * SHARE_OF_TIME };
        (step * SHARE_OF_STEP).max(self.rounding(largest)).min(step * MAX_SHARE_OF_STEP)
    }

    /// Returns the maximum rounding error of a time that was computed with numbers of at most the size
    /// `largest`.
    fn rounding(&self, largest: f64) -> f64 {
        rounding_of_sum(largest, self.steps)
    }
}

/// Returns the maximum rounding error of a time that was computed in `steps` steps, with numbers of at most
/// the size `largest`.
pub fn rounding_of_sum(largest: f64, steps: u64) -> f64 {
    largest * f64::EPSILON * (ROUNDINGS_PER_STEP * steps as f64 + ROUNDINGS)
}

/// Returns true if a time is earlier than another, and not the same. No step is known.
#[inline]
pub fn is_before(one: f64, other: f64) -> bool {
    one < other && TimeSeries::default().is_before(one, other)
}

/// Returns the earliest time that counts as the same as `time`. No step is known.
pub fn begin_of(time: f64) -> f64 {
    time - time.abs() * SHARE_OF_TIME
}

/// Returns a time that is just late enough not to count as the same as `time`. No step is known.
pub fn after(time: f64) -> f64 {
    let later = time + 2.0 * time.abs() * SHARE_OF_TIME;
    if later > time {
        return later;
    }
    // The time is so close to 0 that the addition has no effect.
    time + f64::MIN_POSITIVE
}

/// Returns the time after a number of equal steps. For decimal steps the result is the decimal number: 2.1,
/// and not 2.0999999999999996.
pub fn after_steps(begin: f64, step: f64, steps: u64) -> f64 {
    let way = steps as f64 * step;
    let time = begin + way;
    // If the sum is near 0, it still has the rounding error of the two larger numbers.
    let largest = begin.abs().max(way.abs());
    let rounding = 2.0 * largest * f64::EPSILON;
    let decimals = 14.0 - largest.log10().floor();
    if !(0.0..400.0).contains(&decimals) {
        return time;
    }
    match format!("{time:.*}", decimals as usize).parse::<f64>() {
        Ok(neat) if (neat - time).abs() <= rounding.min(step.abs() * SHARE_OF_STEP) => neat + 0.0,
        _ => time,
    }
}

/// Returns the time rounded to `digits` digits.
fn rounded(time: f64, digits: usize) -> Option<f64> {
    format!("{time:.*e}", digits - 1).parse().ok()
}

/// Returns the number of digits of the shortest text that is read as the same number.
fn digits_of(time: f64) -> usize {
    let text = format!("{time:e}");
    let mantissa = text.split('e').next().unwrap_or_default();
    mantissa.bytes().filter(u8::is_ascii_digit).count()
}

/// A time as people write it: 209, and not 209.00000000000003. It is for texts only; files keep all digits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShownTime(pub f64);

impl ShownTime {
    /// Returns the number that is shown. Digits are left out only if the number has more than fifteen digits,
    /// and only after three zeros or nines in a row, the last of which is digit 13, 14 or 15. Example: of
    /// 209.00000000000003 the last digits are left out. Milliseconds since 1970 keep their digits. The shown
    /// time always counts as the same as the time itself.
    pub fn number(self) -> f64 {
        let time = self.0;
        if time == 0.0 || !time.is_finite() || digits_of(time) <= 15 {
            return time + 0.0;
        }
        let same = |&neat: &f64| TimeSeries::default().is_same(neat, time);
        let neat = |digits| rounded(time, digits).filter(|&neat| digits_of(neat) + 3 <= digits).filter(same);
        (13..=15).rev().find_map(neat).unwrap_or(time)
    }
}

impl fmt::Display for ShownTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = self.number();
        if time == 0.0 || (1e-5..1e16).contains(&time.abs()) || !time.is_finite() {
            return write!(f, "{time}");
        }
        write!(f, "{time:e}")
    }
}

/// Returns a time as people write it, with its unit if the model has one.
pub fn in_unit(time: f64, unit: Option<&str>) -> String {
    let time = ShownTime(time);
    unit.map_or_else(|| time.to_string(), |unit| format!("{time} {unit}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns pairs of times: the time that a code has after adding up the step, and the exact time.
    fn added_up(begin: f64, step: f64, steps: u32) -> Vec<(f64, f64)> {
        let mut time = begin;
        let mut all = vec![(begin, begin)];
        for i in 1..=steps {
            time += step;
            all.push((time, begin + f64::from(i) * step));
        }
        all
    }

    #[test]
    fn times_are_shown_as_people_write_them() {
        let pairs = [
            (209.00000000000003, "209"),
            (2.0999999999999996, "2.1"),
            (1000.0000000001588, "1000"),
            (0.30000000000000004, "0.3"),
            (-0.30000000000000004, "-0.3"),
            (1_700_000_000.123_45, "1700000000.12345"),
            (1_700_000_000_002.0, "1700000000002"),
            (1_700_000_000.001, "1700000000.001"),
            (1.0 / 3.0, "0.3333333333333333"),
            (0.0, "0"),
            (-0.0, "0"),
            (86400.0, "86400"),
            (1e17, "1e17"),
            (1e-9, "1e-9"),
            (3.0000000000000004e-9, "3e-9"),
            (f64::INFINITY, "inf"),
        ];
        for (time, text) in pairs {
            assert_eq!(ShownTime(time).to_string(), text);
        }
    }

    #[test]
    fn decimal_steps_lead_to_decimal_times() {
        assert_eq!([3, 6].map(|i| after_steps(0.0, 0.7, i)), [2.1, 4.2]);
        assert_eq!(after_steps(0.0, 1.0 / 3.0, 2), 2.0 / 3.0);
        assert_eq!([3, 4].map(|i| after_steps(-0.3, 0.1, i).to_string()), ["0", "0.1"]);
        assert_eq!([1000, 1001].map(|i| after_steps(-100.0, 0.1, i)), [0.0, 0.1]);
        assert_eq!([0, 1, 1_000_000].map(|i| after_steps(1e-20, 1e-21, i)), [1e-20, 1.1e-20, 1.00001e-15]);
        assert_eq!(after_steps(1e16, 2.0, 1), 1e16 + 2.0, "no digit of a whole number is lost");
    }

    #[test]
    fn a_limit_just_before_a_step_is_before_it() {
        let mut series = TimeSeries::default();
        for i in 0..=10 {
            assert!(!series.goes_on(f64::from(i), Some(f64::from(i + 1))));
        }
        assert!(series.is_before(9.999, 10.0) && !series.is_before(9.99999, 10.0));
    }

    #[test]
    fn a_thousandth_of_a_second_since_1970_is_a_step() {
        for (begin, step) in [(1.7e9, 1e-3), (1.7e12, 1.0), (1.7e15, 1000.0), (2.46e6, 0.1 / 86400.0)] {
            let mut series = TimeSeries::default();
            let time = |i: i32| begin + f64::from(i) * step;
            assert!(is_before(begin, time(1)) && after(begin) <= time(1) && begin_of(time(1)) > begin);
            let again = [0, 1, 2, 0, 1, 0].map(|i| series.goes_on(time(i), None));
            assert_eq!(again, [false, false, false, true, false, true], "{begin} and steps of {step}");
            series = TimeSeries::computed_with(begin);
            assert_eq!([0, 1, 0, 1].map(|i| series.goes_on(time(i), None)), [false, false, true, false]);
            assert!(series.is_before(time(2), time(3)) && series.is_before(time(3), time(4)));
        }
    }

    #[test]
    fn the_first_time_after_another_is_not_the_same() {
        for time in [0.0, 1e-300, -1e-300, 1e-9, 0.1, -7.3, 1.7e9, -1.7e9, 1e17, 1e300] {
            assert!(is_before(time, after(time)), "{time}");
            assert!(begin_of(after(time)) > time, "{time}");
            assert!(begin_of(time) <= time, "{time}");
        }
    }

    #[test]
    fn each_step_of_a_sum_is_itself_and_none_of_its_neighbours() {
        let begins = [0.0, -3.0, 1e-9, 1.0, 86400.0, 1.7e9, -1.7e9, 1.7e12];
        let steps = [1e-9, 1e-3, 0.1, 0.3, 0.6, 0.7, 1.0 / 3.0, 1.0, 3600.0, 1e7];
        for (begin, step) in begins.into_iter().flat_map(|begin| steps.map(|step| (begin, step))) {
            // The number of steps is limited, so that at least a hundred doubles per addition lie between two
            // steps.
            let count = (step / (100.0 * f64::EPSILON * f64::abs(begin))).min(3000.0) as u32;
            let mut series = TimeSeries::default();
            for (time, meant) in added_up(begin, step, count) {
                series.goes_on(time, None);
                assert!(series.is_same(time, meant), "{begin}, {step}: {time}");
                // The first time has no step yet. Its neighbours are other times only if they are a thousand
                // roundings away.
                let slack = SHARE_OF_TIME * (begin.abs() + step);
                if series.step.is_some() || 0.5 * step > slack {
                    let (later, earlier) = (time + step, time - step);
                    assert!(series.is_before(meant, later) && series.is_before(earlier, meant), "{time}");
                    assert!(!series.is_same(time, meant + 0.5 * step), "{begin}, {step}: {time}");
                }
            }
            assert!(count == 0 || series.step.is_some(), "{begin}, {step}");
        }
    }

    #[test]
    fn digits_that_make_another_time_are_shown() {
        assert_eq!(ShownTime(1.6153059170004814e174).to_string(), "1.6153059170004814e174");
        assert_eq!(ShownTime(1.0000000000004814).to_string(), "1.0000000000004814");
        assert_eq!(ShownTime(1.6153059170000004e174).to_string(), "1.615305917e174");
    }

    proptest! {
        #[test]
        fn a_shown_time_is_the_same_time(time in prop::num::f64::NORMAL) {
            let shown: f64 = ShownTime(time).to_string().parse().unwrap();
            prop_assert!(TimeSeries::default().is_same(shown, time));
        }
    }
}
