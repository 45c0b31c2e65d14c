//! Reading the body of a message. The body may be wrong, so every length, offset and number is checked, and
//! memory is allocated only for data that is there. Parts are shared with the value and not copied.

use crate::sys::Bytes;
use minicbor::data::Type;
use minicbor::Decoder;

use crate::error::WireError;
use crate::layout::{align_part, head_len, CheckedBody};
use crate::tree::deeper;
use crate::value::{Array, ArrayMeta, ArrayOrder, DType, SettingValue, Value, MAX_DIMS};
use crate::{gather, TAG_ARRAY, TAG_BYTES, TAG_COMPLEX, TAG_SETTINGS};

/// The limits of a reader. They matter because an item of the tree may take one byte in the message, and
/// takes about a hundred bytes as a [`Value`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum length of the preamble, in bytes.
    pub head: u64,
    /// Maximum number of items of the tree: values, settings, and elements of settings.
    pub items: u64,
}

impl Default for Limits {
    /// Returns limits of 1 GiB for the preamble and 2²⁶ items.
    fn default() -> Limits {
        Limits { head: 1 << 30, items: 1 << 26 }
    }
}

/// Maximum number of items for which a list gets memory at first. The length that the message claims does not
/// count.
const FIRST_CAPACITY: usize = 64;

/// Reads a value from its preamble and its parts.
///
/// `parts` and `body_len` are those of the header. `head` is a private copy of the lengths table and the
/// tree, with exactly the length that [`head_len`] returns. `part_bytes` is the body from its first part to
/// its end; the arrays of the value share it. Errors: the body does not follow the format, or is larger than
/// `limits` allow.
pub fn decode(
    parts: u16,
    body_len: u64,
    head: &[u8],
    part_bytes: Bytes,
    limits: &Limits,
) -> Result<Value, WireError> {
    if body_len == 0 {
        return empty_body(parts);
    }
    if head.len() as u64 > limits.head {
        return Err(WireError::TooLong { what: "a head", found: head.len() as u64, limit: limits.head });
    }
    let body = CheckedBody::check(parts, body_len, head)?;
    if part_bytes.len() as u64 != body_len - body.first_part {
        return Err(WireError::layout(format!(
            "{} bytes of parts where the header and the lengths table give {}",
            part_bytes.len(),
            body_len - body.first_part
        )));
    }
    if let Some(array) = plain_array(&body, part_bytes.len() as u64) {
        return Ok(Value::Array(array.over(part_bytes)));
    }
    let mut reader = TreeReader {
        tree: Decoder::new(body.tree),
        parts: spans(&body),
        unread: body.parts(),
        part_bytes: &part_bytes,
        items: limits.items,
        limits,
    };
    let value = reader.value(0)?;
    let end = reader.tree.position();
    if end != body.tree.len() {
        return Err(WireError::tree(end, format!("{} bytes follow the value", body.tree.len() - end)));
    }
    if reader.unread > 0 {
        return Err(WireError::layout(format!("{} of {parts} parts are not used in the tree", reader.unread)));
    }
    Ok(value)
}

/// Does the same as [`decode`], but writes the value to `to`, so that no array has to be moved.
#[inline]
pub fn decode_array_to(
    parts: u16,
    body_len: u64,
    head: &[u8],
    part_bytes: Bytes,
    limits: &Limits,
    to: &mut Value,
) -> Result<(), WireError> {
    if let Ok(body) = CheckedBody::check(parts, body_len, head) {
        if part_bytes.len() as u64 == body_len - body.first_part {
            if let Some(array) = plain_array(&body, part_bytes.len() as u64) {
                *to = Value::Array(array.over(part_bytes));
                return Ok(());
            }
        }
    }
    *to = decode(parts, body_len, head, part_bytes, limits)?;
    Ok(())
}

/// Reads a value from a whole body in one buffer. The arrays of the value share the buffer. No other process
/// may be able to write to the buffer, because the tree is read in place. Errors: as [`decode`].
pub fn decode_body(parts: u16, body: Bytes, limits: &Limits) -> Result<Value, WireError> {
    let body_len = body.len() as u64;
    if body_len == 0 {
        return empty_body(parts);
    }
    let head = head_len(parts, &body)?;
    if head > body_len {
        return Err(WireError::layout(format!("the head would take {head} bytes of {body_len}")));
    }
    let first_part = if parts == 0 { body_len } else { align_part(head) };
    if first_part > body_len {
        return Err(WireError::layout(format!(
            "the first part would begin at byte {first_part} of {body_len}"
        )));
    }
    decode(parts, body_len, &body[..head as usize], body.slice(first_part as usize..), limits)
}

