//! The result of a check: problems, notes, and the model that was checked.

use ligament_model::{Configuration, FlatModel, Problem, ResolvedModel};
use serde::Serialize;
use std::collections::HashSet;

/// The result of a check.
#[derive(Clone, Debug)]
pub struct CheckReport {
    /// All problems, in the order of the files, and within a file by line.
    pub problems: Vec<Problem>,
    /// Notes on checks that are possible only when a program starts. Example: a program's file is below a
    /// directory that its modules name.
    pub notes: Vec<String>,
    /// Configuration that was read. Imports are resolved as far as possible.
    pub configuration: Configuration,
    /// The expanded model. `None` if the model cannot be expanded.
    pub resolved: Option<ResolvedModel>,
    /// The same model as a graph of components, without expansion to instances. The order of operators is
    /// computed from it.
    pub(crate) flat: Option<FlatModel>,
    pub(crate) text: Option<String>,
}

/// The report as JSON, for programs.
#[derive(Serialize)]
struct Json<'a> {
    ok: bool,
    errors: usize,
    warnings: usize,
    problems: &'a [Problem],
    notes: &'a [String],
}

impl CheckReport {
    pub(crate) fn new(
        configuration: Configuration,
        resolved: Option<ResolvedModel>,
        mut problems: Vec<Problem>,
    ) -> CheckReport {
        let mut files: Vec<Option<String>> = Vec::new();
        for problem in &problems {
            if !files.contains(&problem.file) {
                files.push(problem.file.clone());
            }
        }
        problems.sort_by_key(|p| (files.iter().position(|f| *f == p.file), p.line, p.column));
        let mut seen = HashSet::new();
        problems.retain(|p| seen.insert((p.code, p.file.clone(), p.line, p.column, p.message.clone())));
        CheckReport { problems, notes: Vec::new(), configuration, resolved, flat: None, text: None }
    }

    /// Returns the configuration as the text of a model file. If `CheckOptions::with_text` was set, the
    /// text was already written during the check.
    pub fn into_text(self) -> String {
        self.text.unwrap_or_else(|| self.configuration.to_yaml())
    }

    /// Returns true if the model can be run, because the check found no errors.
    pub fn is_ok(&self) -> bool {
        self.errors() == 0
    }

    /// Returns the number of errors.
    pub fn errors(&self) -> usize {
        self.problems.iter().filter(|p| p.is_error()).count()
    }

    /// Returns the number of warnings.
    pub fn warnings(&self) -> usize {
        self.problems.len() - self.errors()
    }

    /// Returns the problems as text. Each problem is one line that ends with a newline.
    pub fn to_text(&self) -> String {
        self.problems.iter().map(|p| format!("{p} [{}]\n", p.code)).collect()
    }

    /// Returns the report as a JSON object: `ok`, `errors`, `warnings`, `notes`, and `problems` with
    /// `severity`, `code`, `file`, `line`, `column`, `message` and `advice` each.
    pub fn to_json(&self) -> serde_json::Value {
        let json = Json {
            ok: self.is_ok(),
            errors: self.errors(),
            warnings: self.warnings(),
            problems: &self.problems,
            notes: &self.notes,
        };
        serde_json::to_value(json).unwrap_or_default()
    }
}
