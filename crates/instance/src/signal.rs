//! Signals: an array that the sender samples at its ticks. At its time c, the receiver gets the value at the
//! time c minus the delay: on the line between two samples, or of the nearest sample.

use crate::chains::Availability;
use crate::checkpoint::values::{message_of_state, message_state};
use crate::clock::Clock;
use crate::error::{ClockError, Error, ErrorKind};
use crate::instance::Instance;
use crate::message::{ArrayMut, Message, MessageTimes};
use crate::receive::{Overlay, Wait};
use ligament_wire::fields::{counted, entries, Fields};
use ligament_wire::times::ShownTime;
use ligament_wire::{Array, DType, Value};
use std::time::Duration;

/// The samples just before and after the time whose value a receiver wants.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    earlier: Option<Sample>,
    later: Option<Sample>,
    /// At a sender: the time of the clock at the last sample, in nanoseconds.
    sent_ns: Option<u64>,
}

/// The value of a signal at one time.
#[derive(Debug, Clone)]
struct Sample {
    at_ns: i128,
    message: Message,
    overlay: Overlay,
}

impl Signal {
    /// Returns true if a sample has been received in this pass.
    pub fn has_begun(&self) -> bool {
        self.later.is_some()
    }

    /// Returns the state for a checkpoint.
    pub fn state(&self) -> Value {
        let sample = |sample: &Option<Sample>| {
            sample.as_ref().map_or(Value::None, |Sample { at_ns, message, overlay }| {
                let at = Value::String(at_ns.to_string());
                entries([("at", at), ("message", message_state(message, overlay))])
            })
        };
        let sent = self.sent_ns.map_or(Value::None, counted);
        entries([("earlier", sample(&self.earlier)), ("later", sample(&self.later)), ("sent", sent)])
    }

    /// Puts a state back. Returns `None` if something is missing, or has another type.
    pub fn restore(&mut self, state: &Value) -> Option<()> {
        let fields = Fields::of(state)?;
        let sample = |key: &str| {
            let Some(state) = fields.present(key)? else { return Some(None) };
            let fields = Fields::of(state)?;
            let (message, overlay) = message_of_state(fields.get("message")?)?;
            Some(Some(Sample { at_ns: fields.text("at")?.parse().ok()?, message, overlay }))
        };
        (self.earlier, self.later) = (sample("earlier")?, sample("later")?);
        self.sent_ns = match fields.present("sent")? {
            None => None,
            Some(_) => Some(fields.count("sent")?),
        };
        Some(())
    }
}

impl Instance {
    /// Returns the times of a message on a port that goes with the clock. A sample has the time of the clock,
    /// without the roundings of a code that adds up its steps. The library sends events with their own times.
    ///
    /// # Errors
    /// `Usage` if a sample has another time than the clock, or is the second one of its tick.
    pub(crate) fn clocked_times(&mut self, port: usize, times: MessageTimes) -> Result<MessageTimes, Error> {
        let Some(clock) = &mut self.clock else { return Err(self.no_clock()) };
        let here = &mut self.table.ports[port];
        let Some(signal) = here.clocked.as_mut().and_then(|clocked| clocked.signal()) else { return Ok(times) };
        let (now_ns, port) = (clock.now_ns(), || here.name.to_string());
        let now = clock.time_of(now_ns);
        if !clock.is_now(times.timestamp) {
            return Err(ClockError::OffClock { port: port(), timestamp: times.timestamp, now }.into());
        }
        if signal.sent_ns == Some(now_ns) {
            return Err(ClockError::SecondSample { port: port(), now: ShownTime(now).to_string() }.into());
        }
        clock.begun = true;
        Ok(MessageTimes { timestamp: now, next_timestamp: times.next_timestamp.map(|next| next.max(now)) })
    }

    /// Notes that a sample was sent at the time of the clock.
    #[cold]
    pub(crate) fn note_sample(&mut self, port: usize) {
        let now_ns = self.clock.as_ref().map(Clock::now_ns);
        if let Some(signal) = self.signal_of(port) {
            signal.sent_ns = now_ns;
        }
    }

