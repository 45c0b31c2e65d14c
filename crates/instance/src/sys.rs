//! The one place with `unsafe` here: giving memory back to the system, telling threads from each other, and blanking a
//! variable of the environment.

use crate::turn::Call;
use std::cell::Cell;
use std::ffi::CStr;
use std::sync::atomic::{fence, AtomicU8, Ordering};

/// Gives the system back what was freed, where the C library would keep it.
pub(crate) fn return_freed_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it looks at nothing but the allocator's own.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// A number of this thread, cheap to have: that of no other thread which is alive, and above 1.
#[inline(always)]
pub(crate) fn this_thread() -> usize {
    // SAFETY: it takes nothing and cannot fail; with the C libraries here it is an address.
    unsafe { libc::pthread_self() as usize }
}

/// The system's number of this thread. It may be asked for in a signal handler.
pub(crate) fn thread_number() -> i32 {
    // SAFETY: it takes nothing and cannot fail.
    unsafe { libc::syscall(libc::SYS_gettid) as i32 }
}

/// The same, asked for once a thread.
pub(crate) fn known_thread_number() -> i32 {
    thread_local!(static NUMBER: Cell<i32> = const { Cell::new(0) });
    if NUMBER.get() == 0 {
        NUMBER.set(thread_number());
    }
    NUMBER.get()
}

/// The call behind a pointer of a `Turn`; none for null.
pub(crate) fn as_call(call: *mut Call) -> Option<&'static Call> {
    // SAFETY: a `Turn` keeps no others than `turn::place` has made of what lives for ever.
    unsafe { call.cast_const().as_ref() }
}

const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: membarrier takes no pointers; flags and cpu id are 0.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// Prepares this process for `barrier`. False if the kernel refuses.
pub(crate) fn register_barrier() -> bool {
    membarrier(REGISTER_PRIVATE_EXPEDITED)
}

/// A full fence on every processor that runs a thread of this process.
pub(crate) fn barrier() {
    fence(Ordering::SeqCst);
    // It refuses only where this is another process than the one that registered: a fork, with one thread.
    if !membarrier(PRIVATE_EXPEDITED) && register_barrier() {
        membarrier(PRIVATE_EXPEDITED);
    }
}

/// Makes a variable of the environment empty, where it stands. To remove it would move the others, which another thread
/// may be reading: its list of variables belongs to the C library, which has no lock for it.
pub(crate) fn blank_variable(name: &CStr) {
    // SAFETY: the name ends with a NUL. What `getenv` gives is null or text of the environment, which is writable.
    unsafe {
        let text = libc::getenv(name.as_ptr()).cast::<u8>();
        if !text.is_null() {
            // One byte, at once: who reads it meanwhile finds the old text or none.
            AtomicU8::from_ptr(text).store(0, Ordering::Relaxed);
        }
    }
}
