//! Starts from a level, and ends with its square. Replace what is computed by your own.

use ligament_instance::{Instance, Operator, Outgoing, Ports, Value};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ports = Ports::new().with(Operator::FInit, "start").with(Operator::OF, "end");
    let mut instance = Instance::new(Some(&ports))?;
    while instance.reuse_instance()? {
        let start = instance.receive("start", None)?;
        let Value::Float(level) = start.data else {
            instance.error_shutdown("the start is no number")?;
            return Err("the start is no number".into());
        };
        instance.send("end", &Outgoing::at(start.timestamp, &Value::Float(level * level)), None)?;
    }
    Ok(())
}
