//! Triangles of a cell for each of the 256 cases: each corner is inside or outside. Rules make the table, so
//! two cells agree on the face that they share. On a face with two corners inside that are diagonally opposite,
//! these two are kept apart, in any cell and with any order of the axes.
//!
//! Corner `c` of a cell has the offsets `c & 1`, `c >> 1 & 1` and `c >> 2` along its three axes. Edge `4 a + b`
//! goes along axis `a`; `b & 1` and `b >> 1` are its offsets along the two other axes, the lower axis first.

use std::fmt::Write;
use std::sync::OnceLock;

const CASES: usize = 256;

/// Maximum number of triangles of a cell.
pub(crate) const MAX_TRIANGLES: usize = 5;

type Triangles = Vec<[u8; 3]>;

/// The triangles of a case.
#[derive(Default)]
pub(crate) struct Case {
    pub(crate) count: usize,
    /// Only the first `count` are triangles.
    pub(crate) triangles: [[u8; 3]; MAX_TRIANGLES],
}

/// Returns the triangles of a cell whose corners `c` with bit `c` of `case` are inside. Each corner of a
/// triangle is the number of an edge. They are counterclockwise for a viewer outside, so normals point to lower
/// values.
pub fn case_triangles(case: u8) -> &'static [[u8; 3]] {
    let case = &cases()[usize::from(case)];
    &case.triangles[..case.count]
}

/// Returns the triangles of all cases.
pub(crate) fn cases() -> &'static [Case; CASES] {
    static TABLE: OnceLock<[Case; CASES]> = OnceLock::new();
    TABLE.get_or_init(|| {
        std::array::from_fn(|case| {
            let triangles = triangles_of(case as u8);
            let mut padded = Case { count: triangles.len(), ..Case::default() };
            padded.triangles[..triangles.len()].copy_from_slice(&triangles);
            padded
        })
    })
}

/// Returns the corners of a cell at the two ends of an edge.
pub(crate) const fn ends(edge: usize) -> [usize; 2] {
    let (axis, offsets) = (edge / 4, edge % 4);
    let lower = match axis {
        0 => offsets << 1,
        1 => offsets & 1 | (offsets & 2) << 1,
        _ => offsets,
    };
    [lower, lower | 1 << axis]
}

/// Returns the table as a module in TypeScript: a string for each case, with a hexadecimal digit for each edge.
pub fn typescript_table() -> String {
    let mut text = String::from(
        "// Triangles of a cell, for each of the 256 ways in which its corners may be inside (bit c of the\n\
         // case) or outside. Three hexadecimal digits are a triangle, and each is the number of an edge.\n\
         // Corners and edges are numbered as in crates/surface/src/table.rs, which made this file:\n\
         // LIGAMENT_WRITE_PAGES=1 cargo test --release -p ligament-surface --test table\n\
         export const CASES: readonly string[] = [\n",
    );
    let mut line = String::from(" ");
    for case in 0..CASES {
        let digits = case_triangles(case as u8).iter().flatten().fold(String::new(), |mut digits, edge| {
            let _ = write!(digits, "{edge:x}");
            digits
        });
        if line.len() + digits.len() + 4 > 112 {
            text.push_str(&line);
            text.push('\n');
            line = String::from(" ");
        }
        let _ = write!(line, " \"{digits}\",");
    }
    text + &line + "\n];\n"
}

/// The corners of each face, counterclockwise for a viewer outside of the cell.
fn faces() -> Vec<[u8; 4]> {
    let mut faces = Vec::new();
    for axis in 0..3 {
        let (one, other) = (1 << ((axis + 1) % 3), 1 << ((axis + 2) % 3));
        faces.push([0, other, one | other, one]);
        faces.push([0, one, one | other, other].map(|corner| corner | 1 << axis));
    }
    faces
}

/// The edge between two corners that differ along one axis.
fn edge_between(one: u8, other: u8) -> u8 {
    let axis = (one ^ other).trailing_zeros() as u8;
    let corner = one & other;
    let offsets = match axis {
        0 => corner >> 1,
        1 => corner & 1 | corner >> 1 & 2,
        _ => corner & 3,
    };
    4 * axis + offsets
}

/// Returns true if two edges are on one face. A diagonal between them would lie in that face, where the
/// neighbour may have it, too.
fn share_a_face(one: u8, other: u8) -> bool {
    faces().iter().any(|corners| {
        let edges: Vec<u8> = (0..4).map(|i| edge_between(corners[i], corners[(i + 1) % 4])).collect();
        edges.contains(&one) && edges.contains(&other)
    })
}

fn triangles_of(case: u8) -> Triangles {
    let mut following = segments(case);
    let mut triangles = Vec::new();
    while let Some(start) = (0..12u8).find(|&edge| following[usize::from(edge)].is_some()) {
        let mut polygon = Vec::new();
        let mut edge = start;
        while let Some(then) = following[usize::from(edge)].take() {
            polygon.push(edge);
            edge = then;
        }
        triangles
            .extend(divide(&polygon).expect("each polygon of a cell divides without a diagonal in a face"));
    }
    triangles
}

/// For each edge, the edge at the other end of the segment that begins there. On each face, a segment cuts off
/// each sequence of corners inside. The two faces at an edge see it in opposite directions, so one segment
/// begins there and one ends.
fn segments(case: u8) -> [Option<u8>; 12] {
    let inside = |corner: u8| case >> corner & 1 == 1;
    let mut following = [None; 12];
    for corners in faces() {
        for start in 0..4 {
            let at = |i: usize| corners[(start + i) % 4];
            if inside(at(0)) || !inside(at(1)) {
                continue;
            }
            let last = (1..4).find(|&i| !inside(at(i + 1))).expect("the corner at the start is outside");
            following[usize::from(edge_between(at(0), at(1)))] = Some(edge_between(at(last), at(last + 1)));
        }
    }
    following
}

/// Divides a polygon into triangles, with no diagonal within a face of the cell.
fn divide(polygon: &[u8]) -> Option<Triangles> {
    let &[first, _, .., last] = polygon else { return Some(Vec::new()) };
    let count = polygon.len();
    (1..count - 1).find_map(|middle| {
        let diagonal = |from: usize, to: usize| to - from > 1 && share_a_face(polygon[from], polygon[to]);
        if diagonal(0, middle) || diagonal(middle, count - 1) {
            return None;
        }
        let mut triangles = vec![[first, polygon[middle], last]];
        triangles.extend(divide(&polygon[..=middle])?);
        triangles.extend(divide(&polygon[middle..])?);
        Some(triangles)
    })
}
