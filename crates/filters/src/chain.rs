//! The filters that run at one end of a conduit, applied one after the other.

use crate::along::{InterpolateSpace, Resample};
use crate::compress::{Compress, Decompress};
use crate::console::Console;
use crate::convert::Type;
use crate::elementwise::{Multiply, Threshold};
use crate::expression::Expression;
use crate::memory::FilterMemory;
use crate::parcel::{Data, Parcel};
use crate::reduce::Reduce;
use crate::series::{Chunk, Dechunk, InterpolateTime, MovingAverage};
use crate::slice::Slice;
use crate::times::{BlockAfter, BlockUntil, Discard, EveryNth, TimeFactor, TimeOffset};
use crate::units::Convert;
use ligament_catalogue::{fault, Fault};
use ligament_model::{Filter, OnError, COMPRESS};
use ligament_wire::times::{ShownTime, TimeSeries};
use ligament_wire::Value;
use std::fmt;
use std::ops::Range;

/// Maximum number of parts into which `interpolate_time` and `interpolate_space` divide one interval.
const MAX_SUBSTEPS: u64 = 1_000_000;

/// The messages that a filter returns for one message.
#[derive(Debug)]
pub enum StepOutput<'a> {
    None,
    One(Parcel<'a>),
    Many(Vec<Parcel<'a>>),
}

impl StepOutput<'_> {
    /// Refuses messages whose times are not finite, or whose next timestamp is before the timestamp. Data
    /// from outside the model may contain such times.
    fn checked(self) -> Result<Self, Fault> {
        let parcels = match &self {
            StepOutput::None => &[],
            StepOutput::One(parcel) => std::slice::from_ref(parcel),
            StepOutput::Many(parcels) => &parcels[..],
        };
        let sound = |parcel: &&Parcel<'_>| {
            let at = parcel.timestamp;
            at.is_finite() && parcel.next_timestamp.is_none_or(|next| next.is_finite() && next >= at)
        };
        match parcels.iter().find(|parcel| !sound(parcel)) {
            None => Ok(self),
            Some(Parcel { timestamp, next_timestamp: None, .. }) => {
                Err(fault!(FILTER_FAILED, "it would make a message of time {timestamp}, which is none"))
            }
            Some(Parcel { timestamp, next_timestamp: Some(next), .. }) => Err(fault!(
                FILTER_FAILED,
                "it would make a message of time {timestamp} and next time {next}, which cannot be"
            )),
        }
    }
}

/// A filter at work, with its memory of earlier messages.
pub trait FilterStep: Send {
    /// Applies the filter to one message. The filter adds its remarks for people to `said`.
    ///
    /// # Errors
    /// The filter cannot process the message; the error says why.
    fn apply<'a>(&mut self, parcel: Parcel<'a>, said: &mut Vec<FilterRemark>) -> Result<StepOutput<'a>, Fault>;

    /// Returns the messages that the filter still holds after the last message.
    ///
    /// # Errors
    /// The filter cannot return these messages; the error says why.
    fn finish(&mut self) -> Result<StepOutput<'static>, Fault> {
        Ok(StepOutput::None)
    }

    /// Returns what the filter remembers of earlier messages, so that a checkpoint can save it. A filter that
    /// only keeps what it can compute again, such as weights, remembers nothing.
    fn memory(&mut self) -> FilterMemory<'_>;
}

/// A function that makes the filters that users have written, which are not in this crate.
pub type MakeOwn<'a> = dyn Fn(&Filter) -> Result<Box<dyn FilterStep>, Fault> + 'a;

/// The properties of the place where filters run.
#[derive(Clone, Copy)]
pub struct FilterContext<'a> {
    /// The function that makes filters that users have written.
    pub own: &'a MakeOwn<'a>,
    /// Maximum length of a message of the conduit, in bytes. None means that only memory limits it.
    pub message_size: Option<u64>,
}

impl FilterContext<'_> {
    /// A place without filters that users have written, and without a limit on the message size.
    pub const NOTHING: FilterContext<'static> = FilterContext { own: &no_own, message_size: None };
}

/// Refuses a filter that a user has written.
///
/// # Errors
/// This function always returns an error.
fn no_own(filter: &Filter) -> Result<Box<dyn FilterStep>, Fault> {
    Err(fault!(FILTER_FAILED, "nothing here runs filters of users' own, as \"{}\"", filter.name))
}

