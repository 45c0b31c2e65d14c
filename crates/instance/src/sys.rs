//! All `unsafe` code of this crate: returning memory to the system, telling threads apart, blanking a
//! variable of the environment, and calling the functions of users' filters.

use crate::own::{Elements, FilterOutput, WordBuffer};
use crate::turn::Call;
use ligament_catalogue::{fault, Fault};
use ligament_wire::{ArrayOrder, DType};
use std::cell::{Cell, UnsafeCell};
use std::ffi::{c_char, c_int, c_void, CStr};
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};
use std::sync::atomic::{fence, AtomicI32, AtomicPtr, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Returns freed memory to the system, which the C library would otherwise keep.
pub(crate) fn return_freed_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the call touches only the allocator's own data.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Returns a number of this thread at low cost. No other living thread has the same number, and it is above
/// 1.
#[inline(always)]
pub(crate) fn this_thread() -> usize {
    // SAFETY: the call has no arguments and cannot fail; with the C libraries here it returns an address.
    unsafe { libc::pthread_self() as usize }
}

/// Returns the system's number of this thread. May be called in a signal handler.
pub(crate) fn thread_number() -> i32 {
    // SAFETY: the call has no arguments and cannot fail.
    unsafe { libc::syscall(libc::SYS_gettid) as i32 }
}

/// Returns the system's number of this thread. The system is asked only once for each thread.
pub(crate) fn known_thread_number() -> i32 {
    thread_local!(static NUMBER: Cell<i32> = const { Cell::new(0) });
    if NUMBER.get() == 0 {
        NUMBER.set(thread_number());
    }
    NUMBER.get()
}

/// Returns the call behind a pointer of a `CallGuard`, or `None` for a null pointer.
pub(crate) fn as_call(call: *mut Call) -> Option<&'static Call> {
    // SAFETY: a `CallGuard` holds only pointers that `turn::place` has made, from calls that live for ever.
    unsafe { call.cast_const().as_ref() }
}

const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: membarrier takes no pointers; flags and cpu id are 0.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// Prepares this process for `barrier`. Returns false if the kernel refuses.
pub(crate) fn register_barrier() -> bool {
    membarrier(REGISTER_PRIVATE_EXPEDITED)
}

/// Makes a full memory fence on every processor that runs a thread of this process.
pub(crate) fn barrier() {
    fence(Ordering::SeqCst);
    // The kernel refuses only in a process that has not registered: a forked child, which has one thread.
    if !membarrier(PRIVATE_EXPEDITED) && register_barrier() {
        membarrier(PRIVATE_EXPEDITED);
    }
}

/// Makes a variable of the environment empty in place. Removing it would move other variables, which
/// another thread may be reading: the list of variables belongs to the C library, which has no lock for it.
pub(crate) fn blank_variable(name: &CStr) {
    // SAFETY: the name ends with a NUL. `getenv` returns null or text of the environment, which is
    // writable.
    unsafe {
        let text = libc::getenv(name.as_ptr()).cast::<u8>();
        if !text.is_null() {
            // One byte is written at once: a thread that reads it meanwhile finds the old text or none.
            AtomicU8::from_ptr(text).store(0, Ordering::Relaxed);
        }
    }
}

/// A message in the layout that `ligament_filter.h` defines.
#[repr(C)]
struct RawMessage {
    size: usize,
    timestamp: f64,
    next_timestamp: f64,
    has_next_timestamp: i32,
    dtype: i32,
    order: i32,
    ndim: u32,
    shape: *const u64,
    data: *const c_void,
}

/// A filter in the layout that `ligament_filter.h` defines, followed by members that only this file uses.
#[repr(C)]
struct RawFilter {
    size: usize,
    with: *const c_char,
    state: *mut c_void,
    emit: unsafe extern "C" fn(*mut RawFilter, *const RawMessage) -> *mut c_void,
    fail: unsafe extern "C" fn(*mut RawFilter, *const c_char),
    made: Vec<FilterOutput>,
    refused: Option<Fault>,
}

/// The type `lig_filter_function` of `ligament_filter.h`.
type RawFunction = unsafe extern "C" fn(*mut RawFilter, *const RawMessage) -> c_int;

/// The function of a user's filter.
#[derive(Clone, Copy)]
pub(crate) struct FilterFunction(RawFunction);

/// The state that a filter's function keeps between calls. Only one thread at a time uses it;
/// `ligament_filter.h` promises no more than that.
pub(crate) struct FilterState(*mut c_void);

// SAFETY: only one thread at a time uses the state, as its comment says.
unsafe impl Send for FilterState {}

impl FilterState {
    pub const NONE: FilterState = FilterState(null_mut());

    /// Returns true if the function keeps nothing at present.
    pub fn is_none(&self) -> bool {
        self.0.is_null()
    }
}

/// The error text of the dynamic loader.
pub(crate) struct LoaderError(pub String);

