//! Tables of text: a row is a message. One column is the time, the others are values.

use super::{Source, SourceMessage};
use crate::settings::{self, bad, wrong};
use crate::tables::{holds, is_out_of_range, number, words, Decimal, Separator, TableRows};
use ligament_catalogue::{fault, Fault};
use ligament_instance::{Array, ArrayOrder, Error, Instance, Value};

/// The treatment of a row in which a value is missing.
#[derive(Clone, Copy, PartialEq)]
enum Holes {
    Error,
    Skip,
    Nan,
    Previous,
}

/// The type of all values.
#[derive(Clone, Copy, PartialEq)]
enum Type {
    Float64,
    Int64,
    UInt64,
}

/// The value in a cell.
#[derive(Clone, Copy, PartialEq, Debug)]
enum CsvNumber {
    Float64(f64),
    Int64(i64),
    UInt64(u64),
}

/// A table that is read row by row.
pub(crate) struct Csv {
    rows: TableRows,
    decimal: Decimal,
    dtype: Type,
    holes: Holes,
    as_map: bool,
    until: Option<f64>,
    /// True if the first row has the names of the columns, false if it has not. `None` if the model does not
    /// say.
    header: Option<bool>,
    wanted: Option<Vec<String>>,
    time_name: Option<String>,
    /// The columns that are used. `None` until the first row is read.
    columns: Option<CsvColumns>,
    before: Vec<CsvNumber>,
}

struct CsvColumns {
    /// Number of all columns of the table.
    all: usize,
    time: usize,
    values: Vec<usize>,
    names: Vec<String>,
}

fn is_hole(cell: &str) -> bool {
    let cell = cell.trim();
    matches!(cell, "" | "NA" | "N/A" | "null" | "-") || cell.parse().is_ok_and(f64::is_nan)
}

impl Csv {
    pub fn new(instance: &Instance) -> Result<Csv, Error> {
        let text = |name| settings::text(instance, name);
        let separator = Separator::named(text("separator")?.as_deref().unwrap_or(",")).map_err(wrong)?;
        let holes = match text("holes")?.as_deref() {
            Some("skip") => Holes::Skip,
            Some("nan") => Holes::Nan,
            Some("previous") => Holes::Previous,
            _ => Holes::Error,
        };
        let dtype = match text("dtype")?.as_deref() {
            Some("int64") => Type::Int64,
            Some("uint64") => Type::UInt64,
            _ => Type::Float64,
        };
        if holes == Holes::Nan && dtype != Type::Float64 {
            return Err(wrong(fault!(
                SHIPPED_SETTING_WRONG,
                "\"holes: nan\" does not go with whole numbers, of which none is NaN; set \"holes\" to skip or \
                 previous"
            )));
        }
        let wanted = text("columns")?.as_deref().map(names_of).transpose()?;
        let as_map = text("as")?.as_deref() == Some("map");
        let names = wanted.as_deref().filter(|_| as_map).unwrap_or_default();
        if let Some(at) = (0..names.len()).find(|&at| names[..at].contains(&names[at])) {
            return Err(wrong(fault!(
                SHIPPED_SETTING_WRONG,
                "\"columns\" names \"{}\" twice, and a map has each name once; name it once, or leave out \
                 \"as: map\"",
                names[at]
            )));
        }
        Ok(Csv {
            rows: TableRows::open(&text("file")?.unwrap_or_default(), Some(separator)).map_err(bad)?,
            decimal: if text("decimal")?.as_deref() == Some("comma") { Decimal::Comma } else { Decimal::Point },
            dtype,
            holes,
            as_map,
            until: settings::number(instance, "until")?,
            header: settings::truth(instance, "header")?,
            wanted,
            time_name: text("time")?,
            columns: None,
            before: Vec::new(),
        })
    }

