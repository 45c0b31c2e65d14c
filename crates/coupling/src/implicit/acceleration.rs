//! The values with which the next iteration of a window begins, computed from those of this iteration and of
//! earlier ones. An acceleration gets the values x of an iteration and its results H(x), and looks for
//! x = H(x). The data that come first in both determine the coefficients; the others are changed by the same
//! ones.

use super::newton::{Newton, NewtonOptions, VectorLengths};
use super::state::{vector, vector_in};
use super::{difference, norm, sum_of_terms};
use ligament_wire::fields::{entries, Fields};
use ligament_wire::Value;
use std::ops::Range;

/// The method, with its settings.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Method {
    /// The results as they are.
    Plain,
    /// A constant share of the residual is added to the values.
    Constant { relaxation: f64 },
    /// The share changes with each iteration (Irons and Tuck, International Journal for Numerical Methods in
    /// Engineering 1, 1969). The first share of a window is the last of the window before, but its size is at
    /// most `relaxation`.
    Aitken { relaxation: f64 },
    /// A quasi-Newton method. As long as it knows nothing, a share of the residual is added.
    Newton { relaxation: f64, options: NewtonOptions },
}

/// The state of a method.
enum State {
    Plain,
    Constant { relaxation: f64 },
    Aitken { limit: f64, share: f64, last: Option<Vec<f64>> },
    Newton { relaxation: f64, newton: Box<Newton> },
}

/// A method at work.
pub(super) struct Acceleration {
    state: State,
    /// Number of values that determine the coefficients. They come first.
    leading: usize,
}

impl Acceleration {
    /// Makes an acceleration. `blocks` are the positions of each kind of data that determines the
    /// coefficients; they begin at 0 and have no gaps.
    pub fn new(method: &Method, blocks: Vec<Range<usize>>) -> Acceleration {
        let leading = blocks.last().map_or(0, |last| last.end);
        let state = match method.clone() {
            Method::Plain => State::Plain,
            Method::Constant { relaxation } => State::Constant { relaxation },
            Method::Aitken { relaxation } => State::Aitken { limit: relaxation, share: relaxation, last: None },
            Method::Newton { relaxation, options } => {
                State::Newton { relaxation, newton: Box::new(Newton::new(options, blocks)) }
            }
        };
        Acceleration { state, leading }
    }

    /// Returns the values with which the next iteration begins.
    pub fn next(&mut self, values: &[f64], results: &[f64]) -> Vec<f64> {
        let residual = self.residual(values, results);
        match &mut self.state {
            State::Plain => results.to_vec(),
            State::Constant { relaxation } => relaxed(values, results, *relaxation),
            State::Aitken { limit, share, last } => {
                match last {
                    Some(before) => *share = aitken_share(*share, before, &residual),
                    None => *share = share.abs().min(*limit).copysign(*share),
                }
                *last = Some(residual);
                relaxed(values, results, *share)
            }
            State::Newton { relaxation, newton } => {
                newton.next(&residual, results).unwrap_or_else(|| relaxed(values, results, *relaxation))
            }
        }
    }

    /// Ends a window, whose last iteration began with `values` and ended with `results`.
    pub fn end_window(&mut self, values: &[f64], results: &[f64]) {
        let residual = self.residual(values, results);
        match &mut self.state {
            State::Aitken { last, .. } => *last = None,
            State::Newton { newton, .. } => newton.end_window(&residual, results),
            State::Plain | State::Constant { .. } => {}
        }
    }

    /// Returns the state for a checkpoint.
    pub fn state(&self) -> Value {
        match &self.state {
            State::Plain | State::Constant { .. } => Value::None,
            State::Aitken { share, last, .. } => entries([
                ("share", Value::Float(*share)),
                ("last", last.as_ref().map_or(Value::None, |last| vector(last))),
            ]),
            State::Newton { newton, .. } => newton.state(),
        }
    }

