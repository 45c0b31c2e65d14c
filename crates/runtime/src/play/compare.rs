//! Differences between a received value and the value that a case expects.

use super::case::Tolerance;
use super::values::{elements, written, written_element, written_number, Element};
use ligament_catalogue::said;
use ligament_wire::{Array, Value};

/// Maximum length of a value's text in a message, in characters.
const MAX_TEXT_CHARS: usize = 60;

/// Returns the first difference with its place in the value, or `None` if the value is as expected. Numbers may
/// differ by the tolerance. If a whole number is expected, a double with the same value is right too.
pub(super) fn difference(found: &Value, expected: &Value, tolerance: Tolerance) -> Option<String> {
    differ(found, expected, tolerance, "")
}

fn differ(found: &Value, expected: &Value, tolerance: Tolerance, place: &str) -> Option<String> {
    match (found, expected) {
        (Value::List(found), Value::List(expected)) => {
            if found.len() != expected.len() {
                return Some(said!(
                    CASE_DIFFERS,
                    "{}a list of {}, expected one of {}",
                    at(place),
                    found.len(),
                    expected.len()
                ));
            }
            let pairs = found.iter().zip(expected).enumerate();
            pairs
                .into_iter()
                .find_map(|(n, (found, expected))| differ(found, expected, tolerance, &format!("{place}[{n}]")))
        }
        (Value::Map(found), Value::Map(expected)) => {
            let get = |map: &[(String, Value)], key: &str| {
                map.iter().find(|(name, _)| name == key).map(|entry| entry.1.clone())
            };
            if let Some((key, _)) = found.iter().find(|(key, _)| get(expected, key).is_none()) {
                return Some(said!(CASE_DIFFERS, "{}a key \"{key}\" that is not expected", at(place)));
            }
            expected.iter().find_map(|(key, expected)| match get(found, key) {
                None => Some(format!("{}no key \"{key}\"", at(place))),
                Some(found) => differ(&found, expected, tolerance, &format!("{place}.{key}")),
            })
        }
        (Value::Array(found), Value::Array(expected)) => arrays(found, expected, tolerance, place),
        (Value::Complex(..), Value::Complex(..))
        | (Value::Float(_), Value::Float(_) | Value::Int(_) | Value::UInt(_)) => {
            number(scalar(found)?, scalar(expected)?, tolerance, place)
        }
        _ if found == expected => None,
        _ => Some(format!("{}{}, expected {}", at(place), short(found), short(expected))),
    }
}

fn at(place: &str) -> String {
    match place {
        "" => String::new(),
        place => format!("data{place}: "),
    }
}

