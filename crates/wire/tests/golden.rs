//! Compares every kind of message and of value with the golden files of version 1.
//!
//! A missing file is written if `LIGAMENT_WRITE_GOLDEN` is set. An existing file is never overwritten.

use std::path::Path;

use ligament_wire::Bytes;
use ligament_wire::*;

fn header() -> Header {
    Header {
        conduit: 0x0102_0304,
        sequence: 0x1112_1314_1516_1718,
        timestamp: 1.5,
        next_timestamp: Some(2.5),
        ticks: Some(1500),
        next_ticks: Some(-2500),
        overlay: 0x2122_2324,
        epoch: 0x3132,
        ..Header::default()
    }
}

fn every_value() -> Value {
    let meta = ArrayMeta { names: vec!["x".into()], unit: Some("K".into()), strides: None };
    let array =
        Array::new(DType::Float32, &[2], ArrayOrder::ColumnMajor, Bytes::from(vec![1; 8]), Some(meta)).unwrap();
    let entries = [
        ("none", Value::None),
        ("bool", Value::Bool(true)),
        ("small", Value::Int(-1)),
        ("int", Value::Int(i64::MIN)),
        ("uint", Value::UInt(u64::MAX)),
        ("float", Value::Float(0.1)),
        ("complex", Value::Complex(1.0, -2.0)),
        ("text", Value::String("µm".into())),
        ("short bytes", Value::Bytes(Bytes::from_static(b"bytes"))),
        ("long bytes", Value::Bytes(Bytes::from(vec![0xab; 64]))),
        ("list", Value::List(vec![Value::Int(23), Value::Int(24), Value::Float(f64::INFINITY)])),
        ("array", Value::Array(array)),
        ("settings", settings()),
    ];
    Value::Map(entries.into_iter().map(|(key, value)| (key.to_string(), value)).collect())
}

fn settings() -> Value {
    let settings = [
        ("bool", SettingValue::Bool(false)),
        ("int", SettingValue::Int(1000)),
        ("float", SettingValue::Float(2.0)),
        ("text", SettingValue::String("upwind".into())),
        ("ints", SettingValue::IntList(vec![1, -1])),
        ("floats", SettingValue::FloatList(vec![1.0, 0.5])),
        ("grid", SettingValue::FloatGrid(vec![vec![1.0], vec![]])),
    ];
    Value::Settings(settings.into_iter().map(|(name, value)| (name.to_string(), value)).collect())
}

fn check(name: &str, mut header: Header, value: &Value) {
    let mut encoder = Encoder::new();
    let plan = encoder.plan(&ValueRef::Owned(value)).unwrap();
    header.parts = plan.parts();
    header.body_len = plan.body_len();
    let mut bytes = header.to_bytes().to_vec();
    bytes.resize(64 + plan.body_len() as usize, 0xee);
    plan.write_body(&mut bytes[64..]);

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/v1/{name}.bin"));
    if !path.exists() && std::env::var_os("LIGAMENT_WRITE_GOLDEN").is_some() {
        std::fs::write(&path, &bytes).unwrap();
    }
    let golden = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if let Some(at) = (0..golden.len().max(bytes.len())).find(|&at| golden.get(at) != bytes.get(at)) {
        panic!("{name}: byte {at} is not as in version 1; a change of the format needs a new version");
    }
    assert_eq!(Header::from_bytes(&golden).unwrap(), header, "{name}");
    let body = Bytes::from(golden).slice(64..);
    assert_eq!(&decode_body(header.parts, body, &Limits::default()).unwrap(), value, "{name}");
}

#[test]
fn every_kind_of_message_has_the_bytes_of_version_1() {
    check("data", header(), &every_value());
    check("data-without-value", Header { next_timestamp: None, next_ticks: None, ..header() }, &Value::None);
    check(
        "end",
        Header { kind: MessageKind::End, next_timestamp: None, ticks: None, next_ticks: None, ..header() },
        &Value::None,
    );
    check("overlay", Header { kind: MessageKind::Overlay, ..header() }, &settings());
    let events = Value::Map(vec![(
        "spikes".into(),
        Array::from_slice(&[1_u64, 2], &[2], ArrayOrder::RowMajor).unwrap().into(),
    )]);
    check("pass-end", Header { kind: MessageKind::PassEnd, ..header() }, &events);
    check("checkpoint", Header { kind: MessageKind::Checkpoint, ..header() }, &Value::Int(7));
    check(
        "slot",
        Header { kind: MessageKind::Slot, ..header() },
        &Value::List(vec![Value::Int(3), Value::Int(5)]),
    );
    check(
        "milestone",
        Header { kind: MessageKind::Milestone, ..header() },
        &Value::List(vec![Value::Int(2), Value::Int(0)]),
    );
    check("route", Header { kind: MessageKind::Route, ..header() }, &Value::List(vec![Value::Int(1)]));
    check(
        "carrier",
        Header { kind: MessageKind::Carrier, carrier_flags: flags::STREAM, stamp: 0x7f, ..header() },
        &Value::None,
    );
    check("compressed", Header { compressed: true, kind: MessageKind::Skip(64), ..header() }, &Value::None);
}

#[test]
fn every_element_type_has_the_bytes_of_version_1() {
    for (index, dtype) in DType::ALL.into_iter().enumerate() {
        assert_eq!(dtype as usize, index + 1);
        let order = if index % 2 == 0 { ArrayOrder::RowMajor } else { ArrayOrder::ColumnMajor };
        let data: Vec<u8> =
            (0..3 * dtype.size()).map(|byte| if dtype == DType::Bool { 1 } else { byte as u8 }).collect();
        let array = Array::new(dtype, &[3, 1], order, Bytes::from(data), None).unwrap();
        check(&format!("array-{}", dtype.name()), header(), &Value::Array(array));
    }
}
