//! Shapes and strides of arrays: the number of bytes that the elements take, a check that all elements lie
//! within the array's bytes, and copies of elements with strides to a part. A copy may be of any piece of the
//! part, so that a part can be sent in pieces.

use crate::borrow::ArrayRef;
use crate::error::WireError;
use crate::layout::MAX_BODY;
use crate::value::{ArrayOrder, DType, MAX_DIMS, MAX_EXTENT};
use ligament_catalogue::said;

pub(crate) fn too_many_dims(ndim: usize) -> WireError {
    WireError::array(said!(
        UNFIT_ARRAY,
        "{ndim} dimensions, but at most {MAX_DIMS} are possible; reshape the array"
    ))
}

/// Returns the number of bytes of all elements without padding. Errors: there are too many dimensions, or an
/// extent or the whole is too large.
#[inline]
pub(crate) fn contiguous_bytes(dtype: DType, shape: &[u64]) -> Result<u64, WireError> {
    if shape.len() > MAX_DIMS {
        return Err(too_many_dims(shape.len()));
    }
    let mut bytes = dtype.size() as u64;
    let mut overflow = false;
    let mut empty = false;
    for &extent in shape {
        if extent >= MAX_EXTENT {
            return Err(WireError::array(said!(
                UNFIT_ARRAY,
                "shape {shape:?}: extent {extent} is not below 2^48"
            )));
        }
        empty |= extent == 0;
        let (product, over) = bytes.overflowing_mul(extent);
        bytes = product;
        overflow |= over;
    }
    if empty {
        return Ok(0);
    }
    if overflow || bytes >= MAX_BODY {
        return Err(WireError::array(said!(
            UNFIT_ARRAY,
            "shape {shape:?} of {} is over the limit of 2^56 bytes",
            dtype.name()
        )));
    }
    Ok(bytes)
}

/// Returns the byte strides of contiguous elements. Strides past the last dimension are 0. In an array
/// without elements, strides have no meaning; there they saturate, so that they do not overflow.
pub(crate) fn contiguous_strides(dtype: DType, shape: &[u64], order: ArrayOrder) -> [i64; MAX_DIMS] {
    let mut strides = [0; MAX_DIMS];
    let mut step = dtype.size() as i64;
    for place in 0..shape.len() {
        let axis = match order {
            ArrayOrder::RowMajor => shape.len() - 1 - place,
            ArrayOrder::ColumnMajor => place,
        };
        strides[axis] = step;
        step = step.saturating_mul(shape[axis].min(MAX_EXTENT) as i64);
    }
    strides
}

/// Checks that there are no axis names, or one for each dimension.
pub(crate) fn check_names(names: &[String], ndim: usize) -> Result<(), WireError> {
    if !names.is_empty() && names.len() != ndim {
        return Err(WireError::array(said!(UNFIT_ARRAY, "{} axis names for {ndim} dimensions", names.len())));
    }
    Ok(())
}

/// Checks that all elements lie within `len` bytes if element 0 is at `offset`. The caller has checked the
/// shape.
pub(crate) fn check_span(
    dtype: DType,
    shape: &[u64],
    strides: &[i64],
    offset: u64,
    len: u64,
) -> Result<(), WireError> {
    let (low, high) = span(dtype, shape, strides)?;
    let (first, end) = (i128::from(offset) + low, i128::from(offset) + high);
    if first < 0 || end > i128::from(len) {
        return Err(WireError::array(said!(
            UNFIT_ARRAY,
            "shape {shape:?} of {} with byte strides {strides:?} reaches from byte {first} to {end} of {len}",
            dtype.name()
        )));
    }
    Ok(())
}

/// Returns the begin and the end of the bytes that the elements take, relative to element 0.
pub(crate) fn span(dtype: DType, shape: &[u64], strides: &[i64]) -> Result<(i128, i128), WireError> {
    if strides.len() != shape.len() {
        return Err(WireError::array(said!(
            UNFIT_ARRAY,
            "{} strides for {} dimensions",
            strides.len(),
            shape.len()
        )));
    }
    if shape.contains(&0) {
        return Ok((0, 0));
    }
    let (mut low, mut high) = (0, dtype.size() as i128);
    for (&extent, &stride) in shape.iter().zip(strides) {
        let reach = i128::from(extent - 1) * i128::from(stride);
        if reach < 0 {
            low += reach;
        } else {
            high += reach;
        }
    }
    Ok((low, high))
}

/// The elements of a checked array, in the order in which they are in the message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gather<'a> {
    data: &'a [u8],
    offset: i64,
    size: usize,
    /// Extent and byte stride of each loop over the elements, the outermost loop first. Two loops that can be
    /// done as one are one.
    loops: [(u64, i64); MAX_DIMS],
    count: usize,
}

