//! The filter `type`, which converts elements to another type. A float that becomes an integer loses its
//! fraction (rounding towards zero), as in C and NumPy. A number that the new type cannot hold is an error.

use crate::chain::{FilterRemark, FilterStep, StepOutput};
use crate::memory::FilterMemory;
use crate::numbers::BLOCK;
use crate::parcel::{kind_of, Data, Parcel};
use crate::view::{array, bytes_of, room, ArrayView};
use bytemuck::Pod;
use ligament_catalogue::{fault, Fault};
use ligament_wire::{Bytes, DType, Value};
use std::borrow::Cow;

/// Converts numbers and arrays to this type.
pub(crate) struct Type(DType);

impl Type {
    pub fn new(name: &str) -> Result<Type, Fault> {
        let found = DType::ALL.into_iter().find(|dtype| dtype.name() == name);
        found.map(Type).ok_or_else(|| fault!(FILTER_FAILED, "there is no type \"{name}\""))
    }
}

impl FilterStep for Type {
    fn apply<'a>(&mut self, parcel: Parcel<'a>, _: &mut Vec<FilterRemark>) -> Result<StepOutput<'a>, Fault> {
        let refused = |data: &Data<'_>| {
            fault!(FILTER_FAILED, "it takes numbers and arrays, and this is {}", kind_of(data))
        };
        let value = match &parcel.data {
            Data::Lent(view) if view.dtype == self.0 => return Ok(StepOutput::One(parcel)),
            Data::Lent(view) => Value::Array(self.converted(view)?),
            Data::Kept(Value::Array(one)) if one.dtype() == self.0 => return Ok(StepOutput::One(parcel)),
            Data::Kept(Value::Array(one)) => Value::Array(self.converted(&ArrayView::from(one))?),
            Data::Kept(value) => self.number(value).ok_or_else(|| refused(&parcel.data))??,
            Data::Own(numbers) => match numbers.to_send() {
                ligament_wire::ValueRef::Array(one) => Value::Array(self.converted(&ArrayView::from(one))?),
                ligament_wire::ValueRef::Float(one) => {
                    self.number(&Value::Float(one)).ok_or_else(|| refused(&parcel.data))??
                }
                _ => return Err(refused(&parcel.data)),
            },
        };
        Ok(StepOutput::One(parcel.with(Data::Kept(value))))
    }

    fn memory(&mut self) -> FilterMemory<'_> {
        FilterMemory::None
    }
}

impl Type {
    fn converted(&self, view: &ArrayView<'_>) -> Result<ligament_wire::Array, Fault> {
        let data = match view.dtype {
            DType::Bool => self.ints_to(view.elements::<u8>()?.iter().map(|&b| u8::from(b != 0)).collect()),
            DType::Int8 => self.ints_to(view.elements::<i8>()?),
            DType::Int16 => self.ints_to(view.elements::<i16>()?),
            DType::Int32 => self.ints_to(view.elements::<i32>()?),
            DType::Int64 => self.ints_to(view.elements::<i64>()?),
            DType::UInt8 => self.ints_to(view.elements::<u8>()?),
            DType::UInt16 => self.ints_to(view.elements::<u16>()?),
            DType::UInt32 => self.ints_to(view.elements::<u32>()?),
            DType::UInt64 => self.ints_to(view.elements::<u64>()?),
            DType::Float32 => self.floats_to(view.elements::<f32>()?),
            DType::Float64 => self.floats_to(view.elements::<f64>()?),
            DType::Complex64 => match self.0 {
                DType::Complex128 => cast(&view.elements::<f32>()?, f64::from),
                _ => Err(fault!(FILTER_FAILED, "complex numbers can become complex64 or complex128 only")),
            },
            DType::Complex128 => match self.0 {
                DType::Complex64 => singles(&view.elements::<f64>()?, 2, self.0),
                _ => Err(fault!(FILTER_FAILED, "complex numbers can become complex64 or complex128 only")),
            },
        }?;
        Ok(array(self.0, &view.shape, view.order, data, &view.names, view.unit))
    }

