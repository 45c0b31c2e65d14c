//! A message while it passes through filters.

use crate::numbers::NumberBuffer;
use crate::view::ArrayView;
use ligament_catalogue::Fault;
use ligament_wire::{decode_body, Bytes, Encoder, Limits, Value, ValueRef, WireError};

/// A message: its times, in s, and its data.
#[derive(Debug, Clone)]
pub struct Parcel<'a> {
    pub timestamp: f64,
    pub next_timestamp: Option<f64>,
    pub data: Data<'a>,
}

/// The data of a message. The variants differ by the owner of the memory.
#[derive(Debug, Clone)]
pub enum Data<'a> {
    /// An array in borrowed memory. The memory stays valid while the message passes through the filters.
    Lent(ArrayView<'a>),
    /// A value that may have other owners. Filters do not change it.
    Kept(Value),
    /// Numbers that the parcel owns. Filters change them in place.
    Own(NumberBuffer<'static>),
}

impl<'a> Data<'a> {
    /// Returns the data of a value that a sender lends. Arrays are not copied; lists and maps are.
    ///
    /// # Errors
    /// The value cannot be a message.
    pub fn lent(value: &ValueRef<'a>) -> Result<Data<'a>, WireError> {
        Ok(Data::Kept(match *value {
            ValueRef::Array(array) => {
                array.check()?;
                return Ok(Data::Lent(ArrayView::from(array)));
            }
            ValueRef::Owned(Value::Array(array)) => return Ok(Data::Lent(ArrayView::from(array))),
            ValueRef::Owned(value) => value.clone(),
            ValueRef::None => Value::None,
            ValueRef::Bool(bool) => Value::Bool(bool),
            ValueRef::Int(int) => Value::Int(int),
            ValueRef::Float(float) => Value::Float(float),
            // Other values are copied by encoding them.
            ref tree => {
                let mut encoder = Encoder::new();
                let plan = encoder.plan(tree)?;
                let mut body = vec![0; plan.body_len() as usize];
                plan.write_body(&mut body);
                decode_body(plan.parts(), Bytes::from(body), &Limits::default())?
            }
        }))
    }

    /// Returns the data as a value that a message can borrow.
    pub fn to_send(&self) -> ValueRef<'_> {
        match self {
            Data::Lent(view) => ValueRef::Array(view.as_ref()),
            Data::Kept(value) => ValueRef::Owned(value),
            Data::Own(numbers) => numbers.to_send(),
        }
    }

    /// Returns the data as a value that owns its memory. Borrowed arrays are copied.
    ///
    /// # Errors
    /// There is no memory for the copy.
    pub fn into_value(self) -> Result<Value, Fault> {
        Ok(match self {
            Data::Lent(view) => Value::Array(view.gathered()?),
            Data::Kept(value) => value,
            Data::Own(numbers) => numbers.into_value(),
        })
    }

    /// Returns the same data without borrowed memory. Borrowed arrays are copied.
    ///
    /// # Errors
    /// There is no memory for the copy.
    pub(crate) fn kept(self) -> Result<Data<'static>, Fault> {
        self.into_value().map(Data::Kept)
    }
}

impl<'a> Parcel<'a> {
    /// Returns a message with the same times and other data.
    pub(crate) fn with<'b>(&self, data: Data<'b>) -> Parcel<'b> {
        Parcel { timestamp: self.timestamp, next_timestamp: self.next_timestamp, data }
    }

    /// Returns the same message without borrowed memory. Borrowed arrays are copied.
    ///
    /// # Errors
    /// There is no memory for the copy.
    pub(crate) fn kept(self) -> Result<Parcel<'static>, Fault> {
        let Parcel { timestamp, next_timestamp, data } = self;
        Ok(Parcel { timestamp, next_timestamp, data: data.kept()? })
    }
}

/// Returns the kind of data as text for error messages.
pub(crate) fn kind_of(data: &Data<'_>) -> String {
    let array = |dtype: &str, shape: &[u64]| format!("an array of {dtype} with shape {shape:?}");
    match data {
        Data::Lent(view) => array(view.dtype.name(), &view.shape),
        Data::Own(numbers) => numbers.describe(),
        Data::Kept(value) => match value {
            Value::None => "nothing".into(),
            Value::Bool(_) => "a truth value".into(),
            Value::Int(_) | Value::UInt(_) => "an integer".into(),
            Value::Float(_) => "a number".into(),
            Value::Complex(..) => "a complex number".into(),
            Value::String(_) => "text".into(),
            Value::Bytes(_) => "bytes".into(),
            Value::List(items) => format!("a list of {} values", items.len()),
            Value::Map(_) => "a map".into(),
            Value::Settings(_) => "settings".into(),
            Value::Array(one) => array(one.dtype().name(), one.shape()),
        },
    }
}
