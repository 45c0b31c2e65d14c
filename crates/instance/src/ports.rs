//! Ports: as the code declares them, and as the model has connected them.

use crate::chains::Chains;
use crate::error::{AgentError, Error, PortError};
use crate::preamble::Preamble;
use crate::resizable::Resizable;
use crate::send_filters::FilteredPort;
use ligament_model::Operator;
use ligament_wire::control::{ChannelInfo, PortDeclaration, PortInfo};
use ligament_wire::times::is_before;
use ligament_wire::ConduitEnd;
use std::sync::Arc;

/// The ports that a code declares: names by operator; `name[]` is a vector port.
#[derive(Debug, Clone, Default)]
pub struct Ports {
    declared: Vec<(Operator, String)>,
}

impl Ports {
    /// No ports yet.
    pub fn new() -> Ports {
        Ports::default()
    }

    /// Adds a port.
    pub fn add(&mut self, operator: Operator, name: &str) {
        self.declared.push((operator, name.to_owned()));
    }

    /// Adds a port, in a chain.
    pub fn with(mut self, operator: Operator, name: &str) -> Ports {
        self.add(operator, name);
        self
    }

    /// The declaration for the agent.
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

/// How a caller names a port. Other languages compare their own text in place, so that nothing is measured,
/// checked or copied for a port that is there.
pub trait PortName: Copy {
    /// Returns true if this is the name, in which there is no NUL.
    fn is(self, name: &str) -> bool;
    /// The name for people.
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

/// In place of a port's latest timestamp: it has sent what it may send in this pass. No timestamp comes after
/// it, so that the next message is looked at closely.
pub(crate) const PASS_IS_SENT: f64 = f64::INFINITY;

/// The latest timestamps that a port has sent since `reuse_instance`.
#[derive(Debug)]
pub(crate) struct LastSent {
    /// Of a port without slots, or of slot 0.
    pub first: f64,
    /// Of the slots after that, as far as any was sent on.
    others: Vec<f64>,
    /// True if an earlier one was reported, which is done once.
    warned: bool,
    /// The distance of messages was compared with the scales of the component.
    pub compared: bool,
    /// True if a pass without a message was reported, which is done once.
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
    /// The message of this pass was sent on a slot, and no other may follow.
    pub fn complete(&mut self, slot: usize) {
        self.set(slot, PASS_IS_SENT);
    }

    /// A new pass of the loop: times may begin anew.
    pub fn forget(&mut self) {
        self.first = f64::NEG_INFINITY;
        self.others.clear();
    }

    /// True if the one message of this pass was sent on a slot.
    pub fn is_complete(&self, slot: usize) -> bool {
        self.latest(slot) == PASS_IS_SENT
    }

    /// True if nothing was sent on a slot in this pass.
    pub fn is_silent(&self, slot: usize) -> bool {
        self.latest(slot) == f64::NEG_INFINITY
    }

    fn latest(&self, slot: usize) -> f64 {
        match slot.checked_sub(1) {
            None => self.first,
            Some(i) => self.others.get(i).copied().unwrap_or(f64::NEG_INFINITY),
        }
    }

    /// Notes a timestamp. Gives the one before, if that is later and this is the first time.
    pub fn note(&mut self, slot: usize, timestamp: f64) -> Option<f64> {
        let before = self.set(slot, timestamp);
        (is_before(timestamp, before) && !std::mem::replace(&mut self.warned, true)).then_some(before)
    }

    /// Sets the latest timestamp of a slot. Gives the one before.
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
    /// For each slot (one for a scalar port): the channels, as indices for the endpoint. A receiving slot has
    /// at most one.
    pub slots: Vec<Vec<usize>>,
    /// The channel of a port that has one only, and no slots.
    pub only: Option<usize>,
    /// For each slot: whether the conduit has ended.
    pub ended: Vec<bool>,
    /// How a conduit of it has ended that was ended last.
    pub ending: ConduitEnd,
    /// The ports at the other ends, for messages to people, where the transport does not know them.
    pub peers: Vec<String>,
    /// For each slot that was received from: where its messages come from.
    pub origins: Vec<Option<Arc<str>>>,
    /// The head of the array that was sent here last.
    pub head: Option<Box<Preamble>>,
    /// The timestamps that were sent last in this pass of the loop.
    pub sent: LastSent,
    /// For a vector port whose length the sender sets: what its slots share.
    pub resizable: Option<Box<Resizable>>,
    /// For a port that sends on conduits with filters.
    pub filtered: Option<Box<FilteredPort>>,
    /// The filters under `ligament:` of its conduits, if any has some at this end.
    pub chains: Option<Box<Chains>>,
}

impl PortState {
    pub fn is_connected(&self) -> bool {
        match &self.resizable {
            None => self.slots.iter().any(|channels| !channels.is_empty()),
            Some(shared) => !shared.channels.is_empty(),
        }
    }

    /// All channels of the port, in the order in which they were joined.
    pub fn channels(&self) -> impl Iterator<Item = usize> + '_ {
        let shared = self.resizable.as_ref().map(|shared| &shared.channels);
        let own = self.slots.iter().flatten().filter(move |_| shared.is_none());
        own.chain(shared.into_iter().flatten()).copied()
    }

    /// The channel on which a slot receives; there is one.
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
            // A vector port that nobody is connected to has no slots; sending to it goes nowhere.
            Some(_) if self.vector && !self.is_connected() => Ok(usize::MAX),
            _ => self.unusual_slot(slot),
        }
    }

    /// A slot that the model does not have: of a resizable port, or wrong.
    #[cold]
    fn unusual_slot(&self, slot: Option<u32>) -> Result<usize, Error> {
        let (port, slots) = (self.name.to_string(), self.slots.len());
        Err(match slot {
            // The number of slots is learnt from what comes.
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

    /// The port and slot as people write it.
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
    /// The channel, as the transport knows it.
    pub index: usize,
    /// The port at the other end, for messages to people, where the transport does not know it.
    pub peer: Option<String>,
}

impl JoinedChannel {
    /// One of those that the agent tells of, at this place among them.
    pub fn of(channel: &ChannelInfo, index: usize) -> JoinedChannel {
        let ChannelInfo { port, slot, ref peer_port, .. } = *channel;
        JoinedChannel { port, slot, index, peer: Some(peer_port.clone()) }
    }
}

impl PortTable {
    /// Puts together what the agent told; `names` are the names of the ports.
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
            let count = if info.vector { info.length.unwrap_or(0) as usize } else { 1 };
            // The model gives a length to every vector port but those that are joined to vector ports, or to
            // none.
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
            here.peers.extend(peer);
        }
        for port in ports.iter_mut().filter(|port| !port.vector) {
            if let [channels] = &port.slots[..] {
                port.only = <[usize; 1]>::try_from(&channels[..]).ok().map(|[only]| only);
            }
        }
        Ok(PortTable { ports })
    }

    /// The port of this name that the operator's direction fits.
    #[inline(always)]
    pub fn find(&self, name: impl PortName) -> Result<usize, Error> {
        self.find_quietly(name).ok_or_else(|| self.unknown(&name.text()))
    }

    /// As `find`; whoever asks again learns what is wrong.
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
