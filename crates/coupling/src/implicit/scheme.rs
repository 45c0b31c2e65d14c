//! The state machine of windows, iterations, and groups of data. It computes nothing and does no I/O.

use ligament_wire::fields::{counted, entries, Fields};
use ligament_wire::times::{after_steps, TimeSeries};
use ligament_wire::Value;

/// The windows of time, s.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Windows {
    begin: f64,
    length: f64,
    until: f64,
    /// Number of windows; the last one may be shorter.
    pub count: u64,
}

/// Maximum number of windows.
const MAX_WINDOWS: f64 = 1e15;

impl Windows {
    /// Divides the time from `begin` to `until`. `None` if there is no window, or if they are too many.
    pub fn new(begin: f64, length: f64, until: f64) -> Option<Windows> {
        let parts = (until - begin) / length;
        let usable = length > 0.0 && parts > 0.0 && parts < MAX_WINDOWS && begin + length > begin;
        if !usable || until - length == until {
            return None;
        }
        let whole = parts.round().max(1.0);
        let last = after_steps(begin, length, whole as u64);
        let fits = TimeSeries::of_step(length).is_same(last, until);
        let count = if fits { whole } else { parts.ceil() };
        Some(Windows { begin, length, until, count: count as u64 })
    }

    /// Returns the length of the last window if it is shorter than the others.
    pub fn short_window(&self) -> Option<f64> {
        let (begin, end) = self.bounds(self.count - 1);
        let full = after_steps(self.begin, self.length, self.count);
        (!TimeSeries::of_step(self.length).is_same(full, self.until)).then_some(end - begin)
    }

    /// Returns begin and end of a window, which are counted from 0.
    pub fn bounds(&self, window: u64) -> (f64, f64) {
        let end = if window + 1 >= self.count {
            self.until
        } else {
            after_steps(self.begin, self.length, window + 1)
        };
        (after_steps(self.begin, self.length, window), end)
    }

    /// Returns true if two times are the same, for windows of this length.
    pub fn is_same(&self, one: f64, other: f64) -> bool {
        TimeSeries::of_step(self.length).is_same(one, other)
    }
}

/// The data that are received together: those of all components, or of the first, or of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DataGroup {
    All,
    First,
    Others,
}

impl DataGroup {
    /// Returns true if data belong to the group. `from_first` says that they are the first component's.
    pub fn has(self, from_first: bool) -> bool {
        match self {
            DataGroup::All => true,
            DataGroup::First => from_first,
            DataGroup::Others => !from_first,
        }
    }
}

/// The next thing that the component does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// Receives the values at the begin of the first window from all.
    Initial,
    /// Sends to the components of a group, and then receives from them.
    Compute(DataGroup),
    /// Sends the last values to all, and ends.
    Last,
}

/// Names of the turns in a checkpoint.
const TURNS: [(Turn, &str); 5] = [
    (Turn::Initial, "initial"),
    (Turn::Compute(DataGroup::All), "all"),
    (Turn::Compute(DataGroup::First), "first"),
    (Turn::Compute(DataGroup::Others), "others"),
    (Turn::Last, "last"),
];

/// The windows, and the place in them.
#[derive(Debug)]
pub(super) struct Schedule {
    pub windows: Windows,
    /// True if the first component computes before the others.
    serial: bool,
    pub window: u64,
    /// Number of this iteration within the window, from 1 on.
    pub iteration: u64,
    pub turn: Turn,
}

impl Schedule {
    pub fn new(windows: Windows, serial: bool) -> Schedule {
        Schedule { windows, serial, window: 0, iteration: 1, turn: Turn::Initial }
    }

    /// Returns the state for a checkpoint.
    pub fn state(&self) -> Value {
        let turn = TURNS.iter().find(|(turn, _)| *turn == self.turn).map_or("", |(_, name)| name);
        entries([
            ("window", counted(self.window)),
            ("iteration", counted(self.iteration)),
            ("turn", Value::String(turn.to_owned())),
            ("begin", Value::Float(self.windows.bounds(self.window).0)),
        ])
    }

    /// Takes over the state of a checkpoint. `None` if it does not fit the windows or the scheme of the model.
    pub fn restore(&mut self, state: &Value) -> Option<()> {
        let fields = Fields::of(state)?;
        let (window, iteration) = (fields.count("window")?, fields.count("iteration")?);
        let name = fields.text("turn")?;
        let turn = TURNS.iter().find(|(_, known)| *known == name).map(|(turn, _)| *turn)?;
        let fits = match turn {
            Turn::Compute(DataGroup::All) => !self.serial,
            Turn::Compute(_) => self.serial,
            Turn::Initial | Turn::Last => true,
        };
        // The components have been told whether a window follows.
        let follows = window < self.windows.count;
        let begin = self.windows.bounds(window).0;
        if !fits || follows == (turn == Turn::Last) || !self.windows.is_same(begin, fields.number("begin")?) {
            return None;
        }
        (self.window, self.iteration, self.turn) = (window, iteration, turn);
        Some(())
    }

