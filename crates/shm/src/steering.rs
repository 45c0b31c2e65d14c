//! Steering inside one endpoint: the changes that the head has announced to it, the instances that have
//! passed the times of these changes, the places where an instance must wait, and the settings that are in
//! force from one of its steps on. The module does no I/O, so tests can drive it through all cases.
//!
//! A change is first *prepared*. The endpoint accepts it if none of its instances that the change concerns
//! has passed the time of the change. From then on these instances do not go beyond that time until the head
//! decides. A change without a time holds each instance at its next step. Only the head knows whether all
//! endpoints have accepted, so only the head may commit or withdraw a change. The endpoint never gives up
//! waiting.

use ligament_wire::steering::{Matter, ModelTime, ScheduledChange, Steer, Steers};
use ligament_wire::times::{begin_of, is_before};
use std::sync::Arc;

/// The place in its loop at which an instance asks for changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    /// In each step of the instance.
    Step = 0,
    /// At the begin of a pass of the reuse loop.
    Pass = 1,
    /// Where the instance asks whether to save its state.
    Save = 2,
}

const GATES: usize = 3;

/// The answer of an endpoint to a change: the number of the change and the answer.
pub type SteeringNotice = (u64, Steers);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChangeStage {
    /// Not accepted yet: some instance that the change concerns has never been at its gate.
    Asked,
    /// Accepted by this endpoint; the head has not decided yet.
    Held,
    /// Committed by the head.
    Good,
}

#[derive(Debug, PartialEq)]
enum ChangeKind {
    /// The new settings.
    Set(Arc<[u8]>),
    Halt,
    Save,
}

#[derive(Debug)]
struct Change {
    number: u64,
    at: Option<f64>,
    stage: ChangeStage,
    kind: ChangeKind,
    gate: Gate,
    /// The instances that the change concerns. The flag is true if the instance has made the change.
    members: Vec<(u32, bool)>,
}

#[derive(Debug, Clone, Copy)]
struct SteppedInstance {
    /// For each gate: the last model time that the instance has passed there, and in `step` the last
    /// increase of that time.
    last: [f64; GATES],
    step: [f64; GATES],
    over: bool,
}

impl Default for SteppedInstance {
    fn default() -> SteppedInstance {
        SteppedInstance { last: [f64::NEG_INFINITY; GATES], step: [f64::INFINITY; GATES], over: false }
    }
}

impl SteppedInstance {
    fn passes(&mut self, gate: Gate, time: f64) {
        let (last, step) = (&mut self.last[gate as usize], &mut self.step[gate as usize]);
        if time > *last {
            (*step, *last) = (time - *last, time);
        }
    }

    /// Returns the step with which the instance comes to `time` at a gate.
    fn step_to(&self, gate: Gate, time: f64) -> f64 {
        let last = self.last[gate as usize];
        if time > last {
            time - last
        } else {
            self.step[gate as usize]
        }
    }
}

/// Returns true if an instance that comes to `time` with this step has reached `at`. This allows for
/// rounding: `time` may be below `at` by up to a quarter of a step. No time below `begin_of(at)` has reached
/// `at`, so one comparison decides most cases. The moments of checkpoints have no step: with an infinite one,
/// all times from `begin_of(at)` on have reached `at`, as for the moments of the model's rules.
fn has_come(time: f64, step: f64, at: f64) -> bool {
    time >= at || time >= begin_of(at) && at - time <= 0.25 * step
}

/// An instance at a gate, its model time, and the step with which it came to that time.
#[derive(Debug, Clone, Copy)]
struct Stand {
    member: u32,
    gate: Gate,
    time: f64,
    step: f64,
}

