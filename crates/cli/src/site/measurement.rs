//! One end of a measured link: `ligament serve-link`, which `ligament site check A B` starts at a site. The end
//! carries out orders from its standard input and ends when the input is closed. Every action is limited in
//! time and bytes.

use super::orders::{EndOrder, EndReply, PathKey, MARK, VERSION};
use ligament_catalogue::{fault, Fault};
use ligament_link::{Gate, Invitation, Listen, Options, Path, PathErrorKind};
use std::io::{BufRead, Read, Write};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Maximum length of a line, in bytes.
const MAX_LINE_BYTES: u64 = 1 << 20;
/// Time between two checks whether the end must exit.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Size of the first message, in bytes. It is small, so that some messages arrive whole over a slow link. The
/// next constant is the maximum size of a message.
const FIRST_MESSAGE_BYTES: usize = 16 << 10;
const MAX_MESSAGE_BYTES: usize = 1 << 20;
/// Maximum time of an order, in s. The next constant is its maximum number of bytes.
pub(super) const MAX_SECONDS: f64 = 60.0;
const MAX_TOTAL_BYTES: u64 = 64 << 30;
/// Time for the last bytes of a measurement to arrive.
const LAST: Duration = Duration::from_secs(1);
/// First byte of a ping, which the receiver sends back. The next constant is the first byte of the reply. The
/// second byte of each is a number that distinguishes pings.
const TAG_PING: u8 = 0;
const PONG: u8 = 1;

/// Carries out orders until the input is closed. Returns the exit status.
pub(crate) fn serve() -> i32 {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let mut end = None;
    let mut input = std::io::stdin().lock();
    if say(&EndReply::Ready { version: VERSION, host }).is_err() {
        return crate::FAILED;
    }
    loop {
        let mut line = String::new();
        match (&mut input).take(MAX_LINE_BYTES).read_line(&mut line) {
            Ok(0) => return crate::DONE,
            Ok(_) => {}
            Err(_) => return crate::FAILED,
        }
        let said = serde_json::from_str(&line)
            .map_err(|error| fault!(COPY_MISUNDERSTOOD, "the order is not understood: {error}"))
            .and_then(|order| obey(order, &mut end));
        if say(&said.unwrap_or_else(|why| EndReply::Failed { why: why.to_string() })).is_err() {
            return crate::FAILED;
        }
    }
}

fn say(said: &EndReply) -> std::io::Result<()> {
    let text = serde_json::to_string(said).expect("plain fields are written");
    let mut output = std::io::stdout().lock();
    output.write_all(format!("\n{MARK}{text}\n").as_bytes())?;
    output.flush()
}

fn obey(order: EndOrder, end: &mut Option<MeasuringEnd>) -> Result<EndReply, Fault> {
    let there = |end: &mut Option<MeasuringEnd>| match end {
        Some(_) => Ok(()),
        None => Err(fault!(LINK_NOT_MEASURED, "there is no path yet")),
    };
    match order {
        EndOrder::Listen { meeting, interface, ports } => {
            *end = None;
            let path = listen(&meeting, interface, ports)?;
            let at = path.addresses().iter().map(ToString::to_string).collect();
            *end = Some(MeasuringEnd::new(path)?);
            Ok(EndReply::Listens { at })
        }
        EndOrder::Open { meeting, to, streams, jump, within } => {
            *end = None;
            let path = open(&meeting, &to, streams, jump)?;
            let reached = path.wait_connected(Some(seconds(within))).is_ok();
            if reached {
                *end = Some(MeasuringEnd::new(path)?);
            }
            Ok(EndReply::Opened { reached })
        }
        EndOrder::Ping { count, within } => {
            there(end)?;
            let end = end.as_mut().expect("it was looked for");
            Ok(EndReply::Pinged { round_trips: end.ping(count, seconds(within)) })
        }
        EndOrder::Send { seconds: long, bytes } => {
            there(end)?;
            let end = end.as_mut().expect("it was looked for");
            Ok(EndReply::Sent { bytes: end.send(seconds(long), bytes.min(MAX_TOTAL_BYTES)) })
        }
        EndOrder::Came => {
            there(end)?;
            let end = end.as_mut().expect("it was looked for");
            let (bytes, seconds) = end.came();
            Ok(EndReply::Came { bytes, seconds })
        }
    }
}

