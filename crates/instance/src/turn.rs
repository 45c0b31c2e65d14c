//! Allows only one call at a time to use an instance. For Rust code, the borrow checker ensures this. The
//! bindings of other languages check it here at each call, and refuse a call while another call is in
//! progress.
//!
//! A locked instruction for each call would cost a tenth of an ordinary message. Therefore the thread that
//! made the instance has a privilege: it notes its calls with plain stores (`own`). If another thread makes
//! a call, this thread takes the privilege away for good, with a barrier on the owner's processor. From
//! then on, all threads note their calls by a compare-and-swap (`shared`).
//!
//! `lig_run_submodel` and `lig_run_light` count as calls in progress, except while they run a function that
//! may use the instance.

use crate::error::Error;
use crate::sys;
use ligament_catalogue::{said_to, Code, Coded};
use std::fmt;
use std::ptr::null_mut;
use std::sync::atomic::{compiler_fence, AtomicI32, AtomicPtr, AtomicUsize, Ordering};

/// A call of a binding, given by its name.
#[derive(Debug, PartialEq, Eq)]
pub struct Call(pub &'static str);

/// Value of `owner` if no thread has the privilege of plain stores.
const NOBODY: usize = 0;
/// Value of `owner` while the privilege is being taken away. A thread that reads this value must make the
/// barrier itself.
const REVOKED: usize = 1;

/// Value of a thread's number if the thread has just begun its call and has not stored its number yet.
const UNKNOWN: i32 = 0;

/// Ensures that an instance is used by one call at a time.
#[derive(Debug)]
pub struct CallGuard {
    /// The thread with the privilege of plain stores, or `NOBODY` or `REVOKED`.
    owner: AtomicUsize,
    /// The call in progress that the owner has begun with the privilege.
    own: AtomicPtr<Call>,
    /// The call in progress that was begun in the other way.
    shared: AtomicPtr<Call>,
    /// The system's number of the thread that makes the calls in `own`. `shared_thread` is the number of
    /// the thread whose call is in `shared`, as long as there is one.
    own_thread: i32,
    shared_thread: AtomicI32,
}

/// A call in progress. The call ends when this value is dropped.
#[derive(Debug)]
pub struct InCall<'a> {
    place: &'a AtomicPtr<Call>,
    /// For a call in `shared`: the number of its thread.
    thread: Option<&'a AtomicI32>,
}

impl Drop for InCall<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(thread) = self.thread {
            thread.store(UNKNOWN, Ordering::Relaxed);
        }
        self.place.store(null_mut(), Ordering::Release);
    }
}

/// The error of a call that was made while another call was in progress. It is made, printed and dropped
/// without allocating memory, so that a signal handler gets the error whatever code it has interrupted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlap {
    refused: &'static Call,
    busy: &'static Call,
    thread: i32,
    here: i32,
}

impl Coded for Overlap {
    fn code(&self) -> Code {
        Code::IN_ANOTHER_CALL
    }
}

impl fmt::Display for Overlap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Overlap { refused, busy, thread, here } = self;
        said_to!(
            f,
            IN_ANOTHER_CALL,
            "{}: the instance is in the middle of another call: {} ",
            refused.0,
            busy.0
        )?;
        if thread == here {
            f.write_str(
                "of this thread; neither a signal handler nor a function that the call itself calls may use \
                 the instance",
            )?;
        } else {
            match *thread {
                UNKNOWN => f.write_str("of another thread")?,
                known => write!(f, "of thread {known}")?,
            }
            said_to!(
                f,
                IN_ANOTHER_CALL,
                ", and this is thread {here}; let one thread at a time use an instance, for example under a \
                 lock"
            )?;
        }
        f.write_str(" (ligament explain in-another-call)")
    }
}

fn place(call: &'static Call) -> *mut Call {
    std::ptr::from_ref(call).cast_mut()
}

impl CallGuard {
    /// Makes the guard of an instance that this thread makes.
    pub fn new() -> CallGuard {
        let owner = if sys::register_barrier() { sys::this_thread() } else { NOBODY };
        CallGuard {
            owner: AtomicUsize::new(owner),
            own: AtomicPtr::default(),
            shared: AtomicPtr::default(),
            own_thread: sys::thread_number(),
            shared_thread: AtomicI32::new(UNKNOWN),
        }
    }

