//! The position of an instance on its timelines: the iteration of its pass, the messages that `repeat` and
//! `pad` supply, and the receivers that must know when an iteration ends. An instance has this only if one
//! of its conduits has such a filter, or if a peer must know of its iterations.

mod state;

use crate::error::{Error, ErrorKind, TimelineError};
use crate::instance::Instance;
use crate::iteration::{Counter, Iteration};
use crate::message::Message;
use crate::ports::PortTable;
use crate::receive::{Arrival, Overlay};
use crate::send_filters::{FilteredPort, HeldMessage};
use crate::start::{MismatchedStart, PassDecision, PortSlot, Start, StartItem};
use crate::transport::Transport;
use ligament_model::{Operator, Settings};
use ligament_shm::endpoint::EmptySource;
use ligament_wire::control::ChannelSteps;
use ligament_wire::{Header, HeaderWords, Value, ValueRef};
use std::collections::HashMap;

/// The position of an instance on its timelines.
#[derive(Debug)]
pub(crate) struct TimelineState {
    /// Depth to which the iterations of the instance's passes are nested.
    depth: usize,
    /// Steps of the channels on which the instance sends, by channel. `receives` has the steps of the
    /// others; it is a map of its own because both kinds of channel are counted from 0.
    sends: HashMap<usize, ChannelSteps>,
    receives: HashMap<usize, ChannelSteps>,
    /// Counter of the iterations on each channel.
    counters: HashMap<usize, Counter>,
    start: Start<(Message, Overlay)>,
    /// Number of messages that the code has received in this pass on each `S` port whose conduit repeats.
    received: HashMap<PortSlot, u64>,
    /// True if the next pass can begin, false if there is none. `None` while this is not known.
    decided: Option<bool>,
    /// True if the last pass was ended and its milestone sent.
    ending: bool,
}

impl TimelineState {
    /// Makes the state from the steps of an instance's channels. Returns `None` if no channel has steps.
    /// `table` has the instance's ports.
    pub fn of(
        table: &mut PortTable,
        sends: HashMap<usize, ChannelSteps>,
        receives: HashMap<usize, ChannelSteps>,
    ) -> Result<Option<Box<TimelineState>>, Error> {
        let all = sends.values().chain(receives.values());
        if all
            .clone()
            .any(|steps| usize::from(steps.depth.max(steps.repeats)) > ChannelSteps::MAX_FILTERS_OF_A_KIND)
        {
            return Err(TimelineError::TooDeep { most: ChannelSteps::MAX_FILTERS_OF_A_KIND }.into());
        }
        if all.clone().next().is_none() {
            return Ok(None);
        }
        let mut depth = 0;
        for port in &mut table.ports {
            let shared = port.resizable.iter().flat_map(|shared| &shared.channels);
            for channel in port.slots.iter().flatten().chain(shared) {
                let steps = if port.operator.sends() { sends.get(channel) } else { receives.get(channel) };
                let Some(steps) = steps else { continue };
                depth = match port.operator {
                    Operator::FInit => steps.received(),
                    Operator::S => steps.received().saturating_sub(1),
                    Operator::OI => usize::from(steps.depth).saturating_sub(1),
                    Operator::OF | Operator::None => usize::from(steps.depth),
                };
                if steps.last > 0 && port.operator.sends() && port.resizable.is_some() {
                    return Err(TimelineError::LastOfSlots { port: port.name.to_string() }.into());
                }
                // Messages that are held back or repeated cannot take the fast way for ordinary messages.
                if steps.last > 0 && port.operator.sends() || steps.repeats > 0 && !port.operator.sends() {
                    port.only = None;
                }
            }
            if port.operator.sends() {
                port.filtered = FilteredPort::of(&port.slots, |channel| sends.get(&channel).copied());
            }
        }
        Ok(Some(Box::new(TimelineState {
            depth,
            sends,
            receives,
            counters: HashMap::new(),
            start: Start::default(),
            received: HashMap::new(),
            decided: None,
            ending: false,
        })))
    }

    /// Returns the steps of a receiving channel, if its conduit repeats messages.
    pub fn repeats(&self, channel: usize) -> Option<ChannelSteps> {
        self.receives.get(&channel).copied().filter(|steps| steps.repeats > 0)
    }

