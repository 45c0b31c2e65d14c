//! The scheduler of a process that runs many instances: one thread, which calls the functions of whoever has
//! what they receive. An instance does one step at a time and then lets the others go on.

use super::hub::{Hub, MissingItem};
use super::needs::PortCursor;
use super::share::lock;
use crate::error::Error;
use crate::instance::{Instance, RequestedSettings};
use crate::submodel::Submodel;
use ligament_catalogue::said;
use ligament_model::Operator;
use ligament_shm::status::now;
use ligament_shm::ShmError;
use ligament_wire::control::Request;
use std::sync::{Arc, Mutex};

/// At most so many steps between two looks at the world outside.
const STEPS: u32 = 64;
/// A look at the world outside after a time, ns, that is long beside what it costs: steps may take long.
const POLL_INTERVAL_NS: u64 = 100_000;

/// The next call of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NextCall {
    /// Begins a pass: `F_INIT`.
    Start,
    /// Advances its state: `S`.
    Step,
}

/// An instance and its submodel.
struct ScheduledInstance<S> {
    // Goes first: it may still use the instance.
    submodel: S,
    instance: Instance,
    stage: NextCall,
    /// How far what the next function receives has been looked through.
    cursor: PortCursor,
}

/// Runs the instances of a process.
pub(super) struct Scheduler<S> {
    hub: Arc<Mutex<Hub>>,
    asked: Option<RequestedSettings>,
    /// Instances that are not over.
    members: Vec<Option<Box<ScheduledInstance<S>>>>,
    left: usize,
    /// Whose functions run now.
    at_work: usize,
    /// The agent has asked for a look in this round.
    round: Option<u64>,
    /// How long functions have run since the last look at the world outside, ns.
    unlooked: u64,
}

impl<S: Submodel> Scheduler<S> {
    /// Of a process whose instances ask for settings in `asked`, if the agent wants to know.
    pub fn new(hub: Arc<Mutex<Hub>>, asked: Option<RequestedSettings>) -> Scheduler<S> {
        Scheduler { hub, asked, members: Vec::new(), left: 0, at_work: 0, round: None, unlooked: 0 }
    }

    /// Takes in the next instance, for which `make` makes the submodel.
    ///
    /// # Errors
    /// Errors of `make`, which end the run.
    pub fn add(
        &mut self,
        mut instance: Instance,
        make: &mut impl FnMut(&mut Instance) -> Result<S, Error>,
    ) -> Result<(), Error> {
        lock(&self.hub).attend(self.members.len() as u32);
        match make(&mut instance) {
            Ok(submodel) => {
                let (stage, cursor) = (NextCall::Start, PortCursor::default());
                self.members.push(Some(Box::new(ScheduledInstance { instance, submodel, stage, cursor })));
                self.left += 1;
                Ok(())
            }
            Err(error) => {
                // The reason matters more than whether it could be passed on.
                let _ = instance.error_shutdown(&error.to_string());
                Err(error)
            }
        }
    }

    /// Runs all instances to their ends.
    ///
    /// # Errors
    /// The first error of a function, or of the process's line to the others.
    pub fn run(&mut self) -> Result<(), Error> {
        let mut steps = 0u32;
        while self.left > 0 {
            let next = lock(&self.hub).next_ready();
            if let Some(member) = next {
                self.advance(member as usize)?;
                steps = steps.wrapping_add(1);
                if steps % STEPS == 0 || self.unlooked > POLL_INTERVAL_NS {
                    self.unlooked = 0;
                    let mut hub = lock(&self.hub);
                    let came = hub.look_around();
                    self.round = came.map_err(|error| cut_off(&mut hub, error))?.or(self.round);
                }
                continue;
            }
            let mut hub = lock(&self.hub);
            // Messages that were sent before the agent asked are here by now, and instances that can go on do
            // so first.
            if let Some(round) = self.round.take() {
                let came = hub.look_around();
                self.round = came.map_err(|error| cut_off(&mut hub, error))?;
                if hub.is_quiet() {
                    hub.confirm(round);
                }
                continue;
            }
            let came = hub.idle();
            self.round = came.map_err(|error| cut_off(&mut hub, error))?;
        }
        let mut hub = lock(&self.hub);
        hub.endpoint.show_on(None);
        hub.endpoint.end(false);
        let used = self.asked.as_ref().map(|asked| {
            // Messages within the process have no numbers: none are told of.
            Request::Used { asked: asked.names(), sent: Vec::new(), received: Vec::new() }
        });
        let line = hub.endpoint.custodian();
        let told = used.map_or(Ok(()), |used| line.tell(&used)).and_then(|()| line.tell(&Request::Finished));
        told.map_err(|error| Error::during(error, || "signing off".into()))
    }

