//! The 64-byte header of a message in version 1: as bytes, and as the eight words of a ring's entry. The
//! carrier's fields (flag bits 12–15 and the top byte of the last word) are passed through and not
//! interpreted.

use crate::error::WireError;
use crate::layout::MAX_BODY;

/// The version of the format that this crate writes and reads.
pub const VERSION: u8 = 1;
/// Length of a header in bytes.
pub const HEADER_BYTES: usize = 64;

/// Bits of the header's flag field.
pub mod flags {
    /// The next timestamp is set.
    pub const HAS_NEXT: u16 = 1 << 0;
    /// The tick fields are exact.
    pub const HAS_TICKS: u16 = 1 << 1;
    /// The body is compressed.
    pub const COMPRESSED: u16 = 1 << 2;
    /// The body is shared with messages of other conduits. In a ring to a carrier: one of them comes in a later
    /// entry, perhaps the next. Between domains: the body travels by itself, once for all of them.
    pub const SHARED: u16 = 1 << 12;
    /// Flag of the ring: the message has the same preamble, number of parts and body length as the last
    /// message of this conduit whose preamble was written into an entry. The place of the body is in the
    /// field for its length, so the entry consists of the header's cache line only.
    pub const AS_BEFORE: u16 = 1 << 13;
    /// Flag of the ring: the message is a chunk of a message that was too large for the memory at hand.
    pub const STREAM: u16 = 1 << 14;
    /// Flag of the ring: the body is in a slab, and the entry has its place.
    pub const PLACED: u16 = 1 << 15;
    /// All bits that belong to the transport in shared memory. They are zero in files and between domains.
    pub const CARRIER: u16 = 0xf000;
    /// All bits that version 1 knows.
    pub const KNOWN: u16 = HAS_NEXT | HAS_TICKS | COMPRESSED | CARRIER;
}

/// The way in which the sender of a conduit has ended it. The timestamp of the message of kind `End` encodes
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ConduitEnd {
    /// The sender has made its last pass through the reuse loop, and then ended the conduit. The timestamp
    /// is 0.
    #[default]
    Done,
    /// The sender ended the conduit within a pass of its reuse loop, before it asked for the next pass.
    /// Timestamp 1.
    WithinPass,
}

impl ConduitEnd {
    /// Returns the header of the message that announces this end.
    pub fn header(self) -> Header {
        let timestamp = if self == ConduitEnd::WithinPass { WITHIN_PASS } else { 0.0 };
        Header { kind: MessageKind::End, timestamp, ..Header::default() }
    }

    /// Returns the end that a header of kind `End` announces.
    pub fn of(header: &HeaderWords) -> ConduitEnd {
        if header.timestamp() == WITHIN_PASS {
            ConduitEnd::WithinPass
        } else {
            ConduitEnd::Done
        }
    }
}

const WITHIN_PASS: f64 = 1.0;

/// The kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum MessageKind {
    /// A value sent by a simulation.
    #[default]
    Data,
    /// The conduit has ended: no message follows.
    End,
    /// An overlay of settings. The body is a tree of settings; the header's `overlay` is its number.
    Overlay,
    /// The end of a pass of the sender's reuse loop. It is sent only to a receiver that has a clock.
    PassEnd,
    /// A checkpoint mark.
    Checkpoint,
    /// The map of a distributed array: the elements that the sender has.
    Route,
    /// The slot of the messages that follow, on a conduit that joins resizable ports. The body is a list of
    /// two integers: the slot, and the number of slots.
    Slot,
    /// The end of an iteration of the sender, or of a component that calls the sender. The body is the path
    /// of the iteration, a list of integers. Such a message is sent only if the receiver needs it.
    Milestone,
    /// A message of the ring itself (a jump in the ring, or a chunk of a stream). It never leaves shared
    /// memory.
    Carrier,
    /// A kind of a later version. Its number (64–127) says that a receiver may skip it.
    Skip(u8),
}

impl MessageKind {
    /// Returns the number of the kind in the header.
    #[inline]
    pub fn code(self) -> u8 {
        match self {
            MessageKind::Data => 1,
            MessageKind::End => 2,
            MessageKind::Overlay => 3,
            MessageKind::PassEnd => 4,
            MessageKind::Checkpoint => 5,
            MessageKind::Route => 6,
            MessageKind::Slot => 7,
            MessageKind::Milestone => 8,
            MessageKind::Carrier => 15,
            MessageKind::Skip(code) => code,
        }
    }

