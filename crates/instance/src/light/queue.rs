//! The queues of the channels between instances of one process. All waiting messages lie in one pool, so an
//! empty queue costs only two numbers.

use ligament_wire::control::{InnerChannel, InnerEnd};
use ligament_wire::{Header, HeaderWords, MessageKind, Value};

/// Index that stands for no place in the pool.
const NONE: u32 = u32::MAX;
/// Number of bytes that a message costs in its channel's budget in addition to its body: the same as in a
/// ring.
const MESSAGE_COST_BYTES: u64 = ligament_shm::ring::ENTRY_BYTES as u64;

/// A message that waits in a queue, with the parts of the header that are needed within a process.
pub(super) struct QueuedMessage {
    pub kind: MessageKind,
    pub timestamp: f64,
    pub next_timestamp: Option<f64>,
    pub overlay: u32,
    /// The value. `None` for a message without a value.
    pub value: Option<Box<Value>>,
    /// Length of the body, in bytes.
    pub len: u64,
    next: u32,
}

impl QueuedMessage {
    /// Makes a queued message from the header, value and body length of a message that is sent.
    pub fn new(header: &Header, value: Option<Box<Value>>, len: u64) -> QueuedMessage {
        let Header { kind, timestamp, next_timestamp, overlay, .. } = *header;
        QueuedMessage { kind, timestamp, next_timestamp, overlay, value, len, next: NONE }
    }

    /// Returns the message's header as a receiver would find it in a ring.
    pub fn header(&self) -> HeaderWords {
        let QueuedMessage { kind, timestamp, next_timestamp, overlay, len, .. } = *self;
        HeaderWords::from(Header {
            kind,
            timestamp,
            next_timestamp,
            overlay,
            body_len: len,
            ..Header::default()
        })
    }

    fn cost(&self) -> u64 {
        MESSAGE_COST_BYTES + if self.len > ligament_shm::ring::BODY_BYTES as u64 { self.len } else { 0 }
    }
}

/// The memory of all messages that wait in the queues of the process.
#[derive(Default)]
pub(super) struct MessagePool {
    places: Vec<Option<QueuedMessage>>,
    free: Vec<u32>,
}

impl MessagePool {
    fn put(&mut self, queued: QueuedMessage) -> u32 {
        match self.free.pop() {
            Some(at) => {
                self.places[at as usize] = Some(queued);
                at
            }
            None => {
                self.places.push(Some(queued));
                self.places.len() as u32 - 1
            }
        }
    }

    fn take(&mut self, at: u32) -> Option<QueuedMessage> {
        let queued = self.places.get_mut(at as usize)?.take();
        self.free.push(at);
        queued
    }
}

/// A channel between two instances of the process: its limits, and its queue.
pub(super) struct QueueState {
    /// Number of the channel in the run.
    pub id: u32,
    pub from: InnerEnd,
    pub to: InnerEnd,
    /// Number of bytes that may be under way on the channel.
    pub budget: u64,
    /// Largest permitted body of a message, in bytes.
    pub limit: u64,
    under_way: u64,
    first: u32,
    last: u32,
}

impl QueueState {
    /// Makes an empty queue for a channel that the agent has described.
    pub fn new(channel: &InnerChannel) -> QueueState {
        let InnerChannel { id, from, to, budget, limit, .. } = *channel;
        let limit = limit.unwrap_or(u64::MAX).max(ligament_shm::ring::BODY_BYTES as u64);
        QueueState { id, from, to, budget, limit, under_way: 0, first: NONE, last: NONE }
    }

    /// Appends a message. Returns its cost in bytes if the queue then exceeds its budget. One message is
    /// always within the budget.
    pub fn push(&mut self, pool: &mut MessagePool, queued: QueuedMessage) -> Option<u64> {
        let cost = queued.cost();
        let overdrawn = self.under_way > 0 && self.under_way + cost > self.budget;
        self.under_way += cost;
        let at = pool.put(queued);
        match pool.places.get_mut(self.last as usize) {
            Some(Some(last)) => last.next = at,
            _ => self.first = at,
        }
        self.last = at;
        overdrawn.then_some(cost)
    }

    /// Takes the first message out of the queue.
    pub fn pop(&mut self, pool: &mut MessagePool) -> Option<QueuedMessage> {
        let queued = pool.take(self.first)?;
        self.under_way -= queued.cost();
        self.first = queued.next;
        if self.first == NONE {
            self.last = NONE;
        }
        Some(queued)
    }

    /// Returns true if the first item is the channel's end, false if it is a message, and `None` if the
    /// queue is empty.
    pub fn next_is_end(&self, pool: &MessagePool) -> Option<bool> {
        pool.places.get(self.first as usize)?.as_ref().map(|queued| queued.kind == MessageKind::End)
    }

    /// Returns the number of bytes under way. With this budget, the channel would not be overdrawn.
    pub fn under_way(&self) -> u64 {
        self.under_way
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channel(budget: u64) -> QueueState {
        let end = InnerEnd { member: 0, port: 0, slot: None };
        QueueState::new(&InnerChannel {
            id: 0,
            from: end,
            to: end,
            budget,
            limit: None,
            steps: None,
            filters: None,
        })
    }

    fn numbered(x: f64) -> QueuedMessage {
        QueuedMessage::new(&Header { timestamp: x, ..Header::default() }, None, 0)
    }

    #[test]
    fn messages_of_each_channel_come_in_order_whatever_the_others_do() {
        let mut pool = MessagePool::default();
        let (mut a, mut b) = (channel(1 << 20), channel(1 << 20));
        let (mut next_a, mut next_b) = (0, 0);
        for i in 0..100 {
            a.push(&mut pool, numbered(f64::from(i)));
            b.push(&mut pool, numbered(f64::from(i)));
            if i % 3 == 0 {
                assert_eq!(a.pop(&mut pool).unwrap().timestamp, f64::from(next_a));
                next_a += 1;
            }
            if i % 2 == 0 {
                assert_eq!(b.pop(&mut pool).unwrap().timestamp, f64::from(next_b));
                next_b += 1;
            }
        }
        while let Some(queued) = a.pop(&mut pool) {
            assert_eq!(queued.timestamp, f64::from(next_a));
            next_a += 1;
        }
        assert_eq!(next_a, 100);
        assert!(a.next_is_end(&pool).is_none() && b.next_is_end(&pool) == Some(false));
        assert!(pool.places.len() < 200, "places are used again");
    }

    #[test]
    fn a_message_always_fits_into_an_empty_channel_and_a_second_only_into_the_budget() {
        let mut pool = MessagePool::default();
        let mut channel = channel(1);
        assert_eq!(channel.push(&mut pool, numbered(0.0)), None);
        assert_eq!(channel.push(&mut pool, numbered(1.0)), Some(MESSAGE_COST_BYTES));
        channel.pop(&mut pool);
        assert_eq!(channel.under_way(), MESSAGE_COST_BYTES);
        channel.budget = 2 * MESSAGE_COST_BYTES;
        assert_eq!(channel.push(&mut pool, numbered(2.0)), None);
    }
}
