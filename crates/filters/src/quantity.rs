//! Quantities as people write them, such as `1 ms`, `2 years` or `0.5 mm`: a number and a unit.

use crate::units::Unit;
use std::fmt;

/// The measure of a quantity: time or length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// The quantity is a time, in seconds.
    Time,
    /// The quantity is a length, in metres.
    Length,
}

/// The reason why a text is not a quantity of the wanted measure.
#[derive(Clone, Debug, PartialEq)]
pub enum NoQuantity {
    /// The text does not begin with a number.
    NoNumber,
    /// Nothing follows the number.
    NoUnit,
    /// The text after the number is not a unit. The string says why.
    UnknownUnit(String),
    /// The unit of the text belongs to another measure. The field holds the measure that was wanted.
    Other(Measure),
    /// The value in SI units is too large for an `f64`, or so small that it becomes 0.
    TooFar,
}

impl fmt::Display for NoQuantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoQuantity::NoNumber => f.write_str("it does not begin with a number"),
            NoQuantity::NoUnit => f.write_str("it has no unit"),
            NoQuantity::UnknownUnit(why) => f.write_str(why),
            NoQuantity::Other(Measure::Time) => f.write_str("its unit does not measure time"),
            NoQuantity::Other(Measure::Length) => f.write_str("its unit does not measure length"),
            NoQuantity::TooFar => f.write_str("it is too large, or too close to zero, for a number"),
        }
    }
}

/// The names of units, in the singular: name, measure, and factor to seconds or metres. A text may add an
/// `s` to each name, as in `2 years`.
const UNIT_NAMES: &[(&str, Measure, f64)] = &[
    ("second", Measure::Time, 1.0),
    ("minute", Measure::Time, 60.0),
    ("hour", Measure::Time, 3600.0),
    ("day", Measure::Time, 86_400.0),
    ("week", Measure::Time, 604_800.0),
    ("year", Measure::Time, 31_557_600.0),
    ("metre", Measure::Length, 1.0),
    ("meter", Measure::Length, 1.0),
];

/// Prefixes of the names in `UNIT_NAMES`, and the factor of each. Example: `milli` in `millimetre`.
const PREFIXES: &[(&str, f64)] = &[
    ("pico", 1e-12),
    ("nano", 1e-9),
    ("micro", 1e-6),
    ("milli", 1e-3),
    ("centi", 1e-2),
    ("kilo", 1e3),
    ("mega", 1e6),
];

/// A quantity of time or length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantity {
    /// The value, in seconds or metres.
    pub value: f64,
    pub measure: Measure,
}

impl Quantity {
    /// Reads a number and a unit. The unit is a symbol that filters know (`ms`, `yr`, `µm`) or a name (`2
    /// years`, `3 millimetres`).
    ///
    /// # Errors
    /// The text is not a quantity of this measure; the error gives the reason.
    pub fn parse(text: &str, measure: Measure) -> Result<Quantity, NoQuantity> {
        let text = text.trim();
        let (number, unit) = split(text).ok_or(NoQuantity::NoNumber)?;
        if unit.is_empty() {
            return Err(NoQuantity::NoUnit);
        }
        let value = match word(unit) {
            Some((known, factor)) if known == measure => number * factor,
            Some(_) => return Err(NoQuantity::Other(measure)),
            None => {
                let base = match measure {
                    Measure::Time => Unit::parse("s"),
                    Measure::Length => Unit::parse("m"),
                };
                let unit = Unit::parse(unit).map_err(|fault| NoQuantity::UnknownUnit(fault.to_string()))?;
                if !base.is_ok_and(|base| unit.converts_to(&base)) {
                    return Err(NoQuantity::Other(measure));
                }
                unit.in_si(number)
            }
        };
        // Rounding to 15 digits removes the rounding error of the conversion. Example: 20 µm is 2e-5 m, and
        // not 1.9999999999999998e-5.
        let value = format!("{value:.14e}").parse().unwrap_or(value);
        if f64::is_finite(value) && (value != 0.0 || number == 0.0) {
            Ok(Quantity { value, measure })
        } else {
            Err(NoQuantity::TooFar)
        }
    }
}

