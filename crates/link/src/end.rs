//! One end of a path as its calls and its thread share it. Whoever has the lock does what can be done at once;
//! the thread does the rest, and sleeps while there is nothing to do.

use crate::error::{Misuse, PathError, PathErrorKind};
use bytemuck::allocation::try_zeroed_vec;
use ligament_catalogue::{fault, Fault};
use ligament_net::{now, Event, MessageId, MessageStore, Nanos, Net};
use rustix::event::{eventfd, poll, EventfdFlags, PollFd, PollFlags, Timespec};
use std::collections::{HashMap, VecDeque};
use std::io::IoSlice;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The conduits of a path: messages, barriers, and the word that one end closes.
const MESSAGES: u32 = 0;
const BARRIERS: u32 = 1;
const CLOSING: u32 = 2;
pub(crate) const CONDUITS: u64 = 3;
/// How often a turn does what has become possible by it, before others may have the lock.
const ROUNDS: u32 = 8;
/// The cost of a message in the window besides its bytes.
const MESSAGE_OVERHEAD_BYTES: u64 = 64;

/// Bytes of somebody's that are sent, and kept until they have arrived.
pub(crate) type Bytes = Box<dyn AsRef<[u8]> + Send + Sync>;

/// The number of a request.
pub(crate) type RequestNumber = u64;

/// The messages of this end.
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
        // The kernel gives its pages when bytes come, and not at once for a header that says much.
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

/// How far a request has come.
pub(crate) enum RequestStage {
    /// Under way.
    Sends,
    /// Waits for a message.
    Receives,
    /// It has arrived there.
    Sent,
    /// It has come.
    Came(ReceivedMessage),
}

/// A message that has come: its number among all that came, and its bytes.
pub(crate) struct ReceivedMessage {
    number: u64,
    pub bytes: Vec<u8>,
}

/// The traffic.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    pub sent: u64,
    pub sent_bytes: u64,
    pub received: u64,
    pub received_bytes: u64,
    pub cuts: u64,
}

/// All of one end.
pub(crate) struct EndState {
    net: Net,
    desk: Desk,
    /// The other end's number.
    peer: u32,
    window: u64,
    pub up: bool,
    /// Why the path is over.
    over: Option<PathError>,
    /// Both ends have said that nothing more comes.
    ended: bool,
    /// Messages that wait for room in the window.
    queue: VecDeque<(RequestNumber, Bytes)>,
    sends: HashMap<MessageId, RequestNumber>,
    /// Requests for messages, the oldest first; messages that nobody has asked for yet.
    wants: VecDeque<RequestNumber>,
    waits: VecDeque<ReceivedMessage>,
    requests: HashMap<RequestNumber, RequestStage>,
    last: RequestNumber,
    /// Costs of the messages sent, and received, ever.
    spent: u64,
    taken: u64,
    /// Barriers of which this end has told, and the other one; and those that this end has passed.
    barriers: [u64; 2],
    passed: u64,
    /// The number of messages that came, and how many the other end has sent in all, once it has closed.
    came: u64,
    closed_after: Option<u64>,
    pub counts: Counts,
    /// The stranger that was sent away last, and the reason.
    refused: Option<String>,
    /// The last turn left something to do.
    more: bool,
    /// Something has happened for which another thread may wait.
    news: bool,
    /// Until when the thread sleeps.
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

    /// Does what can be done without waiting, up to a limit: then the thread goes on at once.
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

    /// Gives the path what the window has room for; whether that was anything.
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

    /// Takes in what has arrived, here and there.
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

    // ---- what calls want ------------------------------------------------------------------------------------
    fn number(&mut self, stage: RequestStage) -> RequestNumber {
        self.last += 1;
        self.requests.insert(self.last, stage);
        self.last
    }

    /// Why nothing can be sent any more.
    pub fn cannot_send(&self) -> Option<PathError> {
        match (&self.over, self.closed_after, self.stops) {
            (_, _, true) => Some(Misuse::ClosedHere.into()),
            (_, Some(_), _) => Some(Misuse::Closed.into()),
            (over, ..) => over.clone(),
        }
    }

    /// Why nothing more will come.
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

