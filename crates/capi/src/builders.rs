//! Building values to send: lists and maps of values, arrays in them, settings.

use crate::array::{describe, lent, lig_array};
use crate::options::lig_bool;
use crate::send::bytes;
use crate::status::{guard, guard_or, lig_error, lig_status, name, null, out};
use crate::values::{lig_value, tree};
use ligament_instance::{settings_from_value, Array, ArrayMeta, Error, Settings, Value, ValueRef};
use ligament_wire::Bytes;
use ligament_wire::{decode_body, Encoder, Limits, SettingValue};
use std::ffi::{c_char, c_void};

/// Gives a value to the caller.
pub(crate) fn give(value: Value) -> *mut lig_value {
    Box::into_raw(Box::new(value)).cast()
}

/// Takes a value back from the caller.
///
/// # Safety
/// `value` is NULL, or came from `give` and was not taken before.
unsafe fn take(value: *mut lig_value) -> Option<Value> {
    // SAFETY: all pointers are as the caller promises, here and in all functions below.
    (!value.is_null()).then(|| *unsafe { Box::from_raw(value.cast::<Value>()) })
}

/// Frees a value that was built, with all that is in it. NULL is allowed.
///
/// # Safety
/// `value` is NULL, or came from a function that gives values to the caller, and was neither freed nor put into
/// another value.
#[no_mangle]
pub unsafe extern "C" fn lig_value_free(value: *mut lig_value) {
    guard_or((), || drop(unsafe { take(value) }));
}

/// A copy of a value, also of a received one, for the caller. Arrays and bytes are not copied: both share the memory,
/// which stays for as long as either.
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

/// A new value: nothing.
#[no_mangle]
pub extern "C" fn lig_value_new_none() -> *mut lig_value {
    give(Value::None)
}

/// A new truth value.
#[no_mangle]
pub extern "C" fn lig_value_new_bool(value: lig_bool) -> *mut lig_value {
    give(Value::Bool(value != 0))
}

/// A new integer.
#[no_mangle]
pub extern "C" fn lig_value_new_int(value: i64) -> *mut lig_value {
    give(Value::Int(value))
}

/// A new integer that may be above INT64_MAX.
#[no_mangle]
pub extern "C" fn lig_value_new_uint(value: u64) -> *mut lig_value {
    give(i64::try_from(value).map_or(Value::UInt(value), Value::Int))
}

/// A new number.
#[no_mangle]
pub extern "C" fn lig_value_new_float(value: f64) -> *mut lig_value {
    give(Value::Float(value))
}

/// A new complex number.
#[no_mangle]
pub extern "C" fn lig_value_new_complex(real: f64, imaginary: f64) -> *mut lig_value {
    give(Value::Complex(real, imaginary))
}

/// A new text: a copy of `size` bytes of UTF-8. NULL if it is not UTF-8, or `text` is NULL and `size` is not 0; a NULL
/// put into a list or map, or sent, is an error there.
///
/// # Safety
/// `text` has `size` bytes.
#[no_mangle]
pub unsafe extern "C" fn lig_value_new_string(text: *const c_char, size: usize) -> *mut lig_value {
    guard_or(std::ptr::null_mut(), || {
        let bytes = unsafe { bytes(text.cast(), size) };
        match bytes.map(|bytes| std::str::from_utf8(bytes)) {
            Ok(Ok(text)) => give(Value::String(text.to_owned())),
            _ => std::ptr::null_mut(),
        }
    })
}

/// New bytes: a copy. NULL if `data` is NULL and `size` is not 0.
///
/// # Safety
/// `data` has `size` bytes.
#[no_mangle]
pub unsafe extern "C" fn lig_value_new_bytes(data: *const c_void, size: usize) -> *mut lig_value {
    guard_or(std::ptr::null_mut(), || match unsafe { bytes(data, size) } {
        Ok(bytes) => give(Value::Bytes(Bytes::copy_from_slice(bytes))),
        Err(_) => std::ptr::null_mut(),
    })
}

/// A new array: a copy of the caller's.
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
        place.write(give(gathered(&ValueRef::Array(array))?));
        Ok(())
    })
}

