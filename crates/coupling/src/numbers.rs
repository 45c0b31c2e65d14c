//! The numbers in a message, in the form in which shipped components compute with them.

use crate::settings::unfit;
use ligament_catalogue::fault;
use ligament_filters::{Data, NumberBuffer, Real};
use ligament_instance::{ArrayOrder, Error, Value};
use std::borrow::Cow;

/// Returns the real numbers in a value: a number, a list of numbers, or an array.
///
/// # Errors
/// The value holds something else. The error names the component `who`.
pub(crate) fn numbers_of(value: &Value, who: &str) -> Result<NumberBuffer<'static>, Error> {
    let mut data = Data::Kept(value.clone());
    match NumberBuffer::of(&mut data) {
        Ok(numbers) => Ok(numbers.into_own()),
        Err(why) => Err(unfit(fault!(CANNOT_MAP, "{who}: {why}"))),
    }
}

/// Returns numbers with the same frame and precision and with other elements.
pub(crate) fn with_elements(like: &NumberBuffer<'_>, elements: Vec<f64>) -> NumberBuffer<'static> {
    let real = match like.real {
        Real::F64(_) => Real::F64(Cow::Owned(elements)),
        Real::F32(_) => Real::F32(elements.iter().map(|&element| element as f32).collect()),
    };
    NumberBuffer { real, frame: like.frame.clone() }
}

/// Converts the numbers of several messages to double precision, unless all of them are in single precision.
/// Must be called before the numbers are converted to one unit.
pub(crate) fn in_one_precision(all: &mut [NumberBuffer<'static>]) {
    if all.iter().any(|numbers| matches!(numbers.real, Real::F64(_))) {
        for numbers in all {
            numbers.real = Real::F64(Cow::Owned(numbers.to_f64().into_owned()));
        }
    }
}

/// Returns the elements in the order of C: the last index runs fastest.
pub(crate) fn in_rows(numbers: &NumberBuffer<'static>) -> Vec<f64> {
    let shape = &numbers.frame.shape;
    let elements = numbers.to_f64();
    if numbers.frame.order == ArrayOrder::RowMajor || shape.len() < 2 {
        return elements.into_owned();
    }
    let shape: Vec<usize> = shape.iter().map(|&extent| extent as usize).collect();
    let mut strides = vec![1; shape.len()];
    for axis in 1..shape.len() {
        strides[axis] = strides[axis - 1] * shape[axis - 1];
    }
    let mut index = vec![0; shape.len()];
    (0..elements.len())
        .map(|_| {
            let at: usize = index.iter().zip(&strides).map(|(i, stride)| i * stride).sum();
            for axis in (0..shape.len()).rev() {
                index[axis] += 1;
                if index[axis] < shape[axis] {
                    break;
                }
                index[axis] = 0;
            }
            elements[at]
        })
        .collect()
}
