//! Writing a checkpoint file. It is written beside its place, synced, and then renamed, so the file is whole
//! or not there.

use crate::record::{padding, FileInfo, RecordKind, FILE_MAGIC, FILE_VERSION, RECORD_HEAD_BYTES};
use ligament_catalogue::{fault, Fault};
use ligament_wire::control::to_bytes;
use ligament_wire::{EncodingPlan, Header};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Number of bytes of a body that are summed and then written, so that they are read from memory once.
const PIECE_BYTES: usize = 1 << 20;
/// Suffix of a file that is not whole yet.
const PART_SUFFIX: &str = "part";

/// A checkpoint file that is being written. If it is dropped before [`CheckpointWriter::finish`], nothing
/// stays of it.
///
/// Calls: [`CheckpointWriter::create`] first, then [`CheckpointWriter::record`] for each record, then
/// [`CheckpointWriter::finish`].
#[derive(Debug)]
pub struct CheckpointWriter {
    file: File,
    path: PathBuf,
    part: PathBuf,
    records: u32,
    is_whole: bool,
}

impl CheckpointWriter {
    /// Creates the file, and its directory if that is missing.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn create(path: &Path, info: &FileInfo) -> Result<CheckpointWriter, Fault> {
        let part = path.with_extension(PART_SUFFIX);
        let made = || -> io::Result<File> {
            if let Some(directory) = path.parent() {
                std::fs::create_dir_all(directory)?;
            }
            let mut options = File::options();
            let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&part)?;
            let mut preamble = [0; crate::record::PREAMBLE_BYTES];
            preamble[..8].copy_from_slice(&FILE_MAGIC);
            preamble[8..12].copy_from_slice(&FILE_VERSION.to_le_bytes());
            file.write_all(&preamble)?;
            Ok(file)
        };
        let file = made().map_err(|error| unwritable(&part, &error))?;
        let mut writer = CheckpointWriter { file, path: path.to_owned(), part, records: 0, is_whole: false };
        let body = to_bytes(info);
        let header = Header { body_len: body.len() as u64, ..Header::default() };
        writer.record(RecordKind::Info, 0, &header, &[&body])?;
        Ok(writer)
    }

    /// Writes a record. The slices of `body` together are the message's body.
    ///
    /// # Errors
    /// The file cannot be written, for example because the disk is full.
    pub fn record(
        &mut self,
        kind: RecordKind,
        number: u32,
        header: &Header,
        body: &[&[u8]],
    ) -> Result<(), Fault> {
        let mut write = || -> io::Result<()> {
            let mut sum = self.begin_record(kind, number, header)?;
            for piece in body.iter().flat_map(|slice| slice.chunks(PIECE_BYTES)) {
                sum = crc32c::crc32c_append(sum, piece);
                self.file.write_all(piece)?;
            }
            self.end_record(sum, header.body_len)
        };
        write().map_err(|error| unwritable(&self.part, &error))
    }

    /// Does the same with a value that is in the caller's memory. `header` gets the lengths of the body.
    ///
    /// # Errors
    /// As `record`.
    pub fn value(
        &mut self,
        kind: RecordKind,
        header: &Header,
        plan: &EncodingPlan<'_, '_>,
    ) -> Result<(), Fault> {
        let header = Header { parts: plan.parts(), body_len: plan.body_len(), ..*header };
        let written = self.write_value(kind, &header, plan);
        written.map_err(|error| unwritable(&self.part, &error))
    }

    fn write_value(
        &mut self,
        kind: RecordKind,
        header: &Header,
        plan: &EncodingPlan<'_, '_>,
    ) -> io::Result<()> {
        let mut sum = self.begin_record(kind, 0, header)?;
        let mut piece = vec![0; PIECE_BYTES.min(header.body_len as usize)];
        let mut at = 0;
        while at < header.body_len {
            let end = (at + PIECE_BYTES as u64).min(header.body_len);
            let piece = &mut piece[..(end - at) as usize];
            plan.copy_range(at..end, piece);
            sum = crc32c::crc32c_append(sum, piece);
            self.file.write_all(piece)?;
            at = end;
        }
        self.end_record(sum, header.body_len)
    }

    fn begin_record(&mut self, kind: RecordKind, number: u32, header: &Header) -> io::Result<u32> {
        let mut head = [0; RECORD_HEAD_BYTES];
        head[0] = kind as u8;
        head[4..8].copy_from_slice(&number.to_le_bytes());
        head[8..].copy_from_slice(&header.without_carrier().to_bytes());
        self.file.write_all(&head)?;
        Ok(crc32c::crc32c(&head))
    }

    fn end_record(&mut self, sum: u32, body_len: u64) -> io::Result<()> {
        let mut tail = [0; 12];
        tail[..4].copy_from_slice(&sum.to_le_bytes());
        self.file.write_all(&tail[..4 + padding(body_len)])?;
        self.records += 1;
        Ok(())
    }

    /// Ends the file, syncs it, and puts it in its place.
    ///
    /// # Errors
    /// As `record`.
    pub fn finish(mut self) -> Result<(), Fault> {
        let records = self.records;
        self.record(RecordKind::End, records, &Header::default(), &[])?;
        let placed = self.file.sync_all().and_then(|()| std::fs::rename(&self.part, &self.path));
        let placed = placed.and_then(|()| match self.path.parent() {
            Some(directory) => File::open(directory)?.sync_all(),
            None => Ok(()),
        });
        placed.map_err(|error| unwritable(&self.path, &error))?;
        self.is_whole = true;
        Ok(())
    }
}

impl Drop for CheckpointWriter {
    fn drop(&mut self) {
        if !self.is_whole {
            let _ = std::fs::remove_file(&self.part);
        }
    }
}

fn unwritable(path: &Path, error: &io::Error) -> Fault {
    fault!(CHECKPOINT_UNWRITABLE, "the checkpoint file {} cannot be written: {error}", path.display())
}
