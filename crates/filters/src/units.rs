//! Units, and the filter that converts between them. The known units are the units of the SI (9th brochure,
//! 2019) with its prefixes, and others that simulation codes use. A unit has a factor to the SI's base units,
//! an offset if it is a temperature scale, and an exponent for each base unit.

use crate::chain::{FilterRemark, FilterStep, StepOutput};
use crate::memory::FilterMemory;
use crate::numbers::{NumberBuffer, Shell};
use crate::parcel::{Data, Parcel};
use ligament_catalogue::{fault, Fault};

/// The exponents of metre, kilogram, second, ampere, kelvin, mole and candela.
type Dimension = [i8; 7];

const NONE: Dimension = [0; 7];
const LENGTH: Dimension = [1, 0, 0, 0, 0, 0, 0];
const AREA: Dimension = [2, 0, 0, 0, 0, 0, 0];
const VOLUME: Dimension = [3, 0, 0, 0, 0, 0, 0];
const MASS: Dimension = [0, 1, 0, 0, 0, 0, 0];
const TIME: Dimension = [0, 0, 1, 0, 0, 0, 0];
const CURRENT: Dimension = [0, 0, 0, 1, 0, 0, 0];
const TEMPERATURE: Dimension = [0, 0, 0, 0, 1, 0, 0];
const AMOUNT: Dimension = [0, 0, 0, 0, 0, 1, 0];
const LIGHT: Dimension = [0, 0, 0, 0, 0, 0, 1];
const PER_TIME: Dimension = [0, 0, -1, 0, 0, 0, 0];
const FORCE: Dimension = [1, 1, -2, 0, 0, 0, 0];
const PRESSURE: Dimension = [-1, 1, -2, 0, 0, 0, 0];
const ENERGY: Dimension = [2, 1, -2, 0, 0, 0, 0];

