//! YAML text as a tree whose nodes know their line and column. Depth, size and alias expansion are limited,
//! because a model file may come from a stranger. Scalars are read as the yMMSL reference reads them: YAML
//! 1.1 integers and nulls, YAML 1.2 floats and booleans.

use crate::problem::{At, Problem};
use ligament_catalogue::Code;
use saphyr_parser::{Event, Parser, ScalarStyle, Span};
use std::collections::HashMap;
use std::sync::Arc;

/// Maximum depth of nested containers.
pub const MAX_DEPTH: usize = 64;
/// Maximum length of a text (bytes).
pub const MAX_BYTES: usize = 256 << 20;
/// Maximum number of nodes that aliases and merge keys add together.
pub const MAX_ALIAS_NODES: usize = 100_000;
/// Maximum number of bytes of text that aliases and merge keys add together.
pub const MAX_ALIAS_BYTES: usize = 1 << 20;
/// Factor for the size of all nodes with anchors, each of which needs a copy: they may have this many times
/// the two maxima above.
const ANCHORS: usize = 64;

/// A node of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct YamlNode {
    /// The place of the node's beginning.
    pub at: At,
    /// Its kind.
    pub kind: YamlKind,
}

/// The kind of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum YamlKind {
    /// Nothing, `~` or `null`.
    Null,
    /// A truth value, and its text in the file.
    Bool(bool, String),
    /// A whole number, and its text in the file.
    Int(i64, String),
    /// A number, and its text in the file.
    Float(f64, String),
    /// Text.
    Str(String),
    /// A list.
    Seq(Vec<YamlNode>),
    /// A mapping in the order of the file. Duplicate keys have been reported; the last one counts.
    Map(Vec<(YamlNode, YamlNode)>),
}

impl YamlNode {
    /// Makes a list of this node and another one. The items of a list are added one by one.
    fn append(&mut self, other: YamlNode) {
        let items = |node: YamlNode| match node.kind {
            YamlKind::Seq(items) => items,
            kind => vec![YamlNode { at: node.at, kind }],
        };
        let at = self.at.clone();
        let own = std::mem::replace(self, YamlNode { at: at.clone(), kind: YamlKind::Null });
        let mut all = items(own);
        all.extend(items(other));
        *self = YamlNode { at, kind: YamlKind::Seq(all) };
    }

    /// Returns the kind in words, for messages: "a list".
    pub fn describe(&self) -> String {
        match &self.kind {
            YamlKind::Null => "nothing".into(),
            YamlKind::Bool(_, text) => format!("the truth value {text}"),
            YamlKind::Int(_, text) => format!("the whole number {text}"),
            YamlKind::Float(_, text) => format!("the number {text}"),
            YamlKind::Str(text) => format!("the text \"{}\"", shorten(text)),
            YamlKind::Seq(_) => "a list".into(),
            YamlKind::Map(_) => "a mapping".into(),
        }
    }

    fn size(&self) -> Size {
        match &self.kind {
            YamlKind::Seq(items) => {
                items.iter().map(YamlNode::size).fold(Size { nodes: 1, bytes: 0 }, Size::plus)
            }
            YamlKind::Map(pairs) => {
                let sizes = pairs.iter().map(|(key, value)| key.size().plus(value.size()));
                sizes.fold(Size { nodes: 1, bytes: 0 }, Size::plus)
            }
            YamlKind::Str(text)
            | YamlKind::Bool(_, text)
            | YamlKind::Int(_, text)
            | YamlKind::Float(_, text) => Size { nodes: 1, bytes: text.len() },
            YamlKind::Null => Size { nodes: 1, bytes: 0 },
        }
    }

    fn height(&self) -> usize {
        match &self.kind {
            YamlKind::Seq(items) => 1 + items.iter().map(YamlNode::height).max().unwrap_or(0),
            YamlKind::Map(pairs) => {
                1 + pairs.iter().map(|(k, v)| k.height().max(v.height())).max().unwrap_or(0)
            }
            _ => 0,
        }
    }
}

