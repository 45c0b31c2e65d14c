//! Sinks to JSON lines, to `.npy` files, to VTK image data, to the run's log, and to nothing.

use super::{file_of, numbered, Sink, Units};
use crate::files::{json, npy, order_together, together, vti, write_file, AtomicFile};
use crate::settings::{self, unfit};
use ligament_catalogue::{fault, Fault};
use ligament_filters::{Chain, Data, FilterContext, Parcel};
use ligament_instance::{Array, ArrayOrder, DType, Error, Instance, LogLevel, Message, Value};
use ligament_model::{At, Filter, FilterValue, OnError};
use ligament_wire::times::ShownTime;
use serde_json::json;
use std::path::{Path, PathBuf};

/// A sink that drops all messages.
pub(crate) struct Discard;

impl Sink for Discard {
    fn take(&mut self, _: &mut Instance, _: &Message) -> Result<(), Error> {
        Ok(())
    }

    fn close(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

/// A sink that writes messages to the run's log, as the filter `console` does.
pub(crate) struct Console(Option<Chain>);

impl Console {
    pub fn new(instance: &Instance) -> Result<Console, Error> {
        let label = settings::text(instance, "label")?.unwrap_or_else(|| instance.name().to_owned());
        let parameters = vec![("label", FilterValue::Text(label))];
        let filter =
            Filter { name: "console", parameters, end: None, on_error: OnError::End, at: At::default() };
        Ok(Console(Chain::at_receiver(&[filter], &FilterContext::NOTHING).ok().flatten()))
    }
}

impl Sink for Console {
    fn take(&mut self, instance: &mut Instance, message: &Message) -> Result<(), Error> {
        let Message { timestamp, next_timestamp, ref data, .. } = *message;
        let Some(chain) = &mut self.0 else { return Ok(()) };
        let passed = chain.apply(Parcel { timestamp, next_timestamp, data: Data::Kept(data.clone()) });
        let said = passed.map(|passed| passed.said).unwrap_or_default();
        said.iter().try_for_each(|line| instance.log(LogLevel::Info, &line.text))
    }

    fn close(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

/// A sink that writes a line of JSON for each message.
pub(crate) struct JsonLines(Option<AtomicFile>);

impl JsonLines {
    pub fn new(instance: &Instance) -> Result<JsonLines, Error> {
        Ok(JsonLines(Some(AtomicFile::create(file_of(instance, "{instance}.jsonl")?)?)))
    }
}

impl Sink for JsonLines {
    fn take(&mut self, _: &mut Instance, message: &Message) -> Result<(), Error> {
        let Message { timestamp, next_timestamp, ref data, .. } = *message;
        let times = json!({ "timestamp": timestamp, "next_timestamp": next_timestamp }).to_string();
        let times = times.trim_end_matches('}');
        let line = format!("{times},\"data\":{}}}\n", json::text_of(data));
        self.0.as_mut().map_or(Ok(()), |file| file.write(line.as_bytes()))
    }

    fn close(&mut self) -> Result<(), Error> {
        self.0.take().map_or(Ok(()), AtomicFile::finish)
    }
}

/// Returns the array in a message. A number becomes an array without dimensions.
fn array_in(message: &Message) -> Result<Array, Error> {
    let one = |array: Result<Array, _>| array.ok();
    let found = match &message.data {
        Value::Array(array) => Some(array.clone()),
        Value::Float(number) => one(Array::from_slice(&[*number], &[], ArrayOrder::RowMajor)),
        Value::Int(number) => one(Array::from_slice(&[*number], &[], ArrayOrder::RowMajor)),
        Value::Bool(truth) => one(Array::from_slice(&[*truth], &[], ArrayOrder::RowMajor)),
        _ => None,
    };
    found.ok_or_else(|| {
        let time = ShownTime(message.timestamp);
        unfit(fault!(
            SINK_REFUSES,
            "the message at time {time} is no array and no number, and only those can be written"
        ))
    })
}

/// A sink that writes all messages to one array and their times to another one. If the file name has `{n}`,
/// it writes each message to a file of its own.
pub(crate) struct Npy {
    template: String,
    count: usize,
    all: Option<Stack>,
    units: Units,
}

struct Stack {
    file: AtomicFile,
    dtype: DType,
    shape: Vec<u64>,
    times: Vec<f64>,
}

impl Npy {
    pub fn new(instance: &Instance) -> Result<Npy, Error> {
        Ok(Npy { template: file_of(instance, "{instance}.npy")?, count: 0, all: None, units: Units::default() })
    }

    fn of_times(&self) -> String {
        format!("{}.times.npy", self.template.strip_suffix(".npy").unwrap_or(&self.template))
    }
}

impl Sink for Npy {
    fn take(&mut self, _: &mut Instance, message: &Message) -> Result<(), Error> {
        self.units.check(&message.data, message.timestamp)?;
        let array = array_in(message)?;
        if self.template.contains("{n}") {
            let header = npy::header(array.dtype(), array.shape(), order_together(&array));
            write_file(&numbered(&self.template, self.count), &[&header, &together(&array)])?;
            self.count += 1;
            return Ok(());
        }
        // Parts along the first axis can only be appended if the last index runs fastest.
        let mut rows = Vec::with_capacity(array.nbytes() as usize);
        crate::files::in_rows(&array, |element| rows.extend_from_slice(element));
        let stack = match &mut self.all {
            Some(stack) => stack,
            none => {
                let mut file = AtomicFile::create(&self.template)?;
                file.write(&npy::header(array.dtype(), &[0], ArrayOrder::RowMajor))?;
                none.insert(Stack {
                    file,
                    dtype: array.dtype(),
                    shape: array.shape().to_vec(),
                    times: Vec::new(),
                })
            }
        };
        if stack.dtype != array.dtype() || stack.shape != array.shape() {
            return Err(unfit(fault!(
                SINK_REFUSES,
                "the message at time {} is an array of {} with shape {:?}, and those before it of {} with \
                 shape {:?}; one array holds equal ones only: put {{n}} into the name of the file for one file \
                 each",
                ShownTime(message.timestamp),
                array.dtype().name(),
                array.shape(),
                stack.dtype.name(),
                stack.shape
            )));
        }
        stack.times.push(message.timestamp);
        stack.file.write(&rows)
    }

    fn close(&mut self) -> Result<(), Error> {
        let Some(mut stack) = self.all.take() else { return Ok(()) };
        let count = stack.times.len() as u64;
        let shape: Vec<u64> = std::iter::once(count).chain(stack.shape).collect();
        stack.file.write_first(&npy::header(stack.dtype, &shape, ArrayOrder::RowMajor))?;
        let times: Vec<u8> = stack.times.iter().flat_map(|time| time.to_le_bytes()).collect();
        write_file(&self.of_times(), &[&npy::header(DType::Float64, &[count], ArrayOrder::RowMajor), &times])?;
        stack.file.finish()
    }
}

/// A sink that writes a file for each message, and a list of the files with their times for ParaView.
pub(crate) struct Vti {
    template: String,
    /// Path of the list of all files.
    series: PathBuf,
    array: String,
    place: vti::GridGeometry,
    written: Vec<(f64, String)>,
    count: usize,
    units: Units,
}

impl Vti {
    pub fn new(instance: &Instance) -> Result<Vti, Error> {
        let three = |name: &str, otherwise: f64| -> Result<[f64; 3], Error> {
            let mut all = [otherwise; 3];
            let given = settings::numbers(instance, name)?.unwrap_or_default();
            match all.get_mut(..given.len()) {
                Some(first) => first.copy_from_slice(&given),
                None => {
                    let fault =
                        fault!(SHIPPED_SETTING_WRONG, "\"{name}\" has more than three numbers, for x, y and z");
                    return Err(settings::wrong(fault));
                }
            }
            Ok(all)
        };
        let template = file_of(instance, "{instance}-{n}.vti")?;
        if template.ends_with(".pvd") {
            let fault = fault!(
                SHIPPED_SETTING_WRONG,
                "\"file\" is \"{template}\", and names the files of the messages: let it end with .vti; the \
                 list of them, which ends with .pvd, is written beside them"
            );
            return Err(settings::wrong(fault));
        }
        let array = settings::text(instance, "array")?.unwrap_or_else(|| "data".into());
        if let Some(text) = [&array, &template].into_iter().find(|text| !vti::can_be_xml(text)) {
            let fault = fault!(
                SHIPPED_SETTING_WRONG,
                "{text:?} has a character that XML cannot have; give another \"array\" or \"file\""
            );
            return Err(settings::wrong(fault));
        }
        Ok(Vti {
            series: series_of(&template, instance.name()),
            template,
            array,
            place: vti::GridGeometry { origin: three("origin", 0.0)?, spacing: three("spacing", 1.0)? },
            written: Vec::new(),
            count: 0,
            units: Units::default(),
        })
    }
}

impl Sink for Vti {
    fn take(&mut self, _: &mut Instance, message: &Message) -> Result<(), Error> {
        self.units.check(&message.data, message.timestamp)?;
        let name = numbered(&self.template, self.count);
        let refuse = |why: Fault| {
            unfit(fault!(
                SINK_REFUSES,
                "the message at time {} cannot be written: {why}",
                ShownTime(message.timestamp)
            ))
        };
        vti::write(&name, &array_in(message)?, &self.array, self.place)?.map_err(refuse)?;
        self.count += 1;
        self.written.push((message.timestamp, name));
        Ok(())
    }

    fn close(&mut self) -> Result<(), Error> {
        if !self.template.contains("{n}") {
            return Ok(());
        }
        vti::write_series(&self.series, &self.written)
    }
}

/// Returns the path of the list of files: the names of the files without the number `{n}`, in the innermost
/// folder that contains all of them. If no name is left, it is the name of the instance.
fn series_of(template: &str, instance: &str) -> PathBuf {
    let path = Path::new(template);
    let has_number = |part: &Path| part.to_string_lossy().contains("{n}");
    let folder = path.ancestors().skip(1).find(|folder| !has_number(folder)).unwrap_or(Path::new(""));
    let name = path.file_name().unwrap_or_default().to_string_lossy().replace("{n}", "");
    let stem = name.strip_suffix(".vti").unwrap_or(&name).trim_matches(['-', '_', '.']);
    folder.join(format!("{}.pvd", if stem.is_empty() { instance } else { stem }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_files_has_a_name_and_is_where_all_of_them_are() {
        let series = |template| series_of(template, "field").display().to_string();
        assert_eq!(series("out/T-{n}.vti"), "out/T.pvd");
        assert_eq!(series("{n}-T.vti"), "T.pvd");
        assert_eq!(series("out/{n}.vti"), "out/field.pvd");
        assert_eq!(series("out/step{n}/T.vti"), "out/T.pvd");
    }
}
