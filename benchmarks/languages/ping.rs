//! Rust: does the same as ping.c.

use ligament_instance::{ArrayRef, Instance, ArrayOrder, Outgoing, MessageTimes, Value};
use std::fmt::Write;
use std::time::Instant;

fn give(instance: &mut Instance, data: &[f64]) {
    let sent = match data.len() {
        0 => instance.send("out", &Outgoing::at(0.0, &Value::None), None),
        count => {
            let shape = [count as u64];
            let array = ArrayRef::from_slice(data, &shape, ArrayOrder::RowMajor);
            instance.send_array("out", MessageTimes { timestamp: 0.0, next_timestamp: None }, array, None)
        }
    };
    sent.expect("sent");
}

fn take(instance: &mut Instance, count: u64) {
    let message = instance.receive("in", None).expect("received");
    match &message.data {
        Value::Array(array) => assert_eq!(array.shape(), [count]),
        _ => assert_eq!(count, 0),
    }
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let [_, side, bytes, rounds, file] = words.as_slice() else { panic!("ping a|b BYTES ROUNDS FILE") };
    let bytes: u64 = bytes.parse().expect("a number");
    let rounds: usize = rounds.parse().expect("a number");
    let count = bytes / 8;
    let data = vec![0.0; count as usize];
    let mut instance = Instance::new(None).expect("a run");
    instance.reuse_instance().expect("a run");
    let mut times = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        if side == "a" {
            let began = Instant::now();
            give(&mut instance, &data);
            take(&mut instance, count);
            times.push(began.elapsed().as_nanos());
        } else {
            take(&mut instance, count);
            give(&mut instance, &data);
        }
    }
    if side == "a" {
        let mut text = String::new();
        for time in times {
            writeln!(text, "{time}").expect("a text");
        }
        std::fs::write(file, text).expect("a file");
    }
}
