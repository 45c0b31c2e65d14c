//! The reader of messages of a fixed length, such as the messages of a greeting.

use crate::connection::{Connection, ReadOutcome};
use ligament_catalogue::{fault, Code, Fault};
use std::io::{self, IoSliceMut};

pub(crate) fn failed(error: io::Error) -> Fault {
    Fault::new(Code::PATH_GIVEN_UP, error.to_string())
}

/// The bytes of such a message, of which some have arrived.
pub(crate) struct FixedRead<const N: usize> {
    bytes: [u8; N],
    got: usize,
}

impl<const N: usize> FixedRead<N> {
    pub const NONE: Self = FixedRead { bytes: [0; N], got: 0 };

    /// Returns true if some bytes have arrived.
    pub fn has_begun(&self) -> bool {
        self.got > 0
    }

    /// Reads on, but never a byte beyond the end of the message.
    pub fn read(&mut self, connection: &mut Connection) -> Result<Option<[u8; N]>, Fault> {
        while self.got < N {
            match connection.receive(&mut [IoSliceMut::new(&mut self.bytes[self.got..])]).map_err(failed)? {
                ReadOutcome::Bytes(bytes) => self.got += bytes,
                ReadOutcome::Nothing => return Ok(None),
                ReadOutcome::End if self.got == 0 => {
                    return Err(fault!(NOT_LET_IN, "it closed the connection without a word"))
                }
                ReadOutcome::End => {
                    return Err(fault!(NOT_LET_IN, "it closed the connection in the middle of its greeting"))
                }
            }
        }
        Ok(Some(self.bytes))
    }
}
