//! The writer of a stream. It writes as many frames as possible in one call, directly from the memory of
//! the messages.

use crate::codec::Codec;
use crate::compression_choice::BottleneckRate;
use crate::connection::Connection;
use crate::MessageStore;
use ligament_catalogue::said;
use ligament_path::{FrameHeader, MessageId, Nanos, OutgoingFrame, Path, StreamId, HEADER_BYTES};
use std::collections::VecDeque;
use std::io::{self, IoSlice};

/// The writer takes frames from the path until this many bytes wait for the socket. After that, a frame
/// cannot go by another stream.
const MAX_BOUND_BYTES: usize = 512 << 10;
/// The same limit on a long link (bytes): enough for some small frames, or one piece.
const MAX_BOUND_BYTES_FAR: usize = 4 << 10;
/// Number of slices in one call at which no further frame is added.
const SLICES: usize = 512;
/// Maximum number of bytes written to one stream before the other streams are written.
const MAX_WRITE_BYTES: usize = 4 << 20;

/// The amount that each stream may write before the other streams are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pass {
    /// Up to `MAX_WRITE_BYTES`.
    Near,
    /// One piece: on a long link, a message is whole sooner if its pieces are spread evenly over the streams.
    Far,
}

impl Pass {
    pub fn over(long: bool) -> Pass {
        if long {
            Pass::Far
        } else {
            Pass::Near
        }
    }

    /// Returns the number of rounds over all streams before other work is done.
    pub fn many(self) -> usize {
        match self {
            Pass::Near => 1,
            Pass::Far => 8,
        }
    }

    fn turn(self) -> usize {
        match self {
            Pass::Near => MAX_WRITE_BYTES,
            Pass::Far => 1,
        }
    }

    fn ahead(self) -> usize {
        match self {
            Pass::Near => MAX_BOUND_BYTES,
            Pass::Far => MAX_BOUND_BYTES_FAR,
        }
    }
}

/// The memory that has the bytes after a header.
enum FrameBody {
    /// The bytes are stored here.
    Bytes(Vec<u8>),
    Message {
        id: MessageId,
        offset: u64,
        len: u32,
    },
}

struct Frame {
    header: [u8; HEADER_BYTES],
    body: FrameBody,
}

impl Frame {
    fn len(&self) -> usize {
        HEADER_BYTES
            + match &self.body {
                FrameBody::Bytes(bytes) => bytes.len(),
                FrameBody::Message { len, .. } => *len as usize,
            }
    }
}

/// One stream's writer.
pub(crate) struct StreamWriter {
    frames: VecDeque<Frame>,
    /// Number of bytes of the first frame that were written.
    done: usize,
    /// Number of bytes of all frames that were taken from the path and not written.
    left: usize,
    link: BottleneckRate,
}

impl StreamWriter {
    pub fn new() -> StreamWriter {
        StreamWriter { frames: VecDeque::new(), done: 0, left: 0, link: BottleneckRate::default() }
    }

    /// Returns true if frames wait here.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Writes as much as the socket takes, up to a limit. Returns true if the socket would take more.
    pub fn write(
        &mut self,
        connection: &mut Connection,
        (domain, stream): (u32, StreamId),
        (path, codec): (&mut Path, &mut Codec),
        cargo: &dyn MessageStore,
        pass: Pass,
        now: Nanos,
    ) -> io::Result<bool> {
        let mut written = 0;
        connection.flush()?;
        while written < pass.turn() {
            if connection.has_unsent() || !connection.is_writable() {
                self.link.is_full(now);
                return Ok(false);
            }
            self.fill((domain, stream), path, codec, cargo, pass, now);
            if self.frames.is_empty() {
                self.link.is_idle();
                return Ok(false);
            }
            let sent = connection.send(&self.slices(domain, cargo)?)?;
            self.link.took(sent);
            self.advance(sent);
            written += sent;
        }
        Ok(true)
    }

