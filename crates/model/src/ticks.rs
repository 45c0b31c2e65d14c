//! Spans of model time in whole nanoseconds: the ticks of components, and the latencies of conduits.

use std::fmt::{self, Display};
use std::str::FromStr;

/// A span of model time in whole nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanoseconds(pub u64);

/// Length of each unit in nanoseconds.
const UNITS: [(&str, u64); 10] = [
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ns", 1),
    ("ps", 0),
];

/// The longest span: 2⁶² ns, some 146 years, so that two spans can be added.
const MAX_NANOSECONDS: u64 = 1 << 62;

impl Nanoseconds {
    /// Returns the length of a unit of time. `None` if ticks cannot be counted in this unit.
    pub fn of_unit(unit: &str) -> Option<Nanoseconds> {
        let known = UNITS.iter().find(|(name, length)| *name == unit && *length > 0);
        known.map(|(_, length)| Nanoseconds(*length))
    }
}

/// The reason why a text is no span of model time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidSpan {
    /// It is no number with a unit.
    Form,
    /// It is no whole number of nanoseconds.
    Fraction,
    /// It is longer than 2⁶² ns.
    Length,
}

impl Display for InvalidSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            InvalidSpan::Form => "it is no number with a unit of time",
            InvalidSpan::Fraction => "it is no whole number of nanoseconds",
            InvalidSpan::Length => "it is longer than 146 years",
        })
    }
}

impl FromStr for Nanoseconds {
    type Err = InvalidSpan;

    /// Reads a number with a unit, such as `5 ms` or `0.1ms`. Fails if the span is not a whole number of
    /// nanoseconds.
    fn from_str(text: &str) -> Result<Nanoseconds, InvalidSpan> {
        use InvalidSpan::{Form, Fraction, Length};
        let text = text.trim();
        let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).ok_or(Form)?;
        let (number, unit) = text.split_at(split);
        let unit = unit.trim();
        let (_, length) = UNITS.iter().find(|(name, _)| *name == unit).ok_or(Form)?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
            return Err(Form);
        }
        if *length == 0 {
            return Err(Fraction);
        }
        let fraction = fraction.trim_end_matches('0');
        let digits = format!("{whole}{fraction}");
        let places = u32::try_from(fraction.len()).map_err(|_| Fraction)?;
        let digits: u128 = if digits.is_empty() { 0 } else { digits.parse().map_err(|_| Length)? };
        let scaled = digits.checked_mul(u128::from(*length)).ok_or(Length)?;
        let divisor = 10u128.checked_pow(places).ok_or(Fraction)?;
        if scaled % divisor != 0 {
            return Err(Fraction);
        }
        let span = u64::try_from(scaled / divisor).ok().filter(|span| *span <= MAX_NANOSECONDS);
        span.map(Nanoseconds).ok_or(Length)
    }
}

impl Display for Nanoseconds {
    /// Writes the span in the largest unit up to the second in which it is a whole number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = ["s", "ms", "us", "ns"].into_iter().find_map(|name| {
            let length = Nanoseconds::of_unit(name)?.0;
            (self.0 % length == 0).then_some((name, length))
        });
        let (name, length) = unit.unwrap_or(("ns", 1));
        write!(f, "{} {name}", self.0 / length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_whole_nanoseconds_or_refused() {
        let read = |text: &str| text.parse::<Nanoseconds>().map(|span| span.0);
        assert_eq!(read("5 ms"), Ok(5_000_000));
        assert_eq!(read("0.1ms"), Ok(100_000));
        assert_eq!(read("1.5 µs"), Ok(1_500));
        assert_eq!(read("2.50 d"), Ok(216_000_000_000_000));
        assert_eq!(read("0 s"), Ok(0));
        assert_eq!(read("0.3 ns"), Err(InvalidSpan::Fraction));
        assert_eq!(read("1 ps"), Err(InvalidSpan::Fraction));
        for wrong in ["5", "ms", ". ms", "1.2.3 s", "-1 s", "1e3 s", "5 yr", ""] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert_eq!(read("1000000000 d"), Err(InvalidSpan::Length));
    }

    #[test]
    fn a_span_is_written_as_it_is_read() {
        for text in ["5 ms", "100 us", "2 s", "7 ns", "0 s", "86400 s"] {
            assert_eq!(text.parse::<Nanoseconds>().unwrap().to_string(), text);
        }
    }
}
