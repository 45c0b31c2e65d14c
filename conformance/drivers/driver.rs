//! The driver in Rust. It receives messages, rebuilds them, and sends them on; README.md describes the ways.

use ligament_instance::{
    Array, ArrayMeta, ArrayMut, ArrayOrder, ArrayRef, DType, Error, ErrorKind, Expected, Instance, Message,
    MessageTimes, Operator, Outgoing, SettingType, SettingValue, Value, ValueRef, Wait,
};

fn text(map: &Value, key: &str) -> String {
    match entry(map, key) {
        Some(Value::String(text)) => text.clone(),
        other => panic!("{key} is {other:?}"),
    }
}

fn entry<'a>(map: &'a Value, key: &str) -> Option<&'a Value> {
    let Value::Map(entries) = map else { panic!("{map:?} is no map") };
    entries.iter().find(|(name, _)| name == key).map(|(_, value)| value)
}

/// Returns the elements without gaps, in the order of the array.
fn packed(array: &Array) -> Vec<u8> {
    let (size, strides) = (array.dtype().size(), array.strides());
    let mut bytes = Vec::with_capacity(array.len() as usize * size);
    each(array.shape(), array.order(), |index| {
        let at = index.iter().zip(&strides).map(|(&i, &stride)| i as i64 * stride).sum::<i64>() as usize;
        bytes.extend_from_slice(&array.data()[at..at + size]);
    });
    bytes
}

/// Calls `visit` with the index of each element, in the order of the elements in memory.
fn each(shape: &[u64], order: ArrayOrder, mut visit: impl FnMut(&[u64])) {
    if shape.contains(&0) {
        return;
    }
    let mut index = vec![0; shape.len()];
    let axes: Vec<usize> = match order {
        ArrayOrder::RowMajor => (0..shape.len()).rev().collect(),
        ArrayOrder::ColumnMajor => (0..shape.len()).collect(),
    };
    loop {
        visit(&index);
        let Some(&axis) = axes.iter().find(|&&axis| index[axis] + 1 < shape[axis]) else { return };
        for &before in axes.iter().take_while(|&&before| before != axis) {
            index[before] = 0;
        }
        index[axis] += 1;
    }
}

fn rebuilt(value: &Value) -> Value {
    match value {
        Value::Array(array) => {
            let meta = ArrayMeta {
                names: array.names().to_vec(),
                unit: array.unit().map(str::to_owned),
                strides: None,
            };
            let bytes = packed(array).into();
            Value::Array(
                Array::new(array.dtype(), array.shape(), array.order(), bytes, Some(meta)).expect("an array"),
            )
        }
        Value::List(items) => Value::List(items.iter().map(rebuilt).collect()),
        Value::Map(entries) => {
            Value::Map(entries.iter().map(|(key, value)| (key.clone(), rebuilt(value))).collect())
        }
        Value::Bytes(bytes) => Value::Bytes(bytes.to_vec().into()),
        plain => plain.clone(),
    }
}

fn as_value(setting: SettingValue) -> Value {
    let floats = |list: Vec<f64>| Value::List(list.into_iter().map(Value::Float).collect());
    match setting {
        SettingValue::Bool(value) => Value::Bool(value),
        SettingValue::Int(value) => Value::Int(value),
        SettingValue::Float(value) => Value::Float(value),
        SettingValue::Str(value) => Value::String(value),
        SettingValue::IntList(list) => Value::List(list.into_iter().map(Value::Int).collect()),
        SettingValue::FloatList(list) => floats(list),
        SettingValue::FloatListList(rows) => Value::List(rows.into_iter().map(floats).collect()),
    }
}

fn setting_type(name: &str) -> SettingType {
    match name {
        "bool" => SettingType::Bool,
        "int" => SettingType::Int,
        "float" => SettingType::Float,
        "string" => SettingType::Str,
        "int_list" => SettingType::IntList,
        "float_list" => SettingType::FloatList,
        _ => SettingType::FloatListList,
    }
}

