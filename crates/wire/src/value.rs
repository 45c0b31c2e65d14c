//! The values that messages carry, as a receiver holds them: plain data, and arrays over shared, read-only
//! bytes.

use crate::sys::Bytes;
use bytemuck::{AnyBitPattern, NoUninit};

use crate::error::WireError;
use crate::gather;
use ligament_catalogue::said;

/// The most dimensions an array may have.
pub const MAX_DIMS: usize = 8;
/// Each extent of an array is below this.
pub(crate) const MAX_EXTENT: u64 = 1 << 48;

/// A received value.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Value {
    /// Nothing; a message of this value is its header alone.
    #[default]
    None,
    /// True or false.
    Bool(bool),
    /// An integer that fits 64 bits with sign.
    Int(i64),
    /// An integer above `i64::MAX`; smaller ones are always read as [`Value::Int`].
    UInt(u64),
    /// A double.
    Float(f64),
    /// A complex number: real and imaginary part.
    Complex(f64, f64),
    /// Text.
    String(String),
    /// Bytes.
    Bytes(Bytes),
    /// A list of any values.
    List(Vec<Value>),
    /// A map with text keys, in the sender's order. Keys are not compared with each other.
    Map(Vec<(String, Value)>),
    /// An array.
    Array(Array),
    /// Settings, in the sender's order.
    Settings(Vec<(String, SettingValue)>),
}

/// The value of a setting. An empty list is read as an empty [`SettingValue::IntList`], whatever it was sent
/// as.
#[derive(Clone, Debug, PartialEq)]
pub enum SettingValue {
    /// True or false.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A double.
    Float(f64),
    /// Text.
    String(String),
    /// A list of integers.
    IntList(Vec<i64>),
    /// A list of doubles.
    FloatList(Vec<f64>),
    /// A list of lists of doubles.
    FloatGrid(Vec<Vec<f64>>),
}

/// The type of an array's elements; the numbers are those of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum DType {
    /// One byte, 0 or 1. Other bytes are not refused and mean true, so nothing here makes a Rust `bool` of
    /// them.
    Bool = 1,
    /// `i8`
    Int8 = 2,
    /// `i16`
    Int16 = 3,
    /// `i32`
    Int32 = 4,
    /// `i64`
    Int64 = 5,
    /// `u8`
    UInt8 = 6,
    /// `u16`
    UInt16 = 7,
    /// `u32`
    UInt32 = 8,
    /// `u64`
    UInt64 = 9,
    /// `f32`
    Float32 = 10,
    /// `f64`
    Float64 = 11,
    /// `[f32; 2]`: real and imaginary part
    Complex64 = 12,
    /// `[f64; 2]`: real and imaginary part
    Complex128 = 13,
}

impl DType {
    /// Every type, in the order of their numbers.
    pub const ALL: [DType; 13] = [
        DType::Bool,
        DType::Int8,
        DType::Int16,
        DType::Int32,
        DType::Int64,
        DType::UInt8,
        DType::UInt16,
        DType::UInt32,
        DType::UInt64,
        DType::Float32,
        DType::Float64,
        DType::Complex64,
        DType::Complex128,
    ];

    /// Bytes of one element.
    #[inline]
    pub const fn size(self) -> usize {
        match self {
            DType::Bool | DType::Int8 | DType::UInt8 => 1,
            DType::Int16 | DType::UInt16 => 2,
            DType::Int32 | DType::UInt32 | DType::Float32 => 4,
            DType::Int64 | DType::UInt64 | DType::Float64 | DType::Complex64 => 8,
            DType::Complex128 => 16,
        }
    }

    /// The type's name, as NumPy spells it.
    pub const fn name(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::Int8 => "int8",
            DType::Int16 => "int16",
            DType::Int32 => "int32",
            DType::Int64 => "int64",
            DType::UInt8 => "uint8",
            DType::UInt16 => "uint16",
            DType::UInt32 => "uint32",
            DType::UInt64 => "uint64",
            DType::Float32 => "float32",
            DType::Float64 => "float64",
            DType::Complex64 => "complex64",
            DType::Complex128 => "complex128",
        }
    }

    /// The type of this number, if there is one.
    #[inline]
    pub fn from_u8(code: u8) -> Option<DType> {
        DType::ALL.get(usize::from(code).wrapping_sub(1)).copied()
    }
}

