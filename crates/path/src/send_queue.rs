//! The queue of messages to be sent. Messages are cut into pieces. Small messages have a queue of their own,
//! and so do the pieces that must be sent again.

use crate::{MessageId, MessageNumber};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

/// A message that is not fully acknowledged.
#[derive(Debug)]
struct QueuedMessage {
    total: u64,
    small: bool,
    /// True if the message is a part of a larger whole. It then uses the streams for long messages.
    part: bool,
    /// The offset of the first byte that was never sent.
    next: u64,
    /// True if a piece was cut from the message. An empty message also has one piece.
    started: bool,
    /// Number of bytes that are acknowledged.
    arrived: u64,
}

/// A piece of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MessagePiece {
    pub id: MessageId,
    pub offset: u64,
    pub len: u32,
    pub total: u64,
}

/// All messages of one direction that are not fully acknowledged.
#[derive(Debug)]
pub(crate) struct Outbound {
    /// Minimum and maximum length of a piece of a large message (bytes).
    pieces: (u32, u32),
    /// Number of streams over which a large message is spread, as far as the limits of a piece allow it.
    streams: u64,
    /// Maximum length of a small message (bytes).
    small: u64,
    /// The number of the last message of each conduit.
    last: HashMap<u32, MessageNumber>,
    leaving: HashMap<MessageId, QueuedMessage>,
    small_ones: VecDeque<MessageId>,
    /// Large messages that have bytes to be sent, by conduit.
    large_ones: BTreeMap<u32, VecDeque<MessageId>>,
    /// Conduits with large messages, in the order in which they may send the next frame: one frame each.
    turns: VecDeque<u32>,
    /// Pieces of small messages that must be sent again, the oldest message of a conduit first.
    small_again: BTreeSet<MessagePiece>,
    /// Pieces of large messages that must be sent again, in the same order.
    large_again: BTreeSet<MessagePiece>,
}

impl Outbound {
    pub fn new(piece: u32, small: u64) -> Outbound {
        Outbound {
            pieces: (piece, piece),
            streams: 1,
            small,
            last: HashMap::new(),
            leaving: HashMap::new(),
            small_ones: VecDeque::new(),
            large_ones: BTreeMap::new(),
            turns: VecDeque::new(),
            small_again: BTreeSet::new(),
            large_again: BTreeSet::new(),
        }
    }

    /// Spreads large messages evenly over this number of streams from now on, within these limits of a piece.
    pub fn spread(&mut self, pieces: (u32, u32), streams: usize) {
        (self.pieces, self.streams) = (pieces, streams.max(1) as u64);
    }

    pub fn add(&mut self, conduit: u32, total: u64) -> MessageId {
        self.queue(conduit, total, total <= self.small, false)
    }

    /// Adds a message that uses the streams for long messages, however short it is.
    pub fn add_to_large(&mut self, conduit: u32, total: u64) -> MessageId {
        self.queue(conduit, total, false, true)
    }

    fn queue(&mut self, conduit: u32, total: u64, small: bool, part: bool) -> MessageId {
        let last = self.last.entry(conduit).or_default();
        *last += 1;
        let id = MessageId { conduit, number: *last };
        self.leaving.insert(id, QueuedMessage { total, small, part, next: 0, started: false, arrived: 0 });
        if small {
            self.small_ones.push_back(id);
        } else {
            let queue = self.large_ones.entry(conduit).or_default();
            if queue.is_empty() {
                self.turns.push_back(conduit);
            }
            queue.push_back(id);
        }
        id
    }

    /// Returns the number of messages that are not fully acknowledged.
    pub fn len(&self) -> usize {
        self.leaving.len()
    }

    /// Returns the next piece of a small message. Pieces that must be sent again come first.
    pub fn next_small(&mut self) -> Option<MessagePiece> {
        if let Some(piece) = self.small_again.pop_first() {
            return Some(piece);
        }
        let id = *self.small_ones.front()?;
        let (piece, last) = self.cut(id);
        if last {
            self.small_ones.pop_front();
        }
        Some(piece)
    }

    /// Returns the next piece of a large message, if a message of at most `longest` bytes has one.
    pub fn next_large(&mut self, longest: u64) -> Option<MessagePiece> {
        if let Some(&piece) = self.large_again.iter().find(|piece| self.length(piece.id) <= longest) {
            self.large_again.remove(&piece);
            return Some(piece);
        }
        let turn = self.turns.iter().position(|conduit| self.front(*conduit) <= longest)?;
        let conduit = self.turns.remove(turn)?;
        let id = *self.large_ones.get(&conduit)?.front()?;
        let (piece, last) = self.cut(id);
        let queue = self.large_ones.get_mut(&conduit)?;
        if last {
            queue.pop_front();
        }
        if queue.is_empty() {
            self.large_ones.remove(&conduit);
        } else {
            self.turns.push_back(conduit);
        }
        Some(piece)
    }

    pub fn has_small(&self) -> bool {
        !self.small_ones.is_empty() || !self.small_again.is_empty()
    }

    /// Returns true if `next_large` would return a piece.
    pub fn has_large(&self, longest: u64) -> bool {
        self.turns.iter().any(|conduit| self.front(*conduit) <= longest)
            || self.large_again.iter().any(|piece| self.length(piece.id) <= longest)
    }

    /// Returns the length of the first large message of a conduit, or 0 if the conduit has no large message.
    fn front(&self, conduit: u32) -> u64 {
        self.large_ones.get(&conduit).and_then(|queue| queue.front()).map_or(0, |id| self.length(*id))
    }

    /// Returns the length by which the stream of a message is chosen. A part of a larger message counts as
    /// `u64::MAX`.
    fn length(&self, id: MessageId) -> u64 {
        match self.leaving.get(&id) {
            Some(message) if message.part => u64::MAX,
            Some(message) => message.total,
            None => 0,
        }
    }

    fn cut(&mut self, id: MessageId) -> (MessagePiece, bool) {
        let message = self.leaving.get_mut(&id).expect("what is queued is leaving");
        let (least, most) = (u64::from(self.pieces.0), u64::from(self.pieces.1));
        let piece = if message.small { most } else { message.total.div_ceil(self.streams).clamp(least, most) };
        let len = (message.total - message.next).min(piece) as u32;
        let piece = MessagePiece { id, offset: message.next, len, total: message.total };
        message.next += u64::from(len);
        message.started = true;
        (piece, message.next == message.total)
    }

    /// Queues a piece once more, because it may be lost.
    pub fn send_again(&mut self, id: MessageId, offset: u64, len: u32) {
        let Some(message) = self.leaving.get(&id) else { return };
        let piece = MessagePiece { id, offset, len, total: message.total };
        let again = if message.small { &mut self.small_again } else { &mut self.large_again };
        again.insert(piece);
    }

    /// Takes note that a piece is acknowledged. Returns true if its whole message is acknowledged now.
    pub fn arrived(&mut self, id: MessageId, len: u32) -> bool {
        let Some(message) = self.leaving.get_mut(&id) else { return false };
        message.arrived += u64::from(len);
        let whole = message.started && message.arrived >= message.total;
        if whole {
            self.leaving.remove(&id);
        }
        whole
    }
}