/// Finds a function in a shared library. The library stays loaded.
///
/// # Errors
/// The error of the dynamic loader.
pub(crate) fn filter_function(file: &CStr, name: &CStr) -> Result<FilterFunction, LoaderError> {
    // SAFETY: both names end with a NUL. The model states that the function is one of `ligament_filter.h`.
    unsafe {
        let library = libc::dlopen(file.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
        let symbol = if library.is_null() { null_mut() } else { libc::dlsym(library, name.as_ptr()) };
        if symbol.is_null() {
            let why = libc::dlerror();
            return Err(LoaderError(if why.is_null() {
                "it is nothing".to_owned()
            } else {
                CStr::from_ptr(why).to_string_lossy().into_owned()
            }));
        }
        Ok(FilterFunction(std::mem::transmute::<*mut c_void, RawFunction>(symbol)))
    }
}

/// Calls the function of a user's filter, and returns the messages that it has sent on. If the function
/// crashes, `note` is printed first.
///
/// # Errors
/// The reason why the function cannot take the message.
pub(crate) fn call_filter(
    function: FilterFunction,
    with: &CStr,
    state: &mut FilterState,
    given: Option<&Elements<'_>>,
    note: &str,
) -> Result<Vec<FilterOutput>, Fault> {
    let raw = given.map(|given| RawMessage {
        size: size_of::<RawMessage>(),
        timestamp: given.timestamp,
        next_timestamp: given.next_timestamp.unwrap_or_default(),
        has_next_timestamp: i32::from(given.next_timestamp.is_some()),
        dtype: given.dtype as i32,
        order: given.order as i32,
        ndim: given.shape.len() as u32,
        shape: given.shape.as_ptr(),
        data: given.data.as_ptr().cast(),
    });
    let mut filter = RawFilter {
        size: std::mem::offset_of!(RawFilter, made),
        with: with.as_ptr(),
        state: state.0,
        emit,
        fail,
        made: Vec::new(),
        refused: None,
    };
    let watch = CrashNote::put_up(note);
    // SAFETY: the function is as its header says. Its arguments live until it returns, and no other code
    // uses the filter meanwhile.
    let status = unsafe { (function.0)(&raw mut filter, raw.as_ref().map_or(null(), std::ptr::from_ref)) };
    drop(watch);
    state.0 = filter.state;
    match (status, filter.refused) {
        (0, None) => Ok(filter.made),
        (_, Some(why)) => Err(why),
        (status, None) => {
            Err(fault!(FILTER_FAILED, "the function gave {status}, and did not say why (filter->fail)"))
        }
    }
}

unsafe extern "C" fn emit(filter: *mut RawFilter, message: *const RawMessage) -> *mut c_void {
    // SAFETY: the function passes on the filter that it got, and a message or null.
    let (filter, message) = unsafe { (&mut *filter, message.as_ref()) };
    // SAFETY: the message's shape and data are as its other members say.
    match unsafe { taken(message) } {
        Ok(mut made) => {
            let place = made.data.words.as_mut_ptr().cast();
            filter.made.push(made);
            place
        }
        Err(why) => {
            filter.refused.get_or_insert(why);
            null_mut()
        }
    }
}

unsafe extern "C" fn fail(filter: *mut RawFilter, why: *const c_char) {
    // SAFETY: the function passes on the filter that it got, and a text or null.
    let (filter, why) = unsafe { (&mut *filter, (!why.is_null()).then(|| CStr::from_ptr(why))) };
    let why = why.map_or("it did not say why".into(), CStr::to_string_lossy);
    filter.refused.get_or_insert_with(|| fault!(FILTER_FAILED, "{why}"));
}

/// Largest message that a filter may make, in bytes. A larger size is taken for a mistake.
const MAX_FILTER_OUTPUT_BYTES: usize = 64 << 30;

/// Makes a message that a function sends on. Its elements are copied if `data` is not null.
///
/// # Safety
/// `shape` and `data` are as large as the other members say, or null.
unsafe fn taken(message: Option<&RawMessage>) -> Result<FilterOutput, Fault> {
    let message = message.ok_or_else(|| fault!(FILTER_FAILED, "it sent on no message (NULL)"))?;
    if message.size < size_of::<RawMessage>() {
        return Err(fault!(FILTER_FAILED, "the size of the message that it sent on is not set"));
    }
    let wrong = |what: &str, number: i32| {
        fault!(FILTER_FAILED, "the message that it sent on has {what} {number}, which there is not")
    };
    let dtype = u8::try_from(message.dtype).ok().and_then(DType::from_u8);
    let dtype = dtype.ok_or_else(|| wrong("the type", message.dtype))?;
    let order = match message.order {
        0 => ArrayOrder::RowMajor,
        1 => ArrayOrder::ColumnMajor,
        other => return Err(wrong("the order", other)),
    };
    let shape = match message.ndim {
        0 => &[],
        ndim @ 1..=8 if !message.shape.is_null() => {
            // SAFETY: the caller promises that `shape` is as large as the other members say.
            unsafe { std::slice::from_raw_parts(message.shape, ndim as usize) }
        }
        ndim => {
            return Err(fault!(
                FILTER_FAILED,
                "the message that it sent on has {ndim} dimensions; there may be up to 8"
            ))
        }
    };
    let bytes = shape.iter().try_fold(dtype.size() as u64, |bytes, &extent| bytes.checked_mul(extent));
    let bytes =
        bytes.and_then(|bytes| usize::try_from(bytes).ok()).filter(|&bytes| bytes <= MAX_FILTER_OUTPUT_BYTES);
    let bytes = bytes.ok_or_else(|| {
        fault!(FILTER_FAILED, "the message that it sent on has the shape {shape:?}, which is too large")
    })?;
    let mut words = Vec::new();
    let no_memory = |_| fault!(FILTER_FAILED, "there is no memory for the {bytes} bytes of a message");
    words.try_reserve_exact(bytes.div_ceil(8)).map_err(no_memory)?;
    words.resize(bytes.div_ceil(8), 0u64);
    if !message.data.is_null() {
        // SAFETY: the caller promises that `data` is as large as the other members say; the words have at least
        // as many bytes.
        unsafe { std::ptr::copy_nonoverlapping(message.data.cast::<u8>(), words.as_mut_ptr().cast(), bytes) };
    }
    let next_timestamp = (message.has_next_timestamp != 0).then_some(message.next_timestamp);
    let data = WordBuffer { words, bytes };
    Ok(FilterOutput { timestamp: message.timestamp, next_timestamp, dtype, order, shape: shape.to_vec(), data })
}

/// The signals that a crash raises.
const CRASHES: [c_int; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT];

/// The handlers that these signals had before a filter was called.
struct Before(UnsafeCell<[MaybeUninit<libc::sigaction>; CRASHES.len()]>);

// SAFETY: the handlers are written under the lock, before the signal handler that reads them is installed.
unsafe impl Sync for Before {}

static BEFORE: Before = Before(UnsafeCell::new([const { MaybeUninit::uninit() }; CRASHES.len()]));
static NOTE: AtomicPtr<u8> = AtomicPtr::new(null_mut());
static NOTE_LENGTH: AtomicUsize = AtomicUsize::new(0);
/// The thread in which the filter runs. The note is not printed for crashes of other threads.
static NOTE_THREAD: AtomicI32 = AtomicI32::new(0);
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// While this value lives, a crash in this thread prints a note, and then goes on as usual. A second value
/// waits until the first one is dropped.
#[derive(Debug)]
pub struct CrashNote<'a> {
    _text: &'a str,
    _turn: MutexGuard<'static, ()>,
}

