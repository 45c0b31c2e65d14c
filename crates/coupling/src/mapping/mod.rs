//! Mappings between the points of two meshes: each value of the target is a weighted sum of values of the
//! source. The weights are computed once, and applied to each message.
//!
//! A *consistent* mapping gives each target point the value that the source has at its position. A constant
//! function stays the same, and with linear interpolation a linear function stays the same. A *conservative*
//! mapping distributes each value of the source over target points, so that the sum stays the same, as for
//! forces, masses or heat. Each of the two is the transpose of the other (de Boer et al., Comput. Methods
//! Appl. Mech. Eng. 196, 2007).

mod cells;
mod kdtree;
mod radial;

pub use cells::Cells;
pub use kdtree::KdTree;
pub use radial::{Polynomial, RadialBasis, RadialFunction};

use ligament_catalogue::{fault, Fault};
use ligament_filters::sums;
use radial::RadialSystem;

/// A point. Missing coordinates, as in two dimensions, are 0.
pub type Point = [f64; 3];

/// The property that a mapping preserves: the values at each position (consistent), or the sum of all values
/// (conservative).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Constraint {
    Consistent,
    Conservative,
}

/// For each point of one mesh: points of the other mesh, and their weights.
#[derive(Debug)]
enum WeightRows {
    /// One point, with weight 1.
    Whole(Vec<u32>),
    /// Four points. If there are fewer, the others have weight 0.
    Shares(Vec<([u32; 4], [f64; 4])>),
    /// All points of the other mesh.
    Radial(Box<RadialSystem>),
}

/// A mapping whose weights are computed.
#[derive(Debug)]
pub struct Weights {
    from: usize,
    to: usize,
    constraint: Constraint,
    /// The rows of weights: one for each target point if the mapping is consistent, else one for each source
    /// point.
    rows: WeightRows,
}

impl Weights {
    /// Maps each point to the nearest point of the other mesh.
    ///
    /// # Errors
    /// A mesh has no points, or a coordinate is not finite.
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

    /// Maps each point to the corners of a cell of the other mesh, by barycentric coordinates. The cell is
    /// the one that contains the point. If there is none, it is the nearest cell, and the coordinates are
    /// those of its position that is nearest to the point. `cells` are cells of the source if the mapping is
    /// consistent, else of the target. Each has two, three or four corners.
    ///
    /// # Errors
    /// As for `nearest`; or a cell has a corner that does not exist, or no extent.
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

    /// Interpolates by radial basis functions around the points of the source if the mapping is consistent,
    /// else around those of the target. If there is a polynomial, a constant and a linear function stay the
    /// same, and a sum stays the same.
    ///
    /// # Errors
    /// As for `nearest`; or two of the points with functions are at one place, there are too many of them,
    /// their system is singular, or none of them reaches the points of the other mesh.
    pub fn radial(
        from: &[Point],
        to: &[Point],
        basis: RadialBasis,
        constraint: Constraint,
    ) -> Result<Weights, Fault> {
        checked(from, "source")?;
        checked(to, "target")?;
        let (known, asked) = match constraint {
            Constraint::Consistent => (from, to),
            Constraint::Conservative => (to, from),
        };
        let rows = match RadialSystem::new(known, asked, basis)? {
            Some(system) => WeightRows::Radial(Box::new(system)),
            None => WeightRows::Whole(vec![0; asked.len()]),
        };
        Ok(Weights { from: from.len(), to: to.len(), constraint, rows })
    }

    /// Returns the number of points of the source.
    pub fn sources(&self) -> usize {
        self.from
    }

    /// Returns the number of points of the target.
    pub fn targets(&self) -> usize {
        self.to
    }

    /// Returns the values of the target. Each point has `components` numbers, one after the other. `values`
    /// has those of all points of the source.
    pub fn apply(&self, values: &[f64], components: usize) -> Vec<f64> {
        self.applied(values, components, false)
    }

    /// Like `apply`, but leaves out values that are NaN (masked). A consistent mapping then gives more weight
    /// to the other values. A conservative mapping preserves the sum of the other values. A target point is
    /// NaN if all its source values are masked. Radial basis functions join all values, so none can be left
    /// out.
    pub fn apply_without_masked(&self, values: &[f64], components: usize) -> Vec<f64> {
        self.applied(values, components, true)
    }

    fn applied(&self, values: &[f64], components: usize, skips: bool) -> Vec<f64> {
        if self.constraint == Constraint::Consistent {
            return self.gather(values, components, skips);
        }
        let mut made = self.scatter(values, components, skips);
        if !made.iter().all(|x| x.is_finite()) {
            // A sum whose intermediate values overflow is computed again with scaled numbers.
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
            WeightRows::Radial(system) => by_component(values, components, |column| system.interpolate(column)),
        }
    }

    fn scatter(&self, values: &[f64], components: usize, skips: bool) -> Vec<f64> {
        let mut made = vec![0.0; self.to * components];
        let mut add = |to: u32, share: f64, value: &[f64]| {
            // A corner with weight 0 must not contribute, even if its value is NaN or infinite.
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
            WeightRows::Radial(system) => {
                made = by_component(values, components, |column| system.distribute(column));
            }
        }
        made
    }
}

/// Maps each component of the values by itself.
fn by_component(values: &[f64], components: usize, map: impl Fn(&[f64]) -> Vec<f64>) -> Vec<f64> {
    if components == 1 {
        return map(values);
    }
    let column = |c: usize| -> Vec<f64> { values.iter().skip(c).step_by(components).copied().collect() };
    let columns: Vec<Vec<f64>> = (0..components).map(|c| map(&column(c))).collect();
    let points = columns.first().map_or(0, Vec::len);
    (0..points).flat_map(|i| columns.iter().map(move |column| column[i])).collect()
}

/// Returns the weighted mean of values, where the plain sum of products is not finite. A corner with weight 0
/// does not contribute, even if its value is NaN or infinite.
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

/// Returns the order in which points are searched. Points that lie close together follow each other, so that
/// the searched part of the tree stays in the cache (Morton, 1966: the bits of the coordinates are
/// interleaved).
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

/// Returns the ten low bits of a number, with two zeros between each two of them.
fn spread(value: u32) -> u64 {
    let mut x = u64::from(value & 0x3ff);
    x = (x | x << 16) & 0x0300_00ff;
    x = (x | x << 8) & 0x0300_f00f;
    x = (x | x << 4) & 0x030c_30c3;
    (x | x << 2) & 0x0924_9249
}

/// Returns the lowest and the highest corner of the box around some points.
fn bounds<'a>(points: impl IntoIterator<Item = &'a Point>) -> (Point, Point) {
    let start = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    points.into_iter().fold(start, |(low, high), point| {
        (std::array::from_fn(|i| low[i].min(point[i])), std::array::from_fn(|i| high[i].max(point[i])))
    })
}

#[cfg(test)]
mod radial_tests;
#[cfg(test)]
mod tests;
