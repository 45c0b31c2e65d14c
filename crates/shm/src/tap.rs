//! The box of a tap: shared memory that passes the latest value of a port from its sender to a viewer. The
//! sender puts in a value only when the viewer has asked for one: it reads the word of the turn and no other
//! word of the box. The viewer copies the contents before it parses them, and trusts no length in the box.

use crate::memory::{Mapping, ShmError};
use crate::own::OwnMemory;
use crate::turn::Turn;
use ligament_wire::tap::TapOutcome;
use rustix::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

/// Maximum number of bytes of a value in a box.
pub const MAX_VALUE_BYTES: u64 = 1 << 30;
const TURN_AT: usize = 0;
/// Offset of the least time of the value that is asked for. The viewer writes it.
const FROM_AT: usize = 8;
/// Offset of the count of sent messages. It has a cache line of its own, because the sender writes it with
/// each message that it counts.
const PASSED_AT: usize = 64;
const NOTE_AT: usize = 128;
const NOTE_WORDS: usize = 8;
const BODY_AT: usize = 192;

/// The description of the value in a box.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Note {
    pub outcome: TapOutcome,
    /// Number of parts and length in bytes (`body_len`) of the value's body. They are also set for a body
    /// that is too large for the box.
    pub parts: u16,
    pub body_len: u64,
    /// Timestamp of the message, s.
    pub timestamp: f64,
    pub next_timestamp: Option<f64>,
    /// Slot of a vector port, if the port is one.
    pub slot: Option<u32>,
    /// Number of messages that the port had sent since the tap began, this message included.
    pub number: u64,
    /// Processor time that the value took at its sender, ns.
    pub cost: u64,
}

impl Note {
    fn words(&self) -> [u64; NOTE_WORDS] {
        // `u64::MAX` stands for None: no time and no slot has this value.
        let next = self.next_timestamp.map_or(u64::MAX, f64::to_bits);
        let slot = self.slot.map_or(u64::MAX, u64::from);
        let parts = u64::from(self.parts);
        let time = self.timestamp.to_bits();
        [self.outcome as u64, parts, self.body_len, time, next, slot, self.number, self.cost]
    }

    fn of(words: [u64; NOTE_WORDS]) -> Option<Note> {
        let [outcome, parts, body_len, timestamp, next, slot, number, cost] = words;
        Some(Note {
            outcome: TapOutcome::of(outcome)?,
            parts: u16::try_from(parts).ok()?,
            body_len,
            timestamp: f64::from_bits(timestamp),
            next_timestamp: (next != u64::MAX).then(|| f64::from_bits(next)),
            slot: if slot == u64::MAX { None } else { Some(u32::try_from(slot).ok()?) },
            number,
            cost,
        })
    }
}

/// The value for which a viewer waits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Wish {
    /// The first value whose time is not before this one.
    From(f64),
    /// Only the time of the next value.
    Time,
}

impl Wish {
    /// The next value, whatever its time is.
    pub const NEXT: Wish = Wish::From(f64::NEG_INFINITY);

    /// Returns the wish as a number: a number that is none asks for the time only.
    pub fn number(self) -> f64 {
        match self {
            Wish::From(time) => time,
            Wish::Time => f64::NAN,
        }
    }

    /// Returns the wish that this number stands for.
    pub fn of(number: f64) -> Wish {
        match number {
            time if time.is_nan() => Wish::Time,
            time => Wish::From(time),
        }
    }
}

/// Returns the size of a box with room for a value of `room` bytes.
pub fn size_for(room: u64) -> usize {
    BODY_AT + room.min(MAX_VALUE_BYTES) as usize
}

/// Creates the memory of a box with room for a value of `room` bytes. Its pages are allocated at their first
/// use.
///
/// # Errors
/// The memory cannot be created.
pub fn make(room: u64) -> Result<OwnedFd, ShmError> {
    crate::memory::create("ligament-tap", size_for(room))
}

/// A box, mapped by the sender or by the viewer.
pub struct TapBox {
    map: Mapping,
}

