//! Settings of shipped components, as an instance sees them.

use ligament_catalogue::{fault, Fault};
use ligament_instance::{Error, ErrorKind, Instance, SettingType, SettingValue};

/// Returns a setting of one type, if it is set.
fn one(instance: &Instance, name: &str, kind: SettingType) -> Result<Option<SettingValue>, Error> {
    match instance.get_setting(name, Some(kind)) {
        Ok(value) => match instance.get_setting(name, None).ok().as_ref().and_then(unheld) {
            Some(whole) if matches!(value, SettingValue::Float(_) | SettingValue::FloatList(_)) => {
                Err(wrong(fault!(
                    SHIPPED_SETTING_WRONG,
                    "\"{name}\" is {whole}, which has more digits than a float64 holds"
                )))
            }
            _ => Ok(Some(value)),
        },
        Err(error) if error.kind() == ErrorKind::SettingUnset => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the first whole number in a setting that a `float64` cannot hold exactly.
fn unheld(value: &SettingValue) -> Option<i64> {
    let all = match value {
        SettingValue::Int(whole) => std::slice::from_ref(whole),
        SettingValue::IntList(all) => all,
        _ => &[],
    };
    all.iter().copied().find(|&whole| whole as f64 as i128 != i128::from(whole))
}

macro_rules! getters {
    ($($(#[$doc:meta])* $name:ident: $kind:ident -> $rust:ty;)+) => {
        $($(#[$doc])*
        pub(crate) fn $name(instance: &Instance, name: &str) -> Result<Option<$rust>, Error> {
            Ok(match one(instance, name, SettingType::$kind)? {
                Some(SettingValue::$kind(value)) => Some(value),
                _ => None,
            })
        })+
    };
}

getters! {
    /// Returns a text, if it is set.
    text: Str -> String;
    /// Returns a number, if it is set.
    number: Float -> f64;
    /// Returns a truth value, if it is set.
    truth: Bool -> bool;
    /// Returns numbers, if they are set.
    numbers: FloatList -> Vec<f64>;
    /// Returns lists of numbers, if they are set.
    rows: FloatListList -> Vec<Vec<f64>>;
    /// Returns a whole number, if it is set.
    whole_number: Int -> i64;
    /// Returns whole numbers, if they are set.
    whole_numbers: IntList -> Vec<i64>;
}

/// Makes the error for a wrong setting.
pub(crate) fn wrong(fault: Fault) -> Error {
    Error::other(ErrorKind::Usage, fault)
}

/// Makes the error for wrong data in a file.
pub(crate) fn bad(fault: Fault) -> Error {
    Error::other(ErrorKind::System, fault)
}

/// Makes the error for a message that the component cannot take.
pub(crate) fn unfit(fault: Fault) -> Error {
    Error::other(ErrorKind::Unexpected, fault)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_number_that_a_double_does_not_hold_is_found() {
        let odd = 9007199254740993;
        assert_eq!(unheld(&SettingValue::Int(odd)), Some(odd));
        assert_eq!(unheld(&SettingValue::IntList(vec![1, odd])), Some(odd));
        assert_eq!(unheld(&SettingValue::IntList(vec![1, odd - 1, i64::MIN])), None);
        assert_eq!(unheld(&SettingValue::Int(i64::MAX)), Some(i64::MAX));
        assert_eq!(unheld(&SettingValue::Float(0.5)), None);
    }
}
