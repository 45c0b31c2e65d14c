//! Entry points for fuzz targets. They test how either end of a copy reads bytes from the other end.

use crate::channel::MessageChannel;
use crate::entry::{EntryKind, Stamp};
use crate::names;
use crate::protocol::{read, FileMessage, FilePiece, Word, VERSION};
use crate::receive::{receive, ReceiveOptions};
use crate::send::{send, SendOptions};
use crate::tally::CopyTally;
use ligament_catalogue::{fault, Fault};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The other end of the channel. It sends the given messages, and is gone after the last one.
struct Other(Mutex<VecDeque<Vec<u8>>>);

impl MessageChannel for Other {
    fn send(&self, message: Vec<u8>) -> Result<(), Fault> {
        assert!(read(&message).is_ok(), "what is said can be read");
        Ok(())
    }

    fn receive(&self, _: Option<Duration>) -> Result<Option<Vec<u8>>, Fault> {
        let next = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        next.map(Some).ok_or_else(|| fault!(COPY_CUT, "it has said all"))
    }

    fn under_way(&self) -> u64 {
        0
    }

    fn is_there(&self) -> Result<(), Fault> {
        if self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty() {
            Err(fault!(COPY_CUT, "it is gone"))
        } else {
            Ok(())
        }
    }
}

/// Returns the messages in the bytes. Each message follows its length of two bytes.
fn messages(mut bytes: &[u8]) -> VecDeque<Vec<u8>> {
    let mut all = VecDeque::new();
    while let Some((length, rest)) = bytes.split_first_chunk::<2>() {
        let (message, rest) = rest.split_at(rest.len().min(usize::from(u16::from_le_bytes(*length))));
        all.push_back(message.to_vec());
        bytes = rest;
    }
    all
}

/// Makes a new directory for this process, with the directories `in` and `out`, and some files to send.
fn place() -> PathBuf {
    let place = std::env::temp_dir().join(format!("ligament-fuzz-files-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&place);
    for name in ["in", "out", "from"] {
        std::fs::create_dir_all(place.join(name)).expect("there is room for a directory");
    }
    for (name, bytes) in [("a", &b"abc"[..]), ("b", b""), (".c.ligament-part", b"ab")] {
        std::fs::write(place.join("from").join(name), bytes).expect("there is room for a file");
    }
    std::fs::write(place.join("in/.f.ligament-part"), b"ab").expect("there is room for a file");
    place
}

/// Reads one message. A word must be the same after it is written and read again, and the pieces of a pack
/// must lie within the message.
pub fn message(bytes: &[u8]) {
    match read(bytes) {
        Ok(FileMessage::Word(word)) => match read(&word.to_bytes()) {
            Ok(FileMessage::Word(again)) => assert_eq!(again, word),
            _ => panic!("a word that is written is read as another message"),
        },
        Ok(FileMessage::Pieces(pieces)) => {
            let many = bytes.len();
            let lengths = pieces.flatten().map(|(_, piece)| match piece {
                FilePiece::Bytes(bytes) => bytes.len(),
                FilePiece::Hole(_) | FilePiece::Anew | FilePiece::Whole(..) => 0,
            });
            assert!(lengths.sum::<usize>() <= many);
        }
        Err(_) => {}
    }
}

/// Sends the messages to a receiver, after an entry for a file that an interrupted copy has left. The
/// receiver must write nothing outside its directory.
pub fn receiver(bytes: &[u8]) {
    let place = place();
    let stamp = Stamp { size: 3, seconds: 1, nanos: 0, mode: 0o644 };
    let entry = crate::entry::DirectoryEntry {
        id: 1,
        kind: EntryKind::File,
        name: b"f".to_vec(),
        stamp,
        target: Vec::new(),
    };
    let mut says = messages(bytes);
    says.push_front(Word::Entries(vec![entry]).to_bytes());
    says.push_front(Word::Begin { version: VERSION, several: false, contents: true }.to_bytes());
    let options =
        ReceiveOptions { into: place.join("in"), delete: bytes.len() % 2 == 0, ..ReceiveOptions::default() };
    let _ = receive(&Other(Mutex::new(says)), &options, &CopyTally::default());
    let left: Vec<_> = std::fs::read_dir(place.join("out")).expect("it is there").collect();
    assert!(left.is_empty(), "nothing is written outside: {left:?}");
    assert_eq!(std::fs::read(place.join("from/a")).ok().as_deref(), Some(&b"abc"[..]));
}

/// Sends the messages to a sender.
pub fn sender(bytes: &[u8]) {
    let place = place();
    let options = SendOptions { sources: vec![place.join("from")], contents: true, ..SendOptions::default() };
    let _ = send(&Other(Mutex::new(messages(bytes))), &options, &CopyTally::default());
}

/// Reads the bytes as a name. A name that is accepted must stay below its directory.
pub fn name(bytes: &[u8]) {
    let partial = names::partial(names::split(bytes).1);
    assert!(names::is_partial(&partial) && partial.len() <= 255);
    if names::wrong(bytes).is_none() {
        let mut parts = bytes.split(|&byte| byte == b'/');
        assert!(parts.all(|part| !part.is_empty() && part != b"." && part != b".." && !part.contains(&0)));
    }
}
