//! Reading values, both received and built ones.

use crate::array::lig_array_view;
use crate::misuse::Misuse;
use crate::options::lig_string;
use crate::status::{guard, lig_error, lig_status, name, null, out};
use ligament_instance::{Array, Error, SettingValue, Settings, Value};
use std::ffi::{c_char, c_void};

/// A value of a message, or one that was built. A `const lig_value *` is borrowed, and lives as long as the
/// message or value that contains it. A `lig_value *` from a `lig_value_new_…` function belongs to the caller.
/// Several threads may read a value at once; while a thread changes, sends or frees a value, no other may use
/// it.
pub struct lig_value {
    _is_a_value_of_the_core: [u8; 0],
}

// A kind that comes from the caller. In the header, the integer and the enumeration have one name.
pub type lig_kind_code = i32;

/// The kind of a value.
#[repr(i32)]
pub enum lig_kind {
    LIG_KIND_NONE = 0,
    LIG_KIND_BOOL = 1,
    /// An integer that fits int64.
    LIG_KIND_INT = 2,
    /// An integer above INT64_MAX.
    LIG_KIND_UINT = 3,
    LIG_KIND_FLOAT = 4,
    LIG_KIND_COMPLEX = 5,
    LIG_KIND_STRING = 6,
    LIG_KIND_BYTES = 7,
    LIG_KIND_LIST = 8,
    LIG_KIND_MAP = 9,
    LIG_KIND_ARRAY = 10,
    /// Settings; read them with `lig_value_settings`.
    LIG_KIND_SETTINGS = 11,
}

/// Returns the handle of a value.
#[inline]
pub(crate) fn handle(value: &Value) -> *const lig_value {
    std::ptr::from_ref(value).cast()
}

/// Returns the value behind a handle.
///
/// # Safety
/// `value` is NULL, or came from this library and lives for `'a`.
#[inline]
pub(crate) unsafe fn tree<'a>(value: *const lig_value) -> Result<&'a Value, Error> {
    // SAFETY: every handle points to a `Value`.
    unsafe { value.cast::<Value>().as_ref() }.ok_or_else(|| null("value"))
}

#[cold]
fn not(value: &Value, wanted: &str) -> Error {
    let found = match value {
        Value::None => "nothing",
        Value::Bool(_) => "a truth value",
        Value::Int(_) | Value::UInt(_) => "an integer",
        Value::Float(_) => "a number",
        Value::Complex(..) => "a complex number",
        Value::String(_) => "text",
        Value::Bytes(_) => "bytes",
        Value::List(_) => "a list",
        Value::Map(_) => "a map",
        Value::Array(_) => "an array",
        Value::Settings(_) => "settings",
    };
    Misuse::OtherKind { found, wanted: wanted.to_owned() }.into()
}

/// The kind of a value; `LIG_KIND_NONE` for NULL.
///
/// # Safety
/// `value` is NULL or valid.
#[no_mangle]
pub unsafe extern "C" fn lig_value_kind(value: *const lig_value) -> lig_kind {
    // SAFETY: all pointers are as the caller promises, here and in all functions below.
    match unsafe { tree(value) } {
        Err(_) | Ok(Value::None) => lig_kind::LIG_KIND_NONE,
        Ok(Value::Bool(_)) => lig_kind::LIG_KIND_BOOL,
        Ok(Value::Int(_)) => lig_kind::LIG_KIND_INT,
        Ok(Value::UInt(_)) => lig_kind::LIG_KIND_UINT,
        Ok(Value::Float(_)) => lig_kind::LIG_KIND_FLOAT,
        Ok(Value::Complex(..)) => lig_kind::LIG_KIND_COMPLEX,
        Ok(Value::String(_)) => lig_kind::LIG_KIND_STRING,
        Ok(Value::Bytes(_)) => lig_kind::LIG_KIND_BYTES,
        Ok(Value::List(_)) => lig_kind::LIG_KIND_LIST,
        Ok(Value::Map(_)) => lig_kind::LIG_KIND_MAP,
        Ok(Value::Array(_)) => lig_kind::LIG_KIND_ARRAY,
        Ok(Value::Settings(_)) => lig_kind::LIG_KIND_SETTINGS,
    }
}

/// A truth value; `LIG_ERR_UNEXPECTED` if the value is something else.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_value_bool(
    value: *const lig_value,
    result: *mut bool,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let place = unsafe { out(result, "result") }?;
        match unsafe { tree(value) }? {
            Value::Bool(truth) => place.write(*truth),
            other => return Err(not(other, "a truth value")),
        };
        Ok(())
    })
}

