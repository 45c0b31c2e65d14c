//! Mappings between the points of two meshes: each value of the target is a weighted sum of values of the
//! source. Weights are computed once, and applied to each message.
//!
//! *Consistent* mappings give each target point the value that the source has there: a constant stays the same
//! constant, and with linear interpolation a linear function stays the same function. *Conservative* ones hand
//! each value of the source to target points, so that the sum stays the same: forces, masses, heat. Each is the
//! other's transpose (de Boer et al., Comput. Methods Appl. Mech. Eng. 196, 2007).

mod cells;
mod kdtree;

pub use cells::Cells;
pub use kdtree::KdTree;

use ligament_catalogue::{fault, Fault};
use ligament_filters::sums;

/// A point. What has fewer coordinates has zeros behind them.
pub type Point = [f64; 3];

/// True if values or sums stay the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Constraint {
    Consistent,
    Conservative,
}

/// For each point of one mesh, those of the other that it goes together with, and how much.
#[derive(Debug)]
enum WeightRows {
    /// One, wholly.
    Whole(Vec<u32>),
    /// Up to four; those that are fewer have weights of zero behind them.
    Shares(Vec<([u32; 4], [f64; 4])>),
}

/// A mapping that only has to be applied.
#[derive(Debug)]
pub struct Weights {
    from: usize,
    to: usize,
    constraint: Constraint,
    /// For each target point if the mapping is consistent, else for each source point.
    rows: WeightRows,
}

impl Weights {
    /// Each point goes with the nearest one of the other mesh.
    ///
    /// # Errors
    /// A mesh has no points, or a point is at no place.
    pub fn nearest(from: &[Point], to: &[Point], constraint: Constraint) -> Result<Weights, Fault> {
        checked(from, "source")?;
        checked(to, "target")?;
        let (known, asked) = match constraint {
            Constraint::Consistent => (from, to),
            Constraint::Conservative => (to, from),
        };
        let rows = WeightRows::Whole(KdTree::new(known).nearest_of_all(asked));
        Ok(Weights { from: from.len(), to: to.len(), constraint, rows })
    }

    /// Each point goes with the corners of the cell of the other mesh that it lies in, by its barycentric
    /// coordinates; outside of all cells, with the corners of the one that is nearest, at the place there that
    /// is nearest. `cells` are those of the source if the mapping is consistent, else of the target: two, three
    /// or four corners each.
    ///
    /// # Errors
    /// As `nearest`; a cell has a corner that is not there, or no extent.
    pub fn linear(
        from: &[Point],
        to: &[Point],
        cells: &[Vec<u32>],
        constraint: Constraint,
    ) -> Result<Weights, Fault> {
        checked(from, "source")?;
        checked(to, "target")?;
        let (known, asked) = match constraint {
            Constraint::Consistent => (from, to),
            Constraint::Conservative => (to, from),
        };
        let rows = WeightRows::Shares(Cells::new(known, cells)?.closest_of_all(asked));
        Ok(Weights { from: from.len(), to: to.len(), constraint, rows })
    }

    /// The number of points that the source has.
    pub fn sources(&self) -> usize {
        self.from
    }

    /// The number of points that the target has.
    pub fn targets(&self) -> usize {
        self.to
    }

    /// The values of the target, for `components` numbers at each point, one after the other. `values` has
    /// those of the source, `components` times as many as it has points.
    pub fn apply(&self, values: &[f64], components: usize) -> Vec<f64> {
        self.applied(values, components, false)
    }

    /// The same of those values that are not NaN: others weigh more in place of a masked one, and of a
    /// conservative mapping the sum of the others stays the same. A target all of whose sources are masked is
    /// NaN.
    pub fn apply_without_masked(&self, values: &[f64], components: usize) -> Vec<f64> {
        self.applied(values, components, true)
    }

    fn applied(&self, values: &[f64], components: usize, skips: bool) -> Vec<f64> {
        if self.constraint == Constraint::Consistent {
            return self.gather(values, components, skips);
        }
        let mut made = self.scatter(values, components, skips);
        if !made.iter().all(|x| x.is_finite()) {
            // Sums that are too large on the way are made of numbers that are smaller.
            const SMALLER: f64 = 1.0 / 4_294_967_296.0;
            let smaller: Vec<f64> = values.iter().map(|x| x * SMALLER).collect();
            let again = self.scatter(&smaller, components, skips);
            let sums = made.iter_mut().zip(again).filter(|(sum, _)| !sum.is_finite());
            sums.for_each(|(sum, again)| *sum = again / SMALLER);
        }
        made
    }

