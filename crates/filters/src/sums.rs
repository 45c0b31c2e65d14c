//! Sums, means, norms, products and interpolated values. Each result is right whenever it fits into an
//! `f64`, even if an intermediate sum or square does not fit. One NaN among the elements makes the result
//! NaN.
//!
//! Each function first computes in the plain way. If the plain result overflows or underflows, the function
//! computes again with all numbers scaled by a power of two, which changes no digit.

use crate::numbers::Float;
use crate::view::{array, bytes_of, ArrayView};
use ligament_wire::fields::{counted, entries, Fields};
use ligament_wire::{ArrayOrder, DType, Value};
use std::borrow::Cow;

/// If a sum overflows, its terms are multiplied by `SMALLER`, and the scaled sum by `LARGER`. The factor is
/// 2^64, so the scaled sum of as many terms as memory can hold does not overflow.
pub(crate) const SMALLER: f64 = 1.0 / LARGER;
pub(crate) const LARGER: f64 = (1u128 << 64) as f64;
/// A sum of squares below this limit may have lost squares that are too small for an `f64`.
pub(crate) const SMALL_SQUARES: f64 = 1e-270;

/// Returns the sum of the elements.
pub fn sum(elements: &[impl Float]) -> f64 {
    match pairwise(elements, &|x| x.to_f64()) {
        sum if sum.is_finite() => sum,
        _ => pairwise(elements, &|x| x.to_f64() * SMALLER) * LARGER,
    }
}

/// Returns the mean of the elements, or NaN if there are no elements.
pub fn mean(elements: &[impl Float]) -> f64 {
    let count = elements.len() as f64;
    match pairwise(elements, &|x| x.to_f64()) {
        sum if sum.is_finite() => sum / count,
        _ => pairwise(elements, &|x| x.to_f64() * SMALLER) / count * LARGER,
    }
}

/// Returns the sum of the products of each value with its weight.
pub fn weighted(terms: impl Iterator<Item = (f64, f64)> + Clone) -> f64 {
    match terms.clone().map(|(x, weight)| x * weight).sum::<f64>() {
        sum if sum.is_finite() => sum,
        _ => terms.map(|(x, weight)| x * SMALLER * weight).sum::<f64>() * LARGER,
    }
}

/// Returns the square root of the sum of the squares.
pub fn norm(elements: &[impl Float]) -> f64 {
    let squares = pairwise(elements, &|x| x.to_f64() * x.to_f64());
    if squares.is_finite() && squares >= SMALL_SQUARES {
        return squares.sqrt();
    }
    let largest = elements.iter().fold(0.0, |largest, x| max(largest, x.to_f64().abs()));
    if largest == 0.0 || !largest.is_finite() {
        return largest;
    }
    let scale = power_of_two_near(largest);
    pairwise(elements, &|x| (x.to_f64() / scale) * (x.to_f64() / scale)).sqrt() * scale
}

/// Returns the product of the elements.
pub fn product(elements: &[f64]) -> f64 {
    let plain = elements.iter().product::<f64>();
    let lost = !plain.is_finite() || plain.abs() < f64::MIN_POSITIVE;
    if !lost {
        return plain;
    }
    // If an element is 0, infinite or NaN, only the signs of the other elements matter. Their product
    // itself may be too large or too small for an `f64`.
    let counts = |x: &f64| x.is_finite() && *x != 0.0;
    if !elements.iter().all(counts) {
        return elements.iter().map(|x| if counts(x) { x.signum() } else { *x }).product();
    }
    let (mut product, mut power) = (1.0f64, 0i64);
    for x in elements {
        let scale = power_of_two_near(*x);
        product *= x / scale;
        power += exponent(scale);
        let scale = power_of_two_near(product);
        product /= scale;
        power += exponent(scale);
    }
    // The power is applied in steps, because one single power of two may be too large or too small for an
    // `f64`.
    while power != 0 {
        let step = power.clamp(-1000, 1000);
        product *= 2f64.powi(step as i32);
        power -= step;
        if product == 0.0 || product.is_infinite() {
            break;
        }
    }
    product
}

