//! Types that cross the border by value: enumerations, times, options.

use crate::misuse::Misuse;
use crate::status::null;
use crate::values::lig_value;
use ligament_instance::{ArrayOrder, DType, Error, MessageTimes, Operator, Wait};
use std::ffi::c_char;
use std::ops::Deref;
use std::time::Duration;

// Enumerations come in from C as integers, since C can hand over any number. In the header both have one name.
pub type lig_dtype_code = i32;
pub type lig_order_code = i32;
pub type lig_operator_code = i32;
pub type lig_log_level_code = i32;

/// A truth value that the caller gives, which is `bool` in the header: 0 is false and anything else true, since
/// not every language's truth is 1 (Intel's Fortran has -1).
pub type lig_bool = u8;

/// The type of an array's elements.
#[repr(i32)]
#[derive(Clone, Copy)]
pub enum lig_dtype {
    /// One byte: 0 is false, anything else true.
    LIG_BOOL = 1,
    LIG_INT8 = 2,
    LIG_INT16 = 3,
    LIG_INT32 = 4,
    LIG_INT64 = 5,
    LIG_UINT8 = 6,
    LIG_UINT16 = 7,
    LIG_UINT32 = 8,
    LIG_UINT64 = 9,
    LIG_FLOAT32 = 10,
    LIG_FLOAT64 = 11,
    /// Two float32: real and imaginary part.
    LIG_COMPLEX64 = 12,
    /// Two float64: real and imaginary part.
    LIG_COMPLEX128 = 13,
}

/// Which index runs fastest in memory. Element (i, j) is the same for sender and receiver in either order, and
/// extents are given in the order of the indices: the order says only how the elements lie.
#[repr(i32)]
pub enum lig_order {
    /// The last one, as in C. The default.
    LIG_ROW_MAJOR = 0,
    /// The first one, as in Fortran.
    LIG_COLUMN_MAJOR = 1,
}

/// When in the execution loop a port is used.
#[repr(i32)]
pub enum lig_operator {
    /// Receives before the first step.
    LIG_F_INIT = 1,
    /// Sends during the steps.
    LIG_O_I = 2,
    /// Receives during the steps.
    LIG_S = 3,
    /// Sends after the last step.
    LIG_O_F = 4,
}

/// How important a line in the run's log is.
#[repr(i32)]
pub enum lig_log_level {
    LIG_LOG_DEBUG = 0,
    LIG_LOG_INFO = 1,
    LIG_LOG_WARNING = 2,
    LIG_LOG_ERROR = 3,
    LIG_LOG_CRITICAL = 4,
}

// The numbers are those of the message format.
const _: () = {
    use lig_dtype::*;
    let ours = [
        LIG_BOOL,
        LIG_INT8,
        LIG_INT16,
        LIG_INT32,
        LIG_INT64,
        LIG_UINT8,
        LIG_UINT16,
        LIG_UINT32,
        LIG_UINT64,
        LIG_FLOAT32,
        LIG_FLOAT64,
        LIG_COMPLEX64,
        LIG_COMPLEX128,
    ];
    let mut i = 0;
    while i < DType::ALL.len() {
        assert!(ours[i] as u8 == DType::ALL[i] as u8);
        i += 1;
    }
};

/// Text in the library's memory: UTF-8, not ended by a NUL. Print it with `%.*s`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lig_string {
    /// The first byte; NULL if there is no text.
    pub data: *const c_char,
    /// Bytes.
    pub size: usize,
}

impl lig_string {
    /// Text that lives somewhere else.
    pub(crate) fn of(text: &str) -> lig_string {
        lig_string { data: text.as_ptr().cast(), size: text.len() }
    }

    /// No text.
    pub(crate) const NONE: lig_string = lig_string { data: std::ptr::null(), size: 0 };
}

/// The times of a message.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lig_times {
    /// The model time that the data belongs to, s.
    pub timestamp: f64,
    /// The model time of the sender's next message, s. Only if `has_next_timestamp`.
    pub next_timestamp: f64,
    /// True if the sender said when its next message will be.
    pub has_next_timestamp: bool,
    /// Zero.
    pub reserved: [u8; 7],
}

