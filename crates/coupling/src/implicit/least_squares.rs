//! Linear least squares with a filter: columns that depend on others are left out. The factorisation is the
//! modified Gram–Schmidt method with a second pass (Golub and Van Loan, Matrix Computations, 5.2).

use super::{add_multiple, norm, product};

/// A rule that says which columns are left out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Filter {
    /// Leaves out a column whose part across the earlier ones is shorter than this share of all columns
    /// together (their Frobenius norm).
    Qr1(f64),
    /// Leaves out a column whose part across the earlier ones is shorter than this share of the column.
    Qr2(f64),
}

/// The share below which a column is rounding error, whatever the filter says.
const ROUNDING_SHARE: f64 = 1e-14;

/// The factors Q and R of a matrix whose columns are those that the filter has kept.
pub(super) struct Factors {
    /// Indices of the columns that are kept.
    pub kept: Vec<usize>,
    q: Vec<Vec<f64>>,
    /// The columns of R; each ends at the diagonal.
    r: Vec<Vec<f64>>,
}

impl Factors {
    /// Factorises columns, of which the first are the most important ones.
    pub fn new(columns: &[Vec<f64>], filter: Filter) -> Factors {
        let lengths: Vec<f64> = columns.iter().map(|column| norm(column)).collect();
        let whole = norm(&lengths);
        let mut factors = Factors { kept: Vec::new(), q: Vec::new(), r: Vec::new() };
        for (index, (column, &length)) in columns.iter().zip(&lengths).enumerate() {
            let limit = match filter {
                Filter::Qr1(share) => (share * whole).max(ROUNDING_SHARE * length),
                Filter::Qr2(share) => share.max(ROUNDING_SHARE) * length,
            };
            factors.add(index, column, limit);
        }
        factors
    }

    /// Adds a column, unless its part across the others is not longer than `limit`.
    fn add(&mut self, index: usize, column: &[f64], limit: f64) {
        let mut across = column.to_vec();
        let mut r = vec![0.0; self.q.len()];
        // The second pass removes the part that rounding has left.
        for _ in 0..2 {
            for (entry, q) in r.iter_mut().zip(&self.q) {
                let share = product(q, &across);
                *entry += share;
                add_multiple(&mut across, -share, q);
            }
        }
        let length = norm(&across);
        if !(length > limit && length.is_finite()) {
            return;
        }
        across.iter_mut().for_each(|x| *x /= length);
        r.push(length);
        self.kept.push(index);
        self.q.push(across);
        self.r.push(r);
    }

    /// Returns a coefficient for each kept column, so that their sum is as close to `target` as possible.
    pub fn solve(&self, target: &[f64]) -> Vec<f64> {
        self.back_substituted(self.q.iter().map(|q| product(q, target)).collect())
    }

    /// Returns the rows of the pseudoinverse, one for each kept column.
    pub fn pseudoinverse(&self) -> Vec<Vec<f64>> {
        let mut rows = self.q.clone();
        for at in (0..rows.len()).rev() {
            let (before, from) = rows.split_at_mut(at);
            let row = &mut from[0];
            row.iter_mut().for_each(|x| *x /= self.r[at][at]);
            for (earlier, other) in before.iter_mut().enumerate() {
                add_multiple(other, -self.r[at][earlier], row);
            }
        }
        rows
    }

    fn back_substituted(&self, mut values: Vec<f64>) -> Vec<f64> {
        for at in (0..values.len()).rev() {
            values[at] /= self.r[at][at];
            for earlier in 0..at {
                values[earlier] -= self.r[at][earlier] * values[at];
            }
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_solution_of_a_known_system_is_found() {
        // The line 1 + 2 t through four points, of which the last two lie 1 beside it to both sides.
        let columns = [vec![1.0; 4], vec![0.0, 1.0, 2.0, 2.0]];
        let factors = Factors::new(&columns, Filter::Qr2(0.0));
        let found = factors.solve(&[1.0, 3.0, 6.0, 4.0]);
        assert!((found[0] - 1.0).abs() < 1e-14 && (found[1] - 2.0).abs() < 1e-14, "{found:?}");
    }

    #[test]
    fn the_pseudoinverse_solves_the_same_system() {
        let columns = [vec![2.0, 0.0, 1.0, 3.0], vec![1.0, 1.0, 0.0, -1.0], vec![0.0, 5.0, 2.0, 1.0]];
        let factors = Factors::new(&columns, Filter::Qr2(0.0));
        let target = [1.0, -2.0, 0.5, 4.0];
        let solved = factors.solve(&target);
        for (row, expected) in factors.pseudoinverse().iter().zip(solved) {
            assert!((product(row, &target) - expected).abs() < 1e-14);
        }
    }

    #[test]
    fn columns_that_depend_on_earlier_ones_are_left_out() {
        let columns = [vec![1.0, 0.0, 0.0], vec![2.0, 1e-3, 0.0], vec![0.0; 3], vec![0.0, 0.0, 1.0]];
        assert_eq!(Factors::new(&columns, Filter::Qr2(1e-2)).kept, [0, 3]);
        assert_eq!(Factors::new(&columns, Filter::Qr2(1e-4)).kept, [0, 1, 3]);
        assert_eq!(Factors::new(&columns, Filter::Qr1(1e-2)).kept, [0, 3]);
        assert_eq!(Factors::new(&columns, Filter::Qr1(1e-4)).kept, [0, 1, 3]);
        // The same column at another size depends on itself for each filter.
        let twice = [vec![1.0, 2.0], vec![1e-30, 2e-30]];
        assert_eq!(Factors::new(&twice, Filter::Qr2(0.0)).kept, [0]);
        assert_eq!(Factors::new(&twice, Filter::Qr1(0.0)).kept, [0]);
    }

    #[test]
    fn no_columns_are_no_coefficients() {
        let factors = Factors::new(&[], Filter::Qr2(1e-2));
        assert!(factors.kept.is_empty() && factors.solve(&[1.0]).is_empty());
    }
}
