//! Checkpoint files and recordings with any contents: what a file says of itself, its records, and the values in
//! these: the states of the code and of the library, messages that were under way, and recorded calls.
//! Checksums are not compared here. The readers take files, so each input is written to one.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ligament_checkpoint::{read_file, read_info, MessageRecord, RecordingItem, RecordingReader};
use ligament_wire::{decode_body, Limits};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

static FILE: LazyLock<PathBuf> =
    LazyLock::new(|| std::env::temp_dir().join(format!("ligament-fuzz-{}", std::process::id())));

fn decode(record: MessageRecord) {
    assert_eq!(record.body.len() as u64, record.header.body_len);
    let _ = decode_body(record.header.parts, record.body, &Limits::default());
}

fn read_checkpoint(path: &Path) {
    let info = read_info(path);
    let Ok(file) = read_file(path) else { return };
    assert_eq!(info.expect("the file is whole, so its beginning is"), file.info);
    file.records.into_iter().for_each(decode);
}

/// Reads a recording to its end. Each item takes bytes of the file, so their number is limited.
fn read_recording(path: &Path, bytes: usize) {
    let Ok(mut reader) = RecordingReader::open(path) else { return };
    for _ in 0..=bytes {
        match reader.next_item() {
            Ok(RecordingItem::Message(record)) => decode(record),
            Ok(RecordingItem::Call(..)) => {}
            Ok(RecordingItem::End | RecordingItem::Cut) | Err(_) => return,
        }
    }
    panic!("the recording has more items than bytes");
}

fuzz_target!(|bytes: &[u8]| {
    std::fs::write(&*FILE, bytes).expect("a file in the directory for temporary files");
    read_checkpoint(&FILE);
    read_recording(&FILE, bytes.len());
    std::fs::remove_file(&*FILE).expect("its own file");
});
