//! Steps forward in time, and in every step asks a finer model. Replace what is computed by your own.

use ligament_instance::{Instance, Operator, Outgoing, Ports, SettingType, SettingValue, Value};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ports = Ports::new().with(Operator::OI, "state").with(Operator::S, "result");
    let mut instance = Instance::new(Some(&ports))?;
    while instance.reuse_instance()? {
        let SettingValue::Float(t_max) = instance.get_setting("t_max", Some(SettingType::Float))? else {
            unreachable!("a number was asked for")
        };
        let (mut t, mut state) = (0.0, 1.0);
        while t < t_max {
            let value = Value::Float(state);
            let mut message = Outgoing::at(t, &value);
            if t + 1.0 < t_max {
                message = message.next(t + 1.0);
            }
            instance.send("state", &message, None)?;
            let Value::Float(answer) = instance.receive("result", None)?.data else {
                instance.error_shutdown("the result is no number")?;
                return Err("the result is no number".into());
            };
            println!("at {t} the finer model says {answer}");
            (t, state) = (t + 1.0, answer + 1.0);
        }
    }
    Ok(())
}