impl From<MessageTimes> for lig_times {
    #[inline]
    fn from(times: MessageTimes) -> lig_times {
        lig_times {
            timestamp: times.timestamp,
            next_timestamp: times.next_timestamp.unwrap_or(0.0),
            has_next_timestamp: times.next_timestamp.is_some(),
            reserved: [0; 7],
        }
    }
}

/// How to send. NULL instead of it means: at time 0, without a next message, on a port that is not a vector
/// port, under the settings in force at this instance.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lig_send_options {
    /// `sizeof(lig_send_options)`
    pub size: usize,
    /// The model time that the data belongs to, s.
    pub timestamp: f64,
    /// The model time of the next message on this port, s. Only if `has_next_timestamp`.
    pub next_timestamp: f64,
    /// True if there will be a next message.
    pub has_next_timestamp: lig_bool,
    /// True if the port is a vector port.
    pub has_slot: lig_bool,
    /// The slot of a vector port. Only if `has_slot`.
    pub slot: u32,
    /// The overlay of settings that the message belongs to: settings, or a map as `lig_message_settings` gives
    /// it; it is read during the call. NULL for the one in force at this instance. For components that serve
    /// others under different settings (see `LIG_DONT_APPLY_OVERLAY`).
    pub settings: *const lig_value,
}

/// How to receive. NULL instead of it means: wait for as long as it takes, on a port that is not a vector port.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lig_receive_options {
    /// `sizeof(lig_receive_options)`
    pub size: usize,
    /// How long to wait, s. Only if `has_timeout`.
    pub timeout: f64,
    /// True to wait no longer than `timeout`.
    pub has_timeout: lig_bool,
    /// True if the port is a vector port.
    pub has_slot: lig_bool,
    /// The slot of a vector port. Only if `has_slot`.
    pub slot: u32,
}

impl lig_send_options {
    #[inline]
    pub(crate) fn slot(&self) -> Option<u32> {
        (self.has_slot != 0).then_some(self.slot)
    }

    #[inline]
    pub(crate) fn times(&self) -> MessageTimes {
        MessageTimes {
            timestamp: self.timestamp,
            next_timestamp: (self.has_next_timestamp != 0).then_some(self.next_timestamp),
        }
    }
}

impl lig_receive_options {
    #[inline]
    pub(crate) fn slot(&self) -> Option<u32> {
        (self.has_slot != 0).then_some(self.slot)
    }

    #[inline(always)]
    pub(crate) fn wait(&self) -> Result<Wait, Error> {
        match self.has_timeout {
            0 => Ok(Wait::Forever),
            _ => self.wait_at_most(),
        }
    }

    #[cold]
    fn wait_at_most(&self) -> Result<Wait, Error> {
        if self.timeout == f64::INFINITY {
            return Ok(Wait::Forever);
        }
        let time =
            Duration::try_from_secs_f64(self.timeout).map_err(|_| Misuse::Timeout { seconds: self.timeout })?;
        Ok(Wait::AtMost(time))
    }
}

/// A struct whose first member says how much of it the caller knows.
///
/// # Safety
/// All bytes zero must be a value of it, and it must begin with `size: usize`.
pub(crate) unsafe trait SizePrefixed: Copy {
    /// The name in errors.
    const NAME: &'static str;
}

// SAFETY: numbers, truth values and nullable pointers may be zero; both begin with their size.
unsafe impl SizePrefixed for lig_send_options {
    const NAME: &'static str = "lig_send_options";
}
// SAFETY: as above.
unsafe impl SizePrefixed for lig_receive_options {
    const NAME: &'static str = "lig_receive_options";
}

/// Options as the core reads them: where the caller has them, if its header is ours.
pub(crate) enum OptionsRef<'a, T> {
    InPlace(&'a T),
    Copied(Box<T>),
}

impl<T> Deref for OptionsRef<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        match self {
            OptionsRef::InPlace(options) => options,
            OptionsRef::Copied(options) => options,
        }
    }
}

/// The options that NULL means.
static ZEROS: [u64; 32] = [0; 32];