    /// Gives a request for a message up; one that has come goes back to its place among those that nobody has
    /// asked for, or to whoever waits longest.
    pub fn forget(&mut self, number: RequestNumber) {
        self.wants.retain(|&one| one != number);
        if let Some(RequestStage::Came(came)) = self.requests.remove(&number) {
            // It will be counted when it is received after all.
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

    /// Lets go of bytes that will not arrive any more: they are the sender's again. A stream that is in the
    /// middle of them breaks.
    pub fn take_back(&mut self, number: RequestNumber) {
        self.queue.retain(|(one, _)| *one != number);
        let desk = &mut self.desk;
        self.sends.retain(|id, one| *one != number || desk.leaving.remove(id).is_none());
    }

    /// The length of the next message that nobody has asked for.
    pub fn next_length(&self) -> Option<u64> {
        self.waits.front().map(|came| came.bytes.len() as u64)
    }

    pub fn stage(&self, number: RequestNumber) -> Option<&RequestStage> {
        self.requests.get(&number)
    }

    /// The end of a request: what came, or nothing of one that sent.
    pub fn finish(&mut self, number: RequestNumber) -> Vec<u8> {
        match self.requests.remove(&number) {
            Some(RequestStage::Came(came)) => came.bytes,
            _ => Vec::new(),
        }
    }

    /// Returns true if nothing is on its way from here.
    pub fn all_has_arrived(&self) -> bool {
        self.queue.is_empty() && self.sends.is_empty()
    }

    /// Changes the pace of what is sent.
    pub fn set_pace(&mut self, pace: Option<u64>) {
        self.net.set_pace(pace);
    }

    /// Returns true if what is sent now finds room.
    pub fn has_room(&self) -> bool {
        self.queue.is_empty()
    }

    /// Tells the other end that this one is at a barrier; its number. One that was told and not passed is the
    /// same: the call that waited for it took too long, and is repeated.
    pub fn reach_barrier(&mut self) -> u64 {
        if self.barriers[0] == self.passed {
            self.barriers[0] += 1;
            let id = self.net.send(self.peer, BARRIERS, 0);
            self.desk.leaving.insert(id, Box::new([0_u8; 0]));
            self.turn();
        }
        self.barriers[0]
    }

    /// Passes a barrier if the other end is there too.
    pub fn pass_barrier(&mut self, number: u64) -> bool {
        let is_there = self.barriers[1] >= number;
        if is_there {
            self.passed = self.passed.max(number);
        }
        is_there
    }

    /// Tells the other end that nothing more comes.
    pub fn say_closing(&mut self) {
        let word = self.counts.sent.to_le_bytes();
        let id = self.net.send(self.peer, CLOSING, word.len() as u64);
        self.desk.leaving.insert(id, Box::new(word));
        self.net.end(self.peer);
        self.turn();
    }

    /// Returns true if both ends know that it is over, or it is of no use to wait for that: the other end
    /// knows, and goes on.
    pub fn is_over(&self) -> bool {
        self.ended || self.over.is_some() || (self.desk.leaving.is_empty() && self.closed_after.is_none())
    }

    /// Why there is no connection yet, as far as it is known.
    pub fn trouble(&self) -> Option<String> {
        let of_net = || self.net.trouble(self.peer).map(|trouble| trouble.text().to_owned());
        self.refused.clone().or_else(of_net)
    }

    /// Returns true if the other end has said that it closes.
    pub fn other_closes(&self) -> bool {
        self.closed_after.is_some()
    }

    /// When the next turn is due, if it is.
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

/// The data that calls and the thread share.
pub(crate) struct SharedEnd {
    state: Mutex<EndState>,
    /// Something has happened.
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

    /// After a call has changed something: wakes the thread if it sleeps too long, and whoever waits for what
    /// the call has taken in beside its own.
    pub fn wake_if_due(&self, state: &mut EndState) {
        if std::mem::take(&mut state.news) {
            self.changed.notify_all();
        }
        if state.stops || state.due().is_some_and(|at| at < state.sleeps) {
            let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
        }
    }

    /// Waits until a condition gives something, at most until then; none if it does not.
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

    /// The thread has crashed: whoever waits is told, and nobody waits again.
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

    /// The thread.
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
            // Interrupted, it looks again.
            let _ = poll(&mut fds, Some(&left));
            if fds[1].revents().contains(PollFlags::IN) {
                let _ = rustix::io::read(&self.wake, &mut [0; 8]);
            }
        }
    }
}
