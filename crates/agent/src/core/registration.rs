//! Who may take part: instances that register, clients that ask. Everybody else is refused, with the reason.

use super::light::Agreed;
use super::{answer, Core, Instance, Who};
use crate::action::{Action, Caller, Link, Memory, Phase, Report};
use crate::outcome::{Failure, Outcome};
use ligament_catalogue::{fault, Fault};
use ligament_wire::control::{Notice, PortDeclaration, Question, Request, Welcome, PROTOCOL};

/// Compares without telling by its duration how much is right.
fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |d, (a, b)| d | (a ^ b)) == 0
}

impl Core {
    pub(super) fn first_request(
        &mut self,
        link: Link,
        caller: Caller,
        request: Request,
        out: &mut Vec<Action>,
    ) {
        let refused = match request {
            Request::Hello { protocol, instance, token, ports, language, light, .. } => {
                match self.admit(protocol, &instance, &token, ports.as_deref(), light, caller) {
                    Ok((index, ports)) => return self.welcome(link, caller, index, ports, language, out),
                    Err((index, why)) => {
                        // A port that does not fit ends the run: the code will not come back.
                        if let Some(instance) = index {
                            let what = fault!(PORTS_DO_NOT_FIT, "cannot take part: {why}").caused_by(&why);
                            let failure = Failure { instance: Some(instance), what, said: None, exit: None };
                            self.fail(failure, out);
                        }
                        why
                    }
                }
            }
            Request::Client { protocol, token, question } => match self.check_client(protocol, &token) {
                Ok(()) => {
                    self.links.insert(link, (caller, Who::Client));
                    return self.client(link, question, out);
                }
                Err(why) => why,
            },
            other => fault!(OTHER_VERSION, "the first message must say who is calling, and not {other:?}"),
        };
        out.push(answer(link, Notice::Refused { why: refused.with_code() }));
        out.push(Action::Close { link });
    }

    fn check_client(&self, protocol: u32, token: &str) -> Result<(), Fault> {
        check_protocol(protocol)?;
        if !same(token, &self.token) {
            return Err(fault!(
                TOKEN_OF_ANOTHER_RUN,
                "the token is not this run's; is the run directory that of an earlier run?"
            ));
        }
        Ok(())
    }

    fn client(&mut self, link: Link, question: Question, out: &mut Vec<Action>) {
        if let Question::Join { instance: name } = &question {
            let refused = match self.plan.instances.iter().position(|instance| instance.name == *name) {
                None => Some(fault!(INSTANCE_UNKNOWN, "this run has no instance \"{name}\"")),
                Some(i) => match &self.instances[i] {
                    Instance { ours: true, .. } => Some(fault!(
                        NEEDS_MANUAL,
                        "\"{name}\" was started by the run; to start it by hand, run the model with --manual {name}"
                    )),
                    _ if self.plan.instances[i].elsewhere => self.is_elsewhere(i as u32),
                    _ if self.plan.endpoint_of(i as u32) != i as u32 => Some(self.runs_with_others(i as u32)),
                    Instance { phase: Phase::Waiting, .. } => None,
                    _ => Some(fault!(ALREADY_REGISTERED, "\"{name}\" takes part already")),
                },
            };
            if let Some(why) = refused {
                out.push(answer(link, Notice::Refused { why: why.with_code() }));
                return;
            }
        }
        if let Question::Peek { instance: name, .. } = &question {
            if !self.plan.instances.iter().any(|instance| instance.name == *name) {
                let why = fault!(INSTANCE_UNKNOWN, "this run has no instance \"{name}\"");
                out.push(answer(link, Notice::Refused { why: why.with_code() }));
                return;
            }
        }
        let stop = question == Question::Stop;
        out.push(Action::Ask { link, question });
        if stop {
            self.end(Outcome::Stopped, out);
        }
    }

