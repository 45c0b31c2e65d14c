//! Output of programs, changed so that it can be shown on a terminal: without control sequences, and with
//! long lines cut. Files keep the original output.

use std::borrow::Cow;

/// Maximum length of a shown line, in characters.
pub const MAX_LINE_CHARS: usize = 400;

/// The position in a text relative to control sequences (ECMA-48).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SequencePart {
    Text,
    /// The text is after a carriage return.
    Return,
    /// The text is after ESC.
    Escape,
    /// The text is in a control sequence: after ESC, `[` and perhaps parameters.
    Sequence,
    /// The text is in a control string, such as a title or a link, which ends with BEL or ST.
    String,
    /// The text is in a control string, after ESC.
    StringEscape,
}

/// Removes control sequences from a text that arrives in pieces.
#[derive(Debug)]
pub struct TextCleaner {
    place: SequencePart,
    /// The replacement for a carriage return with no newline after it.
    alone: char,
    /// The beginning of a character whose remaining bytes have not arrived.
    torn: Vec<u8>,
}

impl Default for TextCleaner {
    /// Makes a cleaner that replaces a carriage return by a newline.
    fn default() -> TextCleaner {
        TextCleaner { place: SequencePart::Text, alone: '\n', torn: Vec::new() }
    }
}

impl TextCleaner {
    /// Cleans the next piece of the text. If the piece ends within a character, that character is returned
    /// with the next piece.
    pub fn clean(&mut self, bytes: &[u8]) -> String {
        let mut all = std::mem::take(&mut self.torn);
        all.extend_from_slice(bytes);
        let mut text = String::with_capacity(all.len());
        let mut chunks = all.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            chunk.valid().chars().for_each(|c| self.take(c, &mut text));
            let invalid = chunk.invalid();
            if chunks.peek().is_none() && may_go_on(invalid) {
                self.torn = invalid.to_vec();
            } else if !invalid.is_empty() {
                self.take(char::REPLACEMENT_CHARACTER, &mut text);
            }
        }
        text
    }

    fn take(&mut self, c: char, text: &mut String) {
        // A newline ends the sequence, because an incomplete sequence must not remove the lines after it.
        if c == '\n' {
            self.place = SequencePart::Text;
            return text.push('\n');
        }
        self.place = match (self.place, c) {
            (SequencePart::String, '\x07' | '\u{9c}') | (SequencePart::StringEscape, '\\') => {
                SequencePart::Text
            }
            (SequencePart::String, '\x1b') => SequencePart::StringEscape,
            (SequencePart::String, _) => SequencePart::String,
            (SequencePart::Escape | SequencePart::StringEscape, '[') => SequencePart::Sequence,
            (SequencePart::Escape | SequencePart::StringEscape, ']' | 'P' | 'X' | '^' | '_') => {
                SequencePart::String
            }
            (SequencePart::Escape, ' '..='/') => SequencePart::Escape,
            (SequencePart::Escape | SequencePart::StringEscape, '0'..='~') => SequencePart::Text,
            (SequencePart::Sequence, ' '..='?') => SequencePart::Sequence,
            (SequencePart::Sequence, '@'..='~') => SequencePart::Text,
            (place, _) => {
                if place == SequencePart::Return && c != '\r' {
                    text.push(self.alone);
                }
                match c {
                    '\x1b' => SequencePart::Escape,
                    '\u{9b}' => SequencePart::Sequence,
                    '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => SequencePart::String,
                    '\r' => SequencePart::Return,
                    c => {
                        if c == '\t' || !(c.is_control() || is_bidirectional_control(c)) {
                            text.push(c);
                        }
                        SequencePart::Text
                    }
                }
            }
        };
    }
}

/// Returns true if these bytes may be the beginning of a character whose remaining bytes follow.
fn may_go_on(bytes: &[u8]) -> bool {
    matches!(std::str::from_utf8(bytes), Err(error) if error.error_len().is_none())
}

/// Returns true if a character changes the order in which other characters are displayed.
fn is_bidirectional_control(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns true if a character is invisible or begins a line: the categories Cf, Zl and Zp of Unicode.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{600}'..='\u{605}'
            | '\u{61c}'
            | '\u{6dd}'
            | '\u{70f}'
            | '\u{890}'..='\u{891}'
            | '\u{8e2}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{2064}'
            | '\u{2066}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{110bd}'
            | '\u{110cd}'
            | '\u{13430}'..='\u{1343f}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0001}'
            | '\u{e0020}'..='\u{e007f}'
    )
}

