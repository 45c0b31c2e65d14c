//! Settings, by name and type.

use crate::instance::{lig_instance, used};
use crate::misuse::Misuse;
use crate::ports::lig_names;
use crate::status::{guard, lig_error, lig_status, name, out};
use ligament_instance::{Call, Error, SettingType, SettingValue};
use std::ffi::{c_char, CString};

/// The type of a setting.
#[repr(i32)]
pub enum lig_setting_type {
    LIG_SETTING_BOOL = 1,
    LIG_SETTING_INT = 2,
    LIG_SETTING_FLOAT = 3,
    LIG_SETTING_STRING = 4,
    /// A list of integers.
    LIG_SETTING_INT_LIST = 5,
    /// A list of numbers.
    LIG_SETTING_FLOAT_LIST = 6,
    /// A list of lists of numbers.
    LIG_SETTING_FLOAT_GRID = 7,
}

/// A row of a setting that is a list of lists of numbers.
#[repr(C)]
pub struct lig_float_row {
    /// The numbers.
    pub values: *const f64,
    /// Number of values.
    pub count: usize,
}

/// A setting of which the caller has a pointer. It is kept until the same name is asked for again.
pub(crate) struct HandedOut {
    value: SettingValue,
    /// The text of `value` with a NUL at its end, if `value` is a text.
    text: CString,
    /// Pointers to the rows of `value`, if `value` is a list of lists.
    rows: Vec<lig_float_row>,
}

/// # Safety
/// As `used`; `setting` is NULL or ends with a NUL.
unsafe fn get(
    instance: *mut lig_instance,
    call: &'static Call,
    setting: *const c_char,
    wanted: SettingType,
) -> Result<SettingValue, Error> {
    // SAFETY: all pointers are as the caller promises, here and in all functions below.
    unsafe { used(instance, call) }?.get_setting(unsafe { name(setting, "the setting's name") }?, Some(wanted))
}

/// Returns a setting whose value the handle keeps. The earlier value of this name stays in place if it has not
/// changed.
///
/// # Safety
/// As `get`.
unsafe fn keep<'a>(
    instance: *mut lig_instance,
    call: &'static Call,
    setting: *const c_char,
    wanted: SettingType,
) -> Result<&'a HandedOut, Error> {
    let name = unsafe { name(setting, "the setting's name") }?;
    let instance = unsafe { used(instance, call) }?;
    let value = instance.get_setting(name, Some(wanted))?;
    let all = &mut instance.own.kept;
    // A setting may be asked for as two types: integers also as numbers.
    let key = format!("{name}:{}", wanted.name());
    let same = all.get(&key).is_some_and(|kept| kept.value == value);
    if !same {
        let text = match &value {
            SettingValue::Str(text) => {
                CString::new(text.as_str()).map_err(|_| Misuse::NulInSetting { name: name.to_owned() })?
            }
            _ => CString::default(),
        };
        all.insert(key.clone(), HandedOut { value, text, rows: Vec::new() });
        let kept = all.get_mut(&key).expect("it was just put in");
        if let SettingValue::FloatListList(rows) = &kept.value {
            kept.rows =
                rows.iter().map(|row| lig_float_row { values: row.as_ptr(), count: row.len() }).collect();
        }
    }
    Ok(&all[&key])
}

/// Returns the error for a setting of another type than the requested one, which the core never gives.
#[cold]
fn confused(setting: &str) -> Error {
    Misuse::Confused { wanted: setting.to_owned() }.into()
}

/// The type of a setting. `LIG_ERR_SETTING_UNSET` if it is not set for this instance.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_get_setting_type(
    instance: *mut lig_instance,
    setting: *const c_char,
    setting_type: *mut lig_setting_type,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let place = unsafe { out(setting_type, "setting_type") }?;
        let setting = unsafe { name(setting, "the setting's name") }?;
        place.write(
            match unsafe { used(instance, &Call("lig_get_setting_type")) }?
                .get_setting(setting, None)?
                .setting_type()
            {
                SettingType::Bool => lig_setting_type::LIG_SETTING_BOOL,
                SettingType::Int => lig_setting_type::LIG_SETTING_INT,
                SettingType::Float => lig_setting_type::LIG_SETTING_FLOAT,
                SettingType::Str => lig_setting_type::LIG_SETTING_STRING,
                SettingType::IntList => lig_setting_type::LIG_SETTING_INT_LIST,
                SettingType::FloatList => lig_setting_type::LIG_SETTING_FLOAT_LIST,
                SettingType::FloatListList => lig_setting_type::LIG_SETTING_FLOAT_GRID,
            },
        );
        Ok(())
    })
}

