//! The entry of a file, a directory or a link in a list. It is sent before the bytes of the file.

use minicbor::{Decode, Encode};
use rustix::fs::{FileType, Stat, Timespec, Timestamps};

/// The bits of a mode that are copied. The set-user-ID and set-group-ID bits are not.
const MODES: u32 = 0o777;

/// The kind of thing that an entry describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub(crate) enum EntryKind {
    #[n(0)]
    Directory,
    #[n(1)]
    File,
    #[n(2)]
    Link,
    /// A file that exists and will be listed again when no process writes it any more.
    #[n(3)]
    Later,
}

/// The size, time and mode of a file. Two files with the same size and time are taken to be the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Stamp {
    /// Size of the file, in bytes; 0 for anything that is not a file.
    #[n(0)]
    pub size: u64,
    /// Time of the last change: seconds since 1970, and nanoseconds.
    #[n(1)]
    pub seconds: i64,
    #[n(2)]
    pub nanos: u32,
    #[n(3)]
    pub mode: u32,
}

impl Stamp {
    pub fn of(stat: &Stat) -> Stamp {
        let is_file = FileType::from_raw_mode(stat.st_mode).is_file();
        Stamp {
            size: if is_file { stat.st_size as u64 } else { 0 },
            seconds: stat.st_mtime,
            nanos: stat.st_mtime_nsec as u32,
            mode: stat.st_mode & MODES,
        }
    }

    /// Returns true if size and time of the receiver's file match, so that the file need not be read. Some
    /// file systems store whole seconds only, so a time with 0 nanoseconds matches, too.
    pub fn is_same_as(&self, there: &Stamp) -> bool {
        let nanos = self.nanos == there.nanos || there.nanos == 0;
        self.size == there.size && self.seconds == there.seconds && nanos
    }

    pub fn mode(&self) -> rustix::fs::Mode {
        rustix::fs::Mode::from_raw_mode(self.mode & MODES)
    }

    pub fn times(&self) -> Timestamps {
        let time = Timespec { tv_sec: self.seconds, tv_nsec: self.nanos.min(999_999_999).into() };
        Timestamps {
            last_access: Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT },
            last_modification: time,
        }
    }
}

/// An entry of the list: one file, directory or link of the copied tree.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub(crate) struct DirectoryEntry {
    /// The id of the entry. Each id is larger than the one before it.
    #[n(0)]
    pub id: u64,
    #[n(1)]
    pub kind: EntryKind,
    #[cbor(n(2), with = "minicbor::bytes")]
    pub name: Vec<u8>,
    #[n(3)]
    pub stamp: Stamp,
    /// The target of a link; empty for everything else.
    #[cbor(n(4), with = "minicbor::bytes")]
    pub target: Vec<u8>,
}
