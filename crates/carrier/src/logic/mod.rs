//! The carrier's work with messages, without threads and sockets. It moves messages from the rings of this
//! domain's instances to paths, and from paths to the rings. It returns credit in the opposite direction,
//! and handles overlays and the ends of receivers. `pass` does all the work that is due.

mod credits;
mod inward;
mod outward;
mod overlays;
mod shared;

use crate::{Attachment, CarrierReport, Paths, Quiet};
use inward::{AssemblyMemory, In, PartialMessage, PREFAULTED_BYTES};
use ligament_catalogue::{fault, Fault};
use ligament_net::{MessageId, MessageStore, Nanos, CONTROL};
use ligament_shm::board::{FOR_CREDIT, FOR_MESSAGES};
use ligament_shm::endpoint::ParkingPlace;
use ligament_shm::{Custodian, Endpoint, ShmError};
use ligament_wire::control::ChannelInfo;
use ligament_wire::{DomainId, HeaderWords, HEADER_BYTES};
use outward::{ArrivedGroup, Out, Shipment};
use overlays::Overlays;
use shared::SharedBodies;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::IoSlice;

/// The credit that is reported for a conduit whose receiver has ended: unlimited.
const EVERYTHING: u64 = u64::MAX;

/// The part of the logic that exists while the carrier is an endpoint of its domain.
struct EndpointSide<C> {
    me: DomainId,
    endpoint: Endpoint<C>,
    /// Channels to instances of other domains, by the endpoint's indices. `out_of` finds an index by the
    /// channel's number in the run.
    outs: Vec<Out>,
    out_of: HashMap<u32, usize>,
    /// By sender: messages with the same body, of which not all are taken in yet.
    groups: BTreeMap<usize, ArrivedGroup>,
    /// Channels from instances of other domains, and their indices by the channels' numbers in the run.
    ins: Vec<In>,
    in_of: HashMap<u32, usize>,
    /// Indices in `ins` of channels with messages to publish. `live` has those with published messages that
    /// are not received yet.
    pending: BTreeSet<usize>,
    live: BTreeSet<usize>,
    /// Bodies from other domains that several messages share.
    bodies: SharedBodies,
    overlays: Overlays,
    /// Number of this domain's endpoints that are known to have ended.
    ended: usize,
    /// True if blocks were released and their senders were not told yet.
    released: bool,
    /// Domains to which this pass sends a message. Reports of credit are sent along.
    spoken_to: BTreeSet<DomainId>,
    /// Channels on which messages have arrived: a buffer that is used again.
    arrived: Vec<u32>,
}

/// The stage of the carrier's life as an endpoint.
enum CarrierStage<C> {
    /// The carrier is not an endpoint yet. Messages for instances of this domain wait, in the order of
    /// their arrival.
    Before(Vec<(DomainId, MessageId, AssemblyMemory)>),
    During(Box<EndpointSide<C>>),
    /// The carrier is no longer an endpoint. Messages for instances of this domain are dropped.
    After,
}

/// The carrier's logic.
pub(crate) struct Logic<C> {
    stage: CarrierStage<C>,
    outgoing: HashMap<(DomainId, MessageId), Shipment>,
    incoming: HashMap<(DomainId, MessageId), PartialMessage>,
    /// Number of messages in `outgoing` and in `incoming` that are messages between agents.
    controls_out: usize,
    controls_in: usize,
    /// A buffer for arriving bytes that have no receiver any more.
    nowhere: Vec<u8>,
    heard: Vec<CarrierReport>,
    /// Time at which the credit of receivers in this domain is looked at again, ns. `pause` is the time to
    /// the look after that.
    look_at: Option<Nanos>,
    pause: Nanos,
    detaching: bool,
    /// Events for which other processes ring the endpoint's doorbell, because a thread sleeps on it. 0 if no
    /// thread does.
    lies_for: u32,
    /// For each conduit to a domain, the number of bytes that were received there.
    credits: HashMap<(DomainId, u32), u64>,
    counts: Quiet,
}

impl<C: Custodian> Logic<C> {
    pub fn new() -> Logic<C> {
        Logic {
            stage: CarrierStage::Before(Vec::new()),
            outgoing: HashMap::new(),
            incoming: HashMap::new(),
            controls_out: 0,
            controls_in: 0,
            nowhere: Vec::new(),
            heard: Vec::new(),
            look_at: None,
            pause: credits::MIN_CREDIT_PAUSE_NS,
            detaching: false,
            lies_for: 0,
            credits: HashMap::new(),
            counts: Quiet::default(),
        }
    }