/// One unit symbol: the symbol, true if it may have a prefix, its factor to SI units, and its dimension.
type UnitEntry = (&'static str, bool, f64, Dimension);

const PI: f64 = std::f64::consts::PI;

const UNITS: &[UnitEntry] = &[
    ("m", true, 1.0, LENGTH),
    ("g", true, 1e-3, MASS),
    ("s", true, 1.0, TIME),
    ("A", true, 1.0, CURRENT),
    ("K", true, 1.0, TEMPERATURE),
    ("mol", true, 1.0, AMOUNT),
    ("cd", true, 1.0, LIGHT),
    ("1", false, 1.0, NONE),
    ("%", false, 0.01, NONE),
    ("rad", true, 1.0, NONE),
    ("sr", true, 1.0, NONE),
    ("deg", false, PI / 180.0, NONE),
    ("Hz", true, 1.0, PER_TIME),
    ("Bq", true, 1.0, PER_TIME),
    ("N", true, 1.0, FORCE),
    ("dyn", false, 1e-5, FORCE),
    ("Pa", true, 1.0, PRESSURE),
    ("bar", true, 1e5, PRESSURE),
    ("atm", false, 101_325.0, PRESSURE),
    ("mmHg", false, 133.322_387_415, PRESSURE),
    ("psi", false, 6_894.757_293_168_361, PRESSURE),
    ("J", true, 1.0, ENERGY),
    ("eV", true, 1.602_176_634e-19, ENERGY),
    ("cal", true, 4.184, ENERGY),
    ("erg", false, 1e-7, ENERGY),
    ("Wh", true, 3600.0, ENERGY),
    ("W", true, 1.0, [2, 1, -3, 0, 0, 0, 0]),
    ("C", true, 1.0, [0, 0, 1, 1, 0, 0, 0]),
    ("V", true, 1.0, [2, 1, -3, -1, 0, 0, 0]),
    ("F", true, 1.0, [-2, -1, 4, 2, 0, 0, 0]),
    ("ohm", true, 1.0, [2, 1, -3, -2, 0, 0, 0]),
    ("Ω", true, 1.0, [2, 1, -3, -2, 0, 0, 0]),
    ("S", true, 1.0, [-2, -1, 3, 2, 0, 0, 0]),
    ("Wb", true, 1.0, [2, 1, -2, -1, 0, 0, 0]),
    ("T", true, 1.0, [0, 1, -2, -1, 0, 0, 0]),
    ("H", true, 1.0, [2, 1, -2, -2, 0, 0, 0]),
    ("lm", true, 1.0, LIGHT),
    ("lx", true, 1.0, [-2, 0, 0, 0, 0, 0, 1]),
    ("Gy", true, 1.0, [2, 0, -2, 0, 0, 0, 0]),
    ("Sv", true, 1.0, [2, 0, -2, 0, 0, 0, 0]),
    ("kat", true, 1.0, [0, 0, -1, 0, 0, 1, 0]),
    ("P", true, 0.1, [-1, 1, -1, 0, 0, 0, 0]),
    ("M", true, 1000.0, [-3, 0, 0, 0, 0, 1, 0]),
    ("min", false, 60.0, TIME),
    ("h", false, 3600.0, TIME),
    ("d", false, 86_400.0, TIME),
    ("day", false, 86_400.0, TIME),
    ("yr", true, 31_557_600.0, TIME),
    ("L", true, 1e-3, VOLUME),
    ("l", true, 1e-3, VOLUME),
    ("ha", false, 1e4, AREA),
    ("t", true, 1000.0, MASS),
    ("Da", true, 1.660_539_068_92e-27, MASS),
    ("lb", false, 0.453_592_37, MASS),
    ("angstrom", false, 1e-10, LENGTH),
    ("Å", false, 1e-10, LENGTH),
    ("au", false, 149_597_870_700.0, LENGTH),
    ("ly", false, 9_460_730_472_580_800.0, LENGTH),
    ("pc", true, 3.085_677_581_491_367e16, LENGTH),
    ("in", false, 0.0254, LENGTH),
    ("ft", false, 0.3048, LENGTH),
    ("mi", false, 1609.344, LENGTH),
    ("degC", false, 1.0, TEMPERATURE),
    ("°C", false, 1.0, TEMPERATURE),
    ("degF", false, 5.0 / 9.0, TEMPERATURE),
    ("°F", false, 5.0 / 9.0, TEMPERATURE),
    ("delta_degC", false, 1.0, TEMPERATURE),
    ("Δ°C", false, 1.0, TEMPERATURE),
    ("delta_degF", false, 5.0 / 9.0, TEMPERATURE),
    ("Δ°F", false, 5.0 / 9.0, TEMPERATURE),
];

/// The kind of scale of a unit. It distinguishes temperatures from differences of temperatures: 0 degC is
/// 273.15 K, but a difference of 0 degC is a difference of 0 K.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scale {
    /// Zero in this unit is zero in all units of the dimension.
    Plain,
    /// The unit measures temperatures from a zero of its own. Example: `degC`.
    Point,
    /// The unit measures differences of temperatures in degrees. Example: `delta_degC`.
    Difference,
}

const PREFIXES: &[(&str, i32)] = &[
    ("da", 1),
    ("Q", 30),
    ("R", 27),
    ("Y", 24),
    ("Z", 21),
    ("E", 18),
    ("P", 15),
    ("T", 12),
    ("G", 9),
    ("M", 6),
    ("k", 3),
    ("h", 2),
    ("d", -1),
    ("c", -2),
    ("m", -3),
    ("u", -6),
    ("µ", -6),
    ("μ", -6),
    ("n", -9),
    ("p", -12),
    ("f", -15),
    ("a", -18),
    ("z", -21),
    ("y", -24),
    ("r", -27),
    ("q", -30),
];

/// A unit: `value in the SI = value × factor + offset`.
#[derive(Debug, Clone, PartialEq)]
pub struct Unit {
    factor: f64,
    /// The offset of a temperature scale, in K; otherwise 0.
    offset: f64,
    dimension: Dimension,
    scale: Scale,
}

