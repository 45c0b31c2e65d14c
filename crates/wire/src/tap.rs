//! The request of a tap for the values of a port (all of a value, or a part), and the outcomes that the tap's
//! box can have. A tap shows from time to time the latest value that a port sends, to a client that watches.

use crate::borrow::ArrayRef;
use crate::encode::Encoder;
use crate::value::{Array, ArrayOrder, DType, MAX_DIMS};
use ligament_catalogue::{fault, Fault};
use minicbor::{Decode, Encode};

/// Maximum number of bars of a histogram.
pub const MAX_HISTOGRAM_BARS: u32 = 4096;
/// The keys of the value that a tap with levels shows: the bytes of the surface at each level, and the unit of
/// the field.
pub const SURFACES: &str = "surfaces";
pub const UNIT: &str = "unit";
/// The key of the reason, if there are no surfaces.
pub const REASON: &str = "reason";
/// Maximum number of levels of one tap.
pub const MAX_LEVELS: usize = 64;

/// The wanted part of a value. It is taken in this order: from a map the value under the keys; from an array
/// the cuts; of their elements every n-th along each axis; and of these the histogram.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct TapSelection {
    /// Keys of nested maps, the outermost first.
    #[n(0)]
    pub keys: Vec<String>,
    /// One cut for each of the first axes. The other axes are taken whole.
    #[n(1)]
    pub cuts: Vec<AxisCut>,
    /// The distance of the elements that are taken along each remaining axis. 0 and 1 mean all elements.
    #[n(2)]
    pub thin: u64,
    /// Number of bars of a histogram, or 0 for the elements themselves.
    #[n(3)]
    pub bars: u32,
    /// The levels of the surfaces that are wanted of a field of a grid, in the field's unit; empty for the
    /// values themselves. With levels, nothing else is selected.
    #[n(4)]
    pub levels: Vec<Level>,
}

