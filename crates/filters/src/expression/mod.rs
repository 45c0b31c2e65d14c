//! Expressions that users write into the model, such as `2 * x + sin(t)`. Expressions are parsed and never
//! run as code. `parse` compiles an expression into a program for a stack machine; `evaluate` runs the
//! program over blocks of elements. Each operation handles a whole block, so that the compiler uses vector
//! instructions.

mod evaluate;
mod parse;

use crate::chain::{FilterRemark, FilterStep, StepOutput};
use crate::memory::FilterMemory;
use crate::numbers::NumberBuffer;
use crate::parcel::{Data, Parcel};
use evaluate::Machine;
use ligament_catalogue::{fault, Fault};
use ligament_wire::Value;

/// An operation of the stack machine. All values are doubles; true is 1 and false is 0.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Operation {
    /// Pushes the element.
    X,
    /// Pushes the timestamp of the message, in s.
    T,
    /// Pushes the element's index along this axis.
    Index(usize),
    Constant(f64),
    Apply(Function),
    /// Replaces the two topmost values by the result of a binary operation.
    Combine(Binary),
    /// Replaces the topmost value by the result of a binary operation with a constant on its right or on
    /// its left.
    CombineRight(Binary, f64),
    CombineLeft(f64, Binary),
    /// Replaces the three topmost values by the value of `where(condition, a, b)`.
    Choose,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
    Min,
    Max,
    Atan2,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
    And,
    Or,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Function {
    Negate,
    Not,
    IsNan,
    Abs,
    Sqrt,
    Exp,
    Log,
    Log10,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Floor,
    Ceil,
    Round,
}

/// The filter that computes each element anew by an expression.
pub(crate) struct Expression {
    program: Vec<Operation>,
    machine: Machine,
}

impl Expression {
    /// Parses an expression.
    ///
    /// # Errors
    /// The text is not an expression; the error gives the position of the fault.
    pub fn parse(text: &str) -> Result<Expression, Fault> {
        let program = parse::parse(text)?;
        let machine = Machine::for_program(&program);
        Ok(Expression { program, machine })
    }
}

impl FilterStep for Expression {
    fn apply<'a>(
        &mut self,
        mut parcel: Parcel<'a>,
        _: &mut Vec<FilterRemark>,
    ) -> Result<StepOutput<'a>, Fault> {
        let time = parcel.timestamp;
        let numbers = NumberBuffer::of(&mut parcel.data)?;
        let axes = numbers.frame.shape.len();
        let beyond = self.program.iter().find_map(|operation| match *operation {
            Operation::Index(axis) if axis >= axes => Some(["i", "j", "k", "l"][axis]),
            _ => None,
        });
        if let Some(index) = beyond {
            return Err(fault!(
                FILTER_FAILED,
                "the expression has {index}, and this is {}",
                numbers.describe()
            ));
        }
        let made = self.machine.run(&self.program, numbers, time);
        Ok(StepOutput::One(parcel.with(Data::Own(made))))
    }

    fn memory(&mut self) -> FilterMemory<'_> {
        FilterMemory::None
    }
}

/// Returns the text with values in place of names that contain dots, such as `scale.total_time`, because
/// the parser does not accept such names.
fn without_dots(text: &str, value_of: &dyn Fn(&str) -> Option<f64>) -> String {
    let (mut filled, mut rest) = (String::new(), text);
    let in_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    while let Some(begin) = rest.find(in_name) {
        let (before, from) = rest.split_at(begin);
        let (word, after) = from.split_at(from.find(|c| !in_name(c)).unwrap_or(from.len()));
        filled.push_str(before);
        match value_of(word).filter(|_| word.contains('.') && !word.starts_with(|c: char| c.is_ascii_digit())) {
            Some(value) => filled.push_str(&format!("({value:e})")),
            None => filled.push_str(word),
        }
        rest = after;
    }
    filled + rest
}

