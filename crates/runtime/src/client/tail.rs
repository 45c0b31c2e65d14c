//! The lines of a file that grows, and that is renamed when it is too large; then a new file begins.

use ligament_manager::RunLog;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// A file, and the position up to which it was read. The file is opened again for each reading, because a
/// network file system may show an old state of a file that stays open.
pub struct Tail {
    path: PathBuf,
    inode: Option<u64>,
    read: u64,
    /// The beginning of a line whose end is not in the file yet.
    half: Vec<u8>,
}

impl Tail {
    pub fn of(path: PathBuf) -> Tail {
        Tail { path, inode: None, read: 0, half: Vec::new() }
    }

    /// Returns the new lines. Returns no lines if the file does not exist yet.
    pub fn lines(&mut self) -> Vec<String> {
        let mut bytes = std::mem::take(&mut self.half);
        if let Ok(file) = File::open(&self.path) {
            let inode = file.metadata().map_or(0, |found| found.ino());
            if self.inode.is_some_and(|old| old != inode) {
                self.finish_earlier(&mut bytes);
                self.read = 0;
            }
            self.inode = Some(inode);
            self.read += rest(file, self.read, &mut bytes);
        }
        let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
        self.half = bytes.split_off(whole);
        String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect()
    }

    /// Reads the lines that were added to the file before it was renamed.
    fn finish_earlier(&self, to: &mut Vec<u8>) {
        let Ok(file) = File::open(RunLog::earlier(&self.path)) else { return };
        if file.metadata().is_ok_and(|found| Some(found.ino()) == self.inode) {
            rest(file, self.read, to);
        }
    }
}

/// Reads the bytes from the offset `from` on. Returns their number.
fn rest(mut file: File, from: u64, to: &mut Vec<u8>) -> u64 {
    let before = to.len();
    if file.seek(SeekFrom::Start(from)).is_ok() {
        let _ = file.read_to_end(to);
    }
    (to.len() - before) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn each_line_comes_once_and_whole_also_when_the_file_begins_anew() {
        let path = std::env::temp_dir().join(format!("ligament-tail-{}", std::process::id()));
        let mut tail = Tail::of(path.clone());
        assert!(tail.lines().is_empty());
        let add = |text: &str| {
            let mut file = File::options().create(true).append(true).open(&path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        };
        add("one\ntw");
        assert_eq!(tail.lines(), ["one"]);
        add("o\n");
        assert_eq!(tail.lines(), ["two"]);
        add("three\n");
        std::fs::rename(&path, RunLog::earlier(&path)).unwrap();
        add("four\n");
        assert_eq!(tail.lines(), ["three", "four"]);
        assert!(tail.lines().is_empty());
        std::fs::remove_file(RunLog::earlier(&path)).unwrap();
        std::fs::remove_file(&path).unwrap();
    }
}
