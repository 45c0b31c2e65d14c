//! The numbers that filters compute with. Single-precision data stays in single precision, and all other
//! data is read as doubles, including integers and truth values. A message of one number stays one number,
//! and a list of numbers stays a list.

use crate::parcel::{kind_of, Data};
use crate::units::Conversion;
use crate::view::{array, bytes_of, contiguous, room, ArrayView};
use bytemuck::Pod;
use ligament_catalogue::{fault, Fault};
use ligament_wire::{ArrayOrder, ArrayRef, DType, Value, ValueRef};
use std::borrow::Cow;

/// Number of elements in one block of a check. The loop over a block has no branch; the result is tested
/// once per block.
pub(crate) const BLOCK: usize = 1024;

/// The elements of numbers, in memory order. A complex number has two elements.
#[derive(Debug, Clone)]
pub enum Real<'a> {
    F64(Cow<'a, [f64]>),
    F32(Cow<'a, [f32]>),
}

impl Real<'_> {
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        match self {
            Real::F64(elements) => elements.len(),
            Real::F32(elements) => elements.len(),
        }
    }

    /// Returns true if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The form of the numbers in the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shell {
    Array,
    Number,
    List,
}

/// The description of some numbers: everything except their values.
#[derive(Debug, Clone)]
pub struct NumberFrame {
    pub shell: Shell,
    pub shape: Vec<u64>,
    pub order: ArrayOrder,
    /// True if each number is complex, and so has two elements: its real and its imaginary part.
    pub complex: bool,
    pub names: Vec<String>,
    pub unit: Option<String>,
}

/// Numbers and their description. Filters change owned elements in place, and only read borrowed ones.
#[derive(Debug, Clone)]
pub struct NumberBuffer<'a> {
    pub real: Real<'a>,
    pub frame: NumberFrame,
}

/// A floating-point type in which filters compute.
pub trait Float:
    Pod + Send + Sync + PartialOrd + std::ops::Add<Output = Self> + std::ops::Mul<Output = Self>
{
    fn from_f64(value: f64) -> Self;
    fn to_f64(self) -> f64;
    fn is_finite(self) -> bool;
}

impl Float for f64 {
    #[inline(always)]
    fn from_f64(value: f64) -> f64 {
        value
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }

    #[inline(always)]
    fn is_finite(self) -> bool {
        f64::is_finite(self)
    }
}

impl Float for f32 {
    #[inline(always)]
    fn from_f64(value: f64) -> f32 {
        value as f32
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    #[inline(always)]
    fn is_finite(self) -> bool {
        f32::is_finite(self)
    }
}

fn read_as<'a, T: Pod + Copy>(view: &ArrayView<'a>, wide: impl Fn(T) -> f64) -> Result<Real<'a>, Fault> {
    let elements = view.elements::<T>()?;
    let mut doubles = room(&[elements.len() as u64])?;
    doubles.extend(elements.iter().map(|&element| wide(element)));
    Ok(Real::F64(Cow::Owned(doubles)))
}

fn real_of<'a>(view: &ArrayView<'a>) -> Result<Real<'a>, Fault> {
    match view.dtype {
        DType::Float64 | DType::Complex128 => view.elements().map(Real::F64),
        DType::Float32 | DType::Complex64 => view.elements().map(Real::F32),
        DType::Bool => read_as(view, |element: u8| f64::from(u8::from(element != 0))),
        DType::Int8 => read_as(view, |element: i8| f64::from(element)),
        DType::Int16 => read_as(view, |element: i16| f64::from(element)),
        DType::Int32 => read_as(view, |element: i32| f64::from(element)),
        DType::Int64 => read_as(view, |element: i64| element as f64),
        DType::UInt8 => read_as(view, |element: u8| f64::from(element)),
        DType::UInt16 => read_as(view, |element: u16| f64::from(element)),
        DType::UInt32 => read_as(view, |element: u32| f64::from(element)),
        DType::UInt64 => read_as(view, |element: u64| element as f64),
    }
}

fn number_in(value: &Value) -> Option<f64> {
    match *value {
        Value::Float(number) => Some(number),
        Value::Int(number) => Some(number as f64),
        Value::UInt(number) => Some(number as f64),
        Value::Bool(truth) => Some(f64::from(u8::from(truth))),
        _ => None,
    }
}

