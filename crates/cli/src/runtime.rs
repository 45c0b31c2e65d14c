//! A run on this machine: the agent, and around it the manager, with its directory, log, record and view. Python
//! uses this too, with a `Starter` that makes the processes of components that are functions.

use crate::client::of_instances;
use crate::observe::{gained, see_stopped, see_threads};
use crate::view::View;
use ligament_agent::{
    Drain, Gained, Guard, Host, InstanceView, Order, Outcome, Plan, Report, RunView, Started, State,
};
use ligament_launch::{prepare, Command, Place};
use ligament_manager::timeline::{self, Recording, DEFAULT_TIMELINE};
use ligament_manager::{output_in, workdir_in};
use ligament_manager::{
    Deed, Level, Manager, MessageMemory, Moment, Observation, Outputs, RunDirectory, RunLog, RunRecord,
    RunState, DEFAULT_LOG, DEFAULT_OUTPUT,
};
use ligament_model::Resolved;
use ligament_wire::control::ENV_IDENTITY;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often the view is drawn.
const REDRAW: Duration = Duration::from_millis(200);
/// Lines of an instance's output that are shown when it fails.
const LAST_LINES: usize = 20;

/// How a run is to be made.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// Its directory; without it, a new one under `runs`.
    pub directory: Option<PathBuf>,
    /// Instances that are started by hand.
    pub manual: Vec<String>,
    /// What is shown while it runs.
    pub show: Show,
    /// The files that the model was read from.
    pub model_files: Vec<PathBuf>,
    /// The model as resolved, for the run directory.
    pub model_text: String,
}

/// What is shown while a model runs, on standard error.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Show {
    /// Nothing but why it failed.
    Nothing,
    /// The log.
    #[default]
    Log,
    /// A view that is drawn again and again, if standard error is a terminal; else the log.
    View,
}

/// Makes the processes of instances that no program in the model makes.
pub trait Starter {
    /// Whether it makes this component's processes.
    fn makes(&self, component: &str) -> bool;
    /// Makes one: a child of this process, made by the calling thread, with `environment` added to its own, in
    /// `directory`, with its output going to the end of the file `output`.
    ///
    /// # Errors
    /// Why it cannot.
    fn start(&mut self, what: &ToStart<'_>) -> Result<Started, String>;
}

/// What a `Starter` is to start.
#[derive(Debug)]
pub struct ToStart<'a> {
    pub instance: &'a str,
    pub component: &'a str,
    /// To be added to the process's environment.
    pub environment: &'a [(&'static str, String)],
    /// Its working directory; exists.
    pub directory: &'a Path,
    /// The file for what it prints.
    pub output: &'a Path,
}

/// How a run went.
#[derive(Debug, Clone)]
pub struct RunResult {
    pub record: RunRecord,
    /// The run directory.
    pub directory: PathBuf,
    /// Which instance failed first, if one did, and the last lines that it printed.
    pub failed: Option<(String, Vec<String>)>,
}

impl RunResult {
    /// The exit status that says it: 0 done, 1 failed or stopped, 130 interrupted.
    pub fn exit_status(&self) -> i32 {
        match self.record.state {
            RunState::Done => crate::DONE,
            RunState::Interrupted => crate::INTERRUPTED,
            RunState::Running | RunState::Failed | RunState::Stopped => crate::FAILED,
        }
    }
}

/// Runs a model to its end. The calling thread must last as long, since the instances' processes die with it.
///
/// # Errors
/// The run could not begin, with what to do. What goes wrong later is in the result.
pub fn run_model<'a>(
    model: &'a Resolved,
    options: &RunOptions,
    starter: Option<&'a mut (dyn Starter + 'a)>,
) -> Result<RunResult, String> {
    let began = Moment::now();
    let directory = RunDirectory::create(options.directory.as_deref(), &model.name, began)?;
    let mut plan = Plan::of(model, &directory.name())?;
    for instance in plan.instances.iter_mut().filter(|instance| options.manual.contains(&instance.name)) {
        if instance.shares.is_some() {
            return Err(format!(
                "--manual {0}: the program of {0} is light, so one process runs all of its instances; take it out of \
                 \"light:\" in the model to start one by hand",
                instance.name
            ));
        }
        instance.by_hand = true;
    }
    directory.write("model.ymmsl", &options.model_text)?;
    let settings: String = model.settings.iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
    directory.write("settings.yaml", &settings)?;
    let view = (options.show == Show::View).then(View::on_terminal).flatten();
    let shown_from = match options.show {
        Show::Nothing => None,
        _ if view.is_some() => None,
        _ => Some(Level::Info),
    };
    let outputs: Vec<PathBuf> =
        plan.instances.iter().map(|instance| directory.output(&instance.name)).collect();
    let mut runtime = Runtime {
        model,
        by_hand: plan.instances.iter().map(|instance| instance.by_hand).collect(),
        log: RunLog::create(&directory.log(), model.ligament.log.unwrap_or(DEFAULT_LOG), shown_from)?,
        shown: shown_from.is_some(),
        directory,
        starter,
        commands: HashMap::new(),
        homes: HashMap::new(),
        view,
        began,
        record: new_record(model, options, began),
        manager: Manager::new(&plan, model),
        outputs: Outputs::new(model.ligament.output.unwrap_or(DEFAULT_OUTPUT), outputs),
        timeline: None,
    };
    runtime.directory.reserve(model.instances.len());
    runtime.record.run = runtime.directory.name();
    let guard = runtime.prepare_all().and_then(|()| runtime.guard());
    // The guard stays until all is written down.
    let mut guard = guard.map_err(|why| runtime.could_not_begin(why))?;
    let result = ligament_agent::run(plan, &mut guard, &mut runtime, None);
    if let Some(view) = &mut runtime.view {
        view.clear();
    }
    match result {
        Ok((outcome, instances)) => Ok(runtime.end(&outcome, &instances)),
        Err(why) => Err(runtime.could_not_begin(why)),
    }
}

