//! Measures each filter beside the same loop written by hand: `measure BYTES REPETITIONS`. Both read an array
//! of doubles that another owner holds, and make a new one. Prints a line of JSON for each filter: its name,
//! and for each repetition the time of one message in ns, through the filter and by hand.
//! `benchmarks/filters` runs this program.

use ligament_filters::{Chain, Data, FilterContext, Parcel};
use ligament_model::Filter;
use ligament_wire::{Array, ArrayOrder, Encoder, Value};
use std::hint::black_box;
use std::time::Instant;

/// The hand-written loop of a filter. The second argument is the number of elements in a row of the array.
type ByHand = fn(&[f64], usize) -> Vec<f64>;

fn multiply(x: &[f64], _: usize) -> Vec<f64> {
    x.iter().map(|x| x * 2.5).collect()
}

fn unit(x: &[f64], _: usize) -> Vec<f64> {
    x.iter().map(|x| x + 273.15).collect()
}

fn threshold(x: &[f64], _: usize) -> Vec<f64> {
    x.iter().map(|&x| if x < 0.5 { 0.0 } else { x }).collect()
}

/// Makes an array for each operation, as NumPy does. Users would otherwise write such expressions in NumPy.
fn expression(x: &[f64], _: usize) -> Vec<f64> {
    let twice: Vec<f64> = x.iter().map(|x| 2.0 * x).collect();
    let squares: Vec<f64> = x.iter().map(|x| x * x).collect();
    black_box(&twice).iter().zip(black_box(&squares)).map(|(a, b)| a + b).collect()
}

fn single(x: &[f64], _: usize) -> Vec<f64> {
    // The result has another type than that of `ByHand`, so it is dropped here.
    let all: Vec<f32> = x.iter().map(|&x| x as f32).collect();
    black_box(all);
    Vec::new()
}

fn columns(x: &[f64], row: usize) -> Vec<f64> {
    x.chunks_exact(row).flat_map(|row| row[..row.len() / 2].iter().copied()).collect()
}

fn sum(x: &[f64], _: usize) -> Vec<f64> {
    let mut sums = [0.0; 8];
    for chunk in x.chunks_exact(8) {
        sums.iter_mut().zip(chunk).for_each(|(sum, x)| *sum += x);
    }
    vec![sums.iter().sum()]
}

fn halves(x: &[f64], row: usize) -> Vec<f64> {
    let mut all = Vec::with_capacity(x.len() / 2);
    for pair in x.chunks_exact(2 * row) {
        let (one, other) = pair.split_at(row);
        all.extend(one.iter().zip(other).map(|(a, b)| 0.5 * a + 0.5 * b));
    }
    all
}

fn doubles(x: &[f64], row: usize) -> Vec<f64> {
    let mut all = Vec::with_capacity(2 * x.len());
    let rows: Vec<&[f64]> = x.chunks_exact(row).collect();
    for pair in rows.windows(2) {
        all.extend_from_slice(pair[0]);
        all.extend(pair[0].iter().zip(pair[1]).map(|(a, b)| 0.5 * a + 0.5 * b));
    }
    all.extend_from_slice(rows[rows.len() - 1]);
    all
}

/// Calls the compression library directly, on the bytes of the elements.
fn lz4(x: &[f64], _: usize) -> Vec<f64> {
    let bytes: &[u8] = bytemuck::cast_slice(x);
    let mut out = vec![0; lz4_flex::block::get_maximum_output_size(bytes.len())];
    black_box(lz4_flex::block::compress_into(bytes, &mut out).unwrap_or_default());
    Vec::new()
}

fn zstd(x: &[f64], _: usize) -> Vec<f64> {
    black_box(zstd::bulk::compress(bytemuck::cast_slice(x), 3).unwrap_or_default());
    Vec::new()
}

const FILTERS: [(&str, &str, ByHand); 12] = [
    ("multiply", "[{multiply: 2.5}]", multiply),
    ("unit", "[{unit: {from: degC, to: K}}]", unit),
    ("threshold", "[{threshold: 0.5}]", threshold),
    ("expression", "[{expression: 2 * x + x * x}]", expression),
    ("type", "[{type: float32}]", single),
    ("slice", "[{slice: \":, :HALF\"}]", columns),
    ("reduce", "[{reduce: sum}]", sum),
    ("resample", "[{resample: {shape: [LESS, ROW], method: conservative}}]", halves),
    ("interpolate_space", "[{interpolate_space: {parts: 2, axis: 0}}]", doubles),
    ("compress lz4", "[{compress: lz4}]", lz4),
    ("compress zstd", "[{compress: zstd}]", zstd),
    ("chain of three", "[{multiply: 2.5}, {threshold: 0.5}, {unit: {from: m, to: km}}]", chain_of_three),
];

fn chain_of_three(x: &[f64], _: usize) -> Vec<f64> {
    let mut all: Vec<f64> = x.iter().map(|x| x * 2.5).collect();
    all.iter_mut().for_each(|x| *x = if *x < 0.5 { 0.0 } else { *x });
    all.iter_mut().for_each(|x| *x *= 1e-3);
    all
}

/// Returns the time of one call in ns, as the mean of calls that take about 20 ms together.
fn time(mut call: impl FnMut()) -> f64 {
    call();
    let began = Instant::now();
    call();
    let one = began.elapsed().as_nanos().max(50);
    let calls = (20_000_000 / one).clamp(3, 200_000) as u32;
    let began = Instant::now();
    for _ in 0..calls {
        call();
    }
    began.elapsed().as_nanos() as f64 / f64::from(calls)
}

fn main() {
    let words: Vec<usize> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let [bytes, repetitions] = words[..] else {
        eprintln!("usage: measure BYTES REPETITIONS");
        std::process::exit(2);
    };
    // The array has an even number of rows of at most 64 elements.
    let row = 64.min(bytes / 16).max(2);
    let rows = (bytes / 8 / row).next_multiple_of(2).max(2);
    let elements: Vec<f64> = (0..rows * row).map(|i| (i as f64 * 0.001).sin()).collect();
    let array = Array::from_slice(&elements, &[rows, row], ArrayOrder::RowMajor).expect("a shape that can be");
    let mut encoder = Encoder::new();
    assert!(encoder.plan(&(&Value::Array(array.clone())).into()).is_ok());
    for (name, text, by_hand) in FILTERS {
        let text = text.replace("LESS", &(rows / 2).to_string());
        let text = text.replace("ROW", &row.to_string()).replace("HALF", &(row / 2).to_string());
        let filters = Filter::read(&text).expect("filters that can be");
        let at_sender = Chain::at_sender(&filters, &FilterContext::NOTHING).expect("filters that can be");
        let mut chain = at_sender
            .or_else(|| Chain::at_receiver(&filters, &FilterContext::NOTHING).ok().flatten())
            .expect("some filters");
        let (mut filtered, mut own) = (Vec::new(), Vec::new());
        for _ in 0..repetitions {
            filtered.push(time(|| {
                let data = Data::Kept(Value::Array(array.clone()));
                let passed = chain.apply(Parcel { timestamp: 0.0, next_timestamp: None, data });
                black_box(passed.expect("a message that the filter takes"));
            }));
            own.push(time(|| drop(black_box(by_hand(black_box(&elements), row)))));
        }
        println!("{{\"filter\": \"{name}\", \"ns\": {filtered:?}, \"by_hand\": {own:?}}}");
    }
}
