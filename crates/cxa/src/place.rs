//! Places in a cxa file, and the faults that are found there.

use ligament_catalogue::Code;
use ligament_model::{At, Problem};
use std::sync::Arc;

/// Line and column, from 1. Columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TextPosition {
    pub line: u32,
    pub column: u32,
}

/// A mistake, or a form that is not read, with its remedy.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SyntaxFault {
    pub place: TextPosition,
    pub what: String,
    pub advice: String,
}

impl TextPosition {
    pub fn fault(self, what: impl Into<String>, advice: impl Into<String>) -> SyntaxFault {
        SyntaxFault { place: self, what: what.into(), advice: advice.into() }
    }

    pub fn at(self, file: &Arc<str>) -> At {
        At { file: Some(file.clone()), line: self.line, column: self.column }
    }
}

impl SyntaxFault {
    pub fn error(&self, file: &Arc<str>) -> Problem {
        Problem::error(Code::BAD_CXA, &self.place.at(file), self.what.clone(), self.advice.clone())
    }

    pub fn warning(&self, file: &Arc<str>) -> Problem {
        Problem::warning(Code::BAD_CXA, &self.place.at(file), self.what.clone(), self.advice.clone())
    }
}
