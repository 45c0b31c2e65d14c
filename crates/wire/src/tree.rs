//! Writing the tree of a message: CBOR items in memory. Arrays and long byte strings become parts, to which
//! the tree refers.

use minicbor::data::Tag;

use crate::borrow::{ArrayRef, ValueRef};
use crate::error::WireError;
use crate::gather;
use crate::parts::{array_source, PartList, PlannedPart, Source};
use crate::value::{ArrayOrder, DType, SettingValue, Value};
use crate::{MAX_DEPTH, MIN_PART_BYTES, TAG_ARRAY, TAG_BYTES, TAG_COMPLEX, TAG_SETTINGS};

pub(crate) struct Description<'d> {
    pub dtype: DType,
    pub shape: &'d [u64],
    pub order: ArrayOrder,
    pub names: &'d [String],
    pub unit: Option<&'d str>,
    pub strides: Option<&'d [i64]>,
}

pub(crate) fn write_array(tree: &mut Cbor<'_>, part: u16, array: &Description<'_>) {
    let entries = usize::from(!array.names.is_empty())
        + usize::from(array.unit.is_some())
        + usize::from(array.strides.is_some());
    tree.tag(TAG_ARRAY);
    tree.list(if entries == 0 { 4 } else { 5 });
    tree.uint(array.dtype as u64);
    tree.uint(u64::from(part));
    tree.uint(array.order as u64);
    tree.list(array.shape.len());
    for &extent in array.shape {
        tree.uint(extent);
    }
    if entries == 0 {
        return;
    }
    tree.map(entries);
    if !array.names.is_empty() {
        tree.text("names");
        tree.list(array.names.len());
        for name in array.names {
            tree.text(name);
        }
    }
    if let Some(unit) = array.unit {
        tree.text("unit");
        tree.text(unit);
    }
    if let Some(strides) = array.strides {
        tree.text("strides");
        tree.list(strides.len());
        for &stride in strides {
            tree.int(stride);
        }
    }
}

/// A CBOR encoder that writes to memory and so cannot fail.
pub(crate) struct Cbor<'t>(minicbor::Encoder<&'t mut Vec<u8>>);

/// Drops the result of a write to a vector. Such a write cannot fail, because its error type has no values.
fn sure<T>(result: Result<T, minicbor::encode::Error<std::convert::Infallible>>) {
    debug_assert!(result.is_ok());
}

impl<'t> Cbor<'t> {
    pub fn new(tree: &'t mut Vec<u8>) -> Cbor<'t> {
        Cbor(minicbor::Encoder::new(tree))
    }
    fn tag(&mut self, tag: u64) {
        sure(self.0.tag(Tag::new(tag)));
    }
    fn list(&mut self, len: usize) {
        sure(self.0.array(len as u64));
    }
    fn map(&mut self, len: usize) {
        sure(self.0.map(len as u64));
    }
    fn uint(&mut self, value: u64) {
        sure(self.0.u64(value));
    }
    fn int(&mut self, value: i64) {
        sure(self.0.i64(value));
    }
    fn float(&mut self, value: f64) {
        sure(self.0.f64(value));
    }
    fn text(&mut self, text: &str) {
        sure(self.0.str(text));
    }
    fn bytes(&mut self, bytes: &[u8]) {
        sure(self.0.bytes(bytes));
    }
    fn bool(&mut self, value: bool) {
        sure(self.0.bool(value));
    }
    fn null(&mut self) {
        sure(self.0.null());
    }
}

pub(crate) struct TreeWriter<'t, 'a> {
    pub tree: Cbor<'t>,
    pub parts: PartList<'a>,
}

impl<'a> TreeWriter<'_, 'a> {
    /// Writes a value that is nested in `depth` lists and maps.
    pub fn value(&mut self, value: &ValueRef<'a>, depth: usize) -> Result<(), WireError> {
        match value {
            ValueRef::None => self.tree.null(),
            ValueRef::Bool(value) => self.tree.bool(*value),
            ValueRef::Int(value) => self.tree.int(*value),
            ValueRef::UInt(value) => self.tree.uint(*value),
            ValueRef::Float(value) => self.tree.float(*value),
            ValueRef::Complex(re, im) => self.complex(*re, *im),
            ValueRef::Str(text) => self.tree.text(text),
            ValueRef::Bytes(bytes) => self.bytes(bytes)?,
            ValueRef::List(items) => self.list(items, depth)?,
            ValueRef::Items(items) => self.list(items, depth)?,
            ValueRef::Map(entries) => self.map(entries, depth)?,
            ValueRef::Entries(entries) => self.map(entries, depth)?,
            ValueRef::Array(array) => self.array(array)?,
            ValueRef::Settings(settings) => self.settings(settings, depth)?,
            ValueRef::Owned(value) => self.owned(value, depth)?,
        }
        Ok(())
    }

