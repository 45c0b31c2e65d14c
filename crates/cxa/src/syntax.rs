//! The tree of a cxa file: statements and expressions, each with its place.

use crate::place::TextPosition;

/// An expression, or a statement, which is an expression in Ruby.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub place: TextPosition,
    pub kind: NodeKind,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum NodeKind {
    Nil,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Vec<Piece>),
    Symbol(String),
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
    /// First value, last value, and true if the last one is left out (`...`).
    Range(Box<Node>, Box<Node>, bool),
    /// A name that the file has given no value until here: a function, or a mistake.
    Variable(String),
    /// A variable. It is nil if the statement that gives it a value was passed over.
    Local(String),
    Constant(String),
    Global(String),
    Assign(Target, Box<Node>),
    /// `a, b = …`.
    AssignAll(Vec<Target>, Box<Node>),
    /// An assignment with an operator, such as `+=` (the name is `+`), `||=` or `&&=`.
    Change(Target, &'static str, Box<Node>),
    Index(Box<Node>, Vec<Node>),
    Call(Box<RubyCall>),
    Unary(&'static str, Box<Node>),
    Binary(&'static str, Box<Node>, Box<Node>),
    And(Box<Node>, Box<Node>),
    Or(Box<Node>, Box<Node>),
    /// Conditions with their statements, and those behind `else`.
    If(Vec<(Node, Vec<Node>)>, Vec<Node>),
    Case(Box<RubyCase>),
    /// `while` with true, `until` with false.
    While(Box<Node>, bool, Vec<Node>),
    For(Vec<String>, Box<Node>, Vec<Node>),
    Break,
    Next,
    Defined(Box<Node>),
    /// Statements in brackets.
    Group(Vec<Node>),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Piece {
    Plain(String),
    Inserted(Node),
}

/// The left side of an assignment.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Target {
    Variable(String),
    Global(String),
    Index(Box<Node>, Box<Node>),
}

/// A call of a method, or of a function if it has no receiver.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RubyCall {
    pub receiver: Option<Node>,
    pub name: String,
    pub arguments: Vec<Node>,
    pub block: Option<Block>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Block {
    pub parameters: Vec<String>,
    /// Names that the block has for itself: its parameters, and those that get their first value in it.
    pub own: Vec<String>,
    pub body: Vec<Node>,
}

/// `case subject`, with the values and statements of each `when`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RubyCase {
    pub subject: Option<Node>,
    pub branches: Vec<(Vec<Node>, Vec<Node>)>,
    pub otherwise: Vec<Node>,
}
