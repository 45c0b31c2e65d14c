//! Index maps: the part of a distributed array that one rank has.

use ligament_catalogue::errors;
use ligament_wire::{Array, ArrayOrder, DType, Value};
use std::ops::Deref;

errors! {
    /// The reason why a map is not valid.
    pub enum MapError {
        /// The block has another number of dimensions than the array.
        Dimensions { given: usize, array: usize } => BAD_MAP,
            "the block has {given} dimensions, and the array of the model has {array}";
        /// The block is not within the array.
        Block { axis: usize, start: u64, end: u64, length: u64 } => BAD_MAP,
            "the block has the indices {start} to {end} (not included) of dimension {axis}, and the array \
             of the model has the indices 0 to {length} (not included) there";
        /// The range is not within the array.
        Range { begin: u64, end: u64, length: u64 } => BAD_MAP,
            "the range is from {begin} to {end} (not included), and the elements of the array of the model are \
             numbered from 0 to {length} (not included)";
        /// The index is not within the array.
        Index { index: i64, at: usize, length: u64 } => BAD_MAP,
            "index {index} (entry {at} of the list) is not within the array of the model, whose elements are \
             numbered from 0 to {length} (not included)";
        /// The list has an index twice.
        Twice { index: u64 } => BAD_MAP, "index {index} is in the list twice; name each index once";
    }
}

/// A part of a distributed array, as a code describes it.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// The block that begins at the indices `start` and has the shape `shape`. A part without elements has a
    /// length of 0.
    Block { start: &'a [u64], shape: &'a [u64] },
    /// The elements with the numbers `begin` to `end` (not included). Elements are numbered so that the last
    /// index of the array runs fastest.
    Range { begin: u64, end: u64 },
    /// The elements with these numbers, in this order.
    List(&'a [i64]),
}

/// The part of a distributed array that one rank has: a block, or any indices.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexMap {
    /// Shape of the part, as the rank stores it.
    shape: Vec<u64>,
    pub(crate) indices: Indices,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Indices {
    /// The block that begins at these indices of the array. Its shape is that of the part.
    Block { start: Vec<u64> },
    /// Sequences of consecutive indices, sorted by index.
    Sequences(Box<Sequences>),
}

/// Sequences of consecutive indices that are stored one after the other in the part. The three lists are as
/// long as each other. A part whose indices are all apart has 16 bytes for each index.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sequences {
    /// First index of each sequence.
    pub begin: Numbers,
    /// Place in the part of each sequence's first element.
    pub place: Numbers,
    /// Length of each sequence; `None` if all have the length 1.
    pub length: Option<Numbers>,
}

/// A list of numbers. The list of another rank's map stays in the memory where that rank has written it, so
/// no rank has a copy of the whole map.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Numbers(Array);

impl Numbers {
    fn new(numbers: Vec<u64>) -> Numbers {
        let count = numbers.len();
        Numbers(Array::from_vec(numbers, &[count], ArrayOrder::RowMajor).expect("a list has one dimension"))
    }

    /// Reads a list from a message. Numbers that are not aligned for this machine are copied.
    fn read(value: &Value) -> Option<Numbers> {
        let Value::Array(array) = value else { return None };
        if array.as_slice::<u64>().is_some() {
            return (array.ndim() == 1).then(|| Numbers(array.clone()));
        }
        if array.dtype() != DType::UInt64 || array.ndim() != 1 || array.own_strides().is_some() {
            return None;
        }
        let eight = |bytes: &[u8]| bytes.try_into().map(u64::from_ne_bytes).ok();
        array.data().chunks_exact(8).map(eight).collect::<Option<Vec<u64>>>().map(Numbers::new)
    }
}

impl Deref for Numbers {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        self.0.as_slice().unwrap_or_default()
    }
}

impl Sequences {
    pub fn count(&self) -> usize {
        self.begin.len()
    }

    pub fn length(&self, at: usize) -> u64 {
        self.length.as_ref().map_or(1, |length| length[at])
    }
}

/// The keys of a map in the body of a message.
const START: &str = "start";
const SHAPE: &str = "shape";
const BEGIN: &str = "begin";
const PLACE: &str = "place";
const LENGTH: &str = "length";

impl IndexMap {
    /// Makes the map of a part of an array of shape `array`.
    ///
    /// # Errors
    /// The part is not within the array, or has an element twice.
    pub fn new(array: &[u64], part: Part<'_>) -> Result<IndexMap, MapError> {
        match part {
            Part::Block { start, shape } => IndexMap::block(array, start, shape),
            Part::Range { begin, end } => {
                let length = array.iter().product();
                if begin > end || end > length {
                    return Err(MapError::Range { begin, end, length });
                }
                let run = (begin < end).then_some((begin, 0, end - begin));
                Ok(IndexMap::of_runs(end - begin, run.as_slice()))
            }
            Part::List(numbers) => IndexMap::list(array, numbers),
        }
    }

    fn block(array: &[u64], start: &[u64], shape: &[u64]) -> Result<IndexMap, MapError> {
        if start.len() != array.len() || shape.len() != array.len() {
            let given = if start.len() == array.len() { shape.len() } else { start.len() };
            return Err(MapError::Dimensions { given, array: array.len() });
        }
        for (axis, ((&start, &count), &length)) in start.iter().zip(shape).zip(array).enumerate() {
            let end = start.saturating_add(count);
            if end > length {
                return Err(MapError::Block { axis, start, end, length });
            }
        }
        Ok(IndexMap { shape: shape.to_vec(), indices: Indices::Block { start: start.to_vec() } })
    }

