//! All `unsafe` code of this crate: copies that do not use the caches.

/// Length of a cache line, bytes.
const LINE_BYTES: usize = 64;

/// Copies `from` to `to`, which have the same length, without loading the memory of `to` into the caches. An
/// ordinary store first reads the cache line that it writes to, so a large copy moves half as many bytes
/// again. The caller calls `finish` after the last copy.
#[cfg(target_arch = "x86_64")]
pub(crate) fn copy_past_caches(from: &[u8], to: &mut [u8]) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
    assert_eq!(from.len(), to.len());
    let head = to.as_ptr().align_offset(LINE_BYTES).min(to.len());
    let lines = (to.len() - head) / LINE_BYTES;
    let tail = head + lines * LINE_BYTES;
    to[..head].copy_from_slice(&from[..head]);
    to[tail..].copy_from_slice(&from[tail..]);
    let (source, target) = (&from[head..tail], &mut to[head..tail]);
    for (source, target) in source.chunks_exact(LINE_BYTES).zip(target.chunks_exact_mut(LINE_BYTES)) {
        let (source, target) = (source.as_ptr().cast::<__m128i>(), target.as_mut_ptr().cast::<__m128i>());
        // SAFETY: each slice has a whole line, `target` begins at the begin of a line, and every x86-64
        // processor has these instructions.
        unsafe {
            for i in 0..4 {
                _mm_stream_si128(target.add(i), _mm_loadu_si128(source.add(i)));
            }
        }
    }
}

/// Makes all bytes that `copy_past_caches` has written visible to other threads before later writes of this
/// thread.
#[cfg(target_arch = "x86_64")]
pub(crate) fn finish() {
    // SAFETY: every x86-64 processor has this instruction.
    unsafe { std::arch::x86_64::_mm_sfence() }
}

/// Copies `from` to `to`, which have the same length.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn copy_past_caches(from: &[u8], to: &mut [u8]) {
    to.copy_from_slice(from);
}

/// Does nothing on a processor on which `copy_past_caches` is an ordinary copy.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn finish() {}