fn empty_body(parts: u16) -> Result<Value, WireError> {
    if parts > 0 {
        return Err(WireError::layout(format!("no bytes, but the header gives it {parts} parts")));
    }
    Ok(Value::None)
}

/// The properties of an array that is the whole body. The array does not have its bytes yet.
struct Plain {
    dtype: DType,
    ndim: u8,
    order: ArrayOrder,
    shape: [u64; MAX_DIMS],
}

impl Plain {
    #[inline]
    fn over(self, data: Bytes) -> Array {
        Array::from_checked(self.dtype, self.ndim, self.shape, self.order, data)
    }
}

/// Reads a body by the fast path. The tree must be one array without names, unit and strides, in the form
/// that our encoder writes, and the array's part must be the only part. Returns `None` for every other body,
/// also for a wrong body. The general function then reads this body.
#[inline]
fn plain_array(body: &CheckedBody<'_>, part_len: u64) -> Option<Plain> {
    if body.parts() != 1 {
        return None;
    }
    let (fixed, mut rest) = body.tree.split_at_checked(8)?;
    if fixed[..4] != [0xd9, (TAG_ARRAY >> 8) as u8, TAG_ARRAY as u8, 0x84] || fixed[5] != 0 {
        return None;
    }
    let dtype = DType::from_u8(fixed[4])?;
    let order = order_of(u64::from(fixed[6]))?;
    let ndim = fixed[7].wrapping_sub(0x80);
    let mut shape = [0; MAX_DIMS];
    for extent in shape.get_mut(..usize::from(ndim))? {
        (*extent, rest) = shortest_uint(rest)?;
    }
    let exact = gather::contiguous_bytes(dtype, &shape[..usize::from(ndim)]).ok() == Some(part_len);
    (rest.is_empty() && exact).then_some(Plain { dtype, ndim, order, shape })
}

#[inline]
fn shortest_uint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (&first, rest) = bytes.split_first()?;
    let len = match first {
        0..=0x17 => return Some((u64::from(first), rest)),
        0x18 => 1,
        0x19 => 2,
        0x1a => 4,
        0x1b => 8,
        _ => return None,
    };
    let (number, rest) = rest.split_at_checked(len)?;
    Some((number.iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte)), rest))
}

fn order_of(code: u64) -> Option<ArrayOrder> {
    match code {
        0 => Some(ArrayOrder::RowMajor),
        1 => Some(ArrayOrder::ColumnMajor),
        _ => None,
    }
}

/// Begin and end of each part within the bytes of all parts. `None` for a part that an array has taken.
type Spans = Vec<Option<(usize, usize)>>;

fn spans(body: &CheckedBody<'_>) -> Spans {
    let mut at = 0;
    (0..body.parts())
        .map(|part| {
            let start = align_part(at);
            at = start + body.part_len(part);
            Some((start as usize, at as usize))
        })
        .collect()
}

struct TreeReader<'b> {
    tree: Decoder<'b>,
    parts: Spans,
    unread: usize,
    part_bytes: &'b Bytes,
    /// Number of further items that the tree may have.
    items: u64,
    limits: &'b Limits,
}

impl<'b> TreeReader<'b> {
    fn wrong(&self, what: impl Into<String>) -> WireError {
        WireError::tree(self.tree.position(), what)
    }

    /// Reads an item. An error of the CBOR decoder names the byte at which the item began.
    fn read<T>(
        &mut self,
        wanted: &str,
        read: impl FnOnce(&mut Decoder<'b>) -> Result<T, minicbor::decode::Error>,
    ) -> Result<T, WireError> {
        let start = self.tree.position();
        read(&mut self.tree).map_err(|error| WireError::tree(start, format!("{wanted} expected: {error}")))
    }

    fn item(&mut self) -> Result<(), WireError> {
        self.items = self.items.checked_sub(1).ok_or(WireError::TooManyItems { limit: self.limits.items })?;
        Ok(())
    }

    fn remaining(&self) -> usize {
        self.tree.input().len().saturating_sub(self.tree.position())
    }

    /// Returns the length of a list or map that has begun. Fails if the length is not definite, or if the
    /// rest of the tree is too short for so many items.
    fn claimed(&self, start: usize, len: Option<u64>, least_bytes: u64) -> Result<usize, WireError> {
        let len = len.ok_or_else(|| WireError::tree(start, "a list or map of indefinite length"))?;
        if len.checked_mul(least_bytes).is_none_or(|bytes| bytes > self.remaining() as u64) {
            return Err(WireError::tree(
                start,
                format!("a list or map of {len} items, but {} bytes remain", self.remaining()),
            ));
        }
        Ok(len as usize)
    }

    fn list_len(&mut self) -> Result<usize, WireError> {
        let start = self.tree.position();
        let len = self.read("a list", |tree| tree.array())?;
        self.claimed(start, len, 1)
    }

    fn map_len(&mut self) -> Result<usize, WireError> {
        let start = self.tree.position();
        let len = self.read("a map", |tree| tree.map())?;
        self.claimed(start, len, 2)
    }

    fn text(&mut self) -> Result<&'b str, WireError> {
        self.read("text", |tree| tree.str())
    }

