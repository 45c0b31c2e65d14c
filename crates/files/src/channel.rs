//! The channel between the two ends of a copy: whole messages, once and in order, in both directions at once. A
//! path, or two pipes where no port is open.

use crate::names;
use ligament_catalogue::{fault, Fault};
use ligament_link::{Path, PathErrorKind};
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The longest message (bytes): a full pack, and a list of names.
pub const MAX_MESSAGE_BYTES: usize = 16 << 20;
/// How much may wait here to be received (bytes).
const MAX_QUEUED_BYTES: usize = 64 << 20;
/// The cost of a message beside its bytes: empty ones are not for nothing.
const MESSAGE_OVERHEAD_BYTES: usize = 64;

/// Messages to and from the other end. Several threads may use it at once.
pub trait MessageChannel: Sync {
    /// Sends a message; waits while too much is under way.
    ///
    /// # Errors
    /// The other end is gone.
    fn send(&self, message: Vec<u8>) -> Result<(), Fault>;

    /// The next message; none if there is none within this time.
    ///
    /// # Errors
    /// The other end is gone.
    fn receive(&self, within: Option<Duration>) -> Result<Option<Vec<u8>>, Fault>;

    /// Bytes that were sent and have not been received there, as far as is known.
    fn under_way(&self) -> u64;

    /// Returns true if the other end is still there, as far as is known.
    ///
    /// # Errors
    /// It is gone.
    fn is_there(&self) -> Result<(), Fault>;
}

fn cut(why: &dyn std::fmt::Display) -> Fault {
    // It may be what the other end has said.
    let why = names::shown(why.to_string().as_bytes());
    fault!(
        COPY_CUT,
        "the connection to the other end is lost: {why}; call it again, and it goes on where it was"
    )
}

/// How often it is looked whether the other end's process is gone.
const PROCESS_POLL_INTERVAL: Duration = Duration::from_millis(300);

/// Over a path.
pub struct OverPath {
    path: Path,
    /// True if the other end's process is known to be gone: then nobody waits for a connection.
    gone: Arc<AtomicBool>,
}

impl OverPath {
    /// Over this path, until it is lost or `gone` is set.
    pub fn new(path: Path, gone: Arc<AtomicBool>) -> OverPath {
        OverPath { path, gone }
    }

    /// Waits until all has arrived, and ends the path.
    pub fn close(self, within: Duration) {
        let within = if self.gone.load(Ordering::Relaxed) { Duration::ZERO } else { within };
        // The last words have been sent, or cannot be any more.
        let _ = self.path.close(Some(within));
    }

    /// Waits for a time, and fails if the other end is gone.
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
                // Another thread may have taken the room meanwhile: then there is a message more under way.
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
        // It looks for a message that has come, and takes none.
        match self.path.probe(Some(Duration::ZERO)) {
            Err(error) if error.kind() != PathErrorKind::TimedOut => Err(cut(&error)),
            _ => self.goes_on(),
        }
    }
}

/// The data that the thread that reads a pipe and its owner share.
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

/// Over two pipes: each message after its length.
pub struct OverPipes {
    output: Mutex<Box<dyn Write + Send>>,
    arrived: Arc<Letterbox>,
}

impl OverPipes {
    /// Reads from one and writes to the other. A thread of its own reads until the end.
    ///
    /// # Errors
    /// There is no thread.
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
    // A length alone takes no memory: what was announced has to come.
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
            // Whoever reads may wait for room, and not see that the other end is gone.
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
