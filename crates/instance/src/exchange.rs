//! Exchanges of distributed arrays: each rank sends its own part, and receives its own part. The sender sends
//! the same message to all ranks of the receiver, and its map before the first message and after each change.
//! Each receiver copies the elements that it wants out of the messages of all ranks of the sender. So the
//! sender needs not know what each receiver wants, and each element is copied once.

mod state;

use crate::error::{Error, ErrorKind, ExchangeError, ReceiveError};
use crate::instance::Instance;
use crate::message::{ArrayMut, Message, MessageTimes};
use crate::ports::PortName;
use crate::receive::{Overlay, Wait};
use ligament_exchange::{index_text, Coverage, IndexMap, Part, PartLayout, Route};
use ligament_shm::status::now;
use ligament_wire::times::{is_before, ShownTime};
use ligament_wire::{
    Array, ArrayMeta, ArrayOrder, Bytes, DType, Header, HeaderWords, MessageKind, Value, ValueRef,
};
use std::sync::Arc;

/// The state of a port of a distributed array.
#[derive(Debug)]
pub(crate) struct DistributedPort {
    /// Shape of the whole array.
    array: Vec<u64>,
    /// This rank's part.
    map: Option<Arc<IndexMap>>,
    /// For a sending port: the part that the receivers know.
    announced: Option<Arc<IndexMap>>,
    /// For a receiving port: one for each rank of the sender.
    senders: Vec<SenderPart>,
    /// The order of the own part for which the routes were made, if all elements have a sender.
    routed: Option<ArrayOrder>,
}

/// The part of one rank of the sender.
#[derive(Debug, Default)]
struct SenderPart {
    map: Option<IndexMap>,
    /// The route to this rank's part, and the order of the sender's array.
    route: Option<(Route, ArrayOrder)>,
    /// The message that has arrived while the messages of other ranks have not.
    arrived: Option<(Message, Overlay)>,
}

impl DistributedPort {
    pub fn new(array: Vec<u64>, senders: usize) -> DistributedPort {
        let senders = (0..senders).map(|_| SenderPart::default()).collect();
        DistributedPort { array, map: None, announced: None, senders, routed: None }
    }

    /// Forgets the messages that have arrived while those of other ranks have not.
    pub fn forget_arrived(&mut self) {
        self.senders.iter_mut().for_each(|sender| sender.arrived = None);
    }

    /// Notes the map of a rank of the sender.
    pub fn note_map(&mut self, slot: usize, body: &Value) -> bool {
        let map = IndexMap::from_value(&self.array, body);
        let valid = map.is_some();
        self.senders[slot] = SenderPart { map, ..SenderPart::default() };
        self.routed = None;
        valid
    }

    /// Returns the shape of the own part.
    pub fn part_shape(&self) -> Option<&[u64]> {
        self.map.as_ref().map(|map| map.shape())
    }
}

/// Memory for elements of any type.
struct Elements {
    words: Vec<[u64; 2]>,
    bytes: usize,
}

impl Elements {
    fn new(bytes: usize) -> Elements {
        Elements { words: vec![[0; 2]; bytes.div_ceil(16)], bytes }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.bytes]
    }
}

impl AsRef<[u8]> for Elements {
    fn as_ref(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.bytes]
    }
}

