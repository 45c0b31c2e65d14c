//! A message between the ring and the code: its header, and its body at its present place. Messages are kept
//! in boxes that are used again, because moving a struct of this size costs more than all other steps.

use crate::memory::ShmError;
use crate::ring::BODY_WORDS;
use ligament_wire::Bytes;
use ligament_wire::{align_part, decode_array_to, head_len, ArrayKind, HeaderWords, Limits, Value};

/// Number of words before the preamble in an entry whose body lies in a block: slab and block, offset, length
/// of the preamble.
pub(crate) const PLACE_WORDS: usize = 3;
/// Maximum length of a preamble that lies in the entry, beside the place of the parts, bytes.
pub(crate) const INLINE_HEAD_BYTES: usize = (BODY_WORDS - PLACE_WORDS) * 8;

/// The place of the body of a message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyPlace {
    /// The message has no body: its value is none.
    Nowhere,
    /// The whole body is in `words`, copied out of the ring.
    Inline,
    /// The preamble is in `words` from `PLACE_WORDS` on and has this many bytes; the parts are in `bytes`.
    Beside(usize),
    /// The whole body is in `bytes`.
    Whole,
    /// The same for a message of a checkpoint, for which no sender has claimed credit.
    Restored,
}

/// Number of words of the longest preamble to which a later message can refer: that of a plain array of up to
/// three dimensions.
const KNOWN_WORDS: usize = 5;
/// Number of bytes of that preamble.
pub(crate) const KNOWN_PREAMBLE_BYTES: usize = KNOWN_WORDS * 8;

/// The preamble that was last in an entry of a channel. A message with the flag `AS_BEFORE` has the same
/// preamble.
#[derive(Default)]
pub(crate) struct KnownPreamble {
    head: [u64; KNOWN_WORDS],
    /// Length of the preamble, bytes; 0 if no preamble is known.
    len: usize,
    parts: u16,
    body_len: u64,
    /// The array that the preamble describes, known after the first value with this preamble, if that value
    /// is a plain array.
    kind: Option<ArrayKind>,
}

impl KnownPreamble {
    /// Returns the array that the preamble describes, if it is a plain array.
    #[inline]
    pub fn kind(&self) -> Option<&ArrayKind> {
        self.kind.as_ref()
    }

    /// Returns the length of the whole body, bytes.
    #[inline]
    pub fn body_len(&self) -> u64 {
        self.body_len
    }

    /// Stores the preamble of a message. Must be called in the order of the ring.
    pub fn note(&mut self, message: &ArrivedMessage) {
        *self = KnownPreamble::default();
        if let BodyPlace::Beside(len @ 1..=KNOWN_PREAMBLE_BYTES) = message.place {
            self.head.copy_from_slice(&message.words[PLACE_WORDS..PLACE_WORDS + KNOWN_WORDS]);
            (self.len, self.parts, self.body_len) = (len, message.header.parts(), message.header.body_len());
        }
    }

    /// Adds the known preamble to a message with the flag `AS_BEFORE`. Returns the packed place of its parts.
    pub fn complete(&self, message: &mut ArrivedMessage) -> Result<u64, ShmError> {
        if self.len == 0 {
            return Err(ShmError::Malformed("a message refers to a head that never came".into()));
        }
        message.words[PLACE_WORDS..PLACE_WORDS + KNOWN_WORDS].copy_from_slice(&self.head);
        message.place = BodyPlace::Beside(self.len);
        Ok(message.header.take_as_before(self.parts, self.body_len))
    }

    /// Stores the kind of a message's value, if the message has the known preamble.
    pub fn learn(&mut self, message: &ArrivedMessage, value: &Value) {
        let same = message.place == BodyPlace::Beside(self.len)
            && message.words[PLACE_WORDS..PLACE_WORDS + KNOWN_WORDS] == self.head
            && (message.header.parts(), message.header.body_len()) == (1, self.body_len);
        if let (true, Value::Array(array)) = (same, value) {
            self.kind = array.kind();
        }
    }
}

/// A message that has arrived.
pub struct ArrivedMessage {
    pub header: HeaderWords,
    pub(crate) place: BodyPlace,
    pub(crate) words: [u64; BODY_WORDS],
    pub(crate) bytes: Bytes,
}

impl ArrivedMessage {
    pub(crate) fn empty() -> Box<ArrivedMessage> {
        let (header, place) = (HeaderWords::default(), BodyPlace::Nowhere);
        Box::new(ArrivedMessage { header, place, words: [0; BODY_WORDS], bytes: Bytes::new() })
    }

    /// Returns true if the body takes memory of a slab.
    #[inline]
    pub(crate) fn in_slab(&self) -> bool {
        matches!(self.place, BodyPlace::Beside(_) | BodyPlace::Whole)
    }

    /// Returns the body in the format of files and sockets: its first bytes, a number of zeros, and its last
    /// bytes.
    pub fn body(&self) -> (&[u8], usize, &[u8]) {
        let len = self.header.body_len() as usize;
        match self.place {
            BodyPlace::Nowhere => (&[], 0, &[]),
            BodyPlace::Inline => (&bytemuck::cast_slice(&self.words)[..len], 0, &[]),
            BodyPlace::Beside(head) => {
                let raw: &[u8] = bytemuck::cast_slice(&self.words[PLACE_WORDS..]);
                (&raw[..head], len.saturating_sub(head + self.bytes.len()), &self.bytes)
            }
            BodyPlace::Whole | BodyPlace::Restored => (&[], 0, &self.bytes),
        }
    }

    /// Takes the value out of the message and stores it in `to`. Arrays in the value are views of the memory
    /// where the message lies.
    ///
    /// # Errors
    /// `Malformed` if the body does not follow the format.
    pub fn take_value_to(&mut self, to: &mut Value) -> Result<(), ShmError> {
        let parts = self.header.parts();
        match self.place {
            BodyPlace::Nowhere => {
                *to = Value::None;
                Ok(())
            }
            BodyPlace::Beside(head) => {
                let raw: &[u8] = bytemuck::cast_slice(&self.words[PLACE_WORDS..]);
                decode(parts, self.header.body_len(), &raw[..head], std::mem::take(&mut self.bytes), to)
            }
            BodyPlace::Inline => {
                let body: &[u8] = bytemuck::cast_slice(&self.words);
                let body = &body[..self.header.body_len() as usize];
                whole(parts, body, Bytes::copy_from_slice, to)
            }
            // A message without a value has no body.
            BodyPlace::Restored if self.bytes.is_empty() => {
                *to = Value::None;
                Ok(())
            }
            BodyPlace::Whole | BodyPlace::Restored => {
                let bytes = std::mem::take(&mut self.bytes);
                whole(parts, &bytes, |parts| bytes.slice_ref(parts), to)
            }
        }
    }

    /// Takes the value out of the message and returns it. Otherwise like `take_value_to`.
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

/// Decodes a whole body. The preamble is copied before it is parsed, because a sender could still write to
/// its memory.
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
