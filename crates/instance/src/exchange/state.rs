//! A port of a distributed array at a checkpoint: the parts that this rank and its senders have, and the
//! messages of some ranks that wait for those of the others.

use super::{DistributedPort, SenderPart};
use crate::checkpoint::values::{message_of_state, message_state};
use ligament_exchange::IndexMap;
use ligament_wire::fields::{entries, Fields};
use ligament_wire::Value;
use std::sync::Arc;

fn map_state(map: Option<&IndexMap>) -> Value {
    map.map_or(Value::None, IndexMap::to_value)
}

impl DistributedPort {
    pub fn state(&self) -> Value {
        let sender = |sender: &SenderPart| {
            let arrived = sender.arrived.as_ref();
            let arrived = arrived.map_or(Value::None, |(message, overlay)| message_state(message, overlay));
            entries([("map", map_state(sender.map.as_ref())), ("arrived", arrived)])
        };
        entries([
            ("map", map_state(self.map.as_deref())),
            ("announced", map_state(self.announced.as_deref())),
            ("senders", Value::List(self.senders.iter().map(sender).collect())),
        ])
    }

    /// Puts a state back. Returns `None` if something is missing, or is of another array.
    pub fn restore(&mut self, state: &Value) -> Option<()> {
        let fields = Fields::of(state)?;
        let map = |value: Option<&Value>| match value {
            None => Some(None),
            Some(value) => IndexMap::from_value(&self.array, value).map(Some),
        };
        let sender = |state: &Value| {
            let fields = Fields::of(state)?;
            let arrived = match fields.present("arrived")? {
                None => None,
                Some(message) => Some(message_of_state(message)?),
            };
            Some(SenderPart { map: map(fields.present("map")?)?, route: None, arrived })
        };
        let (own, announced) = (map(fields.present("map")?)?, map(fields.present("announced")?)?);
        let senders = fields.list("senders")?.iter().map(sender).collect::<Option<Vec<_>>>()?;
        if senders.len() != self.senders.len() {
            return None;
        }
        (self.map, self.announced) = (own.map(Arc::new), announced.map(Arc::new));
        (self.senders, self.routed) = (senders, None);
        Some(())
    }
}
