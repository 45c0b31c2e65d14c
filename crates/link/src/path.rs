//! The calls of a path. All of them may be made by several threads at once.

use crate::end::{EndState, RequestNumber, RequestStage, SharedEnd};
use crate::error::{Misuse, PathError, PathErrorKind};
use crate::options::{found, listening, Options};
use crate::Key;
use ligament_catalogue::fault;
use ligament_net::{DialAddress, Listen, Listener, Net};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long an end that closes waits for the other one to know it: while there is no connection to that, which
/// may have ended without a word; if that closes too, and so needs not know; and how often it looks.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
const AFTERWARDS: Duration = Duration::from_secs(1);
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// The numbers of the two ends.
const LISTENS: u32 = 0;
const OPENS: u32 = 1;

/// No port is had.
fn unbound(error: std::io::Error) -> PathError {
    PathError::system(fault!(CANNOT_LISTEN, "{error}"))
}

/// The error of an address at which a path cannot listen.
fn listens_not(at: &str, error: PathError) -> PathError {
    error.told(|text| format!("a path cannot listen at {at}: {text}"))
}

/// One end of a path. Dropped without `close`, what is under way is lost.
pub struct Path {
    shared: Arc<SharedEnd>,
    thread: Mutex<Option<JoinHandle<()>>>,
    addresses: Vec<SocketAddr>,
    /// The process that made it.
    maker: u32,
}

/// Something that was begun and is not over: a message that is sent or received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Request(RequestNumber);

impl Request {
    /// For callers in other languages.
    pub fn number(self) -> u64 {
        self.0
    }

    /// The request of this number.
    pub fn from_number(number: u64) -> Request {
        Request(number)
    }
}

/// The traffic of a path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Messages and their bytes, sent and received, ever.
    pub sent: u64,
    pub sent_bytes: u64,
    pub received: u64,
    pub received_bytes: u64,
    /// Bytes sent that were not received there yet.
    pub under_way: u64,
    /// How often all connections were lost.
    pub cuts: u64,
    /// True if there is a connection now.
    pub connected: bool,
}

impl Path {
    /// Listens for the end that opens the path: at `HOST:PORT`, or `:PORT` for all interfaces; port 0 is any
    /// that is free. Returns at once; what is sent meanwhile waits.
    ///
    /// # Errors
    /// The address or an option makes no sense, or the port is taken.
    pub fn listen(key: &Key, at: &str, options: &Options) -> Result<Path, PathError> {
        Path::listen_at(key, &listening(at)?, options).map_err(|error| listens_not(at, error))
    }

    /// The same, at an interface or one of several ports.
    ///
    /// # Errors
    /// An option makes no sense, or no port is free.
    pub fn listen_at(key: &Key, at: &Listen, options: &Options) -> Result<Path, PathError> {
        options.check()?;
        let listener = Listener::bind(at).map_err(unbound)?;
        Path::listen_with(key, listener, options)
    }

    fn listen_with(key: &Key, listener: Listener, options: &Options) -> Result<Path, PathError> {
        let way = options.way()?;
        let addresses = listener.addresses();
        let mut net =
            Net::new(key.clone(), LISTENS, options.encrypt, options.tuning()).map_err(PathError::system)?;
        net.listen(listener);
        if let Some(way) = &way {
            net.wait_at(way);
        }
        net.expect(OPENS);
        Path::begin(net, OPENS, addresses, options)
    }

    /// Opens a path to an end that listens, or will: at one of these addresses, or at the last relay of the
    /// options. Returns at once; what is sent meanwhile waits.
    ///
    /// # Errors
    /// An address or an option makes no sense.
    pub fn open(key: &Key, to: &[&str], options: &Options) -> Result<Path, PathError> {
        options.check()?;
        let way = options.way()?;
        let mut words = Vec::new();
        for address in to {
            words.extend(found(address)?.iter().map(ToString::to_string));
        }
        words.extend(way.iter().filter_map(|way| way.word()));
        let places = DialAddress::read(&words, way.as_ref()).map_err(PathError::system)?;
        if places.is_empty() {
            return Err(Misuse::Nowhere.into());
        }
        let mut net =
            Net::new(key.clone(), OPENS, options.encrypt, options.tuning()).map_err(PathError::system)?;
        net.dial(LISTENS, places, options.streams);
        Path::begin(net, LISTENS, Vec::new(), options)
    }

