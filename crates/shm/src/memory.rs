//! Anonymous shared memory (`memfd`): creating, sealing and mapping it, and allocating its pages before
//! their first use.

use ligament_catalogue::{fault, hinted, said, Code, Coded, Fault};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{fcntl_add_seals, ftruncate, memfd_create, MemfdFlags, SealFlags};
use rustix::io::Errno;
use rustix::mm::{madvise, mmap, mmap_anonymous, munmap, Advice, MapFlags, ProtFlags};
use std::fmt;
use std::ptr::{null_mut, NonNull};

/// Size of a huge page, bytes. Large slabs are aligned to it, so that the kernel can back them with huge
/// pages.
pub const HUGE_PAGE_BYTES: usize = 2 << 20;
/// Size of a page, bytes.
pub const PAGE_BYTES: usize = 4096;

/// Errors of shared memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShmError {
    /// The memory for `bytes` bytes cannot be had; `reason` names the limit that was reached.
    OutOfMemory { bytes: u64, reason: Fault },
    /// A message has `bytes` bytes, but messages on its conduit may have at most `limit` bytes.
    TooLarge { bytes: u64, limit: u64 },
    /// A system call failed.
    System { call: &'static str, error: Errno },
    /// The kernel refuses this process the fence that the other processes of its run use. Senders would not
    /// see that this process sleeps.
    NoFence { error: Errno },
    /// The agent has closed its end of the socket.
    AgentGone,
    /// The agent has announced the end of the run.
    RunEnds(String),
    /// A peer or the agent sent data that cannot be valid.
    Malformed(String),
    /// No message arrived within the time allowed.
    TimedOut,
    /// A signal arrived, and the caller has asked to be interrupted by signals.
    Interrupted,
    /// No message has arrived, and an instance that shares its process cannot wait within a step.
    NotHere,
}

impl Coded for ShmError {
    fn code(&self) -> Code {
        match self {
            ShmError::OutOfMemory { reason, .. } => reason.code(),
            ShmError::TooLarge { .. } => Code::MESSAGE_TOO_LARGE,
            ShmError::System { .. } => Code::SYSTEM_REFUSES,
            ShmError::NoFence { .. } => Code::FENCE_REFUSED,
            ShmError::AgentGone => Code::AGENT_GONE,
            ShmError::RunEnds(why) => hinted(why).unwrap_or(Code::RUN_ENDS),
            ShmError::Malformed(_) => Code::MALFORMED_DATA,
            ShmError::TimedOut => Code::TIMED_OUT,
            ShmError::Interrupted => Code::INTERRUPTED,
            ShmError::NotHere => Code::NOT_HERE_YET,
        }
    }
}

impl fmt::Display for ShmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            ShmError::OutOfMemory { bytes, reason } => {
                said!(MEMORY_SPENT, "no memory for {bytes} more bytes of messages: {reason}")
            }
            ShmError::TooLarge { bytes, limit } => said!(
                MESSAGE_TOO_LARGE,
                "the message has {bytes} bytes, and one on this conduit may have {limit}; send less at a time, \
                 or raise \"message_size\" under \"ligament:\" in the model (or --message-size of \"ligament \
                 run\")"
            ),
            ShmError::System { call, error } => said!(SYSTEM_REFUSES, "{call}: {error}"),
            ShmError::NoFence { error } => said!(
                FENCE_REFUSED,
                "membarrier, which this process must be allowed as the others of its run are (is there a \
                 seccomp filter for this one alone?): {error}"
            ),
            ShmError::AgentGone => said!(AGENT_GONE, "the agent of this run is gone; the run has ended"),
            ShmError::RunEnds(why) => said!(RUN_ENDS, "the run is ending: {why}"),
            ShmError::Malformed(what) => {
                said!(MALFORMED_DATA, "malformed data from another process of this run: {what}")
            }
            ShmError::TimedOut => said!(TIMED_OUT, "nothing arrived within the time allowed"),
            ShmError::Interrupted => said!(INTERRUPTED, "interrupted by a signal"),
            ShmError::NotHere => said!(
                NOT_HERE_YET,
                "nothing has come, and a light component cannot wait within a step: its functions are called \
                 when there is one message for each connected port of their operator. Receive once on each \
                 port in a step, ask poll() before a second time, or take the program out of \"light:\" in the \
                 model"
            ),
        };
        f.write_str(&text)
    }
}

impl std::error::Error for ShmError {}

/// Makes an error that names the failed system call.
pub(crate) fn during(call: &'static str) -> impl FnOnce(Errno) -> ShmError {
    move |error| ShmError::System { call, error }
}

