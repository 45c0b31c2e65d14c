//! The shipped component `ligament.mappers.implicit`. Each kind of data has two ports: `NAME_in`, on which a
//! component sends its results, and `NAME_out`, on which the others get the values of the next iteration. A
//! message that goes out has the window's beginning and end as its times. So a component sees from the
//! timestamp that a window is to be repeated, or that the next one begins.

use super::acceleration::Acceleration;
use super::convergence::{Agreement, Convergence};
use super::options::CouplingOptions;
use super::record::{CouplingRecord, WindowRow};
use super::scheme::{DataGroup, Schedule, Turn};
use super::state::{vector, vector_of};
use crate::numbers::{numbers_of, with_elements};
use crate::settings::{unfit, wrong};
use ligament_catalogue::{fault, Coded, Fault};
use ligament_filters::{NumberBuffer, Real};
use ligament_instance::{
    ArrayOrder, ArrayRef, Error, ErrorKind, Instance, LogLevel, Operator, Outgoing, PublishedField, Submodel,
    SubmodelState, Value,
};
use ligament_wire::fields::{entries, Fields};
use ligament_wire::tap::Level;
use ligament_wire::times::ShownTime;
use std::borrow::Cow;

const INPUT_ENDING: &str = "_in";
const OUTPUT_ENDING: &str = "_out";
/// Ending of a port that the model may join: it gives the values at the beginning of the first window, once.
const INITIAL_ENDING: &str = "_initial";
/// The port on which taps see the progress. The model may also join it.
const PROGRESS_PORT: &str = "convergence";

/// One kind of data.
struct CoupledData {
    input: String,
    output: String,
    /// The port for the values at the beginning, if the model joins it.
    initial: Option<String>,
    from_first: bool,
    /// True if the first axis counts samples of a window.
    is_sampled: bool,
    /// The first message, without its elements. All others have its type, shape and unit.
    frame: Option<NumberBuffer<'static>>,
    /// The values with which this iteration began.
    values: Vec<f64>,
    /// The values with which it ended.
    results: Vec<f64>,
}

impl CoupledData {
    /// Returns elements as a value of the kind of the first message.
    fn message(&self, elements: &[f64]) -> Value {
        let like = self.frame.as_ref().map(|frame| with_elements(frame, elements.to_vec()).into_value());
        like.unwrap_or(Value::None)
    }

    /// Makes the results the values of the next iteration. The next message replaces what is then left as
    /// results.
    fn take_results(&mut self) {
        std::mem::swap(&mut self.values, &mut self.results);
    }

    /// Makes the results the values with which the next window begins. Of several samples, the last one is the
    /// value at its beginning, and all that is known of the rest.
    fn begin_window(&mut self) {
        self.take_results();
        let Some(first) = self.frame.as_ref().filter(|_| self.is_sampled) else { return };
        if let Some(&count) = first.frame.shape.first() {
            hold_last_sample(&mut self.values, count as usize, first.frame.order);
        }
    }

    /// Returns the state for a checkpoint: `None` if no message has come yet.
    fn state(&self) -> Value {
        if self.frame.is_none() {
            return Value::None;
        }
        let message = self.message(&self.results);
        entries([("message", message), ("values", vector(&self.values)), ("results", vector(&self.results))])
    }

    /// Takes over the state of a checkpoint.
    fn restore(&mut self, state: &Value) -> Option<()> {
        if matches!(state, Value::None) {
            return Some(());
        }
        let fields = Fields::of(state)?;
        self.frame = Some(numbers_of(fields.get("message")?, &self.input).ok()?);
        self.values = vector_of(fields.get("values")?)?;
        self.results = vector_of(fields.get("results")?)?;
        (self.values.len() == self.results.len()).then_some(())
    }
}

/// The component.
pub(crate) struct Implicit {
    name: String,
    data: Vec<CoupledData>,
    options: CouplingOptions,
    schedule: Schedule,
    /// The time of the last values that have come, s.
    time: f64,
    convergence: Convergence,
    /// Indices of the accelerated data, in the order in which their values lie one behind the other.
    accelerated: Vec<usize>,
    /// `None` until the first messages say how long the data are.
    acceleration: Option<Acceleration>,
    record: Option<CouplingRecord>,
    joins_progress: bool,
}

