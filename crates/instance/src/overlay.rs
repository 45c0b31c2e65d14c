//! Settings overlays: which are in force here, how they travel. An overlay is sent once to each peer and then
//! referred to by its number; 0 is the empty one.

use ligament_model::{Reference, SettingValue, Settings};
use ligament_wire::{SettingValue as WireValue, Value, ValueRef};
use std::sync::Arc;

/// The overlay in force, and the numbers that this sender has given out.
#[derive(Default)]
pub(crate) struct Overlays {
    current: Settings,
    /// The overlay that messages came with, where explicit settings were laid over it: those that come under it
    /// belong here, too.
    implicit: Option<Settings>,
    number: u32,
    known: Vec<Settings>,
    /// The last overlay that came in and was found equal to ours, so that the next look is one comparison.
    agreed: Option<Arc<Value>>,
}

impl Overlays {
    pub fn current(&self) -> &Settings {
        &self.current
    }

    /// The number under which messages carry the overlay in force.
    #[inline]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The number of an overlay: 0 for the empty one, and the same for the same settings.
    pub fn number_of(&mut self, overlay: &Settings) -> u32 {
        if overlay.is_empty() {
            return 0;
        }
        let known = self.known.iter().position(|known| known == overlay).unwrap_or_else(|| {
            self.known.push(overlay.clone());
            self.known.len() - 1
        });
        known as u32 + 1
    }

    /// The overlay of a number that `number_of` gave, which is not 0.
    pub fn known(&self, number: u32) -> &Settings {
        &self.known[number as usize - 1]
    }

    /// Another overlay is in force from now on.
    pub fn set(&mut self, overlay: Settings) {
        self.agreed = None;
        self.implicit = None;
        self.number = self.number_of(&overlay);
        self.current = overlay;
    }

    /// Another overlay is in force from now on: what messages come with, and explicit settings over that.
    pub fn set_explicit(&mut self, implicit: Settings, explicit: &Settings) {
        let mut overlay = implicit.clone();
        overlay.update(explicit);
        self.set(overlay);
        self.implicit = Some(implicit);
    }

    /// Returns true if an overlay that came in is the one in force, or what that was laid over.
    pub fn agrees(&mut self, came: Option<&Arc<Value>>) -> bool {
        let Some(came) = came else {
            return self.current.is_empty() || self.implicit.as_ref().is_some_and(Settings::is_empty);
        };
        if self.agreed.as_ref().is_some_and(|agreed| Arc::ptr_eq(agreed, came)) {
            return true;
        }
        let fits = |overlay: Settings| overlay == self.current || Some(&overlay) == self.implicit.as_ref();
        let same = from_value(came).is_some_and(fits);
        if same {
            self.agreed = Some(came.clone());
        }
        same
    }
}

/// Settings as a message holds them.
pub(crate) fn to_wire(settings: &Settings) -> Vec<(String, WireValue)> {
    settings
        .iter()
        .map(|(name, value)| {
            let value = match value.clone() {
                SettingValue::Str(text) => WireValue::String(text),
                SettingValue::Int(int) => WireValue::Int(int),
                SettingValue::Float(float) => WireValue::Float(float),
                SettingValue::Bool(bool) => WireValue::Bool(bool),
                SettingValue::IntList(list) => WireValue::IntList(list),
                SettingValue::FloatList(list) => WireValue::FloatList(list),
                SettingValue::FloatListList(rows) => WireValue::FloatGrid(rows),
            };
            (name.to_string(), value)
        })
        .collect()
}

/// Settings out of a message's value; none if it holds something else. A map of plain values is taken too,
/// since not every language has settings of its own.
pub fn from_value(value: &Value) -> Option<Settings> {
    let mut settings = Settings::new();
    match value {
        Value::Settings(entries) => {
            for (name, value) in entries {
                let value = match value.clone() {
                    WireValue::Bool(bool) => SettingValue::Bool(bool),
                    WireValue::Int(int) => SettingValue::Int(int),
                    WireValue::Float(float) => SettingValue::Float(float),
                    WireValue::String(text) => SettingValue::Str(text),
                    WireValue::IntList(list) => SettingValue::IntList(list),
                    WireValue::FloatList(list) => SettingValue::FloatList(list),
                    WireValue::FloatGrid(rows) => SettingValue::FloatListList(rows),
                };
                settings.set(Reference::new(name).ok()?, value);
            }
        }
        Value::Map(entries) => {
            for (name, value) in entries {
                let value = match value {
                    Value::Bool(bool) => SettingValue::Bool(*bool),
                    Value::Int(int) => SettingValue::Int(*int),
                    Value::Float(float) => SettingValue::Float(*float),
                    Value::String(text) => SettingValue::Str(text.clone()),
                    _ => return None,
                };
                settings.set(Reference::new(name).ok()?, value);
            }
        }
        _ => return None,
    }
    Some(settings)
}

/// A value to send settings as.
pub(crate) fn value_ref(wire: &[(String, WireValue)]) -> ValueRef<'_> {
    ValueRef::Settings(wire)
}