/// An integer; `LIG_ERR_UNEXPECTED` if the value is something else, or above INT64_MAX.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_value_int(
    value: *const lig_value,
    result: *mut i64,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let place = unsafe { out(result, "result") }?;
        match unsafe { tree(value) }? {
            Value::Int(integer) => place.write(*integer),
            Value::UInt(large) => {
                return Err(Misuse::LargeInteger { integer: *large }.into());
            }
            other => return Err(not(other, "an integer")),
        };
        Ok(())
    })
}

/// A non-negative integer; `LIG_ERR_UNEXPECTED` if the value is something else.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_value_uint(
    value: *const lig_value,
    result: *mut u64,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let place = unsafe { out(result, "result") }?;
        match unsafe { tree(value) }? {
            Value::Int(integer @ 0..) => place.write(*integer as u64),
            Value::UInt(large) => place.write(*large),
            other => return Err(not(other, "an integer of 0 or more")),
        };
        Ok(())
    })
}

/// A number; integers are accepted. `LIG_ERR_UNEXPECTED` if the value is something else.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_value_float(
    value: *const lig_value,
    result: *mut f64,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let place = unsafe { out(result, "result") }?;
        match unsafe { tree(value) }? {
            Value::Float(number) => place.write(*number),
            Value::Int(integer) => place.write(*integer as f64),
            Value::UInt(large) => place.write(*large as f64),
            other => return Err(not(other, "a number")),
        };
        Ok(())
    })
}

/// A complex number; `LIG_ERR_UNEXPECTED` if the value is something else.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_value_complex(
    value: *const lig_value,
    real: *mut f64,
    imaginary: *mut f64,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let (real, imaginary) = (unsafe { out(real, "real") }?, unsafe { out(imaginary, "imaginary") }?);
        match unsafe { tree(value) }? {
            Value::Complex(re, im) => {
                real.write(*re);
                imaginary.write(*im);
                Ok(())
            }
            other => Err(not(other, "a complex number")),
        }
    })
}

/// Text, in the value's memory; `LIG_ERR_UNEXPECTED` if the value is something else.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_value_string(
    value: *const lig_value,
    text: *mut lig_string,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let place = unsafe { out(text, "text") }?;
        match unsafe { tree(value) }? {
            Value::String(text) => place.write(lig_string::of(text)),
            other => return Err(not(other, "text")),
        };
        Ok(())
    })
}

/// Bytes, in the value's memory; `LIG_ERR_UNEXPECTED` if the value is something else.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_value_bytes(
    value: *const lig_value,
    data: *mut *const c_void,
    size: *mut usize,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let (data, size) = (unsafe { out(data, "data") }?, unsafe { out(size, "size") }?);
        match unsafe { tree(value) }? {
            Value::Bytes(bytes) => {
                data.write(bytes.as_ptr().cast());
                size.write(bytes.len());
                Ok(())
            }
            other => Err(not(other, "bytes")),
        }
    })
}

/// The number of items of a list, map or settings; `LIG_ERR_UNEXPECTED` if the value is something else.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_value_count(
    value: *const lig_value,
    count: *mut usize,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let place = unsafe { out(count, "count") }?;
        match unsafe { tree(value) }? {
            Value::List(items) => place.write(items.len()),
            Value::Map(entries) => place.write(entries.len()),
            Value::Settings(entries) => place.write(entries.len()),
            other => return Err(not(other, "a list or a map")),
        };
        Ok(())
    })
}

#[cold]
fn beyond(index: usize, count: usize) -> Error {
    Misuse::NoSuchItem { index, count }.into()
}

/// An item of a list, or the value of an entry of a map. It lives as long as `value`.
///
/// `LIG_ERR_USAGE` if the index is beyond the last item; `LIG_ERR_UNEXPECTED` if the value is no list and no
/// map.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_value_at(
    value: *const lig_value,
    index: usize,
    item: *mut *const lig_value,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let place = unsafe { out(item, "item") }?;
        let (found, count) = match unsafe { tree(value) }? {
            Value::List(items) => (items.get(index), items.len()),
            Value::Map(entries) => (entries.get(index).map(|(_, value)| value), entries.len()),
            other => return Err(not(other, "a list or a map")),
        };
        place.write(handle(found.ok_or_else(|| beyond(index, count))?));
        Ok(())
    })
}

/// The key of an entry of a map or of settings, in the value's memory.
///
/// `LIG_ERR_USAGE` if the index is beyond the last entry; `LIG_ERR_UNEXPECTED` if the value is neither.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_value_key(
    value: *const lig_value,
    index: usize,
    key: *mut lig_string,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let place = unsafe { out(key, "key") }?;
        let (found, count) = match unsafe { tree(value) }? {
            Value::Map(entries) => (entries.get(index).map(|(key, _)| key), entries.len()),
            Value::Settings(entries) => (entries.get(index).map(|(key, _)| key), entries.len()),
            other => return Err(not(other, "a map")),
        };
        place.write(lig_string::of(found.ok_or_else(|| beyond(index, count))?));
        Ok(())
    })
}

