//! Methods of texts, numbers, lists, maps and ranges that cxa files use.

use crate::calls::CallRequest;
use crate::evaluate::{Evaluated, Evaluation, Flow};
use crate::place::TextPosition;
use crate::syntax::Block;
use crate::value::{shown_float, CxaValue};

/// Maximum depth of lists within lists that are joined.
const MAX_JOINED_DEPTH: usize = 50;

impl Evaluation<'_> {
    pub(crate) fn method(&mut self, of: &CxaValue, request: &CallRequest) -> Evaluated {
        let place = request.place;
        let most = most_arguments(request.name);
        if request.arguments.len() > most {
            let most = ["without arguments", "with one argument at most", "with two arguments at most"][most];
            let what = format!("\"{}\" is read {most}", request.name);
            return Err(place.fault(what, "write the model without the others").into());
        }
        match (of, request.name) {
            (_, "nil?") => Ok(CxaValue::Bool(*of == CxaValue::Nil)),
            (CxaValue::Text(_) | CxaValue::Symbol(_), "to_s" | "to_str" | "freeze" | "dup") => {
                let text = self.shown(place, of)?;
                self.text(place, text)
            }
            (_, "freeze") => Ok(of.clone()),
            (CxaValue::Text(text), _) => self.method_of_text(text, request),
            (CxaValue::Int(_) | CxaValue::Float(_), _) => self.method_of_number(of, request),
            (
                CxaValue::Range(..) | CxaValue::List(_) | CxaValue::Map(_),
                "each" | "each_pair" | "each_with_index",
            ) => self.each_element(of, request),
            (CxaValue::Range(..) | CxaValue::List(_), "map" | "collect") => self.map_of(of, request),
            (CxaValue::Range(first, last, is_open), _) => {
                self.method_of_range((*first, *last, *is_open), request)
            }
            (CxaValue::List(list), _) => self.method_of_list(*list, request),
            (CxaValue::Map(map), _) => self.method_of_map(*map, request),
            (CxaValue::Symbol(name), "to_sym") => Ok(CxaValue::Symbol(name.clone())),
            (CxaValue::Nil | CxaValue::Bool(_), "to_s") => {
                let text = self.shown(place, of)?;
                self.text(place, text)
            }
            _ => Err(self.unknown_call(request, of.kind())),
        }
    }

    fn method_of_text(&mut self, text: &str, request: &CallRequest) -> Evaluated {
        let place = request.place;
        let other = |evaluation: &mut Self| evaluation.shown(place, &request.argument(0));
        self.charge(place, text.len() / 16)?;
        match request.name {
            "to_sym" => Ok(CxaValue::Symbol(text.into())),
            "to_i" => match number_in(text.trim_start(), false) {
                (0, _) => Ok(CxaValue::Int(0)),
                (_, digits) => digits.parse().map(CxaValue::Int).map_err(|_| beyond(place, &digits)),
            },
            "to_f" => match number_in(text.trim_start(), true) {
                (0, _) => Ok(CxaValue::Float(0.0)),
                (_, digits) => {
                    let number = digits.parse().ok().filter(|number: &f64| number.is_finite());
                    number.map(CxaValue::Float).ok_or_else(|| beyond(place, &digits))
                }
            },
            "upcase" => self.text(place, text.to_uppercase()),
            "downcase" => self.text(place, text.to_lowercase()),
            "strip" => self.text(place, text.trim().to_owned()),
            "chomp" => {
                let line = text.strip_suffix('\n').unwrap_or(text);
                self.text(place, line.strip_suffix('\r').unwrap_or(line).to_owned())
            }
            "length" | "size" => Ok(CxaValue::Int(text.chars().count() as i64)),
            "empty?" => Ok(CxaValue::Bool(text.is_empty())),
            "include?" => Ok(CxaValue::Bool(text.contains(&other(self)?))),
            "start_with?" => Ok(CxaValue::Bool(text.starts_with(&other(self)?))),
            "end_with?" => Ok(CxaValue::Bool(text.ends_with(&other(self)?))),
            "split" => {
                let between = other(self)?;
                let mut parts: Vec<CxaValue> = match between.as_str() {
                    "" if request.arguments.is_empty() => text.split_whitespace().map(CxaValue::text).collect(),
                    " " => text.split_whitespace().map(CxaValue::text).collect(),
                    "" => text.chars().map(|c| CxaValue::text(c.to_string())).collect(),
                    _ => text.split(&between).map(CxaValue::text).collect(),
                };
                // Ruby leaves out empty texts at the end.
                let full = parts.iter().rposition(|part| *part != CxaValue::text(""));
                parts.truncate(full.map_or(0, |at| at + 1));
                self.charge(place, parts.len())?;
                Ok(self.heap.list(parts))
            }
            _ => Err(self.unknown_call(request, "a text")),
        }
    }

    fn method_of_number(&mut self, of: &CxaValue, request: &CallRequest) -> Evaluated {
        let place = request.place;
        let number = of.as_number().unwrap_or(0.0);
        let whole = |number: f64| {
            let beyond = || place.fault("the result is beyond whole numbers of 64 bits", "use smaller numbers");
            let is_there = number.is_finite() && number.abs() < 9.2e18;
            is_there.then_some(CxaValue::Int(number as i64)).ok_or_else(|| beyond().into())
        };
        match (of, request.name) {
            (_, "to_s") => {
                let text = self.shown(place, of)?;
                self.text(place, text)
            }
            (_, "to_f") => Ok(CxaValue::Float(number)),
            (CxaValue::Int(_), "to_i" | "round" | "floor" | "ceil") => Ok(of.clone()),
            (_, "to_i") => whole(number.trunc()),
            (_, "floor") => whole(number.floor()),
            (_, "ceil") => whole(number.ceil()),
            (_, "round") if request.arguments.is_empty() => whole(number.round()),
            (CxaValue::Int(value), "abs") => Ok(value.checked_abs().map_or(CxaValue::Nil, CxaValue::Int)),
            (_, "abs") => Ok(CxaValue::Float(number.abs())),
            (CxaValue::Int(value), "even?") => Ok(CxaValue::Bool(value % 2 == 0)),
            (CxaValue::Int(value), "odd?") => Ok(CxaValue::Bool(value % 2 != 0)),
            (_, "zero?") => Ok(CxaValue::Bool(number == 0.0)),
            (CxaValue::Int(count), "times") => self.steps((0, count.saturating_sub(1), 1), request),
            (CxaValue::Int(first), "upto" | "downto") => match request.argument(0) {
                CxaValue::Int(last) if request.name == "upto" => self.steps((*first, last, 1), request),
                CxaValue::Int(last) => self.steps((*first, last, -1), request),
                _ => Err(self.unknown_call(request, "a number that is not whole")),
            },
            (CxaValue::Int(first), "step") => match (request.argument(0), request.argument(1)) {
                (CxaValue::Int(last), CxaValue::Int(by)) => self.steps((*first, last, by), request),
                _ => Err(self.unknown_call(request, "a number that is not whole")),
            },
            (CxaValue::Int(value), "succ" | "next") => Ok(CxaValue::Int(value.saturating_add(1))),
            (CxaValue::Int(value), "pred") => Ok(CxaValue::Int(value.saturating_sub(1))),
            _ => Err(self.unknown_call(request, of.kind())),
        }
    }

    fn block_of<'b>(&self, request: &'b CallRequest) -> Evaluated<&'b Block> {
        request.block.ok_or_else(|| {
            let what = format!("\"{}\" has no block", request.name);
            request.place.fault(what, "write do |x| … end behind it").into()
        })
    }

    /// Evaluates a block for whole numbers in equal steps.
    fn steps(&mut self, (first, last, by): (i64, i64, i64), request: &CallRequest) -> Evaluated {
        let block = self.block_of(request)?;
        if by == 0 {
            return Err(request.place.fault("the step of a loop is 0", "give it another step").into());
        }
        let mut at = Some(first);
        while let Some(value) = at.filter(|at| if by > 0 { *at <= last } else { *at >= last }) {
            if self.block_pass(request.place, block, CxaValue::Int(value))?.is_none() {
                return Ok(CxaValue::Nil);
            }
            at = value.checked_add(by);
        }
        Ok(CxaValue::Int(first))
    }

    fn each_element(&mut self, of: &CxaValue, request: &CallRequest) -> Evaluated {
        let block = self.block_of(request)?;
        let place = request.place;
        if request.name != "each_with_index" {
            return self.each(place, of, &mut |evaluation, value| {
                evaluation.block_pass(place, block, value).map(|done| done.is_some())
            });
        }
        let elements = self.elements(place, of)?;
        for (at, value) in elements.into_iter().enumerate() {
            let pair = match &block.parameters[..] {
                [_] => value,
                _ => self.heap.list(vec![value, CxaValue::Int(at as i64)]),
            };
            if self.block_pass(place, block, pair)?.is_none() {
                return Ok(CxaValue::Nil);
            }
        }
        Ok(of.clone())
    }

    /// Returns the elements of a list or range.
    fn elements(&mut self, place: TextPosition, of: &CxaValue) -> Evaluated<Vec<CxaValue>> {
        match of {
            CxaValue::List(list) => {
                self.charge(place, self.heap.lists[*list].len())?;
                Ok(self.heap.lists[*list].clone())
            }
            CxaValue::Range(first, last, _) => {
                let count = last.saturating_sub(*first).saturating_add(1).max(0);
                self.charge(place, usize::try_from(count).unwrap_or(usize::MAX))?;
                Ok((*first..=*last).map(CxaValue::Int).collect())
            }
            other => Err(place.fault(format!("{} has no elements", other.kind()), "use a list").into()),
        }
    }

    fn map_of(&mut self, of: &CxaValue, request: &CallRequest) -> Evaluated {
        let block = self.block_of(request)?;
        let mut made = Vec::new();
        for value in self.elements(request.place, of)? {
            match self.block_pass(request.place, block, value)? {
                Some(value) => made.push(value),
                None => return Ok(CxaValue::Nil),
            }
        }
        Ok(self.heap.list(made))
    }

    fn method_of_range(
        &mut self,
        (first, last, is_open): (i64, i64, bool),
        request: &CallRequest,
    ) -> Evaluated {
        match (request.name, request.argument(0)) {
            ("step", CxaValue::Int(by)) => self.steps((first, last, by), request),
            ("min" | "max", CxaValue::Nil) if last < first => Ok(CxaValue::Nil),
            ("first" | "begin" | "min", CxaValue::Nil) => Ok(CxaValue::Int(first)),
            ("last" | "end", CxaValue::Nil) if is_open => Ok(CxaValue::Int(last.saturating_add(1))),
            ("last" | "end" | "max", CxaValue::Nil) => Ok(CxaValue::Int(last)),
            ("size" | "count", CxaValue::Nil) => {
                Ok(CxaValue::Int(last.saturating_sub(first).saturating_add(1).max(0)))
            }
            ("to_a", _) => {
                let elements = self.elements(request.place, &CxaValue::Range(first, last, is_open))?;
                Ok(self.heap.list(elements))
            }
            ("include?" | "member?", CxaValue::Int(number)) => {
                Ok(CxaValue::Bool((first..=last).contains(&number)))
            }
            _ => Err(self.unknown_call(request, "a range")),
        }
    }

    fn method_of_list(&mut self, list: usize, request: &CallRequest) -> Evaluated {
        let place = request.place;
        self.charge(place, self.heap.lists[list].len() / 16)?;
        match request.name {
            "push" | "<<" | "append" => {
                self.heap.lists[list].extend(request.arguments.iter().cloned());
                Ok(CxaValue::List(list))
            }
            "count" if !request.arguments.is_empty() => {
                let count = self.equal_elements(place, list, &request.argument(0))?;
                Ok(CxaValue::Int(count as i64))
            }
            "length" | "size" | "count" => Ok(CxaValue::Int(self.heap.lists[list].len() as i64)),
            "empty?" => Ok(CxaValue::Bool(self.heap.lists[list].is_empty())),
            "first" | "last" if !request.arguments.is_empty() => self.end_of_list(list, request),
            "first" => Ok(self.heap.lists[list].first().cloned().unwrap_or(CxaValue::Nil)),
            "last" => Ok(self.heap.lists[list].last().cloned().unwrap_or(CxaValue::Nil)),
            "include?" => {
                let count = self.equal_elements(place, list, &request.argument(0))?;
                Ok(CxaValue::Bool(count > 0))
            }
            "to_a" => Ok(CxaValue::List(list)),
            "join" => {
                let between = self.shown(place, &request.argument(0))?;
                let mut texts = Vec::new();
                self.joined(place, list, &mut texts, 0)?;
                self.text(place, texts.join(&between))
            }
            _ => Err(self.unknown_call(request, "a list")),
        }
    }

    /// Returns the number of elements of a list that are equal to a value.
    fn equal_elements(&mut self, place: TextPosition, list: usize, value: &CxaValue) -> Evaluated<usize> {
        let mut count = 0;
        for at in 0..self.heap.lists[list].len() {
            let element = self.heap.lists[list][at].clone();
            count += usize::from(self.are_equal(place, (&element, value), 0)?);
        }
        Ok(count)
    }

    /// Returns the first or last elements of a list, as many as the argument says.
    fn end_of_list(&mut self, list: usize, request: &CallRequest) -> Evaluated {
        let CxaValue::Int(count) = request.argument(0) else {
            return Err(self.unknown_call(request, "a list"));
        };
        let Ok(count) = usize::try_from(count) else {
            return Err(request
                .place
                .fault("a list has no elements below 0", "write a count from 0 on")
                .into());
        };
        let elements = &self.heap.lists[list];
        let count = count.min(elements.len());
        let taken = match request.name {
            "first" => elements[..count].to_vec(),
            _ => elements[elements.len() - count..].to_vec(),
        };
        self.charge(request.place, taken.len())?;
        Ok(self.heap.list(taken))
    }

    /// Writes the elements of a list, and those of lists in it, as texts.
    fn joined(
        &mut self,
        place: TextPosition,
        list: usize,
        texts: &mut Vec<String>,
        depth: usize,
    ) -> Evaluated<()> {
        if depth > MAX_JOINED_DEPTH {
            return Err(place
                .fault("a list that is joined cannot be written as a text", "join parts of it")
                .into());
        }
        for at in 0..self.heap.lists[list].len() {
            self.charge(place, 1)?;
            match self.heap.lists[list][at].clone() {
                CxaValue::List(inner) => self.joined(place, inner, texts, depth + 1)?,
                value => texts.push(self.shown(place, &value)?),
            }
        }
        Ok(())
    }

    fn method_of_map(&mut self, map: usize, request: &CallRequest) -> Evaluated {
        let place = request.place;
        self.charge(place, self.heap.maps[map].len() / 16)?;
        let key = request.argument(0);
        match request.name {
            "length" | "size" | "count" => Ok(CxaValue::Int(self.heap.maps[map].len() as i64)),
            "empty?" => Ok(CxaValue::Bool(self.heap.maps[map].is_empty())),
            "has_key?" | "key?" | "include?" => {
                Ok(CxaValue::Bool(self.heap.maps[map].iter().any(|(known, _)| *known == key)))
            }
            "keys" | "values" => {
                let is_keys = request.name == "keys";
                let pairs = self.heap.maps[map].iter();
                let found: Vec<CxaValue> =
                    pairs.map(|(key, value)| if is_keys { key.clone() } else { value.clone() }).collect();
                self.charge(place, found.len())?;
                Ok(self.heap.list(found))
            }
            "fetch" => match self.heap.maps[map].iter().find(|(known, _)| *known == key) {
                Some((_, value)) => Ok(value.clone()),
                None if request.arguments.len() > 1 => Ok(request.argument(1)),
                None => {
                    let shown = self.shown(place, &key)?;
                    Err(place.fault(format!("the map has no key \"{shown}\""), "give it a value before").into())
                }
            },
            "merge" => match key {
                CxaValue::Map(other) => {
                    self.charge(place, self.heap.maps[map].len())?;
                    let merged = self.heap.map(self.heap.maps[map].clone());
                    for (key, value) in self.heap.maps[other].clone() {
                        self.set_element(place, (&merged, &key), value)?;
                    }
                    Ok(merged)
                }
                _ => Err(self.unknown_call(request, "a map")),
            },
            _ => Err(self.unknown_call(request, "a map")),
        }
    }

    /// Writes values into a format such as `kernel%02d`.
    pub(crate) fn formatted(&mut self, place: TextPosition, format: &str, values: &CxaValue) -> Evaluated {
        let values = match values {
            CxaValue::List(list) => self.heap.lists[*list].clone(),
            value => vec![value.clone()],
        };
        let (mut out, mut rest, mut values) = (String::new(), format, values.into_iter());
        while let Some((before, after)) = rest.split_once('%') {
            out.push_str(before);
            if let Some(after) = after.strip_prefix('%') {
                out.push('%');
                rest = after;
                continue;
            }
            let length = after.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(after.len());
            let (flags, after) = after.split_at(length);
            let Some(kind) = after.chars().next() else {
                return Err(place.fault(format!("a % in {format:?} has no letter"), "write %d or %%").into());
            };
            rest = &after[1..];
            let value = values.next().ok_or_else(|| {
                place.fault(format!("the format {format:?} has more places than values"), "give it all values")
            })?;
            out.push_str(&self.with_format(place, (flags, kind), &value)?);
        }
        out.push_str(rest);
        self.text(place, out)
    }

    fn with_format(
        &mut self,
        place: TextPosition,
        (flags, kind): (&str, char),
        value: &CxaValue,
    ) -> Evaluated<String> {
        let (width, precision) = flags.split_once('.').map_or((flags, None), |(w, p)| (w, Some(p)));
        let is_filled = width.starts_with('0');
        let number = |text: &str| text.parse::<usize>().ok().filter(|number| *number <= 100);
        let unread = || {
            let what = format!("\"%{flags}{kind}\" for {} is not read", value.kind());
            place.fault(what, "write the text out")
        };
        let width = if width.is_empty() { Some(0) } else { number(width) }.ok_or_else(unread)?;
        let precision = precision.map(|precision| number(precision).ok_or_else(unread)).transpose()?;
        if precision.is_some() && kind != 'f' {
            return Err(unread().into());
        }
        let text = match (kind, value) {
            ('d' | 'i', CxaValue::Int(value)) => value.to_string(),
            ('d' | 'i', CxaValue::Float(value)) if value.abs() < 1e15 => format!("{:.0}", value.floor()),
            ('f', value) => {
                let value = value.as_number().ok_or_else(unread)?;
                format!("{value:.*}", precision.unwrap_or(6))
            }
            ('s', CxaValue::Float(value)) => shown_float(*value),
            ('s', value) => self.shown(place, value)?,
            _ => return Err(unread().into()),
        };
        let sign = text.strip_prefix('-');
        Ok(match (is_filled && kind != 's', sign) {
            (true, Some(digits)) => format!("-{digits:0>width$}", width = width.saturating_sub(1)),
            (true, None) => format!("{text:0>width$}"),
            (false, _) => format!("{text:>width$}"),
        })
    }
}

