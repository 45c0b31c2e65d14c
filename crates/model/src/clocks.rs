//! The clocks of a model: the interval that each exchange of events covers, and a check that no loop of
//! exchanges waits for itself. A component with a tick h has a clock that advances by h. An exchange has a
//! latency L, and covers b ticks of its sender. Its number k, from 1 on, carries the events from S(k−1) up to
//! S(k), where S(k) = k·b·h. The receiver, whose tick is g, has it when its clock comes to ⌊(S(k−1) + L)/g⌋·g.

use crate::configuration::Configuration;
use crate::exchange::{EventExchange, Exchange, Interpolation};
use crate::flatten::{FlatConduit, FlatEnd, FlatModel};
use crate::graph::Operator;
use crate::passes::{pass_loops, PassLoop};
use crate::problem::Problem;
use crate::ticks::Nanoseconds;
use ligament_catalogue::Code;
use std::collections::HashMap;

/// The use of a component's clock by a port that carries events or samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortClock {
    /// Number of ids, if the port carries events; `None` if it carries samples.
    pub ids: Option<u64>,
    /// Time between two exchanges of the sender.
    pub interval: Nanoseconds,
    /// For a receiving port: the latency of events, or the delay of a signal.
    pub latency: Nanoseconds,
    /// The value of a signal between two samples.
    pub interpolation: Interpolation,
}

/// The clocks of all ports, by component and place of the port.
pub(crate) type PortClocks = HashMap<(usize, usize), PortClock>;

/// A step of a loop: a conduit from one clock to another.
struct Step<'a> {
    from: usize,
    to: usize,
    conduit: &'a FlatConduit,
    clock: PortClock,
    /// The tick of the sender.
    tick: Nanoseconds,
}

impl Step<'_> {
    /// Returns the latency less the time that an exchange covers, in nanoseconds. The latency of a signal is
    /// its delay less the tick of the sender, since a sample may be sent as late as at the end of its tick.
    fn slack(&self) -> i128 {
        let covered = i128::from(self.clock.interval.0);
        let late = if self.clock.ids.is_none() { i128::from(self.tick.0) } else { 0 };
        i128::from(self.clock.latency.0) - late - covered
    }

    /// Returns the keys that give this step `more` slack. With a buffer of its own, an exchange covers no more
    /// ticks than before when it has more latency.
    fn keys_for(&self, more: Nanoseconds) -> String {
        let latency = Nanoseconds(self.clock.latency.0.saturating_add(more.0));
        match self.clock.ids {
            None => format!("delay: {latency}"),
            Some(_) => format!("latency: {latency}, buffer: {}", self.clock.interval.0 / self.tick.0.max(1)),
        }
    }
}

/// Computes the clocks of the ports of all exchanges. `exchanges` has the exchange of each conduit.
pub(crate) fn clocks_of(
    config: &Configuration,
    flat: &FlatModel,
    exchanges: &[Option<&Exchange>],
) -> (PortClocks, Vec<Problem>) {
    let mut planner = Planner { config, flat, problems: Vec::new() };
    planner.check_ticks();
    let clocked: Vec<(&FlatConduit, &Exchange)> = flat
        .conduits
        .iter()
        .zip(exchanges)
        .filter_map(|(conduit, exchange)| Some((conduit, (*exchange)?)))
        .filter(|(_, exchange)| matches!(exchange, Exchange::Events(_) | Exchange::Signal(_)))
        .collect();
    planner.check_passes(&clocked);
    let intervals = planner.intervals(&clocked);
    if !planner.problems.is_empty() {
        return (PortClocks::new(), planner.problems);
    }
    let mut clocks = PortClocks::new();
    let mut steps = Vec::new();
    for (conduit, exchange) in clocked {
        let Some(&interval) = intervals.get(&(conduit.from.component, conduit.from.place)) else { continue };
        let (ids, latency, interpolation) = match exchange {
            Exchange::Events(events) => (Some(events.ids), events.latency, Interpolation::default()),
            Exchange::Signal(signal) => (None, signal.delay, signal.interpolation),
            Exchange::Messages | Exchange::Array(_) => continue,
        };
        let clock = PortClock { ids, interval, latency, interpolation };
        clocks.insert((conduit.from.component, conduit.from.place), clock.clone());
        if planner.tick_of(&conduit.to).is_some() {
            clocks.insert((conduit.to.component, conduit.to.place), clock.clone());
            let (from, to) = (conduit.from.component, conduit.to.component);
            let tick = planner.tick_of(&conduit.from).unwrap_or_default();
            steps.push(Step { from, to, conduit, clock, tick });
        }
    }
    planner.check_loops(&steps);
    (clocks, planner.problems)
}

struct Planner<'a> {
    config: &'a Configuration,
    flat: &'a FlatModel,
    problems: Vec<Problem>,
}

