//! The reader of a stream. It reads frames, and puts their pieces directly into the memory of their
//! messages.

use crate::codec::Codec;
use crate::connection::{Connection, ReadOutcome};
use crate::MessageStore;
use ligament_catalogue::{fault, Code, Fault};
use ligament_path::{Destination, FrameHeader, MessageId, Nanos, Path, StreamId, HEADER_BYTES};
use std::io::{self, IoSliceMut};

/// Maximum number of bytes read from one stream before the other streams are read.
const MAX_READ_BYTES: usize = 2 << 20;
/// Number of bytes read beyond the end of a piece: the next frame's header, and small frames whole.
const READ_AHEAD_BYTES: usize = 4 << 10;
/// A piece with fewer missing bytes than this is read together with the bytes that follow it.
const MIN_DIRECT_READ_BYTES: usize = 8 << 10;

/// The reason why a stream, or the whole path, is closed.
#[derive(Debug)]
pub(crate) enum StreamFailure {
    /// The connection broke, or its other end closed it.
    Broken(Fault),
    /// The input breaks the rules.
    Wrong(Fault),
    /// There is no memory for the input: the path is over.
    Hopeless(Fault),
}

/// The destination of the next bytes.
enum ReadState {
    Header {
        got: usize,
        bytes: [u8; HEADER_BYTES],
    },
    /// Bytes that go into a message unchanged.
    Message {
        id: MessageId,
        offset: u64,
        left: u32,
    },
    /// Bytes of a packed piece, which is unpacked when all of them have arrived.
    Packed {
        id: MessageId,
        offset: u64,
        len: u32,
        codec: u8,
        left: u32,
    },
    Acknowledgement {
        left: u32,
    },
    Nowhere {
        left: u32,
    },
}

/// One stream's reader.
pub(crate) struct StreamReader {
    state: ReadState,
    /// Bytes of a packed piece or an acknowledgement that has not arrived whole.
    bytes: Vec<u8>,
}

/// The objects that a reader uses.
pub(crate) struct Reach<'a> {
    pub domain: u32,
    pub stream: StreamId,
    pub path: &'a mut Path,
    pub cargo: &'a mut dyn MessageStore,
    pub codec: &'a mut Codec,
    pub now: Nanos,
    /// Memory for bytes that are read before their destination is known; at least 64 KiB.
    pub scratch: &'a mut [u8],
}

const FRESH: ReadState = ReadState::Header { got: 0, bytes: [0; HEADER_BYTES] };

impl StreamReader {
    pub fn new() -> StreamReader {
        StreamReader { state: FRESH, bytes: Vec::new() }
    }

    /// Reads the available bytes, up to a limit.
    pub fn read(&mut self, connection: &mut Connection, reach: &mut Reach<'_>) -> Result<(), StreamFailure> {
        let mut taken = 0;
        while taken < MAX_READ_BYTES {
            let direct = self.direct(reach.path);
            let got = match direct {
                Some((id, offset, left)) => {
                    let room = room(reach.cargo, reach.domain, id, offset, left);
                    let behind = &mut reach.scratch[..READ_AHEAD_BYTES];
                    let mut both = [IoSliceMut::new(room), IoSliceMut::new(behind)];
                    connection.receive(&mut both)
                }
                None => connection.receive(&mut [IoSliceMut::new(reach.scratch)]),
            };
            let mut bytes = match got.map_err(broken)? {
                ReadOutcome::Bytes(bytes) => bytes,
                ReadOutcome::Nothing => return Ok(()),
                ReadOutcome::End => {
                    return Err(StreamFailure::Broken(fault!(PATH_GIVEN_UP, "the other end closed it")))
                }
            };
            taken += bytes;
            reach.path.heard(reach.stream, reach.now);
            if let Some((id, offset, left)) = direct {
                let placed = bytes.min(left as usize);
                let (offset, left) = (offset + placed as u64, left - placed as u32);
                self.state = ReadState::Message { id, offset, left };
                bytes -= placed;
                self.finish_if_all(reach)?;
            }
            let scratch = std::mem::take(&mut reach.scratch);
            let outcome = self.take(&scratch[..bytes], reach);
            reach.scratch = scratch;
            outcome?;
        }
        Ok(())
    }

    /// Takes bytes as if they had arrived from a socket.
    #[cfg(fuzzing)]
    pub fn try_on(
        &mut self,
        bytes: &[u8],
        path: &mut Path,
        codec: &mut Codec,
        cargo: &mut dyn MessageStore,
        now: Nanos,
    ) -> Result<(), StreamFailure> {
        let mut reach = Reach { domain: 0, stream: 0, path, cargo, codec, now, scratch: &mut [] };
        self.take(bytes, &mut reach)
    }

