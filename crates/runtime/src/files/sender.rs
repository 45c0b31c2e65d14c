//! Files that are sent to another domain in parts. The number of bytes that are under way is limited.

use ligament_wire::domains::{FilePart, FileSummary, MAX_PIECE};
use ring::digest::{Context, SHA256};
use std::collections::VecDeque;
use std::fs::File;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::PathBuf;

/// Files to be sent, each with a label by which the receiver knows it.
pub(crate) struct FileSender<L> {
    waiting: VecDeque<(L, PathBuf)>,
    going: Option<FileInTransit<L>>,
    /// Maximum number of bytes under way.
    most: u64,
    sent: u64,
    arrived: u64,
    /// Files that could not be read, and the reasons.
    pub lost: Vec<(L, String)>,
}

/// The file whose parts are being sent.
struct FileInTransit<L> {
    label: L,
    path: PathBuf,
    file: File,
    size: u64,
    offset: u64,
    digest: Context,
}

impl<L: Clone + PartialEq> FileSender<L> {
    /// Makes a sender without files. At most `most` bytes may be under way.
    pub fn new(most: u64) -> FileSender<L> {
        FileSender { waiting: VecDeque::new(), going: None, most, sent: 0, arrived: 0, lost: Vec::new() }
    }

    pub fn add(&mut self, label: L, path: PathBuf) {
        self.waiting.push_back((label, path));
    }

    /// Notes the number of all bytes that have arrived.
    pub fn arrived(&mut self, bytes: u64) {
        self.arrived = bytes;
    }

    /// Stops sending the file with this label, because the receiver cannot take it.
    pub fn give_up(&mut self, label: &L) {
        self.going.take_if(|going| going.label == *label);
    }

    /// Returns true if all files have been sent.
    pub fn are_gone(&self) -> bool {
        self.waiting.is_empty() && self.going.is_none()
    }

    /// Returns the next part, if there is one and the limit allows another part now.
    pub fn next_part(&mut self) -> Option<(L, FilePart)> {
        if self.sent.saturating_sub(self.arrived) >= self.most {
            return None;
        }
        loop {
            let Some(going) = &mut self.going else {
                let (label, path) = self.waiting.pop_front()?;
                match File::open(&path).and_then(|file| Ok((file.metadata()?.len(), file))) {
                    Ok((size, file)) => {
                        let digest = Context::new(&SHA256);
                        self.going = Some(FileInTransit { label, path, file, size, offset: 0, digest });
                    }
                    Err(error) => self.lost.push((label, format!("{}: {error}", path.display()))),
                }
                continue;
            };
            match going.read() {
                Ok(part) => {
                    self.sent += part.bytes.len() as u64;
                    let label = going.label.clone();
                    if part.whole.is_some() {
                        self.going = None;
                    }
                    return Some((label, part));
                }
                Err(error) => {
                    self.lost.push((going.label.clone(), format!("{}: {error}", going.path.display())));
                    self.going = None;
                }
            }
        }
    }
}

impl<L> FileInTransit<L> {
    fn read(&mut self) -> std::io::Result<FilePart> {
        let mut bytes = vec![0; MAX_PIECE];
        let mut read = 0;
        while read < bytes.len() {
            match self.file.read_at(&mut bytes[read..], self.offset + read as u64)? {
                0 => break,
                more => read += more,
            }
        }
        bytes.truncate(read);
        self.digest.update(&bytes);
        let offset = self.offset;
        self.offset += read as u64;
        let whole = if read < MAX_PIECE {
            let mut sha256 = [0; 32];
            sha256.copy_from_slice(self.digest.clone().finish().as_ref());
            Some(FileSummary { sha256, mode: self.file.metadata()?.permissions().mode() & 0o777 })
        } else {
            None
        };
        Ok(FilePart { offset, bytes, size: self.size, whole })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::FileReceiver;

    #[test]
    fn every_file_arrives_as_it_was_and_no_more_is_under_way_than_may_be() {
        let home = std::env::temp_dir().join(format!("ligament-departing-{}", std::process::id()));
        std::fs::create_dir_all(home.join("from")).unwrap();
        let most = 8 * MAX_PIECE as u64;
        let mut out: FileSender<String> = FileSender::new(most);
        let piece = MAX_PIECE as u64;
        for (name, length) in [("large", 3 * most + 100), ("fits", piece), ("empty", 0), ("small", 3)] {
            let bytes: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
            std::fs::write(home.join("from").join(name), bytes).unwrap();
            out.add(name.to_owned(), home.join("from").join(name));
        }
        std::fs::set_permissions(home.join("from/small"), std::fs::Permissions::from_mode(0o751)).unwrap();
        out.add("gone".to_owned(), home.join("from/gone"));
        let (mut arrived, mut whole, mut arriving) = (0, Vec::new(), FileReceiver::default());
        while !out.are_gone() {
            let mut under_way = 0;
            while let Some((name, part)) = out.next_part() {
                under_way += part.bytes.len() as u64;
                if arriving.take(&home.join("to").join(&name), &part, 0o777).unwrap() {
                    whole.push(name);
                }
            }
            assert!(under_way < most + piece);
            arrived += under_way;
            out.arrived(arrived);
        }
        assert_eq!(whole, ["large", "fits", "empty", "small"]);
        for name in &whole {
            let [from, to] = ["from", "to"].map(|where_| std::fs::read(home.join(where_).join(name)).unwrap());
            assert!(from == to, "{name}");
        }
        assert_eq!(std::fs::metadata(home.join("to/small")).unwrap().permissions().mode() & 0o777, 0o751);
        assert_eq!(std::fs::read_dir(home.join("to")).unwrap().count(), 4, "no unfinished file is left");
        assert_eq!(out.lost.len(), 1);
        assert!(out.lost[0].1.contains("from/gone: No such file"), "{:?}", out.lost);
        std::fs::remove_dir_all(&home).unwrap();
    }
}
