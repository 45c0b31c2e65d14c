//! Receiving: waiting for a message on one port or on any of several ports. Arrays are received as views,
//! or copied into the caller's arrays.

use crate::chains::Availability;
use crate::error::{AgentError, Error, ErrorKind, ReceiveError, TimelineError};
use crate::expected::Origin;
use crate::instance::Instance;
use crate::iteration::Iteration;
use crate::message::{ArrayMut, Message, MessageTimes};
use crate::overlay::from_value;
use crate::ports::PortName;
use crate::timing::milestone_in;
use crate::transport::Transport;
use ligament_model::{Operator, Settings};
use ligament_shm::status::now;
use ligament_wire::{ArrayKind, ConduitEnd, HeaderWords, Value};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The time for which a call waits for a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Wait {
    /// Until a message arrives.
    #[default]
    Forever,
    /// No longer than this time.
    AtMost(Duration),
}

impl Wait {
    pub(crate) fn deadline(self) -> Option<u64> {
        match self {
            Wait::Forever => None,
            Wait::AtMost(time) => {
                Some(now().saturating_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)))
            }
        }
    }
}

/// The overlay of a received message, or `None` if it has the empty overlay.
pub(crate) type Overlay = Option<Arc<Value>>;

/// Returns the settings of an overlay.
pub(crate) fn settings_of(overlay: Overlay) -> Settings {
    overlay.as_deref().and_then(from_value).unwrap_or_default()
}

/// The next item on a conduit.
#[derive(Debug)]
pub(crate) enum Arrival {
    /// A message, with its overlay.
    Message(Overlay),
    /// The end of an iteration.
    Milestone(Iteration),
    /// The end of the conduit.
    End,
    /// The end of a pass of the sender's reuse loop, on a port that goes with the clock.
    PassEnd,
}

impl Instance {
    /// Waits for the next message on a port (and slot of a vector port), and returns it.
    ///
    /// # Errors
    /// `Usage` if there is no such port, or if the port does not receive or is not connected. `Closed` if
    /// the conduit has ended. `Unexpected` if the message has another settings overlay than the one in
    /// force. `RunEnds`, `Interrupted`.
    #[inline]
    pub fn receive(&mut self, port: impl PortName, slot: Option<u32>) -> Result<Message, Error> {
        self.receive_within(port, slot, Wait::Forever)
    }

    /// Does the same as `receive`, but waits no longer than `wait`. Fails with `TimedOut` if no message has
    /// arrived by then.
    #[inline]
    pub fn receive_within(
        &mut self,
        port: impl PortName,
        slot: Option<u32>,
        wait: Wait,
    ) -> Result<Message, Error> {
        let mut message = Message::default();
        self.receive_to(port, slot, wait, &mut message)?;
        Ok(message)
    }

    /// Does the same as `receive_within`, but writes to an existing message, so that no message has to be
    /// moved.
    #[inline(always)]
    pub fn receive_to(
        &mut self,
        port: impl PortName,
        slot: Option<u32>,
        wait: Wait,
        message: &mut Message,
    ) -> Result<(), Error> {
        if slot.is_none() && self.receive_ordinary(port, message) {
            Ok(())
        } else {
            self.receive_generally(port, slot, wait, message)
        }
    }

    /// Does the same as `receive_within`, but returns `None` if nothing is connected to the port.
    ///
    /// # Errors
    /// As `receive_within`.
    pub fn receive_if_connected(
        &mut self,
        port: impl PortName,
        slot: Option<u32>,
        wait: Wait,
    ) -> Result<Option<Message>, Error> {
        self.alive()?;
        let here = &self.table.ports[self.table.find(port)?];
        if here.operator.receives() && !here.is_connected() {
            Ok(None)
        } else {
            self.receive_within(port, slot, wait).map(Some)
        }
    }

    /// Receives the first message that arrives on any of several ports (and slots). Returns the port's
    /// index in `ports`, and the message. A conduit that has ended is ignored while another one may still
    /// have a message.
    ///
    /// # Errors
    /// As `receive_within`. `Closed` if all conduits have ended.
    pub fn receive_any(
        &mut self,
        ports: &[(&str, Option<u32>)],
        wait: Wait,
    ) -> Result<(usize, Message), Error> {
        let began = Instant::now();
        let left = || match wait {
            Wait::Forever => Wait::Forever,
            Wait::AtMost(time) => Wait::AtMost(time.saturating_sub(began.elapsed())),
        };
        loop {
            let which = self.wait_any(ports, left())?;
            let (port, slot) = ports[which];
            match self.receive_within(port, slot, left()) {
                // Only a milestone came before the conduit's end. The other ports may still have messages.
                Err(error) if error.kind() == ErrorKind::Closed => {}
                received => return received.map(|message| (which, message)),
            }
        }
    }

