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

/// An instance of a component in a running model. Any thread may use it, one at a time. A call during another
/// call does nothing and returns `LIG_ERR_USAGE`, with a text that names both calls. This holds for calls of
/// other threads, of signal handlers, and of functions that the first call itself calls (an interrupt check,
/// `is_done`). Only `lig_instance_name`, `lig_run_name`, `lig_instance_index`, `lig_instance_rank` and
/// `lig_instance_ranks` can be called at any time.
pub struct lig_instance {
    /// Knows which thread is in a call. Only that thread uses the members in cells; the other members do not
    /// change.
    turn: CallGuard,
    /// The core's instance. While a formal submodel runs, it is the reference that the core gave to the
    /// submodel's functions, so that their calls through the handle use that reference.
    current: UnsafeCell<*mut Instance>,
    own: UnsafeCell<Own>,
    /// True while `lig_run_submodel` or `lig_run_light` runs, also while one of the caller's functions runs.
    running: AtomicBool,
    /// True if `current` comes from `Box::into_raw` and is freed with the handle. The instance of a light
    /// component belongs to the core.
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
    /// The directory that the caller has got for the files of a checkpoint.
    pub snapshot_directory: Option<CString>,
}

/// The instance, during one call.
pub(crate) struct InUse<'a> {
    core: &'a mut Instance,
    pub own: &'a mut Own,
    turn: InCall<'a>,
}

impl<'a> InUse<'a> {
    /// Returns the core's instance and the call. The call must end after the last use of the instance.
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
    /// Makes a handle for the instance at `current`.
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

    /// Sets the reference to the core's instance that the handle uses until `turn` ends, and returns the
    /// earlier reference.
    ///
    /// # Safety
    /// `turn` is this handle's; `instance` is valid until it is replaced.
    pub(crate) unsafe fn replace(&self, _turn: &InCall<'_>, instance: *mut Instance) -> *mut Instance {
        // SAFETY: no other thread is in a call.
        unsafe { std::mem::replace(&mut *self.current.get(), instance) }
    }

    /// Returns the guard that knows which thread is in a call.
    pub(crate) fn turn(&self) -> &CallGuard {
        &self.turn
    }

    /// Notes if functions of the caller may be called from now on.
    pub(crate) fn run(&self, running: bool) {
        self.running.store(running, Ordering::Relaxed);
    }
}

impl Drop for lig_instance {
    fn drop(&mut self) {
        if self.owned {
            // SAFETY: `lig_instance_create` made it with `Box::into_raw`; it is freed only here.
            drop(unsafe { Box::from_raw(*self.current.get_mut()) });
        }
    }
}

/// Returns the handle, for its members that do not change.
///
/// # Safety
/// `instance` is NULL or a live handle for `'a`.
#[inline(always)]
pub(crate) unsafe fn handle<'a>(instance: *const lig_instance) -> Result<&'a lig_instance, Error> {
    // SAFETY: as the caller promises. Members that change are cells.
    unsafe { instance.as_ref() }.ok_or_else(|| null("instance"))
}

/// Returns the instance for this call.
///
/// # Safety
/// As `handle`.
#[inline(always)]
pub(crate) unsafe fn used<'a>(instance: *mut lig_instance, call: &'static Call) -> Result<InUse<'a>, Error> {
    // SAFETY: as the caller promises.
    let handle = unsafe { handle(instance) }?;
    let turn = handle.turn.enter(call)?;
    // SAFETY: it is this call's turn, so no other thread is between these lines and the end of `turn`.
    // `current` is valid as long as the handle.
    unsafe { Ok(InUse { core: &mut **handle.current.get(), own: &mut *handle.own.get(), turn }) }
}

/// Does the same as `used` for the thread that made the instance. Returns `None` in any other case, and for a
/// mistake: the caller then uses `used`.
///
/// # Safety
/// As `handle`.
#[inline(always)]
pub(crate) unsafe fn used_by_owner<'a>(instance: *mut lig_instance, call: &'static Call) -> Option<InUse<'a>> {
    // SAFETY: as the caller promises, and as in `used`.
    unsafe {
        let handle = instance.cast_const().as_ref()?;
        let turn = handle.turn.enter_own(call)?;
        Some(InUse { core: &mut **handle.current.get(), own: &mut *handle.own.get(), turn })
    }
}

/// Unusual behaviour of an instance: bits for `flags` in `lig_instance_options`.
#[repr(i32)]
#[allow(dead_code)] // It is for the header; `Flags::from_bits` reads the bits.
pub enum lig_instance_flag {
    /// Overlays of settings that come with messages are not applied, and the code reads them
    /// (`lig_message_settings`). This is for components that serve several others with different settings.
    LIG_DONT_APPLY_OVERLAY = 1,
    /// The code saves its state by `lig_save_snapshot`, and calls the functions that belong to it in each pass
    /// (`lig_resuming`).
    LIG_USES_CHECKPOINT_API = 2,
    /// The code keeps nothing from one pass of the reuse loop to the next, so that checkpoints between two
    /// passes need no state of it.
    LIG_KEEPS_NO_STATE_FOR_NEXT_USE = 4,
    /// The code keeps something from one pass to the next, but can do without it when a run resumes.
    LIG_STATE_NOT_REQUIRED_FOR_NEXT_USE = 8,
}

