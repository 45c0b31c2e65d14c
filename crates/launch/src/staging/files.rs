//! Files of inputs: the run's copy of each, links to it, and the message when there is no room. A file gets its
//! own name only when it is whole.

use ligament_catalogue::{fault, Fault};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Room on the disk of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Bytes that this user may still write.
    pub free: u64,
}

impl Room {
    /// Of the file system of a path, or of what is to be made there.
    pub fn at(path: &Path) -> Option<Room> {
        let there = path.ancestors().find_map(|path| rustix::fs::statvfs(path).ok())?;
        Some(Room { free: there.f_bavail.saturating_mul(there.f_frsize) })
    }
}

/// The message for files for which a disk has no room: where, on which machine, what is needed, and what is
/// free.
pub fn no_room(path: &Path, needed: u64) -> Fault {
    let machine = rustix::system::uname();
    let free = Room::at(path).map_or_else(|| "nothing".to_owned(), |room| in_bytes(room.free));
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

/// Puts a stored file under a name where a process finds it: a hard link, or a copy if there can be no link.
///
/// # Errors
/// What is wrong, with the path.
pub fn give(stored: &Path, there: &Path, bytes: u64, mode: u32) -> Result<(), Fault> {
    make_parent(there).map_err(|error| cannot_write(there, bytes, &error))?;
    match std::fs::hard_link(stored, there) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match is_link(stored, there) {
            true => Ok(()),
            false => Err(fault!(
                INPUT_NOT_STAGED,
                "{} is there already, and is not the input of this name; a run begins in directories of its own",
                there.display()
            )),
        },
        Err(error) if error.kind() == io::ErrorKind::StorageFull => Err(cannot_write(there, bytes, &error)),
        // Another file system, too many links, or a file system without links.
        Err(_) => store(stored, there, bytes, mode),
    }
}

fn is_link(one: &Path, other: &Path) -> bool {
    let id = |path: &Path| path.symlink_metadata().map(|found| (found.dev(), found.ino())).ok();
    id(one).is_some_and(|one| Some(one) == id(other))
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
