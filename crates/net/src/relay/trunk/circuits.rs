//! The circuits of one trunk as one of its two relays sees them: which there are, what each may send, what has
//! come for each and was not taken. No I/O.
//!
//! A circuit is a conduit of the trunk's path, in both directions, and lives in messages: it is opened by the
//! relay that dials the trunk, carries bytes, and is over when both relays have said so. Then its conduit is
//! free for another one. What a message costs is taken from the circuit's credit until the far relay has passed
//! it on.

use ligament_catalogue::{fault, Fault};
use std::collections::{BTreeSet, HashMap, VecDeque};

/// The most bytes of a message, its kind included.
pub const MAX_MESSAGE_BYTES: usize = 64 << 10;
/// The most circuits of a trunk.
pub(super) const MAX_CIRCUITS: u32 = 4096;
/// The maximum that all circuits of a trunk may have under way in one direction; what each may have in any
/// case; what one may have at first; and by how much that grows with what was taken, while half of it is under
/// way: it is the trunk's streams that find out what the way carries, and this lets them (bytes).
const MAX_UNACKNOWLEDGED_BYTES: u64 = 32 << 20;
const MIN_CIRCUIT_CREDIT_BYTES: u64 = 4 << 10;
const INITIAL_CREDIT_BYTES: u64 = 1 << 20;
const GROWTH: u64 = 3;
/// The cost of a message beside its bytes, so that empty ones are not for nothing.
const MESSAGE_OVERHEAD_BYTES: u64 = 256;
/// Credit is told when so much was taken, and less than this is not sent: it is half of what each may have, so
/// a circuit of which some credit is untold may still send.
const MIN_CREDIT_NOTICE_BYTES: u64 = MIN_CIRCUIT_CREDIT_BYTES / 2;
/// A circuit with more than this under way carries something large, however small its parts are.
const MAX_SMALL_CIRCUIT_BYTES: u64 = 16 << 10;

const OPEN: u8 = 1;
const DATA: u8 = 2;
const END: u8 = 3;
const RESET: u8 = 4;

pub(super) fn cost(total: u64) -> u64 {
    total + MESSAGE_OVERHEAD_BYTES
}

/// An event of a circuit.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CircuitEvent {
    /// It was opened from there.
    Opened,
    /// Bytes, or their end.
    More,
    /// It is broken off; what is to be answered.
    BrokenOff(Option<Vec<u8>>),
    /// Nothing that matters any more.
    Nothing,
}

/// The circuits of one end of a trunk: a state machine without I/O.
///
/// - A circuit begins with [`open`](Circuits::open) here, or with the first message of the other end
///   ([`begin`](Circuits::begin), then [`deliver`](Circuits::deliver), which returns the event).
/// - Sending: [`room`](Circuits::room) says how many bytes may go; [`send`](Circuits::send) makes the message
///   of them; [`credit`](Circuits::credit) takes in the other end's credit.
/// - Passing on what came: [`front`](Circuits::front), then [`took`](Circuits::took) with the bytes that went,
///   then [`credit_due`](Circuits::credit_due) for the credit to report.
/// - A circuit ends with [`end`](Circuits::end) in this direction, or with [`break_off`](Circuits::break_off)
///   in both; after [`has_ended`](Circuits::has_ended), [`forget_if_over`](Circuits::forget_if_over) frees its
///   number.
///
/// An error of any call says that the other end breaks the rules; the trunk is to be closed.
pub(super) struct Circuits {
    /// True if this relay opens them, and not the other one.
    opens: bool,
    slots: HashMap<u32, Slot>,
    free: BTreeSet<u32>,
    /// The cost of what was sent and not taken there, and of what came and was not taken here.
    under_way: u64,
    kept: u64,
    live: usize,
}

/// A conduit, on which one circuit follows another. What is counted is counted over all of them.
#[derive(Default)]
struct Slot {
    lives: bool,
    /// How often a circuit was opened.
    life: u64,
    sent: u64,
    credited: u64,
    window: u64,
    taken: u64,
    told: u64,
    /// True if this relay, and the other one, has said that nothing more comes.
    said: bool,
    heard: bool,
    /// True if what comes is thrown away.
    deaf: bool,
    waiting: VecDeque<Vec<u8>>,
    /// How much of the first one was taken.
    at: usize,
}

impl Slot {
    fn begin(&mut self) {
        self.life += 1;
        (self.lives, self.said, self.heard, self.deaf) = (true, false, false, false);
        self.window = INITIAL_CREDIT_BYTES;
    }

