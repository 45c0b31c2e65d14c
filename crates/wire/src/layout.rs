//! The layout of a body: the lengths table, and the place of each part.

use crate::error::WireError;

/// Alignment of a part within the body, in bytes.
pub const PART_ALIGNMENT_BYTES: u64 = 64;
/// The length of a body is less than this, in bytes.
pub const MAX_BODY: u64 = 1 << 56;

/// Returns the next multiple of [`PART_ALIGNMENT_BYTES`]. `offset` is at most 2⁵⁶.
#[inline]
pub fn align_part(offset: u64) -> u64 {
    (offset + (PART_ALIGNMENT_BYTES - 1)) & !(PART_ALIGNMENT_BYTES - 1)
}

/// Returns the length of the lengths table of a body with this number of parts, in bytes.
#[inline]
pub(crate) fn table_len(parts: u16) -> usize {
    8 * (1 + usize::from(parts))
}

#[inline]
fn entry(table: &[u8], index: usize) -> Option<u64> {
    let bytes = table.get(8 * index..8 * index + 8)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

/// Returns the length of a body's preamble (lengths table and tree), in bytes. `body_start` has the first 8
/// bytes of the body or more. A body without bytes has no preamble, so the caller checks first that the
/// header's body length is not 0.
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

/// Computes the offset of each part from the lengths of the parts before it.
#[derive(Clone, Copy)]
pub(crate) struct Cursor(pub u64);

impl Cursor {
    /// Places a part of `len` bytes after the last one. Returns its offset in the body.
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

/// A body whose lengths table has been checked: every part lies within the body.
#[derive(Clone, Copy)]
pub(crate) struct CheckedBody<'h> {
    table: &'h [u8],
    /// The bytes of the tree.
    pub tree: &'h [u8],
    /// Offset of part 0 in the body. Without parts, this is the length of the body.
    pub first_part: u64,
}

impl<'h> CheckedBody<'h> {
    /// Checks the lengths table in `head` against the number of parts and the body's length in the header.
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

    /// Returns the length of a part, in bytes. The part must exist.
    pub fn part_len(&self, part: usize) -> u64 {
        entry(self.table, part + 1).expect("the caller has compared the part's number with their count")
    }

    /// Returns the number of parts.
    pub fn parts(&self) -> usize {
        self.table.len() / 8 - 1
    }
}
