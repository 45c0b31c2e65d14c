//! Building values to send: lists and maps of values, arrays in them, settings.

use crate::array::{describe, lent, lig_array};
use crate::misuse::Misuse;
use crate::options::lig_bool;
use crate::send::bytes;
use crate::status::{guard, guard_or, lig_error, lig_status, name, null, out};
use crate::values::{lig_value, tree};
use ligament_instance::{settings_from_value, Array, ArrayMeta, Error, ErrorKind, Settings, Value, ValueRef};
use ligament_wire::Bytes;
use ligament_wire::{decode_body, Encoder, Limits, SettingValue, MAX_DEPTH};
use std::collections::hash_map::Entry;
use std::collections::HashMap;
use std::ffi::{c_char, c_void};

/// A value of the caller that may grow. Its handle is that of `value`, which is therefore the first member.
#[repr(C)]
struct GrowingValue {
    value: Value,
    /// Upper limit of the number of lists and maps in the value that lie inside each other.
    height: usize,
    /// The position of each key, for a map with many keys.
    places: Option<HashMap<String, usize>>,
}

/// Maximum number of keys that are compared one by one.
const MAX_KEYS_COMPARED: usize = 16;

/// Gives the caller a value that holds no other values.
fn give_leaf(value: Value) -> *mut lig_value {
    Box::into_raw(Box::new(GrowingValue { value, height: 0, places: None })).cast()
}

/// Gives the caller a value.
pub(crate) fn give(value: Value) -> *mut lig_value {
    let height = height(&value);
    Box::into_raw(Box::new(GrowingValue { value, height, places: None })).cast()
}

/// Returns the number of lists and maps that lie inside each other. It is at most `MAX_DEPTH`, in received
/// values and in values that are built here.
fn height(value: &Value) -> usize {
    match value {
        Value::List(items) => 1 + items.iter().map(height).max().unwrap_or(0),
        Value::Map(entries) => 1 + entries.iter().map(|(_, value)| height(value)).max().unwrap_or(0),
        _ => 0,
    }
}

/// Takes a value back from the caller.
///
/// # Safety
/// `value` is NULL, or came from `give` or `give_leaf` and was not taken before.
unsafe fn take(value: *mut lig_value) -> Option<GrowingValue> {
    // SAFETY: all pointers are as the caller promises, here and in all functions below.
    (!value.is_null()).then(|| *unsafe { Box::from_raw(value.cast::<GrowingValue>()) })
}

/// Returns a value of the caller that is about to grow.
///
/// # Safety
/// As `take`.
unsafe fn growing<'a>(value: *mut lig_value, what: &str) -> Result<&'a mut GrowingValue, Error> {
    unsafe { value.cast::<GrowingValue>().as_mut() }.ok_or_else(|| null(what))
}

impl GrowingValue {
    /// Fails if the item would be nested too deep in this value. Otherwise notes the new depth.
    fn hold(&mut self, item: &GrowingValue) -> Result<(), Error> {
        // If an item of a map is replaced, the old item may have been the deepest one.
        let inside = if item.height < MAX_DEPTH { item.height } else { height(&item.value) };
        if inside >= MAX_DEPTH {
            return Err(Misuse::TooDeep { most: MAX_DEPTH }.into());
        }
        self.height = self.height.max(1 + inside);
        Ok(())
    }

    /// Returns the position of the key in the map, or `None` if the key must be added at the end.
    fn place(&mut self, key: &str) -> Option<usize> {
        let Value::Map(entries) = &self.value else { return None };
        if entries.len() <= MAX_KEYS_COMPARED {
            return entries.iter().position(|(name, _)| name == key);
        }
        // Only a received map may have a key twice. Its first entry counts.
        let places = self.places.get_or_insert_with(|| {
            entries.iter().enumerate().rev().map(|(i, (name, _))| (name.clone(), i)).collect()
        });
        match places.entry(key.to_owned()) {
            Entry::Occupied(place) => Some(*place.get()),
            Entry::Vacant(place) => {
                place.insert(entries.len());
                None
            }
        }
    }
}

/// Copies bytes of the caller. Returns `None` if there is not enough memory.
fn copied(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut copy = Vec::new();
    copy.try_reserve_exact(bytes.len()).ok()?;
    copy.extend_from_slice(bytes);
    Some(copy)
}

/// Frees a value that was built, with everything in it. NULL is allowed.
///
/// # Safety
/// `value` is NULL, or came from a function that gives values to the caller, and was neither freed nor put into
/// another value.
#[no_mangle]
pub unsafe extern "C" fn lig_value_free(value: *mut lig_value) {
    guard_or((), || drop(unsafe { take(value) }));
}

/// Makes a copy of a value, built or received, for the caller. Arrays and bytes are not copied: both values
/// share the memory, which stays until both are freed.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_value_copy(
    value: *const lig_value,
    copy: *mut *mut lig_value,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let place = unsafe { out(copy, "copy") }?;
        place.write(std::ptr::null_mut());
        place.write(give(unsafe { tree(value) }?.clone()));
        Ok(())
    })
}

