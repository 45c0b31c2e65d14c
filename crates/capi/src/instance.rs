//! The instance's life: joining the run, the reuse loop, logging, the end.

use crate::message::MessagePool;
use crate::misuse::Misuse;
use crate::options::{lig_bool, lig_log_level, lig_log_level_code, operator, read, SizePrefixed};
use crate::ports::lig_port;
use crate::send::SpareLoans;
use crate::settings::HandedOut;
use crate::status::{complain, guard, guard_or, lig_error, lig_status, name, null, out, wanted};
use ligament_instance::{
    Call, CallGuard, Error, EventBatch, Flags, InCall, Instance, LogLevel, Parallelism, Ports,
};
use std::cell::UnsafeCell;
use std::collections::HashMap;
use std::ffi::{c_char, c_void, CString};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};

/// An instance of a component in a running model. Any thread may use it, one at a time: a call that comes while
/// another one is in progress does nothing and gives `LIG_ERR_USAGE`, with a text that names both calls. That
/// holds for other threads, for signal handlers, and for functions that the call itself calls (an interrupt
/// check, `is_done`). Only `lig_instance_name`, `lig_run_name`, `lig_instance_index`, `lig_instance_rank` and
/// `lig_instance_ranks` can be called at any time.
pub struct lig_instance {
    /// The thread that is in a call. What stands in a cell is touched by that one only; all else does not
    /// change.
    turn: CallGuard,
    /// While a formal submodel runs, this is the reference that the core gave to its operators, so that what
    /// they do through the handle is done through that reference.
    current: UnsafeCell<*mut Instance>,
    own: UnsafeCell<Own>,
    /// True if `lig_run_submodel` or `lig_run_light` is going on, also while it is in one of the caller's
    /// functions.
    running: AtomicBool,
    /// True if `current` was made by `Box::into_raw`, and ends with the handle. That of a light component is
    /// the core's.
    owned: bool,
    name: CString,
    run: CString,
    index: Vec<usize>,
    rank: u32,
    ranks: u32,
}

/// The data of the handle beside the core's instance.
#[derive(Default)]
pub(crate) struct Own {
    pub kept: HashMap<String, HandedOut>,
    pub spare_loans: SpareLoans,
    pub messages: MessagePool,
    /// The batches of events whose arrays the caller may still read.
    pub batches: Vec<EventBatch>,
}

/// The instance, for one call.
pub(crate) struct InUse<'a> {
    core: &'a mut Instance,
    pub own: &'a mut Own,
    turn: InCall<'a>,
}

impl<'a> InUse<'a> {
    /// The core's instance, and the call, which must not end before that is done with.
    pub fn into_parts(self) -> (&'a mut Instance, InCall<'a>) {
        (self.core, self.turn)
    }
}

impl Deref for InUse<'_> {
    type Target = Instance;

    #[inline(always)]
    fn deref(&self) -> &Instance {
        self.core
    }
}

impl DerefMut for InUse<'_> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Instance {
        self.core
    }
}

impl lig_instance {
    /// A handle for the instance at `current`.
    pub(crate) fn of(core: &Instance, current: *mut Instance, owned: bool) -> Result<lig_instance, Error> {
        let terminated =
            |text: &str| CString::new(text).map_err(|_| Misuse::NulInName { name: text.to_owned() });
        Ok(lig_instance {
            name: terminated(core.name())?,
            run: terminated(core.run_name())?,
            index: core.index(),
            rank: core.rank(),
            ranks: core.ranks(),
            turn: CallGuard::new(),
            current: UnsafeCell::new(current),
            own: UnsafeCell::default(),
            running: AtomicBool::new(false),
            owned,
        })
    }

    /// Has the handle stand for this reference to the core's instance until `turn` ends, and gives the one
    /// before.
    ///
    /// # Safety
    /// `turn` is this handle's; `instance` is valid until it is replaced.
    pub(crate) unsafe fn replace(&self, _turn: &InCall<'_>, instance: *mut Instance) -> *mut Instance {
        // SAFETY: nobody else is in a call.
        unsafe { std::mem::replace(&mut *self.current.get(), instance) }
    }

    /// The thread that is in a call.
    pub(crate) fn turn(&self) -> &CallGuard {
        &self.turn
    }

    /// Notes that the caller's functions are called from now on, or not any more.
    pub(crate) fn run(&self, running: bool) {
        self.running.store(running, Ordering::Relaxed);
    }
}

