//! The head of a run: the agent of this machine, and the manager with directory, log, journal, record and view.
//! `prepare` prepares directories and commands, `inputs` copies the inputs to the instances, and `agent` is the
//! host of the head's own agent. `viewers` and `picture` show the state of the run while it goes on, and
//! `steer` changes settings, and `saves` has the checkpoints that somebody asks for. `assembly` begins a run
//! over several domains, `domains` continues it, `arrived_files` brings files of instances in other domains
//! back, and `arrived_checkpoints` their states. `peeks` answers requests for files, and `why` explains a
//! failure. The Python package uses this module too, with a `Starter` that makes the processes of components
//! that are functions.

mod agent;
mod arrived_checkpoints;
mod arrived_files;
mod assembly;
mod checkpoints;
mod domains;
mod inputs;
mod peeks;
mod picture;
mod prepare;
mod recordings;
mod saves;
mod steer;
mod viewers;
mod why;

pub use assembly::{Agents, DomainSpread};
pub(crate) use assembly::{INVITATION, MARKER};
pub use ligament_launch::agents::ExpectedDomain;
pub(crate) use prepare::program_of_ended;

use crate::ranks::RankPages;
use crate::strangers::Strangers;
use crate::view::TerminalView;
use crate::Colours;
use arrived_checkpoints::ArrivingStates;
use arrived_files::ArrivedFiles;
use assembly::{Secrets, Unready};
use checkpoints::Checkpoints;
use domains::RemoteDomains;
use ligament_agent::{
    AgentOrder, ChannelView, DomainResult, InstanceView, RemoteTapEvent, RunOutcome, RunPlan, RunView,
    StartedProcess,
};
use ligament_catalogue::{fault, Fault};
use ligament_launch::staging::StagedInputs;
use ligament_launch::{Command, LaunchedProgram, NodeShare};
use ligament_manager::timeline::TimelineRecorder;
use ligament_manager::{
    outputs_of, GridRecord, Journal, JournalEvent, Level, Manager, ManagerAction, ModelNames, Names,
    Observation, OutputFiles, RunContext, RunDirectory, RunLog, RunRecord, RunState, SteeringRecord, UtcTime,
    DEFAULT_LOG_BYTES, DEFAULT_OUTPUT_BYTES,
};
use ligament_model::{Edges, ResolvedModel, AXES};
use ligament_wire::domains::ResumeFile;
use ligament_wire::{rank_name, InstanceId, RankId, Ranks};
use peeks::Peeks;
use picture::NumberedPicture;
use saves::Saves;
use std::collections::{BTreeSet, HashMap};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use steer::Steers;
use viewers::ViewerWatch;

/// Interval at which the view is drawn.
const REDRAW: Duration = Duration::from_millis(200);
/// Number of lines of an instance's output that are shown when the instance fails.
pub const LAST_LINES: usize = 20;

/// The options of a run.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// The run directory. `None`: a new directory under `runs`.
    pub directory: Option<PathBuf>,
    /// Instances that are started by hand.
    pub manual: Vec<String>,
    /// The kind of output while the run goes on.
    pub show: Show,
    /// True if the view has colours.
    pub colours: Colours,
    /// The behaviour of the run if its terminal closes.
    pub terminal: Terminal,
    /// The files from which the model was read.
    pub model_files: Vec<PathBuf>,
    /// Names of the settings that the user gave for this run.
    pub settings: Vec<String>,
    /// Text of the resolved model for the run directory.
    pub model_text: String,
    /// True if the user's group may read the run directory.
    pub for_group: bool,
    /// Changes of an earlier run that this run repeats at the same model times.
    pub steered: Vec<SteeringRecord>,
    /// Checkpoint from which the run resumes, such as `model-20261128@3`.
    pub resumed_from: Option<String>,
    /// Components and instances whose calls are recorded.
    pub recorded: Vec<String>,
    /// True if the caller makes the restarts that the model asks for.
    pub makes_restarts: bool,
    /// True if the caller begins another run if this one fails.
    pub may_be_continued: bool,
}

/// The output while a model runs, on standard error.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Show {
    /// Only the reason of a failure.
    Nothing,
    /// The log.
    #[default]
    Log,
    /// A view that is drawn again and again. If standard error is no terminal, the log.
    View,
}

