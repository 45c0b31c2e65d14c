//! Messages of a port: messages out, messages in, loans, and arrays to receive into.

use crate::error::{Error, ReceiveError, SendError};
use crate::expected::{Expected, Origin};
use ligament_model::Settings;
use ligament_shm::memory::copy_in_pieces;
use ligament_wire::{Array, ArrayOrder, ArrayRef, DType, Value, ValueRef};

/// A message to be sent: times in model time (s), and a value over the caller's own memory.
#[derive(Debug, Clone)]
pub struct Outgoing<'a> {
    /// The model time that the data belongs to, s.
    pub timestamp: f64,
    /// The model time of the next message on this port, s, if there will be one.
    pub next_timestamp: Option<f64>,
    /// The value.
    pub data: ValueRef<'a>,
    /// The settings overlay that the message belongs to; none for the one in force at this instance. Components
    /// that serve others under different settings give it (see `Flags::dont_apply_overlay`).
    pub settings: Option<&'a Settings>,
}

impl<'a> Outgoing<'a> {
    /// A message without a next one.
    pub fn at(timestamp: f64, data: impl Into<ValueRef<'a>>) -> Outgoing<'a> {
        Outgoing { timestamp, next_timestamp: None, data: data.into(), settings: None }
    }

    /// Says under which settings overlay the message was made.
    pub fn with_settings(mut self, settings: &'a Settings) -> Outgoing<'a> {
        self.settings = Some(settings);
        self
    }

    /// Its times.
    #[inline]
    pub fn times(&self) -> MessageTimes {
        MessageTimes { timestamp: self.timestamp, next_timestamp: self.next_timestamp }
    }

    /// Says when the next message on this port will be, s.
    pub fn next(mut self, timestamp: f64) -> Outgoing<'a> {
        self.next_timestamp = Some(timestamp);
        self
    }
}

/// A message that was received. Arrays in it are read-only views of where the sender put them; they stay valid
/// for as long as the message, or a clone of them, is kept.
#[derive(Debug, Clone)]
pub struct Message {
    /// The model time that the data belongs to, s.
    pub timestamp: f64,
    /// The model time of the sender's next message, s, if it said so.
    pub next_timestamp: Option<f64>,
    /// The value.
    pub data: Value,
    /// The settings overlay that came with it, where it was received with settings, or the instance asked not
    /// to have overlays applied.
    pub settings: Option<Settings>,
    pub(crate) origin: Origin,
}

impl Default for Message {
    /// A message of nothing at time 0.
    fn default() -> Message {
        Message {
            timestamp: 0.0,
            next_timestamp: None,
            data: Value::None,
            settings: None,
            origin: Origin::default(),
        }
    }
}

impl Message {
    /// Its times.
    pub fn times(&self) -> MessageTimes {
        MessageTimes { timestamp: self.timestamp, next_timestamp: self.next_timestamp }
    }

    /// Its data as an array.
    ///
    /// # Errors
    /// `Unexpected` if it is something else.
    #[inline]
    pub fn array(&self) -> Result<&Array, Error> {
        self.array_as(&Expected::default())
    }

    /// Its data as an array of which something is expected.
    ///
    /// # Errors
    /// `Unexpected` if it is something else, or another array than that; the text names port and sender, what
    /// came and what was expected.
    #[inline]
    pub fn array_as(&self, expected: &Expected<'_>) -> Result<&Array, Error> {
        expected.array_of(&self.data, &self.origin)
    }

    /// The origin of the message.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }
}

/// The times of a message, s.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MessageTimes {
    pub timestamp: f64,
    pub next_timestamp: Option<f64>,
}

impl MessageTimes {
    /// Returns true if these are times that a model can have.
    #[inline(always)]
    pub(crate) fn are_sound(&self) -> bool {
        let at = self.timestamp;
        at.is_finite() && self.next_timestamp.is_none_or(|next| next.is_finite() && next >= at)
    }

