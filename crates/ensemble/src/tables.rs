//! Tables of comma-separated values: reading the points of a study, and writing its results.

use crate::parameters::can_be_setting;
use ligament_catalogue::{fault, Code, Fault};
use ligament_coupling::tables::{holds, number, Decimal, Separator, TableRows};
use ligament_wire::SettingValue;

/// A table: names of the columns, and the values of each line.
pub(crate) type Table = (Vec<String>, Vec<Vec<SettingValue>>);

/// Reads a table. A cell is read as a whole number if possible, else as a number, a truth value, or a text.
/// Cells may be quoted (RFC 4180).
///
/// # Errors
/// Fails if the table is wrong. The error names the line.
pub(crate) fn read_table(text: String, file: &str) -> Result<Table, Fault> {
    let mut rows = TableRows::of_text(text, file, Separator::COMMA);
    let wrong = |fault: Fault| Fault::new(Code::BAD_STUDY, fault.to_string());
    let Some(names) = rows.next().map_err(wrong)? else {
        return Err(fault!(BAD_STUDY, "{file} is empty; its first line has the names of the parameters"));
    };
    let place = rows.place();
    if let Some(name) =
        names.iter().find(|name| !can_be_setting(name) || number(name, Decimal::Point).is_some())
    {
        return Err(fault!(
            BAD_STUDY,
            "{place}: \"{name}\" is no name; the first line has the names of the parameters, with commas \
             between them"
        ));
    }
    if let Some(at) = (1..names.len()).find(|&at| names[..at].contains(&names[at])) {
        return Err(fault!(BAD_STUDY, "{place}: \"{}\" stands there twice", names[at]));
    }
    let mut points = Vec::new();
    while let Some(cells) = rows.next().map_err(wrong)? {
        let place = rows.place();
        if cells.len() != names.len() {
            return Err(fault!(
                BAD_STUDY,
                "{place}: there are {} values, and the first line has {} names",
                cells.len(),
                names.len()
            ));
        }
        if let Some(empty) = cells.iter().position(|cell| cell.is_empty()) {
            return Err(fault!(BAD_STUDY, "{place}: {} has no value", names[empty]));
        }
        let values = cells.into_iter().map(|cell| value(cell, &place));
        points.push(values.collect::<Result<_, _>>()?);
    }
    Ok((names, points))
}

fn value(cell: String, place: &str) -> Result<SettingValue, Fault> {
    // Blanks in a quoted cell are part of a text, but not of a number.
    if let Ok(whole) = cell.trim().parse::<i64>() {
        return Ok(SettingValue::Int(whole));
    }
    Ok(match (number(&cell, Decimal::Point), cell.trim()) {
        (Some(number), text) if !number.is_finite() => {
            return Err(fault!(BAD_STUDY, "{place}: \"{text}\" is no finite number"))
        }
        (Some(number), text) if !holds(number, text) => {
            return Err(fault!(
                BAD_STUDY,
                "{place}: {text} has more digits than a float64 holds, which makes {number} of it"
            ))
        }
        (Some(number), _) => SettingValue::Float(number),
        (_, "true") => SettingValue::Bool(true),
        (_, "false") => SettingValue::Bool(false),
        (None, text) if number(text, Decimal::Comma).is_some() => {
            return Err(fault!(BAD_STUDY, "{place}: \"{text}\" has a decimal comma; write a point"))
        }
        _ => SettingValue::String(cell),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Table, Fault> {
        read_table(text.to_owned(), "points.csv")
    }

    #[test]
    fn a_table_has_names_and_values() {
        let (names, rows) = read(
            "\u{feff}# made by hand\nrate, n, how\n0.5, 3, fast\n\n1.5D+02, 4, true\n9, 2,\"a, \"\"b\"\"\"\r\n\
             1, \" 3 \", \" x \"\n",
        )
        .unwrap();
        assert_eq!(names, ["rate", "n", "how"]);
        assert_eq!(
            rows[0],
            [SettingValue::Float(0.5), SettingValue::Int(3), SettingValue::String("fast".into())]
        );
        assert_eq!([&rows[1][0], &rows[1][2]], [&SettingValue::Float(150.0), &SettingValue::Bool(true)]);
        assert_eq!(rows[2][2], SettingValue::String("a, \"b\"".into()));
        assert_eq!(rows[3][1..], [SettingValue::Int(3), SettingValue::String(" x ".into())]);
    }

    #[test]
    fn a_table_with_mistakes_is_refused_with_its_line() {
        for (text, expected) in [
            ("", "is empty"),
            ("0.5, 1\n", "points.csv:1: \"0.5\" is no name"),
            ("rate;n\n1;2\n", "points.csv:1: \"rate;n\" is no name"),
            ("a, a\n1, 2\n", "points.csv:1: \"a\" stands there twice"),
            ("a, b\n1, 2\n3\n", "points.csv:3: there are 1 values"),
            ("a, b\n1,\n", "points.csv:2: b has no value"),
            ("a, b\n1,2.5", "points.csv:2: the file ends within this row"),
            ("a, b\n\"1,2\n", "points.csv:2: a quote"),
            ("a\n18446744073709551615\n", "points.csv:2: 18446744073709551615 has more digits"),
            ("a\n9007199254740993.0\n", "points.csv:2: 9007199254740993.0 has more digits"),
            ("a\n1\nnan\n", "points.csv:3: \"nan\" is no finite number"),
            ("a\n-inf\n", "points.csv:2: \"-inf\" is no finite number"),
            ("a\n1e400\n", "points.csv:2: \"1e400\" is no finite number"),
            ("# one\n\na\n\"1,5\"\n", "points.csv:4: \"1,5\" has a decimal comma"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
