//! Settings of shipped components, as an instance sees them.

use ligament_catalogue::Fault;
use ligament_instance::{Error, Instance, Kind, SettingType, SettingValue};

/// A setting of one type, if it is set.
fn one(instance: &Instance, name: &str, kind: SettingType) -> Result<Option<SettingValue>, Error> {
    match instance.get_setting(name, Some(kind)) {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == Kind::SettingUnset => Ok(None),
        Err(error) => Err(error),
    }
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
    /// A text, if it is set.
    text: Str -> String;
    /// A number, if it is set.
    number: Float -> f64;
    /// A truth value, if it is set.
    truth: Bool -> bool;
    /// Numbers, if they are set.
    numbers: FloatList -> Vec<f64>;
    /// Lists of numbers, if they are set.
    rows: FloatListList -> Vec<Vec<f64>>;
    /// Whole numbers, if they are set.
    whole_numbers: IntList -> Vec<i64>;
}

/// A setting that cannot be.
pub(crate) fn wrong(fault: Fault) -> Error {
    Error::other(Kind::Usage, fault)
}

/// Data from outside that cannot be.
pub(crate) fn bad(fault: Fault) -> Error {
    Error::other(Kind::System, fault)
}

/// A message that cannot be taken.
pub(crate) fn unfit(fault: Fault) -> Error {
    Error::other(Kind::Unexpected, fault)
}
