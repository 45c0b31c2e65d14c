//! Ports: as the code declares them, and as the model has connected them.

use crate::chains::Chains;
use crate::clock::ClockedPort;
use crate::error::{AgentError, ClockError, Error, PortError};
use crate::exchange::DistributedPort;
use crate::preamble::Preamble;
use crate::resizable::Resizable;
use crate::send_filters::FilteredPort;
use ligament_model::Operator;
use ligament_wire::control::{ChannelInfo, PortDeclaration, PortInfo};
use ligament_wire::times::is_before;
use ligament_wire::ConduitEnd;
use std::sync::Arc;

/// The ports that a code declares: names by operator. A name that ends with `[]` is a vector port.
#[derive(Debug, Clone, Default)]
pub struct Ports {
    declared: Vec<(Operator, String)>,
}

impl Ports {
    /// Makes a set without ports.
    pub fn new() -> Ports {
        Ports::default()
    }

    /// Adds a port.
    pub fn add(&mut self, operator: Operator, name: &str) {
        self.declared.push((operator, name.to_owned()));
    }

    /// Adds a port, and returns the set, so that calls can be chained.
    pub fn with(mut self, operator: Operator, name: &str) -> Ports {
        self.add(operator, name);
        self
    }

    /// Returns the declaration that is sent to the agent.
    pub(crate) fn declarations(&self) -> Vec<PortDeclaration> {
        self.declared
            .iter()
            .map(|(operator, name)| PortDeclaration {
                name: name.strip_suffix("[]").unwrap_or(name).to_owned(),
                operator: operator.name().to_owned(),
                vector: name.ends_with("[]"),
            })
            .collect()
    }
}

/// A port's name as a caller gives it. Bindings of other languages compare their own text in place, so that
/// for an existing port the text is neither measured nor checked nor copied.
pub trait PortName: Copy {
    /// Returns true if the names are equal. `name` contains no NUL.
    fn is(self, name: &str) -> bool;
    /// Returns the name as text, for errors.
    fn text(self) -> String;
}

impl PortName for &str {
    #[inline]
    fn is(self, name: &str) -> bool {
        self == name
    }

    fn text(self) -> String {
        self.to_owned()
    }
}

impl PortName for &String {
    #[inline]
    fn is(self, name: &str) -> bool {
        self == name
    }

    fn text(self) -> String {
        self.clone()
    }
}

/// Value of a port's latest timestamp that means: the port has sent its only message of this pass. It is
/// later than any timestamp, so a further message does not take the fast way and is checked in full.
pub(crate) const PASS_IS_SENT: f64 = f64::INFINITY;

/// The latest timestamps that were sent on a port since `reuse_instance`.
#[derive(Debug)]
pub(crate) struct LastSent {
    /// Latest timestamp of a port without slots, or of slot 0.
    pub first: f64,
    /// Latest timestamps of the other slots, up to the last slot that was used.
    others: Vec<f64>,
    /// True if a timestamp that goes back was reported. This is done once.
    warned: bool,
    /// True if the distance of two messages was compared with the scales of the component.
    pub compared: bool,
    /// True if a pass without a message was reported. This is done once.
    pub silence_reported: bool,
}

impl Default for LastSent {
    fn default() -> LastSent {
        LastSent {
            first: f64::NEG_INFINITY,
            others: Vec::new(),
            warned: false,
            compared: false,
            silence_reported: false,
        }
    }
}

impl LastSent {
    /// Notes that the only message of this pass was sent on a slot.
    pub fn complete(&mut self, slot: usize) {
        self.set(slot, PASS_IS_SENT);
    }

    /// Forgets all timestamps, because a new pass may begin at an earlier time.
    pub fn forget(&mut self) {
        self.first = f64::NEG_INFINITY;
        self.others.clear();
    }

    /// Returns true if the slot's port sends one message in a pass, and this message has been sent.
    pub fn is_complete(&self, slot: usize) -> bool {
        self.latest(slot) == PASS_IS_SENT
    }

