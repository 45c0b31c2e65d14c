//! Planes with one bit for each point, and their bytes in a surface: the changes from plane to plane.
//!
//! A plane has a byte that says which of its bits change: `SIGNS`, `NANS` or both. The changes are a bit for
//! each row, and, for each row that changes, a bit for each of its bytes, and the exclusive or of each byte
//! that changes. Bit `i` of a row is bit `i % 8` of byte `i / 8`. A plane through which no surface goes is one
//! byte.

use crate::SurfaceError;

/// The signs of a plane change.
pub(crate) const SIGNS: u8 = 1;
/// The points of a plane that are NaN change.
pub(crate) const NANS: u8 = 2;

/// One bit for each point of a plane. Each row begins with a new word. Bits beyond a row's points are 0.
#[derive(Clone, Debug, Default)]
pub(crate) struct BitPlane {
    words: Vec<u64>,
    row_points: usize,
    row_words: usize,
}

impl BitPlane {
    /// Sets the size of the plane, and all bits to `bit`.
    pub(crate) fn reset(&mut self, row_points: usize, rows: usize, bit: bool) {
        (self.row_points, self.row_words) = (row_points, row_points.div_ceil(64));
        self.words.clear();
        self.words.resize(self.row_words * rows, if bit { u64::MAX } else { 0 });
        let last = self.last_word();
        for row in self.words.chunks_exact_mut(self.row_words) {
            row[self.row_words - 1] &= last;
        }
    }

    /// The bits of a row's last word that belong to points.
    fn last_word(&self) -> u64 {
        u64::MAX >> (self.row_words * 64 - self.row_points)
    }

    pub(crate) fn row(&self, row: usize) -> &[u64] {
        &self.words[row * self.row_words..][..self.row_words]
    }

    pub(crate) fn row_mut(&mut self, row: usize) -> &mut [u64] {
        &mut self.words[row * self.row_words..][..self.row_words]
    }

    /// Copies a plane of the same size.
    pub(crate) fn copy_from(&mut self, other: &BitPlane) {
        self.words.copy_from_slice(&other.words);
    }

    /// The number of bits that are 1.
    pub(crate) fn count(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    pub(crate) fn rows(&self) -> usize {
        self.words.len() / self.row_words
    }

    fn row_bytes(&self) -> usize {
        self.row_points.div_ceil(8)
    }

    /// Writes the changes from `before` to this plane. If there are none, writes nothing and returns false.
    pub(crate) fn write_changes(&self, before: &BitPlane, bytes: &mut Vec<u8>) -> bool {
        if self.words == before.words {
            return false;
        }
        let map = bytes.len();
        bytes.resize(map + self.rows().div_ceil(8), 0);
        for row in 0..self.rows() {
            let (new, old) = (self.row(row), before.row(row));
            if new != old {
                bytes[map + row / 8] |= 1 << (row % 8);
                self.write_row(new, old, bytes);
            }
        }
        true
    }

    fn write_row(&self, new: &[u64], old: &[u64], bytes: &mut Vec<u8>) {
        let mask = bytes.len();
        bytes.resize(mask + self.row_bytes().div_ceil(8), 0);
        for (word, (new, old)) in new.iter().zip(old).enumerate() {
            let mut change = new ^ old;
            while change != 0 {
                let byte = change.trailing_zeros() / 8;
                bytes[mask + word] |= 1 << byte;
                bytes.push((change >> (8 * byte)) as u8);
                change &= !(0xff << (8 * byte));
            }
        }
    }

    /// Applies changes that `write_changes` has written, and removes them from the front of `bytes`.
    pub(crate) fn read_changes(&mut self, bytes: &mut &[u8]) -> Result<(), SurfaceError> {
        let (rows, row_bytes, last) = (self.rows(), self.row_bytes(), self.last_word());
        let map = take(bytes, rows.div_ceil(8))?;
        for row in set_bits(map, rows)? {
            let mask = take(bytes, row_bytes.div_ceil(8))?;
            let words = self.row_mut(row);
            for byte in set_bits(mask, row_bytes)? {
                words[byte / 8] ^= u64::from(take(bytes, 1)?[0]) << (8 * (byte % 8));
            }
            if words[words.len() - 1] & !last != 0 {
                return Err(SurfaceError::Malformed { reason: "a row has signs beyond its points" });
            }
        }
        Ok(())
    }
}

/// Returns the bits of the points just behind those in a word of a row.
pub(crate) fn next(row: &[u64], word: usize) -> u64 {
    row[word] >> 1 | row.get(word + 1).map_or(0, |next| next << 63)
}

/// Removes the first `count` bytes.
pub(crate) fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Result<&'a [u8], SurfaceError> {
    let (first, rest) =
        bytes.split_at_checked(count).ok_or(SurfaceError::Malformed { reason: "they end within the signs" })?;
    *bytes = rest;
    Ok(first)
}

/// Returns the numbers of the bits that are set. They must be below `limit`.
fn set_bits(bytes: &[u8], limit: usize) -> Result<impl Iterator<Item = usize> + '_, SurfaceError> {
    let used = limit % 8;
    if used != 0 && bytes.last().is_some_and(|last| last >> used != 0) {
        return Err(SurfaceError::Malformed { reason: "a row or a byte changes that is not there" });
    }
    Ok(bytes
        .iter()
        .enumerate()
        .flat_map(|(at, &byte)| (0..8).filter(move |bit| byte >> bit & 1 == 1).map(move |bit| 8 * at + bit)))
}
