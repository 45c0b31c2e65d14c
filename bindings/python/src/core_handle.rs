//! How an instance of Python's has the core's: as its own, or lent by the scheduler of light components.

use ligament_instance::{InCall, Instance as Core};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::MutexGuard;

/// The core's instance: this object's own, or that of a light component, which the scheduler lends for as long
/// as one of the component's functions runs.
pub(crate) enum CoreHandle {
    Own(Box<Core>),
    Lent(NonNull<Core>),
    Away,
    /// The program ends, and the core waits for its exit status (`leaving`).
    Left,
}

// SAFETY: a core that is lent is used by one thread at a time, the one that holds the lock, while it is lent.
unsafe impl Send for CoreHandle {}

/// The core, while nobody else uses it.
pub(crate) struct InUse<'a> {
    pub held: MutexGuard<'a, CoreHandle>,
    /// Ends after the lock.
    pub _turn: InCall<'a>,
}

impl Deref for InUse<'_> {
    type Target = Core;

    fn deref(&self) -> &Core {
        match &*self.held {
            CoreHandle::Own(core) => core,
            // SAFETY: it is lent, and whoever lent it does not use it meanwhile.
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
