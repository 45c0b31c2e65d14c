//! The two halves of an asymmetric fence. Whoever publishes (often) pays for `light`, a compiler fence; whoever
//! parks (rarely) pays for `heavy`, which makes the kernel run a full fence on every processor that runs a
//! registered process (membarrier(2), GLOBAL_EXPEDITED). Where the kernel refuses, both are full fences.

#[cfg(not(loom))]
use std::sync::atomic::{compiler_fence, fence, AtomicU8, Ordering};

#[cfg(not(loom))]
const UNKNOWN: u8 = 0;
#[cfg(not(loom))]
const ASYMMETRIC: u8 = 1;
#[cfg(not(loom))]
const SYMMETRIC: u8 = 2;

#[cfg(not(loom))]
static MODE: AtomicU8 = AtomicU8::new(UNKNOWN);

#[cfg(not(loom))]
const REGISTER_GLOBAL_EXPEDITED: libc::c_int = 1 << 2;
#[cfg(not(loom))]
const GLOBAL_EXPEDITED: libc::c_int = 1 << 1;

#[cfg(not(loom))]
fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: membarrier takes no pointers; flags and cpu id are 0.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// Registers this process for the asymmetric fence. Every process of a domain must use the same kind, so the
/// agent tries first and hands its answer (`asymmetric`) out on the board.
///
/// Returns whether the asymmetric fence is in force; asked for `false`, it always is the full fence.
#[cfg(not(loom))]
pub fn register(asymmetric: bool) -> bool {
    let ok = asymmetric && membarrier(REGISTER_GLOBAL_EXPEDITED);
    MODE.store(if ok { ASYMMETRIC } else { SYMMETRIC }, Ordering::SeqCst);
    ok
}

/// Between a publication and the look at the other side's flag.
#[cfg(not(loom))]
#[inline(always)]
pub fn light() {
    if MODE.load(Ordering::Relaxed) == ASYMMETRIC {
        compiler_fence(Ordering::SeqCst);
    } else {
        fence(Ordering::SeqCst);
    }
}

/// Between raising a flag and the last look at what the other side may have published.
#[cfg(not(loom))]
pub fn heavy() {
    fence(Ordering::SeqCst);
    if MODE.load(Ordering::Relaxed) == ASYMMETRIC {
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
