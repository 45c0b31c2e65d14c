//! Error codes and their meanings. `codes/` has every code with its meaning; an error gets its code where it is
//! made, by `errors!` or `fault!`. `messages.txt` has the texts of all errors, gathered from the sources of all
//! crates. The pages `docs/reference/errors.md` and `check-codes.md`, and `messages.txt`, are made by
//! `tests/page.rs`.

pub mod codes;
mod fault;

pub use fault::{hinted, Coded, Fault};

use std::collections::HashMap;
use std::fmt;
use std::sync::OnceLock;

/// A kind of failure. The constants are all that there are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code(&'static str);

impl Code {
    const fn new(name: &'static str) -> Code {
        Code(name)
    }

    /// Its name, such as `no-such-port`.
    pub const fn name(self) -> &'static str {
        self.0
    }

    /// The code of this name.
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

/// The entry of a code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeEntry {
    /// The code.
    pub code: Code,
    /// The heading that it stands under.
    pub when: &'static str,
    /// Its messages, with `…` for what differs; none for those of `ligament check`.
    pub messages: Vec<&'static str>,
    /// Its meaning and the remedy, in Markdown.
    pub meaning: &'static str,
}

/// All entries, in the order of the pages.
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

/// The entry of a code.
pub fn find(code: &str) -> Option<&'static CodeEntry> {
    entries().iter().find(|entry| entry.code.name() == code)
}

/// The messages of each code, from `messages.txt`: a line with the code, then its messages, each indented by a
/// tab.
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
