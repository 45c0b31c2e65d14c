//! Files of sources and sinks: their paths, their lines of text, and output files that get their names when
//! they are complete. `npy`, `json` and `vti` are file formats.

pub(crate) mod json;
pub(crate) mod npy;
pub(crate) mod vti;

use crate::settings::bad;
use ligament_catalogue::{fault, Fault};
use ligament_instance::{Array, ArrayOrder, Error};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Cursor, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Maximum length of a line that is read, in bytes.
const MAX_LINE: u64 = 1 << 30;

/// Returns the path of a file that a setting names. The file is in the working directory, where inputs are
/// staged, or else beside the model file.
pub(crate) fn input_path(name: &str) -> PathBuf {
    let here = PathBuf::from(name);
    if here.is_absolute() || here.exists() {
        return here;
    }
    match std::env::var_os("LIGAMENT_MODEL_DIR") {
        Some(directory) => Path::new(&directory).join(name),
        None => here,
    }
}

pub(crate) fn open(path: &Path) -> Result<File, Error> {
    opened(path).map_err(bad)
}

fn opened(path: &Path) -> Result<File, Fault> {
    let opened = File::open(path).and_then(|file| {
        if file.metadata()?.is_dir() {
            Err(io::Error::from(ErrorKind::IsADirectory))
        } else {
            Ok(file)
        }
    });
    opened.map_err(|error| cannot_be_read(path, &error))
}

fn cannot_be_read(path: &Path, error: &io::Error) -> Fault {
    fault!(SOURCE_UNREADABLE, "{} cannot be read: {error}", path.display())
}

pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Error {
    bad(cannot_be_read(path, error))
}

/// Replaces the parts of a name in braces: `{instance}` by the name of the instance, and `{n}` by the number
/// of a message, if there is one.
pub(crate) fn name_of(template: &str, instance: &str, number: Option<usize>) -> String {
    let name = template.replace("{instance}", instance);
    match number {
        Some(number) => name.replace("{n}", &number.to_string()),
        None => name,
    }
}

/// Opens a file that is read as a whole. A pipe or a device, which may have no end, is refused.
pub(crate) fn open_regular(path: &Path) -> Result<File, Error> {
    // The kind of the file is read before the file is opened, because opening a pipe would wait for its writer.
    match std::fs::metadata(path) {
        Ok(there) if !there.is_file() && !there.is_dir() => {
            Err(bad(fault!(SOURCE_UNREADABLE, "{} cannot be read: it is no regular file", path.display())))
        }
        _ => open(path),
    }
}

/// The lines of a text, with their numbers.
pub(crate) struct Lines {
    /// Maximum length of a line, in bytes.
    longest: u64,
    /// The name of the file.
    pub name: String,
    reader: Box<dyn BufRead + Send>,
    /// Number of the last line that was read, from 1 on.
    pub number: u64,
    /// True if the last line that was read has no line break, as in a file that was cut off.
    pub is_cut: bool,
    line: Vec<u8>,
}

impl Lines {
    /// Opens a file to read its lines.
    pub fn open(name: &str) -> Result<Lines, Fault> {
        let path = input_path(name);
        let file = opened(&path)?;
        Ok(Lines::of(Box::new(BufReader::with_capacity(1 << 16, file)), path.display().to_string()))
    }

    /// Makes the lines of a text that came from a file.
    pub fn of_text(text: String, name: &str) -> Lines {
        Lines::of(Box::new(Cursor::new(text)), name.to_owned())
    }

    fn of(reader: Box<dyn BufRead + Send>, name: String) -> Lines {
        Lines { longest: MAX_LINE, name, reader, number: 0, is_cut: false, line: Vec::new() }
    }

    /// Returns the next line without its line break. `None` at the end of the file.
    pub fn next(&mut self) -> Result<Option<&str>, Fault> {
        self.line.clear();
        let read = self.reader.by_ref().take(self.longest + 1).read_until(b'\n', &mut self.line);
        match read {
            Ok(0) => return Ok(None),
            Ok(_) => self.number += 1,
            Err(error) => return Err(cannot_be_read(Path::new(&self.name), &error)),
        }
        self.is_cut = self.line.last() != Some(&b'\n');
        if self.line.len() as u64 > self.longest && self.is_cut {
            let longest = self.longest;
            return Err(self.malformed(&format!("this line has more than {longest} bytes")));
        }
        while self.line.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
            self.line.pop();
        }
        match std::str::from_utf8(&self.line) {
            Ok(line) => Ok(Some(if self.number == 1 { line.trim_start_matches('\u{feff}') } else { line })),
            Err(_) => Err(self.malformed("it is no text in UTF-8")),
        }
    }

    /// Returns the name of the file and the number of the line.
    pub fn place(&self) -> String {
        format!("{}:{}", self.name, self.number)
    }

    /// Makes the error that the last line is not as it should be.
    pub fn malformed(&self, why: &str) -> Fault {
        fault!(MALFORMED_SOURCE, "{}: {why}", self.place())
    }
}

