//! A file while it is being sent. The file is read from beginning to end with a running checksum, and holes
//! are sent as holes. If the file changes meanwhile, the sender does not report it as complete.

use crate::entry::Stamp;
use crate::partial::{add_zeros, sum_of, PartialFileError};
use crate::protocol::{Pack, Want, MAX_HOLE_BYTES};
use crate::scan::ListedFile;
use crate::tally::CopyTally;
use ring::digest::{Context, SHA256};
use rustix::fs::{self, FileType, Mode, OFlags, SeekFrom};
use rustix::io::Errno;
use std::fs::File;

/// The reason why a file is not sent completely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unsent {
    Changed,
    Gone,
    System(Errno),
    /// The other end is gone.
    Cut,
}

impl From<Errno> for Unsent {
    fn from(errno: Errno) -> Unsent {
        match errno {
            Errno::NOENT => Unsent::Gone,
            // The name now belongs to a link or a pipe.
            Errno::LOOP | Errno::NXIO => Unsent::Changed,
            errno => Unsent::System(errno),
        }
    }
}

pub(crate) struct FileInTransfer {
    pub id: u64,
    pub listed: ListedFile,
    file: File,
    sum: Context,
    /// Number of bytes sent; size of the file; and offset up to which the data has no hole. All are in bytes.
    at: u64,
    size: u64,
    data_until: u64,
    began_as: (u64, Stamp),
}

fn look(file: &File) -> Result<(u64, Stamp), Errno> {
    let stat = fs::fstat(file)?;
    if FileType::from_raw_mode(stat.st_mode).is_file() {
        Ok((stat.st_ino, Stamp::of(&stat)))
    } else {
        Err(Errno::LOOP)
    }
}

impl FileInTransfer {
    /// Opens the file. If the receiver's bytes are the beginning of this file, sending continues after
    /// them. If `anew` is true or the bytes differ, the receiver is told to discard its bytes. The
    /// comparison stops if `is_wanted` returns false.
    pub fn open(
        listed: ListedFile,
        want: &Want,
        mut anew: bool,
        pack: &mut Pack,
        is_wanted: &dyn Fn() -> bool,
    ) -> Result<FileInTransfer, Unsent> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut file = File::from(fs::open(&listed.path, flags, Mode::empty())?);
        let began_as = look(&file)?;
        let (mut sum, mut at) = (Context::new(&SHA256), 0);
        if want.from > 0 && !anew {
            let (begun, length) = sum_of(&mut file, want.from, is_wanted).map_err(|trouble| match trouble {
                PartialFileError::System(errno) => Unsent::from(errno),
                _ => Unsent::Cut,
            })?;
            if length == want.from && begun.clone().finish().as_ref() == &want.sum[..] {
                (sum, at) = (begun, length)
            } else {
                anew = true
            }
        }
        if anew {
            pack.anew(want.id);
        }
        let size = began_as.1.size;
        Ok(FileInTransfer { id: want.id, listed, file, sum, at, size, data_until: at, began_as })
    }

    /// Adds one piece of at most `most` bytes to the pack. Returns true if this was the last piece.
    pub fn step(&mut self, pack: &mut Pack, most: usize, tally: &CopyTally) -> Result<bool, Unsent> {
        if self.at >= self.size {
            let now = look(&self.file)?;
            if now != self.began_as {
                return Err(Unsent::Changed);
            }
            pack.whole(self.id, self.sum.clone().finish().as_ref(), &now.1);
            return Ok(true);
        }
        if self.at >= self.data_until {
            let begins = self.next_data()?;
            if begins > self.at {
                let hole = (begins - self.at).min(MAX_HOLE_BYTES);
                pack.hole(self.id, hole);
                add_zeros(&mut self.sum, hole);
                tally.went_through(hole);
                self.at += hole;
                if self.at < begins {
                    // The rest of the hole is sent in the next step.
                    self.data_until = self.at;
                }
                return Ok(false);
            }
        }
        let most = (self.data_until - self.at).min(most as u64) as usize;
        let (file, at) = (&self.file, self.at);
        let read = pack.bytes_of(self.id, most, |place| loop {
            match rustix::io::pread(file, &mut *place, at) {
                Err(Errno::INTR) => {}
                read => break read,
            }
        })?;
        if read.is_empty() {
            return Err(Unsent::Changed);
        }
        self.sum.update(read);
        self.at += read.len() as u64;
        tally.moved(read.len() as u64);
        Ok(false)
    }

    /// Returns the offset at which the next data begins, and stores the offset at which this data ends. If
    /// the file system does not know holes, everything is data.
    fn next_data(&mut self) -> Result<u64, Errno> {
        let begins = match fs::seek(&self.file, SeekFrom::Data(self.at)) {
            Ok(begins) => begins.min(self.size),
            // The file has only a hole from here to its end.
            Err(Errno::NXIO) => self.size,
            Err(_) => {
                self.data_until = self.size;
                return Ok(self.at);
            }
        };
        if begins < self.size {
            let until = fs::seek(&self.file, SeekFrom::Hole(begins)).unwrap_or(self.size);
            self.data_until = until.min(self.size).max(begins + 1);
        }
        Ok(begins)
    }

    /// Returns the number of bytes sent.
    pub fn at(&self) -> u64 {
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{read, FileMessage, FilePiece, MAX_PACK_BYTES};
    use std::os::unix::fs::FileExt;

    #[test]
    fn a_long_hole_is_sent_in_parts() {
        let path = std::env::temp_dir().join(format!("ligament-outgoing-{}", std::process::id()));
        let size = 2 * MAX_HOLE_BYTES + (1 << 20);
        File::create(&path).unwrap().write_all_at(b"end", size - 3).unwrap();
        let listed = ListedFile { name: b"f".to_vec(), path: path.clone(), size };
        let want = Want { id: 1, from: 0, sum: Vec::new() };
        let (mut pack, tally) = (Pack::new(), CopyTally::default());
        let mut sends = FileInTransfer::open(listed, &want, false, &mut pack, &|| true).unwrap();
        while !sends.step(&mut pack, MAX_PACK_BYTES, &tally).unwrap() {}
        std::fs::remove_file(&path).unwrap();
        let bytes = pack.into_bytes();
        let Ok(FileMessage::Pieces(pieces)) = read(&bytes) else { panic!("these are pieces") };
        let mut at = 0;
        for piece in pieces {
            match piece.unwrap().1 {
                FilePiece::Hole(length) => {
                    assert!(length <= MAX_HOLE_BYTES, "{length}");
                    at += length;
                }
                FilePiece::Bytes(bytes) => at += bytes.len() as u64,
                FilePiece::Whole(_, stamp) => assert_eq!((at, stamp.size), (size, size)),
                FilePiece::Anew => panic!("it has only begun"),
            }
        }
        assert_eq!(at, size);
    }
}
