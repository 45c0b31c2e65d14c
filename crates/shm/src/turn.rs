//! A word that decides which of two processes may use a piece of memory that they share. The asker passes
//! the memory to the answerer, and the answerer passes it back when it has filled it. The process that has
//! the turn has the memory for itself, so no process reads a half-written value. Neither process waits: a
//! process without the turn looks again later.

use crate::sync::{AtomicU32, Ordering};

/// The answerer has the turn: it is to fill the memory.
const REQUESTED: u32 = 1;
/// The memory is full, and the asker has the turn. The asker also has the turn at any value other than
/// `REQUESTED`. If some process writes a wrong value, the answerer therefore stops, and no process writes
/// memory that another one reads.
const FULL: u32 = 2;

/// The word that holds the turn. In fresh memory the asker has the turn, and the memory holds no value.
#[repr(transparent)]
pub struct Turn {
    word: AtomicU32,
}

#[cfg(not(loom))]
// SAFETY: all fields are atomic.
unsafe impl crate::memory::Shared for Turn {}

impl Turn {
    #[cfg(loom)]
    fn new() -> Turn {
        Turn { word: AtomicU32::new(0) }
    }

    /// Asker, which must have the turn: asks the answerer to fill the memory again.
    pub fn ask(&self) {
        self.word.store(REQUESTED, Ordering::Release);
    }

    /// Answerer: returns true if it is to fill the memory.
    #[inline]
    pub fn is_asked(&self) -> bool {
        self.word.load(Ordering::Acquire) == REQUESTED
    }

    /// Answerer, which must have the turn: declares the memory full.
    pub fn answer(&self) {
        self.word.store(FULL, Ordering::Release);
    }

    /// Asker: returns true if the answerer has filled the memory since the last `ask`.
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

    /// Loom tries every order of the memory accesses, and fails if both processes use the memory at one time.
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
