//! The channel between the two ends of a copy. It carries whole messages, once and in order, in both
//! directions at the same time. It uses a path, or two pipes if no port is open.

use crate::names;
use ligament_catalogue::{fault, Fault};
use ligament_link::{Path, PathErrorKind};
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Maximum length of a message, in bytes. A full pack and a list of names must fit.
pub const MAX_MESSAGE_BYTES: usize = 16 << 20;
/// Maximum number of bytes of received messages that wait for the reader.
const MAX_QUEUED_BYTES: usize = 64 << 20;
/// Number of bytes that each waiting message counts in addition to its length, so that empty messages fill
/// the queue, too.
const MESSAGE_OVERHEAD_BYTES: usize = 64;

/// A channel for messages to and from the other end. Several threads may use it at the same time.
pub trait MessageChannel: Sync {
    /// Sends a message. Waits while too many bytes are under way.
    ///
    /// # Errors
    /// The other end is gone.
    fn send(&self, message: Vec<u8>) -> Result<(), Fault>;

    /// Returns the next message, or none if no message arrives within this time.
    ///
    /// # Errors
    /// The other end is gone.
    fn receive(&self, within: Option<Duration>) -> Result<Option<Vec<u8>>, Fault>;

    /// Returns the number of bytes that were sent and not yet received by the other end, as far as this end
    /// knows.
    fn under_way(&self) -> u64;

    /// Succeeds if the other end is still there, as far as this end knows.
    ///
    /// # Errors
    /// The other end is gone.
    fn is_there(&self) -> Result<(), Fault>;
}

fn cut(why: &dyn std::fmt::Display) -> Fault {
    // The reason may contain text from the other end.
    let why = names::shown(why.to_string().as_bytes());
    fault!(
        COPY_CUT,
        "the connection to the other end is lost: {why}; call it again, and it goes on where it was"
    )
}

/// Interval at which a waiting call checks whether the process of the other end is gone.
const PROCESS_POLL_INTERVAL: Duration = Duration::from_millis(300);

/// A channel over a path.
pub struct OverPath {
    path: Path,
    /// True if the process of the other end is known to be gone. Calls then do not wait for a new
    /// connection.
    gone: Arc<AtomicBool>,
}

impl OverPath {
    /// Makes a channel over this path. It works until the path is lost or `gone` is set.
    pub fn new(path: Path, gone: Arc<AtomicBool>) -> OverPath {
        OverPath { path, gone }
    }

    /// Waits until all messages have arrived, at most `within`, and closes the path.
    pub fn close(self, within: Duration) {
        let within = if self.gone.load(Ordering::Relaxed) { Duration::ZERO } else { within };
        // An error is ignored: the last messages have been sent, or cannot be sent any more.
        let _ = self.path.close(Some(within));
    }

    /// Fails if the process of the other end is gone.
    fn goes_on(&self) -> Result<(), Fault> {
        if self.gone.load(Ordering::Relaxed) {
            Err(cut(&"its process has ended"))
        } else {
            Ok(())
        }
    }
}

impl MessageChannel for OverPath {
    fn send(&self, message: Vec<u8>) -> Result<(), Fault> {
        loop {
            match self.path.wait_for_room(Some(PROCESS_POLL_INTERVAL)) {
                // Another thread may have used the room meanwhile. Then one more message than allowed is
                // under way.
                Ok(()) => break self.path.send_kept_at_once(message).map_err(|error| cut(&error)),
                Err(error) if error.kind() == PathErrorKind::TimedOut => self.goes_on()?,
                Err(error) => break Err(cut(&error)),
            }
        }
    }

    fn receive(&self, within: Option<Duration>) -> Result<Option<Vec<u8>>, Fault> {
        let until = within.and_then(|within| Instant::now().checked_add(within));
        loop {
            let left = until.map_or(PROCESS_POLL_INTERVAL, |until| {
                until.saturating_duration_since(Instant::now()).min(PROCESS_POLL_INTERVAL)
            });
            match self.path.receive(Some(left)) {
                Ok(message) => break Ok(Some(message)),
                Err(error) if error.kind() == PathErrorKind::TimedOut => {
                    if until.is_some_and(|until| Instant::now() >= until) {
                        break Ok(None);
                    }
                    self.goes_on()?;
                }
                Err(error) => break Err(cut(&error)),
            }
        }
    }