/// Returns a message of Ligament, made safe for a terminal. Names and paths in it may come from anywhere, so
/// control characters and invisible characters are shown as `\\u001b`. Newlines and tabs stay.
pub fn escaped(text: &str) -> Cow<'_, str> {
    let obeyed = |c: char| (c.is_control() && !matches!(c, '\n' | '\t')) || is_invisible(c);
    if !text.contains(obeyed) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if obeyed(c) {
            shown.push_str(&format!("\\u{:04x}", u32::from(c)))
        } else {
            shown.push(c)
        }
    }
    Cow::Owned(shown)
}

/// Returns the text without control sequences. Its line breaks stay.
pub fn clean(text: &str) -> String {
    TextCleaner::default().clean(text.as_bytes())
}

/// Returns the last lines of a program's output, cleaned for a terminal: at most `count` lines, none longer
/// than `MAX_LINE_CHARS`. If a line was rewritten many times, such as a progress bar, its last state is
/// returned.
pub fn last_lines(printed: &[u8], count: usize) -> Vec<String> {
    let mut cleaner = TextCleaner { alone: '\r', ..TextCleaner::default() };
    let mut text = cleaner.clean(printed);
    if !cleaner.torn.is_empty() {
        text.push(char::REPLACEMENT_CHARACTER);
    }
    let lines: Vec<&str> = text.lines().collect();
    let last = &lines[lines.len().saturating_sub(count)..];
    last.iter().map(|line| shortened(line.rsplit('\r').find(|part| !part.is_empty()).unwrap_or(""))).collect()
}

fn shortened(line: &str) -> String {
    match line.char_indices().nth(MAX_LINE_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_shown_as_its_number() {
        assert_eq!(
            escaped("a\x1b[2Jb\u{202e}c\r\u{9b}\x7f\n\td"),
            "a\\u001b[2Jb\\u202ec\\u000d\\u009b\\u007f\n\td"
        );
        assert_eq!(
            escaped("a\u{200b}b\u{2028}c\u{2029}\u{ad}\u{feff}\u{e0041}d\u{2067}"),
            "a\\u200bb\\u2028c\\u2029\\u00ad\\ufeff\\ue0041d\\u2067"
        );
        assert!(matches!(escaped("µ-CT → ä\u{a0}…\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn no_control_sequence_is_left_and_no_letter_is_lost() {
        let cases = [
            ("plain, with a tab\tand é", "plain, with a tab\tand é"),
            ("\x1b[1;31mred\x1b[0m and \x1b[38;5;7mgrey\x1b[K", "red and grey"),
            ("\x1b]0;a title\x07after\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "afterlink"),
            ("\x1bP1$r\x1b\\a\x1b(Bb\x1b7c\u{9b}2Jd\u{90}x\u{9c}e", "abcde"),
            ("bell\x07, back\x08, nul\0, del\x7f, c1\u{85}", "bell, back, nul, del, c1"),
            ("a title that is \x1b]0;not ended\nand the next line", "a title that is \nand the next line"),
            ("one\r\ntwo\rthree", "one\ntwo\nthree"),
            ("\u{202e}turned\u{202c}", "turned"),
        ];
        for (text, wanted) in cases {
            assert_eq!(clean(text), wanted);
            // The result does not depend on the pieces in which the text arrives.
            let mut cleaner = TextCleaner::default();
            let pieces: String = text.as_bytes().chunks(1).map(|piece| cleaner.clean(piece)).collect();
            assert_eq!(pieces, wanted);
        }
        assert_eq!(
            TextCleaner::default().clean(b"bad \xff, \xc3( and \xe2\x82"),
            "bad \u{fffd}, \u{fffd}( and "
        );
    }

    #[test]
    fn the_last_lines_are_cut_and_of_a_progress_bar_the_last_state_stays() {
        let long = "x".repeat(10_000);
        let printed = format!("first\n 10 %\r 50 %\r100 %\r\n{long}\n\x1b[31mend\x1b[0m");
        let lines = last_lines(printed.as_bytes(), 3);
        assert_eq!(lines, ["100 %".to_owned(), format!("{}…", "x".repeat(MAX_LINE_CHARS)), "end".to_owned()]);
        assert_eq!(last_lines(b"cut \xe2\x82", 1), ["cut \u{fffd}"]);
        assert!(last_lines(b"", 3).is_empty());
    }
}
