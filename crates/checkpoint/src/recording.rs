//! A recording: the answers of the run to all calls of one instance, in their order, and the messages that the
//! instance has sent. A program can be replayed from it alone. The file has the form of a checkpoint file. Each
//! record is written at once, so the recording of a program that was killed can be read up to its last call.

use crate::read::Source;
use crate::record::{padding, MessageRecord, RecordKind, FILE_VERSION, PREAMBLE_BYTES, RECORDING_MAGIC};
use crate::record::{unreadable_recording as unreadable, RECORD_HEAD_BYTES};
use ligament_catalogue::{fault, Fault};
use ligament_wire::control::{from_bytes, to_bytes, PortDeclaration, Welcome};
use ligament_wire::steering::ModelTime;
use ligament_wire::Header;
use minicbor::{Decode, Encode};
use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Number of bytes of a body that are written together.
const PIECE_BYTES: u64 = 1 << 20;

/// Information about a recording, which is its first record.
#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub struct RecordingInfo {
    /// The instance, with its rank if its ranks speak for themselves, as in `micro[3]` or `flow:2`.
    #[n(0)]
    pub instance: String,
    /// Version of the protocol between the instance and its agent.
    #[n(1)]
    pub protocol: u32,
    /// Language of the program.
    #[n(2)]
    pub language: String,
    /// The ports that the program has declared. `None` if it takes those of the model.
    #[n(3)]
    pub ports: Option<Vec<PortDeclaration>>,
    /// The data with which the agent has admitted the instance.
    #[n(4)]
    pub welcome: Welcome,
}

/// A call that is neither a message sent nor one taken, with its answer.
#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub enum RecordedCall {
    /// The question whether something has arrived on a channel, asked `times` times with the same answer.
    #[n(0)]
    Poll {
        #[n(0)]
        ready: bool,
        #[n(1)]
        times: u64,
    },
    /// The question whether the next item of a channel is its end.
    #[n(1)]
    NextIsEnd {
        #[n(0)]
        end: Option<bool>,
    },
    /// A wait for any of several channels. The answer is the channel of the record.
    #[n(2)]
    WaitAny {
        #[n(0)]
        channels: Vec<u32>,
    },
    /// Steering, at a model time in s. `pass` is true if it is that of a pass. The answer has settings.
    #[n(3)]
    Steer {
        #[n(0)]
        pass: bool,
        #[n(1)]
        time: ModelTime,
        #[n(2)]
        changes: Vec<minicbor::bytes::ByteVec>,
    },
    /// The question whether receivers know an overlay of settings.
    #[n(4)]
    KnowsOverlay {
        #[n(0)]
        number: u32,
        #[n(1)]
        known: bool,
    },
    /// The end of a channel, within a pass or not.
    #[n(5)]
    EndChannel {
        #[n(0)]
        within_pass: bool,
    },
    /// The end of the instance.
    #[n(6)]
    Over {
        #[n(0)]
        failed: bool,
    },
    /// The failure of a call. `before` is true if that is the call of the record before: a message sent, or the
    /// end of a channel.
    #[n(7)]
    Failed {
        #[n(0)]
        failure: CallFailure,
        #[n(1)]
        before: bool,
    },
}

