//! Quasi-Newton methods for the interface. With x the values that an iteration begins with, H(x) the values
//! that it ends with, and the residual r = H(x) − x, differences between iterations give columns V of
//! residuals and W of results.
//!
//! IQN-ILS (Degroote, Bathe and Vierendeels, Computers & Structures 87, 2009) chooses c so that V c + r is as
//! short as possible, and goes on with H(x) + W c. IQN-IMVJ (Lindner, Mehl, Scheufele and Uekermann, ECCOMAS
//! 2015) also has an estimate J of ∂H/∂r from earlier windows, and goes on with H(x) + W c − J (r + V c).

mod state;

pub(super) use state::VectorLengths;

use super::least_squares::{Factors, Filter};
use super::{add_multiple, difference, norm, norm_of_difference, product};
use std::collections::VecDeque;
use std::ops::Range;

/// Share of the values below which a change is mostly rounding error, and says nothing.
const ROUNDING_SHARE: f64 = 1e-13;
/// The same for the last change of a window. Only few of its digits are right, and in the next window it would
/// go before older columns with more.
const LAST_SHARE: f64 = 1e-9;

/// The scale of each kind of data in the least squares, so that none outweighs the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Scaling {
    /// One over the sum of its share in the residuals of this window.
    ResidualSum,
    /// One over its residual in this iteration.
    Residual,
    /// One over its values in this iteration.
    Value,
    None,
}

/// The settings of a quasi-Newton method.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NewtonOptions {
    pub filter: Filter,
    pub scaling: Scaling,
    /// Maximum number of columns.
    pub max_columns: usize,
    /// Number of earlier windows whose columns are used.
    pub reused_windows: usize,
    /// For IQN-IMVJ: number of windows after which the estimate of ∂H/∂r is made anew from their columns.
    /// `None` for IQN-ILS.
    pub restart_windows: Option<usize>,
}

/// A column of V, the same column of W, and the number of the window in which both were made.
#[derive(Debug, Clone)]
struct Column {
    residual: Vec<f64>,
    result: Vec<f64>,
    window: usize,
}

/// A part of the estimate of ∂H/∂r: the sum of the products of a result and a row of a pseudoinverse.
struct JacobianPart {
    results: Vec<Vec<f64>>,
    rows: Vec<Vec<f64>>,
}

/// The state of a quasi-Newton method.
pub(super) struct Newton {
    options: NewtonOptions,
    /// Positions of each kind of data whose residuals count, within the residual.
    blocks: Vec<Range<usize>>,
    /// The columns, newest first.
    columns: VecDeque<Column>,
    /// Residual and result of the last iteration of this window.
    last: Option<(Vec<f64>, Vec<f64>)>,
    window: usize,
    scales: Vec<f64>,
    share_sums: Vec<f64>,
    jacobian: Vec<JacobianPart>,
    /// Columns of the windows since the estimate was last made anew.
    archive: Vec<Column>,
}

impl Newton {
    /// Makes a method. `blocks` are the positions of each kind of data within a residual.
    pub fn new(options: NewtonOptions, blocks: Vec<Range<usize>>) -> Newton {
        let count = blocks.len();
        Newton {
            options,
            blocks,
            columns: VecDeque::new(),
            last: None,
            window: 0,
            scales: vec![1.0; count],
            share_sums: vec![0.0; count],
            jacobian: Vec::new(),
            archive: Vec::new(),
        }
    }

    /// Returns the values of the next iteration. `None` if nothing is known of the problem yet.
    pub fn next(&mut self, residual: &[f64], result: &[f64]) -> Option<Vec<f64>> {
        self.learn(residual, result, ROUNDING_SHARE);
        self.rescale(residual, result);
        if self.columns.is_empty() && self.jacobian.is_empty() {
            return None;
        }
        let factors = self.factorised();
        if factors.kept.is_empty() && self.jacobian.is_empty() {
            return None;
        }
        let target: Vec<f64> = self.scaled(residual).iter().map(|x| -x).collect();
        let coefficients = factors.solve(&target);
        let mut next = result.to_vec();
        let mut rest = residual.to_vec();
        for (&index, &coefficient) in factors.kept.iter().zip(&coefficients) {
            add_multiple(&mut next, coefficient, &self.columns[index].result);
            add_multiple(&mut rest, coefficient, &self.columns[index].residual);
        }
        self.keep(&factors.kept);
        let known = self.times_jacobian(&rest, result.len());
        add_multiple(&mut next, -1.0, &known);
        Some(next)
    }

