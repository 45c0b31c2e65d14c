//! Deadlocks that follow from the order of the operators, found without running the model. The maximum
//! number of messages on each conduit is the least solution of a few rules, one rule for each operator. A
//! component that can make no progress keeps the number zero, and waits for other such components.
//! `docs/concepts/deadlocks-ahead.md` explains the method, and why the method gives no false alarm.

use crate::notyet::UnsupportedFeatures;
use crate::order::{Hold, MessageRate, OperatorOrder, OrderedComponent, OrderedConduit, Sends};
use crate::{CheckOptions, Ignorable};
use ligament_catalogue::Code;
use ligament_model::{Configuration, FlatModel, Problem};
use std::collections::{HashMap, HashSet, VecDeque};

/// Count that stands for any number.
const UNLIMITED_COUNT: u64 = u64::MAX;
/// Maximum number of messages that are counted exactly, summed over all conduits. A conduit with more messages
/// than its share counts as having any number of them.
const COUNTED: usize = 2_000_000;
/// Maximum number of circles that are reported.
const MAX_REPORTED_CIRCLES: usize = 5;

/// An assumption about the steps that components make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Assumption {
    /// An instance that sends or receives in steps makes a step at some time.
    Sometime,
    /// An instance that receives in steps makes at least one step in its first pass.
    FirstPass,
    /// An instance that receives in steps makes at least two steps. A filter that waits for a point in model
    /// time lets no message pass.
    HeldBack,
    /// All instances make as many steps as their scales say.
    Scales,
}

/// The number of steps that a component makes in a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StepCount {
    /// The component may make any number of steps.
    Any,
    /// The component makes at least this many steps in its first pass.
    InFirst(u64),
    /// The component makes exactly this many steps in each pass.
    Exactly(u64),
}

pub(crate) fn check(
    config: &Configuration,
    flat: &FlatModel,
    options: &CheckOptions,
    problems: &mut Vec<Problem>,
) {
    // These problems make components wait, too. They have been reported already.
    let told = |problem: &Problem| matches!(problem.code, Code::WAITING_CIRCLE | Code::TIMELINE_MISMATCH);
    if problems.iter().any(told) {
        return;
    }
    let order = OperatorOrder::of(config, flat);
    for assumption in [Assumption::Sometime, Assumption::FirstPass, Assumption::HeldBack, Assumption::Scales] {
        let Some(counted) = ProgressBounds::of(&order, assumption) else { continue };
        let mut circles = counted.circles();
        if assumption == Assumption::HeldBack {
            circles.retain(|circle| circle.0.iter().any(|wait| counted.held(wait.link).is_some()));
        }
        for circle in &circles {
            let told = counted.told(flat, circle);
            let at = &flat.conduits[order.links[circle.told_at(&order).link].conduit].at;
            match assumption {
                Assumption::Sometime => UnsupportedFeatures { options, problems }.ignorable(
                    Ignorable::Deadlocks,
                    Code::DEADLOCK_AHEAD,
                    at,
                    told,
                    &counted.way_out(flat, circle),
                ),
                _ => {
                    let advice = counted.way_out(flat, circle);
                    problems.push(Problem::warning(Code::DEADLOCK_AHEAD, at, told, advice));
                }
            }
        }
        // The assumptions become stronger from one to the next. A finding under a weak assumption is more
        // certain, so the search ends with the first one.
        if !circles.is_empty() {
            return;
        }
    }
}

/// The wait of a component on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PredictedWait {
    who: usize,
    /// Component for which `who` waits: the sender of the link, or the component that must end a pass before
    /// the filter `last` passes a message on.
    on: usize,
    link: usize,
    /// True if the component waits within a step. False if the component waits before it begins.
    in_step: bool,
}

/// A circle of waits. Each wait is for the component of the next wait, and the last is for the component of the
/// first.
struct Circle(Vec<PredictedWait>);

