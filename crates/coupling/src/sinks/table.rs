//! The sink that writes a table of text: a row for each message, with the message's time in the first column.

use super::{file_of, Sink, Units};
use crate::files::{in_rows, AtomicFile};
use crate::numbers::numbers_of;
use crate::settings::{self, unfit, wrong};
use crate::sources::names_of;
use crate::tables::{row, written, Separator};
use ligament_catalogue::{fault, Fault};
use ligament_instance::{Array, DType, Error, Instance, Message, Value};
use ligament_wire::times::ShownTime;

/// The name of the first column.
const TIME: &str = "time";

/// A table that gets a row for each message. The first message determines the columns.
pub(crate) struct Csv {
    file: Option<AtomicFile>,
    separator: Separator,
    /// Names of the columns in the model; for maps, the keys that are written.
    names: Option<Vec<String>>,
    columns: Option<CellColumns>,
    units: Units,
}

/// The columns after the time.
enum CellColumns {
    /// This number of columns, one for each number.
    Numbers(usize),
    /// The keys of a map, and the number of columns for each key.
    Keys(Vec<(String, usize)>),
}

impl Csv {
    pub fn new(instance: &Instance) -> Result<Csv, Error> {
        let separator = settings::text(instance, "separator")?;
        let separator = Separator::named(separator.as_deref().unwrap_or(",")).map_err(wrong)?;
        let names = settings::text(instance, "columns")?.as_deref().map(names_of).transpose()?;
        let file = Some(AtomicFile::create(file_of(instance, "{instance}.csv")?)?);
        Ok(Csv { file, separator, names, columns: None, units: Units::default() })
    }

    /// Returns the columns that follow from the first message, and their names.
    fn begin(&self, cells: &Cells) -> Result<(CellColumns, Vec<String>), Fault> {
        let (columns, names) = match cells {
            Cells::Numbers(cells) => {
                let names = self.names.clone().unwrap_or_else(|| numbered("value", cells.len()));
                if names.len() != cells.len() {
                    let (has, count) = (names.len(), cells.len());
                    return Err(fault!(
                        SINK_REFUSES,
                        "\"columns\" names {has} columns, and the message has {count} values"
                    ));
                }
                (CellColumns::Numbers(cells.len()), names)
            }
            Cells::Keys(entries) => {
                let keys = match &self.names {
                    Some(names) => names.clone(),
                    None => entries.iter().map(|(key, _)| key.clone()).collect(),
                };
                let counts = keys.iter().map(|key| Ok((key.clone(), cells_of_key(entries, key)?.len())));
                let keys = counts.collect::<Result<Vec<_>, Fault>>()?;
                let names = keys.iter().flat_map(|(key, count)| numbered(key, *count)).collect();
                (CellColumns::Keys(keys), names)
            }
        };
        let twice = (0..names.len()).find(|&at| names[at] == TIME || names[..at].contains(&names[at]));
        match twice {
            Some(at) => Err(fault!(
                SINK_REFUSES,
                "it would have two columns \"{}\" (\"{TIME}\" is the time of the message); rename the key, or \
                 choose others by \"columns\"",
                names[at]
            )),
            None => Ok((columns, names)),
        }
    }

    /// Returns the cells of a later message in the order of the columns.
    fn ordered<'a>(&self, columns: &CellColumns, cells: &'a Cells) -> Result<Vec<&'a String>, Fault> {
        match (columns, cells) {
            (CellColumns::Numbers(count), Cells::Numbers(cells)) if cells.len() == *count => {
                Ok(cells.iter().collect())
            }
            (CellColumns::Numbers(count), Cells::Numbers(cells)) => {
                let has = cells.len();
                Err(fault!(
                    SINK_REFUSES,
                    "it has {has} values, and those before it {count}; all rows of a table are equally long"
                ))
            }
            (CellColumns::Keys(keys), Cells::Keys(entries)) => {
                let is_known = |key: &String| keys.iter().any(|(known, _)| known == key);
                if let Some((key, _)) = entries.iter().find(|(key, _)| self.names.is_none() && !is_known(key)) {
                    return Err(fault!(
                        SINK_REFUSES,
                        "it has the key \"{key}\", and those before it have not; name the keys that are to be \
                         written under \"columns\""
                    ));
                }
                let mut row = Vec::new();
                for (key, count) in keys {
                    let cells = cells_of_key(entries, key)?;
                    if cells.len() != *count {
                        let has = cells.len();
                        return Err(fault!(
                            SINK_REFUSES,
                            "it has {has} values under \"{key}\", and those before it {count}; all rows of a \
                             table are equally long"
                        ));
                    }
                    row.extend(cells);
                }
                Ok(row)
            }
            _ => {
                Err(fault!(SINK_REFUSES, "it is a map and those before it are none, or they are and it is not"))
            }
        }
    }
}