    /// Begins a path whose two ends make the same call, with the address of one of them: that one listens,
    /// unless another program there does so already. Returns at once, as the others do.
    ///
    /// # Errors
    /// The address or an option makes no sense, or has port 0; or this end may not listen there.
    pub fn meet(key: &Key, at: &str, options: &Options) -> Result<Path, PathError> {
        options.check()?;
        let listen = listening(at)?;
        if listen.ports.is_none() {
            return Err(Misuse::AnyPort { text: at.to_owned() }.into());
        }
        match Listener::bind(&listen) {
            Ok(listener) => Path::listen_with(key, listener, options).map_err(|error| listens_not(at, error)),
            // The address is another machine's, or somebody listens there: presumably the other end.
            Err(error) if matches!(error.kind(), ErrorKind::AddrInUse | ErrorKind::AddrNotAvailable) => {
                let here =
                    at.strip_prefix(':').or(at.strip_prefix("*:")).map(|port| format!("localhost:{port}"));
                Path::open(key, &[here.as_deref().unwrap_or(at)], options)
            }
            Err(error) => Err(listens_not(at, unbound(error))),
        }
    }

    fn begin(net: Net, peer: u32, addresses: Vec<SocketAddr>, options: &Options) -> Result<Path, PathError> {
        let shared = SharedEnd::new(net, peer, options.window)?;
        let runs = shared.clone();
        let thread = std::thread::Builder::new().name("ligament-path".into()).spawn(move || {
            if std::panic::catch_unwind(AssertUnwindSafe(|| runs.run())).is_err() {
                runs.crashed();
            }
        });
        let thread = thread.map_err(|error| {
            PathError::system(fault!(PATH_GIVEN_UP, "there is no thread for a path: {error}"))
        })?;
        Ok(Path { shared, thread: Mutex::new(Some(thread)), addresses, maker: std::process::id() })
    }

    /// The addresses of the listening end; empty at the other end.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Waits until there is a connection. Not needed before sending or receiving.
    ///
    /// # Errors
    /// There is none within this time, or the path is lost.
    pub fn wait_connected(&self, within: Option<Duration>) -> Result<(), PathError> {
        let connected = self.wait_for("no connection", within, |state| {
            if state.up {
                Some(Ok(()))
            } else {
                state.cannot_come().map(Err)
            }
        });
        connected.map_err(|error| match error.kind() {
            PathErrorKind::TimedOut => {
                let trouble = self.shared.lock().trouble().unwrap_or_default();
                PathError::of(
                    PathErrorKind::TimedOut,
                    error.fault().clone().told(|text| format!("{text}; {trouble}")),
                )
            }
            _ => error,
        })
    }

    /// Sends a message. Returns when `bytes` may be used again, before it has arrived, but waits while more
    /// than the window is under way.
    ///
    /// # Errors
    /// There is no room within this time, then nothing is sent; or the path is lost or closed.
    pub fn send(&self, bytes: &[u8], within: Option<Duration>) -> Result<(), PathError> {
        self.wait_for_room(within)?;
        self.send_copy(bytes)
    }

    /// Waits until what is sent now finds room in the window.
    ///
    /// # Errors
    /// There is none within this time; or the path is lost or closed.
    pub fn wait_for_room(&self, within: Option<Duration>) -> Result<(), PathError> {
        self.wait_for("no room to send", within, |state| match state.cannot_send() {
            Some(error) => Some(Err(error)),
            None => state.has_room().then_some(Ok(())),
        })
    }

    /// The same without a copy: the bytes are kept until they have arrived.
    ///
    /// # Errors
    /// As `send`.
    pub fn send_kept(
        &self,
        bytes: impl AsRef<[u8]> + Send + Sync + 'static,
        within: Option<Duration>,
    ) -> Result<(), PathError> {
        self.wait_for_room(within)?;
        self.send_kept_at_once(bytes)
    }

