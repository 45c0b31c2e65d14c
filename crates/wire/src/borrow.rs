//! Values over the sender's own memory, which the sender lends for one call. Their bytes are copied when the
//! body of the message is written, and not before.

use crate::error::WireError;
use crate::gather::check_names;
use crate::parts::array_source;
use crate::value::{Array, ArrayOrder, DType, Element, SettingValue, Value};

/// A value to be sent. Lists and maps have two forms: over borrowed slices, and over vectors that the caller
/// has built for this message.
#[derive(Clone, Debug)]
pub enum ValueRef<'a> {
    /// Nothing.
    None,
    /// True or false.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// An integer that may be larger than the largest `i64`.
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
    /// A list in a vector.
    Items(Vec<ValueRef<'a>>),
    /// A map with text keys.
    Map(&'a [(&'a str, ValueRef<'a>)]),
    /// A map with text keys in a vector.
    Entries(Vec<(&'a str, ValueRef<'a>)>),
    /// An array.
    Array(ArrayRef<'a>),
    /// Settings.
    Settings(&'a [(String, SettingValue)]),
    /// A value that another object owns, such as a received message.
    Owned(&'a Value),
}

/// An array to be sent, over the sender's own memory.
#[derive(Clone, Copy, Debug)]
pub struct ArrayRef<'a> {
    /// The type of the elements.
    pub dtype: DType,
    /// The extent of each dimension, at most eight; empty for a scalar array.
    pub shape: &'a [u64],
    /// Byte strides, one for each dimension. `None` if the elements are contiguous in `order`.
    pub strides: Option<&'a [i64]>,
    /// Order of the elements in the message. Without strides, `data` has the same order.
    pub order: ArrayOrder,
    /// All bytes from the element with the lowest address to that with the highest.
    pub data: &'a [u8],
    /// Offset of element 0 in `data`, in bytes. With negative strides, this is not 0.
    pub offset: usize,
    /// A name for each axis, or none at all.
    pub names: &'a [String],
    /// The unit of the elements.
    pub unit: Option<&'a str>,
}

impl<'a> ArrayRef<'a> {
    /// Makes an array over contiguous elements.
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
    /// Checks that a message can hold the array: the shape is possible, all elements lie within `data`, and
    /// there is a name for each axis or no name.
    ///
    /// # Errors
    /// Fails if one of these conditions does not hold.
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