/// The progress of a window as a tap sees it: the window, the iteration, and the largest measure over its
/// limit.
struct Progress([f64; 3]);

impl PublishedField for Progress {
    fn value(&self) -> ArrayRef<'_> {
        ArrayRef::from_slice(&self.0, &[3], ArrayOrder::RowMajor)
    }

    fn surfaces(&self, _: &[Level]) -> Value {
        Value::None
    }
}

impl Implicit {
    pub fn new(instance: &Instance) -> Result<Implicit, Error> {
        let names = data_names(instance).map_err(wrong)?;
        let options = CouplingOptions::new(instance, &names)?;
        let data: Vec<CoupledData> = names
            .iter()
            .zip(options.from_first.iter().zip(&options.sampled))
            .map(|(name, (&from_first, &is_sampled))| CoupledData {
                input: format!("{name}{INPUT_ENDING}"),
                output: format!("{name}{OUTPUT_ENDING}"),
                initial: Some(format!("{name}{INITIAL_ENDING}")).filter(|port| sends(instance, port)),
                from_first,
                is_sampled,
                frame: None,
                values: Vec::new(),
                results: Vec::new(),
            })
            .collect();
        let mut accelerated: Vec<usize> = (0..data.len()).filter(|&at| !data[at].from_first).collect();
        accelerated.sort_by_key(|&at| !options.leading[at]);
        let record = CouplingRecord::new(instance, &options.measures, &names)?;
        let joins_progress = sends(instance, PROGRESS_PORT);
        Ok(Implicit {
            name: instance.name().to_owned(),
            schedule: Schedule::new(options.windows, options.serial),
            time: options.windows.bounds(0).0,
            convergence: Convergence::new(options.measures.clone()),
            accelerated,
            acceleration: None,
            record: Some(record),
            joins_progress,
            data,
            options,
        })
    }

    /// Returns the place of a fault: window and iteration.
    fn place(&self) -> String {
        let (begin, end) = self.schedule.windows.bounds(self.schedule.window);
        format!(
            "{}: window {} (from {} to {}), iteration {}",
            self.name,
            self.schedule.window + 1,
            ShownTime(begin),
            ShownTime(end),
            self.schedule.iteration
        )
    }

    /// Sends what the components of a group need: the data of all others.
    fn send(&self, instance: &mut Instance, group: DataGroup) -> Result<(), Error> {
        let (begin, end) = self.schedule.windows.bounds(self.schedule.window);
        for data in &self.data {
            let elements = match group {
                DataGroup::All => &data.values,
                DataGroup::First if !data.from_first => &data.values,
                DataGroup::Others if data.from_first => &data.results,
                DataGroup::First | DataGroup::Others => continue,
            };
            send_one(instance, &data.output, data.message(elements), (begin, Some(end)))?;
        }
        Ok(())
    }

    /// Receives the data of a group.
    fn receive(&mut self, instance: &mut Instance, group: DataGroup, time: f64) -> Result<(), Error> {
        for at in 0..self.data.len() {
            if !group.has(self.data[at].from_first) {
                continue;
            }
            let input = self.data[at].input.clone();
            let message = instance.receive(&*input, None).map_err(|error| self.ended(error))?;
            if !self.schedule.windows.is_same(message.timestamp, time) {
                return Err(unfit(fault!(
                    WRONG_WINDOW,
                    "{}: the message on \"{input}\" is of time {}, and values at {} are wanted; send each \
                     result with the next_timestamp of the message that the window began with",
                    self.place(),
                    ShownTime(message.timestamp),
                    ShownTime(time)
                )));
            }
            let numbers = numbers_of(&message.data, &self.name)?;
            self.take(at, numbers).map_err(unfit)?;
        }
        Ok(())
    }

    /// Adds the place to the error of a conduit that has ended.
    fn ended(&self, error: Error) -> Error {
        if error.kind() == ErrorKind::Closed {
            let fault = Fault::new(error.code(), format!("{}: {error}", self.place()));
            return Error::other(ErrorKind::Closed, fault);
        }
        error
    }

