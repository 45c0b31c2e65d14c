//! Values of messages as JSON, in the form of case files (`docs/reference/case-file.md`): plain JSON stands for itself;
//! `array`, `complex`, `uint` and `bytes` as the only key of an object say what JSON has no word for.

use crate::files::in_rows;
use base64::prelude::{Engine, BASE64_STANDARD as BASE64};
use ligament_catalogue::{fault, Fault};
use ligament_instance::{Array, ArrayMeta, DType, Order, Value};
use ligament_wire::SettingValue;
use serde_json::{json, Map, Value as Json};

const WORDS: [&str; 5] = ["array", "complex", "bytes", "uint", "map"];

/// The value that some JSON stands for, or why it stands for none.
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

/// A number; what JSON has no number for is text.
fn number(json: &Json) -> Option<f64> {
    match json {
        Json::Number(number) => number.as_f64(),
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
    let text = |key: &str| object.get(key).and_then(Json::as_str);
    let name = text("dtype").unwrap_or("float64");
    let dtype = DType::ALL.into_iter().find(|dtype| dtype.name() == name);
    let dtype = dtype.ok_or_else(|| fault!(MALFORMED_SOURCE, "there is no type \"{name}\" of elements"))?;
    let depth = if matches!(dtype, DType::Complex64 | DType::Complex128) { 1 } else { 0 };
    let mut shape = Vec::new();
    let mut elements = Vec::new();
    flatten(data, 0, depth, &mut shape, &mut elements)?;
    if let Some(given) = object.get("shape") {
        let extents =
            given.as_array().and_then(|all| all.iter().map(Json::as_u64).collect::<Option<Vec<u64>>>());
        shape = extents
            .ok_or_else(|| fault!(MALFORMED_SOURCE, "the shape of an array is a list of whole numbers"))?;
    }
    let mut bytes = Vec::with_capacity(elements.len() * dtype.size());
    for element in elements {
        put(dtype, element, &mut bytes).ok_or_else(|| fault!(MALFORMED_SOURCE, "{element} is no {name}"))?;
    }
    let names = match object.get("names").and_then(Json::as_array) {
        Some(names) => names.iter().map(|name| name.as_str().unwrap_or_default().to_owned()).collect(),
        None => Vec::new(),
    };
    let unit = text("unit").map(str::to_owned);
    let plain = names.is_empty() && unit.is_none();
    let meta = (!plain).then_some(ArrayMeta { names, unit, strides: None });
    Array::new(dtype, &shape, Order::RowMajor, bytes.into(), meta)
        .map_err(|error| fault!(MALFORMED_SOURCE, "{error}"))
}

/// Gathers elements of nested lists; `depth` more levels of lists are elements themselves.
fn flatten<'a>(
    json: &'a Json,
    level: usize,
    depth: usize,
    shape: &mut Vec<u64>,
    elements: &mut Vec<&'a Json>,
) -> Result<(), Fault> {
    let items = match json {
        Json::Array(items) if depth == 0 || items.iter().any(Json::is_array) || items.len() != 2 => items,
        Json::Array(items) if items.iter().any(Json::is_object) => items,
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

/// The bytes of an element.
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
    whole!(Int8 => i8, Int16 => i16, Int32 => i32, Int64 => i64, UInt8 => u8, UInt16 => u16, UInt32 => u32, UInt64 => u64;
        DType::Bool => bytes.push(u8::from(json.as_bool()?)),
        DType::Float32 => bytes.extend((number(json)? as f32).to_ne_bytes()),
        DType::Float64 => bytes.extend(number(json)?.to_ne_bytes()),
        DType::Complex64 => complex(inner(json))?.iter().for_each(|part| bytes.extend((*part as f32).to_ne_bytes())),
        DType::Complex128 => complex(inner(json))?.iter().for_each(|part| bytes.extend(part.to_ne_bytes())),
    );
    Some(())
}

/// A complex element is `{"complex": [re, im]}`, or the two by themselves.
fn inner(json: &Json) -> &Json {
    json.get("complex").unwrap_or(json)
}

/// A value as JSON; none for settings of a kind that JSON has no form for.
pub(crate) fn json_of(value: &Value) -> Json {
    match value {
        Value::None => Json::Null,
        Value::Bool(truth) => json!(truth),
        Value::Int(int) => json!(int),
        Value::UInt(uint) => json!({ "uint": uint.to_string() }),
        Value::Float(number) => written(*number),
        Value::Complex(re, im) => json!({ "complex": [written(*re), written(*im)] }),
        Value::String(text) => json!(text),
        Value::Bytes(bytes) => json!({ "bytes": BASE64.encode(bytes) }),
        Value::List(items) => items.iter().map(json_of).collect(),
        Value::Map(entries) => {
            let object: Map<String, Json> =
                entries.iter().map(|(key, value)| (key.clone(), json_of(value))).collect();
            let is_word = object.len() == 1 && object.keys().all(|key| WORDS.contains(&&**key));
            if is_word {
                json!({ "map": object })
            } else {
                Json::Object(object)
            }
        }
        Value::Settings(entries) => {
            Json::Object(entries.iter().map(|(key, value)| (key.clone(), setting(value))).collect())
        }
        Value::Array(array) => of_elements(array),
    }
}

fn setting(value: &SettingValue) -> Json {
    match value {
        SettingValue::Bool(truth) => json!(truth),
        SettingValue::Int(int) => json!(int),
        SettingValue::Float(number) => written(*number),
        SettingValue::String(text) => json!(text),
        SettingValue::IntList(list) => json!(list),
        SettingValue::FloatList(list) => list.iter().map(|&number| written(number)).collect(),
        SettingValue::FloatGrid(rows) => {
            let row = |row: &Vec<f64>| row.iter().map(|&number| written(number)).collect::<Json>();
            rows.iter().map(row).collect()
        }
    }
}

/// JSON has no word for what is not finite.
fn written(number: f64) -> Json {
    match number {
        number if number.is_nan() => json!("NaN"),
        f64::INFINITY => json!("Infinity"),
        f64::NEG_INFINITY => json!("-Infinity"),
        number => json!(number),
    }
}

fn of_elements(array: &Array) -> Json {
    let mut elements = Vec::with_capacity(array.len() as usize);
    in_rows(array, |bytes| elements.push(element(array.dtype(), bytes)));
    let mut object = Map::new();
    object.insert("dtype".into(), json!(array.dtype().name()));
    object.insert("shape".into(), json!(array.shape()));
    object.insert("data".into(), Json::Array(elements));
    if !array.names().is_empty() {
        object.insert("names".into(), json!(array.names()));
    }
    if let Some(unit) = array.unit() {
        object.insert("unit".into(), json!(unit));
    }
    json!({ "array": object })
}

fn element(dtype: DType, bytes: &[u8]) -> Json {
    macro_rules! read {
        ($rust:ty, $bytes:expr) => {
            <$rust>::from_ne_bytes($bytes.try_into().unwrap_or_default())
        };
    }
    match dtype {
        DType::Bool => json!(bytes[0] != 0),
        DType::Int8 => json!(read!(i8, bytes)),
        DType::Int16 => json!(read!(i16, bytes)),
        DType::Int32 => json!(read!(i32, bytes)),
        DType::Int64 => json!(read!(i64, bytes)),
        DType::UInt8 => json!(read!(u8, bytes)),
        DType::UInt16 => json!(read!(u16, bytes)),
        DType::UInt32 => json!(read!(u32, bytes)),
        DType::UInt64 => json!(read!(u64, bytes)),
        DType::Float32 => written(f64::from(read!(f32, bytes))),
        DType::Float64 => written(read!(f64, bytes)),
        DType::Complex64 => {
            json!({ "complex": [written(f64::from(read!(f32, bytes[..4]))), written(f64::from(read!(f32, bytes[4..])))] })
        }
        DType::Complex128 => {
            json!({ "complex": [written(read!(f64, bytes[..8])), written(read!(f64, bytes[8..]))] })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(value: Value) {
        let text = json_of(&value).to_string();
        let json = serde_json::from_str(&text).unwrap();
        assert_eq!(value_of(json).unwrap(), value, "{text}");
    }

    #[test]
    fn values_come_back_as_they_were() {
        let array = Array::from_slice(&[1.5, f64::INFINITY, -0.25, 4.0], &[2, 2], Order::RowMajor).unwrap();
        same(Value::Array(array.clone().with_unit("K").with_names(&["x", "y"]).unwrap()));
        same(Value::Array(Array::from_slice(&[u64::MAX, 1], &[2], Order::RowMajor).unwrap()));
        same(Value::Array(Array::from_slice(&[[1.0, 2.0], [3.0, 4.0]], &[2], Order::RowMajor).unwrap()));
        same(Value::Array(Array::from_slice::<i32>(&[], &[0, 3], Order::RowMajor).unwrap()));
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
    fn an_array_of_columns_is_written_in_rows() {
        let array = Array::from_slice(&[1i32, 2, 3, 4], &[2, 2], Order::ColumnMajor).unwrap();
        assert_eq!(json_of(&Value::Array(array))["array"]["data"], json!([1, 3, 2, 4]));
    }
}
