//! The host of the agent of a domain that is not the head's. It starts the programs of this domain, and
//! reports all events to the head.

use super::checkpoint_files::{CheckpointDirectory, SentFile};
use super::launcher;
use super::leftovers::{left_by, LeftoverFile};
use crate::files::{see, FileSender};
use crate::head::program_of_ended;
use crate::observe::look;
use crate::paths::carried;
use crate::ranks::RankPages;
use crate::strangers::Strangers;
use ligament_agent::domains::{
    nodes_from_wire, plan_from_wire, program_from_wire, resources_from_wire, HeadRequest as Said, RemoteAgent,
    SnapshotSource,
};
use ligament_agent::{
    failure_sentence, AgentOrder, AgentReport, Carrier, CarrierReport, ChannelView, DrainReason, Guard, Host,
    InstanceView, ProcessInspection, RemoteTapEvent, RunOutcome, RunView, StartedProcess, TimelineDelta,
};
use ligament_catalogue::{fault, said, Code, Fault};
use ligament_launch::cores::{cores_for, needed_here};
use ligament_launch::staging::CopyStamp;
use ligament_launch::{prepare, Command, InstanceContext};
use ligament_manager::{output_in, output_of_rank, outputs_of, workdir_in, OutputFiles};
use ligament_net::Event;
use ligament_wire::control::{to_bytes, CheckpointOutcome, ENV_IDENTITY};
use ligament_wire::domains::{
    Begin, CheckpointPart, FromAgent, Look, OutputPart, OwnCores, PeekReply, MAX_FILE_BYTES_UNDER_WAY,
};
use ligament_wire::peek::Sight;
use ligament_wire::steering::ModelTime;
use ligament_wire::{DomainId, EndpointId, InstanceId, RankId, Ranks};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Level of a warning in the log.
const WARNING: u8 = 2;

/// Interval between two inspections of the instances' processes.
const SURVEY: Duration = Duration::from_secs(1);

/// The part of a run in a domain that is not the head's.
pub(super) struct Domain<'a> {
    logic: RemoteAgent,
    carrier: &'a Carrier,
    /// Names of all ranks.
    names: Vec<String>,
    commands: HashMap<InstanceId, Command>,
    /// Number of processes of each instance whose ranks are started one by one.
    separate: HashMap<InstanceId, u32>,
    /// Directory of each process, by the first instance of the process.
    homes: HashMap<InstanceId, PathBuf>,
    /// Cores on which only one process of this domain runs.
    pub cores: Vec<OwnCores>,
    /// Directory of the instances' files, if they are not in the run directory.
    scratch: Option<PathBuf>,
    /// Copies of inputs, as they were made for the instances.
    inputs: HashSet<CopyStamp>,
    /// The instances' outputs, whose size this agent limits. `None` if the head does this, because it sees the
    /// files.
    outputs: Option<OutputFiles>,
    /// The transfer of files to the head: those of checkpoints, and outputs when all processes have ended.
    files: FileSender<SentFile>,
    /// True if all processes have ended, so that the domain is done when its last file is sent.
    is_closing: bool,
    /// Directory of checkpoints, if they are sent to the head.
    checkpoints: Option<CheckpointDirectory>,
    /// Directory of files that could not be sent to the head, and so stay in this domain.
    kept: Option<PathBuf>,
    /// For each instance, the first instance of its process.
    processes: Vec<InstanceId>,
    ranks: Ranks,
    looked: HashMap<RankId, ProcessInspection>,
    rank_pages: RankPages,
    surveyed: Option<Instant>,
    /// Requests of the head for taps, which the driver has not fetched yet.
    taps: Vec<RemoteTapEvent>,
    /// Outcome of the run in this domain, once it is known.
    ending: Option<RunOutcome>,
    headless: bool,
    /// The refused connections: those of other users, and those that come from no domain of the run.
    strangers: Strangers,
    /// True if the agent must end as soon as the command that has started it ends.
    has_launcher: bool,
    /// Number of the domain and name of its machine, if the agent is part of a batch job. A signal to such an
    /// agent means that the job ends.
    in_job: Option<(DomainId, String)>,
}