    fn fill(
        &mut self,
        (domain, stream): (u32, StreamId),
        path: &mut Path,
        codec: &mut Codec,
        cargo: &dyn MessageStore,
        pass: Pass,
        now: Nanos,
    ) {
        while self.left < pass.ahead() {
            let Some(next) = path.next(stream, now) else { break };
            let (header, body) = match next {
                OutgoingFrame::Control { header, bytes } => (header, FrameBody::Bytes(bytes)),
                OutgoingFrame::Piece { header, id, offset, len } => {
                    let link = self.link.rate().map(|rate| rate * path.carriers(header.total) as f64);
                    match codec.pack(domain, &header, id, link, cargo) {
                        Some((codec, bytes)) => {
                            let stored = bytes.len() as u32;
                            (FrameHeader { codec, stored, ..header }, FrameBody::Bytes(bytes))
                        }
                        None => (header, FrameBody::Message { id, offset, len }),
                    }
                }
            };
            let frame = Frame { header: header.encode(), body };
            self.left += frame.len();
            self.frames.push_back(frame);
        }
    }

    fn slices<'a>(&'a self, domain: u32, cargo: &'a dyn MessageStore) -> io::Result<Vec<IoSlice<'a>>> {
        let mut slices = Vec::with_capacity(2 * self.frames.len().min(SLICES));
        let mut done = self.done;
        for frame in &self.frames {
            if slices.len() >= SLICES {
                break;
            }
            if done < HEADER_BYTES {
                slices.push(IoSlice::new(&frame.header[done..]));
            }
            let begin = done.saturating_sub(HEADER_BYTES);
            match &frame.body {
                FrameBody::Bytes(bytes) if begin < bytes.len() => slices.push(IoSlice::new(&bytes[begin..])),
                &FrameBody::Message { id, offset, len } if begin < len as usize => {
                    let (before, wanted) = (slices.len(), len as usize - begin);
                    cargo.slices(domain, id, offset + begin as u64, wanted as u32, &mut slices);
                    if slices[before..].iter().map(|slice| slice.len()).sum::<usize>() != wanted {
                        let why =
                            said!(DOMAIN_SENDS_NONSENSE, "the other end acknowledged what was not sent yet");
                        return Err(io::Error::other(why));
                    }
                }
                _ => {}
            }
            done = 0;
        }
        // The kernel takes at most 1024 slices, and a message may have any number of them.
        slices.truncate(1024);
        Ok(slices)
    }

    fn advance(&mut self, sent: usize) {
        self.left -= sent;
        self.done += sent;
        while let Some(first) = self.frames.front() {
            let len = first.len();
            if self.done < len {
                break;
            }
            self.done -= len;
            self.frames.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Compression;
    use ligament_catalogue::Fault;
    use ligament_path::PathOptions;
    use std::os::unix::net::UnixStream;

    /// A store in which each message has only these first bytes.
    struct Only(Vec<u8>);

    impl MessageStore for Only {
        fn slices<'a>(&'a self, _: u32, _: MessageId, offset: u64, len: u32, into: &mut Vec<IoSlice<'a>>) {
            let begin = (offset as usize).min(self.0.len());
            into.push(IoSlice::new(&self.0[begin..self.0.len().min(begin + len as usize)]));
        }

        fn begin(&mut self, _: u32, _: MessageId, _: u64) -> Result<(), Fault> {
            Ok(())
        }

        fn room(&mut self, _: u32, _: MessageId, _: u64, _: u32) -> &mut [u8] {
            &mut []
        }

        fn deliver(&mut self, _: u32, _: MessageId) {}
        fn release(&mut self, _: u32, _: MessageId) {}
        fn credit(&mut self, _: u32, _: u32, _: u64) {}
    }

    #[test]
    fn a_stream_whose_message_is_no_longer_there_breaks_and_says_nothing_else_instead() {
        for (there, goes) in [(1000, true), (999, false), (0, false)] {
            let (near, _far) = UnixStream::pair().unwrap();
            let mut connection = Connection::new(near.into());
            connection.ready(false, true, false);
            let (mut path, mut codec) = (Path::new(PathOptions::default(), 0), Codec::new(Compression::Never));
            path.stream_up(0, 1, 0);
            path.send(1, 1000);
            let only = Only(vec![7; there]);
            let written = StreamWriter::new().write(
                &mut connection,
                (2, 0),
                (&mut path, &mut codec),
                &only,
                Pass::Near,
                1,
            );
            assert_eq!(written.is_ok(), goes, "{there} bytes");
        }
    }
}
