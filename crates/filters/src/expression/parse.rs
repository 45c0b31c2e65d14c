//! The parser of expressions, which uses precedence climbing. Operators from loose to tight: `or`, `and`,
//! `not`, comparisons, `+ -`, `* /`, signs, `**` (also `^`). Powers group from the right: `2 ^ 3 ^ 2` is `2
//! ^ 9`.

use super::{Binary, Function, Operation};
use ligament_catalogue::{fault, Fault};

/// Maximum length of an expression, in bytes.
const MAX_EXPRESSION_BYTES: usize = 4096;
/// Maximum depth of nesting in an expression.
const MAX_NESTING: usize = 64;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token<'a> {
    Number(f64),
    Name(&'a str),
    Sign(&'a str),
}

struct Parser<'a> {
    text: &'a str,
    /// The remaining tokens, each with its byte offset in the text.
    tokens: std::iter::Peekable<std::vec::IntoIter<(usize, Token<'a>)>>,
    program: Vec<Operation>,
    depth: usize,
}

/// Returns the program that computes the expression `text`.
///
/// # Errors
/// The text is not an expression; the error gives the position of the fault.
pub(super) fn parse(text: &str) -> Result<Vec<Operation>, Fault> {
    if text.len() > MAX_EXPRESSION_BYTES {
        return Err(fault!(
            FILTER_FAILED,
            "an expression may have {MAX_EXPRESSION_BYTES} bytes, and this has {}",
            text.len()
        ));
    }
    let tokens = tokens(text)?.into_iter().peekable();
    let mut parser = Parser { text, tokens, program: Vec::new(), depth: 0 };
    parser.either()?;
    match parser.tokens.next() {
        None => Ok(parser.program),
        Some((at, _)) => Err(parser.unexpected(Some(at))),
    }
}

pub(super) fn tokens(text: &str) -> Result<Vec<(usize, Token<'_>)>, Fault> {
    const SIGNS: [&str; 17] =
        ["**", "<=", ">=", "==", "!=", "<", ">", "+", "-", "*", "/", "^", "(", ")", ",", "&", "|"];
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let (length, token) = if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        } else if c.is_ascii_digit() || c == '.' {
            let length = number_length(rest);
            let number = rest[..length].parse::<f64>();
            let number = number
                .map_err(|_| fault!(FILTER_FAILED, "\"{}\" is no number, at {}", &rest[..length], at + 1))?;
            (length, Token::Number(number))
        } else if c.is_ascii_alphabetic() || c == '_' {
            let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            (length, Token::Name(&rest[..length]))
        } else if let Some(sign) = SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
            (sign.len(), Token::Sign(sign))
        } else {
            return Err(fault!(FILTER_FAILED, "\"{c}\" means nothing here, at {}", at + 1));
        };
        tokens.push((at, token));
        at += length;
    }
    Ok(tokens)
}

/// Returns the length in bytes of the number at the beginning of a text, even if the number is malformed.
fn number_length(text: &str) -> usize {
    let mut before = ' ';
    let within = |c: char| {
        let sign = (c == '-' || c == '+') && matches!(before, 'e' | 'E');
        before = c;
        !(c.is_ascii_alphanumeric() || c == '.' || sign)
    };
    text.find(within).unwrap_or(text.len())
}

impl<'a> Parser<'a> {
    fn unexpected(&self, at: Option<usize>) -> Fault {
        let Some(at) = at else {
            return fault!(FILTER_FAILED, "\"{}\" wants something more at the end", self.text);
        };
        let rest = &self.text[at..];
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
        let length = rest.find(|c| !is_name(c)).unwrap_or(rest.len()).max(1);
        fault!(
            FILTER_FAILED,
            "\"{}\" does not belong at place {} of \"{}\"",
            &rest[..length],
            at + 1,
            self.text
        )
    }

    fn takes(&mut self, sign: &str) -> bool {
        let is_it = |token: &Token<'_>| matches!(token, Token::Sign(text) | Token::Name(text) if *text == sign);
        self.tokens.next_if(|(_, token)| is_it(token)).is_some()
    }

