//! Calls the operations that the other driver in Rust does not use, and prints their results (README.md).

use ligament_instance::{
    run_light, run_mapper, run_submodel, ArrayMut, ArrayOrder, ArrayRef, DType, Error, Expected, Instance,
    LogLevel, Mapper, MapperInputs, MessageTimes, Operator, Outgoing, Outputs, Part, Ports, Reference,
    SettingDeclaration, SettingType, SettingValue, Settings, Submodel, Value, Wait,
};

fn about(instance: &mut Instance) -> Result<(), Error> {
    instance.set_interrupt_check(Box::new(|| false));
    instance.log(LogLevel::Warning, "said by the giver")?;
    let ports = instance.list_ports();
    let both = |a: bool, b: bool| format!("{} {}", i32::from(a), i32::from(b));
    println!("name {}\nindex {}", instance.name(), instance.index().len());
    println!("rank {} of {}", instance.rank(), instance.ranks());
    println!("run {}", i32::from(!instance.run_name().is_empty()));
    println!("ports {} {}", ports[Operator::OI.name()].len(), ports[Operator::S.name()].len());
    println!("connected {}", both(instance.is_connected("deal")?, instance.is_connected("nothing")?));
    println!("vector {}", both(instance.is_vector_port("deal")?, instance.is_vector_port("plain")?));
    println!("resizable {}", both(instance.is_resizable("deal")?, instance.is_resizable("plain")?));
    instance.set_port_length("deal", 2)?;
    println!("length {}", instance.get_port_length("deal")?);
    let SettingValue::Float(ratio) = instance.get_setting("ratio", Some(SettingType::Float))? else { panic!() };
    println!("setting {}\nsettings {}", (4.0 * ratio) as i32, instance.list_settings().len());
    let range = SettingDeclaration { min: Some(0.0), max: Some(1.0), ..Default::default() };
    instance.declare_steerable(SettingDeclaration { name: "ratio", unit: "m", ..range })?;
    let steered = both(instance.steer(0.0)?, instance.steer(1.0)?);
    let SettingValue::Float(ratio) = instance.get_setting("ratio", Some(SettingType::Float))? else { panic!() };
    println!("steered {steered} {}", (4.0 * ratio) as i32);
    Ok(())
}

fn giver() -> Result<(), Error> {
    let ports = Ports::new().with(Operator::OI, "deal[]").with(Operator::OI, "plain");
    let mut instance = Instance::new(Some(&ports.with(Operator::S, "back[]").with(Operator::S, "nothing")))?;
    assert!(instance.reuse_instance()?);
    about(&mut instance)?;
    instance.send("deal", &Outgoing::at(1.0, &Value::Int(5)), Some(0))?;
    let mut loan = instance.loan(DType::Float64, &[2], ArrayOrder::RowMajor)?;
    loan.bytes_mut().copy_from_slice(&[1.0f64, 2.0].map(f64::to_ne_bytes).concat());
    instance.send_loan("deal", MessageTimes { timestamp: 1.0, next_timestamp: None }, loan, Some(1))?;

    let first = instance.wait_any(&[("back", Some(0)), ("back", Some(1))], Wait::Forever)?;
    println!("first {first} {}", i32::from(instance.poll("back", Some(0))?));
    println!("more {}", i32::from(instance.has_next("back", Some(0), Wait::Forever)?));
    let message = instance.receive("back", Some(0))?;
    let Value::Int(number) = message.data else { panic!() };
    println!("came {number} {}\noverlay {}", message.timestamp, i32::from(message.settings.is_some()));
    let mut two = [0; 16];
    let mut into = ArrayMut { dtype: DType::Float64, shape: &[2], order: ArrayOrder::RowMajor, data: &mut two };
    instance.receive_into("back", Some(1), Wait::Forever, &mut into)?;
    let number = |bytes: &[u8]| f64::from_ne_bytes(bytes.try_into().expect("eight"));
    println!("into {}", number(&two[..8]) + number(&two[8..]));
    let none = instance.receive_if_connected("nothing", None, Wait::Forever)?;
    println!("nothing {}", i32::from(none.is_some()));
    let (which, third) = instance.receive_any(&[("back", Some(0))], Wait::Forever)?;
    let seven = third.array_as(&Expected { dtype: Some(DType::Int64), ndim: None, shape: Some(&[Some(1)]) })?;
    println!("any {which} {}", i64::from_ne_bytes(seven.data()[..8].try_into().expect("eight")));
    let last = instance.receive_with_settings("back", Some(1), Wait::Forever)?;
    let settings = last.settings.expect("they came along");
    let (_, SettingValue::Int(k)) = settings.iter().next().expect("one setting") else { panic!() };
    let Value::Int(number) = last.data else { panic!() };
    println!("under {k} {number}");
    println!("more {}", i32::from(instance.has_next("back", Some(1), Wait::Forever)?));
    instance.finish()?;
    instance.error_shutdown("it is over, so that nobody hears this")
}

