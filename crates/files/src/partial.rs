//! A file while it is being received. It has a temporary name next to its final name, a lock, and a running
//! checksum. It gets its final name when it is complete. If the copy is interrupted, the partial file
//! stays, and the next copy continues it.

use crate::entry::Stamp;
use crate::names;
use crate::protocol::CHECKSUM_BYTES;
use ring::digest::{Context, SHA256};
use rustix::fs::{self, AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{BorrowedFd, OwnedFd};

/// Zeros for checksums over holes. A long checksum checks once per `ALLOCATION_STEP_BYTES` whether the
/// other end still waits.
static ZEROS: [u8; 64 << 10] = [0; 64 << 10];
const ALLOCATION_STEP_BYTES: u64 = 32 << 20;

/// The reason why a file cannot be received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PartialFileError {
    System(Errno),
    /// Another copy is writing the file.
    Busy,
    /// The checksum or the length differs from that of the sender.
    Differs,
    /// The other end is gone.
    Cut,
}

impl From<Errno> for PartialFileError {
    fn from(errno: Errno) -> PartialFileError {
        PartialFileError::System(errno)
    }
}

impl From<std::io::Error> for PartialFileError {
    fn from(error: std::io::Error) -> PartialFileError {
        PartialFileError::System(Errno::from_io_error(&error).unwrap_or(Errno::IO))
    }
}

pub(crate) struct Partial {
    file: File,
    name: Vec<u8>,
    /// The directory, if the file has no lock and therefore a random name that no other copy uses. Such a
    /// file is removed when this value is dropped, because no later copy would continue it.
    own: Option<OwnedFd>,
    sum: Context,
    /// Number of bytes that the file has so far.
    pub length: u64,
}

/// Adds `length` zeros to a checksum.
pub(crate) fn add_zeros(sum: &mut Context, mut length: u64) {
    while length > 0 {
        let some = length.min(ZEROS.len() as u64);
        sum.update(&ZEROS[..some as usize]);
        length -= some;
    }
}

