//! The unrolled order of a model: which operator of which component can be carried out when, if nothing takes
//! time but waiting for messages. Rounds follow each other; what is in one round can be done side by side.

use crate::order::{MessageRate, OperatorOrder, Sends};
use crate::CheckReport;
use ligament_model::{FlatModel, Operator};
use serde::Serialize;
use std::collections::VecDeque;

/// The unrolled order.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tasks {
    /// The model's name.
    pub model: String,
    /// The components' names.
    pub components: Vec<String>,
    /// The tasks; each comes after all that it needs.
    pub tasks: Vec<OperatorTask>,
    /// The number of rounds.
    pub rounds: usize,
    /// Components that wait for ever.
    pub stuck: Vec<String>,
    /// Components whose ports do not say when they are used, which are left out.
    pub unknown: Vec<String>,
    /// True if there would be more tasks than are shown.
    pub is_cut: bool,
}

/// One operator of a component, once.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OperatorTask {
    /// By position in `Tasks::components`.
    pub component: usize,
    pub operator: Operator,
    /// Which pass of the component it belongs to, from 1.
    pub pass: u64,
    /// Which step of the pass, from 1; none before and after the steps.
    pub step: Option<u64>,
    /// From 1.
    pub round: usize,
    /// The tasks before it.
    pub after: Vec<After>,
}

/// That one task comes after another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct After {
    /// By position in `Tasks::tasks`.
    pub task: usize,
    /// The ports, `sender.port` and `receiver.port`, if it is for a message.
    pub message: Option<[String; 2]>,
}

/// More tasks than these are not unrolled.
const MAX_TASKS: usize = 20_000;

impl Tasks {
    /// Unrolls the order of a model that has been checked, with so many steps in a pass where the scales say no
    /// fewer. None, if the model cannot be expanded.
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
    /// Counted from 0.
    pass: u64,
    step: u64,
    /// The iteration that a pass is, outermost number first; none if it is not known.
    path: Option<Vec<u64>>,
    last: Option<usize>,
}

/// The iteration that a pass was, if that is known, and its last task.
type FinishedPass = (Option<Vec<u64>>, Option<usize>);

struct TaskMessage {
    task: usize,
    path: Option<Vec<u64>>,
}

/// The content of a link for a component.
enum LinkContent {
    /// The tasks that it comes after, and the iteration it was sent in.
    Message(Vec<usize>, Option<Vec<u64>>),
    NotYet,
    /// There will be none.
    Never,
}

struct TaskUnroller<'a> {
    flat: &'a FlatModel,
    order: &'a OperatorOrder,
    steps: u64,
    actors: Vec<Actor>,
    tasks: Vec<OperatorTask>,
    /// By link.
    messages: Vec<Vec<TaskMessage>>,
    taken: Vec<usize>,
    /// By part: the iterations that its passes were, and the last task of each.
    ended: Vec<Vec<FinishedPass>>,
    /// The parts that may go on when a part has.
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
            // A component that waits in vain for another step, and need not make it, makes as many as it has
            // made.
            let Some(who) = (0..self.actors.len()).find(|&who| self.may_end(who)) else { break };
            self.actors[who].at = At::End;
            queue.push_back(who);
        }
    }

    /// Returns true if a component waits in a step that is not its first, and nobody has said how many there
    /// are.
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

    /// Lets a component do what comes next, if it can.
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
                    // It makes as many steps as there are messages.
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

    /// The only pass of a component that nobody starts.
    fn begin_alone(&mut self, who: usize) -> Option<bool> {
        self.actors[who].path = Some(Vec::new());
        Some(self.actors[who].pass == 0)
    }

    /// Returns true if there is another pass; none, if that is not known yet.
    fn begin(&mut self, who: usize) -> Option<bool> {
        let order = self.order;
        let starts = &order.parts[who].starts;
        // A message that comes once for each pass says which iteration that is; what is repeated follows from
        // it.
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

    /// Takes a message from each of these links, if all have one.
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

    /// The message of a link that comes next, or that belongs to this iteration.
    fn find(&self, at: usize, key: Option<&[u64]>) -> LinkContent {
        let link = &self.order.links[at];
        let (messages, next) = (&self.messages[at], self.taken[at]);
        let later = |whose: usize| match self.actors[whose].at {
            At::Over => LinkContent::Never,
            _ => LinkContent::NotYet,
        };
        // The iteration of which a message is received again.
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
                // Filters that make more or fewer messages of one: the last that there is.
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

/// Which of what was sent in these iterations is received: the next one, or what is repeated in an iteration.
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

/// The outcome of taking from several links.
enum TakeOutcome {
    All(Vec<After>),
    NotYet,
    Never,
}
