//! Conversion between values of messages and their form in a case file.
//!
//! Plain YAML stands for itself. A value that YAML does not have is a mapping with one key: `array`, `complex`,
//! `bytes` (base 64), or `uint`. A map of the user with such a key as its only key is written under the key
//! `map`, so that it is not mistaken.

use base64::prelude::{Engine, BASE64_STANDARD as BASE64};
use ligament_catalogue::Code;
use ligament_model::yaml::{YamlKind, YamlNode};
use ligament_model::{FieldReader, Fields};
use ligament_wire::{Array, ArrayMeta, ArrayOrder, DType, Value};
use std::fmt::Write;

const TYPE_KEYS: [&str; 5] = ["array", "complex", "bytes", "uint", "map"];

/// Reads the value of a node. If the node has no valid value, reports the problem and returns `None`.
pub(super) fn read_value(reader: &mut FieldReader, node: &YamlNode) -> Option<Value> {
    match &node.kind {
        YamlKind::Null => Some(Value::None),
        YamlKind::Bool(value, _) => Some(Value::Bool(*value)),
        YamlKind::Int(value, _) => Some(Value::Int(*value)),
        YamlKind::Float(value, _) => Some(Value::Float(*value)),
        YamlKind::Str(text) => Some(Value::String(text.clone())),
        YamlKind::Seq(items) => {
            items.iter().map(|item| read_value(reader, item)).collect::<Option<_>>().map(Value::List)
        }
        YamlKind::Map(pairs) => {
            if let [(key, value)] = pairs.as_slice() {
                match &key.kind {
                    YamlKind::Str(word) if word == "array" => {
                        return read_array(reader, value).map(Value::Array)
                    }
                    YamlKind::Str(word) if word == "complex" => return read_complex(reader, value),
                    YamlKind::Str(word) if word == "bytes" => return read_bytes(reader, value),
                    YamlKind::Str(word) if word == "uint" => return read_large(reader, value),
                    YamlKind::Str(word) if word == "map" => return read_map(reader, reader_pairs(value)),
                    _ => {}
                }
            }
            read_map(reader, pairs)
        }
    }
}

fn reader_pairs(node: &YamlNode) -> &[(YamlNode, YamlNode)] {
    match &node.kind {
        YamlKind::Map(pairs) => pairs,
        _ => &[],
    }
}

fn read_map(reader: &mut FieldReader, pairs: &[(YamlNode, YamlNode)]) -> Option<Value> {
    let mut entries = Vec::with_capacity(pairs.len());
    for (key, value) in pairs {
        entries.push((reader.key(key)?, read_value(reader, value)?));
    }
    Some(Value::Map(entries))
}

fn read_complex(reader: &mut FieldReader, node: &YamlNode) -> Option<Value> {
    match &node.kind {
        YamlKind::Seq(parts) if parts.len() == 2 => {
            let (real, imaginary) = (number(&parts[0])?, number(&parts[1])?);
            Some(Value::Complex(real, imaginary))
        }
        _ => {
            reader.error(
                Code::BAD_CASE,
                &node.at,
                "a complex number is a list of two numbers",
                "write [1.5, -2.0]",
            );
            None
        }
    }
}

fn read_bytes(reader: &mut FieldReader, node: &YamlNode) -> Option<Value> {
    let bytes = match &node.kind {
        YamlKind::Str(text) => BASE64.decode(text).ok(),
        YamlKind::Null => Some(Vec::new()),
        _ => None,
    };
    if bytes.is_none() {
        reader.error(
            Code::BAD_CASE,
            &node.at,
            "bytes are a text in base 64",
            "write them as base64 gives them",
        );
    }
    bytes.map(|bytes| Value::Bytes(bytes.into()))
}

