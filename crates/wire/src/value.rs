//! The values of received messages: plain data, and arrays over shared, read-only bytes.

use crate::sys::Bytes;
use bytemuck::{AnyBitPattern, NoUninit};

use crate::error::WireError;
use crate::gather;
use ligament_catalogue::said;

/// Maximum number of dimensions of an array.
pub const MAX_DIMS: usize = 8;
/// Each extent of an array is less than this.
pub(crate) const MAX_EXTENT: u64 = 1 << 48;

/// A received value.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Value {
    /// Nothing. A message with this value is its header alone.
    #[default]
    None,
    /// True or false.
    Bool(bool),
    /// An integer that fits into `i64`.
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
    /// A map with text keys, in the sender's order. A key may occur twice: nothing here compares keys.
    Map(Vec<(String, Value)>),
    /// An array.
    Array(Array),
    /// Settings, in the sender's order.
    Settings(Vec<(String, SettingValue)>),
}

/// The value of a setting. An empty list becomes an empty [`SettingValue::IntList`], because an empty list
/// has no type in a message.
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

/// The type of an array's elements. The numbers are those in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum DType {
    /// One byte: 0 for false, any other number for true. Therefore no code here treats such a byte as a Rust
    /// `bool`, which may only be 0 or 1.
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
    /// All types, in the order of their numbers.
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

    /// Returns the size of an element, in bytes.
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

    /// Returns the name that NumPy gives the type.
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

    /// Returns the type with this number, if there is one.
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

/// The order of an array's elements in memory. The variants name the index that runs fastest.
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
    /// A name for each axis. Empty if the axes have no names.
    pub names: Vec<String>,
    /// The unit of the elements, if they have one.
    pub unit: Option<String>,
    /// Byte strides, one for each dimension, if the elements are not contiguous in `order`. Element 0 is at
    /// the start of the data, so the stride of an axis with two or more elements is at least 0.
    pub strides: Option<Vec<i64>>,
}

/// An array over bytes that never change. A clone of the array shares the bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    dtype: DType,
    ndim: u8,
    order: ArrayOrder,
    shape: [u64; MAX_DIMS],
    data: Bytes,
    meta: Option<Box<ArrayMeta>>,
}

/// The type, shape and order that several arrays on a port have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayKind {
    dtype: DType,
    ndim: u8,
    order: ArrayOrder,
    shape: [u64; MAX_DIMS],
    bytes: usize,
}

impl ArrayKind {
    /// Makes the kind of contiguous arrays of this type, shape and order. Errors: as [`Array::new`].
    pub fn new(dtype: DType, shape: &[u64], order: ArrayOrder) -> Result<ArrayKind, WireError> {
        let bytes = gather::contiguous_bytes(dtype, shape)? as usize;
        let mut extents = [0; MAX_DIMS];
        extents[..shape.len()].copy_from_slice(shape);
        Ok(ArrayKind { dtype, ndim: shape.len() as u8, order, shape: extents, bytes })
    }

    /// Returns the type of the elements.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Returns the extents.
    #[inline]
    pub fn shape(&self) -> &[u64] {
        &self.shape[..usize::from(self.ndim)]
    }

    /// Returns the order of the elements in memory.
    #[inline]
    pub fn order(&self) -> ArrayOrder {
        self.order
    }

    /// Returns the number of bytes that the elements take.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns true if an array of this type, shape and order is of this kind.
    #[inline(always)]
    pub fn is(&self, dtype: DType, shape: &[u64], order: ArrayOrder) -> bool {
        // The extents are compared one by one, because a call that compares slices takes longer for so few
        // numbers.
        let same = || shape.iter().zip(&self.shape).all(|(a, b)| a == b);
        self.dtype == dtype && self.order == order && usize::from(self.ndim) == shape.len() && same()
    }
}

/// The owner of typed elements under `Bytes`. The elements keep the alignment of their type.
struct TypedBytes<T>(Vec<T>);

impl<T: NoUninit> AsRef<[u8]> for TypedBytes<T> {
    fn as_ref(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }
}

impl Array {
    /// Copies `elements`, which are stored in `order`, to a new array. Error: the number of elements does not
    /// fit the shape, or the shape has more than eight dimensions.
    pub fn from_slice<T: Element>(
        elements: &[T],
        shape: &[usize],
        order: ArrayOrder,
    ) -> Result<Array, WireError> {
        Array::from_vec(elements.to_vec(), shape, order)
    }

    /// Does the same as `from_slice`, but takes the elements without a copy.
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

    /// Makes an array over existing bytes. The elements are contiguous in `order`, or are placed by
    /// `meta.strides`. Errors: the bytes are not exactly those of the elements (with strides, some elements
    /// lie outside); there are more than eight dimensions; an extent is 2⁴⁸ or more; the number of names or
    /// strides is not the number of dimensions.
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

    /// Makes an array for the decoder's fast path, which has made the checks of [`Array::new`] itself.
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

