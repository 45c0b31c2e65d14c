//! Shows a value of a port in a terminal: as one line of words, and as a drawing.

use ligament_wire::tap::{numbers_of, text_of};
use ligament_wire::{Array, Value};
use std::fmt::Write;

/// Maximum number of elements of an array that is printed in full.
const MAX_WHOLE_ELEMENTS: u64 = 8;
/// Maximum number of keys of a map that are printed.
const MAX_KEYS: usize = 32;
/// Maximum width of a drawing, in characters. The next constant is the maximum height.
const WIDTH: usize = 64;
const HEIGHT: usize = 8;
/// Characters that fill a rising part of their height. The next constant has characters of rising darkness.
const BAR_SHADES: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];

/// Returns a number with up to six digits.
fn number(x: f64) -> String {
    if x == 0.0 {
        return "0".to_owned();
    }
    if !x.is_finite() {
        return text_of(x);
    }
    let size = x.abs();
    if (1e-4..1e7).contains(&size) {
        let digits = (5 - size.log10().floor() as i32).clamp(0, 9) as usize;
        let text = format!("{x:.digits$}");
        return if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text
        };
    }
    format!("{x:.4e}")
}

/// Returns the least and the greatest of the finite numbers, or none if no number is finite.
fn range(numbers: &[f64]) -> Option<(f64, f64)> {
    let finite = numbers.iter().copied().filter(|x| x.is_finite());
    finite.fold(None, |found, x| match found {
        None => Some((x, x)),
        Some((low, high)) => Some((x.min(low), x.max(high))),
    })
}

/// Returns a text without control characters, which could change the terminal, shortened to 200 characters.
fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).take(200).collect()
}

/// Describes a value in a few words. `bars` is true if the value is a histogram.
pub(super) fn in_words(value: &Value, bars: bool) -> String {
    match value {
        Value::None => "nothing".to_owned(),
        Value::Bool(truth) => truth.to_string(),
        Value::Int(x) => x.to_string(),
        Value::UInt(x) => x.to_string(),
        Value::Float(x) => text_of(*x),
        Value::Complex(re, im) => {
            let sign = if im.is_sign_negative() { "" } else { "+" };
            format!("{}{sign}{}j", text_of(*re), text_of(*im))
        }
        Value::String(text) => format!("\"{}\"", clean(text)),
        Value::Bytes(bytes) => format!("{} bytes", bytes.len()),
        Value::List(items) => {
            let some: Vec<String> =
                items.iter().take(MAX_WHOLE_ELEMENTS as usize).map(|one| in_words(one, false)).collect();
            let more =
                if items.len() > some.len() { format!(", … {} in all", items.len()) } else { String::new() };
            format!("[{}{more}]", some.join(", "))
        }
        Value::Map(entries) if bars => histogram_in_words(entries),
        Value::Map(entries) => {
            let one = |(key, value): &(String, Value)| format!("{}: {}", clean(key), in_words(value, false));
            let some: Vec<String> = entries.iter().take(MAX_KEYS).map(one).collect();
            let more = if entries.len() > some.len() {
                format!(", … {} in all", entries.len())
            } else {
                String::new()
            };
            format!("{{{}{more}}}", some.join(", "))
        }
        Value::Settings(entries) => format!("{} settings", entries.len()),
        Value::Array(array) => array_in_words(array),
    }
}

fn array_in_words(array: &Array) -> String {
    let shape: Vec<String> = array.shape().iter().map(u64::to_string).collect();
    let unit = array.unit().map(|unit| format!(" {}", clean(unit))).unwrap_or_default();
    let kind = format!(
        "{} {}{unit}",
        array.dtype().name(),
        if shape.is_empty() { "0-d".into() } else { shape.join("×") }
    );
    let numbers = numbers_of(array);
    if array.len() <= MAX_WHOLE_ELEMENTS {
        return format!("{kind}: {}", numbers.iter().map(|&x| number(x)).collect::<Vec<_>>().join(" "));
    }
    let finite: Vec<f64> = numbers.iter().copied().filter(|x| x.is_finite()).collect();
    let others = numbers.len() - finite.len();
    let others = if others > 0 { format!(", {others} not finite") } else { String::new() };
    match range(&finite) {
        None => format!("{kind}{others}"),
        Some((low, high)) => {
            let mean = mean(finite.into_iter());
            format!("{kind}: {} … {}, mean {}{others}", number(low), number(high), number(mean))
        }
    }
}

/// Returns the parts of a histogram: least value, greatest value, counts, and number of elements that are
/// not finite.
fn histogram(entries: &[(String, Value)]) -> Option<(f64, f64, Vec<u64>, u64)> {
    let of = |key: &str| entries.iter().find(|(name, _)| name == key).map(|(_, value)| value);
    let count = |value: &Value| match value {
        Value::Int(x) => u64::try_from(*x).ok(),
        Value::UInt(x) => Some(*x),
        _ => None,
    };
    let (Value::Float(low), Value::Float(high)) = (of("least")?, of("greatest")?) else { return None };
    let Value::List(counts) = of("counts")? else { return None };
    Some((*low, *high, counts.iter().map(count).collect::<Option<_>>()?, count(of("others")?)?))
}

