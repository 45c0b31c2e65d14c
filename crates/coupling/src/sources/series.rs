//! Sources whose messages are given by settings: a constant, and a table of times and values.

use super::{Source, SourceMessage};
use crate::settings;
use ligament_catalogue::fault;
use ligament_filters::sums;
use ligament_instance::{Array, ArrayOrder, Error, Instance, Value};
use ligament_wire::times::{after_steps, ShownTime, TimeSeries};

/// Maximum number of messages that follow from a step.
const MAX_STEPS: f64 = 1e15;

/// The times of messages: in equal steps, or from a list.
pub(crate) enum SeriesTimes {
    Steps { begin: f64, step: f64, count: u64 },
    Listed(Vec<f64>),
}

impl SeriesTimes {
    /// Reads the times from the settings `times`, or `begin` and `step`, whose default is 1.
    pub fn of_settings(instance: &Instance) -> Result<SeriesTimes, Error> {
        if let Some(times) = settings::numbers(instance, "times")? {
            return Ok(SeriesTimes::Listed(times));
        }
        let step = settings::number(instance, "step")?.unwrap_or(1.0);
        let begin = settings::number(instance, "begin")?.unwrap_or(0.0);
        moves_on(begin, step)?;
        Ok(SeriesTimes::Steps { begin, step, count: u64::MAX })
    }

    /// Makes the times from `begin` to `until` in steps of `step`. Without a step, there is one time.
    fn up_to(begin: f64, step: Option<f64>, until: Option<f64>) -> Result<SeriesTimes, Error> {
        let steps = match (step, until) {
            (None, None) => 0.0,
            (Some(step), Some(until)) if step > 0.0 && until >= begin => {
                moves_on(begin, step)?;
                moves_on(until, -step)?;
                let nearest = ((until - begin) / step).round();
                if TimeSeries::of_step(step).is_before(until, begin + nearest * step) {
                    nearest - 1.0
                } else {
                    nearest
                }
            }
            (Some(step), Some(until)) => {
                return Err(settings::wrong(fault!(
                    SHIPPED_SETTING_WRONG,
                    "\"step\" is {step}, \"until\" {} and \"begin\" {}: a step is above 0, and the end is not \
                     before the beginning",
                    ShownTime(until),
                    ShownTime(begin)
                )))
            }
            _ => {
                return Err(settings::wrong(fault!(
                    SHIPPED_SETTING_WRONG,
                    "\"step\" and \"until\" go together: give both for several messages, or none for one"
                )))
            }
        };
        let count = steps.min(MAX_STEPS) as u64 + 1;
        Ok(SeriesTimes::Steps { begin, step: step.unwrap_or_default(), count })
    }

    /// Returns the time of message `i`, or `None` after the last message.
    pub fn at(&self, i: u64) -> Option<f64> {
        match self {
            SeriesTimes::Steps { begin, step, count } => (i < *count).then(|| after_steps(*begin, *step, i)),
            SeriesTimes::Listed(times) => times.get(i as usize).copied(),
        }
    }
}

/// Refuses a step that is too short for a time of this size. The sum of time and step would be rounded to the
/// same time, or to a step of another length. A step must have room for at least two numbers.
fn moves_on(time: f64, step: f64) -> Result<(), Error> {
    if step == 0.0 || step.abs() >= 2.0 * f64::EPSILON * time.abs() {
        return Ok(());
    }
    if time + step != time {
        let (step, time, gap) = (step.abs(), ShownTime(time), f64::EPSILON * time.abs());
        return Err(settings::wrong(fault!(
            SHIPPED_SETTING_WRONG,
            "\"step\" is {step}, and numbers near {time} lie up to {gap:.1e} apart: give a step of two of \
             these at least, or times that begin near 0"
        )));
    }
    let (step, time) = (step.abs(), ShownTime(time));
    Err(settings::wrong(fault!(
        SHIPPED_SETTING_WRONG,
        "\"step\" is {step}, and {time} and {time} + {step} are the same number: give a longer step, or times \
         that begin near 0"
    )))
}

/// The way in which values between two times are computed.
enum Between {
    Linear,
    Previous,
}

enum Values {
    Same(Value),
    /// A number or several numbers for each of these times.
    Table {
        times: Vec<f64>,
        rows: Vec<Vec<f64>>,
        between: Between,
    },
}

/// A source whose values come from settings.
pub(crate) struct Series {
    times: SeriesTimes,
    values: Values,
    given: u64,
    instance: String,
}

