//! A file to which whole lines are appended, each line by a single write. So a reader finds at most the
//! last line incomplete, even if the writer was killed. When the file is too large, the file is renamed and
//! a new file begins.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A file of lines.
#[derive(Debug)]
pub(crate) struct LineFile {
    file: File,
    path: PathBuf,
    written: u64,
    /// Size of the file above which a new file begins, in bytes.
    limit: u64,
    /// Line that is written first into every new file.
    head: Option<String>,
    /// True if the last line is incomplete.
    torn: bool,
}

impl LineFile {
    /// Opens the file, or makes the file if it does not exist. If the last line of an earlier writer is
    /// incomplete, a newline ends that line before the next line is written.
    pub fn open(path: &Path, limit: u64) -> io::Result<LineFile> {
        let mut file = OpenOptions::new().create(true).append(true).read(true).open(path)?;
        let written = file.metadata()?.len();
        let mut last = [b'\n'];
        if written > 0 {
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
        }
        let torn = last != [b'\n'];
        Ok(LineFile { file, path: path.to_path_buf(), written, limit, head: None, torn })
    }

    /// Returns the path of the previous file, which was renamed: `manager.log.1` for `manager.log`.
    pub fn earlier(path: &Path) -> PathBuf {
        let mut name = path.as_os_str().to_owned();
        name.push(".1");
        name.into()
    }

    /// Adds this line now, and also at the beginning of every new file.
    pub fn begin_with(&mut self, line: String) {
        self.write(&line);
        self.head = Some(line);
    }

    /// Adds a line that ends with a newline. A full disk must not end a run, so a line that cannot be
    /// written is lost without an error.
    pub fn add(&mut self, line: &str) {
        if self.written > self.limit && std::fs::rename(&self.path, LineFile::earlier(&self.path)).is_ok() {
            if let Ok(file) = OpenOptions::new().create(true).append(true).read(true).open(&self.path) {
                (self.file, self.written, self.torn) = (file, 0, false);
                if let Some(head) = self.head.clone() {
                    self.write(&head);
                }
            }
        }
        self.write(line);
    }

    fn write(&mut self, line: &str) {
        let mended = self.torn.then(|| format!("\n{line}"));
        let bytes = mended.as_deref().unwrap_or(line).as_bytes();
        let count = loop {
            match self.file.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other.unwrap_or(0),
            }
        };
        self.written += count as u64;
        if count > 0 {
            self.torn = bytes[count - 1] != b'\n';
        }
    }
}
