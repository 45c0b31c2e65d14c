//! Evaluation of a cxa file. Each step is counted, so that an endless loop ends. A statement that fails is
//! reported, and the next one follows; what uses its value fails silently.

use crate::arithmetic;
use crate::model::CxaModel;
use crate::place::{SyntaxFault, TextPosition};
use crate::syntax::{Block, Node, NodeKind, Piece, RubyCase, Target};
use crate::value::{BuiltinObject, CxaValue, Heap, MAX_TEXT_BYTES};
use std::collections::HashMap;

/// Maximum number of steps of a file.
const MAX_STEPS: u64 = 2_000_000;
/// Bytes of a text that cost as much as a step.
const BYTES_A_STEP: usize = 16;
/// Names of a block that cost as much as a step.
const NAMES_A_STEP: usize = 16;
/// Maximum depth of lists and maps within each other that are compared.
const MAX_COMPARED_DEPTH: usize = 50;
/// Maximum number of problems that are told.
const MAX_PROBLEMS: usize = 100;

/// The surroundings of a cxa file.
pub struct CxaHost<'a> {
    /// Returns the value of a variable of the environment.
    pub environment: &'a dyn Fn(&str) -> Option<String>,
    /// Folder of the file, for `File.dirname(__FILE__)`.
    pub folder: &'a str,
}

/// The reason why an expression has no value.
pub(crate) enum Flow {
    Failed(SyntaxFault),
    /// It uses the value of a statement that has failed.
    Unknown,
    Break,
    Next,
    /// The evaluation ends.
    Halt(SyntaxFault),
}

impl From<SyntaxFault> for Flow {
    fn from(fault: SyntaxFault) -> Flow {
        Flow::Failed(fault)
    }
}

pub(crate) type Evaluated<T = CxaValue> = Result<T, Flow>;

pub(crate) struct Evaluation<'a> {
    pub(crate) host: &'a CxaHost<'a>,
    pub(crate) model: CxaModel,
    pub(crate) heap: Heap,
    pub(crate) variables: HashMap<String, CxaValue>,
    pub(crate) problems: Vec<SyntaxFault>,
    /// Name of the file, without its folder.
    pub(crate) file: &'a str,
    /// Sending and receiving instance of the `attach` whose block is evaluated.
    pub(crate) attached: Option<(usize, usize)>,
    steps: u64,
}

