//! The listener of the server: a port of the loopback interface, or a Unix socket that only its user may open.
//! The number of connections is limited. A connection beyond the limit takes the place of the oldest connection
//! without a session, which is closed, so that strangers cannot keep users out. If all connections have a
//! session, the new connection gets a refusal and is closed.

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use ligament_catalogue::{fault, Fault};
use std::collections::VecDeque;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::time::{Instant, Sleep};

/// Maximum number of connections at a time.
const MAX_CONNECTIONS: usize = 128;
/// Maximum number of refusals that are being sent at a time. Further connections are closed without an
/// answer.
const MAX_REFUSALS: usize = 64;
/// Maximum time that a refused connection has to read the answer.
const HEARING: Duration = Duration::from_secs(1);
/// Maximum time until a connection's first request, so that unused connections do not keep users out for
/// long.
const FIRST_REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// Time after its first request at which a connection without a session is closed, even if it is in use. A
/// browser that has just loaded the page opens another connection.
const STRANGE: Duration = Duration::from_secs(20);
/// Time without data after which a connection with a session is closed; a browser opens another one. The
/// time is longer than the page waits for an answer, because a browser may send a request again if it was
/// not answered.
const IDLE: Duration = Duration::from_secs(330);

/// An address to listen at.
#[derive(Debug, Clone)]
pub enum ListenAddress {
    /// A port of 127.0.0.1. 0 stands for any free port.
    Port(u16),
    /// A Unix socket of mode 0600.
    Socket(PathBuf),
}

/// The stream of a connection to a browser, of either kind.
pub enum BrowserStream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

enum ListenerState {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// The listening socket. If it has a path, the path is removed when this value is dropped.
pub struct Doorstep {
    inner: ListenerState,
    seats: Seats,
    refusals: Arc<Semaphore>,
    path: Option<PathBuf>,
    /// True if another server checks the sessions. Every connection with a request is then trusted.
    carried: bool,
}

/// A connection's place (`Seat`) among the connections that are served.
#[derive(Debug, Default)]
struct Seat {
    trusted: AtomicBool,
    /// True if another connection has taken the place.
    closed: AtomicBool,
    /// Wakes the task that serves the connection.
    waker: Mutex<Option<Waker>>,
}

impl Seat {
    fn close(&self) {
        self.closed.store(true, Ordering::Release);
        if let Some(waker) = self.waker.lock().unwrap_or_else(PoisonError::into_inner).take() {
            waker.wake();
        }
    }

    /// Returns true if the connection is closed. If it is not, `context` is woken when it is.
    fn is_closed(&self, context: &Context<'_>) -> bool {
        let mut waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
        if !waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
            *waker = Some(context.waker().clone());
        }
        self.closed.load(Ordering::Acquire)
    }
}

/// All places in use, the oldest first.
#[derive(Clone, Default)]
struct Seats(Arc<Mutex<VecDeque<Arc<Seat>>>>);

impl Seats {
    fn all(&self) -> std::sync::MutexGuard<'_, VecDeque<Arc<Seat>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place: a free one, or the place of the oldest connection that is not trusted. If all are
    /// trusted and `or_oldest` is true, takes the place of the oldest connection.
    fn take(&self, or_oldest: bool) -> Option<Arc<Seat>> {
        let mut all = self.all();
        if all.len() >= MAX_CONNECTIONS {
            let strange = all.iter().position(|seat| !seat.trusted.load(Ordering::Relaxed));
            let oldest = all.remove(strange.or(or_oldest.then_some(0))?)?;
            oldest.close();
        }
        let seat = Arc::new(Seat::default());
        all.push_back(seat.clone());
        Some(seat)
    }

    fn leave(&self, seat: &Arc<Seat>) {
        self.all().retain(|other| !Arc::ptr_eq(other, seat));
    }
}

/// True if a request with a session has come on a connection.
#[derive(Debug, Clone, Default)]
pub struct TrustFlag(Arc<Seat>);

impl TrustFlag {
    /// Marks the connection as trusted.
    pub fn trust(&self) {
        self.0.trusted.store(true, Ordering::Relaxed);
    }

    fn is(&self) -> bool {
        self.0.trusted.load(Ordering::Relaxed)
    }
}

impl Connected<IncomingStream<'_, Doorstep>> for TrustFlag {
    fn connect_info(stream: IncomingStream<'_, Doorstep>) -> TrustFlag {
        stream.remote_addr().clone()
    }
}

/// The stage of a connection.
#[derive(Clone, Copy, PartialEq)]
enum Come {
    /// No request is complete yet.
    Silent,
    /// A request is complete.
    Asked,
    /// A request with a session is complete.
    Trusted,
}

