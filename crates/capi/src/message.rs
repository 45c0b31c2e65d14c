//! A message that was received: its times, its value, its arrays.

use crate::array::lig_array_view;
use crate::options::lig_times;
use crate::status::{guard, guard_or, lig_error, lig_status, null, out};
use crate::values::{handle, lig_value, of_settings};
use ligament_instance::{Error, Message, Value};
use std::cell::UnsafeCell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// A message that was received. Arrays in it are read-only views of where their sender put them. It may be read
/// by several threads, and be freed by any.
pub struct lig_message {
    /// Changed only by who receives it and by who frees it, when nobody else has it.
    content: UnsafeCell<Content>,
    /// True if it belongs to a pool, which uses it again.
    pooled: bool,
    /// In a pool: nobody uses it. Its instance may look at this at any time.
    free: AtomicBool,
}

/// The content of a message.
pub(crate) struct Content {
    pub message: Message,
    /// The overlay that came with it, as a map; made only where the instance asked for it.
    settings: Option<Box<Value>>,
}

impl lig_message {
    fn new(pooled: bool) -> NonNull<lig_message> {
        let content = UnsafeCell::new(Content { message: Message::default(), settings: None });
        let message = lig_message { content, pooled, free: AtomicBool::new(false) };
        NonNull::from(Box::leak(Box::new(message)))
    }

    /// The content, to be changed.
    ///
    /// # Safety
    /// No other reference to the message is in use.
    #[allow(clippy::mut_from_ref)] // The caller promises that it is the only one.
    #[inline(always)]
    pub(crate) unsafe fn content(&self) -> &mut Content {
        // SAFETY: as the caller promises.
        unsafe { &mut *self.content.get() }
    }
}

impl Content {
    /// The message to receive into.
    #[inline]
    pub(crate) fn inner(&mut self) -> &mut Message {
        &mut self.message
    }

    /// Makes it ready for the caller.
    #[inline(always)]
    pub(crate) fn complete(&mut self) {
        if self.message.settings.is_some() {
            self.take_settings();
        }
    }

    #[cold]
    fn take_settings(&mut self) {
        self.settings = self.message.settings.take().map(|settings| Box::new(of_settings(&settings)));
    }
}

/// The messages of an instance that are used again and again, so that an ordinary receive allocates nothing.
/// Their users may free them from any thread.
#[derive(Default)]
pub(crate) struct MessagePool {
    messages: Vec<NonNull<lig_message>>,
    next: usize,
}

// SAFETY: messages may be used by any thread.
unsafe impl Send for MessagePool {}

/// The number of messages that a pool keeps; a caller that holds more at a time gets boxes of their own.
const POOLED: usize = 16;

impl MessagePool {
    /// A message to receive into. Free it with `free`.
    #[inline]
    pub fn take(&mut self) -> NonNull<lig_message> {
        if let Some(&message) = self.messages.get(self.next) {
            // SAFETY: messages of a pool live as long as it does.
            let free = unsafe { &(*message.as_ptr()).free };
            if free.load(Ordering::Acquire) {
                free.store(false, Ordering::Relaxed);
                return message;
            }
        }
        self.take_another()
    }

    /// A message of the pool that is this one, for the caller.
    pub fn give(&mut self, message: Message) -> *mut lig_message {
        let taken = self.take();
        // SAFETY: nobody else has it until it is given to the caller.
        let content = unsafe { taken.as_ref().content() };
        content.message = message;
        content.complete();
        taken.as_ptr()
    }

    #[cold]
    fn take_another(&mut self) -> NonNull<lig_message> {
        for (i, &message) in self.messages.iter().enumerate() {
            // SAFETY: as above.
            let free = unsafe { &(*message.as_ptr()).free };
            if free.load(Ordering::Acquire) {
                free.store(false, Ordering::Relaxed);
                self.next = i;
                return message;
            }
        }
        let pooled = self.messages.len() < POOLED;
        let message = lig_message::new(pooled);
        if pooled {
            self.next = self.messages.len();
            self.messages.push(message);
        }
        message
    }
}

/// Messages that outlive their instance: kept reachable, since their users may still free them.
static ORPHANS: Mutex<Vec<usize>> = Mutex::new(Vec::new());

impl Drop for MessagePool {
    fn drop(&mut self) {
        for message in self.messages.drain(..) {
            // SAFETY: as above; a message that is free is used by nobody, so that it can go.
            unsafe {
                if message.as_ref().free.load(Ordering::Acquire) {
                    drop(Box::from_raw(message.as_ptr()));
                } else {
                    ORPHANS.lock().unwrap_or_else(PoisonError::into_inner).push(message.as_ptr() as usize);
                }
            }
        }
    }
}

/// Gives a message back.
///
/// # Safety
/// `message` comes from `MessagePool::take` and is not used any more.
#[inline]
pub(crate) unsafe fn free(message: NonNull<lig_message>) {
    // SAFETY: as the caller promises.
    let here = unsafe { message.as_ref() };
    if !here.pooled {
        // SAFETY: made by `new`, and in no pool.
        drop(unsafe { Box::from_raw(message.as_ptr()) });
        return;
    }
    // SAFETY: nobody uses it any more, as the caller promises; its instance looks at `free` only.
    let content = unsafe { here.content() };
    content.message.data.let_go();
    content.settings = None;
    // The last thing done with it: its instance may use it again, or free it.
    here.free.store(true, Ordering::Release);
}

/// # Safety
/// `message` is NULL or valid for `'a`.
#[inline]
pub(crate) unsafe fn received<'a>(message: *const lig_message) -> Result<&'a Content, Error> {
    // SAFETY: as the caller promises; while the message is the caller's its content does not change.
    unsafe { message.as_ref().map(|message| &*message.content.get()) }.ok_or_else(|| null("message"))
}

/// Frees a message, and gives back the memory that its arrays are in. NULL is allowed.
///
/// # Safety
/// `message` is NULL, or was received and not freed.
#[no_mangle]
pub unsafe extern "C" fn lig_message_free(message: *mut lig_message) {
    guard_or((), || {
        if let Some(message) = NonNull::new(message) {
            // SAFETY: all pointers are as the caller promises, here and in all functions below.
            unsafe { free(message) };
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
    match unsafe { received(message) } {
        Ok(content) => handle(&content.message.data),
        Err(_) => std::ptr::null(),
    }
}

/// A message's array, in place. It lives as long as the message.
///
/// `LIG_ERR_UNEXPECTED` if the message holds something else. `lig_expect_array` can ask for more.
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
        let array = unsafe { received(message) }?.message.array()?;
        lig_array_view::write(place, array);
        Ok(())
    })
}

/// The overlay of settings that came with a message, as a map, which lives as long as the message. NULL unless
/// the instance was made with `LIG_DONT_APPLY_OVERLAY`.
///
/// # Safety
/// `message` is NULL or valid.
#[no_mangle]
pub unsafe extern "C" fn lig_message_settings(message: *const lig_message) -> *const lig_value {
    match unsafe { received(message) } {
        Ok(Content { settings: Some(settings), .. }) => handle(settings),
        _ => std::ptr::null(),
    }
}
