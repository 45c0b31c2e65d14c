//! Writer of files that replaces a file in one step, so that a reader never sees a part of it.

use std::fs::{self, File};
use std::io::{self, Write};

/// Writes a file, and replaces an earlier file with this name.
///
/// # Errors
/// Returns the error of the system.
pub(crate) fn write_whole(name: &str, text: &str) -> io::Result<()> {
    let part = format!("{name}.part");
    // The temporary file of an earlier pass is removed first. If the name is a symbolic link, this removes the
    // link and not its target.
    let _ = fs::remove_file(&part);
    File::create_new(&part)?.write_all(text.as_bytes())?;
    fs::rename(&part, name)
}
