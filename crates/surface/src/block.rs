//! Blocks of fields, as a code keeps them, and the order of their points in memory.

use crate::SurfaceError;

/// Maximum number of points of a row.
const MAX_ROW_POINTS: u64 = 1 << 20;
/// Maximum number of points of a plane.
const MAX_PLANE_POINTS: u64 = 1 << 28;
/// Maximum number of points of a block: a few bytes may claim so many, and a viewer reads them in some seconds.
const MAX_POINTS: u64 = 1 << 34;
const AXES: [&str; 3] = ["x", "y", "z"];

/// The array in which a block of a field lies.
#[derive(Clone, Copy, Debug)]
pub enum FieldValues<'a> {
    F32(&'a [f32]),
    F64(&'a [f64]),
}

impl FieldValues<'_> {
    fn len(&self) -> usize {
        match self {
            FieldValues::F32(values) => values.len(),
            FieldValues::F64(values) => values.len(),
        }
    }
}

/// A block of a field with three axes, for a surface. The surface lies in the cells between the block's points.
/// So where the grid goes on at an upper side, the points must include one layer of ghosts.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    pub values: FieldValues<'a>,
    /// Number of the element at the point `origin`.
    pub first: usize,
    /// Distances of neighbouring points along x, y and z, in elements. A block whose smallest distance is not 1
    /// is copied first.
    pub strides: [usize; 3],
    /// Coordinates of the first point on the lattice of the whole grid. Behind a periodic edge, coordinates
    /// continue beyond the grid's length.
    pub origin: [u64; 3],
    /// Points along x, y and z.
    pub points: [u64; 3],
}

/// The points of a block in the order of memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BlockLayout {
    /// Axis of a row, of a plane's rows, and of planes: 0 for x.
    pub(crate) axes: [usize; 3],
    /// Points of a row, rows of a plane, planes.
    pub(crate) points: [usize; 3],
    /// Distances in elements between points, rows and planes.
    pub(crate) strides: [usize; 3],
    pub(crate) first: usize,
}

impl Block<'_> {
    /// Returns the order of the points in memory, or the reason why the block cannot have a surface.
    pub(crate) fn layout(&self) -> Result<BlockLayout, SurfaceError> {
        let Block { values, first, strides, origin, points } = *self;
        if let Some(axis) = (0..3).find(|&axis| points[axis] == 0) {
            return Err(SurfaceError::NoPoints { axis: AXES[axis] });
        }
        let within =
            (0..3).all(|axis| origin[axis].checked_add(points[axis]).is_some_and(|end| end <= 1 << 32));
        let mut axes = [0, 1, 2];
        axes.sort_by_key(|&axis| (points[axis] == 1, strides[axis]));
        if !within || !is_small_enough(axes.map(|axis| points[axis])) {
            return Err(SurfaceError::Size { points, origin });
        }
        let last = (0..3).try_fold(first, |last, axis| {
            (points[axis] as usize - 1).checked_mul(strides[axis]).and_then(|way| last.checked_add(way))
        });
        if last.is_none_or(|last| last >= values.len()) {
            return Err(SurfaceError::Bounds { values: values.len(), points, strides, first });
        }
        Ok(BlockLayout {
            axes,
            points: axes.map(|axis| points[axis] as usize),
            strides: axes.map(|axis| strides[axis]),
            first,
        })
    }
}

/// Returns true if a block may have so many points in a row, rows in a plane, and planes.
pub(crate) fn is_small_enough([row, rows, planes]: [u64; 3]) -> bool {
    let plane = row.checked_mul(rows);
    row <= MAX_ROW_POINTS
        && plane.is_some_and(|plane| plane <= MAX_PLANE_POINTS)
        && plane.and_then(|plane| plane.checked_mul(planes)).is_some_and(|points| points <= MAX_POINTS)
}
