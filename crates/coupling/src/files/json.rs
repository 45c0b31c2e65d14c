//! Values of messages as JSON, in the form of case files (`docs/reference/case-file.md`). Plain JSON stands
//! for itself. For values that JSON lacks, an object has `array`, `complex`, `uint` or `bytes` as its only
//! key. Numbers that are not finite are `NaN`, `Infinity` and `-Infinity`, as Python's module `json` writes
//! and reads them. Strict JSON does not allow these, so a reader of strict JSON refuses the line, and does
//! not take a number for a text.

use crate::files::in_rows;
use crate::tables::holds;
use base64::prelude::{Engine, BASE64_STANDARD as BASE64};
use ligament_catalogue::{fault, Fault};
use ligament_instance::{Array, ArrayMeta, ArrayOrder, DType, Value};
use ligament_wire::SettingValue;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value as Json};
use std::fmt::{self, Write};

const TYPE_KEYS: [&str; 6] = ["array", "complex", "bytes", "uint", "map", FLOAT];
/// Key of an object that stands for a number that is not finite, because strict JSON has no such number:
/// `{"float": "NaN"}`.
const FLOAT: &str = "float";
const NOT_FINITE: [&str; 3] = ["NaN", "Infinity", "-Infinity"];

/// The keys of an array.
const KEYS: [&str; 5] = ["dtype", "shape", "data", "names", "unit"];

/// Reads JSON from a text. In place of numbers, the text may have `NaN`, `Infinity` and `-Infinity`.
///
/// # Errors
/// The text is no JSON, ends early, has a key twice, or has a number that would lose digits.
pub(crate) fn parsed(text: &str) -> Result<Json, Fault> {
    let read = serde_json::from_str::<Unique>(text).or_else(|error| match in_strict_json(text) {
        Some(strict) => serde_json::from_str(&strict),
        None => Err(error),
    });
    let json = read.map_err(|error| {
        if error.is_eof() {
            fault!(SOURCE_ENDS_EARLY, "the line ends early")
        } else {
            fault!(MALFORMED_SOURCE, "it is no JSON: {error}")
        }
    })?;
    match short_number(text) {
        None => Ok(json.0),
        Some(number) => Err(fault!(
            MALFORMED_SOURCE,
            "{number} has more digits than a number here holds; write a larger one in quotes, in an array or \
             as \"uint\""
        )),
    }
}

/// JSON in which no object has a key twice.
struct Unique(Json);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Unique, D::Error> {
        from.deserialize_any(UniqueVisitor).map(Unique)
    }
}

struct UniqueVisitor;

impl<'de> Visitor<'de> for UniqueVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Json, E> {
        Ok(truth.into())
    }

    fn visit_i64<E>(self, number: i64) -> Result<Json, E> {
        Ok(number.into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Json, E> {
        Ok(number.into())
    }

    fn visit_f64<E>(self, number: f64) -> Result<Json, E> {
        Ok(number.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut all = Vec::new();
        while let Some(Unique(item)) = items.next_element()? {
            all.push(item);
        }
        Ok(Json::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        let mut all = Map::new();
        while let Some((key, Unique(value))) = entries.next_entry::<String, Unique>()? {
            if all.contains_key(&key) {
                return Err(A::Error::custom(format_args!("the key \"{key}\" stands there twice")));
            }
            all.insert(key, value);
        }
        Ok(Json::Object(all))
    }
}

/// Returns the first number in a JSON text that would be changed: a whole number with more digits than a
/// double holds.
fn short_number(text: &str) -> Option<&str> {
    // A double holds every number of 15 digits.
    const SAFE_LENGTH: usize = 15;
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | 'e' | 'E');
    let mut rest = text;
    loop {
        rest = &rest[rest.find(|c: char| c == '"' || c == '-' || c.is_ascii_digit())?..];
        if let Some(inner) = rest.strip_prefix('"') {
            let mut is_escaped = false;
            let end = inner.find(|c: char| {
                let is_end = c == '"' && !is_escaped;
                is_escaped = c == '\\' && !is_escaped;
                is_end
            })?;
            rest = &inner[end + 1..];
            continue;
        }
        let (number, behind) = rest.split_at(rest.find(|c| !is_number(c)).unwrap_or(rest.len()));
        rest = behind;
        let is_whole = || number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok();
        let is_held = || is_whole() || number.parse().map_or(true, |read| holds(read, number));
        if number.len() > SAFE_LENGTH && !is_held() {
            return Some(number);
        }
    }
}

/// Returns the text with objects in place of numbers that are not finite. `None` if it has no such number.
fn in_strict_json(text: &str) -> Option<String> {
    let mut strict = String::with_capacity(text.len());
    let (mut is_text, mut is_escaped, mut rest) = (false, false, text);
    while let Some(c) = rest.chars().next() {
        let token = NOT_FINITE.iter().find(|token| !is_text && rest.starts_with(**token));
        let taken = match token {
            Some(token) => {
                let _ = write!(strict, "{{\"{FLOAT}\":\"{token}\"}}");
                token.len()
            }
            None => {
                strict.push(c);
                is_text ^= c == '"' && !is_escaped;
                is_escaped = is_text && c == '\\' && !is_escaped;
                c.len_utf8()
            }
        };
        rest = &rest[taken..];
    }
    (strict.len() != text.len()).then_some(strict)
}

/// Returns the value that a JSON value stands for, or the reason why it stands for none.
pub(crate) fn value_of(json: Json) -> Result<Value, Fault> {
    Ok(match json {
        Json::Null => Value::None,
        Json::Bool(truth) => Value::Bool(truth),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(int), _) => Value::Int(int),
            (None, Some(uint)) => Value::UInt(uint),
            (None, None) => Value::Float(
                number.as_f64().ok_or_else(|| fault!(MALFORMED_SOURCE, "a number is out of range"))?,
            ),
        },
        Json::String(text) => Value::String(text),
        Json::Array(items) => Value::List(items.into_iter().map(value_of).collect::<Result<_, _>>()?),
        Json::Object(object) => of_object(object)?,
    })
}

