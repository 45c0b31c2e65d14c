//! A search for the nearest of many points: a k-d tree (Bentley, Commun. ACM 18, 1975), split at the median
//! of the longest side. Distances to the boxes of nodes are updated axis by axis on the way down (Arya and
//! Mount, 1993).
//!
//! The tree is balanced: each node gives half of its points to each child. Its shape follows from the number
//! of points, so a node stores only its split.

use super::{bounds, in_order, Point};

/// Maximum number of points of a node without children.
const LEAF: usize = 12;

#[derive(Clone, Copy, Default)]
struct Split {
    at: f64,
    axis: u32,
}

#[derive(Clone, Copy)]
struct IndexedPoint {
    at: Point,
    index: u32,
}

/// A set of points that can be searched for the nearest one.
pub struct KdTree {
    points: Vec<IndexedPoint>,
    /// The children of node i are 2 i + 1 and 2 i + 2.
    splits: Vec<Split>,
    low: Point,
    high: Point,
}

/// A node that the search has not entered yet.
#[derive(Clone, Copy)]
struct PendingNode {
    node: usize,
    from: usize,
    to: usize,
    /// A lower limit of the squared distance from the point to the node's box.
    away: f64,
    /// The distance from the point to the node's box along each axis.
    off: Point,
}

fn squared(a: &Point, b: &Point) -> f64 {
    let [x, y, z] = [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
    x * x + y * y + z * z
}

impl KdTree {
    /// Makes the tree of these points. There must be at least one, and all coordinates must be finite.
    pub fn new(points: &[Point]) -> KdTree {
        let mut placed: Vec<IndexedPoint> =
            points.iter().zip(0..).map(|(&at, index)| IndexedPoint { at, index }).collect();
        let (low, high) = bounds(points);
        let mut nodes = 1;
        let mut largest = points.len();
        while largest > LEAF {
            largest -= largest / 2;
            nodes = 2 * nodes + 1;
        }
        let mut splits = vec![Split::default(); nodes];
        // Nodes to be split, each with a box that contains its points. The box may be larger than needed.
        let mut open = vec![(0, 0, placed.len(), low, high)];
        while let Some((node, from, to, low, high)) = open.pop() {
            if to - from <= LEAF {
                continue;
            }
            let extent = |axis: &usize| high[*axis] - low[*axis];
            let axis = (0..3).reduce(|a, b| if extent(&b) > extent(&a) { b } else { a }).unwrap_or(0);
            let middle = (to - from) / 2;
            let part = &mut placed[from..to];
            let (_, median, _) = part.select_nth_unstable_by(middle, |a, b| a.at[axis].total_cmp(&b.at[axis]));
            let at = median.at[axis];
            splits[node] = Split { at, axis: axis as u32 };
            let (mut below, mut above) = (high, low);
            below[axis] = at;
            above[axis] = at;
            open.push((2 * node + 1, from, from + middle, low, below));
            open.push((2 * node + 2, from + middle, to, above, high));
        }
        KdTree { points: placed, splits, low, high }
    }

    /// Returns the index of the nearest point, and the square of its distance. If several points have the
    /// same distance, the first is returned.
    pub fn nearest(&self, point: &Point) -> (u32, f64) {
        let place = self.nearest_from(point, 0);
        (self.points[place].index, squared(&self.points[place].at, point))
    }

    /// Returns the position of the nearest point. The search begins with the distance of the point at
    /// position `known`.
    fn nearest_from(&self, point: &Point, known: usize) -> usize {
        let mut found = known;
        let mut best = squared(&self.points[known].at, point);
        let off: Point =
            std::array::from_fn(|i| (self.low[i] - point[i]).max(point[i] - self.high[i]).max(0.0));
        let away = off.iter().map(|off| off * off).sum();
        let first = PendingNode { node: 0, from: 0, to: self.points.len(), away, off };
        let mut stack = [first; 64];
        let mut depth = 1;
        while depth > 0 {
            depth -= 1;
            let PendingNode { mut node, mut from, mut to, away, off } = stack[depth];
            if away > best {
                continue;
            }
            while to - from > LEAF {
                let Split { at, axis } = self.splits[node];
                let axis = axis as usize;
                let middle = from + (to - from) / 2;
                let beyond = point[axis] - at;
                let far_off = beyond.abs();
                let mut aside = off;
                aside[axis] = far_off;
                let far_away = away - off[axis] * off[axis] + far_off * far_off;
                let (low, high) = ((2 * node + 1, from, middle), (2 * node + 2, middle, to));
                let (near, far) = if beyond < 0.0 { (low, high) } else { (high, low) };
                // The factor leaves room for rounding errors, so that no node with a nearer point is skipped.
                if far_away * (1.0 - 1e-12) <= best {
                    stack[depth] = PendingNode {
                        node: far.0,
                        from: far.1,
                        to: far.2,
                        away: far_away * (1.0 - 1e-12),
                        off: aside,
                    };
                    depth += 1;
                }
                (node, from, to) = near;
            }
            for (place, placed) in (from..to).zip(&self.points[from..to]) {
                let distance = squared(&placed.at, point);
                if distance < best || distance == best && placed.index < self.points[found].index {
                    (found, best) = (place, distance);
                }
            }
        }
        found
    }

    /// Returns the index of the nearest point for each of these points.
    pub fn nearest_of_all(&self, points: &[Point]) -> Vec<u32> {
        let mut found = vec![0; points.len()];
        let mut last = 0;
        for i in in_order(points) {
            // The nearest point of a neighbour is close to this point too, so the search skips most nodes.
            last = self.nearest_from(&points[i as usize], last);
            found[i as usize] = self.points[last].index;
        }
        found
    }
}