impl Instance {
    /// Says which part of a distributed array this rank sends or receives on a port, until the next call. The
    /// ranks of one side may call it whenever they like between two messages. All ranks of the sender must
    /// have called it before a receiver gets its part.
    ///
    /// # Errors
    /// `Usage` if there is no such port, if the model gives it no array, or if the part is not within the
    /// array or has an element twice. As `send` on a port that sends.
    pub fn map(&mut self, port: impl PortName, part: Part<'_>) -> Result<(), Error> {
        self.alive()?;
        let index = self.table.find(port)?;
        if self.table.ports[index].carries_events() {
            return self.map_events(index, part);
        }
        let here = &self.table.ports[index];
        let name = || here.name.to_string();
        let Some(distributed) = &here.distributed else {
            // A code that divides an array can also run where nothing is connected to the port.
            let unconnected = !here.is_connected();
            return if unconnected { Ok(()) } else { Err(ExchangeError::NoArray { port: name() }.into()) };
        };
        let map = IndexMap::new(&distributed.array, part);
        let map = map.map_err(|error| ExchangeError::BadMap { port: name(), error: error.to_string() })?;
        if distributed.map.as_deref() == Some(&map) {
            return Ok(());
        }
        self.check_signal_map(index)?;
        let distributed = self.table.ports[index].distributed.as_mut().expect("it was there");
        distributed.map = Some(Arc::new(map));
        distributed.routed = None;
        distributed.senders.iter_mut().for_each(|sender| sender.route = None);
        Ok(())
    }

    /// Returns the shape of the whole array of which this rank sends or receives a part on a port. `None` if
    /// nothing is connected to the port.
    ///
    /// # Errors
    /// `Usage` if there is no such port, or if the model gives it no array.
    pub fn array_shape(&self, port: impl PortName) -> Result<Option<&[u64]>, Error> {
        let here = &self.table.ports[self.table.find(port)?];
        match &here.distributed {
            Some(distributed) => Ok(Some(&distributed.array)),
            None if !here.is_connected() => Ok(None),
            None => Err(ExchangeError::NoArray { port: here.name.to_string() }.into()),
        }
    }

    /// Sends the map to all ranks of the receiver, if they do not know it. It goes out with the first message,
    /// and not when the code gives it: a code that resumes gives it once more, and then sends no message more
    /// than before.
    fn announce_map(&mut self, port: usize) -> Result<(), Error> {
        let Some(distributed) = &mut self.table.ports[port].distributed else { return Ok(()) };
        let (Some(map), known) = (&distributed.map, &distributed.announced) else { return Ok(()) };
        if known.as_ref().is_some_and(|known| Arc::ptr_eq(known, map) || known == map) {
            return Ok(());
        }
        let body = map.to_value();
        let plan = self.encoder.plan(&ValueRef::Owned(&body));
        let plan = plan.map_err(|error| Error::other(ErrorKind::System, error))?;
        let header = HeaderWords::from(Header { kind: MessageKind::Route, ..Header::default() });
        let sent = self.endpoint.send(&self.table.ports[port].slots[0], header, &plan);
        sent.map_err(|error| self.while_sending(error, port, 0))?;
        if let Some(distributed) = &mut self.table.ports[port].distributed {
            distributed.announced.clone_from(&distributed.map);
        }
        Ok(())
    }

    /// Receives on a port of an exchange: this rank's part of an array, or of a signal by the clock.
    #[inline(never)]
    pub(crate) fn receive_exchanged(&mut self, port: usize, wait: Wait) -> Result<(Message, Overlay), Error> {
        match self.table.ports[port].clocked {
            None => self.receive_part(port, wait.deadline()),
            Some(_) => self.receive_signal(port, wait),
        }
    }

    /// Prepares a port for a value that is about to be sent, and fails if it is not this rank's part of the
    /// port's array.
    pub(crate) fn check_part(&mut self, port: usize, shape: Option<&[u64]>) -> Result<(), Error> {
        if self.table.ports[port].distributed.is_none() {
            return Ok(());
        }
        self.check_part_shape(port, shape)?;
        self.announce_map(port)
    }

    fn check_part_shape(&self, port: usize, shape: Option<&[u64]>) -> Result<(), Error> {
        let here = &self.table.ports[port];
        let Some(distributed) = &here.distributed else { return Ok(()) };
        let port = here.name.to_string();
        match (distributed.part_shape(), shape) {
            (None, _) => Err(ExchangeError::NoMap { port }.into()),
            (Some(_), None) => Err(ExchangeError::OnlyArrays { port }.into()),
            (Some(part), Some(shape)) if part != shape => {
                Err(ExchangeError::PartShape { port, part: part.to_vec(), shape: shape.to_vec() }.into())
            }
            _ => Ok(()),
        }
    }