    /// Returns true if a code receives the value of a signal on this port.
    pub(crate) fn is_signal(&self, port: usize) -> bool {
        let clocked = self.table.ports[port].clocked.as_ref();
        clocked.is_some_and(|clocked| clocked.info.ids.is_none())
    }

    /// Receives this rank's part of a signal: the value of the time of the clock less the delay.
    #[inline(never)]
    pub(crate) fn receive_signal(&mut self, port: usize, wait: Wait) -> Result<(Message, Overlay), Error> {
        let Some(clock) = &self.clock else { return Err(self.no_clock()) };
        let Some(clocked) = &mut self.table.ports[port].clocked else { return Err(self.no_clock()) };
        let nearest = clocked.info.nearest;
        let wanted_ns = i128::from(clock.now_ns()) - i128::from(clocked.info.latency);
        let wanted = clock.time_of(u64::try_from(wanted_ns).unwrap_or(0));
        self.receive_samples(port, wait)?;
        let Some(Signal { earlier, later: Some(later), .. }) = self.signal_of(port) else {
            return Err(self.no_clock());
        };
        let (mut message, overlay) = (later.message.clone(), later.overlay.clone());
        let earlier = earlier.as_ref().filter(|_| later.at_ns > wanted_ns);
        if let Some(earlier) = earlier {
            let (since, until) = (wanted_ns - earlier.at_ns, later.at_ns - wanted_ns);
            if nearest {
                if since < until {
                    message = earlier.message.clone();
                }
            } else {
                let share = since as f64 / (since + until) as f64;
                let between = interpolate(&earlier.message.data, &later.message.data, share);
                let Some(between) = between else {
                    let port = self.table.ports[port].name.to_string();
                    return Err(ClockError::NoLine { port }.into());
                };
                message.data = Value::Array(between);
            }
        }
        (message.timestamp, message.next_timestamp) = (wanted, None);
        Ok((message, overlay))
    }

    /// Receives samples until one is not earlier than the time whose value is wanted.
    fn receive_samples(&mut self, port: usize, wait: Wait) -> Result<(), Error> {
        let Some(clock) = &self.clock else { return Err(self.no_clock()) };
        let Some(clocked) = &mut self.table.ports[port].clocked else { return Err(self.no_clock()) };
        let interval_ns = clocked.info.interval;
        let wanted_ns = i128::from(clock.now_ns()) - i128::from(clocked.info.latency);
        let deadline = wait.deadline();
        loop {
            let later = self.signal_of(port).and_then(|signal| signal.later.as_ref());
            if later.is_some_and(|sample| sample.at_ns >= wanted_ns) {
                return Ok(());
            }
            let (message, overlay) = self.receive_part(port, deadline)?;
            let at_ns = self.clock.as_ref().map_or(0, |clock| clock.sample_ns(message.timestamp, interval_ns));
            if let Some(signal) = self.signal_of(port) {
                signal.earlier = signal.later.replace(Sample { at_ns, message, overlay });
            }
        }
    }

    /// Tells if the value of a signal is there, or if it will never be, because the sender has ended its pass
    /// or its conduit. Takes in all samples that have arrived.
    pub(crate) fn has_value(&mut self, port: usize) -> Result<Availability, Error> {
        match self.receive_samples(port, Wait::AtMost(Duration::ZERO)) {
            Ok(()) => Ok(Availability::Something),
            Err(error) if error.kind() == ErrorKind::Closed => Ok(Availability::End),
            Err(error) if error.kind() == ErrorKind::TimedOut => Ok(Availability::Nothing),
            Err(error) => Err(error),
        }
    }

    /// Receives this rank's part of a signal into the caller's array.
    pub(crate) fn receive_signal_into(
        &mut self,
        port: usize,
        wait: Wait,
        into: &mut ArrayMut<'_>,
    ) -> Result<MessageTimes, Error> {
        let (message, overlay) = self.receive_signal(port, wait)?;
        self.check_overlay(port, 0, overlay.as_ref())?;
        into.fill_from(&message, 0)?;
        Ok(message.times())
    }

