//! A file of the working directory that is whole or not there.

use std::fs::{self, File};
use std::io::{self, Write};

/// Writes a file, in the place of an earlier one of this name.
///
/// # Errors
/// The system's.
pub(crate) fn write_whole(name: &str, text: &str) -> io::Result<()> {
    let part = format!("{name}.part");
    // A file that an earlier pass left is removed; a link there is not followed.
    let _ = fs::remove_file(&part);
    File::create_new(&part)?.write_all(text.as_bytes())?;
    fs::rename(&part, name)
}
