//! Chooses the points that a study evaluates. A point has a value for each parameter.

use crate::parameters::{Parameter, Values};
use crate::random::Random;
use crate::sobol::{Sobol, MAX_DIMENSIONS};
use crate::tables::read_table;
use ligament_catalogue::{fault, Fault};
use ligament_wire::SettingValue;

/// Maximum number of evaluations of a study.
const MAX_EVALUATIONS: usize = 10_000_000;

/// The method by which points are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SamplingMethod {
    /// All combinations of values at equal distances.
    Grid,
    /// Random points that are independent of each other.
    Random,
    /// The range of each parameter is divided into as many intervals as there are points, and each interval
    /// contains exactly one point (McKay, Beckman and Conover, 1979).
    LatinHypercube,
    /// Sobol's sequence. The first n points fill the space evenly, best if n is a power of 2.
    Sobol,
    /// The points of a table.
    File,
}

impl SamplingMethod {
    pub const NAMES: [&'static str; 5] = ["grid", "random", "latin_hypercube", "sobol", "file"];

    /// Returns the method with this name.
    ///
    /// # Errors
    /// Fails if there is no such method.
    pub fn from_name(name: &str) -> Result<SamplingMethod, Fault> {
        let at = SamplingMethod::NAMES.iter().position(|known| *known == name);
        let all = [
            SamplingMethod::Grid,
            SamplingMethod::Random,
            SamplingMethod::LatinHypercube,
            SamplingMethod::Sobol,
            SamplingMethod::File,
        ];
        at.map(|at| all[at]).ok_or_else(|| {
            fault!(
                BAD_STUDY,
                "there is no sampler \"{name}\"; use one of: {}",
                SamplingMethod::NAMES.join(", ")
            )
        })
    }
}

/// The points of a study.
#[derive(Debug, Clone, PartialEq)]
pub struct SamplingPlan {
    pub names: Vec<String>,
    /// For each evaluation: the values of the parameters, in the order of `names`.
    pub points: Vec<Vec<SettingValue>>,
}

impl SamplingPlan {
    /// Chooses `count` points. The same seed gives the same points.
    ///
    /// # Errors
    /// Fails if `count` is 0 or too large, or if the method does not support this number of parameters.
    pub fn sampled(
        method: SamplingMethod,
        parameters: &[Parameter],
        count: usize,
        seed: u64,
    ) -> Result<SamplingPlan, Fault> {
        if count == 0 || count > MAX_EVALUATIONS {
            return Err(fault!(BAD_STUDY, "a study has 1 to {MAX_EVALUATIONS} evaluations, and not {count}"));
        }
        let n = parameters.len();
        let mut random = Random::new(seed);
        let places: Vec<Vec<f64>> = match method {
            SamplingMethod::Random => (0..count).map(|_| (0..n).map(|_| random.unit()).collect()).collect(),
            SamplingMethod::LatinHypercube => {
                let orders: Vec<Vec<usize>> = (0..n).map(|_| random.order(count)).collect();
                let place = |at: usize, random: &mut Random| {
                    orders.iter().map(|order| (order[at] as f64 + random.unit()) / count as f64).collect()
                };
                (0..count).map(|at| place(at, &mut random)).collect()
            }
            SamplingMethod::Sobol => {
                if n > MAX_DIMENSIONS {
                    return Err(fault!(
                        BAD_STUDY,
                        "the sobol sampler can have {MAX_DIMENSIONS} parameters, and here are {n}; use \
                         latin_hypercube or random"
                    ));
                }
                let mut sequence = Sobol::new(n);
                (0..count).map(|_| sequence.next()).collect()
            }
            SamplingMethod::Grid | SamplingMethod::File => {
                return Err(fault!(
                    BAD_STUDY,
                    "a grid has the number of values of each parameter, and a file its points"
                ));
            }
        };
        let value =
            |place: Vec<f64>| parameters.iter().zip(place).map(|(one, place)| one.values.at(place)).collect();
        Ok(SamplingPlan { names: names(parameters), points: places.into_iter().map(value).collect() })
    }

    /// Makes all combinations of values. `counts` has the number of values for each parameter. The last
    /// parameter varies fastest. A parameter with a list has at most as many values as the list.
    ///
    /// # Errors
    /// Fails if there are too many combinations, or if `counts` does not have one number for each parameter.
    pub fn grid(parameters: &[Parameter], counts: &[usize]) -> Result<SamplingPlan, Fault> {
        if counts.len() != parameters.len() {
            let (n, m) = (parameters.len(), counts.len());
            return Err(fault!(BAD_STUDY, "a grid of {n} parameters has {n} numbers of values, and not {m}"));
        }
        for (one, &count) in parameters.iter().zip(counts) {
            let most = match &one.values {
                Values::Between(..) => usize::MAX,
                values => values.count().unwrap_or(usize::MAX),
            };
            if count == 0 {
                return Err(fault!(BAD_STUDY, "the grid needs one value of {} at least", one.name));
            }
            if count > most {
                return Err(fault!(
                    BAD_STUDY,
                    "the grid cannot have {count} values of {}, which has {most}",
                    one.name
                ));
            }
        }
        let all = counts.iter().try_fold(1usize, |all, &count| all.checked_mul(count));
        let Some(all) = all.filter(|all| *all <= MAX_EVALUATIONS) else {
            return Err(fault!(BAD_STUDY, "the grid has more than {MAX_EVALUATIONS} points"));
        };
        let mut points = Vec::with_capacity(all);
        for number in 0..all {
            let mut rest = number;
            let mut point = Vec::with_capacity(counts.len());
            for (one, &count) in parameters.iter().zip(counts).rev() {
                point.push(one.values.in_grid(rest % count, count));
                rest /= count;
            }
            point.reverse();
            points.push(point);
        }
        Ok(SamplingPlan { names: names(parameters), points })
    }