/// A value of a field: the surface at this level is where the field has the value. Two levels are equal if
/// their bits are.
#[derive(Debug, Clone, Copy, Encode, Decode)]
#[cbor(transparent)]
pub struct Level(#[n(0)] pub f64);

impl PartialEq for Level {
    fn eq(&self, other: &Level) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Level {}

/// The part of an axis that is taken. Negative indices count from the end, as in NumPy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum AxisCut {
    /// One index. The result has no such axis.
    #[n(0)]
    At(#[n(0)] i64),
    /// A range, with its beginning, its end, and its step, which is at least 1.
    #[n(1)]
    Range {
        #[n(0)]
        from: Option<i64>,
        #[n(1)]
        to: Option<i64>,
        #[n(2)]
        step: u64,
    },
}

/// Returns the first element of a cut along an axis of `extent` elements, the number of elements, and their
/// distance. Returns `None` if the axis does not have the index.
fn along(cut: AxisCut, extent: u64) -> Option<(u64, u64, u64)> {
    let place = |index: i64| {
        if index < 0 {
            extent.checked_sub(index.unsigned_abs())
        } else {
            Some(index.unsigned_abs())
        }
    };
    match cut {
        AxisCut::At(index) => place(index).filter(|&at| at < extent).map(|at| (at, 1, 1)),
        AxisCut::Range { from, to, step } => {
            let bound =
                |given: Option<i64>, else_: u64| given.map_or(else_, |i| place(i).unwrap_or(0).min(extent));
            let (from, to, step) = (bound(from, 0), bound(to, extent), step.max(1));
            let count = to.saturating_sub(from).div_ceil(step);
            Some((if count == 0 { 0 } else { from }, count, step))
        }
    }
}

/// A part of an array: its shape, its strides in bytes, and the distance of its element 0 from the array's,
/// in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrayPart {
    pub shape: Vec<u64>,
    pub strides: Vec<i64>,
    pub offset: i64,
}

impl TapSelection {
    /// Returns true if the whole value is wanted as it is.
    pub fn is_all(&self) -> bool {
        self.keys.is_empty() && self.takes_all() && self.bars == 0 && self.levels.is_empty()
    }

    /// Returns true if all elements of an array are wanted.
    pub fn takes_all(&self) -> bool {
        self.cuts.is_empty() && self.thin <= 1
    }

    /// Returns the part that is taken of an array of this shape. Returns `None` if the array has too few
    /// axes, or lacks a wanted index.
    pub fn part_of(&self, shape: &[u64], strides: &[i64]) -> Option<ArrayPart> {
        if self.cuts.len() > shape.len() || shape.len() > MAX_DIMS {
            return None;
        }
        let mut part = ArrayPart { shape: Vec::new(), strides: Vec::new(), offset: 0 };
        for (axis, (&extent, &stride)) in shape.iter().zip(strides).enumerate() {
            let whole = AxisCut::Range { from: None, to: None, step: 1 };
            let cut = self.cuts.get(axis).copied().unwrap_or(whole);
            let (from, count, step) = along(cut, extent)?;
            part.offset = part.offset.checked_add(stride.checked_mul(i64::try_from(from).ok()?)?)?;
            if let AxisCut::At(_) = cut {
                continue;
            }
            let thin = self.thin.max(1);
            part.shape.push(count.div_ceil(thin));
            let step = i64::try_from(step.checked_mul(thin)?).ok()?;
            // With at most one element the stride has no meaning, so it may have any size.
            part.strides.push(stride.checked_mul(step).unwrap_or(stride));
        }
        Some(part)
    }

    /// Reads cuts from text as NumPy writes them between brackets: `0, ::2, 5:10`.
    ///
    /// # Errors
    /// Fails if the text is not in this form.
    pub fn cuts_of(text: &str) -> Result<Vec<AxisCut>, Fault> {
        let text = text.trim().trim_start_matches('[').trim_end_matches(']').trim();
        if text.is_empty() {
            return Ok(Vec::new());
        }
        let cuts: Vec<AxisCut> = text.split(',').map(|one| cut_of(one.trim())).collect::<Result<_, _>>()?;
        if cuts.len() <= MAX_DIMS {
            Ok(cuts)
        } else {
            Err(fault!(BAD_SLICE, "a slice along {} axes; an array has at most {MAX_DIMS}", cuts.len()))
        }
    }
}

fn cut_of(text: &str) -> Result<AxisCut, Fault> {
    let wrong = || {
        fault!(
            BAD_SLICE,
            "\"{text}\" is no slice of an axis; write an index (3, -1) or from:to:step (2:10, ::4), with a \
             step of at least 1, and a comma between axes"
        )
    };
    let number = |text: &str| text.trim().parse::<i64>().map_err(|_| wrong());
    let parts: Vec<&str> = text.split(':').collect();
    let bound = |text: &str| if text.trim().is_empty() { Ok(None) } else { number(text).map(Some) };
    match parts[..] {
        [index] => Ok(AxisCut::At(number(index)?)),
        [from, to] => Ok(AxisCut::Range { from: bound(from)?, to: bound(to)?, step: 1 }),
        [from, to, step] => {
            let step = bound(step)?.unwrap_or(1);
            let step = u64::try_from(step).ok().filter(|&step| step >= 1).ok_or_else(wrong)?;
            Ok(AxisCut::Range { from: bound(from)?, to: bound(to)?, step })
        }
        _ => Err(wrong()),
    }
}

/// The content of a box, or the reason why it is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum TapOutcome {
    /// The body of a message with the wanted part.
    Value = 1,
    /// The value has more bytes than the box has room for.
    TooLarge = 2,
    /// The value is not a map, or the map lacks the key.
    NoKey = 3,
    /// The array has fewer axes than the slice, or lacks the index.
    NoPart = 4,
    /// A histogram was wanted, but the value is not an array of numbers.
    NoNumbers = 5,
    /// The system had no memory for the value.
    NoMemory = 6,
    /// No message can have this value, so its sending fails.
    Unsendable = 7,
    /// Surfaces were wanted, but the value is no field of a grid that has them.
    NoSurface = 8,
    /// Only the time was wanted, so there is no value.
    Time = 9,
}

impl TapOutcome {
    /// Returns the outcome that has this number.
    pub fn of(word: u64) -> Option<TapOutcome> {
        use TapOutcome::{NoKey, NoMemory, NoNumbers, NoPart, NoSurface, Time, TooLarge, Unsendable, Value};
        [Value, TooLarge, NoKey, NoPart, NoNumbers, NoMemory, Unsendable, NoSurface, Time]
            .into_iter()
            .find(|one| *one as u64 == word)
    }
}

/// The histogram of an array's elements: their range, and the number of elements in each bar. The bars are
/// equally wide. Elements that are not finite are counted separately. A complex element counts with its
/// absolute value.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Histogram {
    /// The least and the greatest finite element. `None` if there is no finite element.
    pub range: Option<(f64, f64)>,
    pub counts: Vec<u64>,
    /// Number of elements that are not finite.
    pub others: u64,
}

