//! Tables of text, as spreadsheets, programs and people write them: rows of cells, and the numbers in them.
//! Cells follow RFC 4180 and are split by the parser of the crate `csv`. If blanks separate the cells, quotes
//! work in the same way. Sources, the mapper `mesh` and the points of studies read their tables with this
//! module, and all writers of tables quote their cells with it.

use crate::files::Lines;
use csv_core::ReadRecordResult;
use ligament_catalogue::{fault, Fault};
use std::borrow::Cow;

/// The character between two cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Separator {
    Character(u8),
    /// One or more blanks.
    Blanks,
}

impl Separator {
    /// Commas, as in RFC 4180.
    pub const COMMA: Separator = Separator::Character(b',');

    /// Returns the separator that a setting names: a character, `tab` or `space`.
    ///
    /// # Errors
    /// The text names no separator.
    pub fn named(text: &str) -> Result<Separator, Fault> {
        match *text.as_bytes() {
            _ if text == "tab" => Ok(Separator::Character(b'\t')),
            _ if text == "space" => Ok(Separator::Blanks),
            [b' '] => Ok(Separator::Blanks),
            [one] if one == b'\t' || (one.is_ascii_punctuation() && !b"\"#.+-".contains(&one)) => {
                Ok(Separator::Character(one))
            }
            _ => Err(fault!(
                SHIPPED_SETTING_WRONG,
                "the separator \"{text}\" cannot stand between cells; give one character such as , or ; or |, \
                 or \"tab\" or \"space\""
            )),
        }
    }

    /// Finds the separator of a table from its first row: a semicolon, a tab or a comma if the row has one,
    /// else blanks.
    pub fn seen_in(row: &str) -> Separator {
        let found = b";\t,".iter().find(|&&one| row.as_bytes().contains(&one));
        found.map_or(Separator::Blanks, |&one| Separator::Character(one))
    }

    fn character(self) -> char {
        match self {
            Separator::Character(one) => char::from(one),
            Separator::Blanks => ' ',
        }
    }
}

/// The rows of a table. Empty lines, and lines that begin with `#`, are left out.
pub struct TableRows {
    lines: Lines,
    separator: Option<Separator>,
    parser: Option<csv_core::Reader>,
    /// Number of the line in which the last row begins.
    line: u64,
    row: Vec<u8>,
    cells: Vec<u8>,
    ends: Vec<usize>,
}

impl TableRows {
    /// Opens a file to read its rows. If no separator is given, the first row determines it.
    pub(crate) fn open(name: &str, separator: Option<Separator>) -> Result<TableRows, Fault> {
        Ok(TableRows::of(Lines::open(name)?, separator))
    }

    /// Makes the rows of a text that came from the file `name`.
    pub fn of_text(text: String, name: &str, separator: Separator) -> TableRows {
        TableRows::of(Lines::of_text(text, name), Some(separator))
    }

    fn of(lines: Lines, separator: Option<Separator>) -> TableRows {
        let (row, cells, ends) = (Vec::new(), Vec::new(), Vec::new());
        TableRows { lines, separator, parser: None, line: 0, row, cells, ends }
    }

    /// Returns the cells of the next row, or `None` at the end. Blanks around a cell are removed, except
    /// those in quotes.
    ///
    /// # Errors
    /// The row cannot be read, or a quote in it has no end.
    #[allow(clippy::should_implement_trait)] // not an iterator: no row follows an error
    pub fn next(&mut self) -> Result<Option<Vec<String>>, Fault> {
        loop {
            let Some(line) = self.lines.next()? else { return Ok(None) };
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let separator = *self.separator.get_or_insert_with(|| Separator::seen_in(line));
            let cells = match separator {
                Separator::Blanks => words(line, char::is_whitespace),
                Separator::Character(character) => {
                    self.row.clear();
                    let mut quotes = Quotes::Start;
                    quotes.pass(line, character, &mut self.row);
                    self.line = self.lines.number;
                    self.rest_of_row(quotes, character)?
                }
            };
            self.line = if separator == Separator::Blanks { self.lines.number } else { self.line };
            let cells = cells.ok_or_else(|| {
                self.malformed(
                    "a quote in this row does not end, or has something behind it other than a separator",
                )
            })?;
            if self.lines.is_cut {
                let place = self.place();
                return Err(fault!(
                    SOURCE_ENDS_EARLY,
                    "{place}: the file ends within this row, which has no line break, so a part of it may be \
                     lacking; if nothing is, end the file with a line break"
                ));
            }
            return Ok(Some(cells));
        }
    }

