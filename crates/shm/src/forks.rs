//! Detects a fork of the process that mapped the shared memory. The child process shares the mappings of its
//! parent. When the child drops an object, it must not release the memory, because the memory belongs to the
//! parent.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Once;

static FORKS: AtomicU32 = AtomicU32::new(0);
static WATCH: Once = Once::new();

extern "C" fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// Returns the number of forks between the call of `watch` and this process. An object that stores this
/// number at its creation sees a different number in a forked child.
#[inline]
pub fn count() -> u32 {
    FORKS.load(Ordering::Relaxed)
}

/// Starts to count forks.
pub fn watch() {
    WATCH.call_once(|| {
        // SAFETY: the handler only touches an atomic, which is allowed in a forked child.
        unsafe { libc::pthread_atfork(None, None, Some(forked)) };
    });
}
