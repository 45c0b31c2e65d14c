//! The records of a checkpoint file, and of a recording. A file begins with [`FILE_MAGIC`] and the version.
//! Each record has a tag of 8 bytes (its kind, three zeros, a number), the 64-byte header of a message, the
//! message's body, and the CRC-32C (RFC 3720, appendix B.4) of all of these. Zeros fill it up to a multiple of
//! 8 bytes. All numbers are little-endian. The first record is the information about the file, and the last one
//! is its end, so that a file that was cut short is noticed.

use ligament_catalogue::{fault, Fault};
use ligament_wire::steering::ModelTime;
use ligament_wire::{Bytes, Header, HEADER_BYTES};
use minicbor::{Decode, Encode};

/// The first bytes of a checkpoint file.
pub(crate) const FILE_MAGIC: [u8; 8] = *b"LIGCHKPT";
/// The first bytes of a recording.
pub(crate) const RECORDING_MAGIC: [u8; 8] = *b"LIGRECRD";
/// The version of the format.
pub(crate) const FILE_VERSION: u32 = 1;
/// Length of the bytes before the first record.
pub(crate) const PREAMBLE_BYTES: usize = 16;
/// Length of a record's tag and header.
pub(crate) const RECORD_HEAD_BYTES: usize = 8 + HEADER_BYTES;
/// A record's length is a multiple of this number of bytes.
pub(crate) const RECORD_ALIGNMENT_BYTES: u64 = 8;

/// The kind of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordKind {
    /// Information about the file: its body is a [`FileInfo`] in CBOR.
    Info = 1,
    /// The state that the code has handed over.
    State = 2,
    /// An overlay of settings that messages under way refer to. The record's number is the channel's.
    Overlay = 4,
    /// A message that was under way. The record's number is the channel's.
    UnderWay = 5,
    /// The state of the library beside the code's.
    Library = 3,
    /// The receiving channels: which they are, and how many messages are dropped on each.
    Channels = 6,
    /// The end of the file. The record's number is the number of records before it.
    End = 7,
    /// In a recording: a message that the instance has sent. The record's number is the first channel's.
    Sent = 8,
    /// In a recording: a message that the instance has taken. The record's number is the channel's.
    Taken = 9,
    /// In a recording: another call, with its answer. The record's number is the channel's, or 0.
    Call = 10,
}

impl RecordKind {
    pub(crate) fn of(code: u8) -> Option<RecordKind> {
        use RecordKind::{Call, Channels, End, Info, Library, Overlay, Sent, State, Taken, UnderWay};
        let all = [Info, State, Library, UnderWay, Overlay, Channels, End, Sent, Taken, Call];
        all.into_iter().find(|&kind| kind as u8 == code)
    }
}

/// The moment in an instance's reuse loop at which its state was saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum SavePoint {
    /// Within a pass.
    #[n(0)]
    WithinPass,
    /// Between two passes.
    #[n(1)]
    BetweenPasses,
    /// The instance had ended.
    #[n(2)]
    Over,
}

/// Information about a checkpoint file.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct FileInfo {
    /// The instance, with its rank if its ranks speak for themselves, as in `micro[3]` or `flow:2`.
    #[n(0)]
    pub instance: String,
    /// The run that has saved the file.
    #[n(1)]
    pub run: String,
    /// The moment of the checkpoint: a model time, s; infinite at the end of the run.
    #[n(2)]
    pub moment: ModelTime,
    #[n(3)]
    pub point: SavePoint,
}

/// A record with a message.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageRecord {
    pub kind: RecordKind,
    /// The number in the record's tag.
    pub number: u32,
    pub header: Header,
    pub body: Bytes,
}

/// Suffix of the directory, beside an instance's file, with the code's own files.
pub const FILES_SUFFIX: &str = "files";

/// Returns the name of an instance's file, such as `micro-3.checkpoint` for `micro[3]`. MUSCLE 3 names its
/// files in this way, since brackets mean something to shells.
pub fn file_name(instance: &str) -> String {
    format!("{}.checkpoint", instance.replace('[', "-").replace(']', "").replace(':', "-r"))
}

/// Returns the name of the recording of an instance, such as `micro-3.recording`.
pub fn recording_name(instance: &str) -> String {
    file_name(instance).replace(".checkpoint", ".recording")
}

/// Returns the name of the directory for the files of one moment that are not all there yet.
pub fn moment_directory(moment: f64) -> String {
    format!("{:016x}", moment.to_bits())
}

/// Returns the number of zeros after a record with a body of `body_len` bytes.
pub(crate) fn padding(body_len: u64) -> usize {
    let len = RECORD_HEAD_BYTES as u64 + body_len + 4;
    (len.next_multiple_of(RECORD_ALIGNMENT_BYTES) - len) as usize
}

pub(crate) fn unreadable(file: &str, why: impl std::fmt::Display) -> Fault {
    fault!(CHECKPOINT_UNREADABLE, "the checkpoint file {file} cannot be used: {why}")
}

pub(crate) fn unreadable_recording(file: &str, why: impl std::fmt::Display) -> Fault {
    fault!(REPLAY_UNUSABLE, "the recording {file} cannot be used: {why}")
}
