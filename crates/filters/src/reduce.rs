//! The filter `reduce`, which makes one number of a whole array, or of each line of elements along one
//! axis.

use crate::chain::{FilterRemark, FilterStep, StepOutput};
use crate::memory::FilterMemory;
use crate::numbers::{Float, NumberBuffer, NumberFrame, Real, Shell};
use crate::parcel::{Data, Parcel};
use crate::sums::{self, SMALL_SQUARES};
use crate::units::without_own_zero;
use crate::view::{between, count, room};
use ligament_catalogue::{fault, Fault};
use std::borrow::Cow;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum To {
    Mean,
    Min,
    Max,
    Sum,
    Norm,
}

/// Reduces an array to one number, or removes one axis of the array.
pub(crate) struct Reduce {
    to: To,
    axis: Option<usize>,
}

impl Reduce {
    pub fn new(to: &str, axis: Option<usize>) -> Result<Reduce, Fault> {
        let to = match to {
            "mean" => To::Mean,
            "min" => To::Min,
            "max" => To::Max,
            "sum" => To::Sum,
            "norm" => To::Norm,
            other => return Err(fault!(FILTER_FAILED, "nothing can be reduced to \"{other}\"")),
        };
        Ok(Reduce { to, axis })
    }

    fn all<T: Float>(&self, elements: &[T]) -> f64 {
        match self.to {
            To::Sum => sums::sum(elements),
            To::Mean => sums::mean(elements),
            To::Norm => sums::norm(elements),
            To::Min => extreme(elements, |x, least| x < least),
            To::Max => extreme(elements, |x, most| x > most),
        }
    }

    /// Reduces along one axis. The axis has `n` elements, and neighbours on the axis lie `inner` elements
    /// apart in memory. Returns one number for each position on the other axes.
    fn along<T: Float>(&self, elements: &[T], n: usize, inner: usize) -> Vec<T> {
        let mut all = Vec::with_capacity(elements.len() / n.max(1));
        let (mut row, mut column) = (vec![0.0; inner], Vec::<T>::new());
        for block in elements.chunks_exact((n * inner).max(1)) {
            if inner == 1 {
                all.push(T::from_f64(self.all(block)));
                continue;
            }
            let (first, rest) = block.split_at(inner);
            let start = |x: &T| if self.to == To::Norm { x.to_f64() * x.to_f64() } else { x.to_f64() };
            row.iter_mut().zip(first).for_each(|(sum, x)| *sum = start(x));
            for others in rest.chunks_exact(inner) {
                let pairs = row.iter_mut().zip(others);
                match self.to {
                    To::Sum | To::Mean => pairs.for_each(|(sum, x)| *sum += x.to_f64()),
                    To::Norm => pairs.for_each(|(sum, x)| *sum += x.to_f64() * x.to_f64()),
                    To::Min => pairs.for_each(|(least, x)| {
                        let x = x.to_f64();
                        if x < *least || x.is_nan() {
                            *least = x;
                        }
                    }),
                    To::Max => pairs.for_each(|(most, x)| {
                        let x = x.to_f64();
                        if x > *most || x.is_nan() {
                            *most = x;
                        }
                    }),
                }
            }
            // A sum that is not finite, or whose squares may have been too small for an `f64`, is computed
            // again from the elements of its column.
            let in_range = |sum: f64| sum.is_finite() && (self.to != To::Norm || sum >= SMALL_SQUARES);
            let end = |(i, &sum): (usize, &f64)| match self.to {
                To::Min | To::Max => sum,
                _ if !in_range(sum) => {
                    column.clear();
                    column.extend(block[i..].iter().step_by(inner));
                    self.all(&column)
                }
                To::Mean => sum / n as f64,
                To::Norm => sum.sqrt(),
                To::Sum => sum,
            };
            all.extend(row.iter().enumerate().map(end).map(T::from_f64));
        }
        all
    }
}

/// Returns an array of zeros with this shape, which are the sums of empty lines of elements.
fn zeros<T: Float>(shape: &[u64]) -> Result<Cow<'static, [T]>, Fault> {
    let mut zeros = room(shape)?;
    zeros.resize(count(shape), T::from_f64(0.0));
    Ok(Cow::Owned(zeros))
}

/// Returns the best element: no other element is `better`. Returns NaN if one element is NaN.
fn extreme<T: Float>(elements: &[T], better: impl Fn(T, T) -> bool) -> f64 {
    const LANES: usize = 8;
    let mut found = [elements[0]; LANES];
    let mut nan = false;
    let mut look = |place: usize, x: T| {
        found[place] = if better(x, found[place]) { x } else { found[place] };
        nan |= x.partial_cmp(&x).is_none();
    };
    let chunks = elements.chunks_exact(LANES);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (place, &x) in chunk.iter().enumerate() {
            look(place, x);
        }
    }
    rest.iter().for_each(|&x| look(0, x));
    if nan {
        return f64::NAN;
    }
    let best = found.into_iter().reduce(|one, other| if better(other, one) { other } else { one });
    best.map_or(f64::NAN, Float::to_f64)
}

impl FilterStep for Reduce {
    fn apply<'a>(
        &mut self,
        mut parcel: Parcel<'a>,
        _: &mut Vec<FilterRemark>,
    ) -> Result<StepOutput<'a>, Fault> {
        let NumberBuffer { real, frame } = NumberBuffer::of(&mut parcel.data)?;
        match self.to {
            To::Sum => without_own_zero(frame.unit.as_deref(), "sum")?,
            To::Norm => without_own_zero(frame.unit.as_deref(), "norm")?,
            To::Mean | To::Min | To::Max => {}
        }
        let empty = real.is_empty();
        if empty && !matches!(self.to, To::Sum | To::Norm) {
            return Err(fault!(FILTER_FAILED, "an array without elements has no mean, minimum or maximum"));
        }
        let Some(axis) = self.axis else {
            let number = match &real {
                Real::F64(elements) => self.all(elements),
                Real::F32(elements) => self.all(elements),
            };
            let frame = NumberFrame { shell: Shell::Number, shape: vec![], names: vec![], unit: None, ..frame };
            let real = Real::F64(Cow::Owned(vec![number]));
            return Ok(StepOutput::One(parcel.with(Data::Own(NumberBuffer { real, frame }))));
        };
        if axis >= frame.shape.len() {
            return Err(fault!(FILTER_FAILED, "there is no axis {axis} in shape {:?}", frame.shape));
        }
        let mut shape = frame.shape.clone();
        let n = shape.remove(axis) as usize;
        let real = match &real {
            Real::F64(_) if empty => Real::F64(zeros(&shape)?),
            Real::F32(_) if empty => Real::F32(zeros(&shape)?),
            Real::F64(elements) => {
                Real::F64(Cow::Owned(self.along(elements, n, between(&frame.shape, frame.order, axis))))
            }
            Real::F32(elements) => {
                Real::F32(Cow::Owned(self.along(elements, n, between(&frame.shape, frame.order, axis))))
            }
        };
        let mut frame = NumberFrame { shell: Shell::Array, shape, ..frame };
        if !frame.names.is_empty() {
            frame.names.remove(axis);
        }
        Ok(StepOutput::One(parcel.with(Data::Own(NumberBuffer { real, frame }))))
    }

    fn memory(&mut self) -> FilterMemory<'_> {
        FilterMemory::None
    }
}
