//! Splits a single text under `args` into words, as a shell does, with quotes, escapes and variables: many
//! existing files have such a text. A variable becomes `${NAME}`, which is replaced when the program is
//! started.

use std::fmt;

/// The reason why a text cannot be split into words: it uses a feature of the shell, which only a script can
/// use.
#[derive(Debug)]
pub(super) enum NoWords {
    Dollar,
    Command(&'static str),
    Backslash,
    Sign(char),
    OpenQuote(char),
}

impl fmt::Display for NoWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoWords::Dollar => f.write_str("it has a \"$\" that stands for itself right before a variable"),
            NoWords::Command(how) => write!(f, "it runs a command, \"{how}\""),
            NoWords::Backslash => f.write_str("it ends with a backslash"),
            NoWords::Sign(sign) => write!(f, "it has a \"{sign}\" without quotes"),
            NoWords::OpenQuote(quote) => write!(f, "a quote {quote} is not closed"),
        }
    }
}

/// Returns the words of a text.
pub(super) fn words(text: &str) -> Result<Vec<String>, NoWords> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut letters = text.chars().peekable();
    // True if the letter before was a `$` that is plain text.
    let mut literal = false;
    while let Some(letter) = letters.next() {
        let after_literal = std::mem::take(&mut literal);
        match (quote, letter) {
            (Some(open), close) if open == close => (quote, literal) = (None, after_literal),
            (Some('\''), any) => literal = put(&mut word, any),
            (_, '$') => {
                let name = word.get_or_insert_default();
                let variable = |first: &char| first.is_ascii_alphabetic() || matches!(first, '_' | '{');
                match letters.peek() {
                    Some(first) if after_literal && variable(first) => return Err(NoWords::Dollar),
                    Some('{') => {
                        letters.next();
                        name.push_str("${");
                    }
                    Some('(') => return Err(NoWords::Command("$(")),
                    // "$$" is a plain "$", as in a list.
                    Some('$') if !after_literal => {
                        letters.next();
                        match letters.peek() {
                            Some('{') => {
                                letters.next();
                                name.push_str("$${");
                            }
                            Some(first) if variable(first) => name.push('$'),
                            _ => {
                                name.push_str("$$");
                                literal = true;
                            }
                        }
                    }
                    Some(first) if variable(first) => {
                        name.push_str("${");
                        while let Some(more) = letters.next_if(|one| one.is_ascii_alphanumeric() || *one == '_')
                        {
                            name.push(more);
                        }
                        name.push('}');
                    }
                    _ => name.push('$'),
                }
            }
            (_, '`') => return Err(NoWords::Command("`")),
            (Some(_), '\\') => match letters.next_if(|one| "\"\\`$".contains(*one)) {
                Some(escaped) => literal = put(&mut word, escaped),
                None => literal = put(&mut word, '\\'),
            },
            (Some(_), any) => literal = put(&mut word, any),
            (None, '\'' | '"') => {
                word.get_or_insert_default();
                (quote, literal) = (Some(letter), after_literal);
            }
            (None, '\\') => match letters.next() {
                Some(escaped) => literal = put(&mut word, escaped),
                None => return Err(NoWords::Backslash),
            },
            (None, ';' | '|' | '&' | '<' | '>') => return Err(NoWords::Sign(letter)),
            (None, space) if space.is_whitespace() => words.extend(word.take()),
            (None, any) => literal = put(&mut word, any),
        }
    }
    match quote {
        Some(quote) => Err(NoWords::OpenQuote(quote)),
        None => {
            words.extend(word);
            Ok(words)
        }
    }
}

/// Appends a letter of plain text to a word. Returns true if the letter is a `$`.
fn put(word: &mut Option<String>, letter: char) -> bool {
    let word = word.get_or_insert_default();
    // Before a name or a brace, a plain `$` is written as `$$`.
    if (letter.is_ascii_alphabetic() || matches!(letter, '_' | '{')) && word.ends_with('$') {
        word.push('$');
    }
    word.push(letter);
    letter == '$'
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn a_text_is_made_of_words_as_a_shell_makes_them() {
        let all = |text: &str| words(text).unwrap();
        assert_eq!(all("  micro.py -n 3\t--fast "), ["micro.py", "-n", "3", "--fast"]);
        assert_eq!(
            all(r#"'two words' "and \"two\"" a\ b '' x"y"z"#),
            ["two words", "and \"two\"", "a b", "", "xyz"]
        );
        assert_eq!(
            all(r#"$HOME/data ${HOME}x "$A_1 b" '$C' 5$"#),
            ["${HOME}/data", "${HOME}x", "${A_1} b", "$$C", "5$"]
        );
        assert_eq!(
            all(r#""\$HOME" \$HOME '${A}' "\${A}" '$'{A} $${A}"#),
            ["$$HOME", "$$HOME", "$${A}", "$${A}", "$${A}", "$${A}"]
        );
        assert_eq!(all(r#"$$HOME "$$A b" $$ $$5 a$$"#), ["$$HOME", "$$A b", "$$", "$$5", "a$$"]);
        assert_eq!(all(""), [""; 0]);
    }

    #[test]
    fn what_only_a_script_can_do_is_refused() {
        for text in [
            "a; b", "a | b", "a > b", "$(date)", "`date`", "'open", "\"open", "end\\", "\\$${A}", "'$'$A",
            "$$$A",
        ] {
            assert!(words(text).is_err(), "{text}");
        }
    }
}
