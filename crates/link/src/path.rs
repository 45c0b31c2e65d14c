//! The calls of a path. Several threads may call them at once.

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

/// Times for closing. An end that closes waits until the other end knows it. Without a connection it waits at
/// most `CLOSE_TIMEOUT`, because the other end may have ended without a notice. If the other end closes, too,
/// it waits at most `AFTERWARDS`, because the other end need not know. It checks every `POLL_INTERVAL`.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
const AFTERWARDS: Duration = Duration::from_secs(1);
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// The numbers of the two ends.
const LISTENS: u32 = 0;
const OPENS: u32 = 1;

/// Makes the error for a port that cannot be had.
fn unbound(error: std::io::Error) -> PathError {
    PathError::system(fault!(CANNOT_LISTEN, "{error}"))
}

/// Adds the address `at` to the error of a path that cannot listen there.
fn listens_not(at: &str, error: PathError) -> PathError {
    error.told(|text| format!("a path cannot listen at {at}: {text}"))
}

/// One end of a path. If it is dropped without `close`, messages under way are lost.
pub struct Path {
    shared: Arc<SharedEnd>,
    thread: Mutex<Option<JoinHandle<()>>>,
    addresses: Vec<SocketAddr>,
    /// Id of the process that made the path.
    maker: u32,
}

/// A send or receive that was begun and has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Request(RequestNumber);

impl Request {
    /// Returns the number of the request, for callers in other languages.
    pub fn number(self) -> u64 {
        self.0
    }

    /// Returns the request with this number.
    pub fn from_number(number: u64) -> Request {
        Request(number)
    }
}

/// The traffic of a path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Number of messages and bytes sent and received since the start of the path.
    pub sent: u64,
    pub sent_bytes: u64,
    pub received: u64,
    pub received_bytes: u64,
    /// Number of bytes sent that the other end has not received yet.
    pub under_way: u64,
    /// Number of times that all connections were lost.
    pub cuts: u64,
    /// True if there is a connection now.
    pub connected: bool,
}

impl Path {
    /// Listens for the end that opens the path, at `HOST:PORT`, or at `:PORT` for all interfaces. Port 0
    /// stands for any free port. Returns at once; messages sent before there is a connection wait for it.
    ///
    /// # Errors
    /// The address or an option makes no sense, or the port is in use.
    pub fn listen(key: &Key, at: &str, options: &Options) -> Result<Path, PathError> {
        Path::listen_at(key, &listening(at)?, options).map_err(|error| listens_not(at, error))
    }

    /// Like `listen`, at an interface or at one of several ports.
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

    /// Opens a path to an end that listens now or later, at one of these addresses or at the last relay of
    /// the options. Returns at once; messages sent before there is a connection wait for it.
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

    /// Begins a path whose two ends make the same call, with the address of one of them. If the address
    /// belongs to this machine and no program listens there, this end listens. Otherwise this end opens a
    /// path to it. Returns at once, as `listen` and `open` do.
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
            // If the address belongs to another machine, or a program listens there, the other end is there.
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

    /// Returns the addresses at which this end listens. They are empty at the end that opens the path.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Waits until there is a connection. Programs need not call this function before they send or receive.
    ///
    /// # Errors
    /// There is no connection within this time, or the path is lost.
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

    /// Sends a message. Waits while more bytes than the window are under way. Returns when `bytes` may be
    /// used again, which is before the message has arrived.
    ///
    /// # Errors
    /// There is no room within this time, and the message is not sent; or the path is lost or closed.
    pub fn send(&self, bytes: &[u8], within: Option<Duration>) -> Result<(), PathError> {
        self.wait_for_room(within)?;
        self.send_copy(bytes)
    }

    /// Waits until a message would find room in the window.
    ///
    /// # Errors
    /// There is no room within this time; or the path is lost or closed.
    pub fn wait_for_room(&self, within: Option<Duration>) -> Result<(), PathError> {
        self.wait_for("no room to send", within, |state| match state.cannot_send() {
            Some(error) => Some(Err(error)),
            None => state.has_room().then_some(Ok(())),
        })
    }

    /// Like `send`, without a copy: the bytes are kept until they have arrived.
    ///
    /// # Errors
    /// As for `send`.
    pub fn send_kept(
        &self,
        bytes: impl AsRef<[u8]> + Send + Sync + 'static,
        within: Option<Duration>,
    ) -> Result<(), PathError> {
        self.wait_for_room(within)?;
        self.send_kept_at_once(bytes)
    }

    /// Like `send_kept`, but does not wait for room in the window.
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

    /// Begins to send a copy of a message, without a request that can be tested.
    ///
    /// # Errors
    /// There is no memory for the copy, or the path is lost or closed.
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

