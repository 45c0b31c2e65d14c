//! Parser of statements. `expression.rs` has the parser of expressions. After a mistake the parser goes on with
//! the next line, so that a user gets all mistakes at once.

use crate::place::{SyntaxFault, TextPosition};
use crate::syntax::{Block, Node, NodeKind, RubyCase, Target};
use crate::tokens::{tokens, Token, Word};
use std::collections::HashSet;

/// Maximum depth of brackets, blocks and operators. The parser and the evaluation use the stack for each.
pub(crate) const MAX_DEPTH: usize = 120;
/// Maximum number of mistakes that are told.
const MAX_FAULTS: usize = 50;

/// Words that are no names of variables and begin no argument.
const KEYWORDS: &[&str] = &[
    "then", "do", "end", "else", "elsif", "when", "if", "unless", "while", "until", "and", "or", "in",
    "rescue", "ensure",
];

/// Openings of what is not read, up to their `end`.
const UNREAD: &[(&str, &str)] = &[
    ("def", "methods are not read"),
    ("class", "classes are not read"),
    ("module", "modules are not read"),
    ("begin", "begin … end is not read"),
];

pub(crate) type Parsed<T> = Result<T, SyntaxFault>;

/// Parses a file.
///
/// # Errors
/// All mistakes, in the order of the file.
pub(crate) fn parse(text: &str) -> Result<Vec<Node>, Vec<SyntaxFault>> {
    let tokens = tokens(text).map_err(|fault| vec![fault])?;
    let mut parser = Parser {
        tokens,
        at: 0,
        depth: 0,
        scopes: vec![HashSet::new()],
        is_loop_head: false,
        faults: Vec::new(),
    };
    let nodes = parser.statements(&[]);
    if parser.faults.is_empty() {
        Ok(nodes)
    } else {
        Err(parser.faults)
    }
}

pub(crate) struct Parser {
    pub(crate) tokens: Vec<Token>,
    pub(crate) at: usize,
    pub(crate) depth: usize,
    /// Names that have a value here: those of the file, and those of each block that is open. `a [1]` takes an
    /// element of such a name.
    scopes: Vec<HashSet<String>>,
    /// True in the head of a loop, whose `do` opens no block.
    pub(crate) is_loop_head: bool,
    faults: Vec<SyntaxFault>,
}

impl Parser {
    pub(crate) fn word(&self) -> &Word {
        &self.tokens[self.at].word
    }

    pub(crate) fn place(&self) -> TextPosition {
        self.tokens[self.at].place
    }

    /// Returns the word that is `ahead` words further on.
    pub(crate) fn ahead(&self, ahead: usize) -> &Token {
        &self.tokens[(self.at + ahead).min(self.tokens.len() - 1)]
    }

    pub(crate) fn advance(&mut self) {
        self.at = (self.at + 1).min(self.tokens.len() - 1);
    }

    pub(crate) fn is_operator(&self, operator: &str) -> bool {
        matches!(self.word(), Word::Operator(found) if *found == operator)
    }

    pub(crate) fn is_keyword(&self, keyword: &str) -> bool {
        matches!(self.word(), Word::Name(found) if found == keyword)
    }

    /// Takes an operator if it is there.
    pub(crate) fn take(&mut self, operator: &str) -> bool {
        let is_there = self.is_operator(operator);
        if is_there {
            self.advance();
        }
        is_there
    }

    pub(crate) fn take_keyword(&mut self, keyword: &str) -> bool {
        let is_there = self.is_keyword(keyword);
        if is_there {
            self.advance();
        }
        is_there
    }

    pub(crate) fn expect(&mut self, operator: &str) -> Parsed<()> {
        if self.take(operator) {
            return Ok(());
        }
        Err(self.unexpected(&format!("{operator:?}")))
    }

    pub(crate) fn expect_keyword(&mut self, keyword: &str) -> Parsed<()> {
        if self.take_keyword(keyword) {
            return Ok(());
        }
        Err(self.unexpected(&format!("{keyword:?}")))
    }