    fn signal_of(&mut self, port: usize) -> Option<&mut Signal> {
        self.table.ports[port].clocked.as_mut()?.signal()
    }

    /// Returns the error of a signal whose sender has ended its pass before the time that is wanted.
    #[cold]
    pub(crate) fn pass_over(&self, port: usize, slot: usize) -> Error {
        let here = &self.table.ports[port];
        match &here.clocked {
            Some(clocked) if clocked.over.get(slot) == Some(&true) => {
                let (port, peer) = (here.name.to_string(), self.peer_of(port, slot));
                ClockError::SignalOver { port, peer }.into()
            }
            _ => self.closed(port, slot),
        }
    }

    /// Fails if a rank asks for another part of a signal after it has received samples of the first one.
    pub(crate) fn check_signal_map(&mut self, port: usize) -> Result<(), Error> {
        let receives = self.table.ports[port].operator.receives();
        if receives && self.signal_of(port).is_some_and(|signal| signal.has_begun()) {
            let port = self.table.ports[port].name.to_string();
            return Err(ClockError::LateMap { port }.into());
        }
        Ok(())
    }
}

/// Returns the value on the line between two arrays, at `share` of the way. `None` if they have no floating
/// numbers, or are not alike.
fn interpolate(one: &Value, other: &Value, share: f64) -> Option<Array> {
    let (Value::Array(one), Value::Array(other)) = (one, other) else { return None };
    if one.dtype() != other.dtype() || one.shape() != other.shape() || one.order() != other.order() {
        return None;
    }
    let shape: Vec<usize> = one.shape().iter().map(|length| *length as usize).collect();
    let line = |a: f64, b: f64| a * (1.0 - share) + b * share;
    let between = match one.dtype() {
        DType::Float64 => {
            let pairs = one.as_slice::<f64>()?.iter().zip(other.as_slice::<f64>()?);
            Array::from_vec(pairs.map(|(a, b)| line(*a, *b)).collect(), &shape, one.order())
        }
        DType::Float32 => {
            let pairs = one.as_slice::<f32>()?.iter().zip(other.as_slice::<f32>()?);
            let line = |(a, b): (&f32, &f32)| line(f64::from(*a), f64::from(*b)) as f32;
            Array::from_vec(pairs.map(line).collect(), &shape, one.order())
        }
        _ => return None,
    };
    let names: Vec<&str> = one.names().iter().map(String::as_str).collect();
    let between = if names.is_empty() { between.ok()? } else { between.ok()?.with_names(&names).ok()? };
    Some(match one.unit() {
        Some(unit) => between.with_unit(unit),
        None => between,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ligament_wire::ArrayOrder;

    fn array(values: &[f64]) -> Value {
        let array = Array::from_slice(values, &[values.len()], ArrayOrder::RowMajor).unwrap();
        Value::Array(array.with_names(&["axis"]).unwrap().with_unit("Hz"))
    }

    #[test]
    fn a_line_keeps_names_unit_and_what_is_no_number() {
        let one = array(&[0.0, 1e308, f64::NAN, f64::INFINITY, -1e308]);
        let other = array(&[4.0, 1e308, 1.0, f64::INFINITY, 1e308]);
        let between = interpolate(&one, &other, 0.25).unwrap();
        assert_eq!((between.names(), between.unit()), (&["axis".to_owned()][..], Some("Hz")));
        let values: &[f64] = between.as_slice().unwrap();
        assert_eq!((values[0], values[1], values[3], values[4]), (1.0, 1e308, f64::INFINITY, -5e307));
        assert!(values[2].is_nan());
    }

    #[test]
    fn there_is_no_line_between_integers_or_arrays_that_are_not_alike() {
        let whole = Array::from_slice(&[1, 2], &[2], ArrayOrder::RowMajor).unwrap();
        assert!(interpolate(&Value::Array(whole.clone()), &Value::Array(whole), 0.5).is_none());
        assert!(interpolate(&array(&[1.0]), &array(&[1.0, 2.0]), 0.5).is_none());
    }
}
