//! Sums, minima and maxima of the numbers that all blocks of a grid give. Their bits do not depend on the
//! blocks.

use super::{nothing_is_open, Domain};
use crate::error::GridError;
use crate::exact_sum::ExactSum;
use ligament_instance::{Error, Instance, OpenExchange, Outgoing};
use ligament_model::{GHOSTS_IN, GHOSTS_OUT};
use ligament_wire::{ArrayOrder, ArrayRef, DType, Value, ValueRef};

/// A reduction of the numbers of all blocks to one. Its number is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reduction {
    Sum = 1,
    Min = 2,
    Max = 3,
}

impl Reduction {
    const ALL: [Reduction; 3] = [Reduction::Sum, Reduction::Min, Reduction::Max];

    fn name(self) -> &'static str {
        match self {
            Reduction::Sum => "sum",
            Reduction::Min => "min",
            Reduction::Max => "max",
        }
    }
}

impl Domain {
    /// Returns the sum of all numbers that all blocks give. It is the exact sum, rounded once. So it does not
    /// depend on the order of the numbers, or on the blocks.
    ///
    /// # Errors
    /// `Unexpected` if another block does something else; and the errors of `Instance::send` and
    /// `Instance::receive`.
    pub fn sum(&mut self, instance: &mut Instance, numbers: &[f64]) -> Result<f64, Error> {
        let mut sum = ExactSum::default();
        numbers.iter().for_each(|number| sum.add(*number));
        self.reduce(instance, Reduction::Sum, &sum.to_words(), |mine, theirs| {
            let sums = ExactSum::from_words(mine).zip(ExactSum::from_words(theirs));
            sums.map(|(mut sum, other)| {
                sum.merge(&other);
                sum.to_words()
            })
        })
        .map(|words| ExactSum::from_words(&words).map_or(f64::NAN, |sum| sum.round()))
    }

    /// Returns the smallest of all numbers that all blocks give; infinity if they give none. It is no number if
    /// one of them is none. -0 counts as smaller than 0.
    ///
    /// # Errors
    /// As `sum`.
    pub fn min(&mut self, instance: &mut Instance, numbers: &[f64]) -> Result<f64, Error> {
        self.extreme(instance, Reduction::Min, numbers, f64::INFINITY, |a, b| a.total_cmp(&b).is_lt())
    }

    /// Returns the largest of all numbers that all blocks give; minus infinity if they give none. It is no
    /// number if one of them is none. -0 counts as smaller than 0.
    ///
    /// # Errors
    /// As `sum`.
    pub fn max(&mut self, instance: &mut Instance, numbers: &[f64]) -> Result<f64, Error> {
        self.extreme(instance, Reduction::Max, numbers, f64::NEG_INFINITY, |a, b| a.total_cmp(&b).is_gt())
    }

    fn extreme(
        &mut self,
        instance: &mut Instance,
        reduction: Reduction,
        numbers: &[f64],
        without: f64,
        is_before: impl Fn(f64, f64) -> bool,
    ) -> Result<f64, Error> {
        let choose = |a: f64, b: f64| match (a.is_nan() || b.is_nan(), is_before(b, a)) {
            (true, _) => f64::NAN,
            (false, true) => b,
            (false, false) => a,
        };
        let own = numbers.iter().copied().fold(without, &choose);
        let word = |number: f64| number.to_bits() as i64;
        let all = self.reduce(instance, reduction, &[word(own)], |mine, theirs| {
            let number = |words: &[i64]| words.first().map(|word| f64::from_bits(*word as u64));
            let numbers = number(mine).zip(number(theirs)).filter(|_| theirs.len() == 1);
            numbers.map(|(a, b)| vec![word(choose(a, b))])
        });
        all.map(|words| words.first().map_or(f64::NAN, |word| f64::from_bits(*word as u64)))
    }

    /// Combines the words of all blocks at block 0, in the order of the blocks, and returns the result at all
    /// of them.
    fn reduce(
        &mut self,
        instance: &mut Instance,
        reduction: Reduction,
        own: &[i64],
        combine: impl Fn(&[i64], &[i64]) -> Option<Vec<i64>>,
    ) -> Result<Vec<i64>, Error> {
        nothing_is_open(instance)?;
        instance.grid_progress().open = Some(OpenExchange::Within);
        let reduced = self.reduce_words(instance, reduction, own, combine)?;
        instance.grid_progress().open = None;
        Ok(reduced)
    }

    fn reduce_words(
        &mut self,
        instance: &mut Instance,
        reduction: Reduction,
        own: &[i64],
        combine: impl Fn(&[i64], &[i64]) -> Option<Vec<i64>>,
    ) -> Result<Vec<i64>, Error> {
        let mut all = own.to_vec();
        if self.block > 0 {
            let slot = self.blocks.slot_to(self.block, 0) as u32;
            self.send_words(instance, reduction, slot, &all)?;
            return self.receive_words(instance, reduction, (slot, 0), all.len());
        }
        for block in 1..self.blocks.number() {
            let slot = self.blocks.slot_to(0, block) as u32;
            let theirs = self.receive_words(instance, reduction, (slot, block), all.len())?;
            all = combine(&all, &theirs).ok_or_else(|| GridError::Unexpected { peer: self.name_of(block) })?;
        }
        for block in 1..self.blocks.number() {
            self.send_words(instance, reduction, self.blocks.slot_to(0, block) as u32, &all)?;
        }
        Ok(all)
    }

    /// Sends the number of a reduction, and its words.
    fn send_words(
        &self,
        instance: &mut Instance,
        reduction: Reduction,
        slot: u32,
        words: &[i64],
    ) -> Result<(), Error> {
        let all: Vec<i64> = std::iter::once(reduction as i64).chain(words.iter().copied()).collect();
        let shape = [all.len() as u64];
        let array = ArrayRef::from_slice(&all, &shape, ArrayOrder::RowMajor);
        instance.send(GHOSTS_OUT, &Outgoing::at(self.time, ValueRef::Array(array)), Some(slot))
    }

    fn receive_words(
        &self,
        instance: &mut Instance,
        reduction: Reduction,
        (slot, block): (u32, usize),
        count: usize,
    ) -> Result<Vec<i64>, Error> {
        let message = instance.receive(GHOSTS_IN, Some(slot))?;
        let unexpected = || GridError::Unexpected { peer: self.name_of(block) };
        let Value::Array(array) = &message.data else { return Err(unexpected().into()) };
        if array.dtype() != DType::Int64 {
            return Err(unexpected().into());
        }
        let mut words = array.data().chunks_exact(8).map(|word| word.try_into().map_or(0, i64::from_ne_bytes));
        let theirs = words.next();
        if theirs != Some(reduction as i64) {
            let named = Reduction::ALL.into_iter().find(|one| Some(*one as i64) == theirs);
            let (own, theirs) = (reduction.name(), named.ok_or_else(unexpected)?.name());
            return Err(GridError::ReductionsDiffer { own, peer: self.name_of(block), theirs }.into());
        }
        self.check_time(self.time, message.timestamp, block)?;
        let words: Vec<i64> = words.collect();
        if words.len() == count {
            Ok(words)
        } else {
            Err(unexpected().into())
        }
    }
}
