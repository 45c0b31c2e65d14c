//! The filters that a model lists under `ligament: filters:`, at work in an instance. The crate
//! `ligament-filters` defines what each filter does to a message. This file holds the conduits with filters
//! at this end, and the messages that have passed the filters and wait to be received. A port has a
//! `Chains` only if one of its conduits has filters at its end; no other port is affected.
//!
//! The sender's filters run before `last` (`send_filters.rs`). The receiver's filters run before `repeat`
//! and `pad` (`timing.rs`). Each slot has filters of its own, because filters may remember earlier
//! messages.

mod state;

use crate::error::{AgentError, Error, FilterError};
use crate::expected::Origin;
use crate::instance::{Instance, LogLevel};
use crate::message::{Message, MessageTimes};
use crate::own;
use crate::ports::{PortState, PortTable};
use crate::receive::{Arrival, Overlay};
use crate::transport::Transport;
use ligament_catalogue::Fault;
use ligament_filters::{
    Chain, ChainOutput, Data, FilterContext, FilterFailure, FilterRemark, FilterStep, Parcel,
};
use ligament_model::Filter;
use ligament_shm::endpoint::Source;
use ligament_shm::ShmError;
use ligament_wire::control::ChannelInfo;
use ligament_wire::{HeaderWords, ValueRef};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// All lists of filters of the run. Conduits with equal filters share a list.
pub(crate) struct Lists(Vec<Arc<[Filter]>>);

/// The channels that have filters, by their index.
pub(crate) type ByChannel = HashMap<usize, FilterAnnouncement>;

/// The filters of one channel, as the agent announced them.
pub(crate) struct FilterAnnouncement {
    /// Index of the list of filters in `Lists`.
    pub list: u32,
    /// The port at the other end. `None` if the agent has not named it.
    pub peer: Option<String>,
    /// Largest permitted size of a message, in bytes.
    pub message_size: Option<u64>,
}

impl Lists {
    /// Reads the lists of filters that the agent announced.
    ///
    /// # Errors
    /// Fails if a list cannot be read.
    pub fn told(texts: Option<&[String]>) -> Result<Lists, Error> {
        let read = |text: &String| Filter::read(text).map(Arc::from).map_err(|_| AgentError::Filters.into());
        texts.unwrap_or_default().iter().map(read).collect::<Result<_, Error>>().map(Lists)
    }

    /// Attaches filters to the ports of an instance whose conduits have filters at this end.
    ///
    /// # Errors
    /// Fails if the agent's announcement is impossible, or if a filter written by a user is missing.
    pub fn join(
        &self,
        instance: &str,
        table: &mut PortTable,
        sends: &ByChannel,
        receives: &ByChannel,
    ) -> Result<(), Error> {
        if sends.is_empty() && receives.is_empty() {
            return Ok(());
        }
        for port in &mut table.ports {
            let sending = port.operator.sends();
            let lists = if sending { sends } else { receives };
            let mut conduits = HashMap::new();
            for channel in port.channels() {
                let Some(FilterAnnouncement { list, peer, message_size }) = lists.get(&channel) else {
                    continue;
                };
                let list = self.0.get(*list as usize).ok_or(AgentError::Filters)?;
                let at_sender = Filter::at_sender(list);
                let compressed = list[..at_sender].iter().any(|filter| filter.name == ligament_model::COMPRESS);
                let here = if sending { at_sender > 0 } else { at_sender < list.len() || compressed };
                if here {
                    let here = format!("{instance}.{}", port.name);
                    let (filters, peer, message_size) = (list.clone(), peer.clone(), *message_size);
                    let mut conduit = ConduitChains { filters, peer, here, message_size, hidden: None };
                    let own = if sending { 0..at_sender } else { at_sender..list.len() };
                    for place in own.filter(|&place| list[place].is_own()) {
                        let failed = |cause| FilterFailure { place, name: list[place].name, time: None, cause };
                        match own::find(&list[place]) {
                            Ok(None) => {}
                            Ok(Some(hidden)) => conduit.hidden = Some(failed(hidden)),
                            Err(cause) => {
                                let (conduit, failure) = (conduit.name(sending), failed(cause).to_string());
                                return Err(FilterError::Failed { conduit, failure }.into());
                            }
                        }
                    }
                    conduits.insert(channel, conduit);
                }
            }
            if !conduits.is_empty() {
                port.only = None;
                port.chains = Some(Box::new(Chains { conduits, sending, lines: HashMap::new() }));
            }
        }
        Ok(())
    }
}

