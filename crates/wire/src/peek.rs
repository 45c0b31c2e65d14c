//! The files of a running instance, as answers to clients and reports between domains show them.

use minicbor::{Decode, Encode};

/// The content of a path.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum Sight {
    /// A directory: its entries, sorted by name.
    #[n(0)]
    Directory(#[n(0)] Vec<Entry>),
    /// A file, and its bytes from `offset` on. Their number is the requested one, or less at the end of the
    /// file.
    #[n(1)]
    File {
        /// Offset of the first byte of this answer. It is greater than the requested offset if the bytes
        /// there were removed from an output that had grown too large.
        #[n(0)]
        offset: u64,
        #[cbor(n(1), with = "minicbor::bytes")]
        bytes: Vec<u8>,
        /// Present length of the file, in bytes.
        #[n(2)]
        size: u64,
        /// Number of the file. If it differs from that of an earlier answer, another file has taken the place
        /// of the file.
        #[n(3)]
        identity: u64,
    },
    /// Nothing can be shown. The text is the reason.
    #[n(2)]
    Nothing(#[n(0)] String),
}

/// An entry of a directory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct Entry {
    #[n(0)]
    pub name: String,
    #[n(1)]
    pub directory: bool,
    #[n(2)]
    pub bytes: u64,
    /// Time since the last write to the file, in s.
    #[n(3)]
    pub age: u64,
}

/// Maximum number of bytes of a file in one answer.
pub const MAX_ANSWER_BYTES: u32 = 256 << 10;
/// Maximum number of entries of a directory in one answer.
pub const MAX_DIRECTORY_ENTRIES: usize = 10_000;
