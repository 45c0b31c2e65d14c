//! The way from the bytes of surfaces to one mesh. Bytes come from other machines, so nothing in them is
//! trusted: memory is taken for two planes of signs and for as many edges as there are bytes.

use crate::header::{Header, HEADER_BYTES};
use crate::mesh::Mesh;
use crate::planes::{take, BitPlane, NANS, SIGNS};
use crate::table::case_triangles;
use crate::SurfaceError;
use std::collections::HashMap;

/// An edge of the lattice of the whole grid: axis, and coordinates of its lower end.
type Edge = (usize, [u32; 3]);

const NO_POINT: u32 = u32::MAX;

/// Makes one mesh of the surfaces of blocks.
#[derive(Debug, Default)]
pub struct MeshBuilder {
    mesh: Mesh,
    /// Points on the faces of blocks, where another block may have the same edge.
    shared: HashMap<Edge, u32>,
}

impl MeshBuilder {
    /// Makes a builder without a block.
    pub fn new() -> MeshBuilder {
        MeshBuilder::default()
    }

    /// Adds the triangles of a block's surface and returns its header. An edge that an earlier block has, too, is
    /// the same point of the mesh. If the bytes cannot be read, the mesh stays as it was.
    pub fn add(&mut self, bytes: &[u8]) -> Result<Header, SurfaceError> {
        let header = Header::read(bytes)?;
        let (points, triangles) = (self.mesh.points.len(), self.mesh.triangles.len());
        let read = self.add_cells(&header, &bytes[HEADER_BYTES..]);
        if read.is_err() {
            self.mesh.points.truncate(points);
            self.mesh.triangles.truncate(triangles);
            self.shared.retain(|_, &mut point| (point as usize) < points);
        }
        read.map(|()| header)
    }

    /// Returns the mesh of all blocks, on the lattice of the whole grid.
    pub fn finish(self) -> Mesh {
        self.mesh
    }

    fn add_cells(&mut self, header: &Header, body: &[u8]) -> Result<(), SurfaceError> {
        let (mut signs, fractions) = body.split_at(header.sign_bytes as usize);
        let [row_points, rows, planes] = header.memory_points();
        let mut now = PlaneBits::new(header);
        let mut before = now.clone();
        let mut edges = EdgePoints::new(header, fractions);
        let mut numbers = 0;
        for plane in 0..planes {
            std::mem::swap(&mut now, &mut before);
            now.read(&before, &mut signs)?;
            if plane > 0 {
                numbers = before.number_edges_to(&now, numbers);
            }
            numbers = now.number_edges_within(row_points, numbers);
            if numbers > fractions.len() {
                return Err(SurfaceError::Malformed { reason: "they have fewer edges than signs that change" });
            }
            if plane > 0 {
                let layer = Layer { planes: [&before, &now], plane: plane - 1, row_points };
                (0..rows - 1).try_for_each(|row| layer.add_row(row, &mut edges, self))?;
            }
        }
        if !signs.is_empty() || numbers != fractions.len() {
            return Err(SurfaceError::Malformed { reason: "they have more signs or edges than points" });
        }
        Ok(())
    }
}

/// The bits of a plane, and the numbers of its first edges of each row: along the row, to the next row, and to
/// the next plane.
#[derive(Clone)]
struct PlaneBits {
    signs: BitPlane,
    nans: BitPlane,
    numbers: [Vec<usize>; 3],
}

/// Eight corners of 64 cells in a row: bit `i` of word `c` is the bit of corner `c` of cell `i`.
type Corners = [u64; 8];

impl PlaneBits {
    fn new(header: &Header) -> PlaneBits {
        let [row_points, rows, _] = header.memory_points();
        let (mut signs, mut nans) = (BitPlane::default(), BitPlane::default());
        signs.reset(row_points, rows, header.first_sign);
        nans.reset(row_points, rows, false);
        PlaneBits { signs, nans, numbers: std::array::from_fn(|_| vec![0; rows]) }
    }

