//! Other points along the axes of an array: linear interpolation between neighbours, and another regular grid
//! over the same extent. Each axis is one sparse matrix, applied after the others; its weights are computed
//! once for a size.
//!
//! A grid of *cells* has a value for each of n equal cells, at their centres; one of *nodes* has n values from
//! one end to the other. Linear interpolation goes on beyond the outer centres, so it is exact for linear
//! functions everywhere. The conservative mean weighs cells by how far they overlap, so the integral stays the
//! same (Jones, Mon. Weather Rev. 127, 1999, first order).

use crate::chain::{FilterRemark, FilterStep, StepOutput};
use crate::mask_policy;
use crate::numbers::{Float, NumberBuffer, Real, Shell};
use crate::parcel::{Data, Parcel};
use crate::sums;
use crate::view::{allowed, between, room};
use ligament_catalogue::{fault, Fault};
use ligament_model::Filter;
use std::borrow::Cow;

/// An axis gets at most so many points.
const MAX_AXIS_POINTS: usize = 1 << 27;

/// For each new point along an axis, the old ones that it is made of.
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
    /// A share of `next` of the point after `first`, the rest of that one.
    fn between(first: usize, next: f64) -> WeightRow {
        if next == 0.0 {
            WeightRow { first, weights: vec![1.0] }
        } else {
            WeightRow { first, weights: vec![1.0 - next, next] }
        }
    }

    /// Adds the new point, with `inner` elements, that this makes of the old ones.
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
    /// Linear between two points, and the value of the outer one beyond it, so that no weight is below 0.
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
        // The position of a new point among the old ones.
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
            // In whole numbers: the cell that the centre lies in.
            Points::Cells => WeightRow::between((2 * i + 1) * old / (2 * new), 0.0),
            Points::Nodes => WeightRow::between((place(i).round() as usize).min(old - 1), 0.0),
        };
        // In whole numbers, of which new * old fill the extent.
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

    /// New points along an axis with `inner` elements between two neighbours.
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

/// Weights for the sizes that came last, by axis.
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

/// Puts other points along one axis.
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

/// The numbers that `put` makes of others. If some are not finite, though they might be, they are made anew of
/// smaller numbers: beyond the outer values a line may rise too far on one axis, and come back on another.
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

/// Puts others in place of NaN and infinity.
fn in_place_of_none<T: Float>(made: &mut [T], others: &[T], change: impl Fn(T) -> T) {
    let pairs = made.iter_mut().zip(others).filter(|(made, _)| !made.is_finite());
    pairs.for_each(|(made, &other)| *made = change(other));
}

/// Numbers that lie along axes, none of which is empty.
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

/// Puts points between neighbours: each interval becomes several equal parts. Along one axis, or along all.
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
}

fn too_many(shape: &[u64]) -> Fault {
    fault!(FILTER_FAILED, "an axis gets at most {MAX_AXIS_POINTS} points, and here are {shape:?}")
}

/// The values that are NaN, when an array becomes one on another grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MaskPolicy {
    /// They make NaN of all that they touch, which is said once.
    Keep,
    /// They are left out: the others weigh more.
    Skip,
    /// They become the nearest of the others before.
    Nearest,
}

/// Resamples onto another regular grid over the same extent.
pub(crate) struct Resample {
    grid: Grid,
    masked: MaskPolicy,
    /// The grid whose weights count beside masked values.
    beside_masked: Grid,
    warned: bool,
}

/// A regular grid that arrays are put onto.
struct Grid {
    shape: Vec<u64>,
    method: ResampleMethod,
    points: Points,
    known: WeightCache,
}

impl Grid {
    /// The same numbers on this grid.
    fn put(&mut self, numbers: &NumberBuffer<'_>) -> Result<NumberBuffer<'static>, Fault> {
        put_in_range(numbers, |numbers| self.put_plainly(numbers))
    }

    fn put_plainly(&mut self, mut numbers: NumberBuffer<'_>) -> Result<NumberBuffer<'static>, Fault> {
        let Grid { shape, method, points, known } = self;
        // The axes that lose points come first, so that there is less to do for the others.
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

    /// The same numbers on the grid, made of those that are not masked.
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

/// The mean of known values, where some of what is made of all is NaN and some are known.
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
}

/// A warning that masked values make others so, for what has the option `masked`.
pub fn said_of_masked(masked: usize, of: usize, time: f64) -> String {
    format!(
        "{masked} of the {of} values at time {time} are NaN, and so is all that is made of them. If they are \
         masked, say \"masked: skip\" to leave them out, or \"masked: nearest\" for the nearest other value. \
         This is said once"
    )
}
