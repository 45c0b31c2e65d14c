//! Relays that streams go over: each keeps a little of what is on its way, is slow, is stopped, is killed and
//! started again, or vanishes with its machine. Of one that is killed, what it had passed on is still read at
//! the ends, before its end is.

use super::World;
use ligament_path::{Nanos, StreamId};
use std::collections::{BTreeMap, VecDeque};

/// For how long one is stopped or not there (ns), at most.
const MAX_STOP_NS: u64 = 200_000_000;

pub struct Relays {
    /// From when on each passes on again, and lets in again.
    stands_until: Vec<Nanos>,
    away_until: Vec<Nanos>,
    /// Bytes that each end can still read of streams that are over: of which incarnation, and the bytes.
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

    /// Bytes that an end can still read of an incarnation that is over.
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
    /// A relay passes on some of what it has of one direction of one stream.
    pub fn pass_on(&mut self) {
        let streams: Vec<StreamId> = self.connections.keys().copied().collect();
        if self.relays.count() == 0 || streams.is_empty() {
            return;
        }
        for _ in 0..1 + self.dice.below(4) {
            let stream = streams[self.dice.below(streams.len() as u64) as usize];
            let (from, at) =
                (self.dice.below(2) as usize, self.dice.below(self.relays.count() as u64) as usize);
            // Relays are counted from end 0, and pipes from the end that writes.
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

    /// Something happens to a relay, and to all streams at once.
    pub fn trouble_a_relay(&mut self) {
        let relay = self.dice.below(self.relays.count() as u64) as usize;
        let until = self.now + self.dice.below(MAX_STOP_NS);
        match self.dice.below(4) {
            0 => self.relays.stands_until[relay] = until,
            1 => {
                // Its machine vanishes: nobody is told.
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