    /// Returns the kind that has this number. Fails for 0 and for unknown numbers outside 64–127.
    #[inline]
    pub fn from_code(code: u8) -> Result<MessageKind, WireError> {
        Ok(match code {
            1 => MessageKind::Data,
            2 => MessageKind::End,
            3 => MessageKind::Overlay,
            4 => MessageKind::PassEnd,
            5 => MessageKind::Checkpoint,
            6 => MessageKind::Route,
            7 => MessageKind::Slot,
            8 => MessageKind::Milestone,
            15 => MessageKind::Carrier,
            64..=127 => MessageKind::Skip(code),
            _ => return Err(WireError::Kind { found: code }),
        })
    }
}

/// All fields of the header of a message. Absent fields are zero on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Header {
    /// The kind of the message.
    pub kind: MessageKind,
    /// True if the body is compressed.
    pub compressed: bool,
    /// The flags within [`flags::CARRIER`]. Other bits are not written.
    pub carrier_flags: u16,
    /// The byte that belongs to the ring: its lap stamp.
    pub stamp: u8,
    /// Number of the conduit in this run.
    pub conduit: u32,
    /// Number of the message on its conduit, from 0.
    pub sequence: u64,
    /// Model time that the message is valid for, in s.
    pub timestamp: f64,
    /// Model time of the next message, in s.
    pub next_timestamp: Option<f64>,
    /// The timestamp in the model's time base. If `next_timestamp` is set, the field is sent only together
    /// with `next_ticks`, because one flag on the wire stands for both.
    pub ticks: Option<i64>,
    /// The next timestamp in the model's time base. It has a meaning only together with `next_timestamp`.
    pub next_ticks: Option<i64>,
    /// Number of the overlay of settings that the sender uses, or 0 for none.
    pub overlay: u32,
    /// Number of the checkpoint epoch.
    pub epoch: u16,
    /// Number of parts that follow the tree.
    pub parts: u16,
    /// Number of bytes of the body, below 2⁵⁶.
    pub body_len: u64,
}

impl Header {
    /// Returns the flag field as it is written to the wire.
    #[inline]
    pub fn flags(&self) -> u16 {
        let has_next = self.next_timestamp.is_some();
        let has_ticks = self.ticks.is_some() && (!has_next || self.next_ticks.is_some());
        let mut bits = self.carrier_flags & flags::CARRIER;
        bits |= if has_next { flags::HAS_NEXT } else { 0 };
        bits |= if has_ticks { flags::HAS_TICKS } else { 0 };
        bits |= if self.compressed { flags::COMPRESSED } else { 0 };
        bits
    }

    /// Returns the header as eight words, each to be stored little-endian.
    ///
    /// # Panics
    /// In debug builds, if `body_len` is not below 2⁵⁶; [`crate::Encoder::plan`] never yields such a length.
    #[inline]
    pub fn encode(&self) -> [u64; 8] {
        debug_assert!(self.body_len < MAX_BODY);
        let flags = self.flags();
        let exact = flags & flags::HAS_TICKS != 0;
        let both = exact && flags & flags::HAS_NEXT != 0;
        [
            u64::from(VERSION)
                | u64::from(self.kind.code()) << 8
                | u64::from(flags) << 16
                | u64::from(self.conduit) << 32,
            self.sequence,
            self.timestamp.to_bits(),
            self.next_timestamp.map_or(0, f64::to_bits),
            if exact { self.ticks.unwrap_or(0) as u64 } else { 0 },
            if both { self.next_ticks.unwrap_or(0) as u64 } else { 0 },
            u64::from(self.overlay) | u64::from(self.epoch) << 32 | u64::from(self.parts) << 48,
            (self.body_len & (MAX_BODY - 1)) | u64::from(self.stamp) << 56,
        ]
    }