/// Receives on two slots, and sends both messages back. Then it sends a third message, and one with an overlay
/// of its own.
struct Taker {
    done: bool,
}

impl Submodel for Taker {
    fn initialise(&mut self, _: &mut Instance) -> Result<(), Error> {
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn observe(&mut self, _: &mut Instance) -> Result<(), Error> {
        Ok(())
    }

    fn solve(&mut self, instance: &mut Instance) -> Result<(), Error> {
        self.done = true;
        let messages = [instance.receive("deal", Some(0))?, instance.receive("deal", Some(1))?];
        instance.set_port_length("back", 2)?;
        for (slot, message) in (0..).zip(&messages) {
            instance.send("back", &Outgoing::at(message.timestamp, &message.data), Some(slot))?;
        }
        let data = 7i64.to_ne_bytes();
        let seven = ArrayRef {
            dtype: DType::Int64,
            shape: &[1],
            strides: None,
            order: ArrayOrder::RowMajor,
            data: &data,
            offset: 0,
            names: &[],
            unit: None,
        };
        instance.send_array("back", MessageTimes { timestamp: 2.0, next_timestamp: None }, seven, Some(0))?;
        let mut settings = Settings::new();
        settings.set(Reference::new("k").expect("a name"), SettingValue::Int(3));
        instance.send("back", &Outgoing::at(2.0, &Value::Int(9)).with_settings(&settings), Some(1))
    }

    fn observe_final(&mut self, _: &mut Instance) -> Result<(), Error> {
        Ok(())
    }
}

/// Adds up all inputs, and multiplies the number of each slot by a setting.
struct Scale;

impl Mapper for Scale {
    fn ports(&self) -> Option<Ports> {
        let inputs = Ports::new().with(Operator::FInit, "a").with(Operator::FInit, "b[]");
        Some(inputs.with(Operator::OF, "sum").with(Operator::OF, "each[]").with(Operator::OF, "spare"))
    }