    /// Does the same as `receive_within`, and stores the message's settings overlay in `settings`. The
    /// overlay is not compared with the one in force. This is for codes that serve several others with
    /// different settings, and for receivers of their messages. The overlay of an `F_INIT` message is
    /// already in force for the pass, unless the instance asked that overlays are not applied
    /// (`Flags::dont_apply_overlay`).
    ///
    /// # Errors
    /// As `receive_within`, except for another overlay.
    pub fn receive_with_settings(
        &mut self,
        port: impl PortName,
        slot: Option<u32>,
        wait: Wait,
    ) -> Result<Message, Error> {
        self.alive()?;
        let (port, slot) = self.receiving(port, slot)?;
        let mut message = Message::default();
        let came = if self.table.ports[port].exchanges() {
            let (part, overlay) = self.receive_exchanged(port, wait)?;
            message = part;
            overlay
        } else if self.is_initial(port) {
            let (initial, came) = self.initial_message(port, slot)?;
            message = initial;
            came
        } else {
            self.next_message(port, slot, wait, &mut message)?
        };
        message.settings = Some(settings_of(came));
        Ok(message)
    }

    #[inline(never)]
    fn receive_generally(
        &mut self,
        port: impl PortName,
        slot: Option<u32>,
        wait: Wait,
        message: &mut Message,
    ) -> Result<(), Error> {
        self.alive()?;
        let (port, slot) = self.receiving(port, slot)?;
        if self.table.ports[port].exchanges() {
            let (part, overlay) = self.receive_exchanged(port, wait)?;
            *message = part;
            if self.flags.dont_apply_overlay {
                message.settings = Some(settings_of(overlay));
                return Ok(());
            }
            return self.check_overlay(port, slot, overlay.as_ref());
        }
        if self.is_initial(port) {
            *message = self.initial_message(port, slot)?.0;
            return Ok(());
        }
        let came = self.next_message(port, slot, wait, message)?;
        self.end_cuts(false)?;
        if self.flags.dont_apply_overlay {
            message.settings = Some(settings_of(came));
            return Ok(());
        }
        // An empty message of the filter `last` says that there is no message. It has no overlay.
        if message.timestamp == f64::NEG_INFINITY {
            Ok(())
        } else {
            self.check_overlay(port, slot, came.as_ref())
        }
    }

    /// Returns true if `reuse_instance` has already received the messages of this port.
    pub(crate) fn is_initial(&self, port: usize) -> bool {
        self.looping && self.table.ports[port].operator == Operator::FInit
    }

    /// Receives the next message and its overlay. If the filter `repeat` or `pad` supplies the message
    /// again, returns that one.
    #[inline(always)]
    fn next_message(
        &mut self,
        port: usize,
        slot: usize,
        wait: Wait,
        message: &mut Message,
    ) -> Result<Overlay, Error> {
        let repeated = if self.timing.is_some() { self.repeated_message(port, slot)? } else { None };
        if let Some((again, overlay)) = repeated {
            *message = again;
            return Ok(overlay);
        }
        let came = self.receive_raw(port, slot, wait.deadline(), message)?;
        came.ok_or_else(|| self.closed(port, slot))
    }

    /// Receives an array into the caller's array.
    ///
    /// # Errors
    /// As `receive`. `Unexpected` if type or shape differ; the message is consumed nevertheless. After any
    /// other error, `into` may hold a part of the array.
    #[inline(always)]
    pub fn receive_into(
        &mut self,
        port: impl PortName,
        slot: Option<u32>,
        wait: Wait,
        into: &mut ArrayMut<'_>,
    ) -> Result<MessageTimes, Error> {
        let ordinary = if slot.is_none() { self.receive_ordinary_into(port, into) } else { None };
        match ordinary {
            Some(times) => Ok(times),
            None => self.receive_into_generally(port, slot, wait, into),
        }
    }

