//! A message on its way from the ring to the code: its header, and its body wherever it lies. These are kept in
//! boxes that are used again, since moving a struct of this size costs more than the rest of the way.

use crate::memory::ShmError;
use crate::ring::BODY_WORDS;
use ligament_wire::Bytes;
use ligament_wire::{align_part, decode_array_to, head_len, ArrayKind, HeaderWords, Limits, Value};

/// Words before the head in a slot whose body is placed: slab and block, offset, head length.
pub(crate) const PLACE_WORDS: usize = 3;
/// The longest head that stands beside its place in the slot.
pub(crate) const INLINE_HEAD: usize = (BODY_WORDS - PLACE_WORDS) * 8;

/// Where the body of a message is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// No body: the value is none.
    Nowhere,
    /// The whole body is in `words`, copied out of the ring.
    Inline,
    /// The head is in `words` from this word on, so many bytes; the parts are `bytes`.
    Beside(usize),
    /// The whole body is `bytes`.
    Whole,
}

/// The head of a plain array of up to three dimensions, in words.
const KNOWN_WORDS: usize = 5;

/// What the head of a channel's last array said, so that the next one, which mostly says the same, need not be taken
/// apart: one comparison tells.
#[derive(Default)]
pub(crate) struct Known {
    /// The head, with zeros behind it, and ones where it counts.
    head: [u64; KNOWN_WORDS],
    mask: [u64; KNOWN_WORDS],
    /// Bytes of the head; 0 while nothing is known.
    len: u64,
    /// Bytes of the whole body.
    body_len: u64,
    kind: Option<ArrayKind>,
}

impl Known {
    /// The array's kind, if a body placed in a slab has this length and its slot begins with `line`.
    #[inline]
    pub fn recognise(&self, body_len: u64, line: &[u64; 8]) -> Option<&ArrayKind> {
        let mut differs = (line[2] ^ self.len) | (body_len ^ self.body_len);
        for i in 0..KNOWN_WORDS {
            differs |= (line[PLACE_WORDS + i] ^ self.head[i]) & self.mask[i];
        }
        if differs == 0 {
            self.kind.as_ref()
        } else {
            None
        }
    }

    /// Learns from a message whose value has been taken.
    pub fn learn(&mut self, message: &Arrived, value: &Value) {
        *self = Known::default();
        let (Place::Beside(len), Value::Array(array)) = (message.place, value) else { return };
        if len == 0 || len > KNOWN_WORDS * 8 || message.header.parts() != 1 {
            return;
        }
        let Some(kind) = array.kind() else { return };
        for i in 0..KNOWN_WORDS {
            let bytes = len.saturating_sub(i * 8).min(8);
            self.mask[i] = if bytes == 8 { u64::MAX } else { (1 << (bytes * 8)) - 1 };
            self.head[i] = message.words[PLACE_WORDS + i] & self.mask[i];
        }
        (self.len, self.body_len, self.kind) = (len as u64, message.header.body_len(), Some(kind));
    }
}

/// A message that has arrived.
pub struct Arrived {
    pub header: HeaderWords,
    pub(crate) place: Place,
    pub(crate) words: [u64; BODY_WORDS],
    pub(crate) bytes: Bytes,
}

impl Arrived {
    pub(crate) fn empty() -> Box<Arrived> {
        let (header, place) = (HeaderWords::default(), Place::Nowhere);
        Box::new(Arrived { header, place, words: [0; BODY_WORDS], bytes: Bytes::new() })
    }

    /// Whether the body took memory of a slab.
    #[inline]
    pub(crate) fn in_slab(&self) -> bool {
        matches!(self.place, Place::Beside(_) | Place::Whole)
    }

    /// Takes the value out, to where it shall stand; arrays in it are views of where the message lies.
    ///
    /// # Errors
    /// `Malformed` when the body is not what the format says.
    pub fn take_value_to(&mut self, to: &mut Value) -> Result<(), ShmError> {
        let parts = self.header.parts();
        match self.place {
            Place::Nowhere => {
                *to = Value::None;
                Ok(())
            }
            Place::Beside(head) => {
                let raw: &[u8] = bytemuck::cast_slice(&self.words[PLACE_WORDS..]);
                decode(parts, self.header.body_len(), &raw[..head], std::mem::take(&mut self.bytes), to)
            }
            Place::Inline => {
                let body: &[u8] = bytemuck::cast_slice(&self.words);
                let body = &body[..self.header.body_len() as usize];
                whole(parts, body, Bytes::copy_from_slice, to)
            }
            Place::Whole => {
                let bytes = std::mem::take(&mut self.bytes);
                whole(parts, &bytes, |parts| bytes.slice_ref(parts), to)
            }
        }
    }

    /// Takes the value out; else as `take_value_to`.
    pub fn take_value(&mut self) -> Result<Value, ShmError> {
        let mut value = Value::None;
        self.take_value_to(&mut value)?;
        Ok(value)
    }
}

#[inline]
fn decode(parts: u16, body_len: u64, head: &[u8], bytes: Bytes, to: &mut Value) -> Result<(), ShmError> {
    match decode_array_to(parts, body_len, head, bytes, &Limits::default(), to) {
        Ok(()) => Ok(()),
        Err(error) => Err(ShmError::Malformed(error.to_string())),
    }
}

/// The value of a whole body. The head is copied before it is parsed: a sender could still write where it lies.
fn whole(parts: u16, body: &[u8], share: impl FnOnce(&[u8]) -> Bytes, to: &mut Value) -> Result<(), ShmError> {
    let head_len = head_len(parts, body).map_err(|error| ShmError::Malformed(error.to_string()))?;
    let Some(head) = usize::try_from(head_len).ok().and_then(|head_len| body.get(..head_len)) else {
        return Err(ShmError::Malformed(format!("a head of {head_len} in {} bytes", body.len())));
    };
    let mut short = [0; 256];
    let long;
    let head = if head.len() <= short.len() {
        short[..head.len()].copy_from_slice(head);
        &short[..head.len()]
    } else {
        long = head.to_vec();
        &long
    };
    let first = (align_part(head_len) as usize).min(body.len());
    let shared = if parts == 0 { Bytes::new() } else { share(&body[first..]) };
    decode(parts, body.len() as u64, head, shared, to)
}