impl Unit {
    /// Reads a unit. A unit consists of symbols with prefixes and exponents (`m2`, `m^2`, `s-1`). Symbols
    /// are separated by `*`, `.`, `·`, spaces or `/`; a `/` divides only by the symbol that follows it.
    ///
    /// # Errors
    /// The text is not a unit.
    pub fn parse(text: &str) -> Result<Unit, Fault> {
        let mut unit = Unit { factor: 1.0, offset: 0.0, dimension: NONE, scale: Scale::Plain };
        let is_symbol = |c: char| c.is_alphabetic() || matches!(c, '%' | '°' | '_');
        let mut rest = text.trim();
        let (mut symbols, mut divides, mut alone) = (0, false, None);
        if rest.is_empty() {
            return Err(fault!(FILTER_FAILED, "a unit must be written; that of plain numbers is \"1\""));
        }
        while !rest.is_empty() {
            let c = rest.chars().next().unwrap_or(' ');
            if c == '/' && !divides {
                divides = true;
                rest = rest[1..].trim_start();
                if rest.is_empty() {
                    return Err(fault!(FILTER_FAILED, "\"{text}\" ends after a \"/\""));
                }
                continue;
            }
            if symbols > 0 && !divides && matches!(c, '*' | '.' | '·' | ' ') {
                rest = rest[c.len_utf8()..].trim_start();
                if rest.is_empty() || rest.starts_with(['/', '*', '.', '·']) {
                    return Err(fault!(FILTER_FAILED, "\"{text}\" has no symbol after a \"{c}\""));
                }
            }
            let length = if rest.starts_with('1') {
                rest.find(|c: char| !c.is_ascii_digit())
            } else {
                rest.find(|c| !is_symbol(c))
            };
            let (symbol, after) = rest.split_at(length.unwrap_or(rest.len()));
            if symbol.len() > 1 && symbol.starts_with('1') {
                return Err(fault!(
                    FILTER_FAILED,
                    "\"{text}\" has the number {symbol}; a unit is made of symbols, and \"multiply\" takes \
                     numbers"
                ));
            }
            if symbol.is_empty() {
                let strange = rest.chars().next().unwrap_or(' ');
                return Err(fault!(
                    FILTER_FAILED,
                    "\"{text}\" has a \"{strange}\" where a unit's symbol should be"
                ));
            }
            let one =
                Unit::symbol(symbol).ok_or_else(|| fault!(FILTER_FAILED, "there is no unit \"{symbol}\""))?;
            let (exponent, after) = exponent(after)
                .ok_or_else(|| fault!(FILTER_FAILED, "\"{text}\" has no exponent that can be"))?;
            let exponent = if divides { -exponent } else { exponent };
            unit.factor *= one.factor.powi(exponent);
            for (sum, part) in unit.dimension.iter_mut().zip(one.dimension) {
                let power = i32::from(*sum) + i32::from(part) * exponent;
                *sum = i8::try_from(power)
                    .map_err(|_| fault!(FILTER_FAILED, "\"{text}\" has too high a power"))?;
            }
            symbols += 1;
            alone = (symbols == 1 && exponent == 1).then_some(symbol);
            divides = false;
            // Spaces before an operator or at the end have no meaning. Other spaces multiply.
            let trimmed = after.trim_start();
            rest =
                if trimmed.starts_with(['/', '*', '.', '·']) || trimmed.is_empty() { trimmed } else { after };
        }
        (unit.offset, unit.scale) = match alone {
            Some("degC" | "°C") => (273.15, Scale::Point),
            Some("degF" | "°F") => (459.67 * 5.0 / 9.0, Scale::Point),
            Some("delta_degC" | "Δ°C" | "delta_degF" | "Δ°F") => (0.0, Scale::Difference),
            _ => (0.0, Scale::Plain),
        };
        Ok(unit)
    }