    /// Returns the header as it is written to a file or a socket.
    pub fn to_bytes(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        for (place, word) in bytes.chunks_exact_mut(8).zip(self.encode()) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// Reads a header from its words. Fails if the version, the kind or a flag is unknown.
    #[inline]
    pub fn decode(words: &[u64; 8]) -> Result<Header, WireError> {
        let first = words[0];
        if first as u8 != VERSION {
            return Err(WireError::Version { found: first as u8 });
        }
        let kind = MessageKind::from_code((first >> 8) as u8)?;
        let bits = (first >> 16) as u16;
        if bits & !flags::KNOWN != 0 {
            return Err(WireError::Flags { found: bits & !flags::KNOWN });
        }
        let has_next = bits & flags::HAS_NEXT != 0;
        let has_ticks = bits & flags::HAS_TICKS != 0;
        Ok(Header {
            kind,
            compressed: bits & flags::COMPRESSED != 0,
            carrier_flags: bits & flags::CARRIER,
            stamp: (words[7] >> 56) as u8,
            conduit: (first >> 32) as u32,
            sequence: words[1],
            timestamp: f64::from_bits(words[2]),
            next_timestamp: has_next.then(|| f64::from_bits(words[3])),
            ticks: has_ticks.then_some(words[4] as i64),
            next_ticks: (has_ticks && has_next).then_some(words[5] as i64),
            overlay: words[6] as u32,
            epoch: (words[6] >> 32) as u16,
            parts: (words[6] >> 48) as u16,
            body_len: words[7] & (MAX_BODY - 1),
        })
    }

    /// Reads a header from the first 64 bytes of `bytes`.
    pub fn from_bytes(bytes: &[u8]) -> Result<Header, WireError> {
        if bytes.len() < HEADER_BYTES {
            return Err(WireError::HeaderShort { found: bytes.len() });
        }
        let mut words = [0; 8];
        for (word, place) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_le_bytes(place.try_into().expect("chunks of eight"));
        }
        Header::decode(&words)
    }

    /// Returns the same header without the ring's fields: for files, and when a message leaves one ring for
    /// another transport.
    pub fn without_carrier(&self) -> Header {
        Header { carrier_flags: 0, stamp: 0, ..*self }
    }
}

/// A header as its eight words. Senders and receivers use this form, because it is copied as it is. The
/// fields have the same meaning as in [`Header`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderWords(pub [u64; 8]);

impl Default for HeaderWords {
    fn default() -> HeaderWords {
        HeaderWords::data(0.0, None)
    }
}

impl From<Header> for HeaderWords {
    fn from(header: Header) -> HeaderWords {
        HeaderWords(header.encode())
    }
}

impl HeaderWords {
    /// Returns the header of a value that is sent at `timestamp` (s).
    #[inline]
    pub fn data(timestamp: f64, next_timestamp: Option<f64>) -> HeaderWords {
        let (bits, next) = next_timestamp.map_or((0, 0), |next| (flags::HAS_NEXT, next.to_bits()));
        let first = u64::from(VERSION) | u64::from(MessageKind::Data.code()) << 8 | u64::from(bits) << 16;
        HeaderWords([first, 0, timestamp.to_bits(), next, 0, 0, 0, 0])
    }

    /// Checks version, kind and flags without decoding the header.
    #[inline]
    pub fn check(&self) -> Result<(), WireError> {
        let first = self.0[0] as u32;
        // The most common header has no flags except those for its next timestamp and those of the ring.
        let common = u32::from(VERSION) | u32::from(MessageKind::Data.code()) << 8;
        if first & !(u32::from(flags::HAS_NEXT | flags::CARRIER) << 16) == common {
            return Ok(());
        }
        Header::decode(&self.0).map(|_| ())
    }

    /// Returns true if this is message `sequence` of conduit `conduit` in its most common form, which needs
    /// no further check. Such a message is a value without a settings overlay and without a checkpoint epoch.
    /// It has no flags except those for its next timestamp and for the place of its body.
    #[inline]
    pub fn is_ordinary(&self, conduit: u32, sequence: u64) -> bool {
        let known = u64::from(flags::HAS_NEXT | flags::PLACED | flags::AS_BEFORE) << 16;
        let first = u64::from(VERSION) | u64::from(MessageKind::Data.code()) << 8 | u64::from(conduit) << 32;
        // Overlay and epoch are the lower 48 bits. The upper 16 bits are the number of parts.
        let overlay_and_epoch = self.0[6] << 16;
        self.0[0] & !known == first && self.0[1] == sequence && overlay_and_epoch == 0
    }

    /// Decodes the whole header. The errors are those of [`Header::decode`].
    pub fn decode(&self) -> Result<Header, WireError> {
        Header::decode(&self.0)
    }

    /// Returns the number of the message's kind.
    #[inline]
    pub fn kind_code(&self) -> u8 {
        (self.0[0] >> 8) as u8
    }

