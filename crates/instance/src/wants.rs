//! Events that their sender sorts by receiver (`routing: pairwise`). In each pass, each rank of the receiver
//! sends back the ids that it wants, before its first tick; this is a message of kind `Route` on a channel of
//! its own. A sender waits for these messages before its first exchange of the pass, and then sends each rank
//! the events that it wants. A message still goes out for each exchange, also without events, since the number
//! of an exchange is its place in the conduit.

use crate::error::{ClockError, Error, ErrorKind};
use crate::events::{events_of, CollectedEvents, EventPort};
use crate::instance::Instance;
use crate::message::MessageTimes;
use ligament_exchange::{IndexMap, Part, Receivers};
use ligament_wire::fields::{counted, entries, Fields};
use ligament_wire::{ConduitEnd, Header, HeaderWords, MessageKind, Value, ValueRef};

/// The state of a port that sorts its events by receiver.
#[derive(Debug, Default)]
pub(crate) struct EventSorting {
    receivers: Vec<SortedReceiver>,
    /// The channels to receivers that get all events. Known together with `table`.
    others: Vec<usize>,
    /// The ranks of the receivers that want each id, once they are known in this pass.
    table: Option<Receivers>,
    /// Number of passes that are over.
    passes: u64,
}

/// A rank of a receiver that gets only the events that it wants.
#[derive(Debug)]
struct SortedReceiver {
    /// The channel to the rank.
    sends: usize,
    /// The channel on which the rank sends back the ids that it wants.
    wants: usize,
    /// Number of passes of the reuse loop for which the rank has sent the ids that it wants.
    known: u64,
    /// True if the rank has ended.
    ended: bool,
    /// The ids that the rank wants. `None` means all.
    map: Option<IndexMap>,
    /// The events of an exchange for this rank.
    events: CollectedEvents,
}

impl EventSorting {
    /// Prepares for the next pass, in which the receivers may want other ids.
    pub fn begin_pass(&mut self) {
        self.table = None;
        self.passes += 1;
    }

    /// Sorts events by receiver.
    fn sort(&mut self, events: &CollectedEvents) {
        let Some(table) = &self.table else { return };
        self.receivers.iter_mut().for_each(|receiver| receiver.events.clear());
        for (&time, &id) in events.times.iter().zip(&events.ids) {
            for rank in table.of(id) {
                self.receivers[*rank as usize].events.push(time, id);
            }
        }
    }
}

impl EventSorting {
    /// Returns the state for a checkpoint. The table follows from the maps.
    pub fn state(&self) -> Value {
        let receiver = |receiver: &SortedReceiver| {
            entries([
                ("known", counted(receiver.known)),
                ("map", receiver.map.as_ref().map_or(Value::None, IndexMap::to_value)),
            ])
        };
        let receivers = self.receivers.iter().map(receiver);
        entries([("passes", counted(self.passes)), ("receivers", Value::List(receivers.collect()))])
    }

    /// Puts a state back; `ids` is the number of ids. Returns `None` if something is missing, or is of another
    /// port.
    pub fn restore(&mut self, state: &Value, ids: u64) -> Option<()> {
        let fields = Fields::of(state)?;
        let receivers = fields.list("receivers")?;
        if receivers.len() != self.receivers.len() {
            return None;
        }
        self.passes = fields.count("passes")?;
        for (receiver, state) in self.receivers.iter_mut().zip(receivers) {
            let fields = Fields::of(state)?;
            receiver.known = fields.count("known")?;
            receiver.map = match fields.present("map")? {
                None => None,
                Some(map) => Some(IndexMap::from_value(&[ids], map)?),
            };
        }
        Some(())
    }
}

impl EventPort {
    /// Joins a channel on which the sender of a slot learns the ids that this rank wants.
    pub fn join_sender(&mut self, slot: usize, channel: usize) {
        self.sorted.resize(self.sorted.len().max(slot + 1), None);
        self.sorted[slot] = Some(channel);
    }

    /// Joins a receiver of sorted events: the channel to it, and that on which it sends back the ids.
    pub fn join_receiver(&mut self, sends: usize, wants: usize) {
        self.sorting.get_or_insert_default().receivers.push(SortedReceiver {
            sends,
            wants,
            known: 0,
            ended: false,
            map: None,
            events: CollectedEvents::default(),
        });
    }

    /// Returns the channels on which this rank sends the ids that it wants, or those on which it receives the
    /// ids that others want.
    pub fn wants_channels(&self, sends: bool) -> impl Iterator<Item = usize> + '_ {
        let sent = self.sorted.iter().flatten().copied().filter(move |_| sends);
        let receivers = self.sorting.iter().flat_map(|sorting| &sorting.receivers);
        sent.chain(receivers.map(|receiver| receiver.wants).filter(move |_| !sends))
    }
}