/// Returns `name` for one column, or `name0`, `name1`, … for several.
fn numbered(name: &str, count: usize) -> Vec<String> {
    match count {
        1 => vec![name.to_owned()],
        count => (0..count).map(|i| format!("{name}{i}")).collect(),
    }
}

fn cells_of_key<'a>(entries: &'a [(String, Vec<String>)], key: &str) -> Result<&'a [String], Fault> {
    match entries.iter().find(|(known, _)| known == key) {
        Some((_, cells)) => Ok(cells),
        None => {
            let keys: Vec<&str> = entries.iter().map(|(key, _)| key.as_str()).collect();
            Err(fault!(SINK_REFUSES, "it has no \"{key}\"; it has {}", keys.join(", ")))
        }
    }
}

/// The cells of a message.
enum Cells {
    Numbers(Vec<String>),
    Keys(Vec<(String, Vec<String>)>),
}

impl Cells {
    fn of(value: &Value, who: &str) -> Result<Cells, Error> {
        match value {
            Value::Map(entries) => {
                let cells = entries.iter().map(|(key, value)| Ok((key.clone(), cells_of(value, who)?)));
                cells.collect::<Result<_, Error>>().map(Cells::Keys)
            }
            value => cells_of(value, who).map(Cells::Numbers),
        }
    }
}

/// Returns the numbers in a value as texts, the last index running fastest. Whole numbers keep all their
/// digits.
fn cells_of(value: &Value, who: &str) -> Result<Vec<String>, Error> {
    let cell = |value: &Value| match value {
        Value::Float(number) => Some(written(*number)),
        Value::Int(number) => Some(number.to_string()),
        Value::UInt(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(u8::from(*truth).to_string()),
        _ => None,
    };
    let cells = match value {
        Value::Array(array) => cells_of_array(array),
        Value::List(items) => items.iter().map(cell).collect(),
        value => cell(value).map(|cell| vec![cell]),
    };
    match cells {
        Some(cells) => Ok(cells),
        // `numbers_of` reports the other errors.
        None => match numbers_of(value, who) {
            Err(why) => Err(why),
            Ok(numbers) => Ok(numbers.to_f64().iter().map(|&number| written(number)).collect()),
        },
    }
}

/// Returns the elements of an array as texts. `None` for complex numbers.
fn cells_of_array(array: &Array) -> Option<Vec<String>> {
    let mut cells = Vec::with_capacity(usize::try_from(array.len()).unwrap_or(0));
    macro_rules! cells {
        ($rust:ty, $write:expr) => {
            in_rows(array, |bytes| {
                let element = <$rust>::from_ne_bytes(bytes.try_into().unwrap_or_default());
                cells.push($write(element));
            })
        };
    }
    match array.dtype() {
        DType::Float64 => cells!(f64, written),
        DType::Float32 => cells!(f32, |element: f32| written(f64::from(element))),
        DType::Int8 => cells!(i8, |element: i8| element.to_string()),
        DType::Int16 => cells!(i16, |element: i16| element.to_string()),
        DType::Int32 => cells!(i32, |element: i32| element.to_string()),
        DType::Int64 => cells!(i64, |element: i64| element.to_string()),
        DType::UInt8 => cells!(u8, |element: u8| element.to_string()),
        DType::UInt16 => cells!(u16, |element: u16| element.to_string()),
        DType::UInt32 => cells!(u32, |element: u32| element.to_string()),
        DType::UInt64 => cells!(u64, |element: u64| element.to_string()),
        DType::Bool => cells!(u8, |element: u8| u8::from(element != 0).to_string()),
        DType::Complex64 | DType::Complex128 => return None,
    }
    Some(cells)
}

impl Sink for Csv {
    fn take(&mut self, instance: &mut Instance, message: &Message) -> Result<(), Error> {
        self.units.check(&message.data, message.timestamp)?;
        let time = message.timestamp;
        let refuse = |why: Fault| {
            unfit(why.told(|why| format!("the message at time {} cannot be written: {why}", ShownTime(time))))
        };
        let cells = Cells::of(&message.data, instance.name())?;
        let mut text = String::new();
        if self.columns.is_none() {
            let (columns, names) = self.begin(&cells).map_err(refuse)?;
            self.columns = Some(columns);
            text += &row(std::iter::once(TIME).chain(names.iter().map(String::as_str)), self.separator);
            text.push('\n');
        }
        let Some(columns) = &self.columns else { return Ok(()) };
        let time = written(time);
        let cells = self.ordered(columns, &cells).map_err(refuse)?;
        text += &row(std::iter::once(&time).chain(cells), self.separator);
        text.push('\n');
        self.file.as_mut().map_or(Ok(()), |file| file.write(text.as_bytes()))
    }

    fn close(&mut self) -> Result<(), Error> {
        self.file.take().map_or(Ok(()), AtomicFile::finish)
    }
}