    /// Returns true if this is the header of a value that a simulation sent.
    #[inline]
    pub fn is_data(&self) -> bool {
        self.kind_code() == MessageKind::Data.code()
    }

    /// Returns true if this is the header of the end of a conduit.
    #[inline]
    pub fn is_end(&self) -> bool {
        self.kind_code() == MessageKind::End.code()
    }

    /// Returns true if this is the header of a message of kind `Slot`: it names the slot of the messages that
    /// follow.
    #[inline]
    pub fn is_slot(&self) -> bool {
        self.kind_code() == MessageKind::Slot.code()
    }

    /// Returns true if this is the header of a map, which names the elements of a distributed array that the
    /// sender has.
    #[inline]
    pub fn is_route(&self) -> bool {
        self.kind_code() == MessageKind::Route.code()
    }

    /// Returns true if this is the header of the mark at the end of a sender's pass.
    #[inline]
    pub fn is_pass_end(&self) -> bool {
        self.kind_code() == MessageKind::PassEnd.code()
    }

    /// Returns true if this is the header of a milestone: the end of an iteration.
    #[inline]
    pub fn is_milestone(&self) -> bool {
        self.kind_code() == MessageKind::Milestone.code()
    }

    /// Returns the flag bits.
    #[inline]
    pub fn flags(&self) -> u16 {
        (self.0[0] >> 16) as u16
    }

    /// Sets a flag within [`flags::CARRIER`].
    #[inline]
    pub fn set_carrier_flag(&mut self, flag: u16) {
        self.0[0] |= u64::from(flag & flags::CARRIER) << 16;
    }

    /// Returns true if [`flags::SHARED`] is set.
    #[inline]
    pub fn is_shared(&self) -> bool {
        self.flags() & flags::SHARED != 0
    }

    /// Sets or clears [`flags::SHARED`].
    #[inline]
    pub fn set_shared(&mut self, shared: bool) {
        let flag = u64::from(flags::SHARED) << 16;
        self.0[0] = self.0[0] & !flag | if shared { flag } else { 0 };
    }

    /// Returns the number of the conduit.
    #[inline]
    pub fn conduit(&self) -> u32 {
        (self.0[0] >> 32) as u32
    }

    /// Sets the conduit, and the number of the message on it.
    #[inline]
    pub fn set_conduit(&mut self, conduit: u32, sequence: u64) {
        self.0[0] = self.0[0] & 0xffff_ffff | u64::from(conduit) << 32;
        self.0[1] = sequence;
    }

    /// Returns the number of the message on its conduit.
    #[inline]
    pub fn sequence(&self) -> u64 {
        self.0[1]
    }

    /// Returns the model time of the message, in s.
    #[inline]
    pub fn timestamp(&self) -> f64 {
        f64::from_bits(self.0[2])
    }

    /// Returns the model time of the next message, in s, if there is one.
    #[inline]
    pub fn next_timestamp(&self) -> Option<f64> {
        (self.flags() & flags::HAS_NEXT != 0).then(|| f64::from_bits(self.0[3]))
    }

    /// Returns the number of the settings overlay, or 0 for none.
    #[inline]
    pub fn overlay(&self) -> u32 {
        self.0[6] as u32
    }

    /// Sets the number of the settings overlay.
    #[inline]
    pub fn set_overlay(&mut self, overlay: u32) {
        self.0[6] = self.0[6] & !0xffff_ffff | u64::from(overlay);
    }

    /// Returns the number of parts that follow the tree.
    #[inline]
    pub fn parts(&self) -> u16 {
        (self.0[6] >> 48) as u16
    }

    /// Returns the number of bytes of the body.
    #[inline]
    pub fn body_len(&self) -> u64 {
        self.0[7] & (MAX_BODY - 1)
    }

