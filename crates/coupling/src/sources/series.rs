//! Sources whose messages stand in the settings: a constant, and a table of times and values.

use super::{slack, Given, Source};
use crate::settings;
use ligament_catalogue::fault;
use ligament_filters::sums;
use ligament_instance::{Array, Error, Instance, Order, Value};

/// More messages than this are not made of a step.
const MOST_STEPS: f64 = 1e15;

/// Times in equal steps, or as they are listed.
pub(crate) enum Times {
    Steps { begin: f64, step: f64, count: u64 },
    Listed(Vec<f64>),
}

impl Times {
    /// The times of messages that have none themselves: `times`, or `begin` and `step`, which is 1 unless said.
    pub fn of_settings(instance: &Instance) -> Result<Times, Error> {
        if let Some(times) = settings::numbers(instance, "times")? {
            return Ok(Times::Listed(times));
        }
        let step = settings::number(instance, "step")?.unwrap_or(1.0);
        let begin = settings::number(instance, "begin")?.unwrap_or(0.0);
        Ok(Times::Steps { begin, step, count: u64::MAX })
    }

    /// From `begin` in steps of `step` up to `until`; one time without a step.
    fn up_to(begin: f64, step: Option<f64>, until: Option<f64>) -> Result<Times, Error> {
        let steps = match (step, until) {
            (None, None) => 0.0,
            (Some(step), Some(until)) if step > 0.0 && until >= begin => ((until + slack(until) - begin) / step).floor(),
            (Some(step), Some(until)) => {
                return Err(settings::wrong(fault!(
                    SHIPPED_SETTING_WRONG,
                    "\"step\" is {step}, \"until\" {until} and \"begin\" {begin}: a step is above 0, and the end is not before \
                     the beginning"
                )))
            }
            _ => {
                return Err(settings::wrong(fault!(
                    SHIPPED_SETTING_WRONG,
                    "\"step\" and \"until\" go together: give both for several messages, or none for one"
                )))
            }
        };
        let count = steps.min(MOST_STEPS) as u64 + 1;
        Ok(Times::Steps { begin, step: step.unwrap_or_default(), count })
    }

    /// The time of a message; none if there are no more.
    pub fn at(&self, i: u64) -> Option<f64> {
        match self {
            Times::Steps { begin, step, count } => (i < *count).then(|| begin + i as f64 * step),
            Times::Listed(times) => times.get(i as usize).copied(),
        }
    }
}

/// How values between two times are found.
enum Between {
    Linear,
    Previous,
}

enum Values {
    Same(Value),
    /// A number, or several, for each of these times.
    Table {
        times: Vec<f64>,
        rows: Vec<Vec<f64>>,
        between: Between,
    },
}

/// Messages of values that settings say.
pub(crate) struct Series {
    times: Times,
    values: Values,
    given: u64,
    instance: String,
}

impl Series {
    /// One value, once or at equal steps.
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
        let times =
            Times::up_to(begin, settings::number(instance, "step")?, settings::number(instance, "until")?)?;
        Ok(Series { times, values: Values::Same(value), given: 0, instance: instance.name().to_owned() })
    }

    /// A table of times and values.
    pub fn table(instance: &Instance) -> Result<Series, Error> {
        let times = settings::numbers(instance, "times")?.unwrap_or_default();
        let rows = match (settings::numbers(instance, "values")?, settings::rows(instance, "rows")?) {
            (Some(values), None) => values.into_iter().map(|value| vec![value]).collect(),
            (None, Some(rows)) => rows,
            _ => {
                return Err(settings::wrong(fault!(
                    SHIPPED_SETTING_WRONG,
                    "ligament.sources.time_series needs either \"values\", a number for each time, or \"rows\", a list of \
                     numbers for each time"
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
            Some(step) => Times::up_to(times[0], Some(step), times.last().copied())?,
            None => Times::Listed(times.clone()),
        };
        let values = Values::Table { times, rows, between };
        Ok(Series { times: all, values, given: 0, instance: instance.name().to_owned() })
    }
}

fn array(values: Vec<f64>) -> Value {
    let count = values.len();
    Array::from_vec(values, &[count], Order::RowMajor).map_or(Value::None, Value::Array)
}

/// What a table says at a time.
fn looked_up(times: &[f64], rows: &[Vec<f64>], between: &Between, time: f64) -> Vec<f64> {
    let after = times.partition_point(|&known| known <= time);
    let (Some(i), true) = (after.checked_sub(1), after < times.len()) else {
        return rows[if after == 0 { 0 } else { rows.len() - 1 }].clone();
    };
    match between {
        Between::Previous => rows[i].clone(),
        Between::Linear => {
            let share = (time - times[i]) / (times[after] - times[i]);
            rows[i].iter().zip(&rows[after]).map(|(&a, &b)| sums::between(a, b, share)).collect()
        }
    }
}

impl Source for Series {
    fn next(&mut self) -> Result<Option<Given>, Error> {
        let Some(time) = self.times.at(self.given) else { return Ok(None) };
        self.given += 1;
        let value = match &self.values {
            Values::Same(value) => value.clone(),
            Values::Table { times, rows, between } => match looked_up(times, rows, between, time) {
                one if one.len() == 1 => Value::Float(one[0]),
                several => array(several),
            },
        };
        Ok(Some(Given::at(time, value)))
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
        let at = |time, between: &Between| looked_up(&times, &rows, between, time)[0];
        let linear = [-1.0, 0.0, 0.5, 2.0, 2.5, 3.0, 9.0].map(|time| at(time, &Between::Linear));
        assert_eq!(linear, [0.0, 0.0, 1.0, 4.0, 2.5, 1.0, 1.0]);
        assert_eq!([1.9, 2.0].map(|time| at(time, &Between::Previous)), [0.0, 4.0]);
    }

    #[test]
    fn steps_end_with_the_end_although_they_are_not_exact() {
        let times = Times::up_to(0.0, Some(0.1), Some(0.3)).unwrap();
        assert!(times.at(3).is_some() && times.at(4).is_none());
        assert!(Times::up_to(0.0, None, None).unwrap().at(1).is_none());
        assert!(
            Times::up_to(0.0, Some(0.0), Some(1.0)).is_err() && Times::up_to(0.0, Some(1.0), None).is_err()
        );
    }
}
