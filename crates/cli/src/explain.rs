//! `ligament explain`: prints the meaning of an error code and its remedy.

use crate::arguments::{print, Explain};
use crate::pages::{links, Pages};
use ligament_catalogue::{entries, fault, find, CodeEntry};
use std::io::IsTerminal;

/// Maximum width of the text, in columns, on a terminal of any width.
const MAX_COLUMNS: usize = 100;

/// Explains a code, or lists all codes.
pub(crate) fn explain(arguments: &Explain) -> i32 {
    let pages = Pages::of_this_program();
    let Some(code) = &arguments.code else {
        let all = || json(entries().iter().map(|entry| as_json(entry, &pages)).collect());
        print(&if arguments.json { all() } else { list() });
        return crate::DONE;
    };
    let Some(entry) = find(code.trim_matches(|c| "[]()`".contains(c))) else {
        return refuse(arguments, code);
    };
    print(&if arguments.json {
        json(as_json(entry, &pages))
    } else {
        text(entry, width()) + &read_on(entry, &pages)
    });
    crate::DONE
}

fn refuse(arguments: &Explain, code: &str) -> i32 {
    let near = ligament_model::nearest(code, entries().iter().map(|entry| entry.code.name()));
    let error = match near {
        Some(near) => fault!(NO_SUCH_CODE, "there is no code \"{code}\"; did you mean \"{near}\"?"),
        None => fault!(NO_SUCH_CODE, "there is no code \"{code}\"; \"ligament explain\" lists all"),
    };
    if arguments.json {
        return crate::fail(true, &error, crate::BAD_USE);
    }
    // The error is printed without a code, because the user has asked for one in vain just now.
    ligament_runtime::say(&format!("ligament: {error}"));
    crate::BAD_USE
}

fn json(mut value: serde_json::Value) -> String {
    if value.is_array() {
        value = serde_json::json!({ "codes": value });
    }
    value["ok"] = true.into();
    format!("{value}\n")
}

fn as_json(entry: &CodeEntry, pages: &Pages) -> serde_json::Value {
    let links: Vec<_> = links(entry.meaning).map(|link| {
        serde_json::json!({ "title": link.title, "file": pages.file(&link), "heading": pages.heading(&link) })
    }).collect();
    serde_json::json!({
        "code": entry.code.name(), "when": entry.when, "messages": entry.messages,
        "meaning": plain(entry.meaning),
        "links": links,
    })
}

/// Returns the files of the pages to which an entry links. The paths stay whole, so that they can be copied.
fn read_on(entry: &CodeEntry, pages: &Pages) -> String {
    let line = |link| {
        let heading = pages.heading(&link).map(|heading| format!(", under \"{heading}\"")).unwrap_or_default();
        format!("  {}{heading}\n", pages.file(&link))
    };
    let lines: String = links(entry.meaning).map(line).collect();
    if lines.is_empty() {
        lines
    } else {
        format!("\nread on:\n{lines}")
    }
}

/// Returns the list of all codes, under their headings.
fn list() -> String {
    let mut text = String::new();
    let mut when = "";
    let longest = entries().iter().map(|entry| entry.code.name().len()).max().unwrap_or(0);
    for entry in entries() {
        if entry.when != when {
            when = entry.when;
            text.push_str(&format!("{}{when}\n", if text.is_empty() { "" } else { "\n" }));
        }
        let said = entry.messages.first().map_or_else(|| plain(entry.meaning), |message| (*message).to_owned());
        let line = format!("  {:<longest$}  {said}", entry.code);
        let room = if std::io::stdout().is_terminal() { width() } else { usize::MAX };
        let cut: String = line.chars().take(room).collect();
        text.push_str(cut.trim_end());
        text.push('\n');
    }
    text
}

/// Returns the text of one entry: its messages, then its meaning.
fn text(entry: &CodeEntry, width: usize) -> String {
    let mut text = wrapped(&format!("{}: {}", entry.code, entry.when), "", width);
    text.push('\n');
    for message in &entry.messages {
        text.push_str(&wrapped(message, "    ", width));
    }
    if !entry.messages.is_empty() {
        text.push('\n');
    }
    text.push_str(&wrapped(&plain(entry.meaning), "", width));
    text
}

/// Returns the width of the terminal, or 80 columns if the output is no terminal.
fn width() -> usize {
    let columns = rustix::termios::tcgetwinsize(std::io::stdout()).map_or(80, |size| usize::from(size.ws_col));
    match columns {
        0 => 80,
        columns => columns.clamp(20, MAX_COLUMNS),
    }
}

/// Returns a Markdown text without its links and markup.
fn plain(markdown: &str) -> String {
    let mut text = String::new();
    let mut rest = markdown;
    while let Some((before, link)) = rest.split_once('[') {
        text.push_str(before);
        match link.split_once("](").and_then(|(name, after)| Some((name, after.split_once(')')?.1))) {
            Some((name, after)) if !name.contains(']') => {
                text.push_str(name);
                rest = after;
            }
            _ => {
                text.push('[');
                rest = link;
            }
        }
    }
    text.push_str(rest);
    text.replace('`', "")
}

/// Wraps a paragraph into lines of at most `width` columns, each after `indent`.
fn wrapped(paragraph: &str, indent: &str, width: usize) -> String {
    let words = textwrap::Options::new(width).word_splitter(textwrap::WordSplitter::NoHyphenation);
    let lines = words.break_words(false).initial_indent(indent).subsequent_indent(indent);
    textwrap::fill(paragraph, lines) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_marks_of_the_page_are_left_out() {
        assert_eq!(plain("see [Limits](limits.md#a) of `micro[3]`, [b]"), "see Limits of micro[3], [b]");
        for entry in entries() {
            let text = plain(entry.meaning);
            assert!(!text.contains("](") && !text.contains('`'), "{text}");
        }
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_and_no_word_is_lost() {
        for entry in entries() {
            let set = text(entry, 60);
            assert!(set.lines().all(|line| line.chars().count() <= 60 || !line.trim().contains(' ')), "{set}");
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert!(words(&set).ends_with(&words(&plain(entry.meaning))));
        }
    }
}
