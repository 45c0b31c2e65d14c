//! The message store of a trunk's paths: the bytes of the circuits' messages, and memory for arriving ones.
//! It also knows which circuits may continue.

use super::circuits::{cost, CircuitEvent, Circuits};
use super::PATHS;
use crate::connection::Connection;
use crate::{MessageId, MessageStore};
use ligament_catalogue::{fault, Fault};
use rustix::event::epoll::EventFlags;
use std::collections::{BTreeSet, HashMap};
use std::io::IoSlice;

/// Maximum number of bytes that wait for the other relay's acknowledgement, which follows as soon as that
/// relay has them. The limit is needed because bytes that were credited and never acknowledged would be
/// stored for ever.
const MAX_LEAVING_BYTES: u64 = 64 << 20;

/// The trunk's half of a circuit.
pub(super) struct Half {
    pub connection: Connection,
    /// True if the relay has closed its half in both directions.
    pub gone: bool,
    /// True if no more bytes will be read from the relay's half.
    pub ended: bool,
    /// True if the relay's half was shut down for writing, because no more bytes will be written to it.
    pub told: bool,
}

impl Half {
    pub fn new(connection: Connection) -> Half {
        Half { connection, gone: false, ended: false, told: false }
    }
}

/// The state of the trunk with one other relay.
pub(super) struct TrunkPeer {
    pub circuits: Circuits,
    pub halves: HashMap<u32, Half>,
    /// Messages that the other relay has not acknowledged yet.
    leaving: HashMap<MessageId, Vec<u8>>,
    /// Cost of these messages.
    left: u64,
    /// Messages of which a part has arrived.
    arriving: HashMap<MessageId, Vec<u8>>,
    came: Vec<(u32, CircuitEvent)>,
    /// Circuits that may continue.
    due: BTreeSet<u32>,
    /// Circuits that wait for credit.
    poor: BTreeSet<u32>,
    wrong: Option<Fault>,
}

impl TrunkPeer {
    /// Stores a message that is on its way to the other relay.
    pub fn leaves(&mut self, id: MessageId, message: Vec<u8>) {
        self.left += cost(message.len() as u64);
        self.leaving.insert(id, message);
        if self.left > 2 * MAX_LEAVING_BYTES {
            self.wrong = Some(fault!(NOT_LET_IN, "the other relay of a trunk acknowledges nothing"));
        }
    }

    /// Returns true if so many bytes are on their way that further bytes must wait.
    pub fn is_full(&self) -> bool {
        self.left > MAX_LEAVING_BYTES
    }

    pub fn waits_for_credit(&mut self, circuit: u32) {
        self.poor.insert(circuit);
    }

    pub fn goes_on(&mut self, circuit: u32) {
        self.due.insert(circuit);
    }
}

/// The state of all trunks of one `Net`.
pub(super) struct Hold {
    opens: bool,
    fars: HashMap<u32, TrunkPeer>,
}

impl Hold {
    /// Makes an empty store. `opens` is true if this relay opens the circuits.
    pub fn new(opens: bool) -> Hold {
        Hold { opens, fars: HashMap::new() }
    }

    pub fn far(&mut self, far: u32) -> &mut TrunkPeer {
        self.fars.entry(far).or_insert_with(|| TrunkPeer {
            circuits: Circuits::new(self.opens),
            halves: HashMap::new(),
            leaving: HashMap::new(),
            left: 0,
            arriving: HashMap::new(),
            came: Vec::new(),
            due: BTreeSet::new(),
            poor: BTreeSet::new(),
            wrong: None,
        })
    }

    pub fn forget(&mut self, far: u32) {
        self.fars.remove(&far);
    }

    pub fn is_due(&self) -> bool {
        self.fars.values().any(|far| !far.due.is_empty())
    }

