//! Signals: an array that the sender samples at its ticks. At its time c, the receiver has the value of the
//! time c less the delay: on the line between two samples, or of the nearest sample.

use crate::error::{ClockError, Error};
use crate::instance::Instance;
use crate::message::{ArrayMut, Message, MessageTimes};
use crate::receive::{Overlay, Wait};
use ligament_wire::times::{is_before, ShownTime};
use ligament_wire::{Array, ArrayMeta, Bytes, DType, Value};

/// The samples around the time of which a receiver wants the value.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    earlier: Option<Sample>,
    later: Option<Sample>,
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
}

impl Instance {
    /// Fails if a port that goes with the clock cannot send a message of this time: it carries events, or the
    /// time is not that of the clock.
    pub(crate) fn check_sample(&mut self, port: usize, timestamp: f64) -> Result<(), Error> {
        let here = &mut self.table.ports[port];
        let Some(clocked) = &mut here.clocked else { return Ok(()) };
        let port = here.name.to_string();
        if clocked.events().is_some() {
            return Err(ClockError::CarriesEvents { port, call: "insert_events" }.into());
        }
        let now = self.time()?;
        if is_before(now, timestamp) || is_before(timestamp, now) {
            let (now, timestamp) = (ShownTime(now).to_string(), ShownTime(timestamp).to_string());
            return Err(ClockError::OffClock { port, timestamp, now }.into());
        }
        self.begin_clock();
        Ok(())
    }

    /// Receives this rank's part of a signal: the value of the time of the clock less the delay.
    #[inline(never)]
    pub(crate) fn receive_signal(&mut self, port: usize, wait: Wait) -> Result<(Message, Overlay), Error> {
        let Some(clock) = &self.clock else { return Err(self.no_clock()) };
        let Some(clocked) = &mut self.table.ports[port].clocked else { return Err(self.no_clock()) };
        let (nearest, interval_ns) = (clocked.info.nearest, clocked.info.interval);
        let wanted_ns = i128::from(clock.now_ns()) - i128::from(clocked.info.latency);
        let wanted = clock.time_of(u64::try_from(wanted_ns).unwrap_or(0));
        loop {
            let signal = self.signal_of(port);
            let enough =
                signal.and_then(|signal| signal.later.as_ref()).is_some_and(|it| it.at_ns >= wanted_ns);
            if enough {
                break;
            }
            let (message, overlay) = self.receive_part(port, wait)?;
            let at_ns = self.clock.as_ref().map_or(0, |clock| clock.sample_ns(message.timestamp, interval_ns));
            if let Some(signal) = self.signal_of(port) {
                signal.earlier = signal.later.replace(Sample { at_ns, message, overlay });
            }
        }
        let Some(Signal { earlier, later: Some(later) }) = self.signal_of(port) else {
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
    let data: Bytes = match one.dtype() {
        DType::Float64 => {
            let pairs = one.as_slice::<f64>()?.iter().zip(other.as_slice::<f64>()?);
            let between: Vec<f64> = pairs.map(|(a, b)| a * (1.0 - share) + b * share).collect();
            bytemuck::cast_slice::<f64, u8>(&between).to_vec().into()
        }
        DType::Float32 => {
            let pairs = one.as_slice::<f32>()?.iter().zip(other.as_slice::<f32>()?);
            let line = |(a, b): (&f32, &f32)| (f64::from(*a) * (1.0 - share) + f64::from(*b) * share) as f32;
            let between: Vec<f32> = pairs.map(line).collect();
            bytemuck::cast_slice::<f32, u8>(&between).to_vec().into()
        }
        _ => return None,
    };
    let meta = ArrayMeta { names: one.names().to_vec(), unit: one.unit().map(str::to_owned), strides: None };
    let meta = (!meta.names.is_empty() || meta.unit.is_some()).then_some(meta);
    Array::new(one.dtype(), one.shape(), one.order(), data, meta).ok()
}
