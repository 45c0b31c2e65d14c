//! The circuits of one trunk, as one of its two relays sees them: the circuits that exist, the bytes that
//! each may still send, and the bytes that have arrived for each and were not passed on yet. No I/O.
//!
//! A circuit is a conduit of the trunk's path, used in both directions, and its life consists of messages.
//! The relay that dials the trunk opens the circuit; the circuit carries bytes; it is over when both relays
//! have sent their end. Its conduit is then free for another circuit. The cost of a message is taken from
//! the circuit's credit until the far relay has passed the message on.

use ligament_catalogue::{fault, Fault};
use std::collections::{BTreeSet, HashMap, VecDeque};

/// Maximum size of a message, its kind included (bytes).
pub const MAX_MESSAGE_BYTES: usize = 64 << 10;
/// Maximum number of circuits of a trunk.
pub(super) const MAX_CIRCUITS: u32 = 4096;
/// Maximum that all circuits of a trunk together may have under way in one direction (bytes). The trunk's
/// streams find the rate of the link by themselves. So this constant and the next three are large enough not
/// to limit the rate.
const MAX_UNACKNOWLEDGED_BYTES: u64 = 32 << 20;
/// Minimum that each circuit may have under way in any case (bytes).
const MIN_CIRCUIT_CREDIT_BYTES: u64 = 4 << 10;
/// Maximum that a circuit may have under way at first (bytes).
const INITIAL_CREDIT_BYTES: u64 = 1 << 20;
/// Growth of this maximum: if at least half of it is under way, it grows by this factor times the amount that
/// was passed on.
const GROWTH: u64 = 3;
/// Cost of a message beside its bytes, so that empty messages are not free (bytes).
const MESSAGE_OVERHEAD_BYTES: u64 = 256;
/// Minimum growth of the credit that is reported, and minimum credit with which a circuit still sends
/// (bytes). It is half of each circuit's minimum, so a circuit whose last credit was not reported yet may
/// still send.
const MIN_CREDIT_NOTICE_BYTES: u64 = MIN_CIRCUIT_CREDIT_BYTES / 2;
/// A circuit with more bytes than this under way carries large messages, even if its single parts are small
/// (bytes).
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
    /// The other relay has opened the circuit.
    Opened,
    /// Bytes have arrived, or the end of the circuit's bytes.
    More,
    /// The circuit is broken off. The value is the message to answer with, if an answer is due.
    BrokenOff(Option<Vec<u8>>),
    /// The message changes nothing any more.
    Nothing,
}

/// The circuits of one end of a trunk: a state machine without I/O.
///
/// - A circuit begins with [`open`](Circuits::open) here, or with the first message of the other end
///   ([`begin`](Circuits::begin), then [`deliver`](Circuits::deliver), which returns the event).
/// - Sending: [`room`](Circuits::room) returns the number of bytes that may be sent; [`send`](Circuits::send)
///   makes the message with these bytes; [`credit`](Circuits::credit) takes in the other end's credit.
/// - Passing bytes on: [`front`](Circuits::front) returns the next bytes that arrived; [`took`](Circuits::took)
///   notes how many of them were passed on; [`credit_due`](Circuits::credit_due) returns the credit to report.
/// - A circuit ends with [`end`](Circuits::end) in this direction, or with [`break_off`](Circuits::break_off)
///   in both; after [`has_ended`](Circuits::has_ended), [`forget_if_over`](Circuits::forget_if_over) frees its
///   number.
///
/// An error of any call means that the other end breaks the rules. The trunk must then be closed.
pub(super) struct Circuits {
    /// True if this relay opens the circuits; false if the other relay does.
    opens: bool,
    slots: HashMap<u32, Slot>,
    free: BTreeSet<u32>,
    /// Cost of the messages that were sent and not passed on by the far relay.
    under_way: u64,
    /// Cost of the messages that arrived and were not passed on here.
    kept: u64,
    live: usize,
}

/// A conduit on which one circuit follows another. The numbers count over all circuits of the conduit.
#[derive(Default)]
struct Slot {
    lives: bool,
    /// Number of circuits that were opened on this conduit.
    life: u64,
    sent: u64,
    credited: u64,
    window: u64,
    taken: u64,
    told: u64,
    /// True if this relay has announced that it sends nothing more.
    said: bool,
    /// True if the other relay has announced that it sends nothing more.
    heard: bool,
    /// True if arriving bytes are thrown away.
    deaf: bool,
    waiting: VecDeque<Vec<u8>>,
    /// Number of bytes of the first waiting message that were passed on.
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

