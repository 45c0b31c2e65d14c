//! The core's instance of a Python instance: owned, or lent by the scheduler of light components.

use ligament_instance::{InCall, Instance as Core};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::MutexGuard;

/// The core's instance. It belongs to this object, or to a light component; the scheduler then lends it while
/// one of the component's functions runs.
pub(crate) enum CoreHandle {
    Own(Box<Core>),
    Lent(NonNull<Core>),
    Away,
    /// The program is ending, and the instance waits for its exit status (`exit.rs`).
    Left,
}

// SAFETY: one thread at a time uses a lent instance: the one that holds the lock, while the instance is lent.
unsafe impl Send for CoreHandle {}

/// The core's instance, during one call.
pub(crate) struct InUse<'a> {
    pub held: MutexGuard<'a, CoreHandle>,
    /// Dropped after the lock.
    pub _turn: InCall<'a>,
}

impl Deref for InUse<'_> {
    type Target = Core;

    fn deref(&self) -> &Core {
        match &*self.held {
            CoreHandle::Own(core) => core,
            // SAFETY: the instance is lent, and its lender does not use it meanwhile.
            CoreHandle::Lent(core) => unsafe { core.as_ref() },
            CoreHandle::Away | CoreHandle::Left => unreachable!("looked at when it was locked"),
        }
    }
}

impl DerefMut for InUse<'_> {
    fn deref_mut(&mut self) -> &mut Core {
        match &mut *self.held {
            CoreHandle::Own(core) => core,
            // SAFETY: as above.
            CoreHandle::Lent(core) => unsafe { core.as_mut() },
            CoreHandle::Away | CoreHandle::Left => unreachable!("looked at when it was locked"),
        }
    }
}
