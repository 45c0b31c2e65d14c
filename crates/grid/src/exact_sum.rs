//! Sums of floating-point numbers without rounding until the end, so that the result depends neither on the
//! order of the numbers nor on the blocks that have them. The method is the small superaccumulator of R. M.
//! Neal, "Fast exact summation using small and large superaccumulators", arXiv:1505.05571 (2015): a fixed-point
//! number as long as the range of doubles, in pieces that overlap.

/// Number of bits of a piece that carry no earlier overflow.
const PIECE_BITS: u32 = 32;
/// Number of pieces: doubles have bits from 2^-1074 to 2^1023; the rest is for carries.
const PIECES: usize = 67;
/// Number of additions after which the carries are passed on. Each adds less than 2^32 to a piece of 63 bits.
const MAX_ADDITIONS: u32 = 1 << 30;
/// Number of bits of a double's significand.
const SIGNIFICAND_BITS: u32 = 53;
/// The mask of a piece.
const PIECE_MASK: i64 = (1 << PIECE_BITS) - 1;

/// A sum of doubles without rounding.
#[derive(Clone, Debug, PartialEq)]
pub struct ExactSum {
    /// Piece i counts in units of 2^(32·i - 1074).
    pieces: [i64; PIECES],
    additions: u32,
    /// The sum of the numbers that are infinite or no numbers; 0 without any.
    special: f64,
}

impl Default for ExactSum {
    fn default() -> ExactSum {
        ExactSum { pieces: [0; PIECES], additions: 0, special: 0.0 }
    }
}

impl ExactSum {
    /// Adds a number.
    #[inline]
    pub fn add(&mut self, number: f64) {
        let bits = number.to_bits();
        let exponent = (bits >> (SIGNIFICAND_BITS - 1) & 0x7ff) as u32;
        if exponent == 0x7ff {
            self.special += number;
            return;
        }
        // A subnormal number has the exponent of the smallest normal ones, without the hidden bit.
        let hidden = u64::from(exponent > 0) << (SIGNIFICAND_BITS - 1);
        let significand = bits & ((1 << (SIGNIFICAND_BITS - 1)) - 1) | hidden;
        let shift = exponent.max(1) - 1;
        let (place, offset) = ((shift / PIECE_BITS) as usize, shift % PIECE_BITS);
        let wide = u128::from(significand) << offset;
        let sign = if number.is_sign_negative() { -1 } else { 1 };
        for i in 0..3 {
            self.pieces[place + i] += sign * ((wide >> (PIECE_BITS * i as u32)) as i64 & PIECE_MASK);
        }
        self.additions += 1;
        if self.additions >= MAX_ADDITIONS {
            self.carry();
        }
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: &ExactSum) {
        let mut other = other.clone();
        other.carry();
        self.carry();
        self.pieces.iter_mut().zip(other.pieces).for_each(|(here, there)| *here += there);
        self.special += other.special;
        self.additions = 1;
    }

    /// Passes the carries on: each piece but the last is from 0 on below 2^32 then.
    fn carry(&mut self) {
        let mut carry = 0;
        for piece in &mut self.pieces[..PIECES - 1] {
            let sum = *piece + carry;
            *piece = sum & PIECE_MASK;
            carry = sum >> PIECE_BITS;
        }
        self.pieces[PIECES - 1] += carry;
        self.additions = 0;
    }

    /// Returns the double that is nearest to the sum; of two that are equally near, the even one. A sum that is
    /// no number is always the same NaN: the bits of a NaN depend on the order of additions.
    pub fn round(&self) -> f64 {
        if self.special.is_nan() {
            return f64::NAN;
        }
        if self.special != 0.0 {
            return self.special;
        }
        let mut sum = self.clone();
        sum.carry();
        let negative = sum.pieces[PIECES - 1] < 0;
        if negative {
            sum.pieces.iter_mut().for_each(|piece| *piece = -*piece);
            sum.carry();
        }
        let Some(top) = sum.pieces.iter().rposition(|piece| *piece != 0) else { return 0.0 };
        let highest = top as u32 * PIECE_BITS + sum.pieces[top].ilog2();
        let bit = |place: u32| sum.pieces[(place / PIECE_BITS) as usize] >> (place % PIECE_BITS) & 1;
        let lowest = (highest + 1).saturating_sub(SIGNIFICAND_BITS);
        let mut significand = (lowest..=highest).rev().fold(0u64, |all, place| all << 1 | bit(place) as u64);
        let mut exponent = highest;
        if lowest > 0 && bit(lowest - 1) == 1 {
            let beyond = (0..lowest - 1).any(|place| bit(place) == 1);
            significand += u64::from(beyond || significand & 1 == 1);
            if significand >> SIGNIFICAND_BITS == 1 {
                significand >>= 1;
                exponent += 1;
            }
        }
        let magnitude = if exponent < SIGNIFICAND_BITS - 1 {
            f64::from_bits(significand)
        } else {
            // The hidden bit adds one to the exponent.
            let exponent = u64::from(exponent - (SIGNIFICAND_BITS - 1));
            if exponent >= 0x7fe {
                f64::INFINITY
            } else {
                f64::from_bits((exponent << (SIGNIFICAND_BITS - 1)) + significand)
            }
        };
        if negative {
            -magnitude
        } else {
            magnitude
        }
    }

