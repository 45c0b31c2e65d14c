//! Exchanges: conduits that lead from all ranks of one component to all ranks of another. The section
//! `exchange` under `ligament:` names them.

use std::fmt::{self, Display};

/// The number of elements that a distributed array may have: as many as a signed 64-bit index can count.
pub const MAX_ARRAY_ELEMENTS: u64 = i64::MAX as u64;
/// The number of dimensions that a distributed array may have.
pub const MAX_ARRAY_DIMENSIONS: usize = 8;

/// What travels on a conduit from all ranks to all ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exchange {
    /// Every message of a rank goes to every rank of the receiver.
    Messages,
    /// An array of this shape. Each rank has a part of it, which its code declares.
    Array(Vec<u64>),
}

impl Exchange {
    /// The keys of an entry in a file.
    pub const KEYS: &'static [&'static str] = &["messages", "array"];
}

impl Display for Exchange {
    /// Writes the entry as a file has it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exchange::Messages => f.write_str("{messages: all}"),
            Exchange::Array(shape) => {
                let shape: Vec<String> = shape.iter().map(u64::to_string).collect();
                write!(f, "{{array: [{}]}}", shape.join(", "))
            }
        }
    }
}
