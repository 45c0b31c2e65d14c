//! The first difference between a message that a code sends and the recorded one. Numbers are equal if their
//! bits are.

use ligament_catalogue::said;
use ligament_wire::{Array, DType, Header, HeaderWords, Value};

/// Maximum length of a value's text, in characters.
const MAX_TEXT_CHARS: usize = 80;

/// Compares the headers of two messages. Returns the first difference.
pub(super) fn header_difference(sent: HeaderWords, recorded: &Header) -> Option<String> {
    let Ok(sent) = sent.decode() else { return Some(said!(REPLAY_DIFFERS, "a header that is none")) };
    let bits = |time: Option<f64>| time.map(f64::to_bits);
    let text = |time: Option<f64>| time.map_or_else(|| "none".to_owned(), |time| format!("{time:?}"));
    if sent.kind != recorded.kind {
        return Some(said!(REPLAY_DIFFERS, "a message of kind {:?}, recorded {:?}", sent.kind, recorded.kind));
    }
    if sent.timestamp.to_bits() != recorded.timestamp.to_bits() {
        return Some(said!(
            REPLAY_DIFFERS,
            "timestamp {:?}, recorded {:?}",
            sent.timestamp,
            recorded.timestamp
        ));
    }
    if bits(sent.next_timestamp) != bits(recorded.next_timestamp) {
        return Some(said!(
            REPLAY_DIFFERS,
            "next timestamp {}, recorded {}",
            text(sent.next_timestamp),
            text(recorded.next_timestamp)
        ));
    }
    (sent.overlay != recorded.overlay).then(|| {
        said!(
            REPLAY_DIFFERS,
            "settings number {} are in force, recorded {} (0: none)",
            sent.overlay,
            recorded.overlay
        )
    })
}

/// Returns the first difference of two values whose bytes differ, with its place.
pub(super) fn value_difference(sent: &Value, recorded: &Value) -> String {
    differ(sent, recorded, "data").unwrap_or_else(|| {
        said!(REPLAY_DIFFERS, "the same value, sent in another form (order or strides of an array)")
    })
}

fn differ(sent: &Value, recorded: &Value, place: &str) -> Option<String> {
    match (sent, recorded) {
        (Value::List(sent), Value::List(recorded)) => {
            let pairs = sent.iter().zip(recorded).enumerate();
            let first = pairs
                .into_iter()
                .find_map(|(at, (sent, recorded))| differ(sent, recorded, &format!("{place}[{at}]")));
            let (long, short) = (sent.len(), recorded.len());
            first.or_else(|| {
                (long != short)
                    .then(|| said!(REPLAY_DIFFERS, "{place}: a list of {long}, recorded one of {short}"))
            })
        }
        (Value::Map(sent), Value::Map(recorded)) => {
            let keys = |map: &[(String, Value)]| map.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>();
            let (own, then) = (keys(sent), keys(recorded));
            if own != then {
                return Some(said!(REPLAY_DIFFERS, "{place}: the keys {own:?}, recorded {then:?}"));
            }
            let mut pairs = sent.iter().zip(recorded);
            pairs.find_map(|((key, sent), (_, recorded))| differ(sent, recorded, &format!("{place}.{key}")))
        }
        (Value::Array(sent), Value::Array(recorded)) => arrays(sent, recorded, place),
        (Value::Float(own), Value::Float(then)) if own.to_bits() == then.to_bits() => None,
        (Value::Complex(a, b), Value::Complex(c, d))
            if (a.to_bits(), b.to_bits()) == (c.to_bits(), d.to_bits()) =>
        {
            None
        }
        (Value::Float(_) | Value::Complex(..), _) => Some(pair(place, (&short(sent), &short(recorded)))),
        _ if sent == recorded => None,
        _ => Some(pair(place, (&short(sent), &short(recorded)))),
    }
}

fn pair(place: &str, (sent, recorded): (&str, &str)) -> String {
    said!(REPLAY_DIFFERS, "{place}: {sent}, recorded {recorded}")
}

