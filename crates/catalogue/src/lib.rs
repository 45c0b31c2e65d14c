//! What can go wrong, by code. The entries are the pages `docs/reference/errors.md` and `check-codes.md` themselves, so
//! that terminal and documentation say the same. Which code a message has follows from what it says; a test in
//! `tests/docs` holds every message of the sources against the pages.

use std::borrow::Cow;
use std::sync::OnceLock;

/// The pages.
const ERRORS: &str = include_str!("../../../docs/reference/errors.md");
const CHECKS: &str = include_str!("../../../docs/reference/check-codes.md");
/// Stands for names and numbers in a message of the pages.
const ANYTHING: char = '…';
/// How a message says where to read on.
const HINT: &str = " (ligament explain ";

/// One kind of failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name, such as `no-such-port`; it does not change.
    pub code: &'static str,
    /// The heading that it stands under.
    pub when: &'static str,
    /// How its messages begin, with `…` for what differs; none for those of `ligament check`.
    pub messages: Vec<&'static str>,
    /// What it means and what to do, in Markdown.
    pub meaning: &'static str,
}

/// All entries, in the order of the pages.
pub fn entries() -> &'static [Entry] {
    static ENTRIES: OnceLock<Vec<Entry>> = OnceLock::new();
    ENTRIES.get_or_init(|| read(ERRORS).chain(read(CHECKS)).collect())
}

/// The entry of a code.
pub fn find(code: &str) -> Option<&'static Entry> {
    entries().iter().find(|entry| entry.code == code)
}

/// The entry of a message that a user was shown. Of several that fit, such as that of a reason within a longer message,
/// it is the one that says most.
pub fn of_message(text: &str) -> Option<&'static Entry> {
    let mut best = (0, None);
    for entry in entries() {
        for message in &entry.messages {
            if let Some(length) = fits(message, text).filter(|&length| length > best.0) {
                best = (length, Some(entry));
            }
        }
    }
    best.1
}

/// The message with its code at the end, unless it has one or none belongs to it.
pub fn with_code(text: &str) -> Cow<'_, str> {
    if text.contains(HINT) {
        return text.into();
    }
    match of_message(text) {
        Some(entry) => format!("{text}{HINT}{})", entry.code).into(),
        None => text.into(),
    }
}

/// The code that a message names, or else the one that belongs to it.
pub fn code_of(text: &str) -> Option<&str> {
    match text.rsplit_once(HINT).and_then(|(_, rest)| rest.split_once(')')) {
        Some((code, _)) => Some(code),
        None => of_message(text).map(|entry| entry.code),
    }
}

/// How many letters of a message of the pages stand in a text, if all do, in their order.
fn fits(message: &str, text: &str) -> Option<usize> {
    let (mut rest, mut length) = (text, 0);
    for piece in message.split(ANYTHING).filter(|piece| !piece.is_empty()) {
        let at = rest.find(piece)?;
        rest = &rest[at + piece.len()..];
        length += piece.len();
    }
    Some(length)
}

/// The rows of a page's tables: ``| `code` | messages | meaning |``, or without messages.
fn read(page: &'static str) -> impl Iterator<Item = Entry> {
    let mut when = "";
    page.lines().filter_map(move |line| {
        if let Some(heading) = line.strip_prefix('#') {
            when = heading.trim_start_matches('#').trim();
        }
        let row = line.strip_prefix("| `")?.strip_suffix(" |")?;
        let (code, rest) = row.split_once("` | ")?;
        let (messages, meaning) = match rest.split_once(" | ") {
            Some((messages, meaning)) => (messages.split("<br>").collect(), meaning),
            None => (Vec::new(), rest),
        };
        Some(Entry { code, when, messages, meaning })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_there_once_and_leads_to_its_meaning() {
        let mut codes: Vec<&str> = entries().iter().map(|entry| entry.code).collect();
        assert!(codes.len() > 150, "{}", codes.len());
        assert!(entries().iter().all(|entry| find(entry.code) == Some(entry) && !entry.meaning.is_empty()));
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), entries().len());
    }

    #[test]
    fn a_message_gets_the_code_of_what_it_says_most_of() {
        let code = |text| of_message(text).map(|entry| entry.code);
        assert_eq!(
            code("there is no port \"x\"; this instance has in and out. Declare it"),
            Some("no-such-port")
        );
        let reason = "the run is ending: micro ended with exit status 3 before it had registered";
        assert_eq!(code(reason), Some("exit-unregistered"));
        assert_eq!(code("all is well"), None);
    }

    #[test]
    fn a_message_names_its_code_once() {
        let once = with_code("the agent of this run is gone; the run has ended").into_owned();
        assert!(once.ends_with("ended (ligament explain agent-gone)"), "{once}");
        assert_eq!(with_code(&once), once);
        assert_eq!(code_of(&format!("macro reported an error: {once}")), Some("agent-gone"));
        assert_eq!(with_code("all is well"), "all is well");
    }

    #[test]
    fn every_message_of_the_pages_leads_to_its_own_entry() {
        for entry in entries() {
            for message in &entry.messages {
                let found = of_message(&message.replace(ANYTHING, "x")).map(|found| found.code);
                assert_eq!(found, Some(entry.code), "{message}");
            }
        }
    }
}
