//! The pages `docs/reference/errors.md` and `check-codes.md` agree with the sources. With
//! `LIGAMENT_WRITE_PAGES=1` the tests write the pages instead.

use ligament_catalogue::codes::{Section, CHECKS, ERRORS};
use ligament_catalogue::entries;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

const ABOUT_ERRORS: &str = "# Errors

<!-- made from the sources: LIGAMENT_WRITE_PAGES=1 cargo test -p ligament-catalogue --test page -->

All errors, by code. A message ends with its code: `(ligament explain no-such-port)`. That command prints the
code's entry in the terminal, with all its messages; `ligament explain` lists all codes. A code does not change,
and `--json` gives it beside the message.

Each entry here has the meaning, the remedy, and an example of its messages. `…` stands for names and numbers of
your model. The problems that `ligament check` finds before a run have a [page of their own](check-codes.md).
";

/// Maximum line length of a page.
const MAX_COLUMNS: usize = 112;
/// Number of example messages for each code. The next constants limit the words and characters of an example.
const MAX_EXAMPLES: usize = 1;
const MIN_EXAMPLE_WORDS: usize = 4;
const MAX_EXAMPLE_CHARS: usize = 180;

const ABOUT_CHECKS: &str = "# Problems of a model, by code

<!-- made from the sources: LIGAMENT_WRITE_PAGES=1 cargo test -p ligament-catalogue --test page -->

Each problem that `ligament check` can find has a code. It stands at the end of the problem's line and in the
output of `--json`, and does not change. The message names the place and says what to do; this page, and
`ligament explain CODE` in the terminal, give the reason. A model with warnings can be run.

| code | what it means, and what to do |
| --- | --- |
";

/// Escapes characters that end a cell of a table.
fn row(text: &str) -> String {
    text.replace('|', "\\|")
}

fn errors_page(said: &HashMap<&str, Vec<String>>) -> String {
    let mut page = ABOUT_ERRORS.to_owned();
    for Section { when, codes } in ERRORS {
        page += &format!("\n## {when}\n");
        for (code, meaning) in *codes {
            page += &format!("\n### `{code}`\n\n{}", wrapped(&format!("{meaning}."), ""));
            for message in examples(said.get(code.name()).map(Vec::as_slice).unwrap_or_default()) {
                page += &format!("\n{}", wrapped(&escaped(message), "> "));
            }
        }
    }
    page
}

/// Returns the messages that show best how an error with this code looks: whole sentences of moderate length.
fn examples(messages: &[String]) -> Vec<&String> {
    let telling =
        |text: &&String| words(text) >= MIN_EXAMPLE_WORDS && text.chars().count() <= MAX_EXAMPLE_CHARS;
    let mut found: Vec<&String> = messages.iter().filter(telling).take(MAX_EXAMPLES).collect();
    if found.is_empty() {
        found.extend(messages.first());
    }
    found
}

/// Escapes a message so that Markdown shows it unchanged.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        if "*_<>[]`\\|#".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// Wraps a text into lines of the page that begin with `prefix`. Code in backquotes is not broken.
fn wrapped(text: &str, prefix: &str) -> String {
    let mut code = false;
    let unbroken: String = text
        .chars()
        .map(|c| {
            code ^= c == '`';
            if code && c == ' ' {
                '\u{a0}'
            } else {
                c
            }
        })
        .collect();
    let words = textwrap::Options::new(MAX_COLUMNS).word_splitter(textwrap::WordSplitter::NoHyphenation);
    let lines = words.break_words(false).initial_indent(prefix).subsequent_indent(prefix);
    textwrap::fill(&unbroken, lines).replace('\u{a0}', " ") + "\n"
}

/// Returns the content of `messages.txt`, which `ligament explain` reads: each code, then its messages, each
/// after a tab.
fn messages_file(said: &HashMap<&str, Vec<String>>) -> String {
    let codes = ERRORS.iter().flat_map(|section| section.codes).map(|(code, _)| code.name());
    let with_messages = codes.filter_map(|code| Some((code, said.get(code)?)));
    with_messages.map(|(code, all)| format!("{code}\n\t{}\n", all.join("\n\t"))).collect()
}

fn checks_page() -> String {
    let codes = CHECKS.iter().flat_map(|section| section.codes);
    ABOUT_CHECKS.to_owned()
        + &codes.map(|(code, meaning)| format!("| `{code}` | {} |\n", row(meaning))).collect::<String>()
}

/// Collects all messages in the sources, by the names of their codes.
fn said() -> HashMap<&'static str, Vec<String>> {
    let mut said: HashMap<&str, Vec<String>> = HashMap::new();
    for source in sources() {
        let text = fs::read_to_string(&source).unwrap();
        for (code, message) in messages_of(text.split("#[cfg(test)]\nmod tests {").next().unwrap()) {
            let all = said.entry(code).or_default();
            if !all.contains(&message) {
                all.push(message);
            }
        }
    }
    // A message that consists mainly of variable parts is dropped if the code has a better message.
    for all in said.values_mut() {
        let (some, hardly): (Vec<_>, Vec<_>) = std::mem::take(all).into_iter().partition(|one| words(one) > 1);
        *all = if some.is_empty() { hardly } else { some };
    }
    said
}

