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

/// Returns the sum of the products of two equally long vectors.
fn product(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Returns the Euclidean norm. Squares of large or small numbers neither overflow nor vanish.
fn norm(vector: &[f64]) -> f64 {
    // The operation `max` of floating-point numbers passes over NaN.
    if vector.iter().any(|x| x.is_nan()) {
        return f64::NAN;
    }
    let largest = vector.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
    if largest == 0.0 || !largest.is_finite() {
        return largest;
    }
    let sum: f64 = vector.iter().map(|x| (x / largest) * (x / largest)).sum();
    largest * sum.sqrt()
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
    use super::norm;

    #[test]
    fn the_norm_of_large_and_of_small_numbers_is_right() {
        assert_eq!(norm(&[]), 0.0);
        assert_eq!(norm(&[0.0, 0.0]), 0.0);
        assert_eq!(norm(&[3.0, -4.0]), 5.0);
        assert!((norm(&[3e200, 4e200]) / 5e200 - 1.0).abs() < 1e-15);
        assert!((norm(&[3e-200, 4e-200]) / 5e-200 - 1.0).abs() < 1e-15);
        assert_eq!(norm(&[f64::INFINITY, 1.0]), f64::INFINITY);
        assert!(norm(&[1.0, f64::NAN, 2.0]).is_nan());
    }
}
