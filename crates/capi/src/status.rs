//! The results of calls: the status, the text for people, and the border that no panic crosses.

use crate::misuse::Misuse;
use ligament_catalogue::said;
use ligament_instance::{Error, ErrorKind, PortName};
use std::any::Any;
use std::ffi::{c_char, CStr};
use std::fmt;
use std::fs::File;
use std::io::Write as _;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::os::fd::FromRawFd;
use std::panic::{catch_unwind, AssertUnwindSafe};

// A status that comes from the caller. In the header, the integer and the enumeration have one name.
pub type lig_status_code = i32;

/// The result of a call. The numbers never change.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum lig_status {
    /// The call succeeded.
    LIG_OK = 0,
    /// There is no run to join, or the run refused this instance.
    LIG_ERR_REGISTRATION = 1,
    /// The code used the library in a way that cannot work: an unknown port, a slot that is not there, NULL for
    /// a pointer that must not be NULL, a call at the wrong moment.
    LIG_ERR_USAGE = 2,
    /// A message is not what the caller asked for: another kind of value, type or shape.
    LIG_ERR_UNEXPECTED = 3,
    /// The conduit has ended: no more messages will arrive on this port.
    LIG_ERR_CLOSED = 4,
    /// A setting is not set.
    LIG_ERR_SETTING_UNSET = 5,
    /// No message arrived within the time allowed.
    LIG_ERR_TIMED_OUT = 6,
    /// The interrupt check ended the wait.
    LIG_ERR_INTERRUPTED = 7,
    /// The run has too little memory to store the message.
    LIG_ERR_OUT_OF_MEMORY = 8,
    /// The run is ending; the text gives the reason.
    LIG_ERR_RUN_ENDS = 9,
    /// The operating system failed, or another process sent wrong data.
    LIG_ERR_SYSTEM = 10,
    /// The library itself has a fault. The instance should not be used any more.
    LIG_ERR_PANIC = 11,
    /// A setting is of another type than the requested one.
    LIG_ERR_SETTING_TYPE = 12,
}

/// An error, in words for people: what, where, and what to do. The struct belongs to the caller, who may pass
/// NULL in its place. It is written only if a call does not return `LIG_OK`.
#[repr(C)]
pub struct lig_error {
    /// UTF-8, with a NUL at its end; longer texts are cut.
    pub message: [c_char; 1024],
}

/// Returns the status for an error of the core.
pub(crate) fn status_of(error: &Error) -> lig_status {
    match error.kind() {
        ErrorKind::Registration => lig_status::LIG_ERR_REGISTRATION,
        ErrorKind::Usage => lig_status::LIG_ERR_USAGE,
        ErrorKind::Unexpected => lig_status::LIG_ERR_UNEXPECTED,
        ErrorKind::Closed => lig_status::LIG_ERR_CLOSED,
        ErrorKind::SettingUnset => lig_status::LIG_ERR_SETTING_UNSET,
        ErrorKind::SettingType => lig_status::LIG_ERR_SETTING_TYPE,
        ErrorKind::TimedOut => lig_status::LIG_ERR_TIMED_OUT,
        ErrorKind::Interrupted => lig_status::LIG_ERR_INTERRUPTED,
        ErrorKind::OutOfMemory => lig_status::LIG_ERR_OUT_OF_MEMORY,
        ErrorKind::RunEnds => lig_status::LIG_ERR_RUN_ENDS,
        _ => lig_status::LIG_ERR_SYSTEM,
    }
}

/// Runs the body of an API function, and turns its error, or a panic, into a status and a text.
#[inline]
pub(crate) fn guard(error: *mut lig_error, body: impl FnOnce() -> Result<(), Error>) -> lig_status {
    // A panic may leave the instance half done, and the status says not to use it any more.
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => lig_status::LIG_OK,
        Ok(Err(fault)) => report(&fault, error),
        Err(panic) => report_panic(panic.as_ref(), error),
    }
}

/// Does the same for a function that returns a value and can only fail by a panic.
#[inline]
pub(crate) fn guard_or<T>(fallback: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(fallback)
}

#[cold]
fn report(fault: &Error, error: *mut lig_error) -> lig_status {
    write(error, fault);
    status_of(fault)
}

#[cold]
fn report_panic(panic: &(dyn Any + Send), error: *mut lig_error) -> lig_status {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no text");
    write(error, &said!(FAULT_IN_LIGAMENT, "a fault in Ligament itself, please report it: {text}"));
    lig_status::LIG_ERR_PANIC
}

/// Memory for a text. A text that is too long is cut between two characters. Nothing is allocated, because the
/// caller may be a signal handler.
struct Room<'a> {
    bytes: &'a mut [MaybeUninit<u8>],
    used: usize,
}

impl fmt::Write for Room<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let free = self.bytes.len() - self.used;
        let mut end = text.len().min(free);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        for (to, &byte) in self.bytes[self.used..].iter_mut().zip(&text.as_bytes()[..end]) {
            to.write(byte);
        }
        self.used += end;
        // A text that was cut is complete: nothing may follow.
        if end < text.len() {
            Err(fmt::Error)
        } else {
            Ok(())
        }
    }
}

