//! Sending: values, arrays over the caller's memory, loans.

use crate::array::{describe, lent, lig_array, plain, CallersArray, LIG_MAX_DIMS, MAX_ADDRESSABLE_BYTES};
use crate::builders::overlay;
use crate::instance::{lig_instance, used, Own};
use crate::misuse::Misuse;
use crate::options::{dtype as element_type, lig_bool, lig_dtype_code, lig_send_options, read};
use crate::status::{
    complain, guard, guard_or, lig_error, lig_status, name, null, out, port_name, wanted, NameInPlace,
};
use crate::values::{lig_value, tree};
use ligament_instance::{
    ArrayMeta, ArrayOrder, Call, Error, Instance, Loan, MessageTimes, Outgoing, Settings, ValueRef,
};
use std::ffi::{c_char, c_void};

/// Sends a value; NULL sends a message without a value. Returns as soon as the value is stored: the caller may
/// then change its memory. Blocks only while the conduit's budget is spent. Does nothing if the port is not
/// connected.
///
/// `LIG_ERR_USAGE` if there is no such port, or if it does not send; `LIG_ERR_OUT_OF_MEMORY`;
/// `LIG_ERR_RUN_ENDS`; `LIG_ERR_INTERRUPTED`.
///
/// # Safety
/// `instance` and `port` are valid; `options`, `value` and `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_send(
    instance: *mut lig_instance,
    port: *const c_char,
    options: *const lig_send_options,
    value: *const lig_value,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        // SAFETY: all pointers are as the caller promises, here and in all functions below.
        let data = if value.is_null() { ValueRef::None } else { ValueRef::Owned(unsafe { tree(value) }?) };
        unsafe { send(instance, &Call("lig_send"), port, options, data) }
    })
}

/// Sends a truth value; otherwise as `lig_send`.
///
/// # Safety
/// As `lig_send`.
#[no_mangle]
pub unsafe extern "C" fn lig_send_bool(
    instance: *mut lig_instance,
    port: *const c_char,
    options: *const lig_send_options,
    value: lig_bool,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || unsafe {
        send(instance, &Call("lig_send_bool"), port, options, ValueRef::Bool(value != 0))
    })
}

/// Sends an integer; otherwise as `lig_send`.
///
/// # Safety
/// As `lig_send`.
#[no_mangle]
pub unsafe extern "C" fn lig_send_int(
    instance: *mut lig_instance,
    port: *const c_char,
    options: *const lig_send_options,
    value: i64,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || unsafe { send(instance, &Call("lig_send_int"), port, options, ValueRef::Int(value)) })
}

/// Sends a number; otherwise as `lig_send`.
///
/// # Safety
/// As `lig_send`.
#[no_mangle]
pub unsafe extern "C" fn lig_send_float(
    instance: *mut lig_instance,
    port: *const c_char,
    options: *const lig_send_options,
    value: f64,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || unsafe { send(instance, &Call("lig_send_float"), port, options, ValueRef::Float(value)) })
}

/// Sends text that ends with a NUL; otherwise as `lig_send`.
///
/// # Safety
/// All pointers are valid; `options` and `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_send_string(
    instance: *mut lig_instance,
    port: *const c_char,
    options: *const lig_send_options,
    text: *const c_char,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let text = unsafe { name(text, "text") }?;
        unsafe { send(instance, &Call("lig_send_string"), port, options, ValueRef::Str(text)) }
    })
}

/// Sends bytes; otherwise as `lig_send`.
///
/// # Safety
/// All pointers are valid; `data` has `size` bytes, and may be NULL if that is 0. `options` and `error` may be
/// NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_send_bytes(
    instance: *mut lig_instance,
    port: *const c_char,
    options: *const lig_send_options,
    data: *const c_void,
    size: usize,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let bytes = unsafe { bytes(data, size) }?;
        unsafe { send(instance, &Call("lig_send_bytes"), port, options, ValueRef::Bytes(bytes)) }
    })
}

/// Sends an array in the caller's memory, with one copy; otherwise as `lig_send`.
///
/// # Safety
/// All pointers are valid, and `array` describes readable memory; `options` and `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_send_array(
    instance: *mut lig_instance,
    port: *const c_char,
    options: *const lig_send_options,
    array: *const lig_array,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let options = unsafe { read(options) }?;
        let port = unsafe { port_name(port) }?;
        let mut instance = unsafe { used(instance, &Call("lig_send_array")) }?;
        if options.settings.is_null() && options.has_slot == 0 {
            let array = unsafe { CallersArray::new(array) };
            if instance.send_array_as_before(port, options.times(), array) {
                return Ok(());
            }
        }
        unsafe { send_other_array(&mut instance, port, &options, array) }
    })
}