/// The end of a domain's part of a run.
pub(super) struct DomainEnd {
    /// Reason why the run failed, if this domain knows it.
    pub reason: Option<Fault>,
    /// True if the connection to the head was lost.
    pub headless: bool,
    /// Directory of files that could not be sent to the head, and so stay in this domain.
    pub kept: Option<PathBuf>,
    /// Directory of files that stay in this domain, because the head is gone and does not fetch them.
    pub stays: Option<PathBuf>,
}

impl<'a> Domain<'a> {
    /// Prepares the programs, directories and cores of all instances of domain `me`. `home` is the directory
    /// for their files; the flag is true if this is the run directory.
    ///
    /// # Errors
    /// A program cannot be started here. The error has the instance, the reason and advice.
    pub fn new(
        begin: &Begin,
        me: DomainId,
        placement: &[DomainId],
        carrier: &'a Carrier,
        (home, is_shared): (PathBuf, bool),
    ) -> Result<Domain<'a>, Fault> {
        let mut domain = Domain {
            logic: RemoteAgent::new(placement, &begin.plan.ranks(), me),
            carrier,
            names: begin.plan.rank_names(),
            commands: HashMap::new(),
            separate: HashMap::new(),
            homes: HashMap::new(),
            cores: Vec::new(),
            outputs: None,
            files: FileSender::new(MAX_FILE_BYTES_UNDER_WAY),
            is_closing: false,
            checkpoints: (!is_shared).then(|| CheckpointDirectory::below(&home)),
            kept: None,
            ranks: begin.plan.ranks(),
            processes: InstanceId::first(begin.plan.instances.len())
                .zip(&begin.plan.instances)
                .map(|(i, instance)| instance.shares.unwrap_or(i))
                .collect(),
            scratch: (!is_shared).then(|| home.clone()),
            inputs: HashSet::new(),
            looked: HashMap::new(),
            rank_pages: RankPages::default(),
            surveyed: None,
            taps: Vec::new(),
            ending: None,
            headless: false,
            strangers: Strangers::default(),
            has_launcher: false,
            in_job: None,
        };
        let mut staged = staged_for_each(begin, &home);
        let (plan, _) = plan_from_wire(&begin.plan);
        let is_here = |i: InstanceId| {
            placement[i.index()] == me && begin.plan.instances[i.index()].shares.is_none_or(|first| first == i)
        };
        let here: Vec<InstanceId> =
            InstanceId::first(begin.plan.instances.len()).filter(|&i| is_here(i)).collect();
        let needs: Vec<_> = here
            .iter()
            .map(|i| {
                needed_here(
                    resources_from_wire(begin.plan.instances[i.index()].resources),
                    &nodes_from_wire(&begin.plan.instances[i.index()]),
                )
            })
            .collect();
        for (i, cores) in here.into_iter().zip(cores_for(&needs)) {
            let instance = &begin.plan.instances[i.index()];
            let place = home.join(&instance.home);
            domain.prepare(begin, i, &place, &staged.remove(&i).unwrap_or_default(), &cores).map_err(
                |why| fault!(NOT_STARTABLE, "{} cannot be started: {why}", instance.name).caused_by(&why),
            )?;
            domain
                .separate
                .extend(instance.ranks.filter(|_| !plan.instances[i.index()].together).map(|ranks| (i, ranks)));
            domain.homes.insert(i, place);
            if !cores.is_empty() {
                domain.cores.push(OwnCores { instance: i, cores });
            }
        }
        if !is_shared {
            let outputs = outputs_of(&plan, |i| domain.homes.get(&i).cloned());
            domain.outputs = Some(OutputFiles::new(begin.output, outputs));
        }
        Ok(domain)
    }

    /// Sets the copies of inputs. They are no results unless an instance writes to them.
    pub fn with_inputs(self, inputs: HashSet<CopyStamp>) -> Domain<'a> {
        Domain { inputs, ..self }
    }

    /// Makes the agent end as soon as the command that has started it ends.
    pub fn with_launcher(self) -> Domain<'a> {
        Domain { has_launcher: true, ..self }
    }

    /// Records that the agent is part of a batch job, which may end before the run.
    pub fn in_job(self, me: DomainId, host: &str) -> Domain<'a> {
        Domain { in_job: Some((me, host.to_owned())), ..self }
    }

    fn prepare(
        &mut self,
        begin: &Begin,
        i: InstanceId,
        home: &Path,
        staged: &HashMap<PathBuf, PathBuf>,
        cores: &[u32],
    ) -> Result<(), Fault> {
        let instance = &begin.plan.instances[i.index()];
        let workdir = workdir_in(home);
        std::fs::create_dir_all(&workdir)
            .map_err(|error| fault!(RUN_DIRECTORY_UNWRITABLE, "{}: {error}", workdir.display()))?;
        let program = instance.program.and_then(|program| begin.plan.programs.get(program as usize));
        let program = program
            .ok_or_else(|| fault!(NO_PROGRAM, "it has no program; give its component an implementation"))?;
        let place = InstanceContext {
            instance: &instance.name,
            staged,
            model_directory: Path::new(&begin.model_directory),
            directory: &workdir,
            output: &output_in(home),
            scratch: home,
            not_inherited: &ENV_IDENTITY,
            cores,
            nodes: &nodes_from_wire(instance),
        };
        let resources = resources_from_wire(instance.resources).of_each(instance.ranks.unwrap_or(1) as usize);
        let program = program_from_wire(program)?;
        let program = if instance.had_ended == Some(true) { program_of_ended(&program) } else { program };
        let command = prepare(&program, resources, &place);
        self.commands.insert(i, command?);
        Ok(())
    }

    fn name(&self, rank: RankId) -> String {
        self.names.get(rank.index()).cloned().unwrap_or_default()
    }

    fn tell(&self, message: &FromAgent) {
        self.carrier.control(DomainId::HEAD, to_bytes(message));
    }

    fn snapshot(&mut self, view: &RunView<'_>) {
        if self.surveyed.is_none_or(|at| at.elapsed() >= SURVEY) {
            self.surveyed = Some(Instant::now());
            let own = self.logic.own().iter().copied();
            let (pages, ranks) = (&mut self.rank_pages, &self.ranks);
            let mut look = |one: RankId| look(&view.instances[one.index()], ranks.speaks_for_all(one), pages);
            self.looked = own.map(|one| (one, look(one))).collect();
        }
        let (looked, carrier) = (&self.looked, self.carrier);
        let looked = |one: RankId| looked.get(&one).cloned().unwrap_or_default();
        let source = SnapshotSource {
            views: &view.instances,
            memory: view.core.memory(),
            inspect: looked,
            ends: |see: &mut dyn FnMut(u32, ChannelView)| view.custody.see_ends(see),
            carried: || carried(carrier),
        };
        let bytes = self.logic.snapshot(source, view.now);
        self.carrier.control(DomainId::HEAD, bytes);
    }

    /// Sends as much of the files as the path takes now. After the last part at the end of the run, sends the
    /// message that this domain is done.
    fn send_files(&mut self) {
        while let Some((file, part)) = self.files.next_part() {
            match file {
                SentFile::Output { instance, path } => {
                    self.tell(&FromAgent::Files(vec![OutputPart { instance, path, part }]));
                }
                SentFile::Checkpoint { rank, moment, path } => {
                    let is_last = path.is_none() && part.whole.is_some();
                    let moment = ModelTime(moment);
                    self.tell(&FromAgent::Checkpoint(CheckpointPart { rank, moment, path, part }));
                    if is_last {
                        self.remove_checkpoint(rank, moment);
                    }
                }
            }
        }
        for (file, text) in std::mem::take(&mut self.files.lost) {
            match file {
                SentFile::Output { instance, .. } => self.keep([(instance, text)]),
                SentFile::Checkpoint { rank, moment, .. } => self.checkpoint_lost(rank, moment, text),
            }
        }
        if self.is_closing && self.files.are_gone() {
            if let Some(bytes) = self.logic.over(self.ending.as_ref()) {
                self.carrier.control(DomainId::HEAD, bytes);
            }
        }
    }

    /// Handles what has become of a rank's file for a checkpoint: sends it, or removes the remainder.
    fn checkpoint_outcome(&mut self, rank: RankId, moment: ModelTime, outcome: &CheckpointOutcome) {
        let Some(directory) = &self.checkpoints else { return };
        match outcome {
            CheckpointOutcome::Saved => match directory.saved(&self.name(rank), moment.0) {
                Ok(files) => {
                    for (path, there) in files {
                        self.files.add(SentFile::Checkpoint { rank, moment: moment.0, path }, there);
                    }
                    self.send_files();
                }
                Err(error) => self.checkpoint_lost(rank, moment.0, error.to_string()),
            },
            CheckpointOutcome::Void | CheckpointOutcome::Failed { .. } => self.remove_checkpoint(rank, moment),
            CheckpointOutcome::Unsavable { .. } => {}
        }
    }

    /// Reports a rank's file that cannot be sent, so that the checkpoint is given up.
    fn checkpoint_lost(&mut self, rank: RankId, moment: f64, why: String) {
        let (moment, outcome) = (ModelTime(moment), CheckpointOutcome::Failed { why });
        self.report(AgentReport::Checkpoint { rank, moment, outcome });
    }

    fn remove_checkpoint(&self, rank: RankId, moment: ModelTime) {
        if let Some(directory) = &self.checkpoints {
            directory.remove(&self.name(rank), moment.0);
        }
    }

    /// Logs files that cannot be sent, and keeps the directory in which they are.
    fn keep(&mut self, lost: impl IntoIterator<Item = (InstanceId, String)>) {
        for (instance, text) in lost {
            // The directory would otherwise be removed at the end.
            self.scratch = None;
            let text = said!(
                FILE_LEFT_BEHIND,
                "a file cannot be brought to the run directory, and stays on its machine: {text}"
            );
            let rank = self.ranks.leader(instance);
            self.report(AgentReport::Said { rank, level: 2, text });
        }
    }

    /// Sends the content of a file or of a directory to the head.
    fn show_file(&self, look: &Look) {
        let process = self.processes.get(look.instance.index());
        let sight = match process.and_then(|process| self.homes.get(process)) {
            Some(home) => see(home, &look.path, look.offset, look.most),
            None => Sight::Nothing(said!(NOTHING_TO_SEE, "the instance runs in another domain")),
        };
        self.tell(&FromAgent::Seen(PeekReply { ticket: look.ticket, sight }));
    }

    /// Ends the domain's part of the run. Returns the data that the user needs about this end.
    pub fn end(&self) -> DomainEnd {
        let name = |rank: RankId| self.name(rank);
        let reason = match &self.ending {
            Some(RunOutcome::Failed(failure)) => Some(failure_sentence(failure, name)),
            _ => None,
        };
        if let Some(directory) = &self.checkpoints {
            directory.remove_all();
        }
        if let (Some(scratch), false) = (&self.scratch, self.headless) {
            // All files have been copied to the run directory.
            let _ = std::fs::remove_dir_all(scratch);
        }
        let stays = self.scratch.clone().filter(|_| self.headless);
        DomainEnd { reason, headless: self.headless, kept: self.kept.clone(), stays }
    }
}

