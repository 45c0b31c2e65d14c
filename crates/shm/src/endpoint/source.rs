//! The bodies of messages to be sent: the kinds of bodies, and the body of an entry.

use super::arrived::{INLINE_HEAD_BYTES, PLACE_WORDS};
use crate::ring::BODY_WORDS;
use crate::slab::{BlockId, BlockPlace};
use ligament_wire::{align_part, EncodingPlan};
use std::ops::Range;

/// A body that is still in the caller's memory.
pub trait Source {
    /// Returns the preamble (`head` in the code): the table of lengths and the tree of the value.
    fn head(&self) -> &[u8];
    /// Returns a number that identifies this preamble, its number of parts and the length of the body, as
    /// long as the endpoint lives. Returns 0 for a preamble that will not be used again. A message that
    /// repeats the preamble of the one before is shorter.
    fn number(&self) -> u64 {
        0
    }
    /// Returns the number of parts that follow the preamble.
    fn parts(&self) -> u16;
    /// Returns the length of the whole body, bytes.
    fn body_len(&self) -> u64;
    /// Returns the number of bytes from the first part to the end.
    fn parts_len(&self) -> u64;
    /// Returns the parts if they are the elements of one contiguous array.
    fn elements(&self) -> Option<&[u8]> {
        None
    }
    /// Writes the parts to `to`, which has their length.
    fn write_parts(&self, to: &mut [u8]);
    /// Writes the whole body to `to`, which has its length.
    fn write_body(&self, to: &mut [u8]);
    /// Writes the bytes `range` of the body to `to`, which has their length.
    fn copy_range(&self, range: Range<u64>, to: &mut [u8]);
    /// Returns the body for the short way, if it is one array whose preamble has a number.
    #[inline]
    fn as_before(&self) -> Option<AsBefore<&(impl ElementBytes + ?Sized)>> {
        let data = self.elements().filter(|_| self.number() != 0)?;
        Some(AsBefore { number: self.number(), body_len: self.body_len(), data })
    }
}

impl Source for EncodingPlan<'_, '_> {
    #[inline]
    fn head(&self) -> &[u8] {
        self.head()
    }

    #[inline]
    fn parts(&self) -> u16 {
        self.parts()
    }

    #[inline]
    fn body_len(&self) -> u64 {
        self.body_len()
    }

    #[inline]
    fn parts_len(&self) -> u64 {
        self.parts_len()
    }

    fn write_parts(&self, to: &mut [u8]) {
        self.write_parts(to);
    }

    fn write_body(&self, to: &mut [u8]) {
        self.write_body(to);
    }

    fn copy_range(&self, range: Range<u64>, to: &mut [u8]) {
        self.copy_range(range, to);
    }
}

/// An empty body, for a value that is none.
pub struct EmptySource;

impl Source for EmptySource {
    #[inline]
    fn head(&self) -> &[u8] {
        &[]
    }

    #[inline]
    fn parts(&self) -> u16 {
        0
    }

    #[inline]
    fn body_len(&self) -> u64 {
        0
    }

    #[inline]
    fn parts_len(&self) -> u64 {
        0
    }

    fn write_parts(&self, _: &mut [u8]) {}

    fn write_body(&self, _: &mut [u8]) {}

    fn copy_range(&self, _: Range<u64>, _: &mut [u8]) {}
}

/// The elements of an array that is sent.
#[allow(clippy::len_without_is_empty)]
pub trait ElementBytes {
    /// Returns their length, bytes.
    fn len(&self) -> usize;
    /// Writes them to `memory`, which has their length.
    fn write_to(&self, memory: &mut [u8]);
}

impl ElementBytes for [u8] {
    #[inline(always)]
    fn len(&self) -> usize {
        self.len()
    }

    #[inline(always)]
    fn write_to(&self, memory: &mut [u8]) {
        memory.copy_from_slice(self);
    }
}

/// A body with one contiguous array, whose preamble was sent before: the data that an ordinary message needs.
pub struct AsBefore<D> {
    /// Number of the preamble, not 0: see `Source::number`.
    pub number: u64,
    /// Length of the whole body, bytes.
    pub body_len: u64,
    /// The elements.
    pub data: D,
}

/// The most frequent body: one contiguous array.
pub struct Contiguous<'a> {
    /// The preamble, as `ligament_wire::array_head` makes it.
    pub head: &'a [u8],
    /// Number of the preamble: see `Source::number`.
    pub number: u64,
    /// The elements.
    pub data: &'a [u8],
}