    /// Keeps the results of an iteration. They must be like the first ones, and finite.
    fn take(&mut self, at: usize, numbers: NumberBuffer<'static>) -> Result<(), Fault> {
        let place = self.place();
        let data = &mut self.data[at];
        let refused = |why: Fault| fault!(CANNOT_MAP, "{place}: the message on \"{}\": {why}", data.input);
        let mut aligned = match &data.frame {
            Some(first) => numbers.aligned_with(&first.frame).map_err(refused)?.into_own(),
            None => numbers,
        };
        let elements = aligned.take_f64();
        if let Some(place_of_other) = elements.iter().position(|element| !element.is_finite()) {
            let count = elements.iter().filter(|element| !element.is_finite()).count();
            return Err(fault!(
                NOT_FINITE,
                "{place}: the message on \"{}\" has {count} of {} values that are not finite, the \
                 first of which is {} at position {place_of_other}",
                data.input,
                elements.len(),
                elements[place_of_other]
            ));
        }
        if data.frame.is_none() {
            data.values = elements.clone();
            data.frame = Some(aligned);
        }
        data.results = elements;
        Ok(())
    }

    fn begin_acceleration(&mut self) {
        let mut begin = 0;
        let leading = self.accelerated.iter().filter(|&&at| self.options.leading[at]);
        let blocks = leading.map(|&at| {
            let end = begin + self.data[at].values.len();
            std::mem::replace(&mut begin, end)..end
        });
        self.acceleration = Some(Acceleration::new(&self.options.method, blocks.collect()));
    }

    /// Ends an iteration: the window is repeated, or the next one begins.
    fn end_iteration(&mut self, instance: &mut Instance) -> Result<(), Error> {
        let data = &self.data;
        let agreement = self.convergence.compare(|at| (&*data[at].values, &*data[at].results));
        self.show(instance, &agreement)?;
        let iteration = self.schedule.iteration;
        let agrees = agreement.is_reached && iteration >= self.options.min_iterations;
        if agrees || !self.options.implicit {
            return self.accept(agreement);
        }
        if iteration < self.options.max_iterations {
            return self.repeat();
        }
        let text = self.disagreement(&agreement);
        if self.options.ends_without {
            return Err(Error::other(ErrorKind::Unexpected, fault!(NO_AGREEMENT, "{text}")));
        }
        instance.log(LogLevel::Warning, &text)?;
        self.accept(agreement)
    }

    /// Returns the text for a window that has not converged.
    fn disagreement(&self, agreement: &Agreement) -> String {
        let measures = self.convergence.measures().iter().zip(&agreement.values);
        let beyond = measures.filter(|(measure, &value)| value > measure.limit || value.is_nan());
        let parts: Vec<String> = beyond
            .map(|(measure, value)| {
                let name = self.data[measure.data].input.trim_end_matches(INPUT_ENDING);
                format!("{name} {} is {value:.3e}, and its limit {:e}", measure.kind.name(), measure.limit)
            })
            .collect();
        format!("{}: no convergence: {}", self.place(), parts.join("; "))
    }

    fn accept(&mut self, agreement: Agreement) -> Result<(), Error> {
        if let Some(record) = &mut self.record {
            record.add(&WindowRow {
                bounds: self.schedule.windows.bounds(self.schedule.window),
                iterations: self.schedule.iteration,
                converged: agreement.is_reached,
                measures: agreement.values,
                worst: agreement.worst,
            })?;
        }
        if self.options.implicit {
            let accelerated = || self.accelerated.iter().map(|&at| &self.data[at]);
            let (values, results) =
                (joined(accelerated(), |data| &data.values), joined(accelerated(), |data| &data.results));
            if let Some(acceleration) = &mut self.acceleration {
                acceleration.end_window(&values, &results);
            }
        }
        self.data.iter_mut().for_each(CoupledData::begin_window);
        self.convergence.begin_window();
        self.schedule.accept();
        Ok(())
    }