    /// Makes the carrier an endpoint that sends and receives on these channels.
    pub fn attach(
        &mut self,
        mut endpoint: Endpoint<C>,
        sends: &[ChannelInfo],
        receives: &[ChannelInfo],
        attachment: &Attachment,
    ) {
        endpoint.stand_in();
        let domains = |channel: &ChannelInfo| attachment.domains[channel.id as usize];
        let by_number = |channels: &[ChannelInfo]| -> HashMap<u32, usize> {
            channels.iter().enumerate().map(|(index, channel)| (channel.id, index)).collect()
        };
        let side = EndpointSide {
            me: attachment.me,
            endpoint,
            outs: receives.iter().map(|channel| Out::new(channel, domains(channel).1)).collect(),
            out_of: by_number(receives),
            groups: BTreeMap::new(),
            ins: sends.iter().map(|channel| In::new(channel, domains(channel).0)).collect(),
            in_of: by_number(sends),
            pending: BTreeSet::new(),
            live: BTreeSet::new(),
            bodies: SharedBodies::default(),
            overlays: Overlays::default(),
            ended: 0,
            released: false,
            spoken_to: BTreeSet::new(),
            arrived: Vec::new(),
        };
        let CarrierStage::Before(early) =
            std::mem::replace(&mut self.stage, CarrierStage::During(Box::new(side)))
        else {
            unreachable!("a carrier is attached once")
        };
        for (domain, id, memory) in early {
            self.arrive(domain, id, memory);
        }
        // Other domains may have reported credit before, for example unlimited credit for a receiver that has
        // ended.
        for (domain, conduit) in self.credits.keys().copied().collect::<Vec<_>>() {
            self.grant(domain, conduit);
        }
    }

    /// Sends a message to another domain's agent.
    pub fn control(&mut self, paths: &mut dyn Paths, domain: DomainId, bytes: Vec<u8>) {
        let id = paths.send(domain, CONTROL, bytes.len() as u64);
        self.controls_out += 1;
        self.outgoing.insert((domain, id), Shipment::Bytes(bytes));
    }

    /// Requests that the endpoint is dropped when all messages from this domain have arrived in other
    /// domains.
    pub fn detach(&mut self) {
        self.detaching = true;
    }

    /// Does all work that is due, without waiting.
    pub fn pass(&mut self, paths: &mut dyn Paths, now: Nanos) {
        self.collect(paths);
        self.see_ends(paths);
        self.tell_credits(paths, now);
        paths.turn(self, now);
        self.publish_all(now);
        if self.detaching && self.see_detached(paths) {
            paths.turn(self, now);
        }
        if let CarrierStage::During(side) = &mut self.stage {
            if std::mem::take(&mut side.released) {
                side.endpoint.settle();
            }
        }
    }

    /// Takes the reports for the agent.
    pub fn take_heard(&mut self) -> Vec<CarrierReport> {
        std::mem::take(&mut self.heard)
    }

    /// Returns the time at which a pass is due even if nothing happens.
    pub fn deadline(&self) -> Option<Nanos> {
        self.look_at
    }

    /// Returns a handle for sleeping until an endpoint of this domain has a message for the carrier. Returns
    /// None if the carrier is not an endpoint.
    pub fn bed(&self) -> Option<ParkingPlace> {
        let CarrierStage::During(side) = &self.stage else { return None };
        Some(side.endpoint.bed())
    }

    /// Lets senders ring the doorbell from now on, because the last awake thread is about to sleep. The thread
    /// must call `looks_again` before it sleeps.
    pub fn lie_down(&mut self) {
        let CarrierStage::During(side) = &mut self.stage else { return };
        let what = if side.wants_credit() { FOR_MESSAGES | FOR_CREDIT } else { FOR_MESSAGES };
        self.lies_for = what;
        side.endpoint.lie_down(what);
    }

    /// Makes sure that each later event that matters wakes the thread that is about to sleep. Returns true if
    /// another pass is needed first, because earlier events did not ring the doorbell.
    pub fn looks_again(&mut self) -> bool {
        let CarrierStage::During(side) = &mut self.stage else { return false };
        let lacks = side.wants_credit() && self.lies_for != 0;
        if lacks && self.lies_for & FOR_CREDIT == 0 {
            self.lies_for |= FOR_CREDIT;
            drop(side.endpoint.lie_down(self.lies_for));
            return true;
        }
        side.endpoint.stirs()
    }

    /// Returns true if receivers ring the doorbell too when they return credit. Credit that they returned
    /// earlier did not ring it, so the caller must look for this credit.
    pub fn heeds_credit(&self) -> bool {
        self.lies_for & FOR_CREDIT != 0
    }

    /// Returns the total number of messages moved in both directions.
    pub fn moved(&self) -> u64 {
        self.counts.sent.wrapping_add(self.counts.came)
    }

    /// Wakes the thread that sleeps on the endpoint's doorbell.
    pub fn rouse(&self) {
        if let CarrierStage::During(side) = &self.stage {
            side.endpoint.rouse();
        }
    }

    /// Ends the state of `lie_down`: other processes need not ring the doorbell any more.
    pub fn get_up(&mut self) {
        if std::mem::take(&mut self.lies_for) == 0 {
            return;
        }
        if let CarrierStage::During(side) = &mut self.stage {
            side.endpoint.get_up();
        }
    }