impl Histogram {
    /// Makes the histogram of contiguous elements in native byte order.
    pub fn of(dtype: DType, elements: &[u8], bars: u32) -> Histogram {
        let (mut low, mut high, mut others) = (f64::INFINITY, f64::NEG_INFINITY, 0);
        each(dtype, elements, &mut |x| {
            if x.is_finite() {
                (low, high) = (low.min(x), high.max(x))
            } else {
                others += 1
            }
        });
        let bars = bars.clamp(1, MAX_HISTOGRAM_BARS) as usize;
        let mut counts = vec![0; bars];
        if low > high {
            return Histogram { range: None, counts, others };
        }
        // The width is computed from halves, because the whole range may exceed the largest double.
        let width = high / 2.0 - low / 2.0;
        each(dtype, elements, &mut |x| {
            if x.is_finite() {
                let part = if width > 0.0 { (x / 2.0 - low / 2.0) / width } else { 0.0 };
                counts[((part * bars as f64) as usize).min(bars - 1)] += 1;
            }
        });
        Histogram { range: Some((low, high)), counts, others }
    }
}

/// Returns a double as text from which the same double is read. The text is also short for huge and tiny
/// numbers.
pub fn text_of(x: f64) -> String {
    if x == 0.0 || !x.is_finite() || (1e-5..1e16).contains(&x.abs()) {
        x.to_string()
    } else {
        format!("{x:e}")
    }
}

/// Returns the elements of an array as doubles, the last index running fastest. A complex element counts with
/// its absolute value.
pub fn numbers_of(array: &Array) -> Vec<f64> {
    let strides = array.strides();
    let plain = ArrayRef {
        names: &[],
        unit: None,
        order: ArrayOrder::RowMajor,
        strides: Some(&strides),
        ..array.into()
    };
    let mut encoder = Encoder::new();
    // A received array is valid, so the plan does not fail.
    let Ok(plan) = encoder.plan_array(&plain) else { return Vec::new() };
    let mut elements = vec![0; plan.parts_len() as usize];
    plan.write_parts(&mut elements);
    let mut numbers = Vec::with_capacity(array.len() as usize);
    each(array.dtype(), &elements, &mut |x| numbers.push(x));
    numbers
}