    fn symbol(symbol: &str) -> Option<Unit> {
        let unit = |factor, dimension| Unit { factor, offset: 0.0, dimension, scale: Scale::Plain };
        if let Some(&(.., factor, dimension)) = UNITS.iter().find(|known| known.0 == symbol) {
            return Some(unit(factor, dimension));
        }
        PREFIXES.iter().find_map(|(prefix, power)| {
            let bare = symbol.strip_prefix(prefix)?;
            let known = UNITS.iter().find(|known| known.0 == bare && known.1)?;
            Some(unit(known.2 * 10f64.powi(*power), known.3))
        })
    }

    /// Returns true if values in this unit can be converted to `to`. A temperature does not convert to a
    /// difference of temperatures.
    pub fn converts_to(&self, to: &Unit) -> bool {
        let scales = (self.scale, to.scale);
        let differ = matches!(scales, (Scale::Point, Scale::Difference) | (Scale::Difference, Scale::Point));
        self.dimension == to.dimension && !differ
    }

    /// Returns true if the unit measures temperatures from a zero of its own. Two such temperatures have no
    /// sum.
    pub fn is_a_point(&self) -> bool {
        self.scale == Scale::Point
    }

    /// Returns true if the unit measures differences of temperatures in degrees.
    pub fn is_a_difference(&self) -> bool {
        self.scale == Scale::Difference
    }

    /// Returns true if the same number means the same quantity in both units, even if their texts differ.
    pub fn is_the_same_as(&self, other: &Unit) -> bool {
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-12 * a.abs().max(b.abs());
        self.dimension == other.dimension
            && close(self.factor, other.factor)
            && close(self.offset, other.offset)
    }

    /// Converts a value in this unit to SI units.
    pub fn in_si(&self, value: f64) -> f64 {
        value * self.factor + self.offset
    }
}

/// Returns the exponent at the beginning of the text (1 if the text has none) and the text after the
/// exponent. Returns none if the exponent is malformed or beyond ±99.
fn exponent(text: &str) -> Option<(i32, &str)> {
    let (marked, digits) = match text.strip_prefix("**").or_else(|| text.strip_prefix('^')) {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let signed = digits.strip_prefix(['-', '+']).unwrap_or(digits);
    let count = signed.find(|c: char| !c.is_ascii_digit()).unwrap_or(signed.len());
    if count == 0 {
        return (!marked && signed.len() == digits.len()).then_some((1, text));
    }
    let end = digits.len() - signed.len() + count;
    let exponent: i32 = digits[..end].parse().ok()?;
    (exponent.abs() <= 99).then_some((exponent, &digits[end..]))
}

/// The filter that converts numbers to a unit. The source unit is the unit of the array. If the array has no
/// unit, the model gives the source unit.
pub(crate) struct Convert {
    from: Option<(String, Unit)>,
    to: (String, Unit),
    /// The array unit that was parsed last, so that equal units of later messages need no parsing.
    read: Option<(String, Unit)>,
}

impl Convert {
    pub fn new(from: Option<&str>, to: &str) -> Result<Convert, Fault> {
        let read = |text: &str| Unit::parse(text).map(|unit| (text.to_owned(), unit));
        let convert = Convert { from: from.map(read).transpose()?, to: read(to)?, read: None };
        match &convert.from {
            Some(from) => convert.check(from).map(|()| convert),
            None => Ok(convert),
        }
    }

    fn check(&self, (text, from): &(String, Unit)) -> Result<(), Fault> {
        if from.converts_to(&self.to.1) {
            Ok(())
        } else {
            Err(different(text, &self.to.0))
        }
    }

    /// Returns the source unit: the unit of the array, or the unit that the model gives if the array has
    /// none. If both exist, they must be the same.
    fn source(&mut self, unit: Option<&str>) -> Result<Unit, Fault> {
        let Some(unit) = unit else {
            let given = self.from.as_ref().map(|(_, from)| from.clone());
            return given.ok_or_else(|| {
                fault!(FILTER_FAILED, "the data has no unit, and the filter has no \"from\"; give it one")
            });
        };
        let read = match self.read.take() {
            Some(read) if read.0 == unit => read,
            _ => (unit.to_owned(), Unit::parse(unit)?),
        };
        self.check(&read)?;
        if let Some((text, from)) = &self.from {
            if !from.is_the_same_as(&read.1) {
                return Err(fault!(
                    FILTER_FAILED,
                    "the data is in \"{unit}\", and the filter converts from \"{text}\""
                ));
            }
        }
        Ok(self.read.insert(read).1.clone())
    }
}

impl FilterStep for Convert {
    fn apply<'a>(
        &mut self,
        mut parcel: Parcel<'a>,
        _: &mut Vec<FilterRemark>,
    ) -> Result<StepOutput<'a>, Fault> {
        let numbers = NumberBuffer::of(&mut parcel.data)?;
        let from = self.source(numbers.frame.unit.as_deref())?;
        let mut converted = Conversion::new(&from, &self.to.1).of(numbers)?;
        if converted.frame.shell == Shell::Array && converted.frame.unit.is_some() {
            converted.frame.unit = Some(self.to.0.clone());
        }
        Ok(StepOutput::One(parcel.with(Data::Own(converted))))
    }

    fn memory(&mut self) -> FilterMemory<'_> {
        FilterMemory::None
    }
}

