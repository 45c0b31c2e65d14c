//! Arrays in calls: arrays of the caller, borrowed for one call, and views of received arrays.

use crate::misuse::Misuse;
use crate::options::{dtype, lig_dtype_code, lig_order_code, order, order_code};
use crate::status::{name, null};
use ligament_instance::{Array, ArrayKind, ArrayOrder, ArrayRef, DType, Error, PlainArray};
use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;

/// Maximum number of dimensions of an array.
pub const LIG_MAX_DIMS: usize = 8;

/// An array of the caller, to be sent or to be received into. Set all members to zero that you do not use:
/// `lig_array a = {.dtype = LIG_FLOAT64, .ndim = 2, .shape = {rows, columns}, .data = elements};`
#[repr(C)]
pub struct lig_array {
    /// The type of the elements.
    pub dtype: lig_dtype_code,
    /// The number of dimensions: 0 (one element) to 8.
    pub ndim: u32,
    /// The index that runs fastest. With `strides`: the order in which the elements are sent.
    pub order: lig_order_code,
    /// Must be zero; any other value is `LIG_ERR_USAGE`.
    pub reserved: u32,
    /// The extent of each dimension, in the order of the indices (Fortran's `shape(array)`); only the first
    /// `ndim` count.
    pub shape: [u64; LIG_MAX_DIMS],
    /// Bytes from one element to the next along each dimension, possibly negative; NULL if the elements lie
    /// next to each other in `order`.
    pub strides: *const i64,
    /// Element 0. May be NULL if there are no elements. A send does not write to it.
    pub data: *mut c_void,
    /// A name for each dimension, or NULL.
    pub names: *const *const c_char,
    /// The unit of the elements, or NULL.
    pub unit: *const c_char,
}

/// A received array, in the memory into which its sender put it. It is read-only, and valid as long as the
/// message or value that contains it.
#[repr(C)]
pub struct lig_array_view {
    /// The type of the elements.
    pub dtype: lig_dtype_code,
    /// The number of dimensions: 0 (one element) to 8.
    pub ndim: u32,
    /// The index that runs fastest.
    pub order: lig_order_code,
    /// True if the elements lie next to each other in `order`.
    pub contiguous: bool,
    /// Zero.
    pub reserved: [u8; 3],
    /// The number of elements.
    pub length: u64,
    /// The extent of each dimension, in the order of the indices; only the first `ndim` count.
    pub shape: [u64; LIG_MAX_DIMS],
    /// Bytes from one element to the next along each dimension; always set. `lig_dtype_size` gives the size of
    /// one element.
    pub strides: [i64; LIG_MAX_DIMS],
    /// Element 0, aligned for its type; must not be read if `length` is 0.
    pub data: *const c_void,
}

impl lig_array_view {
    /// Returns the view of an array.
    pub(crate) fn of(array: &Array) -> lig_array_view {
        let mut view = MaybeUninit::uninit();
        lig_array_view::write(&mut view, array);
        // SAFETY: `write` has set all members.
        unsafe { view.assume_init() }
    }

    /// Writes the view of an array to `to`.
    #[inline]
    pub(crate) fn write(to: &mut MaybeUninit<lig_array_view>, array: &Array) {
        let place = to.as_mut_ptr();
        let shape = array.extents();
        let (contiguous, ndim) = (array.own_strides().is_none(), array.ndim());
        // Each member is written by itself. To make a whole struct and then move it costs more than all the
        // rest.
        // SAFETY: every place lies in `to`, and all members are written.
        unsafe {
            (&raw mut (*place).dtype).write(array.dtype() as i32);
            (&raw mut (*place).ndim).write(ndim as u32);
            (&raw mut (*place).order).write(order_code(array.order()));
            (&raw mut (*place).contiguous).write(contiguous);
            (&raw mut (*place).reserved).write([0; 3]);
            (&raw mut (*place).shape).write(*shape);
            (&raw mut (*place).data).write(array.data().as_ptr().cast());
            let strides = &raw mut (*place).strides;
            if contiguous && ndim == 1 {
                (&raw mut (*place).length).write(shape[0]);
                strides.write([0; LIG_MAX_DIMS]);
                strides.cast::<i64>().write(array.dtype().size() as i64);
            } else {
                (&raw mut (*place).length).write(array.len());
                strides.write(strides_of(array));
            }
        }
    }
}