    /// The same, whether there is room in the window or not.
    ///
    /// # Errors
    /// The path is lost or closed.
    pub fn send_kept_at_once(&self, bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Result<(), PathError> {
        let mut state = self.state()?;
        let number = state.send(Box::new(bytes))?;
        state.finish(number);
        self.shared.wake_if_due(&mut state);
        Ok(())
    }

    /// Begins to send a copy, for which nobody will ask.
    ///
    /// # Errors
    /// There is no memory for it, or the path is lost or closed.
    pub fn send_copy(&self, bytes: &[u8]) -> Result<(), PathError> {
        let mut copy = Vec::new();
        if copy.try_reserve_exact(bytes.len()).is_err() {
            let why = fault!(NO_MEMORY_FOR_OTHERS, "there is no memory for a message of {} bytes", bytes.len());
            return Err(PathError::of(crate::PathErrorKind::OutOfMemory, why));
        }
        copy.extend_from_slice(bytes);
        let mut state = self.state()?;
        let number = state.send(Box::new(copy))?;
        state.finish(number);
        self.shared.wake_if_due(&mut state);
        Ok(())
    }

    /// Begins to send a message, without a copy: the bytes are kept until it has arrived, or the path is
    /// dropped.
    ///
    /// # Errors
    /// The path is lost or closed.
    pub fn isend(&self, bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Result<Request, PathError> {
        let mut state = self.state()?;
        let number = state.send(Box::new(bytes))?;
        self.shared.wake_if_due(&mut state);
        Ok(Request(number))
    }

    /// Begins to receive the next message that nobody has asked for yet.
    pub fn ireceive(&self) -> Request {
        // Whoever asks about this one is told why.
        let Ok(mut state) = self.state() else { return Request(0) };
        let number = state.receive();
        self.shared.wake_if_due(&mut state);
        Request(number)
    }

    /// Returns true if a request is done: a message has arrived there, or has come here.
    ///
    /// # Errors
    /// It cannot be done any more, and why; or there is no such request.
    pub fn test(&self, request: Request) -> Result<bool, PathError> {
        match is_done(&mut *self.state()?, request.0) {
            None => Ok(false),
            Some(outcome) => outcome.map(|()| true),
        }
    }

    /// Waits until a request is done, and ends it: what came, or nothing of one that has sent.
    ///
    /// # Errors
    /// It is not done within this time, then it goes on; or it cannot be done any more; or there is no such
    /// request.
    pub fn wait(&self, request: Request, within: Option<Duration>) -> Result<Vec<u8>, PathError> {
        self.wait_for("it was not done", within, |state| {
            is_done(state, request.0).map(|outcome| ended(state, request.0, outcome))
        })
    }

    /// The same, into memory of the caller's; the length of what came (bytes), 0 of a request that has sent.
    ///
    /// # Errors
    /// As `wait`; or what came is longer than the place: then the request stays.
    pub fn wait_into(
        &self,
        request: Request,
        place: &mut [u8],
        within: Option<Duration>,
    ) -> Result<usize, PathError> {
        let room = place.len() as u64;
        let bytes = self.wait_for("it was not done", within, |state| match state.stage(request.0) {
            Some(RequestStage::Came(came)) if came.bytes.len() as u64 > room => {
                Some(Err(Misuse::TooLong { length: came.bytes.len() as u64, room }.into()))
            }
            _ => is_done(state, request.0).map(|outcome| ended(state, request.0, outcome)),
        })?;
        place[..bytes.len()].copy_from_slice(&bytes);
        Ok(bytes.len())
    }

    /// Gives up a request for a message. A message that came for it will be received by the next one.
    ///
    /// # Errors
    /// A message that is being sent cannot be cancelled; or there is no such request.
    pub fn cancel(&self, request: Request) -> Result<(), PathError> {
        let mut state = self.state()?;
        match state.stage(request.0) {
            Some(RequestStage::Receives | RequestStage::Came(_)) => {
                state.forget(request.0);
                self.shared.wake_if_due(&mut state);
                Ok(())
            }
            Some(RequestStage::Sends | RequestStage::Sent) => Err(Misuse::Sends.into()),
            None => Err(Misuse::NoRequest.into()),
        }
    }

    /// Waits for the next message and returns its length, bytes. The message is not received.
    ///
    /// # Errors
    /// No message came within this time, or no more can come.
    pub fn probe(&self, within: Option<Duration>) -> Result<u64, PathError> {
        self.wait_for("no message", within, |state| match state.next_length() {
            Some(length) => Some(Ok(length)),
            None => state.cannot_come().map(Err),
        })
    }

    /// Receives the next message.
    ///
    /// # Errors
    /// None comes within this time, or none will come any more.
    pub fn receive(&self, within: Option<Duration>) -> Result<Vec<u8>, PathError> {
        self.receive_if(within, |_| Ok(()))
    }

    /// Receives the next message into memory of the caller's; its length (bytes).
    ///
    /// # Errors
    /// As `receive`; or it is longer than the place: then it stays.
    pub fn receive_into(&self, place: &mut [u8], within: Option<Duration>) -> Result<usize, PathError> {
        let room = place.len() as u64;
        let bytes = self.receive_if(within, |length| {
            if length > room {
                Err(Misuse::TooLong { length, room }.into())
            } else {
                Ok(())
            }
        })?;
        place[..bytes.len()].copy_from_slice(&bytes);
        Ok(bytes.len())
    }

    fn receive_if(
        &self,
        within: Option<Duration>,
        fits: impl Fn(u64) -> Result<(), PathError>,
    ) -> Result<Vec<u8>, PathError> {
        self.wait_for("no message", within, |state| match state.next_length() {
            Some(length) => Some(fits(length).map(|()| {
                let number = state.receive();
                state.finish(number)
            })),
            None => state.cannot_come().map(Err),
        })
    }

    /// Sends a message and receives one, both at once. If none came within this time it was sent all the same:
    /// then call `receive`.
    ///
    /// # Errors
    /// As `isend` and `receive`.
    pub fn send_receive(&self, bytes: &[u8], within: Option<Duration>) -> Result<Vec<u8>, PathError> {
        self.send_copy(bytes)?;
        self.receive(within)
    }

    /// The same, into memory of the caller's; the length of what came (bytes).
    ///
    /// # Errors
    /// As `isend` and `receive_into`.
    pub fn send_receive_into(
        &self,
        bytes: &[u8],
        place: &mut [u8],
        within: Option<Duration>,
    ) -> Result<usize, PathError> {
        self.send_copy(bytes)?;
        self.receive_into(place, within)
    }

    /// Waits until the other end calls it as well. If that took too long, the next call waits for the same
    /// barrier.
    ///
    /// # Errors
    /// It does not within this time, or the path is lost or closed.
    pub fn barrier(&self, within: Option<Duration>) -> Result<(), PathError> {
        let mine = {
            let mut state = self.state()?;
            match state.cannot_send() {
                Some(error) => return Err(error),
                None => state.reach_barrier(),
            }
        };
        self.wait_for("the other end did not come", within, |state| {
            if state.pass_barrier(mine) {
                Some(Ok(()))
            } else {
                state.cannot_send().map(Err)
            }
        })
    }

    /// Changes how many bytes in a second this end sends over a long way, at most; none: as fast as it goes.
    ///
    /// # Errors
    /// In a child of the process that made the path.
    pub fn set_pace(&self, pace: Option<u64>) -> Result<(), PathError> {
        let mut state = self.state()?;
        state.set_pace(pace);
        self.shared.wake_if_due(&mut state);
        Ok(())
    }

    /// The traffic.
    pub fn statistics(&self) -> Statistics {
        let Ok(state) = self.state() else { return Statistics::default() };
        let counts = state.counts;
        Statistics {
            sent: counts.sent,
            sent_bytes: counts.sent_bytes,
            received: counts.received,
            received_bytes: counts.received_bytes,
            under_way: state.under_way(),
            cuts: counts.cuts,
            connected: state.up,
        }
    }

    /// Waits until everything that was sent has arrived there.
    ///
    /// # Errors
    /// It has not arrived within this time, or the path is lost or closed.
    pub fn wait_sent(&self, within: Option<Duration>) -> Result<(), PathError> {
        self.wait_for("not everything arrived", within, |state| {
            if state.all_has_arrived() {
                Some(Ok(()))
            } else {
                state.cannot_send().map(Err)
            }
        })
    }

    /// Waits until everything that was sent has arrived, tells the other end that nothing more comes, and
    /// destroys this end.
    ///
    /// # Errors
    /// It has not arrived within this time, or the path was lost before. This end is destroyed all the same.
    pub fn close(self, within: Option<Duration>) -> Result<(), PathError> {
        self.end(within)
    }

    /// As `close`, of a path that others may still hold: what they call is refused from then on.
    ///
    /// # Errors
    /// As `close`.
    pub fn end(&self, within: Option<Duration>) -> Result<(), PathError> {
        let said = self.say_last(within);
        self.stop();
        said
    }

    /// Ends the path at once; what is under way is lost. What others call is refused from then on, and nothing
    /// of theirs is read any more.
    pub fn stop(&self) {
        if self.is_forked() {
            return;
        }
        self.shared.stop();
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // One that crashed has said so.
            let _ = thread.join();
        }
    }

    /// Waits until everything has arrived, and tells the other end that nothing more comes.
    fn say_last(&self, within: Option<Duration>) -> Result<(), PathError> {
        let until = within.and_then(|within| Instant::now().checked_add(within));
        self.wait_sent(within)?;
        self.shared.lock().say_closing();
        self.part(until);
        Ok(())
    }

    /// Waits until the other end knows that this one closes, for as long as it may be there.
    fn part(&self, until: Option<Instant>) {
        let begun = Instant::now();
        let mut connected = begun;
        loop {
            let now = Instant::now();
            let soon = until.map_or(now + POLL_INTERVAL, |until| until.min(now + POLL_INTERVAL));
            let over = |state: &mut EndState| state.is_over().then_some(());
            if self.shared.wait(self.shared.lock(), Some(soon), over).is_some() {
                return;
            }
            let (now, state) = (Instant::now(), self.shared.lock());
            if state.up {
                connected = now;
            }
            let limit = if state.other_closes() { begun + AFTERWARDS } else { connected + CLOSE_TIMEOUT };
            if now >= until.map_or(limit, |until| until.min(limit)) {
                return;
            }
        }
    }

    /// The state of the path, for its maker. A child has the same keys, the same numbers and the same sockets:
    /// what it says would be said twice. Nor has it the path's thread, and another one may have had the lock.
    fn state(&self) -> Result<MutexGuard<'_, EndState>, PathError> {
        if self.is_forked() {
            Err(Misuse::Forked.into())
        } else {
            Ok(self.shared.lock())
        }
    }