/// The size of a node with all nodes in it.
#[derive(Clone, Copy, Debug, Default)]
struct Size {
    nodes: usize,
    bytes: usize,
}

impl Size {
    fn plus(self, other: Size) -> Size {
        Size { nodes: self.nodes.saturating_add(other.nodes), bytes: self.bytes.saturating_add(other.bytes) }
    }

    /// Returns true if this size exceeds the maximum for `times` copies.
    fn exceeds(self, times: usize) -> bool {
        self.nodes > MAX_ALIAS_NODES * times || self.bytes > MAX_ALIAS_BYTES * times
    }
}

/// Returns the first line of a text, at most 40 characters of it.
pub(crate) fn shorten(text: &str) -> String {
    let line = text.lines().next().unwrap_or("");
    if line.chars().count() > 40 || line.len() < text.trim_end().len() {
        let mut short: String = line.chars().take(40).collect();
        short.push('…');
        short
    } else {
        line.to_owned()
    }
}

/// A container that is being read: its node so far, and its anchor (0 for none).
struct OpenContainer {
    at: At,
    anchor: usize,
    nodes: Vec<YamlNode>,
    is_map: bool,
}

struct Loader<'a> {
    file: Option<Arc<str>>,
    problems: &'a mut Vec<Problem>,
    open: Vec<OpenContainer>,
    anchors: HashMap<usize, (YamlNode, Size)>,
    anchored: Size,
    aliased: Size,
    root: Option<YamlNode>,
}

/// Reads one document. Returns `None` if it cannot be read at all. Problems are added to `problems`. An
/// empty text is a `Null` node.
pub fn parse(text: &str, file: Option<Arc<str>>, problems: &mut Vec<Problem>) -> Option<YamlNode> {
    let top = At { file: file.clone(), line: 1, column: 1 };
    if text.len() > MAX_BYTES {
        problems.push(Problem::error(
            Code::FILE_TOO_LARGE,
            &top,
            format!("the file has {} MiB, and at most {} are read", text.len() >> 20, MAX_BYTES >> 20),
            "split it into several files, or build the model in a script",
        ));
        return None;
    }
    let mut loader = Loader {
        file,
        problems,
        open: Vec::new(),
        anchors: HashMap::new(),
        anchored: Size::default(),
        aliased: Size::default(),
        root: None,
    };
    let mut parser = Parser::new_from_str(text);
    let mut documents = 0;
    while let Some(next) = parser.next_event() {
        match next {
            Err(error) => {
                let at = loader.at(error.marker().line(), error.marker().col());
                loader.problems.push(syntax_problem(text, &at, error.info()));
                return None;
            }
            Ok((Event::DocumentStart(_), span)) => {
                documents += 1;
                if documents > 1 {
                    let at = loader.at(span.start.line(), span.start.col());
                    loader.problems.push(Problem::error(
                        Code::SEVERAL_DOCUMENTS,
                        &at,
                        "a second document begins here",
                        "remove the \"---\", or put what follows into a file of its own",
                    ));
                    return loader.root;
                }
            }
            Ok((event, span)) => loader.take(event, span)?,
        }
    }
    Some(loader.root.unwrap_or(YamlNode { at: top, kind: YamlKind::Null }))
}

fn syntax_problem(text: &str, at: &At, info: &str) -> Problem {
    let line = text.lines().nth(at.line.saturating_sub(1) as usize).unwrap_or("");
    let indent = &line[..line.len() - line.trim_start().len()];
    let unclosed = unclosed_bracket(text, at.line as usize);
    if let Some(value) = text_with_a_sign(line, at.column as usize) {
        let advice = format!("put the value in quotes: '{}'", value.replace('\'', "''"));
        return Problem::error(Code::YAML_SYNTAX, at, format!("this is not valid YAML ({info})"), advice);
    }
    let advice = if indent.contains('\t') {
        "indent with spaces; YAML does not allow tabs there"
    } else if let Some((bracket, line)) = unclosed {
        let advice = format!("close the \"{bracket}\" of line {line}");
        return Problem::error(Code::YAML_SYNTAX, at, format!("this is not valid YAML ({info})"), advice);
    } else if info.contains("expected key") || info.contains("block mapping") {
        "indent this line exactly like the lines that it belongs to"
    } else if info.contains("simple key") || info.contains("':'") {
        "check that the line before it ends with a colon and a value, and that lines which belong together \
         are indented alike"
    } else if info.contains("quoted scalar") {
        "close the quote"
    } else if info.contains("flow") || info.contains("',' or") {
        "check that every \"[\" and \"{\" is closed and that commas stand between the items"
    } else if info.contains("anchor") || info.contains("alias") {
        "define the anchor with & before it is used with *"
    } else {
        "check the indentation, quotes and brackets of this line and the one before it"
    };
    Problem::error(Code::YAML_SYNTAX, at, format!("this is not valid YAML ({info})"), advice)
}

