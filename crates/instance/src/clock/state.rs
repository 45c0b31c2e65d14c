//! The clock, and the ports that go with it, at a checkpoint.

use super::{Clock, ClockedContent, ClockedPort};
use crate::instance::Instance;
use ligament_wire::fields::{counted, entries, Fields};
use ligament_wire::Value;

impl Clock {
    fn state(&self) -> Value {
        entries([
            ("ticks", counted(self.ticks)),
            ("begun", Value::Bool(self.begun)),
            ("wants due", Value::Bool(self.wants_due)),
        ])
    }

    fn restore(&mut self, state: &Value) -> Option<()> {
        let fields = Fields::of(state)?;
        self.set(fields.count("ticks")?);
        (self.begun, self.wants_due) = (fields.truth("begun")?, fields.truth("wants due")?);
        Some(())
    }
}

fn truths(list: &[bool]) -> Value {
    Value::List(list.iter().copied().map(Value::Bool).collect())
}

/// Restores a list of truth values of the same length.
fn restore_truths(list: &mut [bool], state: &[Value]) -> Option<()> {
    if list.len() != state.len() {
        return None;
    }
    for (place, value) in list.iter_mut().zip(state) {
        let Value::Bool(truth) = value else { return None };
        *place = *truth;
    }
    Some(())
}

impl ClockedPort {
    fn state(&self) -> Value {
        let content = match &self.content {
            ClockedContent::Events(events) => events.state(),
            ClockedContent::Signal(signal) => signal.state(),
        };
        entries([("over", truths(&self.over)), ("passing", truths(&self.passing)), ("content", content)])
    }

    fn restore(&mut self, state: &Value) -> Option<()> {
        let fields = Fields::of(state)?;
        restore_truths(&mut self.over, fields.list("over")?)?;
        restore_truths(&mut self.passing, fields.list("passing")?)?;
        match &mut self.content {
            ClockedContent::Events(events) => events.restore(fields.get("content")?),
            ClockedContent::Signal(signal) => signal.restore(fields.get("content")?),
        }
    }
}

impl Instance {
    /// Returns the states of the clock and of the ports of exchanges.
    pub(crate) fn exchanges_state(&self) -> Value {
        let ports = self.table.ports.iter().filter(|port| port.exchanges()).map(|port| {
            let array = port.distributed.as_ref().map_or(Value::None, |distributed| distributed.state());
            let clocked = port.clocked.as_ref().map_or(Value::None, |clocked| clocked.state());
            entries([("port", Value::String(port.name.to_string())), ("array", array), ("clocked", clocked)])
        });
        let clock = self.clock.as_ref().map_or(Value::None, Clock::state);
        entries([("clock", clock), ("ports", Value::List(ports.collect()))])
    }

    /// Puts these states back. Returns `None` if something is missing, or has another type.
    pub(crate) fn restore_exchanges(&mut self, state: &Value) -> Option<()> {
        let fields = Fields::of(state)?;
        if let Some(state) = fields.present("clock")? {
            self.clock.as_mut()?.restore(state)?;
        }
        for state in fields.list("ports")? {
            let fields = Fields::of(state)?;
            let port = self.table.find(fields.text("port")?).ok()?;
            let port = &mut self.table.ports[port];
            if let Some(array) = fields.present("array")? {
                port.distributed.as_mut()?.restore(array)?;
            }
            if let Some(clocked) = fields.present("clocked")? {
                port.clocked.as_mut()?.restore(clocked)?;
            }
        }
        Some(())
    }
}
