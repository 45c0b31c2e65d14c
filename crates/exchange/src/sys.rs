//! All `unsafe` code of this crate: copies that leave the caches alone.

/// Length of a cache line, bytes.
const LINE_BYTES: usize = 64;

/// Copies `from` to `to`, which are as long as each other, without bringing the memory of `to` into the
/// caches first. An ordinary store reads the line that it writes to, so that a large copy moves half as much
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
        // SAFETY: both have a whole line, `target` begins with one, and every x86-64 processor has these
        // instructions.
        unsafe {
            for i in 0..4 {
                _mm_stream_si128(target.add(i), _mm_loadu_si128(source.add(i)));
            }
        }
    }
}

/// Lets other threads see what `copy_past_caches` has written before what this thread writes next.
#[cfg(target_arch = "x86_64")]
pub(crate) fn finish() {
    // SAFETY: every x86-64 processor has this instruction.
    unsafe { std::arch::x86_64::_mm_sfence() }
}

/// Copies `from` to `to`, which are as long as each other.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn copy_past_caches(from: &[u8], to: &mut [u8]) {
    to.copy_from_slice(from);
}

/// Does nothing on a processor on which `copy_past_caches` is an ordinary copy.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn finish() {}
