//! The listener of the server: a port of the loopback interface, or a Unix socket that only its user may open.
//! A limited number of connections is served at a time. One more takes the place of the oldest on which nothing
//! was asked with a session, so that a crowd of strangers keeps nobody out; if there is none, it is told so,
//! and closed.

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

/// Connections that are served at a time.
const MAX_CONNECTIONS: usize = 128;
/// So many that are too many are told so at a time; more are closed without a word.
const MAX_REFUSALS: usize = 64;
/// How long they may take to hear it.
const HEARING: Duration = Duration::from_secs(1);
/// One that has not asked anything yet has so long for it: connections that nobody uses keep nobody out for
/// long.
const FIRST_REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// So long after its first question one is closed on which nothing was asked with a session, whatever goes on:
/// a browser that has just loaded the page opens another.
const STRANGE: Duration = Duration::from_secs(20);
/// One with a session on which nothing is read or written for so long is closed: a browser opens another.
/// Longer than the page waits for an answer, since a browser may send what was not answered again.
const IDLE: Duration = Duration::from_secs(330);

/// An address to listen at.
#[derive(Debug, Clone)]
pub enum ListenAddress {
    /// A port of 127.0.0.1; 0 for any that is free.
    Port(u16),
    /// A Unix socket of mode 0600.
    Socket(PathBuf),
}

/// One of the two.
pub enum BrowserStream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

enum ListenerState {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// The listening socket. That of a path is removed when this is dropped.
pub struct Doorstep {
    inner: ListenerState,
    seats: Seats,
    refusals: Arc<Semaphore>,
    path: Option<PathBuf>,
    /// True if sessions are looked at elsewhere: then whoever asks anything is trusted.
    carried: bool,
}

/// A connection's place among those that are served.
#[derive(Debug, Default)]
struct Seat {
    trusted: AtomicBool,
    /// Another connection has its place.
    closed: AtomicBool,
    /// The task that serves it.
    waker: Mutex<Option<Waker>>,
}

impl Seat {
    fn close(&self) {
        self.closed.store(true, Ordering::Release);
        if let Some(waker) = self.waker.lock().unwrap_or_else(PoisonError::into_inner).take() {
            waker.wake();
        }
    }

    /// True if it is closed; if not, `context` hears of it when it is.
    fn is_closed(&self, context: &Context<'_>) -> bool {
        let mut waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
        if !waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
            *waker = Some(context.waker().clone());
        }
        self.closed.load(Ordering::Acquire)
    }
}

/// All places that are taken, the oldest first.
#[derive(Clone, Default)]
struct Seats(Arc<Mutex<VecDeque<Arc<Seat>>>>);

impl Seats {
    fn all(&self) -> std::sync::MutexGuard<'_, VecDeque<Arc<Seat>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place: a free one, or else that of the oldest connection that is not trusted; `or_oldest`: of any.
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

/// True if somebody with a session has asked something on a connection.
#[derive(Debug, Clone, Default)]
pub struct TrustFlag(Arc<Seat>);

impl TrustFlag {
    /// Somebody has.
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

/// How far a connection has come.
#[derive(Clone, Copy, PartialEq)]
enum Come {
    /// No question was whole yet.
    Silent,
    /// One was.
    Asked,
    /// One was with a session.
    Trusted,
}

/// A connection, with its place among those that are served.
pub struct BrowserConnection {
    stream: BrowserStream,
    idle: Pin<Box<Sleep>>,
    come: Come,
    trusted: TrustFlag,
    carried: bool,
    /// Ends of lines that came one after the other: after two of them a first question is whole.
    ends: u8,
    seats: Seats,
}

impl Drop for BrowserConnection {
    fn drop(&mut self) {
        self.seats.leave(&self.trusted.0);
    }
}

impl Doorstep {
    /// Begins to listen. To be called in a runtime, before there is a second thread that makes files.
    ///
    /// # Errors
    /// The port or the path is taken, or cannot be had.
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

    /// Connections are carried to another server, which looks at sessions.
    pub fn carries(mut self) -> Doorstep {
        self.carried = true;
        self
    }

    /// The port, if it is one.
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

/// A socket that nobody else could open at any moment. One that a server left there that is gone is replaced.
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
                // If sessions are looked at elsewhere, strangers are trusted too: then any place is taken.
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
                // Out of descriptors, or the caller has gone already.
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<TrustFlag> {
        Ok(TrustFlag::default())
    }
}

impl Doorstep {
    /// Tells one that is one too many.
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
            // Its words are read, since it would not hear the answer if they were thrown away.
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

/// Says on standard error that somebody was refused, but not more often than somebody reads that.
fn log_refusal(why: &str) {
    static SAID: Mutex<Option<std::time::Instant>> = Mutex::new(None);
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if said.is_none_or(|at| at.elapsed() > Duration::from_secs(10)) {
        *said = Some(std::time::Instant::now());
        ligament_runtime::say(&format!("refused a connection: {why}"));
    }
}

impl BrowserConnection {
    /// Takes in bytes; half a question, letter by letter, is none.
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

    /// Returns true if it has had its time.
    fn is_idle(&mut self, context: &mut Context<'_>) -> bool {
        // The answer to a first question with a session may take long.
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
