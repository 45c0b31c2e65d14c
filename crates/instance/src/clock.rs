//! The clock of an instance, in whole nanoseconds. `tick` advances it by one step: it sends the events that are
//! due, waits for those that must be delivered by then, and applies changes of settings, as `steer` does.
//! Exchange number k of a sender, from 0 on, covers the times from S(k) to S(k+1), with S(k) = k times the
//! interval of the port. It is delivered when the clock of the receiver, whose step is g, comes to ⌊(S(k) +
//! L)/g⌋·g. L is the latency. So the place of a message on its conduit tells when to deliver it, and no process
//! has to ask another. A clock begins anew in each pass of the reuse loop: a mark on the conduit says that a
//! pass is over.

mod state;

use crate::error::{ClockError, Error};
use crate::events::EventPort;
use crate::instance::Instance;
use crate::ports::{PortState, PortTable};
use crate::signal::Signal;
use ligament_shm::endpoint::EmptySource;
use ligament_shm::steering::Gate;
use ligament_wire::control::{ClockInfo, PortClockInfo, Welcome};
use ligament_wire::times::rounding_of_sum;
use ligament_wire::{Header, HeaderWords, MessageKind};

/// The clock of an instance.
#[derive(Debug, Clone)]
pub(crate) struct Clock {
    /// The step, in nanoseconds.
    tick_ns: u64,
    /// The unit of the model's times, in nanoseconds.
    unit_ns: u64,
    /// Number of steps in this pass.
    ticks: u64,
    /// True if the clock was used in this pass.
    pub begun: bool,
    /// True if senders that sort their events by receiver have to learn the ids that this rank wants.
    pub wants_due: bool,
    /// The times of events that may be inserted now.
    pub window: TickWindow,
}

/// The times of events that may be inserted between two ticks.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TickWindow {
    /// The earliest time.
    pub begin: f64,
    /// The earliest time that counts as the time of the next tick.
    pub next: f64,
    /// The earliest time that is later than the next tick.
    pub end: f64,
}

impl Clock {
    pub fn new(info: ClockInfo) -> Clock {
        let ClockInfo { tick, unit } = info;
        let (tick_ns, unit_ns) = (tick.max(1), unit.max(1));
        let window = TickWindow::default();
        let mut clock = Clock { tick_ns, unit_ns, ticks: 0, begun: false, wants_due: true, window };
        clock.set(0);
        clock
    }

    /// Returns the time of the clock in nanoseconds.
    pub fn now_ns(&self) -> u64 {
        self.ticks.saturating_mul(self.tick_ns)
    }

    /// Returns the time of the next tick in nanoseconds.
    pub fn next_ns(&self) -> u64 {
        self.now_ns().saturating_add(self.tick_ns)
    }

    /// Returns a time in the unit of the model: the number that is closest to it.
    pub fn time_of(&self, ns: u64) -> f64 {
        ns as f64 / self.unit_ns as f64
    }

    /// Returns the time of a sample in nanoseconds, from its timestamp in the unit of the model. Samples lie on
    /// the ticks of their sender, which are `interval_ns` apart; the nearest tick is free of rounding errors.
    pub fn sample_ns(&self, timestamp: f64, interval_ns: u64) -> i128 {
        let interval = i128::from(interval_ns.max(1));
        let exact = (timestamp * self.unit_ns as f64).round() as i128;
        let tick = (exact + interval / 2).div_euclid(interval) * interval;
        let rounding = (exact.unsigned_abs() >> 48) as i128 + 1;
        // A filter may have moved the sample away from the tick.
        if (exact - tick).abs() <= rounding {
            tick
        } else {
            exact
        }
    }

    /// Returns true if the exchange `number` of a port is delivered at the time `at_ns` or before.
    pub fn is_due(&self, port: &PortClockInfo, number: u64, at_ns: u64) -> bool {
        let begin = u128::from(number) * u128::from(port.interval) + u128::from(port.latency);
        begin < u128::from(at_ns) + u128::from(self.tick_ns)
    }