fn seconds(text: f64) -> Duration {
    Duration::try_from_secs_f64(text.min(MAX_SECONDS)).unwrap_or_default()
}

fn options(meeting: &PathKey) -> Result<(Invitation, Options), Fault> {
    let invitation = Invitation::from_text(&meeting.invitation)?;
    let stations = invitation.relays.clone();
    let options =
        Options { stations, pace: meeting.pace, longest: MAX_MESSAGE_BYTES as u64, ..Options::default() };
    Ok((invitation, options))
}

fn listen(
    meeting: &PathKey,
    interface: Option<String>,
    ports: Option<RangeInclusive<u16>>,
) -> Result<Path, Fault> {
    let (invitation, options) = options(meeting)?;
    let mut at = Listen { ports, ..Listen::default() };
    match interface.as_deref().map(str::parse) {
        Some(Ok(address)) => at.address = Some(address),
        Some(Err(_)) => at.interface = interface,
        None => {}
    }
    Path::listen_at(&invitation.keys, &at, &options).map_err(|error| error.fault().clone())
}

fn open(
    meeting: &PathKey,
    to: &[String],
    streams: u16,
    jump: Option<(String, Vec<String>)>,
) -> Result<Path, Fault> {
    let (invitation, mut options) = options(meeting)?;
    options.streams = streams;
    options.gate =
        jump.map(|(target, words)| Gate::new(&target, &words, crate::lead_on::told(None))).transpose()?;
    let to: Vec<&str> = to.iter().map(String::as_str).collect();
    Path::open(&invitation.keys, &to, &options).map_err(|error| error.fault().clone())
}

/// Counters of received bytes. The first message is not counted: the time of the measurement begins with its
/// arrival.
#[derive(Debug, Default)]
struct Reception {
    bytes: u64,
    first: Option<Instant>,
    last: Option<Instant>,
}

