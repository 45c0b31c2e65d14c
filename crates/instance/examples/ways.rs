//! Makes a series of calls on an instance and writes down the result of each. A seed determines the series.
//! `tests/ways` makes the same series twice, with the fast way for ordinary messages and with the general way
//! for all, and compares the results.
//!
//! `left` sends and `right` receives. Both use the same seed, so `right` knows which messages come.

use ligament_instance::{
    Array, ArrayMut, ArrayOrder, ArrayRef, DType, Error, Instance, Message, MessageTimes, Operator, Outgoing,
    Ports, SettingType, SettingValue, Settings, Value, ValueRef, Wait,
};
use ligament_model::Reference;
use std::fmt::Debug;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::time::Duration;

/// Numbers of elements of the arrays: small arrays, several classes of blocks, and one that is too large to be
/// ordinary.
const COUNTS: [usize; 6] = [1, 30, 128, 1000, 8192, 40_000];

/// Draws numbers (xorshift; Marsaglia, Journal of Statistical Software 8(14), 2003).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
}

/// A message of the series, and the way in which it is sent and received.
struct Draft {
    times: MessageTimes,
    count: usize,
    how: usize,
    unusual: usize,
    receive: usize,
}

impl Draft {
    fn draw(random: &mut Random, step: usize) -> Draft {
        let timestamp = step as f64;
        let next_timestamp = (random.below(2) == 0).then_some(timestamp + 1.0);
        let usual = random.below(3) > 0;
        let count = if usual { 128 } else { COUNTS[random.below(COUNTS.len())] };
        let times = MessageTimes { timestamp, next_timestamp };
        Draft { times, count, how: random.below(8), unusual: random.below(12), receive: random.below(6) }
    }

    fn elements(&self) -> Vec<u64> {
        (0..self.count as u64).map(|i| i * 31 + self.times.timestamp as u64).collect()
    }
}

/// The file with the result of each call.
struct Trace(BufWriter<File>);

impl Trace {
    fn note(&mut self, step: usize, what: &str, came: impl Debug) {
        writeln!(self.0, "{step} {what}: {came:?}").expect("the trace can be written");
    }
}

fn send(instance: &mut Instance, draft: &Draft, settings: &Settings) -> Result<(), Error> {
    let MessageTimes { timestamp, next_timestamp } = draft.times;
    let (data, shape) = (draft.elements(), [draft.count as u64]);
    let array = ArrayRef::from_slice(&data, &shape, ArrayOrder::RowMajor);
    let outgoing = |data, settings| Outgoing { timestamp, next_timestamp, data, settings };
    match draft.how {
        0 => instance.send("out", &outgoing(ValueRef::None, None), None),
        1 => instance.send("out", &outgoing(ValueRef::Array(array), None), None),
        2 => {
            let mut loan = instance.loan(DType::UInt64, &shape, ArrayOrder::RowMajor)?;
            let bytes: Vec<u8> = data.iter().flat_map(|each| each.to_ne_bytes()).collect();
            loan.bytes_mut().copy_from_slice(&bytes);
            instance.send_loan("out", draft.times, loan, None)
        }
        3 if draft.unusual < 6 => instance.send("out", &outgoing(ValueRef::Array(array), Some(settings)), None),
        4 => {
            let axes = ["x".to_owned()];
            instance.send_array("out", draft.times, ArrayRef { names: &axes, unit: Some("mm"), ..array }, None)
        }
        _ => instance.send_array("out", draft.times, array, None),
    }
}

/// Makes a call that must be refused, or must do nothing, on either way.
fn wrong_send(instance: &mut Instance, draft: &Draft) -> Option<Result<(), Error>> {
    let array = ArrayRef::from_slice(&[1u64], &[1], ArrayOrder::RowMajor);
    let at = |timestamp, next_timestamp| MessageTimes { timestamp, next_timestamp };
    let earlier = at(draft.times.timestamp, Some(draft.times.timestamp - 1.0));
    let short = ArrayRef { shape: &[2], ..array };
    Some(match draft.unusual {
        0 => instance.send_array("in", draft.times, array, None),
        1 => instance.send_array("nowhere", draft.times, array, None),
        2 => instance.send_array("out", at(f64::NAN, None), array, None),
        3 => instance.send_array("out", earlier, array, None),
        4 => instance.send_array("out", draft.times, array, Some(0)),
        5 => instance.send_array("free", draft.times, array, None),
        6 => instance.send_array("out", draft.times, short, None),
        _ => return None,
    })
}