    fn repeat(&mut self) -> Result<(), Error> {
        let accelerated = || self.accelerated.iter().map(|&at| &self.data[at]);
        let (values, results) =
            (joined(accelerated(), |data| &data.values), joined(accelerated(), |data| &data.results));
        let Some(acceleration) = &mut self.acceleration else { return Ok(()) };
        let mut next = acceleration.next(&values, &results);
        for &at in self.accelerated.iter().rev() {
            let data = &mut self.data[at];
            let own = next.split_off(next.len() - data.values.len());
            data.values = in_precision(own, data.frame.as_ref());
        }
        let wrong = self.accelerated.iter().find(|&&at| self.data[at].values.iter().any(|x| !x.is_finite()));
        if let Some(&at) = wrong {
            return Err(Error::other(
                ErrorKind::Unexpected,
                fault!(
                    NOT_FINITE,
                    "{}: the values of the next iteration on \"{}\" are not finite; a shorter window or a \
                     smaller \"relaxation\" may help",
                    self.place(),
                    self.data[at].output
                ),
            ));
        }
        self.data.iter_mut().filter(|data| data.from_first).for_each(CoupledData::take_results);
        self.schedule.repeat();
        Ok(())
    }

    /// Takes over the state of a checkpoint. `None` if something is missing or does not fit.
    fn restore_from(&mut self, state: &Value) -> Option<()> {
        let fields = Fields::of(state)?;
        let saved = Fields::of(fields.get("data")?)?;
        for data in &mut self.data {
            data.restore(saved.get(&data.input)?)?;
        }
        self.schedule.restore(fields.get("schedule")?)?;
        self.convergence.restore(fields.list("convergence")?);
        if self.schedule.turn != Turn::Initial {
            self.begin_acceleration();
            let len = self.accelerated.iter().map(|&at| self.data[at].values.len()).sum();
            if let Some(acceleration) = &mut self.acceleration {
                acceleration.restore(fields.get("acceleration")?, len);
            }
        }
        if let Some(record) = &mut self.record {
            record.begin_at(self.schedule.window);
        }
        Some(())
    }

    /// Shows the progress to taps, or sends it if the model joins the port.
    fn show(&self, instance: &mut Instance, agreement: &Agreement) -> Result<(), Error> {
        let (_, end) = self.schedule.windows.bounds(self.schedule.window);
        let (window, iteration) = (self.schedule.window + 1, self.schedule.iteration);
        let progress = Progress([window as f64, iteration as f64, agreement.worst]);
        if self.joins_progress {
            instance.send(PROGRESS_PORT, &Outgoing::at(end, progress.value()), None)
        } else {
            instance.publish(PROGRESS_PORT, end, &progress)
        }
    }
}

/// Returns true if an instance has a port of this name at `O_I`.
fn sends(instance: &Instance, port: &str) -> bool {
    instance.list_ports().get(Operator::OI.name()).is_some_and(|ports| ports.iter().any(|own| own == port))
}

/// Returns elements as they are after they were sent in the precision of a frame.
fn in_precision(mut elements: Vec<f64>, frame: Option<&NumberBuffer<'static>>) -> Vec<f64> {
    if frame.is_some_and(|frame| matches!(frame.real, Real::F32(_))) {
        elements.iter_mut().for_each(|element| *element = f64::from(*element as f32));
    }
    elements
}

/// Returns vectors of several data, one behind the other.
fn joined<'a>(
    data: impl Iterator<Item = &'a CoupledData>,
    of: impl Fn(&'a CoupledData) -> &'a [f64],
) -> Cow<'a, [f64]> {
    let vectors: Vec<&[f64]> = data.map(of).collect();
    match vectors.as_slice() {
        [only] => Cow::Borrowed(only),
        several => Cow::Owned(several.concat()),
    }
}

fn send_one(
    instance: &mut Instance,
    port: &str,
    value: Value,
    (begin, end): (f64, Option<f64>),
) -> Result<(), Error> {
    let message = Outgoing { timestamp: begin, next_timestamp: end, data: (&value).into(), settings: None };
    instance.send(port, &message, None)
}