/// Returns the filters that the agent announced, by the index of their channel. Channels without filters
/// are left out.
pub(crate) fn by_channel(channels: &[ChannelInfo]) -> ByChannel {
    let all = channels.iter().enumerate();
    let told = |channel: &ChannelInfo| {
        let (peer, message_size) = (Some(channel.peer_port.clone()), channel.limit);
        Some(FilterAnnouncement { list: channel.filters?, peer, message_size })
    };
    all.filter_map(|(index, channel)| Some((index, told(channel)?))).collect()
}

/// The conduits of a port that have filters at this end, by the index of their channel.
#[derive(Debug)]
pub(crate) struct Chains {
    conduits: HashMap<usize, ConduitChains>,
    sending: bool,
    /// The filters of each slot, with their state, by channel and slot.
    lines: HashMap<(usize, usize), SlotChain>,
}

#[derive(Debug)]
struct ConduitChains {
    filters: Arc<[Filter]>,
    /// The port at the other end. `None` for a conduit within the process: the transport knows the port
    /// then.
    peer: Option<String>,
    /// The port here, such as `micro[3].init`.
    here: String,
    message_size: Option<u64>,
    /// A filter that a user has written and that cannot say what it remembers.
    hidden: Option<FilterFailure>,
}

impl ConduitChains {
    /// Returns the conduit's name as the model has it, without slots.
    fn name(&self, sending: bool) -> String {
        let peer = self.peer.as_deref().unwrap_or("…");
        if sending {
            format!("{} -> {peer}", self.here)
        } else {
            format!("{peer} -> {}", self.here)
        }
    }

    /// Creates a filter that a user has written.
    fn make(&self, filter: &Filter, sending: bool) -> Result<Box<dyn FilterStep>, Fault> {
        let place = self.filters.iter().position(|one| std::ptr::eq(one, filter)).unwrap_or_default();
        own::make(filter, &format!("conduit {}: filter {} ({})", self.name(sending), place + 1, filter.name))
    }
}

/// The filters of one slot of a conduit.
#[derive(Debug)]
struct SlotChain {
    /// The slot's filters. `None` if this conduit has none (another conduit of the port then has some).
    chain: Option<Chain>,
    /// Messages that have passed the filters and have not been received yet.
    come: VecDeque<(Arrival, Message)>,
    /// At a sender: the header of the previous message.
    header: Option<HeaderWords>,
    overlay: Overlay,
    /// At a receiver: true if a message has gone into the filters since they were last told that a series
    /// is over.
    fed: bool,
    /// True if no further message goes into the filters.
    ended: bool,
}

impl Chains {
    /// Forgets the state of all filters, and the messages that have passed them. The next message begins a new
    /// series.
    pub fn begin_anew(&mut self) {
        self.lines.clear();
    }

    fn line(&mut self, channel: usize, slot: usize) -> Result<&mut SlotChain, FilterFailure> {
        if !self.lines.contains_key(&(channel, slot)) {
            let chain = match self.conduits.get(&channel) {
                None => None,
                Some(conduit) => {
                    let own = |filter: &Filter| conduit.make(filter, self.sending);
                    let around = FilterContext { own: &own, message_size: conduit.message_size };
                    if self.sending {
                        Chain::at_sender(&conduit.filters, &around)?
                    } else {
                        Chain::at_receiver(&conduit.filters, &around)?
                    }
                }
            };
            let line = SlotChain {
                chain,
                come: VecDeque::new(),
                header: None,
                overlay: None,
                fed: false,
                ended: false,
            };
            self.lines.insert((channel, slot), line);
        }
        Ok(self.lines.get_mut(&(channel, slot)).expect("it is there by now"))
    }
}

/// Returns true if a slot has a message that has passed the filters.
pub(crate) enum Availability {
    Something,
    Nothing,
    End,
}

impl Instance {
    /// Runs `work` with the filters of a port. The filters are taken out of the port meanwhile, so that
    /// `work` can also use the instance.
    fn with_chains<T>(
        &mut self,
        port: usize,
        work: impl FnOnce(&mut Instance, &mut Chains) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let Some(mut chains) = self.table.ports[port].chains.take() else {
            return Err(AgentError::Filters.into());
        };
        let done = work(self, &mut chains);
        self.table.ports[port].chains = Some(chains);
        done
    }