/// Returns the value of a line, if the value is a text that YAML misreads at this column (from 1): a text
/// that begins with a sign and continues after it, such as `[BASE]/x`, `*.log` or `"a"b`.
fn text_with_a_sign(line: &str, column: usize) -> Option<&str> {
    let line = line.split(" #").next().unwrap_or(line).trim_end();
    let (key, value) = match line.split_once(": ") {
        Some((key, value)) => (key.len() + 2, value),
        None => (line.find("- ")? + 2, line.split_once("- ")?.1),
    };
    let start = key + value.len() - value.trim_start().len();
    let value = value.trim_start();
    // The part of the value before the fault.
    let read = value.get(..(column.checked_sub(1)?).checked_sub(start)?)?;
    let is_text = match value.chars().next()? {
        '%' | '@' | '`' => read.is_empty(),
        '*' => value[1..].starts_with(['.', '/', '*', '_', '-']),
        '[' => read.trim_end().ends_with(']'),
        '{' => read.trim_end().ends_with('}'),
        '"' => read.len() > 1 && read.trim_end().ends_with('"'),
        '\'' => read.len() > 1 && read.trim_end().ends_with('\''),
        _ => false,
    };
    is_text.then_some(value)
}

/// Returns the last bracket before a line that is still open there, and the bracket's line. Quotes are
/// assumed to end on the line where they begin, which is good enough for advice.
fn unclosed_bracket(text: &str, before: usize) -> Option<(char, usize)> {
    let mut open = Vec::new();
    for (i, line) in text.lines().take(before.saturating_sub(1)).enumerate() {
        let mut quote = None;
        let mut last = ' ';
        for c in line.chars() {
            match (quote, c) {
                (Some(q), c) if q == c => quote = None,
                (Some(_), _) => {}
                (None, '\'' | '"') if !last.is_alphanumeric() => quote = Some(c),
                (None, '#') if last == ' ' => break,
                (None, '[' | '{') => open.push((c, i + 1)),
                (None, ']' | '}') => {
                    open.pop();
                }
                _ => {}
            }
            last = c;
        }
    }
    open.pop()
}