/// Whether the model has this instance.
///
/// # Errors
/// It has not; says which it has.
pub fn check_instance(model: &Resolved, name: &str) -> Result<(), String> {
    if model.instances.iter().any(|instance| instance.name.to_string() == name) {
        return Ok(());
    }
    let names: Vec<String> = model.instances.iter().map(|instance| instance.name.to_string()).collect();
    Err(match ligament_model::nearest(name, names.iter().map(String::as_str)) {
        Some(meant) => format!("the model has no instance \"{name}\"; did you mean \"{meant}\"?"),
        None => format!("the model has no instance \"{name}\"; it has {}", names.join(", ")),
    })
}

fn new_record(model: &Resolved, options: &RunOptions, began: Moment) -> RunRecord {
    let host = rustix::system::uname();
    RunRecord {
        version: 1,
        ligament: env!("CARGO_PKG_VERSION").to_owned(),
        run: String::new(),
        model: model.name.clone(),
        model_files: options.model_files.iter().map(|path| path.display().to_string()).collect(),
        state: RunState::Running,
        reason: None,
        pid: std::process::id(),
        agent: None,
        host: host.nodename().to_string_lossy().into_owned(),
        started: began.rfc3339(),
        ended: None,
        duration: None,
        deadlock: Vec::new(),
        instances: Vec::new(),
    }
}

struct Runtime<'a> {
    model: &'a Resolved,
    by_hand: Vec<bool>,
    directory: RunDirectory,
    log: RunLog,
    /// Whether the log goes to standard error too.
    shown: bool,
    starter: Option<&'a mut (dyn Starter + 'a)>,
    commands: HashMap<u32, Command>,
    /// The directory of each process, by the first of its instances.
    homes: HashMap<u32, PathBuf>,
    view: Option<View>,
    began: Moment,
    record: RunRecord,
    manager: Manager<&'a Resolved>,
    outputs: Outputs,
    /// None if the model wants none, or if it cannot be written.
    timeline: Option<Recording>,
}