/// Returns the linear interpolation between two values. `share` is 0 at `from` and 1 at `to`.
#[inline(always)]
pub fn between(from: f64, to: f64, share: f64) -> f64 {
    let way = to - from;
    if way.is_finite() {
        from + way * share
    } else {
        from * (1.0 - share) + to * share
    }
}

/// Returns the smaller value, or NaN if one value is NaN.
#[inline(always)]
pub fn min(a: f64, b: f64) -> f64 {
    if a < b || a.is_nan() {
        a
    } else {
        b
    }
}

/// Returns the larger value, or NaN if one value is NaN.
#[inline(always)]
pub fn max(a: f64, b: f64) -> f64 {
    if a > b || a.is_nan() {
        a
    } else {
        b
    }
}

/// Returns the largest power of two that is not above the magnitude of `x`. `x` is finite and not 0.
fn power_of_two_near(x: f64) -> f64 {
    let bits = x.abs().to_bits();
    match bits >> 52 {
        0 => f64::from_bits(1 << (63 - bits.leading_zeros())),
        exponent => f64::from_bits(exponent << 52),
    }
}

/// Returns the exponent of a power of two.
fn exponent(power_of_two: f64) -> i64 {
    let bits = power_of_two.to_bits();
    match bits >> 52 {
        0 => i64::from(bits.trailing_zeros()) - 1074,
        biased => biased as i64 - 1023,
    }
}

/// Returns the sum of `each` over all elements. A long slice is summed as two halves, so that rounding
/// errors stay small (Higham, SIAM J. Sci. Comput. 14, 1993).
fn pairwise<T: Float>(elements: &[T], each: &impl Fn(T) -> f64) -> f64 {
    const LANES: usize = 8;
    if elements.len() > 1024 {
        let half = (elements.len() / 2).next_multiple_of(LANES);
        return pairwise(&elements[..half], each) + pairwise(&elements[half..], each);
    }
    let mut sums = [0.0; LANES];
    let chunks = elements.chunks_exact(LANES);
    let rest: f64 = chunks.remainder().iter().map(|&x| each(x)).sum();
    for chunk in chunks {
        for (sum, &x) in sums.iter_mut().zip(chunk) {
            *sum += each(x);
        }
    }
    let halves = [sums[0] + sums[4], sums[1] + sums[5], sums[2] + sums[6], sums[3] + sums[7]];
    (halves[0] + halves[2]) + (halves[1] + halves[3]) + rest
}

/// The sums of several arrays of one shape, element by element.
#[derive(Debug)]
struct RunningSums {
    plain: Vec<f64>,
    /// The sums of the terms multiplied by `SMALLER`. This vector exists from the first sum that overflows.
    smaller: Option<Vec<f64>>,
    count: usize,
}

impl RunningSums {
    /// Adds the sums of `other`, which may be the sums of a single array.
    fn add(&mut self, other: &RunningSums) {
        let too_large = |a: &f64, b: &f64| a.is_finite() & b.is_finite() & !(a + b).is_finite();
        let pairs = self.plain.iter().zip(&other.plain);
        if other.smaller.is_some() || pairs.fold(false, |any, (a, b)| any | too_large(a, b)) {
            let plain = &self.plain;
            self.smaller.get_or_insert_with(|| plain.iter().map(|x| x * SMALLER).collect());
        }
        if let Some(smaller) = &mut self.smaller {
            smaller.iter_mut().enumerate().for_each(|(i, sum)| *sum += other.smaller(i));
        }
        self.plain.iter_mut().zip(&other.plain).for_each(|(sum, x)| *sum += x);
        self.count += other.count;
    }

    fn smaller(&self, i: usize) -> f64 {
        self.smaller.as_ref().map_or_else(|| self.plain[i] * SMALLER, |smaller| smaller[i])
    }

    /// Returns the means over the arrays of both sums.
    fn means_with(&self, other: &RunningSums) -> Vec<f64> {
        let count = (self.count + other.count) as f64;
        let mean = |(i, (a, b)): (usize, (&f64, &f64))| match a + b {
            sum if sum.is_finite() => sum / count,
            _ => (self.smaller(i) + other.smaller(i)) / count * LARGER,
        };
        self.plain.iter().zip(&other.plain).enumerate().map(mean).collect()
    }
}

