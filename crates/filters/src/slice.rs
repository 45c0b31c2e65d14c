//! The filter `slice`, which takes a part of an array. The part is a range or an index for each axis, in
//! NumPy's notation. Example: `2:10, 3`.

use crate::chain::{FilterRemark, FilterStep, StepOutput};
use crate::memory::FilterMemory;
use crate::parcel::{kind_of, Data, Parcel};
use crate::view::{contiguous, ArrayView};
use ligament_catalogue::{fault, Fault};
use ligament_wire::{ArrayOrder, Value};
use std::borrow::Cow;

/// The part of one axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Range {
    /// A single index, which removes the axis. A negative index counts from the end.
    One(i64),
    Part {
        from: Option<i64>,
        to: Option<i64>,
        step: u64,
    },
}

/// Takes a part of an array. Axes without a range stay whole.
pub(crate) struct Slice(Vec<Range>);

impl Slice {
    pub fn parse(text: &str) -> Result<Slice, Fault> {
        text.split(',').map(|one| range(one.trim())).collect::<Result<_, _>>().map(Slice)
    }

    /// Returns a view of the part, in the same memory.
    fn of<'a>(&self, view: &ArrayView<'a>) -> Result<ArrayView<'a>, Fault> {
        if self.0.len() > view.shape.len() {
            return Err(fault!(
                FILTER_FAILED,
                "it names {} axes, and the array has shape {:?}",
                self.0.len(),
                view.shape
            ));
        }
        let strides = view.byte_strides();
        let mut part =
            ArrayView { shape: Vec::new(), strides: None, names: Cow::Borrowed(&[]), ..view.clone() };
        let (mut new_strides, mut names) = (Vec::new(), Vec::new());
        let mut offset = view.offset;
        for (axis, (&extent, &stride)) in view.shape.iter().zip(&strides).enumerate() {
            let (from, count, step) = match self.0.get(axis) {
                Some(&Range::One(index)) => {
                    let place = if index < 0 { index + extent as i64 } else { index };
                    if place < 0 || place >= extent as i64 {
                        return Err(fault!(
                            FILTER_FAILED,
                            "it takes index {index} of axis {axis}, and the array has shape {:?}",
                            view.shape
                        ));
                    }
                    offset = moved(offset, place, stride);
                    continue;
                }
                Some(&Range::Part { from, to, step }) => {
                    let within = |place: i64| {
                        let place = if place < 0 { place + extent as i64 } else { place };
                        place.clamp(0, extent as i64) as u64
                    };
                    let (from, to) = (within(from.unwrap_or(0)), to.map_or(extent, within));
                    (from, to.saturating_sub(from).div_ceil(step), step)
                }
                None => (0, extent, 1),
            };
            if count > 0 {
                offset = moved(offset, from as i64, stride);
            }
            part.shape.push(count);
            new_strides.push(stride.saturating_mul(step as i64));
            names.extend(view.names.get(axis).cloned());
        }
        let together =
            part.is_empty() || new_strides == contiguous(&part.shape, part.order, part.dtype.size() as i64);
        part.offset = if part.is_empty() { 0 } else { offset };
        if together {
            // The part is contiguous, so the view gets exactly the bytes of its elements.

            let bytes = part.len() * part.dtype.size();
            part.data = &view.data[part.offset..part.offset + bytes];
            part.offset = 0;
        } else {
            part.strides = Some(new_strides)
        }
        if part.shape.len() < 2 {
            part.order = ArrayOrder::RowMajor;
        }
        part.names = Cow::Owned(names);
        Ok(part)
    }
}

/// Returns the offset after `places` steps of `stride` bytes. In an array without elements the result has no
/// meaning, so an overflow is harmless.
fn moved(offset: usize, places: i64, stride: i64) -> usize {
    (offset as i64).wrapping_add(places.wrapping_mul(stride)) as usize
}

fn range(text: &str) -> Result<Range, Fault> {
    let wrong = || fault!(FILTER_FAILED, "\"{text}\" is no range; write for example 2:10, 2:10:2, : or 3");
    let whole = |text: &str| match text.trim() {
        "" => Ok(None),
        number => number.parse::<i64>().map(Some).map_err(|_| wrong()),
    };
    let parts: Vec<&str> = text.split(':').collect();
    match parts[..] {
        [one] => whole(one)?.map(Range::One).ok_or_else(wrong),
        [from, to] => Ok(Range::Part { from: whole(from)?, to: whole(to)?, step: 1 }),
        [from, to, step] => {
            let step = whole(step)?.unwrap_or(1);
            let step = u64::try_from(step).ok().filter(|&step| (1..1 << 48).contains(&step));
            let step = step.ok_or_else(|| fault!(FILTER_FAILED, "\"{text}\": steps must be at least 1"))?;
            Ok(Range::Part { from: whole(from)?, to: whole(to)?, step })
        }
        _ => Err(wrong()),
    }
}

impl FilterStep for Slice {
    /// Takes the part. Borrowed memory is not copied here: the elements are gathered when the message is
    /// sent. An owned value is copied only if the part is not contiguous.
    fn apply<'a>(&mut self, parcel: Parcel<'a>, _: &mut Vec<FilterRemark>) -> Result<StepOutput<'a>, Fault> {
        if let Data::Lent(view) = &parcel.data {
            let part = self.of(view)?;
            return Ok(StepOutput::One(parcel.with(Data::Lent(part))));
        }
        let Parcel { timestamp, next_timestamp, data } = parcel;
        let kind = kind_of(&data);
        let Value::Array(array) = data.into_value()? else {
            return Err(fault!(FILTER_FAILED, "it takes arrays, and this is {kind}"));
        };
        let part = self.of(&ArrayView::from(&array))?;
        let sliced = match part.strides {
            None => part.over(array.data().slice_ref(part.data)),
            Some(_) => part.gathered()?,
        };
        Ok(StepOutput::One(Parcel { timestamp, next_timestamp, data: Data::Kept(Value::Array(sliced)) }))
    }

    fn memory(&mut self) -> FilterMemory<'_> {
        FilterMemory::None
    }
}
