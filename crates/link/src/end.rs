//! The state of one end of a path, which its calls and its thread share. A thread that holds the lock does
//! all work that is possible at once. The path's own thread does the rest, and sleeps while there is no
//! work.

use crate::error::{Misuse, PathError, PathErrorKind};
use bytemuck::allocation::try_zeroed_vec;
use ligament_catalogue::{fault, Fault};
use ligament_net::{now, Event, MessageId, MessageStore, Nanos, Net};
use rustix::event::{eventfd, poll, EventfdFlags, PollFd, PollFlags, Timespec};
use std::collections::{HashMap, VecDeque};
use std::io::IoSlice;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The conduits of a path: messages, barriers, and the note that an end closes.
const MESSAGES: u32 = 0;
const BARRIERS: u32 = 1;
const CLOSING: u32 = 2;
pub(crate) const CONDUITS: u64 = 3;
/// Maximum number of rounds in one turn. In each round, a turn does the work that the round before has made
/// possible. After them, other threads may take the lock.
const ROUNDS: u32 = 8;
/// Cost of a message in the window besides its bytes.
const MESSAGE_OVERHEAD_BYTES: u64 = 64;

/// Bytes that are being sent. They are kept until they have arrived at the other end.
pub(crate) type Bytes = Box<dyn AsRef<[u8]> + Send + Sync>;

/// The number of a request.
pub(crate) type RequestNumber = u64;

/// The messages of this end that are being sent or received.
#[derive(Default)]
struct Desk {
    leaving: HashMap<MessageId, Bytes>,
    arriving: HashMap<MessageId, Vec<u8>>,
    arrived: Vec<(u32, Vec<u8>)>,
    released: Vec<MessageId>,
    credited: u64,
}

impl MessageStore for Desk {
    fn slices<'a>(&'a self, _: u32, id: MessageId, offset: u64, len: u32, into: &mut Vec<IoSlice<'a>>) {
        let Some(bytes) = self.leaving.get(&id) else { return };
        let bytes = (**bytes).as_ref();
        into.push(IoSlice::new(&bytes[offset as usize..offset as usize + len as usize]));
    }

    fn begin(&mut self, _: u32, id: MessageId, total: u64) -> Result<(), Fault> {
        // The kernel allocates the pages when they are first written. So a header that claims a large length
        // takes no memory.
        let bytes = usize::try_from(total).ok().and_then(|total| try_zeroed_vec(total).ok());
        let Some(bytes) = bytes else {
            return Err(fault!(NO_MEMORY_FOR_OTHERS, "there is no memory for a message of {total} bytes"));
        };
        self.arriving.insert(id, bytes);
        Ok(())
    }

    fn room(&mut self, _: u32, id: MessageId, offset: u64, len: u32) -> &mut [u8] {
        let bytes = self.arriving.get_mut(&id).expect("it has begun");
        &mut bytes[offset as usize..offset as usize + len as usize]
    }

    fn deliver(&mut self, _: u32, id: MessageId) {
        if let Some(bytes) = self.arriving.remove(&id) {
            self.arrived.push((id.conduit, bytes));
        }
    }

    fn release(&mut self, _: u32, id: MessageId) {
        if self.leaving.remove(&id).is_some() {
            self.released.push(id);
        }
    }

    fn credit(&mut self, _: u32, conduit: u32, bytes: u64) {
        if conduit == MESSAGES {
            self.credited = self.credited.max(bytes);
        }
    }
}

/// The progress of a request.
pub(crate) enum RequestStage {
    /// The message is being sent.
    Sends,
    /// The request waits for a message to arrive.
    Receives,
    /// The message has arrived at the other end.
    Sent,
    /// This message has arrived for the request.
    Came(ReceivedMessage),
}

/// A message that has arrived: its number in the order of arrival, and its bytes.
pub(crate) struct ReceivedMessage {
    number: u64,
    pub bytes: Vec<u8>,
}