    /// Reads the points of a table of comma-separated values. Its first line has the names of the
    /// parameters.
    ///
    /// # Errors
    /// Fails if the table is wrong. The error names the line.
    pub fn of_table(text: String, file: &str) -> Result<SamplingPlan, Fault> {
        let (names, points) = read_table(text, file)?;
        match points.len() {
            0 => Err(fault!(BAD_STUDY, "{file} has no points")),
            n if n > MAX_EVALUATIONS => Err(fault!(BAD_STUDY, "{file} has more than {MAX_EVALUATIONS} points")),
            _ => Ok(SamplingPlan { names, points }),
        }
    }

    /// Returns a point as text. Example: `rate = 0.5, steps = 3`.
    pub fn describe(&self, number: usize) -> String {
        let said = self
            .names
            .iter()
            .zip(&self.points[number])
            .map(|(name, value)| format!("{name} = {}", text_of(value)));
        said.collect::<Vec<_>>().join(", ")
    }
}

/// Returns a value in the form that it has in a table.
pub(crate) fn text_of(value: &SettingValue) -> String {
    match value {
        SettingValue::Int(value) => value.to_string(),
        SettingValue::Float(value) => value.to_string(),
        SettingValue::Bool(value) => value.to_string(),
        SettingValue::String(value) => value.clone(),
        other => format!("{other:?}"),
    }
}

fn names(parameters: &[Parameter]) -> Vec<String> {
    parameters.iter().map(|one| one.name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(n: usize) -> Vec<Parameter> {
        (0..n).map(|at| Parameter { name: format!("p{at}"), values: Values::Between(0.0, 1.0) }).collect()
    }

    fn number(value: &SettingValue) -> f64 {
        match value {
            SettingValue::Float(value) => *value,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_latin_hypercube_has_one_point_in_each_interval_of_each_parameter() {
        let plan = SamplingPlan::sampled(SamplingMethod::LatinHypercube, &parameters(5), 40, 7).unwrap();
        for dimension in 0..5 {
            let mut seen = [0; 40];
            plan.points.iter().for_each(|point| seen[(number(&point[dimension]) * 40.0) as usize] += 1);
            assert_eq!(seen, [1; 40]);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_points_and_another_one_others() {
        let of = |seed| SamplingPlan::sampled(SamplingMethod::Random, &parameters(3), 100, seed).unwrap();
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        let all: Vec<f64> = of(1).points.iter().flatten().map(number).collect();
        assert!(all.iter().all(|value| (0.0..1.0).contains(value)));
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        assert!((mean - 0.5).abs() < 0.06, "{mean}");
    }

    #[test]
    fn a_grid_has_all_combinations() {
        let parameters = Parameter::read_all("a = 0.0 .. 1.0; n = 1 .. 3").unwrap();
        let plan = SamplingPlan::grid(&parameters, &[2, 3]).unwrap();
        let said: Vec<String> = (0..6).map(|number| plan.describe(number)).collect();
        assert_eq!(
            said,
            ["a = 0, n = 1", "a = 0, n = 2", "a = 0, n = 3", "a = 1, n = 1", "a = 1, n = 2", "a = 1, n = 3"]
        );
    }

    #[test]
    fn what_a_sampler_cannot_do_is_refused() {
        let many = SamplingPlan::sampled(SamplingMethod::Sobol, &parameters(22), 8, 0).unwrap_err();
        assert!(many.contains("can have 21 parameters, and here are 22"), "{many}");
        assert!(SamplingPlan::sampled(SamplingMethod::Sobol, &parameters(21), 8, 0).is_ok());
        assert!(SamplingPlan::sampled(SamplingMethod::Random, &parameters(1), 0, 0).is_err());
        assert!(SamplingPlan::sampled(SamplingMethod::Random, &parameters(1), MAX_EVALUATIONS + 1, 0).is_err());
        assert!(SamplingPlan::grid(&parameters(2), &[3]).is_err());
        assert!(SamplingPlan::grid(&parameters(8), &[100; 8]).unwrap_err().contains("more than"));
        assert!(SamplingPlan::grid(&Parameter::read_all("n = 1 .. 3").unwrap(), &[4]).is_err());
        assert!(SamplingMethod::from_name("halton").is_err());
    }
}
