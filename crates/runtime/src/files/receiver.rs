//! A file that arrives in parts. It gets its final name when it is complete and has the sender's digest. So the
//! file under this name is never incomplete, and its content is never wrong.

use ligament_catalogue::{said, Code, Fault};
use ligament_launch::staging::cannot_write;
use ligament_wire::domains::{FilePart, FileSummary};
use ring::digest::{Context, SHA256};
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The receiver of the files of one sender, which sends its files one after the other.
#[derive(Default)]
pub(crate) struct FileReceiver {
    current: Option<Current>,
    /// Path of a file that has failed, so that its further parts are ignored.
    failed: Option<PathBuf>,
}

struct Current {
    path: PathBuf,
    unfinished: PathBuf,
    file: File,
    length: u64,
    digest: Context,
}

impl FileReceiver {
    /// Takes a part of the file for `path`. Returns true if the file is complete now. The file then gets the
    /// sender's permissions, as far as they are in `mask`.
    ///
    ///
    /// # Errors
    /// The file cannot be written, with the reason. The incomplete file is removed. The error is returned once:
    /// further parts of the file are ignored.
    pub fn take(&mut self, path: &Path, part: &FilePart, mask: u32) -> Result<bool, Fault> {
        if part.offset == 0 {
            self.failed = None;
        } else if self.failed.as_deref() == Some(path) {
            return Ok(false);
        }
        let taken = self.write(path, part).and_then(|()| match &part.whole {
            Some(whole) => self.finish(whole, mask).map(|()| true),
            None => Ok(false),
        });
        taken.map_err(|wrong| {
            // The incomplete file is removed first, so that the free space in the error is right.
            self.current = None;
            self.failed = Some(path.to_path_buf());
            match wrong {
                Wrong::Io(error) => cannot_write(path, part.size, &error),
                Wrong::Text(text) => Fault::new(Code::FILE_LEFT_BEHIND, format!("{} {text}", path.display())),
            }
        })
    }

    fn write(&mut self, path: &Path, part: &FilePart) -> Result<(), Wrong> {
        if part.offset == 0 {
            self.current = Some(Current::begin(path)?);
        }
        match &mut self.current {
            Some(current) if current.path == path && current.length == part.offset => {
                current.file.write_all(&part.bytes)?;
                current.digest.update(&part.bytes);
                current.length += part.bytes.len() as u64;
                Ok(())
            }
            _ => Err(Wrong::Text(said!(FILE_LEFT_BEHIND, "came in parts that do not follow each other"))),
        }
    }

    fn finish(&mut self, whole: &FileSummary, mask: u32) -> Result<(), Wrong> {
        let Some(current) = &self.current else { return Ok(()) };
        if current.digest.clone().finish().as_ref() != whole.sha256 {
            return Err(Wrong::Text(said!(FILE_LEFT_BEHIND, "arrived with other bytes than it was sent with")));
        }
        current.file.set_permissions(Permissions::from_mode(whole.mode & mask))?;
        std::fs::rename(&current.unfinished, &current.path)?;
        self.current = None;
        Ok(())
    }
}

enum Wrong {
    Io(io::Error),
    Text(String),
}

impl From<io::Error> for Wrong {
    fn from(error: io::Error) -> Wrong {
        Wrong::Io(error)
    }
}

impl Current {
    fn begin(path: &Path) -> io::Result<Current> {
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        let mut name = path.file_name().unwrap_or_default().to_os_string();
        name.push(format!(".part-{}", std::process::id()));
        let unfinished = path.with_file_name(name);
        // A file that an earlier copy has left is removed. The new file is never a link with this name.
        let _ = std::fs::remove_file(&unfinished);
        let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
        let digest = Context::new(&SHA256);
        Ok(Current { path: path.to_path_buf(), unfinished, file, length: 0, digest })
    }
}

impl Drop for Current {
    /// Removes an incomplete file. A complete file has its final name already, so nothing is removed.
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.unfinished);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(offset: u64, text: &str, whole: Option<&str>) -> FilePart {
        let digest = |text: &str| {
            let mut sha256 = [0; 32];
            sha256.copy_from_slice(ring::digest::digest(&SHA256, text.as_bytes()).as_ref());
            FileSummary { sha256, mode: 0o644 }
        };
        FilePart { offset, bytes: text.as_bytes().to_vec(), size: 7, whole: whole.map(digest) }
    }

    fn place(test: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("ligament-arriving-{}-{test}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        path
    }

    fn names(path: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(path).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_file_is_there_when_it_is_whole_and_not_before() {
        let place = place("whole");
        let (file, mut arriving) = (place.join("deep/mesh"), FileReceiver::default());
        assert_eq!(arriving.take(&file, &part(0, "one ", None), 0o555), Ok(false));
        assert!(!file.exists());
        assert_eq!(arriving.take(&file, &part(4, "two", Some("one two")), 0o555), Ok(true));
        assert_eq!(std::fs::read(&file).unwrap(), b"one two");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o444);
        std::fs::remove_dir_all(place).unwrap();
    }

    #[test]
    fn a_file_that_is_not_what_was_sent_is_not_kept_and_is_told_once() {
        let place = place("wrong");
        let (file, mut arriving) = (place.join("mesh"), FileReceiver::default());
        let why = arriving.take(&file, &part(0, "one", Some("two")), 0o555).unwrap_err();
        assert!(why.ends_with("mesh arrived with other bytes than it was sent with"), "{why}");
        arriving.take(&file, &part(0, "one", None), 0o555).unwrap();
        let why = arriving.take(&file, &part(7, "two", None), 0o555).unwrap_err();
        assert!(why.contains("do not follow each other"), "{why}");
        assert_eq!(arriving.take(&file, &part(10, "rest", Some("")), 0o555), Ok(false));
        assert!(names(&place).is_empty(), "nothing of it is left");
        // A file that comes after the failed file arrives.
        assert_eq!(arriving.take(&place.join("next"), &part(0, "x", Some("x")), 0o555), Ok(true));
        std::fs::remove_dir_all(place).unwrap();
    }

    #[test]
    fn of_a_file_that_stops_coming_nothing_is_left() {
        let place = place("stops");
        let mut arriving = FileReceiver::default();
        arriving.take(&place.join("mesh"), &part(0, "one", None), 0o555).unwrap();
        assert_eq!(names(&place).len(), 1);
        drop(arriving);
        assert!(names(&place).is_empty());
        std::fs::remove_dir_all(place).unwrap();
    }
}
