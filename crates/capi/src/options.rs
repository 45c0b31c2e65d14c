//! Types that calls pass by value: enumerations, times, options.

use crate::misuse::Misuse;
use crate::status::null;
use crate::values::lig_value;
use ligament_instance::{ArrayOrder, DType, Error, MessageTimes, Operator, Wait};
use std::ffi::c_char;
use std::ops::Deref;
use std::time::Duration;

// C passes enumerations as integers, because it can pass any number. In the header, the integer and the
// enumeration have one name.
pub type lig_dtype_code = i32;
pub type lig_order_code = i32;
pub type lig_operator_code = i32;
pub type lig_log_level_code = i32;

/// A truth value that the caller gives, which is `bool` in the header: 0 is false and any other value true,
/// since some languages have another true value than 1 (Intel's Fortran has -1).
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

/// The index that runs fastest in memory. Element (i, j) is the same for sender and receiver in either order,
/// and extents are given in the order of the indices. The order says only how the elements lie in memory.
#[repr(i32)]
pub enum lig_order {
    /// The last index runs fastest, as in C. The default.
    LIG_ROW_MAJOR = 0,
    /// The first index runs fastest, as in Fortran.
    LIG_COLUMN_MAJOR = 1,
}

/// The moment of the execution loop in which a port is used.
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

/// The importance of a line in the run's log.
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

/// Text in the library's memory: UTF-8, without a NUL at its end. Print it with `%.*s`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lig_string {
    /// The first byte; NULL if there is no text.
    pub data: *const c_char,
    /// Length in bytes.
    pub size: usize,
}

impl lig_string {
    /// The text in memory that lives elsewhere.
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
    /// True if the sender has given the time of its next message.
    pub has_next_timestamp: bool,
    /// Always zero.
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

/// Options of a send. NULL in place of the struct: the message has time 0 and no next message, the port is not
/// a vector port, and the settings in force at this instance hold.
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
    /// it; it is read during the call. NULL for the overlay in force at this instance. This is for components
    /// that serve several others with different settings (see `LIG_DONT_APPLY_OVERLAY`).
    pub settings: *const lig_value,
}

/// Options of a receive. NULL in place of the struct: the call waits until a message arrives, and the port is
/// not a vector port.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lig_receive_options {
    /// `sizeof(lig_receive_options)`
    pub size: usize,
    /// Longest time to wait, s. Only if `has_timeout`.
    pub timeout: f64,
    /// True if the call waits no longer than `timeout`.
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

/// A struct whose first member is the size of the struct in the caller's header.
///
/// # Safety
/// All bytes zero must be a value of it, and it must begin with `size: usize`.
pub(crate) unsafe trait SizePrefixed: Copy {
    /// The name of the struct in errors.
    const NAME: &'static str;
}

// SAFETY: numbers, truth values and nullable pointers may be zero; the struct begins with its size.
unsafe impl SizePrefixed for lig_send_options {
    const NAME: &'static str = "lig_send_options";
}
// SAFETY: as above.
unsafe impl SizePrefixed for lig_receive_options {
    const NAME: &'static str = "lig_receive_options";
}

/// Options as the core reads them: in the caller's memory if the caller's header has the same version,
/// otherwise in a copy.
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

/// The options that stand for NULL.
static ZEROS: [u64; 32] = [0; 32];

/// Reads options. All members are zero for NULL, and so are members that an older header of the caller did not
/// have.
///
/// # Safety
/// `options` is NULL or points to as many readable bytes as its first member says, which stay for `'a`.
#[inline]
pub(crate) unsafe fn read<'a, T: SizePrefixed>(options: *const T) -> Result<OptionsRef<'a, T>, Error> {
    const { assert!(size_of::<T>() <= size_of::<[u64; 32]>() && align_of::<T>() <= align_of::<u64>()) };
    if options.is_null() {
        // SAFETY: the zeros are large enough and aligned, and zeros are a valid value, as the trait promises.
        return Ok(OptionsRef::InPlace(unsafe { &*(&raw const ZEROS).cast::<T>() }));
    }
    // SAFETY: as the trait and the caller promise.
    let size = unsafe { options.cast::<usize>().read() };
    if size == size_of::<T>() {
        // SAFETY: the caller has the whole struct.
        return Ok(OptionsRef::InPlace(unsafe { &*options }));
    }
    // SAFETY: as the caller promises.
    unsafe { read_other_size(options, size) }
}

/// Upper limit of the size of a struct of options, in bytes. A larger size was not initialised.
const MAX_OPTIONS_BYTES: usize = 4096;

#[cold]
unsafe fn read_other_size<'a, T: SizePrefixed>(
    options: *const T,
    size: usize,
) -> Result<OptionsRef<'a, T>, Error> {
    if !(size_of::<usize>()..=MAX_OPTIONS_BYTES).contains(&size) {
        return Err(Misuse::OptionsSize { name: T::NAME, size }.into());
    }
    // Unknown members of a newer header must be zero: to ignore them would do something else than the caller
    // wants.
    let unknown = size.saturating_sub(size_of::<T>());
    // SAFETY: the caller has `size` bytes.
    let rest = unsafe { std::slice::from_raw_parts(options.cast::<u8>().add(size - unknown), unknown) };
    if rest.iter().any(|&byte| byte != 0) {
        return Err(Misuse::NewerMembers { name: T::NAME }.into());
    }
    // SAFETY: zeros are a valid value, as the trait promises. Of a larger struct the known part is copied, of a
    // smaller one the whole.
    unsafe {
        let mut known: T = std::mem::zeroed();
        let count = size.min(std::mem::size_of::<T>());
        std::ptr::copy_nonoverlapping(options.cast::<u8>(), std::ptr::from_mut(&mut known).cast(), count);
        Ok(OptionsRef::Copied(Box::new(known)))
    }
}

/// Does the same as `read`, but NULL is an error.
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

/// Returns the number of an order.
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