    fn list(array: &[u64], numbers: &[i64]) -> Result<IndexMap, MapError> {
        let total: u64 = array.iter().product();
        let mut runs: Vec<(u64, u64, u64)> = Vec::new();
        for (at, &number) in numbers.iter().enumerate() {
            let index = u64::try_from(number).ok().filter(|&index| index < total);
            let index = index.ok_or(MapError::Index { index: number, at, length: total })?;
            match runs.last_mut() {
                Some((begin, _, length)) if *begin + *length == index => *length += 1,
                _ => runs.push((index, at as u64, 1)),
            }
        }
        runs.sort_unstable();
        for pair in runs.windows(2) {
            if pair[0].0 + pair[0].2 > pair[1].0 {
                return Err(MapError::Twice { index: pair[1].0 });
            }
        }
        Ok(IndexMap::of_runs(numbers.len() as u64, &runs))
    }

    /// Makes the map of `count` elements. Each entry of `runs` is a sequence: its first index, the place of
    /// its first element, and its length. The sequences are sorted.
    fn of_runs(count: u64, runs: &[(u64, u64, u64)]) -> IndexMap {
        let apart = runs.iter().all(|&(.., length)| length == 1);
        let sequences = Sequences {
            begin: Numbers::new(runs.iter().map(|run| run.0).collect()),
            place: Numbers::new(runs.iter().map(|run| run.1).collect()),
            length: (!apart).then(|| Numbers::new(runs.iter().map(|run| run.2).collect())),
        };
        IndexMap { shape: vec![count], indices: Indices::Sequences(Box::new(sequences)) }
    }

    /// Returns the shape of the part as the rank stores it: the shape of the block, or the number of indices.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Returns the number of elements of the part.
    pub fn len(&self) -> u64 {
        self.shape.iter().product()
    }

    /// Returns true if the rank has no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of the element at a place of the part, which is stored in `order`. The number
    /// counts the elements of an array of shape `array`. Returns `None` if the part has no such place.
    pub fn number_at(&self, array: &[u64], order: ArrayOrder, place: u64) -> Option<u64> {
        match &self.indices {
            _ if place >= self.len() => None,
            Indices::Block { start } => {
                let mut left = place;
                let mut number = 0;
                let mut strides = vec![1; array.len()];
                for axis in (1..array.len()).rev() {
                    strides[axis - 1] = strides[axis] * array[axis];
                }
                let mut of_axis = |axis: usize| {
                    number += (start[axis] + left % self.shape[axis]) * strides[axis];
                    left /= self.shape[axis];
                };
                match order {
                    ArrayOrder::RowMajor => (0..array.len()).rev().for_each(&mut of_axis),
                    ArrayOrder::ColumnMajor => (0..array.len()).for_each(&mut of_axis),
                }
                Some(number)
            }
            Indices::Sequences(all) => (0..all.count()).find_map(|at| {
                let within = place.checked_sub(all.place[at])?;
                (within < all.length(at)).then(|| all.begin[at] + within)
            }),
        }
    }

    /// Returns the map as the body of a message.
    pub fn to_value(&self) -> Value {
        let entries = match &self.indices {
            Indices::Block { start } => {
                vec![(START, Numbers::new(start.clone())), (SHAPE, Numbers::new(self.shape.clone()))]
            }
            Indices::Sequences(all) => {
                let Sequences { begin, place, length } = &**all;
                let length = length.clone().map(|length| (LENGTH, length));
                [(BEGIN, begin.clone()), (PLACE, place.clone())].into_iter().chain(length).collect()
            }
        };
        Value::Map(entries.into_iter().map(|(key, numbers)| (key.into(), Value::Array(numbers.0))).collect())
    }

    /// Reads the map of another rank from the body of a message. The message may be wrong: returns `None` if
    /// it is not a map of an array of shape `array`.
    pub fn from_value(array: &[u64], value: &Value) -> Option<IndexMap> {
        let Value::Map(entries) = value else { return None };
        let numbers = |wanted: &str| -> Option<Numbers> {
            let (_, value) = entries.iter().find(|(key, _)| &**key == wanted)?;
            Numbers::read(value)
        };
        if let (Some(start), Some(shape)) = (numbers(START), numbers(SHAPE)) {
            return IndexMap::block(array, &start, &shape).ok();
        }
        let sequences = Sequences { begin: numbers(BEGIN)?, place: numbers(PLACE)?, length: numbers(LENGTH) };
        let all_long = sequences.length.as_ref().is_none_or(|length| length.len() == sequences.count());
        if sequences.place.len() != sequences.count() || !all_long {
            return None;
        }
        let total: u64 = array.iter().product();
        let (mut free, mut count) = (0u64, 0u64);
        for at in 0..sequences.count() {
            let (begin, length) = (sequences.begin[at], sequences.length(at));
            let end = begin.checked_add(length)?;
            if begin < free || end > total {
                return None;
            }
            (free, count) = (end, count + length);
        }
        let within = |at: usize| {
            let end = sequences.place[at].checked_add(sequences.length(at));
            end.is_some_and(|end| end <= count)
        };
        if !(0..sequences.count()).all(within) {
            return None;
        }
        Some(IndexMap { shape: vec![count], indices: Indices::Sequences(Box::new(sequences)) })
    }
}

/// Returns the index of an element as text: its number in an array of one dimension, else one index for each
/// dimension, such as `(3, 0, 7)`.
pub fn index_text(array: &[u64], number: u64) -> String {
    if array.len() == 1 {
        return number.to_string();
    }
    let mut left = number;
    let mut indices: Vec<String> = Vec::with_capacity(array.len());
    for &length in array.iter().rev() {
        let length = length.max(1);
        indices.push((left % length).to_string());
        left /= length;
    }
    indices.reverse();
    format!("({})", indices.join(", "))
}