/// Reads up to `length` bytes of a file. Returns the checksum and the number of bytes read, which is
/// smaller if the file is shorter. This may take long, so the function stops with `Cut` if `is_wanted`
/// returns false.
pub(crate) fn sum_of(
    file: &mut File,
    length: u64,
    is_wanted: &dyn Fn() -> bool,
) -> Result<(Context, u64), PartialFileError> {
    let (mut sum, mut read, mut buffer) = (Context::new(&SHA256), 0, vec![0; 256 << 10]);
    let mut asked = 0;
    while read < length {
        if read - asked > ALLOCATION_STEP_BYTES {
            asked = read;
            if !is_wanted() {
                return Err(PartialFileError::Cut);
            }
        }
        let most = (length - read).min(buffer.len() as u64) as usize;
        match file.read(&mut buffer[..most]) {
            Ok(0) => break,
            Ok(some) => {
                sum.update(&buffer[..some]);
                read += some as u64;
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok((sum, read))
}

impl Partial {
    /// Opens and locks the partial file that belongs to the name `last`. Creates the file if `make` is
    /// true. Returns none if the file does not exist, or if it cannot be locked and `make` is false.
    pub fn open(
        directory: BorrowedFd<'_>,
        last: &[u8],
        make: bool,
    ) -> Result<Option<Partial>, PartialFileError> {
        Partial::open_by(directory, last, make, &|fd| fs::flock(fd, FlockOperation::NonBlockingLockExclusive))
    }

    fn open_by(
        directory: BorrowedFd<'_>,
        last: &[u8],
        make: bool,
        lock: &dyn Fn(&OwnedFd) -> Result<(), Errno>,
    ) -> Result<Option<Partial>, PartialFileError> {
        let name = names::partial(last);
        let mut flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        flags.set(OFlags::CREATE, make);
        // Another copy may finish the file between the opening and the check below. The number of attempts
        // is limited in case inode numbers are not stable on this file system.
        for _ in 0..16 {
            let fd = match fs::openat(directory, &name[..], flags, Mode::RUSR | Mode::WUSR) {
                Err(Errno::NOENT) if !make => return Ok(None),
                opened => opened?,
            };
            match lock(&fd) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => return Err(PartialFileError::Busy),
                // The file system has no locks, so another copy could write into the same file. A file with
                // a random name is used instead.
                Err(Errno::NOSYS | Errno::OPNOTSUPP | Errno::NOLCK) if make => {
                    let empty = fs::fstat(&fd)?.st_size == 0;
                    if empty {
                        let _ = fs::unlinkat(directory, &name[..], AtFlags::empty());
                    }
                    return Partial::alone(directory, last).map(Some);
                }
                Err(Errno::NOSYS | Errno::OPNOTSUPP | Errno::NOLCK) => return Ok(None),
                Err(errno) => return Err(errno.into()),
            }
            let stat = fs::fstat(&fd)?;
            if !fs::FileType::from_raw_mode(stat.st_mode).is_file() {
                return Err(Errno::EXIST.into());
            }
            // If another copy has finished the file after it was opened here, the file has its final name
            // and is no longer a partial file.
            match fs::statat(directory, &name[..], AtFlags::SYMLINK_NOFOLLOW) {
                Ok(now) if (now.st_dev, now.st_ino) == (stat.st_dev, stat.st_ino) => {}
                Ok(_) | Err(Errno::NOENT) => continue,
                Err(errno) => return Err(errno.into()),
            }
            let file = File::from(fd);
            return Ok(Some(Partial { file, name, own: None, sum: Context::new(&SHA256), length: 0 }));
        }
        Err(PartialFileError::Busy)
    }

    /// Makes a partial file with a random name that no other copy knows. The file is removed if this copy
    /// is interrupted.
    fn alone(directory: BorrowedFd<'_>, last: &[u8]) -> Result<Partial, PartialFileError> {
        let own = Some(directory.try_clone_to_owned()?);
        let flags = OFlags::RDWR
            | OFlags::CREATE
            | OFlags::EXCL
            | OFlags::NOFOLLOW
            | OFlags::CLOEXEC
            | OFlags::NONBLOCK;
        for _ in 0..16 {
            let name = names::partial_of_one(last);
            match fs::openat(directory, &name[..], flags, Mode::RUSR | Mode::WUSR) {
                Ok(fd) => {
                    let file = File::from(fd);
                    return Ok(Partial { file, name, own, sum: Context::new(&SHA256), length: 0 });
                }
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Err(PartialFileError::Busy)
    }

    /// Reads the bytes that the file has already and computes their checksum.
    pub fn take_up(&mut self, is_wanted: &dyn Fn() -> bool) -> Result<(), PartialFileError> {
        let (sum, length) = sum_of(&mut self.file, u64::MAX, is_wanted)?;
        (self.sum, self.length) = (sum, length);
        Ok(())
    }

    /// Returns the checksum of all bytes so far.
    pub fn sum(&self) -> [u8; CHECKSUM_BYTES] {
        self.sum.clone().finish().as_ref().try_into().expect("SHA-256 has 32 bytes")
    }

    /// Discards all bytes of the file.
    pub fn begin_anew(&mut self) -> Result<(), PartialFileError> {
        fs::ftruncate(&self.file, 0)?;
        fs::seek(&self.file, fs::SeekFrom::Start(0))?;
        (self.sum, self.length) = (Context::new(&SHA256), 0);
        Ok(())
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<(), PartialFileError> {
        self.file.write_all(bytes)?;
        self.sum.update(bytes);
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Skips `length` bytes, which become a hole. The file gets its full length in `finish`. A sender may
    /// claim a very long hole, whose checksum would take forever. So the function stops with `Cut` if
    /// `is_wanted` returns false.
    pub fn skip(&mut self, length: u64, is_wanted: &dyn Fn() -> bool) -> Result<(), PartialFileError> {
        let end =
            self.length.checked_add(length).filter(|&end| i64::try_from(end).is_ok()).ok_or(Errno::FBIG)?;
        fs::seek(&self.file, fs::SeekFrom::Start(end))?;
        while self.length < end {
            if end - self.length > ALLOCATION_STEP_BYTES && !is_wanted() {
                return Err(PartialFileError::Cut);
            }
            let some = (end - self.length).min(ALLOCATION_STEP_BYTES);
            add_zeros(&mut self.sum, some);
            self.length += some;
        }
        Ok(())
    }

    /// Gives the file its final name and replaces any file of that name. Fails if the checksum or the
    /// length is not that of the sent file.
    pub fn finish(
        mut self,
        directory: BorrowedFd<'_>,
        last: &[u8],
        sum: &[u8; CHECKSUM_BYTES],
        stamp: &Stamp,
    ) -> Result<(), PartialFileError> {
        if self.sum() != *sum || self.length != stamp.size {
            let _ = fs::unlinkat(directory, &self.name[..], AtFlags::empty());
            return Err(PartialFileError::Differs);
        }
        // Another process may have put another file under the temporary name.
        let now = fs::statat(directory, &self.name[..], AtFlags::SYMLINK_NOFOLLOW);
        let own = fs::fstat(&self.file)?;
        if !now.is_ok_and(|now| (now.st_dev, now.st_ino) == (own.st_dev, own.st_ino)) {
            return Err(PartialFileError::Busy);
        }
        fs::ftruncate(&self.file, self.length)?;
        fs::fchmod(&self.file, stamp.mode())?;
        fs::futimens(&self.file, &stamp.times())?;
        fs::renameat(directory, &self.name[..], directory, last)?;
        self.own = None;
        Ok(())
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if let Some(directory) = &self.own {
            let _ = fs::unlinkat(directory, &self.name[..], AtFlags::empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temporary::Temporary;
    use std::os::fd::AsFd;

    #[test]
    fn where_there_are_no_locks_two_copies_of_one_file_do_not_mix() {
        let at = Temporary::new("partial");
        let directory = File::open(&at.0).unwrap();
        let names =
            || std::fs::read_dir(&at.0).unwrap().map(|one| one.unwrap().file_name()).collect::<Vec<_>>();
        let open = |make| Partial::open_by(directory.as_fd(), b"f", make, &|_| Err(Errno::NOLCK)).unwrap();
        assert!(open(false).is_none() && names().is_empty());
        let (mut one, mut other, third) = (open(true).unwrap(), open(true).unwrap(), open(true).unwrap());
        assert!(open(false).is_none(), "nothing is taken up that another copy may write");
        for _ in 0..100 {
            one.write(b"one").unwrap();
            other.write(b"another").unwrap();
        }
        drop(third);
        for (partial, text) in [(other, "another"), (one, "one")] {
            let sum = partial.sum();
            let stamp = Stamp { size: 100 * text.len() as u64, seconds: 1, nanos: 0, mode: 0o600 };
            assert_eq!(partial.finish(directory.as_fd(), b"f", &sum, &stamp), Ok(()));
            assert_eq!(std::fs::read(at.0.join("f")).unwrap(), text.repeat(100).into_bytes());
        }
        assert_eq!(names(), ["f"], "what was begun and cut is gone");
    }
}
