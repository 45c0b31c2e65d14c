//! Values as a sender lends them for the length of one call: nothing is copied until the body is written.

use crate::error::WireError;
use crate::gather::check_names;
use crate::parts::array_source;
use crate::value::{Array, ArrayOrder, DType, Element, SettingValue, Value};

/// A value to be sent. Lists and maps come in two forms: over borrowed slices, and over vectors for trees that
/// are built on the way.
#[derive(Clone, Debug)]
pub enum ValueRef<'a> {
    /// Nothing.
    None,
    /// True or false.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// An integer that need not fit `i64`.
    UInt(u64),
    /// A double.
    Float(f64),
    /// A complex number: real and imaginary part.
    Complex(f64, f64),
    /// Text.
    Str(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
    /// A list.
    List(&'a [ValueRef<'a>]),
    /// A list.
    Items(Vec<ValueRef<'a>>),
    /// A map with text keys.
    Map(&'a [(&'a str, ValueRef<'a>)]),
    /// A map with text keys.
    Entries(Vec<(&'a str, ValueRef<'a>)>),
    /// An array.
    Array(ArrayRef<'a>),
    /// Settings.
    Settings(&'a [(String, SettingValue)]),
    /// A value that is held elsewhere, such as one that was received.
    Owned(&'a Value),
}

/// An array to be sent, over the sender's own memory.
#[derive(Clone, Copy, Debug)]
pub struct ArrayRef<'a> {
    /// The type of the elements.
    pub dtype: DType,
    /// The extent of each dimension, at most eight; empty for a scalar array.
    pub shape: &'a [u64],
    /// Byte strides, one for each dimension; none if the elements are contiguous in `order`.
    pub strides: Option<&'a [i64]>,
    /// In which order the elements stand in the message (and in `data`, if there are no strides).
    pub order: ArrayOrder,
    /// The bytes from the lowest to the highest addressed element.
    pub data: &'a [u8],
    /// The offset of element 0 in `data`: not 0 if there are negative strides.
    pub offset: usize,
    /// A name for each axis, or none at all.
    pub names: &'a [String],
    /// The unit of the elements.
    pub unit: Option<&'a str>,
}

impl<'a> ArrayRef<'a> {
    /// An array over contiguous elements.
    pub fn from_slice<T: Element>(elements: &'a [T], shape: &'a [u64], order: ArrayOrder) -> ArrayRef<'a> {
        ArrayRef {
            dtype: T::DTYPE,
            shape,
            strides: None,
            order,
            data: bytemuck::cast_slice(elements),
            offset: 0,
            names: &[],
            unit: None,
        }
    }
}

impl ArrayRef<'_> {
    /// Checks what a message asks of it: a shape that can be, elements within its bytes, a name for each axis
    /// or none.
    ///
    /// # Errors
    /// The value is wrong.
    pub fn check(&self) -> Result<(), WireError> {
        check_names(self.names, self.shape.len())?;
        array_source(self).map(|_| ())
    }
}

impl<'a> From<&'a Array> for ArrayRef<'a> {
    fn from(array: &'a Array) -> ArrayRef<'a> {
        ArrayRef {
            dtype: array.dtype(),
            shape: array.shape(),
            strides: array.own_strides(),
            order: array.order(),
            data: array.data(),
            offset: 0,
            names: array.names(),
            unit: array.unit(),
        }
    }
}

impl<'a> From<&'a Value> for ValueRef<'a> {
    fn from(value: &'a Value) -> ValueRef<'a> {
        ValueRef::Owned(value)
    }
}

impl<'a> From<ArrayRef<'a>> for ValueRef<'a> {
    fn from(array: ArrayRef<'a>) -> ValueRef<'a> {
        ValueRef::Array(array)
    }
}