/// The files that this process writes now. All sinks of a run are in one process, so no two of them write one
/// file.
static BEING_WRITTEN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A file that gets its name when it is complete. Until then, its name ends with `.part`. A device or a pipe
/// is written directly.
pub(crate) struct AtomicFile {
    /// Final name of the file, if the file has a `.part` name now.
    path: Option<PathBuf>,
    part: PathBuf,
    file: BufWriter<File>,
}

impl AtomicFile {
    /// Begins a file, and makes its folder.
    pub fn create(path: impl Into<PathBuf>) -> Result<AtomicFile, Error> {
        let path = path.into();
        let is_special = std::fs::metadata(&path).is_ok_and(|there| !there.is_file() && !there.is_dir());
        let (path, part) = if is_special {
            (None, path)
        } else {
            let mut part = path.clone().into_os_string();
            part.push(".part");
            (Some(path), PathBuf::from(part))
        };
        let mut others = BEING_WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
        if !is_special && !others.insert(part.clone()) {
            let name = path.as_deref().unwrap_or(&part).display();
            return Err(bad(fault!(
                FILE_NOT_WRITTEN,
                "{name} is being written by another sink; put {{instance}} into the name under \"file\", or \
                 give each its own"
            )));
        }
        drop(others);
        let folder = part.parent().filter(|folder| !folder.as_os_str().is_empty());
        let created = folder.map_or(Ok(()), std::fs::create_dir_all).and_then(|()| {
            if is_special {
                File::options().write(true).open(&part)
            } else {
                new_file(&part)
            }
        });
        match created {
            Ok(file) => Ok(AtomicFile { path, part, file: BufWriter::with_capacity(1 << 16, file) }),
            Err(error) => {
                no_longer_written(&part);
                Err(unwritten(&part, &error))
            }
        }
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.file.write_all(bytes).map_err(|error| unwritten(&self.part, &error))
    }

    /// Overwrites the first bytes of the file.
    pub fn write_first(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let file = &mut self.file;
        let written = file.seek(SeekFrom::Start(0)).and_then(|_| file.write_all(bytes));
        written.map_err(|error| unwritten(&self.part, &error))
    }

    /// Writes the file to the disk, and gives it its final name.
    pub fn finish(mut self) -> Result<(), Error> {
        let written = self.file.flush().and_then(|()| match &self.path {
            Some(path) => self.file.get_ref().sync_all().and_then(|()| std::fs::rename(&self.part, path)),
            None => Ok(()),
        });
        written.map_err(|error| unwritten(&self.part, &error))
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if self.path.is_some() {
            no_longer_written(&self.part);
        }
    }
}

/// Makes a new file, and replaces a regular file that an earlier run may have left. A link is not followed,
/// and nothing but a regular file is replaced.
fn new_file(path: &Path) -> io::Result<File> {
    match std::fs::symlink_metadata(path) {
        Ok(there) if there.is_file() => std::fs::remove_file(path)?,
        Ok(_) => return Err(io::Error::other("it is there already, and is no file that a run has left")),
        Err(_) => {}
    }
    File::create_new(path)
}

fn no_longer_written(part: &Path) {
    BEING_WRITTEN.lock().unwrap_or_else(PoisonError::into_inner).remove(part);
}

