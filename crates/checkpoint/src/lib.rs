//! The state of an instance at a checkpoint: the moments of checkpoints (`moments`), and the file of an
//! instance (`write`, `read`). The file has messages as they are on the wire, each with a checksum. A recording
//! (`recording`) is such a file with all that passed between an instance and its run.
#![deny(unsafe_code)]

mod moments;
mod read;
mod record;
mod recording;
mod write;

pub use moments::Moments;
pub use read::{read_file, read_info, CheckpointFile};
pub use record::{
    file_name, moment_directory, recording_name, FileInfo, MessageRecord, RecordKind, SavePoint, FILES_SUFFIX,
};
pub use recording::{
    CallFailure, RecordedCall, Recording, RecordingInfo, RecordingItem, RecordingReader, RecordingWriter,
};
pub use write::CheckpointWriter;