fn of_object(object: Map<String, Json>) -> Result<Value, Fault> {
    let only = if object.len() == 1 { object.iter().next() } else { None };
    match only {
        Some((word, inner)) if word == "array" => of_array(inner).map(Value::Array),
        Some((word, inner)) if word == "complex" => {
            let [re, im] = complex(inner)
                .ok_or_else(|| fault!(MALFORMED_SOURCE, "\"complex\" is a list of two numbers"))?;
            Ok(Value::Complex(re, im))
        }
        Some((word, Json::String(text))) if word == "bytes" => {
            let bytes = BASE64
                .decode(text)
                .map_err(|error| fault!(MALFORMED_SOURCE, "\"bytes\" is no base 64: {error}"))?;
            Ok(Value::Bytes(bytes.into()))
        }
        Some((word, Json::String(digits))) if word == "uint" => digits
            .parse()
            .map(Value::UInt)
            .map_err(|_| fault!(MALFORMED_SOURCE, "\"uint\" is no whole number: {digits}")),
        Some((word, inner @ Json::String(text))) if word == FLOAT => match number(inner) {
            Some(number) => Ok(Value::Float(number)),
            None => Err(fault!(MALFORMED_SOURCE, "\"{FLOAT}\" is \"{text}\", and neither NaN nor infinite")),
        },
        Some((word, Json::Object(inner))) if word == "map" => of_entries(inner.clone()),
        _ => of_entries(object),
    }
}

fn of_entries(object: Map<String, Json>) -> Result<Value, Fault> {
    let entries = object.into_iter().map(|(key, value)| Ok((key, value_of(value)?)));
    Ok(Value::Map(entries.collect::<Result<_, Fault>>()?))
}

fn complex(json: &Json) -> Option<[f64; 2]> {
    match json.as_array()?.as_slice() {
        [re, im] => Some([number(re)?, number(im)?]),
        _ => None,
    }
}

/// Returns the number in a JSON value if it can be a time: it is finite.
pub(crate) fn time(json: &Json) -> Option<f64> {
    json.is_number().then(|| number(json))?
}

/// Converts a number to single precision. `None` if single precision cannot hold it.
fn single(number: f64) -> Option<f32> {
    Some(number as f32).filter(|single| single.is_finite() || !number.is_finite())
}

