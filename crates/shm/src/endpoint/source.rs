//! Bodies of messages on their way out: the bodies that can be sent, and the body of an entry.

use super::arrived::{INLINE_HEAD, PLACE_WORDS};
use crate::ring::BODY_WORDS;
use crate::slab::{BlockId, BlockPlace};
use ligament_wire::{align_part, EncodingPlan};
use std::ops::Range;

/// The source of a body, while it still is the caller's memory.
pub trait Source {
    /// The lengths table and the tree.
    fn head(&self) -> &[u8];
    /// A number that stands for this head, its count of parts and the body's length, for as long as the
    /// endpoint lives; 0 for heads that do not come again. Messages whose head comes again are shorter.
    fn number(&self) -> u64 {
        0
    }
    /// The number of parts that follow.
    fn parts(&self) -> u16;
    /// Bytes of the whole body.
    fn body_len(&self) -> u64;
    /// Bytes from the first part to the end.
    fn parts_len(&self) -> u64;
    /// The bytes, if they are one array's elements, which lie together.
    fn elements(&self) -> Option<&[u8]> {
        None
    }
    /// Writes those; `to` is as long.
    fn write_parts(&self, to: &mut [u8]);
    /// Writes the whole body; `to` is as long.
    fn write_body(&self, to: &mut [u8]);
    /// Writes a piece of the body; `to` is as long.
    fn copy_range(&self, range: Range<u64>, to: &mut [u8]);
    /// The body, if it is one array's whose head has a number.
    #[inline]
    fn as_before(&self) -> Option<AsBefore<'_>> {
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

/// No body: the value is none.
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

/// One array whose elements lie together and whose head came before: all that an ordinary message needs of its
/// body.
pub struct AsBefore<'a> {
    /// The head's number, which is not 0: see `Source::number`.
    pub number: u64,
    /// Bytes of the whole body.
    pub body_len: u64,
    /// The elements.
    pub data: &'a [u8],
}

/// The commonest body: one array whose elements lie together.
pub struct Contiguous<'a> {
    /// As `ligament_wire::array_head` makes it.
    pub head: &'a [u8],
    /// The head's number: see `Source::number`.
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

/// The body of the entry that is being sent: kept, since clearing it would cost as much as filling it.
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
        if head.len() <= INLINE_HEAD {
            let inline: &mut [u8] = bytemuck::cast_slice_mut(&mut self.words[PLACE_WORDS..]);
            inline[..head.len()].copy_from_slice(head);
            self.used += head.len().div_ceil(8);
        }
    }
}
