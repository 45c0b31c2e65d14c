//! Routes: the elements that travel from a sender's part to a receiver's part, and their places in both.

use crate::index_map::{IndexMap, Indices, Sequences};
use crate::sys::{copy_past_caches, finish};
use ligament_wire::ArrayOrder;

/// Minimum size of a receiver's part that is written past the caches, bytes. Such a part would not stay in
/// the caches.
const UNCACHED_BYTES: usize = 8 << 20;
/// Minimum length of a run that is written past the caches, bytes. Shorter runs would take up to three times
/// as long past the caches, if the sender's part has gaps between them (benchmarks/run mxn).
const MIN_UNCACHED_RUN_BYTES: usize = 4 << 10;

/// A part and the order in which its elements are stored. The order matters to blocks only.
#[derive(Clone, Copy, Debug)]
pub struct PartLayout<'a> {
    pub map: &'a IndexMap,
    pub order: ArrayOrder,
}

/// The elements that both parts have, with their places in the two parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route(Shape);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Shape {
    /// The common block of two blocks: the places of its first element, and its dimensions. The last
    /// dimension runs fastest in the receiver's part.
    Block { from: u64, to: u64, axes: Vec<Axis> },
    /// Elements that are stored one after the other in both parts.
    Runs(Vec<PartRun>),
}

/// A dimension of the common block of two blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Axis {
    length: u64,
    /// Distance between two neighbours along this dimension in the sender's part, in elements.
    from_stride: u64,
    /// Distance between two neighbours along this dimension in the receiver's part, in elements.
    to_stride: u64,
}

/// Elements that are stored one after the other in both parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PartRun {
    from: u64,
    to: u64,
    length: u64,
}

impl Route {
    /// Finds the route between two parts of an array of shape `array`.
    pub fn new(array: &[u64], sender: PartLayout<'_>, receiver: PartLayout<'_>) -> Route {
        if sender.map.is_empty() || receiver.map.is_empty() {
            return Route(Shape::Runs(Vec::new()));
        }
        match (&sender.map.indices, &receiver.map.indices) {
            (Indices::Block { start: from }, Indices::Block { start: to }) => {
                between_blocks(from, to, sender, receiver)
            }
            _ => Route(Shape::Runs(between_sequences(array, sender, receiver))),
        }
    }

    /// Returns the number of elements that travel.
    pub fn len(&self) -> u64 {
        match &self.0 {
            Shape::Block { axes, .. } => axes.iter().map(|axis| axis.length).product(),
            Shape::Runs(runs) => runs.iter().map(|run| run.length).sum(),
        }
    }

    /// Returns true if no elements travel.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Copies the elements of the route, of `size` bytes each, from the sender's part to the receiver's part.
    ///
    /// # Panics
    /// A part is shorter than its map says.
    pub fn copy(&self, size: usize, from: &[u8], to: &mut [u8]) {
        match size {
            1 => self.copy_sized::<1>(from, to),
            2 => self.copy_sized::<2>(from, to),
            4 => self.copy_sized::<4>(from, to),
            8 => self.copy_sized::<8>(from, to),
            16 => self.copy_sized::<16>(from, to),
            _ => unreachable!("elements of {size} bytes"),
        }
    }

    fn copy_sized<const SIZE: usize>(&self, from: &[u8], to: &mut [u8]) {
        let from_stride = self.inner_from_stride() as usize * SIZE;
        let uncached = to.len() >= UNCACHED_BYTES;
        self.for_each_run(|from_place, to_place, length, to_stride| {
            let (mut source, mut target) = (from_place as usize * SIZE, to_place as usize * SIZE);
            let to_stride = to_stride as usize * SIZE;
            if from_stride == SIZE && to_stride == SIZE && length > 1 {
                let bytes = length as usize * SIZE;
                let (from, to) = (&from[source..source + bytes], &mut to[target..target + bytes]);
                if uncached && bytes >= MIN_UNCACHED_RUN_BYTES {
                    copy_past_caches(from, to);
                } else {
                    to.copy_from_slice(from);
                }
                return;
            }
            for _ in 0..length {
                let element: [u8; SIZE] = from[source..source + SIZE].try_into().expect("SIZE bytes");
                to[target..target + SIZE].copy_from_slice(&element);
                (source, target) = (source + from_stride, target + to_stride);
            }
        });
        if uncached {
            finish();
        }
    }