/// The steering state of an endpoint.
#[derive(Debug)]
pub struct SteeringState {
    members: Vec<SteppedInstance>,
    changes: Vec<Change>,
    here: Option<Stand>,
    /// True if any instance has been at a gate.
    begun: bool,
    /// Every instance that comes to a time below this one can continue without a look at the changes.
    wakes: f64,
    /// Number of checkpoints among the changes.
    saves: usize,
    /// The times of withdrawn checkpoints for which an instance had saved its state already.
    withdrawn_saves: Vec<f64>,
}

impl Default for SteeringState {
    fn default() -> SteeringState {
        // `wakes` begins below all times, so the first instance that comes to a gate is reported.
        SteeringState {
            members: Vec::new(),
            changes: Vec::new(),
            here: None,
            begun: false,
            wakes: f64::NEG_INFINITY,
            saves: 0,
            withdrawn_saves: Vec::new(),
        }
    }
}

impl Change {
    /// Returns the gates at which the change concerns an instance. A halt holds it at its step and its pass.
    fn gates(&self) -> &[Gate] {
        match self.kind {
            ChangeKind::Halt => &[Gate::Step, Gate::Pass],
            _ => std::slice::from_ref(&self.gate),
        }
    }

    fn concerns(&self, member: u32, gate: Gate) -> bool {
        self.gates().contains(&gate) && self.members.iter().any(|&(one, _)| one == member)
    }

    /// Returns true if the change keeps the instance `here` from continuing.
    fn holds(&self, here: Stand) -> bool {
        let come = |at| has_come(here.time, here.step, at);
        match self.stage {
            _ if self.kind == ChangeKind::Save => false,
            ChangeStage::Asked => false,
            ChangeStage::Held => self.at.is_none_or(come),
            ChangeStage::Good => self.kind == ChangeKind::Halt && self.at.is_some_and(come),
        }
    }
}

impl SteeringState {
    /// Adds the changes that are known from the start: committed changes, and the instances that each
    /// concerns.
    pub fn begin(&mut self, schedule: &[(ScheduledChange, Vec<u32>)]) {
        for (ScheduledChange { change, at, matter }, members) in schedule {
            self.add(*change, Some(at.0), matter.clone(), members, ChangeStage::Good);
        }
        self.reckon();
    }

    /// Returns true if any instance has been at a gate.
    pub fn has_begun(&self) -> bool {
        self.begun
    }

    /// Returns the time below which an instance can continue without a look at the changes.
    #[inline(always)]
    pub fn wakes(&self) -> f64 {
        self.wakes
    }

    fn member(&mut self, member: u32) -> &mut SteppedInstance {
        let index = member as usize;
        if self.members.len() <= index {
            self.members.resize_with(index + 1, SteppedInstance::default);
        }
        &mut self.members[index]
    }

    /// Notes that an instance has passed a time at a gate.
    #[inline]
    pub fn passes(&mut self, member: u32, gate: Gate, time: f64) {
        match self.members.get_mut(member as usize) {
            Some(known) => known.passes(gate, time),
            None => self.member(member).passes(gate, time),
        }
    }

    fn add(&mut self, number: u64, at: Option<f64>, matter: Matter, members: &[u32], stage: ChangeStage) {
        let (kind, gate) = match matter {
            Matter::Set { settings, restart } => {
                (ChangeKind::Set(settings.into()), if restart { Gate::Pass } else { Gate::Step })
            }
            Matter::Halt => (ChangeKind::Halt, Gate::Step),
            Matter::Save => (ChangeKind::Save, Gate::Save),
        };
        let members = members.iter().map(|&member| (member, false)).collect();
        self.changes.push(Change { number, at, stage, kind, gate, members });
    }