/// Returns how many arguments a method of a value is read with. Others would change what it gives.
fn most_arguments(method: &str) -> usize {
    match method {
        "to_s" | "to_i" | "to_f" | "to_sym" | "to_a" | "round" | "floor" | "ceil" | "chomp" | "strip"
        | "upcase" | "downcase" | "length" | "size" | "empty?" | "times" | "min" | "max" => 0,
        "include?" | "member?" | "start_with?" | "end_with?" | "split" | "join" | "first" | "last"
        | "count" | "merge" | "has_key?" | "key?" | "upto" | "downto" => 1,
        "fetch" | "step" => 2,
        _ => usize::MAX,
    }
}

fn beyond(place: TextPosition, digits: &str) -> Flow {
    place.fault(format!("{digits} is beyond the range of numbers"), "write a smaller number").into()
}

/// Returns the length of the number with which a text begins, and the number without `_`. The length is 0 if
/// there is none.
pub(crate) fn number_in(text: &str, is_float: bool) -> (usize, String) {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    // Returns the index behind the digits at an index. A `_` stands between two of them.
    let behind_digits = |mut at: usize| {
        while digit(at) || (bytes.get(at) == Some(&b'_') && at > 0 && digit(at - 1) && digit(at + 1)) {
            at += 1;
        }
        at
    };
    let is_sign = |at: usize| matches!(bytes.get(at), Some(b'+' | b'-'));
    let begin = usize::from(is_sign(0));
    let mut end = behind_digits(begin);
    if is_float && bytes.get(end) == Some(&b'.') && digit(end + 1) {
        end = behind_digits(end + 1);
    }
    if end == begin {
        return (0, String::new());
    }
    if is_float && matches!(bytes.get(end), Some(b'e' | b'E')) {
        let exponent = end + 1 + usize::from(is_sign(end + 1));
        end = if digit(exponent) { behind_digits(exponent) } else { end };
    }
    (end, text[..end].replace('_', ""))
}