    /// Notes a map that has arrived from a rank of the sender.
    #[cold]
    pub(crate) fn note_map(&mut self, port: usize, slot: usize, body: &Value) -> Result<(), Error> {
        let here = &mut self.table.ports[port];
        let valid = here.distributed.as_mut().is_some_and(|distributed| distributed.note_map(slot, body));
        if valid {
            return Ok(());
        }
        let (peer, port) = (self.peer_of(port, slot), self.table.ports[port].name.to_string());
        Err(ExchangeError::Malformed { port, peer }.into())
    }

    /// Receives this rank's part as a new array.
    #[inline(never)]
    pub(crate) fn receive_part(
        &mut self,
        port: usize,
        deadline: Option<u64>,
    ) -> Result<(Message, Overlay), Error> {
        let (parts, overlay) = self.receive_parts(port, deadline)?;
        let arrays = self.arrays_of(port, &parts)?;
        let order = match arrays.first() {
            Some(first) if arrays.iter().all(|array| array.order() == first.order()) => first.order(),
            _ => ArrayOrder::RowMajor,
        };
        let (dtype, meta) = self.common_kind(port, &arrays)?;
        self.route(port, &arrays, order)?;
        let shape = self.own_part(port)?.shape().to_vec();
        let mut elements = Elements::new(shape.iter().product::<u64>() as usize * dtype.size());
        self.copy_parts(port, &arrays, elements.bytes_mut());
        let data = Array::new(dtype, &shape, order, Bytes::from_owner(elements), meta);
        let data = data.map_err(|error| Error::other(ErrorKind::System, error))?;
        let MessageTimes { timestamp, next_timestamp } = parts[0].times();
        let origin = parts[0].origin.clone();
        Ok((Message { timestamp, next_timestamp, data: Value::Array(data), settings: None, origin }, overlay))
    }

    /// Receives this rank's part into the caller's array.
    pub(crate) fn receive_part_into(
        &mut self,
        port: usize,
        wait: Wait,
        into: &mut ArrayMut<'_>,
    ) -> Result<MessageTimes, Error> {
        let part = self.own_part(port)?;
        if part.shape() != into.shape || into.data.len() as u64 != part.len() * into.dtype.size() as u64 {
            let (port, shape) = (self.table.ports[port].name.to_string(), into.shape.to_vec());
            return Err(ExchangeError::IntoShape { port, part: part.shape().to_vec(), shape }.into());
        }
        let (parts, overlay) = self.receive_parts(port, wait.deadline())?;
        self.check_overlay(port, 0, overlay.as_ref())?;
        let arrays = self.arrays_of(port, &parts)?;
        let (dtype, _) = self.common_kind(port, &arrays)?;
        if dtype != into.dtype {
            let found =
                format!("an array of {} came on port \"{}\"", dtype.name(), self.table.ports[port].name);
            let expected = format!("an array of {}", into.dtype.name());
            return Err(ReceiveError::OtherType { found, expected }.into());
        }
        self.route(port, &arrays, into.order)?;
        self.copy_parts(port, &arrays, into.data);
        Ok(parts[0].times())
    }

    fn own_part(&self, port: usize) -> Result<&IndexMap, Error> {
        let here = &self.table.ports[port];
        let map = here.distributed.as_ref().and_then(|distributed| distributed.map.as_deref());
        map.ok_or_else(|| ExchangeError::NoMap { port: here.name.to_string() }.into())
    }