    /// The error of wrong times.
    #[cold]
    pub(crate) fn fault(&self) -> SendError {
        let at = self.timestamp;
        match self.next_timestamp {
            Some(next) if at.is_finite() && next.is_finite() => SendError::NextIsEarlier { at, next },
            Some(next) if at.is_finite() => SendError::NextIsNoTime { next },
            _ => SendError::NoTime { at },
        }
    }
}

/// The kind of a value, in words.
pub(crate) fn kind_of(value: &Value) -> String {
    match value {
        Value::None => "nothing".into(),
        Value::Bool(_) => "a truth value".into(),
        Value::Int(_) | Value::UInt(_) => "an integer".into(),
        Value::Float(_) => "a number".into(),
        Value::Complex(..) => "a complex number".into(),
        Value::String(_) => "text".into(),
        Value::Bytes(_) => "bytes".into(),
        Value::List(_) => "a list".into(),
        Value::Map(_) => "a map".into(),
        Value::Settings(_) => "settings".into(),
        Value::Array(array) => format!("an array of {} with shape {:?}", array.dtype().name(), array.shape()),
    }
}

/// An array of the caller's to receive into: contiguous in its order.
pub struct ArrayMut<'a> {
    pub dtype: DType,
    pub shape: &'a [u64],
    pub order: ArrayOrder,
    /// The bytes of the elements.
    pub data: &'a mut [u8],
}

impl ArrayMut<'_> {
    /// Copies the array of a message here, but for the first bytes, if they are `there` already.
    ///
    /// # Errors
    /// `Unexpected` if type or shape differ; nothing is written then.
    #[inline]
    pub(crate) fn fill_from(&mut self, message: &Message, there: usize) -> Result<(), Error> {
        let Value::Array(array) = &message.data else { return self.fill_otherwise(message) };
        let same_layout = array.order() == self.order || self.shape.len() < 2;
        let plain = array.own_strides().is_none() && same_layout && array.data().len() == self.data.len();
        if plain && array.dtype() == self.dtype && array.shape() == self.shape {
            copy_in_pieces(&mut self.data[there..], &array.data()[there..], |_| ());
            return Ok(());
        }
        self.fill_otherwise(message)
    }

    #[cold]
    fn fill_otherwise(&mut self, message: &Message) -> Result<(), Error> {
        let shape: Vec<Option<u64>> = self.shape.iter().copied().map(Some).collect();
        let expected = Expected { dtype: Some(self.dtype), ndim: None, shape: Some(&shape) };
        let array = message.array_as(&expected)?;
        if array.nbytes() != self.data.len() as u64 {
            let (shape, dtype) = (self.shape.to_vec(), self.dtype.name());
            let (bytes, room) = (array.nbytes(), self.data.len());
            return Err(ReceiveError::OtherSize { shape, dtype, bytes, room }.into());
        }
        self.scatter(array);
        Ok(())
    }

    /// Element by element, where the layouts differ.
    fn scatter(&mut self, array: &Array) {
        let size = self.dtype.size();
        let from = array.strides();
        let source: &[u8] = array.data();
        let ndim = self.shape.len();
        let mut index = vec![0u64; ndim];
        let fastest: Vec<usize> = match self.order {
            ArrayOrder::RowMajor => (0..ndim).rev().collect(),
            ArrayOrder::ColumnMajor => (0..ndim).collect(),
        };
        for element in self.data.chunks_exact_mut(size) {
            let at: i64 = index.iter().zip(&from).map(|(&i, &stride)| i as i64 * stride).sum();
            element.copy_from_slice(&source[at as usize..at as usize + size]);
            for &axis in &fastest {
                index[axis] += 1;
                if index[axis] < self.shape[axis] {
                    break;
                }
                index[axis] = 0;
            }
        }
    }
}

impl<'a> From<&'a Array> for Outgoing<'a> {
    fn from(array: &'a Array) -> Outgoing<'a> {
        Outgoing::at(0.0, ValueRef::Array(ArrayRef::from(array)))
    }
}