    fn gather(&self, values: &[f64], components: usize, skips: bool) -> Vec<f64> {
        let at = |i: u32| &values[i as usize * components..][..components];
        let sum = |(corners, shares): &([u32; 4], [f64; 4]), c: usize| {
            let plain =
                corners.iter().zip(shares).map(|(&i, share)| values[i as usize * components + c] * share).sum();
            if f64::is_finite(plain) {
                plain
            } else {
                weighted(corners.iter().zip(shares).map(|(&i, &share)| (at(i)[c], share)), skips)
            }
        };
        match &self.rows {
            WeightRows::Whole(nearest) if components == 1 => {
                nearest.iter().map(|&i| values[i as usize]).collect()
            }
            WeightRows::Whole(nearest) => nearest.iter().flat_map(|&i| at(i)).copied().collect(),
            WeightRows::Shares(rows) if components == 1 => rows.iter().map(|row| sum(row, 0)).collect(),
            WeightRows::Shares(rows) => {
                let mut made = Vec::with_capacity(rows.len() * components);
                rows.iter().for_each(|row| made.extend((0..components).map(|c| sum(row, c))));
                made
            }
        }
    }

    fn scatter(&self, values: &[f64], components: usize, skips: bool) -> Vec<f64> {
        let mut made = vec![0.0; self.to * components];
        let mut add = |to: u32, share: f64, value: &[f64]| {
            // A corner without a share has nothing of NaN and infinity either.
            if share == 0.0 {
                return;
            }
            let place = &mut made[to as usize * components..][..components];
            for (sum, value) in place.iter_mut().zip(value).filter(|(_, value)| !(skips && value.is_nan())) {
                *sum += share * value;
            }
        };
        let each = values.chunks_exact(components.max(1));
        match &self.rows {
            WeightRows::Whole(nearest) => nearest.iter().zip(each).for_each(|(&to, value)| add(to, 1.0, value)),
            WeightRows::Shares(rows) => {
                for ((corners, shares), value) in rows.iter().zip(each) {
                    corners.iter().zip(shares).for_each(|(&to, &share)| add(to, share, value));
                }
            }
        }
        made
    }
}

/// The mean of values by their shares, where a plain sum of products is no number. A corner without a share has
/// nothing of NaN and infinity either.
fn weighted(terms: impl Iterator<Item = (f64, f64)> + Clone, skips: bool) -> f64 {
    let terms = terms.filter(|&(_, share)| share != 0.0);
    let all = sums::weighted(terms.clone());
    if !(skips && all.is_nan()) {
        return all;
    }
    let known = terms.filter(|(value, _)| !value.is_nan());
    let shares: f64 = known.clone().map(|(_, share)| share).sum();
    sums::weighted(known) / shares
}

fn checked(points: &[Point], which: &str) -> Result<(), Fault> {
    if points.is_empty() || points.len() >= u32::MAX as usize {
        let count = points.len();
        return Err(fault!(
            BAD_MESH,
            "the {which} has {count} points, and a mapping takes from 1 to 4 billion"
        ));
    }
    match points.iter().position(|point| !point.iter().all(|coordinate| coordinate.is_finite())) {
        None => Ok(()),
        Some(i) => Err(fault!(BAD_MESH, "point {i} of the {which} is at {:?}, which is no place", points[i])),
    }
}

/// The order in which points are asked about: those that lie together come together, so that what is looked at
/// stays in the cache (Morton, 1966: the bits of the coordinates take turns).
fn in_order(points: &[Point]) -> Vec<u32> {
    const BITS: u32 = 10;
    let (low, high) = bounds(points);
    let scale: [f64; 3] = std::array::from_fn(|axis| {
        let extent = high[axis] - low[axis];
        if extent > 0.0 {
            f64::from((1u32 << BITS) - 1) / extent
        } else {
            0.0
        }
    });
    let key = |point: &Point| {
        (0..3).fold(0u64, |key, axis| key | spread(((point[axis] - low[axis]) * scale[axis]) as u32) << axis)
    };
    let mut keys: Vec<u64> = points.iter().zip(0u64..).map(|(point, i)| key(point) << 32 | i).collect();
    keys.sort_unstable();
    keys.into_iter().map(|key| key as u32).collect()
}

/// Ten bits with two zeros between each.
fn spread(value: u32) -> u64 {
    let mut x = u64::from(value & 0x3ff);
    x = (x | x << 16) & 0x0300_00ff;
    x = (x | x << 8) & 0x0300_f00f;
    x = (x | x << 4) & 0x030c_30c3;
    (x | x << 2) & 0x0924_9249
}

/// The corners of the box around some points.
fn bounds<'a>(points: impl IntoIterator<Item = &'a Point>) -> (Point, Point) {
    let start = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    points.into_iter().fold(start, |(low, high), point| {
        (std::array::from_fn(|i| low[i].min(point[i])), std::array::from_fn(|i| high[i].max(point[i])))
    })
}

#[cfg(test)]
mod tests;
