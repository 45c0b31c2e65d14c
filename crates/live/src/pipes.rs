//! Connections of browsers over one pair of pipes, such as ssh's input and output, so that no port is open
//! on the machine of the run. One end listens for browsers, and the other end serves the page. Each
//! connection has a limit for the bytes that are under way and not taken at the other end, so that a
//! connection that reads nothing does not block others. Received data are not trusted: lengths and numbers
//! are checked.
//!
//! A frame has a kind (1 byte), the number of a connection and a length (4 bytes each, little-endian), and
//! as many bytes as the length says.

use axum::serve::Listener;
use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream};
use tokio::sync::{mpsc, Semaphore};
use tokio::task::AbortHandle;

/// Maximum number of bytes of a connection that are under way, and of a frame.
const WINDOW_BYTES: usize = 256 << 10;
const MAX_FRAME_BYTES: usize = 16 << 10;
/// Maximum number of connections at a time.
const MAX_CONNECTIONS: usize = 256;
/// Maximum number of frames that wait to be written.
const QUEUE: usize = 64;

/// Kind of a frame that begins a connection.
const OPEN: u8 = 0;
/// Kind of a frame with data of a connection.
const DATA: u8 = 1;
/// Kind of a frame that returns credit: the number of bytes that were taken, in 4 bytes.
const TAG_CREDIT: u8 = 2;
/// Kind of a frame that ends one direction of a connection.
const END: u8 = 3;
/// Kind of a frame that ends both directions of a connection.
const ABORT: u8 = 4;

type PipeFrame = (u8, u32, Vec<u8>);

/// A connection, as the task that reads the pipe sees it.
struct PipeConnection {
    incoming: mpsc::UnboundedSender<Option<Vec<u8>>>,
    /// Number of bytes that have arrived and not been taken yet.
    held: Arc<AtomicUsize>,
    /// Number of bytes that may still be sent.
    credit: Arc<Semaphore>,
    task: Option<AbortHandle>,
    /// True if the other end has sent the end of its direction.
    has_ended: bool,
}

/// All connections over a pair of pipes.
#[derive(Clone)]
pub struct PipedConnections {
    lines: Arc<Mutex<HashMap<u32, PipeConnection>>>,
    out: mpsc::Sender<PipeFrame>,
}

/// Listens for connections that begin at the other end.
pub struct PipeListener(mpsc::UnboundedReceiver<DuplexStream>);

impl Listener for PipeListener {
    type Io = DuplexStream;
    type Addr = ();