    fn under_way(&self) -> u64 {
        self.path.statistics().under_way
    }

    fn is_there(&self) -> Result<(), Fault> {
        // The probe fails if the path is lost. It takes no message from the path.
        match self.path.probe(Some(Duration::ZERO)) {
            Err(error) if error.kind() != PathErrorKind::TimedOut => Err(cut(&error)),
            _ => self.goes_on(),
        }
    }
}

/// The data that is shared by the thread that reads the pipe and the owner of the channel.
#[derive(Default)]
struct PipeInbox {
    messages: VecDeque<Vec<u8>>,
    bytes: usize,
    over: Option<String>,
}

#[derive(Default)]
struct Letterbox {
    arrived: Mutex<PipeInbox>,
    changed: Condvar,
}

impl Letterbox {
    fn lock(&self) -> MutexGuard<'_, PipeInbox> {
        self.arrived.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A channel over two pipes. Each message follows its length (u32, little-endian).
pub struct OverPipes {
    output: Mutex<Box<dyn Write + Send>>,
    arrived: Arc<Letterbox>,
}

impl OverPipes {
    /// Makes a channel that reads from `input` and writes to `output`. A thread reads until the input ends.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn new(
        mut input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
    ) -> std::io::Result<OverPipes> {
        let arrived = Arc::new(Letterbox::default());
        let fills = arrived.clone();
        std::thread::Builder::new().name("ligament-pipe".into()).spawn(move || {
            let why = loop {
                match read_message(&mut input) {
                    Ok(message) => {
                        let mut arrived = fills.lock();
                        while arrived.bytes > MAX_QUEUED_BYTES {
                            arrived = fills.changed.wait(arrived).unwrap_or_else(PoisonError::into_inner);
                        }
                        arrived.bytes += message.len() + MESSAGE_OVERHEAD_BYTES;
                        arrived.messages.push_back(message);
                        fills.changed.notify_all();
                    }
                    Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                        break "it has ended".into()
                    }
                    Err(error) => break error.to_string(),
                }
            };
            fills.lock().over = Some(why);
            fills.changed.notify_all();
        })?;
        Ok(OverPipes { output: Mutex::new(Box::new(output)), arrived })
    }
}

fn read_message(input: &mut impl Read) -> std::io::Result<Vec<u8>> {
    let mut length = [0; 4];
    input.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > MAX_MESSAGE_BYTES {
        let what = format!("what it says is not understood here: a message of {length} bytes");
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, what));
    }
    // The buffer starts small and grows with the bytes that arrive, because the other end may announce more
    // bytes than it sends.
    let mut message = Vec::with_capacity(length.min(2 << 20));
    input.take(length as u64).read_to_end(&mut message)?;
    if message.len() == length {
        Ok(message)
    } else {
        Err(std::io::ErrorKind::UnexpectedEof.into())
    }
}

impl MessageChannel for OverPipes {
    fn send(&self, message: Vec<u8>) -> Result<(), Fault> {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        let length = (message.len() as u32).to_le_bytes();
        let sent =
            output.write_all(&length).and_then(|()| output.write_all(&message)).and_then(|()| output.flush());
        sent.map_err(|error| {
            // A reader may be waiting and not notice that the other end is gone, so the inbox is marked as
            // ended.
            self.arrived.lock().over.get_or_insert_with(|| error.to_string());
            cut(&error)
        })
    }

    fn receive(&self, within: Option<Duration>) -> Result<Option<Vec<u8>>, Fault> {
        let until = within.map(|within| Instant::now() + within);
        let mut arrived = self.arrived.lock();
        loop {
            if let Some(message) = arrived.messages.pop_front() {
                arrived.bytes -= message.len() + MESSAGE_OVERHEAD_BYTES;
                self.arrived.changed.notify_all();
                return Ok(Some(message));
            }
            if let Some(why) = &arrived.over {
                return Err(cut(why));
            }
            let left =
                until.map_or(Duration::from_secs(1), |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Ok(None);
            }
            let waited = self.arrived.changed.wait_timeout(arrived, left);
            arrived = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn under_way(&self) -> u64 {
        0
    }

    fn is_there(&self) -> Result<(), Fault> {
        match &self.arrived.lock().over {
            Some(why) => Err(cut(why)),
            None => Ok(()),
        }
    }
}