fn short(value: &Value) -> String {
    let text = match value {
        Value::Array(array) => format!("an array of {} {:?}", array.dtype().name(), array.shape()),
        value => written(value),
    };
    match text.char_indices().nth(MAX_TEXT_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn scalar(value: &Value) -> Option<Element> {
    Some(match value {
        Value::Float(value) => Element::Number(*value),
        Value::Int(value) => Element::Whole(i128::from(*value)),
        Value::UInt(value) => Element::Whole(i128::from(*value)),
        Value::Complex(real, imaginary) => Element::Pair(*real, *imaginary),
        _ => return None,
    })
}

fn is_as_expected(found: Element, expected: Element, tolerance: Tolerance) -> bool {
    match (found, expected) {
        (Element::Number(found), Element::Number(expected)) => tolerance.admits(found, expected),
        (Element::Whole(found), Element::Whole(expected)) => tolerance.admits_whole(found, expected),
        (Element::Number(found), Element::Whole(expected)) if found.fract() == 0.0 => {
            tolerance.admits_whole(found as i128, expected)
        }
        (Element::Number(found), Element::Whole(expected)) => tolerance.admits(found, expected as f64),
        (Element::Pair(a, b), Element::Pair(c, d)) => tolerance.admits(a, c) && tolerance.admits(b, d),
        _ => false,
    }
}

fn number(found: Element, expected: Element, tolerance: Tolerance, place: &str) -> Option<String> {
    if is_as_expected(found, expected, tolerance) {
        return None;
    }
    let off = match (found, expected) {
        (Element::Number(found), Element::Number(expected)) => {
            format!(" (off by {})", written_number((found - expected).abs()))
        }
        (Element::Number(found), Element::Whole(expected)) if found.fract() == 0.0 => {
            format!(" (off by {})", (found as i128).abs_diff(expected))
        }
        _ => String::new(),
    };
    Some(format!("{}{}, expected {}{off}", at(place), written_element(found), written_element(expected)))
}

fn arrays(found: &Array, expected: &Array, tolerance: Tolerance, place: &str) -> Option<String> {
    let kind = |array: &Array| {
        (array.dtype(), array.shape().to_vec(), array.names().to_vec(), array.unit().map(str::to_owned))
    };
    let (is, wanted) = (kind(found), kind(expected));
    if is.0 != wanted.0 || is.1 != wanted.1 {
        let text = |kind: &(ligament_wire::DType, Vec<u64>, Vec<String>, Option<String>)| {
            format!("{} {:?}", kind.0.name(), kind.1)
        };
        return Some(said!(CASE_DIFFERS, "{}an array of {}, expected {}", at(place), text(&is), text(&wanted)));
    }
    if is.2 != wanted.2 || is.3 != wanted.3 {
        return Some(said!(
            CASE_DIFFERS,
            "{}names {:?} and unit {:?}, expected {:?} and {:?}",
            at(place),
            is.2,
            is.3,
            wanted.2,
            wanted.3
        ));
    }
    let pairs: Vec<_> = elements(found).into_iter().zip(elements(expected)).collect();
    let wrong = pairs.iter().filter(|(found, expected)| !is_as_expected(*found, *expected, tolerance)).count();
    let first = pairs.iter().position(|(found, expected)| !is_as_expected(*found, *expected, tolerance))?;
    let mut index = Vec::new();
    let mut rest = first as u64;
    for &extent in found.shape().iter().rev() {
        index.insert(0, rest % extent.max(1));
        rest /= extent.max(1);
    }
    let text = number(pairs[first].0, pairs[first].1, tolerance, &format!("{place}{index:?}"))?;
    Some(match wrong {
        1 => text,
        wrong => said!(CASE_DIFFERS, "{text}; {wrong} of {} elements differ", pairs.len()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ligament_wire::ArrayOrder;

    fn array(values: &[f64], shape: &[usize]) -> Value {
        Value::Array(Array::from_slice(values, shape, ArrayOrder::RowMajor).expect("an array"))
    }

    #[test]
    fn numbers_may_be_off_by_the_tolerance() {
        let loose = Tolerance { relative: 1e-3, absolute: 0.0 };
        let (one, near) = (Value::Float(1.0), Value::Float(1.0005));
        assert_eq!(difference(&near, &one, loose), None);
        assert!(difference(&near, &one, Tolerance::default()).is_some_and(|text| text.contains("off by")));
        assert_eq!(difference(&one, &Value::Int(1), Tolerance::default()), None);
        let large = Value::Float(9007199254740992.0);
        assert_eq!(difference(&large, &Value::Int(9007199254740992), Tolerance::default()), None);
        for wrong in [Value::Int(9007199254740993), Value::UInt(9007199254740993)] {
            assert!(
                difference(&large, &wrong, Tolerance::default()).is_some_and(|text| text.contains("off by 1)"))
            );
            assert_eq!(difference(&large, &wrong, loose), None);
        }
        let whole =
            |x: i64| Value::Array(Array::from_slice(&[x], &[1], ArrayOrder::RowMajor).expect("an array"));
        let (even, odd) = (whole(9007199254740992), whole(9007199254740993));
        assert!(difference(&even, &odd, Tolerance::default()).is_some());
        assert_eq!(difference(&even, &odd, Tolerance { relative: 0.0, absolute: 1.0 }), None);
        assert!(difference(&Value::Int(1), &one, Tolerance::default()).is_some(), "the type is another");
        assert_eq!(difference(&Value::Float(f64::NAN), &Value::Float(f64::NAN), loose), None);
    }

    #[test]
    fn infinite_numbers_and_nan_are_only_like_themselves() {
        let all = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1.0, f64::MAX];
        for tolerance in [Tolerance::default(), Tolerance { relative: 1e-3, absolute: 1.0 }] {
            for (i, &found) in all.iter().enumerate() {
                for (j, &expected) in all.iter().enumerate() {
                    let (value, pair) = (Value::Float, |part| Value::Complex(0.0, part));
                    let is_same = i == j;
                    assert_eq!(difference(&value(found), &value(expected), tolerance).is_none(), is_same);
                    assert_eq!(difference(&pair(found), &pair(expected), tolerance).is_none(), is_same);
                    let (found, expected) = (array(&[found], &[1]), array(&[expected], &[1]));
                    assert_eq!(
                        difference(&found, &expected, tolerance).is_none(),
                        is_same,
                        "{found:?}, {expected:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_difference_says_where_it_is() {
        let found = Value::Map(vec![(
            "a".into(),
            Value::List(vec![Value::Int(1), array(&[1.0, 2.0, 3.0, 5.0], &[2, 2])]),
        )]);
        let expected = Value::Map(vec![(
            "a".into(),
            Value::List(vec![Value::Int(1), array(&[1.0, 2.0, 3.0, 4.0], &[2, 2])]),
        )]);
        let text = difference(&found, &expected, Tolerance::default()).expect("a difference");
        assert_eq!(text, "data.a[1][1, 1]: 5.0, expected 4.0 (off by 1.0)");
        let other = difference(&array(&[1.0], &[1]), &array(&[1.0, 2.0], &[2]), Tolerance::default());
        assert_eq!(other.as_deref(), Some("an array of float64 [1], expected float64 [2]"));
        let missing = difference(&Value::Map(vec![]), &expected, Tolerance::default());
        assert_eq!(missing.as_deref(), Some("no key \"a\""));
    }
}