/// Reads a whole number that does not fit into `i64`. It is written as a text of digits, because YAML's numbers
/// cannot hold it.
fn read_large(reader: &mut FieldReader, node: &YamlNode) -> Option<Value> {
    let large = match &node.kind {
        YamlKind::Str(digits) => digits.parse().ok(),
        YamlKind::Int(value, _) => u64::try_from(*value).ok(),
        _ => None,
    };
    if large.is_none() {
        let message = format!("{} is no whole number from 0 to {}", node.describe(), u64::MAX);
        reader.error(Code::BAD_CASE, &node.at, message, "write its digits in quotes");
    }
    large.map(|large| i64::try_from(large).map_or(Value::UInt(large), Value::Int))
}

/// Returns the number of a node as a double, for an element of an array.
fn number(node: &YamlNode) -> Option<f64> {
    match &node.kind {
        // A whole number that a double cannot hold exactly is refused.
        YamlKind::Int(value, _) => Some(*value as f64).filter(|&number| number as i128 == i128::from(*value)),
        YamlKind::Float(value, _) => Some(*value),
        YamlKind::Bool(value, _) => Some(f64::from(u8::from(*value))),
        _ => None,
    }
}

/// Converts a number to single precision. `None` if single precision cannot hold it.
fn single(number: f64) -> Option<f32> {
    Some(number as f32).filter(|single| single.is_finite() || !number.is_finite())
}

/// Reads an array: `{dtype: float64, data: [[1, 2], [3, 4]], shape: …, names: …, unit: …}`, or a list of
/// numbers.
fn read_array(reader: &mut FieldReader, node: &YamlNode) -> Option<Array> {
    const KEYS: &[&str] = &["dtype", "shape", "data", "names", "unit"];
    let fields: Fields<'_> = reader.mapping(node, "an array", KEYS);
    let dtype = match fields.get("dtype") {
        None => DType::Float64,
        Some(node) => {
            let name = reader.text(node, "the element type")?;
            let known = DType::ALL.into_iter().find(|dtype| dtype.name() == name);
            if known.is_none() {
                let names: Vec<&str> = DType::ALL.iter().map(|dtype| dtype.name()).collect();
                let advice = format!("use one of: {}", names.join(", "));
                reader.error(Code::BAD_CASE, &node.at, format!("there is no element type \"{name}\""), advice);
            }
            known?
        }
    };
    let mut shape = Vec::new();
    let mut elements = Vec::new();
    if let Some(data) = fields.get("data") {
        flatten(reader, data, 0, &mut shape, &mut elements)?;
    }
    if let Some(node) = fields.get("shape") {
        let YamlKind::Seq(extents) = &node.kind else {
            reader.error(Code::BAD_CASE, &node.at, "a shape is a list of whole numbers", "write [3, 4]");
            return None;
        };
        let nested = std::mem::take(&mut shape);
        shape = extents.iter().map(|extent| reader.count(extent, "an extent", 0)).collect::<Option<_>>()?;
        if nested.len() > 1 && nested != shape {
            let message =
                format!("the shape is {shape:?}, and the lists of the data have the shape {nested:?}");
            reader.error(Code::BAD_CASE, &node.at, message, "correct one of them, or leave the shape out");
            return None;
        }
    }
    let wanted = shape.iter().try_fold(1usize, |product, &extent| product.checked_mul(extent));
    if wanted != Some(elements.len()) {
        let message = format!("the shape {shape:?} does not take {} elements", elements.len());
        reader.error(Code::BAD_CASE, &node.at, message, "give as many elements as the shape has");
        return None;
    }
    let mut bytes = Vec::with_capacity(elements.len() * dtype.size());
    for element in elements {
        if put(dtype, element, &mut bytes).is_none() {
            let message = format!("{} is no {}", element.describe(), dtype.name());
            reader.error(Code::BAD_CASE, &element.at, message, "write a number that the element type can hold");
            return None;
        }
    }
    let mut meta = ArrayMeta { names: Vec::new(), unit: None, strides: None };
    if let Some(node) = fields.get("names") {
        let YamlKind::Seq(names) = &node.kind else {
            reader.error(Code::BAD_CASE, &node.at, "the names of dimensions are a list", "write [x, y]");
            return None;
        };
        meta.names = names.iter().map(|name| reader.text(name, "a dimension's name")).collect::<Option<_>>()?;
    }
    if let Some(node) = fields.get("unit") {
        meta.unit = Some(reader.text(node, "the unit")?);
    }
    let extents: Vec<u64> = shape.iter().map(|&extent| extent as u64).collect();
    match Array::new(dtype, &extents, ArrayOrder::RowMajor, bytes.into(), Some(meta)) {
        Ok(array) => Some(array),
        Err(error) => {
            reader.error(Code::BAD_CASE, &node.at, error.to_string(), "correct the array");
            None
        }
    }
}

