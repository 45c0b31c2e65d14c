//! Bytes that several views share, with a count of the holders. They are like those of the crate `bytes`,
//! with two differences: the caller chooses where the record of the owner is, so that a received message
//! needs no memory of the heap for it; and the last holder drops the owner without a locked instruction.
//! This file has all `unsafe` code of the crate.

use std::fmt;
use std::ops::{Deref, RangeBounds};
use std::ptr::NonNull;
use std::sync::atomic::{fence, AtomicUsize, Ordering};

/// The first member of every record that keeps bytes in memory.
#[repr(C)]
pub struct Keeper {
    holders: AtomicUsize,
    let_go: unsafe fn(NonNull<Keeper>),
}

impl Keeper {
    /// Makes a keeper with one holder. `let_go` is called once, with the keeper, when the last holder drops
    /// the bytes.
    pub const fn new(let_go: unsafe fn(NonNull<Keeper>)) -> Keeper {
        Keeper { holders: AtomicUsize::new(1), let_go }
    }

    /// Sets the count to one holder again, for a keeper that is used more than once.
    ///
    /// # Safety
    /// There is no holder of the keeper's bytes: `let_go` was called, or there was no holder yet.
    #[inline]
    pub unsafe fn again(&mut self) {
        *self.holders.get_mut() = 1;
    }
}

/// Bytes that never change. All clones and slices share them, and may be sent to other threads.
pub struct Bytes {
    start: *const u8,
    len: usize,
    keeper: Option<NonNull<Keeper>>,
}

// SAFETY: the bytes are only read, and the count is atomic. The owner of the bytes is `Send + Sync`
// (`from_owner`), or the caller of `from_keeper` promises that threads may share the bytes.
unsafe impl Send for Bytes {}
// SAFETY: as above.
unsafe impl Sync for Bytes {}

/// A record on the heap: an owner of bytes, and the keeper that counts the holders of these bytes.
#[repr(C)]
struct OwnerBox<T> {
    keeper: Keeper,
    owner: T,
}

/// # Safety
/// `keeper` is the first member of an `OwnerBox<T>` from a `Box`, and nothing uses this record any more.
unsafe fn drop_box<T>(keeper: NonNull<Keeper>) {
    // SAFETY: as the caller promises; `repr(C)` puts the keeper first.
    drop(unsafe { Box::from_raw(keeper.cast::<OwnerBox<T>>().as_ptr()) });
}

impl Bytes {
    /// Makes an empty sequence of bytes.
    #[inline]
    pub const fn new() -> Bytes {
        Bytes { start: NonNull::<u8>::dangling().as_ptr(), len: 0, keeper: None }
    }

    /// Makes shared bytes over memory that exists until the process ends.
    pub const fn from_static(bytes: &'static [u8]) -> Bytes {
        Bytes { start: bytes.as_ptr(), len: bytes.len(), keeper: None }
    }

    /// Makes shared bytes with a copy of `bytes`.
    pub fn copy_from_slice(bytes: &[u8]) -> Bytes {
        Bytes::from(bytes.to_vec())
    }

    /// Makes shared bytes over the memory of `owner`. The last holder drops `owner`. Each call of
    /// `owner.as_ref()` must return the same bytes.
    pub fn from_owner<T: AsRef<[u8]> + Send + Sync + 'static>(owner: T) -> Bytes {
        let kept = Box::new(OwnerBox { keeper: Keeper::new(drop_box::<T>), owner });
        // The owner does not move any more, so the address of its bytes is final.
        let kept = NonNull::from(Box::leak(kept));
        // SAFETY: the record was just leaked, so it lives until `drop_box`.
        let bytes = unsafe { kept.as_ref() }.owner.as_ref();
        Bytes { start: bytes.as_ptr(), len: bytes.len(), keeper: Some(kept.cast()) }
    }

    /// Makes shared bytes that a record of the caller keeps.
    ///
    /// # Safety
    /// `keeper` counts one holder, the returned value. Until the keeper's `let_go` is called, `len` bytes
    /// from `start` can be read from any thread, and the keeper does not move. Any thread may call
    /// `let_go`.
    #[inline]
    pub unsafe fn from_keeper(start: *const u8, len: usize, keeper: NonNull<Keeper>) -> Bytes {
        Bytes { start, len, keeper: Some(keeper) }
    }

    /// Returns a part of the bytes, which shares them.
    ///
    /// # Panics
    /// Panics if the range goes beyond the end.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Bytes {
        self.slice_ref(&self[(range.start_bound().cloned(), range.end_bound().cloned())])
    }

    /// Returns `part`, which is a slice of these bytes, as shared bytes.
    ///
    /// # Panics
    /// Panics if `part` is not a slice of these bytes.
    pub fn slice_ref(&self, part: &[u8]) -> Bytes {
        if part.is_empty() {
            return Bytes::new();
        }
        let (from, to) = (self.start as usize, part.as_ptr() as usize);
        assert!(to >= from && to + part.len() <= from + self.len, "a slice of other bytes");
        let mut shared = self.clone();
        (shared.start, shared.len) = (part.as_ptr(), part.len());
        shared
    }
}