impl Drop for lig_instance {
    fn drop(&mut self) {
        if self.owned {
            // SAFETY: made by `Box::into_raw` in `lig_instance_create`, and freed only here.
            drop(unsafe { Box::from_raw(*self.current.get_mut()) });
        }
    }
}

/// The handle, for what does not change.
///
/// # Safety
/// `instance` is NULL or a live handle for `'a`.
#[inline(always)]
pub(crate) unsafe fn handle<'a>(instance: *const lig_instance) -> Result<&'a lig_instance, Error> {
    // SAFETY: as the caller promises. What changes stands in cells.
    unsafe { instance.as_ref() }.ok_or_else(|| null("instance"))
}

/// The instance, for this call.
///
/// # Safety
/// As `handle`.
#[inline(always)]
pub(crate) unsafe fn used<'a>(instance: *mut lig_instance, call: &'static Call) -> Result<InUse<'a>, Error> {
    // SAFETY: as the caller promises.
    let handle = unsafe { handle(instance) }?;
    let turn = handle.turn.enter(call)?;
    // SAFETY: it is this call's turn, so nobody else is between these lines and the end of `turn`. `current` is
    // valid for as long as the handle.
    unsafe { Ok(InUse { core: &mut **handle.current.get(), own: &mut *handle.own.get(), turn }) }
}

/// Unusual behaviour of an instance: bits for `flags` in `lig_instance_options`.
#[repr(i32)]
pub enum lig_instance_flag {
    /// Overlays of settings that come with messages are handed over (`lig_message_settings`) instead of being
    /// applied: for components that serve others with different settings.
    LIG_DONT_APPLY_OVERLAY = 1,
}

/// Options with which an instance is made. NULL instead of it means: ports as the model has them.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lig_instance_options {
    /// `sizeof(lig_instance_options)`
    pub size: usize,
    /// The ports that this code has; NULL to take them from the model (`lig_list_ports` says which they are).
    pub ports: *const lig_port,
    /// Their number.
    pub port_count: usize,
    /// Flags of unusual behaviour: members of `lig_instance_flag`, or-ed; 0 for nothing.
    pub flags: u64,
    /// The language of the code, for the run's records, such as "fortran"; NULL for C. It is read during the
    /// call.
    pub language: *const c_char,
    /// The number of processes that the instance is, as MPI starts them; 0 if that is not said. One of them
    /// joins the run, for all. While it computes, so many times `threads` cores count as busy, and who waits
    /// for it does not spin on these; unless one of both is said, those of the model's `resources:`.
    pub ranks: u32,
    /// The number of threads that each of its processes has; 0 if that is not said.
    pub threads: u32,
}

// SAFETY: numbers and nullable pointers, beginning with the size.
unsafe impl SizePrefixed for lig_instance_options {
    const NAME: &'static str = "lig_instance_options";
}

/// Joins the run that started this program (`ligament run MODEL`). A program does this once. Free the instance
/// with `lig_instance_free`.
///
/// `LIG_ERR_REGISTRATION` if there is no run or the ports do not fit the model; the text says what to do.
///
/// # Safety
/// `options` and `error` are NULL or valid; `instance` is valid.
#[no_mangle]
pub unsafe extern "C" fn lig_instance_create(
    options: *const lig_instance_options,
    instance: *mut *mut lig_instance,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        // SAFETY: all pointers are as the caller promises, here and in all functions below.
        let place = unsafe { out(instance, "instance") }?;
        place.write(std::ptr::null_mut());
        let options = unsafe { read(options) }?;
        let ports = unsafe { declared(&options) }?;
        let flags = flags(options.flags)?;
        let mut core = Instance::with_options(ports.as_ref(), flags, unsafe { language(&options) }?)?;
        core.set_parallelism(options.parallelism());
        let core = Box::into_raw(Box::new(core));
        // SAFETY: just made; freed with the handle, or here.
        let handle = match lig_instance::of(unsafe { &*core }, core, true) {
            Ok(handle) => handle,
            Err(error) => {
                drop(unsafe { Box::from_raw(core) });
                return Err(error);
            }
        };
        place.write(Box::into_raw(Box::new(handle)));
        Ok(())
    })
}

impl lig_instance_options {
    /// The number of ranks and threads that it has.
    pub(crate) fn parallelism(&self) -> Parallelism {
        Parallelism { ranks: self.ranks, threads: self.threads }
    }
}

