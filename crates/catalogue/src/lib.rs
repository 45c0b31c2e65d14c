//! Error codes and their meanings. `codes/` has each code with its meaning. `errors!` and `fault!` give an
//! error its code where the error is made. `tests/page.rs` collects the texts of all errors from the sources of
//! all crates, and writes them to `messages.txt` and to the pages `docs/reference/errors.md` and
//! `check-codes.md`.

pub mod codes;
mod fault;

pub use fault::{hinted, Coded, Fault};

use std::collections::HashMap;
use std::fmt;
use std::sync::OnceLock;

/// A kind of failure. A code exists only as a constant of this type, so no other codes can be made.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code(&'static str);

impl Code {
    const fn new(name: &'static str) -> Code {
        Code(name)
    }

    /// Returns the name, such as `no-such-port`.
    pub const fn name(self) -> &'static str {
        self.0
    }

    /// Returns the code with this name.
    pub fn named(name: &str) -> Option<Code> {
        find(name).map(|entry| entry.code)
    }
}

impl PartialEq<&str> for Code {
    fn eq(&self, name: &&str) -> bool {
        self.0 == *name
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// A code with its meaning and messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeEntry {
    /// The code.
    pub code: Code,
    /// Heading of the section that has the code.
    pub when: &'static str,
    /// Messages with this code. Variable parts are replaced by `…`. Empty for codes of `ligament check`.
    pub messages: Vec<&'static str>,
    /// Meaning and remedy, in Markdown.
    pub meaning: &'static str,
}

/// Returns all entries, in the order of the pages.
pub fn entries() -> &'static [CodeEntry] {
    static ENTRIES: OnceLock<Vec<CodeEntry>> = OnceLock::new();
    ENTRIES.get_or_init(|| {
        let mut said = messages();
        let sections = codes::ERRORS.iter().chain(&codes::CHECKS);
        let entries = sections
            .flat_map(|section| section.codes.iter().map(|&(code, meaning)| (section.when, code, meaning)));
        entries
            .map(|(when, code, meaning)| CodeEntry {
                code,
                when,
                messages: said.remove(code.name()).unwrap_or_default(),
                meaning,
            })
            .collect()
    })
}

/// Returns the entry of a code.
pub fn find(code: &str) -> Option<&'static CodeEntry> {
    entries().iter().find(|entry| entry.code.name() == code)
}

/// Reads the messages of each code from `messages.txt`. There, a line with the code precedes its messages, and
/// each message is indented by a tab.
fn messages() -> HashMap<&'static str, Vec<&'static str>> {
    let mut messages: HashMap<&str, Vec<&str>> = HashMap::new();
    let mut code = "";
    for line in include_str!("messages.txt").lines() {
        if let Some(message) = line.strip_prefix('\t') {
            messages.entry(code).or_default().push(message);
        } else {
            code = line;
        }
    }
    messages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_there_once_and_leads_to_its_meaning() {
        let mut codes: Vec<Code> = entries().iter().map(|entry| entry.code).collect();
        assert!(codes.len() > 250, "{}", codes.len());
        assert!(entries()
            .iter()
            .all(|entry| find(entry.code.name()) == Some(entry) && !entry.meaning.is_empty()));
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), entries().len());
    }

    #[test]
    fn every_error_has_messages_and_no_problem_of_a_model_has() {
        let errors: usize = codes::ERRORS.iter().map(|section| section.codes.len()).sum();
        for (i, entry) in entries().iter().enumerate() {
            assert_eq!(entry.messages.is_empty(), i >= errors, "{}", entry.code);
        }
    }

    #[test]
    fn a_code_is_named_as_its_constant() {
        assert_eq!(
            (Code::NO_SUCH_PORT.name(), Code::named("no-such-port")),
            ("no-such-port", Some(Code::NO_SUCH_PORT))
        );
        assert_eq!(Code::named("no-such"), None);
    }
}
