//! Files that go from one domain to another: inputs before instances start, what instances wrote at the end,
//! and what somebody wants to see meanwhile. The same parts in all directions; a file is one only with its last
//! part.

use super::MAX_PIECE;
use crate::number::InstanceId;
use crate::peek::Sight;
use ligament_catalogue::{fault, Fault};
use minicbor::{Decode, Encode};
use std::path::{Component, Path};

/// A file that instances find when they start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct Input {
    /// The path of the user's file at the head, in full: a program that is called by this path is the staged
    /// one.
    #[n(0)]
    pub source: String,
    /// Below the directory of the inputs.
    #[n(1)]
    pub name: String,
    #[n(2)]
    pub bytes: u64,
    /// Permissions; nobody may write it.
    #[n(3)]
    pub mode: u32,
}

/// That a process finds an input.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct InputOfProcess {
    /// The first of the instances of the process.
    #[n(0)]
    pub instance: InstanceId,
    /// Which of the inputs.
    #[n(1)]
    pub input: u32,
    /// Below the working directory.
    #[n(2)]
    pub name: String,
}

/// A part of a file; those of one come in order, and before those of the next.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct FilePart {
    #[n(0)]
    pub offset: u64,
    #[cbor(n(1), with = "minicbor::bytes")]
    pub bytes: Vec<u8>,
    /// How long the file was when it began to go, bytes: so much room is needed.
    #[n(2)]
    pub size: u64,
    /// With the last part.
    #[n(3)]
    pub whole: Option<FileSummary>,
}

/// The summary of a file that came in parts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct FileSummary {
    /// SHA-256 of all its bytes.
    #[cbor(n(0), with = "minicbor::bytes")]
    pub sha256: [u8; 32],
    /// Permissions.
    #[n(1)]
    pub mode: u32,
}

/// A part of what an instance wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct OutputPart {
    /// Whose it is.
    #[n(0)]
    pub instance: InstanceId,
    /// Below the directory of the instance's process, such as `output.log` or `workdir/result.csv`.
    #[n(1)]
    pub path: String,
    #[n(2)]
    pub part: FilePart,
}

/// A file of an instance that somebody wants to see, from `offset` on at most so many bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct Look {
    /// Comes back with the answer.
    #[n(0)]
    pub ticket: u64,
    #[n(1)]
    pub instance: InstanceId,
    /// Below the directory of the instance's process.
    #[n(2)]
    pub path: String,
    #[n(3)]
    pub offset: u64,
    #[n(4)]
    pub most: u32,
}

/// The content of a path.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct PeekReply {
    #[n(0)]
    pub ticket: u64,
    #[n(1)]
    pub sight: Sight,
}

/// Returns true if a path leads to something below where it begins.
pub(super) fn leads_below(path: &str) -> bool {
    let plain = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    plain && !path.is_empty() && path.len() <= 4096 && !path.contains('\0')
}

impl FilePart {
    /// Returns true if it can be meant.
    ///
    /// # Errors
    /// The message is impossible.
    pub(super) fn check(&self) -> Result<(), Fault> {
        if self.bytes.len() > MAX_PIECE || self.offset.checked_add(MAX_PIECE as u64).is_none() {
            return Err(fault!(DOMAIN_SENDS_NONSENSE, "it sends {} bytes of a file at once", self.bytes.len()));
        }
        Ok(())
    }
}
