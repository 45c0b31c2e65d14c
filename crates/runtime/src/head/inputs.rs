//! The inputs of a run, before any instance starts. The run directory gets a copy of each input, and each
//! process gets copies of its inputs. The head sends the inputs to agents that do not see the run directory, and
//! the files from which their instances resume.

use super::assembly::Unready;
use super::domains::{DomainPaths, RemoteDomains};
use super::{RunResult, Runtime};
use crate::files::{FileSender, INPUTS};
use crate::paths::{event_loop, hear, Call};
use ligament_agent::{CarrierReport, RunOutcome, RunPlan};
use ligament_catalogue::{fault, Fault};
use ligament_launch::staging::{copy_for_process, store, ProcessInput, StagedInputs};
use ligament_manager::{format_bytes, workdir_in};
use ligament_net::Event;
use ligament_wire::control::to_bytes;
use ligament_wire::domains::{FromAgent, FromHead, MAX_INPUT_BYTES_UNDER_WAY};
use ligament_wire::DomainId;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedReceiver;

/// Interval between two log lines about the progress.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);
/// Interval between two checks for the failure of a command that starts agents.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// The transfer of inputs to a domain.
struct ToDomain {
    files: FileSender<u32>,
    wanted: u64,
    came: u64,
    ready: bool,
}