impl<'a> NumberBuffer<'a> {
    /// Returns the numbers in the data, or none if the data holds something else. Owned elements are moved
    /// out of the data; others are borrowed or converted.
    fn found<'d: 'a>(data: &'a mut Data<'d>) -> Result<Option<NumberBuffer<'a>>, Fault> {
        let view = match data {
            Data::Own(numbers) => {
                let taken = match &mut numbers.real {
                    Real::F64(elements) => Real::F64(std::mem::take(elements)),
                    Real::F32(elements) => Real::F32(std::mem::take(elements)),
                };
                return Ok(Some(NumberBuffer { real: taken, frame: numbers.frame.clone() }));
            }
            Data::Lent(view) => view.clone(),
            Data::Kept(Value::Array(array)) => ArrayView::from(&*array),
            Data::Kept(Value::List(items)) => {
                let real: Option<Vec<f64>> = items.iter().map(number_in).collect();
                let shape = vec![items.len() as u64];
                let list = |real| NumberBuffer::bare(Real::F64(Cow::Owned(real)), Shell::List, shape);
                return Ok(real.map(list));
            }
            Data::Kept(Value::Complex(re, im)) => {
                let mut numbers =
                    NumberBuffer::bare(Real::F64(Cow::Owned(vec![*re, *im])), Shell::Number, vec![]);
                numbers.frame.complex = true;
                return Ok(Some(numbers));
            }
            Data::Kept(value) => {
                let one =
                    |number| NumberBuffer::bare(Real::F64(Cow::Owned(vec![number])), Shell::Number, Vec::new());
                return Ok(number_in(value).map(one));
            }
        };
        let frame = NumberFrame {
            shell: Shell::Array,
            order: view.order,
            complex: matches!(view.dtype, DType::Complex64 | DType::Complex128),
            names: view.names.to_vec(),
            unit: view.unit.map(str::to_owned),
            shape: view.shape.clone(),
        };
        Ok(Some(NumberBuffer { real: real_of(&view)?, frame }))
    }

    fn bare(real: Real<'a>, shell: Shell, shape: Vec<u64>) -> NumberBuffer<'a> {
        let frame = NumberFrame {
            shell,
            shape,
            order: ArrayOrder::RowMajor,
            complex: false,
            names: vec![],
            unit: None,
        };
        NumberBuffer { real, frame }
    }

    /// Returns the real numbers in the data.
    ///
    /// # Errors
    /// The data holds something else; the error says what it is.
    pub fn of<'d: 'a>(data: &'a mut Data<'d>) -> Result<NumberBuffer<'a>, Fault> {
        let kind = kind_of(data);
        match NumberBuffer::found(data)? {
            Some(numbers) if !numbers.frame.complex => Ok(numbers),
            _ => Err(fault!(
                FILTER_FAILED,
                "it takes numbers, lists of numbers, and arrays of real numbers, and this is {kind}"
            )),
        }
    }

    /// Returns the real or complex numbers in the data. Each complex number is two elements.
    ///
    /// # Errors
    /// The data holds something else; the error says what it is.
    pub fn with_complex<'d: 'a>(data: &'a mut Data<'d>) -> Result<NumberBuffer<'a>, Fault> {
        let kind = kind_of(data);
        NumberBuffer::found(data)?.ok_or_else(|| {
            fault!(FILTER_FAILED, "it takes numbers, lists of numbers, and arrays, and this is {kind}")
        })
    }

    /// Converts these numbers to the unit and the memory order of `others`, so that the elements of both
    /// correspond.
    ///
    /// # Errors
    /// The shapes differ, or the unit of these numbers does not convert to the unit of the others.
    pub fn aligned_with(self, others: &NumberFrame) -> Result<NumberBuffer<'a>, Fault> {
        let frame = &self.frame;
        if frame.shape != others.shape || frame.complex != others.complex {
            let (these, those) = (described(frame), described(others));
            return Err(fault!(FILTER_FAILED, "one has {these}, and the other {those}"));
        }
        let conversion = Conversion::between(frame.unit.as_deref(), others.unit.as_deref())?;
        let mut aligned = match conversion {
            Some(conversion) => conversion.of(self)?,
            None => self,
        };
        if aligned.frame.order != others.order {
            aligned.real = match &aligned.real {
                Real::F64(elements) => Real::F64(Cow::Owned(reordered(elements, &aligned.frame)?)),
                Real::F32(elements) => Real::F32(Cow::Owned(reordered(elements, &aligned.frame)?)),
            };
        }
        aligned.frame.order = others.order;
        aligned.frame.unit.clone_from(&others.unit);
        Ok(aligned)
    }

    /// Applies a function to each element: `wide` to doubles, and `single` to single precision. Owned
    /// elements are changed in place.
    ///
    /// # Errors
    /// The result of a finite number is too large for single precision.
    pub fn map(
        self,
        wide: impl Fn(f64) -> f64,
        single: impl Fn(f32) -> f32,
    ) -> Result<NumberBuffer<'static>, Fault> {
        let real = match self.real {
            Real::F64(elements) => Real::F64(mapped(elements, wide)),
            Real::F32(elements) => {
                let parts = if self.frame.complex { 2 } else { 1 };
                all_stay_finite(&elements, parts, &single)?;
                Real::F32(mapped(elements, single))
            }
        };
        Ok(NumberBuffer { real, frame: self.frame })
    }

    /// Returns the same numbers, with borrowed elements.
    pub(crate) fn lent(&self) -> NumberBuffer<'_> {
        let real = match &self.real {
            Real::F64(elements) => Real::F64(Cow::Borrowed(elements)),
            Real::F32(elements) => Real::F32(Cow::Borrowed(elements)),
        };
        NumberBuffer { real, frame: self.frame.clone() }
    }

    /// Returns true if `is_so` is true for at least one element.
    pub(crate) fn any(&self, is_so: impl Fn(f64) -> bool) -> bool {
        match &self.real {
            Real::F64(elements) => elements.iter().any(|&x| is_so(x)),
            Real::F32(elements) => elements.iter().any(|&x| is_so(f64::from(x))),
        }
    }

    /// Returns the same numbers with owned elements. Borrowed elements are copied.
    pub fn into_own(self) -> NumberBuffer<'static> {
        let real = match self.real {
            Real::F64(elements) => Real::F64(Cow::Owned(elements.into_owned())),
            Real::F32(elements) => Real::F32(Cow::Owned(elements.into_owned())),
        };
        NumberBuffer { real, frame: self.frame }
    }

    /// Returns the elements as doubles.
    pub fn to_f64(&self) -> Cow<'_, [f64]> {
        match &self.real {
            Real::F64(elements) => Cow::Borrowed(elements),
            Real::F32(elements) => elements.iter().map(|&element| f64::from(element)).collect(),
        }
    }

    /// Takes the elements out as doubles, so that the frame remains without them.
    pub fn take_f64(&mut self) -> Vec<f64> {
        match &mut self.real {
            Real::F64(elements) => std::mem::take(elements).into_owned(),
            Real::F32(elements) => std::mem::take(elements).iter().map(|&element| f64::from(element)).collect(),
        }
    }

    /// Returns a description of the numbers for error messages.
    pub fn describe(&self) -> String {
        match self.frame.shell {
            Shell::Array => format!("an array of {} with shape {:?}", self.dtype().name(), self.frame.shape),
            Shell::Number => "a number".into(),
            Shell::List => format!("a list of {} values", self.frame.shape[0]),
        }
    }

    /// Returns the type that the numbers have as an array.
    pub fn dtype(&self) -> DType {
        match (&self.real, self.frame.complex) {
            (Real::F64(_), false) => DType::Float64,
            (Real::F64(_), true) => DType::Complex128,
            (Real::F32(_), false) => DType::Float32,
            (Real::F32(_), true) => DType::Complex64,
        }
    }
}