/// Returns the text of a value.
fn short(value: &Value) -> String {
    let text = match value {
        Value::None => "nothing".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::UInt(value) => value.to_string(),
        Value::Float(value) => double(*value),
        Value::Complex(real, imaginary) => format!("({}, {})", double(*real), double(*imaginary)),
        Value::String(text) => format!("{text:?}"),
        Value::Bytes(bytes) => format!("{} bytes", bytes.len()),
        Value::List(items) => format!("a list of {}", items.len()),
        Value::Map(entries) => format!("a map of {}", entries.len()),
        Value::Array(array) => format!("an array {}", form(array)),
        Value::Settings(settings) => format!("{settings:?}"),
    };
    match text.char_indices().nth(MAX_TEXT_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Returns a number with all its digits; a number that is none, with its bits.
fn double(value: f64) -> String {
    if value.is_nan() {
        format!("NaN ({:#018x})", value.to_bits())
    } else {
        format!("{value:?}")
    }
}

fn form(array: &Array) -> String {
    format!("of {} {:?}", array.dtype().name(), array.shape())
}

fn arrays(sent: &Array, recorded: &Array, place: &str) -> Option<String> {
    if (sent.dtype(), sent.shape()) != (recorded.dtype(), recorded.shape()) {
        return Some(said!(REPLAY_DIFFERS, "{place}: an array {}, recorded {}", form(sent), form(recorded)));
    }
    if (sent.names(), sent.unit()) != (recorded.names(), recorded.unit()) {
        return Some(said!(
            REPLAY_DIFFERS,
            "{place}: names {:?} and unit {:?}, recorded {:?} and {:?}",
            sent.names(),
            sent.unit(),
            recorded.names(),
            recorded.unit()
        ));
    }
    let mut first = None;
    let mut count = 0u64;
    let mut index = vec![0u64; sent.shape().len()];
    let (strides, other) = (sent.strides(), recorded.strides());
    for _ in 0..sent.len() {
        let (own, then) = (element(sent, &strides, &index), element(recorded, &other, &index));
        if own != then {
            count += 1;
            first.get_or_insert_with(|| (index.clone(), text(sent.dtype(), own), text(sent.dtype(), then)));
        }
        for axis in (0..index.len()).rev() {
            index[axis] += 1;
            if index[axis] < sent.shape()[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
    let (at, own, then) = first?;
    let at = if at.is_empty() { place.to_owned() } else { format!("{place}{at:?}") };
    let more = if count > 1 { format!(" ({count} of {} elements differ)", sent.len()) } else { String::new() };
    Some(format!("{}{more}", pair(&at, (&own, &then))))
}

/// Returns the bytes of an element.
fn element<'a>(array: &'a Array, strides: &[i64], index: &[u64]) -> &'a [u8] {
    let at = index.iter().zip(strides).map(|(&i, &stride)| i as i64 * stride).sum::<i64>() as usize;
    &array.data()[at..at + array.dtype().size()]
}

/// Returns the text of an element.
fn text(dtype: DType, bytes: &[u8]) -> String {
    macro_rules! of {
        ($type:ty, $bytes:expr) => {
            <$type>::from_le_bytes($bytes.try_into().unwrap_or_default())
        };
    }
    match dtype {
        DType::Bool => (bytes[0] != 0).to_string(),
        DType::Int8 => of!(i8, bytes).to_string(),
        DType::Int16 => of!(i16, bytes).to_string(),
        DType::Int32 => of!(i32, bytes).to_string(),
        DType::Int64 => of!(i64, bytes).to_string(),
        DType::UInt8 => of!(u8, bytes).to_string(),
        DType::UInt16 => of!(u16, bytes).to_string(),
        DType::UInt32 => of!(u32, bytes).to_string(),
        DType::UInt64 => of!(u64, bytes).to_string(),
        DType::Float32 => match of!(f32, bytes) {
            value if value.is_nan() => format!("NaN ({:#010x})", value.to_bits()),
            value => format!("{value:?}"),
        },
        DType::Float64 => double(of!(f64, bytes)),
        DType::Complex64 => format!("({:?}, {:?})", of!(f32, bytes[..4]), of!(f32, bytes[4..])),
        DType::Complex128 => format!("({}, {})", double(of!(f64, bytes[..8])), double(of!(f64, bytes[8..]))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ligament_wire::ArrayOrder;

    #[test]
    fn the_first_element_that_differs_is_named_with_both_values() {
        let of = |numbers: &[f64]| {
            Value::Array(Array::from_slice(numbers, &[2, 3], ArrayOrder::RowMajor).expect("an array"))
        };
        let recorded = of(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let one = value_difference(&of(&[1.0, 2.0, 3.0, 4.0, 5.5, 6.0]), &recorded);
        assert_eq!(one, "data[1, 1]: 5.5, recorded 5.0");
        let two = value_difference(&of(&[1.0, 0.0, 3.0, 4.0, 5.5, 6.0]), &recorded);
        assert_eq!(two, "data[0, 1]: 0.0, recorded 2.0 (2 of 6 elements differ)");
    }

    #[test]
    fn numbers_are_equal_if_their_bits_are() {
        let map = |value: f64| Value::Map(vec![("x".into(), Value::List(vec![Value::Float(value)]))]);
        assert_eq!(value_difference(&map(-0.0), &map(0.0)), "data.x[0]: -0.0, recorded 0.0");
        let nan = |bits| map(f64::from_bits(bits));
        assert_eq!(differ(&nan(0x7ff8_0000_0000_0001), &nan(0x7ff8_0000_0000_0001), "data"), None);
        assert!(differ(&nan(0x7ff8_0000_0000_0001), &nan(0x7ff8_0000_0000_0002), "data").is_some());
    }

    #[test]
    fn times_are_compared_bit_for_bit() {
        let sent = HeaderWords::data(1.0, Some(2.0));
        let recorded = HeaderWords::data(1.0, None).decode().expect("a header");
        assert_eq!(header_difference(sent, &recorded).as_deref(), Some("next timestamp 2.0, recorded none"));
        assert_eq!(header_difference(sent, &sent.decode().expect("a header")), None);
    }
}