    /// Begins to send a message without a copy. The bytes are kept until the message has arrived, or until
    /// the path is dropped.
    ///
    /// # Errors
    /// The path is lost or closed.
    pub fn isend(&self, bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Result<Request, PathError> {
        let mut state = self.state()?;
        let number = state.send(Box::new(bytes))?;
        self.shared.wake_if_due(&mut state);
        Ok(Request(number))
    }

    /// Begins to receive the next message that no request has asked for yet.
    pub fn ireceive(&self) -> Request {
        // `test` and `wait` report the error of this request.
        let Ok(mut state) = self.state() else { return Request(0) };
        let number = state.receive();
        self.shared.wake_if_due(&mut state);
        Request(number)
    }

    /// Returns true if a request is done: its message has arrived at the other end, or here.
    ///
    /// # Errors
    /// The request cannot be done any more (the error has the reason); or there is no such request.
    pub fn test(&self, request: Request) -> Result<bool, PathError> {
        match is_done(&mut *self.state()?, request.0) {
            None => Ok(false),
            Some(outcome) => outcome.map(|()| true),
        }
    }

    /// Waits until a request is done, and ends it. Returns the message that was received, or no bytes for a
    /// send.
    ///
    /// # Errors
    /// The request is not done within this time, and continues; or it cannot be done any more; or there is
    /// no such request.
    pub fn wait(&self, request: Request, within: Option<Duration>) -> Result<Vec<u8>, PathError> {
        self.wait_for("it was not done", within, |state| {
            is_done(state, request.0).map(|outcome| ended(state, request.0, outcome))
        })
    }

    /// Like `wait`, but copies the message to `place`. Returns its length in bytes, or 0 for a send.
    ///
    /// # Errors
    /// As for `wait`; or the message is longer than `place`, and the request continues.
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

    /// Cancels a request for a message. If its message has arrived, the next request receives it.
    ///
    /// # Errors
    /// The request is a send, which cannot be cancelled; or there is no such request.
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
    /// No message arrived within this time, or no more can arrive.
    pub fn probe(&self, within: Option<Duration>) -> Result<u64, PathError> {
        self.wait_for("no message", within, |state| match state.next_length() {
            Some(length) => Some(Ok(length)),
            None => state.cannot_come().map(Err),
        })
    }

    /// Receives the next message.
    ///
    /// # Errors
    /// No message arrives within this time, or no more can arrive.
    pub fn receive(&self, within: Option<Duration>) -> Result<Vec<u8>, PathError> {
        self.receive_if(within, |_| Ok(()))
    }

    /// Receives the next message, copies it to `place` and returns its length in bytes.
    ///
    /// # Errors
    /// As for `receive`; or the message is longer than `place`, and can still be received.
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

    /// Sends a message and receives one at the same time. If no message arrives within this time, the first
    /// message is sent all the same; then call `receive`.
    ///
    /// # Errors
    /// As for `isend` and `receive`.
    pub fn send_receive(&self, bytes: &[u8], within: Option<Duration>) -> Result<Vec<u8>, PathError> {
        self.send_copy(bytes)?;
        self.receive(within)
    }

    /// Like `send_receive`, but copies the received message to `place` and returns its length in bytes.
    ///
    /// # Errors
    /// As for `isend` and `receive_into`.
    pub fn send_receive_into(
        &self,
        bytes: &[u8],
        place: &mut [u8],
        within: Option<Duration>,
    ) -> Result<usize, PathError> {
        self.send_copy(bytes)?;
        self.receive_into(place, within)
    }

    /// Waits until the other end calls `barrier` as well. If the time is over before, the next call waits
    /// for the same barrier.
    ///
    /// # Errors
    /// The other end does not call it within this time, or the path is lost or closed.
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

    /// Sets the maximum number of bytes per second that this end sends over a long link; None for no limit.
    ///
    /// # Errors
    /// This process is a child of the process that made the path.
    pub fn set_pace(&self, pace: Option<u64>) -> Result<(), PathError> {
        let mut state = self.state()?;
        state.set_pace(pace);
        self.shared.wake_if_due(&mut state);
        Ok(())
    }

    /// Returns the traffic of the path.
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

    /// Waits until all messages from this end have arrived at the other end.
    ///
    /// # Errors
    /// They have not arrived within this time, or the path is lost or closed.
    pub fn wait_sent(&self, within: Option<Duration>) -> Result<(), PathError> {
        self.wait_for("not everything arrived", within, |state| {
            if state.all_has_arrived() {
                Some(Ok(()))
            } else {
                state.cannot_send().map(Err)
            }
        })
    }

    /// Waits until all messages from this end have arrived, tells the other end that no more follow, and
    /// destroys this end.
    ///
    /// # Errors
    /// The messages have not arrived within this time, or the path was lost before. This end is destroyed
    /// all the same.
    pub fn close(self, within: Option<Duration>) -> Result<(), PathError> {
        self.end(within)
    }

    /// Like `close`, for a path that other threads may still hold. Their calls fail from then on.
    ///
    /// # Errors
    /// As for `close`.
    pub fn end(&self, within: Option<Duration>) -> Result<(), PathError> {
        let said = self.say_last(within);
        self.stop();
        said
    }

    /// Ends the path at once; messages under way are lost. Later calls of other threads fail. Bytes that
    /// other threads have passed to a send are not read any more.
    pub fn stop(&self) {
        if self.is_forked() {
            return;
        }
        self.shared.stop();
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // A thread that has crashed has already reported this to the callers.
            let _ = thread.join();
        }
    }

    /// Waits until all messages have arrived, and tells the other end that no more follow.
    fn say_last(&self, within: Option<Duration>) -> Result<(), PathError> {
        let until = within.and_then(|within| Instant::now().checked_add(within));
        self.wait_sent(within)?;
        self.shared.lock().say_closing();
        self.part(until);
        Ok(())
    }

    /// Waits until the other end knows that this end closes, unless the other end seems to be gone.
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

    /// Locks the state of the path, for the process that made it. A forked child has the same keys, numbers
    /// and sockets, so its messages would be sent twice. It does not have the path's thread, and another
    /// thread may have held the lock during the fork.
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

/// Returns Ok if a request is done, an error if it cannot be done any more, and None if it is in progress.
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

/// Ends a request. Returns the received message, no bytes for a send, or the error.
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
            // The path belongs to the process that made it. Its data is not touched, and its thread does not
            // exist here.
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
