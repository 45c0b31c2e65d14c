//! Methods of texts, numbers, lists, maps and ranges that cxa files use.

use crate::calls::CallRequest;
use crate::evaluate::{Evaluated, Evaluation};
use crate::place::TextPosition;
use crate::syntax::Block;
use crate::value::{shown_float, CxaValue};

impl Evaluation<'_> {
    pub(crate) fn method(&mut self, of: &CxaValue, request: &CallRequest) -> Evaluated {
        let place = request.place;
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
            (CxaValue::Range(first, last), _) => self.method_of_range((*first, *last), request),
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
            "to_i" => Ok(CxaValue::Int(leading(text, |c| c.is_ascii_digit()).parse().unwrap_or(0))),
            "to_f" => {
                let number = leading(text, |c| c.is_ascii_digit() || "eE+-.".contains(c));
                let longest = (0..=number.len()).rev().find_map(|end| number[..end].parse::<f64>().ok());
                Ok(CxaValue::Float(longest.filter(|number| number.is_finite()).unwrap_or(0.0)))
            }
            "upcase" => self.text(place, text.to_uppercase()),
            "downcase" => self.text(place, text.to_lowercase()),
            "strip" | "chomp" => self.text(place, text.trim().to_owned()),
            "length" | "size" => Ok(CxaValue::Int(text.chars().count() as i64)),
            "empty?" => Ok(CxaValue::Bool(text.is_empty())),
            "include?" => Ok(CxaValue::Bool(text.contains(&other(self)?))),
            "start_with?" => Ok(CxaValue::Bool(text.starts_with(&other(self)?))),
            "end_with?" => Ok(CxaValue::Bool(text.ends_with(&other(self)?))),
            "split" => {
                let between = other(self)?;
                let parts: Vec<CxaValue> = match between.trim() {
                    "" => text.split_whitespace().map(CxaValue::text).collect(),
                    _ => text.split(&between).map(CxaValue::text).collect(),
                };
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
            self.charge(request.place, 1)?;
            self.bind(&block.parameters, CxaValue::Int(value));
            if !self.pass(&block.body)? {
                break;
            }
            at = value.checked_add(by);
        }
        Ok(CxaValue::Int(first))
    }

    fn each_element(&mut self, of: &CxaValue, request: &CallRequest) -> Evaluated {
        let block = self.block_of(request)?;
        if request.name != "each_with_index" {
            return self.each(request.place, of, (&block.parameters, &block.body));
        }
        let elements = self.elements(request.place, of)?;
        for (at, value) in elements.into_iter().enumerate() {
            let pair = self.heap.list(vec![value, CxaValue::Int(at as i64)]);
            self.charge(request.place, 1)?;
            self.bind(&block.parameters, pair);
            if !self.pass(&block.body)? {
                break;
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
            CxaValue::Range(first, last) => {
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
            self.charge(request.place, 1)?;
            self.bind(&block.parameters, value);
            made.push(self.body(&block.body)?);
        }
        Ok(self.heap.list(made))
    }

    fn method_of_range(&mut self, (first, last): (i64, i64), request: &CallRequest) -> Evaluated {
        match (request.name, request.argument(0)) {
            ("step", CxaValue::Int(by)) => self.steps((first, last, by), request),
            ("first" | "begin" | "min", CxaValue::Nil) => Ok(CxaValue::Int(first)),
            ("last" | "end" | "max", CxaValue::Nil) => Ok(CxaValue::Int(last)),
            ("size" | "count", CxaValue::Nil) => {
                Ok(CxaValue::Int(last.saturating_sub(first).saturating_add(1).max(0)))
            }
            ("to_a", _) => {
                let elements = self.elements(request.place, &CxaValue::Range(first, last))?;
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
            "length" | "size" | "count" => Ok(CxaValue::Int(self.heap.lists[list].len() as i64)),
            "empty?" => Ok(CxaValue::Bool(self.heap.lists[list].is_empty())),
            "first" => Ok(self.heap.lists[list].first().cloned().unwrap_or(CxaValue::Nil)),
            "last" => Ok(self.heap.lists[list].last().cloned().unwrap_or(CxaValue::Nil)),
            "include?" => Ok(CxaValue::Bool(self.heap.lists[list].contains(&request.argument(0)))),
            "to_a" => Ok(CxaValue::List(list)),
            "join" => {
                let between = self.shown(place, &request.argument(0))?;
                let mut texts = Vec::new();
                for value in self.heap.lists[list].clone() {
                    texts.push(self.shown(place, &value)?);
                }
                self.text(place, texts.join(&between))
            }
            _ => Err(self.unknown_call(request, "a list")),
        }
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
                let found =
                    pairs.map(|(key, value)| if is_keys { key.clone() } else { value.clone() }).collect();
                Ok(self.heap.list(found))
            }
            "fetch" => self.element(place, &CxaValue::Map(map), &[key]),
            "merge" => match key {
                CxaValue::Map(other) => {
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

/// Returns the beginning of a text, behind blanks, that has a sign and characters of a number.
fn leading(text: &str, is_part: impl Fn(char) -> bool) -> &str {
    let text = text.trim_start();
    let end = text
        .char_indices()
        .find(|(at, c)| !(is_part(*c) || (*at == 0 && matches!(c, '-' | '+'))))
        .map_or(text.len(), |(at, _)| at);
    &text[..end]
}
