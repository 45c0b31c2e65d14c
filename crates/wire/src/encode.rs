//! Planning and writing the body of a message. The encoder builds the preamble in a buffer that it uses again
//! for the next message. The parts are copied once: from the sender's memory to their places in the body.

use ligament_catalogue::said;
use std::ops::Range;

use crate::borrow::{ArrayRef, ValueRef};
use crate::error::WireError;
use crate::gather;
use crate::layout::{align_part, table_len, Cursor};
use crate::parts::{array_source, PartList, PlannedPart, Source};
use crate::tree::{write_array, Cbor, Description, TreeWriter};
use crate::value::{ArrayMeta, ArrayOrder, DType, Value, MAX_DIMS};
use crate::TAG_ARRAY;

/// Plans bodies. If a caller uses one encoder again and again, a message with at most one part allocates no
/// memory.
#[derive(Default, Debug)]
pub struct Encoder {
    head: Vec<u8>,
    tree: Vec<u8>,
}

/// The plan of a body: the bytes of the preamble, and the place of each part.
#[derive(Debug)]
pub struct EncodingPlan<'e, 'a> {
    head: &'e [u8],
    parts: PartList<'a>,
    body_len: u64,
}

impl Encoder {
    /// Makes an encoder with empty buffers.
    pub fn new() -> Encoder {
        Encoder::default()
    }

    /// Plans the body of `value`. Errors: more than 64 lists and maps inside each other, more than 65,535
    /// parts, an array whose shape, strides and bytes do not fit together, a body of 2⁵⁶ bytes or more.
    pub fn plan<'a>(&mut self, value: &ValueRef<'a>) -> Result<EncodingPlan<'_, 'a>, WireError> {
        match value {
            ValueRef::Array(array) => self.plan_array(array),
            ValueRef::None | ValueRef::Owned(Value::None) => {
                Ok(EncodingPlan { head: &[], parts: PartList::None, body_len: 0 })
            }
            ValueRef::Owned(Value::Array(array)) => self.plan_array(&ArrayRef::from(array)),
            _ => self.plan_tree(value),
        }
    }

    /// Plans a body that is one array.
    pub fn plan_array<'a>(&mut self, array: &ArrayRef<'a>) -> Result<EncodingPlan<'_, 'a>, WireError> {
        if !array.names.is_empty() || array.unit.is_some() {
            return self.plan_tree(&ValueRef::Array(*array));
        }
        let (nbytes, source) = array_source(array)?;
        self.head.clear();
        let body_len = plain_array_head(array.dtype, array.shape, array.order, nbytes, &mut self.head)?;
        let offset = align_part(self.head.len() as u64);
        Ok(EncodingPlan {
            head: &self.head,
            parts: PartList::One(PlannedPart { offset, len: nbytes, source }),
            body_len,
        })
    }

    /// Plans the body of any value by the general way, with a CBOR encoder.
    pub(crate) fn plan_tree<'a>(&mut self, value: &ValueRef<'a>) -> Result<EncodingPlan<'_, 'a>, WireError> {
        self.tree.clear();
        let mut writer = TreeWriter { tree: Cbor::new(&mut self.tree), parts: PartList::None };
        writer.value(value, 0)?;
        let mut parts = writer.parts;

        let list = parts.as_mut_slice();
        self.head.clear();
        self.head.extend_from_slice(&(self.tree.len() as u64).to_le_bytes());
        let mut cursor = Cursor((table_len(list.len() as u16) + self.tree.len()) as u64);
        for part in list {
            self.head.extend_from_slice(&part.len.to_le_bytes());
            part.offset = cursor.place(part.len)?;
        }
        self.head.extend_from_slice(&self.tree);
        Ok(EncodingPlan { head: &self.head, parts, body_len: cursor.0 })
    }
}

