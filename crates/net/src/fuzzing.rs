//! What fuzz targets try: everything here that reads what strangers may have said.

use crate::codec::Codec;
use crate::greeting::{welcomed, Hello, HELLO_BYTES, WELCOME_BYTES};
use crate::incoming::Incoming;
use crate::keys::RunKeys;
use crate::{Cargo, Compression, MessageId, Nanos};
use ligament_path::Path;

/// Reads bytes as a greeting, as they are and with the proof that would belong to them.
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

/// Reads bytes as frames of a stream, in parts of `part` bytes.
pub fn frames(bytes: &[u8], part: usize, path: &mut Path, cargo: &mut dyn Cargo, now: Nanos) {
    let mut incoming = Incoming::new();
    let mut codec = Codec::new(Compression::Never);
    path.stream_up(0, 1, now);
    for part in bytes.chunks(part.max(1)) {
        if incoming.try_on(part, path, &mut codec, cargo, now).is_err() {
            break;
        }
    }
}

/// The memory of messages that arrive, up to some MiB.
#[derive(Default)]
pub struct Store {
    messages: std::collections::HashMap<MessageId, Vec<u8>>,
    bytes: u64,
}

impl Cargo for Store {
    fn slices<'a>(&'a self, _: u32, _: MessageId, _: u64, _: u32, _: &mut Vec<std::io::IoSlice<'a>>) {}

    fn begin(&mut self, _: u32, id: MessageId, total: u64) -> Result<(), String> {
        self.bytes = self.bytes.saturating_add(total);
        if self.bytes > 8 << 20 {
            return Err("there is no more memory".into());
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