/// The behaviour of a run if its terminal closes (SIGHUP).
#[derive(Debug, Clone, Default)]
pub enum Terminal {
    /// The run ends.
    #[default]
    EndsRun,
    /// The run goes on.
    MayGo,
    /// The run has no terminal, and prints nothing once it has begun. When the run has begun, the head writes a
    /// byte to this socket for the process that started the run.
    None(Arc<UnixStream>),
}

/// Starts the processes of instances that have no program in the model.
pub trait Starter {
    /// Returns true if this starter starts the processes of this component.
    fn makes(&self, component: &str) -> bool;
    /// Starts a process as a child of this process, by the calling thread. The process runs in `directory`, has
    /// the variables of `environment` besides those of this process, and appends its output to the file
    /// `output`.
    ///
    /// # Errors
    /// The reason why the process cannot be started.
    fn start(&mut self, what: &ToStart<'_>) -> Result<StartedProcess, Fault>;
}

/// The data with which a `Starter` starts a process.
#[derive(Debug)]
pub struct ToStart<'a> {
    /// Name of the instance, or of the rank.
    pub instance: &'a str,
    pub component: &'a str,
    /// Variables that are added to the process's environment.
    pub environment: &'a [(&'static str, String)],
    /// Working directory of the process, which exists.
    pub directory: &'a Path,
    /// File for the output of the process.
    pub output: &'a Path,
    /// Cores on which the process runs. Empty: all cores.
    pub cores: &'a [u32],
}

/// The result of a run.
#[derive(Debug, Clone)]
pub struct RunResult {
    pub record: RunRecord,
    /// The run directory.
    pub directory: PathBuf,
    /// The instance that failed first, with the last lines of its output. `None` if no instance failed.
    pub failed: Option<(String, Vec<String>)>,
}

/// Runs a model to its end. The calling thread must exist as long as the run, because the instances'
/// processes die with the thread.
///
/// # Errors
/// The run could not begin; the error has advice. A later failure is in the result.
pub fn run_model<'a>(
    model: &'a ResolvedModel,
    options: RunOptions,
    starter: Option<&'a mut (dyn Starter + 'a)>,
) -> Result<RunResult, Fault> {
    run_over(model, options, starter, None)
}