/// Returns the names of the data: those of the ports without their endings.
fn data_names(instance: &Instance) -> Result<Vec<String>, Fault> {
    let ports = instance.list_ports();
    let of = |operator: Operator| ports.get(operator.name()).cloned().unwrap_or_default();
    let (inputs, outputs) = (of(Operator::S), of(Operator::OI));
    let slots = inputs.iter().chain(&outputs).find(|port| instance.is_vector_port(port) == Ok(true));
    paired(&inputs, &outputs).and_then(|names| match slots {
        Some(port) => Err(fault!(
            SHIPPED_SETTING_WRONG,
            "the port \"{port}\" has slots; give each instance that takes part ports of its own"
        )),
        None => Ok(names),
    })
}

/// Pairs the ports `NAME_in` with the ports `NAME_out`.
fn paired(inputs: &[String], outputs: &[String]) -> Result<Vec<String>, Fault> {
    let other = |port: &str, from: &str, to: &str| port.strip_suffix(from).map(|name| format!("{name}{to}"));
    let lone = |ports: &[String], others: &[String], (from, to): (&str, &str)| {
        ports.iter().find(|port| !other(port, from, to).is_some_and(|pair| others.contains(&pair))).cloned()
    };
    let is_extra = |port: &&String| {
        *port == PROGRESS_PORT
            || other(port, INITIAL_ENDING, INPUT_ENDING).is_some_and(|pair| inputs.contains(&pair))
    };
    let sending: Vec<String> = outputs.iter().filter(|port| !is_extra(port)).cloned().collect();
    let found = lone(inputs, &sending, (INPUT_ENDING, OUTPUT_ENDING))
        .or_else(|| lone(&sending, inputs, (OUTPUT_ENDING, INPUT_ENDING)));
    if let Some(port) = found {
        return Err(fault!(
            SHIPPED_SETTING_WRONG,
            "the port \"{port}\" has no partner: data have two ports, \"NAME{INPUT_ENDING}\" from the \
             component that computes them and \"NAME{OUTPUT_ENDING}\" to those that need them"
        ));
    }
    if inputs.is_empty() {
        return Err(fault!(
            SHIPPED_SETTING_WRONG,
            "no port is joined; connect \"NAME{INPUT_ENDING}\" and \"NAME{OUTPUT_ENDING}\" for each of the data"
        ));
    }
    Ok(inputs.iter().filter_map(|port| port.strip_suffix(INPUT_ENDING)).map(str::to_owned).collect())
}

impl Submodel for Implicit {
    fn initialise(&mut self, instance: &mut Instance) -> Result<(), Error> {
        match self.schedule.windows.short_window() {
            Some(length) => {
                let text = format!(
                    "the window does not divide the time, so the last one has only the length {}",
                    ShownTime(length)
                );
                instance.log(LogLevel::Warning, &text)
            }
            None => Ok(()),
        }
    }

    fn is_done(&self) -> bool {
        self.schedule.turn == Turn::Last
    }

    fn observe(&mut self, instance: &mut Instance) -> Result<(), Error> {
        match self.schedule.turn {
            Turn::Compute(group) => self.send(instance, group),
            Turn::Initial | Turn::Last => Ok(()),
        }
    }

    fn awaits(&self, port: &str) -> bool {
        let Some(data) = self.data.iter().find(|data| data.input == port) else { return false };
        match self.schedule.turn {
            Turn::Initial => true,
            Turn::Compute(group) => group.has(data.from_first),
            Turn::Last => false,
        }
    }

    fn solve(&mut self, instance: &mut Instance) -> Result<(), Error> {
        let (begin, end) = self.schedule.windows.bounds(self.schedule.window);
        self.time = if self.schedule.turn == Turn::Initial { begin } else { end };
        match self.schedule.turn {
            Turn::Initial => {
                self.receive(instance, DataGroup::All, begin)?;
                self.begin_acceleration();
                for data in &self.data {
                    let Some(port) = &data.initial else { continue };
                    send_one(instance, port, data.message(&data.values), (begin, None))?;
                }
            }
            Turn::Compute(group) => self.receive(instance, group, end)?,
            Turn::Last => {}
        }
        if self.schedule.handle_values() {
            self.end_iteration(instance)?;
        }
        // The last values go out before the pass ends.
        if self.schedule.turn == Turn::Last {
            let (_, end) = self.schedule.windows.bounds(self.schedule.windows.count - 1);
            for data in &self.data {
                send_one(instance, &data.output, data.message(&data.values), (end, None))?;
            }
        }
        Ok(())
    }