    #[inline(never)]
    fn receive_into_generally(
        &mut self,
        port: impl PortName,
        slot: Option<u32>,
        wait: Wait,
        into: &mut ArrayMut<'_>,
    ) -> Result<MessageTimes, Error> {
        if let Ok((index, _)) = self.receiving(port, slot) {
            if self.table.ports[index].exchanges() {
                self.alive()?;
                return match self.table.ports[index].clocked {
                    None => self.receive_part_into(index, wait, into),
                    Some(_) => self.receive_signal_into(index, wait, into),
                };
            }
        }
        let there = match (slot, wait) {
            (None, Wait::Forever) => self.follow_into(port, into)?,
            _ => 0,
        };
        let message = self.receive_within(port, slot, wait)?;
        let began = self.endpoint.copy_begins(into.data.len() as u64);
        into.fill_from(&message, there)?;
        if began != 0 {
            self.copied_from(port, slot, began);
        }
        Ok(message.times())
    }

    /// Waits for a large array, and already copies the parts that its sender has written. Returns the
    /// number of bytes that were copied, which is 0 if the case is not ordinary.
    fn follow_into(&mut self, port: impl PortName, into: &mut ArrayMut<'_>) -> Result<usize, Error> {
        let Some((port, channel)) = self.ordinary_source(port) else { return Ok(0) };
        let Transport::Own(endpoint) = &mut self.endpoint else { return Ok(0) };
        let ArrayMut { dtype, shape, order, ref mut data } = *into;
        let fits = |kind: &ArrayKind| kind.is(dtype, shape, order);
        let there = endpoint.follow_into(channel, fits, data);
        there.map_err(|error| self.while_receiving(error, port, 0))
    }

    /// Notes in the timeline that the copy of a message received on a port is done.
    #[cold]
    fn copied_from(&mut self, port: impl PortName, slot: Option<u32>, began: u64) {
        if let Ok((port, slot)) = self.receiving(port, slot) {
            let channels = self.table.ports[port].slots.get(slot);
            if let Some(&channel) = channels.and_then(|channels| channels.first()) {
                self.endpoint.copy_ends(channel, began);
            }
        }
    }

    /// Returns true if a receive on this port would return at once, with a message or because the conduit
    /// has ended.
    pub fn poll(&mut self, port: impl PortName, slot: Option<u32>) -> Result<bool, Error> {
        self.alive()?;
        let (port, slot) = self.receiving(port, slot)?;
        if self.initial.contains_key(&(port, slot)) || self.repeats_at(port, slot).is_some() {
            return Ok(true);
        }
        if self.is_signal(port) {
            return Ok(!matches!(self.has_value(port)?, Availability::Nothing));
        }
        if self.gathers(port) {
            return Ok(self.missing_part(port)?.is_none());
        }
        match self.table.ports[port].chains {
            None => self.is_ready(port, slot),
            Some(_) => Ok(!matches!(self.come_through(port, slot)?, Availability::Nothing)),
        }
    }

    /// Returns true if a message, or the conduit's end, has arrived for a slot. Filters are not yet
    /// applied.
    pub(crate) fn is_ready(&mut self, port: usize, slot: usize) -> Result<bool, Error> {
        if self.table.ports[port].resizable.is_some() {
            return Ok(self.has_come(port, slot)? || self.table.ports[port].shared_has_ended());
        }
        if self.table.ports[port].ended[slot] {
            return Ok(true);
        }
        let channel = self.table.ports[port].slots[slot][0];
        self.endpoint.poll(channel).map_err(|error| Error::during(error, || "polling".into()))
    }

    /// Waits until a message has arrived on a port (and slot), or the conduit has ended. Returns true if
    /// there is a message. On an `F_INIT` port in the reuse loop, returns true if the message of this pass
    /// has not been received yet.
    ///
    /// # Errors
    /// As `receive_within`, except for `Closed`.
    pub fn has_next(&mut self, port: impl PortName, slot: Option<u32>, wait: Wait) -> Result<bool, Error> {
        self.alive()?;
        let (index, at) = self.receiving(port, slot)?;
        if self.is_initial(index) {
            return Ok(self.initial.contains_key(&(index, at)));
        }
        let name = self.table.ports[index].name.clone();
        match self.wait_any(&[(&*name, slot)], wait) {
            Err(Error::Receive(ReceiveError::AllClosed)) => Ok(false),
            waited => waited.map(|_| true),
        }
    }

