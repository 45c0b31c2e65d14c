//! The instances of the tests in `tests/domains.rs`: one function for each component, by its name.

use ligament_instance::{
    Array, ArrayMut, ArrayOrder, DType, Error, ErrorKind, Flags, Instance, Operator, Outgoing, Ports,
    SettingType, SettingValue, Settings, Value, ValueRef, Wait,
};
use ligament_wire::Element;

/// Runs the component that the environment names.
pub fn play() {
    let name = std::env::var("LIGAMENT_INSTANCE").unwrap();
    let role = name.split('[').next().unwrap();
    let played = match role {
        "values" => values(),
        "checker" => checker(),
        "fan" => fan(),
        "leaf" => leaf(),
        "flood" => flood(),
        "drain" => drain(),
        "whale" => whale(),
        "harbour" => harbour(),
        "talker" => talker(),
        "stubborn" => stubborn(),
        "ping" => ping(),
        "pong" => pong(),
        "quitter" => quitter(),
        "teacher" => teacher(),
        "pupil" => pupil(),
        "collector" => collector(),
        "lister" => lister(),
        "reader" => reader(),
        other => panic!("no part {other}"),
    };
    if let Err(error) = played {
        panic!("{name}: {error}");
    }
    println!("{name} is done");
}

fn setting(instance: &Instance, name: &str) -> Result<i64, Error> {
    match instance.get_setting(name, Some(SettingType::Int))? {
        SettingValue::Int(value) => Ok(value),
        other => Err(Error::Own(format!("{name} is {other}"))),
    }
}

fn ports(operators: &[(Operator, &str)]) -> Ports {
    operators.iter().fold(Ports::new(), |ports, &(operator, name)| ports.with(operator, name))
}

fn start(operators: &[(Operator, &str)]) -> Result<Instance, Error> {
    let mut instance = Instance::new(Some(&ports(operators)))?;
    assert!(instance.reuse_instance()?);
    Ok(instance)
}

/// Ends a component that makes one pass of the reuse loop.
fn finish(mut instance: Instance) -> Result<(), Error> {
    assert!(!instance.reuse_instance()?);
    Ok(())
}

fn numbers(count: usize, seed: u64) -> Vec<u64> {
    (0..count as u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ seed).collect()
}

fn array<T: Element>(data: &[T], shape: &[usize], order: ArrayOrder) -> Value {
    Value::Array(Array::from_slice(data, shape, order).unwrap())
}

/// Returns a value of each type, and values for each layout of a message's body.
fn all_values() -> Vec<Value> {
    let settings = vec![("grid.dx".to_owned(), ligament_wire::SettingValue::FloatList(vec![0.5, 0.25]))];
    let mut all = vec![
        Value::None,
        Value::Bool(true),
        Value::Int(i64::MIN),
        Value::UInt(u64::MAX),
        Value::Float(-0.125),
        Value::Complex(1.5, -2.5),
        Value::String("žluťoučký".into()),
        Value::Bytes(vec![0u8, 255, 7].into()),
        Value::List(vec![Value::Int(1), Value::String("two".into()), Value::List(vec![])]),
        Value::Settings(settings),
        array(&[true, false, true], &[3], ArrayOrder::RowMajor),
        array(&[-1i8, 2, -3, 4], &[2, 2], ArrayOrder::ColumnMajor),
        array(&[1u16, 2, 3, 4, 5, 6], &[1, 2, 3], ArrayOrder::RowMajor),
        array(&[1.5f32; 1000], &[10, 100], ArrayOrder::ColumnMajor),
        array(&numbers(0, 1), &[0], ArrayOrder::RowMajor),
        array(&numbers(500_000, 1), &[500, 1000], ArrayOrder::RowMajor),
    ];
    all.extend([1, 200, 240, 250, 256, 260, 70_000, 3 << 20].map(|len| Value::String("x".repeat(len))));
    let fields = |len| {
        vec![
            ("u".into(), array(&numbers(len, 1), &[len], ArrayOrder::RowMajor)),
            ("t".into(), Value::Float(1.0)),
        ]
    };
    all.extend([1, 10, 100, 100_000].map(|len| Value::Map(fields(len))));
    all
}

fn values() -> Result<(), Error> {
    let mut instance = start(&[(Operator::OI, "out")])?;
    for round in 0..3 {
        for (i, value) in all_values().iter().enumerate() {
            instance.send("out", &Outgoing::at(i as f64, value).next(i as f64 + f64::from(round)), None)?;
        }
    }
    finish(instance)
}

fn checker() -> Result<(), Error> {
    let mut instance = start(&[(Operator::S, "in")])?;
    for round in 0..3 {
        for (i, value) in all_values().iter().enumerate() {
            let message = instance.receive("in", None)?;
            assert_eq!(message.data, *value, "value {i} of round {round}");
            let next = Some(i as f64 + f64::from(round));
            assert_eq!((message.timestamp, message.next_timestamp), (i as f64, next));
        }
    }
    assert_eq!(instance.receive("in", None).unwrap_err().kind(), ErrorKind::Closed);
    finish(instance)
}