impl Series {
    /// Makes a source of one value, which it sends once or in equal steps.
    pub fn constant(instance: &Instance) -> Result<Series, Error> {
        let (number, several) = (settings::number(instance, "value")?, settings::numbers(instance, "values")?);
        let value = match (number, several) {
            (Some(number), None) => Value::Float(number),
            (None, Some(several)) => array(several),
            _ => {
                return Err(settings::wrong(fault!(
                SHIPPED_SETTING_WRONG,
                "ligament.sources.constant needs either \"value\", a number, or \"values\", a list of numbers"
            )))
            }
        };
        let begin = settings::number(instance, "begin")?.unwrap_or(0.0);
        let times = SeriesTimes::up_to(
            begin,
            settings::number(instance, "step")?,
            settings::number(instance, "until")?,
        )?;
        Ok(Series { times, values: Values::Same(value), given: 0, instance: instance.name().to_owned() })
    }

    /// Makes a source from a table of times and values.
    pub fn table(instance: &Instance) -> Result<Series, Error> {
        let times = settings::numbers(instance, "times")?.unwrap_or_default();
        let rows = match (settings::numbers(instance, "values")?, settings::rows(instance, "rows")?) {
            (Some(values), None) => values.into_iter().map(|value| vec![value]).collect(),
            (None, Some(rows)) => rows,
            _ => {
                return Err(settings::wrong(fault!(
                    SHIPPED_SETTING_WRONG,
                    "ligament.sources.time_series needs either \"values\", a number for each time, or \
                     \"rows\", a list of numbers for each time"
                )))
            }
        };
        let rises = times.windows(2).all(|pair| pair[0] < pair[1]) && times.iter().all(|time| time.is_finite());
        if times.is_empty() || times.len() != rows.len() || !rises {
            return Err(settings::wrong(fault!(
                SHIPPED_SETTING_WRONG,
                "\"times\" has {} numbers, which must rise, and there are {} values for them",
                times.len(),
                rows.len()
            )));
        }
        if rows.iter().any(|row| row.len() != rows[0].len()) {
            let fault = fault!(SHIPPED_SETTING_WRONG, "\"rows\" has lists of different lengths");
            return Err(settings::wrong(fault));
        }
        let between = match settings::text(instance, "between")?.as_deref() {
            Some("previous") => Between::Previous,
            _ => Between::Linear,
        };
        let all = match settings::number(instance, "step")? {
            Some(step) => SeriesTimes::up_to(times[0], Some(step), times.last().copied())?,
            None => SeriesTimes::Listed(times.clone()),
        };
        let values = Values::Table { times, rows, between };
        Ok(Series { times: all, values, given: 0, instance: instance.name().to_owned() })
    }
}

fn array(values: Vec<f64>) -> Value {
    let count = values.len();
    Array::from_vec(values, &[count], ArrayOrder::RowMajor).map_or(Value::None, Value::Array)
}

/// Returns the number of times in a table that are not later than `time`, and true if the last of them is
/// this time. `step` is the distance of the times for which the caller looks.
fn place_in(times: &[f64], time: f64, step: Option<f64>) -> (usize, bool) {
    let after = times.partition_point(|&known| known <= time);
    let is_this = |i: usize| {
        let gap = |from: Option<&f64>, to: Option<&f64>| Some(to? - from?);
        let before = i.checked_sub(1).and_then(|before| gap(times.get(before), times.get(i)));
        let steps = [before, gap(times.get(i), times.get(i + 1)), step];
        let step = steps.into_iter().flatten().reduce(f64::min);
        let series = step.map_or_else(TimeSeries::default, TimeSeries::of_step);
        times.get(i).is_some_and(|&known| series.is_same(known, time))
    };
    if is_this(after) {
        return (after + 1, true);
    }
    (after, after.checked_sub(1).is_some_and(is_this))
}

/// Returns the row of a table for a time, and the time in that row.
fn looked_up(
    (times, rows): (&[f64], &[Vec<f64>]),
    between: &Between,
    time: f64,
    step: Option<f64>,
) -> (f64, Vec<f64>) {
    let (after, is_known) = place_in(times, time, step);
    let Some(i) = after.checked_sub(1) else { return (time, rows[0].clone()) };
    if is_known {
        return (times[i], rows[i].clone());
    }
    let row = match between {
        _ if after == times.len() => rows[i].clone(),
        Between::Previous => rows[i].clone(),
        Between::Linear => {
            let share = (time - times[i]) / (times[after] - times[i]);
            rows[i].iter().zip(&rows[after]).map(|(&a, &b)| sums::between(a, b, share)).collect()
        }
    };
    (time, row)
}

