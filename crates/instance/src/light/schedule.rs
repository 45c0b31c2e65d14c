//! The scheduler of a process that runs many instances. It has one thread, which calls the functions of
//! each instance whose messages have arrived. An instance does one step at a time, and then the other
//! instances get their step.

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

/// Maximum number of steps between two checks for messages from other processes.
const STEPS: u32 = 64;
/// Running time of functions, in ns, after which the scheduler checks for messages from other processes,
/// since steps may be long. It is large compared to the time of a check.
const POLL_INTERVAL_NS: u64 = 100_000;

/// The function of an instance that is called next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NextCall {
    /// The first function of a pass. It receives on `F_INIT` ports.
    Start,
    /// The function that advances the state. It receives on `S` ports.
    Step,
}

/// An instance and its submodel.
struct ScheduledInstance<S> {
    // The submodel is dropped first, because its drop may still use the instance.
    submodel: S,
    instance: Instance,
    stage: NextCall,
    /// Position up to which the ports of the next function have been checked for messages.
    cursor: PortCursor,
}

/// Runs all instances of a process.
pub(super) struct Scheduler<S> {
    hub: Arc<Mutex<Hub>>,
    asked: Option<RequestedSettings>,
    /// The instances. An instance that is over is `None`.
    members: Vec<Option<Box<ScheduledInstance<S>>>>,
    left: usize,
    /// Index of the instance whose functions run now.
    at_work: usize,
    /// Round in which the agent has asked for another look.
    round: Option<u64>,
    /// Time for which this process has run functions of components since it last checked for messages from
    /// other processes, in ns.
    unlooked: u64,
}

impl<S: Submodel> Scheduler<S> {
    /// Makes a scheduler. `asked` collects the settings that the instances ask for, if the agent wants to
    /// know them.
    pub fn new(hub: Arc<Mutex<Hub>>, asked: Option<RequestedSettings>) -> Scheduler<S> {
        Scheduler { hub, asked, members: Vec::new(), left: 0, at_work: 0, round: None, unlooked: 0 }
    }

    /// Adds the next instance. `make` makes its submodel.
    ///
    /// # Errors
    /// The error of `make`, which ends the run.
    pub fn add(
        &mut self,
        mut instance: Instance,
        make: &mut impl FnMut(&mut Instance) -> Result<S, Error>,
    ) -> Result<(), Error> {
        lock(&self.hub).attend(self.members.len() as u32);
        let made = make(&mut instance).and_then(|mut submodel| {
            instance.join_submodel(&mut submodel)?;
            Ok(submodel)
        });
        match made {
            Ok(submodel) => {
                let (stage, cursor) = (NextCall::Start, PortCursor::default());
                self.members.push(Some(Box::new(ScheduledInstance { instance, submodel, stage, cursor })));
                self.left += 1;
                Ok(())
            }
            Err(error) => {
                // The error itself matters more than a failure to report it.
                let _ = instance.error_shutdown(&error.to_string());
                Err(error)
            }
        }
    }

    /// Runs all instances until they are over.
    ///
    /// # Errors
    /// The first error of a function, or of the connection to the agent and to other processes.
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
            // All messages that were sent before the agent asked have arrived by now. Instances that can go
            // on with these messages run first.
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
            // Messages within the process are not counted by channel, so no counts are reported.
            Request::Used { asked: asked.names(), sent: Vec::new(), received: Vec::new() }
        });
        let line = hub.endpoint.custodian();
        let told = used.map_or(Ok(()), |used| line.tell(&used)).and_then(|()| line.tell(&Request::Finished));
        told.map_err(|error| Error::during(error, || "signing off".into()))
    }

    /// Checks one instance, and calls its next functions if it can go on.
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

/// Reports to the run that the process cannot go on, for a reason that lies outside of the instances.
fn cut_off(hub: &mut Hub, error: ShmError) -> Error {
    let error = Error::during(error, || "waiting for what light components receive".into());
    // The error itself matters more than a failure to report it.
    let _ = hub.endpoint.custodian().tell(&Request::Failed { why: error.to_string(), of: None });
    error
}

impl<S: Submodel> ScheduledInstance<S> {
    /// Returns the item that the instance lacks for its next function.
    fn lack(&mut self) -> Result<Option<MissingItem>, Error> {
        // No message arrives for an instance that its own code has ended. Its next call fails and reports
        // this.
        if self.instance.is_over() {
            return Ok(None);
        }
        let ScheduledInstance { submodel, instance, stage, cursor } = self;
        let missing = match stage {
            NextCall::Start => instance.missing(Operator::FInit, |_| true, cursor)?,
            NextCall::Step => instance.missing(Operator::S, |port| submodel.awaits(port), cursor)?,
        };
        Ok(missing.map(MissingItem::Message))
    }

    /// Calls the next functions, up to the one that must wait for messages again. Returns true if the
    /// instance is over.
    fn step(&mut self) -> Result<bool, Error> {
        let ScheduledInstance { instance, submodel, stage, cursor } = self;
        match stage {
            NextCall::Start => {
                if !instance.begins_pass()? {
                    submodel.finish(instance)?;
                    instance.finish()?;
                    return Ok(true);
                }
                instance.begin_pass_of(submodel)?;
            }
            NextCall::Step => {
                submodel.solve(instance)?;
                instance.end_step_of(submodel)?;
            }
        }
        *cursor = PortCursor::default();
        if submodel.is_done() {
            submodel.observe_final(instance)?;
            instance.end_pass_of(submodel)?;
            *stage = NextCall::Start;
        } else {
            submodel.observe(instance)?;
            *stage = NextCall::Step;
        }
        Ok(false)
    }
}

impl<S> Drop for Scheduler<S> {
    /// Abandons the instances that are not over. They have not failed, but their conduits are not ended
    /// either, because their state can no longer be trusted.
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
