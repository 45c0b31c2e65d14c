//! A file while it arrives: under a name of its own beside the final one, locked, with the checksum of what is
//! there. It gets its name when it is whole, and stays for the next copy if that never comes.

use crate::entry::Stamp;
use crate::names;
use crate::protocol::CHECKSUM_BYTES;
use ring::digest::{Context, SHA256};
use rustix::fs::{self, AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{BorrowedFd, OwnedFd};

/// Zeros at a time, for checksums over holes; and how many before it is asked whether to go on.
static ZEROS: [u8; 64 << 10] = [0; 64 << 10];
const ALLOCATION_STEP_BYTES: u64 = 32 << 20;

/// Why a file does not arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PartialFileError {
    System(Errno),
    /// Another copy writes it.
    Busy,
    /// The checksums differ.
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
    /// The descriptor if it has no lock, and so a name that no other copy uses; then nobody takes it up later.
    own: Option<OwnedFd>,
    sum: Context,
    /// How far it is (bytes).
    pub length: u64,
}

/// A checksum over zeros.
pub(crate) fn add_zeros(sum: &mut Context, mut length: u64) {
    while length > 0 {
        let some = length.min(ZEROS.len() as u64);
        sum.update(&ZEROS[..some as usize]);
        length -= some;
    }
}

/// Reads the beginning of a file for its checksum; less than it should be if it is shorter. That may take long:
/// it is given up when nobody waits for it any more.
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
    /// Opens the partial file of a name, which is made if `make`, and takes it for this copy alone. None: there
    /// is none, or none that can be taken for this copy alone.
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
        // If numbers of files do not stay the same, this has an end all the same.
        for _ in 0..16 {
            let fd = match fs::openat(directory, &name[..], flags, Mode::RUSR | Mode::WUSR) {
                Err(Errno::NOENT) if !make => return Ok(None),
                opened => opened?,
            };
            match lock(&fd) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => return Err(PartialFileError::Busy),
                // A file system that has no locks. Whoever else writes there would write between what comes
                // here.
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
            // Another copy may have finished it between the two: then it is no partial file any more.
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

    /// One that no other copy knows of. It goes when this one is cut.
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

    /// Reads what is there already; its checksum is asked for by `sum`.
    pub fn take_up(&mut self, is_wanted: &dyn Fn() -> bool) -> Result<(), PartialFileError> {
        let (sum, length) = sum_of(&mut self.file, u64::MAX, is_wanted)?;
        (self.sum, self.length) = (sum, length);
        Ok(())
    }

    /// The checksum of all that is there.
    pub fn sum(&self) -> [u8; CHECKSUM_BYTES] {
        self.sum.clone().finish().as_ref().try_into().expect("SHA-256 has 32 bytes")
    }

    /// Throws away what is there.
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

    /// Leaves a hole. The file has its length at the end only. The checksum of a hole that is said to be very
    /// long takes for ever: it is given up when nobody waits for it any more.
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

    /// Gives the file its name, in place of any other, if it is the one that was sent.
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
        // Somebody may have put something else there.
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