/// Sends a message to each instance of `leaf` and checks its answer, in each step.
fn fan() -> Result<(), Error> {
    let mut instance = start(&[(Operator::OI, "out[]"), (Operator::S, "in[]")])?;
    let slots = instance.get_port_length("out")? as u32;
    for step in 0..setting(&instance, "steps")? {
        for slot in 0..slots {
            let value = Value::List(vec![Value::Int(step), Value::Int(i64::from(slot))]);
            instance.send("out", &Outgoing::at(step as f64, &value), Some(slot))?;
        }
        for slot in 0..slots {
            let answer = instance.receive("in", Some(slot))?.data;
            assert_eq!(answer, Value::Int(step * 100 + i64::from(slot)));
        }
    }
    finish(instance)
}

/// Makes one pass of the reuse loop for each message of `fan`, and answers the message.
fn leaf() -> Result<(), Error> {
    let mut instance = Instance::new(Some(&ports(&[(Operator::FInit, "init"), (Operator::OF, "final")])))?;
    let me = instance.index()[0] as i64;
    while instance.reuse_instance()? {
        let Value::List(parts) = instance.receive("init", None)?.data else { panic!("a list was sent") };
        let [Value::Int(step), Value::Int(slot)] = parts[..] else { panic!("{parts:?}") };
        assert_eq!(slot, me);
        instance.send("final", &Outgoing::at(step as f64, &Value::Int(step * 100 + slot)), None)?;
    }
    Ok(())
}

fn flood() -> Result<(), Error> {
    let mut instance = start(&[(Operator::OI, "out")])?;
    for i in 0..setting(&instance, "messages")? {
        match i % 3 {
            0 => instance.send("out", &Outgoing::at(i as f64, &Value::Int(i)), None)?,
            // After some messages, the bodies of arrays lie in slabs, and each refers to the head of the array
            // before it.
            _ => {
                let data = numbers(8, i as u64);
                let array = ligament_instance::ArrayRef::from_slice(&data, &[8], ArrayOrder::RowMajor);
                instance.send("out", &Outgoing::at(i as f64, array), None)?;
            }
        }
    }
    finish(instance)
}

fn drain() -> Result<(), Error> {
    let mut instance = start(&[(Operator::S, "in")])?;
    for i in 0..setting(&instance, "messages")? {
        let message = instance.receive("in", None)?;
        assert_eq!(message.timestamp, i as f64, "in order, and each once");
        match i % 3 {
            0 => assert_eq!(message.data, Value::Int(i)),
            _ => assert_eq!(message.array()?.as_slice::<u64>().unwrap(), numbers(8, i as u64)),
        }
    }
    assert_eq!(instance.receive("in", None).unwrap_err().kind(), ErrorKind::Closed);
    finish(instance)
}

/// Sends large arrays, in turn as loans and as values.
fn whale() -> Result<(), Error> {
    let mut instance = start(&[(Operator::OI, "out")])?;
    let count = setting(&instance, "elements")? as usize;
    for i in 0..setting(&instance, "messages")? {
        let data = numbers(count, i as u64);
        let shape = [count as u64];
        let loan = match i % 2 {
            0 => instance.loan(DType::UInt64, &shape, ArrayOrder::RowMajor).ok(),
            _ => None,
        };
        match loan {
            Some(mut loan) => {
                for (place, value) in loan.bytes_mut().chunks_exact_mut(8).zip(&data) {
                    place.copy_from_slice(&value.to_ne_bytes());
                }
                let times = Outgoing::at(i as f64, &Value::None).times();
                instance.send_loan("out", times, loan, None)?;
            }
            None => {
                let array = ligament_instance::ArrayRef::from_slice(&data, &shape, ArrayOrder::RowMajor);
                instance.send("out", &Outgoing::at(i as f64, array), None)?;
            }
        }
    }
    finish(instance)
}

/// Receives large arrays, some as views, and some into an array of its own.
fn harbour() -> Result<(), Error> {
    let mut instance = start(&[(Operator::S, "in")])?;
    let count = setting(&instance, "elements")? as usize;
    let shape = [count as u64];
    let mut own = vec![0u8; count * 8];
    for i in 0..setting(&instance, "messages")? {
        let expected = numbers(count, i as u64);
        if i % 3 == 1 {
            let mut into =
                ArrayMut { dtype: DType::UInt64, shape: &shape, order: ArrayOrder::RowMajor, data: &mut own };
            instance.receive_into("in", None, Wait::Forever, &mut into)?;
            let same = own.chunks_exact(8).zip(&expected).all(|(came, &sent)| came == sent.to_ne_bytes());
            assert!(same, "message {i}");
        } else {
            let message = instance.receive("in", None)?;
            assert!(message.array()?.as_slice::<u64>().unwrap() == expected, "message {i}");
        }
    }
    finish(instance)
}

