//! The one place with `unsafe` here: learning that this process is a fork of the one that registered, and giving memory
//! back to the system.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Once;

static FORKS: AtomicU32 = AtomicU32::new(0);
static WATCH: Once = Once::new();

extern "C" fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// How often this process has come out of a fork since the library is in use. An instance made before a fork sees
/// another number in the child.
#[inline]
pub(crate) fn forks() -> u32 {
    FORKS.load(Ordering::Relaxed)
}

/// Begins to watch for forks.
pub(crate) fn watch_forks() {
    WATCH.call_once(|| {
        // SAFETY: the handler only touches an atomic, which is allowed in a forked child.
        unsafe { libc::pthread_atfork(None, None, Some(forked)) };
    });
}

/// Gives the system back what was freed, where the C library would keep it.
pub(crate) fn return_freed_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it looks at nothing but the allocator's own.
    unsafe {
        libc::malloc_trim(0);
    }
}
