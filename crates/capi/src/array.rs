//! Arrays at the border: the caller's own, lent for one call, and views of received ones.

use crate::misuse::Misuse;
use crate::options::{dtype, lig_dtype_code, lig_order_code, order, order_code};
use crate::status::{name, null};
use ligament_instance::{Array, ArrayKind, ArrayOrder, ArrayRef, DType, Error, PlainArray};
use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;

/// The most dimensions an array may have.
pub const LIG_MAX_DIMS: usize = 8;

/// An array of the caller's, to be sent or received into. Set what is not mentioned to zero:
/// `lig_array a = {.dtype = LIG_FLOAT64, .ndim = 2, .shape = {rows, columns}, .data = elements};`
#[repr(C)]
pub struct lig_array {
    /// The type of the elements.
    pub dtype: lig_dtype_code,
    /// The number of dimensions: 0 (one element) to 8.
    pub ndim: u32,
    /// Which index runs fastest. With `strides`: the order in which the elements travel.
    pub order: lig_order_code,
    /// Zero; anything else is `LIG_ERR_USAGE`.
    pub reserved: u32,
    /// The extent of each dimension, in the order of the indices (Fortran's `shape(array)`); only the first
    /// `ndim` count.
    pub shape: [u64; LIG_MAX_DIMS],
    /// Bytes from one element to the next along each dimension, possibly negative; NULL if the elements lie
    /// next to each other in `order`.
    pub strides: *const i64,
    /// Element 0. May be NULL if there are no elements. Not written to when it is sent.
    pub data: *mut c_void,
    /// A name for each dimension, or NULL.
    pub names: *const *const c_char,
    /// The unit of the elements, or NULL.
    pub unit: *const c_char,
}

/// A received array, where its sender put it. Read-only, and valid for as long as the message (or value) that
/// it is part of.
#[repr(C)]
pub struct lig_array_view {
    /// The type of the elements.
    pub dtype: lig_dtype_code,
    /// The number of dimensions: 0 (one element) to 8.
    pub ndim: u32,
    /// Which index runs fastest.
    pub order: lig_order_code,
    /// True if the elements lie next to each other in `order`.
    pub contiguous: bool,
    /// Zero.
    pub reserved: [u8; 3],
    /// The number of elements.
    pub length: u64,
    /// The extent of each dimension, in the order of the indices; only the first `ndim` count.
    pub shape: [u64; LIG_MAX_DIMS],
    /// Bytes from one element to the next along each dimension; always set. The bytes of one element:
    /// `lig_dtype_size`.
    pub strides: [i64; LIG_MAX_DIMS],
    /// Element 0, aligned for its type; not to be looked at if `length` is 0.
    pub data: *const c_void,
}

impl lig_array_view {
    /// The view of an array.
    pub(crate) fn of(array: &Array) -> lig_array_view {
        let mut view = MaybeUninit::uninit();
        lig_array_view::write(&mut view, array);
        // SAFETY: just written.
        unsafe { view.assume_init() }
    }

    /// Writes the view of an array to where it shall stand.
    #[inline]
    pub(crate) fn write(to: &mut MaybeUninit<lig_array_view>, array: &Array) {
        let place = to.as_mut_ptr();
        let shape = array.extents();
        let (contiguous, ndim) = (array.own_strides().is_none(), array.ndim());
        // Member by member: a struct that is put together first and then moved costs more than all the rest.
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

/// The byte strides of elements that lie next to each other. Extents of received arrays were checked, so that
/// this cannot overflow unless there are no elements; then the strides do not matter.
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

/// An array's description, checked.
pub(crate) struct ArrayDescription<'a> {
    pub dtype: DType,
    pub order: ArrayOrder,
    pub shape: &'a [u64],
    pub names: Vec<String>,
    pub unit: Option<&'a str>,
}

/// Checks all of a description but the memory.
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
        // SAFETY: it describes readable memory, as who made it has promised; an array of this kind has so many
        // bytes.
        (alike && plain && !data.is_null()).then(|| unsafe { std::slice::from_raw_parts(data, kind.bytes()) })
    }
}

/// The commonest array, whose elements lie together and that has neither names nor unit. None for all others,
/// and for what is wrong: `describe` and `lent` say what that is.
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

/// A process has no more memory than this, bytes: the system gives no addresses above it unasked. Who says that
/// he has more has made a mistake, such as a negative size.
pub(crate) const MAX_ADDRESSABLE_BYTES: u64 = 1 << 47;

/// The bytes that contiguous elements take, if they fit any memory.
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

/// As `contiguous`, or what is wrong.
pub(crate) fn nbytes(dtype: DType, shape: &[u64]) -> Result<usize, Error> {
    contiguous(dtype, shape).ok_or_else(|| Misuse::TooLarge { shape: shape.to_vec() }.into())
}

/// An array of the caller's to be sent. `described` keeps what the result borrows.
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

/// How far elements lie below element 0, and how many bytes it is from the lowest to the end of the highest.
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