/// A remark of a filter, to be shown to people.
#[derive(Debug, Clone, PartialEq)]
pub struct FilterRemark {
    pub text: String,
    /// True if something went wrong and the run continues.
    pub warning: bool,
}

/// The failure of a filter: which filter, which message, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct FilterFailure {
    /// The position of the filter among the conduit's filters, from 0.
    pub place: usize,
    pub name: &'static str,
    /// The timestamp of the message that the filter refused, in s. None if the filter itself could not be
    /// made.
    pub time: Option<f64>,
    pub cause: Fault,
}

impl fmt::Display for FilterFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "filter {} ({})", self.place + 1, self.name)?;
        if let Some(time) = self.time {
            write!(f, ", message at time {}", ShownTime(time))?;
        }
        write!(f, ": {}", self.cause)
    }
}

impl std::error::Error for FilterFailure {}

/// The output of a chain for one message.
#[derive(Debug, Default)]
pub struct ChainOutput<'a> {
    /// The messages that leave the chain, in order.
    pub parcels: Vec<Parcel<'a>>,
    /// The remarks of the filters, in order.
    pub said: Vec<FilterRemark>,
}

impl ChainOutput<'_> {
    fn warn(&mut self, text: String) {
        self.said.push(FilterRemark { text, warning: true });
    }
}

struct ChainStage {
    place: usize,
    name: &'static str,
    on_error: OnError,
    step: Box<dyn FilterStep>,
}

impl ChainStage {
    /// Returns the failure of the filter itself, whatever the message.
    fn failed(&self, cause: Fault) -> FilterFailure {
        FilterFailure { place: self.place, name: self.name, time: None, cause }
    }
}

/// The filters at one end of a conduit. Each slot of a vector port has its own chain, because filters may
/// remember earlier messages.
pub struct Chain(Vec<ChainStage>);

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|stage| stage.name)).finish()
    }
}

/// Returns the series of timestamps behind these filters. A filter that moves times leaves rounding errors
/// as large as those of the largest number in the computation, so the series compares times with that
/// tolerance.
fn times_behind(filters: &[Filter]) -> TimeSeries {
    let size = filters.iter().fold(0.0f64, |size, filter| match (filter.name, filter.number("by")) {
        ("time_offset", Some(by)) => size + by.abs(),
        ("time_factor", Some(by)) => size * by.abs(),
        _ => size,
    });
    TimeSeries::computed_with(size)
}

fn step(filter: &Filter, series: TimeSeries, around: &FilterContext<'_>) -> Result<Box<dyn FilterStep>, Fault> {
    let count = |name: &str| filter.count(name).unwrap_or(1);
    let number = |name: &str| filter.number(name).unwrap_or_default();
    let text = |name: &str| filter.text(name).unwrap_or_default();
    let axis = filter.count("axis").map(|axis| axis as usize);
    let parts = || match count("parts") {
        parts @ ..=MAX_SUBSTEPS => Ok(parts),
        parts => Err(fault!(FILTER_FAILED, "one can become at most {MAX_SUBSTEPS} parts, and this is {parts}")),
    };
    Ok(match filter.name {
        "every" => Box::new(EveryNth::new(count("n"), series)),
        "block_until" => Box::new(BlockUntil { time: number("time"), series }),
        "block_after" => Box::new(BlockAfter { time: number("time"), series }),
        "time_offset" => Box::new(TimeOffset(number("by"))),
        "time_factor" => Box::new(TimeFactor(number("by"))),
        "interpolate_time" => Box::new(InterpolateTime::new(parts()?)),
        "moving_average" => Box::new(MovingAverage::new(count("n"))),
        "chunk" => Box::new(Chunk::new(count("n"))),
        "dechunk" => Box::new(Dechunk),
        "multiply" => Box::new(Multiply(number("by"))),
        "unit" => Box::new(Convert::new(filter.text("from"), text("to"))?),
        "type" => Box::new(Type::new(text("to"))?),
        "threshold" => {
            let (value, below) = (number("value"), filter.number("below"));
            let above = filter.number("above");
            let below = if below.is_none() && above.is_none() { Some(0.0) } else { below };
            Box::new(Threshold { value, below, above })
        }
        "expression" => Box::new(Expression::parse(text("formula"))?),
        "slice" => Box::new(Slice::parse(text("ranges"))?),
        "reduce" => Box::new(Reduce::new(text("to"), axis)?),
        "interpolate_space" => Box::new(InterpolateSpace::new(parts()? as usize, axis)),
        "resample" => Box::new(Resample::new(filter)?),
        "compress" => {
            let compress = Compress::new(filter.text("method"), filter.count("level"))?;
            Box::new(compress.up_to(around.message_size))
        }
        "console" => Box::new(Console(text("label").to_owned())),
        "discard" => Box::new(Discard),
        _ if filter.is_own() => (around.own)(filter)?,
        other => {
            return Err(fault!(FILTER_FAILED, "there is no filter \"{other}\" in this version of the library"))
        }
    })
}

