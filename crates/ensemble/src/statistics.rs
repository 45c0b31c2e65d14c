//! Mean, variance and quantiles of the answers, element by element. The answers arrive one after the other.
//! Mean and variance are updated with each answer (Welford, 1962). Quantiles need all values, which are
//! stored only if quantiles are wanted.

use ligament_catalogue::{fault, Fault};

/// Maximum length of the values that are stored for quantiles, in bytes.
const MAX_QUANTILE_BYTES: usize = 4 << 30;

/// The statistics of the answers up to now.
#[derive(Debug, Default)]
pub struct Statistics {
    shape: Option<Vec<u64>>,
    count: usize,
    mean: Vec<f64>,
    /// For each element: the sum of the squared distances from the mean.
    squares: Vec<f64>,
    quantiles: Vec<f64>,
    kept: Vec<Vec<f64>>,
}

/// Statistics of all answers. Each vector has one number for each element of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Shape of an answer. Empty for a number.
    pub shape: Vec<u64>,
    /// Number of evaluations that are included.
    pub count: usize,
    pub mean: Vec<f64>,
    /// Variance with n − 1 in the denominator. NaN for a single evaluation.
    pub variance: Vec<f64>,
    /// Each wanted quantile with its values, interpolated linearly between two evaluations (as NumPy's
    /// `quantile` by default).
    pub quantiles: Vec<(f64, Vec<f64>)>,
}

impl Statistics {
    /// Makes empty statistics with these quantiles.
    ///
    /// # Errors
    /// Fails if a quantile is not from 0 to 1.
    pub fn new(quantiles: &[f64]) -> Result<Statistics, Fault> {
        if let Some(wrong) = quantiles.iter().find(|one| !(0.0..=1.0).contains(*one)) {
            return Err(fault!(BAD_STUDY, "a quantile is a number from 0 to 1, and not {wrong}"));
        }
        Ok(Statistics { quantiles: quantiles.to_vec(), ..Statistics::default() })
    }

    /// Adds an answer with this shape.
    ///
    /// # Errors
    /// Fails, and adds nothing, if the shape differs from the earlier answers, if a number is not finite, or if
    /// the values stored for quantiles would need too much memory.
    pub fn add(&mut self, shape: &[u64], values: &[f64]) -> Result<(), Fault> {
        let known = self.shape.as_deref().unwrap_or(shape);
        if known != shape {
            return Err(fault!(
                EVALUATION_FAILED,
                "its answer has the shape {shape:?}, and those before have {known:?}"
            ));
        }
        if let Some(value) = values.iter().find(|value| !value.is_finite()) {
            return Err(fault!(EVALUATION_FAILED, "its answer has {value}"));
        }
        if !self.quantiles.is_empty() {
            if (self.count + 1).saturating_mul(values.len().saturating_mul(8)) > MAX_QUANTILE_BYTES {
                return Err(fault!(
                    BAD_STUDY,
                    "quantiles of so many values need more than 4 GiB; leave them out, or send less"
                ));
            }
            self.kept.push(values.to_vec());
        }
        self.shape = Some(shape.to_vec());
        self.mean.resize(values.len(), 0.0);
        self.squares.resize(values.len(), 0.0);
        self.count += 1;
        let n = self.count as f64;
        for ((mean, squares), value) in self.mean.iter_mut().zip(&mut self.squares).zip(values) {
            let off = value - *mean;
            // The difference of two finite numbers can overflow although the mean is finite.
            *mean = if off.is_finite() { *mean + off / n } else { *mean - *mean / n + value / n };
            *squares += off * (value - *mean);
        }
        Ok(())
    }

    /// Returns the statistics of all answers up to now.
    pub fn summary(&self) -> Summary {
        let free = self.count.saturating_sub(1) as f64;
        let variance = self.squares.iter().map(|squares| if free > 0.0 { squares / free } else { f64::NAN });
        let mut quantiles: Vec<(f64, Vec<f64>)> = self.quantiles.iter().map(|&q| (q, Vec::new())).collect();
        if self.count > 0 {
            for element in 0..self.mean.len() {
                let mut column: Vec<f64> = self.kept.iter().map(|values| values[element]).collect();
                column.sort_by(f64::total_cmp);
                for (q, values) in &mut quantiles {
                    values.push(quantile(&column, *q));
                }
            }
        }
        Summary {
            shape: self.shape.clone().unwrap_or_default(),
            count: self.count,
            mean: self.mean.clone(),
            variance: variance.collect(),
            quantiles,
        }
    }
}

/// Returns a quantile of sorted values.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let place = q * (sorted.len() - 1) as f64;
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    let (from, to, share) = (sorted[below], sorted[above], place - below as f64);
    let way = to - from;
    // The difference can overflow although the value between the two is finite.
    if way.is_finite() {
        from + way * share
    } else {
        from * (1.0 - share) + to * share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_variance_and_quantiles_are_those_of_the_textbook() {
        let mut found = Statistics::new(&[0.0, 0.25, 0.5, 1.0]).unwrap();
        for value in [4.0, 1.0, 2.0, 9.0] {
            found.add(&[2], &[value, 1e9 + value]).unwrap();
        }
        let summary = found.summary();
        assert_eq!(summary.mean, [4.0, 1e9 + 4.0]);
        for variance in &summary.variance {
            assert!((variance - 38.0 / 3.0).abs() < 1e-6, "{variance}");
        }
        let of: Vec<f64> = summary.quantiles.iter().map(|(_, values)| values[0]).collect();
        assert_eq!(of, [1.0, 1.75, 3.0, 9.0]);
        assert_eq!((summary.shape, summary.count), (vec![2], 4));
    }

    #[test]
    fn answers_that_cannot_be_added_are_refused_and_change_nothing() {
        let mut found = Statistics::new(&[]).unwrap();
        found.add(&[], &[1.0]).unwrap();
        assert!(found.add(&[1], &[1.0]).unwrap_err().contains("the shape [1]"));
        assert!(found.add(&[], &[f64::NAN]).unwrap_err().contains("NaN"));
        assert_eq!(found.summary().mean, [1.0]);
        assert!(found.summary().variance[0].is_nan());
        assert!(Statistics::new(&[1.5]).is_err());
    }

    #[test]
    fn means_and_quantiles_that_fit_into_a_number_are_right_though_distances_do_not_fit() {
        let mut found = Statistics::new(&[0.5, 0.75]).unwrap();
        for value in [1.7e308, -1.7e308, 1.7e308, -1.7e308] {
            found.add(&[], &[value]).unwrap();
        }
        let summary = found.summary();
        assert!(summary.mean[0].abs() < 1e293, "{summary:?}");
        assert_eq!(summary.variance, [f64::INFINITY]);
        assert_eq!((summary.quantiles[0].1[0], summary.quantiles[1].1[0]), (0.0, 1.7e308));
    }

    #[test]
    fn nothing_has_no_values() {
        let summary = Statistics::new(&[0.5]).unwrap().summary();
        assert_eq!((summary.count, summary.mean.len(), summary.quantiles[0].1.len()), (0, 0, 0));
    }
}
