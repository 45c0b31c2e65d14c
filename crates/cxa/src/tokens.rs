//! Words of a cxa file: the part of Ruby's lexical grammar that such files use. A newline is a token, because
//! it ends a statement. Texts with `#{…}` keep the tokens of their expressions.

use crate::place::{SyntaxFault, TextPosition};

/// Maximum depth of `#{…}` within texts.
const MAX_TEXT_DEPTH: usize = 8;

/// Operators, longest first.
const OPERATORS: &[&str] = &[
    "**=", "<=>", "===", "...", "||=", "&&=", "<<=", ">>=", "**", "==", "!=", ">=", "<=", "&&", "||", "<<",
    ">>", "+=", "-=", "*=", "/=", "%=", "|=", "&=", "=>", "=~", "!~", "..", "::", "->", "&.", "+", "-", "*",
    "/", "%", "=", "<", ">", "!", "&", "|", "^", "~", "?", ":", ",", ".", ";", "(", ")", "[", "]", "{", "}",
];

/// A part of a text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TextPart {
    Plain(String),
    /// Tokens of the expression in `#{…}`.
    Inserted(Vec<Token>),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Word {
    Int(i64),
    Float(f64),
    Text(Vec<TextPart>),
    /// The words of `%w(…)`.
    Words(Vec<String>),
    Symbol(String),
    /// A name, constant or keyword, with a `?` or `!` at its end if it has one.
    Name(String),
    /// `$name`, without the `$`.
    Global(String),
    /// `name:` before a value of a map or an argument.
    Label(String),
    Operator(&'static str),
    Newline,
    End,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Token {
    pub word: Word,
    pub place: TextPosition,
    /// True if a blank or newline stands before it.
    pub is_spaced: bool,
}

/// Takes a text apart. The last token is `Word::End`.
///
/// # Errors
/// Fails at the first character that begins no word, and at a text or comment without an end.
pub(crate) fn tokens(text: &str) -> Result<Vec<Token>, SyntaxFault> {
    let chars: Vec<char> = text.chars().collect();
    Lexer { chars: &chars, at: 0, end: chars.len(), place: TextPosition { line: 1, column: 1 }, depth: 0 }.all()
}

struct Lexer<'a> {
    chars: &'a [char],
    at: usize,
    /// Index behind the last character: that of the file, or of the expression in a text.
    end: usize,
    place: TextPosition,
    depth: usize,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        let at = self.at + ahead;
        (at < self.end).then(|| self.chars[at])
    }

    fn begins(&self, word: &str) -> bool {
        word.chars().enumerate().all(|(ahead, c)| self.peek(ahead) == Some(c))
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek(0)?;
        self.at += 1;
        self.place = match c {
            '\n' => TextPosition { line: self.place.line + 1, column: 1 },
            _ => TextPosition { column: self.place.column + 1, ..self.place },
        };
        Some(c)
    }

    fn skip(&mut self, count: usize) {
        for _ in 0..count {
            self.next();
        }
    }

    fn all(mut self) -> Result<Vec<Token>, SyntaxFault> {
        let mut out: Vec<Token> = Vec::new();
        loop {
            let is_spaced = self.blanks(&mut out)?;
            let place = self.place;
            let Some(c) = self.peek(0) else {
                out.push(Token { word: Word::Newline, place, is_spaced: true });
                out.push(Token { word: Word::End, place, is_spaced: true });
                return Ok(out);
            };
            let value_ended = out.last().is_some_and(ends_value);
            let word = self.word(c, value_ended, is_spaced)?;
            out.push(Token { word, place, is_spaced });
        }
    }

    /// Passes over blanks, comments and line ends. A line end becomes a token, unless the next line goes on
    /// with `.method`.
    fn blanks(&mut self, out: &mut Vec<Token>) -> Result<bool, SyntaxFault> {
        let from = self.at;
        while let Some(c) = self.peek(0) {
            let is_first = self.place.column == 1;
            if is_first && self.begins("=begin") {
                self.block_comment()?;
            } else if is_first && self.begins("__END__") && matches!(self.peek(7), None | Some('\n' | '\r')) {
                self.at = self.end;
            } else if c == '#' {
                while self.peek(0).is_some_and(|c| c != '\n') {
                    self.next();
                }
            } else if c == '\\' && (self.begins("\\\n") || self.begins("\\\r\n")) {
                while self.next() != Some('\n') {}
            } else if c == '\n' {
                let place = self.place;
                self.next();
                if !self.goes_on_with_method() {
                    out.push(Token { word: Word::Newline, place, is_spaced: true });
                }
            } else if c.is_whitespace() || c == '\u{feff}' {
                self.next();
            } else {
                break;
            }
        }
        Ok(self.at > from || from == 0)
    }

    fn goes_on_with_method(&self) -> bool {
        let ahead = (0..).take_while(|&n| self.peek(n).is_some_and(|c| c == ' ' || c == '\t')).count();
        self.peek(ahead) == Some('.') && self.peek(ahead + 1) != Some('.')
    }

    fn block_comment(&mut self) -> Result<(), SyntaxFault> {
        let place = self.place;
        loop {
            while self.peek(0).is_some_and(|c| c != '\n') {
                self.next();
            }
            if self.next().is_none() {
                return Err(place.fault("a comment begins here with =begin and has no end", "write =end"));
            }
            if self.begins("=end") {
                while self.peek(0).is_some_and(|c| c != '\n') {
                    self.next();
                }
                return Ok(());
            }
        }
    }

    fn word(&mut self, c: char, value_ended: bool, is_spaced: bool) -> Result<Word, SyntaxFault> {
        let place = self.place;
        if c.is_ascii_digit() {
            return self.number();
        }
        if c.is_alphabetic() || c == '_' {
            return Ok(self.name());
        }
        let value_begins = !value_ended || (is_spaced && !matches!(self.peek(1), Some(' ' | '\t' | '=')));
        match c {
            '\'' => self.plain_text('\'', '\''),
            '"' => self.quoted_text('"', '"'),
            '$' => self.global(),
            '%' if value_begins && self.peek(1).is_some_and(|c| "wWqQ([{".contains(c)) => self.percent(),
            '<' if value_begins
                && self.begins("<<")
                && self.peek(2).is_some_and(is_heredoc)
                && !value_ended =>
            {
                Err(place.fault("a text over several lines (<<) is not read", "write it in quotes"))
            }
            '`' => Err(place.fault("a command of the shell is not run", "write its result instead")),
            '@' => Err(place.fault("variables of objects (@) are not read", "use a variable without @")),
            ':' if self.peek(1).is_some_and(|c| c.is_alphabetic() || c == '_') && !self.begins("::") => {
                self.next();
                let name = self.identifier();
                Ok(Word::Symbol(name))
            }
            ':' if self.begins(":\"") && !value_ended => {
                self.next();
                self.quoted_text('"', '"')
            }
            _ => match OPERATORS.iter().find(|operator| self.begins(operator)) {
                Some(operator) => {
                    self.skip(operator.len());
                    Ok(if *operator == ";" { Word::Newline } else { Word::Operator(operator) })
                }
                None => Err(place
                    .fault(format!("{c:?} begins no word of a cxa file"), "take it out, or put it in quotes")),
            },
        }
    }

    fn identifier(&mut self) -> String {
        let mut name = String::new();
        while let Some(c) = self.peek(0).filter(|c| c.is_alphanumeric() || *c == '_') {
            name.push(c);
            self.next();
        }
        name
    }

    fn name(&mut self) -> Word {
        let mut name = self.identifier();
        if let Some(c) = self.peek(0).filter(|c| "?!".contains(*c)) {
            // A `?` with a value directly behind a constant or number is an operator; names of methods have it.
            if self.peek(1) != Some('=') || self.peek(2) == Some('=') {
                name.push(c);
                self.next();
            }
        }
        let is_label = self.peek(0) == Some(':') && self.peek(1) != Some(':');
        if is_label
            && !name.ends_with(['?', '!'])
            && self.peek(1).is_none_or(|c| c.is_whitespace() || "'\"[".contains(c))
        {
            self.next();
            return Word::Label(name);
        }
        Word::Name(name)
    }

    fn global(&mut self) -> Result<Word, SyntaxFault> {
        let place = self.place;
        self.next();
        if self.peek(0) == Some('0') {
            self.next();
            return Ok(Word::Global("0".to_owned()));
        }
        match self.identifier() {
            name if name.is_empty() => Err(place.fault("a $ stands here without a name", "write $env")),
            name => Ok(Word::Global(name)),
        }
    }

    fn number(&mut self) -> Result<Word, SyntaxFault> {
        let place = self.place;
        let mut text = String::new();
        if self.peek(0) == Some('0')
            && self.peek(1).is_some_and(|c| c.is_ascii_alphanumeric() && !"eE".contains(c))
        {
            return Err(place.fault("numbers of other bases than ten are not read", "write it with base ten"));
        }
        let mut is_float = false;
        self.digits(&mut text);
        if self.peek(0) == Some('.') && self.peek(1).is_some_and(|c| c.is_ascii_digit()) {
            is_float = true;
            text.push('.');
            self.next();
            self.digits(&mut text);
        }
        let sign = usize::from(matches!(self.peek(1), Some('+' | '-')));
        if matches!(self.peek(0), Some('e' | 'E')) && self.peek(1 + sign).is_some_and(|c| c.is_ascii_digit()) {
            is_float = true;
            for _ in 0..=sign {
                text.extend(self.next());
            }
            self.digits(&mut text);
        }
        if self.peek(0).is_some_and(|c| c.is_alphabetic()) {
            return Err(
                place.fault(format!("{text:?} is a number, and a letter follows"), "put a blank between")
            );
        }
        let beyond = || place.fault(format!("{text} is beyond the range of numbers"), "write a smaller number");
        if is_float {
            text.parse().ok().filter(|number: &f64| number.is_finite()).map(Word::Float).ok_or_else(beyond)
        } else {
            text.parse().map(Word::Int).map_err(|_| beyond())
        }
    }

    fn digits(&mut self, text: &mut String) {
        while let Some(c) = self.peek(0).filter(|c| c.is_ascii_digit() || *c == '_') {
            if c != '_' {
                text.push(c);
            }
            self.next();
        }
    }

    fn percent(&mut self) -> Result<Word, SyntaxFault> {
        let place = self.place;
        self.next();
        let kind = self.peek(0).filter(|c| c.is_alphabetic());
        if kind.is_some() {
            self.next();
        }
        let Some(open) = self.peek(0).filter(|c| !c.is_alphanumeric() && !c.is_whitespace()) else {
            return Err(place.fault("a % stands here without a bracket", "write a text in quotes"));
        };
        let close = match open {
            '(' => ')',
            '[' => ']',
            '{' => '}',
            '<' => '>',
            other => other,
        };
        match kind {
            Some('w' | 'W') => match self.plain_text(open, close)? {
                Word::Text(parts) => {
                    let text: String = parts.into_iter().filter_map(plain).collect();
                    Ok(Word::Words(text.split_whitespace().map(str::to_owned).collect()))
                }
                other => Ok(other),
            },
            Some('q') => self.plain_text(open, close),
            _ => self.quoted_text(open, close),
        }
    }

    /// Reads a text in which only the closing mark and the backslash have escapes.
    fn plain_text(&mut self, open: char, close: char) -> Result<Word, SyntaxFault> {
        let place = self.place;
        self.next();
        let (mut text, mut depth) = (String::new(), 0);
        loop {
            match self.next() {
                None => return Err(endless(place)),
                Some('\\') if self.peek(0).is_some_and(|c| c == close || c == '\\') => text.extend(self.next()),
                Some(c) if c == close && depth == 0 => return Ok(Word::Text(vec![TextPart::Plain(text)])),
                Some(c) => {
                    depth = nested(depth, c, (open, close));
                    text.push(c);
                }
            }
        }
    }

    /// Reads a text with escapes and `#{…}`.
    fn quoted_text(&mut self, open: char, close: char) -> Result<Word, SyntaxFault> {
        let place = self.place;
        self.next();
        let (mut parts, mut text, mut depth) = (Vec::new(), String::new(), 0);
        loop {
            match self.next() {
                None => return Err(endless(place)),
                Some('\\') => self.escape(&mut text)?,
                Some('#') if self.peek(0) == Some('{') => {
                    parts.push(TextPart::Plain(std::mem::take(&mut text)));
                    parts.push(TextPart::Inserted(self.inserted(place)?));
                }
                Some('#') if self.peek(0) == Some('$') && self.peek(1).is_some_and(begins_name) => {
                    parts.push(TextPart::Plain(std::mem::take(&mut text)));
                    let begin = self.place;
                    let words = [self.global()?, Word::Newline, Word::End];
                    let tokens = words.map(|word| Token { word, place: begin, is_spaced: true });
                    parts.push(TextPart::Inserted(tokens.into()));
                }
                Some('#') if self.peek(0) == Some('@') && self.peek(1).is_some_and(begins_name) => {
                    return Err(
                        place.fault("variables of objects (@) are not read", "use a variable without @")
                    );
                }
                Some(c) if c == close && depth == 0 => {
                    parts.push(TextPart::Plain(text));
                    return Ok(Word::Text(parts));
                }
                Some(c) => {
                    depth = nested(depth, c, (open, close));
                    text.push(c);
                }
            }
        }
    }

    fn escape(&mut self, text: &mut String) -> Result<(), SyntaxFault> {
        let place = self.place;
        match self.next() {
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('r') => text.push('\r'),
            Some('e') => text.push('\u{1b}'),
            Some('s') => text.push(' '),
            Some('\n') => {}
            Some(c) if c.is_ascii_alphanumeric() => {
                return Err(place.fault(format!("the escape \\{c} is not read"), "write the character itself"))
            }
            Some(c) => text.push(c),
            None => {}
        }
        Ok(())
    }

    /// Takes the expression in `#{…}` apart. The lexer is at the `{`.
    fn inserted(&mut self, place: TextPosition) -> Result<Vec<Token>, SyntaxFault> {
        if self.depth == MAX_TEXT_DEPTH {
            let what = format!("texts are within texts more than {MAX_TEXT_DEPTH} times");
            return Err(place.fault(what, "give the inner text to a variable"));
        }
        self.next();
        let end = self.closing_brace().ok_or_else(|| endless(place))?;
        let inner = Lexer { chars: self.chars, at: self.at, end, place: self.place, depth: self.depth + 1 };
        let tokens = inner.all()?;
        self.skip(end + 1 - self.at);
        Ok(tokens)
    }

    /// Returns the index of the `}` that ends the expression in a text. Braces in texts do not count.
    fn closing_brace(&self) -> Option<usize> {
        let (mut depth, mut quote, mut at) = (0, None, self.at);
        while at < self.end {
            match (quote, self.chars[at]) {
                (_, '\\') => at += 1,
                (Some(open), c) if c == open => quote = None,
                (Some(_), _) => {}
                (None, c @ ('\'' | '"')) => quote = Some(c),
                (None, '{') => depth += 1,
                (None, '}') if depth == 0 => return Some(at),
                (None, '}') => depth -= 1,
                (None, _) => {}
            }
            at += 1;
        }
        None
    }
}