impl Loader<'_> {
    fn at(&self, line: usize, column: usize) -> At {
        At {
            file: self.file.clone(),
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column: u32::try_from(column + 1).unwrap_or(u32::MAX),
        }
    }

    /// Processes one event. Returns `None` if reading cannot continue.
    fn take(&mut self, event: Event<'_>, span: Span) -> Option<()> {
        let at = self.at(span.start.line(), span.start.col());
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let tag = tag.map(|t| (t.handle.clone(), t.suffix.clone()));
                let kind = match scalar(&text, style == ScalarStyle::Plain, tag.as_ref()) {
                    Ok(kind) => kind,
                    Err((message, advice)) => {
                        self.problems.push(Problem::error(Code::BAD_VALUE, &at, message, advice));
                        YamlKind::Str(text.into_owned())
                    }
                };
                self.place(YamlNode { at, kind }, anchor)
            }
            Event::SequenceStart(anchor, tag) | Event::MappingStart(anchor, tag)
                if tag.as_ref().is_some_and(|t| !t.is_yaml_core_schema()) =>
            {
                let name = tag.map(|t| t.to_string()).unwrap_or_default();
                self.problems.push(Problem::error(
                    Code::UNKNOWN_TAG,
                    &at,
                    format!("the tag {name} means nothing in a model file"),
                    "remove it",
                ));
                let _ = anchor;
                None
            }
            Event::SequenceStart(anchor, _) => self.enter(at, anchor, false),
            Event::MappingStart(anchor, _) => self.enter(at, anchor, true),
            Event::SequenceEnd | Event::MappingEnd => {
                let open = self.open.pop()?;
                let kind = if open.is_map {
                    let repeats = self.is_value_of("conduits");
                    self.mapping(open.nodes, repeats)?
                } else {
                    YamlKind::Seq(open.nodes)
                };
                self.place(YamlNode { at: open.at, kind }, open.anchor)
            }
            Event::Alias(anchor) => {
                let Some((node, size)) = self.anchors.get(&anchor) else {
                    self.problems.push(Problem::error(
                        Code::BAD_ALIAS,
                        &at,
                        "this alias refers to something that contains the alias itself",
                        "write the value out instead",
                    ));
                    return None;
                };
                self.aliased = self.aliased.plus(*size);
                if self.aliased.exceeds(1) || self.open.len() + node.height() > MAX_DEPTH {
                    self.too_many_aliases(&at);
                    return None;
                }
                let node = node.clone();
                self.place(node, 0)
            }
            _ => Some(()),
        }
    }

    fn too_many_aliases(&mut self, at: &At) {
        self.problems.push(Problem::error(
            Code::ALIAS_EXPANSION,
            at,
            format!(
                "the aliases of this file expand to more than {MAX_ALIAS_NODES} values or {} MiB of text, or \
                 too deep",
                MAX_ALIAS_BYTES >> 20
            ),
            "write the values out, or build the model in a script",
        ));
    }

    fn enter(&mut self, at: At, anchor: usize, is_map: bool) -> Option<()> {
        if self.open.len() >= MAX_DEPTH {
            self.problems.push(Problem::error(
                Code::TOO_DEEP,
                &at,
                format!("lists and mappings are nested more than {MAX_DEPTH} deep here"),
                "a model needs about ten levels; check the brackets and the indentation",
            ));
            return None;
        }
        self.open.push(OpenContainer { at, anchor, nodes: Vec::new(), is_map });
        Some(())
    }

    fn place(&mut self, node: YamlNode, anchor: usize) -> Option<()> {
        if anchor > 0 {
            let size = node.size();
            self.anchored = self.anchored.plus(size);
            if self.anchored.exceeds(ANCHORS) {
                self.too_many_aliases(&node.at);
                return None;
            }
            self.anchors.insert(anchor, (node.clone(), size));
        }
        match self.open.last_mut() {
            Some(open) => open.nodes.push(node),
            None => self.root = Some(node),
        }
        Some(())
    }

    /// Returns true if the node that is complete now becomes the value of this key.
    fn is_value_of(&self, key: &str) -> bool {
        let Some(around) = self.open.last().filter(|open| open.is_map && open.nodes.len() % 2 == 1) else {
            return false;
        };
        matches!(around.nodes.last().map(|node| &node.kind), Some(YamlKind::Str(text)) if text == key)
    }

    /// Makes pairs of keys and values, and merges the values of `<<`. Duplicates are reported, unless keys
    /// may repeat: their values then become one list.
    fn mapping(&mut self, nodes: Vec<YamlNode>, repeats: bool) -> Option<YamlKind> {
        let mut pairs: Vec<(YamlNode, YamlNode)> = Vec::with_capacity(nodes.len() / 2);
        let mut seen: HashMap<String, usize> = HashMap::with_capacity(nodes.len() / 2);
        let mut merged: Vec<(YamlNode, YamlNode)> = Vec::new();
        let mut nodes = nodes.into_iter();
        while let (Some(key), Some(value)) = (nodes.next(), nodes.next()) {
            if matches!(&key.kind, YamlKind::Str(text) if text == "<<") {
                self.merge(value, &mut merged)?;
                continue;
            }
            let Some(text) = key_text(&key) else {
                pairs.push((key, value));
                continue;
            };
            if let Some(first) = seen.get(&text).filter(|_| repeats) {
                pairs[*first].1.append(value);
            } else if let Some(first) = seen.get(&text) {
                let line = pairs[*first].0.at.line;
                self.problems.push(Problem::error(
                    Code::DUPLICATE_KEY,
                    &key.at,
                    format!(
                        "the key \"{}\" stands here a second time; the first is in line {line}",
                        shorten(&text)
                    ),
                    "remove one of them, or rename it",
                ));
                pairs[*first] = (key, value);
            } else {
                seen.insert(text, pairs.len());
                pairs.push((key, value));
            }
        }
        for (key, value) in merged {
            let Some(text) = key_text(&key) else { continue };
            if let std::collections::hash_map::Entry::Vacant(entry) = seen.entry(text) {
                entry.insert(pairs.len());
                pairs.push((key, value));
            }
        }
        Some(YamlKind::Map(pairs))
    }

    fn merge(&mut self, value: YamlNode, merged: &mut Vec<(YamlNode, YamlNode)>) -> Option<()> {
        match value.kind {
            YamlKind::Map(pairs) => merged.extend(pairs),
            YamlKind::Seq(items) if items.iter().all(|i| matches!(i.kind, YamlKind::Map(_))) => {
                for item in items {
                    self.merge(item, merged)?;
                }
            }
            _ => self.problems.push(Problem::error(
                Code::BAD_MERGE,
                &value.at,
                format!("the merge key << needs a mapping or a list of mappings, not {}", value.describe()),
                "refer to a mapping with *name",
            )),
        }
        Some(())
    }
}

