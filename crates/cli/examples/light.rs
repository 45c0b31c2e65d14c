//! Light components for the tests in `tests/light/`. In each step, a component sends on all of its `O_I` ports
//! and receives on all of its `S` ports.

use ligament_instance::{
    run_light, Error, Instance, Operator, Outgoing, SettingType, SettingValue, Submodel, Value,
};

/// A component that sends its number on every `O_I` port in each step, and adds up the numbers that it receives
/// on its `S` ports.
struct Node {
    sends: Vec<String>,
    receives: Vec<String>,
    steps: i64,
    step: i64,
    received: u64,
}

impl Node {
    fn new(instance: &mut Instance) -> Result<Node, Error> {
        let steps = match instance.get_setting("steps", Some(SettingType::Int))? {
            SettingValue::Int(steps) => steps,
            other => return Err(Error::Own(format!("steps is {other}"))),
        };
        let mut ports = instance.list_ports();
        let mut of = |operator: Operator| ports.remove(operator.name()).unwrap_or_default();
        Ok(Node { sends: of(Operator::OI), receives: of(Operator::S), steps, step: 0, received: 0 })
    }
}

impl Submodel for Node {
    fn initialise(&mut self, _: &mut Instance) -> Result<(), Error> {
        self.step = 0;
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.step >= self.steps
    }

    fn observe(&mut self, instance: &mut Instance) -> Result<(), Error> {
        for port in &self.sends {
            instance.send(port, &Outgoing::at(self.step as f64, &Value::None), None)?;
        }
        Ok(())
    }

    fn solve(&mut self, instance: &mut Instance) -> Result<(), Error> {
        for port in &self.receives {
            let message = instance.receive(port, None)?;
            if message.timestamp != self.step as f64 {
                return Err(Error::Own(format!("{port}: {} in step {}", message.timestamp, self.step)));
            }
            self.received += 1;
        }
        self.step += 1;
        Ok(())
    }

    fn observe_final(&mut self, _: &mut Instance) -> Result<(), Error> {
        let due = self.steps as u64 * self.receives.len() as u64;
        match self.received {
            received if received == due => Ok(()),
            received => Err(Error::Own(format!("{received} messages came, and {due} were sent"))),
        }
    }
}

fn main() {
    if let Err(error) = run_light(Node::new) {
        eprintln!("{error}");
        std::process::exit(1);
    }
}
