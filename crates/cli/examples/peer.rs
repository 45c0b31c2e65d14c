//! The programs of the instances in `tests/`: a macro model, a micro model, and programs that fail in different
//! ways.

use ligament_instance::{Error, Instance, Operator, Outgoing, Ports, SettingType, SettingValue};

fn steps(instance: &Instance) -> Result<i64, Error> {
    match instance.get_setting("steps", Some(SettingType::Int))? {
        SettingValue::Int(steps) => Ok(steps),
        other => Err(Error::Own(format!("steps is {other}"))),
    }
}

/// Sends a number in each step, and checks that the answer is larger by 1.
fn macro_model() -> Result<(), Error> {
    let ports = Ports::new().with(Operator::OI, "out").with(Operator::S, "in");
    let mut instance = Instance::new(Some(&ports))?;
    while instance.reuse_instance()? {
        let steps = steps(&instance)?;
        for step in 0..steps {
            let value = ligament_instance::Value::Int(step);
            instance.send("out", &Outgoing::at(step as f64, &value), None)?;
            let answer = instance.receive("in", None)?;
            assert_eq!(answer.data, ligament_instance::Value::Int(step + 1));
        }
    }
    println!("macro is done");
    Ok(())
}

/// Adds 1 to each number. At number 3 it fails in the way that `way` names.
fn micro_model(way: &str) -> Result<(), Error> {
    let ports = Ports::new().with(Operator::FInit, "in").with(Operator::OF, "out");
    let mut instance = Instance::new(Some(&ports))?;
    while instance.reuse_instance()? {
        let message = instance.receive("in", None)?;
        let ligament_instance::Value::Int(i) = message.data else {
            panic!("{:?}", message.data);
        };
        if i == 3 {
            println!("this is the last line of micro");
            match way {
                "exit" => std::process::exit(3),
                "abort" => std::process::abort(),
                "report" => {
                    instance.error_shutdown("the temperature is negative")?;
                    std::process::exit(1);
                }
                "leave" => {
                    // The program leaves without a message to the run, as if it had forgotten its reuse loop.
                    std::mem::forget(instance);
                    std::process::exit(0);
                }
                "wait" => loop {
                    std::thread::park();
                },
                _ => {}
            }
        }
        let value = ligament_instance::Value::Int(i + 1);
        instance.send("out", &Outgoing::at(message.timestamp, &value), None)?;
    }
    Ok(())
}

/// Sends 100 messages on one port before the message that the receiver wants first, on another port.
fn flood() -> Result<(), Error> {
    let ports = Ports::new().with(Operator::OI, "many").with(Operator::OI, "first");
    let mut instance = Instance::new(Some(&ports))?;
    while instance.reuse_instance()? {
        for i in 0..100 {
            let value = ligament_instance::Value::Int(i);
            instance.send("many", &Outgoing::at(i as f64, &value), None)?;
        }
        instance.send("first", &Outgoing::at(0.0, &ligament_instance::Value::None), None)?;
    }
    Ok(())
}

/// Receives the messages of `flood` in the opposite order.
fn drain() -> Result<(), Error> {
    let ports = Ports::new().with(Operator::S, "many").with(Operator::S, "first");
    let mut instance = Instance::new(Some(&ports))?;
    while instance.reuse_instance()? {
        instance.receive("first", None)?;
        for _ in 0..100 {
            instance.receive("many", None)?;
        }
    }
    Ok(())
}

/// An instance that receives before it sends. Two such instances wait for each other forever.
fn polite() -> Result<(), Error> {
    let ports = Ports::new().with(Operator::S, "in").with(Operator::OI, "out");
    let mut instance = Instance::new(Some(&ports))?;
    while instance.reuse_instance()? {
        instance.receive("in", None)?;
    }
    Ok(())
}

/// Sends one message with `bytes` bytes.
fn big(bytes: usize) -> Result<(), Error> {
    let ports = Ports::new().with(Operator::OF, "out");
    let mut instance = Instance::new(Some(&ports))?;
    while instance.reuse_instance()? {
        let value = ligament_instance::Value::Bytes(vec![7; bytes].into());
        if let Err(error) = instance.send("out", &Outgoing::at(0.0, &value), None) {
            instance.error_shutdown(&error.to_string())?;
            std::process::exit(1);
        }
    }
    Ok(())
}

/// Receives the message of `big`.
fn gulp(bytes: usize) -> Result<(), Error> {
    let ports = Ports::new().with(Operator::FInit, "in");
    let mut instance = Instance::new(Some(&ports))?;
    while instance.reuse_instance()? {
        let ligament_instance::Value::Bytes(got) = instance.receive("in", None)?.data else {
            panic!("no bytes");
        };
        assert!(got.len() == bytes && got.iter().all(|&byte| byte == 7));
    }
    Ok(())
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.first().map(String::as_str) {
        Some("macro") => macro_model(),
        Some("micro") => micro_model(arguments.get(1).map_or("", String::as_str)),
        Some("flood") => flood(),
        Some("drain") => drain(),
        Some("polite") => polite(),
        Some("big") => big(arguments[1].parse().expect("a number")),
        Some("gulp") => gulp(arguments[1].parse().expect("a number")),
        Some("silent") => return,
        other => panic!("unknown role {other:?}"),
    };
    if let Err(error) = result {
        eprintln!("{error}");
        std::process::exit(1);
    }
}
