//! All `unsafe` code of this crate: signs of a row with the vectors of the processor, which are chosen at run
//! time. AVX-512 would need Rust 1.89, and would not be faster: the loop over the values waits for memory.

/// The vectors that make signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lanes {
    /// One value at a time, on any processor.
    Scalar,
    /// 16 bytes, on every x86-64 processor.
    #[cfg(target_arch = "x86_64")]
    Sse2,
    /// 32 bytes.
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

impl Lanes {
    /// Returns the kinds of vectors of this processor, the fastest last.
    pub fn available() -> Vec<Lanes> {
        #[cfg(target_arch = "x86_64")]
        let lanes = if std::arch::is_x86_feature_detected!("avx2") {
            vec![Lanes::Scalar, Lanes::Sse2, Lanes::Avx2]
        } else {
            vec![Lanes::Scalar, Lanes::Sse2]
        };
        #[cfg(not(target_arch = "x86_64"))]
        let lanes = vec![Lanes::Scalar];
        lanes
    }
}

/// Smallest and largest value, without NaN, and true if there is a NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Range {
    pub(crate) min: f64,
    pub(crate) max: f64,
    pub(crate) nan: bool,
}

impl Range {
    pub(crate) const EMPTY: Range = Range { min: f64::INFINITY, max: f64::NEG_INFINITY, nan: false };
}

/// A type of the values of a field.
pub(crate) trait Value: Copy + PartialOrd {
    fn to_f64(self) -> f64;

    fn is_nan(self) -> bool {
        self.to_f64().is_nan()
    }

    /// Returns the smallest value of the type that is not below a level.
    fn threshold(level: f64) -> Self;

    /// Sets bit `i` of `words` if value `i` of the row is not below the threshold, and clears all others. Takes
    /// the values into `range`.
    fn signs(lanes: Lanes, row: &[Self], threshold: Self, signs: Signs<'_>);
}

/// The result for a row.
pub(crate) struct Signs<'a> {
    /// One word for each 64 values of the row, rounded up.
    pub(crate) words: &'a mut [u64],
    pub(crate) range: &'a mut Range,
}

macro_rules! value {
    ($value:ty, $threshold:expr, $scalar:ident, $sse2:ident, $avx2:ident) => {
        impl Value for $value {
            fn to_f64(self) -> f64 {
                self.into()
            }

            fn threshold(level: f64) -> $value {
                $threshold(level)
            }

            fn signs(lanes: Lanes, row: &[$value], threshold: $value, signs: Signs<'_>) {
                assert_eq!(row.len().div_ceil(64), signs.words.len());
                match lanes {
                    Lanes::Scalar => $scalar(row, threshold, signs),
                    // SAFETY: every x86-64 processor has SSE2.
                    #[cfg(target_arch = "x86_64")]
                    Lanes::Sse2 => unsafe { x86::$sse2(row, threshold, signs) },
                    #[cfg(target_arch = "x86_64")]
                    Lanes::Avx2 => {
                        assert!(std::arch::is_x86_feature_detected!("avx2"));
                        // SAFETY: this processor has AVX2.
                        unsafe { x86::$avx2(row, threshold, signs) }
                    }
                }
            }
        }

        fn $scalar(row: &[$value], threshold: $value, signs: Signs<'_>) {
            // With four ranges, the processor need not wait for one comparison before the next.
            let mut ranges = [*signs.range; 4];
            for (chunk, word) in row.chunks(64).zip(signs.words) {
                *word = 0;
                let fours = chunk.chunks_exact(4);
                let (tail, at) = (fours.remainder(), chunk.len() / 4 * 4);
                for (four, values) in fours.enumerate() {
                    let mut bits = 0;
                    for i in 0..4 {
                        bits |= u64::from(values[i] >= threshold) << i;
                        ranges[i].take(values[i].into());
                    }
                    *word |= bits << (4 * four);
                }
                for (i, &value) in tail.iter().enumerate() {
                    *word |= u64::from(value >= threshold) << (at + i);
                    ranges[0].take(value.into());
                }
            }
            for range in ranges {
                signs.range.min = signs.range.min.min(range.min);
                signs.range.max = signs.range.max.max(range.max);
                signs.range.nan |= range.nan;
            }
        }
    };
}

value!(f64, |level| level, scalar_f64, sse2_f64, avx2_f64);
value!(f32, threshold_f32, scalar_f32, sse2_f32, avx2_f32);

impl Range {
    fn take(&mut self, value: f64) {
        self.min = if value < self.min { value } else { self.min };
        self.max = if value > self.max { value } else { self.max };
        self.nan |= value.is_nan();
    }
}