fn histogram_in_words(entries: &[(String, Value)]) -> String {
    match histogram(entries) {
        None => "no element is finite".to_owned(),
        Some((low, high, counts, others)) => {
            let others = if others > 0 { format!(", {others} not finite") } else { String::new() };
            let all = counts.iter().fold(0u64, |all, &count| all.saturating_add(count));
            format!("{all} elements from {} to {}{others}; {counts:?}", number(low), number(high))
        }
    }
}

/// Returns a drawing of a value, or an empty text if the value cannot be drawn.
pub(super) fn drawn(value: &Value, bars: bool) -> String {
    match value {
        Value::Map(entries) if bars => histogram(entries).map(|found| bars_of(&found)).unwrap_or_default(),
        Value::Array(array) if array.len() > MAX_WHOLE_ELEMENTS => match *array.shape() {
            [_] => line(&numbers_of(array)),
            [rows, columns] => picture(&numbers_of(array), rows as usize, columns as usize),
            _ => String::new(),
        },
        _ => String::new(),
    }
}

fn bars_of((low, high, counts, _): &(f64, f64, Vec<u64>, u64)) -> String {
    let most = counts.iter().copied().max().unwrap_or(0).max(1) as f64;
    // Each bound is divided before the subtraction, because the difference of the bounds may overflow.
    let bars = counts.len() as f64;
    let width = high / bars - low / bars;
    let edge = |i: usize| number(low + width * i as f64);
    let longest = (0..counts.len()).map(|i| edge(i).len()).max().unwrap_or(0);
    let mut text = String::new();
    for (i, &count) in counts.iter().enumerate() {
        let bar = "█".repeat((count as f64 / most * WIDTH as f64).round() as usize);
        let _ = writeln!(text, "  {:>longest$} {bar} {count}", edge(i));
    }
    text
}

/// Returns the mean of the finite numbers, or NaN if no number is finite.
fn mean(numbers: impl Iterator<Item = f64>) -> f64 {
    // The sum of large numbers may be beyond all doubles, though the mean is not.
    const PART: f64 = 1.0 / (1u64 << 63) as f64;
    let (sum, parts, count) = numbers
        .filter(|x| x.is_finite())
        .fold((0.0, 0.0, 0u64), |(sum, parts, count), x| (sum + x, parts + x * PART, count + 1));
    let sum: f64 = sum;
    if sum.is_finite() {
        sum / count as f64
    } else {
        parts / count as f64 / PART
    }
}

/// Divides the numbers into `pieces` pieces, and returns the mean of the finite numbers of each piece.
fn means(numbers: &[f64], pieces: usize) -> Vec<f64> {
    let bound = |i: usize| i * numbers.len() / pieces;
    let piece = |i: usize| &numbers[bound(i)..bound(i + 1).max(bound(i) + 1).min(numbers.len())];
    (0..pieces.min(numbers.len())).map(|i| mean(piece(i).iter().copied())).collect()
}

/// Draws a series from left to right. Numbers that are not finite leave a gap.
fn line(numbers: &[f64]) -> String {
    let columns = means(numbers, WIDTH.min(numbers.len()));
    let Some((low, high)) = range(&columns) else { return String::new() };
    let span = high / 2.0 - low / 2.0;
    let levels = (HEIGHT * (BAR_SHADES.len() - 1)) as f64;
    let level =
        |x: f64| if span > 0.0 { ((x / 2.0 - low / 2.0) / span * (levels - 1.0)) as usize + 1 } else { 1 };
    let mut text = String::new();
    for row in (0..HEIGHT).rev() {
        let part = |&x: &f64| {
            if x.is_finite() {
                BAR_SHADES[level(x).saturating_sub(row * (BAR_SHADES.len() - 1)).min(BAR_SHADES.len() - 1)]
            } else {
                ' '
            }
        };
        let cells: String = columns.iter().map(part).collect();
        let edge = match row {
            0 => number(low),
            row if row == HEIGHT - 1 => number(high),
            _ => String::new(),
        };
        let _ = writeln!(text, "  {:<width$} {edge}", cells, width = columns.len());
    }
    text
}

