//! The two halves of an asymmetric fence. A process that publishes (often) calls `light`, a compiler fence.
//! A process that parks (rarely) calls `heavy`, which makes the kernel run a full fence on every processor
//! that runs a registered process (membarrier(2), GLOBAL_EXPEDITED). If the kernel refuses membarrier, both
//! are full fences.

#[cfg(not(loom))]
use crate::memory::ShmError;
#[cfg(not(loom))]
use rustix::io::Errno;
#[cfg(not(loom))]
use std::sync::atomic::{compiler_fence, fence, AtomicBool, AtomicU8, Ordering};

#[cfg(not(loom))]
const UNKNOWN: u8 = 0;
#[cfg(not(loom))]
const ASYMMETRIC: u8 = 1;
#[cfg(not(loom))]
const SYMMETRIC: u8 = 2;

/// The kind of fence that `light` is in this process.
#[cfg(not(loom))]
static MODE: AtomicU8 = AtomicU8::new(UNKNOWN);
/// True if this process is registered. Then `heavy` calls membarrier, for the processes whose `light` is a
/// compiler fence.
#[cfg(not(loom))]
static REGISTERED: AtomicBool = AtomicBool::new(false);

#[cfg(not(loom))]
const REGISTER_GLOBAL_EXPEDITED: libc::c_int = 1 << 2;
#[cfg(not(loom))]
const GLOBAL_EXPEDITED: libc::c_int = 1 << 1;

#[cfg(not(loom))]
fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: membarrier takes no pointers; flags and cpu id are 0.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// Registers this process for the asymmetric fence and returns true if the kernel allows it. All processes
/// of a domain must use the same kind of fence: the agent calls this function and writes the result to the
/// board.
#[cfg(not(loom))]
pub fn register() -> bool {
    let ok = membarrier(REGISTER_GLOBAL_EXPEDITED);
    if ok {
        REGISTERED.store(true, Ordering::SeqCst);
        // If this process joined a domain with full fences before, full fences work for both domains.
        let _ = MODE.compare_exchange(UNKNOWN, ASYMMETRIC, Ordering::SeqCst, Ordering::SeqCst);
    } else {
        MODE.store(SYMMETRIC, Ordering::SeqCst);
    }
    ok
}

/// Uses the kind of fence that the agent of the domain has found.
///
/// # Errors
/// The kernel refuses this process the asymmetric fence that its agent has. Senders would then not see that
/// this process sleeps.
#[cfg(not(loom))]
pub fn join(asymmetric: bool) -> Result<(), ShmError> {
    if !asymmetric {
        MODE.store(SYMMETRIC, Ordering::SeqCst);
        return Ok(());
    }
    if register() {
        Ok(())
    } else {
        Err(ShmError::NoFence {
            error: Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::NOSYS),
        })
    }
}

/// Orders a publication before the look at the reader's flag `parked`.
#[cfg(not(loom))]
#[inline(always)]
pub fn light() {
    if MODE.load(Ordering::Relaxed) == ASYMMETRIC {
        compiler_fence(Ordering::SeqCst);
    } else {
        fence(Ordering::SeqCst);
    }
}

/// Orders the store to the process's own flag `parked` before its last look for a publication of the other
/// side.
#[cfg(not(loom))]
pub fn heavy() {
    fence(Ordering::SeqCst);
    if REGISTERED.load(Ordering::Relaxed) {
        membarrier(GLOBAL_EXPEDITED);
    }
}

#[cfg(loom)]
pub fn light() {
    loom::sync::atomic::fence(loom::sync::atomic::Ordering::SeqCst);
}

#[cfg(loom)]
pub fn heavy() {
    loom::sync::atomic::fence(loom::sync::atomic::Ordering::SeqCst);
}
