//! Private memory of one process, for messages between instances that share the process. It is aligned like
//! the blocks of slabs.

use crate::memory::ShmError;
use ligament_catalogue::fault;
use std::alloc::{alloc_zeroed, dealloc, Layout};
use std::ptr::NonNull;

/// Alignment of the parts of a message, bytes.
const LINE_BYTES: usize = 64;

/// Private memory that begins at a multiple of 64.
pub struct OwnMemory {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the struct is the only access to its bytes, except for the pointer from `start`, whose user is
// responsible for its use.
unsafe impl Send for OwnMemory {}
// SAFETY: shared references only read.
unsafe impl Sync for OwnMemory {}

impl OwnMemory {
    /// Allocates `len` zeroed bytes.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(len: u64) -> Result<OwnMemory, ShmError> {
        let no_memory = || ShmError::OutOfMemory {
            bytes: len,
            reason: fault!(MEMORY_OF_MACHINE, "the process has no more"),
        };
        let size = usize::try_from(len.max(1)).map_err(|_| no_memory())?;
        let layout = Layout::from_size_align(size, LINE_BYTES).map_err(|_| no_memory())?;
        // SAFETY: the size is not 0.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(no_memory)?;
        Ok(OwnMemory { start, layout })
    }

    /// Returns the address of the first byte, for callers in other languages. The address is valid as long
    /// as this struct exists.
    pub fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Returns the bytes for writing.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: `layout.size()` bytes were allocated and zeroed, and `self` is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.layout.size()) }
    }
}

impl AsRef<[u8]> for OwnMemory {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: `layout.size()` bytes were allocated and zeroed.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.layout.size()) }
    }
}

impl Drop for OwnMemory {
    fn drop(&mut self) {
        // SAFETY: `new` has allocated the memory with this layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}