    /// Begins a call.
    ///
    /// # Errors
    /// `InUse` if another call is in progress.
    #[inline(always)]
    pub fn enter(&self, call: &'static Call) -> Result<InCall<'_>, Error> {
        match self.enter_own(call) {
            Some(entered) => Ok(entered),
            None => self.enter_otherwise(call),
        }
    }

    /// Begins a call of the thread that has the privilege of plain stores. Returns `None` if the caller must
    /// use `enter`: for another thread, or while another call is in progress. This has no room for an error,
    /// so it is faster than `enter` for a call that takes some nanoseconds.
    #[inline(always)]
    pub fn enter_own(&self, call: &'static Call) -> Option<InCall<'_>> {
        let this = sys::this_thread();
        if self.owner.load(Ordering::Relaxed) != this || !self.own.load(Ordering::Relaxed).is_null() {
            return None;
        }
        self.own.store(place(call), Ordering::Relaxed);
        // A thread that takes the privilege away reads `own` after a barrier on this processor. So at
        // least one of the two threads sees the store of the other one.
        compiler_fence(Ordering::SeqCst);
        if self.owner.load(Ordering::Relaxed) == this {
            return Some(InCall { place: &self.own, thread: None });
        }
        self.own.store(null_mut(), Ordering::Release);
        None
    }

    #[inline(never)]
    fn enter_otherwise(&self, call: &'static Call) -> Result<InCall<'_>, Error> {
        let owner = self.owner.load(Ordering::Acquire);
        if owner == sys::this_thread() {
            return Err(self.overlap(call, self.own.load(Ordering::Relaxed), self.own_thread));
        }
        if owner != NOBODY {
            self.owner.store(REVOKED, Ordering::SeqCst);
            sys::barrier();
            // Other threads that have read `REVOKED` have made the same barrier.
            self.owner.store(NOBODY, Ordering::Release);
        }
        let taken = self.shared.compare_exchange(null_mut(), place(call), Ordering::Acquire, Ordering::Relaxed);
        if let Err(busy) = taken {
            return Err(self.overlap(call, busy, self.shared_thread.load(Ordering::Relaxed)));
        }
        let own = self.own.load(Ordering::Acquire);
        if !own.is_null() {
            self.shared.store(null_mut(), Ordering::Release);
            return Err(self.overlap(call, own, self.own_thread));
        }
        self.shared_thread.store(sys::known_thread_number(), Ordering::Relaxed);
        Ok(InCall { place: &self.shared, thread: Some(&self.shared_thread) })
    }

    /// Begins a call that must not be refused: waits until another call has ended. Also returns the error
    /// of the wait, if any.
    pub fn enter_at_last(&self, call: &'static Call) -> (InCall<'_>, Option<Error>) {
        let mut overlap = None;
        loop {
            match self.enter(call) {
                Ok(entered) => return (entered, overlap),
                Err(error) => overlap = Some(error),
            }
            // The loop only runs after a mistake of the caller, so its time does not matter.
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }

    #[cold]
    fn overlap(&self, refused: &'static Call, busy: *mut Call, thread: i32) -> Error {
        // The pointer is null only if the other call has just ended.
        let busy = sys::as_call(busy).unwrap_or(&Call("a call"));
        Error::InUse(Overlap { refused, busy, thread, here: sys::thread_number() })
    }
}

impl Default for CallGuard {
    fn default() -> CallGuard {
        CallGuard::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicU64};
    use std::sync::Barrier;
    use std::thread;

    static SEND: Call = Call("send");
    static RECEIVE: Call = Call("receive");

    #[test]
    fn a_call_within_a_call_of_the_same_thread_is_refused_and_the_next_one_is_not() {
        let turn = CallGuard::new();
        let first = turn.enter(&RECEIVE).unwrap();
        let refused = turn.enter(&SEND).unwrap_err().to_string();
        assert!(
            refused.starts_with("send: the instance is in the middle of another call: receive of this thread")
        );
        drop(first);
        drop(turn.enter(&SEND).unwrap());
        drop(turn.enter(&RECEIVE).unwrap());
    }

    #[test]
    fn a_call_of_another_thread_is_refused_while_the_owner_is_in_one_and_names_its_thread() {
        let turn = CallGuard::new();
        let first = turn.enter(&RECEIVE).unwrap();
        let busy = sys::thread_number();
        let elsewhere = || thread::scope(|s| s.spawn(|| turn.enter(&SEND).map(drop)).join().unwrap());
        let refused = elsewhere().unwrap_err().to_string();
        assert!(refused.contains(&format!("receive of thread {busy}, and this is thread")), "{refused}");
        drop(first);
        elsewhere().unwrap();
        // The owner has lost its privilege, and takes turns like everybody.
        let first = turn.enter(&RECEIVE).unwrap();
        elsewhere().unwrap_err();
        assert!(turn.enter(&SEND).unwrap_err().to_string().contains("receive of this thread"));
        drop(first);
        elsewhere().unwrap();
    }

    #[test]
    fn two_threads_are_never_in_a_call_at_once() {
        for _ in 0..300 {
            let turn = CallGuard::new();
            let (inside, entered, refused) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
            let begin = Barrier::new(3);
            let play = || {
                begin.wait();
                for _ in 0..100 {
                    match turn.enter(&SEND) {
                        Ok(_in_call) => {
                            assert!(!inside.swap(true, Ordering::SeqCst), "two at once");
                            std::hint::spin_loop();
                            assert!(inside.swap(false, Ordering::SeqCst));
                            entered.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(_) => {
                            refused.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                }
            };
            thread::scope(|s| {
                s.spawn(play);
                s.spawn(play);
                // The owner, with the privilege.
                play();
            });
            assert_eq!(entered.into_inner() + refused.into_inner(), 300);
        }
    }

    #[test]
    fn who_must_enter_waits_for_the_call_in_progress_and_is_told_of_it() {
        let turn = CallGuard::new();
        let begun = Barrier::new(2);
        thread::scope(|s| {
            s.spawn(|| {
                let in_call = turn.enter(&RECEIVE).unwrap();
                begun.wait();
                begun.wait();
                drop(in_call);
            });
            begun.wait();
            turn.enter(&SEND).unwrap_err();
            begun.wait();
        });
        let (in_call, overlap) = turn.enter_at_last(&SEND);
        assert!(overlap.is_none());
        drop(in_call);
    }
}
