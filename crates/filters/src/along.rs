//! Filters that compute values at other points along the axes of an array: `interpolate_space` adds points
//! between neighbours, and `resample` uses another regular grid over the same extent. Each axis has one
//! sparse matrix of weights, and the matrices are applied one axis after the other. The weights are
//! computed once for each size.
//!
//! A grid of *cells* has one value at the centre of each of n equal cells. A grid of *nodes* has n values
//! at equal distances from one end to the other. Linear interpolation continues beyond the outer centres,
//! so it is exact for linear functions everywhere. The conservative mean weights each cell by its overlap,
//! so the integral stays the same (Jones, Mon. Weather Rev. 127, 1999, first order).

use crate::chain::{FilterRemark, FilterStep, StepOutput};
use crate::mask_policy;
use crate::memory::FilterMemory;
use crate::numbers::{Float, NumberBuffer, Real, Shell};
use crate::parcel::{Data, Parcel};
use crate::sums;
use crate::view::{allowed, between, room};
use ligament_catalogue::{fault, Fault};
use ligament_model::Filter;
use std::borrow::Cow;

/// Maximum number of points along an axis.
const MAX_AXIS_POINTS: usize = 1 << 27;

/// The weights along one axis: each row has the weights of the old points for one new point.
#[derive(Debug)]
struct Weights {
    old: usize,
    rows: Vec<WeightRow>,
}

#[derive(Debug)]
struct WeightRow {
    first: usize,
    weights: Vec<f64>,
}

impl WeightRow {
    /// Returns the row with the weight `next` for the point after `first`, and the weight `1 - next` for
    /// the point `first`.
    fn between(first: usize, next: f64) -> WeightRow {
        if next == 0.0 {
            WeightRow { first, weights: vec![1.0] }
        } else {
            WeightRow { first, weights: vec![1.0 - next, next] }
        }
    }