    /// Returns true if nothing was sent on a slot in this pass.
    pub fn is_silent(&self, slot: usize) -> bool {
        self.latest(slot) == f64::NEG_INFINITY
    }

    fn latest(&self, slot: usize) -> f64 {
        match slot.checked_sub(1) {
            None => self.first,
            Some(i) => self.others.get(i).copied().unwrap_or(f64::NEG_INFINITY),
        }
    }

    /// Notes a timestamp. Returns the previous one, if that is later and this is the first time that it
    /// happens on the port.
    pub fn note(&mut self, slot: usize, timestamp: f64) -> Option<f64> {
        let before = self.set(slot, timestamp);
        (is_before(timestamp, before) && !std::mem::replace(&mut self.warned, true)).then_some(before)
    }

    /// Sets the latest timestamp of a slot. Returns the previous one.
    fn set(&mut self, slot: usize, latest: f64) -> f64 {
        let here = match slot.checked_sub(1) {
            None => &mut self.first,
            Some(i) => {
                if i >= self.others.len() {
                    self.others.resize(i + 1, f64::NEG_INFINITY);
                }
                &mut self.others[i]
            }
        };
        std::mem::replace(here, latest)
    }
}

/// A port of a registered instance.
#[derive(Debug)]
pub(crate) struct PortState {
    pub name: Arc<str>,
    pub operator: Operator,
    pub vector: bool,
    /// For each slot (one for a scalar port): the indices of its channels at the endpoint. A receiving slot
    /// has at most one channel.
    pub slots: Vec<Vec<usize>>,
    /// The channel of a port without slots that has exactly one channel.
    pub only: Option<usize>,
    /// For each slot: true if the conduit has ended.
    pub ended: Vec<bool>,
    /// Kind of end of the conduit that has ended last.
    pub ending: ConduitEnd,
    /// For each slot: the port at the other end, for texts that people read. No entry, or an empty one, if the
    /// transport knows it.
    pub peers: Vec<String>,
    /// For each slot on which a message was received: a text that names its origin.
    pub origins: Vec<Option<Arc<str>>>,
    /// The head of the last array that was sent on the port.
    pub head: Option<Box<Preamble>>,
    /// The latest timestamps that were sent in this pass of the loop.
    pub sent: LastSent,
    /// For a vector port whose length the sender sets: the state that all its slots share.
    pub resizable: Option<Box<Resizable>>,
    /// For a sending port with the filter `last` on a conduit: the messages that it holds back.
    pub filtered: Option<Box<FilteredPort>>,
    /// The filters that the model lists under `ligament: filters:`, if a conduit has some at this end.
    pub chains: Option<Box<Chains>>,
    /// For a port of a distributed array.
    pub distributed: Option<Box<DistributedPort>>,
    /// For a port that goes with the clock.
    pub clocked: Option<Box<ClockedPort>>,
}

impl PortState {
    /// Returns true if the port has parts of an array, or goes with the clock.
    pub fn exchanges(&self) -> bool {
        self.distributed.is_some() || self.clocked.is_some()
    }

    /// Returns true if the port carries events.
    #[inline]
    pub fn carries_events(&self) -> bool {
        self.clocked.as_ref().is_some_and(|clocked| clocked.info.ids.is_some())
    }

    /// Returns the error of a call for messages on a port of events. `call` is the one for events.
    #[cold]
    pub fn carries_no_messages(&self, call: &'static str) -> Error {
        ClockError::CarriesEvents { port: self.name.to_string(), call }.into()
    }

    /// Prepares a port that goes with the clock for the next pass. Nothing of the pass before stays: no message
    /// of some ranks that waits for those of the others, and no state of filters.
    pub fn begin_clock_pass(&mut self) {
        let Some(clocked) = &mut self.clocked else { return };
        clocked.begin_pass();
        self.distributed.iter_mut().for_each(|distributed| distributed.forget_arrived());
        self.chains.iter_mut().for_each(|chains| chains.begin_anew());
    }

    pub fn is_connected(&self) -> bool {
        match &self.resizable {
            None => self.slots.iter().any(|channels| !channels.is_empty()),
            Some(shared) => !shared.channels.is_empty(),
        }
    }

