//! The header of a surface's bytes: place on the lattice, level, range of the values, and lengths. All numbers
//! are little-endian. The signs (`planes`) and a byte for each crossed edge follow.

use crate::block::is_small_enough;
use crate::SurfaceError;

/// Size of a header, in bytes.
pub const HEADER_BYTES: usize = 72;
/// The first bytes: the name of the format and its version.
const NAME: [u8; 4] = *b"LSF1";

/// The beginning of a surface's bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Header {
    /// Axis of a row, of a plane's rows, and of planes in memory: 0 for x, 1 for y, 2 for z.
    pub axes: [usize; 3],
    /// True if the first point of the block is not below the level.
    pub first_sign: bool,
    /// Coordinates x, y and z of the first point on the lattice of the whole grid.
    pub origin: [u32; 3],
    /// Points along x, y and z.
    pub points: [u32; 3],
    /// Value on the surface.
    pub level: f64,
    /// Smallest value of the block, without NaN. NaN if the block has no other values.
    pub min: f64,
    /// Largest value of the block, without NaN.
    pub max: f64,
    /// Number of points whose value is NaN. Their cells have no triangles.
    pub nan_points: u64,
    /// Number of the lattice's edges that the surface crosses.
    pub edges: u32,
    /// Number of bytes of the signs.
    pub sign_bytes: u32,
}

impl Header {
    /// Returns the bytes of the header.
    pub fn to_bytes(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..4].copy_from_slice(&NAME);
        for axis in 0..3 {
            bytes[4 + axis] = self.axes[axis] as u8;
            bytes[8 + 4 * axis..][..4].copy_from_slice(&self.origin[axis].to_le_bytes());
            bytes[20 + 4 * axis..][..4].copy_from_slice(&self.points[axis].to_le_bytes());
        }
        bytes[7] = self.first_sign.into();
        for (at, number) in [(32, self.level), (40, self.min), (48, self.max)] {
            bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
        }
        bytes[56..64].copy_from_slice(&self.nan_points.to_le_bytes());
        bytes[64..68].copy_from_slice(&self.edges.to_le_bytes());
        bytes[68..72].copy_from_slice(&self.sign_bytes.to_le_bytes());
        bytes
    }

    /// Reads the header of a surface's bytes. Their number must be the one in the header.
    pub fn read(bytes: &[u8]) -> Result<Header, SurfaceError> {
        let malformed = |reason| SurfaceError::Malformed { reason };
        if bytes.len() < HEADER_BYTES {
            return Err(malformed("they are too few for a header"));
        }
        if bytes[..4] != NAME {
            return Err(malformed("they do not begin with LSF1, the format that this version reads"));
        }
        let u32_at = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let u64_at = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let axes = std::array::from_fn(|i| bytes[4 + i] as usize);
        let mut sorted = axes;
        sorted.sort_unstable();
        if sorted != [0, 1, 2] || bytes[7] > 1 {
            return Err(malformed("the order of the axes is none"));
        }
        let header = Header {
            axes,
            first_sign: bytes[7] == 1,
            origin: std::array::from_fn(|i| u32_at(8 + 4 * i)),
            points: std::array::from_fn(|i| u32_at(20 + 4 * i)),
            level: f64::from_bits(u64_at(32)),
            min: f64::from_bits(u64_at(40)),
            max: f64::from_bits(u64_at(48)),
            nan_points: u64_at(56),
            edges: u32_at(64),
            sign_bytes: u32_at(68),
        };
        let points = axes.map(|axis| u64::from(header.points[axis]));
        if points.contains(&0) || !is_small_enough(points) {
            return Err(malformed("the block has no points, or too many"));
        }
        if (0..3).any(|i| header.origin[i].checked_add(header.points[i] - 1).is_none()) {
            return Err(malformed("the block lies beyond the largest coordinate"));
        }
        let length = HEADER_BYTES as u64 + u64::from(header.edges) + u64::from(header.sign_bytes);
        if bytes.len() as u64 != length {
            return Err(malformed("they are more or fewer than the header says"));
        }
        Ok(header)
    }

    /// Points of a row, rows of a plane, and planes.
    pub(crate) fn memory_points(&self) -> [usize; 3] {
        self.axes.map(|axis| self.points[axis] as usize)
    }

    /// True if the axes row, column and plane are a mirror image of x, y and z, and not a rotation.
    pub(crate) fn mirrored(&self) -> bool {
        (self.axes[0] + 1) % 3 != self.axes[1]
    }

    /// True if there are cells between the points.
    pub(crate) fn has_cells(&self) -> bool {
        self.points.iter().all(|&points| points > 1)
    }
}
