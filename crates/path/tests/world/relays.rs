//! Simulated relays between the ends of a path. A relay keeps a few of the bytes under way. It may be slow or
//! stopped, be killed and started again, or vanish with its machine. After a relay is killed, the ends still
//! read the bytes that it has passed on, and then notice the break.

use super::World;
use ligament_path::{Nanos, StreamId};
use std::collections::{BTreeMap, VecDeque};

/// Maximum time for which a relay is stopped or away (ns).
const MAX_STOP_NS: u64 = 200_000_000;

pub struct Relays {
    /// For each relay: the time at which it passes bytes on again (`stands_until`), and the time at which it
    /// accepts connections again (`away_until`).
    stands_until: Vec<Nanos>,
    away_until: Vec<Nanos>,
    /// For each end: the bytes of a lost connection that the end can still read, and the incarnation of the
    /// stream.
    left: [BTreeMap<StreamId, (u32, VecDeque<u8>)>; 2],
}

impl Relays {
    pub fn new(count: usize) -> Relays {
        Relays { stands_until: vec![0; count], away_until: vec![0; count], left: Default::default() }
    }

    pub fn count(&self) -> usize {
        self.stands_until.len()
    }

    pub fn all_are_there(&self, now: Nanos) -> bool {
        self.away_until.iter().all(|&until| until <= now)
    }

    /// Returns the bytes of a lost incarnation that an end can still read.
    pub fn left(&mut self, end: usize, stream: StreamId, incarnation: u32) -> Option<&mut VecDeque<u8>> {
        let (of, bytes) = self.left[end].get_mut(&stream)?;
        (*of == incarnation).then_some(bytes)
    }

    pub fn has_left(&self, end: usize, stream: StreamId, incarnation: u32) -> bool {
        self.left[end].get(&stream).is_some_and(|(of, bytes)| *of == incarnation && !bytes.is_empty())
    }

    pub fn forget(&mut self, end: usize, stream: StreamId) {
        self.left[end].remove(&stream);
    }
}

impl World {
    /// Makes some relays pass bytes on, each in one direction of one stream.
    pub fn pass_on(&mut self) {
        let streams: Vec<StreamId> = self.connections.keys().copied().collect();
        if self.relays.count() == 0 || streams.is_empty() {
            return;
        }
        for _ in 0..1 + self.dice.below(4) {
            let stream = streams[self.dice.below(streams.len() as u64) as usize];
            let (from, at) =
                (self.dice.below(2) as usize, self.dice.below(self.relays.count() as u64) as usize);
            // Relays are counted from end 0, pipes from the end that writes.
            let relay = if from == 0 { at } else { self.relays.count() - 1 - at };
            let connection = self.connections.get_mut(&stream).expect("it is one of those");
            if connection.dead || self.relays.stands_until[relay] > self.now {
                continue;
            }
            let [before, after] = &mut connection.pipes[from][at..at + 2] else { continue };
            let room = self.capacity.saturating_sub(after.len());
            let some = (1 + self.dice.below(3000) as usize).min(room).min(before.len());
            after.extend(before.drain(..some));
        }
    }

    /// Stops a relay, kills it, or makes its machine vanish. This concerns all streams at once.
    pub fn trouble_a_relay(&mut self) {
        let relay = self.dice.below(self.relays.count() as u64) as usize;
        let until = self.now + self.dice.below(MAX_STOP_NS);
        match self.dice.below(4) {
            0 => self.relays.stands_until[relay] = until,
            1 => {
                // The machine of the relay vanishes, and neither end gets a notice.
                self.connections.values_mut().for_each(|connection| connection.dead = true);
                self.relays.away_until[relay] = until;
            }
            _ => {
                let count = self.relays.count();
                for (stream, connection) in std::mem::take(&mut self.connections) {
                    let [zero, one] = connection.pipes;
                    for (end, pipes, first) in [(1, zero, relay + 1), (0, one, count - relay)] {
                        let bytes = pipes.into_iter().skip(first).rev().flatten().collect();
                        if !connection.dead {
                            self.relays.left[end].insert(stream, (connection.incarnation, bytes));
                        }
                    }
                }
                self.relays.away_until[relay] = until;
            }
        }
    }
}