    /// Returns the group with which each iteration begins.
    fn first_group(&self) -> DataGroup {
        if self.serial {
            DataGroup::First
        } else {
            DataGroup::All
        }
    }

    /// Notes that the values of this turn have come. Returns true if they end an iteration: `repeat` or
    /// `accept` must follow.
    pub fn handle_values(&mut self) -> bool {
        match self.turn {
            Turn::Initial => self.turn = Turn::Compute(self.first_group()),
            Turn::Compute(DataGroup::First) => self.turn = Turn::Compute(DataGroup::Others),
            Turn::Compute(_) => return true,
            Turn::Last => {}
        }
        false
    }

    /// Begins the window again.
    pub fn repeat(&mut self) {
        self.iteration += 1;
        self.turn = Turn::Compute(self.first_group());
    }

    /// Ends the window. Begins the next one, or the last turn.
    pub fn accept(&mut self) {
        self.window += 1;
        self.iteration = 1;
        self.turn =
            if self.window < self.windows.count { Turn::Compute(self.first_group()) } else { Turn::Last };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_end_at_decimal_times_and_the_last_may_be_short() {
        let windows = Windows::new(0.0, 0.1, 1.0).unwrap();
        assert_eq!((windows.count, windows.short_window()), (10, None));
        assert_eq!(windows.bounds(2), (0.2, 0.3));
        assert_eq!(windows.bounds(9), (0.9, 1.0));
        let windows = Windows::new(2.0, 0.3, 3.0).unwrap();
        assert_eq!((windows.count, windows.bounds(3).1), (4, 3.0));
        assert!((windows.short_window().unwrap() - 0.1).abs() < 1e-12);
        let one = Windows::new(0.0, 2.0, 1.0).unwrap();
        assert_eq!((one.count, one.bounds(0), one.short_window()), (1, (0.0, 1.0), Some(1.0)));
        for (begin, length, until) in [
            (0.0, 0.0, 1.0),
            (0.0, -1.0, 1.0),
            (1.0, 1.0, 1.0),
            (2.0, 1.0, 1.0),
            (0.0, f64::NAN, 1.0),
            (0.0, 1.0, f64::INFINITY),
            (1e17, 1.0, 2e17),
            (0.0, 1e-20, 1.0),
        ] {
            assert_eq!(Windows::new(begin, length, until), None, "{begin} {length} {until}");
        }
    }

    #[test]
    fn a_parallel_window_is_repeated_until_it_is_accepted() {
        let mut schedule = Schedule::new(Windows::new(0.0, 1.0, 2.0).unwrap(), false);
        assert!(!schedule.handle_values());
        assert_eq!(schedule.turn, Turn::Compute(DataGroup::All));
        assert!(schedule.handle_values());
        schedule.repeat();
        assert_eq!((schedule.window, schedule.iteration), (0, 2));
        assert!(schedule.handle_values());
        schedule.accept();
        assert_eq!((schedule.window, schedule.iteration), (1, 1));
        assert!(schedule.handle_values());
        schedule.accept();
        assert_eq!(schedule.turn, Turn::Last);
    }

    #[test]
    fn in_a_serial_window_the_first_component_computes_before_the_others() {
        let mut schedule = Schedule::new(Windows::new(0.0, 1.0, 1.0).unwrap(), true);
        assert!(!schedule.handle_values());
        for _ in 0..3 {
            assert_eq!(schedule.turn, Turn::Compute(DataGroup::First));
            assert!(!schedule.handle_values());
            assert_eq!(schedule.turn, Turn::Compute(DataGroup::Others));
            assert!(schedule.handle_values());
            schedule.repeat();
        }
        assert!(DataGroup::First.has(true) && !DataGroup::First.has(false) && DataGroup::Others.has(false));
    }

    #[test]
    fn a_schedule_is_restored_at_its_place_and_not_in_other_windows() {
        let windows = Windows::new(0.0, 0.5, 2.0).unwrap();
        for serial in [true, false] {
            let mut schedule = Schedule::new(windows, serial);
            loop {
                let mut restored = Schedule::new(windows, serial);
                restored.restore(&schedule.state()).unwrap();
                let place = |one: &Schedule| (one.window, one.iteration, one.turn);
                assert_eq!(place(&restored), place(&schedule));
                if schedule.turn == Turn::Last {
                    break;
                }
                if schedule.handle_values() {
                    if schedule.iteration < 3 {
                        schedule.repeat();
                    } else {
                        schedule.accept();
                    }
                }
            }
            let mut schedule = Schedule::new(windows, serial);
            schedule.handle_values();
            schedule.accept();
            let others = [
                (Windows::new(0.0, 0.25, 2.0), serial),
                (Windows::new(0.0, 0.5, 0.5), serial),
                (Windows::new(0.0, 0.5, 2.0), !serial),
            ];
            for (windows, serial) in others {
                assert!(Schedule::new(windows.unwrap(), serial).restore(&schedule.state()).is_none());
            }
        }
    }
}