    /// Handles a request of the head. Returns the answers for the head.
    pub fn hear(&mut self, steer: Steer, members: &[u32]) -> Vec<SteeringNotice> {
        let mut told = Vec::new();
        match steer {
            Steer::Prepare { change, at, matter } => {
                self.changes.retain(|known| known.number != change);
                self.add(change, at.map(|at| at.0), matter, members, ChangeStage::Asked);
                let answer = self.answer(self.changes.len() - 1).unwrap_or(Steers::Unsteered);
                told.push((change, answer));
                // A question for the time of a checkpoint is answered now.
                self.changes.retain(|known| known.kind != ChangeKind::Save || known.at.is_some());
            }
            Steer::Commit { change, at } => {
                if let Some(known) = self.changes.iter_mut().find(|known| known.number == change) {
                    (known.at, known.stage) = (Some(at.0), ChangeStage::Good);
                }
                told.extend(self.forget_made());
            }
            Steer::Withdraw { change } => {
                let saved = |known: &&Change| {
                    known.kind == ChangeKind::Save && known.members.iter().any(|&(_, made)| made)
                };
                let withdrawn = self.changes.iter().filter(|known| known.number == change).filter(saved);
                self.withdrawn_saves.extend(withdrawn.filter_map(|known| known.at));
                self.changes.retain(|known| known.number != change);
            }
            Steer::Move { change, at: None } => self.changes.retain(|known| known.number != change),
            Steer::Move { change, at: Some(at) } => {
                let halt = self.changes.iter_mut().find(|known| known.number == change);
                if let Some(halt) = halt.filter(|known| known.kind == ChangeKind::Halt) {
                    halt.at = Some(at.0);
                }
            }
        }
        // An instance that waits at a gate may now be at a halt: the halt was only prepared before, or was
        // moved to another time that holds the instance, too.
        told.extend(self.halts());
        self.changes.retain(|known| known.stage != ChangeStage::Asked || !known.members.is_empty());
        self.reckon();
        told
    }

    /// Returns the answer to a prepared change, or None if the answer is not known yet.
    fn answer(&mut self, index: usize) -> Option<Steers> {
        let change = &self.changes[index];
        let (mut last, mut next) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
        let (mut alive, mut is_past) = (false, false);
        for &(member, _) in &change.members {
            let known = self.members.get(member as usize).copied().unwrap_or_default();
            if known.over {
                continue;
            }
            alive = true;
            let gates = change.gates();
            let passed = gates.iter().map(|&gate| known.last[gate as usize]).fold(f64::NEG_INFINITY, f64::max);
            is_past |= gates.iter().any(|&gate| {
                let last = known.last[gate as usize];
                let step = if gate == Gate::Save { f64::INFINITY } else { known.step[gate as usize] };
                change.at.is_some_and(|at| has_come(last, step, at))
            });
            if change.kind == ChangeKind::Save {
                next = next.max(passed + known.step[Gate::Save as usize]);
            }
            let is_here =
                self.here.is_some_and(|here| here.member == member && change.concerns(member, here.gate));
            // A halt may also concern an instance that never comes to a gate. Settings need a gate, because
            // the instance reads them only there.
            if passed == f64::NEG_INFINITY && !is_here && matches!(change.kind, ChangeKind::Set(_)) {
                return None;
            }
            last = last.max(passed);
        }
        if !alive {
            self.changes[index].members.clear();
            return Some(Steers::Over);
        }
        if is_past {
            self.changes[index].members.clear();
            return Some(Steers::Past { last: ModelTime(last) });
        }
        let here = self.here.filter(|here| change.concerns(here.member, here.gate));
        let next = here.map_or(next, |here| here.time);
        let next = (next.is_finite() && is_before(last, next)).then_some(ModelTime(next));
        self.changes[index].stage = ChangeStage::Held;
        Some(Steers::Accepts { last: (last > f64::NEG_INFINITY).then_some(ModelTime(last)), next })
    }

    /// Notes that an instance comes to a gate at a model time. Returns the answers for the head.
    pub fn arrives(&mut self, member: u32, gate: Gate, time: f64) -> Vec<SteeringNotice> {
        let step = self.member(member).step_to(gate, time);
        self.begun = true;
        self.here = Some(Stand { member, gate, time, step });
        let mut told = Vec::new();
        for index in 0..self.changes.len() {
            if self.changes[index].stage == ChangeStage::Asked {
                let number = self.changes[index].number;
                told.extend(self.answer(index).map(|answer| (number, answer)));
            }
        }
        self.changes.retain(|known| known.stage != ChangeStage::Asked || !known.members.is_empty());
        told.extend(self.halts());
        told
    }