    fn observe_final(&mut self, _: &mut Instance) -> Result<(), Error> {
        Ok(())
    }

    fn state(&mut self) -> Option<&mut dyn SubmodelState> {
        Some(self)
    }

    fn finish(&mut self, _: &mut Instance) -> Result<(), Error> {
        self.record.take().map_or(Ok(()), CouplingRecord::finish)
    }
}

impl SubmodelState for Implicit {
    fn model_time(&mut self) -> Result<f64, Error> {
        Ok(self.time)
    }

    fn save(&mut self, instance: &mut Instance) -> Result<(), Error> {
        let data = self.data.iter().map(|data| (data.input.clone(), data.state()));
        let state = entries([
            ("schedule", self.schedule.state()),
            ("data", Value::Map(data.collect())),
            ("convergence", self.convergence.state()),
            ("acceleration", self.acceleration.as_ref().map_or(Value::None, Acceleration::state)),
        ]);
        instance.save_snapshot(&Outgoing::at(self.time, &state))
    }

    /// The table and the plot of the run that resumes begin with the window that goes on.
    fn restore(&mut self, instance: &mut Instance) -> Result<(), Error> {
        let saved = instance.load_snapshot()?;
        self.time = saved.timestamp;
        self.restore_from(&saved.data).ok_or_else(|| {
            wrong(fault!(
                CHECKPOINT_UNREADABLE,
                "{}: the checkpoint at {} has other windows, data or another scheme than the model; resume \
                 with the same \"scheme\", \"begin\" and \"window\", and with an \"until\" beyond the \
                 checkpoint",
                self.name,
                ShownTime(saved.timestamp)
            ))
        })
    }
}

/// Puts the last of some samples in the place of the others. The samples are along the first axis.
fn hold_last_sample(elements: &mut [f64], count: usize, order: ArrayOrder) {
    if count < 2 || elements.len() < count {
        return;
    }
    match order {
        ArrayOrder::RowMajor => {
            let (others, last) = elements.split_at_mut(elements.len() - elements.len() / count);
            others.chunks_exact_mut(last.len()).for_each(|sample| sample.copy_from_slice(last));
        }
        ArrayOrder::ColumnMajor => {
            elements.chunks_exact_mut(count).for_each(|samples| samples.fill(samples[count - 1]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_sample_is_held_in_both_memory_orders() {
        let mut by_rows = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        hold_last_sample(&mut by_rows, 3, ArrayOrder::RowMajor);
        assert_eq!(by_rows, [5.0, 6.0, 5.0, 6.0, 5.0, 6.0]);
        let mut by_columns = [1.0, 3.0, 5.0, 2.0, 4.0, 6.0];
        hold_last_sample(&mut by_columns, 3, ArrayOrder::ColumnMajor);
        assert_eq!(by_columns, [5.0, 5.0, 5.0, 6.0, 6.0, 6.0]);
        for count in [0, 1, 7] {
            let mut same = [1.0, 2.0];
            hold_last_sample(&mut same, count, ArrayOrder::RowMajor);
            assert_eq!(same, [1.0, 2.0]);
        }
        hold_last_sample(&mut [], 2, ArrayOrder::RowMajor);
    }

    #[test]
    fn ports_are_paired_by_their_names() {
        let ports = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<String>>();
        let names = paired(&ports("a_in b_in"), &ports("b_out a_out convergence b_initial")).unwrap();
        assert_eq!(names, ["a", "b"]);
        for (inputs, outputs, lone) in [
            ("a_in b_in", "a_out", "b_in"),
            ("a_in", "a_out b_out", "b_out"),
            ("a", "a_out", "\"a\""),
            ("a_in", "a", "a_in"),
            ("a_in", "a_out b_initial", "b_initial"),
            ("", "", "no port is joined"),
            ("convergence", "", "convergence"),
        ] {
            let why = paired(&ports(inputs), &ports(outputs)).unwrap_err().to_string();
            assert!(why.contains(lone), "{inputs}, {outputs}: {why}");
        }
    }
}