    /// Reads the cells of a row. While a quote is open, the row continues in the next line.
    fn rest_of_row(&mut self, mut quotes: Quotes, character: u8) -> Result<Option<Vec<String>>, Fault> {
        while quotes == Quotes::Open {
            self.row.push(b'\n');
            match self.lines.next()? {
                Some(line) => quotes.pass(line, character, &mut self.row),
                None => return Ok(None),
            }
        }
        Ok((quotes != Quotes::Wrong).then(|| self.split(character)))
    }

    fn split(&mut self, character: u8) -> Vec<String> {
        let parser =
            self.parser.get_or_insert_with(|| csv_core::ReaderBuilder::new().delimiter(character).build());
        self.row.push(b'\n');
        // The cells together are not longer than their row, and their number is not greater than its length.
        self.cells.resize(self.row.len() + 1, 0);
        self.ends.resize(self.row.len() + 1, 0);
        let (result, .., count) = parser.read_record(&self.row, &mut self.cells, &mut self.ends);
        debug_assert_eq!(result, ReadRecordResult::Record);
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        let cells = begins.zip(&self.ends[..count]).map(|(from, &to)| &self.cells[from..to]);
        cells.map(|cell| String::from_utf8_lossy(cell).into_owned()).collect()
    }

    /// Returns the file and the line of the last row.
    pub fn place(&self) -> String {
        format!("{}:{}", self.lines.name, self.line)
    }

    /// Makes the error that the last row is not as it should be.
    pub fn malformed(&self, why: &str) -> Fault {
        fault!(MALFORMED_SOURCE, "{}: {why}", self.place())
    }
}

/// The position in a row with respect to quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quotes {
    /// At the beginning of a cell.
    Start,
    /// In a cell without quotes.
    None,
    Open,
    /// After a quote, which either ends the cell or is the first of two quotes.
    Behind,
    Wrong,
}

impl Quotes {
    /// Reads a line, and appends it to `row` without the blanks around each cell. Blanks in quotes belong to
    /// the cell (RFC 4180).
    fn pass(&mut self, line: &str, separator: u8, row: &mut Vec<u8>) {
        let mut begin = row.len();
        for &byte in line.as_bytes() {
            *self = match (*self, byte) {
                (Quotes::Wrong, _) => return,
                (Quotes::Open, b'"') => Quotes::Behind,
                (Quotes::Open, _) => Quotes::Open,
                (Quotes::Behind, b'"') => Quotes::Open,
                (state, byte) if byte == separator => {
                    if state != Quotes::Behind {
                        trim_from(row, begin);
                    }
                    Quotes::Start
                }
                (Quotes::Start, b'"') => {
                    row.truncate(begin);
                    Quotes::Open
                }
                (Quotes::Start, b' ' | b'\t') => Quotes::Start,
                (Quotes::Behind, b' ' | b'\t') => continue,
                (Quotes::Behind, _) => Quotes::Wrong,
                _ => Quotes::None,
            };
            row.push(byte);
            if byte == separator && *self == Quotes::Start {
                begin = row.len();
            }
        }
        if matches!(self, Quotes::Start | Quotes::None) {
            trim_from(row, begin);
        }
    }
}

/// Removes the blanks around the text that begins at `begin`.
fn trim_from(row: &mut Vec<u8>, begin: usize) {
    let Ok(cell) = std::str::from_utf8(&row[begin..]) else { return };
    // A quote after other white space must not become the first character, because it would then open a
    // quoted cell.
    let is_quote = cell.trim_start().starts_with('"');
    let is_blank = |c: char| c.is_whitespace() && !is_quote;
    let head = cell.len() - cell.trim_start_matches(is_blank).len();
    let end = begin + cell.trim_end().len().max(head);
    row.truncate(end);
    row.drain(begin..begin + head);
}