/// Does the same as `run_model`. If `spread` is given, the run is over several domains, and this process is the
/// head.
///
/// # Errors
/// The run could not begin; the error has advice. A later failure is in the result.
pub fn run_over<'a>(
    model: &'a ResolvedModel,
    mut options: RunOptions,
    starter: Option<&'a mut (dyn Starter + 'a)>,
    spread: Option<DomainSpread<'a>>,
) -> Result<RunResult, Fault> {
    if model.ligament.restarts.is_some_and(|restarts| restarts > 0) && !options.makes_restarts {
        return Err(fault!(
            CHECKPOINT_UNSUPPORTED,
            "the model asks for restarts, and only \"ligament run\" makes them yet; take \"restarts\" out of \
             \"ligament:\", or run the model by that command on its machines"
        ));
    }
    let (began, since) = (UtcTime::now(), Instant::now());
    let directory = RunDirectory::create(options.directory.as_deref(), &model.name, began)?;
    let plan = plan(model, &directory.name(), &options.manual);
    let plan = plan.inspect_err(|_| directory.withdraw(options.directory.is_none()))?;
    let mut plan = plan;
    let steers = Steers::begin(model, &options.steered, &mut plan);
    let (steers, steered) = steers.inspect_err(|_| directory.withdraw(options.directory.is_none()))?;
    let mut saves = Saves::of(model);
    let checkpoints = checkpoints::begin(model, directory.path(), &mut plan, &mut saves);
    let checkpoints = checkpoints.inspect_err(|_| directory.withdraw(options.directory.is_none()))?;
    let recordings = recordings::begin(model, &options.recorded, directory.path(), &mut plan);
    let recordings = recordings.and_then(|recordings| match (&spread, model.uses_checkpoints()) {
        _ if recordings.is_empty() => Ok(recordings),
        (Some(_), _) => {
            Err(recordings::unusable("a run over several domains is not recorded yet; run it on one machine"))
        }
        (None, true) => Err(recordings::unusable(
            "a run with checkpoints is not recorded yet; take the checkpoints out: --ignore checkpoints",
        )),
        (None, false) => Ok(recordings),
    });
    let recordings = recordings.inspect_err(|_| directory.withdraw(options.directory.is_none()))?;
    for recorded in &recordings {
        let instance = &mut plan.instances[recorded.index()];
        instance.checkpoints = None;
        saves.unsavable.insert(instance.name.clone(), format!("the calls of {} are recorded", instance.name));
    }
    let mut record = new_record(model, &options, began);
    record.run = directory.name();
    record.steering = steered;
    // Space for the record is reserved now, so that even a run that cannot begin has a record. In the record, a
    // conduit takes a tenth of the space of an instance.
    directory.reserve(model.instances.len() + model.channels.len() / 8);
    let begun = begin(model, &mut options, &directory, since);
    let RunStart { view, shown_from, log, journal } =
        begun.map_err(|why| not_begun(&directory, record.clone(), why))?;
    // A run whose record cannot be written does not begin.
    save(&directory, &record).map_err(|why| not_begun(&directory, record.clone(), why))?;
    let ranks = plan.ranks();
    let outputs = outputs_of(&plan, |i| Some(directory.home(&plan.instances[i.index()].name)));
    let mut runtime = Runtime {
        model,
        by_hand: plan.instances.iter().map(|instance| instance.by_hand).collect(),
        log,
        shown: shown_from.is_some(),
        journal,
        terminal: options.terminal.clone(),
        watched: ViewerWatch::default(),
        news: NumberedPicture::default(),
        rank_pages: RankPages::default(),
        started: vec![None; ranks.count()],
        ranks,
        since,
        directory,
        starter,
        commands: HashMap::new(),
        ran: HashMap::new(),
        homes: HashMap::new(),
        cores: HashMap::new(),
        nodes: HashMap::new(),
        inputs: StagedInputs::default(),
        view,
        record,
        given: options.settings,
        manager: Manager::new(&plan, ModelNames::new(model)),
        outputs: OutputFiles::new(model.ligament.output.unwrap_or(DEFAULT_OUTPUT_BYTES), outputs),
        timeline: None,
        abroad: None,
        brought: ArrivedFiles::default(),
        peeks: Peeks::default(),
        taps: Vec::new(),
        steers,
        saves,
        checkpoints,
        resumed: Vec::new(),
        arriving_states: ArrivingStates::default(),
        recordings,
        strangers: Strangers::default(),
    };
    runtime.note_begun();
    runtime.tell_steerable();
    // The guard must be forked before there is a second thread. It stays until the end of the run is recorded.
    let secrets = spread.as_ref().map(|spread| Secrets::make(&runtime.directory.name(), spread));
    let mut guard = runtime.guard(secrets.as_ref()).map_err(|why| runtime.could_not_begin(why))?;
    let gathered = spread.zip(secrets.as_ref());
    let gathered = gathered.map(|(spread, secrets)| runtime.gather(&plan, spread, secrets, &mut guard));
    let mut heard = match gathered.transpose() {
        Ok(heard) => heard,
        Err(Unready::Failed(why)) => return Err(runtime.could_not_begin(why)),
        Err(Unready::Incomplete(why)) => return Ok(runtime.end(&RunOutcome::failed(why), &[], Vec::new())),
        Err(Unready::Interrupted) => return Ok(runtime.end(&RunOutcome::Interrupted, &[], Vec::new())),
        Err(Unready::Stopped) => return Ok(runtime.end(&RunOutcome::Stopped, &[], Vec::new())),
    };
    let abroad = runtime.abroad.as_ref().map(RemoteDomains::part);
    if let Err(why) = runtime.stage_here(&plan) {
        return Ok(runtime.end_early(why.into(), abroad, heard));
    }
    if let Err(why) = runtime.prepare_all().and_then(|()| runtime.tell_begin(&plan)) {
        let why = runtime.could_not_begin(why);
        runtime.refuse(&why);
        if let (Some(part), Some(heard)) = (abroad, heard) {
            part.part_from(runtime.abroad.as_ref().map(RemoteDomains::in_reach).unwrap_or_default(), heard);
        }
        return Err(why);
    }
    if let Err(unready) = runtime.stage_elsewhere(heard.as_mut()) {
        return Ok(runtime.end_early(unready, abroad, heard));
    }
    let elsewhere = abroad.as_ref().zip(heard.as_mut()).map(|(part, heard)| part.elsewhere(heard));
    let result = ligament_agent::run(plan, &mut guard, &mut runtime, elsewhere);
    if let Some(view) = &mut runtime.view {
        view.clear();
    }
    let in_reach = runtime.abroad.as_ref().map(RemoteDomains::in_reach).unwrap_or_default();
    let result = match result {
        Ok(DomainResult { outcome, instances, channels }) => Ok(runtime.end(&outcome, &instances, channels)),
        Err(why) => Err(runtime.could_not_begin(why)),
    };
    if let (Some(part), Some(heard)) = (abroad, heard) {
        part.part_from(in_reach, heard);
    }
    result
}

