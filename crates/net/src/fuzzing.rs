//! Entry points for fuzz targets: everything here that parses bytes from strangers.

use crate::codec::Codec;
use crate::greeting::{welcomed, Hello, HELLO_BYTES, WELCOME_BYTES};
use crate::keys::RunKeys;
use crate::relay::greeting::{is_challenge, Ask, ASK_BYTES, CHALLENGE_BYTES};
use crate::secure::Security;
use crate::stream_reader::StreamReader;
use crate::tls::Tls;
use crate::{Compression, MessageId, MessageStore, Nanos};
use ligament_catalogue::{Code, Fault};
use ligament_path::Path;
use std::io::IoSliceMut;

/// Reads bytes as a greeting, both as they are and with a valid proof.
pub fn greeting(bytes: &[u8]) {
    let keys = RunKeys::from_secret([7; 32]);
    let prover = keys.prover();
    if let Some(hello) = bytes.first_chunk::<HELLO_BYTES>() {
        assert!(Hello::decode(hello, &keys, &prover).is_err(), "nobody guesses a proof");
        let mut proved = *hello;
        proved[..12].copy_from_slice(b"LIGAMENT\x01\0\0\0");
        proved[16..32].copy_from_slice(&keys.run());
        let tag = prover.prove("hello", &[&proved[..96]]);
        proved[96..].copy_from_slice(&tag);
        if let Ok(read) = Hello::decode(&proved, &keys, &prover) {
            assert_eq!(read.encode(&keys, &prover), proved, "what is read is written the same");
        }
        // A greeting with the flag for a last word.
        proved[12] = 2;
        let tag = prover.prove("hello", &[&proved[..96]]);
        proved[96..].copy_from_slice(&tag);
        if let Ok(read) = Hello::decode(&proved, &keys, &prover) {
            assert!(read.last_word, "the flag is heard");
        }
        if let Some(welcome) = bytes[HELLO_BYTES..].first_chunk::<WELCOME_BYTES>() {
            assert_eq!(welcomed(&prover, hello, welcome), None);
        }
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        if let Ok(invitation) = crate::Invitation::from_text(text) {
            assert_eq!(crate::Invitation::from_text(&invitation.to_text()), Ok(invitation));
        }
    }
}

/// Reads bytes as a request to a relay, both as they are and with a valid proof.
pub fn relay(bytes: &[u8]) {
    let prover = RunKeys::from_secret([7; 32]).prover();
    if let Some(ask) = bytes.first_chunk::<ASK_BYTES>() {
        assert!(Ask::decode(ask, &prover).is_err(), "nobody guesses a proof");
        let mut proved = *ask;
        proved[..12].copy_from_slice(b"LIGRELAY\x01\0\0\0");
        let tag = prover.prove("ask", &[&proved[..88]]);
        proved[88..].copy_from_slice(&tag);
        if let Ok(read) = Ask::decode(&proved, &prover) {
            assert_eq!(read.encode(&prover), proved, "what is read is written the same");
        }
        if let Some(challenge) = bytes[ASK_BYTES..].first_chunk::<CHALLENGE_BYTES>() {
            assert!(!is_challenge(&prover, ask, challenge));
        }
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        if let Ok(station) = crate::Station::from_text(text) {
            assert_eq!(crate::Station::from_text(&station.to_text()), Ok(station));
        }
    }
}

/// Reads bytes as messages about circuits from the other relay of a trunk.
pub fn trunk(bytes: &[u8]) {
    crate::relay::trunk::fuzzing::circuits(bytes);
}

/// Reads bytes as frames of a stream, in parts of `part` bytes.
pub fn frames(bytes: &[u8], part: usize, path: &mut Path, cargo: &mut dyn MessageStore, now: Nanos) {
    let mut incoming = StreamReader::new();
    let mut codec = Codec::new(Compression::Never);
    path.stream_up(0, 1, now);
    for part in bytes.chunks(part.max(1)) {
        if incoming.try_on(part, path, &mut codec, cargo, now).is_err() {
            break;
        }
    }
}

/// Reads bytes, in parts of `part` bytes, as a handshake, at either end.
pub fn handshake(bytes: &[u8], part: usize) {
    let security = Security::new(&RunKeys::from_secret([7; 32]));
    for mut end in [security.dialler(), security.listener()].into_iter().flatten() {
        assert_eq!(given(&mut end, bytes, part), 0, "nobody has said anything yet");
    }
}

/// Reads bytes, in parts of `part` bytes, as records on a connection after the handshake.
pub fn records(bytes: &[u8], part: usize) {
    let security = Security::new(&RunKeys::from_secret([7; 32]));
    let (Ok(mut one), Ok(mut other)) = (security.dialler(), security.listener()) else { return };
    while !one.unsent().is_empty() || !other.unsent().is_empty() {
        pass(&mut one, &mut other);
        pass(&mut other, &mut one);
    }
    for mut end in [one, other] {
        assert_eq!(given(&mut end, bytes, part), 0, "nobody guesses a seal");
    }
}

/// Passes the output of one end on to the other.
fn pass(from: &mut Tls, to: &mut Tls) {
    while !from.unsent().is_empty() {
        let room = to.room();
        let some = from.unsent().len().min(room.len());
        room[..some].copy_from_slice(&from.unsent()[..some]);
        from.sent(some);
        to.came(some).expect("they hold the same keys");
    }
}

/// Returns the number of bytes of content that an end accepts when these bytes arrive.
fn given(end: &mut Tls, bytes: &[u8], part: usize) -> usize {
    let mut taken = 0;
    let mut into = [0; 4096];
    for part in bytes.chunks(part.max(1)) {
        let room = end.room();
        let some = part.len().min(room.len());
        room[..some].copy_from_slice(&part[..some]);
        if end.came(some).is_err() {
            break;
        }
        match end.take(&mut [IoSliceMut::new(&mut into)]) {
            Ok(bytes) => taken += bytes,
            Err(_) => break,
        }
    }
    taken
}

/// A message store with memory for at most 8 MiB of arriving messages.
#[derive(Default)]
pub struct Store {
    messages: std::collections::HashMap<MessageId, Vec<u8>>,
    bytes: u64,
}

impl MessageStore for Store {
    fn slices<'a>(&'a self, _: u32, _: MessageId, _: u64, _: u32, _: &mut Vec<std::io::IoSlice<'a>>) {}

    fn begin(&mut self, _: u32, id: MessageId, total: u64) -> Result<(), Fault> {
        self.bytes = self.bytes.saturating_add(total);
        if self.bytes > 8 << 20 {
            return Err(Fault::new(Code::NO_MEMORY_FOR_OTHERS, "there is no more memory"));
        }
        assert!(self.messages.insert(id, vec![0; total as usize]).is_none(), "memory is asked for once");
        Ok(())
    }

    fn room(&mut self, _: u32, id: MessageId, offset: u64, len: u32) -> &mut [u8] {
        let message = self.messages.get_mut(&id).expect("it has begun");
        &mut message[offset as usize..][..len as usize]
    }

    fn deliver(&mut self, _: u32, _: MessageId) {}
    fn release(&mut self, _: u32, _: MessageId) {}
    fn credit(&mut self, _: u32, _: u32, _: u64) {}
}