impl TapBox {
    /// Maps a box with room for a value of `room` bytes.
    ///
    /// # Errors
    /// The memory is smaller than such a box, or cannot be mapped.
    pub fn open(memory: impl AsFd, room: u64) -> Result<TapBox, ShmError> {
        let size = size_for(room);
        let real = rustix::fs::fstat(&memory).map_err(crate::memory::during("fstat"))?.st_size;
        if (real as u64) < size as u64 {
            return Err(ShmError::Malformed(format!("the box of a tap has {real} bytes and not {size}")));
        }
        Ok(TapBox { map: Mapping::writable(memory, 0, size)? })
    }

    /// Returns the size of the largest value that fits into the box, bytes.
    pub fn room(&self) -> u64 {
        (self.map.len() - BODY_AT) as u64
    }

    fn turn(&self) -> &Turn {
        self.map.at(TURN_AT)
    }

    /// Stores the number of messages sent since the tap began. The sender calls this.
    pub fn count(&self, passed: u64) {
        self.map.at::<AtomicU64>(PASSED_AT).store(passed, Ordering::Relaxed);
    }

    /// Returns the number of messages sent since the tap began. The viewer calls this.
    pub fn passed(&self) -> u64 {
        self.map.at::<AtomicU64>(PASSED_AT).load(Ordering::Relaxed)
    }

    /// Returns true if the viewer has asked for a value. The sender calls this.
    #[inline]
    pub fn is_asked(&self) -> bool {
        self.turn().is_asked()
    }

    /// Puts a value in; the sender calls this if the viewer has asked for one. If the note announces a value
    /// and the box has room for it, `write` gets memory of `body_len` bytes. Otherwise this function writes the
    /// reason to the note.
    pub fn fill(&self, note: Note, write: impl FnOnce(&mut [u8])) {
        let note = self.put_value(note, write);
        self.answer(note);
    }

    /// Does the same as `fill`, but returns the note, with which `answer` is to complete the value.
    pub fn put_value(&self, mut note: Note, write: impl FnOnce(&mut [u8])) -> Note {
        if note.outcome == TapOutcome::Value {
            let len = usize::try_from(note.body_len).unwrap_or(usize::MAX);
            if note.body_len > self.room() {
                note.outcome = TapOutcome::TooLarge;
            } else if self.map.populate_write(BODY_AT, len).is_err() {
                note.outcome = TapOutcome::NoMemory;
            } else {
                // SAFETY: the bytes lie within the mapping, since there is room; the sender has the turn, so
                // no other process uses them.
                write(unsafe { std::slice::from_raw_parts_mut(self.map.start().add(BODY_AT), len) });
            }
        }
        note
    }

    /// Puts in the piece that begins at byte `offset`. The sender calls this if the viewer has asked for a
    /// value. After the last piece, `answer` completes the value.
    ///
    /// # Errors
    /// The box has no room for the piece, or the system has no memory.
    pub fn put(&self, offset: u64, piece: &[u8]) -> Result<(), ShmError> {
        let end = offset.checked_add(piece.len() as u64).filter(|&end| end <= self.room());
        let Some(end) = end else {
            let room = self.room();
            return Err(ShmError::Malformed(format!("{} bytes from {offset} on, of {room}", piece.len())));
        };
        let at = BODY_AT + (end as usize - piece.len());
        self.map.populate_write(at, piece.len())?;
        // SAFETY: the bytes lie within the mapping, since there is room; the sender has the turn, so no
        // other process uses them.
        unsafe { std::ptr::copy_nonoverlapping(piece.as_ptr(), self.map.start().add(at), piece.len()) };
        Ok(())
    }

    /// Writes the note that describes the contents of the box, and passes the turn to the viewer. The sender
    /// calls this if the viewer has asked for a value.
    pub fn answer(&self, note: Note) {
        let words = self.map.slice_at::<AtomicU64>(NOTE_AT, NOTE_WORDS);
        for (word, value) in words.iter().zip(note.words()) {
            word.store(value, Ordering::Relaxed);
        }
        self.turn().answer();
    }