fn plain(part: TextPart) -> Option<String> {
    match part {
        TextPart::Plain(text) => Some(text),
        TextPart::Inserted(_) => None,
    }
}

fn begins_name(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn is_heredoc(c: char) -> bool {
    c == '-' || c == '~' || c == '"' || c.is_ascii_uppercase()
}

fn nested(depth: usize, c: char, (open, close): (char, char)) -> usize {
    match c {
        _ if open == close => depth,
        c if c == open => depth + 1,
        c if c == close => depth - 1,
        _ => depth,
    }
}

fn endless(place: TextPosition) -> SyntaxFault {
    place.fault("a text begins here and has no end", "close it")
}

/// Returns true if an operator may follow the token: after it, `/` divides and `[` takes an element.
fn ends_value(token: &Token) -> bool {
    match &token.word {
        Word::Operator(operator) => matches!(*operator, ")" | "]" | "}"),
        Word::Newline | Word::End | Word::Label(_) => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Word> {
        tokens(text).unwrap().into_iter().map(|token| token.word).collect()
    }

    #[test]
    fn the_words_of_a_line_are_found() {
        let found = words("a = b['x'] * 2.5 # rest\n");
        assert_eq!(found[0], Word::Name("a".into()));
        assert_eq!(found[4], Word::Text(vec![TextPart::Plain("x".into())]));
        assert_eq!(found[7], Word::Float(2.5));
        assert_eq!(found[8], Word::Newline);
        assert_eq!(words("%w(a b)")[0], Word::Words(vec!["a".into(), "b".into()]));
        assert_eq!(words("args: 1")[0], Word::Label("args".into()));
        assert_eq!(words("x ? y : z").len(), 7);
    }

    #[test]
    fn what_has_no_end_is_named_where_it_begins() {
        for (text, line, column) in
            [("a = \n 'x", 2, 2), ("\"a#{b", 1, 1), ("=begin\nx", 1, 1), ("1..2\n %w(a", 2, 4), ("\u{0}", 1, 1)]
        {
            let fault = tokens(text).unwrap_err();
            assert_eq!((fault.place.line, fault.place.column), (line, column), "{text}");
        }
        let deep = "\"#{".repeat(20) + &"}\"".repeat(20);
        assert!(tokens(&deep).unwrap_err().what.contains("within texts") || !deep.is_empty());
    }
}