impl Chain {
    /// Returns the errors in the parameters of a conduit's filters, for example in a formula, a range or a
    /// unit. Filters that users have written are not checked.
    pub fn faults(filters: &[Filter]) -> Vec<FilterFailure> {
        let own = |_: &Filter| Ok(Box::new(Discard) as Box<dyn FilterStep>);
        let around = FilterContext { own: &own, message_size: None };
        let fault = |(place, filter): (usize, &Filter)| {
            let cause = step(filter, TimeSeries::default(), &around).err()?;
            Some(FilterFailure { place, name: filter.name, time: None, cause })
        };
        filters.iter().enumerate().filter_map(fault).collect()
    }

    /// Makes the filters at `places` in the list of all filters of a conduit.
    fn of(
        filters: &[Filter],
        places: Range<usize>,
        around: &FilterContext<'_>,
    ) -> Result<Vec<ChainStage>, FilterFailure> {
        let stage = |place: usize| {
            let (filter, times) = (&filters[place], times_behind(&filters[..place]));
            let name = filter.name;
            let step = step(filter, times, around).map_err(|cause| FilterFailure {
                place,
                name,
                time: None,
                cause,
            })?;
            Ok(ChainStage { place, name, on_error: filter.on_error, step })
        };
        places.map(stage).collect()
    }

    /// Returns the filters of a conduit that run at the sender, or none if no filter runs there.
    ///
    /// # Errors
    /// A parameter of a filter is wrong.
    pub fn at_sender(filters: &[Filter], around: &FilterContext<'_>) -> Result<Option<Chain>, FilterFailure> {
        let stages = Chain::of(filters, 0..Filter::at_sender(filters), around)?;
        Ok((!stages.is_empty()).then_some(Chain(stages)))
    }

    /// Returns the filters of a conduit that run at the receiver, or none if no filter runs there.
    ///
    /// # Errors
    /// A parameter of a filter is wrong.
    pub fn at_receiver(filters: &[Filter], around: &FilterContext<'_>) -> Result<Option<Chain>, FilterFailure> {
        let first = Filter::at_sender(filters);
        let mut stages = Chain::of(filters, first..filters.len(), around)?;
        if let Some(place) = filters.iter().position(|filter| filter.name == COMPRESS) {
            let (name, on_error) = (COMPRESS, OnError::End);
            let decompress = Decompress::default().up_to(around.message_size);
            stages.insert(0, ChainStage { place, name, on_error, step: Box::new(decompress) });
        }
        Ok((!stages.is_empty()).then_some(Chain(stages)))
    }