/// Returns numbers as a value of a checkpoint.
fn numbers_state(numbers: &[f64]) -> Value {
    let (shape, bytes) = ([numbers.len() as u64], bytes_of(numbers.to_vec()));
    Value::Array(array(DType::Float64, &shape, ArrayOrder::RowMajor, bytes, &[], None))
}

fn numbers_of_state(state: &Value) -> Option<Vec<f64>> {
    match state {
        Value::Array(array) if array.dtype() == DType::Float64 => {
            ArrayView::from(array).elements::<f64>().ok().map(Cow::into_owned)
        }
        _ => None,
    }
}

impl RunningSums {
    fn state(&self) -> Value {
        entries([
            ("plain", numbers_state(&self.plain)),
            ("smaller", self.smaller.as_deref().map_or(Value::None, numbers_state)),
            ("count", counted(self.count as u64)),
        ])
    }

    fn of_state(state: &Value) -> Option<RunningSums> {
        let fields = Fields::of(state)?;
        let plain = numbers_of_state(fields.get("plain")?)?;
        let smaller = match fields.present("smaller")? {
            None => None,
            Some(smaller) => Some(numbers_of_state(smaller).filter(|sums| sums.len() == plain.len())?),
        };
        Some(RunningSums { plain, smaller, count: fields.index("count")? })
    }
}

/// The sums of the arrays in a moving window. No array is ever subtracted from a sum, so a large number that
/// leaves the window leaves no rounding error behind. The window has older and newer arrays. For each older
/// array there is the sum from it to the last older array. For the newer arrays there is one sum. When the
/// last older array leaves the window, the newer arrays become the older ones. So each array is added two or
/// three times, and the length of the window does not matter.
#[derive(Debug, Default)]
pub(crate) struct Window {
    /// The sums over the older arrays. The last entry is the sum of all older arrays; the entries before it
    /// cover fewer and fewer arrays.
    older: Vec<RunningSums>,
    newer: Vec<RunningSums>,
    /// The sum of all newer arrays.
    sum: Option<RunningSums>,
}

impl Window {
    pub fn len(&self) -> usize {
        self.older.len() + self.newer.len()
    }

    pub fn clear(&mut self) {
        *self = Window::default();
    }

    /// Returns the window as a value of a checkpoint.
    pub fn state(&self) -> Value {
        let all = |sums: &[RunningSums]| Value::List(sums.iter().map(RunningSums::state).collect());
        let sum = self.sum.as_ref().map_or(Value::None, RunningSums::state);
        entries([("older", all(&self.older)), ("newer", all(&self.newer)), ("sum", sum)])
    }

    /// Returns the window of the value that `state` has returned, or `None` for any other value.
    pub fn of_state(state: &Value) -> Option<Window> {
        let fields = Fields::of(state)?;
        let all = |key: &str| fields.list(key)?.iter().map(RunningSums::of_state).collect::<Option<Vec<_>>>();
        let sum = match fields.present("sum")? {
            None => None,
            Some(sum) => Some(RunningSums::of_state(sum)?),
        };
        let window = Window { older: all("older")?, newer: all("newer")?, sum };
        let mut sums = window.older.iter().chain(&window.newer).chain(&window.sum).map(|sums| sums.plain.len());
        let first = sums.next();
        sums.all(|len| Some(len) == first).then_some(window)
    }

    /// Removes the oldest array from the window.
    pub fn pop(&mut self) {
        if self.older.is_empty() {
            self.sum = None;
            while let Some(mut sums) = self.newer.pop() {
                if let Some(after) = self.older.last() {
                    sums.add(after);
                }
                self.older.push(sums);
            }
        }
        self.older.pop();
    }