    /// Returns true if the message has no body, neither in the entry nor in a slab.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.body_len() == 0 && self.parts() == 0 && self.flags() & flags::PLACED == 0
    }

    /// Returns the same header for message `sequence` of conduit `conduit`, with `parts` parts and a body of
    /// `body_len` bytes. The words are returned by value, so that the compiler can keep them in registers
    /// until they are stored in the ring.
    #[inline(always)]
    pub fn on(&self, conduit: u32, sequence: u64, parts: u16, body_len: u64) -> HeaderWords {
        let mut words = HeaderWords([0, 0, self.0[2], self.0[3], self.0[4], self.0[5], self.0[6], 0]);
        words.0[0] = self.0[0] & 0xffff_ffff;
        words.set_conduit(conduit, sequence);
        words.set_body(parts, body_len);
        words
    }

    /// Returns the same header with the flags of a body that lies in a slab and has the same shape as the
    /// previous one. The place of the body is in the field for its length.
    #[inline(always)]
    pub fn placed_as_before(mut self) -> HeaderWords {
        self.set_carrier_flag(flags::PLACED | flags::AS_BEFORE);
        self
    }

    /// Marks the body as one with the same shape as the previous one, and stores its place (56 bits) in the
    /// field for its length.
    #[inline]
    pub fn set_as_before(&mut self, place: u64) {
        self.set_carrier_flag(flags::AS_BEFORE);
        self.0[7] = place & (MAX_BODY - 1);
    }

    /// Removes the mark that `set_as_before` made, and returns the place. `parts` and `body_len` then take
    /// its fields.
    #[inline]
    pub fn take_as_before(&mut self, parts: u16, body_len: u64) -> u64 {
        self.0[0] &= !(u64::from(flags::AS_BEFORE) << 16);
        let place = self.body_len();
        self.set_body(parts, body_len);
        place
    }

    /// Sets the number of parts and the number of bytes of the body.
    #[inline]
    pub fn set_body(&mut self, parts: u16, body_len: u64) {
        self.0[6] = self.0[6] & 0x0000_ffff_ffff_ffff | u64::from(parts) << 48;
        self.0[7] = body_len & (MAX_BODY - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_what_the_header_says() {
        let header = Header {
            kind: MessageKind::Data,
            conduit: 7,
            sequence: 1 << 40,
            timestamp: -1.5,
            next_timestamp: Some(2.0),
            overlay: 9,
            epoch: 3,
            parts: 2,
            body_len: 12345,
            carrier_flags: flags::PLACED,
            ..Header::default()
        };
        let words = HeaderWords::from(header);
        assert_eq!(words.check(), Ok(()));
        assert_eq!(words.decode(), Ok(header));
        assert_eq!((words.conduit(), words.sequence()), (7, 1 << 40));
        assert_eq!((words.timestamp(), words.next_timestamp()), (-1.5, Some(2.0)));
        assert_eq!((words.overlay(), words.parts(), words.body_len()), (9, 2, 12345));
        let mut built = HeaderWords::data(-1.5, Some(2.0));
        built.set_conduit(7, 1 << 40);
        built.set_overlay(9);
        built.set_body(2, 12345);
        built.set_carrier_flag(flags::PLACED);
        assert_eq!(built.decode(), Ok(Header { epoch: 0, ..header }));
    }

    #[test]
    fn an_ordinary_header_has_nothing_that_needs_a_further_look() {
        let usual = Header {
            conduit: 7,
            sequence: 9,
            timestamp: 1.0,
            next_timestamp: Some(2.0),
            parts: 1,
            body_len: 64,
            carrier_flags: flags::PLACED,
            ..Header::default()
        };
        let is_ordinary = |header: Header| HeaderWords::from(header).is_ordinary(7, 9);
        assert!(is_ordinary(usual) && is_ordinary(Header { next_timestamp: None, parts: 0, ..usual }));
        let others = [
            Header { kind: MessageKind::End, ..usual },
            Header { kind: MessageKind::Slot, ..usual },
            Header { kind: MessageKind::Milestone, ..usual },
            Header { compressed: true, ..usual },
            Header { carrier_flags: flags::STREAM, ..usual },
            Header { conduit: 8, ..usual },
            Header { sequence: 10, ..usual },
            Header { ticks: Some(1), next_ticks: Some(2), ..usual },
            Header { overlay: 1, ..usual },
            Header { epoch: 1, ..usual },
        ];
        for other in others {
            assert!(!is_ordinary(other), "{other:?}");
        }
    }

    #[test]
    fn a_quick_look_refuses_what_a_long_one_refuses() {
        for first in [0u64, 2, 0x0101 | 0x0800_0000, 0x6301, 0x0001, 0xff01] {
            let words = HeaderWords([first, 0, 0, 0, 0, 0, 0, 0]);
            assert_eq!(words.check().is_err(), words.decode().is_err(), "{first:#x}");
        }
    }
}
