//! A mapper is one function that makes messages of the messages of one pass. It stands between submodels, and
//! has no model time of its own. This file does the rest: the reuse loop, receiving, times, overlays and slots.

use crate::error::{Error, MapperError, PortError};
use crate::instance::Instance;
use crate::message::{Message, MessageTimes, Outgoing};
use crate::ports::Ports;
use crate::submodel::{run_submodel, Submodel};
use ligament_model::Operator;
use ligament_wire::times::is_before;
use ligament_wire::{Value, ValueRef};
use std::collections::HashSet;

/// A mapper by its function. [`run_mapper`] runs it; as a light component it is a [`MapperSubmodel`].
pub trait Mapper {
    /// The ports of this code, which must fit the model's: those of F_INIT receive, and those of O_F send.
    /// The ports of the model by default.
    fn ports(&self) -> Option<Ports> {
        None
    }

    /// Makes the messages of a pass: one is to be sent on each slot of each port in `outputs` that is
    /// connected. It has the settings overlay of those that came.
    ///
    /// # Errors
    /// An error that ends the run.
    fn map(&mut self, inputs: &MapperInputs, outputs: &mut Outputs<'_>) -> Result<(), Error>;
}

/// The messages that came together in a pass, on all F_INIT ports that are connected.
#[derive(Debug, Clone, Default)]
pub struct MapperInputs {
    ports: Vec<MapperInput>,
}

#[derive(Debug, Clone)]
struct MapperInput {
    port: String,
    is_vector: bool,
    messages: Vec<Message>,
}

impl MapperInputs {
    /// Receives on all F_INIT ports that are connected, slot after slot.
    ///
    /// # Errors
    /// As `Instance::receive`.
    pub fn receive(instance: &mut Instance) -> Result<MapperInputs, Error> {
        let mut ports = Vec::new();
        for (port, slots) in connected(instance, Operator::FInit)? {
            let mut messages = Vec::with_capacity(slots.unwrap_or(1));
            for slot in all_slots(slots) {
                messages.push(instance.receive(&*port, slot)?);
            }
            ports.push(MapperInput { port, is_vector: slots.is_some(), messages });
        }
        Ok(MapperInputs { ports })
    }

    fn input(&self, port: &str) -> Result<&MapperInput, Error> {
        let found = self.ports.iter().find(|input| input.port == port);
        found.ok_or_else(|| PortError::NotConnected { port: port.to_owned() }.into())
    }

    /// The message that came on a port without slots.
    ///
    /// # Errors
    /// `Usage`: nothing is connected to it, or it is a vector port.
    pub fn message(&self, port: &str) -> Result<&Message, Error> {
        match self.input(port)? {
            MapperInput { is_vector: false, messages, .. } if messages.len() == 1 => Ok(&messages[0]),
            MapperInput { messages, .. } => {
                Err(PortError::WhichSlot { port: port.to_owned(), slots: messages.len() }.into())
            }
        }
    }

    /// The messages that came on the slots of a port, in their order; one for a port without slots.
    ///
    /// # Errors
    /// `Usage`: nothing is connected to it.
    pub fn slots(&self, port: &str) -> Result<&[Message], Error> {
        Ok(&self.input(port)?.messages)
    }

    /// Each port by its name, whether it has slots, and what came, in the model's order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, bool, &[Message])> {
        self.ports.iter().map(|input| (&*input.port, input.is_vector, &*input.messages))
    }

    /// All messages, port after port and slot after slot.
    pub fn messages(&self) -> impl Iterator<Item = &Message> {
        self.ports.iter().flat_map(|input| &input.messages)
    }

    /// The times of a result: the latest of their timestamps, and the earliest of their next timestamps; 0 and
    /// none if there are none.
    pub fn times(&self) -> MessageTimes {
        let latest = self.messages().map(|message| message.timestamp).reduce(f64::max);
        let timestamp = latest.unwrap_or(0.0);
        let next = self.messages().filter_map(|message| message.next_timestamp).reduce(f64::min);
        let next = next.filter(|&next| !is_before(next, timestamp));
        // The same time may have been added up in another way, and be a little less.
        MessageTimes { timestamp, next_timestamp: next.map(|next| next.max(timestamp)) }
    }
}

/// The outputs for messages of one time: the ports of an operator that are connected.
pub struct Outputs<'a> {
    instance: &'a mut Instance,
    operator: Operator,
    times: MessageTimes,
    sent: HashSet<(String, Option<u32>)>,
}

