//! A search for the position in a mesh that is closest to a point: a tree of boxes around the cells. A cell
//! has two to four corners (a segment, a triangle, a tetrahedron). A position in a cell is given by
//! barycentric coordinates, which are the shares of the corners (Ericson, Real-Time Collision Detection,
//! 2005, section 5.1).

use super::{bounds, in_order, Point};
use ligament_catalogue::{fault, Fault};

/// Maximum number of cells of a node without children.
const LEAF: usize = 4;

struct Cell {
    corners: [u32; 4],
    count: usize,
}

struct TreeNode {
    low: Point,
    high: Point,
    from: u32,
    to: u32,
    /// Index of the first of the two children, which follow each other. 0 if the node has no children.
    child: u32,
}

/// The cells of a mesh.
pub struct Cells<'a> {
    points: &'a [Point],
    cells: Vec<Cell>,
    nodes: Vec<TreeNode>,
    /// The square of a distance that counts as 0, relative to the extent of the mesh. The search stops at it.
    none: f64,
}

/// A position in a cell: the shares of its corners, and the square of the distance to the point.
#[derive(Clone, Copy)]
struct CellPosition {
    shares: [f64; 4],
    distance: f64,
}

fn minus(a: &Point, b: &Point) -> Point {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn dot(a: &Point, b: &Point) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: &Point, b: &Point) -> Point {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

impl<'a> Cells<'a> {
    /// Makes the cells between these points. Each cell is a list of indices of points.
    ///
    /// # Errors
    /// There are no cells; or a cell has a corner that does not exist, fewer than two or more than four
    /// corners, or no extent.
    pub fn new(points: &'a [Point], cells: &[Vec<u32>]) -> Result<Cells<'a>, Fault> {
        if cells.is_empty() || cells.len() >= u32::MAX as usize {
            return Err(fault!(
                BAD_MESH,
                "there are {} cells, and linear interpolation needs from 1 to 4 billion",
                cells.len()
            ));
        }
        let mut known = Vec::with_capacity(cells.len());
        for (i, corners) in cells.iter().enumerate() {
            if !(2..=4).contains(&corners.len()) {
                return Err(fault!(
                    BAD_MESH,
                    "cell {i} has {} corners, and there are two, three or four",
                    corners.len()
                ));
            }
            if let Some(corner) = corners.iter().find(|&&corner| corner as usize >= points.len()) {
                return Err(fault!(
                    BAD_MESH,
                    "cell {i} has the corner {corner}, and there are points 0 to {}",
                    points.len() - 1
                ));
            }
            let mut all = [corners[0]; 4];
            all[..corners.len()].copy_from_slice(corners);
            let cell = Cell { corners: all, count: corners.len() };
            if is_flat(points, &cell) {
                return Err(fault!(
                    BAD_MESH,
                    "cell {i}, with the corners {corners:?}, has no extent; leave it out"
                ));
            }
            known.push(cell);
        }
        let mut made = Cells { points, cells: known, nodes: Vec::new(), none: 0.0 };
        made.grow();
        let extent = minus(&made.nodes[0].high, &made.nodes[0].low);
        made.none = 1e-30 * dot(&extent, &extent);
        Ok(made)
    }

    fn corner(&self, cell: &Cell, i: usize) -> &'a Point {
        &self.points[cell.corners[i] as usize]
    }

    /// Builds the tree of boxes. Each node divides its cells at the median of their centres along its longest
    /// side.
    fn grow(&mut self) {
        let points = self.points;
        let middle = |cell: &Cell, axis: usize| -> f64 {
            cell.corners[..cell.count].iter().map(|&i| points[i as usize][axis]).sum::<f64>()
                / cell.count as f64
        };
        let node = |cells: &[Cell], from: usize, to: usize| {
            let corners = cells[from..to].iter().flat_map(|cell| &cell.corners[..cell.count]);
            let (low, high) = bounds(corners.map(|&i| &points[i as usize]));
            TreeNode { low, high, from: from as u32, to: to as u32, child: 0 }
        };
        self.nodes.push(node(&self.cells, 0, self.cells.len()));
        let mut next = 0;
        while next < self.nodes.len() {
            let TreeNode { low, high, from, to, .. } = self.nodes[next];
            let (from, to) = (from as usize, to as usize);
            if to - from > LEAF {
                let extent = |axis: usize| high[axis] - low[axis];
                let axis = (0..3).reduce(|a, b| if extent(b) > extent(a) { b } else { a }).unwrap_or(0);
                let half = (to - from) / 2;
                self.cells[from..to]
                    .select_nth_unstable_by(half, |a, b| middle(a, axis).total_cmp(&middle(b, axis)));
                self.nodes[next].child = self.nodes.len() as u32;
                let both = [node(&self.cells, from, from + half), node(&self.cells, from + half, to)];
                self.nodes.extend(both);
            }
            next += 1;
        }
    }

    /// Returns the corners of the closest cell for each of these points, and the shares of the corners at the
    /// closest position.
    pub fn closest_of_all(&self, points: &[Point]) -> Vec<([u32; 4], [f64; 4])> {
        let mut found = vec![Default::default(); points.len()];
        let mut last = 0;
        for i in in_order(points) {
            let (cell, place) = self.closest_from(&points[i as usize], last);
            last = cell;
            found[i as usize] = (self.cells[cell].corners, place.shares);
        }
        found
    }

    /// Returns the closest cell and the closest position in it. The search begins with the distance of the
    /// cell `known`.
    fn closest_from(&self, point: &Point, known: usize) -> (usize, CellPosition) {
        let mut found = (known, self.closest_in(&self.cells[known], point));
        let mut stack = [(0u32, 0.0); 64];
        let mut depth = 1;
        while depth > 0 && found.1.distance > self.none {
            depth -= 1;
            let (node, away) = stack[depth];
            if away >= found.1.distance {
                continue;
            }
            let TreeNode { from, to, child, .. } = self.nodes[node as usize];
            if child == 0 {
                for i in from as usize..to as usize {
                    let place = self.closest_in(&self.cells[i], point);
                    if place.distance < found.1.distance {
                        found = (i, place);
                    }
                }
                continue;
            }
            let mut both = [child, child + 1].map(|child| (child, self.away(child, point)));
            // The nearer child is pushed last, so the search enters it first.
            if both[0].1 < both[1].1 {
                both.swap(0, 1);
            }
            for (child, away) in both {
                if away < found.1.distance {
                    stack[depth] = (child, away);
                    depth += 1;
                }
            }
        }
        found
    }

    /// Returns the square of the distance from a point to the box of a node.
    fn away(&self, node: u32, point: &Point) -> f64 {
        let TreeNode { low, high, .. } = &self.nodes[node as usize];
        (0..3).map(|i| (low[i] - point[i]).max(point[i] - high[i]).max(0.0)).map(|off| off * off).sum()
    }

    fn closest_in(&self, cell: &Cell, point: &Point) -> CellPosition {
        let corner = |i| self.corner(cell, i);
        match cell.count {
            2 => {
                let shares = on_segment(point, corner(0), corner(1));
                self.at(cell, [shares[0], shares[1], 0.0, 0.0], point)
            }
            3 => {
                let [a, b, c] = on_triangle(point, corner(0), corner(1), corner(2));
                self.at(cell, [a, b, c, 0.0], point)
            }
            _ => self.in_tetrahedron(cell, point),
        }
    }

    /// Returns the position with these shares of the corners.
    fn at(&self, cell: &Cell, shares: [f64; 4], point: &Point) -> CellPosition {
        let place: Point = std::array::from_fn(|axis| {
            (0..cell.count).map(|i| shares[i] * self.corner(cell, i)[axis]).sum::<f64>()
        });
        let apart = minus(&place, point);
        CellPosition { shares, distance: dot(&apart, &apart) }
    }

    /// Returns the closest position in a tetrahedron. If the point is within it, the share of a corner is the
    /// volume of the tetrahedron between the point and the opposite face. Otherwise the position is on one of
    /// the faces.
    fn in_tetrahedron(&self, cell: &Cell, point: &Point) -> CellPosition {
        let [a, b, c, d] = std::array::from_fn(|i| self.corner(cell, i));
        let volume =
            |p: &Point, q: &Point, r: &Point, s: &Point| dot(&minus(q, p), &cross(&minus(r, p), &minus(s, p)));
        let all = volume(a, b, c, d);
        let shares = [
            volume(point, b, c, d) / all,
            volume(a, point, c, d) / all,
            volume(a, b, point, d) / all,
            volume(a, b, c, point) / all,
        ];
        if shares.iter().all(|&share| share >= 0.0) {
            let sum: f64 = shares.iter().sum();
            return CellPosition { shares: shares.map(|share| share / sum), distance: 0.0 };
        }
        let faces = [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]].map(|face| {
            let three = on_triangle(
                point,
                self.corner(cell, face[0]),
                self.corner(cell, face[1]),
                self.corner(cell, face[2]),
            );
            let mut shares = [0.0; 4];
            face.iter().zip(three).for_each(|(&corner, share)| shares[corner] = share);
            self.at(cell, shares, point)
        });
        faces.into_iter().reduce(|a, b| if b.distance < a.distance { b } else { a }).unwrap_or(faces[0])
    }
}