/// Returns the number in a JSON value. A number that is not finite is an object, or a text within an array.
fn number(json: &Json) -> Option<f64> {
    match json {
        Json::Object(object) if object.len() == 1 => {
            object.get(FLOAT).filter(|inner| inner.is_string()).and_then(number)
        }
        // A number that a double cannot hold exactly is refused.
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(int), _) => Some(int as f64).filter(|&read| read as i128 == i128::from(int)),
            (None, Some(uint)) => Some(uint as f64).filter(|&read| read as i128 == i128::from(uint)),
            (None, None) => number.as_f64(),
        },
        Json::String(text) => match &**text {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

fn of_array(json: &Json) -> Result<Array, Fault> {
    let nothing = Map::new();
    let object = json.as_object().unwrap_or(&nothing);
    let data = object.get("data").ok_or_else(|| fault!(MALFORMED_SOURCE, "an array needs \"data\""))?;
    if let Some(key) = object.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(fault!(MALFORMED_SOURCE, "an array has no key \"{key}\"; it has {}", KEYS.join(", ")));
    }
    let text = |key: &str| match object.get(key) {
        None => Ok(None),
        Some(Json::String(text)) => Ok(Some(text.as_str())),
        Some(other) => Err(fault!(MALFORMED_SOURCE, "\"{key}\" of an array is a text, and this is {other}")),
    };
    let name = text("dtype")?.unwrap_or("float64");
    let dtype = DType::ALL.into_iter().find(|dtype| dtype.name() == name);
    let dtype = dtype.ok_or_else(|| fault!(MALFORMED_SOURCE, "there is no type \"{name}\" of elements"))?;
    let depth = if matches!(dtype, DType::Complex64 | DType::Complex128) { 1 } else { 0 };
    let mut shape = Vec::new();
    let mut elements = Vec::new();
    flatten(data, 0, depth, &mut shape, &mut elements)?;
    if let Some(given) = object.get("shape") {
        let extents =
            given.as_array().and_then(|all| all.iter().map(Json::as_u64).collect::<Option<Vec<u64>>>());
        let nested = shape;
        shape = extents
            .ok_or_else(|| fault!(MALFORMED_SOURCE, "the shape of an array is a list of whole numbers"))?;
        if nested.len() > 1 && nested != shape {
            return Err(fault!(
                MALFORMED_SOURCE,
                "the shape of an array is {shape:?}, and the lists of its data have the shape {nested:?}"
            ));
        }
    }
    let mut bytes = Vec::with_capacity(elements.len() * dtype.size());
    for element in elements {
        put(dtype, element, &mut bytes).ok_or_else(|| fault!(MALFORMED_SOURCE, "{element} is no {name}"))?;
    }
    let names = match object.get("names") {
        None => Some(Vec::new()),
        Some(Json::Array(names)) => names.iter().map(|name| name.as_str().map(str::to_owned)).collect(),
        Some(_) => None,
    };
    let names =
        names.ok_or_else(|| fault!(MALFORMED_SOURCE, "the names of an array's axes are a list of texts"))?;
    let unit = text("unit")?.map(str::to_owned);
    let plain = names.is_empty() && unit.is_none();
    let meta = (!plain).then_some(ArrayMeta { names, unit, strides: None });
    Array::new(dtype, &shape, ArrayOrder::RowMajor, bytes.into(), meta)
        .map_err(|error| fault!(MALFORMED_SOURCE, "{error}"))
}

/// Collects the elements of nested lists. The lists of the last `depth` levels are elements themselves.
fn flatten<'a>(
    json: &'a Json,
    level: usize,
    depth: usize,
    shape: &mut Vec<u64>,
    elements: &mut Vec<&'a Json>,
) -> Result<(), Fault> {
    let items = match json {
        Json::Array(items) if depth == 0 || items.iter().any(Json::is_array) || items.len() != 2 => items,
        Json::Array(items) if items.iter().any(|item| item.get("complex").is_some()) => items,
        element => {
            if level != shape.len() {
                return Err(fault!(MALFORMED_SOURCE, "the lists of an array are not equally long"));
            }
            elements.push(element);
            return Ok(());
        }
    };
    if elements.is_empty() && shape.len() == level {
        shape.push(items.len() as u64);
    } else if shape.get(level) != Some(&(items.len() as u64)) {
        return Err(fault!(MALFORMED_SOURCE, "the lists of an array are not equally long"));
    }
    items.iter().try_for_each(|item| flatten(item, level + 1, depth, shape, elements))
}

