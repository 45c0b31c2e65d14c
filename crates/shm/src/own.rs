//! Memory of this process alone, for messages between instances that share it: aligned as blocks of slabs are.

use crate::memory::ShmError;
use ligament_catalogue::fault;
use std::alloc::{alloc_zeroed, dealloc, Layout};
use std::ptr::NonNull;

/// Parts of messages begin at multiples of this.
const LINE: usize = 64;

/// Bytes that begin at a multiple of 64.
pub struct OwnMemory {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: it is the only way to its bytes, but for the pointer that `start` gives, whose user answers for it.
unsafe impl Send for OwnMemory {}
// SAFETY: shared references only read.
unsafe impl Sync for OwnMemory {}

impl OwnMemory {
    /// `len` zeroed bytes.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(len: u64) -> Result<OwnMemory, ShmError> {
        let no_memory = || ShmError::OutOfMemory {
            bytes: len,
            reason: fault!(MEMORY_OF_MACHINE, "the process has no more"),
        };
        let size = usize::try_from(len.max(1)).map_err(|_| no_memory())?;
        let layout = Layout::from_size_align(size, LINE).map_err(|_| no_memory())?;
        // SAFETY: the size is not 0.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(no_memory)?;
        Ok(OwnMemory { start, layout })
    }

    /// The first byte, for callers in other languages; valid for as long as this is.
    pub fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// The bytes, to be written.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: so many bytes were allocated and zeroed, and `self` is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.layout.size()) }
    }
}

impl AsRef<[u8]> for OwnMemory {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: so many bytes were allocated and zeroed.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.layout.size()) }
    }
}

impl Drop for OwnMemory {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}