fn words(text: &str) -> usize {
    text.split_whitespace().filter(|word| word.chars().filter(|c| c.is_alphabetic()).count() > 1).count()
}

/// Returns the source files that can contain messages, sorted.
fn sources() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    let mut open = vec![root.join("bindings/python/src"), root.join("bindings/python/python/ligament")];
    open.extend(fs::read_dir(root.join("crates")).unwrap().map(|entry| entry.unwrap().path().join("src")));
    open.retain(|directory| !directory.ends_with("catalogue/src"));
    while let Some(directory) = open.pop() {
        for path in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
            let ending = path.extension().and_then(|ending| ending.to_str());
            if path.is_dir() {
                open.push(path);
            } else if matches!(ending, Some("rs" | "py")) && !path.ends_with("tests.rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Finds the texts that follow a code, as in `fault!(NO_SUCH_PORT, "there is no port \"{name}\"")`, or in
/// Python `said("no-such-port", f"…")`. Variable parts are replaced by `…`.
fn messages_of(source: &str) -> Vec<(&'static str, String)> {
    let mut found: Vec<(usize, &str, String)> = Vec::new();
    let lines = source.split_inclusive('\n').filter(|line| !line.trim_start().starts_with("//"));
    let source: String = lines.collect();
    for entry in entries() {
        let name = entry.code.name();
        let constant = name.to_uppercase().replace('-', "_");
        for word in [constant, format!("\"{name}\"")] {
            for (at, _) in source.match_indices(&word) {
                let letter = |c: char| c.is_alphanumeric() || c == '_';
                let begins = !source[..at].ends_with(letter);
                let after = source[at + word.len()..].strip_prefix(',').map(str::trim_start);
                let literal =
                    after.and_then(|after| after.strip_prefix('f').unwrap_or(after).strip_prefix('"'));
                if let Some(literal) = literal.filter(|_| begins) {
                    found.push((at, name, template(literal)));
                }
            }
        }
    }
    found.sort();
    found.into_iter().map(|(_, code, message)| (code, message)).collect()
}

/// Returns a string literal up to its closing quote, with escapes resolved and variable parts replaced by `…`.
fn template(literal: &str) -> String {
    let mut text = String::new();
    let mut rest = literal.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '"' => break,
            '\\' => match rest.next() {
                Some('\n') => while rest.next_if(|c| c.is_whitespace()).is_some() {},
                Some('n') => text.push(' '),
                Some(c) => text.push(c),
                None => break,
            },
            '{' if rest.next_if_eq(&'{').is_some() => text.push('{'),
            '{' => {
                while rest.next().is_some_and(|c| c != '}') {}
                if !text.ends_with('…') {
                    text.push('…');
                }
            }
            '}' => {
                rest.next_if_eq(&'}');
                text.push('}');
            }
            c => text.push(c),
        }
    }
    text.trim().to_owned()
}

fn holds(path: &str, page: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    if std::env::var_os("LIGAMENT_WRITE_PAGES").is_some() {
        fs::write(&path, page).unwrap();
    }
    let there = fs::read_to_string(&path).unwrap();
    for (i, (there, made)) in there.lines().zip(page.lines()).enumerate() {
        assert_eq!(there, made, "line {} of {}: write it anew, as its head says", i + 1, path.display());
    }
    assert_eq!(
        there.lines().count(),
        page.lines().count(),
        "{}: write it anew, as its head says",
        path.display()
    );
}

#[test]
fn the_page_of_errors_says_what_the_sources_say() {
    holds("docs/reference/errors.md", &errors_page(&said()));
}

#[test]
fn explain_knows_the_messages_of_the_sources() {
    holds("crates/catalogue/src/messages.txt", &messages_file(&said()));
}

#[test]
fn the_page_of_problems_says_what_the_sources_say() {
    holds("docs/reference/check-codes.md", &checks_page());
}

#[test]
fn every_code_of_an_error_is_given_to_one() {
    let said = said();
    let codes = ERRORS.iter().flat_map(|section| section.codes).map(|(code, _)| code.name());
    let never: Vec<&str> = codes.filter(|code| !said.contains_key(code)).collect();
    assert!(never.is_empty(), "no source says anything under {never:?}");
}

#[test]
fn a_message_is_found_with_its_code_wherever_it_stands() {
    let source = r#"
        // fault!(DEADLOCK, "not said")
        Err(fault!(NO_SUCH_PORT, "there is no port \"{name:?}\"; \
            this instance has {{{}}}", all))
        Lost { port: String } => AGENT_GONE, "gone {port}{slot}";
        raise UsageError(said("loan-used", f"{what} again"))
        let MY_DEADLOCK = ("DEADLOCK", "no");
    "#;
    let expected = [
        ("no-such-port", "there is no port \"…\"; this instance has {…}"),
        ("agent-gone", "gone …"),
        ("loan-used", "… again"),
    ];
    assert_eq!(messages_of(source), expected.map(|(code, text)| (code, text.to_owned())));
}