    fn ints_to<T: Integer>(&self, from: Cow<'_, [T]>) -> Result<Bytes, Fault> {
        let from = &*from;
        match self.0 {
            DType::Bool => cast(from, |x| u8::from(x.wide() != 0)),
            DType::Int8 => checked(from, Integer::wide, |x| x.wide() as i8, i8::MIN, i8::MAX),
            DType::Int16 => checked(from, Integer::wide, |x| x.wide() as i16, i16::MIN, i16::MAX),
            DType::Int32 => checked(from, Integer::wide, |x| x.wide() as i32, i32::MIN, i32::MAX),
            DType::Int64 => checked(from, Integer::wide, |x| x.wide() as i64, i64::MIN, i64::MAX),
            DType::UInt8 => checked(from, Integer::wide, |x| x.wide() as u8, u8::MIN, u8::MAX),
            DType::UInt16 => checked(from, Integer::wide, |x| x.wide() as u16, u16::MIN, u16::MAX),
            DType::UInt32 => checked(from, Integer::wide, |x| x.wide() as u32, u32::MIN, u32::MAX),
            DType::UInt64 => checked(from, Integer::wide, |x| x.wide() as u64, u64::MIN, u64::MAX),
            DType::Float32 => cast(from, Integer::single),
            DType::Float64 => cast(from, Integer::float),
            DType::Complex64 => cast(from, |x| [x.single(), 0.0]),
            DType::Complex128 => cast(from, |x| [x.float(), 0.0]),
        }
    }

    fn floats_to<T: crate::numbers::Float + std::fmt::Display>(
        &self,
        from: Cow<'_, [T]>,
    ) -> Result<Bytes, Fault> {
        let from = &*from;
        match self.0 {
            DType::Bool => cast(from, |x| u8::from(x.to_f64() != 0.0)),
            DType::Int8 => truncated(from, |x| x as i8, i8::MIN as f64, 128.0, self.0),
            DType::Int16 => truncated(from, |x| x as i16, i16::MIN as f64, 32_768.0, self.0),
            DType::Int32 => truncated(from, |x| x as i32, i32::MIN as f64, 2_147_483_648.0, self.0),
            DType::Int64 => truncated(from, |x| x as i64, i64::MIN as f64, 9_223_372_036_854_775_808.0, self.0),
            DType::UInt8 => truncated(from, |x| x as u8, 0.0, 256.0, self.0),
            DType::UInt16 => truncated(from, |x| x as u16, 0.0, 65_536.0, self.0),
            DType::UInt32 => truncated(from, |x| x as u32, 0.0, 4_294_967_296.0, self.0),
            DType::UInt64 => truncated(from, |x| x as u64, 0.0, 18_446_744_073_709_551_616.0, self.0),
            DType::Float32 => singles(from, 1, self.0),
            DType::Float64 => cast(from, |x| x.to_f64()),
            DType::Complex64 => fitting(from, 1, fits_single, |x| [x as f32, 0.0], self.0),
            DType::Complex128 => cast(from, |x| [x.to_f64(), 0.0]),
        }
    }

    /// Converts a single number. In a message, a single number has the widest type of its kind. Returns
    /// none if the value is not a number.
    fn number(&self, value: &Value) -> Option<Result<Value, Fault>> {
        let one = match *value {
            Value::Float(number) => self.floats_to(Cow::Owned(vec![number])),
            Value::Int(number) => self.ints_to(Cow::Owned(vec![number])),
            Value::UInt(number) => self.ints_to(Cow::Owned(vec![number])),
            Value::Bool(truth) => self.ints_to(Cow::Owned(vec![u8::from(truth)])),
            _ => return None,
        };
        Some(one.map(|bytes| {
            let word = |at: usize| {
                let mut word = [0; 8];
                let bytes = &bytes[at..];
                word[..bytes.len().min(8)].copy_from_slice(&bytes[..bytes.len().min(8)]);
                word
            };
            let single =
                |at: usize| f64::from(f32::from_le_bytes(word(at)[..4].try_into().expect("four bytes")));
            match self.0 {
                DType::Bool => Value::Bool(bytes[0] != 0),
                DType::Float64 => Value::Float(f64::from_le_bytes(word(0))),
                DType::Float32 => Value::Float(single(0)),
                DType::Complex128 => Value::Complex(f64::from_le_bytes(word(0)), 0.0),
                DType::Complex64 => Value::Complex(single(0), 0.0),
                DType::Int8 => Value::Int(i64::from(bytes[0] as i8)),
                DType::Int16 => Value::Int(i64::from(i16::from_le_bytes([bytes[0], bytes[1]]))),
                DType::Int32 => {
                    Value::Int(i64::from(i32::from_le_bytes(word(0)[..4].try_into().expect("four bytes"))))
                }
                DType::Int64 => Value::Int(i64::from_le_bytes(word(0))),
                _ => {
                    let number = u64::from_le_bytes(word(0));
                    i64::try_from(number).map_or(Value::UInt(number), Value::Int)
                }
            }
        }))
    }
}

