//! What can be wrong with a message: one enum, whose messages say what is wrong and where.

use std::fmt;

/// A message that cannot be written or read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WireError {
    /// Fewer bytes than a header has.
    HeaderShort {
        /// How many there were.
        found: usize,
    },
    /// The header's version is not ours.
    Version {
        /// The version in the header.
        found: u8,
    },
    /// The header's kind is unknown and not marked as skippable.
    Kind {
        /// The kind in the header.
        found: u8,
    },
    /// The header has flags that version 1 does not know.
    Flags {
        /// The unknown bits.
        found: u16,
    },
    /// The body's lengths do not fit together.
    Layout {
        /// What is wrong, with the values.
        what: String,
    },
    /// The tree is wrong.
    Tree {
        /// Byte offset in the tree.
        at: usize,
        /// What is wrong there.
        what: String,
    },
    /// An array's description does not fit its bytes or the format.
    Array {
        /// What is wrong, with the values.
        what: String,
    },
    /// Lists, maps and settings are nested too deep.
    TooDeep {
        /// The deepest nesting that is allowed.
        limit: usize,
    },
    /// More parts than the header can count.
    TooManyParts {
        /// The number that is allowed.
        limit: usize,
    },
    /// More items in the tree than the reader allows.
    TooManyItems {
        /// The number that is allowed.
        limit: u64,
    },
    /// The body would be longer than the header can say, or than the reader allows.
    TooLong {
        /// What is too long.
        what: &'static str,
        /// Its length in bytes.
        found: u64,
        /// The length that is allowed.
        limit: u64,
    },
}

impl WireError {
    pub(crate) fn layout(what: impl Into<String>) -> WireError {
        WireError::Layout { what: what.into() }
    }

    pub(crate) fn array(what: impl Into<String>) -> WireError {
        WireError::Array { what: what.into() }
    }

    pub(crate) fn tree(at: usize, what: impl Into<String>) -> WireError {
        WireError::Tree { at, what: what.into() }
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WireError::HeaderShort { found } => {
                write!(f, "message header: {found} bytes where 64 are needed; the message is cut short")
            }
            WireError::Version { found } => write!(
                f,
                "message header: format version {found}, but this reader knows version {}; use the same Ligament \
                 release on both sides",
                crate::VERSION
            ),
            WireError::Kind { found } => write!(
                f,
                "message header: unknown message kind {found}; use the same Ligament release on both sides"
            ),
            WireError::Flags { found } => write!(
                f,
                "message header: unknown flags {found:#06x}; use the same Ligament release on both sides"
            ),
            WireError::Layout { what } => write!(f, "message body: {what}"),
            WireError::Tree { at, what } => write!(f, "message tree, byte {at}: {what}"),
            WireError::Array { what } => write!(f, "array: {what}"),
            WireError::TooDeep { limit } => {
                write!(f, "message tree: more than {limit} lists and maps inside each other; flatten the value")
            }
            WireError::TooManyParts { limit } => write!(
                f,
                "message: more than {limit} arrays and long byte strings; put them together into fewer arrays"
            ),
            WireError::TooManyItems { limit } => write!(
                f,
                "message tree: more than {limit} items; send an array instead of a list, or raise the limit"
            ),
            WireError::TooLong { what, found, limit } => {
                write!(f, "message: {what} of {found} bytes is over the limit of {limit} bytes")
            }
        }
    }
}

impl std::error::Error for WireError {}