fn strides_of(array: &Array) -> [i64; LIG_MAX_DIMS] {
    let mut strides = [0; LIG_MAX_DIMS];
    let ndim = array.ndim();
    match array.own_strides() {
        Some(own) => strides[..ndim].copy_from_slice(own),
        None => contiguous_strides(array.dtype(), array.shape(), array.order(), &mut strides[..ndim]),
    }
    strides
}

/// Returns the byte strides of elements that lie next to each other. The extents of received arrays were
/// checked, so this cannot overflow unless there are no elements, and then the strides do not matter.
fn contiguous_strides(dtype: DType, shape: &[u64], order: ArrayOrder, strides: &mut [i64]) {
    let mut stride = dtype.size() as i64;
    let mut set = |axis: usize| {
        strides[axis] = stride;
        stride = stride.wrapping_mul(shape[axis] as i64);
    };
    match order {
        ArrayOrder::RowMajor => (0..shape.len()).rev().for_each(&mut set),
        ArrayOrder::ColumnMajor => (0..shape.len()).for_each(&mut set),
    }
}

/// The checked description of an array.
pub(crate) struct ArrayDescription<'a> {
    pub dtype: DType,
    pub order: ArrayOrder,
    pub shape: &'a [u64],
    pub names: Vec<String>,
    pub unit: Option<&'a str>,
}

/// Checks a description, except for its memory.
///
/// # Safety
/// `array` is NULL or a `lig_array` that lives for `'a`, as do the texts in it.
#[inline]
pub(crate) unsafe fn describe<'a>(
    array: *const lig_array,
) -> Result<(ArrayDescription<'a>, &'a lig_array), Error> {
    // SAFETY: as the caller promises.
    let Some(array) = (unsafe { array.as_ref() }) else { return Err(null("array")) };
    if array.reserved != 0 {
        return Err(reserved(array.reserved));
    }
    let dtype = dtype(array.dtype)?;
    let order = order(array.order)?;
    let Some(shape) = array.shape.get(..array.ndim as usize) else { return Err(too_many_dims(array.ndim)) };
    let names = if array.names.is_null() {
        Vec::new()
    } else {
        // SAFETY: the caller gives one name for each dimension.
        let given = unsafe { std::slice::from_raw_parts(array.names, shape.len()) };
        given
            .iter()
            // SAFETY: each ends with a NUL.
            .map(|&text| unsafe { name(text, "an axis name") }.map(str::to_owned))
            .collect::<Result<_, _>>()?
    };
    let unit = if array.unit.is_null() {
        None
    } else {
        // SAFETY: it ends with a NUL.
        Some(unsafe { name(array.unit, "unit") }?)
    };
    Ok((ArrayDescription { dtype, order, shape, names, unit }, array))
}

/// An array as its caller describes it, for `send_array_as_before`.
pub(crate) struct CallersArray<'a>(Option<&'a lig_array>);

impl<'a> CallersArray<'a> {
    /// # Safety
    /// As `plain`.
    #[inline(always)]
    pub unsafe fn new(array: *const lig_array) -> CallersArray<'a> {
        // SAFETY: as the caller promises.
        CallersArray(unsafe { array.as_ref() })
    }
}

impl<'a> PlainArray<'a> for CallersArray<'a> {
    #[inline(always)]
    fn elements(self, kind: &ArrayKind) -> Option<&'a [u8]> {
        let array = self.0?;
        let ours = (kind.dtype() as lig_dtype_code, kind.shape().len() as u32, order_code(kind.order()), 0);
        let alike = (array.dtype, array.ndim, array.order, array.reserved) == ours
            && kind.shape().iter().zip(&array.shape).all(|(a, b)| a == b);
        let plain = array.strides.is_null() && array.names.is_null() && array.unit.is_null();
        let data = array.data.cast_const().cast::<u8>();
        // SAFETY: the array describes readable memory, as the caller of `new` has promised. An array of this
        // kind has `kind.bytes()` bytes.
        (alike && plain && !data.is_null()).then(|| unsafe { std::slice::from_raw_parts(data, kind.bytes()) })
    }
}

