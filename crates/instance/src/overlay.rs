//! Settings overlays: which one is in force at an instance, and the numbers by which messages name them. An
//! overlay is sent to each peer once, and later messages name it by its number. Number 0 is the empty
//! overlay.

use ligament_model::{Reference, SettingValue, Settings};
use ligament_wire::{SettingValue as WireValue, Value, ValueRef};
use std::sync::Arc;

/// The overlay in force, and the overlays to which this sender has given numbers.
#[derive(Default)]
pub(crate) struct Overlays {
    current: Settings,
    /// The overlay of the message that brought explicit settings, without these settings. `None` without
    /// explicit settings. Messages with this overlay are accepted, too.
    implicit: Option<Settings>,
    number: u32,
    known: Vec<Settings>,
    /// The received overlay that was last found equal to the one in force. A comparison of pointers finds
    /// it again.
    agreed: Option<Arc<Value>>,
}

impl Overlays {
    /// Puts the overlay of a checkpoint in force, and the one under its explicit settings.
    pub fn restore(&mut self, overlay: Settings, implicit: Option<Settings>) {
        self.set(overlay);
        self.implicit = implicit;
    }

    /// Returns the overlay under the explicit settings, if there are explicit settings.
    pub fn implicit(&self) -> Option<&Settings> {
        self.implicit.as_ref()
    }

    pub fn current(&self) -> &Settings {
        &self.current
    }

    /// Returns the number by which messages name the overlay in force.
    #[inline]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Returns the number of an overlay: 0 for the empty one. Equal overlays have equal numbers.
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

    /// Returns the overlay with this number, which `number_of` has returned and which is not 0.
    pub fn known(&self, number: u32) -> &Settings {
        &self.known[number as usize - 1]
    }

    /// Puts another overlay in force.
    pub fn set(&mut self, overlay: Settings) {
        self.agreed = None;
        self.implicit = None;
        self.number = self.number_of(&overlay);
        self.current = overlay;
    }

    /// Puts another overlay in force: the overlay of a message, with explicit settings on top.
    pub fn set_explicit(&mut self, implicit: Settings, explicit: &Settings) {
        let mut overlay = implicit.clone();
        overlay.update(explicit);
        self.set(overlay);
        self.implicit = Some(implicit);
    }

    /// Returns true if a received overlay is the one in force, or the one under the explicit settings.
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

/// Converts settings to the form that they have in a message.
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

/// Reads settings from a message's value. Returns `None` if the value holds something else. A map of plain
/// values is also accepted, because not every language has a type for settings.
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

/// Returns the value that carries settings in a message.
pub(crate) fn value_ref(wire: &[(String, WireValue)]) -> ValueRef<'_> {
    ValueRef::Settings(wire)
}
