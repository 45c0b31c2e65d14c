//! Entry points for fuzz targets: everything here that reads files.

use crate::read::{refuse_checkpoint, Source};
use crate::{MessageRecord, RecordingItem, RecordingReader};
use ligament_wire::{decode_body, Limits};

/// Reads bytes as a checkpoint file, and the values of its messages.
pub fn checkpoint(bytes: &[u8]) {
    let left = bytes.len() as u64;
    let mut source = Source { name: "a file", left, is_cut: false, refuse: refuse_checkpoint, from: bytes };
    let Ok(file) = source.contents() else { return };
    file.records.into_iter().for_each(value);
}

/// Reads bytes as a recording, up to its end or the first item that cannot be read.
pub fn recording(bytes: &[u8]) {
    let Ok(mut reader) = RecordingReader::begin("a file".into(), bytes.len() as u64, bytes) else { return };
    // Each record has more bytes than one.
    for _ in 0..=bytes.len() {
        match reader.next_item() {
            Ok(RecordingItem::Message(record)) => value(record),
            Ok(RecordingItem::Call(..)) => {}
            Ok(RecordingItem::End | RecordingItem::Cut) => {
                assert!(matches!(reader.next_item(), Ok(RecordingItem::End)), "a recording ends once");
                return;
            }
            Err(_) => return,
        }
    }
    panic!("a recording has an end");
}

fn value(record: MessageRecord) {
    assert_eq!(record.body.len() as u64, record.header.body_len);
    let _ = decode_body(record.header.parts, record.body, &Limits::default());
}