    /// Finds the columns that are used, from the header if the first row is one.
    fn begin(&self, first: &[String]) -> Result<(CsvColumns, bool), Fault> {
        let is_header = self.is_header(first)?;
        let names: Vec<String> =
            if is_header { first.to_vec() } else { (1..=first.len()).map(|i| i.to_string()).collect() };
        let find = |wanted: &str| {
            let mut places = (0..names.len()).filter(|&at| names[at] == wanted);
            match (places.next(), places.next()) {
                (Some(place), None) => Ok(place),
                (Some(_), Some(_)) => Err(self
                    .rows
                    .malformed(&format!("there are several columns \"{wanted}\"; rename all but one"))),
                (None, _) => {
                    let what = if is_header { "" } else { " (without a header they have numbers)" };
                    let why = format!("there is no column \"{wanted}\"; there are {}{what}", names.join(", "));
                    Err(self.rows.malformed(&why))
                }
            }
        };
        let time = self.time_name.as_deref().map_or(Ok(0), find)?;
        let values = match &self.wanted {
            Some(wanted) => wanted.iter().map(|name| find(name)).collect::<Result<_, _>>()?,
            None => (0..names.len()).filter(|&i| i != time).collect::<Vec<_>>(),
        };
        if values.is_empty() {
            return Err(self.rows.malformed("there is one column only, and the first one is the time"));
        }
        if self.as_map {
            values.iter().try_for_each(|&at| find(&names[at]).map(|_| ()))?;
        }
        let names = values.iter().map(|&i| names[i].clone()).collect();
        Ok((CsvColumns { all: first.len(), time, values, names }, is_header))
    }

    /// Returns true if the first row has names. A row of numbers with a typing error is no header, and must
    /// not be skipped as one.
    fn is_header(&self, first: &[String]) -> Result<bool, Fault> {
        if let Some(known) = self.header {
            return Ok(known);
        }
        let cells = || first.iter().filter(|cell| !is_hole(cell));
        let Some(name) = cells().find(|cell| self.number(cell).is_none()) else { return Ok(false) };
        match cells().find(|cell| self.number(cell).is_some()) {
            None => Ok(true),
            Some(one) => Err(self.rows.malformed(&format!(
                "the first row has the number {one}, and \"{name}\", which is none{}; correct it, or set \
                 \"header: true\" if this row has the names of the columns",
                self.advice(name)
            ))),
        }
    }

    fn number(&self, cell: &str) -> Option<f64> {
        number(cell, self.decimal)
    }

    /// Returns advice for a cell that is no number.
    fn advice(&self, cell: &str) -> &'static str {
        if self.decimal == Decimal::Point && number(cell, Decimal::Comma).is_some() {
            " (with \"decimal: comma\" it would be one)"
        } else {
            ""
        }
    }

    /// Returns the value in a cell. A value that would lose digits is an error.
    fn value(&self, cell: &str) -> Result<CsvNumber, Fault> {
        let cell = cell.trim();
        let refused = |type_name| self.rows.malformed(&format!("\"{cell}\" is no {type_name}"));
        Ok(match self.dtype {
            Type::Int64 => CsvNumber::Int64(cell.parse().map_err(|_| refused("int64"))?),
            Type::UInt64 => CsvNumber::UInt64(cell.parse().map_err(|_| refused("uint64"))?),
            Type::Float64 => CsvNumber::Float64(self.float(cell, "; set \"dtype: int64\" for whole numbers")?),
        })
    }

    /// Returns the number in a cell. A number that a double cannot hold is an error.
    fn float(&self, cell: &str, advice: &str) -> Result<f64, Fault> {
        let number = self.number(cell).ok_or_else(|| self.no_number(cell))?;
        if is_out_of_range(number, cell) {
            return Err(self.rows.malformed(&format!("{cell} is too large for a float64")));
        }
        if !holds(number, cell) {
            return Err(self.rows.malformed(&format!(
                "{cell} has more digits than a float64 holds, which makes {number} of it{advice}"
            )));
        }
        Ok(number)
    }

    fn no_number(&self, cell: &str) -> Fault {
        self.rows.malformed(&format!("\"{cell}\" is no number{}", self.advice(cell)))
    }

    /// Reads a row. Returns `None` if the row is left out.
    fn row(&self, columns: &CsvColumns, row: &[String]) -> Result<Option<(f64, Vec<CsvNumber>)>, Fault> {
        if row.len() != columns.all {
            let (has, all) = (row.len(), columns.all);
            return Err(self.rows.malformed(&format!("this row has {has} cells, and the first one has {all}")));
        }
        let time = &row[columns.time];
        if is_hole(time) {
            return Err(self.rows.malformed("the time is missing"));
        }
        let time =
            self.float(time.trim(), "; write times in a longer unit, or count them from a later moment")?;
        let mut values = Vec::with_capacity(columns.values.len());
        for (place, &i) in columns.values.iter().enumerate() {
            if !is_hole(&row[i]) {
                values.push(self.value(&row[i])?);
                continue;
            }
            values.push(match (self.holes, self.before.get(place)) {
                (Holes::Skip, _) => return Ok(None),
                (Holes::Nan, _) => CsvNumber::Float64(f64::NAN),
                (Holes::Previous, Some(&before)) => before,
                (Holes::Previous, None) => {
                    let name = &columns.names[place];
                    let why = format!("the value of \"{name}\" is missing, and there is none before it");
                    return Err(self.rows.malformed(&why));
                }
                (Holes::Error, _) => {
                    let name = &columns.names[place];
                    return Err(self.rows.malformed(&format!(
                        "the value of \"{name}\" is missing; fill it in, or set \"holes\" to skip, nan or \
                         previous"
                    )));
                }
            });
        }
        Ok(Some((time, values)))
    }

    fn message(&self, columns: &CsvColumns, time: f64, values: &[CsvNumber]) -> SourceMessage {
        let data = if self.as_map {
            Value::Map(columns.names.iter().cloned().zip(values.iter().map(|&one| one.into())).collect())
        } else if let [one] = *values {
            one.into()
        } else {
            array_of(values)
        };
        SourceMessage::at(time, data)
    }
}