    /// Adds the newest array to the window, and returns the means over the whole window.
    pub fn push(&mut self, elements: Vec<f64>) -> Vec<f64> {
        let new = RunningSums { plain: elements, smaller: None, count: 1 };
        let nothing = || RunningSums { plain: vec![-0.0; new.plain.len()], smaller: None, count: 0 };
        let sum = self.sum.get_or_insert_with(nothing);
        sum.add(&new);
        let means = match self.older.last() {
            Some(older) => older.means_with(sum),
            None => sum.means_with(&nothing()),
        };
        self.newer.push(new);
        means
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_that_fit_are_right_though_what_leads_to_them_does_not_fit() {
        let large = f64::MAX;
        assert_eq!(mean(&[1.7e308, 1.7e308]), 1.7e308);
        assert_eq!(mean(&[f32::MAX, f32::MAX]), f64::from(f32::MAX));
        assert_eq!(sum(&[large, large, -large]), large);
        assert_eq!(sum(&[large, large]), f64::INFINITY);
        assert_eq!(norm(&[f64::from_bits(3), f64::from_bits(4)]), f64::from_bits(5));
        assert_eq!(norm(&[0.0; 3]), 0.0);
        assert_eq!(norm(&[0.0; 0]), 0.0);
        let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-14;
        assert!(close(norm(&[3e200, 4e200]), 5e200) && close(norm(&[3e-200, -4e-200]), 5e-200));
        assert!(close(weighted([(large, 1.5), (large, -0.5)].into_iter()), large));
        assert!(close(product(&[1e200, 1e200, 1e-300]), 1e100));
        assert!(close(product(&[1e-200, 1e-200, -1e300, 4.0]), -4e-100));
        assert_eq!(product(&[1e200, 1e200]), f64::INFINITY);
        assert_eq!(product(&[1e-200, 1e-200]), 0.0);
        assert_eq!(product(&[f64::from_bits(1), 2f64.powi(1000), 2f64.powi(74)]), 1.0);
        assert_eq!((product(&[2.0, 0.0, -3.0]), product(&[1e200, 1e200, 0.0])), (0.0, 0.0));
        assert_eq!(product(&[1e-200, 1e-200, -f64::INFINITY]), -f64::INFINITY);
        assert!(product(&[1e200, 0.0, f64::INFINITY]).is_nan());
        assert_eq!(between(-1.7e308, 1.7e308, 0.5), 0.0);
        assert!(close(between(-1.7e308, 1.7e308, 0.75), 0.85e308));
        assert_eq!(between(f64::INFINITY, f64::INFINITY, 0.25), f64::INFINITY);
    }

    #[test]
    fn nan_and_infinity_stay_what_they_are() {
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        assert_eq!((sum(&[1.0, inf]), mean(&[1.0, -inf]), norm(&[1.0, -inf])), (inf, -inf, inf));
        for elements in [[nan, 1.0], [inf, nan], [2.0, nan], [nan, 1e300]] {
            let all = [sum(&elements), mean(&elements), norm(&elements), product(&elements)];
            assert!(all.iter().all(|one| one.is_nan()), "{elements:?}: {all:?}");
            let [a, b] = elements;
            assert!(min(a, b).is_nan() && max(a, b).is_nan() && between(a, b, 0.5).is_nan(), "{elements:?}");
        }
        assert!(sum(&[inf, -inf]).is_nan());
        assert_eq!((min(2.0, -inf), max(2.0, inf), min(0.0, 3.0)), (-inf, inf, 0.0));
    }

    #[test]
    fn means_of_a_window_are_those_of_what_is_in_it() {
        let rows = [
            [1.7e308, 1.0],
            [1.7e308, 1e36],
            [-1.7e308, 1.0],
            [1.0, f64::NAN],
            [2.0, 2.0],
            [3.0, 1.0],
            [4.0, 3.0],
        ];
        for n in 1..=rows.len() {
            let mut window = Window::default();
            for (i, row) in rows.iter().enumerate() {
                if window.len() == n {
                    window.pop();
                }
                let means = window.push(row.to_vec());
                let within = &rows[(i + 1).saturating_sub(n)..=i];
                for (column, found) in means.into_iter().enumerate() {
                    let within: Vec<f64> = within.iter().map(|row| row[column]).collect();
                    let (wanted, largest) = (mean(&within), within.iter().fold(0.0, |a, b| max(a, b.abs())));
                    let same = (found - wanted).abs() <= 1e-15 * largest || found.is_nan() && wanted.is_nan();
                    assert!(same, "{n}, {i}, {column}: {found}, not {wanted}");
                }
            }
        }
    }
}