    /// Returns true if a time is that of the clock, except for rounding errors of a code that adds up its
    /// steps.
    pub fn is_now(&self, time: f64) -> bool {
        (time - self.time_of(self.now_ns())).abs() <= self.slack()
    }

    /// Returns the largest possible difference between the sum of a code's steps and the time of the clock. It
    /// never reaches into another tick.
    fn slack(&self) -> f64 {
        let (now, next) = (self.time_of(self.now_ns()), self.time_of(self.next_ns()));
        rounding_of_sum(next, self.ticks + 1).min((next - now) / 4.0)
    }

    fn set(&mut self, ticks: u64) {
        self.ticks = ticks;
        let (now, next) = (self.time_of(self.now_ns()), self.time_of(self.next_ns()));
        let slack = self.slack();
        self.window = TickWindow { begin: now - slack, next: next - slack, end: next + slack };
    }
}

/// The state of a port that goes with the clock.
#[derive(Debug)]
pub(crate) struct ClockedPort {
    pub info: PortClockInfo,
    /// For each slot of a receiving port: true if the sender's pass is over.
    pub over: Vec<bool>,
    /// For each slot of a receiving port: true while messages of an earlier pass of the sender are skipped.
    pub passing: Vec<bool>,
    /// The channels of a sending port whose receivers go by a clock. They get the marks.
    pub marked: Vec<usize>,
    pub content: ClockedContent,
}

/// The contents of such a port.
#[derive(Debug)]
pub(crate) enum ClockedContent {
    Events(EventPort),
    Signal(Signal),
}

impl ClockedPort {
    pub fn new(info: PortClockInfo, slots: usize) -> ClockedPort {
        let content = match info.ids {
            Some(ids) => ClockedContent::Events(EventPort::new(ids, slots)),
            None => ClockedContent::Signal(Signal::default()),
        };
        ClockedPort { info, over: vec![false; slots], passing: vec![false; slots], marked: Vec::new(), content }
    }

    pub fn events(&mut self) -> Option<&mut EventPort> {
        match &mut self.content {
            ClockedContent::Events(events) => Some(events),
            ClockedContent::Signal(_) => None,
        }
    }

    pub fn signal(&mut self) -> Option<&mut Signal> {
        match &mut self.content {
            ClockedContent::Signal(signal) => Some(signal),
            ClockedContent::Events(_) => None,
        }
    }

    /// Returns the channels on which receivers send back the ids that they want: those on which this rank sends
    /// them, or those on which it receives them.
    pub fn wants_channels(&self, sends: bool) -> impl Iterator<Item = usize> + '_ {
        let events = match &self.content {
            ClockedContent::Events(events) => Some(events),
            ClockedContent::Signal(_) => None,
        };
        events.into_iter().flat_map(move |events| events.wants_channels(sends))
    }

    /// Prepares a receiving port for the next pass.
    pub fn begin_pass(&mut self) {
        for (over, passing) in self.over.iter_mut().zip(&mut self.passing) {
            *passing = !std::mem::take(over);
        }
        match &mut self.content {
            ClockedContent::Events(events) => events.begin_pass(),
            ClockedContent::Signal(signal) => *signal = Signal::default(),
        }
    }
}

/// Joins the channels that go with the clocks to the ports.
pub(crate) fn join_clocks(table: &mut PortTable, welcome: &Welcome) {
    let mut clocked = |port: u32, join: &dyn Fn(&mut ClockedPort)| {
        if let Some(clocked) = table.ports.get_mut(port as usize).and_then(|port| port.clocked.as_mut()) {
            join(clocked);
        }
    };
    for (index, channel) in welcome.sends.iter().enumerate() {
        match channel.wants_of {
            None if channel.marks == Some(true) => clocked(channel.port, &|port| port.marked.push(index)),
            None => {}
            Some(_) => clocked(channel.port, &|port| {
                let slot = channel.slot.unwrap_or(0) as usize;
                port.events().into_iter().for_each(|events| events.join_sender(slot, index));
            }),
        }
    }
    for (index, channel) in welcome.receives.iter().enumerate() {
        let Some(of) = channel.wants_of else { continue };
        let Some(sends) = welcome.sends.iter().position(|one| one.id == of) else { continue };
        clocked(channel.port, &|port| {
            port.events().into_iter().for_each(|events| events.join_receiver(sends, index));
        });
    }
}