    /// Becomes the plane after `before`.
    fn read(&mut self, before: &PlaneBits, bytes: &mut &[u8]) -> Result<(), SurfaceError> {
        self.signs.clone_from(&before.signs);
        self.nans.clone_from(&before.nans);
        let kind = take(bytes, 1)?[0];
        if kind & !(SIGNS | NANS) != 0 {
            return Err(SurfaceError::Malformed { reason: "a plane changes something unknown" });
        }
        if kind & SIGNS != 0 {
            self.signs.read_changes(bytes)?;
        }
        if kind & NANS != 0 {
            self.nans.read_changes(bytes)?;
        }
        Ok(())
    }

    /// Numbers the edges within the plane from `first` on, and returns the number that follows.
    fn number_edges_within(&mut self, row_points: usize, mut first: usize) -> usize {
        let rows = self.signs.rows();
        for row in 0..rows {
            let (signs, nans) = (self.signs.row(row), self.nans.row(row));
            self.numbers[0][row] = first;
            first += count(signs.len(), |word| {
                let crossed = signs[word] ^ next(signs, word);
                crossed & !(nans[word] | next(nans, word)) & cells(row_points, word)
            });
            self.numbers[1][row] = first;
            if row + 1 < rows {
                first += count_between([(self, row), (self, row + 1)]);
            }
        }
        first
    }

    /// Numbers the edges from this plane to the one after it.
    fn number_edges_to(&mut self, after: &PlaneBits, mut first: usize) -> usize {
        for row in 0..self.signs.rows() {
            self.numbers[2][row] = first;
            first += count_between([(self, row), (after, row)]);
        }
        first
    }
}

fn count(words: usize, crossed: impl Fn(usize) -> u64) -> usize {
    (0..words).map(|word| crossed(word).count_ones() as usize).sum()
}

fn count_between(rows: [(&PlaneBits, usize); 2]) -> usize {
    let signs = rows.map(|(plane, row)| plane.signs.row(row));
    let nans = rows.map(|(plane, row)| plane.nans.row(row));
    count(signs[0].len(), |word| (signs[0][word] ^ signs[1][word]) & !(nans[0][word] | nans[1][word]))
}

/// The bits of the points behind those of a word.
fn next(row: &[u64], word: usize) -> u64 {
    row[word] >> 1 | row.get(word + 1).map_or(0, |next| next << 63)
}

/// The bits of a word that are cells. The last point of a row begins no cell.
fn cells(row_points: usize, word: usize) -> u64 {
    match row_points - 1 - 64 * word {
        cells if cells < 64 => (1 << cells) - 1,
        _ => u64::MAX,
    }
}

/// The sequences of edges that a row of cells takes its edges from, by the edge whose lower end is at the cell's
/// first corner along the row: four along the rows, two from row to row, and two from plane to plane.
const SEQUENCES: [usize; 8] = [0, 1, 2, 3, 4, 6, 8, 10];

/// Returns the sequence that has an edge of a cell, and whether it is that of the cell's next point.
const fn sequence(edge: usize) -> (usize, bool) {
    match edge {
        0..=3 => (edge, false),
        _ => (2 + edge / 2, edge % 2 == 1),
    }
}

/// Returns the corners of a cell at the two ends of an edge.
const fn ends(edge: usize) -> [usize; 2] {
    let (axis, offsets) = (edge / 4, edge % 4);
    let lower = match axis {
        0 => offsets << 1,
        1 => offsets & 1 | (offsets & 2) << 1,
        _ => offsets,
    };
    [lower, lower | 1 << axis]
}

/// The cells between two planes.
struct Layer<'a> {
    planes: [&'a PlaneBits; 2],
    plane: usize,
    row_points: usize,
}

