//! A block's part of a field, as taps show it.

use crate::domain::{Domain, Field};
use ligament_catalogue::{fault, Fault};
use ligament_instance::PublishedField;
use ligament_model::{Edges, MAX_GRID_DIMENSIONS};
use ligament_surface::{Block, Encoder, FieldValues};
use ligament_wire::tap::{Level, REASON, SURFACES, UNIT};
use ligament_wire::{ArrayOrder, ArrayRef, DType, Value};
use std::cell::RefCell;

/// The points of a block in the array of a field. It is made at each `publish`, so it allocates nothing.
pub(crate) struct Window<'a> {
    field: &'a Field,
    bytes: &'a [u8],
    axes: usize,
    /// The number of the block's own points along each axis.
    points: [u64; MAX_GRID_DIMENSIONS],
    /// The distances of two points along each axis, in bytes.
    strides: [i64; MAX_GRID_DIMENSIONS],
    /// The block's first point on the lattice of the whole grid.
    origin: [u64; MAX_GRID_DIMENSIONS],
    /// The layers of ghosts that a surface needs beyond the upper side along each axis: 1 where the grid goes
    /// on.
    layers: [u64; MAX_GRID_DIMENSIONS],
    encoder: &'a RefCell<Encoder>,
}

impl<'a> Window<'a> {
    /// Makes the window of a field of a domain. `bytes` is the array of the field, with its ghosts.
    pub fn new(domain: &'a Domain, field: &'a Field, bytes: &'a [u8]) -> Window<'a> {
        let axes = domain.range().len();
        let (mut points, mut strides) = ([1; MAX_GRID_DIMENSIONS], [0; MAX_GRID_DIMENSIONS]);
        let (mut origin, mut layers) = ([0; MAX_GRID_DIMENSIONS], [0; MAX_GRID_DIMENSIONS]);
        for (axis, (begin, end)) in domain.range().iter().enumerate() {
            (points[axis], origin[axis]) = (end - begin, *begin);
            let goes_on = domain.edges()[axis] == Edges::Periodic || !domain.at_edge(axis)[1];
            layers[axis] = u64::from(goes_on);
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
        Window { field, bytes, axes, points, strides, origin, layers, encoder: domain.encoder() }
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

    fn surfaces(&self, levels: &[Level]) -> Value {
        match self.encode(levels) {
            Ok(surfaces) => {
                let unit = Value::String(self.field.unit().to_owned());
                Value::Map(vec![(UNIT.into(), unit), (SURFACES.into(), Value::List(surfaces))])
            }
            Err(why) => Value::Map(vec![(REASON.into(), Value::String(why.into()))]),
        }
    }
}

impl Window<'_> {
    /// Returns the bytes of the surface at each level, or the reason why the field has none.
    fn encode(&self, levels: &[Level]) -> Result<Vec<Value>, Fault> {
        let (name, axes, ghosts) = (self.field.name(), self.axes, self.field.ghosts());
        if axes != MAX_GRID_DIMENSIONS {
            return Err(fault!(
                BAD_FIELD,
                "surfaces are made of fields with three axes, and the grid has {axes}"
            ));
        }
        let goes_on = self.layers.contains(&1);
        if goes_on && ghosts == 0 {
            return Err(fault!(
                BAD_FIELD,
                "surfaces need the ghosts of a field, and \"{name}\" has none; give it one"
            ));
        }
        let converted;
        let values = match self.field.dtype() {
            DType::Float64 => bytemuck::try_cast_slice(self.bytes).map(FieldValues::F64),
            DType::Float32 => bytemuck::try_cast_slice(self.bytes).map(FieldValues::F32),
            other => {
                converted = as_doubles(other, self.bytes).ok_or_else(|| {
                    let kind = other.name();
                    fault!(BAD_FIELD, "surfaces are made of real numbers, and \"{name}\" is of the type {kind}")
                })?;
                Ok(FieldValues::F64(&converted))
            }
        };
        let values =
            values.map_err(|error| fault!(BAD_FIELD, "the array of \"{name}\" cannot be read: {error}"))?;
        let element = self.field.dtype().size();
        let block = Block {
            values,
            first: self.place([0; MAX_GRID_DIMENSIONS]) / element,
            strides: self.strides.map(|stride| stride as usize / element),
            origin: self.origin,
            points: std::array::from_fn(|axis| self.points[axis] + self.layers[axis]),
        };
        let mut encoder = self.encoder.borrow_mut();
        let bytes = levels.iter().map(|level| {
            let surface = encoder.encode(&block, level.0).map_err(Fault::from)?;
            Ok(Value::Bytes(surface.bytes.to_vec().into()))
        });
        bytes.collect()
    }
}

/// Returns the elements of an array as doubles, each of which is equal to its element. There is none for a type
/// with other numbers.
fn as_doubles(dtype: DType, bytes: &[u8]) -> Option<Vec<f64>> {
    macro_rules! convert {
        ($type:ty) => {
            bytes
                .chunks_exact(size_of::<$type>())
                .map(|one| one.try_into().map(|one| f64::from(<$type>::from_ne_bytes(one))).ok())
                .collect()
        };
    }
    match dtype {
        DType::Bool | DType::UInt8 => convert!(u8),
        DType::Int8 => convert!(i8),
        DType::Int16 => convert!(i16),
        DType::UInt16 => convert!(u16),
        DType::Int32 => convert!(i32),
        DType::UInt32 => convert!(u32),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_integers_become_equal_doubles() {
        let bytes: Vec<u8> = [-3i16, i16::MAX].iter().flat_map(|one| one.to_ne_bytes()).collect();
        assert_eq!(as_doubles(DType::Int16, &bytes), Some(vec![-3.0, 32767.0]));
        assert_eq!(as_doubles(DType::Bool, &[0, 1]), Some(vec![0.0, 1.0]));
        assert_eq!(as_doubles(DType::Int64, &[0; 16]), None);
    }
}