/// Receives into an array of this program.
fn into(
    instance: &mut Instance,
    port: &str,
    dtype: DType,
    shape: &[u64],
    order: ArrayOrder,
) -> Result<(MessageTimes, Vec<u8>), Error> {
    let count: u64 = shape.iter().product();
    let mut bytes = vec![0; count as usize * dtype.size()];
    let times = instance.receive_into(
        port,
        None,
        Wait::Forever,
        &mut ArrayMut { dtype, shape, order, data: &mut bytes },
    )?;
    Ok((times, bytes))
}

fn contiguous<'a>(dtype: DType, shape: &'a [u64], order: ArrayOrder, data: &'a [u8]) -> ArrayRef<'a> {
    ArrayRef { dtype, shape, strides: None, order, data, offset: 0, names: &[], unit: None }
}

/// Sends the elements as every second element of an array with twice the length in each dimension.
fn send_strided(instance: &mut Instance, out: &str, times: MessageTimes, array: &Array) -> Result<(), Error> {
    let size = array.dtype().size();
    let mut strides = vec![0; array.ndim()];
    let mut span = size;
    for axis in (0..array.ndim()).rev() {
        strides[axis] = 2 * span as i64;
        span *= 2 * array.shape()[axis] as usize;
    }
    let mut roomy = vec![0; span];
    let (source, packed) = (array.strides(), array.data());
    each(array.shape(), ArrayOrder::RowMajor, |index| {
        let place = |strides: &[i64]| {
            index.iter().zip(strides).map(|(&i, stride)| i as i64 * stride).sum::<i64>() as usize
        };
        roomy[place(&strides)..][..size].copy_from_slice(&packed[place(&source)..][..size]);
    });
    let last: i64 =
        array.shape().iter().zip(&strides).map(|(&extent, stride)| (extent as i64 - 1) * stride).sum();
    let data = if array.is_empty() { &roomy[..0] } else { &roomy[..last as usize + size] };
    let section = ArrayRef {
        strides: Some(&strides),
        data,
        ..contiguous(array.dtype(), array.shape(), ArrayOrder::RowMajor, data)
    };
    instance.send_array(out, times, section, None)
}

/// Receives an array, and checks it against the expected type and shape.
fn taken(instance: &mut Instance, port: &str, expected: Expected<'_>) -> Result<(), Error> {
    instance.receive(port, None)?.array_as(&expected).map(drop)
}

/// Makes the wrong call, and returns the name and the text of the error.
fn mistake(instance: &mut Instance, call: &str, port: &str, out: &str) -> Value {
    let none = Value::None;
    let result = match call {
        "send_unknown_port" => instance.send("nowhere", &Outgoing::at(0.0, &none), None),
        "receive_unknown_port" => instance.receive("nowhere", None).map(drop),
        "send_on_receiving_port" => instance.send(port, &Outgoing::at(0.0, &none), None),
        "setting_unset" => instance.get_setting("absent", Some(SettingType::Float)).map(drop),
        "setting_type" => instance.get_setting("text", Some(SettingType::Float)).map(drop),
        "into_wrong_shape" => into(instance, port, DType::Float64, &[5], ArrayOrder::RowMajor).map(drop),
        "into_wrong_type" => into(instance, port, DType::Int32, &[3], ArrayOrder::RowMajor).map(drop),
        "array_wrong_shape" => {
            taken(instance, port, Expected { shape: Some(&[Some(4)]), ..Expected::default() })
        }
        "array_wrong_type" => {
            taken(instance, port, Expected { dtype: Some(DType::Int32), ..Expected::default() })
        }
        "send_not_a_time" => instance.send(out, &Outgoing::at(f64::NAN, &none), None),
        unknown => panic!("no such mistake: {unknown}"),
    };
    let (status, text) = match &result {
        Ok(()) => ("none", String::new()),
        Err(error) => (
            match error.kind() {
                ErrorKind::Usage => "usage",
                ErrorKind::Unexpected => "unexpected",
                ErrorKind::SettingUnset => "setting_unset",
                ErrorKind::SettingType => "setting_type",
                _ => "other",
            },
            error.to_string(),
        ),
    };
    let entry = |key: &str, value: String| (key.to_owned(), Value::String(value));
    Value::Map(vec![entry("status", status.into()), entry("text", text)])
}