/// Returns the text of a scalar key, whatever its type.
pub(crate) fn key_text(key: &YamlNode) -> Option<String> {
    match &key.kind {
        YamlKind::Str(text) | YamlKind::Bool(_, text) | YamlKind::Int(_, text) | YamlKind::Float(_, text) => {
            Some(text.clone())
        }
        _ => None,
    }
}

type Bad = (String, String);

fn scalar(text: &str, plain: bool, tag: Option<&(String, String)>) -> Result<YamlKind, Bad> {
    let Some((handle, suffix)) = tag else {
        return if plain { plain_scalar(text) } else { Ok(YamlKind::Str(text.to_owned())) };
    };
    if handle.is_empty() && suffix == "!" || handle == "!" && suffix.is_empty() {
        return Ok(YamlKind::Str(text.to_owned()));
    }
    let unfit = || {
        (
            format!("\"{}\" cannot be read as !!{suffix}", shorten(text)),
            "remove the tag or correct the value".to_owned(),
        )
    };
    if handle != "tag:yaml.org,2002:" {
        return Err((format!("the tag {handle}{suffix} means nothing in a model file"), "remove it".into()));
    }
    match suffix.as_str() {
        "str" => Ok(YamlKind::Str(text.to_owned())),
        "null" => Ok(YamlKind::Null),
        "bool" => bool_of(text).map(|b| YamlKind::Bool(b, text.to_owned())).ok_or_else(unfit),
        "int" => int_of(text).and_then(|i| i.ok()).map(|i| YamlKind::Int(i, text.to_owned())).ok_or_else(unfit),
        "float" => float_of(text)
            .or_else(|| text.parse().ok())
            .filter(|&value| !is_out_of_range(value, text))
            .map(|f| YamlKind::Float(f, text.to_owned()))
            .ok_or_else(unfit),
        _ => Err((format!("the tag !!{suffix} means nothing in a model file"), "remove it".into())),
    }
}

fn plain_scalar(text: &str) -> Result<YamlKind, Bad> {
    if matches!(text, "" | "~" | "null" | "Null" | "NULL") {
        return Ok(YamlKind::Null);
    }
    if let Some(value) = bool_of(text) {
        return Ok(YamlKind::Bool(value, text.to_owned()));
    }
    if let Some(value) = float_of(text) {
        if is_out_of_range(value, text) {
            return Err((
                format!("the number {} is too large for a float64", shorten(text)),
                "correct it, or write .inf if it is infinite, or quotes if it is text".into(),
            ));
        }
        return Ok(YamlKind::Float(value, text.to_owned()));
    }
    match int_of(text) {
        Some(Ok(value)) => Ok(YamlKind::Int(value, text.to_owned())),
        Some(Err(())) => Err((
            format!("the number {} does not fit into 64 bits", shorten(text)),
            "write it with a decimal point, or in quotes if it is text".into(),
        )),
        None => Ok(YamlKind::Str(text.to_owned())),
    }
}