/// The traffic of one end since its start.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    pub sent: u64,
    pub sent_bytes: u64,
    pub received: u64,
    pub received_bytes: u64,
    pub cuts: u64,
}

/// The whole state of one end.
pub(crate) struct EndState {
    net: Net,
    desk: Desk,
    /// The other end's number.
    peer: u32,
    window: u64,
    pub up: bool,
    /// The reason for which the path is lost.
    over: Option<PathError>,
    /// True if both ends have announced that they send no more.
    ended: bool,
    /// Messages that wait for room in the window.
    queue: VecDeque<(RequestNumber, Bytes)>,
    sends: HashMap<MessageId, RequestNumber>,
    /// Requests that wait for a message, the oldest first. `waits` has the messages that no request has
    /// asked for yet.
    wants: VecDeque<RequestNumber>,
    waits: VecDeque<ReceivedMessage>,
    requests: HashMap<RequestNumber, RequestStage>,
    last: RequestNumber,
    /// Total cost of the messages sent (`spent`) and received (`taken`) so far.
    spent: u64,
    taken: u64,
    /// Number of barriers that this end and the other end have announced. `passed` is the number that this
    /// end has passed.
    barriers: [u64; 2],
    passed: u64,
    /// Number of messages that have arrived. `closed_after` is the total number that the other end has sent,
    /// known when it has closed.
    came: u64,
    closed_after: Option<u64>,
    pub counts: Counts,
    /// The last program that was refused as the other end, and the reason.
    refused: Option<String>,
    /// True if the last turn left work to do.
    more: bool,
    /// True if an event has happened for which another thread may wait.
    news: bool,
    /// Time until which the thread sleeps, ns.
    sleeps: Nanos,
    stops: bool,
}

fn cost(length: usize) -> u64 {
    length as u64 + MESSAGE_OVERHEAD_BYTES
}

impl EndState {
    fn new(net: Net, peer: u32, window: u64) -> EndState {
        EndState {
            net,
            desk: Desk::default(),
            peer,
            window,
            up: false,
            over: None,
            ended: false,
            queue: VecDeque::new(),
            sends: HashMap::new(),
            wants: VecDeque::new(),
            waits: VecDeque::new(),
            requests: HashMap::new(),
            last: 0,
            spent: 0,
            taken: 0,
            barriers: [0; 2],
            passed: 0,
            came: 0,
            closed_after: None,
            counts: Counts::default(),
            refused: None,
            more: false,
            news: false,
            sleeps: 0,
            stops: false,
        }
    }

    /// Does the work that is possible without waiting, up to `ROUNDS` rounds. If work is left, the thread
    /// continues at once.
    fn turn(&mut self) {
        self.send_queued();
        self.net.turn(&mut self.desk, now());
        self.more = true;
        for _ in 0..ROUNDS {
            let some = self.send_queued();
            if !some && self.desk.arrived.is_empty() && self.desk.released.is_empty() {
                self.more = false;
                break;
            }
            self.take_in();
            self.net.turn(&mut self.desk, now());
        }
        while let Some(event) = self.net.event() {
            self.news = true;
            match event {
                Event::PathUp { .. } => (self.up, self.refused) = (true, None),
                Event::PathDown { .. } => {
                    self.up = false;
                    self.counts.cuts += 1;
                }
                Event::GivenUp { why, .. } => {
                    let out_of_memory = why.code() == "no-memory-for-others";
                    let kind = if out_of_memory { PathErrorKind::OutOfMemory } else { PathErrorKind::System };
                    let why = match &self.refused {
                        Some(refused) if !out_of_memory => why.told(|why| format!("{why}; {refused}")),
                        _ => why,
                    };
                    self.over.get_or_insert(PathError::of(kind, why));
                }
                Event::Gone { why, .. } => {
                    self.over.get_or_insert(PathError::system(fault!(
                        PATH_GIVEN_UP,
                        "the other end is gone: {why}"
                    )));
                }
                Event::Ended { .. } => self.ended = true,
                Event::Refused { from, why, .. } => {
                    self.refused = Some(format!("{from} has come and was sent away: {why}"));
                }
                Event::StreamLost { .. } => {}
            }
        }
    }