/// Sends an array that differs in kind from the one before it.
///
/// # Safety
/// As `lig_send_array`.
#[inline(never)]
unsafe fn send_other_array(
    instance: &mut Instance,
    port: NameInPlace<'_>,
    options: &lig_send_options,
    array: *const lig_array,
) -> Result<(), Error> {
    if options.settings.is_null() {
        if let Some(array) = unsafe { plain(array) } {
            return instance.send_array(port, options.times(), array, options.slot());
        }
    }
    let (described, array) = unsafe { describe(array) }?;
    let array = ValueRef::Array(unsafe { lent(&described, array) }?);
    unsafe { send_described(instance, port, options, array) }
}

/// # Safety
/// As `lig_send`.
#[inline]
unsafe fn send(
    instance: *mut lig_instance,
    call: &'static Call,
    port: *const c_char,
    options: *const lig_send_options,
    data: ValueRef<'_>,
) -> Result<(), Error> {
    let options = unsafe { read(options) }?;
    let port = unsafe { port_name(port) }?;
    let mut instance = unsafe { used(instance, call) }?;
    unsafe { send_described(&mut instance, port, &options, data) }
}

/// # Safety
/// As `lig_send`.
#[inline]
unsafe fn send_described(
    instance: &mut Instance,
    port: NameInPlace<'_>,
    options: &lig_send_options,
    data: ValueRef<'_>,
) -> Result<(), Error> {
    if options.settings.is_null() {
        return send_under(instance, port, options, data, None);
    }
    let overlay = unsafe { overlay(options.settings) }?;
    send_under(instance, port, options, data, Some(&overlay))
}

#[inline]
fn send_under(
    instance: &mut Instance,
    port: NameInPlace<'_>,
    options: &lig_send_options,
    data: ValueRef<'_>,
    settings: Option<&Settings>,
) -> Result<(), Error> {
    let MessageTimes { timestamp, next_timestamp } = options.times();
    let message = Outgoing { timestamp, next_timestamp, data, settings };
    instance.send(port, &message, options.slot())
}

/// Returns bytes of the caller.
///
/// # Safety
/// `data` has `size` readable bytes for `'a`.
pub(crate) unsafe fn bytes<'a>(data: *const c_void, size: usize) -> Result<&'a [u8], Error> {
    match (size, data.is_null()) {
        (0, _) => Ok(&[]),
        (_, true) => Err(null("data")),
        _ if size as u64 > MAX_ADDRESSABLE_BYTES => Err(Misuse::AbsurdSize { size }.into()),
        _ => Ok(unsafe { std::slice::from_raw_parts(data.cast(), size) }),
    }
}

/// Memory for an array: fill it, then send it with `lig_send_loan`. The receiver reads more than 64 KiB in
/// place. Several threads may write to it at once, each to its own elements; they must have finished before the
/// loan is sent or freed.
pub struct lig_loan {
    /// `None` in a handle that waits for its next loan.
    loan: Option<Loan>,
    /// The instance that lent the memory. The pointer is only compared.
    lender: *const lig_instance,
}

/// Handles of loans that were sent or freed, kept for the next loans. None of them is freed before the
/// instance, so a loan that is sent or freed twice is always recognised.
#[allow(clippy::vec_box)] // they keep their place: the caller knows them by it
#[derive(Default)]
pub(crate) struct SpareLoans(Vec<Box<lig_loan>>);

impl Own {
    #[inline]
    fn give_loan(&mut self, loan: Loan, lender: *const lig_instance) -> *mut lig_loan {
        match self.spare_loans.0.pop() {
            Some(mut handle) => {
                handle.loan = Some(loan);
                Box::into_raw(handle)
            }
            None => Box::into_raw(Box::new(lig_loan { loan: Some(loan), lender })),
        }
    }

    /// # Safety
    /// `handle` was made by `give_loan` of a live instance.
    #[inline]
    unsafe fn take_loan(&mut self, handle: *mut lig_loan, by: *const lig_instance) -> Result<Loan, Error> {
        // SAFETY: as the caller promises; the handle of a loan that was taken before is among the spare ones.
        if unsafe { (*handle).lender } != by {
            return Err(Misuse::LoanOfAnother.into());
        }
        // SAFETY: as above.
        let Some(loan) = (unsafe { &mut (*handle).loan }).take() else {
            return Err(Misuse::LoanUsed.into());
        };
        // SAFETY: made by `Box::into_raw` in `give_loan`.
        let handle = unsafe { Box::from_raw(handle) };
        self.spare_loans.0.push(handle);
        Ok(loan)
    }
}

