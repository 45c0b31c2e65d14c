//! Files with secrets: only their owner can read them, and they are written as a whole or not at all.

use rustix::fs::{renameat_with, RenameFlags, CWD};
use rustix::io::Errno;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use zeroize::Zeroizing;

/// The maximum length of such a file (bytes).
const MAX_PRIVATE_FILE_BYTES: u64 = 1 << 20;

/// The reason why a file is not read.
pub(crate) enum Unread {
    Failed(io::Error),
    /// The path leads to a directory, a pipe or something else.
    NoFile,
    /// Other users can read or write the file, which has this mode.
    Shared(u32),
    /// The file belongs to this other user.
    Foreign(u32),
}

/// Returns the text of a file. Only its owner, who is this user or root, may be able to read the file.
pub(crate) fn read(path: &Path) -> Result<Zeroizing<String>, Unread> {
    // The file is opened without blocking, so that a pipe in its place cannot hang the reader.
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(Unread::Failed)?;
    let about = file.metadata().map_err(Unread::Failed)?;
    if !about.is_file() {
        return Err(Unread::NoFile);
    }
    let mode = about.mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(Unread::Shared(mode));
    }
    let (mine, owner) = (rustix::process::geteuid().as_raw(), about.uid());
    if owner != mine && owner != 0 && mine != 0 {
        return Err(Unread::Foreign(owner));
    }
    let mut text = Zeroizing::new(String::new());
    file.take(MAX_PRIVATE_FILE_BYTES).read_to_string(&mut text).map_err(Unread::Failed)?;
    Ok(text)
}

/// Writes a new file that only its owner can read, in place of any other.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    write_by(path, text, |fresh, path| fs::rename(fresh, path))
}

/// Writes a new file that only its owner can read. Fails if there is a file of this name.
pub(crate) fn write_new(path: &Path, text: &str) -> io::Result<()> {
    write_by(path, text, |fresh, path| match renameat_with(CWD, fresh, CWD, path, RenameFlags::NOREPLACE) {
        // Some network file systems cannot rename in this way, but can do the same with a link.
        Err(Errno::INVAL | Errno::NOSYS) => {
            fs::hard_link(fresh, path)?;
            fs::remove_file(fresh)
        }
        done => Ok(done?),
    })
}

fn write_by(path: &Path, text: &str, name_it: impl Fn(&Path, &Path) -> io::Result<()>) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.new", std::process::id()));
    let fresh = path.with_file_name(name);
    let written = (|| {
        let _ = fs::remove_file(&fresh);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
        file.write_all(text.as_bytes())?;
        name_it(&fresh, path)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&fresh);
    }
    written
}