    /// Throws away all waiting messages and all that still arrive. Returns the cost of the waiting
    /// messages.
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

    /// Returns the number of open circuits.
    pub fn len(&self) -> usize {
        self.live
    }

    /// Returns the cost of the messages that arrived and were not passed on (bytes).
    pub fn kept(&self) -> u64 {
        self.kept
    }

    // ---- sending --------------------------------------------------------------------------------------------
    /// Opens a circuit. Returns its number and the message to send, or `None` if there are too many
    /// circuits.
    pub fn open(&mut self) -> Option<(u32, Vec<u8>)> {
        let new = || (self.slots.len() < MAX_CIRCUITS as usize).then_some(self.slots.len() as u32);
        let number = self.free.pop_first().or_else(new)?;
        self.slots.entry(number).or_default().begin();
        self.live += 1;
        Some((number, vec![OPEN]))
    }

    /// Returns the number of bytes that the circuit may send now.
    pub fn room(&self, number: u32) -> usize {
        let Some(slot) = self.slots.get(&number).filter(|slot| slot.lives && !slot.said) else { return 0 };
        // The more bytes all circuits have under way, the smaller the limit of each: circuits whose bytes
        // are not passed on leave room for the others.
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

    /// Makes a message of these bytes, for which there must be room. The second value is true if the message
    /// is a part of a larger whole.
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

    /// Notes that this relay sends nothing more on the circuit. Returns the message to send.
    pub fn end(&mut self, number: u32) -> Vec<u8> {
        self.slots.entry(number).or_default().said = true;
        vec![END]
    }

    /// Breaks the circuit off because its local end is gone. Returns the message to send, if one is due.
    pub fn break_off(&mut self, number: u32) -> Option<Vec<u8>> {
        let slot = self.slots.get_mut(&number).filter(|slot| slot.lives)?;
        self.kept -= slot.go_deaf();
        let is_over = slot.said && slot.heard;
        slot.said = true;
        (!is_over).then(|| slot.broken_off())
    }

    /// Takes in the credit of the far relay: the bytes of the circuit that it has passed on, in all.
    ///
    /// # Errors
    /// The credit is for bytes that were not sent.
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

    // ---- receiving ------------------------------------------------------------------------------------------
    /// Takes note that a message of `total` bytes begins to arrive.
    ///
    /// # Errors
    /// The number or the length is not allowed, or the message exceeds the credit.
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

    /// Takes in a whole message, for which `begin` was called.
    ///
    /// # Errors
    /// The message makes no sense.
    pub fn deliver(&mut self, number: u32, message: Vec<u8>) -> Result<CircuitEvent, Fault> {
        if message[..] == [OPEN] && !self.opens {
            // The end of the circuit before may have arrived at the same time, and the circuit was not
            // checked since.
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

    /// Returns the bytes to be passed on next.
    pub fn front(&self, number: u32) -> Option<&[u8]> {
        let slot = self.slots.get(&number)?;
        slot.waiting.front().map(|message| &message[1 + slot.at..])
    }

    /// Notes that this many bytes of `front` were passed on.
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

    /// Returns the credit to report for bytes that were passed on, if it is enough for a report. For a
    /// circuit that is over, any credit is enough.
    pub fn credit_due(&mut self, number: u32) -> Option<u64> {
        let slot = self.slots.get_mut(&number)?;
        let least = if slot.lives { MIN_CREDIT_NOTICE_BYTES } else { 1 };
        if slot.taken - slot.told < least {
            return None;
        }
        slot.told = slot.taken;
        Some(slot.taken)
    }

    /// Returns true if all bytes were passed on and no more will arrive.
    pub fn has_ended(&self, number: u32) -> bool {
        self.slots.get(&number).is_none_or(|slot| slot.heard && slot.waiting.is_empty())
    }

    /// Forgets the circuit if it is over, and returns true if it is. The relay that opens circuits forgets
    /// one only when all bytes that it sent were passed on, so that the next circuit of this number does
    /// not arrive while the far relay still holds bytes of this one.
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