    fn float(&mut self) -> Result<f64, WireError> {
        let kind = self.read("a float64", |tree| tree.datatype())?;
        if kind != Type::F64 {
            return Err(self.wrong(format!("a float64 expected, but this is {kind}")));
        }
        self.read("a float64", |tree| tree.f64())
    }

    fn integer(&mut self) -> Result<i64, WireError> {
        self.read("an integer from -2^63 to 2^63-1", |tree| tree.i64())
    }

    fn unsigned(&mut self) -> Result<u64, WireError> {
        self.read("an integer of at least 0", |tree| tree.u64())
    }

    /// Reads a value that is nested in `depth` lists and maps.
    fn value(&mut self, depth: usize) -> Result<Value, WireError> {
        self.item()?;
        let kind = self.read("a value", |tree| tree.datatype())?;
        Ok(match kind {
            Type::Null => {
                self.read("null", |tree| tree.null())?;
                Value::None
            }
            Type::Bool => Value::Bool(self.read("a boolean", |tree| tree.bool())?),
            Type::U8 | Type::U16 | Type::U32 | Type::U64 => {
                let value = self.unsigned()?;
                i64::try_from(value).map_or(Value::UInt(value), Value::Int)
            }
            Type::I8 | Type::I16 | Type::I32 | Type::I64 | Type::Int => Value::Int(self.integer()?),
            Type::F64 => Value::Float(self.float()?),
            Type::String => Value::String(self.text()?.to_owned()),
            Type::Bytes => Value::Bytes(Bytes::copy_from_slice(self.read("bytes", |tree| tree.bytes())?)),
            Type::Array | Type::ArrayIndef => self.list(depth)?,
            Type::Map | Type::MapIndef => self.map(depth)?,
            Type::Tag => self.tagged(depth)?,
            other => return Err(self.wrong(format!("{other} is not a value of a message"))),
        })
    }

    fn list(&mut self, depth: usize) -> Result<Value, WireError> {
        let inner = deeper(depth)?;
        let len = self.list_len()?;
        let mut items = Vec::with_capacity(len.min(FIRST_CAPACITY));
        for _ in 0..len {
            items.push(self.value(inner)?);
        }
        Ok(Value::List(items))
    }

    fn map(&mut self, depth: usize) -> Result<Value, WireError> {
        let inner = deeper(depth)?;
        let len = self.map_len()?;
        let mut entries = Vec::with_capacity(len.min(FIRST_CAPACITY));
        for _ in 0..len {
            let key = self.text()?.to_owned();
            entries.push((key, self.value(inner)?));
        }
        Ok(Value::Map(entries))
    }

    fn tagged(&mut self, depth: usize) -> Result<Value, WireError> {
        let start = self.tree.position();
        let tag = self.read("a tag", |tree| tree.tag())?.as_u64();
        match tag {
            TAG_COMPLEX => {
                self.list_of(2, "a complex number")?;
                Ok(Value::Complex(self.float()?, self.float()?))
            }
            TAG_ARRAY => self.array().map(Value::Array),
            TAG_BYTES => {
                let number = self.unsigned()?;
                self.part(start, number).map(Value::Bytes)
            }
            TAG_SETTINGS => self.settings(depth),
            _ => Err(WireError::tree(start, format!("unknown tag {tag}"))),
        }
    }

    fn list_of(&mut self, wanted: usize, of: &str) -> Result<(), WireError> {
        let start = self.tree.position();
        let len = self.list_len()?;
        if len != wanted {
            return Err(WireError::tree(start, format!("{of} has {wanted} elements, but here are {len}")));
        }
        Ok(())
    }

    /// Takes a part for an array. Fails if another array of the same message has taken it.
    fn part(&mut self, start: usize, number: u64) -> Result<Bytes, WireError> {
        let count = self.parts.len();
        let span = usize::try_from(number).ok().and_then(|number| self.parts.get_mut(number));
        let span = span
            .ok_or_else(|| WireError::tree(start, format!("part {number} of {count} (they count from 0)")))?;
        let (begin, end) = span
            .take()
            .ok_or_else(|| WireError::tree(start, format!("part {number} is used a second time")))?;
        self.unread -= 1;
        Ok(self.part_bytes.slice(begin..end))
    }