/// A new value without contents.
#[no_mangle]
pub extern "C" fn lig_value_new_none() -> *mut lig_value {
    give_leaf(Value::None)
}

/// A new truth value.
#[no_mangle]
pub extern "C" fn lig_value_new_bool(value: lig_bool) -> *mut lig_value {
    give_leaf(Value::Bool(value != 0))
}

/// A new integer.
#[no_mangle]
pub extern "C" fn lig_value_new_int(value: i64) -> *mut lig_value {
    give_leaf(Value::Int(value))
}

/// A new integer that may be above INT64_MAX.
#[no_mangle]
pub extern "C" fn lig_value_new_uint(value: u64) -> *mut lig_value {
    give_leaf(i64::try_from(value).map_or(Value::UInt(value), Value::Int))
}

/// A new number.
#[no_mangle]
pub extern "C" fn lig_value_new_float(value: f64) -> *mut lig_value {
    give_leaf(Value::Float(value))
}

/// A new complex number.
#[no_mangle]
pub extern "C" fn lig_value_new_complex(real: f64, imaginary: f64) -> *mut lig_value {
    give_leaf(Value::Complex(real, imaginary))
}

/// A new text: a copy of `size` bytes of UTF-8. The result is NULL if the bytes are not UTF-8, if there is no
/// memory for them, or if `text` is NULL and `size` is not 0. A NULL that is put into a list or map, or is
/// sent, is an error there.
///
/// # Safety
/// `text` has `size` bytes.
#[no_mangle]
pub unsafe extern "C" fn lig_value_new_string(text: *const c_char, size: usize) -> *mut lig_value {
    guard_or(std::ptr::null_mut(), || {
        let bytes = unsafe { bytes(text.cast(), size) };
        match bytes.ok().and_then(copied).map(String::from_utf8) {
            Some(Ok(text)) => give_leaf(Value::String(text)),
            _ => std::ptr::null_mut(),
        }
    })
}

/// New bytes: a copy. The result is NULL if there is no memory for them, or if `data` is NULL and `size` is not
/// 0.
///
/// # Safety
/// `data` has `size` bytes.
#[no_mangle]
pub unsafe extern "C" fn lig_value_new_bytes(data: *const c_void, size: usize) -> *mut lig_value {
    guard_or(std::ptr::null_mut(), || match unsafe { bytes(data, size) }.ok().and_then(copied) {
        Some(bytes) => give_leaf(Value::Bytes(bytes.into())),
        None => std::ptr::null_mut(),
    })
}

/// A new array: a copy of an array of the caller.
///
/// # Safety
/// `array` is valid and describes readable memory; `value` is valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_value_new_array(
    array: *const lig_array,
    value: *mut *mut lig_value,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let place = unsafe { out(value, "value") }?;
        place.write(std::ptr::null_mut());
        let (described, array) = unsafe { describe(array) }?;
        let array = unsafe { lent(&described, array) }?;
        place.write(give_leaf(gathered(&ValueRef::Array(array))?));
        Ok(())
    })
}

/// Returns the value as its receiver gets it. The value is encoded and decoded, because the codec can gather
/// strided elements.
fn gathered(value: &ValueRef<'_>) -> Result<Value, Error> {
    let usage = |error: ligament_wire::WireError| Error::other(ErrorKind::Usage, error);
    let mut encoder = Encoder::new();
    let plan = encoder.plan(value).map_err(usage)?;
    let length = plan.body_len() as usize;
    let mut body = Vec::new();
    let room = body.try_reserve_exact(length);
    room.map_err(|_| Misuse::NoCopy { length })?;
    body.resize(length, 0);
    plan.write_body(&mut body);
    decode_body(plan.parts(), body.into(), &Limits::default()).map_err(usage)
}

/// A new array over the caller's own memory, without a copy. The memory must stay unchanged until the value,
/// and everything that contains it, is freed. Sending the value copies the memory. The elements must lie next
/// to each other: strides are `LIG_ERR_USAGE`.
///
/// # Safety
/// All pointers are valid, and the memory stays unchanged as described above; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_value_new_array_borrowed(
    array: *const lig_array,
    value: *mut *mut lig_value,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let place = unsafe { out(value, "value") }?;
        place.write(std::ptr::null_mut());
        let (described, array) = unsafe { describe(array) }?;
        if !array.strides.is_null() {
            return Err(Misuse::BorrowedStrides.into());
        }
        let array = unsafe { lent(&described, array) }?;
        // SAFETY: the caller promises that the memory outlives the value and all that share it.
        let data: &'static [u8] = unsafe { std::slice::from_raw_parts(array.data.as_ptr(), array.data.len()) };
        let meta = (!array.names.is_empty() || array.unit.is_some()).then(|| ArrayMeta {
            names: array.names.to_vec(),
            unit: array.unit.map(str::to_owned),
            strides: None,
        });
        let array = Array::new(array.dtype, array.shape, array.order, Bytes::from_static(data), meta);
        place.write(give_leaf(Value::Array(array.map_err(|error| Error::other(ErrorKind::Usage, error))?)));
        Ok(())
    })
}