    /// Returns the halts that hold the instance at the gate.
    fn halts(&self) -> Vec<SteeringNotice> {
        let Some(here) = self.here else { return Vec::new() };
        let stands = |known: &&Change| {
            known.stage == ChangeStage::Good && known.concerns(here.member, here.gate) && known.holds(here)
        };
        let told = |known: &Change| (known.number, Steers::Halts { at: ModelTime(here.time) });
        self.changes.iter().filter(stands).map(told).collect()
    }

    /// Returns the number of the change for which the instance at the gate has to wait.
    pub fn waits_for(&self) -> Option<u64> {
        let here = self.here?;
        let holds = |known: &&Change| known.concerns(here.member, here.gate) && known.holds(here);
        self.changes.iter().find(holds).map(|known| known.number)
    }

    /// Lets the instance at the gate continue. Returns the settings that have changed for it, in their
    /// order, and the answers for the head.
    pub fn leaves(&mut self) -> (Vec<Arc<[u8]>>, Vec<SteeringNotice>) {
        let Some(Stand { member, gate, time, step }) = self.here.take() else { return Default::default() };
        self.passes(member, gate, time);
        let mut due: Vec<(f64, u64, Arc<[u8]>)> = Vec::new();
        for known in self.changes.iter_mut() {
            let (Some(at), ChangeKind::Set(settings)) =
                (known.at.filter(|&at| has_come(time, step, at)), &known.kind)
            else {
                continue;
            };
            if known.stage != ChangeStage::Good || known.gate != gate {
                continue;
            }
            let own = known.members.iter_mut().find(|(one, made)| *one == member && !made);
            if let Some((_, made)) = own {
                *made = true;
                due.push((at, known.number, settings.clone()));
            }
        }
        due.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let told = self.forget_made();
        self.reckon();
        (due.into_iter().map(|(_, _, settings)| settings).collect(), told)
    }

    /// Notes that an instance has ended and reaches no further time. Returns the answers for the head.
    pub fn over(&mut self, member: u32) -> Vec<SteeringNotice> {
        self.member(member).over = true;
        let mut told = Vec::new();
        for index in 0..self.changes.len() {
            if self.changes[index].stage == ChangeStage::Asked {
                let number = self.changes[index].number;
                told.extend(self.answer(index).map(|answer| (number, answer)));
            }
        }
        told.extend(self.forget_made());
        self.changes.retain(|known| known.stage != ChangeStage::Asked || !known.members.is_empty());
        self.reckon();
        told
    }

    /// Notes that the instance at the gate has met an error and did not continue.
    pub fn gives_up(&mut self) {
        self.here = None;
    }

    /// Returns true if no checkpoint is among the changes.
    #[inline(always)]
    pub fn saves_nothing(&self) -> bool {
        self.saves == 0
    }

    /// Returns the latest time of a checkpoint that an instance at `time` has reached and has not saved for.
    pub fn save_due(&self, member: u32, time: f64) -> Option<f64> {
        let saves = self.changes.iter().filter(|known| known.kind == ChangeKind::Save);
        let open = saves.filter(|known| known.members.contains(&(member, false)));
        open.filter_map(|known| known.at).filter(|&at| has_come(time, f64::INFINITY, at)).reduce(f64::max)
    }

    /// Notes that an instance has saved for the checkpoint at `moment`, which is also the one for all earlier
    /// times. Returns the answers for the head.
    pub fn saved(&mut self, member: u32, moment: f64) -> Vec<SteeringNotice> {
        let saves = self.changes.iter_mut().filter(|known| known.kind == ChangeKind::Save);
        for known in saves.filter(|known| known.at.is_some_and(|at| at <= moment)) {
            known.members.iter_mut().filter(|one| one.0 == member).for_each(|one| one.1 = true);
        }
        let told = self.forget_made();
        self.reckon();
        told
    }