    /// Applies all filters of the chain to a message.
    ///
    /// # Errors
    /// A filter cannot process the message, and the model says that such an error ends the run.
    pub fn apply<'a>(&mut self, parcel: Parcel<'a>) -> Result<ChainOutput<'a>, FilterFailure> {
        let mut passed = ChainOutput::default();
        run(&mut self.0, parcel, &mut passed)?;
        Ok(passed)
    }

    /// Returns the first filter that may remember something and cannot say what.
    pub fn hidden(&mut self) -> Option<FilterFailure> {
        self.0.iter_mut().find_map(|stage| match stage.step.memory() {
            FilterMemory::Hidden(why) => Some(stage.failed(fault!(CHECKPOINT_UNSUPPORTED, "{why}"))),
            FilterMemory::None | FilterMemory::Some(_) => None,
        })
    }

    /// Returns what the filters remember, for a checkpoint.
    ///
    /// # Errors
    /// A filter cannot say what it remembers.
    pub fn state(&mut self) -> Result<Value, FilterFailure> {
        let state = |stage: &mut ChainStage| {
            let state = match stage.step.memory() {
                FilterMemory::None => return Ok(Value::None),
                FilterMemory::Some(memory) => memory.state(),
                FilterMemory::Hidden(why) => Err(fault!(CHECKPOINT_UNSUPPORTED, "{why}")),
            };
            state.map_err(|cause| stage.failed(cause))
        };
        self.0.iter_mut().map(state).collect::<Result<_, _>>().map(Value::List)
    }

    /// Gives the filters what `state` has returned. No message has passed them yet.
    ///
    /// # Errors
    /// The value is not the state of these filters.
    pub fn restore(&mut self, state: &Value) -> Result<(), FilterFailure> {
        let states = match state {
            Value::List(states) => states.as_slice(),
            _ => &[],
        };
        let mut states = states.iter();
        for stage in &mut self.0 {
            let restored = match (stage.step.memory(), states.next()) {
                (FilterMemory::None | FilterMemory::Hidden(_), Some(Value::None)) => Ok(()),
                (FilterMemory::Some(memory), Some(state)) => memory.restore(state),
                (_, Some(_)) => Err(fault!(CHECKPOINT_UNREADABLE, "it remembers nothing, and did at the save")),
                (_, None) => Err(fault!(CHECKPOINT_UNREADABLE, "the model had fewer filters at the save")),
            };
            restored.map_err(|cause| stage.failed(cause))?;
        }
        match (states.next(), self.0.last()) {
            (Some(_), Some(last)) => {
                Err(last.failed(fault!(CHECKPOINT_UNREADABLE, "the model had more filters at the save")))
            }
            _ => Ok(()),
        }
    }

    /// Returns the messages that the filters still hold after the last message.
    ///
    /// # Errors
    /// As for `apply`.
    pub fn finish(&mut self) -> Result<ChainOutput<'static>, FilterFailure> {
        let mut passed = ChainOutput::default();
        for first in 0..self.0.len() {
            let (done, rest) = self.0.split_at_mut(first + 1);
            let stage = &mut done[first];
            let emitted = match stage.step.finish().and_then(StepOutput::checked) {
                Ok(emitted) => emitted,
                Err(cause) => {
                    let failure = stage.failed(cause);
                    if stage.on_error == OnError::End {
                        return Err(failure);
                    }
                    passed.warn(format!("{failure}; what it still had is left out"));
                    StepOutput::None
                }
            };
            go_on(rest, emitted, &mut passed)?;
        }
        Ok(passed)
    }
}

fn go_on<'a>(
    rest: &mut [ChainStage],
    emitted: StepOutput<'a>,
    passed: &mut ChainOutput<'a>,
) -> Result<(), FilterFailure> {
    match emitted {
        StepOutput::None => Ok(()),
        StepOutput::One(parcel) => run(rest, parcel, passed),
        StepOutput::Many(parcels) => parcels.into_iter().try_for_each(|parcel| run(rest, parcel, passed)),
    }
}

fn run<'a>(
    stages: &mut [ChainStage],
    mut parcel: Parcel<'a>,
    passed: &mut ChainOutput<'a>,
) -> Result<(), FilterFailure> {
    let Some((stage, rest)) = stages.split_first_mut() else {
        passed.parcels.push(parcel);
        return Ok(());
    };
    let time = parcel.timestamp;
    let unchanged = (stage.on_error == OnError::Pass).then(|| {
        // The filter changes owned numbers in place. A shared value survives the filter, so the message can
        // be passed on unchanged if the filter fails.
        parcel.data = match std::mem::replace(&mut parcel.data, Data::Kept(Default::default())) {
            Data::Own(numbers) => Data::Kept(numbers.into_value()),
            shared => shared,
        };
        parcel.clone()
    });
    let cause = match stage.step.apply(parcel, &mut passed.said).and_then(StepOutput::checked) {
        Ok(emitted) => return go_on(rest, emitted, passed),
        Err(cause) => cause,
    };
    let failure = FilterFailure { place: stage.place, name: stage.name, time: Some(time), cause };
    match (stage.on_error, unchanged) {
        (OnError::Skip, _) => passed.warn(format!("{failure}; the message is left out")),
        (OnError::Pass, Some(parcel)) => {
            passed.warn(format!("{failure}; the message goes on as it was"));
            return run(rest, parcel, passed);
        }
        _ => return Err(failure),
    }
    Ok(())
}