    /// Takes over the state of a checkpoint. `len` is the number of accelerated values. A state of another
    /// method, or of other data, is left out, because settings may change; the method then begins anew.
    pub fn restore(&mut self, state: &Value, len: usize) {
        match &mut self.state {
            State::Plain | State::Constant { .. } => {}
            State::Aitken { share, last, .. } => {
                let Some(fields) = Fields::of(state) else { return };
                let Some(saved) = fields.number("share") else { return };
                (*share, *last) = (saved, vector_in(&fields, "last", self.leading));
            }
            State::Newton { newton, .. } => {
                let lengths = VectorLengths { residual: self.leading, result: len };
                let _ = newton.restore(state, lengths);
            }
        }
    }

    fn residual(&self, values: &[f64], results: &[f64]) -> Vec<f64> {
        difference(&results[..self.leading], &values[..self.leading])
    }
}

/// Returns the values plus a share of their change.
fn relaxed(values: &[f64], results: &[f64], share: f64) -> Vec<f64> {
    values.iter().zip(results).map(|(value, result)| value + share * (result - value)).collect()
}

/// Returns the next share. Two equal residuals say nothing, and the share stays.
fn aitken_share(share: f64, before: &[f64], residual: &[f64]) -> f64 {
    let change = difference(residual, before);
    let length = norm(&change);
    if length == 0.0 {
        return share;
    }
    // Each factor is scaled by itself, so that neither product nor quotient overflows.
    -share * sum_of_terms(before, &change, |before, change| (before / length) * (change / length))
}

#[cfg(test)]
mod tests {
    use super::super::least_squares::Filter;
    use super::super::newton::Scaling;
    use super::*;

    /// One vector of data with this length.
    fn data(len: usize) -> Vec<Range<usize>> {
        std::iter::once(0..len).collect()
    }

    fn options(restart_windows: Option<usize>) -> NewtonOptions {
        NewtonOptions {
            filter: Filter::Qr2(1e-12),
            scaling: Scaling::None,
            max_columns: 100,
            reused_windows: 0,
            restart_windows,
        }
    }

    fn newton(restart_windows: Option<usize>) -> Method {
        Method::Newton { relaxation: 0.1, options: options(restart_windows) }
    }

    /// Iterates until values and results agree to 1e-11. Returns the number of evaluations and the values.
    fn solve(
        acceleration: &mut Acceleration,
        start: &[f64],
        function: impl Fn(&[f64]) -> Vec<f64>,
    ) -> (usize, Vec<f64>) {
        let mut values = start.to_vec();
        for count in 1..200 {
            let results = function(&values);
            if norm(&difference(&results, &values)) <= 1e-11 * norm(&results) {
                acceleration.end_window(&values, &results);
                return (count, results);
            }
            values = acceleration.next(&values, &results);
        }
        (200, values)
    }

    /// A linear function whose fixed point is not reached by repeating it: its matrix has eigenvalues beyond 1.
    fn linear(values: &[f64]) -> Vec<f64> {
        let matrix =
            [[0.5, -1.5, 0.25, 0.0], [2.0, 0.25, 0.0, 1.0], [0.0, 0.5, -2.0, 0.5], [1.0, 0.0, 0.5, 3.0]];
        let constant = [1.0, -2.0, 3.0, 0.5];
        let row = |row: &[f64; 4], constant: f64| super::super::product(row, values) + constant;
        matrix.iter().zip(constant).map(|(matrix, constant)| row(matrix, constant)).collect()
    }

    #[test]
    fn quasi_newton_solves_n_linear_equations_in_n_plus_two_evaluations() {
        for restart_windows in [None, Some(8)] {
            let mut acceleration = Acceleration::new(&newton(restart_windows), data(4));
            let (count, values) = solve(&mut acceleration, &[0.0; 4], linear);
            assert!(count <= 6, "{count} evaluations");
            assert!(norm(&difference(&linear(&values), &values)) < 1e-9);
        }
    }

    #[test]
    fn the_jacobian_of_an_earlier_window_solves_a_linear_problem_at_once() {
        let mut acceleration = Acceleration::new(&newton(Some(8)), data(4));
        solve(&mut acceleration, &[0.0; 4], linear);
        for window in 1..20 {
            let (count, _) = solve(&mut acceleration, &[f64::from(window), 2.0, -5.0, 1.0], linear);
            // One evaluation gives the residual, the second begins at the solution up to rounding.
            assert!(count <= 3, "{count} evaluations in window {window}");
        }
    }

