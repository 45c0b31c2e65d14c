//! A check that each element of a receiver's part comes from exactly one sender.

use crate::route::Route;

/// The elements of a part that have a sender, one bit for each.
#[derive(Clone, Debug)]
pub struct Coverage {
    /// Number of elements of the part.
    count: u64,
    bits: Vec<u64>,
}

impl Coverage {
    /// Makes the coverage of a part with `count` elements, none of which has a sender.
    pub fn new(count: u64) -> Coverage {
        Coverage { count, bits: vec![0; count.div_ceil(64) as usize] }
    }

    /// Marks the elements that a route brings.
    ///
    /// # Errors
    /// An element comes by another route, too. The error is its place.
    pub fn add(&mut self, route: &Route) -> Result<(), u64> {
        let mut twice = None;
        route.for_each_run(|_, to, length, stride| {
            if twice.is_some() {
            } else if stride == 1 {
                twice = self.mark(to, length);
            } else {
                twice = (0..length).find_map(|i| self.mark(to + i * stride, 1));
            }
        });
        twice.map_or(Ok(()), Err)
    }

    /// Marks consecutive places. Returns the first of them that was marked before, if there is one.
    fn mark(&mut self, begin: u64, length: u64) -> Option<u64> {
        let (mut place, end) = (begin, begin + length);
        while place < end {
            let (word, first) = ((place / 64) as usize, place % 64);
            let count = (64 - first).min(end - place);
            let mask = (u64::MAX >> (64 - count)) << first;
            let before = self.bits[word] & mask;
            if before != 0 {
                return Some(word as u64 * 64 + u64::from(before.trailing_zeros()));
            }
            self.bits[word] |= mask;
            place += count;
        }
        None
    }

    /// Returns the place of the first element that no route brings, if there is one.
    pub fn gap(&self) -> Option<u64> {
        let word = self.bits.iter().position(|&bits| bits != u64::MAX)?;
        let place = word as u64 * 64 + u64::from(self.bits[word].trailing_ones());
        (place < self.count).then_some(place)
    }
}
