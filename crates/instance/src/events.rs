//! Events: pairs of a time and an id. A sender collects those of an exchange, and sends them as one message
//! `{times, ids}` to all ranks of the receiver; each rank keeps those that it wants. If the model says
//! `routing: pairwise`, the sender learns at the begin of a pass which ids each rank wants (`wants.rs`), and
//! sends each rank its own message. A receiver reads the arrays where the sender put them.

mod state;

use crate::clock::{ClockedPort, TickWindow};
use crate::error::{ClockError, Error, ExchangeError};
use crate::instance::Instance;
use crate::message::{Message, MessageTimes, Outgoing};
use crate::ports::PortName;
use crate::receive::Arrival;
use crate::wants::EventSorting;
use ligament_exchange::{IndexMap, Part};
use ligament_wire::times::ShownTime;
use ligament_wire::{Array, ArrayOrder, ArrayRef, Value, ValueRef};
use std::collections::VecDeque;

/// The keys of the arrays of a message with events.
const TIMES_KEY: &str = "times";
const IDS_KEY: &str = "ids";

/// Events that were delivered together: views of the memory into which their sender put them. They have no
/// order.
#[derive(Debug, Clone)]
pub struct EventBatch {
    times: Array,
    ids: Array,
}

impl EventBatch {
    /// Returns the times of the events, in the unit of the model's times; bit by bit those that were inserted.
    pub fn times(&self) -> &[f64] {
        self.times.as_slice().unwrap_or_default()
    }

    /// Returns the ids of the events.
    pub fn ids(&self) -> &[i32] {
        self.ids.as_slice().unwrap_or_default()
    }

    /// Returns the times as an array.
    pub fn times_array(&self) -> &Array {
        &self.times
    }

    /// Returns the ids as an array.
    pub fn ids_array(&self) -> &Array {
        &self.ids
    }

    /// Returns the number of events.
    pub fn len(&self) -> usize {
        self.ids.len() as usize
    }

    /// Returns true if there are no events.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Takes the arrays of a message.
    fn of(data: &Value) -> Option<EventBatch> {
        let Value::Map(entries) = data else { return None };
        let [(times_key, Value::Array(times)), (ids_key, Value::Array(ids))] = &entries[..] else {
            return None;
        };
        let named = times_key == TIMES_KEY && ids_key == IDS_KEY;
        let flat = times.ndim() == 1 && ids.ndim() == 1 && times.len() == ids.len();
        let typed = times.as_slice::<f64>().is_some() && ids.as_slice::<i32>().is_some();
        (named && flat && typed).then(|| EventBatch { times: times.clone(), ids: ids.clone() })
    }

    /// Returns the events whose ids are in a set. `places` is working memory, which is used again for each
    /// call.
    fn within(self, wanted: &IdSet, places: &mut Vec<u32>) -> EventBatch {
        let (times, ids) = (self.times(), self.ids());
        places.resize(ids.len().max(places.len()), 0);
        let count = wanted.choose(ids, places);
        let places = &places[..count];
        let times: Vec<f64> = places.iter().map(|place| times[*place as usize]).collect();
        let ids: Vec<i32> = places.iter().map(|place| ids[*place as usize]).collect();
        let count = [count];
        let times = Array::from_vec(times, &count, ArrayOrder::RowMajor);
        let ids = Array::from_vec(ids, &count, ArrayOrder::RowMajor);
        match (times, ids) {
            (Ok(times), Ok(ids)) => EventBatch { times, ids },
            _ => self,
        }
    }
}

/// A set of ids: those that a rank wants, or has.
#[derive(Debug)]
enum IdSet {
    Range {
        begin: i64,
        end: i64,
    },
    /// A bit for each id from `begin` on.
    Bits {
        begin: i64,
        bits: Vec<u64>,
    },
}

impl IdSet {
    fn new(part: Part<'_>) -> IdSet {
        match part {
            Part::Block { start, shape } => {
                let begin = start.first().map_or(0, |begin| *begin as i64);
                IdSet::Range { begin, end: begin + shape.first().map_or(0, |count| *count as i64) }
            }
            Part::Range { begin, end } => IdSet::Range { begin: begin as i64, end: end as i64 },
            Part::List(list) => {
                let begin = list.iter().copied().min().unwrap_or(0);
                let count = list.iter().map(|id| id - begin + 1).max().unwrap_or(0);
                let mut bits = vec![0u64; (count as usize).div_ceil(64)];
                for id in list {
                    let place = (id - begin) as usize;
                    bits[place / 64] |= 1 << (place % 64);
                }
                IdSet::Bits { begin, bits }
            }
        }
    }

