//! The interface by which `Net` uses the owner of the messages: their bytes, and memory for arriving
//! messages.

use ligament_catalogue::Fault;
use ligament_path::MessageId;
use std::io::IoSlice;

/// The owner of messages. Everything is called from within `Net::turn`.
pub trait MessageStore {
    /// Adds slices with exactly the `len` bytes at `offset` of an outgoing message to `into`. Adds nothing for
    /// a message that was released already: a broken far end may acknowledge bytes that were not sent yet.
    fn slices<'a>(&'a self, domain: u32, id: MessageId, offset: u64, len: u32, into: &mut Vec<IoSlice<'a>>);

    /// Prepares memory for a message of `total` bytes that begins to arrive. Called once for each message,
    /// before any `room` of the message.
    ///
    /// # Errors
    /// There is no memory: the path is given up with this reason.
    fn begin(&mut self, domain: u32, id: MessageId, total: u64) -> Result<(), Fault>;

    /// Returns memory for exactly the `len` bytes at `offset` of an incoming message.
    fn room(&mut self, domain: u32, id: MessageId, offset: u64, len: u32) -> &mut [u8];

    /// Delivers an incoming message: it is whole, and all earlier messages of its conduit have been
    /// delivered.
    fn deliver(&mut self, domain: u32, id: MessageId);

    /// Releases an outgoing message: the far end has all of it, and its bytes will not be read again.
    fn release(&mut self, domain: u32, id: MessageId);

    /// Takes in the number of bytes of a conduit that the far end has received, in all.
    fn credit(&mut self, domain: u32, conduit: u32, bytes: u64);
}
