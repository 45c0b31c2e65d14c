//! Implicit coupling: components repeat a window of time until their results agree. `least_squares`,
//! `newton` and `acceleration` compute the values of the next iteration, `convergence` compares two
//! iterations, and `scheme` says who computes next. These files do no I/O. `component` is the shipped
//! component `ligament.mappers.implicit`, `options` reads its settings, and `record` writes its table and its
//! plot. `state` and the files of this name hold what a checkpoint saves.

mod acceleration;
mod component;
mod convergence;
mod least_squares;
mod newton;
mod options;
mod record;
mod scheme;
mod state;

pub(crate) use component::Implicit;

/// Number of partial sums. With one sum, each addition would wait for the one before.
const LANES: usize = 8;

/// Returns the sum of `term` over the pairs of elements of two vectors of one length.
fn sum_of_terms(a: &[f64], b: &[f64], term: impl Fn(f64, f64) -> f64) -> f64 {
    let (a, b) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest: f64 = a.remainder().iter().zip(b.remainder()).map(|(&a, &b)| term(a, b)).sum();
    let mut sums = [0.0; LANES];
    for (a, b) in a.zip(b) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (&a, &b))| *sum += term(a, b));
    }
    sums.iter().sum::<f64>() + rest
}

/// Returns the inner product.
fn product(a: &[f64], b: &[f64]) -> f64 {
    sum_of_terms(a, b, |a, b| a * b)
}

/// Sums of squares in this range have lost nothing to overflow or underflow.
const SAFE_SQUARES: std::ops::Range<f64> = 1e-200..1e300;

/// Returns the Euclidean norm. Squares of large or small numbers neither overflow nor vanish.
fn norm(vector: &[f64]) -> f64 {
    let square = product(vector, vector);
    if SAFE_SQUARES.contains(&square) || square.is_nan() {
        return square.sqrt();
    }
    let largest = vector.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
    if largest == 0.0 || !largest.is_finite() {
        return largest;
    }
    largest * sum_of_terms(vector, vector, |a, b| (a / largest) * (b / largest)).sqrt()
}

/// Returns the Euclidean norm of `a` less `b`.
fn norm_of_difference(a: &[f64], b: &[f64]) -> f64 {
    let square = sum_of_terms(a, b, |a, b| (a - b) * (a - b));
    if SAFE_SQUARES.contains(&square) {
        square.sqrt()
    } else {
        norm(&difference(a, b))
    }
}

/// Returns `a` less `b`.
fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// Adds `factor` times `b` to `a`.
fn add_multiple(a: &mut [f64], factor: f64, b: &[f64]) {
    a.iter_mut().zip(b).for_each(|(a, b)| *a += factor * b);
}

#[cfg(test)]
mod tests {
    use super::{norm, norm_of_difference};

    #[test]
    fn the_norm_of_large_and_of_small_numbers_is_right() {
        assert_eq!(norm(&[]), 0.0);
        assert_eq!(norm(&[0.0, 0.0]), 0.0);
        assert_eq!(norm(&[3.0, -4.0]), 5.0);
        assert!((norm(&[3e200, 4e200]) / 5e200 - 1.0).abs() < 1e-15);
        assert!((norm(&[3e-200, 4e-200]) / 5e-200 - 1.0).abs() < 1e-15);
        let long: Vec<f64> = (0..1003).map(|at| f64::from(at) * 1e-170).collect();
        let square: f64 = (0..1003).map(|at| f64::from(at * at)).sum();
        assert!((norm(&long) / (1e-170 * square.sqrt()) - 1.0).abs() < 1e-13);
        assert!((norm_of_difference(&long, &vec![0.0; 1003]) / norm(&long) - 1.0).abs() < 1e-13);
        assert_eq!(norm_of_difference(&[3.0, 1e300], &[0.0, 1e300]), 3.0);
        assert_eq!(norm(&[f64::INFINITY, 1.0]), f64::INFINITY);
        assert!(norm(&[1.0, f64::NAN, 2.0]).is_nan());
    }
}