    /// Returns the kind of this array. `None` if the array has names, a unit or strides.
    #[inline]
    pub fn kind(&self) -> Option<ArrayKind> {
        let Array { dtype, ndim, order, shape, .. } = *self;
        self.meta.is_none().then(|| ArrayKind { dtype, ndim, order, shape, bytes: self.data.len() })
    }

    /// Sets the names of the axes, one for each dimension. Fails if the number of names is not the number
    /// of dimensions.
    pub fn with_names(mut self, names: &[&str]) -> Result<Array, WireError> {
        let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
        gather::check_names(&names, self.shape().len())?;
        self.meta.get_or_insert_default().names = names;
        Ok(self)
    }

    /// Sets the unit of the elements.
    pub fn with_unit(mut self, unit: &str) -> Array {
        self.meta.get_or_insert_default().unit = Some(unit.to_string());
        self
    }

    /// Returns the type of the elements.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Returns the extent of each dimension. The shape of a scalar array, which has one element, is empty.
    #[inline]
    pub fn shape(&self) -> &[u64] {
        &self.shape[..usize::from(self.ndim)]
    }

    /// Returns the extents, followed by zeros for the dimensions that the array does not have.
    #[inline]
    pub fn extents(&self) -> &[u64; MAX_DIMS] {
        &self.shape
    }

    /// Returns the number of dimensions.
    #[inline]
    pub fn ndim(&self) -> usize {
        usize::from(self.ndim)
    }

    /// Returns the order of the elements in memory. With strides, the strides count instead.
    #[inline]
    pub fn order(&self) -> ArrayOrder {
        self.order
    }

    /// Returns the number of elements.
    pub fn len(&self) -> u64 {
        // If one extent is 0, the product of the other extents may overflow. So this case is checked first.
        if self.shape().contains(&0) {
            return 0;
        }
        self.shape().iter().product()
    }

    /// Returns true if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of bytes of all elements, without padding.
    pub fn nbytes(&self) -> u64 {
        self.len() * self.dtype.size() as u64
    }

    /// Returns the byte strides, one for each dimension.
    pub fn strides(&self) -> Vec<i64> {
        match self.own_strides() {
            Some(strides) => strides.to_vec(),
            None => gather::contiguous_strides(self.dtype, self.shape(), self.order)[..self.ndim()].to_vec(),
        }
    }

    /// Returns the strides of an array that is not contiguous in its order. `None` for other arrays.
    #[inline]
    pub fn own_strides(&self) -> Option<&[i64]> {
        self.meta.as_ref()?.strides.as_deref()
    }

    /// Returns the names of the axes, which are empty if the axes have no names.
    pub fn names(&self) -> &[String] {
        self.meta.as_ref().map_or(&[], |meta| &meta.names)
    }

    /// Returns the unit of the elements, if they have one.
    pub fn unit(&self) -> Option<&str> {
        self.meta.as_ref()?.unit.as_deref()
    }

    /// Returns the bytes of the elements; with strides, the bytes between the elements, too. They are aligned
    /// to 64 bytes if they came in a part of a body with this alignment.
    #[inline]
    pub fn data(&self) -> &Bytes {
        &self.data
    }

    /// Returns the elements in memory order. `None` if `T` is not their type (`u8` may be used for bools), if
    /// they are not aligned for `T`, or if they are not contiguous.
    pub fn as_slice<T: Element + AnyBitPattern>(&self) -> Option<&[T]> {
        let same = T::DTYPE == self.dtype || (T::DTYPE == DType::UInt8 && self.dtype == DType::Bool);
        if !same || self.own_strides().is_some() {
            return None;
        }
        if self.data.is_empty() {
            // An empty slice needs no alignment.
            return Some(&[]);
        }
        bytemuck::try_cast_slice(&self.data).ok()
    }
}

/// The place for the bytes of an array that has a known kind and no names, unit and strides.
pub struct Frame<'a> {
    data: &'a mut Bytes,
    bytes: usize,
}

impl Frame<'_> {
    /// Replaces the bytes of the array. Returns false, and does nothing, if the number of bytes is not that
    /// of the elements.
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
    /// Returns the place at which the bytes of the array can be replaced, if the value is an array of this
    /// kind without names, unit and strides.
    #[inline(always)]
    pub fn frame(&mut self, kind: &ArrayKind) -> Option<Frame<'_>> {
        match self {
            Value::Array(array) if array.meta.is_none() && kind.is(array.dtype, array.shape(), array.order) => {
                Some(Frame { data: &mut array.data, bytes: kind.bytes })
            }
            _ => None,
        }
    }

    /// Turns the value into an array of a known kind, in place, because it costs more to move an array than
    /// to fill one. Returns false, and does nothing, if the number of bytes is not that of the elements.
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

    /// Drops the content of the value. A plain array drops its bytes only, so that `become_array` can fill it
    /// again. Until then, the caller must not read the array.
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