    /// Returns the output of filters, after it has written their remarks to the log.
    ///
    /// # Errors
    /// If the filters failed, the run ends, even if the code ignores the error.
    fn passed<'a>(
        &mut self,
        chains: &mut Chains,
        (port, slot, channel): (usize, usize, usize),
        passed: Result<ChainOutput<'a>, FilterFailure>,
    ) -> Result<Vec<Parcel<'a>>, Error> {
        match passed {
            Ok(ChainOutput { parcels, said }) => {
                for FilterRemark { text, warning } in said {
                    let text = format!("conduit {}: {text}", self.conduit_at(chains, (port, slot, channel)));
                    let level = if warning { LogLevel::Warning } else { LogLevel::Info };
                    // These lines are logged at any level, because the model asks for them: the output of a
                    // console filter, or a note on a message that was dropped instead of ending the run.
                    self.log_anyhow(level, &text)?;
                }
                if self.checkpoints.is_some() {
                    self.check_memory(chains, (port, slot, channel))?;
                }
                Ok(parcels)
            }
            Err(failure) => Err(self.filters_failed(chains, (port, slot, channel), failure.to_string())),
        }
    }

    /// Returns the name of a conduit of a port of this instance, as the model has it.
    fn conduit_at(&self, chains: &Chains, (port, slot, channel): (usize, usize, usize)) -> String {
        let here = &self.table.ports[port];
        let own = format!("{}.{}", self.name(), here.describe(slot).replace('"', ""));
        let told = chains.conduits.get(&channel).and_then(|conduit| conduit.peer.clone());
        let known = || {
            if chains.sending {
                self.endpoint.receiver_of(channel)
            } else {
                self.endpoint.sender_of(channel)
            }
        };
        let peer = told.or_else(known).unwrap_or_default();
        if chains.sending {
            format!("{own} -> {peer}")
        } else {
            format!("{peer} -> {own}")
        }
    }

    /// Checks that the filters of a slot can say what they remember, since a checkpoint saves that.
    fn check_memory(&mut self, chains: &mut Chains, place: (usize, usize, usize)) -> Result<(), Error> {
        let (_, slot, channel) = place;
        let line = chains.lines.get_mut(&(channel, slot));
        let hidden = line.and_then(|line| line.chain.as_mut()?.hidden());
        let Some(hidden) = hidden.map(|failure| failure.to_string()) else { return Ok(()) };
        if self.needs_checkpoints() {
            return Err(self.filters_failed(chains, place, hidden));
        }
        let conduit = self.conduit_at(chains, place);
        self.cannot_be_saved(&format!("conduit {conduit}: {hidden}"))
    }

    /// Ends the run because a filter has failed.
    fn filters_failed(&mut self, chains: &Chains, place: (usize, usize, usize), failure: String) -> Error {
        let conduit = self.conduit_at(chains, place);
        let error = Error::from(FilterError::Failed { conduit, failure });
        self.abandon();
        self.endpoint.end(true);
        // The error itself matters more than a failure to report it.
        let _ = self.endpoint.fail(&error.to_string());
        error
    }

    /// Sends a message on a slot: on each channel, the messages that its filters make of it.
    #[cold]
    pub(crate) fn send_through_filters(
        &mut self,
        port: usize,
        slot: usize,
        header: HeaderWords,
        value: &ValueRef<'_>,
    ) -> Result<(), Error> {
        let channels = self.table.ports[port].slots[slot].clone();
        self.with_chains(port, |instance, chains| {
            // All filters run before anything is sent. If one of them refuses the message, no receiver gets
            // it.
            let mut through = Vec::with_capacity(channels.len());
            for channel in channels {
                if !chains.conduits.contains_key(&channel) {
                    through.push((channel, None));
                    continue;
                }
                let other = |before: HeaderWords| before.overlay() != header.overlay();
                if chains.lines.get(&(channel, slot)).is_some_and(|line| line.header.is_some_and(other)) {
                    instance.send_rest(chains, port, slot, channel)?;
                }
                let data = Data::lent(value).map_err(|error| instance.unsendable(port, slot, &error.into()))?;
                let (timestamp, next_timestamp) = (header.timestamp(), header.next_timestamp());
                let line = chains.line(channel, slot);
                let passed = line.and_then(|line| {
                    line.header = Some(header);
                    match &mut line.chain {
                        Some(chain) => chain.apply(Parcel { timestamp, next_timestamp, data }),
                        None => Ok(ChainOutput::default()),
                    }
                });
                through.push((channel, Some(instance.passed(chains, (port, slot, channel), passed)?)));
            }
            for (channel, parcels) in through {
                let Some(parcels) = parcels else {
                    instance.send_parcel(port, slot, channel, header, value)?;
                    continue;
                };
                for parcel in parcels {
                    let (header, value) = (times_of(&parcel, header), parcel.data.to_send());
                    instance.send_parcel(port, slot, channel, header, &value)?;
                }
            }
            Ok(())
        })
    }

    /// Sends a message that has passed the filters of one channel, or holds it back if the channel has the
    /// filter `last`.
    fn send_parcel(
        &mut self,
        port: usize,
        slot: usize,
        channel: usize,
        header: HeaderWords,
        value: &ValueRef<'_>,
    ) -> Result<(), Error> {
        let times = MessageTimes { timestamp: header.timestamp(), next_timestamp: header.next_timestamp() };
        if !times.are_sound() {
            return Err(self.unsendable(port, slot, &times.fault().into()));
        }
        let sent = match self.encoder.plan(value) {
            Ok(plan) => send_on(&mut self.endpoint, &mut self.table.ports[port], channel, header, &plan),
            Err(error) => return Err(self.unsendable(port, slot, &error.into())),
        };
        sent.map_err(|error| self.while_sending(error, port, slot))
    }

    /// Sends the messages that the filters of a port still hold for the channels that `on` selects. Called
    /// before an iteration or the conduit ends.
    pub(crate) fn finish_filters(&mut self, port: usize, on: impl Fn(usize) -> bool) -> Result<(), Error> {
        if self.table.ports[port].chains.is_none() {
            return Ok(());
        }
        self.with_chains(port, |instance, chains| {
            let mut places: Vec<_> = chains.lines.keys().copied().filter(|&(channel, _)| on(channel)).collect();
            places.sort_unstable();
            places.into_iter().try_for_each(|(channel, slot)| instance.send_rest(chains, port, slot, channel))
        })
    }

    /// Sends the messages that the filters of a slot still hold, under the overlay of the previous message.
    fn send_rest(
        &mut self,
        chains: &mut Chains,
        port: usize,
        slot: usize,
        channel: usize,
    ) -> Result<(), Error> {
        let Some(SlotChain { chain: Some(chain), header, .. }) = chains.lines.get_mut(&(channel, slot)) else {
            return Ok(());
        };
        // The filters are finished only once for each series.
        let Some(header) = header.take() else { return Ok(()) };
        let passed = chain.finish();
        let parcels = self.passed(chains, (port, slot, channel), passed)?;
        // An instance that has resumed may not have sent a message with this overlay yet.
        if header.overlay() != 0 && !parcels.is_empty() {
            self.announce_overlay(port, slot, header.overlay())?;
        }
        for parcel in parcels {
            if self.table.ports[port].resizable.is_some() {
                self.mark_slot(port, slot)?;
            }
            self.send_parcel(port, slot, channel, times_of(&parcel, header), &parcel.data.to_send())?;
        }
        Ok(())
    }

    /// Receives the next message on a slot that has passed the filters.
    #[cold]
    pub(crate) fn receive_through_filters(
        &mut self,
        port: usize,
        slot: usize,
        deadline: Option<u64>,
        message: &mut Message,
    ) -> Result<Arrival, Error> {
        loop {
            let line = self.line(port, slot)?;
            if let Some((arrival, came)) = line.come.pop_front() {
                *message = came;
                return Ok(arrival);
            }
            if line.ended {
                return Ok(Arrival::End);
            }
            self.filter_next(port, slot, deadline)?;
        }
    }

    /// Tells if a message for a slot has passed the filters. Takes in all messages that have arrived until
    /// one has passed.
    pub(crate) fn come_through(&mut self, port: usize, slot: usize) -> Result<Availability, Error> {
        loop {
            let line = self.line(port, slot)?;
            match (line.come.is_empty(), line.ended) {
                (false, _) => return Ok(Availability::Something),
                (true, true) => return Ok(Availability::End),
                (true, false) if !self.is_ready(port, slot)? => return Ok(Availability::Nothing),
                (true, false) => self.filter_next(port, slot, None)?,
            }
        }
    }

    /// Returns the filters of a receiving slot.
    fn line(&mut self, port: usize, slot: usize) -> Result<&mut SlotChain, Error> {
        let channel = self.table.ports[port].channel_at(slot);
        let here = &mut self.table.ports[port];
        let conduit = || format!("at port \"{}\"", here.name);
        let Some(chains) = &mut here.chains else { return Err(AgentError::Filters.into()) };
        chains
            .line(channel, slot)
            .map_err(|failure| FilterError::Failed { conduit: conduit(), failure: failure.to_string() }.into())
    }

    /// Takes in the next arrival on a slot and passes it through the filters.
    fn filter_next(&mut self, port: usize, slot: usize, deadline: Option<u64>) -> Result<(), Error> {
        let mut message = Message::default();
        let arrival = self.receive_unfiltered(port, slot, deadline, &mut message)?;
        let channel = self.table.ports[port].channel_at(slot);
        self.with_chains(port, |instance, chains| {
            let place = (port, slot, channel);
            let Ok(line) = chains.line(channel, slot) else { return Ok(()) };
            let goes_on = match &arrival {
                // A message without a finite timestamp was not sent by the code: it says that there is no
                // message.
                Arrival::Message(overlay) => message.timestamp.is_finite() && alike(overlay, &line.overlay),
                Arrival::Milestone(_) | Arrival::PassEnd | Arrival::End => false,
            };
            let origin = message.origin.clone();
            if !goes_on && std::mem::take(&mut line.fed) {
                // The messages that the filters still hold belong to the previous iteration and overlay.
                let rest = line.chain.as_mut().map_or(Ok(ChainOutput::default()), Chain::finish);
                instance.take_in(chains, place, &origin, rest)?;
            }
            let Ok(line) = chains.line(channel, slot) else { return Ok(()) };
            let passed = match arrival {
                Arrival::Message(overlay) if message.timestamp.is_finite() => {
                    line.overlay = overlay;
                    let Message { timestamp, next_timestamp, data, .. } = message;
                    let parcel = Parcel { timestamp, next_timestamp, data: Data::Kept(data) };
                    line.fed = true;
                    match &mut line.chain {
                        Some(chain) => chain.apply(parcel),
                        None => Ok(ChainOutput { parcels: vec![parcel], said: Vec::new() }),
                    }
                }
                Arrival::End => {
                    line.ended = true;
                    return Ok(());
                }
                other => {
                    line.come.push_back((other, message));
                    return Ok(());
                }
            };
            instance.take_in(chains, place, &origin, passed)
        })
    }

    /// Stores messages that have passed the filters until they are received, with the overlay of the
    /// message that went in.
    fn take_in(
        &mut self,
        chains: &mut Chains,
        place: (usize, usize, usize),
        origin: &Origin,
        passed: Result<ChainOutput<'_>, FilterFailure>,
    ) -> Result<(), Error> {
        let (_, slot, channel) = place;
        for Parcel { timestamp, next_timestamp, data } in self.passed(chains, place, passed)? {
            let data = match data.into_value() {
                Ok(data) => data,
                Err(fault) => return Err(self.filters_failed(chains, place, fault.to_string())),
            };
            let message = Message { timestamp, next_timestamp, data, settings: None, origin: origin.clone() };
            if let Some(line) = chains.lines.get_mut(&(channel, slot)) {
                line.come.push_back((Arrival::Message(line.overlay.clone()), message));
            }
        }
        Ok(())
    }
}

/// Returns true if both overlays are equal, or both messages came without one.
fn alike(one: &Overlay, other: &Overlay) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other) || one == other,
        (one, other) => one.is_none() && other.is_none(),
    }
}

/// Returns the header of a message that has passed the filters, with the overlay of the message that went
/// in.
fn times_of(parcel: &Parcel<'_>, before: HeaderWords) -> HeaderWords {
    let mut header = HeaderWords::data(parcel.timestamp, parcel.next_timestamp);
    header.set_overlay(before.overlay());
    header
}

fn send_on(
    endpoint: &mut Transport,
    port: &mut PortState,
    channel: usize,
    header: HeaderWords,
    source: &impl Source,
) -> Result<(), ShmError> {
    match &mut port.filtered {
        None => endpoint.send(&[channel], header, source),
        Some(filtered) => filtered.send_on(endpoint, channel, header, source),
    }
}
