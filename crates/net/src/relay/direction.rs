//! One direction of a pair of joined connections. Bytes are read from the source only if the target takes
//! them. Bytes that the target does not take at once are stored here, so a pair stores a few KiB at most.

use crate::connection::{Connection, ReadOutcome};
use rustix::net::{shutdown, Shutdown};
use std::io::{self, IoSlice, IoSliceMut};

/// Maximum number of reads in one pass, so that other connections are served in between.
const READS: usize = 16;

/// The bytes for one connection that were read and not written yet, and the state of their end.
#[derive(Default)]
pub(super) struct Direction {
    left: Vec<u8>,
    taken: usize,
    /// True if the source has ended.
    ended: bool,
    /// True if the end was passed on to the target.
    told: bool,
}

/// The result of one pass of copying.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CopyOutcome {
    /// One of the two connections must become ready first.
    Waits,
    /// There may be more bytes to copy at once.
    More,
    /// All bytes and the end have been passed on.
    Ended,
}

impl Direction {
    /// Returns the number of bytes stored here.
    pub fn kept(&self) -> usize {
        self.left.len() - self.taken
    }

    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Copies the bytes that can be copied now. Returns the outcome and the number of bytes passed on.
    /// `buffer` holds the bytes of one read.
    ///
    /// # Errors
    /// One of the two connections is broken.
    pub fn copy(
        &mut self,
        from: &mut Connection,
        to: &mut Connection,
        buffer: &mut [u8],
    ) -> io::Result<(CopyOutcome, u64)> {
        let mut through = 0;
        for _ in 0..READS {
            if self.kept() > 0 {
                let taken = to.send(&[IoSlice::new(&self.left[self.taken..])])?;
                self.taken += taken;
                through += taken as u64;
                if self.kept() > 0 {
                    return Ok((CopyOutcome::Waits, through));
                }
                self.left = Vec::new();
                self.taken = 0;
            }
            if self.ended {
                if !self.told {
                    self.told = true;
                    // The target may be closed already.
                    let _ = shutdown(to.socket(), Shutdown::Write);
                }
                return Ok((CopyOutcome::Ended, through));
            }
            match from.receive(&mut [IoSliceMut::new(&mut *buffer)])? {
                ReadOutcome::Bytes(bytes) => {
                    let taken = to.send(&[IoSlice::new(&buffer[..bytes])])?;
                    through += taken as u64;
                    if taken < bytes {
                        self.left = buffer[taken..bytes].to_vec();
                    }
                }
                ReadOutcome::Nothing => return Ok((CopyOutcome::Waits, through)),
                ReadOutcome::End => self.ended = true,
            }
        }
        Ok((CopyOutcome::More, through))
    }
}