impl Source for Series {
    fn next(&mut self) -> Result<Option<SourceMessage>, Error> {
        let Some(time) = self.times.at(self.given) else { return Ok(None) };
        self.given += 1;
        let step = match self.times {
            SeriesTimes::Steps { step, .. } => Some(step),
            SeriesTimes::Listed(_) => None,
        };
        let (time, value) = match &self.values {
            Values::Same(value) => (time, value.clone()),
            Values::Table { times, rows, between } => {
                let (time, row) = looked_up((times, rows), between, time, step);
                (time, if row.len() == 1 { Value::Float(row[0]) } else { array(row) })
            }
        };
        Ok(Some(SourceMessage::at(time, value)))
    }

    fn place(&self) -> String {
        format!("the settings of {}", self.instance)
    }

    fn until(&self) -> Option<f64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_looked_up_between_its_times_and_keeps_its_ends() {
        let (times, rows) = ([0.0, 2.0, 3.0], [vec![0.0], vec![4.0], vec![1.0]]);
        let at = |time, between: &Between| looked_up((&times, &rows), between, time, None).1[0];
        let linear = [-1.0, 0.0, 0.5, 2.0, 2.5, 3.0, 9.0].map(|time| at(time, &Between::Linear));
        assert_eq!(linear, [0.0, 0.0, 1.0, 4.0, 2.5, 1.0, 1.0]);
        assert_eq!([1.9, 2.0].map(|time| at(time, &Between::Previous)), [0.0, 4.0]);
    }

    #[test]
    fn a_time_that_steps_lead_to_is_that_of_the_table() {
        let (times, rows) = ([0.0, 2.1, 4.2], [vec![0.0], vec![1.0], vec![2.0]]);
        let at = |time| looked_up((&times, &rows), &Between::Previous, time, Some(0.7));
        let all = [0.0, 0.7, 1.4, 2.0999999999999996, 2.8, 3.5, 4.199999999999999].map(at);
        assert_eq!(all.each_ref().map(|(_, row)| row[0]), [0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 2.0]);
        assert_eq!((all[3].0, all[6].0), (2.1, 4.2));
    }

    #[test]
    fn a_series_has_as_many_messages_as_steps_wherever_it_begins() {
        for begin in [0.0, 1e-9, -50.0, 1.7e9, -1.7e9] {
            for step in [0.1, 0.3, 0.5, 0.7, 1.0, 3600.0, 1e6] {
                let times = SeriesTimes::up_to(begin, Some(step), Some(begin + 20.0 * step)).unwrap();
                assert!(times.at(20).is_some() && times.at(21).is_none(), "{begin} + 20 * {step}");
                let times = SeriesTimes::up_to(begin, Some(step), Some(begin + 19.99 * step)).unwrap();
                assert!(times.at(19).is_some() && times.at(20).is_none(), "{begin} + 19.99 * {step}");
            }
        }
        let times = SeriesTimes::up_to(1e17, Some(100.0), Some(1e17 + 2000.0)).unwrap();
        assert_eq!((times.at(20), times.at(21)), (Some(1e17 + 2000.0), None));
    }

    #[test]
    fn a_step_that_does_not_move_the_time_is_refused() {
        for (begin, until) in [(1e17, 1e17 + 64.0), (0.0, 1e17), (-1e17, 0.0)] {
            let why = SeriesTimes::up_to(begin, Some(1.0), Some(until)).err().map(|error| error.to_string());
            assert!(why.is_some_and(|why| why.contains("are the same number")), "{begin} to {until}");
        }
    }

    #[test]
    fn a_step_of_a_digit_or_less_is_refused() {
        for (begin, step, is_fine) in
            [(1e9, 1e-7, false), (1e9, 1e-6, true), (1e16, 2.0, false), (0.0, 1e-300, true)]
        {
            let times = SeriesTimes::up_to(begin, Some(step), Some(begin + 3.0 * step));
            assert_eq!(times.is_ok(), is_fine, "{begin} and {step}");
        }
    }

    #[test]
    fn steps_end_with_the_end_although_they_are_not_exact() {
        let times = SeriesTimes::up_to(0.0, Some(0.1), Some(0.3)).unwrap();
        assert!(times.at(3).is_some() && times.at(4).is_none());
        assert!(SeriesTimes::up_to(0.0, None, None).unwrap().at(1).is_none());
        assert!(
            SeriesTimes::up_to(0.0, Some(0.0), Some(1.0)).is_err()
                && SeriesTimes::up_to(0.0, Some(1.0), None).is_err()
        );
    }
}