    /// Passes the queued messages that fit into the window to the path. Returns true if there were any.
    fn send_queued(&mut self) -> bool {
        let mut some = false;
        while let Some((_, bytes)) = self.queue.front() {
            let (length, under_way) = ((**bytes).as_ref().len(), self.spent.saturating_sub(self.desk.credited));
            if under_way > 0 && under_way + cost(length) > self.window {
                break;
            }
            let Some((number, bytes)) = self.queue.pop_front() else { break };
            self.spent += cost(length);
            let id = self.net.send(self.peer, MESSAGES, length as u64);
            self.desk.leaving.insert(id, bytes);
            self.sends.insert(id, number);
            self.counts.sent += 1;
            self.counts.sent_bytes += length as u64;
            some = true;
        }
        self.news |= some;
        some
    }

    /// Handles the messages that have arrived at the other end and at this end.
    fn take_in(&mut self) {
        self.news |= !self.desk.released.is_empty() || !self.desk.arrived.is_empty();
        for id in std::mem::take(&mut self.desk.released) {
            if let Some(number) = self.sends.remove(&id) {
                if let Some(stage) = self.requests.get_mut(&number) {
                    *stage = RequestStage::Sent;
                }
            }
        }
        for (conduit, bytes) in std::mem::take(&mut self.desk.arrived) {
            match conduit {
                MESSAGES => {
                    self.came += 1;
                    let came = ReceivedMessage { number: self.came, bytes };
                    match self.wants.pop_front() {
                        Some(number) => self.hand_over(number, came),
                        None => self.waits.push_back(came),
                    }
                }
                BARRIERS => self.barriers[1] += 1,
                CLOSING => self.closed_after = bytes.try_into().ok().map(u64::from_le_bytes),
                _ => {}
            }
        }
    }

    fn hand_over(&mut self, number: RequestNumber, came: ReceivedMessage) {
        self.taken += cost(came.bytes.len());
        self.counts.received += 1;
        self.counts.received_bytes += came.bytes.len() as u64;
        self.net.credit(self.peer, MESSAGES, self.taken);
        self.requests.insert(number, RequestStage::Came(came));
    }

    // ---- operations for the calls
    // ---------------------------------------------------------------------------
    fn number(&mut self, stage: RequestStage) -> RequestNumber {
        self.last += 1;
        self.requests.insert(self.last, stage);
        self.last
    }

    /// Returns the reason for which no more messages can be sent, if there is one.
    pub fn cannot_send(&self) -> Option<PathError> {
        match (&self.over, self.closed_after, self.stops) {
            (_, _, true) => Some(Misuse::ClosedHere.into()),
            (_, Some(_), _) => Some(Misuse::Closed.into()),
            (over, ..) => over.clone(),
        }
    }

    /// Returns the reason for which no more messages will arrive, if there is one.
    pub fn cannot_come(&self) -> Option<PathError> {
        match (&self.over, self.closed_after, self.stops) {
            (_, _, true) => Some(Misuse::ClosedHere.into()),
            (_, Some(last), _) if self.came >= last => Some(Misuse::Closed.into()),
            (over, ..) => over.clone(),
        }
    }

    pub fn send(&mut self, bytes: Bytes) -> Result<RequestNumber, PathError> {
        if let Some(error) = self.cannot_send() {
            return Err(error);
        }
        let number = self.number(RequestStage::Sends);
        self.queue.push_back((number, bytes));
        self.turn();
        Ok(number)
    }

    pub fn receive(&mut self) -> RequestNumber {
        let number = self.number(RequestStage::Receives);
        match self.waits.pop_front() {
            Some(came) => self.hand_over(number, came),
            None => self.wants.push_back(number),
        }
        self.turn();
        number
    }