    /// Asks for the next value. The viewer calls this if it has not asked yet, or has taken the last value.
    pub fn ask(&self) {
        self.ask_for(Wish::NEXT);
    }

    /// Does the same as `ask`, for a value from a certain time on, or for the time only.
    pub fn ask_for(&self, wish: Wish) {
        self.change_wish(wish);
        self.turn().ask();
    }

    /// Asks for another value than before. The viewer calls this after it has asked; the sender may just be
    /// putting in the first one.
    pub fn change_wish(&self, wish: Wish) {
        self.map.at::<AtomicU64>(FROM_AT).store(wish.number().to_bits(), Ordering::Relaxed);
    }

    /// Returns the value for which the viewer waits. The sender calls this if the viewer has asked.
    pub fn wish(&self) -> Wish {
        Wish::of(f64::from_bits(self.map.at::<AtomicU64>(FROM_AT).load(Ordering::Relaxed)))
    }

    /// Returns a copy of the note and of the value's body, if the sender has filled the box since the last
    /// `ask`. The viewer calls this.
    ///
    /// # Errors
    /// The contents of the box are not in the format of a sender.
    pub fn take(&self) -> Result<Option<(Note, OwnMemory)>, ShmError> {
        let Some(note) = self.look()? else { return Ok(None) };
        if note.outcome != TapOutcome::Value {
            return Ok(Some((note, OwnMemory::new(0)?)));
        }
        let mut body = OwnMemory::new(note.body_len)?;
        let len = note.body_len as usize;
        self.copy(0, &mut body.bytes_mut()[..len]);
        Ok(Some((note, body)))
    }

    /// Returns the note, if the sender has filled the box since the last `ask`. The viewer calls this; `copy`
    /// returns the bytes of the value.
    ///
    /// # Errors
    /// The contents of the box are not in the format of a sender.
    pub fn look(&self) -> Result<Option<Note>, ShmError> {
        if !self.turn().is_full() {
            return Ok(None);
        }
        let words = self.map.slice_at::<AtomicU64>(NOTE_AT, NOTE_WORDS);
        let words = std::array::from_fn(|i| words[i].load(Ordering::Relaxed));
        let wrong = || ShmError::Malformed(format!("a tap's box says {words:x?}"));
        let note = Note::of(words).ok_or_else(wrong)?;
        match note.outcome {
            TapOutcome::Value if note.body_len > self.room() => Err(wrong()),
            _ => Ok(Some(note)),
        }
    }

    /// Copies the bytes of a value from `offset` on. The viewer calls this after it has found the value. Bytes
    /// of `to` beyond the end of the box stay unchanged.
    pub fn copy(&self, offset: u64, to: &mut [u8]) {
        let left = self.room().saturating_sub(offset);
        let len = to.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        // SAFETY: the bytes lie within the mapping, and the viewer has the turn. If a sender writes all the
        // same, the bytes are wrong, and are checked like all bytes from other processes.
        unsafe {
            let from = self.map.start().add(BODY_AT + (self.room() - left) as usize);
            std::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), len);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(body_len: u64) -> Note {
        let (timestamp, next_timestamp) = (1.5, Some(2.0));
        Note {
            outcome: TapOutcome::Value,
            parts: 1,
            body_len,
            timestamp,
            next_timestamp,
            slot: Some(3),
            number: 7,
            cost: 5,
        }
    }

    fn both(room: u64) -> (TapBox, TapBox) {
        let memory = make(room).unwrap();
        (TapBox::open(&memory, room).unwrap(), TapBox::open(&memory, room).unwrap())
    }

