//! A message that was received: its times, its value, its arrays.

use crate::array::lig_array_view;
use crate::options::lig_times;
use crate::status::{guard, guard_or, lig_error, lig_status, null, out};
use crate::values::{handle, lig_value, of_settings};
use ligament_instance::{Error, Message, Value};

/// A message that was received. Arrays in it are read-only views of where their sender put them. It may be read by
/// several threads, and be freed by any.
pub struct lig_message {
    pub(crate) message: Message,
    /// The overlay that came with it, as a map; made only where the instance asked for it.
    settings: Option<Box<Value>>,
}

impl lig_message {
    /// A message to receive into.
    #[inline]
    pub(crate) fn empty() -> Box<lig_message> {
        Box::new(lig_message { message: Message::default(), settings: None })
    }

    /// What is received into.
    #[inline]
    pub(crate) fn inner(&mut self) -> &mut Message {
        &mut self.message
    }

    /// Gives the message to the caller.
    #[inline]
    pub(crate) fn give(mut self: Box<Self>) -> *mut lig_message {
        if let Some(settings) = self.message.settings.take() {
            self.settings = Some(Box::new(of_settings(&settings)));
        }
        Box::into_raw(self)
    }
}

/// # Safety
/// `message` is NULL or valid for `'a`.
#[inline]
unsafe fn received<'a>(message: *const lig_message) -> Result<&'a lig_message, Error> {
    // SAFETY: as the caller promises.
    unsafe { message.as_ref() }.ok_or_else(|| null("message"))
}

/// Frees a message, and gives back the memory that its arrays are in. NULL is allowed.
///
/// # Safety
/// `message` is NULL, or was received and not freed.
#[no_mangle]
pub unsafe extern "C" fn lig_message_free(message: *mut lig_message) {
    guard_or((), || {
        if !message.is_null() {
            // SAFETY: all pointers are as the caller promises, here and in all functions below.
            drop(unsafe { Box::from_raw(message) });
        }
    });
}

/// The times of a message.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_message_times(
    message: *const lig_message,
    times: *mut lig_times,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let place = unsafe { out(times, "times") }?;
        place.write(unsafe { received(message) }?.message.times().into());
        Ok(())
    })
}

/// The value of a message, which lives as long as the message; NULL for NULL.
///
/// # Safety
/// `message` is NULL or valid.
#[no_mangle]
pub unsafe extern "C" fn lig_message_value(message: *const lig_message) -> *const lig_value {
    match unsafe { message.as_ref() } {
        Some(message) => handle(&message.message.data),
        None => std::ptr::null(),
    }
}

/// A message's array, in place. It lives as long as the message.
///
/// `LIG_ERR_UNEXPECTED` if the message holds something else.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_message_array(
    message: *const lig_message,
    view: *mut lig_array_view,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let place = unsafe { out(view, "view") }?;
        place.write(lig_array_view::of(unsafe { received(message) }?.message.array()?));
        Ok(())
    })
}

/// The overlay of settings that came with a message, as a map, which lives as long as the message. NULL unless the
/// instance was made with `dont_apply_overlay`.
///
/// # Safety
/// `message` is NULL or valid.
#[no_mangle]
pub unsafe extern "C" fn lig_message_settings(message: *const lig_message) -> *const lig_value {
    match unsafe { message.as_ref() } {
        Some(lig_message { settings: Some(settings), .. }) => handle(settings),
        _ => std::ptr::null(),
    }
}