    fn broken_off(&self) -> Vec<u8> {
        let mut message = vec![RESET];
        message.extend(self.life.to_le_bytes());
        message
    }

    /// Throws away what waits; what that had cost.
    fn go_deaf(&mut self) -> u64 {
        self.deaf = true;
        self.at = 0;
        let all = self.waiting.drain(..).map(|message| cost(message.len() as u64)).sum();
        self.taken += all;
        all
    }
}

fn wrong<T>(what: &str) -> Result<T, Fault> {
    Err(fault!(NOT_LET_IN, "the other relay of a trunk breaks the rules: {what}"))
}

impl Circuits {
    pub fn new(opens: bool) -> Circuits {
        let (slots, free) = (HashMap::new(), BTreeSet::new());
        Circuits { opens, slots, free, under_way: 0, kept: 0, live: 0 }
    }

    /// Their number.
    pub fn len(&self) -> usize {
        self.live
    }

    /// Bytes that came and were not taken.
    pub fn kept(&self) -> u64 {
        self.kept
    }

    // ---- what leaves ----------------------------------------------------------------------------------------
    /// Opens one: its number, and what is to be said; none if there are too many.
    pub fn open(&mut self) -> Option<(u32, Vec<u8>)> {
        let new = || (self.slots.len() < MAX_CIRCUITS as usize).then_some(self.slots.len() as u32);
        let number = self.free.pop_first().or_else(new)?;
        self.slots.entry(number).or_default().begin();
        self.live += 1;
        Some((number, vec![OPEN]))
    }

    /// The number of bytes that it may send now.
    pub fn room(&self, number: u32) -> usize {
        let Some(slot) = self.slots.get(&number).filter(|slot| slot.lives && !slot.said) else { return 0 };
        // The more there is under way, the less one may have of it: those that stand still leave room for the
        // others.
        let limit = slot
            .window
            .min(MAX_UNACKNOWLEDGED_BYTES.saturating_sub(self.under_way))
            .max(MIN_CIRCUIT_CREDIT_BYTES);
        let room = limit.saturating_sub(slot.sent - slot.credited);
        if room < MIN_CREDIT_NOTICE_BYTES {
            return 0;
        }
        ((room - MESSAGE_OVERHEAD_BYTES) as usize).min(MAX_MESSAGE_BYTES) - 1
    }

    /// A message with these bytes, for which there is room; and whether it is a part of something large.
    pub fn send(&mut self, number: u32, bytes: &[u8]) -> (Vec<u8>, bool) {
        let mut message = Vec::with_capacity(1 + bytes.len());
        message.push(DATA);
        message.extend_from_slice(bytes);
        let slot = self.slots.entry(number).or_default();
        let before = slot.sent - slot.credited;
        let cost = cost(message.len() as u64);
        slot.sent += cost;
        self.under_way += cost;
        (message, before > MAX_SMALL_CIRCUIT_BYTES)
    }

    /// Nothing more is sent: what is to be said.
    pub fn end(&mut self, number: u32) -> Vec<u8> {
        self.slots.entry(number).or_default().said = true;
        vec![END]
    }

    /// The local end is gone: what is to be said, if something is.
    pub fn break_off(&mut self, number: u32) -> Option<Vec<u8>> {
        let slot = self.slots.get_mut(&number).filter(|slot| slot.lives)?;
        self.kept -= slot.go_deaf();
        let is_over = slot.said && slot.heard;
        slot.said = true;
        (!is_over).then(|| slot.broken_off())
    }

    /// The far relay has passed on so much of it, in all.
    ///
    /// # Errors
    /// It was not sent.
    pub fn credit(&mut self, number: u32, bytes: u64) -> Result<(), Fault> {
        let Some(slot) = self.slots.get_mut(&number) else { return wrong("credit for a circuit that is not") };
        if bytes > slot.sent {
            return wrong("credit for more than was sent");
        }
        let gain = bytes.saturating_sub(slot.credited);
        if 2 * (slot.sent - slot.credited) >= slot.window {
            slot.window = (slot.window + GROWTH * gain).min(MAX_UNACKNOWLEDGED_BYTES);
        }
        slot.credited += gain;
        self.under_way -= gain;
        Ok(())
    }