/// Makes the error for `len` bytes that could not be mapped.
fn unmapped(len: usize) -> impl FnOnce(Errno) -> ShmError {
    move |error| match error {
        Errno::NOMEM => ShmError::OutOfMemory {
            bytes: len as u64,
            reason: fault!(
                MEMORY_OF_MACHINE,
                "the system lets this process map no more; raise the limit of its memory (ulimit -v, the job's)"
            ),
        },
        error => ShmError::System { call: "mmap", error },
    }
}

/// Creates shared memory of `size` bytes that can neither shrink nor grow. Its pages are allocated at their
/// first use.
pub fn create(name: &str, size: usize) -> Result<OwnedFd, ShmError> {
    let fd =
        memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).map_err(during("memfd_create"))?;
    ftruncate(&fd, size as u64).map_err(during("ftruncate"))?;
    fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW).map_err(during("fcntl(F_ADD_SEALS)"))?;
    Ok(fd)
}

/// Forbids every further writable mapping; existing mappings stay writable. The writer calls this after it
/// has mapped the memory.
pub fn seal_against_writers(fd: impl AsFd) -> Result<(), ShmError> {
    fcntl_add_seals(fd, SealFlags::FUTURE_WRITE).map_err(during("fcntl(F_SEAL_FUTURE_WRITE)"))
}

/// A piece of shared memory in the address space of this process. It is unmapped when it is dropped.
#[derive(Debug)]
pub struct Mapping {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: a mapping is plain memory, not bound to a thread; all shared words in it are accessed as atomics, and
// payload bytes are published through them.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `len` bytes from `offset` for reading and writing.
    pub fn writable(fd: impl AsFd, offset: u64, len: usize) -> Result<Mapping, ShmError> {
        Mapping::map(fd, offset, len, ProtFlags::READ | ProtFlags::WRITE)
    }

    /// Maps `len` bytes from `offset` for reading only.
    pub fn readable(fd: impl AsFd, offset: u64, len: usize) -> Result<Mapping, ShmError> {
        Mapping::map(fd, offset, len, ProtFlags::READ)
    }

    fn map(fd: impl AsFd, offset: u64, len: usize, prot: ProtFlags) -> Result<Mapping, ShmError> {
        let start = if len >= HUGE_PAGE_BYTES {
            let room = len + HUGE_PAGE_BYTES;
            // SAFETY: reserves fresh address space without access; the kernel chooses the place.
            let reserved = unsafe { mmap_anonymous(null_mut(), room, ProtFlags::empty(), MapFlags::PRIVATE) }
                .map_err(unmapped(len))? as usize;
            let aligned = reserved.next_multiple_of(HUGE_PAGE_BYTES);
            // SAFETY: the mapping replaces a part of the reservation just made, which no other code uses.
            let mapped =
                unsafe { mmap(aligned as *mut _, len, prot, MapFlags::SHARED | MapFlags::FIXED, fd, offset) };
            // SAFETY: gives back the rest of the reservation (all of it when the mapping failed).
            unsafe {
                if mapped.is_err() {
                    let _ = munmap(reserved as *mut _, room);
                } else {
                    if aligned > reserved {
                        let _ = munmap(reserved as *mut _, aligned - reserved);
                    }
                    let end = (aligned + len).next_multiple_of(PAGE_BYTES);
                    if reserved + room > end {
                        let _ = munmap(end as *mut _, reserved + room - end);
                    }
                }
            }
            mapped
        } else {
            // SAFETY: the kernel chooses a fresh place; nothing existing is touched.
            unsafe { mmap(null_mut(), len, prot, MapFlags::SHARED, fd, offset) }
        }
        .map_err(unmapped(len))?;
        let start =
            NonNull::new(start.cast::<u8>()).ok_or(ShmError::Malformed("mmap gave address 0".into()))?;
        // Shared pages are left out of core dumps, because the agent holds them anyway.
        // SAFETY: advises on the range just mapped.
        let _ = unsafe { madvise(start.as_ptr().cast(), len, Advice::LinuxDontDump) };
        Ok(Mapping { start, len })
    }

    /// Returns the address of the first byte.
    pub fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Returns the number of bytes mapped.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if no byte is mapped. This never happens; clippy requires the function beside `len`.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns a typed reference into the mapping.
    ///
    /// # Panics
    /// If `T` at `offset` would not lie within the mapping or would not be aligned. The offsets come from
    /// this process, never from a peer.
    pub fn at<T: Shared>(&self, offset: usize) -> &T {
        assert!(offset + size_of::<T>() <= self.len && offset % align_of::<T>() == 0);
        // SAFETY: in bounds and aligned by the assertion; `Shared` types are valid for any bytes and only have
        // atomic fields, so other processes may write them meanwhile.
        unsafe { &*self.start.as_ptr().add(offset).cast::<T>() }
    }