    /// Returns the distance in the sender's part between two neighbours of a run of `for_each_run`, in
    /// elements.
    fn inner_from_stride(&self) -> u64 {
        match &self.0 {
            Shape::Block { axes, .. } => axes.last().map_or(1, |axis| axis.from_stride),
            Shape::Runs(_) => 1,
        }
    }

    /// Calls `run` for each run of elements. The arguments are the place of the first element in the sender's
    /// part, its place in the receiver's part, the number of elements, and the distance between two
    /// neighbours in the receiver's part.
    pub(crate) fn for_each_run(&self, mut run: impl FnMut(u64, u64, u64, u64)) {
        match &self.0 {
            Shape::Runs(runs) => runs.iter().for_each(|one| run(one.from, one.to, one.length, 1)),
            Shape::Block { from, to, axes } => {
                let Some((inner, outer)) = axes.split_last() else { return run(*from, *to, 1, 1) };
                let mut index = vec![0; outer.len()];
                let (mut from, mut to) = (*from, *to);
                loop {
                    run(from, to, inner.length, inner.to_stride);
                    let mut axis = outer.len();
                    loop {
                        let Some(next) = axis.checked_sub(1) else { return };
                        axis = next;
                        index[axis] += 1;
                        (from, to) = (from + outer[axis].from_stride, to + outer[axis].to_stride);
                        if index[axis] < outer[axis].length {
                            break;
                        }
                        let whole = outer[axis].length;
                        (from, to) =
                            (from - outer[axis].from_stride * whole, to - outer[axis].to_stride * whole);
                        index[axis] = 0;
                    }
                }
            }
        }
    }
}

/// Returns the distance between two neighbours along each dimension of a part of this shape, in elements.
fn strides(shape: &[u64], order: ArrayOrder) -> Vec<u64> {
    let mut strides = vec![1; shape.len()];
    match order {
        ArrayOrder::RowMajor => {
            for axis in (1..shape.len()).rev() {
                strides[axis - 1] = strides[axis] * shape[axis];
            }
        }
        ArrayOrder::ColumnMajor => {
            for axis in 1..shape.len() {
                strides[axis] = strides[axis - 1] * shape[axis - 1];
            }
        }
    }
    strides
}

fn between_blocks(from: &[u64], to: &[u64], sender: PartLayout<'_>, receiver: PartLayout<'_>) -> Route {
    let from_strides = strides(sender.map.shape(), sender.order);
    let to_strides = strides(receiver.map.shape(), receiver.order);
    let (mut from_place, mut to_place) = (0, 0);
    let mut axes = Vec::with_capacity(from.len());
    for axis in 0..from.len() {
        let begin = from[axis].max(to[axis]);
        let end = (from[axis] + sender.map.shape()[axis]).min(to[axis] + receiver.map.shape()[axis]);
        if begin >= end {
            return Route(Shape::Runs(Vec::new()));
        }
        from_place += (begin - from[axis]) * from_strides[axis];
        to_place += (begin - to[axis]) * to_strides[axis];
        if end - begin > 1 {
            axes.push(Axis {
                length: end - begin,
                from_stride: from_strides[axis],
                to_stride: to_strides[axis],
            });
        }
    }
    // The dimensions are sorted so that the receiver's part is written in the order of its addresses. Two
    // dimensions without a gap between them in both parts are copied as one.
    axes.sort_by_key(|axis| std::cmp::Reverse(axis.to_stride));
    let mut merged: Vec<Axis> = Vec::with_capacity(axes.len());
    for axis in axes {
        match merged.last_mut() {
            Some(outer)
                if outer.from_stride == axis.from_stride * axis.length
                    && outer.to_stride == axis.to_stride * axis.length =>
            {
                *outer = Axis { length: outer.length * axis.length, ..axis };
            }
            _ => merged.push(axis),
        }
    }
    Route(Shape::Block { from: from_place, to: to_place, axes: merged })
}

