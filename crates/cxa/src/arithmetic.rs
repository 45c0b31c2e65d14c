//! Operators of numbers, as Ruby computes them: whole numbers are divided downwards. A result beyond 64 bits is
//! refused, because Ruby would go on with more digits.

use crate::place::{SyntaxFault, TextPosition};
use crate::value::CxaValue;
use std::cmp::Ordering;

pub(crate) fn unary(place: TextPosition, operator: &str, inner: &CxaValue) -> Result<CxaValue, SyntaxFault> {
    match (operator, inner) {
        ("!", value) => Ok(CxaValue::Bool(!value.is_true())),
        ("+", CxaValue::Int(_) | CxaValue::Float(_)) => Ok(inner.clone()),
        ("-", CxaValue::Int(number)) => number.checked_neg().map(CxaValue::Int).ok_or_else(|| beyond(place)),
        ("-", CxaValue::Float(number)) => Ok(CxaValue::Float(-number)),
        (_, value) => {
            Err(place.fault(format!("\"{operator}\" stands before {}", value.kind()), "use it for numbers"))
        }
    }
}

pub(crate) fn binary(
    place: TextPosition,
    operator: &str,
    left: &CxaValue,
    right: &CxaValue,
) -> Result<CxaValue, SyntaxFault> {
    match (left, right) {
        (CxaValue::Int(left), CxaValue::Int(right)) => of_whole_numbers(place, operator, *left, *right),
        (CxaValue::Text(a), CxaValue::Text(b)) | (CxaValue::Symbol(a), CxaValue::Symbol(b)) => {
            compared(operator, a.cmp(b)).ok_or_else(|| unknown(place, operator, left, right))
        }
        _ => match (left.as_number(), right.as_number()) {
            (Some(a), Some(b)) => {
                of_numbers(operator, a, b).ok_or_else(|| unknown(place, operator, left, right))
            }
            _ => Err(unknown(place, operator, left, right)),
        },
    }
}

fn unknown(place: TextPosition, operator: &str, left: &CxaValue, right: &CxaValue) -> SyntaxFault {
    let what = format!("\"{operator}\" joins {} and {}", left.kind(), right.kind());
    let advice = match (left, right) {
        (CxaValue::Text(_), CxaValue::Int(_) | CxaValue::Float(_)) => {
            "write the number into the text by #{…}, or use to_s"
        }
        (CxaValue::Nil, _) | (_, CxaValue::Nil) => "look for the value that is not set",
        _ => "use it for numbers",
    };
    place.fault(what, advice)
}

fn beyond(place: TextPosition) -> SyntaxFault {
    place.fault("the result is beyond whole numbers of 64 bits", "compute with a decimal point")
}

fn compared(operator: &str, order: Ordering) -> Option<CxaValue> {
    Some(match operator {
        "<" => CxaValue::Bool(order.is_lt()),
        "<=" => CxaValue::Bool(order.is_le()),
        ">" => CxaValue::Bool(order.is_gt()),
        ">=" => CxaValue::Bool(order.is_ge()),
        "<=>" => CxaValue::Int(order as i64),
        _ => return None,
    })
}

fn of_whole_numbers(place: TextPosition, operator: &str, a: i64, b: i64) -> Result<CxaValue, SyntaxFault> {
    let found = match operator {
        "+" => a.checked_add(b),
        "-" => a.checked_sub(b),
        "*" => a.checked_mul(b),
        "/" | "%" if b == 0 => return Err(place.fault("a number is divided by 0", "divide by another number")),
        "/" => a.checked_div_euclid(b).map(|_| floor_division(a, b)),
        "%" => a.checked_rem(b).map(|rest| if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest }),
        "**" if b < 0 => {
            return Err(place.fault("a whole number has a negative exponent", "write it with a decimal point"))
        }
        "**" => u32::try_from(b).ok().and_then(|b| a.checked_pow(b)),
        "&" => Some(a & b),
        "|" => Some(a | b),
        "^" => Some(a ^ b),
        _ => {
            let order = compared(operator, a.cmp(&b));
            return order.ok_or_else(|| unknown(place, operator, &CxaValue::Int(a), &CxaValue::Int(b)));
        }
    };
    found.map(CxaValue::Int).ok_or_else(|| beyond(place))
}

fn floor_division(a: i64, b: i64) -> i64 {
    let quotient = a / b;
    if a % b != 0 && (a < 0) != (b < 0) {
        quotient - 1
    } else {
        quotient
    }
}

fn of_numbers(operator: &str, a: f64, b: f64) -> Option<CxaValue> {
    Some(CxaValue::Float(match operator {
        "+" => a + b,
        "-" => a - b,
        "*" => a * b,
        "/" => a / b,
        "%" => {
            let rest = a % b;
            if rest != 0.0 && (rest < 0.0) != (b < 0.0) {
                rest + b
            } else {
                rest
            }
        }
        "**" => a.powf(b),
        _ => return compared(operator, a.partial_cmp(&b)?),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_computed_as_in_ruby() {
        let place = TextPosition { line: 1, column: 1 };
        let of = |operator, a, b| binary(place, operator, &CxaValue::Int(a), &CxaValue::Int(b));
        for (operator, a, b, expected) in [
            ("/", 7, 2, 3),
            ("/", -7, 2, -4),
            ("/", 7, -2, -4),
            ("/", -7, -2, 3),
            ("%", -7, 2, 1),
            ("%", 7, -2, -1),
            ("%", 6, -2, 0),
            ("**", 2, 10, 1024),
            ("<=>", 1, 2, -1),
        ] {
            assert_eq!(of(operator, a, b), Ok(CxaValue::Int(expected)), "{a} {operator} {b}");
        }
        for (operator, a, b) in [
            ("/", 1, 0),
            ("%", 1, 0),
            ("*", i64::MAX, 2),
            ("/", i64::MIN, -1),
            ("**", 2, 64),
            ("**", 2, -1),
            ("**", 2, 1 << 40),
        ] {
            assert!(of(operator, a, b).is_err(), "{a} {operator} {b}");
        }
        assert!(unary(place, "-", &CxaValue::Int(i64::MIN)).is_err());
    }
}