    fn map(&mut self, inputs: &MapperInputs, outputs: &mut Outputs<'_>) -> Result<(), Error> {
        let number = |value: &Value| if let Value::Float(number) = value { *number } else { panic!() };
        outputs.send("spare", &Value::Float(0.0), None)?;
        let lazy = outputs.instance().get_setting("lazy", None)?;
        if lazy == SettingValue::Bool(true) {
            return Ok(());
        }
        let a = number(&inputs.message("a")?.data);
        let b: Vec<f64> = inputs.slots("b")?.iter().map(|message| number(&message.data)).collect();
        outputs.instance().set_port_length("each", b.len())?;
        for (slot, one) in (0..).zip(&b) {
            outputs.send(
                "each",
                ArrayRef::from_slice(&[a * one, *one], &[2], ArrayOrder::RowMajor),
                Some(slot),
            )?;
        }
        let factor = outputs.instance().get_setting("factor", Some(SettingType::Float))?;
        let SettingValue::Float(factor) = factor else { panic!() };
        outputs.send("sum", &Value::Float(factor * (a + b.iter().sum::<f64>())), None)
    }
}

/// Sends the two rows of the array that this rank has.
fn rows() -> Result<(), Error> {
    let mut instance = Instance::new(Some(&Ports::new().with(Operator::OI, "rows")))?;
    instance.reuse_instance()?;
    let first = 2 * u64::from(instance.rank());
    instance.map("rows", Part::Block { start: &[first, 0], shape: &[2, 6] })?;
    for step in 0..3u8 {
        let element = |i: u64| (10 * (first + i / 6) + i % 6) as f64 + 100.0 * f64::from(step);
        let part: Vec<f64> = (0..12).map(element).collect();
        let times = MessageTimes { timestamp: f64::from(step), next_timestamp: None };
        instance.send_array("rows", times, ArrayRef::from_slice(&part, &[2, 6], ArrayOrder::RowMajor), None)?;
    }
    instance.finish()
}

/// Receives the part of the array that belongs to this rank.
fn part() -> Result<(), Error> {
    let mut instance = Instance::new(Some(&Ports::new().with(Operator::S, "part")))?;
    instance.reuse_instance()?;
    let whole = instance.array_shape("part")?.unwrap_or_default();
    println!("array {} {}", whole[0], whole[1]);
    match instance.rank() {
        0 => instance.map("part", Part::Range { begin: 3, end: 9 })?,
        1 => instance.map("part", Part::List(&[23, 0, 7]))?,
        _ => instance.map("part", Part::Block { start: &[1, 2], shape: &[3, 4] })?,
    }
    for _ in 0..3 {
        let message = instance.receive("part", None)?;
        let values = message.array()?.as_slice::<f64>().expect("doubles");
        let sum: f64 = values.iter().zip(1u8..).map(|(value, weight)| value * f64::from(weight)).sum();
        println!("part {}", sum as i32);
    }
    instance.finish()
}

/// Sends three events in each tick.
fn pulse() -> Result<(), Error> {
    let mut instance = Instance::new(Some(&Ports::new().with(Operator::OI, "spikes")))?;
    instance.reuse_instance()?;
    for step in 0..3 {
        let (now, first) = (instance.time()?, 10 * step + instance.rank() as i32);
        instance.insert_event("spikes", now, first)?;
        instance.insert_events("spikes", &[now + 0.000_25, now + 0.0005], &[first + 2, first + 4])?;
        instance.tick()?;
    }
    instance.finish()
}

/// Prints the sum of the events that are delivered in each tick.
fn count() -> Result<(), Error> {
    let mut instance = Instance::new(Some(&Ports::new().with(Operator::S, "input")))?;
    instance.reuse_instance()?;
    for _ in 0..3 {
        let (mut sum, mut time) = (0, 0.0);
        instance.tick()?;
        while let Some(batch) = instance.events("input")? {
            sum += batch.ids().iter().sum::<i32>();
            time += batch.times().iter().sum::<f64>();
        }
        println!("tick {:.0} ids {sum} times {:.0}", 1e6 * instance.time()?, 1e6 * time);
    }
    instance.finish()
}

fn main() -> Result<(), Error> {
    match std::env::args().nth(1).as_deref() {
        Some("giver") => giver(),
        Some("rows") => rows(),
        Some("part") => part(),
        Some("pulse") => pulse(),
        Some("count") => count(),
        Some("mapper") => run_mapper(Scale),
        Some("taker") => {
            let ports = Ports::new().with(Operator::S, "deal[]").with(Operator::OI, "back[]");
            run_submodel(&mut Instance::new(Some(&ports))?, &mut Taker { done: false })
        }
        _ => run_light(|_| Ok(Taker { done: true })),
    }
}