    fn owned(&mut self, value: &'a Value, depth: usize) -> Result<(), WireError> {
        match value {
            Value::None => self.tree.null(),
            Value::Bool(value) => self.tree.bool(*value),
            Value::Int(value) => self.tree.int(*value),
            Value::UInt(value) => self.tree.uint(*value),
            Value::Float(value) => self.tree.float(*value),
            Value::Complex(re, im) => self.complex(*re, *im),
            Value::String(text) => self.tree.text(text),
            Value::Bytes(bytes) => self.bytes(bytes)?,
            Value::List(items) => {
                let inner = deeper(depth)?;
                self.tree.list(items.len());
                for item in items {
                    self.owned(item, inner)?;
                }
            }
            Value::Map(entries) => {
                let inner = deeper(depth)?;
                self.tree.map(entries.len());
                for (key, value) in entries {
                    self.tree.text(key);
                    self.owned(value, inner)?;
                }
            }
            Value::Array(array) => self.array(&ArrayRef::from(array))?,
            Value::Settings(settings) => self.settings(settings, depth)?,
        }
        Ok(())
    }

    fn complex(&mut self, re: f64, im: f64) {
        self.tree.tag(TAG_COMPLEX);
        self.tree.list(2);
        self.tree.float(re);
        self.tree.float(im);
    }

    fn bytes(&mut self, bytes: &'a [u8]) -> Result<(), WireError> {
        if bytes.len() < MIN_PART_BYTES {
            self.tree.bytes(bytes);
            return Ok(());
        }
        let part = self.part(bytes.len() as u64, Source::Contiguous(bytes))?;
        self.tree.tag(TAG_BYTES);
        self.tree.uint(u64::from(part));
        Ok(())
    }

    fn list(&mut self, items: &[ValueRef<'a>], depth: usize) -> Result<(), WireError> {
        let inner = deeper(depth)?;
        self.tree.list(items.len());
        items.iter().try_for_each(|item| self.value(item, inner))
    }

    fn map(&mut self, entries: &[(&'a str, ValueRef<'a>)], depth: usize) -> Result<(), WireError> {
        let inner = deeper(depth)?;
        self.tree.map(entries.len());
        for (key, value) in entries {
            self.tree.text(key);
            self.value(value, inner)?;
        }
        Ok(())
    }

    fn array(&mut self, array: &ArrayRef<'a>) -> Result<(), WireError> {
        gather::check_names(array.names, array.shape.len())?;
        let (nbytes, source) = array_source(array)?;
        let part = self.part(nbytes, source)?;
        let ArrayRef { dtype, shape, order, names, unit, .. } = *array;
        write_array(&mut self.tree, part, &Description { dtype, shape, order, names, unit, strides: None });
        Ok(())
    }

    fn part(&mut self, len: u64, source: Source<'a>) -> Result<u16, WireError> {
        self.parts.push(PlannedPart { offset: 0, len, source })
    }

    fn settings(&mut self, settings: &[(String, SettingValue)], depth: usize) -> Result<(), WireError> {
        deeper(depth)?;
        self.tree.tag(TAG_SETTINGS);
        self.tree.map(settings.len());
        for (name, value) in settings {
            self.tree.text(name);
            self.setting(value);
        }
        Ok(())
    }

    fn setting(&mut self, value: &SettingValue) {
        match value {
            SettingValue::Bool(value) => self.tree.bool(*value),
            SettingValue::Int(value) => self.tree.int(*value),
            SettingValue::Float(value) => self.tree.float(*value),
            SettingValue::String(text) => self.tree.text(text),
            SettingValue::IntList(list) => {
                self.tree.list(list.len());
                list.iter().for_each(|value| self.tree.int(*value));
            }
            SettingValue::FloatList(list) => self.floats(list),
            SettingValue::FloatGrid(rows) => {
                self.tree.list(rows.len());
                rows.iter().for_each(|row| self.floats(row));
            }
        }
    }

    fn floats(&mut self, list: &[f64]) {
        self.tree.list(list.len());
        list.iter().for_each(|value| self.tree.float(*value));
    }
}

pub(crate) fn deeper(depth: usize) -> Result<usize, WireError> {
    if depth >= MAX_DEPTH {
        return Err(WireError::TooDeep { limit: MAX_DEPTH });
    }
    Ok(depth + 1)
}