/// Returns the smallest `f32` that is not below the level: infinity for a level above all numbers.
fn threshold_f32(level: f64) -> f32 {
    let nearest = level as f32;
    if f64::from(nearest) >= level {
        nearest
    } else if nearest == 0.0 {
        f32::from_bits(1)
    } else if nearest > 0.0 {
        f32::from_bits(nearest.to_bits() + 1)
    } else {
        f32::from_bits(nearest.to_bits() - 1)
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Signs;
    use std::arch::x86_64::*;

    /// Length of a cache line.
    const LINE_BYTES: usize = 64;
    /// Distance between the values that are read and those that the processor is told to load. Loading takes as
    /// long as reading this many values. Most rows follow each other in memory.
    const AHEAD_BYTES: usize = 2048;

    /// Defines a function that makes the signs of a row with vectors of several values. `min` and `max` return
    /// their second operand if the first is NaN, so NaN is left out.
    macro_rules! signs {
        ($name:ident, $feature:literal, $value:ty, $count:literal, $load:ident, $spread:ident, $zero:ident,
         $store:ident, $mask:ident, $min:ident, $max:ident, $or:ident, $at_least:expr, $unordered:expr) => {
            /// # Safety
            /// The processor has the feature.
            #[target_feature(enable = $feature)]
            pub(super) unsafe fn $name(row: &[$value], threshold: $value, signs: Signs<'_>) {
                let mut tails = *signs.range;
                // SAFETY: the processor has the feature. Each load is of as many values as its slice has, and
                // each store is to an array of as many.
                unsafe {
                    let level = $spread(threshold);
                    let (mut min, mut max) = ($spread(<$value>::INFINITY), $spread(<$value>::NEG_INFINITY));
                    let mut nans = $zero();
                    for (chunk, word) in row.chunks(64).zip(signs.words) {
                        for line in chunk.chunks(LINE_BYTES / size_of::<$value>()) {
                            _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast::<i8>().wrapping_add(AHEAD_BYTES));
                        }
                        let vectors = chunk.chunks_exact($count);
                        let (tail, at) = (vectors.remainder(), chunk.len() / $count * $count);
                        let mut bits = 0;
                        for (i, vector) in vectors.enumerate() {
                            let values = $load(vector.as_ptr());
                            let mask = $mask($at_least(values, level)) as u64;
                            bits |= mask << ($count * i);
                            (min, max) = ($min(values, min), $max(values, max));
                            nans = $or(nans, $unordered(values, values));
                        }
                        for (i, &value) in tail.iter().enumerate() {
                            bits |= u64::from(value >= threshold) << (at + i);
                            tails.take(value.into());
                        }
                        *word = bits;
                    }
                    tails.nan |= $mask(nans) != 0;
                    let mut values = [0.0; $count];
                    $store(values.as_mut_ptr(), min);
                    tails.min = values.iter().fold(tails.min, |min, &value| min.min(value.into()));
                    $store(values.as_mut_ptr(), max);
                    tails.max = values.iter().fold(tails.max, |max, &value| max.max(value.into()));
                }
                *signs.range = tails;
            }
        };
    }

    signs!(
        sse2_f64,
        "sse2",
        f64,
        2,
        _mm_loadu_pd,
        _mm_set1_pd,
        _mm_setzero_pd,
        _mm_storeu_pd,
        _mm_movemask_pd,
        _mm_min_pd,
        _mm_max_pd,
        _mm_or_pd,
        _mm_cmpge_pd,
        _mm_cmpunord_pd
    );
    signs!(
        sse2_f32,
        "sse2",
        f32,
        4,
        _mm_loadu_ps,
        _mm_set1_ps,
        _mm_setzero_ps,
        _mm_storeu_ps,
        _mm_movemask_ps,
        _mm_min_ps,
        _mm_max_ps,
        _mm_or_ps,
        _mm_cmpge_ps,
        _mm_cmpunord_ps
    );
    signs!(
        avx2_f64,
        "avx2",
        f64,
        4,
        _mm256_loadu_pd,
        _mm256_set1_pd,
        _mm256_setzero_pd,
        _mm256_storeu_pd,
        _mm256_movemask_pd,
        _mm256_min_pd,
        _mm256_max_pd,
        _mm256_or_pd,
        _mm256_cmp_pd::<_CMP_GE_OQ>,
        _mm256_cmp_pd::<_CMP_UNORD_Q>
    );
    signs!(
        avx2_f32,
        "avx2",
        f32,
        8,
        _mm256_loadu_ps,
        _mm256_set1_ps,
        _mm256_setzero_ps,
        _mm256_storeu_ps,
        _mm256_movemask_ps,
        _mm256_min_ps,
        _mm256_max_ps,
        _mm256_or_ps,
        _mm256_cmp_ps::<_CMP_GE_OQ>,
        _mm256_cmp_ps::<_CMP_UNORD_Q>
    );
}