    fn array(&mut self) -> Result<Array, WireError> {
        let start = self.tree.position();
        let len = self.list_len()?;
        if len != 4 && len != 5 {
            return Err(WireError::tree(start, format!("an array is described by 4 or 5 elements, not {len}")));
        }
        let code = self.unsigned()?;
        let dtype = u8::try_from(code).ok().and_then(DType::from_u8);
        let dtype = dtype.ok_or_else(|| WireError::tree(start, format!("unknown element type {code}")))?;
        let number = self.unsigned()?;
        let code = self.unsigned()?;
        let order =
            order_of(code).ok_or_else(|| WireError::tree(start, format!("unknown element order {code}")))?;
        let ndim = self.list_len()?;
        let mut shape = [0; MAX_DIMS];
        let extents = shape.get_mut(..ndim).ok_or_else(|| gather::too_many_dims(ndim))?;
        for extent in &mut *extents {
            *extent = self.unsigned()?;
        }
        let meta = if len == 5 { Some(self.array_meta(ndim)?) } else { None };
        let data = self.part(start, number)?;
        Array::new(dtype, &shape[..ndim], order, data, meta)
    }

    fn array_meta(&mut self, ndim: usize) -> Result<ArrayMeta, WireError> {
        let mut meta = ArrayMeta::default();
        let mut named = false;
        for _ in 0..self.map_len()? {
            let start = self.tree.position();
            match self.text()? {
                "names" if !named => {
                    named = true;
                    self.list_of(ndim, "the list of axis names")?;
                    for _ in 0..ndim {
                        meta.names.push(self.text()?.to_owned());
                    }
                }
                "unit" if meta.unit.is_none() => meta.unit = Some(self.text()?.to_owned()),
                "strides" if meta.strides.is_none() => {
                    self.list_of(ndim, "the list of strides")?;
                    meta.strides = Some((0..ndim).map(|_| self.integer()).collect::<Result<_, _>>()?);
                }
                key @ ("names" | "unit" | "strides") => {
                    return Err(WireError::tree(start, format!("an array's {key} stand here a second time")))
                }
                key => return Err(WireError::tree(start, format!("an array has no {key:?}"))),
            }
        }
        Ok(meta)
    }

    fn settings(&mut self, depth: usize) -> Result<Value, WireError> {
        deeper(depth)?;
        let len = self.map_len()?;
        let mut settings = Vec::with_capacity(len.min(FIRST_CAPACITY));
        for _ in 0..len {
            self.item()?;
            let name = self.text()?.to_owned();
            settings.push((name, self.setting()?));
        }
        Ok(Value::Settings(settings))
    }

    fn setting(&mut self) -> Result<SettingValue, WireError> {
        let kind = self.read("a setting", |tree| tree.datatype())?;
        Ok(match kind {
            Type::Bool => SettingValue::Bool(self.read("a boolean", |tree| tree.bool())?),
            Type::F64 => SettingValue::Float(self.float()?),
            Type::String => SettingValue::String(self.text()?.to_owned()),
            Type::Array | Type::ArrayIndef => self.setting_list()?,
            kind if is_integer(kind) => SettingValue::Int(self.integer()?),
            other => return Err(self.wrong(format!("{other} is not a setting"))),
        })
    }

    fn setting_list(&mut self) -> Result<SettingValue, WireError> {
        let len = self.list_len()?;
        if len == 0 {
            return Ok(SettingValue::IntList(Vec::new()));
        }
        let kind = self.read("an element", |tree| tree.datatype())?;
        match kind {
            Type::F64 => self.elements(len, Self::float).map(SettingValue::FloatList),
            Type::Array | Type::ArrayIndef => self.elements(len, Self::row).map(SettingValue::FloatGrid),
            kind if is_integer(kind) => self.elements(len, Self::integer).map(SettingValue::IntList),
            other => Err(self.wrong(format!("{other} is not an element of a setting"))),
        }
    }

    fn row(&mut self) -> Result<Vec<f64>, WireError> {
        let len = self.list_len()?;
        self.elements(len, Self::float)
    }

    fn elements<T>(
        &mut self,
        len: usize,
        element: impl Fn(&mut Self) -> Result<T, WireError>,
    ) -> Result<Vec<T>, WireError> {
        let mut elements = Vec::with_capacity(len.min(FIRST_CAPACITY));
        for _ in 0..len {
            self.item()?;
            elements.push(element(self)?);
        }
        Ok(elements)
    }
}

fn is_integer(kind: Type) -> bool {
    matches!(
        kind,
        Type::U8 | Type::U16 | Type::U32 | Type::U64 | Type::I8 | Type::I16 | Type::I32 | Type::I64 | Type::Int
    )
}
