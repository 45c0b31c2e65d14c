//! What can go wrong, by code. `codes/` has every code and what it means; an error is given its code where it is made, by
//! `errors!` or `fault!`. The pages `docs/reference/errors.md` and `check-codes.md` are made from both (`tests/page.rs`),
//! and `ligament explain` says the same.

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

/// What there is to say about a code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The code.
    pub code: Code,
    /// The heading that it stands under.
    pub when: &'static str,
    /// Its messages, with `…` for what differs; none for those of `ligament check`.
    pub messages: Vec<&'static str>,
    /// What it means and what to do, in Markdown.
    pub meaning: &'static str,
}

/// All entries, in the order of the pages.
pub fn entries() -> &'static [Entry] {
    static ENTRIES: OnceLock<Vec<Entry>> = OnceLock::new();
    ENTRIES.get_or_init(|| {
        let mut said = messages();
        let sections = codes::ERRORS.iter().chain(&codes::CHECKS);
        let entries = sections
            .flat_map(|section| section.codes.iter().map(|&(code, meaning)| (section.when, code, meaning)));
        entries
            .map(|(when, code, meaning)| Entry {
                code,
                when,
                messages: said.remove(code.name()).unwrap_or_default(),
                meaning,
            })
            .collect()
    })
}

/// The entry of a code.
pub fn find(code: &str) -> Option<&'static Entry> {
    entries().iter().find(|entry| entry.code.name() == code)
}

/// The messages of each code. They are gathered from all sources when the page is made, which other crates' are not
/// here, so they are taken from it: ``| `code` | messages | meaning |``.
fn messages() -> HashMap<&'static str, Vec<&'static str>> {
    let rows = include_str!("../../../docs/reference/errors.md").lines().filter_map(|line| {
        let (code, rest) = line.strip_prefix("| `")?.split_once("` | ")?;
        Some((code, rest.split_once(" | ")?.0.split("<br>").collect()))
    });
    rows.collect()
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