/// Calls `each` with the bytes of each element of an array, the last index running fastest.
pub(crate) fn in_rows(array: &Array, mut each: impl FnMut(&[u8])) {
    if array.is_empty() {
        return;
    }
    let (shape, strides, size) = (array.shape(), array.strides(), array.dtype().size());
    let data: &[u8] = array.data();
    let mut index = vec![0; shape.len()];
    loop {
        let at: i64 = index.iter().zip(&strides).map(|(&i, &stride)| i as i64 * stride).sum();
        each(&data[at as usize..at as usize + size]);
        let mut axis = shape.len();
        loop {
            if axis == 0 {
                return;
            }
            axis -= 1;
            index[axis] += 1;
            if index[axis] < shape[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
}

/// Returns the bytes of an array's elements without gaps, in the array's own order.
pub(crate) fn together(array: &Array) -> Cow<'_, [u8]> {
    if array.own_strides().is_none() {
        return Cow::Borrowed(array.data());
    }
    let mut bytes = Vec::with_capacity(array.nbytes() as usize);
    in_rows(array, |element| bytes.extend_from_slice(element));
    Cow::Owned(bytes)
}

/// Returns the order of the elements that `together` returns.
pub(crate) fn order_together(array: &Array) -> ArrayOrder {
    match array.own_strides() {
        None => array.order(),
        Some(_) => ArrayOrder::RowMajor,
    }
}

fn unwritten(path: &Path, error: &io::Error) -> Error {
    let what_to_do = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "make room there, or give another \"file\"",
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => "give another \"file\"",
        ErrorKind::Other => "remove it, or give another \"file\"",
        _ => "look at what the system says",
    };
    bad(fault!(FILE_NOT_WRITTEN, "{} cannot be written: {error}; {what_to_do}", path.display()))
}

/// Writes a file that appears when it is complete.
pub(crate) fn write_file(path: &str, parts: &[&[u8]]) -> Result<(), Error> {
    let mut file = AtomicFile::create(path)?;
    parts.iter().try_for_each(|part| file.write(part))?;
    file.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_its_name_only_when_it_is_whole() {
        let folder = std::env::temp_dir().join(format!("ligament-whole-{}", std::process::id()));
        let path = folder.join("deep/result.txt");
        let mut file = AtomicFile::create(&path).unwrap();
        file.write(b"....two").unwrap();
        file.write_first(b"one,").unwrap();
        assert!(!path.exists() && path.with_extension("txt.part").exists());
        file.finish().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"one,two");
        assert!(!path.with_extension("txt.part").exists());
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_a_link_leads_to_is_not_written_over() {
        let folder = std::env::temp_dir().join(format!("ligament-link-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (mine, path) = (folder.join("mine"), folder.join("a.csv"));
        std::fs::write(&mine, "mine").unwrap();
        std::os::unix::fs::symlink(&mine, folder.join("a.csv.part")).unwrap();
        let refused = AtomicFile::create(&path).err().unwrap().to_string();
        assert!(refused.contains("a.csv.part cannot be written: it is there already"), "{refused}");
        // A hard link to a file of the user, which a killed run may have left, is replaced and not written
        // to.
        std::fs::remove_file(folder.join("a.csv.part")).unwrap();
        std::fs::hard_link(&mine, folder.join("a.csv.part")).unwrap();
        let mut file = AtomicFile::create(&path).unwrap();
        file.write(b"new").unwrap();
        file.finish().unwrap();
        let read = |path: &Path| std::fs::read_to_string(path).unwrap();
        assert_eq!((read(&mine), read(&path)), ("mine".to_owned(), "new".to_owned()));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_line_that_is_too_long_is_an_error_and_not_cut() {
        let path = std::env::temp_dir().join(format!("ligament-long-line-{}", std::process::id()));
        std::fs::write(&path, "12345678\n1234\n123456789\n").unwrap();
        let mut lines = Lines { longest: 8, ..Lines::open(path.to_str().unwrap()).unwrap() };
        assert_eq!(lines.next().unwrap(), Some("12345678"));
        assert_eq!(lines.next().unwrap(), Some("1234"));
        let text = lines.next().unwrap_err().to_string();
        assert!(text.contains(":3: this line has more than 8 bytes"), "{text}");
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_full_disk_is_named() {
        let text = unwritten(Path::new("a.csv.part"), &ErrorKind::StorageFull.into()).to_string();
        assert!(text.contains("a.csv.part") && text.contains("make room"), "{text}");
    }

    #[test]
    fn names_have_the_instance_and_the_number() {
        assert_eq!(name_of("{instance}-{n}.vti", "see[2]", Some(7)), "see[2]-7.vti");
        assert_eq!(name_of("all.csv", "see", None), "all.csv");
    }

    #[test]
    fn two_do_not_write_the_same_file_at_a_time() {
        let path = std::env::temp_dir().join(format!("ligament-written-once-{}", std::process::id()));
        let first = AtomicFile::create(&path).unwrap();
        let refused = AtomicFile::create(&path).err().unwrap();
        assert!(refused.to_string().contains("is being written by another sink"), "{refused}");
        first.finish().unwrap();
        AtomicFile::create(&path).unwrap().finish().unwrap();
        std::fs::remove_file(&path).unwrap();
    }
}
