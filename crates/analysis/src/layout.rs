//! The positions of a topology's boxes. Boxes are in columns: a component is left of the components that it
//! starts. The order within each column makes arrows cross rarely.
//!
//! The method is layered drawing (Sugiyama, Tagawa, Toda, "Methods for Visual Understanding of Hierarchical
//! System Structures", 1981). Arrows that would close a cycle are reversed (Eades, Lin, Smyth, 1993). Columns
//! follow from the longest path. The order within a column follows from barycentres. Heights are fitted by
//! least squares under that order (pool adjacent violators; Ayer et al., 1955).

use crate::topology::{Topology, TopologyLink};
use ligament_model::Operator;

/// Number of passes that order the columns by their neighbours, in alternating directions.
const SWEEPS: usize = 12;
/// Number of passes that align heights with the heights of neighbours.
const ALIGNMENTS: usize = 16;
/// Weight of a soft arrow, which does not force its ends into different columns.
const SOFT: f64 = 1.0;
/// Distance between boxes of a column, in the picture's units.
const GAP: f64 = 34.0;
/// Distance between a box and an arrow that passes it through the same column, in the picture's units.
const PASSING: f64 = 14.0;

/// The positions of all boxes and arrows.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// Column of each box, and its vertical middle measured from the top.
    pub nodes: Vec<BoxPosition>,
    /// For each arrow, its heights in the columns between its two ends, from left to right.
    pub passes: Vec<Vec<f64>>,
    /// Number of columns.
    pub columns: usize,
}

/// The position of a box.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BoxPosition {
    /// Index of the box's column.
    pub column: usize,
    /// Vertical middle of the box.
    pub y: f64,
}

/// Returns the left end and the right end of an arrow, and the weight of this order. A macro model is left of
/// the micro model that it starts, and the micro model's answer does not change this. A component that runs
/// first is left of the component that runs next. A component that only receives is right of all its senders.
fn direction(topology: &Topology, speaks: &[bool], link: &TopologyLink) -> (usize, usize, f64) {
    let operator = |end: crate::topology::LinkEnd| topology.nodes[end.node].ports[end.port].operator;
    let (from, to) = (link.from.node, link.to.node);
    match (operator(link.from), operator(link.to)) {
        (Operator::OI, Operator::FInit) => (from, to, 4.0),
        (Operator::OF, Operator::S) if speaks[to] => (to, from, 4.0),
        (Operator::OF, Operator::FInit) => (from, to, 2.0),
        _ => (from, to, SOFT),
    }
}

/// Computes the positions of a topology's boxes, which have the heights `heights`.
pub fn lay_out(topology: &Topology, heights: &[f64]) -> Layout {
    let count = topology.nodes.len();
    let mut speaks = vec![false; count];
    for link in &topology.links {
        speaks[link.from.node] = true;
    }
    let directed: Vec<(usize, usize, f64)> =
        topology.links.iter().map(|link| direction(topology, &speaks, link)).collect();
    let order = sequence(count, &directed);
    let mut position = vec![0; count];
    for (at, &node) in order.iter().enumerate() {
        position[node] = at;
    }
    let ahead = |a: usize, b: usize| if position[a] <= position[b] { (a, b) } else { (b, a) };
    let of_weight = |is_hard: bool| {
        let wanted = directed.iter().filter(move |(a, b, weight)| a != b && (*weight > SOFT) == is_hard);
        wanted.map(|&(a, b, _)| ahead(a, b)).collect::<Vec<_>>()
    };
    let column = columns(count, &order, &of_weight(true), &of_weight(false));
    let arrows: Vec<(usize, usize)> =
        directed.iter().map(|&(a, b, _)| if column[a] <= column[b] { (a, b) } else { (b, a) }).collect();
    Grid::new(&column, &arrows, heights).arranged(&column)
}

/// Returns an order of the boxes in which the arrows that point backwards have a low total weight.
fn sequence(count: usize, arrows: &[(usize, usize, f64)]) -> Vec<usize> {
    let mut out = vec![Vec::new(); count];
    let mut inn = vec![Vec::new(); count];
    for &(a, b, weight) in arrows.iter().filter(|(a, b, _)| a != b) {
        out[a].push((b, weight));
        inn[b].push((a, weight));
    }
    let sum = |list: &[(usize, f64)]| list.iter().map(|(_, weight)| weight).sum::<f64>();
    let mut leaving: Vec<f64> = out.iter().map(|list| sum(list)).collect();
    let mut entering: Vec<f64> = inn.iter().map(|list| sum(list)).collect();
    let mut left: Vec<usize> = (0..count).collect();
    let (mut first, mut last) = (Vec::new(), Vec::new());
    while !left.is_empty() {
        let source = left.iter().position(|&node| entering[node] < 0.5);
        let sink = left.iter().position(|&node| leaving[node] < 0.5);
        let best = || {
            let gain = |at: &usize| leaving[left[*at]] - entering[left[*at]];
            (0..left.len()).max_by(|a, b| gain(a).total_cmp(&gain(b)).then(b.cmp(a)))
        };
        let Some(at) = source.or(sink).or_else(best) else { break };
        let node = left.remove(at);
        if source.is_none() && sink.is_some() {
            last.push(node)
        } else {
            first.push(node)
        }
        for &(other, weight) in &out[node] {
            entering[other] -= weight;
        }
        for &(other, weight) in &inn[node] {
            leaving[other] -= weight;
        }
    }
    first.extend(last.into_iter().rev());
    first
}

