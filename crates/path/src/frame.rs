//! Frames: a header of 40 bytes before each piece of a message, and small control frames. All numbers are
//! little-endian.

use crate::{MessageNumber, StreamId};
use std::fmt;

/// Number of bytes of a frame's header.
pub const HEADER_BYTES: usize = 40;
/// Maximum number of bytes after the header of a control frame.
const MAX_CONTROL: u32 = 64 << 10;
/// Maximum number of bytes of a message in one frame.
pub(crate) const MAX_PIECE: u32 = 4 << 20;

/// The kind of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameKind {
    /// A piece of a message.
    Piece,
    /// A report: the number of frames that have arrived on each stream.
    Acknowledgement,
    /// Credit: the number of bytes of a conduit that its receiving instance has received.
    Credit,
    /// A heartbeat. With number 1, the frame asks for an acknowledgement.
    Heartbeat,
    /// The end of a direction: the sender sends nothing more except acknowledgements.
    End,
}

/// A frame's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHeader {
    pub kind: FrameKind,
    /// The compression of the piece. 0 means that the piece is not compressed.
    pub codec: u8,
    /// Number of bytes that follow on the stream.
    pub stored: u32,
    /// In a piece: number of bytes of the message that the piece contains after unpacking.
    pub len: u32,
    pub conduit: u32,
    /// In a piece: the number of its message on the conduit. In a credit frame: total number of bytes
    /// received. In a heartbeat: 1 if an acknowledgement is asked for, else 0.
    pub number: MessageNumber,
    /// In a piece: the position of its first byte in the message.
    pub offset: u64,
    /// In a piece: the length of the whole message, in bytes.
    pub total: u64,
}

/// A problem with a frame. Its sender is faulty, or is not a Ligament of this version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameError(pub String);

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for FrameError {}

pub(crate) fn wrong<T>(what: impl Into<String>) -> Result<T, FrameError> {
    Err(FrameError(what.into()))
}

impl FrameHeader {
    /// Makes the header of a control frame that has `stored` bytes after it.
    pub(crate) fn control(kind: FrameKind, stored: u32) -> FrameHeader {
        FrameHeader { kind, codec: 0, stored, len: 0, conduit: 0, number: 0, offset: 0, total: 0 }
    }

    /// Returns the header as it is written to the stream.
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0] = match self.kind {
            FrameKind::Piece => 1,
            FrameKind::Acknowledgement => 2,
            FrameKind::Credit => 3,
            FrameKind::Heartbeat => 4,
            FrameKind::End => 5,
        };
        bytes[1] = self.codec;
        bytes[4..8].copy_from_slice(&self.stored.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.len.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.conduit.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.number.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.offset.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.total.to_le_bytes());
        bytes
    }

    /// Reads a header and checks everything that can be checked without context: lengths, ranges, and fields
    /// that must be 0.
    ///
    /// # Errors
    /// Fails if one of these checks fails. The error says which.
    pub fn decode(bytes: &[u8; HEADER_BYTES]) -> Result<FrameHeader, FrameError> {
        let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let kind = match bytes[0] {
            1 => FrameKind::Piece,
            2 => FrameKind::Acknowledgement,
            3 => FrameKind::Credit,
            4 => FrameKind::Heartbeat,
            5 => FrameKind::End,
            other => return wrong(format!("a frame of kind {other}")),
        };
        let header = FrameHeader {
            kind,
            codec: bytes[1],
            stored: u32_at(4),
            len: u32_at(8),
            conduit: u32_at(12),
            number: u64_at(16),
            offset: u64_at(24),
            total: u64_at(32),
        };
        if bytes[2..4] != [0, 0] {
            return wrong("bytes of a frame that must be 0 are not");
        }
        header.check()?;
        Ok(header)
    }

    fn check(&self) -> Result<(), FrameError> {
        let FrameHeader { codec, stored, len, number, offset, total, .. } = *self;
        match self.kind {
            FrameKind::Piece => {
                if len > MAX_PIECE || stored > MAX_PIECE {
                    return wrong(format!("a piece of {} bytes", len.max(stored)));
                }
                if codec == 0 && stored != len {
                    return wrong(format!("a piece of {len} bytes, unpacked, in {stored}"));
                }
                if number == 0 || offset.checked_add(u64::from(len)).is_none_or(|end| end > total) {
                    return wrong(format!("{len} bytes at {offset} of a message of {total}"));
                }
                if len == 0 && total != 0 {
                    return wrong("an empty piece of a message that is not empty");
                }
                Ok(())
            }
            FrameKind::Acknowledgement if stored > MAX_CONTROL || stored % 16 != 0 => {
                wrong(format!("an acknowledgement of {stored} bytes"))
            }
            FrameKind::Acknowledgement => Ok(()),
            FrameKind::Credit | FrameKind::Heartbeat | FrameKind::End if stored != 0 => {
                wrong(format!("{stored} bytes after a frame that has none"))
            }
            FrameKind::Credit | FrameKind::Heartbeat | FrameKind::End => Ok(()),
        }
    }
}

/// The number of counted frames that have arrived on one incarnation of a stream. Pieces, credit and ends are
/// counted; acknowledgements and heartbeats are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Count {
    pub stream: StreamId,
    pub incarnation: u32,
    pub frames: u64,
}

/// Returns the bytes of an acknowledgement: 16 for each stream.
pub(crate) fn encode_counts(counts: impl Iterator<Item = Count>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for Count { stream, incarnation, frames } in counts {
        bytes.extend(u32::from(stream).to_le_bytes());
        bytes.extend(incarnation.to_le_bytes());
        bytes.extend(frames.to_le_bytes());
    }
    bytes
}

/// Reads the bytes that `encode_counts` wrote.
pub(crate) fn decode_counts(bytes: &[u8]) -> Result<Vec<Count>, FrameError> {
    let entries = bytes.chunks_exact(16);
    if !entries.remainder().is_empty() {
        return wrong(format!("an acknowledgement of {} bytes", bytes.len()));
    }
    entries
        .map(|entry| {
            let u32_at = |at: usize| u32::from_le_bytes(entry[at..at + 4].try_into().expect("four bytes"));
            let Ok(stream) = StreamId::try_from(u32_at(0)) else {
                return wrong(format!("an acknowledgement for stream {}", u32_at(0)));
            };
            let frames = u64::from_le_bytes(entry[8..16].try_into().expect("eight bytes"));
            Ok(Count { stream, incarnation: u32_at(4), frames })
        })
        .collect()
}