    pub(crate) fn unexpected(&self, wanted: &str) -> SyntaxFault {
        let found = match self.word() {
            Word::End => "the file ends".to_owned(),
            Word::Newline => "the line ends".to_owned(),
            Word::Int(number) => format!("{number} stands"),
            Word::Float(number) => format!("{number} stands"),
            Word::Text(_) | Word::Words(_) => "a text stands".to_owned(),
            Word::Symbol(name) => format!("\":{name}\" stands"),
            Word::Name(name) => format!("\"{name}\" stands"),
            Word::Global(name) => format!("\"${name}\" stands"),
            Word::Label(name) => format!("\"{name}:\" stands"),
            Word::Operator(operator) => format!("\"{operator}\" stands"),
        };
        self.place().fault(format!("{found} here, and {wanted} is expected"), "correct the mistake there")
    }

    pub(crate) fn newlines(&mut self) {
        while matches!(self.word(), Word::Newline) {
            self.advance();
        }
    }

    /// Returns true for a name that the file, or a block that is open, has given a value until here.
    pub(crate) fn is_variable(&self, name: &str) -> bool {
        self.scopes.iter().any(|scope| scope.contains(name))
    }

    /// Gives a name to the innermost block, unless it has a value here already. Constants belong to the file.
    fn declare(&mut self, name: &str) {
        if self.is_variable(name) {
            return;
        }
        let at = if name.starts_with(char::is_uppercase) { 0 } else { self.scopes.len() - 1 };
        self.scopes[at].insert(name.to_owned());
    }

    /// Parses the parameters and statements of a block, up to its end, which stays. A parameter is the block's
    /// own, whatever stands outside has its name.
    pub(crate) fn block_body(&mut self, close: &str) -> Parsed<Block> {
        self.scopes.push(HashSet::new());
        let done = self.block_parameters().and_then(|parameters| {
            let body = self.deeper(|parser| Ok(parser.statements(&[close])))?;
            Ok((parameters, body))
        });
        let own = self.scopes.pop().unwrap_or_default();
        done.map(|(parameters, body)| Block { parameters, own: own.into_iter().collect(), body })
    }

    fn block_parameters(&mut self) -> Parsed<Vec<String>> {
        let mut parameters = Vec::new();
        if self.take("|") {
            while !self.take("|") {
                let name = self.parameter()?;
                if let Some(scope) = self.scopes.last_mut() {
                    scope.insert(name.clone());
                }
                parameters.push(name);
                self.take(",");
            }
        } else {
            self.take("||");
        }
        Ok(parameters)
    }

