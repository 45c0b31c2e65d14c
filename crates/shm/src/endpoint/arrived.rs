//! A message on its way from the ring to the code: its header, and its body wherever it lies.

use crate::memory::ShmError;
use crate::ring::BODY_WORDS;
use bytes::Bytes;
use ligament_wire::{align_part, decode, decode_body, head_len, Header, Limits, Value};

/// Bytes before the head in a slot whose body is placed: slab, block, offset, head length.
pub(crate) const PLACE_WORDS: usize = 3;
/// The longest head that stands beside its place in the slot.
pub(crate) const INLINE_HEAD: usize = (BODY_WORDS - PLACE_WORDS) * 8;

/// Where the body of a message is.
pub enum Body {
    /// No body: the value is none.
    Empty,
    /// The whole body, copied out of the ring.
    Inline([u64; BODY_WORDS]),
    /// The head copied out of the ring, the parts in place.
    Placed { head: [u64; BODY_WORDS - PLACE_WORDS], head_len: usize, parts: Bytes },
    /// The whole body in one piece.
    Whole(Bytes),
}

/// A message that has arrived.
pub struct Arrived {
    pub header: Header,
    pub body: Body,
}

/// An inline body with parts, moved to where views of it can live.
#[repr(C, align(64))]
struct InlineOwner([u64; BODY_WORDS], usize);

impl AsRef<[u8]> for InlineOwner {
    fn as_ref(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.0)[..self.1]
    }
}

impl Arrived {
    /// The value; arrays are views of where the message lies.
    ///
    /// # Errors
    /// `Malformed` when the body is not what the format says.
    #[inline]
    pub fn into_value(self) -> Result<Value, ShmError> {
        let limits = Limits::default();
        let Header { parts, body_len, .. } = self.header;
        let value = match self.body {
            Body::Empty => return Ok(Value::None),
            Body::Inline(words) => {
                let len = body_len as usize;
                if parts == 0 {
                    decode(0, body_len, &bytemuck::cast_slice(&words)[..len], &Bytes::new(), &limits)
                } else {
                    decode_body(parts, Bytes::from_owner(InlineOwner(words, len)), &limits)
                }
            }
            Body::Placed { head, head_len, parts: data } => {
                decode(parts, body_len, &bytemuck::cast_slice(&head)[..head_len], &data, &limits)
            }
            Body::Whole(body) => {
                // The head is copied before it is parsed: the sender could still write where it lies.
                let head = head_len(parts, &body).map_err(|error| ShmError::Malformed(error.to_string()))?;
                let Some(head) = body.get(..head as usize).map(<[u8]>::to_vec) else {
                    return Err(ShmError::Malformed(format!("a head of {head} in {} bytes", body.len())));
                };
                let first = (align_part(head.len() as u64) as usize).min(body.len());
                decode(parts, body_len, &head, &body.slice(first..), &limits)
            }
        };
        value.map_err(|error| ShmError::Malformed(error.to_string()))
    }
}