    #[inline]
    fn has(&self, id: i32) -> bool {
        match self {
            IdSet::Range { begin, end } => (*begin..*end).contains(&i64::from(id)),
            IdSet::Bits { begin, bits } => has_bit(bits, i64::from(id) - begin),
        }
    }

    /// Writes the places of those ids that are in the set to `places`, which is at least as long as `ids`, and
    /// returns their number.
    fn choose(&self, ids: &[i32], places: &mut [u32]) -> usize {
        match self {
            IdSet::Range { begin, end } => choose(ids, places, |id| (*begin..*end).contains(&i64::from(id))),
            IdSet::Bits { begin, bits } => choose(ids, places, |id| has_bit(bits, i64::from(id) - begin)),
        }
    }
}

/// Returns a bit. A place before the first bit or after the last one has none.
#[inline(always)]
fn has_bit(bits: &[u64], place: i64) -> bool {
    // A place before the first bit wraps around to a very large number.
    let place = place as u64 as usize;
    bits.get(place / 64).map_or(0, |word| word >> (place % 64)) & 1 != 0
}

/// Writes the places of the wanted ids, and returns their number. The place of every id is written, and the
/// next id overwrites it if it is not wanted. So the loop has no branch that the processor could guess wrong.
#[inline(always)]
fn choose(ids: &[i32], places: &mut [u32], wants: impl Fn(i32) -> bool) -> usize {
    let mut count = 0;
    for (place, &id) in (0..).zip(ids) {
        places[count] = place;
        count += usize::from(wants(id));
    }
    count
}

/// Events that are about to be sent.
#[derive(Debug, Default)]
pub(crate) struct CollectedEvents {
    pub times: Vec<f64>,
    pub ids: Vec<i32>,
}

impl CollectedEvents {
    #[inline(always)]
    pub fn push(&mut self, time: f64, id: i32) {
        self.times.push(time);
        self.ids.push(id);
    }

    pub fn clear(&mut self) {
        self.times.clear();
        self.ids.clear();
    }

    /// Calls `send` with the events as the value of a message.
    pub fn with_value<R>(&self, send: impl FnOnce(ValueRef<'_>) -> R) -> R {
        let count = [self.ids.len() as u64];
        let entries = [
            (TIMES_KEY, ValueRef::Array(ArrayRef::from_slice(&self.times, &count, ArrayOrder::RowMajor))),
            (IDS_KEY, ValueRef::Array(ArrayRef::from_slice(&self.ids, &count, ArrayOrder::RowMajor))),
        ];
        send(ValueRef::Map(&entries))
    }
}

/// The state of a port of events.
#[derive(Debug)]
pub(crate) struct EventPort {
    /// Number of ids.
    pub ids: u64,
    /// The ids that this rank sends or wants. `None` means all.
    part: Option<IdSet>,
    /// The ids that this rank wants, as a map for senders that sort their events by receiver.
    pub map: Option<IndexMap>,
    /// Memory for the choice of the events that this rank wants.
    places: Vec<u32>,
    /// For a sending port with `routing: pairwise`.
    pub sorting: Option<Box<EventSorting>>,
    /// For each slot: the channel on which the sender of the slot learns the ids that this rank wants, if that
    /// sender sorts its events.
    pub sorted: Vec<Option<usize>>,
    /// The events of the exchange that is sent next, and those of the one after it.
    collected: CollectedEvents,
    later: CollectedEvents,
    /// Number of exchanges that were sent in this pass.
    sent: u64,
    /// For each slot: number of exchanges that were received in this pass.
    received: Vec<u64>,
    /// The batches that were delivered and that the code has not read.
    unread: VecDeque<EventBatch>,
}

impl EventPort {
    pub fn new(ids: u64, slots: usize) -> EventPort {
        EventPort {
            ids,
            part: None,
            map: None,
            places: Vec::new(),
            sorting: None,
            sorted: Vec::new(),
            collected: CollectedEvents::default(),
            later: CollectedEvents::default(),
            sent: 0,
            received: vec![0; slots],
            unread: VecDeque::new(),
        }
    }