    /// Whether the caller is the instance that it says it is. The error has the instance's number if it is, but
    /// its ports do not fit.
    #[allow(clippy::type_complexity)]
    fn admit(
        &self,
        protocol: u32,
        name: &str,
        token: &str,
        ports: Option<&[PortDeclaration]>,
        light: bool,
        caller: Caller,
    ) -> Result<(u32, Agreed), (Option<u32>, Fault)> {
        check_protocol(protocol).map_err(|why| (None, why))?;
        let no = |why: Fault| (None, why);
        let index = self
            .plan
            .instances
            .iter()
            .position(|instance| instance.name == name)
            .ok_or_else(|| no(fault!(INSTANCE_UNKNOWN, "this run has no instance \"{name}\"")))?;
        let instance = &self.instances[index];
        if !same(token, &instance.token) {
            return Err(no(fault!(
                TOKEN_OF_ANOTHER_RUN,
                "the token for \"{name}\" is not this run's; start it by the run, or with \"ligament join\""
            )));
        }
        match instance.phase {
            Phase::Waiting | Phase::Started => {}
            Phase::Gone(_) => return Err(no(fault!(ALREADY_REGISTERED, "\"{name}\" has ended already"))),
            Phase::Running | Phase::Finished => {
                return Err(no(fault!(
                    ALREADY_REGISTERED,
                    "\"{name}\" has registered already, as process {}; a program must make one Instance and no more",
                    instance.pid.unwrap_or(caller.pid)
                )))
            }
        }
        if self.ending.is_some() {
            return Err(no(fault!(RUN_ENDS, "the run is ending")));
        }
        let index = index as u32;
        if self.is_carrier(index) {
            return Ok((index, Agreed::default()));
        }
        let unfit = |why: Fault| (Some(index), why);
        if self.plan.endpoint_of(index) != index {
            return Err(no(self.runs_with_others(index)));
        }
        if self.plan.is_light(index) && !light {
            return Err(unfit(fault!(
                NOT_LIGHT,
                "the model says that its program is light, so one process runs all of its instances, and this one runs \
                 \"{name}\" only; write it with run_light, or take it out of \"light:\" in the model"
            )));
        }
        let agreed = self.agree(index, ports).map_err(unfit)?;
        Ok((index, agreed))
    }

    fn welcome(
        &mut self,
        link: Link,
        caller: Caller,
        index: u32,
        agreed: Agreed,
        language: String,
        out: &mut Vec<Action>,
    ) {
        let is_carrier = self.is_carrier(index);
        for &member in self.wiring.members(index).iter().filter(|_| !is_carrier) {
            let list = agreed.list_of(self.wiring.place(member));
            self.slotted[member as usize] = Some(agreed.slotted[list].clone());
        }
        let (ports, light) = match self.plan.is_light(index) {
            true => (Vec::new(), Some(self.of_light(index, agreed))),
            false => (agreed.ports.into_iter().next().unwrap_or_default(), None),
        };
        let welcome = Welcome {
            endpoint: index,
            channels: self.wiring.incoming(index),
            inboxes: self.wiring.senders(index).len() as u32,
            ports,
            sends: self.wiring.sends(&self.plan, index),
            receives: self.wiring.receives(&self.plan, index),
            settings: self.plan.settings.clone(),
            pinned_limit: self.plan.pinned_limit.unwrap_or(self.ledger.limit() / 2),
            log_level: self.plan.instances[index as usize].log_level,
            run: self.plan.run.clone(),
            light,
            hears_use: Some(true),
        };
        let memory = vec![Memory::Board, Memory::Area(index), Memory::Outbox(index)];
        out.push(Action::Answer { link, notice: Notice::Welcome(Box::new(welcome)), memory });
        self.links.insert(link, (caller, Who::Instance(index)));
        let instance = &mut self.instances[index as usize];
        instance.phase = Phase::Running;
        instance.link = Some(link);
        instance.speaker = Some(caller.pid);
        for (notice, memory) in std::mem::take(&mut instance.untold) {
            out.push(Action::Tell { link, endpoint: index, notice, memory });
        }
        if is_carrier {
            return;
        }
        // A script may stand between us and the program: what we started is what we watch.
        if !instance.ours {
            instance.pid = Some(caller.pid);
            out.push(Action::Watch { instance: index, pid: caller.pid });
        }
        out.push(Action::Report(Report::Registered { instance: index, pid: caller.pid, language }));
        self.tell_slots(index, out);
    }
}

fn check_protocol(protocol: u32) -> Result<(), Fault> {
    if protocol == PROTOCOL {
        return Ok(());
    }
    Err(fault!(
        OTHER_VERSION,
        "the caller's version of Ligament speaks protocol {protocol}, and this run's speaks {PROTOCOL}; build or \
         install both from the same version"
    ))
}
