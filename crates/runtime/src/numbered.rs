//! The parts of a picture of a run. Each part has the number of the picture in which it last changed, so that
//! each viewer can get exactly the parts that it lacks. The head has a picture of its run, and the server of
//! `ligament view` has one for all browsers.

use serde_json::{Map, Value};
use std::borrow::Cow;

/// A part of a picture.
#[derive(Debug, Default)]
pub struct NumberedPart {
    /// Number of the picture in which the part last changed.
    changed: u64,
    pub value: Value,
}

impl NumberedPart {
    /// Sets the value of the part in the picture with this number.
    pub fn is_now(&mut self, value: Cow<'_, Value>, picture: u64) {
        if self.value != *value {
            *self = NumberedPart { changed: picture, value: value.into_owned() };
        }
    }

    /// Returns true if the part has changed after the picture with this number.
    pub fn is_newer_than(&self, picture: u64) -> bool {
        self.changed > picture
    }
}

/// Returns the parts that have changed after the picture with this number, by their own numbers. Returns `None`
/// if no part has changed.
pub fn changed_after<'a, N: ToString>(
    parts: impl Iterator<Item = (N, &'a NumberedPart)>,
    picture: u64,
) -> Option<Value> {
    let newer = parts.filter(|(_, part)| part.is_newer_than(picture));
    let found: Map<String, Value> = newer.map(|(i, part)| (i.to_string(), part.value.clone())).collect();
    (!found.is_empty()).then_some(Value::Object(found))
}