impl Circle {
    /// Returns the wait whose conduit is named as the place of the problem.
    fn told_at(&self, order: &OperatorOrder) -> &PredictedWait {
        let ends = |wait: &&PredictedWait| wait.in_step && order.links[wait.link].sends == Sends::AtEnd;
        self.0.iter().find(ends).or(self.0.iter().find(|wait| wait.in_step)).unwrap_or(&self.0[0])
    }
}

/// The maximum progress of each component.
struct ProgressBounds<'a> {
    order: &'a OperatorOrder,
    assumption: Assumption,
    steps: Vec<StepCount>,
    /// True for a component that makes a step in its first pass, because it has only one pass or because its
    /// scales say so. Indexed by component.
    sure: Vec<bool>,
    /// Maximum number of passes begun. The next fields have passes ended and steps begun. Indexed by component.
    passes: Vec<u64>,
    ended: Vec<u64>,
    begun: Vec<u64>,
    /// True for a component that may have ended for good, so that filters behind it release the messages that
    /// they hold. Indexed by component.
    over: Vec<bool>,
    /// For each component, the components whose progress depends on its progress.
    followers: Vec<Vec<usize>>,
    /// Largest count that is exact. A larger count stands for any number.
    most: u64,
}

impl<'a> ProgressBounds<'a> {
    /// Computes the bounds under an assumption. Returns `None` if the model does not declare enough for the
    /// assumption, for example no scales.
    fn of(order: &'a OperatorOrder, assumption: Assumption) -> Option<ProgressBounds<'a>> {
        let count = order.parts.len();
        let once = happen_once(order);
        let sure: Vec<bool> =
            order.parts.iter().zip(once).map(|(part, once)| once || part.makes_steps).collect();
        let steps = |at: usize| -> Option<StepCount> {
            let part = &order.parts[at];
            let waits = !part.inputs.is_empty();
            Some(match assumption {
                Assumption::Sometime if waits && sure[at] => StepCount::InFirst(1),
                Assumption::FirstPass if waits => StepCount::InFirst(1),
                Assumption::HeldBack if waits => StepCount::InFirst(2),
                Assumption::Sometime | Assumption::FirstPass | Assumption::HeldBack => StepCount::Any,
                Assumption::Scales if part.is_certain && has_steps(order, part) => {
                    StepCount::Exactly(part.steps?)
                }
                Assumption::Scales if part.is_certain => StepCount::Any,
                Assumption::Scales => return None,
            })
        };
        let steps = (0..count).map(steps).collect::<Option<Vec<_>>>()?;
        if assumption == Assumption::Scales && !counts_exactly(order) {
            return None;
        }
        let is_held = |link: &OrderedConduit| link.holds.is_some();
        if assumption == Assumption::HeldBack && !order.links.iter().any(is_held) {
            return None;
        }
        let mut followers = vec![Vec::new(); count];
        for link in &order.links {
            let whose = match link.way {
                MessageRate::ForEachPass(part) | MessageRate::AfterPass(part) => part,
                _ => link.from,
            };
            followers[whose].push(link.to);
        }
        for list in &mut followers {
            list.sort_unstable();
            list.dedup();
        }
        let most = match assumption {
            Assumption::Scales => (COUNTED / order.links.len().max(1)).clamp(16, 100_000) as u64,
            // Counts up to 2 must be exact: a filter may hold back that many messages, and an assumption
            // needs two steps.
            _ if order.links.iter().any(is_held) => 2,
            _ => 1,
        };
        let zeros = || vec![0; count];
        let (passes, ended, begun, over) = (zeros(), zeros(), zeros(), vec![false; count]);
        let mut counted =
            ProgressBounds { order, assumption, steps, sure, passes, ended, begun, over, followers, most };
        counted.count();
        Some(counted)
    }

    fn count(&mut self) {
        let mut queue: VecDeque<usize> = (0..self.order.parts.len()).collect();
        let mut waits = vec![true; queue.len()];
        while let Some(part) = queue.pop_front() {
            waits[part] = false;
            let (passes, ended, begun) = self.how_far(part);
            let over = self.may_be_over(part, ended);
            let changed = (ended, begun, over) != (self.ended[part], self.begun[part], self.over[part]);
            self.over[part] = over;
            (self.passes[part], self.ended[part], self.begun[part]) = (passes, ended, begun);
            if changed {
                for &follower in &self.followers[part] {
                    if !std::mem::replace(&mut waits[follower], true) {
                        queue.push_back(follower);
                    }
                }
            }
        }
    }

    /// Returns the maximum number of passes begun, passes ended and steps begun by a component, if all messages
    /// that can arrive have arrived.
    fn how_far(&self, at: usize) -> (u64, u64, u64) {
        let part = &self.order.parts[at];
        if !part.is_certain {
            return (UNLIMITED_COUNT, UNLIMITED_COUNT, UNLIMITED_COUNT);
        }
        let starts = if part.starts.is_empty() { 1 } else { self.least(&part.starts) };
        let inputs = self.least(&part.inputs);
        let ended = match self.steps[at] {
            StepCount::Any => starts,
            StepCount::InFirst(steps) if inputs < steps => 0,
            StepCount::InFirst(_) => starts,
            StepCount::Exactly(_) if inputs == UNLIMITED_COUNT => starts,
            StepCount::Exactly(steps) => starts.min(inputs / steps),
        };
        let passes = starts.min(ended.saturating_add(1));
        let begun = match self.steps[at] {
            _ if passes == 0 => 0,
            StepCount::Exactly(steps) => steps.saturating_mul(passes).min(inputs.saturating_add(1)),
            _ => inputs.saturating_add(1),
        };
        let counted = |n: u64| if n > self.most { UNLIMITED_COUNT } else { n };
        (counted(passes), counted(ended), counted(begun))
    }

    /// Returns true if a component that has ended `ended` passes may have ended for good, because no
    /// component calls it any more.
    fn may_be_over(&self, at: usize, ended: u64) -> bool {
        let part = &self.order.parts[at];
        let no_caller = |&link: &usize| {
            let link = &self.order.links[link];
            self.over[link.from]
                || !matches!(link.way, MessageRate::Each | MessageRate::AnyNumber | MessageRate::OneIn(_))
        };
        let is_free = if part.starts.is_empty() { ended > 0 } else { part.starts.iter().any(no_caller) };
        !part.is_certain || is_free
    }

    /// Returns the text of a link's filter if the filter keeps some of the sent messages from arriving.
    fn held(&self, link: usize) -> Option<&str> {
        let link = &self.order.links[link];
        let holds = link.holds.as_ref()?;
        let is_why = self.sent(link) > self.through(link, self.sent(link));
        is_why.then_some(holds.filter.as_str())
    }

    /// Returns true if a filter of a link waits for a point in model time before it passes messages on.
    fn is_by_time(&self, link: usize) -> bool {
        self.order.links[link].holds.as_ref().is_some_and(|holds| holds.hold == Hold::ByTime)
    }

    /// Returns the maximum number of messages that are sent on a link.
    fn sent(&self, link: &OrderedConduit) -> u64 {
        match link.sends {
            Sends::InSteps => self.begun[link.from],
            Sends::AtEnd => self.ended[link.from],
            Sends::AtAnyTime => UNLIMITED_COUNT,
        }
    }

    /// Returns the maximum number of messages that pass the filters of a link, if `sent` messages are sent.
    fn through(&self, link: &OrderedConduit, sent: u64) -> u64 {
        let any = |n: u64| if n > 0 { UNLIMITED_COUNT } else { 0 };
        let holds_all = match link.holds.as_ref().map(|holds| holds.hold) {
            Some(Hold::All) => true,
            Some(Hold::UntilMore) => sent < 2,
            Some(Hold::ByTime) => self.assumption == Assumption::HeldBack,
            Some(Hold::MostOf(_)) | None => false,
        };
        match link.way {
            MessageRate::AnyNumber if holds_all && !self.over[link.from] => 0,
            MessageRate::AnyNumber => any(sent),
            MessageRate::OneIn(_) if sent == UNLIMITED_COUNT => UNLIMITED_COUNT,
            MessageRate::OneIn(n) => sent.div_ceil(n),
            _ => sent,
        }
    }

    /// Returns the number of messages on the link that has the fewest.
    fn least(&self, links: &[usize]) -> u64 {
        links.iter().map(|&link| self.arrived(link)).min().unwrap_or(UNLIMITED_COUNT)
    }

    /// Returns the maximum number of messages that arrive on a link.
    fn arrived(&self, link: usize) -> u64 {
        let link = &self.order.links[link];
        let any = |n: u64| if n > 0 { UNLIMITED_COUNT } else { 0 };
        match link.way {
            MessageRate::Each | MessageRate::AnyNumber | MessageRate::OneIn(_) => {
                self.through(link, self.sent(link))
            }
            MessageRate::ForEachPass(part) => self.ended[part],
            MessageRate::AfterPass(part) => any(self.ended[part]),
            MessageRate::Unknown => UNLIMITED_COUNT,
        }
    }

    /// Returns the waits of a component that cannot make progress. A component counts as such if it needs
    /// another message to begin its next step or to end a pass.
    fn waits(&self, who: usize) -> Vec<PredictedWait> {
        let part = &self.order.parts[who];
        let in_step = self.passes[who] > self.ended[who];
        let links = if in_step { &part.inputs } else { &part.starts };
        // If the counts are not exact, a wait is certain only before the first pass has ended.
        let nothing_yet = self.assumption == Assumption::Scales || self.ended[who] == 0 || !in_step;
        if !part.is_certain || !nothing_yet {
            return Vec::new();
        }
        let least = self.least(links);
        let enough = match (self.assumption, self.steps[who]) {
            (Assumption::Scales, _) => UNLIMITED_COUNT,
            (_, StepCount::InFirst(steps)) if in_step => steps,
            (_, _) if in_step => 1,
            // A component that has used all messages that start it needs one message more.
            _ => self.ended[who].saturating_add(1),
        };
        if least >= enough {
            return Vec::new();
        }
        let lacks = links.iter().filter(|&&link| self.arrived(link) == least);
        lacks
            .map(|&link| {
                let on = match self.order.links[link].way {
                    MessageRate::ForEachPass(part) | MessageRate::AfterPass(part) => part,
                    _ => self.order.links[link].from,
                };
                PredictedWait { who, on, link, in_step }
            })
            .collect()
    }

    /// Returns the circles of waits. Waits that lead to a circle and are not part of it are left out.
    fn circles(&self) -> Vec<Circle> {
        let mut circles = Vec::new();
        let mut finished: HashSet<usize> = HashSet::new();
        for first in 0..self.order.parts.len() {
            if finished.contains(&first) {
                continue;
            }
            // The search is depth-first. `path` has the waits that lead to the present component.
            let mut path: Vec<PredictedWait> = Vec::new();
            let mut place: HashMap<usize, usize> = HashMap::from([(first, 0)]);
            let mut open: Vec<(usize, Vec<PredictedWait>)> = vec![(first, self.waits(first))];
            while let Some((who, waits)) = open.last_mut() {
                let Some(wait) = waits.pop() else {
                    place.remove(who);
                    finished.insert(*who);
                    open.pop();
                    path.pop();
                    continue;
                };
                if let Some(&from) = place.get(&wait.on) {
                    let circle: Vec<PredictedWait> = path[from..].iter().copied().chain([wait]).collect();
                    // An instance that waits for its next start message when all work is done is not stuck.
                    let is_stuck = circle.iter().any(|wait| wait.in_step || self.passes[wait.who] == 0);
                    if is_stuck && circles.len() < MAX_REPORTED_CIRCLES {
                        circles.push(Circle(circle));
                    }
                    // All components on this path lead to this circle or are part of it, so no search starts
                    // from them again.
                    finished.extend(place.keys());
                    break;
                }
                if !finished.contains(&wait.on) {
                    place.insert(wait.on, open.len());
                    path.push(wait);
                    open.push((wait.on, self.waits(wait.on)));
                }
            }
        }
        circles
    }

    /// Describes a circle: each component, the port where it waits, and the component for which it waits.
    fn told(&self, flat: &FlatModel, circle: &Circle) -> String {
        let name = |part: usize| format!("\"{}\"", flat.components[part].name);
        let mut text = String::new();
        let mut assumed: Vec<String> = Vec::new();
        for wait in &circle.0 {
            let link = &self.order.links[wait.link];
            let conduit = &flat.conduits[link.conduit];
            let end = |component: usize, port: &ligament_model::Identifier| {
                let component = &flat.components[component];
                let operator =
                    component.ports.get(port).map_or(String::new(), |port| format!(" ({})", port.operator));
                format!("\"{}.{port}\"{operator}", component.name)
            };
            let (at, from) = (end(wait.who, &conduit.to.port), end(link.from, &conduit.from.port));
            let when = match (self.assumption, wait.in_step) {
                (Assumption::Scales, false) => "before it begins".to_owned(),
                (_, false) if self.ended[wait.who] > 0 => "before it begins again".to_owned(),
                (_, false) => "before it begins".to_owned(),
                (Assumption::Scales, true) => {
                    let steps = self.order.parts[wait.who].steps.unwrap_or(1).max(1);
                    let made = self.least(&self.order.parts[wait.who].inputs);
                    let pass = self.passes[wait.who];
                    let step = made.saturating_sub((pass - 1).saturating_mul(steps)) + 1;
                    if pass > 1 {
                        format!("in step {step} of pass {pass}")
                    } else {
                        format!("in step {step}")
                    }
                }
                (_, true) if self.least(&self.order.parts[wait.who].inputs) > 0 => {
                    "in its second step".to_owned()
                }
                (_, true) => "in its first step".to_owned(),
            };
            let what = match link.way {
                MessageRate::ForEachPass(part) | MessageRate::AfterPass(part) => {
                    format!("the last message of {from}, which is known when {} has ended a pass", name(part))
                }
                _ => match self.held(wait.link) {
                    Some(filter) => format!("{from}, of which the filter \"{filter}\" holds back what is sent"),
                    None => from,
                },
            };
            let between = if text.is_empty() { "" } else { "; " };
            text.push_str(&format!("{between}{} waits at {at} {when} for {what}", name(wait.who)));
            let is_assumed = !self.sure[wait.who] || self.assumption == Assumption::HeldBack;
            if wait.in_step && is_assumed {
                assumed.push(name(wait.who));
            }
        }
        let none = if circle.0.len() == 1 { "this can never go on" } else { "these can never go on" };
        match self.assumption {
            Assumption::Sometime => format!("{none}: {text}"),
            Assumption::FirstPass => {
                let makes = if assumed.len() == 1 {
                    "makes a step in its first pass"
                } else {
                    "make a step in their first passes"
                };
                format!("if {} {makes}, {none}: {text}", assumed.join(" and "))
            }
            Assumption::HeldBack => {
                let of_times = |wait: &&PredictedWait| self.is_by_time(wait.link);
                match circle.0.iter().find(of_times) {
                    Some(_) => format!("as long as its filter holds messages back, {none}: {text}"),
                    None => format!("if {} receives in each step, {none}: {text}", assumed.join(" and ")),
                }
            }
            Assumption::Scales => format!("if all take as many steps as their scales say, {none}: {text}"),
        }
    }

    /// Returns advice for breaking a circle.
    fn way_out(&self, flat: &FlatModel, circle: &Circle) -> String {
        let waits = &circle.0;
        for wait in waits {
            if let Some(filter) = self.held(wait.link) {
                let conduit = &flat.conduits[self.order.links[wait.link].conduit];
                return format!(
                    "take the filter \"{filter}\" out of the conduit to \"{}.{}\", or let \"{}\" go on without \
                     an answer to each message",
                    flat.components[wait.who].name, conduit.to.port, flat.components[wait.on].name
                );
            }
        }
        for (at, wait) in waits.iter().enumerate().filter(|(_, wait)| wait.in_step) {
            // `before` is the wait of the component that waits for this component.
            let before = &waits[(at + waits.len() - 1) % waits.len()];
            let link = &self.order.links[before.link];
            let (own, theirs) =
                (&flat.conduits[self.order.links[wait.link].conduit], &flat.conduits[link.conduit]);
            let names = (&flat.components[wait.who].name, &own.to.port);
            let last = matches!(link.way, MessageRate::ForEachPass(_) | MessageRate::AfterPass(_));
            if last {
                return format!(
                    "take \"last\" out of the conduit to \"{}.{}\", or let \"{}\" do without \"{}\"",
                    flat.components[link.to].name, theirs.to.port, names.0, names.1
                );
            }
            if link.sends == Sends::AtEnd {
                return format!(
                    "let \"{}.{}\" be an O_I port, which sends before \"{}\" waits at \"{}\"; or let another \
                     component send first",
                    names.0, theirs.from.port, names.0, names.1
                );
            }
        }
        let wait = &waits[0];
        let port = &flat.conduits[self.order.links[wait.link].conduit].to.port;
        if wait.in_step {
            "let both sides make steps for each message of the other, or let one of them send first".to_owned()
        } else {
            format!(
                "let \"{}.{port}\" be an S port, so that \"{}\" can begin without it, or begin the circle \
                 elsewhere",
                flat.components[wait.who].name, flat.components[wait.who].name
            )
        }
    }
}

/// Returns true if the number of steps of a component has an effect on other components.
fn has_steps(order: &OperatorOrder, part: &OrderedComponent) -> bool {
    !part.inputs.is_empty() || part.outputs.iter().any(|&link| order.links[link].sends == Sends::InSteps)
}

/// Returns true if the number of messages on each conduit follows exactly from the number of steps.
fn counts_exactly(order: &OperatorOrder) -> bool {
    let exact = |link: &usize| {
        matches!(
            order.links[*link].way,
            MessageRate::Each | MessageRate::ForEachPass(_) | MessageRate::OneIn(_)
        )
    };
    let filters = order.links.iter().all(|link| match link.way {
        MessageRate::Each | MessageRate::ForEachPass(_) | MessageRate::OneIn(_) => true,
        MessageRate::AnyNumber | MessageRate::AfterPass(_) => link.repeats > 0,
        MessageRate::Unknown => false,
    });
    filters && order.parts.iter().all(|part| part.starts.is_empty() || part.starts.iter().any(exact))
}

/// Returns true for each component that has at most one pass.
fn happen_once(order: &OperatorOrder) -> Vec<bool> {
    let mut once = vec![false; order.parts.len()];
    let mut queue: Vec<usize> = (0..once.len()).filter(|&at| order.parts[at].starts.is_empty()).collect();
    let mut followers: Vec<Vec<usize>> = vec![Vec::new(); once.len()];
    for link in order.parts.iter().flat_map(|part| &part.starts).map(|&start| &order.links[start]) {
        match (link.way, link.sends) {
            (MessageRate::Each, Sends::AtEnd) => followers[link.from].push(link.to),
            (MessageRate::ForEachPass(part), _) => followers[part].push(link.to),
            _ => {}
        }
    }
    while let Some(part) = queue.pop() {
        if order.parts[part].is_certain && !std::mem::replace(&mut once[part], true) {
            queue.extend(&followers[part]);
        }
    }
    once
}
