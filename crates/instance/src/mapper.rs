//! A mapper is one function that makes messages from the messages of one pass. It lies between submodels,
//! and has no model time of its own. This file does everything around the function: the reuse loop,
//! receiving, times, overlays and slots.

use crate::error::{Error, MapperError, PortError};
use crate::flags::Flags;
use crate::instance::Instance;
use crate::message::{Message, MessageTimes, Outgoing};
use crate::ports::Ports;
use crate::submodel::{run_submodel, Submodel, SubmodelState};
use ligament_model::Operator;
use ligament_wire::times::is_before;
use ligament_wire::{Value, ValueRef};
use std::collections::HashSet;

/// A mapper, given by its function. [`run_mapper`] runs a mapper. As a light component, it is a
/// [`MapperSubmodel`].
pub trait Mapper {
    /// Returns the ports of this code, which must fit the model's: those of F_INIT receive, and those of
    /// O_F send. By default, the model's ports are used.
    fn ports(&self) -> Option<Ports> {
        None
    }

    /// Returns the flags of the instance. A run with checkpoints needs to know what the mapper keeps from one
    /// pass to the next.
    fn flags(&self) -> Flags {
        Flags::default()
    }

    /// Returns the functions that save and restore what the mapper keeps from one pass to the next.
    fn state(&mut self) -> Option<&mut dyn SubmodelState> {
        None
    }

    /// Makes the messages of a pass. The function must send a message on each slot of each connected port
    /// in `outputs`. The messages get the settings overlay of the messages in `inputs`.
    ///
    /// # Errors
    /// An error that ends the run.
    fn map(&mut self, inputs: &MapperInputs, outputs: &mut Outputs<'_>) -> Result<(), Error>;
}

/// The messages of one pass, one for each slot of each connected F_INIT port.
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

    /// Returns the message of a port without slots.
    ///
    /// # Errors
    /// `Usage` if nothing is connected to the port, or if it is a vector port.
    pub fn message(&self, port: &str) -> Result<&Message, Error> {
        match self.input(port)? {
            MapperInput { is_vector: false, messages, .. } if messages.len() == 1 => Ok(&messages[0]),
            MapperInput { messages, .. } => {
                Err(PortError::WhichSlot { port: port.to_owned(), slots: messages.len() }.into())
            }
        }
    }

    /// Returns the messages of a port's slots, in their order. A port without slots has one message.
    ///
    /// # Errors
    /// `Usage` if nothing is connected to the port.
    pub fn slots(&self, port: &str) -> Result<&[Message], Error> {
        Ok(&self.input(port)?.messages)
    }

    /// Returns for each port its name, whether it has slots, and its messages. The ports are in the model's
    /// order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, bool, &[Message])> {
        self.ports.iter().map(|input| (&*input.port, input.is_vector, &*input.messages))
    }

    /// Returns all messages, port by port and slot by slot.
    pub fn messages(&self) -> impl Iterator<Item = &Message> {
        self.ports.iter().flat_map(|input| &input.messages)
    }

    /// Returns the times for a result: the latest timestamp of the messages, or 0 if there are none, and
    /// the earliest next timestamp, if any message has one.
    pub fn times(&self) -> MessageTimes {
        let latest = self.messages().map(|message| message.timestamp).reduce(f64::max);
        let timestamp = latest.unwrap_or(0.0);
        let next = self.messages().filter_map(|message| message.next_timestamp).reduce(f64::min);
        let next = next.filter(|&next| !is_before(next, timestamp));
        // The next timestamp may be meant to equal the timestamp, but be a little less because of rounding
        // in sums.
        MessageTimes { timestamp, next_timestamp: next.map(|next| next.max(timestamp)) }
    }
}

/// The sending ports of one operator, and the times that all messages sent on them get.
pub struct Outputs<'a> {
    instance: &'a mut Instance,
    operator: Operator,
    times: MessageTimes,
    sent: HashSet<(String, Option<u32>)>,
}

impl<'a> Outputs<'a> {
    /// Makes the outputs of an operator that sends.
    pub fn of(instance: &'a mut Instance, operator: Operator, times: MessageTimes) -> Outputs<'a> {
        Outputs { instance, operator, times, sent: HashSet::new() }
    }

    /// Returns the instance, for settings, the log, and the length of a port.
    pub fn instance(&mut self) -> &mut Instance {
        self.instance
    }

    /// Returns the times of the messages that are sent.
    pub fn times(&self) -> MessageTimes {
        self.times
    }

    /// Returns the connected ports, each with its number of slots, or `None` for a port without slots.
    ///
    /// # Errors
    /// As `Instance::is_connected`.
    pub fn ports(&self) -> Result<Vec<(String, Option<usize>)>, Error> {
        connected(self.instance, self.operator)
    }

    /// Sends a value on a port, or on a slot of a vector port. Does nothing if the port is not connected.
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

    /// Sends the same value on each slot of each port.
    ///
    /// # Errors
    /// As `send`.
    pub fn send_to_all(&mut self, data: &Value) -> Result<(), Error> {
        for (port, slots) in self.ports()? {
            all_slots(slots).try_for_each(|slot| self.send(&port, data, slot))?;
        }
        Ok(())
    }

    /// Fails if no message was sent on a slot of a port.
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

/// Returns the connected ports of an operator, each with its number of slots.
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

/// Returns each slot of a port. For a port without slots, returns `None` once.
fn all_slots(slots: Option<usize>) -> impl Iterator<Item = Option<u32>> {
    let none = slots.is_none().then_some(None);
    none.into_iter().chain((0..slots.unwrap_or(0) as u32).map(Some))
}

/// A mapper in the form of a submodel, which [`run_light`](crate::run_light) needs.
pub struct MapperSubmodel<M> {
    mapper: M,
    inputs: MapperInputs,
}

impl<M: Mapper> MapperSubmodel<M> {
    /// Makes a submodel of this mapper.
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

    fn state(&mut self) -> Option<&mut dyn SubmodelState> {
        self.mapper.state()
    }
}

/// Joins the run as a mapper, and maps until its conduits end. An error ends the run with its text.
///
/// # Errors
/// As `Instance::new` and `run_submodel`.
pub fn run_mapper(mapper: impl Mapper) -> Result<(), Error> {
    let mut instance = Instance::with_options(mapper.ports().as_ref(), mapper.flags(), "rust")?;
    run_submodel(&mut instance, &mut MapperSubmodel::of(mapper))
}