/// Lends memory for an array in row-major order. The code fills it, and it is sent without a copy (up to 64 KiB
/// with one, which is faster). `data` is set to the first byte, which is 64-byte aligned. New memory holds
/// arbitrary bytes.
///
/// `LIG_ERR_OUT_OF_MEMORY`; `LIG_ERR_USAGE` if the shape is not possible.
///
/// # Safety
/// All pointers are valid, `shape` for `ndim` extents; `data` and `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_loan_create(
    instance: *mut lig_instance,
    dtype: lig_dtype_code,
    ndim: u32,
    shape: *const u64,
    loan: *mut *mut lig_loan,
    data: *mut *mut c_void,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let shape = match (ndim, shape.is_null()) {
            (0, _) => &[],
            (_, true) => return Err(null("shape")),
            _ => unsafe { std::slice::from_raw_parts(shape, (ndim as usize).min(LIG_MAX_DIMS + 1)) },
        };
        let place = unsafe { out(loan, "loan") }?;
        place.write(std::ptr::null_mut());
        let mut used = unsafe { used(instance, &Call("lig_loan_create")) }?;
        let lent = used.loan(element_type(dtype)?, shape, ArrayOrder::RowMajor)?;
        if let Some(data) = unsafe { wanted(data) } {
            data.write(lent.start().cast());
        }
        place.write(used.own.give_loan(lent, instance));
        Ok(())
    })
}

/// Does the same as `lig_loan_create`, for an array with the type, shape, order, names and unit of the
/// description. The description's data is not read, and its strides must be NULL.
///
/// # Safety
/// All pointers are valid; `data` and `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_loan_create_like(
    instance: *mut lig_instance,
    array: *const lig_array,
    loan: *mut *mut lig_loan,
    data: *mut *mut c_void,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let place = unsafe { out(loan, "loan") }?;
        place.write(std::ptr::null_mut());
        let (described, array) = unsafe { describe(array) }?;
        if !array.strides.is_null() {
            return Err(Misuse::LoanWithStrides.into());
        }
        let meta = (!described.names.is_empty() || described.unit.is_some()).then(|| ArrayMeta {
            names: described.names,
            unit: described.unit.map(str::to_owned),
            strides: None,
        });
        let mut used = unsafe { used(instance, &Call("lig_loan_create_like")) }?;
        let lent = used.loan_with(described.dtype, described.shape, described.order, meta)?;
        if let Some(data) = unsafe { wanted(data) } {
            data.write(lent.start().cast());
        }
        place.write(used.own.give_loan(lent, instance));
        Ok(())
    })
}

/// The first byte of a loan, 64-byte aligned; NULL for NULL.
///
/// # Safety
/// `loan` is NULL or valid.
#[no_mangle]
pub unsafe extern "C" fn lig_loan_data(loan: *mut lig_loan) -> *mut c_void {
    match unsafe { loan.as_ref() } {
        Some(lig_loan { loan: Some(loan), .. }) => loan.start().cast(),
        _ => std::ptr::null_mut(),
    }
}

/// Sends the array of a loan, without a copy if it has more than 64 KiB; otherwise as `lig_send`. The loan is
/// gone afterwards, also after an error, and its memory must not be used any more. (Exception: a call that is
/// refused because another one is in progress leaves the loan.)
///
/// # Safety
/// All pointers are valid; `options` and `error` may be NULL. `loan` was made with this instance and neither
/// sent nor freed.
#[no_mangle]
pub unsafe extern "C" fn lig_send_loan(
    instance: *mut lig_instance,
    port: *const c_char,
    options: *const lig_send_options,
    loan: *mut lig_loan,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        if loan.is_null() {
            return Err(null("loan"));
        }
        let lender = instance;
        let mut instance = unsafe { used(instance, &Call("lig_send_loan")) }?;
        let loan = unsafe { instance.own.take_loan(loan, lender) }?;
        let checked = unsafe { read(options) }.and_then(|options| {
            let port = unsafe { port_name(port) }?;
            let under =
                if options.settings.is_null() { None } else { Some(unsafe { overlay(options.settings) }?) };
            Ok((options, port, under))
        });
        match checked {
            Ok((options, port, under)) => {
                instance.send_loan_under(port, options.times(), loan, options.slot(), under.as_ref())
            }
            Err(fault) => {
                instance.return_loan(loan);
                Err(fault)
            }
        }
    })
}

/// Takes a loan back without sending it. NULL is allowed. During another call of the instance this function
/// does nothing, and says so on stderr.
///
/// # Safety
/// `loan` is NULL, or was made with this instance and neither sent nor freed.
#[no_mangle]
pub unsafe extern "C" fn lig_loan_free(instance: *mut lig_instance, loan: *mut lig_loan) {
    guard_or((), || {
        if loan.is_null() {
            return;
        }
        let mut used = match unsafe { used(instance, &Call("lig_loan_free")) } {
            Ok(used) => used,
            Err(overlap) => return complain(&overlap),
        };
        if let Ok(loan) = unsafe { used.own.take_loan(loan, instance) } {
            used.return_loan(loan);
        }
    });
}