    /// Waits until a message has arrived on one of several ports (and slots), and returns the port's index
    /// in `ports`. A conduit that has ended is ignored while another one may still have a message.
    ///
    /// # Errors
    /// As `receive_within`. `Closed` if all conduits have ended.
    pub fn wait_any(&mut self, ports: &[(&str, Option<u32>)], wait: Wait) -> Result<usize, Error> {
        self.alive()?;
        let deadline = wait.deadline();
        let mut channels = Vec::with_capacity(ports.len());
        let mut which = Vec::with_capacity(ports.len());
        loop {
            channels.clear();
            which.clear();
            for (index, &(name, slot)) in ports.iter().enumerate() {
                let (port, slot) = self.receiving(name, slot)?;
                if self.initial.contains_key(&(port, slot)) || self.repeats_at(port, slot).is_some() {
                    return Ok(index);
                }
                if self.is_signal(port) {
                    match self.has_value(port)? {
                        Availability::Something => return Ok(index),
                        Availability::End => {}
                        Availability::Nothing => {
                            let missing = self.first_missing(port);
                            channels.push(self.table.ports[port].channel_at(missing));
                            which.push((index, port, missing));
                        }
                    }
                } else if self.gathers(port) {
                    match self.missing_part(port)? {
                        None if self.table.ports[port].ended.contains(&true) => {}
                        None => return Ok(index),
                        Some(missing) => {
                            channels.push(self.table.ports[port].channel_at(missing));
                            which.push((index, port, missing));
                        }
                    }
                } else if self.table.ports[port].chains.is_some() {
                    match self.come_through(port, slot)? {
                        Availability::Something => return Ok(index),
                        Availability::End => {}
                        Availability::Nothing => {
                            channels.push(self.table.ports[port].channel_at(slot));
                            which.push((index, port, slot));
                        }
                    }
                } else if self.table.ports[port].resizable.is_some() {
                    if self.has_come(port, slot)? {
                        return Ok(index);
                    }
                    if let Some(channel) = self.table.ports[port].shared_channel() {
                        channels.push(channel);
                        which.push((index, port, slot));
                    }
                } else if !self.table.ports[port].ended[slot] {
                    channels.push(self.table.ports[port].slots[slot][0]);
                    which.push((index, port, slot));
                }
            }
            // The check of a later port may have stored a message for an earlier port, or found the end of
            // its conduit.
            let kept = which.iter().find(|&&(_, port, slot)| self.table.ports[port].keeps_for(slot));
            if let Some(&(index, port, _)) = kept {
                // The next turn of the loop finds out if the message passes the port's filters.
                if self.table.ports[port].chains.is_some() {
                    continue;
                } else {
                    return Ok(index);
                }
            }
            if which.iter().any(|&(_, port, _)| self.table.ports[port].shared_has_ended()) {
                continue;
            }
            if channels.is_empty() {
                return Err(ReceiveError::AllClosed.into());
            }
            let channel = self.endpoint.wait_any(&channels, deadline).map_err(|error| {
                let names: Vec<&str> = ports.iter().map(|(name, _)| *name).collect();
                Error::during(error, || format!("waiting for any of {}", names.join(", ")))
            })?;
            let at = channels.iter().position(|&c| c == channel).expect("it is one of those waited for");
            let (index, port, at_slot) = which[at];
            let here = &self.table.ports[port];
            if here.resizable.is_none() && here.chains.is_none() && !self.gathers(port) {
                let end = self.endpoint.next_is_end(channel);
                if end.map_err(|error| self.while_receiving(error, port, at_slot))? != Some(true) {
                    return Ok(index);
                }
                self.receive_next(port, at_slot, None, &mut Message::default())?;
                continue;
            }
            // A message has arrived for a slot of this port. The next turn of the loop finds out if it is
            // for one of the slots in `ports`, and if it passes the filters.
        }
    }

    /// Returns the indices of a port and slot, if the port receives and the slot is connected.
    #[inline(always)]
    fn receiving(&self, port: impl PortName, slot: Option<u32>) -> Result<(usize, usize), Error> {
        let index = self.table.find(port)?;
        let here = &self.table.ports[index];
        if !here.operator.receives() {
            return Err(here.sends_only());
        }
        if here.carries_events() {
            return Err(here.carries_no_messages("events"));
        }
        let slot = here.slot(slot)?;
        match here.slots.get(slot) {
            Some(channels) if !channels.is_empty() => Ok((index, slot)),
            _ if here.resizable.is_some() && here.is_connected() => Ok((index, slot)),
            _ => Err(here.unconnected(slot)),
        }
    }

