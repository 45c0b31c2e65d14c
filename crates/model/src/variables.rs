//! Variables in the texts that name a program: `$NAME` and `${NAME}`, as in a shell. `$$` before a name or
//! a brace is the letter `$`, and so is any other `$`.

/// A part of a text with variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextPiece<'t> {
    /// Plain text.
    Text(&'t str),
    /// The name of a variable.
    Variable(&'t str),
}

/// Splits a text into its parts.
pub fn pieces(text: &str) -> Vec<TextPiece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let behind = &rest[at + 1..];
        let (length, variable) = match behind.strip_prefix('$') {
            // The second "$" and the letter behind it are text.
            Some(more) if more.starts_with(begins) => {
                pieces.extend([TextPiece::Text(&rest[..at]), TextPiece::Text(&behind[..2])]);
                rest = &behind[2..];
                continue;
            }
            _ => variable(behind),
        };
        let kept = if variable.is_some() { at } else { at + 1 };
        pieces.push(TextPiece::Text(&rest[..kept]));
        pieces.extend(variable.map(TextPiece::Variable));
        rest = &rest[at + 1 + length..];
    }
    pieces.push(TextPiece::Text(rest));
    pieces.retain(|piece| *piece != TextPiece::Text(""));
    pieces
}

/// Returns the names of the variables in a text.
pub fn variables(text: &str) -> Vec<&str> {
    let name = |piece| match piece {
        TextPiece::Variable(name) => Some(name),
        TextPiece::Text(_) => None,
    };
    pieces(text).into_iter().filter_map(name).collect()
}

/// Escapes a text, so that no part of it is taken for a variable.
pub fn without_variables(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if begins(letter) && out.ends_with('$') {
            out.push('$');
        }
        out.push(letter);
    }
    out
}

/// Returns true if a variable may begin with this letter after its `$`.
fn begins(letter: char) -> bool {
    letter == '{' || is_initial(letter)
}

/// Returns true if a shell takes a text for the name of a variable. A shell may take any other text for a
/// command.
pub fn is_variable_name(name: &str) -> bool {
    name.starts_with(is_initial) && name.chars().all(|letter| is_initial(letter) || letter.is_ascii_digit())
}

fn is_initial(letter: char) -> bool {
    letter.is_ascii_alphabetic() || letter == '_'
}

/// Returns the length and the name of the variable with which a text begins, after its `$`. The name is
/// `None` if there is no variable.
fn variable(text: &str) -> (usize, Option<&str>) {
    if let Some(braced) = text.strip_prefix('{') {
        return match braced.split_once('}') {
            Some((name, _)) if is_variable_name(name) => (name.len() + 2, Some(name)),
            _ => (0, None),
        };
    }
    let end = text.find(|letter| !is_initial(letter) && !char::is_ascii_digit(&letter)).unwrap_or(text.len());
    match &text[..end] {
        name if is_variable_name(name) => (end, Some(name)),
        _ => (0, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> String {
        let one = |piece| match piece {
            TextPiece::Text(text) => text.to_owned(),
            TextPiece::Variable(name) => format!("<{name}>"),
        };
        pieces(text).into_iter().map(one).collect()
    }

    #[test]
    fn a_name_with_and_without_braces_is_a_variable_and_any_other_dollar_is_one() {
        for (text, wanted) in [
            ("$ROOT/bin/x", "<ROOT>/bin/x"),
            ("${ROOT}x$A_1-$B", "<ROOT>x<A_1>-<B>"),
            ("$5 a$ $", "$5 a$ $"),
            ("$$ROOT $${ROOT} $$5 $$", "$ROOT ${ROOT} $$5 $$"),
            ("$$$ROOT", "$$ROOT"),
            ("${ROOT ${A:-b} ${}", "${ROOT ${A:-b} ${}"),
            ("é$É$E", "é$É<E>"),
            ("", ""),
        ] {
            assert_eq!(filled(text), wanted, "{text}");
        }
        assert_eq!(variables("$A/${B}/$$C"), ["A", "B"]);
    }

    #[test]
    fn a_text_can_be_kept_as_it_is() {
        for text in ["$A", "$$A", "$${A}", "${A}", "a$", "$5", "plain", "$$$_"] {
            assert_eq!(filled(&without_variables(text)), text);
        }
    }
}