impl TryFrom<u8> for DType {
    type Error = WireError;
    fn try_from(code: u8) -> Result<DType, WireError> {
        DType::from_u8(code).ok_or_else(|| {
            WireError::array(said!(UNFIT_ARRAY, "unknown element type {code}; known are 1 to 13"))
        })
    }
}

/// Which index runs fastest in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum ArrayOrder {
    /// The last index (C).
    #[default]
    RowMajor,
    /// The first index (Fortran).
    ColumnMajor,
}

mod sealed {
    pub trait Sealed {}
}

/// A Rust type that can be an array's element.
pub trait Element: sealed::Sealed + NoUninit + Send + Sync {
    /// The element type in a message.
    const DTYPE: DType;
}

macro_rules! elements {
    ($($rust:ty => $dtype:ident),* $(,)?) => {
        $(impl sealed::Sealed for $rust {}
        impl Element for $rust { const DTYPE: DType = DType::$dtype; })*
    };
}

elements! {
    bool => Bool, i8 => Int8, i16 => Int16, i32 => Int32, i64 => Int64, u8 => UInt8, u16 => UInt16,
    u32 => UInt32,
    u64 => UInt64, f32 => Float32, f64 => Float64, [f32; 2] => Complex64, [f64; 2] => Complex128,
}

/// Properties that few arrays have.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ArrayMeta {
    /// A name for each axis, or none at all.
    pub names: Vec<String>,
    /// The unit of the elements.
    pub unit: Option<String>,
    /// Byte strides, one for each dimension, if the elements do not lie next to each other in `order`. Element
    /// 0 is at the start of the data, so that every stride along an axis of two or more elements is at least 0.
    pub strides: Option<Vec<i64>>,
}

/// An array over bytes that are shared and never change. Cloning it shares them.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    dtype: DType,
    ndim: u8,
    order: ArrayOrder,
    shape: [u64; MAX_DIMS],
    data: Bytes,
    meta: Option<Box<ArrayMeta>>,
}

/// Type, shape and order of arrays that follow each other on a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayKind {
    dtype: DType,
    ndim: u8,
    order: ArrayOrder,
    shape: [u64; MAX_DIMS],
    bytes: usize,
}

impl ArrayKind {
    /// The kind of contiguous arrays of this type, shape and order. Errors: as [`Array::new`].
    pub fn new(dtype: DType, shape: &[u64], order: ArrayOrder) -> Result<ArrayKind, WireError> {
        let bytes = gather::contiguous_bytes(dtype, shape)? as usize;
        let mut extents = [0; MAX_DIMS];
        extents[..shape.len()].copy_from_slice(shape);
        Ok(ArrayKind { dtype, ndim: shape.len() as u8, order, shape: extents, bytes })
    }

    /// The type of the elements.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The extents.
    #[inline]
    pub fn shape(&self) -> &[u64] {
        &self.shape[..usize::from(self.ndim)]
    }

    /// Which index runs fastest.
    #[inline]
    pub fn order(&self) -> ArrayOrder {
        self.order
    }

    /// The number of bytes that the elements take.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns true if an array of this type, shape and order is of this kind.
    #[inline(always)]
    pub fn is(&self, dtype: DType, shape: &[u64], order: ArrayOrder) -> bool {
        // Not as slices: a call to compare a few words would cost more than they do.
        let same = || shape.iter().zip(&self.shape).all(|(a, b)| a == b);
        self.dtype == dtype && self.order == order && usize::from(self.ndim) == shape.len() && same()
    }
}

/// Keeps typed elements alive under `Bytes`, so that their alignment is kept.
struct TypedBytes<T>(Vec<T>);

impl<T: NoUninit> AsRef<[u8]> for TypedBytes<T> {
    fn as_ref(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }
}

impl Array {
    /// Copies `elements`, laid out in `order`, into a new array. Error: the shape asks for another number of
    /// them, or has more than eight dimensions.
    pub fn from_slice<T: Element>(
        elements: &[T],
        shape: &[usize],
        order: ArrayOrder,
    ) -> Result<Array, WireError> {
        Array::from_vec(elements.to_vec(), shape, order)
    }

