//! The entry of a file, a directory or a link, which comes before its bytes.

use minicbor::{Decode, Encode};
use rustix::fs::{FileType, Stat, Timespec, Timestamps};

/// The bits of a mode that are copied: neither set-user-ID nor set-group-ID.
const MODES: u32 = 0o777;

/// The kind of the entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub(crate) enum EntryKind {
    #[n(0)]
    Directory,
    #[n(1)]
    File,
    #[n(2)]
    Link,
    /// A file that is there and comes later, when nobody writes it any more.
    #[n(3)]
    Later,
}

/// The stamp of a file: if it looks so again, it is taken to be the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Stamp {
    /// Bytes; 0 of what is no file.
    #[n(0)]
    pub size: u64,
    /// When it was changed last (s since 1970, and ns).
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

    /// Returns true if a file there is this one, as far as can be told without reading it. Some file systems
    /// keep whole seconds.
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

/// Something in the tree that is copied.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub(crate) struct DirectoryEntry {
    /// Its number; they grow.
    #[n(0)]
    pub id: u64,
    #[n(1)]
    pub kind: EntryKind,
    #[cbor(n(2), with = "minicbor::bytes")]
    pub name: Vec<u8>,
    #[n(3)]
    pub stamp: Stamp,
    /// The target of a link; empty of all else.
    #[cbor(n(4), with = "minicbor::bytes")]
    pub target: Vec<u8>,
}
