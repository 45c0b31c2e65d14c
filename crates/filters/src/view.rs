//! Read-only views of arrays in memory that another owner holds: the bytes of an array, and the layout of
//! its elements in these bytes.

use bytemuck::{AnyBitPattern, Pod};
use ligament_catalogue::{fault, Fault};
use ligament_wire::{Array, ArrayMeta, ArrayOrder, ArrayRef, Bytes, DType};
use std::borrow::Cow;

/// An array in memory that is only read.
#[derive(Debug, Clone)]
pub struct ArrayView<'a> {
    pub dtype: DType,
    pub shape: Vec<u64>,
    /// Byte strides, one for each dimension. None if the elements are contiguous in `order`.
    pub strides: Option<Vec<i64>>,
    pub order: ArrayOrder,
    pub data: &'a [u8],
    /// Offset of element 0 in `data`, in bytes.
    pub offset: usize,
    pub names: Cow<'a, [String]>,
    pub unit: Option<&'a str>,
}

impl<'a> From<ArrayRef<'a>> for ArrayView<'a> {
    fn from(array: ArrayRef<'a>) -> ArrayView<'a> {
        ArrayView {
            dtype: array.dtype,
            shape: array.shape.to_vec(),
            strides: array.strides.map(<[i64]>::to_vec),
            order: array.order,
            data: array.data,
            offset: array.offset,
            names: Cow::Borrowed(array.names),
            unit: array.unit,
        }
    }
}

impl<'a> From<&'a Array> for ArrayView<'a> {
    fn from(array: &'a Array) -> ArrayView<'a> {
        ArrayView::from(ArrayRef::from(array))
    }
}

/// The owner of typed elements that a `Bytes` shares. The elements keep the alignment of their type.
pub(crate) struct TypedElements<T>(pub Vec<T>);

impl<T: Pod> AsRef<[u8]> for TypedElements<T> {
    fn as_ref(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }
}

/// Returns the elements as bytes that several owners can share.
pub(crate) fn bytes_of<T: Pod + Send + Sync>(elements: Vec<T>) -> Bytes {
    if elements.is_empty() {
        Bytes::new()
    } else {
        Bytes::from_owner(TypedElements(elements))
    }
}

impl<'a> ArrayView<'a> {
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        count(&self.shape)
    }

    /// Returns true if the array has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the array in the form in which a message borrows it.
    pub fn as_ref(&self) -> ArrayRef<'_> {
        ArrayRef {
            dtype: self.dtype,
            shape: &self.shape,
            strides: self.strides.as_deref(),
            order: self.order,
            data: self.data,
            offset: self.offset,
            names: &self.names,
            unit: self.unit,
        }
    }

    /// Returns the byte strides, one for each dimension.
    pub fn byte_strides(&self) -> Vec<i64> {
        match &self.strides {
            Some(strides) => strides.clone(),
            None => contiguous(&self.shape, self.order, self.dtype.size() as i64),
        }
    }

    /// Returns the elements in the memory order `order`. `T` has the size of an element, or of one part of
    /// a complex element. Contiguous elements are borrowed if they are aligned; other elements are copied.
    ///
    /// # Errors
    /// There is no memory for the copy.
    pub fn elements<T: AnyBitPattern + Copy>(&self) -> Result<Cow<'a, [T]>, Fault> {
        let together = match &self.strides {
            None => true,
            Some(strides) => {
                self.is_empty() || *strides == contiguous(&self.shape, self.order, self.dtype.size() as i64)
            }
        };
        if together {
            let data = &self.data[self.offset..self.offset + self.len() * self.dtype.size()];
            return Ok(match bytemuck::try_cast_slice(data) {
                Ok(elements) => Cow::Borrowed(elements),
                Err(_) => Cow::Owned(unaligned(data)),
            });
        }
        let mut gathered = room(&[self.len() as u64, (self.dtype.size() / size_of::<T>()) as u64])?;
        self.gather(&mut gathered);
        Ok(Cow::Owned(gathered))
    }

    /// Copies strided elements row by row, along the axis that runs fastest in `order`.
    fn gather<T: AnyBitPattern + Copy>(&self, to: &mut Vec<T>) {
        let strides = self.byte_strides();
        let mut axes: Vec<usize> = (0..self.shape.len()).collect();
        if self.order == ArrayOrder::RowMajor {
            axes.reverse();
        }
        let size = self.dtype.size();
        let (row, row_stride) = match axes.first() {
            Some(&axis) => (self.shape[axis] as usize, strides[axis]),
            None => (1, size as i64),
        };
        let outer = &axes[1.min(axes.len())..];
        let mut index = vec![0u64; self.shape.len()];
        loop {
            let places = outer.iter().map(|&axis| index[axis] as i64 * strides[axis]);
            let start = self.offset as i64 + places.sum::<i64>();
            if row_stride == size as i64 {
                let data = &self.data[start as usize..start as usize + row * size];
                match bytemuck::try_cast_slice(data) {
                    Ok(elements) => to.extend_from_slice(elements),
                    Err(_) => to.extend(unaligned::<T>(data)),
                }
            } else {
                for i in 0..row as i64 {
                    let at = (start + i * row_stride) as usize;
                    to.extend(unaligned::<T>(&self.data[at..at + size]));
                }
            }
            let moved = outer.iter().any(|&axis| {
                index[axis] += 1;
                let goes_on = index[axis] < self.shape[axis];
                if !goes_on {
                    index[axis] = 0;
                }
                goes_on
            });
            if !moved {
                return;
            }
        }
    }

    /// Returns a copy of the array in memory of its own, with contiguous elements.
    ///
    /// # Errors
    /// There is no memory for the copy.
    pub fn gathered(&self) -> Result<Array, Fault> {
        let data = match self.dtype.size() {
            1 => bytes_of(self.elements::<u8>()?.into_owned()),
            2 => bytes_of(self.elements::<u16>()?.into_owned()),
            4 => bytes_of(self.elements::<u32>()?.into_owned()),
            _ => bytes_of(self.elements::<u64>()?.into_owned()),
        };
        Ok(self.over(data))
    }

    /// Returns an array of this type and shape over other bytes, which hold contiguous elements.
    pub fn over(&self, data: Bytes) -> Array {
        array(self.dtype, &self.shape, self.order, data, &self.names, self.unit)
    }
}

