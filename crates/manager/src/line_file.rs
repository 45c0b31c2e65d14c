//! A file to which whole lines are added, each by one write, so that whoever reads it meanwhile, or after a kill of who
//! writes it, has at most its last line by half. When it is too large it is put aside, and begins anew.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The file.
#[derive(Debug)]
pub(crate) struct LineFile {
    file: File,
    path: PathBuf,
    written: u64,
    /// When it is larger than this, bytes, it begins anew.
    limit: u64,
    /// A line with which it begins, then too.
    head: Option<String>,
    /// Whether its last line is not whole.
    torn: bool,
}

impl LineFile {
    /// Opens the file, or makes it. A line that somebody before could not finish is ended, so that it spoils no other.
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

    /// Where the file before the present one is: `manager.log.1` for `manager.log`.
    pub fn earlier(path: &Path) -> PathBuf {
        let mut name = path.as_os_str().to_owned();
        name.push(".1");
        name.into()
    }

    /// Adds the line with which it begins, now and whenever it begins anew.
    pub fn begin_with(&mut self, line: String) {
        self.write(&line);
        self.head = Some(line);
    }

    /// Adds a line, which ends with a newline. A full disk must not end a run: what cannot be written is lost.
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