/// Returns the number at the beginning of the text, and the text after the number.
fn split(text: &str) -> Option<(f64, &str)> {
    let is_digit = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E');
    let most = text.find(|c| !is_digit(c)).unwrap_or(text.len());
    // The longest beginning that is a number wins: in `1 e` and `1eV`, the `e` belongs to the unit.
    (1..=most).rev().find_map(|end| Some((text[..end].parse().ok()?, text[end..].trim_start())))
}

fn word(text: &str) -> Option<(Measure, f64)> {
    let known = |text: &str| {
        let (_, measure, factor) = UNIT_NAMES
            .iter()
            .find(|(word, ..)| text.strip_prefix(word).is_some_and(|rest| matches!(rest, "" | "s")))?;
        Some((*measure, *factor))
    };
    known(text).or_else(|| {
        PREFIXES.iter().find_map(|(prefix, by)| {
            let (measure, factor) = known(text.strip_prefix(prefix)?)?;
            Some((measure, factor * by))
        })
    })
}

impl fmt::Display for Quantity {
    /// Writes the value with four digits and the largest unit in which the value is at least 1.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const TIMES: &[(f64, &str)] =
            &[(31_557_600.0, "yr"), (86_400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s")];
        const LENGTHS: &[(f64, &str)] = &[(1e3, "km"), (1.0, "m"), (1e-2, "cm")];
        let (large, base) = match self.measure {
            Measure::Time => (TIMES, "s"),
            Measure::Length => (LENGTHS, "m"),
        };
        let smaller = [(1e-3, "m"), (1e-6, "µ"), (1e-9, "n"), (1e-12, "p"), (1e-15, "f")];
        let close = 1.0 - 1e-9;
        if let Some((factor, unit)) = large.iter().find(|(factor, _)| self.value >= factor * close) {
            return write!(f, "{} {unit}", digits(self.value / factor));
        }
        match smaller.iter().find(|(factor, _)| self.value >= factor * close) {
            Some((factor, prefix)) => write!(f, "{} {prefix}{base}", digits(self.value / factor)),
            None => write!(f, "{:e} {base}", self.value),
        }
    }
}

/// Returns the value with four significant digits and without zeros at the end.
fn digits(value: f64) -> String {
    let places = 3 - value.abs().max(1e-9).log10().floor() as i32;
    let text = format!("{value:.*}", places.clamp(0, 12) as usize);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else if value >= 1e7 {
        format!("{value:.3e}")
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_in_si_and_shown_as_people_write_them() {
        for (text, measure, value, shown) in [
            ("1 ms", Measure::Time, 1e-3, "1 ms"),
            ("2 years", Measure::Time, 63_115_200.0, "2 yr"),
            ("1.5e3s", Measure::Time, 1500.0, "25 min"),
            ("20 µs", Measure::Time, 2e-5, "20 µs"),
            ("36 hours", Measure::Time, 129_600.0, "1.5 d"),
            (" 1 week ", Measure::Time, 604_800.0, "7 d"),
            ("3 milliseconds", Measure::Time, 3e-3, "3 ms"),
            ("0.25 mm", Measure::Length, 0.25e-3, "250 µm"),
            ("10 cm", Measure::Length, 0.1, "10 cm"),
            ("2 kilometres", Measure::Length, 2000.0, "2 km"),
            ("1 Å", Measure::Length, 1e-10, "100 pm"),
        ] {
            let found = Quantity::parse(text, measure).unwrap();
            assert_eq!(found.value, value, "{text}");
            assert_eq!(found.to_string(), shown, "{text}");
        }
    }

    #[test]
    fn what_is_no_quantity_is_refused_with_the_reason() {
        use NoQuantity::{NoNumber, NoUnit, Other, TooFar};
        for (text, why) in [
            ("", NoNumber),
            ("ms", NoNumber),
            ("nan s", NoNumber),
            ("inf s", NoNumber),
            ("5", NoUnit),
            ("1e400 s", TooFar),
            ("1 m", Other(Measure::Time)),
            ("1 metre", Other(Measure::Time)),
            ("1 m/s", Other(Measure::Time)),
        ] {
            assert_eq!(Quantity::parse(text, Measure::Time), Err(why), "{text}");
        }
        assert!(matches!(Quantity::parse("1 fortnight", Measure::Time), Err(NoQuantity::UnknownUnit(_))));
    }
}