/// Makes the plan of the run. The instances in `manual` are started by hand.
fn plan(model: &ResolvedModel, run: &str, manual: &[String]) -> Result<RunPlan, Fault> {
    let mut plan = RunPlan::of(model, run)?;
    for instance in plan.instances.iter_mut().filter(|instance| manual.contains(&instance.name)) {
        if instance.shares.is_some() {
            return Err(fault!(
                RUNS_WITH_OTHERS,
                "--manual {0}: the program of {0} is light, so one process runs all of its instances; take it \
                 out of \"light:\" in the model to start one by hand",
                instance.name
            ));
        }
        instance.by_hand = true;
    }
    Ok(plan)
}

/// The parts of a run before any process is started.
struct RunStart {
    view: Option<TerminalView>,
    /// Lowest level of the log's lines that are shown.
    shown_from: Option<Level>,
    log: RunLog,
    journal: Journal,
}

fn begin(
    model: &ResolvedModel,
    options: &mut RunOptions,
    directory: &RunDirectory,
    since: Instant,
) -> Result<RunStart, Fault> {
    if options.for_group {
        directory.share_with_group()?;
    }
    // The text of a large model has megabytes, so its memory is freed here.
    directory.write("model.ymmsl", &std::mem::take(&mut options.model_text))?;
    let settings: String = model.settings.iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
    directory.write("settings.yaml", &settings)?;
    let view = (options.show == Show::View).then(|| TerminalView::on_terminal(options.colours)).flatten();
    let shown_from = match options.show {
        Show::Nothing => None,
        _ if view.is_some() => None,
        _ => Some(Level::Info),
    };
    let log = RunLog::create(&directory.log(), model.ligament.log.unwrap_or(DEFAULT_LOG_BYTES), shown_from)?;
    let journal = Journal::open(&directory.journal(), since)?;
    Ok(RunStart { view, shown_from, log, journal })
}

fn save(directory: &RunDirectory, record: &RunRecord) -> Result<(), Fault> {
    directory.write_record(&record.text())
}

/// Records the reason why a run could not begin, and returns the reason. If the record cannot be written
/// either, the run directory is removed.
fn not_begun(directory: &RunDirectory, mut record: RunRecord, why: Fault) -> Fault {
    record.state = RunState::Failed;
    record.blame(Some(&why));
    record.ended = Some(UtcTime::now().rfc3339());
    let written = save(directory, &record);
    directory.give_reserve_back();
    if let Err(error) = written {
        crate::complain(&error);
        directory.remove_begun();
    }
    why
}

/// Returns true if the model has this instance.
///
/// # Errors
/// The model does not have the instance. The error lists the instances of the model.
pub fn check_instance(model: &ResolvedModel, name: &str) -> Result<(), Fault> {
    if model.instances.iter().any(|instance| instance.name.to_string() == name) {
        return Ok(());
    }
    let names: Vec<String> = model.instances.iter().map(|instance| instance.name.to_string()).collect();
    Err(match ligament_model::nearest(name, names.iter().map(String::as_str)) {
        Some(meant) => {
            fault!(INSTANCE_OF_NO_MODEL, "the model has no instance \"{name}\"; did you mean \"{meant}\"?")
        }
        None => {
            fault!(INSTANCE_OF_NO_MODEL, "the model has no instance \"{name}\"; it has {}", names.join(", "))
        }
    })
}

fn new_record(model: &ResolvedModel, options: &RunOptions, began: UtcTime) -> RunRecord {
    let host = rustix::system::uname();
    RunRecord {
        version: 1,
        ligament: env!("CARGO_PKG_VERSION").to_owned(),
        run: String::new(),
        model: model.name.clone(),
        model_files: options.model_files.iter().map(|path| path.display().to_string()).collect(),
        state: RunState::Running,
        reason: None,
        code: None,
        failed: None,
        failed_command: None,
        pid: std::process::id(),
        agent: None,
        host: host.nodename().to_string_lossy().into_owned(),
        cores: crate::own_cores(),
        resumed_from: options.resumed_from.clone(),
        may_be_continued: options.may_be_continued,
        time_unit: model.ligament.time_unit.as_ref().map(|(unit, _)| unit.clone()),
        started: began.rfc3339(),
        ended: None,
        duration: None,
        deadlock: Vec::new(),
        domains: Vec::new(),
        grids: grid_records(model),
        instances: Vec::new(),
        ..RunRecord::default()
    }
}

