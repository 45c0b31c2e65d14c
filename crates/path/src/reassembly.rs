//! Reassembly of arriving messages. The pieces of messages arrive in any order, some of them twice. Each
//! whole message is delivered once, and the messages of a conduit are delivered in the order in which they
//! were sent.

use crate::frame::{wrong, FrameError, FrameHeader};
use crate::{MessageId, MessageNumber};
use std::collections::{BTreeMap, HashMap};

/// Number of separate ranges of a message that may have arrived, in addition to one for each
/// `BYTES_PER_SEPARATE_PIECE` bytes of the message.
const MAX_SEPARATE_PIECES: u64 = 256;
/// A message may have one more separate range for each of this many bytes.
const BYTES_PER_SEPARATE_PIECE: u64 = 4 << 10;

/// A message of which some bytes have arrived.
#[derive(Debug)]
struct Assembly {
    total: u64,
    /// Begin → end of each range of bytes that has arrived. Adjacent ranges are merged.
    ranges: BTreeMap<u64, u64>,
}

impl Assembly {
    fn add(&mut self, offset: u64, len: u32) {
        let (mut from, mut to) = (offset, offset + u64::from(len));
        if let Some((&begin, &end)) = self.ranges.range(..=from).next_back() {
            if end >= from {
                from = begin;
                to = to.max(end);
            }
        }
        while let Some((&begin, &end)) = self.ranges.range(from..=to).next() {
            to = to.max(end);
            self.ranges.remove(&begin);
        }
        self.ranges.insert(from, to);
    }

    /// Returns true if the message has more separate ranges than an honest sender causes. Each range costs
    /// memory.
    fn is_scattered(&self) -> bool {
        self.ranges.len() as u64 > MAX_SEPARATE_PIECES + self.total / BYTES_PER_SEPARATE_PIECE
    }

    fn is_whole(&self) -> bool {
        self.ranges.get(&0).is_some_and(|&end| end == self.total)
    }
}

/// The messages of a conduit that have not been delivered.
#[derive(Debug, Default)]
struct ConduitReassembly {
    /// The number of the last message that was delivered.
    delivered: MessageNumber,
    /// Messages that have arrived in part, and whole messages (`None`) that wait for earlier messages.
    waiting: BTreeMap<MessageNumber, Option<Assembly>>,
}

/// All messages of one direction that have not been delivered.
#[derive(Debug)]
pub(crate) struct Inbound {
    /// Maximum length of a message that is accepted (bytes).
    longest: u64,
    /// Maximum number of messages of a conduit that may be under way at once.
    most: u64,
    conduits: HashMap<u32, ConduitReassembly>,
    waiting: usize,
}

/// The treatment of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The bytes of the piece are needed. `first` is true for the first piece of its message.
    Wanted { first: bool },
    /// The bytes are not needed, because the message is whole already.
    Twice,
}

impl Inbound {
    pub fn new(longest: u64, most: u64) -> Inbound {
        Inbound { longest, most, conduits: HashMap::new(), waiting: 0 }
    }

    /// Returns true if bytes of the message are still needed.
    pub fn is_wanted(&self, id: MessageId) -> bool {
        self.conduits
            .get(&id.conduit)
            .and_then(|arriving| arriving.waiting.get(&id.number))
            .is_some_and(|assembly| assembly.is_some())
    }

    /// Takes the header of a piece, and returns how to treat the piece.
    ///
    /// # Errors
    /// Fails if the piece contradicts another piece, or exceeds a limit.
    pub fn begin(&mut self, header: &FrameHeader) -> Result<Fate, FrameError> {
        let FrameHeader { number, conduit, total, .. } = *header;
        let arriving = self.conduits.entry(conduit).or_default();
        if number <= arriving.delivered {
            return Ok(Fate::Twice);
        }
        match arriving.waiting.get(&number) {
            Some(None) => return Ok(Fate::Twice),
            Some(Some(assembly)) if assembly.total != total => {
                return wrong(format!(
                    "message {number} of conduit {conduit} has {} bytes, and {total}",
                    assembly.total
                ));
            }
            Some(Some(assembly)) if assembly.is_scattered() => {
                return wrong(format!("message {number} of conduit {conduit} comes in too many pieces"));
            }
            Some(Some(_)) => return Ok(Fate::Wanted { first: false }),
            None => {}
        }
        if total > self.longest {
            return wrong(format!("a message of {total} bytes, where at most {} are taken", self.longest));
        }
        if number - arriving.delivered > self.most {
            return wrong(format!("more than {} messages of conduit {conduit} at once", self.most));
        }
        arriving.waiting.insert(number, Some(Assembly { total, ranges: BTreeMap::new() }));
        self.waiting += 1;
        Ok(Fate::Wanted { first: true })
    }

    /// Takes note that all bytes of a piece have arrived. Calls `deliver` for each message that can be
    /// delivered now, in order.
    pub fn end(&mut self, id: MessageId, offset: u64, len: u32, mut deliver: impl FnMut(MessageId)) {
        let Some(arriving) = self.conduits.get_mut(&id.conduit) else { return };
        let Some(slot) = arriving.waiting.get_mut(&id.number) else { return };
        let Some(assembly) = slot else { return };
        assembly.add(offset, len);
        if !assembly.is_whole() {
            return;
        }
        *slot = None;
        while let Some(None) = arriving.waiting.get(&(arriving.delivered + 1)) {
            arriving.delivered += 1;
            arriving.waiting.remove(&arriving.delivered);
            self.waiting -= 1;
            deliver(MessageId { conduit: id.conduit, number: arriving.delivered });
        }
    }

    /// Returns the number of messages that have arrived in part, or are whole and wait for earlier messages.
    pub fn len(&self) -> usize {
        self.waiting
    }
}
