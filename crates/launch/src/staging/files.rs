//! Files of inputs: the run's copy of each, the copies that instances get of it, and the message when there is no
//! room. A file gets its own name only when it is whole.

use ligament_catalogue::{fault, Fault};
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The owner may write.
const MODE_OWNER_WRITE: u32 = 0o200;
/// A copy for an instance is older than the run's by this much: more than the grain of any clock of files, so that
/// a first write always changes its time.
const COPY_AGE: Duration = Duration::from_secs(2);

/// Room on the disk of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskSpace {
    /// Bytes that this user may still write.
    pub free: u64,
}

impl DiskSpace {
    /// Of the file system of a path, or of what is to be made there.
    pub fn at(path: &Path) -> Option<DiskSpace> {
        let there = path.ancestors().find_map(|path| rustix::fs::statvfs(path).ok())?;
        Some(DiskSpace { free: there.f_bavail.saturating_mul(there.f_frsize) })
    }
}

/// The message for files for which a disk has no room: where, on which machine, what is needed, and what is
/// free.
pub fn no_room(path: &Path, needed: u64) -> Fault {
    let machine = rustix::system::uname();
    let free = DiskSpace::at(path).map_or_else(|| "nothing".to_owned(), |room| in_bytes(room.free));
    fault!(
        NO_ROOM_FOR_FILES,
        "there is no room for {} on the disk of {}: {} are needed, and {free} are free; make room there, or choose another \
         place (--run-dir, --scratch)",
        path.display(),
        machine.nodename().to_string_lossy(),
        in_bytes(needed),
    )
}

/// Why a file of so many bytes could not be written.
pub fn cannot_write(path: &Path, needed: u64, error: &io::Error) -> Fault {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => no_room(path, needed),
        _ => fault!(RUN_DIRECTORY_UNWRITABLE, "{} cannot be written: {error}", path.display()),
    }
}

fn in_bytes(bytes: u64) -> String {
    let unit =
        [(1u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")].into_iter().find(|&(unit, _)| bytes >= unit);
    match unit {
        Some((unit, name)) => format!("{:.1} {name}", bytes as f64 / unit as f64),
        None => format!("{bytes} B"),
    }
}

/// Makes the run's own copy of a file, with these permissions; later changes of the user's file do not reach
/// it. If the file system can share blocks, no bytes are copied.
///
/// # Errors
/// What is wrong, with the path; nothing is left there then.
pub fn store(source: &Path, copy: &Path, bytes: u64, mode: u32) -> Result<(), Fault> {
    let unfinished = beside(copy);
    let made = (|| {
        make_parent(copy)?;
        let mut from = std::fs::File::open(source)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", source.display())))?;
        let mut to = std::fs::File::create(&unfinished)?;
        io::copy(&mut from, &mut to)?;
        to.set_permissions(std::fs::Permissions::from_mode(mode))?;
        std::fs::rename(&unfinished, copy)
    })();
    made.map_err(|error: io::Error| {
        let _ = std::fs::remove_file(&unfinished);
        cannot_write(copy, bytes, &error)
    })
}

/// A process's own copy of an input as it was laid. An instance that writes to it changes this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CopyStamp {
    file: (u64, u64),
    bytes: u64,
    modified: (i64, i64),
}

impl CopyStamp {
    /// Of a file as it is now.
    pub fn of(found: &Metadata) -> CopyStamp {
        CopyStamp {
            file: (found.dev(), found.ino()),
            bytes: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
        }
    }
}

/// Gives a process a copy of its own of a stored file, which it may write: a link would lead into the run's copy, and
/// root may write that whatever its permissions are. Where the file system can share blocks, no bytes are copied.
///
/// # Errors
/// What is wrong, with the path.
pub fn copy_for_process(stored: &Path, there: &Path, bytes: u64, mode: u32) -> Result<CopyStamp, Fault> {
    if there.symlink_metadata().is_ok() {
        return Err(fault!(
            INPUT_NOT_STAGED,
            "{} is there already, and is not the input of this name; a run begins in directories of its own",
            there.display()
        ));
    }
    store(stored, there, bytes, mode | MODE_OWNER_WRITE)?;
    let aged = (|| {
        let before = stored.metadata()?.modified()? - COPY_AGE;
        let copy = std::fs::File::options().append(true).open(there)?;
        copy.set_modified(before)?;
        Ok(CopyStamp::of(&copy.metadata()?))
    })();
    aged.map_err(|error| cannot_write(there, bytes, &error))
}

fn make_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), std::fs::create_dir_all)
}

/// What a file is called until it is whole.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".part-{}", std::process::id()));
    path.with_file_name(name)
}
