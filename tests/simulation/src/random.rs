//! Random numbers that follow from a seed alone (SplitMix64; Steele, Lea and Flood, 2014).

/// A stream of numbers.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Makes the stream of a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// Makes another stream, which does not depend on how this one is used later.
    pub fn split(&mut self) -> Random {
        Random(self.next())
    }

    /// Returns any number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `end`, which is not 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Returns a number from `from` to `to`, both included.
    pub fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.below(to - from + 1)
    }

    /// Returns true in `percent` of 100 cases.
    pub fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    /// Returns a number from 1 to `to` whose length in bits is uniform: mostly small, sometimes large.
    pub fn scaled(&mut self, to: u64) -> u64 {
        let bits = self.below(u64::from(64 - to.leading_zeros()));
        (1 << bits | self.below(1 << bits)).min(to)
    }

    /// Returns one of several items.
    pub fn of<'a, T>(&mut self, several: &'a [T]) -> &'a T {
        &several[self.below(several.len() as u64) as usize]
    }
}
