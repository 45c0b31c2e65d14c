//! The unrolled order of a model: for each operator of each component, the first round in which it can run if
//! only the wait for messages takes time. Rounds follow one another, and all tasks of one round can run at the
//! same time.

use crate::order::{MessageRate, OperatorOrder, Sends};
use crate::CheckReport;
use ligament_model::{FlatModel, Operator};
use serde::Serialize;
use std::collections::VecDeque;

/// The unrolled order of a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tasks {
    /// Name of the model.
    pub model: String,
    /// Names of the components.
    pub components: Vec<String>,
    /// Tasks, in an order in which each task comes after all tasks that it needs.
    pub tasks: Vec<OperatorTask>,
    /// Number of rounds.
    pub rounds: usize,
    /// Components that wait forever.
    pub stuck: Vec<String>,
    /// Components that are left out, because the model does not declare when their ports are used.
    pub unknown: Vec<String>,
    /// True if the model has more tasks than are shown.
    pub is_cut: bool,
}

/// One execution of an operator of a component.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OperatorTask {
    /// Index in `Tasks::components`.
    pub component: usize,
    pub operator: Operator,
    /// Number of the component's pass, from 1.
    pub pass: u64,
    /// Number of the step within the pass, from 1. `None` before and after the steps.
    pub step: Option<u64>,
    /// Number of the round, from 1.
    pub round: usize,
    /// Tasks that must come before this task.
    pub after: Vec<After>,
}

/// The relation that a task comes after another task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct After {
    /// Index of the earlier task in `Tasks::tasks`.
    pub task: usize,
    /// If the reason is a message: its ports, `sender.port` and `receiver.port`.
    pub message: Option<[String; 2]>,
}

/// Maximum number of tasks that are unrolled.
const MAX_TASKS: usize = 20_000;

impl Tasks {
    /// Unrolls the order of a model that has been checked. A pass has at most `steps` steps, or fewer if
    /// the scales of the component say so. Returns `None` if the model cannot be expanded.
    pub fn of(report: &CheckReport, steps: u64) -> Option<Tasks> {
        let flat = report.flat.as_ref()?;
        let order = OperatorOrder::of(&report.configuration, flat);
        let mut unrolling = TaskUnroller::new(flat, &order, steps);
        unrolling.unroll();
        Some(unrolling.finished())
    }
}

/// The next action of a component.
#[derive(Clone, Copy, PartialEq)]
enum At {
    Start,
    Send,
    Receive,
    End,
    Over,
}

struct Actor {
    at: At,
    /// Number of the present pass (`pass`) and step (`step`), from 0.
    pass: u64,
    step: u64,
    /// Iteration to which the pass belongs: one number for each loop, the outermost first. `None` if unknown.
    path: Option<Vec<u64>>,
    last: Option<usize>,
}

/// A finished pass: its iteration, if known, and its last task.
type FinishedPass = (Option<Vec<u64>>, Option<usize>);

struct TaskMessage {
    task: usize,
    path: Option<Vec<u64>>,
}

/// The next message of a link, as its receiver sees it.
enum LinkContent {
    /// A message, with the tasks that must end before it can be received, and the iteration in which it was
    /// sent.
    Message(Vec<usize>, Option<Vec<u64>>),
    NotYet,
    /// No message will arrive any more.
    Never,
}

struct TaskUnroller<'a> {
    flat: &'a FlatModel,
    order: &'a OperatorOrder,
    steps: u64,
    actors: Vec<Actor>,
    tasks: Vec<OperatorTask>,
    /// Messages that were sent on each link. `taken` counts the messages that were received.
    messages: Vec<Vec<TaskMessage>>,
    taken: Vec<usize>,
    /// Finished passes of each component.
    ended: Vec<Vec<FinishedPass>>,
    /// Components that may make progress after a component has made progress.
    followers: Vec<Vec<usize>>,
}