    /// The same without a copy.
    pub fn from_vec<T: Element>(
        elements: Vec<T>,
        shape: &[usize],
        order: ArrayOrder,
    ) -> Result<Array, WireError> {
        let mut extents = [0; MAX_DIMS];
        let ndim = shape.len();
        let place = extents.get_mut(..ndim).ok_or_else(|| gather::too_many_dims(ndim))?;
        for (extent, &given) in place.iter_mut().zip(shape) {
            *extent = given as u64;
        }
        Array::new(T::DTYPE, &extents[..ndim], order, Bytes::from_owner(TypedBytes(elements)), None)
    }

    /// An array over bytes that exist: contiguous in `order`, or as `meta.strides` says. Errors: the bytes do
    /// not hold exactly the elements (or, with strides, do not hold all), more than eight dimensions, an extent
    /// of 2⁴⁸ or more, or as many names or strides as there are not dimensions.
    pub fn new(
        dtype: DType,
        shape: &[u64],
        order: ArrayOrder,
        data: Bytes,
        meta: Option<ArrayMeta>,
    ) -> Result<Array, WireError> {
        let nbytes = gather::contiguous_bytes(dtype, shape)?;
        let strides = meta.as_ref().and_then(|meta| meta.strides.as_deref());
        if let Some(meta) = &meta {
            gather::check_names(&meta.names, shape.len())?;
        }
        match strides {
            Some(strides) => {
                gather::check_span(dtype, shape, strides, 0, data.len() as u64)?;
                if nbytes > data.len() as u64 {
                    return Err(WireError::array(said!(
                        UNFIT_ARRAY,
                        "byte strides {strides:?} lay the elements of shape {shape:?} over each other"
                    )));
                }
            }
            None if nbytes != data.len() as u64 => {
                return Err(WireError::array(said!(
                    UNFIT_ARRAY,
                    "shape {shape:?} of {} takes {nbytes} bytes, but there are {}",
                    dtype.name(),
                    data.len()
                )))
            }
            None => {}
        }
        let mut extents = [0; MAX_DIMS];
        extents[..shape.len()].copy_from_slice(shape);
        let meta = meta.map(Box::new);
        Ok(Array { dtype, ndim: shape.len() as u8, order, shape: extents, data, meta })
    }

    /// For the decoder's fast path, which has made the checks of [`Array::new`].
    #[inline]
    pub(crate) fn from_checked(
        dtype: DType,
        ndim: u8,
        shape: [u64; MAX_DIMS],
        order: ArrayOrder,
        data: Bytes,
    ) -> Array {
        Array { dtype, ndim, order, shape, data, meta: None }
    }

    /// The kind of this array; none if it has names, a unit or strides of its own.
    #[inline]
    pub fn kind(&self) -> Option<ArrayKind> {
        let Array { dtype, ndim, order, shape, .. } = *self;
        self.meta.is_none().then(|| ArrayKind { dtype, ndim, order, shape, bytes: self.data.len() })
    }

    /// Adds axis names: one for each dimension. Error: another number of names.
    pub fn with_names(mut self, names: &[&str]) -> Result<Array, WireError> {
        let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
        gather::check_names(&names, self.shape().len())?;
        self.meta.get_or_insert_default().names = names;
        Ok(self)
    }

    /// Adds the unit of the elements.
    pub fn with_unit(mut self, unit: &str) -> Array {
        self.meta.get_or_insert_default().unit = Some(unit.to_string());
        self
    }

    /// The type of the elements.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The extent of each dimension; empty for a scalar array, which has one element.
    #[inline]
    pub fn shape(&self) -> &[u64] {
        &self.shape[..usize::from(self.ndim)]
    }

    /// The extents, with zeros behind those of its dimensions.
    #[inline]
    pub fn extents(&self) -> &[u64; MAX_DIMS] {
        &self.shape
    }

    /// The number of dimensions.
    #[inline]
    pub fn ndim(&self) -> usize {
        usize::from(self.ndim)
    }