/// The reason why a call has failed.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum CallFailure {
    #[n(0)]
    TimedOut,
    #[n(1)]
    Interrupted,
    #[n(2)]
    AgentGone,
    #[n(3)]
    RunEnds(#[n(0)] String),
    #[n(4)]
    TooLarge {
        #[n(0)]
        bytes: u64,
        #[n(1)]
        limit: u64,
    },
    /// Any other reason, in words.
    #[n(5)]
    Other(#[n(0)] String),
}

/// The parts of a record to be written: `body` fills its memory with a range of the body.
pub struct Recording<F: Fn(Range<u64>, &mut [u8])> {
    pub kind: RecordKind,
    /// The number in the record's tag.
    pub number: u32,
    /// The header, with the length of the body.
    pub header: Header,
    pub body: F,
}

/// A recording that is being written.
///
/// Calls: [`RecordingWriter::create`] first, then [`RecordingWriter::record`] or [`RecordingWriter::call`] for
/// each record, then [`RecordingWriter::finish`]. After an error, nothing more must be written.
#[derive(Debug)]
pub struct RecordingWriter {
    file: File,
    path: PathBuf,
    records: u32,
    piece: Vec<u8>,
}

impl RecordingWriter {
    /// Creates the file, and its directory if that is missing.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn create(path: &Path, info: &RecordingInfo) -> Result<RecordingWriter, Fault> {
        let made = || -> io::Result<File> {
            if let Some(directory) = path.parent() {
                std::fs::create_dir_all(directory)?;
            }
            let mut options = File::options();
            let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
            let mut preamble = [0; PREAMBLE_BYTES];
            preamble[..8].copy_from_slice(&RECORDING_MAGIC);
            preamble[8..12].copy_from_slice(&FILE_VERSION.to_le_bytes());
            file.write_all(&preamble)?;
            Ok(file)
        };
        let file = made().map_err(|error| unwritable(path, &error))?;
        let mut writer = RecordingWriter { file, path: path.to_owned(), records: 0, piece: Vec::new() };
        writer.encoded(RecordKind::Info, 0, &to_bytes(info))?;
        Ok(writer)
    }

    /// Writes a call with its answer.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn call(&mut self, number: u32, call: &RecordedCall) -> Result<(), Fault> {
        self.encoded(RecordKind::Call, number, &to_bytes(call))
    }

    fn encoded(&mut self, kind: RecordKind, number: u32, body: &[u8]) -> Result<(), Fault> {
        let header = Header { body_len: body.len() as u64, ..Header::default() };
        let copy = |range: Range<u64>, to: &mut [u8]| {
            to.copy_from_slice(&body[range.start as usize..range.end as usize]);
        };
        self.record(&Recording { kind, number, header, body: copy })
    }

    /// Writes a record.
    ///
    /// # Errors
    /// The file cannot be written, for example because the disk is full.
    pub fn record<F: Fn(Range<u64>, &mut [u8])>(&mut self, record: &Recording<F>) -> Result<(), Fault> {
        self.write(record).map_err(|error| unwritable(&self.path, &error))
    }

    fn write<F: Fn(Range<u64>, &mut [u8])>(&mut self, record: &Recording<F>) -> io::Result<()> {
        let mut head = [0; RECORD_HEAD_BYTES];
        head[0] = record.kind as u8;
        head[4..8].copy_from_slice(&record.number.to_le_bytes());
        head[8..].copy_from_slice(&record.header.without_carrier().to_bytes());
        let len = record.header.body_len;
        let mut sum = crc32c::crc32c(&head);
        self.piece.clear();
        self.piece.extend_from_slice(&head);
        let mut at = 0;
        while at < len {
            let end = (at + PIECE_BYTES).min(len);
            let before = self.piece.len();
            self.piece.resize(before + (end - at) as usize, 0);
            (record.body)(at..end, &mut self.piece[before..]);
            sum = crc32c::crc32c_append(sum, &self.piece[before..]);
            at = end;
            if at < len {
                self.file.write_all(&self.piece)?;
                self.piece.clear();
            }
        }
        self.piece.extend_from_slice(&sum.to_le_bytes());
        self.piece.resize(self.piece.len() + padding(len), 0);
        self.file.write_all(&self.piece)?;
        self.records = self.records.wrapping_add(1);
        Ok(())
    }

    /// Ends the file. A file without this end counts as cut short.
    ///
    /// # Errors
    /// As `record`.
    pub fn finish(mut self) -> Result<(), Fault> {
        let records = self.records;
        let header = Header::default();
        self.record(&Recording { kind: RecordKind::End, number: records, header, body: |_, _: &mut [u8]| {} })
    }
}

/// The next item of a recording.
#[derive(Debug)]
pub enum RecordingItem {
    Message(MessageRecord),
    /// A call, and the number in its record's tag.
    Call(u32, RecordedCall),
    /// The end of a whole recording.
    End,
    /// The end of a recording that was cut short.
    Cut,
}

/// A recording that is being read.
#[derive(Debug)]
pub struct RecordingReader {
    name: String,
    file: File,
    left: u64,
    records: u32,
    is_over: bool,
    /// Information about the recording.
    pub info: RecordingInfo,
}

impl RecordingReader {
    /// Opens a recording and reads what it says of itself.
    ///
    /// # Errors
    /// The file cannot be read, is no recording, or has another version.
    pub fn open(path: &Path) -> Result<RecordingReader, Fault> {
        let name = path.display().to_string();
        let failed = |error: io::Error| unreadable(&name, error);
        let file = crate::read::open_file(path).map_err(failed)?;
        let len = file.metadata().map_err(failed)?.len();
        let mut source = Source { name: &name, left: len, is_cut: false, refuse, from: &file };
        let info: RecordingInfo = source.first(RECORDING_MAGIC, "it is no recording")?;
        let left = source.left;
        let known = ligament_wire::control::PROTOCOL;
        if info.protocol != known {
            let why =
                format!("the program spoke version {} of the protocol, and this one {known}", info.protocol);
            return Err(unreadable(&name, why));
        }
        Ok(RecordingReader { name, file, left, records: 1, is_over: false, info })
    }

    /// Returns the next item. After `End` or `Cut` it is `End`.
    ///
    /// # Errors
    /// The file cannot be read, or was changed.
    pub fn next_item(&mut self) -> Result<RecordingItem, Fault> {
        if self.is_over {
            return Ok(RecordingItem::End);
        }
        let mut source = Source { name: &self.name, left: self.left, is_cut: false, refuse, from: &self.file };
        let read = source.record();
        (self.left, self.is_over) = (source.left, source.is_cut);
        let record = match read {
            Ok(record) => record,
            Err(_) if source.is_cut => return Ok(RecordingItem::Cut),
            Err(fault) => return Err(fault),
        };
        match record.kind {
            RecordKind::End if record.number != self.records || self.left != 0 => {
                Err(unreadable(&self.name, "it has another number of records than its end says"))
            }
            RecordKind::End => {
                self.is_over = true;
                Ok(RecordingItem::End)
            }
            RecordKind::Call => {
                self.records = self.records.wrapping_add(1);
                let call = from_bytes(&record.body).map_err(|error| unreadable(&self.name, error.text()))?;
                Ok(RecordingItem::Call(record.number, call))
            }
            RecordKind::Sent | RecordKind::Taken | RecordKind::Overlay => {
                self.records = self.records.wrapping_add(1);
                Ok(RecordingItem::Message(record))
            }
            _ => Err(unreadable(&self.name, "it has a record that belongs to no recording")),
        }
    }
}