/// Returns the column of each box. A box is right of all boxes from which a hard arrow leads to it, in the
/// leftmost such column. Soft arrows only place boxes without hard arrows, so that components that interact are
/// in the same column.
fn columns(count: usize, order: &[usize], hard: &[(usize, usize)], soft: &[(usize, usize)]) -> Vec<usize> {
    let joined = |arrows: &[(usize, usize)]| {
        let (mut before, mut after) = (vec![Vec::new(); count], vec![Vec::new(); count]);
        for &(a, b) in arrows {
            before[b].push(a);
            after[a].push(b);
        }
        (before, after)
    };
    let mut column = vec![0i64; count];
    let (before, after) = joined(hard);
    let mut placed: Vec<bool> =
        (0..count).map(|node| !before[node].is_empty() || !after[node].is_empty()).collect();
    for &node in order {
        column[node] = before[node].iter().map(|&other| column[other] + 1).max().unwrap_or(0);
    }
    for &node in order.iter().filter(|&&node| before[node].is_empty()) {
        column[node] = after[node].iter().map(|&other| column[other] - 1).min().unwrap_or(0);
    }
    let (before, after) = joined(soft);
    for &node in order {
        if !placed[node] {
            let near = |list: &[usize]| -> Vec<i64> {
                list.iter().filter(|&&other| placed[other]).map(|&other| column[other]).collect()
            };
            let left = near(&after[node]).into_iter().min().map_or(0, |least| least - 1);
            column[node] = near(&before[node]).into_iter().max().map_or(left, |most| most + 1);
            placed[node] = true;
        }
    }
    let first = column.iter().min().copied().unwrap_or(0);
    column.into_iter().map(|column| (column - first) as usize).collect()
}

/// An item of a column: a box, or an arrow that passes through the column.
struct Item {
    height: f64,
    gap: f64,
    y: f64,
    /// Neighbouring items in the column before (`before`) and in the next column (`after`).
    before: Vec<usize>,
    after: Vec<usize>,
}

struct Grid {
    items: Vec<Item>,
    columns: Vec<Vec<usize>>,
    /// For each arrow, the items through which it passes.
    passing: Vec<Vec<usize>>,
}

impl Grid {
    fn new(column: &[usize], arrows: &[(usize, usize)], heights: &[f64]) -> Grid {
        let item = |height, gap| Item { height, gap, y: 0.0, before: Vec::new(), after: Vec::new() };
        let many = column.iter().max().map_or(0, |most| most + 1);
        let mut grid = Grid { items: Vec::new(), columns: vec![Vec::new(); many], passing: Vec::new() };
        for (node, &height) in heights.iter().enumerate() {
            grid.items.push(item(height, GAP));
            grid.columns[column[node]].push(node);
        }
        for &(a, b) in arrows {
            let mut last = a;
            let mut through = Vec::new();
            for between in column[a] + 1..column[b] {
                grid.items.push(item(0.0, PASSING));
                let new = grid.items.len() - 1;
                grid.columns[between].push(new);
                grid.join(last, new);
                through.push(new);
                last = new;
            }
            if column[a] != column[b] {
                grid.join(last, b);
            }
            grid.passing.push(through);
        }
        grid
    }

    fn join(&mut self, a: usize, b: usize) {
        self.items[a].after.push(b);
        self.items[b].before.push(a);
    }

    fn arranged(mut self, column: &[usize]) -> Layout {
        for sweep in 0..SWEEPS {
            self.order(sweep % 2 == 0);
        }
        self.stack();
        for round in 0..ALIGNMENTS {
            self.align(round % 2 == 0);
        }
        let items = &self.items;
        let top = items.iter().map(|item| item.y - item.height / 2.0).fold(f64::INFINITY, f64::min);
        let y = |at: usize| items[at].y - top;
        let nodes =
            column.iter().enumerate().map(|(node, &column)| BoxPosition { column, y: y(node) }).collect();
        let passes = self.passing.iter().map(|through| through.iter().map(|&at| y(at)).collect());
        Layout { nodes, passes: passes.collect(), columns: self.columns.len() }
    }

