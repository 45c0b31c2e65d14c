//! Makes one mesh of the bytes of surfaces. Bytes come from other machines, so they are not trusted: memory is
//! taken for two planes of signs, and for at most as many edges as there are bytes. `cells` makes the
//! triangles, and `lattice` the points.

use crate::cells::{Layer, Output};
use crate::header::{Header, HEADER_BYTES};
use crate::lattice::{BorderEdge, Edge, EdgePoints, PlaneBits};
use crate::mesh::Mesh;
use crate::SurfaceError;
use std::collections::HashMap;

/// Numbers for a point that has none in the mesh yet, and for one that needs none.
const NEW: u32 = u32::MAX;
const UNUSED: u32 = u32::MAX - 1;

/// Makes one mesh of the surfaces of blocks.
#[derive(Debug, Default)]
pub struct MeshBuilder {
    mesh: Mesh,
    /// Points on the faces of blocks, where another block may have the same edge.
    shared: HashMap<Edge, u32>,
    /// Points of the last block. They move to `shared` when another block comes, so a mesh of one block needs
    /// no search.
    recent: Vec<BorderEdge>,
}

impl MeshBuilder {
    /// Makes a builder without a block.
    pub fn new() -> MeshBuilder {
        MeshBuilder::default()
    }

    /// Adds the triangles of a block's surface and returns its header. An edge that an earlier block has, too,
    /// is the same point of the mesh. If the bytes cannot be read, the mesh stays as it was.
    pub fn add(&mut self, bytes: &[u8]) -> Result<Header, SurfaceError> {
        let header = Header::read(bytes)?;
        let (points, triangles) = (self.mesh.points.len(), self.mesh.triangles.len());
        if points as u64 + u64::from(header.edges) > u64::from(UNUSED) {
            return Err(SurfaceError::Edges);
        }
        self.shared.extend(self.recent.drain(..).map(|border| (border.edge, border.point)));
        match self.add_cells(&header, &bytes[HEADER_BYTES..]) {
            // Each crossed edge has a triangle in each of its cells, so a point without a triangle is due to
            // NaN.
            Ok(border) if self.shared.is_empty() && header.nan_points == 0 && header.has_cells() => {
                self.recent = border;
            }
            Ok(border) => self.join([points, triangles], &border),
            Err(error) => {
                self.mesh.points.truncate(points);
                self.mesh.triangles.truncate(triangles);
                return Err(error);
            }
        }
        Ok(header)
    }

    /// Forgets all blocks and keeps the memory for the next picture.
    pub fn clear(&mut self) {
        self.mesh.points.clear();
        self.mesh.triangles.clear();
        self.shared.clear();
        self.recent.clear();
    }

    /// Returns the mesh of all blocks so far, on the lattice of the whole grid.
    pub fn mesh(&self) -> &Mesh {
        &self.mesh
    }

    /// Returns the mesh of all blocks, on the lattice of the whole grid.
    pub fn finish(self) -> Mesh {
        self.mesh
    }

    /// Adds points on all edges of a block, and its triangles. Returns the edges on its faces.
    fn add_cells(&mut self, header: &Header, body: &[u8]) -> Result<Vec<BorderEdge>, SurfaceError> {
        let (mut signs, fractions) = body.split_at(header.sign_bytes as usize);
        let [row_points, _, planes] = header.memory_points();
        let mut now = PlaneBits::new(header);
        let mut before = now.clone();
        let mut edges = EdgePoints::new(header, fractions, &mut self.mesh.points);
        let mut nan_points = 0;
        let mut output = Output::new(&mut self.mesh.triangles);
        for plane in 0..planes {
            std::mem::swap(&mut now, &mut before);
            now.read(&before, &mut signs)?;
            nan_points += now.nan_points;
            if plane > 0 {
                edges.add_between(&mut before, &now, plane - 1)?;
            }
            edges.add_within(&mut now, plane)?;
            if plane > 0 {
                Layer { planes: [&before, &now], row_points, mirrored: header.mirrored() }.add_to(&mut output);
            }
        }
        if nan_points != header.nan_points {
            return Err(SurfaceError::Malformed { reason: "they have another number of NaN than the header" });
        }
        edges.finish(signs)
    }

    /// Joins a block's part of the mesh with the part before it, which has the first `points` and `triangles`.
    /// An edge that is in both parts becomes one point. Points without a triangle are removed.
    fn join(&mut self, [points, triangles]: [usize; 2], border: &[BorderEdge]) {
        let part = &mut self.mesh.triangles[triangles..];
        let mut numbers = vec![UNUSED; self.mesh.points.len() - points];
        for &point in part.iter().flatten() {
            numbers[point as usize - points] = NEW;
        }
        for BorderEdge { edge, point } in border {
            let number = &mut numbers[*point as usize - points];
            if let Some(&known) = self.shared.get(edge).filter(|_| *number == NEW) {
                *number = known;
            }
        }
        let mut next = points;
        for (i, number) in numbers.iter_mut().enumerate() {
            if *number == NEW {
                self.mesh.points[next] = self.mesh.points[points + i];
                *number = next as u32;
                next += 1;
            }
        }
        self.mesh.points.truncate(next);
        for point in part.iter_mut().flatten() {
            *point = numbers[*point as usize - points];
        }
        let joined = |&BorderEdge { edge, point }| BorderEdge { edge, point: numbers[point as usize - points] };
        self.recent.extend(border.iter().map(joined).filter(|border| border.point != UNUSED));
    }
}

/// Returns the number of NaN among a block's own points: the first `own` points along x, y and z. The points
/// after them belong to neighbours, which count them.
///
/// # Errors
/// `Malformed` if the bytes are no surface.
pub fn nan_points(bytes: &[u8], own: [u64; 3]) -> Result<u64, SurfaceError> {
    let header = Header::read(bytes)?;
    if header.nan_points == 0 {
        return Ok(0);
    }
    let [points, rows, planes] = header.axes.map(|axis| own[axis].min(u64::from(header.points[axis])) as usize);
    let mut signs = &bytes[HEADER_BYTES..][..header.sign_bytes as usize];
    let (mut now, mut count) = (PlaneBits::new(&header), 0);
    for _ in 0..planes {
        let before = now.clone();
        now.read(&before, &mut signs)?;
        count += (0..rows).map(|row| ones(now.nans.row(row), points)).sum::<u64>();
    }
    Ok(count)
}

/// Returns how many of the first `bits` bits are set.
fn ones(words: &[u64], bits: usize) -> u64 {
    let within = |word: usize| match bits.saturating_sub(64 * word) {
        0 => 0,
        left if left < 64 => (1 << left) - 1,
        _ => u64::MAX,
    };
    words.iter().enumerate().map(|(at, word)| u64::from((word & within(at)).count_ones())).sum()
}