    // ---- what comes -----------------------------------------------------------------------------------------
    /// A message of so many bytes begins to come.
    ///
    /// # Errors
    /// It has no place.
    pub fn begin(&mut self, number: u32, total: u64) -> Result<(), Fault> {
        if number >= MAX_CIRCUITS || total == 0 || total > MAX_MESSAGE_BYTES as u64 {
            return wrong("a message that has no place");
        }
        if self.kept + cost(total)
            > MAX_UNACKNOWLEDGED_BYTES + u64::from(MAX_CIRCUITS) * 2 * MIN_CIRCUIT_CREDIT_BYTES
        {
            return wrong("more than it has credit for");
        }
        self.kept += cost(total);
        Ok(())
    }

    /// A message has come, which had begun.
    ///
    /// # Errors
    /// It makes no sense.
    pub fn deliver(&mut self, number: u32, message: Vec<u8>) -> Result<CircuitEvent, Fault> {
        if message[..] == [OPEN] && !self.opens {
            // The end of the one before may have come in the same moment, and nobody has looked since then.
            self.forget_if_over(number);
        }
        if self.opens && !self.slots.contains_key(&number) {
            return wrong("a message of a circuit that was never opened");
        }
        let slot = self.slots.entry(number).or_default();
        let cost = cost(message.len() as u64);
        if message[0] == DATA && message.len() > 1 && slot.lives && !slot.heard {
            if slot.deaf {
                self.kept -= cost;
                slot.taken += cost;
            } else {
                slot.waiting.push_back(message);
            }
            return Ok(CircuitEvent::More);
        }
        self.kept -= cost;
        match (message[0], &message[1..]) {
            (OPEN, []) if !self.opens && !slot.lives => {
                slot.begin();
                self.live += 1;
                Ok(CircuitEvent::Opened)
            }
            (END, []) if slot.lives && !slot.heard => {
                slot.heard = true;
                Ok(CircuitEvent::More)
            }
            (RESET, life) if life.len() == 8 => {
                let life = u64::from_le_bytes(life.try_into().expect("eight bytes"));
                if life > slot.life {
                    return wrong("it breaks off a circuit that is not");
                }
                if life < slot.life || !slot.lives {
                    return Ok(CircuitEvent::Nothing);
                }
                slot.heard = true;
                self.kept -= slot.go_deaf();
                let answer = (!slot.said).then(|| slot.broken_off());
                slot.said = true;
                Ok(CircuitEvent::BrokenOff(answer))
            }
            _ => wrong("a message that makes no sense"),
        }
    }

    /// The bytes to be passed on next.
    pub fn front(&self, number: u32) -> Option<&[u8]> {
        let slot = self.slots.get(&number)?;
        slot.waiting.front().map(|message| &message[1 + slot.at..])
    }

    /// So much of that was passed on.
    pub fn took(&mut self, number: u32, bytes: usize) {
        let Some(slot) = self.slots.get_mut(&number) else { return };
        slot.at += bytes;
        if slot.waiting.front().is_some_and(|message| message.len() == 1 + slot.at) {
            slot.at = 0;
            let cost = slot.waiting.pop_front().map_or(0, |message| cost(message.len() as u64));
            slot.taken += cost;
            self.kept -= cost;
        }
    }

    /// The credit to be reported for bytes that were passed on, if it is enough; of one that is over, all.
    pub fn credit_due(&mut self, number: u32) -> Option<u64> {
        let slot = self.slots.get_mut(&number)?;
        let least = if slot.lives { MIN_CREDIT_NOTICE_BYTES } else { 1 };
        if slot.taken - slot.told < least {
            return None;
        }
        slot.told = slot.taken;
        Some(slot.taken)
    }

    /// Returns true if all was passed on, and nothing more comes.
    pub fn has_ended(&self, number: u32) -> bool {
        self.slots.get(&number).is_none_or(|slot| slot.heard && slot.waiting.is_empty())
    }

    /// Forgets it if it is over; whether it is. Who opens circuits forgets one only when all that was sent is
    /// passed on, so that the next one does not come while the far relay still has something of this one.
    pub fn forget_if_over(&mut self, number: u32) -> bool {
        let Some(slot) = self.slots.get_mut(&number) else { return true };
        let is_passed_on = !self.opens || slot.sent == slot.credited;
        if slot.lives && slot.said && slot.heard && slot.waiting.is_empty() && is_passed_on {
            slot.lives = false;
            self.live -= 1;
            if self.opens {
                self.free.insert(number);
            }
        }
        !slot.lives
    }
}

#[cfg(test)]
mod tests;
