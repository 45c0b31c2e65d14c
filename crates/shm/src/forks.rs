//! A check for forks of the process that mapped the memory. A child shares what is mapped, so what it drops
//! must not be given back: the memory belongs to its parent.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Once;

static FORKS: AtomicU32 = AtomicU32::new(0);
static WATCH: Once = Once::new();

extern "C" fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// How often this process has come out of a fork since `watch` was called. What was made before a fork sees
/// another number in the child.
#[inline]
pub fn count() -> u32 {
    FORKS.load(Ordering::Relaxed)
}

/// Begins to watch for forks.
pub fn watch() {
    WATCH.call_once(|| {
        // SAFETY: the handler only touches an atomic, which is allowed in a forked child.
        unsafe { libc::pthread_atfork(None, None, Some(forked)) };
    });
}
