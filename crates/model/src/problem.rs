//! A problem of a model, with its place and its remedy.

use ligament_catalogue::{Code, Coded};
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A place in a file. Comparisons ignore places: two models with the same contents are equal, whichever
/// files they were read from.
#[derive(Clone, Debug, Default)]
pub struct At {
    /// The file's name as the user gave it; `None` for a model that was made in code.
    pub file: Option<Arc<str>>,
    /// Line, from 1; 0 if not known.
    pub line: u32,
    /// Column in characters, from 1; 0 if not known.
    pub column: u32,
}

impl At {
    /// Returns a path that is written at this place, as a path on this machine. A relative path is relative
    /// to the file, so that a model can be run from anywhere.
    pub fn beside(&self, path: &str) -> PathBuf {
        match self.file.as_deref().map(Path::new).and_then(Path::parent) {
            Some(directory) => directory.join(path),
            None => PathBuf::from(path),
        }
    }
}

impl PartialEq for At {
    fn eq(&self, _: &At) -> bool {
        true
    }
}

impl Eq for At {}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.file.as_deref().unwrap_or("<model>"))?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        if self.line > 0 && self.column > 0 {
            write!(f, ":{}", self.column)?;
        }
        Ok(())
    }
}

/// The severity of a problem: it says if the model can be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The model cannot be run.
    Error,
    /// The model can be run, but probably does not do what was intended.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        })
    }
}

/// One problem of a model. It is shown as `file:line:column: error: the problem; the remedy`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The severity of the problem.
    pub severity: Severity,
    /// A stable name for programs, such as `unknown-port`.
    #[serde(serialize_with = "by_name")]
    pub code: Code,
    /// The file's name as the user gave it, or `None` for a model made in code.
    pub file: Option<String>,
    /// Line, from 1; 0 if not known.
    pub line: u32,
    /// Column in characters, from 1; 0 if not known.
    pub column: u32,
    /// The problem.
    pub message: String,
    /// The remedy.
    pub advice: String,
}

fn by_name<S: serde::Serializer>(code: &Code, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(code.name())
}

impl Problem {
    /// Makes a problem with which the model cannot be run.
    pub fn error(code: Code, at: &At, message: impl Into<String>, advice: impl Into<String>) -> Problem {
        Problem {
            severity: Severity::Error,
            code,
            file: at.file.as_deref().map(str::to_owned),
            line: at.line,
            column: at.column,
            message: message.into(),
            advice: advice.into(),
        }
    }

    /// Makes a problem with which the model can be run.
    pub fn warning(code: Code, at: &At, message: impl Into<String>, advice: impl Into<String>) -> Problem {
        Problem { severity: Severity::Warning, ..Problem::error(code, at, message, advice) }
    }

    /// Returns true if the model cannot be run with this problem.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.file.as_deref().unwrap_or("<model>"))?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        if self.line > 0 && self.column > 0 {
            write!(f, ":{}", self.column)?;
        }
        write!(f, ": {}: {}", self.severity, self.message)?;
        if !self.advice.is_empty() {
            write!(f, "; {}", self.advice)?;
        }
        Ok(())
    }
}

/// All problems of a model, shown one a line. The list is never empty when it is returned as an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

impl Coded for Problems {
    /// Returns the code of the first problem that is not a warning.
    fn code(&self) -> Code {
        let first = self.0.iter().find(|problem| problem.is_error()).or(self.0.first());
        first.map_or(Code::BAD_VALUE, |problem| problem.code)
    }
}

/// Returns the known name that is nearest to a misspelt one, if any is near enough: at most a third of its
/// letters differ (two swapped neighbours count once), or only the case does.
pub fn nearest<'a>(misspelt: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = misspelt.to_lowercase();
    let letters = misspelt.chars().count();
    // A name of one letter must not differ in all its letters.
    let allowed = (letters.max(3) / 3).min(4).min(letters.saturating_sub(1));
    known
        .into_iter()
        // The distance is at least the difference in length, which rules out most names.
        .filter(|k| k.chars().count().abs_diff(letters) <= allowed)
        .map(|k| (strsim::osa_distance(&lower, &k.to_lowercase()), k))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, k)| k)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_reads_as_place_then_what_then_advice() {
        let at = At { file: Some("m.ymmsl".into()), line: 3, column: 7 };
        let problem = Problem::error(Code::UNKNOWN_PORT, &at, "port \"a\" is unknown", "write \"b\"");
        assert_eq!(problem.to_string(), "m.ymmsl:3:7: error: port \"a\" is unknown; write \"b\"");
    }

    #[test]
    fn a_misspelt_word_finds_its_neighbour_and_a_strange_one_does_not() {
        let known = ["components", "conduits", "ports"];
        assert_eq!(nearest("componnets", known), Some("components"));
        assert_eq!((nearest("b", ["a", "c"]), nearest("B", ["b"])), (None, Some("b")));
        assert_eq!(nearest("Conduits", known), Some("conduits"));
        assert_eq!(nearest("elephants", known), None);
    }
}