    /// Drops a request for a message. If its message has arrived, the message goes to the request that has
    /// waited longest, or back to its place among the messages that no request has asked for.
    pub fn forget(&mut self, number: RequestNumber) {
        self.wants.retain(|&one| one != number);
        if let Some(RequestStage::Came(came)) = self.requests.remove(&number) {
            // The message is counted again when it is received.
            self.taken -= cost(came.bytes.len());
            self.counts.received -= 1;
            self.counts.received_bytes -= came.bytes.len() as u64;
            self.news = true;
            match self.wants.pop_front() {
                Some(next) => self.hand_over(next, came),
                None => {
                    let place = self.waits.partition_point(|other| other.number < came.number);
                    self.waits.insert(place, came);
                }
            }
        }
    }

    /// Stops sending the bytes of a request that will not arrive any more, and frees them. A stream that is
    /// sending them breaks.
    pub fn take_back(&mut self, number: RequestNumber) {
        self.queue.retain(|(one, _)| *one != number);
        let desk = &mut self.desk;
        self.sends.retain(|id, one| *one != number || desk.leaving.remove(id).is_none());
    }

    /// Returns the length of the next message that no request has asked for.
    pub fn next_length(&self) -> Option<u64> {
        self.waits.front().map(|came| came.bytes.len() as u64)
    }

    pub fn stage(&self, number: RequestNumber) -> Option<&RequestStage> {
        self.requests.get(&number)
    }

    /// Ends a request. Returns the message that has arrived for it, or no bytes for a send.
    pub fn finish(&mut self, number: RequestNumber) -> Vec<u8> {
        match self.requests.remove(&number) {
            Some(RequestStage::Came(came)) => came.bytes,
            _ => Vec::new(),
        }
    }

    /// Returns true if all messages from this end have arrived.
    pub fn all_has_arrived(&self) -> bool {
        self.queue.is_empty() && self.sends.is_empty()
    }

    /// Changes the maximum number of bytes per second that are sent.
    pub fn set_pace(&mut self, pace: Option<u64>) {
        self.net.set_pace(pace);
    }

    /// Returns true if a message would be sent now without waiting for room in the window.
    pub fn has_room(&self) -> bool {
        self.queue.is_empty()
    }

    /// Announces to the other end that this end is at a barrier, and returns the barrier's number. If a
    /// barrier is announced but not passed, returns its number without a new announcement: an earlier call
    /// timed out at it.
    pub fn reach_barrier(&mut self) -> u64 {
        if self.barriers[0] == self.passed {
            self.barriers[0] += 1;
            let id = self.net.send(self.peer, BARRIERS, 0);
            self.desk.leaving.insert(id, Box::new([0_u8; 0]));
            self.turn();
        }
        self.barriers[0]
    }

    /// Passes a barrier if the other end has reached it. Returns true if so.
    pub fn pass_barrier(&mut self, number: u64) -> bool {
        let is_there = self.barriers[1] >= number;
        if is_there {
            self.passed = self.passed.max(number);
        }
        is_there
    }

    /// Announces to the other end that this end sends no more messages.
    pub fn say_closing(&mut self) {
        let word = self.counts.sent.to_le_bytes();
        let id = self.net.send(self.peer, CLOSING, word.len() as u64);
        self.desk.leaving.insert(id, Box::new(word));
        self.net.end(self.peer);
        self.turn();
    }

    /// Returns true if the close of the path need not wait any longer. This is so if both ends know of the
    /// close, or if the path is lost. It is also so if the other end has everything that this end sent, and
    /// does not close itself.
    pub fn is_over(&self) -> bool {
        self.ended || self.over.is_some() || (self.desk.leaving.is_empty() && self.closed_after.is_none())
    }

    /// Returns the reason for the missing connection, as far as it is known.
    pub fn trouble(&self) -> Option<String> {
        let of_net = || self.net.trouble(self.peer).map(|trouble| trouble.text().to_owned());
        self.refused.clone().or_else(of_net)
    }

    /// Returns true if the other end has announced that it closes.
    pub fn other_closes(&self) -> bool {
        self.closed_after.is_some()
    }