/// Collects the elements of nested lists, the last index running fastest. The extents are those of the first
/// items.
fn flatten<'a>(
    reader: &mut FieldReader,
    node: &'a YamlNode,
    depth: usize,
    shape: &mut Vec<usize>,
    elements: &mut Vec<&'a YamlNode>,
) -> Option<()> {
    // In an array, a complex number may also be written as a list of two numbers. The mapping `{complex: [1,
    // 2]}` is an element too, and not a list of elements.
    let YamlKind::Seq(items) = &node.kind else {
        elements.push(node);
        return Some(());
    };
    if shape.len() == depth {
        shape.push(items.len());
    }
    if shape.get(depth) != Some(&items.len()) {
        let message = format!("{} items, where the first list on this level has {}", items.len(), shape[depth]);
        reader.error(Code::BAD_CASE, &node.at, message, "give all lists on one level the same length");
        return None;
    }
    items.iter().try_for_each(|item| flatten(reader, item, depth + 1, shape, elements))
}

/// Appends the bytes of an element. Returns `None` if its type cannot hold the value.
fn put(dtype: DType, node: &YamlNode, bytes: &mut Vec<u8>) -> Option<()> {
    macro_rules! whole {
        ($type:ty) => {{
            let value: i128 = match &node.kind {
                YamlKind::Int(value, _) => i128::from(*value),
                YamlKind::Str(digits) => digits.parse().ok()?,
                YamlKind::Bool(value, _) => i128::from(*value),
                _ => return None,
            };
            bytes.extend(<$type>::try_from(value).ok()?.to_ne_bytes())
        }};
    }
    let pair = || match &node.kind {
        YamlKind::Map(pairs) => match pairs.as_slice() {
            [(_, value)] => match &value.kind {
                YamlKind::Seq(parts) if parts.len() == 2 => Some((number(&parts[0])?, number(&parts[1])?)),
                _ => None,
            },
            _ => None,
        },
        _ => number(node).map(|real| (real, 0.0)),
    };
    match dtype {
        DType::Bool => bytes.push(u8::from(match &node.kind {
            YamlKind::Bool(value, _) => *value,
            YamlKind::Int(value @ (0 | 1), _) => *value == 1,
            _ => return None,
        })),
        DType::Int8 => whole!(i8),
        DType::Int16 => whole!(i16),
        DType::Int32 => whole!(i32),
        DType::Int64 => whole!(i64),
        DType::UInt8 => whole!(u8),
        DType::UInt16 => whole!(u16),
        DType::UInt32 => whole!(u32),
        DType::UInt64 => whole!(u64),
        DType::Float32 => bytes.extend(single(number(node)?)?.to_ne_bytes()),
        DType::Float64 => bytes.extend(number(node)?.to_ne_bytes()),
        DType::Complex64 => {
            let (real, imaginary) = pair()?;
            bytes.extend(single(real)?.to_ne_bytes());
            bytes.extend(single(imaginary)?.to_ne_bytes());
        }
        DType::Complex128 => {
            let (real, imaginary) = pair()?;
            bytes.extend(real.to_ne_bytes());
            bytes.extend(imaginary.to_ne_bytes());
        }
    }
    Some(())
}

/// An element of an array in a case file. A complex number has two parts, any other element has one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Element {
    Whole(i128),
    Number(f64),
    Pair(f64, f64),
}

