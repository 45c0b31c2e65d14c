//! Filters that change each number by itself. Owned numbers are changed in place; other numbers are changed
//! in the same pass that reads them.

use crate::chain::{FilterRemark, FilterStep, StepOutput};
use crate::memory::FilterMemory;
use crate::numbers::{Float, NumberBuffer};
use crate::parcel::{Data, Parcel};
use crate::units::without_own_zero;
use ligament_catalogue::Fault;

/// Multiplies real or complex numbers by a constant.
pub(crate) struct Multiply(pub f64);

impl FilterStep for Multiply {
    fn apply<'a>(
        &mut self,
        mut parcel: Parcel<'a>,
        _: &mut Vec<FilterRemark>,
    ) -> Result<StepOutput<'a>, Fault> {
        let factor = self.0;
        let numbers = NumberBuffer::with_complex(&mut parcel.data)?;
        without_own_zero(numbers.frame.unit.as_deref(), "product")?;
        // The product is computed in double precision: the factor may be too large or too small for single
        // precision although the product fits.
        let product = numbers.map(|x| x * factor, |x| (f64::from(x) * factor) as f32)?;
        Ok(StepOutput::One(parcel.with(Data::Own(product))))
    }

    fn memory(&mut self) -> FilterMemory<'_> {
        FilterMemory::None
    }
}

/// Replaces the numbers below `value` by the constant `below`, the other numbers by the constant `above`,
/// or both.
pub(crate) struct Threshold {
    pub value: f64,
    pub below: Option<f64>,
    pub above: Option<f64>,
}

impl Threshold {
    /// Applies the threshold. NaN is neither below nor above, and stays. Each case has its own loop, so
    /// that a case with one constant needs only one comparison.
    fn set(&self, numbers: NumberBuffer<'_>) -> Result<NumberBuffer<'static>, Fault> {
        fn below<T: Float>(value: f64, set: f64) -> impl Fn(T) -> T {
            let (value, set) = (T::from_f64(value), T::from_f64(set));
            move |x| if x < value { set } else { x }
        }
        fn zero_below<T: Float>(value: f64) -> impl Fn(T) -> T {
            let value = T::from_f64(value);
            move |x| if x < value { T::from_f64(0.0) } else { x }
        }
        fn above<T: Float>(value: f64, set: f64) -> impl Fn(T) -> T {
            let (value, set) = (T::from_f64(value), T::from_f64(set));
            move |x| if x >= value { set } else { x }
        }
        fn both<T: Float>(value: f64, low: f64, high: f64) -> impl Fn(T) -> T {
            let (below, value, high) = (below(value, low), T::from_f64(value), T::from_f64(high));
            move |x| if x >= value { high } else { below(x) }
        }
        let value = self.value;
        match (self.below, self.above) {
            (None, None) => Ok(numbers.into_own()),
            // This is the most common case: the compiler needs only a mask for it.
            (Some(low), None) if low.to_bits() == 0 => numbers.map(zero_below(value), zero_below(value)),
            (Some(low), None) => numbers.map(below(value, low), below(value, low)),
            (None, Some(high)) => numbers.map(above(value, high), above(value, high)),
            (Some(low), Some(high)) => numbers.map(both(value, low, high), both(value, low, high)),
        }
    }
}

impl FilterStep for Threshold {
    fn apply<'a>(
        &mut self,
        mut parcel: Parcel<'a>,
        _: &mut Vec<FilterRemark>,
    ) -> Result<StepOutput<'a>, Fault> {
        let set = self.set(NumberBuffer::of(&mut parcel.data)?)?;
        Ok(StepOutput::One(parcel.with(Data::Own(set))))
    }

    fn memory(&mut self) -> FilterMemory<'_> {
        FilterMemory::None
    }
}