impl Instance {
    /// Sends the ids that this rank wants to all senders that sort their events, once in a pass.
    pub(crate) fn send_wants(&mut self) -> Result<(), Error> {
        let Some(clock) = self.clock.as_mut().filter(|clock| clock.wants_due) else { return Ok(()) };
        clock.wants_due = false;
        for port in 0..self.table.ports.len() {
            let Some((events, _)) = events_of(&mut self.table.ports[port].clocked) else { continue };
            let channels: Vec<usize> = events.wants_channels(true).collect();
            if channels.is_empty() {
                continue;
            }
            let body = events.map.as_ref().map_or(Value::None, IndexMap::to_value);
            let plan = self.encoder.plan(&ValueRef::Owned(&body));
            let plan = plan.map_err(|error| Error::other(ErrorKind::System, error))?;
            let header = HeaderWords::from(Header { kind: MessageKind::Route, ..Header::default() });
            let sent = self.endpoint.send(&channels, header, &plan);
            sent.map_err(|error| self.while_telling_wants(error, port))?;
        }
        Ok(())
    }

    /// Ends the channels on which this rank has sent the ids that it wants.
    pub(crate) fn end_wants(&mut self) -> Result<(), Error> {
        for port in 0..self.table.ports.len() {
            let Some((events, _)) = events_of(&mut self.table.ports[port].clocked) else { continue };
            for channel in events.wants_channels(true).collect::<Vec<usize>>() {
                let ended = self.endpoint.end_channel(channel, ConduitEnd::Done);
                ended.map_err(|error| self.while_telling_wants(error, port))?;
            }
        }
        Ok(())
    }

    #[cold]
    fn while_telling_wants(&self, error: ligament_shm::ShmError, port: usize) -> Error {
        Error::during(error, || {
            format!("telling the sender of port \"{}\" the ids", self.table.ports[port].name)
        })
    }

    /// Waits until all receivers of a port have sent the ids that they want in this pass.
    fn learn_wants(&mut self, port: usize, sorting: &mut EventSorting, ids: u64) -> Result<(), Error> {
        if sorting.table.is_some() {
            return Ok(());
        }
        for receiver in &mut sorting.receivers {
            while !receiver.ended && receiver.known <= sorting.passes {
                let (mut header, mut body) = (HeaderWords::default(), Value::None);
                let came = self.endpoint.receive_to(receiver.wants, None, &mut header, &mut body);
                came.map_err(|error| {
                    let name = &self.table.ports[port].name;
                    Error::during(error, || {
                        format!("waiting for the ids that the receivers of \"{name}\" want")
                    })
                })?;
                if header.is_end() {
                    receiver.ended = true;
                    receiver.map = IndexMap::new(&[ids], Part::Range { begin: 0, end: 0 }).ok();
                    continue;
                }
                receiver.map = IndexMap::from_value(&[ids], &body);
                let wants_all = matches!(body, Value::None);
                if !header.is_route() || (receiver.map.is_none() && !wants_all) {
                    let port = self.table.ports[port].name.to_string();
                    return Err(ClockError::OtherIds { port }.into());
                }
                receiver.known += 1;
            }
        }
        let maps: Vec<Option<&IndexMap>> = sorting.receivers.iter().map(|one| one.map.as_ref()).collect();
        sorting.table = Some(Receivers::new(ids, &maps));
        let sorted: Vec<usize> = sorting.receivers.iter().map(|receiver| receiver.sends).collect();
        sorting.others = self.table.ports[port].slots[0].clone();
        sorting.others.retain(|channel| !sorted.contains(channel));
        Ok(())
    }

    /// Sends the events of an exchange. A receiver with `routing: pairwise` gets the events that it wants; the
    /// others get all events.
    pub(crate) fn send_sorted(
        &mut self,
        port: usize,
        times: MessageTimes,
        events: &CollectedEvents,
    ) -> Result<(), Error> {
        let Some((state, _)) = events_of(&mut self.table.ports[port].clocked) else { return Ok(()) };
        let (ids, Some(mut sorting)) = (state.ids, state.sorting.take()) else { return Ok(()) };
        let sent = self.learn_wants(port, &mut sorting, ids);
        let sent = sent.and_then(|()| self.send_to_each(port, times, events, &mut sorting));
        if let Some((state, _)) = events_of(&mut self.table.ports[port].clocked) {
            state.sorting = Some(sorting);
        }
        sent
    }

    fn send_to_each(
        &mut self,
        port: usize,
        times: MessageTimes,
        events: &CollectedEvents,
        sorting: &mut EventSorting,
    ) -> Result<(), Error> {
        sorting.sort(events);
        let ready = events.with_value(|data| self.prepare_own(port, times, &data))?;
        let Some(ready) = ready else { return Ok(()) };
        if !sorting.others.is_empty() {
            events.with_value(|data| self.send_own_to(&ready, &sorting.others, &data))?;
        }
        for receiver in &sorting.receivers {
            receiver.events.with_value(|data| self.send_own_to(&ready, &[receiver.sends], &data))?;
        }
        Ok(())
    }
}