/// Reads options: all zero for NULL; members that the caller's older header did not have are zero.
///
/// # Safety
/// `options` is NULL or points to as many readable bytes as its first member says, which stay for `'a`.
#[inline]
pub(crate) unsafe fn read<'a, T: SizePrefixed>(options: *const T) -> Result<OptionsRef<'a, T>, Error> {
    const { assert!(size_of::<T>() <= size_of::<[u64; 32]>() && align_of::<T>() <= align_of::<u64>()) };
    if options.is_null() {
        // SAFETY: large enough and aligned; zero is a value of it, as the trait promises.
        return Ok(OptionsRef::InPlace(unsafe { &*(&raw const ZEROS).cast::<T>() }));
    }
    // SAFETY: as the trait and the caller promise.
    let size = unsafe { options.cast::<usize>().read() };
    if size == size_of::<T>() {
        // SAFETY: the caller has all of it.
        return Ok(OptionsRef::InPlace(unsafe { &*options }));
    }
    // SAFETY: as the caller promises.
    unsafe { read_other_size(options, size) }
}

/// No struct of options will ever be larger, bytes: what says so was not initialised.
const MAX_OPTIONS_BYTES: usize = 4096;

#[cold]
unsafe fn read_other_size<'a, T: SizePrefixed>(
    options: *const T,
    size: usize,
) -> Result<OptionsRef<'a, T>, Error> {
    if !(size_of::<usize>()..=MAX_OPTIONS_BYTES).contains(&size) {
        return Err(Misuse::OptionsSize { name: T::NAME, size }.into());
    }
    // Members of a newer header that we do not know must be unused: ignoring it would do something else than
    // was asked for.
    let unknown = size.saturating_sub(size_of::<T>());
    // SAFETY: the caller has `size` bytes.
    let rest = unsafe { std::slice::from_raw_parts(options.cast::<u8>().add(size - unknown), unknown) };
    if rest.iter().any(|&byte| byte != 0) {
        return Err(Misuse::NewerMembers { name: T::NAME }.into());
    }
    // SAFETY: zero is a value (trait); of a larger struct only what we know is copied, of a smaller one all.
    unsafe {
        let mut known: T = std::mem::zeroed();
        let count = size.min(std::mem::size_of::<T>());
        std::ptr::copy_nonoverlapping(options.cast::<u8>(), std::ptr::from_mut(&mut known).cast(), count);
        Ok(OptionsRef::Copied(Box::new(known)))
    }
}

/// As `read`, where NULL is an error.
///
/// # Safety
/// As `read`.
pub(crate) unsafe fn read_required<'a, T: SizePrefixed>(options: *const T) -> Result<OptionsRef<'a, T>, Error> {
    if options.is_null() {
        return Err(null(T::NAME));
    }
    // SAFETY: as the caller promises.
    unsafe { read(options) }
}

#[inline(always)]
pub(crate) fn dtype(code: lig_dtype_code) -> Result<DType, Error> {
    u8::try_from(code).ok().and_then(DType::from_u8).ok_or_else(|| no_such_dtype(code))
}

#[cold]
fn no_such_dtype(code: lig_dtype_code) -> Error {
    Misuse::NoDtype { code }.into()
}

#[inline(always)]
pub(crate) fn order(code: lig_order_code) -> Result<ArrayOrder, Error> {
    match code {
        _ if code == lig_order::LIG_ROW_MAJOR as i32 => Ok(ArrayOrder::RowMajor),
        _ if code == lig_order::LIG_COLUMN_MAJOR as i32 => Ok(ArrayOrder::ColumnMajor),
        _ => Err(no_such_order(code)),
    }
}

#[cold]
fn no_such_order(code: lig_order_code) -> Error {
    Misuse::NoOrder { code }.into()
}

/// The code of an order.
#[inline(always)]
pub(crate) fn order_code(order: ArrayOrder) -> lig_order_code {
    match order {
        ArrayOrder::RowMajor => lig_order::LIG_ROW_MAJOR as i32,
        ArrayOrder::ColumnMajor => lig_order::LIG_COLUMN_MAJOR as i32,
    }
}

pub(crate) fn operator(code: lig_operator_code) -> Result<Operator, Error> {
    match code {
        _ if code == lig_operator::LIG_F_INIT as i32 => Ok(Operator::FInit),
        _ if code == lig_operator::LIG_O_I as i32 => Ok(Operator::OI),
        _ if code == lig_operator::LIG_S as i32 => Ok(Operator::S),
        _ if code == lig_operator::LIG_O_F as i32 => Ok(Operator::OF),
        _ => Err(Misuse::NoOperator { code }.into()),
    }
}