impl Layer<'_> {
    /// Adds the triangles of a row of cells.
    fn add_row(
        &self,
        row: usize,
        edges: &mut EdgePoints<'_>,
        mesh: &mut MeshBuilder,
    ) -> Result<(), SurfaceError> {
        let mut numbers = SEQUENCES.map(|edge| {
            let corner = ends(edge)[0];
            self.planes[corner >> 2].numbers[edge / 4][row + (corner >> 1 & 1)]
        });
        for word in 0..self.planes[0].signs.row(row).len() {
            let signs = self.corners(row, word, |plane| &plane.signs);
            let nans = self.corners(row, word, |plane| &plane.nans);
            let crossed: [u64; 12] = std::array::from_fn(|edge| {
                let [lower, upper] = ends(edge);
                (signs[lower] ^ signs[upper]) & !(nans[lower] | nans[upper])
            });
            let any_nan = nans.iter().fold(0, |any, corner| any | corner);
            let mut left = crossed.iter().fold(0, |any, edge| any | edge) & cells(self.row_points, word);
            while left != 0 {
                let bit = left.trailing_zeros();
                left &= left - 1;
                let at = |bits: u64| bits >> bit & 1;
                if at(any_nan) == 0 {
                    let case = (0..8).fold(0, |case, corner| case | (at(signs[corner]) as u8) << corner);
                    let first = [64 * word + bit as usize, row, self.plane];
                    let number_of = |edge: usize| {
                        let (sequence, beyond) = sequence(edge);
                        let passed = if beyond { at(crossed[SEQUENCES[sequence]]) } else { 0 };
                        numbers[sequence] + passed as usize
                    };
                    for triangle in case_triangles(case) {
                        let mut points = [NO_POINT; 3];
                        for (point, &edge) in points.iter_mut().zip(triangle) {
                            *point = edges.point(number_of(edge.into()), (first, edge.into()), mesh)?;
                        }
                        mesh.mesh.triangles.push(edges.oriented(points));
                    }
                }
                for (number, edge) in numbers.iter_mut().zip(SEQUENCES) {
                    *number += at(crossed[edge]) as usize;
                }
            }
        }
        Ok(())
    }

    fn corners(&self, row: usize, word: usize, bits: impl Fn(&PlaneBits) -> &BitPlane) -> Corners {
        std::array::from_fn(|corner| {
            let points = bits(self.planes[corner >> 2]).row(row + (corner >> 1 & 1));
            if corner & 1 == 0 {
                points[word]
            } else {
                next(points, word)
            }
        })
    }
}

/// The points of the mesh on the edges of a block, by the numbers of the edges.
struct EdgePoints<'a> {
    header: &'a Header,
    memory_points: [usize; 3],
    fractions: &'a [u8],
    /// Numbers in the mesh. An edge that no triangle has used is no point yet.
    points: Vec<u32>,
    /// The order of the axes in memory is a mirror image of x, y, z.
    mirrored: bool,
}

impl EdgePoints<'_> {
    fn new<'a>(header: &'a Header, fractions: &'a [u8]) -> EdgePoints<'a> {
        let [row, column, _] = header.axes;
        EdgePoints {
            header,
            memory_points: header.memory_points(),
            fractions,
            points: vec![NO_POINT; fractions.len()],
            mirrored: (row + 1) % 3 != column,
        }
    }

    /// Returns the point of the mesh on the edge with a number in the block, which is an edge of the cell whose
    /// first corner is `first`.
    fn point(
        &mut self,
        number: usize,
        (first, edge): ([usize; 3], usize),
        builder: &mut MeshBuilder,
    ) -> Result<u32, SurfaceError> {
        if self.points[number] != NO_POINT {
            return Ok(self.points[number]);
        }
        let Header { axes, origin, .. } = *self.header;
        let lower = ends(edge)[0];
        let mut place = origin;
        let mut on_face = false;
        for (axis, of_memory) in axes.into_iter().enumerate() {
            let coordinate = first[axis] + (lower >> axis & 1);
            let last = self.memory_points[axis] - 1;
            on_face |= axis != edge / 4 && (coordinate == 0 || coordinate == last);
            place[of_memory] += coordinate as u32;
        }
        let along = axes[edge / 4];
        let mut point = place.map(f64::from);
        point[along] += (f64::from(self.fractions[number]) + 0.5) / 256.0;
        let next = u32::try_from(builder.mesh.points.len()).ok().filter(|&next| next != NO_POINT);
        let next = next.ok_or(SurfaceError::Edges)?;
        let known = if on_face { *builder.shared.entry((along, place)).or_insert(next) } else { next };
        if known == next {
            builder.mesh.points.push(point);
        }
        self.points[number] = known;
        Ok(known)
    }

    /// Returns the corners of a triangle so that they are counterclockwise in x, y, z.
    fn oriented(&self, [one, two, three]: [u32; 3]) -> [u32; 3] {
        if self.mirrored {
            [one, three, two]
        } else {
            [one, two, three]
        }
    }
}
