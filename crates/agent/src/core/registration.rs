//! Registration: the agent admits instances and clients that prove their identity, and refuses all other
//! callers with a reason.

use super::carrier::cannot_take_part;
use super::light::AgreedPorts;
use super::taps::TapRequest;
use super::{answer, unrequested, AgentCore, ConnectionRole, EndpointState, RegistrationState};
use crate::action::{Action, AgentReport, Caller, ConnectionId, InstancePhase, MemoryRegion};
use crate::outcome::{RunFailure, RunOutcome};
use ligament_catalogue::{fault, Fault};
use ligament_wire::control::{GridInfo, Notice, PortDeclaration, Question, Rank, Request, Welcome, PROTOCOL};
use ligament_wire::{EndpointId, InstanceId};

/// The level of a warning, in the numbers of the instance's `LogLevel`.
const LEVEL_WARNING: u8 = 2;

/// Compares two tokens in a time that does not depend on the number of equal bytes.
fn equal_in_constant_time(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |d, (a, b)| d | (a ^ b)) == 0
}

/// The identity that a caller claims.
struct ClaimedIdentity<'a> {
    protocol: u32,
    instance: &'a str,
    token: &'a str,
}

/// An endpoint whose caller has proved its identity, with the ports of its instances.
struct AdmittedEndpoint {
    me: EndpointId,
    agreed: AgreedPorts,
}

/// A caller that is not admitted.
struct Refusal {
    /// The caller's endpoint, if its identity is right but its ports do not fit.
    unfit: Option<EndpointId>,
    why: Fault,
}

/// The registration of an admitted endpoint.
struct Registration {
    link: ConnectionId,
    caller: Caller,
    endpoint: AdmittedEndpoint,
    language: String,
}