    /// Returns true if a message of this port is put together from those of all ranks of the sender, and
    /// `reuse_instance` does not receive them.
    fn gathers(&self, port: usize) -> bool {
        self.table.ports[port].distributed.is_some() && !self.is_initial(port)
    }

    /// Takes a message that `reuse_instance` has received, and its overlay.
    pub(crate) fn initial_message(&mut self, port: usize, slot: usize) -> Result<(Message, Overlay), Error> {
        self.note_use(port)?;
        self.initial.remove(&(port, slot)).ok_or_else(|| {
            let here = &self.table.ports[port];
            if slot >= here.slots.len() {
                let (port, slots) = (here.name.to_string(), here.slots.len());
                return ReceiveError::NoSlotCame { port, slots, slot }.into();
            }
            ReceiveError::Used { port: here.describe(slot) }.into()
        })
    }

    /// Returns the port at the other end of a slot.
    pub(crate) fn peer_of(&self, port: usize, slot: usize) -> String {
        let here = &self.table.ports[port];
        let own = || self.endpoint.sender_of(*here.slots.get(slot)?.first()?);
        let peer = here.peers.get(slot).or(here.peers.first()).filter(|peer| !peer.is_empty());
        peer.cloned().or_else(own).unwrap_or_default()
    }

    #[cold]
    pub(crate) fn closed(&self, port: usize, slot: usize) -> Error {
        let here = &self.table.ports[port];
        let peer = self.peer_of(port, slot);
        let port = here.describe(slot);
        match here.ending {
            ConduitEnd::Done => ReceiveError::Closed { port, peer },
            ConduitEnd::WithinPass => ReceiveError::ClosedWithinPass { port, peer },
        }
        .into()
    }

    /// Receives the next message of a slot as it arrives, even if `reuse_instance` has stored one or a filter
    /// repeats one. Returns `None` at the conduit's end.
    #[inline(always)]
    pub(crate) fn receive_raw(
        &mut self,
        port: usize,
        slot: usize,
        deadline: Option<u64>,
        message: &mut Message,
    ) -> Result<Option<Overlay>, Error> {
        self.note_use(port)?;
        loop {
            match self.receive_next(port, slot, deadline, message)? {
                Arrival::Message(overlay) => return Ok(Some(overlay)),
                Arrival::End | Arrival::PassEnd => return Ok(None),
                // Milestones matter to the reuse loop only.
                Arrival::Milestone(_) => {}
            }
        }
    }

    /// Receives the next item on a slot, after its filters.
    #[inline(always)]
    pub(crate) fn receive_next(
        &mut self,
        port: usize,
        slot: usize,
        deadline: Option<u64>,
        message: &mut Message,
    ) -> Result<Arrival, Error> {
        match self.table.ports[port].chains {
            None => self.receive_unfiltered(port, slot, deadline, message),
            Some(_) => self.receive_through_filters(port, slot, deadline, message),
        }
    }

    /// Receives the next item on a slot, before any filter.
    #[inline(always)]
    pub(crate) fn receive_unfiltered(
        &mut self,
        port: usize,
        slot: usize,
        deadline: Option<u64>,
        message: &mut Message,
    ) -> Result<Arrival, Error> {
        match self.table.ports[port].ended.get(slot) {
            Some(false) if self.is_pass_over(port, slot) => return Ok(Arrival::PassEnd),
            Some(false) => {}
            Some(true) => return Ok(Arrival::End),
            // All slots of a resizable port end together.
            None => {
                let came = self.receive_on_slot(port, slot, deadline, message)?;
                self.note_origin(port, slot, message);
                return Ok(came);
            }
        }
        let channel = self.table.ports[port].slots[slot][0];
        let mut header = HeaderWords::default();
        loop {
            if let Err(error) = self.endpoint.receive_to(channel, deadline, &mut header, &mut message.data) {
                return Err(self.while_receiving(error, port, slot));
            }
            let common = header.is_data() && self.table.ports[port].clocked.is_none();
            if common || !self.is_aside(port, slot, &header, &message.data)? {
                break;
            }
        }
        message.timestamp = header.timestamp();
        message.next_timestamp = header.next_timestamp();
        message.settings = None;
        if !header.is_data() {
            return self.something_else(port, slot, &header, &message.data);
        }
        self.note_origin(port, slot, message);
        let overlay = header.overlay();
        if overlay == 0 {
            return Ok(Arrival::Message(None));
        }
        self.announced(channel, overlay, port, slot).map(|known| Arrival::Message(Some(known)))
    }