    #[test]
    fn columns_of_earlier_windows_are_used_again() {
        let mut reusing = options(None);
        reusing.reused_windows = 5;
        let method = Method::Newton { relaxation: 0.1, options: reusing };
        let mut acceleration = Acceleration::new(&method, data(4));
        solve(&mut acceleration, &[0.0; 4], linear);
        let (again, _) = solve(&mut acceleration, &[1.0, 2.0, -5.0, 1.0], linear);
        let mut fresh = Acceleration::new(&newton(None), data(4));
        solve(&mut fresh, &[0.0; 4], linear);
        let (anew, _) = solve(&mut fresh, &[1.0, 2.0, -5.0, 1.0], linear);
        assert!(again <= 3 && anew >= 5, "{again} evaluations with old columns, {anew} without");
    }

    #[test]
    fn a_restored_method_goes_on_with_the_same_bits() {
        let mut reusing = options(None);
        reusing.reused_windows = 5;
        let methods = [
            Method::Constant { relaxation: 0.3 },
            Method::Aitken { relaxation: 0.3 },
            Method::Newton { relaxation: 0.1, options: reusing },
            newton(Some(2)),
        ];
        for method in methods {
            // Cuts within windows and between them.
            for cut in 1..12 {
                let mut plain = Acceleration::new(&method, data(4));
                let mut values = vec![1.0, 2.0, -5.0, 1.0];
                advance(&mut plain, &mut values, 1..cut);
                let mut restored = Acceleration::new(&method, data(4));
                restored.restore(&plain.state(), 4);
                let mut others = values.clone();
                let expected = advance(&mut plain, &mut values, cut..cut + 13);
                assert_eq!(advance(&mut restored, &mut others, cut..cut + 13), expected);
            }
        }
    }

    /// Makes some iterations, of which each fourth ends a window. Returns the bits of the values.
    fn advance(acceleration: &mut Acceleration, values: &mut Vec<f64>, iterations: Range<u32>) -> Vec<u64> {
        let mut bits = Vec::new();
        for iteration in iterations {
            let results: Vec<f64> = linear(values).iter().map(|x| (0.1 * x).sin()).collect();
            if iteration % 4 == 0 {
                acceleration.end_window(values, &results);
                *values = results.iter().map(|x| x + 0.5).collect();
            } else {
                *values = acceleration.next(values, &results);
            }
            bits.extend(values.iter().map(|x| x.to_bits()));
        }
        bits
    }

    #[test]
    fn a_state_of_another_method_or_of_other_data_is_left_out() {
        let mut saved = Acceleration::new(&newton(Some(2)), data(4));
        solve(&mut saved, &[0.0; 4], linear);
        for (method, len) in [(newton(Some(2)), 3), (Method::Aitken { relaxation: 0.3 }, 4)] {
            let mut restored = Acceleration::new(&method, data(len));
            restored.restore(&saved.state(), len);
            let (values, results) = (vec![1.0; len], vec![2.0; len]);
            let fresh = Acceleration::new(&method, data(len)).next(&values, &results);
            assert_eq!(restored.next(&values, &results), fresh);
        }
    }

    #[test]
    fn aitken_is_the_secant_method_for_one_number() {
        let function = |x: f64| x.cos() * 3.0;
        let mut acceleration = Acceleration::new(&Method::Aitken { relaxation: 0.3 }, data(1));
        let (mut before, mut x) = (0.2, 0.2);
        let mut residual_before: Option<f64> = None;
        for _ in 0..6 {
            let residual = function(x) - x;
            let next = acceleration.next(&[x], &[function(x)])[0];
            if let Some(earlier) = residual_before {
                let secant = x - residual * (x - before) / (residual - earlier);
                assert!((next - secant).abs() < 1e-9 * secant.abs(), "{next} and {secant}");
            }
            (residual_before, before, x) = (Some(residual), x, next);
        }
        assert!((function(x) - x).abs() < 1e-6);
    }