    /// Which index runs fastest (if there are no strides of its own).
    #[inline]
    pub fn order(&self) -> ArrayOrder {
        self.order
    }

    /// The number of elements.
    pub fn len(&self) -> u64 {
        // An extent of 0 first, since the others may then be anything.
        if self.shape().contains(&0) {
            return 0;
        }
        self.shape().iter().product()
    }

    /// Returns true if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that the elements take together, without padding.
    pub fn nbytes(&self) -> u64 {
        self.len() * self.dtype.size() as u64
    }

    /// Byte strides, one for each dimension.
    pub fn strides(&self) -> Vec<i64> {
        match self.own_strides() {
            Some(strides) => strides.to_vec(),
            None => gather::contiguous_strides(self.dtype, self.shape(), self.order)[..self.ndim()].to_vec(),
        }
    }

    /// The strides that came with the array; none if it is contiguous in its order.
    #[inline]
    pub fn own_strides(&self) -> Option<&[i64]> {
        self.meta.as_ref()?.strides.as_deref()
    }

    /// Names of the axes; empty if they have none.
    pub fn names(&self) -> &[String] {
        self.meta.as_ref().map_or(&[], |meta| &meta.names)
    }

    /// The unit of the elements.
    pub fn unit(&self) -> Option<&str> {
        self.meta.as_ref()?.unit.as_deref()
    }

    /// The bytes of the elements, with their padding if there are strides. Aligned to 64 bytes if they came in
    /// a part of a body that is so aligned.
    #[inline]
    pub fn data(&self) -> &Bytes {
        &self.data
    }

    /// The elements in memory order, if `T` is their type (`u8` serves bools as well), they are aligned for it,
    /// and lie next to each other.
    pub fn as_slice<T: Element + AnyBitPattern>(&self) -> Option<&[T]> {
        let same = T::DTYPE == self.dtype || (T::DTYPE == DType::UInt8 && self.dtype == DType::Bool);
        if !same || self.own_strides().is_some() {
            return None;
        }
        if self.data.is_empty() {
            // Nothing need not be aligned.
            return Some(&[]);
        }
        bytemuck::try_cast_slice(&self.data).ok()
    }
}

/// The place of the bytes in a plain array of a known kind.
pub struct Frame<'a> {
    data: &'a mut Bytes,
    bytes: usize,
}

impl Frame<'_> {
    /// Puts other bytes there. False, and nothing done, if they are not as many as the array's elements take.
    #[inline(always)]
    pub fn fill(self, data: Bytes) -> bool {
        let fits = data.len() == self.bytes;
        if fits {
            *self.data = data;
        }
        fits
    }
}

impl Value {
    /// The place for other bytes, if this is a plain array of a kind already.
    #[inline(always)]
    pub fn frame(&mut self, kind: &ArrayKind) -> Option<Frame<'_>> {
        match self {
            Value::Array(array) if array.meta.is_none() && kind.is(array.dtype, array.shape(), array.order) => {
                Some(Frame { data: &mut array.data, bytes: kind.bytes })
            }
            _ => None,
        }
    }

    /// Makes this an array of a known kind, in place: moving one costs more than filling one. False, and
    /// nothing done, if the bytes are not as many as its elements take.
    #[inline(always)]
    pub fn become_array(&mut self, kind: &ArrayKind, data: Bytes) -> bool {
        if data.len() != kind.bytes {
            return false;
        }
        let ArrayKind { dtype, ndim, order, ref shape, .. } = *kind;
        match self {
            Value::Array(array) if array.meta.is_none() => {
                (array.dtype, array.ndim, array.order) = (dtype, ndim, order);
                (array.shape, array.data) = (*shape, data);
            }
            _ => *self = Value::Array(Array { dtype, ndim, order, shape: *shape, data, meta: None }),
        }
        true
    }

    /// Lets go of what it holds. A plain array keeps its frame, for `become_array`; it must not be looked at
    /// before.
    #[inline]
    pub fn let_go(&mut self) {
        match self {
            Value::Array(array) if array.meta.is_none() => array.data = Bytes::new(),
            _ => *self = Value::None,
        }
    }
}

impl From<Array> for Value {
    fn from(array: Array) -> Value {
        Value::Array(array)
    }
}