    /// Returns the traffic, and whether anything is under way.
    pub fn quiet(&self) -> Quiet {
        let here = match &self.stage {
            CarrierStage::Before(early) => early.is_empty(),
            CarrierStage::During(side) => side.is_quiet(),
            CarrierStage::After => true,
        };
        let nothing_out = self.outgoing.len() == self.controls_out;
        let nothing_in = self.incoming.len() == self.controls_in;
        Quiet { quiet: here && nothing_out && nothing_in, ..self.counts }
    }

    /// Reports that the run cannot continue, and ends this endpoint.
    fn fail(&mut self, why: Fault) {
        self.heard.push(CarrierReport::Failed(why));
        self.let_go(true);
    }

    /// Handles an error of this endpoint in its domain.
    fn met(&mut self, error: ShmError) {
        match error {
            // The agent knows the reason, so it is not reported.
            ShmError::RunEnds(_) | ShmError::AgentGone => self.let_go(true),
            error => {
                let why =
                    fault!(CARRIER_FAILED, "the carrier of messages to and from other domains failed: {error}");
                self.fail(why);
            }
        }
    }

    fn let_go(&mut self, failed: bool) {
        if let CarrierStage::During(mut side) = std::mem::replace(&mut self.stage, CarrierStage::After) {
            side.endpoint.rouse();
            side.endpoint.end(failed);
        }
        // Messages continue to arrive, but have no receiver. They hold no memory, because no pages are
        // allocated for a block before they are written.
        self.incoming.values_mut().for_each(|PartialMessage(memory)| memory.let_go());
        self.look_at = None;
    }

    /// Drops the endpoint if all messages from this domain have arrived. Returns true if they had.
    fn see_detached(&mut self, paths: &mut dyn Paths) -> bool {
        match &mut self.stage {
            _ if self.outgoing.len() > self.controls_out => return false,
            CarrierStage::Before(_) => return false,
            CarrierStage::During(side) if side.endpoint.stirs() => return false,
            CarrierStage::During(side) => side.end_all(paths, &mut self.counts),
            CarrierStage::After => {}
        }
        self.let_go(false);
        self.detaching = false;
        self.heard.push(CarrierReport::Detached);
        true
    }
}

impl<C: Custodian> MessageStore for Logic<C> {
    fn slices<'a>(&'a self, domain: u32, id: MessageId, offset: u64, len: u32, into: &mut Vec<IoSlice<'a>>) {
        if let Some(message) = self.outgoing.get(&(DomainId::new(domain), id)) {
            message.slices(offset, len as usize, into);
        }
    }

    fn begin(&mut self, domain: u32, id: MessageId, total: u64) -> Result<(), Fault> {
        let domain = DomainId::new(domain);
        let memory = self.memory_for(domain, id.conduit, total)?;
        self.controls_in += usize::from(id.conduit == CONTROL);
        self.incoming.insert((domain, id), PartialMessage(memory));
        Ok(())
    }

    fn room(&mut self, domain: u32, id: MessageId, offset: u64, len: u32) -> &mut [u8] {
        let message = (DomainId::new(domain), id);
        let end = offset.saturating_add(u64::from(len));
        if end > PREFAULTED_BYTES {
            self.place(message, end);
        }
        let len = len as usize;
        match self.incoming.get_mut(&message).and_then(|PartialMessage(memory)| memory.at(offset, len)) {
            Some(room) => room,
            None => {
                if self.nowhere.len() < len {
                    self.nowhere.resize(len, 0);
                }
                &mut self.nowhere[..len]
            }
        }
    }

    fn deliver(&mut self, domain: u32, id: MessageId) {
        let domain = DomainId::new(domain);
        let Some(PartialMessage(memory)) = self.incoming.remove(&(domain, id)) else { return };
        if id.conduit == CONTROL {
            self.controls_in -= 1;
            self.heard.push(CarrierReport::Control { from: domain, bytes: memory.into_bytes() });
            return;
        }
        self.counts.came += 1;
        self.arrive(domain, id, memory);
    }

    fn release(&mut self, domain: u32, id: MessageId) {
        if self.outgoing.remove(&(DomainId::new(domain), id)).is_some() {
            self.controls_out -= usize::from(id.conduit == CONTROL);
        }
        if let CarrierStage::During(side) = &mut self.stage {
            side.released = true;
        }
    }

    fn credit(&mut self, domain: u32, conduit: u32, bytes: u64) {
        self.heard_credit(DomainId::new(domain), conduit, bytes);
    }
}

/// Returns a header in the format of a path.
fn to_bytes(header: &HeaderWords) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    for (place, word) in bytes.chunks_exact_mut(8).zip(header.0) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

/// Returns the header in these bytes from a path.
fn from_bytes(bytes: &[u8; HEADER_BYTES]) -> HeaderWords {
    let mut words = [0; 8];
    for (word, place) in words.iter_mut().zip(bytes.chunks_exact(8)) {
        *word = u64::from_le_bytes(place.try_into().expect("chunks of eight"));
    }
    HeaderWords(words)
}

#[cfg(test)]
mod tests;