/// Returns the words between separators. Several separators in a row count as one. A word in quotes may
/// contain separators, and two quotes for one quote. `None` if a quote is not closed, or is not followed by a
/// separator.
pub(crate) fn words(text: &str, is_separator: impl Fn(char) -> bool) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut rest = text.trim_start_matches(&is_separator);
    while !rest.is_empty() {
        if let Some(mut inner) = rest.strip_prefix('"') {
            let mut word = String::new();
            loop {
                let (before, behind) = inner.split_once('"')?;
                word += before;
                match behind.strip_prefix('"') {
                    Some(more) => {
                        word.push('"');
                        inner = more;
                    }
                    None => {
                        rest = behind;
                        break;
                    }
                }
            }
            if !rest.is_empty() && !rest.starts_with(&is_separator) {
                return None;
            }
            words.push(word);
        } else {
            let end = rest.find(&is_separator).unwrap_or(rest.len());
            words.push(rest[..end].to_owned());
            rest = &rest[end..];
        }
        rest = rest.trim_start_matches(&is_separator);
    }
    Some(words)
}

/// Returns a cell as it is written. It is in quotes if a reader would otherwise read another cell (RFC 4180,
/// section 2).
fn quoted(cell: &str, separator: Separator) -> Cow<'_, str> {
    let special = |c: char| c.is_whitespace() || matches!(c, '"' | '#') || c == separator.character();
    let is_plain =
        !cell.is_empty() && !cell.contains(|c: char| special(c) && c != ' ' || c == separator.character());
    if is_plain && cell.trim() == cell {
        Cow::Borrowed(cell)
    } else {
        Cow::Owned(format!("\"{}\"", cell.replace('"', "\"\"")))
    }
}

/// Returns a row as it is written, without the end of its line.
pub fn row<T: AsRef<str>>(cells: impl IntoIterator<Item = T>, separator: Separator) -> String {
    let mut row = String::new();
    let mut cells = cells.into_iter().peekable();
    let is_visible = !separator.character().is_whitespace();
    let mut is_first = true;
    while let Some(cell) = cells.next() {
        if !is_first {
            row.push(separator.character());
        }
        // An empty cell needs quotes only if the line would otherwise be blank: readers skip blank lines.
        let is_alone = is_first && cells.peek().is_none();
        if is_alone || !is_visible || !cell.as_ref().is_empty() {
            row += &quoted(cell.as_ref(), separator);
        }
        is_first = false;
    }
    row
}

/// Returns a number as it is written to a table: with as few digits as possible that are read as the same
/// number.
pub fn written(number: f64) -> String {
    format!("{number:?}")
}

/// The mark between the whole part of a number and its fraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decimal {
    Point,
    Comma,
}

/// Returns the number in a cell. The exponent may have one of Fortran's forms: `1.5D+02`, or `1.5+102`, which
/// has no room for the letter.
pub fn number(cell: &str, decimal: Decimal) -> Option<f64> {
    let cell = cell.trim();
    let text = match decimal {
        Decimal::Point => Cow::Borrowed(cell),
        Decimal::Comma if cell.contains('.') => return None,
        Decimal::Comma => Cow::Owned(cell.replacen(',', ".", 1)),
    };
    text.parse().ok().or_else(|| of_fortran(&text))
}

/// Returns true if a double holds the number in a text without loss. A whole number must have the same
/// digits, as many as the text has. Any other number counts as held, because it is rounded anyway.
pub fn holds(number: f64, text: &str) -> bool {
    let Some((digits, exponent)) = significant(text) else { return true };
    if digits.is_empty() || exponent < 0 {
        return true;
    }
    // A number with more digits would not be finite.
    if !number.is_finite() || digits.len() > 400 {
        return false;
    }
    let written = format!("{:.*e}", digits.len() - 1, number.abs());
    written.bytes().take_while(|&byte| byte != b'e').filter(u8::is_ascii_digit).eq(digits.bytes())
}

/// Returns the digits of a number without zeros at either end, and the power of ten of the last digit.
fn significant(text: &str) -> Option<(String, i64)> {
    let text = text.trim_start_matches(['+', '-']);
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').unwrap_or(text.len());
    let (mantissa, exponent) = text.split_at(end);
    let exponent = match exponent.trim_start_matches(['e', 'E', 'd', 'D']) {
        "" => 0,
        exponent => exponent.parse::<i64>().ok()?,
    };
    let (whole, fraction) = mantissa.split_once(['.', ',']).unwrap_or((mantissa, ""));
    let all = [whole, fraction].concat();
    let digits = all.trim_end_matches('0');
    let exponent = exponent.checked_add((all.len() - digits.len()) as i64 - fraction.len() as i64)?;
    Some((digits.trim_start_matches('0').to_owned(), exponent))
}

