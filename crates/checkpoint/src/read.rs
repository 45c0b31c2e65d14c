//! Reading a checkpoint file. The file is not trusted: each length is compared with what is there before memory
//! is allocated, and each record with its checksum.

use crate::record::{
    padding, unreadable, FileInfo, MessageRecord, RecordKind, FILE_MAGIC, FILE_VERSION, PREAMBLE_BYTES,
    RECORD_HEAD_BYTES,
};
use ligament_catalogue::Fault;
use ligament_wire::control::from_bytes;
use ligament_wire::{Bytes, Header};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The contents of a checkpoint file.
#[derive(Debug, PartialEq)]
pub struct CheckpointFile {
    pub info: FileInfo,
    /// The records between the information and the end, in their order.
    pub records: Vec<MessageRecord>,
}

/// Reads a checkpoint file.
///
/// # Errors
/// The file cannot be read, is cut short or changed, or has another version.
pub fn read_file(path: &Path) -> Result<CheckpointFile, Fault> {
    let name = path.display().to_string();
    let failed = |error: std::io::Error| unreadable(&name, error);
    let mut file = open_file(path).map_err(failed)?;
    let len = file.metadata().map_err(failed)?.len();
    let mut source =
        Source { name: &name, left: len, is_cut: false, refuse: refuse_checkpoint, from: &mut file };
    source.contents()
}

/// Reads what a checkpoint file says of itself, and none of its messages.
///
/// # Errors
/// As `read_file`, as far as the beginning of the file tells.
pub fn read_info(path: &Path) -> Result<FileInfo, Fault> {
    let name = path.display().to_string();
    let failed = |error: std::io::Error| unreadable(&name, error);
    let mut file = open_file(path).map_err(failed)?;
    let len = file.metadata().map_err(failed)?.len();
    Source { name: &name, left: len, is_cut: false, refuse: refuse_checkpoint, from: &mut file }.info()
}

/// Opens a file. Another thing of that name, such as a pipe, could keep its reader waiting.
pub(crate) fn open_file(path: &Path) -> std::io::Result<File> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "it is no file"));
    }
    File::open(path)
}

fn refuse_checkpoint(name: &str, why: &str) -> Fault {
    unreadable(name, why)
}

/// A file that is being read.
pub(crate) struct Source<'a, R> {
    pub name: &'a str,
    /// Number of bytes that the file still has.
    pub left: u64,
    /// True if the file has ended within a record.
    pub is_cut: bool,
    /// Makes the error for a file that cannot be used.
    pub refuse: fn(&str, &str) -> Fault,
    pub from: R,
}