/// Returns the kind and the shape of numbers as text.
fn described(frame: &NumberFrame) -> String {
    let kind = if frame.complex { "complex numbers" } else { "numbers" };
    format!("{kind} with shape {:?}", frame.shape)
}

/// Returns the elements in the other memory order.
fn reordered<T: Pod>(elements: &[T], frame: &NumberFrame) -> Result<Vec<T>, Fault> {
    let parts = if frame.complex { 2 } else { 1 };
    let mut all = room(&[elements.len() as u64])?;
    if elements.is_empty() {
        return Ok(all);
    }
    // The axes in the new memory order. The axis that runs fastest is first.
    let mut axes: Vec<usize> = (0..frame.shape.len()).collect();
    if frame.order == ArrayOrder::ColumnMajor {
        axes.reverse();
    }
    let strides = contiguous(&frame.shape, frame.order, parts);
    let mut index = vec![0; axes.len()];
    let mut at = 0;
    for _ in 0..elements.len() / parts as usize {
        all.extend_from_slice(&elements[at as usize..at as usize + parts as usize]);
        for &axis in &axes {
            index[axis] += 1;
            at += strides[axis];
            if index[axis] < frame.shape[axis] {
                break;
            }
            at -= strides[axis] * index[axis] as i64;
            index[axis] = 0;
        }
    }
    Ok(all)
}

