//! A block's part of a field, as taps show it.

use crate::domain::{Domain, Field};
use ligament_instance::PublishedField;
use ligament_model::MAX_GRID_DIMENSIONS;
use ligament_wire::tap::Level;
use ligament_wire::{ArrayOrder, ArrayRef, Value};

/// The points of a block in the array of a field. It is made at each `publish`, so it allocates nothing.
pub(crate) struct Window<'a> {
    field: &'a Field,
    bytes: &'a [u8],
    axes: usize,
    /// The number of the block's own points along each axis.
    points: [u64; MAX_GRID_DIMENSIONS],
    /// The distances of two points along each axis, in bytes.
    strides: [i64; MAX_GRID_DIMENSIONS],
}

impl<'a> Window<'a> {
    /// Makes the window of a field of a domain. `bytes` is the array of the field, with its ghosts.
    pub fn new(domain: &Domain, field: &'a Field, bytes: &'a [u8]) -> Window<'a> {
        let axes = domain.range().len();
        let (mut points, mut strides) = ([1; MAX_GRID_DIMENSIONS], [0; MAX_GRID_DIMENSIONS]);
        for (axis, (begin, end)) in domain.range().iter().enumerate() {
            points[axis] = end - begin;
        }
        let mut stride = field.dtype().size() as u64;
        let mut next = |axis: usize| {
            strides[axis] = stride as i64;
            stride *= points[axis] + 2 * field.ghosts() as u64;
        };
        match field.order() {
            ArrayOrder::RowMajor => (0..axes).rev().for_each(&mut next),
            ArrayOrder::ColumnMajor => (0..axes).for_each(&mut next),
        }
        Window { field, bytes, axes, points, strides }
    }

    /// Returns the place of a point in the array, in bytes. `at` is the number of points from the block's first
    /// one.
    fn place(&self, at: [u64; MAX_GRID_DIMENSIONS]) -> usize {
        let ghosts = self.field.ghosts() as u64;
        (0..self.axes).map(|axis| (at[axis] + ghosts) as usize * self.strides[axis] as usize).sum()
    }
}

impl PublishedField for Window<'_> {
    fn value(&self) -> ArrayRef<'_> {
        let begin = self.place([0; MAX_GRID_DIMENSIONS]);
        let end = self.place(self.points.map(|points| points - 1)) + self.field.dtype().size();
        ArrayRef {
            dtype: self.field.dtype(),
            shape: &self.points[..self.axes],
            strides: Some(&self.strides[..self.axes]),
            order: self.field.order(),
            data: &self.bytes[begin..end],
            offset: 0,
            names: &[],
            unit: Some(self.field.unit()).filter(|unit| !unit.is_empty()),
        }
    }

    fn surfaces(&self, _: &[Level]) -> Option<Value> {
        None
    }
}