impl<R: Read> Source<'_, R> {
    fn contents(&mut self) -> Result<CheckpointFile, Fault> {
        let info = self.info()?;
        let mut records = Vec::new();
        loop {
            let record = self.record()?;
            if record.kind != RecordKind::End {
                records.push(record);
                continue;
            }
            if record.number as usize != records.len() + 1 || self.left != 0 {
                return Err(self.refused("it has another number of records than its end says"));
            }
            return Ok(CheckpointFile { info, records });
        }
    }

    fn info(&mut self) -> Result<FileInfo, Fault> {
        self.first(FILE_MAGIC, "it is no checkpoint file")
    }

    /// Reads the beginning of a file, and the information in its first record.
    pub fn first<T: for<'b> minicbor::Decode<'b, ()>>(
        &mut self,
        magic: [u8; 8],
        other: &str,
    ) -> Result<T, Fault> {
        let mut preamble = [0; PREAMBLE_BYTES];
        self.take(&mut preamble)?;
        if preamble[..8] != magic {
            return Err(self.refused(other));
        }
        let version = u32::from_le_bytes([preamble[8], preamble[9], preamble[10], preamble[11]]);
        if version != FILE_VERSION {
            let why = format!("it has version {version} of the format, and this program reads {FILE_VERSION}");
            return Err(self.refused(&why));
        }
        let first = self.record()?;
        if first.kind != RecordKind::Info {
            return Err(self.refused("it does not begin with the information about itself"));
        }
        from_bytes(&first.body).map_err(|error| self.refused(error.text()))
    }

    pub fn record(&mut self) -> Result<MessageRecord, Fault> {
        let mut head = [0; RECORD_HEAD_BYTES];
        self.take(&mut head)?;
        let kind = RecordKind::of(head[0]).ok_or_else(|| self.refused("a record has an unknown kind"))?;
        let number = u32::from_le_bytes([head[4], head[5], head[6], head[7]]);
        let header = Header::from_bytes(&head[8..]).map_err(|error| self.refused(&error.to_string()))?;
        if header.body_len > self.left {
            return Err(self.cut_short());
        }
        let mut body = Vec::new();
        let len = usize::try_from(header.body_len).map_err(|_| self.cut_short())?;
        if body.try_reserve_exact(len).is_err() {
            return Err(self.refused(&format!("there is no memory for a message of {len} bytes")));
        }
        body.resize(len, 0);
        self.take(&mut body)?;
        let mut tail = [0; 12];
        let tail = &mut tail[..4 + padding(header.body_len)];
        self.take(tail)?;
        let sum = crc32c::crc32c_append(crc32c::crc32c(&head), &body);
        // A fuzzer would hardly ever get a checksum right.
        let is_changed = !cfg!(fuzzing) && tail[..4] != sum.to_le_bytes();
        if is_changed || tail[4..].iter().any(|&byte| byte != 0) {
            return Err(self.refused("its checksum is wrong, so it was changed since it was written"));
        }
        Ok(MessageRecord { kind, number, header, body: Bytes::from(body) })
    }

    fn take(&mut self, into: &mut [u8]) -> Result<(), Fault> {
        if into.len() as u64 > self.left {
            return Err(self.cut_short());
        }
        self.left -= into.len() as u64;
        self.from.read_exact(into).map_err(|error| (self.refuse)(self.name, &error.to_string()))
    }

    fn cut_short(&mut self) -> Fault {
        self.is_cut = true;
        self.refused("it is cut short")
    }

    fn refused(&self, why: &str) -> Fault {
        (self.refuse)(self.name, why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::SavePoint;
    use crate::CheckpointWriter;
    use ligament_wire::steering::ModelTime;

    fn scratch(name: &str) -> std::path::PathBuf {
        let directory = std::env::temp_dir().join(format!("ligament-checkpoint-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a directory");
        directory
    }

    fn written(path: &Path, body: &[u8]) -> FileInfo {
        let info = FileInfo {
            instance: "micro[3]".into(),
            run: "r".into(),
            moment: ModelTime(2.5),
            point: SavePoint::WithinPass,
        };
        let mut writer = CheckpointWriter::create(path, &info).expect("a file");
        let header = Header { body_len: body.len() as u64, timestamp: 2.5, ..Header::default() };
        let (one, other) = body.split_at(body.len() / 3);
        writer.record(RecordKind::State, 0, &header, &[one, other]).expect("a record");
        writer.record(RecordKind::UnderWay, 7, &header, &[body]).expect("a record");
        writer.finish().expect("a whole file");
        info
    }

    #[test]
    fn a_file_is_read_as_it_was_written() {
        let directory = scratch("whole");
        for len in [0, 1, 4, 1000, (1 << 20) + 5] {
            let body: Vec<u8> = (0..len).map(|at| at as u8).collect();
            let path = directory.join("a.checkpoint");
            let info = written(&path, &body);
            let file = read_file(&path).expect("it is whole");
            assert_eq!(file.info, info);
            let [state, under_way] = file.records.as_slice() else { panic!("two records") };
            assert_eq!((state.kind, &*state.body, state.header.timestamp), (RecordKind::State, &*body, 2.5));
            assert_eq!((under_way.number, &*under_way.body), (7, &*body));
        }
        std::fs::remove_dir_all(directory).expect("its own directory");
    }

    #[test]
    fn each_change_of_a_byte_and_each_cut_is_noticed() {
        let directory = scratch("changed");
        let path = directory.join("a.checkpoint");
        written(&path, b"the state of a code");
        let whole = std::fs::read(&path).expect("a file");
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 0x10;
            std::fs::write(&path, &changed).expect("written");
            // The four bytes after the version have no meaning yet.
            assert!(read_file(&path).is_err() || (12..16).contains(&at), "byte {at}");
            std::fs::write(&path, &whole[..at]).expect("written");
            assert!(read_file(&path).is_err(), "cut at {at}");
        }
        std::fs::write(&path, [whole.clone(), vec![0]].concat()).expect("written");
        assert!(read_file(&path).is_err(), "a byte more");
        std::fs::remove_dir_all(directory).expect("its own directory");
    }

    #[test]
    fn a_file_that_lacks_a_record_is_noticed() {
        let directory = scratch("record");
        let path = directory.join("a.checkpoint");
        let body = b"some text";
        written(&path, body);
        let whole = std::fs::read(&path).expect("a file");
        let record_bytes = |len: usize| (RECORD_HEAD_BYTES + len + 4).next_multiple_of(8);
        let end = whole.len() - record_bytes(0);
        let begin = end - record_bytes(body.len());
        std::fs::write(&path, [&whole[..begin], &whole[end..]].concat()).expect("written");
        let error = read_file(&path).expect_err("the message under way is missing");
        assert!(error.text().contains("another number of records"), "{}", error.text());
        std::fs::remove_dir_all(directory).expect("its own directory");
    }

    #[test]
    fn a_file_that_is_not_finished_leaves_nothing() {
        let directory = scratch("dropped");
        let path = directory.join("a.checkpoint");
        let info = FileInfo {
            instance: "a".into(),
            run: "r".into(),
            moment: ModelTime(0.0),
            point: SavePoint::BetweenPasses,
        };
        drop(CheckpointWriter::create(&path, &info).expect("a file"));
        assert_eq!(std::fs::read_dir(&directory).expect("a directory").count(), 0);
        std::fs::remove_dir_all(directory).expect("its own directory");
    }
}