impl<'a> Evaluation<'a> {
    /// Evaluates a file, and returns the evaluation with its model and problems.
    pub(crate) fn of(nodes: &[Node], host: &'a CxaHost<'a>, file: &'a str) -> Evaluation<'a> {
        let mut evaluation = Evaluation {
            host,
            file,
            model: CxaModel::default(),
            heap: Heap::default(),
            variables: HashMap::new(),
            problems: Vec::new(),
            attached: None,
            steps: 0,
        };
        match evaluation.body(nodes) {
            Err(Flow::Halt(fault) | Flow::Failed(fault)) => evaluation.problems.push(fault),
            Err(Flow::Break | Flow::Next) => {
                if let Some(node) = nodes.first() {
                    let fault = node.place.fault("a break or next stands outside of all loops", "take it out");
                    evaluation.problems.push(fault);
                }
            }
            Err(Flow::Unknown) | Ok(_) => {}
        }
        evaluation
    }

    /// Counts `steps` steps.
    pub(crate) fn charge(&mut self, place: TextPosition, steps: usize) -> Evaluated<()> {
        self.steps = self.steps.saturating_add(steps as u64);
        if self.steps > MAX_STEPS {
            let what = format!("the file takes more than {MAX_STEPS} steps up to here");
            return Err(Flow::Halt(place.fault(what, "look for a loop without an end")));
        }
        Ok(())
    }

    /// Makes a text, and counts its length.
    pub(crate) fn text(&mut self, place: TextPosition, text: String) -> Evaluated {
        self.charge(place, text.len() / BYTES_A_STEP)?;
        if text.len() > MAX_TEXT_BYTES {
            let what = format!("a text has more than {MAX_TEXT_BYTES} bytes");
            return Err(place.fault(what, "write a shorter one").into());
        }
        Ok(CxaValue::Text(text.into()))
    }

    /// Adds a problem. One that a loop meets again is told once.
    pub(crate) fn report(&mut self, fault: SyntaxFault) -> Evaluated<()> {
        if self.problems.contains(&fault) {
            return Ok(());
        }
        if self.problems.len() >= MAX_PROBLEMS {
            return Err(Flow::Halt(fault));
        }
        self.problems.push(fault);
        Ok(())
    }

    /// Evaluates statements and returns the value of the last one.
    pub(crate) fn body(&mut self, nodes: &[Node]) -> Evaluated {
        let mut last = CxaValue::Nil;
        for node in nodes {
            last = match self.value(node) {
                Err(Flow::Failed(fault)) => {
                    self.report(fault)?;
                    CxaValue::Unknown
                }
                Err(Flow::Unknown) => CxaValue::Unknown,
                other => other?,
            };
        }
        Ok(last)
    }

    /// Evaluates an expression whose value is needed.
    pub(crate) fn known(&mut self, node: &Node) -> Evaluated {
        match self.value(node)? {
            CxaValue::Unknown => Err(Flow::Unknown),
            value => Ok(value),
        }
    }

    pub(crate) fn values(&mut self, nodes: &[Node]) -> Evaluated<Vec<CxaValue>> {
        nodes.iter().map(|node| self.known(node)).collect()
    }

    pub(crate) fn value(&mut self, node: &Node) -> Evaluated {
        let place = node.place;
        self.charge(place, 1)?;
        match &node.kind {
            NodeKind::Nil => Ok(CxaValue::Nil),
            NodeKind::Bool(value) => Ok(CxaValue::Bool(*value)),
            NodeKind::Int(number) => Ok(CxaValue::Int(*number)),
            NodeKind::Float(number) => Ok(CxaValue::Float(*number)),
            NodeKind::Symbol(name) => Ok(CxaValue::Symbol(name.as_str().into())),
            NodeKind::Text(pieces) => self.pieces(place, pieces),
            NodeKind::List(nodes) => {
                let values = self.values(nodes)?;
                Ok(self.heap.list(values))
            }
            NodeKind::Map(pairs) => self.pairs(pairs),
            NodeKind::Range(first, last, is_open) => self.range(place, (first, last), *is_open),
            NodeKind::Variable(name) => self.variable(place, name),
            NodeKind::Local(name) => Ok(self.variables.get(name).cloned().unwrap_or(CxaValue::Nil)),
            NodeKind::Constant(name) => self.constant(place, name),
            NodeKind::Global(name) => self.global(place, name),
            NodeKind::Assign(target, value) => self.assign(place, target, value),
            NodeKind::AssignAll(targets, value) => self.assign_all(place, targets, value),
            NodeKind::Change(target, operator, value) => self.change(place, target, (operator, value)),
            NodeKind::Index(of, index) => {
                let of = self.known(of)?;
                let index = self.values(index)?;
                self.element(place, &of, &index)
            }
            NodeKind::Call(call) => self.call(place, call),
            NodeKind::Unary(operator, inner) => {
                let inner = self.known(inner)?;
                Ok(arithmetic::unary(place, operator, &inner)?)
            }
            NodeKind::Binary(operator, left, right) => {
                let (left, right) = (self.known(left)?, self.known(right)?);
                self.binary(place, operator, (&left, &right))
            }
            NodeKind::And(left, right) => {
                let left = self.known(left)?;
                if left.is_true() {
                    self.known(right)
                } else {
                    Ok(left)
                }
            }
            NodeKind::Or(left, right) => {
                let left = self.known(left)?;
                if left.is_true() {
                    Ok(left)
                } else {
                    self.known(right)
                }
            }
            NodeKind::If(branches, otherwise) => self.branch(branches, otherwise),
            NodeKind::Case(case) => self.case(place, case),
            NodeKind::While(condition, wanted, body) => {
                while self.known(condition)?.is_true() == *wanted {
                    if !self.pass(body)? {
                        break;
                    }
                }
                Ok(CxaValue::Nil)
            }
            NodeKind::For(names, of, body) => {
                let of = self.known(of)?;
                self.each(place, &of, &mut |evaluation, value| {
                    evaluation.bind(names, value);
                    evaluation.pass(body)
                })
            }
            NodeKind::Break => Err(Flow::Break),
            NodeKind::Next => Err(Flow::Next),
            NodeKind::Defined(inner) => {
                let inner = match &inner.kind {
                    NodeKind::Group(nodes) if nodes.len() == 1 => &nodes[0],
                    _ => inner,
                };
                let is_defined = match &inner.kind {
                    NodeKind::Variable(_) => false,
                    NodeKind::Constant(name) => self.constant(place, name).is_ok(),
                    _ => self.value(inner).is_ok(),
                };
                Ok(if is_defined { CxaValue::text("expression") } else { CxaValue::Nil })
            }
            NodeKind::Group(nodes) => self.body(nodes),
        }
    }

    /// Evaluates the body of a loop once. Returns false if it ends the loop.
    pub(crate) fn pass(&mut self, body: &[Node]) -> Evaluated<bool> {
        match self.body(body) {
            Err(Flow::Break) => Ok(false),
            Err(Flow::Next) | Ok(_) => Ok(true),
            Err(other) => Err(other),
        }
    }

    /// Evaluates a block once and returns its value, or `None` if it ends the loop. The block's own names have
    /// no value at its begin, and those outside with the same names keep theirs.
    pub(crate) fn block_pass(
        &mut self,
        place: TextPosition,
        block: &Block,
        value: CxaValue,
    ) -> Evaluated<Option<CxaValue>> {
        self.charge(place, 1 + block.own.len() / NAMES_A_STEP)?;
        let outside: Vec<Option<CxaValue>> = block.own.iter().map(|name| self.variables.remove(name)).collect();
        self.bind(&block.parameters, value);
        let done = self.body(&block.body);
        for (name, value) in block.own.iter().zip(outside) {
            match value {
                Some(value) => self.variables.insert(name.clone(), value),
                None => self.variables.remove(name),
            };
        }
        match done {
            Ok(value) => Ok(Some(value)),
            Err(Flow::Next) => Ok(Some(CxaValue::Nil)),
            Err(Flow::Break) => Ok(None),
            Err(other) => Err(other),
        }
    }

    /// Calls `pass` for each element of a list, map or range, until it returns false.
    pub(crate) fn each(
        &mut self,
        place: TextPosition,
        of: &CxaValue,
        pass: &mut dyn FnMut(&mut Self, CxaValue) -> Evaluated<bool>,
    ) -> Evaluated {
        let mut at = 0;
        while let Some(value) = self.element_at(place, of, at)? {
            at += 1;
            self.charge(place, 1)?;
            if !pass(self, value)? {
                return Ok(CxaValue::Nil);
            }
        }
        Ok(of.clone())
    }

    /// Returns the element at an index of what a loop goes over, or `None` behind the last one.
    fn element_at(&mut self, place: TextPosition, of: &CxaValue, at: usize) -> Evaluated<Option<CxaValue>> {
        match of {
            CxaValue::List(list) => Ok(self.heap.lists[*list].get(at).cloned()),
            CxaValue::Range(first, last, _) => {
                let value = i64::try_from(at).ok().and_then(|at| first.checked_add(at));
                Ok(value.filter(|value| value <= last).map(CxaValue::Int))
            }
            CxaValue::Map(map) => match self.heap.maps[*map].get(at).cloned() {
                Some((key, value)) => Ok(Some(self.heap.list(vec![key, value]))),
                None => Ok(None),
            },
            other => {
                let what = format!("a loop goes over {}", other.kind());
                Err(place.fault(what, "let it go over a range or a list").into())
            }
        }
    }

    /// Gives the parameters of a block their values. A list is taken apart if there are several.
    pub(crate) fn bind(&mut self, names: &[String], value: CxaValue) {
        match (&value, names) {
            (CxaValue::List(list), [_, _, ..]) => {
                for (at, name) in names.iter().enumerate() {
                    let value = self.heap.lists[*list].get(at).cloned().unwrap_or(CxaValue::Nil);
                    self.variables.insert(name.clone(), value);
                }
            }
            (_, [name, rest @ ..]) => {
                rest.iter().for_each(|name| drop(self.variables.insert(name.clone(), CxaValue::Nil)));
                self.variables.insert(name.clone(), value);
            }
            (_, []) => {}
        }
    }

    fn pieces(&mut self, place: TextPosition, pieces: &[Piece]) -> Evaluated {
        let mut text = String::new();
        for piece in pieces {
            match piece {
                Piece::Plain(plain) => text.push_str(plain),
                Piece::Inserted(node) => {
                    let value = self.known(node)?;
                    text.push_str(&self.shown(node.place, &value)?);
                }
            }
            self.charge(place, text.len() / BYTES_A_STEP)?;
        }
        self.text(place, text)
    }

    /// Writes a value as Ruby's `to_s` does.
    pub(crate) fn shown(&mut self, place: TextPosition, value: &CxaValue) -> Evaluated<String> {
        let text = self.heap.shown(value).ok_or_else(|| {
            place.fault(format!("{} cannot be written as a text", value.kind()), "use a text or a number")
        })?;
        self.charge(place, text.len() / BYTES_A_STEP)?;
        Ok(text)
    }

    fn pairs(&mut self, pairs: &[(Node, Node)]) -> Evaluated {
        let mut map: Vec<(CxaValue, CxaValue)> = Vec::new();
        for (key, value) in pairs {
            let key = self.known(key)?;
            let value = self.known(value)?;
            self.charge(value_place(pairs), map.len() / BYTES_A_STEP)?;
            match map.iter_mut().find(|(known, _)| *known == key) {
                Some((_, old)) => *old = value,
                None => map.push((key, value)),
            }
        }
        Ok(self.heap.map(map))
    }

    fn range(&mut self, place: TextPosition, (first, last): (&Node, &Node), is_open: bool) -> Evaluated {
        match (self.known(first)?, self.known(last)?) {
            (CxaValue::Int(first), CxaValue::Int(last)) => {
                let last = if is_open { last.saturating_sub(1) } else { last };
                Ok(CxaValue::Range(first, last, is_open))
            }
            (first, last) => {
                let what = format!("a range goes from {} to {}", first.kind(), last.kind());
                Err(place.fault(what, "give it whole numbers").into())
            }
        }
    }

    fn variable(&mut self, place: TextPosition, name: &str) -> Evaluated {
        if let Some(value) = self.variables.get(name) {
            return Ok(value.clone());
        }
        if matches!(name, "puts" | "print" | "p") {
            return Ok(CxaValue::Nil);
        }
        let meant = ligament_model::nearest(name, self.variables.keys().map(String::as_str));
        let advice =
            meant.map_or("give it a value before".to_owned(), |meant| format!("did you mean \"{meant}\"?"));
        Err(match name {
            "exit" | "abort" => {
                Flow::Halt(place.fault(format!("the file ends itself by \"{name}\""), "take it out"))
            }
            _ => place.fault(format!("\"{name}\" has no value here"), advice).into(),
        })
    }

    fn global(&mut self, place: TextPosition, name: &str) -> Evaluated {
        match name {
            "env" => Ok(CxaValue::Builtin(BuiltinObject::Settings)),
            "muscle_connection_scheme" => Ok(CxaValue::Builtin(BuiltinObject::Scheme)),
            // MUSCLE 2 loads the file, so `__FILE__ == $0` is false.
            "0" | "PROGRAM_NAME" => Ok(CxaValue::text("muscle2")),
            _ => match self.variables.get(&format!("${name}")) {
                Some(value) => Ok(value.clone()),
                None => {
                    Err(place.fault(format!("\"${name}\" has no value here"), "give it a value before").into())
                }
            },
        }
    }

    fn assign(&mut self, place: TextPosition, target: &Target, value: &Node) -> Evaluated {
        let value = match self.value(value) {
            Err(Flow::Failed(fault)) => {
                self.report(fault)?;
                CxaValue::Unknown
            }
            Err(Flow::Unknown) => CxaValue::Unknown,
            other => other?,
        };
        self.give(place, target, value.clone())?;
        Ok(value)
    }

    pub(crate) fn give(&mut self, place: TextPosition, target: &Target, value: CxaValue) -> Evaluated<()> {
        match target {
            Target::Variable(name) => {
                self.variables.insert(name.clone(), value);
            }
            Target::Global(name) if name == "env" => {
                return Err(place.fault("$env itself is given a value", "give its elements values").into())
            }
            Target::Global(name) => {
                self.variables.insert(format!("${name}"), value);
            }
            Target::Index(of, index) => {
                let (of, index) = (self.known(of)?, self.known(index)?);
                self.set_element(place, (&of, &index), value)?;
            }
        }
        Ok(())
    }

    fn assign_all(&mut self, place: TextPosition, targets: &[Target], value: &Node) -> Evaluated {
        let value = self.known(value)?;
        let values = match &value {
            CxaValue::List(list) => self.heap.lists[*list].iter().take(targets.len()).cloned().collect(),
            other => vec![other.clone()],
        };
        for (at, target) in targets.iter().enumerate() {
            self.give(place, target, values.get(at).cloned().unwrap_or(CxaValue::Nil))?;
        }
        Ok(value)
    }

    fn change(&mut self, place: TextPosition, target: &Target, (operator, value): (&str, &Node)) -> Evaluated {
        let old = match target {
            Target::Variable(name) => self.variables.get(name).cloned().unwrap_or(CxaValue::Nil),
            Target::Global(name) => self.variables.get(&format!("${name}")).cloned().unwrap_or(CxaValue::Nil),
            Target::Index(of, index) => {
                let (of, index) = (self.known(of)?, self.known(index)?);
                self.element(place, &of, &[index])?
            }
        };
        if old == CxaValue::Unknown {
            return Err(Flow::Unknown);
        }
        let new = match operator {
            "||" if old.is_true() => old,
            "&&" if !old.is_true() => old,
            "||" | "&&" => self.known(value)?,
            _ => {
                let right = self.known(value)?;
                self.binary(place, operator, (&old, &right))?
            }
        };
        self.give(place, target, new.clone())?;
        Ok(new)
    }

    fn branch(&mut self, branches: &[(Node, Vec<Node>)], otherwise: &[Node]) -> Evaluated {
        for (condition, body) in branches {
            if self.known(condition)?.is_true() {
                return self.body(body);
            }
        }
        self.body(otherwise)
    }

    fn case(&mut self, place: TextPosition, case: &RubyCase) -> Evaluated {
        let subject = case.subject.as_ref().map(|subject| self.known(subject)).transpose()?;
        for (values, body) in &case.branches {
            for value in values {
                let value = self.known(value)?;
                let is_it = match &subject {
                    Some(subject) => self.binary(place, "===", (&value, subject))?.is_true(),
                    None => value.is_true(),
                };
                if is_it {
                    return self.body(body);
                }
            }
        }
        self.body(&case.otherwise)
    }

    /// Computes a binary operator, also of texts and lists.
    pub(crate) fn binary(
        &mut self,
        place: TextPosition,
        operator: &str,
        (left, right): (&CxaValue, &CxaValue),
    ) -> Evaluated {
        match (operator, left, right) {
            ("+", CxaValue::Text(left), CxaValue::Text(right)) => self.text(place, format!("{left}{right}")),
            ("*", CxaValue::Text(text), CxaValue::Int(times)) => {
                let times = usize::try_from(*times).unwrap_or(0);
                let length = text.len().saturating_mul(times);
                self.charge(place, length / BYTES_A_STEP)?;
                self.text(place, text.repeat(if length > MAX_TEXT_BYTES { 0 } else { times }))
            }
            ("%", CxaValue::Text(format), _) => self.formatted(place, format, right),
            ("<<", CxaValue::List(list), _) => {
                self.heap.lists[*list].push(right.clone());
                Ok(left.clone())
            }
            ("+", CxaValue::List(first), CxaValue::List(second)) => {
                let joined = [self.heap.lists[*first].as_slice(), &self.heap.lists[*second]].concat();
                self.charge(place, joined.len())?;
                Ok(self.heap.list(joined))
            }
            ("===", CxaValue::Range(first, last, is_open), CxaValue::Int(_) | CxaValue::Float(_)) => {
                let end = if *is_open { *last as f64 + 1.0 } else { *last as f64 };
                Ok(CxaValue::Bool(match right {
                    CxaValue::Int(number) => (first..=last).contains(&number),
                    _ => right.as_number().is_some_and(|number| {
                        *first as f64 <= number && (number < end || !is_open && number == end)
                    }),
                }))
            }
            ("===", CxaValue::Class(class), _) => match right.class() {
                Some(found) => Ok(CxaValue::Bool(*class == found)),
                None => {
                    let what = format!("a case for {class} has {}, which is not read", right.kind());
                    Err(place.fault(what, "write the case without the class").into())
                }
            },
            ("==" | "===", ..) => self.are_equal(place, (left, right), 0).map(CxaValue::Bool),
            ("!=", ..) => self.are_equal(place, (left, right), 0).map(|are_equal| CxaValue::Bool(!are_equal)),
            _ => Ok(arithmetic::binary(place, operator, left, right)?),
        }
    }

    pub(crate) fn are_equal(
        &mut self,
        place: TextPosition,
        (left, right): (&CxaValue, &CxaValue),
        depth: usize,
    ) -> Evaluated<bool> {
        self.charge(place, 1)?;
        if depth > MAX_COMPARED_DEPTH {
            let what = format!("values within each other more than {MAX_COMPARED_DEPTH} times are compared");
            return Err(place.fault(what, "compare parts of them").into());
        }
        Ok(match (left, right) {
            (CxaValue::Int(_) | CxaValue::Float(_), CxaValue::Int(_) | CxaValue::Float(_)) => {
                left.as_number() == right.as_number()
                    && !matches!((left, right), (CxaValue::Int(a), CxaValue::Int(b)) if a != b)
            }
            (CxaValue::List(a), CxaValue::List(b)) if a != b => {
                if self.heap.lists[*a].len() != self.heap.lists[*b].len() {
                    return Ok(false);
                }
                for at in 0..self.heap.lists[*a].len() {
                    let pair = (&self.heap.lists[*a][at].clone(), &self.heap.lists[*b][at].clone());
                    if !self.are_equal(place, pair, depth + 1)? {
                        return Ok(false);
                    }
                }
                true
            }
            (CxaValue::Map(a), CxaValue::Map(b)) if a != b => {
                if self.heap.maps[*a].len() != self.heap.maps[*b].len() {
                    return Ok(false);
                }
                for at in 0..self.heap.maps[*a].len() {
                    let (key, value) = self.heap.maps[*a][at].clone();
                    self.charge(place, self.heap.maps[*b].len() / 16)?;
                    let other = self.heap.maps[*b].iter().find(|(known, _)| *known == key);
                    let Some((_, other)) = other.cloned() else { return Ok(false) };
                    if !self.are_equal(place, (&value, &other), depth + 1)? {
                        return Ok(false);
                    }
                }
                true
            }
            _ => left == right,
        })
    }
}

fn value_place(pairs: &[(Node, Node)]) -> TextPosition {
    pairs.first().map_or(TextPosition { line: 0, column: 0 }, |(key, _)| key.place)
}
