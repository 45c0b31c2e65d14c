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

/// A received message. Its arrays are read-only views of the memory into which their sender put them. Several
/// threads may read a message, and any thread may free it.
pub struct lig_message {
    /// Changed only by the call that receives the message and by the call that frees it, when no other thread
    /// has it.
    content: UnsafeCell<Content>,
    /// True if the message belongs to a pool, which uses it again.
    pooled: bool,
    /// True if the message is in a pool and unused. Its instance may read this at any time.
    free: AtomicBool,
}

/// The content of a message.
pub(crate) struct Content {
    pub message: Message,
    /// The overlay that came with the message, as a map; made only if the instance asked for it.
    settings: Option<Box<Value>>,
}

impl lig_message {
    fn new(pooled: bool) -> NonNull<lig_message> {
        let content = UnsafeCell::new(Content { message: Message::default(), settings: None });
        let message = lig_message { content, pooled, free: AtomicBool::new(false) };
        NonNull::from(Box::leak(Box::new(message)))
    }

    /// Returns the content, to be changed.
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
    /// Returns the message to receive into.
    #[inline]
    pub(crate) fn inner(&mut self) -> &mut Message {
        &mut self.message
    }

    /// Makes the map of the overlay, if there is one. The message is then ready for the caller.
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

/// Messages that an instance uses again and again, so that an ordinary receive allocates nothing. Any thread
/// may free them.
#[derive(Default)]
pub(crate) struct MessagePool {
    messages: Vec<NonNull<lig_message>>,
    next: usize,
}

// SAFETY: any thread may use a message.
unsafe impl Send for MessagePool {}

/// Number of messages in a pool. If a caller holds more at a time, each of the others is allocated.
const POOLED: usize = 16;

impl MessagePool {
    /// Returns a message to receive into. Free it with `free`.
    #[inline]
    pub fn take(&mut self) -> NonNull<lig_message> {
        if let Some(&message) = self.messages.get(self.next) {
            // SAFETY: the messages of a pool live as long as the pool.
            let free = unsafe { &(*message.as_ptr()).free };
            if free.load(Ordering::Acquire) {
                free.store(false, Ordering::Relaxed);
                return message;
            }
        }
        self.take_another()
    }

    /// Moves a message into one of the pool, for the caller.
    pub fn give(&mut self, message: Message) -> *mut lig_message {
        let taken = self.take();
        // SAFETY: no other code has the message until the caller gets it.
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

/// Messages that outlive their instance. The list keeps them reachable, because the caller may still free them.
static ORPHANS: Mutex<Vec<usize>> = Mutex::new(Vec::new());

impl Drop for MessagePool {
    fn drop(&mut self) {
        for message in self.messages.drain(..) {
            // SAFETY: as above. Nobody uses a message that is free, so it can be dropped.
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
        // SAFETY: `new` made the message, and it is in no pool.
        drop(unsafe { Box::from_raw(message.as_ptr()) });
        return;
    }
    // SAFETY: nobody uses the message any more, as the caller promises. Its instance reads only `free`.
    let content = unsafe { here.content() };
    content.message.data.let_go();
    content.settings = None;
    // This store comes last: afterwards the instance may use the message again, or free it.
    here.free.store(true, Ordering::Release);
}

/// # Safety
/// `message` is NULL or valid for `'a`.
#[inline]
pub(crate) unsafe fn received<'a>(message: *const lig_message) -> Result<&'a Content, Error> {
    // SAFETY: as the caller promises. The content does not change while the caller has the message.
    unsafe { message.as_ref().map(|message| &*message.content.get()) }.ok_or_else(|| null("message"))
}

/// Frees a message, and returns the memory of its arrays. NULL is allowed.
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

/// The array of a message, in place. It lives as long as the message.
///
/// `LIG_ERR_UNEXPECTED` if the message holds something else. `lig_expect_array` also checks the properties of
/// the array.
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

/// The overlay of settings that came with a message, as a map, which lives as long as the message. The result
/// is NULL unless the instance was made with `LIG_DONT_APPLY_OVERLAY`, or `lig_receive_with_settings` received
/// the message.
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
