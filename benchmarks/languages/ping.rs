//! Rust: as ping.c.

use ligament_instance::{Array, DType, Instance, Order, Outgoing, Value};
use std::fmt::Write;
use std::time::Instant;

fn give(instance: &mut Instance, data: &Value) {
    instance.send("out", &Outgoing::at(0.0, data), None).expect("sent");
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
    let data = match count {
        0 => Value::None,
        _ => {
            let zeros = vec![0; bytes as usize].into();
            Value::Array(Array::new(DType::Float64, &[count], Order::RowMajor, zeros, None).expect("an array"))
        }
    };
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