/// Returns the elements of an array, the last index running fastest.
pub(super) fn elements(array: &Array) -> Vec<Element> {
    let (dtype, strides, shape) = (array.dtype(), array.strides(), array.shape());
    let mut found = Vec::with_capacity(array.len() as usize);
    let mut index = vec![0u64; shape.len()];
    for _ in 0..array.len() {
        let at = index.iter().zip(&strides).map(|(&i, &stride)| i as i64 * stride).sum::<i64>() as usize;
        found.push(element(dtype, &array.data()[at..at + dtype.size()]));
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            if index[axis] < shape[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
    found
}

fn element(dtype: DType, bytes: &[u8]) -> Element {
    macro_rules! of {
        ($type:ty, $bytes:expr) => {
            <$type>::from_ne_bytes($bytes.try_into().expect("as many bytes as the type has"))
        };
    }
    match dtype {
        DType::Bool => Element::Whole(i128::from(bytes[0] != 0)),
        DType::Int8 => Element::Whole(of!(i8, bytes).into()),
        DType::Int16 => Element::Whole(of!(i16, bytes).into()),
        DType::Int32 => Element::Whole(of!(i32, bytes).into()),
        DType::Int64 => Element::Whole(of!(i64, bytes).into()),
        DType::UInt8 => Element::Whole(of!(u8, bytes).into()),
        DType::UInt16 => Element::Whole(of!(u16, bytes).into()),
        DType::UInt32 => Element::Whole(of!(u32, bytes).into()),
        DType::UInt64 => Element::Whole(of!(u64, bytes).into()),
        DType::Float32 => Element::Number(of!(f32, bytes).into()),
        DType::Float64 => Element::Number(of!(f64, bytes)),
        DType::Complex64 => Element::Pair(of!(f32, bytes[..4]).into(), of!(f32, bytes[4..]).into()),
        DType::Complex128 => Element::Pair(of!(f64, bytes[..8]), of!(f64, bytes[8..])),
    }
}

/// Returns a value in the form of a case file, on one line.
pub(super) fn written(value: &Value) -> String {
    let mut text = String::new();
    write_value(value, &mut text);
    text
}

fn write_value(value: &Value, out: &mut String) {
    match value {
        Value::None => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Int(value) => write!(out, "{value}").unwrap_or_default(),
        Value::UInt(value) => write!(out, "{{uint: \"{value}\"}}").unwrap_or_default(),
        Value::Float(value) => out.push_str(&written_number(*value)),
        Value::Complex(real, imaginary) => {
            write!(out, "{{complex: [{}, {}]}}", written_number(*real), written_number(*imaginary))
                .unwrap_or_default()
        }
        Value::String(text) => out.push_str(&quoted(text)),
        Value::Bytes(bytes) => write!(out, "{{bytes: \"{}\"}}", BASE64.encode(bytes)).unwrap_or_default(),
        Value::List(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { ", " });
                write_value(item, out);
            }
            out.push(']');
        }
        Value::Map(entries) => {
            let like_a_word = matches!(entries.as_slice(), [(key, _)] if TYPE_KEYS.contains(&key.as_str()));
            out.push_str(if like_a_word { "{map: {" } else { "{" });
            for (at, (key, item)) in entries.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { ", " });
                write!(out, "{}: ", quoted(key)).unwrap_or_default();
                write_value(item, out);
            }
            out.push_str(if like_a_word { "}}" } else { "}" });
        }
        Value::Array(array) => write_array(array, out),
        Value::Settings(_) => out.push_str("null"),
    }
}

fn write_array(array: &Array, out: &mut String) {
    write!(out, "{{array: {{dtype: {}, shape: {:?}, ", array.dtype().name(), array.shape()).unwrap_or_default();
    if !array.names().is_empty() {
        let names: Vec<String> = array.names().iter().map(|name| quoted(name)).collect();
        write!(out, "names: [{}], ", names.join(", ")).unwrap_or_default();
    }
    if let Some(unit) = array.unit() {
        write!(out, "unit: {}, ", quoted(unit)).unwrap_or_default();
    }
    out.push_str("data: [");
    for (at, element) in elements(array).into_iter().enumerate() {
        out.push_str(if at == 0 { "" } else { ", " });
        out.push_str(&written_element(element));
    }
    out.push_str("]}}");
}