    /// Returns the sum as numbers, for a message.
    pub fn to_words(&self) -> Vec<i64> {
        let mut sum = self.clone();
        sum.carry();
        sum.pieces.into_iter().chain([sum.special.to_bits() as i64]).collect()
    }

    /// Returns the sum that `to_words` made into numbers. Returns `None` if they are no sum.
    pub fn from_words(words: &[i64]) -> Option<ExactSum> {
        let (special, pieces) = words.split_last()?;
        let pieces: [i64; PIECES] = pieces.try_into().ok()?;
        let valid = pieces[..PIECES - 1].iter().all(|piece| (0..=PIECE_MASK).contains(piece));
        let sum = ExactSum { pieces, additions: 0, special: f64::from_bits(*special as u64) };
        (valid && pieces[PIECES - 1].abs() <= PIECE_MASK).then_some(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(numbers: &[f64]) -> f64 {
        let mut all = ExactSum::default();
        numbers.iter().for_each(|number| all.add(*number));
        all.round()
    }

    #[test]
    fn one_number_is_its_own_sum() {
        for number in
            [0.0, 1.0, -1.5, 0.1, f64::MAX, -f64::MAX, f64::MIN_POSITIVE, 5e-324, -5e-324, 2.5e-308, 1e-310]
        {
            assert_eq!(sum(&[number]).to_bits(), number.to_bits(), "{number}");
        }
    }

    #[test]
    fn what_cancels_leaves_the_rest() {
        assert_eq!(sum(&[1e308, 1e308, -1e308, -1e308, 5e-324]), 5e-324);
        assert_eq!(sum(&[1e16, 1.0, -1e16]), 1.0);
        assert_eq!(sum(&[-1e16, -1.0, 1e16]), -1.0);
        assert_eq!(sum(&[f64::MAX, f64::MAX]), f64::INFINITY);
        assert_eq!(sum(&[-f64::MAX, -f64::MAX]), f64::NEG_INFINITY);
        assert!(sum(&[f64::INFINITY, f64::NEG_INFINITY]).is_nan());
        assert!(sum(&[f64::NAN, 1.0]).is_nan());
        assert_eq!(sum(&[f64::INFINITY, -1.0]), f64::INFINITY);
        assert_eq!(sum(&[0.1; 10]), 1.0);
    }

    #[test]
    fn a_sum_that_is_no_number_has_the_same_bits_in_any_order() {
        let negative = f64::from_bits(f64::NAN.to_bits() | 1 << 63 | 1);
        let (up, down) = (f64::INFINITY, f64::NEG_INFINITY);
        for numbers in [[up, down, f64::NAN], [f64::NAN, up, down], [negative, 1.0, up], [down, up, negative]] {
            assert_eq!(sum(&numbers).to_bits(), f64::NAN.to_bits(), "{numbers:?}");
        }
    }

    #[test]
    fn halves_go_to_the_even_neighbour() {
        let one = 1.0 + f64::EPSILON;
        assert_eq!(sum(&[1.0, f64::EPSILON / 2.0]), 1.0);
        assert_eq!(sum(&[one, f64::EPSILON / 2.0]), 1.0 + 2.0 * f64::EPSILON);
        assert_eq!(sum(&[1.0, f64::EPSILON / 2.0, 5e-324]), one);
        assert_eq!(sum(&[2.0 - f64::EPSILON, f64::EPSILON / 2.0]), 2.0);
    }

    #[test]
    fn sums_of_parts_are_those_of_the_whole() {
        let numbers: Vec<f64> =
            (0..1000u32).map(|i| (f64::from(i) * 0.37).sin() * 10f64.powi(i as i32 % 40 - 20)).collect();
        let whole = sum(&numbers);
        for parts in [1, 2, 3, 7] {
            let mut all = ExactSum::default();
            for part in numbers.chunks(numbers.len().div_ceil(parts)) {
                let mut one = ExactSum::default();
                part.iter().for_each(|number| one.add(*number));
                all.merge(&ExactSum::from_words(&one.to_words()).unwrap());
            }
            assert_eq!(all.round().to_bits(), whole.to_bits());
        }
        assert_eq!(ExactSum::from_words(&[1; 3]), None);
    }
}