impl<'a> Gather<'a> {
    /// Makes the loops over the elements. The caller has checked the array's shape, strides and bytes.
    pub fn new(array: &ArrayRef<'a>, strides: &[i64]) -> Gather<'a> {
        let size = array.dtype.size();
        let mut loops = [(1_u64, size as i64); MAX_DIMS];
        let mut count = 0;
        let ndim = array.shape.len();
        for place in 0..ndim {
            let axis = match array.order {
                ArrayOrder::RowMajor => place,
                ArrayOrder::ColumnMajor => ndim - 1 - place,
            };
            let (extent, stride) = (array.shape[axis], strides[axis]);
            if extent == 1 {
                continue;
            }
            if count > 0 && stride.checked_mul(extent as i64) == Some(loops[count - 1].1) {
                loops[count - 1] = (loops[count - 1].0.saturating_mul(extent), stride);
            } else {
                loops[count] = (extent, stride);
                count += 1;
            }
        }
        Gather { data: array.data, offset: array.offset as i64, size, loops, count: count.max(1) }
    }

    /// Returns the elements as one slice if they are contiguous.
    pub fn contiguous(&self, nbytes: usize) -> Option<&'a [u8]> {
        let (extent, stride) = self.loops[0];
        let one_run = self.count == 1 && (stride == self.size as i64 || extent == 1);
        if one_run {
            self.data.get(self.offset as usize..self.offset as usize + nbytes)
        } else {
            None
        }
    }

    /// Fills `dst` with the bytes of the elements, from byte `from` of the part on.
    pub fn copy(&self, from: u64, mut dst: &mut [u8]) {
        let size = self.size as u64;
        let mut index = from / size;
        let skip = (from % size) as usize;
        if skip > 0 && !dst.is_empty() {
            let (part, rest) = dst.split_at_mut(dst.len().min(self.size - skip));
            let element = self.element(index);
            part.copy_from_slice(&element[skip..skip + part.len()]);
            dst = rest;
            index += 1;
        }
        let whole = dst.len() - dst.len() % self.size;
        let (elements, tail) = dst.split_at_mut(whole);
        self.copy_elements(index, elements);
        if !tail.is_empty() {
            let element = self.element(index + (whole / self.size) as u64);
            tail.copy_from_slice(&element[..tail.len()]);
        }
    }

    fn loops(&self) -> &[(u64, i64)] {
        &self.loops[..self.count]
    }

    fn element(&self, mut index: u64) -> &'a [u8] {
        let mut at = self.offset;
        for &(extent, stride) in self.loops().iter().rev() {
            at += (index % extent) as i64 * stride;
            index /= extent;
        }
        &self.data[at as usize..at as usize + self.size]
    }

    fn copy_elements(&self, index: u64, mut dst: &mut [u8]) {
        if dst.is_empty() {
            return;
        }
        let inner = self.count - 1;
        let mut counters = [0; MAX_DIMS];
        let mut rest = index;
        let mut at = self.offset;
        for (counter, &(extent, stride)) in counters.iter_mut().zip(self.loops()).rev() {
            *counter = rest % extent;
            at += *counter as i64 * stride;
            rest /= extent;
        }
        let (extent, stride) = self.loops[inner];
        loop {
            let run = (extent - counters[inner]).min((dst.len() / self.size) as u64) as usize;
            let (now, later) = dst.split_at_mut(run * self.size);
            copy_run(self.data, at, stride, self.size, now);
            if later.is_empty() {
                return;
            }
            dst = later;
            at -= counters[inner] as i64 * stride;
            counters[inner] = 0;
            for axis in (0..inner).rev() {
                let (extent, stride) = self.loops[axis];
                counters[axis] += 1;
                at += stride;
                if counters[axis] < extent {
                    break;
                }
                at -= extent as i64 * stride;
                counters[axis] = 0;
            }
        }
    }
}

fn copy_run(data: &[u8], at: i64, stride: i64, size: usize, dst: &mut [u8]) {
    if stride == size as i64 {
        dst.copy_from_slice(&data[at as usize..at as usize + dst.len()]);
        return;
    }
    match size {
        1 => copy_spread::<1>(data, at, stride, dst),
        2 => copy_spread::<2>(data, at, stride, dst),
        4 => copy_spread::<4>(data, at, stride, dst),
        8 => copy_spread::<8>(data, at, stride, dst),
        _ => copy_spread::<16>(data, at, stride, dst),
    }
}

fn copy_spread<const SIZE: usize>(data: &[u8], mut at: i64, stride: i64, dst: &mut [u8]) {
    for element in dst.chunks_exact_mut(SIZE) {
        let from = at as usize;
        element.copy_from_slice(&data[from..from + SIZE]);
        at = at.wrapping_add(stride);
    }
}
