//! Files that are sent from one domain to another: inputs before instances start, outputs after instances
//! have ended, files of checkpoints when they are saved and resumed, and files that a client wants to see
//! during the run. All but the last have the same kind of parts. A file is complete only with its last part.

use super::MAX_PIECE;
use crate::number::{InstanceId, RankId};
use crate::peek::Sight;
use crate::steering::ModelTime;
use ligament_catalogue::{fault, Fault};
use minicbor::{Decode, Encode};
use std::path::{Component, Path};

/// A file that is copied to processes before their instances start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct Input {
    /// The full path of the user's file at the head. If a program is called by this path, the staged copy
    /// of the program is started.
    #[n(0)]
    pub source: String,
    /// Path of the file below the directory of the inputs.
    #[n(1)]
    pub name: String,
    #[n(2)]
    pub bytes: u64,
    /// Permissions of the file. They allow no one to write to the file.
    #[n(3)]
    pub mode: u32,
}

/// An input that is copied to the working directory of a process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct InputOfProcess {
    /// The first instance of the process.
    #[n(0)]
    pub instance: InstanceId,
    /// The number of the input.
    #[n(1)]
    pub input: u32,
    /// Path of the copy below the working directory of the process.
    #[n(2)]
    pub name: String,
}

/// A file of the checkpoint from which a rank resumes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct ResumeFile {
    #[n(0)]
    pub rank: RankId,
    /// Path below the directory of files that the code has kept. `None` for the rank's checkpoint file.
    #[n(1)]
    pub path: Option<String>,
    #[n(2)]
    pub bytes: u64,
}

/// A part of a file that a rank has saved for a checkpoint.
#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub struct CheckpointPart {
    #[n(0)]
    pub rank: RankId,
    /// The moment of the checkpoint, a model time in s.
    #[n(1)]
    pub moment: ModelTime,
    /// Path below the directory of files that the code keeps. `None` for the rank's checkpoint file, which is
    /// the last of the rank's files for this moment.
    #[n(2)]
    pub path: Option<String>,
    #[n(3)]
    pub part: FilePart,
}

/// A part of a file. The parts of a file are sent in order, and before the parts of the next file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct FilePart {
    #[n(0)]
    pub offset: u64,
    #[cbor(n(1), with = "minicbor::bytes")]
    pub bytes: Vec<u8>,
    /// Length of the file when its first part was sent, in bytes. The receiver needs this much disk space.
    #[n(2)]
    pub size: u64,
    /// The summary of the whole file. Only the last part has it.
    #[n(3)]
    pub whole: Option<FileSummary>,
}

/// The summary of a file that was sent in parts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct FileSummary {
    /// SHA-256 of all bytes of the file.
    #[cbor(n(0), with = "minicbor::bytes")]
    pub sha256: [u8; 32],
    /// Permissions of the file.
    #[n(1)]
    pub mode: u32,
}

/// A part of a file that an instance wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct OutputPart {
    /// The instance that wrote the file.
    #[n(0)]
    pub instance: InstanceId,
    /// Path of the file below the directory of the instance's process, such as `output.log` or
    /// `workdir/result.csv`.
    #[n(1)]
    pub path: String,
    #[n(2)]
    pub part: FilePart,
}

/// A request for the content of a file of an instance: at most `most` bytes, from byte `offset` on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct Look {
    /// The number of the request. The answer has the same number.
    #[n(0)]
    pub ticket: u64,
    #[n(1)]
    pub instance: InstanceId,
    /// Path of the file below the directory of the instance's process.
    #[n(2)]
    pub path: String,
    #[n(3)]
    pub offset: u64,
    #[n(4)]
    pub most: u32,
}

/// The answer to `Look`: the content of the path.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct PeekReply {
    #[n(0)]
    pub ticket: u64,
    #[n(1)]
    pub sight: Sight,
}

/// Returns true if a relative path leads to a place below the directory at which it begins. Example: `a/b`,
/// but not `../b`.
pub(super) fn leads_below(path: &str) -> bool {
    let plain = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    plain && !path.is_empty() && path.len() <= 4096 && !path.contains('\0')
}

impl FilePart {
    /// Checks the part.
    ///
    /// # Errors
    /// Fails if the part is impossible: it has too many bytes, or its offset is too large.
    pub(super) fn check(&self) -> Result<(), Fault> {
        if self.bytes.len() > MAX_PIECE || self.offset.checked_add(MAX_PIECE as u64).is_none() {
            return Err(fault!(DOMAIN_SENDS_NONSENSE, "it sends {} bytes of a file at once", self.bytes.len()));
        }
        Ok(())
    }
}