    /// Waits for the messages of all ranks of the sender. A message that has arrived is kept if the wait for
    /// another one fails.
    fn receive_parts(&mut self, port: usize, deadline: Option<u64>) -> Result<(Vec<Message>, Overlay), Error> {
        self.own_part(port)?;
        let senders = self.table.ports[port].slots.len();
        for slot in 0..senders {
            if self.arrived(port, slot).is_some() {
                continue;
            }
            let came = if self.is_initial(port) {
                self.initial_message(port, slot)?
            } else {
                let mut message = Message::default();
                let overlay = self.receive_raw(port, slot, deadline, &mut message)?;
                (message, overlay.ok_or_else(|| self.pass_over(port, slot))?)
            };
            *self.arrived(port, slot) = Some(came);
        }
        let mut overlay = None;
        let mut parts = Vec::with_capacity(senders);
        for slot in 0..senders {
            let Some((message, of_slot)) = self.arrived(port, slot).take() else { continue };
            if slot == 0 {
                overlay = of_slot;
            } else if of_slot != overlay {
                return Err(ReceiveError::OtherSettings { port: self.table.ports[port].describe(slot) }.into());
            }
            parts.push(message);
        }
        Ok((parts, overlay))
    }

    fn arrived(&mut self, port: usize, slot: usize) -> &mut Option<(Message, Overlay)> {
        let distributed = self.table.ports[port].distributed.as_mut().expect("a port of an array");
        &mut distributed.senders[slot].arrived
    }

    /// Returns the first slot whose message has not arrived.
    pub(crate) fn first_missing(&mut self, port: usize) -> usize {
        let senders = self.table.ports[port].distributed.as_ref().map(|distributed| &distributed.senders);
        senders.and_then(|senders| senders.iter().position(|sender| sender.arrived.is_none())).unwrap_or(0)
    }