/// The requested flags.
pub(crate) fn flags(given: u64) -> Result<Flags, Error> {
    Flags::from_bits(given).map_err(|unknown| Misuse::NewerFlags { unknown }.into())
}

/// The language that the options name.
///
/// # Safety
/// `language` is NULL or text that ends with a NUL and lives for `'a`.
pub(crate) unsafe fn language<'a>(options: &lig_instance_options) -> Result<&'a str, Error> {
    if options.language.is_null() {
        Ok("c")
    } else {
        // SAFETY: as the caller promises.
        unsafe { name(options.language, "language") }
    }
}

/// The ports that the options declare.
///
/// # Safety
/// `ports` is NULL or has `port_count` ports with names.
pub(crate) unsafe fn declared(options: &lig_instance_options) -> Result<Option<Ports>, Error> {
    if options.ports.is_null() {
        return match options.port_count {
            0 => Ok(None),
            count => Err(Misuse::NoPorts { count }.into()),
        };
    }
    let mut ports = Ports::new();
    // SAFETY: the caller gives `port_count` ports.
    for port in unsafe { std::slice::from_raw_parts(options.ports, options.port_count) } {
        // SAFETY: each has a name that ends with a NUL.
        ports.add(operator(port.op)?, unsafe { name(port.name, "a port's name") }?);
    }
    Ok(Some(ports))
}

/// Ends the instance cleanly, unless that was done, and frees it; after an error of the code's own call
/// `lig_error_shutdown` before. NULL is allowed. Messages that were received stay valid until they are freed
/// themselves; loans do not. While another call is in progress, or in a function of a submodel, it frees
/// nothing, and says so on stderr.
///
/// # Safety
/// `instance` is NULL or was made by `lig_instance_create` and not freed; no operator of a formal submodel
/// calls this.
#[no_mangle]
pub unsafe extern "C" fn lig_instance_free(instance: *mut lig_instance) {
    guard_or((), || {
        let Ok(handle) = (unsafe { handle(instance) }) else { return };
        if handle.running.load(Ordering::Relaxed) {
            return complain(&Misuse::FreedWithin);
        }
        match handle.turn.enter(&Call("lig_instance_free")) {
            // No other thread can begin a call any more.
            Ok(turn) => std::mem::forget(turn),
            Err(overlap) => return complain(&overlap),
        }
        // SAFETY: as the caller promises.
        drop(unsafe { Box::from_raw(instance) });
    });
}

/// Returns true to go through the execution loop (again). Where F_INIT ports are connected, waits for a message
/// on each of them and says true, or false if they have ended; otherwise says true once. When it says false the
/// instance is over: all its conduits are ended and it is signed off.
///
/// `LIG_ERR_UNEXPECTED` when the messages come with different overlays of settings; else as `lig_receive`.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_reuse_instance(
    instance: *mut lig_instance,
    again: *mut bool,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let place = unsafe { out(again, "again") }?;
        place.write(false);
        place.write(unsafe { used(instance, &Call("lig_reuse_instance")) }?.reuse_instance()?);
        Ok(())
    })
}

/// Ends all conduits that this instance sends on, and signs off. `lig_reuse_instance` does so when it says
/// false, and so does `lig_instance_free`; call this to end sooner, or to see whether it went well. A second
/// call does nothing.
///
/// # Safety
/// `instance` is valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_finish(instance: *mut lig_instance, error: *mut lig_error) -> lig_status {
    guard(error, || unsafe { used(instance, &Call("lig_finish")) }?.finish())
}

/// Ends the whole run because of an error in this code; `why` is shown to the user. The instance can do nothing
/// afterwards but be freed. A program that ends with an exit status other than 0, or before
/// `lig_reuse_instance` says false, ends the run as well, with what it printed last.
///
/// # Safety
/// `instance` and `why` are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_error_shutdown(
    instance: *mut lig_instance,
    why: *const c_char,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let why = unsafe { name(why, "why") }?;
        unsafe { used(instance, &Call("lig_error_shutdown")) }?.error_shutdown(why)
    })
}

/// The instance's name, such as "micro[3]". It lives as long as the instance; NULL for NULL.
///
/// # Safety
/// `instance` is NULL or valid.
#[no_mangle]
pub unsafe extern "C" fn lig_instance_name(instance: *const lig_instance) -> *const c_char {
    match unsafe { instance.as_ref() } {
        Some(instance) => instance.name.as_ptr(),
        None => std::ptr::null(),
    }
}

