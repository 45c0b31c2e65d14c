//! The files of inputs: the run's copy of each input, the instances' copies of the run's copy, and the
//! error for a full disk. A file gets its final name only when it is complete.

use ligament_catalogue::{fault, Fault};
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Mode bit: the owner may write.
const MODE_OWNER_WRITE: u32 = 0o200;
/// The modification time of an instance's copy is set to this time before that of the run's copy. The
/// difference exceeds the resolution of any file system's clock, so the first write of an instance always
/// changes the modification time.
const COPY_AGE: Duration = Duration::from_secs(2);

/// Free space of a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskSpace {
    /// Number of bytes that this user may still write.
    pub free: u64,
}

impl DiskSpace {
    /// Returns the free space of the file system that holds a path, or will hold it.
    pub fn at(path: &Path) -> Option<DiskSpace> {
        let there = path.ancestors().find_map(|path| rustix::fs::statvfs(path).ok())?;
        Some(DiskSpace { free: there.f_bavail.saturating_mul(there.f_frsize) })
    }
}

/// Returns the error for a full disk: the path, the machine, the needed space and the free space.
pub fn no_room(path: &Path, needed: u64) -> Fault {
    let machine = rustix::system::uname();
    let free = DiskSpace::at(path).map_or_else(|| "nothing".to_owned(), |room| in_bytes(room.free));
    fault!(
        NO_ROOM_FOR_FILES,
        "there is no room for {} on the disk of {}: {} are needed, and {free} are free; make room there, or \
        choose another place (--run-dir, --scratch)",
        path.display(),
        machine.nodename().to_string_lossy(),
        in_bytes(needed),
    )
}

/// Returns the error for a file of this size that could not be written.
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

/// Makes the run's own copy of a file, with these permissions. Later changes of the user's file do not affect
/// it. If the file system can share blocks, no bytes are copied.
///
/// # Errors
/// The system's message, with the path; no file is left then.
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

/// The identity and state of a process's copy of an input at the time when the copy was made. The stamp
/// changes if an instance writes to the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CopyStamp {
    file: (u64, u64),
    bytes: u64,
    modified: (i64, i64),
}

impl CopyStamp {
    /// Returns the present state of a file.
    pub fn of(found: &Metadata) -> CopyStamp {
        CopyStamp {
            file: (found.dev(), found.ino()),
            bytes: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
        }
    }
}

/// Makes a process's own copy of a stored file, which the process may write. The copy is no link, because a
/// link would lead to the run's copy, and root may write that copy whatever its permissions are. If the
/// file system can share blocks, no bytes are copied.
///
/// # Errors
/// The system's message, with the path.
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

/// Returns the temporary name of a file until the file is complete.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".part-{}", std::process::id()));
    path.with_file_name(name)
}
