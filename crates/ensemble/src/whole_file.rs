//! Writes a file of the working directory so that it never exists in part.

use std::fs::{self, File};
use std::io::{self, Write};

/// Writes a file, and replaces an earlier one of this name.
///
/// # Errors
/// The error of the system.
pub(crate) fn write_whole(name: &str, text: &str) -> io::Result<()> {
    let part = format!("{name}.part");
    // A file that an earlier pass has left is removed. If the name is a link, the link is not followed.
    let _ = fs::remove_file(&part);
    File::create_new(&part)?.write_all(text.as_bytes())?;
    fs::rename(&part, name)
}