/// Sends more than the budget of its conduit, so it waits until the receiver has read messages.
fn talker() -> Result<(), Error> {
    let mut instance = start(&[(Operator::OI, "out")])?;
    for i in 0..setting(&instance, "messages")? {
        let value = array(&numbers(30_000, i as u64), &[30_000], ArrayOrder::RowMajor);
        instance.send("out", &Outgoing::at(i as f64, &value), None)?;
    }
    finish(instance)
}

/// Reads no message of `in` until a message arrives on `go`.
fn stubborn() -> Result<(), Error> {
    let mut instance = start(&[(Operator::S, "in"), (Operator::S, "go")])?;
    instance.receive("go", None)?;
    for i in 0..setting(&instance, "messages")? {
        let message = instance.receive("in", None)?;
        assert_eq!(message.data, array(&numbers(30_000, i as u64), &[30_000], ArrayOrder::RowMajor));
    }
    finish(instance)
}

fn ping() -> Result<(), Error> {
    let mut instance = start(&[(Operator::OI, "out"), (Operator::S, "in")])?;
    for i in 0..setting(&instance, "steps")? {
        instance.send("out", &Outgoing::at(i as f64, &Value::Int(i)), None)?;
        assert_eq!(instance.receive("in", None)?.data, Value::Int(-i));
    }
    finish(instance)
}

/// Answers `ping`, and sends a message to `stubborn` at the end.
fn pong() -> Result<(), Error> {
    let mut instance = start(&[(Operator::S, "in"), (Operator::OI, "out"), (Operator::OI, "go")])?;
    for i in 0..setting(&instance, "steps")? {
        assert_eq!(instance.receive("in", None)?.data, Value::Int(i));
        instance.send("out", &Outgoing::at(i as f64, &Value::Int(-i)), None)?;
    }
    instance.send("go", &Outgoing::at(0.0, &Value::None), None)?;
    finish(instance)
}

/// Ends after the first message, although more messages are sent to it.
fn quitter() -> Result<(), Error> {
    let mut instance = start(&[(Operator::S, "in")])?;
    instance.receive("in", None)?;
    finish(instance)
}

fn lesson_settings(lesson: i64) -> Settings {
    let mut settings = Settings::new();
    settings.set(ligament_model::Reference::new("lesson").unwrap(), SettingValue::Int(lesson));
    settings
}

/// Sends a value, and the same value as a setting, to `pupil`: on a port of settings and as an overlay.
fn teacher() -> Result<(), Error> {
    let mut instance = start(&[(Operator::OI, "settings"), (Operator::OI, "lesson")])?;
    for i in 0..20 {
        let lesson = vec![("lesson".to_owned(), ligament_wire::SettingValue::Int(i % 5))];
        instance.send("settings", &Outgoing::at(0.0, ValueRef::Settings(&lesson)), None)?;
        let overlay = lesson_settings(i % 5);
        let value = Value::Int(i % 5);
        instance.send("lesson", &Outgoing::at(i as f64, &value).with_settings(&overlay), None)?;
    }
    finish(instance)
}

fn pupil() -> Result<(), Error> {
    let mut instance = Instance::new(Some(&ports(&[(Operator::FInit, "lesson"), (Operator::OF, "homework")])))?;
    while instance.reuse_instance()? {
        let message = instance.receive("lesson", None)?;
        assert_eq!(message.data, Value::Int(setting(&instance, "lesson")?));
        instance.send("homework", &Outgoing::at(message.timestamp, &message.data), None)?;
    }
    Ok(())
}

/// Checks that each message has the overlay under which `pupil` made it.
fn collector() -> Result<(), Error> {
    let flags = Flags { dont_apply_overlay: true, ..Flags::default() };
    let mut instance = Instance::with_options(Some(&ports(&[(Operator::S, "in")])), flags, "rust")?;
    assert!(instance.reuse_instance()?);
    for i in 0..20 {
        let message = instance.receive("in", None)?;
        assert_eq!(message.settings, Some(lesson_settings(i % 5)));
        assert_eq!((message.timestamp, message.data), (i as f64, Value::Int(i % 5)));
    }
    finish(instance)
}

/// Sends lists of different lengths on a resizable port.
fn lister() -> Result<(), Error> {
    let mut instance = start(&[(Operator::OI, "out[]")])?;
    for round in 1..8u32 {
        let length = round * 3 % 7 + 1;
        instance.set_port_length("out", length as usize)?;
        for slot in 0..length {
            let value = Value::Int(i64::from(round * 100 + slot));
            instance.send("out", &Outgoing::at(f64::from(round), &value), Some(slot))?;
        }
    }
    finish(instance)
}

fn reader() -> Result<(), Error> {
    let mut instance = start(&[(Operator::S, "in[]")])?;
    for round in 1..8u32 {
        let expected = round * 3 % 7 + 1;
        assert_eq!(instance.receive("in", Some(0))?.data, Value::Int(i64::from(round * 100)));
        let length = instance.get_port_length("in")? as u32;
        assert_eq!(length, expected);
        for slot in 1..length {
            assert_eq!(instance.receive("in", Some(slot))?.data, Value::Int(i64::from(round * 100 + slot)));
        }
    }
    finish(instance)
}