/// Sends a rebuilt message in the way that the case asks for.
fn send_made(instance: &mut Instance, out: &str, how: &Value, message: &Message) -> Result<(), Error> {
    let times = message.times();
    let data = match text(how, "way").as_str() {
        "value" | "any" => rebuilt(&message.data),
        "default" => {
            let otherwise = match instance.receive_if_connected("nothing", None, Wait::Forever)? {
                Some(message) => rebuilt(&message.data),
                None => Value::String("nothing came".into()),
            };
            Value::Map(vec![("came".into(), rebuilt(&message.data)), ("otherwise".into(), otherwise)])
        }
        "setting" => {
            as_value(instance.get_setting(&text(how, "name"), Some(setting_type(&text(how, "type"))))?)
        }
        "strided" => return send_strided(instance, out, times, message.array()?),
        "loan" => {
            let array = message.array()?;
            let mut loan = instance.loan(array.dtype(), array.shape(), array.order())?;
            loan.bytes_mut().copy_from_slice(&packed(array));
            return instance.send_loan(out, times, loan, None);
        }
        _ => {
            let array = message.array()?;
            let bytes = packed(array);
            let own = contiguous(array.dtype(), array.shape(), array.order(), &bytes);
            return instance.send_array(out, times, own, None);
        }
    };
    let outgoing = Outgoing {
        timestamp: times.timestamp,
        next_timestamp: times.next_timestamp,
        data: ValueRef::Owned(&data),
        settings: None,
    };
    instance.send(out, &outgoing, None)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut instance = Instance::new(None)?;
    let ports = instance.list_ports();
    let named = |operator: Operator| ports.get(operator.name()).cloned().unwrap_or_default();
    let (receiving, sending) = (named(Operator::FInit), named(Operator::OF));
    while instance.reuse_instance()? {
        let how = instance.receive("how", None)?.data;
        for port in receiving.iter().filter(|port| *port != "how") {
            let outs: Vec<&String> =
                sending.iter().filter(|out| out.starts_with(&format!("{port}_"))).collect();
            match text(&how, "way").as_str() {
                "into" => {
                    let name = text(&how, "dtype");
                    let dtype = DType::ALL.into_iter().find(|dtype| dtype.name() == name).expect("a type");
                    let order =
                        if text(&how, "order") == "F" { ArrayOrder::ColumnMajor } else { ArrayOrder::RowMajor };
                    let Some(Value::List(shape)) = entry(&how, "shape") else { panic!("no shape") };
                    let shape: Vec<u64> = shape
                        .iter()
                        .map(|extent| if let Value::Int(extent) = extent { *extent as u64 } else { panic!() })
                        .collect();
                    let (times, bytes) = into(&mut instance, port, dtype, &shape, order)?;
                    for out in outs {
                        instance.send_array(
                            out.as_str(),
                            times,
                            contiguous(dtype, &shape, order, &bytes),
                            None,
                        )?;
                    }
                }
                "error" => {
                    let call = text(&how, "call");
                    if !call.starts_with("into_") && !call.starts_with("array_") {
                        instance.receive(port.as_str(), None)?;
                    }
                    let answer = mistake(&mut instance, &call, port, outs[0]);
                    for out in outs {
                        instance.send(out.as_str(), &Outgoing::at(0.0, &answer), None)?;
                    }
                }
                way => {
                    let port = port.as_str();
                    let message = match way {
                        "any" => instance.receive_any(&[(port, None)], Wait::Forever)?.1,
                        "default" => {
                            let came = instance.receive_if_connected(port, None, Wait::Forever)?;
                            came.expect("it is connected")
                        }
                        _ => instance.receive(port, None)?,
                    };
                    for out in outs {
                        send_made(&mut instance, out, &how, &message)?;
                    }
                }
            }
        }
    }
    Ok(())
}