    /// Returns the sending channels on which the end of an iteration of this depth has an effect.
    fn heard_of(&self, depth: usize) -> Vec<usize> {
        let matters = |steps: &ChannelSteps| {
            let reduced = steps.reduced();
            steps.last > 0 && depth == reduced || steps.milestones && depth < reduced
        };
        self.sends.iter().filter(|(_, steps)| matters(steps)).map(|(&channel, _)| channel).collect()
    }

    /// Returns the channels on which the number of messages differs from the number that the code sends or
    /// receives, because of milestones and filters.
    pub fn channels(&self, sends: bool) -> impl Iterator<Item = usize> + '_ {
        if sends { &self.sends } else { &self.receives }.keys().copied()
    }
}

/// Tells if the next pass can begin, or the reason why this is not known yet.
pub(crate) enum PassReadiness {
    /// True if the pass can begin, false if there is no further pass.
    Decided(bool),
    /// No item has arrived on this channel yet.
    Lacks(usize),
}

impl Instance {
    /// Receives the messages and milestones that start the next pass, until all items of one pass have
    /// arrived. If `waits` is true, the call waits for them. Otherwise it returns a channel with a missing
    /// item; items that have arrived stay stored.
    pub(crate) fn gather(&mut self, waits: bool) -> Result<PassReadiness, Error> {
        let Some(timing) = &mut self.timing else { return Ok(PassReadiness::Decided(true)) };
        if let Some(decided) = timing.decided {
            return Ok(PassReadiness::Decided(decided));
        }
        let mut next = if std::mem::replace(&mut timing.ending, true) { None } else { timing.start.end_pass() };
        loop {
            match next.take() {
                None => {}
                Some(PassDecision::Pass) => return self.decide(true),
                Some(PassDecision::End) => return self.decide(false),
                Some(PassDecision::Over { iteration, own }) => self.tell_over(&iteration, own)?,
            }
            if let Some(channel) = self.take_due(waits)? {
                return Ok(PassReadiness::Lacks(channel));
            }
            let Some(timing) = &mut self.timing else { return Ok(PassReadiness::Decided(true)) };
            next = Some(timing.start.next().map_err(|MismatchedStart(one, other)| TimelineError::Apart {
                one: one.to_string(),
                other: other.to_string(),
            })?);
        }
    }

    fn decide(&mut self, again: bool) -> Result<PassReadiness, Error> {
        let Some(timing) = &mut self.timing else { return Ok(PassReadiness::Decided(again)) };
        if let Some(iteration) = timing.start.iteration().filter(|one| again && one.depth() != timing.depth) {
            return Err(TimelineError::Depth { iteration: iteration.to_string(), depth: timing.depth }.into());
        }
        timing.decided = Some(again);
        Ok(PassReadiness::Decided(again))
    }

    /// Waits for the messages that start the next pass, and makes them available to the code. Returns false
    /// if there is no further pass.
    pub(crate) fn start_on_timeline(&mut self) -> Result<bool, Error> {
        let PassReadiness::Decided(again) = self.gather(true)? else { return Ok(false) };
        let Some(timing) = &mut self.timing else { return Ok(again) };
        (timing.decided, timing.ending) = (None, false);
        timing.received.clear();
        if !again {
            return Ok(false);
        }
        let settings_port = self.settings_port();
        if let Some(port) = settings_port {
            let (message, came) = self.at_start(port, 0)?;
            self.set_explicit(&message.data, came)?;
        } else {
            self.overlays.set(Settings::new());
        }
        let mut first = settings_port.is_none();
        for port in 0..self.table.ports.len() {
            if self.table.ports[port].operator != Operator::FInit || Some(port) == settings_port {
                continue;
            }
            let mut slots = 0..;
            while let Some(slot) = slots.next().filter(|&slot| self.table.ports[port].has_slot_for_start(slot))
            {
                if self.table.ports[port].is_connected_at(slot) {
                    let (message, came) = self.at_start(port, slot)?;
                    self.take_initial(port, slot, message, came, &mut first)?;
                }
            }
        }
        Ok(true)
    }