/// A path, and the thread that receives its messages.
struct MeasuringEnd {
    path: Arc<Path>,
    coming: Arc<Mutex<Reception>>,
    pongs: Receiver<u8>,
    pings: u8,
    goes: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl MeasuringEnd {
    fn new(path: Path) -> Result<MeasuringEnd, Fault> {
        let (path, coming) = (Arc::new(path), Arc::new(Mutex::new(Reception::default())));
        let (told, pongs) = channel();
        let goes = Arc::new(AtomicBool::new(false));
        let theirs = (path.clone(), coming.clone(), goes.clone());
        let thread = std::thread::Builder::new()
            .name("ligament-link".into())
            .spawn(move || take_in(&theirs.0, &theirs.1, &told, &theirs.2));
        let thread =
            thread.map_err(|error| fault!(LINK_NOT_MEASURED, "there is no thread to read with: {error}"))?;
        Ok(MeasuringEnd { path, coming, pongs, pings: 0, goes, thread: Some(thread) })
    }

    fn ping(&mut self, count: u32, within: Duration) -> Vec<f64> {
        let until = Instant::now() + within;
        let left = || until.saturating_duration_since(Instant::now());
        let mut took = Vec::new();
        for _ in 0..count {
            let began = Instant::now();
            self.pings = self.pings.wrapping_add(1);
            if self.path.send(&[TAG_PING, self.pings], Some(left())).is_err() {
                break;
            }
            // The first reply may belong to an earlier ping that timed out.
            let mut answers = std::iter::from_fn(|| self.pongs.recv_timeout(left()).ok());
            if !answers.any(|number| number == self.pings) {
                break;
            }
            took.push(began.elapsed().as_secs_f64());
        }
        took
    }

    /// Sends messages of growing size until either limit is reached. Returns the number of bytes sent.
    fn send(&mut self, long: Duration, most: u64) -> u64 {
        let until = Instant::now() + long;
        let (mut sent, mut size) = (0, FIRST_MESSAGE_BYTES);
        let bytes = Arc::new(vec![0x5a; MAX_MESSAGE_BYTES]);
        while sent + size as u64 <= most {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || self.path.send(&bytes[..size], Some(left)).is_err() {
                break;
            }
            sent += size as u64;
            size = (2 * size).min(MAX_MESSAGE_BYTES);
        }
        // Messages arrive in order, so all messages have been counted when this ping is answered.
        self.ping(1, until.saturating_duration_since(Instant::now()) + LAST);
        sent
    }

    fn came(&self) -> (u64, f64) {
        let coming = std::mem::take(&mut *self.coming.lock().unwrap_or_else(PoisonError::into_inner));
        let seconds = coming.first.zip(coming.last).map_or(0.0, |(first, last)| (last - first).as_secs_f64());
        (coming.bytes, seconds)
    }
}

impl Drop for MeasuringEnd {
    fn drop(&mut self) {
        self.goes.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn take_in(path: &Path, coming: &Mutex<Reception>, told: &Sender<u8>, goes: &AtomicBool) {
    while !goes.load(Ordering::Relaxed) {
        match path.receive(Some(POLL_INTERVAL)) {
            Ok(bytes) if bytes.len() == 2 && bytes[0] == TAG_PING => {
                let _ = path.send_copy(&[PONG, bytes[1]]);
            }
            Ok(bytes) if bytes.len() == 2 && bytes[0] == PONG => {
                let _ = told.send(bytes[1]);
            }
            Ok(bytes) => {
                let now = Instant::now();
                let mut coming = coming.lock().unwrap_or_else(PoisonError::into_inner);
                match coming.first {
                    None => coming.first = Some(now),
                    Some(_) => {
                        coming.bytes += bytes.len() as u64;
                        coming.last = Some(now);
                    }
                }
            }
            Err(error) if error.kind() == PathErrorKind::TimedOut => {}
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ligament_link::Key;

    fn two() -> (Option<MeasuringEnd>, Option<MeasuringEnd>) {
        let invitation = Invitation::new("link", Vec::new(), true, Key::make());
        let meeting = || PathKey { invitation: invitation.to_text().to_string(), pace: None };
        let (mut here, mut there) = (None, None);
        let listen = EndOrder::Listen { meeting: meeting(), interface: Some("127.0.0.1".into()), ports: None };
        let Ok(EndReply::Listens { at }) = obey(listen, &mut there) else { panic!("it does not listen") };
        let open = EndOrder::Open { meeting: meeting(), to: at, streams: 1, jump: None, within: 20.0 };
        assert_eq!(obey(open, &mut here), Ok(EndReply::Opened { reached: true }));
        (here, there)
    }

    #[test]
    fn bytes_go_to_and_fro_and_what_comes_is_counted_once() {
        let (mut here, mut there) = two();
        let ping = EndOrder::Ping { count: 3, within: 20.0 };
        let Ok(EndReply::Pinged { round_trips }) = obey(ping, &mut here) else { panic!("no answer") };
        assert_eq!(round_trips.len(), 3);
        let send = EndOrder::Send { seconds: 20.0, bytes: 1 << 20 };
        let Ok(EndReply::Sent { bytes }) = obey(send, &mut here) else { panic!("no answer") };
        let expected: u64 = (0..6).map(|i| (FIRST_MESSAGE_BYTES as u64) << i).sum();
        assert_eq!(bytes, expected, "it stays below the limit");
        let Ok(EndReply::Came { bytes, seconds }) = obey(EndOrder::Came, &mut there) else {
            panic!("no answer")
        };
        assert_eq!(bytes, expected - FIRST_MESSAGE_BYTES as u64, "the first message only says when it began");
        assert!(seconds > 0.0);
        assert_eq!(obey(EndOrder::Came, &mut there), Ok(EndReply::Came { bytes: 0, seconds: 0.0 }));
    }

    #[test]
    fn an_order_before_there_is_a_path_is_refused() {
        assert!(obey(EndOrder::Came, &mut None).is_err());
    }
}