/// The names of the settings that this instance can ask for. Free the list with `lig_names_free`.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_list_settings(
    instance: *mut lig_instance,
    names: *mut *mut lig_names,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let place = unsafe { out(names, "names") }?;
        place.write(std::ptr::null_mut());
        place.write(lig_names::give(&unsafe { used(instance, &Call("lig_list_settings")) }?.list_settings())?);
        Ok(())
    })
}

/// A setting that is true or false. `LIG_ERR_SETTING_UNSET`; `LIG_ERR_SETTING_TYPE`.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_get_setting_bool(
    instance: *mut lig_instance,
    setting: *const c_char,
    value: *mut bool,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let place = unsafe { out(value, "value") }?;
        match unsafe { get(instance, &Call("lig_get_setting_bool"), setting, SettingType::Bool) }? {
            SettingValue::Bool(truth) => place.write(truth),
            _ => return Err(confused("a truth value")),
        };
        Ok(())
    })
}

/// A setting that is an integer. `LIG_ERR_SETTING_UNSET`; `LIG_ERR_SETTING_TYPE`.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_get_setting_int(
    instance: *mut lig_instance,
    setting: *const c_char,
    value: *mut i64,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let place = unsafe { out(value, "value") }?;
        match unsafe { get(instance, &Call("lig_get_setting_int"), setting, SettingType::Int) }? {
            SettingValue::Int(integer) => place.write(integer),
            _ => return Err(confused("an integer")),
        };
        Ok(())
    })
}

/// A setting that is a number, also an integer. `LIG_ERR_SETTING_UNSET`; `LIG_ERR_SETTING_TYPE`.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_get_setting_float(
    instance: *mut lig_instance,
    setting: *const c_char,
    value: *mut f64,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let place = unsafe { out(value, "value") }?;
        match unsafe { get(instance, &Call("lig_get_setting_float"), setting, SettingType::Float) }? {
            SettingValue::Float(number) => place.write(number),
            _ => return Err(confused("a number")),
        };
        Ok(())
    })
}

/// A setting that is text, ended by a NUL. It stays valid until this setting is asked for again or the instance
/// is freed. `LIG_ERR_SETTING_UNSET`; `LIG_ERR_SETTING_TYPE`.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_get_setting_string(
    instance: *mut lig_instance,
    setting: *const c_char,
    value: *mut *const c_char,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let place = unsafe { out(value, "value") }?;
        place.write(
            unsafe { keep(instance, &Call("lig_get_setting_string"), setting, SettingType::Str) }?
                .text
                .as_ptr(),
        );
        Ok(())
    })
}

/// A setting that is a list of integers. It stays valid until this setting is asked for again or the instance
/// is freed. `LIG_ERR_SETTING_UNSET`; `LIG_ERR_SETTING_TYPE`.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_get_setting_int_list(
    instance: *mut lig_instance,
    setting: *const c_char,
    values: *mut *const i64,
    count: *mut usize,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let (values, count) = (unsafe { out(values, "values") }?, unsafe { out(count, "count") }?);
        match &unsafe { keep(instance, &Call("lig_get_setting_int_list"), setting, SettingType::IntList) }?
            .value
        {
            SettingValue::IntList(list) => {
                values.write(list.as_ptr());
                count.write(list.len());
                Ok(())
            }
            _ => Err(confused("a list of integers")),
        }
    })
}

/// A setting that is a list of numbers, also of integers. It stays valid until this setting is asked for again
/// or the instance is freed. `LIG_ERR_SETTING_UNSET`; `LIG_ERR_SETTING_TYPE`.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_get_setting_float_list(
    instance: *mut lig_instance,
    setting: *const c_char,
    values: *mut *const f64,
    count: *mut usize,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let (values, count) = (unsafe { out(values, "values") }?, unsafe { out(count, "count") }?);
        match &unsafe { keep(instance, &Call("lig_get_setting_float_list"), setting, SettingType::FloatList) }?
            .value
        {
            SettingValue::FloatList(list) => {
                values.write(list.as_ptr());
                count.write(list.len());
                Ok(())
            }
            _ => Err(confused("a list of numbers")),
        }
    })
}

/// A setting that is a list of lists of numbers: its rows, which may be of different lengths. It stays valid
/// until this setting is asked for again or the instance is freed. `LIG_ERR_SETTING_UNSET`;
/// `LIG_ERR_SETTING_TYPE`.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_get_setting_float_grid(
    instance: *mut lig_instance,
    setting: *const c_char,
    rows: *mut *const lig_float_row,
    count: *mut usize,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let (rows, count) = (unsafe { out(rows, "rows") }?, unsafe { out(count, "count") }?);
        let kept = unsafe {
            keep(instance, &Call("lig_get_setting_float_grid"), setting, SettingType::FloatListList)
        }?;
        rows.write(kept.rows.as_ptr());
        count.write(kept.rows.len());
        Ok(())
    })
}