    /// Appends the new point of this row to `all`. A point has `inner` elements.
    fn apply<T: Float>(&self, old: &[T], inner: usize, all: &mut Vec<T>) {
        if inner == 1 {
            let points = old[self.first..].iter().zip(&self.weights);
            let sum = points.map(|(&x, &weight)| x * T::from_f64(weight)).reduce(|a, b| a + b);
            all.push(sum.unwrap_or(T::from_f64(0.0)));
            return;
        }
        let line = |i: usize| &old[(self.first + i) * inner..(self.first + i + 1) * inner];
        match self.weights[..] {
            [1.0] => all.extend_from_slice(line(0)),
            [one, other] => {
                let (one, other) = (T::from_f64(one), T::from_f64(other));
                all.extend(line(0).iter().zip(line(1)).map(|(&a, &b)| a * one + b * other));
            }
            ref weights => {
                let start = all.len();
                let weight = T::from_f64(weights[0]);
                all.extend(line(0).iter().map(|&x| x * weight));
                for (i, &weight) in weights.iter().enumerate().skip(1) {
                    let weight = T::from_f64(weight);
                    all[start..].iter_mut().zip(line(i)).for_each(|(sum, &x)| *sum = *sum + x * weight);
                }
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResampleMethod {
    Linear,
    /// Linear interpolation between two points. Beyond the outer points, the value is that of the outer
    /// point, so that no weight is negative.
    LinearWithin,
    Nearest,
    Conservative,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Points {
    Cells,
    Nodes,
}

impl Weights {
    fn new(old: usize, new: usize, method: ResampleMethod, points: Points) -> Result<Weights, Fault> {
        // Returns the position of a new point, in units of the old points' indices.
        let place = |i: usize| match points {
            Points::Cells => (i as f64 + 0.5) * old as f64 / new as f64 - 0.5,
            Points::Nodes if new == 1 => (old - 1) as f64 / 2.0,
            Points::Nodes => (i * (old - 1)) as f64 / (new - 1) as f64,
        };
        let linear = |i: usize| {
            if old == 1 {
                return WeightRow::between(0, 0.0);
            }
            let place = match method {
                ResampleMethod::LinearWithin => place(i).clamp(0.0, (old - 1) as f64),
                _ => place(i),
            };
            let first = place.floor().clamp(0.0, (old - 2) as f64);
            if place - first == 1.0 {
                WeightRow::between(first as usize + 1, 0.0)
            } else {
                WeightRow::between(first as usize, place - first)
            }
        };
        let nearest = |i: usize| match points {
            // Integer arithmetic finds the cell in which the new centre lies.
            Points::Cells => WeightRow::between((2 * i + 1) * old / (2 * new), 0.0),
            Points::Nodes => WeightRow::between((place(i).round() as usize).min(old - 1), 0.0),
        };
        // Integer arithmetic makes the weights exact. The unit of length is chosen so that the extent has
        // `new * old` units, an old cell `new` units, and a new cell `old` units.
        let conservative = |i: usize| {
            let (from, to) = (i * old, (i + 1) * old);
            let first = from / new;
            let last = (to - 1) / new;
            let overlap = |cell: usize| (to.min((cell + 1) * new) - from.max(cell * new)) as f64 / old as f64;
            WeightRow { first, weights: (first..=last).map(overlap).collect() }
        };
        let mut rows = room(&[new as u64])?;
        rows.extend((0..new).map(|i| match method {
            ResampleMethod::Linear | ResampleMethod::LinearWithin => linear(i),
            ResampleMethod::Nearest => nearest(i),
            ResampleMethod::Conservative => conservative(i),
        }));
        Ok(Weights { old, rows })
    }

    /// Returns the new points along an axis on which neighbours lie `inner` elements apart.
    fn apply<T: Float>(&self, elements: &[T], inner: usize) -> Result<Vec<T>, Fault> {
        let block = self.old * inner;
        let blocks = elements.len() / block.max(1);
        let mut all = room(&[blocks as u64, self.rows.len() as u64, inner as u64])?;
        for old in elements.chunks_exact(block.max(1)) {
            for row in &self.rows {
                row.apply(old, inner, &mut all);
            }
        }
        Ok(all)
    }
}

/// The weights that were used last for each axis.
#[derive(Default)]
struct WeightCache(Vec<Option<Weights>>);

impl WeightCache {
    fn of(
        &mut self,
        axis: usize,
        old: usize,
        make: impl FnOnce() -> Result<Weights, Fault>,
    ) -> Result<&Weights, Fault> {
        if self.0.len() <= axis {
            self.0.resize_with(axis + 1, || None);
        }
        let known = &mut self.0[axis];
        let weights = match known.take().filter(|weights| weights.old == old) {
            Some(weights) => weights,
            None => make()?,
        };
        Ok(known.insert(weights))
    }
}

/// Computes the values at the new points along one axis.
fn put<'b>(numbers: NumberBuffer<'b>, axis: usize, weights: &Weights) -> Result<NumberBuffer<'b>, Fault> {
    let NumberBuffer { real, mut frame } = numbers;
    let inner = between(&frame.shape, frame.order, axis);
    let real = match real {
        Real::F64(elements) => Real::F64(Cow::Owned(weights.apply(&elements, inner)?)),
        Real::F32(elements) => Real::F32(Cow::Owned(weights.apply(&elements, inner)?)),
    };
    frame.shape[axis] = weights.rows.len() as u64;
    Ok(NumberBuffer { real, frame })
}

/// Returns the numbers that `put` makes of `numbers`. A result may be infinite although the true result is
/// finite: beyond the outer values, a line may rise too far on one axis and fall again on another. Such a
/// result is computed again with scaled numbers.
fn put_in_range(
    numbers: &NumberBuffer<'_>,
    mut put: impl FnMut(NumberBuffer<'_>) -> Result<NumberBuffer<'static>, Fault>,
) -> Result<NumberBuffer<'static>, Fault> {
    let mut made = put(numbers.lent())?;
    let limit = if matches!(numbers.real, Real::F64(_)) { f64::MAX } else { f64::from(f32::MAX) } / 1024.0;
    if !made.any(|x| !x.is_finite()) || !numbers.any(|x| x.is_finite() && x.abs() > limit) {
        return Ok(made);
    }
    let again = put(numbers.lent().map(|x| x * sums::SMALLER, |x| x * sums::SMALLER as f32)?)?;
    let (wide, single) = (sums::LARGER, sums::LARGER as f32);
    match (&mut made.real, &again.real) {
        (Real::F64(made), Real::F64(again)) => in_place_of_none(made.to_mut(), again, |x| x * wide),
        (Real::F32(made), Real::F32(again)) => in_place_of_none(made.to_mut(), again, |x| x * single),
        _ => {}
    }
    Ok(made)
}

/// Replaces each element that is not finite by the corresponding element of `others`, after applying
/// `change`.
fn in_place_of_none<T: Float>(made: &mut [T], others: &[T], change: impl Fn(T) -> T) {
    let pairs = made.iter_mut().zip(others).filter(|(made, _)| !made.is_finite());
    pairs.for_each(|(made, &other)| *made = change(other));
}

/// Returns the numbers of an array or a list that has at least one element.
///
/// # Errors
/// The data is a single number, holds no numbers, or has an axis without elements.
fn on_a_grid<'a, 'd: 'a>(data: &'a mut Data<'d>) -> Result<NumberBuffer<'a>, Fault> {
    let numbers = NumberBuffer::of(data)?;
    match numbers.frame.shell {
        Shell::Number => {
            Err(fault!(FILTER_FAILED, "it takes arrays and lists of numbers, and this is a number"))
        }
        _ if numbers.frame.shape.contains(&0) => {
            Err(fault!(FILTER_FAILED, "shape {:?} has no points to interpolate between", numbers.frame.shape))
        }
        _ => Ok(numbers),
    }
}

/// Adds points between neighbours by linear interpolation: each interval becomes `parts` equal intervals.
/// The filter works along one axis or along all axes.
pub(crate) struct InterpolateSpace {
    parts: usize,
    axis: Option<usize>,
    known: WeightCache,
}

impl InterpolateSpace {
    pub fn new(parts: usize, axis: Option<usize>) -> InterpolateSpace {
        InterpolateSpace { parts, axis, known: WeightCache::default() }
    }
}

impl FilterStep for InterpolateSpace {
    fn apply<'a>(
        &mut self,
        mut parcel: Parcel<'a>,
        _: &mut Vec<FilterRemark>,
    ) -> Result<StepOutput<'a>, Fault> {
        let numbers = on_a_grid(&mut parcel.data)?;
        let axes = match self.axis {
            Some(axis) if axis < numbers.frame.shape.len() => axis..axis + 1,
            Some(axis) => {
                return Err(fault!(FILTER_FAILED, "there is no axis {axis} in shape {:?}", numbers.frame.shape))
            }
            None => 0..numbers.frame.shape.len(),
        };
        let new_extent = |old: usize| {
            let new = (old - 1).checked_mul(self.parts).and_then(|intervals| intervals.checked_add(1));
            new.filter(|&new| new <= MAX_AXIS_POINTS || new == old)
        };
        let mut shape = numbers.frame.shape.clone();
        for axis in axes.clone() {
            let new = new_extent(shape[axis] as usize).ok_or_else(|| too_many(&numbers.frame.shape))?;
            shape[axis] = new as u64;
        }
        allowed(&shape, numbers.dtype().size())?;
        let known = &mut self.known;
        let made = put_in_range(&numbers, |mut numbers| {
            for axis in axes.clone() {
                let (old, new) = (numbers.frame.shape[axis] as usize, shape[axis] as usize);
                if new != old {
                    let make = || Weights::new(old, new, ResampleMethod::Linear, Points::Nodes);
                    numbers = put(numbers, axis, known.of(axis, old, make)?)?;
                }
            }
            Ok(numbers.into_own())
        })?;
        Ok(StepOutput::One(parcel.with(Data::Own(made))))
    }

    fn memory(&mut self) -> FilterMemory<'_> {
        FilterMemory::None
    }
}