impl<'a> Outputs<'a> {
    /// The outputs of an operator that sends.
    pub fn of(instance: &'a mut Instance, operator: Operator, times: MessageTimes) -> Outputs<'a> {
        Outputs { instance, operator, times, sent: HashSet::new() }
    }

    /// The instance, for settings, the log, and the length of a port.
    pub fn instance(&mut self) -> &mut Instance {
        self.instance
    }

    /// The times of what is sent.
    pub fn times(&self) -> MessageTimes {
        self.times
    }

    /// The ports that are connected, each with its number of slots; none for a port without.
    ///
    /// # Errors
    /// As those of `Instance::is_connected`.
    pub fn ports(&self) -> Result<Vec<(String, Option<usize>)>, Error> {
        connected(self.instance, self.operator)
    }

    /// Sends on a port, or on a slot of a vector port. Nothing happens if it is not connected.
    ///
    /// # Errors
    /// As `Instance::send`.
    pub fn send<'v>(
        &mut self,
        port: &str,
        data: impl Into<ValueRef<'v>>,
        slot: Option<u32>,
    ) -> Result<(), Error> {
        let MessageTimes { timestamp, next_timestamp } = self.times;
        let message = Outgoing { timestamp, next_timestamp, data: data.into(), settings: None };
        self.instance.send(port, &message, slot)?;
        self.sent.insert((port.to_owned(), slot));
        Ok(())
    }

    /// Sends the same on each port, and each slot.
    ///
    /// # Errors
    /// As `send`.
    pub fn send_to_all(&mut self, data: &Value) -> Result<(), Error> {
        for (port, slots) in self.ports()? {
            all_slots(slots).try_for_each(|slot| self.send(&port, data, slot))?;
        }
        Ok(())
    }

    /// Each port, and each slot, needs a message.
    fn check(&self) -> Result<(), Error> {
        for (port, slots) in self.ports()? {
            for slot in all_slots(slots) {
                if !self.sent.contains(&(port.clone(), slot)) {
                    let slot = slot.map_or(String::new(), |slot| format!(" slot {slot}"));
                    return Err(MapperError::Incomplete { port, slot }.into());
                }
            }
        }
        Ok(())
    }
}

/// The ports of an operator to which conduits lead, each with its number of slots.
fn connected(instance: &Instance, operator: Operator) -> Result<Vec<(String, Option<usize>)>, Error> {
    let names = instance.list_ports().remove(operator.name()).unwrap_or_default();
    let mut ports = Vec::with_capacity(names.len());
    for name in names {
        if instance.is_connected(&name)? {
            let slots =
                if instance.is_vector_port(&name)? { Some(instance.get_port_length(&name)?) } else { None };
            ports.push((name, slots));
        }
    }
    Ok(ports)
}

/// Each slot, or none for a port without.
fn all_slots(slots: Option<usize>) -> impl Iterator<Item = Option<u32>> {
    let none = slots.is_none().then_some(None);
    none.into_iter().chain((0..slots.unwrap_or(0) as u32).map(Some))
}

/// A mapper as a submodel, as [`run_light`](crate::run_light) takes them.
pub struct MapperSubmodel<M> {
    mapper: M,
    inputs: MapperInputs,
}

impl<M: Mapper> MapperSubmodel<M> {
    /// Of this mapper.
    pub fn of(mapper: M) -> MapperSubmodel<M> {
        MapperSubmodel { mapper, inputs: MapperInputs::default() }
    }
}

impl<M: Mapper> Submodel for MapperSubmodel<M> {
    fn initialise(&mut self, instance: &mut Instance) -> Result<(), Error> {
        self.inputs = MapperInputs::receive(instance)?;
        Ok(())
    }

    fn is_done(&self) -> bool {
        true
    }

    fn observe(&mut self, _: &mut Instance) -> Result<(), Error> {
        Ok(())
    }

    fn solve(&mut self, _: &mut Instance) -> Result<(), Error> {
        Ok(())
    }

    fn observe_final(&mut self, instance: &mut Instance) -> Result<(), Error> {
        let inputs = std::mem::take(&mut self.inputs);
        let mut outputs = Outputs::of(instance, Operator::OF, inputs.times());
        self.mapper.map(&inputs, &mut outputs)?;
        outputs.check()
    }
}

/// Joins the run as a mapper, and maps for as long as messages come. An error ends the run with its text.
///
/// # Errors
/// As `Instance::new` and `run_submodel`.
pub fn run_mapper(mapper: impl Mapper) -> Result<(), Error> {
    let mut instance = Instance::new(mapper.ports().as_ref())?;
    run_submodel(&mut instance, &mut MapperSubmodel::of(mapper))
}