impl AgentCore {
    pub(super) fn first_request(
        &mut self,
        link: ConnectionId,
        caller: Caller,
        request: Request,
        out: &mut Vec<Action>,
    ) {
        let refused = match request {
            Request::Hello { protocol, instance, token, ports, language, light, .. } => {
                let identity = ClaimedIdentity { protocol, instance: &instance, token: &token };
                match self.admit(&identity, ports.as_deref(), light, caller) {
                    Ok(endpoint) => {
                        let registration = Registration { link, caller, endpoint, language };
                        return self.welcome(registration, out);
                    }
                    Err(Refusal { unfit, why }) => {
                        // Ports that do not fit end the run, because the instance's code will not try
                        // again.
                        if let Some(me) = unfit {
                            let what = cannot_take_part(&why);
                            let failure = RunFailure { rank: Some(me.leader()), what, said: None, exit: None };
                            // The guard may not yet have reported that the process runs.
                            let own = &mut self.endpoints[me.index()];
                            if own.started_by_agent && own.phase == InstancePhase::Waiting {
                                own.phase = InstancePhase::Started;
                            }
                            self.fail(failure, out);
                        }
                        why
                    }
                }
            }
            Request::Client { protocol, token, question } => match self.check_client(protocol, &token) {
                Ok(()) => {
                    self.links.insert(link, (caller, ConnectionRole::Client));
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
        if !equal_in_constant_time(token, &self.token) {
            return Err(fault!(
                TOKEN_OF_ANOTHER_RUN,
                "the token is not this run's; is the run directory that of an earlier run?"
            ));
        }
        Ok(())
    }

    fn client(&mut self, link: ConnectionId, question: Question, out: &mut Vec<Action>) {
        if let Question::Join { instance: name } = &question {
            let refused = match self.instance_named(name) {
                None => Some(fault!(INSTANCE_UNKNOWN, "this run has no instance \"{name}\"")),
                Some(instance) => self.cannot_join(instance),
            };
            if let Some(why) = refused {
                out.push(answer(link, Notice::Refused { why: why.with_code() }));
                return;
            }
        }
        if let Question::Peek { instance: name, .. } = &question {
            if self.instance_named(name).is_none() {
                let why = fault!(INSTANCE_UNKNOWN, "this run has no instance \"{name}\"");
                out.push(answer(link, Notice::Refused { why: why.with_code() }));
                return;
            }
        }
        if let Question::Tap { instance, rank, port, slot, wanted, room } = question {
            return self.tap(link, TapRequest { instance, rank, port, slot, wanted, room }, out);
        }
        let stop = question == Question::Stop;
        out.push(Action::Ask { link, question });
        if stop {
            self.end(RunOutcome::Stopped, out);
        }
    }

    /// Returns the instance of this name.
    pub fn instance_named(&self, name: &str) -> Option<InstanceId> {
        self.named.get(name).copied()
    }

    /// Returns the first free endpoint of an instance. The next process that a person starts for this
    /// instance gets it.
    pub fn joins_as(&self, instance: InstanceId) -> Option<EndpointId> {
        let mut endpoints = self.wiring.ranks().of(instance).map(|rank| self.wiring.endpoint_of(rank));
        endpoints.find(|one| self.endpoints[one.index()].phase == InstancePhase::Waiting)
    }

    /// Returns the reason why a person cannot start a process for this instance; `None` if that is
    /// possible.
    fn cannot_join(&self, instance: InstanceId) -> Option<Fault> {
        let name = &self.plan.instances[instance.index()].name;
        let leader = self.wiring.ranks().leader(instance);
        let endpoint = self.wiring.endpoint_of(leader);
        match &self.endpoints[leader.index()] {
            EndpointState { started_by_agent: true, .. } => Some(fault!(
                NEEDS_MANUAL,
                "\"{name}\" was started by the run; to start it by hand, run the model with --manual {name}"
            )),
            _ if self.plan.instances[instance.index()].elsewhere => self.is_elsewhere(instance),
            _ if endpoint.leader() != leader => Some(self.runs_with_others(leader)),
            _ if self.joins_as(instance).is_some() => None,
            _ => Some(fault!(ALREADY_REGISTERED, "\"{name}\" takes part already")),
        }
    }

    /// Returns the endpoint to which this token belongs, among the endpoints that serve an instance.
    fn endpoint_with(&self, instance: InstanceId, token: &str) -> Option<EndpointId> {
        let mut endpoints = self.wiring.ranks().of(instance).map(|rank| self.wiring.endpoint_of(rank));
        endpoints.find(|one| equal_in_constant_time(token, &self.endpoints[one.index()].token))
    }

    /// Checks the identity of a caller. The caller's token says which rank of the instance the caller is.
    /// If the identity is right but the ports do not fit, the error contains the endpoint's number. `light`
    /// is true if the caller says that it serves all instances of its program.
    fn admit(
        &self,
        identity: &ClaimedIdentity<'_>,
        ports: Option<&[PortDeclaration]>,
        light: bool,
        caller: Caller,
    ) -> Result<AdmittedEndpoint, Refusal> {
        let &ClaimedIdentity { protocol, instance: name, token } = identity;
        let no = |why: Fault| Refusal { unfit: None, why };
        check_protocol(protocol).map_err(no)?;
        let instance = self
            .instance_named(name)
            .ok_or_else(|| no(fault!(INSTANCE_UNKNOWN, "this run has no instance \"{name}\"")))?;
        let Some(me) = self.endpoint_with(instance, token) else {
            return Err(no(fault!(
                TOKEN_OF_ANOTHER_RUN,
                "the token for \"{name}\" is not this run's; start it by the run, or with \"ligament join\""
            )));
        };
        if self.wiring.first_instance(me) != instance {
            let leader = self.wiring.ranks().leader(instance);
            return Err(no(self.is_elsewhere(instance).unwrap_or_else(|| self.runs_with_others(leader))));
        }
        let name = self.wiring.name(&self.plan, me.leader());
        let own = &self.endpoints[me.index()];
        match own.phase {
            InstancePhase::Waiting | InstancePhase::Started => {}
            InstancePhase::Gone(_) => {
                return Err(no(fault!(ALREADY_REGISTERED, "\"{name}\" has ended already")))
            }
            InstancePhase::Running | InstancePhase::Finished => {
                return Err(no(fault!(
                    ALREADY_REGISTERED,
                    "\"{name}\" has registered already, as process {}; a program must make one Instance and \
                    no more",
                    own.pid.unwrap_or(caller.pid)
                )))
            }
        }
        if self.ending.is_some() {
            return Err(no(fault!(RUN_ENDS, "the run is ending")));
        }
        if self.is_carrier(me) {
            return Ok(AdmittedEndpoint { me, agreed: AgreedPorts::default() });
        }
        let unfit = |why: Fault| Refusal { unfit: Some(me), why };
        if self.wiring.is_light(&self.plan, me) && !light {
            return Err(unfit(fault!(
                NOT_LIGHT,
                "the model says that its program is light, so one process runs all of its instances, and this \
                one runs \"{name}\" only; write it with run_light, or take it out of \"light:\" in the model"
            )));
        }
        let agreed = self.agree_on_ports(me, ports).map_err(unfit)?;
        Ok(AdmittedEndpoint { me, agreed })
    }

    fn welcome(&mut self, registration: Registration, out: &mut Vec<Action>) {
        let Registration { link, caller, endpoint, language } = registration;
        let AdmittedEndpoint { me, agreed } = endpoint;
        let is_carrier = self.is_carrier(me);
        let remarks = agreed.remarks.iter().map(|(rank, text)| (*rank, text.clone())).collect::<Vec<_>>();
        for &member in self.wiring.members(me).iter().filter(|_| !is_carrier) {
            let list = agreed.list_of(self.wiring.place(member));
            self.slotted[member.index()] = Some(agreed.slotted[list].clone());
            self.senders[member.index()] = Some(agreed.senders[list].clone());
        }
        self.tell_operators(me, &agreed, out);
        let (ports, light) = if self.wiring.is_light(&self.plan, me) {
            (Vec::new(), Some(self.of_light(me, agreed)))
        } else {
            (agreed.ports.into_iter().next().unwrap_or_default(), None)
        };
        let instance = self.wiring.instance(&self.plan, me.leader());
        let welcome = Welcome {
            endpoint: me,
            channels: self.wiring.incoming(me),
            inboxes: self.wiring.senders(me).len() as u32,
            ports,
            sends: self.wiring.sends(&self.plan, me),
            receives: self.wiring.receives(&self.plan, me),
            settings: self.plan.settings.clone(),
            pinned_limit: self.plan.pinned_limit.unwrap_or(self.ledger.limit() / 2),
            log_level: instance.log_level,
            run: self.plan.run.clone(),
            light,
            hears_use: Some(true),
            schedule: self.schedule_of(me),
            filters: (!self.plan.filters.is_empty()).then(|| self.plan.filters.clone()),
            clock: instance.clock.filter(|_| !is_carrier),
            grid: instance.grid.clone().filter(|_| !is_carrier).map(|grid| {
                // The ranks of an instance are the blocks of its grid, or the instance is one block.
                let rank = self.wiring.ranks().place(me.leader());
                GridInfo { block: grid.block.saturating_add(rank), ..grid }
            }),
            checkpoints: instance.checkpoints.clone().filter(|_| !is_carrier),
            recording: instance.recording.clone().filter(|_| !is_carrier),
            rank: instance
                .ranks
                .filter(|_| !is_carrier)
                .map(|of| Rank { number: self.wiring.ranks().place(me.leader()), of }),
        };
        let memory = vec![MemoryRegion::Board, MemoryRegion::Area(me), MemoryRegion::Outbox(me)];
        out.push(Action::Answer { link, notice: Notice::Welcome(Box::new(welcome)), memory });
        self.links.insert(link, (caller, ConnectionRole::Endpoint(me)));
        let (is_together, is_brought) = (self.ranks_start_together(me), self.is_started_by_sibling(me));
        let own = &mut self.endpoints[me.index()];
        own.phase = InstancePhase::Running;
        let done = RegistrationState::Done { link: Some(link), speaker: caller.pid };
        let pending = match std::mem::replace(&mut own.registration, done) {
            RegistrationState::Pending(notices) => notices,
            RegistrationState::Done { .. } => Vec::new(),
        };
        for (notice, memory) in pending {
            out.extend(unrequested(link, me, notice, memory));
        }
        if is_carrier {
            return;
        }
        // The process that the agent started may be a script that starts the program. The agent watches the
        // started process in any case, so it needs a second watch only if another process registers. If one
        // command starts all ranks, that command is not a rank itself.
        if !own.started_by_agent || is_brought {
            own.pid = Some(caller.pid);
            out.push(Action::Watch { endpoint: me, pid: caller.pid });
        } else if is_together {
            out.push(Action::WatchSpeaker { endpoint: me, pid: caller.pid });
        }
        out.push(Action::Report(AgentReport::Registered { rank: me.leader(), pid: caller.pid, language }));
        for (rank, text) in remarks {
            out.push(Action::Report(AgentReport::Said { rank, level: LEVEL_WARNING, text }));
        }
        self.tell_slots(me, out);
        self.tell_senders(me, out);
    }
}

fn check_protocol(protocol: u32) -> Result<(), Fault> {
    if protocol == PROTOCOL {
        return Ok(());
    }
    Err(fault!(
        OTHER_VERSION,
        "the caller's version of Ligament speaks protocol {protocol}, and this run's speaks {PROTOCOL}; build \
        or install both from the same version"
    ))
}