impl Instance {
    /// Returns the time of the instance's clock, in the unit of the model's times (s, if the model does not
    /// give one). The clock begins at 0 in each pass of the reuse loop.
    ///
    /// # Errors
    /// `Usage` if the model gives the instance no tick.
    pub fn time(&self) -> Result<f64, Error> {
        let clock = self.clock.as_ref().ok_or_else(|| self.no_clock())?;
        Ok(clock.time_of(clock.now_ns()))
    }

    /// Advances the clock by one tick: sends the events that are due, waits for those that are to be delivered
    /// by then, and applies changes of settings, as `steer` does. Returns true if settings have changed.
    ///
    /// # Errors
    /// `Usage` if the model gives the instance no tick, or if events have been delivered that the code has not
    /// read. Otherwise as `send`, `receive` and `steer`.
    pub fn tick(&mut self) -> Result<bool, Error> {
        self.alive()?;
        let next = self.clock.as_ref().ok_or_else(|| self.no_clock())?.next_ns();
        self.check_read()?;
        self.begin_clock();
        self.send_wants()?;
        for port in 0..self.table.ports.len() {
            if self.table.ports[port].clocked.is_some() {
                self.send_due(port, next)?;
            }
        }
        for port in 0..self.table.ports.len() {
            if self.table.ports[port].clocked.is_some() {
                self.receive_due(port, next)?;
            }
        }
        let Some(clock) = &mut self.clock else { return Ok(false) };
        clock.set(clock.ticks + 1);
        let time = clock.time_of(clock.now_ns());
        self.pass_gate(Gate::Step, time)
    }

    #[cold]
    pub(crate) fn no_clock(&self) -> Error {
        ClockError::NoClock { instance: self.name().to_owned() }.into()
    }

    pub(crate) fn begin_clock(&mut self) {
        if let Some(clock) = &mut self.clock {
            clock.begun = true;
        }
    }

    /// Ends the pass of the clock when the code asks for the next pass, or for the first one.
    ///
    /// # Errors
    /// `Usage` if the clock was used before the first pass: receivers would take that for a pass.
    pub(crate) fn end_clock_pass(&mut self, passes: u64) -> Result<(), Error> {
        match &self.clock {
            None => Ok(()),
            Some(clock) if passes == 0 && clock.begun => Err(ClockError::BeforeLoop.into()),
            Some(_) if passes == 0 => Ok(()),
            Some(_) => self.end_sending_pass(),
        }
    }

    /// Ends the pass of the clock at the end of the instance, if the clock was used since the last pass ended.
    pub(crate) fn finish_clock(&mut self) -> Result<(), Error> {
        match &self.clock {
            Some(clock) if clock.begun => self.end_sending_pass(),
            _ => Ok(()),
        }
    }

    /// Sends the events that are left, and the mark that the pass is over.
    fn end_sending_pass(&mut self) -> Result<(), Error> {
        self.send_wants()?;
        let Some(clock) = &mut self.clock else { return Ok(()) };
        (clock.begun, clock.wants_due) = (false, true);
        for port in 0..self.table.ports.len() {
            let here = &self.table.ports[port];
            if here.clocked.is_none() || !here.operator.sends() || !here.is_connected() {
                continue;
            }
            self.send_rest_of_events(port)?;
            self.finish_filters(port, |_| true)?;
            self.table.ports[port].begin_clock_pass();
            let header = HeaderWords::from(Header { kind: MessageKind::PassEnd, ..Header::default() });
            let Some(clocked) = &self.table.ports[port].clocked else { continue };
            let sent = self.endpoint.send(&clocked.marked, header, &EmptySource);
            sent.map_err(|error| self.while_sending(error, port, 0))?;
        }
        if let Some(clock) = &mut self.clock {
            clock.set(0);
        }
        Ok(())
    }