    /// Returns the message that a slot of an `F_INIT` port has received for the pass that now begins.
    fn at_start(&self, port: usize, slot: usize) -> Result<(Message, Overlay), Error> {
        let nothing = || TimelineError::Nothing { port: self.table.ports[port].describe(slot) };
        let timing = self.timing.as_ref().ok_or_else(nothing)?;
        let (message, overlay) = timing.start.message((port, slot)).ok_or_else(nothing)?;
        let (mut message, overlay) = (message.clone(), overlay.clone());
        if let (Some(steps), Some(iteration)) = (self.repeats_at(port, slot), timing.start.iteration()) {
            if steps.is_padding(&iteration.0) {
                message.data = Value::None;
            }
        }
        Ok((message, overlay))
    }

    /// Returns the steps of a receiving slot, if its conduit repeats messages.
    pub(crate) fn repeats_at(&self, port: usize, slot: usize) -> Option<ChannelSteps> {
        self.timing.as_ref()?.repeats(self.table.ports[port].channel_at(slot))
    }

    /// Returns the next message on an `S` port whose conduit repeats messages. Returns `None` for other
    /// conduits.
    pub(crate) fn repeated_message(
        &mut self,
        port: usize,
        slot: usize,
    ) -> Result<Option<(Message, Overlay)>, Error> {
        let Some(steps) = self.repeats_at(port, slot) else { return Ok(None) };
        let describe = || self.table.ports[port].describe(slot);
        if !self.looping {
            return Err(TimelineError::NeedsLoop { port: describe() }.into());
        }
        let came = self.timing.as_ref().and_then(|timing| timing.start.message((port, slot)));
        let (message, overlay) = came.ok_or_else(|| TimelineError::Nothing { port: describe() })?;
        let (mut message, overlay) = (message.clone(), overlay.clone());
        self.note_use(port)?;
        if let Some(timing) = &mut self.timing {
            let count = timing.received.entry((port, slot)).or_default();
            let mut iteration = timing.start.iteration().cloned().unwrap_or_default();
            iteration.0.push(*count);
            *count += 1;
            if steps.is_padding(&iteration.0) {
                message.data = Value::None;
            }
        }
        Ok(Some((message, overlay)))
    }

    /// Receives on all slots on which an item for the start of a pass is missing. If the call may not wait,
    /// returns the channel of the first item that has not arrived.
    fn take_due(&mut self, waits: bool) -> Result<Option<usize>, Error> {
        for port in 0..self.table.ports.len() {
            let here = &self.table.ports[port];
            if !here.is_connected() || !matches!(here.operator, Operator::FInit | Operator::S) {
                continue;
            }
            let mut slots = 0..;
            while let Some(slot) = slots.next().filter(|&slot| self.table.ports[port].has_slot_for_start(slot))
            {
                let here = &self.table.ports[port];
                let due = here.operator == Operator::FInit || self.repeats_at(port, slot).is_some();
                if !due || !here.is_connected_at(slot) {
                    continue;
                }
                let Some(timing) = &self.timing else { return Ok(None) };
                if timing.start.has((port, slot)) {
                    continue;
                }
                // A milestone holds for all slots of a resizable port, and is received on the first slot.
                if slot > 0 && here.resizable.is_some() && timing.start.is_over_at((port, 0)) {
                    break;
                }
                if !waits {
                    if let Some(channel) = self.lacks(port, slot)? {
                        return Ok(Some(channel));
                    }
                }
                self.take_one(port, slot)?;
            }
        }
        Ok(None)
    }

    fn take_one(&mut self, port: usize, slot: usize) -> Result<(), Error> {
        let channel = self.table.ports[port].channel_at(slot);
        let mut message = Message::default();
        let arrival = self.receive_next(port, slot, None, &mut message)?;
        let Some(timing) = &mut self.timing else { return Ok(()) };
        let later_slot = slot > 0 && self.table.ports[port].resizable.is_some();
        let steps = timing.receives.get(&channel).copied();
        let depth = steps.map_or(timing.depth, |steps| steps.reduced());
        let counter = timing.counters.entry(channel).or_insert_with(|| Counter::new(depth));
        let came = match arrival {
            Arrival::Message(overlay) => {
                let iteration = match timing.start.iteration_at((port, 0)).filter(|_| later_slot) {
                    Some(of_first) => of_first.clone(),
                    None => counter.message(),
                };
                StartItem::Message(iteration, (message, overlay))
            }
            Arrival::Milestone(over) => {
                counter.milestone(&over).map_err(|due| TimelineError::OutOfStep {
                    port: self.table.ports[port].describe(slot),
                    over: over.to_string(),
                    due: due.to_string(),
                })?;
                StartItem::Milestone(over)
            }
            Arrival::End | Arrival::PassEnd => StartItem::End,
        };
        timing.start.put((port, slot), came);
        Ok(())
    }

