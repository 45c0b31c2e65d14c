//! Grids: a component whose instances, or whose ranks, are the blocks of one structured grid. The section
//! `grids` under `ligament:` names them. Neighbouring blocks are joined by channels, and so is each block with
//! block 0.

use crate::problem::At;

/// The number of dimensions that a grid may have.
pub const MAX_GRID_DIMENSIONS: usize = 3;
/// Maximum number of blocks of a grid.
pub const MAX_GRID_BLOCKS: usize = 1 << 16;
/// Maximum number of points of a grid along an axis.
pub const MAX_GRID_POINTS: u64 = 1 << 40;
/// The port on which a block sends what its neighbours need. It has a slot for each direction, and one for each
/// block (`Blocks::slot_to`).
pub const GHOSTS_OUT: &str = "ghosts_out";
/// The port on which a block receives its neighbours' points, with the same slots.
pub const GHOSTS_IN: &str = "ghosts_in";
/// The names under which records and costs have the channels of sums and other reductions. They are channels
/// of the two ports above.
pub const SUMS_OUT: &str = "sums_out";
pub const SUMS_IN: &str = "sums_in";
/// The names of the axes, in the order of the dimensions.
pub const AXES: [&str; MAX_GRID_DIMENSIONS] = ["x", "y", "z"];

/// The two edges of a grid along an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Edges {
    /// The code fills the ghosts beyond the edges.
    #[default]
    Open,
    /// Beyond an edge, the grid goes on at the opposite edge.
    Periodic,
    /// Beyond an edge lies the mirror image of the grid.
    Mirrored,
}

impl Edges {
    /// All keys that give axes other edges than open ones.
    pub const KEYS: [(&'static str, Edges); 2] = [("periodic", Edges::Periodic), ("mirrored", Edges::Mirrored)];
}

/// A grid: its points, and the blocks into which they are divided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grid {
    /// Number of points along each axis.
    pub shape: Vec<u64>,
    pub blocks: Blocks,
    /// The place in the file.
    pub at: At,
}

/// The blocks of a grid. The number of a block is its place if the last axis runs fastest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    /// Number of blocks along each axis.
    pub counts: Vec<usize>,
    /// The edges of the grid along each axis.
    pub edges: Vec<Edges>,
}

impl Blocks {
    /// Returns the number of blocks.
    pub fn number(&self) -> usize {
        self.counts.iter().product()
    }

    /// Returns the place of a block along each axis.
    pub fn place(&self, block: usize) -> Vec<usize> {
        let mut rest = block;
        let mut place = vec![0; self.counts.len()];
        for (axis, count) in self.counts.iter().enumerate().rev() {
            place[axis] = rest % count;
            rest /= count;
        }
        place
    }

    /// Returns all directions in which a block may have a neighbour: -1, 0 or 1 along each axis, but not 0
    /// along all. The last axis runs fastest.
    pub fn directions(&self) -> Vec<Vec<i8>> {
        let axes = self.counts.len() as u32;
        let all = 3usize.pow(axes);
        let direction = |number: usize| -> Vec<i8> {
            (0..axes).rev().map(|axis| (number / 3usize.pow(axis) % 3) as i8 - 1).collect()
        };
        (0..all).filter(|number| *number != all / 2).map(direction).collect()
    }

    /// Returns the block that lies next to a block in a direction. It is the block itself if the grid is
    /// periodic and one block wide there. Returns `None` beyond an edge.
    pub fn neighbour(&self, block: usize, direction: &[i8]) -> Option<usize> {
        let mut next = 0;
        for (axis, place) in self.place(block).into_iter().enumerate() {
            let count = self.counts[axis] as i64;
            let beside = place as i64 + i64::from(direction[axis]);
            let periodic = self.edges[axis] == Edges::Periodic;
            if !periodic && !(0..count).contains(&beside) {
                return None;
            }
            next = next * self.counts[axis] + beside.rem_euclid(count) as usize;
        }
        Some(next)
    }

    /// Returns the other blocks next to a block, each once, with the first direction that leads there.
    pub fn neighbours(&self, block: usize) -> Vec<(usize, usize)> {
        let mut found: Vec<(usize, usize)> = Vec::new();
        for (number, direction) in self.directions().iter().enumerate() {
            if let Some(next) = self.neighbour(block, direction).filter(|next| *next != block) {
                if !found.iter().any(|(known, _)| *known == next) {
                    found.push((next, number));
                }
            }
        }
        found
    }

