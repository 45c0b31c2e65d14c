//! The protocol between sender and receiver. A message is either a word, encoded in CBOR, or a pack of
//! pieces of files.
//!
//! The sender begins (`Begin`), lists its files (`Entries`) and marks the end of each list (`Listed`). For
//! each message with entries, the receiver answers which files it wants (`Answer`). It then gets packs with
//! pieces of these files, and reports when all files of a list are finished (`Done`). The sender continues
//! its list without waiting for answers, so that many small files take no longer than one large file of the
//! same size.

use crate::entry::{DirectoryEntry, Stamp};
use crate::names;
use ligament_catalogue::{fault, Code, Fault};
use minicbor::{Decode, Encode};

/// The version of this protocol. Both ends must have the same version.
pub(crate) const VERSION: u32 = 3;
/// Number of bytes from which a pack is sent, and maximum length of a piece in it, in bytes.
pub(crate) const MAX_PACK_BYTES: usize = 1 << 20;
/// Maximum length of a hole that is sent as one piece, and sum of hole lengths from which a pack is sent,
/// in bytes. The receiver computes a checksum over holes, which takes time, and it must notice meanwhile if
/// the sender is gone.
pub(crate) const MAX_HOLE_BYTES: u64 = 64 << 20;
/// Length of a checksum (SHA-256), in bytes.
pub(crate) const CHECKSUM_BYTES: usize = 32;

/// A file that the receiver wants. The receiver may have the beginning of it already.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Want {
    #[n(0)]
    pub id: u64,
    /// Number of bytes that the receiver has already, and the checksum of these bytes.
    #[n(1)]
    pub from: u64,
    #[cbor(n(2), with = "minicbor::bytes")]
    pub sum: Vec<u8>,
}

