//! Parser of expressions: operators by their binding, calls with and without brackets, lists, maps and texts.

use crate::parser::{is_assignable, is_construct, is_keyword, Parsed, Parser, MAX_DEPTH};
use crate::place::TextPosition;
use crate::syntax::{Block, Node, NodeKind, Piece, RubyCall};
use crate::tokens::{TextPart, Token, Word};

/// Binary operators, from loose to tight.
const LEVELS: &[&[&str]] = &[
    &["..", "..."],
    &["||"],
    &["&&"],
    &["==", "!=", "===", "<=>", "=~", "!~"],
    &["<", "<=", ">", ">="],
    &["|", "^"],
    &["&"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

/// Level of the unary minus, which binds tighter than products.
const UNARY_LEVEL: usize = 10;

const CHANGES: &[(&str, &str)] = &[
    ("+=", "+"),
    ("-=", "-"),
    ("*=", "*"),
    ("/=", "/"),
    ("%=", "%"),
    ("**=", "**"),
    ("<<=", "<<"),
    (">>=", ">>"),
    ("|=", "|"),
    ("&=", "&"),
    ("||=", "||"),
    ("&&=", "&&"),
];

impl Parser {
    /// Parses an assignment, or an expression with operators.
    pub(crate) fn expression(&mut self) -> Parsed<Node> {
        self.deeper(|parser| {
            let place = parser.place();
            let node = parser.choice()?;
            if parser.is_operator("=") && is_assignable(&node) {
                let target = parser.target(node)?;
                parser.advance();
                parser.newlines();
                let value = Box::new(parser.expression()?);
                return Ok(Node { place, kind: NodeKind::Assign(target, value) });
            }
            let change = CHANGES.iter().find(|(operator, _)| parser.is_operator(operator));
            if let Some((_, operator)) = change.filter(|_| is_assignable(&node)) {
                let target = parser.target(node)?;
                parser.advance();
                parser.newlines();
                let value = Box::new(parser.expression()?);
                return Ok(Node { place, kind: NodeKind::Change(target, operator, value) });
            }
            Ok(node)
        })
    }

    /// Parses `condition ? a : b`, or an expression with operators.
    fn choice(&mut self) -> Parsed<Node> {
        let condition = self.operators(0)?;
        let place = self.place();
        if !self.take("?") {
            return Ok(condition);
        }
        self.newlines();
        let yes = self.expression()?;
        self.newlines();
        self.expect(":")?;
        self.newlines();
        let no = self.expression()?;
        Ok(Node { place, kind: NodeKind::If(vec![(condition, vec![yes])], vec![no]) })
    }

    /// Parses operators of a level and of all that bind tighter.
    pub(crate) fn operators(&mut self, level: usize) -> Parsed<Node> {
        let depth = self.depth;
        let mut node = self.unary()?;
        while let Some((operator, found)) = self.binary(level) {
            let place = self.place();
            self.advance();
            self.newlines();
            // A chain of operators is a tree as deep as the chain is long.
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return Err(self.too_deep());
            }
            let right = self.operators(found + 1)?;
            let (left, right) = (Box::new(node), Box::new(right));
            let kind = match operator {
                "||" => NodeKind::Or(left, right),
                "&&" => NodeKind::And(left, right),
                ".." | "..." => NodeKind::Range(left, right, operator == "..."),
                _ => NodeKind::Binary(operator, left, right),
            };
            node = Node { place, kind };
        }
        self.depth = depth;
        Ok(node)
    }

    fn binary(&self, from: usize) -> Option<(&'static str, usize)> {
        let Word::Operator(operator) = *self.word() else { return None };
        let level = (from..LEVELS.len()).find(|level| LEVELS[*level].contains(&operator))?;
        Some((operator, level))
    }

    fn unary(&mut self) -> Parsed<Node> {
        let place = self.place();
        let Word::Operator(operator @ ("!" | "-" | "+" | "*")) = *self.word() else { return self.power() };
        if operator == "*" {
            return Err(place.fault("a list that is taken apart by * is not read", "write its elements"));
        }
        self.advance();
        if operator == "-" && self.negates_number() {
            let node = self.power()?;
            return Ok(Node { place, ..node });
        }
        let inner = self.deeper(|parser| match operator {
            "!" => parser.unary(),
            _ => parser.operators(UNARY_LEVEL),
        })?;
        let kind = match (operator, inner.kind) {
            ("-", NodeKind::Int(number)) => NodeKind::Int(number.wrapping_neg()),
            ("-", NodeKind::Float(number)) => NodeKind::Float(-number),
            (_, kind) => NodeKind::Unary(operator, Box::new(Node { place: inner.place, kind })),
        };
        Ok(Node { place, kind })
    }

    /// Negates the number at which the parser is, and returns true, if its minus belongs to it: `-2.abs` is 2.
    /// Before a power it does not: `-2 ** 2` is -4.
    fn negates_number(&mut self) -> bool {
        if self.ahead(0).is_spaced || matches!(self.ahead(1).word, Word::Operator("**")) {
            return false;
        }
        match &mut self.tokens[self.at].word {
            Word::Int(number) => *number = number.wrapping_neg(),
            Word::Float(number) => *number = -*number,
            _ => return false,
        }
        true
    }

    fn power(&mut self) -> Parsed<Node> {
        let base = self.primary_with_calls()?;
        let place = self.place();
        if !self.take("**") {
            return Ok(base);
        }
        self.newlines();
        let exponent = self.deeper(Self::unary)?;
        Ok(Node { place, kind: NodeKind::Binary("**", Box::new(base), Box::new(exponent)) })
    }

    /// Parses a value with the calls and indices behind it.
    fn primary_with_calls(&mut self) -> Parsed<Node> {
        let depth = self.depth;
        let mut node = self.primary()?;
        loop {
            let place = self.place();
            let is_spaced = self.ahead(0).is_spaced;
            let kind = if self.take(".") || self.take("&.") {
                self.newlines();
                self.method(node, place)?
            } else if self.is_operator("::") {
                self.advance();
                self.method(node, place)?
            } else if self.is_operator("[") && (!is_spaced || matches!(node.kind, NodeKind::Local(_))) {
                self.advance();
                NodeKind::Index(Box::new(node), self.listed("]")?)
            } else {
                self.depth = depth;
                return Ok(node);
            };
            node = Node { place, kind };
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return Err(self.too_deep());
            }
        }
    }

    fn method(&mut self, receiver: Node, place: TextPosition) -> Parsed<NodeKind> {
        let name = match self.word().clone() {
            Word::Name(name) => name,
            _ => return Err(self.unexpected("the name of a method")),
        };
        self.advance();
        if self.is_operator("=") && self.ahead(0).is_spaced {
            let what = format!("a value is given to \"{name}\" of an object, which is not read");
            return Err(place.fault(what, "give it by […]"));
        }
        let (arguments, block) = self.arguments()?;
        Ok(NodeKind::Call(Box::new(RubyCall { receiver: Some(receiver), name, arguments, block })))
    }

    fn primary(&mut self) -> Parsed<Node> {
        let place = self.place();
        let kind = match self.word().clone() {
            Word::Int(number) => self.leaf(NodeKind::Int(number)),
            Word::Float(number) => self.leaf(NodeKind::Float(number)),
            Word::Symbol(name) => self.leaf(NodeKind::Symbol(name)),
            Word::Global(name) => self.leaf(NodeKind::Global(name)),
            Word::Words(words) => {
                let text = |word| Node { place, kind: NodeKind::Text(vec![Piece::Plain(word)]) };
                self.leaf(NodeKind::List(words.into_iter().map(text).collect()))
            }
            Word::Text(parts) => self.text(parts)?,
            Word::Operator("(") => self.group()?,
            Word::Operator("[") => {
                self.advance();
                NodeKind::List(self.listed("]")?)
            }
            Word::Operator("{") => {
                self.advance();
                self.map()?
            }
            Word::Operator("->") => {
                return Err(place.fault("functions (->) are not read", "write out what they do"));
            }
            Word::Operator("::") => {
                self.advance();
                return self.primary();
            }
            Word::Name(name) => return self.named(name, place),
            _ => return Err(self.unexpected("a value")),
        };
        Ok(Node { place, kind })
    }

    fn leaf(&mut self, kind: NodeKind) -> NodeKind {
        self.advance();
        kind
    }

    fn group(&mut self) -> Parsed<NodeKind> {
        self.advance();
        let mut nodes = Vec::new();
        loop {
            self.newlines();
            if self.take(")") {
                return Ok(NodeKind::Group(nodes));
            }
            nodes.push(self.statement()?);
            if !matches!(self.word(), Word::Newline) && !self.is_operator(")") {
                return Err(self.unexpected("\")\""));
            }
        }
    }

    /// Parses a name: a keyword, a variable, a constant, or a call.
    fn named(&mut self, name: String, place: TextPosition) -> Parsed<Node> {
        if is_construct(&name) {
            return self.deeper(|parser| parser.construct(&name));
        }
        if is_keyword(&name) {
            return Err(self.unexpected("a value"));
        }
        self.advance();
        let kind = match name.as_str() {
            "nil" => NodeKind::Nil,
            "true" => NodeKind::Bool(true),
            "false" => NodeKind::Bool(false),
            "break" => NodeKind::Break,
            "next" => NodeKind::Next,
            "defined?" => NodeKind::Defined(Box::new(self.deeper(Self::unary)?)),
            "return" | "yield" | "redo" | "retry" | "alias" | "undef" | "super" | "self" => {
                let what = format!("\"{name}\" is not read");
                return Err(place.fault(what, "write the model without it"));
            }
            _ if self.is_variable(&name) && !self.is_operator("(") => local(name),
            "__FILE__" => NodeKind::Constant(name),
            _ if self.is_constant(&name) => NodeKind::Constant(name),
            _ => {
                let (arguments, block) = self.arguments()?;
                if arguments.is_empty() && block.is_none() && !name.ends_with(['?', '!']) {
                    NodeKind::Variable(name)
                } else {
                    NodeKind::Call(Box::new(RubyCall { receiver: None, name, arguments, block }))
                }
            }
        };
        Ok(Node { place, kind })
    }

    fn is_constant(&self, name: &str) -> bool {
        name.starts_with(char::is_uppercase) && !self.is_operator("(")
    }

    /// Parses the arguments of a call, with or without brackets, and its block.
    fn arguments(&mut self) -> Parsed<(Vec<Node>, Option<Block>)> {
        let arguments = if self.is_operator("(") && !self.ahead(0).is_spaced {
            self.advance();
            self.listed(")")?
        } else if self.begins_argument() {
            self.bare_arguments()?
        } else {
            Vec::new()
        };
        Ok((arguments, self.block()?))
    }

    /// Returns true if an argument without brackets begins here.
    fn begins_argument(&self) -> bool {
        let (here, next) = (self.ahead(0), self.ahead(1));
        if !here.is_spaced {
            return false;
        }
        match &here.word {
            Word::Name(name) => !is_keyword(name),
            Word::Operator("(") => true,
            Word::Operator("[" | "-" | "*" | "!" | "->" | "::") => !next.is_spaced,
            Word::Operator(_) | Word::Newline | Word::End => false,
            _ => true,
        }
    }

    fn bare_arguments(&mut self) -> Parsed<Vec<Node>> {
        let mut arguments = Vec::new();
        let mut pairs: Vec<(Node, Node)> = Vec::new();
        loop {
            self.argument(&mut arguments, &mut pairs)?;
            if !self.take(",") {
                break;
            }
            self.newlines();
        }
        Ok(with_pairs(arguments, pairs))
    }

    /// Parses values up to a closing bracket. Pairs (`a => b`, `a: b`) become one map behind the others.
    fn listed(&mut self, close: &str) -> Parsed<Vec<Node>> {
        let before = std::mem::take(&mut self.is_loop_head);
        let listed = self.elements(close);
        self.is_loop_head = before;
        listed
    }

    fn elements(&mut self, close: &str) -> Parsed<Vec<Node>> {
        let (mut arguments, mut pairs) = (Vec::new(), Vec::new());
        loop {
            self.newlines();
            if self.take(close) {
                return Ok(with_pairs(arguments, pairs));
            }
            self.argument(&mut arguments, &mut pairs)?;
            self.newlines();
            if !self.take(",") {
                self.expect(close)?;
                return Ok(with_pairs(arguments, pairs));
            }
        }
    }

    fn argument(&mut self, arguments: &mut Vec<Node>, pairs: &mut Vec<(Node, Node)>) -> Parsed<()> {
        let place = self.place();
        if let Word::Label(name) = self.word().clone() {
            self.advance();
            self.newlines();
            pairs.push((Node { place, kind: NodeKind::Symbol(name) }, self.expression()?));
            return Ok(());
        }
        if self.is_operator("&") {
            return Err(place.fault("a function as a block (&) is not read", "write the block out"));
        }
        let value = self.expression()?;
        self.pair_or_value(value, arguments, pairs)
    }

    fn pair_or_value(
        &mut self,
        value: Node,
        arguments: &mut Vec<Node>,
        pairs: &mut Vec<(Node, Node)>,
    ) -> Parsed<()> {
        if self.take("=>") {
            self.newlines();
            pairs.push((value, self.expression()?));
        } else {
            arguments.push(value);
        }
        Ok(())
    }

    fn map(&mut self) -> Parsed<NodeKind> {
        let listed = self.listed("}")?;
        match <[Node; 1]>::try_from(listed) {
            Ok([Node { kind: kind @ NodeKind::Map(_), .. }]) => Ok(kind),
            Ok([node]) => Err(node.place.fault("this value in {…} has no key", "write 'key' => value")),
            Err(nodes) => match nodes.first() {
                None => Ok(NodeKind::Map(Vec::new())),
                Some(node) => Err(node.place.fault("this value in {…} has no key", "write 'key' => value")),
            },
        }
    }

    fn block(&mut self) -> Parsed<Option<Block>> {
        let close = if self.is_operator("{") {
            "}"
        } else if self.is_keyword("do") && !self.is_loop_head {
            "end"
        } else {
            return Ok(None);
        };
        self.advance();
        self.newlines();
        let block = self.block_body(close)?;
        match close {
            "}" => self.expect("}")?,
            _ => self.expect_keyword("end")?,
        }
        Ok(Some(block))
    }

    fn text(&mut self, parts: Vec<TextPart>) -> Parsed<NodeKind> {
        self.advance();
        let mut pieces = self.pieces(parts)?;
        // Texts that stand beside each other are one text.
        while let Word::Text(more) = self.word().clone() {
            self.advance();
            pieces.extend(self.pieces(more)?);
        }
        Ok(NodeKind::Text(pieces))
    }

    fn pieces(&mut self, parts: Vec<TextPart>) -> Parsed<Vec<Piece>> {
        parts
            .into_iter()
            .map(|part| match part {
                TextPart::Plain(text) => Ok(Piece::Plain(text)),
                TextPart::Inserted(tokens) => self.inserted(tokens).map(Piece::Inserted),
            })
            .collect()
    }

    /// Parses the expression in `#{…}`, whose words are a file of their own.
    fn inserted(&mut self, tokens: Vec<Token>) -> Parsed<Node> {
        let (outer, at) = (std::mem::replace(&mut self.tokens, tokens), std::mem::take(&mut self.at));
        let node = self.deeper(|parser| {
            parser.newlines();
            let node = parser.statement()?;
            parser.newlines();
            match parser.word() {
                Word::End => Ok(node),
                _ => Err(parser.unexpected("}")),
            }
        });
        (self.tokens, self.at) = (outer, at);
        node
    }
}

fn local(name: String) -> NodeKind {
    if name.starts_with(char::is_uppercase) {
        NodeKind::Constant(name)
    } else {
        NodeKind::Local(name)
    }
}

/// Puts pairs behind the arguments as one map.
fn with_pairs(mut arguments: Vec<Node>, pairs: Vec<(Node, Node)>) -> Vec<Node> {
    if let Some((first, _)) = pairs.first() {
        let place = first.place;
        arguments.push(Node { place, kind: NodeKind::Map(pairs) });
    }
    arguments
}