/// Draws an array of two axes in shades. The first axis points downwards, the second to the right.
fn picture(numbers: &[f64], rows: usize, columns: usize) -> String {
    if numbers.is_empty() || rows.checked_mul(columns) != Some(numbers.len()) {
        return String::new();
    }
    // A character is about twice as high as it is wide, so the picture has half as many rows.
    let wide = columns.min(WIDTH);
    let high = (rows * wide).div_ceil(columns * 2).clamp(1, rows.min(WIDTH / 2));
    let bound = |i: usize| i * rows / high;
    let lines: Vec<Vec<f64>> = (0..high)
        .map(|i| {
            let some: Vec<Vec<f64>> = (bound(i)..bound(i + 1).max(bound(i) + 1))
                .map(|row| means(&numbers[row * columns..(row + 1) * columns], wide))
                .collect();
            (0..wide).map(|column| mean(some.iter().map(|row| row[column]))).collect()
        })
        .collect();
    let Some((low, most)) = range(&lines.concat()) else { return String::new() };
    let span = most / 2.0 - low / 2.0;
    let shade = |&x: &f64| {
        if !x.is_finite() {
            '?'
        } else if span > 0.0 {
            SHADES[(((x / 2.0 - low / 2.0) / span * SHADES.len() as f64) as usize).min(SHADES.len() - 1)]
        } else {
            SHADES[2]
        }
    };
    let mut text = String::new();
    for line in &lines {
        let _ = writeln!(text, "  {}", line.iter().map(shade).collect::<String>());
    }
    let _ = writeln!(text, "  ' ' {} … '█' {}", number(low), number(most));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use ligament_wire::ArrayOrder;

    fn array(numbers: &[f64], shape: &[usize]) -> Value {
        Value::Array(Array::from_slice(numbers, shape, ArrayOrder::RowMajor).unwrap())
    }

    #[test]
    fn words_are_short_and_true() {
        assert_eq!(in_words(&Value::Float(0.1), false), "0.1");
        assert_eq!(in_words(&Value::Float(-1e300), false), "-1e300");
        assert_eq!(in_words(&Value::Complex(1.0, -2.5), false), "1-2.5j");
        let keys = Value::Map((0..100).map(|i| (i.to_string(), Value::None)).collect());
        assert!(in_words(&keys, false).ends_with("31: nothing, … 100 in all}"));
        assert_eq!(in_words(&array(&[1.0, 2.5], &[2]), false), "float64 2: 1 2.5");
        let many: Vec<f64> = (0..100).map(f64::from).chain([f64::NAN]).collect();
        assert_eq!(in_words(&array(&many, &[101]), false), "float64 101: 0 … 99, mean 49.5, 1 not finite");
        let large: Vec<f64> = (0..100).map(|i| if i < 50 { 1.5e308 } else { -0.5e308 }).collect();
        assert_eq!(
            in_words(&array(&large, &[100]), false),
            "float64 100: -5.0000e307 … 1.5000e308, mean 5.0000e307"
        );
        assert_eq!(in_words(&Value::String("a\x1b[31m".into()), false), "\"a\u{fffd}[31m\"");
        let numbers = [
            (0.0, "0"),
            (-0.0, "0"),
            (0.000123456, "0.000123456"),
            (f64::INFINITY, "inf"),
            (1e-9, "1.0000e-9"),
            (123456.7, "123457"),
            (-0.25, "-0.25"),
            (1e9, "1.0000e9"),
        ];
        for (x, text) in numbers {
            assert_eq!(number(x), text);
        }
    }

    #[test]
    fn drawings_have_their_ends_where_they_belong() {
        let rise: Vec<f64> = (0..16).map(f64::from).collect();
        let text = drawn(&array(&rise, &[16]), false);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), HEIGHT);
        assert!(
            lines[0].ends_with("█ 15")
                && lines[HEIGHT - 1].starts_with("  ▁")
                && lines[HEIGHT - 1].ends_with("█ 0"),
            "{text}"
        );
        let half: Vec<f64> = (0..32).map(|i| f64::from(i % 8 / 4)).collect();
        let text = drawn(&array(&half, &[4, 8]), false);
        assert_eq!(text.lines().next(), Some("      ████"), "{text}");
        // Extreme numbers and NaN are drawn without a panic.
        for odd in [f64::NAN, f64::INFINITY, f64::MAX, 0.0] {
            let _ = drawn(&array(&[odd; 20], &[20]), false) + &drawn(&array(&[odd; 20], &[4, 5]), false);
        }
        assert_eq!(drawn(&array(&[], &[0, 5]), false), "");
        // A row that has no finite number stays empty, and does not change the rows beside it.
        let mut half = vec![1.0; 256];
        half[..128].fill(0.0);
        half[..32].fill(f64::NAN);
        let text = drawn(&array(&half, &[8, 32]), false);
        assert_eq!(text.lines().next(), Some(&*format!("  {}", " ".repeat(32))), "{text}");
        // The largest possible counts and bounds are drawn without an overflow.
        let counts = Value::List(vec![Value::UInt(u64::MAX), Value::UInt(u64::MAX)]);
        let entries =
            [("least", Value::Float(f64::MIN)), ("greatest", Value::Float(f64::MAX)), ("counts", counts)];
        let mut entries: Vec<(String, Value)> =
            entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        entries.push(("others".into(), Value::UInt(0)));
        let bars = Value::Map(entries);
        assert!(in_words(&bars, true).starts_with(&u64::MAX.to_string()));
        assert!(drawn(&bars, true).lines().last().unwrap().trim().starts_with("0 █"), "{}", drawn(&bars, true));
    }
}