/// The value under a key of a map, which lives as long as `value`; NULL if there is no such key.
///
/// `LIG_ERR_UNEXPECTED` if the value is no map.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_value_find(
    value: *const lig_value,
    key: *const c_char,
    item: *mut *const lig_value,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let place = unsafe { out(item, "item") }?;
        let key = unsafe { name(key, "key") }?;
        match unsafe { tree(value) }? {
            Value::Map(entries) => {
                let found = entries.iter().find(|(name, _)| name == key);
                place.write(found.map_or(std::ptr::null(), |(_, value)| handle(value)));
                Ok(())
            }
            other => Err(not(other, "a map")),
        }
    })
}

/// # Safety
/// As `tree`.
unsafe fn array<'a>(value: *const lig_value) -> Result<&'a Array, Error> {
    match unsafe { tree(value) }? {
        Value::Array(array) => Ok(array),
        other => Err(not(other, "an array")),
    }
}

/// An array, in place. It lives as long as `value`. `LIG_ERR_UNEXPECTED` if the value is something else.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_value_array(
    value: *const lig_value,
    view: *mut lig_array_view,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let place = unsafe { out(view, "view") }?;
        place.write(lig_array_view::of(unsafe { array(value) }?));
        Ok(())
    })
}

/// The name of an array's dimension, in the value's memory; its `data` is NULL if the dimension has none.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_value_array_name(
    value: *const lig_value,
    dimension: u32,
    text: *mut lig_string,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let place = unsafe { out(text, "text") }?;
        let names = unsafe { array(value) }?.names();
        let found = names.get(dimension as usize);
        place.write(found.map_or(lig_string::NONE, |name| lig_string::of(name)));
        Ok(())
    })
}

/// The unit of an array's elements, in the value's memory; its `data` is NULL if they have none.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_value_array_unit(
    value: *const lig_value,
    text: *mut lig_string,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let place = unsafe { out(text, "text") }?;
        place.write(unsafe { array(value) }?.unit().map_or(lig_string::NONE, lig_string::of));
        Ok(())
    })
}

/// Settings as a map of truth values, integers, numbers, texts and lists of them. The map belongs to the
/// caller: free it with `lig_value_free`. `LIG_ERR_UNEXPECTED` if the value is something else.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_value_settings(
    value: *const lig_value,
    map: *mut *mut lig_value,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let place = unsafe { out(map, "map") }?;
        place.write(std::ptr::null_mut());
        match unsafe { tree(value) }? {
            Value::Settings(entries) => {
                let entries = entries.iter().map(|(name, value)| (name.clone(), plain(value))).collect();
                place.write(crate::builders::give(Value::Map(entries)));
                Ok(())
            }
            other => Err(not(other, "settings")),
        }
    })
}

/// Returns a setting of a message as a plain value.
fn plain(setting: &ligament_wire::SettingValue) -> Value {
    use ligament_wire::SettingValue as Wire;
    match setting {
        Wire::Bool(truth) => Value::Bool(*truth),
        Wire::Int(integer) => Value::Int(*integer),
        Wire::Float(number) => Value::Float(*number),
        Wire::String(text) => Value::String(text.clone()),
        Wire::IntList(list) => Value::List(list.iter().map(|&integer| Value::Int(integer)).collect()),
        Wire::FloatList(list) => floats(list),
        Wire::FloatGrid(rows) => Value::List(rows.iter().map(|row| floats(row)).collect()),
    }
}

fn floats(list: &[f64]) -> Value {
    Value::List(list.iter().map(|&number| Value::Float(number)).collect())
}

/// Returns the core's settings as a map of plain values.
pub(crate) fn of_settings(settings: &Settings) -> Value {
    let value = |setting: &SettingValue| match setting {
        SettingValue::Bool(truth) => Value::Bool(*truth),
        SettingValue::Int(integer) => Value::Int(*integer),
        SettingValue::Float(number) => Value::Float(*number),
        SettingValue::Str(text) => Value::String(text.clone()),
        SettingValue::IntList(list) => Value::List(list.iter().map(|&integer| Value::Int(integer)).collect()),
        SettingValue::FloatList(list) => floats(list),
        SettingValue::FloatListList(rows) => Value::List(rows.iter().map(|row| floats(row)).collect()),
    };
    Value::Map(settings.iter().map(|(name, setting)| (name.to_string(), value(setting))).collect())
}