/// Returns an array of the most common kind: its elements lie next to each other, and it has neither names nor
/// a unit. Returns `None` for any other array, and for a wrong description; `describe` and `lent` report what
/// is wrong.
///
/// # Safety
/// `array` is NULL, or valid and describes readable memory, for `'a`.
pub(crate) unsafe fn plain<'a>(array: *const lig_array) -> Option<ArrayRef<'a>> {
    // SAFETY: as the caller promises.
    let array = unsafe { array.as_ref() }?;
    if !(array.strides.is_null() && array.names.is_null() && array.unit.is_null())
        || array.data.is_null()
        || array.reserved != 0
    {
        return None;
    }
    let dtype = dtype(array.dtype).ok()?;
    let order = order(array.order).ok()?;
    let shape = array.shape.get(..array.ndim as usize)?;
    let bytes = contiguous(dtype, shape)?;
    // SAFETY: the caller's description covers these bytes.
    let data = unsafe { std::slice::from_raw_parts(array.data.cast_const().cast::<u8>(), bytes) };
    Some(ArrayRef { dtype, shape, strides: None, order, data, offset: 0, names: &[], unit: None })
}

#[cold]
fn reserved(value: u32) -> Error {
    Misuse::Reserved { value }.into()
}

#[cold]
pub(crate) fn too_many_dims(ndim: u32) -> Error {
    Misuse::TooManyDims { most: LIG_MAX_DIMS, ndim }.into()
}

/// Upper limit of the size of an array, in bytes: the system gives a process no addresses above it unless
/// asked. A larger size is a mistake, such as a negative number.
pub(crate) const MAX_ADDRESSABLE_BYTES: u64 = 1 << 47;

/// Returns the size of contiguous elements in bytes, or `None` if it is above the limit.
#[inline(always)]
fn contiguous(dtype: DType, shape: &[u64]) -> Option<usize> {
    let size = dtype.size() as u64;
    let bytes = match *shape {
        [length] => size.checked_mul(length)?,
        _ if shape.contains(&0) => 0,
        _ => shape.iter().try_fold(size, |bytes, &extent| bytes.checked_mul(extent))?,
    };
    (bytes <= MAX_ADDRESSABLE_BYTES).then_some(bytes as usize)
}

/// Does the same as `contiguous`, with an error in place of `None`.
pub(crate) fn nbytes(dtype: DType, shape: &[u64]) -> Result<usize, Error> {
    contiguous(dtype, shape).ok_or_else(|| Misuse::TooLarge { shape: shape.to_vec() }.into())
}

/// Returns an array of the caller that is to be sent. `described` keeps the parts that the result borrows.
///
/// # Safety
/// The memory that `array` describes is readable for `'a` and not written meanwhile.
#[inline]
pub(crate) unsafe fn lent<'a>(
    described: &'a ArrayDescription<'a>,
    array: &'a lig_array,
) -> Result<ArrayRef<'a>, Error> {
    let ArrayDescription { dtype, order, shape, ref names, unit } = *described;
    let (strides, low, span) = if array.strides.is_null() {
        (None, 0, nbytes(dtype, shape)?)
    } else {
        // SAFETY: the caller gives one stride for each dimension.
        let strides = unsafe { std::slice::from_raw_parts(array.strides, shape.len()) };
        let (low, span) = reach(dtype, shape, strides)?;
        (Some(strides), low, span)
    };
    let data = if span == 0 {
        &[]
    } else if array.data.is_null() {
        return Err(null("the array's data"));
    } else {
        // SAFETY: the caller's description covers these bytes.
        unsafe { std::slice::from_raw_parts(array.data.cast_const().cast::<u8>().sub(low), span) }
    };
    Ok(ArrayRef { dtype, shape, strides, order, data, offset: low, names, unit })
}

/// Returns two distances in bytes: from the lowest element to element 0, and from the lowest element to the end
/// of the highest one.
fn reach(dtype: DType, shape: &[u64], strides: &[i64]) -> Result<(usize, usize), Error> {
    if shape.contains(&0) {
        return Ok((0, 0));
    }
    let (mut low, mut high) = (0i128, dtype.size() as i128);
    for (&extent, &stride) in shape.iter().zip(strides) {
        let far = i128::from(extent - 1).saturating_mul(i128::from(stride));
        if far < 0 {
            low = low.saturating_sub(far);
        } else {
            high = high.saturating_add(far);
        }
    }
    match (low, low.saturating_add(high)) {
        (low, span) if span <= i128::from(MAX_ADDRESSABLE_BYTES) => Ok((low as usize, span as usize)),
        _ => Err(Misuse::TooWide { shape: shape.to_vec(), strides: strides.to_vec() }.into()),
    }
}