impl Source for Contiguous<'_> {
    #[inline]
    fn head(&self) -> &[u8] {
        self.head
    }

    #[inline]
    fn number(&self) -> u64 {
        self.number
    }

    #[inline]
    fn parts(&self) -> u16 {
        1
    }

    #[inline]
    fn body_len(&self) -> u64 {
        align_part(self.head.len() as u64) + self.data.len() as u64
    }

    #[inline]
    fn parts_len(&self) -> u64 {
        self.data.len() as u64
    }

    #[inline]
    fn elements(&self) -> Option<&[u8]> {
        Some(self.data)
    }

    #[inline]
    fn write_parts(&self, to: &mut [u8]) {
        to.copy_from_slice(self.data);
    }

    #[inline]
    fn write_body(&self, to: &mut [u8]) {
        let first = align_part(self.head.len() as u64) as usize;
        to[..self.head.len()].copy_from_slice(self.head);
        to[self.head.len()..first].fill(0);
        to[first..].copy_from_slice(self.data);
    }

    fn copy_range(&self, range: Range<u64>, to: &mut [u8]) {
        let first = align_part(self.head.len() as u64);
        to.fill(0);
        for (start, piece) in [(0, self.head), (first, self.data)] {
            let from = range.start.max(start);
            let end = range.end.min(start + piece.len() as u64);
            if from < end {
                let piece = &piece[(from - start) as usize..(end - start) as usize];
                to[(from - range.start) as usize..][..piece.len()].copy_from_slice(piece);
            }
        }
    }
}

/// A contiguous array whose elements are written straight into the message's block by `fill`, which may be
/// called more than once.
pub struct Filled<'a, F> {
    /// The preamble, as `ligament_wire::array_head` makes it.
    pub head: &'a [u8],
    /// Number of the preamble: see `Source::number`.
    pub number: u64,
    /// Length of the elements, bytes.
    pub len: usize,
    /// Writes the elements to memory of this length.
    pub fill: F,
}

impl<F: Fn(&mut [u8])> ElementBytes for Filled<'_, F> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    fn write_to(&self, memory: &mut [u8]) {
        (self.fill)(memory);
    }
}

impl<F: Fn(&mut [u8])> Source for Filled<'_, F> {
    fn head(&self) -> &[u8] {
        self.head
    }

    fn number(&self) -> u64 {
        self.number
    }

    fn parts(&self) -> u16 {
        1
    }

    fn body_len(&self) -> u64 {
        align_part(self.head.len() as u64) + self.len as u64
    }

    fn parts_len(&self) -> u64 {
        self.len as u64
    }

    #[inline]
    fn as_before(&self) -> Option<AsBefore<&(impl ElementBytes + ?Sized)>> {
        (self.number != 0).then(|| AsBefore { number: self.number, body_len: self.body_len(), data: self })
    }

    fn write_parts(&self, to: &mut [u8]) {
        (self.fill)(to);
    }

    fn write_body(&self, to: &mut [u8]) {
        let first = align_part(self.head.len() as u64) as usize;
        to[..self.head.len()].copy_from_slice(self.head);
        to[self.head.len()..first].fill(0);
        (self.fill)(&mut to[first..]);
    }

    /// This is for messages that go in pieces because memory is short.
    fn copy_range(&self, range: Range<u64>, to: &mut [u8]) {
        let mut data = vec![0; self.len];
        (self.fill)(&mut data);
        Contiguous { head: self.head, number: self.number, data: &data }.copy_range(range, to);
    }
}

/// The body of the entry that is being sent. The next message uses it again without clearing it, because
/// clearing costs as much as filling.
#[derive(Default)]
pub(super) struct SlotBody {
    pub(super) words: [u64; BODY_WORDS],
    pub(super) used: usize,
}

impl SlotBody {
    #[inline]
    pub(super) fn inline(&mut self, source: &impl Source) {
        let len = source.body_len() as usize;
        if len > 0 {
            source.write_body(&mut bytemuck::cast_slice_mut(&mut self.words)[..len]);
        }
        self.used = len.div_ceil(8);
    }

    #[inline(always)]
    pub(super) fn placed(&mut self, place: &BlockPlace, block: BlockId, head: &[u8]) {
        self.words[0] = u64::from(place.slab) | u64::from(block) << 32;
        self.words[1] = place.offset;
        self.words[2] = head.len() as u64;
        self.used = PLACE_WORDS;
        if head.len() <= INLINE_HEAD_BYTES {
            let inline: &mut [u8] = bytemuck::cast_slice_mut(&mut self.words[PLACE_WORDS..]);
            inline[..head.len()].copy_from_slice(head);
            self.used += head.len().div_ceil(8);
        }
    }
}