fn bool_of(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

/// Returns true if a number that is written in digits became infinite.
fn is_out_of_range(value: f64, text: &str) -> bool {
    value.is_infinite() && text.bytes().any(|byte| byte.is_ascii_digit())
}

/// Reads a float of YAML 1.2: a number with a period or an exponent, or `.inf` and `.nan`.
fn float_of(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let negative = text.starts_with('-');
    match unsigned {
        ".inf" | ".Inf" | ".INF" => return Some(if negative { f64::NEG_INFINITY } else { f64::INFINITY }),
        ".nan" | ".NaN" | ".NAN" => return Some(f64::NAN),
        _ => {}
    }
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(i) => (&unsigned[..i], Some(&unsigned[i + 1..])),
        None => (unsigned, None),
    };
    let digits = mantissa.bytes().filter(u8::is_ascii_digit).count();
    let points = mantissa.bytes().filter(|b| *b == b'.').count();
    if digits == 0 || points > 1 || digits + points != mantissa.len() || points == 0 && exponent.is_none() {
        return None;
    }
    if let Some(exponent) = exponent {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        if exponent.is_empty() || !exponent.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
    }
    text.parse().ok()
}

/// YAML 1.1 integers: decimal, `0x`, `0b`, octal with a leading zero, underscores, and base 60 (`1:30`). The
/// inner error means that it is an integer that does not fit.
fn int_of(text: &str) -> Option<Result<i64, ()>> {
    let (negative, unsigned) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let first = unsigned.bytes().next()?;
    if !first.is_ascii_digit() {
        return None;
    }
    let radix_digits = |radix: u32, digits: &str| {
        let plain: String = digits.chars().filter(|c| *c != '_').collect();
        if plain.is_empty() || !plain.chars().all(|c| c.is_digit(radix)) {
            return None;
        }
        Some(i128::from_str_radix(&plain, radix).map_err(|_| ()))
    };
    let magnitude = if let Some(digits) = unsigned.strip_prefix("0x") {
        radix_digits(16, digits)
    } else if let Some(digits) = unsigned.strip_prefix("0b") {
        radix_digits(2, digits)
    } else if unsigned == "0" {
        Some(Ok(0))
    } else if let Some(digits) = unsigned.strip_prefix('0') {
        radix_digits(8, digits)
    } else if unsigned.contains(':') {
        base_60(unsigned)
    } else {
        radix_digits(10, unsigned)
    }?;
    Some(magnitude.and_then(|m: i128| i64::try_from(if negative { -m } else { m }).map_err(|_| ())))
}