/// Returns the grids of a model, with their blocks. Where the blocks are ranks, each instance has a grid of its
/// own.
fn grid_records(model: &ResolvedModel) -> Vec<GridRecord> {
    let mut grids: Vec<GridRecord> = Vec::new();
    for instance in &model.instances {
        let Some(grid) = &instance.grid else { continue };
        let component = match instance.ranks {
            Some(_) => instance.name.to_string(),
            None => model.components[instance.component as usize].name.to_string(),
        };
        if grids.last().is_none_or(|last| last.component != component) {
            let axes = grid.blocks.edges.iter().zip(AXES);
            let periodic =
                axes.filter(|(edges, _)| **edges == Edges::Periodic).map(|(_, axis)| axis.to_owned());
            let (shape, blocks) = (grid.shape.clone(), grid.blocks.counts.clone());
            let names = Vec::new();
            grids.push(GridRecord { component, shape, blocks, periodic: periodic.collect(), names });
        }
        let name = instance.name.to_string();
        let Some(last) = grids.last_mut() else { continue };
        match instance.ranks {
            Some(ranks) => last.names.extend((0..ranks).map(|rank| rank_name(&name, Some(rank)))),
            None => last.names.push(name),
        }
    }
    grids
}

struct Runtime<'a> {
    model: &'a ResolvedModel,
    by_hand: Vec<bool>,
    directory: RunDirectory,
    log: RunLog,
    /// True if the log is also written to standard error.
    shown: bool,
    journal: Journal,
    terminal: Terminal,
    watched: ViewerWatch,
    news: NumberedPicture,
    rank_pages: RankPages,
    ranks: Ranks,
    /// For each rank whose start is in the journal, the number of the process.
    started: Vec<Option<u32>>,
    since: Instant,
    starter: Option<&'a mut (dyn Starter + 'a)>,
    commands: HashMap<InstanceId, Command>,
    /// Program of each process, with which a failure is explained.
    ran: HashMap<InstanceId, LaunchedProgram>,
    /// Directory of each process, by the first instance of the process.
    homes: HashMap<InstanceId, PathBuf>,
    /// Cores of each process, by its first instance, if its machine has enough cores for all. Agents report
    /// the cores of other machines.
    cores: HashMap<InstanceId, Vec<u32>>,
    /// Nodes of the instances whose MPI processes are on several nodes.
    nodes: HashMap<InstanceId, Vec<NodeShare>>,
    inputs: StagedInputs,
    view: Option<TerminalView>,
    record: RunRecord,
    /// Names of the settings that the user gave for this run.
    given: Vec<String>,
    manager: Manager<ModelNames<'a>>,
    outputs: OutputFiles,
    /// The timeline. `None` if the model switches it off, or if it cannot be written.
    timeline: Option<TimelineRecorder>,
    /// The other domains, if there are any.
    abroad: Option<RemoteDomains<'a>>,
    brought: ArrivedFiles,
    peeks: Peeks,
    /// Messages about taps in other domains, which the agent's driver has not fetched yet.
    taps: Vec<RemoteTapEvent>,
    steers: Steers,
    saves: Saves,
    checkpoints: Checkpoints,
    /// Files from which ranks of other domains resume, and their paths here.
    resumed: Vec<(ResumeFile, PathBuf)>,
    arriving_states: ArrivingStates,
    /// Instances whose calls are recorded.
    recordings: BTreeSet<InstanceId>,
    /// The refused connections, which come from no domain of the run.
    strangers: Strangers,
}

