//! The bytes of a message: header, value tree and array parts; and the messages of the control protocols. A
//! message has the same bytes in shared memory, on a socket and in a file. `docs/reference/message.md`
//! describes the format. This crate does no I/O, and only `sys` has `unsafe` code.
#![deny(unsafe_code)]

mod borrow;
pub mod control;
mod decode;
pub mod domains;
mod encode;
mod error;
mod exit;
pub mod fields;
mod gather;
mod header;
mod layout;
mod number;
mod parts;
pub mod peek;
pub mod status;
pub mod steering;
#[allow(unsafe_code)]
mod sys;
pub mod tap;
pub mod timeline;
pub mod times;
mod tree;
mod value;

pub use borrow::{ArrayRef, ValueRef};
pub use decode::{decode, decode_array_to, decode_body, Limits};
pub use encode::{array_head, Encoder, EncodingPlan};
pub use error::WireError;
pub use exit::{describe_signal, Exit};
pub use header::{flags, ConduitEnd, Header, HeaderWords, MessageKind, HEADER_BYTES, VERSION};
pub use layout::{align_part, head_len, MAX_BODY, PART_ALIGNMENT_BYTES};
pub use number::{rank_name, rank_parts, DomainId, EndpointId, InstanceId, RankId, Ranks};
pub use sys::{Bytes, Keeper};
pub use value::{Array, ArrayKind, ArrayMeta, ArrayOrder, DType, Element, SettingValue, Value, MAX_DIMS};

/// Maximum number of lists, maps and settings around one value.
pub const MAX_DEPTH: usize = 64;

/// Tree tag of a complex number: `[re, im]`.
pub const TAG_COMPLEX: u64 = 43000;
/// Tree tag of an array whose elements are in a part: `[type, part, order, [shape…]]` and perhaps a map.
pub const TAG_ARRAY: u64 = 27500;
/// Tree tag of bytes that are in a part: the part's number.
pub const TAG_BYTES: u64 = 27501;
/// Tree tag of settings: a map from name to setting value.
pub const TAG_SETTINGS: u64 = 27502;

/// Minimum length of a byte string that is sent in a part, in bytes. A shorter one is written in the tree.
pub const MIN_PART_BYTES: usize = 64;