impl CrashNote<'_> {
    /// Sets the text of the note.
    pub fn put_up(text: &str) -> CrashNote<'_> {
        let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        NOTE.store(text.as_ptr().cast_mut(), Ordering::Relaxed);
        NOTE_LENGTH.store(text.len(), Ordering::Relaxed);
        NOTE_THREAD.store(known_thread_number(), Ordering::SeqCst);
        for (i, signal) in CRASHES.into_iter().enumerate() {
            // SAFETY: zeros are a valid action; while this thread has the lock, it alone uses the place for
            // the earlier handlers.
            unsafe {
                let mut ours: libc::sigaction = std::mem::zeroed();
                let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = crashed;
                ours.sa_sigaction = handler as usize;
                ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                libc::sigaction(signal, null(), (*BEFORE.0.get())[i].as_mut_ptr());
                libc::sigaction(signal, &raw const ours, null_mut());
            }
        }
        CrashNote { _text: text, _turn: turn }
    }
}

impl Drop for CrashNote<'_> {
    fn drop(&mut self) {
        for (i, signal) in CRASHES.into_iter().enumerate() {
            // SAFETY: `put_up` has written these handlers.
            unsafe { libc::sigaction(signal, (*BEFORE.0.get())[i].as_ptr(), null_mut()) };
        }
        NOTE_THREAD.store(0, Ordering::SeqCst);
    }
}

/// Handles the signals of a crash. If the crash is the filter's, prints the note. Then does what the
/// earlier handler would do.
extern "C" fn crashed(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let Some(i) = CRASHES.iter().position(|&known| known == signal) else { return };
    // SAFETY: the handler makes only calls that a signal handler may make. All that it reads was written
    // before it was installed.
    unsafe {
        let before = (*BEFORE.0.get())[i].as_ptr();
        let ours = thread_number() == NOTE_THREAD.load(Ordering::SeqCst);
        if ours {
            let text = NOTE.load(Ordering::Relaxed).cast_const().cast();
            libc::write(libc::STDERR_FILENO, text, NOTE_LENGTH.load(Ordering::Relaxed));
        }
        let handler = (*before).sa_sigaction;
        if ours || handler == libc::SIG_DFL {
            libc::sigaction(signal, before, null_mut());
            // The system does not raise a signal again by itself if it was no fault.
            if (*info).si_code <= 0 {
                libc::raise(signal);
            }
        } else if handler == libc::SIG_IGN {
        } else if (*before).sa_flags & libc::SA_SIGINFO != 0 {
            let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = std::mem::transmute(handler);
            handler(signal, info, context);
        } else {
            let handler: extern "C" fn(c_int) = std::mem::transmute(handler);
            handler(signal);
        }
    }
}
