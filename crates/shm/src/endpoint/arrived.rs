//! A message on its way from the ring to the code: its header, and its body wherever it lies. These are kept in
//! boxes that are used again, since moving a struct of this size costs more than the rest of the way.

use crate::memory::ShmError;
use crate::ring::BODY_WORDS;
use bytes::Bytes;
use ligament_wire::{align_part, decode, head_len, Header, Limits, Value, WireError};

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

/// A message that has arrived.
pub struct Arrived {
    pub header: Header,
    pub(crate) place: Place,
    pub(crate) words: [u64; BODY_WORDS],
    pub(crate) bytes: Bytes,
}

impl Arrived {
    pub(crate) fn empty() -> Box<Arrived> {
        let (header, place) = (Header::default(), Place::Nowhere);
        Box::new(Arrived { header, place, words: [0; BODY_WORDS], bytes: Bytes::new() })
    }

    /// Whether the body took memory of a slab.
    #[inline]
    pub(crate) fn in_slab(&self) -> bool {
        matches!(self.place, Place::Beside(_) | Place::Whole)
    }

    /// Takes the value out; arrays in it are views of where the message lies.
    ///
    /// # Errors
    /// `Malformed` when the body is not what the format says.
    #[inline]
    pub fn take_value(&mut self) -> Result<Value, ShmError> {
        let bytes = std::mem::take(&mut self.bytes);
        let Header { parts, body_len, .. } = self.header;
        match self.place {
            Place::Nowhere => Ok(Value::None),
            Place::Beside(head) => {
                let words: &[u8] = bytemuck::cast_slice(&self.words[PLACE_WORDS..]);
                value(decode(parts, body_len, &words[..head], bytes, &Limits::default()))
            }
            Place::Inline => {
                let body: &[u8] = bytemuck::cast_slice(&self.words);
                whole(parts, &body[..body_len as usize], |parts| Bytes::copy_from_slice(parts))
            }
            Place::Whole => whole(parts, &bytes, |parts| bytes.slice_ref(parts)),
        }
    }
}

#[inline]
fn value(decoded: Result<Value, WireError>) -> Result<Value, ShmError> {
    decoded.map_err(|error| ShmError::Malformed(error.to_string()))
}

/// The value of a whole body. The head is copied before it is parsed: a sender could still write where it lies.
fn whole(parts: u16, body: &[u8], share: impl FnOnce(&[u8]) -> Bytes) -> Result<Value, ShmError> {
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
    value(decode(parts, body.len() as u64, head, shared, &Limits::default()))
}