/// Returns an element in the form of a case file.
pub(super) fn written_element(element: Element) -> String {
    match element {
        Element::Whole(value) if value > i128::from(i64::MAX) => format!("\"{value}\""),
        Element::Whole(value) => value.to_string(),
        Element::Number(value) => written_number(value),
        Element::Pair(real, imaginary) => {
            format!("{{complex: [{}, {}]}}", written_number(real), written_number(imaginary))
        }
    }
}

/// Returns a number with enough digits to read the same number again. It never looks like a whole number.
pub(super) fn written_number(value: f64) -> String {
    if value.is_nan() {
        return ".nan".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { ".inf".into() } else { "-.inf".into() };
    }
    let text = format!("{value:?}");
    // A YAML 1.1 parser reads a number with an exponent as a number only if it has a point.
    match text.split_once('e') {
        Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0e{exponent}"),
        _ => text,
    }
}

/// Returns a text in double quotes, in a form that both YAML and JSON read.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ligament_model::yaml::parse;
    use ligament_model::Problem;

    fn read(text: &str) -> Result<Value, Vec<Problem>> {
        let mut reader = FieldReader::default();
        let node = parse(text, None, &mut reader.problems).expect("YAML");
        read_value(&mut reader, &node).ok_or(reader.problems)
    }

    #[test]
    fn every_value_that_is_written_is_read_back_as_it_was() {
        for text in [
            "null",
            "true",
            "-3",
            "{uint: \"18446744073709551615\"}",
            "1.5",
            "-.inf",
            "5e-324",
            "\"a\\u0000\\\"b\"",
            "{complex: [1.0, -0.0]}",
            "{bytes: \"AAEC/w==\"}",
            "{bytes: \"\"}",
            "[1, [2.0, {a: null}]]",
            "{map: {array: 3}}",
            "{\"x\": 1, \"y\": {}}",
            "{array: {dtype: int8, shape: [2, 2], data: [1, -2, 3, 127]}}",
            "{array: {dtype: complex64, shape: [1], names: [x], unit: K, data: [{complex: [1.0, 2.0]}]}}",
            "{array: {dtype: uint64, data: [\"18446744073709551615\", 0]}}",
            "{array: {dtype: bool, data: [true, false]}}",
        ] {
            let value = read(text).unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
            let again = written(&value);
            assert_eq!(read(&again).as_ref(), Ok(&value), "{text} became {again}");
        }
    }

    #[test]
    fn nested_lists_give_the_shape() {
        let Ok(Value::Array(array)) = read("{array: {data: [[1, 2, 3], [4, 5, 6]]}}") else { panic!() };
        assert_eq!((array.shape(), array.dtype()), (&[2, 3][..], DType::Float64));
    }

    #[test]
    fn what_cannot_be_is_said_with_its_place() {
        for (text, what) in [
            ("{array: {data: [[1, 2], [3]]}}", "1 items, where the first list on this level has 2"),
            ("{array: {dtype: int8, data: [300]}}", "is no int8"),
            ("{array: {dtype: real, data: [1]}}", "no element type \"real\""),
            ("{array: {shape: [2], data: [1]}}", "does not take 1 elements"),
            ("{array: {dat: [1]}}", "no key \"dat\""),
            ("{array: {shape: [3, 2], data: [[1, 2, 3], [4, 5, 6]]}}", "the shape is [3, 2], and the lists"),
            ("{array: {dtype: float32, data: [1.0e+300]}}", "is no float32"),
            ("{array: {data: [9007199254740993]}}", "is no float64"),
            ("{bytes: \"a\"}", "base 64"),
            ("{complex: 3}", "list of two numbers"),
        ] {
            let mut reader = FieldReader::default();
            let node = parse(text, None, &mut reader.problems).expect("YAML");
            read_value(&mut reader, &node);
            let found = reader.problems.first().unwrap_or_else(|| panic!("{text} is taken")).to_string();
            assert!(found.contains(what), "{text}: {found}");
        }
    }
}