fn too_many(shape: &[u64]) -> Fault {
    fault!(FILTER_FAILED, "an axis gets at most {MAX_AXIS_POINTS} points, and here are {shape:?}")
}

/// The treatment of values that are NaN (masked) when an array is put onto another grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MaskPolicy {
    /// Each result that depends on a masked value is NaN. The filter warns about this once.
    Keep,
    /// Masked values are left out. The weights of the other values are scaled up.
    Skip,
    /// Each masked value is first replaced by the nearest value that is not masked.
    Nearest,
}

/// Resamples an array onto another regular grid over the same extent.
pub(crate) struct Resample {
    grid: Grid,
    masked: MaskPolicy,
    /// The grid whose weights are used for results next to masked values. No weight is negative.
    beside_masked: Grid,
    warned: bool,
}

/// A regular grid onto which arrays are resampled.
struct Grid {
    shape: Vec<u64>,
    method: ResampleMethod,
    points: Points,
    known: WeightCache,
}

impl Grid {
    /// Returns the numbers resampled onto this grid.
    fn put(&mut self, numbers: &NumberBuffer<'_>) -> Result<NumberBuffer<'static>, Fault> {
        put_in_range(numbers, |numbers| self.put_plainly(numbers))
    }

    fn put_plainly(&mut self, mut numbers: NumberBuffer<'_>) -> Result<NumberBuffer<'static>, Fault> {
        let Grid { shape, method, points, known } = self;
        // Axes that lose points come first, so that the other axes have fewer elements to process.
        let mut axes: Vec<usize> = (0..shape.len()).collect();
        axes.sort_by(|&a, &b| {
            let grows = |axis: usize| shape[axis] as f64 / numbers.frame.shape[axis] as f64;
            grows(a).total_cmp(&grows(b))
        });
        for axis in axes {
            let (old, new) = (numbers.frame.shape[axis] as usize, shape[axis] as usize);
            if old >= 1 << 31 {
                return Err(too_many(&numbers.frame.shape));
            }
            if new != old {
                let make = || Weights::new(old, new, *method, *points);
                numbers = put(numbers, axis, known.of(axis, old, make)?)?;
            }
        }
        Ok(numbers.into_own())
    }
}

impl Resample {
    pub fn new(filter: &Filter) -> Result<Resample, Fault> {
        let shape = filter.counts("shape").unwrap_or_default();
        let (method, within) = match filter.text("method") {
            Some("nearest") => (ResampleMethod::Nearest, ResampleMethod::Nearest),
            Some("conservative") => (ResampleMethod::Conservative, ResampleMethod::Conservative),
            _ => (ResampleMethod::Linear, ResampleMethod::LinearWithin),
        };
        let points = if filter.text("points") == Some("nodes") { Points::Nodes } else { Points::Cells };
        if method == ResampleMethod::Conservative && points == Points::Nodes {
            return Err(fault!(
                FILTER_FAILED,
                "a conservative mean is one of cells; leave \"points: nodes\" out"
            ));
        }
        if shape.iter().any(|&extent| extent > MAX_AXIS_POINTS as u64) || shape.len() > ligament_wire::MAX_DIMS
        {
            return Err(too_many(shape));
        }
        let masked = match filter.text("masked") {
            Some("skip") => MaskPolicy::Skip,
            Some("nearest") => MaskPolicy::Nearest,
            _ => MaskPolicy::Keep,
        };
        let grid = |method| Grid { shape: shape.to_vec(), method, points, known: WeightCache::default() };
        Ok(Resample { grid: grid(method), masked, beside_masked: grid(within), warned: false })
    }

    /// Returns the numbers resampled onto the grid. Results that depend on masked values are computed from
    /// the other values alone.
    fn without_masked(&mut self, numbers: &NumberBuffer<'_>) -> Result<NumberBuffer<'static>, Fault> {
        let shares = numbers
            .lent()
            .map(|x| if x.is_nan() { 0.0 } else { 1.0 }, |x| if x.is_nan() { 0.0 } else { 1.0 })?;
        let known =
            numbers.lent().map(|x| if x.is_nan() { 0.0 } else { x }, |x| if x.is_nan() { 0.0 } else { x })?;
        let mut made = self.grid.put(numbers)?;
        let (known, shares) = (self.beside_masked.put(&known)?, self.beside_masked.put(&shares)?);
        match (&mut made.real, &known.real, &shares.real) {
            (Real::F64(made), Real::F64(known), Real::F64(shares)) => {
                in_place_of_nan(made.to_mut(), known, shares)
            }
            (Real::F32(made), Real::F32(known), Real::F32(shares)) => {
                in_place_of_nan(made.to_mut(), known, shares)
            }
            _ => {}
        }
        Ok(made)
    }
}

/// Replaces each NaN in `made` by the weighted mean of the values that are not masked, if there are any.
/// `known` holds the weighted sums of these values, and `shares` the sums of their weights.
fn in_place_of_nan<T: Float>(made: &mut [T], known: &[T], shares: &[T]) {
    for ((made, known), share) in made.iter_mut().zip(known).zip(shares) {
        if made.to_f64().is_nan() && share.to_f64() > 0.0 {
            *made = T::from_f64(known.to_f64() / share.to_f64());
        }
    }
}

impl FilterStep for Resample {
    fn apply<'a>(
        &mut self,
        mut parcel: Parcel<'a>,
        said: &mut Vec<FilterRemark>,
    ) -> Result<StepOutput<'a>, Fault> {
        let mut numbers = on_a_grid(&mut parcel.data)?;
        if numbers.frame.shape.len() != self.grid.shape.len() {
            let (from, to) = (&numbers.frame.shape, &self.grid.shape);
            return Err(fault!(
                FILTER_FAILED,
                "shape {from:?} cannot become {to:?}, which has another number of axes"
            ));
        }
        allowed(&self.grid.shape, numbers.dtype().size())?;
        let masked = match &numbers.real {
            Real::F64(elements) => mask_policy::count(elements),
            Real::F32(elements) => mask_policy::count(elements),
        };
        let made = match self.masked {
            _ if masked == 0 => self.grid.put(&numbers)?,
            MaskPolicy::Keep => {
                if !std::mem::replace(&mut self.warned, true) {
                    let text = said_of_masked(masked, numbers.real.len(), parcel.timestamp);
                    said.push(FilterRemark { text, warning: true });
                }
                self.grid.put(&numbers)?
            }
            MaskPolicy::Skip => self.without_masked(&numbers)?,
            MaskPolicy::Nearest => {
                let (shape, order) = (&numbers.frame.shape, numbers.frame.order);
                match &mut numbers.real {
                    Real::F64(elements) => mask_policy::fill(elements.to_mut(), shape, order),
                    Real::F32(elements) => mask_policy::fill(elements.to_mut(), shape, order),
                }
                self.grid.put(&numbers)?
            }
        };
        Ok(StepOutput::One(parcel.with(Data::Own(made))))
    }

    fn memory(&mut self) -> FilterMemory<'_> {
        FilterMemory::None
    }
}

/// Returns the warning that masked values make results NaN. The warning mentions the option `masked`.
pub fn said_of_masked(masked: usize, of: usize, time: f64) -> String {
    format!(
        "{masked} of the {of} values at time {time} are NaN, and so is all that is made of them. If they are \
         masked, say \"masked: skip\" to leave them out, or \"masked: nearest\" for the nearest other value. \
         This is said once"
    )
}