/// Writes the preamble of a body that is one array to `out`, which is emptied first. The caller puts the
/// elements in place itself: contiguous in `order`, or with `meta.strides` and element 0 at the start of the
/// part. Returns the length of the body: the preamble, padding to the next multiple of 64, and the part.
/// Errors: as [`Encoder::plan`]; strides that reach before element 0, or by which two elements have the same
/// place.
pub fn array_head(
    dtype: DType,
    shape: &[u64],
    order: ArrayOrder,
    meta: Option<&ArrayMeta>,
    out: &mut Vec<u8>,
) -> Result<u64, WireError> {
    out.clear();
    let nbytes = gather::contiguous_bytes(dtype, shape)?;
    let Some(meta) = meta else {
        return plain_array_head(dtype, shape, order, nbytes, out);
    };
    gather::check_names(&meta.names, shape.len())?;
    let len = match &meta.strides {
        None => nbytes,
        Some(strides) => {
            let (low, high) = gather::span(dtype, shape, strides)?;
            if low < 0 || high < i128::from(nbytes) {
                return Err(WireError::array(said!(
                    UNFIT_ARRAY,
                    "byte strides {strides:?} of an array in place let elements lie before element 0 or over \
                     each other; use strides that do not"
                )));
            }
            u64::try_from(high).unwrap_or(u64::MAX)
        }
    };
    out.extend_from_slice(&[0; 8]);
    out.extend_from_slice(&len.to_le_bytes());
    let description = Description {
        dtype,
        shape,
        order,
        names: &meta.names,
        unit: meta.unit.as_deref(),
        strides: meta.strides.as_deref(),
    };
    write_array(&mut Cbor::new(out), 0, &description);
    let tree = (out.len() - 16) as u64;
    out[..8].copy_from_slice(&tree.to_le_bytes());
    let mut cursor = Cursor(out.len() as u64);
    cursor.place(len)?;
    Ok(cursor.0)
}

/// Appends the preamble of a body that is one contiguous array. The caller has checked the shape. The bytes
/// are the same as those of `plan_tree`, but are made without a CBOR encoder; a test compares the two.
#[inline]
fn plain_array_head(
    dtype: DType,
    shape: &[u64],
    order: ArrayOrder,
    nbytes: u64,
    out: &mut Vec<u8>,
) -> Result<u64, WireError> {
    const TABLE: usize = 16;
    let mut head = [0u8; TABLE + 8 + 9 * MAX_DIMS];
    head[TABLE..TABLE + 4].copy_from_slice(&[0xd9, (TAG_ARRAY >> 8) as u8, TAG_ARRAY as u8, 0x84]);
    head[TABLE + 4] = dtype as u8;
    head[TABLE + 5] = 0;
    head[TABLE + 6] = order as u8;
    head[TABLE + 7] = 0x80 | shape.len() as u8;
    let mut end = TABLE + 8;
    for &extent in shape {
        end += put_uint(&mut head[end..end + 9], extent);
    }
    head[..8].copy_from_slice(&((end - TABLE) as u64).to_le_bytes());
    head[8..16].copy_from_slice(&nbytes.to_le_bytes());
    out.extend_from_slice(&head[..end]);
    let mut cursor = Cursor(end as u64);
    cursor.place(nbytes)?;
    Ok(cursor.0)
}

/// Writes a CBOR unsigned integer in its shortest form. Returns its length in bytes.
#[inline]
fn put_uint(place: &mut [u8], value: u64) -> usize {
    if value < 24 {
        place[0] = value as u8;
        1
    } else if value <= u64::from(u8::MAX) {
        place[0] = 0x18;
        place[1] = value as u8;
        2
    } else if value <= u64::from(u16::MAX) {
        place[0] = 0x19;
        place[1..3].copy_from_slice(&(value as u16).to_be_bytes());
        3
    } else if value <= u64::from(u32::MAX) {
        place[0] = 0x1a;
        place[1..5].copy_from_slice(&(value as u32).to_be_bytes());
        5
    } else {
        place[0] = 0x1b;
        place[1..9].copy_from_slice(&value.to_be_bytes());
        9
    }
}