impl<'a> TaskUnroller<'a> {
    fn new(flat: &'a FlatModel, order: &'a OperatorOrder, steps: u64) -> TaskUnroller<'a> {
        let count = order.parts.len();
        let actor = |at: usize| {
            let at = if order.parts[at].is_certain { At::Start } else { At::Over };
            Actor { at, pass: 0, step: 0, path: None, last: None }
        };
        let mut followers = vec![Vec::new(); count];
        for link in &order.links {
            followers[link.from].push(link.to);
            if let MessageRate::ForEachPass(part) | MessageRate::AfterPass(part) = link.way {
                followers[part].push(link.to);
            }
        }
        TaskUnroller {
            flat,
            order,
            steps,
            actors: (0..count).map(actor).collect(),
            tasks: Vec::new(),
            messages: order.links.iter().map(|_| Vec::new()).collect(),
            taken: vec![0; order.links.len()],
            ended: vec![Vec::new(); count],
            followers,
        }
    }

    fn unroll(&mut self) {
        let mut queue: VecDeque<usize> = (0..self.actors.len()).collect();
        loop {
            self.advance(std::mem::take(&mut queue));
            // No component can make progress, and one waits for a message for another step. A real code could
            // stop in place of waiting, so this component stops here.
            let Some(who) = (0..self.actors.len()).find(|&who| self.may_end(who)) else { break };
            self.actors[who].at = At::End;
            queue.push_back(who);
        }
    }

    /// Returns true if a component waits in a step after its first, and its scales do not fix the number of
    /// steps.
    fn may_end(&self, who: usize) -> bool {
        let actor = &self.actors[who];
        self.tasks.len() < MAX_TASKS
            && actor.at == At::Receive
            && actor.step > 0
            && self.order.parts[who].steps.is_none()
    }

    fn advance(&mut self, mut queue: VecDeque<usize>) {
        while let Some(who) = queue.pop_front() {
            let mut moved = false;
            while self.tasks.len() < MAX_TASKS && self.moves(who) {
                moved = true;
            }
            if moved {
                queue.extend(&self.followers[who]);
            }
        }
    }

    /// Executes the next action of a component, if possible. Returns true if the component made progress.
    fn moves(&mut self, who: usize) -> bool {
        let order = self.order;
        let part = &order.parts[who];
        let sends = |when| part.outputs.iter().any(|&link| order.links[link].sends == when);
        let steps = if part.inputs.is_empty() && !sends(Sends::InSteps) {
            0
        } else {
            part.steps.map_or(self.steps, |steps| steps.min(self.steps))
        };
        match self.actors[who].at {
            At::Over => return false,
            At::Start => {
                let begun = if part.starts.is_empty() { self.begin_alone(who) } else { self.begin(who) };
                let Some(begun) = begun else { return false };
                self.actors[who].step = 0;
                self.actors[who].at = if begun { At::Send } else { At::Over };
            }
            At::Send if self.actors[who].step == steps => self.actors[who].at = At::End,
            At::Send => {
                if sends(Sends::InSteps) {
                    let task = self.task(who, Operator::OI, Vec::new());
                    let step = self.actors[who].step;
                    let path = self.actors[who].path.clone();
                    self.send(who, Sends::InSteps, task, path.map(|path| [path, vec![step]].concat()));
                }
                self.actors[who].at = At::Receive;
            }
            At::Receive => {
                let key =
                    self.actors[who].path.clone().map(|path| [path, vec![self.actors[who].step]].concat());
                match self.take(who, &part.inputs, key.as_deref()) {
                    TakeOutcome::All(after) => {
                        if !part.inputs.is_empty() {
                            self.task(who, Operator::S, after);
                        }
                        self.actors[who].step += 1;
                        self.actors[who].at = At::Send;
                    }
                    TakeOutcome::NotYet => return false,
                    // No more messages come, so the component has had its last step.
                    TakeOutcome::Never => self.actors[who].at = At::End,
                }
            }
            At::End => {
                if sends(Sends::AtEnd) {
                    let task = self.task(who, Operator::OF, Vec::new());
                    let path = self.actors[who].path.clone();
                    self.send(who, Sends::AtEnd, task, path);
                }
                let actor = &mut self.actors[who];
                self.ended[who].push((actor.path.clone(), actor.last));
                actor.pass += 1;
                actor.at = At::Start;
            }
        }
        true
    }

    /// Begins the only pass of a component that no message starts. Returns `Some(false)` if the pass is
    /// over.
    fn begin_alone(&mut self, who: usize) -> Option<bool> {
        self.actors[who].path = Some(Vec::new());
        Some(self.actors[who].pass == 0)
    }

    /// Begins another pass. Returns `Some(false)` if there is no further pass, and `None` if this is not
    /// known yet.
    fn begin(&mut self, who: usize) -> Option<bool> {
        let order = self.order;
        let starts = &order.parts[who].starts;
        // A message that arrives once for each pass tells the iteration of the pass. The iteration selects the
        // messages that belong to the pass on links with `repeat` filters.
        let direct = starts.iter().copied().find(|&link| self.order.links[link].repeats == 0);
        let path = match direct.map(|link| self.find(link, None)) {
            Some(LinkContent::Message(_, path)) => path,
            Some(LinkContent::NotYet) => return None,
            Some(LinkContent::Never) => return Some(false),
            None if self.actors[who].pass > 0 => return Some(false),
            None => None,
        };
        match self.take(who, starts, path.as_deref()) {
            TakeOutcome::All(after) => {
                self.actors[who].path = path;
                self.task(who, Operator::FInit, after);
                Some(true)
            }
            TakeOutcome::NotYet => None,
            TakeOutcome::Never => Some(false),
        }
    }

    /// Takes a message from each of these links, if all links have a message.
    fn take(&mut self, who: usize, links: &[usize], key: Option<&[u64]>) -> TakeOutcome {
        let mut after = Vec::new();
        for &link in links {
            match self.find(link, key) {
                LinkContent::Message(tasks, _) => {
                    let conduit = &self.flat.conduits[self.order.links[link].conduit];
                    let end =
                        |component: usize, port| format!("{}.{port}", self.flat.components[component].name);
                    let message =
                        || Some([end(conduit.from.component, &conduit.from.port), end(who, &conduit.to.port)]);
                    after.extend(tasks.into_iter().map(|task| After { task, message: message() }));
                }
                LinkContent::NotYet => return TakeOutcome::NotYet,
                LinkContent::Never => return TakeOutcome::Never,
            }
        }
        for &link in links {
            self.taken[link] += 1;
        }
        TakeOutcome::All(after)
    }

    /// Returns the next message of a link. On a link with `repeat` filters, returns the message of the
    /// iteration `key`.
    fn find(&self, at: usize, key: Option<&[u64]>) -> LinkContent {
        let link = &self.order.links[at];
        let (messages, next) = (&self.messages[at], self.taken[at]);
        let later = |whose: usize| match self.actors[whose].at {
            At::Over => LinkContent::Never,
            _ => LinkContent::NotYet,
        };
        // Iteration whose message is received again.
        let outer = key.map(|key| &key[..key.len().saturating_sub(link.repeats)]);
        match link.way {
            MessageRate::Unknown
                if next == 0 || link.repeats > 0 || self.order.parts[link.to].inputs.contains(&at) =>
            {
                LinkContent::Message(Vec::new(), None)
            }
            MessageRate::Unknown => LinkContent::Never,
            MessageRate::Each | MessageRate::AnyNumber | MessageRate::OneIn(_) => {
                let next =
                    if let MessageRate::OneIn(n) = link.way { next.saturating_mul(n as usize) } else { next };
                let paths = messages.iter().map(|message| &message.path);
                let found = place(link.repeats, next, outer, paths).and_then(|at| messages.get(at));
                // If filters may change the number of messages, the last message that was sent stands for the
                // received one.
                let any = matches!(link.way, MessageRate::AnyNumber | MessageRate::OneIn(_))
                    && link.repeats == 0
                    && self.order.parts[link.to].inputs.contains(&at);
                let found = found.or(messages.last().filter(|_| any && self.actors[link.from].at == At::Over));
                match found {
                    Some(message) => LinkContent::Message(vec![message.task], message.path.clone()),
                    None => later(link.from),
                }
            }
            MessageRate::ForEachPass(part) | MessageRate::AfterPass(part) => {
                let ended = &self.ended[part];
                let place = place(link.repeats, next, outer, ended.iter().map(|(path, _)| path));
                let Some((path, last)) = place.and_then(|at| ended.get(at)) else {
                    return later(part);
                };
                let within = |message: &&TaskMessage| match (&message.path, path) {
                    (Some(sent), Some(path)) => sent.starts_with(path),
                    _ => true,
                };
                let message = messages.iter().rfind(within).map(|message| message.task);
                let mut tasks: Vec<usize> = message.into_iter().chain(*last).collect();
                tasks.dedup();
                LinkContent::Message(tasks, path.clone())
            }
        }
    }

    fn task(&mut self, who: usize, operator: Operator, mut after: Vec<After>) -> usize {
        let actor = &mut self.actors[who];
        if let Some(last) = actor.last {
            after.insert(0, After { task: last, message: None });
        }
        let round = 1 + after.iter().map(|after| self.tasks[after.task].round).max().unwrap_or(0);
        let step = matches!(operator, Operator::OI | Operator::S).then_some(actor.step + 1);
        self.tasks.push(OperatorTask { component: who, operator, pass: actor.pass + 1, step, round, after });
        actor.last = Some(self.tasks.len() - 1);
        self.tasks.len() - 1
    }

    fn send(&mut self, who: usize, when: Sends, task: usize, path: Option<Vec<u64>>) {
        for &link in &self.order.parts[who].outputs {
            if self.order.links[link].sends == when {
                self.messages[link].push(TaskMessage { task, path: path.clone() });
            }
        }
    }

    fn finished(self) -> Tasks {
        let is_cut = self.tasks.len() >= MAX_TASKS;
        let name = |at: usize| self.flat.components[at].name.to_string();
        let all = 0..self.actors.len();
        let stuck = all.clone().filter(|&at| !is_cut && self.actors[at].at != At::Over).map(name).collect();
        let unknown = all.clone().filter(|&at| !self.order.parts[at].is_certain).map(name).collect();
        Tasks {
            model: self.flat.name.to_string(),
            components: all.map(name).collect(),
            rounds: self.tasks.iter().map(|task| task.round).max().unwrap_or(0),
            tasks: self.tasks,
            stuck,
            unknown,
            is_cut,
        }
    }
}

/// Returns the index of the message or pass that is received: the next one, or the one of iteration `outer` on
/// a link with `repeat` filters.
fn place<'p>(
    repeats: usize,
    next: usize,
    outer: Option<&[u64]>,
    mut paths: impl Iterator<Item = &'p Option<Vec<u64>>>,
) -> Option<usize> {
    match outer {
        _ if repeats == 0 => Some(next),
        Some(outer) => paths.position(|path| path.as_deref().is_none_or(|path| path == outer)),
        None => Some(0),
    }
}

/// The outcome of taking a message from each of several links.
enum TakeOutcome {
    All(Vec<After>),
    NotYet,
    Never,
}
