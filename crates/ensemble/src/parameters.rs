//! The parameters of a study: settings that vary, each within a range or among the values of a list.

use ligament_catalogue::{fault, Fault};
use ligament_coupling::tables::{self, Decimal};
use ligament_wire::SettingValue;

/// A setting that varies in a study.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// The name as in a model file: `growth.rate` or `rate`.
    pub name: String,
    pub values: Values,
}

/// The set of values that a parameter can have.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Any real number between these two.
    Between(f64, f64),
    /// Any whole number between these two, both included.
    Whole(i64, i64),
    /// One of these numbers.
    OneOf(Vec<f64>),
}

impl Values {
    /// Returns the value at a position of the range or list. Position 0 is the beginning, and position 1 is the
    /// end.
    pub fn at(&self, place: f64) -> SettingValue {
        match self {
            Values::Between(low, high) => SettingValue::Float(low + (high - low) * place),
            Values::Whole(low, high) => {
                let count = (high - low + 1) as f64;
                SettingValue::Int((low + (place * count).floor() as i64).min(*high))
            }
            Values::OneOf(values) => {
                let at = (place * values.len() as f64) as usize;
                SettingValue::Float(values[at.min(values.len() - 1)])
            }
        }
    }

    /// Returns value number `at` of `count` values at equal distances. The first and the last value are the
    /// ends of the range.
    pub fn in_grid(&self, at: usize, count: usize) -> SettingValue {
        let part = if count > 1 { at as f64 / (count - 1) as f64 } else { 0.5 };
        match self {
            Values::Between(..) => self.at(part),
            Values::Whole(low, high) => SettingValue::Int(low + ((high - low) as f64 * part).round() as i64),
            Values::OneOf(values) => SettingValue::Float(values[at.min(values.len() - 1)]),
        }
    }

    /// Returns the number of possible values. `None` for a range of real numbers.
    pub fn count(&self) -> Option<usize> {
        match self {
            Values::Between(..) => None,
            Values::Whole(low, high) => usize::try_from(high - low + 1).ok(),
            Values::OneOf(values) => Some(values.len()),
        }
    }
}

impl Parameter {
    /// Reads parameters such as `D = 0.001 .. 0.004; n = 10 .. 20; r = 0.1, 0.2, 0.5`. A range between two
    /// whole numbers has whole numbers only.
    ///
    /// # Errors
    /// Fails if the text cannot be read.
    pub fn read_all(text: &str) -> Result<Vec<Parameter>, Fault> {
        let mut all: Vec<Parameter> = Vec::new();
        for part in text.split([';', '\n']).map(str::trim).filter(|part| !part.is_empty()) {
            let one = Parameter::read(part)?;
            if all.iter().any(|other| other.name == one.name) {
                return Err(fault!(
                    BAD_STUDY,
                    "the parameter \"{}\" stands there twice; take one of them out",
                    one.name
                ));
            }
            all.push(one);
        }
        if all.is_empty() {
            Err(fault!(BAD_STUDY, "no parameter is named; write for example \"rate = 0.1 .. 0.5\""))
        } else {
            Ok(all)
        }
    }

    fn read(part: &str) -> Result<Parameter, Fault> {
        let wrong = |why: &str| {
            fault!(
                BAD_STUDY,
                "the parameter \"{part}\" {why}; write for example \"rate = 0.1 .. 0.5\" or \"n = 1, 2, 4\""
            )
        };
        let (name, values) = part.split_once('=').ok_or_else(|| wrong("has no \"=\""))?;
        let name = name.trim();
        if !can_be_setting(name) {
            return Err(wrong("has no name"));
        }
        let number = |text: &str| {
            let text = text.trim();
            let value = tables::number(text, Decimal::Point).filter(|value| value.is_finite());
            value.ok_or_else(|| wrong(&format!("has \"{text}\", which is no finite number")))
        };
        let values = match values.split_once("..") {
            Some((low, high)) => match (low.trim().parse::<i64>(), high.trim().parse::<i64>()) {
                (Ok(low), Ok(high)) if low > high => return Err(wrong("ends before it begins")),
                (Ok(low), Ok(high)) => match high.checked_sub(low) {
                    Some(width) if width < 1 << 53 => Values::Whole(low, high),
                    _ => return Err(wrong("is too wide")),
                },
                _ => {
                    let (low, high) = (number(low)?, number(high)?);
                    if low > high {
                        return Err(wrong("ends before it begins"));
                    }
                    if !(high - low).is_finite() {
                        return Err(wrong("is too wide"));
                    }
                    Values::Between(low, high)
                }
            },
            None => Values::OneOf(values.split(',').map(number).collect::<Result<_, _>>()?),
        };
        Ok(Parameter { name: name.to_owned(), values })
    }
}

/// Returns true if a setting can have this name.
pub(crate) fn can_be_setting(name: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '[' | ']');
    !name.is_empty() && name.chars().all(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_whole_numbers_and_lists_are_read() {
        let read = Parameter::read_all("macro.D = 1e-3 .. 4e-3; n = 2 .. 5\n r=0.1,0.5;").unwrap();
        let values: Vec<&Values> = read.iter().map(|one| &one.values).collect();
        assert_eq!(
            values,
            [&Values::Between(1e-3, 4e-3), &Values::Whole(2, 5), &Values::OneOf(vec![0.1, 0.5])]
        );
        assert_eq!(read[0].name, "macro.D");
        assert_eq!(Parameter::read_all("D = 1D-3 .. 4.0D-3").unwrap()[0].values, Values::Between(1e-3, 4e-3));
        assert_eq!(values[1].at(0.0), SettingValue::Int(2));
        assert_eq!(values[1].at(0.999), SettingValue::Int(5));
        assert_eq!(values[1].in_grid(1, 4), SettingValue::Int(3));
        assert_eq!(values[2].at(0.7), SettingValue::Float(0.5));
        assert_eq!(values[0].in_grid(3, 4), SettingValue::Float(4e-3));
    }

    #[test]
    fn what_is_no_parameter_is_refused() {
        for text in [
            "",
            "rate",
            "= 1 .. 2",
            "a = 2 .. 1",
            "a = x .. 2",
            "a = 1, two",
            "a = 1 .. inf",
            "a = 1 .. 2; a = 3 .. 4",
            "a b = 1 .. 2",
        ] {
            let error = Parameter::read_all(text).unwrap_err();
            assert_eq!(error.code().name(), "bad-study", "{text}");
        }
    }
}