impl Planner<'_> {
    fn tick_of(&self, end: &FlatEnd) -> Option<Nanoseconds> {
        let name = &self.flat.components[end.component].name;
        self.config.ligament.ticks.get(name).map(|(tick, _)| *tick)
    }

    /// Reports ticks that no clock can have.
    fn check_ticks(&mut self) {
        let options = &self.config.ligament;
        for (name, (_, at)) in &options.ticks {
            let Some(component) = self.flat.components.iter().find(|one| one.name == *name) else {
                let message = format!("\"{name}\" stands under \"ticks:\", and there is no such component");
                let advice = "name the component, without an index";
                self.problems.push(Problem::error(Code::BAD_TICK, at, message, advice));
                continue;
            };
            if self.config.shares_process(component) {
                let message = format!("\"{name}\" has a tick, and shares its process with others");
                let advice = "take it out of \"ticks:\"; it receives events as messages then";
                self.problems.push(Problem::error(Code::BAD_TICK, at, message, advice));
            }
        }
        if let (false, Some((unit, at))) = (options.ticks.is_empty(), &options.time_unit) {
            if Nanoseconds::of_unit(unit).is_none() {
                let message = format!("the model has ticks, and its unit of time is \"{unit}\"");
                let advice = "use one of d, h, min, s, ms, us and ns, in which ticks are whole nanoseconds";
                self.problems.push(Problem::error(Code::BAD_TICK, at, message, advice));
            }
        }
    }

    /// Reports exchanges between components that make their passes in different loops.
    fn check_passes(&mut self, clocked: &[(&FlatConduit, &Exchange)]) {
        // Loops of which a model says that they have the same points in time make their steps together.
        let declared = self.config.models.values().any(|model| !model.matching_timelines.is_empty());
        if clocked.is_empty() || declared {
            return;
        }
        let loops = pass_loops(self.flat);
        let by_clocks = clocked.iter().filter(|(conduit, _)| self.tick_of(&conduit.to).is_some());
        for (conduit, _) in by_clocks.collect::<Vec<_>>() {
            let [from, to] = [conduit.from.component, conduit.to.component];
            if loops[from] == loops[to] || [loops[from], loops[to]].contains(&PassLoop::Unknown) {
                continue;
            }
            let name = |component: usize| &self.flat.components[component].name;
            let passes = |component: usize| match loops[component] {
                PassLoop::Of(other) => {
                    format!("\"{}\" makes a pass in each step of {}", name(component), name(other))
                }
                _ => format!("\"{}\" makes one pass", name(component)),
            };
            let message = format!(
                "\"{} -> {}\" goes by the clocks of both ends, which begin anew in each pass: {}, and {}",
                self.flat.port_of(&conduit.from),
                self.flat.port_of(&conduit.to),
                passes(from),
                passes(to)
            );
            let advice = "let the same component start both, or exchange messages without clocks";
            self.problems.push(Problem::error(Code::TIMELINE_MISMATCH, &conduit.at, message, advice));
        }
    }

    /// Computes the time between two exchanges for each sending port. All conduits of a port have the same
    /// one, because its messages go to all of them.
    fn intervals(&mut self, clocked: &[(&FlatConduit, &Exchange)]) -> HashMap<(usize, usize), Nanoseconds> {
        let mut ticks: HashMap<(usize, usize), (u64, Option<u64>)> = HashMap::new();
        for (conduit, exchange) in clocked {
            let [from, to] = [&conduit.from, &conduit.to].map(|end| self.flat.port_of(end));
            let Some(tick) = self.tick_of(&conduit.from) else {
                let name = &self.flat.components[conduit.from.component].name;
                let message = format!("\"{name}\" sends \"{from} -> {to}\" by its clock, and has no tick");
                let advice =
                    format!("write its tick under \"ligament:\", for example \"ticks: {{{name}: 1 ms}}\"");
                self.problems.push(Problem::error(Code::BAD_TICK, &conduit.at, message, advice));
                continue;
            };
            if exchange.is_pairwise() && self.tick_of(&conduit.to).is_none() {
                let name = &self.flat.components[conduit.to.component].name;
                let message = format!("\"{name}\" is to get the events that it wants, and has no tick");
                let advice =
                    "give it a tick under \"ticks:\", or remove \"routing\": without a clock, it gets \
                              all events as messages";
                self.problems.push(Problem::error(Code::BAD_EXCHANGE, &conduit.at, message, advice));
            }
            if matches!(exchange, Exchange::Signal(_)) && self.tick_of(&conduit.to).is_none() {
                let name = &self.flat.components[conduit.to.component].name;
                let message = format!("\"{name}\" is to have the signal \"{from} -> {to}\", and has no tick");
                let advice = "give it a tick under \"ticks:\": without a clock there is no delay";
                self.problems.push(Problem::error(Code::BAD_TICK, &conduit.at, message, advice));
            }
            let ends = [(&conduit.from, Operator::OF), (&conduit.to, Operator::FInit)];
            let wrong = |(end, no): &&(&FlatEnd, Operator)| {
                self.flat.declared(end).is_some_and(|port| port.operator == *no)
            };
            if let Some((end, _)) = ends.iter().find(wrong) {
                let component = &self.flat.components[end.component];
                let message = format!("\"{from} -> {to}\" goes with a clock, which runs within a pass");
                let advice = if self.config.shares_process(component) {
                    format!("let a code of your own stand in for \"{}\", with a port under s", component.name)
                } else {
                    "declare its ends under o_i and s".to_owned()
                };
                self.problems.push(Problem::error(Code::BAD_EXCHANGE, &conduit.at, message, advice));
            }
            let (automatic, given) = match exchange {
                Exchange::Events(EventExchange { latency, buffer, .. }) => (latency.0 / tick.0, *buffer),
                _ => (1, None),
            };
            let entry = ticks.entry((conduit.from.component, conduit.from.place));
            let (shortest, earlier) = entry.or_insert((u64::MAX, None));
            *shortest = automatic.max(1).min(*shortest);
            if earlier.is_some() && given.is_some() && *earlier != given {
                let message = format!("\"{from}\" has another \"buffer\" in an earlier exchange");
                let advice = "give all exchanges of a port the same: one message goes to all receivers";
                self.problems.push(Problem::error(Code::BAD_EXCHANGE, &conduit.at, message, advice));
            }
            *earlier = earlier.or(given);
        }
        let mut intervals = HashMap::new();
        for (conduit, _) in clocked {
            let port = (conduit.from.component, conduit.from.place);
            let (Some(tick), Some((shortest, given))) = (self.tick_of(&conduit.from), ticks.get(&port)) else {
                continue;
            };
            match tick.0.checked_mul(given.unwrap_or(*shortest)).filter(|interval| *interval < 1 << 62) {
                Some(interval) => {
                    intervals.insert(port, Nanoseconds(interval));
                }
                None => {
                    let message = "an exchange of events covers more than 146 years";
                    let advice = "give it a smaller \"buffer\"";
                    self.problems.push(Problem::error(Code::BAD_TICK, &conduit.at, message, advice));
                }
            }
        }
        intervals
    }

    /// Reports a loop in which the components would wait for each other: one whose latencies are together
    /// shorter than the times that its exchanges cover. Bellman and Ford's search for a negative cycle finds
    /// it, in time proportional to components times conduits (Cormen et al., Introduction to Algorithms,
    /// section 22.1 of the fourth edition).
    fn check_loops(&mut self, steps: &[Step<'_>]) {
        let mut least: HashMap<usize, (i128, Option<usize>)> = HashMap::new();
        for step in steps {
            least.insert(step.from, (0, None));
            least.insert(step.to, (0, None));
        }
        let mut last = None;
        for _ in 0..=least.len() {
            last = None;
            for (index, step) in steps.iter().enumerate() {
                let way = least[&step.from].0 + step.slack();
                if way < least[&step.to].0 {
                    least.insert(step.to, (way, Some(index)));
                    last = Some(step.to);
                }
            }
            if last.is_none() {
                return;
            }
        }
        let Some(mut at) = last else { return };
        // Goes back along the steps until the position is certainly on the loop, and then once around the loop.
        let before = |at: usize| least[&at].1.map(|index| &steps[index]);
        for _ in 0..least.len() {
            at = before(at).map_or(at, |step| step.from);
        }
        let mut around = Vec::new();
        let mut place = at;
        while let Some(step) = before(place) {
            around.push(step);
            place = step.from;
            if place == at {
                break;
            }
        }
        around.reverse();
        self.report(&around);
    }

    fn report(&mut self, around: &[&Step<'_>]) {
        let Some(first) = around.first() else { return };
        let lacking = -around.iter().map(|step| step.slack()).sum::<i128>();
        let lacking = Nanoseconds(u64::try_from(lacking).unwrap_or(u64::MAX));
        let name = |step: &Step<'_>| {
            let [from, to] = [&step.conduit.from, &step.conduit.to].map(|end| self.flat.port_of(end));
            format!("{from} -> {to}")
        };
        let names: Vec<String> = around.iter().map(|step| format!("\"{}\"", name(step))).collect();
        let names = match &names[..] {
            [one] => format!("the exchange {one} leads back to its sender, which would wait for itself"),
            _ => format!(
                "the exchanges {} are a loop whose components would wait for each other",
                names.join(", ")
            ),
        };
        let message = format!("{names}: their latencies and delays are together {lacking} too short");
        let keys = first.keys_for(lacking);
        let advice =
            format!("give \"{}\" the keys {{{keys}}}, or let an exchange cover fewer ticks", name(first));
        self.problems.push(Problem::error(Code::EXCHANGE_LOOP, &first.conduit.at, message, advice));
    }
}