    /// Takes the messages that are there without waiting. Returns the slot of a message that has not arrived.
    /// `None` if all have arrived, or if a conduit has ended so that no more will come.
    pub(crate) fn missing_part(&mut self, port: usize) -> Result<Option<usize>, Error> {
        for slot in 0..self.table.ports[port].slots.len() {
            if self.arrived(port, slot).is_some() {
                continue;
            }
            let mut message = Message::default();
            match self.receive_raw(port, slot, Some(now()), &mut message) {
                Ok(Some(overlay)) => *self.arrived(port, slot) = Some((message, overlay)),
                Ok(None) => return Ok(None),
                Err(error) if error.kind() == ErrorKind::TimedOut => return Ok(Some(slot)),
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Returns the arrays of the messages, without gaps between their elements. The messages must have the same
    /// time.
    fn arrays_of(&self, port: usize, parts: &[Message]) -> Result<Vec<Array>, Error> {
        let here = &self.table.ports[port];
        let at = parts[0].timestamp;
        for (slot, part) in parts.iter().enumerate() {
            if is_before(at, part.timestamp) || is_before(part.timestamp, at) {
                let (one, other) = (self.peer_of(port, 0), self.peer_of(port, slot));
                let (at, then) = (ShownTime(at), ShownTime(part.timestamp));
                let times = format!("that of {one} is of {at}, and that of {other} of {then}");
                return Err(ExchangeError::Times { port: here.name.to_string(), times }.into());
            }
        }
        let array = |(slot, part): (usize, &Message)| {
            let array = part.array()?;
            let shape = here.distributed.as_ref().and_then(|one| one.senders[slot].map.as_ref());
            if shape.map(IndexMap::shape) != Some(array.shape()) {
                let (port, peer) = (here.name.to_string(), self.peer_of(port, slot));
                return Err(ExchangeError::Malformed { port, peer }.into());
            }
            Ok(contiguous(array))
        };
        parts.iter().enumerate().map(array).collect()
    }

    /// Returns the type, the axis names and the unit that the parts have in common.
    fn common_kind(&self, port: usize, arrays: &[Array]) -> Result<(DType, Option<ArrayMeta>), Error> {
        let first = &arrays[0];
        let kind = |array: &Array| match array.unit() {
            Some(unit) => format!("{} in {unit}", array.dtype().name()),
            None => array.dtype().name().to_owned(),
        };
        let other =
            arrays.iter().position(|array| array.dtype() != first.dtype() || array.unit() != first.unit());
        if let Some(slot) = other {
            let (one, other) = (self.peer_of(port, 0), self.peer_of(port, slot));
            let (its, others) = (kind(first), kind(&arrays[slot]));
            let kinds = format!("{one} sends {its}, and {other} sends {others}");
            return Err(ExchangeError::Kinds { port: self.table.ports[port].name.to_string(), kinds }.into());
        }
        let named = !first.names().is_empty() && first.names().len() == self.own_part(port)?.shape().len();
        let names = if named { first.names().to_vec() } else { Vec::new() };
        let unit = first.unit().map(str::to_owned);
        let meta = (named || unit.is_some()).then_some(ArrayMeta { names, unit, strides: None });
        Ok((first.dtype(), meta))
    }

    /// Makes the routes that are missing, and checks that each element has exactly one sender.
    fn route(&mut self, port: usize, arrays: &[Array], order: ArrayOrder) -> Result<(), Error> {
        let distributed = self.table.ports[port].distributed.as_mut().expect("a port of an array");
        let DistributedPort { array, map: Some(map), senders, routed, .. } = &mut **distributed else {
            return Ok(());
        };
        let known = |(sender, array): (&SenderPart, &Array)| {
            sender.route.as_ref().is_some_and(|(_, order)| *order == array.order())
        };
        if *routed == Some(order) && senders.iter().zip(arrays).all(known) {
            return Ok(());
        }
        *routed = None;
        let mut coverage = Coverage::new(map.len());
        for slot in 0..senders.len() {
            let sender = &mut senders[slot];
            let Some(theirs) = &sender.map else { continue };
            let from = PartLayout { map: theirs, order: arrays[slot].order() };
            let route = Route::new(array, from, PartLayout { map, order });
            if let Err(place) = coverage.add(&route) {
                let number = map.number_at(array, order, place).unwrap_or_default();
                let index = index_text(array, number);
                let has = |sender: &SenderPart| {
                    let one = IndexMap::new(array, Part::List(&[number as i64]));
                    let (Some(map), Ok(one)) = (&sender.map, one) else { return false };
                    let from = PartLayout { map, order: ArrayOrder::RowMajor };
                    let to = PartLayout { map: &one, order: ArrayOrder::RowMajor };
                    !Route::new(array, from, to).is_empty()
                };
                let first = senders[..slot].iter().position(has).unwrap_or_default();
                let owners = format!("{} and from {}", self.peer_of(port, first), self.peer_of(port, slot));
                let port = self.table.ports[port].name.to_string();
                return Err(ExchangeError::TwoOwners { port, index, owners }.into());
            }
            sender.route = Some((route, from.order));
        }
        if let Some(place) = coverage.gap() {
            let number = map.number_at(array, order, place).unwrap_or_default();
            let index = index_text(array, number);
            let sender = self.peer_of(port, 0);
            let port = self.table.ports[port].name.to_string();
            return Err(ExchangeError::NoOwner { port, index, sender }.into());
        }
        *routed = Some(order);
        Ok(())
    }

    fn copy_parts(&mut self, port: usize, arrays: &[Array], to: &mut [u8]) {
        let began = self.endpoint.copy_begins(to.len() as u64);
        let Some(distributed) = &self.table.ports[port].distributed else { return };
        for (sender, array) in distributed.senders.iter().zip(arrays) {
            if let Some((route, _)) = &sender.route {
                route.copy(array.dtype().size(), array.data(), to);
            }
        }
        if began != 0 {
            self.endpoint.copy_ends(self.table.ports[port].channel_at(0), began);
        }
    }
}

/// Returns an array whose elements are stored without gaps, in its order.
fn contiguous(array: &Array) -> Array {
    if array.own_strides().is_none() {
        return array.clone();
    }
    let mut elements = Elements::new(array.nbytes() as usize);
    let (dtype, shape, order) = (array.dtype(), array.shape(), array.order());
    ArrayMut { dtype, shape, order, data: elements.bytes_mut() }.scatter(array);
    Array::new(dtype, shape, order, Bytes::from_owner(elements), None).unwrap_or_else(|_| array.clone())
}
