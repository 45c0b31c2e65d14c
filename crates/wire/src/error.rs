//! The errors of writing and reading a message: one enum, whose texts name the problem and its place.

use ligament_catalogue::errors;

errors! {
    /// A message that cannot be written or read.
    #[derive(Eq)]
    #[non_exhaustive]
    pub enum WireError {
        /// Fewer bytes than a header has.
        HeaderShort {
            /// Their number.
            found: usize,
        } => MALFORMED_DATA, "message header: {found} bytes where 64 are needed; the message is cut short";
        /// The header's version is not ours.
        Version {
            /// The version in the header.
            found: u8,
        } => MALFORMED_DATA,
            "message header: format version {found}, but this reader knows version {}; use the same Ligament \
             release on both sides",
            crate::VERSION;
        /// The header's kind is unknown and not marked as skippable.
        Kind {
            /// The kind in the header.
            found: u8,
        } => MALFORMED_DATA,
            "message header: unknown message kind {found}; use the same Ligament release on both sides";
        /// The header has flags that version 1 does not know.
        Flags {
            /// The unknown bits.
            found: u16,
        } => MALFORMED_DATA, "message header: unknown flags {found:#06x}; use the same Ligament release on \
                              both sides";
        /// The body's lengths do not fit together.
        Layout {
            /// The problem, with the values.
            what: String,
        } => MALFORMED_DATA, "message body: {what}";
        /// The tree is wrong.
        Tree {
            /// Byte offset in the tree.
            at: usize,
            /// The problem.
            what: String,
        } => MALFORMED_DATA, "message tree, byte {at}: {what}";
        /// An array's description does not fit its bytes or the format.
        Array {
            /// The problem, with the values.
            what: String,
        } => UNFIT_ARRAY, "array: {what}";
        /// Lists, maps and settings are nested too deep.
        TooDeep {
            /// The deepest nesting that is allowed.
            limit: usize,
        } => TOO_DEEP_OR_MANY,
            "message tree: more than {limit} lists and maps inside each other; flatten the value";
        /// More parts than the header can count.
        TooManyParts {
            /// The number that is allowed.
            limit: usize,
        } => TOO_DEEP_OR_MANY,
            "message: more than {limit} arrays and long byte strings; put them together into fewer arrays";
        /// More items in the tree than the reader allows.
        TooManyItems {
            /// The number that is allowed.
            limit: u64,
        } => TOO_DEEP_OR_MANY,
            "message tree: more than {limit} items; send an array instead of a list, or raise the limit";
        /// The body would be longer than the header can say, or than the reader allows.
        TooLong {
            /// The part that is too long.
            what: &'static str,
            /// Its length in bytes.
            found: u64,
            /// The length that is allowed.
            limit: u64,
        } => TOO_DEEP_OR_MANY, "message: {what} of {found} bytes is over the limit of {limit} bytes";
    }
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