    /// Prepares a receiving port for the next pass.
    pub fn begin_pass(&mut self) {
        self.received.fill(0);
        self.unread.clear();
        self.sorting.iter_mut().for_each(|sorting| sorting.begin_pass());
    }

    /// Returns the first event that cannot be sent now.
    fn first_unfit(&self, window: TickWindow, times: &[f64], ids: &[i32]) -> Option<usize> {
        // As an unsigned number, a negative id is larger than the last id.
        let fits_id = |id: i32| u64::from(id as u32) < self.ids;
        let fits = |time: f64| (time >= window.begin) & (time < window.end);
        // A loop that looks at all events without a branch is several times faster than one that stops early.
        let all_fit = times.iter().fold(true, |fit, time| fit & fits(*time))
            & ids.iter().fold(true, |fit, id| fit & fits_id(*id));
        if all_fit && self.part.is_none() {
            return None;
        }
        let unfit = times.iter().position(|time| !fits(*time));
        let unfit = unfit.or_else(|| ids.iter().position(|id| !fits_id(*id)));
        unfit.or_else(|| {
            let part = self.part.as_ref()?;
            ids.iter().position(|id| !part.has(*id))
        })
    }
}

impl Instance {
    /// Sends an event on a port of events. Its time lies between now and the next tick, and its id is one of
    /// those that the model gives the conduit. It goes out with the exchange to which its time belongs.
    ///
    /// # Errors
    /// `Usage` if the port carries no events, or if the time or the id is not possible.
    #[inline]
    pub fn insert_event(&mut self, port: impl PortName, time: f64, id: i32) -> Result<(), Error> {
        if self.insert_event_at_once(port, time, id) {
            return Ok(());
        }
        self.insert_events(port, &[time], &[id])
    }

    /// Sends an event in the usual case. Returns false, and has done nothing, in any unusual case; the caller
    /// then calls `insert_event`, which reports it.
    #[doc(hidden)]
    #[inline]
    pub fn insert_event_at_once(&mut self, port: impl PortName, time: f64, id: i32) -> bool {
        let (true, Some(index), Some(clock)) =
            (self.is_alive(), self.table.find_quietly(port), &mut self.clock)
        else {
            return false;
        };
        let here = &mut self.table.ports[index];
        let Some((events, _)) = events_of(&mut here.clocked).filter(|_| here.operator.sends()) else {
            return false;
        };
        let window = clock.window;
        let fits = time >= window.begin && time < window.next && id >= 0 && (id as u64) < events.ids;
        if fits && events.part.is_none() {
            clock.begun = true;
            events.collected.push(time, id);
        }
        fits && events.part.is_none()
    }

    /// Sends events: `times` and `ids` have the same length. Otherwise as `insert_event`. If one of them
    /// cannot be sent, none is.
    ///
    /// # Errors
    /// As `insert_event`.
    pub fn insert_events(&mut self, port: impl PortName, times: &[f64], ids: &[i32]) -> Result<(), Error> {
        self.alive()?;
        let index = self.table.find(port)?;
        let Some(clock) = &mut self.clock else { return Err(self.no_clock()) };
        clock.begun = true;
        let (window, next_ns) = (clock.window, clock.next_ns());
        let here = &mut self.table.ports[index];
        if !here.operator.sends() {
            return Err(here.receives_only());
        }
        if times.len() != ids.len() {
            let (port, times, ids) = (here.name.to_string(), times.len(), ids.len());
            return Err(ClockError::Lengths { port, times, ids }.into());
        }
        let unconnected = !here.is_connected();
        let Some((events, interval)) = events_of(&mut here.clocked) else {
            let port = here.name.to_string();
            return if unconnected { Ok(()) } else { Err(ClockError::NoEvents { port }.into()) };
        };
        if let Some(place) = events.first_unfit(window, times, ids) {
            return Err(self.unfit_event(index, times[place], ids[place]));
        }
        // An event at the time of the next tick belongs to the next exchange, if an exchange ends there.
        let border = next_ns % interval == 0;
        if !border || times.iter().fold(true, |before, time| before & (*time < window.next)) {
            events.collected.times.extend_from_slice(times);
            events.collected.ids.extend_from_slice(ids);
            return Ok(());
        }
        for (&time, &id) in times.iter().zip(ids) {
            let exchange = if time < window.next { &mut events.collected } else { &mut events.later };
            exchange.push(time, id);
        }
        Ok(())
    }