    /// Handles an item that the code does not see, and returns true; returns false for any other item.
    #[cold]
    fn is_aside(
        &mut self,
        port: usize,
        slot: usize,
        header: &HeaderWords,
        body: &Value,
    ) -> Result<bool, Error> {
        if header.is_route() {
            return self.note_map(port, slot, body).map(|()| true);
        }
        if header.is_pass_end() {
            return Ok(!self.ends_sender_pass(port, slot));
        }
        let clocked = self.table.ports[port].clocked.as_ref();
        Ok(header.is_data() && clocked.is_some_and(|clocked| clocked.passing[slot]))
    }

    /// Handles an item that is not a message: the end of the conduit, or of an iteration.
    #[cold]
    fn something_else(
        &mut self,
        port: usize,
        slot: usize,
        header: &HeaderWords,
        body: &Value,
    ) -> Result<Arrival, Error> {
        if header.is_pass_end() {
            return Ok(Arrival::PassEnd);
        }
        if header.is_end() {
            let here = &mut self.table.ports[port];
            (here.ended[slot], here.ending) = (true, ConduitEnd::of(header));
            return Ok(Arrival::End);
        }
        let here = &self.table.ports[port];
        let over = milestone_in(body).filter(|_| header.is_milestone());
        let over = over.ok_or_else(|| TimelineError::NoMilestone { port: here.describe(slot) })?;
        Ok(Arrival::Milestone(over))
    }

    /// Notes in a message from which port and sender it came. Mostly the message object already has the
    /// same origin, because it was used for the previous message of this port.
    #[inline(always)]
    pub(crate) fn note_origin(&mut self, port: usize, slot: usize, message: &mut Message) {
        match (self.table.ports[port].origins.get(slot), &message.origin) {
            (Some(Some(known)), Origin(Some(noted))) if Arc::ptr_eq(known, noted) => {}
            _ => self.note_another_origin(port, slot, message),
        }
    }

    #[inline(never)]
    fn note_another_origin(&mut self, port: usize, slot: usize, message: &mut Message) {
        if self.table.ports[port].origins.len() <= slot {
            self.table.ports[port].origins.resize(slot + 1, None);
        }
        if self.table.ports[port].origins[slot].is_none() {
            let (here, peer) = (self.table.ports[port].describe(slot), self.peer_of(port, slot));
            self.table.ports[port].origins[slot] = Some(format!("port {here} from {peer}").into());
        }
        message.origin = Origin(self.table.ports[port].origins[slot].clone());
    }

    /// Returns the overlay with this number, which the sender has announced.
    #[inline]
    pub(crate) fn announced(
        &self,
        channel: usize,
        overlay: u32,
        port: usize,
        slot: usize,
    ) -> Result<Arc<Value>, Error> {
        match self.endpoint.overlay(channel, overlay) {
            Some(known) => Ok(known),
            None => {
                let port = self.table.ports[port].describe(slot);
                Err(AgentError::UnknownOverlay { port, overlay }.into())
            }
        }
    }

    #[cold]
    pub(crate) fn while_receiving(&self, error: ligament_shm::ShmError, port: usize, slot: usize) -> Error {
        let here = &self.table.ports[port];
        let peer = self.peer_of(port, slot);
        Error::during(error, || format!("receiving on port {} from {peer}", here.describe(slot)))
    }

    /// Fails if a message has another settings overlay than the one in force at this instance.
    #[inline(always)]
    pub(crate) fn check_overlay(
        &mut self,
        port: usize,
        slot: usize,
        came: Option<&Arc<Value>>,
    ) -> Result<(), Error> {
        if self.overlays.agrees(came) {
            return Ok(());
        }
        Err(self.other_settings(port, slot))
    }

    #[cold]
    fn other_settings(&self, port: usize, slot: usize) -> Error {
        ReceiveError::OtherSettings { port: self.table.ports[port].describe(slot) }.into()
    }
}
