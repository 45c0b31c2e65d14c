//! A port of events at a checkpoint.

use super::{CollectedEvents, EventBatch, EventPort, IdSet, IDS_KEY, TIMES_KEY};
use ligament_exchange::IndexMap;
use ligament_wire::fields::{counted, entries, Fields};
use ligament_wire::{Array, ArrayOrder, Bytes, Value};

impl CollectedEvents {
    fn state(&self) -> Value {
        let count = [self.ids.len()];
        let times = Array::from_vec(self.times.clone(), &count, ArrayOrder::RowMajor);
        let ids = Array::from_vec(self.ids.clone(), &count, ArrayOrder::RowMajor);
        match (times, ids) {
            (Ok(times), Ok(ids)) => EventBatch { times, ids }.state(),
            _ => Value::None,
        }
    }

    fn of_state(state: &Value) -> Option<CollectedEvents> {
        let batch = EventBatch::of(state)?;
        Some(CollectedEvents { times: batch.times().to_vec(), ids: batch.ids().to_vec() })
    }
}

impl EventBatch {
    fn state(&self) -> Value {
        entries([(TIMES_KEY, Value::Array(self.times.clone())), (IDS_KEY, Value::Array(self.ids.clone()))])
    }
}

impl IdSet {
    fn state(&self) -> Value {
        match self {
            IdSet::Range { begin, end } => entries([("begin", Value::Int(*begin)), ("end", Value::Int(*end))]),
            IdSet::Bits { begin, bits } => {
                let bytes: Vec<u8> = bits.iter().flat_map(|word| word.to_le_bytes()).collect();
                entries([("begin", Value::Int(*begin)), ("bits", Value::Bytes(Bytes::from(bytes)))])
            }
        }
    }

    fn of_state(state: &Value) -> Option<IdSet> {
        let fields = Fields::of(state)?;
        let number = |key: &str| match fields.get(key)? {
            Value::Int(number) => Some(*number),
            _ => None,
        };
        let begin = number("begin")?;
        match fields.get("bits") {
            Some(Value::Bytes(bytes)) => {
                let words = bytes.chunks_exact(8);
                let bits = words.map(|word| word.try_into().map(u64::from_le_bytes).unwrap_or_default());
                Some(IdSet::Bits { begin, bits: bits.collect() })
            }
            _ => Some(IdSet::Range { begin, end: number("end")? }),
        }
    }
}

impl EventPort {
    pub fn state(&self) -> Value {
        entries([
            ("part", self.part.as_ref().map_or(Value::None, IdSet::state)),
            ("map", self.map.as_ref().map_or(Value::None, IndexMap::to_value)),
            ("sorting", self.sorting.as_ref().map_or(Value::None, |sorting| sorting.state())),
            ("collected", self.collected.state()),
            ("later", self.later.state()),
            ("sent", counted(self.sent)),
            ("received", Value::List(self.received.iter().copied().map(counted).collect())),
            ("unread", Value::List(self.unread.iter().map(EventBatch::state).collect())),
        ])
    }

    /// Puts a state back. Returns `None` if something is missing, or is of another port.
    pub fn restore(&mut self, state: &Value) -> Option<()> {
        let fields = Fields::of(state)?;
        self.part = match fields.present("part")? {
            None => None,
            Some(part) => Some(IdSet::of_state(part)?),
        };
        self.map = match fields.present("map")? {
            None => None,
            Some(map) => Some(IndexMap::from_value(&[self.ids], map)?),
        };
        if let Some(sorting) = fields.present("sorting")? {
            self.sorting.as_mut()?.restore(sorting, self.ids)?;
        }
        self.collected = CollectedEvents::of_state(fields.get("collected")?)?;
        self.later = CollectedEvents::of_state(fields.get("later")?)?;
        self.sent = fields.count("sent")?;
        let received = fields.list("received")?;
        if received.len() != self.received.len() {
            return None;
        }
        for (place, count) in self.received.iter_mut().zip(received) {
            let Value::Int(count) = count else { return None };
            *place = u64::try_from(*count).ok()?;
        }
        self.unread = fields.list("unread")?.iter().map(EventBatch::of).collect::<Option<_>>()?;
        Some(())
    }
}
