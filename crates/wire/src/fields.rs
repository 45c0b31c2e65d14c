//! Values that hold the state of the library in a checkpoint: maps with known keys.

use crate::value::Value;
use std::collections::HashMap;

/// Makes a map of values.
pub fn entries<const N: usize>(pairs: [(&str, Value); N]) -> Value {
    Value::Map(pairs.map(|(key, value)| (key.to_owned(), value)).into())
}

/// Returns the value of a number that may be missing.
pub fn optional(number: Option<f64>) -> Value {
    number.map_or(Value::None, Value::Float)
}

/// Returns the value of a count. No count in memory is larger than an `i64`.
pub fn counted(count: u64) -> Value {
    Value::Int(count as i64)
}

/// The fields of a map by name. Each function returns `None` if the field is missing or has another type.
pub struct Fields<'a>(HashMap<&'a str, &'a Value>);

impl<'a> Fields<'a> {
    /// Returns `None` if the value is no map.
    pub fn of(value: &'a Value) -> Option<Fields<'a>> {
        let Value::Map(entries) = value else { return None };
        Some(Fields(entries.iter().map(|(key, value)| (key.as_str(), value)).collect()))
    }

    pub fn get(&self, key: &str) -> Option<&'a Value> {
        self.0.get(key).copied()
    }

    /// Returns a field that may be nothing.
    pub fn present(&self, key: &str) -> Option<Option<&'a Value>> {
        Some(Some(self.get(key)?).filter(|value| !matches!(value, Value::None)))
    }

    pub fn text(&self, key: &str) -> Option<&'a str> {
        match self.get(key)? {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    pub fn count(&self, key: &str) -> Option<u64> {
        match self.get(key)? {
            Value::Int(count) => u64::try_from(*count).ok(),
            _ => None,
        }
    }

    /// Returns a count that is an index in memory.
    pub fn index(&self, key: &str) -> Option<usize> {
        usize::try_from(self.count(key)?).ok()
    }

    pub fn number(&self, key: &str) -> Option<f64> {
        match self.get(key)? {
            Value::Float(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns a number that may be missing.
    pub fn optional(&self, key: &str) -> Option<Option<f64>> {
        match self.get(key)? {
            Value::None => Some(None),
            Value::Float(number) => Some(Some(*number)),
            _ => None,
        }
    }

    pub fn truth(&self, key: &str) -> Option<bool> {
        match self.get(key)? {
            Value::Bool(truth) => Some(*truth),
            _ => None,
        }
    }

    pub fn list(&self, key: &str) -> Option<&'a [Value]> {
        match self.get(key)? {
            Value::List(items) => Some(items),
            _ => None,
        }
    }
}