/// A new empty list.
#[no_mangle]
pub extern "C" fn lig_value_new_list() -> *mut lig_value {
    give(Value::List(Vec::new()))
}

/// A new empty map.
#[no_mangle]
pub extern "C" fn lig_value_new_map() -> *mut lig_value {
    give(Value::Map(Vec::new()))
}

/// Takes an item that is to be put into `container`.
unsafe fn taken(container: *mut lig_value, item: *mut lig_value) -> Result<GrowingValue, Error> {
    if !item.is_null() && item == container {
        return Err(Misuse::IntoItself.into());
    }
    unsafe { take(item) }.ok_or_else(|| Misuse::NoItem.into())
}

/// Adds an item at the end of a list. The item then belongs to the list; if there is an error, it is freed. A
/// value lies inside at most 64 lists and maps, here and in messages; more are `LIG_ERR_USAGE`.
///
/// # Safety
/// `list` and `item` were built, not freed, and not put into other values; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_value_append(
    list: *mut lig_value,
    item: *mut lig_value,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let item = unsafe { taken(list, item) }?;
        let list = unsafe { growing(list, "list") }?;
        if !matches!(list.value, Value::List(_)) {
            return Err(Misuse::NoList.into());
        }
        list.hold(&item)?;
        if let Value::List(items) = &mut list.value {
            items.push(item.value);
        }
        Ok(())
    })
}

/// Sets the item under a key of a map, in place of an earlier one. The item then belongs to the map; if there
/// is an error, it is freed. Otherwise as `lig_value_append`.
///
/// # Safety
/// `map` and `item` were built, not freed, and not put into other values; `key` is valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_value_set(
    map: *mut lig_value,
    key: *const c_char,
    item: *mut lig_value,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let item = unsafe { taken(map, item) }?;
        let key = unsafe { name(key, "key") }?;
        let map = unsafe { growing(map, "map") }?;
        if !matches!(map.value, Value::Map(_)) {
            return Err(Misuse::NoMap.into());
        }
        map.hold(&item)?;
        let place = map.place(key);
        if let Value::Map(entries) = &mut map.value {
            match place {
                Some(place) => entries[place].1 = item.value,
                None => entries.push((key.to_owned(), item.value)),
            }
        }
        Ok(())
    })
}

/// New settings from a map of truth values, integers, numbers, texts, lists of integers, lists of numbers, and
/// lists of lists of numbers; any other value in the map is `LIG_ERR_USAGE`. They can be sent to a
/// `muscle_settings_in` port.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_value_new_settings(
    map: *const lig_value,
    settings: *mut *mut lig_value,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let place = unsafe { out(settings, "settings") }?;
        place.write(std::ptr::null_mut());
        let Value::Map(entries) = unsafe { tree(map) }? else {
            return Err(Misuse::NoMapOfSettings.into());
        };
        place.write(give_leaf(settings_of(entries)?));
        Ok(())
    })
}

fn settings_of(entries: &[(String, Value)]) -> Result<Value, Error> {
    let entries = entries
        .iter()
        .map(|(name, value)| match setting(value) {
            Some(setting) => Ok((name.clone(), setting)),
            None => Err(Misuse::NoSetting { name: name.clone() }),
        })
        .collect::<Result<_, _>>()?;
    Ok(Value::Settings(entries))
}

/// Returns the overlay that a caller gives with a message.
///
/// # Safety
/// `value` is valid.
#[cold]
pub(crate) unsafe fn overlay(value: *const lig_value) -> Result<Settings, Error> {
    let settings = match unsafe { tree(value) }? {
        Value::Map(entries) => settings_from_value(&settings_of(entries)?),
        other => settings_from_value(other),
    };
    settings.ok_or_else(|| Misuse::NoOverlay.into())
}

/// Returns a plain value as a setting.
fn setting(value: &Value) -> Option<SettingValue> {
    Some(match value {
        Value::Bool(truth) => SettingValue::Bool(*truth),
        Value::Int(integer) => SettingValue::Int(*integer),
        Value::Float(number) => SettingValue::Float(*number),
        Value::String(text) => SettingValue::String(text.clone()),
        Value::List(items) => {
            let integers: Option<Vec<i64>> = items.iter().map(integer).collect();
            if let Some(integers) = integers {
                return Some(SettingValue::IntList(integers));
            }
            if let Some(numbers) = numbers(value) {
                return Some(SettingValue::FloatList(numbers));
            }
            SettingValue::FloatGrid(items.iter().map(numbers).collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Int(integer) => Some(*integer),
        _ => None,
    }
}

/// Returns a list of numbers as a setting.
fn numbers(value: &Value) -> Option<Vec<f64>> {
    let Value::List(items) = value else { return None };
    let number = |item: &Value| match item {
        Value::Float(number) => Some(*number),
        Value::Int(integer) => Some(*integer as f64),
        _ => None,
    };
    items.iter().map(number).collect()
}