    async fn accept(&mut self) -> (DuplexStream, ()) {
        match self.0.recv().await {
            Some(stream) => (stream, ()),
            // The pipe has ended. The server ends by itself in this case, so this call need not return.
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<()> {
        Ok(())
    }
}

fn broken(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

impl PipedConnections {
    /// Begins to write frames to a pipe.
    pub fn begin(pipe: impl AsyncWrite + Send + Unpin + 'static) -> PipedConnections {
        let (out, frames) = mpsc::channel(QUEUE);
        tokio::spawn(write(pipe, frames));
        PipedConnections { lines: Arc::default(), out }
    }

    fn lines(&self) -> MutexGuard<'_, HashMap<u32, PipeConnection>> {
        self.lines.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Forwards a connection that begins at this end.
    pub async fn open(&self, number: u32, stream: impl AsyncRead + AsyncWrite + Send + 'static) {
        if self.out.send((OPEN, number, Vec::new())).await.is_ok() {
            self.carry(number, stream);
        }
    }

    fn carry(&self, number: u32, stream: impl AsyncRead + AsyncWrite + Send + 'static) {
        let (incoming, came) = mpsc::unbounded_channel();
        let (held, credit) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(WINDOW_BYTES)));
        let line = PipeConnection {
            incoming,
            held: held.clone(),
            credit: credit.clone(),
            task: None,
            has_ended: false,
        };
        self.lines().insert(number, line);
        let (me, out) = (self.clone(), self.out.clone());
        let task = tokio::spawn(async move {
            let (from, to) = tokio::io::split(stream);
            let both =
                tokio::try_join!(outward(from, number, &out, &credit), inward(to, number, &out, came, &held));
            me.lines().remove(&number);
            if both.is_err() {
                let _ = out.send((ABORT, number, Vec::new())).await;
            }
        });
        if let Some(line) = self.lines().get_mut(&number) {
            line.task = Some(task.abort_handle());
        }
    }

    /// Reads frames from a pipe until it ends. Connections that begin at the other end are sent to
    /// `arriving`.
    ///
    /// # Errors
    /// Fails if the data are invalid, or the pipe cannot be read.
    pub async fn read(
        &self,
        mut pipe: impl AsyncRead + Unpin,
        arriving: Option<mpsc::UnboundedSender<DuplexStream>>,
    ) -> io::Result<()> {
        let mut head = [0; 9];
        loop {
            match pipe.read_exact(&mut head).await {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
                read => read?,
            };
            let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
            let (number, length) = (word(1), word(5) as usize);
            if length > MAX_FRAME_BYTES {
                return Err(broken("a frame is too long"));
            }
            let mut bytes = vec![0; length];
            pipe.read_exact(&mut bytes).await?;
            self.take(head[0], number, bytes, arriving.as_ref())?;
        }
    }

    fn take(
        &self,
        kind: u8,
        number: u32,
        bytes: Vec<u8>,
        arriving: Option<&mpsc::UnboundedSender<DuplexStream>>,
    ) -> io::Result<()> {
        if kind == OPEN {
            let arriving = arriving.ok_or_else(|| broken("a connection begins at the wrong end"))?;
            let known = self.lines().len();
            if known >= MAX_CONNECTIONS || self.lines().contains_key(&number) {
                return Err(broken("there are too many connections"));
            }
            let (near, far) = tokio::io::duplex(MAX_FRAME_BYTES);
            self.carry(number, near);
            let _ = arriving.send(far);
            return Ok(());
        }
        let mut lines = self.lines();
        // Frames of a connection that has already ended at this end may still be under way.
        let Some(line) = lines.get_mut(&number) else { return Ok(()) };
        match kind {
            // Empty data are refused: they use no credit, so any number of them could be stored.
            DATA if bytes.is_empty() || line.has_ended => {
                return Err(broken("data is empty, or comes after the end"));
            }
            END if line.has_ended => return Err(broken("a connection ends twice")),
            DATA => {
                if line.held.fetch_add(bytes.len(), Ordering::Relaxed) + bytes.len() > WINDOW_BYTES {
                    return Err(broken("more came than may be under way"));
                }
                let _ = line.incoming.send(Some(bytes));
            }
            TAG_CREDIT => {
                let count = bytes.try_into().map_or(u32::MAX, u32::from_le_bytes) as usize;
                if count > WINDOW_BYTES || line.credit.available_permits() + count > WINDOW_BYTES {
                    return Err(broken("more was taken than was sent"));
                }
                line.credit.add_permits(count);
            }
            END => {
                line.has_ended = true;
                let _ = line.incoming.send(None);
            }
            ABORT => {
                if let Some(task) = lines.remove(&number).and_then(|line| line.task) {
                    task.abort();
                }
            }
            _ => return Err(broken("a frame is of no known kind")),
        }
        Ok(())
    }
}

async fn write(mut pipe: impl AsyncWrite + Unpin, mut frames: mpsc::Receiver<PipeFrame>) {
    while let Some((kind, number, bytes)) = frames.recv().await {
        let mut frame = Vec::with_capacity(9 + bytes.len());
        frame.push(kind);
        frame.extend(number.to_le_bytes());
        frame.extend((bytes.len() as u32).to_le_bytes());
        frame.extend(bytes);
        // The task that reads the other pipe finds that the other end is gone.
        if pipe.write_all(&frame).await.is_err() || pipe.flush().await.is_err() {
            return;
        }
    }
}

/// The error for a connection that one of its ends has closed.
struct ClosedHalf;

async fn outward(
    mut from: impl AsyncRead + Unpin,
    number: u32,
    out: &mpsc::Sender<PipeFrame>,
    credit: &Semaphore,
) -> Result<(), ClosedHalf> {
    let mut piece = vec![0; MAX_FRAME_BYTES];
    loop {
        let length = from.read(&mut piece).await.map_err(|_| ClosedHalf)?;
        if length == 0 {
            return out.send((END, number, Vec::new())).await.map_err(|_| ClosedHalf);
        }
        credit.acquire_many(length as u32).await.map_err(|_| ClosedHalf)?.forget();
        out.send((DATA, number, piece[..length].to_vec())).await.map_err(|_| ClosedHalf)?;
    }
}

async fn inward(
    mut to: impl AsyncWrite + Unpin,
    number: u32,
    out: &mpsc::Sender<PipeFrame>,
    mut came: mpsc::UnboundedReceiver<Option<Vec<u8>>>,
    held: &AtomicUsize,
) -> Result<(), ClosedHalf> {
    while let Some(Some(bytes)) = came.recv().await {
        to.write_all(&bytes).await.map_err(|_| ClosedHalf)?;
        to.flush().await.map_err(|_| ClosedHalf)?;
        held.fetch_sub(bytes.len(), Ordering::Relaxed);
        let count = (bytes.len() as u32).to_le_bytes().to_vec();
        out.send((TAG_CREDIT, number, count)).await.map_err(|_| ClosedHalf)?;
    }
    to.shutdown().await.map_err(|_| ClosedHalf)
}

/// Makes a listener for connections that begin at the other end of a pair of pipes, and the sender that
/// feeds it.
pub fn arriving() -> (mpsc::UnboundedSender<DuplexStream>, PipeListener) {
    let (sender, receiver) = mpsc::unbounded_channel();
    (sender, PipeListener(receiver))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both ends of a pair of pipes; connections that begin at the first arrive at the second.
    fn ends() -> (PipedConnections, PipeListener) {
        let (near, far) = (tokio::io::duplex(1 << 12), tokio::io::duplex(1 << 12));
        let (one, other) = (PipedConnections::begin(near.0), PipedConnections::begin(far.0));
        let (sender, arrives) = arriving();
        let here = one.clone();
        tokio::spawn(async move { here.read(far.1, None).await });
        tokio::spawn(async move { other.read(near.1, Some(sender)).await });
        (one, arrives)
    }

    fn block_on(test: impl std::future::Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
    }

    #[test]
    fn many_connections_are_carried_each_as_it_is_and_one_that_reads_nothing_keeps_nobody_waiting() {
        block_on(async {
            let (one, mut arrives) = ends();
            tokio::spawn(async move {
                loop {
                    let (stream, ()) = arrives.accept().await;
                    tokio::spawn(async move {
                        // This end sends all bytes back.
                        let (mut from, mut to) = tokio::io::split(stream);
                        let _ = tokio::io::copy(&mut from, &mut to).await;
                        let _ = to.shutdown().await;
                    });
                }
            });
            let (stalled, theirs) = tokio::io::duplex(64);
            one.open(0, theirs).await;
            let (_unread, mut writes) = tokio::io::split(stalled);
            let stalls = tokio::spawn(async move { writes.write_all(&vec![7; 8 * WINDOW_BYTES]).await });
            for number in 1..20u32 {
                let (mine, theirs) = tokio::io::duplex(1000);
                one.open(number, theirs).await;
                let sent: Vec<u8> = (0..3 * WINDOW_BYTES as u32).map(|i| (i * number) as u8).collect();
                let (mut from, mut to) = tokio::io::split(mine);
                let told = sent.clone();
                tokio::spawn(async move {
                    to.write_all(&told).await.unwrap();
                    to.shutdown().await.unwrap();
                });
                let mut came = Vec::new();
                from.read_to_end(&mut came).await.unwrap();
                assert!(came == sent, "connection {number}");
            }
            assert!(!stalls.is_finished());
            // Connections that are over are removed.
            while one.lines().len() > 1 {
                tokio::task::yield_now().await;
            }
        });
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        block_on(async {
            for frames in [
                vec![(9, 0, 0)],
                vec![(OPEN, 0, 0), (9, 0, 0)],
                vec![(OPEN, 0, 0), (OPEN, 0, 0)],
                vec![(DATA, 0, 1 << 20)],
                vec![(OPEN, 0, 0), (TAG_CREDIT, 0, 4)],
                (0..=MAX_CONNECTIONS as u32).map(|number| (OPEN, number, 0)).collect(),
            ] {
                let mut bytes = Vec::new();
                for (kind, number, length) in &frames {
                    bytes.push(*kind);
                    bytes.extend(u32::to_le_bytes(*number));
                    bytes.extend(u32::to_le_bytes(*length));
                    bytes.resize(bytes.len() + *length as usize, 1);
                }
                let (sender, _arrives) = arriving();
                let end = PipedConnections::begin(tokio::io::sink());
                let read = end.read(&bytes[..], Some(sender)).await;
                assert_eq!(read.is_err(), frames != [(9, 0, 0)], "{:?}", frames.first());
            }
        });
    }
}
