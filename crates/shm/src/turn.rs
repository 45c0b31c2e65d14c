//! Whose turn it is with a piece of memory that two processes share: a word that passes it from the one who
//! asks to the one who answers and back. Whoever has the turn has the memory alone, so that nothing is ever
//! read half written. Neither waits: who does not have the turn comes again later.

use crate::sync::{AtomicU32, Ordering};

/// The memory is to be filled: it is the answerer's.
const REQUESTED: u32 = 1;
/// It is full: it is the asker's. Any other word is too, so that a word that nobody should have written stops
/// the answerer and lets nobody write where somebody reads.
const FULL: u32 = 2;

/// The word. Fresh memory is the asker's, with nothing in it.
#[repr(transparent)]
pub struct Turn {
    word: AtomicU32,
}

#[cfg(not(loom))]
// SAFETY: only atomics.
unsafe impl crate::memory::Shared for Turn {}

impl Turn {
    #[cfg(loom)]
    fn new() -> Turn {
        Turn { word: AtomicU32::new(0) }
    }

    /// Asker, whose turn it is: the memory is to be filled anew.
    pub fn ask(&self) {
        self.word.store(REQUESTED, Ordering::Release);
    }

    /// Answerer: whether the memory is to be filled.
    #[inline]
    pub fn is_asked(&self) -> bool {
        self.word.load(Ordering::Acquire) == REQUESTED
    }

    /// Answerer, whose turn it is: the memory is full.
    pub fn answer(&self) {
        self.word.store(FULL, Ordering::Release);
    }

    /// Asker: whether the memory has been filled since it was asked for.
    pub fn is_full(&self) -> bool {
        self.word.load(Ordering::Acquire) == FULL
    }
}

#[cfg(all(test, loom))]
mod tests {
    use super::Turn;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::thread;

    /// Loom finds every order in which one may see what the other writes, and fails where both have the memory.
    #[test]
    fn nothing_is_read_half_written() {
        loom::model(|| {
            let shared = Arc::new((Turn::new(), UnsafeCell::new([0u32; 2])));
            let other = shared.clone();
            shared.0.ask();
            let answerer = thread::spawn(move || {
                for value in 1..=2 {
                    if other.0.is_asked() {
                        other.1.with_mut(|to| unsafe { *to = [value, value] });
                        other.0.answer();
                    }
                }
            });
            for _ in 0..2 {
                if shared.0.is_full() {
                    let seen = shared.1.with(|from| unsafe { *from });
                    assert!(seen[0] == seen[1] && seen[0] != 0);
                    shared.0.ask();
                }
            }
            answerer.join().unwrap();
        });
    }
}