impl Runtime<'_> {
    fn name(&self, instance: u32) -> String {
        self.model.instances[instance as usize].name.to_string()
    }

    fn component(&self, instance: u32) -> String {
        let component = self.model.instances[instance as usize].component;
        self.model.components[component as usize].name.to_string()
    }

    fn made_elsewhere(&self, instance: u32) -> bool {
        self.starter.as_ref().is_some_and(|starter| starter.makes(&self.component(instance)))
    }

    /// Begins the timeline, if the model wants one.
    fn begin_timeline(&self) -> Result<Option<Recording>, String> {
        let limit = self.model.ligament.timeline.unwrap_or(DEFAULT_TIMELINE);
        if limit == 0 {
            return Ok(None);
        }
        let header = timeline::Header {
            run: self.directory.name(),
            model: self.model.name.clone(),
            started: Moment::now().rfc3339(),
            resolution: 0,
        };
        let names: Vec<(String, String)> =
            (0..self.model.instances.len() as u32).map(|i| (self.component(i), self.name(i))).collect();
        let now = ligament_shm::status::now();
        Recording::create(&self.directory, header, &names, limit, now).map(Some)
    }

    /// A run goes on without a timeline if that cannot be written.
    fn no_timeline(&mut self, why: &str) {
        self.timeline = None;
        self.add(Level::Warning, "run", &format!("the timeline ends here: {why}"));
    }

    /// Resolves every program, so that a missing one is found before any runs.
    fn prepare_all(&mut self) -> Result<(), String> {
        let model_directory = match self.record.model_files.first() {
            Some(file) => Path::new(file).parent().map(Path::to_path_buf).unwrap_or_default(),
            None => PathBuf::new(),
        };
        let model_directory = std::path::absolute(model_directory.join("."))
            .map_err(|error| format!("the current directory: {error}"))?;
        for (i, home) in self.make_homes()? {
            let name = self.name(i);
            let made_elsewhere = self.by_hand[i as usize] || self.made_elsewhere(i);
            self.homes.insert(i, home.clone());
            if made_elsewhere {
                continue;
            }
            let program = self.model.program(i).ok_or_else(|| {
                format!(
                    "{name} has no program; give its component an implementation, or run with --manual {name}"
                )
            })?;
            let place = Place {
                model_directory: &model_directory,
                directory: &workdir_in(&home),
                output: &output_in(&home),
                scratch: &home,
                not_inherited: &ENV_IDENTITY,
            };
            let command = prepare(program, self.model.instances[i as usize].resources, &place)
                .map_err(|error| format!("{name} cannot be started: {error}"))?;
            self.commands.insert(i, command);
        }
        Ok(())
    }

    /// Makes the directories of all processes: for each the first of its instances, and where it has its files.
    fn make_homes(&self) -> Result<Vec<(u32, PathBuf)>, String> {
        let mut homes = Vec::new();
        let mut light: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for i in 0..self.model.instances.len() as u32 {
            match self.model.light_program(i) {
                Some(program) => light.entry(program.to_string()).or_default().push(i),
                None => homes.push((i, self.directory.make_instance(&self.name(i))?)),
            }
        }
        for (program, instances) in light {
            let names: Vec<String> = instances.iter().map(|&i| self.name(i)).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            homes.push((instances[0], self.directory.make_light(&program, &names)?));
        }
        Ok(homes)
    }

    /// The process that outlives this one, if this one is killed, and then says so.
    fn guard(&self) -> Result<Guard, String> {
        let (directory, began, record) = (self.directory.clone(), self.began, self.record.clone());
        Guard::start(move |why| crate::lost::write_down(&directory, began, record, why))
            .map_err(|error| format!("the run's guard, a process that outlives it, cannot be made: {error}"))
    }

    /// Writes down why; gives it back.
    fn could_not_begin(&mut self, why: String) -> String {
        self.record.state = RunState::Failed;
        self.record.reason = Some(why.clone());
        self.save();
        self.directory.give_reserve_back();
        why
    }

    fn carry_out(&mut self, deed: Deed) -> Option<Order> {
        match deed {
            Deed::Say { level, who, text } => self.add(level, &who, &text),
            Deed::Write { level, who, text } => self.log.add(level, &who, &text),
            Deed::Order(order) => return Some(order),
        }
        None
    }

    fn add(&mut self, level: Level, who: &str, text: &str) {
        self.log.add(level, who, text);
        if level >= Level::Warning {
            if let Some(view) = &mut self.view {
                view.say(&format!("{who}: {text}"));
            }
        }
    }

    fn save(&self) {
        let text = serde_json::to_string_pretty(&self.record).unwrap_or_default();
        if let Err(error) = self.directory.write_record(&format!("{text}\n")) {
            crate::complain(&error);
        }
    }

    fn end(mut self, outcome: &Outcome, instances: &[InstanceView]) -> RunResult {
        let now = Moment::now();
        let seen = self.manager.observe(instances, ligament_shm::status::now());
        let last = self.manager.conclude(&mut self.record, outcome, &seen);
        self.record.ended = Some(now.rfc3339());
        self.record.duration = Some((now.0.saturating_sub(self.began.0)) as f64 / 1e3);
        self.carry_out(last);
        self.outputs.close();
        self.save();
        self.directory.give_reserve_back();
        let _ = std::fs::remove_file(self.directory.token());
        let failed = match outcome {
            Outcome::Failed(failure) => failure.instance,
            _ => None,
        };
        let failed = failed.map(|instance| {
            let name = self.name(instance);
            let lines = self.directory.last_lines(&name, LAST_LINES);
            (name, lines)
        });
        RunResult { record: self.record, directory: self.directory.path().to_path_buf(), failed }
    }

    /// Keeps what the instances print within its limit.
    fn watch_outputs(&mut self) {
        for (instance, said) in self.outputs.look() {
            let name = self.name(instance as u32);
            match said {
                Ok(text) => self.add(Level::Info, &name, &text),
                Err(text) => self.add(Level::Warning, &name, &text),
            }
        }
    }

    fn look(&mut self, seen: &[Observation], (used, limit): (u64, u64)) -> Vec<Order> {
        let deeds = self.manager.look(seen, MessageMemory { used, limit });
        deeds.into_iter().filter_map(|deed| self.carry_out(deed)).collect()
    }
}