    /// Looks at one instance, and calls its next functions if it can go on.
    fn advance(&mut self, number: usize) -> Result<(), Error> {
        self.at_work = number;
        let Some(member) = &mut self.members[number] else { return Ok(()) };
        let lack = {
            let mut hub = lock(&self.hub);
            hub.attend(number as u32);
            hub.overdrawn(number as u32).map(MissingItem::Room)
        };
        let lack = match lack {
            Some(lack) => Ok(Some(lack)),
            None => member.lack(),
        };
        let over = match lack {
            Ok(Some(lack)) => {
                lock(&self.hub).lacks(number as u32, lack);
                return Ok(());
            }
            Ok(None) => {
                let began = now();
                let over = member.step();
                let ended = now();
                self.unlooked += ended.saturating_sub(began);
                lock(&self.hub).ran(number as u32, began, ended);
                over
            }
            Err(error) => Err(error),
        };
        match over {
            Ok(false) => lock(&self.hub).again(number as u32),
            Ok(true) => {
                lock(&self.hub).retire(number as u32, member.instance.incoming());
                self.members[number] = None;
                self.left -= 1;
            }
            Err(error) => {
                let _ = member.instance.error_shutdown(&error.to_string());
                return Err(error);
            }
        }
        Ok(())
    }
}

/// The process cannot go on, for a reason that is none of the instances': the run is told.
fn cut_off(hub: &mut Hub, error: ShmError) -> Error {
    let error = Error::during(error, || "waiting for what light components receive".into());
    // The reason matters more than whether it could be passed on.
    let _ = hub.endpoint.custodian().tell(&Request::Failed { why: error.to_string(), of: None });
    error
}

impl<S: Submodel> ScheduledInstance<S> {
    /// The message or the room that it lacks for its next function.
    fn lack(&mut self) -> Result<Option<MissingItem>, Error> {
        // Nothing comes any more for one that its own code has ended: its next call says so.
        if self.instance.is_over() {
            return Ok(None);
        }
        let operator = match self.stage {
            NextCall::Start => Operator::FInit,
            NextCall::Step => Operator::S,
        };
        Ok(self.instance.missing(operator, &mut self.cursor)?.map(MissingItem::Message))
    }

    /// Calls its next functions, up to where it has to receive again. Whether it is over.
    fn step(&mut self) -> Result<bool, Error> {
        let ScheduledInstance { instance, submodel, stage, cursor } = self;
        match stage {
            NextCall::Start => {
                if !instance.begins_pass()? {
                    submodel.finish(instance)?;
                    instance.finish()?;
                    return Ok(true);
                }
                submodel.initialise(instance)?;
            }
            NextCall::Step => submodel.solve(instance)?,
        }
        *cursor = PortCursor::default();
        if submodel.is_done() {
            submodel.observe_final(instance)?;
            *stage = NextCall::Start;
        } else {
            submodel.observe(instance)?;
            *stage = NextCall::Step;
        }
        Ok(false)
    }
}

impl<S> Drop for Scheduler<S> {
    /// Instances that are not over have not failed, but they do not end their conduits either: nothing of what
    /// they do is true any more.
    fn drop(&mut self) {
        if std::thread::panicking() {
            if let Some(Some(member)) = self.members.get_mut(self.at_work) {
                let _ = member.instance.error_shutdown(&said!(CODE_PANICKED, "the code panicked"));
            }
        }
        for member in self.members.iter_mut().flatten() {
            member.instance.abandon();
        }
    }
}