    /// Ends a window with its last residual and result.
    pub fn end_window(&mut self, residual: &[f64], result: &[f64]) {
        self.learn(residual, result, LAST_SHARE);
        if let Some(restart_windows) = self.options.restart_windows {
            self.extend_jacobian(restart_windows.max(1));
        }
        self.last = None;
        self.window += 1;
        let reused = self.options.reused_windows;
        let window = self.window;
        self.columns.retain(|column| window - column.window <= reused);
        self.share_sums.fill(0.0);
    }

    /// Adds the difference from the last iteration as a column, if it is more than a share of the values.
    fn learn(&mut self, residual: &[f64], result: &[f64], least_share: f64) {
        if let Some((before, result_before)) = self.last.replace((residual.to_vec(), result.to_vec())) {
            let values = norm(&result[..residual.len()]);
            if norm_of_difference(residual, &before) <= least_share * values {
                return;
            }
            self.columns.push_front(Column {
                residual: difference(residual, &before),
                result: difference(result, &result_before),
                window: self.window,
            });
            self.columns.truncate(self.options.max_columns);
        }
    }

    /// Sets the scale of each kind of data.
    fn rescale(&mut self, residual: &[f64], result: &[f64]) {
        let whole = norm(residual);
        for (at, block) in self.blocks.iter().enumerate() {
            let share = norm(&residual[block.clone()]) / whole;
            self.share_sums[at] += if share.is_finite() { share } else { 0.0 };
            let size = match self.options.scaling {
                Scaling::ResidualSum => self.share_sums[at],
                Scaling::Residual => norm(&residual[block.clone()]),
                // The kinds of data whose residuals count come first in a result.
                Scaling::Value => norm(&result[block.clone()]),
                Scaling::None => 1.0,
            };
            let scale = 1.0 / size;
            if scale.is_finite() && scale > 0.0 {
                self.scales[at] = scale;
            }
        }
    }

    fn scaled(&self, residual: &[f64]) -> Vec<f64> {
        let mut scaled = residual.to_vec();
        for (block, scale) in self.blocks.iter().zip(&self.scales) {
            scaled[block.clone()].iter_mut().for_each(|x| *x *= scale);
        }
        scaled
    }

    fn factorised(&self) -> Factors {
        let columns: Vec<Vec<f64>> = self.columns.iter().map(|column| self.scaled(&column.residual)).collect();
        Factors::new(&columns, self.options.filter)
    }

    /// Drops all columns but these, whose indices ascend.
    fn keep(&mut self, kept: &[usize]) {
        if kept.len() < self.columns.len() {
            let columns = std::mem::take(&mut self.columns).into_iter().enumerate();
            self.columns =
                columns.filter(|(at, _)| kept.binary_search(at).is_ok()).map(|(_, column)| column).collect();
        }
    }

    /// Returns the estimate of ∂H/∂r times a vector of residuals.
    fn times_jacobian(&self, residual: &[f64], length: usize) -> Vec<f64> {
        let mut sum = vec![0.0; length];
        for part in &self.jacobian {
            for (result, row) in part.results.iter().zip(&part.rows) {
                add_multiple(&mut sum, product(row, residual), result);
            }
        }
        sum
    }

    /// Adds what the columns say to the estimate of ∂H/∂r. After some windows, the estimate is made anew from
    /// the columns of these windows, because it grows with each.
    fn extend_jacobian(&mut self, restart_windows: usize) {
        let factors = self.factorised();
        self.keep(&factors.kept);
        let window = self.window;
        let own = self.columns.iter().filter(|column| column.window == window).cloned();
        self.archive.splice(0..0, own);
        if self.jacobian.len() + 1 > restart_windows {
            let archive = std::mem::take(&mut self.archive);
            let scaled: Vec<Vec<f64>> = archive.iter().map(|column| self.scaled(&column.residual)).collect();
            let factors = Factors::new(&scaled, self.options.filter);
            let results = factors.kept.iter().map(|&at| archive[at].result.clone()).collect();
            self.jacobian = vec![JacobianPart { results, rows: self.unscaled_rows(&factors) }];
            self.archive = archive;
            let oldest = (window + 1).saturating_sub(restart_windows);
            self.archive.retain(|column| column.window >= oldest);
            return;
        }
        let results = self.columns.iter().map(|column| {
            difference(&column.result, &self.times_jacobian(&column.residual, column.result.len()))
        });
        let part = JacobianPart { results: results.collect(), rows: self.unscaled_rows(&factors) };
        if !part.results.is_empty() {
            self.jacobian.push(part);
        }
    }

    /// Returns the rows of the pseudoinverse of the columns without their scales.
    fn unscaled_rows(&self, factors: &Factors) -> Vec<Vec<f64>> {
        factors.pseudoinverse().iter().map(|row| self.scaled(row)).collect()
    }
}