    fn is_forked(&self) -> bool {
        std::process::id() != self.maker
    }

    fn wait_for<T>(
        &self,
        what: &'static str,
        within: Option<Duration>,
        ready: impl FnMut(&mut EndState) -> Option<Result<T, PathError>>,
    ) -> Result<T, PathError> {
        let until = within.and_then(|within| Instant::now().checked_add(within));
        let state = self.state()?;
        let late = || Misuse::TimedOut { what, seconds: within.unwrap_or_default().as_secs_f64() }.into();
        self.shared.wait(state, until, ready).unwrap_or_else(|| Err(late()))
    }
}

/// Returns true if a request is done, or why it will not be.
fn is_done(state: &mut EndState, number: RequestNumber) -> Option<Result<(), PathError>> {
    match state.stage(number) {
        None => Some(Err(Misuse::NoRequest.into())),
        Some(RequestStage::Sent | RequestStage::Came(_)) => Some(Ok(())),
        Some(RequestStage::Sends) => state.cannot_send().map(|error| {
            state.take_back(number);
            Err(error)
        }),
        Some(RequestStage::Receives) => state.cannot_come().map(Err),
    }
}

/// The end of a request: what came, or nothing, or why not.
fn ended(
    state: &mut EndState,
    number: RequestNumber,
    outcome: Result<(), PathError>,
) -> Result<Vec<u8>, PathError> {
    let came = state.finish(number);
    outcome.map(|()| came)
}

impl Drop for Path {
    fn drop(&mut self) {
        if self.is_forked() {
            // It is the maker's: nothing of it is touched, and the thread is not here.
            let thread = self.thread.get_mut().unwrap_or_else(PoisonError::into_inner).take();
            std::mem::forget((Arc::clone(&self.shared), thread));
            return;
        }
        self.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_is_told_that_the_thread_has_crashed() {
        let path = Path::listen(&Key::make(), "127.0.0.1:0", &Options::default()).unwrap();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| path.receive(None));
            path.shared.crashed();
            let why = waits.join().unwrap().unwrap_err();
            assert_eq!(why.kind(), PathErrorKind::System);
            assert!(why.to_string().contains("has crashed"), "{why}");
        });
        assert!(path.send(b"more", None).is_err());
    }
}