/// Options of a new instance. NULL in place of the struct: the ports are those of the model.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lig_instance_options {
    /// `sizeof(lig_instance_options)`
    pub size: usize,
    /// The ports of this code; NULL to take them from the model (`lig_list_ports` lists them).
    pub ports: *const lig_port,
    /// Number of ports.
    pub port_count: usize,
    /// Flags of unusual behaviour: members of `lig_instance_flag`, combined with `|`; 0 for none.
    pub flags: u64,
    /// The language of the code, for the run's records, such as "fortran"; NULL for C. It is read during the
    /// call.
    pub language: *const c_char,
    /// Number of processes that are one instance together, as MPI starts them; 0 if not given. One of them
    /// joins the run for all. While the instance computes, `ranks` times `threads` cores count as busy, and
    /// instances that wait for it do not spin on these cores. If neither number is given, those under
    /// `resources:` in the model count.
    pub ranks: u32,
    /// Number of threads of each process; 0 if not given.
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
        // SAFETY: the instance was just made; it is freed with the handle, or below.
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
    /// Returns the number of ranks and threads of the instance.
    pub(crate) fn parallelism(&self) -> Parallelism {
        Parallelism { ranks: self.ranks, threads: self.threads }
    }
}

/// Reads the flags.
pub(crate) fn flags(given: u64) -> Result<Flags, Error> {
    Flags::from_bits(given).map_err(|unknown| Misuse::NewerFlags { unknown }.into())
}

/// Returns the language that the options name.
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

/// Returns the ports that the options declare.
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

/// Frees the instance, and first ends it cleanly unless it has ended. To report an error of the code, call
/// `lig_error_shutdown` before. NULL is allowed. Received messages stay valid until they are freed themselves;
/// loans do not. During another call, and in a function of a submodel, this function frees nothing and says so
/// on stderr.
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
            // From here on, no other thread can begin a call.
            Ok(turn) => std::mem::forget(turn),
            Err(overlap) => return complain(&overlap),
        }
        // SAFETY: as the caller promises.
        drop(unsafe { Box::from_raw(instance) });
    });
}

/// True if the code is to go through its execution loop once more. If F_INIT ports are connected, the call
/// waits for a message on each of them, and gives false if their conduits have ended. Otherwise it gives true
/// once. After false, the instance is over: all its conduits are ended and it has signed off.
///
/// `LIG_ERR_UNEXPECTED` if the messages come with different overlays of settings; otherwise as `lig_receive`.
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

/// Ends all conduits on which this instance sends, and signs off. `lig_reuse_instance` does this before it
/// gives false, and so does `lig_instance_free`. Call it to end earlier, or to see if the end went well. A
/// second call does nothing.
///
/// # Safety
/// `instance` is valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_finish(instance: *mut lig_instance, error: *mut lig_error) -> lig_status {
    guard(error, || unsafe { used(instance, &Call("lig_finish")) }?.finish())
}

/// Ends the whole run because of an error in this code. `why` is shown to the user. Afterwards the instance can
/// only be freed. A program also ends the run if it exits with a status other than 0, or before
/// `lig_reuse_instance` gives false; the reason is then the last output of the program.
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

/// The instance's index within its component, in the instance's memory: one number for each dimension of the
/// multiplicity. Returns how many numbers there are: 0 for a component without multiplicity.
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

/// The number of this rank within its instance, from 0 on, if the model says that each rank speaks for itself
/// (`ranks:` under `ligament:`); otherwise 0.
///
/// # Safety
/// `instance` is NULL or valid.
#[no_mangle]
pub unsafe extern "C" fn lig_instance_rank(instance: *const lig_instance) -> u32 {
    unsafe { instance.as_ref() }.map_or(0, |instance| instance.rank)
}

/// The number of ranks of the instance that speak for themselves; 1 if the model does not give `ranks:`.
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

/// A function of the caller and its data. The caller allows calls from the thread that uses the instance.
struct InterruptCheck {
    check: unsafe extern "C" fn(*mut c_void) -> lig_bool,
    user: *mut c_void,
}

// SAFETY: it moves to another thread only together with the instance, which the caller moves.
unsafe impl Send for InterruptCheck {}

impl InterruptCheck {
    fn ask(&self) -> bool {
        // SAFETY: the caller gave the function for this purpose.
        unsafe { (self.check)(self.user) != 0 }
    }
}

/// Sets a function that can interrupt a wait. While a call waits, it calls `check` at least once a second in
/// its own thread. If `check` returns true, the waiting call returns `LIG_ERR_INTERRUPTED`. NULL removes the
/// function. Calls that `check` makes with this instance are refused, and no exception may leave it.
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
