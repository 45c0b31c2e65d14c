//! Triangles of the cells between two planes. Counters give the numbers of the points on a cell's edges,
//! because edges and points of a row of cells come in the same order.

use crate::lattice::{edges_of_word, PlaneBits};
use crate::planes::{next, BitPlane};
use crate::table::{cases, ends, MAX_TRIANGLES};

/// The sequences of edges from which a row of cells takes its edges: four along the rows, two from row to row,
/// and two from plane to plane. Each is named by the edge at the cell's first points.
const SEQUENCES: [usize; 8] = [0, 1, 2, 3, 4, 6, 8, 10];

/// Corners of 64 cells in a row: bit `i` of word `c` is the bit of corner `c` of cell `i`.
type Corners = [u64; 8];

/// The output of triangles. For each cell, as many triangles are written as a cell can have, and the next cell
/// overwrites those beyond its number. A loop over the exact number would be slower, because no processor can
/// predict it.
pub(crate) struct Output<'a> {
    triangles: &'a mut Vec<[u32; 3]>,
    /// Triangles of the 64 cells at work.
    written: [[u32; 3]; 64 * MAX_TRIANGLES],
}

impl Output<'_> {
    pub(crate) fn new(triangles: &mut Vec<[u32; 3]>) -> Output<'_> {
        Output { triangles, written: [[0; 3]; 64 * MAX_TRIANGLES] }
    }
}

/// The cells between two planes.
pub(crate) struct Layer<'a> {
    pub(crate) planes: [&'a PlaneBits; 2],
    pub(crate) row_points: usize,
    /// If true, triangles that are counterclockwise in memory are clockwise in x, y and z.
    pub(crate) mirrored: bool,
}

impl Layer<'_> {
    /// Adds the triangles of all cells.
    pub(crate) fn add_to(&self, output: &mut Output<'_>) {
        for row in 0..self.planes[0].signs.rows() - 1 {
            self.add_row(row, output);
        }
    }

    fn add_row(&self, row: usize, output: &mut Output<'_>) {
        let mut points = SEQUENCES.map(|edge| {
            let corner = ends(edge)[0];
            self.planes[corner >> 2].first_points[edge / 4][row + (corner >> 1 & 1)]
        });
        let any_nan = self.planes.iter().any(|plane| plane.nan_points > 0);
        for word in 0..self.planes[0].signs.row(row).len() {
            let signs = self.corners(row, word, |plane| &plane.signs);
            let some = signs.iter().fold(0, |some, corner| some | corner);
            let all = signs.iter().fold(u64::MAX, |all, corner| all & corner);
            let mixed = some & !all & edges_of_word(self.row_points, word);
            if mixed == 0 {
                continue;
            }
            let nans = if any_nan { self.corners(row, word, |plane| &plane.nans) } else { [0; 8] };
            self.add_cells(mixed, CellCorners { signs, nans }, (&mut points, output));
        }
    }

    fn corners(&self, row: usize, word: usize, bits: impl Fn(&PlaneBits) -> &BitPlane) -> Corners {
        let mut corners = [0; 8];
        for (pair, corners) in corners.chunks_exact_mut(2).enumerate() {
            let points = bits(self.planes[pair >> 1]).row(row + (pair & 1));
            (corners[0], corners[1]) = (points[word], next(points, word));
        }
        corners
    }

    /// Adds the triangles of those of 64 cells whose bits are set: all with corners on both sides.
    fn add_cells(&self, mut mixed: u64, cells: CellCorners, row: (&mut [u32; 8], &mut Output<'_>)) {
        let (CellCorners { signs, nans }, (points, output)) = (cells, row);
        let crossed: [u64; 12] = std::array::from_fn(|edge| {
            let [lower, upper] = ends(edge);
            (signs[lower] ^ signs[upper]) & !(nans[lower] | nans[upper])
        });
        let torn = nans.iter().fold(0, |torn, corner| torn | corner);
        let (cases, written) = (cases(), &mut output.written);
        let mut count = 0;
        while mixed != 0 {
            let cell = mixed.trailing_zeros();
            mixed &= mixed - 1;
            let at = |bits: u64| (bits >> cell) as u32 & 1;
            // Numbers of edges in the table have four bits; their last four values mean no edge.
            let mut edges = [0; 16];
            edges[..4].copy_from_slice(&points[..4]);
            for (pair, &point) in points[4..].iter().enumerate() {
                edges[4 + 2 * pair] = point;
                edges[5 + 2 * pair] = point + at(crossed[4 + 2 * pair]);
            }
            if at(torn) == 0 {
                let case = (0..8).fold(0, |case, corner| case | at(signs[corner]) << corner);
                let case = &cases[case as usize & 255];
                for (triangle, edge) in written[count..count + MAX_TRIANGLES].iter_mut().zip(&case.triangles) {
                    *triangle = edge.map(|edge| edges[usize::from(edge & 15)]);
                }
                count += case.count;
            }
            for (point, edge) in points.iter_mut().zip(SEQUENCES) {
                *point += at(crossed[edge]);
            }
        }
        if self.mirrored {
            written[..count].iter_mut().for_each(|triangle| triangle.swap(1, 2));
        }
        output.triangles.extend_from_slice(&written[..count]);
    }
}

/// Corners of 64 cells: the corners inside, and the corners that are NaN.
struct CellCorners {
    signs: Corners,
    nans: Corners,
}