    /// Returns the time at which the next turn is due, if any is.
    fn due(&self) -> Option<Nanos> {
        if self.more {
            Some(0)
        } else {
            self.net.deadline()
        }
    }

    pub fn under_way(&self) -> u64 {
        self.spent.saturating_sub(self.desk.credited)
    }
}

/// The data that the calls and the thread share.
pub(crate) struct SharedEnd {
    state: Mutex<EndState>,
    /// Notified after each event that a call may wait for.
    changed: Condvar,
    /// Wakes the thread.
    wake: OwnedFd,
    /// Readable when a socket is ready.
    sockets: OwnedFd,
}

impl SharedEnd {
    pub fn new(net: Net, peer: u32, window: u64) -> Result<Arc<SharedEnd>, PathError> {
        let failed = |error| {
            PathError::system(fault!(PATH_GIVEN_UP, "the kernel has no descriptors for a path: {error}"))
        };
        let sockets = rustix::io::fcntl_dupfd_cloexec(net.poll_fd(), 3).map_err(failed)?;
        let wake = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC).map_err(failed)?;
        let state = Mutex::new(EndState::new(net, peer, window));
        Ok(Arc::new(SharedEnd { state, changed: Condvar::new(), wake, sockets }))
    }

    pub fn lock(&self) -> MutexGuard<'_, EndState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Called after a change of the state. Wakes the thread if it would sleep too long, and wakes other
    /// callers if an event has happened that they may wait for.
    pub fn wake_if_due(&self, state: &mut EndState) {
        if std::mem::take(&mut state.news) {
            self.changed.notify_all();
        }
        if state.stops || state.due().is_some_and(|at| at < state.sleeps) {
            let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
        }
    }

    /// Waits until `ready` returns a result, at most until `until`. Returns None if it does not.
    pub fn wait<T>(
        &self,
        mut state: MutexGuard<'_, EndState>,
        until: Option<std::time::Instant>,
        mut ready: impl FnMut(&mut EndState) -> Option<T>,
    ) -> Option<T> {
        loop {
            if let Some(done) = ready(&mut state) {
                self.wake_if_due(&mut state);
                return Some(done);
            }
            self.wake_if_due(&mut state);
            let left = match until {
                None => std::time::Duration::from_secs(1),
                Some(until) => {
                    let left = until.saturating_duration_since(std::time::Instant::now());
                    if left.is_zero() {
                        return None;
                    }
                    left
                }
            };
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Called when the thread has crashed: reports an error to all callers that wait, now and later.
    pub fn crashed(&self) {
        let mut state = self.lock();
        let why = fault!(
            PATH_GIVEN_UP,
            "the path's thread has crashed; this is a mistake in Ligament, please report it"
        );
        state.over.get_or_insert(PathError::system(why));
        self.changed.notify_all();
    }

    /// Ends the thread soon.
    pub fn stop(&self) {
        let mut state = self.lock();
        state.stops = true;
        self.wake_if_due(&mut state);
        self.changed.notify_all();
    }

    /// Runs the path's thread until the path ends.
    pub fn run(&self) {
        loop {
            let sleeps = {
                let mut state = self.lock();
                state.turn();
                state.news = false;
                self.changed.notify_all();
                if state.stops {
                    return;
                }
                state.sleeps = state.due().unwrap_or(Nanos::MAX);
                state.sleeps
            };
            let left = sleeps.saturating_sub(now()).min(1_000_000_000);
            let left =
                Timespec { tv_sec: (left / 1_000_000_000) as i64, tv_nsec: (left % 1_000_000_000) as i64 };
            let mut fds = [PollFd::new(&self.sockets, PollFlags::IN), PollFd::new(&self.wake, PollFlags::IN)];
            // If a signal interrupts the poll, the loop looks again.
            let _ = poll(&mut fds, Some(&left));
            if fds[1].revents().contains(PollFlags::IN) {
                let _ = rustix::io::read(&self.wake, &mut [0; 8]);
            }
        }
    }
}
