//! What the instances of a domain wrote, on its way to the run directory where that is another file system: everything in
//! their directories, in pieces, of which a few are under way at a time.

use ligament_wire::domains::{Piece, FILES_UNDER_WAY, MAX_PIECE};
use std::collections::VecDeque;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A file that is still to go: whose, what it is called below the directory of the instance's process, and where it is.
struct Waiting {
    instance: u32,
    name: String,
    path: PathBuf,
}

/// Files on their way.
#[derive(Default)]
pub struct Files {
    waiting: VecDeque<Waiting>,
    /// The file that is going, and how much of it has gone.
    going: Option<(Waiting, File, u64)>,
    sent: u64,
    arrived: u64,
    /// What could not be read, and why: instance, text.
    pub lost: Vec<(u32, String)>,
}

impl Files {
    /// Everything below the directory of an instance's process.
    pub fn add_all(&mut self, instance: u32, home: &Path) {
        let mut below = vec![PathBuf::new()];
        while let Some(directory) = below.pop() {
            let place = home.join(&directory);
            let entries = match std::fs::read_dir(&place) {
                Ok(entries) => entries,
                Err(error) => {
                    self.lost.push((instance, format!("{}: {error}", place.display())));
                    continue;
                }
            };
            for entry in entries.flatten() {
                let name = directory.join(entry.file_name());
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => below.push(name),
                    Ok(kind) if kind.is_file() => match name.to_str() {
                        Some(text) => {
                            let (name, path) = (text.to_owned(), entry.path());
                            self.waiting.push_back(Waiting { instance, name, path });
                        }
                        None => self
                            .lost
                            .push((instance, format!("{}: its name is not UTF-8", entry.path().display()))),
                    },
                    // Links and the like mean nothing elsewhere.
                    _ => {}
                }
            }
        }
    }

    /// So many bytes have arrived, in all.
    pub fn arrived(&mut self, bytes: u64) {
        self.arrived = bytes;
    }

    /// Whether all has gone.
    pub fn are_gone(&self) -> bool {
        self.waiting.is_empty() && self.going.is_none()
    }

    /// The next piece, if there is one and it may go now.
    pub fn next_piece(&mut self) -> Option<Piece> {
        if self.sent.saturating_sub(self.arrived) >= FILES_UNDER_WAY {
            return None;
        }
        loop {
            let Some((waiting, file, offset)) = &mut self.going else {
                let next = self.waiting.pop_front()?;
                match File::open(&next.path) {
                    Ok(file) => self.going = Some((next, file, 0)),
                    Err(error) => self.lost.push((next.instance, format!("{}: {error}", next.path.display()))),
                }
                continue;
            };
            let mut bytes = vec![0; MAX_PIECE];
            let read = match file.read_at(&mut bytes, *offset) {
                Ok(read) => read,
                Err(error) => {
                    self.lost.push((waiting.instance, format!("{}: {error}", waiting.path.display())));
                    self.going = None;
                    continue;
                }
            };
            bytes.truncate(read);
            // An empty file is a file too.
            let piece = (read > 0 || *offset == 0).then(|| Piece {
                instance: waiting.instance,
                path: waiting.name.clone(),
                offset: *offset,
                bytes,
            });
            *offset += read as u64;
            self.sent += read as u64;
            if read < MAX_PIECE {
                self.going = None;
            }
            if piece.is_some() {
                return piece;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_goes_in_pieces_and_no_more_are_under_way_than_may_be() {
        let home = std::env::temp_dir().join(format!("ligament-files-{}", std::process::id()));
        std::fs::create_dir_all(home.join("workdir/deep")).unwrap();
        let large: Vec<u8> = (0..FILES_UNDER_WAY + 100).map(|i| (i % 251) as u8).collect();
        std::fs::write(home.join("workdir/deep/large"), &large).unwrap();
        std::fs::write(home.join("output.log"), "said\n").unwrap();
        std::fs::write(home.join("workdir/empty"), "").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", home.join("link")).unwrap();
        let mut files = Files::default();
        files.add_all(7, &home);
        let mut got: std::collections::BTreeMap<String, Vec<u8>> = Default::default();
        let mut arrived = 0;
        while !files.are_gone() {
            let mut under_way = 0;
            while let Some(piece) = files.next_piece() {
                assert_eq!(piece.instance, 7);
                let file = got.entry(piece.path).or_default();
                assert_eq!(file.len() as u64, piece.offset);
                under_way += piece.bytes.len() as u64;
                file.extend(piece.bytes);
            }
            assert!(under_way < FILES_UNDER_WAY + MAX_PIECE as u64);
            arrived += under_way;
            files.arrived(arrived);
        }
        std::fs::remove_dir_all(&home).unwrap();
        assert_eq!(got.len(), 3);
        assert_eq!(got["output.log"], b"said\n");
        assert!(got["workdir/empty"].is_empty() && got["workdir/deep/large"] == large && files.lost.is_empty());
    }
}