    /// Returns the slot of both ports at `block` for the messages to and from block 0, or, at block 0, for
    /// those to and from another block.
    pub fn slot_to(&self, block: usize, other: usize) -> usize {
        let directions = 3usize.pow(self.counts.len() as u32) - 1;
        if block == 0 {
            directions + other
        } else {
            directions
        }
    }

    /// Returns true if a slot is one for messages to or from block 0, which no neighbour uses.
    pub fn is_for_reductions(&self, slot: usize) -> bool {
        slot >= self.slot_to(0, 0)
    }

    /// Returns the number of slots of each of the two ports.
    pub fn slots(&self) -> usize {
        self.slot_to(0, self.number())
    }

    /// Returns the upper limit of the number of channels for each block of a grid.
    pub fn channels_of_block(&self) -> usize {
        3usize.pow(self.counts.len() as u32) + 1
    }

    /// Returns all channels of the grid, each with the number of the block and the slot at both ends: first
    /// those to neighbours, then those to and from block 0.
    pub fn channels(&self) -> Vec<[(usize, usize); 2]> {
        let neighbours: Vec<_> = (0..self.number()).map(|block| self.neighbours(block)).collect();
        let mut channels = Vec::new();
        for (block, around) in neighbours.iter().enumerate() {
            for (other, slot) in around {
                let back = neighbours[*other].iter().find(|(one, _)| *one == block);
                channels.extend(back.map(|(_, there)| [(block, *slot), (*other, *there)]));
            }
        }
        for block in 1..self.number() {
            let ends = [(block, self.slot_to(block, 0)), (0, self.slot_to(0, block))];
            channels.extend([ends, [ends[1], ends[0]]]);
        }
        channels
    }
}

/// Returns the first of a block's points along an axis, and the point after its last. The sizes of blocks
/// differ by one point at most.
pub fn block_range(points: u64, blocks: usize, place: usize) -> (u64, u64) {
    let at = |place: usize| (u128::from(points) * place as u128 / blocks.max(1) as u128) as u64;
    (at(place), at(place + 1))
}

impl Grid {
    /// Returns the keys and values under which a file has the grid.
    pub fn written(&self) -> Vec<(&'static str, String)> {
        let edges = Edges::KEYS.into_iter().filter_map(|(key, kind)| {
            let axes = AXES.iter().zip(&self.blocks.edges).filter(|(_, edges)| **edges == kind);
            let axes: Vec<&str> = axes.map(|(axis, _)| *axis).collect();
            (!axes.is_empty()).then(|| (key, format!("[{}]", axes.join(", "))))
        });
        let own = [("shape", format!("{:?}", self.shape)), ("blocks", format!("{:?}", self.blocks.counts))];
        own.into_iter().chain(edges).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(counts: &[usize], edges: &[Edges]) -> Blocks {
        Blocks { counts: counts.to_vec(), edges: edges.to_vec() }
    }

    #[test]
    fn each_channel_to_a_neighbour_has_one_back() {
        use Edges::{Mirrored, Open, Periodic};
        for (counts, edges, number) in [
            (&[2, 2][..], &[Open, Open][..], 12 + 6),
            (&[3], &[Periodic], 6 + 4),
            (&[2], &[Periodic], 2 + 2),
            (&[1, 1, 1], &[Periodic, Mirrored, Open], 0),
            (&[2, 2, 2], &[Periodic, Periodic, Periodic], 56 + 14),
        ] {
            let grid = blocks(counts, edges);
            let channels = grid.channels();
            assert_eq!(channels.len(), number, "{counts:?}");
            for [from, to] in &channels {
                assert!(channels.contains(&[*to, *from]));
                assert!(from.1 < grid.slots() && to.1 < grid.slots());
            }
            let mut ends: Vec<_> = channels.iter().map(|[from, _]| from).collect();
            ends.sort();
            ends.dedup();
            assert_eq!(ends.len(), number, "a slot has one channel");
        }
    }

    #[test]
    fn a_direction_leads_over_a_periodic_edge_only() {
        let grid = blocks(&[3, 2], &[Edges::Periodic, Edges::Open]);
        assert_eq!(grid.neighbour(0, &[-1, 0]), Some(4));
        assert_eq!(grid.neighbour(0, &[-1, 1]), Some(5));
        assert_eq!(grid.neighbour(0, &[0, -1]), None);
        assert_eq!(grid.directions().len(), 8);
        assert_eq!(grid.place(5), [2, 1]);
    }

    #[test]
    fn blocks_tile_the_points() {
        assert_eq!(
            (0..3).map(|place| block_range(10, 3, place)).collect::<Vec<_>>(),
            [(0, 3), (3, 6), (6, 10)]
        );
    }
}