/// Refuses a unit that measures temperatures from a zero of its own if `result` makes no sense for such
/// temperatures. For example, 20 degC plus 20 degC is not 40 degC.
///
/// # Errors
/// The unit is such a temperature unit.
pub fn without_own_zero(unit: Option<&str>, result: &str) -> Result<(), Fault> {
    match unit.filter(|unit| Unit::parse(unit).is_ok_and(|unit| unit.is_a_point())) {
        None => Ok(()),
        Some(unit) => {
            Err(fault!(FILTER_FAILED, "temperatures in \"{unit}\" have no {result}; convert them to K before"))
        }
    }
}

/// Returns the unit of a difference of two temperatures in this unit, or none if the unit is not a
/// temperature scale with a zero of its own.
pub fn unit_of_difference(unit: &str) -> Option<&'static str> {
    let point = Unit::parse(unit).ok().filter(Unit::is_a_point)?;
    Some(if point.factor == 1.0 { "delta_degC" } else { "delta_degF" })
}

/// A conversion from one unit to another: `new value = value × factor + offset`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Conversion {
    factor: f64,
    offset: f64,
}

impl Conversion {
    fn new(from: &Unit, to: &Unit) -> Conversion {
        Conversion { factor: from.factor / to.factor, offset: (from.offset - to.offset) / to.factor }
    }

    /// Returns the conversion between the units of two messages, or none if the values need no conversion.
    ///
    /// # Errors
    /// Only one message has a unit, or the two units do not convert to each other.
    pub fn between(from: Option<&str>, to: Option<&str>) -> Result<Option<Conversion>, Fault> {
        match (from, to) {
            (Some(from), Some(to)) if from != to => {
                let (one, other) = (Unit::parse(from)?, Unit::parse(to)?);
                if !one.converts_to(&other) {
                    return Err(different(from, to));
                }
                Ok((!one.is_the_same_as(&other)).then(|| Conversion::new(&one, &other)))
            }
            (Some(unit), None) | (None, Some(unit)) => Err(fault!(
                FILTER_FAILED,
                "one is in \"{unit}\", and the other has no unit; give both a unit, or none"
            )),
            _ => Ok(None),
        }
    }

