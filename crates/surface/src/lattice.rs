//! The planes of signs in a surface's bytes, and a point for each crossed edge of the lattice. Points are in
//! the order of the fractions: for each plane, the edges along each row and those to the next row, and then the
//! edges to the next plane.

use crate::header::Header;
use crate::planes::{next, take, BitPlane, NANS, SIGNS};
use crate::SurfaceError;

/// An edge of the lattice of the whole grid: axis, and coordinates of its lower end.
pub(crate) type Edge = (usize, [u32; 3]);

/// An edge on a face of a block, and its point in the mesh.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BorderEdge {
    pub(crate) edge: Edge,
    pub(crate) point: u32,
}

/// The bits of a plane, and the points on the first edges of each row: along the row, to the next row, and to
/// the next plane.
#[derive(Clone)]
pub(crate) struct PlaneBits {
    pub(crate) signs: BitPlane,
    pub(crate) nans: BitPlane,
    pub(crate) nan_points: u64,
    pub(crate) first_points: [Vec<u32>; 3],
}

impl PlaneBits {
    /// The plane before the first.
    pub(crate) fn new(header: &Header) -> PlaneBits {
        let [row_points, rows, _] = header.memory_points();
        let (mut signs, mut nans) = (BitPlane::default(), BitPlane::default());
        signs.reset(row_points, rows, header.first_sign);
        nans.reset(row_points, rows, false);
        PlaneBits { signs, nans, nan_points: 0, first_points: std::array::from_fn(|_| vec![0; rows]) }
    }

    /// Makes this plane the one after `before`.
    pub(crate) fn read(&mut self, before: &PlaneBits, bytes: &mut &[u8]) -> Result<(), SurfaceError> {
        self.signs.copy_from(&before.signs);
        self.nans.copy_from(&before.nans);
        self.nan_points = before.nan_points;
        let kind = take(bytes, 1)?[0];
        if kind & !(SIGNS | NANS) != 0 {
            return Err(SurfaceError::Malformed { reason: "a plane changes something unknown" });
        }
        if kind & SIGNS != 0 {
            self.signs.read_changes(bytes)?;
        }
        if kind & NANS != 0 {
            self.nans.read_changes(bytes)?;
            self.nan_points = self.nans.count();
        }
        Ok(())
    }
}

/// Edges along one axis at a row of points.
struct Row {
    /// Axis in memory.
    axis: usize,
    row: usize,
    plane: usize,
    /// True if all edges are on a face of the block. Otherwise, only those at the first and last point may be.
    on_face: bool,
}

/// Adds the points on a block's edges to a mesh.
pub(crate) struct EdgePoints<'a> {
    header: &'a Header,
    memory_points: [usize; 3],
    fractions: std::slice::Iter<'a, u8>,
    points: &'a mut Vec<[f64; 3]>,
    border: Vec<BorderEdge>,
}

impl EdgePoints<'_> {
    pub(crate) fn new<'a>(
        header: &'a Header,
        fractions: &'a [u8],
        points: &'a mut Vec<[f64; 3]>,
    ) -> EdgePoints<'a> {
        points.reserve(fractions.len());
        let memory_points = header.memory_points();
        EdgePoints { header, memory_points, fractions: fractions.iter(), points, border: Vec::new() }
    }

    /// Adds the points on edges within a plane.
    pub(crate) fn add_within(&mut self, bits: &mut PlaneBits, plane: usize) -> Result<(), SurfaceError> {
        let [row_points, rows, planes] = self.memory_points;
        let plane_on_face = plane == 0 || plane + 1 == planes;
        for row in 0..rows {
            let signs = bits.signs.row(row);
            let nans = (bits.nan_points > 0).then(|| bits.nans.row(row));
            bits.first_points[0][row] = self.points.len() as u32;
            let on_face = plane_on_face || row == 0 || row + 1 == rows;
            let along = Row { axis: 0, row, plane, on_face };
            for word in 0..signs.len() {
                let mut crossed = (signs[word] ^ next(signs, word)) & edges_of_word(row_points, word);
                if let Some(nans) = nans {
                    crossed &= !(nans[word] | next(nans, word));
                }
                self.add(crossed, word, &along)?;
            }
            bits.first_points[1][row] = self.points.len() as u32;
            if row + 1 < rows {
                let across = Row { axis: 1, row, plane, on_face: plane_on_face };
                self.add_across([(bits, row), (bits, row + 1)], &across)?;
            }
        }
        Ok(())
    }

    /// Adds the points on edges from a plane to the next.
    pub(crate) fn add_between(
        &mut self,
        bits: &mut PlaneBits,
        above: &PlaneBits,
        plane: usize,
    ) -> Result<(), SurfaceError> {
        let rows = self.memory_points[1];
        for row in 0..rows {
            bits.first_points[2][row] = self.points.len() as u32;
            let upwards = Row { axis: 2, row, plane, on_face: row == 0 || row + 1 == rows };
            self.add_across([(bits, row), (above, row)], &upwards)?;
        }
        Ok(())
    }

    fn add_across(&mut self, ends: [(&PlaneBits, usize); 2], row: &Row) -> Result<(), SurfaceError> {
        let [one, other] = ends.map(|(bits, row)| bits.signs.row(row));
        let any_nan = ends.iter().any(|(bits, _)| bits.nan_points > 0);
        for (word, (one, other)) in one.iter().zip(other).enumerate() {
            let mut crossed = one ^ other;
            if any_nan {
                crossed &= !ends.iter().fold(0, |nans, (bits, row)| nans | bits.nans.row(*row)[word]);
            }
            self.add(crossed, word, row)?;
        }
        Ok(())
    }

    /// Adds the points on the edges of a row whose bits are set in a word.
    #[inline]
    fn add(&mut self, mut crossed: u64, word: usize, row: &Row) -> Result<(), SurfaceError> {
        if crossed == 0 {
            return Ok(());
        }
        let axes = self.header.axes;
        let (along, across) = (axes[0], axes[row.axis]);
        let mut place = self.header.origin;
        place[axes[1]] += row.row as u32;
        place[axes[2]] += row.plane as u32;
        let mut point = place.map(f64::from);
        let (first, lower) = (place[along] + 64 * word as u32, point[across]);
        while crossed != 0 {
            let i = crossed.trailing_zeros();
            crossed &= crossed - 1;
            let few = SurfaceError::Malformed { reason: "they have fewer edges than signs that change" };
            let fraction = (f64::from(*self.fractions.next().ok_or(few)?) + 0.5) / 256.0;
            point[along] = f64::from(first + i);
            point[across] = if row.axis == 0 { point[across] } else { lower } + fraction;
            let at = 64 * word + i as usize;
            if row.on_face || row.axis != 0 && (at == 0 || at + 1 == self.memory_points[0]) {
                place[along] = first + i;
                self.border.push(BorderEdge { edge: (across, place), point: self.points.len() as u32 });
            }
            self.points.push(point);
        }
        Ok(())
    }

    /// Returns the edges on the block's faces. There must be no more bytes.
    pub(crate) fn finish(self, signs: &[u8]) -> Result<Vec<BorderEdge>, SurfaceError> {
        if !signs.is_empty() || !self.fractions.as_slice().is_empty() {
            return Err(SurfaceError::Malformed { reason: "they have more signs or edges than points" });
        }
        Ok(self.border)
    }
}

/// The bits of a word at which an edge along the row begins: all bits but that of the last point.
pub(crate) fn edges_of_word(row_points: usize, word: usize) -> u64 {
    match row_points - 1 - 64 * word {
        edges if edges < 64 => (1 << edges) - 1,
        _ => u64::MAX,
    }
}