    /// Returns all channels of the port, in the order in which they were joined.
    pub fn channels(&self) -> impl Iterator<Item = usize> + '_ {
        let shared = self.resizable.as_ref().map(|shared| &shared.channels);
        let own = self.slots.iter().flatten().filter(move |_| shared.is_none());
        own.chain(shared.into_iter().flatten()).copied()
    }

    /// Returns the channels of a slot.
    pub fn channels_at(&self, slot: usize) -> &[usize] {
        let own = || self.slots.get(slot).map_or(&[][..], Vec::as_slice);
        self.resizable.as_ref().map_or_else(own, |shared| &shared.channels)
    }

    /// Returns the channel on which a slot receives. A connected slot has exactly one.
    pub fn channel_at(&self, slot: usize) -> usize {
        let shared = self.resizable.as_ref().and_then(|shared| shared.channels.first());
        shared.or(self.slots.get(slot).and_then(|channels| channels.first())).copied().unwrap_or(usize::MAX)
    }

    /// Checks a slot number given by the user against this port.
    #[inline(always)]
    pub fn slot(&self, slot: Option<u32>) -> Result<usize, Error> {
        match slot {
            None if !self.vector => Ok(0),
            Some(slot) if self.vector && (slot as usize) < self.slots.len() => Ok(slot as usize),
            // A vector port without a conduit has no slots. A message sent to it is dropped.
            Some(_) if self.vector && !self.is_connected() => Ok(usize::MAX),
            _ => self.unusual_slot(slot),
        }
    }

    /// Handles a slot that the port does not have: it may be valid for a resizable port, and is an error
    /// otherwise.
    #[cold]
    fn unusual_slot(&self, slot: Option<u32>) -> Result<usize, Error> {
        let (port, slots) = (self.name.to_string(), self.slots.len());
        Err(match slot {
            // A receiver learns the number of slots only from the messages, so any slot may be valid.
            Some(slot) if self.resizable.is_some() && self.operator.receives() => return Ok(slot as usize),
            Some(slot) if self.resizable.is_some() => PortError::BeyondLength { port, slots, slot },
            None => PortError::WhichSlot { port, slots },
            Some(slot) if self.vector => PortError::BeyondModel { port, last: slots - 1, slot },
            Some(slot) => PortError::Scalar { port, slot },
        }
        .into())
    }

    #[cold]
    pub fn receives_only(&self) -> Error {
        PortError::Receives { port: self.name.to_string(), operator: self.operator.name() }.into()
    }

    #[cold]
    pub fn sends_only(&self) -> Error {
        PortError::Sends { port: self.name.to_string(), operator: self.operator.name() }.into()
    }

    #[cold]
    pub fn unconnected(&self, slot: usize) -> Error {
        let port = self.name.to_string();
        if self.vector && self.is_connected() {
            PortError::SlotNotConnected { port, slot }.into()
        } else {
            PortError::NotConnected { port }.into()
        }
    }

    /// Returns the port and slot as texts show them.
    pub fn describe(&self, slot: usize) -> String {
        if self.vector {
            format!("\"{}[{slot}]\"", self.name)
        } else {
            format!("\"{}\"", self.name)
        }
    }
}

/// All ports of an instance.
#[derive(Debug)]
pub(crate) struct PortTable {
    pub ports: Vec<PortState>,
}

/// A channel that is joined to a port.
pub(crate) struct JoinedChannel {
    pub port: u32,
    pub slot: Option<u32>,
    /// Index of the channel at the transport.
    pub index: usize,
    /// The port at the other end, for texts that people read. `None` if the transport knows it.
    pub peer: Option<String>,
}

impl JoinedChannel {
    /// Makes the entry of a channel that the agent has described. `index` is the channel's place in the
    /// agent's list.
    pub fn of(channel: &ChannelInfo, index: usize) -> JoinedChannel {
        let ChannelInfo { port, slot, ref peer_port, .. } = *channel;
        JoinedChannel { port, slot, index, peer: Some(peer_port.clone()) }
    }
}