/// Returns true if the number in a text that has digits is beyond a `float64`.
pub fn is_out_of_range(number: f64, text: &str) -> bool {
    number.is_infinite() && text.bytes().any(|byte| byte.is_ascii_digit())
}

fn of_fortran(text: &str) -> Option<f64> {
    let is_mantissa = |text: &str| {
        let digits = text.trim_start_matches(['+', '-']);
        digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') && digits.parse::<f64>().is_ok()
    };
    let (mantissa, exponent) = match text.split_once(['D', 'd']) {
        Some(parts) => parts,
        // Fortran leaves out the letter only before an exponent of three digits. So `2020-01` is not a
        // number.
        None => match text.split_at_checked(text.len().checked_sub(4)?)? {
            (mantissa, exponent) if mantissa.contains('.') && exponent.starts_with(['+', '-']) => {
                (mantissa, exponent)
            }
            _ => return None,
        },
    };
    let is_whole =
        exponent.strip_prefix(['+', '-']).unwrap_or(exponent).bytes().all(|byte| byte.is_ascii_digit());
    if !is_mantissa(mantissa) || mantissa.contains(['e', 'E']) || !is_whole {
        return None;
    }
    format!("{mantissa}e{exponent}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str, separator: Separator) -> Result<Vec<Vec<String>>, String> {
        let mut rows = TableRows::of_text(text.to_owned(), "t.csv", separator);
        let mut all = Vec::new();
        while let Some(row) = rows.next().map_err(|fault| fault.with_code())? {
            all.push(row);
        }
        Ok(all)
    }

    #[test]
    fn cells_may_have_separators_quotes_and_lines() {
        let text = "\u{feff}time,\"T, K\", \"der(x,1)\" ,\" \"\"a\"\"\n b\"\r\n\r\n# 1,2\n0,1,,\n";
        let found = rows(text, Separator::COMMA).unwrap();
        assert_eq!(found, [["time", "T, K", "der(x,1)", " \"a\"\n b"], ["0", "1", "", ""]]);
        let blanks = rows("t  \"T, K\"\n 1 \t 2 \n", Separator::Blanks).unwrap();
        assert_eq!(blanks, [["t", "T, K"], ["1", "2"]]);
        assert_eq!(rows("a;1,5\n", Separator::Character(b';')).unwrap(), [["a", "1,5"]]);
        // A quote within a cell, such as the sign for inches, does not begin a quoted cell.
        assert_eq!(rows("5\" pipe,1\n", Separator::COMMA).unwrap(), [["5\" pipe", "1"]]);
    }

    #[test]
    fn blanks_belong_to_a_cell_in_quotes_only() {
        let found = rows(" \" a \" , b\u{a0},  ,\t\"\"\" \"\n", Separator::COMMA).unwrap();
        assert_eq!(found, [[" a ", "b", "", "\" "]]);
        assert_eq!(rows("\u{a0}\"a,b\n", Separator::COMMA).unwrap(), [["\u{a0}\"a", "b"]]);
        assert_eq!(rows("a , b \r\n", Separator::COMMA).unwrap(), [["a", "b"]]);
        assert_eq!(number(" 1.5 ", Decimal::Point), Some(1.5));
    }

    #[test]
    fn a_row_that_is_wrong_or_has_no_end_is_named_by_its_first_line() {
        let wrong = |text: &str| rows(text, Separator::COMMA).unwrap_err();
        assert!(wrong("a,b\n1,\"2\n3\n").starts_with("t.csv:2: a quote"), "{}", wrong("a,b\n1,\"2\n3\n"));
        assert!(wrong("a\n\"1\"5,2\n").starts_with("t.csv:2: a quote"));
        assert!(rows("1 \"2\n", Separator::Blanks).unwrap_err().starts_with("t.csv:1: a quote"));
        let cut = wrong("a,b\n1,2.5");
        assert!(
            cut.starts_with("t.csv:2: the file ends within this row") && cut.contains("source-ends-early"),
            "{cut}"
        );
    }

    #[test]
    fn what_is_written_is_read() {
        let cells =
            ["der(x,1)", "T; K", "a \"b\"", "", "two\nlines", "#1", "tab\there", "ä", "plain", " a ", ""];
        for separator in [Separator::COMMA, Separator::Character(b';'), Separator::Character(b'\t')] {
            let text = row(cells, separator) + "\n";
            assert_eq!(rows(&text, separator).unwrap(), [cells], "{text}");
        }
        let cells = ["der(x,1)", "T; K", "a \"b\"", "", "#1", "plain"];
        assert_eq!(rows(&(row(cells, Separator::Blanks) + "\n"), Separator::Blanks).unwrap(), [cells]);
        assert_eq!(row(["time", "T"], Separator::COMMA), "time,T");
        assert_eq!(row(["", "0", "", "1", ""], Separator::COMMA), ",0,,1,");
        assert_eq!([row([""], Separator::COMMA), row(["", ""], Separator::Blanks)], ["\"\"", "\"\" \"\""]);
    }

    #[test]
    fn numbers_are_read_as_people_and_programs_write_them() {
        let point = |text: &str| number(text, Decimal::Point);
        for (text, value) in [
            ("1.5D+02", 150.0),
            ("1d3", 1e3),
            ("-.5D-1", -0.05),
            ("1.25-101", 1.25e-101),
            ("+7", 7.0),
            ("1.5E+02", 150.0),
            ("-inf", f64::NEG_INFINITY),
            ("5.", 5.0),
        ] {
            assert_eq!(point(text), Some(value), "{text}");
        }
        for text in [
            "2020-01", "2020-001", "1,5", "1.5DD2", "D2", "1.5D", "infD2", "1e2D3", "0x10", "1.5D2.5", "1_000",
            "",
        ] {
            assert_eq!(point(text).filter(|_| text != "1.5D"), None, "{text}");
        }
        assert_eq!(number("1,5", Decimal::Comma), Some(1.5));
        assert_eq!(number("-1,5D3", Decimal::Comma), Some(-1500.0));
        assert_eq!([number("1.000,5", Decimal::Comma), number("1,5,2", Decimal::Comma)], [None, None]);
    }

    #[test]
    fn no_digit_of_a_whole_number_is_lost_without_a_word() {
        let kept =
            |text: &str| holds(number(text, Decimal::Comma).or(number(text, Decimal::Point)).unwrap(), text);
        for text in [
            "9007199254740992",
            "9007199254740994",
            "-9007199254740992",
            "9007199254740994.0",
            "1e30",
            "0.1",
            "0",
            "-0.0",
            "1,5D2",
            "1.5+102",
            "nan",
            "-inf",
            "9007199254740993.5",
            "0.1000000000000000055511151231257827",
            // The forms in which C writes doubles with %.18e, %f and %.17g.
            "9.999999999999999161e+22",
            "99999999999999991611392.000000",
            "9.9999999999999992e+22",
        ] {
            assert!(kept(text), "{text}");
        }
        // The shortest texts of doubles, as most programs write them.
        assert!(kept(&18446744073709551615f64.to_string()) && kept(&1.2345678901234567e18.to_string()));
        for text in [
            "9007199254740993",
            "-9007199254740993",
            "9223372036854775807",
            "18446744073709551615",
            "9007199254740993.0",
            "9007199254740993e0",
            "9007199254740,993D3",
            "36893488147419103233",
            "9223372036854775807000000",
        ] {
            assert!(!kept(text), "{text}");
        }
        assert!(is_out_of_range(f64::INFINITY, "1D400") && !is_out_of_range(f64::INFINITY, "inf"));
    }

    #[test]
    fn a_separator_is_named_or_seen() {
        let named = |text: &str| Separator::named(text).ok();
        assert_eq!(
            [named(";"), named("tab"), named(" ")],
            [Some(Separator::Character(b';')), Some(Separator::Character(b'\t')), Some(Separator::Blanks)]
        );
        assert_eq!([named(""), named(", "), named("5"), named("\""), named("."), named("ä")], [None; 6]);
        assert_eq!(Separator::seen_in("1,5;2"), Separator::Character(b';'));
        assert_eq!(Separator::seen_in("0.5 2"), Separator::Blanks);
    }
}