/// The value as its receiver would have it: the codec knows how to gather strided elements.
fn gathered(value: &ValueRef<'_>) -> Result<Value, Error> {
    let usage = |error: ligament_wire::WireError| Error::Usage(error.to_string());
    let mut encoder = Encoder::new();
    let plan = encoder.plan(value).map_err(usage)?;
    let mut body = vec![0; plan.body_len() as usize];
    plan.write_body(&mut body);
    decode_body(plan.parts(), body.into(), &Limits::default()).map_err(usage)
}

/// A new array over the caller's own memory, without a copy. The memory must stay, and stay unchanged, until the
/// value (and everything that it was put into) is freed; sending it copies it. Only for elements that lie next to
/// each other: `LIG_ERR_USAGE` with strides.
///
/// # Safety
/// As `lig_value_new_array`, and the memory stays as said.
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
            return Err(Error::Usage(
                "an array with strides cannot be borrowed; use lig_value_new_array".into(),
            ));
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
        place.write(give(Value::Array(array.map_err(|error| Error::Usage(error.to_string()))?)));
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

/// Takes an item that is to go into `container`.
unsafe fn taken(container: *mut lig_value, item: *mut lig_value) -> Result<Value, Error> {
    if !item.is_null() && item == container {
        return Err(Error::Usage("a value cannot be put into itself".into()));
    }
    unsafe { take(item) }.ok_or_else(|| Error::Usage("the item is NULL; was it text that is not UTF-8?".into()))
}

/// Puts an item at the end of a list. The item belongs to the list from now on, and is freed if there is an error.
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
        match unsafe { list.cast::<Value>().as_mut() } {
            Some(Value::List(items)) => items.push(item),
            Some(_) => return Err(Error::Usage("the value to append to is not a list".into())),
            None => return Err(null("list")),
        }
        Ok(())
    })
}

/// Puts an item into a map, in place of what was under that key. The item belongs to the map from now on, and is
/// freed if there is an error.
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
        match unsafe { map.cast::<Value>().as_mut() } {
            Some(Value::Map(entries)) => match entries.iter_mut().find(|(name, _)| name == key) {
                Some((_, value)) => *value = item,
                None => entries.push((key.to_owned(), item)),
            },
            Some(_) => return Err(Error::Usage("the value to set a key in is not a map".into())),
            None => return Err(null("map")),
        }
        Ok(())
    })
}

/// New settings from a map of truth values, integers, numbers, texts, lists of integers, lists of numbers, and lists
/// of lists of numbers; `LIG_ERR_USAGE` if there is anything else in it. To be sent to a `muscle_settings_in` port.
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
            return Err(Error::Usage("settings are made from a map".into()));
        };
        place.write(give(settings_of(entries)?));
        Ok(())
    })
}

fn settings_of(entries: &[(String, Value)]) -> Result<Value, Error> {
    let entries = entries
        .iter()
        .map(|(name, value)| match setting(value) {
            Some(setting) => Ok((name.clone(), setting)),
            None => Err(Error::Usage(format!("what is under \"{name}\" cannot be a setting"))),
        })
        .collect::<Result<_, _>>()?;
    Ok(Value::Settings(entries))
}

/// The overlay that a caller gives with a message.
///
/// # Safety
/// `value` is valid.
#[cold]
pub(crate) unsafe fn overlay(value: *const lig_value) -> Result<Settings, Error> {
    let settings = match unsafe { tree(value) }? {
        Value::Map(entries) => settings_from_value(&settings_of(entries)?),
        other => settings_from_value(other),
    };
    settings.ok_or_else(|| {
        Error::Usage(
            "the overlay of a message must be settings, or a map with the names of settings as its keys".into(),
        )
    })
}

/// A plain value as a setting.
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

/// A list of numbers.
fn numbers(value: &Value) -> Option<Vec<f64>> {
    let Value::List(items) = value else { return None };
    let number = |item: &Value| match item {
        Value::Float(number) => Some(*number),
        Value::Int(integer) => Some(*integer as f64),
        _ => None,
    };
    items.iter().map(number).collect()
}
