//! Filters that change each number by itself: in place if the numbers are ours, else in the one pass that reads them.

use crate::chain::{Emitted, Said, Step};
use crate::numbers::{Float, Numbers};
use crate::parcel::{Data, Parcel};
use ligament_catalogue::Fault;

/// Multiplies by a number, complex numbers too.
pub(crate) struct Multiply(pub f64);

impl Step for Multiply {
    fn apply<'a>(&mut self, mut parcel: Parcel<'a>, _: &mut Vec<Said>) -> Result<Emitted<'a>, Fault> {
        let factor = self.0;
        let numbers = Numbers::with_complex(&mut parcel.data)?;
        // A factor may be too large, or too small, for single precision, and the product fit.
        let product = numbers.map(|x| x * factor, |x| (f64::from(x) * factor) as f32);
        Ok(Emitted::One(parcel.with(Data::Own(product))))
    }
}

/// Sets what is below a value, what is not, or both.
pub(crate) struct Threshold {
    pub value: f64,
    pub below: Option<f64>,
    pub above: Option<f64>,
}

impl Threshold {
    /// NaN is neither below nor above, and stays.
    fn each<T: Float>(&self) -> impl Fn(T) -> T {
        let value = T::from_f64(self.value);
        let (below, above) = (self.below.map(T::from_f64), self.above.map(T::from_f64));
        move |x| {
            let below = below.unwrap_or(x);
            let above = above.unwrap_or(x);
            match () {
                () if x < value => below,
                () if x >= value => above,
                () => x,
            }
        }
    }
}

impl Step for Threshold {
    fn apply<'a>(&mut self, mut parcel: Parcel<'a>, _: &mut Vec<Said>) -> Result<Emitted<'a>, Fault> {
        let numbers = Numbers::of(&mut parcel.data)?;
        let set = numbers.map(self.each(), self.each());
        Ok(Emitted::One(parcel.with(Data::Own(set))))
    }
}
