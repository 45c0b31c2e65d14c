//! Tables of comma-separated values: points that are read, results that are written.

use crate::parameters::can_be_setting;
use ligament_catalogue::{fault, Fault};
use ligament_wire::SettingValue;

/// Names, and the values of each line.
pub(crate) type Table = (Vec<String>, Vec<Vec<SettingValue>>);

/// Reads a table. Whole numbers are such, then come numbers, truth values, and texts, without quotes.
///
/// # Errors
/// What is wrong with it, with its line.
pub(crate) fn read_table(text: &str, file: &str) -> Result<Table, Fault> {
    // Spreadsheets mark their texts as UTF-8.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines =
        text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    let Some((_, head)) = lines.next() else {
        return Err(fault!(BAD_STUDY, "{file} is empty; its first line has the names of the parameters"));
    };
    let names: Vec<String> = head.split(',').map(|name| name.trim().to_owned()).collect();
    if let Some(name) = names.iter().find(|name| !can_be_setting(name) || name.parse::<f64>().is_ok()) {
        return Err(fault!(
            BAD_STUDY,
            "{file}:1: \"{name}\" is no name; the first line has the names of the parameters, with commas between them"
        ));
    }
    if let Some(at) = (1..names.len()).find(|&at| names[..at].contains(&names[at])) {
        return Err(fault!(BAD_STUDY, "{file}:1: \"{}\" stands there twice", names[at]));
    }
    let mut rows = Vec::new();
    for (at, line) in lines {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        if cells.len() != names.len() {
            return Err(fault!(
                BAD_STUDY,
                "{file}:{}: there are {} values, and the first line has {} names",
                at + 1,
                cells.len(),
                names.len()
            ));
        }
        if let Some(empty) = cells.iter().position(|cell| cell.is_empty()) {
            return Err(fault!(BAD_STUDY, "{file}:{}: {} has no value", at + 1, names[empty]));
        }
        rows.push(cells.into_iter().map(value).collect());
    }
    Ok((names, rows))
}

fn value(cell: &str) -> SettingValue {
    if let Ok(whole) = cell.parse::<i64>() {
        return SettingValue::Int(whole);
    }
    match (cell.parse::<f64>(), cell) {
        (Ok(number), _) if number.is_finite() => SettingValue::Float(number),
        (_, "true") => SettingValue::Bool(true),
        (_, "false") => SettingValue::Bool(false),
        _ => SettingValue::String(cell.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_names_and_values() {
        let (names, rows) =
            read_table("\u{feff}# made by hand\nrate, n, how\n0.5, 3, fast\n\n1, 4, true\n", "points.csv")
                .unwrap();
        assert_eq!(names, ["rate", "n", "how"]);
        assert_eq!(
            rows[0],
            [SettingValue::Float(0.5), SettingValue::Int(3), SettingValue::String("fast".into())]
        );
        assert_eq!(rows[1][2], SettingValue::Bool(true));
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
        ] {
            let error = read_table(text, "points.csv").unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