    /// Begins a new pass on all receiving ports. Messages that their senders still send in the earlier pass are
    /// skipped.
    pub(crate) fn begin_receiving_pass(&mut self) {
        self.table
            .ports
            .iter_mut()
            .filter(|port| port.operator.receives())
            .for_each(PortState::begin_clock_pass);
    }

    /// Returns true if the pass of a sender is over, on a port that goes with the clock.
    #[inline(always)]
    pub(crate) fn is_pass_over(&self, port: usize, slot: usize) -> bool {
        match &self.table.ports[port].clocked {
            None => false,
            Some(clocked) => clocked.over[slot],
        }
    }

    /// Notes the mark at the end of a sender's pass. Returns false if nothing waits for the mark: the port does
    /// not go with the clock, or the mark belongs to a pass that is skipped.
    #[cold]
    pub(crate) fn ends_sender_pass(&mut self, port: usize, slot: usize) -> bool {
        let Some(clocked) = &mut self.table.ports[port].clocked else { return false };
        if std::mem::take(&mut clocked.passing[slot]) {
            return false;
        }
        clocked.over[slot] = true;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_NS: u64 = 86_400_000_000_000;

    #[test]
    fn the_windows_of_two_ticks_never_overlap() {
        for (tick, unit) in [(1, 1_000_000_000), (5_000_000, 1_000_000), (100_000, DAY_NS), (DAY_NS, DAY_NS)] {
            // A century is the longest time that a clock can count.
            let last = (100 * 365 * DAY_NS / tick).min(1 << 40);
            for ticks in [0, 1, 7, last / 1000, last] {
                let mut clock = Clock::new(ClockInfo { tick, unit });
                clock.set(ticks);
                let (now, next) = (clock.time_of(clock.now_ns()), clock.time_of(clock.next_ns()));
                let TickWindow { begin, next: border, end } = clock.window;
                let middle = now + (next - now) / 2.0;
                assert!(begin <= now && now < border && middle < border, "{tick} {unit} {ticks}");
                assert!(border <= next && next < end && begin < middle, "{tick} {unit} {ticks}");
            }
        }
    }

    #[test]
    fn added_up_steps_lie_at_the_border_to_which_they_belong() {
        let cases = [
            (100_000, 1_000_000, 0.1),
            (25_000, 1_000_000, 0.025),
            (8_640_000_000_000, DAY_NS, 0.1),
            (360_000_000_000, 3_600_000_000_000, 0.1),
            (700_000_000, 1_000_000_000, 0.7),
        ];
        for (tick, unit, step) in cases {
            let mut clock = Clock::new(ClockInfo { tick, unit });
            let mut sum = 0.0;
            for ticks in 0..200_000 {
                clock.set(ticks);
                let TickWindow { begin, next, end } = clock.window;
                assert!(clock.is_now(sum) && sum >= begin && sum < next, "{tick} {unit} {ticks}");
                sum += step;
                assert!(sum >= next && sum < end && !clock.is_now(sum), "{tick} {unit} {ticks}");
            }
        }
    }

    #[test]
    fn the_time_of_a_sample_is_its_tick_also_after_years() {
        for unit in [1, 1_000_000, 1_000_000_000, DAY_NS] {
            let clock = Clock::new(ClockInfo { tick: 1_000_000, unit });
            for ticks in [0u64, 1, 3, 1 << 20, 10_000_000_001, 300_000_000_007] {
                let ns = ticks * 1_000_000;
                assert_eq!(clock.sample_ns(clock.time_of(ns), 1_000_000), i128::from(ns), "{unit} {ticks}");
            }
        }
    }
}