fn refuse(name: &str, why: &str) -> Fault {
    unreadable(name, why)
}

fn unwritable(path: &Path, error: &io::Error) -> Fault {
    fault!(RECORDING_STOPPED, "the recording {} cannot be written: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ligament_wire::EndpointId;

    fn info() -> RecordingInfo {
        RecordingInfo {
            instance: "micro[3]".into(),
            protocol: ligament_wire::control::PROTOCOL,
            language: "c".into(),
            ports: None,
            welcome: Welcome {
                endpoint: EndpointId::new(2),
                channels: 0,
                inboxes: 0,
                ports: Vec::new(),
                sends: Vec::new(),
                receives: Vec::new(),
                settings: Vec::new(),
                pinned_limit: 0,
                log_level: 0,
                run: "r".into(),
                light: None,
                hears_use: None,
                rank: None,
                filters: None,
                schedule: None,
                clock: None,
                grid: None,
                checkpoints: None,
                recording: Some("records".into()),
            },
        }
    }

    fn scratch(name: &str) -> PathBuf {
        let directory = std::env::temp_dir().join(format!("ligament-recording-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a directory");
        directory
    }

    /// Writes a recording with a message that was sent, a call, and perhaps the end.
    fn written(path: &Path, body: &[u8], ends: bool) {
        let mut writer = RecordingWriter::create(path, &info()).expect("a file");
        let header = Header { body_len: body.len() as u64, timestamp: 2.5, ..Header::default() };
        let copy = |range: Range<u64>, to: &mut [u8]| {
            to.copy_from_slice(&body[range.start as usize..range.end as usize]);
        };
        writer.record(&Recording { kind: RecordKind::Sent, number: 7, header, body: copy }).expect("a record");
        writer.call(3, &RecordedCall::Poll { ready: true, times: 5 }).expect("a record");
        if ends {
            writer.finish().expect("an end");
        }
    }

    /// Returns the number of items before the end, and whether the file was cut short.
    fn read(path: &Path) -> Result<(usize, bool), Fault> {
        let mut reader = RecordingReader::open(path)?;
        let mut count = 0;
        loop {
            match reader.next_item()? {
                RecordingItem::End => return Ok((count, false)),
                RecordingItem::Cut => return Ok((count, true)),
                RecordingItem::Message(_) | RecordingItem::Call(..) => count += 1,
            }
        }
    }

    #[test]
    fn a_recording_is_read_as_it_was_written() {
        let directory = scratch("whole");
        let path = directory.join("a.recording");
        for len in [0, 1, 1000, (3 << 20) + 5] {
            let body: Vec<u8> = (0..len).map(|at| at as u8).collect();
            written(&path, &body, true);
            let mut reader = RecordingReader::open(&path).expect("it is whole");
            assert_eq!(reader.info, info());
            let Ok(RecordingItem::Message(sent)) = reader.next_item() else { panic!("a message") };
            assert_eq!((sent.kind, sent.number, &*sent.body), (RecordKind::Sent, 7, &*body));
            let Ok(RecordingItem::Call(3, call)) = reader.next_item() else { panic!("a call") };
            assert_eq!(call, RecordedCall::Poll { ready: true, times: 5 });
            assert!(matches!(reader.next_item(), Ok(RecordingItem::End)));
            assert!(matches!(reader.next_item(), Ok(RecordingItem::End)));
        }
        std::fs::remove_dir_all(directory).expect("its own directory");
    }

    #[test]
    fn each_change_of_a_byte_is_noticed_and_each_cut_ends_the_recording() {
        let directory = scratch("changed");
        let path = directory.join("a.recording");
        written(&path, b"a message", false);
        assert_eq!(read(&path).expect("as far as it goes"), (2, true));
        written(&path, b"a message", true);
        let whole = std::fs::read(&path).expect("a file");
        assert_eq!(read(&path).expect("it is whole"), (2, false));
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 0x10;
            std::fs::write(&path, &changed).expect("written");
            // The four bytes after the version have no meaning yet. A longer body counts as cut short.
            let found = read(&path);
            assert!(!matches!(found, Ok((_, false))) || (12..16).contains(&at), "byte {at}");
            std::fs::write(&path, &whole[..at]).expect("written");
            assert!(!matches!(read(&path), Ok((_, false))), "cut at {at}");
        }
        std::fs::remove_dir_all(directory).expect("its own directory");
    }
}
