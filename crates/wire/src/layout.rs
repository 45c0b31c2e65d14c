//! The places of the preamble and of each part in a body: the lengths table and the alignment of parts.

use crate::error::WireError;

/// Parts start at multiples of this many bytes from the start of the body.
pub const PART_ALIGNMENT_BYTES: u64 = 64;
/// Bodies are shorter than this.
pub const MAX_BODY: u64 = 1 << 56;

/// The next multiple of [`PART_ALIGNMENT_BYTES`]; `offset` is at most 2⁵⁶.
#[inline]
pub fn align_part(offset: u64) -> u64 {
    (offset + (PART_ALIGNMENT_BYTES - 1)) & !(PART_ALIGNMENT_BYTES - 1)
}

/// Bytes of the lengths table of a body with this many parts.
#[inline]
pub(crate) fn table_len(parts: u16) -> usize {
    8 * (1 + usize::from(parts))
}

#[inline]
fn entry(table: &[u8], index: usize) -> Option<u64> {
    let bytes = table.get(8 * index..8 * index + 8)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

/// How long the head (table and tree) of a body is, from the body's first 8 bytes or more. A body of no bytes
/// has no head: ask only if the header's body length is not 0.
#[inline]
pub fn head_len(parts: u16, body_start: &[u8]) -> Result<u64, WireError> {
    let tree = entry(body_start, 0).ok_or_else(|| {
        WireError::layout(format!(
            "the lengths table is cut short: {} bytes where 8 are needed",
            body_start.len()
        ))
    })?;
    if tree >= MAX_BODY {
        return Err(WireError::layout(format!(
            "the lengths table gives the tree {tree} bytes, which cannot be"
        )));
    }
    Ok(tree + table_len(parts) as u64)
}

/// Puts one length after another and says where each part begins.
#[derive(Clone, Copy)]
pub(crate) struct Cursor(pub u64);

impl Cursor {
    /// Places a part of `len` bytes; gives its offset in the body.
    #[inline]
    pub fn place(&mut self, len: u64) -> Result<u64, WireError> {
        let start = align_part(self.0);
        let end = start.checked_add(len).filter(|end| *end < MAX_BODY);
        self.0 = end.ok_or(WireError::TooLong {
            what: "a body",
            found: start.saturating_add(len),
            limit: MAX_BODY - 1,
        })?;
        Ok(start)
    }
}

/// A body whose table has been checked: every part lies within it.
#[derive(Clone, Copy)]
pub(crate) struct CheckedBody<'h> {
    table: &'h [u8],
    /// The tree's bytes.
    pub tree: &'h [u8],
    /// Offset in the body at which part 0 begins (the body's length if there is none).
    pub first_part: u64,
}

impl<'h> CheckedBody<'h> {
    /// Checks the table of `head` against the lengths that the header and the carrier gave.
    pub fn check(parts: u16, body_len: u64, head: &'h [u8]) -> Result<CheckedBody<'h>, WireError> {
        let expected = head_len(parts, head)?;
        if head.len() as u64 != expected {
            return Err(WireError::layout(format!(
                "the lengths table gives the head {expected} bytes, but it has {}",
                head.len()
            )));
        }
        let (table, tree) = head.split_at_checked(table_len(parts)).ok_or_else(|| {
            WireError::layout(format!(
                "the lengths table of {parts} parts is cut short at {} bytes",
                head.len()
            ))
        })?;
        let mut cursor = Cursor(expected);
        for part in 0..usize::from(parts) {
            let len = entry(table, part + 1).expect("the table was split off at this length");
            cursor.place(len)?;
        }
        if cursor.0 != body_len {
            return Err(WireError::layout(format!(
                "the lengths table describes {} bytes, but the header says {body_len}",
                cursor.0
            )));
        }
        let first_part = if parts == 0 { body_len } else { align_part(expected) };
        Ok(CheckedBody { table, tree, first_part })
    }

    /// Length in bytes of a part that exists.
    pub fn part_len(&self, part: usize) -> u64 {
        entry(self.table, part + 1).expect("the caller has compared the part's number with their count")
    }

    /// The number of parts.
    pub fn parts(&self) -> usize {
        self.table.len() / 8 - 1
    }
}