/// Returns true if the length, area or volume of a cell is negligible relative to its edges.
fn is_flat(points: &[Point], cell: &Cell) -> bool {
    let edge = |i: usize| minus(&points[cell.corners[i] as usize], &points[cell.corners[0] as usize]);
    let length = |i: usize| dot(&edge(i), &edge(i)).sqrt();
    match cell.count {
        2 => length(1) == 0.0,
        3 => {
            let area = cross(&edge(1), &edge(2));
            dot(&area, &area).sqrt() <= 1e-14 * length(1) * length(2)
        }
        _ => dot(&edge(1), &cross(&edge(2), &edge(3))).abs() <= 1e-14 * length(1) * length(2) * length(3),
    }
}

fn on_segment(point: &Point, a: &Point, b: &Point) -> [f64; 2] {
    let (along, off) = (minus(b, a), minus(point, a));
    let share = (dot(&off, &along) / dot(&along, &along)).clamp(0.0, 1.0);
    [1.0 - share, share]
}

/// Returns the shares of the corners at the position of a triangle that is closest to a point. The point may
/// lie in the region of a corner, of an edge, or of the triangle itself. The areas opposite to the corners
/// are computed along the normal: products of the edges alone would lose twice as many digits in a thin
/// triangle.
fn on_triangle(point: &Point, a: &Point, b: &Point, c: &Point) -> [f64; 3] {
    let (ab, ac, bc) = (minus(b, a), minus(c, a), minus(c, b));
    let normal = cross(&ab, &ac);
    let ap = minus(point, a);
    let (d1, d2) = (dot(&ab, &ap), dot(&ac, &ap));
    if d1 <= 0.0 && d2 <= 0.0 {
        return [1.0, 0.0, 0.0];
    }
    let bp = minus(point, b);
    let (d3, d4) = (dot(&ab, &bp), dot(&ac, &bp));
    if d3 >= 0.0 && d4 <= d3 {
        return [0.0, 1.0, 0.0];
    }
    let opposite_c = dot(&normal, &cross(&ab, &ap));
    if opposite_c <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        let share = d1 / (d1 - d3);
        return [1.0 - share, share, 0.0];
    }
    let cp = minus(point, c);
    let (d5, d6) = (dot(&ab, &cp), dot(&ac, &cp));
    if d6 >= 0.0 && d5 <= d6 {
        return [0.0, 0.0, 1.0];
    }
    let opposite_b = dot(&normal, &cross(&ap, &ac));
    if opposite_b <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        let share = d2 / (d2 - d6);
        return [1.0 - share, 0.0, share];
    }
    let opposite_a = dot(&normal, &cross(&bc, &bp));
    if opposite_a <= 0.0 && d4 >= d3 && d5 >= d6 {
        let share = (d4 - d3) / ((d4 - d3) + (d5 - d6));
        return [0.0, 1.0 - share, share];
    }
    let all = opposite_a + opposite_b + opposite_c;
    let (v, w) = (opposite_b / all, opposite_c / all);
    [1.0 - v - w, v, w]
}