/// Calls `see` with each element as a double.
fn each(dtype: DType, elements: &[u8], see: &mut impl FnMut(f64)) {
    macro_rules! all {
        ($type:ty) => {
            for bytes in elements.chunks_exact(size_of::<$type>()) {
                see(<$type>::from_ne_bytes(bytes.try_into().expect("so many bytes")) as f64);
            }
        };
    }
    match dtype {
        DType::Bool => elements.iter().for_each(|&byte| see(f64::from(u8::from(byte != 0)))),
        DType::Int8 => all!(i8),
        DType::Int16 => all!(i16),
        DType::Int32 => all!(i32),
        DType::Int64 => all!(i64),
        DType::UInt8 => all!(u8),
        DType::UInt16 => all!(u16),
        DType::UInt32 => all!(u32),
        DType::UInt64 => all!(u64),
        DType::Float32 => all!(f32),
        DType::Float64 => all!(f64),
        DType::Complex64 | DType::Complex128 => {
            let half = dtype.size() / 2;
            for both in elements.chunks_exact(dtype.size()) {
                let mut parts = [0.0; 2];
                for (part, bytes) in parts.iter_mut().zip(both.chunks_exact(half)) {
                    *part = match half {
                        4 => f64::from(f32::from_ne_bytes(bytes.try_into().expect("four bytes"))),
                        _ => f64::from_ne_bytes(bytes.try_into().expect("eight bytes")),
                    };
                }
                see(parts[0].hypot(parts[1]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(text: &str, thin: u64, shape: &[u64], strides: &[i64]) -> Option<(Vec<u64>, Vec<i64>, i64)> {
        let wanted =
            TapSelection { cuts: TapSelection::cuts_of(text).unwrap(), thin, ..TapSelection::default() };
        wanted.part_of(shape, strides).map(|part| (part.shape, part.strides, part.offset))
    }

    #[test]
    fn a_slice_takes_what_numpys_takes() {
        let (shape, strides) = ([4, 6], [48, 8]);
        assert_eq!(part("", 0, &shape, &strides), Some((vec![4, 6], vec![48, 8], 0)));
        assert_eq!(part("1", 0, &shape, &strides), Some((vec![6], vec![8], 48)));
        assert_eq!(part("-1, -2", 0, &shape, &strides), Some((vec![], vec![], 3 * 48 + 4 * 8)));
        assert_eq!(part(":, 1:5:2", 0, &shape, &strides), Some((vec![4, 2], vec![48, 16], 8)));
        assert_eq!(part("[::3, -3:]", 0, &shape, &strides), Some((vec![2, 3], vec![144, 8], 24)));
        assert_eq!(part("9:, 5:1", 0, &shape, &strides), Some((vec![0, 0], vec![48, 8], 0)));
        assert_eq!(part("-9:2, :99", 0, &shape, &strides), Some((vec![2, 6], vec![48, 8], 0)));
        assert_eq!(part("", 4, &shape, &strides), Some((vec![1, 2], vec![192, 32], 0)));
        assert_eq!(part("1:", 2, &shape, &strides), Some((vec![2, 3], vec![96, 16], 48)));
        assert_eq!(part("4", 0, &shape, &strides), None);
        assert_eq!(part("-5", 0, &shape, &strides), None);
        assert_eq!(part("0, 0, 0", 0, &shape, &strides), None);
        // The largest and the smallest indices select nothing, and cause no overflow.
        let (max, min) = (i64::MAX.to_string(), i64::MIN.to_string());
        assert_eq!(part(&format!("{max}, {min}"), 0, &shape, &strides), None);
        assert_eq!(part(&format!("{min}:{max}:{max}"), u64::MAX, &shape, &strides), None);
        assert!(part("::2", 2, &[1 << 47], &[-8]).is_some());
    }

    #[test]
    fn numbers_come_in_the_order_of_c() {
        let array = Array::from_slice(&[1i16, 4, 2, 5, 3, 6], &[2, 3], ArrayOrder::ColumnMajor).unwrap();
        assert_eq!(numbers_of(&array), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let array = Array::from_slice(&[[3f32, 4.0]], &[1], ArrayOrder::RowMajor).unwrap();
        assert_eq!(numbers_of(&array), [5.0]);
    }

    #[test]
    fn the_text_of_a_number_is_short_and_the_number() {
        for (x, text) in [(0.1, "0.1"), (2.0, "2"), (-0.0, "-0"), (f64::NAN, "NaN"), (1e300, "1e300")] {
            assert_eq!(text_of(x), text);
        }
        for x in [f64::MAX, f64::MIN_POSITIVE, 5e-324, -1.0 / 3.0, 1e16, 123_456_789.123] {
            assert!(text_of(x).parse() == Ok(x) && text_of(x).len() < 25, "{}", text_of(x));
        }
    }

    #[test]
    fn what_is_no_slice_is_refused() {
        for text in
            ["x", "1:2:3:4", "::0", "::-1", "1;2", "1.5", "0,,1", "99999999999999999999", "0,0,0,0,0,0,0,0,0"]
        {
            assert!(TapSelection::cuts_of(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_histogram_counts_every_element_once() {
        let numbers = [0.0, 1.0, 2.0, 3.0, 4.0, 4.0, f64::NAN, f64::INFINITY];
        let bytes: Vec<u8> = numbers.iter().flat_map(|x: &f64| x.to_ne_bytes()).collect();
        let found = Histogram::of(DType::Float64, &bytes, 4);
        assert_eq!((found.range, &found.counts[..], found.others), (Some((0.0, 4.0)), &[1, 1, 1, 3][..], 2));
        assert_eq!(Histogram::of(DType::Int8, &[7, 7, 7], 3).counts, [3, 0, 0]);
        assert_eq!(
            Histogram::of(DType::Float32, &[], 2),
            Histogram { counts: vec![0, 0], ..Histogram::default() }
        );
        let far: Vec<u8> = [f64::MIN, f64::MAX].iter().flat_map(|x| x.to_ne_bytes()).collect();
        assert_eq!(Histogram::of(DType::Float64, &far, 2).counts, [1, 1]);
        let complex: Vec<u8> = [3f32, 4.0].iter().flat_map(|x| x.to_ne_bytes()).collect();
        assert_eq!(Histogram::of(DType::Complex64, &complex, 1).range, Some((5.0, 5.0)));
    }
}
