//! One direction of a pair of joined connections: bytes are read from one only if the other takes them, and
//! what it does not take at once is kept here, so a pair keeps a few KiB at most.

use crate::connection::{Connection, Got};
use rustix::net::{shutdown, Shutdown};
use std::io::{self, IoSlice, IoSliceMut};

/// The number of reads before other connections have their turn.
const READS: usize = 16;

/// Bytes that were read on the way to one connection and not written yet, and the state of its end.
#[derive(Default)]
pub(super) struct Direction {
    left: Vec<u8>,
    taken: usize,
    /// Nothing more comes; and that was passed on.
    ended: bool,
    told: bool,
}

/// How a turn of copying ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CopyOutcome {
    /// One of both has to become ready first.
    Waits,
    /// There may be more at once.
    More,
    /// All is passed on, with the end of it.
    Ended,
}

impl Direction {
    /// Bytes kept here.
    pub fn kept(&self) -> usize {
        self.left.len() - self.taken
    }

    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Copies what can be copied now; how many bytes were passed on. `buffer` is for one read.
    ///
    /// # Errors
    /// One of both connections is broken.
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
                    // It may be gone already.
                    let _ = shutdown(to.socket(), Shutdown::Write);
                }
                return Ok((CopyOutcome::Ended, through));
            }
            match from.receive(&mut [IoSliceMut::new(&mut *buffer)])? {
                Got::Bytes(bytes) => {
                    let taken = to.send(&[IoSlice::new(&buffer[..bytes])])?;
                    through += taken as u64;
                    if taken < bytes {
                        self.left = buffer[taken..bytes].to_vec();
                    }
                }
                Got::Nothing => return Ok((CopyOutcome::Waits, through)),
                Got::End => self.ended = true,
            }
        }
        Ok((CopyOutcome::More, through))
    }
}