    fn expect(&mut self, sign: &str) -> Result<(), Fault> {
        if self.takes(sign) {
            return Ok(());
        }
        let at = self.tokens.peek().map(|(at, _)| *at);
        Err(self.unexpected(at))
    }

    fn deeper(&mut self) -> Result<(), Fault> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            Err(fault!(FILTER_FAILED, "an expression may nest {MAX_NESTING} deep"))
        } else {
            Ok(())
        }
    }

    /// Appends a binary operation after its two operands. The operations of the first operand begin at
    /// `left`, and those of the second at `right`. A constant operand becomes part of the operation.
    fn combine(&mut self, binary: Binary, left: usize, right: usize) {
        match (&self.program[left..right], &self.program[right..]) {
            (_, &[Operation::Constant(constant)]) => {
                self.program.truncate(right);
                self.program.push(Operation::CombineRight(binary, constant));
            }
            (&[Operation::Constant(constant)], _) => {
                self.program.remove(left);
                self.program.push(Operation::CombineLeft(constant, binary));
            }
            _ => self.program.push(Operation::Combine(binary)),
        }
    }

    /// Parses operands that are joined by any of these operators, and groups them from the left.
    fn joined(
        &mut self,
        operators: &[(&str, Binary)],
        operand: fn(&mut Parser<'a>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let left = self.program.len();
        operand(self)?;
        while let Some(&(_, binary)) = operators.iter().find(|(sign, _)| self.takes(sign)) {
            let right = self.program.len();
            operand(self)?;
            self.combine(binary, left, right);
        }
        Ok(())
    }

    fn either(&mut self) -> Result<(), Fault> {
        self.joined(&[("or", Binary::Or), ("|", Binary::Or)], Parser::both)
    }

    fn both(&mut self) -> Result<(), Fault> {
        self.joined(&[("and", Binary::And), ("&", Binary::And)], Parser::negated)
    }

    fn negated(&mut self) -> Result<(), Fault> {
        if !self.takes("not") {
            return self.compared();
        }
        self.deeper()?;
        self.negated()?;
        self.depth -= 1;
        self.program.push(Operation::Apply(Function::Not));
        Ok(())
    }

    fn compared(&mut self) -> Result<(), Fault> {
        let comparisons = [
            ("<=", Binary::LessOrEqual),
            (">=", Binary::GreaterOrEqual),
            ("==", Binary::Equal),
            ("!=", Binary::NotEqual),
            ("<", Binary::Less),
            (">", Binary::Greater),
        ];
        let left = self.program.len();
        self.sum()?;
        let mut compared = false;
        while let Some(&(_, binary)) = comparisons.iter().find(|(sign, _)| self.takes(sign)) {
            if std::mem::replace(&mut compared, true) {
                let text = self.text;
                return Err(fault!(
                    FILTER_FAILED,
                    "\"{text}\" compares the result of a comparison; write \"a < x and x < b\", or brackets"
                ));
            }
            let right = self.program.len();
            self.sum()?;
            self.combine(binary, left, right);
        }
        Ok(())
    }

    fn sum(&mut self) -> Result<(), Fault> {
        self.joined(&[("+", Binary::Add), ("-", Binary::Subtract)], Parser::product)
    }

    fn product(&mut self) -> Result<(), Fault> {
        self.joined(&[("*", Binary::Multiply), ("/", Binary::Divide)], Parser::signed)
    }

    fn signed(&mut self) -> Result<(), Fault> {
        let negative = self.takes("-");
        if !negative && !self.takes("+") {
            return self.power();
        }
        self.deeper()?;
        self.signed()?;
        self.depth -= 1;
        match self.program.last_mut() {
            _ if !negative => {}
            Some(Operation::Constant(constant)) => *constant = -*constant,
            _ => self.program.push(Operation::Apply(Function::Negate)),
        }
        Ok(())
    }

    fn power(&mut self) -> Result<(), Fault> {
        let left = self.program.len();
        self.atom()?;
        if self.takes("**") || self.takes("^") {
            let right = self.program.len();
            self.deeper()?;
            self.signed()?;
            self.depth -= 1;
            self.combine(Binary::Power, left, right);
        }
        Ok(())
    }

    fn atom(&mut self) -> Result<(), Fault> {
        let (at, token) = self.tokens.next().ok_or_else(|| self.unexpected(None))?;
        match token {
            Token::Number(number) => self.program.push(Operation::Constant(number)),
            Token::Sign("(") => {
                self.deeper()?;
                self.either()?;
                self.expect(")")?;
                self.depth -= 1;
            }
            Token::Name(name) if self.takes("(") => {
                self.deeper()?;
                self.call(name, at)?;
                self.depth -= 1;
            }
            Token::Name(name) => {
                let operation = match name {
                    "x" => Operation::X,
                    "t" => Operation::T,
                    "i" => Operation::Index(0),
                    "j" => Operation::Index(1),
                    "k" => Operation::Index(2),
                    "l" => Operation::Index(3),
                    "pi" => Operation::Constant(std::f64::consts::PI),
                    "e" => Operation::Constant(std::f64::consts::E),
                    "and" | "or" | "not" => return Err(self.unexpected(Some(at))),
                    _ => {
                        return Err(fault!(
                            FILTER_FAILED,
                            "\"{name}\" is none of x (the number), t (the time), \
                                                          i, j, k, l (its indices), pi and e"
                        ))
                    }
                };
                self.program.push(operation);
            }
            Token::Sign(_) => return Err(self.unexpected(Some(at))),
        }
        Ok(())
    }

    /// Parses the arguments of a call after its opening bracket.
    fn call(&mut self, name: &str, at: usize) -> Result<(), Fault> {
        let left = self.program.len();
        let mut arguments = 0;
        let several = match name {
            "min" => Some(Binary::Min),
            "max" => Some(Binary::Max),
            _ => None,
        };
        loop {
            let right = self.program.len();
            self.either()?;
            arguments += 1;
            if let (Some(binary), 2..) = (several, arguments) {
                self.combine(binary, left, right);
            } else if arguments == 2 {
                if let Some(binary) = of_two(name) {
                    self.combine(binary, left, right);
                }
            }
            if !self.takes(",") {
                break;
            }
        }
        self.expect(")")?;
        let wanted = match (several, of_two(name), of_one(name), name) {
            (Some(_), ..) if arguments >= 2 => return Ok(()),
            (_, Some(_), ..) if arguments == 2 => return Ok(()),
            (_, _, Some(function), _) if arguments == 1 => {
                self.program.push(Operation::Apply(function));
                return Ok(());
            }
            (.., "where") if arguments == 3 => {
                self.program.push(Operation::Choose);
                return Ok(());
            }
            (Some(_), ..) => "at least 2 arguments",
            (_, Some(_), ..) => "2 arguments",
            (_, _, Some(_), _) => "1 argument",
            (.., "where") => "3 arguments",
            _ => return Err(fault!(FILTER_FAILED, "there is no function \"{name}\", at place {}", at + 1)),
        };
        Err(fault!(FILTER_FAILED, "{name} takes {wanted}, and here are {arguments}"))
    }
}

fn of_two(name: &str) -> Option<Binary> {
    match name {
        "pow" => Some(Binary::Power),
        "atan2" => Some(Binary::Atan2),
        _ => None,
    }
}

fn of_one(name: &str) -> Option<Function> {
    Some(match name {
        "isnan" => Function::IsNan,
        "abs" => Function::Abs,
        "sqrt" => Function::Sqrt,
        "exp" => Function::Exp,
        "log" => Function::Log,
        "log10" => Function::Log10,
        "sin" => Function::Sin,
        "cos" => Function::Cos,
        "tan" => Function::Tan,
        "asin" => Function::Asin,
        "acos" => Function::Acos,
        "atan" => Function::Atan,
        "sinh" => Function::Sinh,
        "cosh" => Function::Cosh,
        "tanh" => Function::Tanh,
        "floor" => Function::Floor,
        "ceil" => Function::Ceil,
        "round" => Function::Round,
        _ => return None,
    })
}