/// A connection, with its place among the connections that are served.
pub struct BrowserConnection {
    stream: BrowserStream,
    idle: Pin<Box<Sleep>>,
    come: Come,
    trusted: TrustFlag,
    carried: bool,
    /// Number of consecutive line ends that were read. After two of them, the first request is complete.
    ends: u8,
    seats: Seats,
}

impl Drop for BrowserConnection {
    fn drop(&mut self) {
        self.seats.leave(&self.trusted.0);
    }
}

impl Doorstep {
    /// Begins to listen. Must be called in a runtime. No other thread may make files at the same time, because
    /// the mode of a Unix socket is set with the process's umask.
    ///
    /// # Errors
    /// Fails if the port or the path is in use or not available.
    pub fn open(place: &ListenAddress) -> Result<Doorstep, Fault> {
        let inner = match place {
            ListenAddress::Port(port) => {
                let listener = std::net::TcpListener::bind(("127.0.0.1", *port))
                    .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
                    .and_then(TcpListener::from_std);
                ListenerState::Tcp(listener.map_err(|error| cannot_listen(&format!("port {port}"), &error))?)
            }
            ListenAddress::Socket(path) => {
                ListenerState::Unix(bind(path).map_err(|error| cannot_listen(&path.display(), &error))?)
            }
        };
        let path = match place {
            ListenAddress::Socket(path) => Some(path.clone()),
            ListenAddress::Port(_) => None,
        };
        Ok(Doorstep {
            inner,
            seats: Seats::default(),
            refusals: Arc::new(Semaphore::new(MAX_REFUSALS)),
            path,
            carried: false,
        })
    }

    /// Marks the listener as one whose connections are forwarded to another server, which checks the
    /// sessions.
    pub fn carries(mut self) -> Doorstep {
        self.carried = true;
        self
    }

    /// Returns the port, if the listener has one.
    pub fn port(&self) -> Option<u16> {
        match &self.inner {
            ListenerState::Tcp(listener) => listener.local_addr().ok().map(|address| address.port()),
            ListenerState::Unix(_) => None,
        }
    }
}

fn cannot_listen(place: &dyn std::fmt::Display, error: &io::Error) -> Fault {
    fault!(
        CANNOT_SERVE,
        "the page cannot be served at {place}: {error}; choose another place with --port or --socket"
    )
}

/// Makes a socket that no other user can open at any moment. A socket that a dead server has left at the
/// path is replaced.
fn bind(path: &Path) -> io::Result<UnixListener> {
    if std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket()) {
        match std::os::unix::net::UnixStream::connect(path) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => std::fs::remove_file(path)?,
            _ => return Err(io::ErrorKind::AddrInUse.into()),
        }
    }
    let before = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o177));
    let listener = UnixListener::bind(path);
    rustix::process::umask(before);
    listener
}

impl Drop for Doorstep {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Listener for Doorstep {
    type Io = BrowserConnection;
    type Addr = TrustFlag;

