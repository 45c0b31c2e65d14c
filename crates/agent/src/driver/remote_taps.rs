//! Taps from one domain to another. The client at the head has a box, which the head's agent fills. The
//! instance has a box, which the agent of the instance's domain reads. When the client asks for a value,
//! the value travels in pieces over the path between the agents, straight from the instance's box into the
//! client's box, and no agent keeps a copy. A box has no doorbell for an agent, so the agents poll boxes
//! while a value is awaited.

use super::taps::make_own;
use super::Driver;
use crate::action::{ConnectionId, TapViewer};
use crate::host::RemoteTapEvent;
use ligament_catalogue::{fault, Code, Fault};
use ligament_shm::tap::{Note, TapBox, Wish};
use ligament_shm::ShmError;
use ligament_wire::control::{to_bytes, Notice};
use ligament_wire::domains::{
    truncated, FromAgent, FromHead, Shows, TapNote, TapOrder, TapPort, TapReply, TapWish, MAX_PIECE,
    MAX_VALUE_BYTES_UNDER_WAY,
};
use ligament_wire::steering::ModelTime;
use ligament_wire::tap::TapOutcome;
use ligament_wire::DomainId;
use rustix::fd::OwnedFd;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;

/// Limits of the pause between two polls, and its divisor. The pause is a sixteenth of the time since the
/// last event, within the limits. So a value is late by at most a sixteenth of the time that the value
/// took.
const MIN_POLL_PAUSE: Duration = Duration::from_millis(1);
const MAX_POLL_PAUSE: Duration = Duration::from_millis(250);
const POLL_PAUSE_DIVISOR: u32 = 16;

/// The tap of a client of this agent on a port of another domain. Only the head's agent has such taps.
struct TapReceiver {
    domain: DomainId,
    room: u64,
    /// The client's box; `None` until the agent of the other domain has begun the tap.
    bin: Option<TapBox>,
    /// The value that this agent has requested from the other agent and that has not arrived completely.
    asked: Option<Wish>,
    /// Number of bytes of the requested value that have arrived.
    came: u64,
    /// True if the system had no memory for some bytes of the value. The value is then discarded, and the
    /// client gets the outcome `NoMemory`.
    lacks_memory: bool,
}

/// The tap of the head, for a client of the head, on a port of this agent's domain.
struct TapSender {
    bin: TapBox,
    /// True if the head has requested a value that is not in the box yet.
    awaits: bool,
    /// The value that this agent is sending to the head, and the number of its bytes that were sent.
    sends: Option<(Note, u64)>,
    /// Number of bytes of this value that have arrived at the head.
    took: u64,
    /// The reason why the tap ends; `None` until the tap is to end.
    over: Option<String>,
}

/// All taps between domains: the taps of this agent's clients, by connection, and the taps of the head, by
/// ticket.
pub(super) struct RemoteTaps {
    asking: BTreeMap<ConnectionId, TapReceiver>,
    showing: BTreeMap<u64, TapSender>,
    /// Time of the last event of a tap.
    since: Instant,
    looked: Instant,
    pause: Duration,
}

impl Default for RemoteTaps {
    fn default() -> RemoteTaps {
        let (asking, showing) = (BTreeMap::new(), BTreeMap::new());
        let now = Instant::now();
        RemoteTaps { asking, showing, since: now, looked: now, pause: MIN_POLL_PAUSE }
    }
}

impl RemoteTaps {
    /// Returns the time of the next poll, or `None` if no box needs polling.
    pub fn due(&self) -> Option<Instant> {
        let awaits =
            self.asking.values().any(|one| one.bin.is_some()) || self.showing.values().any(|one| one.awaits);
        awaits.then(|| self.looked + self.pause)
    }

    fn something_happens(&mut self) {
        self.since = Instant::now();
        (self.looked, self.pause) = (self.since, MIN_POLL_PAUSE);
    }
}

