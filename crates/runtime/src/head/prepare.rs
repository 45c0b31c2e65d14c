//! Preparations of a run, before any instance starts: directories, commands, the guard, the timeline.

use super::assembly::Secrets;
use super::Runtime;
use ligament_agent::Guard;
use ligament_catalogue::{fault, said, Fault};
use ligament_launch::cores::{cores_for, format_core_list as said_cores, needed_here};
use ligament_launch::{own_command, prepare, InstanceContext, LaunchedProgram, NodeShare, ProcessLoss};
use ligament_manager::timeline::{self, TimelineRecorder, DEFAULT_TIMELINE_BYTES};
use ligament_manager::{output_in, workdir_in, Level, Names, UtcTime};
use ligament_model::Program;
use ligament_wire::control::ENV_IDENTITY;
use ligament_wire::domains::OwnCores;
use ligament_wire::InstanceId;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The subcommand of `ligament` that takes the place of an instance that had ended.
const ENDED_PART_COMMAND: &str = "ended-part";

impl Runtime<'_> {
    /// Begins the timeline, unless the model switches it off.
    pub(super) fn begin_timeline(&self) -> Result<Option<TimelineRecorder>, Fault> {
        let limit = self.model.ligament.timeline.unwrap_or(DEFAULT_TIMELINE_BYTES);
        if limit == 0 {
            return Ok(None);
        }
        let header = timeline::TimelineHeader {
            run: self.directory.name(),
            model: self.model.name.clone(),
            started: UtcTime::now().rfc3339(),
            resolution: 0,
        };
        let name = |rank| timeline::LaneName {
            component: self.component(self.instance_of(rank)),
            name: self.manager.names().rank(rank),
        };
        let lanes: Vec<timeline::LaneName> = self.ranks.all().map(name).collect();
        let zero = ligament_shm::status::now();
        let timeline = timeline::NewTimeline { header, lanes: &lanes, limit, zero };
        TimelineRecorder::create(&self.directory, timeline).map(Some)
    }

    /// Continues without a timeline, because it cannot be written.
    pub(super) fn no_timeline(&mut self, why: &str) {
        self.timeline = None;
        self.add(Level::Warning, "run", &said!(TIMELINE_STOPPED, "the timeline ends here: {why}"));
    }

    /// Finds the file of each program, so that a missing file is an error before any process starts.
    pub(super) fn prepare_all(&mut self) -> Result<(), Fault> {
        let model_directory = self.model_directory()?;
        let mut homes: Vec<(InstanceId, PathBuf)> =
            self.homes.iter().map(|(&i, home)| (i, home.clone())).collect();
        homes.sort_unstable();
        self.share_cores(&homes);
        for (i, home) in homes {
            let name = self.name(i);
            let made_elsewhere = self.by_hand[i.index()] || self.made_elsewhere(i);
            if made_elsewhere || !self.is_here(i) {
                continue;
            }
            let stand_in = self.stand_in(i);
            let program = stand_in.as_ref().or_else(|| self.model.program(i.number())).ok_or_else(|| {
                fault!(
                    NO_PROGRAM,
                    "{name} has no program; give its component an implementation, or run with --manual {name}"
                )
            })?;
            let place = InstanceContext {
                instance: &name,
                staged: &self.inputs.staged_for(i, &workdir_in(&home)),
                model_directory: &model_directory,
                directory: &workdir_in(&home),
                output: &output_in(&home),
                scratch: &home,
                not_inherited: &ENV_IDENTITY,
                cores: self.cores.get(&i).map_or(&[][..], Vec::as_slice),
                nodes: self.nodes_of(i),
            };
            let instance = &self.model.instances[i.index()];
            let resources = instance.resources.of_each(instance.ranks.unwrap_or(1) as usize);
            let command = prepare(program, resources, &place).map_err(|error| {
                fault!(NOT_STARTABLE, "{name} cannot be started: {error}").caused_by(&error)
            })?;
            self.ran.insert(i, LaunchedProgram::of(&command));
            self.commands.insert(i, command);
        }
        Ok(())
    }

    /// Returns the program that takes the place of an instance which had ended at the checkpoint from which the
    /// run resumes: its own program would find no state. Ranks that one command starts run their own program.
    fn stand_in(&self, instance: InstanceId) -> Option<Program> {
        let program = self.model.program(instance.number())?;
        let ranks = self.model.instances[instance.index()].ranks;
        let starts_together = ranks.is_some() && self.model.separate_ranks(instance.number()).is_none();
        let had_ended = !starts_together && self.checkpoints.had_ended(&self.name(instance));
        had_ended.then(|| program_of_ended(program))
    }

    /// Returns true if a process of Ligament takes the place of an instance.
    pub(super) fn has_stand_in(&self, instance: InstanceId) -> bool {
        self.stand_in(instance).is_some()
    }

    fn nodes_of(&self, instance: InstanceId) -> &[NodeShare] {
        self.nodes.get(&instance).map_or(&[], Vec::as_slice)
    }

    /// Gives the processes of this machine cores of their own, if there are enough.
    fn share_cores(&mut self, homes: &[(InstanceId, PathBuf)]) {
        let here: Vec<InstanceId> =
            homes.iter().map(|&(i, _)| i).filter(|&i| self.is_here(i) && !self.by_hand[i.index()]).collect();
        let need = |&i: &InstanceId| needed_here(self.model.instances[i.index()].resources, self.nodes_of(i));
        let needs: Vec<_> = here.iter().map(need).collect();
        self.cores = here.into_iter().zip(cores_for(&needs)).filter(|(_, cores)| !cores.is_empty()).collect();
    }

    /// Writes the cores of each instance on this machine to the log.
    pub(super) fn say_cores(&mut self) {
        let mut each: Vec<InstanceId> = self.cores.keys().copied().filter(|&i| self.is_here(i)).collect();
        each.sort_unstable();
        self.say_cores_of(&each);
    }

    /// Records the cores of processes in another domain.
    pub(super) fn note_cores(&mut self, own: Vec<OwnCores>) {
        let each: Vec<InstanceId> = own.iter().map(|one| one.instance).collect();
        self.cores.extend(own.into_iter().map(|one| (one.instance, one.cores)));
        self.say_cores_of(&each);
    }

    fn say_cores_of(&mut self, each: &[InstanceId]) {
        let Some(&first) = each.first() else { return };
        let cores: Vec<String> =
            each.iter().map(|i| format!("{} {}", self.name(*i), said_cores(&self.cores[i]))).collect();
        let domain = self.abroad.as_ref().map(|abroad| abroad.head.domain_of_all(first));
        let on = domain.map_or(String::new(), |domain| format!(" of {}", self.name_of_domain(domain)));
        self.add(Level::Info, "run", &format!("cores{on}: {}", ligament_manager::list_some(&cores, 20)));
    }

    /// Returns the full path of the model's directory.
    pub(super) fn model_directory(&self) -> Result<PathBuf, Fault> {
        let directory = match self.record.model_files.first() {
            Some(file) => Path::new(file).parent().map(Path::to_path_buf).unwrap_or_default(),
            None => PathBuf::new(),
        };
        std::path::absolute(directory.join("."))
            .map_err(|error| fault!(RUN_DIRECTORY_UNWRITABLE, "the current directory: {error}"))
    }

    /// Makes the directories of all processes. Returns the first instance of each process, and its directory.
    pub(super) fn make_homes(&self) -> Result<Vec<(InstanceId, PathBuf)>, Fault> {
        let mut homes = Vec::new();
        let mut light: BTreeMap<String, Vec<InstanceId>> = BTreeMap::new();
        for i in InstanceId::first(self.model.instances.len()) {
            match self.model.light_program(i.number()) {
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

    /// Starts the guard. If this process is killed, the guard survives it, and records the loss.
    pub(super) fn guard(&self, secrets: Option<&Secrets>) -> Result<Guard, Fault> {
        let (directory, since, record) = (self.directory.clone(), self.since, self.record.clone());
        let last_word = secrets.map(Secrets::last_word);
        let lost = move |loss: &ProcessLoss| {
            let why = crate::guard_record::write_down(&directory, since, record, loss);
            if let (Some(last_word), Some(noted)) = (&last_word, &loss.noted) {
                Secrets::tell(last_word, noted, why.text());
            }
        };
        Guard::start(lost).map_err(|error| {
            fault!(CANNOT_WATCH, "the run's guard, a process that outlives it, cannot be made: {error}")
        })
    }
}

/// Returns the program that takes the place of the program of an instance that had ended.
pub(crate) fn program_of_ended(program: &Program) -> Program {
    Program {
        executable: Some(own_command().display().to_string()),
        args: Some(vec![ENDED_PART_COMMAND.to_owned()]),
        ..Program::new(program.name.clone())
    }
}