    /// Returns the piece whose bytes are read straight into its message, if there is one and it is large
    /// enough.
    fn direct(&self, path: &Path) -> Option<(MessageId, u64, u32)> {
        match self.state {
            ReadState::Message { id, offset, left }
                if left as usize >= MIN_DIRECT_READ_BYTES && path.is_wanted(id) =>
            {
                Some((id, offset, left))
            }
            _ => None,
        }
    }

    /// Takes bytes that have arrived.
    fn take(&mut self, mut bytes: &[u8], reach: &mut Reach<'_>) -> Result<(), StreamFailure> {
        while !bytes.is_empty() {
            let left = match &mut self.state {
                ReadState::Header { got, bytes: header } => {
                    let (now, rest) = bytes.split_at(bytes.len().min(HEADER_BYTES - *got));
                    header[*got..*got + now.len()].copy_from_slice(now);
                    *got += now.len();
                    bytes = rest;
                    if *got == HEADER_BYTES {
                        let header = *header;
                        self.begin(&header, reach)?;
                    }
                    continue;
                }
                ReadState::Message { left, .. } | ReadState::Packed { left, .. } => left,
                ReadState::Acknowledgement { left } | ReadState::Nowhere { left } => left,
            };
            let (now, rest) = bytes.split_at(bytes.len().min(*left as usize));
            *left -= now.len() as u32;
            bytes = rest;
            match &mut self.state {
                ReadState::Message { id, offset, .. } => {
                    if reach.path.is_wanted(*id) {
                        room(reach.cargo, reach.domain, *id, *offset, now.len() as u32).copy_from_slice(now);
                    }
                    *offset += now.len() as u64;
                }
                ReadState::Packed { .. } | ReadState::Acknowledgement { .. } => {
                    self.bytes.extend_from_slice(now)
                }
                ReadState::Header { .. } | ReadState::Nowhere { .. } => {}
            }
            self.finish_if_all(reach)?;
        }
        Ok(())
    }

    fn begin(&mut self, header: &[u8; HEADER_BYTES], reach: &mut Reach<'_>) -> Result<(), StreamFailure> {
        let header = FrameHeader::decode(header).map_err(wrong)?;
        self.state = match reach.path.begins(reach.stream, &header, reach.now).map_err(wrong)? {
            Destination::Done => {
                self.state = FRESH;
                return Ok(());
            }
            Destination::Message { id, total, offset, len, codec, stored, first } => {
                if first {
                    reach.cargo.begin(reach.domain, id, total).map_err(StreamFailure::Hopeless)?;
                }
                match codec {
                    0 => ReadState::Message { id, offset, left: stored },
                    _ => ReadState::Packed { id, offset, len, codec, left: stored },
                }
            }
            Destination::Nowhere { stored } => ReadState::Nowhere { left: stored },
            Destination::Acknowledgement { stored } => ReadState::Acknowledgement { left: stored },
        };
        self.finish_if_all(reach)
    }

    fn finish_if_all(&mut self, reach: &mut Reach<'_>) -> Result<(), StreamFailure> {
        match self.state {
            ReadState::Message { left: 0, .. } | ReadState::Nowhere { left: 0 } => {
                reach.path.finished(reach.stream, reach.now);
            }
            ReadState::Packed { id, offset, len, codec, left: 0 } => {
                if reach.path.is_wanted(id) {
                    let room = room(reach.cargo, reach.domain, id, offset, len);
                    reach.codec.unpack(codec, &self.bytes, room).map_err(StreamFailure::Wrong)?;
                }
                self.bytes.clear();
                reach.path.finished(reach.stream, reach.now);
            }
            ReadState::Acknowledgement { left: 0 } => {
                reach.path.acknowledged(reach.stream, &self.bytes, reach.now).map_err(wrong)?;
                self.bytes.clear();
            }
            _ => return Ok(()),
        }
        self.state = FRESH;
        Ok(())
    }
}

fn room(cargo: &mut dyn MessageStore, domain: u32, id: MessageId, offset: u64, len: u32) -> &mut [u8] {
    let room = cargo.room(domain, id, offset, len);
    debug_assert_eq!(room.len(), len as usize, "the room that was asked for");
    room
}

pub(crate) fn broken(error: io::Error) -> StreamFailure {
    StreamFailure::Broken(Fault::new(Code::PATH_GIVEN_UP, error.to_string()))
}

fn wrong(error: ligament_path::FrameError) -> StreamFailure {
    StreamFailure::Wrong(Fault::new(Code::DOMAIN_SENDS_NONSENSE, error.to_string()))
}