fn receive(instance: &mut Instance, draft: &Draft, trace: &mut Trace, step: usize, kept: &mut Vec<Array>) {
    let shape = [if draft.unusual == 1 { 7 } else { draft.count as u64 }];
    let wait = if draft.unusual == 2 { Wait::AtMost(Duration::from_secs(60)) } else { Wait::Forever };
    if draft.receive < 2 {
        let mut data = vec![0; 8 * shape[0] as usize];
        let mut into =
            ArrayMut { dtype: DType::UInt64, shape: &shape, order: ArrayOrder::RowMajor, data: &mut data };
        let came = instance.receive_into("in", None, wait, &mut into);
        // After an error, the array may hold a part of the message.
        let sum = came.is_ok().then(|| data.iter().map(|&byte| u64::from(byte)).sum::<u64>());
        trace.note(step, "into", (came, sum));
        return;
    }
    if draft.receive == 2 {
        trace.note(step, "poll", instance.wait_any(&[("in", None)], wait));
    }
    match instance.receive_within("in", None, wait) {
        Ok(message) => {
            let Message { timestamp, next_timestamp, data, settings, .. } = message;
            trace.note(step, "view", (timestamp, next_timestamp, &data, settings));
            if let (Value::Array(array), true) = (data, draft.receive == 3) {
                kept.push(array);
            }
        }
        Err(error) => trace.note(step, "view", error),
    }
}

fn wrong_receive(instance: &mut Instance, draft: &Draft) -> Option<Result<Message, Error>> {
    Some(match draft.unusual {
        0 => instance.receive("out", None),
        1 => instance.receive("nowhere", None),
        3 => instance.receive("in", Some(0)),
        4 => instance.receive("unheard", None),
        _ => return None,
    })
}

fn main() -> Result<(), Error> {
    let ports = Ports::new()
        .with(Operator::OI, "out")
        .with(Operator::OI, "free")
        .with(Operator::S, "in")
        .with(Operator::S, "unheard");
    let mut instance = Instance::new(Some(&ports))?;
    let number = |name: &str| match instance.get_setting(name, Some(SettingType::Int)) {
        Ok(SettingValue::Int(value)) => Ok(value as u64),
        Ok(other) => panic!("{name} is {other:?}"),
        Err(error) => Err(error),
    };
    let (seed, steps) = (number("seed")?, number("steps")? as usize);
    let generally = instance.get_setting("generally", Some(SettingType::Bool))? == SettingValue::Bool(true);
    if generally {
        instance.take_the_general_way();
    }
    let mut trace = Trace(BufWriter::new(File::create("trace").expect("the trace can be made")));
    let mut random = Random((seed * 0x9e37_79b9_7f4a_7c15) | 1);
    let mut overlay = Settings::new();
    overlay.set(Reference::new("gain").expect("a name"), SettingValue::Float(2.0));
    let mut kept = Vec::new();
    let sends = instance.name() == "left";
    while instance.reuse_instance()? {
        for step in 0..steps {
            let draft = Draft::draw(&mut random, step);
            if sends {
                if let Some(refused) = wrong_send(&mut instance, &draft) {
                    trace.note(step, "wrong", refused);
                }
                trace.note(step, "send", send(&mut instance, &draft, &overlay));
            } else {
                if let Some(refused) = wrong_receive(&mut instance, &draft) {
                    trace.note(step, "wrong", refused.map(|message| message.data));
                }
                receive(&mut instance, &draft, &mut trace, step, &mut kept);
            }
        }
        if !sends {
            trace.note(steps, "after the end", instance.receive("in", None).map(|message| message.timestamp));
            trace.note(steps, "kept", &kept);
        }
    }
    Ok(())
}