/// Reads the names of columns in a setting. Blanks or commas separate them, and a name that contains one is
/// in quotes.
pub(crate) fn names_of(text: &str) -> Result<Vec<String>, Error> {
    let names = words(text, |c: char| c == ',' || c.is_whitespace());
    names.filter(|names| !names.is_empty()).ok_or_else(|| {
        wrong(fault!(
            SHIPPED_SETTING_WRONG,
            "\"columns\" is {text}, and names no columns; write names with commas or blanks between them, \
             those that have such in quotes, which must end"
        ))
    })
}

impl From<CsvNumber> for Value {
    fn from(number: CsvNumber) -> Value {
        match number {
            CsvNumber::Float64(number) => Value::Float(number),
            CsvNumber::Int64(number) => Value::Int(number),
            CsvNumber::UInt64(number) => Value::UInt(number),
        }
    }
}

/// Makes an array of numbers of one type.
fn array_of(values: &[CsvNumber]) -> Value {
    macro_rules! array {
        ($kind:ident) => {{
            let elements = values.iter().filter_map(|one| match one {
                CsvNumber::$kind(number) => Some(*number),
                _ => None,
            });
            Array::from_vec(elements.collect(), &[values.len()], ArrayOrder::RowMajor)
        }};
    }
    let array = match values.first() {
        Some(CsvNumber::Int64(_)) => array!(Int64),
        Some(CsvNumber::UInt64(_)) => array!(UInt64),
        _ => array!(Float64),
    };
    array.map_or(Value::None, Value::Array)
}

impl Source for Csv {
    fn next(&mut self) -> Result<Option<SourceMessage>, Error> {
        loop {
            let Some(row) = self.rows.next().map_err(bad)? else { return Ok(None) };
            if self.columns.is_none() {
                let (columns, is_header) = self.begin(&row).map_err(bad)?;
                self.columns = Some(columns);
                if is_header {
                    continue;
                }
            }
            let Some(columns) = self.columns.take() else { continue };
            let read = self.row(&columns, &row).map_err(bad)?;
            let given = read.map(|(time, values)| {
                let given = self.message(&columns, time, &values);
                self.before = values;
                given
            });
            self.columns = Some(columns);
            if given.is_some() {
                return Ok(given);
            }
        }
    }

    fn place(&self) -> String {
        self.rows.place()
    }

    fn until(&self) -> Option<f64> {
        self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_columns_may_have_separators() {
        assert_eq!(names_of("wind, rain  T").unwrap(), ["wind", "rain", "T"]);
        assert_eq!(names_of("\"T, K\" \"der(x,1)\",a").unwrap(), ["T, K", "der(x,1)", "a"]);
        assert!(names_of("\"T, K").is_err() && names_of(" , ").is_err());
    }
}