impl Runtime<'_> {
    /// Makes the directories of all processes. Copies each input to the run directory, and from there to the
    /// processes that need it.
    pub(super) fn stage_here(&mut self, plan: &RunPlan) -> Result<(), Fault> {
        self.homes = self.make_homes()?.into_iter().collect();
        let inputs = StagedInputs::of(self.model, |i| plan.process_of(i))?;
        let size = |given: &ProcessInput| inputs.files[given.input as usize].bytes;
        let stored: u64 = inputs.files.iter().map(|input| input.bytes).sum();
        let all = stored + inputs.given.iter().map(size).sum::<u64>();
        let place = self.directory.path().join(INPUTS);
        let (mut said, mut done) = (Instant::now(), 0);
        let mut go_on = |runtime: &mut Self, bytes: u64| {
            done += bytes;
            if said.elapsed() >= PROGRESS_INTERVAL {
                said = Instant::now();
                let [done, all] = [done, all].map(|bytes: u64| format_bytes(bytes as f64));
                runtime.say_how_far(&format!("{done} of {all} of inputs are in the run directory"));
            }
        };
        for input in &inputs.files {
            store(&input.source, &place.join(&input.name), input.bytes, input.mode)?;
            go_on(self, input.bytes);
        }
        for given in &inputs.given {
            let input = &inputs.files[given.input as usize];
            let home = self.homes.get(&given.process).cloned().unwrap_or_default();
            copy_for_process(
                &place.join(&input.name),
                &workdir_in(&home).join(&given.name),
                input.bytes,
                input.mode,
            )?;
            go_on(self, input.bytes);
        }
        self.inputs = inputs;
        Ok(())
    }

    /// Records that a domain is ready to start its instances. `scratch` is the directory of their files, if it
    /// is not the run directory.
    pub(super) fn is_ready(&mut self, domain: DomainId, scratch: Option<String>) {
        if let Some(domain) = self.record.domains.get_mut(domain.index()).filter(|_| scratch.is_some()) {
            domain.scratch = scratch;
            self.save();
        }
    }

    /// Sends inputs to domains that do not see the run directory, and waits until all have arrived.
    pub(super) fn stage_elsewhere(
        &mut self,
        heard: Option<&mut UnboundedReceiver<CarrierReport>>,
    ) -> Result<(), Unready> {
        let (Some(heard), Some(abroad)) = (heard, &mut self.abroad) else { return Ok(()) };
        if self.inputs.is_empty() && self.resumed.is_empty() {
            return Ok(());
        }
        abroad.head.stages(self.inputs.files.len() + self.resumed.len());
        let one = |domain| {
            (
                domain,
                ToDomain {
                    files: FileSender::new(MAX_INPUT_BYTES_UNDER_WAY),
                    wanted: 0,
                    came: 0,
                    ready: false,
                },
            )
        };
        let mut to: BTreeMap<DomainId, ToDomain> =
            DomainId::first(self.record.domains.len()).skip(1).map(one).collect();
        let mut events = event_loop()?;
        let mut said = Instant::now();
        while to.values().any(|domain| !domain.ready) {
            if self.directory.stop().exists() {
                return Err(Unready::Stopped);
            }
            match hear(&mut events, heard, Instant::now() + POLL_INTERVAL)? {
                Call::Interrupted => return Err(Unready::Interrupted),
                Call::HungUp if !self.terminal_is_gone() => return Err(Unready::Interrupted),
                Call::Heard(CarrierReport::Control { from, bytes }) => {
                    self.heard_of_inputs(from, &bytes, &mut to)?
                }
                Call::Heard(CarrierReport::Failed(why)) => return Err(why.into()),
                Call::Heard(CarrierReport::Path(Event::GivenUp { domain, why })) => {
                    let name = self.cut_off(DomainId::new(domain));
                    return Err(fault!(AGENT_NOT_STARTED, "the agent on {name} vanished: {why}").into());
                }
                Call::Heard(CarrierReport::Path(Event::Gone { domain, why })) => {
                    let name = self.cut_off(DomainId::new(domain));
                    return Err(fault!(AGENT_NOT_STARTED, "the agent on {name} is gone: {why}").into());
                }
                Call::Heard(_) | Call::Nothing | Call::HungUp => {}
            }
            if let Some((_, why)) =
                self.abroad.as_mut().and_then(|abroad| abroad.agents.lost().into_iter().next())
            {
                return Err(why.into());
            }
            if said.elapsed() >= PROGRESS_INTERVAL {
                said = Instant::now();
                self.say_who_has_what(&to);
            }
        }
        let now = ligament_shm::status::now();
        let start = self.abroad.as_mut().map(|abroad| abroad.head.starts(now));
        self.do_all(start.unwrap_or_default());
        Ok(())
    }

    fn heard_of_inputs(
        &mut self,
        from: DomainId,
        bytes: &[u8],
        to: &mut BTreeMap<DomainId, ToDomain>,
    ) -> Result<(), Unready> {
        let (Some(abroad), Some(domain)) = (&mut self.abroad, to.get_mut(&from)) else { return Ok(()) };
        match abroad.head.heard_early(from, bytes, ligament_shm::status::now())? {
            FromAgent::Wants(wanted) => {
                let (inputs, place) = (&self.inputs.files, self.directory.path().join(INPUTS));
                for number in wanted {
                    let (bytes, file) = match inputs.get(number as usize) {
                        Some(input) => (input.bytes, place.join(&input.name)),
                        None => {
                            let (file, source) = &self.resumed[number as usize - inputs.len()];
                            (file.bytes, source.clone())
                        }
                    };
                    domain.wanted += bytes;
                    domain.files.add(number, file);
                }
            }
            FromAgent::Wrote(bytes) => {
                domain.came = bytes;
                domain.files.arrived(bytes);
            }
            FromAgent::Ready(scratch) => {
                domain.ready = true;
                self.is_ready(from, scratch);
            }
            FromAgent::Cores(cores) => self.note_cores(cores),
            _ => {}
        }
        let Some(abroad) = &self.abroad else { return Ok(()) };
        while let Some((input, part)) = domain.files.next_part() {
            abroad.part.carrier.control(from, to_bytes(&FromHead::Input { input, part }));
        }
        match domain.files.lost.first() {
            Some((_, why)) => {
                Err(fault!(INPUT_NOT_STAGED, "a file cannot be sent to the agent of domain {from}: {why}")
                    .into())
            }
            None => Ok(()),
        }
    }

    /// Records that there is no path to a domain any more. Returns the name of the domain.
    fn cut_off(&mut self, domain: DomainId) -> String {
        if let Some(abroad) = &mut self.abroad {
            abroad.cut_off.insert(domain);
        }
        self.name_of_domain(domain)
    }

    fn say_who_has_what(&mut self, to: &BTreeMap<DomainId, ToDomain>) {
        let under_way: Vec<String> = to
            .iter()
            .filter(|(_, domain)| !domain.ready)
            .map(|(&number, domain)| {
                let [came, wanted] = [domain.came, domain.wanted].map(|bytes| format_bytes(bytes as f64));
                format!("{} has {came} of {wanted}", self.name_of_domain(number))
            })
            .collect();
        let text = format!("inputs are under way: {}", ligament_manager::list_some(&under_way, 8));
        self.say_how_far(&text);
    }

    /// Ends the run before any instance has started.
    pub(super) fn end_early(
        self,
        unready: Unready,
        abroad: Option<DomainPaths>,
        heard: Option<UnboundedReceiver<CarrierReport>>,
    ) -> RunResult {
        let (outcome, why) = match unready {
            Unready::Interrupted => {
                (RunOutcome::Interrupted, fault!(CANNOT_JOIN, "the run was interrupted before it began"))
            }
            Unready::Stopped => {
                (RunOutcome::Stopped, fault!(CANNOT_JOIN, "the run was told to end before it began"))
            }
            Unready::Failed(what) | Unready::Incomplete(what) => (RunOutcome::failed(what.clone()), what),
        };
        self.refuse(&why);
        let in_reach = self.abroad.as_ref().map(RemoteDomains::in_reach).unwrap_or_default();
        let result = self.end(&outcome, &[], Vec::new());
        if let (Some(part), Some(heard)) = (abroad, heard) {
            part.part_from(in_reach, heard);
        }
        result
    }
}