impl PortTable {
    /// Makes the table from the agent's description. `names` are the names of the ports.
    pub fn new(
        infos: &[PortInfo],
        names: &[Arc<str>],
        sends: impl IntoIterator<Item = JoinedChannel>,
        receives: impl IntoIterator<Item = JoinedChannel>,
    ) -> Result<PortTable, Error> {
        let mut ports = Vec::with_capacity(infos.len());
        for (info, name) in infos.iter().zip(names) {
            if name.contains('\0') {
                return Err(AgentError::PortName { name: name.to_string() }.into());
            }
            let operator = Operator::from_name(&info.operator);
            let operator = operator.ok_or_else(|| AgentError::Operator { operator: info.operator.clone() })?;
            // The ranks of the sender of an exchange are slots that the code does not see.
            let exchanges = info.array.is_some() || info.clock.is_some();
            let slotted = info.vector || (exchanges && operator.receives());
            let count = if slotted { info.length.unwrap_or(0) as usize } else { 1 };
            // The model gives a length to every vector port, except to those that are connected to vector
            // ports, or not connected.
            let resizable = (info.vector && info.length.is_none()).then(Box::default);
            ports.push(PortState {
                name: name.clone(),
                operator,
                vector: info.vector,
                slots: vec![Vec::new(); count],
                only: None,
                ended: vec![false; count],
                ending: ConduitEnd::default(),
                peers: Vec::new(),
                origins: Vec::new(),
                head: None,
                sent: LastSent::default(),
                resizable,
                filtered: None,
                chains: None,
                distributed: info.array.clone().map(|array| Box::new(DistributedPort::new(array, count))),
                clocked: info.clock.map(|clock| Box::new(ClockedPort::new(clock, count))),
            });
        }
        for JoinedChannel { port, slot, index, peer } in sends.into_iter().chain(receives) {
            let slot = slot.unwrap_or(0) as usize;
            let Some(here) = ports.get_mut(port as usize) else {
                return Err(AgentError::ChannelOfPort { port }.into());
            };
            match &mut here.resizable {
                Some(shared) => shared.channels.push(index),
                None => {
                    let channels = here
                        .slots
                        .get_mut(slot)
                        .ok_or_else(|| AgentError::ChannelOfSlot { port: here.name.to_string(), slot })?;
                    channels.reserve_exact(1);
                    channels.push(index);
                }
            }
            if let Some(peer) = peer {
                here.peers.resize(here.peers.len().max(slot + 1), String::new());
                here.peers[slot] = peer;
            }
        }
        for port in ports.iter_mut().filter(|port| !port.vector && !port.exchanges()) {
            if let [channels] = &port.slots[..] {
                port.only = <[usize; 1]>::try_from(&channels[..]).ok().map(|[only]| only);
            }
        }
        Ok(PortTable { ports })
    }

    /// Returns the index of the port with this name.
    #[inline(always)]
    pub fn find(&self, name: impl PortName) -> Result<usize, Error> {
        self.find_quietly(name).ok_or_else(|| self.unknown(&name.text()))
    }

    /// Does the same as `find`, but makes no error: `find` explains it if the caller asks for it.
    #[inline(always)]
    pub fn find_quietly(&self, name: impl PortName) -> Option<usize> {
        for (index, port) in self.ports.iter().enumerate() {
            if name.is(&port.name) {
                return Some(index);
            }
        }
        None
    }

    #[cold]
    fn unknown(&self, name: &str) -> Error {
        let port = name.to_owned();
        if let Some(bare) = name.strip_suffix("[]") {
            if self.ports.iter().any(|port| &*port.name == bare) {
                return PortError::NameWithBrackets { port, bare: bare.to_owned() }.into();
            }
        }
        let known: Vec<&str> = self.ports.iter().map(|port| &*port.name).collect();
        let known = if known.is_empty() { "no ports".to_owned() } else { known.join(", ") };
        PortError::Unknown { port, known }.into()
    }
}