impl Runtime<'_> {
    fn name(&self, instance: InstanceId) -> String {
        self.model.instances[instance.index()].name.to_string()
    }

    fn instance_of(&self, rank: RankId) -> InstanceId {
        self.ranks.instance(rank)
    }

    fn component(&self, instance: InstanceId) -> String {
        let component = self.model.instances[instance.index()].component;
        self.model.components[component as usize].name.to_string()
    }

    fn made_elsewhere(&self, instance: InstanceId) -> bool {
        self.starter.as_ref().is_some_and(|starter| starter.makes(&self.component(instance)))
    }

    /// Records the reason why the run could not begin, and returns the reason.
    fn could_not_begin(&mut self, why: Fault) -> Fault {
        self.record.state = RunState::Failed;
        self.record.blame(Some(&why));
        self.note_over();
        self.save();
        self.directory.dismiss_clients();
        self.directory.give_reserve_back();
        why
    }

    fn carry_out(&mut self, deed: ManagerAction) -> Option<AgentOrder> {
        match deed {
            ManagerAction::Announce { level, who, text } => self.add(level, &who, &text),
            // An error goes only to the log's file: the command that started the run prints the reason at the
            // end.
            ManagerAction::Write { level: Level::Error, who, text } => {
                drop(self.log.keep(Level::Error, &who, &text))
            }
            ManagerAction::Write { level, who, text } => self.log.add(level, &who, &text),
            ManagerAction::Order(order) => {
                self.note_order(&order);
                return Some(order);
            }
        }
        None
    }

    fn add(&mut self, level: Level, who: &str, text: &str) {
        self.log.add(level, who, text);
        if level >= Level::Warning {
            self.record.warn(who, text);
            self.journal.note(JournalEvent::Warning { who: who.to_owned(), text: text.to_owned() });
            if let Some(view) = &mut self.view {
                view.say(&format!("{who}: {text}"));
            }
        }
    }

    /// Reports the progress of long work to the log and to viewers.
    fn say_how_far(&mut self, text: &str) {
        self.log.add(Level::Info, "run", text);
        if let Some(view) = &mut self.view {
            view.say(text);
        }
    }

    fn save(&self) {
        if let Err(error) = save(&self.directory, &self.record) {
            crate::complain(&error);
        }
    }

    /// Returns the time since the run began, in s. Changes of the machine's clock do not affect this time.
    fn lasts(&self) -> f64 {
        self.since.elapsed().as_millis() as f64 / 1e3
    }

    fn end(
        mut self,
        outcome: &RunOutcome,
        instances: &[InstanceView],
        channels: Vec<ChannelView>,
    ) -> RunResult {
        if let Some(text) = self.strangers.in_all() {
            self.add(Level::Warning, "run", &text);
        }
        let incomplete = self.brought.failure().filter(|_| *outcome == RunOutcome::Done);
        let outcome = &self.explained(incomplete.as_ref().unwrap_or(outcome));
        let seen = self.see(instances, ligament_shm::status::now());
        let last = self.manager.conclude(&mut self.record, outcome, &seen);
        self.manager.remark(&mut self.record, &self.model.settings, &self.given);
        self.record.failed_command = self.failed_command(outcome);
        let mut instances = std::mem::take(&mut self.record.instances);
        self.say_where(&mut instances);
        self.note_lost_domains();
        self.record.instances = instances;
        self.record.conduits = self.conduits_at_end(channels);
        self.warn_without_checkpoints();
        self.carry_out(last);
        // The end is taken after the last line of the log, because this line belongs to the run.
        let now = UtcTime::now();
        self.record.ended = Some(now.rfc3339());
        self.record.duration = Some(self.lasts());
        self.outputs.close();
        self.checkpoints.end();
        self.note_over();
        self.save();
        self.directory.give_reserve_back();
        self.directory.dismiss_clients();
        self.dismiss();
        let failed = match outcome {
            RunOutcome::Failed(failure) => failure.rank,
            _ => None,
        };
        let failed = failed.map(|rank| {
            let name = self.manager.names().rank(rank);
            let lines = self.directory.last_lines(&name, LAST_LINES);
            (name, lines)
        });
        RunResult { record: self.record, directory: self.directory.path().to_path_buf(), failed }
    }

    /// Limits the size of the instances' outputs.
    fn watch_outputs(&mut self) {
        for (rank, said) in self.outputs.look() {
            let name = self.manager.names().rank(RankId::at(rank));
            match said {
                Ok(text) => self.add(Level::Info, &name, &text),
                Err(why) => self.add(Level::Warning, &name, why.text()),
            }
        }
    }

    fn look(&mut self, seen: &[Observation], view: &RunView<'_>) -> Vec<AgentOrder> {
        let carriers = self.carriers();
        let around = RunContext {
            memory: self.memory(view.core.memory()),
            carriers: &carriers,
            channels: &|| view.channels(),
            now: view.now,
        };
        let deeds = self.manager.check(seen, &around);
        let orders: Vec<AgentOrder> = deeds.into_iter().filter_map(|deed| self.carry_out(deed)).collect();
        orders.into_iter().flat_map(|order| self.pass_on(order)).collect()
    }
}