    #[test]
    fn a_box_is_filled_when_it_was_asked_for_and_only_then() {
        let (sender, other) = both(100);
        assert!(!sender.is_asked() && other.take().unwrap().is_none());
        other.ask();
        assert!(sender.is_asked());
        sender.fill(note(4), |to| to.copy_from_slice(b"abcd"));
        assert!(!sender.is_asked());
        let (told, body) = other.take().unwrap().unwrap();
        assert_eq!((told, body.as_ref()), (note(4), &b"abcd"[..]));
        other.ask();
        assert!(other.take().unwrap().is_none());
        assert_eq!(sender.wish(), Wish::NEXT);
        other.change_wish(Wish::From(2.5));
        assert_eq!((sender.is_asked(), sender.wish()), (true, Wish::From(2.5)));
        other.change_wish(Wish::Time);
        assert_eq!(sender.wish(), Wish::Time);
        sender.count(9);
        assert_eq!(other.passed(), 9);
    }

    #[test]
    fn a_value_goes_in_and_out_in_pieces() {
        let (sender, other) = both(100);
        other.ask();
        sender.put(0, &[1; 60]).unwrap();
        sender.put(60, &[2; 40]).unwrap();
        assert!(other.look().unwrap().is_none());
        sender.answer(note(100));
        assert_eq!(other.look().unwrap(), Some(note(100)));
        let mut piece = [0; 30];
        other.copy(50, &mut piece);
        assert!(piece[..10] == [1; 10] && piece[10..] == [2; 20]);
        for (offset, len) in [(100, 1), (61, 40), (u64::MAX, 1), (u64::MAX, 0)] {
            assert!(sender.put(offset, &vec![0; len]).is_err(), "{offset} {len}");
        }
        // A copy leaves the bytes beyond the end of the box unchanged.
        other.copy(90, &mut piece);
        assert!(piece[..10] == [2; 10]);
        other.copy(u64::MAX, &mut piece);
    }

    #[test]
    fn what_has_no_room_says_how_large_it_is() {
        let (sender, other) = both(100);
        other.ask();
        sender.fill(note(101), |_| panic!("there is no room"));
        let (told, _) = other.take().unwrap().unwrap();
        assert_eq!((told.outcome, told.body_len), (TapOutcome::TooLarge, 101));
    }

    #[test]
    fn what_no_sender_writes_is_refused() {
        let (sender, other) = both(64);
        for (at, wrong) in [(0, 0), (0, 99), (1, 1 << 16), (2, 65), (2, u64::MAX), (5, 1 << 32)] {
            other.ask();
            sender.fill(note(4), |to| to.fill(0));
            sender.map.slice_at::<AtomicU64>(NOTE_AT, NOTE_WORDS)[at].store(wrong, Ordering::Relaxed);
            assert!(other.take().is_err(), "{at} {wrong}");
        }
        // The sender may not write if the word of the turn has an unknown value.
        sender.map.at::<AtomicU64>(TURN_AT).store(77, Ordering::Relaxed);
        assert!(!sender.is_asked() && other.take().unwrap().is_none());
        // `open` refuses memory that is too small for its second argument.
        assert!(TapBox::open(make(64).unwrap(), 65).is_err());
    }

    /// The sender and the viewer work as fast as they can. Each value is whole, and the values arrive in
    /// order.
    #[test]
    fn nothing_is_taken_half_written() {
        let (sender, other) = both(8 << 10);
        let over = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let is_over = over.clone();
        let writes = std::thread::spawn(move || {
            for number in 1u64.. {
                if sender.is_asked() {
                    let note = Note { number, ..note(8 << 10) };
                    sender.fill(note, |to| {
                        to.chunks_exact_mut(8).for_each(|one| one.copy_from_slice(&number.to_ne_bytes()));
                    });
                } else {
                    std::thread::yield_now();
                }
                sender.count(number);
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
        other.ask();
        let (mut last, mut taken) = (0, 0);
        while taken < 500 {
            let Some((note, body)) = other.take().unwrap() else {
                std::thread::yield_now();
                continue;
            };
            assert!(note.number > last);
            last = note.number;
            assert!(body.as_ref().chunks_exact(8).all(|one| one == last.to_ne_bytes()));
            taken += 1;
            other.ask();
        }
        over.store(true, Ordering::Relaxed);
        writes.join().unwrap();
    }
}