/// Returns for each process the paths of its copies of inputs, by the user's own paths.
fn staged_for_each(begin: &Begin, home: &Path) -> HashMap<InstanceId, HashMap<PathBuf, PathBuf>> {
    let mut staged: HashMap<InstanceId, HashMap<PathBuf, PathBuf>> = HashMap::new();
    for given in &begin.given {
        let source = PathBuf::from(&begin.inputs[given.input as usize].source);
        let workdir = workdir_in(&home.join(&begin.plan.instances[given.instance.index()].home));
        staged.entry(given.instance).or_default().insert(source, workdir.join(&given.name));
    }
    staged
}

impl Host for Domain<'_> {
    fn begins(&mut self, _: &str, _: &str) {}

    fn interruption(&mut self, signal: &str) -> RunOutcome {
        match &self.in_job {
            None => RunOutcome::Interrupted,
            Some((me, host)) => RunOutcome::failed(fault!(
                JOB_LOST,
                "the job of which domain {me} ({host}) is a part was told to end ({signal}): somebody \
                 cancelled it, or its time is over"
            )),
        }
    }

    fn start(
        &mut self,
        guard: &mut Guard,
        endpoint: EndpointId,
        instance: InstanceId,
        environment: &[(&'static str, String)],
    ) -> Result<Option<StartedProcess>, Fault> {
        let command = match self.separate.get(&instance) {
            Some(&ranks) => {
                self.commands.get(&instance).zip(self.homes.get(&instance)).map(|(command, home)| {
                    let place = self.ranks.place(endpoint.leader());
                    command.of_rank(place, ranks, output_of_rank(home, place))
                })
            }
            None => self.commands.remove(&instance),
        };
        let mut command = command.ok_or_else(|| fault!(NO_PROGRAM, "it has no program"))?;
        for (name, value) in environment {
            command.environment.set(name, value);
        }
        guard.launch(endpoint.number(), command).map(|()| None)
    }

    fn report(&mut self, report: AgentReport) {
        if let AgentReport::Ending(outcome) = &report {
            self.ending.get_or_insert_with(|| outcome.clone());
        }
        self.logic.report(&report);
        if let Some(bytes) = self.logic.news() {
            self.carrier.control(DomainId::HEAD, bytes);
        }
        // The head knows that the rank has saved before it hears of the rank's end. The files follow.
        if let AgentReport::Checkpoint { rank, moment, outcome } = &report {
            self.checkpoint_outcome(*rank, *moment, outcome);
        }
    }

    /// Returns an answer that refers to the head, because clients ask the head for the state of a run.
    fn status(&mut self, _: &RunView<'_>) -> String {
        let text =
            said!(RUNS_ELSEWHERE, "this agent knows its own part of the run only; ask where the run was begun");
        serde_json::json!({ "ok": false, "error": text }).to_string()
    }

    fn directory(&self, instance: InstanceId) -> String {
        self.homes.get(&instance).map(|home| workdir_in(home).display().to_string()).unwrap_or_default()
    }

    fn tick_every(&self) -> Option<Duration> {
        Some(self.logic.next_snapshot())
    }

    fn tick(&mut self, view: &RunView<'_>) -> Vec<AgentOrder> {
        if self.has_launcher && launcher::is_gone() {
            self.has_launcher = false;
            self.tell(&FromAgent::Unable(launcher::gone().with_code()));
            return vec![
                AgentOrder::Fail(fault!(LAUNCHER_GONE, "its agent has to go: {}", launcher::gone())),
                AgentOrder::Release,
            ];
        }
        if let Some(outputs) = &mut self.outputs {
            for (rank, said) in outputs.look() {
                let (level, text) = match said {
                    Ok(text) => (1, text),
                    Err(why) => (2, why.to_string()),
                };
                self.report(AgentReport::Said { rank: RankId::at(rank), level, text });
            }
        }
        self.snapshot(view);
        Vec::new()
    }

    fn timeline(&mut self, rank: RankId, gained: &TimelineDelta, _: u64, why: DrainReason) {
        if self.logic.own().binary_search(&rank).is_ok() {
            self.logic.gained(rank, gained, why == DrainReason::ProcessEnded);
        }
    }

    fn timelines_seen(&mut self) {}

    fn show(&mut self, view: &RunView<'_>) {
        for &rank in self.logic.own() {
            let InstanceView { phase, pid, .. } = &view.instances[rank.index()];
            eprintln!("{}: {phase:?}, process {pid:?}", self.name(rank));
        }
    }

    fn heard(&mut self, heard: &CarrierReport) -> Vec<AgentOrder> {
        match heard {
            CarrierReport::Control { from: DomainId::HEAD, bytes } => match self.logic.heard(bytes) {
                Ok(all) => all.into_iter().filter_map(|one| self.take(one)).collect(),
                Err(why) => {
                    let unable =
                        fault!(DOMAIN_SENDS_NONSENSE, "it does not understand a message of the head: {why}");
                    self.tell(&FromAgent::Unable(unable.with_code()));
                    vec![AgentOrder::Fail(fault!(
                        DOMAIN_SENDS_NONSENSE,
                        "a message of the head makes no sense: {why}"
                    ))]
                }
            },
            CarrierReport::Path(Event::GivenUp { domain: 0, why }) => self.lose_head(why.text()),
            CarrierReport::Path(Event::Gone { domain: 0, why }) => self.lose_head(why),
            CarrierReport::Path(Event::Refused { from, why, others }) => {
                self.connection_refused(&from.to_string(), why, *others);
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn taps(&mut self) -> Vec<RemoteTapEvent> {
        std::mem::take(&mut self.taps)
    }

    fn connection_refused(&mut self, who: &str, why: &str, others: u64) {
        if let Some(text) = self.strangers.turned_away(who, why, others, Instant::now()) {
            self.report(AgentReport::Remark { level: WARNING, text });
        }
    }

    fn is_done_here(&mut self, view: &RunView<'_>) -> Option<Vec<AgentOrder>> {
        self.ending = view.core.ending().cloned().or(self.ending.take());
        self.snapshot(view);
        if let Some(text) = self.strangers.in_all() {
            self.report(AgentReport::Remark { level: WARNING, text });
        }
        if self.scratch.is_some() {
            if let Some(outputs) = &mut self.outputs {
                outputs.close();
            }
            let (mut all, mut lost) = (Vec::new(), Vec::new());
            for (&instance, home) in &self.homes {
                let (left, unread) = left_by(instance, home, &self.inputs);
                all.extend(left);
                lost.extend(unread.into_iter().map(|text| (instance, text)));
            }
            let bytes = all.iter().map(|one| one.bytes).sum();
            self.tell(&FromAgent::Leaves { files: all.len() as u64, bytes });
            for LeftoverFile { instance, name, path, .. } in all {
                self.files.add(SentFile::Output { instance, path: name }, path);
            }
            self.keep(lost);
        }
        self.is_closing = true;
        self.send_files();
        Some(Vec::new())
    }
}

impl Domain<'_> {
    fn lose_head(&mut self, why: &str) -> Vec<AgentOrder> {
        self.headless = true;
        // The head is gone, so it cannot end the run. This agent does both itself.
        vec![AgentOrder::Fail(fault!(HEAD_GONE, "the head of the run is gone: {why}")), AgentOrder::Release]
    }

    fn take(&mut self, said: Said) -> Option<AgentOrder> {
        match said {
            Said::Order(order) => Some(order),
            Said::Bye => Some(AgentOrder::Release),
            Said::Refused(why) => Some(AgentOrder::Fail(Fault::heard(why, Code::RUN_ENDS))),
            Said::Look(look) => {
                self.show_file(&look);
                None
            }
            Said::Tap(order) => {
                self.taps.push(RemoteTapEvent::Wanted(order));
                None
            }
            Said::NotWritten { instance, path } => {
                // The head has reported that it could not write the file. All files that are still here are
                // kept.
                self.kept = self.scratch.take().or(self.kept.take());
                self.files.give_up(&SentFile::Output { instance, path });
                self.send_files();
                None
            }
            Said::Wrote(bytes) => {
                self.files.arrived(bytes);
                self.send_files();
                None
            }
        }
    }
}