/// Returns an array over bytes that hold exactly its elements, contiguous in `order`.
pub(crate) fn array(
    dtype: DType,
    shape: &[u64],
    order: ArrayOrder,
    data: Bytes,
    names: &[String],
    unit: Option<&str>,
) -> Array {
    let plain = names.is_empty() && unit.is_none();
    let meta = || ArrayMeta { names: names.to_vec(), unit: unit.map(str::to_owned), strides: None };
    let meta = if plain { None } else { Some(meta()) };
    Array::new(dtype, shape, order, data, meta).expect("as many bytes as its elements take")
}

/// Copies elements out of bytes that may be unaligned.
fn unaligned<T: AnyBitPattern + Copy>(data: &[u8]) -> Vec<T> {
    data.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect()
}

/// Returns the number of elements of an array of this shape.
pub(crate) fn count(shape: &[u64]) -> usize {
    if shape.contains(&0) {
        0
    } else {
        shape.iter().product::<u64>() as usize
    }
}

/// Maximum size of the data that a filter makes of one message, in GiB.
const MAX_OUTPUT_GIB: u64 = 64;

/// Returns the number of elements of an array of this shape. `size` is the size of one element, in bytes.
///
/// # Errors
/// The array would be larger than `MAX_OUTPUT_GIB`.
pub(crate) fn allowed(shape: &[u64], size: usize) -> Result<usize, Fault> {
    let size = size as u64;
    let bytes = if shape.contains(&0) {
        Some(0)
    } else {
        shape.iter().try_fold(size, |bytes, &extent| bytes.checked_mul(extent))
    };
    match bytes.filter(|&bytes| bytes <= MAX_OUTPUT_GIB << 30) {
        Some(bytes) => Ok((bytes / size) as usize),
        None => Err(fault!(
            FILTER_FAILED,
            "it would make {shape:?} elements of {size} bytes, and a filter makes at most {MAX_OUTPUT_GIB} GiB \
             of a message"
        )),
    }
}

/// Returns an empty vector with capacity for exactly the elements of an array of this shape.
///
/// # Errors
/// The array would be larger than `MAX_OUTPUT_GIB`, or there is not enough memory.
pub(crate) fn room<T>(shape: &[u64]) -> Result<Vec<T>, Fault> {
    let count = allowed(shape, size_of::<T>())?;
    let mut room = Vec::new();
    match room.try_reserve_exact(count) {
        Ok(()) => Ok(room),
        Err(_) => {
            Err(fault!(FILTER_FAILED, "there is no memory for the {shape:?} elements that it would make"))
        }
    }
}

/// Returns the byte strides of contiguous elements. `size` is the size of one element, in bytes.
pub(crate) fn contiguous(shape: &[u64], order: ArrayOrder, size: i64) -> Vec<i64> {
    let mut strides = vec![0; shape.len()];
    let mut step = size;
    for place in 0..shape.len() {
        let axis = match order {
            ArrayOrder::RowMajor => shape.len() - 1 - place,
            ArrayOrder::ColumnMajor => place,
        };
        strides[axis] = step;
        step = step.saturating_mul(shape[axis] as i64);
    }
    strides
}

/// Returns the distance between two neighbours on an axis, in elements. The array has at least one element.
pub(crate) fn between(shape: &[u64], order: ArrayOrder, axis: usize) -> usize {
    let inner = match order {
        ArrayOrder::RowMajor => &shape[axis + 1..],
        ArrayOrder::ColumnMajor => &shape[..axis],
    };
    inner.iter().product::<u64>() as usize
}