/// Consecutive indices that a part has: the first index, the place of its element, the number of indices, and
/// the distance between the places of two neighbours.
#[derive(Clone, Copy)]
struct Sequence {
    begin: u64,
    place: u64,
    length: u64,
    stride: u64,
}

/// Finds the runs of elements that both parts have, from the sorted indices of both parts.
fn between_sequences(array: &[u64], sender: PartLayout<'_>, receiver: PartLayout<'_>) -> Vec<PartRun> {
    let mut runs: Vec<PartRun> = Vec::new();
    let (mut theirs, mut ours) = (sequences(array, sender), sequences(array, receiver));
    let (mut here, mut there) = (ours.next(), theirs.next());
    while let (Some(to), Some(from)) = (here, there) {
        let begin = to.begin.max(from.begin);
        let end = (to.begin + to.length).min(from.begin + from.length);
        if begin < end {
            let first = PartRun {
                from: from.place + (begin - from.begin) * from.stride,
                to: to.place + (begin - to.begin) * to.stride,
                length: end - begin,
            };
            if from.stride == 1 && to.stride == 1 {
                push(&mut runs, first);
            } else {
                for i in 0..first.length {
                    let (from, to) = (first.from + i * from.stride, first.to + i * to.stride);
                    push(&mut runs, PartRun { from, to, length: 1 });
                }
            }
        }
        if to.begin + to.length <= from.begin + from.length {
            here = ours.next();
        } else {
            there = theirs.next();
        }
    }
    runs.shrink_to_fit();
    runs
}

/// Appends a run, or adds it to the last run if the two are consecutive in both parts.
fn push(runs: &mut Vec<PartRun>, run: PartRun) {
    match runs.last_mut() {
        Some(last) if last.from + last.length == run.from && last.to + last.length == run.to => {
            last.length += run.length;
        }
        _ => runs.push(run),
    }
}

/// Returns the indices of a part in increasing order.
fn sequences<'a>(array: &'a [u64], part: PartLayout<'a>) -> Box<dyn Iterator<Item = Sequence> + 'a> {
    match &part.map.indices {
        Indices::Sequences(all) => Box::new(of_sequences(all)),
        Indices::Block { start } => Box::new(of_block(array, start, part.map.shape(), part.order)),
    }
}

fn of_sequences(all: &Sequences) -> impl Iterator<Item = Sequence> + '_ {
    (0..all.count()).map(|at| Sequence {
        begin: all.begin[at],
        place: all.place[at],
        length: all.length(at),
        stride: 1,
    })
}

/// Returns the rows of a block along the last dimension of the array.
fn of_block<'a>(
    array: &'a [u64],
    start: &'a [u64],
    shape: &'a [u64],
    order: ArrayOrder,
) -> impl Iterator<Item = Sequence> + 'a {
    let (in_array, in_part) = (strides(array, ArrayOrder::RowMajor), strides(shape, order));
    let last = shape.len() - 1;
    let rows: u64 = shape[..last].iter().product();
    (0..rows).map(move |row| {
        let (mut left, mut begin, mut place) = (row, start[last] * in_array[last], 0);
        for axis in (0..last).rev() {
            let index = left % shape[axis];
            left /= shape[axis];
            begin += (start[axis] + index) * in_array[axis];
            place += index * in_part[axis];
        }
        Sequence { begin, place, length: shape[last], stride: in_part[last] }
    })
}