impl<'a> EncodingPlan<'_, 'a> {
    /// Returns the lengths table and the tree. Both are empty for a message that is its header alone.
    #[inline]
    pub fn head(&self) -> &[u8] {
        self.head
    }

    /// Returns the length of the whole body, in bytes.
    #[inline]
    pub fn body_len(&self) -> u64 {
        self.body_len
    }

    /// Returns the number of parts.
    #[inline]
    pub fn parts(&self) -> u16 {
        self.parts.as_slice().len() as u16
    }

    /// Returns the offset of part 0 in the body, a multiple of 64. Without parts, this is the length of the
    /// body.
    #[inline]
    pub fn first_part_offset(&self) -> u64 {
        self.parts.as_slice().first().map_or(self.body_len, |part| part.offset)
    }

    /// Returns the number of bytes from the first part to the end of the body, which is 0 without parts.
    #[inline]
    pub fn parts_len(&self) -> u64 {
        self.body_len - self.first_part_offset()
    }

    /// Returns the offset of a part in the body, and the length of the part.
    ///
    /// # Panics
    /// If there is no such part.
    pub fn part_span(&self, part: u16) -> (u64, u64) {
        let part = &self.parts.as_slice()[usize::from(part)];
        (part.offset, part.len)
    }

    /// Returns the sender's own bytes of a part if they are contiguous, for a caller that copies them itself.
    ///
    /// # Panics
    /// If there is no such part.
    pub fn part_bytes(&self, part: u16) -> Option<&'a [u8]> {
        match &self.parts.as_slice()[usize::from(part)].source {
            Source::Contiguous(bytes) => Some(bytes),
            Source::Strided(_) => None,
        }
    }

    /// Writes all parts to `dst`. Byte 0 of `dst` is the byte [`EncodingPlan::first_part_offset`] of the
    /// body. The padding between parts is set to zero.
    ///
    /// # Panics
    /// If `dst` is shorter than [`EncodingPlan::parts_len`].
    pub fn write_parts(&self, dst: &mut [u8]) {
        let start = self.first_part_offset();
        let mut written = 0;
        for part in self.parts.as_slice() {
            let begin = (part.offset - start) as usize;
            let end = begin + part.len as usize;
            dst[written..begin].fill(0);
            part.copy(0, &mut dst[begin..end]);
            written = end;
        }
    }

    /// Writes the whole body.
    ///
    /// # Panics
    /// If `dst` is shorter than [`EncodingPlan::body_len`].
    pub fn write_body(&self, dst: &mut [u8]) {
        let head = self.head.len();
        dst[..head].copy_from_slice(self.head);
        let start = self.first_part_offset() as usize;
        dst[head..start].fill(0);
        self.write_parts(&mut dst[start..]);
    }

    /// Writes the bytes of the body that lie in `range` to `dst`, which is as long as the range. This is for
    /// messages that are sent in pieces. Each call searches once in the list of parts.
    ///
    /// # Panics
    /// If the range leaves the body, or `dst` has another length.
    pub fn copy_range(&self, range: Range<u64>, dst: &mut [u8]) {
        assert!(range.end <= self.body_len && range.end.checked_sub(range.start) == Some(dst.len() as u64));
        let mut at = range.start;
        let mut rest = dst;
        let head = self.head.len() as u64;
        if at < head && !rest.is_empty() {
            let now = take(&mut rest, head - at);
            now.copy_from_slice(&self.head[at as usize..at as usize + now.len()]);
            at += now.len() as u64;
        }
        let parts = self.parts.as_slice();
        let first = parts.partition_point(|part| part.offset + part.len <= at);
        for part in &parts[first..] {
            if rest.is_empty() {
                return;
            }
            if at < part.offset {
                let padding = take(&mut rest, part.offset - at);
                padding.fill(0);
                at += padding.len() as u64;
            }
            if at >= part.offset {
                let now = take(&mut rest, part.offset + part.len - at);
                part.copy(at - part.offset, now);
                at += now.len() as u64;
            }
        }
    }
}

/// Splits off the first `len` bytes of `rest`, or all of them if there are fewer.
fn take<'d>(rest: &mut &'d mut [u8], len: u64) -> &'d mut [u8] {
    let all = std::mem::take(rest);
    let len = usize::try_from(len).unwrap_or(usize::MAX).min(all.len());
    let (now, later) = all.split_at_mut(len);
    *rest = later;
    now
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_a_plain_array_is_the_same_from_the_fast_and_the_general_way() {
        let extents = [0, 1, 23, 24, 255, 256, 65_535, 65_536, (1 << 32) - 1, 1 << 32, (1 << 48) - 1];
        let mut shapes: Vec<Vec<u64>> = extents.iter().map(|&extent| vec![extent, 0, extent]).collect();
        shapes.extend((0..=MAX_DIMS).map(|ndim| vec![2; ndim]));
        shapes.extend([vec![24], vec![300], vec![70_000]]);
        let data = vec![7; 70_000 * 16];
        let (mut fast, mut general) = (Encoder::new(), Encoder::new());
        for shape in &shapes {
            for dtype in DType::ALL {
                for order in [ArrayOrder::RowMajor, ArrayOrder::ColumnMajor] {
                    let array = ArrayRef {
                        dtype,
                        shape,
                        strides: None,
                        order,
                        data: &data,
                        offset: 0,
                        names: &[],
                        unit: None,
                    };
                    let quick = fast.plan_array(&array).unwrap();
                    let slow = general.plan_tree(&ValueRef::Array(array)).unwrap();
                    assert_eq!(quick.head(), slow.head(), "{shape:?}");
                    assert_eq!(quick.body_len(), slow.body_len());
                    assert_eq!(quick.part_span(0), slow.part_span(0));
                    let mut alone = Vec::new();
                    assert_eq!(array_head(dtype, shape, order, None, &mut alone).unwrap(), quick.body_len());
                    assert_eq!(alone, quick.head());
                }
            }
        }
    }
}
