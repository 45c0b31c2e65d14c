//! The memory of filters: what they keep of earlier messages, as values that a checkpoint holds. Each filter
//! says what it remembers (`FilterStep::memory`), so a filter without memory says that, too.

use crate::numbers::{NumberFrame, Shell};
use ligament_catalogue::{fault, Fault};
use ligament_wire::fields::{counted, entries, Fields};
use ligament_wire::{ArrayOrder, Value};

/// The memory of a filter.
pub enum FilterMemory<'a> {
    /// The filter remembers nothing: what it makes of a message depends on this message alone.
    None,
    /// The filter remembers earlier messages.
    Some(&'a mut dyn Memory),
    /// The filter may remember something, and cannot say what. The text gives the reason.
    Hidden(String),
}

/// The memory of a filter: what it keeps of earlier messages.
pub trait Memory {
    /// Returns all that the filter remembers. A filter that gets it back goes on in the same way, bit for bit.
    ///
    /// # Errors
    /// The filter cannot say what it remembers; the error says why.
    fn state(&mut self) -> Result<Value, Fault>;

    /// Gives a new filter what another one has remembered.
    ///
    /// # Errors
    /// The value is not the state of such a filter.
    fn restore(&mut self, state: &Value) -> Result<(), Fault>;
}

/// Returns the error for a state that is not the filter's own, if `restored` says so.
pub(crate) fn checked(restored: Option<()>) -> Result<(), Fault> {
    restored.ok_or_else(|| fault!(CHECKPOINT_UNREADABLE, "what it remembered is of another form"))
}

/// Returns a list of lengths as a value.
pub(crate) fn lengths(shape: &[u64]) -> Value {
    Value::List(shape.iter().map(|&extent| counted(extent)).collect())
}

impl NumberFrame {
    pub(crate) fn state(&self) -> Value {
        let shell = match self.shell {
            Shell::Array => "array",
            Shell::Number => "number",
            Shell::List => "list",
        };
        entries([
            ("shell", Value::String(shell.to_owned())),
            ("shape", lengths(&self.shape)),
            ("by columns", Value::Bool(self.order == ArrayOrder::ColumnMajor)),
            ("complex", Value::Bool(self.complex)),
            ("names", Value::List(self.names.iter().cloned().map(Value::String).collect())),
            ("unit", self.unit.clone().map_or(Value::None, Value::String)),
        ])
    }

    pub(crate) fn of_state(state: &Value) -> Option<NumberFrame> {
        let fields = Fields::of(state)?;
        let shell = match fields.text("shell")? {
            "array" => Shell::Array,
            "number" => Shell::Number,
            "list" => Shell::List,
            _ => return None,
        };
        let extent = |value: &Value| match value {
            Value::Int(extent) => u64::try_from(*extent).ok(),
            _ => None,
        };
        let name = |value: &Value| match value {
            Value::String(name) => Some(name.clone()),
            _ => None,
        };
        let orders = [ArrayOrder::RowMajor, ArrayOrder::ColumnMajor];
        Some(NumberFrame {
            shell,
            shape: fields.list("shape")?.iter().map(extent).collect::<Option<_>>()?,
            order: orders[usize::from(fields.truth("by columns")?)],
            complex: fields.truth("complex")?,
            names: fields.list("names")?.iter().map(name).collect::<Option<_>>()?,
            unit: match fields.present("unit")? {
                None => None,
                Some(_) => Some(fields.text("unit")?.to_owned()),
            },
        })
    }
}