/// An integer type of any size.
trait Integer: Pod {
    fn wide(self) -> i128;
    fn float(self) -> f64;
    /// Rounds the integer to single precision in one step, without rounding it to a double first.
    fn single(self) -> f32;
}

macro_rules! whole {
    ($($type:ty),*) => {
        $(impl Integer for $type {
            #[inline(always)]
            fn wide(self) -> i128 {
                self as i128
            }

            #[inline(always)]
            fn float(self) -> f64 {
                self as f64
            }

            #[inline(always)]
            fn single(self) -> f32 {
                self as f32
            }
        })*
    };
}

whole!(i8, i16, i32, i64, u8, u16, u32, u64);

fn cast<T: Copy, U: Pod + Send + Sync>(from: &[T], each: impl Fn(T) -> U) -> Result<Bytes, Fault> {
    let mut all = room(&[from.len() as u64])?;
    all.extend(from.iter().map(|&element| each(element)));
    Ok(bytes_of(all))
}

/// Converts integers to another integer type. Fails if one of them does not fit.
fn checked<T: Integer, U: Integer + Send + Sync>(
    from: &[T],
    wide: impl Fn(T) -> i128,
    each: impl Fn(T) -> U,
    least: U,
    most: U,
) -> Result<Bytes, Fault> {
    let fits = |x: T| (least.wide()..=most.wide()).contains(&wide(x));
    match from.iter().position(|&x| !fits(x)) {
        None => cast(from, each),
        Some(at) => Err(fault!(
            FILTER_FAILED,
            "element {at} is {}, and the type holds {} to {}",
            wide(from[at]),
            least.wide(),
            most.wide()
        )),
    }
}

/// Converts floats to integers by dropping their fractions. Fails if one of the integers is not at least
/// `least` and below `beyond`.
fn truncated<T: crate::numbers::Float, U: Pod + Send + Sync>(
    from: &[T],
    each: impl Fn(f64) -> U,
    least: f64,
    beyond: f64,
    to: DType,
) -> Result<Bytes, Fault> {
    fitting(from, 1, |x| x > least - 1.0 && x < beyond || x == least, each, to)
}

/// Returns true if single precision can hold the number. Infinity and NaN always fit.
fn fits_single(x: f64) -> bool {
    !x.is_finite() | (x as f32).is_finite()
}

/// Converts floats to single precision. Fails if one of them is too large. An array element has `parts`
/// floats.
fn singles<T: crate::numbers::Float>(from: &[T], parts: usize, to: DType) -> Result<Bytes, Fault> {
    let mut all = room::<f32>(&[from.len() as u64])?;
    for (i, block) in from.chunks(BLOCK).enumerate() {
        let at = all.len();
        all.extend(block.iter().map(|&x| x.to_f64() as f32));
        // The conversion and the check are two loops without branches, so that the compiler uses vector
        // instructions for both. The block stays in the nearest cache.
        let odd: u32 = all[at..].iter().map(|y| u32::from(!y.is_finite())).sum();
        if odd > 0 {
            all_fit(block, i * BLOCK, parts, fits_single, to)?;
        }
    }
    Ok(bytes_of(all))
}

/// Converts floats to another type. Fails if `fits` is false for one of them. An array element has `parts`
/// floats.
fn fitting<T: crate::numbers::Float, U: Pod + Send + Sync>(
    from: &[T],
    parts: usize,
    fits: impl Fn(f64) -> bool,
    each: impl Fn(f64) -> U,
    to: DType,
) -> Result<Bytes, Fault> {
    let mut all = room(&[from.len() as u64])?;
    for (i, block) in from.chunks(BLOCK).enumerate() {
        all_fit(block, i * BLOCK, parts, &fits, to)?;
        all.extend(block.iter().map(|&x| each(x.to_f64())));
    }
    Ok(bytes_of(all))
}

/// Fails if one float of the block does not fit. `before` is the number of floats before the block, and
/// `parts` the number of floats in an array element; the error message needs both.
fn all_fit<T: crate::numbers::Float>(
    block: &[T],
    before: usize,
    parts: usize,
    fits: impl Fn(f64) -> bool,
    to: DType,
) -> Result<(), Fault> {
    match block.iter().position(|&x| !fits(x.to_f64())) {
        None => Ok(()),
        Some(at) => Err(fault!(
            FILTER_FAILED,
            "element {} is {}, which {} cannot hold",
            (before + at) / parts,
            block[at].to_f64(),
            to.name()
        )),
    }
}
