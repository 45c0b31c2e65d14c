//! The protocol between sender and receiver. A message is a word, in CBOR, or a pack of pieces of files.
//!
//! The sender begins (`Begin`), lists what there is (`Entries`) and says where the list ends (`Listed`). The
//! receiver answers each list with what it lacks (`Answer`), gets packs of it, and says when all of a list is
//! done (`Done`). The sender never waits for an answer to go on listing, so that many small files take as long
//! as one large one.

use crate::entry::{DirectoryEntry, Stamp};
use crate::names;
use ligament_catalogue::{fault, Code, Fault};
use minicbor::{Decode, Encode};

/// The version of all this.
pub(crate) const VERSION: u32 = 3;
/// When a pack is full (bytes), and the longest piece in it.
pub(crate) const MAX_PACK_BYTES: usize = 1 << 20;
/// The longest hole that is sent at once, and how many bytes of holes make a pack (bytes): a checksum over them
/// takes a while, and the receiver may be gone.
pub(crate) const MAX_HOLE_BYTES: u64 = 64 << 20;
/// The bytes of a checksum (SHA-256).
pub(crate) const CHECKSUM_BYTES: usize = 32;

/// A file that the receiver lacks, or of which it has the beginning.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Want {
    #[n(0)]
    pub id: u64,
    /// How much is there already (bytes), and its checksum.
    #[n(1)]
    pub from: u64,
    #[cbor(n(2), with = "minicbor::bytes")]
    pub sum: Vec<u8>,
}

/// Why a file is not copied.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Refusal {
    #[n(0)]
    pub id: u64,
    #[n(1)]
    pub why: String,
    /// The name at the end that says this.
    #[cbor(n(2), with = "minicbor::bytes")]
    pub name: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub(crate) enum Word {
    /// From the sender, first: several things are copied, so that each gets its own name below the place; or
    /// the contents of one directory, without its name.
    #[n(0)]
    Begin {
        #[n(0)]
        version: u32,
        #[n(1)]
        several: bool,
        #[n(2)]
        contents: bool,
    },
    /// From the sender: some of what there is. A directory comes before what is in it.
    #[n(1)]
    Entries(#[n(0)] Vec<DirectoryEntry>),
    /// From the sender: names that are no more.
    #[n(2)]
    Gone(#[n(0)] Vec<minicbor::bytes::ByteVec>),
    /// From the sender: a list ends; whether it was of all that there is.
    #[n(3)]
    Listed {
        #[n(0)]
        all: bool,
    },
    /// From the sender: a file does not come after all, or, by the number 0, something was never listed.
    #[n(4)]
    Dropped(#[n(0)] Refusal),
    /// From the receiver: all entries up to this one are looked at; these are wanted, and those cannot be had.
    #[n(5)]
    Answer {
        #[n(0)]
        upto: u64,
        #[n(1)]
        wants: Vec<Want>,
        #[n(2)]
        refused: Vec<Refusal>,
    },
    /// From the receiver: a file that was wanted cannot be written, or, by the number 0, something else cannot
    /// be done.
    #[n(6)]
    Refused(#[n(0)] Refusal),
    /// From the receiver: all of a list is done.
    #[n(7)]
    Done,
    /// From either: it ends here.
    #[n(8)]
    Stop {
        #[n(0)]
        why: String,
    },
    /// From the sender: the name of something that is left out, such as a pipe.
    #[n(9)]
    LeftOut(#[n(0)] minicbor::bytes::ByteVec),
    /// From the receiver: what it has removed, or would, and how many more things, whose names would be too
    /// many.
    #[n(10)]
    Removed {
        #[n(0)]
        names: Vec<minicbor::bytes::ByteVec>,
        #[n(1)]
        more: u64,
    },
    /// From the receiver: these files are there, whole and under their names.
    #[n(11)]
    Made(#[n(0)] Vec<u64>),
}

/// The kind of a message: its first byte.
const TAG_MESSAGE: u8 = 0;
const TAG_PIECES: u8 = 1;

impl Word {
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![TAG_MESSAGE];
        minicbor::encode(self, &mut bytes).expect("memory takes all");
        bytes
    }
}

/// A message that came.
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

/// Why the other end does not do something, in its words, made fit to show: it may say anything.
pub(crate) fn heard(why: &str, otherwise: Code) -> Fault {
    Fault::heard(names::shown(why.as_bytes()), otherwise)
}

/// A piece of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FilePiece<'a> {
    /// Bytes that follow those before.
    Bytes(&'a [u8]),
    /// As many zeros, which take no room where the file system can leave them out.
    Hole(u64),
    /// The part that was there is not the beginning of this file, or the file has changed: it begins anew.
    Anew,
    /// It is whole: its checksum, and what it looks like.
    Whole([u8; CHECKSUM_BYTES], Stamp),
}

/// The bytes before each piece: the file's number, the kind of piece, its length.
const PIECE_HEADER_BYTES: usize = 8 + 1 + 4;
/// The bytes of a stamp, which follow a checksum.
const STAMP_BYTES: usize = 8 + 8 + 4 + 4;

/// A pack while it is filled.
pub(crate) struct Pack {
    bytes: Vec<u8>,
    /// Of holes, which take no bytes here, but time at the other end.
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

    /// Returns true if it is to be sent: it has so many bytes, or a checksum over its holes takes a while.
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

    /// Adds up to so many bytes that `fill` reads; how many they were. The place is made once and not copied.
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

/// The pieces of a pack that came, one after the other: of which file each is.
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