/// Appends the bytes of an element.
fn put(dtype: DType, json: &Json, bytes: &mut Vec<u8>) -> Option<()> {
    macro_rules! whole {
        ($($kind:ident => $rust:ty),+; $($otherwise:tt)+) => {
            match dtype {
                $(DType::$kind => {
                    let wide = match json {
                        Json::String(digits) => digits.parse::<i128>().ok()?,
                        json => json.as_i64().map(i128::from).or_else(|| json.as_u64().map(i128::from))?,
                    };
                    bytes.extend(<$rust>::try_from(wide).ok()?.to_ne_bytes());
                })+
                $($otherwise)+
            }
        };
    }
    whole!(Int8 => i8, Int16 => i16, Int32 => i32, Int64 => i64, UInt8 => u8, UInt16 => u16, UInt32 => u32,
           UInt64 => u64;
        DType::Bool => bytes.push(u8::from(json.as_bool()?)),
        DType::Float32 => bytes.extend(single(number(json)?)?.to_ne_bytes()),
        DType::Float64 => bytes.extend(number(json)?.to_ne_bytes()),
        DType::Complex64 => {
            for part in complex(inner(json))? {
                bytes.extend(single(part)?.to_ne_bytes());
            }
        }
        DType::Complex128 => complex(inner(json))?.iter().for_each(|part| bytes.extend(part.to_ne_bytes())),
    );
    Some(())
}

/// Returns the list with the two numbers of a complex element, which is `{"complex": [re, im]}` or `[re,
/// im]`.
fn inner(json: &Json) -> &Json {
    json.get("complex").unwrap_or(json)
}

/// Returns a value as JSON on one line.
pub(crate) fn text_of(value: &Value) -> String {
    let mut text = String::new();
    write_value(value, &mut text);
    text
}

fn write_value(value: &Value, to: &mut String) {
    match value {
        Value::None => *to += "null",
        Value::Bool(truth) => put_on(to, truth),
        Value::Int(int) => put_on(to, int),
        Value::UInt(uint) => put_on(to, format_args!("{{\"uint\":\"{uint}\"}}")),
        Value::Float(number) => write_number(*number, to),
        Value::Complex(re, im) => write_complex(*re, *im, to),
        Value::String(text) => write_text(text, to),
        Value::Bytes(bytes) => put_on(to, format_args!("{{\"bytes\":\"{}\"}}", BASE64.encode(bytes))),
        Value::List(items) => write_list(items, to, write_value),
        Value::Map(entries) => {
            let is_word = matches!(&entries[..], [(key, _)] if TYPE_KEYS.contains(&&**key));
            *to += if is_word { "{\"map\":" } else { "" };
            write_object(entries, to, write_value);
            *to += if is_word { "}" } else { "" };
        }
        Value::Settings(entries) => write_object(entries, to, write_setting),
        Value::Array(array) => write_array(array, to),
    }
}

fn put_on(to: &mut String, what: impl std::fmt::Display) {
    let _ = write!(to, "{what}");
}

fn write_list<T>(items: &[T], to: &mut String, each: impl Fn(&T, &mut String)) {
    to.push('[');
    for (at, item) in items.iter().enumerate() {
        *to += if at > 0 { "," } else { "" };
        each(item, to);
    }
    to.push(']');
}

fn write_object<T>(entries: &[(String, T)], to: &mut String, each: impl Fn(&T, &mut String)) {
    to.push('{');
    for (at, (key, value)) in entries.iter().enumerate() {
        *to += if at > 0 { "," } else { "" };
        write_text(key, to);
        to.push(':');
        each(value, to);
    }
    to.push('}');
}

fn write_text(text: &str, to: &mut String) {
    put_on(to, Json::from(text));
}

fn write_setting(value: &SettingValue, to: &mut String) {
    let number = |number: &f64, to: &mut String| write_number(*number, to);
    match value {
        SettingValue::Bool(truth) => put_on(to, truth),
        SettingValue::Int(int) => put_on(to, int),
        SettingValue::Float(one) => write_number(*one, to),
        SettingValue::String(text) => write_text(text, to),
        SettingValue::IntList(list) => write_list(list, to, |int, to| put_on(to, int)),
        SettingValue::FloatList(list) => write_list(list, to, number),
        SettingValue::FloatGrid(rows) => write_list(rows, to, |row, to| write_list(row, to, number)),
    }
}

/// Writes a number with a point or an exponent, so that a reader does not take it for a whole number.
pub(crate) fn write_number(number: f64, to: &mut String) {
    match number {
        number if number.is_nan() => *to += NOT_FINITE[0],
        f64::INFINITY => *to += NOT_FINITE[1],
        f64::NEG_INFINITY => *to += NOT_FINITE[2],
        number => put_on(to, Json::from(number)),
    }
}