    /// Calls `part` one level deeper.
    pub(crate) fn deeper<T>(&mut self, part: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            return Err(self.too_deep());
        }
        let before = self.depth;
        self.depth += 1;
        let done = part(self);
        self.depth = before;
        done
    }

    pub(crate) fn too_deep(&self) -> SyntaxFault {
        let what = format!("more than {MAX_DEPTH} expressions or blocks stand within each other here");
        self.place().fault(what, "give parts of it to variables")
    }

    /// Parses statements up to the file's end or one of the keywords or brackets `ends`, which stays.
    pub(crate) fn statements(&mut self, ends: &[&str]) -> Vec<Node> {
        let mut nodes = Vec::new();
        let (depth, is_loop_head) = (self.depth, std::mem::take(&mut self.is_loop_head));
        loop {
            self.newlines();
            self.depth = depth;
            let is_end = match self.word() {
                Word::End => true,
                Word::Name(name) => ends.contains(&name.as_str()),
                Word::Operator(operator) => ends.contains(operator),
                _ => false,
            };
            if is_end || self.faults.len() >= MAX_FAULTS {
                self.is_loop_head = is_loop_head;
                return nodes;
            }
            match self.statement().and_then(|node| self.end_of_statement(ends).map(|()| node)) {
                Ok(node) => nodes.push(node),
                Err(fault) => {
                    self.faults.push(fault);
                    self.skip_line();
                }
            }
        }
    }

    /// Passes over the rest of a line that has a mistake.
    fn skip_line(&mut self) {
        while !matches!(self.word(), Word::Newline | Word::End) {
            self.advance();
        }
    }

    fn end_of_statement(&mut self, ends: &[&str]) -> Parsed<()> {
        match self.word() {
            Word::Newline | Word::End => Ok(()),
            Word::Name(name) if ends.contains(&name.as_str()) => Ok(()),
            Word::Operator(operator) if ends.contains(operator) => Ok(()),
            _ => Err(self.unexpected("the end of the line")),
        }
    }

    /// Parses a statement with what stands behind it, such as `if …`.
    pub(crate) fn statement(&mut self) -> Parsed<Node> {
        self.deeper(|parser| {
            let mut node = parser.sentence()?;
            loop {
                let place = parser.place();
                let kind = if parser.take_keyword("if") {
                    NodeKind::If(vec![(parser.sentence()?, vec![node])], Vec::new())
                } else if parser.take_keyword("unless") {
                    NodeKind::If(vec![(parser.sentence()?, Vec::new())], vec![node])
                } else if parser.take_keyword("while") {
                    NodeKind::While(Box::new(parser.sentence()?), true, vec![node])
                } else if parser.take_keyword("until") {
                    NodeKind::While(Box::new(parser.sentence()?), false, vec![node])
                } else {
                    return Ok(node);
                };
                node = Node { place, kind };
                parser.depth += 1;
                if parser.depth > MAX_DEPTH {
                    return Err(parser.too_deep());
                }
            }
        })
    }

    /// Parses expressions that `and` and `or` join.
    fn sentence(&mut self) -> Parsed<Node> {
        let mut node = self.negation()?;
        let depth = self.depth;
        loop {
            let place = self.place();
            let is_and = self.is_keyword("and");
            if !is_and && !self.is_keyword("or") {
                self.depth = depth;
                return Ok(node);
            }
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return Err(self.too_deep());
            }
            self.advance();
            self.newlines();
            let (left, right) = (Box::new(node), Box::new(self.negation()?));
            let kind = if is_and { NodeKind::And(left, right) } else { NodeKind::Or(left, right) };
            node = Node { place, kind };
        }
    }

    fn negation(&mut self) -> Parsed<Node> {
        let place = self.place();
        if self.take_keyword("not") {
            let inner = self.deeper(Self::negation)?;
            return Ok(Node { place, kind: NodeKind::Unary("!", Box::new(inner)) });
        }
        let node = self.expression()?;
        if self.is_operator(",") && is_assignable(&node) && self.is_list_of_targets() {
            return self.assignment_of_all(node);
        }
        Ok(node)
    }

    /// Returns true if an `=` follows on the line, outside of brackets.
    fn is_list_of_targets(&self) -> bool {
        let mut depth = 0;
        for token in &self.tokens[self.at..] {
            match &token.word {
                Word::Operator("(" | "[" | "{") => depth += 1,
                Word::Operator(")" | "]" | "}") if depth == 0 => return false,
                Word::Operator(")" | "]" | "}") => depth -= 1,
                Word::Operator("=") if depth == 0 => return true,
                Word::Newline | Word::End => return false,
                _ => {}
            }
        }
        false
    }

    fn assignment_of_all(&mut self, first: Node) -> Parsed<Node> {
        let place = first.place;
        let mut targets = vec![self.target(first)?];
        while self.take(",") {
            let next = self.operators(0)?;
            targets.push(self.target(next)?);
        }
        self.expect("=")?;
        let from = self.place();
        let mut values = vec![self.expression()?];
        while self.take(",") {
            values.push(self.expression()?);
        }
        let value = match values.len() {
            1 => values.remove(0),
            _ => Node { place: from, kind: NodeKind::List(values) },
        };
        Ok(Node { place, kind: NodeKind::AssignAll(targets, Box::new(value)) })
    }

    /// Makes the left side of an assignment of an expression.
    pub(crate) fn target(&mut self, node: Node) -> Parsed<Target> {
        match node.kind {
            NodeKind::Variable(name) | NodeKind::Local(name) | NodeKind::Constant(name) => {
                self.declare(&name);
                Ok(Target::Variable(name))
            }
            NodeKind::Global(name) => Ok(Target::Global(name)),
            NodeKind::Index(of, mut index) if index.len() == 1 => {
                Ok(Target::Index(of, Box::new(index.remove(0))))
            }
            _ => Err(node.place.fault("a value is given to what can have none", "give it to a variable")),
        }
    }

    /// Parses `if`, `unless`, `case`, `while`, `until`, `for`, or what is not read.
    pub(crate) fn construct(&mut self, keyword: &str) -> Parsed<Node> {
        let place = self.place();
        self.advance();
        let kind = match keyword {
            "if" => self.conditional()?,
            "unless" => {
                let condition = self.condition()?;
                let body = self.statements(&["else", "end"]);
                let otherwise = self.otherwise()?;
                NodeKind::If(vec![(condition, otherwise)], body)
            }
            "case" => self.case()?,
            "for" => self.for_loop()?,
            "while" | "until" => {
                let condition = self.loop_head()?;
                let body = self.body()?;
                NodeKind::While(Box::new(condition), keyword == "while", body)
            }
            other => return Err(self.unread(place, other)),
        };
        Ok(Node { place, kind })
    }

    /// Passes over a `def` or another form that is not read, up to its end.
    fn unread(&mut self, place: TextPosition, keyword: &str) -> SyntaxFault {
        self.skip_line();
        let before = self.faults.len();
        let _ = self.statements(&["end"]);
        self.faults.truncate(before);
        self.take_keyword("end");
        let what =
            UNREAD.iter().find(|(known, _)| *known == keyword).map_or("this is not read", |(_, what)| what);
        place.fault(what, "write it out with variables, conditions and loops")
    }

    fn condition(&mut self) -> Parsed<Node> {
        let condition = self.sentence()?;
        if !self.take_keyword("then") && !self.take_keyword("do") && !matches!(self.word(), Word::Newline) {
            return Err(self.unexpected("the end of the line"));
        }
        self.newlines();
        self.take_keyword("then");
        Ok(condition)
    }

    fn loop_head(&mut self) -> Parsed<Node> {
        let before = std::mem::replace(&mut self.is_loop_head, true);
        let condition = self.condition();
        self.is_loop_head = before;
        condition
    }

    fn body(&mut self) -> Parsed<Vec<Node>> {
        let body = self.statements(&["end"]);
        self.expect_keyword("end")?;
        Ok(body)
    }

    /// Parses an `else` if there is one, and the `end`.
    fn otherwise(&mut self) -> Parsed<Vec<Node>> {
        if self.take_keyword("else") {
            return self.body();
        }
        self.expect_keyword("end").map(|()| Vec::new())
    }

    fn conditional(&mut self) -> Parsed<NodeKind> {
        let mut branches = Vec::new();
        loop {
            let condition = self.condition()?;
            branches.push((condition, self.statements(&["elsif", "else", "end"])));
            if !self.take_keyword("elsif") {
                return Ok(NodeKind::If(branches, self.otherwise()?));
            }
        }
    }

    fn case(&mut self) -> Parsed<NodeKind> {
        let subject = match self.word() {
            Word::Newline => None,
            _ => Some(self.sentence()?),
        };
        self.newlines();
        let mut branches = Vec::new();
        while self.take_keyword("when") {
            let mut values = vec![self.expression()?];
            while self.take(",") {
                self.newlines();
                values.push(self.expression()?);
            }
            self.take_keyword("then");
            branches.push((values, self.statements(&["when", "else", "end"])));
        }
        let otherwise = self.otherwise()?;
        Ok(NodeKind::Case(Box::new(RubyCase { subject, branches, otherwise })))
    }

    fn for_loop(&mut self) -> Parsed<NodeKind> {
        let mut names = vec![self.parameter()?];
        while self.take(",") {
            names.push(self.parameter()?);
        }
        names.iter().for_each(|name| self.declare(name));
        self.expect_keyword("in")?;
        let of = self.loop_head()?;
        Ok(NodeKind::For(names, Box::new(of), self.body()?))
    }

    /// Parses the name of a variable.
    pub(crate) fn parameter(&mut self) -> Parsed<String> {
        match self.word().clone() {
            Word::Name(name) if !KEYWORDS.contains(&name.as_str()) => {
                self.advance();
                Ok(name)
            }
            _ => Err(self.unexpected("the name of a variable")),
        }
    }
}

pub(crate) fn is_keyword(name: &str) -> bool {
    KEYWORDS.contains(&name)
}

pub(crate) fn is_construct(name: &str) -> bool {
    matches!(name, "if" | "unless" | "case" | "while" | "until" | "for")
        || UNREAD.iter().any(|(known, _)| *known == name)
}

pub(crate) fn is_assignable(node: &Node) -> bool {
    matches!(
        node.kind,
        NodeKind::Variable(_)
            | NodeKind::Local(_)
            | NodeKind::Constant(_)
            | NodeKind::Global(_)
            | NodeKind::Index(..)
    )
}