    /// Converts numbers. Their frame, including its unit, stays unchanged.
    ///
    /// # Errors
    /// The numbers are complex and the conversion has an offset, or a result is too large for single
    /// precision.
    pub fn of(self, numbers: NumberBuffer<'_>) -> Result<NumberBuffer<'static>, Fault> {
        let Conversion { factor, offset } = self;
        if offset == 0.0 {
            // The product is computed in double precision: the factor may be too large or too small for
            // single precision although the product fits.
            return numbers.map(|x| x * factor, |x| (f64::from(x) * factor) as f32);
        }
        if numbers.frame.complex {
            return Err(fault!(FILTER_FAILED, "complex numbers have no zero of another scale"));
        }
        // The sum is computed in double precision, because an offset of some hundreds would cost single
        // precision its last digits.
        if factor == 1.0 {
            return numbers.map(|x| x + offset, |x| (f64::from(x) + offset) as f32);
        }
        numbers.map(|x| x * factor + offset, |x| (f64::from(x) * factor + offset) as f32)
    }
}

/// Returns the error for two units that do not convert to each other.
fn different(from: &str, to: &str) -> Fault {
    fault!(FILTER_FAILED, "\"{from}\" does not convert to \"{to}\": they measure different things")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn convert(value: f64, from: &str, to: &str) -> f64 {
        let (from, to) = (Unit::parse(from).unwrap(), Unit::parse(to).unwrap());
        assert!(from.converts_to(&to));
        let Conversion { factor, offset } = Conversion::new(&from, &to);
        value * factor + offset
    }

    #[test]
    fn units_are_read_and_converted() {
        for (value, from, to, expected) in [
            (1.0, "km", "m", 1e3),
            (36.0, "km/h", "m/s", 10.0),
            (1.0, "m s-1", "m/s", 1.0),
            (2.0, "kg*m^2/s^2", "J", 2.0),
            (1.0, "kg m2 s-3", "W", 1.0),
            (1.0, "J/kg/K", "m2 s-2 K-1", 1.0),
            (20.0, "degC", "K", 293.15),
            (300.0, "K", "°C", 26.85),
            (212.0, "degF", "degC", 100.0),
            (5.0, "W/m2/degC", "W m-2 K-1", 5.0),
            (1.0, "atm", "hPa", 1013.25),
            (1.0, "min", "s", 60.0),
            (1.0, "mmol/L", "mol/m**3", 1.0),
            (1.0, "µm", "nm", 1e3),
            (180.0, "deg", "rad", PI),
            (50.0, "%", "1", 0.5),
            (1.0, "1/s", "Hz", 1.0),
            (1.0, "kWh", "MJ", 3.6),
            (1.0, "mPa s", "cP", 1.0),
            (1.0, "das", "s", 10.0),
            (5.0, "delta_degC", "K", 5.0),
            (9.0, "delta_degF", "delta_degC", 5.0),
            (5.0, "W/m2/delta_degC", "W m-2 K-1", 5.0),
            (2.0, "K", "Δ°C", 2.0),
        ] {
            let found = convert(value, from, to);
            assert!((found - expected).abs() <= 1e-12 * expected.abs(), "{value} {from} = {found} {to}");
        }
    }

    #[test]
    fn what_is_no_unit_is_refused_and_what_is_another_quantity_does_not_convert() {
        for text in [
            "", "m/", "/", "m^", "furlong", "m**x", "m//s", "m*", "kmin", "m^200", "m 2", "3 m", "10 m", "100",
            "1000 kg", "m 12",
        ] {
            assert!(Unit::parse(text).is_err(), "{text:?}");
        }
        let converts = |a: &str, b: &str| Unit::parse(a).unwrap().converts_to(&Unit::parse(b).unwrap());
        assert!(!converts("m", "s"));
        assert!(!converts("delta_degC", "degC") && !converts("degF", "Δ°F") && !converts("degC", "delta_degF"));
    }

    #[test]
    fn a_unit_that_is_written_in_another_way_is_the_same() {
        let unit = |text: &str| Unit::parse(text).unwrap();
        // The factors of the two units differ in the last digit.
        assert_ne!(unit("g/cm3"), unit("kg/L"));
        assert!(unit("g/cm3").is_the_same_as(&unit("kg/L")));
        assert!(!unit("degC").is_the_same_as(&unit("K")) && !unit("m").is_the_same_as(&unit("km")));
    }
}