    /// Handles the end of an iteration, either of this instance or of one that contains it: sends the messages
    /// that `last` has held back, and a milestone to each receiver that needs it. At the end of the instance's
    /// own iteration only `O_I` ports send the milestone, because `O_F` ports have sent their message of it.
    fn tell_over(&mut self, iteration: &Iteration, own: bool) -> Result<(), Error> {
        let over = self.timing.as_ref().map_or(Vec::new(), |timing| timing.heard_of(iteration.depth()));
        for port in 0..self.table.ports.len() {
            match self.table.ports[port].operator {
                Operator::OI => {}
                Operator::OF if !own => {}
                _ => continue,
            }
            self.finish_filters(port, |channel| over.contains(&channel))?;
            self.let_go(port, iteration.depth())?;
            self.tell_milestone(port, iteration)?;
        }
        Ok(())
    }

    /// Sends the messages that `last` has held back on a port until the end of an iteration of this depth.
    pub(crate) fn let_go(&mut self, port: usize, depth: usize) -> Result<(), Error> {
        let Some(filtered) = &mut self.table.ports[port].filtered else { return Ok(()) };
        for (slot, channel, kept) in filtered.over(depth) {
            if let Some(HeldMessage { header, .. }) = kept.as_ref().filter(|kept| kept.header.overlay() != 0) {
                // An instance that has resumed may not have sent a message with this overlay yet.
                self.announce_overlay(port, slot, header.overlay())?;
            }
            let sent = match &kept {
                Some(HeldMessage { header, body }) => self.endpoint.send(&[channel], *header, body),
                None => {
                    self.endpoint.send(&[channel], HeaderWords::data(f64::NEG_INFINITY, None), &EmptySource)
                }
            };
            sent.map_err(|error| self.while_sending(error, port, slot))?;
        }
        Ok(())
    }

    fn tell_milestone(&mut self, port: usize, over: &Iteration) -> Result<(), Error> {
        let Some(timing) = &self.timing else { return Ok(()) };
        let tells = |channel: &usize| {
            let steps = timing.sends.get(channel).filter(|steps| steps.milestones);
            steps.is_some_and(|steps| over.depth() < steps.reduced())
        };
        let to: Vec<usize> = self.table.ports[port].channels().filter(tells).collect();
        if to.is_empty() {
            return Ok(());
        }
        let body = Value::List(over.0.iter().map(|&number| Value::UInt(number)).collect());
        let plan = self.encoder.plan(&ValueRef::Owned(&body));
        let plan = plan.map_err(|error| Error::other(ErrorKind::System, error))?;
        let header =
            HeaderWords::from(Header { kind: ligament_wire::MessageKind::Milestone, ..Header::default() });
        self.endpoint.send(&to, header, &plan).map_err(|error| self.while_sending(error, port, 0))
    }

    /// Returns the channel of a slot of a light component on which no item has arrived. Other instances
    /// wait, so the result is `None` for them.
    fn lacks(&mut self, port: usize, slot: usize) -> Result<Option<usize>, Error> {
        match self.endpoint {
            Transport::Shared(_) => self.nothing_there(port, slot),
            Transport::Own(_) | Transport::Recorded(_) | Transport::Replayed(_) => Ok(None),
        }
    }
}

/// Reads the iteration from the body of a milestone.
pub(crate) fn milestone_in(body: &Value) -> Option<Iteration> {
    let Value::List(items) = body else { return None };
    let number = |item: &Value| match *item {
        Value::Int(number) => u64::try_from(number).ok(),
        Value::UInt(number) => Some(number),
        _ => None,
    };
    let numbers: Vec<u64> = items.iter().map(number).collect::<Option<_>>()?;
    (1..=ChannelSteps::MAX_FILTERS_OF_A_KIND).contains(&numbers.len()).then_some(Iteration(numbers))
}
