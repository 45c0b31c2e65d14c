//! Messages of a port: those that are sent, those that are received, and arrays into which a message is
//! received.

use crate::error::{Error, ReceiveError, SendError};
use crate::expected::{Expected, Origin};
use ligament_model::Settings;
use ligament_shm::memory::copy_in_pieces;
use ligament_wire::{Array, ArrayOrder, ArrayRef, DType, Value, ValueRef};

/// A message that is sent: its times in model time (s), and a value in the caller's own memory.
#[derive(Debug, Clone)]
pub struct Outgoing<'a> {
    /// The model time that the data belongs to, s.
    pub timestamp: f64,
    /// The model time of the next message on this port, s, if there will be one.
    pub next_timestamp: Option<f64>,
    /// The value.
    pub data: ValueRef<'a>,
    /// The settings overlay that the message belongs to. `None` stands for the overlay in force at this
    /// instance. Components that serve several others with different settings give it (see
    /// `Flags::dont_apply_overlay`).
    pub settings: Option<&'a Settings>,
}

impl<'a> Outgoing<'a> {
    /// Makes a message without a next timestamp.
    pub fn at(timestamp: f64, data: impl Into<ValueRef<'a>>) -> Outgoing<'a> {
        Outgoing { timestamp, next_timestamp: None, data: data.into(), settings: None }
    }

    /// Sets the settings overlay under which the message was made.
    pub fn with_settings(mut self, settings: &'a Settings) -> Outgoing<'a> {
        self.settings = Some(settings);
        self
    }

    /// Returns the times of the message.
    #[inline]
    pub fn times(&self) -> MessageTimes {
        MessageTimes { timestamp: self.timestamp, next_timestamp: self.next_timestamp }
    }

    /// Sets the time of the next message on this port, in s.
    pub fn next(mut self, timestamp: f64) -> Outgoing<'a> {
        self.next_timestamp = Some(timestamp);
        self
    }
}

/// A received message. Its arrays are read-only views of the memory into which the sender put them. They
/// stay valid as long as the message or a clone of it exists.
#[derive(Debug, Clone)]
pub struct Message {
    /// The model time that the data belongs to, s.
    pub timestamp: f64,
    /// The model time of the sender's next message, s, if the sender has given it.
    pub next_timestamp: Option<f64>,
    /// The value.
    pub data: Value,
    /// The settings overlay of the message. It is set if the message was received with its settings, or if
    /// the instance asked that overlays are not applied.
    pub settings: Option<Settings>,
    pub(crate) origin: Origin,
}

impl Default for Message {
    /// Makes a message without a value, at time 0.
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
    /// Returns the times of the message.
    pub fn times(&self) -> MessageTimes {
        MessageTimes { timestamp: self.timestamp, next_timestamp: self.next_timestamp }
    }

    /// Returns the message's array.
    ///
    /// # Errors
    /// `Unexpected` if the value is not an array.
    #[inline]
    pub fn array(&self) -> Result<&Array, Error> {
        self.array_as(&Expected::default())
    }

    /// Returns the message's array, which must have the properties in `expected`.
    ///
    /// # Errors
    /// `Unexpected` if the value is not an array, or an array with other properties. The text names the
    /// port, the sender, the value that was received, and the expected array.
    #[inline]
    pub fn array_as(&self, expected: &Expected<'_>) -> Result<&Array, Error> {
        expected.array_of(&self.data, &self.origin)
    }

    /// Returns the port and the sender of the message.
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
    /// Returns true if a message may have these times: both are finite, and the next timestamp is not
    /// earlier.
    #[inline(always)]
    pub(crate) fn are_sound(&self) -> bool {
        let at = self.timestamp;
        at.is_finite() && self.next_timestamp.is_none_or(|next| next.is_finite() && next >= at)
    }

    /// Returns the error that describes the invalid times.
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

/// Describes the kind of a value in words.
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

/// An array of the caller into which a message is received. Its elements are contiguous in its order.
pub struct ArrayMut<'a> {
    pub dtype: DType,
    pub shape: &'a [u64],
    pub order: ArrayOrder,
    /// The bytes of the elements.
    pub data: &'a mut [u8],
}

impl ArrayMut<'_> {
    /// Copies the array of a message to this one. The first `there` bytes are skipped, because they have
    /// been copied already.
    ///
    /// # Errors
    /// `Unexpected` if the type or the shape differs. Nothing is written then.
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

    /// Copies element by element, for arrays whose layouts differ.
    pub(crate) fn scatter(&mut self, array: &Array) {
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
