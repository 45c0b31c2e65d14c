//! The visible part of the files of an instance that runs: in answers to clients, and between domains.

use minicbor::{Decode, Encode};

/// The content of a path.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum Sight {
    /// A directory; its entries by name.
    #[n(0)]
    Directory(#[n(0)] Vec<Entry>),
    /// A file, and of its bytes those from `offset` on; as many as were asked for, if there are so many.
    #[n(1)]
    File {
        /// Not before what was asked for: what was taken out of an output, so that it does not grow for ever,
        /// is left out.
        #[n(0)]
        offset: u64,
        #[cbor(n(1), with = "minicbor::bytes")]
        bytes: Vec<u8>,
        /// How long it is now.
        #[n(2)]
        size: u64,
        /// Another number: another file has taken its place.
        #[n(3)]
        identity: u64,
    },
    /// Nothing, and why.
    #[n(2)]
    Nothing(#[n(0)] String),
}

/// The content of a directory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct Entry {
    #[n(0)]
    pub name: String,
    #[n(1)]
    pub directory: bool,
    #[n(2)]
    pub bytes: u64,
    /// Since it was written last, s.
    #[n(3)]
    pub age: u64,
}

/// Most bytes of a file in one answer.
pub const MAX_ANSWER_BYTES: u32 = 256 << 10;
/// Most entries of a directory in one answer.
pub const MAX_DIRECTORY_ENTRIES: usize = 10_000;