    #[cold]
    fn unfit_event(&mut self, port: usize, time: f64, id: i32) -> Error {
        let (now, next) = match &self.clock {
            Some(clock) => (clock.time_of(clock.now_ns()), clock.time_of(clock.next_ns())),
            None => (0.0, 0.0),
        };
        let window = self.clock.as_ref().map_or(TickWindow::default(), |clock| clock.window);
        let here = &mut self.table.ports[port];
        let port = here.name.to_string();
        let Some((events, _)) = events_of(&mut here.clocked) else {
            return ClockError::NoEvents { port }.into();
        };
        if !(time >= window.begin && time < window.end) {
            let window = format!("from {} to {}", ShownTime(now), ShownTime(next));
            return ClockError::OutsideTick { port, id, time, window }.into();
        }
        let last = events.ids.saturating_sub(1);
        if id < 0 || id as u64 > last {
            return ClockError::BadId { port, id, last }.into();
        }
        ClockError::OtherId { port, id }.into()
    }

    /// Returns the next of the batches of events that have been delivered on a port up to now; `None` if the
    /// code has read them all. The code reads them all before the next tick.
    ///
    /// # Errors
    /// `Usage` if the port carries no events. Otherwise as `receive`.
    pub fn events(&mut self, port: impl PortName) -> Result<Option<EventBatch>, Error> {
        self.alive()?;
        let index = self.table.find(port)?;
        let Some(clock) = &self.clock else { return Err(self.no_clock()) };
        let now = clock.now_ns();
        let here = &mut self.table.ports[index];
        if !here.operator.receives() {
            return Err(here.sends_only());
        }
        let unconnected = !here.is_connected();
        match events_of(&mut here.clocked) {
            Some((events, _)) if !events.unread.is_empty() => return Ok(events.unread.pop_front()),
            Some(_) => {}
            None if unconnected => return Ok(None),
            None => return Err(ClockError::NoEvents { port: here.name.to_string() }.into()),
        }
        self.begin_clock();
        self.send_wants()?;
        self.receive_due(index, now)?;
        Ok(events_of(&mut self.table.ports[index].clocked).and_then(|(events, _)| events.unread.pop_front()))
    }

    /// Says which ids this rank sends, or wants to receive, on a port of events.
    pub(crate) fn map_events(&mut self, port: usize, part: Part<'_>) -> Result<(), Error> {
        let here = &mut self.table.ports[port];
        let name = here.name.to_string();
        let wants_due = self.clock.as_ref().is_some_and(|clock| clock.wants_due);
        let Some((events, _)) = events_of(&mut here.clocked) else { return Ok(()) };
        let map = IndexMap::new(&[events.ids], part)
            .map_err(|error| ExchangeError::BadMap { port: name.clone(), error: error.to_string() })?;
        if events.map.as_ref() == Some(&map) {
            return Ok(());
        }
        if !wants_due && !events.sorted.is_empty() {
            return Err(ClockError::LateIds { port: name }.into());
        }
        events.part = Some(IdSet::new(part));
        if !events.sorted.is_empty() {
            events.map = Some(map);
        }
        Ok(())
    }

    /// Fails if a port has events that were delivered and that the code has not read.
    pub(crate) fn check_read(&mut self) -> Result<(), Error> {
        for here in &mut self.table.ports {
            if events_of(&mut here.clocked).is_some_and(|(events, _)| !events.unread.is_empty()) {
                return Err(ClockError::Unread { port: here.name.to_string() }.into());
            }
        }
        Ok(())
    }

    /// Sends the exchange of a port that ends at the time of the next tick, if one does.
    pub(crate) fn send_due(&mut self, port: usize, next_ns: u64) -> Result<(), Error> {
        let here = &mut self.table.ports[port];
        if !here.operator.sends() {
            return Ok(());
        }
        match events_of(&mut here.clocked) {
            Some((events, interval)) if (events.sent + 1).saturating_mul(interval) <= next_ns => {
                self.send_events(port)
            }
            _ => Ok(()),
        }
    }