/// Writes a text to the caller's error. A text that is too long is cut.
pub(crate) fn write(error: *mut lig_error, text: &dyn fmt::Display) {
    if error.is_null() {
        return;
    }
    // SAFETY: the struct belongs to the caller, and `text` is never part of it.
    let bytes = unsafe { &mut *error.cast::<[MaybeUninit<u8>; size_of::<lig_error>()]>() };
    let (end, bytes) = bytes.split_last_mut().expect("it has room");
    let mut room = Room { bytes, used: 0 };
    let _ = fmt::write(&mut room, format_args!("{text}"));
    let used = room.used;
    bytes.get_mut(used).unwrap_or(end).write(0);
}

/// Prints why a function that returns no status did nothing.
#[cold]
pub(crate) fn complain(text: &dyn fmt::Display) {
    let mut error = lig_error { message: [0; 1024] };
    write(&mut error, text);
    // SAFETY: the bytes belong to a struct of this function; `from_bytes_until_nul` reads no further.
    let bytes = unsafe { &*std::ptr::from_ref(&error.message).cast::<[u8; 1024]>() };
    let text = CStr::from_bytes_until_nul(bytes).map(CStr::to_bytes).unwrap_or_default();
    // Not by `eprintln`: the code that a signal handler has interrupted may hold its lock.
    // SAFETY: the descriptor is not closed here; if it is no file, writing fails.
    let mut stderr = ManuallyDrop::new(unsafe { File::from_raw_fd(2) });
    for part in [b"ligament: ", text, b"\n"] {
        let _ = stderr.write_all(part);
    }
}

/// Returns the text that a callback of the caller has written to an error.
pub(crate) fn read(error: &lig_error) -> String {
    // SAFETY: the bytes belong to the struct; `from_bytes_until_nul` reads no further.
    let bytes = unsafe { &*std::ptr::from_ref(&error.message).cast::<[u8; 1024]>() };
    CStr::from_bytes_until_nul(bytes).map(|text| text.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Returns the error for a pointer that must not be NULL.
#[cold]
pub(crate) fn null(what: &str) -> Error {
    Misuse::Null { what: what.to_owned() }.into()
}

/// Returns a name that the caller gives, as UTF-8.
///
/// # Safety
/// `text` is NULL or ends with a NUL, and lives for `'a`.
#[inline]
pub(crate) unsafe fn name<'a>(text: *const c_char, what: &str) -> Result<&'a str, Error> {
    if text.is_null() {
        return Err(null(what));
    }
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(text) }.to_str().map_err(|_| Misuse::NotUtf8 { what: what.to_owned() }.into())
}

/// A port's name in the caller's memory, where it is compared.
#[derive(Clone, Copy)]
pub(crate) struct NameInPlace<'a> {
    start: *const c_char,
    life: PhantomData<&'a CStr>,
}

/// # Safety
/// As `name`.
#[inline]
pub(crate) unsafe fn port_name<'a>(port: *const c_char) -> Result<NameInPlace<'a>, Error> {
    if port.is_null() {
        return Err(null("port"));
    }
    Ok(NameInPlace { start: port, life: PhantomData })
}

impl PortName for NameInPlace<'_> {
    #[inline(always)]
    fn is(self, name: &str) -> bool {
        // SAFETY: the comparison ends at the caller's NUL, because `name` contains none.
        let at = |i| unsafe { *self.start.add(i) } as u8;
        for (i, byte) in name.bytes().enumerate() {
            if at(i) != byte {
                return false;
            }
        }
        at(name.len()) == 0
    }

    fn text(self) -> String {
        // SAFETY: the caller of `port_name` promised a NUL at the end.
        unsafe { CStr::from_ptr(self.start) }.to_string_lossy().into_owned()
    }
}

/// Returns the caller's numbers.
///
/// # Safety
/// `numbers` has `count` numbers, or is NULL.
pub(crate) unsafe fn numbers<'a, T>(
    numbers: *const T,
    count: usize,
    what: &'static str,
) -> Result<&'a [T], Error> {
    match (numbers.is_null(), count) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(null(what)),
        // SAFETY: as the caller promises.
        (false, count) => Ok(unsafe { std::slice::from_raw_parts(numbers, count) }),
    }
}

/// Returns the place to which a result is written.
///
/// # Safety
/// `place` is NULL or points to writable memory of its type for `'a`, which may be uninitialised.
#[inline]
pub(crate) unsafe fn out<'a, T>(place: *mut T, what: &str) -> Result<&'a mut std::mem::MaybeUninit<T>, Error> {
    // SAFETY: as the caller promises.
    unsafe { wanted(place) }.ok_or_else(|| null(what))
}

/// Returns the place to which a result is written, if the caller wants the result.
///
/// # Safety
/// As `out`.
#[inline]
pub(crate) unsafe fn wanted<'a, T>(place: *mut T) -> Option<&'a mut std::mem::MaybeUninit<T>> {
    // SAFETY: as the caller promises; a `MaybeUninit` may hold any bytes.
    unsafe { place.cast::<std::mem::MaybeUninit<T>>().as_mut() }
}