fn write_complex(re: f64, im: f64, to: &mut String) {
    *to += "{\"complex\":";
    write_list(&[re, im], to, |part, to| write_number(*part, to));
    to.push('}');
}

fn write_array(array: &Array, to: &mut String) {
    put_on(to, format_args!("{{\"array\":{{\"dtype\":\"{}\",\"shape\":", array.dtype().name()));
    write_list(array.shape(), to, |extent, to| put_on(to, extent));
    *to += ",\"data\":[";
    let mut is_first = true;
    in_rows(array, |bytes| {
        *to += if is_first { "" } else { "," };
        is_first = false;
        write_element(array.dtype(), bytes, to);
    });
    to.push(']');
    if !array.names().is_empty() {
        *to += ",\"names\":";
        write_list(array.names(), to, |name, to| write_text(name, to));
    }
    if let Some(unit) = array.unit() {
        *to += ",\"unit\":";
        write_text(unit, to);
    }
    *to += "}}";
}

fn write_element(dtype: DType, bytes: &[u8], to: &mut String) {
    macro_rules! read {
        ($rust:ty, $bytes:expr) => {
            <$rust>::from_ne_bytes($bytes.try_into().unwrap_or_default())
        };
    }
    match dtype {
        DType::Bool => put_on(to, bytes[0] != 0),
        DType::Int8 => put_on(to, read!(i8, bytes)),
        DType::Int16 => put_on(to, read!(i16, bytes)),
        DType::Int32 => put_on(to, read!(i32, bytes)),
        DType::Int64 => put_on(to, read!(i64, bytes)),
        DType::UInt8 => put_on(to, read!(u8, bytes)),
        DType::UInt16 => put_on(to, read!(u16, bytes)),
        DType::UInt32 => put_on(to, read!(u32, bytes)),
        DType::UInt64 => put_on(to, read!(u64, bytes)),
        DType::Float32 => write_number(read!(f32, bytes).into(), to),
        DType::Float64 => write_number(read!(f64, bytes), to),
        DType::Complex64 => {
            write_complex(read!(f32, bytes[..4]).into(), read!(f32, bytes[4..]).into(), to);
        }
        DType::Complex128 => write_complex(read!(f64, bytes[..8]), read!(f64, bytes[8..]), to),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(value: Value) {
        let text = text_of(&value);
        assert_eq!(value_of(parsed(&text).unwrap()).unwrap(), value, "{text}");
    }

    #[test]
    fn numbers_that_are_not_finite_come_back_as_numbers_and_texts_as_texts() {
        let written = |value: &Value| text_of(value);
        let read = |text: &str| value_of(parsed(text).unwrap()).unwrap();
        assert_eq!(written(&Value::Float(f64::NAN)), "NaN");
        assert!(matches!(read("NaN"), Value::Float(number) if number.is_nan()));
        assert!(matches!(read("{\"float\": \"NaN\"}"), Value::Float(number) if number.is_nan()));
        same(Value::List(vec![
            Value::Float(f64::INFINITY),
            Value::Float(f64::NEG_INFINITY),
            Value::Float(-0.0),
        ]));
        same(Value::Complex(f64::INFINITY, 1.0));
        same(Value::Map(vec![("float".into(), Value::String("NaN".into()))]));
        same(Value::Map(vec![
            ("NaN".into(), Value::String("a \"NaN\" \\".into())),
            ("b".into(), Value::Float(f64::INFINITY)),
        ]));
        same(Value::Array(
            Array::from_slice(&[[f64::INFINITY, 2.0], [0.0, 1.0]], &[2], ArrayOrder::RowMajor).unwrap(),
        ));
        let text = "{\"array\": {\"data\": [[NaN, 1], [\"-Infinity\", 2]]}}";
        let Value::Array(array) = read(text) else { panic!("{text}") };
        assert_eq!(array.shape(), [2, 2]);
        assert!(array.as_slice::<f64>().unwrap()[0].is_nan());
        assert!(parsed("[Nan]").is_err() && parsed("[-NaN]").is_err());
    }

    #[test]
    fn values_come_back_as_they_were() {
        let array =
            Array::from_slice(&[1.5, f64::INFINITY, -0.25, 4.0], &[2, 2], ArrayOrder::RowMajor).unwrap();
        same(Value::Array(array.clone().with_unit("K").with_names(&["x", "y"]).unwrap()));
        same(Value::Array(Array::from_slice(&[u64::MAX, 1], &[2], ArrayOrder::RowMajor).unwrap()));
        same(Value::Array(Array::from_slice(&[[1.0, 2.0], [3.0, 4.0]], &[2], ArrayOrder::RowMajor).unwrap()));
        same(Value::Array(Array::from_slice::<i32>(&[], &[0, 3], ArrayOrder::RowMajor).unwrap()));
        same(Value::List(vec![Value::None, Value::Bool(true), Value::Int(-3), Value::Float(0.5)]));
        same(Value::Map(vec![("array".into(), Value::Int(3))]));
        same(Value::Map(vec![("a".into(), Value::Complex(1.0, -2.0)), ("b".into(), Value::UInt(u64::MAX))]));
        same(Value::Bytes(vec![0, 1, 255].into()));
    }

    #[test]
    fn nested_lists_give_a_shape_and_ragged_ones_are_refused() {
        let array = |text: &str| value_of(serde_json::from_str(text).unwrap());
        let Ok(Value::Array(found)) = array(r#"{"array": {"data": [[1, 2, 3], [4, 5, 6]]}}"#) else { panic!() };
        assert_eq!((found.shape(), found.dtype()), (&[2, 3][..], DType::Float64));
        assert!(array(r#"{"array": {"data": [[1, 2], [3]]}}"#).unwrap_err().contains("equally long"));
        assert!(array(r#"{"array": {"dtype": "int8", "data": [300]}}"#).unwrap_err().contains("int8"));
        assert!(array(r#"{"array": {"dtype": "half", "data": [1]}}"#).unwrap_err().contains("half"));
    }

    #[test]
    fn an_array_with_mistakes_and_a_number_that_would_be_another_are_refused() {
        for (text, expected) in [
            (r#"{"array": {"data": [1], "dtyp": "int32"}}"#, "no key \"dtyp\""),
            (r#"{"array": {"data": [1], "order": "F"}}"#, "no key \"order\""),
            (r#"{"array": {"data": [1], "unit": 5}}"#, "\"unit\" of an array is a text, and this is 5"),
            (r#"{"array": {"data": [1], "dtype": 8}}"#, "\"dtype\" of an array is a text"),
            (r#"{"array": {"data": [1], "names": [1]}}"#, "list of texts"),
            (r#"{"array": {"data": [1], "names": "x"}}"#, "list of texts"),
            (r#"{"array": {"data": [1], "data": [2]}}"#, "\"data\" stands there twice"),
            (
                r#"{"array": {"shape": [3, 2], "data": [[1, 2, 3], [4, 5, 6]]}}"#,
                "the shape of an array is [3, 2]",
            ),
            (r#"{"array": {"dtype": "float32", "data": [1e300]}}"#, "is no float32"),
            (r#"{"array": {"dtype": "complex64", "data": [[1, 1e300]]}}"#, "is no complex64"),
            (r#"{"array": {"data": [9007199254740993]}}"#, "9007199254740993 is no float64"),
            (
                r#"["a \\\" 36893488147419103233", 36893488147419103233]"#,
                "36893488147419103233 has more digits",
            ),
            ("[9007199254740993.0]", "9007199254740993.0 has more digits"),
            ("[NaN, -9007199254740993e0]", "-9007199254740993e0 has more digits"),
        ] {
            let why = parsed(text).and_then(value_of).unwrap_err();
            assert!(why.contains(expected), "{text}: {why}");
        }
        for text in [
            r#"{"array": {"shape": [3, 2], "data": [1, 2, 3, 4, 5, 6]}}"#,
            r#"{"array": {"dtype": "float32", "data": [Infinity, 1e-300]}}"#,
            r#"{"array": {"data": [9007199254740992, 1.2345678901234568e18]}}"#,
            r#"["36893488147419103233", 18446744073709551615, -9223372036854775808, 1e300]"#,
        ] {
            assert!(parsed(text).and_then(value_of).is_ok(), "{text}");
        }
    }

    #[test]
    fn an_array_of_columns_is_written_in_rows() {
        let array = Array::from_slice(&[1i32, 2, 3, 4], &[2, 2], ArrayOrder::ColumnMajor).unwrap();
        assert_eq!(
            text_of(&Value::Array(array)),
            r#"{"array":{"dtype":"int32","shape":[2,2],"data":[1,3,2,4]}}"#
        );
    }
}