fn base_60(text: &str) -> Option<Result<i128, ()>> {
    let mut parts = text.split(':');
    let head: String = parts.next()?.chars().filter(|c| *c != '_').collect();
    let mut value: i128 = head.parse().ok()?;
    for part in parts {
        if part.is_empty() || part.len() > 2 || !part.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let digit: i128 = part.parse().ok()?;
        if digit > 59 {
            return None;
        }
        value = match value.checked_mul(60).and_then(|v| v.checked_add(digit)) {
            Some(v) => v,
            None => return Some(Err(())),
        };
    }
    Some(Ok(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> YamlKind {
        let mut problems = Vec::new();
        let node = parse(text, None, &mut problems);
        assert!(problems.is_empty(), "{problems:?}");
        node.unwrap().kind
    }

    fn codes(text: &str) -> Vec<&'static str> {
        let mut problems = Vec::new();
        parse(text, None, &mut problems);
        problems.iter().map(|p| p.code.name()).collect()
    }

    #[test]
    fn scalars_mean_what_the_reference_makes_of_them() {
        for (text, value) in [
            ("10", 10),
            ("-3", -3),
            ("017", 15),
            ("1_000", 1000),
            ("1:30", 90),
            ("0x1F", 31),
            ("0b11", 3),
            ("+1", 1),
        ] {
            assert_eq!(one(text), YamlKind::Int(value, text.into()), "{text}");
        }
        for (text, value) in
            [("1e5", 1e5), ("1.", 1.0), (".5", 0.5), ("12e03", 12e3), ("-.inf", f64::NEG_INFINITY)]
        {
            assert_eq!(one(text), YamlKind::Float(value, text.into()), "{text}");
        }
        for text in ["yes", "on", "0o17", "1_0.5", "1.2.3", "trueish", "089"] {
            assert_eq!(one(text), YamlKind::Str(text.into()), "{text}");
        }
        assert_eq!(one("True"), YamlKind::Bool(true, "True".into()));
        assert_eq!(one("~"), YamlKind::Null);
        assert_eq!(one("\"5\""), YamlKind::Str("5".into()));
        assert_eq!(one("!!str 5"), YamlKind::Str("5".into()));
        assert_eq!(one("!!float 1"), YamlKind::Float(1.0, "1".into()));
    }

    #[test]
    fn merge_keys_add_only_what_is_not_there() {
        let YamlKind::Map(pairs) = one("a: &a {x: 1, y: 2}\nb: {<<: *a, x: 3}\n") else { panic!() };
        let YamlKind::Map(b) = &pairs[1].1.kind else { panic!() };
        let read: Vec<_> = b.iter().map(|(k, v)| (key_text(k).unwrap(), v.kind.clone())).collect();
        assert_eq!(
            read,
            [("x".to_owned(), YamlKind::Int(3, "3".into())), ("y".to_owned(), YamlKind::Int(2, "2".into()))]
        );
    }

    #[test]
    fn a_billion_laughs_are_refused() {
        let mut text = String::from("a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n");
        for i in 1..12 {
            let item = format!("*a{}", i - 1);
            text += &format!("a{i}: &a{i} [{}]\n", vec![item; 9].join(", "));
        }
        assert_eq!(codes(&text), ["alias-expansion"]);
    }

    #[test]
    fn aliases_of_long_texts_and_anchors_within_anchors_are_refused() {
        let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(2000), vec!["*a"; 600].join(", "));
        assert_eq!(codes(&long), ["alias-expansion"]);
        let nested = format!("{}\"{}\"{}", "&a [".repeat(60), "x".repeat(2 << 20), "]".repeat(60));
        assert_eq!(codes(&nested), ["alias-expansion"]);
        let (anchor, aliases) = ("x".repeat(2000), vec!["*a"; 400].join(", "));
        assert!(codes(&format!("a: &a {anchor}\nb: [{aliases}]\n")).is_empty());
    }

    #[test]
    fn deep_nesting_self_reference_and_duplicates_are_reported() {
        assert_eq!(codes(&"[".repeat(100)), ["too-deep"]);
        assert_eq!(codes("a: &a [*a]\n"), ["bad-alias"]);
        assert_eq!(codes("a: 1\nb: 2\na: 3\n"), ["duplicate-key"]);
        assert_eq!(codes("conduits: {a: b, a: c}\n"), [""; 0], "a sender may stand there several times");
        assert_eq!(codes("a: conduits\nb: {c: 1, c: 2}\n"), ["duplicate-key"]);
        assert_eq!(codes("a: 1\n---\nb: 2\n"), ["several-documents"]);
        assert_eq!(codes("a: 99999999999999999999\n"), ["bad-value"]);
        assert_eq!(codes("a: [1e400, -1.0e+400, !!float 1e400]\n"), ["bad-value"; 3]);
    }

    #[test]
    fn a_syntax_error_has_its_line() {
        let mut problems = Vec::new();
        assert!(parse("a: 1\nb: [1, 2\nc: 3\n", Some("f".into()), &mut problems).is_none());
        assert_eq!(problems[0].code, "yaml-syntax");
        assert!(problems[0].line >= 2, "{}", problems[0]);
    }
}