    #[test]
    fn the_first_share_of_a_window_is_at_most_the_one_that_is_set() {
        let mut acceleration = Acceleration::new(&Method::Aitken { relaxation: 0.5 }, data(1));
        solve(&mut acceleration, &[1.0], |x| vec![0.9 * x[0] + 1.0]);
        // The share has become 10, which solves this problem at once.
        assert_eq!(acceleration.next(&[0.0], &[2.0]), [1.0]);
    }

    #[test]
    fn a_constant_share_of_the_residual_is_added() {
        let mut acceleration = Acceleration::new(&Method::Constant { relaxation: 0.25 }, data(2));
        assert_eq!(acceleration.next(&[0.0, 4.0, 8.0], &[4.0, 0.0, 0.0]), [1.0, 3.0, 6.0]);
        let mut plain = Acceleration::new(&Method::Plain, data(2));
        assert_eq!(plain.next(&[0.0, 4.0], &[4.0, 0.5]), [4.0, 0.5]);
    }

    #[test]
    fn data_that_do_not_determine_the_coefficients_are_changed_by_them() {
        // The third value follows the first two linearly, so the same coefficients solve it.
        let function = |x: &[f64]| vec![0.5 * x[1] + 1.0, -0.5 * x[0], 2.0 * x[0] - x[1]];
        let mut acceleration = Acceleration::new(&newton(None), vec![0..1, 1..2]);
        let mut values = vec![0.0; 3];
        for _ in 0..5 {
            let results = function(&values);
            values = acceleration.next(&values, &results);
        }
        let expected = [0.8, -0.4, 2.0];
        assert!(norm(&difference(&values, &expected)) < 1e-9, "{values:?}");
    }

    #[test]
    fn scales_bring_large_and_small_data_together() {
        // Each half determines the other; the numbers of one are 10^8 times those of the other.
        let function = |x: &[f64]| {
            let (small, large) = (&x[..2], &x[2..]);
            vec![
                1.0 + 0.9e-8 * large[1],
                2.0 - 1.3e-8 * large[0],
                1e8 * (1.2 * small[0] - 0.4 * small[1]),
                1e8 * (0.8 * small[0] + 0.7 * small[1]),
            ]
        };
        let evaluations = |scaling| {
            let scaled = NewtonOptions { scaling, filter: Filter::Qr2(1e-2), ..options(None) };
            let method = Method::Newton { relaxation: 0.5, options: scaled };
            let mut acceleration = Acceleration::new(&method, vec![0..2, 2..4]);
            let mut values = vec![1.0, 1.0, 1e8, 1e8];
            for count in 1..100 {
                let results = function(&values);
                let agrees = |part: Range<usize>| {
                    let change = difference(&results[part.clone()], &values[part.clone()]);
                    norm(&change) <= 1e-9 * norm(&results[part])
                };
                if agrees(0..2) && agrees(2..4) {
                    return count;
                }
                values = acceleration.next(&values, &results);
            }
            100
        };
        let without = evaluations(Scaling::None);
        for scaling in [Scaling::ResidualSum, Scaling::Residual, Scaling::Value] {
            let with = evaluations(scaling);
            assert!(with < without && with <= 10, "{with} with {scaling:?}, {without} without");
        }
    }

    #[test]
    fn a_residual_of_zero_ends_at_the_result() {
        let mut acceleration = Acceleration::new(&newton(None), data(2));
        assert_eq!(acceleration.next(&[1.0, 2.0], &[1.0, 2.0]), [1.0, 2.0]);
        assert_eq!(acceleration.next(&[1.0, 2.0], &[1.0, 2.0]), [1.0, 2.0]);
        let mut aitken = Acceleration::new(&Method::Aitken { relaxation: 0.5 }, data(1));
        assert_eq!(aitken.next(&[1.0], &[2.0]), [1.5]);
        assert_eq!(aitken.next(&[1.5], &[2.5]), [2.0]);
    }
}