    /// Takes in the kernel's report that the socket of a circuit is ready.
    pub fn is_ready(&mut self, far: u32, circuit: u32, flags: EventFlags) {
        if super::token(far, circuit) == PATHS {
            return;
        }
        let Some(far) = self.fars.get_mut(&far) else { return };
        let Some(half) = far.halves.get_mut(&circuit) else { return };
        half.gone |= flags.intersects(EventFlags::HUP | EventFlags::ERR);
        let closed = half.gone || flags.contains(EventFlags::RDHUP);
        half.connection.ready(flags.contains(EventFlags::IN), flags.contains(EventFlags::OUT), closed);
        far.due.insert(circuit);
    }

    /// Removes and returns the circuits that may continue, each with the number of its relay.
    pub fn take_due(&mut self) -> Vec<(u32, u32)> {
        let due = |(&number, far): (&u32, &mut TrunkPeer)| {
            std::mem::take(&mut far.due).into_iter().map(move |circuit| (number, circuit))
        };
        self.fars.iter_mut().flat_map(due).collect()
    }

    /// Removes and returns the circuits' events, in order.
    pub fn take_came(&mut self) -> Vec<(u32, u32, CircuitEvent)> {
        let came = |(&number, far): (&u32, &mut TrunkPeer)| {
            std::mem::take(&mut far.came).into_iter().map(move |(circuit, came)| (number, circuit, came))
        };
        self.fars.iter_mut().flat_map(came).collect()
    }

    /// Removes and returns the relays that break the rules, with the reasons.
    pub fn take_wrong(&mut self) -> Vec<(u32, Fault)> {
        let wrong = |(&number, far): (&u32, &mut TrunkPeer)| far.wrong.take().map(|why| (number, why));
        self.fars.iter_mut().filter_map(wrong).collect()
    }

    /// Returns the number of circuits, and of bytes that arrived or were sent and were not passed on.
    pub fn load(&self) -> (usize, usize) {
        let leaving = |far: &TrunkPeer| far.leaving.values().map(Vec::len).sum::<usize>();
        let kept = self.fars.values().map(|far| far.circuits.kept() as usize + leaving(far)).sum();
        (self.fars.values().map(|far| far.circuits.len()).sum(), kept)
    }
}

impl MessageStore for Hold {
    fn slices<'a>(&'a self, domain: u32, id: MessageId, offset: u64, len: u32, into: &mut Vec<IoSlice<'a>>) {
        let Some(message) = self.fars.get(&domain).and_then(|far| far.leaving.get(&id)) else { return };
        into.push(IoSlice::new(&message[offset as usize..offset as usize + len as usize]));
    }

    fn begin(&mut self, domain: u32, id: MessageId, total: u64) -> Result<(), Fault> {
        let far = self.far(domain);
        far.circuits.begin(id.conduit, total)?;
        far.arriving.insert(id, vec![0; total as usize]);
        Ok(())
    }

    fn room(&mut self, domain: u32, id: MessageId, offset: u64, len: u32) -> &mut [u8] {
        let message = self.far(domain).arriving.get_mut(&id).expect("room is asked for after the beginning");
        &mut message[offset as usize..offset as usize + len as usize]
    }

    fn deliver(&mut self, domain: u32, id: MessageId) {
        let far = self.far(domain);
        let Some(message) = far.arriving.remove(&id) else { return };
        if far.wrong.is_some() {
            return;
        }
        match far.circuits.deliver(id.conduit, message) {
            Ok(came) => far.came.push((id.conduit, came)),
            Err(why) => far.wrong = Some(why),
        }
        far.due.insert(id.conduit);
    }

    fn release(&mut self, domain: u32, id: MessageId) {
        let far = self.far(domain);
        let was_full = far.is_full();
        far.left -= far.leaving.remove(&id).map_or(0, |message| cost(message.len() as u64));
        if was_full && !far.is_full() {
            let poor = std::mem::take(&mut far.poor);
            far.due.extend(poor);
        }
    }

    fn credit(&mut self, domain: u32, conduit: u32, bytes: u64) {
        let far = self.far(domain);
        if let Err(why) = far.circuits.credit(conduit, bytes) {
            far.wrong = Some(why);
        }
        far.due.insert(conduit);
        let poor = std::mem::take(&mut far.poor);
        far.due.extend(poor);
    }
}