    /// Like `at`, for callers that have checked the bounds before. It is used on the way of every message.
    ///
    /// # Safety
    /// `T` at `offset` lies within the mapping and is aligned.
    #[inline(always)]
    pub unsafe fn at_checked<T: Shared>(&self, offset: usize) -> &T {
        debug_assert!(offset + size_of::<T>() <= self.len && offset % align_of::<T>() == 0);
        // SAFETY: as in `at`, by the caller's promise.
        unsafe { &*self.start.as_ptr().add(offset).cast::<T>() }
    }

    /// Returns a slice of typed words in the mapping. Panics like `at`.
    pub fn slice_at<T: Shared>(&self, offset: usize, count: usize) -> &[T] {
        assert!(offset + size_of::<T>() * count <= self.len && offset % align_of::<T>() == 0);
        // SAFETY: as in `at`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(offset).cast::<T>(), count) }
    }

    /// Asks the kernel for huge pages, on systems that give them on request.
    pub fn advise_huge(&self) {
        // SAFETY: advice only, on our own range.
        let _ = unsafe { madvise(self.start.as_ptr().cast(), self.len, Advice::LinuxHugepage) };
    }

    /// Allocates the pages of `[offset, offset + len)` for writing, so that a later write cannot fail.
    ///
    /// # Errors
    /// `OutOfMemory` when the system has no memory. On kernels before 5.14 the call does nothing, and each
    /// page is allocated at its first use.
    pub fn populate_write(&self, offset: usize, len: usize) -> Result<(), ShmError> {
        let from = offset / PAGE_BYTES * PAGE_BYTES;
        let to = (offset + len).next_multiple_of(PAGE_BYTES).min(self.len.next_multiple_of(PAGE_BYTES));
        const MADV_POPULATE_WRITE: libc::c_int = 23;
        loop {
            // SAFETY: populates pages of our own mapping; contents do not change.
            let done =
                unsafe { libc::madvise(self.start.as_ptr().add(from).cast(), to - from, MADV_POPULATE_WRITE) };
            if done == 0 {
                return Ok(());
            }
            match std::io::Error::last_os_error().raw_os_error() {
                Some(libc::EINTR) => continue,
                Some(libc::EINVAL) => return Ok(()),
                other => {
                    return Err(ShmError::OutOfMemory {
                        bytes: len as u64,
                        reason: fault!(
                            MEMORY_OF_MACHINE,
                            "the system refused the pages ({})",
                            std::io::Error::from_raw_os_error(other.unwrap_or(libc::ENOMEM))
                        ),
                    })
                }
            }
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range is ours alone; references into it cannot outlive `self`.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.len.next_multiple_of(PAGE_BYTES)) };
    }
}

/// A type that may lie in shared memory: it is valid for any bytes, and all its fields are atomic.
///
/// # Safety
/// The implementor must hold only atomics (or arrays of them).
pub unsafe trait Shared {}

// SAFETY: the type is atomic.
unsafe impl Shared for std::sync::atomic::AtomicU64 {}
// SAFETY: the type is atomic.
unsafe impl Shared for std::sync::atomic::AtomicU32 {}

/// Number of bytes that `copy_in_pieces` copies in one piece. Measured on Zen 5: a copy in such pieces is
/// faster than one call of the C library's copy for the whole array: 4 MiB take 68 µs instead of 80, 8 MiB
/// 0.2 ms instead of 0.28, 64 MiB 3.0 to 3.5 ms instead of 3.6 to 4.2. A receiver that follows the copy of a
/// sender on another core needs pieces that are neither small nor large: to receive 256 KiB … 4 MiB into an
/// array in steps of 16, 32, 64 and 256 KiB took 6.2, 5.8, 4.7, 8.9 … 101, 88, 87, 91 µs.
const COPY_PIECE_BYTES: usize = 64 << 10;

/// Copies a large array, and calls `tell` after each piece with the number of bytes copied so far.
///
/// # Panics
/// If `to` and `from` differ in length.
pub fn copy_in_pieces(to: &mut [u8], from: &[u8], mut tell: impl FnMut(usize)) {
    assert_eq!(to.len(), from.len());
    let mut copied = 0;
    for (to, from) in to.chunks_mut(COPY_PIECE_BYTES).zip(from.chunks(COPY_PIECE_BYTES)) {
        to.copy_from_slice(from);
        copied += from.len();
        tell(copied);
    }
}
