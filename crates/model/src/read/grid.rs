//! Reading grids.

use super::fields::{FieldReader, TextOrList};
use crate::grid::{Blocks, Edges, Grid, AXES, MAX_GRID_BLOCKS, MAX_GRID_DIMENSIONS, MAX_GRID_POINTS};
use crate::yaml::{YamlKind, YamlNode};
use ligament_catalogue::Code;

impl FieldReader {
    /// Reads a grid.
    pub(super) fn grid(&mut self, node: &YamlNode) -> Option<Grid> {
        let map = self.mapping(node, "a grid", &["shape", "blocks", "periodic", "mirrored"]);
        let before = self.problems.len();
        let (Some(shape), Some(blocks)) = (map.get("shape"), map.get("blocks")) else {
            self.error(
                Code::BAD_GRID,
                &node.at,
                "a grid has a shape and a number of blocks",
                "write for example \"{shape: [256, 256], blocks: [2, 1]}\": the points and the blocks along \
                 each axis",
            );
            return None;
        };
        let shape = self.lengths(shape, "the number of points along an axis")?;
        let counts = self.lengths(blocks, "the number of blocks along an axis")?;
        if shape.is_empty() || shape.len() > MAX_GRID_DIMENSIONS || shape.len() != counts.len() {
            let message = format!(
                "a grid has 1 to {MAX_GRID_DIMENSIONS} axes, and this one has {} numbers of points and {} of \
                 blocks",
                shape.len(),
                counts.len()
            );
            let advice = "write both for each axis";
            self.error(Code::BAD_GRID, &node.at, message, advice);
            return None;
        }
        for (axis, (points, blocks)) in shape.iter().zip(&counts).enumerate() {
            if points < blocks || *points as u64 > MAX_GRID_POINTS {
                let message =
                    format!("along {}, {points} points cannot be divided into {blocks} blocks", AXES[axis]);
                let advice = "each block has a point at least, and a grid at most 2^40 points along an axis";
                self.error(Code::BAD_GRID, &node.at, message, advice);
            }
        }
        let number = counts.iter().try_fold(1usize, |all, count| all.checked_mul(*count));
        if number.is_none_or(|number| number > MAX_GRID_BLOCKS) {
            let message = format!("a grid has at most {MAX_GRID_BLOCKS} blocks");
            self.error(Code::BAD_GRID, &node.at, message, "divide it into fewer blocks");
        }
        let mut edges = vec![Edges::Open; shape.len()];
        for (key, kind) in Edges::KEYS {
            let names = match map.get(key).and_then(|node| self.texts(node, "the names of axes")) {
                None => Vec::new(),
                Some(TextOrList::Text(name, at)) => vec![(name, at)],
                Some(TextOrList::List(names)) => names,
            };
            for (name, at) in names {
                let known = &AXES[..shape.len()];
                let Some(axis) = known.iter().position(|axis| *axis == name) else {
                    let message = format!("\"{name}\" is no axis of this grid");
                    let advice = format!("its axes are {}, in the order of its shape", known.join(", "));
                    self.error(Code::BAD_GRID, &at, message, advice);
                    continue;
                };
                if edges[axis] != Edges::Open {
                    let message = format!("the edges along {name} are given twice");
                    self.error(Code::BAD_GRID, &at, message, "name each axis once");
                }
                edges[axis] = kind;
            }
        }
        let shape = shape.into_iter().map(|points| points as u64).collect();
        let grid = Grid { shape, blocks: Blocks { counts, edges }, at: node.at.clone() };
        (self.problems.len() == before).then_some(grid)
    }

    /// Reads whole numbers above zero, one for each axis.
    fn lengths(&mut self, node: &YamlNode, what: &str) -> Option<Vec<usize>> {
        let all = match &node.kind {
            YamlKind::Seq(all) => all.as_slice(),
            _ => std::slice::from_ref(node),
        };
        all.iter().map(|one| self.count(one, what, 1)).collect()
    }
}