    /// Takes the times of the withdrawn checkpoints for which an instance had saved its state.
    pub fn withdrawn_saves(&mut self) -> Vec<f64> {
        std::mem::take(&mut self.withdrawn_saves)
    }

    /// Forgets the committed settings and checkpoints that all instances concerned have. Returns the answers
    /// for the head.
    fn forget_made(&mut self) -> Vec<SteeringNotice> {
        let members = &self.members;
        let is_over = |member: u32| members.get(member as usize).is_some_and(|known| known.over);
        let mut told = Vec::new();
        self.changes.retain(|known| {
            let made = known.stage == ChangeStage::Good
                && known.kind != ChangeKind::Halt
                && known.members.iter().all(|&(one, made)| made || is_over(one));
            if made {
                // If all instances ended before the time of the change, no instance made it, and it is not
                // in force.
                let by_anybody = known.members.iter().any(|&(_, made)| made);
                told.push((known.number, if by_anybody { Steers::Made } else { Steers::Over }));
            }
            !made
        });
        told
    }

    fn reckon(&mut self) {
        self.saves = self.changes.iter().filter(|known| known.kind == ChangeKind::Save).count();
        let from = |known: &Change| match known.stage {
            _ if known.kind == ChangeKind::Save => f64::INFINITY,
            ChangeStage::Asked => f64::NEG_INFINITY,
            ChangeStage::Held | ChangeStage::Good => known.at.map_or(f64::NEG_INFINITY, begin_of),
        };
        let calm = if self.begun { f64::INFINITY } else { f64::NEG_INFINITY };
        self.wakes = self.changes.iter().map(from).fold(calm, f64::min);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_of_steps_has_come_to_the_time_that_it_means() {
        let mut steering = SteeringState::default();
        steering.begin(&[(
            ScheduledChange {
                change: 1,
                at: ModelTime(100.0),
                matter: Matter::Set { settings: vec![1], restart: false },
            },
            vec![0],
        )]);
        let (mut time, mut made) = (0.0, None);
        for step in 0..1002 {
            steering.arrives(0, Gate::Step, time);
            if !steering.leaves().0.is_empty() {
                made = Some(step);
            }
            time += 0.1;
        }
        assert_eq!(made, Some(1000), "{time}");
    }

    #[test]
    fn a_step_that_is_shorter_than_the_last_digits_is_not_taken_for_the_next() {
        let first = f64::INFINITY;
        assert!(!has_come(1.7e12, first, 1.7e12 + 1.0) && !has_come(1.7e9, first, 1.7e9 + 1e-3));
        assert!(has_come(99.9999999999986, first, 100.0));
        assert!(has_come(1.7e9, 1e-3, 1.7e9) && !has_come(1.7e9 - 1e-3, 1e-3, 1.7e9));
        assert!(!has_come(f64::NEG_INFINITY, f64::INFINITY, -1e300));
    }

    #[test]
    fn what_no_member_made_before_all_were_over_is_not_said_to_be_made() {
        let matter = Matter::Set { settings: vec![1], restart: false };
        let scheduled = ScheduledChange { change: 7, at: ModelTime(10.0), matter };
        for (time, end) in [(5.0, Steers::Over), (10.0, Steers::Made)] {
            let mut steering = SteeringState::default();
            steering.begin(&[(scheduled.clone(), vec![0, 1])]);
            steering.arrives(0, Gate::Step, time);
            let (due, told) = steering.leaves();
            assert_eq!((due.len(), told), (usize::from(time >= 10.0), Vec::new()));
            assert_eq!(steering.over(0), Vec::new());
            assert_eq!(steering.over(1), [(7, end)]);
        }
    }
}