impl TapSender {
    /// Sends as many pieces as the limit of bytes under way allows. Returns true if the tap is over, so
    /// that nothing more will follow.
    fn go_on(&mut self, ticket: u64, tell: &mut dyn FnMut(TapReply)) -> bool {
        if self.awaits {
            match self.bin.look() {
                Ok(None) => {}
                Ok(Some(note)) => (self.awaits, self.sends, self.took) = (false, Some((note, 0)), 0),
                Err(error) => self.over = Some(Fault::from(error).with_code()),
            }
        }
        while let Some((note, sent)) = self.sends {
            let len = if note.outcome == TapOutcome::Value { note.body_len } else { 0 };
            let next = (len - sent).min(MAX_PIECE as u64);
            if sent + next > self.took.saturating_add(MAX_VALUE_BYTES_UNDER_WAY) {
                return false;
            }
            let mut bytes = vec![0; next as usize];
            self.bin.copy(sent, &mut bytes);
            let is_last = sent + next == len;
            self.sends = (!is_last).then_some((note, sent + next));
            let note = is_last.then(|| told(&note));
            tell(TapReply { ticket, shows: Shows::Piece { offset: sent, bytes, note } });
        }
        match self.over.take() {
            None => false,
            Some(why) => {
                tell(TapReply { ticket, shows: Shows::Over(why) });
                true
            }
        }
    }
}

impl TapReceiver {
    /// Makes the client's box. Returns a descriptor of the box's memory, to be sent to the client.
    fn begin(&mut self) -> Result<OwnedFd, Fault> {
        let (bin, memory) = make_own(self.room)?;
        self.bin = Some(bin);
        Ok(memory)
    }

    /// Puts a piece of a value in the client's box. `note` comes with the last piece. Returns the answer
    /// for the other agent, or `None` after the last piece.
    fn take(&mut self, offset: u64, bytes: &[u8], note: Option<TapNote>) -> Result<Option<TapWish>, Fault> {
        let wrong = |what: &str| {
            fault!(TAP_REFUSED, "the agent of domain {} sent a value that makes no sense: {what}", self.domain)
        };
        let Some(bin) = self.bin.as_ref().filter(|bin| self.asked.is_some() && bin.is_asked()) else {
            return Err(wrong("a value for which nobody has asked"));
        };
        if offset != self.came || bytes.is_empty() && note.is_none() {
            return Err(wrong(&format!("{} bytes from {offset} on, behind {}", bytes.len(), self.came)));
        }
        if bytes.len() as u64 > self.room - self.came {
            return Err(wrong(&format!("more than the {} bytes for which there is room", self.room)));
        }
        let Some(note) = note else {
            self.lacks_memory |= !put(bin, offset, bytes)?;
            self.came += bytes.len() as u64;
            return Ok(Some(TapWish::Took(self.came)));
        };
        let whole = offset + bytes.len() as u64;
        let mut note = heard(note).ok_or_else(|| wrong("what no value is"))?;
        let expected = if note.outcome == TapOutcome::Value { note.body_len } else { 0 };
        if whole != expected {
            return Err(wrong(&format!("{whole} bytes, and says that there are {expected}")));
        }
        self.lacks_memory |= !put(bin, offset, bytes)?;
        bin.count(note.number);
        // A lack of memory does not end the tap, whether this agent or the instance lacks the memory: the
        // next value may be smaller, or memory may be free again.
        if std::mem::take(&mut self.lacks_memory) {
            note.outcome = TapOutcome::NoMemory;
        }
        (self.asked, self.came) = (None, 0);
        bin.answer(note);
        Ok(None)
    }
}