/// Returns the value of an expression with names, such as `t_max / dt` or `scale.total_time / dt`.
///
/// # Errors
/// The text is not an expression (the error gives the position of the fault), a name has no value, or the
/// result is not finite.
pub fn calculate(text: &str, value_of: &dyn Fn(&str) -> Option<f64>) -> Result<f64, Fault> {
    let text = &without_dots(text, value_of);
    let tokens = parse::tokens(text)?;
    let mut filled = String::new();
    let mut upto = 0;
    for (at, (begin, token)) in tokens.iter().enumerate() {
        let parse::Token::Name(name) = token else { continue };
        let is_call = matches!(tokens.get(at + 1), Some((_, parse::Token::Sign("("))));
        if is_call || matches!(*name, "and" | "or" | "not") {
            continue;
        }
        let value = match (value_of(name), *name) {
            (Some(value), _) => value,
            (None, "pi" | "e") => continue,
            (None, _) => return Err(fault!(FILTER_FAILED, "\"{name}\" has no value, in \"{text}\"")),
        };
        filled.push_str(&text[upto..*begin]);
        filled.push_str(&format!("({value:e})"));
        upto = begin + name.len();
    }
    filled.push_str(&text[upto..]);
    let mut expression =
        Expression::parse(&filled).map_err(|fault| fault.told(|why| format!("\"{text}\": {why}")))?;
    let parcel = Parcel { timestamp: 0.0, next_timestamp: None, data: Data::Kept(Value::Float(0.0)) };
    match expression.apply(parcel, &mut Vec::new())? {
        StepOutput::One(parcel) => match parcel.data.into_value()? {
            Value::Float(value) if value.is_finite() => Ok(value),
            Value::Float(value) => Err(fault!(FILTER_FAILED, "\"{text}\" is {value}, and not a finite number")),
            _ => Err(fault!(FILTER_FAILED, "\"{text}\" is no number")),
        },
        _ => Err(fault!(FILTER_FAILED, "\"{text}\" has no value")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str, x: f64) -> f64 {
        let mut expression = Expression::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let parcel = Parcel { timestamp: 3.0, next_timestamp: None, data: Data::Kept(Value::Float(x)) };
        match expression.apply(parcel, &mut Vec::new()) {
            Ok(StepOutput::One(parcel)) => match parcel.data.into_value().unwrap() {
                Value::Float(value) => value,
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn expressions_have_the_values_of_arithmetic() {
        for (text, expected) in [
            ("x", 2.0),
            ("2 * x + 1", 5.0),
            ("2 + x * 3 - 1", 7.0),
            ("-x ** 2", -4.0),
            ("2 ^ 3 ^ 2", 512.0),
            ("2 ** -1", 0.5),
            ("(x + 1) / 4", 0.75),
            ("10 - 3 - 2", 5.0),
            ("12 / x / 3", 2.0),
            ("1e-3 * 1.5E2 * .5", 0.075),
            ("t", 3.0),
            ("x - -t", 5.0),
            ("min(x, t, -1)", -1.0),
            ("max(x, t)", 3.0),
            ("pow(x, 3)", 8.0),
            ("sqrt(x * 8)", 4.0),
            ("abs(-x) + floor(2.7) + ceil(2.2) + round(2.5)", 9.0),
            ("exp(log(x)) + log10(1000)", 5.0),
            ("sin(pi / 2) + cos(0) + atan2(0, 1)", 2.0),
            ("where(x > 1, 10, 20)", 10.0),
            ("where(x >= 2 and not t < 3, 1, 0)", 1.0),
            ("x == 2 or x != 2", 1.0),
            ("(x < 1) + (x <= 2)", 1.0),
            ("exp(1) - e", 0.0),
        ] {
            let found = value(text, 2.0);
            assert!((found - expected).abs() < 1e-12, "{text} = {found}, not {expected}");
        }
    }

    #[test]
    fn names_stand_for_their_values() {
        let value_of = |name: &str| {
            [("t_max", 240.0), ("dt", 0.25), ("x", -3.0), ("scale.total_time", 8.0)]
                .iter()
                .find(|(n, _)| *n == name)
                .map(|(_, v)| *v)
        };
        for (text, expected) in [
            ("t_max / dt", 960.0),
            ("1e-3 * t_max", 0.24),
            ("x ** 2", 9.0),
            ("max(dt, 2) + x", -1.0),
            ("floor(pi)", 3.0),
            ("scale.total_time/dt", 32.0),
            ("2.5+.5*scale.total_time", 6.5),
        ] {
            assert_eq!(calculate(text, &value_of), Ok(expected), "{text}");
        }
        assert!(calculate("t_end / dt", &value_of).unwrap_err().contains("\"t_end\" has no value"));
        assert!(calculate("scale.time_step", &value_of).is_err());
        assert!(calculate("dt / 0", &value_of).is_err());
        assert!(calculate("dt /", &value_of).is_err());
    }

    #[test]
    fn what_is_no_expression_is_refused_with_its_place() {
        for (text, place) in [
            ("", "at the end"),
            ("2 *", "at the end"),
            ("(x", "at the end"),
            ("x)", "\")\""),
            ("y + 1", "\"y\""),
            ("foo(x)", "\"foo\""),
            ("sin(x, 2)", "sin"),
            ("where(x, 1)", "where"),
            ("2 x", "\"x\""),
            ("x $ 2", "\"$\""),
            ("x = 2", "\"=\""),
            ("1.2.3", "\"1.2.3\""),
            ("__import__(x)", "\"__import__\""),
        ] {
            let error = Expression::parse(text).err().unwrap_or_else(|| panic!("{text} was taken"));
            assert!(error.contains(place), "{text}: {error}");
        }
        let deep = format!("{}x{}", "(".repeat(10_000), ")".repeat(10_000));
        assert!(Expression::parse(&deep).is_err());
        assert!(Expression::parse(&"-".repeat(100_000)).is_err());
        assert!(Expression::parse(&format!("x{}", " + x".repeat(100_000))).is_err());
    }
}