impl Drop for Bytes {
    #[inline]
    fn drop(&mut self) {
        let Some(keeper) = self.keeper else { return };
        // SAFETY: `self` is a holder, so the keeper exists.
        let kept = unsafe { keeper.as_ref() };
        // If the count is 1, `self` is the only holder, and no other holder can appear, because it could
        // only be a clone of `self`. So the most frequent case needs no locked instruction.
        if kept.holders.load(Ordering::Acquire) != 1 {
            if kept.holders.fetch_sub(1, Ordering::Release) != 1 {
                return;
            }
            fence(Ordering::Acquire);
        }
        // SAFETY: this was the last holder.
        unsafe { (kept.let_go)(keeper) }
    }
}

impl Deref for Bytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: `self` is a holder, so `keeper` keeps the bytes; without a keeper, they exist until the
        // process ends. The bytes are never written.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

impl Clone for Bytes {
    #[inline]
    fn clone(&self) -> Bytes {
        if let Some(keeper) = self.keeper {
            // SAFETY: `self` is a holder, so the keeper exists.
            let before = unsafe { keeper.as_ref() }.holders.fetch_add(1, Ordering::Relaxed);
            assert!(before < usize::MAX / 2, "too many clones");
        }
        Bytes { start: self.start, len: self.len, keeper: self.keeper }
    }
}

impl Default for Bytes {
    fn default() -> Bytes {
        Bytes::new()
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Bytes {
        if bytes.is_empty() {
            return Bytes::new();
        }
        Bytes::from_owner(bytes)
    }
}

impl From<&'static [u8]> for Bytes {
    fn from(bytes: &'static [u8]) -> Bytes {
        Bytes::from_static(bytes)
    }
}

impl PartialEq for Bytes {
    fn eq(&self, other: &Bytes) -> bool {
        **self == **other
    }
}

impl Eq for Bytes {}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    struct Owner {
        bytes: [u8; 4],
        _alive: Arc<()>,
    }

    fn owned(alive: &Arc<()>) -> Bytes {
        Bytes::from_owner(Owner { bytes: [1, 2, 3, 4], _alive: alive.clone() })
    }

    impl AsRef<[u8]> for Owner {
        fn as_ref(&self) -> &[u8] {
            &self.bytes
        }
    }

    #[test]
    fn the_owner_goes_with_the_last_of_clones_and_slices_whatever_their_order() {
        for last in 0..3 {
            let alive = Arc::new(());
            let bytes = owned(&alive);
            let mut held = vec![bytes.slice(1..3), bytes.clone(), bytes];
            let keep = held.remove(last);
            drop(held);
            assert_eq!(Arc::strong_count(&alive), 2);
            assert_eq!(keep[keep.len() - 1], if last == 0 { 3 } else { 4 });
            drop(keep);
            assert_eq!(Arc::strong_count(&alive), 1);
        }
    }

    #[test]
    fn threads_that_let_go_at_once_drop_the_owner_once() {
        let alive = Arc::new(());
        for _ in 0..200 {
            let bytes = owned(&alive);
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    let bytes = bytes.clone();
                    scope.spawn(move || assert_eq!(bytes[3], 4));
                }
                drop(bytes);
            });
            assert_eq!(Arc::strong_count(&alive), 1);
        }
    }

    #[test]
    #[should_panic = "other bytes"]
    fn a_slice_of_something_else_is_refused() {
        Bytes::from(vec![1, 2, 3]).slice_ref(b"else");
    }
}