    /// Sends what is left of a port's events at the end of a pass.
    pub(crate) fn send_rest_of_events(&mut self, port: usize) -> Result<(), Error> {
        loop {
            let Some((events, _)) = events_of(&mut self.table.ports[port].clocked) else { return Ok(()) };
            if events.collected.ids.is_empty() && events.later.ids.is_empty() {
                events.sent = 0;
                return Ok(());
            }
            self.send_events(port)?;
        }
    }

    fn send_events(&mut self, port: usize) -> Result<(), Error> {
        let Some(clock) = &self.clock else { return Ok(()) };
        let Some((events, interval)) = events_of(&mut self.table.ports[port].clocked) else { return Ok(()) };
        let begin = events.sent.saturating_mul(interval);
        let (timestamp, next) = (clock.time_of(begin), clock.time_of(begin.saturating_add(interval)));
        let mut collected = std::mem::take(&mut events.collected);
        let times = MessageTimes { timestamp, next_timestamp: Some(next) };
        let sent = match events.sorting {
            None => collected.with_value(|data| self.send_own(port, &Outgoing::at(timestamp, data).next(next))),
            Some(_) => self.send_sorted(port, times, &collected),
        };
        // The memory is used again, also after an error, which ends the run or the call.
        collected.clear();
        if let Some((events, _)) = events_of(&mut self.table.ports[port].clocked) {
            events.collected = std::mem::replace(&mut events.later, collected);
            events.sent += 1;
        }
        sent
    }

    /// Receives the exchanges of a port that are to be delivered at the time `at_ns` or before.
    pub(crate) fn receive_due(&mut self, port: usize, at_ns: u64) -> Result<(), Error> {
        if !self.table.ports[port].operator.receives() || !self.table.ports[port].is_connected() {
            return Ok(());
        }
        for slot in 0..self.table.ports[port].slots.len() {
            loop {
                let (Some(clock), Some(clocked)) = (&self.clock, &mut self.table.ports[port].clocked) else {
                    return Ok(());
                };
                let (info, over) = (clocked.info, clocked.over[slot]);
                let Some(events) = clocked.events() else { return Ok(()) };
                if over || !clock.is_due(&info, events.received[slot], at_ns) {
                    break;
                }
                self.take_exchange(port, slot)?;
            }
        }
        Ok(())
    }

    /// Receives the next exchange of a sender, or the end of its pass.
    fn take_exchange(&mut self, port: usize, slot: usize) -> Result<(), Error> {
        self.note_use(port)?;
        let mut message = Message::default();
        match self.receive_next(port, slot, None, &mut message)? {
            Arrival::Message(overlay) => {
                self.check_overlay(port, slot, overlay.as_ref())?;
                let Some(batch) = EventBatch::of(&message.data) else {
                    let (port, peer) = (self.table.ports[port].name.to_string(), self.peer_of(port, slot));
                    return Err(ClockError::Malformed { port, peer }.into());
                };
                let Some((events, _)) = events_of(&mut self.table.ports[port].clocked) else { return Ok(()) };
                events.received[slot] += 1;
                let is_sorted = events.sorted.get(slot).is_some_and(Option::is_some);
                let batch = match &events.part {
                    Some(wanted) if !is_sorted => batch.within(wanted, &mut events.places),
                    _ => batch,
                };
                if !batch.is_empty() {
                    events.unread.push_back(batch);
                }
            }
            Arrival::End => {
                if let Some(clocked) = &mut self.table.ports[port].clocked {
                    clocked.over[slot] = true;
                }
            }
            Arrival::PassEnd | Arrival::Milestone(_) => {}
        }
        Ok(())
    }
}

/// Returns the events of a port, and the time between two exchanges in nanoseconds.
#[inline(always)]
pub(crate) fn events_of(clocked: &mut Option<Box<ClockedPort>>) -> Option<(&mut EventPort, u64)> {
    let clocked = clocked.as_mut()?;
    let interval = clocked.info.interval.max(1);
    clocked.events().map(|events| (events, interval))
}