    async fn accept(&mut self) -> (BrowserConnection, TrustFlag) {
        loop {
            let stream = match &self.inner {
                ListenerState::Tcp(listener) => listener.accept().await.map(|(stream, _)| {
                    let _ = stream.set_nodelay(true);
                    BrowserStream::Tcp(stream)
                }),
                ListenerState::Unix(listener) => {
                    listener.accept().await.map(|(stream, _)| BrowserStream::Unix(stream))
                }
            };
            match stream {
                // If another server checks the sessions, all connections are trusted, and the oldest may
                // lose its place.
                Ok(stream) => match self.seats.take(self.carried) {
                    Some(seat) => {
                        let (idle, trusted) =
                            (Box::pin(tokio::time::sleep(FIRST_REQUEST_TIMEOUT)), TrustFlag(seat));
                        let (come, told, carried) = (Come::Silent, trusted.clone(), self.carried);
                        let seats = self.seats.clone();
                        return (
                            BrowserConnection { stream, idle, come, trusted, carried, ends: 0, seats },
                            told,
                        );
                    }
                    None => self.refuse(stream),
                },
                // Either there are no descriptors left, or the caller has already gone.
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<TrustFlag> {
        Ok(TrustFlag::default())
    }
}

impl Doorstep {
    /// Answers a connection that is one too many, and closes it.
    fn refuse(&self, mut stream: BrowserStream) {
        let why = format!(
            "the page serves {MAX_CONNECTIONS} connections at a time; close some, or try again in a \
                     few seconds"
        );
        log_refusal(&why);
        let Ok(place) = self.refusals.clone().try_acquire_owned() else { return };
        tokio::spawn(async move {
            let _place = place;
            let body = serde_json::json!({ "ok": false, "why": why }).to_string();
            let told = format!(
                "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
                 Cache-Control: no-store\r\nConnection: close\r\n\r\n{body}",
                body.len()
            );
            // The request is read to its end. If unread data were discarded, the connection would be reset,
            // and the answer lost.
            let hears = async {
                stream.write_all(told.as_bytes()).await?;
                stream.shutdown().await?;
                let mut said = [0; 4096];
                while stream.read(&mut said).await? > 0 {}
                io::Result::Ok(())
            };
            let _ = tokio::time::timeout(HEARING, hears).await;
        });
    }
}

/// Writes to standard error that a connection was refused, at most once in ten seconds.
fn log_refusal(why: &str) {
    static LAST_REFUSAL: Mutex<Option<std::time::Instant>> = Mutex::new(None);
    let mut said = LAST_REFUSAL.lock().unwrap_or_else(PoisonError::into_inner);
    if said.is_none_or(|at| at.elapsed() > Duration::from_secs(10)) {
        *said = Some(std::time::Instant::now());
        ligament_runtime::say(&format!("refused a connection: {why}"));
    }
}

impl BrowserConnection {
    /// Looks for the two line ends after which the first request is complete. Until then the connection keeps
    /// its short time limit, even if it sends a byte now and then.
    fn hears(&mut self, said: &[u8]) {
        for byte in said {
            self.ends = match (self.ends, byte) {
                (2, _) => return,
                (ends, b'\n') => ends + 1,
                (ends, b'\r') => ends,
                _ => 0,
            };
        }
    }

    fn moved(&mut self) {
        let (time, come) = match self.come {
            _ if self.trusted.is() => (IDLE, Come::Trusted),
            Come::Silent if self.ends >= 2 && self.carried => {
                self.trusted.trust();
                (IDLE, Come::Trusted)
            }
            Come::Silent if self.ends >= 2 => (STRANGE, Come::Asked),
            Come::Silent | Come::Asked | Come::Trusted => return,
        };
        self.come = come;
        self.idle.as_mut().reset(Instant::now() + time);
    }

    /// Returns true if the connection's time is over.
    fn is_idle(&mut self, context: &mut Context<'_>) -> bool {
        // The answer to a first request with a session may take long, so the limit is extended before it is
        // checked.
        if self.trusted.is() && self.come != Come::Trusted {
            self.moved();
        }
        std::future::Future::poll(self.idle.as_mut(), context).is_ready()
    }
}

impl AsyncRead for BrowserStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            BrowserStream::Tcp(stream) => Pin::new(stream).poll_read(context, to),
            BrowserStream::Unix(stream) => Pin::new(stream).poll_read(context, to),
        }
    }
}

impl AsyncWrite for BrowserStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            BrowserStream::Tcp(stream) => Pin::new(stream).poll_write(context, from),
            BrowserStream::Unix(stream) => Pin::new(stream).poll_write(context, from),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            BrowserStream::Tcp(stream) => Pin::new(stream).poll_flush(context),
            BrowserStream::Unix(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            BrowserStream::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            BrowserStream::Unix(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}

impl AsyncRead for BrowserConnection {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let me = self.get_mut();
        if me.trusted.0.is_closed(context) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        let before = to.filled().len();
        let read = Pin::new(&mut me.stream).poll_read(context, to);
        if read.is_ready() {
            me.hears(&to.filled()[before..]);
            me.moved();
        } else if me.is_idle(context) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        read
    }
}

impl AsyncWrite for BrowserConnection {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        let me = self.get_mut();
        if me.trusted.0.is_closed(context) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        let wrote = Pin::new(&mut me.stream).poll_write(context, from);
        if wrote.is_ready() {
            me.moved();
        } else if me.is_idle(context) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        wrote
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_more_takes_the_place_of_the_oldest_stranger_and_of_nobody_with_a_session() {
        let seats = Seats::default();
        let all: Vec<TrustFlag> = (0..MAX_CONNECTIONS).map(|_| TrustFlag(seats.take(false).unwrap())).collect();
        all[0].trust();
        let closed =
            || (0..MAX_CONNECTIONS).filter(|&i| all[i].0.closed.load(Ordering::Acquire)).collect::<Vec<_>>();
        assert!(closed().is_empty());
        let another = TrustFlag(seats.take(false).unwrap());
        assert_eq!(closed(), [1]);
        for _ in 2..MAX_CONNECTIONS {
            another.trust();
            TrustFlag(seats.take(false).unwrap()).trust();
        }
        assert_eq!(closed(), (1..MAX_CONNECTIONS).collect::<Vec<_>>());
        assert!(seats.take(false).is_none());
        assert!(seats.take(true).is_some());
        assert_eq!(closed().first(), Some(&0));
        assert_eq!(seats.all().len(), MAX_CONNECTIONS);
        seats.leave(&another.0);
        assert!(seats.take(false).is_some());
    }
}
