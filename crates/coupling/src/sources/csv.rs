//! Tables of text: a row is a message. One column is the time, the others are values.

use super::{Given, Source};
use crate::files::Lines;
use crate::settings;
use ligament_catalogue::fault;
use ligament_instance::{Array, Error, Instance, Order, Value};

/// What becomes of a row in which a value is missing.
#[derive(Clone, Copy, PartialEq)]
enum Holes {
    Error,
    Skip,
    Nan,
    Previous,
}

/// A table that is read row by row.
pub(crate) struct Csv {
    lines: Lines,
    separator: char,
    holes: Holes,
    as_map: bool,
    until: Option<f64>,
    wanted: Option<Vec<String>>,
    time_name: Option<String>,
    /// Known from the first row on.
    columns: Option<Columns>,
    before: Vec<f64>,
}

struct Columns {
    /// How many there are.
    all: usize,
    time: usize,
    values: Vec<usize>,
    names: Vec<String>,
}

fn cells(line: &str, separator: char) -> impl Iterator<Item = &str> {
    let words = separator == ' ';
    let split = line.split(move |c: char| if words { c.is_whitespace() } else { c == separator });
    split.map(|cell| cell.trim().trim_matches('"')).filter(move |cell| !words || !cell.is_empty())
}

fn is_hole(cell: &str) -> bool {
    matches!(cell, "" | "NA" | "N/A" | "NaN" | "nan" | "NAN" | "null" | "-")
}

impl Csv {
    pub fn new(instance: &Instance) -> Result<Csv, Error> {
        let separator = settings::text(instance, "separator")?.unwrap_or_else(|| ",".into());
        let separator = match &*separator {
            "tab" => '\t',
            "space" => ' ',
            other => match (other.chars().next(), other.chars().count()) {
                (Some(one), 1) => one,
                _ => {
                    return Err(settings::wrong(fault!(
                        SHIPPED_SETTING_WRONG,
                        "the separator \"{other}\" is not one character; there are \"tab\" and \"space\" too"
                    )))
                }
            },
        };
        let holes = match settings::text(instance, "holes")?.as_deref() {
            Some("skip") => Holes::Skip,
            Some("nan") => Holes::Nan,
            Some("previous") => Holes::Previous,
            _ => Holes::Error,
        };
        let columns = settings::text(instance, "columns")?;
        let names =
            |text: String| text.split([',', ' ']).filter(|name| !name.is_empty()).map(str::to_owned).collect();
        Ok(Csv {
            lines: Lines::open(&settings::text(instance, "file")?.unwrap_or_default())?,
            separator,
            holes,
            as_map: settings::text(instance, "as")?.as_deref() == Some("map"),
            until: settings::number(instance, "until")?,
            wanted: columns.map(names),
            time_name: settings::text(instance, "time")?,
            columns: None,
            before: Vec::new(),
        })
    }

    /// Which columns count: those of the header, if the first row is one.
    fn begin(&self, first: &[String]) -> Result<(Columns, bool), Error> {
        let is_header = first.iter().any(|cell| !is_hole(cell) && cell.parse::<f64>().is_err());
        let names: Vec<String> = match is_header {
            true => first.to_vec(),
            false => (1..=first.len()).map(|i| i.to_string()).collect(),
        };
        let find = |wanted: &str| {
            names.iter().position(|name| name == wanted).ok_or_else(|| {
                let what = if is_header { "" } else { " (without a header they have numbers)" };
                self.lines.malformed(&format!(
                    "there is no column \"{wanted}\"; there are {}{what}",
                    names.join(", ")
                ))
            })
        };
        let time = self.time_name.as_deref().map_or(Ok(0), find)?;
        let values = match &self.wanted {
            Some(wanted) => wanted.iter().map(|name| find(name)).collect::<Result<_, _>>()?,
            None => (0..names.len()).filter(|&i| i != time).collect::<Vec<_>>(),
        };
        if values.is_empty() {
            return Err(self.lines.malformed("there is one column only, and the first one is the time"));
        }
        let names = values.iter().map(|&i| names[i].clone()).collect();
        Ok((Columns { all: first.len(), time, values, names }, is_header))
    }

    /// A row; none if it is left out.
    fn row(&self, columns: &Columns, row: &[String]) -> Result<Option<(f64, Vec<f64>)>, Error> {
        if row.len() != columns.all {
            let (has, all) = (row.len(), columns.all);
            return Err(self
                .lines
                .malformed(&format!("this row has {has} cells, and the first one has {all}")));
        }
        let number = |i: usize| {
            let cell = &row[i];
            cell.parse::<f64>().map_err(|_| self.lines.malformed(&format!("\"{cell}\" is no number")))
        };
        if is_hole(&row[columns.time]) {
            return Err(self.lines.malformed("the time is missing"));
        }
        let time = number(columns.time)?;
        let mut values = Vec::with_capacity(columns.values.len());
        for (place, &i) in columns.values.iter().enumerate() {
            if !is_hole(&row[i]) {
                values.push(number(i)?);
                continue;
            }
            values.push(match (self.holes, self.before.get(place)) {
                (Holes::Skip, _) => return Ok(None),
                (Holes::Nan, _) => f64::NAN,
                (Holes::Previous, Some(&before)) => before,
                (Holes::Previous, None) => {
                    let name = &columns.names[place];
                    let why = format!("the value of \"{name}\" is missing, and there is none before it");
                    return Err(self.lines.malformed(&why));
                }
                (Holes::Error, _) => {
                    let name = &columns.names[place];
                    return Err(self.lines.malformed(&format!(
                        "the value of \"{name}\" is missing; fill it in, or set \"holes\" to skip, nan or previous"
                    )));
                }
            });
        }
        Ok(Some((time, values)))
    }

    fn message(&self, columns: &Columns, time: f64, values: Vec<f64>) -> Given {
        let data = if self.as_map {
            Value::Map(columns.names.iter().cloned().zip(values.into_iter().map(Value::Float)).collect())
        } else if let [one] = values[..] {
            Value::Float(one)
        } else {
            let count = values.len();
            Array::from_vec(values, &[count], Order::RowMajor).map_or(Value::None, Value::Array)
        };
        Given::at(time, data)
    }
}

impl Source for Csv {
    fn next(&mut self) -> Result<Option<Given>, Error> {
        loop {
            let separator = self.separator;
            let row: Vec<String> = match self.lines.next()? {
                None => return Ok(None),
                Some(line) if line.trim().is_empty() || line.starts_with('#') => continue,
                Some(line) => cells(line, separator).map(str::to_owned).collect(),
            };
            if self.columns.is_none() {
                let (columns, is_header) = self.begin(&row)?;
                self.columns = Some(columns);
                if is_header {
                    continue;
                }
            }
            let Some(columns) = self.columns.take() else { continue };
            let read = self.row(&columns, &row);
            let given = read.map(|read| {
                read.map(|(time, values)| {
                    self.before.clone_from(&values);
                    self.message(&columns, time, values)
                })
            });
            self.columns = Some(columns);
            if let Some(given) = given? {
                return Ok(Some(given));
            }
        }
    }

    fn place(&self) -> String {
        self.lines.place()
    }

    fn until(&self) -> Option<f64> {
        self.until
    }
}