impl Host for Runtime<'_> {
    fn begins(&mut self, address: &str, token: &str) {
        self.record.agent = Some(address.to_owned());
        if let Err(error) = self.directory.write_token(token) {
            crate::complain(&error);
        }
        self.save();
        match self.begin_timeline() {
            Ok(timeline) => self.timeline = timeline,
            Err(why) => self.no_timeline(&why),
        }
        let n = self.model.instances.len();
        let path = self.directory.path().display().to_string();
        self.add(Level::Info, "run", &format!("{} instances of {}, in {path}", n, self.model.name));
        for i in 0..n as u32 {
            if self.by_hand[i as usize] && self.homes.contains_key(&i) {
                let (name, run) = (self.name(i), self.directory.name());
                self.add(
                    Level::Warning,
                    &name,
                    &format!("is to be started by hand: ligament join {run} '{name}' -- COMMAND"),
                );
            }
        }
    }

    fn start(
        &mut self,
        guard: &mut Guard,
        instance: u32,
        environment: &[(&'static str, String)],
    ) -> Result<Option<Started>, String> {
        if let Some(mut command) = self.commands.remove(&instance) {
            for (name, value) in environment {
                command.environment.set(name, value);
            }
            return guard.launch(instance, command).map(|()| None);
        }
        let (name, component) = (self.name(instance), self.component(instance));
        let home = self.homes.get(&instance).cloned().unwrap_or_else(|| self.directory.instance(&name));
        let (directory, output) = (workdir_in(&home), output_in(&home));
        let starter = self.starter.as_mut().ok_or("it has no program")?;
        let what = ToStart {
            instance: &name,
            component: &component,
            environment,
            directory: &directory,
            output: &output,
        };
        starter.start(&what).map(Some)
    }

    fn report(&mut self, report: Report) {
        if let Some(deed) = self.manager.report(report) {
            self.carry_out(deed);
        }
    }

    fn status(&mut self, view: &RunView<'_>) -> String {
        let mut seen = self.manager.observe(&view.instances, view.now);
        see_stopped(&mut seen, &view.instances);
        let mut record = self.record.clone();
        self.manager.fill(&mut record, &seen);
        record.duration = Some((Moment::now().0.saturating_sub(self.began.0)) as f64 / 1e3);
        let mut json = serde_json::to_value(&record).unwrap_or_default();
        let (used, limit) = view.core.memory();
        json["ok"] = true.into();
        json["memory"] = serde_json::json!({ "used": used, "limit": limit });
        json.to_string()
    }

    fn directory(&self, instance: u32) -> String {
        self.directory.workdir(&self.name(instance)).display().to_string()
    }

    fn timeline(&mut self, instance: u32, seen: &Gained, now: u64, why: Drain) {
        let Some(timeline) = &mut self.timeline else { return };
        let moment = match (why, seen.status.state) {
            (Drain::Tick, _) => timeline::Moment::Tick,
            (Drain::Asked, _) => timeline::Moment::Asked,
            (Drain::Over, State::Ended) => timeline::Moment::Over("ended".into()),
            (Drain::Over, State::Failed) => timeline::Moment::Over("failed".into()),
            (Drain::Over, _) => timeline::Moment::Over("gone".into()),
        };
        timeline.gained(instance, &gained(seen), now, &moment, &self.model);
    }

    fn timelines_seen(&mut self) {
        if let Some(Err(why)) = self.timeline.as_mut().map(Recording::write) {
            self.no_timeline(&why);
        }
    }

    fn tick_every(&self) -> Option<Duration> {
        let look = self.manager.next_look();
        Some(if self.view.is_some() { look.min(REDRAW) } else { look })
    }

    fn show(&mut self, view: &RunView<'_>) {
        let mut seen = self.manager.observe(&view.instances, view.now);
        see_stopped(&mut seen, &view.instances);
        let text = format!("how the run stands:\n{}", of_instances(self.manager.records(&seen)));
        self.log.add(Level::Info, "run", &text);
        match &mut self.view {
            Some(screen) => screen.say(text.trim_end()),
            // The log may be shown already.
            None if self.shown => {}
            None => eprint!("{text}"),
        }
    }

    fn tick(&mut self, view: &RunView<'_>) -> Vec<Order> {
        let mut seen = self.manager.observe(&view.instances, view.now);
        see_threads(&mut seen, &view.instances);
        if let Some(screen) = &mut self.view {
            screen.draw(self.model, &seen, &self.manager.records(&seen), view.now);
        }
        self.watch_outputs();
        self.look(&seen, view.core.memory())
    }
}