/// The reason why a file is not copied.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Refusal {
    #[n(0)]
    pub id: u64,
    #[n(1)]
    pub why: String,
    /// The name of the file at the end that sends this refusal.
    #[cbor(n(2), with = "minicbor::bytes")]
    pub name: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub(crate) enum Word {
    /// From the sender, as the first message. `several`: several things are copied, so each gets its own
    /// name below the destination. `contents`: the contents of one directory are copied, without the
    /// directory's name.
    #[n(0)]
    Begin {
        #[n(0)]
        version: u32,
        #[n(1)]
        several: bool,
        #[n(2)]
        contents: bool,
    },
    /// From the sender: some entries of the list. A directory comes before its contents.
    #[n(1)]
    Entries(#[n(0)] Vec<DirectoryEntry>),
    /// From the sender: names of files that no longer exist.
    #[n(2)]
    Gone(#[n(0)] Vec<minicbor::bytes::ByteVec>),
    /// From the sender: the list has ended. `all` is true if the list has everything that exists at the
    /// sender.
    #[n(3)]
    Listed {
        #[n(0)]
        all: bool,
    },
    /// From the sender: a listed file is not sent after all. If the id is 0, the refusal is about something
    /// that was never listed.
    #[n(4)]
    Dropped(#[n(0)] Refusal),
    /// From the receiver: it has processed all entries up to the id `upto`. It wants the files in `wants`,
    /// and cannot write the things in `refused`.
    #[n(5)]
    Answer {
        #[n(0)]
        upto: u64,
        #[n(1)]
        wants: Vec<Want>,
        #[n(2)]
        refused: Vec<Refusal>,
    },
    /// From the receiver: a wanted file cannot be written. If the id is 0, another operation of the
    /// receiver has failed.
    #[n(6)]
    Refused(#[n(0)] Refusal),
    /// From the receiver: all files of a list are finished.
    #[n(7)]
    Done,
    /// From either end: the copy ends here, for this reason.
    #[n(8)]
    Stop {
        #[n(0)]
        why: String,
    },
    /// From the sender: the name of something that is not copied, such as a pipe.
    #[n(9)]
    LeftOut(#[n(0)] minicbor::bytes::ByteVec),
    /// From the receiver: the names of things that it has removed, or would remove in a dry run. `more`
    /// counts further removed things whose names are left out because there are too many.
    #[n(10)]
    Removed {
        #[n(0)]
        names: Vec<minicbor::bytes::ByteVec>,
        #[n(1)]
        more: u64,
    },
    /// From the receiver: the files with these ids are complete and have their final names.
    #[n(11)]
    Made(#[n(0)] Vec<u64>),
}

/// The first byte of a message: a word or a pack of pieces follows.
const TAG_MESSAGE: u8 = 0;
const TAG_PIECES: u8 = 1;

impl Word {
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![TAG_MESSAGE];
        minicbor::encode(self, &mut bytes).expect("memory takes all");
        bytes
    }
}

/// A message from the other end, decoded.
pub(crate) enum FileMessage<'a> {
    Word(Word),
    Pieces(Pieces<'a>),
}

pub(crate) fn read(message: &[u8]) -> Result<FileMessage<'_>, Fault> {
    match message.split_first() {
        Some((&TAG_MESSAGE, rest)) => {
            minicbor::decode(rest).map(FileMessage::Word).map_err(|error| misunderstood(&error))
        }
        Some((&TAG_PIECES, rest)) => Ok(FileMessage::Pieces(Pieces { rest })),
        _ => Err(misunderstood(&"a message of no known kind")),
    }
}

pub(crate) fn misunderstood(what: &dyn std::fmt::Display) -> Fault {
    fault!(COPY_MISUNDERSTOOD, "a message of the other end is not understood here: {what}")
}

/// Returns the reason that the other end gives for a refusal, as a fault. Control characters in the text
/// are replaced, because the other end may send any bytes.
pub(crate) fn heard(why: &str, otherwise: Code) -> Fault {
    Fault::heard(names::shown(why.as_bytes()), otherwise)
}

/// A piece of a file, or a statement about the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FilePiece<'a> {
    /// Bytes that follow the previous piece of the file.
    Bytes(&'a [u8]),
    /// A hole: this number of zeros follows. They take no disk space if the file system supports holes.
    Hole(u64),
    /// The receiver must discard the bytes that it has: these bytes are not the beginning of the file, or
    /// the file has changed. The file follows from its beginning.
    Anew,
    /// The file is complete. The fields are its checksum and its stamp.
    Whole([u8; CHECKSUM_BYTES], Stamp),
}

/// Length of the header of each piece, in bytes: the file's id (8), the kind of piece (1) and its length
/// (4).
const PIECE_HEADER_BYTES: usize = 8 + 1 + 4;
/// Length in bytes of the stamp that follows the checksum in a `Whole` piece.
const STAMP_BYTES: usize = 8 + 8 + 4 + 4;

/// A pack of pieces that is being filled.
pub(crate) struct Pack {
    bytes: Vec<u8>,
    /// Sum of the lengths of the holes in the pack, in bytes. A hole takes no bytes in the pack, but costs
    /// time at the receiver.
    holes: u64,
}

impl Pack {
    pub fn new() -> Pack {
        let mut bytes = Vec::with_capacity(2 * MAX_PACK_BYTES);
        bytes.push(TAG_PIECES);
        Pack { bytes, holes: 0 }
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.len() <= 1
    }

    /// Returns true if the pack must be sent: it has at least `most` bytes, or its holes are so long that
    /// their checksum takes time.
    pub fn is_full(&self, most: usize) -> bool {
        self.bytes.len() >= most || self.holes >= MAX_HOLE_BYTES
    }

    pub fn into_bytes(mut self) -> Vec<u8> {
        if 2 * self.bytes.len() < self.bytes.capacity() {
            self.bytes.shrink_to_fit();
        }
        self.bytes
    }

    fn head(&mut self, id: u64, kind: u8, length: usize) {
        self.bytes.extend_from_slice(&id.to_le_bytes());
        self.bytes.push(kind);
        self.bytes.extend_from_slice(&(length as u32).to_le_bytes());
    }

    /// Adds a piece of up to `most` bytes that `fill` reads, and returns these bytes. `fill` writes
    /// directly into the pack, so the bytes are not copied.
    pub fn bytes_of<E>(
        &mut self,
        id: u64,
        most: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<&[u8], E> {
        let begin = self.bytes.len();
        self.head(id, 0, 0);
        self.bytes.resize(begin + PIECE_HEADER_BYTES + most, 0);
        match fill(&mut self.bytes[begin + PIECE_HEADER_BYTES..]) {
            Ok(0) => {
                self.bytes.truncate(begin);
                Ok(&[])
            }
            Ok(length) => {
                self.bytes.truncate(begin + PIECE_HEADER_BYTES + length);
                self.bytes[begin + 9..begin + PIECE_HEADER_BYTES]
                    .copy_from_slice(&(length as u32).to_le_bytes());
                Ok(&self.bytes[begin + PIECE_HEADER_BYTES..])
            }
            Err(error) => {
                self.bytes.truncate(begin);
                Err(error)
            }
        }
    }

    pub fn hole(&mut self, id: u64, length: u64) {
        self.head(id, 1, 8);
        self.bytes.extend_from_slice(&length.to_le_bytes());
        self.holes += length;
    }

    pub fn anew(&mut self, id: u64) {
        self.head(id, 2, 0);
    }

    pub fn whole(&mut self, id: u64, sum: &[u8], stamp: &Stamp) {
        self.head(id, 3, CHECKSUM_BYTES + STAMP_BYTES);
        self.bytes.extend_from_slice(sum);
        self.bytes.extend_from_slice(&stamp.size.to_le_bytes());
        self.bytes.extend_from_slice(&stamp.seconds.to_le_bytes());
        self.bytes.extend_from_slice(&stamp.nanos.to_le_bytes());
        self.bytes.extend_from_slice(&stamp.mode.to_le_bytes());
    }
}

/// An iterator over the pieces of a received pack. Each item is the id of the file and the piece.
pub(crate) struct Pieces<'a> {
    rest: &'a [u8],
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

impl<'a> Pieces<'a> {
    fn piece(&mut self) -> Option<(u64, FilePiece<'a>)> {
        let id = u64::from_le_bytes(array(self.rest, 0)?);
        let kind = *self.rest.get(8)?;
        let length = u32::from_le_bytes(array(self.rest, 9)?) as usize;
        let body = self.rest.get(PIECE_HEADER_BYTES..)?.get(..length)?;
        self.rest = &self.rest[PIECE_HEADER_BYTES + length..];
        let piece = match (kind, length) {
            (0, 1..) => FilePiece::Bytes(body),
            (1, 8) => FilePiece::Hole(u64::from_le_bytes(array(body, 0)?)),
            (2, 0) => FilePiece::Anew,
            (3, _) if length == CHECKSUM_BYTES + STAMP_BYTES => FilePiece::Whole(
                array(body, 0)?,
                Stamp {
                    size: u64::from_le_bytes(array(body, CHECKSUM_BYTES)?),
                    seconds: i64::from_le_bytes(array(body, CHECKSUM_BYTES + 8)?),
                    nanos: u32::from_le_bytes(array(body, CHECKSUM_BYTES + 16)?),
                    mode: u32::from_le_bytes(array(body, CHECKSUM_BYTES + 20)?),
                },
            ),
            _ => return None,
        };
        Some((id, piece))
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Result<(u64, FilePiece<'a>), Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let piece = self.piece();
        if piece.is_none() {
            self.rest = &[];
        }
        Some(piece.ok_or_else(|| misunderstood(&"a piece of a file that is none")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pack_gives_back_its_pieces() {
        let stamp = Stamp { size: 7, seconds: -3, nanos: 5, mode: 0o640 };
        let mut pack = Pack::new();
        let put = |place: &mut [u8]| {
            place[..3].copy_from_slice(b"abc");
            Ok::<usize, ()>(3)
        };
        assert_eq!(pack.bytes_of(1, 100, put), Ok(&b"abc"[..]));
        pack.hole(1, 1 << 40);
        pack.anew(2);
        assert_eq!(pack.bytes_of(2, 10, |_| Ok::<usize, ()>(0)), Ok(&b""[..]));
        assert_eq!(pack.bytes_of(2, 10, |_| Err(())), Err(()));
        pack.whole(1, &[9; CHECKSUM_BYTES], &stamp);
        let bytes = pack.into_bytes();
        let Ok(FileMessage::Pieces(pieces)) = read(&bytes) else { panic!("these are pieces") };
        let pieces: Vec<_> = pieces.map(Result::unwrap).collect();
        let expected = [
            (1, FilePiece::Bytes(b"abc")),
            (1, FilePiece::Hole(1 << 40)),
            (2, FilePiece::Anew),
            (1, FilePiece::Whole([9; CHECKSUM_BYTES], stamp)),
        ];
        assert_eq!(pieces, expected);
    }

    #[test]
    fn half_a_pack_is_an_error_and_ends() {
        let mut pack = Pack::new();
        pack.hole(1, 3);
        let bytes = pack.into_bytes();
        for length in 2..bytes.len() {
            let Ok(FileMessage::Pieces(pieces)) = read(&bytes[..length]) else { panic!("these are pieces") };
            assert!(pieces.map(|piece| piece.is_err()).eq([true]), "{length}");
        }
        assert!(read(&[]).is_err() && read(&[7]).is_err() && read(&[TAG_MESSAGE, 0xff]).is_err());
    }

    #[test]
    fn a_word_comes_as_it_was_sent() {
        let word = Word::Answer {
            upto: 3,
            wants: vec![Want { id: 1, from: 9, sum: vec![1; CHECKSUM_BYTES] }],
            refused: vec![Refusal { id: 2, why: "no".into(), name: b"a".to_vec() }],
        };
        let bytes = word.to_bytes();
        let Ok(FileMessage::Word(read)) = read(&bytes) else { panic!("this is a word") };
        assert_eq!(read, word);
    }
}