/// The name of the run. It lives as long as the instance; NULL for NULL.
///
/// # Safety
/// `instance` is NULL or valid.
#[no_mangle]
pub unsafe extern "C" fn lig_run_name(instance: *const lig_instance) -> *const c_char {
    match unsafe { instance.as_ref() } {
        Some(instance) => instance.run.as_ptr(),
        None => std::ptr::null(),
    }
}

/// The instance's index among those of its component: one number for each dimension of the multiplicity, in the
/// instance's memory. Returns how many there are: 0 for a component without multiplicity.
///
/// # Safety
/// `instance` is NULL or valid; `index` is NULL or writable.
#[no_mangle]
pub unsafe extern "C" fn lig_instance_index(instance: *const lig_instance, index: *mut *const usize) -> usize {
    let numbers = unsafe { instance.as_ref() }.map_or(&[][..], |instance| &instance.index);
    if let Some(place) = unsafe { wanted(index) } {
        place.write(numbers.as_ptr());
    }
    numbers.len()
}

/// Which of its instance's ranks this is, from 0 on, where the model says that each of them speaks for itself
/// (`ranks:` under `ligament:`); else 0.
///
/// # Safety
/// `instance` is NULL or valid.
#[no_mangle]
pub unsafe extern "C" fn lig_instance_rank(instance: *const lig_instance) -> u32 {
    unsafe { instance.as_ref() }.map_or(0, |instance| instance.rank)
}

/// The number of ranks of its instance that speak for themselves: 1 where the model has no word of them.
///
/// # Safety
/// `instance` is NULL or valid.
#[no_mangle]
pub unsafe extern "C" fn lig_instance_ranks(instance: *const lig_instance) -> u32 {
    unsafe { instance.as_ref() }.map_or(0, |instance| instance.ranks)
}

/// Writes a line to the run's log, if the model lets lines of this level through.
///
/// # Safety
/// `instance` and `text` are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_log(
    instance: *mut lig_instance,
    level: lig_log_level_code,
    text: *const c_char,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let level = log_level(level)?;
        let text = unsafe { name(text, "text") }?;
        unsafe { used(instance, &Call("lig_log")) }?.log(level, text)
    })
}

fn log_level(code: lig_log_level_code) -> Result<LogLevel, Error> {
    match code {
        _ if code == lig_log_level::LIG_LOG_DEBUG as i32 => Ok(LogLevel::Debug),
        _ if code == lig_log_level::LIG_LOG_INFO as i32 => Ok(LogLevel::Info),
        _ if code == lig_log_level::LIG_LOG_WARNING as i32 => Ok(LogLevel::Warning),
        _ if code == lig_log_level::LIG_LOG_ERROR as i32 => Ok(LogLevel::Error),
        _ if code == lig_log_level::LIG_LOG_CRITICAL as i32 => Ok(LogLevel::Critical),
        _ => Err(Misuse::NoLogLevel { code }.into()),
    }
}

/// A caller's function and its data, which the caller says may be called from the thread that uses the
/// instance.
struct InterruptCheck {
    check: unsafe extern "C" fn(*mut c_void) -> lig_bool,
    user: *mut c_void,
}

// SAFETY: it moves to another thread only with the whole instance, which is the caller's doing.
unsafe impl Send for InterruptCheck {}

impl InterruptCheck {
    fn ask(&self) -> bool {
        // SAFETY: the caller gave the function for this.
        unsafe { (self.check)(self.user) != 0 }
    }
}

/// While the library waits, which it does in the thread that called it, `check` is asked at least once a second
/// whether to give up; when it says true, the waiting call returns `LIG_ERR_INTERRUPTED`. NULL takes the check
/// away. Calls that it makes with this instance are refused, and no exception may leave it.
///
/// # Safety
/// `instance` is valid; `check` can be called with `user` until the instance is freed; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_set_interrupt_check(
    instance: *mut lig_instance,
    check: Option<unsafe extern "C" fn(user: *mut c_void) -> lig_bool>,
    user: *mut c_void,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let mut instance = unsafe { used(instance, &Call("lig_set_interrupt_check")) }?;
        match check {
            Some(check) => {
                let check = InterruptCheck { check, user };
                instance.set_interrupt_check(Box::new(move || check.ask()));
            }
            None => instance.set_interrupt_check(Box::new(|| false)),
        }
        Ok(())
    })
}