    /// Orders each column by the mean position of the items' neighbours in the column before, or in the
    /// column after.
    fn order(&mut self, forward: bool) {
        let mut rank = vec![0.0; self.items.len()];
        let many = self.columns.len();
        for step in 0..many {
            let at = if forward { step } else { many - 1 - step };
            let mut column = std::mem::take(&mut self.columns[at]);
            let wanted = |&item: &usize, now: usize| {
                let Item { before, after, .. } = &self.items[item];
                let near = if forward { before } else { after };
                match near.len() {
                    0 => now as f64,
                    n => near.iter().map(|&other| rank[other]).sum::<f64>() / n as f64,
                }
            };
            let mut keyed: Vec<(f64, usize)> =
                column.iter().enumerate().map(|(now, item)| (wanted(item, now), *item)).collect();
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
            column.clear();
            column.extend(keyed.into_iter().map(|(_, item)| item));
            for (place, &item) in column.iter().enumerate() {
                rank[item] = place as f64;
            }
            self.columns[at] = column;
        }
    }

    /// Returns the minimum distance between the middles of two neighbouring items of a column.
    fn apart(&self, above: usize, below: usize) -> f64 {
        let (above, below) = (&self.items[above], &self.items[below]);
        (above.height + below.height) / 2.0 + above.gap.min(below.gap)
    }

    /// Places the items of each column below each other. The middle of the column is at height 0.
    fn stack(&mut self) {
        for at in 0..self.columns.len() {
            let column = self.columns[at].clone();
            let mut y = 0.0;
            for pair in column.windows(2) {
                y += self.apart(pair[0], pair[1]);
                self.items[pair[1]].y = y;
            }
            for &item in &column {
                self.items[item].y -= y / 2.0;
            }
        }
    }

    /// Moves the items of each column as near to the heights of their neighbours as their order and sizes
    /// allow.
    fn align(&mut self, forward: bool) {
        let many = self.columns.len();
        for step in 0..many {
            let at = if forward { step } else { many - 1 - step };
            let column = self.columns[at].clone();
            let mut offset = 0.0;
            let mut wanted = Vec::with_capacity(column.len());
            let mut offsets = Vec::with_capacity(column.len());
            for (place, &item) in column.iter().enumerate() {
                if place > 0 {
                    offset += self.apart(column[place - 1], item);
                }
                let Item { before, after, y, .. } = &self.items[item];
                let near = before.iter().chain(after);
                let (sum, n) = near.fold((0.0, 0.0), |(sum, n), &other| (sum + self.items[other].y, n + 1.0));
                wanted.push(if n > 0.0 { sum / n } else { *y } - offset);
                offsets.push(offset);
            }
            for ((&item, y), offset) in column.iter().zip(rising(&wanted)).zip(offsets) {
                self.items[item].y = y + offset;
            }
        }
    }
}

/// Returns the rising sequence that is nearest to `wanted` by least squares.
fn rising(wanted: &[f64]) -> Vec<f64> {
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for &value in wanted {
        pools.push((value, 1));
        while let [.., (a, n), (b, m)] = pools[..] {
            if a <= b {
                break;
            }
            pools.truncate(pools.len() - 2);
            pools.push(((a * n as f64 + b * m as f64) / (n + m) as f64, n + m));
        }
    }
    pools.into_iter().flat_map(|(value, n)| std::iter::repeat_n(value, n)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_rising_sequence_pools_what_falls() {
        assert_eq!(rising(&[1.0, 2.0, 5.0]), [1.0, 2.0, 5.0]);
        assert_eq!(rising(&[1.0, 4.0, 2.0, 9.0]), [1.0, 3.0, 3.0, 9.0]);
        assert_eq!(rising(&[3.0, 2.0, 1.0]), [2.0, 2.0, 2.0]);
    }

    #[test]
    fn a_light_arrow_goes_back_rather_than_a_heavy_one() {
        assert_eq!(sequence(3, &[(0, 1, 4.0), (1, 2, 4.0), (2, 0, 1.0)]), [0, 1, 2]);
        assert_eq!(sequence(2, &[(1, 0, 4.0), (0, 1, 1.0)]), [1, 0]);
    }

    #[test]
    fn those_who_interact_stand_below_each_other_and_who_only_speaks_or_listens_beside() {
        // Components 0 and 2 start 1 and 3. Components 0 and 2 exchange messages. Component 4 sends to 0, and 5
        // receives from 3.
        let places = columns(6, &[4, 0, 2, 1, 3, 5], &[(0, 1), (2, 3)], &[(0, 2), (4, 0), (3, 5)]);
        assert_eq!(places, [1, 2, 1, 2, 0, 3]);
    }

    #[test]
    fn who_has_nothing_before_it_stands_beside_its_first_neighbour() {
        // Arrows: 0 → 1 → 2, and 3 → 2.
        assert_eq!(columns(4, &[0, 3, 1, 2], &[(0, 1), (1, 2), (3, 2)], &[]), [0, 1, 2, 1]);
    }
}