/// Refuses elements if `each` turns a finite one into an infinite one. A number has `parts` elements.
fn all_stay_finite(all: &[f32], parts: usize, each: impl Fn(f32) -> f32) -> Result<(), Fault> {
    let grows = |x: f32| x.is_finite() & !each(x).is_finite();
    // The check adds up numbers instead of branching, so that the compiler uses vector instructions.
    for (i, block) in all.chunks(BLOCK).enumerate() {
        if block.iter().map(|&x| u32::from(grows(x))).sum::<u32>() > 0 {
            let at = i * BLOCK + block.iter().position(|&x| grows(x)).unwrap_or_default();
            return Err(fault!(
                FILTER_FAILED,
                "element {} is {}, and its result is too large for float32",
                at / parts,
                all[at]
            ));
        }
    }
    Ok(())
}

fn mapped<'b, T: Pod>(elements: Cow<'_, [T]>, each: impl Fn(T) -> T) -> Cow<'b, [T]> {
    Cow::Owned(match elements {
        Cow::Owned(mut ours) => {
            ours.iter_mut().for_each(|element| *element = each(*element));
            ours
        }
        Cow::Borrowed(theirs) => theirs.iter().map(|&element| each(element)).collect(),
    })
}

impl NumberBuffer<'static> {
    /// Returns the numbers as a value that a message can borrow.
    pub fn to_send(&self) -> ValueRef<'_> {
        let NumberFrame { shell, ref shape, order, ref names, ref unit, .. } = self.frame;
        match (shell, &self.real) {
            (Shell::Array, real) => ValueRef::Array(ArrayRef {
                dtype: self.dtype(),
                shape,
                strides: None,
                order,
                data: match real {
                    Real::F64(elements) => bytemuck::cast_slice(elements),
                    Real::F32(elements) => bytemuck::cast_slice(elements),
                },
                offset: 0,
                names,
                unit: unit.as_deref(),
            }),
            (Shell::Number, _) => {
                let parts = self.to_f64();
                if self.frame.complex {
                    ValueRef::Complex(parts[0], parts[1])
                } else {
                    ValueRef::Float(parts[0])
                }
            }
            (Shell::List, _) => {
                ValueRef::Items(self.to_f64().iter().map(|&one| ValueRef::Float(one)).collect())
            }
        }
    }

    /// Returns the numbers as a value that owns its memory.
    pub fn into_value(self) -> Value {
        match self.frame.shell {
            Shell::Array => {
                let dtype = self.dtype();
                let NumberFrame { shape, order, names, unit, .. } = self.frame;
                let data = match self.real {
                    Real::F64(elements) => bytes_of(elements.into_owned()),
                    Real::F32(elements) => bytes_of(elements.into_owned()),
                };
                Value::Array(array(dtype, &shape, order, data, &names, unit.as_deref()))
            }
            Shell::Number if self.frame.complex => {
                let parts = self.to_f64();
                Value::Complex(parts[0], parts[1])
            }
            Shell::Number => Value::Float(self.to_f64()[0]),
            Shell::List => Value::List(self.to_f64().iter().map(|&one| Value::Float(one)).collect()),
        }
    }
}