/// Puts a piece of a value in a box. Returns false if the system has no memory for it.
fn put(bin: &TapBox, offset: u64, bytes: &[u8]) -> Result<bool, Fault> {
    match bin.put(offset, bytes) {
        Ok(()) => Ok(true),
        Err(ShmError::OutOfMemory { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn told(note: &Note) -> TapNote {
    let Note { outcome, parts, body_len, timestamp, next_timestamp, slot, number, cost } = *note;
    TapNote {
        outcome: outcome as u64,
        parts,
        bytes: body_len,
        timestamp: ModelTime(timestamp),
        next_timestamp: next_timestamp.map(ModelTime),
        slot,
        number,
        cost,
    }
}

fn heard(note: TapNote) -> Option<Note> {
    let TapNote { outcome, parts, bytes, timestamp, next_timestamp, slot, number, cost } = note;
    Some(Note {
        outcome: TapOutcome::of(outcome)?,
        parts,
        body_len: bytes,
        timestamp: timestamp.0,
        next_timestamp: next_timestamp.map(|at| at.0),
        slot,
        number,
        cost,
    })
}

impl Driver<'_> {
    fn order_tap(&self, domain: DomainId, ticket: u64, wish: TapWish) {
        if let Some(elsewhere) = &self.elsewhere {
            elsewhere.carrier.control(domain, to_bytes(&FromHead::Tap(TapOrder { ticket, wish })));
        }
    }

    fn tell_tap(&self, tapped: TapReply) {
        if let Some(elsewhere) = &self.elsewhere {
            elsewhere.carrier.control(DomainId::HEAD, to_bytes(&FromAgent::Tapped(tapped)));
        }
    }

    /// Handles a client's request to view a port of another domain.
    pub(super) fn tap_elsewhere(&mut self, link: ConnectionId, port: Box<TapPort>) {
        let there = self.elsewhere.as_ref().filter(|elsewhere| elsewhere.me == DomainId::HEAD);
        let Some(&domain) = there.and_then(|elsewhere| elsewhere.domain_of.get(port.instance.index())) else {
            let why = fault!(
                RUNS_ELSEWHERE,
                "this agent knows its own part of the run only; ask where the run was begun"
            );
            return self.tap_elsewhere_ends(link, &why);
        };
        let asking =
            TapReceiver { domain, room: port.room, bin: None, asked: None, came: 0, lacks_memory: false };
        self.remote_taps.asking.insert(link, asking);
        self.order_tap(domain, link, TapWish::Begin(port));
    }

    /// Handles the end of the connection of a client that views a port of another domain.
    pub(super) fn untap_elsewhere(&mut self, link: ConnectionId) {
        if let Some(asking) = self.remote_taps.asking.remove(&link) {
            self.order_tap(asking.domain, link, TapWish::End);
        }
    }

    /// Ends a client's tap on a port of another domain, and sends the reason to the client.
    fn tap_elsewhere_ends(&mut self, link: ConnectionId, why: &Fault) {
        let begun = self.remote_taps.asking.remove(&link).is_some_and(|asking| asking.bin.is_some());
        self.core.tap_elsewhere_is_over(link);
        let why = why.with_code();
        let notice = if begun { Notice::TapOver { why } } else { Notice::Refused { why } };
        self.send_with(link, &notice, Vec::new());
    }

    /// Ends all taps of clients on ports of a domain that is lost.
    pub(super) fn end_taps_in(&mut self, domain: DomainId) {
        let there = self.remote_taps.asking.iter().filter(|(_, asking)| asking.domain == domain);
        let links: Vec<ConnectionId> = there.map(|(&link, _)| link).collect();
        let why = fault!(TAP_REFUSED, "domain {domain} is lost, and with it what its ports send");
        for link in links {
            self.tap_elsewhere_ends(link, &why);
        }
    }

    /// Begins to send the values of a port to the head. `bin` is the box that the instance fills.
    pub(super) fn shows_to_head(&mut self, ticket: u64, bin: TapBox) {
        let showing = TapSender { bin, awaits: false, sends: None, took: 0, over: None };
        self.remote_taps.showing.insert(ticket, showing);
        self.tell_tap(TapReply { ticket, shows: Shows::Begun });
    }

    /// Ends a tap of the head, because the port sends nothing more or cannot be viewed. If the head awaits
    /// a value and the value is in the box, this agent sends the value first.
    pub(super) fn end_tap_of_head(&mut self, ticket: u64, why: String) {
        // The reason may repeat text of the client, so the reason may be long. The head would reject a
        // reason above the limit as malformed.
        let why = truncated(&why);
        match self.remote_taps.showing.get_mut(&ticket) {
            Some(showing) => {
                showing.over = Some(why);
                self.show_on(ticket);
            }
            None => self.tell_tap(TapReply { ticket, shows: Shows::Over(why) }),
        }
    }

    fn show_on(&mut self, ticket: u64) {
        let Some(showing) = self.remote_taps.showing.get_mut(&ticket) else { return };
        let mut told = Vec::new();
        if showing.go_on(ticket, &mut |tapped| told.push(tapped)) {
            self.remote_taps.showing.remove(&ticket);
            let actions = self.core.untap(TapViewer::Head(ticket));
            self.act(actions);
        }
        told.into_iter().for_each(|tapped| self.tell_tap(tapped));
    }

    /// Polls the boxes in which a client may have asked for a value, and the boxes in which the head awaits
    /// a value.
    pub(super) fn poll_remote_taps(&mut self) {
        let taps = &mut self.remote_taps;
        taps.looked = Instant::now();
        taps.pause =
            (taps.looked.duration_since(taps.since) / POLL_PAUSE_DIVISOR).clamp(MIN_POLL_PAUSE, MAX_POLL_PAUSE);
        let mut asked = Vec::new();
        for (&link, asking) in &mut taps.asking {
            let Some(bin) = asking.bin.as_ref().filter(|bin| bin.is_asked()) else { continue };
            let wish = bin.wish();
            // A client may wish for another value before the first one has begun to arrive.
            if asking.asked != Some(wish) && asking.came == 0 {
                let time = ModelTime(wish.number());
                let is_first = asking.asked.replace(wish).is_none();
                let order = if is_first { TapWish::Ask(time) } else { TapWish::Change(time) };
                asked.push((asking.domain, link, order));
            }
        }
        let awaited: Vec<u64> =
            taps.showing.iter().filter(|(_, one)| one.awaits).map(|(&ticket, _)| ticket).collect();
        for (domain, link, order) in asked {
            self.order_tap(domain, link, order);
        }
        awaited.into_iter().for_each(|ticket| self.show_on(ticket));
    }

    /// Handles a message of another agent about a tap. Ignores the message if the tap has ended in the
    /// meantime.
    pub(super) fn hear_of_tap(&mut self, talk: RemoteTapEvent) {
        match talk {
            RemoteTapEvent::Wanted(TapOrder { ticket, wish }) => self.head_wants(ticket, wish),
            RemoteTapEvent::Shown(domain, TapReply { ticket, shows }) => {
                if self.remote_taps.asking.get(&ticket).is_some_and(|asking| asking.domain == domain) {
                    self.is_shown(ticket, shows);
                }
            }
        }
    }

    fn head_wants(&mut self, ticket: u64, wish: TapWish) {
        match (wish, self.remote_taps.showing.get_mut(&ticket)) {
            (TapWish::Begin(port), None) => {
                let actions = self.core.tap_for_head(ticket, *port);
                self.act(actions);
            }
            (TapWish::Change(from), Some(showing)) if showing.awaits => {
                showing.bin.change_wish(Wish::of(from.0));
            }
            (TapWish::Ask(from), Some(showing)) if showing.sends.is_none() => {
                showing.awaits = true;
                showing.bin.ask_for(Wish::of(from.0));
                self.remote_taps.something_happens();
            }
            (TapWish::Took(bytes), Some(showing)) => {
                showing.took = showing.took.max(bytes);
                self.show_on(ticket);
            }
            (TapWish::End, Some(_)) => {
                self.remote_taps.showing.remove(&ticket);
                let actions = self.core.untap(TapViewer::Head(ticket));
                self.act(actions);
            }
            _ => {}
        }
    }

    fn is_shown(&mut self, link: ConnectionId, shows: Shows) {
        let Some(asking) = self.remote_taps.asking.get_mut(&link) else { return };
        let domain = asking.domain;
        let done = match shows {
            Shows::Begun if asking.bin.is_some() => return,
            Shows::Begun => asking.begin().map(|memory| Some((Notice::Tapped { room: asking.room }, memory))),
            Shows::Piece { offset, bytes, note } => match asking.take(offset, &bytes, note) {
                Ok(Some(wish)) => return self.order_tap(domain, link, wish),
                other => other.map(|_| None),
            },
            Shows::Over(why) => {
                return self.tap_elsewhere_ends(link, &Fault::heard(why, Code::TAP_REFUSED));
            }
        };
        self.remote_taps.something_happens();
        match done {
            Ok(None) => {}
            Ok(Some((notice, memory))) => self.send_with(link, &notice, vec![memory]),
            Err(why) => {
                self.tap_elsewhere_ends(link, &why);
                self.order_tap(domain, link, TapWish::End);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OTHER: DomainId = DomainId::new(1);
    const TEST_BODY_BYTES: u64 = 5 * MAX_PIECE as u64 + 7;

    /// Makes the receiver of a client that has asked for a value, and the client's side of the box.
    fn asking(room: u64) -> (TapReceiver, TapBox) {
        let mut asking = TapReceiver {
            domain: OTHER,
            room,
            bin: None,
            asked: Some(Wish::NEXT),
            came: 0,
            lacks_memory: false,
        };
        let client = TapBox::open(asking.begin().unwrap(), room).unwrap();
        client.ask();
        (asking, client)
    }

    fn note(body_len: u64, outcome: TapOutcome) -> Note {
        let (timestamp, next_timestamp) = (1.5, Some(2.0));
        Note { outcome, parts: 1, body_len, timestamp, next_timestamp, slot: Some(3), number: 7, cost: 5 }
    }

    /// Makes a sender for the head, with a value of an instance in its box.
    fn showing(body_len: u64, outcome: TapOutcome) -> TapSender {
        let (bin, memory) = make_own(TEST_BODY_BYTES).unwrap();
        let sender = TapBox::open(memory, TEST_BODY_BYTES).unwrap();
        bin.ask();
        sender.fill(note(body_len, outcome), |to| {
            for (i, byte) in to.iter_mut().enumerate() {
                *byte = (i % 251) as u8;
            }
        });
        TapSender { bin, awaits: true, sends: None, took: 0, over: None }
    }

    #[test]
    fn a_value_goes_from_one_box_into_the_other_and_no_more_is_under_way_than_may_be() {
        let (mut asking, client) = asking(TEST_BODY_BYTES);
        let mut showing = showing(TEST_BODY_BYTES, TapOutcome::Value);
        let (mut under_way, mut most, mut pieces) = (std::collections::VecDeque::new(), 0, 0);
        assert!(!showing.go_on(3, &mut |tapped| under_way.push_back(tapped)));
        while let Some(TapReply { ticket: 3, shows: Shows::Piece { offset, bytes, note } }) =
            under_way.pop_front()
        {
            most = most.max(1 + under_way.len());
            pieces += 1;
            assert!(client.take().unwrap().is_none());
            if let Some(TapWish::Took(took)) = asking.take(offset, &bytes, note).unwrap() {
                showing.took = took;
                assert!(!showing.go_on(3, &mut |tapped| under_way.push_back(tapped)));
            }
        }
        assert_eq!((most as u64 * MAX_PIECE as u64, pieces), (MAX_VALUE_BYTES_UNDER_WAY, 6));
        let (found, body) = client.take().unwrap().unwrap();
        assert_eq!((found, client.passed()), (note(TEST_BODY_BYTES, TapOutcome::Value), 7));
        assert!(body
            .as_ref()
            .iter()
            .enumerate()
            .take(TEST_BODY_BYTES as usize)
            .all(|(i, &byte)| byte == (i % 251) as u8));
        assert!(asking.asked.is_none() && !showing.awaits && showing.sends.is_none());
    }

    #[test]
    fn what_is_in_the_box_goes_before_the_end_does() {
        for (body_len, outcome) in
            [(9, TapOutcome::Value), (0, TapOutcome::Value), (1 << 40, TapOutcome::TooLarge)]
        {
            let mut showing = showing(body_len, outcome);
            showing.over = Some("it is over".into());
            let mut told = Vec::new();
            assert!(showing.go_on(3, &mut |tapped| told.push(tapped.shows)));
            let [Shows::Piece { offset: 0, bytes, note: Some(found) }, Shows::Over(_)] = &told[..] else {
                panic!("{told:?}")
            };
            let (mut asking, client) = asking(TEST_BODY_BYTES);
            asking.take(0, bytes, Some(*found)).unwrap();
            assert_eq!(client.take().unwrap().unwrap().0, note(body_len, outcome));
        }
    }

    #[test]
    fn a_value_for_which_there_is_no_memory_is_not_shown_and_the_next_one_is() {
        // The file becomes shorter than its mapping, so the pages behind its end cannot be used.
        let path = std::env::temp_dir().join(format!("ligament-far-tap-{}", std::process::id()));
        let file = std::fs::File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        file.set_len(ligament_shm::tap::size_for(TEST_BODY_BYTES) as u64).unwrap();
        let (one, other) =
            (TapBox::open(&file, TEST_BODY_BYTES).unwrap(), TapBox::open(&file, TEST_BODY_BYTES).unwrap());
        let mut asking = TapReceiver {
            domain: OTHER,
            room: TEST_BODY_BYTES,
            bin: Some(one),
            asked: Some(Wish::NEXT),
            came: 0,
            lacks_memory: false,
        };
        let piece = |n: u64| n * MAX_PIECE as u64;
        let whole = Some(told(&note(piece(2), TapOutcome::Value)));
        other.ask();
        file.set_len(4096).unwrap();
        // The rest of the value is received and dropped, so that the sender can finish.
        assert_eq!(asking.take(0, &vec![1; MAX_PIECE], None), Ok(Some(TapWish::Took(piece(1)))));
        file.set_len(ligament_shm::tap::size_for(TEST_BODY_BYTES) as u64).unwrap();
        assert_eq!(asking.take(piece(1), &vec![1; MAX_PIECE], whole), Ok(None));
        assert_eq!(other.take().unwrap().unwrap().0, note(piece(2), TapOutcome::NoMemory));
        other.ask();
        asking.asked = Some(Wish::NEXT);
        assert_eq!(asking.take(0, &[7; 9], Some(told(&note(9, TapOutcome::Value)))), Ok(None));
        let (found, body) = other.take().unwrap().unwrap();
        assert!(found == note(9, TapOutcome::Value) && body.as_ref().starts_with(&[7; 9]));
    }

    #[test]
    fn what_was_not_asked_for_or_has_no_room_is_refused() {
        let value = |bytes| Some(told(&note(bytes, TapOutcome::Value)));
        for (offset, len, note) in [
            (1, 10, None),
            (u64::MAX, 10, None),
            (0, 0, None),
            (0, 101, None),
            (0, 101, value(101)),
            (0, 10, value(11)),
            (0, 10, value(u64::MAX)),
            (0, 10, Some(told(&self::note(10, TapOutcome::NoKey)))),
            (0, 10, Some(TapNote { outcome: 99, ..value(10).unwrap() })),
        ] {
            let (mut asking, client) = asking(100);
            let refused = asking.take(offset, &vec![1; len], note).unwrap_err();
            assert!(refused.contains("makes no sense"), "{refused}");
            assert!(client.take().unwrap().is_none());
        }
        let (mut asking, client) = asking(100);
        assert_eq!(asking.take(0, &[1; 10], value(10)), Ok(None));
        // A second value arrives before the client has asked again.
        assert!(asking.take(0, &[2; 10], value(10)).is_err());
        asking.asked = Some(Wish::NEXT);
        assert!(asking.take(0, &[2; 10], value(10)).is_err());
        assert!(client.take().unwrap().unwrap().1.as_ref().starts_with(&[1; 10]));
    }
}
