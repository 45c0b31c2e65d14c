//! The demands of `Net` on the owner of the messages: their bytes, and memory for those that arrive.

use ligament_catalogue::Fault;
use ligament_path::MessageId;
use std::io::IoSlice;

/// The owner of messages. Everything is called from within `Net::turn`.
pub trait MessageStore {
    /// Adds slices with exactly the `len` bytes at `offset` of an outgoing message to `into`. Adds nothing for
    /// a message that was released already: a broken far end may acknowledge bytes that were not sent yet.
    fn slices<'a>(&'a self, domain: u32, id: MessageId, offset: u64, len: u32, into: &mut Vec<IoSlice<'a>>);

    /// A message of `total` bytes begins to arrive: memory for it is needed. Called once for each message,
    /// before any `room` of it.
    ///
    /// # Errors
    /// No memory can be had: the path is given up with this reason.
    fn begin(&mut self, domain: u32, id: MessageId, total: u64) -> Result<(), Fault>;

    /// Memory for exactly the `len` bytes at `offset` of an incoming message.
    fn room(&mut self, domain: u32, id: MessageId, offset: u64, len: u32) -> &mut [u8];

    /// An incoming message is whole, and all before it on its conduit have been delivered.
    fn deliver(&mut self, domain: u32, id: MessageId);

    /// The far end has the whole message; its bytes will not be asked for again.
    fn release(&mut self, domain: u32, id: MessageId);

    /// The number of bytes of a conduit that were received at the far end, in all.
    fn credit(&mut self, domain: u32, conduit: u32, bytes: u64);
}
